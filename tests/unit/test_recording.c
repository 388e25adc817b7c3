/* Encoders: what sticks, what a submit leaves behind, commands that run again with other values,
 * and no allocation on the way. */
#include "front.h"

static khal_device* device;
static khal_encoder* encoder;
static khal_buffer *a, *b;
static khal_function *add, *write_, *read_, *none;

/* What the backend got last. */
static struct {
    uint32_t dispatches, commands;
    uint32_t push[64];
    khal__range bindings[64];
    uint32_t passes[64];
    char labels[64][16];
    char text[128];
} seen;

static void observe(void* user, const khal__submission* submission)
{
    (void)user;
    memset(&seen, 0, sizeof seen);
    for (const khal__command* c = submission->commands; c != NULL; c = c->next) {
        if (seen.commands < sizeof seen.text - 1)
            seen.text[seen.commands] = "DCFBRTN"[c->kind];
        ++seen.commands;
        if (c->kind != KHAL__COMMAND_DISPATCH || seen.dispatches >= 64)
            continue;
        assert_true((uintptr_t)c->u.dispatch.push_constants % 16 == 0);
        if (c->u.dispatch.push_constant_size == 4)
            memcpy(&seen.push[seen.dispatches], c->u.dispatch.push_constants, 4);
        if (c->u.dispatch.binding_count > 0)
            seen.bindings[seen.dispatches] = c->u.dispatch.bindings[0];
        seen.passes[seen.dispatches] = c->pass;
        if (c->label != NULL)
            snprintf(seen.labels[seen.dispatches], sizeof seen.labels[0], "%s", c->label);
        ++seen.dispatches;
    }
}

static int set_up(void** state)
{
    (void)state;
    device = open_noop();
    noop_control_of(device)->observe = observe;
    encoder = make_encoder(device);
    a = make_buffer(device, 1024);
    b = make_buffer(device, 1024);
    add = make_function(device, "add");
    write_ = make_function(device, "write");
    read_ = make_function(device, "read");
    none = make_function(device, "none");
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    noop_hold(device, UINT64_MAX);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_function_release(add);
    khal_function_release(write_);
    khal_function_release(read_);
    khal_function_release(none);
    khal_device_release(device);
    return 0;
}

static khal_pass* begin(const char* label)
{
    khal_pass* pass;
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.label = label}, &pass));
    return pass;
}

static khal_status add_with(khal_pass* pass, khal_slice slice, uint32_t push, uint32_t* out_index)
{
    const khal_slice slices[2] = {slice, khal_slice_all(b)};
    return khal_pass_dispatch(pass,
                              &(khal_dispatch_desc){.function = add,
                                                    .grid = khal_threads(4, 1, 1),
                                                    .bindings = slices,
                                                    .binding_count = 2,
                                                    .push_constants = &push,
                                                    .push_constant_size = 4},
                              out_index);
}

/* ---- what sticks -------------------------------------------------------------------------------
 */

static void the_first_error_sticks(void** state)
{
    (void)state;
    const uint32_t pattern = 1;
    OK(khal_encoder_fill(encoder, bytes(a, 0, 64), &pattern, 4));
    assert_int_equal(khal_encoder_fill(encoder, bytes(a, 0, 64), &pattern, 3),
                     KHAL_INVALID_ARGUMENT);
    char first[1024];
    memcpy(first, khal_error_get()->message, sizeof first);
    khal_error_clear();
    /* Later calls return the same and record nothing of their own. */
    khal_pass* pass;
    assert_int_equal(khal_encoder_copy(encoder, khal_slice_all(NULL), khal_slice_all(NULL)),
                     KHAL_INVALID_ARGUMENT);
    assert_int_equal(khal_pass_begin(encoder, NULL, &pass), KHAL_INVALID_ARGUMENT);
    assert_non_null(pass);
    assert_int_equal(dispatch(pass, none, 0, NULL), KHAL_INVALID_ARGUMENT);
    assert_int_equal(khal_pass_barrier(pass), KHAL_INVALID_ARGUMENT);
    assert_int_equal(khal_pass_end(pass), KHAL_INVALID_ARGUMENT);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_NONE);
    const uint64_t before = statistics(device).submissions;
    assert_int_equal(khal_submit(encoder, NULL), KHAL_INVALID_ARGUMENT);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_FILL_PATTERN);
    assert_string_equal(khal_error_get()->message, first);
    assert_int_equal(statistics(device).submissions, before);
    /* The encoder is empty and sound again. */
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.commands, 0);
}

static void an_error_inside_a_pass_ends_it_all(void** state)
{
    (void)state;
    khal_pass* pass = begin(NULL);
    OK(dispatch(pass, none, 0, NULL));
    assert_int_equal(dispatch(pass, read_, 0, NULL), KHAL_INVALID_ARGUMENT);
    FAILS(BINDING_COUNT, khal_submit(encoder, NULL)); /* though the pass was left open */
    FAILS(PASS_ENDED, dispatch(pass, none, 0, NULL));
    FAILS(PASS_ENDED, khal_submit(encoder, NULL));
    OK(khal_submit(encoder, NULL));
}

static void only_that_encoder_is_spoilt(void** state)
{
    (void)state;
    khal_encoder* other = make_encoder(device);
    FAILS(SLICE_NULL, khal_encoder_copy(encoder, khal_slice_all(NULL), khal_slice_all(a)));
    OK(khal_encoder_copy(other, bytes(a, 0, 4), bytes(b, 0, 4)));
    OK(khal_submit(other, NULL));
    assert_int_equal(seen.commands, 1);
    khal_encoder_reset(encoder); /* forgets the error too */
    OK(khal_encoder_copy(encoder, bytes(a, 0, 4), bytes(b, 0, 4)));
    OK(khal_submit(encoder, NULL));
    khal_encoder_release(other);
}

static void finish_returns_the_error_too(void** state)
{
    (void)state;
    khal_commands* commands = (khal_commands*)(uintptr_t)1;
    assert_int_equal(khal_encoder_copy(encoder, khal_slice_all(NULL), khal_slice_all(a)),
                     KHAL_INVALID_ARGUMENT);
    FAILS(SLICE_NULL, khal_encoder_finish(encoder, &commands));
    assert_ptr_equal(commands, (khal_commands*)(uintptr_t)1);
    OK(khal_submit(encoder, NULL));
}

static void an_encoder_without_submit_has_no_effect(void** state)
{
    (void)state;
    khal_encoder* other = make_encoder(device);
    khal_pass* pass;
    OK(khal_encoder_copy(other, bytes(a, 0, 4), bytes(b, 0, 4)));
    OK(khal_pass_begin(other, NULL, &pass));
    const uint64_t before = statistics(device).submissions;
    khal_encoder_release(other);
    assert_int_equal(statistics(device).submissions, before);
    assert_int_equal(atomic_load(&noop_control_of(device)->calls[NOOP_SUBMIT]), before);
}

static void a_submit_leaves_the_encoder_empty(void** state)
{
    (void)state;
    OK(khal_encoder_copy(encoder, bytes(a, 0, 4), bytes(b, 0, 4)));
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.commands, 1);
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.commands, 0);
    /* Also when the backend refuses. */
    OK(khal_encoder_copy(encoder, bytes(a, 0, 4), bytes(b, 0, 4)));
    atomic_store(&noop_control_of(device)->fail[NOOP_SUBMIT], 1);
    FAILS(DRIVER, khal_submit(encoder, NULL));
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.commands, 0);
}

/* ---- what is recorded --------------------------------------------------------------------------
 */

static void dispatches_are_numbered(void** state)
{
    (void)state;
    uint32_t index = 99;
    khal_pass* pass = begin("first");
    assert_int_equal(khal_pass_get_dispatch_count(pass), 0);
    OK(add_with(pass, khal_slice_all(a), 7, &index));
    assert_int_equal(index, 0);
    OK(khal_pass_dispatch(
        pass, &(khal_dispatch_desc){.function = none, .grid = khal_threads(1, 0, 1)}, &index));
    assert_int_equal(index, 1); /* though nothing runs */
    OK(khal_pass_end(pass));
    pass = begin("second");
    OK(add_with(pass, khal_slice_all(a), 8, &index));
    assert_int_equal(index, 2);
    assert_int_equal(khal_pass_get_dispatch_count(pass), 3);
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.dispatches, 2);
    assert_int_equal(seen.push[0], 7);
    assert_int_equal(seen.push[1], 8);
    assert_int_equal(seen.passes[0], 0);
    assert_int_equal(seen.passes[1], 1);
    assert_string_equal(seen.labels[0], "first");
    assert_string_equal(seen.labels[1], "second");
    const khal_statistics s = statistics(device);
    assert_int_equal(s.dispatches, 2);
    assert_int_equal(s.barriers, 1);
}

static void inputs_are_borrowed_for_the_call(void** state)
{
    (void)state;
    char label[16] = "label";
    uint32_t push = 5;
    khal_slice slices[2] = {khal_slice_all(a), khal_slice_all(b)};
    khal_pass* pass = begin(label);
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = add,
                                                .grid = khal_threads(4, 1, 1),
                                                .bindings = slices,
                                                .binding_count = 2,
                                                .push_constants = &push,
                                                .push_constant_size = 4},
                          NULL));
    memset(label, 'x', 5);
    push = 6;
    slices[0] = slices[1];
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    assert_string_equal(seen.labels[0], "label");
    assert_int_equal(seen.push[0], 5);
    assert_ptr_equal(seen.bindings[0].buffer, a);
}

static void typed_slices_resolve(void** state)
{
    (void)state;
    khal_pass* pass = begin(NULL);
    OK(add_with(pass, khal_slice_float_range(a, 2, 3).slice, 0, NULL));
    OK(add_with(pass, khal_slice_float_all(a).slice, 0, NULL));
    OK(add_with(pass, khal_slice_float_of(bytes(a, 1024, UINT64_MAX)).slice, 0, NULL));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.bindings[0].offset, 8);
    assert_int_equal(seen.bindings[0].size, 12);
    assert_int_equal(seen.bindings[1].size, 1024);
    assert_int_equal(seen.bindings[2].offset, 1024);
    assert_int_equal(seen.bindings[2].size, 0);
}

static void large_recordings(void** state)
{
    (void)state;
    for (int round = 0; round < 3; ++round) {
        khal_pass* pass = begin(NULL);
        for (uint32_t i = 0; i < 50000; ++i)
            OK(add_with(pass, bytes(a, i % 256 * 4, 4), i, NULL));
        OK(khal_pass_end(pass));
        OK(khal_submit(encoder, NULL));
        assert_int_equal(seen.push[63], 63);
    }
}

static void push_constants_as_large_as_the_device_takes(void** state)
{
    (void)state;
    static char wide[4096];
    static const char ptx[] = ".version 7.0\n.target sm_50\n.visible .entry k(.param .align 4 .b8 p[4096]) { ret; }";
    khal_module* module;
    khal_function* function;
    memset(wide, 'w', sizeof wide);
    OK(khal_module_load(device, &(khal_module_desc){.code = ptx, .code_size = sizeof ptx},
                        &module));
    OK(khal_function_create(
        module, &(khal_function_desc){.entry_point = "k", .push_constant_size = sizeof wide},
        &function));
    khal_pass* pass = begin(NULL);
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = function,
                                                .grid = khal_groups(1, 1, 1),
                                                .push_constants = wide,
                                                .push_constant_size = sizeof wide},
                          NULL));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    khal_function_release(function);
    khal_module_release(module);
}

/* ---- commands ----------------------------------------------------------------------------------
 */

static khal_commands* finish(void)
{
    khal_commands* commands;
    OK(khal_encoder_finish(encoder, &commands));
    return commands;
}

static void commands_run_again(void** state)
{
    (void)state;
    khal_pass* pass = begin("pass");
    const uint64_t pattern = 1;
    OK(add_with(pass, khal_slice_all(a), 1, NULL));
    OK(add_with(pass, khal_slice_all(a), 2, NULL));
    OK(khal_pass_end(pass));
    OK(khal_encoder_fill(encoder, bytes(a, 0, 64), &pattern, 8));
    OK(khal_encoder_copy(encoder, bytes(a, 0, 64), bytes(b, 0, 64)));
    khal_commands* commands = finish();
    assert_int_equal(khal_commands_get_dispatch_count(commands), 2);
    for (khal_ticket i = 1; i <= 5; ++i) {
        khal_ticket ticket;
        OK(khal_commands_submit(commands, &ticket));
        assert_int_equal(ticket, i);
        assert_string_equal(seen.text, "DBDBFBC");
        assert_int_equal(seen.push[1], 2);
        assert_string_equal(seen.labels[1], "pass");
    }
    const khal_statistics s = statistics(device);
    assert_int_equal(s.dispatches, 10);
    assert_int_equal(s.fills, 5);
    assert_int_equal(s.copies, 5);
    assert_int_equal(s.barriers, 15);
    assert_int_equal(s.re_recordings, 0);
    /* The encoder goes on by itself. */
    OK(khal_submit(encoder, NULL));
    assert_int_equal(seen.commands, 0);
    khal_commands_release(commands);
}

static void replaced_values_hold_from_the_next_submit(void** state)
{
    (void)state;
    const uint32_t two = 2;
    const uint8_t third_byte = 3;
    khal_pass* pass = begin(NULL);
    OK(add_with(pass, bytes(a, 0, 64), 1, NULL));
    OK(add_with(pass, bytes(a, 64, 64), 1, NULL));
    OK(khal_pass_end(pass));
    khal_commands* commands = finish();
    OK(khal_commands_submit(commands, NULL));
    assert_string_equal(seen.text, "DD");
    OK(khal_commands_set_push_constants(commands, 1, 0, &two, 4));
    OK(khal_commands_submit(commands, NULL));
    assert_int_equal(seen.push[0], 1);
    assert_int_equal(seen.push[1], 2);
    OK(khal_commands_set_push_constants(commands, 0, 2, &third_byte, 1));
    OK(khal_commands_submit(commands, NULL));
    assert_int_equal(seen.push[0], 0x00030001);
    assert_int_equal(statistics(device).re_recordings, 0);
    OK(khal_commands_set_slice(commands, 1, 0, bytes(a, 32, 64))); /* now they meet */
    OK(khal_commands_submit(commands, NULL));
    assert_string_equal(seen.text, "DBD");
    assert_int_equal(seen.bindings[1].offset, 32);
    assert_int_equal(statistics(device).re_recordings, 1);
    OK(khal_commands_submit(commands, NULL));
    assert_int_equal(statistics(device).re_recordings, 1);
    OK(khal_commands_set_slice(commands, 1, 0, bytes(a, 64, 64)));
    OK(khal_commands_submit(commands, NULL));
    assert_string_equal(seen.text, "DD");
    assert_int_equal(statistics(device).re_recordings, 2);
    khal_commands_release(commands);
}

/* What is under way keeps its own values: the recording that the backend still reads is another
 * one. */
static const khal__submission* kept[8];
static unsigned kept_count;
static void keep(void* user, const khal__submission* submission)
{
    (void)user;
    kept[kept_count++] = submission;
}

static uint32_t push_of(const khal__submission* submission)
{
    uint32_t push;
    memcpy(&push, submission->commands->u.dispatch.push_constants, 4);
    return push;
}

static void earlier_submissions_keep_their_values(void** state)
{
    (void)state;
    kept_count = 0;
    noop_control_of(device)->observe = keep;
    noop_hold(device, 0);
    khal_pass* pass = begin(NULL);
    OK(add_with(pass, bytes(a, 0, 64), 0, NULL));
    OK(khal_pass_end(pass));
    khal_commands* commands = finish();
    for (uint32_t i = 0; i < 8; ++i) {
        OK(khal_commands_set_push_constants(commands, 0, 0, &i, 4));
        OK(khal_commands_set_slice(commands, 0, 0, bytes(i % 2 == 0 ? a : b, i * 4, 4)));
        OK(khal_commands_submit(commands, NULL));
    }
    for (uint32_t i = 0; i < 8; ++i) {
        assert_int_equal(push_of(kept[i]), i);
        assert_int_equal(kept[i]->commands->u.dispatch.bindings[0].offset, i * 4);
        assert_ptr_equal(kept[i]->commands->u.dispatch.bindings[0].buffer, i % 2 == 0 ? a : b);
    }
    khal_commands_release(commands);
    noop_hold(device, UINT64_MAX);
}

static void no_operation_can_be_given_slices(void** state)
{
    (void)state;
    khal_pass* pass = begin(NULL);
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = read_,
                                                .grid = khal_threads(0, 1, 1),
                                                .bindings = &(khal_slice){a, 0, 4, 4},
                                                .binding_count = 1},
                          NULL));
    OK(khal_pass_end(pass));
    khal_commands* commands = finish();
    assert_int_equal(khal_commands_get_dispatch_count(commands), 1);
    OK(khal_commands_set_slice(commands, 0, 0, bytes(b, 0, 8)));
    OK(khal_commands_submit(commands, NULL));
    assert_int_equal(seen.commands, 0);
    khal_commands_release(commands);
}

static khal_status never(void* user, const khal_native* native)
{
    (void)user;
    (void)native;
    return KHAL_OK;
}

/* Everything that a recording can hold comes again as it was. */
static void everything_is_recorded_again(void** state)
{
    (void)state;
    const uint32_t pattern = 9, push = 4;
    khal_pass* pass;
    khal_timestamps* timestamps;
    khal_readback* readback;
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 64}, &timestamps));
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 64, .slot_count = 16},
                            &readback));
    for (int round = 0; round < 2; ++round) {
        OK(khal_encoder_fill(encoder, bytes(a, 0, 64), &pattern, 4));
        OK(khal_readback_request_copy(readback, encoder, NULL, 0));
        OK(khal_readback_request_copy(
            readback, encoder, (khal_slice[]){bytes(a, 0, 4), bytes(a, 0, 0), bytes(b, 0, 4)}, 3));
        OK(khal_pass_begin(
            encoder,
            &(khal_pass_desc){.label = "manual", .manual_barriers = true, .timestamps = timestamps},
            &pass));
        OK(add_with(pass, bytes(a, 0, 64), 1, NULL));
        OK(add_with(pass, bytes(a, 0, 64), 2, NULL));
        OK(khal_pass_barrier(pass));
        OK(add_with(pass, bytes(a, 0, 64), 3, NULL));
        OK(khal_pass_end(pass));
        OK(khal_encoder_native(encoder, &(khal_native_desc){.call = never,
                                                            .reads = (khal_slice[]){bytes(a, 0, 4)},
                                                            .read_count = 1}));
        OK(khal_readback_request_copy(readback, encoder, NULL, 0));
        pass = begin("automatic");
        OK(add_with(pass, bytes(a, 0, 64), 4, NULL));
        OK(khal_pass_end(pass));
        OK(khal_encoder_copy(encoder, bytes(a, 0, 4), bytes(b, 0, 4)));
        static const char expected[] = "FBRRTBDDBDTBNBDBC";
        if (round == 0) {
            OK(khal_submit(encoder, NULL));
            assert_string_equal(seen.text, expected);
        } else {
            khal_commands* commands = finish();
            for (int i = 0; i < 3; ++i) {
                OK(khal_commands_submit(commands, NULL));
                assert_string_equal(seen.text, expected);
                assert_string_equal(seen.labels[0], "manual");
                assert_string_equal(seen.labels[3], "automatic");
                assert_int_equal(seen.push[2], 3);
                OK(khal_commands_set_push_constants(commands, 3, 0, &push, 4));
            }
            khal_commands_release(commands);
        }
    }
    /* Four runs of three reads each: 0, 8 and 0 bytes, in this order. */
    char out[8];
    for (int i = 0; i < 4; ++i) {
        OK(khal_readback_try_take(readback, out, 0));
        OK(khal_readback_try_take(readback, out, 8));
        OK(khal_readback_try_take(readback, out, 0));
    }
    assert_int_equal(khal_readback_try_take(readback, out, 0), KHAL_NOTHING_REQUESTED);
    khal_timestamp entries[8];
    uint32_t n;
    OK(khal_timestamps_read(timestamps, 8, entries, &n, NULL, KHAL_FOREVER));
    assert_int_equal(n, 4);
    khal_timestamps_release(timestamps);
    khal_readback_release(readback);
}

/* Ever new buffers in the same commands: those that are no longer used are let go. */
static void replaced_buffers_are_let_go(void** state)
{
    (void)state;
    khal_pass* pass = begin(NULL);
    OK(add_with(pass, bytes(a, 0, 64), 0, NULL));
    OK(khal_pass_end(pass));
    khal_commands* commands = finish();
    uint64_t most = 0;
    for (int i = 0; i < 1000; ++i) {
        khal_buffer* fresh = make_buffer(device, 64);
        OK(khal_commands_set_slice(commands, 0, 0, khal_slice_all(fresh)));
        OK(khal_commands_submit(commands, NULL));
        khal_buffer_release(fresh);
        if (statistics(device).buffer_count > most)
            most = statistics(device).buffer_count;
    }
    assert_true(most < 50);
    khal_commands_release(commands);
    OK(khal_device_wait(device, KHAL_FOREVER));
    assert_int_equal(statistics(device).buffer_count, 2);
}

/* What the last submission brought for a backend that keeps finished commands. */
static struct {
    khal__replay* replay;
    uint64_t version;
    const khal__command* commands;
    const void* read_into;
} brought;

static void observe_replay(void* user, const khal__submission* submission)
{
    (void)user;
    brought.replay = submission->replay;
    brought.version = submission->version;
    brought.commands = submission->commands;
    brought.read_into = NULL;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next)
        if (c->kind == KHAL__COMMAND_READ)
            brought.read_into = c->u.read.out;
}

static void a_replay_tells_what_has_changed(void** state)
{
    (void)state;
    noop_control* control = noop_control_of(device);
    control->observe = observe_replay;
    khal_pass* pass = begin(NULL);
    OK(add_with(pass, bytes(a, 0, 64), 1, NULL));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    assert_null(brought.replay);
    assert_int_equal(brought.version, 0);

    pass = begin(NULL);
    OK(add_with(pass, bytes(a, 0, 64), 1, NULL));
    OK(khal_pass_end(pass));
    khal_commands* commands = finish();
    OK(khal_commands_submit(commands, NULL));
    khal__replay* const replay = brought.replay;
    uint64_t version = brought.version;
    const khal__command* list = brought.commands;
    assert_non_null(replay);
    assert_true(version > 0);
    for (int i = 0; i < 3; ++i) {
        OK(khal_commands_submit(commands, NULL));
        assert_ptr_equal(brought.replay, replay);
        assert_int_equal(brought.version, version);
        assert_ptr_equal(brought.commands, list);
    }
    assert_int_equal(atomic_load(&control->replays_made), 1);
    assert_int_equal(atomic_load(&control->replays_reused), 3);

    const uint32_t two = 2;
    OK(khal_commands_set_push_constants(commands, 0, 0, &two, 4));
    OK(khal_commands_set_slice(commands, 0, 0, bytes(b, 0, 64)));
    OK(khal_commands_submit(commands, NULL));
    assert_ptr_equal(brought.replay, replay);
    assert_true(brought.version > version);
    version = brought.version;
    OK(khal_commands_submit(commands, NULL));
    assert_int_equal(brought.version, version);
    assert_int_equal(atomic_load(&control->replays_updated), 1);

    /* A refused value changes nothing; nor does a submit that fails. */
    FAILS(DISPATCH_INDEX, khal_commands_set_push_constants(commands, 0, 4, &two, 1));
    atomic_store(&control->fail[NOOP_SUBMIT], 1);
    FAILS(DRIVER, khal_commands_submit(commands, NULL));
    OK(khal_commands_submit(commands, NULL));
    assert_ptr_equal(brought.replay, replay);
    assert_int_equal(brought.version, version);

    /* Other commands have a replay of their own. */
    pass = begin(NULL);
    OK(add_with(pass, bytes(a, 0, 64), 1, NULL));
    OK(khal_pass_end(pass));
    khal_commands* others = finish();
    OK(khal_commands_submit(others, NULL));
    assert_ptr_not_equal(brought.replay, replay);
    assert_int_equal(atomic_load(&control->replays_made), 2);
    khal_commands_release(others);
    assert_int_equal(atomic_load(&control->replays_destroyed), 1);

    /* The commands may go before their work is done. */
    noop_hold(device, 0);
    khal_ticket ticket;
    OK(khal_commands_submit(commands, &ticket));
    khal_commands_release(commands);
    assert_int_equal(atomic_load(&control->replays_destroyed), 2);
    assert_int_equal(khal_ticket_poll(device, ticket), KHAL_NOT_READY);
    noop_hold(device, UINT64_MAX);
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
}

/* Where results go is part of what a version stands for. */
static void results_raise_the_version(void** state)
{
    (void)state;
    noop_control_of(device)->observe = observe_replay;
    khal_readback* readback;
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 64, .slot_count = 2}, &readback));
    OK(khal_readback_request_copy(readback, encoder, (khal_slice[]){bytes(a, 0, 8)}, 1));
    khal_commands* commands = finish();
    uint64_t last = 0;
    for (int round = 0; round < 4; ++round) {
        /* At once, and while the one before still runs: two places in turn, or a recording more. */
        noop_hold(device, round < 2 ? UINT64_MAX : 0);
        OK(khal_commands_submit(commands, NULL));
        assert_true(brought.version > last);
        assert_non_null(brought.read_into);
        last = brought.version;
        if (round == 1) {
            char out[8];
            OK(khal_readback_try_take(readback, out, 8));
            OK(khal_readback_try_take(readback, out, 8));
        }
    }
    noop_hold(device, UINT64_MAX);
    khal_commands_release(commands);
    khal_readback_release(readback);

    khal_timestamps* timestamps;
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 8}, &timestamps));
    khal_pass* pass;
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = timestamps}, &pass));
    OK(add_with(pass, bytes(a, 0, 64), 1, NULL));
    OK(khal_pass_end(pass));
    commands = finish();
    last = 0;
    noop_hold(device, 0);
    for (int round = 0; round < 3; ++round) {
        OK(khal_commands_submit(commands, NULL));
        assert_true(brought.version > last);
        last = brought.version;
    }
    noop_hold(device, UINT64_MAX);
    OK(khal_device_wait(device, KHAL_FOREVER));
    khal_commands_release(commands);
    khal_timestamps_release(timestamps);
}

/* Commands go the same way when they never ran, and when the device is lost. */
static void replays_of_a_lost_device_are_destroyed(void** state)
{
    (void)state;
    khal_device* d = open_noop();
    khal_encoder* e = make_encoder(d);
    khal_function* f = make_function(d, "none");
    khal_commands* commands[2];
    for (int i = 0; i < 2; ++i) {
        khal_pass* pass;
        OK(khal_pass_begin(e, NULL, &pass));
        OK(dispatch(pass, f, 0, NULL));
        OK(khal_pass_end(pass));
        OK(khal_encoder_finish(e, &commands[i]));
    }
    OK(khal_commands_submit(commands[0], NULL));
    noop_lose(d, "gone");
    FAILS(DEVICE_LOST, khal_commands_submit(commands[0], NULL));
    FAILS(DEVICE_LOST, khal_commands_submit(commands[1], NULL));
    assert_int_equal(atomic_load(&noop_control_of(d)->replays_destroyed), 0);
    khal_commands_release(commands[0]);
    khal_commands_release(commands[1]);
    assert_int_equal(atomic_load(&noop_control_of(d)->replays_made), 1);
    assert_int_equal(atomic_load(&noop_control_of(d)->replays_destroyed), 1);
    khal_function_release(f);
    khal_encoder_release(e);
    khal_device_release(d);
}

/* ---- allocation --------------------------------------------------------------------------------
 */

static void frame(khal_device* d, khal_buffer* x, khal_function* f, khal_timestamps* t,
                  khal_readback* r, khal_commands* commands, uint32_t value)
{
    khal_pass* pass;
    khal_ticket ticket;
    khal_timestamp entries[4];
    uint32_t n;
    char out[64];
    khal_encoder* e = make_encoder(d);
    OK(khal_encoder_fill(e, bytes(x, 0, 64), &value, 4));
    for (int p = 0; p < 3; ++p) {
        OK(khal_pass_begin(
            e, &(khal_pass_desc){.label = "a pass", .timestamps = t, .manual_barriers = p == 1},
            &pass));
        for (uint64_t i = 0; i < 40; ++i)
            OK(dispatch(pass, f, 1, &(khal_slice){x, i * 128, 64, 4}));
        OK(khal_pass_end(pass));
    }
    OK(khal_readback_request_copy(r, e, (khal_slice[]){bytes(x, 0, 32)}, 1));
    OK(khal_submit(e, &ticket));
    OK(khal_readback_request(r, (khal_slice[]){bytes(x, 32, 64)}, 1));
    OK(khal_commands_set_push_constants(commands, 0, 0, &value, 4));
    OK(khal_commands_submit(commands, NULL));
    OK(khal_commands_submit(commands, NULL));
    OK(khal_ticket_wait(d, ticket, KHAL_FOREVER));
    OK(khal_readback_try_take(r, out, 32));
    OK(khal_readback_try_take(r, out, 64));
    OK(khal_timestamps_read(t, 4, entries, &n, NULL, KHAL_FOREVER));
    assert_int_equal(n, 3);
    OK(khal_buffer_write(x, 0, out, 64));
    OK(khal_buffer_read(x, 0, out, 64, KHAL_FOREVER));
    khal_encoder_release(e);
}

static void a_shape_seen_before_allocates_nothing(void** state)
{
    (void)state;
    counted c = {.remaining = -1};
    khal_device* d = open_noop_with((khal_device_desc){.allocator = COUNTED(c)});
    khal_buffer* x = make_buffer(d, 1 << 16);
    khal_function *f = make_function(d, "write"), *g = make_function(d, "add");
    khal_timestamps* t;
    khal_readback* r;
    khal_commands* commands;
    khal_pass* pass;
    const uint32_t push = 1;
    OK(khal_timestamps_create(d, &(khal_timestamps_desc){.capacity = 8}, &t));
    OK(khal_readback_create(d, &(khal_readback_desc){.capacity_count = 64, .slot_count = 2}, &r));
    khal_encoder* e = make_encoder(d);
    OK(khal_pass_begin(e, NULL, &pass));
    const khal_slice slices[2] = {khal_slice_all(x), khal_slice_all(x)};
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = g,
                                                .grid = khal_threads(4, 1, 1),
                                                .bindings = slices,
                                                .binding_count = 2,
                                                .push_constants = &push,
                                                .push_constant_size = 4},
                          NULL));
    OK(khal_pass_end(pass));
    OK(khal_encoder_finish(e, &commands));
    frame(d, x, f, t, r, commands, 0);
    frame(d, x, f, t, r, commands,
          1); /* here the commands have an earlier run to replace, from here on all is the same */
    const unsigned long long before = atomic_load(&c.total);
    assert_int_equal(statistics(d).host_allocations, before);
    for (uint32_t i = 0; i < 50; ++i)
        frame(d, x, f, t, r, commands, i);
    assert_int_equal(atomic_load(&c.total), before);
    assert_int_equal(statistics(d).host_allocations, before);
    khal_encoder_release(e);
    khal_commands_release(commands);
    khal_timestamps_release(t);
    khal_readback_release(r);
    khal_function_release(f);
    khal_function_release(g);
    khal_buffer_release(x);
    khal_device_release(d);
    assert_int_equal(atomic_load(&c.alive), 0);
}

/* ---- callbacks ---------------------------------------------------------------------------------
 */

static khal_device* called_device;
static unsigned calls;

/* Uses the device in every way that takes a lock. */
static void call_back(void* user, const khal_error* error)
{
    (void)user;
    ++calls;
    if (calls > 100 || called_device == NULL)
        return;
    khal_device* d = called_device;
    called_device = NULL; /* not again for what fails in here */
    khal_buffer* buffer = make_buffer(d, 16);
    khal_module* module = load_front(d);
    khal_encoder* e = make_encoder(d);
    const uint8_t pattern = 0;
    OK(khal_encoder_fill(e, bytes(buffer, 0, 16), &pattern, 1));
    khal_ticket ticket;
    OK(khal_submit(e, &ticket));
    OK(khal_ticket_wait(d, ticket, KHAL_FOREVER));
    FAILS(BUFFER_RANGE, khal_buffer_read(buffer, 17, NULL, 0, 0));
    khal_encoder_release(e);
    khal_module_release(module);
    khal_buffer_release(buffer);
    called_device = d;
    assert_true(error->id != KHAL_ERROR_NONE);
}

static void callbacks_run_without_locks(void** state)
{
    (void)state;
    khal_device* d = open_noop_with((khal_device_desc){.diagnostic = call_back});
    khal_buffer* buffer = make_buffer(d, 16);
    khal_encoder* e = make_encoder(d);
    khal_module* module;
    khal_function* f;
    noop_control* control = noop_control_of(d);
    khal_ticket ticket;
    called_device = d;
    calls = 0;
    atomic_store(&control->fail[NOOP_SUBMIT], 1);
    FAILS(DRIVER, khal_submit(e, NULL)); /* and the record is still that of this call */
    assert_int_equal(calls, 2);
    atomic_store(&control->fail[NOOP_MODULE_POLL], 1);
    FAILS(MODULE_COMPILE,
          khal_module_load(d, &(khal_module_desc){.code = "@compute fn f", .code_size = 13},
                           &module));
    module = load_front(d);
    atomic_store(&control->fail[NOOP_FUNCTION_CREATE], 1);
    FAILS(FUNCTION_COMPILE,
          khal_function_create(module, &(khal_function_desc){.entry_point = "add"}, &f));
    atomic_store(&control->fail_execution, true);
    OK(khal_submit(e, &ticket));
    atomic_store(&control->fail_execution, false);
    assert_int_equal(khal_ticket_wait(d, ticket, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    FAILS(BUFFER_RANGE, khal_buffer_read(buffer, 17, NULL, 0, 0));
    assert_true(calls >= 8);
    called_device = NULL;
    noop_lose(d, "gone");
    khal_module_release(module);
    khal_encoder_release(e);
    khal_buffer_release(buffer);
    khal_device_release(d);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_error_sticks),
        TEST(an_error_inside_a_pass_ends_it_all),
        TEST(only_that_encoder_is_spoilt),
        TEST(finish_returns_the_error_too),
        TEST(an_encoder_without_submit_has_no_effect),
        TEST(a_submit_leaves_the_encoder_empty),
        TEST(dispatches_are_numbered),
        TEST(inputs_are_borrowed_for_the_call),
        TEST(typed_slices_resolve),
        TEST(large_recordings),
        TEST(push_constants_as_large_as_the_device_takes),
        TEST(commands_run_again),
        TEST(replaced_values_hold_from_the_next_submit),
        TEST(earlier_submissions_keep_their_values),
        TEST(no_operation_can_be_given_slices),
        TEST(everything_is_recorded_again),
        TEST(replaced_buffers_are_let_go),
        TEST(a_replay_tells_what_has_changed),
        TEST(results_raise_the_version),
        TEST(replays_of_a_lost_device_are_destroyed),
        TEST(a_shape_seen_before_allocates_nothing),
        TEST(callbacks_run_without_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
