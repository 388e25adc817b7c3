#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#if !defined(_WIN32_WINNT)
#define _WIN32_WINNT 0x0601 /* processor groups */
#endif
#include "platform.h"

#include <string.h>
#include <windows.h>

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS 1000000ull
#define STACK_SIZE ((SIZE_T)8 << 20) /* kernels keep private arrays there */

_Static_assert(sizeof(SRWLOCK) == sizeof(void*), "khal__mutex holds an SRWLOCK");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(void*),
               "khal__condition holds a CONDITION_VARIABLE");

uint64_t khal__clock_now(void)
{
    LARGE_INTEGER frequency, count;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    /* Split, since count * 1e9 overflows within days. */
    uint64_t f = (uint64_t)frequency.QuadPart, c = (uint64_t)count.QuadPart;
    return c / f * NS_PER_SECOND + c % f * NS_PER_SECOND / f;
}

uint32_t khal__processor_count(void)
{
    DWORD_PTR process = 0, system = 0;
    uint32_t count = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system)) {
        for (; process; process &= process - 1) {
            count++;
        }
    }
    /* A process that spans several groups has no single mask: it gets 0. */
    if (count == 0) {
        count = (uint32_t)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    }
    return count ? count : 1;
}

uint64_t khal__memory_size(void)
{
    MEMORYSTATUSEX status;
    status.dwLength = sizeof status;
    return GlobalMemoryStatusEx(&status) ? (uint64_t)status.ullTotalPhys : 0;
}

void* khal__pages_map(size_t size)
{
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void khal__pages_unmap(void* memory, size_t size)
{
    (void)size;
    if (memory) {
        VirtualFree(memory, 0, MEM_RELEASE);
    }
}

/* ---- locks ----------------------------------------------------------------------------------- */

void khal__mutex_init(khal__mutex* m)
{
    InitializeSRWLock((SRWLOCK*)(void*)&m->srw);
}

void khal__mutex_destroy(khal__mutex* m)
{
    (void)m;
}

void khal__mutex_lock(khal__mutex* m)
{
    AcquireSRWLockExclusive((SRWLOCK*)(void*)&m->srw);
}

void khal__mutex_unlock(khal__mutex* m)
{
    ReleaseSRWLockExclusive((SRWLOCK*)(void*)&m->srw);
}

void khal__condition_init(khal__condition* c)
{
    InitializeConditionVariable((CONDITION_VARIABLE*)(void*)&c->cv);
}

void khal__condition_destroy(khal__condition* c)
{
    (void)c;
}

void khal__condition_signal(khal__condition* c)
{
    WakeConditionVariable((CONDITION_VARIABLE*)(void*)&c->cv);
}

void khal__condition_broadcast(khal__condition* c)
{
    WakeAllConditionVariable((CONDITION_VARIABLE*)(void*)&c->cv);
}

bool khal__condition_wait(khal__condition* c, khal__mutex* m, uint64_t deadline)
{
    CONDITION_VARIABLE* cv = (CONDITION_VARIABLE*)(void*)&c->cv;
    SRWLOCK* lock = (SRWLOCK*)(void*)&m->srw;
    if (deadline == UINT64_MAX) {
        SleepConditionVariableSRW(cv, lock, INFINITE, 0);
        return true;
    }
    uint64_t now = khal__clock_now();
    if (now >= deadline) {
        return false;
    }
    /* Rounded up, so that a wait does not end before its time; far ones wake early and are taken up
     * again by the caller. */
    uint64_t ms = (deadline - now + NS_PER_MS - 1) / NS_PER_MS;
    DWORD span = ms < INFINITE ? (DWORD)ms : INFINITE - 1;
    if (SleepConditionVariableSRW(cv, lock, span, 0)) {
        return true;
    }
    return khal__clock_now() < deadline;
}

/* ---- threads --------------------------------------------------------------------------------- */

static DWORD WINAPI run_thread(LPVOID user)
{
    khal__thread* t = user;
    t->run(t->user);
    return 0;
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
    t->handle =
        CreateThread(NULL, STACK_SIZE, run_thread, t, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return t->handle != NULL;
}

void khal__thread_join(khal__thread* t)
{
    WaitForSingleObject(t->handle, INFINITE);
    CloseHandle(t->handle);
    t->handle = NULL;
}

void khal__thread_yield(void)
{
    SwitchToThread();
}

/* ---- dynamic libraries ----------------------------------------------------------------------- */

void* khal__library_open(const char* name)
{
    return (void*)LoadLibraryA(name);
}

void* khal__library_symbol(void* library, const char* name)
{
    FARPROC symbol = GetProcAddress((HMODULE)library, name);
    void* result;
    memcpy(&result, &symbol, sizeof result);
    return result;
}

void khal__library_close(void* library)
{
    if (library) {
        FreeLibrary((HMODULE)library);
    }
}

#else
typedef int khal__platform_windows_is_empty;
#endif
