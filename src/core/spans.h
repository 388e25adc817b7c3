/* A set of disjoint byte ranges in rising order, each with a value: whole-number facts about a
 * buffer's bytes, such as "written by ticket 7". Where room ends, neighbours are joined, so that a
 * set covers too much but never too little. */
#ifndef KHAL_CORE_SPANS_H
#define KHAL_CORE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct khal__span {
    uint64_t begin, end; /* begin < end */
    uint64_t value;
} khal__span;

typedef struct khal__spans {
    khal__span* items;
    uint32_t count, capacity;
} khal__spans;

/* Room for more: `wanted` items or fewer; NULL: none can be had. The old room is the grower's to
 * forget. */
typedef khal__span* (*khal__spans_grow_fn)(void* user, uint32_t wanted);

void khal__spans_set_slow(khal__spans* spans, uint64_t begin, uint64_t end, uint64_t value,
                          uint32_t most, khal__spans_grow_fn grow, void* user);
/* Sets [begin, end) to `value`, which is at least every value set before. Grows up to `most` items;
 * `grow` may be NULL. */
static inline void khal__spans_set(khal__spans* spans, uint64_t begin, uint64_t end, uint64_t value,
                                   uint32_t most, khal__spans_grow_fn grow, void* user)
{
    khal__span* first = spans->items;
    if (spans->count == 1 && first->begin <= begin && end <= first->end && first->value == value)
        return;
    if (spans->count == 0 && spans->capacity > 0 && begin < end) {
        first->begin = begin;
        first->end = end;
        first->value = value;
        spans->count = 1;
        return;
    }
    khal__spans_set_slow(spans, begin, end, value, most, grow, user);
}
/* Whether anything is set in [begin, end). */
bool khal__spans_overlap(const khal__spans* spans, uint64_t begin, uint64_t end);
/* The largest value in [begin, end); 0 where nothing is set. */
uint64_t khal__spans_max(const khal__spans* spans, uint64_t begin, uint64_t end);
/* Forgets what has a value of at most `value`. */
void khal__spans_prune(khal__spans* spans, uint64_t value);

#endif
