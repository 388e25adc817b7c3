#include "cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#include <fenv.h>
#endif

cpu_float_state cpu_float_begin(void)
{
#if defined(__SSE__)
    cpu_float_state state = {_mm_getcsr()};
    _mm_setcsr(0x1f80);
#elif defined(__aarch64__)
    cpu_float_state state;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(state.control));
    __asm__ __volatile__("msr fpcr, %0" : : "r"((uint64_t)0));
#else
    cpu_float_state state = {(uint64_t)fegetround()};
    fesetround(FE_TONEAREST);
#endif
    return state;
}

void cpu_float_end(cpu_float_state state)
{
#if defined(__SSE__)
    _mm_setcsr((uint32_t)state.control);
#elif defined(__aarch64__)
    __asm__ __volatile__("msr fpcr, %0" : : "r"(state.control));
#else
    fesetround((int)state.control);
#endif
}

/* Those who sleep on `done` count themselves before they look, and those who change what they look
 * at change it before they look at the count. */
static void wake_waiters(cpu_device* device)
{
    if (atomic_load(&device->waiters)) {
        khal__mutex_lock(&device->mutex);
        khal__condition_broadcast(&device->done);
        khal__mutex_unlock(&device->mutex);
    }
}

/* With the mutex held, as the executor. Runs what is queued, up to a ticket. */
static void run_until(cpu_device* device, khal_ticket until)
{
    while (device->first && device->first->ticket <= until) {
        khal__submission* submission = device->first;
        device->first = submission->next;
        if (!device->first) {
            device->last = NULL;
        }
        khal__mutex_unlock(&device->mutex);

        khal_ticket ticket = submission->ticket;
        cpu_execute(device, submission, false);
        atomic_store(&device->completed,
                     ticket); /* from here on the submission is the front's again */
        wake_waiters(device);

        khal__mutex_lock(&device->mutex);
    }
}

static void run_queue(void* user)
{
    cpu_device* device = user;
    (void)cpu_float_begin();
    khal__mutex_lock(&device->mutex);
    while (!device->stop) {
        if (device->executing || !device->first) {
            device->queue_asleep = true;
            khal__condition_wait(&device->work, &device->mutex, UINT64_MAX);
            device->queue_asleep = false;
            continue;
        }
        device->executing = true;
        run_until(device, UINT64_MAX);
        device->executing = false;
    }
    khal__mutex_unlock(&device->mutex);
}

void cpu_queue_init(cpu_device* device)
{
    khal__mutex_init(&device->mutex);
    khal__condition_init(&device->work);
    khal__condition_init(&device->done);
}

void cpu_queue_close(cpu_device* device)
{
    if (device->has_thread) {
        khal__mutex_lock(&device->mutex);
        device->stop = true;
        khal__condition_signal(&device->work);
        khal__mutex_unlock(&device->mutex);
        khal__thread_join(&device->thread);
    }
    khal__mutex_destroy(&device->mutex);
    khal__condition_destroy(&device->work);
    khal__condition_destroy(&device->done);
}

static bool calls_back(const khal__submission* submission)
{
    for (const khal__command* c = submission->commands; c; c = c->next) {
        if (c->kind == KHAL__COMMAND_NATIVE ||
            (c->kind == KHAL__COMMAND_DISPATCH && cpu_prints(c->u.dispatch.function))) {
            return true;
        }
    }
    return false;
}

khal_status cpu_submit(khal_device* owner, khal__submission* submission)
{
    cpu_device* device = cpu_device_of(owner);
    khal_ticket ticket = submission->ticket;
    submission->next = NULL;
    bool idle = atomic_load(&device->completed) == device->last_submitted;

    bool alone = idle && cpu_estimate(submission) <= CPU_INLINE_NS;
    if (!alone && !device->has_thread) {
        device->has_thread = khal__thread_start(&device->thread, run_queue, device, "khal-queue");
        if (!device->has_thread) {
            /* Without a queue nothing is ever left in it, so the caller runs it all; but callbacks
             * may not run in here. */
            if (calls_back(submission)) {
                return khal__fail(owner, KHAL_ERROR_DRIVER, 0, NULL,
                                  "the system refused a thread for the CPU device's queue");
            }
            alone = true;
        }
    }

    if (alone) {
        cpu_float_state state = cpu_float_begin();
        cpu_execute(device, submission, true);
        cpu_float_end(state);
        device->last_submitted = ticket;
        atomic_store(&device->completed, ticket);
        wake_waiters(device);
        return KHAL_OK;
    }

    khal__mutex_lock(&device->mutex);
    if (device->last) {
        device->last->next = submission;
    } else {
        device->first = submission;
    }
    device->last = submission;
    device->last_submitted = ticket;
    bool wake = device->queue_asleep && !device->executing;
    khal__mutex_unlock(&device->mutex);
    if (wake) {
        khal__condition_signal(&device->work);
    }
    return KHAL_OK;
}

khal_ticket cpu_completed(khal_device* owner)
{
    cpu_device* device = cpu_device_of(owner);
    return atomic_load_explicit(&device->completed, memory_order_acquire);
}

khal_status cpu_wait(khal_device* owner, khal_ticket ticket, uint64_t timeout)
{
    cpu_device* device = cpu_device_of(owner);
    if (cpu_completed(owner) >= ticket) {
        return KHAL_OK;
    }
    if (timeout == 0 || khal__in_callback(owner)) {
        return KHAL_TIMEOUT;
    }
    uint64_t start = khal__clock_now();
    bool forever = timeout >= UINT64_MAX - start;
    uint64_t deadline = forever ? UINT64_MAX : start + timeout;

    if (forever) {
        /* Running it here saves two changes of thread. */
        khal__mutex_lock(&device->mutex);
        if (!device->executing && device->first && device->first->ticket <= ticket) {
            device->executing = true;
            cpu_float_state state = cpu_float_begin();
            run_until(device, ticket);
            cpu_float_end(state);
            device->executing = false;
            if (device->first) {
                khal__condition_signal(&device->work);
            }
        }
        khal__mutex_unlock(&device->mutex);
    }

    uint64_t seen = UINT64_MAX;
    uint64_t spin_until = device->pool.spin_ns ? khal__clock_now() + device->pool.spin_ns : 0;
    for (uint32_t spins = 0; cpu_completed(owner) < ticket;) {
        if (forever && cpu_pool_help(&device->pool, &seen)) {
            spin_until = device->pool.spin_ns ? khal__clock_now() + device->pool.spin_ns : 0;
            continue;
        }
        cpu_relax();
        if (++spins % 64 != 0) {
            continue;
        }
        uint64_t now = khal__clock_now();
        if (now >= deadline) {
            return cpu_completed(owner) >= ticket ? KHAL_OK : KHAL_TIMEOUT;
        }
        if (now < spin_until) {
            continue;
        }
        khal__mutex_lock(&device->mutex);
        atomic_fetch_add(&device->waiters, 1);
        bool in_time = true;
        while (in_time && atomic_load(&device->completed) < ticket) {
            in_time = khal__condition_wait(&device->done, &device->mutex, deadline);
        }
        atomic_fetch_sub(&device->waiters, 1);
        khal__mutex_unlock(&device->mutex);
    }
    return KHAL_OK;
}
