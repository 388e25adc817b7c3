/* Made by khalc; changes are lost when it is made again. It includes itself once for each SIMD level. */
#ifndef KHAL_CPU_NAME
#include "memory.khal.h"

#include <string.h>

#include <khal/cpu.h>

#define KHAL_CPU_NAME(x) khal_cpu_##x##_base
#include "memory.khal.c"
#undef KHAL_CPU_NAME
#if KHAL_CPU_HAVE_X86_V3
KHAL_CPU_TARGET_V3_BEGIN
#define KHAL_CPU_NAME(x) khal_cpu_##x##_v3
#include "memory.khal.c"
#undef KHAL_CPU_NAME
KHAL_CPU_TARGET_V3_END
#endif
#if KHAL_CPU_HAVE_X86_V4
KHAL_CPU_TARGET_V4_BEGIN
#define KHAL_CPU_NAME(x) khal_cpu_##x##_v4
#include "memory.khal.c"
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

union KHAL_CPU_NAME(anon_1) {
    khal_uint bits;
    khal_float value;
} __attribute__((may_alias, aligned(4)));
_Static_assert(sizeof(union KHAL_CPU_NAME(anon_1)) == 4, "layout");

struct KHAL_CPU_NAME(particle) {
    khal_float4 position;
    union KHAL_CPU_NAME(anon_1) tag[2];
} __attribute__((may_alias, aligned(16)));
_Static_assert(sizeof(struct KHAL_CPU_NAME(particle)) == 32, "layout");

static const khal_float KHAL_CPU_NAME(weights_1)[2][3] __attribute__((unused)) = {{0.25f, 0.5f, 0.25f}, {1.0f, 2.0f, 0}};

#line 12 "golden/memory.cl"
KHAL_CPU_INLINE khal_float KHAL_CPU_NAME(sum_of)(const khal_float* p, khal_int n)
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
#line 163 "memory.khal.c"

static void KHAL_CPU_NAME(memory)(const khal_cpu_launch* khal_launch, uint64_t khal_first, uint64_t khal_last, void* khal_scratch)
{
    khal_float* const restrict sums = (void*)((char*)khal_scratch + 0);
    char* khal_next_local = (char*)khal_scratch + 128;
    struct KHAL_CPU_NAME(particle)* particles = khal_launch->bindings[0];
    khal_float* tile = (void*)khal_next_local;
    khal_next_local += (khal_launch->local_sizes[0] + 127) & ~127ull;
    khal_int* order = khal_launch->bindings[1];
    struct KHAL_CPU_NAME(particle) first;
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
            struct KHAL_CPU_NAME(particle)* const mine = particles + khal_id_x;
#line 24 "golden/memory.cl"
            __builtin_memcpy(private_array_items[khal_i], (khal_int[4]){1, 2, 0, 0}, 16);
#line 26 "golden/memory.cl"
#line 27 "golden/memory.cl"
            tile[l] = mine->position[0] * KHAL_CPU_NAME(weights_1)[1][l % 3ull];
#line 195 "memory.khal.c"
        }
#line 28 "golden/memory.cl"
        /* barrier */
#line 199 "memory.khal.c"
        KHAL_CPU_INDEPENDENT
        for (int32_t khal_x = 0; khal_x < (int32_t)khal_count; khal_x++) {
            const size_t khal_i = (size_t)khal_x;
            const uint64_t khal_local_x = (uint64_t)khal_x;
            const khal_ulong l = khal_local_x;
#line 29 "golden/memory.cl"
            if (l == 0ull) {
                khal_float sum_of = 0;
#line 30 "golden/memory.cl"
                sum_of = KHAL_CPU_NAME(sum_of)((const khal_float*)(tile + 1), 63);
#line 30 "golden/memory.cl"
                sums[*order & 1] = sum_of;
            }
#line 213 "memory.khal.c"
        }
#line 31 "golden/memory.cl"
        /* barrier */
#line 217 "memory.khal.c"
        for (int32_t khal_x = 0; khal_x < (int32_t)khal_count; khal_x++) {
            const size_t khal_i = (size_t)khal_x;
            const uint64_t khal_local_x = (uint64_t)khal_x;
            const uint64_t khal_id_x = khal_b.begin[0] + khal_local_x;
            const khal_ulong l = khal_local_x;
            struct KHAL_CPU_NAME(particle)* const mine = particles + khal_id_x;
#line 32 "golden/memory.cl"
            private_array_items[khal_i][l & 3ull] = (khal_int)((khal_uint)private_array_items[khal_i][l & 3ull] + (khal_uint)(khal_int)(khal_long)(mine - particles));
            *mine = first;
            mine->tag[private_array_items[khal_i][1] & 1].bits = KHAL_BITCAST(khal_uint, khal_float, sums[0]);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
#line 229 "memory.khal.c"
        }
    }
}
static const khal_cpu_kernel KHAL_CPU_NAME(kernels)[] = {
    {KHAL_CPU_NAME(memory), 128, 16},
};
KHAL_CPU_TEXT_END

#endif
