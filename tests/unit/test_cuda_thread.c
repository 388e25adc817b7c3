/* Submissions that take the CUDA backend's thread: indirect grids of foreign code, whose counts come to the host, native
 * callbacks that take their time, and what is submitted behind them; and submissions that have no mark. */
#include "cuda/harness.h"

static khal_device* device;
static khal_function *order, *counts, *plain;
static khal_buffer *digits, *grid, *tally;

static const char code[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry walk(\n\t.param .u64 walk_0\n)\n{\n\tret;\n}\n";

/* The sum of all groups, and the launches. */
static int walk(void* user, const standin_launch* launch)
{
    (void)user;
    uint64_t* t = cuda_argument(launch, 0, 16);
    if (t != NULL) {
        t[0] += (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
        ++t[1];
    }
    return 0;
}

static int use(void** state)
{
    (void)state;
    khal_module* module = NULL;
    const khal_binding_desc binding = {.kind = KHAL_ARG_BUFFER};
    if (use_driver(STANDIN) != 0)
        return -1;
    hooks->kernel("walk", walk, NULL);
    device = open_device();
    order = get_function(device, "order");
    counts = get_function(device, "counts");
    OK(khal_module_load(device, &(khal_module_desc){.code = code, .code_size = strlen(code)}, &module));
    OK(khal_function_create(
        module, &(khal_function_desc){.bindings = &binding, .binding_count = 1, .workgroup_size = {32, 1, 1}}, &plain));
    khal_module_release(module);
    digits = new_buffer(device, 4, NULL);
    grid = new_buffer(device, 16, NULL);
    tally = new_buffer(device, 16, NULL);
    return 0;
}

static void drop(void)
{
    khal_function_release(order);
    khal_function_release(counts);
    khal_function_release(plain);
    khal_buffer_release(digits);
    khal_buffer_release(grid);
    khal_buffer_release(tally);
    close_device(device);
}

static khal_encoder* new_encoder(void)
{
    khal_encoder* encoder = NULL;
    OK(khal_encoder_create(device, NULL, &encoder));
    return encoder;
}

/* The counts are written by the device, and the foreign kernel runs with them. */
static void record_walk(khal_encoder* encoder, uint32_t x, uint32_t y, uint32_t z)
{
    const khal_slice to = khal_slice_all(grid), sum = khal_slice_all(tally);
    record(encoder, counts, khal_threads(1, 1, 1), 1, &(khal_slice){to.buffer, 0, 12, 0}, 12, (uint32_t[]){x, y, z});
    record(encoder, plain, khal_indirect(grid, 0), 1, &sum, 0, NULL);
}

static void record_digit(khal_encoder* encoder, uint32_t digit)
{
    const khal_slice slice = khal_slice_all(digits);
    record(encoder, order, khal_threads(1, 1, 1), 1, &slice, 4, &digit);
}

static void check_tally(uint64_t groups, uint64_t launches)
{
    uint64_t seen_tally[2] = {0, 0};
    OK(khal_buffer_read(tally, 0, seen_tally, 16, KHAL_FOREVER));
    assert_int_equal(seen_tally[0], groups);
    assert_int_equal(seen_tally[1], launches);
}

static void foreign_indirect_grids(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    record_digit(encoder, 1);
    record_walk(encoder, 5, 7, 3);
    record_walk(encoder, 4, 0, 3); /* nothing */
    record_walk(encoder, 1, 65535, 2);
    record_digit(encoder, 2);
    OK(khal_submit(encoder, NULL));
    record_digit(encoder, 3); /* waits its turn */
    OK(khal_submit(encoder, NULL));
    check_tally(105 + 131070, 2);
    assert_int_equal(read_word(digits, 0), 123);
    khal_encoder_release(encoder);
    drop();
}

/* Finished commands too, and they are no graph. */
static void again_and_again(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    khal_commands* commands = NULL;
    khal_ticket ticket = 0;
    record_walk(encoder, 2, 2, 2);
    record_digit(encoder, 4);
    OK(khal_encoder_finish(encoder, &commands));
    for (int i = 0; i < 4; ++i)
        OK(khal_commands_submit(commands, &ticket));
    khal_commands_release(commands); /* before the thread has come to all of them, maybe */
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    check_tally(32, 4);
    assert_int_equal(read_word(digits, 0), 4444);
    assert_int_equal(hooks->calls("GraphLaunch"), 0);
    khal_encoder_release(encoder);
    drop();
}

/* A grid that no launch takes: that dispatch does not run, what is around it does, and its ticket alone says so. */
static void foreign_grid_too_large(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    khal_ticket bad = 0, good = 0;
    record_digit(encoder, 1);
    record_walk(encoder, 1, 65536, 1);
    record_digit(encoder, 2);
    OK(khal_submit(encoder, &bad));
    record_walk(encoder, 3, 1, 1);
    OK(khal_submit(encoder, &good));
    FAILS(INDIRECT_TOO_LARGE, khal_ticket_wait(device, bad, KHAL_FOREVER));
    OK(khal_ticket_wait(device, good, KHAL_FOREVER));
    check_tally(3, 1);
    assert_int_equal(read_word(digits, 0), 12);
    OK(khal_device_get_status(device));
    khal_encoder_release(encoder);
    drop();
}

/* The host goes on while the device has not yet come to the counts. */
static void the_host_is_not_held_up(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    khal_ticket ticket = 0;
    hooks->hold(NULL, true);
    record_walk(encoder, 6, 1, 1);
    OK(khal_submit(encoder, NULL));
    for (uint32_t i = 1; i <= 5; ++i) {
        record_digit(encoder, i);
        OK(khal_submit(encoder, &ticket));
    }
    FAILS(TIMEOUT, khal_ticket_wait(device, ticket, 1000000));
    GIVES(KHAL_NOT_READY, khal_ticket_poll(device, ticket));
    hooks->hold(NULL, false);
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    check_tally(6, 1);
    assert_int_equal(read_word(digits, 0), 12345);
    khal_encoder_release(encoder);
    drop();
}

/* ---- native callbacks ---------------------------------------------------------------------------- */

typedef struct gate {
    khal__mutex lock;
    khal__condition changed;
    bool is_inside, is_open;
    khal_status gives;
} gate;

static khal_status stand_in_gate(void* user, const khal_native* native)
{
    gate* g = user;
    (void)native;
    khal__mutex_lock(&g->lock);
    g->is_inside = true;
    khal__condition_broadcast(&g->changed);
    while (!g->is_open)
        khal__condition_wait(&g->changed, &g->lock, UINT64_MAX);
    khal__mutex_unlock(&g->lock);
    return g->gives;
}

static void set_gate(gate* g, bool is_open)
{
    khal__mutex_lock(&g->lock);
    g->is_open = is_open;
    khal__condition_broadcast(&g->changed);
    while (!is_open && !g->is_inside)
        khal__condition_wait(&g->changed, &g->lock, UINT64_MAX);
    khal__mutex_unlock(&g->lock);
}

static void record_gate(khal_encoder* encoder, gate* g)
{
    const khal_slice slice = khal_slice_all(digits);
    OK(khal_encoder_native(encoder, &(khal_native_desc){.call = stand_in_gate, .user = g, .writes = &slice, .write_count = 1}));
}

/* While a callback stands, the host submits on, and nothing behind it runs; reads, times and failures come as ever. */
static void behind_a_callback(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    khal_timestamps* times = NULL;
    khal_readback* readback = NULL;
    khal_pass* pass = NULL;
    khal_ticket first = 0, last = 0;
    gate g = {.gives = KHAL_INVALID_STATE};
    const khal_slice slice = khal_slice_all(digits);
    khal__mutex_init(&g.lock);
    khal__condition_init(&g.changed);
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 4}, &times));
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 1, .element_size = 4}, &readback));
    record_digit(encoder, 7);
    record_gate(encoder, &g);
    record_digit(encoder, 9); /* not after a callback that failed */
    OK(khal_submit(encoder, &first));
    set_gate(&g, false);
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.label = "timed", .timestamps = times}, &pass));
    record_in(pass, order, khal_threads(1, 1, 1), 1, &slice, 4, &(uint32_t){8});
    OK(khal_pass_end(pass));
    OK(khal_readback_request_copy(readback, encoder, &slice, 1));
    OK(khal_submit(encoder, &last));
    FAILS(TIMEOUT, khal_ticket_wait(device, last, 2000000));
    GIVES(KHAL_NOT_READY, khal_ticket_poll(device, first));
    set_gate(&g, true);
    FAILS(NATIVE_FAILED, khal_ticket_wait(device, first, KHAL_FOREVER));
    OK(khal_ticket_wait(device, last, KHAL_FOREVER));
    uint32_t word = 0, count = 0, missed = 0;
    khal_timestamp time;
    OK(khal_readback_try_take(readback, &word, 1));
    assert_int_equal(word, 78);
    OK(khal_timestamps_read(times, 1, &time, &count, &missed, KHAL_FOREVER));
    assert_int_equal(count, 1);
    assert_true(time.begin >= 2.0 && time.duration >= 0); /* ms: not before the gate opened */
    khal_timestamps_release(times);
    khal_readback_release(readback);
    khal_encoder_release(encoder);
    drop();
    khal__condition_destroy(&g.changed);
    khal__mutex_destroy(&g.lock);
}

/* ---- marks --------------------------------------------------------------------------------------- */

/* A submission behind which no event could be recorded is complete with the next, or when there is nothing left to do. */
static void marks_that_can_not_be_made(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    khal_ticket tickets[4] = {0, 0, 0, 0};
    record_digit(encoder, 0); /* after which no buffer is to be zeroed any more */
    OK(khal_submit(encoder, NULL));
    OK(khal_device_wait(device, KHAL_FOREVER));
    for (int marked = 0; marked < 2; ++marked) {
        hooks->hold(NULL, true);
        for (uint32_t i = 0; i < 4; ++i) {
            record_digit(encoder, i);
            if (i != 3 || marked == 0)
                hooks->fail_call("EventRecord", 1, CUDA_ERROR_OUT_OF_MEMORY);
            OK(khal_submit(encoder, &tickets[i]));
        }
        FAILS(TIMEOUT, khal_ticket_wait(device, tickets[1], 1000000));
        GIVES(KHAL_NOT_READY, khal_ticket_poll(device, tickets[0]));
        hooks->hold(NULL, false);
        OK(khal_ticket_wait(device, tickets[1], KHAL_FOREVER));
        OK(khal_ticket_wait(device, tickets[3], KHAL_FOREVER));
        OK(khal_ticket_poll(device, tickets[2]));
    }
    assert_int_equal(read_word(digits, 0), 1230123);
    OK(khal_device_get_status(device));
    khal_encoder_release(encoder);
    drop();
}

/* A device that is lost while the thread waits for counts: what waits returns, and what is behind is let go. */
static void lost_meanwhile(void** state)
{
    (void)state;
    khal_encoder* encoder = new_encoder();
    khal_ticket ticket = 0;
    hooks->hold(NULL, true);
    record_walk(encoder, 6, 1, 1);
    OK(khal_submit(encoder, NULL));
    record_digit(encoder, 1);
    OK(khal_submit(encoder, &ticket));
    hooks->stick(CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(DEVICE_LOST, khal_ticket_wait(device, ticket, KHAL_FOREVER));
    FAILS(DEVICE_LOST, khal_device_get_status(device));
    khal_encoder_release(encoder);
    khal_function_release(order);
    khal_function_release(counts);
    khal_function_release(plain);
    khal_buffer_release(digits);
    khal_buffer_release(grid);
    khal_buffer_release(tally);
    khal_device_release(device);
    hooks->stick(CUDA_SUCCESS);
    hooks->hold(NULL, false);
    check_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(foreign_indirect_grids, use),  cmocka_unit_test_setup(again_and_again, use),
        cmocka_unit_test_setup(foreign_grid_too_large, use),  cmocka_unit_test_setup(the_host_is_not_held_up, use),
        cmocka_unit_test_setup(behind_a_callback, use),       cmocka_unit_test_setup(marks_that_can_not_be_made, use),
        cmocka_unit_test_setup(lost_meanwhile, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
