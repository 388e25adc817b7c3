#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/platform.h"

#define MS 1000000ull

static void clock_is_monotonic(void** state)
{
    (void)state;
    uint64_t before = khal__clock_now();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = khal__clock_now();
        assert_true(now >= before);
        before = now;
    }
}

static void machine_is_plausible(void** state)
{
    (void)state;
    uint32_t processors = khal__processor_count();
    assert_in_range(processors, 1, 1u << 18);
#if defined(__linux__)
    assert_true(khal__memory_size() > 1u << 20);
#endif
}

static void pages_are_zeroed_and_writable(void** state)
{
    (void)state;
    const size_t size = (8u << 20) + 123;
    for (int round = 0; round < 3; round++) {
        unsigned char* memory = khal__pages_map(size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 4096, 0);
        for (size_t i = 0; i < size; i += 4093) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xff, size);
        khal__pages_unmap(memory, size);
    }
    assert_null(khal__pages_map(SIZE_MAX / 2));
}

/* ---- threads and locks ----------------------------------------------------------------------- */

typedef struct counter {
    khal__mutex mutex;
    uint64_t value;
} counter;

static void count(void* user)
{
    counter* c = user;
    for (int i = 0; i < 20000; i++) {
        khal__mutex_lock(&c->mutex);
        c->value++;
        khal__mutex_unlock(&c->mutex);
    }
}

static void mutex_excludes(void** state)
{
    (void)state;
    counter c = {.value = 0};
    khal__thread threads[4];
    khal__mutex_init(&c.mutex);
    for (int i = 0; i < 4; i++) {
        assert_true(
            khal__thread_start(&threads[i], count, &c, "a name longer than the system takes"));
    }
    for (int i = 0; i < 4; i++) {
        khal__thread_join(&threads[i]);
    }
    assert_int_equal(c.value, 80000);
    khal__mutex_destroy(&c.mutex);
}

typedef struct table_tennis {
    khal__mutex mutex;
    khal__condition turned;
    int turn;
    int rounds;
} table_tennis;

static void play(table_tennis* t, int me)
{
    khal__mutex_lock(&t->mutex);
    for (int i = 0; i < 1000; i++) {
        while (t->turn != me) {
            khal__condition_wait(&t->turned, &t->mutex, UINT64_MAX);
        }
        t->turn = !me;
        t->rounds++;
        khal__condition_signal(&t->turned);
    }
    khal__mutex_unlock(&t->mutex);
}

static void play_second(void* user)
{
    play(user, 1);
}

static void condition_hands_over(void** state)
{
    (void)state;
    table_tennis t = {.turn = 0};
    khal__thread other;
    khal__mutex_init(&t.mutex);
    khal__condition_init(&t.turned);
    assert_true(khal__thread_start(&other, play_second, &t, NULL));
    play(&t, 0);
    khal__thread_join(&other);
    assert_int_equal(t.rounds, 2000);
    khal__condition_destroy(&t.turned);
    khal__mutex_destroy(&t.mutex);
}

static void condition_keeps_its_deadline(void** state)
{
    (void)state;
    khal__mutex mutex;
    khal__condition never;
    khal__mutex_init(&mutex);
    khal__condition_init(&never);
    khal__mutex_lock(&mutex);
    uint64_t deadline = khal__clock_now() + 20 * MS;
    while (khal__condition_wait(&never, &mutex, deadline)) {
        assert_true(khal__clock_now() <
                    deadline +
                        10000 * MS); /* woken for nothing, which is allowed, but not for ever */
    }
    assert_true(khal__clock_now() >= deadline);
    assert_false(khal__condition_wait(&never, &mutex, 1)); /* long past */
    khal__mutex_unlock(&mutex);
    khal__condition_destroy(&never);
    khal__mutex_destroy(&mutex);
}

#if !defined(_WIN32)
static atomic_int blocked_count, blocked_faults;

static void look_at_mask(void* user)
{
    (void)user;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        atomic_fetch_add(&blocked_count, sigismember(&mask, signals[i]));
    }
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        atomic_fetch_add(&blocked_faults, sigismember(&mask, faults[i]));
    }
}

static void threads_block_signals(void** state)
{
    (void)state;
    khal__thread thread;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_true(khal__thread_start(&thread, look_at_mask, NULL, "mask"));
    khal__thread_join(&thread);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(atomic_load(&blocked_count), 5);
    assert_int_equal(atomic_load(&blocked_faults), 0);
    assert_int_equal(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
    assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
}
#endif

/* ---- dynamic libraries ----------------------------------------------------------------------- */

static void libraries_open_or_do_not(void** state)
{
    (void)state;
    assert_null(khal__library_open("libkhal-there-is-no-such-library.so.7"));
    khal__library_close(NULL);
#if defined(__linux__)
    void* library = khal__library_open("libm.so.6");
    if (library) { /* other C libraries have it under other names */
        assert_non_null(khal__library_symbol(library, "cos"));
        assert_null(khal__library_symbol(library, "khal_there_is_no_such_function"));
        khal__library_close(library);
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_is_monotonic),
        cmocka_unit_test(machine_is_plausible),
        cmocka_unit_test(pages_are_zeroed_and_writable),
        cmocka_unit_test(mutex_excludes),
        cmocka_unit_test(condition_hands_over),
        cmocka_unit_test(condition_keeps_its_deadline),
#if !defined(_WIN32)
        cmocka_unit_test(threads_block_signals),
#endif
        cmocka_unit_test(libraries_open_or_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
