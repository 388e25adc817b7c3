#include <khal/ptx.h>
#pragma clang fp contract(fast)

KHAL_C_INLINE void KHAL_C_NAME(add_assign_item)(khal_float* a, const khal_float* b, khal_uint n, uint64_t khal_id_x, uint32_t khal_low_id_x)
{
    khal_uint i = (khal_uint)khal_low_id_x;
    if (i < n) {
        a[i] = a[i] + b[i];
    }
}

KHAL_PTX_ENTRY void khal_ptx_run_0(khal_float* khal_arg0, const khal_float* khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch) __asm__("add_assign");
KHAL_PTX_ENTRY void khal_ptx_run_0(khal_float* khal_arg0, const khal_float* khal_arg1, khal_uint khal_arg2, const khal_ptx_plain khal_launch)
{
    if (khal_ptx_is_surplus(&khal_launch, khal_ptx_size_x(), khal_ptx_size_y(), khal_ptx_size_z()))
        return;
    const uint64_t khal_id_x = (uint64_t)khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    const uint32_t khal_low_id_x = khal_ptx_block_x() * khal_ptx_size_x() + khal_ptx_item_x();
    KHAL_C_NAME(add_assign_item)(khal_arg0, khal_arg1, khal_arg2, khal_id_x, khal_low_id_x);
}

KHAL_PTX_ENTRY void khal_ptx_walk_0(khal_float* khal_arg0, const khal_float* khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch) __asm__("add_assign$grid");
KHAL_PTX_ENTRY void khal_ptx_walk_0(khal_float* khal_arg0, const khal_float* khal_arg1, khal_uint khal_arg2, const khal_ptx_grid khal_launch)
{
    khal_ptx_large khal_l;
    khal_ptx_walk khal_w;
    khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);
    for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {
        const khal_ptx_group khal_g = khal_ptx_here(&khal_w);
        if (!khal_ptx_is_beyond(&khal_launch, &khal_g, khal_ptx_size_x(), khal_ptx_size_y(), khal_ptx_size_z())) {
            const uint64_t khal_id_x = khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
            const uint32_t khal_low_id_x = (uint32_t)khal_g.x * khal_ptx_size_x() + khal_ptx_item_x();
            KHAL_C_NAME(add_assign_item)(khal_arg0, khal_arg1, khal_arg2, khal_id_x, khal_low_id_x);
        }
    }
}

