/* khalc's WGSL beside the same kernels written in WGSL by hand. */
#include "webgpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.khal.h"

enum { ADD, MATMUL, REDUCE, NBODY, STENCIL, KERNELS };

static const char* const names[KERNELS] = {"add_assign", "matmul", "reduce", "nbody", "stencil"};

static const char* const sources[KERNELS] = {
    [ADD] = "@group(0) @binding(0) var<storage, read_write> a: array<f32>;\n"
            "@group(0) @binding(1) var<storage, read> b: array<f32>;\n"
            "@group(0) @binding(2) var<uniform> n: vec4u;\n"
            "@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
            "    let i = id.x;\n"
            "    if (i < n.x) { a[i] += b[i]; }\n"
            "}\n",
    [MATMUL] =
        "@group(0) @binding(0) var<storage, read_write> c: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read> a: array<f32>;\n"
        "@group(0) @binding(2) var<storage, read> b: array<f32>;\n"
        "@group(0) @binding(3) var<uniform> size: vec4u;\n"
        "var<workgroup> tile_a: array<array<f32, 16>, 16>;\n"
        "var<workgroup> tile_b: array<array<f32, 16>, 16>;\n"
        "@compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) id: vec3u,\n"
        "        @builtin(local_invocation_id) t: vec3u) {\n"
        "    let n = size.x;\n"
        "    var sum = 0.0;\n"
        "    for (var k = 0u; k < n; k += 16u) {\n"
        "        tile_a[t.y][t.x] = a[id.y * n + k + t.x];\n"
        "        tile_b[t.y][t.x] = b[(k + t.y) * n + id.x];\n"
        "        workgroupBarrier();\n"
        "        for (var j = 0u; j < 16u; j++) { sum += tile_a[t.y][j] * tile_b[j][t.x]; }\n"
        "        workgroupBarrier();\n"
        "    }\n"
        "    c[id.y * n + id.x] = sum;\n"
        "}\n",
    [REDUCE] =
        "@group(0) @binding(0) var<storage, read_write> out: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read> values: array<f32>;\n"
        "@group(0) @binding(2) var<uniform> n: vec4u;\n"
        "var<workgroup> partial: array<f32, 256>;\n"
        "@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u,\n"
        "        @builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u,\n"
        "        @builtin(num_workgroups) groups: vec3u) {\n"
        "    let t = local.x;\n"
        "    var sum = 0.0;\n"
        "    for (var i = id.x; i < n.x; i += groups.x * 256u) { sum += values[i]; }\n"
        "    partial[t] = sum;\n"
        "    workgroupBarrier();\n"
        "    for (var half = 128u; half > 0u; half >>= 1u) {\n"
        "        if (t < half) { partial[t] += partial[t + half]; }\n"
        "        workgroupBarrier();\n"
        "    }\n"
        "    if (t == 0u) { out[group.x] = partial[0]; }\n"
        "}\n",
    [NBODY] = "@group(0) @binding(0) var<storage, read_write> acceleration: array<vec4f>;\n"
              "@group(0) @binding(1) var<storage, read> position: array<vec4f>;\n"
              "@group(0) @binding(2) var<uniform> n: vec4u;\n"
              "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
              "    let p = position[id.x];\n"
              "    var sum = vec3f();\n"
              "    for (var j = 0u; j < n.x; j++) {\n"
              "        let q = position[j];\n"
              "        let d = q.xyz - p.xyz;\n"
              "        let inverse = 1.0 / sqrt(dot(d, d) + 1e-3);\n"
              "        sum += d * (q.w * inverse * inverse * inverse);\n"
              "    }\n"
              "    acceleration[id.x] = vec4f(sum, 0.0);\n"
              "}\n",
    [STENCIL] =
        "@group(0) @binding(0) var<storage, read_write> out: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read> values: array<f32>;\n"
        "@group(0) @binding(2) var<uniform> size: vec4u;\n"
        "@compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
        "    if (id.x == 0u || id.y == 0u || id.x + 1u >= size.x || id.y + 1u >= size.y) { return; "
        "}\n"
        "    let i = id.y * size.x + id.x;\n"
        "    out[i] = 0.2 * (values[i] + values[i - 1u] + values[i + 1u] + values[i - size.x] + "
        "values[i + size.x]);\n"
        "}\n",
};

typedef struct shape {
    uint32_t n;                   /* the kernel's size; of stencil both */
    uint64_t in_count, out_count; /* floats */
    uint32_t groups[2];
} shape;

static shape shape_of(int kernel, bool is_cpu)
{
    const uint32_t side = is_cpu ? 1024 : 4096, matrix = is_cpu ? 256 : 2048,
                   bodies = is_cpu ? 2048 : 32768;
    const uint32_t elements = is_cpu ? 1u << 22 : 65535u * 256u;
    switch (kernel) {
    case ADD: return (shape){elements, elements, elements, {(elements + 255) / 256, 1}};
    case MATMUL:
        return (shape){matrix,
                       (uint64_t)matrix * matrix,
                       (uint64_t)matrix * matrix,
                       {matrix / 16, matrix / 16}};
    case REDUCE: return (shape){elements, elements, 1024, {1024, 1}};
    case NBODY: return (shape){bodies, 4ull * bodies, 4ull * bodies, {bodies / 64, 1}};
    default:
        return (shape){side, (uint64_t)side * side, (uint64_t)side * side, {side / 16, side / 16}};
    }
}

typedef struct work {
    webgpu_bed* bed;
    int kernel;
    shape shape;
    uint32_t repeats;
    khal_buffer *out, *in;
    khal_grid grid;
    WGPUComputePipeline pipeline;
    WGPUBindGroup group;
} work;

static double run_khal(void* user)
{
    work* w = user;
    webgpu_bed* bed = w->bed;
    const khal_slice_float out = khal_slice_float_all(w->out), in = khal_slice_float_all(w->in);
    khal_pass* pass;
    khal_ticket ticket;
    const double begin = bench_now();
    khal_pass_begin(bed->encoder, NULL, &pass);
    for (uint32_t i = 0; i < w->repeats; i++) {
        switch (w->kernel) {
        case ADD:
            kernels_add_assign(bed->library, pass, w->grid,
                               &(kernels_add_assign_args){.a = out, .b = in, .n = w->shape.n});
            break;
        case MATMUL:
            kernels_matmul(bed->library, pass, w->grid,
                           &(kernels_matmul_args){.c = out, .a = in, .b = in, .n = w->shape.n});
            break;
        case REDUCE:
            kernels_reduce(bed->library, pass, w->grid,
                           &(kernels_reduce_args){.out = out, .in = in, .n = w->shape.n});
            break;
        case NBODY:
            kernels_nbody(bed->library, pass, w->grid,
                          &(kernels_nbody_args){.acceleration = khal_slice_float4_all(w->out),
                                                .position = khal_slice_float4_all(w->in),
                                                .n = w->shape.n});
            break;
        default:
            kernels_stencil(bed->library, pass, w->grid,
                            &(kernels_stencil_args){
                                .out = out, .in = in, .width = w->shape.n, .height = w->shape.n});
        }
    }
    khal_pass_end(pass);
    if (khal_submit(bed->encoder, &ticket) != KHAL_OK ||
        khal_ticket_wait(bed->device, ticket, KHAL_FOREVER) != KHAL_OK) {
        bench_failed(names[w->kernel]);
        return -1;
    }
    return bench_now() - begin;
}

static double run_raw(void* user)
{
    work* w = user;
    const double begin = bench_now();
    raw_run(&w->bed->raw, w->pipeline, w->group, w->shape.groups[0], w->shape.groups[1],
            w->repeats);
    raw_finish(&w->bed->raw);
    return w->bed->raw.has_failed ? -1 : bench_now() - begin;
}

/* Both have run as often as the other; sums in another order, and a factor that one of them fuses,
 * may differ a little. */
static bool agree(const float* a, const float* b, uint64_t count)
{
    double error = 0.0, magnitude = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        const double difference = fabs((double)a[i] - (double)b[i]);
        error = difference > error || difference != difference ? difference : error;
        magnitude = fmax(magnitude, fabs((double)a[i]));
    }
    return error <= 1e-3 * magnitude && magnitude > 0.0;
}

static bool compare(webgpu_bed* bed, int kernel)
{
    raw* r = &bed->raw;
    work w = {.bed = bed, .kernel = kernel, .shape = shape_of(kernel, r->is_cpu), .repeats = 1};
    const shape* s = &w.shape;
    const uint64_t in_size = s->in_count * sizeof(float), out_size = s->out_count * sizeof(float);
    float* host =
        calloc((size_t)(s->in_count > s->out_count ? s->in_count : s->out_count), sizeof(float));
    float* other = calloc((size_t)s->out_count, sizeof(float));
    if (!host || !other)
        return false;
    for (uint64_t i = 0; i < s->in_count; i++)
        host[i] = (float)(i * 2654435761u % 1000u) * 0.001f;
    const uint32_t uniform[4] = {s->n, s->n, 0, 0};
    WGPUBuffer raw_in = raw_buffer(r, RAW_STORAGE, in_size, host),
               raw_out = raw_buffer(r, RAW_STORAGE, out_size, NULL),
               raw_size = raw_buffer(r, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst,
                                     sizeof uniform, uniform),
               raw_back =
                   raw_buffer(r, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, out_size, NULL);
    const WGPUBuffer buffers[3] = {raw_out, raw_in, raw_in};
    w.pipeline = raw_pipeline(r, sources[kernel]);
    w.group = raw_group(r, w.pipeline, buffers, kernel == MATMUL ? 3 : 2, raw_size);
    const uint32_t element = kernel == NBODY ? 16 : 4;
    bool is_good = khal_buffer_create(
                       bed->device,
                       &(khal_buffer_desc){.size = in_size, .element_size = element, .data = host},
                       &w.in) == KHAL_OK &&
                   khal_buffer_create(
                       bed->device, &(khal_buffer_desc){.size = out_size, .element_size = element},
                       &w.out) == KHAL_OK;
    if (!is_good)
        bench_failed(names[kernel]);
    w.grid = kernel == ADD || kernel == NBODY ? khal_threads(s->n, 1, 1)
                                              : khal_groups(s->groups[0], s->groups[1], 1);
    is_good = is_good && run_khal(&w) >= 0 && run_raw(&w) >= 0;
    if (is_good) {
        WGPUCommandEncoder encoder = raw_encoder(r);
        r->f->CommandEncoderCopyBufferToBuffer(encoder, raw_out, 0, raw_back, 0, out_size);
        raw_submit(r, encoder);
        is_good = raw_map_read(r, raw_back, other, out_size);
        if (khal_buffer_read(w.out, 0, host, out_size, KHAL_FOREVER) != KHAL_OK)
            is_good = bench_failed(names[kernel]);
        if (is_good && !agree(host, other, s->out_count)) {
            fprintf(stderr, "khal-bench: %s: khalc's kernel and the one by hand differ\n",
                    names[kernel]);
            is_good = false;
        }
    }
    if (is_good) {
        const double once = run_raw(&w);
        w.repeats = once > 0.02 ? 1 : once < 0.0001 ? 200 : (uint32_t)(0.02 / once);
        char what[80];
        snprintf(what, sizeof what, "%s, n = %u: khalc's WGSL / by hand", names[kernel],
                 (unsigned)s->n);
        is_good = webgpu_row(bed, what, "us", 1e6 / w.repeats, run_khal, run_raw, &w, &w);
    }
    khal_buffer_release(w.in);
    khal_buffer_release(w.out);
    r->f->BindGroupRelease(w.group);
    r->f->ComputePipelineRelease(w.pipeline);
    raw_drop(r, raw_in);
    raw_drop(r, raw_out);
    raw_drop(r, raw_size);
    raw_drop(r, raw_back);
    free(host);
    free(other);
    return is_good;
}

bool webgpu_compare_kernels(webgpu_bed* bed, const char* only)
{
    bool is_good = true;
    for (int i = 0; i < KERNELS; i++)
        if (!only || strcmp(only, names[i]) == 0)
            is_good = compare(bed, i) && is_good;
    return is_good;
}

bool webgpu_make_pipelines(raw* r, WGPUComputePipeline* out, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < KERNELS; i++)
        out[i] = raw_pipeline(r, sources[i]);
    return !r->has_failed;
}
