#include "cu.h"

#include <string.h>

#define PROMPT_MOST ((uint64_t)64 << 10) /* reads up to so many bytes follow the work in its own stream */

static cu_device* device_of(khal_buffer* front)
{
    return cu_device_of(khal__buffer_device(front));
}

static uint64_t remaining(uint64_t deadline)
{
    if (deadline == UINT64_MAX)
        return UINT64_MAX;
    const uint64_t now = khal__clock_now();
    return deadline > now ? deadline - now : 0;
}

/* ---- zeroing at the first use ------------------------------------------------------------------ */

/* (lock) */
static void set_blank(cu_device* device, cu_buffer* buffer, bool is_blank)
{
    if (atomic_exchange(&buffer->is_blank, is_blank) == is_blank)
        return;
    if (is_blank)
        atomic_fetch_add(&device->blank_count, 1);
    else
        atomic_fetch_sub(&device->blank_count, 1);
}

/* (lock) */
static CUresult settle(cu_device* device, khal_buffer* front)
{
    cu_buffer* buffer = front != NULL ? cu_buffer_of(front) : NULL;
    if (buffer == NULL || !atomic_load_explicit(&buffer->is_blank, memory_order_relaxed))
        return CUDA_SUCCESS;
    CUresult result = device->f->MemsetD8Async(buffer->block.address, 0, (size_t)buffer->block.size, device->stream);
    if (result == CUDA_SUCCESS) {
        buffer->upload = cu_upload_mark(device);
        set_blank(device, buffer, false);
    }
    return result;
}

static CUresult settle_dispatch(cu_device* device, const khal__command* command)
{
    CUresult result = command->u.dispatch.is_indirect ? settle(device, command->u.dispatch.indirect.buffer) : CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < command->u.dispatch.binding_count; ++i)
        result = settle(device, command->u.dispatch.bindings[i].buffer);
    return result;
}

CUresult cu_buffer_settle(cu_device* device, const khal__submission* submission)
{
    CUresult result = CUDA_SUCCESS;
    const bool is_any = atomic_load_explicit(&device->blank_count, memory_order_relaxed) > 0;
    for (const khal__command* c = submission->commands; is_any && c != NULL && result == CUDA_SUCCESS; c = c->next) {
        switch (c->kind) {
        case KHAL__COMMAND_DISPATCH: result = settle_dispatch(device, c); break;
        case KHAL__COMMAND_COPY:
            result = settle(device, c->u.copy.source.buffer);
            if (result == CUDA_SUCCESS)
                result = settle(device, c->u.copy.target.buffer);
            break;
        case KHAL__COMMAND_FILL: result = settle(device, c->u.fill.target.buffer); break;
        case KHAL__COMMAND_READ: result = settle(device, c->u.read.source.buffer); break;
        default: break;
        }
    }
    return result == CUDA_SUCCESS ? cu_upload_seal(device) : result;
}

khal_status cu_buffer_settle_one(khal_buffer* front)
{
    cu_device* device = device_of(front);
    cu_scope scope;
    if (!atomic_load(&cu_buffer_of(front)->is_blank))
        return KHAL_OK;
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (cu_enter(device, &scope)) {
        khal__mutex_lock(&device->lock);
        result = settle(device, front);
        khal__mutex_unlock(&device->lock);
        cu_leave(device, scope);
    }
    return cu_check(device, result, KHAL_ERROR_DRIVER, NULL, "zeroing a buffer");
}

/* ---- creating ---------------------------------------------------------------------------------- */

static khal_status use_host_memory(cu_device* device, cu_buffer* buffer, const khal_buffer_desc* desc)
{
    CUdeviceptr address = 0;
    const CUresult result = cu_host_register(device, desc->host_memory, desc->size, &address);
    if (result == CUDA_SUCCESS) {
        buffer->block = (cu_block){.address = address, .size = desc->size};
        buffer->host = desc->host_memory;
    }
    const bool is_unsupported = result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NOT_PERMITTED;
    return cu_check(device, result, is_unsupported ? KHAL_ERROR_UNSUPPORTED : KHAL_ERROR_BUFFER_HOST_MEMORY, desc->label,
                    "the driver does not take this host memory");
}

/* Bytes into the buffer, in the order of the stream. What is written in full needs no zeroes first. */
static khal_status upload(khal_buffer* front, uint64_t offset, const void* data, uint64_t size)
{
    cu_device* device = device_of(front);
    cu_buffer* buffer = cu_buffer_of(front);
    khal_status status = size < buffer->block.size ? cu_buffer_settle_one(front) : KHAL_OK;
    if (status != KHAL_OK)
        return status;
    cu_scope scope;
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (cu_enter(device, &scope)) {
        result = cu_staging_write(device, buffer->block.address + offset, data, size, device->stream);
        khal__mutex_lock(&device->lock);
        buffer->upload = cu_upload_mark(device);
        if (result == CUDA_SUCCESS)
            set_blank(device, buffer, false);
        khal__mutex_unlock(&device->lock);
        cu_leave(device, scope);
    }
    return cu_check(device, result, KHAL_ERROR_DRIVER, NULL, "writing a buffer");
}

khal_status cu_buffer_create(khal_buffer* front, const khal_buffer_desc* desc)
{
    cu_device* device = device_of(front);
    cu_buffer* buffer = cu_buffer_of(front);
    atomic_init(&buffer->is_blank, false);
    if (desc->size == 0)
        return KHAL_OK;
    if (desc->host_memory != NULL)
        return use_host_memory(device, buffer, desc);
    khal_status status = cu_check(device, cu_memory_take(device, desc->size, &buffer->block), KHAL_ERROR_DRIVER, desc->label,
                                  "memory for the buffer");
    if (status != KHAL_OK) {
        buffer->block = (cu_block){0};
        return status;
    }
    if (desc->data != NULL) {
        status = upload(front, 0, desc->data, desc->size);
        if (status != KHAL_OK)
            cu_memory_give(device, &buffer->block);
    } else if (!desc->uninitialized) {
        set_blank(device, buffer, true);
    }
    return status;
}

/* What the driver knows of the allocation around an address; false: nothing. */
static bool find_allocation(cu_device* device, CUdeviceptr address, CUdeviceptr* out_begin, size_t* out_size, int* out_device)
{
    const cu_functions* f = device->f;
    return f->PointerGetAttribute(out_begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) == CUDA_SUCCESS &&
           f->PointerGetAttribute(out_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == CUDA_SUCCESS &&
           f->PointerGetAttribute(out_device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS;
}

khal_status cu_buffer_wrap(khal_buffer* front, void* handle, const khal_buffer_desc* desc)
{
    cu_device* device = device_of(front);
    cu_buffer* buffer = cu_buffer_of(front);
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)handle;
    atomic_init(&buffer->is_blank, false);
    CUdeviceptr begin = 0;
    size_t size = 0;
    int owner = 0;
    unsigned type = CU_MEMORYTYPE_DEVICE;
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return cu_check(device, CUDA_ERROR_INVALID_CONTEXT, KHAL_ERROR_DRIVER, desc->label, "wrapping device memory");
    const bool is_known = find_allocation(device, address, &begin, &size, &owner);
    if (device->f->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        type = CU_MEMORYTYPE_DEVICE;
    cu_leave(device, scope);
    if (!is_known)
        return khal__fail(device->front, KHAL_ERROR_BUFFER_RANGE, 0, desc->label, "0x%llx is no memory that the driver knows",
                          (unsigned long long)address);
    if (type == CU_MEMORYTYPE_DEVICE && owner != device->device)
        return khal__fail(device->front, KHAL_ERROR_BUFFER_RANGE, 0, desc->label, "0x%llx is memory of CUDA device %d, not %d",
                          (unsigned long long)address, owner, device->device);
    if (address < begin || address - begin > size || desc->size > size - (address - begin))
        return khal__fail(device->front, KHAL_ERROR_BUFFER_RANGE, 0, desc->label,
                          "size is %llu; the allocation has %llu bytes from that address on", (unsigned long long)desc->size,
                          (unsigned long long)(address >= begin && address - begin <= size ? size - (address - begin) : 0));
    buffer->block = (cu_block){.address = address, .size = desc->size};
    return KHAL_OK;
}

/* Writes of ours may still be in the stream: memory of the program's is its own again after this. */
static void wait_for_uploads(cu_device* device, const cu_buffer* buffer)
{
    cu_scope scope;
    khal__mutex_lock(&device->lock);
    const bool is_done = buffer->upload <= cu_upload_done(device);
    khal__mutex_unlock(&device->lock);
    if (is_done || !cu_enter(device, &scope))
        return;
    (void)cu_staging_drain(device, device->stream, UINT64_MAX);
    cu_leave(device, scope);
}

void cu_buffer_destroy(khal_buffer* front)
{
    cu_device* device = device_of(front);
    cu_buffer* buffer = cu_buffer_of(front);
    set_blank(device, buffer, false);
    if (buffer->host != NULL)
        cu_host_unregister(device, buffer->host, buffer->block.size);
    else if (buffer->block.owner == NULL && buffer->upload != 0)
        wait_for_uploads(device, buffer);
    cu_memory_give(device, &buffer->block);
}

/* ---- writes and reads -------------------------------------------------------------------------- */

static khal_status wait_by(cu_device* device, khal_ticket ticket, uint64_t deadline)
{
    return ticket != 0 ? cu_wait(device->front, ticket, remaining(deadline)) : KHAL_OK;
}

khal_status cu_buffer_write(khal_buffer* front, uint64_t offset, const void* data, uint64_t size, khal_ticket after)
{
    cu_device* device = device_of(front);
    const cu_buffer* buffer = cu_buffer_of(front);
    if (buffer->host != NULL) {
        const khal_status status = wait_by(device, after, UINT64_MAX);
        if (status == KHAL_OK)
            memcpy((char*)buffer->host + offset, data, (size_t)size);
        return status;
    }
    const khal_status status = cu_wait_issued(device, after, UINT64_MAX);
    return status == KHAL_OK ? upload(front, offset, data, size) : status;
}

/* Whether nothing is left in the stream. An event of ours may be there still, behind the last read, for a moment. */
static bool is_empty(cu_device* device)
{
    enum { MOMENT_NS = 20000 };
    const uint64_t since = khal__clock_now();
    CUresult result = device->f->StreamQuery(device->stream);
    while (result == CUDA_ERROR_NOT_READY && khal__clock_now() - since < MOMENT_NS) {
        cu_pause(since);
        result = device->f->StreamQuery(device->stream);
    }
    return result == CUDA_SUCCESS;
}

/* The stream for a read whose work is done: not the one that other work runs in, unless nothing does, or the program may have
 * put work of its own there. Writes of ours that may still be there come first. */
static CUresult choose_stream(cu_device* device, const cu_buffer* buffer, CUstream* out, uint64_t* deadline)
{
    CUresult result = CUDA_SUCCESS;
    *out = device->stream;
    if (atomic_load(&device->is_shared)) {
        if (*deadline != UINT64_MAX && is_empty(device))
            *deadline = UINT64_MAX;
        return result;
    }
    khal__mutex_lock(&device->lock);
    bool is_done = buffer->upload <= cu_upload_done(device);
    khal__mutex_unlock(&device->lock);
    const bool is_idle = !is_done && cu_completed(device->front) >= cu_submitted(device);
    if (!is_idle)
        *out = device->side;
    if (!is_done && !is_idle) {
        khal__mutex_lock(&device->lock);
        result = cu_upload_order(device, device->side);
        is_done = buffer->upload <= cu_upload_done(device);
        khal__mutex_unlock(&device->lock);
    }
    if (is_done || is_idle)
        *deadline = UINT64_MAX; /* it stands behind nothing: the copy takes as long as it takes */
    return result;
}

/* From one of the two streams. */
static khal_status read_from(khal_buffer* front, uint64_t offset, void* out, uint64_t size, CUstream stream,
                             uint64_t deadline)
{
    cu_device* device = device_of(front);
    const cu_buffer* buffer = cu_buffer_of(front);
    uint64_t uploads = 0;
    if (atomic_load(&buffer->is_blank)) {
        memset(out, 0, (size_t)size);
        return KHAL_OK;
    }
    if (stream == device->stream) {
        khal__mutex_lock(&device->lock);
        uploads = cu_upload_count(device);
        khal__mutex_unlock(&device->lock);
    }
    const khal_status status = cu_staging_read(device, buffer->block.address + offset, out, size, stream, deadline);
    if (status == KHAL_OK && uploads > 0) {
        khal__mutex_lock(&device->lock);
        cu_upload_seen(device, uploads);
        khal__mutex_unlock(&device->lock);
    }
    return status;
}

/* A small read goes right behind the last work, where it is that which it needs; others wait first, so that they need not
 * wait for more. The context is current. */
static khal_status read_current(khal_buffer* front, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                                uint64_t deadline)
{
    cu_device* device = device_of(front);
    khal_status status = KHAL_OK;
    const bool is_prompt = atomic_load(&device->is_shared) ||
                           (after != 0 && size <= PROMPT_MOST && after == cu_submitted(device));
    if (is_prompt && khal__clock_now() < deadline) {
        status = cu_wait_issued(device, after, deadline);
        if (status == KHAL_OK)
            status = read_from(front, offset, out, size, device->stream, deadline);
        if (status != KHAL_TIMEOUT)
            return status;
    }
    status = wait_by(device, after, deadline); /* after a timeout too: the copy alone may have been late */
    CUstream stream = device->stream;
    if (status == KHAL_OK)
        status = cu_check(device, choose_stream(device, cu_buffer_of(front), &stream, &deadline), KHAL_ERROR_DRIVER, NULL,
                          "a read");
    return status == KHAL_OK ? read_from(front, offset, out, size, stream, deadline) : status;
}

static khal_status read_by(khal_buffer* front, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                           uint64_t deadline)
{
    cu_device* device = device_of(front);
    const cu_buffer* buffer = cu_buffer_of(front);
    khal_status status;
    if (buffer->host != NULL) {
        status = wait_by(device, after, deadline);
        if (status == KHAL_OK)
            memcpy(out, (const char*)buffer->host + offset, (size_t)size);
        return status;
    }
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return cu_check(device, CUDA_ERROR_INVALID_CONTEXT, KHAL_ERROR_DRIVER, NULL, "a read");
    status = read_current(front, offset, out, size, after, deadline);
    cu_leave(device, scope);
    return status;
}

khal_status cu_buffer_read(khal_buffer* front, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                           uint64_t timeout)
{
    return read_by(front, offset, out, size, after, cu_deadline(timeout));
}

/* ---- maps: host memory itself, else a shadow of ours ------------------------------------------- */

/* So that what is aligned in the buffer is aligned in memory. */
static uint64_t shadow_begin(const cu_buffer* buffer)
{
    return buffer->mapped_offset & ~(uint64_t)15;
}

static size_t shadow_size(const cu_buffer* buffer)
{
    return (size_t)(buffer->mapped_offset + buffer->mapped_size - shadow_begin(buffer));
}

static void free_shadow(khal_device* device, cu_buffer* buffer)
{
    if (buffer->shadow != NULL)
        khal__free(device, buffer->shadow, shadow_size(buffer));
    if (buffer->twin != NULL)
        khal__free(device, buffer->twin, shadow_size(buffer));
    buffer->shadow = buffer->twin = NULL;
}

static bool make_shadow(khal_device* device, cu_buffer* buffer, bool is_written)
{
    if (buffer->mapped_size > SIZE_MAX / 2)
        return false;
    buffer->shadow = khal__alloc(device, shadow_size(buffer), KHAL__MEMORY_ALIGN);
    if (buffer->shadow != NULL && is_written)
        buffer->twin = khal__alloc(device, shadow_size(buffer), KHAL__MEMORY_ALIGN);
    return buffer->shadow != NULL && (buffer->twin != NULL || !is_written);
}

/* The buffer's bytes come into the shadow. */
static khal_status pull(khal_buffer* front, uint64_t offset, uint64_t size, khal_ticket after, uint64_t deadline)
{
    cu_buffer* buffer = cu_buffer_of(front);
    const uint64_t at = offset - shadow_begin(buffer);
    const khal_status status = read_by(front, offset, buffer->shadow + at, size, after, deadline);
    if (status == KHAL_OK && buffer->twin != NULL)
        memcpy(buffer->twin + at, buffer->shadow + at, (size_t)size);
    return status;
}

static khal_status push(khal_buffer* front, uint64_t offset, uint64_t size)
{
    cu_device* device = device_of(front);
    cu_buffer* buffer = cu_buffer_of(front);
    const uint64_t at = offset - shadow_begin(buffer);
    khal_status status = KHAL_OK;
    if (!khal__in_callback(device->front))
        status = cu_wait_issued(device, cu_submitted(device), UINT64_MAX);
    if (status == KHAL_OK)
        status = upload(front, offset, buffer->shadow + at, size);
    if (status == KHAL_OK && buffer->twin != NULL)
        memcpy(buffer->twin + at, buffer->shadow + at, (size_t)size);
    return status;
}

static uint64_t upload_of(cu_device* device, const cu_buffer* buffer)
{
    khal__mutex_lock(&device->lock);
    const uint64_t upload = buffer->upload;
    khal__mutex_unlock(&device->lock);
    return upload;
}

khal_status cu_buffer_map(khal_buffer* front, uint64_t offset, uint64_t size, uint32_t mode, khal_ticket after,
                          uint64_t timeout, void** out)
{
    cu_device* device = device_of(front);
    cu_buffer* buffer = cu_buffer_of(front);
    const uint64_t deadline = cu_deadline(timeout);
    if (buffer->host != NULL) {
        const khal_status status = wait_by(device, after, deadline);
        *out = (char*)buffer->host + offset;
        return status;
    }
    buffer->mapped_offset = offset;
    buffer->mapped_size = size;
    buffer->agreed_ticket = cu_submitted(device); /* before the read, to be on the safe side */
    buffer->agreed_upload = upload_of(device, buffer);
    khal_status status;
    if (!make_shadow(device->front, buffer, (mode & KHAL_MAP_WRITE) != 0))
        status = khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a map of %llu bytes",
                            (unsigned long long)size);
    else
        status = pull(front, offset, size, after, deadline);
    if (status != KHAL_OK) {
        free_shadow(device->front, buffer);
        return status;
    }
    *out = buffer->shadow + (offset - shadow_begin(buffer));
    return KHAL_OK;
}

khal_status cu_buffer_flush(khal_buffer* front, uint64_t offset, uint64_t size)
{
    return cu_buffer_of(front)->host != NULL ? KHAL_OK : push(front, offset, size);
}

khal_status cu_buffer_invalidate(khal_buffer* front, uint64_t offset, uint64_t size, khal_ticket after, uint64_t timeout)
{
    const uint64_t deadline = cu_deadline(timeout);
    if (cu_buffer_of(front)->host != NULL)
        return wait_by(device_of(front), after, deadline);
    return pull(front, offset, size, after, deadline);
}

/* What work or host writes have left in the bytes that the program did not change, since they were last the same. */
static bool take_over(khal_buffer* front, uint64_t begin, uint64_t end)
{
    khal_device* device = khal__buffer_device(front);
    cu_buffer* buffer = cu_buffer_of(front);
    const khal_ticket after = khal__in_callback(device) ? 0 : cu_submitted(cu_device_of(device));
    char* now = khal__alloc(device, (size_t)(end - begin), KHAL__MEMORY_ALIGN);
    const bool is_read = now != NULL && read_by(front, buffer->mapped_offset, now, end - begin, after, UINT64_MAX) == KHAL_OK;
    for (uint64_t i = begin; is_read && i < end; ++i) {
        if (buffer->shadow[i] == buffer->twin[i])
            buffer->shadow[i] = now[i - begin];
        buffer->twin[i] = now[i - begin];
    }
    if (now != NULL)
        khal__free(device, now, (size_t)(end - begin));
    return is_read;
}

/* Flushes what the program has written. */
static void push_changes(khal_buffer* front)
{
    enum { BLOCK = 256 };
    cu_device* device = device_of(front);
    const cu_buffer* buffer = cu_buffer_of(front);
    const uint64_t begin = buffer->mapped_offset - shadow_begin(buffer);
    const uint64_t end = shadow_size(buffer);
    if (memcmp(buffer->shadow + begin, buffer->twin + begin, (size_t)(end - begin)) == 0)
        return;
    const bool agrees = cu_submitted(device) == buffer->agreed_ticket &&
                        upload_of(device, buffer) == buffer->agreed_upload && !atomic_load(&device->is_shared);
    if (!agrees && !take_over(front, begin, end))
        return;
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

void cu_buffer_unmap(khal_buffer* front)
{
    khal_device* device = khal__buffer_device(front);
    cu_buffer* buffer = cu_buffer_of(front);
    if (buffer->twin != NULL && khal__device_is_up(device))
        push_changes(front);
    free_shadow(device, buffer);
}

/* ---- fills ------------------------------------------------------------------------------------- */

/* `count` units of 1, 2 or 4 bytes. */
static CUresult set_units(cu_device* device, CUdeviceptr to, const uint8_t* value, uint32_t unit, uint64_t count,
                          CUstream stream)
{
    uint32_t word = 0;
    uint16_t half = 0;
    switch (unit) {
    case 4: memcpy(&word, value, 4); return device->f->MemsetD32Async(to, word, (size_t)count, stream);
    case 2: memcpy(&half, value, 2); return device->f->MemsetD16Async(to, half, (size_t)count, stream);
    default: return device->f->MemsetD8Async(to, value[0], (size_t)count, stream);
    }
}

CUresult cu_fill(cu_device* device, CUdeviceptr to, uint64_t size, const void* pattern, uint32_t pattern_size,
                 CUstream stream)
{
    const uint8_t* bytes = pattern;
    uint32_t period = pattern_size;
    while (period > 1 && memcmp(bytes, bytes + period / 2, period / 2) == 0)
        period /= 2;
    uint32_t unit = period < 4 ? period : 4;
    while (to % unit != 0)
        unit /= 2;
    if (size == 0)
        return CUDA_SUCCESS;
    if (unit == period)
        return set_units(device, to, bytes, unit, size / unit, stream);
    /* Once the pattern itself, and then what is there already, twice as much each time. */
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < period; i += unit)
        result = set_units(device, to + i, bytes + i, unit, 1, stream);
    for (uint64_t done = period, n; result == CUDA_SUCCESS && done < size; done += n) {
        n = done < size - done ? done : size - done;
        result = device->f->MemcpyDtoDAsync(to + done, to, (size_t)n, stream);
    }
    return result;
}
