/* Bind groups, cached by what they bind. */
#include "wg_kernel.h"
#include "wg_table.h"

#include <string.h>

#define CAPACITY 2048u /* groups; the table has twice as many places */
#define FILTER 4096u
#define MASK (CAPACITY * 2 - 1)

typedef struct entry {
    uint64_t serial, offset, size;
} entry;

typedef struct group {
    uint64_t hash, id, layout;
    WGPUBindGroup handle; /* NULL: free */
    uint64_t made_by;     /* epoch of the recorder */
    uint32_t index, count;
    bool referenced; /* since the hand came by */
    size_t size;     /* bytes of `entries` */
    entry* entries;
} group;

struct wg_groups {
    group groups[CAPACITY];
    uint32_t table[CAPACITY * 2];
    uint32_t filter[FILTER]; /* how many bindings name a serial of that remainder */
    uint32_t hand;
    uint32_t last; /* the group that was asked for last: the next is often the same */
};

static uint32_t* filter_of(wg_groups* g, uint64_t serial)
{
    return &g->filter[(serial ^ serial >> 12) % FILTER];
}

static bool is_same(const group* g, const wg_layout* layout, uint32_t index, const wg_bound* bounds, uint32_t count)
{
    if (g->handle == NULL || g->layout != layout->id || g->index != index || g->count != count)
        return false;
    for (uint32_t i = 0; i < count; ++i)
        if (g->entries[i].serial != bounds[i].serial || g->entries[i].offset != bounds[i].offset ||
            g->entries[i].size != bounds[i].size)
            return false;
    return true;
}

static void drop(wg_device* device, uint32_t index)
{
    wg_groups* g = device->groups;
    group* dropped = &g->groups[index];
    wg_table_remove(g->table, MASK, index, g->groups, sizeof g->groups[0]);
    for (uint32_t i = 0; i < dropped->count; ++i)
        --*filter_of(g, dropped->entries[i].serial);
    device->library->f.BindGroupRelease(dropped->handle);
    khal__free(device->front, dropped->entries, dropped->size);
    memset(dropped, 0, sizeof *dropped);
}

khal_status wg_group_create(wg_device* device, const wg_layout* layout, uint32_t index, const wg_bound* bounds,
                            uint32_t count, WGPUBindGroup* out)
{
    WGPUBindGroupEntry entries[WG_MAX_BINDINGS + 1];
    memset(entries, 0, count * sizeof *entries);
    uint32_t first = 0;
    while (first < layout->entry_count && layout->entries[first].group != index)
        ++first;
    for (uint32_t i = 0; i < count; ++i) {
        entries[i].binding = layout->entries[first + i].binding;
        entries[i].buffer = bounds[i].buffer;
        entries[i].offset = bounds[i].offset;
        entries[i].size = bounds[i].size;
    }
    const WGPUBindGroupDescriptor desc = {
        .label = wg_view(NULL), .layout = layout->groups[index], .entryCount = count, .entries = entries};
    *out = device->library->f.DeviceCreateBindGroup(device->device, &desc);
    return *out != NULL
               ? KHAL_OK
               : khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "the library made no bind group");
}

static khal_status use(wg_groups* g, uint32_t index, WGPUBindGroup* out, uint64_t* out_id)
{
    group* used = &g->groups[index];
    used->referenced = true;
    g->last = index;
    *out = used->handle;
    *out_id = used->id;
    return KHAL_OK;
}

khal_status wg_group_get(wg_device* device, uint64_t epoch, const wg_layout* layout, uint32_t index,
                         const wg_bound* bounds, uint32_t count, WGPUBindGroup* out, uint64_t* out_id)
{
    wg_groups* g = device->groups;
    if (is_same(&g->groups[g->last], layout, index, bounds, count))
        return use(g, g->last, out, out_id);
    uint64_t hash = wg_mix(layout->id, index);
    for (uint32_t i = 0; i < count; ++i)
        hash = wg_mix(wg_mix(wg_mix(hash, bounds[i].serial), bounds[i].offset), bounds[i].size);
    for (uint32_t i = wg_table_first(MASK, hash); g->table[i] != WG_NOTHING; i = wg_table_next(MASK, i)) {
        const group* found = &g->groups[g->table[i]];
        if (found->hash == hash && is_same(found, layout, index, bounds, count))
            return use(g, g->table[i], out, out_id);
    }
    const size_t size = (count > 0 ? count : 1) * sizeof(entry);
    entry* entries = khal__alloc(device->front, size, 16);
    if (entries == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a bind group");
    WGPUBindGroup handle = NULL;
    const khal_status status = wg_group_create(device, layout, index, bounds, count, &handle);
    if (status != KHAL_OK) {
        khal__free(device->front, entries, size);
        return status;
    }
    while (g->groups[g->hand].referenced) {
        g->groups[g->hand].referenced = false;
        g->hand = (g->hand + 1) % CAPACITY;
    }
    group* made = &g->groups[g->hand];
    if (made->handle != NULL)
        drop(device, g->hand);
    for (uint32_t i = 0; i < count; ++i) {
        entries[i] = (entry){bounds[i].serial, bounds[i].offset, bounds[i].size};
        ++*filter_of(g, bounds[i].serial);
    }
    *made = (group){.hash = hash,
                    .id = wg_next_id(device),
                    .layout = layout->id,
                    .handle = handle,
                    .made_by = epoch,
                    .index = index,
                    .count = count,
                    .size = size,
                    .entries = entries};
    wg_table_insert(g->table, MASK, hash, g->hand);
    g->last = g->hand;
    g->hand = (g->hand + 1) % CAPACITY;
    *out = handle;
    *out_id = made->id;
    return KHAL_OK;
}

void wg_groups_forget(wg_device* device, uint64_t serial)
{
    wg_groups* g = device->groups;
    if (g == NULL)
        return;
    for (uint32_t k = 0; k < CAPACITY && *filter_of(g, serial) > 0; ++k)
        for (uint32_t i = 0; i < g->groups[k].count; ++i)
            if (g->groups[k].entries[i].serial == serial) {
                drop(device, k);
                break;
            }
}

void wg_groups_abandon(wg_device* device, uint64_t epoch)
{
    for (uint32_t k = 0; k < CAPACITY; ++k)
        if (device->groups->groups[k].handle != NULL && device->groups->groups[k].made_by == epoch)
            drop(device, k);
}

khal_status wg_groups_open(wg_device* device)
{
    wg_groups* g = khal__alloc(device->front, sizeof *g, 16);
    if (g == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for the table of bind groups");
    memset(g, 0, sizeof *g);
    memset(g->table, 0xff, sizeof g->table);
    device->groups = g;
    return KHAL_OK;
}

void wg_groups_close(wg_device* device)
{
    if (device->groups == NULL)
        return;
    for (uint32_t k = 0; k < CAPACITY; ++k)
        if (device->groups->groups[k].handle != NULL)
            drop(device, k);
    khal__free(device->front, device->groups, sizeof *device->groups);
    device->groups = NULL;
}
