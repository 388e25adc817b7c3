#include "wg_table.h"

#include <string.h>

void wg_table_insert(uint32_t* table, uint32_t mask, uint64_t hash, uint32_t index)
{
    uint32_t place = wg_table_first(mask, hash);
    while (table[place] != WG_NOTHING)
        place = wg_table_next(mask, place);
    table[place] = index;
}

static uint32_t home_of(uint32_t mask, uint32_t index, const void* entries, size_t size)
{
    uint64_t hash;
    memcpy(&hash, (const char*)entries + index * size, sizeof hash);
    return wg_table_first(mask, hash);
}

void wg_table_remove(uint32_t* table, uint32_t mask, uint32_t index, const void* entries, size_t size)
{
    uint32_t hole = home_of(mask, index, entries, size);
    while (table[hole] != index)
        hole = wg_table_next(mask, hole);
    for (uint32_t i = wg_table_next(mask, hole); table[i] != WG_NOTHING; i = wg_table_next(mask, i)) {
        const uint32_t home = home_of(mask, table[i], entries, size);
        if (((i - home) & mask) >= ((i - hole) & mask)) { /* it would not be found beyond the hole */
            table[hole] = table[i];
            hole = i;
        }
    }
    table[hole] = WG_NOTHING;
}
