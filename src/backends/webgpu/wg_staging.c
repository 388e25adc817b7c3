#include "wg.h"

#include <string.h>

/* Chunks are taken again and again: the best fit of those that are free. Mapping and unmapping costs the same for all
 * sizes, so few sizes are made. */
#define SMALLEST (4u << 10)
#define SEGMENT (4u << 20)       /* of a long transfer */
#define SEGMENTS 4u              /* of one transfer on their way at once */
#define MOST_FREE (64u << 20)    /* bytes of each kind that are kept */
#define SCRATCH_SIZE 64u

struct wg_staging {
    wg_chunk* free[2];   /* [is_upload]: ready */
    wg_chunk* coming[2]; /* asked for, nobody waits */
    uint64_t free_size[2], upload_size; /* bytes; of all upload chunks */
    WGPUBuffer scratch;  /* bytes of a write that are no whole words */
};

static void unlink_and_free(wg_device* device, wg_chunk* chunk)
{
    if (chunk->is_upload)
        device->staging->upload_size -= chunk->size;
    device->library->f.BufferDestroy(chunk->handle);
    device->library->f.BufferRelease(chunk->handle);
    khal__free(device->front, chunk, sizeof *chunk);
}

khal_status wg_staging_open(wg_device* device)
{
    wg_staging* staging = khal__alloc(device->front, sizeof *staging, _Alignof(wg_staging));
    if (staging == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for the staging buffers");
    memset(staging, 0, sizeof *staging);
    device->staging = staging;
    wg_lock(device);
    wg_scope_begin(device);
    const WGPUBufferDescriptor desc = {.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
                                       .size = SCRATCH_SIZE};
    staging->scratch = device->library->f.DeviceCreateBuffer(device->device, &desc);
    const khal_status status = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "a staging buffer");
    wg_unlock(device);
    return status;
}

/* Callbacks of the library may still come for chunks that are asked for, until the device is released: the records stay. */
void wg_staging_release(wg_device* device)
{
    wg_staging* staging = device->staging;
    if (staging == NULL)
        return;
    const wg_functions* f = &device->library->f;
    for (int k = 0; k < 2; ++k)
        for (int list = 0; list < 2; ++list)
            for (wg_chunk* c = list == 0 ? staging->free[k] : staging->coming[k]; c != NULL; c = c->next) {
                f->BufferDestroy(c->handle);
                f->BufferRelease(c->handle);
            }
    if (staging->scratch != NULL)
        f->BufferRelease(staging->scratch);
}

void wg_staging_close(wg_device* device)
{
    wg_staging* staging = device->staging;
    if (staging == NULL)
        return;
    for (int k = 0; k < 2; ++k)
        for (int list = 0; list < 2; ++list)
            for (wg_chunk *c = list == 0 ? staging->free[k] : staging->coming[k], *next; c != NULL; c = next) {
                next = c->next;
                if (device->is_foreign && c->is_asked)
                    c->device = NULL; /* the program's instance may still call: the record stays */
                else
                    khal__free(device->front, c, sizeof *c);
            }
    khal__free(device->front, staging, sizeof *staging);
}

/* ---- chunks ------------------------------------------------------------------------------------ */

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void* user, void* unused)
{
    (void)unused;
    wg_chunk* chunk = user;
    if (chunk->device == NULL) /* closed meanwhile */
        return;
    if (status != WGPUMapAsyncStatus_Success) {
        char text[256];
        wg_text(text, sizeof text, message);
        wg_lose_if_told(chunk->device, text);
    }
    chunk->is_asked = false;
    chunk->is_mapped = status == WGPUMapAsyncStatus_Success;
    --chunk->device->outstanding;
}

static void ask(wg_chunk* chunk, WGPUMapMode mode, uint64_t size)
{
    wg_device* device = chunk->device;
    const WGPUBufferMapCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_mapped, .userdata1 = chunk};
    chunk->is_asked = true;
    chunk->is_mapped = false;
    chunk->memory = NULL;
    chunk->mapped = size;
    ++device->outstanding;
    wg_scope_begin(device);
    device->library->f.BufferMapAsync(chunk->handle, mode, 0, (size_t)size, callback);
    char message[64];
    (void)wg_scope_take(device, message, sizeof message); /* the callback has it too */
}

void wg_staging_ask(wg_chunk* chunk, uint64_t size)
{
    ask(chunk, WGPUMapMode_Read, size);
}

/* An upload chunk that is full: the library may have its bytes. Before the submit that copies from it. (lock) */
static void seal(wg_chunk* chunk)
{
    chunk->device->library->f.BufferUnmap(chunk->handle);
    chunk->is_mapped = false;
    chunk->memory = NULL;
}

/* Where the mapped bytes lie; NULL: the library does not tell. */
static void* address(wg_chunk* chunk)
{
    if (chunk->memory == NULL && chunk->is_mapped) {
        const wg_functions* f = &chunk->device->library->f;
        chunk->memory = chunk->is_upload
                            ? f->BufferGetMappedRange(chunk->handle, 0, (size_t)chunk->mapped)
                            : (void*)(uintptr_t)f->BufferGetConstMappedRange(chunk->handle, 0, (size_t)chunk->mapped);
    }
    return chunk->memory;
}

/* Not asked for. */
static void put_free(wg_device* device, wg_chunk* chunk)
{
    wg_staging* staging = device->staging;
    const int kind = chunk->is_upload;
    if (!chunk->is_upload && chunk->is_mapped)
        seal(chunk);
    const bool has_failed = chunk->is_upload && address(chunk) == NULL;
    if (has_failed || chunk->size + staging->free_size[kind] > MOST_FREE) {
        unlink_and_free(device, chunk);
        return;
    }
    staging->free_size[kind] += chunk->size;
    chunk->next = staging->free[kind];
    staging->free[kind] = chunk;
}

static void sweep(wg_device* device, int kind)
{
    wg_chunk** at = &device->staging->coming[kind];
    while (*at != NULL) {
        wg_chunk* chunk = *at;
        if (chunk->is_asked) {
            at = &chunk->next;
            continue;
        }
        *at = chunk->next;
        put_free(device, chunk);
    }
}

void wg_staging_give(wg_chunk* chunk)
{
    wg_device* device = chunk->device;
    if (chunk->is_upload && !chunk->is_asked && !chunk->is_mapped)
        ask(chunk, WGPUMapMode_Write, chunk->size);
    if (!chunk->is_asked) {
        put_free(device, chunk);
        return;
    }
    chunk->next = device->staging->coming[chunk->is_upload];
    device->staging->coming[chunk->is_upload] = chunk;
}

static wg_chunk* create(wg_device* device, bool is_upload, uint64_t size)
{
    wg_chunk* chunk = khal__alloc(device->front, sizeof *chunk, _Alignof(wg_chunk));
    if (chunk == NULL) {
        khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a staging buffer");
        return NULL;
    }
    *chunk = (wg_chunk){.device = device, .is_upload = is_upload, .size = size, .mapped = size, .is_mapped = is_upload};
    const WGPUBufferDescriptor desc = {.usage = is_upload ? WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc
                                                          : WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst,
                                       .size = size,
                                       .mappedAtCreation = is_upload};
    wg_scope_begin(device);
    chunk->handle = device->library->f.DeviceCreateBuffer(device->device, &desc);
    khal_status status = wg_scope_end(device, KHAL_ERROR_OUT_OF_MEMORY, NULL, "a staging buffer");
    if (status == KHAL_OK && (chunk->handle == NULL || (is_upload && address(chunk) == NULL)))
        status = khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a staging buffer of %llu bytes",
                            (unsigned long long)size);
    if (status != KHAL_OK) {
        if (chunk->handle != NULL)
            device->library->f.BufferRelease(chunk->handle);
        khal__free(device->front, chunk, sizeof *chunk);
        return NULL;
    }
    if (is_upload)
        device->staging->upload_size += size;
    return chunk;
}

wg_chunk* wg_staging_take(wg_device* device, bool is_upload, uint64_t size)
{
    wg_staging* staging = device->staging;
    sweep(device, is_upload);
    wg_chunk** best = NULL;
    for (wg_chunk** at = &staging->free[is_upload]; *at != NULL; at = &(*at)->next)
        if ((*at)->size >= size && (best == NULL || (*at)->size < (*best)->size))
            best = at;
    uint64_t rounded = SMALLEST;
    while (rounded < size && rounded < SEGMENT)
        rounded *= 4;
    if (rounded < size)
        rounded = (size + (SMALLEST - 1)) & ~(uint64_t)(SMALLEST - 1);
    if (best != NULL && (*best)->size <= 4 * rounded) {
        wg_chunk* chunk = *best;
        *best = chunk->next;
        chunk->next = NULL;
        staging->free_size[is_upload] -= chunk->size;
        return chunk;
    }
    return create(device, is_upload, rounded);
}

/* ---- reading ----------------------------------------------------------------------------------- */

typedef struct segment {
    wg_chunk* chunk;
    char* out;
    uint64_t skip, size;
} segment;

/* Copies the words around the segment's bytes into a chunk and asks for it. */
static khal_status start_read(wg_device* device, WGPUBuffer source, uint64_t offset, segment* s)
{
    const uint64_t first = offset & ~(uint64_t)3;
    const uint64_t bytes = (offset + s->size - first + 3) & ~(uint64_t)3;
    s->skip = offset - first;
    s->chunk = wg_staging_take(device, false, (bytes + 7) & ~(uint64_t)7);
    if (s->chunk == NULL)
        return khal_error_get()->status;
    wg_recorder recorder;
    khal_status status = wg_recorder_begin(&recorder, device);
    if (status == KHAL_OK) {
        device->library->f.CommandEncoderCopyBufferToBuffer(recorder.encoder, source, first, s->chunk->handle, 0, bytes);
        status = wg_recorder_end(&recorder, KHAL_OK);
    }
    if (status == KHAL_OK)
        wg_staging_ask(s->chunk, (bytes + 7) & ~(uint64_t)7);
    else
        wg_staging_give(s->chunk);
    return status;
}

khal_status wg_staging_read(wg_device* device, WGPUBuffer source, uint64_t offset, void* out, uint64_t size, uint64_t deadline)
{
    segment segments[SEGMENTS];
    uint32_t first = 0, count = 0;
    uint64_t started = 0;
    khal_status status = KHAL_OK;
    wg_lock(device);
    while (status == KHAL_OK && (started < size || count > 0)) {
        while (status == KHAL_OK && started < size && count < SEGMENTS) {
            segment* s = &segments[(first + count) % SEGMENTS];
            s->size = size - started < SEGMENT ? size - started : SEGMENT;
            s->out = (char*)out + started;
            status = start_read(device, source, offset + started, s);
            if (status == KHAL_OK) {
                started += s->size;
                ++count;
            }
        }
        segment* s = &segments[first];
        for (uint32_t turn = 0; status == KHAL_OK && s->chunk->is_asked;)
            if (!wg_wait_turn(device, &turn, deadline))
                status = KHAL_TIMEOUT;
        if (status != KHAL_OK)
            break;
        const char* memory = address(s->chunk);
        if (memory == NULL) {
            status = khal__fail(device->front, KHAL_ERROR_DRIVER, 0, NULL, "the library does not map what was read");
            break;
        }
        deadline = UINT64_MAX; /* some of it is there: the rest follows at once */
        wg_unlock(device);
        memcpy(s->out, memory + s->skip, (size_t)s->size);
        wg_lock(device);
        wg_staging_give(s->chunk);
        first = (first + 1) % SEGMENTS;
        --count;
    }
    for (; count > 0; --count, first = (first + 1) % SEGMENTS)
        wg_staging_give(segments[first].chunk);
    wg_unlock(device);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------- */

/* Whole words. The lock is let go while bytes are copied. */
static khal_status write_words(wg_device* device, WGPUBuffer target, uint64_t offset, const char* data, uint64_t size)
{
    const wg_functions* f = &device->library->f;
    if (size <= device->library->direct_write_size) {
        for (uint64_t done = 0, n; done < size; done += n) {
            n = size - done < SEGMENT ? size - done : SEGMENT;
            wg_scope_begin(device);
            f->QueueWriteBuffer(device->queue, target, offset + done, data + done, (size_t)n);
            const khal_status status = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "a write");
            if (status != KHAL_OK)
                return status;
            wg_queue_wrote(device, n);
        }
        return KHAL_OK;
    }
    khal_status status = KHAL_OK;
    for (uint64_t done = 0; status == KHAL_OK && done < size;) {
        const uint64_t n = size - done < SEGMENT ? size - done : SEGMENT;
        sweep(device, true);
        for (uint32_t turn = 0; device->staging->coming[true] != NULL && device->staging->free[true] == NULL &&
                                device->staging->upload_size >= (uint64_t)SEGMENT * SEGMENTS;) {
            if (!wg_wait_turn(device, &turn, UINT64_MAX))
                return KHAL_TIMEOUT; /* lost */
            sweep(device, true);
        }
        wg_chunk* chunk = wg_staging_take(device, true, n);
        if (chunk == NULL)
            return khal_error_get()->status;
        wg_unlock(device);
        memcpy(chunk->memory, data + done, (size_t)n);
        wg_lock(device);
        seal(chunk);
        wg_recorder recorder;
        status = wg_recorder_begin(&recorder, device);
        if (status == KHAL_OK) {
            f->CommandEncoderCopyBufferToBuffer(recorder.encoder, chunk->handle, 0, target, offset + done, n);
            status = wg_recorder_end(&recorder, KHAL_OK);
        }
        wg_staging_give(chunk);
        done += n;
    }
    return status;
}

khal_status wg_staging_write(wg_device* device, WGPUBuffer target, uint64_t end, uint64_t offset, const void* data,
                             uint64_t size)
{
    const char* bytes = data;
    uint64_t head = (4 - (offset & 3)) & 3;
    head = head < size ? head : size;
    uint64_t tail = (size - head) & 3;
    const uint64_t middle = size - head - tail;
    const bool is_end = offset + size == end; /* the last word's other bytes are nobody's */
    khal_status status = KHAL_OK;
    wg_lock(device);
    ++device->changes;
    if (middle > 0)
        status = write_words(device, target, offset + head, bytes + head, middle);
    if (status == KHAL_OK && tail > 0 && is_end) {
        uint32_t word = 0;
        memcpy(&word, bytes + head + middle, (size_t)tail);
        status = write_words(device, target, offset + head + middle, (const char*)&word, 4);
        tail = 0;
    }
    if (status == KHAL_OK && head + tail > 0) {
        /* The queue keeps the order: the scratch is read before the next write reaches it. */
        uint32_t words[2] = {0, 0};
        memcpy(&words[0], bytes, (size_t)head);
        memcpy(&words[1], bytes + head + middle, (size_t)tail);
        WGPUBuffer scratch = device->staging->scratch;
        wg_recorder recorder;
        device->library->f.QueueWriteBuffer(device->queue, scratch, 0, words, sizeof words);
        status = wg_recorder_begin(&recorder, device);
        if (status == KHAL_OK) {
            if (head > 0)
                status = wg_internal_copy(&recorder, scratch, 0, target, offset, head);
            if (status == KHAL_OK && tail > 0)
                status = wg_internal_copy(&recorder, scratch, 4, target, offset + head + middle, tail);
            status = wg_recorder_end(&recorder, status);
        }
    }
    wg_unlock(device);
    return status;
}
