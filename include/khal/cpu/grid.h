/* Walks the work-groups that one call runs. */
#ifndef KHAL_CPU_GRID_H
#define KHAL_CPU_GRID_H

/* A work-item query whose dimension is known at run time only. */
KHAL_C_INLINE uint64_t khal_cpu_pick(uint64_t dimension, uint64_t x, uint64_t y, uint64_t z,
                                       uint64_t beyond)
{
    return dimension == 0 ? x : dimension == 1 ? y : dimension == 2 ? z : beyond;
}

/* Some neighbouring work-groups of one row, and the work-items in them: begin[] <= global id <
 * end[]. */
typedef struct khal_cpu_block {
    uint64_t begin[3], end[3];
    uint64_t group[3]; /* the first of them */
    uint64_t next, last;
} khal_cpu_block;

KHAL_C_INLINE khal_cpu_block khal_cpu_blocks(uint64_t first, uint64_t last)
{
    khal_cpu_block b = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, first, last};
    return b;
}

/* Moves on to the next block of at most `most` groups; false when there is none left. */
KHAL_C_INLINE bool khal_cpu_next(khal_cpu_block* b, const khal_cpu_launch* launch, uint64_t most)
{
    if (b->next >= b->last)
        return false;
    uint64_t x = b->next, y = 0, z = 0, count = b->last - b->next;
    const uint64_t width = launch->group_count[0];
    if (x >= width) {
        y = x / width;
        x = x % width;
        z = y / launch->group_count[1];
        y = y % launch->group_count[1];
    }
    if (count > width - x)
        count = width - x;
    if (count > most)
        count = most;
    b->next += count;
    b->group[0] = x;
    b->group[1] = y;
    b->group[2] = z;
    b->begin[0] = x * launch->local_size[0];
    b->begin[1] = y * launch->local_size[1];
    b->begin[2] = z * launch->local_size[2];
    b->end[0] = (x + count) * launch->local_size[0];
    b->end[1] = b->begin[1] + launch->local_size[1];
    b->end[2] = b->begin[2] + launch->local_size[2];
    for (int i = 0; i < 3; i++)
        if (b->end[i] > launch->global_size[i])
            b->end[i] = launch->global_size[i];
    return true;
}

/* Runs `...` for each x in [begin, end). Ids below 2^31 have a loop of their own, in which no
 * conversion between 32 and 64 bits can wrap, so that it vectorises. `pragma` is
 * KHAL_CPU_INDEPENDENT or nothing. */
#define KHAL_CPU_FOR_X(x, from, to, pragma, ...)                                                   \
    do {                                                                                           \
        const uint64_t khal_from = (from), khal_to = (to);                                         \
        if (__builtin_expect(khal_to <= INT32_MAX, 1)) {                                           \
            const int32_t khal_start = (int32_t)khal_from;                                         \
            const int32_t khal_stop = (int32_t)khal_to;                                            \
            KHAL_CPU_ASSUME(khal_start >= 0);                                                      \
            pragma for (int32_t khal_k = khal_start; khal_k < khal_stop; khal_k++)                 \
            {                                                                                      \
                const uint64_t x = (uint64_t)khal_k;                                               \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        } else {                                                                                   \
            for (uint64_t x = khal_from; x < khal_to; x++) {                                       \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
