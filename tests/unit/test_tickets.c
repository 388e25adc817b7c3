/* Tickets: one timeline, polled and waited for, failures told, memory flat however many are under
 * way. */
#include "front.h"

#include "platform/platform.h"

static khal_device* device;
static khal_encoder* encoder;

static int set_up(void** state)
{
    (void)state;
    device = open_noop();
    encoder = make_encoder(device);
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    noop_hold(device, UINT64_MAX);
    khal_encoder_release(encoder);
    khal_device_release(device);
    return 0;
}

static khal_ticket submit(void)
{
    khal_ticket ticket = 0;
    OK(khal_submit(encoder, &ticket));
    return ticket;
}

static void tickets_count_from_one(void** state)
{
    (void)state;
    OK(khal_ticket_poll(device, 0));
    OK(khal_ticket_wait(device, 0, 0));
    OK(khal_device_wait(device, 0));
    for (khal_ticket i = 1; i < 10; ++i)
        assert_int_equal(submit(), i);
    OK(khal_submit(encoder, NULL));
    assert_int_equal(submit(), 11);
    assert_int_equal(statistics(device).submissions, 11);
}

static void polls_follow_the_device(void** state)
{
    (void)state;
    noop_hold(device, 1);
    for (int i = 0; i < 3; ++i)
        submit();
    OK(khal_ticket_poll(device, 1));
    khal_error_clear();
    assert_int_equal(khal_ticket_poll(device, 2), KHAL_NOT_READY);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_NONE); /* an answer, not an error */
    noop_hold(device, 2);
    OK(khal_ticket_poll(device, 2));
    assert_int_equal(khal_ticket_poll(device, 3), KHAL_NOT_READY);
    noop_hold(device, UINT64_MAX);
    OK(khal_ticket_wait(device, 3, KHAL_FOREVER));
}

static void a_wait_takes_its_time(void** state)
{
    (void)state;
    noop_hold(device, 0);
    submit();
    const uint64_t begin = khal__clock_now();
    FAILS(TIMEOUT, khal_ticket_wait(device, 1, 20000000));
    assert_true(khal__clock_now() - begin >= 20000000);
}

static void a_failed_submit_has_no_ticket(void** state)
{
    (void)state;
    khal_buffer* buffer = make_buffer(device, 64);
    const uint32_t pattern = 0;
    char out[4];
    khal_ticket ticket = 77;
    submit();
    OK(khal_encoder_fill(encoder, bytes(buffer, 0, 64), &pattern, 4));
    atomic_store(&noop_control_of(device)->fail[NOOP_SUBMIT], 1);
    FAILS(DRIVER, khal_submit(encoder, &ticket));
    assert_int_equal(ticket, 77);
    FAILS(TICKET, khal_ticket_poll(device, 2));
    OK(khal_buffer_read(buffer, 0, out, 4, 0)); /* nothing waits for work that never was */
    assert_int_equal(submit(), 2);
    khal_buffer_release(buffer);
}

static unsigned reports;
static void count_reports(void* user, const khal_error* error)
{
    (void)user;
    assert_int_equal(error->status, KHAL_EXECUTION_FAILED);
    ++reports;
}

static void failures_belong_to_their_ticket(void** state)
{
    (void)state;
    khal_device* d = open_noop_with((khal_device_desc){.diagnostic = count_reports});
    khal_encoder* e = make_encoder(d);
    noop_control* control = noop_control_of(d);
    khal_ticket ok, bad, bad2;
    reports = 0;
    OK(khal_submit(e, &ok));
    atomic_store(&control->fail_execution, true);
    OK(khal_submit(e, &bad));
    OK(khal_submit(e, &bad2));
    atomic_store(&control->fail_execution, false);
    OK(khal_submit(e, NULL));
    OK(khal_ticket_wait(d, ok, KHAL_FOREVER));
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(khal_ticket_wait(d, bad, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
        assert_non_null(strstr(khal_error_get()->message, "submission 2"));
        assert_int_equal(khal_ticket_poll(d, bad2), KHAL_EXECUTION_FAILED);
    }
    assert_int_equal(reports, 2); /* the callback hears of each once */
    assert_int_equal(khal_device_wait(d, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    assert_non_null(strstr(khal_error_get()->message, "submission 2"));
    OK(khal_device_wait(d, KHAL_FOREVER)); /* told once */
    khal_encoder_release(e);
    khal_device_release(d);
}

static void the_last_failures_are_remembered(void** state)
{
    (void)state;
    atomic_store(&noop_control_of(device)->fail_execution, true);
    for (int i = 0; i < 100; ++i)
        submit();
    OK(khal_ticket_poll(device, 36)); /* 64 are remembered: 37 to 100 */
    assert_int_equal(khal_ticket_poll(device, 37), KHAL_EXECUTION_FAILED);
    assert_int_equal(khal_ticket_poll(device, 100), KHAL_EXECUTION_FAILED);
}

static void memory_stays_flat_without_waits(void** state)
{
    (void)state;
    counted c = {.remaining = -1};
    khal_device* d = open_noop_with((khal_device_desc){.allocator = COUNTED(c)});
    khal_encoder* e = make_encoder(d);
    khal_buffer* buffer = make_buffer(d, 1 << 20);
    const uint32_t pattern = 1;
    unsigned long long after_warm_up = 0;
    for (uint64_t i = 0; i < 100000; ++i) {
        OK(khal_encoder_fill(e, bytes(buffer, i * 64 % (1 << 20), 32), &pattern, 4));
        OK(khal_submit(e, NULL));
        if (i == 1000)
            after_warm_up = atomic_load(&c.total);
    }
    assert_int_equal(atomic_load(&c.total), after_warm_up);
    khal_buffer_release(buffer);
    khal_encoder_release(e);
    khal_device_release(d);
    assert_int_equal(atomic_load(&c.alive), 0);
}

typedef struct releaser {
    khal_device* device;
    atomic_bool stop;
} releaser;

/* Lets the device go on, a ticket at a time. */
static void release_slowly(void* user)
{
    releaser* r = user;
    for (khal_ticket i = 1; !atomic_load(&r->stop); ++i) {
        noop_hold(r->device, i);
        khal__thread_yield();
    }
    noop_hold(r->device, UINT64_MAX);
}

static void a_submit_far_ahead_is_held_back(void** state)
{
    (void)state;
    releaser r = {.device = device};
    khal__thread thread;
    noop_hold(device, 0);
    assert_true(khal__thread_start(&thread, release_slowly, &r, "release"));
    for (khal_ticket i = 1; i <= 5000; ++i) {
        submit();
        /* 1,024 in flight at most */
        if (i > 1024)
            OK(khal_ticket_poll(device, i - 1024));
    }
    atomic_store(&r.stop, true);
    khal__thread_join(&thread);
    OK(khal_device_wait(device, KHAL_FOREVER));
}

static void loss_ends_a_wait(void** state)
{
    (void)state;
    noop_hold(device, 0);
    submit();
    noop_lose(device, "gone");
    FAILS(DEVICE_LOST, khal_ticket_wait(device, 1, KHAL_FOREVER));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tickets_count_from_one),
        TEST(polls_follow_the_device),
        TEST(a_wait_takes_its_time),
        TEST(a_failed_submit_has_no_ticket),
        TEST(failures_belong_to_their_ticket),
        TEST(the_last_failures_are_remembered),
        TEST(memory_stays_flat_without_waits),
        TEST(a_submit_far_ahead_is_held_back),
        TEST(loss_ends_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
