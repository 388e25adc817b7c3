/* One device under test: runs cases on it, and the short forms that cases use. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PRINTED = 6, MOST_MODULES = 64 };

typedef struct owned {
    void* object;
    void (*release)(void*);
    struct owned* next;
} owned;

struct cts {
    cts_session* session;
    const cts_case* which;
    uint32_t failures;
    bool skipped;
    char skip_reason[256];
    owned* owned;
    uint64_t random;
};

struct cts_session {
    const cts_backend* backend;
    khal_device* device;
    bool verbose;
    uint32_t module_count;
    struct { const khal_kernel_library* library; khal_module* module; } modules[MOST_MODULES];
};

cts_session* cts_session_open(const cts_backend* backend, bool verbose)
{
    cts_session* s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->backend = backend;
    s->verbose = verbose;
    if (khal_device_open(&(khal_device_desc){.backend = backend->id}, &s->device) != KHAL_OK) {
        free(s);
        return NULL;
    }
    return s;
}

void cts_session_close(cts_session* s)
{
    for (uint32_t i = 0; i < s->module_count; i++) khal_module_release(s->modules[i].module);
    khal_device_release(s->device);
    free(s);
}

static uint64_t seed_of(const char* name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name != 0; name++) h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return h | 1;
}

static uint64_t live_objects(cts_session* s)
{
    khal_statistics statistics;
    khal_device_get_statistics(s->device, &statistics);
    return statistics.live_objects - s->module_count;
}

static void release_owned(cts* t)
{
    while (t->owned != NULL) {
        owned* o = t->owned;
        t->owned = o->next;
        o->release(o->object);
        free(o);
    }
}

cts_outcome cts_session_run(cts_session* s, const cts_case* which)
{
    cts t = {.session = s, .which = which, .random = seed_of(which->name)};
    const cts_unsupported* listed = cts_backend_unsupported(s->backend, which->name);
    const uint64_t begin = cts_now();
    const uint64_t live_before = live_objects(s);
    if ((khal_device_get_info(s->device)->features & which->features) != which->features)
        cts_skip(&t, "the device lacks a feature that it needs");
    else
        which->run(&t);
    release_owned(&t);
    if (khal_device_wait(s->device, KHAL_FOREVER) != KHAL_OK)
        cts_fail(&t, __FILE__, __LINE__, "the device can't be waited for: %s", khal_error_get()->message);
    if (live_objects(s) != live_before)
        cts_fail(&t, __FILE__, __LINE__, "objects alive after the case: %llu, before: %llu",
                 (unsigned long long)live_objects(s), (unsigned long long)live_before);
    const double ms = (double)(cts_now() - begin) * 1e-6;
    if (listed != NULL && t.failures == 0 && !t.skipped)
        cts_fail(&t, __FILE__, __LINE__, "listed as unsupported (%s) but it passes: a stale expectation", listed->reason);
    else if (listed != NULL && t.failures != 0) {
        printf("SKIP %s: unsupported: %s\n", which->name, listed->reason);
        return CTS_SKIPPED;
    }
    if (t.failures != 0) {
        printf("FAIL %s: %u failed checks, %.0f ms\n", which->name, t.failures, ms);
        return CTS_FAILED;
    }
    if (t.skipped) {
        printf("SKIP %s: %s\n", which->name, t.skip_reason);
        return CTS_SKIPPED;
    }
    if (s->verbose) printf("PASS %s, %.0f ms\n", which->name, ms);
    return CTS_PASSED;
}

/* ---- what a case knows -------------------------------------------------------------------------- */

const void* cts_data(const cts* t) { return t->which->data; }
khal_device* cts_device(cts* t) { return t->session->device; }
const khal_device_info* cts_info(cts* t) { return khal_device_get_info(t->session->device); }
bool cts_has(cts* t, uint32_t features) { return (cts_info(t)->features & features) == features; }
bool cts_flushes_denormals(const cts* t) { return t->session->backend->flushes_denormals; }
bool cts_simplifies_floats(const cts* t) { return t->session->backend->simplifies_floats; }
khal_device_desc cts_device_desc(const cts* t) { return (khal_device_desc){.backend = t->session->backend->id}; }
bool cts_has_failed(const cts* t) { return t->failures != 0; }

uint64_t cts_random(cts* t)
{
    uint64_t z = t->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t cts_random_below(cts* t, uint32_t bound) { return (uint32_t)((cts_random(t) >> 32) * bound >> 32); }

uint64_t cts_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
#ifdef CLOCK_MONOTONIC
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- checks -------------------------------------------------------------------------------------- */

bool cts_fail(cts* t, const char* file, int line, const char* format, ...)
{
    t->failures++;
    if (t->failures > MOST_PRINTED) return false;
    printf("%s:%d: %s: ", file, line, t->which->name);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    if (t->failures == MOST_PRINTED) printf("  (further failures of this case are counted, not printed)\n");
    return false;
}

void cts_skip(cts* t, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->skip_reason, sizeof t->skip_reason, format, args);
    va_end(args);
    t->skipped = true;
}

void cts_note(cts* t, const char* format, ...)
{
    if (!t->session->verbose) return;
    printf("  %s: ", t->which->name);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

khal_status cts_status_of(khal_error_id id)
{
    switch (id) {
#define KHAL_ERROR(number, name, status, summary) case KHAL_ERROR_##name: return status;
#include <khal/errors.def>
#undef KHAL_ERROR
    default: return KHAL_OK;
    }
}

bool cts_check_true(cts* t, bool value, const char* text, const char* file, int line)
{
    return value || cts_fail(t, file, line, "does not hold: %s", text);
}

bool cts_check_status(cts* t, khal_status actual, khal_status expected, khal_error_id id, const char* text, const char* file, int line)
{
    const khal_error* error = khal_error_get();
    if (actual != expected)
        return cts_fail(t, file, line, "%s: expected %s, got %s%s%s", text, khal_status_name(expected), khal_status_name(actual),
                        actual == KHAL_OK ? "" : ": ", actual == KHAL_OK ? "" : error->message);
    if (id != KHAL_ERROR_NONE && error->id != id)
        return cts_fail(t, file, line, "%s: expected %s, got %s: %s", text, khal_error_name(id), khal_error_name(error->id),
                        error->message);
    if (id != KHAL_ERROR_NONE && (error->status != expected || error->message[0] == 0))
        return cts_fail(t, file, line, "%s: the error record says %s, \"%s\"", text, khal_status_name(error->status), error->message);
    return true;
}

bool cts_check_u64(cts* t, uint64_t actual, uint64_t expected, const char* text, const char* file, int line)
{
    return actual == expected || cts_fail(t, file, line, "%s: expected %llu (0x%llx), got %llu (0x%llx)", text,
                                          (unsigned long long)expected, (unsigned long long)expected,
                                          (unsigned long long)actual, (unsigned long long)actual);
}

bool cts_check_i64(cts* t, int64_t actual, int64_t expected, const char* text, const char* file, int line)
{
    return actual == expected ||
           cts_fail(t, file, line, "%s: expected %lld, got %lld", text, (long long)expected, (long long)actual);
}

bool cts_check_memory(cts* t, const void* actual, const void* expected, size_t size, size_t element_size, const char* text,
                      const char* file, int line)
{
    const uint8_t* a = actual;
    const uint8_t* e = expected;
    if (a == NULL || e == NULL) return cts_fail(t, file, line, "%s: nothing to compare", text);
    if (size == 0 || memcmp(a, e, size) == 0) return true;
    size_t at = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < size; i += element_size) {
        if (memcmp(a + i, e + i, element_size) == 0) continue;
        if (wrong++ == 0) at = i;
    }
    char hex_actual[68] = "", hex_expected[68] = "";
    const size_t shown = element_size < 32 ? element_size : 32;
    for (size_t k = 0; k < shown; k++) { /* most significant byte first, as a number is read */
        snprintf(hex_actual + 2 * k, 3, "%02x", a[at + shown - 1 - k]);
        snprintf(hex_expected + 2 * k, 3, "%02x", e[at + shown - 1 - k]);
    }
    return cts_fail(t, file, line, "%s: index %zu: expected 0x%s, got 0x%s (%zu of %zu elements differ)", text, at / element_size,
                    hex_expected, hex_actual, wrong, size / element_size);
}

/* ---- short forms --------------------------------------------------------------------------------- */

void cts_own(cts* t, void* object, void (*release)(void*))
{
    owned* o = malloc(sizeof *o);
    if (o == NULL) {
        fputs("khal-cts: out of memory\n", stderr);
        exit(2);
    }
    *o = (owned){.object = object, .release = release, .next = t->owned};
    t->owned = o;
}

void* cts_alloc(cts* t, size_t size)
{
    void* memory = calloc(1, size == 0 ? 1 : size);
    if (memory == NULL) {
        fputs("khal-cts: out of memory\n", stderr);
        exit(2);
    }
    cts_own(t, memory, free);
    return memory;
}

static void release_buffer(void* p) { khal_buffer_release(p); }
static void release_function(void* p) { khal_function_release(p); }
static void release_encoder(void* p) { khal_encoder_release(p); }
static void release_commands(void* p) { khal_commands_release(p); }
static void release_timestamps(void* p) { khal_timestamps_release(p); }
static void release_readback(void* p) { khal_readback_release(p); }

void cts_own_buffer(cts* t, khal_buffer* buffer) { cts_own(t, buffer, release_buffer); }
void cts_own_commands(cts* t, khal_commands* commands) { cts_own(t, commands, release_commands); }
void cts_own_timestamps(cts* t, khal_timestamps* timestamps) { cts_own(t, timestamps, release_timestamps); }
void cts_own_readback(cts* t, khal_readback* readback) { cts_own(t, readback, release_readback); }

khal_buffer* cts_buffer_at(cts* t, const khal_buffer_desc* desc, const char* file, int line)
{
    khal_buffer* buffer = NULL;
    if (!cts_check_status(t, khal_buffer_create(t->session->device, desc, &buffer), KHAL_OK, KHAL_ERROR_NONE, "khal_buffer_create",
                          file, line))
        return NULL;
    cts_own_buffer(t, buffer);
    return buffer;
}

khal_buffer* cts_buffer_of(cts* t, const void* data, uint64_t size, uint32_t element_size)
{
    return cts_buffer(t, .data = data, .size = size, .element_size = element_size);
}

bool cts_read_at(cts* t, khal_buffer* buffer, uint64_t offset, void* out, uint64_t size, const char* file, int line)
{
    if (buffer == NULL) return cts_fail(t, file, line, "no buffer to read");
    return cts_check_status(t, khal_buffer_read(buffer, offset, out, size, KHAL_FOREVER), KHAL_OK, KHAL_ERROR_NONE,
                            "khal_buffer_read", file, line);
}

void* cts_read_all(cts* t, khal_buffer* buffer)
{
    const uint64_t size = buffer == NULL ? 0 : khal_buffer_get_size(buffer);
    void* memory = cts_alloc(t, (size_t)size);
    return cts_read(t, buffer, memory, size) ? memory : NULL;
}

khal_module* cts_module(cts* t, const khal_kernel_library* library)
{
    cts_session* s = t->session;
    for (uint32_t i = 0; i < s->module_count; i++)
        if (s->modules[i].library == library) return s->modules[i].module;
    khal_module* module = NULL;
    if (!CTS_OK(t, khal_module_load(s->device, &(khal_module_desc){.library = library}, &module))) return NULL;
    if (s->module_count == MOST_MODULES) {
        cts_fail(t, __FILE__, __LINE__, "more than %d kernel libraries", MOST_MODULES);
        khal_module_release(module);
        return NULL;
    }
    s->modules[s->module_count].library = library;
    s->modules[s->module_count++].module = module;
    return module;
}

khal_function* cts_function_at(cts* t, const khal_kernel_library* library, const char* kernel, const char* file, int line)
{
    khal_module* module = cts_module(t, library);
    khal_function* function = NULL;
    if (module == NULL) return NULL;
    if (!cts_check_status(t, khal_function_create(module, &(khal_function_desc){.entry_point = kernel}, &function), KHAL_OK,
                          KHAL_ERROR_NONE, kernel, file, line))
        return NULL;
    cts_own(t, function, release_function);
    return function;
}

khal_encoder* cts_encoder(cts* t)
{
    khal_encoder* encoder = NULL;
    if (!CTS_OK(t, khal_encoder_create(t->session->device, NULL, &encoder))) return NULL;
    cts_own(t, encoder, release_encoder);
    return encoder;
}

khal_pass* cts_pass(cts* t, khal_encoder* encoder)
{
    khal_pass* pass = NULL;
    return encoder != NULL && CTS_OK(t, khal_pass_begin(encoder, NULL, &pass)) ? pass : NULL;
}

bool cts_record_at(cts* t, khal_pass* pass, const cts_launch* launch, const char* file, int line)
{
    khal_function* function = cts_function_at(t, launch->library, launch->kernel, file, line);
    if (function == NULL || pass == NULL) return false;
    khal_slice slices[sizeof launch->buffers / sizeof launch->buffers[0]];
    uint32_t count = 0;
    while (count < sizeof slices / sizeof slices[0] && launch->buffers[count] != NULL) {
        slices[count] = khal_slice_all(launch->buffers[count]);
        count++;
    }
    const khal_dispatch_desc desc = {.function = function, .grid = launch->grid, .bindings = slices, .binding_count = count,
                                     .push_constants = launch->push, .push_constant_size = launch->push_size,
                                     .local_sizes = launch->local_sizes, .local_count = launch->local_count};
    return cts_check_status(t, khal_pass_dispatch(pass, &desc, NULL), KHAL_OK, KHAL_ERROR_NONE, launch->kernel, file, line);
}

bool cts_submit_and_wait_at(cts* t, khal_encoder* encoder, const char* file, int line)
{
    khal_ticket ticket = 0;
    return cts_check_status(t, khal_submit(encoder, &ticket), KHAL_OK, KHAL_ERROR_NONE, "khal_submit", file, line) &&
           cts_check_status(t, khal_ticket_wait(t->session->device, ticket, KHAL_FOREVER), KHAL_OK, KHAL_ERROR_NONE,
                            "khal_ticket_wait", file, line);
}

bool cts_run_at(cts* t, const cts_launch* launch, const char* file, int line)
{
    khal_encoder* encoder = NULL;
    khal_pass* pass = NULL;
    if (!CTS_OK(t, khal_encoder_create(t->session->device, NULL, &encoder))) return false;
    bool ok = CTS_OK(t, khal_pass_begin(encoder, NULL, &pass)) && cts_record_at(t, pass, launch, file, line) &&
              CTS_OK(t, khal_pass_end(pass)) && cts_submit_and_wait_at(t, encoder, file, line);
    khal_encoder_release(encoder);
    return ok;
}
