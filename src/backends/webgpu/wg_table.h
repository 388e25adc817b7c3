/* Entries of an array found by hash: a table of their indices, by open addressing. It has `mask` + 1 places, a power of two and more
 * than there are entries; 0xff in all bytes is an empty one. */
#ifndef KHAL_WG_TABLE_H
#define KHAL_WG_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define WG_NOTHING UINT32_MAX /* in a place that is free */

static inline uint64_t wg_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* The places to look at for a hash: the first, and on to wg_table_next until one is free. */
static inline uint32_t wg_table_first(uint32_t mask, uint64_t hash)
{
    return (uint32_t)hash & mask;
}
static inline uint32_t wg_table_next(uint32_t mask, uint32_t place)
{
    return (place + 1) & mask;
}

void wg_table_insert(uint32_t* table, uint32_t mask, uint64_t hash, uint32_t index);
/* `entries` are of `size` bytes each and begin with their uint64_t hash. */
void wg_table_remove(uint32_t* table, uint32_t mask, uint32_t index, const void* entries, size_t size);

#endif
