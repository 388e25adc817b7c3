/* Running: tickets, what is in flight, and what becomes of it. */
#include "core.h"

#include <stdio.h>

khal_status khal__native_trampoline(void* user, const khal_native* native)
{
    const khal__native_call* call = user;
    khal__callback callback;
    khal__callback_begin(call->device, &callback);
    const khal_status status = call->call(call->user, native);
    khal__callback_end(&callback);
    return status;
}

uint64_t khal__deadline(uint64_t timeout)
{
    if (timeout == KHAL_FOREVER)
        return UINT64_MAX;
    const uint64_t now = khal__clock_now();
    return timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
}

uint64_t khal__remaining(uint64_t deadline)
{
    if (deadline == UINT64_MAX)
        return KHAL_FOREVER;
    const uint64_t now = khal__clock_now();
    return deadline > now ? deadline - now : 0;
}

void khal__nap(void)
{
    khal__mutex mutex;
    khal__condition condition;
    khal__mutex_init(&mutex);
    khal__condition_init(&condition);
    khal__mutex_lock(&mutex);
    khal__condition_wait(&condition, &mutex, khal__clock_now() + 20000);
    khal__mutex_unlock(&mutex);
    khal__condition_destroy(&condition);
    khal__mutex_destroy(&mutex);
}

/* ---- what is done ------------------------------------------------------------------------------
 */

static void end_timings(khal__recording* recording, const khal__submission* submission)
{
    for (khal__timing* timing = recording->timings; timing != NULL; timing = timing->next) {
        khal_timestamps* timestamps = timing->timestamps;
        if (timing->slot == UINT32_MAX || timing->generation != timestamps->generation)
            continue;
        khal__time_entry* entry = &timestamps->entries[timing->slot];
        entry->begin = timing->values[0];
        entry->end = timing->values[1];
        khal_status status = submission->status;
        khal_error_id id = submission->error_id;
        const char* message = submission->message;
        if (status == KHAL_OK && (entry->begin == UINT64_MAX || entry->end == UINT64_MAX)) {
            status = KHAL_DRIVER_ERROR;
            id = KHAL_ERROR_DRIVER;
            message = "the device gave no value";
        }
        if (status != KHAL_OK && !timestamps->failed) {
            timestamps->failed = true;
            timestamps->failed_id = id;
            timestamps->failed_status = status;
            snprintf(timestamps->failed_message, sizeof timestamps->failed_message, "%s", message);
        }
    }
}

/* Under track_lock: from here on the outcome of the run can be seen. */
static void end_run(khal_device* device, khal__run* run)
{
    khal__submission* submission = &run->submission;
    khal__recording* recording = run->recording;
    if (submission->status != KHAL_OK) {
        khal__failed* failed = &device->failed[device->failed_next];
        device->failed_next = (device->failed_next + 1) % KHAL__FAILED_TICKETS;
        failed->ticket = submission->ticket;
        failed->status = submission->status;
        failed->id = submission->error_id;
        failed->reported = false;
        memcpy(failed->message, submission->message, sizeof failed->message);
        atomic_store_explicit(&device->has_failed, true, memory_order_release);
    }
    if (recording->timings != NULL)
        end_timings(recording, submission);
    for (khal__request* request = recording->requests; request != NULL; request = request->next)
        if (request->block != NULL) {
            khal__block_end(request->block, submission);
            request->block = NULL;
        }
}

/* Without a lock: lets go of what the run used. */
static void free_run(khal_device* device, khal__run* run)
{
    khal__recording* recording = run->recording;
    atomic_fetch_sub_explicit(&recording->runs, 1, memory_order_acq_rel);
    khal__recording_release(recording);
    khal__mutex_lock(&device->pool_lock);
    run->next = device->free_runs;
    device->free_runs = run;
    khal__mutex_unlock(&device->pool_lock);
}

static void describe_failure(const khal_device* device, khal_ticket ticket, khal_status status,
                             khal_error_id id, const char* message, khal_error* out)
{
    memset(out, 0, sizeof *out);
    out->status = status;
    out->id = id;
    snprintf(out->message, sizeof out->message, "submission %llu failed: %s",
             (unsigned long long)ticket, message);
    memcpy(out->object, device->object.label, sizeof out->object);
}

static void free_runs(khal_device* device, khal__run* done)
{
    while (done != NULL) {
        khal__run* next = done->next;
        const khal__submission* submission = &done->submission;
        if (submission->status != KHAL_OK) {
            khal_error error;
            describe_failure(device, submission->ticket, submission->status, submission->error_id,
                             submission->message, &error);
            khal__call_back(device, &error);
        }
        free_run(device, done);
        done = next;
    }
}

khal_ticket khal__retire(khal_device* device)
{
    const khal_ticket completed = device->backend->completed(device);
    khal__run *done = NULL, *last = NULL;
    khal__mutex_lock(&device->track_lock);
    while (device->in_flight_first != NULL &&
           device->in_flight_first->submission.ticket <= completed) {
        khal__run* run = device->in_flight_first;
        device->in_flight_first = run->next;
        if (run->next == NULL)
            device->in_flight_last = NULL;
        end_run(device, run);
        run->next = NULL;
        if (last != NULL)
            last->next = run;
        else
            done = run;
        last = run;
        atomic_fetch_sub_explicit(&device->in_flight_count, 1, memory_order_relaxed);
    }
    khal__mutex_unlock(&device->track_lock);
    free_runs(device, done);
    return completed;
}

void khal__retire_all(khal_device* device)
{
    khal__retire(device);
    khal__mutex_lock(&device->track_lock);
    khal__run* rest = device->in_flight_first;
    device->in_flight_first = device->in_flight_last = NULL;
    khal__mutex_unlock(&device->track_lock);
    while (rest != NULL) {
        khal__run* next = rest->next;
        free_run(device, rest);
        rest = next;
    }
}

/* ---- submitting --------------------------------------------------------------------------------
 */

static khal__run* acquire_run(khal_device* device)
{
    khal__mutex_lock(&device->pool_lock);
    khal__run* run = device->free_runs;
    if (run != NULL)
        device->free_runs = run->next;
    khal__mutex_unlock(&device->pool_lock);
    if (run == NULL)
        run = khal__alloc(device, sizeof *run, 16);
    if (run != NULL) {
        memset(&run->submission, 0, offsetof(khal__submission, message) + 1);
        run->submission.next = NULL;
        run->next = NULL;
    }
    return run;
}

/* A submit far ahead of the device waits for the oldest submission, with no lock held. */
static khal_status hold_back(khal_device* device)
{
    while (atomic_load_explicit(&device->in_flight_count, memory_order_relaxed) >=
               KHAL__MAX_IN_FLIGHT &&
           !khal__in_callback(device)) {
        khal__mutex_lock(&device->track_lock);
        const khal_ticket oldest =
            device->in_flight_first != NULL ? device->in_flight_first->submission.ticket : 0;
        khal__mutex_unlock(&device->track_lock);
        const khal_status status = khal__wait(device, oldest, KHAL_FOREVER);
        if (status != KHAL_OK)
            return khal__is_lost(device) ? khal__fail_lost(device) : status;
        khal__retire(device);
    }
    return KHAL_OK;
}

/* Undoes what reserve has done so far. */
static void unreserve(khal__recording* recording)
{
    for (khal__request* request = recording->requests; request != NULL; request = request->next) {
        khal__block* block = request->block;
        if (block == NULL)
            continue;
        request->block = NULL;
        block->state = KHAL__BLOCK_FREE;
        /* Submits come one at a time, so what was put in last is still the last, unless a cancel
         * took it out. */
        if (!block->cancelled)
            --request->readback->queue_count;
        block->cancelled = false;
    }
}

static khal__block* free_block(const khal_readback* readback)
{
    khal__block* block = readback->blocks;
    while (block != NULL && block->state != KHAL__BLOCK_FREE)
        block = block->next;
    return block;
}

/* Under track_lock. KHAL_NOT_READY: `*out_readback` needs another block. */
static khal_status reserve(khal__recording* recording, khal_error_id* out_id,
                           khal__object** out_object, khal_readback** out_readback)
{
    for (khal__timing* timing = recording->timings; timing != NULL; timing = timing->next)
        if (timing->timestamps->requested) {
            *out_id = KHAL_ERROR_TIMESTAMPS_BUSY;
            *out_object = &timing->timestamps->object;
            return KHAL_INVALID_STATE;
        }
    for (khal__request* request = recording->requests; request != NULL; request = request->next) {
        khal_readback* readback = request->readback;
        if (readback->queue_count == readback->slot_count) {
            unreserve(recording);
            *out_id = KHAL_ERROR_READBACK_BUSY;
            *out_object = &readback->object;
            return KHAL_INVALID_STATE;
        }
        khal__block* block = free_block(readback);
        if (block == NULL) {
            unreserve(recording);
            *out_readback = readback;
            return KHAL_NOT_READY;
        }
        block->state = KHAL__BLOCK_RESERVED;
        block->size = request->size;
        request->block = block;
        readback->queue[(readback->queue_first + readback->queue_count++) % readback->slot_count] =
            block;
        uint64_t offset = 0;
        khal__node* node = request->first;
        for (uint32_t i = 0; i < request->node_count; node = node->next)
            if (node->command.kind == KHAL__COMMAND_READ) {
                node->command.u.read.out = block->memory + offset;
                offset += node->command.u.read.source.size;
                ++i;
            }
    }
    return KHAL_OK;
}

/* Whether work that may still run touches what the recording does. Under track_lock. */
static bool depends(const khal__recording* recording, khal_ticket completed)
{
    for (uint32_t i = 0; i < recording->use_count; ++i) {
        const khal__use* use = recording->uses[i];
        const khal_buffer* buffer = use->buffer;
        if (buffer->last_use <= completed)
            continue;
        for (int k = 0; k < 2; ++k)
            for (uint32_t s = 0; s < use->total[k].count; ++s) {
                const khal__span* span = &use->total[k].items[s];
                if (khal__buffer_conflict(buffer, span->begin, span->end - span->begin,
                                          k == KHAL__WRITE) > completed)
                    return true;
            }
    }
    return false;
}

/* The submission is on its way: whoever comes later must see what it uses. Under track_lock. */
static void enter(khal_device* device, khal__run* run, khal_ticket completed)
{
    khal__recording* recording = run->recording;
    const khal_ticket ticket = run->submission.ticket;
    for (uint32_t i = 0; i < recording->use_count; ++i) {
        const khal__use* use = recording->uses[i];
        for (int k = 0; k < 2; ++k)
            for (uint32_t s = 0; s < use->total[k].count; ++s)
                khal__buffer_mark(use->buffer, use->total[k].items[s].begin,
                                  use->total[k].items[s].end, k == KHAL__WRITE, ticket, completed);
    }
    for (khal__timing* timing = recording->timings; timing != NULL; timing = timing->next) {
        khal_timestamps* timestamps = timing->timestamps;
        timing->generation = timestamps->generation;
        timing->slot = UINT32_MAX;
        timestamps->last_ticket = ticket;
        if (timestamps->count < timestamps->capacity) {
            timing->slot = timestamps->count++;
            khal__copy_label(timestamps->entries[timing->slot].label, timing->label);
        } else {
            ++timestamps->missed;
            atomic_fetch_add_explicit(&device->passes_untimed, 1, memory_order_relaxed);
        }
    }
    for (khal__request* request = recording->requests; request != NULL; request = request->next)
        request->block->state = KHAL__BLOCK_IN_FLIGHT;
    if (device->in_flight_last != NULL)
        device->in_flight_last->next = run;
    else
        device->in_flight_first = run;
    device->in_flight_last = run;
    atomic_fetch_add_explicit(&device->in_flight_count, 1, memory_order_relaxed);
    atomic_store_explicit(&device->submitted, ticket, memory_order_release);
}

static void count(khal_device* device, const khal__recording* recording)
{
    atomic_fetch_add_explicit(&device->submissions, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&device->dispatches, recording->dispatches, memory_order_relaxed);
    atomic_fetch_add_explicit(&device->copies, recording->copies, memory_order_relaxed);
    atomic_fetch_add_explicit(&device->fills, recording->fills, memory_order_relaxed);
    atomic_fetch_add_explicit(&device->barriers, recording->barriers, memory_order_relaxed);
}

/* Gives the readback a block more; false: out of memory. */
static bool add_block(khal_readback* readback)
{
    khal__block* block = khal__readback_new_block(readback);
    if (block == NULL)
        return false;
    khal__mutex_lock(&readback->object.device->track_lock);
    block->next = readback->blocks;
    readback->blocks = block;
    khal__mutex_unlock(&readback->object.device->track_lock);
    return true;
}

khal_status khal__submit(khal_device* device, khal__recording* recording, khal__replay* replay,
                         uint64_t version, khal_ticket* out_ticket)
{
    khal__retire(device);
    khal_status status = khal__is_lost(device) ? khal__fail_lost(device) : hold_back(device);
    khal__run* run = NULL;
    if (status == KHAL_OK) {
        run = acquire_run(device);
        if (run == NULL)
            status = khal__fail_memory(device, device->object.label, "the submission", sizeof *run);
    }
    if (status != KHAL_OK) {
        atomic_fetch_sub_explicit(&recording->runs, 1, memory_order_acq_rel);
        khal__recording_release(recording);
        return status;
    }
    khal__hazard_seal(recording);
    run->recording = recording;
    khal__submission* submission = &run->submission;
    submission->commands = recording->first_command;
    submission->command_count = recording->command_count;
    submission->work_item_count = recording->work_items;
    submission->has_native = recording->has_native;
    submission->has_results = recording->timings != NULL || recording->requests != NULL;
    submission->replay = replay;
    submission->version = version;
    for (khal__timing* timing = recording->timings; timing != NULL; timing = timing->next)
        timing->values[0] = timing->values[1] = UINT64_MAX;

    khal_error_id id = KHAL_ERROR_NONE;
    khal__object* object = NULL;
    khal_readback* readback = NULL;
    khal__callbacks_hold();
    khal__mutex_lock(&device->submit_lock);
    for (;;) {
        const khal_ticket completed = device->backend->completed(device);
        khal__mutex_lock(&device->track_lock);
        status = reserve(recording, &id, &object, &readback);
        submission->needs_barrier = status == KHAL_OK && depends(recording, completed);
        khal__mutex_unlock(&device->track_lock);
        if (status != KHAL_NOT_READY)
            break;
        if (!add_block(readback)) {
            status = KHAL_OUT_OF_MEMORY;
            id = KHAL_ERROR_OUT_OF_MEMORY;
            object = &readback->object;
            break;
        }
    }
    if (status == KHAL_OK) {
        const khal_ticket ticket =
            atomic_load_explicit(&device->submitted, memory_order_relaxed) + 1;
        submission->ticket = ticket;
        status = device->backend->submit(device, submission);
        const khal_ticket completed = device->backend->completed(device);
        khal__mutex_lock(&device->track_lock);
        if (status == KHAL_OK) {
            enter(device, run, completed);
            count(device, recording);
            if (out_ticket != NULL)
                *out_ticket = ticket;
        } else {
            unreserve(recording);
        }
        khal__mutex_unlock(&device->track_lock);
    }
    khal__mutex_unlock(&device->submit_lock);
    khal__callbacks_go(device);

    if (status == KHAL_OK)
        return KHAL_OK;
    if (id == KHAL_ERROR_TIMESTAMPS_BUSY)
        status = khal__fail(device, id, 0, object->label,
                            "a pass is timed while a read is in flight or waits to be taken");
    else if (id == KHAL_ERROR_READBACK_BUSY)
        status = khal__fail(device, id, 0, object->label,
                            "all %u slots are in flight or wait to be taken",
                            ((khal_readback*)object)->slot_count);
    else if (id == KHAL_ERROR_OUT_OF_MEMORY)
        status = khal__fail_memory(device, object->label,
                                   "another read while a cancelled one still runs",
                                   ((khal_readback*)object)->capacity_size);
    else if (khal__is_lost(device))
        status = khal__fail_lost(device);
    free_run(device, run);
    return status;
}

khal_status khal_submit(khal_encoder* encoder, khal_ticket* out_ticket)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    khal_device* device = encoder->object.device;
    khal_status status = khal__encoder_end(encoder, "submit");
    if (status != KHAL_OK)
        return status;
    khal__recording* recording = encoder->recording;
    encoder->recording = NULL;
    encoder->pass_count = 0;
    atomic_fetch_add_explicit(&recording->runs, 1, memory_order_relaxed);
    return khal__submit(device, recording, NULL, 0, out_ticket);
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

khal_status khal__wait(khal_device* device, khal_ticket ticket, uint64_t timeout)
{
    if (device->backend->completed(device) >= ticket)
        return KHAL_OK;
    return device->backend->wait(device, ticket, timeout);
}

bool khal__failed_find(khal_device* device, khal_ticket ticket, khal__failed* out)
{
    bool found = false;
    if (!atomic_load_explicit(&device->has_failed, memory_order_acquire))
        return false;
    khal__mutex_lock(&device->track_lock);
    for (uint32_t i = 0; i < KHAL__FAILED_TICKETS && !found; ++i)
        if (device->failed[i].ticket == ticket && ticket != 0) {
            *out = device->failed[i];
            found = true;
        }
    khal__mutex_unlock(&device->track_lock);
    return found;
}

/* The failure was reported when it was found; here it goes into the record of the thread that asks.
 */
static khal_status tell_failed(const khal_device* device, const khal__failed* failed)
{
    khal_error error;
    describe_failure(device, failed->ticket, failed->status, failed->id, failed->message, &error);
    return khal__error_again(&error);
}

static khal_status check_ticket(khal_device* device, khal_ticket ticket)
{
    if (device == NULL)
        return khal__fail_null(NULL, NULL, "device");
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    const khal_ticket last = atomic_load_explicit(&device->submitted, memory_order_acquire);
    if (ticket > last)
        return khal__fail(device, KHAL_ERROR_TICKET, 0, device->object.label,
                          "ticket %llu; the last one given out is %llu", (unsigned long long)ticket,
                          (unsigned long long)last);
    return KHAL_OK;
}

khal_status khal_ticket_poll(khal_device* device, khal_ticket ticket)
{
    const khal_status status = check_ticket(device, ticket);
    if (status != KHAL_OK)
        return status;
    if (khal__retire(device) < ticket)
        return khal__is_lost(device) ? khal__fail_lost(device) : KHAL_NOT_READY;
    khal__failed failed;
    return khal__failed_find(device, ticket, &failed) ? tell_failed(device, &failed) : KHAL_OK;
}

static khal_status wait_until(khal_device* device, khal_ticket ticket, uint64_t timeout)
{
    const khal_status status = khal__wait(device, ticket, timeout);
    khal__retire(device);
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (status == KHAL_TIMEOUT)
        return khal__fail(device, KHAL_ERROR_TIMEOUT, 0, device->object.label,
                          "ticket %llu is not done", (unsigned long long)ticket);
    return status;
}

khal_status khal_ticket_wait(khal_device* device, khal_ticket ticket, uint64_t timeout)
{
    khal_status status = check_ticket(device, ticket);
    if (status == KHAL_OK)
        status = wait_until(device, ticket, timeout);
    khal__failed failed;
    return status == KHAL_OK && khal__failed_find(device, ticket, &failed)
               ? tell_failed(device, &failed)
               : status;
}

khal_status khal_device_wait(khal_device* device, uint64_t timeout)
{
    khal_status status = check_ticket(device, 0);
    if (status != KHAL_OK)
        return status;
    const khal_ticket last = atomic_load_explicit(&device->submitted, memory_order_acquire);
    status = wait_until(device, last, timeout);
    if (status != KHAL_OK)
        return status;
    khal__failed first = {0};
    khal__mutex_lock(&device->track_lock);
    for (uint32_t i = 0; i < KHAL__FAILED_TICKETS; ++i) {
        khal__failed* failed = &device->failed[i];
        if (failed->ticket == 0 || failed->reported || failed->ticket > last)
            continue;
        failed->reported = true;
        if (first.ticket == 0 || failed->ticket < first.ticket)
            first = *failed;
    }
    khal__mutex_unlock(&device->track_lock);
    return first.ticket != 0 ? tell_failed(device, &first) : KHAL_OK;
}
