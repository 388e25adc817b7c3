#include "core.h"

#define ALL_USAGE 0xffu

/* A new one, or one over `handle`. */
static khal_status create(const char* file, int line, khal_device* device, void* handle,
                          const khal_buffer_desc* desc, khal_buffer** out_buffer)
{
    static const khal_buffer_desc defaults;
    if (device == NULL || out_buffer == NULL)
        return khal__fail_null(device, NULL, device == NULL ? "device" : "out_buffer");
    khal_buffer_desc d = desc != NULL ? *desc : defaults;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (d.element_size == 0)
        d.element_size = 1;
    if (d.usage == 0)
        d.usage = KHAL_USAGE_STORAGE | KHAL_USAGE_COPY_SRC | KHAL_USAGE_COPY_DST;
    if ((d.usage & ~ALL_USAGE) != 0)
        return khal__fail(device, KHAL_ERROR_BUFFER_USAGE_FLAGS, 0, d.label,
                          "usage is 0x%x; the known flags are 0x%x", d.usage, ALL_USAGE);
    if (d.size % d.element_size != 0)
        return khal__fail(device, KHAL_ERROR_BUFFER_ELEMENT_SIZE, 0, d.label,
                          "size %llu is no multiple of the element size %u",
                          (unsigned long long)d.size, d.element_size);
    if ((d.data != NULL) + d.uninitialized + (d.host_memory != NULL) > 1)
        return khal__fail(device, KHAL_ERROR_BUFFER_DATA, 0, d.label,
                          "more than one of data, uninitialized and host_memory is given");
    if (d.host_memory != NULL) {
        if ((device->info.features & KHAL_FEATURE_HOST_MEMORY) == 0)
            return khal__fail(device, KHAL_ERROR_UNSUPPORTED, 0, d.label,
                              "%s can't make a buffer of host memory", device->info.name);
        if ((uintptr_t)d.host_memory % 16 != 0)
            return khal__fail(device, KHAL_ERROR_BUFFER_HOST_MEMORY, 0, d.label,
                              "host_memory is %p; it must be aligned to 16 bytes", d.host_memory);
    }
    if (d.size > device->info.limits.buffer_size)
        return khal__fail(device, KHAL_ERROR_BUFFER_SIZE, 0, d.label,
                          "size is %llu bytes; the device takes at most %llu",
                          (unsigned long long)d.size,
                          (unsigned long long)device->info.limits.buffer_size);

    const size_t size = KHAL__IMPL_OFFSET(khal_buffer) + device->backend->buffer_size;
    khal_buffer* buffer = khal__alloc_zeroed(device, size, KHAL__IMPL_ALIGN);
    if (buffer == NULL)
        return khal__fail_memory(device, d.label, "the buffer object", size);
    buffer->object.device = device;
    khal__copy_label(buffer->object.label, d.label);
    buffer->size = d.size;
    buffer->element_size = d.element_size;
    buffer->usage = d.usage;
    buffer->address = (uint32_t)(uintptr_t)d.host_memory;
    atomic_init(&buffer->hint, 0);
    for (int i = 0; i < 2; ++i) {
        buffer->used[i].items = buffer->used_items[i];
        buffer->used[i].capacity = KHAL__BUFFER_SPANS;
    }
    khal__callbacks_hold();
    khal_status status = handle != NULL ? device->backend->buffer_wrap(buffer, handle, &d)
                                        : device->backend->buffer_create(buffer, &d);
    if (status != KHAL_OK && khal__is_lost(device))
        status = khal__fail_lost(device);
    khal__callbacks_go(device);
    if (status != KHAL_OK) {
        khal__free(device, buffer, size);
        return status;
    }
    khal__object_init(device, &buffer->object, KHAL__KIND_BUFFER, d.label, file, line);
    atomic_fetch_add(&device->buffer_count, 1);
    atomic_fetch_add(&device->buffer_size, d.size);
    *out_buffer = buffer;
    return KHAL_OK;
}

khal_status khal_buffer_create_at(const char* file, int line, khal_device* device,
                                  const khal_buffer_desc* desc, khal_buffer** out_buffer)
{
    return create(file, line, device, NULL, desc, out_buffer);
}

khal_status khal__buffer_wrap(const char* file, int line, khal_device* device, void* handle,
                              const khal_buffer_desc* desc, khal_buffer** out_buffer)
{
    return create(file, line, device, handle, desc, out_buffer);
}

void khal__buffer_destroy(khal_buffer* buffer)
{
    khal_device* device = buffer->object.device;
    khal__object_unlist(&buffer->object);
    if (buffer->mapped && buffer->map_size > 0)
        device->backend->buffer_unmap(buffer);
    device->backend->buffer_destroy(buffer);
    atomic_fetch_sub(&device->buffer_count, 1);
    atomic_fetch_sub(&device->buffer_size, buffer->size);
    khal__free(device, buffer, KHAL__IMPL_OFFSET(khal_buffer) + device->backend->buffer_size);
}

void khal_buffer_retain(khal_buffer* buffer)
{
    khal__object_retain((khal__object*)buffer);
}
void khal_buffer_release(khal_buffer* buffer)
{
    khal__object_release((khal__object*)buffer);
}
khal_device* khal_buffer_get_device(const khal_buffer* buffer)
{
    return buffer != NULL ? buffer->object.device : NULL;
}
uint64_t khal_buffer_get_size(const khal_buffer* buffer)
{
    return buffer != NULL ? buffer->size : 0;
}
uint32_t khal_buffer_get_element_size(const khal_buffer* buffer)
{
    return buffer != NULL ? buffer->element_size : 0;
}
uint32_t khal_buffer_get_usage(const khal_buffer* buffer)
{
    return buffer != NULL ? buffer->usage : 0;
}
const char* khal_buffer_get_label(const khal_buffer* buffer)
{
    return buffer != NULL ? buffer->object.label : "";
}

void* khal__buffer_impl(khal_buffer* buffer)
{
    return (char*)buffer + KHAL__IMPL_OFFSET(khal_buffer);
}
khal_device* khal__buffer_device(khal_buffer* buffer)
{
    return buffer->object.device;
}

/* ---- what submitted work uses ------------------------------------------------------------------
 */

khal_ticket khal__buffer_conflict(const khal_buffer* buffer, uint64_t offset, uint64_t size,
                                  bool write)
{
    khal_ticket last = khal__spans_max(&buffer->used[KHAL__WRITE], offset, offset + size);
    if (write) {
        const khal_ticket read = khal__spans_max(&buffer->used[KHAL__READ], offset, offset + size);
        if (read > last)
            last = read;
    }
    return last;
}

void khal__buffer_mark(khal_buffer* buffer, uint64_t begin, uint64_t end, bool write,
                       khal_ticket ticket, khal_ticket completed)
{
    if (buffer->last_use <= completed) {
        buffer->used[KHAL__READ].count = 0;
        buffer->used[KHAL__WRITE].count = 0;
    }
    khal__spans* used = &buffer->used[write ? KHAL__WRITE : KHAL__READ];
    if (used->count > KHAL__BUFFER_SPANS / 2)
        khal__spans_prune(used, completed);
    khal__spans_set(used, begin, end, ticket, KHAL__BUFFER_SPANS, NULL, NULL);
    buffer->last_use = ticket;
}

/* ---- the host's reads and writes ---------------------------------------------------------------
 */

static khal_status check_range(khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    if (offset <= buffer->size && size <= buffer->size - offset)
        return KHAL_OK;
    return khal__fail(buffer->object.device, KHAL_ERROR_BUFFER_RANGE, 0, buffer->object.label,
                      "bytes %llu and the %llu that follow; the buffer has %llu",
                      (unsigned long long)offset, (unsigned long long)size,
                      (unsigned long long)buffer->size);
}

static khal_ticket conflict(khal_buffer* buffer, uint64_t offset, uint64_t size, bool write)
{
    khal_device* device = buffer->object.device;
    khal__mutex_lock(&device->track_lock);
    const khal_ticket after = khal__buffer_conflict(buffer, offset, size, write);
    khal__mutex_unlock(&device->track_lock);
    return after;
}

/* Callbacks wait while the backend is called, so that a failure is reported once, however the
 * backend told it. */
static khal_status told(khal_buffer* buffer, khal_status status, khal_ticket after)
{
    khal_device* device = buffer->object.device;
    if (status == KHAL_OK)
        return KHAL_OK;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (status == KHAL_TIMEOUT)
        return khal__fail(device, KHAL_ERROR_TIMEOUT, 0, buffer->object.label,
                          "work that uses the buffer (ticket %llu) is not done",
                          (unsigned long long)after);
    return status;
}

static khal_status finish(khal_buffer* buffer, khal_status status, khal_ticket after)
{
    khal_device* device = buffer->object.device;
    status = told(buffer, status, after);
    khal__callbacks_go(device);
    if (after != 0)
        khal__retire(device);
    return status;
}

khal_status khal_buffer_write(khal_buffer* buffer, uint64_t offset, const void* data, uint64_t size)
{
    if (buffer == NULL)
        return khal__fail_null(NULL, NULL, "buffer");
    khal_device* device = buffer->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    const khal_status status = check_range(buffer, offset, size);
    if (status != KHAL_OK || size == 0)
        return status;
    if (data == NULL)
        return khal__fail_null(device, buffer->object.label, "data");
    const khal_ticket after = conflict(buffer, offset, size, true);
    khal__callbacks_hold();
    return finish(buffer, device->backend->buffer_write(buffer, offset, data, size, after), after);
}

khal_status khal_buffer_read(khal_buffer* buffer, uint64_t offset, void* out_data, uint64_t size,
                             uint64_t timeout)
{
    if (buffer == NULL)
        return khal__fail_null(NULL, NULL, "buffer");
    khal_device* device = buffer->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    const khal_status status = check_range(buffer, offset, size);
    if (status != KHAL_OK || size == 0)
        return status;
    if (out_data == NULL)
        return khal__fail_null(device, buffer->object.label, "out_data");
    const khal_ticket after = conflict(buffer, offset, size, false);
    khal__callbacks_hold();
    return finish(buffer,
                  device->backend->buffer_read(buffer, offset, out_data, size, after, timeout),
                  after);
}

khal_status khal_buffer_map(khal_buffer* buffer, uint64_t offset, uint64_t size, uint32_t mode,
                            uint64_t timeout, void** out_data)
{
    if (buffer == NULL || out_data == NULL)
        return khal__fail_null(buffer != NULL ? buffer->object.device : NULL, NULL,
                               buffer == NULL ? "buffer" : "out_data");
    khal_device* device = buffer->object.device;
    const char* label = buffer->object.label;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (mode == 0 || (mode & ~(KHAL_MAP_READ | KHAL_MAP_WRITE)) != 0)
        return khal__fail(device, KHAL_ERROR_ARGUMENT_VALUE, 0, label,
                          "mode is %u; it takes KHAL_MAP_READ, KHAL_MAP_WRITE or both", mode);
    khal_status status = KHAL_OK;
    if ((mode & KHAL_MAP_READ) != 0)
        status = khal__usage_check(buffer, KHAL_USAGE_MAP_READ, "mapping for reading");
    if (status == KHAL_OK && (mode & KHAL_MAP_WRITE) != 0)
        status = khal__usage_check(buffer, KHAL_USAGE_MAP_WRITE, "mapping for writing");
    if (status == KHAL_OK)
        status = check_range(buffer, offset, size);
    if (status != KHAL_OK)
        return status;

    khal__mutex_lock(&device->track_lock);
    const bool is_taken = buffer->mapped || buffer->mapping;
    if (!is_taken)
        buffer->mapping = true;
    const khal_ticket after =
        is_taken ? 0 : khal__buffer_conflict(buffer, offset, size, (mode & KHAL_MAP_WRITE) != 0);
    khal__mutex_unlock(&device->track_lock);
    if (is_taken)
        return khal__fail(device, KHAL_ERROR_BUFFER_MAPPED, 0, label,
                          "the buffer is mapped already");

    void* data = NULL;
    khal__callbacks_hold();
    if (size > 0)
        status = device->backend->buffer_map(buffer, offset, size, mode, after, timeout, &data);
    khal__mutex_lock(&device->track_lock);
    buffer->mapping = false;
    if (status == KHAL_OK) {
        buffer->mapped = true;
        buffer->map_mode = mode;
        buffer->map_offset = offset;
        buffer->map_size = size;
    }
    khal__mutex_unlock(&device->track_lock);
    status = finish(buffer, status, after);
    if (status == KHAL_OK)
        *out_data = data;
    return status;
}

/* A range inside what is mapped, in that mode. */
static khal_status check_mapped(khal_buffer* buffer, uint64_t offset, uint64_t size, uint32_t mode,
                                khal_ticket* out_after)
{
    khal_device* device = buffer->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    const khal_status status = check_range(buffer, offset, size);
    if (status != KHAL_OK)
        return status;
    khal__mutex_lock(&device->track_lock);
    const bool is_mapped = buffer->mapped && (buffer->map_mode & mode) != 0 &&
                           offset >= buffer->map_offset &&
                           offset + size <= buffer->map_offset + buffer->map_size;
    *out_after = khal__buffer_conflict(buffer, offset, size, false);
    khal__mutex_unlock(&device->track_lock);
    if (!is_mapped)
        return khal__fail(device, KHAL_ERROR_BUFFER_NOT_MAPPED, 0, buffer->object.label,
                          "%llu bytes at %llu are not mapped for %s", (unsigned long long)size,
                          (unsigned long long)offset,
                          mode == KHAL_MAP_READ ? "reading" : "writing");
    return KHAL_OK;
}

khal_status khal_buffer_flush(khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    if (buffer == NULL)
        return khal__fail_null(NULL, NULL, "buffer");
    khal_ticket after = 0;
    khal_status status = check_mapped(buffer, offset, size, KHAL_MAP_WRITE, &after);
    if (status != KHAL_OK || size == 0 || buffer->object.device->backend->buffer_flush == NULL)
        return status;
    khal__callbacks_hold();
    return finish(buffer, buffer->object.device->backend->buffer_flush(buffer, offset, size), 0);
}

khal_status khal_buffer_invalidate(khal_buffer* buffer, uint64_t offset, uint64_t size,
                                   uint64_t timeout)
{
    if (buffer == NULL)
        return khal__fail_null(NULL, NULL, "buffer");
    khal_ticket after = 0;
    khal_status status = check_mapped(buffer, offset, size, KHAL_MAP_READ, &after);
    if (status != KHAL_OK || size == 0)
        return status;
    khal_device* device = buffer->object.device;
    khal__callbacks_hold();
    if (device->backend->buffer_invalidate != NULL)
        status = device->backend->buffer_invalidate(buffer, offset, size, after, timeout);
    else if (after > device->backend->completed(device))
        status = khal__wait(device, after, timeout);
    return finish(buffer, status, after);
}

khal_status khal_buffer_unmap(khal_buffer* buffer)
{
    if (buffer == NULL)
        return khal__fail_null(NULL, NULL, "buffer");
    khal_device* device = buffer->object.device;
    khal__mutex_lock(&device->track_lock);
    const bool is_mapped = buffer->mapped;
    const bool has_memory = is_mapped && buffer->map_size > 0;
    if (is_mapped) {
        buffer->mapped = false;
        buffer->mapping = has_memory; /* nobody maps it before the backend has let go */
    }
    khal__mutex_unlock(&device->track_lock);
    if (!is_mapped)
        return khal__fail(device, KHAL_ERROR_BUFFER_NOT_MAPPED, 0, buffer->object.label,
                          "the buffer is not mapped");
    if (has_memory) {
        device->backend->buffer_unmap(buffer);
        khal__mutex_lock(&device->track_lock);
        buffer->mapping = false;
        khal__mutex_unlock(&device->track_lock);
    }
    return khal__is_lost(device) ? khal__fail_lost(device) : KHAL_OK;
}

khal_status khal__usage_check(const khal_buffer* buffer, uint32_t any_of, const char* use)
{
    if ((buffer->usage & any_of) != 0)
        return KHAL_OK;
    return khal__fail(buffer->object.device, KHAL_ERROR_BUFFER_USAGE, 0, buffer->object.label,
                      "%s needs usage flag 0x%x; the buffer has 0x%x", use, any_of, buffer->usage);
}
