/* Made by khalc; changes are lost when it is made again. It includes itself once for each SIMD level. */
#ifndef KHAL_CPU_NAME
#include "add_assign.khal.h"

#include <string.h>

#include <khal/cpu.h>

#define KHAL_CPU_NAME(x) khal_cpu_##x##_base
#include "add_assign.khal.c"
#undef KHAL_CPU_NAME
#if KHAL_CPU_HAVE_X86_V3
KHAL_CPU_TARGET_V3_BEGIN
#define KHAL_CPU_NAME(x) khal_cpu_##x##_v3
#include "add_assign.khal.c"
#undef KHAL_CPU_NAME
KHAL_CPU_TARGET_V3_END
#endif
#if KHAL_CPU_HAVE_X86_V4
KHAL_CPU_TARGET_V4_BEGIN
#define KHAL_CPU_NAME(x) khal_cpu_##x##_v4
#include "add_assign.khal.c"
#undef KHAL_CPU_NAME
KHAL_CPU_TARGET_V4_END
#endif

static const khal_code khal_codes[] = {
    {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_BASE, .abi = KHAL_CPU_ABI, .cpu_kernels = khal_cpu_kernels_base},
#if KHAL_CPU_HAVE_X86_V3
    {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_X86_V3, .abi = KHAL_CPU_ABI, .cpu_kernels = khal_cpu_kernels_v3},
#endif
#if KHAL_CPU_HAVE_X86_V4
    {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_X86_V4, .abi = KHAL_CPU_ABI, .cpu_kernels = khal_cpu_kernels_v4},
#endif
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
KHAL_CPU_INLINE void KHAL_CPU_NAME(add_assign_item)(khal_float* a, const khal_float* b, khal_uint n, uint64_t khal_id_x)
{
    khal_uint i = (khal_uint)khal_id_x;
    if (i < n) {
        a[i] = a[i] + b[i];
    }
}
#line 129 "add_assign.khal.c"

static void KHAL_CPU_NAME(add_assign)(const khal_cpu_launch* khal_launch, uint64_t khal_first, uint64_t khal_last, void* khal_scratch)
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
                               KHAL_CPU_NAME(add_assign_item)(a, b, n, khal_id_x));
            }
        }
    }
}

static const khal_cpu_kernel KHAL_CPU_NAME(kernels)[] = {
    {KHAL_CPU_NAME(add_assign), 0, 0},
};
KHAL_CPU_TEXT_END

#endif
