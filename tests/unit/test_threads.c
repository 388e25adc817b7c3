/* Many threads at once. ThreadSanitizer is the judge of most of it. */
#include "front.h"

#include "platform/platform.h"

enum { THREADS = 4, ROUNDS = 200 };

typedef struct shared {
    khal_device* device;
    khal_buffer* buffer;
    khal_function* function;
    khal_commands* commands;
    khal_timestamps* timestamps;
    khal_readback* readback;
    atomic_int failures;
} shared;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,                         \
                        khal_error_get()->message);                                                \
            atomic_fetch_add(&s->failures, 1);                                                     \
        }                                                                                          \
    } while (0)

static void together(shared* s, void (*run)(void* user))
{
    khal__thread threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        assert_true(khal__thread_start(&threads[i], run, s, "test"));
    for (int i = 0; i < THREADS; ++i)
        khal__thread_join(&threads[i]);
    assert_int_equal(atomic_load(&s->failures), 0);
}

static void make_shared(shared* s)
{
    memset(s, 0, sizeof *s);
    s->device = open_noop();
    s->buffer = make_buffer(s->device, 1 << 16);
    s->function = make_function(s->device, "write");
    khal_encoder* encoder = make_encoder(s->device);
    khal_pass* pass;
    OK(khal_timestamps_create(s->device, &(khal_timestamps_desc){.capacity = 1000000},
                              &s->timestamps));
    OK(khal_readback_create(s->device, &(khal_readback_desc){.capacity_count = 64, .slot_count = 8},
                            &s->readback));
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = s->timestamps}, &pass));
    for (uint64_t i = 0; i < 8; ++i)
        OK(dispatch(pass, s->function, 1, &(khal_slice){s->buffer, i * 128, 64, 4}));
    OK(khal_pass_end(pass));
    OK(khal_encoder_finish(encoder, &s->commands));
    khal_encoder_release(encoder);
}

static void release_shared(shared* s)
{
    OK(khal_device_wait(s->device, KHAL_FOREVER));
    khal_commands_release(s->commands);
    khal_timestamps_release(s->timestamps);
    khal_readback_release(s->readback);
    khal_function_release(s->function);
    khal_buffer_release(s->buffer);
    assert_int_equal(statistics(s->device).live_objects, 0);
    khal_device_release(s->device);
}

static void record_and_submit(void* user)
{
    shared* s = user;
    const uint32_t pattern = 1;
    char out[16];
    for (int round = 0; round < ROUNDS; ++round) {
        khal_encoder* encoder = NULL;
        khal_pass* pass;
        khal_ticket ticket = 0;
        EXPECT(khal_encoder_create(s->device, NULL, &encoder) == KHAL_OK);
        khal_encoder_fill(encoder, bytes(s->buffer, 0, 64), &pattern, 4);
        khal_pass_begin(encoder, &(khal_pass_desc){.label = "pass", .timestamps = s->timestamps},
                        &pass);
        for (uint64_t i = 0; i < 10; ++i)
            dispatch(pass, s->function, 1, &(khal_slice){s->buffer, i * 64, 64, 4});
        khal_pass_end(pass);
        EXPECT(khal_submit(encoder, &ticket) == KHAL_OK);
        EXPECT(khal_ticket_wait(s->device, ticket, KHAL_FOREVER) == KHAL_OK);
        EXPECT(khal_ticket_poll(s->device, ticket) == KHAL_OK);
        EXPECT(khal_buffer_write(s->buffer, 0, out, 16) == KHAL_OK);
        EXPECT(khal_buffer_read(s->buffer, 0, out, 16, KHAL_FOREVER) == KHAL_OK);
        khal_encoder_release(encoder);
    }
}

static void recording_and_submitting(void** state)
{
    (void)state;
    shared s;
    make_shared(&s);
    together(&s, record_and_submit);
    assert_int_equal(statistics(s.device).submissions, THREADS * ROUNDS);
    assert_int_equal(statistics(s.device).dispatches, THREADS * ROUNDS * 10);
    release_shared(&s);
}

static void use_shared_commands(void* user)
{
    shared* s = user;
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        EXPECT(khal_commands_set_slice(s->commands, round % 8, 0,
                                       bytes(s->buffer, round % 100 * 4, 64)) == KHAL_OK);
        EXPECT(khal_commands_submit(s->commands, NULL) == KHAL_OK);
        EXPECT(khal_commands_submit(s->commands, NULL) == KHAL_OK);
    }
}

static void sharing_commands(void** state)
{
    (void)state;
    shared s;
    khal_timestamp* entries = calloc(THREADS * ROUNDS * 2, sizeof *entries);
    uint32_t count;
    make_shared(&s);
    together(&s, use_shared_commands);
    OK(khal_timestamps_read(s.timestamps, THREADS * ROUNDS * 2, entries, &count, NULL,
                            KHAL_FOREVER));
    assert_int_equal(count, THREADS * ROUNDS * 2);
    for (uint32_t i = 1; i < count; ++i)
        assert_true(entries[i].begin >= entries[i - 1].begin);
    free(entries);
    release_shared(&s);
}

static void use_readback(void* user)
{
    shared* s = user;
    char out[64];
    for (int round = 0; round < ROUNDS; ++round) {
        khal_status status =
            khal_readback_request(s->readback, (khal_slice[]){bytes(s->buffer, 0, 64)}, 1);
        EXPECT(status == KHAL_OK || khal_error_get()->id == KHAL_ERROR_READBACK_BUSY);
        status = khal_readback_try_take(s->readback, out, 64);
        EXPECT(status == KHAL_OK || status == KHAL_NOT_READY || status == KHAL_NOTHING_REQUESTED);
        if (round % 16 == 0)
            khal_readback_cancel(s->readback);
        khal_readback_is_idle(s->readback);
    }
}

static void sharing_a_readback(void** state)
{
    (void)state;
    shared s;
    make_shared(&s);
    together(&s, use_readback);
    khal_readback_cancel(s.readback);
    release_shared(&s);
}

static void come_and_go(void* user)
{
    shared* s = user;
    for (int round = 0; round < ROUNDS; ++round) {
        khal_buffer* buffer = NULL;
        khal_module* module = NULL;
        khal_function* function = NULL;
        EXPECT(khal_buffer_create(s->device, &(khal_buffer_desc){.size = 64}, &buffer) == KHAL_OK);
        EXPECT(khal_module_load(s->device, &(khal_module_desc){.library = &front_library},
                                &module) == KHAL_OK);
        EXPECT(khal_function_create(module, &(khal_function_desc){.entry_point = "none"},
                                    &function) == KHAL_OK);
        khal_module_release(module);
        EXPECT(khal_module_load(s->device,
                                &(khal_module_desc){.code = "@compute fn f() {}", .code_size = 18},
                                &module) == KHAL_OK);
        khal_function_release(function);
        khal_module_release(module);
        khal_buffer_release(buffer);
    }
}

static void objects_come_and_go(void** state)
{
    (void)state;
    shared s;
    make_shared(&s);
    khal_function_release(s.function); /* so that the module goes and comes too */
    khal_commands_release(s.commands);
    s.function = NULL;
    s.commands = NULL;
    together(&s, come_and_go);
    release_shared(&s);
}

/* The last release may come from any thread, with work under way. */
static void release_from_threads(void* user)
{
    shared* s = user;
    khal_encoder* encoder = NULL;
    const uint32_t pattern = 1;
    EXPECT(khal_encoder_create(s->device, NULL, &encoder) == KHAL_OK);
    for (int round = 0; round < 20; ++round) {
        khal_encoder_fill(encoder, bytes(s->buffer, 0, 64), &pattern, 4);
        EXPECT(khal_submit(encoder, NULL) == KHAL_OK);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(s->buffer);
    khal_device_release(s->device);
}

static void the_last_release_from_any_thread(void** state)
{
    (void)state;
    for (int round = 0; round < 50; ++round) {
        counted c = {.remaining = -1};
        shared s = {0};
        s.device = open_noop_with((khal_device_desc){.allocator = COUNTED(c)});
        s.buffer = make_buffer(s.device, 64);
        for (int i = 1; i < THREADS; ++i) {
            khal_device_retain(s.device);
            khal_buffer_retain(s.buffer);
        }
        together(&s, release_from_threads);
        assert_int_equal(atomic_load(&c.alive), 0);
    }
}

typedef struct waiter {
    khal_device* device;
    khal_status status;
    atomic_bool waits;
} waiter;

static void wait_long(void* user)
{
    waiter* w = user;
    atomic_store(&w->waits, true);
    w->status = khal_ticket_wait(w->device, 1, KHAL_FOREVER);
}

static void a_wait_holds_up_no_submit(void** state)
{
    (void)state;
    waiter w = {.device = open_noop()};
    khal__thread thread;
    khal_encoder* encoder = make_encoder(w.device);
    khal_buffer* buffer = make_buffer(w.device, 64);
    char out[4];
    noop_hold(w.device, 0);
    OK(khal_submit(encoder, NULL));
    assert_true(khal__thread_start(&thread, wait_long, &w, "waiter"));
    while (!atomic_load(&w.waits))
        khal__thread_yield();
    for (int i = 0; i < 500; ++i) { /* would hang here */
        OK(khal_submit(encoder, NULL));
        OK(khal_buffer_write(buffer, 0, out, 4));
        OK(khal_buffer_read(buffer, 0, out, 4, KHAL_FOREVER));
    }
    assert_int_equal(khal_ticket_poll(w.device, 1), KHAL_NOT_READY);
    noop_hold(w.device, UINT64_MAX);
    khal__thread_join(&thread);
    OK(w.status);
    khal_buffer_release(buffer);
    khal_encoder_release(encoder);
    khal_device_release(w.device);
}

static void fail_in_thread(void* user)
{
    shared* s = user;
    char expected[64];
    for (int round = 0; round < ROUNDS; ++round) {
        khal_buffer* buffer = NULL;
        snprintf(expected, sizeof expected, "%p-%d", (void*)expected, round);
        EXPECT(khal_buffer_create(
                   s->device, &(khal_buffer_desc){.size = 3, .element_size = 2, .label = expected},
                   &buffer) != KHAL_OK);
        EXPECT(strcmp(khal_error_get()->object, expected) == 0);
    }
}

static void each_thread_has_its_own_record(void** state)
{
    (void)state;
    shared s;
    make_shared(&s);
    khal_error_clear();
    together(&s, fail_in_thread);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_NONE);
    release_shared(&s);
}

static void lose_meanwhile(void* user)
{
    shared* s = user;
    khal_encoder* encoder = NULL;
    const uint32_t pattern = 1;
    if (khal_encoder_create(s->device, NULL, &encoder) != KHAL_OK)
        return;
    for (int round = 0; round < 100; ++round) {
        khal_ticket ticket = 0;
        khal_encoder_fill(encoder, bytes(s->buffer, 0, 64), &pattern, 4);
        khal_status status = khal_submit(encoder, &ticket);
        EXPECT(status == KHAL_OK || status == KHAL_DEVICE_LOST);
        if (round == 50)
            noop_lose(s->device, "lost by a test");
        status = status == KHAL_OK ? khal_ticket_wait(s->device, ticket, KHAL_FOREVER) : status;
        EXPECT(status == KHAL_OK || status == KHAL_DEVICE_LOST);
    }
    khal_encoder_release(encoder);
}

static void losing_the_device_meanwhile(void** state)
{
    (void)state;
    shared s = {0};
    s.device = open_noop();
    s.buffer = make_buffer(s.device, 64);
    together(&s, lose_meanwhile);
    FAILS(DEVICE_LOST, khal_device_get_status(s.device));
    khal_buffer_release(s.buffer);
    khal_device_release(s.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_and_submitting),
        cmocka_unit_test(sharing_commands),
        cmocka_unit_test(sharing_a_readback),
        cmocka_unit_test(objects_come_and_go),
        cmocka_unit_test(the_last_release_from_any_thread),
        cmocka_unit_test(a_wait_holds_up_no_submit),
        cmocka_unit_test(each_thread_has_its_own_record),
        cmocka_unit_test(losing_the_device_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
