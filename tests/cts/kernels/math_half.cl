#include "map.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#include "math_functions.h"
