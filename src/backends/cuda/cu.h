/* The CUDA backend's own structures: the driver API alone, opened at run time. Files, each may use those before it:
 *
 *   cu_api.h       what is used of the driver API (facts of the ABI, in our own words)
 *   cu_library.c   opens libcuda; versions; the driver's words for its errors
 *   cu_device.c    devices, contexts, what is current; errors and loss; native handles, wrapping
 *   cu_memory.c    device memory: small blocks from slabs of ours, large ones from the driver; pinned and registered host
 *                  memory
 *   cu_staging.c   between pageable memory and the device: a pinned ring, filled and emptied by several threads
 *   cu_buffer.c    buffers: write, read, map (a shadow)
 *   cu_module.c    modules and functions: which code, the JIT and its log, variants for large work-groups
 *   cu_launch.c    one dispatch as a launch: parameters, plain or virtual grid, occupancy
 *   cu_plan.c      which node of a graph comes after which
 *   cu_graph.c     finished commands as a CUDA graph
 *   cu_queue.c     submit, tickets, results, timestamps, native callbacks
 *   cu_backend.c   the table
 *
 * Threads. The driver is thread-safe; device->lock orders what goes into a stream, and is never held while waiting for the
 * device nor around a callback of the user's. What a comment marks (lock) is called with it held. Whoever calls the driver
 * stands between cu_enter and cu_leave, which leave the thread's current context as it was. */
#ifndef KHAL_CU_H
#define KHAL_CU_H

#include "../../core/backend.h"
#include "../../platform/platform.h"
#include "cu_api.h"

#include <stdatomic.h>

typedef struct cu_device cu_device;
typedef struct cu_memory cu_memory;   /* cu_memory.c */
typedef struct cu_staging cu_staging; /* cu_staging.c */
typedef struct cu_queue cu_queue;     /* cu_queue.c */

typedef struct cu_library {
    cu_functions f;
    int version;    /* 1000 * major + 10 * minor, of CUDA that the driver takes */
    char path[512]; /* as it was opened */
} cu_library;

/* libcuda, or what KHAL_CUDA_LIBRARY names; initialised. Opened once in a process and kept. NULL: `reason` says what is
 * missing. */
const cu_library* cu_library_open(char* reason, size_t reason_size);
/* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" */
const char* cu_describe(const cu_library* library, CUresult result, char* out, size_t size);

typedef struct cu_block {
    CUdeviceptr address; /* 0: none */
    uint64_t size;       /* bytes, as it was asked for */
    void* owner;         /* cu_memory.c's; NULL: the program's own memory */
} cu_block;

struct cu_device {
    khal_device* front;
    const cu_library* library;
    const cu_functions* f; /* = &library->f */
    CUdevice device;
    CUcontext context;
    bool is_wrapped;     /* the program's context, and its stream where it gave one */
    bool owns_stream;
    CUstream stream;     /* all submissions, and host writes and reads that depend on them, in order */
    CUstream side;       /* host reads of what no running work writes; khal's own always */
    uint32_t capability; /* 75: 7.5 */
    uint32_t multiprocessors;
    uint32_t shared_limit;  /* bytes of shared memory a block may ask for */
    bool has_graphs;
    khal__mutex lock;
    cu_memory* memory;
    cu_staging* staging;
    cu_queue* queue;
    cu_block too_many;     /* a word that indirect grids in graphs set: cu_queue.c's */
    struct cu_graph* dead; /* cu_graph.c: graphs that may still run and are no one's any more (lock) */
    atomic_bool is_lost; /* a sticky error was seen. It is set under the lock, and the front hears of it after that: whoever
                            holds the lock and finds it false may touch submissions */
    atomic_bool is_shared;    /* the program may put work of its own into `stream` */
    atomic_uint blank_count;  /* buffers that are blank */
};

typedef struct cu_pinned cu_pinned;

typedef struct cu_buffer {
    cu_block block;
    void* host;           /* host_memory that was registered, or NULL */
    atomic_bool is_blank; /* to be zeroed before its first use (cu_buffer_settle); set back under the lock */
    uint64_t upload;      /* number of the last host write or zeroing that went into device->stream (lock) */
    /* While it is mapped: */
    char* shadow; /* the range's bytes as the program sees them; not of `host` */
    char* twin;   /* as they were last read or flushed; where it is mapped for writing */
    uint64_t mapped_offset, mapped_size;
    khal_ticket agreed_ticket; /* twin is what the buffer holds unless work or a write came after these two */
    uint64_t agreed_upload;
} cu_buffer;

static inline cu_device* cu_device_of(khal_device* device) { return khal__device_impl(device); }
static inline cu_buffer* cu_buffer_of(khal_buffer* buffer) { return khal__buffer_impl(buffer); }
static inline CUdeviceptr cu_address(const khal__range* range)
{
    return range->buffer != NULL ? cu_buffer_of(range->buffer)->block.address + range->offset : 0;
}

/* ---- devices (cu_device.c) -------------------------------------------------------------------- */

khal_status cu_device_enumerate(uint32_t capacity, khal_device_info* out_infos, uint32_t* out_count);
khal_status cu_device_open(khal_device* front, uint32_t index, const khal_device_desc* desc);
khal_status cu_device_wrap(khal_device* front, const void* foreign, const khal_device_desc* desc); /* khal_cuda_device_desc */
void cu_device_close(khal_device* front);
khal_status cu_native_handle(khal_device* front, uint32_t kind, void* object, void** out_handle);

/* Makes the device's context current, if it is not, until cu_leave. False: it can't be, and the device is lost; cu_leave is
 * then not called. Without device->lock, as cu_check. */
typedef struct cu_scope {
    bool pushed;
} cu_scope;
bool cu_enter(cu_device* device, cu_scope* scope);
bool cu_try_enter(cu_device* device, cu_scope* scope); /* the same, but the device is not lost; under any lock */
void cu_leave(cu_device* device, cu_scope scope);

/* Whether the driver will answer with `result` for ever from now on. */
bool cu_is_sticky(CUresult result);
/* The device is lost; the front hears of it once, with no lock held. */
void cu_lose(cu_device* device, CUresult result, const char* what);
/* Whether it is, and then the front has heard of it, so that what returns for it is not taken for a timeout. */
bool cu_is_lost(cu_device* device);
/* KHAL_OK for success. Else marks the device lost where the error is sticky, reports out of memory by its own id, all else by
 * `id` with `what` and the driver's words, and returns the status. Any thread; without device->lock, since the user's callback
 * may be called. */
khal_status cu_check(cu_device* device, CUresult result, khal_error_id id, const char* object, const char* what);
/* The same into a submission's status, error_id and message; loss is left to cu_check. */
void cu_submission_fail(cu_device* device, khal__submission* submission, CUresult result, const char* what);
/* Why there was no memory, the context being current: CUDA_ERROR_OUT_OF_MEMORY, or what the driver answers with for ever. */
CUresult cu_no_memory(cu_device* device);
/* Between two looks at what the device is to change: `since` is when the first was. Spins at first, then naps. */
void cu_pause(uint64_t since);

/* ---- memory (cu_memory.c) ---------------------------------------------------------------------- */

khal_status cu_memory_open(cu_device* device);
void cu_memory_close(cu_device* device);
/* Undefined contents, aligned to KHAL__MEMORY_ALIGN and 256. Without khal__fail. Thread-safe, without device->lock. When the
 * driver has none, what is kept for later is given back first. size is not 0. */
CUresult cu_memory_take(cu_device* device, uint64_t size, cu_block* out);
void cu_memory_give(cu_device* device, cu_block* block); /* no work uses it */
/* Pinned memory that the device can reach, in classes of powers of two, reused. NULL: none. Thread-safe. */
struct cu_pinned {
    char* host;
    CUdeviceptr address; /* of the same bytes, for the device */
    uint64_t size;
    cu_pinned* next;
};
cu_pinned* cu_pinned_take(cu_device* device, uint64_t size);
void cu_pinned_give(cu_device* device, cu_pinned* pinned); /* no work uses it */
/* Pages of the program's for the device: those around the bytes, which other buffers may have too. */
CUresult cu_host_register(cu_device* device, void* memory, uint64_t size, CUdeviceptr* out);
void cu_host_unregister(cu_device* device, void* memory, uint64_t size);

/* ---- host and device (cu_staging.c) ------------------------------------------------------------ */

khal_status cu_staging_open(cu_device* device);
void cu_staging_close(cu_device* device);
/* The bytes are taken when it returns; they arrive in the order of `stream`. The lock is taken inside, for each chunk. */
CUresult cu_staging_write(cu_device* device, CUdeviceptr to, const void* from, uint64_t size, CUstream stream);
/* As of what is in `stream` now. KHAL_TIMEOUT without khal__fail: `out` is then not touched any more after it returned. */
khal_status cu_staging_read(cu_device* device, CUdeviceptr from, void* out, uint64_t size, CUstream stream,
                            uint64_t deadline);
/* Until what is in `stream` now is done: CUDA_ERROR_NOT_READY when it is not by the deadline. */
CUresult cu_staging_drain(cu_device* device, CUstream stream, uint64_t deadline);

/* Uploads: host writes and zeroings of ours in device->stream. They have numbers, so that reads on `side` come after them. All
 * of these under the lock. */
uint64_t cu_upload_mark(cu_device* device);  /* the number of what went into the stream now */
CUresult cu_upload_seal(cu_device* device);  /* before other work goes there, which those who wait for uploads need not await */
uint64_t cu_upload_count(cu_device* device); /* the last number */
uint64_t cu_upload_done(cu_device* device);  /* the last that is known to be done */
void cu_upload_seen(cu_device* device, uint64_t number);      /* it is done */
CUresult cu_upload_order(cu_device* device, CUstream stream); /* what follows in `stream` is after all uploads */

/* ---- buffers (cu_buffer.c) --------------------------------------------------------------------- */

khal_status cu_buffer_create(khal_buffer* buffer, const khal_buffer_desc* desc);
khal_status cu_buffer_wrap(khal_buffer* buffer, void* handle, const khal_buffer_desc* desc); /* handle: CUdeviceptr */
void cu_buffer_destroy(khal_buffer* buffer);
khal_status cu_buffer_write(khal_buffer* buffer, uint64_t offset, const void* data, uint64_t size, khal_ticket after);
khal_status cu_buffer_read(khal_buffer* buffer, uint64_t offset, void* out, uint64_t size, khal_ticket after,
                           uint64_t timeout);
khal_status cu_buffer_map(khal_buffer* buffer, uint64_t offset, uint64_t size, uint32_t mode, khal_ticket after,
                          uint64_t timeout, void** out);
khal_status cu_buffer_flush(khal_buffer* buffer, uint64_t offset, uint64_t size);
khal_status cu_buffer_invalidate(khal_buffer* buffer, uint64_t offset, uint64_t size, khal_ticket after, uint64_t timeout);
void cu_buffer_unmap(khal_buffer* buffer);
/* New buffers are zeroed when they are used first, and uploads end here. Before anything of the submission goes into the stream.
 * (lock) */
CUresult cu_buffer_settle(cu_device* device, const khal__submission* submission);
khal_status cu_buffer_settle_one(khal_buffer* buffer); /* the same for one of them, without the lock */
/* Fills of any pattern of 1, 2, 4, 8 or 16 bytes into a stream. (lock) */
CUresult cu_fill(cu_device* device, CUdeviceptr to, uint64_t size, const void* pattern, uint32_t pattern_size,
                 CUstream stream);

/* ---- modules and functions (cu_module.c) -------------------------------------------------------- */

typedef struct cu_module {
    CUmodule handle;
    CUmodule small;     /* the same with registers for 1,024 threads; NULL: not asked for yet */
    uint32_t format;    /* KHAL_FORMAT_PTX or _CUBIN */
    khal__mutex lock;   /* of `small` */
} cu_module;

typedef struct cu_entry {
    CUfunction handle;          /* NULL: not there */
    uint32_t thread_limit;      /* of a block */
    uint32_t dynamic_limit;     /* bytes of dynamic shared memory that were allowed so far */
} cu_entry;

typedef struct cu_function {
    cu_entry plain, grid;             /* grid: khalc's only */
    cu_entry small_plain, small_grid; /* of module->small */
    bool is_foreign;
    uint32_t static_shared, dynamic_size; /* bytes of the kernel's own variables */
    uint32_t parameter_count;
    struct cu_parameter {
        uint8_t kind;    /* khal_arg_kind */
        uint32_t index;  /* of the binding or the local argument */
        uint32_t offset; /* values: in the push constants, bytes */
        uint32_t size;   /* bytes that the entry point takes */
    }* parameters;       /* in the order of the entry point, without the last one of khalc's */
    khal__mutex lock;    /* of what is found out late: limits, occupancy */
    struct cu_occupancy {
        uint32_t block, dynamic_shared, blocks; /* blocks of a virtual grid */
    } occupancy[4];
} cu_function;

static inline cu_module* cu_module_of(khal_module* module) { return khal__module_impl(module); }
static inline cu_function* cu_function_of(khal_function* function) { return khal__function_impl(function); }

uint32_t cu_code_rank(khal_device* device, const khal_code* code);
khal_status cu_module_create(khal_module* module, const khal_module_desc* desc, const khal_code* code);
void cu_module_destroy(khal_module* module);
khal_status cu_function_create(khal_function* function, const khal_function_desc* desc);
void cu_function_destroy(khal_function* function);
bool cu_grid_fits(khal_function* function, const uint32_t workgroup_size[3], const uint64_t group_count[3]);
/* The entry for blocks of `threads`, compiling the small variant where it takes that. NULL: none takes so many, or `result`. */
cu_entry* cu_function_entry(khal_function* function, bool is_grid, uint32_t threads, CUresult* result);

/* ---- launches (cu_launch.c) --------------------------------------------------------------------- */

#define CU_MOST_PARAMETERS 256u
/* A dispatch as the driver takes it: `parameters` point into the command and into this. */
typedef struct cu_launch {
    CUfunction function;
    uint32_t grid[3], block[3], shared;
    uint32_t parameter_count, last_size;
    void* parameters[CU_MOST_PARAMETERS];
    uint64_t words[CU_MOST_PARAMETERS]; /* addresses and local arguments */
    union {
        khal_ptx_plain plain;
        khal_ptx_grid grid_arguments;
    } last;
} cu_launch;
/* too_many: address of the word for khal_ptx_grid.too_many, of indirect dispatches. Failures go into the result. */
CUresult cu_launch_make(cu_device* device, const khal__command* command, CUdeviceptr too_many, cu_launch* out);

/* ---- graphs (cu_graph.c) ------------------------------------------------------------------------- */

/* Whether these commands run as a graph: finished ones that were submitted before, of dispatches, copies, fills and barriers
 * alone, on a device that has graphs. (lock) */
bool cu_graph_can(cu_device* device, const khal__submission* submission);
/* Makes or updates the graph of submission->replay, and launches it into device->stream. Its indirect dispatches tell of grids
 * too large in device->too_many. CUDA_ERROR_NOT_SUPPORTED: there is no graph of them, and nothing was launched. (lock) */
CUresult cu_graph_launch(cu_device* device, khal__submission* submission);
void cu_replay_destroy(khal_device* front, khal__replay* replay);
/* Frees the graphs that no one has any more and whose last ticket is complete. (lock, entered) */
void cu_graph_reap(cu_device* device, khal_ticket completed);

/* ---- running (cu_queue.c) ------------------------------------------------------------------------ */

khal_status cu_queue_open(cu_device* device);
void cu_queue_stop(cu_device* device);  /* its thread; nothing is on its way any more */
void cu_queue_close(cu_device* device); /* and what cu_graph.c has left */
khal_status cu_submit(khal_device* front, khal__submission* submission);
khal_ticket cu_completed(khal_device* front);
khal_status cu_wait(khal_device* front, khal_ticket ticket, uint64_t timeout);
/* Once is_lost is set: until no thread hands out results any more, which are the program's again when it hears of the loss. */
void cu_queue_calm(cu_device* device);
khal_ticket cu_submitted(cu_device* device); /* the last */
/* Until the ticket's work is in device->stream, which is at once but behind a native callback. KHAL_TIMEOUT: not by then, or
 * never, inside a callback. */
khal_status cu_wait_issued(cu_device* device, khal_ticket ticket, uint64_t deadline);
static inline uint64_t cu_deadline(uint64_t timeout)
{
    const uint64_t now = khal__clock_now();
    return timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
}

#endif
