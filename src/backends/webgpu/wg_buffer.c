#include "wg.h"

#include <string.h>

#define TIDY_EVERY 64u /* buffers */

/* Where bytes that belong to nobody begin. */
static uint64_t end_of(const wg_buffer* buffer)
{
    return buffer->is_foreign ? UINT64_MAX : buffer->size;
}

khal_status wg_buffer_create(khal_buffer* front, const khal_buffer_desc* desc)
{
    wg_device* device = wg_device_of(khal__buffer_device(front));
    wg_buffer* buffer = wg_buffer_of(front);
    wg_lock(device);
    buffer->serial = device->next_serial++;
    buffer->size = desc->size;
    buffer->allocated = (desc->size + 15) & ~(uint64_t)15;
    if (buffer->serial % TIDY_EVERY == 0)
        wg_queue_tidy(device);
    khal_status status = KHAL_OK;
    if (desc->size > 0) {
        const WGPUBufferDescriptor wanted = {.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_Uniform |
                                                      WGPUBufferUsage_Indirect | WGPUBufferUsage_CopySrc |
                                                      WGPUBufferUsage_CopyDst,
                                             .size = buffer->allocated};
        wg_scope_begin(device);
        buffer->handle = device->library->f.DeviceCreateBuffer(device->device, &wanted);
        status = wg_scope_end(device, KHAL_ERROR_DRIVER, desc->label, "the buffer");
        if (status == KHAL_OK && buffer->handle == NULL)
            status = khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, desc->label,
                                "no memory for a buffer of %llu bytes", (unsigned long long)desc->size);
    }
    wg_unlock(device);
    if (status == KHAL_OK && desc->size > 0 && desc->data != NULL)
        status = wg_staging_write(device, buffer->handle, desc->size, 0, desc->data, desc->size);
    if (status != KHAL_OK && buffer->handle != NULL)
        wg_buffer_destroy(front);
    return status;
}

khal_status wg_buffer_wrap(khal_buffer* front, void* handle, const khal_buffer_desc* desc)
{
    static const struct {
        uint32_t usage;
        WGPUBufferUsage needed;
        const char* name;
    } needs[] = {{~0u, WGPUBufferUsage_Storage, "Storage"},
                 {~0u, WGPUBufferUsage_CopySrc, "CopySrc"},
                 {~0u, WGPUBufferUsage_CopyDst, "CopyDst"},
                 {KHAL_USAGE_UNIFORM, WGPUBufferUsage_Uniform, "Uniform"},
                 {KHAL_USAGE_INDIRECT, WGPUBufferUsage_Indirect, "Indirect"}};
    wg_device* device = wg_device_of(khal__buffer_device(front));
    const wg_functions* f = &device->library->f;
    wg_buffer* buffer = wg_buffer_of(front);
    wg_lock(device);
    const uint64_t size = f->BufferGetSize(handle);
    const WGPUBufferUsage usage = f->BufferGetUsage(handle);
    wg_unlock(device);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; ++i)
        if ((desc->usage & needs[i].usage) != 0 && (usage & needs[i].needed) == 0)
            return khal__fail(device->front, KHAL_ERROR_BUFFER_USAGE, 0, desc->label, "the WGPUBuffer lacks WGPUBufferUsage_%s",
                              needs[i].name);
    if (desc->size > size || desc->size % 4 != 0)
        return khal__fail(device->front, KHAL_ERROR_BUFFER_RANGE, 0, desc->label,
                          "size is %llu: a multiple of 4, at most the WGPUBuffer's %llu", (unsigned long long)desc->size,
                          (unsigned long long)size);
    wg_lock(device);
    f->BufferAddRef(handle);
    buffer->handle = handle;
    buffer->size = desc->size;
    buffer->allocated = size & ~(uint64_t)3;
    buffer->serial = device->next_serial++;
    buffer->is_foreign = true;
    wg_unlock(device);
    return KHAL_OK;
}

void wg_buffer_destroy(khal_buffer* front)
{
    wg_device* device = wg_device_of(khal__buffer_device(front));
    wg_buffer* buffer = wg_buffer_of(front);
    if (buffer->handle == NULL)
        return;
    wg_lock(device);
    wg_dispatch_forget(device, buffer->serial);
    /* Copies of ours may be in the queue still, which keep it. */
    device->library->f.BufferRelease(buffer->handle);
    buffer->handle = NULL;
    wg_unlock(device);
}

/* ---- writes and reads -------------------------------------------------------------------------- */

khal_status wg_buffer_write(khal_buffer* front, uint64_t offset, const void* data, uint64_t size, khal_ticket after)
{
    wg_device* device = wg_device_of(khal__buffer_device(front));
    const wg_buffer* buffer = wg_buffer_of(front);
    const khal_status status = wg_wait_issued(device, after, UINT64_MAX);
    if (status != KHAL_OK)
        return status;
    return wg_staging_write(device, buffer->handle, end_of(buffer), offset, data, size);
}

/* Waits for the work itself within the deadline. The copy that follows is given as long as it takes, unless it stands
 * behind other work. */
static khal_status read_by(khal_buffer* front, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                           uint64_t deadline)
{
    khal_device* device_front = khal__buffer_device(front);
    wg_device* device = wg_device_of(device_front);
    const wg_buffer* buffer = wg_buffer_of(front);
    khal_status status = wg_wait_issued(device, after, deadline);
    if (status != KHAL_OK)
        return status;
    wg_lock(device);
    wg_events(device);
    wg_queue_advance(device);
    if (wg_queue_is_idle(device))
        deadline = UINT64_MAX;
    wg_unlock(device);
    return wg_staging_read(device, buffer->handle, offset, out, size, deadline);
}

khal_status wg_buffer_read(khal_buffer* front, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                           uint64_t timeout)
{
    return read_by(front, offset, out, size, after, wg_deadline(timeout));
}

/* ---- maps: memory of ours beside the buffer's, which WebGPU would not let be mapped in a submit -- */

/* So that what is aligned in the buffer is aligned in memory. */
static uint64_t shadow_begin(const wg_buffer* buffer)
{
    return buffer->mapped_offset & ~(uint64_t)15;
}

static size_t shadow_size(const wg_buffer* buffer)
{
    return (size_t)(buffer->mapped_offset + buffer->mapped_size - shadow_begin(buffer));
}

static void free_shadow(khal_device* device, wg_buffer* buffer)
{
    if (buffer->shadow != NULL)
        khal__free(device, buffer->shadow, shadow_size(buffer));
    if (buffer->twin != NULL)
        khal__free(device, buffer->twin, shadow_size(buffer));
    buffer->shadow = buffer->twin = NULL;
}

/* The buffer's bytes come into the shadow. */
static khal_status pull(khal_buffer* front, uint64_t offset, uint64_t size, khal_ticket after, uint64_t deadline)
{
    wg_buffer* buffer = wg_buffer_of(front);
    const uint64_t at = offset - shadow_begin(buffer);
    const khal_status status = read_by(front, offset, buffer->shadow + at, size, after, deadline);
    if (status == KHAL_OK && buffer->twin != NULL)
        memcpy(buffer->twin + at, buffer->shadow + at, (size_t)size);
    return status;
}

static khal_status push(khal_buffer* front, uint64_t offset, uint64_t size)
{
    khal_device* device_front = khal__buffer_device(front);
    wg_device* device = wg_device_of(device_front);
    wg_buffer* buffer = wg_buffer_of(front);
    const uint64_t at = offset - shadow_begin(buffer);
    khal_status status = KHAL_OK;
    if (!khal__in_callback(device_front))
        status = wg_wait_issued(device, wg_submitted(device), UINT64_MAX);
    if (status == KHAL_OK)
        status = wg_staging_write(device, buffer->handle, end_of(buffer), offset, buffer->shadow + at, size);
    if (status == KHAL_OK && buffer->twin != NULL)
        memcpy(buffer->twin + at, buffer->shadow + at, (size_t)size);
    return status;
}

khal_status wg_buffer_map(khal_buffer* front, uint64_t offset, uint64_t size, uint32_t mode, khal_ticket after,
                          uint64_t timeout, void** out)
{
    khal_device* device = khal__buffer_device(front);
    wg_buffer* buffer = wg_buffer_of(front);
    const uint64_t deadline = wg_deadline(timeout);
    buffer->mapped_offset = offset;
    buffer->mapped_size = size;
    const bool is_written = (mode & KHAL_MAP_WRITE) != 0;
    if (size <= SIZE_MAX / 2) {
        buffer->shadow = khal__alloc(device, shadow_size(buffer), KHAL__MEMORY_ALIGN);
        if (buffer->shadow != NULL && is_written)
            buffer->twin = khal__alloc(device, shadow_size(buffer), KHAL__MEMORY_ALIGN);
    }
    wg_device* own = wg_device_of(device);
    wg_lock(own);
    buffer->agreed = own->changes; /* before the read, to be on the safe side */
    wg_unlock(own);
    khal_status status;
    if (buffer->shadow == NULL || (is_written && buffer->twin == NULL))
        status = khal__fail(device, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a map of %llu bytes",
                            (unsigned long long)size);
    else
        status = pull(front, offset, size, after, deadline);
    if (status != KHAL_OK) {
        free_shadow(device, buffer);
        return status;
    }
    *out = buffer->shadow + (offset - shadow_begin(buffer));
    return KHAL_OK;
}

khal_status wg_buffer_flush(khal_buffer* front, uint64_t offset, uint64_t size)
{
    return push(front, offset, size);
}

khal_status wg_buffer_invalidate(khal_buffer* front, uint64_t offset, uint64_t size, khal_ticket after, uint64_t timeout)
{
    return pull(front, offset, size, after, wg_deadline(timeout));
}

/* Flushes what the program has written. Where work or host writes came since the map, what they left in the other bytes
 * stays: it is read first. */
static void push_changes(khal_buffer* front)
{
    enum { BLOCK = 256 };
    khal_device* device_front = khal__buffer_device(front);
    wg_device* device = wg_device_of(device_front);
    const wg_buffer* buffer = wg_buffer_of(front);
    const uint64_t begin = buffer->mapped_offset - shadow_begin(buffer);
    const uint64_t end = shadow_size(buffer);
    wg_lock(device);
    const bool agrees = device->changes == buffer->agreed;
    wg_unlock(device);
    if (memcmp(buffer->shadow + begin, buffer->twin + begin, (size_t)(end - begin)) == 0)
        return;
    if (!agrees) {
        char* now = khal__alloc(device_front, (size_t)(end - begin), KHAL__MEMORY_ALIGN);
        if (now == NULL || read_by(front, buffer->mapped_offset, now, end - begin, 0, UINT64_MAX) != KHAL_OK) {
            khal__free(device_front, now, (size_t)(end - begin));
            return;
        }
        for (uint64_t i = begin; i < end; ++i) {
            if (buffer->shadow[i] == buffer->twin[i])
                buffer->shadow[i] = now[i - begin];
            buffer->twin[i] = now[i - begin];
        }
        khal__free(device_front, now, (size_t)(end - begin));
    }
    for (uint64_t at = begin; at < end;) {
        uint64_t stop = at;
        while (stop < end) {
            const uint64_t n = end - stop < BLOCK ? end - stop : BLOCK;
            if (memcmp(buffer->shadow + stop, buffer->twin + stop, (size_t)n) == 0)
                break;
            stop += n;
        }
        if (stop > at && push(front, shadow_begin(buffer) + at, stop - at) != KHAL_OK)
            return;
        at = stop + BLOCK;
    }
}

void wg_buffer_unmap(khal_buffer* front)
{
    khal_device* device = khal__buffer_device(front);
    wg_buffer* buffer = wg_buffer_of(front);
    if (buffer->twin != NULL && khal__device_is_up(device))
        push_changes(front);
    free_shadow(device, buffer);
}
