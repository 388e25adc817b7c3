/* The front's own structures. Order of the files: error, spans, allocator, registry, object,
 * device, buffer, slice, text, spirv, cubin, foreign, reflect, module, function, kernels, recording, hazards, grid, dispatch,
 * encoder, timestamps, readback, submit, commands, transfer, interop; each may use those before it,
 * and what this header declares of those after it.
 *
 * Locks are leaves, but for submit_lock, under which track_lock is taken, and commands->lock, under
 * which recordings are made. No callback of the user's runs under any of them. */
#ifndef KHAL_CORE_CORE_H
#define KHAL_CORE_CORE_H

#include <stdatomic.h>
#include <string.h>

#include "../platform/platform.h"
#include "backend.h"
#include "spans.h"

#define KHAL__LABEL_SIZE 64u
#define KHAL__MAX_IN_FLIGHT 1024u /* submissions; a submit beyond waits for the oldest */
#define KHAL__FAILED_TICKETS 64u  /* failed submissions that are remembered */
#define KHAL__BUFFER_SPANS 16u    /* ranges of a buffer that running work is remembered by */
#define KHAL__TOTAL_SPANS 64u     /* ranges of a buffer that a recording exports */
#define KHAL__CHUNK_CLASSES (sizeof(size_t) >= 8 ? 40 : 31)
#define KHAL__PENDING_SPANS 4096u /* ranges of a buffer between two barriers of a recording */

#if defined(__GNUC__)
#define KHAL__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define KHAL__COLD __attribute__((cold, noinline))
#else
#define KHAL__UNLIKELY(x) (x)
#define KHAL__COLD
#endif

typedef struct khal__recording khal__recording;
typedef struct khal__run khal__run;

/* ---- objects -----------------------------------------------------------------------------------
 */

typedef enum khal__kind {
    KHAL__KIND_DEVICE,
    KHAL__KIND_BUFFER,
    KHAL__KIND_MODULE,
    KHAL__KIND_FUNCTION,
    KHAL__KIND_ENCODER,
    KHAL__KIND_COMMANDS,
    KHAL__KIND_TIMESTAMPS,
    KHAL__KIND_READBACK,
} khal__kind;

/* At the head of every object. All public references together hold one of `refs`; the rest are the
 * library's own. */
typedef struct khal__object {
    atomic_uint public_refs, refs;
    khal__kind kind;
    int line;
    const char* file;
    khal_device* device;
    struct khal__object *previous, *next; /* of the device's list */
    uint64_t serial;
    char label[KHAL__LABEL_SIZE];
} khal__object;

void khal__object_init(khal_device* device, khal__object* object, khal__kind kind,
                       const char* label, const char* file, int line);
void khal__object_unlist(khal__object* object);  /* when it is destroyed */
void khal__object_retain(khal__object* object);  /* public */
void khal__object_release(khal__object* object); /* public */
static inline void khal__object_keep(khal__object* object)
{
    atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}
void khal__object_drop(khal__object* object);
void khal__copy_label(char out[KHAL__LABEL_SIZE], const char* label);

/* ---- devices -----------------------------------------------------------------------------------
 */

typedef struct khal__failed {
    khal_ticket ticket; /* 0: none */
    khal_status status;
    khal_error_id id;
    bool reported; /* by khal_device_wait */
    char message[160];
} khal__failed;

typedef struct khal__chunk khal__chunk;

struct khal_device {
    khal__object object;
    /* Holds: one for the device's public references, one for each object with public references. At
     * 0 it closes. */
    atomic_uint holds;
    const khal__backend* backend;
    khal_allocator allocator;
    khal_diagnostic_fn diagnostic;
    void* diagnostic_user;
    khal_print_fn print;
    void* print_user;
    bool debug;
    khal_device_info info;
    uint64_t epoch;
    size_t memory_size; /* of this structure and its impl */

    atomic_bool lost;
    khal__mutex lost_lock;
    khal_error lost_error;

    khal__mutex objects_lock;
    khal__object *first_object, *last_object;
    uint64_t next_serial;

    khal__mutex module_lock;
    khal_module* modules; /* the cache */

    khal__mutex print_lock;

    khal__mutex submit_lock;
    khal__mutex
        track_lock; /* in_flight, failed, every buffer's ranges and map, timestamps and readbacks */
    khal__run *in_flight_first, *in_flight_last;
    khal__failed failed[KHAL__FAILED_TICKETS];
    uint32_t failed_next;
    atomic_bool has_failed; /* any */
    atomic_uint in_flight_count;
    atomic_ullong submitted; /* the last ticket given out */

    khal__mutex pool_lock;
    khal__recording* free_recordings;
    khal__chunk* free_chunks[KHAL__CHUNK_CLASSES];
    khal__run* free_runs;
    khal_encoder* free_encoders;

    atomic_ullong submissions, dispatches, copies, fills, barriers, re_recordings, buffer_count,
        buffer_size, live_objects, host_allocations, passes_untimed;
};

static inline bool khal__is_lost(const khal_device* device)
{
    return atomic_load_explicit(&((khal_device*)device)->lost, memory_order_acquire);
}
KHAL__COLD khal_status khal__fail_lost(khal_device* device);
void khal__device_hold(khal_device* device);
void khal__device_unhold(khal_device* device); /* closes it with the last hold */

/* ---- errors ------------------------------------------------------------------------------------
 */

khal_status khal__error_status(khal_error_id id);
/* Puts an error into the thread's record without calling back: it was reported before. */
khal_status khal__error_again(const khal_error* error);
/* khal__fail for what became of a submission, whatever status the id itself has. */
khal_status khal__fail_run(khal_device* device, khal_status status, khal_error_id id,
                           const char* object, const char* format, ...)
    __attribute__((format(printf, 5, 6)));
/* Calls the device's callback alone; the thread's record stays. */
void khal__call_back(khal_device* device, const khal_error* error);
void khal__report(khal_device* device, khal_error_id id, const char* object, const char* format,
                  ...) __attribute__((format(printf, 4, 5)));
/* Between these, callbacks of this thread's failures wait, so that a lock may be held. */
void khal__callbacks_hold(void);
void khal__callbacks_go(khal_device* device);

/* Around each native and print callback. It runs on whatever thread runs the work, also on one that
 * waits inside a call of its own: the record and what is held back there stay as they are. */
typedef struct khal__callback {
    khal_device* device;
    struct khal__callback* outer;
    unsigned held;
    bool waiting;
    khal_error record, waiting_error; /* the latter only while `waiting` */
} khal__callback;
void khal__callback_begin(khal_device* device, khal__callback* callback);
void khal__callback_end(khal__callback* callback);
KHAL__COLD khal_status khal__fail_null(khal_device* device, const char* object, const char* what);
KHAL__COLD khal_status khal__fail_memory(khal_device* device, const char* object, const char* what,
                                         uint64_t size);

/* ---- memory ------------------------------------------------------------------------------------
 */

extern const khal_allocator khal__default_allocator;
void* khal__alloc_zeroed(khal_device* device, size_t size, size_t align);
static inline size_t khal__round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}
/* Where the backend's part of an object stands, and what both take together. */
#define KHAL__IMPL_ALIGN 64u
#define KHAL__IMPL_OFFSET(type)                                                                    \
    (((sizeof(type) + KHAL__IMPL_ALIGN - 1) / KHAL__IMPL_ALIGN) * KHAL__IMPL_ALIGN)

/* ---- backends ----------------------------------------------------------------------------------
 */

typedef struct khal__known_backend {
    khal_backend id;
    const char* name;
    const khal__backend* table; /* NULL: not in this build */
} khal__known_backend;
extern const khal__known_backend
    khal__known_backends[]; /* in order of preference, ended by a NULL name */
const char* khal__backend_name(khal_backend id);
const char* khal__format_name(uint32_t format);
/* "SPIR-V, WGSL" */
void khal__format_list(uint32_t formats, char* out, size_t size);

/* ---- buffers -----------------------------------------------------------------------------------
 */

struct khal_buffer {
    khal__object object;
    uint64_t size;
    uint32_t element_size, usage;
    uint32_t address; /* low bits of host_memory, else 0 */
    atomic_uint hint; /* where a recording has this buffer in its list; a guess, always checked */
    /* under track_lock */
    bool mapped, mapping;
    uint32_t map_mode;
    uint64_t map_offset, map_size;
    khal_ticket last_use;
    khal__spans used[2]; /* tickets that last read and last wrote */
    khal__span used_items[2][KHAL__BUFFER_SPANS];
};

#define KHAL__READ 0
#define KHAL__WRITE 1

/* For interop: the backend's table has the function. */
khal_status khal__device_wrap(khal_backend id, const void* foreign, const khal_device_desc* desc,
                              khal_device** out_device);
khal_status khal__buffer_wrap(const char* file, int line, khal_device* device, void* handle,
                              const khal_buffer_desc* desc, khal_buffer** out_buffer);
void khal__buffer_destroy(khal_buffer* buffer);
/* The last ticket that reads (if `write`) or writes the range. Under track_lock. */
khal_ticket khal__buffer_conflict(const khal_buffer* buffer, uint64_t offset, uint64_t size,
                                  bool write);
void khal__buffer_mark(khal_buffer* buffer, uint64_t begin, uint64_t end, bool write,
                       khal_ticket ticket, khal_ticket completed);

/* Resolves and checks a slice; `device` may be NULL: any. */
khal_status khal__slice_resolve(khal_device* device, const khal_slice* slice,
                                khal__range* out_range);
khal_status khal__usage_check(const khal_buffer* buffer, uint32_t any_of, const char* use);
/* Both sides of a copy, resolved, and with the usage that it takes. */
khal_status khal__copy_resolve(khal_device* device, const khal_slice* source,
                               const khal_slice* target, khal__range* out_from,
                               khal__range* out_to);
/* Of one size, and apart from each other. `label` is of what the message is about when they differ.
 */
khal_status khal__copy_check(khal_device* device, const char* label, const khal__range* from,
                             const khal__range* to);

/* ---- modules and functions ---------------------------------------------------------------------
 */

typedef struct khal__specialization {
    uint32_t id;
    khal__scalar type;
} khal__specialization;

struct khal_module {
    khal__object object;
    khal_module* cache_next;
    bool cached;
    const khal_kernel_library* library; /* NULL: foreign */
    khal_code code;                     /* bytes of foreign code are this module's own copy */
    bool passthrough;
    uint64_t hash;
    const khal_kernel_info* kernels; /* the library's, or of own_kernels */
    uint32_t kernel_count;
    khal_kernel_info* own_kernels; /* foreign: names, and sizes where the code tells */
    size_t own_kernels_size;       /* bytes of own_kernels and the names behind it */
    khal__specialization* specializations; /* of foreign code */
    uint32_t specialization_count;
    khal__mutex poll_lock;
    atomic_int state; /* a khal_status: KHAL_NOT_READY until it is loaded */
    khal_error error;
};

void khal__module_destroy(khal_module* module);
khal_status khal__module_poll(khal_module* module); /* without failing anew */

/* What foreign code is, and what it says about itself. */
uint32_t khal__foreign_format(const void* code, size_t size);
/* Calls `found` for each entry point and each specialization constant. False: `found` stopped it.
 */
typedef struct khal__foreign_visitor {
    bool (*entry)(void* user, const char* name, size_t length, const uint32_t workgroup_size[3]);
    bool (*specialization)(void* user, uint32_t id, khal__scalar type);
    void* user;
} khal__foreign_visitor;
bool khal__foreign_visit(uint32_t format, const void* code, size_t size,
                         const khal__foreign_visitor* visitor);

/* A binding as dispatches check it. */
typedef struct khal__binding {
    uint64_t element_mask; /* element_size - 1 where it is a power of two, else 0 */
    uint32_t element_size; /* bytes, at least 1 */
    uint32_t align_mask;
    uint32_t usage; /* any of these */
    uint8_t reads, writes;
    const char* name;
} khal__binding;

struct khal_function {
    khal__object object;
    khal_module* module;
    uint32_t index; /* in the module's kernels; UINT32_MAX: the module names none */
    const khal_kernel_info* info;
    khal__binding* bindings;
    uint32_t work_dim_hint;
    bool clips;       /* surplus work-items of a thread count do not run */
    atomic_uint hint; /* as khal_buffer.hint */
    bool has_parameters; /* foreign: it is known which there are */
    khal__parameter* parameters;
    uint32_t parameter_count;
    void* memory;     /* foreign: info, its args and strings, parameters; and the bindings */
    size_t memory_size;
    khal_function_desc desc; /* until it is created */
    void* desc_memory;
    size_t desc_memory_size;
    bool created;
    khal__mutex poll_lock;
    atomic_int state; /* as khal_module.state */
    khal_error error;
};

void khal__function_destroy(khal_function* function);
khal_status khal__function_poll(khal_function* function);
/* A function of a library that this device can't have: every use says why. */
khal_status khal__function_refuse(khal_module* module, uint32_t index, const khal_error* refusal,
                                  khal_function** out_function, const char* file, int line);

/* ---- recordings --------------------------------------------------------------------------------
 */

#define KHAL__NODE_MANUAL 1u  /* in a pass with manual barriers */
#define KHAL__NODE_BARRIER 2u /* a barrier that the caller asked for */
#define KHAL__NODE_NOOP 4u    /* a dispatch with an empty grid: numbered, not run */

/* A recorded command with what the front knows besides. */
typedef struct khal__node khal__node;
struct khal__node {
    khal__node* next; /* all nodes, in order; command.next skips what does not run */
    void* extra;      /* READ: khal__request; TIMESTAMP: khal__timing; NATIVE: khal__native_call */
    uint32_t flags;
    khal__command command; /* last: memory ends with the member of its union that the kind has */
};

typedef struct khal__native_call {
    khal_native_fn call;
    void* user;
    khal_device* device;
    khal__range* ranges; /* reads, then writes */
    uint32_t read_count, write_count;
} khal__native_call;

/* A timed pass. The backend fills `values`; they go to the manager when the run is done. */
typedef struct khal__timing khal__timing;
struct khal__timing {
    khal_timestamps* timestamps;
    const char* label;
    uint64_t values[2]; /* UINT64_MAX: not there */
    uint64_t generation;
    uint32_t slot; /* UINT32_MAX: beyond the capacity */
    khal__timing* next;
};

typedef struct khal__block khal__block;
/* One read of a readback: some READ nodes. */
typedef struct khal__request khal__request;
struct khal__request {
    khal_readback* readback;
    khal__node* first; /* its nodes follow each other */
    uint32_t node_count;
    uint64_t size;      /* bytes */
    khal__block* block; /* from submit until done */
    khal__request* next;
};

/* A buffer in a recording. */
typedef struct khal__use {
    khal_buffer* buffer;
    uint64_t epoch, inside_epoch; /* number of barriers when `pending` and `inside` began */
    khal__spans pending[2];       /* since the last barrier */
    khal__spans inside[2];        /* the same, of the open pass with manual barriers */
    khal__spans total[2];
    khal__span items[6]; /* first room of the six */
    struct khal__use* manual_next;
    bool in_manual;
} khal__use;

struct khal__recording {
    khal_device* device;
    atomic_uint refs;
    atomic_uint runs; /* submissions of it that have not retired */
    khal__recording* next_free;

    khal__chunk *chunks, *chunk; /* arena: all, and the one in use */

    khal__node *first_node, *last_node;
    khal__command *first_command, *last_command;
    uint32_t command_count, dispatch_index_count, since_barrier;
    uint64_t dispatches, copies, fills, barriers, work_items;
    bool has_native, sealed;

    khal__use** uses;
    uint32_t use_count, use_capacity;
    uint32_t* use_table; /* open addressing, 1 + index; used beyond a few uses */
    uint32_t use_table_capacity;
    uint64_t epoch;
    bool manual;
    khal__use* manual_uses;
    uint64_t barrier_signature;

    khal_function** functions;
    uint32_t function_count, function_capacity;
    khal__timing* timings;
    khal__timing* last_timing;
    khal__request* requests;
    khal__request* last_request;
};

/* NULL: out of memory, without khal__fail. */
khal__recording* khal__recording_acquire(khal_device* device);
void khal__recording_release(khal__recording* recording);
void khal__recording_free_pools(khal_device* device);
void* khal__recording_alloc_slow(khal__recording* recording, size_t size);
/* 16-aligned, not zeroed. */
static inline void* khal__recording_alloc(khal__recording* recording, size_t size);
khal__use* khal__recording_use_slow(khal__recording* recording, khal_buffer* buffer);
bool khal__recording_add_function_slow(khal__recording* recording, khal_function* function);
/* Not yet linked. */
khal__node* khal__recording_node(khal__recording* recording, khal__command_kind kind, uint32_t pass,
                                 const char* label, size_t size);
#define KHAL__NODE_SIZE(member)                                                                    \
    (offsetof(khal__node, command.u) + sizeof(((khal__command*)0)->u.member))
/* A dispatch with room for its arguments, their counts set. */
khal__node* khal__recording_dispatch_node(khal__recording* recording, uint32_t pass,
                                          const char* label, uint32_t binding_count,
                                          uint32_t local_count, uint32_t push_constant_size);
bool khal__recording_barrier(khal__recording* recording, uint32_t pass, const char* label,
                             uint32_t flags);
/* Records again, with barriers worked out anew. False: out of memory. */
bool khal__recording_clone(khal__recording* target, const khal__recording* source);

struct khal__chunk {
    khal__chunk* next;
    size_t size, used; /* of data, bytes */
    uint32_t class;
    _Alignas(16) unsigned char data[];
};

static inline void* khal__recording_alloc(khal__recording* recording, size_t size)
{
    khal__chunk* chunk = recording->chunk;
    size = (size + 15) & ~(size_t)15;
    if (chunk != NULL && size <= chunk->size - chunk->used) {
        void* memory = chunk->data + chunk->used;
        chunk->used += size;
        return memory;
    }
    return khal__recording_alloc_slow(recording, size);
}

/* The recording's record of the buffer, made and kept alive at its first use. NULL: out of memory.
 */
static inline khal__use* khal__recording_use(khal__recording* recording, khal_buffer* buffer)
{
    const uint32_t hint = atomic_load_explicit(&buffer->hint, memory_order_relaxed);
    if (hint < recording->use_count && recording->uses[hint]->buffer == buffer)
        return recording->uses[hint];
    return khal__recording_use_slow(recording, buffer);
}

static inline bool khal__recording_add_function(khal__recording* recording, khal_function* function)
{
    const uint32_t hint = atomic_load_explicit(&function->hint, memory_order_relaxed);
    if (hint < recording->function_count && recording->functions[hint] == function)
        return true;
    return khal__recording_add_function_slow(recording, function);
}

/* hazards.c: what a command reads and writes. First ask about all its ranges, then, after the
 * barrier if one is needed, add them. */
bool khal__hazard_check(khal__recording* recording, khal__use* use, uint64_t offset, uint64_t size,
                        bool write);
void khal__hazard_add(khal__recording* recording, khal__use* use, uint64_t offset, uint64_t size,
                      bool write);
void khal__hazard_pass_begin(khal__recording* recording, bool manual);
void khal__hazard_pass_end(khal__recording* recording);
void khal__hazard_seal(khal__recording* recording); /* totals are whole after it */

/* ---- grids -------------------------------------------------------------------------------------
 */

typedef struct khal__resolved_grid {
    uint32_t workgroup_size[3];
    uint64_t group_count[3], global_size[3];
    uint64_t work_items; /* saturated */
    bool is_empty;
} khal__resolved_grid;
khal_status khal__grid_resolve(const khal_function* function, const khal_grid* grid,
                               khal__resolved_grid* out);

/* ---- encoders ----------------------------------------------------------------------------------
 */

struct khal_pass {
    khal_encoder* encoder;
    bool open;
    uint32_t index;
    const char* label; /* the recording's copy, or NULL */
    khal__timing* timing;
};

struct khal_encoder {
    khal__object object;
    khal__recording* recording; /* NULL: empty */
    uint32_t pass_count;
    khal_status sticky; /* the first failure, KHAL_OK: none */
    khal_pass pass;
    khal_encoder* next_free;
    khal_error error; /* of sticky */
};

void khal__encoder_destroy(khal_encoder* encoder);
khal_status khal__encoder_stick(khal_encoder* encoder, khal_status status);
/* The encoder's state before a command between passes: KHAL_OK with a recording, or the (sticky)
 * failure. */
khal_status khal__encoder_ready(khal_encoder* encoder, const char* what);
void khal__encoder_empty(khal_encoder* encoder);
/* Before a submit or finish: KHAL_OK with a recording, or the failure, after which the encoder is
 * empty, except where a pass is still open. */
khal_status khal__encoder_end(khal_encoder* encoder, const char* what);
khal_status khal__binding_check(khal_device* device, const khal_function* function, uint32_t index,
                                const khal_slice* slice, khal__range* out_range);
/* Append checked commands; false: out of memory. */
bool khal__append_dispatch(khal__recording* recording, khal__node* node, khal_function* function);
bool khal__append_copy(khal__recording* recording, khal__range source, khal__range target);
bool khal__append_fill(khal__recording* recording, khal__range target, const void* pattern,
                       uint32_t pattern_size);
bool khal__append_native(khal__recording* recording, khal_native_fn call, void* user,
                         const khal__range* ranges, uint32_t read_count, uint32_t write_count);
bool khal__append_request(khal__recording* recording, khal_readback* readback,
                          const khal__range* ranges, uint32_t count);
khal__timing* khal__append_timing(khal__recording* recording, khal_timestamps* timestamps,
                                  const char* label);
bool khal__append_time(khal__recording* recording, khal__timing* timing, uint32_t which,
                       uint32_t pass, const char* label);

struct khal_commands {
    khal__object object;
    khal__mutex lock;
    khal__recording* master;  /* holds the current values; never runs */
    khal__recording* current; /* what is submitted; NULL when values changed */
    uint64_t version;         /* khal__submission.version of `current` */
    khal__replay replay;      /* the backend's */
    bool has_run;
    uint64_t last_signature; /* of the barriers of the last one submitted */
    khal__node** dispatches;
    uint32_t dispatch_count;
    uint32_t most_uses; /* buffers of the master beyond which those it no longer uses are let go */
};

void khal__commands_destroy(khal_commands* commands);

/* ---- running -----------------------------------------------------------------------------------
 */

struct khal__run {
    khal__submission submission; /* first */
    khal__recording* recording;
    khal__run* next;
};

/* Takes over one reference and one of recording->runs, whatever comes of it. replay and version: as
 * in khal__submission; NULL and 0: the recording runs this once. */
khal_status khal__submit(khal_device* device, khal__recording* recording, khal__replay* replay,
                         uint64_t version, khal_ticket* out_ticket);
/* Lets go of what is complete; returns the last complete ticket. */
khal_ticket khal__retire(khal_device* device);
void khal__retire_all(
    khal_device* device); /* closing: everything is complete, or the device lost */
/* Waits for a ticket without a lock; KHAL_TIMEOUT without khal__fail. */
khal_status khal__wait(khal_device* device, khal_ticket ticket, uint64_t timeout);
/* Of a submission that failed: true and a copy. */
bool khal__failed_find(khal_device* device, khal_ticket ticket, khal__failed* out);
uint64_t khal__deadline(uint64_t timeout); /* a clock time, UINT64_MAX: never */
uint64_t khal__remaining(uint64_t deadline);
void khal__nap(void); /* some microseconds, between polls */
khal_status khal__native_trampoline(void* user, const khal_native* native);

/* ---- timestamps and readback -------------------------------------------------------------------
 */

typedef struct khal__time_entry {
    char label[KHAL__LABEL_SIZE];
    uint64_t begin, end;
} khal__time_entry;

struct khal_timestamps {
    khal__object object;
    bool enabled;
    uint32_t capacity;
    khal__time_entry* entries;
    /* under track_lock */
    uint64_t generation; /* number of resets */
    uint32_t count, missed;
    khal_ticket last_ticket;
    bool requested, failed;
    khal_status failed_status;
    khal_error_id failed_id;
    char failed_message[160];
};

void khal__timestamps_destroy(khal_timestamps* timestamps);

typedef enum khal__block_state {
    KHAL__BLOCK_FREE,
    KHAL__BLOCK_RESERVED, /* a submit is on its way */
    KHAL__BLOCK_IN_FLIGHT,
    KHAL__BLOCK_DONE,
    KHAL__BLOCK_FAILED,
    KHAL__BLOCK_TAKING, /* being copied out */
} khal__block_state;

/* Memory of one read. There are as many as slots, and more only while cancelled reads still run. */
struct khal__block {
    khal__block* next;
    khal__block_state state;
    bool cancelled;
    uint64_t size; /* bytes asked for */
    khal_status failed_status;
    khal_error_id failed_id;
    char failed_message[160];
    unsigned char* memory;
};

struct khal_readback {
    khal__object object;
    uint64_t capacity_count, capacity_size;
    uint32_t element_size, slot_count;
    /* under track_lock */
    khal__block* blocks;
    khal__block** queue; /* ring of slot_count: reads in order */
    uint32_t queue_first, queue_count;
};

void khal__readback_destroy(khal_readback* readback);
khal__block* khal__readback_new_block(khal_readback* readback);
void khal__block_end(khal__block* block,
                     const khal__submission* submission); /* its run is done; under track_lock */

#endif
