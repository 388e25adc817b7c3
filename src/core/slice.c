#include "core.h"

khal_status khal__slice_resolve(khal_device* device, const khal_slice* slice,
                                khal__range* out_range)
{
    const khal_buffer* buffer = slice->buffer;
    if (KHAL__UNLIKELY(buffer == NULL))
        return khal__fail(device, KHAL_ERROR_SLICE_NULL, 0, NULL, "the slice has no buffer");
    const char* label = buffer->object.label;
    if (KHAL__UNLIKELY(device != NULL && buffer->object.device != device))
        return khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0, label,
                          "the slice's buffer belongs to another device");
    device = buffer->object.device;
    uint64_t size = slice->size;
    if (slice->offset <= buffer->size && size == UINT64_MAX)
        size = buffer->size - slice->offset;
    if (KHAL__UNLIKELY(slice->offset > buffer->size || size > buffer->size - slice->offset))
        return khal__fail(device, KHAL_ERROR_SLICE_RANGE, 0, label,
                          "the slice has %llu bytes at %llu; the buffer has %llu",
                          (unsigned long long)size, (unsigned long long)slice->offset,
                          (unsigned long long)buffer->size);
    if (slice->element_size > 1) {
        if (KHAL__UNLIKELY(slice->offset % slice->element_size != 0))
            return khal__fail(device, KHAL_ERROR_SLICE_ALIGNMENT, 0, label,
                              "offset %llu is no multiple of the element size %u",
                              (unsigned long long)slice->offset, slice->element_size);
        if (KHAL__UNLIKELY(size % slice->element_size != 0))
            return khal__fail(device, KHAL_ERROR_SLICE_ELEMENT_SIZE, 0, label,
                              "%llu bytes are no multiple of the element size %u",
                              (unsigned long long)size, slice->element_size);
    }
    out_range->buffer = slice->buffer;
    out_range->offset = slice->offset;
    out_range->size = size;
    return KHAL_OK;
}

khal_slice khal_slice_all(khal_buffer* buffer)
{
    khal_slice slice = {buffer, 0, UINT64_MAX, buffer != NULL ? buffer->element_size : 0};
    return slice;
}

static khal_status sub(const khal_slice* whole, const khal__range* range, uint32_t element_size,
                       uint64_t first, uint64_t count, khal_slice* out_slice)
{
    const uint64_t have = range->size / element_size;
    if (first > have || count > have - first)
        return khal__fail(range->buffer->object.device, KHAL_ERROR_SLICE_RANGE, 0,
                          range->buffer->object.label, "%llu elements from %llu; there are %llu",
                          (unsigned long long)count, (unsigned long long)first,
                          (unsigned long long)have);
    khal_slice slice = {whole->buffer, range->offset + first * element_size, count * element_size,
                        element_size};
    *out_slice = slice;
    return KHAL_OK;
}

khal_status khal_slice_range(khal_buffer* buffer, uint64_t first, uint64_t count,
                             khal_slice* out_slice)
{
    return khal_slice_sub(khal_slice_all(buffer), first, count, out_slice);
}

khal_status khal_slice_sub(khal_slice slice, uint64_t first, uint64_t count, khal_slice* out_slice)
{
    if (out_slice == NULL)
        return khal__fail_null(NULL, NULL, "out_slice");
    khal__range range = {NULL, 0, 0};
    if (slice.buffer != NULL && slice.element_size == 0)
        slice.element_size = slice.buffer->element_size;
    const khal_status status = khal__slice_resolve(NULL, &slice, &range);
    return status != KHAL_OK ? status
                             : sub(&slice, &range, slice.element_size, first, count, out_slice);
}

khal_status khal_slice_reinterpret(khal_slice slice, uint32_t element_size, khal_slice* out_slice)
{
    if (out_slice == NULL)
        return khal__fail_null(NULL, NULL, "out_slice");
    khal__range range = {NULL, 0, 0};
    khal_status status = khal__slice_resolve(NULL, &slice, &range);
    if (status != KHAL_OK)
        return status;
    khal_slice made = {slice.buffer, range.offset, range.size,
                       element_size != 0 ? element_size : slice.buffer->element_size};
    status = khal__slice_resolve(NULL, &made, &range);
    if (status == KHAL_OK)
        *out_slice = made;
    return status;
}

uint64_t khal_slice_get_size(khal_slice slice)
{
    if (slice.buffer == NULL || slice.offset > slice.buffer->size)
        return 0;
    const uint64_t rest = slice.buffer->size - slice.offset;
    if (slice.size == UINT64_MAX)
        return rest;
    return slice.size <= rest ? slice.size : 0;
}

uint64_t khal_slice_get_count(khal_slice slice)
{
    if (slice.buffer == NULL)
        return 0;
    return khal_slice_get_size(slice) /
           (slice.element_size != 0 ? slice.element_size : slice.buffer->element_size);
}

khal_status khal__copy_resolve(khal_device* device, const khal_slice* source,
                               const khal_slice* target, khal__range* out_from, khal__range* out_to)
{
    khal_status status = khal__slice_resolve(device, source, out_from);
    if (status == KHAL_OK)
        status = khal__slice_resolve(device, target, out_to);
    if (status == KHAL_OK)
        status = khal__usage_check(out_from->buffer, KHAL_USAGE_COPY_SRC, "the source of a copy");
    if (status == KHAL_OK)
        status = khal__usage_check(out_to->buffer, KHAL_USAGE_COPY_DST, "the target of a copy");
    return status;
}

khal_status khal__copy_check(khal_device* device, const char* label, const khal__range* from,
                             const khal__range* to)
{
    if (from->size != to->size)
        return khal__fail(device, KHAL_ERROR_COPY_SIZE, 0, label,
                          "the source has %llu bytes, the target %llu",
                          (unsigned long long)from->size, (unsigned long long)to->size);
    if (from->buffer == to->buffer && from->offset < to->offset + to->size &&
        to->offset < from->offset + from->size)
        return khal__fail(device, KHAL_ERROR_COPY_OVERLAP, 0, from->buffer->object.label,
                          "%llu bytes at %llu and at %llu of one buffer overlap",
                          (unsigned long long)from->size, (unsigned long long)from->offset,
                          (unsigned long long)to->offset);
    return KHAL_OK;
}
