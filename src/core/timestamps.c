#include "core.h"

khal_status khal_timestamps_create_at(const char* file, int line, khal_device* device,
                                      const khal_timestamps_desc* desc,
                                      khal_timestamps** out_timestamps)
{
    if (device == NULL || out_timestamps == NULL)
        return khal__fail_null(device, NULL, device == NULL ? "device" : "out_timestamps");
    const char* label = desc != NULL ? desc->label : NULL;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (desc == NULL || desc->capacity == 0)
        return khal__fail(device, KHAL_ERROR_TIMESTAMPS_CAPACITY, 0, label,
                          "capacity is 0; at least 1");
    const size_t size = sizeof(khal_timestamps) + (size_t)desc->capacity * sizeof(khal__time_entry);
    khal_timestamps* timestamps = khal__alloc(device, size, 16);
    if (timestamps == NULL)
        return khal__fail_memory(device, label, "the timestamps", size);
    memset(timestamps, 0, sizeof *timestamps);
    timestamps->enabled = (device->info.features & KHAL_FEATURE_TIMESTAMPS) != 0;
    timestamps->capacity = desc->capacity;
    timestamps->entries = (khal__time_entry*)(timestamps + 1);
    khal__object_init(device, &timestamps->object, KHAL__KIND_TIMESTAMPS, label, file, line);
    *out_timestamps = timestamps;
    return KHAL_OK;
}

void khal__timestamps_destroy(khal_timestamps* timestamps)
{
    khal__object_unlist(&timestamps->object);
    khal__free(timestamps->object.device, timestamps,
               sizeof *timestamps + (size_t)timestamps->capacity * sizeof(khal__time_entry));
}

void khal_timestamps_retain(khal_timestamps* timestamps)
{
    khal__object_retain((khal__object*)timestamps);
}
void khal_timestamps_release(khal_timestamps* timestamps)
{
    khal__object_release((khal__object*)timestamps);
}
bool khal_timestamps_is_enabled(const khal_timestamps* timestamps)
{
    return timestamps != NULL && timestamps->enabled;
}

bool khal_timestamps_is_idle(khal_timestamps* timestamps)
{
    if (timestamps == NULL)
        return true;
    khal__mutex_lock(&timestamps->object.device->track_lock);
    const bool is_idle = !timestamps->requested;
    khal__mutex_unlock(&timestamps->object.device->track_lock);
    return is_idle;
}

static void reset(khal_timestamps* timestamps)
{
    ++timestamps->generation;
    timestamps->count = 0;
    timestamps->missed = 0;
    timestamps->last_ticket = 0;
    timestamps->requested = false;
    timestamps->failed = false;
}

static khal_status fail_busy(khal_timestamps* timestamps)
{
    return khal__fail(timestamps->object.device, KHAL_ERROR_TIMESTAMPS_BUSY, 0,
                      timestamps->object.label, "a read is in flight or waits to be taken");
}

khal_status khal_timestamps_reset(khal_timestamps* timestamps)
{
    if (timestamps == NULL)
        return khal__fail_null(NULL, NULL, "timestamps");
    khal_device* device = timestamps->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    khal__mutex_lock(&device->track_lock);
    const bool is_busy = timestamps->requested;
    if (!is_busy)
        reset(timestamps);
    khal__mutex_unlock(&device->track_lock);
    return is_busy ? fail_busy(timestamps) : KHAL_OK;
}

khal_status khal_timestamps_resolve(khal_timestamps* timestamps, khal_encoder* encoder)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    khal_status status = khal__encoder_ready(encoder, "resolving timestamps");
    if (status != KHAL_OK)
        return status;
    khal_device* device = encoder->object.device;
    if (timestamps == NULL)
        return khal__encoder_stick(encoder,
                                   khal__fail_null(device, encoder->object.label, "timestamps"));
    if (timestamps->object.device != device)
        return khal__encoder_stick(encoder, khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0,
                                                       timestamps->object.label,
                                                       "the timestamps belong to another device"));
    /* Values come with the run that takes them; nothing is left to do for the backends of this
     * build. */
    return khal_timestamps_is_idle(timestamps)
               ? KHAL_OK
               : khal__encoder_stick(encoder, fail_busy(timestamps));
}

khal_status khal_timestamps_request_read(khal_timestamps* timestamps)
{
    if (timestamps == NULL)
        return khal__fail_null(NULL, NULL, "timestamps");
    khal_device* device = timestamps->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    khal__mutex_lock(&device->track_lock);
    const bool is_busy = timestamps->requested;
    timestamps->requested = true;
    khal__mutex_unlock(&device->track_lock);
    return is_busy ? fail_busy(timestamps) : KHAL_OK;
}

khal_status khal_timestamps_try_take(khal_timestamps* timestamps, uint32_t capacity,
                                     khal_timestamp* out_entries, uint32_t* out_count,
                                     uint32_t* out_missed)
{
    if (timestamps == NULL || out_count == NULL)
        return khal__fail_null(timestamps != NULL ? timestamps->object.device : NULL, NULL,
                               timestamps == NULL ? "timestamps" : "out_count");
    khal_device* device = timestamps->object.device;
    const char* label = timestamps->object.label;
    if (out_entries == NULL && capacity > 0)
        return khal__fail_null(device, label, "out_entries");
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    const khal_ticket completed = khal__retire(device);

    khal__mutex_lock(&device->track_lock);
    khal_status status = KHAL_OK;
    khal_error_id failed_id = KHAL_ERROR_NONE;
    char message[160] = "";
    const uint32_t count = timestamps->count;
    if (!timestamps->requested) {
        status = KHAL_NOTHING_REQUESTED;
    } else if (timestamps->last_ticket > completed) {
        status = KHAL_NOT_READY;
    } else if (timestamps->failed) {
        status = timestamps->failed_status;
        failed_id = timestamps->failed_id;
        memcpy(message, timestamps->failed_message, sizeof message);
        reset(timestamps);
    } else if (count > capacity) {
        status = KHAL_INVALID_ARGUMENT;
    } else {
        uint64_t before = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const khal__time_entry* entry = &timestamps->entries[i];
            /* Clocks of a device may step back by a tick between two samples. */
            const uint64_t begin = entry->begin > before ? entry->begin : before;
            const uint64_t end = entry->end > begin ? entry->end : begin;
            before = begin;
            memcpy(out_entries[i].label, entry->label, sizeof out_entries[i].label);
            out_entries[i].begin = (double)begin / 1e6;
            out_entries[i].duration = (double)(end - begin) / 1e6;
        }
        if (out_missed != NULL)
            *out_missed = timestamps->missed;
        reset(timestamps);
    }
    khal__mutex_unlock(&device->track_lock);

    if (failed_id != KHAL_ERROR_NONE)
        return khal__fail_run(device, status, failed_id, label, "a timed pass failed: %s", message);
    if (status == KHAL_INVALID_ARGUMENT) {
        *out_count = count;
        return khal__fail(device, KHAL_ERROR_TIMESTAMPS_CAPACITY, 0, label,
                          "room for %u entries; there are %u", capacity, count);
    }
    if (status == KHAL_OK)
        *out_count = count;
    return status;
}

khal_status khal_timestamps_read(khal_timestamps* timestamps, uint32_t capacity,
                                 khal_timestamp* out_entries, uint32_t* out_count,
                                 uint32_t* out_missed, uint64_t timeout)
{
    if (timestamps == NULL || out_count == NULL)
        return khal__fail_null(timestamps != NULL ? timestamps->object.device : NULL, NULL,
                               timestamps == NULL ? "timestamps" : "out_count");
    khal_device* device = timestamps->object.device;
    if (out_entries == NULL && capacity > 0)
        return khal__fail_null(device, timestamps->object.label, "out_entries");
    khal_status status = khal_timestamps_request_read(timestamps);
    if (status != KHAL_OK)
        return status;
    const uint64_t deadline = khal__deadline(timeout);
    do { /* more than once where another thread's submit was under way at the request */
        khal__mutex_lock(&device->track_lock);
        const khal_ticket last = timestamps->last_ticket;
        khal__mutex_unlock(&device->track_lock);
        status = khal__wait(device, last, khal__remaining(deadline));
        if (status == KHAL_OK)
            status =
                khal_timestamps_try_take(timestamps, capacity, out_entries, out_count, out_missed);
        else if (khal__is_lost(device))
            status = khal__fail_lost(device);
        else if (status == KHAL_TIMEOUT)
            status =
                khal__fail(device, KHAL_ERROR_TIMEOUT, 0, timestamps->object.label,
                           "the timed passes (ticket %llu) are not done", (unsigned long long)last);
    } while (status == KHAL_NOT_READY);
    /* KHAL_NOTHING_REQUESTED: another thread has taken it, and may have asked again. */
    if (status != KHAL_OK && status != KHAL_NOTHING_REQUESTED) {
        khal__mutex_lock(&device->track_lock);
        timestamps->requested = false;
        khal__mutex_unlock(&device->track_lock);
    }
    return status;
}
