/* khal on WebGPU beside a plain program over the same library, device after device and row after
 * row of what the machine itself can do. */
#include "webgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels.khal.h"
#include "kernels_source.h"

#define SMALL_SIZE ((uint64_t)BENCH_SMALL * 4)
#define BIG_SIZE ((uint64_t)16 << 20)
#define PASS_DISPATCHES 1000u
#define LONG_PASS 10000u
#define SETTLE_MOST 0.02 /* s: what takes longer is measured at once */
#define SHORT 0.001      /* s: what takes less is measured SHORT_ROUNDS times as often */
#define SHORT_ROUNDS 10u

static const char add_wgsl[] =
    "@group(0) @binding(0) var<storage, read_write> a: array<f32>;\n"
    "@group(0) @binding(1) var<storage, read> b: array<f32>;\n"
    "@group(0) @binding(2) var<uniform> n: vec4u;\n"
    "@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
    "    if (id.x < n.x) { a[id.x] += b[id.x]; }\n"
    "}\n";

/* A device that takes turns with another has its GPU's state switched, which costs more than a small
 * dispatch: what is short is run once before it is measured. */
static double settled(webgpu_run run, void* user)
{
    const double first = run(user);
    return first < 0 || first > SETTLE_MOST ? first : run(user);
}

bool webgpu_row(webgpu_bed* bed, const char* what, const char* unit, double scale, webgpu_run khal,
                webgpu_run plain, void* khal_user, void* plain_user)
{
    enum { MOST = 1000 };
    static double times[1 + RAW_WAIT_COUNT][MOST];
    uint32_t rounds = bed->options->rounds;
    for (uint32_t i = 0; i < rounds; i++) {
        times[RAW_WAIT_COUNT][i] = settled(khal, khal_user);
        bool failed = times[RAW_WAIT_COUNT][i] < 0;
        for (uint32_t wait = 0; wait < RAW_WAIT_COUNT && !failed; wait++) {
            if (wait == RAW_BLOCK && !bed->raw.can_block) {
                times[wait][i] = 1e9;
                continue;
            }
            bed->raw.wait = (raw_wait)wait;
            times[wait][i] = settled(plain, plain_user);
            failed = times[wait][i] < 0;
        }
        if (failed) {
            fprintf(stderr, "khal-bench: %s failed\n", what);
            return false;
        }
        if (i == 0 && times[RAW_WAIT_COUNT][0] < SHORT)
            rounds = rounds < MOST / SHORT_ROUNDS ? rounds * SHORT_ROUNDS : MOST;
    }
    double best = bench_median(times[0], rounds);
    for (uint32_t wait = 1; wait < RAW_WAIT_COUNT; wait++) {
        const double median = bench_median(times[wait], rounds);
        best = median < best ? median : best;
    }
    const double ours = bench_median(times[RAW_WAIT_COUNT], rounds);
    printf("%-58s %10.3f %10.3f %-4s %6.2f x\n", what, ours * scale, best * scale, unit,
           ours / best);
    fflush(stdout);
    return true;
}

/* ---- small dispatches --------------------------------------------------------------------------
 */

typedef struct small {
    webgpu_bed* bed;
    uint32_t dispatches;
    bool waits, is_indirect;
    khal_buffer *a, *b, *indirect;
    WGPUBuffer raw_a, raw_b, raw_n, raw_indirect;
    WGPUComputePipeline pipeline;
    WGPUBindGroup group;
} small;

static double run_khal(void* user)
{
    small* s = user;
    webgpu_bed* bed = s->bed;
    const kernels_add_assign_args args = {
        .a = khal_slice_float_all(s->a), .b = khal_slice_float_all(s->b), .n = BENCH_SMALL};
    khal_pass* pass;
    khal_ticket ticket;
    const double begin = bench_now();
    khal_pass_begin(bed->encoder, NULL, &pass);
    for (uint32_t i = 0; i < s->dispatches; i++)
        kernels_add_assign(bed->library, pass,
                           s->is_indirect ? khal_indirect(s->indirect, 0)
                                          : khal_threads(BENCH_SMALL, 1, 1),
                           &args);
    khal_pass_end(pass);
    bool is_good = khal_submit(bed->encoder, &ticket) == KHAL_OK;
    const double submitted = bench_now();
    is_good = is_good && khal_ticket_wait(bed->device, ticket, KHAL_FOREVER) == KHAL_OK;
    const double end = bench_now();
    return is_good || bench_failed("small dispatches") ? (s->waits ? end : submitted) - begin : -1;
}

static double run_raw(void* user)
{
    small* s = user;
    raw* r = &s->bed->raw;
    const double begin = bench_now();
    WGPUCommandEncoder encoder = raw_encoder(r);
    WGPUComputePassEncoder pass = raw_pass(r, encoder);
    for (uint32_t i = 0; i < s->dispatches; i++) {
        r->f->ComputePassEncoderSetPipeline(pass, s->pipeline);
        r->f->ComputePassEncoderSetBindGroup(pass, 0, s->group, 0, NULL);
        if (s->is_indirect)
            r->f->ComputePassEncoderDispatchWorkgroupsIndirect(pass, s->raw_indirect, 0);
        else
            r->f->ComputePassEncoderDispatchWorkgroups(pass, 1, 1, 1);
    }
    raw_end(r, pass);
    raw_submit(r, encoder);
    const double submitted = bench_now();
    raw_finish(r);
    const double end = bench_now();
    return r->has_failed ? -1 : (s->waits ? end : submitted) - begin;
}

static bool small_rows(webgpu_bed* bed, small* s)
{
    s->dispatches = PASS_DISPATCHES;
    s->waits = false;
    bool is_good = webgpu_row(bed, "encode and submit a pass of 1,000, for each dispatch", "us",
                              1e6 / PASS_DISPATCHES, run_khal, run_raw, s, s);
    s->dispatches = LONG_PASS;
    s->waits = true;
    is_good = webgpu_row(bed, "all in, for each dispatch of a pass of 10,000", "us",
                         1e6 / LONG_PASS, run_khal, run_raw, s, s) &&
              is_good;
    s->dispatches = 1;
    is_good =
        webgpu_row(bed, "one dispatch, submit and wait", "us", 1e6, run_khal, run_raw, s, s) &&
        is_good;
    s->dispatches = PASS_DISPATCHES;
    small direct = *s;
    s->is_indirect = true;
    is_good = webgpu_row(bed, "indirect, for each dispatch of a pass of 1,000", "us",
                         1e6 / PASS_DISPATCHES, run_khal, run_raw, s, s) &&
              is_good;
    is_good = webgpu_row(bed, "khal's indirect / the plain program's direct", "us",
                         1e6 / PASS_DISPATCHES, run_khal, run_raw, s, &direct) &&
              is_good;
    s->is_indirect = false;
    return is_good;
}

/* ---- transfers
 * ----------------------------------------------------------------------------------- */

typedef struct transfer {
    webgpu_bed* bed;
    khal_buffer* buffer;
    WGPUBuffer raw_buffer, raw_back, raw_up, raw_last;
    uint64_t size, offset;
    bool maps; /* the plain program's write: by a mapped buffer */
    char* host;
} transfer;

static double read_khal(void* user)
{
    transfer* t = user;
    const double begin = bench_now();
    const bool is_good =
        khal_buffer_read(t->buffer, t->offset, t->host, t->size, KHAL_FOREVER) == KHAL_OK;
    return is_good || bench_failed("a read") ? bench_now() - begin : -1;
}

static double read_raw(void* user)
{
    transfer* t = user;
    raw* r = &t->bed->raw;
    const double begin = bench_now();
    WGPUCommandEncoder encoder = raw_encoder(r);
    r->f->CommandEncoderCopyBufferToBuffer(encoder, t->raw_buffer, t->offset, t->raw_back, 0,
                                           t->size);
    raw_submit(r, encoder);
    return raw_map_read(r, t->raw_back, t->host, t->size) ? bench_now() - begin : -1;
}

/* Until the last bytes can be read back: the write has taken effect. */
static double write_khal(void* user)
{
    transfer* t = user;
    uint32_t last;
    const double begin = bench_now();
    const bool is_good =
        khal_buffer_write(t->buffer, 0, t->host, t->size) == KHAL_OK &&
        khal_buffer_read(t->buffer, t->size - 4, &last, 4, KHAL_FOREVER) == KHAL_OK;
    return is_good || bench_failed("a write") ? bench_now() - begin : -1;
}

static double write_raw(void* user)
{
    transfer* t = user;
    raw* r = &t->bed->raw;
    uint32_t last;
    const double begin = bench_now();
    WGPUCommandEncoder encoder = raw_encoder(r);
    if (t->maps) {
        if (!raw_map_write(r, t->raw_up, t->host, t->size))
            return -1;
        r->f->CommandEncoderCopyBufferToBuffer(encoder, t->raw_up, 0, t->raw_buffer, 0, t->size);
    } else {
        r->f->QueueWriteBuffer(r->queue, t->raw_buffer, 0, t->host, (size_t)t->size);
    }
    r->f->CommandEncoderCopyBufferToBuffer(encoder, t->raw_buffer, t->size - 4, t->raw_last, 0, 4);
    raw_submit(r, encoder);
    return raw_map_read(r, t->raw_last, &last, 4) ? bench_now() - begin : -1;
}

static bool transfer_rows(webgpu_bed* bed)
{
    raw* r = &bed->raw;
    uint64_t large = 1u << 30;
    while (large > r->limits.maxBufferSize || (r->is_cpu && large > 64u << 20))
        large /= 2;
    const khal_limits* limits = &khal_device_get_info(bed->device)->limits;
    while (large > limits->buffer_size)
        large /= 2;
    transfer t = {.bed = bed, .host = malloc(BIG_SIZE)};
    if (!t.host)
        return false;
    memset(t.host, 1, BIG_SIZE);
    khal_buffer *four, *big, *huge = NULL;
    if (khal_buffer_create(bed->device, &(khal_buffer_desc){.size = SMALL_SIZE}, &four) !=
            KHAL_OK ||
        khal_buffer_create(bed->device, &(khal_buffer_desc){.size = BIG_SIZE}, &big) != KHAL_OK ||
        khal_buffer_create(bed->device, &(khal_buffer_desc){.size = large}, &huge) != KHAL_OK)
        return bench_failed("buffers to transfer");
    WGPUBuffer raw_four = raw_buffer(r, RAW_STORAGE, SMALL_SIZE, NULL),
               raw_huge = raw_buffer(r, RAW_STORAGE, large, NULL),
               raw_big = raw_buffer(r, RAW_STORAGE, BIG_SIZE, NULL);
    t.raw_last = raw_buffer(r, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, 4, NULL);
    WGPUBuffer raw_back =
        raw_buffer(r, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, BIG_SIZE, NULL);
    t.raw_up = raw_buffer(r, WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc, BIG_SIZE, NULL);

    t.buffer = four;
    t.raw_buffer = raw_four;
    t.raw_back = t.raw_last;
    t.size = 4;
    bool is_good = webgpu_row(bed, "read 4 bytes of 1 KiB", "us", 1e6, read_khal, read_raw, &t, &t);
    t.buffer = huge;
    t.raw_buffer = raw_huge;
    t.offset = large / 2;
    char what[80];
    snprintf(what, sizeof what, "read 4 bytes of %u MiB", (unsigned)(large >> 20));
    is_good = webgpu_row(bed, what, "us", 1e6, read_khal, read_raw, &t, &t) && is_good;
    t.buffer = big;
    t.raw_buffer = raw_big;
    t.raw_back = raw_back;
    t.offset = 0;
    t.size = BIG_SIZE;
    is_good = webgpu_row(bed, "read 16 MiB", "ms", 1e3, read_khal, read_raw, &t, &t) && is_good;
    is_good = webgpu_row(bed, "write 16 MiB / by wgpuQueueWriteBuffer", "ms", 1e3, write_khal,
                         write_raw, &t, &t) &&
              is_good;
    t.maps = true;
    is_good = webgpu_row(bed, "write 16 MiB / by a mapped buffer", "ms", 1e3, write_khal, write_raw,
                         &t, &t) &&
              is_good;

    khal_buffer_release(four);
    khal_buffer_release(big);
    khal_buffer_release(huge);
    WGPUBuffer all[] = {raw_four, raw_huge, raw_big, t.raw_last, raw_back, t.raw_up};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        raw_drop(r, all[i]);
    free(t.host);
    return is_good;
}

/* ---- start-up
 * -------------------------------------------------------------------------------------- */

/* From nothing to the first result, with the pipelines of all of the library's kernels. */
static double start_khal(void* user)
{
    khal_device* device = NULL;
    kernels* library = NULL;
    khal_buffer *a = NULL, *b = NULL;
    khal_encoder* encoder = NULL;
    khal_pass* pass;
    float first = 0;
    const khal_buffer_desc desc = {.size = SMALL_SIZE, .element_size = 4};
    (void)user;
    const double begin = bench_now();
    bool is_good =
        khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_WEBGPU}, &device) == KHAL_OK &&
        kernels_load(device, &library) == KHAL_OK &&
        khal_buffer_create(device, &desc, &a) == KHAL_OK &&
        khal_buffer_create(device, &desc, &b) == KHAL_OK &&
        khal_encoder_create(device, NULL, &encoder) == KHAL_OK &&
        khal_pass_begin(encoder, NULL, &pass) == KHAL_OK;
    if (is_good) {
        kernels_add_assign(library, pass, khal_threads(64, 1, 1),
                           &(kernels_add_assign_args){.a = khal_slice_float_all(a),
                                                      .b = khal_slice_float_all(b),
                                                      .n = 64});
        khal_pass_end(pass);
        is_good = khal_submit(encoder, NULL) == KHAL_OK &&
                  khal_buffer_read(a, 0, &first, 4, KHAL_FOREVER) == KHAL_OK;
    }
    const double end = bench_now();
    if (!is_good)
        bench_failed("starting");
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    kernels_release(library);
    khal_device_release(device);
    return is_good ? end - begin : -1;
}

static double start_raw(void* user)
{
    enum { PIPELINES = 5 };
    WGPUComputePipeline pipelines[PIPELINES];
    raw r;
    const raw_wait wait = ((webgpu_bed*)user)->raw.wait;
    const double begin = bench_now();
    if (!raw_open(&r))
        return -1;
    r.wait = wait;
    bool is_good = webgpu_make_pipelines(&r, pipelines, PIPELINES);
    const uint32_t n[4] = {64, 0, 0, 0};
    float first;
    WGPUBuffer buffers[2] = {raw_buffer(&r, RAW_STORAGE, SMALL_SIZE, NULL),
                             raw_buffer(&r, RAW_STORAGE, SMALL_SIZE, NULL)},
               size =
                   raw_buffer(&r, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, sizeof n, n),
               back = raw_buffer(&r, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, 4, NULL);
    WGPUBindGroup group = raw_group(&r, pipelines[0], buffers, 2, size);
    raw_run(&r, pipelines[0], group, 1, 1, 1);
    WGPUCommandEncoder encoder = raw_encoder(&r);
    r.f->CommandEncoderCopyBufferToBuffer(encoder, buffers[0], 0, back, 0, 4);
    raw_submit(&r, encoder);
    is_good = is_good && raw_map_read(&r, back, &first, 4);
    const double end = bench_now();
    r.f->BindGroupRelease(group);
    for (int i = 0; i < PIPELINES; i++)
        r.f->ComputePipelineRelease(pipelines[i]);
    raw_drop(&r, buffers[0]);
    raw_drop(&r, buffers[1]);
    raw_drop(&r, size);
    raw_drop(&r, back);
    raw_close(&r);
    return is_good ? end - begin : -1;
}

/* ---- memory
 * ---------------------------------------------------------------------------------------- */

static bool memory_row(webgpu_bed* bed, small* s, bool submits)
{
    enum { COUNT = 100000 };
    const kernels_add_assign_args args = {
        .a = khal_slice_float_all(s->a), .b = khal_slice_float_all(s->b), .n = BENCH_SMALL};
    double begin = 0, half_way = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i == COUNT / 10)
            begin = bench_resident();
        if (i == COUNT / 2)
            half_way = bench_resident();
        khal_encoder* encoder = bed->encoder;
        khal_pass* pass;
        if (!submits && khal_encoder_create(bed->device, NULL, &encoder) != KHAL_OK)
            return bench_failed("an encoder");
        khal_pass_begin(encoder, NULL, &pass);
        kernels_add_assign(bed->library, pass, khal_threads(BENCH_SMALL, 1, 1), &args);
        khal_pass_end(pass);
        if (!submits)
            khal_encoder_release(encoder);
        else if (khal_submit(encoder, NULL) != KHAL_OK)
            return bench_failed("submits without a wait");
    }
    const double end = bench_resident();
    if (khal_device_wait(bed->device, KHAL_FOREVER) != KHAL_OK)
        return bench_failed("waiting for all submits");
    printf("%-58s %+10.1f MiB, %+.1f of them in the second half\n",
           submits ? "100,000 submits without a wait: memory after the first tenth"
                   : "100,000 encoders dropped: likewise",
           end - begin, end - half_way);
    fflush(stdout);
    return true;
}

/* ---- khalc
 * ----------------------------------------------------------------------------------------- */

static double run_khalc(const char* khalc, const char* folder, const char* targets)
{
    char command[1200];
    snprintf(command, sizeof command,
             "'%s' --targets=%s '%s/kernels.cl' -o '%s/out' >/dev/null 2>&1", khalc, targets,
             folder, folder);
    double best = -1;
    for (int i = 0; i < 5; i++) {
        const double begin = bench_now();
        if (system(command) != 0)
            return -1;
        const double time = bench_now() - begin;
        best = best < 0 || time < best ? time : best;
    }
    return best;
}

static void khalc_row(void)
{
    char khalc[512] = "", folder[] = "/tmp/khal-bench-XXXXXX", path[600];
    const ssize_t length = readlink("/proc/self/exe", khalc, sizeof khalc - 8);
    char* slash = length > 0 ? strrchr(khalc, '/') : NULL;
    if (!slash)
        return;
    memcpy(slash, "/khalc", 7);
    if (access(khalc, X_OK) != 0 || !mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/kernels.cl", folder);
    FILE* f = fopen(path, "wb");
    const bool is_written =
        f && fwrite(kernels_source, 1, sizeof kernels_source, f) == sizeof kernels_source;
    if (f && fclose(f) == 0 && is_written) {
        const double cpu = run_khalc(khalc, folder, "cpu"),
                     both = run_khalc(khalc, folder, "cpu,wgsl");
        if (cpu > 0 && both > 0)
            printf("%-58s %10.3f %10.3f s    %+.3f s\n", "khalc with WGSL / without", both, cpu,
                   both - cpu);
        else
            printf("khalc could not be run (it needs clang)\n");
    }
    static const char* const files[] = {"kernels.cl", "out.khal.c", "out.khal.h"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* ----------------------------------------------------------------------------------------------------
 */

static bool open_bed(webgpu_bed* bed)
{
    if (!raw_open(&bed->raw))
        return false;
    return (khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_WEBGPU}, &bed->device) ==
                KHAL_OK &&
            kernels_load(bed->device, &bed->library) == KHAL_OK &&
            khal_encoder_create(bed->device, NULL, &bed->encoder) == KHAL_OK) ||
           bench_failed("opening the device");
}

static bool make_small(webgpu_bed* bed, small* s)
{
    raw* r = &bed->raw;
    *s = (small){.bed = bed};
    const uint32_t grid[3] = {1, 1, 1}, n[4] = {BENCH_SMALL, 0, 0, 0};
    s->raw_a = raw_buffer(r, RAW_STORAGE, SMALL_SIZE, NULL);
    s->raw_b = raw_buffer(r, RAW_STORAGE, SMALL_SIZE, NULL);
    s->raw_n = raw_buffer(r, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, sizeof n, n);
    s->raw_indirect =
        raw_buffer(r, WGPUBufferUsage_Indirect | WGPUBufferUsage_CopyDst, sizeof grid, grid);
    s->pipeline = raw_pipeline(r, add_wgsl);
    s->group = raw_group(r, s->pipeline, (const WGPUBuffer[]){s->raw_a, s->raw_b}, 2, s->raw_n);
    const khal_buffer_desc desc = {.size = SMALL_SIZE, .element_size = 4};
    return (khal_buffer_create(bed->device, &desc, &s->a) == KHAL_OK &&
            khal_buffer_create(bed->device, &desc, &s->b) == KHAL_OK &&
            khal_buffer_create(
                bed->device,
                &(khal_buffer_desc){.size = 12, .usage = KHAL_USAGE_INDIRECT, .data = grid},
                &s->indirect) == KHAL_OK) ||
           bench_failed("small buffers");
}

static void drop_small(small* s)
{
    raw* r = &s->bed->raw;
    khal_buffer_release(s->a);
    khal_buffer_release(s->b);
    khal_buffer_release(s->indirect);
    r->f->BindGroupRelease(s->group);
    r->f->ComputePipelineRelease(s->pipeline);
    raw_drop(r, s->raw_a);
    raw_drop(r, s->raw_b);
    raw_drop(r, s->raw_n);
    raw_drop(r, s->raw_indirect);
}

int bench_webgpu(const bench_options* options)
{
    webgpu_bed bed = {.options = options};
    bool is_good = open_bed(&bed);
    if (is_good) {
        char name[200];
        raw_name(&bed.raw, name, sizeof name);
        printf("WebGPU: %s\n%-58s %10s %10s\n", name, "", "khal", "plain");
        if (!options->kernel) {
            small s;
            is_good = make_small(&bed, &s) && small_rows(&bed, &s);
            is_good = transfer_rows(&bed) && is_good;
            is_good = webgpu_row(&bed, "start-up: device, pipelines, a first result", "ms", 1e3,
                                 start_khal, start_raw, NULL, &bed) &&
                      is_good;
            is_good = memory_row(&bed, &s, true) && memory_row(&bed, &s, false) && is_good;
            drop_small(&s);
        }
        is_good = webgpu_compare_kernels(&bed, options->kernel) && is_good;
        if (!options->kernel)
            khalc_row();
    }
    khal_encoder_release(bed.encoder);
    kernels_release(bed.library);
    khal_device_release(bed.device);
    if (bed.raw.library)
        raw_close(&bed.raw);
    return is_good ? 0 : 1;
}
