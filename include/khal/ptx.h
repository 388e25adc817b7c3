/* What the C that khalc generates for NVIDIA GPUs is compiled with, by clang for nvptx64. Not for hand-written programs:
 * only the structures of a launch in library.h are stable.
 *
 * A kernel NAME is a function of one work-item, KHAL_C_NAME(NAME_item), which is compiled into two entry points: one whose
 * work-groups are the launch's blocks, and one whose blocks walk over the work-groups of a grid (khal_ptx_walk). Pointers
 * are generic until LLVM has found out what they lead to. */
#ifndef KHAL_PTX_H
#define KHAL_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <khal/library.h>

#define KHAL_C_NAME(x) khal_k_##x
#define KHAL_C_INLINE static inline __attribute__((always_inline, unused))
#define KHAL_C_FUNCTION static __attribute__((unused))

#define KHAL_PTX_ENTRY __attribute__((nvptx_kernel))
#define KHAL_PTX_CONSTANT __attribute__((address_space(4)))
#define KHAL_PTX_SHARED __attribute__((address_space(3)))
/* A `__local` variable of a kernel: nothing is known of what it holds at first. */
#define KHAL_PTX_LOCAL static KHAL_PTX_SHARED __attribute__((loader_uninitialized, unused))

#include <khal/c/types.h>

/* ---- work-items ---------------------------------------------------------------------------------- */

/* The work-item in its block, the block's size, the block, the number of blocks. */
#define khal_ptx_item_x() ((uint32_t)__nvvm_read_ptx_sreg_tid_x())
#define khal_ptx_item_y() ((uint32_t)__nvvm_read_ptx_sreg_tid_y())
#define khal_ptx_item_z() ((uint32_t)__nvvm_read_ptx_sreg_tid_z())
#define khal_ptx_size_x() ((uint32_t)__nvvm_read_ptx_sreg_ntid_x())
#define khal_ptx_size_y() ((uint32_t)__nvvm_read_ptx_sreg_ntid_y())
#define khal_ptx_size_z() ((uint32_t)__nvvm_read_ptx_sreg_ntid_z())
#define khal_ptx_block_x() ((uint32_t)__nvvm_read_ptx_sreg_ctaid_x())
#define khal_ptx_block_y() ((uint32_t)__nvvm_read_ptx_sreg_ctaid_y())
#define khal_ptx_block_z() ((uint32_t)__nvvm_read_ptx_sreg_ctaid_z())
#define khal_ptx_blocks_x() ((uint32_t)__nvvm_read_ptx_sreg_nctaid_x())
#define khal_ptx_blocks_y() ((uint32_t)__nvvm_read_ptx_sreg_nctaid_y())
#define khal_ptx_blocks_z() ((uint32_t)__nvvm_read_ptx_sreg_nctaid_z())

/* A work-item query whose dimension is known at run time only. */
KHAL_C_INLINE uint64_t khal_ptx_pick(uint64_t dimension, uint64_t x, uint64_t y, uint64_t z, uint64_t beyond)
{
    return dimension == 0 ? x : dimension == 1 ? y : dimension == 2 ? z : beyond;
}

/* Of two vectors of 16-bit integers, lane by lane: LLVM 19 has no instruction for all at once. */
#define KHAL_PTX_COMPARE(V, MASK, n, op, x, y)                                                                               \
    __extension__({                                                                                                          \
        const V khal_x = (x), khal_y = (y);                                                                                  \
        MASK khal_mask;                                                                                                      \
        for (int khal_i = 0; khal_i < n; khal_i++)                                                                           \
            khal_mask[khal_i] = khal_x[khal_i] op khal_y[khal_i] ? -1 : 0;                                                   \
        khal_mask;                                                                                                           \
    })

/* Whether the work-item is outside the grid that was asked for; `size` is the work-group's. */
KHAL_C_INLINE bool khal_ptx_is_surplus(const khal_ptx_plain* launch, uint32_t size_x, uint32_t size_y, uint32_t size_z)
{
    if (launch->is_exact)
        return false;
    if ((uint64_t)khal_ptx_block_x() * size_x + khal_ptx_item_x() >= launch->global_size[0])
        return true;
    return launch->work_dim > 1 &&
           ((uint64_t)khal_ptx_block_y() * size_y + khal_ptx_item_y() >= launch->global_size[1] ||
            (uint64_t)khal_ptx_block_z() * size_z + khal_ptx_item_z() >= launch->global_size[2]);
}

/* ---- shared memory ------------------------------------------------------------------------------- */

extern KHAL_PTX_SHARED __attribute__((aligned(128))) char khal_shared[]; /* as much as the launch asks for */

/* Where a `__local` argument begins, and its bytes. */
#define khal_ptx_local(argument) ((void*)(khal_shared + (uint32_t)(argument)))
#define khal_ptx_local_bytes(argument) ((uint64_t)(argument) >> 32)

/* ---- barriers and fences ------------------------------------------------------------------------- */

/* In a kernel whose work-items stay together: every one of the group comes to this barrier. */
KHAL_C_INLINE void khal_ptx_barrier(void)
{
    __syncthreads();
}

/* Kernels whose work-items return one by one before a barrier, where blocks walk over the groups of a grid: who has returned
 * must take part in the barriers that are left, for hardware counts it, and then go on to the next group with all others. A
 * barrier is two meetings of the whole block, wherever each of its threads is, and between the two those who have returned
 * look whether all have. (barrier.red tells as much in one, and gives wrong answers where a warp is divided.) */
KHAL_C_INLINE void khal_ptx_meet(void)
{
    __asm__ volatile("barrier.sync 0;" ::: "memory");
}

KHAL_C_INLINE void khal_ptx_gather(KHAL_PTX_SHARED uint32_t* returned)
{
    if (khal_ptx_item_x() == 0 && khal_ptx_item_y() == 0 && khal_ptx_item_z() == 0)
        *returned = 0;
    khal_ptx_meet();
}

/* Where the launch's blocks are the work-groups, who has returned has left the block, and hardware counts it no more. */
KHAL_C_INLINE void khal_ptx_barrier_of_some(bool walks)
{
    if (walks) {
        khal_ptx_meet();
        khal_ptx_meet();
    } else {
        __syncthreads();
    }
}

/* Where the group's work-items end. It must stand behind the whole of the kernel's body: there those of a warp that have
 * returned wait for those that have not, and hardware takes the warp to a barrier all the same. Were it at each return, a
 * compiler might have those that go on wait for those that have returned, for ever. */
KHAL_C_INLINE void khal_ptx_part(KHAL_PTX_SHARED uint32_t* returned, uint32_t items)
{
    __atomic_fetch_add(returned, 1u, __ATOMIC_RELAXED);
    for (bool all = false; !all;) {
        khal_ptx_meet();
        all = *(volatile KHAL_PTX_SHARED uint32_t*)returned == items;
        khal_ptx_meet();
    }
}

#define khal_ptx_fence_local() __nvvm_membar_cta()
#define khal_ptx_fence_global() __nvvm_membar_gl()

/* ---- grids of any size --------------------------------------------------------------------------- */

#define KHAL_PTX_GLOBAL __attribute__((address_space(1)))
#define KHAL_PTX_STACK __attribute__((address_space(5)))
/* A grid with more than 2^31 groups. All of it is volatile, that is in memory, for it is hardly ever needed and must take no
 * registers from the kernel. The group and the step are numbers of three digits. */
typedef struct khal_ptx_large {
    volatile uint64_t size_x, size_y, size_z; /* groups */
    volatile uint64_t x, y, z;
    volatile uint32_t step_x, step_y, step_z;
} khal_ptx_large;

/* Where a block is on its walk over the work-groups of a grid, of which it takes every gridDim.x-th. What has to be kept from
 * one group to the next is little: registers that a kernel lacks make it slower than divisions do. */
typedef struct khal_ptx_walk {
    uint32_t at, end; /* in the order x, y, z */
    uint32_t size_x, size_y;
    bool is_large;
    KHAL_PTX_STACK khal_ptx_large* large;
} khal_ptx_walk;

/* The last digit of a number; the others stay. */
KHAL_C_INLINE uint32_t khal_ptx_digit(uint32_t* number, uint64_t base)
{
    const uint32_t n = *number;
    *number = base > n ? 0 : n / (uint32_t)base;
    return base > n ? n : n % (uint32_t)base;
}

KHAL_C_INLINE void khal_ptx_start(khal_ptx_walk* w, KHAL_PTX_STACK khal_ptx_large* large, const khal_ptx_grid* launch)
{
    uint64_t x, y, z;
    if (!launch->counts) {
        x = launch->group_count[0];
        y = launch->group_count[1];
        z = launch->group_count[2];
    } else {
        const KHAL_PTX_GLOBAL uint32_t* counts = (const KHAL_PTX_GLOBAL uint32_t*)launch->counts;
        x = counts[0];
        y = counts[1];
        z = counts[2];
        const uint64_t plane = x * y; /* its halves times z, so that no product wraps */
        const uint64_t upper = (plane >> 32) * z + ((plane & 0xffffffffu) * z >> 32);
        if (upper >> 31) { /* 2^63 or more */
            *(KHAL_PTX_GLOBAL uint32_t*)launch->too_many = 1;
            z = 0;
        }
    }
    const uint64_t total = x * y * z;
    *w = (khal_ptx_walk){
        .at = khal_ptx_block_x(), .large = large};
    large->size_x = x;
    large->size_y = y;
    large->size_z = z;
    if (total <= 0x80000000u) {
        w->end = (uint32_t)total;
        w->size_x = (uint32_t)x;
        w->size_y = (uint32_t)y;
        return;
    }
    w->is_large = true;
    uint32_t first = khal_ptx_block_x(), step = khal_ptx_blocks_x();
    large->x = khal_ptx_digit(&first, x);
    large->y = khal_ptx_digit(&first, y);
    large->z = first;
    large->step_x = khal_ptx_digit(&step, x);
    large->step_y = khal_ptx_digit(&step, y);
    large->step_z = step;
}

KHAL_C_INLINE bool khal_ptx_has_group(const khal_ptx_walk* w)
{
    return w->is_large ? w->large->z < w->large->size_z : w->at < w->end;
}

KHAL_C_INLINE void khal_ptx_step(khal_ptx_walk* w)
{
    if (!w->is_large) {
        w->at += khal_ptx_blocks_x(); /* both are at most 2^31 - 1 */
        return;
    }
    KHAL_PTX_STACK khal_ptx_large* l = w->large;
    l->x += l->step_x;
    l->y += l->step_y;
    l->z += l->step_z;
    if (l->x >= l->size_x) {
        l->x -= l->size_x;
        l->y++;
    }
    if (l->y >= l->size_y) {
        l->y -= l->size_y;
        l->z++;
    }
}

typedef struct khal_ptx_group {
    uint64_t x, y, z;
} khal_ptx_group;

KHAL_C_INLINE khal_ptx_group khal_ptx_here(const khal_ptx_walk* w)
{
    if (w->is_large)
        return (khal_ptx_group){w->large->x, w->large->y, w->large->z};
    if (w->end == w->size_x) /* one row */
        return (khal_ptx_group){w->at, 0, 0};
    const uint32_t row = w->at / w->size_x;
    if (row < w->size_y)
        return (khal_ptx_group){w->at - row * w->size_x, row, 0};
    const uint32_t z = row / w->size_y;
    return (khal_ptx_group){w->at - row * w->size_x, row - z * w->size_y, z};
}

#define khal_ptx_groups(w, c) ((w)->large->size_##c)

/* As khal_ptx_is_surplus. */
KHAL_C_INLINE bool khal_ptx_is_beyond(const khal_ptx_grid* launch, const khal_ptx_group* g, uint32_t size_x, uint32_t size_y,
                                      uint32_t size_z)
{
    if (launch->is_exact || launch->counts)
        return false;
    if (g->x * size_x + khal_ptx_item_x() >= launch->global_size[0])
        return true;
    return launch->work_dim > 1 && (g->y * size_y + khal_ptx_item_y() >= launch->global_size[1] ||
                                    g->z * size_z + khal_ptx_item_z() >= launch->global_size[2]);
}

#endif
