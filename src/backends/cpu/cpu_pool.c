#include "cpu.h"

#include <string.h>

/* The gate: threads inside, how many may be, whether it is open, whether the executor sleeps, and
 * the job's number. */
#define INSIDE_MASK 0xffffull
#define MOST_SHIFT 16
#define OPEN (1ull << 32)
#define SLEEPER (1ull << 33)
#define NUMBER_SHIFT 34
#define NUMBER(gate) ((gate) >> NUMBER_SHIFT)

static bool grow(khal_device* device, cpu_scratch* scratch, uint64_t size)
{
    if (size <= scratch->size) {
        return true;
    }
    if (size > SIZE_MAX - 4096) {
        return false;
    }
    size_t wanted = ((size_t)size + 4095) & ~(size_t)4095;
    void* memory = khal__alloc(device, wanted, CPU_ALIGN);
    if (!memory) {
        return false;
    }
    if (scratch->memory) {
        khal__free(device, scratch->memory, scratch->size);
    }
    scratch->memory = memory;
    scratch->size = wanted;
    return true;
}

static bool enter(cpu_pool* pool, uint64_t* seen)
{
    uint64_t gate = atomic_load(&pool->gate);
    while ((gate & OPEN) && NUMBER(gate) != *seen) {
        if ((gate & INSIDE_MASK) >= ((gate >> MOST_SHIFT) & INSIDE_MASK)) {
            *seen = NUMBER(gate); /* full: the next job, perhaps */
            return false;
        }
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1)) {
            *seen = NUMBER(gate);
            return true;
        }
    }
    return false;
}

static void leave(cpu_pool* pool)
{
    uint64_t gate = atomic_fetch_sub(&pool->gate, 1) - 1;
    if ((gate & INSIDE_MASK) == 0 && (gate & SLEEPER)) {
        khal__mutex_lock(&pool->mutex);
        khal__condition_signal(&pool->left);
        khal__mutex_unlock(&pool->mutex);
    }
}

static void wake_one(cpu_pool* pool)
{
    /* Whoever works wakes others, so that the number of the awake doubles instead of growing by
     * one. */
    while (atomic_load_explicit(&pool->next_wake, memory_order_relaxed) < pool->started_count) {
        uint32_t i = atomic_fetch_add_explicit(&pool->next_wake, 1, memory_order_relaxed);
        if (i >= pool->started_count) {
            return;
        }
        cpu_worker* worker = &pool->workers[i];
        if (atomic_load(&worker->asleep)) {
            khal__mutex_lock(&worker->mutex);
            bool asleep = atomic_load(&worker->asleep) != 0;
            if (asleep) {
                atomic_store(&worker->asleep, 0);
                khal__condition_signal(&worker->wake);
            }
            khal__mutex_unlock(&worker->mutex);
            if (asleep) {
                return;
            }
        }
    }
}

static void work(cpu_pool* pool, void* scratch)
{
    const cpu_job* job = &pool->job;
    for (;;) {
        uint64_t chunk = atomic_fetch_add_explicit(&pool->next_chunk, 1, memory_order_relaxed);
        if (chunk >= pool->chunk_count) {
            return;
        }
        if (chunk + 1 < pool->chunk_count) {
            uint64_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);
            if ((gate & INSIDE_MASK) < ((gate >> MOST_SHIFT) & INSIDE_MASK)) {
                wake_one(pool);
            }
        }
        uint64_t first = chunk * job->chunk_size;
        uint64_t left = job->unit_count - first;
        job->run(job->user, first, first + (left < job->chunk_size ? left : job->chunk_size),
                 scratch);
    }
}

static void work_as(cpu_pool* pool, cpu_scratch* scratch)
{
    /* A thread that gets no memory leaves its share to the others. */
    if (grow(pool->device, scratch, pool->job.scratch_size)) {
        work(pool, scratch->memory);
    }
}

static void run_worker(void* user)
{
    cpu_worker* worker = user;
    cpu_pool* pool = worker->pool;
    uint64_t seen = 0;
    uint64_t spin_until = 0;
    uint32_t spins = 0;
    (void)cpu_float_begin(); /* a new thread has its starter's */
    for (;;) {
        if (atomic_load(&pool->stop)) {
            return;
        }
        if (enter(pool, &seen)) {
            work_as(pool, &worker->scratch);
            leave(pool);
            spin_until = khal__clock_now() + pool->spin_ns;
            spins = 0;
            continue;
        }
        cpu_relax();
        if (++spins % 64 != 0 || khal__clock_now() < spin_until) {
            continue;
        }
        /* Told asleep first and looked again after: either this sees the gate open, or who opened
         * it sees this asleep. */
        khal__mutex_lock(&worker->mutex);
        atomic_store(&worker->asleep, 1);
        uint64_t gate = atomic_load(&pool->gate);
        if (atomic_load(&pool->stop) || ((gate & OPEN) && NUMBER(gate) != seen)) {
            atomic_store(&worker->asleep, 0);
        }
        while (atomic_load(&worker->asleep)) {
            khal__condition_wait(&worker->wake, &worker->mutex, UINT64_MAX);
        }
        khal__mutex_unlock(&worker->mutex);
        spin_until = khal__clock_now() + pool->spin_ns;
    }
}

static void start_threads(cpu_pool* pool)
{
    while (pool->started_count < pool->worker_count) {
        cpu_worker* worker = &pool->workers[pool->started_count];
        if (!khal__thread_start(&worker->thread, run_worker, worker, "khal-worker")) {
            pool->worker_count = pool->started_count; /* fewer threads, then */
            return;
        }
        pool->started_count++;
    }
}

bool cpu_pool_init(cpu_pool* pool, khal_device* device, uint32_t thread_count)
{
    uint32_t count = thread_count - 1;
    pool->device = device;
    pool->thread_count = thread_count;
    pool->workers = khal__alloc(device, (count + 1) * sizeof *pool->workers, _Alignof(cpu_worker));
    if (!pool->workers) {
        return false;
    }
    memset(pool->workers, 0, (count + 1) * sizeof *pool->workers);
    for (uint32_t i = 0; i <= count; i++) {
        khal__mutex_init(&pool->workers[i].mutex);
        khal__condition_init(&pool->workers[i].wake);
        pool->workers[i].pool = pool;
    }
    khal__mutex_init(&pool->mutex);
    khal__condition_init(&pool->left);
    pool->worker_count = count;
    pool->spin_ns = thread_count <= khal__processor_count() && thread_count > 1 ? CPU_SPIN_NS : 0;
    return true;
}

static void drop(khal_device* device, cpu_scratch* scratch)
{
    if (scratch->memory) {
        khal__free(device, scratch->memory, scratch->size);
    }
}

void cpu_pool_close(cpu_pool* pool)
{
    uint32_t thread_count = pool->thread_count;
    atomic_store(&pool->stop, 1);
    for (uint32_t i = 0; i < pool->started_count; i++) {
        cpu_worker* worker = &pool->workers[i];
        khal__mutex_lock(&worker->mutex);
        atomic_store(&worker->asleep, 0);
        khal__condition_signal(&worker->wake);
        khal__mutex_unlock(&worker->mutex);
        khal__thread_join(&worker->thread);
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        drop(pool->device, &pool->workers[i].scratch);
        khal__mutex_destroy(&pool->workers[i].mutex);
        khal__condition_destroy(&pool->workers[i].wake);
    }
    drop(pool->device, &pool->executor);
    khal__free(pool->device, pool->workers, thread_count * sizeof *pool->workers);
    khal__mutex_destroy(&pool->mutex);
    khal__condition_destroy(&pool->left);
}

bool cpu_pool_run(cpu_pool* pool, const cpu_job* job)
{
    if (!grow(pool->device, &pool->executor, job->scratch_size)) {
        return false;
    }
    uint64_t chunk_count = (job->unit_count - 1) / job->chunk_size + 1;
    uint64_t most = job->thread_count < chunk_count ? job->thread_count : chunk_count;
    if (most > 1 && pool->started_count < pool->worker_count) {
        start_threads(pool);
    }
    if (most <= 1 || pool->started_count == 0) {
        job->run(job->user, 0, job->unit_count, pool->executor.memory);
        return true;
    }

    pool->job = *job;
    pool->chunk_count = chunk_count;
    atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->next_wake, 0, memory_order_relaxed);
    uint64_t number = NUMBER(atomic_load_explicit(&pool->gate, memory_order_relaxed)) + 1;
    atomic_store(&pool->gate, number << NUMBER_SHIFT | OPEN | most << MOST_SHIFT | 1);
    work(pool, pool->executor.memory);

    /* All chunks are taken: shut the gate, leave, and let those who are inside finish theirs. */
    uint64_t gate = atomic_fetch_sub(&pool->gate, OPEN | 1) - (OPEN | 1);
    uint64_t spin_until = 0;
    for (uint32_t spins = 0; gate & INSIDE_MASK; gate = atomic_load(&pool->gate)) {
        cpu_relax();
        if (++spins % 64 != 0) {
            continue;
        }
        uint64_t now = khal__clock_now();
        if (spin_until == 0) {
            spin_until = now + pool->spin_ns;
        }
        if (now < spin_until) {
            continue;
        }
        khal__mutex_lock(&pool->mutex);
        gate = atomic_fetch_or(&pool->gate, SLEEPER);
        while (gate & INSIDE_MASK) {
            khal__condition_wait(&pool->left, &pool->mutex, UINT64_MAX);
            gate = atomic_load(&pool->gate);
        }
        khal__mutex_unlock(&pool->mutex);
    }
    return true;
}

bool cpu_pool_help(cpu_pool* pool, uint64_t* seen)
{
    uint32_t free_place = 0;
    if (!(atomic_load(&pool->gate) & OPEN) ||
        !atomic_compare_exchange_strong(&pool->helper_busy, &free_place, 1)) {
        return false;
    }
    bool entered = enter(pool, seen);
    if (entered) {
        cpu_float_state state = cpu_float_begin();
        work_as(pool, &pool->workers[pool->thread_count - 1].scratch);
        cpu_float_end(state);
        leave(pool);
    }
    atomic_store(&pool->helper_busy, 0);
    return entered;
}
