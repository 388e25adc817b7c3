/* What differs between operating systems: clock, threads, dynamic libraries. POSIX and Windows. */
#ifndef KHAL_PLATFORM_H
#define KHAL_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t khal__clock_now(void);       /* monotonic, ns */
uint32_t khal__processor_count(void); /* processors that this process may use, at least 1 */
uint64_t khal__memory_size(void);     /* bytes of main memory, 0 where unknown */

/* Zeroed pages straight from the system, not touched yet; NULL when there are none. size is never
 * 0. */
void* khal__pages_map(size_t size);
void khal__pages_unmap(void* memory, size_t size);

typedef struct khal__mutex khal__mutex;
typedef struct khal__condition khal__condition;
#if defined(_WIN32)
struct khal__mutex {
    void* srw;
};
struct khal__condition {
    void* cv;
};
#else
#include <pthread.h>
struct khal__mutex {
    pthread_mutex_t m;
};
struct khal__condition {
    pthread_cond_t c;
};
#endif

void khal__mutex_init(khal__mutex* m);
void khal__mutex_destroy(khal__mutex* m);
void khal__mutex_lock(khal__mutex* m);
void khal__mutex_unlock(khal__mutex* m);
void khal__condition_init(khal__condition* c);
void khal__condition_destroy(khal__condition* c);
void khal__condition_signal(khal__condition* c);
void khal__condition_broadcast(khal__condition* c);
/* Waits until signalled or `deadline` (khal__clock_now() time, UINT64_MAX: never); false when the
 * deadline passed. */
bool khal__condition_wait(khal__condition* c, khal__mutex* m, uint64_t deadline);

typedef struct khal__thread khal__thread;
struct khal__thread {
#if defined(_WIN32)
    void* handle;
#else
    pthread_t handle;
#endif
    void (*run)(void* user);
    void* user;
    char name[16];
};
/* `t` stays in place until it is joined. The new thread has signals blocked and 8 MiB of stack.
 * False when the system refuses. */
bool khal__thread_start(khal__thread* t, void (*run)(void* user), void* user, const char* name);
void khal__thread_join(khal__thread* t);
void khal__thread_yield(void); /* lets another thread have the processor */

/* Dynamic libraries: NULL where missing. */
void* khal__library_open(const char* name);
void* khal__library_symbol(void* library, const char* name);
void khal__library_close(void* library);

#endif
