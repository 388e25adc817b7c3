/* The stand-in's streams: a thread each, which runs what was put in, in order. */
#include "standin_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_KERNELS 32
#define KEPT_AT_ONCE 65536 /* bytes of pageable memory that the driver takes before a copy returns */
#define MOST_WAIT 60       /* seconds, after which a wait is given up as misuse */

static struct {
    char name[256];
    standin_kernel_fn run;
    void* user;
} kernels[MOST_KERNELS];
static standin_kernel_fn other_kernels; /* runs those that have no entry */
static void* other_user;
static bool all_held;
static stream* streams;

/* ---- work -------------------------------------------------------------------------------------- */

work* make_work(work_kind kind)
{
    work* w = calloc(1, sizeof *w);
    if (w == NULL)
        abort();
    w->references = 1;
    w->kind = kind;
    w->context = current();
    return w;
}

work* keep_work(work* w)
{
    ++w->references;
    return w;
}

void drop_work(work* w)
{
    if (--w->references > 0)
        return;
    if (w->kind == WORK_LAUNCH)
        free(w->u.launch.bytes);
    if (w->kind == WORK_COPY)
        free(w->u.copy.kept);
    free(w);
}

void set_kernel(const char* name, standin_kernel_fn run, void* user)
{
    unsigned i = 0;
    while (i < MOST_KERNELS - 1 && kernels[i].name[0] != 0 && strcmp(kernels[i].name, name) != 0)
        ++i;
    snprintf(kernels[i].name, sizeof kernels[i].name, "%s", name);
    kernels[i].run = run;
    kernels[i].user = user;
}

void set_other_kernels(standin_kernel_fn run, void* user)
{
    other_kernels = run;
    other_user = user;
}

void forget_kernels(void)
{
    other_kernels = NULL;
    memset(kernels, 0, sizeof kernels);
}

/* (lock, left while the kernel runs) */
static void run_launch(const work* w)
{
    const unsigned *g = w->u.launch.grid, *b = w->u.launch.block;
    note("launch %s %u,%u,%u %u,%u,%u %u", w->u.launch.name, g[0], g[1], g[2], b[0], b[1], b[2], w->u.launch.shared);
    standin_kernel_fn run = other_kernels;
    void* user = other_user;
    for (unsigned i = 0; i < MOST_KERNELS; ++i)
        if (kernels[i].run != NULL && strcmp(kernels[i].name, w->u.launch.name) == 0) {
            run = kernels[i].run;
            user = kernels[i].user;
        }
    if (run == NULL)
        return;
    standin_launch launch = {
        .name = w->u.launch.name,
        .code = w->u.launch.module->code,
        .shared = w->u.launch.shared,
        .parameter_count = w->u.launch.parameter_count,
        .parameters = w->u.launch.parameters,
        .sizes = w->u.launch.sizes,
    };
    memcpy(launch.grid, g, sizeof launch.grid);
    memcpy(launch.block, b, sizeof launch.block);
    pthread_mutex_unlock(&lock);
    const int result = run(user, &launch);
    pthread_mutex_lock(&lock);
    if (result != CUDA_SUCCESS)
        w->context->stuck = result;
}

static void fill(const work* w)
{
    if (w->u.fill.element_size == 1) {
        memset(w->u.fill.to, (int)w->u.fill.value, w->u.fill.count);
        return;
    }
    for (size_t i = 0; i < w->u.fill.count; ++i)
        memcpy(w->u.fill.to + i * w->u.fill.element_size, &w->u.fill.value, w->u.fill.element_size);
}

/* Nothing runs any more in a context that is stuck. (lock, left while it runs) */
static void run_work(const work* w)
{
    if (w->context->stuck != CUDA_SUCCESS)
        return;
    switch (w->kind) {
    case WORK_LAUNCH: run_launch(w); break;
    case WORK_COPY:
        note("copy %zu", w->u.copy.size);
        pthread_mutex_unlock(&lock);
        memmove(w->u.copy.to, w->u.copy.from, w->u.copy.size);
        pthread_mutex_lock(&lock);
        break;
    case WORK_FILL:
        note("fill %zu", w->u.fill.count * w->u.fill.element_size);
        pthread_mutex_unlock(&lock);
        fill(w);
        pthread_mutex_lock(&lock);
        break;
    }
}

/* (lock) */
static void work_ran(work* w)
{
    if (w->kind == WORK_LAUNCH)
        --w->u.launch.module->pending;
    drop_work(w);
}

/* ---- streams ----------------------------------------------------------------------------------- */

void event_drop(event* e)
{
    if (--e->references == 0)
        free(e);
}

static void run_operation(stream* s, operation* o)
{
    const context* c = s->object.context;
    if (o->kind == RUN_GRAPH && c->stuck == CUDA_SUCCESS)
        note("graph %u", o->work_count);
    for (unsigned i = 0; i < o->work_count; ++i)
        run_work(o->works[i]);
    if (o->kind == RECORD_EVENT && c->stuck == CUDA_SUCCESS) {
        o->event->done = o->number;
        o->event->time = now();
    }
    while (o->kind == WAIT_EVENT && o->event->done < o->number && c->stuck == CUDA_SUCCESS)
        pthread_cond_wait(&changed, &lock);
    for (unsigned i = 0; i < o->work_count; ++i)
        work_ran(o->works[i]);
    if (o->exec != NULL)
        exec_ran(o->exec);
    if (o->event != NULL)
        event_drop(o->event);
    free(o->works);
    free(o);
}

static void* run_stream(void* user)
{
    stream* s = user;
    pthread_mutex_lock(&lock);
    for (;;) {
        const bool is_stuck = s->object.context->stuck != CUDA_SUCCESS;
        if (s->first == NULL || ((s->is_held || all_held) && !s->ends && !is_stuck)) {
            if (s->ends && s->first == NULL)
                break;
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        operation* o = s->first;
        s->first = o->next;
        if (s->first == NULL)
            s->last = &s->first;
        s->is_busy = true;
        run_operation(s, o);
        s->is_busy = false;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void push_operation(stream* s, operation made)
{
    operation* o = malloc(sizeof *o);
    if (o == NULL)
        abort();
    *o = made;
    o->next = NULL;
    for (unsigned i = 0; i < o->work_count; ++i)
        if (o->works[i]->kind == WORK_LAUNCH)
            ++o->works[i]->u.launch.module->pending;
    *s->last = o;
    s->last = &o->next;
    pthread_cond_broadcast(&changed);
}

CUresult push_work(stream* s, work* w)
{
    work** works = malloc(sizeof *works);
    if (works == NULL)
        abort();
    *works = w;
    push_operation(s, (operation){.kind = RUN_WORK, .works = works, .work_count = 1});
    return CUDA_SUCCESS;
}

/* Until `done` says so; or until a minute is over. */
static void wait_until(bool (*done)(const void*), const void* of)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += MOST_WAIT;
    while (!done(of))
        if (pthread_cond_timedwait(&changed, &lock, &limit) != 0) {
            misuse("a call waits for what does not end");
            return;
        }
}

static bool is_drained(const void* of)
{
    const stream* s = of;
    return s->first == NULL && !s->is_busy;
}

void drain(stream* s)
{
    wait_until(is_drained, s);
}

static bool all_drained(const void* of)
{
    for (const stream* s = streams; s != NULL; s = s->next)
        if ((of == NULL || s->object.context == of) && !is_drained(s))
            return false;
    return true;
}

void drain_context(const context* of)
{
    wait_until(all_drained, of);
}

void drain_all(void)
{
    wait_until(all_drained, NULL);
}

void hold(void* any, bool is_held)
{
    if (any == NULL)
        all_held = is_held;
    else
        ((stream*)any)->is_held = is_held;
    pthread_cond_broadcast(&changed);
}

void let_go(const context* of)
{
    all_held = false;
    for (stream* s = streams; s != NULL; s = s->next)
        if (s->object.context == of)
            s->is_held = false;
    pthread_cond_broadcast(&changed);
}

/* (lock, left while the thread ends) */
void stream_end(stream* s)
{
    s->ends = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&lock);
    stream** at = &streams;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    drop_object(s);
}

EXPORT_CUDA CUresult CU_CALL cuStreamCreate(CUstream* out, unsigned flags)
{
    CUresult result = begin("StreamCreate", CALL_MAKES);
    if (result == CUDA_SUCCESS && flags != CU_STREAM_NON_BLOCKING)
        result = invalid("a stream that waits for the default stream");
    if (result == CUDA_SUCCESS) {
        stream* s = make_object(OBJECT_STREAM, sizeof *s);
        s->last = &s->first;
        s->next = streams;
        streams = s;
        if (pthread_create(&s->thread, NULL, run_stream, s) != 0)
            abort();
        *out = (CUstream)s;
    }
    return end(result);
}

/* The driver lets what is in it run on; here it is waited for. */
EXPORT_CUDA CUresult CU_CALL cuStreamDestroy_v2(CUstream handle)
{
    CUresult result = begin("StreamDestroy", CALL_RELEASES);
    if (releases(result)) {
        stream* s = check_object(handle, OBJECT_STREAM);
        if (s == NULL)
            result = CUDA_ERROR_INVALID_HANDLE;
        else {
            drain(s);
            stream_end(s);
        }
    }
    return end(result);
}

/* The stream of a call that began well, or NULL and the result. */
static stream* stream_of(CUstream handle, CUresult* result)
{
    stream* s = *result == CUDA_SUCCESS ? check_object(handle, OBJECT_STREAM) : NULL;
    if (s == NULL && *result == CUDA_SUCCESS)
        *result = CUDA_ERROR_INVALID_HANDLE;
    return s;
}

EXPORT_CUDA CUresult CU_CALL cuStreamQuery(CUstream handle)
{
    CUresult result = begin("StreamQuery", CALL_QUERY);
    const stream* s = stream_of(handle, &result);
    if (s != NULL && !is_drained(s))
        result = CUDA_ERROR_NOT_READY;
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuStreamSynchronize(CUstream handle)
{
    CUresult result = begin("StreamSynchronize", CALL_QUERY);
    stream* s = stream_of(handle, &result);
    if (s != NULL) {
        drain(s);
        result = current()->stuck;
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags)
{
    CUresult result = begin("StreamWaitEvent", CALL_MAKES);
    stream* s = stream_of(handle, &result);
    event* e = s != NULL ? check_object(event_handle, OBJECT_EVENT) : NULL;
    if (s != NULL && (e == NULL || flags != 0))
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (s != NULL) {
        ++e->references;
        push_operation(s, (operation){.kind = WAIT_EVENT, .event = e, .number = e->recorded});
    }
    return end(result);
}

/* ---- events ------------------------------------------------------------------------------------ */

EXPORT_CUDA CUresult CU_CALL cuEventCreate(CUevent* out, unsigned flags)
{
    CUresult result = begin("EventCreate", CALL_MAKES);
    if (result == CUDA_SUCCESS && (flags & ~3u) != 0)
        result = invalid("the flags %#x of an event", flags);
    if (result == CUDA_SUCCESS) {
        event* e = make_object(OBJECT_EVENT, sizeof *e);
        e->references = 1;
        e->has_time = (flags & CU_EVENT_DISABLE_TIMING) == 0;
        *out = (CUevent)e;
    }
    return end(result);
}

/* The event of a call that began well, or NULL and the result. */
static event* event_of(CUevent handle, CUresult* result)
{
    event* e = *result == CUDA_SUCCESS ? check_object(handle, OBJECT_EVENT) : NULL;
    if (e == NULL && *result == CUDA_SUCCESS)
        *result = CUDA_ERROR_INVALID_HANDLE;
    return e;
}

EXPORT_CUDA CUresult CU_CALL cuEventDestroy_v2(CUevent handle)
{
    CUresult result = begin("EventDestroy", CALL_RELEASES);
    if (releases(result)) {
        event* e = check_object(handle, OBJECT_EVENT);
        if (e == NULL)
            result = CUDA_ERROR_INVALID_HANDLE;
        else {
            forget_object(e);
            event_drop(e);
        }
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuEventRecord(CUevent event_handle, CUstream handle)
{
    CUresult result = begin("EventRecord", CALL_MAKES);
    event* e = event_of(event_handle, &result);
    stream* s = e != NULL ? stream_of(handle, &result) : NULL;
    if (s != NULL) {
        ++e->references;
        push_operation(s, (operation){.kind = RECORD_EVENT, .event = e, .number = ++e->recorded});
    }
    return end(result);
}

static bool event_happened(const void* of)
{
    const event* e = of;
    return e->done >= e->recorded || e->object.context->stuck != CUDA_SUCCESS;
}

EXPORT_CUDA CUresult CU_CALL cuEventQuery(CUevent handle)
{
    CUresult result = begin("EventQuery", CALL_QUERY);
    const event* e = event_of(handle, &result);
    if (e != NULL && !event_happened(e))
        result = CUDA_ERROR_NOT_READY;
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuEventSynchronize(CUevent handle)
{
    CUresult result = begin("EventSynchronize", CALL_QUERY);
    const event* e = event_of(handle, &result);
    if (e != NULL) {
        wait_until(event_happened, e);
        result = current()->stuck;
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuEventElapsedTime(float* ms, CUevent from_handle, CUevent to_handle)
{
    CUresult result = begin("EventElapsedTime", CALL_QUERY);
    const event* from = event_of(from_handle, &result);
    const event* to = from != NULL ? event_of(to_handle, &result) : NULL;
    if (to != NULL && (!from->has_time || !to->has_time || from->recorded == 0 || to->recorded == 0)) {
        misuse("the time between events that have none");
        result = CUDA_ERROR_INVALID_HANDLE;
    } else if (to != NULL && (!event_happened(from) || !event_happened(to)))
        result = CUDA_ERROR_NOT_READY;
    else if (to != NULL)
        *ms = (float)((double)((int64_t)to->time - (int64_t)from->time) / 1e6);
    return end(result);
}

/* ---- copies and fills -------------------------------------------------------------------------- */

/* The copy's work; `keeps` takes the bytes at once. NULL: *result says why. */
static work* make_copy(char* to, const char* from, size_t size, bool keeps)
{
    work* w = make_work(WORK_COPY);
    w->u.copy.to = to;
    w->u.copy.from = from;
    w->u.copy.size = size;
    if (keeps) {
        w->u.copy.kept = malloc(size);
        if (w->u.copy.kept == NULL)
            abort();
        memcpy(w->u.copy.kept, from, size);
        w->u.copy.from = w->u.copy.kept;
    }
    return w;
}

static CUresult copy_in(CUdeviceptr to, const void* from, size_t size, stream* s)
{
    char* target = resolve(to, size);
    if (size == 0 || target == NULL)
        return invalid("a copy of %zu bytes", size);
    const bool is_paged = !is_pinned(from, size);
    const CUresult result = push_work(s, make_copy(target, from, size, is_paged && size <= KEPT_AT_ONCE));
    if (is_paged && size > KEPT_AT_ONCE)
        drain(s);
    return result;
}

EXPORT_CUDA CUresult CU_CALL cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size, CUstream handle)
{
    CUresult result = begin("MemcpyHtoDAsync", CALL_MAKES);
    stream* s = stream_of(handle, &result);
    if (s != NULL)
        result = copy_in(to, from, size, s);
    return end(result);
}

static CUresult copy_out(void* to, CUdeviceptr from, size_t size, stream* s)
{
    const char* source = resolve(from, size);
    if (size == 0 || source == NULL)
        return invalid("a copy of %zu bytes", size);
    const bool is_paged = !is_pinned(to, size);
    const CUresult result = push_work(s, make_copy(to, source, size, false));
    if (is_paged)
        drain(s);
    return result;
}

EXPORT_CUDA CUresult CU_CALL cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size, CUstream handle)
{
    CUresult result = begin("MemcpyDtoHAsync", CALL_MAKES);
    stream* s = stream_of(handle, &result);
    if (s != NULL)
        result = copy_out(to, from, size, s);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream handle)
{
    CUresult result = begin("MemcpyDtoDAsync", CALL_MAKES);
    stream* s = stream_of(handle, &result);
    if (s != NULL) {
        char* target = resolve(to, size);
        const char* source = resolve(from, size);
        if (size == 0 || target == NULL || source == NULL)
            result = invalid("a copy of %zu bytes", size);
        else if (to < from + size && from < to + size)
            result = invalid("a copy onto itself");
        else
            push_work(s, make_copy(target, source, size, false));
    }
    return end(result);
}

static CUresult fill_with(const char* name, CUdeviceptr to, unsigned value, unsigned element_size, size_t count,
                          CUstream handle)
{
    CUresult result = begin(name, CALL_MAKES);
    stream* s = stream_of(handle, &result);
    if (s != NULL) {
        char* target = resolve(to, count * element_size);
        if (count == 0 || target == NULL || to % element_size != 0)
            result = invalid("a fill of %zu times %u bytes at %#llx", count, element_size, (unsigned long long)to);
        else {
            work* w = make_work(WORK_FILL);
            w->u.fill.to = target;
            w->u.fill.value = value;
            w->u.fill.element_size = element_size;
            w->u.fill.count = count;
            push_work(s, w);
        }
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream s)
{
    return fill_with("MemsetD8Async", to, value, 1, count, s);
}

EXPORT_CUDA CUresult CU_CALL cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream s)
{
    return fill_with("MemsetD16Async", to, value, 2, count, s);
}

EXPORT_CUDA CUresult CU_CALL cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream s)
{
    return fill_with("MemsetD32Async", to, value, 4, count, s);
}

#ifndef STANDIN_IS_OLD
EXPORT_CUDA CUresult CU_CALL cuStreamGetCtx(CUstream handle, CUcontext* out)
{
    CUresult result = begin("StreamGetCtx", CALL_QUERY);
    if (result == CUDA_SUCCESS) {
        const stream* s = streams;
        while (s != NULL && (const void*)s != (const void*)handle)
            s = s->next;
        if (s == NULL)
            result = CUDA_ERROR_INVALID_HANDLE; /* what a program asks to wrap may be none */
        else
            *out = (CUcontext)s->object.context;
    }
    return end(result);
}
#endif
