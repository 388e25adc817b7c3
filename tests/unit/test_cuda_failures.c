/* The CUDA backend over a driver that fails, at every call in turn: each outcome is an error or the right result, nothing is
 * leaked or done wrong, and the device goes on, but where the driver's error is for good. */
#include "cuda/harness.h"

enum { COUNT = 5000, BYTES = 4 * COUNT, LARGE = 3000000 };

/* What a program does. After a step fails the others are left out. */
typedef struct program {
    khal_device* device;
    khal_status status;
    khal_error_id id;
    bool is_right;
    khal_kernels* kernels;
    khal_buffer *a, *b, *grid, *tally, *large, *map, *spare;
    khal_encoder* encoder;
    khal_commands* commands;
    khal_timestamps* times;
    khal_readback* readback;
} program;

static bool note_step(program* p, khal_status status)
{
    if (p->status != KHAL_OK)
        return false;
    p->status = status;
    if (status != KHAL_OK)
        p->id = khal_error_get()->id;
    check_context("a step");
    return status == KHAL_OK;
}
#define STEP(call) note_step(p, p->status == KHAL_OK ? (call) : p->status)

static unsigned char* data_of(unsigned seed, size_t size)
{
    unsigned char* data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < size; ++i)
        data[i] = (unsigned char)(i * 31 + seed);
    return data;
}

static void make_buffers(program* p)
{
    uint32_t* ones = malloc(BYTES);
    unsigned char* large = data_of(3, LARGE);
    assert_non_null(ones);
    for (uint32_t i = 0; i < COUNT; ++i)
        ones[i] = i;
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = BYTES}, &p->a));
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = BYTES, .data = ones}, &p->b));
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = 12, .usage = 0x7c}, &p->grid));
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = 16}, &p->tally));
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = LARGE, .data = large}, &p->large));
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = 4000, .usage = 0xff}, &p->map));
    STEP(khal_buffer_create(p->device, &(khal_buffer_desc){.size = 1u << 20, .uninitialized = true}, &p->spare));
    free(ones);
    free(large);
}

static void dispatch_in(program* p, khal_pass* pass, uint32_t kernel, khal_grid grid, uint32_t count, const khal_slice* slices,
                        uint32_t size, const void* push)
{
    STEP(khal_pass_dispatch(pass,
                            &(khal_dispatch_desc){.function = khal_kernels_get_function(p->kernels, kernel), .grid = grid,
                                                  .bindings = slices, .binding_count = count, .push_constants = push,
                                                  .push_constant_size = size},
                            NULL));
}

/* a += b, and counts for a grid that the next dispatch has. */
static void record_pass(program* p)
{
    khal_pass* pass = NULL;
    const uint32_t n = COUNT, counts[3] = {2, 70000, 3};
    STEP(khal_pass_begin(p->encoder, &(khal_pass_desc){.label = "pass", .timestamps = p->times}, &pass));
    dispatch_in(p, pass, C_ADD, khal_threads(COUNT, 1, 1), 2, (khal_slice[]){khal_slice_all(p->a), khal_slice_all(p->b)}, 4, &n);
    dispatch_in(p, pass, C_COUNTS, khal_threads(1, 1, 1), 1, (khal_slice[]){khal_slice_all(p->grid)}, 12, counts);
    dispatch_in(p, pass, C_TALLY, khal_indirect(p->grid, 0), 1, (khal_slice[]){khal_slice_all(p->tally)}, 0, NULL);
    if (p->status == KHAL_OK)
        STEP(khal_pass_end(pass));
}

static void run_once(program* p)
{
    khal_ticket ticket = 0;
    STEP(khal_encoder_create(p->device, NULL, &p->encoder));
    STEP(khal_timestamps_create(p->device, &(khal_timestamps_desc){.capacity = 4}, &p->times));
    STEP(khal_readback_create(p->device, &(khal_readback_desc){.capacity_count = COUNT, .element_size = 4}, &p->readback));
    if (p->status != KHAL_OK)
        return;
    record_pass(p);
    if (p->status == KHAL_OK)
        STEP(khal_readback_request_copy(p->readback, p->encoder, (khal_slice[]){khal_slice_all(p->a)}, 1));
    STEP(khal_encoder_fill(p->encoder, khal_slice_all(p->map), "abcdefgh", 8));
    STEP(khal_submit(p->encoder, &ticket));
    STEP(khal_ticket_wait(p->device, ticket, KHAL_FOREVER));
}

/* Finished commands three times, with another value each time. */
static void run_commands(program* p)
{
    khal_pass* pass = NULL;
    khal_ticket tickets[3] = {0, 0, 0};
    STEP(khal_pass_begin(p->encoder, NULL, &pass));
    for (uint32_t i = 0; i < 3; ++i)
        dispatch_in(p, pass, C_ORDER, khal_threads(1, 1, 1), 1, (khal_slice[]){{p->map, 0, 4, 0}}, 4, &i);
    if (p->status == KHAL_OK)
        STEP(khal_pass_end(pass));
    STEP(khal_encoder_copy(p->encoder, (khal_slice){p->map, 0, 4, 0}, (khal_slice){p->map, 8, 4, 0}));
    STEP(khal_encoder_finish(p->encoder, &p->commands));
    STEP(khal_buffer_write(p->map, 0, "\0\0\0", 4));
    for (uint32_t i = 1; i <= 3; ++i) {
        STEP(khal_commands_set_push_constants(p->commands, 0, 0, &i, 4));
        STEP(khal_commands_submit(p->commands, &tickets[i - 1]));
    }
    for (uint32_t i = 0; i < 3; ++i)
        STEP(khal_ticket_wait(p->device, tickets[i], KHAL_FOREVER));
}

static void check_results(program* p)
{
    uint32_t *words = malloc(BYTES), *mapped = NULL;
    unsigned char *large = malloc(LARGE), *expected = data_of(3, LARGE);
    uint64_t tally[2] = {0, 0};
    khal_timestamp time;
    uint32_t count = 0, missed = 0;
    assert_non_null(words);
    assert_non_null(large);
    if (STEP(khal_readback_try_take(p->readback, words, COUNT)))
        for (uint32_t i = 0; i < COUNT; ++i)
            p->is_right = p->is_right && words[i] == i;
    if (STEP(khal_buffer_read(p->tally, 0, tally, 16, KHAL_FOREVER)))
        p->is_right = p->is_right && tally[0] == 420000 && tally[1] == 1;
    if (STEP(khal_buffer_read(p->large, 0, large, LARGE, KHAL_FOREVER)))
        p->is_right = p->is_right && memcmp(large, expected, LARGE) == 0;
    if (STEP(khal_buffer_map(p->map, 0, 16, KHAL_MAP_READ, KHAL_FOREVER, (void**)&mapped))) {
        p->is_right = p->is_right && mapped[0] == 112212312 && mapped[2] == 112212312 && memcmp(mapped + 3, "efgh", 4) == 0;
        STEP(khal_buffer_unmap(p->map));
    }
    if (STEP(khal_timestamps_read(p->times, 1, &time, &count, &missed, KHAL_FOREVER)))
        p->is_right = p->is_right && count == 1 && time.duration >= 0 && time.duration < 60000;
    free(words);
    free(large);
    free(expected);
}

static void release_all(program* p)
{
    khal_readback_release(p->readback);
    khal_timestamps_release(p->times);
    khal_commands_release(p->commands);
    khal_encoder_release(p->encoder);
    khal_buffer_release(p->a);
    khal_buffer_release(p->b);
    khal_buffer_release(p->grid);
    khal_buffer_release(p->tally);
    khal_buffer_release(p->large);
    khal_buffer_release(p->map);
    khal_buffer_release(p->spare);
    khal_kernels_release(p->kernels);
    check_context("a release");
}

static program run_program(khal_device* device)
{
    program made = {.device = device, .is_right = true}, *p = &made;
    STEP(khal_kernels_load(device, &cuda_library, &p->kernels));
    make_buffers(p);
    run_once(p);
    run_commands(p);
    check_results(p);
    release_all(p);
    return made;
}

static int use(void** state)
{
    (void)state;
    return use_driver(STANDIN);
}

static int use_old(void** state)
{
    (void)state;
    return use_driver(STANDIN_OLD);
}

static void check_program(const program* p, unsigned step, const char* failed)
{
    if (p->status == KHAL_OK && !p->is_right)
        fail_msg("after the failure of call %u, %s, the result is wrong", step, failed);
}

static void it_works(void** state)
{
    (void)state;
    khal_device* device = open_device();
    for (int i = 0; i < 3; ++i) {
        const program p = run_program(device);
        OK(p.status);
        assert_true(p.is_right);
    }
    close_device(device);
}

/* Every call of the driver that makes something, in turn, finds no memory. */
static void no_memory_at_any_call(void** state)
{
    (void)state;
    unsigned failures = 0;
    for (unsigned step = 1; step < 2000; ++step) {
        khal_device* device = open_device();
        hooks->fail_call(NULL, step, CUDA_ERROR_OUT_OF_MEMORY);
        const program p = run_program(device);
        const char* failed = hooks->failed();
        check_program(&p, step, failed);
        if (p.status != KHAL_OK && (p.status != KHAL_OUT_OF_MEMORY || p.id != KHAL_ERROR_OUT_OF_MEMORY))
            fail_msg("call %u, %s: %s, %s: %s", step, failed, khal_status_name(p.status), khal_error_name(p.id), khal_error_get()->message);
        failures += p.status != KHAL_OK;
        const khal_status status = khal_device_get_status(device);
        if (status != KHAL_OK)
            fail_msg("call %u, %s, loses the device: %s", step, failed, khal_error_get()->message);
        const program again = run_program(device);
        if (again.status != KHAL_OK || !again.is_right)
            fail_msg("call %u, %s: the next time fails too, %s", step, failed, khal_error_name(again.id));
        close_device(device);
        if (failed == NULL) {
            assert_true(failures > 10);
            return;
        }
    }
    fail_msg("the program takes more calls than expected");
}

/* And every allocation of khal's own. */
static void no_host_memory_at_any_call(void** state)
{
    (void)state;
    for (int step = 0; step < 2000; ++step) {
        counted memory = {.remaining = -1};
        khal_device* device = NULL;
        OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA, .allocator = COUNTED(memory)},
                            &device));
        atomic_store(&memory.remaining, step);
        const program p = run_program(device);
        const bool has_failed = atomic_exchange(&memory.remaining, -1) < 0;
        check_program(&p, (unsigned)step, "an allocation");
        if (p.status != KHAL_OK && p.status != KHAL_OUT_OF_MEMORY)
            fail_msg("allocation %d: %s, %s", step, khal_status_name(p.status), khal_error_name(p.id));
        OK(khal_device_get_status(device));
        const program again = run_program(device);
        if (again.status != KHAL_OK || !again.is_right)
            fail_msg("allocation %d: the next time fails too, %s", step, khal_error_name(again.id));
        khal_device_release(device);
        assert_int_equal(atomic_load(&memory.alive), 0);
        check_clean();
        if (!has_failed)
            return;
    }
    fail_msg("the program takes more allocations than expected");
}

static unsigned losses;
static char loss_message[1024];
static void on_diagnostic(void* user, const khal_error* error)
{
    (void)user;
    if (error->id == KHAL_ERROR_DEVICE_LOST && losses++ == 0)
        snprintf(loss_message, sizeof loss_message, "%s", error->message);
}

/* Every call of the driver, in turn, tells that the context is gone for good. */
static void lost_at_any_call(void** state)
{
    (void)state;
    unsigned lost = 0;
    for (unsigned step = 1; step < 5000; step += step < 100 ? 1 : 7) {
        khal_device* device = NULL;
        losses = 0;
        OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA, .diagnostic = on_diagnostic},
                            &device));
        hooks->fail_call(NULL, step, CUDA_ERROR_ILLEGAL_ADDRESS);
        const program p = run_program(device);
        const char* failed = hooks->failed();
        check_program(&p, step, failed);
        if (p.status != KHAL_OK) {
            ++lost;
            if (p.status != KHAL_DEVICE_LOST)
                fail_msg("call %u, %s: %s, %s", step, failed, khal_status_name(p.status), khal_error_name(p.id));
            FAILS(DEVICE_LOST, khal_device_get_status(device));
            if (strstr(loss_message, "CUDA_ERROR_ILLEGAL_ADDRESS") == NULL)
                fail_msg("call %u, %s: %s", step, failed, loss_message);
        }
        khal_device_release(device);
        hooks->stick(CUDA_SUCCESS);
        check_clean();
        if (failed == NULL) {
            assert_int_equal(p.status, KHAL_OK);
            assert_true(lost > 20);
            return;
        }
    }
    fail_msg("the program takes more calls than expected");
}

/* Other errors are the call's own. */
static void errors_at_any_call(void** state)
{
    (void)state;
    for (unsigned step = 1; step < 2000; ++step) {
        khal_device* device = open_device();
        hooks->fail_call(NULL, step, CUDA_ERROR_UNKNOWN);
        const program p = run_program(device);
        const char* failed = hooks->failed();
        check_program(&p, step, failed);
        close_device(device);
        if (failed == NULL)
            return;
    }
    fail_msg("the program takes more calls than expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_works, use),
        cmocka_unit_test_setup(it_works, use_old),
        cmocka_unit_test_setup(no_memory_at_any_call, use),
        cmocka_unit_test_setup(no_memory_at_any_call, use_old),
        cmocka_unit_test_setup(no_host_memory_at_any_call, use),
        cmocka_unit_test_setup(lost_at_any_call, use),
        cmocka_unit_test_setup(lost_at_any_call, use_old),
        cmocka_unit_test_setup(errors_at_any_call, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
