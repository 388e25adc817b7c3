#include <khal/ptx.h>
#pragma clang fp contract(fast)

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

static KHAL_PTX_CONSTANT const khal_float KHAL_C_NAME(weights_1)[2][3] __attribute__((unused)) = {{0.25f, 0.5f, 0.25f}, {1.0f, 2.0f, 0}};

KHAL_C_INLINE khal_float KHAL_C_NAME(sum_of)(const khal_float* p, khal_int n)
{
    khal_float s = 0.0f;
    for (;;) {
        khal_int t = n;
        n = (khal_int)((khal_uint)t - 1u);
        if (!(t > 0))
            break;
        {
            const khal_float* t_2 = p;
            p = t_2 + 1;
            s = s + *t_2;
        }
    }
    return s;
}

KHAL_C_INLINE void KHAL_C_NAME(memory_item)(struct KHAL_C_NAME(particle)* particles, khal_float* tile, khal_int* order, const struct KHAL_C_NAME(particle)* restrict first, uint64_t khal_id_x, uint64_t khal_local_x, uint32_t khal_low_id_x)
{
    KHAL_PTX_LOCAL khal_float khal_local_0[2];
    khal_float* const restrict sums = (void*)&khal_local_0;
    khal_int private_array[4] = {1, 2, 0, 0};
    khal_ulong l = khal_local_x;
    struct KHAL_C_NAME(particle)* mine = particles + khal_id_x;
    tile[l] = mine->position[0] * KHAL_C_NAME(weights_1)[1][l % 3ull];
    khal_ptx_barrier();
    if (l == 0ull) {
        khal_float sum_of = 0;
        sum_of = KHAL_C_NAME(sum_of)((const khal_float*)(tile + 1), 63);
        sums[*order & 1] = sum_of;
    }
    khal_ptx_barrier();
    private_array[l & 3ull] = (khal_int)((khal_uint)private_array[l & 3ull] + (khal_uint)(khal_int)(khal_long)(mine - particles));
    *mine = *first;
    mine->tag[private_array[1] & 1].bits = KHAL_BITCAST(khal_uint, khal_float, sums[0]);
    khal_ptx_fence_global();
}

KHAL_PTX_ENTRY void khal_ptx_run_0(struct KHAL_C_NAME(particle)* khal_arg0, uint64_t khal_arg1, khal_int* khal_arg2, struct KHAL_C_NAME(particle) khal_arg3, const khal_ptx_plain khal_launch) __asm__("memory");
KHAL_PTX_ENTRY void khal_ptx_run_0(struct KHAL_C_NAME(particle)* khal_arg0, uint64_t khal_arg1, khal_int* khal_arg2, struct KHAL_C_NAME(particle) khal_arg3, const khal_ptx_plain khal_launch)
{
    const uint64_t khal_local_x = khal_ptx_item_x();
    const uint64_t khal_id_x = (uint64_t)khal_ptx_block_x() * 64u + khal_ptx_item_x();
    const uint32_t khal_low_id_x = khal_ptx_block_x() * 64u + khal_ptx_item_x();
    KHAL_C_NAME(memory_item)(khal_arg0, khal_ptx_local(khal_arg1), khal_arg2, &khal_arg3, khal_id_x, khal_local_x, khal_low_id_x);
}

KHAL_PTX_ENTRY void khal_ptx_walk_0(struct KHAL_C_NAME(particle)* khal_arg0, uint64_t khal_arg1, khal_int* khal_arg2, struct KHAL_C_NAME(particle) khal_arg3, const khal_ptx_grid khal_launch) __asm__("memory$grid");
KHAL_PTX_ENTRY void khal_ptx_walk_0(struct KHAL_C_NAME(particle)* khal_arg0, uint64_t khal_arg1, khal_int* khal_arg2, struct KHAL_C_NAME(particle) khal_arg3, const khal_ptx_grid khal_launch)
{
    khal_ptx_large khal_l;
    khal_ptx_walk khal_w;
    khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);
    for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {
        const khal_ptx_group khal_g = khal_ptx_here(&khal_w);
        const uint64_t khal_local_x = khal_ptx_item_x();
        const uint64_t khal_id_x = khal_g.x * 64u + khal_ptx_item_x();
        const uint32_t khal_low_id_x = (uint32_t)khal_g.x * 64u + khal_ptx_item_x();
        KHAL_C_NAME(memory_item)(khal_arg0, khal_ptx_local(khal_arg1), khal_arg2, &khal_arg3, khal_id_x, khal_local_x, khal_low_id_x);
        khal_ptx_barrier();
    }
}

