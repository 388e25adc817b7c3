/* The machine's OpenCL devices, for comparison. The loader is opened when it is there, and what is
 * used of its interface is declared here, so that building needs no OpenCL. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels_source.h" /* kernels.cl, as bytes */

typedef void* cl_object;
#define CL_DEVICE_TYPE_ALL 0xffffffffull
#define CL_DEVICE_NAME 0x102b
#define CL_PLATFORM_NAME 0x0902
#define CL_MEM_READ_WRITE 1u
#define CL_PROGRAM_BUILD_LOG 0x1183

/* CL_FUNCTION(result, name, parameters) */
#define CL_FUNCTIONS                                                                               \
    CL_FUNCTION(int32_t, clGetPlatformIDs, (uint32_t, cl_object*, uint32_t*))                      \
    CL_FUNCTION(int32_t, clGetPlatformInfo, (cl_object, uint32_t, size_t, void*, size_t*))         \
    CL_FUNCTION(int32_t, clGetDeviceIDs, (cl_object, uint64_t, uint32_t, cl_object*, uint32_t*))   \
    CL_FUNCTION(int32_t, clGetDeviceInfo, (cl_object, uint32_t, size_t, void*, size_t*))           \
    CL_FUNCTION(cl_object, clCreateContext,                                                        \
                (const intptr_t*, uint32_t, const cl_object*, void*, void*, int32_t*))             \
    CL_FUNCTION(int32_t, clReleaseContext, (cl_object))                                            \
    CL_FUNCTION(cl_object, clCreateCommandQueue, (cl_object, cl_object, uint64_t, int32_t*))       \
    CL_FUNCTION(int32_t, clReleaseCommandQueue, (cl_object))                                       \
    CL_FUNCTION(cl_object, clCreateProgramWithSource,                                              \
                (cl_object, uint32_t, const char**, const size_t*, int32_t*))                      \
    CL_FUNCTION(int32_t, clBuildProgram,                                                           \
                (cl_object, uint32_t, const cl_object*, const char*, void*, void*))                \
    CL_FUNCTION(int32_t, clGetProgramBuildInfo,                                                    \
                (cl_object, cl_object, uint32_t, size_t, void*, size_t*))                          \
    CL_FUNCTION(int32_t, clReleaseProgram, (cl_object))                                            \
    CL_FUNCTION(cl_object, clCreateKernel, (cl_object, const char*, int32_t*))                     \
    CL_FUNCTION(int32_t, clSetKernelArg, (cl_object, uint32_t, size_t, const void*))               \
    CL_FUNCTION(int32_t, clReleaseKernel, (cl_object))                                             \
    CL_FUNCTION(cl_object, clCreateBuffer, (cl_object, uint64_t, size_t, void*, int32_t*))         \
    CL_FUNCTION(int32_t, clReleaseMemObject, (cl_object))                                          \
    CL_FUNCTION(int32_t, clEnqueueWriteBuffer,                                                     \
                (cl_object, cl_object, uint32_t, size_t, size_t, const void*, uint32_t,            \
                 const void*, void*))                                                              \
    CL_FUNCTION(                                                                                   \
        int32_t, clEnqueueReadBuffer,                                                              \
        (cl_object, cl_object, uint32_t, size_t, size_t, void*, uint32_t, const void*, void*))     \
    CL_FUNCTION(int32_t, clEnqueueNDRangeKernel,                                                   \
                (cl_object, cl_object, uint32_t, const size_t*, const size_t*, const size_t*,      \
                 uint32_t, const void*, void*))                                                    \
    CL_FUNCTION(int32_t, clFinish, (cl_object))

typedef struct cl_functions {
#define CL_FUNCTION(result, name, parameters) result(*name) parameters;
    CL_FUNCTIONS
#undef CL_FUNCTION
} cl_functions;

#define MAX_DEVICES 8u

typedef struct device {
    char name[160];
    cl_object context, queue, program, a, b, out;
    cl_object kernels[BENCH_KERNEL_COUNT], small;
} device;

struct bench_opencl {
    void* library;
    cl_functions f;
    device devices[MAX_DEVICES];
    uint32_t count;
};

static bool check(const device* d, const char* what, int32_t code)
{
    if (code != 0) {
        fprintf(stderr, "khal-bench: %s: %s failed with %d\n", d->name, what, (int)code);
    }
    return code == 0;
}

static bool set_args(bench_opencl* cl, device* d)
{
    const uint32_t elements = BENCH_ELEMENTS, matrix = BENCH_MATRIX, bodies = BENCH_BODIES,
                   width = BENCH_WIDTH, height = BENCH_HEIGHT, small = BENCH_SMALL;
    const struct {
        cl_object kernel;
        uint32_t index;
        size_t size;
        const void* value;
    } args[] = {
        {d->kernels[BENCH_ADD], 0, sizeof d->a, &d->a},
        {d->kernels[BENCH_ADD], 1, sizeof d->b, &d->b},
        {d->kernels[BENCH_ADD], 2, 4, &elements},
        {d->kernels[BENCH_MATMUL], 0, sizeof d->out, &d->out},
        {d->kernels[BENCH_MATMUL], 1, sizeof d->b, &d->b},
        {d->kernels[BENCH_MATMUL], 2, sizeof d->b, &d->b},
        {d->kernels[BENCH_MATMUL], 3, 4, &matrix},
        {d->kernels[BENCH_REDUCE], 0, sizeof d->out, &d->out},
        {d->kernels[BENCH_REDUCE], 1, sizeof d->b, &d->b},
        {d->kernels[BENCH_REDUCE], 2, 4, &elements},
        {d->kernels[BENCH_NBODY], 0, sizeof d->out, &d->out},
        {d->kernels[BENCH_NBODY], 1, sizeof d->b, &d->b},
        {d->kernels[BENCH_NBODY], 2, 4, &bodies},
        {d->kernels[BENCH_MANDELBROT], 0, sizeof d->out, &d->out},
        {d->kernels[BENCH_MANDELBROT], 1, 4, &width},
        {d->kernels[BENCH_MANDELBROT], 2, 4, &height},
        {d->small, 0, sizeof d->a, &d->a},
        {d->small, 1, sizeof d->b, &d->b},
        {d->small, 2, 4, &small},
    };
    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++) {
        if (!check(
                d, "clSetKernelArg",
                cl->f.clSetKernelArg(args[i].kernel, args[i].index, args[i].size, args[i].value))) {
            return false;
        }
    }
    return true;
}

static void drop(bench_opencl* cl, device* d)
{
    for (int k = 0; k < BENCH_KERNEL_COUNT; k++) {
        if (d->kernels[k])
            cl->f.clReleaseKernel(d->kernels[k]);
    }
    if (d->small)
        cl->f.clReleaseKernel(d->small);
    if (d->a)
        cl->f.clReleaseMemObject(d->a);
    if (d->b)
        cl->f.clReleaseMemObject(d->b);
    if (d->out)
        cl->f.clReleaseMemObject(d->out);
    if (d->program)
        cl->f.clReleaseProgram(d->program);
    if (d->queue)
        cl->f.clReleaseCommandQueue(d->queue);
    if (d->context)
        cl->f.clReleaseContext(d->context);
}

static bool open_device(bench_opencl* cl, cl_object platform, cl_object id, device* d)
{
    char platform_name[64] = "", device_name[80] = "";
    int32_t e = 0;
    memset(d, 0, sizeof *d);
    cl->f.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
    cl->f.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof device_name, device_name, NULL);
    snprintf(d->name, sizeof d->name, "OpenCL: %s (%s)", device_name, platform_name);

    d->context = cl->f.clCreateContext(NULL, 1, &id, NULL, NULL, &e);
    if (!check(d, "clCreateContext", e))
        return false;
    d->queue = cl->f.clCreateCommandQueue(d->context, id, 0, &e);
    if (!check(d, "clCreateCommandQueue", e))
        return false;
    const char* text = (const char*)kernels_source;
    const size_t size = sizeof kernels_source;
    d->program = cl->f.clCreateProgramWithSource(d->context, 1, &text, &size, &e);
    if (!check(d, "clCreateProgramWithSource", e))
        return false;
    e = cl->f.clBuildProgram(d->program, 0, NULL, "-cl-mad-enable", NULL, NULL);
    if (e != 0) {
        static char log[4096];
        cl->f.clGetProgramBuildInfo(d->program, id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
                                    NULL);
        fprintf(stderr, "%s\n", log);
        return check(d, "clBuildProgram", e);
    }
    for (int k = 0; k < BENCH_KERNEL_COUNT; k++) {
        d->kernels[k] = cl->f.clCreateKernel(d->program, bench_works[k].name, &e);
        if (!check(d, "clCreateKernel", e))
            return false;
    }
    d->small = cl->f.clCreateKernel(d->program, bench_works[BENCH_ADD].name, &e);
    if (!check(d, "clCreateKernel", e))
        return false;
    cl_object* const buffers[] = {&d->a, &d->b, &d->out};
    for (int i = 0; i < 3; i++) {
        *buffers[i] = cl->f.clCreateBuffer(d->context, CL_MEM_READ_WRITE,
                                           BENCH_ELEMENTS * sizeof(float), NULL, &e);
        if (!check(d, "clCreateBuffer", e))
            return false;
    }
    return set_args(cl, d);
}

bench_opencl* bench_opencl_open(const char** out_reason)
{
    *out_reason = "no memory";
    bench_opencl* cl = calloc(1, sizeof *cl);
    if (!cl) {
        return NULL;
    }
    *out_reason = "libOpenCL.so.1 was not found";
    cl->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cl->library) {
        free(cl);
        return NULL;
    }
    const struct {
        const char* name;
        void* at;
    } symbols[] = {
#define CL_FUNCTION(result, name, parameters) {#name, &cl->f.name},
        CL_FUNCTIONS
#undef CL_FUNCTION
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void* symbol = dlsym(cl->library, symbols[i].name);
        if (!symbol) {
            *out_reason = "libOpenCL.so.1 lacks functions";
            bench_opencl_close(cl);
            return NULL;
        }
        memcpy(symbols[i].at, &symbol, sizeof symbol);
    }
    cl_object platforms[MAX_DEVICES];
    uint32_t platform_count = 0;
    *out_reason = "no OpenCL device was found";
    if (cl->f.clGetPlatformIDs(MAX_DEVICES, platforms, &platform_count) == 0) {
        for (uint32_t p = 0; p < platform_count && p < MAX_DEVICES; p++) {
            cl_object ids[MAX_DEVICES];
            uint32_t count = 0;
            if (cl->f.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &count) !=
                0) {
                continue;
            }
            for (uint32_t i = 0; i < count && i < MAX_DEVICES && cl->count < MAX_DEVICES; i++) {
                if (open_device(cl, platforms[p], ids[i], &cl->devices[cl->count])) {
                    cl->count++;
                } else {
                    drop(cl, &cl->devices[cl->count]);
                }
            }
        }
    }
    if (cl->count == 0) {
        bench_opencl_close(cl);
        return NULL;
    }
    return cl;
}

void bench_opencl_close(bench_opencl* cl)
{
    if (!cl) {
        return;
    }
    for (uint32_t i = 0; i < cl->count; i++) {
        drop(cl, &cl->devices[i]);
    }
    /* The library stays: some drivers leave threads behind that still run its code. */
    free(cl);
}

uint32_t bench_opencl_count(const bench_opencl* cl)
{
    return cl ? cl->count : 0;
}

const char* bench_opencl_name(const bench_opencl* cl, uint32_t device)
{
    return cl->devices[device].name;
}

bool bench_opencl_write(bench_opencl* cl, uint32_t index, const bench_data* data)
{
    device* d = &cl->devices[index];
    const size_t size = BENCH_ELEMENTS * sizeof(float);
    return check(d, "clEnqueueWriteBuffer",
                 cl->f.clEnqueueWriteBuffer(d->queue, d->a, 1, 0, size, data->a, 0, NULL, NULL)) &&
           check(d, "clEnqueueWriteBuffer",
                 cl->f.clEnqueueWriteBuffer(d->queue, d->b, 1, 0, size, data->b, 0, NULL, NULL)) &&
           check(
               d, "clEnqueueWriteBuffer",
               cl->f.clEnqueueWriteBuffer(d->queue, d->out, 1, 0, size, data->out, 0, NULL, NULL));
}

static bool run(bench_opencl* cl, device* d, cl_object kernel, const size_t* global,
                const size_t* local)
{
    int32_t e = cl->f.clEnqueueNDRangeKernel(d->queue, kernel, global[1] > 1 ? 2 : 1, NULL, global,
                                             local, 0, NULL, NULL);
    return check(d, "clEnqueueNDRangeKernel", e) && check(d, "clFinish", cl->f.clFinish(d->queue));
}

bool bench_opencl_run(bench_opencl* cl, uint32_t index, int kernel)
{
    const bench_work* work = &bench_works[kernel];
    const size_t global[2] = {(size_t)work->global[0], (size_t)work->global[1]},
                 local[2] = {work->local[0], work->local[1]};
    return run(cl, &cl->devices[index], cl->devices[index].kernels[kernel], global, local);
}

bool bench_opencl_run_small(bench_opencl* cl, uint32_t index)
{
    const size_t global[2] = {BENCH_SMALL, 1}, local[2] = {bench_works[BENCH_ADD].local[0], 1};
    return run(cl, &cl->devices[index], cl->devices[index].small, global, local);
}

bool bench_opencl_read(bench_opencl* cl, uint32_t index, bench_data* out)
{
    device* d = &cl->devices[index];
    const size_t size = BENCH_ELEMENTS * sizeof(float);
    return check(d, "clEnqueueReadBuffer",
                 cl->f.clEnqueueReadBuffer(d->queue, d->a, 1, 0, size, out->a, 0, NULL, NULL)) &&
           check(d, "clEnqueueReadBuffer",
                 cl->f.clEnqueueReadBuffer(d->queue, d->out, 1, 0, size, out->out, 0, NULL, NULL));
}
