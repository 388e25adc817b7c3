/* The conformance suite's harness: cases, checks, and short forms of what every case does.
 *
 * A suite is a function that adds cases; suites.def lists them. A case is a function that runs on an open device and
 * checks; a check that fails is reported and counted, and returns false, so that a case can stop where going on makes no
 * sense. Everything that the short forms make is released when the case ends, failed or not; afterwards the device must have
 * as many live objects as before.
 */
#ifndef CTS_H
#define CTS_H

#include <khal/khal.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cts cts;
typedef struct cts_registry cts_registry;
typedef void (*cts_case_fn)(cts* t);

/* Adds suite.name. `data` is what cts_data() gives; `features` are KHAL_FEATURE_... without which the case is skipped. */
void cts_add(cts_registry* registry, const char* name, cts_case_fn run, const void* data, uint32_t features);
/* Adds a case named by a format; the text is copied. */
void cts_addf(cts_registry* registry, cts_case_fn run, const void* data, uint32_t features, const char* format, ...)
    __attribute__((format(printf, 5, 6)));
#define CTS_ADD(registry, function) cts_add(registry, #function, function, NULL, 0)

/* Calls once for each suite of suites.def: void cts_suite_NAME(cts_registry*). */
#define CTS_SUITE(name) void cts_suite_##name(cts_registry* registry);
#include "suites.def"
#undef CTS_SUITE

/* ---- what a case knows -------------------------------------------------------------------------- */

const void* cts_data(const cts* t);
khal_device* cts_device(cts* t);
const khal_device_info* cts_info(cts* t);
bool cts_has(cts* t, uint32_t features); /* KHAL_FEATURE_... */
/* Float results and inputs that are denormal may be taken as zero on this backend. */
bool cts_flushes_denormals(const cts* t);
bool cts_simplifies_floats(const cts* t);
/* What opens the device under test a second time; add to it before opening. */
khal_device_desc cts_device_desc(const cts* t);
bool cts_has_failed(const cts* t);

/* ---- checks: each returns whether it held ------------------------------------------------------- */

/* A failure, at most a few of which are printed for each case. Returns false. */
bool cts_fail(cts* t, const char* file, int line, const char* format, ...) __attribute__((format(printf, 4, 5)));
/* Ends the case as skipped; the case returns after it. */
void cts_skip(cts* t, const char* format, ...) __attribute__((format(printf, 2, 3)));
void cts_note(cts* t, const char* format, ...) __attribute__((format(printf, 2, 3))); /* shown with --verbose */

bool cts_check_true(cts* t, bool value, const char* text, const char* file, int line);
bool cts_check_status(cts* t, khal_status actual, khal_status expected, khal_error_id id, const char* text, const char* file, int line);
bool cts_check_u64(cts* t, uint64_t actual, uint64_t expected, const char* text, const char* file, int line);
bool cts_check_i64(cts* t, int64_t actual, int64_t expected, const char* text, const char* file, int line);
/* Bytes; reports the first element of `element_size` that differs. */
bool cts_check_memory(cts* t, const void* actual, const void* expected, size_t size, size_t element_size, const char* text,
                      const char* file, int line);

#define CTS_CHECK(t, condition) cts_check_true(t, (condition), #condition, __FILE__, __LINE__)
#define CTS_OK(t, call) cts_check_status(t, (call), KHAL_OK, KHAL_ERROR_NONE, #call, __FILE__, __LINE__)
/* The call fails with this diagnostic, and with its status in errors.def. */
#define CTS_ERROR(t, call, error) cts_check_status(t, (call), cts_status_of(error), error, #call, __FILE__, __LINE__)
/* The call returns this status and makes no error record that is checked. */
#define CTS_STATUS(t, call, status) cts_check_status(t, (call), status, KHAL_ERROR_NONE, #call, __FILE__, __LINE__)
#define CTS_EQ(t, actual, expected) cts_check_u64(t, (uint64_t)(actual), (uint64_t)(expected), #actual, __FILE__, __LINE__)
#define CTS_EQ_INT(t, actual, expected) cts_check_i64(t, (int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define CTS_SAME(t, actual, expected, size, element_size)                                                              \
    cts_check_memory(t, actual, expected, size, element_size, #actual, __FILE__, __LINE__)

khal_status cts_status_of(khal_error_id id);

/* ---- short forms: NULL or false after a failed check ------------------------------------------- */

void* cts_alloc(cts* t, size_t size); /* zeroed; until the case ends; ends the process where memory is out */

khal_buffer* cts_buffer_at(cts* t, const khal_buffer_desc* desc, const char* file, int line);
#define cts_buffer(t, ...) cts_buffer_at(t, &(khal_buffer_desc){__VA_ARGS__}, __FILE__, __LINE__)
/* With contents, or zeroed where data is NULL. */
khal_buffer* cts_buffer_of(cts* t, const void* data, uint64_t size, uint32_t element_size);
bool cts_read_at(cts* t, khal_buffer* buffer, uint64_t offset, void* out, uint64_t size, const char* file, int line);
#define cts_read(t, buffer, out, size) cts_read_at(t, buffer, 0, out, size, __FILE__, __LINE__)
/* A copy of the whole buffer, in memory of the case. */
void* cts_read_all(cts* t, khal_buffer* buffer);

/* Loaded once for each library and kept for later cases. */
khal_module* cts_module(cts* t, const khal_kernel_library* library);
khal_function* cts_function_at(cts* t, const khal_kernel_library* library, const char* kernel, const char* file, int line);
#define cts_function(t, library, kernel) cts_function_at(t, library, kernel, __FILE__, __LINE__)
khal_encoder* cts_encoder(cts* t);
khal_pass* cts_pass(cts* t, khal_encoder* encoder);

/* Hands an object to the case, which releases it when it ends. The function is the object's own _release. */
void cts_own(cts* t, void* object, void (*release)(void*));
void cts_own_buffer(cts* t, khal_buffer* buffer);
void cts_own_commands(cts* t, khal_commands* commands);
void cts_own_timestamps(cts* t, khal_timestamps* timestamps);
void cts_own_readback(cts* t, khal_readback* readback);

typedef struct cts_launch {
    const khal_kernel_library* library;
    const char* kernel;
    khal_grid grid;
    khal_buffer* buffers[12]; /* whole buffers, in the order of the kernel's buffer arguments, ended by NULL */
    const void* push; uint32_t push_size;
    uint64_t local_sizes[4]; uint32_t local_count;
} cts_launch;
/* Records, submits and waits. */
bool cts_run_at(cts* t, const cts_launch* launch, const char* file, int line);
#define cts_run(t, ...) cts_run_at(t, &(cts_launch){__VA_ARGS__}, __FILE__, __LINE__)
/* Records into an open pass. */
bool cts_record_at(cts* t, khal_pass* pass, const cts_launch* launch, const char* file, int line);
#define cts_record(t, pass, ...) cts_record_at(t, pass, &(cts_launch){__VA_ARGS__}, __FILE__, __LINE__)
bool cts_submit_and_wait_at(cts* t, khal_encoder* encoder, const char* file, int line);
#define cts_submit_and_wait(t, encoder) cts_submit_and_wait_at(t, encoder, __FILE__, __LINE__)

/* ---- numbers ------------------------------------------------------------------------------------- */

/* A generator with a fixed seed for each case. */
uint64_t cts_random(cts* t);
uint32_t cts_random_below(cts* t, uint32_t bound);
uint64_t cts_now(void); /* ns, monotonic */

#endif
