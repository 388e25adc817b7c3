#include <khal/ptx.h>
#include <khal/c/map.h>
#include <khal/c/convert.h>
#pragma clang fp contract(fast)

struct KHAL_C_NAME(weights) {
    khal_int count;
    khal_float4 by[2];
} __attribute__((may_alias, aligned(16)));
_Static_assert(sizeof(struct KHAL_C_NAME(weights)) == 48, "layout");

static KHAL_PTX_CONSTANT const khal_float KHAL_C_NAME(near_1)[4] __attribute__((unused)) = {0.5f, 0.25f, 0.125f, 0.0625f};
static const khal_int KHAL_C_NAME(far_2)[2] __attribute__((unused)) = {1, 2};

KHAL_C_CONVERT_FLOAT_INT(short, float, rtz)

KHAL_C_INLINE khal_int KHAL_C_NAME(pick)(khal_int* from, khal_uint i, uint64_t khal_id_x)
{
    const uint32_t khal_low_id_x = (uint32_t)khal_id_x;
    return (khal_int)((khal_uint)from[i & 1u] + (khal_uint)(khal_int)khal_low_id_x);
}

KHAL_C_INLINE void KHAL_C_NAME(tile_item)(khal_float* restrict out, const khal_float* restrict in, khal_uint n, uint64_t khal_id_x, uint64_t khal_id_y, uint64_t khal_local_x, uint64_t khal_local_y, uint32_t khal_low_id_x, uint32_t khal_low_id_y)
{
    KHAL_PTX_LOCAL khal_float khal_local_0[4][17];
    khal_float (*const restrict rows)[17] = (void*)&khal_local_0;
    KHAL_PTX_LOCAL khal_int khal_local_1;
    khal_int* const restrict total = (void*)&khal_local_1;
    khal_uint x = (khal_uint)khal_local_x;
    khal_uint y = (khal_uint)khal_local_y;
    if (x == 0u && y == 0u) {
        *total = (khal_int)n;
    }
    rows[y][x] = in[khal_id_y * (khal_ulong)n + khal_id_x] * KHAL_C_NAME(near_1)[y];
    khal_ptx_barrier();
    out[khal_id_y * (khal_ulong)n + khal_id_x] = rows[y][15u - x] + (khal_float)*total;
}

KHAL_PTX_ENTRY void khal_ptx_run_0(khal_float* restrict khal_arg0, const khal_float* restrict khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch) __asm__("tile");
KHAL_PTX_ENTRY void khal_ptx_run_0(khal_float* restrict khal_arg0, const khal_float* restrict khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch)
{
    const uint64_t khal_local_x = khal_ptx_item_x();
    const uint64_t khal_id_x = (uint64_t)khal_ptx_block_x() * 16u + khal_ptx_item_x();
    const uint32_t khal_low_id_x = khal_ptx_block_x() * 16u + khal_ptx_item_x();
    const uint64_t khal_local_y = khal_ptx_item_y();
    const uint64_t khal_id_y = (uint64_t)khal_ptx_block_y() * 4u + khal_ptx_item_y();
    const uint32_t khal_low_id_y = khal_ptx_block_y() * 4u + khal_ptx_item_y();
    KHAL_C_NAME(tile_item)(khal_arg0, khal_arg1, khal_arg2, khal_id_x, khal_id_y, khal_local_x, khal_local_y, khal_low_id_x, khal_low_id_y);
}

KHAL_PTX_ENTRY void khal_ptx_walk_0(khal_float* restrict khal_arg0, const khal_float* restrict khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch) __asm__("tile$grid");
KHAL_PTX_ENTRY void khal_ptx_walk_0(khal_float* restrict khal_arg0, const khal_float* restrict khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch)
{
    khal_ptx_large khal_l;
    khal_ptx_walk khal_w;
    khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);
    for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {
        const khal_ptx_group khal_g = khal_ptx_here(&khal_w);
        const uint64_t khal_local_x = khal_ptx_item_x();
        const uint64_t khal_id_x = khal_g.x * 16u + khal_ptx_item_x();
        const uint32_t khal_low_id_x = (uint32_t)khal_g.x * 16u + khal_ptx_item_x();
        const uint64_t khal_local_y = khal_ptx_item_y();
        const uint64_t khal_id_y = khal_g.y * 4u + khal_ptx_item_y();
        const uint32_t khal_low_id_y = (uint32_t)khal_g.y * 4u + khal_ptx_item_y();
        KHAL_C_NAME(tile_item)(khal_arg0, khal_arg1, khal_arg2, khal_id_x, khal_id_y, khal_local_x, khal_local_y, khal_low_id_x, khal_low_id_y);
        khal_ptx_barrier();
    }
}

KHAL_C_INLINE void KHAL_C_NAME(returns_item)(khal_int* p, khal_int* scratch, khal_uint n, uint64_t khal_size_x, uint64_t khal_id_x, uint64_t khal_local_x, uint64_t khal_groups_x, uint64_t khal_group_x, uint32_t khal_low_id_x, const bool khal_walks)
{
    khal_uint i = (khal_uint)khal_low_id_x;
    khal_uint l = (khal_uint)khal_local_x;
    if (khal_group_x >= (khal_ulong)n) {
        return;
    }
    if (i >= n) {
        return;
    }
    khal_int pick = 0;
    pick = KHAL_C_NAME(pick)((khal_int*)&KHAL_C_NAME(far_2)[0], i, khal_id_x);
    scratch[l] = pick;
    khal_ptx_barrier_of_some(khal_walks);
    p[i] = (khal_int)((khal_uint)*scratch + (khal_uint)(khal_int)khal_groups_x + (khal_uint)(khal_int)khal_size_x);
}

KHAL_PTX_ENTRY void khal_ptx_run_1(khal_int* khal_arg0, uint64_t khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch) __asm__("returns");
KHAL_PTX_ENTRY void khal_ptx_run_1(khal_int* khal_arg0, uint64_t khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch)
{
    const uint64_t khal_local_x = khal_ptx_item_x();
    const uint64_t khal_groups_x = khal_ptx_blocks_x();
    const uint64_t khal_size_x = khal_launch.global_size[0];
    const uint64_t khal_group_x = khal_ptx_block_x();
    const uint64_t khal_id_x = (uint64_t)khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    const uint32_t khal_low_id_x = khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    KHAL_C_NAME(returns_item)(khal_arg0, khal_ptx_local(khal_arg1), khal_arg2, khal_size_x, khal_id_x, khal_local_x, khal_groups_x, khal_group_x, khal_low_id_x, false);
}

KHAL_PTX_ENTRY void khal_ptx_walk_1(khal_int* khal_arg0, uint64_t khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch) __asm__("returns$grid");
KHAL_PTX_ENTRY void khal_ptx_walk_1(khal_int* khal_arg0, uint64_t khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch)
{
    KHAL_PTX_LOCAL uint32_t khal_returned;
    khal_ptx_large khal_l;
    khal_ptx_walk khal_w;
    khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);
    for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {
        khal_ptx_gather(&khal_returned);
        const khal_ptx_group khal_g = khal_ptx_here(&khal_w);
        const uint64_t khal_local_x = khal_ptx_item_x();
        const uint64_t khal_groups_x = khal_ptx_groups(&khal_w, x);
        const uint64_t khal_size_x = khal_launch.counts ? khal_ptx_groups(&khal_w, x) * khal_ptx_size_x() : khal_launch.global_size[0];
        const uint64_t khal_group_x = khal_g.x;
        const uint64_t khal_id_x = khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
        const uint32_t khal_low_id_x = (uint32_t)khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
        KHAL_C_NAME(returns_item)(khal_arg0, khal_ptx_local(khal_arg1), khal_arg2, khal_size_x, khal_id_x, khal_local_x, khal_groups_x, khal_group_x, khal_low_id_x, true);
        khal_ptx_part(&khal_returned, khal_ptx_size_x() * khal_ptx_size_y() * khal_ptx_size_z());
    }
}

KHAL_C_INLINE void KHAL_C_NAME(large_item)(khal_int* p, uint64_t khal_id_x, uint64_t khal_local_x, uint32_t khal_low_id_x)
{
    khal_int* const restrict a = (void*)(khal_shared + 0);
    khal_int* const restrict b = (void*)(khal_shared + 40064);
    khal_ulong l = khal_local_x;
    a[l] = p[l];
    b[l] = (khal_int)((khal_uint)a[l] + 1u);
    khal_ptx_fence_local();
    p[khal_id_x] = b[l];
    khal_ptx_fence_global();
}

KHAL_PTX_ENTRY void khal_ptx_run_2(khal_int* khal_arg0, const khal_ptx_plain khal_launch) __asm__("large");
KHAL_PTX_ENTRY void khal_ptx_run_2(khal_int* khal_arg0, const khal_ptx_plain khal_launch)
{
    if (khal_ptx_is_surplus(&khal_launch, khal_ptx_size_x(), khal_ptx_size_y(), khal_ptx_size_z()))
        return;
    const uint64_t khal_local_x = khal_ptx_item_x();
    const uint64_t khal_id_x = (uint64_t)khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    const uint32_t khal_low_id_x = khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    KHAL_C_NAME(large_item)(khal_arg0, khal_id_x, khal_local_x, khal_low_id_x);
}

KHAL_PTX_ENTRY void khal_ptx_walk_2(khal_int* khal_arg0, const khal_ptx_grid khal_launch) __asm__("large$grid");
KHAL_PTX_ENTRY void khal_ptx_walk_2(khal_int* khal_arg0, const khal_ptx_grid khal_launch)
{
    khal_ptx_large khal_l;
    khal_ptx_walk khal_w;
    khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);
    for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {
        const khal_ptx_group khal_g = khal_ptx_here(&khal_w);
        if (!khal_ptx_is_beyond(&khal_launch, &khal_g, khal_ptx_size_x(), khal_ptx_size_y(), khal_ptx_size_z())) {
            const uint64_t khal_local_x = khal_ptx_item_x();
            const uint64_t khal_id_x = khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
            const uint32_t khal_low_id_x = (uint32_t)khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
            KHAL_C_NAME(large_item)(khal_arg0, khal_id_x, khal_local_x, khal_low_id_x);
        }
        khal_ptx_barrier();
    }
}

KHAL_C_INLINE void KHAL_C_NAME(lanes_item)(khal_short4_u* p, const struct KHAL_C_NAME(weights)* restrict w, khal_uint d, khal_uint khal_dim, uint64_t khal_id_x, uint64_t khal_id_y, uint64_t khal_id_z, uint32_t khal_low_id_x, uint32_t khal_low_id_y, uint32_t khal_low_id_z)
{
    khal_short4 v = p[khal_ptx_pick(d, khal_id_x, khal_id_y, khal_id_z, 0)];
    p[khal_ptx_pick(d, khal_id_x, khal_id_y, khal_id_z, 0)] = KHAL_SELECT_LANES(khal_short4, khal_short4, 15, KHAL_SPLAT4(khal_short4, (khal_short)khal_dim), v, KHAL_PTX_COMPARE(khal_short4, khal_short4, 4, <, v, KHAL_SPLAT4(khal_short4, KHAL_C_NAME(khal_convert_short_rtz_float)((*w).by[1][0]))));
}

KHAL_PTX_ENTRY void khal_ptx_run_3(khal_short4_u* khal_arg0, struct KHAL_C_NAME(weights) khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch) __asm__("lanes");
KHAL_PTX_ENTRY void khal_ptx_run_3(khal_short4_u* khal_arg0, struct KHAL_C_NAME(weights) khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch)
{
    if (khal_ptx_is_surplus(&khal_launch, khal_ptx_size_x(), khal_ptx_size_y(), khal_ptx_size_z()))
        return;
    const khal_uint khal_dim = khal_launch.work_dim;
    const uint64_t khal_id_x = (uint64_t)khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    const uint32_t khal_low_id_x = khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    const uint64_t khal_id_y = (uint64_t)khal_ptx_block_y() * khal_ptx_size_y() + khal_ptx_item_y();
    const uint32_t khal_low_id_y = khal_ptx_block_y() * khal_ptx_size_y() + khal_ptx_item_y();
    const uint64_t khal_id_z = (uint64_t)khal_ptx_block_z() * khal_ptx_size_z() + khal_ptx_item_z();
    const uint32_t khal_low_id_z = khal_ptx_block_z() * khal_ptx_size_z() + khal_ptx_item_z();
    KHAL_C_NAME(lanes_item)(khal_arg0, &khal_arg1, khal_arg2, khal_dim, khal_id_x, khal_id_y, khal_id_z, khal_low_id_x, khal_low_id_y, khal_low_id_z);
}

KHAL_PTX_ENTRY void khal_ptx_walk_3(khal_short4_u* khal_arg0, struct KHAL_C_NAME(weights) khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch) __asm__("lanes$grid");
KHAL_PTX_ENTRY void khal_ptx_walk_3(khal_short4_u* khal_arg0, struct KHAL_C_NAME(weights) khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch)
{
    khal_ptx_large khal_l;
    khal_ptx_walk khal_w;
    khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);
    for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {
        const khal_ptx_group khal_g = khal_ptx_here(&khal_w);
        if (!khal_ptx_is_beyond(&khal_launch, &khal_g, khal_ptx_size_x(), khal_ptx_size_y(), khal_ptx_size_z())) {
            const khal_uint khal_dim = khal_launch.counts ? 3 : khal_launch.work_dim;
            const uint64_t khal_id_x = khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
            const uint32_t khal_low_id_x = (uint32_t)khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
            const uint64_t khal_id_y = khal_g.y * khal_ptx_size_y() + khal_ptx_item_y();
            const uint32_t khal_low_id_y = (uint32_t)khal_g.y * khal_ptx_size_y() + khal_ptx_item_y();
            const uint64_t khal_id_z = khal_g.z * khal_ptx_size_z() + khal_ptx_item_z();
            const uint32_t khal_low_id_z = (uint32_t)khal_g.z * khal_ptx_size_z() + khal_ptx_item_z();
            KHAL_C_NAME(lanes_item)(khal_arg0, &khal_arg1, khal_arg2, khal_dim, khal_id_x, khal_id_y, khal_id_z, khal_low_id_x, khal_low_id_y, khal_low_id_z);
        }
    }
}

