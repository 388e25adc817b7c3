/* Copies between devices, through the host. */
#include "core.h"

#define CHUNK_SIZE ((size_t)1 << 20)

static khal_status copy_ranges(const khal__range* from, const khal__range* to, uint64_t deadline)
{
    khal_device *source = from->buffer->object.device, *target = to->buffer->object.device;
    khal__mutex_lock(&source->track_lock);
    const khal_ticket after = khal__buffer_conflict(from->buffer, from->offset, from->size, false);
    khal__mutex_unlock(&source->track_lock);
    /* All of the waiting is done before the first byte, so that a timeout leaves the target as it
     * was. */
    khal_status status = khal__wait(source, after, khal__remaining(deadline));
    if (khal__is_lost(source))
        return khal__fail_lost(source);
    if (status == KHAL_TIMEOUT)
        return khal__fail(source, KHAL_ERROR_TIMEOUT, 0, from->buffer->object.label,
                          "work that writes the source (ticket %llu) is not done",
                          (unsigned long long)after);
    if (status != KHAL_OK)
        return status;
    const size_t chunk = from->size < CHUNK_SIZE ? (size_t)from->size : CHUNK_SIZE;
    void* memory = khal__alloc(target, chunk, 64);
    if (memory == NULL)
        return khal__fail_memory(target, to->buffer->object.label, "the copy", chunk);
    for (uint64_t done = 0; done < from->size && status == KHAL_OK;) {
        const uint64_t size = from->size - done < chunk ? from->size - done : chunk;
        status = khal_buffer_read(from->buffer, from->offset + done, memory, size, KHAL_FOREVER);
        if (status == KHAL_OK)
            status = khal_buffer_write(to->buffer, to->offset + done, memory, size);
        done += size;
    }
    khal__free(target, memory, chunk);
    return status;
}

khal_status khal_copy_between(khal_slice source, khal_slice target, uint64_t timeout)
{
    const uint64_t deadline = khal__deadline(timeout);
    khal__range from, to;
    khal_status status = khal__copy_resolve(NULL, &source, &target, &from, &to);
    if (status != KHAL_OK)
        return status;
    khal_device* device = from.buffer->object.device;
    if (khal__is_lost(device) || khal__is_lost(to.buffer->object.device))
        return khal__fail_lost(khal__is_lost(device) ? device : to.buffer->object.device);
    status = khal__copy_check(device, from.buffer->object.label, &from, &to);
    if (status != KHAL_OK)
        return status;
    return from.size > 0 ? copy_ranges(&from, &to, deadline) : KHAL_OK;
}
