/* Our own kernels: copies and fills at any byte, indirect grids, and what fma and sqrt are. */
#include "wg_kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the kernels share: their parameters, and the copy's source and target, which come as one binding or two. */
static const char params_text[] = "struct params { a: vec4<u32>, b: vec4<u32>, c: vec4<u32> }\n";

/* A target word for each step of each work-item, by funnel shifts; the words at the ends keep the bytes that are not in
 * the range. a: byte offsets in source and target, bytes, groups in a row of the grid. The reads of a word beyond the
 * source are only of those that hold a byte of it. */
static const char copy_text[] =
    "@compute @workgroup_size(256)\n"
    "fn copy(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n"
    "    let begin = p.a.y;\n"
    "    let end = p.a.y + p.a.z;\n"
    "    let first = begin / 4u;\n"
    "    let words = (end + 3u) / 4u - first;\n"
    "    let base = (group.x + group.y * p.a.w) * 1024u + lane;\n"
    "    for (var k = 0u; k < 4u; k += 1u) {\n"
    "        let w = base + k * 256u;\n"
    "        if (w >= words) { break; }\n"
    "        let at = (first + w) * 4u;\n"
    "        let low = max(at, begin);\n"
    "        let high = min(at + 4u, end);\n"
    "        let from_low = p.a.x + (low - begin);\n"
    "        let from_last = p.a.x + (high - 1u - begin);\n"
    "        let shift = (from_low % 4u) * 8u;\n"
    "        var value = load(from_low / 4u) >> shift;\n"
    "        if (from_last / 4u != from_low / 4u) {\n"
    "            value |= load(from_last / 4u) << (32u - shift);\n"
    "        }\n"
    "        if (high - low < 4u) {\n"
    "            let lead = (low - at) * 8u;\n"
    "            let mask = ((1u << ((high - low) * 8u)) - 1u) << lead;\n"
    "            value = (load_target(first + w) & ~mask) | ((value << lead) & mask);\n"
    "        }\n"
    "        store(first + w, value);\n"
    "    }\n"
    "}\n";
static const char copy_two_text[] = /* source read-only, or of the same buffer and far away */
    "@group(0) @binding(1) var<storage, read_write> into: array<u32>;\n"
    "fn load(i: u32) -> u32 { return source[i]; }\n"
    "fn load_target(i: u32) -> u32 { return into[i]; }\n"
    "fn store(i: u32, value: u32) { into[i] = value; }\n";
static const char copy_one_text[] = "@group(0) @binding(0) var<storage, read_write> both: array<u32>;\n"
                                    "fn load(i: u32) -> u32 { return both[i]; }\n"
                                    "fn load_target(i: u32) -> u32 { return both[i]; }\n"
                                    "fn store(i: u32, value: u32) { both[i] = value; }\n";
static const char copy_touching_text[] = /* a word may hold bytes of both */
    "@group(0) @binding(0) var<storage, read_write> both: array<atomic<u32>>;\n"
    "fn load(i: u32) -> u32 { return atomicLoad(&both[i]); }\n"
    "fn load_target(i: u32) -> u32 { return atomicLoad(&both[i]); }\n"
    "fn store(i: u32, value: u32) { atomicStore(&both[i], value); }\n";

/* a: byte offset, bytes, groups in a row of the grid; b: the pattern, as it lies on bytes that are multiples of 16. */
static const char fill_text[] =
    "@group(0) @binding(0) var<storage, read_write> into: array<u32>;\n"
    "@compute @workgroup_size(256)\n"
    "fn fill(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n"
    "    let begin = p.a.x;\n"
    "    let end = p.a.x + p.a.y;\n"
    "    let first = begin / 4u;\n"
    "    let words = (end + 3u) / 4u - first;\n"
    "    let base = (group.x + group.y * p.a.z) * 1024u + lane;\n"
    "    for (var k = 0u; k < 4u; k += 1u) {\n"
    "        let w = base + k * 256u;\n"
    "        if (w >= words) { break; }\n"
    "        let at = (first + w) * 4u;\n"
    "        let low = max(at, begin);\n"
    "        let high = min(at + 4u, end);\n"
    "        var value = p.b[(first + w) % 4u];\n"
    "        if (high - low < 4u) {\n"
    "            let mask = ((1u << ((high - low) * 8u)) - 1u) << ((low - at) * 8u);\n"
    "            value = (into[first + w] & ~mask) | (value & mask);\n"
    "        }\n"
    "        into[first + w] = value;\n"
    "    }\n"
    "}\n";

/* The grid of an indirect dispatch: wg_fold_grid, on the device, into the block and into what the API takes its counts
 * from. a: words where the counts, the block and the API's counts are, and the API's limit; b: work-group size, and the
 * number of the dispatch; c.x: whether it folds, c.y: whether the result is to be reset first. */
static const char prepare_text[] =
    "@group(0) @binding(0) var<storage, read> counts: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> slot: array<u32>;\n"
    "@group(0) @binding(2) var<storage, read_write> result: array<u32>;\n"
    "fn overflows(n: u32, size: u32) -> bool { return n > 0xffffffffu / size; }\n"
    "fn item_count(n: u32, size: u32) -> u32 { return min(n, 2u) * min(size, 2u); }\n"
    "@compute @workgroup_size(1)\n"
    "fn prepare() {\n"
    "    let x = counts[p.a.x];\n"
    "    let y = counts[p.a.x + 1u];\n"
    "    let z = counts[p.a.x + 2u];\n"
    "    let most = p.a.w;\n"
    "    var call = vec3<u32>(x, y, z);\n"
    "    var too_large = false;\n"
    "    if (p.c.y != 0u) { result[0] = 0u; }\n"
    "    if (x == 0u || y == 0u || z == 0u) {\n"
    "        call = vec3<u32>(0u);\n"
    "    } else if (p.c.x == 0u) {\n"
    "        too_large = x > most || y > most || z > most;\n"
    "    } else {\n"
    "        let rows_x = (x - 1u) / most + 1u;\n"
    "        let rows_y = (y - 1u) / most + 1u;\n"
    "        too_large = rows_x > most || rows_y > most / rows_x || overflows(z, p.b.z);\n"
    "        if (!too_large) {\n"
    "            let rows = rows_x * rows_y;\n"
    "            call = vec3<u32>((x - 1u) / rows_x + 1u, (y - 1u) / rows_y + 1u, z * rows);\n"
    "            too_large = z > most / rows || overflows(call.x * rows_x, p.b.x) || overflows(call.y * rows_y, p.b.y);\n"
    "        }\n"
    "        let block = p.a.y;\n"
    "        slot[block] = x;\n"
    "        slot[block + 1u] = y;\n"
    "        slot[block + 2u] = z;\n"
    "        slot[block + 3u] = select(select(1u, 2u, item_count(y, p.b.y) > 1u), 3u, item_count(z, p.b.z) > 1u);\n"
    "        slot[block + 4u] = x * p.b.x;\n"
    "        slot[block + 5u] = y * p.b.y;\n"
    "        slot[block + 6u] = z * p.b.z;\n"
    "        slot[block + 7u] = 0u;\n"
    "        slot[block + 8u] = call.x;\n"
    "        slot[block + 9u] = rows_x;\n"
    "        slot[block + 10u] = call.y;\n"
    "        slot[block + 11u] = rows_y;\n"
    "    }\n"
    "    if (too_large) {\n"
    "        call = vec3<u32>(0u);\n"
    "        if (result[0] == 0u) {\n"
    "            result[0] = p.b.w + 1u;\n"
    "            result[1] = x;\n"
    "            result[2] = y;\n"
    "            result[3] = z;\n"
    "        }\n"
    "    }\n"
    "    slot[p.a.z] = call.x;\n"
    "    slot[p.a.z + 1u] = call.y;\n"
    "    slot[p.a.z + 2u] = call.z;\n"
    "}\n";

/* x[0]: 1 if fma is fused: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, and 0 where the product is rounded first. x[1]: 1 if sqrt is
 * within 2 ulps and right at infinity and zeroes. In: x[0] = 1 + 2^-12, x[1] = -(1 + 2^-11), x[2] infinity, x[3] -0: no
 * compiler works these out. */
static const char maths_text[] =
    "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
    "fn bits(v: f32) -> u32 { return bitcast<u32>(v); }\n"
    "fn head(v: f32) -> f32 { return bitcast<f32>(bits(v) & 0xfffff000u); }\n"
    "fn is_near(v: f32) -> bool {\n"
    "    let y = sqrt(v);\n"
    "    let h = head(y);\n"
    "    let rest = ((v - h * h) - (h + h) * (y - h)) - (y - h) * (y - h);\n"
    "    return abs(rest) <= 4.0 * y * 0x1p-23;\n"
    "}\n"
    "@compute @workgroup_size(1)\n"
    "fn test() {\n"
    "    let fused = fma(x[0], x[0], x[1]) != 0.0;\n"
    "    var near = bits(sqrt(x[2])) == bits(x[2]) && bits(sqrt(x[3])) == bits(x[3]) && sqrt(abs(x[3])) == 0.0;\n"
    "    near = near && (bits(sqrt(-x[0])) & 0x7fffffffu) > 0x7f800000u;\n"
    "    for (var i = 0u; i < 2048u; i += 1u) {\n"
    "        let v = bitcast<f32>(0x3f800000u + i * 4099u);\n"
    "        near = near && is_near(v) && is_near(2.0 * v);\n"
    "    }\n"
    "    x[0] = select(0.0, 1.0, fused);\n"
    "    x[1] = select(0.0, 1.0, near);\n"
    "}\n";

typedef struct params {
    uint32_t a[4], b[4], c[4];
} params;

typedef enum kernel_id {
    COPY_TWO,      /* binding 0 read-only */
    COPY_TWO_SAME, /* both of one buffer, apart */
    COPY_ONE,
    COPY_TOUCHING,
    FILL,
    PREPARE,
    MATHS,
    KERNEL_COUNT
} kernel_id;

static const struct {
    const char *entry, *bindings, *text;
    uint32_t count;
    bool reads[3]; /* read-only bindings */
    bool has_params;
} kernels[KERNEL_COUNT] = {
    [COPY_TWO] =
        {"copy", "@group(0) @binding(0) var<storage, read> source: array<u32>;\n", copy_two_text, 2, {true}, true},
    [COPY_TWO_SAME] = {"copy",
                       "@group(0) @binding(0) var<storage, read_write> source: array<u32>;\n",
                       copy_two_text,
                       2,
                       {false},
                       true},
    [COPY_ONE] = {"copy", "", copy_one_text, 1, {false}, true},
    [COPY_TOUCHING] = {"copy", "", copy_touching_text, 1, {false}, true},
    [FILL] = {"fill", "", fill_text, 1, {false}, true},
    [PREPARE] = {"prepare", "", prepare_text, 3, {true}, true},
    [MATHS] = {"test", "", maths_text, 1, {false}, false},
};

#define CLOSE_TIME 2000000000u /* ns to wait for an answer when the device closes */

typedef enum maths_state { MATHS_UNKNOWN, MATHS_RUNS, MATHS_KNOWN } maths_state;

struct wg_internal {
    wg_program programs[KERNEL_COUNT];
    maths_state maths_state;
    WGPUBuffer maths_buffer, maths_read;
    bool maths_mapped, maths_failed; /* by the callback */
};

khal_status wg_internal_open(wg_device* device)
{
    wg_internal* internal = khal__alloc(device->front, sizeof *internal, 16);
    if (internal == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for internal kernels");
    memset(internal, 0, sizeof *internal);
    device->internal = internal;
    return KHAL_OK;
}

static void release_buffer(wg_device* device, WGPUBuffer* buffer)
{
    if (*buffer != NULL)
        device->library->f.BufferRelease(*buffer);
    *buffer = NULL;
}

void wg_internal_close(wg_device* device)
{
    wg_internal* internal = device->internal;
    if (internal == NULL)
        return;
    /* The answer that is still to come has the address of this structure. */
    const uint64_t deadline = khal__clock_now() + CLOSE_TIME;
    while (internal->maths_state == MATHS_RUNS && !internal->maths_mapped && !internal->maths_failed) {
        if (khal__clock_now() > deadline)
            return;
        wg_events(device);
    }
    for (int k = 0; k < KERNEL_COUNT; ++k)
        wg_program_destroy(device, &internal->programs[k]);
    release_buffer(device, &internal->maths_buffer);
    release_buffer(device, &internal->maths_read);
    khal__free(device->front, internal, sizeof *internal);
    device->internal = NULL;
}

/* Made when it is first needed. */
static khal_status get_program(wg_device* device, kernel_id id, const wg_program** out)
{
    wg_program* program = &device->internal->programs[id];
    *out = program;
    if (program->handle != NULL)
        return KHAL_OK;
    const uint32_t count = kernels[id].count;
    wg_shape_entry entries[4];
    for (uint32_t i = 0; i < count; ++i)
        entries[i] = (wg_shape_entry){.binding = i,
                                      .type = kernels[id].reads[i] ? WGPUBufferBindingType_ReadOnlyStorage
                                                                   : WGPUBufferBindingType_Storage};
    const uint32_t size = sizeof(params);
    program->block = !kernels[id].has_params          ? WG_BLOCK_NONE
                     : device->immediate_size >= size ? WG_BLOCK_IMMEDIATE
                                                      : WG_BLOCK_UNIFORM;
    program->block_size = kernels[id].has_params ? size : 0;
    entries[count] = (wg_shape_entry){.binding = count, .type = WGPUBufferBindingType_Uniform, .block_size = size};
    khal_status status = wg_layout_get(device, entries, count + (program->block == WG_BLOCK_UNIFORM),
                                       program->block == WG_BLOCK_IMMEDIATE ? size : 0, &program->layout);
    if (status != KHAL_OK)
        return status;
    char text[8192], block[96] = "";
    if (program->block == WG_BLOCK_UNIFORM)
        snprintf(block, sizeof block, "@group(0) @binding(%u) var<uniform> p: params;\n", count);
    else if (program->block == WG_BLOCK_IMMEDIATE)
        snprintf(block, sizeof block, "var<immediate> p: params;\n");
    const bool is_copy = id <= COPY_TOUCHING;
    const int length = snprintf(text, sizeof text, "%s%s%s%s%s", kernels[id].has_params ? params_text : "", block,
                                kernels[id].bindings, kernels[id].text, is_copy ? copy_text : "");
    WGPUShaderModule shader = NULL;
    status = wg_shader_create_wgsl(device, text, (size_t)length, kernels[id].entry, KHAL_ERROR_DRIVER,
                                   kernels[id].entry, &shader);
    if (status != KHAL_OK)
        return status;
    status = wg_program_create(device, shader, kernels[id].entry, NULL, 0, kernels[id].entry, program);
    device->library->f.ShaderModuleRelease(shader);
    return status;
}

/* ---- copies and fills -------------------------------------------------------------------------- */

#define GROUP_BYTES 4096u /* of the target, a work-group */

/* Bytes of one piece: four of them fit one binding. */
static uint64_t piece_size(const wg_device* device)
{
    const uint64_t most = device->limits.maxStorageBufferBindingSize / 4;
    return (most < UINT64_C(1) << 30 ? most : UINT64_C(1) << 30) & ~UINT64_C(255);
}

/* The words around a range, from an offset that may be bound. Buffers end at multiples of 16. */
static wg_bound window(const wg_device* device, WGPUBuffer buffer, uint64_t offset, uint64_t size)
{
    const uint64_t begin = offset & ~(uint64_t)(device->limits.minStorageBufferOffsetAlignment - 1);
    return (wg_bound){buffer, 0, begin, ((offset + size + 3) & ~UINT64_C(3)) - begin};
}

/* Groups of the API's grid for `size` bytes of a target from `offset` on; the row's length goes to *row. */
static void grid(const wg_device* device, uint64_t offset, uint64_t size, uint32_t* row, uint32_t* rows)
{
    const uint64_t words = (offset + size + 3) / 4 - offset / 4, groups = (words * 4 + GROUP_BYTES - 1) / GROUP_BYTES;
    const uint32_t most = device->limits.maxComputeWorkgroupsPerDimension;
    *rows = (uint32_t)((groups - 1) / most + 1);
    *row = (uint32_t)((groups - 1) / *rows + 1);
}

/* Copies and fills are too unlike each other for their bind groups to be kept. */
static khal_status run_once(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                            const params* p, uint32_t x, uint32_t y)
{
    WGPUBindGroup group = NULL;
    khal_status status = wg_run_once(recorder, program, bounds, count, p, x, y, &group);
    if (group != NULL)
        recorder->device->library->f.BindGroupRelease(group);
    return status;
}

static bool meet(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
    return a < b_end && b < a_end;
}

static khal_status copy_piece(wg_recorder* recorder, WGPUBuffer source, uint64_t source_offset, WGPUBuffer target,
                              uint64_t target_offset, uint64_t size)
{
    const wg_device* device = recorder->device;
    wg_bound bounds[2] = {window(device, source, source_offset, size), window(device, target, target_offset, size)};
    uint64_t source_begin = bounds[0].offset, target_begin = bounds[1].offset;
    kernel_id id = source == target ? COPY_TWO_SAME : COPY_TWO;
    if (source == target && meet(bounds[0].offset, bounds[0].offset + bounds[0].size, bounds[1].offset,
                                 bounds[1].offset + bounds[1].size)) {
        const bool is_touching =
            meet(source_offset / 4, (source_offset + size + 3) / 4, target_offset / 4, (target_offset + size + 3) / 4);
        const uint64_t begin = source_begin < target_begin ? source_begin : target_begin;
        const uint64_t end = (source_offset > target_offset ? source_offset : target_offset) + size;
        bounds[0] = window(device, source, begin, end - begin);
        source_begin = target_begin = begin;
        id = is_touching ? COPY_TOUCHING : COPY_ONE;
    }
    const wg_program* program = NULL;
    const khal_status status = get_program(recorder->device, id, &program);
    if (status != KHAL_OK)
        return status;
    params p = {
        .a = {(uint32_t)(source_offset - source_begin), (uint32_t)(target_offset - target_begin), (uint32_t)size, 0}};
    uint32_t rows = 0;
    grid(device, target_offset, size, &p.a[3], &rows);
    return run_once(recorder, program, bounds, kernels[id].count, &p, p.a[3], rows);
}

khal_status wg_internal_copy(wg_recorder* recorder, WGPUBuffer source, uint64_t source_offset, WGPUBuffer target,
                             uint64_t target_offset, uint64_t size)
{
    const uint64_t piece = piece_size(recorder->device);
    khal_status status = KHAL_OK;
    for (uint64_t done = 0; done < size && status == KHAL_OK; done += piece)
        status = copy_piece(recorder, source, source_offset + done, target, target_offset + done,
                            size - done < piece ? size - done : piece);
    return status;
}

khal_status wg_internal_fill(wg_recorder* recorder, WGPUBuffer target, uint64_t offset, uint64_t size,
                             const void* pattern, uint32_t pattern_size)
{
    const wg_device* device = recorder->device;
    const uint64_t piece = piece_size(device);
    const wg_program* program = NULL;
    khal_status status = get_program(recorder->device, FILL, &program);
    for (uint64_t done = 0; done < size && status == KHAL_OK; done += piece) {
        const uint64_t begin = offset + done, part = size - done < piece ? size - done : piece;
        const wg_bound bound = window(device, target, begin, part);
        const uint32_t rest = (uint32_t)(begin - bound.offset);
        params p = {.a = {rest, (uint32_t)part, 0, 0}};
        unsigned char bytes[16]; /* pieces are multiples of 16, so that each begins with the pattern's first byte */
        for (uint32_t i = 0; i < 16; ++i)
            bytes[(rest + i) % 16] = ((const unsigned char*)pattern)[i % pattern_size];
        memcpy(p.b, bytes, sizeof bytes);
        uint32_t rows = 0;
        grid(device, begin, part, &p.a[2], &rows);
        status = run_once(recorder, program, &bound, 1, &p, p.a[2], rows);
    }
    return status;
}

/* ---- indirect grids ---------------------------------------------------------------------------- */

khal_status wg_internal_prepare(wg_recorder* recorder, const wg_prepare* prepare)
{
    const wg_device* device = recorder->device;
    const wg_slot* slot = prepare->slot;
    const wg_program* program = NULL;
    const khal_status status = get_program(recorder->device, PREPARE, &program);
    if (status != KHAL_OK)
        return status;
    wg_bound bounds[3] = {window(device, prepare->counts, prepare->counts_offset, 12),
                          {slot->buffer, slot->serial, 0, slot->chunk_size},
                          {prepare->result, prepare->result_serial, 0, 16}};
    bounds[0].serial = prepare->counts_serial;
    const params p = {
        .a = {(uint32_t)(prepare->counts_offset - bounds[0].offset) / 4, slot->offset / 4,
              (slot->offset + prepare->args_offset) / 4, device->limits.maxComputeWorkgroupsPerDimension},
        .b = {prepare->workgroup_size[0], prepare->workgroup_size[1], prepare->workgroup_size[2], prepare->index},
        .c = {prepare->folds, prepare->is_first, 0, 0}};
    return wg_run(recorder, program, bounds, 3, &p, 1, 1, 1);
}

/* ---- maths --------------------------------------------------------------------------------------- */

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void* user, void* unused)
{
    wg_internal* internal = user;
    (void)message;
    (void)unused;
    internal->maths_mapped = status == WGPUMapAsyncStatus_Success;
    internal->maths_failed = !internal->maths_mapped;
}

static void encode_maths(wg_device* device, const wg_program* program, WGPUCommandEncoder encoder, WGPUBindGroup group)
{
    const wg_functions* f = &device->library->f;
    const WGPUComputePassDescriptor desc = {.label = wg_view(NULL)};
    WGPUComputePassEncoder pass = f->CommandEncoderBeginComputePass(encoder, &desc);
    f->ComputePassEncoderSetPipeline(pass, program->handle);
    f->ComputePassEncoderSetBindGroup(pass, 0, group, 0, NULL);
    f->ComputePassEncoderDispatchWorkgroups(pass, 1, 1, 1);
    f->ComputePassEncoderEnd(pass);
    f->ComputePassEncoderRelease(pass);
    f->CommandEncoderCopyBufferToBuffer(encoder, device->internal->maths_buffer, 0, device->internal->maths_read, 0, 16);
}

static khal_status start_maths(wg_device* device)
{
    static const float values[4] = {1.0f + 0x1p-12f, -(1.0f + 0x1p-11f), INFINITY, -0.0f};
    const wg_functions* f = &device->library->f;
    wg_internal* internal = device->internal;
    const wg_program* program = NULL;
    khal_status status = get_program(device, MATHS, &program);
    if (status == KHAL_OK && internal->maths_buffer == NULL)
        status = wg_make_buffer(device, "khal maths",
                                WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst, 16,
                                &internal->maths_buffer);
    if (status == KHAL_OK && internal->maths_read == NULL)
        status = wg_make_buffer(device, "khal maths", WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, 16,
                                &internal->maths_read);
    if (status != KHAL_OK)
        return status;
    const wg_bound bound = {internal->maths_buffer, 0, 0, 16};
    const WGPUCommandEncoderDescriptor desc = {.label = wg_view(NULL)};
    const WGPUCommandBufferDescriptor finish = {.label = wg_view(NULL)};
    WGPUBindGroup group = NULL;
    wg_scope_begin(device);
    f->QueueWriteBuffer(device->queue, internal->maths_buffer, 0, values, sizeof values);
    status = wg_group_create(device, program->layout, 0, &bound, 1, &group);
    WGPUCommandEncoder encoder = f->DeviceCreateCommandEncoder(device->device, &desc);
    if (status == KHAL_OK)
        encode_maths(device, program, encoder, group);
    WGPUCommandBuffer commands = f->CommandEncoderFinish(encoder, &finish);
    f->CommandEncoderRelease(encoder);
    if (group != NULL)
        f->BindGroupRelease(group);
    const khal_status scope = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "the test of fma and sqrt");
    if (status == KHAL_OK)
        status = scope;
    if (status == KHAL_OK) {
        const WGPUBufferMapCallbackInfo info = {
            .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_mapped, .userdata1 = internal};
        f->QueueSubmit(device->queue, 1, &commands);
        internal->maths_state = MATHS_RUNS;
        f->BufferMapAsync(internal->maths_read, WGPUMapMode_Read, 0, 16, info);
    }
    f->CommandBufferRelease(commands);
    return status;
}

khal_status wg_internal_poll_maths(wg_device* device)
{
    const wg_functions* f = &device->library->f;
    wg_internal* internal = device->internal;
    if (internal->maths_state == MATHS_KNOWN)
        return KHAL_OK;
    if (internal->maths_state == MATHS_UNKNOWN) {
        const khal_status status = start_maths(device);
        return status == KHAL_OK ? KHAL_NOT_READY : status;
    }
    wg_events(device);
    if (internal->maths_failed)
        return khal__fail(device->front, KHAL_ERROR_DRIVER, 0, NULL, "the test of fma and sqrt could not be read");
    if (!internal->maths_mapped)
        return KHAL_NOT_READY;
    const float* values = f->BufferGetConstMappedRange(internal->maths_read, 0, 16);
    device->has_fused_fma = values != NULL && values[0] == 1.0f;
    device->has_good_sqrt = values != NULL && values[1] == 1.0f;
    f->BufferUnmap(internal->maths_read);
    release_buffer(device, &internal->maths_buffer);
    release_buffer(device, &internal->maths_read);
    internal->maths_state = MATHS_KNOWN;
    return KHAL_OK;
}
