#include "factor.h"

__kernel void scale(__global float* data)
{
    const size_t i = get_global_id(0);
    data[i] = SCALE(data[i]);
}
