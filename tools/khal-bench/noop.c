#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels.khal.h"

#define PASS_DISPATCHES 1000u
#define BATCH 20u /* passes in one measurement */
#define BUFFER_SIZE 4096u

typedef struct front {
    khal_device* device;
    kernels* library;
    khal_buffer *a, *b;
    khal_buffer* several[16];
    khal_encoder* encoder;
    khal_commands* commands;
} front;

/* Dispatches that depend on one another; or, over several pairs of buffers, mostly not. */
static void record(front* f, khal_pass* pass, bool independent)
{
    for (uint32_t i = 0; i < PASS_DISPATCHES; i++) {
        khal_buffer* a = independent ? f->several[i * 2 % 16] : f->a;
        khal_buffer* b = independent ? f->several[i * 2 % 16 + 1] : f->b;
        const kernels_add_assign_args args = {
            .a = khal_slice_float_all(a), .b = khal_slice_float_all(b), .n = BUFFER_SIZE / 4};
        kernels_add_assign(f->library, pass, khal_threads(BUFFER_SIZE / 4, 1, 1), &args);
    }
}

static bool run(front* f, bool independent)
{
    khal_pass* pass;
    khal_ticket ticket;
    khal_pass_begin(f->encoder, NULL, &pass);
    record(f, pass, independent);
    khal_pass_end(pass);
    return (khal_submit(f->encoder, &ticket) == KHAL_OK &&
            khal_ticket_wait(f->device, ticket, KHAL_FOREVER) == KHAL_OK) ||
           bench_failed("a pass");
}

static bool run_single(front* f)
{
    khal_pass* pass;
    khal_ticket ticket;
    const kernels_add_assign_args args = {
        .a = khal_slice_float_all(f->a), .b = khal_slice_float_all(f->b), .n = BUFFER_SIZE / 4};
    khal_pass_begin(f->encoder, NULL, &pass);
    kernels_add_assign(f->library, pass, khal_threads(BUFFER_SIZE / 4, 1, 1), &args);
    khal_pass_end(pass);
    return (khal_submit(f->encoder, &ticket) == KHAL_OK &&
            khal_ticket_wait(f->device, ticket, KHAL_FOREVER) == KHAL_OK) ||
           bench_failed("a dispatch");
}

static bool resubmit(front* f)
{
    khal_ticket ticket;
    return (khal_commands_submit(f->commands, &ticket) == KHAL_OK &&
            khal_ticket_wait(f->device, ticket, KHAL_FOREVER) == KHAL_OK) ||
           bench_failed("submitting commands");
}

static bool make(front* f)
{
    const khal_buffer_desc desc = {.size = BUFFER_SIZE, .element_size = sizeof(float)};
    if (khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}, &f->device) !=
            KHAL_OK ||
        kernels_load(f->device, &f->library) != KHAL_OK ||
        khal_buffer_create(f->device, &desc, &f->a) != KHAL_OK ||
        khal_buffer_create(f->device, &desc, &f->b) != KHAL_OK ||
        khal_encoder_create(f->device, NULL, &f->encoder) != KHAL_OK) {
        return bench_failed("preparing the device");
    }
    for (int i = 0; i < 16; i++) {
        if (khal_buffer_create(f->device, &desc, &f->several[i]) != KHAL_OK) {
            return bench_failed("preparing the device");
        }
    }
    khal_pass* pass;
    khal_pass_begin(f->encoder, NULL, &pass);
    record(f, pass, false);
    khal_pass_end(pass);
    return khal_encoder_finish(f->encoder, &f->commands) == KHAL_OK ||
           bench_failed("finishing commands");
}

static void drop(front* f)
{
    khal_commands_release(f->commands);
    khal_encoder_release(f->encoder);
    for (int i = 0; i < 16; i++) {
        khal_buffer_release(f->several[i]);
    }
    khal_buffer_release(f->a);
    khal_buffer_release(f->b);
    kernels_release(f->library);
    khal_device_release(f->device);
}

int bench_noop(const bench_options* options)
{
    enum { DEPENDENT, INDEPENDENT, RESUBMITTED, SINGLE, KIND_COUNT };
    static const char* const names[] = {
        "a pass of 1,000 on the same two buffers, a dispatch",
        "a pass of 1,000 on eight pairs of buffers, a dispatch",
        "1,000 finished commands submitted again, a dispatch",
        "one dispatch: record, submit, wait",
    };
    const uint32_t rounds = options->rounds;
    front f = {0};
    bool good = make(&f);
    double* times = calloc(rounds, sizeof *times);
    good = good && times;
    puts("noop: what the front costs");
    for (int kind = 0; good && kind < KIND_COUNT; kind++) {
        khal_statistics before = {0}, after;
        for (uint32_t round = 0; good && round < rounds + 1; round++) {
            if (round == 1) { /* the first made room */
                khal_device_get_statistics(f.device, &before);
            }
            uint32_t count = kind == SINGLE ? BATCH * PASS_DISPATCHES : BATCH;
            double begin = bench_now();
            for (uint32_t i = 0; good && i < count; i++) {
                good = kind == SINGLE        ? run_single(&f)
                       : kind == RESUBMITTED ? resubmit(&f)
                                             : run(&f, kind == INDEPENDENT);
            }
            times[round ? round - 1 : 0] = (bench_now() - begin) / (BATCH * PASS_DISPATCHES);
        }
        khal_device_get_statistics(f.device, &after);
        if (good) {
            double best = bench_best(times, rounds);
            printf("  %-60s best %7.1f  median %7.1f ns   heap allocations %llu\n", names[kind],
                   best * 1e9, bench_median(times, rounds) * 1e9,
                   (unsigned long long)(after.host_allocations - before.host_allocations));
        }
    }
    free(times);
    drop(&f);
    return good ? 0 : 1;
}
