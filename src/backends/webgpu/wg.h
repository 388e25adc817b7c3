/* The WebGPU backend's own structures. Files, each may use those before it:
 *
 *   wg_api.h      what is used of webgpu.h: types, constants, functions (facts of the ABI, in our own words)
 *   wg_library.c  opens a library at run time; the one place that knows how the libraries differ
 *   wg_device.c   instance, adapters, device; errors, loss; events
 *   wg_staging.c  memory between host and device: upload and readback chunks, reused
 *   wg_buffer.c   buffers: write, read, map (a shadow: WebGPU forbids a mapped buffer in a submit)
 *   wg_internal_kernels.c   small WGSL kernels of ours: copies and fills that are not of whole words, copies within one
 *                 buffer, the preparation of indirect grids
 *   wg_spirv.c    what of foreign SPIR-V the library at hand would abort on, refuse or miscompile
 *   wg_table.c    an array's entries by hash
 *   wg_kernel.h   what the next seven share
 *   wg_plan.c     the arithmetic of a dispatch: folded grids, where arguments lie
 *   wg_compose.c  the last lines of a kernel's WGSL
 *   wg_pipeline.c layouts; one function's pipelines: variants by work-group size, local sizes, how bindings are shared, kind of
 *                 block
 *   wg_module.c   modules and functions
 *   wg_blocks.c   where the blocks of hidden arguments lie: content-addressed slots of uniform buffers
 *   wg_groups.c   bind groups, cached
 *   wg_dispatch.c one dispatch into a pass
 *   wg_queue.c    submit, completion, results, native callbacks
 *   wg_backend.c  the table
 *
 * Dawn is not thread-safe and wgpu-native is only where it says so: device->lock is held around every call into the library,
 * never while waiting and never around a callback of the user's. What a comment marks (lock) is called with it held. */
#ifndef KHAL_WG_H
#define KHAL_WG_H

#include "../../core/backend.h"
#include "../../platform/platform.h"
#include "wg_library.h"

#include <stdatomic.h>

typedef struct wg_device wg_device;
typedef struct wg_recorder wg_recorder;
typedef struct wg_blocks wg_blocks;         /* wg_blocks.c */
typedef struct wg_groups wg_groups;         /* wg_groups.c */
typedef struct wg_dispatcher wg_dispatcher; /* wg_dispatch.c */
typedef struct wg_staging wg_staging;       /* wg_staging.c */
typedef struct wg_queue wg_queue;           /* wg_queue.c */
typedef struct wg_internal wg_internal;     /* wg_internal_kernels.c */

struct wg_device {
    khal_device* front;
    wg_library* library; /* library->f.DeviceCreateBuffer(...) and so on */
    WGPUInstance instance;
    WGPUAdapter adapter; /* NULL in a wrapped device */
    WGPUDevice device;
    WGPUQueue queue;
    WGPULimits limits;           /* the device's */
    uint32_t immediate_size;     /* bytes; 0: none that can be used */
    bool has_timestamps, has_encoder_timestamps;
    bool has_fused_fma, has_good_sqrt; /* found out when the first function asks */
    bool is_foreign;             /* wrapped: never destroyed, only released */
    bool is_cpu;                 /* runs on the processor that waits for it */
    khal__mutex lock;
    khal__condition changed;     /* signalled when a ticket is complete, a map is answered, the device is lost */
    wg_staging* staging;
    wg_internal* internal;
    wg_blocks* blocks;
    wg_groups* groups;
    wg_dispatcher* dispatcher;
    struct wg_layout* layouts;   /* wg_pipeline.c */
    wg_queue* run;
    uint64_t next_serial;        /* (lock) */
    uint64_t changes;            /* submits and host writes so far (lock) */
    uint32_t outstanding;        /* callbacks that the library owes (lock) */
    atomic_uint wanting;         /* threads that wait for the lock: who looks for events lets them */

    /* wg_device.c's */
    bool has_immediate_errors;   /* an error comes to its callback inside the call that makes it */
    atomic_bool is_closing, is_lost, is_lost_told;
    atomic_flag lost_once;
    int64_t lost_reason;
    char lost_message[256];
};

typedef struct wg_buffer {
    WGPUBuffer handle;      /* NULL where size is 0; STORAGE, COPY_SRC, COPY_DST, INDIRECT, UNIFORM; never mapped */
    uint64_t size;          /* bytes asked for */
    uint64_t allocated;     /* bytes of the handle, a multiple of 16 */
    uint64_t serial;        /* never used again by another buffer of the device: keys of caches */
    bool is_foreign;        /* wrapped: bytes from `size` on are the program's */
    char* shadow;           /* while mapped: the bytes from mapped_offset & ~15 on */
    char* twin;             /* mapped for writing: what the shadow held when it last agreed with the buffer */
    uint64_t mapped_offset, mapped_size;
    uint64_t agreed;        /* device->changes then */
} wg_buffer;

static inline wg_device* wg_device_of(khal_device* device) { return khal__device_impl(device); }
static inline wg_buffer* wg_buffer_of(khal_buffer* buffer) { return khal__buffer_impl(buffer); }

/* ---- devices (wg_device.c) -------------------------------------------------------------------- */

khal_status wg_device_enumerate(uint32_t capacity, khal_device_info* out_infos, uint32_t* out_count);
khal_status wg_device_open(khal_device* front, uint32_t index, const khal_device_desc* desc);
khal_status wg_device_wrap(khal_device* front, const void* foreign, const khal_device_desc* desc);
void wg_device_close(khal_device* front);
khal_status wg_native_handle(khal_device* front, uint32_t kind, void* object, void** out_handle);

/* The lock, taken so that who looks for events again and again makes room. */
static inline void wg_lock(wg_device* device)
{
    atomic_fetch_add_explicit(&device->wanting, 1, memory_order_relaxed);
    khal__mutex_lock(&device->lock);
    atomic_fetch_sub_explicit(&device->wanting, 1, memory_order_relaxed);
}
/* Tells the front of a loss that was found under the lock: unlock with this alone. */
void wg_unlock(wg_device* device);
/* Lets the library call its callbacks. (lock) */
void wg_events(wg_device* device);
/* The device is gone. Any thread, with or without the lock. */
void wg_lose(wg_device* device, int64_t reason, const char* message);
/* What the library said of a failure: whether it means that. */
void wg_lose_if_told(wg_device* device, const char* message);

/* Everything that creates an object of the library, and Finish, stands between these two. `end` gives KHAL_OK, or reports
 * with khal__fail (id as the caller says; out of memory and loss by their own ids) what the library said. (lock) */
void wg_scope_begin(wg_device* device);
khal_status wg_scope_end(wg_device* device, khal_error_id id, const char* object, const char* what);
/* The same without a report: the library's words go to `message`. (lock) */
WGPUErrorType wg_scope_take(wg_device* device, char* message, size_t size);

/* ---- between host and device (wg_staging.c) ---------------------------------------------------- */

typedef struct wg_chunk {
    WGPUBuffer handle;
    uint64_t size;
    bool is_upload;   /* MAP_WRITE and COPY_SRC, mapped while it is free; else MAP_READ and COPY_DST */
    bool is_asked;    /* a map request is on its way */
    bool is_mapped;
    void* memory;     /* while it is mapped */
    uint64_t mapped;  /* bytes */
    wg_device* device;
    struct wg_chunk* next;
} wg_chunk;

khal_status wg_staging_open(wg_device* device);
void wg_staging_release(wg_device* device); /* the library's part, before the device goes (lock) */
void wg_staging_close(wg_device* device);   /* after it */
/* A chunk of at least `size` bytes; NULL after khal__fail. (lock) */
wg_chunk* wg_staging_take(wg_device* device, bool is_upload, uint64_t size);
/* A readback chunk whose copy was just submitted: asks for its first `size` bytes, a multiple of 8. It has them when is_asked
 * is no more and is_mapped is; failed: neither. (lock) */
void wg_staging_ask(wg_chunk* chunk, uint64_t size);
/* Back, whatever became of it: also while it is asked for, when nobody waits for it any more. (lock) */
void wg_staging_give(wg_chunk* chunk);

/* Bytes of a handle, any range inside what is allocated, as of the work that is in the queue now. KHAL_TIMEOUT without
 * khal__fail. */
khal_status wg_staging_read(wg_device* device, WGPUBuffer source, uint64_t offset, void* out, uint64_t size, uint64_t deadline);
/* Ordered after all that is in the queue now, and before what comes later; bytes of the target from `end` on belong to
 * nobody. */
khal_status wg_staging_write(wg_device* device, WGPUBuffer target, uint64_t end, uint64_t offset, const void* data,
                             uint64_t size);

/* ---- buffers (wg_buffer.c) --------------------------------------------------------------------- */

khal_status wg_buffer_create(khal_buffer* buffer, const khal_buffer_desc* desc);
khal_status wg_buffer_wrap(khal_buffer* buffer, void* handle, const khal_buffer_desc* desc);
void wg_buffer_destroy(khal_buffer* buffer);
khal_status wg_buffer_write(khal_buffer* buffer, uint64_t offset, const void* data, uint64_t size, khal_ticket after);
khal_status wg_buffer_read(khal_buffer* buffer, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                           uint64_t timeout);
khal_status wg_buffer_map(khal_buffer* buffer, uint64_t offset, uint64_t size, uint32_t mode, khal_ticket after,
                          uint64_t timeout, void** out);
khal_status wg_buffer_flush(khal_buffer* buffer, uint64_t offset, uint64_t size);
khal_status wg_buffer_invalidate(khal_buffer* buffer, uint64_t offset, uint64_t size, khal_ticket after, uint64_t timeout);
void wg_buffer_unmap(khal_buffer* buffer);

/* ---- one submission on its way (wg_queue.c) ---------------------------------------------------- */

struct wg_recorder {
    wg_device* device;
    khal__submission* submission; /* NULL: work of our own between two tickets (a write of odd bytes) */
    WGPUCommandEncoder encoder;
    WGPUComputePassEncoder pass; /* NULL between passes */
    const void* bound_pipeline;  /* what the open pass has set; NULL: nothing */
    const void* bound_group;
    uint32_t bound_offset;       /* the block's dynamic offset; UINT32_MAX: none */
    uint64_t epoch;              /* wg_dispatch.c's; 0: it has not been asked for anything */
    struct wg_flight* run;       /* wg_queue.c's */
};

/* The open compute pass; opens one where there is none. All (lock). */
WGPUComputePassEncoder wg_recorder_pass(wg_recorder* recorder);
/* `size` bytes (a multiple of 4, at a multiple of 4) of a buffer come to `out` (may be NULL) before the ticket is complete.
 * `call`, where not NULL, is called with them then, under device->lock. */
khal_status wg_recorder_result(wg_recorder* recorder, WGPUBuffer source, uint64_t offset, uint64_t size, void* out,
                               void (*call)(wg_device* device, khal__submission* submission, const void* bytes, uint64_t size));
/* Work of our own between two tickets. `end` submits it, or, where `status` is a failure, drops it and returns that. */
khal_status wg_recorder_begin(wg_recorder* recorder, wg_device* device);
khal_status wg_recorder_end(wg_recorder* recorder, khal_status status);

khal_status wg_queue_open(wg_device* device);
khal_status wg_queue_calibrate(wg_device* device); /* the device's clock; its last step of opening */
void wg_queue_stop(wg_device* device);    /* the thread of native callbacks; then nothing is on its way any more */
void wg_queue_release(wg_device* device); /* the library's part, before the device goes (lock) */
void wg_queue_close(wg_device* device);   /* after it */
void wg_queue_advance(wg_device* device); /* after events: completes what is done (lock) */
/* Libraries give memory back when work is submitted: an empty submit, for those who write or drop buffers and submit nothing.
 * (lock) */
void wg_queue_tidy(wg_device* device);
/* A write without a submit; tidies up now and then. (lock) */
void wg_queue_wrote(wg_device* device, uint64_t size);
khal_status wg_submit(khal_device* front, khal__submission* submission);
khal_ticket wg_completed(khal_device* front);
khal_status wg_wait(khal_device* front, khal_ticket ticket, uint64_t timeout);
khal_ticket wg_submitted(wg_device* device); /* the last */
/* Until the ticket's work is in the library's queue, which is at once but behind a native callback. KHAL_TIMEOUT: not by
 * then, or never, inside a callback. */
khal_status wg_wait_issued(wg_device* device, khal_ticket ticket, uint64_t deadline);
/* One turn of waiting for `changed`: looks for events, and naps where many turns gave nothing; the lock is let go
 * meanwhile. `turn` counts from 0. False: the deadline has passed, or the device is lost. (lock) */
bool wg_wait_turn(wg_device* device, uint32_t* turn, uint64_t deadline);
bool wg_queue_is_idle(wg_device* device); /* nothing submitted is unfinished (lock) */
static inline uint64_t wg_deadline(uint64_t timeout)
{
    const uint64_t now = khal__clock_now();
    return timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
}

/* ---- modules, functions, dispatches ------------------------------------------------------------ */

khal_status wg_module_create(khal_module* module, const khal_module_desc* desc, const khal_code* code);
void wg_module_destroy(khal_module* module);
khal_status wg_function_create(khal_function* function, const khal_function_desc* desc);
void wg_function_destroy(khal_function* function);
khal_status wg_function_poll(khal_function* function);
bool wg_grid_fits(khal_function* function, const uint32_t workgroup_size[3], const uint64_t group_count[3]);

khal_status wg_dispatch_open(wg_device* device);  /* blocks and dispatcher */
void wg_dispatch_close(wg_device* device);
/* Into recorder's pass. A failure spoils the whole submission: nothing of it is submitted. (lock) */
khal_status wg_dispatch_encode(wg_recorder* recorder, const khal__command* command);
/* A command has written this buffer; NULL: any. (lock) */
void wg_dispatch_wrote(wg_device* device, WGPUBuffer buffer);
/* After the last command and before the encoder is finished: writes the blocks that are new, and asks for results. The lock is
 * not let go between this and the submit. (lock) */
khal_status wg_dispatch_flush(wg_recorder* recorder);
/* The submission was given up before it was submitted. (lock) */
void wg_dispatch_abandon(wg_recorder* recorder);
/* A buffer goes: bind groups that name it go too. (lock) */
void wg_dispatch_forget(wg_device* device, uint64_t serial);

/* ---- our own kernels (wg_internal_kernels.c) --------------------------------------------------- */

khal_status wg_internal_open(wg_device* device);
void wg_internal_close(wg_device* device);
/* Bytes at any offsets, also within one buffer (not overlapping). (lock) */
khal_status wg_internal_copy(wg_recorder* recorder, WGPUBuffer source, uint64_t source_offset, WGPUBuffer target,
                             uint64_t target_offset, uint64_t size);
khal_status wg_internal_fill(wg_recorder* recorder, WGPUBuffer target, uint64_t offset, uint64_t size, const void* pattern,
                             uint32_t pattern_size);

#endif
