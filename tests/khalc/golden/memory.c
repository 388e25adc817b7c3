/* Made by khalc; changes are lost when it is made again. It includes itself once for each SIMD level. */
#ifndef KHAL_C_NAME
#include "memory.khal.h"

#include <string.h>

#include <khal/cpu.h>

#define KHAL_C_NAME(x) khal_cpu_##x##_base
#include "memory.khal.c"
#undef KHAL_C_NAME
#if KHAL_CPU_HAVE_X86_V3
KHAL_CPU_TARGET_V3_BEGIN
#define KHAL_C_NAME(x) khal_cpu_##x##_v3
#include "memory.khal.c"
#undef KHAL_C_NAME
KHAL_CPU_TARGET_V3_END
#endif
#if KHAL_CPU_HAVE_X86_V4
KHAL_CPU_TARGET_V4_BEGIN
#define KHAL_C_NAME(x) khal_cpu_##x##_v4
#include "memory.khal.c"
#undef KHAL_C_NAME
KHAL_CPU_TARGET_V4_END
#endif

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
static const char khal_wgsl_source_0[] =
    "// memory, of memory.cl\n"
    "\n"
    "struct khal_block {\n"
    "    group_count: vec3<u32>,\n"
    "    work_dim: u32,\n"
    "    global_size: vec3<u32>,\n"
    "    base_z: u32,\n"
    "    fold: vec4<u32>,\n"
    "    slices: array<vec4<u32>, 1>,\n"
    "    locals: array<vec4<u32>, 1>,\n"
    "    push: array<vec4<u32>, 2>,\n"
    "}\n"
    "\n"
    "const weights: array<array<f32, 3>, 2> = array<array<f32, 3>, 2>(array<f32, 3>(0.25f, 0.5f, 0.25f), array<f32, 3>(1.0f, 2.0f, 0.0f));\n"
    "\n"
    "override khal_local_0: u32 = 1u;\n"
    "var<workgroup> sums: array<f32, 2>;\n"
    "var<workgroup> tile: array<f32, khal_local_0>;\n"
    "\n"
    "@group(0) @binding(0) var<storage, read_write> particles: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read> order: array<i32>;\n"
    "\n"
    "override khal_is_plain: bool = false;\n"
    "override khal_is_exact: bool = false;\n"
    "\n"
    "fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {\n"
    "    if (khal_is_plain) {\n"
    "        return g;\n"
    "    }\n"
    "    let f = khal.fold;\n"
    "    if (f.y * f.w == 1u) {\n"
    "        return vec3<u32>(g.xy, khal.base_z + g.z);\n"
    "    }\n"
    "    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));\n"
    "}\n"
    "\n"
    "@compute @workgroup_size(64, 1, 1)\n"
    "fn memory(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {\n"
    "    let khal_group_id = khal_logical_group(khal_workgroup_id);\n"
    "    let khal_global_id = khal_group_id * vec3<u32>(64, 1, 1) + khal_local_id;\n"
    "    if (!khal_is_plain && any(khal_group_id >= khal.group_count)) {\n"
    "        return;\n"
    "    }\n"
    "    var first: array<u32, 8>;\n"
    "    first[0u] = khal.push[0].x;\n"
    "    first[1u] = khal.push[0].y;\n"
    "    first[2u] = khal.push[0].z;\n"
    "    first[3u] = khal.push[0].w;\n"
    "    first[4u] = khal.push[1].x;\n"
    "    first[5u] = khal.push[1].y;\n"
    "    first[6u] = khal.push[1].z;\n"
    "    first[7u] = khal.push[1].w;\n"
    "    let order_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;\n"
    "    let particles_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;\n"
    "    var private_array = array<i32, 4>(1, 2, 0, 0);\n"
    "    let l = khal_local_id.x;\n"
    "    let mine = khal_global_id.x;\n"
    "    tile[l] = bitcast<f32>(particles[particles_first + mine * 8u]) * weights[1][l % 3u];\n"
    "    workgroupBarrier();\n"
    "    if (l == 0u) {\n"
    "        var sum_of: f32;\n"
    "        var p = 1u;\n"
    "        var n = 63;\n"
    "        var s = 0.0f;\n"
    "        loop {\n"
    "            let t = n;\n"
    "            n = t - 1;\n"
    "            if (t <= 0) {\n"
    "                break;\n"
    "            }\n"
    "            let t_2 = p;\n"
    "            p = t_2 + 1u;\n"
    "            s += tile[t_2];\n"
    "        }\n"
    "        sum_of = s;\n"
    "        sums[order[order_first] & 1] = sum_of;\n"
    "    }\n"
    "    workgroupBarrier();\n"
    "    storageBarrier();\n"
    "    private_array[l & 3u] += i32(mine * 8u) / 8;\n"
    "    let at = mine;\n"
    "    let value = vec4<f32>(bitcast<f32>(first[0u]), bitcast<f32>(first[1u]), bitcast<f32>(first[2u]), bitcast<f32>(first[3u]));\n"
    "    let at_2 = particles_first + at * 8u;\n"
    "    particles[at_2] = bitcast<u32>(value.x);\n"
    "    particles[at_2 + 1u] = bitcast<u32>(value.y);\n"
    "    particles[at_2 + 2u] = bitcast<u32>(value.z);\n"
    "    particles[at_2 + 3u] = bitcast<u32>(value.w);\n"
    "    let at_3 = at;\n"
    "    let at_4 = at_3;\n"
    "    let at_5 = particles_first + at_4 * 8u;\n"
    "    particles[at_5 + 4u] = first[4u];\n"
    "    let at_6 = at_3;\n"
    "    let at_7 = particles_first + at_6 * 8u;\n"
    "    particles[at_7 + 5u] = first[5u];\n"
    "    particles[particles_first + (mine * 8u + u32(private_array[1] & 1)) + 4u] = bitcast<u32>(sums[0]);\n"
    "}\n";
static const char khal_wgsl_shared_0[] =
    "// memory, of memory.cl\n"
    "\n"
    "struct khal_block {\n"
    "    group_count: vec3<u32>,\n"
    "    work_dim: u32,\n"
    "    global_size: vec3<u32>,\n"
    "    base_z: u32,\n"
    "    fold: vec4<u32>,\n"
    "    slices: array<vec4<u32>, 1>,\n"
    "    locals: array<vec4<u32>, 1>,\n"
    "    push: array<vec4<u32>, 2>,\n"
    "}\n"
    "\n"
    "const weights: array<array<f32, 3>, 2> = array<array<f32, 3>, 2>(array<f32, 3>(0.25f, 0.5f, 0.25f), array<f32, 3>(1.0f, 2.0f, 0.0f));\n"
    "\n"
    "override khal_local_0: u32 = 1u;\n"
    "var<workgroup> sums: array<f32, 2>;\n"
    "var<workgroup> tile: array<f32, khal_local_0>;\n"
    "\n"
    "override khal_is_plain: bool = false;\n"
    "override khal_is_exact: bool = false;\n"
    "\n"
    "fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {\n"
    "    if (khal_is_plain) {\n"
    "        return g;\n"
    "    }\n"
    "    let f = khal.fold;\n"
    "    if (f.y * f.w == 1u) {\n"
    "        return vec3<u32>(g.xy, khal.base_z + g.z);\n"
    "    }\n"
    "    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));\n"
    "}\n"
    "\n"
    "@compute @workgroup_size(64, 1, 1)\n"
    "fn memory(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {\n"
    "    let khal_group_id = khal_logical_group(khal_workgroup_id);\n"
    "    let khal_global_id = khal_group_id * vec3<u32>(64, 1, 1) + khal_local_id;\n"
    "    if (!khal_is_plain && any(khal_group_id >= khal.group_count)) {\n"
    "        return;\n"
    "    }\n"
    "    var first: array<u32, 8>;\n"
    "    first[0u] = khal.push[0].x;\n"
    "    first[1u] = khal.push[0].y;\n"
    "    first[2u] = khal.push[0].z;\n"
    "    first[3u] = khal.push[0].w;\n"
    "    first[4u] = khal.push[1].x;\n"
    "    first[5u] = khal.push[1].y;\n"
    "    first[6u] = khal.push[1].z;\n"
    "    first[7u] = khal.push[1].w;\n"
    "    let order_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;\n"
    "    let particles_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;\n"
    "    var private_array = array<i32, 4>(1, 2, 0, 0);\n"
    "    let l = khal_local_id.x;\n"
    "    let mine = khal_global_id.x;\n"
    "    tile[l] = bitcast<f32>(particles_load(particles_first + mine * 8u)) * weights[1][l % 3u];\n"
    "    workgroupBarrier();\n"
    "    if (l == 0u) {\n"
    "        var sum_of: f32;\n"
    "        var p = 1u;\n"
    "        var n = 63;\n"
    "        var s = 0.0f;\n"
    "        loop {\n"
    "            let t = n;\n"
    "            n = t - 1;\n"
    "            if (t <= 0) {\n"
    "                break;\n"
    "            }\n"
    "            let t_2 = p;\n"
    "            p = t_2 + 1u;\n"
    "            s += tile[t_2];\n"
    "        }\n"
    "        sum_of = s;\n"
    "        sums[bitcast<i32>(order_load(order_first)) & 1] = sum_of;\n"
    "    }\n"
    "    workgroupBarrier();\n"
    "    storageBarrier();\n"
    "    private_array[l & 3u] += i32(mine * 8u) / 8;\n"
    "    let at = mine;\n"
    "    let value = vec4<f32>(bitcast<f32>(first[0u]), bitcast<f32>(first[1u]), bitcast<f32>(first[2u]), bitcast<f32>(first[3u]));\n"
    "    let at_2 = particles_first + at * 8u;\n"
    "    particles_store(at_2, bitcast<u32>(value.x));\n"
    "    particles_store(at_2 + 1u, bitcast<u32>(value.y));\n"
    "    particles_store(at_2 + 2u, bitcast<u32>(value.z));\n"
    "    particles_store(at_2 + 3u, bitcast<u32>(value.w));\n"
    "    let at_3 = at;\n"
    "    let at_4 = at_3;\n"
    "    let at_5 = particles_first + at_4 * 8u;\n"
    "    particles_store(at_5 + 4u, first[4u]);\n"
    "    let at_6 = at_3;\n"
    "    let at_7 = particles_first + at_6 * 8u;\n"
    "    particles_store(at_7 + 5u, first[5u]);\n"
    "    particles_store(particles_first + (mine * 8u + u32(private_array[1] & 1)) + 4u, bitcast<u32>(sums[0]));\n"
    "}\n";
static const char* const khal_wgsl_names_0[] = {"particles", "order"};
static const uint32_t khal_wgsl_strides_0[] = {4};
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

static const khal_wgsl_kernel khal_wgsl_kernels[] = {
    {.source = khal_wgsl_source_0, .entry = "memory", .shared_source = khal_wgsl_shared_0, .names = khal_wgsl_names_0, .local_strides = khal_wgsl_strides_0, .block_size = 112, .flags = 0},
};

static const khal_code khal_codes[] = {
    {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_BASE, .abi = KHAL_CPU_ABI, .cpu_kernels = khal_cpu_kernels_base},
#if KHAL_CPU_HAVE_X86_V3
    {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_X86_V3, .abi = KHAL_CPU_ABI, .cpu_kernels = khal_cpu_kernels_v3},
#endif
#if KHAL_CPU_HAVE_X86_V4
    {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_X86_V4, .abi = KHAL_CPU_ABI, .cpu_kernels = khal_cpu_kernels_v4},
#endif
    {.format = KHAL_FORMAT_WGSL, .abi = KHAL_WGSL_ABI, .wgsl_kernels = khal_wgsl_kernels},
};

static const khal_arg_info khal_args_of_memory[] = {
    {.name = "particles", .type_name = "struct particle", .kind = KHAL_ARG_BUFFER, .access = KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, .element_size = 32, .element_align = 16},
    {.name = "tile", .type_name = "float", .kind = KHAL_ARG_LOCAL, .element_size = 4, .element_align = 4},
    {.name = "order", .type_name = "int", .kind = KHAL_ARG_CONSTANT, .access = KHAL_ACCESS_READ, .index = 1, .element_size = 4, .element_align = 4},
    {.name = "first", .type_name = "struct particle", .kind = KHAL_ARG_VALUE, .element_size = 32, .element_align = 16},
};

static const khal_kernel_info khal_infos[] = {
    {.name = "memory", .args = khal_args_of_memory, .arg_count = 4, .binding_count = 2, .local_count = 1, .push_constant_size = 32,
     .workgroup_size = {64, 1, 1}, .local_memory_size = 8, .flags = KHAL_KERNEL_HAS_BARRIER},
};

const khal_kernel_library memory_library = {
    .version = KHAL_LIBRARY_VERSION,
    .kernel_count = 1,
    .code_count = sizeof khal_codes / sizeof khal_codes[0],
    .name = "memory",
    .kernels = khal_infos,
    .codes = khal_codes,
};

khal_status memory_load_at(const char* file, int line, khal_device* device, struct memory** out_k)
{
    khal_kernels* k = NULL;
    const khal_status status = khal_kernels_load_at(file, line, device, &memory_library, out_k ? &k : NULL);
    if (status == KHAL_OK)
        *out_k = (struct memory*)k;
    return status;
}

khal_status memory_load_begin(khal_device* device, struct memory** out_k)
{
    khal_kernels* k = NULL;
    const khal_status status = khal_kernels_load_begin(device, &memory_library, out_k ? &k : NULL);
    if (status == KHAL_OK)
        *out_k = (struct memory*)k;
    return status;
}

khal_status memory_load_poll(struct memory* k)
{
    return khal_kernels_load_poll((khal_kernels*)k);
}

void memory_retain(struct memory* k)
{
    khal_kernels_retain((khal_kernels*)k);
}

void memory_release(struct memory* k)
{
    khal_kernels_release((khal_kernels*)k);
}

khal_function* memory_memory_function(const struct memory* k)
{
    return khal_kernels_get_function((const khal_kernels*)k, 0);
}

khal_status memory_memory(const struct memory* k, khal_pass* pass, khal_grid grid,
    const struct memory_memory_args* args)
{
    if (!args)
        return khal_pass_dispatch(pass, NULL, NULL);
    khal_dispatch_desc desc = {0};
    desc.function = memory_memory_function(k);
    desc.grid = grid;
    khal_slice bindings[2];
    bindings[0] = args->particles.slice;
    bindings[1] = args->order.slice;
    desc.bindings = bindings;
    desc.binding_count = 2;
    unsigned char values[32] = {0};
    KHAL_STATIC_ASSERT(sizeof args->first == 32, "as large as in the kernel");
    memcpy(values + 0, &args->first, sizeof args->first);
    desc.push_constants = values;
    desc.push_constant_size = 32;
    uint64_t local_sizes[1];
    local_sizes[0] = args->tile_count <= UINT64_MAX / 4u ? args->tile_count * 4u : UINT64_MAX;
    desc.local_sizes = local_sizes;
    desc.local_count = 1;
    return khal_pass_dispatch(pass, &desc, NULL);
}

#else /* the kernels at one SIMD level */

KHAL_CPU_TEXT_BEGIN

union KHAL_C_NAME(anon_1) {
    khal_uint bits;
    khal_float value;
} __attribute__((may_alias, aligned(4)));
_Static_assert(sizeof(union KHAL_C_NAME(anon_1)) == 4, "layout");

struct KHAL_C_NAME(particle) {
    khal_float4 position;
    union KHAL_C_NAME(anon_1) tag[2];
} __attribute__((may_alias, aligned(16)));
_Static_assert(sizeof(struct KHAL_C_NAME(particle)) == 32, "layout");

static const khal_float KHAL_C_NAME(weights_1)[2][3] __attribute__((unused)) = {{0.25f, 0.5f, 0.25f}, {1.0f, 2.0f, 0}};

#line 12 "golden/memory.cl"
KHAL_C_INLINE khal_float KHAL_C_NAME(sum_of)(const khal_float* p, khal_int n)
{
    khal_float s = 0.0f;
    for (;;) {
#line 15 "golden/memory.cl"
        khal_int t = n;
#line 15 "golden/memory.cl"
        n = (khal_int)((khal_uint)t - 1u);
        if (!(t > 0))
            break;
        {
#line 16 "golden/memory.cl"
            const khal_float* t_2 = p;
#line 16 "golden/memory.cl"
            p = t_2 + 1;
#line 16 "golden/memory.cl"
            s = s + *t_2;
        }
    }
#line 17 "golden/memory.cl"
    return s;
}
#line 369 "memory.khal.c"

static void KHAL_C_NAME(memory)(const khal_cpu_launch* khal_launch, uint64_t khal_first, uint64_t khal_last, void* khal_scratch)
{
    khal_float* const restrict sums = (void*)((char*)khal_scratch + 0);
    char* khal_next_local = (char*)khal_scratch + 128;
    struct KHAL_C_NAME(particle)* particles = khal_launch->bindings[0];
    khal_float* tile = (void*)khal_next_local;
    khal_next_local += (khal_launch->local_sizes[0] + 127) & ~127ull;
    khal_int* order = khal_launch->bindings[1];
    struct KHAL_C_NAME(particle) first;
    __builtin_memcpy(&first, (const char*)khal_launch->push_constants + 0, sizeof(first));
    const uint64_t khal_local_size_x = 64;
    const uint64_t khal_local_size_y = 1;
    const uint64_t khal_local_size_z = 1;
    const size_t khal_count = (size_t)(khal_local_size_x * khal_local_size_y * khal_local_size_z);
    char* const khal_items = khal_next_local;
    khal_int (*const restrict private_array_items)[4] = (void*)(khal_items + 0 * khal_count);
    khal_cpu_block khal_b = khal_cpu_blocks(khal_first, khal_last);
    while (khal_cpu_next(&khal_b, khal_launch, 1)) {
        KHAL_CPU_INDEPENDENT
        for (int32_t khal_x = 0; khal_x < (int32_t)khal_count; khal_x++) {
            const size_t khal_i = (size_t)khal_x;
            const uint64_t khal_local_x = (uint64_t)khal_x;
            const uint64_t khal_id_x = khal_b.begin[0] + khal_local_x;
            const khal_ulong l = khal_local_x;
            struct KHAL_C_NAME(particle)* const mine = particles + khal_id_x;
#line 24 "golden/memory.cl"
            __builtin_memcpy(private_array_items[khal_i], (khal_int[4]){1, 2, 0, 0}, 16);
#line 26 "golden/memory.cl"
#line 27 "golden/memory.cl"
            tile[l] = mine->position[0] * KHAL_C_NAME(weights_1)[1][l % 3ull];
#line 401 "memory.khal.c"
        }
#line 28 "golden/memory.cl"
        /* barrier */
#line 405 "memory.khal.c"
        KHAL_CPU_INDEPENDENT
        for (int32_t khal_x = 0; khal_x < (int32_t)khal_count; khal_x++) {
            const size_t khal_i = (size_t)khal_x;
            const uint64_t khal_local_x = (uint64_t)khal_x;
            const khal_ulong l = khal_local_x;
#line 29 "golden/memory.cl"
            if (l == 0ull) {
                khal_float sum_of = 0;
#line 30 "golden/memory.cl"
                sum_of = KHAL_C_NAME(sum_of)((const khal_float*)(tile + 1), 63);
#line 30 "golden/memory.cl"
                sums[*order & 1] = sum_of;
            }
#line 419 "memory.khal.c"
        }
#line 31 "golden/memory.cl"
        /* barrier */
#line 423 "memory.khal.c"
        for (int32_t khal_x = 0; khal_x < (int32_t)khal_count; khal_x++) {
            const size_t khal_i = (size_t)khal_x;
            const uint64_t khal_local_x = (uint64_t)khal_x;
            const uint64_t khal_id_x = khal_b.begin[0] + khal_local_x;
            const khal_ulong l = khal_local_x;
            struct KHAL_C_NAME(particle)* const mine = particles + khal_id_x;
#line 32 "golden/memory.cl"
            private_array_items[khal_i][l & 3ull] = (khal_int)((khal_uint)private_array_items[khal_i][l & 3ull] + (khal_uint)(khal_int)(khal_long)(mine - particles));
            *mine = first;
            mine->tag[private_array_items[khal_i][1] & 1].bits = KHAL_BITCAST(khal_uint, khal_float, sums[0]);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
#line 435 "memory.khal.c"
        }
    }
}
static const khal_cpu_kernel KHAL_C_NAME(kernels)[] = {
    {KHAL_C_NAME(memory), 128, 16},
};
KHAL_CPU_TEXT_END

#endif
