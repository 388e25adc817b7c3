/* Who keeps whom: releases in every order, at any time, and memory that runs out at every place. */
#include "front.h"

#include "platform/platform.h"

/* ---- releases in every order -------------------------------------------------------------------
 */

enum {
    O_DEVICE,
    O_BUFFER,
    O_MODULE,
    O_FUNCTION,
    O_ENCODER,
    O_COMMANDS,
    O_TIMESTAMPS,
    O_READBACK,
    OBJECT_COUNT
};

typedef struct world {
    counted memory;
    khal_allocator allocator;
    khal_device* device;
    khal_buffer* buffer;
    khal_module* module;
    khal_function* function;
    khal_encoder* encoder;
    khal_commands* commands;
    khal_timestamps* timestamps;
    khal_readback* readback;
} world;

static void record(world* w)
{
    khal_pass* pass;
    const uint32_t pattern = 0;
    OK(khal_encoder_fill(w->encoder, bytes(w->buffer, 0, 64), &pattern, 4));
    OK(khal_pass_begin(w->encoder, &(khal_pass_desc){.label = "pass", .timestamps = w->timestamps},
                       &pass));
    OK(dispatch(pass, w->function, 1, &(khal_slice){w->buffer, 0, 64, 4}));
    OK(khal_pass_end(pass));
    OK(khal_readback_request_copy(w->readback, w->encoder, (khal_slice[]){bytes(w->buffer, 0, 16)},
                                  1));
}

static void make_world(world* w, bool debug)
{
    memset(w, 0, sizeof *w);
    w->memory.remaining = -1;
    w->allocator = *COUNTED(w->memory);
    w->device = open_noop_with((khal_device_desc){.allocator = &w->allocator, .debug = debug});
    w->buffer = make_buffer(w->device, 64);
    w->module = load_front(w->device);
    OK(khal_function_create(w->module, &(khal_function_desc){.entry_point = "write"},
                            &w->function));
    w->encoder = make_encoder(w->device);
    OK(khal_timestamps_create(w->device, &(khal_timestamps_desc){.capacity = 4}, &w->timestamps));
    OK(khal_readback_create(w->device, &(khal_readback_desc){.capacity_count = 16, .slot_count = 4},
                            &w->readback));
    record(w);
    OK(khal_encoder_finish(w->encoder, &w->commands));
    OK(khal_commands_submit(w->commands, NULL));
    record(w);
    OK(khal_submit(w->encoder, NULL));
    record(w); /* and something never submitted */
}

static void release(world* w, int object)
{
    switch (object) {
    case O_DEVICE: khal_device_release(w->device); break;
    case O_BUFFER: khal_buffer_release(w->buffer); break;
    case O_MODULE: khal_module_release(w->module); break;
    case O_FUNCTION: khal_function_release(w->function); break;
    case O_ENCODER: khal_encoder_release(w->encoder); break;
    case O_COMMANDS: khal_commands_release(w->commands); break;
    case O_TIMESTAMPS: khal_timestamps_release(w->timestamps); break;
    case O_READBACK: khal_readback_release(w->readback); break;
    default: fail();
    }
}

static void permute(int* order, int from, unsigned long* count)
{
    if (from == OBJECT_COUNT) {
        world w;
        make_world(&w, false);
        for (int i = 0; i < OBJECT_COUNT; ++i)
            release(&w, order[i]);
        assert_int_equal(atomic_load(&w.memory.alive), 0);
        assert_int_equal(atomic_load(&w.memory.bytes), 0);
        ++*count;
        return;
    }
    for (int i = from; i < OBJECT_COUNT; ++i) {
        int swap = order[from];
        order[from] = order[i];
        order[i] = swap;
        permute(order, from + 1, count);
        swap = order[from];
        order[from] = order[i];
        order[i] = swap;
    }
}

static void every_order_of_releases(void** state)
{
    (void)state;
    int order[OBJECT_COUNT];
    for (int i = 0; i < OBJECT_COUNT; ++i)
        order[i] = i;
    unsigned long count = 0;
    permute(order, 0, &count);
    assert_int_equal(count, 40320);
}

static void releases_of_nothing(void** state)
{
    (void)state;
    world w = {0};
    for (int i = 0; i < OBJECT_COUNT; ++i)
        release(&w, i);
    khal_device_open_cancel(NULL);
    khal_readback_cancel(NULL);
    khal_encoder_reset(NULL);
    khal_buffer_retain(NULL);
    khal_device_retain(NULL);
    assert_null(khal_buffer_get_device(NULL));
    assert_int_equal(khal_buffer_get_size(NULL), 0);
    assert_int_equal(khal_buffer_get_element_size(NULL), 0);
    assert_int_equal(khal_buffer_get_usage(NULL), 0);
    assert_string_equal(khal_buffer_get_label(NULL), "");
    assert_null(khal_device_get_info(NULL));
    assert_int_equal(khal_module_get_kernel_count(NULL), 0);
    assert_null(khal_module_get_kernel_name(NULL, 0));
    assert_null(khal_function_get_info(NULL));
    assert_int_equal(khal_commands_get_dispatch_count(NULL), 0);
    assert_int_equal(khal_pass_get_dispatch_count(NULL), 0);
    assert_true(khal_timestamps_is_idle(NULL));
    assert_false(khal_timestamps_is_enabled(NULL));
    assert_true(khal_readback_is_idle(NULL));
    assert_int_equal(khal_readback_get_capacity(NULL), 0);
}

static void each_reference_counts(void** state)
{
    (void)state;
    world w;
    make_world(&w, false);
    khal_device_retain(w.device);
    khal_buffer_retain(w.buffer);
    khal_module_retain(w.module);
    khal_function_retain(w.function);
    khal_commands_retain(w.commands);
    khal_timestamps_retain(w.timestamps);
    khal_readback_retain(w.readback);
    for (int i = 0; i < OBJECT_COUNT; ++i)
        release(&w, i);
    assert_int_equal(statistics(w.device).live_objects, 6);
    OK(khal_commands_submit(w.commands, NULL));
    for (int i = 0; i < OBJECT_COUNT; ++i)
        if (i != O_ENCODER)
            release(&w, i);
    assert_int_equal(atomic_load(&w.memory.alive), 0);
}

/* ---- what submitted work keeps -----------------------------------------------------------------
 */

static void work_under_way_keeps_what_it_uses(void** state)
{
    (void)state;
    world w;
    make_world(&w, false);
    khal_encoder_reset(w.encoder);
    OK(khal_device_wait(w.device, KHAL_FOREVER));
    khal_commands_release(w.commands);
    khal_readback_cancel(w.readback);
    noop_hold(w.device, 2);
    record(&w);
    OK(khal_submit(w.encoder, NULL));
    khal_buffer_release(w.buffer);
    khal_function_release(w.function);
    khal_module_release(w.module);
    khal_timestamps_release(w.timestamps);
    khal_readback_release(w.readback);
    assert_int_equal(statistics(w.device).live_objects, 6);
    assert_int_equal(statistics(w.device).buffer_count, 1);
    noop_hold(w.device, UINT64_MAX);
    OK(khal_ticket_poll(w.device, 3)); /* the next call that looks lets it go */
    assert_int_equal(statistics(w.device).live_objects, 1);
    assert_int_equal(statistics(w.device).buffer_count, 0);
    assert_int_equal(statistics(w.device).buffer_size, 0);
    khal_encoder_release(w.encoder);
    khal_device_release(w.device);
    assert_int_equal(atomic_load(&w.memory.alive), 0);
}

static void let_go_later(void* user)
{
    khal_device* device = user;
    const uint64_t begin = khal__clock_now();
    while (khal__clock_now() - begin < 20000000)
        khal__thread_yield();
    noop_hold(device, UINT64_MAX);
}

static void closing_waits_for_work(void** state)
{
    (void)state;
    world w;
    make_world(&w, false);
    khal__thread thread;
    noop_hold(w.device, 2);
    OK(khal_commands_submit(w.commands, NULL));
    const uint64_t begin = khal__clock_now();
    assert_true(khal__thread_start(&thread, let_go_later, w.device, "let go"));
    for (int i = OBJECT_COUNT - 1; i > 0; --i)
        release(&w, i);
    /* The device's own reference is the last, and its thread still uses it until work is let go. */
    khal__thread_join(&thread);
    release(&w, O_DEVICE);
    assert_true(khal__clock_now() - begin >= 20000000);
    assert_int_equal(atomic_load(&w.memory.alive), 0);
}

static void a_lost_device_closes(void** state)
{
    (void)state;
    world w;
    make_world(&w, false);
    noop_hold(w.device, 2);
    OK(khal_commands_submit(w.commands, NULL));
    noop_lose(w.device, "gone");
    for (int i = 0; i < OBJECT_COUNT; ++i)
        release(&w, i);
    assert_int_equal(atomic_load(&w.memory.alive), 0);
}

static void a_mapped_buffer_is_unmapped(void** state)
{
    (void)state;
    counted c = {.remaining = -1};
    void* memory;
    khal_device* device = open_noop_with((khal_device_desc){.allocator = COUNTED(c)});
    khal_buffer* buffer = make_buffer(device, 64);
    OK(khal_buffer_map(buffer, 0, 64, KHAL_MAP_READ, 0, &memory));
    khal_buffer_release(buffer);
    khal_device_release(device);
    assert_int_equal(atomic_load(&c.alive), 0);
}

static khal_device* at_exit_device;
static khal_buffer* at_exit_buffer;
static void release_at_exit(void)
{
    khal_device_release(at_exit_device);
    khal_buffer_release(at_exit_buffer);
}

static void releasing_at_exit(void** state)
{
    (void)state;
    at_exit_device = open_noop();
    at_exit_buffer = make_buffer(at_exit_device, 16);
    assert_int_equal(atexit(release_at_exit), 0);
}

/* ---- leaks -------------------------------------------------------------------------------------
 */

typedef struct reports {
    unsigned count;
    char text[16][256];
} reports;

static void note(void* user, const khal_error* error)
{
    reports* r = user;
    assert_int_equal(error->id, KHAL_ERROR_LEAK);
    if (r->count < 16)
        snprintf(r->text[r->count], sizeof r->text[0], "%.180s|%.60s", error->message,
                 error->object);
    ++r->count;
}

static void leaks_are_reported_where_they_were_made(void** state)
{
    (void)state;
    reports r = {0};
    khal_buffer *first, *second;
    khal_encoder* encoder;
    khal_device* device = open_noop_with(
        (khal_device_desc){.debug = true, .diagnostic = note, .diagnostic_user = &r});
    khal_function* function = make_function(device, "write");
    const int above = __LINE__;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 4, .label = "first"}, &first));
    OK(khal_buffer_create_at("elsewhere.c", 123, device, &(khal_buffer_desc){.size = 4}, &second));
    OK(khal_encoder_create(device, NULL, &encoder));
    khal_encoder_release(encoder);
    khal_device_release(device);
    /* The module is the function's alone by now, so it is none of the program's. */
    assert_int_equal(r.count, 3);
    char expected[256];
    snprintf(expected, sizeof expected, "buffer \"first\" made at %s:%d is still alive|first",
             __FILE__, above + 1);
    assert_non_null(strstr(r.text[0], "function \"write\" made at "));
    assert_string_equal(r.text[1], expected);
    assert_string_equal(r.text[2], "buffer \"\" made at elsewhere.c:123 is still alive|");
    khal_buffer_release(first);
    khal_buffer_release(second);
    khal_function_release(function);
}

static void nothing_is_reported_without_leaks(void** state)
{
    (void)state;
    reports r = {0};
    khal_device* device = open_noop_with(
        (khal_device_desc){.debug = true, .diagnostic = note, .diagnostic_user = &r});
    khal_buffer* buffer = make_buffer(device, 4);
    khal_encoder* encoder = make_encoder(device);
    const uint8_t pattern = 0;
    noop_hold(device, 0);
    OK(khal_encoder_fill(encoder, bytes(buffer, 0, 4), &pattern, 1));
    OK(khal_submit(encoder, NULL));
    khal_buffer_release(buffer); /* kept by work, which is no leak */
    khal_encoder_release(encoder);
    noop_hold(device, UINT64_MAX);
    khal_device_release(device);
    assert_int_equal(r.count, 0);
}

/* ---- memory that runs out ----------------------------------------------------------------------
 */

static khal_status first_failure;
static char first_message[200];
static bool note_failure(khal_status status)
{
    if (status != KHAL_OK && first_failure == KHAL_OK) {
        first_failure = status;
        memcpy(first_message, khal_error_get()->message, sizeof first_message);
    }
    return status == KHAL_OK;
}

/* Goes as far as memory lets it; each failing call must leave nothing behind. */
static void whole_program(counted* c)
{
    static const char wgsl[] = "@compute @workgroup_size(4) fn main() {}";
    khal_device_opening* opening = NULL;
    khal_device* device = NULL;
    khal_buffer *a = NULL, *b = NULL;
    khal_module *module = NULL, *foreign = NULL;
    khal_function *function = NULL, *foreign_function = NULL;
    khal_encoder* encoder = NULL;
    khal_commands* commands = NULL;
    khal_timestamps* timestamps = NULL;
    khal_readback* readback = NULL;
    khal_pass* pass;
    void* memory;
    char out[64];
    if (note_failure(khal_device_open_begin(
            &(khal_device_desc){.backend = KHAL_BACKEND_NOOP, .allocator = COUNTED(*c)},
            &opening)) &&
        note_failure(khal_device_open_poll(opening, &device)) &&
        note_failure(
            khal_buffer_create(device, &(khal_buffer_desc){.size = 4096, .usage = 0xff}, &a)) &&
        note_failure(
            khal_buffer_create(device, &(khal_buffer_desc){.size = 4096, .usage = 0xff}, &b)) &&
        note_failure(
            khal_module_load(device, &(khal_module_desc){.library = &front_library}, &module)) &&
        note_failure(khal_module_load(
            device, &(khal_module_desc){.code = wgsl, .code_size = sizeof wgsl}, &foreign)) &&
        note_failure(khal_function_create(module, &(khal_function_desc){.entry_point = "write"},
                                          &function)) &&
        note_failure(khal_function_create(
            foreign, &(khal_function_desc){.bindings = &(khal_binding_desc){0}, .binding_count = 1},
            &foreign_function)) &&
        note_failure(khal_encoder_create(device, NULL, &encoder)) &&
        note_failure(
            khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 4}, &timestamps)) &&
        note_failure(khal_readback_create(
            device, &(khal_readback_desc){.capacity_count = 64, .slot_count = 2}, &readback)) &&
        note_failure(khal_buffer_map(a, 0, 64, KHAL_MAP_READ, 0, &memory)) &&
        note_failure(khal_buffer_unmap(a)) &&
        note_failure(khal_copy_between(bytes(a, 0, 64), bytes(b, 0, 64), 0))) {
        khal_pass_begin(encoder, &(khal_pass_desc){.label = "pass", .timestamps = timestamps},
                        &pass);
        for (uint64_t i = 0; i < 100; ++i) /* with holes, so that sets of ranges grow */
            dispatch(pass, i % 2 == 0 ? function : foreign_function, 1,
                     &(khal_slice){a, i * 32, 16, 4});
        khal_pass_end(pass);
        khal_readback_request_copy(readback, encoder, (khal_slice[]){bytes(a, 0, 64)}, 1);
        const khal_status finished = khal_encoder_finish(encoder, &commands);
        note_failure(finished);
        if (finished == KHAL_OK) {
            note_failure(khal_commands_submit(commands, NULL));
            note_failure(khal_commands_set_slice(commands, 3, 0, bytes(b, 0, 64)));
            note_failure(khal_commands_submit(commands, NULL));
        }
        khal_readback_cancel(readback);
        khal_encoder_copy(encoder, bytes(a, 0, 64), bytes(b, 0, 64));
        note_failure(khal_submit(encoder, NULL));
        note_failure(khal_readback_request(readback, (khal_slice[]){bytes(a, 0, 64)}, 1));
        note_failure(khal_device_wait(device, KHAL_FOREVER));
        const khal_status taken = khal_readback_try_take(readback, out, 64);
        note_failure(taken == KHAL_NOTHING_REQUESTED ? KHAL_OK : taken);
    }
    khal_readback_release(readback);
    khal_timestamps_release(timestamps);
    khal_commands_release(commands);
    khal_encoder_release(encoder);
    khal_function_release(function);
    khal_function_release(foreign_function);
    khal_module_release(module);
    khal_module_release(foreign);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_device_release(device);
}

static void memory_runs_out_at_every_place(void** state)
{
    (void)state;
    int n = 0;
    unsigned failures = 0;
    for (;; ++n) {
        counted c = {.remaining = n};
        first_failure = KHAL_OK;
        whole_program(&c);
        if (atomic_load(&c.alive) != 0)
            fail_msg("%d blocks are left when allocation %d fails", atomic_load(&c.alive), n);
        if (first_failure == KHAL_OK && atomic_load(&c.remaining) >= 0)
            break; /* there was more than it needs */
        if (first_failure != KHAL_OK) {
            if (first_failure != KHAL_OUT_OF_MEMORY)
                fail_msg("%s when allocation %d fails: %s", khal_status_name(first_failure), n,
                         first_message);
            ++failures;
        }
    }
    assert_true(n > 25);
    assert_true(failures > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_releases),
        cmocka_unit_test(releases_of_nothing),
        cmocka_unit_test(each_reference_counts),
        cmocka_unit_test(work_under_way_keeps_what_it_uses),
        cmocka_unit_test(closing_waits_for_work),
        cmocka_unit_test(a_lost_device_closes),
        cmocka_unit_test(a_mapped_buffer_is_unmapped),
        cmocka_unit_test(releasing_at_exit),
        cmocka_unit_test(leaks_are_reported_where_they_were_made),
        cmocka_unit_test(nothing_is_reported_without_leaks),
        cmocka_unit_test(memory_runs_out_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
