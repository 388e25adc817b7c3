#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#define S short
#include "relational.h"
