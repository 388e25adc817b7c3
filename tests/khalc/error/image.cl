constant sampler_t nearest = CLK_FILTER_NEAREST;
kernel void k(read_only image2d_t image, global float4* p)
{
    p[0] = read_imagef(image, (int2)(1, 2));
}
void helper(sampler_t s) {}
