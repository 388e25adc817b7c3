/* Reads that never block: requests, answers, slots in order, and cancelling at any time. */
#include "front.h"

static khal_device* device;
static khal_encoder* encoder;
static khal_buffer* buffer;
static char out[256];

static int set_up(void** state)
{
    (void)state;
    device = open_noop();
    encoder = make_encoder(device);
    buffer = make_buffer(device, 256);
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    noop_hold(device, UINT64_MAX);
    khal_buffer_release(buffer);
    khal_encoder_release(encoder);
    khal_device_release(device);
    return 0;
}

static khal_readback* make(uint64_t capacity, uint32_t element_size, uint32_t slots)
{
    khal_readback* readback;
    OK(khal_readback_create(device,
                            &(khal_readback_desc){.capacity_count = capacity,
                                                  .element_size = element_size,
                                                  .slot_count = slots},
                            &readback));
    return readback;
}

static khal_status request(khal_readback* readback, uint64_t size)
{
    return khal_readback_request(readback, (khal_slice[]){bytes(buffer, 0, size)}, 1);
}

static void answers_of_a_take(void** state)
{
    (void)state;
    khal_readback* readback = make(8, 4, 0);
    assert_int_equal(khal_readback_get_capacity(readback), 8);
    assert_true(khal_readback_is_idle(readback));
    assert_int_equal(khal_readback_try_take(readback, out, 8), KHAL_NOTHING_REQUESTED);
    noop_hold(device, 0);
    OK(request(readback, 32));
    assert_false(khal_readback_is_idle(readback));
    memset(out, 'x', sizeof out);
    assert_int_equal(khal_readback_try_take(readback, out, 8), KHAL_NOT_READY);
    assert_int_equal(khal_readback_try_take(readback, out, 3), KHAL_NOT_READY);
    assert_int_equal(out[0], 'x');
    noop_hold(device, UINT64_MAX);
    FAILS(READBACK_COUNT, khal_readback_try_take(readback, out, 7));
    assert_int_equal(out[0], 'x');
    assert_false(khal_readback_is_idle(readback));
    OK(khal_readback_try_take(readback, out, 8));
    assert_int_equal(out[31], 0);
    assert_int_equal(out[32], 'x');
    assert_true(khal_readback_is_idle(readback));
    assert_int_equal(khal_readback_try_take(readback, out, 8), KHAL_NOTHING_REQUESTED);
    khal_readback_release(readback);
}

static void a_failed_submission_fails_the_read(void** state)
{
    (void)state;
    khal_readback* readback = make(8, 4, 1);
    atomic_store(&noop_control_of(device)->fail_execution, true);
    OK(request(readback, 32));
    atomic_store(&noop_control_of(device)->fail_execution, false);
    memset(out, 'x', sizeof out);
    assert_int_equal(khal_readback_try_take(readback, out, 8), KHAL_EXECUTION_FAILED);
    assert_int_equal(out[0], 'x');
    assert_int_equal(khal_readback_try_take(readback, out, 8), KHAL_NOTHING_REQUESTED);
    OK(request(readback, 4));
    OK(khal_readback_try_take(readback, out, 1));
    khal_readback_release(readback);
}

static void slots_are_taken_in_order(void** state)
{
    (void)state;
    khal_readback* readback = make(64, 1, 3);
    for (int round = 0; round < 5; ++round) {
        OK(request(readback, 1));
        OK(request(readback, 2));
        OK(request(readback, 3));
        FAILS(READBACK_BUSY, request(readback, 4));
        OK(khal_readback_try_take(readback, out, 1));
        OK(request(readback, 4));
        FAILS(READBACK_BUSY, request(readback, 5));
        for (uint64_t i = 2; i <= 4; ++i)
            OK(khal_readback_try_take(readback, out, i));
        assert_true(khal_readback_is_idle(readback));
    }
    khal_readback_release(readback);
}

static void recorded_reads_take_slots_at_submit(void** state)
{
    (void)state;
    khal_readback* readback = make(64, 1, 2);
    OK(khal_readback_request_copy(readback, encoder,
                                  (khal_slice[]){bytes(buffer, 0, 10), bytes(buffer, 100, 20)}, 2));
    assert_true(khal_readback_is_idle(readback));
    assert_int_equal(khal_readback_try_take(readback, out, 30), KHAL_NOTHING_REQUESTED);
    OK(khal_submit(encoder, NULL));
    OK(khal_readback_try_take(readback, out, 30));
    /* All of a recording's reads find a slot, or none takes one. */
    for (int i = 0; i < 3; ++i)
        OK(khal_readback_request_copy(readback, encoder, (khal_slice[]){bytes(buffer, 0, 10)}, 1));
    FAILS(READBACK_BUSY, khal_submit(encoder, NULL));
    assert_true(khal_readback_is_idle(readback));
    OK(request(readback, 1));
    OK(request(readback, 2));
    OK(khal_readback_try_take(readback, out, 1));
    OK(khal_readback_try_take(readback, out, 2));
    /* Nor when the backend refuses. */
    OK(khal_readback_request_copy(readback, encoder, (khal_slice[]){bytes(buffer, 0, 10)}, 1));
    atomic_store(&noop_control_of(device)->fail[NOOP_SUBMIT], 1);
    FAILS(DRIVER, khal_submit(encoder, NULL));
    assert_true(khal_readback_is_idle(readback));
    /* And none that is never submitted. */
    OK(khal_readback_request_copy(readback, encoder, (khal_slice[]){bytes(buffer, 0, 10)}, 1));
    khal_encoder_reset(encoder);
    assert_true(khal_readback_is_idle(readback));
    khal_readback_release(readback);
}

static void more_than_fits(void** state)
{
    (void)state;
    khal_readback* readback = make(4, 8, 1);
    OK(khal_readback_request_copy(readback, encoder,
                                  (khal_slice[]){bytes(buffer, 0, 16), bytes(buffer, 0, 16)}, 2));
    FAILS(READBACK_CAPACITY,
          khal_readback_request_copy(
              readback, encoder, (khal_slice[]){bytes(buffer, 0, 16), bytes(buffer, 0, 24)}, 2));
    FAILS(READBACK_CAPACITY, khal_submit(encoder, NULL));
    FAILS(SLICE_ELEMENT_SIZE, request(readback, 4));
    FAILS(SLICE_RANGE,
          khal_readback_request(readback, (khal_slice[]){bytes(buffer, 8, UINT64_MAX - 8)}, 1));
    FAILS(SLICE_NULL, khal_readback_request(readback, (khal_slice[]){khal_slice_all(NULL)}, 1));
    FAILS(ARGUMENT_NULL, khal_readback_request(readback, NULL, 1));
    khal_buffer* uncopied;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 8, .usage = KHAL_USAGE_STORAGE},
                          &uncopied));
    FAILS(BUFFER_USAGE,
          khal_readback_request(readback, (khal_slice[]){khal_slice_all(uncopied)}, 1));
    assert_true(khal_readback_is_idle(readback));
    khal_buffer_release(uncopied);
    khal_readback_release(readback);
}

static void cancelling(void** state)
{
    (void)state;
    khal_readback* readback = make(64, 1, 2);
    khal_readback_cancel(readback);
    OK(request(readback, 1)); /* ready and not taken */
    khal_readback_cancel(readback);
    assert_true(khal_readback_is_idle(readback));
    assert_int_equal(khal_readback_try_take(readback, out, 1), KHAL_NOTHING_REQUESTED);
    noop_hold(device, 1);
    for (int round = 0; round < 20; ++round) { /* under way: slots are free at once */
        OK(request(readback, 1));
        OK(request(readback, 2));
        khal_readback_cancel(readback);
        assert_true(khal_readback_is_idle(readback));
    }
    OK(request(readback, 7));
    noop_hold(device, UINT64_MAX);
    OK(khal_readback_try_take(readback, out, 7));
    /* What cancelled reads took comes back: no more is allocated now. */
    const uint64_t before = statistics(device).host_allocations;
    for (int round = 0; round < 20; ++round) {
        OK(request(readback, 1));
        khal_readback_cancel(readback);
    }
    assert_int_equal(statistics(device).host_allocations, before);
    khal_readback_release(readback);
}

static void released_while_in_flight(void** state)
{
    (void)state;
    khal_readback* readback = make(64, 1, 1);
    noop_hold(device, 0);
    OK(request(readback, 64));
    khal_readback_release(readback);
    noop_hold(device, UINT64_MAX);
    OK(khal_device_wait(device, KHAL_FOREVER));
    assert_int_equal(statistics(device).live_objects, 2);
}

static void requests_take_tickets(void** state)
{
    (void)state;
    khal_readback* readback = make(64, 1, 1);
    khal_ticket ticket;
    OK(request(readback, 1));
    OK(khal_submit(encoder, &ticket));
    assert_int_equal(ticket, 2);
    khal_readback_release(readback);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(answers_of_a_take),        TEST(a_failed_submission_fails_the_read),
        TEST(slots_are_taken_in_order), TEST(recorded_reads_take_slots_at_submit),
        TEST(more_than_fits),           TEST(cancelling),
        TEST(released_while_in_flight), TEST(requests_take_tickets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
