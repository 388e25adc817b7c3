#include "cu.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Small writes go through a ring, one after the other; an event guards each segment of it. Reads, and the pieces of larger
 * transfers, have a slot each, which is guarded by its own event. Large transfers are copied to and from their slots by
 * several threads: one thread copies a good deal slower than the device does. */
#define SMALL_MOST ((uint64_t)64 << 10)
#define SEGMENT ((uint64_t)256 << 10)
#define SEGMENTS 12u
#define SLOTS 16u /* of each kind */
#define PIECE_MOST ((uint64_t)2 << 20)
#define PIECE_LEAST ((uint64_t)256 << 10)
#define SHARED_LEAST ((uint64_t)1 << 20) /* transfers from here on are shared among threads */
#define HELPERS 8u
#define STREAMING_LEAST ((size_t)128 << 10) /* copies from here on go past the cache */
#define WORD 0xa5c35ac3u /* stands where a read of up to four bytes is to arrive; bytes that are the same are waited for as all are */
#define WORD_NS 15000u

/* Memory that changes while it is looked at is a race, as ThreadSanitizer sees it: devices other than the CPU are not known
 * to it. */
#if defined(__SANITIZE_THREAD__)
#define LOOKS_AT_WORDS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOOKS_AT_WORDS false
#endif
#endif
#if !defined(LOOKS_AT_WORDS)
#define LOOKS_AT_WORDS true
#endif

typedef struct cu_slot {
    struct cu_slot* next;
    cu_pinned* pinned; /* its own, of large ones, once it was needed */
    char* host;
    CUevent event;
    bool is_pending; /* the device uses it until `event` */
} cu_slot;

typedef struct cu_slots {
    cu_slot all[SLOTS];
    cu_slot *first, *last; /* free, the one that was given back first comes first */
    uint32_t made;         /* those that have memory */
    uint64_t size;         /* bytes of each */
} cu_slots;

/* A transfer whose pieces several threads take. Under staging->lock, but for what never changes. */
typedef struct cu_transfer {
    struct cu_transfer* next;
    bool is_read;
    CUdeviceptr address;
    char* host; /* of writes only read */
    uint64_t size, piece;
    CUstream stream;
    uint64_t taken;   /* bytes whose pieces were taken */
    uint32_t helpers; /* threads at it, but for the caller */
    CUresult result;
} cu_transfer;

struct cu_staging {
    /* The ring; device->lock. */
    cu_pinned* ring;
    CUevent segment_events[SEGMENTS];
    bool is_pending[SEGMENTS];
    uint32_t segment;
    uint64_t segment_used;
    CUstream ring_stream; /* that the bytes of this segment went into */
    /* Uploads; device->lock. */
    CUevent uploaded; /* after all of them, but for those that came since it was recorded */
    bool is_unsealed; /* there are such */
    uint64_t upload_count, uploads_done;

    khal__mutex lock;
    cu_slots small, large;
    cu_pinned* small_memory;
    khal__condition work, done;
    cu_transfer* transfers;
    bool is_started, is_stopping;
    uint32_t thread_count;
    khal__thread threads[HELPERS];
};

/* ---- waiting ----------------------------------------------------------------------------------- */

/* CUDA_ERROR_NOT_READY: not by the deadline. `word`: what the device writes in pinned memory before the event, or NULL; it has
 * come when it is no longer WORD, and looking at it costs next to nothing, where the driver takes over a microsecond. */
static CUresult wait_event(cu_device* device, CUevent event, const volatile uint32_t* word, uint64_t deadline)
{
    const uint64_t since = khal__clock_now();
    uint64_t now = since;
    for (;;) {
        while (word != NULL && now - since < WORD_NS) {
            if (*word != WORD)
                return CUDA_SUCCESS;
            cu_pause(since);
            now = khal__clock_now();
        }
        const CUresult result = device->f->EventQuery(event);
        if (result != CUDA_ERROR_NOT_READY)
            return result;
        if (cu_is_lost(device))
            return CUDA_ERROR_UNKNOWN;
        now = khal__clock_now();
        if (now >= deadline)
            return CUDA_ERROR_NOT_READY;
        cu_pause(since);
    }
}

/* ---- slots ------------------------------------------------------------------------------------- */

/* Under staging->lock. */
static void slots_add(cu_slots* slots, cu_slot* slot)
{
    slot->next = NULL;
    if (slots->last != NULL)
        slots->last->next = slot;
    else
        slots->first = slot;
    slots->last = slot;
}

/* Under staging->lock. Of those that have memory and are ready the first, else one that has none; NULL: `result` is the
 * driver's failure, or that all are in use. */
static cu_slot* slots_find(cu_device* device, cu_slots* slots, CUresult* result)
{
    cu_slot *previous = NULL, *found = NULL, *found_after = NULL;
    *result = CUDA_ERROR_NOT_READY;
    for (cu_slot* slot = slots->first; slot != NULL; previous = slot, slot = slot->next) {
        if (slot->host == NULL) {
            found = slot;
            found_after = previous;
            continue;
        }
        const CUresult state = slot->is_pending ? device->f->EventQuery(slot->event) : CUDA_SUCCESS;
        if (state == CUDA_SUCCESS) {
            found = slot;
            found_after = previous;
            break;
        }
        if (state != CUDA_ERROR_NOT_READY) {
            *result = state;
            return NULL;
        }
    }
    if (found == NULL)
        return NULL;
    if (found_after != NULL)
        found_after->next = found->next;
    else
        slots->first = found->next;
    if (slots->last == found)
        slots->last = found_after;
    found->is_pending = false;
    return found;
}

static void slot_give(cu_device* device, cu_slots* slots, cu_slot* slot)
{
    cu_staging* staging = device->staging;
    khal__mutex_lock(&staging->lock);
    slots_add(slots, slot);
    khal__mutex_unlock(&staging->lock);
}

/* False: there is no memory for another one, and the slot was given back. */
static bool slot_make(cu_device* device, cu_slots* slots, cu_slot* slot)
{
    cu_pinned* pinned = cu_pinned_take(device, slots->size);
    khal__mutex_lock(&device->staging->lock);
    if (pinned != NULL) {
        slot->pinned = pinned;
        slot->host = pinned->host;
        ++slots->made;
    } else {
        slots_add(slots, slot);
    }
    khal__mutex_unlock(&device->staging->lock);
    return pinned != NULL;
}

/* CUDA_ERROR_NOT_READY: none became free by the deadline. */
static CUresult slot_take(cu_device* device, cu_slots* slots, uint64_t deadline, cu_slot** out)
{
    cu_staging* staging = device->staging;
    const uint64_t since = khal__clock_now();
    for (;;) {
        CUresult result;
        khal__mutex_lock(&staging->lock);
        *out = slots_find(device, slots, &result);
        const uint32_t made = slots->made;
        khal__mutex_unlock(&staging->lock);
        if (*out != NULL && ((*out)->host != NULL || slot_make(device, slots, *out)))
            return CUDA_SUCCESS;
        if (*out != NULL && made == 0)
            return cu_no_memory(device);
        if (*out == NULL && result != CUDA_ERROR_NOT_READY)
            return result;
        if (cu_is_lost(device))
            return CUDA_ERROR_UNKNOWN;
        if (deadline != UINT64_MAX && khal__clock_now() >= deadline)
            return CUDA_ERROR_NOT_READY;
        cu_pause(since);
    }
}

/* The device's part of a piece: it goes into the stream, and the slot's event after it. */
static CUresult slot_issue(cu_device* device, cu_slot* slot, bool is_read, CUdeviceptr address, uint64_t size, CUstream stream)
{
    const cu_functions* f = device->f;
    khal__mutex_lock(&device->lock);
    CUresult result = is_read ? f->MemcpyDtoHAsync(slot->host, address, (size_t)size, stream)
                              : f->MemcpyHtoDAsync(address, slot->host, (size_t)size, stream);
    const bool is_issued = result == CUDA_SUCCESS;
    if (is_issued)
        result = f->EventRecord(slot->event, stream);
    slot->is_pending = result == CUDA_SUCCESS;
    khal__mutex_unlock(&device->lock);
    if (is_issued && result != CUDA_SUCCESS)
        (void)f->StreamSynchronize(stream); /* nothing else tells when the slot is free again */
    return result;
}

/* ---- copying on the host ----------------------------------------------------------------------- */

/* As memcpy. Large copies leave the cache alone: what they write is not read again on this side, or not soon. */
static void copy(char* to, const char* from, size_t size)
{
#if defined(__x86_64__)
    if (size >= STREAMING_LEAST) {
        const size_t head = (64 - (uintptr_t)to % 64) % 64;
        memcpy(to, from, head);
        to += head;
        from += head;
        size -= head;
        for (; size >= 64; to += 64, from += 64, size -= 64) {
            const __m128i a = _mm_loadu_si128((const __m128i*)(const void*)from);
            const __m128i b = _mm_loadu_si128((const __m128i*)(const void*)(from + 16));
            const __m128i c = _mm_loadu_si128((const __m128i*)(const void*)(from + 32));
            const __m128i d = _mm_loadu_si128((const __m128i*)(const void*)(from + 48));
            _mm_stream_si128((__m128i*)(void*)to, a);
            _mm_stream_si128((__m128i*)(void*)(to + 16), b);
            _mm_stream_si128((__m128i*)(void*)(to + 32), c);
            _mm_stream_si128((__m128i*)(void*)(to + 48), d);
        }
        _mm_sfence();
    }
#endif
    memcpy(to, from, size);
}

/* ---- large transfers --------------------------------------------------------------------------- */

static CUresult write_piece(cu_device* device, cu_transfer* transfer, uint64_t at, uint64_t size)
{
    cu_slots* slots = &device->staging->large;
    cu_slot* slot;
    CUresult result = slot_take(device, slots, UINT64_MAX, &slot);
    if (result != CUDA_SUCCESS)
        return result;
    copy(slot->host, transfer->host + at, (size_t)size);
    result = slot_issue(device, slot, false, transfer->address + at, size, transfer->stream);
    slot_give(device, slots, slot);
    return result;
}

/* CUDA_ERROR_NOT_READY: the bytes are not there by the deadline. Else they are in the slot. */
static CUresult fetch_piece(cu_device* device, cu_slots* slots, CUdeviceptr address, uint64_t size, CUstream stream,
                            uint64_t deadline, cu_slot** out)
{
    cu_slot* slot;
    CUresult result = slot_take(device, slots, deadline, &slot);
    if (result != CUDA_SUCCESS)
        return result;
    /* What comes in one piece: other sizes and places may come byte by byte, and the first would pass for all. */
    const bool is_word = LOOKS_AT_WORDS && (size == 1 || size == 2 || size == 4) && address % size == 0;
    volatile uint32_t* word = (volatile uint32_t*)(void*)slot->host;
    if (is_word)
        *word = WORD;
    result = slot_issue(device, slot, true, address, size, stream);
    if (result == CUDA_SUCCESS)
        result = wait_event(device, slot->event, is_word ? word : NULL, deadline);
    if (result != CUDA_SUCCESS)
        slot_give(device, slots, slot);
    else
        slot->is_pending = false;
    *out = slot;
    return result;
}

static CUresult read_piece(cu_device* device, cu_transfer* transfer, uint64_t at, uint64_t size)
{
    cu_slots* slots = &device->staging->large;
    cu_slot* slot;
    const CUresult result =
        fetch_piece(device, slots, transfer->address + at, size, transfer->stream, UINT64_MAX, &slot);
    if (result == CUDA_SUCCESS) {
        copy(transfer->host + at, slot->host, (size_t)size);
        slot_give(device, slots, slot);
    }
    return result;
}

/* Takes pieces until none is left, or one has failed. The context is current. */
static void run_pieces(cu_device* device, cu_transfer* transfer)
{
    cu_staging* staging = device->staging;
    khal__mutex_lock(&staging->lock);
    while (transfer->result == CUDA_SUCCESS && transfer->taken < transfer->size) {
        const uint64_t at = transfer->taken, left = transfer->size - at;
        const uint64_t size = left < transfer->piece ? left : transfer->piece;
        transfer->taken += size;
        khal__mutex_unlock(&staging->lock);
        const CUresult result =
            transfer->is_read ? read_piece(device, transfer, at, size) : write_piece(device, transfer, at, size);
        khal__mutex_lock(&staging->lock);
        if (result != CUDA_SUCCESS && transfer->result == CUDA_SUCCESS)
            transfer->result = result;
    }
    khal__mutex_unlock(&staging->lock);
}

/* Under staging->lock. */
static cu_transfer* find_work(cu_staging* staging)
{
    cu_transfer* transfer = staging->transfers;
    while (transfer != NULL && (transfer->result != CUDA_SUCCESS || transfer->taken == transfer->size))
        transfer = transfer->next;
    return transfer;
}

static void help(void* user)
{
    cu_device* device = user;
    cu_staging* staging = device->staging;
    khal__failures_keep();
    khal__mutex_lock(&staging->lock);
    while (!staging->is_stopping) {
        cu_transfer* transfer = find_work(staging);
        if (transfer == NULL) {
            khal__condition_wait(&staging->work, &staging->lock, UINT64_MAX);
            continue;
        }
        ++transfer->helpers;
        khal__mutex_unlock(&staging->lock);
        cu_scope scope;
        const bool is_current = cu_try_enter(device, &scope);
        if (is_current) {
            run_pieces(device, transfer);
            cu_leave(device, scope);
        }
        khal__mutex_lock(&staging->lock);
        if (!is_current && transfer->result == CUDA_SUCCESS)
            transfer->result = CUDA_ERROR_INVALID_CONTEXT;
        if (--transfer->helpers == 0)
            khal__condition_broadcast(&staging->done);
    }
    khal__mutex_unlock(&staging->lock);
}

/* Under staging->lock. Fewer threads than wished for are fine, none too. */
static void start_helpers(cu_device* device)
{
    cu_staging* staging = device->staging;
    if (staging->is_started)
        return;
    staging->is_started = true;
    uint32_t wanted = khal__processor_count() / 2;
    wanted = wanted < HELPERS ? wanted : HELPERS;
    while (staging->thread_count < wanted &&
           khal__thread_start(&staging->threads[staging->thread_count], help, device, "khal-copy"))
        ++staging->thread_count;
}

static void share_begin(cu_device* device, cu_transfer* transfer)
{
    cu_staging* staging = device->staging;
    khal__mutex_lock(&staging->lock);
    start_helpers(device);
    transfer->next = staging->transfers;
    staging->transfers = transfer;
    khal__condition_broadcast(&staging->work);
    khal__mutex_unlock(&staging->lock);
}

static void share_end(cu_device* device, cu_transfer* transfer)
{
    cu_staging* staging = device->staging;
    khal__mutex_lock(&staging->lock);
    cu_transfer** at = &staging->transfers;
    while (*at != transfer)
        at = &(*at)->next;
    *at = transfer->next;
    while (transfer->helpers > 0)
        khal__condition_wait(&staging->done, &staging->lock, UINT64_MAX);
    khal__mutex_unlock(&staging->lock);
}

static uint64_t piece_size(uint64_t size)
{
    const uint64_t piece = (size / SLOTS + SMALL_MOST - 1) / SMALL_MOST * SMALL_MOST;
    return piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
}

static CUresult run_transfer(cu_device* device, cu_transfer* transfer)
{
    const bool is_shared = transfer->size >= SHARED_LEAST;
    if (is_shared)
        share_begin(device, transfer);
    run_pieces(device, transfer);
    if (is_shared)
        share_end(device, transfer);
    return transfer->result;
}

/* ---- writing ----------------------------------------------------------------------------------- */

/* Room in the ring for so many bytes, at most a segment. CUDA_ERROR_NOT_READY: the device still reads there. (lock) */
static CUresult ring_take(cu_device* device, uint64_t size, CUstream stream, char** out)
{
    cu_staging* staging = device->staging;
    const uint32_t here = staging->segment;
    if (staging->segment_used > 0 && (staging->segment_used + size > SEGMENT || staging->ring_stream != stream)) {
        const CUresult result = device->f->EventRecord(staging->segment_events[here], staging->ring_stream);
        if (result != CUDA_SUCCESS)
            return result;
        staging->is_pending[here] = true;
        staging->segment = (here + 1) % SEGMENTS;
        staging->segment_used = 0;
    }
    const uint32_t now = staging->segment;
    if (staging->segment_used == 0 && staging->is_pending[now]) {
        const CUresult result = device->f->EventQuery(staging->segment_events[now]);
        if (result != CUDA_SUCCESS)
            return result;
        staging->is_pending[now] = false;
    }
    *out = staging->ring->host + now * SEGMENT + staging->segment_used;
    staging->ring_stream = stream;
    staging->segment_used += (size + 63) & ~(uint64_t)63;
    return CUDA_SUCCESS;
}

static CUresult write_small(cu_device* device, CUdeviceptr to, const void* from, size_t size, CUstream stream)
{
    const uint64_t since = khal__clock_now();
    for (;;) {
        char* room = NULL;
        khal__mutex_lock(&device->lock);
        CUresult result = ring_take(device, size, stream, &room);
        if (result == CUDA_SUCCESS) {
            memcpy(room, from, size);
            result = device->f->MemcpyHtoDAsync(to, room, size, stream);
            if (result == CUDA_ERROR_NOT_READY)
                result = CUDA_ERROR_UNKNOWN;
        }
        khal__mutex_unlock(&device->lock);
        if (result != CUDA_ERROR_NOT_READY)
            return result;
        if (cu_is_lost(device))
            return CUDA_ERROR_UNKNOWN;
        cu_pause(since);
    }
}

CUresult cu_staging_write(cu_device* device, CUdeviceptr to, const void* from, uint64_t size, CUstream stream)
{
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result;
    if (size <= SMALL_MOST) {
        result = write_small(device, to, from, (size_t)size, stream);
    } else {
        cu_transfer transfer = {.address = to,
                                .host = (char*)(uintptr_t)from,
                                .size = size,
                                .piece = piece_size(size),
                                .stream = stream};
        result = run_transfer(device, &transfer);
    }
    cu_leave(device, scope);
    return result;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* The first piece is waited for alone: what comes late leaves `out` as it was, and what is there is all there soon. */
static CUresult read_large(cu_device* device, CUdeviceptr from, char* out, uint64_t size, CUstream stream, uint64_t deadline)
{
    cu_slots* slots = &device->staging->large;
    const uint64_t piece = piece_size(size), first = piece < size ? piece : size;
    cu_slot* slot;
    const CUresult result = fetch_piece(device, slots, from, first, stream, deadline, &slot);
    if (result != CUDA_SUCCESS)
        return result;
    cu_transfer rest = {.is_read = true,
                        .address = from + first,
                        .host = out + first,
                        .size = size - first,
                        .piece = piece,
                        .stream = stream};
    const bool is_shared = rest.size >= SHARED_LEAST;
    if (is_shared)
        share_begin(device, &rest);
    copy(out, slot->host, (size_t)first);
    slot_give(device, slots, slot);
    run_pieces(device, &rest);
    if (is_shared)
        share_end(device, &rest);
    return rest.result;
}

khal_status cu_staging_read(cu_device* device, CUdeviceptr from, void* out, uint64_t size, CUstream stream,
                            uint64_t deadline)
{
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return cu_check(device, CUDA_ERROR_INVALID_CONTEXT, KHAL_ERROR_DRIVER, NULL, "a read");
    CUresult result;
    if (size <= SMALL_MOST) {
        cu_slots* slots = &device->staging->small;
        cu_slot* slot;
        result = fetch_piece(device, slots, from, size, stream, deadline, &slot);
        if (result == CUDA_SUCCESS) {
            memcpy(out, slot->host, (size_t)size);
            slot_give(device, slots, slot);
        }
    } else {
        result = read_large(device, from, out, size, stream, deadline);
    }
    cu_leave(device, scope);
    if (result == CUDA_ERROR_NOT_READY)
        return KHAL_TIMEOUT;
    return cu_check(device, result, KHAL_ERROR_DRIVER, NULL, "a read");
}

CUresult cu_staging_drain(cu_device* device, CUstream stream, uint64_t deadline)
{
    cu_slots* slots = &device->staging->small;
    cu_scope scope;
    cu_slot* slot;
    if (slots->made == 0) /* not opened: there is nothing on its way */
        return CUDA_SUCCESS;
    if (!cu_enter(device, &scope))
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = slot_take(device, slots, deadline, &slot);
    if (result == CUDA_SUCCESS) {
        khal__mutex_lock(&device->lock);
        result = device->f->EventRecord(slot->event, stream);
        khal__mutex_unlock(&device->lock);
        if (result == CUDA_SUCCESS)
            result = wait_event(device, slot->event, NULL, deadline);
        slot->is_pending = result == CUDA_ERROR_NOT_READY;
        slot_give(device, slots, slot);
    }
    cu_leave(device, scope);
    return result;
}

/* ---- uploads ----------------------------------------------------------------------------------- */

uint64_t cu_upload_mark(cu_device* device)
{
    device->staging->is_unsealed = true;
    return ++device->staging->upload_count;
}

CUresult cu_upload_seal(cu_device* device)
{
    cu_staging* staging = device->staging;
    if (!staging->is_unsealed)
        return CUDA_SUCCESS;
    const CUresult result = device->f->EventRecord(staging->uploaded, device->stream);
    staging->is_unsealed = result != CUDA_SUCCESS;
    return result;
}

uint64_t cu_upload_count(cu_device* device)
{
    return device->staging->upload_count;
}

uint64_t cu_upload_done(cu_device* device)
{
    return device->staging->uploads_done;
}

void cu_upload_seen(cu_device* device, uint64_t number)
{
    if (number > device->staging->uploads_done)
        device->staging->uploads_done = number;
}

CUresult cu_upload_order(cu_device* device, CUstream stream)
{
    CUresult result = cu_upload_seal(device);
    if (result == CUDA_SUCCESS)
        result = device->f->EventQuery(device->staging->uploaded);
    if (result == CUDA_SUCCESS)
        device->staging->uploads_done = device->staging->upload_count;
    else if (result == CUDA_ERROR_NOT_READY)
        result = device->f->StreamWaitEvent(stream, device->staging->uploaded, 0);
    return result;
}

/* ---- opening and closing ----------------------------------------------------------------------- */

static CUresult make_event(cu_device* device, CUevent* out)
{
    return device->f->EventCreate(out, CU_EVENT_DISABLE_TIMING);
}

khal_status cu_staging_open(cu_device* device)
{
    cu_staging* staging = khal__alloc(device->front, sizeof *staging, _Alignof(cu_staging));
    if (staging == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for staging");
    memset(staging, 0, sizeof *staging);
    khal__mutex_init(&staging->lock);
    khal__condition_init(&staging->work);
    khal__condition_init(&staging->done);
    device->staging = staging;
    staging->small.size = SMALL_MOST;
    staging->large.size = PIECE_MOST;
    staging->ring = cu_pinned_take(device, SEGMENT * SEGMENTS);
    staging->small_memory = cu_pinned_take(device, SMALL_MOST * SLOTS);
    if (staging->ring == NULL || staging->small_memory == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no pinned memory for staging");
    CUresult result = make_event(device, &staging->uploaded);
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < SEGMENTS; ++i)
        result = make_event(device, &staging->segment_events[i]);
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < SLOTS; ++i) {
        staging->small.all[i].host = staging->small_memory->host + i * SMALL_MOST;
        slots_add(&staging->small, &staging->small.all[i]);
        slots_add(&staging->large, &staging->large.all[i]);
        result = make_event(device, &staging->small.all[i].event);
        if (result == CUDA_SUCCESS)
            result = make_event(device, &staging->large.all[i].event);
    }
    if (result == CUDA_SUCCESS)
        staging->small.made = SLOTS;
    return cu_check(device, result, KHAL_ERROR_DRIVER, NULL, "an event");
}

static void drop_event(cu_device* device, CUevent event)
{
    if (event != NULL)
        (void)device->f->EventDestroy(event);
}

void cu_staging_close(cu_device* device)
{
    cu_staging* staging = device->staging;
    khal__mutex_lock(&staging->lock);
    staging->is_stopping = true;
    khal__condition_broadcast(&staging->work);
    khal__mutex_unlock(&staging->lock);
    for (uint32_t i = 0; i < staging->thread_count; ++i)
        khal__thread_join(&staging->threads[i]);
    drop_event(device, staging->uploaded);
    for (uint32_t i = 0; i < SEGMENTS; ++i)
        drop_event(device, staging->segment_events[i]);
    for (uint32_t i = 0; i < SLOTS; ++i) {
        drop_event(device, staging->small.all[i].event);
        drop_event(device, staging->large.all[i].event);
        cu_pinned_give(device, staging->large.all[i].pinned);
    }
    cu_pinned_give(device, staging->ring);
    cu_pinned_give(device, staging->small_memory);
    khal__condition_destroy(&staging->work);
    khal__condition_destroy(&staging->done);
    khal__mutex_destroy(&staging->lock);
    khal__free(device->front, staging, sizeof *staging);
    device->staging = NULL;
}
