/* The CPU backend: work-groups over a pool of threads.
 *
 * Work runs in one of two ways. A submission that is estimated to take less than CPU_INLINE_NS,
 * while nothing else is queued, runs inside submit, on the caller's thread, with no lock and no
 * wake-up. Everything else goes to a list that one executor at a time takes from, in order: the
 * queue thread, or a thread that waits without a time limit. The executor spreads each large
 * dispatch, copy and fill over the pool and takes part itself; a waiting thread helps too. No more
 * than thread_count threads run kernels of one device at a time.
 *
 * How long a kernel takes a work-item is measured each time it runs, and the estimates follow from
 * that; a kernel that has not run yet, or not with such push constants, is not run inside submit.
 *
 * Threads start when they are first needed, block all signals and sleep when idle. A process that
 * forks with an open device may not use it in the child. KHAL_CPU_LEVEL=base, v3 or v4 in the
 * environment lowers the SIMD level; it never raises it above what processor and system support. */
#ifndef KHAL_BACKENDS_CPU_H
#define KHAL_BACKENDS_CPU_H

#include <stdatomic.h>

#include "../../core/backend.h"
#include "../../platform/platform.h"

#define CPU_ALIGN 128u /* of buffers and scratch: two cache lines, as prefetchers fetch them */
#define CPU_MAX_THREADS 4096u
#define CPU_MAX_BINDINGS 64u
#define CPU_MAX_INVOCATIONS 1024u
#define CPU_LOCAL_MEMORY_SIZE                                                                      \
    65536u /* more than any GPU's shared memory that a kernel may count on everywhere */
#define CPU_PUSH_CONSTANT_SIZE 4096u
#define CPU_MAX_GROUP_COUNT                                                                        \
    (1ull << 48) /* in each dimension: times the invocations it still fits 64 bits */

#define CPU_INLINE_NS 20000u    /* work up to this estimate runs inside submit */
#define CPU_INLINE_COMMANDS 64u /* and has no more commands than this */
#define CPU_THREAD_NS 10000u    /* less work than this is not worth another thread */
#define CPU_SPIN_NS 20000u /* how long threads look for work, or for an end, before they sleep */
#define CPU_TRUST 4u /* so many other push constants in a row, and their values do not matter */
#define CPU_COPY_CHUNK (1ull << 20)
#define CPU_PAGES_SIZE                                                                             \
    (1ull << 20) /* buffers from this size on come from the system in whole pages */

/* ---- the machine (cpu_info.c) ---------------------------------------------------------------- */

khal_cpu_level cpu_machine_level(void); /* the highest that processor and system support */
const char* cpu_level_name(khal_cpu_level level); /* "AVX2", as in the device's name */
/* The machine's level, or a lower one that KHAL_CPU_LEVEL names; false where that holds something
 * else. */
bool cpu_chosen_level(khal_cpu_level* out_level);
void cpu_fill_info(khal_device_info* out_info, uint32_t thread_count, khal_cpu_level level);

/* ---- the pool (cpu_pool.c) ------------------------------------------------------------------- */

/* Runs the units first <= u < last. */
typedef void (*cpu_chunk_fn)(void* user, uint64_t first, uint64_t last, void* scratch);

typedef struct cpu_job {
    cpu_chunk_fn run;
    void* user;
    uint64_t unit_count;   /* never 0 */
    uint64_t chunk_size;   /* units, never 0 */
    uint64_t scratch_size; /* bytes that each thread needs, 0: none */
    uint32_t thread_count; /* threads to use at most, the caller's included; never 0 */
} cpu_job;

typedef struct cpu_scratch {
    void* memory;
    size_t size;
} cpu_scratch;

typedef struct cpu_worker {
    _Alignas(CPU_ALIGN) khal__mutex mutex;
    khal__condition wake;
    _Atomic uint32_t asleep;
    cpu_scratch scratch;
    struct cpu_pool* pool;
    khal__thread thread;
} cpu_worker;

typedef struct cpu_pool {
    /* One word opens and closes jobs: the number of threads inside, how many may be, flags, and the
     * job's number. A thread that is inside reads `job`, which changes only while the gate is shut
     * and nobody is inside. */
    _Alignas(CPU_ALIGN) _Atomic uint64_t gate;
    _Alignas(CPU_ALIGN) _Atomic uint64_t next_chunk;
    _Atomic uint32_t
        next_wake; /* workers before this one were looked at, and woken, for this job */
    _Atomic uint32_t stop;
    _Atomic uint32_t helper_busy;
    cpu_job job;
    uint64_t chunk_count;
    khal__mutex mutex; /* the executor sleeps here for the last threads to leave */
    khal__condition left;
    khal_device* device;
    cpu_worker* workers; /* thread_count - 1, and one entry more, which has no thread: the helping
                            waiter's scratch */
    cpu_scratch executor;
    uint32_t thread_count;                /* as asked for, the executor's included */
    uint32_t worker_count, started_count; /* threads that the system gives, and gave so far */
    uint64_t spin_ns; /* 0 where spinning takes the processor from those who work */
} cpu_pool;

bool cpu_pool_init(cpu_pool* pool, khal_device* device, uint32_t thread_count);
void cpu_pool_close(cpu_pool* pool); /* joins the threads */
/* Runs a job on the calling thread and up to thread_count - 1 others, and returns when all of it is
 * done. One caller at a time. False: no memory for the caller's scratch, and nothing has run. */
bool cpu_pool_run(cpu_pool* pool, const cpu_job* job);
/* Takes part in the job that runs now, if it has room and is not number `*seen`; false: there was
 * nothing to do. */
bool cpu_pool_help(cpu_pool* pool, uint64_t* seen);

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

/* ---- objects --------------------------------------------------------------------------------- */

typedef struct cpu_device {
    cpu_pool pool;
    khal_device* owner;
    khal_cpu_level level;
    uint32_t thread_count;
    bool own_allocator; /* the user's: all memory comes from there */
    uint64_t epoch;
    khal_ticket last_submitted; /* submit's alone */

    _Alignas(CPU_ALIGN) _Atomic uint64_t completed;
    _Atomic uint32_t waiters; /* threads that sleep on `done`, or are about to */
    khal__mutex mutex;        /* of everything below */
    khal__condition work, done;
    khal__submission *first, *last;
    bool executing; /* some thread is the executor */
    bool queue_asleep, stop, has_thread;
    khal__thread thread;
} cpu_device;

/* The front's room for a device may be less aligned than the struct, so it holds the address. */
static inline cpu_device* cpu_device_of(khal_device* device)
{
    return *(cpu_device**)khal__device_impl(device);
}

typedef struct cpu_buffer {
    void* memory; /* NULL where size is 0 */
    size_t size;
    bool is_mapped_pages, is_host_memory;
} cpu_buffer;

typedef struct cpu_module {
    const khal_cpu_kernel* kernels;
} cpu_module;

typedef struct cpu_function {
    const khal_cpu_kernel* kernel;
    /* What the last runs took, in picoseconds a work-item (0: none yet), the hash of the push
     * constants of the last, and how many runs with others than the one before took as long.
     * Written by the executor alone. */
    _Atomic uint32_t cost, hash, trust;
} cpu_function;

/* ---- running --------------------------------------------------------------------------------- */

static inline bool cpu_prints(khal_function* function)
{
    return (khal__function_kernel(function)->flags & KHAL_KERNEL_HAS_PRINTF) != 0;
}

/* cpu_run.c: what a submission is estimated to take, UINT64_MAX where that is not known or it may
 * not run inside submit. */
uint64_t cpu_estimate(const khal__submission* submission);
/* Runs all commands; a command that fails has no effect, the others run, and the first failure is
 * the submission's. With `alone` it stays on this thread. The caller is the only executor. */
void cpu_execute(cpu_device* device, khal__submission* submission, bool alone);

/* cpu_queue.c */
void cpu_queue_init(cpu_device* device);
void cpu_queue_close(cpu_device* device);
khal_status cpu_submit(khal_device* device, khal__submission* submission);
khal_ticket cpu_completed(khal_device* device);
khal_status cpu_wait(khal_device* device, khal_ticket ticket, uint64_t timeout);

/* The floating-point environment of kernels: round to nearest, denormals kept, exceptions masked.
 */
typedef struct cpu_float_state {
    uint64_t control;
} cpu_float_state;
cpu_float_state cpu_float_begin(void);
void cpu_float_end(cpu_float_state state);

extern const khal__backend khal__cpu_backend;

#endif
