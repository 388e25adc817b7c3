typedef struct particle {
    float4 position;
} particle;

__kernel void scale(__global float* data, float factor)
{
    data[get_global_id(0)] *= factor;
}

__kernel void move(__global particle* particles, float4 step)
{
    particles[get_global_id(0)].position += step;
}
