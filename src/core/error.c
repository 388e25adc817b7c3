#include "core.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local khal_error record;
static _Thread_local unsigned held; /* callbacks wait */
static _Thread_local bool waiting;  /* one waits */
static _Thread_local khal_error waiting_error;
static _Thread_local khal__callback* innermost;

static const struct {
    khal_error_id id;
    khal_status status;
    const char* name;
} diagnostics[] = {
#define KHAL_ERROR(number, id, status, summary) {KHAL_ERROR_##id, status, "KHAL_ERROR_" #id},
#include <khal/errors.def>
#undef KHAL_ERROR
};

static const char* const status_names[] = {
    [KHAL_OK] = "KHAL_OK",
    [KHAL_INVALID_ARGUMENT] = "KHAL_INVALID_ARGUMENT",
    [KHAL_INVALID_STATE] = "KHAL_INVALID_STATE",
    [KHAL_UNSUPPORTED] = "KHAL_UNSUPPORTED",
    [KHAL_LIMIT] = "KHAL_LIMIT",
    [KHAL_OUT_OF_MEMORY] = "KHAL_OUT_OF_MEMORY",
    [KHAL_NOT_FOUND] = "KHAL_NOT_FOUND",
    [KHAL_UNAVAILABLE] = "KHAL_UNAVAILABLE",
    [KHAL_COMPILE_FAILED] = "KHAL_COMPILE_FAILED",
    [KHAL_DEVICE_LOST] = "KHAL_DEVICE_LOST",
    [KHAL_TIMEOUT] = "KHAL_TIMEOUT",
    [KHAL_NOT_READY] = "KHAL_NOT_READY",
    [KHAL_NOTHING_REQUESTED] = "KHAL_NOTHING_REQUESTED",
    [KHAL_DRIVER_ERROR] = "KHAL_DRIVER_ERROR",
    [KHAL_EXECUTION_FAILED] = "KHAL_EXECUTION_FAILED",
};

const khal_error* khal_error_get(void)
{
    return &record;
}

void khal_error_clear(void)
{
    memset(&record, 0, sizeof record);
}

const char* khal_status_name(khal_status status)
{
    const unsigned index = (unsigned)status;
    return index < sizeof status_names / sizeof status_names[0] ? status_names[index] : "unknown";
}

const char* khal_error_name(khal_error_id id)
{
    if (id == KHAL_ERROR_NONE)
        return "KHAL_ERROR_NONE";
    for (size_t i = 0; i < sizeof diagnostics / sizeof diagnostics[0]; ++i)
        if (diagnostics[i].id == id)
            return diagnostics[i].name;
    return "unknown";
}

khal_status khal__error_status(khal_error_id id)
{
    for (size_t i = 0; i < sizeof diagnostics / sizeof diagnostics[0]; ++i)
        if (diagnostics[i].id == id)
            return diagnostics[i].status;
    return KHAL_DRIVER_ERROR;
}

/* A copy cut at a character's border, so that it stays UTF-8. */
static void copy_text(char* out, size_t size, const char* text)
{
    size_t length = strlen(text);
    if (length >= size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0u) == 0x80u)
            --length;
    }
    memcpy(out, text, length);
    out[length] = 0;
}

void khal__copy_label(char out[KHAL__LABEL_SIZE], const char* label)
{
    if (label != NULL)
        copy_text(out, KHAL__LABEL_SIZE, label);
    else
        out[0] = 0;
}

/* The callback may fail calls of its own, so it sees a copy, and the record is put back after it.
 */
void khal__call_back(khal_device* device, const khal_error* error)
{
    if (device == NULL || device->diagnostic == NULL)
        return;
    if (held > 0) {
        waiting = true;
        waiting_error = *error;
        return;
    }
    const khal_error saved = record;
    const khal_error copy = *error;
    device->diagnostic(device->diagnostic_user, &copy);
    record = saved;
}

static void fill(khal_error* error, khal_error_id id, int64_t native_code, const char* object,
                 const char* format, va_list arguments)
{
    /* The format's arguments may lie in the record itself. */
    khal_error made;
    memset(&made, 0, sizeof made);
    made.status = khal__error_status(id);
    made.id = id;
    made.native_code = native_code;
    if (object != NULL)
        copy_text(made.object, sizeof made.object, object);
    if (vsnprintf(made.message, sizeof made.message, format, arguments) < 0)
        copy_text(made.message, sizeof made.message, khal_error_name(id));
    *error = made;
}

khal_status khal__fail(khal_device* device, khal_error_id id, int64_t native_code,
                       const char* object, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(&record, id, native_code, object, format, arguments);
    va_end(arguments);
    khal__call_back(device, &record);
    return record.status;
}

void khal__report(khal_device* device, khal_error_id id, const char* object, const char* format,
                  ...)
{
    khal_error error;
    va_list arguments;
    va_start(arguments, format);
    fill(&error, id, 0, object, format, arguments);
    va_end(arguments);
    khal__call_back(device, &error);
}

khal_status khal__fail_run(khal_device* device, khal_status status, khal_error_id id,
                           const char* object, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(&record, id, 0, object, format, arguments);
    va_end(arguments);
    record.status = status;
    khal__call_back(device, &record);
    return status;
}

khal_status khal__error_again(const khal_error* error)
{
    if (error != &record)
        record = *error;
    return record.status;
}

void khal__callbacks_hold(void)
{
    ++held;
}

void khal__callbacks_go(khal_device* device)
{
    if (--held == 0 && waiting) {
        waiting = false;
        const khal_error error = waiting_error;
        khal__call_back(device, &error);
    }
}

void khal__failures_keep(void)
{
    ++held;
}

void khal__callback_begin(khal_device* device, khal__callback* callback)
{
    callback->device = device;
    callback->outer = innermost;
    callback->held = held;
    callback->waiting = waiting;
    callback->record = record;
    if (waiting)
        callback->waiting_error = waiting_error;
    innermost = callback;
    held = 0;
    waiting = false;
}

void khal__callback_end(khal__callback* callback)
{
    innermost = callback->outer;
    held = callback->held;
    waiting = callback->waiting;
    record = callback->record;
    if (waiting)
        waiting_error = callback->waiting_error;
}

bool khal__in_callback(const khal_device* device)
{
    const khal__callback* callback = innermost;
    while (callback != NULL && callback->device != device)
        callback = callback->outer;
    return callback != NULL;
}

khal_status khal__fail_null(khal_device* device, const char* object, const char* what)
{
    return khal__fail(device, KHAL_ERROR_ARGUMENT_NULL, 0, object, "%s is NULL", what);
}

khal_status khal__fail_memory(khal_device* device, const char* object, const char* what,
                              uint64_t size)
{
    return khal__fail(device, KHAL_ERROR_OUT_OF_MEMORY, 0, object, "no memory for %s (%llu bytes)",
                      what, (unsigned long long)size);
}

khal_status khal__fail_lost(khal_device* device)
{
    khal_error cause;
    khal__mutex_lock(&device->lost_lock);
    cause = device->lost_error;
    khal__mutex_unlock(&device->lost_lock);
    return khal__fail(device, KHAL_ERROR_DEVICE_LOST, cause.native_code, device->object.label, "%s",
                      cause.message);
}

void khal__device_lost(khal_device* device, int64_t native_code, const char* format, ...)
{
    khal_error cause;
    va_list arguments;
    va_start(arguments, format);
    fill(&cause, KHAL_ERROR_DEVICE_LOST, native_code, device->object.label, format, arguments);
    va_end(arguments);

    bool is_first = false;
    khal__mutex_lock(&device->lost_lock);
    if (!atomic_load(&device->lost)) {
        device->lost_error = cause;
        atomic_store(&device->lost, true);
        is_first = true;
    }
    khal__mutex_unlock(&device->lost_lock);
    if (is_first)
        khal__call_back(device, &cause);
}
