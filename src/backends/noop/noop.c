#include "noop.h"

#include <stdio.h>
#include <string.h>

#include "../../platform/platform.h"

typedef struct noop_device {
    noop_control control;
    khal__mutex lock;
    khal__condition changed;
    khal_ticket submitted, held_after; /* under lock */
    atomic_ullong completed;
} noop_device;

typedef struct noop_buffer {
    void* shadow; /* while mapped */
    size_t shadow_size;
} noop_buffer;

/* What a backend that replays keeps of finished commands: here, how many there are. */
typedef struct noop_replay {
    uint32_t command_count;
} noop_replay;

static atomic_uint open_failure;
static atomic_bool is_missing;

static noop_device* device_of(khal_device* device)
{
    return khal__device_impl(device);
}

noop_control* noop_control_of(khal_device* device)
{
    return &device_of(device)->control;
}

void noop_be_missing(bool missing)
{
    atomic_store(&is_missing, missing);
}

void noop_fail_open(unsigned n)
{
    atomic_store(&open_failure, n);
}

/* Counts the call; true when it is the one that is to fail. */
static bool counts_down(atomic_uint* left)
{
    unsigned n = atomic_load(left);
    while (n > 0 && !atomic_compare_exchange_weak(left, &n, n - 1))
        ;
    return n == 1;
}

static bool fails(khal_device* device, noop_call call)
{
    noop_control* control = noop_control_of(device);
    atomic_fetch_add_explicit(&control->calls[call], 1, memory_order_relaxed);
    return counts_down(&control->fail[call]);
}

static khal_status fail(khal_device* device, khal_error_id id, const char* what)
{
    return khal__fail(device, id, 7, NULL, "noop was told to fail %s", what);
}

/* ---- devices -----------------------------------------------------------------------------------
 */

/* Two of them: one that has everything, and one with little. */
static void describe(uint32_t index, khal_device_info* info)
{
    memset(info, 0, sizeof *info);
    info->backend = KHAL_BACKEND_NOOP;
    info->type = KHAL_DEVICE_TYPE_OTHER;
    info->available = true;
    snprintf(info->name, sizeof info->name, "%s", index == 0 ? "noop" : "noop, little");
    for (int i = 0; i < 3; ++i) {
        info->limits.workgroup_size[i] = index == 0 ? 1024 : 64;
        info->limits.group_count[i] = index == 0 ? UINT64_MAX : 65535;
    }
    info->limits.buffer_size = index == 0 ? INT64_MAX : 1u << 20;
    info->limits.workgroup_invocations = index == 0 ? 1024 : 64;
    info->limits.local_memory_size = index == 0 ? 1u << 16 : 1u << 10;
    info->limits.push_constant_size = index == 0 ? 4096 : 128;
    info->limits.binding_count = index == 0 ? 64 : 8;
    info->limits.native_offset_alignment = index == 0 ? 1 : 256;
    if (index == 0) {
        info->features = KHAL_FEATURE_TIMESTAMPS | KHAL_FEATURE_FP64 | KHAL_FEATURE_INT64 |
                         KHAL_FEATURE_INT64_ATOMICS | KHAL_FEATURE_PRINTF |
                         KHAL_FEATURE_HOST_MEMORY | KHAL_FEATURE_NATIVE_ENCODER |
                         KHAL_FEATURE_SPIRV_PASSTHROUGH;
        info->formats = 1u << KHAL_FORMAT_CPU | 1u << KHAL_FORMAT_SPIRV | 1u << KHAL_FORMAT_WGSL |
                        1u << KHAL_FORMAT_PTX | 1u << KHAL_FORMAT_CUBIN | 1u << KHAL_FORMAT_MSL;
    } else {
        info->formats = 1u << KHAL_FORMAT_SPIRV;
    }
}

static khal_status noop_enumerate(uint32_t capacity, khal_device_info* out_infos,
                                  uint32_t* out_count)
{
    if (atomic_load(&is_missing))
        return khal__fail(NULL, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, NULL,
                          "noop was told to be missing");
    for (uint32_t i = 0; i < capacity && i < 2; ++i)
        describe(i, &out_infos[i]);
    *out_count = 2;
    return KHAL_OK;
}

static khal_status noop_device_open(khal_device* device, uint32_t index,
                                    const khal_device_desc* desc)
{
    (void)desc;
    if (counts_down(&open_failure))
        return fail(device, KHAL_ERROR_DRIVER, "the opening");
    noop_device* noop = device_of(device);
    khal__mutex_init(&noop->lock);
    khal__condition_init(&noop->changed);
    noop->held_after = UINT64_MAX;
    describe(index, khal__device_info(device));
    return KHAL_OK;
}

static void noop_device_close(khal_device* device)
{
    khal__condition_destroy(&device_of(device)->changed);
    khal__mutex_destroy(&device_of(device)->lock);
}

/* ---- buffers: of no memory, so they read as zeroes
 * ----------------------------------------------- */

static khal_status noop_buffer_create(khal_buffer* buffer, const khal_buffer_desc* desc)
{
    (void)desc;
    khal_device* device = khal__buffer_device(buffer);
    return fails(device, NOOP_BUFFER_CREATE) ? fail(device, KHAL_ERROR_OUT_OF_MEMORY, "a buffer")
                                             : KHAL_OK;
}

static void noop_buffer_destroy(khal_buffer* buffer)
{
    (void)buffer;
}

static khal_status noop_wait(khal_device* device, khal_ticket ticket, uint64_t timeout);

/* Waits for the work that conflicts, as a real backend would. */
static khal_status after_work(khal_device* device, khal_ticket after, uint64_t timeout)
{
    atomic_store(&noop_control_of(device)->last_after, after);
    return noop_wait(device, after, timeout);
}

static khal_status noop_buffer_write(khal_buffer* buffer, uint64_t offset, const void* data,
                                     uint64_t size, khal_ticket after)
{
    (void)offset;
    (void)data;
    (void)size;
    khal_device* device = khal__buffer_device(buffer);
    atomic_store(&noop_control_of(device)->last_after, after);
    return fails(device, NOOP_BUFFER_WRITE) ? fail(device, KHAL_ERROR_DRIVER, "a write") : KHAL_OK;
}

static khal_status noop_buffer_read(khal_buffer* buffer, uint64_t offset, void* out, uint64_t size,
                                    khal_ticket after, uint64_t timeout)
{
    (void)offset;
    khal_device* device = khal__buffer_device(buffer);
    if (fails(device, NOOP_BUFFER_READ))
        return fail(device, KHAL_ERROR_DRIVER, "a read");
    const khal_status status = after_work(device, after, timeout);
    if (status == KHAL_OK)
        memset(out, 0, (size_t)size);
    return status;
}

static khal_status noop_buffer_map(khal_buffer* buffer, uint64_t offset, uint64_t size,
                                   uint32_t mode, khal_ticket after, uint64_t timeout, void** out)
{
    (void)mode;
    khal_device* device = khal__buffer_device(buffer);
    if (fails(device, NOOP_BUFFER_MAP))
        return fail(device, KHAL_ERROR_DRIVER, "a map");
    const khal_status status = after_work(device, after, timeout);
    if (status != KHAL_OK)
        return status;
    noop_buffer* noop = khal__buffer_impl(buffer);
    const size_t lead = (size_t)(offset % 16);
    noop->shadow = size < SIZE_MAX - lead ? khal__alloc(device, lead + (size_t)size, 16) : NULL;
    if (noop->shadow == NULL)
        return khal__fail(device, KHAL_ERROR_OUT_OF_MEMORY, 0, khal_buffer_get_label(buffer),
                          "no memory for a map");
    noop->shadow_size = lead + (size_t)size;
    memset(noop->shadow, 0, noop->shadow_size);
    *out = (char*)noop->shadow + lead;
    return KHAL_OK;
}

static khal_status noop_buffer_flush(khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    (void)offset;
    (void)size;
    khal_device* device = khal__buffer_device(buffer);
    return fails(device, NOOP_BUFFER_FLUSH) ? fail(device, KHAL_ERROR_DRIVER, "a flush") : KHAL_OK;
}

static khal_status noop_buffer_invalidate(khal_buffer* buffer, uint64_t offset, uint64_t size,
                                          khal_ticket after, uint64_t timeout)
{
    (void)offset;
    (void)size;
    khal_device* device = khal__buffer_device(buffer);
    return fails(device, NOOP_BUFFER_INVALIDATE)
               ? fail(device, KHAL_ERROR_DRIVER, "an invalidation")
               : after_work(device, after, timeout);
}

static void noop_buffer_unmap(khal_buffer* buffer)
{
    noop_buffer* noop = khal__buffer_impl(buffer);
    khal__free(khal__buffer_device(buffer), noop->shadow, noop->shadow_size);
    noop->shadow = NULL;
}

/* ---- modules and functions ---------------------------------------------------------------------
 */

static khal_status noop_module_create(khal_module* module, const khal_module_desc* desc,
                                      const khal_code* code)
{
    (void)desc;
    (void)code;
    khal_device* device = khal__module_device(module);
    return fails(device, NOOP_MODULE_CREATE) ? fail(device, KHAL_ERROR_MODULE_COMPILE, "a module")
                                             : KHAL_OK;
}

static void noop_module_destroy(khal_module* module)
{
    (void)module;
}

/* Any code will do, and of several for compute capabilities the highest that is taken. */
static uint32_t noop_code_rank(khal_device* device, const khal_code* code)
{
    if (code->format != KHAL_FORMAT_PTX && code->format != KHAL_FORMAT_CUBIN)
        return 1;
    const unsigned most = atomic_load_explicit(&noop_control_of(device)->most_level, memory_order_relaxed);
    return most == 0 || code->level <= most ? code->level + 1 : 0;
}

static bool is_pending(khal_device* device)
{
    atomic_uint* left = &noop_control_of(device)->pending_polls;
    unsigned n = atomic_load(left);
    while (n > 0 && !atomic_compare_exchange_weak(left, &n, n - 1))
        ;
    return n > 0;
}

static khal_status noop_module_poll(khal_module* module)
{
    khal_device* device = khal__module_device(module);
    if (is_pending(device))
        return KHAL_NOT_READY;
    return fails(device, NOOP_MODULE_POLL)
               ? fail(device, KHAL_ERROR_MODULE_COMPILE, "a module late")
               : KHAL_OK;
}

static khal_status noop_function_create(khal_function* function, const khal_function_desc* desc)
{
    (void)desc;
    khal_device* device = khal__module_device(khal__function_module(function));
    return fails(device, NOOP_FUNCTION_CREATE)
               ? fail(device, KHAL_ERROR_FUNCTION_COMPILE, "a function")
               : KHAL_OK;
}

static void noop_function_destroy(khal_function* function)
{
    (void)function;
}

static khal_status noop_function_poll(khal_function* function)
{
    khal_device* device = khal__module_device(khal__function_module(function));
    if (is_pending(device))
        return KHAL_NOT_READY;
    return fails(device, NOOP_FUNCTION_POLL)
               ? fail(device, KHAL_ERROR_FUNCTION_COMPILE, "a function late")
               : KHAL_OK;
}

static bool noop_grid_fits(khal_function* function, const uint32_t workgroup_size[3],
                           const uint64_t group_count[3])
{
    (void)workgroup_size;
    khal_device* device = khal__module_device(khal__function_module(function));
    const uint64_t most =
        atomic_load_explicit(&noop_control_of(device)->most_groups, memory_order_relaxed);
    return most == 0 || group_count[0] * group_count[1] * group_count[2] <= most;
}

/* ---- running: nothing runs, but what commands promise to the front is kept
 * ----------------------- */

static khal_ticket done_until(const noop_device* noop)
{
    return noop->submitted < noop->held_after ? noop->submitted : noop->held_after;
}

/* What can't be kept, for lack of memory, runs all the same. */
static void keep_replay(khal_device* device, const khal__submission* submission)
{
    noop_control* control = noop_control_of(device);
    khal__replay* replay = submission->replay;
    noop_replay* kept = replay->impl;
    if (kept != NULL && replay->version == submission->version) {
        atomic_fetch_add_explicit(&control->replays_reused, 1, memory_order_relaxed);
        return;
    }
    if (kept == NULL) {
        kept = khal__alloc(device, sizeof *kept, 16);
        if (kept == NULL)
            return;
        replay->impl = kept;
        atomic_fetch_add_explicit(&control->replays_made, 1, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&control->replays_updated, 1, memory_order_relaxed);
    }
    kept->command_count = submission->command_count;
    replay->version = submission->version;
}

static void noop_replay_destroy(khal_device* device, khal__replay* replay)
{
    if (replay->impl == NULL)
        return;
    khal__free(device, replay->impl, sizeof(noop_replay));
    atomic_fetch_add_explicit(&noop_control_of(device)->replays_destroyed, 1, memory_order_relaxed);
}

static khal_status noop_submit(khal_device* device, khal__submission* submission)
{
    noop_device* noop = device_of(device);
    noop_control* control = &noop->control;
    if (fails(device, NOOP_SUBMIT))
        return fail(device, KHAL_ERROR_DRIVER, "a submit");
    if (submission->replay != NULL)
        keep_replay(device, submission);
    if (control->observe != NULL)
        control->observe(control->observe_user, submission);
    const bool lose_timestamps =
        atomic_load_explicit(&control->lose_timestamps, memory_order_relaxed);
    for (const khal__command* c = submission->has_results ? submission->commands : NULL; c != NULL;
         c = c->next) {
        if (c->kind == KHAL__COMMAND_READ)
            memset(c->u.read.out, 0, (size_t)c->u.read.source.size);
        else if (c->kind == KHAL__COMMAND_TIMESTAMP && !lose_timestamps)
            *c->u.timestamp.out = khal__clock_now() - khal__device_epoch(device);
    }
    if (atomic_load_explicit(&control->fail_execution, memory_order_relaxed)) {
        submission->status = KHAL_EXECUTION_FAILED;
        submission->error_id = KHAL_ERROR_NATIVE_FAILED;
        snprintf(submission->message, sizeof submission->message, "noop was told to fail it");
    }
    khal__mutex_lock(&noop->lock);
    noop->submitted = submission->ticket;
    atomic_store_explicit(&noop->completed, done_until(noop), memory_order_release);
    khal__mutex_unlock(&noop->lock);
    return KHAL_OK;
}

static khal_ticket noop_completed(khal_device* device)
{
    return atomic_load_explicit(&device_of(device)->completed, memory_order_acquire);
}

static khal_status noop_wait(khal_device* device, khal_ticket ticket, uint64_t timeout)
{
    noop_device* noop = device_of(device);
    if (noop_completed(device) >= ticket)
        return KHAL_OK;
    const uint64_t now = khal__clock_now();
    const uint64_t deadline = timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
    bool in_time = true;
    khal__mutex_lock(&noop->lock);
    while (noop_completed(device) < ticket && khal__device_is_up(device) && in_time)
        in_time = khal__condition_wait(&noop->changed, &noop->lock, deadline);
    const bool done = noop_completed(device) >= ticket;
    khal__mutex_unlock(&noop->lock);
    return done ? KHAL_OK : in_time ? KHAL_DEVICE_LOST : KHAL_TIMEOUT;
}

void noop_hold(khal_device* device, khal_ticket ticket)
{
    noop_device* noop = device_of(device);
    khal__mutex_lock(&noop->lock);
    noop->held_after = ticket;
    if (done_until(noop) > noop_completed(device))
        atomic_store_explicit(&noop->completed, done_until(noop), memory_order_release);
    khal__condition_broadcast(&noop->changed);
    khal__mutex_unlock(&noop->lock);
}

void noop_lose(khal_device* device, const char* cause)
{
    noop_device* noop = device_of(device);
    khal__device_lost(device, 13, "%s", cause);
    khal__mutex_lock(&noop->lock);
    khal__condition_broadcast(&noop->changed);
    khal__mutex_unlock(&noop->lock);
}

const khal__backend khal__noop_backend = {
    .name = "noop",
    .id = KHAL_BACKEND_NOOP,
    .automatic = false,
    .device_size = sizeof(noop_device),
    .buffer_size = sizeof(noop_buffer),
    .module_size = 0,
    .function_size = 0,
    .enumerate = noop_enumerate,
    .device_open = noop_device_open,
    .device_close = noop_device_close,
    .buffer_create = noop_buffer_create,
    .buffer_destroy = noop_buffer_destroy,
    .buffer_write = noop_buffer_write,
    .buffer_read = noop_buffer_read,
    .buffer_map = noop_buffer_map,
    .buffer_flush = noop_buffer_flush,
    .buffer_invalidate = noop_buffer_invalidate,
    .buffer_unmap = noop_buffer_unmap,
    .module_create = noop_module_create,
    .module_destroy = noop_module_destroy,
    .function_create = noop_function_create,
    .function_destroy = noop_function_destroy,
    .module_poll = noop_module_poll,
    .function_poll = noop_function_poll,
    .code_rank = noop_code_rank,
    .grid_fits = noop_grid_fits,
    .submit = noop_submit,
    .replay_destroy = noop_replay_destroy,
    .completed = noop_completed,
    .wait = noop_wait,
};
