/* khal: compute kernels from C, on whatever the machine has.
 *
 * OVERVIEW
 *   A kernel is written once, in OpenCL C, and compiled by khalc, before run time, into a C file
 *   and a header with a typed launcher for each kernel. This library runs it on the device that the
 *   program opens: the CPU, CUDA and WebGPU today; Vulkan and Metal through the same calls. The
 *   library links to no driver; drivers are opened when a device is asked for, and one that is
 *   missing is an error that names it.
 *   Not here: drawing, images and samplers, tensors, automatic differentiation.
 *
 * A FIRST PROGRAM (kernels.khal.h is generated from kernels.cl, which holds `add_assign`)
 *
 *     #include "kernels.khal.h"
 *
 *     float x[1000], y[1000];                     // ... filled ...
 *     khal_device* device;  khal_device_open(NULL, &device);
 *     kernels* k;           kernels_load(device, &k);
 *     khal_buffer *a, *b;
 *     khal_buffer_create(device,
 *                        &(khal_buffer_desc){.data = x, .size = sizeof x, .element_size = 4}, &a);
 *     khal_buffer_create(device,
 *                        &(khal_buffer_desc){.data = y, .size = sizeof y, .element_size = 4}, &b);
 *     khal_encoder* encoder;  khal_encoder_create(device, NULL, &encoder);
 *     khal_pass* pass;        khal_pass_begin(encoder, NULL, &pass);
 *     kernels_add_assign(k, pass, khal_threads(1000, 1, 1),
 *                        &(kernels_add_assign_args){.a = khal_slice_float_all(a),
 *                                                   .b = khal_slice_float_all(b),
 *                                                   .n = 1000});
 *     khal_pass_end(pass);
 *     if (khal_submit(encoder, NULL) != KHAL_OK) // reports any error made above it
 *         puts(khal_error_get()->message);
 *     khal_buffer_read(a, 0, x, sizeof x, KHAL_FOREVER);
 *
 * CONVENTIONS
 *   Descriptor structs: all-zero is valid and means the default; NULL stands for an all-zero
 *   descriptor. `_count` counts elements, `_size` and `_offset` are bytes. Out-parameters come
 *   last, are set on success alone, and are never read. Strings are UTF-8, 0-terminated, and copied
 *   where the library keeps them; labels are cut after 63 bytes. Every input is borrowed for the
 *   call only. Macros such as khal_buffer_create() pass the caller's file and line on, for leak
 *   reports; call ..._at() to pass others, `file` being a string that lives as long as the program,
 *   or NULL.
 *   Getters take NULL and give 0, NULL or "".
 *   Results of unknown number: call with capacity 0 to count, then with room (`*out_count` is
 *   always the whole number).
 *
 * ERRORS
 *   A fallible call returns a khal_status; KHAL_OK is 0. What went wrong in detail stands in a
 *   record of the calling thread (khal_error_get) until the next failing call of that thread, and
 *   goes to the device's callback, if it has one. Every diagnostic has an id of its own
 *   (khal_error_id, from errors.def). A failing call does nothing by halves: all objects are as
 *   before. Recording calls are sticky: after one fails, the later ones of that encoder do nothing
 *   and return the same status, and khal_submit or khal_encoder_finish returns the first error
 *   (again in the thread's record), runs nothing and empties the encoder. KHAL_NOT_READY and
 *   KHAL_NOTHING_REQUESTED are answers, not errors: they leave the record alone. Besides the errors
 *   that a function names, any may give ARGUMENT_NULL, DEVICE_LOST, OUT_OF_MEMORY and DRIVER.
 *   The library never aborts, exits or prints, except for khal_device_desc.debug's leak report
 *   through the callback.
 *   After device loss every call on the device returns KHAL_DEVICE_LOST with the first cause;
 *   releasing still works.
 *
 * LIFETIMES
 *   Objects are reference-counted: create gives one reference, _retain adds one, _release drops
 *   one, and release(NULL) does nothing. Children keep their parents alive, a recording keeps what
 *   it uses, and a submission keeps it until it has run, so anything may be released right after
 *   khal_submit, in any order, from any thread, also at exit. What a submission kept goes at the
 *   next call that looks: a submit, poll, wait, read or take of the device. The device closes with
 *   the last reference to it and to every object made from it, and waits for submitted work then.
 *
 * THREADS
 *   A device and its buffers, modules, functions, commands, timestamps and readbacks may be used
 *   from any thread at once. An encoder and its pass belong to one thread at a time. Callbacks run
 *   with no lock held and may call the library, but none may release the last reference to its
 *   device; the allocator's functions may not. A native or print callback runs on any thread, also
 *   on one that waits; it can't wait for its own submission or a later one (KHAL_TIMEOUT).
 *
 * ORDER
 *   A device has one timeline. Host writes, reads and readback requests take their place when they
 *   are called, recorded commands when they are submitted; the effect is as if all ran one after
 *   the other in that order. A host write never changes what submitted work still reads. An encoder
 *   that is released without submit has no effect at all. Calls of two threads that overlap in time
 *   have no order between them: where they touch the same bytes, the program orders the calls.
 *   Inside a recording, a dispatch sees what earlier ones wrote: khal tracks byte ranges and orders
 *   only what depends.
 */
#ifndef KHAL_KHAL_H
#define KHAL_KHAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <khal/library.h>

#if defined(_WIN32) && defined(KHAL_SHARED)
#ifdef KHAL_BUILDING
#define KHAL_API __declspec(dllexport)
#else
#define KHAL_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define KHAL_API __attribute__((visibility("default")))
#else
#define KHAL_API
#endif

/* On functions whose status must not be dropped; recording calls may drop theirs (see ERRORS). */
#if defined(__GNUC__)
#define KHAL_MUST_USE __attribute__((warn_unused_result))
#else
#define KHAL_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define KHAL_VERSION_MAJOR 0
#define KHAL_VERSION_MINOR 1
#define KHAL_VERSION_PATCH 0

/* The version of the library that runs, major << 16 | minor << 8 | patch. */
KHAL_API uint32_t khal_version(void);

/* ==== errors ================================================================================== */

typedef enum khal_status {
    KHAL_OK = 0,
    KHAL_INVALID_ARGUMENT = 1, /* the call is wrong whatever the device */
    KHAL_INVALID_STATE = 2,    /* the object can't do this now */
    KHAL_UNSUPPORTED = 3,      /* this device or backend can't; khal_device_info tells beforehand */
    KHAL_LIMIT = 4,            /* over a limit of this device */
    KHAL_OUT_OF_MEMORY = 5,    /* a smaller allocation may work */
    KHAL_NOT_FOUND = 6,        /* no such device, kernel, entry point */
    KHAL_UNAVAILABLE = 7,      /* a driver or library that the backend needs is missing */
    KHAL_COMPILE_FAILED = 8,   /* a kernel was refused; the message holds the compiler's log */
    KHAL_DEVICE_LOST = 9,
    KHAL_TIMEOUT = 10,           /* the time ran out; the work goes on */
    KHAL_NOT_READY = 11,         /* ask again later */
    KHAL_NOTHING_REQUESTED = 12, /* try_take without a request */
    KHAL_DRIVER_ERROR = 13, /* the driver failed in a way of its own; native_code has its code */
    /* submitted work could not run: an indirect grid too large, a failed callback */
    KHAL_EXECUTION_FAILED = 14
} khal_status;

/* One id for each diagnostic there is. Ids are append-only. */
typedef enum khal_error_id {
    KHAL_ERROR_NONE = 0,
#define KHAL_ERROR(number, id, status, summary) KHAL_ERROR_##id = number,
#include <khal/errors.def>
#undef KHAL_ERROR
    KHAL_ERROR_MAX_ENUM = 0x7fffffff
} khal_error_id;

typedef struct khal_error {
    khal_status status;
    khal_error_id id;
    int64_t native_code; /* the driver's own code, 0 where there is none */
    char message[1024];  /* one line (a compiler's log may have more), with the actual and the
                            allowed value; cut there */
    char object[64];     /* label of the object concerned, "" where it has none */
} khal_error;

/* The calling thread's last error; all zero before the first. Valid until the thread's next failing
 * call. */
KHAL_API const khal_error* khal_error_get(void);
KHAL_API void khal_error_clear(void);
/* "KHAL_LIMIT"; "KHAL_ERROR_SLICE_RANGE"; "unknown" for other numbers. Never NULL. */
KHAL_API const char* khal_status_name(khal_status status);
KHAL_API const char* khal_error_name(khal_error_id id);

/* ==== devices ================================================================================= */

typedef struct khal_device khal_device;
typedef struct khal_buffer khal_buffer;
typedef struct khal_module khal_module;
typedef struct khal_function khal_function;
typedef struct khal_encoder khal_encoder;
typedef struct khal_pass khal_pass;
typedef struct khal_commands khal_commands;
typedef struct khal_timestamps khal_timestamps;
typedef struct khal_readback khal_readback;

/* A point on a device's timeline; the n-th submission has ticket n. 0 is complete from the start.
 */
typedef uint64_t khal_ticket;

#define KHAL_FOREVER UINT64_MAX /* a timeout that never ends; timeouts are nanoseconds */

typedef enum khal_backend {
    KHAL_BACKEND_AUTO = 0, /* the first that opens: CUDA, Metal, Vulkan, WebGPU, CPU */
    KHAL_BACKEND_CUDA = 1,
    KHAL_BACKEND_METAL = 2,
    KHAL_BACKEND_VULKAN = 3,
    KHAL_BACKEND_WEBGPU = 4,
    KHAL_BACKEND_CPU = 5,
    KHAL_BACKEND_NOOP = 6 /* accepts everything, runs nothing */
} khal_backend;

typedef enum khal_device_type {
    KHAL_DEVICE_TYPE_OTHER = 0,
    KHAL_DEVICE_TYPE_DISCRETE = 1,
    KHAL_DEVICE_TYPE_INTEGRATED = 2,
    KHAL_DEVICE_TYPE_CPU = 3
} khal_device_type;

/* khal_device_info.features */
#define KHAL_FEATURE_TIMESTAMPS (1u << 0)
#define KHAL_FEATURE_FP64 (1u << 1)
#define KHAL_FEATURE_INT64 (1u << 2)
#define KHAL_FEATURE_INT64_ATOMICS (1u << 3)
#define KHAL_FEATURE_PRINTF (1u << 4)
#define KHAL_FEATURE_PERSISTENT_MAP (1u << 5) /* a map is the memory itself; no flush is needed */
#define KHAL_FEATURE_HOST_MEMORY (1u << 6)    /* khal_buffer_desc.host_memory */
#define KHAL_FEATURE_NATIVE_ENCODER (1u << 7) /* khal_encoder_native */
#define KHAL_FEATURE_SPIRV_PASSTHROUGH (1u << 8)

/* What a device takes at most. */
typedef struct khal_limits {
    uint64_t buffer_size;           /* bytes of one buffer */
    uint32_t workgroup_size[3];     /* work-items in each dimension of a work-group */
    uint32_t workgroup_invocations; /* work-items in a work-group */
    uint32_t local_memory_size;     /* bytes a work-group */
    uint32_t push_constant_size;    /* bytes */
    uint32_t binding_count;         /* buffers of one dispatch */
    uint64_t group_count[3]; /* work-groups of one dispatch in each dimension, folding included */
    uint32_t native_offset_alignment; /* bytes; slices at other offsets work too, by other means */
} khal_limits;

typedef struct khal_device_info {
    khal_backend backend;
    khal_device_type type;
    bool available;   /* false: `reason` says why it can't be opened */
    char name[128];   /* "AMD EPYC 7B13, 64 threads, AVX2" */
    char driver[128]; /* name and version of the driver, "" where there is none */
    char reason[256];
    uint64_t memory_size; /* bytes; 0 where unknown */
    uint32_t features;    /* KHAL_FEATURE_... */
    uint32_t formats;     /* module formats it takes, 1u << khal_format each */
    khal_limits limits;
} khal_device_info;

/* Lists the devices of every backend, in order of preference, noop last; a backend that has none,
 * whose driver is missing or that is not in this build has one entry that is not available. Needs
 * no open device. The index of an entry, plus one, is what khal_device_desc.index takes. */
KHAL_API KHAL_MUST_USE khal_status khal_device_enumerate(uint32_t capacity,
                                                         khal_device_info* out_infos,
                                                         uint32_t* out_count);

/* All of khal's own memory for a device goes through one allocator, the device itself too. `size`
 * is never 0; memory is aligned to `align`, a power of two of at least 16. NULL from `allocate`
 * gives KHAL_OUT_OF_MEMORY. Called from any thread; may not call the library. */
typedef struct khal_allocator {
    void* (*allocate)(void* user, size_t size, size_t align);
    void (*release)(void* user, void* memory, size_t size);
    void* user;
} khal_allocator;

/* Called on each error and each debug report of the device, on the thread where it arises, with no
 * lock held. */
typedef void (*khal_diagnostic_fn)(void* user, const khal_error* error);

/* printf of kernels: `text` is `size` bytes, not 0-terminated; from any thread, one call at a time.
 */
typedef void (*khal_print_fn)(void* user, const char* text, size_t size);

typedef struct khal_device_desc {
    khal_backend backend; /* AUTO: the best there is */
    uint32_t index;       /* 0: any; else 1 + the index in khal_device_enumerate */
    const char* name; /* NULL: any; else a part of the device's name, case ignored. When backend,
                         index and name are all default, KHAL_BACKEND ("cuda", "metal", "vulkan",
                         "webgpu", "cpu", "noop") and KHAL_DEVICE (a part of the name) in the
                         environment take their place, unless empty */
    const char* label;
    uint32_t thread_count; /* CPU: threads that run work-groups; 0: one for each processor this
                              process may use */
    bool debug; /* objects that the program still holds when it releases its last reference to the
                   device are reported by `diagnostic`, with file and line: one LEAK each */
    const khal_allocator* allocator; /* NULL: malloc and free */
    khal_diagnostic_fn diagnostic;
    void* diagnostic_user;
    khal_print_fn print;
    void* print_user;       /* NULL: kernels' printf goes to stdout */
    const char* cache_path; /* folder for compiled pipelines, where the driver keeps none itself (CUDA's
                               does); NULL: the platform's own; "": none */
} khal_device_desc;

/* Opens a device: the first that fits backend, index and name and that opens. AUTO passes over GPU
 * drivers that run on the processor (lavapipe, SwiftShader), never chooses noop, and always succeeds
 * in the end, with the CPU, unless the environment names one that can't be opened. Errors go to
 * desc->diagnostic too. Errors: DEVICE_NOT_FOUND, BACKEND_UNAVAILABLE, BACKEND_NOT_BUILT,
 * DEVICE_DESC, ENVIRONMENT, OUT_OF_MEMORY. */
KHAL_API KHAL_MUST_USE khal_status khal_device_open(const khal_device_desc* desc,
                                                    khal_device** out_device);
/* The same in two steps that never block: begin, then poll until it returns something other than
 * KHAL_NOT_READY. A poll that returns KHAL_OK or an error ends the opening; khal_device_open_cancel
 * ends it early. */
typedef struct khal_device_opening khal_device_opening;
KHAL_API KHAL_MUST_USE khal_status khal_device_open_begin(const khal_device_desc* desc,
                                                          khal_device_opening** out_opening);
KHAL_API KHAL_MUST_USE khal_status khal_device_open_poll(khal_device_opening* opening,
                                                         khal_device** out_device);
KHAL_API void khal_device_open_cancel(khal_device_opening* opening);

KHAL_API void khal_device_retain(khal_device* device);
/* The device closes when this reference and those to everything made from it are gone; closing
 * waits for submitted work. */
KHAL_API void khal_device_release(khal_device* device);
/* Valid while the device lives. */
KHAL_API const khal_device_info* khal_device_get_info(const khal_device* device);
/* KHAL_OK, or KHAL_DEVICE_LOST with the first cause. */
KHAL_API KHAL_MUST_USE khal_status khal_device_get_status(khal_device* device);

typedef struct khal_statistics {
    uint64_t submissions;                         /* so far, those of readback requests too */
    uint64_t dispatches, copies, fills, barriers; /* commands of submitted recordings */
    uint64_t re_recordings; /* submits of khal_commands whose dependencies had changed, so that
                               barriers moved */
    uint64_t buffer_count, buffer_size; /* alive now; bytes */
    uint64_t live_objects;              /* alive now, the device excepted */
    uint64_t host_allocations;          /* calls of the allocator so far */
    uint64_t passes_untimed; /* timed passes beyond the capacity of their khal_timestamps */
} khal_statistics;
/* Of NULL: all zero. Counters that other threads change meanwhile need not agree with each other.
 */
KHAL_API void khal_device_get_statistics(khal_device* device, khal_statistics* out_statistics);

/* ==== buffers and slices ====================================================================== */

/* khal_buffer_desc.usage; 0 means STORAGE | COPY_SRC | COPY_DST. A use without its flag is an error
 * on every backend; khal_buffer_read and khal_buffer_write need none. */
#define KHAL_USAGE_MAP_READ (1u << 0)
#define KHAL_USAGE_MAP_WRITE (1u << 1)
#define KHAL_USAGE_COPY_SRC (1u << 2)
#define KHAL_USAGE_COPY_DST (1u << 3)
#define KHAL_USAGE_UNIFORM (1u << 4)
#define KHAL_USAGE_STORAGE (1u << 5)
#define KHAL_USAGE_INDIRECT (1u << 6)
#define KHAL_USAGE_QUERY_RESOLVE (1u << 7)

typedef struct khal_buffer_desc {
    uint64_t size;         /* bytes; 0 is legal */
    uint32_t element_size; /* bytes; 0: 1. `size` must be a multiple */
    uint32_t usage;        /* KHAL_USAGE_... */
    const void* data;      /* `size` bytes to start with; NULL: zeroes */
    bool uninitialized;    /* contents undefined until written; not together with data */
    void* host_memory;     /* the buffer is this memory (KHAL_FEATURE_HOST_MEMORY): `size` bytes,
                              aligned to 16, and to what each kernel that it is bound to needs;
                              the caller's own, and in no other buffer, until the last reference
                              to the buffer is gone and its work has run; not with data */
    const char* label;
} khal_buffer_desc;

/* Errors: BUFFER_SIZE, BUFFER_ELEMENT_SIZE, BUFFER_USAGE_FLAGS, BUFFER_DATA, BUFFER_HOST_MEMORY,
 * UNSUPPORTED (host_memory). */
KHAL_API KHAL_MUST_USE khal_status khal_buffer_create_at(const char* file, int line,
                                                         khal_device* device,
                                                         const khal_buffer_desc* desc,
                                                         khal_buffer** out_buffer);
#define khal_buffer_create(...) khal_buffer_create_at(__FILE__, __LINE__, __VA_ARGS__)
KHAL_API void khal_buffer_retain(khal_buffer* buffer);
KHAL_API void khal_buffer_release(khal_buffer* buffer);
KHAL_API khal_device* khal_buffer_get_device(const khal_buffer* buffer); /* no new reference */
KHAL_API uint64_t khal_buffer_get_size(const khal_buffer* buffer);
KHAL_API uint32_t khal_buffer_get_element_size(const khal_buffer* buffer);
KHAL_API uint32_t khal_buffer_get_usage(const khal_buffer* buffer);
KHAL_API const char* khal_buffer_get_label(const khal_buffer* buffer); /* "" where it has none */

/* Writes `size` bytes at `offset`, after all work submitted before and before all submitted after.
 * The data is copied; the call may wait for work that uses the bytes. Error: BUFFER_RANGE. */
KHAL_API KHAL_MUST_USE khal_status khal_buffer_write(khal_buffer* buffer, uint64_t offset,
                                                     const void* data, uint64_t size);
/* Reads `size` bytes at `offset` as submitted work leaves them, waiting up to `timeout` ns for it.
 * Costs the bytes asked for. On KHAL_TIMEOUT `out_data` is untouched. Errors: BUFFER_RANGE,
 * TIMEOUT. */
KHAL_API KHAL_MUST_USE khal_status khal_buffer_read(khal_buffer* buffer, uint64_t offset,
                                                    void* out_data, uint64_t size,
                                                    uint64_t timeout);

#define KHAL_MAP_READ 1u
#define KHAL_MAP_WRITE 2u
/* Maps a range for the host, waiting up to `timeout` ns for work that still uses it. Needs the MAP_
 * flag of each mode asked for. One map of a buffer at a time. It may stay mapped while work that
 * uses it is submitted: after the work's ticket, call khal_buffer_invalidate before reading, and
 * after writing, khal_buffer_flush before the submit that reads it (both cost nothing with
 * KHAL_FEATURE_PERSISTENT_MAP). `*out_data` is aligned to 16 when `offset` is, and NULL when size
 * is 0. A buffer that is destroyed while mapped is unmapped. Errors: ARGUMENT_VALUE (mode),
 * BUFFER_USAGE, BUFFER_RANGE, BUFFER_MAPPED, TIMEOUT; of flush, invalidate and unmap: BUFFER_RANGE,
 * BUFFER_NOT_MAPPED (also for a range or mode that is not mapped), TIMEOUT. */
KHAL_API KHAL_MUST_USE khal_status khal_buffer_map(khal_buffer* buffer, uint64_t offset,
                                                   uint64_t size, uint32_t mode, uint64_t timeout,
                                                   void** out_data);
KHAL_API KHAL_MUST_USE khal_status khal_buffer_flush(khal_buffer* buffer, uint64_t offset,
                                                     uint64_t size);
KHAL_API KHAL_MUST_USE khal_status khal_buffer_invalidate(khal_buffer* buffer, uint64_t offset,
                                                          uint64_t size, uint64_t timeout);
KHAL_API KHAL_MUST_USE khal_status khal_buffer_unmap(khal_buffer* buffer); /* flushes */

/* A range of a buffer; a plain value that holds no reference. Ranges are checked when the slice is
 * used, those of khal_slice_range and its relatives when they are made too: SLICE_NULL,
 * SLICE_RANGE, SLICE_ALIGNMENT and SLICE_ELEMENT_SIZE (where element_size is given), WRONG_DEVICE.
 * A size of 0 is legal in every use. */
typedef struct khal_slice {
    khal_buffer* buffer;
    uint64_t offset;       /* bytes; a multiple of the element's size */
    uint64_t size;         /* bytes; UINT64_MAX: to the end of the buffer */
    uint32_t element_size; /* bytes; 0: the buffer's */
} khal_slice;

/* The whole buffer; of NULL, a slice that every use refuses. */
KHAL_API khal_slice khal_slice_all(khal_buffer* buffer);
/* `count` elements from `first`, in the buffer's element size. Errors: SLICE_NULL, SLICE_RANGE. */
KHAL_API KHAL_MUST_USE khal_status khal_slice_range(khal_buffer* buffer, uint64_t first,
                                                    uint64_t count, khal_slice* out_slice);
/* A range of a slice, in its own elements. */
KHAL_API KHAL_MUST_USE khal_status khal_slice_sub(khal_slice slice, uint64_t first, uint64_t count,
                                                  khal_slice* out_slice);
/* The same bytes as elements of another size (0: the buffer's). Errors: SLICE_ELEMENT_SIZE (the
 * byte size does not divide), SLICE_ALIGNMENT, SLICE_NULL, SLICE_RANGE. */
KHAL_API KHAL_MUST_USE khal_status khal_slice_reinterpret(khal_slice slice, uint32_t element_size,
                                                          khal_slice* out_slice);
/* Bytes, UINT64_MAX resolved; 0 for an invalid slice. */
KHAL_API uint64_t khal_slice_get_size(khal_slice slice);
KHAL_API uint64_t khal_slice_get_count(khal_slice slice); /* elements */

/* Typed slices: launchers take these, so that a slice of another element type does not compile.
 * khal_slice_float_all(buffer), khal_slice_float_range(buffer, first, count),
 * khal_slice_float_of(slice). They view the bytes as that type; what does not divide or is
 * misaligned is an error of the dispatch. */
#define KHAL_SLICE_TYPE(name, bytes)                                                               \
    typedef struct khal_slice_##name {                                                             \
        khal_slice slice;                                                                          \
    } khal_slice_##name;                                                                           \
    static inline khal_slice_##name khal_slice_##name##_of(khal_slice slice)                       \
    {                                                                                              \
        khal_slice_##name s;                                                                       \
        s.slice = slice;                                                                           \
        s.slice.element_size = (uint32_t)(bytes);                                                  \
        return s;                                                                                  \
    }                                                                                              \
    static inline khal_slice_##name khal_slice_##name##_all(khal_buffer* buffer)                   \
    {                                                                                              \
        khal_slice_##name s;                                                                       \
        s.slice.buffer = buffer;                                                                   \
        s.slice.offset = 0;                                                                        \
        s.slice.size = UINT64_MAX;                                                                 \
        s.slice.element_size = (uint32_t)(bytes);                                                  \
        return s;                                                                                  \
    }                                                                                              \
    static inline khal_slice_##name khal_slice_##name##_range(khal_buffer* buffer, uint64_t first, \
                                                              uint64_t count)                      \
    {                                                                                              \
        const uint64_t most = (UINT64_MAX - 1) / (uint64_t)(bytes);                                \
        khal_slice_##name s;                                                                       \
        s.slice.buffer = buffer;                                                                   \
        s.slice.offset = first <= most ? first * (uint64_t)(bytes) : UINT64_MAX - 1;               \
        s.slice.size = count <= most ? count * (uint64_t)(bytes) : UINT64_MAX - 1;                 \
        s.slice.element_size = (uint32_t)(bytes);                                                  \
        return s;                                                                                  \
    }
#define KHAL_SLICE_TYPES(name, bytes)                                                              \
    KHAL_SLICE_TYPE(name, bytes)                                                                   \
    KHAL_SLICE_TYPE(name##2, 2 * (bytes))                                                          \
    KHAL_SLICE_TYPE(name##3, 4 * (bytes))                                                          \
    KHAL_SLICE_TYPE(name##4, 4 * (bytes)) KHAL_SLICE_TYPE(name##8, 8 * (bytes))                    \
        KHAL_SLICE_TYPE(name##16, 16 * (bytes))
KHAL_SLICE_TYPES(char, 1)
KHAL_SLICE_TYPES(uchar, 1)
KHAL_SLICE_TYPES(short, 2)
KHAL_SLICE_TYPES(ushort, 2)
KHAL_SLICE_TYPES(int, 4)
KHAL_SLICE_TYPES(uint, 4)
KHAL_SLICE_TYPES(long, 8)
KHAL_SLICE_TYPES(ulong, 8)
KHAL_SLICE_TYPES(half, 2)
KHAL_SLICE_TYPES(float, 4)
KHAL_SLICE_TYPES(double, 8)
KHAL_SLICE_TYPE(void, 1) /* of `void*` arguments: bytes; the offset is a multiple of 128 */

/* ==== modules and functions =================================================================== */

typedef struct khal_module_desc {
    /* from khalc: the format that suits the device is chosen; or, instead: */
    const khal_kernel_library* library;
    const void* code; /* SPIR-V, WGSL, PTX, cubin or fatbin, MSL: told apart by content */
    size_t code_size; /* bytes */
    bool passthrough; /* SPIR-V goes to the driver as it is where that is possible, and loads as
                         usual elsewhere */
    const char* label;
} khal_module_desc;

/* Loads a module. The same bytes, or the same library, give the same module again, compared by
 * content; it has the label of the first load. Errors: MODULE_DESC (neither library nor code, both,
 * or no bytes), MODULE_FORMAT, MODULE_VERSION, MODULE_NO_CODE, MODULE_MALFORMED, MODULE_COMPILE. */
KHAL_API KHAL_MUST_USE khal_status khal_module_load_at(const char* file, int line,
                                                       khal_device* device,
                                                       const khal_module_desc* desc,
                                                       khal_module** out_module);
#define khal_module_load(...) khal_module_load_at(__FILE__, __LINE__, __VA_ARGS__)
/* In two steps that never block; see khal_device_open_begin. The module may be released at any
 * time, and functions of it may be begun at once. */
KHAL_API KHAL_MUST_USE khal_status khal_module_load_begin(khal_device* device,
                                                          const khal_module_desc* desc,
                                                          khal_module** out_module);
/* KHAL_NOT_READY, KHAL_OK or the error. */
KHAL_API KHAL_MUST_USE khal_status khal_module_load_poll(khal_module* module);
KHAL_API void khal_module_retain(khal_module* module);
KHAL_API void khal_module_release(khal_module* module);
/* Entry points, in the module's order; of foreign code those that its text or structure tells, none
 * of a fatbin. */
KHAL_API uint32_t khal_module_get_kernel_count(const khal_module* module);
KHAL_API const char* khal_module_get_kernel_name(const khal_module* module,
                                                 uint32_t index); /* NULL beyond the count */

/* A binding of a foreign module's explicit layout. */
typedef struct khal_binding_desc {
    uint32_t group,
        binding;   /* SPIR-V, WGSL: set and binding; PTX, cubin, MSL: 0 and the parameter's index */
    uint32_t kind; /* KHAL_ARG_BUFFER or KHAL_ARG_CONSTANT */
    uint32_t access;       /* KHAL_ACCESS_...; 0: read and write */
    uint32_t element_size; /* bytes; 0: any */
} khal_binding_desc;

typedef struct khal_specialization {
    uint32_t id;
    uint32_t size;
    const void* data;
} khal_specialization;

typedef struct khal_function_desc {
    const char* entry_point;           /* a kernel's name; NULL: the module's only one */
    const khal_binding_desc* bindings; /* foreign modules: an explicit layout; NULL: the code's own */
    uint32_t binding_count;
    uint32_t push_constant_size; /* foreign modules: bytes; 0: as the code says */
    uint32_t workgroup_size[3];  /* foreign modules that do not tell: work-items */
    const khal_specialization* specializations;
    uint32_t specialization_count;
    const char* label;
} khal_function_desc;

/* Kernels from khalc bring their layout, and SPIR-V and WGSL tell theirs: bindings by group and
 * binding (in that order), push constant size, work-group size. One that is given must agree with
 * it. PTX, cubin and MSL need one, and so does code whose binding numbers are no plain numbers,
 * whose bindings are no buffers, or whose push constants are of unknown size: bindings, a push
 * constant size, or both. Of PTX and cubins, parameters that are no bindings are values: they take the
 * push constants in their order, each where its alignment has it (which of a cubin is the largest that
 * size and place in the parameters allow), as in a C structure of them. WGSL has its push constants as var<immediate>, which few devices have, or,
 * anywhere, as the uniform buffer of group 0 whose binding is the next after the others of that
 * group (0 where there are none); push_constant_size then tells their size. Errors: ENTRY_POINT
 * (lists those that exist), FUNCTION_LAYOUT, FUNCTION_LIMIT, FUNCTION_COMPILE, SPECIALIZATION, and
 * those of the module's load where that was only begun. */
KHAL_API KHAL_MUST_USE khal_status khal_function_create_at(const char* file, int line,
                                                           khal_module* module,
                                                           const khal_function_desc* desc,
                                                           khal_function** out_function);
#define khal_function_create(...) khal_function_create_at(__FILE__, __LINE__, __VA_ARGS__)
KHAL_API KHAL_MUST_USE khal_status khal_function_create_begin(khal_module* module,
                                                              const khal_function_desc* desc,
                                                              khal_function** out_function);
KHAL_API KHAL_MUST_USE khal_status khal_function_create_poll(khal_function* function);
KHAL_API void khal_function_retain(khal_function* function);
KHAL_API void khal_function_release(khal_function* function);
/* Reflection: name, arguments, bindings, push-constant size, work-group size. Valid while the
 * function lives. */
KHAL_API const khal_kernel_info* khal_function_get_info(const khal_function* function);

/* A kernel library's module with a function for each of its kernels: what a generated header's own
 * type stands for. */
typedef struct khal_kernels khal_kernels;
/* Loads the module and creates every function. A kernel that this device can't have (UNSUPPORTED,
 * FUNCTION_LIMIT) does not stand in the way of the others: its dispatches give that error. Errors:
 * those of khal_module_load and khal_function_create. */
KHAL_API KHAL_MUST_USE khal_status khal_kernels_load_at(const char* file, int line,
                                                        khal_device* device,
                                                        const khal_kernel_library* library,
                                                        khal_kernels** out_kernels);
#define khal_kernels_load(...) khal_kernels_load_at(__FILE__, __LINE__, __VA_ARGS__)
/* In two steps that never block; see khal_device_open_begin. Polls of one object come from one
 * thread at a time. */
KHAL_API KHAL_MUST_USE khal_status khal_kernels_load_begin(khal_device* device,
                                                           const khal_kernel_library* library,
                                                           khal_kernels** out_kernels);
/* KHAL_NOT_READY, KHAL_OK or the error. */
KHAL_API KHAL_MUST_USE khal_status khal_kernels_load_poll(khal_kernels* kernels);
KHAL_API void khal_kernels_retain(khal_kernels* kernels);
KHAL_API void khal_kernels_release(khal_kernels* kernels);
/* The index-th kernel of the library; no new reference. NULL beyond the count, and before a load
 * that was begun is complete. */
KHAL_API khal_function* khal_kernels_get_function(const khal_kernels* kernels, uint32_t index);

/* ==== recording =============================================================================== */

typedef struct khal_encoder_desc {
    const char* label;
} khal_encoder_desc;
KHAL_API KHAL_MUST_USE khal_status khal_encoder_create_at(const char* file, int line,
                                                          khal_device* device,
                                                          const khal_encoder_desc* desc,
                                                          khal_encoder** out_encoder);
#define khal_encoder_create(...) khal_encoder_create_at(__FILE__, __LINE__, __VA_ARGS__)
/* What was recorded and not submitted has no effect. */
KHAL_API void khal_encoder_release(khal_encoder* encoder);
/* Forgets what was recorded, and its error. */
KHAL_API void khal_encoder_reset(khal_encoder* encoder);

typedef struct khal_pass_desc {
    const char* label;
    khal_timestamps* timestamps; /* times the pass */
    bool manual_barriers;        /* no automatic ordering between the dispatches of this pass:
                                    khal_pass_barrier orders */
} khal_pass_desc;

/* One pass of an encoder is open at a time; the pass is the encoder's, ends with khal_pass_end and
 * needs no release. So that the status may be left unread, `*out_pass` is set on failure too: every
 * call with it then returns the encoder's error (or ARGUMENT_NULL, where the encoder was NULL).
 * Errors: ENCODER_STATE, TIMESTAMPS_BUSY, WRONG_DEVICE; of end and barrier: PASS_ENDED. */
KHAL_API khal_status khal_pass_begin(khal_encoder* encoder, const khal_pass_desc* desc,
                                     khal_pass** out_pass);
KHAL_API khal_status khal_pass_end(khal_pass* pass);
/* Later dispatches of the pass see what earlier ones wrote. Without manual_barriers they do anyway:
 * the call does nothing. */
KHAL_API khal_status khal_pass_barrier(khal_pass* pass);

typedef enum khal_grid_kind {
    KHAL_GRID_GROUPS = 0,
    KHAL_GRID_THREADS = 1,
    KHAL_GRID_INDIRECT = 2
} khal_grid_kind;
typedef struct khal_grid {
    khal_grid_kind kind;
    uint64_t x, y, z;    /* work-groups or threads; a 0 makes the dispatch a no-op */
    khal_buffer* buffer; /* INDIRECT: three uint32_t group counts, read when the dispatch runs */
    uint64_t offset;     /* INDIRECT: bytes, a multiple of 4 */
    uint32_t workgroup_size[3]; /* where the kernel leaves it open; a 0 beside others is 1; 0, 0, 0:
                                   khal chooses, for an INDIRECT grid as for one dimension */
} khal_grid;

KHAL_API khal_grid khal_groups(uint64_t x, uint64_t y, uint64_t z);
/* Rounded up to whole groups. In kernels without barriers the surplus work-items do not run. */
KHAL_API khal_grid khal_threads(uint64_t x, uint64_t y, uint64_t z);
KHAL_API khal_grid khal_indirect(khal_buffer* buffer, uint64_t offset);
KHAL_API khal_grid khal_grid_with_workgroup(khal_grid grid, uint32_t x, uint32_t y, uint32_t z);
/* The work-group size and counts that a direct grid gives for this function. Errors: ARGUMENT_VALUE
 * (an indirect grid), WORKGROUP_SIZE, WORKGROUP_LIMIT, GRID (counts over the device's limits; 2^64
 * or more groups, or work-items in a dimension). */
KHAL_API KHAL_MUST_USE khal_status khal_grid_resolve(const khal_function* function, khal_grid grid,
                                                     uint32_t out_workgroup_size[3],
                                                     uint64_t out_group_count[3]);

typedef struct khal_dispatch_desc {
    khal_function* function;
    khal_grid grid;
    const khal_slice* bindings; /* in the order of the kernel's buffer arguments */
    uint32_t binding_count;
    const void* push_constants;  /* laid out as khal_function_get_info says */
    uint32_t push_constant_size; /* bytes */
    const uint64_t* local_sizes; /* bytes of each `__local` argument */
    uint32_t local_count;
} khal_dispatch_desc;

/* `out_index` (may be NULL) numbers the dispatches of the recording, no-ops too, for
 * khal_commands_set_... A `__global` argument's buffer needs KHAL_USAGE_STORAGE, a `__constant`
 * one's that or UNIFORM. Errors: PASS_ENDED, WRONG_DEVICE, NOT_LOADED (the function was only
 * begun), BINDING_COUNT, BINDING_TOO_SMALL, BINDING_ELEMENT_SIZE, BINDING_ALIGNMENT, BINDING_ALIAS,
 * BUFFER_USAGE, those of slices, PUSH_CONSTANT_SIZE, LOCAL_COUNT, LOCAL_SIZE, GRID_INDIRECT,
 * ARGUMENT_VALUE (the grid's kind), and those of khal_grid_resolve. */
KHAL_API khal_status khal_pass_dispatch(khal_pass* pass, const khal_dispatch_desc* desc,
                                        uint32_t* out_index);
/* Number of dispatches recorded so far in the pass's encoder: a launcher's dispatch has this minus
 * one. */
KHAL_API uint32_t khal_pass_get_dispatch_count(const khal_pass* pass);

/* Between passes. Sizes, UINT64_MAX standing for the rest of its buffer, are equal; ranges of one
 * buffer may not overlap. Errors: ENCODER_STATE, BUFFER_USAGE (COPY_SRC, COPY_DST), COPY_SIZE,
 * COPY_OVERLAP, those of slices. */
KHAL_API khal_status khal_encoder_copy(khal_encoder* encoder, khal_slice source, khal_slice target);
/* Fills with a pattern of 1, 2, 4, 8 or 16 bytes; the slice's size is a multiple of it. Errors:
 * ENCODER_STATE, BUFFER_USAGE (COPY_DST), FILL_PATTERN, those of slices. */
KHAL_API khal_status khal_encoder_fill(khal_encoder* encoder, khal_slice target,
                                       const void* pattern, uint32_t pattern_size);
/* Copies between devices (or within one), at once: in order after the source's submitted work and
 * before the target's later work. The wait for the source's work comes first: on KHAL_TIMEOUT
 * nothing was copied. Errors: BUFFER_USAGE (COPY_SRC, COPY_DST), COPY_SIZE, COPY_OVERLAP, TIMEOUT,
 * those of slices. */
KHAL_API KHAL_MUST_USE khal_status khal_copy_between(khal_slice source, khal_slice target,
                                                     uint64_t timeout);

/* What a native callback gets: the backend's own stream, command buffer or encoder; see
 * khal/interop/. WebGPU: a WGPUCommandEncoder. CUDA: the CUstream that submissions run on, the
 * device's context being current. On the CPU `handle` is NULL, and the call itself stands in the
 * order. It returns
 * KHAL_OK, or an error, with which the submission fails (NATIVE_FAILED; the message names it). */
typedef struct khal_native {
    khal_backend backend;
    void* handle;
} khal_native;
typedef khal_status (*khal_native_fn)(void* user, const khal_native* native);
typedef struct khal_native_desc {
    khal_native_fn call;
    void* user; /* `user` must live until the last submission that has it has run */
    /* what it uses, for ordering; a buffer named in neither is not ordered */
    const khal_slice* reads;
    uint32_t read_count;
    const khal_slice* writes;
    uint32_t write_count;
} khal_native_desc;
/* Between passes. Errors: ENCODER_STATE, UNSUPPORTED (no KHAL_FEATURE_NATIVE_ENCODER), those of
 * slices. noop does not call it. */
KHAL_API khal_status khal_encoder_native(khal_encoder* encoder, const khal_native_desc* desc);

/* ==== running ================================================================================= */

/* Runs what was recorded, once, and leaves the encoder empty for the next recording, also when it
 * fails; only with a pass open (ENCODER_STATE) everything stays as it is. `out_ticket` may be NULL.
 * An empty recording gets a ticket too. With 1,024 submissions in flight the call waits for the
 * oldest, except in the device's own callbacks. Errors: that of the recording; TIMESTAMPS_BUSY,
 * READBACK_BUSY. */
KHAL_API KHAL_MUST_USE khal_status khal_submit(khal_encoder* encoder, khal_ticket* out_ticket);
/* Turns what was recorded into commands that can be submitted again and again, and leaves the
 * encoder empty, as khal_submit does. The commands have the encoder's label. */
KHAL_API KHAL_MUST_USE khal_status khal_encoder_finish(khal_encoder* encoder,
                                                       khal_commands** out_commands);
KHAL_API KHAL_MUST_USE khal_status khal_commands_submit(khal_commands* commands,
                                                        khal_ticket* out_ticket);
KHAL_API void khal_commands_retain(khal_commands* commands);
KHAL_API void khal_commands_release(khal_commands* commands);
KHAL_API uint32_t khal_commands_get_dispatch_count(const khal_commands* commands);
/* For later submits; earlier ones keep their values. Checked as in khal_pass_dispatch;
 * DISPATCH_INDEX for a dispatch, binding or range of push constants that the commands do not have.
 */
KHAL_API KHAL_MUST_USE khal_status khal_commands_set_slice(khal_commands* commands,
                                                           uint32_t dispatch, uint32_t binding,
                                                           khal_slice slice);
KHAL_API KHAL_MUST_USE khal_status khal_commands_set_push_constants(
    khal_commands* commands, uint32_t dispatch, uint32_t offset, const void* data, uint32_t size);

/* KHAL_OK when the ticket's work is done, KHAL_NOT_READY before, KHAL_EXECUTION_FAILED when that
 * submission failed (INDIRECT_TOO_LARGE, NATIVE_FAILED, OUT_OF_MEMORY). The last 64 failures are
 * remembered; each goes to the device's callback once, when a call of the library finds it. Error:
 * TICKET. */
KHAL_API KHAL_MUST_USE khal_status khal_ticket_poll(khal_device* device, khal_ticket ticket);
/* Waits up to `timeout` ns: KHAL_OK, KHAL_TIMEOUT, KHAL_EXECUTION_FAILED. Other threads submit
 * freely meanwhile. */
KHAL_API KHAL_MUST_USE khal_status khal_ticket_wait(khal_device* device, khal_ticket ticket,
                                                    uint64_t timeout);
/* Waits for everything submitted so far. KHAL_EXECUTION_FAILED, with the first, when submissions
 * failed since the last such wait. */
KHAL_API KHAL_MUST_USE khal_status khal_device_wait(khal_device* device, uint64_t timeout);

/* ==== timestamps ============================================================================== */

typedef struct khal_timestamp {
    char label[64];  /* the pass's */
    double begin;    /* ms since the device was opened */
    double duration; /* ms */
} khal_timestamp;

typedef struct khal_timestamps_desc {
    uint32_t capacity; /* timed passes between resets; at least 1 */
    const char* label;
} khal_timestamps_desc;

/* On a device without timestamps it is made all the same and is not enabled: passes run untimed,
 * and reads give no entries. Error: TIMESTAMPS_CAPACITY (of 0). */
KHAL_API KHAL_MUST_USE khal_status khal_timestamps_create_at(const char* file, int line,
                                                             khal_device* device,
                                                             const khal_timestamps_desc* desc,
                                                             khal_timestamps** out_timestamps);
#define khal_timestamps_create(...) khal_timestamps_create_at(__FILE__, __LINE__, __VA_ARGS__)
KHAL_API void khal_timestamps_retain(khal_timestamps* timestamps);
KHAL_API void khal_timestamps_release(khal_timestamps* timestamps);
KHAL_API bool khal_timestamps_is_enabled(const khal_timestamps* timestamps);
KHAL_API bool khal_timestamps_is_idle(
    khal_timestamps* timestamps); /* no read is in flight or waits to be taken */
/* Forgets all passes. Error while a read is in flight: TIMESTAMPS_BUSY. */
KHAL_API KHAL_MUST_USE khal_status khal_timestamps_reset(khal_timestamps* timestamps);
/* Marks, in the recording, the point after which the values are to be read (a step that some APIs
 * need; optional: a read resolves what is not yet resolved). */
KHAL_API khal_status khal_timestamps_resolve(khal_timestamps* timestamps, khal_encoder* encoder);
/* Asks for all passes submitted since the last reset. Timing a pass from here to the take is an
 * error of that recording, and so is a second request: TIMESTAMPS_BUSY. */
KHAL_API KHAL_MUST_USE khal_status khal_timestamps_request_read(khal_timestamps* timestamps);
/* Never blocks. KHAL_OK fills up to `capacity` entries, in the order of submission, and resets the
 * manager; KHAL_NOT_READY; KHAL_NOTHING_REQUESTED; or the failure of a timed submission, which
 * resets it too. A value that the device did not give is DRIVER. With less room than there are
 * entries nothing is taken: TIMESTAMPS_CAPACITY, and `*out_count` tells how many there are.
 * `out_missed` (may be NULL): passes beyond capacity. */
KHAL_API KHAL_MUST_USE khal_status khal_timestamps_try_take(khal_timestamps* timestamps,
                                                            uint32_t capacity,
                                                            khal_timestamp* out_entries,
                                                            uint32_t* out_count,
                                                            uint32_t* out_missed);
/* request_read, wait and take in one. After a failure no request is left; TIMEOUT and
 * TIMESTAMPS_CAPACITY lose no entry. */
KHAL_API KHAL_MUST_USE khal_status khal_timestamps_read(khal_timestamps* timestamps,
                                                        uint32_t capacity,
                                                        khal_timestamp* out_entries,
                                                        uint32_t* out_count, uint32_t* out_missed,
                                                        uint64_t timeout);

/* ==== readback: reads that never block ======================================================== */

typedef struct khal_readback_desc {
    uint64_t capacity_count; /* elements of one read */
    uint32_t element_size;   /* bytes; 0: 1 */
    uint32_t slot_count;     /* reads in flight at once, taken in order; 0: 1 */
    const char* label;
} khal_readback_desc;
/* Error: READBACK_CAPACITY (2^64 bytes or more, or more than 1,024 slots). */
KHAL_API KHAL_MUST_USE khal_status khal_readback_create_at(const char* file, int line,
                                                           khal_device* device,
                                                           const khal_readback_desc* desc,
                                                           khal_readback** out_readback);
#define khal_readback_create(...) khal_readback_create_at(__FILE__, __LINE__, __VA_ARGS__)
KHAL_API void khal_readback_retain(khal_readback* readback);
KHAL_API void khal_readback_release(khal_readback* readback);
KHAL_API uint64_t khal_readback_get_capacity(const khal_readback* readback); /* elements */
/* No read is in flight or waits to be taken. */
KHAL_API bool khal_readback_is_idle(khal_readback* readback);
/* Records a read of one or several ranges, gathered one after the other, at this place of the
 * recording, between passes. More than the capacity is an error of the recording; no free slot
 * (READBACK_BUSY) one of the submit. Errors: ENCODER_STATE, READBACK_CAPACITY, SLICE_ELEMENT_SIZE
 * (no multiple of the readback's), BUFFER_USAGE (COPY_SRC), those of slices. */
KHAL_API khal_status khal_readback_request_copy(khal_readback* readback, khal_encoder* encoder,
                                                const khal_slice* slices, uint32_t slice_count);
/* The same at once, after all submitted work; takes a ticket of the timeline. */
KHAL_API KHAL_MUST_USE khal_status khal_readback_request(khal_readback* readback,
                                                         const khal_slice* slices,
                                                         uint32_t slice_count);
/* Never blocks. `count` elements must be what was asked for (READBACK_COUNT; the read waits on).
 * KHAL_OK fills `out_data`; KHAL_NOT_READY; KHAL_NOTHING_REQUESTED; or the failure of the
 * submission, which takes the read away. */
KHAL_API KHAL_MUST_USE khal_status khal_readback_try_take(khal_readback* readback, void* out_data,
                                                          uint64_t count);
/* Discards all reads that are in flight or wait to be taken; their slots are free at once. */
KHAL_API void khal_readback_cancel(khal_readback* readback);

#ifdef __cplusplus
}
#endif
#endif
