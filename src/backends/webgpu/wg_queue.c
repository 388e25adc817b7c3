#include "wg.h"

#include <stdio.h>
#include <string.h>

#define QUERIES 256u /* in one set */
#define RESULT_CHUNK (4u << 10)
#define SPIN_NS 1000000u    /* how long a wait looks again and again before it naps */
#define SPIN_CPU_NS 100000u /* the same where the work needs the processor */
#define NAP_NS 20000u
#define LOOK_NS 4000u         /* wg_completed looks for events at most so often */
#define WRITES_PENDING 1024u  /* writes without a submit, */
#define BYTES_PENDING (32u << 20) /* and their bytes, before one is made for them */
#define OWN_SUBMITS 256u /* between two marks; the front bounds its own submissions, these are bounded here */
#define OWN_MARKS 2u

typedef struct result {
    wg_chunk* chunk;
    uint64_t at, size; /* bytes in the chunk */
    void* out;
    bool is_time;
    void (*call)(wg_device* device, khal__submission* submission, const void* bytes, uint64_t size);
} result;

/* A submission in the library's queue. Records are used again and keep their room. */
typedef struct wg_flight {
    khal__submission* submission; /* the front's until the ticket is complete */
    khal_ticket ticket;
    bool is_done; /* runs without results: the work is */
    bool is_owed; /* a callback of the library names this record */
    bool is_mark; /* no submission: how far the library is with work of our own */
    wg_chunk* chunks; /* of the results: complete when all are mapped; the first is being filled */
    uint64_t used;    /* bytes of the first */
    result* results;
    uint32_t result_count, result_capacity;
    uint32_t query_count;
    uint64_t submitted_at; /* host time */
    wg_device* device;
    struct wg_flight* next;
} wg_flight;

typedef struct query_set {
    WGPUQuerySet handle;
    WGPUBuffer resolved;
    struct query_set* next;
} query_set;

struct wg_queue {
    wg_flight *first, *last; /* in the library's queue, in order */
    wg_flight* free;
        khal_ticket submitted, issued; /* the last that came; the last that is in the library's queue */
    atomic_ullong completed;
    atomic_ullong looked_at; /* host time */
    query_set* queries;
    /* Device time and host time: of the device's zero on the host's clock it is known to lie between these. */
    bool is_calibrated;
    double period; /* ns a tick */
    int64_t zero_low, zero_high;
    uint32_t writes_pending;
    uint64_t bytes_pending;
    uint32_t own_submits, mark_count; /* since the last mark; marks that the library has not reached */
    wg_flight* marks;

    /* Submissions from the first one with a native callback on, until the thread has caught up. */
    khal__submission *pending_first, *pending_last;
    khal__condition work;
    khal__thread thread;
    bool has_thread, stop, is_busy;
};

/* ---- recorders --------------------------------------------------------------------------------- */

WGPUComputePassEncoder wg_recorder_pass(wg_recorder* recorder)
{
    if (recorder->pass == NULL) {
        recorder->pass = recorder->device->library->f.CommandEncoderBeginComputePass(recorder->encoder, NULL);
        recorder->bound_pipeline = recorder->bound_group = NULL;
        recorder->bound_offset = UINT32_MAX;
    }
    return recorder->pass;
}

static void end_pass(wg_recorder* recorder)
{
    if (recorder->pass == NULL)
        return;
    recorder->device->library->f.ComputePassEncoderEnd(recorder->pass);
    recorder->device->library->f.ComputePassEncoderRelease(recorder->pass);
    recorder->pass = NULL;
}

khal_status wg_recorder_begin(wg_recorder* recorder, wg_device* device)
{
    *recorder = (wg_recorder){.device = device, .bound_offset = UINT32_MAX};
    if (atomic_load(&device->is_lost))
        return khal__fail(device->front, KHAL_ERROR_DEVICE_LOST, device->lost_reason, NULL, "%s", device->lost_message);
    wg_scope_begin(device);
    recorder->encoder = device->library->f.DeviceCreateCommandEncoder(device->device, NULL);
    return KHAL_OK;
}

static wg_flight* take_run(wg_device* device);
static void put_run(wg_flight* run);

static void on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void* user, void* unused)
{
    (void)status;
    (void)message;
    (void)unused;
    wg_flight* run = user;
    run->is_owed = false;
    run->is_done = true;
    if (run->device == NULL) /* closed meanwhile */
        return;
    --run->device->outstanding;
    if (run->is_mark) {
        wg_flight** at = &run->device->run->marks;
        while (*at != run)
            at = &(*at)->next;
        *at = run->next;
        --run->device->run->mark_count;
        put_run(run);
    }
}

static void ask_done(wg_flight* run)
{
    const WGPUQueueWorkDoneCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_done, .userdata1 = run};
    run->is_owed = true;
    ++run->device->outstanding;
    run->device->library->f.QueueOnSubmittedWorkDone(run->device->queue, callback);
}

/* Work of our own that nobody waits for stays within bounds. The lock may be let go meanwhile. */
static void hold_back(wg_device* device)
{
    wg_queue* queue = device->run;
    if (++queue->own_submits < OWN_SUBMITS)
        return;
    wg_flight* mark = take_run(device);
    if (mark == NULL)
        return; /* the next submit tries again */
    queue->own_submits = 0;
    ++queue->mark_count;
    mark->is_mark = true;
    mark->next = queue->marks;
    queue->marks = mark;
    ask_done(mark);
    for (uint32_t turn = 0; queue->mark_count > OWN_MARKS;)
        if (!wg_wait_turn(device, &turn, UINT64_MAX))
            break;
}

/* Finish, and submit where the library had nothing against it: an unfinished encoder is freed as a whole, a finished command
 * buffer is not, and a wrong one ends the process. */
khal_status wg_recorder_end(wg_recorder* recorder, khal_status status)
{
    wg_device* device = recorder->device;
    const wg_functions* f = &device->library->f;
    char message[8];
    end_pass(recorder);
    if (status == KHAL_OK)
        status = wg_dispatch_flush(recorder);
    if (status == KHAL_OK) {
        status = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "the commands");
    } else {
        (void)wg_scope_take(device, message, sizeof message);
    }
    WGPUCommandBuffer commands = NULL;
    if (status == KHAL_OK) {
        wg_scope_begin(device);
        commands = f->CommandEncoderFinish(recorder->encoder, NULL);
        status = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "the commands");
    }
    f->CommandEncoderRelease(recorder->encoder);
    if (status == KHAL_OK) {
        wg_scope_begin(device);
        f->QueueSubmit(device->queue, 1, &commands);
        status = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "the submit");
        device->run->writes_pending = 0;
        device->run->bytes_pending = 0;
    }
    if (commands != NULL)
        f->CommandBufferRelease(commands);
    if (status != KHAL_OK)
        wg_dispatch_abandon(recorder);
    else if (recorder->submission == NULL)
        hold_back(device);
    return status;
}

/* ---- records ----------------------------------------------------------------------------------- */

static wg_flight* take_run(wg_device* device)
{
    wg_queue* queue = device->run;
    wg_flight* run = queue->free;
    if (run != NULL) {
        queue->free = run->next;
    } else {
        run = khal__alloc(device->front, sizeof *run, _Alignof(wg_flight));
        if (run == NULL) {
            khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a submission");
            return NULL;
        }
        run->results = NULL;
        run->result_capacity = 0;
    }
    run->submission = NULL;
    run->ticket = 0;
    run->is_done = run->is_owed = run->is_mark = false;
    run->chunks = NULL;
    run->used = 0;
    run->result_count = 0;
    run->query_count = 0;
    run->device = device;
    run->next = NULL;
    return run;
}

static void put_run(wg_flight* run)
{
    for (wg_chunk *c = run->chunks, *next; c != NULL; c = next) {
        next = c->next;
        wg_staging_give(c);
    }
    run->chunks = NULL;
    run->next = run->device->run->free;
    run->device->run->free = run;
}

static void free_run(wg_device* device, wg_flight* run)
{
    if (run->results != NULL)
        khal__free(device->front, run->results, run->result_capacity * sizeof(result));
    khal__free(device->front, run, sizeof *run);
}

/* Room for `size` bytes that the device copies to the host: an entry, and where in a chunk. */
static result* add_result(wg_flight* run, uint64_t size)
{
    wg_device* device = run->device;
    if (run->result_count == run->result_capacity) {
        const uint32_t capacity = run->result_capacity > 0 ? 2 * run->result_capacity : 8;
        result* grown = khal__alloc(device->front, capacity * sizeof(result), _Alignof(result));
        if (grown == NULL) {
            khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a submission");
            return NULL;
        }
        if (run->results != NULL) {
            memcpy(grown, run->results, run->result_count * sizeof(result));
            khal__free(device->front, run->results, run->result_capacity * sizeof(result));
        }
        run->results = grown;
        run->result_capacity = capacity;
    }
    const uint64_t room = (size + 7) & ~(uint64_t)7;
    if (run->chunks == NULL || run->chunks->size - run->used < room) {
        wg_chunk* chunk = wg_staging_take(device, false, room > RESULT_CHUNK ? room : RESULT_CHUNK);
        if (chunk == NULL)
            return NULL;
        if (run->chunks != NULL)
            run->chunks->mapped = run->used;
        chunk->next = run->chunks;
        run->chunks = chunk;
        run->used = 0;
    }
    result* r = &run->results[run->result_count++];
    *r = (result){.chunk = run->chunks, .at = run->used, .size = size};
    run->used += room;
    run->chunks->mapped = run->used;
    return r;
}

khal_status wg_recorder_result(wg_recorder* recorder, WGPUBuffer source, uint64_t offset, uint64_t size, void* out,
                               void (*call)(wg_device* device, khal__submission* submission, const void* bytes, uint64_t size))
{
    result* r = add_result(recorder->run, size);
    if (r == NULL)
        return khal_error_get()->status;
    r->out = out;
    r->call = call;
    end_pass(recorder);
    recorder->device->library->f.CommandEncoderCopyBufferToBuffer(recorder->encoder, source, offset, r->chunk->handle, r->at,
                                                                  size);
    return KHAL_OK;
}

/* ---- time -------------------------------------------------------------------------------------- */

static query_set* nth_set(wg_device* device, uint32_t n)
{
    query_set** at = &device->run->queries;
    for (; *at != NULL && n > 0; --n)
        at = &(*at)->next;
    if (*at != NULL)
        return *at;
    query_set* set = khal__alloc(device->front, sizeof *set, _Alignof(query_set));
    if (set == NULL) {
        khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for timestamps");
        return NULL;
    }
    const wg_functions* f = &device->library->f;
    const WGPUQuerySetDescriptor desc = {.type = WGPUQueryType_Timestamp, .count = QUERIES};
    const WGPUBufferDescriptor buffer = {.usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc,
                                         .size = QUERIES * sizeof(uint64_t)};
    *set = (query_set){NULL, NULL, NULL};
    wg_scope_begin(device);
    set->handle = f->DeviceCreateQuerySet(device->device, &desc);
    set->resolved = f->DeviceCreateBuffer(device->device, &buffer);
    if (wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "the timestamps") != KHAL_OK) {
        if (set->handle != NULL)
            f->QuerySetRelease(set->handle);
        if (set->resolved != NULL)
            f->BufferRelease(set->resolved);
        khal__free(device->front, set, sizeof *set);
        return NULL;
    }
    *at = set;
    return set;
}

/* Taken when all before it is done. */
static khal_status encode_time(wg_recorder* recorder)
{
    wg_device* device = recorder->device;
    const wg_functions* f = &device->library->f;
    query_set* set = nth_set(device, recorder->run->query_count / QUERIES);
    if (set == NULL)
        return khal_error_get()->status;
    const uint32_t index = recorder->run->query_count++ % QUERIES;
    end_pass(recorder);
    if (device->has_encoder_timestamps) {
        f->CommandEncoderWriteTimestamp(recorder->encoder, set->handle, index);
    } else {
        const WGPUPassTimestampWrites writes = {.querySet = set->handle,
                                                .beginningOfPassWriteIndex = index,
                                                .endOfPassWriteIndex = WGPU_QUERY_SET_INDEX_UNDEFINED};
        const WGPUComputePassDescriptor desc = {.timestampWrites = &writes};
        WGPUComputePassEncoder pass = f->CommandEncoderBeginComputePass(recorder->encoder, &desc);
        f->ComputePassEncoderEnd(pass);
        f->ComputePassEncoderRelease(pass);
    }
    return KHAL_OK;
}

/* After the last command. */
static khal_status resolve_times(wg_recorder* recorder)
{
    wg_device* device = recorder->device;
    const uint32_t count = recorder->run->query_count;
    uint32_t first = 0;
    for (query_set* set = device->run->queries; first < count; set = set->next, first += QUERIES) {
        const uint32_t n = count - first < QUERIES ? count - first : QUERIES;
        device->library->f.CommandEncoderResolveQuerySet(recorder->encoder, set->handle, 0, n, set->resolved, 0);
        const khal_status status = wg_recorder_result(recorder, set->resolved, 0, n * sizeof(uint64_t), NULL, NULL);
        if (status != KHAL_OK)
            return status;
        recorder->run->results[recorder->run->result_count - 1].is_time = true;
    }
    return KHAL_OK;
}

static int64_t to_ns(const wg_queue* queue, uint64_t ticks)
{
    return queue->period == 1.0 ? (int64_t)ticks : (int64_t)((double)ticks * queue->period);
}

/* What the run's first and last sample say of the device's zero. Clocks drift, so what contradicts the newest goes. */
static void calibrate(wg_queue* queue, const wg_flight* run, int64_t first, int64_t last, uint64_t now)
{
    const int64_t low = (int64_t)run->submitted_at - first;
    const int64_t high = (int64_t)now - last;
    if (!queue->is_calibrated || low > queue->zero_high || high < queue->zero_low) {
        queue->zero_low = low;
        queue->zero_high = high;
        queue->is_calibrated = true;
        return;
    }
    if (low > queue->zero_low)
        queue->zero_low = low;
    if (high < queue->zero_high)
        queue->zero_high = high;
}

static uint64_t ticks_at(const result* r, uint64_t at)
{
    uint64_t ticks;
    memcpy(&ticks, (const char*)r->chunk->memory + r->at + at, sizeof ticks);
    return ticks;
}

/* The samples, in the order of the run's TIMESTAMP commands, as ns since the device was opened. */
static void finish_times(wg_device* device, wg_flight* run)
{
    wg_queue* queue = device->run;
    const uint64_t now = khal__clock_now();
    const uint64_t epoch = khal__device_epoch(device->front);
    uint64_t first = 0, last = 0;
    bool has_any = false;
    for (uint32_t i = 0; i < run->result_count; ++i) {
        const result* r = &run->results[i];
        if (!r->is_time || r->size == 0)
            continue;
        if (!has_any)
            first = ticks_at(r, 0);
        last = ticks_at(r, r->size - sizeof(uint64_t));
        has_any = true;
    }
    if (!has_any)
        return;
    calibrate(queue, run, to_ns(queue, first), to_ns(queue, last), now);
    const int64_t zero = queue->zero_low + (queue->zero_high - queue->zero_low) / 2;
    const khal__command* command = run->submission != NULL ? run->submission->commands : NULL;
    uint64_t before = run->submitted_at;
    for (uint32_t i = 0; i < run->result_count; ++i) {
        const result* r = &run->results[i];
        if (!r->is_time)
            continue;
        for (uint64_t at = 0; at < r->size; at += sizeof(uint64_t)) {
            while (command != NULL && command->kind != KHAL__COMMAND_TIMESTAMP)
                command = command->next;
            if (command == NULL)
                return;
            const int64_t host = zero + to_ns(queue, ticks_at(r, at));
            uint64_t time = host > (int64_t)before ? (uint64_t)host : before;
            time = time < now ? time : now;
            before = time;
            *command->u.timestamp.out = time - epoch;
            command = command->next;
        }
    }
}

/* ---- completion -------------------------------------------------------------------------------- */

static void fail_run(khal__submission* submission, khal_error_id id, khal_status status, const char* message)
{
    if (submission->status != KHAL_OK)
        return;
    submission->status = status;
    submission->error_id = id;
    snprintf(submission->message, sizeof submission->message, "%.*s", (int)sizeof submission->message - 1, message);
}

static bool is_over(const wg_flight* run)
{
    if (run->chunks == NULL)
        return run->is_done;
    for (const wg_chunk* c = run->chunks; c != NULL; c = c->next)
        if (c->is_asked)
            return false;
    return true;
}

static void hand_out(wg_device* device, wg_flight* run)
{
    const wg_functions* f = &device->library->f;
    for (wg_chunk* c = run->chunks; c != NULL; c = c->next) {
        c->memory = c->is_mapped ? (void*)(uintptr_t)f->BufferGetConstMappedRange(c->handle, 0, (size_t)c->mapped) : NULL;
        if (c->memory == NULL) {
            if (run->submission != NULL)
                fail_run(run->submission, KHAL_ERROR_DRIVER, KHAL_DRIVER_ERROR, "the library does not map the results");
            return;
        }
    }
    for (uint32_t i = 0; i < run->result_count; ++i) {
        const result* r = &run->results[i];
        const char* bytes = (const char*)r->chunk->memory + r->at;
        if (r->out != NULL)
            memcpy(r->out, bytes, (size_t)r->size);
        if (r->call != NULL)
            r->call(device, run->submission, bytes, r->size);
    }
    finish_times(device, run);
}

void wg_queue_advance(wg_device* device)
{
    wg_queue* queue = device->run;
    bool any = false;
    while (queue->first != NULL && is_over(queue->first) && !atomic_load(&device->is_lost)) {
        wg_flight* run = queue->first;
        if (run->chunks != NULL)
            hand_out(device, run);
        queue->first = run->next;
        if (queue->first == NULL)
            queue->last = NULL;
        const khal_ticket ticket = run->ticket;
        put_run(run);
        atomic_store_explicit(&queue->completed, ticket, memory_order_release);
        any = true;
    }
    if (any)
        khal__condition_broadcast(&device->changed);
}

/* ---- submitting -------------------------------------------------------------------------------- */

/* Whole words between two buffers are the library's own copy; what is left over in the last word of both is nobody's. */
static khal_status encode_copy(wg_recorder* recorder, const khal__range* source, const khal__range* target)
{
    const wg_buffer* from = wg_buffer_of(source->buffer);
    const wg_buffer* to = wg_buffer_of(target->buffer);
    wg_dispatch_wrote(recorder->device, to->handle);
    const bool is_end = !to->is_foreign && target->offset + target->size == to->size;
    if (from->handle == to->handle || ((source->offset | target->offset) & 3) != 0 || ((source->size & 3) != 0 && !is_end))
        return wg_internal_copy(recorder, from->handle, source->offset, to->handle, target->offset, source->size);
    end_pass(recorder);
    recorder->device->library->f.CommandEncoderCopyBufferToBuffer(recorder->encoder, from->handle, source->offset, to->handle,
                                                                  target->offset, (source->size + 3) & ~(uint64_t)3);
    return KHAL_OK;
}

static khal_status encode_fill(wg_recorder* recorder, const khal__command* command)
{
    const khal__range* target = &command->u.fill.target;
    const wg_buffer* to = wg_buffer_of(target->buffer);
    wg_dispatch_wrote(recorder->device, to->handle);
    bool is_zero = true;
    for (uint32_t i = 0; i < command->u.fill.pattern_size; ++i)
        is_zero = is_zero && command->u.fill.pattern[i] == 0;
    const bool is_end = !to->is_foreign && target->offset + target->size == to->size;
    if (!is_zero || (target->offset & 3) != 0 || ((target->size & 3) != 0 && !is_end))
        return wg_internal_fill(recorder, to->handle, target->offset, target->size, command->u.fill.pattern,
                                command->u.fill.pattern_size);
    end_pass(recorder);
    recorder->device->library->f.CommandEncoderClearBuffer(recorder->encoder, to->handle, target->offset,
                                                           (target->size + 3) & ~(uint64_t)3);
    return KHAL_OK;
}

static khal_status encode_read(wg_recorder* recorder, const khal__command* command)
{
    const khal__range* source = &command->u.read.source;
    const uint64_t first = source->offset & ~(uint64_t)3;
    const uint64_t end = (source->offset + source->size + 3) & ~(uint64_t)3;
    const khal_status status =
        wg_recorder_result(recorder, wg_buffer_of(source->buffer)->handle, first, end - first, command->u.read.out, NULL);
    if (status == KHAL_OK) {
        result* r = &recorder->run->results[recorder->run->result_count - 1];
        r->at += source->offset - first;
        r->size = source->size;
    }
    return status;
}

/* The lock is let go meanwhile. What the callback does wrong to an own device spoils the submission; a wrapped one's scopes
 * are not left open around it. */
static khal_status encode_native(wg_recorder* recorder, const khal__command* command)
{
    wg_device* device = recorder->device;
    end_pass(recorder);
    khal_status status = KHAL_OK;
    if (!device->has_immediate_errors)
        status = wg_scope_end(device, KHAL_ERROR_DRIVER, NULL, "the commands");
    if (status == KHAL_OK) {
        const khal_native native = {.backend = KHAL_BACKEND_WEBGPU, .handle = recorder->encoder};
        wg_unlock(device);
        status = command->u.native.call(command->u.native.user, &native);
        wg_lock(device);
        wg_dispatch_wrote(device, NULL);
        if (!khal__device_is_up(device->front)) { /* the submission is the front's again */
            status = KHAL_DEVICE_LOST;
        } else if (status != KHAL_OK) {
            char message[128];
            snprintf(message, sizeof message, "a native callback returned %s", khal_status_name(status));
            fail_run(recorder->submission, KHAL_ERROR_NATIVE_FAILED, KHAL_EXECUTION_FAILED, message);
            status = KHAL_EXECUTION_FAILED;
        }
    }
    if (!device->has_immediate_errors)
        wg_scope_begin(device);
    return status;
}

static khal_status encode(wg_recorder* recorder)
{
    khal_status status = KHAL_OK;
    for (const khal__command* c = recorder->submission->commands; c != NULL; c = c->next) {
        switch (c->kind) {
        case KHAL__COMMAND_DISPATCH: status = wg_dispatch_encode(recorder, c); break;
        case KHAL__COMMAND_COPY:
            if (c->u.copy.target.size > 0)
                status = encode_copy(recorder, &c->u.copy.source, &c->u.copy.target);
            break;
        case KHAL__COMMAND_FILL:
            if (c->u.fill.target.size > 0)
                status = encode_fill(recorder, c);
            break;
        case KHAL__COMMAND_READ:
            if (c->u.read.source.size > 0)
                status = encode_read(recorder, c);
            break;
        case KHAL__COMMAND_TIMESTAMP: status = encode_time(recorder); break;
        case KHAL__COMMAND_NATIVE: status = encode_native(recorder, c); break;
        case KHAL__COMMAND_BARRIER: break; /* WebGPU orders by what is used */
        }
        if (status != KHAL_OK)
            return status; /* the command may be gone, with a device that was lost */
    }
    return recorder->run->query_count > 0 ? resolve_times(recorder) : KHAL_OK;
}

static void append(wg_queue* queue, wg_flight* run)
{
    if (queue->last != NULL)
        queue->last->next = run;
    else
        queue->first = run;
    queue->last = run;
}

/* Into the library's queue: its commands, or nothing but its ticket. (lock) */
static khal_status issue(wg_device* device, khal__submission* submission, bool is_empty)
{
    wg_queue* queue = device->run;
    wg_flight* run = take_run(device);
    if (run == NULL)
        return khal_error_get()->status;
    run->submission = submission;
    run->ticket = submission->ticket;
    run->submitted_at = khal__clock_now();
    khal_status status = KHAL_OK;
    if (is_empty) {
        run->is_done = true; /* with what stands before it */
    } else {
        wg_recorder recorder;
        status = wg_recorder_begin(&recorder, device);
        if (status == KHAL_OK) {
            recorder.submission = submission;
            recorder.run = run;
            status = wg_recorder_end(&recorder, encode(&recorder));
        }
        if (status != KHAL_OK) {
            put_run(run);
            return status;
        }
        ++device->changes;
        for (wg_chunk *c = run->chunks, *next; c != NULL; c = next) {
            next = c->next;
            wg_staging_ask(c, c->mapped);
        }
        if (run->chunks == NULL)
            ask_done(run);
    }
    append(queue, run);
    queue->issued = submission->ticket;
    if (is_empty)
        wg_queue_advance(device); /* from here on the submission may be the front's again */
    return KHAL_OK;
}

/* A submission that failed on the thread: its ticket is complete when those before it are. (lock) */
static void issue_failure(wg_device* device, khal__submission* submission)
{
    const khal_error* error = khal_error_get();
    fail_run(submission, error->id, error->status, error->message);
    if (issue(device, submission, true) != KHAL_OK)
        wg_lose(device, 0, "no memory for a submission that failed");
}

static void run_pending(void* user)
{
    wg_device* device = user;
    wg_queue* queue = device->run;
    khal__failures_keep();
    wg_lock(device);
    while (!queue->stop) {
        khal__submission* submission = queue->pending_first;
        if (submission == NULL || atomic_load(&device->is_lost)) {
            queue->is_busy = false;
            khal__condition_wait(&queue->work, &device->lock, UINT64_MAX);
            continue;
        }
        queue->is_busy = true;
        queue->pending_first = submission->next;
        if (queue->pending_first == NULL)
            queue->pending_last = NULL;
        const bool is_empty = submission->commands == NULL;
        if (issue(device, submission, is_empty) != KHAL_OK && !atomic_load(&device->is_lost))
            issue_failure(device, submission);
        khal__condition_broadcast(&device->changed);
    }
    wg_unlock(device);
}

khal_status wg_submit(khal_device* front, khal__submission* submission)
{
    wg_device* device = wg_device_of(front);
    wg_queue* queue = device->run;
    khal_status status = KHAL_OK;
    wg_lock(device);
    submission->next = NULL;
    if (!submission->has_native && queue->pending_first == NULL && !queue->is_busy) {
        status = issue(device, submission, submission->commands == NULL);
    } else {
        if (!queue->has_thread) {
            queue->has_thread = khal__thread_start(&queue->thread, run_pending, device, "khal-webgpu");
            if (!queue->has_thread)
                status = khal__fail(front, KHAL_ERROR_DRIVER, 0, NULL, "the system refused a thread for native callbacks");
        }
        if (status == KHAL_OK) {
            if (queue->pending_last != NULL)
                queue->pending_last->next = submission;
            else
                queue->pending_first = submission;
            queue->pending_last = submission;
            khal__condition_signal(&queue->work);
        }
    }
    if (status == KHAL_OK)
        queue->submitted = submission->ticket;
    /* What was submitted just now is not done yet. */
    atomic_store_explicit(&queue->looked_at, khal__clock_now(), memory_order_relaxed);
    wg_unlock(device);
    return status;
}

void wg_queue_wrote(wg_device* device, uint64_t size)
{
    wg_queue* queue = device->run;
    queue->bytes_pending += size;
    if (++queue->writes_pending >= WRITES_PENDING || queue->bytes_pending >= BYTES_PENDING)
        wg_queue_tidy(device);
}

/* Through an encoder, which tells of a device that is gone: submitting to one ends the process in one library. */
void wg_queue_tidy(wg_device* device)
{
    wg_recorder recorder;
    if (wg_recorder_begin(&recorder, device) == KHAL_OK)
        (void)wg_recorder_end(&recorder, KHAL_OK);
    wg_events(device);
    wg_queue_advance(device);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

khal_ticket wg_completed(khal_device* front)
{
    wg_device* device = wg_device_of(front);
    wg_queue* queue = device->run;
    const uint64_t now = khal__clock_now();
    const uint64_t looked = atomic_load_explicit(&queue->looked_at, memory_order_relaxed);
    if (now - looked >= LOOK_NS) {
        wg_lock(device);
        if (queue->first != NULL) {
            wg_events(device);
            wg_queue_advance(device);
        }
        atomic_store_explicit(&queue->looked_at, khal__clock_now(), memory_order_relaxed);
        wg_unlock(device);
    }
    return atomic_load_explicit(&queue->completed, memory_order_acquire);
}

khal_ticket wg_submitted(wg_device* device)
{
    wg_lock(device);
    const khal_ticket ticket = device->run->submitted;
    wg_unlock(device);
    return ticket;
}

bool wg_queue_is_idle(wg_device* device)
{
    const wg_queue* queue = device->run;
    return queue->first == NULL && queue->pending_first == NULL && !queue->is_busy;
}

bool wg_wait_turn(wg_device* device, uint32_t* turn, uint64_t deadline)
{
    if (atomic_load(&device->is_lost))
        return false;
    const uint64_t now = khal__clock_now();
    static _Thread_local uint64_t began;
    if ((*turn)++ == 0)
        began = now;
    else if (now >= deadline)
        return false;
    wg_events(device);
    wg_queue_advance(device);
    if (now - began >= (device->is_cpu ? SPIN_CPU_NS : SPIN_NS)) {
        const uint64_t nap = now + NAP_NS < deadline ? now + NAP_NS : deadline;
        khal__condition_wait(&device->changed, &device->lock, nap);
        return true;
    }
    khal__mutex_unlock(&device->lock);
    if (device->is_cpu || atomic_load_explicit(&device->wanting, memory_order_relaxed) > 0)
        khal__thread_yield();
    wg_lock(device);
    return true;
}

khal_status wg_wait(khal_device* front, khal_ticket ticket, uint64_t timeout)
{
    wg_device* device = wg_device_of(front);
    wg_queue* queue = device->run;
    const uint64_t deadline = khal__in_callback(front) ? 0 : wg_deadline(timeout);
    khal_status status = KHAL_OK;
    wg_lock(device);
    for (uint32_t turn = 0; atomic_load_explicit(&queue->completed, memory_order_relaxed) < ticket;)
        if (!wg_wait_turn(device, &turn, deadline)) {
            status = KHAL_TIMEOUT;
            break;
        }
    wg_unlock(device);
    return status;
}

khal_status wg_wait_issued(wg_device* device, khal_ticket ticket, uint64_t deadline)
{
    khal_status status = KHAL_OK;
    wg_lock(device);
    if (khal__in_callback(device->front))
        deadline = 0;
    while (device->run->issued < ticket && status == KHAL_OK) {
        if (atomic_load(&device->is_lost) || khal__clock_now() >= deadline)
            status = KHAL_TIMEOUT;
        else
            khal__condition_wait(&device->changed, &device->lock, deadline);
    }
    wg_unlock(device);
    return status;
}

/* ---- opening and closing ----------------------------------------------------------------------- */

khal_status wg_queue_open(wg_device* device)
{
    wg_queue* queue = khal__alloc(device->front, sizeof *queue, _Alignof(wg_queue));
    if (queue == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for the queue");
    memset(queue, 0, sizeof *queue);
    atomic_init(&queue->completed, 0);
    atomic_init(&queue->looked_at, 0);
    khal__condition_init(&queue->work);
    queue->period = 1.0;
    if (device->library->f.QueueGetTimestampPeriod != NULL && device->has_timestamps)
        queue->period = (double)device->library->f.QueueGetTimestampPeriod(device->queue);
    device->run = queue;
    return KHAL_OK;
}

/* A first sample, so that the first timed pass has its place. */
khal_status wg_queue_calibrate(wg_device* device)
{
    if (!device->has_timestamps)
        return KHAL_OK;
    wg_lock(device);
    wg_flight* run = take_run(device);
    khal_status status = run != NULL ? KHAL_OK : KHAL_OUT_OF_MEMORY;
    wg_recorder recorder;
    if (status == KHAL_OK)
        status = wg_recorder_begin(&recorder, device);
    if (status == KHAL_OK) {
        recorder.run = run;
        run->submitted_at = khal__clock_now();
        status = encode_time(&recorder);
        if (status == KHAL_OK)
            status = resolve_times(&recorder);
        status = wg_recorder_end(&recorder, status);
    }
    if (status == KHAL_OK) {
        wg_staging_ask(run->chunks, run->chunks->mapped);
        append(device->run, run);
        for (uint32_t turn = 0; device->run->first != NULL;)
            if (!wg_wait_turn(device, &turn, UINT64_MAX))
                break;
    } else if (run != NULL) {
        put_run(run);
    }
    wg_unlock(device);
    return status;
}

void wg_queue_stop(wg_device* device)
{
    wg_queue* queue = device->run;
    if (queue == NULL)
        return;
    wg_lock(device);
    queue->stop = true;
    khal__condition_broadcast(&queue->work);
    wg_unlock(device);
    if (queue->has_thread)
        khal__thread_join(&queue->thread);
    /* Callbacks that are owed come before their records go. */
    wg_lock(device);
    const uint64_t deadline = wg_deadline(2000000000u);
    for (uint32_t turn = 0; device->outstanding > 0;)
        if (!wg_wait_turn(device, &turn, deadline))
            break;
    wg_flight** const lists[] = {&queue->first, &queue->marks}; /* lost */
    for (size_t i = 0; i < 2; ++i)
        while (*lists[i] != NULL) {
            wg_flight* run = *lists[i];
            *lists[i] = run->next;
            run->is_mark = false;
            put_run(run);
        }
    queue->last = NULL;
    wg_unlock(device);
}

void wg_queue_release(wg_device* device)
{
    if (device->run == NULL)
        return;
    const wg_functions* f = &device->library->f;
    for (query_set* set = device->run->queries; set != NULL; set = set->next) {
        f->QuerySetRelease(set->handle);
        f->BufferRelease(set->resolved);
    }
}

void wg_queue_close(wg_device* device)
{
    wg_queue* queue = device->run;
    if (queue == NULL)
        return;
    for (query_set *set = queue->queries, *next; set != NULL; set = next) {
        next = set->next;
        khal__free(device->front, set, sizeof *set);
    }
    for (wg_flight *run = queue->free, *next; run != NULL; run = next) {
        next = run->next;
        if (device->is_foreign && run->is_owed)
            run->device = NULL; /* the program's instance may still call: the record stays */
        else
            free_run(device, run);
    }
    khal__condition_destroy(&queue->work);
    khal__free(device->front, queue, sizeof *queue);
    device->run = NULL;
}
