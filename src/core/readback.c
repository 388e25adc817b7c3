#include "core.h"

khal__block* khal__readback_new_block(khal_readback* readback)
{
    khal_device* device = readback->object.device;
    khal__block* block = khal__alloc(device, sizeof *block, 16);
    if (block == NULL)
        return NULL;
    memset(block, 0, sizeof *block);
    block->memory = readback->capacity_size > SIZE_MAX - 64
                        ? NULL
                        : khal__alloc(device, (size_t)readback->capacity_size, 64);
    if (block->memory == NULL) {
        khal__free(device, block, sizeof *block);
        return NULL;
    }
    return block;
}

static void free_memory(khal_readback* readback)
{
    khal_device* device = readback->object.device;
    while (readback->blocks != NULL) {
        khal__block* block = readback->blocks;
        readback->blocks = block->next;
        khal__free(device, block->memory, (size_t)readback->capacity_size);
        khal__free(device, block, sizeof *block);
    }
    khal__free(device, readback->queue, readback->slot_count * sizeof readback->queue[0]);
    khal__free(device, readback, sizeof *readback);
}

khal_status khal_readback_create_at(const char* file, int line, khal_device* device,
                                    const khal_readback_desc* desc, khal_readback** out_readback)
{
    static const khal_readback_desc defaults;
    if (device == NULL || out_readback == NULL)
        return khal__fail_null(device, NULL, device == NULL ? "device" : "out_readback");
    if (desc == NULL)
        desc = &defaults;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    const uint32_t element_size = desc->element_size != 0 ? desc->element_size : 1;
    const uint32_t slot_count = desc->slot_count != 0 ? desc->slot_count : 1;
    if (desc->capacity_count > UINT64_MAX / element_size || slot_count > KHAL__MAX_IN_FLIGHT)
        return khal__fail(
            device, KHAL_ERROR_READBACK_CAPACITY, 0, desc->label,
            "%llu elements of %u bytes in %u slots; less than 2^64 bytes and at most %u slots",
            (unsigned long long)desc->capacity_count, element_size, slot_count,
            KHAL__MAX_IN_FLIGHT);
    khal_readback* readback = khal__alloc_zeroed(device, sizeof *readback, 16);
    if (readback == NULL)
        return khal__fail_memory(device, desc->label, "the readback", sizeof *readback);
    readback->object.device = device;
    readback->capacity_count = desc->capacity_count;
    readback->capacity_size = desc->capacity_count * element_size;
    readback->element_size = element_size;
    readback->slot_count = slot_count;
    readback->queue = khal__alloc(device, slot_count * sizeof readback->queue[0], 16);
    bool done = readback->queue != NULL;
    for (uint32_t i = 0; i < slot_count && done; ++i) {
        khal__block* block = khal__readback_new_block(readback);
        done = block != NULL;
        if (done) {
            block->next = readback->blocks;
            readback->blocks = block;
        }
    }
    if (!done) {
        const uint64_t size = readback->capacity_size;
        free_memory(readback);
        return khal__fail_memory(device, desc->label, "the readback", size);
    }
    khal__object_init(device, &readback->object, KHAL__KIND_READBACK, desc->label, file, line);
    *out_readback = readback;
    return KHAL_OK;
}

void khal__readback_destroy(khal_readback* readback)
{
    khal__object_unlist(&readback->object);
    free_memory(readback);
}

void khal_readback_retain(khal_readback* readback)
{
    khal__object_retain((khal__object*)readback);
}
void khal_readback_release(khal_readback* readback)
{
    khal__object_release((khal__object*)readback);
}
uint64_t khal_readback_get_capacity(const khal_readback* readback)
{
    return readback != NULL ? readback->capacity_count : 0;
}

bool khal_readback_is_idle(khal_readback* readback)
{
    if (readback == NULL)
        return true;
    khal__mutex_lock(&readback->object.device->track_lock);
    const bool is_idle = readback->queue_count == 0;
    khal__mutex_unlock(&readback->object.device->track_lock);
    return is_idle;
}

/* Checks the ranges and appends their reads. */
static khal_status append(khal_readback* readback, khal__recording* recording,
                          const khal_slice* slices, uint32_t slice_count)
{
    khal_device* device = recording->device;
    const char* label = readback->object.label;
    if (readback->object.device != device)
        return khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0, label,
                          "the readback belongs to another device");
    if (slice_count > 0 && slices == NULL)
        return khal__fail_null(device, label, "slices");
    khal__range* ranges = khal__recording_alloc(recording, slice_count * sizeof *ranges);
    if (ranges == NULL)
        return khal__fail_memory(device, label, "the request", slice_count * sizeof *ranges);
    uint64_t left = readback->capacity_size;
    for (uint32_t i = 0; i < slice_count; ++i) {
        khal_status status = khal__slice_resolve(device, &slices[i], &ranges[i]);
        if (status == KHAL_OK)
            status = khal__usage_check(ranges[i].buffer, KHAL_USAGE_COPY_SRC, "a readback");
        if (status != KHAL_OK)
            return status;
        if (ranges[i].size % readback->element_size != 0)
            return khal__fail(device, KHAL_ERROR_SLICE_ELEMENT_SIZE, 0, label,
                              "slice %u has %llu bytes, no multiple of the readback's %u", i,
                              (unsigned long long)ranges[i].size, readback->element_size);
        if (ranges[i].size > left)
            return khal__fail(device, KHAL_ERROR_READBACK_CAPACITY, 0, label,
                              "slices up to number %u have more than the %llu bytes that it holds",
                              i, (unsigned long long)readback->capacity_size);
        left -= ranges[i].size;
    }
    if (!khal__append_request(recording, readback, ranges, slice_count))
        return khal__fail_memory(device, label, "the request", slice_count * sizeof(khal__node));
    return KHAL_OK;
}

khal_status khal_readback_request_copy(khal_readback* readback, khal_encoder* encoder,
                                       const khal_slice* slices, uint32_t slice_count)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    const khal_status status = khal__encoder_ready(encoder, "a readback request");
    if (status != KHAL_OK)
        return status;
    if (readback == NULL)
        return khal__encoder_stick(
            encoder, khal__fail_null(encoder->object.device, encoder->object.label, "readback"));
    return khal__encoder_stick(encoder, append(readback, encoder->recording, slices, slice_count));
}

khal_status khal_readback_request(khal_readback* readback, const khal_slice* slices,
                                  uint32_t slice_count)
{
    if (readback == NULL)
        return khal__fail_null(NULL, NULL, "readback");
    khal_device* device = readback->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    khal__recording* recording = khal__recording_acquire(device);
    if (recording == NULL)
        return khal__fail_memory(device, readback->object.label, "the request", sizeof *recording);
    const khal_status status = append(readback, recording, slices, slice_count);
    if (status != KHAL_OK) {
        khal__recording_release(recording);
        return status;
    }
    atomic_fetch_add(&recording->runs, 1);
    return khal__submit(device, recording, NULL, 0, NULL);
}

void khal__block_end(khal__block* block, const khal__submission* submission)
{
    if (block->cancelled) {
        block->cancelled = false;
        block->state = KHAL__BLOCK_FREE;
        return;
    }
    block->state = KHAL__BLOCK_DONE;
    if (submission->status != KHAL_OK) {
        block->state = KHAL__BLOCK_FAILED;
        block->failed_status = submission->status;
        block->failed_id = submission->error_id;
        memcpy(block->failed_message, submission->message, sizeof block->failed_message);
    }
}

static void pop(khal_readback* readback)
{
    readback->queue_first = (readback->queue_first + 1) % readback->slot_count;
    --readback->queue_count;
}

khal_status khal_readback_try_take(khal_readback* readback, void* out_data, uint64_t count)
{
    if (readback == NULL)
        return khal__fail_null(NULL, NULL, "readback");
    khal_device* device = readback->object.device;
    const char* label = readback->object.label;
    if (out_data == NULL && count > 0)
        return khal__fail_null(device, label, "out_data");
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    khal__retire(device);

    khal__mutex_lock(&device->track_lock);
    khal__block* block = readback->queue_count > 0 ? readback->queue[readback->queue_first] : NULL;
    const khal__block_state state = block != NULL ? block->state : KHAL__BLOCK_FREE;
    const uint64_t size = block != NULL ? block->size : 0;
    khal_status failed_status = KHAL_OK;
    khal_error_id failed_id = KHAL_ERROR_NONE;
    char message[160] = "";
    const bool fits = size / readback->element_size == count;
    if (state == KHAL__BLOCK_FAILED) {
        failed_status = block->failed_status;
        failed_id = block->failed_id;
        memcpy(message, block->failed_message, sizeof message);
        block->state = KHAL__BLOCK_FREE;
        pop(readback);
    } else if (state == KHAL__BLOCK_DONE && fits) {
        block->state = KHAL__BLOCK_TAKING;
        pop(readback);
    }
    khal__mutex_unlock(&device->track_lock);

    if (block == NULL)
        return KHAL_NOTHING_REQUESTED;
    if (state == KHAL__BLOCK_FAILED)
        return khal__fail_run(device, failed_status, failed_id, label,
                              "the read's submission failed: %s", message);
    if (state != KHAL__BLOCK_DONE)
        return KHAL_NOT_READY;
    if (!fits)
        return khal__fail(device, KHAL_ERROR_READBACK_COUNT, 0, label,
                          "%llu elements; %llu were asked for", (unsigned long long)count,
                          (unsigned long long)(size / readback->element_size));
    if (size > 0)
        memcpy(out_data, block->memory, (size_t)size);
    khal__mutex_lock(&device->track_lock);
    block->state = KHAL__BLOCK_FREE;
    khal__mutex_unlock(&device->track_lock);
    return KHAL_OK;
}

void khal_readback_cancel(khal_readback* readback)
{
    if (readback == NULL)
        return;
    khal_device* device = readback->object.device;
    khal__retire(device);
    khal__mutex_lock(&device->track_lock);
    for (; readback->queue_count > 0; pop(readback)) {
        khal__block* block = readback->queue[readback->queue_first];
        if (block->state == KHAL__BLOCK_DONE || block->state == KHAL__BLOCK_FAILED)
            block->state = KHAL__BLOCK_FREE;
        else
            block->cancelled = true;
    }
    khal__mutex_unlock(&device->track_lock);
}
