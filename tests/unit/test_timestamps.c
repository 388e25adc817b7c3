/* Timed passes: counted, in order, never lost silently, and a missing value is never 0. */
#include "front.h"

static khal_device* device;
static khal_encoder* encoder;
static khal_timestamps* timestamps;

static int set_up(void** state)
{
    (void)state;
    device = open_noop();
    encoder = make_encoder(device);
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 4, .label = "times"},
                              &timestamps));
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    noop_hold(device, UINT64_MAX);
    khal_timestamps_release(timestamps);
    khal_encoder_release(encoder);
    khal_device_release(device);
    return 0;
}

static void time_pass(const char* label)
{
    khal_pass* pass;
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.label = label, .timestamps = timestamps},
                       &pass));
    OK(khal_pass_end(pass));
}

static void passes_come_with_label_and_times(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count = 99, missed = 99;
    assert_true(khal_timestamps_is_enabled(timestamps));
    assert_true(khal_timestamps_is_idle(timestamps));
    time_pass("first");
    time_pass(NULL);
    OK(khal_timestamps_resolve(timestamps, encoder));
    OK(khal_submit(encoder, NULL));
    time_pass("third, with a label that is longer than sixty-three bytes and is cut there");
    OK(khal_submit(encoder, NULL));
    OK(khal_timestamps_read(timestamps, 4, entries, &count, &missed, KHAL_FOREVER));
    assert_int_equal(count, 3);
    assert_int_equal(missed, 0);
    assert_string_equal(entries[0].label, "first");
    assert_string_equal(entries[1].label, "");
    assert_int_equal(strlen(entries[2].label), 63);
    double before = 0;
    for (uint32_t i = 0; i < 3; ++i) {
        assert_true(entries[i].begin >= before);
        assert_true(entries[i].duration >= 0);
        assert_true(entries[i].begin < 60000);
        before = entries[i].begin;
    }
    /* Taken means reset. */
    OK(khal_timestamps_read(timestamps, 4, entries, &count, NULL, 0));
    assert_int_equal(count, 0);
}

static void answers_of_a_take(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count = 99;
    assert_int_equal(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL),
                     KHAL_NOTHING_REQUESTED);
    noop_hold(device, 0);
    time_pass("a");
    OK(khal_submit(encoder, NULL));
    assert_int_equal(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL),
                     KHAL_NOTHING_REQUESTED);
    OK(khal_timestamps_request_read(timestamps));
    assert_false(khal_timestamps_is_idle(timestamps));
    assert_int_equal(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL),
                     KHAL_NOT_READY);
    assert_int_equal(count, 99);
    noop_hold(device, UINT64_MAX);
    OK(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL));
    assert_int_equal(count, 1);
    assert_true(khal_timestamps_is_idle(timestamps));
    assert_int_equal(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL),
                     KHAL_NOTHING_REQUESTED);
    /* With nothing timed there is nothing to wait for. */
    OK(khal_timestamps_request_read(timestamps));
    OK(khal_timestamps_try_take(timestamps, 0, NULL, &count, NULL));
    assert_int_equal(count, 0);
}

static void passes_over_capacity_are_counted(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count, missed;
    for (int i = 0; i < 3; ++i) {
        time_pass("a");
        time_pass("b");
        OK(khal_submit(encoder, NULL));
    }
    OK(khal_timestamps_read(timestamps, 4, entries, &count, &missed, KHAL_FOREVER));
    assert_int_equal(count, 4);
    assert_int_equal(missed, 2);
    assert_int_equal(statistics(device).passes_untimed, 2);
    time_pass("c"); /* room again */
    OK(khal_submit(encoder, NULL));
    OK(khal_timestamps_read(timestamps, 4, entries, &count, &missed, KHAL_FOREVER));
    assert_int_equal(count, 1);
    assert_int_equal(missed, 0);
}

static void recorded_and_never_submitted(void** state)
{
    (void)state;
    uint32_t count;
    time_pass("a");
    khal_encoder_reset(encoder);
    OK(khal_timestamps_read(timestamps, 0, NULL, &count, NULL, 0));
    assert_int_equal(count, 0);
}

static void commands_append_each_time(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    khal_commands* commands;
    uint32_t count, missed;
    time_pass("again");
    OK(khal_encoder_finish(encoder, &commands));
    noop_hold(device, 1);
    for (int i = 0; i < 3; ++i) /* also while earlier runs are under way */
        OK(khal_commands_submit(commands, NULL));
    noop_hold(device, UINT64_MAX);
    OK(khal_timestamps_read(timestamps, 4, entries, &count, &missed, KHAL_FOREVER));
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < 3; ++i)
        assert_string_equal(entries[i].label, "again");
    assert_true(entries[0].begin <= entries[1].begin && entries[1].begin <= entries[2].begin);
    OK(khal_timestamps_request_read(timestamps));
    FAILS(TIMESTAMPS_BUSY, khal_commands_submit(commands, NULL));
    OK(khal_timestamps_try_take(timestamps, 0, NULL, &count, NULL));
    OK(khal_commands_submit(commands, NULL));
    khal_commands_release(commands);
}

static void a_reset_forgets_what_still_runs(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count;
    noop_hold(device, 0);
    time_pass("old");
    OK(khal_submit(encoder, NULL));
    OK(khal_timestamps_reset(timestamps));
    time_pass("new");
    OK(khal_submit(encoder, NULL));
    noop_hold(device, UINT64_MAX);
    OK(khal_timestamps_read(timestamps, 4, entries, &count, NULL, KHAL_FOREVER));
    assert_int_equal(count, 1);
    assert_string_equal(entries[0].label, "new");
}

static void a_failed_submission_fails_the_read(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count;
    time_pass("fine");
    OK(khal_submit(encoder, NULL));
    atomic_store(&noop_control_of(device)->fail_execution, true);
    time_pass("fails");
    OK(khal_submit(encoder, NULL));
    atomic_store(&noop_control_of(device)->fail_execution, false);
    OK(khal_timestamps_request_read(timestamps));
    assert_int_equal(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL),
                     KHAL_EXECUTION_FAILED);
    assert_int_equal(khal_timestamps_try_take(timestamps, 4, entries, &count, NULL),
                     KHAL_NOTHING_REQUESTED); /* the failure is taken */
    time_pass("fine");
    OK(khal_submit(encoder, NULL));
    OK(khal_timestamps_read(timestamps, 4, entries, &count, NULL, KHAL_FOREVER));
    assert_int_equal(count, 1);
}

static void a_missing_value_is_a_failure(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count;
    atomic_store(&noop_control_of(device)->lose_timestamps, true);
    time_pass("lost");
    OK(khal_submit(encoder, NULL));
    FAILS(DRIVER, khal_timestamps_read(timestamps, 4, entries, &count, NULL, KHAL_FOREVER));
    atomic_store(&noop_control_of(device)->lose_timestamps, false);
}

static void a_timed_out_read_loses_nothing(void** state)
{
    (void)state;
    khal_timestamp entries[4];
    uint32_t count;
    noop_hold(device, 0);
    time_pass("a");
    OK(khal_submit(encoder, NULL));
    FAILS(TIMEOUT, khal_timestamps_read(timestamps, 4, entries, &count, NULL, 1000));
    assert_true(khal_timestamps_is_idle(timestamps));
    noop_hold(device, UINT64_MAX);
    FAILS(TIMESTAMPS_CAPACITY, khal_timestamps_read(timestamps, 0, NULL, &count, NULL, 0));
    OK(khal_timestamps_read(timestamps, count, entries, &count, NULL, 0));
    assert_int_equal(count, 1);
}

static void devices_without_timestamps(void** state)
{
    (void)state;
    khal_device* little;
    khal_timestamps* t;
    khal_pass* pass;
    uint32_t count;
    OK(khal_device_open(&(khal_device_desc){.name = "noop, little"}, &little));
    khal_encoder* e = make_encoder(little);
    OK(khal_timestamps_create(little, &(khal_timestamps_desc){.capacity = 1}, &t));
    assert_false(khal_timestamps_is_enabled(t));
    for (int i = 0; i < 3; ++i) {
        OK(khal_pass_begin(e, &(khal_pass_desc){.timestamps = t}, &pass));
        OK(khal_pass_end(pass));
        OK(khal_timestamps_resolve(t, e));
        OK(khal_submit(e, NULL));
        assert_int_equal(khal_timestamps_try_take(t, 0, NULL, &count, NULL),
                         KHAL_NOTHING_REQUESTED);
        OK(khal_timestamps_read(t, 0, NULL, &count, NULL, KHAL_FOREVER));
        assert_int_equal(count, 0);
    }
    khal_timestamps_release(t);
    khal_encoder_release(e);
    khal_device_release(little);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(passes_come_with_label_and_times),   TEST(answers_of_a_take),
        TEST(passes_over_capacity_are_counted),   TEST(recorded_and_never_submitted),
        TEST(commands_append_each_time),          TEST(a_reset_forgets_what_still_runs),
        TEST(a_failed_submission_fails_the_read), TEST(a_missing_value_is_a_failure),
        TEST(a_timed_out_read_loses_nothing),     TEST(devices_without_timestamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
