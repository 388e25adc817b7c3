/* The one seam between the front (src/core) and the backends (src/backends).
 *
 * The front validates, defaults, counts references, records, tracks hazards and keeps submissions
 * alive; a backend trusts what it is given. Each object of the front has room for the backend's own
 * part, `impl`, of the size that the table names, zeroed before `create` and never touched by the
 * front. Unless a line says otherwise a function may be called from any thread, with no lock of the
 * front held. A backend reports a failure by khal__fail() and returns its status. */
#ifndef KHAL_CORE_BACKEND_H
#define KHAL_CORE_BACKEND_H

#include <khal/khal.h>

/* ---- what a recording holds --------------------------------------------------------------------
 */

typedef enum khal__command_kind {
    KHAL__COMMAND_DISPATCH,
    KHAL__COMMAND_COPY,
    KHAL__COMMAND_FILL,
    KHAL__COMMAND_BARRIER,   /* what follows sees what came before; the front puts one only where
                                something depends */
    KHAL__COMMAND_READ,      /* bytes to host memory, there when the ticket is complete */
    KHAL__COMMAND_TIMESTAMP, /* ns since the device was opened to *out, there when the ticket is
                                complete; taken when all before it is done */
    KHAL__COMMAND_NATIVE,
} khal__command_kind;

/* A checked, resolved range: offset + size is inside the buffer. */
typedef struct khal__range {
    khal_buffer* buffer; /* NULL only where size is 0 */
    uint64_t offset, size;
} khal__range;

typedef struct khal__command khal__command;
struct khal__command {
    khal__command_kind kind;
    uint32_t pass;     /* number of the pass in the recording; UINT32_MAX between passes */
    const char* label; /* of the pass, or NULL */
    khal__command* next;
    union {
        struct {
            khal_function* function;
            uint32_t index;         /* number of the dispatch in the recording */
            uint32_t binding_count; /* = the function's */
            khal__range* bindings;
            uint32_t push_constant_size;
            void* push_constants;
            uint32_t local_count;
            uint64_t* local_sizes;      /* bytes */
            uint32_t workgroup_size[3]; /* never 0 */
            uint64_t group_count[3];    /* direct: never 0 (the front drops no-ops) */
            uint64_t global_size[3]; /* direct: asked threads in kernels that clip, else group_count
                                      * workgroup_size */
            bool is_indirect;
            khal__range indirect; /* 12 bytes */
        } dispatch;
        struct {
            khal__range source, target;
        } copy;
        struct {
            khal__range target;
            uint32_t pattern_size;
            uint8_t pattern[16];
        } fill;
        struct {
            khal__range source;
            void* out;
        } read;
        struct {
            uint64_t* out;
        } timestamp;
        struct {
            khal_native_fn call;
            void* user;
        } native;
    } u;
};

/* What a backend keeps of finished commands (khal_commands) from one submit of them to the next, as a graph of the
 * driver's. Zeroed at first; touched inside `submit` and `replay_destroy` alone. */
typedef struct khal__replay {
    void* impl;       /* the backend's */
    uint64_t version; /* the backend's: which version impl holds */
} khal__replay;

/* One run of a recording: the front's, alive until the backend reports its ticket complete. A
 * backend may not keep it longer. */
typedef struct khal__submission {
    khal_ticket ticket;
    khal__command* commands; /* list, in order */
    uint32_t command_count;
    uint64_t work_item_count; /* an estimate, for choosing where to run; UINT64_MAX where indirect
                                 or native */
    bool needs_barrier;       /* depends on work submitted earlier that may still run */
    bool has_native;
    bool has_results;   /* READ or TIMESTAMP commands */
    khal__replay* replay; /* of finished commands, valid until `submit` returns; NULL: the recording runs this once */
    uint64_t version;     /* with replay, never 0: the same number, the same list, values and barriers; else push
                             constants, slices and where results go may differ, and barriers with them, and nothing more.
                             Submits of several threads at once may come in another order than their numbers */
    khal_status status; /* the backend sets these before it reports the ticket complete, when the
                           work failed */
    khal_error_id error_id;
    char message[160];
    struct khal__submission* next; /* the backend's, from submit until complete */
} khal__submission;

/* What a foreign module's specialization constant is. */
typedef enum khal__scalar {
    KHAL__SCALAR_UNKNOWN, /* its type is a name of the module's own */
    KHAL__SCALAR_BOOL,
    KHAL__SCALAR_INT,
    KHAL__SCALAR_UINT,
    KHAL__SCALAR_FLOAT,
} khal__scalar;

/* A parameter of a foreign kernel of the CUDA kind, in the order of its entry point. */
typedef struct khal__parameter {
    uint32_t kind;        /* khal_arg_kind: the address of a buffer (BUFFER, CONSTANT), or a VALUE */
    uint32_t index;       /* buffers: of the binding */
    uint32_t offset;      /* values: in the push constants, bytes */
    uint32_t size, align; /* bytes */
} khal__parameter;

/* What kernels may count on: the alignment of a buffer's first byte, host memory excepted, and of
 * local arguments. */
#define KHAL__MEMORY_ALIGN 128u

/* ---- the table ---------------------------------------------------------------------------------
 */

typedef struct khal__backend {
    const char* name; /* "cpu": also what KHAL_BACKEND takes */
    khal_backend id;
    bool automatic; /* may be chosen by KHAL_BACKEND_AUTO */
    size_t device_size, buffer_size, module_size, function_size; /* bytes of each `impl` */

    /* Devices. enumerate: as khal_device_enumerate, for this backend alone; KHAL_UNAVAILABLE with
     * the reason by khal__fail() where a driver is missing. */
    khal_status (*enumerate)(uint32_t capacity, khal_device_info* out_infos, uint32_t* out_count);
    /* Fills device->info too. `index` is the backend's own, from enumerate. */
    khal_status (*device_open)(khal_device* device, uint32_t index, const khal_device_desc* desc);
    /* All work is complete or the device is lost; every other object is gone. */
    void (*device_close)(khal_device* device);

    /* Buffers. create: zeroed, or `data`, or undefined, or over host_memory, as desc (defaults
     * resolved) says; size may be 0. */
    khal_status (*buffer_create)(khal_buffer* buffer, const khal_buffer_desc* desc);
    void (*buffer_destroy)(khal_buffer* buffer); /* no submitted work uses it any more */
    /* write, read, map: `after` is the last ticket that conflicts with the range (0: none): the
     * effect comes after it. A write may return before it has taken effect, when later work is sure
     * to see it. size is never 0 (buffer_map: may be 0). KHAL_TIMEOUT is returned without
     * khal__fail. The front unmaps before it destroys. */
    khal_status (*buffer_write)(khal_buffer* buffer, uint64_t offset, const void* data,
                                uint64_t size, khal_ticket after);
    khal_status (*buffer_read)(khal_buffer* buffer, uint64_t offset, void* out, uint64_t size,
                               khal_ticket after, uint64_t timeout);
    khal_status (*buffer_map)(khal_buffer* buffer, uint64_t offset, uint64_t size, uint32_t mode,
                              khal_ticket after, uint64_t timeout, void** out);
    /* optional: flush and invalidate, NULL where a map is the memory itself */
    khal_status (*buffer_flush)(khal_buffer* buffer, uint64_t offset, uint64_t size);
    khal_status (*buffer_invalidate)(khal_buffer* buffer, uint64_t offset, uint64_t size,
                                     khal_ticket after, uint64_t timeout);
    void (*buffer_unmap)(khal_buffer* buffer);

    /* Modules. `code` is what the front chose: of a library, or foreign bytes, which the front
     * keeps. Of KHAL_FORMAT_CPU it is the first code of that format; the backend picks its level
     * among all of khal__module_library(). The front lists entry points of foreign code itself. */
    khal_status (*module_create)(khal_module* module, const khal_module_desc* desc,
                                 const khal_code* code);
    void (*module_destroy)(khal_module* module);
    khal_status (*function_create)(khal_function* function, const khal_function_desc* desc);
    void (*function_destroy)(khal_function* function);
    /* optional: NULL where create is complete when it returns. KHAL_NOT_READY, KHAL_OK or the
     * failure. */
    khal_status (*module_poll)(khal_module* module);
    khal_status (*function_poll)(khal_function* function);

    /* optional: how well the device runs this code of a library, among those of the formats that it takes; 0: not at
     * all. NULL: the first is taken. */
    uint32_t (*code_rank)(khal_device* device, const khal_code* code);

    /* optional: whether a direct grid within the limits can be run all the same: what its
     * dimensions make together, and what a foreign kernel takes. NULL: it can. Never blocks. */
    bool (*grid_fits)(khal_function* function, const uint32_t workgroup_size[3],
                      const uint64_t group_count[3]);

    /* Running. Calls of submit come one at a time, in ticket order, and never wait for submitted
     * work: the front holds back who is far ahead. After it failed, the ticket does not
     * exist. The front's submit lock is held: native callbacks run elsewhere, or later, never
     * inside submit. */
    khal_status (*submit)(khal_device* device, khal__submission* submission);
    /* optional: the commands are gone, whether they were ever submitted or not; what was submitted of them may still
     * run, and the device may be lost. */
    void (*replay_destroy)(khal_device* device, khal__replay* replay);
    /* The last ticket that is complete, all before it too; never blocks. */
    khal_ticket (*completed)(khal_device* device);
    /* KHAL_OK or KHAL_TIMEOUT (without khal__fail), which khal__in_callback() gives at once. */
    khal_status (*wait)(khal_device* device, khal_ticket ticket, uint64_t timeout);

    /* optional: native handles for khal/interop, NULL where there are none; kind: KHAL__NATIVE_...
     */
    khal_status (*native_handle)(khal_device* device, uint32_t kind, void* object,
                                 void** out_handle);
    /* optional: khal/interop. An object over one that the program has, described as the interop
     * header says, NULL where there is none. */
    khal_status (*device_wrap)(khal_device* device, const void* foreign,
                               const khal_device_desc* desc);
    khal_status (*buffer_wrap)(khal_buffer* buffer, void* handle, const khal_buffer_desc* desc);
} khal__backend;

/* object: khal_buffer*; the CPU and CUDA give the address of its first byte, CUDA NULL where its size is 0 */
#define KHAL__NATIVE_BUFFER 1u
/* object: NULL; WebGPU: the handle of that name; CUDA has a device alone: its number (CUdevice), as a pointer */
#define KHAL__NATIVE_INSTANCE 2u
#define KHAL__NATIVE_ADAPTER 3u
#define KHAL__NATIVE_DEVICE 4u
#define KHAL__NATIVE_QUEUE 5u
/* object: NULL; CUDA: the CUcontext, and the CUstream that submissions run on */
#define KHAL__NATIVE_CONTEXT 6u
#define KHAL__NATIVE_STREAM 7u

extern const khal__backend khal__cpu_backend, khal__noop_backend, khal__webgpu_backend, khal__cuda_backend;

/* The tables of this build stand in src/core/registry.c, in order of preference. */

/* ---- what a backend may use of the front -------------------------------------------------------
 */

/* Fills the thread's error record and calls the device's callback (device may be NULL); returns the
 * id's status. */
khal_status khal__fail(khal_device* device, khal_error_id id, int64_t native_code,
                       const char* object, const char* format, ...)
    __attribute__((format(printf, 5, 6)));
/* For a thread of the backend's own, once: its failures stay in its record, where the backend takes
 * them from, and go to no callback. */
void khal__failures_keep(void);
/* Marks the device lost with its first cause. The backend touches no submission any more from then
 * on, and waits return. */
void khal__device_lost(khal_device* device, int64_t native_code, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

void* khal__device_impl(khal_device* device);
void* khal__buffer_impl(khal_buffer* buffer);
void* khal__module_impl(khal_module* module);
void* khal__function_impl(khal_function* function);

khal_device* khal__buffer_device(khal_buffer* buffer);
khal_device* khal__module_device(khal_module* module);
khal_module* khal__function_module(khal_function* function);
const khal_kernel_library* khal__module_library(khal_module* module); /* NULL for foreign code */
const khal_code* khal__module_code(khal_module* module);
/* How foreign WGSL declares a buffer, where it does so with plain numbers. */
bool khal__module_binding(khal_module* module, uint32_t group, uint32_t binding,
                          khal_binding_desc* out);
/* Foreign code has its push constants as such: var<immediate>, or a PushConstant variable. */
bool khal__module_has_immediates(khal_module* module);
/* Of a foreign module's constant `id`; UNKNOWN too where it has none. */
khal__scalar khal__module_specialization(khal_module* module, uint32_t id);
/* Of a function of foreign PTX, and of a cubin that tells. False: the code does not tell (a fatbin). */
bool khal__function_parameters(khal_function* function, const khal__parameter** out_parameters,
                               uint32_t* out_count);
/* Where only the driver knows them: fills kind, index and offset of parameters whose size and align are given, as the layout
 * in `desc` says, or fails with FUNCTION_LAYOUT. */
khal_status khal__function_lay_out(khal_function* function, const khal_function_desc* desc,
                                   khal__parameter* parameters, uint32_t count);
uint32_t khal__function_index(khal_function* function); /* in the library's kernels */
const khal_kernel_info* khal__function_kernel(khal_function* function);

khal_device_info* khal__device_info(khal_device* device);
bool khal__device_is_up(khal_device* device);     /* not lost */
uint64_t khal__device_epoch(khal_device* device); /* khal__clock_now() when it was opened */
/* Whether this thread is inside a native or print callback of the device: a wait for its work would
 * never end. */
bool khal__in_callback(const khal_device* device);
void khal__device_print(khal_device* device, const char* text,
                        size_t size); /* kernels' printf, one call at a time */

/* The device's allocator. */
void* khal__alloc(khal_device* device, size_t size,
                  size_t align); /* not zeroed; NULL without khal__fail */
void khal__free(khal_device* device, void* memory, size_t size);

#endif
