#include "cpu.h"

#include <fenv.h>
#include <stdio.h>
#include <string.h>

_Static_assert(CPU_ALIGN % KHAL__MEMORY_ALIGN == 0,
               "buffers and scratch are aligned for all kernels");

/* Where nothing is bound there is no byte to reach, but a kernel may still form the address. */
static _Alignas(CPU_ALIGN) char nothing[CPU_ALIGN];

static uint64_t saturating_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static char* address(const khal__range* range)
{
    cpu_buffer* buffer = range->buffer ? khal__buffer_impl(range->buffer) : NULL;
    return buffer && buffer->memory ? (char*)buffer->memory + range->offset : nothing;
}

static void fail(khal__submission* submission, khal_error_id id, const char* message)
{
    if (submission->status == KHAL_OK) {
        submission->status = KHAL_EXECUTION_FAILED;
        submission->error_id = id;
        snprintf(submission->message, sizeof submission->message, "%s", message);
    }
}

/* ---- estimates ------------------------------------------------------------------------------- */

/* A loop's length often comes from the push constants, so what was measured holds for the same
 * ones, and for others only when several in a row made no difference. Trusting it wrongly would
 * hold up the caller of submit. */
static uint32_t hash_constants(const khal__command* command)
{
    const uint8_t* bytes = command->u.dispatch.push_constants;
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < command->u.dispatch.push_constant_size; i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    return hash;
}

/* 0 where nothing is known. */
static uint32_t known_cost(const cpu_function* function, uint32_t hash)
{
    bool trusted = atomic_load_explicit(&function->hash, memory_order_relaxed) == hash ||
                   atomic_load_explicit(&function->trust, memory_order_relaxed) >= CPU_TRUST;
    return trusted ? atomic_load_explicit(&function->cost, memory_order_relaxed) : 0;
}

static void learn(cpu_function* function, uint32_t hash, uint64_t ns, uint64_t items,
                  uint32_t threads)
{
    /* What a call costs in itself is not the items'. */
    uint64_t busy = saturating_multiply(ns > 100 ? ns - 100 : 0, threads);
    uint64_t sample = saturating_multiply(busy, 1000) / items;
    sample = sample < 1 ? 1 : sample > UINT32_MAX ? UINT32_MAX : sample;

    uint64_t before = atomic_load_explicit(&function->cost, memory_order_relaxed);
    bool same = atomic_load_explicit(&function->hash, memory_order_relaxed) == hash;
    bool near = busy / 4 <= saturating_multiply(before, items) / 1000 + 500;
    if (!same && before) {
        uint32_t trust = atomic_load_explicit(&function->trust, memory_order_relaxed);
        trust = !near ? 0 : trust < CPU_TRUST ? trust + 1 : trust;
        atomic_store_explicit(&function->trust, trust, memory_order_relaxed);
    }
    uint64_t after = before && (same || near) ? (before + sample + 1) / 2 : sample;
    atomic_store_explicit(&function->cost, (uint32_t)after, memory_order_relaxed);
    atomic_store_explicit(&function->hash, hash, memory_order_relaxed);
}

uint64_t cpu_estimate(const khal__submission* submission)
{
    if (submission->has_native || submission->command_count > CPU_INLINE_COMMANDS) {
        return UINT64_MAX;
    }
    uint64_t ns = 0;
    for (const khal__command* c = submission->commands; c; c = c->next) {
        switch (c->kind) {
        case KHAL__COMMAND_DISPATCH: {
            /* printf calls the user's function, which may not be called from within submit. */
            if (c->u.dispatch.is_indirect || cpu_prints(c->u.dispatch.function)) {
                return UINT64_MAX;
            }
            const uint64_t* size = c->u.dispatch.global_size;
            uint64_t items = saturating_multiply(saturating_multiply(size[0], size[1]), size[2]);
            uint32_t cost =
                known_cost(khal__function_impl(c->u.dispatch.function), hash_constants(c));
            if (cost == 0) {
                return UINT64_MAX;
            }
            ns = saturating_add(ns, saturating_multiply(items, cost) / 1000);
            break;
        }
        case KHAL__COMMAND_COPY: ns = saturating_add(ns, c->u.copy.source.size / 8); break;
        case KHAL__COMMAND_FILL: ns = saturating_add(ns, c->u.fill.target.size / 8); break;
        case KHAL__COMMAND_READ: ns = saturating_add(ns, c->u.read.source.size / 8); break;
        case KHAL__COMMAND_NATIVE: return UINT64_MAX;
        case KHAL__COMMAND_BARRIER:
        case KHAL__COMMAND_TIMESTAMP: break;
        }
    }
    return ns;
}

/* ---- dispatches ------------------------------------------------------------------------------ */

typedef struct dispatch_job {
    khal_cpu_launch launch;
    khal_cpu_kernel_fn run;
} dispatch_job;

static void run_groups(void* user, uint64_t first, uint64_t last, void* scratch)
{
    const dispatch_job* job = user;
    job->run(&job->launch, first, last, scratch);
}

static void print(void* user, const char* text, size_t size)
{
    fenv_t environment;
    fegetenv(&environment);
    khal__device_print(user, text, size);
    fesetenv(&environment);
}

/* A chunk takes some tens of microseconds, and there are enough of them for threads that are slower
 * or come late. */
static void choose_chunks(cpu_job* job, uint64_t ns, bool known)
{
    uint64_t threads = job->thread_count;
    uint64_t chunks = known ? ns / 50000 : threads * 16;
    if (chunks < threads * 4) {
        chunks = threads * 4;
    }
    if (chunks > threads * 32) {
        chunks = threads * 32;
    }
    job->chunk_size = (job->unit_count - 1) / chunks + 1;
}

static void run_dispatch(cpu_device* device, khal__submission* submission,
                         const khal__command* command, bool alone)
{
    cpu_function* function = khal__function_impl(command->u.dispatch.function);
    const uint32_t* local = command->u.dispatch.workgroup_size;
    uint32_t count = command->u.dispatch.binding_count;
    void* bindings[CPU_MAX_BINDINGS];
    uint64_t sizes[CPU_MAX_BINDINGS];
    uint64_t groups[3], items[3];

    if (command->u.dispatch.is_indirect) {
        uint32_t counts[3];
        memcpy(counts, address(&command->u.dispatch.indirect), sizeof counts);
        for (int i = 0; i < 3; i++) {
            groups[i] = counts[i];
            items[i] = groups[i] * local[i];
        }
        if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) {
            return;
        }
    } else {
        memcpy(groups, command->u.dispatch.group_count, sizeof groups);
        memcpy(items, command->u.dispatch.global_size, sizeof items);
    }
    uint64_t group_total = 0;
    if (__builtin_mul_overflow(groups[0], groups[1], &group_total) ||
        __builtin_mul_overflow(group_total, groups[2], &group_total)) {
        char message[160];
        snprintf(message, sizeof message, "%llu x %llu x %llu work-groups are more than 2^64 - 1",
                 (unsigned long long)groups[0], (unsigned long long)groups[1],
                 (unsigned long long)groups[2]);
        fail(submission, KHAL_ERROR_INDIRECT_TOO_LARGE, message);
        return;
    }
    uint64_t item_total = saturating_multiply(saturating_multiply(items[0], items[1]), items[2]);

    for (uint32_t i = 0; i < count; i++) {
        bindings[i] = address(&command->u.dispatch.bindings[i]);
        sizes[i] = command->u.dispatch.bindings[i].size;
    }
    dispatch_job job = {
        .launch =
            {
                .work_dim = groups[2] * local[2] > 1   ? 3
                            : groups[1] * local[1] > 1 ? 2
                                                       : 1,
                .local_size = {local[0], local[1], local[2]},
                .group_count = {groups[0], groups[1], groups[2]},
                .global_size = {items[0], items[1], items[2]},
                .bindings = bindings,
                .binding_sizes = sizes,
                .push_constants = command->u.dispatch.push_constants,
                .local_sizes = command->u.dispatch.local_sizes,
                .print = print,
                .print_user = device->owner,
            },
        .run = function->kernel->run,
    };

    uint64_t scratch = saturating_multiply(function->kernel->scratch_per_item,
                                           (uint64_t)local[0] * local[1] * local[2]);
    scratch = saturating_add(scratch, function->kernel->scratch_fixed);
    for (uint32_t i = 0; i < command->u.dispatch.local_count; i++) {
        uint64_t size = saturating_add(command->u.dispatch.local_sizes[i], CPU_ALIGN - 1) &
                        ~(uint64_t)(CPU_ALIGN - 1);
        scratch = saturating_add(scratch, size);
    }

    uint32_t hash = hash_constants(command);
    uint32_t cost = known_cost(function, hash);
    uint64_t ns = saturating_multiply(item_total, cost) / 1000;
    uint64_t threads = 1;
    if (!alone) {
        threads = cost ? ns / CPU_THREAD_NS + 1 : device->thread_count;
        threads = threads < device->thread_count ? threads : device->thread_count;
        threads = threads < group_total ? threads : group_total;
    }
    cpu_job work = {
        .run = run_groups,
        .user = &job,
        .unit_count = group_total,
        .scratch_size = scratch,
        .thread_count = (uint32_t)threads,
    };
    choose_chunks(&work, ns, cost != 0);
    uint64_t begin = khal__clock_now();
    if (!cpu_pool_run(&device->pool, &work)) {
        char message[160];
        snprintf(message, sizeof message, "no memory for the %llu bytes that a work-group needs",
                 (unsigned long long)scratch);
        fail(submission, KHAL_ERROR_OUT_OF_MEMORY, message);
        return;
    }
    learn(function, hash, khal__clock_now() - begin, item_total, (uint32_t)threads);
}

/* ---- copies and fills ------------------------------------------------------------------------ */

typedef struct copy_job {
    char* target;
    const char* source;
    uint64_t size; /* bytes */
} copy_job;

static void copy_chunks(void* user, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    const copy_job* job = user;
    uint64_t begin = first * CPU_COPY_CHUNK;
    uint64_t end = last * CPU_COPY_CHUNK < job->size ? last * CPU_COPY_CHUNK : job->size;
    memcpy(job->target + begin, job->source + begin, (size_t)(end - begin));
}

typedef struct fill_job {
    char* target;
    uint64_t size; /* bytes */
    uint8_t pattern[64];
    bool is_byte;
} fill_job;

static void fill_chunks(void* user, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    const fill_job* job = user;
    uint64_t begin = first * CPU_COPY_CHUNK;
    uint64_t end = last * CPU_COPY_CHUNK < job->size ? last * CPU_COPY_CHUNK : job->size;
    if (job->is_byte) {
        memset(job->target + begin, job->pattern[0], (size_t)(end - begin));
        return;
    }
    /* A chunk's start is a multiple of every pattern's size. */
    while (end - begin >= sizeof job->pattern) {
        memcpy(job->target + begin, job->pattern, sizeof job->pattern);
        begin += sizeof job->pattern;
    }
    if (begin < end) {
        memcpy(job->target + begin, job->pattern, (size_t)(end - begin));
    }
}

/* Without scratch a job can't fail. */
static void run_bytes(cpu_device* device, cpu_chunk_fn run, void* user, uint64_t size, bool alone)
{
    uint64_t chunks = (size - 1) / CPU_COPY_CHUNK + 1;
    bool spread = !alone && chunks >= 4;
    cpu_job job = {
        .run = run,
        .user = user,
        .unit_count = chunks,
        .chunk_size = 1,
        .thread_count = spread ? device->thread_count : 1,
    };
    cpu_pool_run(&device->pool, &job);
}

static void run_fill(cpu_device* device, const khal__command* command, bool alone)
{
    uint64_t size = command->u.fill.target.size;
    uint32_t pattern_size = command->u.fill.pattern_size;
    fill_job job = {.target = address(&command->u.fill.target), .size = size, .is_byte = true};
    if (size == 0) {
        return;
    }
    for (uint32_t i = 0; i < sizeof job.pattern; i++) {
        job.pattern[i] = command->u.fill.pattern[i % pattern_size];
        job.is_byte = job.is_byte && job.pattern[i] == job.pattern[0];
    }
    run_bytes(device, fill_chunks, &job, size, alone);
}

static void run_copy(cpu_device* device, const khal__range* source, char* target, bool alone)
{
    if (source->size) {
        copy_job job = {target, address(source), source->size};
        run_bytes(device, copy_chunks, &job, source->size, alone);
    }
}

/* ---- a submission ---------------------------------------------------------------------------- */

static void run_native(khal__submission* submission, const khal__command* command)
{
    const khal_native native = {KHAL_BACKEND_CPU, NULL};
    fenv_t environment; /* the thread's own, whatever the callback makes of it */
    fegetenv(&environment);
    khal_status status = command->u.native.call(command->u.native.user, &native);
    fesetenv(&environment);
    if (status != KHAL_OK) {
        char message[160];
        snprintf(message, sizeof message, "the native callback returned %s",
                 khal_status_name(status));
        fail(submission, KHAL_ERROR_NATIVE_FAILED, message);
    }
}

void cpu_execute(cpu_device* device, khal__submission* submission, bool alone)
{
    for (const khal__command* c = submission->commands; c; c = c->next) {
        switch (c->kind) {
        case KHAL__COMMAND_DISPATCH: run_dispatch(device, submission, c, alone); break;
        case KHAL__COMMAND_COPY:
            run_copy(device, &c->u.copy.source, address(&c->u.copy.target), alone);
            break;
        case KHAL__COMMAND_FILL: run_fill(device, c, alone); break;
        case KHAL__COMMAND_READ: run_copy(device, &c->u.read.source, c->u.read.out, alone); break;
        case KHAL__COMMAND_TIMESTAMP:
            *c->u.timestamp.out = khal__clock_now() - device->epoch;
            break;
        case KHAL__COMMAND_NATIVE: run_native(submission, c); break;
        case KHAL__COMMAND_BARRIER: break; /* each command ends before the next begins */
        }
    }
}
