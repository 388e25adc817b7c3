/* The kernels that khal-bench measures. OpenCL devices, where there are any, get this text too. */

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void add_assign(__global float* restrict a, __global const float* restrict b, uint n)
{
    uint i = get_global_id(0);
    if (i < n) {
        a[i] += b[i];
    }
}

#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global float* restrict c, __global const float* restrict a, __global const float* restrict b, uint n)
{
    __local float tile_a[TILE][TILE];
    __local float tile_b[TILE][TILE];
    uint tx = get_local_id(0), ty = get_local_id(1);
    uint x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (uint k = 0; k < n; k += TILE) {
        tile_a[ty][tx] = a[y * n + k + tx];
        tile_b[ty][tx] = b[(k + ty) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < TILE; j++) {
            sum += tile_a[ty][j] * tile_b[j][tx];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce(__global float* restrict out, __global const float* restrict in, uint n)
{
    __local float partial[256];
    uint t = get_local_id(0);
    float sum = 0.0f;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        sum += in[i];
    }
    partial[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_count = 128; half_count > 0; half_count >>= 1) {
        if (t < half_count) {
            partial[t] += partial[t + half_count];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) {
        out[get_group_id(0)] = partial[0];
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void nbody(__global float4* restrict acceleration, __global const float4* restrict position, uint n)
{
    uint i = get_global_id(0);
    float4 p = position[i];
    float4 sum = (float4)(0.0f);
    for (uint j = 0; j < n; j++) {
        float4 d = position[j] - p;
        float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-3f;
        float inverse = 1.0f / sqrt(r2);
        float s = position[j].w * inverse * inverse * inverse;
        sum.x += d.x * s;
        sum.y += d.y * s;
        sum.z += d.z * s;
    }
    acceleration[i] = sum;
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void mandelbrot(__global uint* out, uint width, uint height)
{
    uint x = get_global_id(0), y = get_global_id(1);
    float cr = 3.0f * x / width - 2.0f, ci = 2.0f * y / height - 1.0f;
    float zr = 0.0f, zi = 0.0f;
    uint k = 0;
    while (k < 256 && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        k++;
    }
    out[y * width + x] = k;
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void stencil(__global float* restrict out, __global const float* restrict in, uint width, uint height)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) {
        return;
    }
    uint i = y * width + x;
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
