/* Submissions: into the stream at once, an event behind each, which tells when it is done. Behind a native callback they wait
 * for a thread of ours, which runs it and issues what follows.
 *
 * device->lock orders what goes into the stream. queue->lock, inside it, guards the flights; it is held for moments only, never
 * around a call of the driver's. Tickets of flights follow one another without a gap. */
#include "cu.h"

#include <stdio.h>
#include <string.h>

/* An event's query takes over a microsecond, and each submit asks what is complete several times: so often at most are queries
 * made on its behalf, */
#define LOOK_NS 3000u
#define LOOK_MANY_NS 20000u /* and so often with so many flights or more; */
#define MANY 32u
#define LOOK_POLL_NS 300u /* where it is asked more often than submits do, someone waits for it */
#define SUBMIT_ASKS 6u
#define KEPT_PINNED (64u << 10) /* bytes of pinned memory that a flight keeps for its next use */
#define LOST_LOOK_NS 5000000u   /* how often a wait that no one wakes after a loss looks for one */

/* An event for a time; all that were made are used again. */
typedef struct time_event {
    CUevent handle;
    struct time_event* next; /* of those that are free */
} time_event;

typedef struct cu_result {
    void* out;
    const char* bytes; /* in pinned memory; NULL: a time */
    uint64_t size;
    time_event* event; /* of a time */
    uint64_t time; /* of the host's clock */
} cu_result;

/* A submission in the stream. Records are used again and keep their room. */
typedef struct cu_flight {
    khal__submission* submission; /* the front's until the ticket is complete */
    khal_ticket ticket;
    uint64_t submitted_at; /* where there are results */
    CUevent done;
    bool is_marked;    /* `done` was recorded behind it */
    cu_pinned* pinned; /* of the results */
    uint64_t used;     /* bytes of it */
    uint32_t* too_many; /* in it: what indirect grids too large set; NULL: there are none */
    cu_result* results;
    uint32_t result_count, result_capacity, time_count;
    struct cu_flight* next; /* of those that are free */
} cu_flight;

struct cu_queue {
    khal__mutex lock;
    cu_flight** ring; /* the flights, `count` from `first` on */
    uint32_t capacity, first, count;
    cu_flight* free;
    bool is_handing; /* someone hands out the first one's results, without the lock */
    atomic_ullong submitted, issued, completed;
    atomic_ullong looked_at; /* host time */
    atomic_uint asks;        /* how often cu_completed was called since the last submit, at most SUBMIT_ASKS */

    time_event* events;
    /* The last time that was handed out: its event, and when it was. Who hands out has them. */
    time_event* known;
    uint64_t known_time;

    /* Submissions from the first one that takes the thread on, until it has caught up: under device->lock. */
    khal__submission *pending_first, *pending_last;
    khal__condition work, moved;
    khal__thread thread;
    bool has_thread, stop, is_busy;
};

static void fail_run(khal__submission* submission, khal_error_id id, const char* message)
{
    if (submission->status != KHAL_OK)
        return;
    submission->status = KHAL_EXECUTION_FAILED;
    submission->error_id = id;
    snprintf(submission->message, sizeof submission->message, "%s", message);
}

/* ---- flights ------------------------------------------------------------------------------------- */

static CUresult take_flight(cu_device* device, cu_flight** out)
{
    cu_queue* queue = device->queue;
    khal__mutex_lock(&queue->lock);
    cu_flight* flight = queue->free;
    if (flight != NULL)
        queue->free = flight->next;
    khal__mutex_unlock(&queue->lock);
    *out = flight;
    if (flight != NULL)
        return CUDA_SUCCESS;
    flight = khal__alloc(device->front, sizeof *flight, _Alignof(cu_flight));
    if (flight == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(flight, 0, sizeof *flight);
    const CUresult result = device->f->EventCreate(&flight->done, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        khal__free(device->front, flight, sizeof *flight);
    else
        *out = flight;
    return result;
}

/* More pinned memory than a flight keeps. */
static bool has_much(const cu_flight* flight)
{
    return flight->pinned != NULL && flight->pinned->size > KEPT_PINNED;
}

/* Calls the driver, maybe: without queue->lock. */
static void give_much(cu_device* device, cu_flight* flight)
{
    if (!has_much(flight))
        return;
    cu_pinned_give(device, flight->pinned);
    flight->pinned = NULL;
}

/* Its events for times go back too. Under queue->lock. */
static void put_flight(cu_queue* queue, cu_flight* flight)
{
    for (uint32_t i = 0; i < flight->result_count; ++i) {
        time_event* event = flight->results[i].event;
        if (event == NULL)
            continue;
        event->next = queue->events;
        queue->events = event;
    }
    flight->submission = NULL;
    flight->is_marked = false;
    flight->result_count = flight->time_count = 0;
    flight->used = 0;
    flight->too_many = NULL;
    flight->next = queue->free;
    queue->free = flight;
}

static void give_up_flight(cu_device* device, cu_flight* flight)
{
    give_much(device, flight);
    khal__mutex_lock(&device->queue->lock);
    put_flight(device->queue, flight);
    khal__mutex_unlock(&device->queue->lock);
}

static cu_flight* nth_flight(const cu_queue* queue, uint32_t n)
{
    return queue->ring[(queue->first + n) & (queue->capacity - 1)];
}

/* Room for one flight more. (lock) */
static bool grow_ring(cu_device* device)
{
    cu_queue* queue = device->queue;
    khal__mutex_lock(&queue->lock);
    const bool has_room = queue->count < queue->capacity; /* which only who issues takes */
    khal__mutex_unlock(&queue->lock);
    if (has_room)
        return true;
    const uint32_t capacity = queue->capacity > 0 ? 2 * queue->capacity : 64;
    cu_flight** ring = khal__alloc(device->front, capacity * sizeof *ring, _Alignof(cu_flight*));
    if (ring == NULL)
        return false;
    khal__mutex_lock(&queue->lock);
    for (uint32_t i = 0; i < queue->count; ++i)
        ring[i] = nth_flight(queue, i);
    cu_flight** old = queue->ring;
    const size_t old_size = queue->capacity * sizeof *ring;
    queue->ring = ring;
    queue->capacity = capacity;
    queue->first = 0;
    khal__mutex_unlock(&queue->lock);
    if (old != NULL)
        khal__free(device->front, old, old_size);
    return true;
}

/* ---- what comes back ----------------------------------------------------------------------------- */

static CUresult take_event(cu_device* device, time_event** out)
{
    cu_queue* queue = device->queue;
    khal__mutex_lock(&queue->lock);
    time_event* event = queue->events;
    if (event != NULL)
        queue->events = event->next;
    khal__mutex_unlock(&queue->lock);
    *out = event;
    if (event != NULL)
        return CUDA_SUCCESS;
    event = khal__alloc(device->front, sizeof *event, _Alignof(time_event));
    if (event == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = device->f->EventCreate(&event->handle, CU_EVENT_DEFAULT);
    if (result != CUDA_SUCCESS)
        khal__free(device->front, event, sizeof *event);
    else
        *out = event;
    return result;
}

static uint64_t round_up(uint64_t size)
{
    return (size + 15) & ~(uint64_t)15;
}

static bool is_foreign_indirect(const khal__command* command)
{
    return command->kind == KHAL__COMMAND_DISPATCH && command->u.dispatch.is_indirect &&
           cu_function_of(command->u.dispatch.function)->is_foreign;
}

/* Whether there are commands among which one may be indirect. */
static bool may_be_indirect(const khal__submission* submission)
{
    return submission->work_item_count == UINT64_MAX;
}

static bool reserve_results(cu_device* device, cu_flight* flight, uint32_t count)
{
    if (count <= flight->result_capacity)
        return true;
    cu_result* grown = khal__alloc(device->front, count * sizeof *grown, _Alignof(cu_result));
    if (grown == NULL)
        return false;
    if (flight->results != NULL)
        khal__free(device->front, flight->results, flight->result_capacity * sizeof *grown);
    flight->results = grown;
    flight->result_capacity = count;
    return true;
}

static void* take_bytes(cu_flight* flight, uint64_t size)
{
    void* at = flight->pinned->host + flight->used;
    flight->used += round_up(size);
    return at;
}

/* Room for all that comes back. */
static CUresult make_room(cu_device* device, cu_flight* flight, const khal__submission* submission)
{
    uint64_t size = 0;
    uint32_t count = 0;
    bool tells = false;
    if (!submission->has_results && !may_be_indirect(submission))
        return CUDA_SUCCESS;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next) {
        if (c->kind == KHAL__COMMAND_READ)
            size += round_up(c->u.read.source.size);
        if (c->kind == KHAL__COMMAND_READ || c->kind == KHAL__COMMAND_TIMESTAMP)
            ++count;
        else if (is_foreign_indirect(c))
            size += round_up(3 * sizeof(uint32_t));
        else
            tells = tells || (c->kind == KHAL__COMMAND_DISPATCH && c->u.dispatch.is_indirect);
    }
    size += tells ? round_up(sizeof(uint32_t)) : 0;
    if (!reserve_results(device, flight, count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (size > 0 && (flight->pinned == NULL || flight->pinned->size < size)) {
        cu_pinned_give(device, flight->pinned);
        flight->pinned = cu_pinned_take(device, size);
        if (flight->pinned == NULL)
            return cu_no_memory(device);
    }
    if (tells) {
        flight->too_many = take_bytes(flight, sizeof(uint32_t));
        *flight->too_many = 0;
    }
    return CUDA_SUCCESS;
}

/* The times of a flight, on the host's clock: each is the one before it and what lies between the two events, which is exact
 * enough however long the device has been open. All are said to be as early as they can be: the first was taken no earlier than
 * the work was submitted, and where it seems to be, all move. So they move later alone, which keeps them in order and before the
 * host sees them; only where the device's clock is the faster one does something come back, and is cut to these bounds. */
static void hand_times(cu_device* device, cu_flight* flight)
{
    cu_queue* queue = device->queue;
    const uint64_t now = khal__clock_now();
    cu_result *first = NULL, *last = NULL;
    CUevent before = queue->known->handle;
    uint64_t time = queue->known_time;
    for (uint32_t i = 0; i < flight->result_count; ++i) {
        cu_result* r = &flight->results[i];
        float ms = 0.0f;
        if (r->event == NULL || r->out == NULL)
            continue;
        if (device->f->EventElapsedTime(&ms, before, r->event->handle) != CUDA_SUCCESS) {
            r->out = NULL; /* no value */
            continue;
        }
        time += ms > 0.0f ? (uint64_t)((double)ms * 1e6 + 0.5) : 0;
        r->time = time;
        before = r->event->handle;
        first = first != NULL ? first : r;
        last = r;
    }
    if (last == NULL)
        return;
    int64_t shift = 0;
    if (first->time < flight->submitted_at)
        shift = (int64_t)(flight->submitted_at - first->time);
    else if (last->time > now)
        shift = -(int64_t)(last->time - now);
    uint64_t least = flight->submitted_at > queue->known_time ? flight->submitted_at : queue->known_time;
    for (cu_result* r = first; r <= last; ++r) {
        if (r->event == NULL || r->out == NULL)
            continue;
        const uint64_t moved = r->time + (uint64_t)shift;
        r->time = moved < least ? least : moved > now ? now : moved;
        least = r->time;
        *(uint64_t*)r->out = r->time - khal__device_epoch(device->front);
    }
    /* The last event stays, as what the next are measured from. */
    queue->known_time = last->time;
    time_event* kept = last->event;
    last->event = queue->known;
    queue->known = kept;
}

/* Without queue->lock. */
static void hand_out(cu_device* device, cu_flight* flight)
{
    for (uint32_t i = 0; i < flight->result_count; ++i) {
        const cu_result* r = &flight->results[i];
        if (r->bytes != NULL)
            memcpy(r->out, r->bytes, (size_t)r->size);
    }
    if (flight->time_count > 0)
        hand_times(device, flight);
    if (flight->too_many != NULL && *flight->too_many != 0)
        fail_run(flight->submission, KHAL_ERROR_INDIRECT_TOO_LARGE,
                 "an indirect grid has 2^63 or more work-groups, of which none ran");
}

/* The device is done with all up to `ticket`. Entered, without a lock. */
static void retire(cu_device* device, khal_ticket ticket)
{
    cu_queue* queue = device->queue;
    khal__mutex_lock(&queue->lock);
    while (!queue->is_handing && queue->count > 0 && !atomic_load(&device->is_lost)) {
        cu_flight* flight = nth_flight(queue, 0);
        if (flight->ticket > ticket)
            break;
        if (flight->result_count > 0 || flight->too_many != NULL || has_much(flight)) {
            queue->is_handing = true;
            khal__mutex_unlock(&queue->lock);
            hand_out(device, flight);
            give_much(device, flight);
            khal__mutex_lock(&queue->lock);
            queue->is_handing = false;
        }
        const khal_ticket done = flight->ticket;
        ++queue->first;
        --queue->count;
        put_flight(queue, flight);
        /* From here on the submission is the front's again. */
        atomic_store_explicit(&queue->completed, done, memory_order_release);
    }
    khal__mutex_unlock(&queue->lock);
}

void cu_queue_calm(cu_device* device)
{
    cu_queue* queue = device->queue;
    bool is_handing = queue != NULL; /* else the device is being opened */
    while (is_handing) {
        khal__mutex_lock(&queue->lock);
        is_handing = queue->is_handing;
        khal__mutex_unlock(&queue->lock);
        if (is_handing)
            khal__thread_yield();
    }
}

/* ---- whether it is done -------------------------------------------------------------------------- */

/* The mark behind a submission: an event. A value that the device writes to pinned memory would be free to look at, but the device
 * pauses for each: a launch, a copy and such a write take 13 us on an H200, and with events 9.5. */
static CUresult mark(cu_device* device, const cu_flight* flight)
{
    return device->f->EventRecord(flight->done, device->stream);
}

/* What tells that the work of `ticket` is done: its mark, or the next one behind it; where none could be made, that the stream
 * is empty. Marks are used again and never go, so one whose flight is over meanwhile says that it is done or, as another's, that
 * it is not: never the first in error. */
typedef struct probe {
    khal_ticket ticket; /* 0: there is none */
    CUevent event;      /* NULL: the stream */
} probe;

/* Of the flight `n` behind the first, or of the last. Under queue->lock. */
static probe probe_at(const cu_queue* queue, uint64_t n)
{
    probe p = {0, NULL};
    if (queue->count == 0)
        return p;
    uint32_t at = n < queue->count ? (uint32_t)n : queue->count - 1;
    while (at + 1 < queue->count && !nth_flight(queue, at)->is_marked)
        ++at;
    const cu_flight* flight = nth_flight(queue, at);
    p.ticket = flight->ticket;
    p.event = flight->is_marked ? flight->done : NULL;
    return p;
}

static probe peek(cu_queue* queue, uint32_t n)
{
    khal__mutex_lock(&queue->lock);
    const probe p = probe_at(queue, n);
    khal__mutex_unlock(&queue->lock);
    return p;
}

/* CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or the end of the device. */
static CUresult query(cu_device* device, const probe* p)
{
    return p->event != NULL ? device->f->EventQuery(p->event) : device->f->StreamQuery(device->stream);
}

/* The first flight, then twice as far at a time, so that few queries find out about many flights. */
static CUresult look(cu_device* device)
{
    khal_ticket done = 0;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t n = 0; result == CUDA_SUCCESS; n = 2 * n + 1) {
        const probe p = peek(device->queue, n);
        if (p.ticket <= done)
            break;
        result = query(device, &p);
        if (result == CUDA_SUCCESS)
            done = p.ticket;
    }
    if (done > 0)
        retire(device, done);
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
}

/* Whether it is time to look again. The first time after a submit it is not: what was submitted just now is not done yet. */
static bool is_time_to_look(cu_queue* queue, uint64_t flights)
{
    const unsigned asks = atomic_load_explicit(&queue->asks, memory_order_relaxed);
    if (asks < SUBMIT_ASKS)
        atomic_store_explicit(&queue->asks, asks + 1, memory_order_relaxed);
    if (asks == 0)
        return false;
    const uint64_t interval = asks >= SUBMIT_ASKS ? LOOK_POLL_NS : flights >= MANY ? LOOK_MANY_NS : LOOK_NS;
    const uint64_t now = khal__clock_now();
    if (now - atomic_load_explicit(&queue->looked_at, memory_order_relaxed) < interval)
        return false;
    atomic_store_explicit(&queue->looked_at, now, memory_order_relaxed);
    return true;
}

khal_ticket cu_completed(khal_device* front)
{
    cu_device* device = cu_device_of(front);
    cu_queue* queue = device->queue;
    const khal_ticket completed = atomic_load_explicit(&queue->completed, memory_order_acquire);
    const khal_ticket issued = atomic_load_explicit(&queue->issued, memory_order_relaxed);
    if (issued <= completed || atomic_load(&device->is_lost) || !is_time_to_look(queue, issued - completed))
        return completed;
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return completed;
    const CUresult result = look(device);
    cu_leave(device, scope);
    if (result != CUDA_SUCCESS)
        cu_lose(device, result, "running what was submitted");
    return atomic_load_explicit(&queue->completed, memory_order_acquire);
}

/* Of a ticket; none where it is not issued yet, or complete. */
static probe probe_of(cu_queue* queue, khal_ticket ticket)
{
    probe p = {0, NULL};
    khal__mutex_lock(&queue->lock);
    if (queue->count > 0) {
        const khal_ticket first = nth_flight(queue, 0)->ticket;
        if (ticket >= first && ticket - first < queue->count)
            p = probe_at(queue, ticket - first);
    }
    khal__mutex_unlock(&queue->lock);
    return p;
}

khal_status cu_wait(khal_device* front, khal_ticket ticket, uint64_t timeout)
{
    cu_device* device = cu_device_of(front);
    cu_queue* queue = device->queue;
    const uint64_t since = khal__clock_now();
    const uint64_t deadline = khal__in_callback(front) ? 0 : cu_deadline(timeout);
    khal_status status = KHAL_OK;
    CUresult result = CUDA_SUCCESS;
    cu_scope scope;
    if (atomic_load_explicit(&queue->completed, memory_order_acquire) >= ticket)
        return KHAL_OK;
    if (!cu_enter(device, &scope))
        return KHAL_TIMEOUT;
    for (;;) {
        const probe p = probe_of(queue, ticket);
        if (p.ticket != 0)
            result = query(device, &p);
        if (p.ticket != 0 && result == CUDA_SUCCESS)
            retire(device, p.ticket);
        if (atomic_load_explicit(&queue->completed, memory_order_acquire) >= ticket)
            break;
        const bool is_over = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
        const bool is_late = deadline != UINT64_MAX && khal__clock_now() >= deadline;
        if (is_over || is_late || cu_is_lost(device)) {
            status = KHAL_TIMEOUT;
            break;
        }
        cu_pause(since);
    }
    cu_leave(device, scope);
    if (status != KHAL_OK && result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        cu_lose(device, result, "running what was submitted");
    return status;
}

/* ---- submitting ---------------------------------------------------------------------------------- */

/* A submission on its way into the stream. */
typedef struct run {
    cu_device* device;
    khal__submission* submission;
    cu_flight* flight;
    bool is_begun;    /* something of it is in the stream */
    bool is_gone;     /* the device was lost meanwhile: the submission is the front's */
    bool is_refused;  /* a callback failed: the rest does not run */
    uint32_t entered; /* how often the context was made current again behind a callback */
    const char* what; /* was being done */
} run;

static CUresult launch(run* r, const khal__command* command)
{
    cu_device* device = r->device;
    cu_launch launch;
    const uint32_t* too_many = r->flight->too_many;
    const CUdeviceptr word = too_many != NULL ? r->flight->pinned->address + (uint64_t)((const char*)too_many -
                                                                                        r->flight->pinned->host)
                                              : 0;
    CUresult result = cu_launch_make(device, command, word, &launch);
    if (result == CUDA_SUCCESS)
        result = device->f->LaunchKernel(launch.function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                                         launch.block[1], launch.block[2], launch.shared, device->stream, launch.parameters,
                                         NULL);
    if (result != CUDA_SUCCESS)
        r->what = "launching a kernel";
    return result;
}

/* What the lock is let go for may take long: the device may be lost, or closed, behind it. */
static CUresult come_back(run* r)
{
    cu_scope scope;
    const bool is_entered = cu_enter(r->device, &scope);
    khal__mutex_lock(&r->device->lock);
    if (is_entered && scope.pushed)
        ++r->entered;
    r->is_gone = !is_entered || atomic_load(&r->device->is_lost);
    return r->is_gone ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
}

static CUresult call_native(run* r, const khal__command* command)
{
    const khal_native native = {.backend = KHAL_BACKEND_CUDA, .handle = r->device->stream};
    khal__mutex_unlock(&r->device->lock);
    const khal_status status = command->u.native.call(command->u.native.user, &native);
    const CUresult result = come_back(r);
    if (result != CUDA_SUCCESS)
        return result;
    r->is_begun = true; /* it may have put something there */
    if (status != KHAL_OK) {
        char message[128];
        snprintf(message, sizeof message, "a native callback returned %s", khal_status_name(status));
        fail_run(r->submission, KHAL_ERROR_NATIVE_FAILED, message);
        r->is_refused = true;
    }
    return CUDA_SUCCESS;
}

/* Foreign code has no virtual grid, so the counts come to this thread, which is ours, and wait here for what writes them. */
static CUresult launch_foreign_indirect(run* r, const khal__command* command)
{
    cu_device* device = r->device;
    uint32_t* counts = take_bytes(r->flight, 3 * sizeof *counts);
    CUresult result = device->f->MemcpyDtoHAsync(counts, cu_address(&command->u.dispatch.indirect), 3 * sizeof *counts,
                                                 device->stream);
    r->what = "reading an indirect grid";
    r->is_begun = r->is_begun || result == CUDA_SUCCESS; /* the copy writes to the flight's memory, marked or not */
    if (result == CUDA_SUCCESS)
        result = mark(device, r->flight);
    if (result != CUDA_SUCCESS)
        return result;
    khal__mutex_unlock(&device->lock);
    const uint64_t since = khal__clock_now();
    while ((result = device->f->EventQuery(r->flight->done)) == CUDA_ERROR_NOT_READY && !atomic_load(&device->is_lost))
        cu_pause(since);
    const CUresult back = come_back(r);
    if (back != CUDA_SUCCESS || result != CUDA_SUCCESS)
        return back != CUDA_SUCCESS ? back : result;
    khal__command direct = *command;
    direct.u.dispatch.is_indirect = false;
    bool is_empty = false;
    for (int i = 0; i < 3; ++i) {
        is_empty = is_empty || counts[i] == 0;
        direct.u.dispatch.group_count[i] = counts[i];
        direct.u.dispatch.global_size[i] = (uint64_t)counts[i] * direct.u.dispatch.workgroup_size[i];
    }
    if (is_empty)
        return CUDA_SUCCESS;
    if (!cu_grid_fits(direct.u.dispatch.function, direct.u.dispatch.workgroup_size, direct.u.dispatch.group_count)) {
        char message[128];
        snprintf(message, sizeof message, "an indirect grid of %u x %u x %u work-groups, and foreign code can't be folded",
                 counts[0], counts[1], counts[2]);
        fail_run(r->submission, KHAL_ERROR_INDIRECT_TOO_LARGE, message);
        return CUDA_SUCCESS;
    }
    return launch(r, &direct);
}

static CUresult read_back(run* r, const khal__command* command)
{
    const uint64_t size = command->u.read.source.size;
    if (size == 0)
        return CUDA_SUCCESS;
    void* bytes = take_bytes(r->flight, size);
    r->what = "reading back";
    const CUresult result =
        r->device->f->MemcpyDtoHAsync(bytes, cu_address(&command->u.read.source), (size_t)size, r->device->stream);
    if (result == CUDA_SUCCESS)
        r->flight->results[r->flight->result_count++] = (cu_result){.out = command->u.read.out, .bytes = bytes, .size = size};
    return result;
}

static CUresult take_time(run* r, const khal__command* command)
{
    time_event* event;
    r->what = "a timestamp";
    CUresult result = take_event(r->device, &event);
    if (result != CUDA_SUCCESS)
        return result;
    result = r->device->f->EventRecord(event->handle, r->device->stream);
    r->flight->results[r->flight->result_count++] =
        (cu_result){.out = result == CUDA_SUCCESS ? command->u.timestamp.out : NULL, .event = event};
    ++r->flight->time_count;
    return result;
}

static CUresult encode_one(run* r, const khal__command* c)
{
    cu_device* device = r->device;
    switch (c->kind) {
    case KHAL__COMMAND_DISPATCH: return is_foreign_indirect(c) ? launch_foreign_indirect(r, c) : launch(r, c);
    case KHAL__COMMAND_COPY:
        r->what = "a copy";
        return c->u.copy.target.size == 0 ? CUDA_SUCCESS
                                          : device->f->MemcpyDtoDAsync(cu_address(&c->u.copy.target), cu_address(&c->u.copy.source),
                                                                       (size_t)c->u.copy.target.size, device->stream);
    case KHAL__COMMAND_FILL:
        r->what = "a fill";
        return c->u.fill.target.size == 0 ? CUDA_SUCCESS
                                          : cu_fill(device, cu_address(&c->u.fill.target), c->u.fill.target.size,
                                                    c->u.fill.pattern, c->u.fill.pattern_size, device->stream);
    case KHAL__COMMAND_READ: return read_back(r, c);
    case KHAL__COMMAND_TIMESTAMP: return take_time(r, c);
    case KHAL__COMMAND_NATIVE: return call_native(r, c);
    case KHAL__COMMAND_BARRIER: break; /* a stream is in order */
    }
    return CUDA_SUCCESS;
}

static CUresult encode(run* r)
{
    for (const khal__command* c = r->submission->commands; c != NULL && !r->is_refused; c = c->next) {
        const CUresult result = encode_one(r, c);
        if (result != CUDA_SUCCESS)
            return result; /* the command may be gone, with a device that was lost */
        r->is_begun = true;
    }
    return CUDA_SUCCESS;
}

/* CUDA_ERROR_NOT_SUPPORTED: not as a graph. The word for indirect grids is the graph's, and what it says is this launch's. */
static CUresult launch_graph(run* r)
{
    cu_device* device = r->device;
    if (!cu_graph_can(device, r->submission))
        return CUDA_ERROR_NOT_SUPPORTED;
    r->what = "launching a graph";
    CUresult result = CUDA_SUCCESS;
    if (r->flight->too_many != NULL)
        result = device->f->MemsetD32Async(device->too_many.address, 0, 1, device->stream);
    if (result == CUDA_SUCCESS)
        result = cu_graph_launch(device, r->submission);
    if (result != CUDA_SUCCESS)
        return result;
    r->is_begun = true;
    return r->flight->too_many != NULL ? device->f->MemcpyDtoHAsync(r->flight->too_many, device->too_many.address,
                                                                    sizeof(uint32_t), device->stream)
                                       : CUDA_SUCCESS;
}

static void append(cu_device* device, cu_flight* flight)
{
    cu_queue* queue = device->queue;
    khal__mutex_lock(&queue->lock);
    queue->ring[(queue->first + queue->count++) & (queue->capacity - 1)] = flight;
    khal__mutex_unlock(&queue->lock);
}

/* Without commands, and with nothing before it that still runs. */
static bool complete_empty(cu_device* device, const khal__submission* submission)
{
    cu_queue* queue = device->queue;
    const khal_ticket ticket = submission->ticket;
    khal__mutex_lock(&queue->lock);
    const bool is_done = submission->commands == NULL && queue->count == 0;
    if (is_done) {
        atomic_store_explicit(&queue->issued, ticket, memory_order_relaxed);
        atomic_store_explicit(&queue->completed, ticket, memory_order_release);
    }
    khal__mutex_unlock(&queue->lock);
    return is_done;
}

/* Into the stream; with `commands` false its mark alone, since it has failed. An error leaves no trace of the ticket; what was
 * begun and can't go on is a submission that fails. (lock, entered) */
static CUresult issue(run* r, bool commands)
{
    cu_device* device = r->device;
    cu_queue* queue = device->queue;
    r->what = "submitting";
    if (device->dead != NULL)
        cu_graph_reap(device, atomic_load_explicit(&queue->completed, memory_order_acquire));
    if (commands && complete_empty(device, r->submission))
        return CUDA_SUCCESS;
    CUresult result = take_flight(device, &r->flight);
    if (result != CUDA_SUCCESS)
        return result;
    if (!grow_ring(device)) {
        give_up_flight(device, r->flight);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->flight->submission = r->submission;
    r->flight->ticket = r->submission->ticket;
    r->flight->submitted_at = r->submission->has_results ? khal__clock_now() : 0;
    if (commands) {
        result = make_room(device, r->flight, r->submission);
        if (result == CUDA_SUCCESS)
            result = cu_buffer_settle(device, r->submission);
        if (result == CUDA_SUCCESS) {
            result = launch_graph(r);
            if (result == CUDA_ERROR_NOT_SUPPORTED && !r->is_begun)
                result = encode(r);
        }
    }
    if (r->is_begun && result != CUDA_SUCCESS && !r->is_gone && !cu_is_sticky(result)) {
        cu_submission_fail(device, r->submission, result, r->what);
        result = CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        result = mark(device, r->flight);
        r->flight->is_marked = result == CUDA_SUCCESS;
        if (!cu_is_sticky(result))
            result = CUDA_SUCCESS; /* what comes behind it tells too */
    }
    if (result != CUDA_SUCCESS) {
        give_up_flight(device, r->flight);
        return result;
    }
    append(device, r->flight);
    atomic_store_explicit(&queue->asks, 0, memory_order_relaxed);
    atomic_store_explicit(&queue->issued, r->submission->ticket, memory_order_release);
    return CUDA_SUCCESS;
}

/* What could not be issued on the thread: the ticket exists, so the submission fails. */
static CUresult issue_failure(run* r, CUresult result)
{
    run failed = {.device = r->device, .submission = r->submission};
    if (cu_is_sticky(result))
        return result;
    cu_submission_fail(r->device, r->submission, result, r->what);
    return issue(&failed, false);
}

static void issue_on_thread(cu_device* device, khal__submission* submission)
{
    run r = {.device = device, .submission = submission};
    cu_scope scope;
    CUresult result = CUDA_SUCCESS;
    if (!cu_enter(device, &scope))
        return;
    khal__mutex_lock(&device->lock);
    if (!atomic_load(&device->is_lost)) {
        result = issue(&r, true);
        if (result != CUDA_SUCCESS && !r.is_gone)
            result = issue_failure(&r, result);
    }
    khal__mutex_unlock(&device->lock);
    for (; r.entered > 0; --r.entered)
        cu_leave(device, (cu_scope){.pushed = true});
    cu_leave(device, scope);
    if (result != CUDA_SUCCESS && !r.is_gone)
        cu_lose(device, result, r.what);
}

static void run_pending(void* user)
{
    cu_device* device = user;
    cu_queue* queue = device->queue;
    khal__failures_keep();
    khal__mutex_lock(&device->lock);
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
        khal__mutex_unlock(&device->lock);
        issue_on_thread(device, submission);
        khal__mutex_lock(&device->lock);
        khal__condition_broadcast(&queue->moved);
    }
    khal__mutex_unlock(&device->lock);
}

static bool takes_thread(const khal__submission* submission)
{
    if (submission->has_native)
        return true;
    if (!may_be_indirect(submission))
        return false;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next)
        if (is_foreign_indirect(c))
            return true;
    return false;
}

/* For the thread, which is started where there is none. (lock) */
static bool pend(cu_device* device, khal__submission* submission)
{
    cu_queue* queue = device->queue;
    if (!queue->has_thread)
        queue->has_thread = khal__thread_start(&queue->thread, run_pending, device, "khal-cuda");
    if (!queue->has_thread)
        return false;
    submission->replay = NULL; /* may be gone when the thread comes to it */
    if (queue->pending_last != NULL)
        queue->pending_last->next = submission;
    else
        queue->pending_first = submission;
    queue->pending_last = submission;
    khal__condition_signal(&queue->work);
    return true;
}

khal_status cu_submit(khal_device* front, khal__submission* submission)
{
    cu_device* device = cu_device_of(front);
    cu_queue* queue = device->queue;
    run r = {.device = device, .submission = submission};
    CUresult result = CUDA_SUCCESS;
    bool has_thread = true;
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return KHAL_DEVICE_LOST;
    const bool takes = takes_thread(submission);
    submission->next = NULL;
    khal__mutex_lock(&device->lock);
    if (takes || queue->pending_first != NULL || queue->is_busy)
        has_thread = pend(device, submission);
    else
        result = issue(&r, true);
    if (has_thread && result == CUDA_SUCCESS)
        atomic_store_explicit(&queue->submitted, submission->ticket, memory_order_release);
    khal__mutex_unlock(&device->lock);
    cu_leave(device, scope);
    if (!has_thread)
        return khal__fail(front, KHAL_ERROR_DRIVER, 0, NULL, "the system refused a thread for native callbacks");
    return cu_check(device, result, KHAL_ERROR_DRIVER, NULL, r.what);
}

khal_ticket cu_submitted(cu_device* device)
{
    return atomic_load_explicit(&device->queue->submitted, memory_order_acquire);
}

khal_status cu_wait_issued(cu_device* device, khal_ticket ticket, uint64_t deadline)
{
    cu_queue* queue = device->queue;
    khal_status status = KHAL_OK;
    if (atomic_load_explicit(&queue->issued, memory_order_acquire) >= ticket)
        return KHAL_OK;
    if (khal__in_callback(device->front))
        return KHAL_TIMEOUT;
    khal__mutex_lock(&device->lock);
    while (atomic_load_explicit(&queue->issued, memory_order_acquire) < ticket && status == KHAL_OK) {
        const uint64_t now = khal__clock_now();
        if (cu_is_lost(device) || now >= deadline)
            status = KHAL_TIMEOUT;
        else
            khal__condition_wait(&queue->moved, &device->lock, deadline - now < LOST_LOOK_NS ? deadline : now + LOST_LOOK_NS);
    }
    khal__mutex_unlock(&device->lock);
    return status;
}

/* ---- opening and closing ------------------------------------------------------------------------- */

/* A first time that the host knows: not before it asked for it, which is when it is said to be. On `side`, which has no work. */
static CUresult begin_time(cu_device* device)
{
    cu_queue* queue = device->queue;
    CUresult result = take_event(device, &queue->known);
    const uint64_t before = khal__clock_now();
    if (result == CUDA_SUCCESS)
        result = device->f->EventRecord(queue->known->handle, device->side);
    if (result == CUDA_SUCCESS)
        result = device->f->EventSynchronize(queue->known->handle);
    queue->known_time = before;
    return result;
}

khal_status cu_queue_open(cu_device* device)
{
    cu_queue* queue = khal__alloc(device->front, sizeof *queue, _Alignof(cu_queue));
    if (queue == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for the queue");
    memset(queue, 0, sizeof *queue);
    khal__mutex_init(&queue->lock);
    khal__condition_init(&queue->work);
    khal__condition_init(&queue->moved);
    device->queue = queue;
    CUresult result = cu_memory_take(device, sizeof(uint32_t), &device->too_many);
    if (result == CUDA_SUCCESS)
        result = begin_time(device);
    return cu_check(device, result, KHAL_ERROR_DRIVER, NULL, "opening the queue");
}

void cu_queue_stop(cu_device* device)
{
    cu_queue* queue = device->queue;
    khal__mutex_lock(&device->lock);
    queue->stop = true;
    khal__condition_broadcast(&queue->work);
    khal__mutex_unlock(&device->lock);
    if (queue->has_thread)
        khal__thread_join(&queue->thread);
}

static void free_event(cu_device* device, time_event* event)
{
    (void)device->f->EventDestroy(event->handle);
    khal__free(device->front, event, sizeof *event);
}

static void free_flights(cu_device* device)
{
    cu_queue* queue = device->queue;
    for (; queue->count > 0; ++queue->first, --queue->count) /* of a device that was lost */
        put_flight(queue, nth_flight(queue, 0));
    for (cu_flight *flight = queue->free, *next; flight != NULL; flight = next) {
        next = flight->next;
        (void)device->f->EventDestroy(flight->done);
        cu_pinned_give(device, flight->pinned);
        if (flight->results != NULL)
            khal__free(device->front, flight->results, flight->result_capacity * sizeof *flight->results);
        khal__free(device->front, flight, sizeof *flight);
    }
    if (queue->ring != NULL)
        khal__free(device->front, queue->ring, queue->capacity * sizeof(cu_flight*));
}

void cu_queue_close(cu_device* device)
{
    cu_queue* queue = device->queue;
    cu_graph_reap(device, UINT64_MAX);
    free_flights(device);
    for (time_event *event = queue->events, *next; event != NULL; event = next) {
        next = event->next;
        free_event(device, event);
    }
    if (queue->known != NULL)
        free_event(device, queue->known);
    if (device->too_many.address != 0)
        cu_memory_give(device, &device->too_many);
    khal__condition_destroy(&queue->work);
    khal__condition_destroy(&queue->moved);
    khal__mutex_destroy(&queue->lock);
    khal__free(device->front, queue, sizeof *queue);
    device->queue = NULL;
}
