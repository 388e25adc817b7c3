__kernel void scale(__global float* data, float factor)
{
    data[get_global_id(0)] *= factor;
}
