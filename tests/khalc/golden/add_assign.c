/* Made by khalc; changes are lost when it is made again. It includes itself once for each SIMD level. */
#ifndef KHAL_C_NAME
#include "add_assign.khal.h"

#include <string.h>

#include <khal/cpu.h>

#define KHAL_C_NAME(x) khal_cpu_##x##_base
#include "add_assign.khal.c"
#undef KHAL_C_NAME
#if KHAL_CPU_HAVE_X86_V3
KHAL_CPU_TARGET_V3_BEGIN
#define KHAL_C_NAME(x) khal_cpu_##x##_v3
#include "add_assign.khal.c"
#undef KHAL_C_NAME
KHAL_CPU_TARGET_V3_END
#endif
#if KHAL_CPU_HAVE_X86_V4
KHAL_CPU_TARGET_V4_BEGIN
#define KHAL_C_NAME(x) khal_cpu_##x##_v4
#include "add_assign.khal.c"
#undef KHAL_C_NAME
KHAL_CPU_TARGET_V4_END
#endif

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
static const char khal_wgsl_source_0[] =
    "// add_assign, of add_assign.cl\n"
    "\n"
    "struct khal_block {\n"
    "    group_count: vec3<u32>,\n"
    "    work_dim: u32,\n"
    "    global_size: vec3<u32>,\n"
    "    base_z: u32,\n"
    "    fold: vec4<u32>,\n"
    "    slices: array<vec4<u32>, 1>,\n"
    "    push: array<vec4<u32>, 1>,\n"
    "}\n"
    "\n"
    "@group(0) @binding(0) var<storage, read_write> a: array<f32>;\n"
    "@group(0) @binding(1) var<storage, read> b: array<f32>;\n"
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
    "override khal_size_x: u32 = 1u;\n"
    "override khal_size_y: u32 = 1u;\n"
    "override khal_size_z: u32 = 1u;\n"
    "\n"
    "@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)\n"
    "fn add_assign(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {\n"
    "    let khal_group_id = khal_logical_group(khal_workgroup_id);\n"
    "    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);\n"
    "    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;\n"
    "    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {\n"
    "        return;\n"
    "    }\n"
    "    let n = khal.push[0].x;\n"
    "    let b_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;\n"
    "    let a_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;\n"
    "    let i = khal_global_id.x;\n"
    "    if (i < n) {\n"
    "        a[a_first + i] += b[b_first + i];\n"
    "    }\n"
    "}\n";
static const char khal_wgsl_shared_0[] =
    "// add_assign, of add_assign.cl\n"
    "\n"
    "struct khal_block {\n"
    "    group_count: vec3<u32>,\n"
    "    work_dim: u32,\n"
    "    global_size: vec3<u32>,\n"
    "    base_z: u32,\n"
    "    fold: vec4<u32>,\n"
    "    slices: array<vec4<u32>, 1>,\n"
    "    push: array<vec4<u32>, 1>,\n"
    "}\n"
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
    "override khal_size_x: u32 = 1u;\n"
    "override khal_size_y: u32 = 1u;\n"
    "override khal_size_z: u32 = 1u;\n"
    "\n"
    "@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)\n"
    "fn add_assign(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {\n"
    "    let khal_group_id = khal_logical_group(khal_workgroup_id);\n"
    "    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);\n"
    "    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;\n"
    "    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {\n"
    "        return;\n"
    "    }\n"
    "    let n = khal.push[0].x;\n"
    "    let b_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;\n"
    "    let a_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;\n"
    "    let i = khal_global_id.x;\n"
    "    if (i < n) {\n"
    "        a_store(a_first + i, bitcast<u32>(bitcast<f32>(a_load(a_first + i)) + bitcast<f32>(b_load(b_first + i))));\n"
    "    }\n"
    "}\n";
static const char* const khal_wgsl_names_0[] = {"a", "b"};
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

static const khal_wgsl_kernel khal_wgsl_kernels[] = {
    {.source = khal_wgsl_source_0, .entry = "add_assign", .shared_source = khal_wgsl_shared_0, .names = khal_wgsl_names_0, .block_size = 80, .flags = 0},
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

static const khal_arg_info khal_args_of_add_assign[] = {
    {.name = "a", .type_name = "float", .kind = KHAL_ARG_BUFFER, .access = KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, .element_size = 4, .element_align = 4},
    {.name = "b", .type_name = "float", .kind = KHAL_ARG_BUFFER, .access = KHAL_ACCESS_READ, .index = 1, .element_size = 4, .element_align = 4},
    {.name = "n", .type_name = "uint", .kind = KHAL_ARG_VALUE, .element_size = 4, .element_align = 4},
};

static const khal_kernel_info khal_infos[] = {
    {.name = "add_assign", .args = khal_args_of_add_assign, .arg_count = 3, .binding_count = 2, .local_count = 0, .push_constant_size = 4,
     .workgroup_size = {0, 0, 0}, .local_memory_size = 0, .flags = 0},
};

const khal_kernel_library add_assign_library = {
    .version = KHAL_LIBRARY_VERSION,
    .kernel_count = 1,
    .code_count = sizeof khal_codes / sizeof khal_codes[0],
    .name = "add_assign",
    .kernels = khal_infos,
    .codes = khal_codes,
};

khal_status add_assign_load_at(const char* file, int line, khal_device* device, struct add_assign** out_k)
{
    khal_kernels* k = NULL;
    const khal_status status = khal_kernels_load_at(file, line, device, &add_assign_library, out_k ? &k : NULL);
    if (status == KHAL_OK)
        *out_k = (struct add_assign*)k;
    return status;
}

khal_status add_assign_load_begin(khal_device* device, struct add_assign** out_k)
{
    khal_kernels* k = NULL;
    const khal_status status = khal_kernels_load_begin(device, &add_assign_library, out_k ? &k : NULL);
    if (status == KHAL_OK)
        *out_k = (struct add_assign*)k;
    return status;
}

khal_status add_assign_load_poll(struct add_assign* k)
{
    return khal_kernels_load_poll((khal_kernels*)k);
}

void add_assign_retain(struct add_assign* k)
{
    khal_kernels_retain((khal_kernels*)k);
}

void add_assign_release(struct add_assign* k)
{
    khal_kernels_release((khal_kernels*)k);
}

khal_function* add_assign_add_assign_function(const struct add_assign* k)
{
    return khal_kernels_get_function((const khal_kernels*)k, 0);
}

khal_status add_assign_add_assign(const struct add_assign* k, khal_pass* pass, khal_grid grid,
    const struct add_assign_add_assign_args* args)
{
    if (!args)
        return khal_pass_dispatch(pass, NULL, NULL);
    khal_dispatch_desc desc = {0};
    desc.function = add_assign_add_assign_function(k);
    desc.grid = grid;
    khal_slice bindings[2];
    bindings[0] = args->a.slice;
    bindings[1] = args->b.slice;
    desc.bindings = bindings;
    desc.binding_count = 2;
    unsigned char values[4] = {0};
    KHAL_STATIC_ASSERT(sizeof args->n == 4, "as large as in the kernel");
    memcpy(values + 0, &args->n, sizeof args->n);
    desc.push_constants = values;
    desc.push_constant_size = 4;
    return khal_pass_dispatch(pass, &desc, NULL);
}

#else /* the kernels at one SIMD level */

KHAL_CPU_TEXT_BEGIN

#line 1 "golden/add_assign.cl"
KHAL_C_INLINE void KHAL_C_NAME(add_assign_item)(khal_float* a, const khal_float* b, khal_uint n, uint64_t khal_id_x)
{
    khal_uint i = (khal_uint)khal_id_x;
    if (i < n) {
        a[i] = a[i] + b[i];
    }
}
#line 240 "add_assign.khal.c"

static void KHAL_C_NAME(add_assign)(const khal_cpu_launch* khal_launch, uint64_t khal_first, uint64_t khal_last, void* khal_scratch)
{
    khal_float* a = khal_launch->bindings[0];
    const khal_float* b = khal_launch->bindings[1];
    khal_uint n;
    __builtin_memcpy(&n, (const char*)khal_launch->push_constants + 0, sizeof(n));
    khal_cpu_block khal_b = khal_cpu_blocks(khal_first, khal_last);
    while (khal_cpu_next(&khal_b, khal_launch, UINT64_MAX)) {
        for (uint64_t khal_id_z = khal_b.begin[2]; khal_id_z < khal_b.end[2]; khal_id_z++) {
            for (uint64_t khal_id_y = khal_b.begin[1]; khal_id_y < khal_b.end[1]; khal_id_y++) {
                KHAL_CPU_FOR_X(khal_id_x, khal_b.begin[0], khal_b.end[0], KHAL_CPU_INDEPENDENT,
                               KHAL_C_NAME(add_assign_item)(a, b, n, khal_id_x));
            }
        }
    }
}

static const khal_cpu_kernel KHAL_C_NAME(kernels)[] = {
    {KHAL_C_NAME(add_assign), 0, 0},
};
KHAL_CPU_TEXT_END

#endif
