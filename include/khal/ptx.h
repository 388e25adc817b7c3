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

/* All work-items of the block come to one of these, wherever it stands, and learn whether all have returned from the
 * kernel. */
KHAL_C_INLINE bool khal_ptx_meet(bool has_returned)
{
    uint32_t all;
    __asm__ volatile("{\n\t.reg .pred %%p<2>;\n\t"
                     "setp.ne.u32 %%p0, %1, 0;\n\t"
                     "barrier.red.and.pred %%p1, 0, %%p0;\n\t"
                     "selp.u32 %0, 1, 0, %%p1;\n\t}"
                     : "=r"(all)
                     : "r"((uint32_t)has_returned)
                     : "memory");
    return all != 0;
}

/* A barrier in a kernel whose work-items return one by one before it. Where the launch's blocks are the work-groups, who has
 * returned has left the block, and hardware counts it no more. Where blocks walk, it waits in khal_ptx_part. */
KHAL_C_INLINE void khal_ptx_barrier_of_some(bool walks)
{
    if (walks)
        khal_ptx_meet(false);
    else
        __asm__ volatile("barrier.sync 0;" ::: "memory");
}

/* Who has returned takes part in the barriers that are left, and goes on to the next group with all others. */
KHAL_C_INLINE void khal_ptx_part(void)
{
    while (!khal_ptx_meet(true))
        ;
}

#define khal_ptx_fence_local() __nvvm_membar_cta()
#define khal_ptx_fence_global() __nvvm_membar_gl()

/* ---- grids of any size --------------------------------------------------------------------------- */

#define KHAL_PTX_GLOBAL __attribute__((address_space(1)))
#define KHAL_PTX_STACK __attribute__((address_space(5)))
#define KHAL_PTX_SEGMENT 0x80000000u

/* A grid with more than 2^31 groups in a dimension is cut into segments of as many. All of it is volatile, that is in memory,
 * for it is hardly ever needed and must take no registers from the kernel. */
typedef struct khal_ptx_large {
    volatile uint64_t group_count[3];
    volatile uint64_t segment[3]; /* the first group of the segment that the block is in */
    volatile uint64_t next[3];    /* and of the one after it */
} khal_ptx_large;

/* Where a block is on its walk over the work-groups of a grid, or of a segment, of which it takes every gridDim.x-th: position
 * and step are numbers of three digits, x, y and z. */
typedef struct khal_ptx_walk {
    uint32_t size_x, size_y, size_z;
    uint32_t x, y, z;
    uint32_t step_x, step_y, step_z;
    bool is_large;
    KHAL_PTX_STACK khal_ptx_large* large;
} khal_ptx_walk;

KHAL_C_INLINE void khal_ptx_begin_segment(khal_ptx_walk* w, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t first = khal_ptx_block_x(), step = khal_ptx_blocks_x();
    w->size_x = x;
    w->size_y = y;
    w->size_z = z;
    w->x = first % x;
    w->y = first / x % y;
    w->z = first / x / y;
    w->step_x = step % x;
    w->step_y = step / x % y;
    w->step_z = step / x / y;
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
    *w = (khal_ptx_walk){.large = large};
    if (x == 0 || y == 0 || z == 0)
        return;
    if (x <= KHAL_PTX_SEGMENT && y <= KHAL_PTX_SEGMENT && z <= KHAL_PTX_SEGMENT) {
        khal_ptx_begin_segment(w, (uint32_t)x, (uint32_t)y, (uint32_t)z);
        return;
    }
    w->is_large = true;
    large->group_count[0] = x;
    large->group_count[1] = y;
    large->group_count[2] = z;
    large->next[0] = large->next[1] = large->next[2] = 0;
}

/* Groups of dimension d in the segment. */
KHAL_C_INLINE uint32_t khal_ptx_extent(const KHAL_PTX_STACK khal_ptx_large* l, int d)
{
    const uint64_t rest = l->group_count[d] - l->segment[d];
    return rest < KHAL_PTX_SEGMENT ? (uint32_t)rest : KHAL_PTX_SEGMENT;
}

/* Moves `next` on in dimension d; true where it begins there again. */
KHAL_C_INLINE bool khal_ptx_advance(KHAL_PTX_STACK khal_ptx_large* l, int d)
{
    l->next[d] += KHAL_PTX_SEGMENT;
    if (l->next[d] < l->group_count[d])
        return false;
    if (d < 2)
        l->next[d] = 0;
    return true;
}

/* Goes on to the next segment in which the block has a group; false where there is none. */
KHAL_C_INLINE bool khal_ptx_enter(khal_ptx_walk* w)
{
    KHAL_PTX_STACK khal_ptx_large* l = w->large;
    while (l->next[2] < l->group_count[2]) {
        l->segment[0] = l->next[0];
        l->segment[1] = l->next[1];
        l->segment[2] = l->next[2];
        if (khal_ptx_advance(l, 0) && khal_ptx_advance(l, 1))
            khal_ptx_advance(l, 2);
        khal_ptx_begin_segment(w, khal_ptx_extent(l, 0), khal_ptx_extent(l, 1), khal_ptx_extent(l, 2));
        if (w->z < w->size_z)
            return true;
    }
    return false;
}

KHAL_C_INLINE bool khal_ptx_has_group(khal_ptx_walk* w)
{
    return w->z < w->size_z || (w->is_large && khal_ptx_enter(w));
}

KHAL_C_INLINE void khal_ptx_step(khal_ptx_walk* w)
{
    w->x += w->step_x;
    w->y += w->step_y;
    w->z += w->step_z;
    if (w->x >= w->size_x) {
        w->x -= w->size_x;
        w->y++;
    }
    if (w->y >= w->size_y) {
        w->y -= w->size_y;
        w->z++;
    }
}

#define KHAL_PTX_AXIS(c, d)                                                                                                  \
    KHAL_C_INLINE uint64_t khal_ptx_group_##c(const khal_ptx_walk* w)                                                        \
    {                                                                                                                        \
        return w->c + (w->is_large ? w->large->segment[d] : 0);                                                              \
    }                                                                                                                        \
    KHAL_C_INLINE uint64_t khal_ptx_groups_##c(const khal_ptx_walk* w)                                                       \
    {                                                                                                                        \
        return w->is_large ? w->large->group_count[d] : w->size_##c;                                                         \
    }                                                                                                                        \
    KHAL_C_INLINE uint64_t khal_ptx_id_##c(const khal_ptx_walk* w, uint32_t size, uint32_t item)                             \
    {                                                                                                                        \
        const uint64_t id = (uint64_t)w->c * size + item;                                                                    \
        return w->is_large ? id + w->large->segment[d] * size : id;                                                          \
    }                                                                                                                        \
    KHAL_C_INLINE uint32_t khal_ptx_low_id_##c(const khal_ptx_walk* w, uint32_t size, uint32_t item)                         \
    {                                                                                                                        \
        const uint32_t id = w->c * size + item;                                                                              \
        return w->is_large ? id + (uint32_t)w->large->segment[d] * size : id;                                                \
    }
KHAL_PTX_AXIS(x, 0)
KHAL_PTX_AXIS(y, 1)
KHAL_PTX_AXIS(z, 2)

/* As khal_ptx_is_surplus; `size` is the work-group's. */
KHAL_C_INLINE bool khal_ptx_is_beyond(const khal_ptx_grid* launch, const khal_ptx_walk* w, uint32_t size_x, uint32_t size_y,
                                      uint32_t size_z)
{
    if (launch->is_exact || launch->counts)
        return false;
    if (khal_ptx_id_x(w, size_x, khal_ptx_item_x()) >= launch->global_size[0])
        return true;
    return launch->work_dim > 1 && (khal_ptx_id_y(w, size_y, khal_ptx_item_y()) >= launch->global_size[1] ||
                                    khal_ptx_id_z(w, size_z, khal_ptx_item_z()) >= launch->global_size[2]);
}

#endif
