/* What the stand-in's files share. One lock is over all of its state; kernels and copies run without it, on their stream's
 * thread. */
#ifndef STANDIN_PARTS_H
#define STANDIN_PARTS_H

#include "standin.h"

#include "backends/cuda/cu_api.h"

#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))
#ifdef STANDIN_IS_NONE /* exports nothing of CUDA */
#define EXPORT_CUDA __attribute__((unused, visibility("hidden")))
#else
#define EXPORT_CUDA EXPORT
#endif
#define HIDDEN __attribute__((visibility("hidden")))

#define MOST_DEVICES 2
#define MOST_PARAMETERS 256
#define STATIC_SHARED_LIMIT 49152 /* bytes of shared memory that need no asking */

typedef enum object_kind {
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_MODULE,
    OBJECT_FUNCTION, /* part of its module */
    OBJECT_GRAPH,
    OBJECT_NODE, /* part of its graph */
    OBJECT_EXEC,
    OBJECT_KIND_COUNT
} object_kind;

typedef struct context {
    int device;
    bool is_primary, is_alive;
    unsigned references; /* of a primary one */
    int stuck;           /* the error that every call gives */
    unsigned sequence;   /* for handles that outlive it */
    struct context* next;
} context;

/* At the head of every object with a handle. */
typedef struct object {
    object_kind kind;
    context* context;
    struct object* next; /* in its bucket */
} object;

typedef enum memory_kind { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_REGISTERED } memory_kind;

typedef struct allocation {
    CUdeviceptr address;
    char* host; /* where the bytes are */
    size_t size;
    context* context;
    memory_kind kind;
    struct allocation* next;
} allocation;

typedef struct function {
    object object;
    struct module* module;
    char name[256];
    unsigned parameter_count;
    size_t offsets[MOST_PARAMETERS], sizes[MOST_PARAMETERS];
    unsigned registers, required[3]; /* .reqntid; 0: none */
    int thread_limit, static_shared, dynamic_limit;
    struct function* next;
} function;

typedef struct module {
    object object;
    function* functions;
    char* code;       /* the PTX that it was made of */
    unsigned pending; /* launches that did not run yet */
} module;

typedef enum work_kind { WORK_LAUNCH, WORK_COPY, WORK_FILL } work_kind;

/* One thing to do, the same for streams and for graphs; not changed once it is made. */
typedef struct work {
    unsigned references;
    work_kind kind;
    context* context;
    union {
        struct {
            module* module;
            char name[256];
            unsigned grid[3], block[3], shared, parameter_count;
            size_t sizes[MOST_PARAMETERS];
            const void* parameters[MOST_PARAMETERS]; /* into bytes */
            void* bytes;
        } launch;
        struct {
            char* to;
            const char* from;
            size_t size;
            void* kept; /* what `from` points to where the bytes were taken at once */
        } copy;
        struct {
            char* to;
            unsigned value, element_size;
            size_t count;
        } fill;
    } u;
} work;

typedef struct event {
    object object;
    bool has_time;
    unsigned references;      /* of operations, and one of the handle */
    uint64_t recorded, done;  /* numbers of records: asked for, happened */
    uint64_t time;            /* ns, of the last that happened */
} event;

/* One entry of a stream. */
typedef struct operation {
    enum { RUN_WORK, RUN_GRAPH, RECORD_EVENT, WAIT_EVENT } kind;
    work** works; /* RUN_WORK: one; RUN_GRAPH: in the order in which they run */
    unsigned work_count;
    struct graph_exec* exec;
    event* event;
    uint64_t number;
    struct operation* next;
} operation;

typedef struct stream {
    object object;
    pthread_t thread;
    operation *first, **last;
    bool is_busy, is_held, ends;
    struct stream* next;
} stream;

/* ---- standin.c --------------------------------------------------------------------------------- */

extern standin_traits traits HIDDEN;
extern pthread_mutex_t lock HIDDEN;
extern pthread_cond_t changed HIDDEN; /* something ran, was let go or ended */

typedef enum call_kind {
    CALL_ANYTIME,   /* before Init too */
    CALL_PLAIN,     /* needs no context */
    CALL_QUERY,     /* in a context; does not fail for want of memory */
    CALL_MAKES,     /* in a context; may fail for want of memory */
    CALL_RELEASES,  /* in a context; done also where the context is stuck */
} call_kind;
/* Every function of the driver starts with `begin`, which takes the lock, and ends with `end`, which gives it back. What begin
 * gives is the call's result where it is not CUDA_SUCCESS; what releases asks `releases` whether to go on. */
CUresult begin(const char* name, call_kind kind) HIDDEN;
CUresult end(CUresult result) HIDDEN;
bool releases(CUresult result) HIDDEN;
void count_call(const char* name) HIDDEN; /* another name for the call that runs: "JIT" */
context* current(void) HIDDEN;

void misuse(const char* format, ...) __attribute__((format(printf, 1, 2))) HIDDEN;
/* CUDA_ERROR_INVALID_VALUE, counted as misuse. */
CUresult invalid(const char* format, ...) __attribute__((format(printf, 1, 2))) HIDDEN;
void note(const char* format, ...) __attribute__((format(printf, 1, 2))) HIDDEN; /* a line of the journal */

void* make_object(object_kind kind, size_t size) HIDDEN; /* zeroed, of the current context */
void drop_object(void* any) HIDDEN;                      /* out of the table, and freed */
void forget_object(void* any) HIDDEN;                    /* out of the table alone */
/* The object, or NULL and misuse: it does not live, is of another kind, or not of the current context. */
void* check_object(const void* handle, object_kind kind) HIDDEN;
object* any_object(object_kind kind, const context* of) HIDDEN;

uint64_t now(void) HIDDEN; /* ns */

/* ---- standin_memory.c ---------------------------------------------------------------------------------- */

/* Where those bytes are; NULL and misuse: they are not inside one allocation of the current context's device. */
char* resolve(CUdeviceptr address, size_t size) HIDDEN;
const allocation* allocation_of(CUdeviceptr address) HIDDEN; /* its end counts as inside; NULL: none */
bool is_device_address(uint64_t word) HIDDEN;
bool is_pinned(const void* host, size_t size) HIDDEN;
void memory_forget(context* of) HIDDEN;
unsigned memory_count(const context* of) HIDDEN; /* NULL: of all */
const allocation* any_memory(void) HIDDEN;
uint64_t memory_sum(int device, bool is_pinned) HIDDEN;

/* ---- standin_stream.c ---------------------------------------------------------------------------------- */

work* make_work(work_kind kind) HIDDEN;
work* keep_work(work* w) HIDDEN;
void drop_work(work* w) HIDDEN;
CUresult push_work(stream* s, work* w) HIDDEN; /* takes the reference */
void push_operation(stream* s, operation made) HIDDEN;
/* Until nothing is left in it. */
void drain(stream* s) HIDDEN;
void drain_context(const context* of) HIDDEN;
void drain_all(void) HIDDEN; /* of every context */
void stream_end(stream* s) HIDDEN;
void event_drop(event* e) HIDDEN;
void hold(void* stream, bool is_held) HIDDEN; /* stream NULL: all */
void let_go(const context* of) HIDDEN;
void set_kernel(const char* name, standin_kernel_fn run, void* user) HIDDEN;
void set_other_kernels(standin_kernel_fn run, void* user) HIDDEN;
void forget_kernels(void) HIDDEN;

/* ---- standin_module.c ---------------------------------------------------------------------------------- */

void module_drop(module* m) HIDDEN;
void* make_cubin(const char* text, size_t* out_size) HIDDEN;
/* The launch with its parameters copied, or NULL and *result. */
work* make_launch(function* f, const unsigned grid[3], const unsigned block[3], unsigned shared, void** parameters,
                  CUresult* result) HIDDEN;

/* ---- standin_graph.c ----------------------------------------------------------------------------------- */

void graph_drop(object* graph) HIDDEN;
void exec_drop(object* exec) HIDDEN;
void exec_ran(struct graph_exec* exec) HIDDEN; /* one launch of it less is on its way */

#endif
