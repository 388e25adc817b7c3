/* The stand-in's state: devices, contexts, handles, and what the tests switch. */
#include "standin_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_CALLS 128
#define MOST_FAILURES 8
#define MOST_DEPTH 64
#define BUCKETS 1024

static const standin_traits usual = {
    .version = 12040,
    .device_count = 1,
    .capability = 90,
    .ptx_version = 84,
    .multiprocessors = 4,
    .shared_limit = 232448,
    .memory = (uint64_t)1 << 30,
    .pinned = (uint64_t)1 << 30,
};
standin_traits traits;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool is_initialised;
static context primary[MOST_DEVICES];
static context* foreign; /* kept until a reset, dead ones too */
static int stuck_everywhere;
static char first_misuse[256];

static struct {
    char name[48];
    unsigned count;
} calls[MOST_CALLS];
static struct {
    char name[48]; /* "": any that makes something */
    unsigned left;
    int code;
} failures[MOST_FAILURES];
static char failed[48]; /* the function's name */

static char* journal_text;
static size_t journal_length, journal_room;

static object* buckets[BUCKETS];

/* A context that was pushed, and the life of it that was meant. */
static _Thread_local struct {
    context* context;
    unsigned sequence;
} stack[MOST_DEPTH];
static _Thread_local unsigned depth;

uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void misuse(const char* format, ...)
{
    if (first_misuse[0] != 0)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(first_misuse, sizeof first_misuse, format, list);
    va_end(list);
}

CUresult invalid(const char* format, ...)
{
    if (first_misuse[0] == 0) {
        va_list list;
        va_start(list, format);
        vsnprintf(first_misuse, sizeof first_misuse, format, list);
        va_end(list);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

void note(const char* format, ...)
{
    char line[400];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    const size_t length = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    if (journal_length + length + 2 > journal_room) {
        const size_t room = (journal_room + length + 1024) * 2;
        char* grown = room <= (1u << 24) ? realloc(journal_text, room) : NULL;
        if (grown == NULL)
            return;
        journal_text = grown;
        journal_room = room;
    }
    memcpy(journal_text + journal_length, line, length);
    journal_length += length;
    journal_text[journal_length++] = '\n';
    journal_text[journal_length] = 0;
}

/* ---- calls ------------------------------------------------------------------------------------- */

void count_call(const char* name)
{
    for (unsigned i = 0; i < MOST_CALLS; ++i) {
        if (calls[i].name[0] == 0)
            snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
        if (strcmp(calls[i].name, name) == 0) {
            ++calls[i].count;
            return;
        }
    }
}

/* Nothing runs any more, in any context. */
static void be_stuck(int code)
{
    stuck_everywhere = code;
    for (int i = 0; i < MOST_DEVICES; ++i)
        primary[i].stuck = code;
    for (context* c = foreign; c != NULL; c = c->next)
        c->stuck = code;
    pthread_cond_broadcast(&changed);
}

static bool is_for_good(int code)
{
    return code == CUDA_ERROR_ILLEGAL_ADDRESS || code == CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult told_to_fail(const char* name, call_kind kind)
{
    for (unsigned i = 0; i < MOST_FAILURES; ++i) {
        const bool is_any = kind == CALL_MAKES || (kind == CALL_QUERY && is_for_good(failures[i].code));
        if (failures[i].left == 0 || (failures[i].name[0] != 0 ? strcmp(failures[i].name, name) != 0 : !is_any))
            continue;
        if (--failures[i].left == 0) {
            snprintf(failed, sizeof failed, "%s", name);
            if (is_for_good(failures[i].code))
                be_stuck(failures[i].code);
            return failures[i].code;
        }
    }
    return CUDA_SUCCESS;
}

context* current(void)
{
    context* c = depth > 0 ? stack[depth - 1].context : NULL;
    return c != NULL && c->is_alive && c->sequence == stack[depth - 1].sequence ? c : NULL;
}

CUresult begin(const char* name, call_kind kind)
{
    pthread_mutex_lock(&lock);
    count_call(name);
    const CUresult told = told_to_fail(name, kind);
    if (told != CUDA_SUCCESS) {
        if (is_for_good(told))
            drain_all(); /* nothing runs any more once someone has been told */
        return told;
    }
    if (kind == CALL_ANYTIME)
        return CUDA_SUCCESS;
    if (!is_initialised) {
        misuse("%s before Init", name);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (kind == CALL_PLAIN)
        return CUDA_SUCCESS;
    const context* c = current();
    if (c == NULL) {
        misuse("%s without a current context that lives", name);
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return stuck_everywhere != CUDA_SUCCESS ? stuck_everywhere : c->stuck;
}

CUresult end(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

bool releases(CUresult result)
{
    const context* c = current();
    return result == CUDA_SUCCESS || (c != NULL && (result == c->stuck || result == stuck_everywhere));
}

/* ---- handles ----------------------------------------------------------------------------------- */

static object** bucket_of(const void* handle)
{
    return &buckets[((uintptr_t)handle >> 4) % BUCKETS];
}

void* make_object(object_kind kind, size_t size)
{
    object* o = calloc(1, size);
    if (o == NULL)
        abort();
    o->kind = kind;
    o->context = current();
    object** bucket = bucket_of(o);
    o->next = *bucket;
    *bucket = o;
    return o;
}

void forget_object(void* any)
{
    object** at = bucket_of(any);
    while (*at != any)
        at = &(*at)->next;
    *at = (*at)->next;
}

void drop_object(void* any)
{
    forget_object(any);
    free(any);
}

static const char* kind_name(object_kind kind)
{
    static const char* const names[OBJECT_KIND_COUNT] = {"a stream", "an event", "a module", "a function",
                                                         "a graph",  "a node",   "an executable graph"};
    return names[kind];
}

void* check_object(const void* handle, object_kind kind)
{
    for (object* o = *bucket_of(handle); o != NULL; o = o->next)
        if (o == handle) {
            if (o->kind != kind)
                misuse("%s is used as %s", kind_name(o->kind), kind_name(kind));
            else if (o->context != current())
                misuse("%s of another context", kind_name(kind));
            else
                return o;
            return NULL;
        }
    misuse("%s that does not live", kind_name(kind));
    return NULL;
}

object* any_object(object_kind kind, const context* of)
{
    for (unsigned i = 0; i < BUCKETS; ++i)
        for (object* o = buckets[i]; o != NULL; o = o->next)
            if (o->kind == kind && (of == NULL || o->context == of))
                return o;
    return NULL;
}

static bool is_part(object_kind kind)
{
    return kind == OBJECT_FUNCTION || kind == OBJECT_NODE;
}

/* ---- contexts ---------------------------------------------------------------------------------- */

/* What is left in the context is freed, as the driver does. (lock) */
static void take_down(context* c)
{
    object* o;
    let_go(c);
    while ((o = any_object(OBJECT_STREAM, c)) != NULL)
        stream_end((stream*)o);
    while ((o = any_object(OBJECT_EXEC, c)) != NULL)
        exec_drop(o);
    while ((o = any_object(OBJECT_GRAPH, c)) != NULL)
        graph_drop(o);
    while ((o = any_object(OBJECT_EVENT, c)) != NULL) {
        forget_object(o);
        event_drop((event*)o);
    }
    while ((o = any_object(OBJECT_MODULE, c)) != NULL)
        module_drop((module*)o);
    memory_forget(c);
    c->is_alive = false;
    c->stuck = CUDA_SUCCESS;
    ++c->sequence;
}

static void note_leaks(const context* c)
{
    if (c->stuck != CUDA_SUCCESS || stuck_everywhere != CUDA_SUCCESS)
        return;
    for (int kind = 0; kind < OBJECT_KIND_COUNT; ++kind)
        if (!is_part((object_kind)kind) && any_object((object_kind)kind, c) != NULL)
            misuse("%s was left in a context that ended", kind_name((object_kind)kind));
    if (memory_count(c) > 0)
        misuse("memory was left in a context that ended");
}

EXPORT_CUDA CUresult CU_CALL cuInit(unsigned flags)
{
    CUresult result = begin("Init", CALL_ANYTIME);
    if (flags != 0)
        result = invalid("flags of Init");
    if (result == CUDA_SUCCESS && traits.version == 0) {
        traits = usual;
        const char* memory = getenv("KHAL_STANDIN_MEMORY");
        if (memory != NULL)
            traits.memory = strtoull(memory, NULL, 0);
        const char* devices = getenv("KHAL_STANDIN_DEVICES");
        if (devices != NULL)
            traits.device_count = strcmp(devices, "2") == 0 ? 2 : 1;
    }
    if (result == CUDA_SUCCESS)
        result = traits.init_result;
    is_initialised = is_initialised || result == CUDA_SUCCESS;
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuDriverGetVersion(int* version)
{
    const CUresult result = begin("DriverGetVersion", CALL_ANYTIME);
    if (result == CUDA_SUCCESS)
        *version = traits.version != 0 ? traits.version : usual.version;
    return end(result);
}

static const struct {
    CUresult code;
    const char *name, *words;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

static const char* error_text(CUresult code, bool is_name)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; ++i)
        if (errors[i].code == code)
            return is_name ? errors[i].name : errors[i].words;
    return NULL;
}

EXPORT_CUDA CUresult CU_CALL cuGetErrorName(CUresult error, const char** out)
{
    *out = error_text(error, true);
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT_CUDA CUresult CU_CALL cuGetErrorString(CUresult error, const char** out)
{
    *out = error_text(error, false);
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT_CUDA CUresult CU_CALL cuDeviceGetCount(int* count)
{
    const CUresult result = begin("DeviceGetCount", CALL_PLAIN);
    if (result == CUDA_SUCCESS)
        *count = traits.device_count;
    return end(result);
}

static CUresult check_device(CUresult result, CUdevice device)
{
    if (result != CUDA_SUCCESS || (device >= 0 && device < traits.device_count))
        return result;
    misuse("there is no device %d", device);
    return CUDA_ERROR_INVALID_DEVICE;
}

EXPORT_CUDA CUresult CU_CALL cuDeviceGet(CUdevice* device, int ordinal)
{
    const CUresult result = check_device(begin("DeviceGet", CALL_PLAIN), ordinal);
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuDeviceGetName(char* name, int size, CUdevice device)
{
    const CUresult result = check_device(begin("DeviceGetName", CALL_PLAIN), device);
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)size, device == 0 ? "Stand-in" : "Stand-in the second");
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuDeviceTotalMem_v2(size_t* bytes, CUdevice device)
{
    const CUresult result = check_device(begin("DeviceTotalMem", CALL_PLAIN), device);
    if (result == CUDA_SUCCESS)
        *bytes = (size_t)traits.memory;
    return end(result);
}

static int attribute(CUdevice_attribute which)
{
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return traits.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: return 0;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: return 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: return traits.compute_mode;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return traits.capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return traits.capability % 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return traits.shared_limit;
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED: return !traits.no_host_register;
    default: return -1;
    }
}

EXPORT_CUDA CUresult CU_CALL cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device)
{
    CUresult result = check_device(begin("DeviceGetAttribute", CALL_PLAIN), device);
    if (result == CUDA_SUCCESS) {
        *value = attribute(which);
        if (*value < 0)
            result = invalid("the attribute %d of a device", (int)which);
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device)
{
    CUresult result = check_device(begin("DevicePrimaryCtxRetain", CALL_PLAIN), device);
    if (result == CUDA_SUCCESS && stuck_everywhere != CUDA_SUCCESS)
        result = stuck_everywhere;
    if (result == CUDA_SUCCESS) {
        context* c = &primary[device];
        c->device = device;
        c->is_primary = c->is_alive = true;
        ++c->references;
        *out = (CUcontext)c;
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult result = check_device(begin("DevicePrimaryCtxRelease", CALL_PLAIN), device);
    if (result == CUDA_SUCCESS && primary[device].references == 0) {
        misuse("a primary context is released more often than it is retained");
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result == CUDA_SUCCESS && --primary[device].references == 0) {
        note_leaks(&primary[device]);
        take_down(&primary[device]);
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuCtxGetCurrent(CUcontext* out)
{
    const CUresult result = begin("CtxGetCurrent", CALL_PLAIN);
    if (result == CUDA_SUCCESS)
        *out = (CUcontext)(depth > 0 ? stack[depth - 1].context : NULL);
    return end(result);
}

static bool is_context(const context* c)
{
    for (int i = 0; i < MOST_DEVICES; ++i)
        if (c == &primary[i])
            return c->is_alive;
    for (const context* f = foreign; f != NULL; f = f->next)
        if (c == f)
            return f->is_alive;
    return false;
}

EXPORT_CUDA CUresult CU_CALL cuCtxPushCurrent_v2(CUcontext handle)
{
    CUresult result = begin("CtxPushCurrent", CALL_PLAIN);
    context* c = (context*)handle;
    if (result == CUDA_SUCCESS && !is_context(c)) {
        result = CUDA_ERROR_INVALID_CONTEXT; /* what a program asks to wrap may be none */
    } else if (result == CUDA_SUCCESS && depth == MOST_DEPTH) {
        result = invalid("contexts are pushed and not popped");
    } else if (result == CUDA_SUCCESS) {
        stack[depth].context = c;
        stack[depth++].sequence = c->sequence;
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuCtxPopCurrent_v2(CUcontext* out)
{
    CUresult result = begin("CtxPopCurrent", CALL_PLAIN);
    if (result == CUDA_SUCCESS && depth == 0) {
        misuse("a context is popped that was not pushed");
        result = CUDA_ERROR_INVALID_CONTEXT;
    } else if (result == CUDA_SUCCESS) {
        --depth;
        if (out != NULL)
            *out = (CUcontext)stack[depth].context;
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuCtxGetDevice(CUdevice* device)
{
    const CUresult result = begin("CtxGetDevice", CALL_QUERY);
    if (result == CUDA_SUCCESS)
        *device = current()->device;
    return end(result);
}

/* ---- for the tests ----------------------------------------------------------------------------- */

static unsigned count_live(void)
{
    unsigned count = memory_count(NULL);
    for (unsigned i = 0; i < BUCKETS; ++i)
        for (const object* o = buckets[i]; o != NULL; o = o->next)
            count += !is_part(o->kind);
    for (int i = 0; i < MOST_DEVICES; ++i)
        count += primary[i].references;
    return count;
}

static unsigned live(void)
{
    pthread_mutex_lock(&lock);
    const unsigned count = count_live();
    pthread_mutex_unlock(&lock);
    return count;
}

static const char* first_live(void)
{
    static char text[64];
    text[0] = 0;
    pthread_mutex_lock(&lock);
    for (int kind = 0; kind < OBJECT_KIND_COUNT && text[0] == 0; ++kind)
        if (!is_part((object_kind)kind) && any_object((object_kind)kind, NULL) != NULL)
            snprintf(text, sizeof text, "%s", kind_name((object_kind)kind));
    const allocation* memory = any_memory();
    if (text[0] == 0 && memory != NULL)
        snprintf(text, sizeof text, "%zu bytes of %s memory", memory->size, memory->kind == MEMORY_DEVICE ? "device" : "pinned");
    if (text[0] == 0 && count_live() > 0)
        snprintf(text, sizeof text, "a reference to a primary context");
    pthread_mutex_unlock(&lock);
    return text;
}

static void forget(void)
{
    pthread_mutex_lock(&lock);
    memset(calls, 0, sizeof calls);
    journal_length = 0;
    if (journal_text != NULL)
        journal_text[0] = 0;
    pthread_mutex_unlock(&lock);
}

static void reset(void)
{
    pthread_mutex_lock(&lock);
    hold(NULL, false);
    for (int i = 0; i < MOST_DEVICES; ++i)
        if (primary[i].is_alive) {
            take_down(&primary[i]);
            primary[i].references = 0;
        }
    for (context *c = foreign, *next; c != NULL; c = next) {
        next = c->next;
        if (c->is_alive)
            take_down(c);
        free(c);
    }
    foreign = NULL;
    depth = 0;
    stuck_everywhere = CUDA_SUCCESS;
    traits = usual;
    first_misuse[0] = 0;
    memset(failures, 0, sizeof failures);
    failed[0] = 0;
    forget_kernels();
    free(journal_text);
    journal_text = NULL;
    journal_length = journal_room = 0;
    pthread_mutex_unlock(&lock);
    forget();
}

static const char* get_misuse(void)
{
    static char text[sizeof first_misuse];
    pthread_mutex_lock(&lock);
    memcpy(text, first_misuse, sizeof text);
    pthread_mutex_unlock(&lock);
    return text;
}

static uint64_t memory_used(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t used = memory_sum(-1, false);
    pthread_mutex_unlock(&lock);
    return used;
}

static unsigned get_depth(void)
{
    return depth;
}

static void* get_current(void)
{
    return depth > 0 ? stack[depth - 1].context : NULL;
}

static unsigned get_calls(const char* name)
{
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST_CALLS; ++i)
        if (name == NULL || strcmp(calls[i].name, name) == 0)
            count += calls[i].count;
    pthread_mutex_unlock(&lock);
    return count;
}

static const char* get_journal(void)
{
    static char* copy;
    pthread_mutex_lock(&lock);
    free(copy);
    copy = strdup(journal_text != NULL ? journal_text : "");
    pthread_mutex_unlock(&lock);
    return copy;
}

static void fail_call(const char* name, unsigned nth, int code)
{
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < MOST_FAILURES - 1 && failures[i].left > 0)
        ++i;
    snprintf(failures[i].name, sizeof failures[i].name, "%s", name != NULL ? name : "");
    failures[i].left = nth;
    failures[i].code = code;
    failed[0] = 0;
    pthread_mutex_unlock(&lock);
}

static const char* get_failed(void)
{
    static char name[sizeof failed];
    pthread_mutex_lock(&lock);
    memcpy(name, failed, sizeof name);
    memset(failures, 0, sizeof failures);
    failed[0] = 0;
    pthread_mutex_unlock(&lock);
    return name[0] != 0 ? name : NULL;
}

static void stick(int code)
{
    pthread_mutex_lock(&lock);
    be_stuck(code);
    pthread_mutex_unlock(&lock);
}

static void hold_now(void* s, bool is_held)
{
    pthread_mutex_lock(&lock);
    hold(s, is_held);
    pthread_mutex_unlock(&lock);
}

static void kernel(const char* name, standin_kernel_fn run, void* user)
{
    pthread_mutex_lock(&lock);
    set_kernel(name, run, user);
    pthread_mutex_unlock(&lock);
}

static void set_others(standin_kernel_fn run, void* user)
{
    pthread_mutex_lock(&lock);
    set_other_kernels(run, user);
    pthread_mutex_unlock(&lock);
}

static void* at(uint64_t address, size_t size)
{
    pthread_mutex_lock(&lock);
    const allocation* a = allocation_of(address);
    char* found = NULL;
    if (a == NULL || size > a->size - (address - a->address))
        misuse("a kernel reaches %zu bytes at %#llx, which are not there", size, (unsigned long long)address);
    else
        found = a->host + (address - a->address);
    pthread_mutex_unlock(&lock);
    return found;
}

static void* context_create(int device)
{
    context* c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    c->device = device;
    c->is_alive = true;
    c->next = foreign;
    foreign = c;
    pthread_mutex_unlock(&lock);
    return c;
}

static void context_destroy(void* any)
{
    pthread_mutex_lock(&lock);
    note_leaks(any);
    take_down(any);
    pthread_mutex_unlock(&lock);
}

EXPORT const standin_hooks standin = {
    .traits = &traits,
    .reset = reset,
    .misuse = get_misuse,
    .live = live,
    .first_live = first_live,
    .memory_used = memory_used,
    .depth = get_depth,
    .current = get_current,
    .calls = get_calls,
    .journal = get_journal,
    .forget = forget,
    .fail_call = fail_call,
    .failed = get_failed,
    .stick = stick,
    .hold = hold_now,
    .kernel = kernel,
    .other_kernels = set_others,
    .at = at,
    .make_cubin = make_cubin,
    .context_create = context_create,
    .context_destroy = context_destroy,
};
