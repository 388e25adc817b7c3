/* The same work as loops written by hand. The build compiles this file for the machine at hand, at
 * full speed. */
#include "bench.h"

#include <math.h>

#if defined(_OPENMP)
const char* const bench_loops_name = "OpenMP by hand";
#else
const char* const bench_loops_name = "loops, 1 thread";
#endif

static void add(float* restrict a, const float* restrict b, uint32_t n)
{
#pragma omp parallel for
    for (uint32_t i = 0; i < n; i++) {
        a[i] += b[i];
    }
}

static void matmul(float* restrict c, const float* restrict a, const float* restrict b, uint32_t n)
{
#pragma omp parallel for collapse(2)
    for (uint32_t y0 = 0; y0 < n; y0 += 16) {
        for (uint32_t x0 = 0; x0 < n; x0 += 16) {
            float sum[16][16] = {{0}};
            for (uint32_t k = 0; k < n; k++) {
                for (uint32_t y = 0; y < 16; y++) {
                    for (uint32_t x = 0; x < 16; x++) {
                        sum[y][x] += a[(y0 + y) * n + k] * b[k * n + x0 + x];
                    }
                }
            }
            for (uint32_t y = 0; y < 16; y++) {
                for (uint32_t x = 0; x < 16; x++) {
                    c[(y0 + y) * n + x0 + x] = sum[y][x];
                }
            }
        }
    }
}

static float reduce(const float* in, uint32_t n)
{
    float sum = 0.0f;
#pragma omp parallel for simd reduction(+ : sum)
    for (uint32_t i = 0; i < n; i++) {
        sum += in[i];
    }
    return sum;
}

static void nbody(float* restrict acceleration, const float* restrict position, uint32_t n)
{
#pragma omp parallel for
    for (uint32_t i = 0; i < n; i++) {
        float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma omp simd reduction(+ : x, y, z)
        for (uint32_t j = 0; j < n; j++) {
            float dx = position[4 * j] - position[4 * i];
            float dy = position[4 * j + 1] - position[4 * i + 1];
            float dz = position[4 * j + 2] - position[4 * i + 2];
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float s = position[4 * j + 3] * inverse * inverse * inverse;
            x += dx * s;
            y += dy * s;
            z += dz * s;
        }
        acceleration[4 * i] = x;
        acceleration[4 * i + 1] = y;
        acceleration[4 * i + 2] = z;
        acceleration[4 * i + 3] = 0.0f;
    }
}

static void mandelbrot(uint32_t* out, uint32_t width, uint32_t height)
{
#pragma omp parallel for schedule(dynamic)
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            float cr = 3.0f * (float)x / (float)width - 2.0f,
                  ci = 2.0f * (float)y / (float)height - 1.0f;
            float zr = 0.0f, zi = 0.0f;
            uint32_t k = 0;
            while (k < 256 && zr * zr + zi * zi < 4.0f) {
                float t = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = t;
                k++;
            }
            out[y * width + x] = k;
        }
    }
}

void bench_loops_run(int kernel, bench_data* data)
{
    switch (kernel) {
    case BENCH_ADD: add(data->a, data->b, BENCH_ELEMENTS); break;
    case BENCH_MATMUL: matmul(data->out, data->b, data->b, BENCH_MATRIX); break;
    case BENCH_REDUCE: data->out[0] = reduce(data->b, BENCH_ELEMENTS); break;
    case BENCH_NBODY: nbody(data->out, data->b, BENCH_BODIES); break;
    case BENCH_MANDELBROT:
        mandelbrot((uint32_t*)(void*)data->out, BENCH_WIDTH, BENCH_HEIGHT);
        break;
    default: break;
    }
}

#if defined(__GNUC__)
__attribute__((noinline))
#endif
void bench_add_small(float* a, const float* b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        a[i] += b[i];
    }
}
