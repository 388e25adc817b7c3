/* Where barriers stand: exactly before what depends, and nowhere else. */
#include "front.h"

#include "core/spans.h"

/* ---- sets of ranges, against a model byte by byte ----------------------------------------------
 */

static khal__span* grow(void* user, uint32_t wanted)
{
    (void)user;
    static khal__span rooms[64][64];
    static unsigned next;
    assert_true(wanted <= 64);
    return rooms[next++ % 64];
}

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static void check_against(const khal__spans* spans, const uint64_t* model, uint64_t model_size,
                          bool exact)
{
    for (uint32_t i = 0; i < spans->count; ++i) {
        assert_true(spans->items[i].begin < spans->items[i].end);
        if (i > 0)
            assert_true(spans->items[i - 1].end <= spans->items[i].begin);
    }
    for (uint64_t at = 0; at < model_size; ++at) {
        const uint64_t value = khal__spans_max(spans, at, at + 1);
        if (exact)
            assert_int_equal(value, model[at]);
        else
            assert_true(value >= model[at]);
        if (model[at] != 0)
            assert_true(khal__spans_overlap(spans, at, at + 1));
    }
}

static void spans_follow_a_model(void** state)
{
    (void)state;
    for (int round = 0; round < 200; ++round) {
        const bool exact = round % 2 == 0;
        khal__span first[4];
        khal__spans spans = {first, 0, exact ? 1 : 4};
        uint64_t model[100] = {0};
        for (uint64_t value = 1; value <= 40; ++value) {
            const uint64_t begin = random_below(100),
                           end = begin + random_below(100 - (uint32_t)begin + 1);
            khal__spans_set(&spans, begin, end, value / 3 + 1, exact ? 64 : 4, exact ? grow : NULL,
                            NULL);
            for (uint64_t at = begin; at < end; ++at)
                model[at] = value / 3 + 1;
            check_against(&spans, model, 100, exact);
        }
        khal__spans_prune(&spans, 7);
        for (uint32_t i = 0; i < spans.count; ++i)
            assert_true(spans.items[i].value > 7);
    }
}

static void spans_at_the_end_of_numbers(void** state)
{
    (void)state;
    khal__span first[4];
    khal__spans spans = {first, 0, 4};
    khal__spans_set(&spans, UINT64_MAX - 2, UINT64_MAX, 5, 4, NULL, NULL);
    khal__spans_set(&spans, 0, 1, 5, 4, NULL, NULL);
    assert_int_equal(spans.count, 2);
    assert_true(khal__spans_overlap(&spans, 0, UINT64_MAX));
    assert_false(khal__spans_overlap(&spans, 1, UINT64_MAX - 2));
    assert_false(khal__spans_overlap(&spans, 1, 1));
    khal__spans_set(&spans, 1, UINT64_MAX - 2, 5, 4, NULL, NULL);
    assert_int_equal(spans.count, 1);
}

/* ---- recordings --------------------------------------------------------------------------------
 */

/* What the backend got, a letter a command: D C F B R T N. */
typedef struct seen {
    char text[256];
    bool needs_barrier;
    uint64_t work_items;
} seen;

static void observe(void* user, const khal__submission* submission)
{
    static const char letters[] = "DCFBRTN";
    seen* s = user;
    size_t count = 0;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next, ++count)
        if (count + 1 < sizeof s->text)
            s->text[count] = letters[c->kind];
    s->text[count < sizeof s->text ? count : sizeof s->text - 1] = 0;
    assert_int_equal(count, submission->command_count);
    s->needs_barrier = submission->needs_barrier;
    s->work_items = submission->work_item_count;
}

typedef struct fixture {
    khal_device* device;
    khal_encoder* encoder;
    khal_function *read, *write, *copy;
    khal_buffer *a, *b, *c;
    seen seen;
} fixture;

static int set_up(void** state)
{
    fixture* f = calloc(1, sizeof *f);
    f->device = open_noop();
    noop_control_of(f->device)->observe = observe;
    noop_control_of(f->device)->observe_user = &f->seen;
    f->encoder = make_encoder(f->device);
    f->read = make_function(f->device, "read");
    f->write = make_function(f->device, "write");
    f->copy = make_function(f->device, "copy");
    f->a = make_buffer(f->device, 1024);
    f->b = make_buffer(f->device, 1024);
    f->c = make_buffer(f->device, 1024);
    *state = f;
    return 0;
}

static int tear_down(void** state)
{
    fixture* f = *state;
    noop_hold(f->device, UINT64_MAX);
    khal_encoder_release(f->encoder);
    khal_function_release(f->read);
    khal_function_release(f->write);
    khal_function_release(f->copy);
    khal_buffer_release(f->a);
    khal_buffer_release(f->b);
    khal_buffer_release(f->c);
    khal_device_release(f->device);
    free(f);
    return 0;
}

static khal_pass* begin(fixture* f, bool manual)
{
    khal_pass* pass;
    OK(khal_pass_begin(f->encoder, &(khal_pass_desc){.manual_barriers = manual}, &pass));
    return pass;
}

static void submits(fixture* f, const char* expected)
{
    OK(khal_submit(f->encoder, NULL));
    assert_string_equal(f->seen.text, expected);
}

static void reads(khal_pass* pass, fixture* f, khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    OK(dispatch(pass, f->read, 1, &(khal_slice){buffer, offset, size, 4}));
}

static void writes(khal_pass* pass, fixture* f, khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    OK(dispatch(pass, f->write, 1, &(khal_slice){buffer, offset, size, 4}));
}

static void reads_need_no_order(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    for (int i = 0; i < 3; ++i)
        reads(pass, f, f->a, 0, 1024);
    khal_pass_end(pass);
    submits(f, "DDD");
}

static void each_kind_of_dependency(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false); /* read after write */
    writes(pass, f, f->a, 0, 64);
    reads(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    submits(f, "DBD");

    pass = begin(f, false); /* write after read */
    reads(pass, f, f->a, 0, 64);
    writes(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    submits(f, "DBD");

    pass = begin(f, false); /* write after write */
    writes(pass, f, f->a, 0, 64);
    writes(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    submits(f, "DBD");
}

static void ranges_that_only_touch_are_apart(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    writes(pass, f, f->a, 0, 64);
    writes(pass, f, f->a, 64, 64);
    writes(pass, f, f->a, 256, 64);
    reads(pass, f, f->a, 128, 128);
    writes(pass, f, f->b, 0, 1024);
    khal_pass_end(pass);
    submits(f, "DDDDD");
    pass = begin(f, false);
    writes(pass, f, f->a, 0, 64);
    reads(pass, f, f->a, 60, 8);
    khal_pass_end(pass);
    submits(f, "DBD");
}

static void one_barrier_orders_everything_before_it(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    writes(pass, f, f->a, 0, 64);
    writes(pass, f, f->b, 0, 64);
    reads(pass, f, f->a, 0, 64);
    reads(pass, f, f->b, 0, 64);
    writes(pass, f, f->c, 0, 64);
    khal_pass_end(pass);
    submits(f, "DDBDDD");
}

static void dependencies_cross_passes(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    writes(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    pass = begin(f, false);
    writes(pass, f, f->b, 0, 64);
    reads(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    submits(f, "DDBD");
}

static void slices_of_one_dispatch_do_not_order_it(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    OK(dispatch(pass, f->copy, 2, (khal_slice[]){bytes(f->a, 0, 64), bytes(f->a, 32, 64)}));
    khal_pass_end(pass);
    submits(f, "D");
}

static void copies_fills_and_reads_count(void** state)
{
    fixture* f = *state;
    const uint32_t pattern = 1;
    OK(khal_encoder_fill(f->encoder, bytes(f->a, 0, 64), &pattern, 4));
    OK(khal_encoder_copy(f->encoder, bytes(f->a, 0, 64), bytes(f->b, 0, 64)));
    OK(khal_encoder_copy(f->encoder, bytes(f->a, 0, 64), bytes(f->c, 0, 64)));
    khal_readback* readback;
    OK(khal_readback_create(f->device, &(khal_readback_desc){.capacity_count = 128}, &readback));
    OK(khal_readback_request_copy(readback, f->encoder,
                                  (khal_slice[]){bytes(f->b, 0, 64), bytes(f->a, 0, 64)}, 2));
    OK(khal_encoder_fill(f->encoder, bytes(f->b, 0, 1), &pattern, 1));
    submits(f, "FBCCBRRBF");
    khal_readback_release(readback);
}

static void no_operation_orders_nothing(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = f->write,
                                                .grid = khal_threads(64, 0, 1),
                                                .bindings = &(khal_slice){f->a, 0, 64, 4},
                                                .binding_count = 1},
                          NULL));
    reads(pass, f, f->a, 0, 64);
    writes(pass, f, f->b, 0, 0);
    reads(pass, f, f->b, 0, 0);
    khal_pass_end(pass);
    OK(khal_encoder_copy(f->encoder, bytes(f->a, 0, 0), bytes(f->a, 0, 0)));
    submits(f, "DDD");
}

static void indirect_counts_are_read(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    writes(pass, f, f->a, 0, 12);
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = f->read,
                                                .grid = khal_indirect(f->a, 0),
                                                .bindings = &(khal_slice){f->b, 0, 64, 4},
                                                .binding_count = 1},
                          NULL));
    khal_pass_end(pass);
    submits(f, "DBD");
    assert_true(f->seen.work_items == UINT64_MAX);
}

static void manual_passes_order_themselves(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, true);
    writes(pass, f, f->a, 0, 64);
    reads(pass, f, f->a, 0, 64);
    khal_pass_barrier(pass);
    khal_pass_barrier(pass); /* with nothing between, one is enough */
    reads(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    submits(f, "DDBD");
}

static void manual_passes_are_ordered_against_the_rest(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    reads(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    pass = begin(f, true);
    reads(pass, f, f->a, 0, 32);  /* read after read */
    writes(pass, f, f->a, 0, 32); /* write after a read outside: the own read must not hide it */
    writes(pass, f, f->a, 0, 32); /* own business */
    writes(pass, f, f->b, 0, 32);
    khal_pass_end(pass);
    pass = begin(f, false);
    reads(pass, f, f->b, 0, 32);
    reads(pass, f, f->a, 32, 32);
    khal_pass_end(pass);
    submits(f, "DDBDDDBDD");
}

static void a_barrier_in_an_automatic_pass_is_there_already(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    writes(pass, f, f->a, 0, 64);
    khal_pass_barrier(pass);
    writes(pass, f, f->b, 0, 64);
    khal_pass_end(pass);
    submits(f, "DD");
}

static khal_status never_called(void* user, const khal_native* native)
{
    (void)user;
    (void)native;
    return KHAL_INVALID_STATE;
}

static void natives_are_ordered_by_what_they_name(void** state)
{
    fixture* f = *state;
    khal_pass* pass = begin(f, false);
    writes(pass, f, f->a, 0, 64);
    khal_pass_end(pass);
    const khal_slice read = bytes(f->a, 0, 4), write = bytes(f->b, 0, 4), other = bytes(f->c, 0, 4);
    OK(khal_encoder_native(
        f->encoder, &(khal_native_desc){.call = never_called, .writes = &other, .write_count = 1}));
    OK(khal_encoder_native(f->encoder, &(khal_native_desc){.call = never_called,
                                                           .reads = &read,
                                                           .read_count = 1,
                                                           .writes = &write,
                                                           .write_count = 1}));
    OK(khal_encoder_copy(f->encoder, bytes(f->b, 0, 4), bytes(f->b, 8, 4)));
    submits(f, "DNBNBC");
}

/* 20,000 slices of one buffer that do not meet: no barrier, in whatever order they come. */
static void many_ranges_of_one_buffer(void** state)
{
    fixture* f = *state;
    khal_buffer* big = make_buffer(f->device, 20000 * 16);
    for (int order = 0; order < 2; ++order) {
        khal_pass* pass = begin(f, false);
        for (uint64_t i = 0; i < 20000; ++i)
            writes(pass, f, big, (order == 0 ? i : 19999 - i) * 16, 16);
        khal_pass_end(pass);
        const uint64_t before = statistics(f->device).barriers;
        OK(khal_submit(f->encoder, NULL));
        assert_int_equal(statistics(f->device).barriers, before);
    }
    /* With holes there are as many ranges as dispatches; up to 4,096 stay exact. */
    khal_pass* pass = begin(f, false);
    for (uint64_t i = 0; i < 4000; ++i)
        writes(pass, f, big, (i * 7 % 4000) * 64, 16);
    reads(pass, f, big, 16, 48);
    khal_pass_end(pass);
    const uint64_t before = statistics(f->device).barriers;
    OK(khal_submit(f->encoder, NULL));
    assert_int_equal(statistics(f->device).barriers, before);
    khal_buffer_release(big);
}

/* Beyond any bound, ranges are joined: too many barriers are possible, too few are not. */
static void too_many_ranges_stay_safe(void** state)
{
    fixture* f = *state;
    khal_buffer* big = make_buffer(f->device, 20000 * 64);
    khal_pass* pass = begin(f, false);
    for (uint64_t i = 0; i < 9000; ++i)
        writes(pass, f, big, i * 64, 16);
    khal_pass_end(pass);
    pass = begin(f, false);
    const uint64_t before = statistics(f->device).barriers;
    reads(pass, f, big, 8999 * 64, 16);
    khal_pass_end(pass);
    OK(khal_submit(f->encoder, NULL));
    assert_true(statistics(f->device).barriers > before);
    khal_buffer_release(big);
}

static void many_buffers_in_one_recording(void** state)
{
    fixture* f = *state;
    khal_buffer* buffers[300];
    for (int i = 0; i < 300; ++i)
        buffers[i] = make_buffer(f->device, 64);
    khal_encoder* other = make_encoder(f->device);
    khal_pass *pass = begin(f, false), *other_pass;
    OK(khal_pass_begin(other, NULL, &other_pass));
    /* Two recordings take turns with the same buffers, so that guesses about where they stand are
     * wrong. */
    for (int i = 0; i < 300; ++i) {
        writes(pass, f, buffers[i], 0, 64);
        writes(other_pass, f, buffers[299 - i], 0, 64);
    }
    for (int i = 0; i < 300; ++i)
        reads(pass, f, buffers[(i * 7) % 300], 0, 64);
    khal_pass_end(pass);
    khal_pass_end(other_pass);
    uint64_t before = statistics(f->device).barriers;
    OK(khal_submit(f->encoder, NULL));
    assert_int_equal(statistics(f->device).barriers, before + 1);
    before = statistics(f->device).barriers;
    OK(khal_submit(other, NULL));
    assert_int_equal(statistics(f->device).barriers, before);
    khal_encoder_release(other);
    for (int i = 0; i < 300; ++i)
        khal_buffer_release(buffers[i]);
}

/* ---- between submissions -----------------------------------------------------------------------
 */

static void submit_write(fixture* f, khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    khal_pass* pass = begin(f, false);
    writes(pass, f, buffer, offset, size);
    khal_pass_end(pass);
    OK(khal_submit(f->encoder, NULL));
}

static void submit_read(fixture* f, khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    khal_pass* pass = begin(f, false);
    reads(pass, f, buffer, offset, size);
    khal_pass_end(pass);
    OK(khal_submit(f->encoder, NULL));
}

static void submissions_depend_only_on_what_still_runs(void** state)
{
    fixture* f = *state;
    noop_hold(f->device, 0);
    submit_write(f, f->a, 0, 64);
    assert_false(f->seen.needs_barrier);
    submit_write(f, f->a, 64, 64);
    assert_false(f->seen.needs_barrier);
    submit_read(f, f->b, 0, 1024);
    assert_false(f->seen.needs_barrier);
    submit_read(f, f->a, 0, 64);
    assert_true(f->seen.needs_barrier);
    submit_write(f, f->b, 1000, 8);
    assert_true(f->seen.needs_barrier);
    submit_read(f, f->b, 0, 1000);
    assert_false(f->seen.needs_barrier);
    noop_hold(f->device, 5);
    submit_read(f, f->a, 0, 128);
    assert_false(f->seen.needs_barrier);
    submit_write(f, f->a, 0, 4); /* reads 6 and 7 still run */
    assert_true(f->seen.needs_barrier);
    noop_hold(f->device, UINT64_MAX);
    submit_write(f, f->a, 0, 4);
    assert_false(f->seen.needs_barrier);
}

static void the_host_learns_the_last_conflict(void** state)
{
    fixture* f = *state;
    noop_control* control = noop_control_of(f->device);
    char out[64];
    noop_hold(f->device, 0);
    submit_write(f, f->a, 0, 64);   /* 1 */
    submit_read(f, f->a, 32, 32);   /* 2 */
    submit_write(f, f->a, 128, 64); /* 3 */
    noop_hold(f->device, UINT64_MAX);
    OK(khal_buffer_read(f->a, 0, out, 64, KHAL_FOREVER));
    assert_int_equal(atomic_load(&control->last_after), 1);
    OK(khal_buffer_write(f->a, 0, out, 32));
    assert_int_equal(atomic_load(&control->last_after), 1);
    OK(khal_buffer_write(f->a, 0, out, 33));
    assert_int_equal(atomic_load(&control->last_after), 2);
    OK(khal_buffer_write(f->a, 64, out, 64));
    assert_int_equal(atomic_load(&control->last_after), 0);
    OK(khal_buffer_read(f->a, 120, out, 9, KHAL_FOREVER));
    assert_int_equal(atomic_load(&control->last_after), 3);
    void* memory;
    OK(khal_buffer_map(f->a, 0, 200, KHAL_MAP_READ, KHAL_FOREVER, &memory));
    assert_int_equal(atomic_load(&control->last_after), 3);
    OK(khal_buffer_unmap(f->a));
}

/* A buffer remembers a bounded number of ranges of running work, and never forgets one. */
static void many_running_ranges_stay_safe(void** state)
{
    fixture* f = *state;
    khal_buffer* big = make_buffer(f->device, 100 * 128);
    noop_hold(f->device, 0);
    for (uint64_t i = 0; i < 100; ++i)
        submit_write(f, big, i * 128, 64);
    noop_hold(f->device, 99);
    for (uint64_t i = 0; i < 100; ++i) {
        submit_read(f, big, i * 128, 64);
        if (i == 99)
            assert_true(f->seen.needs_barrier);
    }
    noop_hold(f->device, UINT64_MAX);
    khal_buffer_release(big);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_follow_a_model),
        cmocka_unit_test(spans_at_the_end_of_numbers),
        TEST(reads_need_no_order),
        TEST(each_kind_of_dependency),
        TEST(ranges_that_only_touch_are_apart),
        TEST(one_barrier_orders_everything_before_it),
        TEST(dependencies_cross_passes),
        TEST(slices_of_one_dispatch_do_not_order_it),
        TEST(copies_fills_and_reads_count),
        TEST(no_operation_orders_nothing),
        TEST(indirect_counts_are_read),
        TEST(manual_passes_order_themselves),
        TEST(manual_passes_are_ordered_against_the_rest),
        TEST(a_barrier_in_an_automatic_pass_is_there_already),
        TEST(natives_are_ordered_by_what_they_name),
        TEST(many_ranges_of_one_buffer),
        TEST(too_many_ranges_stay_safe),
        TEST(many_buffers_in_one_recording),
        TEST(submissions_depend_only_on_what_still_runs),
        TEST(the_host_learns_the_last_conflict),
        TEST(many_running_ranges_stay_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
