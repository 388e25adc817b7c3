#include "core.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 4096u

uint32_t khal_version(void)
{
    return (uint32_t)KHAL_VERSION_MAJOR << 16 | (uint32_t)KHAL_VERSION_MINOR << 8 |
           (uint32_t)KHAL_VERSION_PATCH;
}

/* ---- what there is -----------------------------------------------------------------------------
 */

/* Devices of one backend; the thread's record is as before. On a failure `out_reason` gets the
 * record's text. */
static khal_status enumerate_backend(const khal__known_backend* known, uint32_t capacity,
                                     khal_device_info* out_infos, uint32_t* out_count,
                                     char* out_reason, size_t reason_size)
{
    *out_count = 0;
    if (known->table == NULL) {
        snprintf(out_reason, reason_size, "the %s backend is not part of this build", known->name);
        return KHAL_UNSUPPORTED;
    }
    const khal_error saved = *khal_error_get();
    const khal_status status = known->table->enumerate(capacity, out_infos, out_count);
    if (status != KHAL_OK)
        snprintf(out_reason, reason_size, "%.*s", (int)reason_size - 1, khal_error_get()->message);
    else if (*out_count == 0)
        snprintf(out_reason, reason_size, "the %s backend finds no device", known->name);
    if (status != KHAL_OK)
        *out_count = 0;
    khal__error_again(&saved);
    return status != KHAL_OK ? status : *out_count == 0 ? KHAL_UNAVAILABLE : KHAL_OK;
}

khal_status khal_device_enumerate(uint32_t capacity, khal_device_info* out_infos,
                                  uint32_t* out_count)
{
    if (out_count == NULL)
        return khal__fail_null(NULL, NULL, "out_count");
    if (out_infos == NULL && capacity > 0)
        return khal__fail_null(NULL, NULL, "out_infos");
    uint32_t total = 0;
    for (const khal__known_backend* known = khal__known_backends; known->name != NULL; ++known) {
        const uint32_t room = total < capacity ? capacity - total : 0;
        uint32_t count = 0;
        char reason[sizeof out_infos->reason];
        const khal_status status = enumerate_backend(
            known, room, room > 0 ? out_infos + total : NULL, &count, reason, sizeof reason);
        if (status != KHAL_OK) {
            count = 1;
            if (room > 0) {
                khal_device_info* info = &out_infos[total];
                memset(info, 0, sizeof *info);
                info->backend = known->id;
                snprintf(info->name, sizeof info->name, "%s", known->name);
                memcpy(info->reason, reason, sizeof reason);
            }
        }
        total += count;
    }
    *out_count = total;
    return KHAL_OK;
}

static bool contains_ignoring_case(const char* text, const char* part)
{
    const size_t length = strlen(part);
    for (;; ++text) {
        size_t i = 0;
        while (i < length && text[i] != 0) {
            char a = text[i], b = part[i];
            if (a >= 'A' && a <= 'Z')
                a = (char)(a - 'A' + 'a');
            if (b >= 'A' && b <= 'Z')
                b = (char)(b - 'A' + 'a');
            if (a != b)
                break;
            ++i;
        }
        if (i == length)
            return true;
        if (*text == 0)
            return false;
    }
}

/* ---- opening -----------------------------------------------------------------------------------
 */

/* What is asked for, the environment taken in. */
typedef struct request {
    const khal_device_desc* desc;
    const khal_allocator* allocator;
    khal_backend backend;
    uint32_t index;
    const char* name;
    bool from_environment;
    uint32_t entry; /* number of the next device in khal_device_enumerate */
    bool failed;    /* a device was tried and did not open: the thread's record says why */
    uint64_t allocations;
    char why[256]; /* the first backend asked for that has no devices */
    khal_error_id why_id;
} request;

static void destroy_locks(khal_device* device)
{
    khal__mutex_destroy(&device->lost_lock);
    khal__mutex_destroy(&device->objects_lock);
    khal__mutex_destroy(&device->module_lock);
    khal__mutex_destroy(&device->print_lock);
    khal__mutex_destroy(&device->submit_lock);
    khal__mutex_destroy(&device->track_lock);
    khal__mutex_destroy(&device->pool_lock);
}

static void free_device(khal_device* device)
{
    const khal_allocator allocator = device->allocator;
    const size_t size = device->memory_size;
    destroy_locks(device);
    allocator.release(allocator.user, device, size);
}

/* The backend's device `index`, or one over what `foreign` describes. */
static khal_status open_one(request* r, const khal__backend* backend, uint32_t index,
                            const void* foreign, khal_device** out_device)
{
    const khal_device_desc* desc = r->desc;
    const size_t size = KHAL__IMPL_OFFSET(khal_device) + backend->device_size;
    khal_device* device = r->allocator->allocate(r->allocator->user, size, KHAL__IMPL_ALIGN);
    ++r->allocations;
    if (device == NULL)
        return khal__fail_memory(NULL, desc->label, "the device", size);
    memset(device, 0, size);
    device->memory_size = size;
    device->allocator = *r->allocator;
    device->print = desc->print;
    device->print_user = desc->print_user;
    device->debug = desc->debug;
    device->backend = backend;
    device->epoch = khal__clock_now();
    device->object.kind = KHAL__KIND_DEVICE;
    device->object.device = device;
    khal__copy_label(device->object.label, desc->label);
    atomic_init(&device->object.public_refs, 1);
    atomic_init(&device->object.refs, 1);
    atomic_init(&device->holds, 1);
    atomic_init(&device->host_allocations, r->allocations);
    khal__mutex_init(&device->lost_lock);
    khal__mutex_init(&device->objects_lock);
    khal__mutex_init(&device->module_lock);
    khal__mutex_init(&device->print_lock);
    khal__mutex_init(&device->submit_lock);
    khal__mutex_init(&device->track_lock);
    khal__mutex_init(&device->pool_lock);

    const khal_status status = foreign != NULL ? backend->device_wrap(device, foreign, desc)
                                               : backend->device_open(device, index, desc);
    if (status != KHAL_OK) {
        r->allocations = atomic_load(&device->host_allocations);
        free_device(device);
        return status;
    }
    device->info.backend = backend->id;
    device->info.available = true;
    /* Before, khal_device_open itself reports, once. */
    device->diagnostic = desc->diagnostic;
    device->diagnostic_user = desc->diagnostic_user;
    *out_device = device;
    return KHAL_OK;
}

/* Tries the devices of one backend; KHAL_NOT_FOUND without a record when none fits. */
static khal_status open_from(request* r, const khal__known_backend* known, khal_device** out_device)
{
    if (r->index == 0 && r->backend != KHAL_BACKEND_AUTO && r->backend != known->id)
        return KHAL_NOT_FOUND; /* its driver is left alone */
    char reason[256];
    uint32_t count = 0;
    khal_status status = enumerate_backend(known, 0, NULL, &count, reason, sizeof reason);
    const uint32_t first_entry = r->entry;
    r->entry += status == KHAL_OK ? count : 1;
    const bool is_wanted =
        (r->backend == KHAL_BACKEND_AUTO || r->backend == known->id) &&
        (r->index == 0 || (r->index - 1 >= first_entry && r->index - 1 < r->entry));
    if (!is_wanted)
        return KHAL_NOT_FOUND;
    if (status != KHAL_OK) {
        if (r->why_id == KHAL_ERROR_NONE && (r->backend != KHAL_BACKEND_AUTO || r->index != 0)) {
            memcpy(r->why, reason, sizeof r->why);
            r->why_id = known->table == NULL ? KHAL_ERROR_BACKEND_NOT_BUILT
                                             : KHAL_ERROR_BACKEND_UNAVAILABLE;
        }
        return KHAL_NOT_FOUND;
    }
    const bool is_automatic = r->backend == KHAL_BACKEND_AUTO && r->index == 0 && r->name == NULL;
    if (is_automatic && !known->table->automatic)
        return KHAL_NOT_FOUND;

    khal_device_info* infos = r->allocator->allocate(r->allocator->user, count * sizeof *infos, 16);
    ++r->allocations;
    if (infos == NULL) {
        r->failed = true;
        return khal__fail_memory(NULL, r->desc->label, "the list of devices",
                                 count * sizeof *infos);
    }
    memset(infos, 0, count * sizeof *infos);
    const uint32_t capacity = count;
    status = enumerate_backend(known, capacity, infos, &count, reason, sizeof reason);
    if (count > capacity)
        count = capacity;
    khal_status result = KHAL_NOT_FOUND;
    for (uint32_t i = 0; status == KHAL_OK && i < count && result != KHAL_OK; ++i) {
        if (r->index != 0 && r->index - 1 != first_entry + i)
            continue;
        if (r->name != NULL && !contains_ignoring_case(infos[i].name, r->name))
            continue;
        if (is_automatic && infos[i].type == KHAL_DEVICE_TYPE_CPU && known->id != KHAL_BACKEND_CPU)
            continue; /* a GPU's driver that runs on the processor */
        if (!infos[i].available) {
            if (r->why_id == KHAL_ERROR_NONE) {
                snprintf(r->why, sizeof r->why, "%.120s: %.100s", infos[i].name, infos[i].reason);
                r->why_id = KHAL_ERROR_BACKEND_UNAVAILABLE;
            }
            continue;
        }
        result = open_one(r, known->table, i, NULL, out_device);
        if (result != KHAL_OK)
            r->failed = true;
        if (result == KHAL_OUT_OF_MEMORY && r->backend != KHAL_BACKEND_AUTO)
            break; /* another device is no answer to that */
    }
    r->allocator->release(r->allocator->user, infos, capacity * sizeof *infos);
    return result;
}

static khal_status fail_open(khal_diagnostic_fn diagnostic, void* user)
{
    if (diagnostic != NULL) {
        const khal_error copy = *khal_error_get();
        diagnostic(user, &copy);
        khal__error_again(&copy);
    }
    return khal_error_get()->status;
}

static khal_status check_desc(const khal_device_desc* desc)
{
    if ((unsigned)desc->backend > KHAL_BACKEND_NOOP)
        return khal__fail(NULL, KHAL_ERROR_DEVICE_DESC, 0, desc->label,
                          "backend is %d; the last known one is %d", (int)desc->backend,
                          (int)KHAL_BACKEND_NOOP);
    if (desc->thread_count > MOST_THREADS)
        return khal__fail(NULL, KHAL_ERROR_DEVICE_DESC, 0, desc->label,
                          "thread_count is %u; at most %u", desc->thread_count, MOST_THREADS);
    if (desc->allocator != NULL &&
        (desc->allocator->allocate == NULL || desc->allocator->release == NULL))
        return khal__fail(NULL, KHAL_ERROR_DEVICE_DESC, 0, desc->label,
                          "the allocator lacks a function");
    return KHAL_OK;
}

static khal_status open_device(const khal_device_desc* desc, khal_device** out_device)
{
    request r = {.desc = desc,
                 .allocator = desc->allocator != NULL ? desc->allocator : &khal__default_allocator,
                 .backend = desc->backend,
                 .index = desc->index,
                 .name = desc->name != NULL && desc->name[0] != 0 ? desc->name : NULL};
    const khal_status checked = check_desc(desc);
    if (checked != KHAL_OK)
        return checked;

    if (r.backend == KHAL_BACKEND_AUTO && r.index == 0 && r.name == NULL) {
        const char* backend = getenv("KHAL_BACKEND");
        const char* name = getenv("KHAL_DEVICE");
        if (backend != NULL && backend[0] != 0) {
            const khal__known_backend* known = khal__known_backends;
            while (known->name != NULL && strcmp(known->name, backend) != 0)
                ++known;
            if (known->name == NULL)
                return khal__fail(
                    NULL, KHAL_ERROR_ENVIRONMENT, 0, desc->label,
                    "KHAL_BACKEND is \"%.64s\"; known are cuda, metal, vulkan, webgpu, cpu, noop",
                    backend);
            r.backend = known->id;
            r.from_environment = true;
        }
        if (name != NULL && name[0] != 0) {
            r.name = name;
            r.from_environment = true;
        }
    }

    for (const khal__known_backend* known = khal__known_backends; known->name != NULL; ++known) {
        const khal_status status = open_from(&r, known, out_device);
        if (status == KHAL_OK)
            return KHAL_OK;
        if (status == KHAL_OUT_OF_MEMORY && r.backend != KHAL_BACKEND_AUTO && !r.from_environment)
            return status;
    }

    if (r.from_environment) {
        const khal_error last = *khal_error_get();
        return khal__fail(NULL, KHAL_ERROR_ENVIRONMENT, last.native_code, desc->label,
                          "KHAL_BACKEND=%s KHAL_DEVICE=%.64s can't be opened: %.500s",
                          r.backend != KHAL_BACKEND_AUTO ? khal__backend_name(r.backend) : "",
                          r.name != NULL ? r.name : "",
                          r.failed                      ? last.message
                          : r.why_id != KHAL_ERROR_NONE ? r.why
                                                        : "no device has such a name");
    }
    if (r.failed)
        return khal_error_get()->status;
    if (r.why_id != KHAL_ERROR_NONE)
        return khal__fail(NULL, r.why_id, 0, desc->label, "%s", r.why);
    return khal__fail(NULL, KHAL_ERROR_DEVICE_NOT_FOUND, 0, desc->label,
                      "no device has backend %s, index %u of %u and a name with \"%.64s\" in it",
                      khal__backend_name(r.backend), r.index, r.entry,
                      r.name != NULL ? r.name : "");
}

khal_status khal_device_open(const khal_device_desc* desc, khal_device** out_device)
{
    static const khal_device_desc defaults;
    if (desc == NULL)
        desc = &defaults;
    if (out_device == NULL) {
        khal__fail_null(NULL, desc->label, "out_device");
        return fail_open(desc->diagnostic, desc->diagnostic_user);
    }
    khal_device* device = NULL;
    const khal_status status = open_device(desc, &device);
    if (status != KHAL_OK)
        return fail_open(desc->diagnostic, desc->diagnostic_user);
    *out_device = device;
    return KHAL_OK;
}

khal_status khal__device_wrap(khal_backend id, const void* foreign, const khal_device_desc* desc,
                              khal_device** out_device)
{
    static const khal_device_desc defaults;
    if (desc == NULL)
        desc = &defaults;
    const khal__known_backend* known = khal__known_backends;
    while (known->id != id)
        ++known;
    khal_status status = check_desc(desc);
    if (status == KHAL_OK && (known->table == NULL || known->table->device_wrap == NULL))
        status = khal__fail(NULL, KHAL_ERROR_BACKEND_NOT_BUILT, 0, desc->label,
                            "the %s backend is not part of this build", known->name);
    request r = {.desc = desc,
                 .allocator = desc->allocator != NULL ? desc->allocator : &khal__default_allocator};
    khal_device* device = NULL;
    if (status == KHAL_OK)
        status = open_one(&r, known->table, 0, foreign, &device);
    if (status != KHAL_OK)
        return fail_open(desc->diagnostic, desc->diagnostic_user);
    *out_device = device;
    return KHAL_OK;
}

/* No backend of this build has to wait for a device, so beginning opens it. */
struct khal_device_opening {
    khal_device* device;
};

khal_status khal_device_open_begin(const khal_device_desc* desc, khal_device_opening** out_opening)
{
    if (out_opening == NULL)
        return khal__fail_null(NULL, desc != NULL ? desc->label : NULL, "out_opening");
    khal_device* device = NULL;
    const khal_status status = khal_device_open(desc, &device);
    if (status != KHAL_OK)
        return status;
    khal_device_opening* opening = khal__alloc(device, sizeof *opening, 16);
    if (opening == NULL) {
        const khal_status failure =
            khal__fail_memory(device, device->object.label, "the opening", sizeof *opening);
        khal_device_release(device);
        return failure;
    }
    opening->device = device;
    *out_opening = opening;
    return KHAL_OK;
}

khal_status khal_device_open_poll(khal_device_opening* opening, khal_device** out_device)
{
    if (opening == NULL || out_device == NULL)
        return khal__fail_null(NULL, NULL, opening == NULL ? "opening" : "out_device");
    khal_device* device = opening->device;
    khal__free(device, opening, sizeof *opening);
    *out_device = device;
    return KHAL_OK;
}

void khal_device_open_cancel(khal_device_opening* opening)
{
    if (opening == NULL)
        return;
    khal_device* device = opening->device;
    khal__free(device, opening, sizeof *opening);
    khal_device_release(device);
}

/* ---- closing -----------------------------------------------------------------------------------
 */

static const char* const kind_names[] = {
    [KHAL__KIND_DEVICE] = "device",         [KHAL__KIND_BUFFER] = "buffer",
    [KHAL__KIND_MODULE] = "module",         [KHAL__KIND_FUNCTION] = "function",
    [KHAL__KIND_ENCODER] = "encoder",       [KHAL__KIND_COMMANDS] = "commands",
    [KHAL__KIND_TIMESTAMPS] = "timestamps", [KHAL__KIND_READBACK] = "readback",
};

static void report_leaks(khal_device* device)
{
    uint64_t last = 0;
    for (;;) {
        khal__kind kind = KHAL__KIND_DEVICE;
        const char* file = NULL;
        int line = 0;
        char label[KHAL__LABEL_SIZE];
        bool found = false;
        khal__mutex_lock(&device->objects_lock);
        for (const khal__object* o = device->first_object; o != NULL; o = o->next) {
            if (o->serial <= last ||
                atomic_load_explicit(&o->public_refs, memory_order_relaxed) == 0)
                continue;
            found = true;
            last = o->serial;
            kind = o->kind;
            file = o->file;
            line = o->line;
            memcpy(label, o->label, sizeof label);
            break;
        }
        khal__mutex_unlock(&device->objects_lock);
        if (!found)
            return;
        khal__report(device, KHAL_ERROR_LEAK, label, "%s \"%s\" made at %s:%d is still alive",
                     kind_names[kind], label, file != NULL ? file : "?", line);
    }
}

void khal__device_hold(khal_device* device)
{
    atomic_fetch_add_explicit(&device->holds, 1, memory_order_relaxed);
}

void khal__device_unhold(khal_device* device)
{
    if (atomic_fetch_sub_explicit(&device->holds, 1, memory_order_acq_rel) != 1)
        return;
    const khal_ticket last = atomic_load(&device->submitted);
    if (!khal__is_lost(device) && device->backend->completed(device) < last)
        (void)khal__wait(device, last, KHAL_FOREVER);
    khal__retire_all(device);
    khal__recording_free_pools(device);
    device->backend->device_close(device);
    free_device(device);
}

void khal_device_retain(khal_device* device)
{
    if (device != NULL)
        khal__object_retain(&device->object);
}

void khal_device_release(khal_device* device)
{
    if (device == NULL ||
        atomic_fetch_sub_explicit(&device->object.public_refs, 1, memory_order_acq_rel) != 1)
        return;
    if (device->debug)
        report_leaks(device);
    khal__device_unhold(device);
}

/* ---- asking ------------------------------------------------------------------------------------
 */

const khal_device_info* khal_device_get_info(const khal_device* device)
{
    return device != NULL ? &device->info : NULL;
}

khal_status khal_device_get_status(khal_device* device)
{
    if (device == NULL)
        return khal__fail_null(NULL, NULL, "device");
    return khal__is_lost(device) ? khal__fail_lost(device) : KHAL_OK;
}

void khal_device_get_statistics(khal_device* device, khal_statistics* out_statistics)
{
    if (out_statistics == NULL)
        return;
    memset(out_statistics, 0, sizeof *out_statistics);
    if (device == NULL)
        return;
    out_statistics->submissions = atomic_load(&device->submissions);
    out_statistics->dispatches = atomic_load(&device->dispatches);
    out_statistics->copies = atomic_load(&device->copies);
    out_statistics->fills = atomic_load(&device->fills);
    out_statistics->barriers = atomic_load(&device->barriers);
    out_statistics->re_recordings = atomic_load(&device->re_recordings);
    out_statistics->buffer_count = atomic_load(&device->buffer_count);
    out_statistics->buffer_size = atomic_load(&device->buffer_size);
    out_statistics->live_objects = atomic_load(&device->live_objects);
    out_statistics->host_allocations = atomic_load(&device->host_allocations);
    out_statistics->passes_untimed = atomic_load(&device->passes_untimed);
}

/* ---- for backends ------------------------------------------------------------------------------
 */

void* khal__device_impl(khal_device* device)
{
    return (char*)device + KHAL__IMPL_OFFSET(khal_device);
}
khal_device_info* khal__device_info(khal_device* device)
{
    return &device->info;
}
bool khal__device_is_up(khal_device* device)
{
    return !khal__is_lost(device);
}
uint64_t khal__device_epoch(khal_device* device)
{
    return device->epoch;
}

void khal__device_print(khal_device* device, const char* text, size_t size)
{
    khal__callback callback;
    khal__mutex_lock(&device->print_lock);
    if (device->print != NULL) {
        khal__callback_begin(device, &callback);
        device->print(device->print_user, text, size);
        khal__callback_end(&callback);
    } else {
        fwrite(text, 1, size, stdout);
    }
    khal__mutex_unlock(&device->print_lock);
}
