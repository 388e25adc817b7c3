/* Running: order on the timeline, threads, steady state, memory that stays flat, timestamps and readback. */
#include "../cts.h"

#include "workitem.khal.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <pthread.h>
#include <unistd.h>
#endif

#define LIBRARY .library = &workitem_library

static bool add(cts* t, khal_encoder* encoder, khal_function* function, khal_slice slice, uint32_t n, const khal_pass_desc* desc)
{
    khal_pass* pass = NULL;
    const uint64_t threads = slice.size == UINT64_MAX ? khal_slice_get_size(slice) / 4 : slice.size / 4;
    return CTS_OK(t, khal_pass_begin(encoder, desc, &pass)) &&
           CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(threads, 1, 1), .bindings = &slice, .binding_count = 1,
                                                                    .push_constants = &n, .push_constant_size = 4}, NULL)) &&
           CTS_OK(t, khal_pass_end(pass));
}

/* Work that takes a while, so that what comes after it could overtake it. */
static bool record_busy(cts* t, khal_encoder* encoder, khal_buffer* out, uint64_t items, uint32_t rounds)
{
    khal_pass* pass = cts_pass(t, encoder);
    return cts_record(t, pass, LIBRARY, .kernel = "busy", .grid = khal_threads(items, 1, 1), .buffers = {out}, .push = &rounds, .push_size = 4) &&
           CTS_OK(t, khal_pass_end(pass));
}

static uint32_t busy_value(uint32_t item, uint32_t rounds)
{
    uint32_t x = item + 1;
    for (uint32_t k = 0; k < rounds; k++) x = x * 1664525u + 1013904223u;
    return x;
}

/* ---- order: one test that all backends share ------------------------------------------------------ */

static void one_timeline(cts* t)
{
    enum { COUNT = 5000, ROUNDS = 5000 };
    khal_function* copy = cts_function(t, &workitem_library, "copy");
    khal_buffer *a = cts_buffer_of(t, NULL, COUNT * 4, 4), *b = cts_buffer_of(t, NULL, COUNT * 4, 4), *c = cts_buffer_of(t, NULL, COUNT * 4, 4);
    uint32_t* words = cts_alloc(t, COUNT * 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_readback* readback = NULL;
    if (copy == NULL || !CTS_OK(t, khal_readback_create(cts_device(t), &(khal_readback_desc){.capacity_count = COUNT, .element_size = 4, .slot_count = 8}, &readback))) return;
    cts_own_readback(t, readback);
    for (uint32_t round = 1; round <= 8; round++) {
        for (uint32_t i = 0; i < COUNT; i++) words[i] = round * 100000 + i;
        /* recorded before the write below, but its place in the order is that of its submit */
        const khal_slice pair[2] = {khal_slice_all(a), khal_slice_all(b)};
        if (!record_busy(t, encoder, c, COUNT, ROUNDS)) return;
        khal_pass* pass = cts_pass(t, encoder);
        CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = copy, .grid = khal_threads(COUNT, 1, 1), .bindings = pair, .binding_count = 2}, NULL));
        CTS_OK(t, khal_pass_end(pass));
        CTS_OK(t, khal_buffer_write(a, 0, words, COUNT * 4));
        if (!CTS_OK(t, khal_submit(encoder, NULL))) return;
        const khal_slice of_b = khal_slice_all(b);
        CTS_OK(t, khal_readback_request(readback, &of_b, 1));
        /* a write never changes what submitted work still reads */
        memset(words, 0xff, COUNT * 4);
        CTS_OK(t, khal_buffer_write(a, 0, words, COUNT * 4));
        CTS_OK(t, khal_buffer_write(b, 4, words, 4)); /* after the readback's place */
    }
    for (uint32_t round = 1; round <= 8; round++) {
        khal_status status;
        while ((status = khal_readback_try_take(readback, words, COUNT)) == KHAL_NOT_READY) {}
        if (!CTS_STATUS(t, status, KHAL_OK)) return;
        for (uint32_t i = 0; i < COUNT; i++)
            if (words[i] != round * 100000 + i) {
                cts_fail(t, __FILE__, __LINE__, "round %u, word %u: expected %u, got %u", round, i, round * 100000 + i, words[i]);
                return;
            }
    }
    uint32_t last[2] = {0};
    CTS_OK(t, khal_buffer_read(b, 0, last, 8, KHAL_FOREVER)); /* a read comes after all of them */
    CTS_EQ(t, last[0], 800000);
    CTS_EQ(t, last[1], UINT32_MAX);
    CTS_OK(t, khal_buffer_read(c, (COUNT - 1) * 4, last, 4, KHAL_FOREVER));
    CTS_EQ(t, last[0], busy_value(COUNT - 1, ROUNDS));
}

/* Many small writes between submits, each for one dispatch. */
static void writes_between_submits(cts* t)
{
    enum { ROUNDS = 500 };
    khal_function* function = cts_function(t, &workitem_library, "add_two");
    khal_buffer *in = cts_buffer_of(t, NULL, 16, 4), *sum = cts_buffer_of(t, NULL, 16, 4);
    khal_encoder* encoder = cts_encoder(t);
    if (function == NULL || encoder == NULL) return;
    uint32_t expected = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint32_t value = i * 3 + 1;
        khal_pass* pass = cts_pass(t, encoder);
        const khal_slice slices[3] = {{in, 0, 4, 4}, {sum, 0, 4, 4}, {sum, 0, 4, 4}};
        if (!CTS_OK(t, khal_buffer_write(in, 0, &value, 4)) ||
            !CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(1, 1, 1), .bindings = slices, .binding_count = 3}, NULL)) ||
            !CTS_OK(t, khal_pass_end(pass)) || !CTS_OK(t, khal_submit(encoder, NULL)))
            return;
        expected += value;
    }
    uint32_t actual = 0;
    CTS_OK(t, khal_buffer_read(sum, 0, &actual, 4, KHAL_FOREVER));
    CTS_EQ(t, actual, expected);
}

static void read_times_out(cts* t)
{
    enum { ITEMS = 4096, ROUNDS = 100000 };
    khal_buffer* out = cts_buffer_of(t, NULL, ITEMS * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    if (!record_busy(t, encoder, out, ITEMS, ROUNDS)) return;
    khal_ticket ticket = 0;
    uint32_t value = 12345;
    if (!CTS_OK(t, khal_submit(encoder, &ticket))) return;
    const khal_status status = khal_buffer_read(out, 0, &value, 4, 0);
    if (status != KHAL_OK) { /* a fast device may be done already */
        CTS_STATUS(t, status, KHAL_TIMEOUT);
        CTS_EQ(t, khal_error_get()->id, KHAL_ERROR_TIMEOUT);
        CTS_EQ(t, value, 12345);
        CTS_CHECK(t, khal_ticket_wait(cts_device(t), ticket, 1000) != KHAL_EXECUTION_FAILED);
    }
    CTS_OK(t, khal_ticket_wait(cts_device(t), ticket, KHAL_FOREVER)); /* the work goes on */
    CTS_OK(t, khal_buffer_read(out, (ITEMS - 1) * 4, &value, 4, 0));
    CTS_EQ(t, value, busy_value(ITEMS - 1, ROUNDS));
}

/* A submission keeps what it uses. */
static void release_right_after_submit(cts* t)
{
    khal_buffer* result = cts_buffer_of(t, NULL, 4000, 4);
    for (int i = 0; i < 50; i++) {
        khal_buffer* source = NULL;
        khal_encoder* encoder = NULL;
        uint32_t words[1000];
        for (uint32_t k = 0; k < 1000; k++) words[k] = k + (uint32_t)i;
        if (!CTS_OK(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.data = words, .size = 4000, .element_size = 4}, &source)) ||
            !CTS_OK(t, khal_encoder_create(cts_device(t), NULL, &encoder)))
            return;
        khal_function* function = NULL;
        khal_pass* pass = NULL;
        CTS_OK(t, khal_function_create(cts_module(t, &workitem_library), &(khal_function_desc){.entry_point = "copy"}, &function));
        const khal_slice pair[2] = {khal_slice_all(source), khal_slice_all(result)};
        CTS_OK(t, khal_pass_begin(encoder, NULL, &pass));
        CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(1000, 1, 1), .bindings = pair, .binding_count = 2}, NULL));
        khal_function_release(function);
        CTS_OK(t, khal_pass_end(pass));
        khal_buffer_release(source);
        CTS_OK(t, khal_submit(encoder, NULL));
        khal_encoder_release(encoder);
    }
    const uint32_t* words = cts_read_all(t, result);
    if (words != NULL) CTS_EQ(t, words[999], 999 + 49);
}

/* ---- threads ------------------------------------------------------------------------------------- */

#ifndef _WIN32
typedef struct worker { cts* t; khal_device* device; khal_function* function; khal_buffer* shared; khal_buffer* own; uint32_t index, rounds; const char* wrong; } worker;

/* Checks are the main thread's: a worker notes the first thing that went wrong. */
static void* work(void* user)
{
    worker* w = user;
    khal_encoder* encoder = NULL;
    if (khal_encoder_create(w->device, NULL, &encoder) != KHAL_OK) w->wrong = "khal_encoder_create";
    for (uint32_t i = 0; i < w->rounds && w->wrong == NULL; i++) {
        const uint32_t n = i + 1;
        const khal_slice own = khal_slice_all(w->own), part = {w->shared, w->index * 4, 4, 4};
        khal_pass* pass = NULL;
        khal_buffer* passing = NULL;
        khal_ticket ticket = 0;
        if (khal_pass_begin(encoder, NULL, &pass) != KHAL_OK) w->wrong = "khal_pass_begin";
        else if (khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = w->function, .grid = khal_threads(64, 1, 1), .bindings = &own, .binding_count = 1,
                                                                .push_constants = &n, .push_constant_size = 4}, NULL) != KHAL_OK) w->wrong = "khal_pass_dispatch";
        else if (khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = w->function, .grid = khal_threads(1, 1, 1), .bindings = &part, .binding_count = 1,
                                                                .push_constants = &n, .push_constant_size = 4}, NULL) != KHAL_OK) w->wrong = "khal_pass_dispatch, shared";
        else if (khal_pass_end(pass) != KHAL_OK) w->wrong = "khal_pass_end";
        else if (khal_submit(encoder, &ticket) != KHAL_OK) w->wrong = "khal_submit";
        else if (i % 16 == 0 && khal_ticket_wait(w->device, ticket, KHAL_FOREVER) != KHAL_OK) w->wrong = "khal_ticket_wait";
        else if (i % 32 == 5 && khal_buffer_create(w->device, &(khal_buffer_desc){.size = 1000 + i}, &passing) != KHAL_OK) w->wrong = "khal_buffer_create";
        else if (i % 64 == 9) {
            uint32_t value = 0;
            if (khal_buffer_read(w->own, 252, &value, 4, KHAL_FOREVER) != KHAL_OK) w->wrong = "khal_buffer_read";
            else if (value != (i + 1) * (i + 2) / 2) w->wrong = "the value that it reads back";
        }
        khal_buffer_release(passing);
    }
    khal_encoder_release(encoder);
    return NULL;
}

static void many_threads(cts* t)
{
    enum { THREADS = 6, ROUNDS = 400 };
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_buffer* shared = cts_buffer_of(t, NULL, THREADS * 4, 4);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    uint32_t started = 0;
    if (function == NULL || shared == NULL) return;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){t, cts_device(t), function, shared, cts_buffer_of(t, NULL, 256, 4), i, ROUNDS, NULL};
        if (workers[i].own == NULL || pthread_create(&threads[i], NULL, work, &workers[i]) != 0) break;
        started++;
    }
    CTS_EQ(t, started, THREADS);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    const uint32_t* words = cts_read_all(t, shared);
    for (uint32_t i = 0; words != NULL && i < started; i++) {
        if (workers[i].wrong != NULL) cts_fail(t, __FILE__, __LINE__, "thread %u: %s", i, workers[i].wrong);
        CTS_EQ(t, words[i], ROUNDS * (ROUNDS + 1) / 2);
        const uint32_t* own = cts_read_all(t, workers[i].own);
        if (own != NULL) CTS_EQ(t, own[63], ROUNDS * (ROUNDS + 1) / 2);
    }
}

typedef struct waiter { khal_device* device; khal_ticket ticket; khal_status status; atomic_bool waiting, done; } waiter;

static void* wait_for(void* user)
{
    waiter* w = user;
    atomic_store(&w->waiting, true);
    w->status = khal_ticket_wait(w->device, w->ticket, KHAL_FOREVER);
    atomic_store(&w->done, true);
    return NULL;
}

/* A wait in one thread does not hold up submits in another. A driver on the CPU may do so by itself: it runs the work inside the
 * submit, or the next submit waits for it. */
static void wait_holds_up_nobody(cts* t)
{
    enum { ITEMS = 4096 };
    uint32_t rounds = 50000;
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_buffer *out = cts_buffer_of(t, NULL, ITEMS * 4, 4), *a = cts_buffer_of(t, NULL, 64, 4);
    khal_encoder* encoder = cts_encoder(t);
    const khal_device_info* info = cts_info(t);
    const bool is_cpu_driver = info->type == KHAL_DEVICE_TYPE_CPU && info->backend != KHAL_BACKEND_CPU;
    for (int attempt = 0; attempt < 6 && function != NULL; attempt++, rounds *= 4) {
        waiter w = {.device = cts_device(t)};
        pthread_t thread;
        if (!record_busy(t, encoder, out, ITEMS, rounds) || !CTS_OK(t, khal_submit(encoder, &w.ticket))) return;
        if (!CTS_CHECK(t, pthread_create(&thread, NULL, wait_for, &w) == 0)) return;
        while (!atomic_load(&w.waiting)) {}
        bool overlapped = true;
        for (int i = 0; i < 10; i++) {
            if (!add(t, encoder, function, khal_slice_all(a), 1, NULL) || !CTS_OK(t, khal_submit(encoder, NULL))) break;
        }
        overlapped = !atomic_load(&w.done);
        pthread_join(thread, NULL);
        CTS_STATUS(t, w.status, KHAL_OK);
        if (overlapped || (attempt == 2 && is_cpu_driver)) return; /* ten submits returned while the other thread waited */
    }
    cts_fail(t, __FILE__, __LINE__, "no submit returned while another thread waited");
}
#endif

/* Neither does an indirect grid whose counts are still to be written: the submit returns before the work that writes them is done.
 * Drivers on the CPU as above. */
static void indirect_holds_up_nobody(cts* t)
{
    enum { ITEMS = 4096 };
    uint32_t rounds = 50000;
    khal_function* set = cts_function(t, &workitem_library, "set_counts");
    khal_buffer *out = cts_buffer_of(t, NULL, ITEMS * 4, 4), *sum = cts_buffer_of(t, NULL, 40, 4);
    khal_buffer* counts = cts_buffer(t, .size = 12, .element_size = 4, .usage = KHAL_USAGE_INDIRECT | KHAL_USAGE_STORAGE);
    khal_encoder* encoder = cts_encoder(t);
    const khal_device_info* info = cts_info(t);
    const bool is_cpu_driver = info->type == KHAL_DEVICE_TYPE_CPU && info->backend != KHAL_BACKEND_CPU;
    uint32_t expected = 0;
    bool overlapped = false;
    for (int attempt = 0; attempt < 6 && !overlapped && set != NULL && counts != NULL; attempt++, rounds *= 4) {
        const khal_slice at = khal_slice_all(counts);
        const uint32_t groups[3] = {3 + (uint32_t)attempt, 2, 1};
        khal_ticket ticket = 0;
        if (!record_busy(t, encoder, out, ITEMS, rounds)) return;
        khal_pass* pass = cts_pass(t, encoder);
        CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = set, .grid = khal_grid_with_workgroup(khal_groups(1, 1, 1), 1, 1, 1), .bindings = &at,
                                                                 .binding_count = 1, .push_constants = groups, .push_constant_size = 12}, NULL));
        cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_grid_with_workgroup(khal_indirect(counts, 0), 8, 1, 1), .buffers = {sum});
        if (!CTS_OK(t, khal_pass_end(pass)) || !CTS_OK(t, khal_submit(encoder, &ticket))) return;
        overlapped = khal_ticket_poll(cts_device(t), ticket) == KHAL_NOT_READY;
        CTS_OK(t, khal_ticket_wait(cts_device(t), ticket, KHAL_FOREVER));
        expected += groups[0] * groups[1] * 8;
        if (attempt == 2 && is_cpu_driver) break;
    }
    const uint32_t* s = cts_read_all(t, sum);
    if (s != NULL) CTS_EQ(t, s[0], expected);
    if (!is_cpu_driver) CTS_CHECK(t, overlapped);
}

/* ---- steady state -------------------------------------------------------------------------------- */

static void steady_state_allocates_nothing(cts* t)
{
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_buffer* a = cts_buffer_of(t, NULL, 4096, 4);
    khal_encoder* encoder = cts_encoder(t);
    if (function == NULL || encoder == NULL) return;
    uint64_t base = 0;
    for (int i = 0; i < 1200; i++) {
        khal_ticket ticket = 0;
        if (!add(t, encoder, function, khal_slice_all(a), 1, NULL) || !CTS_OK(t, khal_submit(encoder, &ticket)) ||
            !CTS_OK(t, khal_ticket_wait(cts_device(t), ticket, KHAL_FOREVER)))
            return;
        khal_statistics statistics;
        khal_device_get_statistics(cts_device(t), &statistics);
        if (i == 200) base = statistics.host_allocations;
        if (i > 200 && statistics.host_allocations != base) {
            cts_fail(t, __FILE__, __LINE__, "round %d: %llu allocations since round 200", i, (unsigned long long)(statistics.host_allocations - base));
            return;
        }
    }
    /* a new encoder each time is a shape seen before too */
    for (int i = 0; i < 600; i++) {
        khal_encoder* fresh = NULL;
        if (!CTS_OK(t, khal_encoder_create(cts_device(t), NULL, &fresh))) return;
        const bool ok = add(t, fresh, function, khal_slice_all(a), 1, NULL) && CTS_OK(t, khal_submit(fresh, NULL)) &&
                        CTS_OK(t, khal_device_wait(cts_device(t), KHAL_FOREVER));
        khal_encoder_release(fresh);
        if (!ok) return;
        khal_statistics statistics;
        khal_device_get_statistics(cts_device(t), &statistics);
        if (i == 200) base = statistics.host_allocations;
        if (i > 200 && statistics.host_allocations != base) {
            cts_note(t, "a new encoder for each submit allocates: %llu since round 200", (unsigned long long)(statistics.host_allocations - base));
            return;
        }
    }
}

static uint64_t resident_bytes(void)
{
#ifdef __linux__
    unsigned long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%lu %lu", &pages, &resident) != 2) resident = 0;
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
#else
    return 0;
#endif
}

/* Nothing grows: 100,000 submits without a wait. */
static void flat_memory(cts* t)
{
    /* How far the device falls behind is chance: up to IN_FLIGHT submissions, each made of a few pieces that are kept for later
     * ones. A leak would show once a submit. */
    enum { SUBMITS = 100000, IN_FLIGHT = 1024, PIECES = 8 };
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_buffer* a = cts_buffer_of(t, NULL, 256, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_statistics start, end;
    uint64_t early = 0;
    if (function == NULL || encoder == NULL) return;
    for (uint32_t i = 0; i < SUBMITS; i++) {
        khal_pass* pass = NULL;
        const uint32_t n = 1;
        const khal_slice whole = khal_slice_all(a);
        if (!CTS_OK(t, khal_pass_begin(encoder, NULL, &pass)) ||
            !CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(64, 1, 1), .bindings = &whole, .binding_count = 1,
                                                                      .push_constants = &n, .push_constant_size = 4}, NULL)) ||
            !CTS_OK(t, khal_pass_end(pass)) || !CTS_OK(t, khal_submit(encoder, NULL)))
            return;
        if (i == 10000) {
            early = resident_bytes();
            khal_device_get_statistics(cts_device(t), &start);
        }
    }
    const uint64_t late = resident_bytes();
    khal_device_get_statistics(cts_device(t), &end);
    uint32_t value = 0;
    CTS_OK(t, khal_buffer_read(a, 252, &value, 4, KHAL_FOREVER));
    CTS_EQ(t, value, SUBMITS);
    CTS_EQ(t, end.live_objects, start.live_objects);
    CTS_EQ(t, end.buffer_size, start.buffer_size);
    cts_note(t, "resident: %.2f MiB after 10,000 submits, %.2f after 100,000; %llu allocations between", (double)early / 1048576, (double)late / 1048576,
             (unsigned long long)(end.host_allocations - start.host_allocations));
    if (late > early + IN_FLIGHT * (32u << 10)) /* sanitizers pad what is allocated */
        cts_fail(t, __FILE__, __LINE__, "resident memory grew from %.2f to %.2f MiB over 90,000 submits", (double)early / 1048576, (double)late / 1048576);
    if (end.host_allocations - start.host_allocations > IN_FLIGHT * PIECES)
        cts_fail(t, __FILE__, __LINE__, "%llu allocations over 90,000 submits of one shape", (unsigned long long)(end.host_allocations - start.host_allocations));
}

static void statistics(cts* t)
{
    khal_statistics before, after;
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_device_get_statistics(cts_device(t), &before);
    khal_buffer* a = cts_buffer_of(t, NULL, 1000, 4);
    khal_buffer* b = cts_buffer_of(t, NULL, 1000, 4);
    khal_encoder* encoder = cts_encoder(t);
    if (!add(t, encoder, function, khal_slice_all(a), 1, NULL)) return;
    CTS_OK(t, khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)));
    CTS_OK(t, khal_encoder_fill(encoder, khal_slice_all(a), "abcd", 4));
    cts_submit_and_wait(t, encoder);
    khal_device_get_statistics(cts_device(t), &after);
    CTS_EQ(t, after.submissions - before.submissions, 1);
    CTS_EQ(t, after.dispatches - before.dispatches, 1);
    CTS_EQ(t, after.copies - before.copies, 1);
    CTS_EQ(t, after.fills - before.fills, 1);
    CTS_EQ(t, after.barriers - before.barriers, 2);
    CTS_EQ(t, after.buffer_count - before.buffer_count, 2);
    CTS_EQ(t, after.buffer_size - before.buffer_size, 2000);
    CTS_CHECK(t, after.live_objects >= before.live_objects + 3);
}

void cts_suite_api_run(cts_registry* registry)
{
    CTS_ADD(registry, one_timeline);
    CTS_ADD(registry, writes_between_submits);
    CTS_ADD(registry, read_times_out);
    CTS_ADD(registry, release_right_after_submit);
#ifndef _WIN32
    CTS_ADD(registry, many_threads);
    CTS_ADD(registry, wait_holds_up_nobody);
#endif
    CTS_ADD(registry, indirect_holds_up_nobody);
    CTS_ADD(registry, steady_state_allocates_nothing);
    CTS_ADD(registry, flat_memory);
    CTS_ADD(registry, statistics);
}

/* ---- timestamps ---------------------------------------------------------------------------------- */

static khal_timestamps* make_timestamps(cts* t, uint32_t capacity)
{
    khal_timestamps* timestamps = NULL;
    if (!CTS_OK(t, khal_timestamps_create(cts_device(t), &(khal_timestamps_desc){.capacity = capacity, .label = "times"}, &timestamps))) return NULL;
    cts_own_timestamps(t, timestamps);
    return timestamps;
}

static void timed_passes(cts* t)
{
    enum { PASSES = 5 };
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_timestamps* timestamps = make_timestamps(t, 16);
    khal_buffer* a = cts_buffer_of(t, NULL, 1 << 20, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_timestamp entries[16];
    uint32_t count = 99, missed = 99;
    if (timestamps == NULL || function == NULL) return;
    CTS_CHECK(t, khal_timestamps_is_enabled(timestamps));
    CTS_CHECK(t, khal_timestamps_is_idle(timestamps));
    CTS_STATUS(t, khal_timestamps_try_take(timestamps, 16, entries, &count, &missed), KHAL_NOTHING_REQUESTED);
    const uint64_t begin = cts_now();
    for (uint32_t i = 0; i < PASSES; i++) {
        char label[16];
        snprintf(label, sizeof label, "pass %u", i);
        if (!add(t, encoder, function, khal_slice_all(a), 1, &(khal_pass_desc){.label = label, .timestamps = timestamps})) return;
    }
    CTS_OK(t, khal_timestamps_resolve(timestamps, encoder));
    if (!cts_submit_and_wait(t, encoder)) return;
    const double wall = (double)(cts_now() - begin) * 1e-6;
    CTS_OK(t, khal_timestamps_request_read(timestamps));
    CTS_CHECK(t, !khal_timestamps_is_idle(timestamps));
    CTS_ERROR(t, khal_timestamps_request_read(timestamps), KHAL_ERROR_TIMESTAMPS_BUSY);
    CTS_ERROR(t, khal_timestamps_reset(timestamps), KHAL_ERROR_TIMESTAMPS_BUSY);
    khal_status status;
    while ((status = khal_timestamps_try_take(timestamps, 2, entries, &count, &missed)) == KHAL_NOT_READY) {}
    CTS_STATUS(t, status, KHAL_INVALID_ARGUMENT); /* less room than entries: nothing is taken */
    CTS_EQ(t, khal_error_get()->id, KHAL_ERROR_TIMESTAMPS_CAPACITY);
    CTS_EQ(t, count, PASSES);
    while ((status = khal_timestamps_try_take(timestamps, 16, entries, &count, &missed)) == KHAL_NOT_READY) {}
    if (!CTS_STATUS(t, status, KHAL_OK) || !CTS_EQ(t, count, PASSES)) return;
    CTS_EQ(t, missed, 0);
    CTS_CHECK(t, khal_timestamps_is_idle(timestamps));
    double sum = 0;
    for (uint32_t i = 0; i < PASSES; i++) {
        char label[16];
        snprintf(label, sizeof label, "pass %u", i);
        CTS_CHECK(t, strcmp(entries[i].label, label) == 0);
        if (!isfinite(entries[i].duration) || entries[i].duration < 0 || !isfinite(entries[i].begin) || entries[i].begin < 0)
            cts_fail(t, __FILE__, __LINE__, "pass %u: begin %g ms, duration %g ms", i, entries[i].begin, entries[i].duration);
        if (i > 0 && entries[i].begin < entries[i - 1].begin)
            cts_fail(t, __FILE__, __LINE__, "pass %u begins at %g ms, before pass %u at %g ms", i, entries[i].begin, i - 1, entries[i - 1].begin);
        sum += entries[i].duration;
    }
    if (!(sum <= wall + 1)) cts_fail(t, __FILE__, __LINE__, "%g ms in passes, %g ms by the host's clock", sum, wall);
    CTS_CHECK(t, sum > 0);
    /* taken: the manager is empty again */
    CTS_STATUS(t, khal_timestamps_try_take(timestamps, 16, entries, &count, &missed), KHAL_NOTHING_REQUESTED);
    CTS_OK(t, khal_timestamps_read(timestamps, 16, entries, &count, &missed, KHAL_FOREVER));
    CTS_EQ(t, count, 0);
}

/* Passes beyond the capacity run, are counted and reported. */
static void over_capacity(cts* t)
{
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_timestamps* timestamps = make_timestamps(t, 3);
    khal_buffer* a = cts_buffer_of(t, NULL, 64, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_statistics before, after;
    if (timestamps == NULL || function == NULL) return;
    khal_device_get_statistics(cts_device(t), &before);
    for (int i = 0; i < 5; i++)
        if (!add(t, encoder, function, khal_slice_all(a), 1, &(khal_pass_desc){.timestamps = timestamps})) return;
    if (!cts_submit_and_wait(t, encoder)) return;
    khal_timestamp entries[8];
    uint32_t count = 0, missed = 0;
    if (!CTS_OK(t, khal_timestamps_read(timestamps, 8, entries, &count, &missed, KHAL_FOREVER))) return;
    CTS_EQ(t, count, 3);
    CTS_EQ(t, missed, 2);
    khal_device_get_statistics(cts_device(t), &after);
    CTS_EQ(t, after.passes_untimed - before.passes_untimed, 2);
    const uint32_t* words = cts_read_all(t, a);
    if (words != NULL) CTS_EQ(t, words[0], 5);
    khal_timestamps* none = NULL;
    CTS_ERROR(t, khal_timestamps_create(cts_device(t), &(khal_timestamps_desc){.capacity = 0}, &none), KHAL_ERROR_TIMESTAMPS_CAPACITY);
}

/* Timing a pass while a read is in flight is an error; commands submitted again append their passes each time. */
static void busy_and_reuse(cts* t)
{
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_timestamps* timestamps = make_timestamps(t, 10);
    khal_buffer* a = cts_buffer_of(t, NULL, 64, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_commands* commands = NULL;
    if (timestamps == NULL || function == NULL) return;
    const khal_pass_desc timed = {.label = "again", .timestamps = timestamps};
    if (!add(t, encoder, function, khal_slice_all(a), 1, &timed) || !CTS_OK(t, khal_encoder_finish(encoder, &commands))) return;
    cts_own_commands(t, commands);
    for (int i = 0; i < 4; i++) CTS_OK(t, khal_commands_submit(commands, NULL));
    CTS_OK(t, khal_timestamps_request_read(timestamps));
    khal_pass* pass = NULL;
    CTS_ERROR(t, khal_pass_begin(encoder, &timed, &pass), KHAL_ERROR_TIMESTAMPS_BUSY);
    khal_encoder_reset(encoder);
    CTS_ERROR(t, khal_commands_submit(commands, NULL), KHAL_ERROR_TIMESTAMPS_BUSY);
    khal_timestamp entries[10];
    uint32_t count = 0, missed = 0;
    khal_status status;
    while ((status = khal_timestamps_try_take(timestamps, 10, entries, &count, &missed)) == KHAL_NOT_READY) {}
    if (!CTS_STATUS(t, status, KHAL_OK)) return;
    CTS_EQ(t, count, 4);
    for (uint32_t i = 0; i < count && i < 10; i++) CTS_CHECK(t, strcmp(entries[i].label, "again") == 0);
    CTS_OK(t, khal_commands_submit(commands, NULL));
    CTS_OK(t, khal_timestamps_reset(timestamps));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    CTS_OK(t, khal_timestamps_read(timestamps, 10, entries, &count, &missed, KHAL_FOREVER));
    CTS_EQ(t, count, 1);
    const uint32_t* words = cts_read_all(t, a);
    if (words != NULL) CTS_EQ(t, words[0], 6); /* the refused submit ran nothing */
}

void cts_suite_api_timestamps(cts_registry* registry)
{
    cts_add(registry, "timed_passes", timed_passes, NULL, KHAL_FEATURE_TIMESTAMPS);
    cts_add(registry, "over_capacity", over_capacity, NULL, KHAL_FEATURE_TIMESTAMPS);
    cts_add(registry, "busy_and_reuse", busy_and_reuse, NULL, KHAL_FEATURE_TIMESTAMPS);
}

/* ---- readback ------------------------------------------------------------------------------------ */

static khal_readback* make_readback(cts* t, uint64_t count, uint32_t element_size, uint32_t slots)
{
    khal_readback* readback = NULL;
    if (!CTS_OK(t, khal_readback_create(cts_device(t), &(khal_readback_desc){.capacity_count = count, .element_size = element_size, .slot_count = slots}, &readback)))
        return NULL;
    cts_own_readback(t, readback);
    return readback;
}

static khal_status take(khal_readback* readback, void* out, uint64_t count)
{
    khal_status status;
    while ((status = khal_readback_try_take(readback, out, count)) == KHAL_NOT_READY) {}
    return status;
}

static void readback_states(cts* t)
{
    uint32_t in[16], out[16];
    for (uint32_t i = 0; i < 16; i++) in[i] = i * 11;
    khal_buffer* a = cts_buffer_of(t, in, sizeof in, 4);
    khal_readback* readback = make_readback(t, 16, 4, 0);
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_encoder* encoder = cts_encoder(t);
    if (readback == NULL || function == NULL) return;
    CTS_EQ(t, khal_readback_get_capacity(readback), 16);
    CTS_CHECK(t, khal_readback_is_idle(readback));
    CTS_STATUS(t, khal_readback_try_take(readback, out, 16), KHAL_NOTHING_REQUESTED);
    const khal_slice whole = khal_slice_all(a), part = {a, 8, 20, 4};
    /* in a recording: the value at that place */
    if (!add(t, encoder, function, whole, 1000, NULL)) return;
    CTS_OK(t, khal_readback_request_copy(readback, encoder, &whole, 1));
    if (!add(t, encoder, function, whole, 1000, NULL)) return;
    CTS_STATUS(t, khal_readback_try_take(readback, out, 16), KHAL_NOTHING_REQUESTED); /* not submitted yet */
    CTS_OK(t, khal_submit(encoder, NULL));
    CTS_CHECK(t, !khal_readback_is_idle(readback));
    CTS_ERROR(t, khal_readback_request(readback, &whole, 1), KHAL_ERROR_READBACK_BUSY);
    CTS_ERROR(t, take(readback, out, 15), KHAL_ERROR_READBACK_COUNT);
    memset(out, 0, sizeof out);
    if (CTS_STATUS(t, take(readback, out, 16), KHAL_OK))
        for (uint32_t i = 0; i < 16; i++) CTS_EQ(t, out[i], in[i] + 1000);
    CTS_CHECK(t, khal_readback_is_idle(readback));
    CTS_STATUS(t, khal_readback_try_take(readback, out, 16), KHAL_NOTHING_REQUESTED);
    /* at once, a part */
    CTS_OK(t, khal_readback_request(readback, &part, 1));
    memset(out, 0, sizeof out);
    if (CTS_STATUS(t, take(readback, out, 5), KHAL_OK)) CTS_EQ(t, out[0], in[2] + 2000);
    CTS_EQ(t, out[5], 0);
    /* several ranges, gathered */
    const khal_slice ranges[3] = {{a, 60, 4, 4}, {a, 0, 8, 4}, {a, 32, 0, 4}};
    CTS_OK(t, khal_readback_request(readback, ranges, 3));
    if (CTS_STATUS(t, take(readback, out, 3), KHAL_OK)) {
        CTS_EQ(t, out[0], in[15] + 2000);
        CTS_EQ(t, out[1], in[0] + 2000);
        CTS_EQ(t, out[2], in[1] + 2000);
    }
    /* cancelled */
    CTS_OK(t, khal_readback_request(readback, &whole, 1));
    khal_readback_cancel(readback);
    CTS_CHECK(t, khal_readback_is_idle(readback));
    CTS_STATUS(t, khal_readback_try_take(readback, out, 16), KHAL_NOTHING_REQUESTED);
    CTS_OK(t, khal_readback_request(readback, &whole, 1));
    CTS_STATUS(t, take(readback, out, 16), KHAL_OK);
    /* refused */
    const khal_slice twice[2] = {whole, part}, uneven = {a, 0, 6, 1};
    CTS_ERROR(t, khal_readback_request(readback, twice, 2), KHAL_ERROR_READBACK_CAPACITY);
    CTS_ERROR(t, khal_readback_request(readback, &uneven, 1), KHAL_ERROR_SLICE_ELEMENT_SIZE);
    CTS_ERROR(t, khal_readback_request_copy(readback, encoder, twice, 2), KHAL_ERROR_READBACK_CAPACITY);
    khal_encoder_reset(encoder);
    khal_buffer* unreadable = cts_buffer(t, .size = 16, .usage = KHAL_USAGE_STORAGE);
    const khal_slice no_flag = khal_slice_all(unreadable);
    CTS_ERROR(t, khal_readback_request(readback, &no_flag, 1), KHAL_ERROR_BUFFER_USAGE);
    CTS_CHECK(t, khal_readback_is_idle(readback));
}

static void readback_slots(cts* t)
{
    khal_function* function = cts_function(t, &workitem_library, "add");
    khal_buffer* a = cts_buffer_of(t, NULL, 400, 4);
    khal_readback* readback = make_readback(t, 100, 4, 3);
    khal_encoder* encoder = cts_encoder(t);
    const khal_slice whole = khal_slice_all(a);
    uint32_t out[100], next = 1;
    if (readback == NULL || function == NULL) return;
    for (uint32_t i = 1; i <= 50; i++) {
        if (!add(t, encoder, function, whole, 1, NULL) || !CTS_OK(t, khal_readback_request_copy(readback, encoder, &whole, 1)) || !CTS_OK(t, khal_submit(encoder, NULL)))
            return;
        if (i < 3) continue;
        if (i == 3) CTS_ERROR(t, khal_readback_request(readback, &whole, 1), KHAL_ERROR_READBACK_BUSY);
        if (!CTS_STATUS(t, take(readback, out, 100), KHAL_OK)) return;
        if (!CTS_EQ(t, out[99], next)) return; /* taken in order */
        next++;
    }
    for (; next <= 50; next++)
        if (!CTS_STATUS(t, take(readback, out, 100), KHAL_OK) || !CTS_EQ(t, out[0], next)) return;
    CTS_CHECK(t, khal_readback_is_idle(readback));
}

/* A read whose submission failed is a failure, not a value. */
static khal_status refuse(void* user, const khal_native* native)
{
    (void)user; (void)native;
    return KHAL_DRIVER_ERROR;
}

static void readback_of_failed_work(cts* t)
{
    khal_buffer* a = cts_buffer_of(t, NULL, 16, 4);
    khal_readback* readback = make_readback(t, 4, 4, 1);
    khal_encoder* encoder = cts_encoder(t);
    const khal_slice whole = khal_slice_all(a);
    uint32_t out[4] = {1, 2, 3, 4};
    CTS_OK(t, khal_encoder_native(encoder, &(khal_native_desc){.call = refuse}));
    CTS_OK(t, khal_readback_request_copy(readback, encoder, &whole, 1));
    if (!CTS_OK(t, khal_submit(encoder, NULL))) return;
    CTS_STATUS(t, take(readback, out, 4), KHAL_EXECUTION_FAILED);
    CTS_EQ(t, out[0], 1);
    CTS_CHECK(t, khal_readback_is_idle(readback));
    CTS_STATUS(t, khal_device_wait(cts_device(t), KHAL_FOREVER), KHAL_EXECUTION_FAILED);
}

void cts_suite_api_readback(cts_registry* registry)
{
    CTS_ADD(registry, readback_states);
    CTS_ADD(registry, readback_slots);
    cts_add(registry, "readback_of_failed_work", readback_of_failed_work, NULL, KHAL_FEATURE_NATIVE_ENCODER);
}
