/* Running on the CUDA backend over a driver that checks how it is called: order, grids, arguments, waits, results. */
#include "cuda/harness.h"

#include <pthread.h>

static khal_device* device;

static int use_path(const char* path)
{
    if (use_driver(path) != 0)
        return -1;
    device = NULL;
    return try_open(&device) == KHAL_OK ? 0 : -1;
}

static int use(void** state)
{
    (void)state;
    return use_path(STANDIN);
}

static int use_old(void** state) /* without what a driver may lack */
{
    (void)state;
    return use_path(STANDIN_OLD);
}

static khal_encoder* encoder_of_order(khal_function* order, khal_buffer* buffer, uint32_t first, uint32_t count)
{
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass = NULL;
    OK(khal_pass_begin(encoder, NULL, &pass));
    for (uint32_t i = 0; i < count; ++i)
        record_in(pass, order, khal_threads(1, 1, 1), 1, (khal_slice[]){khal_slice_all(buffer)}, 4, &(uint32_t){first + i});
    OK(khal_pass_end(pass));
    return encoder;
}

/* ---- order ------------------------------------------------------------------------------------- */

static void nothing_runs_before_submit(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    OK(khal_device_wait(device, KHAL_FOREVER));
    khal_encoder* encoder = encoder_of_order(order, buffer, 1, 3);
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\1", 1));
    khal_encoder* dropped = encoder_of_order(order, buffer, 7, 3);
    assert_null(strstr(hooks->journal(), "launch"));
    khal_encoder_release(dropped);
    assert_int_equal(read_word(buffer, 0), 0);
    assert_null(strstr(hooks->journal(), "launch"));
    khal_encoder_reset(encoder);
    khal_encoder_release(encoder);
    encoder = encoder_of_order(order, buffer, 1, 3);
    OK(khal_submit(encoder, NULL));
    assert_int_equal(read_word(buffer, 0), 123);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(order);
    close_device(device);
}

static void submits_run_in_order(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_ticket ticket = 0, last = 0;
    for (uint32_t i = 0; i < 3; ++i) {
        khal_encoder* encoder = encoder_of_order(order, buffer, 1 + 3 * i, 3);
        OK(khal_submit(encoder, &ticket));
        assert_int_equal(ticket, last + 1);
        last = ticket;
        khal_encoder_release(encoder);
    }
    khal_buffer_retain(buffer);
    khal_buffer_release(buffer);
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    OK(khal_ticket_poll(device, ticket));
    assert_int_equal(read_word(buffer, 0), 123456789);
    khal_buffer_release(buffer);
    khal_function_release(order);
    close_device(device);
}

static void released_at_once(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 1u << 20, NULL);
    khal_encoder* encoder = encoder_of_order(order, buffer, 1, 3);
    hooks->hold(NULL, true);
    OK(khal_submit(encoder, NULL));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(order);
    hooks->hold(NULL, false);
    close_device(device);
}

/* ---- grids ------------------------------------------------------------------------------------- */

static khal_function* tally;
static khal_buffer* tallied;

/* Groups that ran of one dispatch of `tally`. */
static uint64_t run_tally(khal_grid grid)
{
    uint64_t result[2];
    khal_encoder* encoder = make_encoder(device);
    const uint64_t zero[2] = {0, 0};
    OK(khal_buffer_write(tallied, 0, zero, 16));
    memset(&seen, 0, sizeof seen);
    record(encoder, tally, grid, 1, (khal_slice[]){khal_slice_all(tallied)}, 0, NULL);
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_read(tallied, 0, result, 16, KHAL_FOREVER));
    assert_int_equal(result[1], grid.x != 0 && grid.y != 0 && grid.z != 0);
    khal_encoder_release(encoder);
    return result[0];
}

static void check_seen(uint64_t gx, uint64_t gy, uint64_t gz, uint64_t tx, uint64_t ty, uint64_t tz, uint32_t dim)
{
    assert_int_equal(seen.view.groups[0], gx);
    assert_int_equal(seen.view.groups[1], gy);
    assert_int_equal(seen.view.groups[2], gz);
    assert_int_equal(seen.view.global[0], tx);
    assert_int_equal(seen.view.global[1], ty);
    assert_int_equal(seen.view.global[2], tz);
    assert_int_equal(seen.view.work_dim, dim);
}

static void grids(void** state)
{
    (void)state;
    tally = get_function(device, "tally");
    tallied = new_buffer(device, 16, NULL);
    const uint32_t w = 64;

    /* a launch of its own shape */
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_threads(1000, 1, 1), w, 1, 1)), 16);
    assert_false(seen.view.is_grid);
    check_seen(16, 1, 1, 1000, 1, 1, 1);
    assert_int_equal(seen.view.is_exact, 0);
    assert_int_equal(seen.block[0], w);
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_threads(1024, 1, 1), w, 1, 1)), 16);
    assert_int_equal(seen.view.is_exact, 1);
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_groups(3, 65535, 2), 8, 4, 1)), 3 * 65535 * 2);
    assert_false(seen.view.is_grid);
    check_seen(3, 65535, 2, 24, 262140, 2, 3);
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_groups(2147483647, 1, 1), 1, 1, 1)), 2147483647);
    assert_false(seen.view.is_grid);
    assert_int_equal(run_tally(khal_groups(0, 5, 5)), 0);

    /* larger than a launch */
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_groups(2, 65536, 1), 16, 2, 1)), 2 * 65536);
    assert_true(seen.view.is_grid);
    check_seen(2, 65536, 1, 32, 131072, 1, 2);
    assert_int_equal(seen.grid[1] | seen.grid[2], 1);
    assert_true(seen.grid[0] >= 4 && seen.grid[0] <= 4096);
    assert_int_equal(seen.block[1], 2);
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_threads(3, 5, 70001), 1, 1, 1)), 3 * 5 * 70001);
    assert_true(seen.view.is_grid);
    check_seen(3, 5, 70001, 3, 5, 70001, 3);
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_groups(65536, 65536, 1), 256, 1, 1)), (uint64_t)1 << 32);
    assert_true(seen.view.is_grid);
    check_seen(65536, 65536, 1, (uint64_t)65536 * 256, 65536, 1, 2);
    assert_int_equal(run_tally(khal_grid_with_workgroup(khal_groups(2147483648u, 1, 1), 1, 1, 1)), 2147483648u);
    assert_true(seen.view.is_grid);
    khal_function_release(tally);
    khal_buffer_release(tallied);
    close_device(device);
}

/* Work-groups larger than the registers of a kernel allow run by a variant of it that takes fewer. */
static int count_threads(void* user, const standin_launch* launch)
{
    *(unsigned*)user = launch->block[0] * launch->block[1] * launch->block[2];
    return 0;
}

static void large_workgroups(void** state)
{
    (void)state;
    static const char* const names[] = {"heavy", "heavy$grid"};
    khal_function* heavy = get_function(device, "heavy");
    khal_buffer *buffer = new_buffer(device, 64, NULL), *counts = new_buffer(device, 12, (uint32_t[]){2, 3, 4});
    unsigned threads = 0;
    for (int i = 0; i < 2; ++i)
        hooks->kernel(names[i], count_threads, &threads);
    static const uint32_t sizes[] = {32, 320, 321, 512, 1024};
    for (uint32_t is_indirect = 0; is_indirect < 2; ++is_indirect)
        for (size_t i = 0; i < 5; ++i) {
            khal_encoder* encoder = make_encoder(device);
            const khal_grid grid = is_indirect ? khal_indirect(counts, 0) : khal_groups(5, 1, 1);
            record(encoder, heavy, khal_grid_with_workgroup(grid, sizes[i], 1, 1), 1, (khal_slice[]){khal_slice_all(buffer)}, 0,
                   NULL);
            OK(khal_submit(encoder, NULL));
            OK(khal_device_wait(device, KHAL_FOREVER));
            assert_int_equal(threads, sizes[i]);
            khal_encoder_release(encoder);
        }
    khal_function_release(heavy);
    khal_buffer_release(buffer);
    khal_buffer_release(counts);
    close_device(device);
}

/* ---- indirect grids ---------------------------------------------------------------------------- */

/* The host does not wait: with the stream held, submitting returns; the counts are those that the dispatch before it wrote. */
static void indirect_without_a_stall(void** state)
{
    (void)state;
    khal_function* counts = get_function(device, "counts");
    tally = get_function(device, "tally");
    tallied = new_buffer(device, 16, NULL);
    khal_buffer* grid = new_buffer(device, 64, NULL);
    khal_ticket ticket = 0;
    uint64_t result[2];
    assert_int_equal(read_word(grid, 0), 0);
    assert_int_equal(read_word(tallied, 0), 0);
    hooks->hold(NULL, true);
    khal_encoder* encoder = make_encoder(device);
    for (uint32_t i = 0; i < 3; ++i) {
        record(encoder, counts, khal_threads(1, 1, 1), 1, (khal_slice[]){bytes(grid, 16, 12)}, 12,
               (uint32_t[]){2 + i, 70000, 3});
        record(encoder, tally, khal_grid_with_workgroup(khal_indirect(grid, 16), 32, 1, 1), 1,
               (khal_slice[]){khal_slice_all(tallied)}, 0, NULL);
    }
    OK(khal_submit(encoder, &ticket));
    FAILS(TIMEOUT, khal_ticket_wait(device, ticket, 0));
    FAILS(TIMEOUT, khal_ticket_wait(device, ticket, 5000000));
    GIVES(KHAL_NOT_READY, khal_ticket_poll(device, ticket));
    assert_null(strstr(hooks->journal(), "launch"));
    hooks->hold(NULL, false);
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    OK(khal_buffer_read(tallied, 0, result, 16, KHAL_FOREVER));
    assert_int_equal(result[0], (uint64_t)(2 + 3 + 4) * 70000 * 3);
    assert_int_equal(result[1], 3);
    assert_true(seen.view.is_grid);
    check_seen(4, 70000, 3, 128, 70000, 3, seen.view.work_dim);

    /* counts that are zero run nothing and are no error */
    record(encoder, counts, khal_threads(1, 1, 1), 1, (khal_slice[]){bytes(grid, 16, 12)}, 12, (uint32_t[]){5, 0, 3});
    record(encoder, tally, khal_indirect(grid, 16), 1, (khal_slice[]){khal_slice_all(tallied)}, 0, NULL);
    OK(khal_submit(encoder, &ticket));
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    OK(khal_buffer_read(tallied, 0, result, 16, KHAL_FOREVER));
    assert_int_equal(result[0], (uint64_t)(2 + 3 + 4) * 70000 * 3);
    khal_encoder_release(encoder);
    khal_buffer_release(grid);
    khal_buffer_release(tallied);
    khal_function_release(tally);
    khal_function_release(counts);
    close_device(device);
}

/* More groups than there can be: none runs, the ticket says so, the device lives on, and so do tickets before and after. */
static void indirect_too_large(void** state)
{
    (void)state;
    tally = get_function(device, "tally");
    tallied = new_buffer(device, 16, NULL);
    khal_buffer* grid = new_buffer(device, 24, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, 2, 3});
    khal_ticket tickets[3];
    uint64_t result[2];
    const khal_slice slice = khal_slice_all(tallied);
    for (uint32_t i = 0; i < 3; ++i) {
        khal_encoder* encoder = make_encoder(device);
        record(encoder, tally, khal_indirect(grid, i == 1 ? 0 : 12), 1, &slice, 0, NULL);
        OK(khal_submit(encoder, &tickets[i]));
        khal_encoder_release(encoder);
    }
    OK(khal_ticket_wait(device, tickets[2], KHAL_FOREVER));
    OK(khal_ticket_wait(device, tickets[0], KHAL_FOREVER));
    FAILS(INDIRECT_TOO_LARGE, khal_ticket_wait(device, tickets[1], KHAL_FOREVER));
    OK(khal_buffer_read(tallied, 0, result, 16, KHAL_FOREVER));
    assert_int_equal(result[0], 12);
    assert_int_equal(result[1], 2);

    /* and of finished commands, whose graph has one word for all its launches */
    khal_encoder* encoder = make_encoder(device);
    khal_commands* commands = NULL;
    record(encoder, tally, khal_indirect(grid, 0), 1, &slice, 0, NULL);
    OK(khal_encoder_finish(encoder, &commands));
    for (uint32_t i = 0; i < 6; ++i) {
        const uint32_t first[3] = {i % 2 == 0 ? UINT32_MAX : 1, UINT32_MAX, 1u << 31};
        OK(khal_buffer_write(grid, 0, first, 12));
        OK(khal_commands_submit(commands, &tickets[0]));
        if (i % 2 == 0)
            FAILS(INDIRECT_TOO_LARGE, khal_ticket_wait(device, tickets[0], KHAL_FOREVER));
        else
            OK(khal_ticket_wait(device, tickets[0], KHAL_FOREVER));
    }
    khal_commands_release(commands);
    khal_encoder_release(encoder);
    khal_buffer_release(grid);
    khal_buffer_release(tallied);
    khal_function_release(tally);
    close_device(device);
}

/* ---- arguments --------------------------------------------------------------------------------- */

static void structs_and_constants(void** state)
{
    (void)state;
    khal_function* structs = get_function(device, "structs");
    khal_buffer* out = new_buffer(device, 64, NULL);
    const float constants[8] = {0, 0, 0, 0, 5, 6, 7, 8};
    khal_buffer* c = new_buffer(device, sizeof constants, constants);
    struct {
        cuda_struct s;
        unsigned char tag;
    } push = {{{1, 2, 3, 4}, 99, {0, 0, 0}}, 42};
    unsigned char back[64];
    float numbers[12];
    khal_encoder* encoder = make_encoder(device);
    record(encoder, structs, khal_threads(1, 1, 1), 2, (khal_slice[]){bytes(out, 4, 60), bytes(c, 16, 16)}, 33, &push);
    memset(&push, 0, sizeof push); /* the values are those of the recording */
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_read(out, 0, back, 64, KHAL_FOREVER));
    memcpy(numbers, back + 4, sizeof numbers);
    assert_true(numbers[0] == 1 && numbers[3] == 4 && numbers[8] == 5 && numbers[11] == 8);
    assert_int_equal(back[4 + 16], 99);
    assert_int_equal(back[4 + 48], 42);
    assert_int_equal(back[4 + 49], 0);
    khal_encoder_release(encoder);
    khal_function_release(structs);
    khal_buffer_release(out);
    khal_buffer_release(c);
    close_device(device);
}

static void local_arguments(void** state)
{
    (void)state;
    static const uint64_t sizes[][2] = {{4, 4}, {100, 130}, {40000, 4}, {100000, 60000}};
    khal_function* locals = get_function(device, "locals");
    khal_buffer* out = new_buffer(device, 24, NULL);
    for (size_t i = 0; i < 4; ++i)
        for (int turn = 0; turn < 2; ++turn) {
            uint64_t seen_words[3];
            khal_encoder* encoder = make_encoder(device);
            khal_pass* pass = NULL;
            OK(khal_pass_begin(encoder, NULL, &pass));
            OK(khal_pass_dispatch(pass,
                                  &(khal_dispatch_desc){.function = locals, .grid = khal_threads(32, 1, 1),
                                                        .bindings = (khal_slice[]){khal_slice_all(out)}, .binding_count = 1,
                                                        .local_sizes = sizes[i], .local_count = 2},
                                  NULL));
            OK(khal_pass_end(pass));
            OK(khal_submit(encoder, NULL));
            OK(khal_buffer_read(out, 0, seen_words, 24, KHAL_FOREVER));
            const uint64_t second = (sizes[i][0] + 127) / 128 * 128;
            assert_int_equal(seen_words[0] & UINT32_MAX, 0);
            assert_int_equal(seen_words[0] >> 32, sizes[i][0]);
            assert_int_equal(seen_words[1] & UINT32_MAX, second);
            assert_int_equal(seen_words[1] >> 32, sizes[i][1]);
            assert_true(seen_words[2] >= second + sizes[i][1]);
            khal_encoder_release(encoder);
        }
    khal_function_release(locals);
    khal_buffer_release(out);
    close_device(device);
}

static void slices_at_any_offset(void** state)
{
    (void)state;
    khal_function* add = get_function(device, "add");
    uint32_t numbers[64], back[64];
    for (uint32_t i = 0; i < 64; ++i)
        numbers[i] = i;
    khal_buffer* a = new_buffer(device, sizeof numbers, numbers);
    khal_encoder* encoder = make_encoder(device);
    record(encoder, add, khal_threads(10, 1, 1), 2, (khal_slice[]){bytes(a, 4, 40), bytes(a, 80, 40)}, 4, &(uint32_t){7});
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_read(a, 0, back, sizeof back, KHAL_FOREVER));
    for (uint32_t i = 0; i < 64; ++i)
        assert_int_equal(back[i], i >= 1 && i < 8 ? i + i + 19 : i);
    khal_encoder_release(encoder);
    khal_function_release(add);
    khal_buffer_release(a);
    close_device(device);
}

/* ---- waits and threads ------------------------------------------------------------------------- */

static void waits_time_out(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_ticket ticket = 0;
    OK(khal_device_wait(device, KHAL_FOREVER));
    hooks->hold(NULL, true);
    khal_encoder* encoder = encoder_of_order(order, buffer, 1, 3);
    OK(khal_submit(encoder, &ticket));
    const uint64_t start = khal__clock_now();
    FAILS(TIMEOUT, khal_ticket_wait(device, ticket, 30000000));
    assert_in_range(khal__clock_now() - start, 30000000, 3000000000u);
    FAILS(TIMEOUT, khal_device_wait(device, 0));
    GIVES(KHAL_NOT_READY, khal_ticket_poll(device, ticket));
    hooks->hold(NULL, false);
    OK(khal_device_wait(device, KHAL_FOREVER));
    OK(khal_ticket_wait(device, ticket, 0));
    assert_int_equal(read_word(buffer, 0), 123);
    khal_encoder_release(encoder);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

static void* wait_for_ticket(void* user)
{
    const khal_ticket* ticket = user;
    return khal_ticket_wait(device, *ticket, KHAL_FOREVER) == KHAL_OK && hooks->depth() == 0 ? user : NULL;
}

/* Two threads wait for what is held up while this one submits. */
static void waiting_does_not_hold_up_submits(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer *buffer = new_buffer(device, 4, NULL), *other = new_buffer(device, 4, NULL);
    khal_ticket ticket = 0;
    pthread_t threads[2];
    hooks->hold(NULL, true);
    khal_encoder* encoder = encoder_of_order(order, buffer, 1, 3);
    OK(khal_submit(encoder, &ticket));
    for (int i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ticket, &ticket), 0);
    for (uint32_t i = 0; i < 100; ++i) {
        khal_encoder* more = encoder_of_order(order, other, i % 2, 1);
        OK(khal_submit(more, NULL));
        OK(khal_buffer_write(other, 0, &i, 4));
        khal_encoder_release(more);
    }
    hooks->hold(NULL, false);
    for (int i = 0; i < 2; ++i) {
        void* result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &ticket);
    }
    assert_int_equal(read_word(buffer, 0), 123);
    assert_int_equal(read_word(other, 0), 99);
    khal_encoder_release(encoder);
    khal_function_release(order);
    khal_buffer_release(buffer);
    khal_buffer_release(other);
    close_device(device);
}

static void submit_pair(khal_encoder* encoder, khal_function* pair, khal_buffer* a, khal_buffer* b)
{
    for (int i = 0; i < 2; ++i)
        record(encoder, pair, khal_threads(1, 1, 1), 2,
               (khal_slice[]){khal_slice_all(i ? a : b), khal_slice_all(i ? b : a)}, 4, &(uint32_t){1});
    OK(khal_submit(encoder, NULL));
}

/* A hundred thousand submits without a wait take no more memory than a thousand, of khal's or of the driver's. */
static void many_submits_are_flat(void** state)
{
    (void)state;
    counted memory = {.remaining = -1};
    khal_device* counting = NULL;
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA, .allocator = COUNTED(memory)},
                        &counting));
    khal_function* pair = get_function(counting, "pair");
    khal_buffer *a = new_buffer(counting, 4, NULL), *b = new_buffer(counting, 4, NULL);
    khal_encoder* encoder = make_encoder(counting);
    /* as many on their way at once as the front allows, first */
    hooks->hold(NULL, true);
    for (uint32_t i = 0; i < 1000; ++i)
        submit_pair(encoder, pair, a, b);
    hooks->hold(NULL, false);
    OK(khal_device_wait(counting, KHAL_FOREVER));
    const unsigned live = hooks->live();
    const unsigned long long used = atomic_load(&memory.bytes), allocations = atomic_load(&memory.total);
    for (uint32_t i = 0; i < 100000; ++i)
        submit_pair(encoder, pair, a, b);
    assert_true(hooks->live() <= live + 50);
    assert_true(atomic_load(&memory.bytes) <= used + used / 10);
    assert_true(atomic_load(&memory.total) <= allocations + 200);
    assert_int_equal(read_word(a, 0), 202000);
    assert_int_equal(read_word(b, 0), 201999);
    khal_encoder_release(encoder);
    khal_function_release(pair);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_device_release(counting);
    assert_int_equal(atomic_load(&memory.alive), 0);
    close_device(device);
}

static void* submit_from_a_thread(void* user)
{
    khal_buffer* buffer = user;
    void* result = user;
    for (uint32_t i = 1; i <= 300; ++i) {
        khal_encoder* encoder = NULL;
        khal_ticket ticket = 0;
        uint32_t word = 0;
        if (khal_encoder_create(device, NULL, &encoder) != KHAL_OK ||
            khal_encoder_fill(encoder, khal_slice_all(buffer), &i, 4) != KHAL_OK || khal_submit(encoder, &ticket) != KHAL_OK ||
            (i % 3 == 0 && khal_ticket_wait(device, ticket, KHAL_FOREVER) != KHAL_OK) ||
            (i % 2 == 0 && (khal_buffer_read(buffer, 60, &word, 4, KHAL_FOREVER) != KHAL_OK || word != i)) ||
            (i % 5 == 0 && khal_buffer_write(buffer, 0, &i, 4) != KHAL_OK) || hooks->depth() != 0)
            result = NULL;
        khal_encoder_release(encoder);
    }
    return result;
}

static void many_threads_submit(void** state)
{
    (void)state;
    pthread_t threads[4];
    khal_buffer* buffers[4];
    for (int i = 0; i < 4; ++i) {
        buffers[i] = new_buffer(device, 64, NULL);
        assert_int_equal(pthread_create(&threads[i], NULL, submit_from_a_thread, buffers[i]), 0);
    }
    for (int i = 0; i < 4; ++i) {
        void* result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, buffers[i]);
        assert_int_equal(read_word(buffers[i], 32), 300);
        khal_buffer_release(buffers[i]);
    }
    close_device(device);
}

/* ---- results ----------------------------------------------------------------------------------- */

static int take_a_while(void* user, const standin_launch* launch)
{
    const uint64_t start = khal__clock_now();
    while (khal__clock_now() - start < 2000000)
        khal__thread_yield();
    return cuda_order(user, launch);
}

static void timestamps(void** state)
{
    (void)state;
    const uint64_t start = khal__clock_now();
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_encoder* encoder = make_encoder(device);
    khal_timestamps* times = NULL;
    khal_timestamp entries[16];
    uint32_t count = 0, missed = 0;
    hooks->kernel("order", take_a_while, NULL);
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 6}, &times));
    assert_true(khal_timestamps_is_enabled(times));
    for (int turn = 0; turn < 2; ++turn) {
        for (uint32_t i = 0; i < 4; ++i) {
            khal_pass* pass = NULL;
            OK(khal_pass_begin(encoder, &(khal_pass_desc){.label = i % 2 ? "odd" : "even", .timestamps = times}, &pass));
            for (uint32_t k = 0; k < i; ++k)
                record_in(pass, order, khal_threads(1, 1, 1), 1, (khal_slice[]){khal_slice_all(buffer)}, 4, &(uint32_t){0});
            OK(khal_pass_end(pass));
        }
        OK(khal_submit(encoder, NULL));
    }
    OK(khal_timestamps_read(times, 16, entries, &count, &missed, KHAL_FOREVER));
    const double wall = (double)(khal__clock_now() - start) / 1e6;
    assert_int_equal(count, 6);
    assert_int_equal(missed, 2);
    for (uint32_t i = 0; i < count; ++i) {
        assert_string_equal(entries[i].label, i % 2 ? "odd" : "even");
        assert_true(entries[i].duration >= 1.9 * (i % 4) && entries[i].duration < wall);
        assert_true(entries[i].begin >= (i > 0 ? entries[i - 1].begin + entries[i - 1].duration - 1e-6 : 0));
        assert_true(entries[i].begin < 1e9);
    }
    assert_true(entries[5].begin + entries[5].duration - entries[0].begin < wall);
    khal_timestamps_release(times);
    khal_encoder_release(encoder);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

static void readbacks(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4000, NULL);
    khal_readback* readback = NULL;
    uint32_t words[2] = {0, 0};
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 2, .element_size = 4}, &readback));
    GIVES(KHAL_NOTHING_REQUESTED, khal_readback_try_take(readback, words, 2));
    hooks->hold(NULL, true);
    khal_encoder* encoder = encoder_of_order(order, buffer, 1, 3);
    OK(khal_readback_request_copy(readback, encoder, (khal_slice[]){bytes(buffer, 0, 4), bytes(buffer, 3996, 4)}, 2));
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\1", 1));
    OK(khal_submit(encoder, NULL));
    GIVES(KHAL_NOT_READY, khal_readback_try_take(readback, words, 2));
    assert_int_equal(words[0], 0);
    hooks->hold(NULL, false);
    khal_status status;
    while ((status = khal_readback_try_take(readback, words, 2)) == KHAL_NOT_READY)
        khal__thread_yield();
    OK(status);
    assert_int_equal(words[0], 123);
    assert_int_equal(words[1], 0);
    OK(khal_readback_request(readback, (khal_slice[]){bytes(buffer, 8, 8)}, 1));
    OK(khal_device_wait(device, KHAL_FOREVER));
    OK(khal_readback_try_take(readback, words, 2));
    assert_int_equal(words[1], 0x01010101);
    khal_readback_release(readback);
    khal_encoder_release(encoder);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_runs_before_submit, use),
        cmocka_unit_test_setup(submits_run_in_order, use),
        cmocka_unit_test_setup(submits_run_in_order, use_old),
        cmocka_unit_test_setup(released_at_once, use),
        cmocka_unit_test_setup(grids, use),
        cmocka_unit_test_setup(large_workgroups, use),
        cmocka_unit_test_setup(indirect_without_a_stall, use),
        cmocka_unit_test_setup(indirect_without_a_stall, use_old),
        cmocka_unit_test_setup(indirect_too_large, use),
        cmocka_unit_test_setup(indirect_too_large, use_old),
        cmocka_unit_test_setup(structs_and_constants, use),
        cmocka_unit_test_setup(local_arguments, use),
        cmocka_unit_test_setup(slices_at_any_offset, use),
        cmocka_unit_test_setup(waits_time_out, use),
        cmocka_unit_test_setup(waiting_does_not_hold_up_submits, use),
        cmocka_unit_test_setup(waiting_does_not_hold_up_submits, use_old),
        cmocka_unit_test_setup(many_submits_are_flat, use),
        cmocka_unit_test_setup(many_submits_are_flat, use_old),
        cmocka_unit_test_setup(many_threads_submit, use),
        cmocka_unit_test_setup(timestamps, use),
        cmocka_unit_test_setup(timestamps, use_old),
        cmocka_unit_test_setup(readbacks, use),
        cmocka_unit_test_setup(readbacks, use_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
