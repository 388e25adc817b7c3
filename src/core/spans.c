#include "spans.h"

#include <string.h>

/* Index of the first item that ends after `at`. */
static uint32_t first_after(const khal__spans* spans, uint64_t at)
{
    uint32_t low = 0, high = spans->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (spans->items[middle].end > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool khal__spans_overlap(const khal__spans* spans, uint64_t begin, uint64_t end)
{
    if (spans->count == 0 || begin >= end)
        return false;
    if (begin >= spans->items[spans->count - 1].end || end <= spans->items[0].begin)
        return false;
    const uint32_t i = first_after(spans, begin);
    return i < spans->count && spans->items[i].begin < end;
}

uint64_t khal__spans_max(const khal__spans* spans, uint64_t begin, uint64_t end)
{
    uint64_t most = 0;
    if (begin >= end)
        return 0;
    for (uint32_t i = first_after(spans, begin); i < spans->count && spans->items[i].begin < end;
         ++i)
        if (spans->items[i].value > most)
            most = spans->items[i].value;
    return most;
}

void khal__spans_prune(khal__spans* spans, uint64_t value)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < spans->count; ++i)
        if (spans->items[i].value > value)
            spans->items[kept++] = spans->items[i];
    spans->count = kept;
}

/* Joins neighbours two by two. */
static void coarsen(khal__spans* spans)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < spans->count; i += 2) {
        khal__span joined = spans->items[i];
        if (i + 1 < spans->count) {
            joined.end = spans->items[i + 1].end;
            if (spans->items[i + 1].value > joined.value)
                joined.value = spans->items[i + 1].value;
        }
        spans->items[kept++] = joined;
    }
    spans->count = kept;
}

static bool make_room(khal__spans* spans, uint32_t needed, uint32_t most, khal__spans_grow_fn grow,
                      void* user)
{
    if (needed <= spans->capacity)
        return true;
    if (grow == NULL || spans->capacity >= most)
        return false;
    uint32_t wanted = spans->capacity < 2 ? 4 : spans->capacity * 4;
    if (wanted > most)
        wanted = most;
    if (wanted < needed)
        return false;
    khal__span* items = grow(user, wanted);
    if (items == NULL)
        return false;
    if (spans->count > 0)
        memcpy(items, spans->items, spans->count * sizeof items[0]);
    spans->items = items;
    spans->capacity = wanted;
    return true;
}

void khal__spans_set_slow(khal__spans* spans, uint64_t begin, uint64_t end, uint64_t value,
                          uint32_t most, khal__spans_grow_fn grow, void* user)
{
    if (begin >= end || most == 0)
        return;
    for (;;) {
        const uint32_t count = spans->count;
        uint32_t low, high;
        if (count == 0 || begin > spans->items[count - 1].end) {
            low = high = count;
        } else if (spans->items[count - 1].begin <= begin && spans->items[count - 1].end >= end &&
                   spans->items[count - 1].value == value) {
            return;
        } else {
            low = first_after(spans, begin);
            high = low;
            while (high < count && spans->items[high].begin < end)
                ++high;
        }

        khal__span pieces[3];
        uint32_t piece_count = 0;
        khal__span whole = {begin, end, value};
        khal__span right = {0, 0, 0};
        uint32_t from = low, to = high;
        if (low < high) {
            const khal__span first = spans->items[low], last = spans->items[high - 1];
            if (first.begin < begin) {
                if (first.value == value)
                    whole.begin = first.begin;
                else
                    pieces[piece_count++] = (khal__span){first.begin, begin, first.value};
            }
            if (last.end > end) {
                if (last.value == value)
                    whole.end = last.end;
                else
                    right = (khal__span){end, last.end, last.value};
            }
        }
        if (from > 0 && spans->items[from - 1].end == whole.begin &&
            spans->items[from - 1].value == value)
            whole.begin = spans->items[--from].begin;
        if (to < count && spans->items[to].begin == whole.end && spans->items[to].value == value)
            whole.end = spans->items[to++].end;
        pieces[piece_count++] = whole;
        if (right.end != 0)
            pieces[piece_count++] = right;

        const uint32_t needed = count - (to - from) + piece_count;
        if (make_room(spans, needed, most, grow, user)) {
            if (to < count && from + piece_count != to)
                memmove(spans->items + from + piece_count, spans->items + to,
                        (count - to) * sizeof spans->items[0]);
            memcpy(spans->items + from, pieces, piece_count * sizeof pieces[0]);
            spans->count = needed;
            return;
        }
        if (count > 1) {
            coarsen(spans);
            continue;
        }
        if (spans->capacity == 0)
            return; /* only where a caller gave no room at all, which none does */
        khal__span hull = whole;
        if (count == 1) {
            hull = spans->items[0];
            if (begin < hull.begin)
                hull.begin = begin;
            if (end > hull.end)
                hull.end = end;
            if (value > hull.value)
                hull.value = value;
        }
        spans->items[0] = hull;
        spans->count = 1;
        return;
    }
}
