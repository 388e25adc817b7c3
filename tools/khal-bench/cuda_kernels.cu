// The kernels of kernels.cl as nvcc sees them: what khalc's PTX is measured beside (khal-bench cuda, KHAL_BENCH_NVCC).
//   nvcc -O3 -arch=sm_90 -cubin cuda_kernels.cu -o nvcc.cubin
#define TILE 16

extern "C" __global__ void __launch_bounds__(256)
add_assign(float* __restrict__ a, const float* __restrict__ b, unsigned n)
{
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        a[i] += b[i];
}

extern "C" __global__ void __launch_bounds__(TILE * TILE)
matmul(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, unsigned n)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    unsigned tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; k += TILE) {
        tile_a[ty][tx] = a[y * n + k + tx];
        tile_b[ty][tx] = b[(k + ty) * n + x];
        __syncthreads();
        for (unsigned j = 0; j < TILE; j++)
            sum += tile_a[ty][j] * tile_b[j][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
reduce(float* __restrict__ out, const float* __restrict__ in, unsigned n)
{
    __shared__ float partial[256];
    unsigned t = threadIdx.x;
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
        sum += in[i];
    partial[t] = sum;
    __syncthreads();
    for (unsigned half_count = 128; half_count > 0; half_count >>= 1) {
        if (t < half_count)
            partial[t] += partial[t + half_count];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = partial[0];
}

extern "C" __global__ void __launch_bounds__(64)
nbody(float4* __restrict__ acceleration, const float4* __restrict__ position, unsigned n)
{
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    float4 p = position[i];
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (unsigned j = 0; j < n; j++) {
        float4 q = position[j];
        float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
        float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
        float s = q.w * inverse * inverse * inverse;
        sum.x += dx * s;
        sum.y += dy * s;
        sum.z += dz * s;
    }
    acceleration[i] = sum;
}

extern "C" __global__ void __launch_bounds__(TILE * TILE)
stencil(float* __restrict__ out, const float* __restrict__ in, unsigned width, unsigned height)
{
    unsigned x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height)
        return;
    unsigned i = y * width + x;
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
