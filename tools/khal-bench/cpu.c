#include "bench.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels.khal.h"

#define FLOATS_SIZE ((uint64_t)BENCH_ELEMENTS * sizeof(float))
#define SMALL_BATCH 2000u
#define MAX_PEERS 16u

const bench_work bench_works[BENCH_KERNEL_COUNT] = {
    [BENCH_ADD] = {"add_assign", "2^25 floats", {256, 1}, {BENCH_ELEMENTS, 1}},
    [BENCH_MATMUL] = {"matmul",
                      "1024 x 1024, tiles in local memory",
                      {16, 16},
                      {BENCH_MATRIX, BENCH_MATRIX}},
    [BENCH_REDUCE] = {"reduce",
                      "2^25 floats, local memory and barriers",
                      {256, 1},
                      {256 * BENCH_REDUCE_GROUPS, 1}},
    [BENCH_NBODY] = {"nbody", "8192 bodies", {64, 1}, {BENCH_BODIES, 1}},
    [BENCH_MANDELBROT] = {"mandelbrot",
                          "1024 x 1024, divergent",
                          {16, 16},
                          {BENCH_WIDTH, BENCH_HEIGHT}},
};

/* ---- results --------------------------------------------------------------------------------- */

static const char* check_near(const float* got, const float* expected, size_t count, double bound,
                              const char* message)
{
    double error = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)got[i] - (double)expected[i]);
        error = difference > error || difference != difference ? difference : error;
        magnitude = fmax(magnitude, fabs((double)expected[i]));
    }
    return error <= bound * magnitude ? NULL : message; /* a NaN is not */
}

const char* bench_check(int kernel, const bench_data* got, const bench_data* expected)
{
    switch (kernel) {
    case BENCH_ADD: return memcmp(got->a, expected->a, FLOATS_SIZE) == 0 ? NULL : "sums differ";
    case BENCH_MATMUL:
        return check_near(got->out, expected->out, (size_t)BENCH_MATRIX * BENCH_MATRIX, 1e-4,
                          "products differ");
    case BENCH_NBODY:
        return check_near(got->out, expected->out, (size_t)BENCH_BODIES * 4, 1e-3,
                          "accelerations differ");
    case BENCH_REDUCE: {
        double sum = 0.0, exact = 0.0;
        for (uint32_t i = 0; i < BENCH_REDUCE_GROUPS; i++) {
            sum += (double)got->out[i];
        }
        for (uint32_t i = 0; i < BENCH_ELEMENTS; i++) {
            exact += (double)expected->b[i];
        }
        return fabs(sum - exact) <= 1e-3 * exact ? NULL : "sums differ";
    }
    case BENCH_MANDELBROT: {
        /* Another rounding moves a few points on the border. */
        const uint32_t* a = (const uint32_t*)(const void*)got->out;
        const uint32_t* b = (const uint32_t*)(const void*)expected->out;
        uint32_t differ = 0;
        for (uint32_t i = 0; i < BENCH_WIDTH * BENCH_HEIGHT; i++) {
            differ += a[i] != b[i];
        }
        return differ <= BENCH_WIDTH * BENCH_HEIGHT / 200 ? NULL
                                                          : "more than 0.5 % of the points differ";
    }
    default: return "unknown kernel";
    }
}

static bool data_create(bench_data* data)
{
    float** const arrays[] = {&data->a, &data->b, &data->out};
    for (int i = 0; i < 3; i++) {
        *arrays[i] = aligned_alloc(128, FLOATS_SIZE);
        if (!*arrays[i]) {
            fprintf(stderr, "khal-bench: no memory for the data\n");
            return false;
        }
    }
    return true;
}

static void data_fill(bench_data* data)
{
    for (uint32_t i = 0; i < BENCH_ELEMENTS; i++) {
        data->a[i] = data->b[i] = (float)(i % 1000) / 1000.0f;
    }
    memset(data->out, 0, FLOATS_SIZE);
}

static void data_destroy(bench_data* data)
{
    free(data->a);
    free(data->b);
    free(data->out);
}

/* ---- khal ------------------------------------------------------------------------------------ */

typedef struct peer_khal {
    khal_device* device;
    kernels* library;
    khal_buffer *a, *b, *out;
    khal_encoder* encoder;
} peer_khal;

static bool khal_make(peer_khal* p)
{
    const khal_buffer_desc desc = {.size = FLOATS_SIZE, .element_size = sizeof(float)};
    if (kernels_load(p->device, &p->library) != KHAL_OK ||
        khal_buffer_create(p->device, &desc, &p->a) != KHAL_OK ||
        khal_buffer_create(p->device, &desc, &p->b) != KHAL_OK ||
        khal_buffer_create(p->device, &desc, &p->out) != KHAL_OK ||
        khal_encoder_create(p->device, NULL, &p->encoder) != KHAL_OK) {
        return bench_failed("preparing the device");
    }
    return true;
}

static void khal_drop(peer_khal* p)
{
    khal_encoder_release(p->encoder);
    khal_buffer_release(p->a);
    khal_buffer_release(p->b);
    khal_buffer_release(p->out);
    kernels_release(p->library);
    khal_device_release(p->device);
}

static void khal_record(peer_khal* p, khal_pass* pass, int kernel)
{
    switch (kernel) {
    case BENCH_ADD:
        kernels_add_assign(p->library, pass, khal_threads(BENCH_ELEMENTS, 1, 1),
                           &(kernels_add_assign_args){.a = khal_slice_float_all(p->a),
                                                      .b = khal_slice_float_all(p->b),
                                                      .n = BENCH_ELEMENTS});
        break;
    case BENCH_MATMUL:
        kernels_matmul(p->library, pass, khal_threads(BENCH_MATRIX, BENCH_MATRIX, 1),
                       &(kernels_matmul_args){.c = khal_slice_float_all(p->out),
                                              .a = khal_slice_float_all(p->b),
                                              .b = khal_slice_float_all(p->b),
                                              .n = BENCH_MATRIX});
        break;
    case BENCH_REDUCE:
        kernels_reduce(p->library, pass, khal_groups(BENCH_REDUCE_GROUPS, 1, 1),
                       &(kernels_reduce_args){.out = khal_slice_float_all(p->out),
                                              .in = khal_slice_float_all(p->b),
                                              .n = BENCH_ELEMENTS});
        break;
    case BENCH_NBODY:
        kernels_nbody(p->library, pass, khal_threads(BENCH_BODIES, 1, 1),
                      &(kernels_nbody_args){.acceleration = khal_slice_float4_all(p->out),
                                            .position = khal_slice_float4_all(p->b),
                                            .n = BENCH_BODIES});
        break;
    case BENCH_MANDELBROT:
        kernels_mandelbrot(p->library, pass, khal_threads(BENCH_WIDTH, BENCH_HEIGHT, 1),
                           &(kernels_mandelbrot_args){.out = khal_slice_uint_all(p->out),
                                                      .width = BENCH_WIDTH,
                                                      .height = BENCH_HEIGHT});
        break;
    default: break;
    }
}

static void khal_record_small(peer_khal* p, khal_pass* pass, bool with_barriers)
{
    if (with_barriers) {
        kernels_reduce(p->library, pass, khal_groups(1, 1, 1),
                       &(kernels_reduce_args){.out = khal_slice_float_all(p->out),
                                              .in = khal_slice_float_all(p->b),
                                              .n = BENCH_SMALL});
    } else {
        kernels_add_assign(p->library, pass, khal_threads(BENCH_SMALL, 1, 1),
                           &(kernels_add_assign_args){.a = khal_slice_float_all(p->a),
                                                      .b = khal_slice_float_all(p->b),
                                                      .n = BENCH_SMALL});
    }
}

static bool khal_finish(peer_khal* p, khal_ticket ticket)
{
    return khal_ticket_wait(p->device, ticket, KHAL_FOREVER) == KHAL_OK;
}

static bool khal_run(peer_khal* p, int kernel)
{
    khal_pass* pass;
    khal_ticket ticket;
    khal_pass_begin(p->encoder, NULL, &pass);
    khal_record(p, pass, kernel);
    khal_pass_end(pass);
    return (khal_submit(p->encoder, &ticket) == KHAL_OK && khal_finish(p, ticket)) ||
           bench_failed(bench_works[kernel].name);
}

static bool khal_run_small(peer_khal* p, bool with_barriers)
{
    khal_pass* pass;
    khal_ticket ticket;
    khal_pass_begin(p->encoder, NULL, &pass);
    khal_record_small(p, pass, with_barriers);
    khal_pass_end(pass);
    return (khal_submit(p->encoder, &ticket) == KHAL_OK && khal_finish(p, ticket)) ||
           bench_failed("the smallest dispatch");
}

static bool khal_put(peer_khal* p, const bench_data* data)
{
    return (khal_buffer_write(p->a, 0, data->a, FLOATS_SIZE) == KHAL_OK &&
            khal_buffer_write(p->b, 0, data->b, FLOATS_SIZE) == KHAL_OK &&
            khal_buffer_write(p->out, 0, data->out, FLOATS_SIZE) == KHAL_OK) ||
           bench_failed("writing the data");
}

static bool khal_get(peer_khal* p, bench_data* out)
{
    return (khal_buffer_read(p->a, 0, out->a, FLOATS_SIZE, KHAL_FOREVER) == KHAL_OK &&
            khal_buffer_read(p->out, 0, out->out, FLOATS_SIZE, KHAL_FOREVER) == KHAL_OK) ||
           bench_failed("reading the results");
}

/* ---- the kernels ----------------------------------------------------------------------------- */

typedef struct bench {
    const bench_options* options;
    peer_khal khal;
    bench_opencl* cl;
    bench_data data, expected, got;
    double* times[MAX_PEERS]; /* rounds each: khal, the loops, the OpenCL devices */
    uint32_t peer_count;
} bench;

static const char* peer_name(const bench* b, uint32_t peer)
{
    return peer == 0 ? "khal" : peer == 1 ? bench_loops_name : bench_opencl_name(b->cl, peer - 2);
}

static bool peer_run(bench* b, uint32_t peer, int kernel)
{
    if (peer == 0) {
        return khal_run(&b->khal, kernel);
    }
    if (peer == 1) {
        bench_loops_run(kernel, &b->data);
        return true;
    }
    return bench_opencl_run(b->cl, peer - 2, kernel);
}

static bool verify(bench* b, int kernel)
{
    bool good = true;
    data_fill(&b->expected);
    bench_loops_run(kernel, &b->expected);
    for (uint32_t peer = 0; peer < b->peer_count; peer++) {
        data_fill(&b->data);
        if (peer == 1) {
            continue;
        }
        bool ran = peer == 0 ? khal_put(&b->khal, &b->data) && khal_run(&b->khal, kernel) &&
                                   khal_get(&b->khal, &b->got)
                             : bench_opencl_write(b->cl, peer - 2, &b->data) &&
                                   bench_opencl_run(b->cl, peer - 2, kernel) &&
                                   bench_opencl_read(b->cl, peer - 2, &b->got);
        const char* problem = ran ? bench_check(kernel, &b->got, &b->expected) : "did not run";
        if (problem) {
            printf("  %s: WRONG: %s\n", peer_name(b, peer), problem);
            good = false;
        }
    }
    return good;
}

static void print_peers(bench* b, double scale, const char* unit)
{
    double best[MAX_PEERS];
    for (uint32_t peer = 0; peer < b->peer_count; peer++) {
        best[peer] = bench_best(b->times[peer], b->options->rounds);
        double median = bench_median(b->times[peer], b->options->rounds);
        printf("  %-60.60s best %9.3f  median %9.3f %s", peer_name(b, peer), best[peer] * scale,
               median * scale, unit);
        if (peer > 0) {
            printf("   khal / this %6.2f", best[0] / best[peer]);
        }
        putchar('\n');
    }
}

static bool bench_kernel(bench* b, int kernel)
{
    printf("%s, %s\n", bench_works[kernel].name, bench_works[kernel].size);
    bool good = verify(b, kernel);
    for (uint32_t round = 0; round < b->options->rounds; round++) {
        for (uint32_t peer = 0; peer < b->peer_count; peer++) {
            bench_rest();
            double begin = bench_now();
            good = peer_run(b, peer, kernel) && good;
            b->times[peer][round] = bench_now() - begin;
        }
    }
    print_peers(b, 1e3, "ms");
    return good;
}

/* ---- the smallest dispatch ------------------------------------------------------------------- */

static bool run_commands(peer_khal* p, khal_commands* commands)
{
    khal_ticket ticket;
    return (khal_commands_submit(commands, &ticket) == KHAL_OK && khal_finish(p, ticket)) ||
           bench_failed("submitting commands");
}

/* `plain` is what the same loop takes as a plain call, 0 where it was not measured. */
static void print_small(const char* name, double* times, uint32_t rounds, double plain)
{
    double best = bench_best(times, rounds);
    printf("  %-60.60s best %9.1f  median %9.1f ns", name, best * 1e9,
           bench_median(times, rounds) * 1e9);
    if (plain > 0.0) {
        printf("   above a plain call %9.1f ns", (best - plain) * 1e9);
    }
    putchar('\n');
}

static bool bench_small(bench* b)
{
    enum { PLAIN, RECORDED, COMMANDS, BARRIERS, KIND_COUNT };
    static const char* const names[] = {"plain call", "khal: record, submit, wait",
                                        "khal: submit finished commands, wait",
                                        "khal: record, submit, wait, a kernel with barriers"};
    const uint32_t rounds = b->options->rounds;
    double* times = calloc((size_t)KIND_COUNT * rounds, sizeof *times);
    khal_commands* commands = NULL;
    khal_pass* pass;
    if (!times) {
        return false;
    }
    khal_pass_begin(b->khal.encoder, NULL, &pass);
    khal_record_small(&b->khal, pass, false);
    khal_pass_end(pass);
    bool good = khal_encoder_finish(b->khal.encoder, &commands) == KHAL_OK ||
                bench_failed("finishing commands");
    printf("smallest dispatch, add_assign on %u floats\n", BENCH_SMALL);
    khal_statistics before, after;
    for (uint32_t i = 0; good && i < 100; i++) {
        good = khal_run_small(&b->khal, false) && run_commands(&b->khal, commands) &&
               khal_run_small(&b->khal, true);
    }
    khal_device_get_statistics(b->khal.device, &before);
    for (uint32_t round = 0; good && round < rounds; round++) {
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            double begin = bench_now();
            for (uint32_t i = 0; good && i < SMALL_BATCH; i++) {
                switch (kind) {
                case PLAIN: bench_add_small(b->data.a, b->data.b, BENCH_SMALL); break;
                case RECORDED: good = khal_run_small(&b->khal, false); break;
                case COMMANDS: good = run_commands(&b->khal, commands); break;
                case BARRIERS: good = khal_run_small(&b->khal, true); break;
                default: break;
                }
            }
            times[(uint32_t)kind * rounds + round] = (bench_now() - begin) / SMALL_BATCH;
        }
    }
    khal_device_get_statistics(b->khal.device, &after);
    double plain = bench_best(times, rounds);
    for (int kind = 0; good && kind < KIND_COUNT; kind++) {
        print_small(names[kind], times + (uint32_t)kind * rounds, rounds,
                    kind == RECORDED || kind == COMMANDS ? plain : 0.0);
    }
    for (uint32_t d = 0; good && d < bench_opencl_count(b->cl); d++) {
        for (uint32_t round = 0; good && round < rounds; round++) {
            double begin = bench_now();
            for (uint32_t i = 0; good && i < SMALL_BATCH / 10; i++) {
                good = bench_opencl_run_small(b->cl, d);
            }
            times[round] = (bench_now() - begin) / (SMALL_BATCH / 10);
        }
        if (good) {
            print_small(bench_opencl_name(b->cl, d), times, rounds, plain);
        }
    }
    printf("  heap allocations in %u dispatches, recorded, submitted and waited for: %llu\n",
           rounds * 3 * SMALL_BATCH,
           (unsigned long long)(after.host_allocations - before.host_allocations));
    khal_commands_release(commands);
    free(times);
    return good;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool bench_open(bench* b)
{
    const khal_device_desc desc = {.backend = KHAL_BACKEND_CPU};
    const uint32_t rounds = b->options->rounds;
    double begin = bench_now();
    if (khal_device_open(&desc, &b->khal.device) != KHAL_OK) {
        return bench_failed("opening the device");
    }
    double first = bench_now() - begin;
    const khal_device_info* info = khal_device_get_info(b->khal.device);
    printf("%s\n\nkhal_device_open\n", info->name);
    for (uint32_t round = 0; round < rounds; round++) {
        khal_device* device;
        begin = bench_now();
        if (khal_device_open(&desc, &device) != KHAL_OK) {
            return bench_failed("opening the device");
        }
        b->times[0][round] = bench_now() - begin;
        khal_device_release(device);
    }
    double best = bench_best(b->times[0], rounds);
    printf("  the first in the process %.3f ms, later best %.3f  median %.3f ms\n", first * 1e3,
           best * 1e3, bench_median(b->times[0], rounds) * 1e3);

    Dl_info where;
    struct stat file;
    uint32_t (*version)(void) = khal_version;
    void* symbol;
    memcpy(&symbol, &version, sizeof symbol);
    if (dladdr(symbol, &where) && where.dli_fname && strstr(where.dli_fname, "libkhal") &&
        stat(where.dli_fname, &file) == 0) {
        printf("%s: %.0f KB\n",
               strrchr(where.dli_fname, '/') ? strrchr(where.dli_fname, '/') + 1 : where.dli_fname,
               (double)file.st_size / 1e3);
    }
    return true;
}

int bench_cpu(const bench_options* options)
{
    bench b = {.options = options};
    bool good = true;
    for (uint32_t i = 0; i < MAX_PEERS; i++) {
        b.times[i] = calloc(options->rounds, sizeof(double));
        good = good && b.times[i];
    }
    good = good && bench_open(&b);
    if (good && options->opencl) {
        const char* reason;
        b.cl = bench_opencl_open(&reason);
        if (!b.cl) {
            printf("OpenCL devices are left out: %s\n", reason);
        }
    }
    putchar('\n');
    b.peer_count = 2 + bench_opencl_count(b.cl);
    good = good && khal_make(&b.khal) && data_create(&b.data) && data_create(&b.expected) &&
           data_create(&b.got);
    if (good) {
        for (int kernel = 0; kernel < BENCH_KERNEL_COUNT; kernel++) {
            if (!options->kernel || strcmp(options->kernel, bench_works[kernel].name) == 0) {
                good = bench_kernel(&b, kernel) && good;
            }
        }
        if (!options->kernel) {
            good = bench_small(&b) && good;
        }
    }
    bench_opencl_close(b.cl);
    khal_drop(&b.khal);
    data_destroy(&b.data);
    data_destroy(&b.expected);
    data_destroy(&b.got);
    for (uint32_t i = 0; i < MAX_PEERS; i++) {
        free(b.times[i]);
    }
    return good ? 0 : 1;
}
