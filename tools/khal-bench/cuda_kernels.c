/* khalc's PTX beside the same kernels by nvcc and by clang from OpenCL C, and indirect dispatches
 * beside direct ones: the time between two events in the stream, of launches one after the other.
 */
#include "cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.khal.h"

enum { ADD, MATMUL, REDUCE, NBODY, STENCIL, KERNELS };

static const char* const names[KERNELS] = {"add_assign", "matmul", "reduce", "nbody", "stencil"};

#define RUN_TIME                                                                                   \
    0.02 /* s: so many launches stand between two events that they take about as long */
#define KERNEL_ROUNDS 3u
#define SAMPLES 97u /* elements of a result that are computed anew here */

typedef struct shape {
    uint32_t n;                   /* the kernel's size; of stencil both */
    uint64_t in_count, out_count; /* floats */
    uint32_t groups[2], block[2];
    double amount; /* bytes or operations of one launch */
    const char* unit;
} shape;

static shape shape_of(int kernel, bool is_small)
{
    const uint32_t elements = is_small ? 1u << 20 : 1u << 28, matrix = is_small ? 128 : 4096,
                   bodies = is_small ? 1024 : 65536, side = is_small ? 512 : 8192,
                   reduce_groups = is_small ? 64 : 1056;
    const uint64_t matrix_size = (uint64_t)matrix * matrix, area = (uint64_t)side * side;
    switch (kernel) {
    case ADD:
        return (shape){elements, elements,        elements, {elements / 256, 1},
                       {256, 1}, 12.0 * elements, "GB/s"};
    case MATMUL:
        return (shape){matrix,      matrix_size,
                       matrix_size, {matrix / 16, matrix / 16},
                       {16, 16},    2.0 * matrix * (double)matrix_size,
                       "GFLOP/s"};
    case REDUCE:
        return (shape){elements, elements,       reduce_groups, {reduce_groups, 1},
                       {256, 1}, 4.0 * elements, "GB/s"};
    case NBODY:
        /* 20 operations for each pair, as n-body codes count them. */
        return (shape){bodies,           4ull * bodies, 4ull * bodies,
                       {bodies / 64, 1}, {64, 1},       20.0 * bodies * (double)bodies,
                       "GFLOP/s"};
    default:
        return (shape){side,  area, area, {side / 16, side / 16}, {16, 16}, 8.0 * (double)area,
                       "GB/s"};
    }
}

typedef struct work {
    cuda_bed* bed;
    int kernel;
    shape shape;
    uint32_t repeats;
    bool is_indirect;
    khal_buffer *out, *in, *counts;
    CUdeviceptr raw_out, raw_in;
    CUfunction function; /* the plain program's */
    CUevent begin, end;
} work;

static void record(const work* w, khal_pass* pass)
{
    struct kernels* library = w->bed->library;
    const shape* s = &w->shape;
    const khal_slice_float out = khal_slice_float_all(w->out), in = khal_slice_float_all(w->in);
    const khal_grid grid =
        w->is_indirect ? khal_indirect(w->counts, 0) : khal_groups(s->groups[0], s->groups[1], 1);
    switch (w->kernel) {
    case ADD:
        kernels_add_assign(library, pass, grid,
                           &(kernels_add_assign_args){.a = out, .b = in, .n = s->n});
        break;
    case MATMUL:
        kernels_matmul(library, pass, grid,
                       &(kernels_matmul_args){.c = out, .a = in, .b = in, .n = s->n});
        break;
    case REDUCE:
        kernels_reduce(library, pass, grid,
                       &(kernels_reduce_args){.out = out, .in = in, .n = s->n});
        break;
    case NBODY:
        kernels_nbody(library, pass, grid,
                      &(kernels_nbody_args){.acceleration = khal_slice_float4_all(w->out),
                                            .position = khal_slice_float4_all(w->in),
                                            .n = s->n});
        break;
    default:
        kernels_stencil(
            library, pass, grid,
            &(kernels_stencil_args){.out = out, .in = in, .width = s->n, .height = s->n});
    }
}

static double between_events(work* w)
{
    float ms = 0;
    cuda_raw* r = &w->bed->raw;
    CUDA_RAW(r, EventSynchronize(w->end));
    CUDA_RAW(r, EventElapsedTime(&ms, w->begin, w->end));
    return 1e-3 * (double)ms / w->repeats;
}

static double run_khal(void* user)
{
    work* w = user;
    cuda_bed* bed = w->bed;
    cuda_raw* r = &bed->raw;
    khal_pass* pass;
    khal_ticket ticket;
    khal_pass_begin(bed->encoder, NULL, &pass);
    for (uint32_t i = 0; i < w->repeats; i++)
        record(w, pass);
    khal_pass_end(pass);
    cuda_raw_enter(r);
    CUDA_RAW(r, EventRecord(w->begin, bed->stream));
    const bool is_good = khal_submit(bed->encoder, &ticket) == KHAL_OK;
    CUDA_RAW(r, EventRecord(w->end, bed->stream));
    const double time = between_events(w);
    cuda_raw_leave(r);
    if (!is_good || khal_ticket_wait(bed->device, ticket, KHAL_FOREVER) != KHAL_OK) {
        bench_failed(names[w->kernel]);
        return -1;
    }
    return r->has_failed ? -1 : time;
}

static double run_raw(void* user)
{
    work* w = user;
    cuda_raw* r = &w->bed->raw;
    /* All kernels take one or two buffers more, then one or two sizes. */
    void* with_three[] = {&w->raw_out, &w->raw_in, &w->raw_in, &w->shape.n};
    void* with_two[] = {&w->raw_out, &w->raw_in, &w->shape.n, &w->shape.n};
    CUDA_RAW(r, EventRecord(w->begin, r->stream));
    for (uint32_t i = 0; i < w->repeats; i++)
        cuda_raw_launch(r, w->function, w->shape.groups, w->shape.block,
                        w->kernel == MATMUL ? with_three : with_two);
    CUDA_RAW(r, EventRecord(w->end, r->stream));
    return between_events(w);
}

/* What the indirect row is measured beside. */
static double run_khal_direct(void* user)
{
    work direct = *(work*)user;
    direct.is_indirect = false;
    return run_khal(&direct);
}

/* ---- results --------------------------------------------------------------------------------- */

static float value_of(uint64_t i)
{
    return (float)(i * 2654435761u % 1000u) * 0.001f;
}

static double nbody_expected(const float* in, uint32_t n, uint64_t at)
{
    const float* p = in + at / 4 * 4;
    double sum = 0;
    for (uint64_t j = 0; at % 4 < 3 && j < n; j++) {
        const float* q = in + 4 * j;
        const double dx = (double)q[0] - (double)p[0], dy = (double)q[1] - (double)p[1],
                     dz = (double)q[2] - (double)p[2];
        const double d[3] = {dx, dy, dz}, inverse = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-3);
        sum += d[at % 4] * (double)q[3] * inverse * inverse * inverse;
    }
    return sum;
}

/* Element `at` of a first run over an output of zeroes. */
static double expected(const work* w, const float* in, uint64_t at)
{
    const uint64_t n = w->shape.n, x = at % n, y = at / n;
    double sum = 0;
    switch (w->kernel) {
    case ADD: return (double)in[at];
    case MATMUL:
        for (uint64_t k = 0; k < n; k++)
            sum += (double)in[y * n + k] * (double)in[k * n + x];
        return sum;
    case REDUCE:
        for (uint64_t first = at * 256; first < n; first += 256ull * w->shape.groups[0])
            for (uint64_t i = first; i < first + 256; i++)
                sum += (double)in[i];
        return sum;
    case NBODY: return nbody_expected(in, w->shape.n, at);
    default:
        if (x == 0 || y == 0 || x + 1 == n || y + 1 == n)
            return 0;
        return 0.2 * ((double)in[at] + (double)in[at - 1] + (double)in[at + 1] +
                      (double)in[at - n] + (double)in[at + n]);
    }
}

static bool check_samples(const work* w, const float* in, const float* out)
{
    double magnitude = 0;
    for (uint64_t i = 0; i < w->shape.out_count; i++)
        magnitude = fmax(magnitude, fabs((double)out[i]));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        const uint64_t at = (w->shape.out_count - 1) * i / (SAMPLES - 1);
        const double difference = fabs((double)out[at] - expected(w, in, at));
        if (!(difference <= 1e-3 * magnitude)) {
            fprintf(stderr, "khal-bench: %s: element %llu is %g and not %g\n", names[w->kernel],
                    (unsigned long long)at, (double)out[at], expected(w, in, at));
            return false;
        }
    }
    return magnitude > 0;
}

/* Sums in another order, and a factor that one of them fuses, may differ a little. */
static bool agree(const work* w, const float* a, const float* b, const char* name)
{
    double error = 0, magnitude = 0;
    for (uint64_t i = 0; i < w->shape.out_count; i++) {
        const double difference = fabs((double)a[i] - (double)b[i]);
        error = difference > error || difference != difference ? difference : error;
        magnitude = fmax(magnitude, fabs((double)a[i]));
    }
    if (error <= 1e-3 * magnitude)
        return true;
    fprintf(stderr, "khal-bench: %s: khalc's kernel and that of %s differ by %g\n",
            names[w->kernel], name, error);
    return false;
}

/* ---- beside each other ----------------------------------------------------------------------- */

#define PEERS 2u
typedef struct peer {
    const char* name;
    CUmodule module; /* NULL: it is not there */
} peer;

/* One run over zeroes, whose result goes to `out`. */
static bool first_of_khal(work* w, float* out)
{
    const uint64_t size = w->shape.out_count * sizeof(float);
    memset(out, 0, size);
    return (khal_buffer_write(w->out, 0, out, size) == KHAL_OK && run_khal(w) >= 0 &&
            khal_buffer_read(w->out, 0, out, size, KHAL_FOREVER) == KHAL_OK) ||
           bench_failed(names[w->kernel]);
}

static bool first_of_peer(work* w, float* out)
{
    const uint64_t size = w->shape.out_count * sizeof(float);
    cuda_raw* r = &w->bed->raw;
    cuda_raw_enter(r);
    CUDA_RAW(r, MemsetD8Async(w->raw_out, 0, size, r->stream));
    const double time = run_raw(w);
    CUDA_RAW(r, MemcpyDtoHAsync(out, w->raw_out, size, r->stream));
    cuda_raw_finish(r);
    cuda_raw_leave(r);
    return time >= 0 && !r->has_failed;
}

static bool check_results(work* khal, work* peers, const peer* modules, const float* in)
{
    float* ours = malloc(khal->shape.out_count * sizeof(float));
    float* other = malloc(khal->shape.out_count * sizeof(float));
    bool is_good = ours && other && first_of_khal(khal, ours) && check_samples(khal, in, ours);
    for (uint32_t i = 0; i < PEERS && ours && other; i++)
        if (modules[i].module)
            is_good = first_of_peer(&peers[i], other) &&
                      agree(khal, ours, other, modules[i].name) && is_good;
    if (ours && other) {
        work indirect = *khal;
        indirect.is_indirect = true;
        is_good = first_of_khal(&indirect, other) &&
                  agree(khal, ours, other, "an indirect dispatch") && is_good;
    }
    free(ours);
    free(other);
    return is_good;
}

static bool rows(work* khal, work* peers, const peer* modules)
{
    char what[80];
    cuda_bed* bed = khal->bed;
    const double once = run_khal(khal);
    if (once < 0)
        return false;
    const uint32_t repeats = once > RUN_TIME         ? 1
                             : once < RUN_TIME / 400 ? 400
                                                     : (uint32_t)(RUN_TIME / once);
    khal->repeats = repeats;
    for (uint32_t i = 0; i < PEERS; i++)
        peers[i].repeats = repeats;
    snprintf(what, sizeof what, "%s, n = %u, khalc's PTX", names[khal->kernel],
             (unsigned)khal->shape.n);
    const double scale = khal->shape.amount * 1e-9;
    bool is_good = cuda_measure(
        bed,
        &(cuda_row){
            .what = what,
            .unit = khal->shape.unit,
            .scale = scale,
            .rounds = KERNEL_ROUNDS,
            .is_rate = true,
            .sides = {{NULL, run_khal, khal, 0},
                      {modules[0].module ? modules[0].name : NULL, run_raw, &peers[0], 1 / 0.98},
                      {modules[1].module ? modules[1].name : NULL, run_raw, &peers[1], 1 / 0.98}}});
    work indirect = *khal;
    indirect.is_indirect = true;
    snprintf(what, sizeof what, "%s, dispatched indirectly", names[khal->kernel]);
    is_good =
        cuda_measure(bed,
                     &(cuda_row){.what = what,
                                 .unit = khal->shape.unit,
                                 .scale = scale,
                                 .rounds = KERNEL_ROUNDS,
                                 .is_rate = true,
                                 .sides = {{NULL, run_khal, &indirect, 0},
                                           {"directly", run_khal_direct, &indirect, 1.03}}}) &&
        is_good;
    return is_good;
}

static bool make_buffers(work* w, const float* in)
{
    const shape* s = &w->shape;
    const uint32_t element = w->kernel == NBODY ? 16 : 4,
                   counts[3] = {s->groups[0], s->groups[1], 1};
    cuda_raw* r = &w->bed->raw;
    cuda_raw_enter(r);
    w->raw_in = cuda_raw_buffer(r, s->in_count * sizeof(float), in);
    w->raw_out = cuda_raw_buffer(r, s->out_count * sizeof(float), NULL);
    CUDA_RAW(r, EventCreate(&w->begin, CU_EVENT_DEFAULT));
    CUDA_RAW(r, EventCreate(&w->end, CU_EVENT_DEFAULT));
    cuda_raw_leave(r);
    const khal_buffer_desc in_desc = {.size = s->in_count * sizeof(float),
                                      .element_size = element,
                                      .data = in},
                           out_desc = {.size = s->out_count * sizeof(float),
                                       .element_size = element},
                           counts_desc = {
                               .size = sizeof counts, .usage = KHAL_USAGE_INDIRECT, .data = counts};
    return !r->has_failed &&
           ((khal_buffer_create(w->bed->device, &in_desc, &w->in) == KHAL_OK &&
             khal_buffer_create(w->bed->device, &out_desc, &w->out) == KHAL_OK &&
             khal_buffer_create(w->bed->device, &counts_desc, &w->counts) == KHAL_OK) ||
            bench_failed(names[w->kernel]));
}

static void drop_buffers(work* w)
{
    cuda_raw* r = &w->bed->raw;
    khal_buffer_release(w->in);
    khal_buffer_release(w->out);
    khal_buffer_release(w->counts);
    cuda_raw_enter(r);
    if (w->raw_in)
        r->f.MemFree(w->raw_in);
    if (w->raw_out)
        r->f.MemFree(w->raw_out);
    if (w->begin)
        r->f.EventDestroy(w->begin);
    if (w->end)
        r->f.EventDestroy(w->end);
    cuda_raw_leave(r);
}

static bool compare(cuda_bed* bed, int kernel, const peer* modules)
{
    work w = {.bed = bed, .kernel = kernel, .shape = shape_of(kernel, bed->is_small), .repeats = 1},
         peers[PEERS];
    float* in = malloc(w.shape.in_count * sizeof(float));
    if (!in)
        return false;
    for (uint64_t i = 0; i < w.shape.in_count; i++)
        in[i] = value_of(i);
    bool is_good = make_buffers(&w, in);
    cuda_raw_enter(&bed->raw);
    for (uint32_t i = 0; i < PEERS; i++) {
        peers[i] = w;
        if (is_good && modules[i].module)
            is_good = CUDA_RAW(
                &bed->raw, ModuleGetFunction(&peers[i].function, modules[i].module, names[kernel]));
    }
    cuda_raw_leave(&bed->raw);
    if (is_good) {
        const bool are_right = check_results(&w, peers, modules, in);
        is_good = !bed->raw.has_failed && rows(&w, peers, modules) && are_right;
    }
    drop_buffers(&w);
    free(in);
    return is_good;
}

bool cuda_compare_kernels(cuda_bed* bed, const char* only)
{
    static const char* const variables[PEERS] = {"KHAL_BENCH_NVCC", "KHAL_BENCH_OPENCL"};
    peer modules[PEERS] = {{.name = "nvcc"}, {.name = "clang from OpenCL C"}};
    bool is_good = true;
    for (uint32_t i = 0; i < PEERS; i++) {
        const char* path = getenv(variables[i]);
        if (!path || !*path) {
            printf("%s names no kernels of %s: nothing stands beside khalc's\n", variables[i],
                   modules[i].name);
            continue;
        }
        cuda_raw_enter(&bed->raw);
        modules[i].module = cuda_raw_module(&bed->raw, path);
        cuda_raw_leave(&bed->raw);
        is_good = modules[i].module && is_good;
    }
    for (int i = 0; i < KERNELS && !bed->raw.has_failed; i++)
        if (!only || strcmp(only, names[i]) == 0)
            is_good = compare(bed, i, modules) && is_good;
    cuda_raw_enter(&bed->raw);
    for (uint32_t i = 0; i < PEERS; i++)
        if (modules[i].module)
            bed->raw.f.ModuleUnload(modules[i].module);
    cuda_raw_leave(&bed->raw);
    return is_good;
}
