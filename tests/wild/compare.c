/* Runs every kernel of a kernel library twice, through libkhal's CPU device and through an OpenCL implementation, on the
 * same made-up arguments, and compares every buffer. For kernels that nobody here wrote: their authors' meaning is
 * unknown, so the other implementation's results are the reference.
 *
 *     compare LIBRARY.so SYMBOL SOURCE.cl [OPENCL-BUILD-OPTION ...]
 *
 * LIBRARY.so holds the compiled NAME.khal.c and SYMBOL is its khal_kernel_library. Prints a line a kernel:
 * same, close (floats within 1e-3 of the buffer's largest value), differs, crashed-khal, crashed-opencl, refused-opencl, error.
 * Each run is a process of its own, since made-up arguments may lead a kernel out of its buffers.
 * OpenCL is opened at run time; the few entry points that are used are declared here. */
#define _GNU_SOURCE
#include <khal/khal.h>

#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BUFFERS = 64 };
static const size_t buffer_size = 1u << 20;
static const size_t guard_size = 1u << 20; /* before and after, so that small strays do not crash */

typedef struct setup {
    const khal_kernel_info* kernel;
    uint32_t workgroup[3];
    uint64_t groups[3];
    uint8_t* memory[2]; /* of khal's run and of OpenCL's: binding_count * buffer_size bytes, shared with the children */
    uint8_t values[4096];
    uint64_t local_sizes[64];
} setup;

static uint64_t rng_state;
static uint32_t rng(void)
{
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng_state >> 33);
}

static bool type_is(const char* type, const char* lane)
{
    size_t n = strlen(lane);
    return strncmp(type, lane, n) == 0 && (type[n] == 0 || (type[n] >= '0' && type[n] <= '9'));
}

/* Floats in [0, 1), integers small enough to serve as an index or a size, structs as small integers. */
static void fill(uint8_t* out, size_t size, const char* type, bool is_value)
{
    if (type_is(type, "float"))
        for (size_t i = 0; i + 4 <= size; i += 4) { float v = (float)(rng() & 0xffff) / 65536.0f; memcpy(out + i, &v, 4); }
    else if (type_is(type, "double"))
        for (size_t i = 0; i + 8 <= size; i += 8) { double v = (double)(rng() & 0xffff) / 65536.0; memcpy(out + i, &v, 8); }
    else if (type_is(type, "half"))
        for (size_t i = 0; i + 2 <= size; i += 2) { uint16_t v = (uint16_t)(0x3800 + (rng() & 0x3ff)); memcpy(out + i, &v, 2); }
    else if (type_is(type, "char") || type_is(type, "uchar"))
        for (size_t i = 0; i < size; i++) out[i] = (uint8_t)(is_value ? 16 : rng() & 127);
    else if (type_is(type, "short") || type_is(type, "ushort"))
        for (size_t i = 0; i + 2 <= size; i += 2) { uint16_t v = (uint16_t)(is_value ? 32 : rng() & 63); memcpy(out + i, &v, 2); }
    else if (type_is(type, "long") || type_is(type, "ulong"))
        for (size_t i = 0; i + 8 <= size; i += 8) { uint64_t v = is_value ? 32 : rng() & 63; memcpy(out + i, &v, 8); }
    else { /* int, and structs: every other word is 0, so that 64-bit members are small too */
        const bool is_struct = !type_is(type, "int") && !type_is(type, "uint");
        for (size_t i = 0; i + 4 <= size; i += 4) {
            uint32_t v = is_struct && i % 8 ? 0 : is_value ? 32 : rng() & 63;
            memcpy(out + i, &v, 4);
        }
    }
}

static void plan(setup* s, const khal_kernel_info* k)
{
    memset(s->values, 0, sizeof s->values);
    s->kernel = k;
    bool fixed = k->workgroup_size[0] != 0;
    for (int d = 0; d < 3; d++) s->workgroup[d] = fixed ? k->workgroup_size[d] : d < 2 ? 8 : 1;
    for (int d = 0; d < 3; d++) s->groups[d] = d < 2 ? (32 + s->workgroup[d] - 1) / s->workgroup[d] : 1;
    rng_state = 1;
    for (const char* c = k->name; *c; c++) rng_state = rng_state * 31 + (uint8_t)*c;
    for (uint32_t i = 0; i < k->arg_count; i++) {
        const khal_arg_info* a = &k->args[i];
        if (a->kind == KHAL_ARG_BUFFER || a->kind == KHAL_ARG_CONSTANT)
            fill(s->memory[0] + a->index * buffer_size, buffer_size, a->type_name, false);
        else if (a->kind == KHAL_ARG_VALUE) {
            fill(s->values + a->offset, a->element_size, a->type_name, true);
            int row = 2048; /* rows that do not overlap, or work-items would race */
            if (a->element_size == sizeof row && (strstr(a->name, "step") || strstr(a->name, "stride") || strstr(a->name, "pitch")) &&
                (type_is(a->type_name, "int") || type_is(a->type_name, "uint")))
                memcpy(s->values + a->offset, &row, sizeof row);
            if (a->element_size == sizeof row && strstr(a->name, "offset")) memset(s->values + a->offset, 0, sizeof row);
        }
        else
            s->local_sizes[a->index] = (uint64_t)16384 / a->element_size / k->local_count * a->element_size;
    }
    memcpy(s->memory[1], s->memory[0], k->binding_count * buffer_size);
}

static void ignore_print(void* user, const char* text, size_t size) { (void)user; (void)text; (void)size; }

/* Exit status of a child: 0 done, 2 the implementation refused (said on stderr). */
static int run_khal(setup* s, const khal_kernel_library* library)
{
    const khal_kernel_info* k = s->kernel;
    khal_device* device; khal_module* module; khal_function* function; khal_encoder* encoder; khal_pass* pass;
    khal_slice slices[MAX_BUFFERS];
    khal_buffer* buffers[MAX_BUFFERS];
    khal_device_desc device_desc = {.backend = KHAL_BACKEND_CPU, .print = ignore_print};
    if (khal_device_open(&device_desc, &device) ||
        khal_module_load(device, &(khal_module_desc){.library = library}, &module) ||
        khal_function_create(module, &(khal_function_desc){.entry_point = k->name}, &function))
        goto refused;
    for (uint32_t i = 0; i < k->binding_count; i++) {
        uint8_t* mapped = mmap(NULL, buffer_size + 2 * guard_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(mapped + guard_size, s->memory[0] + i * buffer_size, buffer_size);
        if (khal_buffer_create(device, &(khal_buffer_desc){.host_memory = mapped + guard_size, .size = buffer_size}, &buffers[i]))
            goto refused;
        slices[i] = khal_slice_all(buffers[i]);
    }
    khal_grid grid = khal_groups(s->groups[0], s->groups[1], s->groups[2]);
    if (!k->workgroup_size[0]) grid = khal_grid_with_workgroup(grid, s->workgroup[0], s->workgroup[1], s->workgroup[2]);
    khal_dispatch_desc dispatch = {.function = function, .grid = grid, .bindings = slices, .binding_count = k->binding_count,
        .push_constants = s->values, .push_constant_size = k->push_constant_size,
        .local_sizes = s->local_sizes, .local_count = k->local_count};
    if (khal_encoder_create(device, NULL, &encoder) || khal_pass_begin(encoder, NULL, &pass) ||
        khal_pass_dispatch(pass, &dispatch, NULL) || khal_pass_end(pass) || khal_submit(encoder, NULL) ||
        khal_device_wait(device, KHAL_FOREVER))
        goto refused;
    for (uint32_t i = 0; i < k->binding_count; i++)
        if (khal_buffer_read(buffers[i], 0, s->memory[0] + i * buffer_size, buffer_size, KHAL_FOREVER)) goto refused;
    return 0;
refused:
    fprintf(stderr, "khal: %s\n", khal_error_get()->message);
    return 2;
}

#define CL(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(lib, #name)
static int run_opencl(setup* s, const char* source, const char* options)
{
    const khal_kernel_info* k = s->kernel;
    void* lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "no libOpenCL.so.1\n"); return 2; }
    CL(int, clGetPlatformIDs, uint32_t, void**, uint32_t*);
    CL(int, clGetDeviceIDs, void*, uint64_t, uint32_t, void**, uint32_t*);
    CL(void*, clCreateContext, const intptr_t*, uint32_t, void**, void*, void*, int*);
    CL(void*, clCreateCommandQueue, void*, void*, uint64_t, int*);
    CL(void*, clCreateProgramWithSource, void*, uint32_t, const char**, const size_t*, int*);
    CL(int, clBuildProgram, void*, uint32_t, void**, const char*, void*, void*);
    CL(int, clGetProgramBuildInfo, void*, void*, uint32_t, size_t, void*, size_t*);
    CL(void*, clCreateKernel, void*, const char*, int*);
    CL(void*, clCreateBuffer, void*, uint64_t, size_t, void*, int*);
    CL(int, clSetKernelArg, void*, uint32_t, size_t, const void*);
    CL(int, clEnqueueNDRangeKernel, void*, void*, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, void*, void*);
    CL(int, clEnqueueReadBuffer, void*, void*, uint32_t, size_t, size_t, void*, uint32_t, void*, void*);
    CL(int, clFinish, void*);
    void *platform, *device, *buffers[MAX_BUFFERS];
    int e = 0;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, 0xffffffff, 1, &device, NULL)) return 2;
    void* context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
    void* queue = clCreateCommandQueue(context, device, 0, &e);
    void* program = clCreateProgramWithSource(context, 1, &source, NULL, &e);
    if (e || clBuildProgram(program, 1, &device, options, NULL, NULL)) {
        static char log[400];
        clGetProgramBuildInfo(program, device, 0x1183, sizeof log - 1, log, NULL);
        fprintf(stderr, "opencl: %s\n", log);
        return 2;
    }
    void* kernel = clCreateKernel(program, k->name, &e);
    if (e) return 2;
    for (uint32_t i = 0; i < k->arg_count; i++) {
        const khal_arg_info* a = &k->args[i];
        if (a->kind == KHAL_ARG_VALUE) e |= clSetKernelArg(kernel, i, a->element_size, s->values + a->offset);
        else if (a->kind == KHAL_ARG_LOCAL) e |= clSetKernelArg(kernel, i, s->local_sizes[a->index], NULL);
        else {
            uint8_t* mapped = mmap(NULL, buffer_size + 2 * guard_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(mapped + guard_size, s->memory[1] + a->index * buffer_size, buffer_size);
            buffers[a->index] = clCreateBuffer(context, 1u | 8u, buffer_size, mapped + guard_size, &e); /* READ_WRITE, USE_HOST_PTR */
            if (e) return 2;
            e |= clSetKernelArg(kernel, i, sizeof(void*), &buffers[a->index]);
        }
    }
    size_t local[3], global[3];
    for (int d = 0; d < 3; d++) local[d] = s->workgroup[d], global[d] = s->workgroup[d] * s->groups[d];
    if (!e) e = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
    if (!e) e = clFinish(queue);
    for (uint32_t i = 0; i < k->binding_count && !e; i++)
        e = clEnqueueReadBuffer(queue, buffers[i], 1, 0, buffer_size, s->memory[1] + i * buffer_size, 0, NULL, NULL);
    if (e) fprintf(stderr, "opencl: error %d\n", e);
    return e ? 2 : 0;
}

static double lane(const uint8_t* p, const char* type, size_t i, bool* is_float)
{
    *is_float = true;
    if (type_is(type, "float")) { float v; memcpy(&v, p + 4 * i, 4); return v; }
    if (type_is(type, "double")) { double v; memcpy(&v, p + 8 * i, 8); return v; }
    *is_float = false;
    return p[i];
}

/* Lanes that differ by more than the tolerance, and the first of the worst. */
static size_t count_different(const uint8_t* x, const uint8_t* y, const char* type, size_t* out_at)
{
    bool is_float;
    (void)lane(x, type, 0, &is_float);
    const size_t step = type_is(type, "float") ? 4 : type_is(type, "double") ? 8 : 1;
    double largest = 0, worst = 0;
    size_t different = 0;
    for (size_t j = 0; j < buffer_size / step; j++) {
        double v = lane(y, type, j, &is_float);
        if (isfinite(v) && fabs(v) > largest) largest = fabs(v);
    }
    const double most = is_float ? 1e-3 * (largest > 1e-3 ? largest : 1e-3) : 0;
    for (size_t j = 0; j < buffer_size / step; j++) {
        double u = lane(x, type, j, &is_float), v = lane(y, type, j, &is_float);
        double d = (isnan(u) && isnan(v)) || u == v ? 0 : isfinite(u) && isfinite(v) ? fabs(u - v) : INFINITY;
        if (d > most) different++;
        if (d > worst) worst = d, *out_at = j;
    }
    return different;
}

static const char* compare(const setup* s, char* detail, size_t detail_size)
{
    const char* verdict = "same";
    for (uint32_t i = 0; i < s->kernel->arg_count; i++) {
        const khal_arg_info* a = &s->kernel->args[i];
        if (a->kind != KHAL_ARG_BUFFER) continue;
        const uint8_t *x = s->memory[0] + a->index * buffer_size, *y = s->memory[1] + a->index * buffer_size;
        if (!memcmp(x, y, buffer_size)) continue;
        const char* type = a->type_name;
        size_t at = 0;
        size_t different = count_different(x, y, type, &at);
        /* bytes may be floats that the kernel casts to */
        if (different && (type_is(type, "uchar") || type_is(type, "void")) && !count_different(x, y, "float", &at)) different = 0;
        if (different) {
            bool is_float;
            snprintf(detail, detail_size, " (%s[%zu]: %g, OpenCL %g; %zu lanes differ)", a->name, at, lane(x, type, at, &is_float),
                     lane(y, type, at, &is_float), different);
            return "differs";
        }
        verdict = "close";
    }
    return verdict;
}

/* 0: done; 1: refused; 2: crashed or ran over time. */
static int in_child(int (*run)(setup*, const void*, const char*), setup* s, const void* what, const char* options)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(run(s, what, options));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return !WIFEXITED(status) ? 2 : WEXITSTATUS(status) ? 1 : 0;
}
static int child_khal(setup* s, const void* library, const char* options) { (void)options; return run_khal(s, library); }
static int child_opencl(setup* s, const void* source, const char* options) { return run_opencl(s, source, options); }

int main(int argc, char** argv)
{
    if (argc < 4) { fprintf(stderr, "usage: compare LIBRARY.so SYMBOL SOURCE.cl [OPENCL-BUILD-OPTION ...]\n"); return 2; }
    void* so = dlopen(argv[1], RTLD_NOW);
    const khal_kernel_library* library = so ? dlsym(so, argv[2]) : NULL;
    FILE* file = fopen(argv[3], "rb");
    if (!library || !file) { fprintf(stderr, "%s\n", library ? "no source file" : dlerror()); return 2; }
    static char source[1 << 22], options[1 << 14];
    source[fread(source, 1, sizeof source - 1, file)] = 0;
    for (int i = 4; i < argc; i++) { strcat(options, argv[i]); strcat(options, " "); }

    for (uint32_t i = 0; i < library->kernel_count; i++) {
        const khal_kernel_info* k = &library->kernels[i];
        setup* s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        size_t room = (k->binding_count + 1) * buffer_size;
        for (int j = 0; j < 2; j++) s->memory[j] = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        plan(s, k);
        static const char* const khal_words[] = {NULL, "error", "crashed-khal"};
        static const char* const opencl_words[] = {NULL, "refused-opencl", "crashed-opencl"};
        char detail[200] = "";
        int other = in_child(child_opencl, s, source, options);
        int ours = in_child(child_khal, s, library, NULL);
        const char* verdict = ours ? khal_words[ours] : other ? opencl_words[other] : compare(s, detail, sizeof detail);
        if (ours == 2 && other == 2) verdict = "crashed-both";
        printf("%s %s%s\n", verdict, k->name, detail);
        for (int j = 0; j < 2; j++) munmap(s->memory[j], room);
        munmap(s, sizeof *s);
    }
    return 0;
}
