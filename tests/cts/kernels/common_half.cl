#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#include "common.h"
