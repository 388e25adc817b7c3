// options: --size-t=32
__kernel void offsets(__global float* p, __global int* out)
{
    size_t i = get_global_id(0) * 4 + get_local_size(1);
    out[i] = (int)(&p[i] - p) + (int)sizeof(size_t);
}
