__kernel void add_assign(__global float* a, __global const float* b, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        a[i] += b[i];
}
