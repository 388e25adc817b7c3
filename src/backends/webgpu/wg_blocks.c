/* Where blocks of hidden arguments lie: slots of uniform buffers, found by content. Blocks that stay the same from one
 * submission to the next are written once. A queue's write takes its place before the commands of the submit that
 * follows it and after those before, so that a slot may be written anew as soon as no command of the submission at hand
 * uses it. */
#include "wg_kernel.h"
#include "wg_table.h"

#include <string.h>

#define CHUNK_SLOTS 2048u
#define MIN_SLOT 64u    /* bytes */
#define CLASSES 8u      /* slots of 64 to 8192 bytes */
#define MERGE_SLOTS 16u /* a write goes on over so many slots that need none */
#define MAX_OPEN 8u

typedef struct chunk {
    WGPUBuffer buffer;
    uint64_t serial;
    unsigned char* shadow; /* what the buffer holds, or will after the next flush */
    uint64_t dirty[CHUNK_SLOTS / 64];
} chunk;

typedef struct slot {
    uint64_t hash;
    uint64_t epoch;  /* of the last recorder that uses it */
    uint32_t size;   /* bytes of its content; 0: free */
    bool referenced; /* since the hand came by */
} slot;

typedef struct pool {
    WGPUBufferUsage usage;
    uint32_t slot_size;
    uint32_t chunk_count, chunk_capacity;
    uint32_t active; /* chunks that get new content: the first, until it is full of what open recorders use */
    chunk* chunks;
    slot* slots;     /* chunk_capacity * CHUNK_SLOTS */
    uint32_t* table; /* wg_table.h: slots by hash; twice as many places as slots */
    uint32_t hand;
    uint32_t last; /* the slot that was placed last: the next block is often the same */
    bool is_dirty;
} pool;

struct wg_blocks {
    pool pools[2][CLASSES];  /* 1: indirect */
    uint64_t open[MAX_OPEN]; /* recorders that have begun and not ended: a submission, and work of our own meanwhile */
};

static uint64_t hash_bytes(const void* bytes, uint32_t size)
{
    const unsigned char* at = bytes;
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ size;
    for (uint32_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, at + i, size - i < 8 ? size - i : 8);
        hash = wg_mix(hash, word);
    }
    return hash;
}

static unsigned char* shadow_of(const pool* p, uint32_t index)
{
    return p->chunks[index / CHUNK_SLOTS].shadow + (size_t)(index % CHUNK_SLOTS) * p->slot_size;
}

/* ---- the table --------------------------------------------------------------------------------- */

static uint32_t table_mask(const pool* p)
{
    return p->chunk_capacity * CHUNK_SLOTS * 2 - 1;
}

static uint32_t find(const pool* p, uint64_t hash, const void* bytes, uint32_t size)
{
    const uint32_t mask = table_mask(p);
    for (uint32_t i = wg_table_first(mask, hash); p->table[i] != WG_NOTHING; i = wg_table_next(mask, i)) {
        const slot* s = &p->slots[p->table[i]];
        if (s->hash == hash && s->size == size && memcmp(shadow_of(p, p->table[i]), bytes, size) == 0)
            return p->table[i];
    }
    return WG_NOTHING;
}

/* ---- chunks ------------------------------------------------------------------------------------ */

static khal_status out_of_memory(wg_device* device)
{
    return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for the arguments of dispatches");
}

/* Room for twice as many chunks. */
static khal_status grow_tables(wg_device* device, pool* p)
{
    khal_device* front = device->front;
    const uint32_t old = p->chunk_capacity, capacity = old > 0 ? old * 2 : 1;
    chunk* chunks = khal__alloc(front, capacity * sizeof *chunks, 16);
    slot* slots = khal__alloc(front, (size_t)capacity * CHUNK_SLOTS * sizeof *slots, 16);
    uint32_t* table = khal__alloc(front, (size_t)capacity * CHUNK_SLOTS * 2 * sizeof *table, 16);
    const bool failed = chunks == NULL || slots == NULL || table == NULL;
    chunk* old_chunks = failed ? chunks : p->chunks;
    slot* old_slots = failed ? slots : p->slots;
    uint32_t* old_table = failed ? table : p->table;
    const uint32_t freed = failed ? capacity : old;
    if (!failed) {
        memset(chunks, 0, capacity * sizeof *chunks);
        memset(slots, 0, (size_t)capacity * CHUNK_SLOTS * sizeof *slots);
        memset(table, 0xff, (size_t)capacity * CHUNK_SLOTS * 2 * sizeof *table);
        if (old > 0) {
            memcpy(chunks, p->chunks, old * sizeof *chunks);
            memcpy(slots, p->slots, (size_t)old * CHUNK_SLOTS * sizeof *slots);
        }
        p->chunks = chunks;
        p->slots = slots;
        p->table = table;
        p->chunk_capacity = capacity;
        for (uint32_t i = 0; i < old * CHUNK_SLOTS; ++i)
            if (slots[i].size > 0)
                wg_table_insert(p->table, table_mask(p), p->slots[i].hash, i);
    }
    if (old_chunks != NULL)
        khal__free(front, old_chunks, freed * sizeof *chunks);
    if (old_slots != NULL)
        khal__free(front, old_slots, (size_t)freed * CHUNK_SLOTS * sizeof *slots);
    if (old_table != NULL)
        khal__free(front, old_table, (size_t)freed * CHUNK_SLOTS * 2 * sizeof *table);
    return failed ? out_of_memory(device) : KHAL_OK;
}

static khal_status add_chunk(wg_device* device, pool* p)
{
    if (p->chunk_count == p->chunk_capacity) {
        const khal_status status = grow_tables(device, p);
        if (status != KHAL_OK)
            return status;
    }
    chunk* c = &p->chunks[p->chunk_count];
    const size_t size = (size_t)CHUNK_SLOTS * p->slot_size;
    c->shadow = khal__alloc(device->front, size, 16);
    if (c->shadow == NULL)
        return out_of_memory(device);
    const khal_status status = wg_make_buffer(device, "khal arguments", p->usage, size, &c->buffer);
    if (status != KHAL_OK) {
        khal__free(device->front, c->shadow, size);
        return status;
    }
    memset(c->shadow, 0, size);
    memset(c->dirty, 0, sizeof c->dirty);
    c->serial = WG_OWN_SERIAL | wg_next_id(device);
    ++p->chunk_count;
    return KHAL_OK;
}

static bool is_open(const wg_blocks* blocks, uint64_t epoch)
{
    for (uint32_t i = 0; i < MAX_OPEN; ++i)
        if (blocks->open[i] == epoch)
            return true;
    return false;
}

/* A slot for new content. */
static khal_status take(wg_device* device, pool* p, uint32_t* out)
{
    const uint32_t count = p->active * CHUNK_SLOTS;
    /* Twice around: the first time may only find slots that were used lately. */
    for (uint32_t tries = 0; tries < 2 * count; ++tries) {
        const uint32_t index = p->hand;
        slot* s = &p->slots[index];
        p->hand = index + 1 == count ? 0 : index + 1;
        if (s->size > 0 && (is_open(device->blocks, s->epoch) || s->referenced)) {
            s->referenced = false;
            continue;
        }
        if (s->size > 0)
            wg_table_remove(p->table, table_mask(p), index, p->slots, sizeof *p->slots);
        *out = index;
        return KHAL_OK;
    }
    if (p->active == p->chunk_count) {
        const khal_status status = add_chunk(device, p);
        if (status != KHAL_OK)
            return status;
    }
    p->hand = p->active++ * CHUNK_SLOTS;
    return take(device, p, out);
}

/* ---- what others call -------------------------------------------------------------------------- */

khal_status wg_blocks_open(wg_device* device)
{
    wg_blocks* blocks = khal__alloc(device->front, sizeof *blocks, 16);
    if (blocks == NULL)
        return out_of_memory(device);
    memset(blocks, 0, sizeof *blocks);
    for (uint32_t k = 0; k < 2; ++k) {
        uint32_t least = device->limits.minUniformBufferOffsetAlignment;
        if (k == 1 && device->limits.minStorageBufferOffsetAlignment > least)
            least = device->limits.minStorageBufferOffsetAlignment;
        for (uint32_t c = 0; c < CLASSES; ++c) {
            pool* p = &blocks->pools[k][c];
            p->slot_size = MIN_SLOT << c;
            p->usage = WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst;
            if (k == 1)
                p->usage |= WGPUBufferUsage_Storage | WGPUBufferUsage_Indirect;
            if (p->slot_size < least)
                p->slot_size = 0;
        }
    }
    device->blocks = blocks;
    return KHAL_OK;
}

void wg_blocks_close(wg_device* device)
{
    wg_blocks* blocks = device->blocks;
    const wg_functions* f = &device->library->f;
    if (blocks == NULL)
        return;
    for (uint32_t k = 0; k < 2; ++k)
        for (uint32_t n = 0; n < CLASSES; ++n) {
            pool* p = &blocks->pools[k][n];
            for (uint32_t i = 0; i < p->chunk_count; ++i) {
                f->BufferDestroy(p->chunks[i].buffer);
                f->BufferRelease(p->chunks[i].buffer);
                khal__free(device->front, p->chunks[i].shadow, (size_t)CHUNK_SLOTS * p->slot_size);
            }
            if (p->chunk_capacity == 0)
                continue;
            khal__free(device->front, p->chunks, p->chunk_capacity * sizeof *p->chunks);
            khal__free(device->front, p->slots, (size_t)p->chunk_capacity * CHUNK_SLOTS * sizeof *p->slots);
            khal__free(device->front, p->table, (size_t)p->chunk_capacity * CHUNK_SLOTS * 2 * sizeof *p->table);
        }
    khal__free(device->front, blocks, sizeof *blocks);
    device->blocks = NULL;
}

/* One beyond MAX_OPEN goes unseen; there are two. */
void wg_blocks_begin(wg_device* device, uint64_t epoch)
{
    wg_blocks* blocks = device->blocks;
    uint32_t place = MAX_OPEN, others = 0;
    for (uint32_t i = 0; i < MAX_OPEN; ++i)
        if (blocks->open[i] == 0)
            place = i;
        else
            ++others;
    if (place < MAX_OPEN)
        blocks->open[place] = epoch;
    for (uint32_t k = 0; others == 0 && k < 2 * CLASSES; ++k) {
        pool* p = &blocks->pools[k / CLASSES][k % CLASSES];
        if (p->active > 1)
            p->hand = 0;
        p->active = p->chunk_count > 0 ? 1 : 0;
    }
}

void wg_blocks_end(wg_device* device, uint64_t epoch)
{
    for (uint32_t i = 0; i < MAX_OPEN; ++i)
        if (device->blocks->open[i] == epoch)
            device->blocks->open[i] = 0;
}

static khal_status place(wg_device* device, pool* pools, uint64_t epoch, const void* bytes, uint32_t size, wg_slot* out)
{
    uint32_t class = 0;
    while (pools[class].slot_size < size)
        ++class; /* a block is never larger than the largest */
    pool* p = &pools[class];
    uint32_t index = WG_NOTHING;
    uint64_t hash = 0;
    if (p->chunk_count > 0 && p->slots[p->last].size == size && memcmp(shadow_of(p, p->last), bytes, size) == 0) {
        index = p->last;
    } else {
        hash = hash_bytes(bytes, size);
        if (p->chunk_count > 0)
            index = find(p, hash, bytes, size);
    }
    if (index == WG_NOTHING) {
        const khal_status status = take(device, p, &index);
        if (status != KHAL_OK)
            return status;
        p->slots[index].hash = hash;
        p->slots[index].size = size;
        memcpy(shadow_of(p, index), bytes, size);
        wg_table_insert(p->table, table_mask(p), hash, index);
        p->chunks[index / CHUNK_SLOTS].dirty[index % CHUNK_SLOTS / 64] |= UINT64_C(1) << index % 64;
        p->is_dirty = true;
    } else {
        p->slots[index].referenced = true;
    }
    p->slots[index].epoch = epoch;
    p->last = index;
    const chunk* c = &p->chunks[index / CHUNK_SLOTS];
    *out = (wg_slot){c->buffer, c->serial, index % CHUNK_SLOTS * p->slot_size, CHUNK_SLOTS * p->slot_size};
    return KHAL_OK;
}

khal_status wg_blocks_place(wg_device* device, uint64_t epoch, const void* bytes, uint32_t size, wg_slot* out)
{
    return place(device, device->blocks->pools[0], epoch, bytes, size, out);
}

khal_status wg_blocks_place_indirect(wg_device* device, uint64_t epoch, const void* bytes, uint32_t size, wg_slot* out)
{
    return place(device, device->blocks->pools[1], epoch, bytes, size, out);
}

static bool is_dirty(const chunk* c, uint32_t i)
{
    return (c->dirty[i / 64] >> i % 64 & 1) != 0;
}

static void flush_chunk(wg_device* device, const pool* p, chunk* c)
{
    for (uint32_t i = 0; i < CHUNK_SLOTS;) {
        if (i % 64 == 0 && c->dirty[i / 64] == 0) {
            i += 64;
            continue;
        }
        if (!is_dirty(c, i)) {
            ++i;
            continue;
        }
        uint32_t end = i + 1;
        for (uint32_t k = end; k < CHUNK_SLOTS && k < end + MERGE_SLOTS; ++k)
            if (is_dirty(c, k))
                end = k + 1;
        device->library->f.QueueWriteBuffer(device->queue, c->buffer, (uint64_t)i * p->slot_size,
                                            c->shadow + (size_t)i * p->slot_size, (size_t)(end - i) * p->slot_size);
        i = end;
    }
    memset(c->dirty, 0, sizeof c->dirty);
}

void wg_blocks_flush(wg_device* device)
{
    for (uint32_t k = 0; k < 2; ++k)
        for (uint32_t n = 0; n < CLASSES; ++n) {
            pool* p = &device->blocks->pools[k][n];
            for (uint32_t i = 0; p->is_dirty && i < p->chunk_count; ++i)
                flush_chunk(device, p, &p->chunks[i]);
            p->is_dirty = false;
        }
}
