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
 *   wg_module.c   modules and functions
 *   wg_pipeline.c one function's pipelines: variants by work-group size, local sizes, how bindings are shared, kind of block
 *   wg_blocks.c   where the blocks of hidden arguments lie: content-addressed slots of uniform buffers
 *   wg_dispatch.c one dispatch into a pass: bind groups (cached), block, folding, indirect grids
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

typedef struct wg_device wg_device;
typedef struct wg_recorder wg_recorder;
typedef struct wg_blocks wg_blocks;         /* wg_blocks.c */
typedef struct wg_dispatcher wg_dispatcher; /* wg_dispatch.c: the cache of bind groups, scratch of indirect grids */
typedef struct wg_staging wg_staging;       /* wg_staging.c */
typedef struct wg_internal wg_internal;     /* wg_internal_kernels.c */

struct wg_device {
    khal_device* front;
    wg_library* library; /* library->f.DeviceCreateBuffer(...) and so on */
    WGPUInstance instance;
    WGPUAdapter adapter;
    WGPUDevice device;
    WGPUQueue queue;
    WGPULimits limits;           /* the device's */
    uint32_t immediate_size;     /* bytes; 0: none that can be used */
    bool has_timestamps, has_fused_fma; /* found out at open by running it */
    bool is_foreign;             /* wrapped: never destroyed, only released */
    khal__mutex lock;
    WGPUBuffer dummy;            /* 256 bytes, zero: what a slice of size 0 binds */
    wg_staging* staging;
    wg_internal* internal;
    wg_blocks* blocks;
    wg_dispatcher* dispatcher;
    /* wg_queue.c's own follow */
    struct wg_queue* run;
};

typedef struct wg_buffer {
    WGPUBuffer handle;      /* NULL where size is 0; STORAGE, COPY_SRC, COPY_DST, INDIRECT, UNIFORM; never mapped */
    uint64_t size;          /* bytes asked for */
    uint64_t allocated;     /* bytes of the handle, a multiple of 16 */
    uint64_t serial;        /* never used again by another buffer of the device: keys of caches */
    bool is_foreign;
    void* shadow;           /* while mapped */
    uint64_t shadow_offset, shadow_size;
} wg_buffer;

static inline wg_device* wg_device_of(khal_device* device) { return khal__device_impl(device); }
static inline wg_buffer* wg_buffer_of(khal_buffer* buffer) { return khal__buffer_impl(buffer); }

/* ---- errors (wg_device.c) -------------------------------------------------------------------- */

/* Everything that creates an object of the library stands between these two. `end` gives KHAL_OK, or reports with khal__fail
 * (id as the caller says; out of memory and loss by their own ids) what the library said. (lock) */
void wg_scope_begin(wg_device* device);
khal_status wg_scope_end(wg_device* device, khal_error_id id, const char* object, const char* what);
/* The same without a report: the library's words go to `message`. Kind: WGPUErrorType. (lock) */
WGPUErrorType wg_scope_take(wg_device* device, char* message, size_t size);
/* Lets the library call its callbacks. (lock) */
void wg_events(wg_device* device);

/* ---- one submission on its way (wg_queue.c) ---------------------------------------------------- */

struct wg_recorder {
    wg_device* device;
    khal__submission* submission;
    WGPUCommandEncoder encoder;
    WGPUComputePassEncoder pass; /* NULL between passes */
    const void* bound_pipeline;  /* what the open pass has set; NULL: nothing */
    const void* bound_group;
    uint32_t bound_offset;       /* the block's dynamic offset; UINT32_MAX: none */
};

/* The open compute pass; opens one where there is none. All (lock). */
WGPUComputePassEncoder wg_recorder_pass(wg_recorder* recorder);
void wg_recorder_end_pass(wg_recorder* recorder);
/* `size` bytes (a multiple of 4, at a multiple of 4) of a buffer come to `out` before the ticket is complete. `call`, where not
 * NULL, is called with them then, under device->lock. */
khal_status wg_recorder_result(wg_recorder* recorder, WGPUBuffer source, uint64_t offset, uint64_t size, void* out,
                               void (*call)(wg_device* device, khal__submission* submission, const void* bytes, uint64_t size));

/* ---- modules, functions, dispatches ------------------------------------------------------------ */

khal_status wg_module_create(khal_module* module, const khal_module_desc* desc, const khal_code* code);
void wg_module_destroy(khal_module* module);
khal_status wg_module_poll(khal_module* module);
khal_status wg_function_create(khal_function* function, const khal_function_desc* desc);
void wg_function_destroy(khal_function* function);
khal_status wg_function_poll(khal_function* function);
size_t wg_module_size(void), wg_function_size(void);

khal_status wg_dispatch_open(wg_device* device);  /* blocks and dispatcher */
void wg_dispatch_close(wg_device* device);
/* Into recorder's pass. A failure spoils the whole submission: nothing of it is submitted. (lock) */
khal_status wg_dispatch_encode(wg_recorder* recorder, const khal__command* command);
/* After the last command and before the queue's submit: writes the blocks that are new. (lock) */
khal_status wg_dispatch_flush(wg_recorder* recorder);
/* The submission was given up before it was submitted. (lock) */
void wg_dispatch_abandon(wg_recorder* recorder);
/* Tickets up to this are complete: slots may be used again. (lock) */
void wg_dispatch_completed(wg_device* device, khal_ticket ticket);
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
