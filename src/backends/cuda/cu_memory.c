#include "cu.h"

#include <string.h>

/* Blocks up to SMALL_MOST come from slabs, each cut into blocks of one class: multiples of GRAIN up to 1 KiB, then four
 * classes to each doubling. Larger ones are the driver's own allocations, of which a few are kept for the next that fits. */
#define GRAIN 256u
#define SMALL_MOST (64u << 10)
#define CLASSES 28u
#define SLAB_FIRST (64u << 10) /* bytes of a class's first slab, of 16 blocks at least; each further one is twice as large */
#define SLAB_MOST (2u << 20)
#define LARGE_GRAIN ((uint64_t)64 << 10)
#define FINE_MOST ((uint64_t)64 << 20) /* from here on the driver's own grain is fine enough */
#define DRIVER_GRAIN ((uint64_t)2 << 20)

#define KEPT_MOST ((uint64_t)256 << 20) /* bytes of large blocks that are kept, or a 16th of the memory */
#define KEPT_COUNT 64u
#define PINNED_LEAST ((uint64_t)4 << 10)
#define PINNED_CLASSES 17u /* the sizes up to each power of two from 4 KiB to 256 MiB; larger ones are not kept */
#define PINNED_KEPT ((uint64_t)256 << 20)
#define HOST_PAGE ((uintptr_t)4096)

/* Blocks that were given back are chained through `following`; those from `fresh` on were never taken. */
typedef struct cu_slab {
    struct cu_slab *next, *previous; /* in a list of its class */
    CUdeviceptr address;
    uint32_t size_class, capacity, used, fresh;
    uint16_t free; /* the first of the chain, or NONE */
    uint16_t following[];
} cu_slab;
#define NONE 0xffffu

typedef struct cu_large {
    struct cu_large* next; /* of those that are kept: the latest first */
    CUdeviceptr address;
    uint64_t size; /* as the driver was asked */
} cu_large;

/* Host pages that were registered; no two overlap. */
typedef struct cu_region {
    struct cu_region* next; /* by address */
    uintptr_t begin, end;
    uint64_t shift; /* what to add to a host address for the device's */
    uint32_t users; /* buffers */
    bool is_ours;   /* else the program had registered it */
} cu_region;

struct cu_memory {
    khal__mutex lock; /* not held around calls of the driver's */
    struct cu_class {
        cu_slab *partial, *full;
        uint32_t count, empty; /* slabs; those of which no block is in use */
    } classes[CLASSES];
    cu_large* kept;
    uint64_t kept_size, kept_most;
    uint32_t kept_count;
    cu_pinned* pinned[PINNED_CLASSES];
    uint64_t pinned_size;
    khal__mutex host_lock;
    cu_region* regions;
};

static uint32_t log2_of(uint64_t size) /* the largest power of two that is not more */
{
    uint32_t log2 = 0;
    while (size >> 1 >> log2 != 0)
        ++log2;
    return log2;
}

/* ---- small blocks ------------------------------------------------------------------------------ */

/* 1..4: 0..3; 5: 4 (1,280 bytes), 6: 5, 7: 6, 8: 7, 9 and 10: 8, 11 and 12: 9 ... */
static uint32_t class_of(uint64_t size)
{
    const uint32_t grains = (uint32_t)((size + GRAIN - 1) / GRAIN);
    if (grains <= 4)
        return grains - 1;
    const uint32_t shift = log2_of(grains - 1) - 2;
    return 4 * shift + ((grains - 1) >> shift);
}

static uint64_t size_of_class(uint32_t size_class)
{
    if (size_class < 4)
        return (uint64_t)GRAIN * (size_class + 1);
    const uint32_t shift = size_class / 4 - 1;
    return (uint64_t)GRAIN * ((size_class % 4 + 5) << shift);
}

static void list_add(cu_slab** list, cu_slab* slab)
{
    slab->previous = NULL;
    slab->next = *list;
    if (*list != NULL)
        (*list)->previous = slab;
    *list = slab;
}

static void list_remove(cu_slab** list, cu_slab* slab)
{
    if (slab->previous != NULL)
        slab->previous->next = slab->next;
    else
        *list = slab->next;
    if (slab->next != NULL)
        slab->next->previous = slab->previous;
}

static size_t slab_record_size(const cu_slab* slab)
{
    return sizeof *slab + slab->capacity * sizeof slab->following[0];
}

/* Under memory->lock. */
static bool take_small(cu_memory* memory, uint32_t size_class, cu_block* out)
{
    struct cu_class* c = &memory->classes[size_class];
    cu_slab* slab = c->partial;
    if (slab == NULL)
        return false;
    uint32_t index = slab->free;
    if (index != NONE)
        slab->free = slab->following[index];
    else
        index = slab->fresh++;
    if (slab->used++ == 0)
        --c->empty;
    if (slab->used == slab->capacity) {
        list_remove(&c->partial, slab);
        list_add(&c->full, slab);
    }
    out->address = slab->address + index * size_of_class(size_class);
    out->owner = slab;
    return true;
}

/* Under memory->lock. Those without a used block are taken out into `out`, but for `stay` of each class. */
static void collect_slabs(cu_memory* memory, uint32_t size_class, uint32_t stay, cu_slab** out)
{
    struct cu_class* c = &memory->classes[size_class];
    for (cu_slab *slab = c->partial, *next; slab != NULL && c->empty > stay; slab = next) {
        next = slab->next;
        if (slab->used != 0)
            continue;
        list_remove(&c->partial, slab);
        --c->empty;
        --c->count;
        slab->next = *out;
        *out = slab;
    }
}

static void free_slabs(cu_device* device, cu_slab* slabs)
{
    while (slabs != NULL) {
        cu_slab* next = slabs->next;
        (void)device->f->MemFree(slabs->address);
        khal__free(device->front, slabs, slab_record_size(slabs));
        slabs = next;
    }
}

/* ---- giving back to the driver ----------------------------------------------------------------- */

/* Under memory->lock. Takes the oldest out into `out` until no more than so many bytes and blocks are kept. */
static void collect_large(cu_memory* memory, uint64_t most, uint32_t most_count, cu_large** out)
{
    uint64_t size = 0;
    uint32_t count = 0;
    cu_large** at = &memory->kept;
    while (*at != NULL && count < most_count && size + (*at)->size <= most) {
        size += (*at)->size;
        ++count;
        at = &(*at)->next;
    }
    cu_large* rest = *at;
    *at = NULL;
    memory->kept_size = size;
    memory->kept_count = count;
    while (rest != NULL) {
        cu_large* next = rest->next;
        rest->next = *out;
        *out = rest;
        rest = next;
    }
}

static void free_large(cu_device* device, cu_large* large)
{
    while (large != NULL) {
        cu_large* next = large->next;
        (void)device->f->MemFree(large->address);
        khal__free(device->front, large, sizeof *large);
        large = next;
    }
}

/* All that nobody uses. The context is current. */
static void give_back_all(cu_device* device)
{
    cu_memory* memory = device->memory;
    cu_slab* slabs = NULL;
    cu_large* large = NULL;
    khal__mutex_lock(&memory->lock);
    for (uint32_t i = 0; i < CLASSES; ++i)
        collect_slabs(memory, i, 0, &slabs);
    collect_large(memory, 0, 0, &large);
    khal__mutex_unlock(&memory->lock);
    free_slabs(device, slabs);
    free_large(device, large);
}

static CUresult driver_take(cu_device* device, uint64_t size, CUdeviceptr* out)
{
    if (size > SIZE_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = device->f->MemAlloc(out, (size_t)size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        give_back_all(device);
        result = device->f->MemAlloc(out, (size_t)size);
    }
    return result;
}

/* The driver waits for the device when memory is freed, so that more is kept while it is at work. */
static bool is_idle(cu_device* device)
{
    return device->f->StreamQuery(device->stream) == CUDA_SUCCESS;
}

/* What is beyond the bounds of what is kept, of large blocks and slabs of this class. */
static void trim(cu_device* device, uint32_t size_class)
{
    cu_memory* memory = device->memory;
    cu_scope scope;
    if (!cu_try_enter(device, &scope))
        return;
    const bool idle = is_idle(device);
    cu_slab* slabs = NULL;
    cu_large* large = NULL;
    khal__mutex_lock(&memory->lock);
    if (size_class < CLASSES && idle)
        collect_slabs(memory, size_class, 1, &slabs);
    collect_large(memory, idle ? memory->kept_most : 4 * memory->kept_most, idle ? KEPT_COUNT : 4 * KEPT_COUNT, &large);
    khal__mutex_unlock(&memory->lock);
    free_slabs(device, slabs);
    free_large(device, large);
    cu_leave(device, scope);
}

/* ---- taking ------------------------------------------------------------------------------------ */

static CUresult make_slab(cu_device* device, uint32_t size_class)
{
    cu_memory* memory = device->memory;
    struct cu_class* c = &memory->classes[size_class];
    const uint64_t block_size = size_of_class(size_class);
    uint64_t size = 16 * block_size > SLAB_FIRST ? 16 * block_size : SLAB_FIRST;
    khal__mutex_lock(&memory->lock);
    for (uint32_t i = 0; i < c->count && size < SLAB_MOST; ++i)
        size *= 2;
    khal__mutex_unlock(&memory->lock);
    size = size < SLAB_MOST ? size : SLAB_MOST;
    CUdeviceptr address = 0;
    CUresult result = driver_take(device, size, &address);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && size > SLAB_FIRST) {
        size = SLAB_FIRST;
        result = device->f->MemAlloc(&address, (size_t)size);
    }
    if (result != CUDA_SUCCESS)
        return result;
    const uint32_t capacity = (uint32_t)(size / block_size);
    const size_t record_size = sizeof(cu_slab) + capacity * sizeof(uint16_t);
    cu_slab* slab = khal__alloc(device->front, record_size, _Alignof(cu_slab));
    if (slab == NULL) {
        (void)device->f->MemFree(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *slab = (cu_slab){.address = address, .size_class = size_class, .capacity = capacity, .free = NONE};
    khal__mutex_lock(&memory->lock);
    list_add(&c->partial, slab);
    ++c->count;
    ++c->empty;
    khal__mutex_unlock(&memory->lock);
    return CUDA_SUCCESS;
}

static CUresult take_class(cu_device* device, uint32_t size_class, cu_block* out)
{
    cu_memory* memory = device->memory;
    CUresult result = CUDA_SUCCESS;
    for (;;) {
        khal__mutex_lock(&memory->lock);
        const bool is_taken = take_small(memory, size_class, out);
        khal__mutex_unlock(&memory->lock);
        if (is_taken || result != CUDA_SUCCESS)
            return is_taken ? CUDA_SUCCESS : result;
        cu_scope scope;
        if (!cu_try_enter(device, &scope))
            return CUDA_ERROR_INVALID_CONTEXT;
        result = make_slab(device, size_class);
        cu_leave(device, scope);
    }
}

/* An eighth of the size at most is lost. */
static uint64_t rounded(uint64_t size)
{
    uint64_t grain = DRIVER_GRAIN;
    if (size <= FINE_MOST) {
        grain = (uint64_t)1 << (log2_of(size) - 3);
        grain = grain > LARGE_GRAIN ? grain : LARGE_GRAIN;
    }
    return size <= UINT64_MAX - grain ? (size + grain - 1) / grain * grain : size;
}

/* The smallest that fits and is not much too large. Under memory->lock. */
static cu_large* take_kept(cu_memory* memory, uint64_t size)
{
    cu_large** best = NULL;
    for (cu_large** at = &memory->kept; *at != NULL; at = &(*at)->next)
        if ((*at)->size >= size && (*at)->size - size <= size / 8 && (best == NULL || (*at)->size < (*best)->size))
            best = at;
    if (best == NULL)
        return NULL;
    cu_large* large = *best;
    *best = large->next;
    memory->kept_size -= large->size;
    --memory->kept_count;
    return large;
}

static CUresult take_large(cu_device* device, uint64_t size, cu_block* out)
{
    cu_memory* memory = device->memory;
    size = rounded(size);
    khal__mutex_lock(&memory->lock);
    cu_large* large = take_kept(memory, size);
    const bool is_over = memory->kept_size > memory->kept_most;
    khal__mutex_unlock(&memory->lock);
    CUresult result = CUDA_SUCCESS;
    if (large == NULL) {
        if (is_over)
            trim(device, CLASSES);
        large = khal__alloc(device->front, sizeof *large, _Alignof(cu_large));
        cu_scope scope;
        if (large == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *large = (cu_large){.size = size};
        if (cu_try_enter(device, &scope)) {
            result = driver_take(device, size, &large->address);
            cu_leave(device, scope);
        } else {
            result = CUDA_ERROR_INVALID_CONTEXT;
        }
        if (result != CUDA_SUCCESS) {
            khal__free(device->front, large, sizeof *large);
            return result;
        }
    }
    out->address = large->address;
    out->owner = large;
    return CUDA_SUCCESS;
}

CUresult cu_memory_take(cu_device* device, uint64_t size, cu_block* out)
{
    out->size = size;
    return size <= SMALL_MOST ? take_class(device, class_of(size), out) : take_large(device, size, out);
}

void cu_memory_give(cu_device* device, cu_block* block)
{
    cu_memory* memory = device->memory;
    bool is_over;
    uint32_t size_class = CLASSES;
    if (block->owner == NULL)
        return;
    khal__mutex_lock(&memory->lock);
    if (block->size <= SMALL_MOST) {
        cu_slab* slab = block->owner;
        size_class = slab->size_class;
        struct cu_class* c = &memory->classes[size_class];
        const uint32_t index = (uint32_t)((block->address - slab->address) / size_of_class(size_class));
        slab->following[index] = slab->free;
        slab->free = (uint16_t)index;
        if (slab->used-- == slab->capacity) {
            list_remove(&c->full, slab);
            list_add(&c->partial, slab);
        }
        if (slab->used == 0)
            ++c->empty;
        is_over = slab->used == 0 && c->empty > 1;
    } else {
        cu_large* large = block->owner;
        large->next = memory->kept;
        memory->kept = large;
        memory->kept_size += large->size;
        ++memory->kept_count;
        is_over = memory->kept_size > memory->kept_most || memory->kept_count > KEPT_COUNT;
    }
    khal__mutex_unlock(&memory->lock);
    *block = (cu_block){0};
    if (is_over)
        trim(device, size_class);
}

/* ---- pinned memory ----------------------------------------------------------------------------- */

/* The class of the sizes up to the next power of two; PINNED_CLASSES or more: none. */
static uint32_t pinned_class(uint64_t size)
{
    return size <= PINNED_LEAST ? 0 : log2_of((size - 1) / PINNED_LEAST) + 1;
}

static uint64_t pinned_size(uint64_t size)
{
    if (size <= DRIVER_GRAIN)
        return PINNED_LEAST << pinned_class(size);
    return rounded(size);
}

static cu_pinned* pinned_kept(cu_memory* memory, uint64_t size)
{
    const uint32_t i = pinned_class(size);
    if (i >= PINNED_CLASSES)
        return NULL;
    khal__mutex_lock(&memory->lock);
    cu_pinned** at = &memory->pinned[i];
    while (*at != NULL && (*at)->size < size)
        at = &(*at)->next;
    cu_pinned* pinned = *at;
    if (pinned != NULL) {
        *at = pinned->next;
        memory->pinned_size -= pinned->size;
    }
    khal__mutex_unlock(&memory->lock);
    return pinned;
}

static void free_pinned(cu_device* device, cu_pinned* pinned)
{
    (void)device->f->MemFreeHost(pinned->host);
    khal__free(device->front, pinned, sizeof *pinned);
}

static void give_back_pinned(cu_device* device)
{
    cu_memory* memory = device->memory;
    for (uint32_t i = 0; i < PINNED_CLASSES; ++i) {
        khal__mutex_lock(&memory->lock);
        cu_pinned* list = memory->pinned[i];
        memory->pinned[i] = NULL;
        for (const cu_pinned* pinned = list; pinned != NULL; pinned = pinned->next)
            memory->pinned_size -= pinned->size;
        khal__mutex_unlock(&memory->lock);
        while (list != NULL) {
            cu_pinned* next = list->next;
            free_pinned(device, list);
            list = next;
        }
    }
}

static cu_pinned* make_pinned(cu_device* device, uint64_t size)
{
    const cu_functions* f = device->f;
    if (size > SIZE_MAX)
        return NULL;
    cu_pinned* pinned = khal__alloc(device->front, sizeof *pinned, _Alignof(cu_pinned));
    if (pinned == NULL)
        return NULL;
    *pinned = (cu_pinned){.size = size};
    const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    void* memory = NULL;
    CUresult result = f->MemHostAlloc(&memory, (size_t)size, flags);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        give_back_pinned(device);
        result = f->MemHostAlloc(&memory, (size_t)size, flags);
    }
    if (result == CUDA_SUCCESS) {
        pinned->host = memory;
        result = f->MemHostGetDevicePointer(&pinned->address, memory, 0);
        if (result != CUDA_SUCCESS)
            (void)f->MemFreeHost(memory);
    }
    if (result != CUDA_SUCCESS) {
        khal__free(device->front, pinned, sizeof *pinned);
        return NULL;
    }
    return pinned;
}

cu_pinned* cu_pinned_take(cu_device* device, uint64_t size)
{
    size = pinned_size(size);
    cu_pinned* pinned = pinned_kept(device->memory, size);
    cu_scope scope;
    if (pinned == NULL && cu_try_enter(device, &scope)) {
        pinned = make_pinned(device, size);
        cu_leave(device, scope);
    }
    return pinned;
}

void cu_pinned_give(cu_device* device, cu_pinned* pinned)
{
    cu_memory* memory = device->memory;
    if (pinned == NULL)
        return;
    const uint32_t i = pinned_class(pinned->size);
    khal__mutex_lock(&memory->lock);
    const bool stays = i < PINNED_CLASSES && memory->pinned_size + pinned->size <= PINNED_KEPT;
    if (stays) {
        pinned->next = memory->pinned[i];
        memory->pinned[i] = pinned;
        memory->pinned_size += pinned->size;
    }
    khal__mutex_unlock(&memory->lock);
    cu_scope scope;
    if (!stays && cu_try_enter(device, &scope)) {
        free_pinned(device, pinned);
        cu_leave(device, scope);
    } else if (!stays) {
        khal__free(device->front, pinned, sizeof *pinned);
    }
}

/* ---- the program's memory ---------------------------------------------------------------------- */

/* Of the pages [begin, end), those that no region has, as one. `probe` is a byte of them. Under memory->host_lock. */
static CUresult add_region(cu_device* device, cu_region** place, uintptr_t begin, uintptr_t end, uintptr_t probe)
{
    const cu_functions* f = device->f;
    cu_region* region = khal__alloc(device->front, sizeof *region, _Alignof(cu_region));
    if (region == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *region = (cu_region){.next = *place, .begin = begin, .end = end};
    CUresult result = f->MemHostRegister((void*)begin, end - begin, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    region->is_ours = result == CUDA_SUCCESS;
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        CUdeviceptr address = 0;
        result = f->MemHostGetDevicePointer(&address, (void*)probe, 0);
        region->shift = address - probe;
        if (result != CUDA_SUCCESS && region->is_ours)
            (void)f->MemHostUnregister((void*)begin);
    }
    if (result != CUDA_SUCCESS) {
        khal__free(device->front, region, sizeof *region);
        return result;
    }
    *place = region;
    return CUDA_SUCCESS;
}

/* Under memory->host_lock. */
static void drop_regions(cu_device* device, uintptr_t begin, uintptr_t end)
{
    cu_region** at = &device->memory->regions;
    while (*at != NULL) {
        cu_region* region = *at;
        if (region->begin < end && region->end > begin && --region->users == 0) {
            *at = region->next;
            if (region->is_ours)
                (void)device->f->MemHostUnregister((void*)region->begin);
            khal__free(device->front, region, sizeof *region);
        } else {
            at = &region->next;
        }
    }
}

static CUresult use_regions(cu_device* device, uintptr_t memory, uintptr_t begin, uintptr_t end, CUdeviceptr* out)
{
    CUresult result = CUDA_SUCCESS;
    cu_region** at = &device->memory->regions;
    uintptr_t reached = begin;
    uint64_t shift = 0;
    while (result == CUDA_SUCCESS && reached < end) {
        while (*at != NULL && (*at)->end <= reached)
            at = &(*at)->next;
        if (*at == NULL || (*at)->begin > reached) {
            const uintptr_t stop = *at != NULL && (*at)->begin < end ? (*at)->begin : end;
            result = add_region(device, at, reached, stop, reached > memory ? reached : memory);
            if (result != CUDA_SUCCESS)
                break;
        }
        ++(*at)->users;
        if (reached == begin)
            shift = (*at)->shift;
        else if ((*at)->shift != shift) /* not one piece for the device */
            result = CUDA_ERROR_INVALID_VALUE;
        reached = (*at)->end;
    }
    if (result != CUDA_SUCCESS)
        drop_regions(device, begin, reached);
    *out = memory + shift;
    return result;
}

CUresult cu_host_register(cu_device* device, void* memory, uint64_t size, CUdeviceptr* out)
{
    const uintptr_t address = (uintptr_t)memory;
    cu_scope scope;
    if (size > UINTPTR_MAX - address - HOST_PAGE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!cu_try_enter(device, &scope))
        return CUDA_ERROR_INVALID_CONTEXT;
    khal__mutex_lock(&device->memory->host_lock);
    const CUresult result = use_regions(device, address, address & ~(HOST_PAGE - 1),
                                        (address + (uintptr_t)size + HOST_PAGE - 1) & ~(HOST_PAGE - 1), out);
    khal__mutex_unlock(&device->memory->host_lock);
    cu_leave(device, scope);
    return result;
}

void cu_host_unregister(cu_device* device, void* memory, uint64_t size)
{
    const uintptr_t address = (uintptr_t)memory;
    cu_scope scope;
    const bool is_current = cu_try_enter(device, &scope);
    khal__mutex_lock(&device->memory->host_lock);
    drop_regions(device, address & ~(HOST_PAGE - 1), (address + (uintptr_t)size + HOST_PAGE - 1) & ~(HOST_PAGE - 1));
    khal__mutex_unlock(&device->memory->host_lock);
    if (is_current)
        cu_leave(device, scope);
}

/* ---- opening and closing ----------------------------------------------------------------------- */

khal_status cu_memory_open(cu_device* device)
{
    cu_memory* memory = khal__alloc(device->front, sizeof *memory, _Alignof(cu_memory));
    if (memory == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for the device's pools");
    memset(memory, 0, sizeof *memory);
    khal__mutex_init(&memory->lock);
    khal__mutex_init(&memory->host_lock);
    const uint64_t share = khal__device_info(device->front)->memory_size / 16;
    memory->kept_most = share < KEPT_MOST ? share : KEPT_MOST;
    device->memory = memory;
    return KHAL_OK;
}

void cu_memory_close(cu_device* device)
{
    cu_memory* memory = device->memory;
    give_back_all(device);
    give_back_pinned(device);
    khal__mutex_destroy(&memory->lock);
    khal__mutex_destroy(&memory->host_lock);
    khal__free(device->front, memory, sizeof *memory);
    device->memory = NULL;
}
