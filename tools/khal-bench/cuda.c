/* khal on CUDA beside a plain program over the driver API: what small dispatches cost. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <khal/interop/cuda.h>

#include "kernels.khal.h"

#define PASS_DISPATCHES 1000u
#define PASSES 10u   /* one after the other, before the wait */
#define SUBMITS 100u /* of finished commands, before the wait */
#define GROUP 256u
#define SHORT 0.001 /* s: what takes less is measured SHORT_ROUNDS times as often */
#define SHORT_ROUNDS 10u

/* ---- rows ------------------------------------------------------------------------------------ */

static void json_text(FILE* file, const char* text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text >= ' ')
            fputc(*text, file);
    }
    fputc('"', file);
}

/* One line for people and one element for programs. `beside` is NULL where nothing stands beside
 * khal's value; `target` 0: there is none. */
static void print_row(cuda_bed* bed, const char* what, const char* beside, const char* unit,
                      double ours, double other, double ratio, double target,
                      const char* target_text, bool is_met)
{
    char line[120], other_text[24] = "", ratio_text[24] = "";
    snprintf(line, sizeof line, "%s%s%s", what, beside ? " / " : "", beside ? beside : "");
    if (beside) {
        snprintf(other_text, sizeof other_text, "%.3f", other);
        snprintf(ratio_text, sizeof ratio_text, "%.3f x", ratio);
    }
    printf("%-74s %12.3f %12s %-8s %9s", line, ours, other_text, unit, ratio_text);
    if (target > 0)
        printf("  %-14s %s", target_text, is_met ? "met" : "MISSED");
    putchar('\n');
    fflush(stdout);

    FILE* json = bed->json_file;
    fputs(ftell(json) > 0 ? ", {\"what\": " : "{\"what\": ", json);
    json_text(json, what);
    fprintf(json, ", \"unit\": \"%s\", \"khal\": %.6g", unit, ours);
    if (beside) {
        fputs(", \"beside\": ", json);
        json_text(json, beside);
        fprintf(json, ", \"other\": %.6g, \"ratio\": %.4f", other, ratio);
    }
    if (target > 0)
        fprintf(json, ", \"target\": \"%s\", \"met\": %s", target_text, is_met ? "true" : "false");
    fputc('}', json);
}

static double run_side(cuda_bed* bed, const cuda_side* side, bool is_khal)
{
    if (is_khal)
        return side->run(side->user);
    cuda_raw_enter(&bed->raw);
    const double time = side->run(side->user);
    cuda_raw_leave(&bed->raw);
    return bed->raw.has_failed ? -1 : time;
}

static void print_sides(cuda_bed* bed, const cuda_row* row, const double* medians)
{
    const double ours = row->is_rate ? row->scale / medians[0] : row->scale * medians[0];
    const double limit = row->least > 0 ? row->least : row->most;
    const bool is_within = row->least > 0 ? ours >= row->least : ours <= row->most;
    char limit_text[32], target[32];
    snprintf(limit_text, sizeof limit_text, "%s %g %s", row->least > 0 ? ">=" : "<=", limit,
             row->unit);
    bool is_alone = true;
    for (uint32_t i = 1; i < CUDA_SIDES; i++) {
        const cuda_side* side = &row->sides[i];
        if (!side->name)
            continue;
        const double other = row->is_rate ? row->scale / medians[i] : row->scale * medians[i];
        const double ratio = medians[0] / medians[i];
        snprintf(target, sizeof target, "<= %.3f x", side->most);
        if (side->most > 0 || !is_alone)
            print_row(bed, row->what, side->name, row->unit, ours, other, ratio, side->most, target,
                      ratio <= side->most);
        else
            print_row(bed, row->what, side->name, row->unit, ours, other, ratio, limit, limit_text,
                      is_within);
        is_alone = false;
    }
    if (is_alone)
        print_row(bed, row->what, NULL, row->unit, ours, 0, 0, limit, limit_text, is_within);
}

bool cuda_measure(cuda_bed* bed, const cuda_row* row)
{
    enum { MOST = 1000 };
    static double times[CUDA_SIDES][MOST];
    double medians[CUDA_SIDES] = {0};
    uint32_t rounds = bed->options->rounds * (row->rounds > 0 ? row->rounds : 1);
    rounds = rounds < MOST ? rounds : MOST;
    /* The first run of each, which finds what later ones have ready, is not counted. */
    for (int32_t round = -1; round < (int32_t)rounds; round++) {
        for (uint32_t side = 0; side < CUDA_SIDES; side++) {
            if (side > 0 && !row->sides[side].name)
                continue;
            const double time = run_side(bed, &row->sides[side], side == 0);
            if (time < 0) {
                fprintf(stderr, "khal-bench: %s failed\n", row->what);
                return false;
            }
            if (round >= 0)
                times[side][round] = time;
        }
        if (round == 0 && row->rounds == 0 && times[0][0] < SHORT)
            rounds = rounds < MOST / SHORT_ROUNDS ? rounds * SHORT_ROUNDS : MOST;
    }
    for (uint32_t side = 0; side < CUDA_SIDES; side++)
        if (side == 0 || row->sides[side].name)
            medians[side] = bench_median(times[side], rounds);
    print_sides(bed, row, medians);
    return true;
}

void cuda_report(cuda_bed* bed, const char* what, double value, const char* unit, double most)
{
    char target[32];
    snprintf(target, sizeof target, "<= %g %s", most, unit);
    print_row(bed, what, NULL, unit, value, 0, 0, most, target, value <= most);
}

/* ---- small dispatches ------------------------------------------------------------------------ */

typedef struct small {
    cuda_bed* bed;
    uint32_t submits, dispatches; /* so many dispatches in each of so many submissions */
    bool waits;                   /* the time until all is done; else until all is submitted */
    bool is_indirect, changes_n;
    uint32_t n, counter;
    khal_buffer *a, *b, *other_b, *indirect; /* a, b: PASS_DISPATCHES groups' elements */
    khal_commands *in_order, *apart, *single, *commands;
    uint32_t expected; /* times that b[0] was added to a[0] where n changes */
    CUdeviceptr raw_a, raw_b;
    CUdeviceptr raw_group; /* where the group's elements begin */
    uint32_t raw_n;
    void* parameters[3];
    cuda_raw_graph raw_in_order, raw_apart, *graph;
} small;

static const unsigned one_group[2] = {1, 1}, group_size[2] = {GROUP, 1};

static bool finish(const small* s, khal_ticket ticket)
{
    return khal_ticket_wait(s->bed->device, ticket, KHAL_FOREVER) == KHAL_OK;
}

static void record(small* s, khal_pass* pass, bool is_apart)
{
    const khal_slice_float b = khal_slice_float_all(s->b);
    const khal_grid grid = s->is_indirect ? khal_indirect(s->indirect, 0) : khal_groups(1, 1, 1);
    for (uint32_t i = 0; i < s->dispatches; i++)
        kernels_add_assign(
            s->bed->library, pass, grid,
            &(kernels_add_assign_args){
                .a = khal_slice_float_range(s->a, is_apart ? (uint64_t)i * GROUP : 0, GROUP),
                .b = b,
                .n = s->changes_n ? i % (GROUP + 1) : s->n});
}

static double once_khal(void* user)
{
    small* s = user;
    khal_pass* pass;
    khal_ticket ticket = 0;
    bool is_good = true;
    const double begin = bench_now();
    for (uint32_t i = 0; is_good && i < s->submits; i++) {
        khal_pass_begin(s->bed->encoder, NULL, &pass);
        record(s, pass, false);
        khal_pass_end(pass);
        is_good = khal_submit(s->bed->encoder, &ticket) == KHAL_OK;
    }
    const double submitted = bench_now();
    is_good = is_good && finish(s, ticket);
    const double end = bench_now();
    return is_good || bench_failed("small dispatches") ? (s->waits ? end : submitted) - begin : -1;
}

static double once_raw(void* user)
{
    small* s = user;
    cuda_raw* r = &s->bed->raw;
    s->raw_group = s->raw_a;
    const double begin = bench_now();
    for (uint32_t i = 0; i < s->submits; i++)
        for (uint32_t k = 0; k < s->dispatches; k++) {
            s->raw_n = s->changes_n ? k % (GROUP + 1) : s->n;
            cuda_raw_launch(r, r->add, one_group, group_size, s->parameters);
        }
    const double submitted = bench_now();
    cuda_raw_finish(r);
    const double end = bench_now();
    return (s->waits ? end : submitted) - begin;
}

static double again_khal(void* user)
{
    small* s = user;
    khal_ticket ticket = 0;
    bool is_good = true;
    const double begin = bench_now();
    for (uint32_t i = 0; is_good && i < s->submits; i++)
        is_good = khal_commands_submit(s->commands, &ticket) == KHAL_OK;
    const double submitted = bench_now();
    is_good = is_good && finish(s, ticket);
    const double end = bench_now();
    return is_good || bench_failed("re-submitted commands") ? (s->waits ? end : submitted) - begin
                                                            : -1;
}

static double again_raw(void* user)
{
    small* s = user;
    cuda_raw* r = &s->bed->raw;
    const double begin = bench_now();
    for (uint32_t i = 0; i < s->submits; i++)
        CUDA_RAW(r, GraphLaunch(s->graph->exec, r->stream));
    const double submitted = bench_now();
    cuda_raw_finish(r);
    const double end = bench_now();
    return (s->waits ? end : submitted) - begin;
}

/* One value of a dispatch in the middle changes before each submit. */
static double update_khal(void* user)
{
    small* s = user;
    khal_ticket ticket = 0;
    bool is_good = true;
    const double begin = bench_now();
    for (uint32_t i = 0; is_good && i < s->submits; i++) {
        const uint32_t n = s->counter++ % 2;
        s->expected += n;
        is_good = khal_commands_set_push_constants(s->commands, PASS_DISPATCHES / 2, 0, &n,
                                                   sizeof n) == KHAL_OK &&
                  khal_commands_submit(s->commands, &ticket) == KHAL_OK;
    }
    const double submitted = bench_now();
    is_good = is_good && finish(s, ticket);
    const double end = bench_now();
    return is_good || bench_failed("changed push constants") ? (s->waits ? end : submitted) - begin
                                                             : -1;
}

static double slice_khal(void* user)
{
    small* s = user;
    khal_ticket ticket = 0;
    bool is_good = true;
    const double begin = bench_now();
    for (uint32_t i = 0; is_good && i < s->submits; i++)
        is_good =
            khal_commands_set_slice(
                s->commands, PASS_DISPATCHES / 2, 1,
                khal_slice_float_all(s->counter++ % 2 ? s->b : s->other_b).slice) == KHAL_OK &&
            khal_commands_submit(s->commands, &ticket) == KHAL_OK;
    const double submitted = bench_now();
    is_good = is_good && finish(s, ticket);
    const double end = bench_now();
    return is_good || bench_failed("changed slices") ? (s->waits ? end : submitted) - begin : -1;
}

static double update_raw(void* user)
{
    small* s = user;
    cuda_raw* r = &s->bed->raw;
    s->raw_group = s->raw_a;
    s->graph->node.kernelParams = s->parameters;
    const double begin = bench_now();
    for (uint32_t i = 0; i < s->submits; i++) {
        s->raw_n = i % 2;
        CUDA_RAW(r, GraphExecKernelNodeSetParams(
                        s->graph->exec, s->graph->nodes[PASS_DISPATCHES / 2], &s->graph->node));
        CUDA_RAW(r, GraphLaunch(s->graph->exec, r->stream));
    }
    const double submitted = bench_now();
    cuda_raw_finish(r);
    const double end = bench_now();
    return (s->waits ? end : submitted) - begin;
}

static double raw_direct(void* user)
{
    small direct = *(small*)user;
    direct.parameters[0] = &direct.raw_group;
    direct.parameters[1] = &direct.raw_b;
    direct.parameters[2] = &direct.raw_n;
    direct.is_indirect = false;
    return once_raw(&direct);
}

/* Both ways to count: until all is submitted, and until all is done. */
static bool both(small* s, const char* what, cuda_run khal, cuda_run raw, const char* beside,
                 double most_ratio, double most, uint32_t divisor)
{
    bool is_good = true;
    for (int done = 0; done < 2; done++) {
        char text[100];
        snprintf(text, sizeof text, "%s, %s", what, done ? "done" : "submitted");
        s->waits = done;
        is_good = cuda_measure(s->bed, &(cuda_row){.what = text,
                                                   .unit = "us",
                                                   .scale = 1e6 / divisor,
                                                   .most = done ? most : 0,
                                                   .sides = {{NULL, khal, s, 0},
                                                             {raw ? beside : NULL, raw, s,
                                                              done ? most_ratio : 0}}}) &&
                  is_good;
    }
    return is_good;
}

/* Values of b are 1: a[i] is the number of dispatches that added to it. */
static bool check_counts(small* s, uint64_t runs)
{
    float got[GROUP];
    if (khal_buffer_read(s->a, 0, got, sizeof got, KHAL_FOREVER) != KHAL_OK)
        return bench_failed("reading results");
    for (uint32_t i = 0; i < GROUP; i++) {
        uint64_t expected = 0;
        for (uint32_t k = 0; k < PASS_DISPATCHES; k++)
            expected += k % (GROUP + 1) > i;
        if (got[i] != (float)(expected * runs)) {
            fprintf(stderr, "khal-bench: push constants: element %u is %g and not %g\n",
                    (unsigned)i, (double)got[i], (double)(expected * runs));
            return false;
        }
    }
    return true;
}

static bool zero(khal_buffer* buffer, uint64_t size)
{
    void* zeroes = calloc(1, size);
    const bool is_good = zeroes && khal_buffer_write(buffer, 0, zeroes, size) == KHAL_OK;
    free(zeroes);
    return is_good || bench_failed("zeroing");
}

static bool push_constant_rows(small* s)
{
    s->submits = 1;
    s->dispatches = PASS_DISPATCHES;
    s->changes_n = true;
    s->waits = true;
    bool is_good = zero(s->a, GROUP * sizeof(float)) && once_khal(s) >= 0 && check_counts(s, 1);
    s->submits = PASSES;
    is_good = both(s, "dispatch with a value of its own, in passes of 1,000", once_khal, once_raw,
                   "cuLaunchKernel", 1.06, 0, PASSES * PASS_DISPATCHES) &&
              is_good;
    s->changes_n = false;
    return is_good;
}

static bool update_rows(small* s)
{
    float sum = 0;
    s->commands = s->in_order;
    s->graph = &s->raw_in_order;
    s->submits = SUBMITS;
    bool is_good = zero(s->a, GROUP * sizeof(float));
    s->expected = 0;
    is_good = both(s, "change a value of 1,000 finished dispatches, and submit", update_khal,
                   update_raw, "graph", 1.1, 0, SUBMITS) &&
              is_good;
    if (is_good && khal_buffer_read(s->a, 0, &sum, sizeof sum, KHAL_FOREVER) != KHAL_OK)
        is_good = bench_failed("reading results");
    if (is_good && sum != (float)s->expected) {
        fprintf(stderr, "khal-bench: changed values: the sum is %g and not %u\n", (double)sum,
                (unsigned)s->expected);
        is_good = false;
    }
    return both(s, "change a slice of 1,000 finished dispatches, and submit", slice_khal,
                update_raw, "graph", 1.1, 0, SUBMITS) &&
           is_good;
}

static bool again_rows(small* s, const char* what, khal_commands* commands, cuda_raw_graph* graph)
{
    s->commands = commands;
    s->graph = graph;
    s->submits = SUBMITS;
    return both(s, what, again_khal, again_raw, "graph", 1.1, 0, SUBMITS * PASS_DISPATCHES);
}

static bool small_rows(small* s)
{
    s->n = 0; /* the kernel does nothing */
    s->submits = PASSES;
    s->dispatches = PASS_DISPATCHES;
    bool is_good = both(s, "empty dispatch in passes of 1,000", once_khal, once_raw,
                        "cuLaunchKernel", 1.06, 0, PASSES * PASS_DISPATCHES);
    is_good = again_rows(s, "empty dispatch of 1,000 finished, in order", s->in_order,
                         &s->raw_in_order) &&
              is_good;
    is_good =
        again_rows(s, "empty dispatch of 1,000 finished, independent", s->apart, &s->raw_apart) &&
        is_good;
    s->submits = s->dispatches = 1;
    s->waits = true;
    s->commands = s->single;
    const cuda_side raw = {"cuLaunchKernel", once_raw, s, 1.1};
    is_good = cuda_measure(s->bed, &(cuda_row){.what = "one dispatch, submit and wait",
                                               .unit = "us",
                                               .scale = 1e6,
                                               .sides = {{NULL, once_khal, s, 0}, raw}}) &&
              is_good;
    is_good = cuda_measure(s->bed, &(cuda_row){.what = "one finished dispatch, submit and wait",
                                               .unit = "us",
                                               .scale = 1e6,
                                               .sides = {{NULL, again_khal, s, 0}, raw}}) &&
              is_good;
    s->submits = PASSES;
    s->dispatches = PASS_DISPATCHES;
    s->is_indirect = true;
    is_good = both(s, "indirect dispatch in passes of 1,000", once_khal, raw_direct,
                   "direct cuLaunchKernel", 0, 4, PASSES * PASS_DISPATCHES) &&
              is_good;
    s->is_indirect = false;
    is_good = update_rows(s) && is_good;
    return push_constant_rows(s) && is_good;
}

static bool memory_rows(small* s)
{
    enum { COUNT = 100000 };
    cuda_raw* r = &s->bed->raw;
    double begin = 0;
    size_t free_before = 0, free_after = 0, total;
    khal_pass* pass;
    s->dispatches = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i == COUNT / 10) {
            begin = bench_resident();
            cuda_raw_enter(r);
            CUDA_RAW(r, MemGetInfo(&free_before, &total));
            cuda_raw_leave(r);
        }
        khal_pass_begin(s->bed->encoder, NULL, &pass);
        record(s, pass, false);
        khal_pass_end(pass);
        if (khal_submit(s->bed->encoder, NULL) != KHAL_OK)
            return bench_failed("submits without a wait");
    }
    const double end = bench_resident();
    cuda_raw_enter(r);
    CUDA_RAW(r, MemGetInfo(&free_after, &total));
    cuda_raw_leave(r);
    if (khal_device_wait(s->bed->device, KHAL_FOREVER) != KHAL_OK)
        return bench_failed("waiting for all submits");
    cuda_report(s->bed, "100,000 submits without a wait: memory after the first tenth", end - begin,
                "MiB", 1);
    cuda_report(s->bed, "the device's memory likewise",
                ((double)free_before - (double)free_after) / 1048576, "MiB", 1);
    return !r->has_failed;
}

/* ---- the test bed ---------------------------------------------------------------------------- */

static void** in_order_parameters(void* user, uint32_t i)
{
    small* s = user;
    (void)i;
    s->raw_group = s->raw_a;
    s->raw_n = 0;
    return s->parameters;
}

static void** apart_parameters(void* user, uint32_t i)
{
    void** parameters = in_order_parameters(user, i);
    ((small*)user)->raw_group += (CUdeviceptr)i * GROUP * sizeof(float);
    return parameters;
}

static bool finish_commands(small* s, uint32_t dispatches, bool is_apart, khal_commands** out)
{
    khal_pass* pass;
    s->dispatches = dispatches;
    khal_pass_begin(s->bed->encoder, NULL, &pass);
    record(s, pass, is_apart);
    khal_pass_end(pass);
    return khal_encoder_finish(s->bed->encoder, out) == KHAL_OK;
}

static bool make_small_raw(small* s, const float* ones)
{
    cuda_raw* r = &s->bed->raw;
    const size_t size = (size_t)PASS_DISPATCHES * GROUP * sizeof(float);
    s->parameters[0] = &s->raw_group;
    s->parameters[1] = &s->raw_b;
    s->parameters[2] = &s->raw_n;
    s->raw_a = cuda_raw_buffer(r, size, NULL);
    s->raw_b = cuda_raw_buffer(r, GROUP * sizeof(float), ones);
    return !r->has_failed &&
           cuda_raw_graph_make(r, r->add, PASS_DISPATCHES, true, in_order_parameters, s,
                               &s->raw_in_order) &&
           cuda_raw_graph_make(r, r->add, PASS_DISPATCHES, false, apart_parameters, s,
                               &s->raw_apart);
}

static bool make_small(cuda_bed* bed, small* s)
{
    float ones[GROUP];
    const uint32_t grid[3] = {1, 1, 1};
    for (uint32_t i = 0; i < GROUP; i++)
        ones[i] = 1;
    *s = (small){.bed = bed};
    cuda_raw_enter(&bed->raw);
    const bool has_raw = make_small_raw(s, ones);
    cuda_raw_leave(&bed->raw);
    if (!has_raw)
        return false;
    const khal_buffer_desc values = {.size = sizeof ones, .element_size = 4, .data = ones};
    return (khal_buffer_create(
                bed->device,
                &(khal_buffer_desc){.size = (uint64_t)PASS_DISPATCHES * GROUP * sizeof(float),
                                    .element_size = 4},
                &s->a) == KHAL_OK &&
            khal_buffer_create(bed->device, &values, &s->b) == KHAL_OK &&
            khal_buffer_create(bed->device, &values, &s->other_b) == KHAL_OK &&
            khal_buffer_create(
                bed->device,
                &(khal_buffer_desc){.size = 12, .usage = KHAL_USAGE_INDIRECT, .data = grid},
                &s->indirect) == KHAL_OK &&
            finish_commands(s, PASS_DISPATCHES, false, &s->in_order) &&
            finish_commands(s, PASS_DISPATCHES, true, &s->apart) &&
            finish_commands(s, 1, false, &s->single)) ||
           bench_failed("small buffers and commands");
}

static void drop_small(small* s)
{
    cuda_raw* r = &s->bed->raw;
    khal_commands_release(s->in_order);
    khal_commands_release(s->apart);
    khal_commands_release(s->single);
    khal_buffer_release(s->a);
    khal_buffer_release(s->b);
    khal_buffer_release(s->other_b);
    khal_buffer_release(s->indirect);
    cuda_raw_enter(r);
    cuda_raw_graph_drop(r, &s->raw_in_order);
    cuda_raw_graph_drop(r, &s->raw_apart);
    if (s->raw_a)
        r->f.MemFree(s->raw_a);
    if (s->raw_b)
        r->f.MemFree(s->raw_b);
    cuda_raw_leave(r);
}

static bool open_bed(cuda_bed* bed)
{
    khal_cuda_handles handles;
    if (khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA}, &bed->device) !=
            KHAL_OK ||
        kernels_load(bed->device, &bed->library) != KHAL_OK ||
        khal_encoder_create(bed->device, NULL, &bed->encoder) != KHAL_OK ||
        khal_cuda_device_get_handles(bed->device, &handles) != KHAL_OK)
        return bench_failed("opening the device");
    bed->stream = handles.stream;
    const khal_device_info* info = khal_device_get_info(bed->device);
    bed->is_small = info->memory_size < (uint64_t)16 << 30;
    if (!cuda_raw_open(&bed->raw, handles.device))
        return false;
    printf("CUDA: %s, driver for CUDA %d.%d\n%-74s %12s %12s\n", info->name,
           bed->raw.version / 1000, bed->raw.version % 1000 / 10, "", "khal", "other");
    bed->json_file = open_memstream(&bed->json, &bed->json_size);
    return bed->json_file != NULL;
}

static void print_json(cuda_bed* bed)
{
    fclose(bed->json_file);
    fputs("{\"bench\": \"cuda\", \"device\": ", stdout);
    json_text(stdout, khal_device_get_info(bed->device)->name);
    printf(", \"cuda\": \"%d.%d\", \"rows\": [%s]}\n", bed->raw.version / 1000,
           bed->raw.version % 1000 / 10, bed->json ? bed->json : "");
    free(bed->json);
}

int bench_cuda(const bench_options* options)
{
    cuda_bed bed = {.options = options};
    bool is_good = open_bed(&bed);
    if (is_good) {
        if (!options->kernel) {
            small s;
            is_good = make_small(&bed, &s);
            if (is_good) {
                is_good = small_rows(&s);
                is_good = memory_rows(&s) && is_good;
            }
            is_good = cuda_transfer_rows(&bed) && is_good;
            is_good = cuda_buffer_rows(&bed) && is_good;
            is_good = cuda_module_rows(&bed) && is_good;
            drop_small(&s);
        }
        is_good = cuda_compare_kernels(&bed, options->kernel) && is_good;
        print_json(&bed);
    }
    khal_encoder_release(bed.encoder);
    kernels_release(bed.library);
    cuda_raw_close(&bed.raw);
    khal_device_release(bed.device);
    return is_good ? 0 : 1;
}
