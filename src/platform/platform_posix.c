#if !defined(_WIN32)

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity, pthread_setname_np */
#endif
#include "platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#define NS_PER_SECOND 1000000000ull
#define STACK_SIZE ((size_t)8 << 20)

uint64_t khal__clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint32_t khal__processor_count(void)
{
#if defined(__linux__)
    /* The kernel refuses a set smaller than its own, whose size it does not tell. */
    for (int processors = 1024; processors <= 1 << 18; processors *= 4) {
        cpu_set_t* set = CPU_ALLOC((size_t)processors);
        if (!set) {
            break;
        }
        size_t size = CPU_ALLOC_SIZE((size_t)processors);
        int error = sched_getaffinity(0, size, set) == 0 ? 0 : errno;
        int count = error == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) {
            return (uint32_t)count;
        }
        if (error != EINVAL) {
            break;
        }
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

uint64_t khal__memory_size(void)
{
#if defined(__APPLE__)
    uint64_t bytes = 0;
    size_t size = sizeof bytes;
    return sysctlbyname("hw.memsize", &bytes, &size, NULL, 0) == 0 ? bytes : 0;
#else
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_size = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_size > 0 ? (uint64_t)pages * (uint64_t)page_size : 0;
#endif
}

void* khal__pages_map(size_t size)
{
    void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void khal__pages_unmap(void* memory, size_t size)
{
    if (memory) {
        munmap(memory, size);
    }
}

/* ---- locks ----------------------------------------------------------------------------------- */

void khal__mutex_init(khal__mutex* m)
{
    pthread_mutex_init(&m->m, NULL);
}

void khal__mutex_destroy(khal__mutex* m)
{
    pthread_mutex_destroy(&m->m);
}

void khal__mutex_lock(khal__mutex* m)
{
    pthread_mutex_lock(&m->m);
}

void khal__mutex_unlock(khal__mutex* m)
{
    pthread_mutex_unlock(&m->m);
}

void khal__condition_init(khal__condition* c)
{
#if defined(__APPLE__)
    pthread_cond_init(&c->c, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&c->c, &attributes);
    pthread_condattr_destroy(&attributes);
#endif
}

void khal__condition_destroy(khal__condition* c)
{
    pthread_cond_destroy(&c->c);
}

void khal__condition_signal(khal__condition* c)
{
    pthread_cond_signal(&c->c);
}

void khal__condition_broadcast(khal__condition* c)
{
    pthread_cond_broadcast(&c->c);
}

bool khal__condition_wait(khal__condition* c, khal__mutex* m, uint64_t deadline)
{
    if (deadline == UINT64_MAX) {
        pthread_cond_wait(&c->c, &m->m);
        return true;
    }
#if defined(__APPLE__)
    uint64_t now = khal__clock_now();
    uint64_t left = deadline > now ? deadline - now : 0;
    struct timespec span = {(time_t)(left / NS_PER_SECOND), (long)(left % NS_PER_SECOND)};
    return pthread_cond_timedwait_relative_np(&c->c, &m->m, &span) != ETIMEDOUT;
#else
    struct timespec until = {(time_t)(deadline / NS_PER_SECOND), (long)(deadline % NS_PER_SECOND)};
    return pthread_cond_timedwait(&c->c, &m->m, &until) != ETIMEDOUT;
#endif
}

/* ---- threads --------------------------------------------------------------------------------- */

static void* run_thread(void* user)
{
    khal__thread* t = user;
#if defined(__APPLE__)
    pthread_setname_np(t->name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), t->name);
#endif
    t->run(t->user);
    return NULL;
}

bool khal__thread_start(khal__thread* t, void (*run)(void* user), void* user, const char* name)
{
    t->run = run;
    t->user = user;
    size_t length = name ? strlen(name) : 0;
    length = length < sizeof t->name ? length : sizeof t->name - 1;
    if (length) {
        memcpy(t->name, name, length);
    }
    t->name[length] = '\0';

    /* The new thread inherits the mask, so no signal can reach it between its start and a call of
     * its own. What a thread raises by its own fault stays open: the program's handler, or a
     * debugging tool's, is to see it. */
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        sigdelset(&all, own[i]);
    }
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
        return false;
    }
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        /* Systems give as little as 128 KiB, and kernels keep private arrays there. */
        (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
        error = pthread_create(&t->handle, &attributes, run_thread, t);
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

void khal__thread_join(khal__thread* t)
{
    pthread_join(t->handle, NULL);
}

void khal__thread_yield(void)
{
    sched_yield();
}

/* ---- dynamic libraries ----------------------------------------------------------------------- */

void* khal__library_open(const char* name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void* khal__library_symbol(void* library, const char* name)
{
    return dlsym(library, name);
}

void khal__library_close(void* library)
{
    if (library) {
        dlclose(library);
    }
}

#else
typedef int khal__platform_posix_is_empty;
#endif
