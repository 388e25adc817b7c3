/* Recording: checks of dispatches, grids, indirect grids, aliasing, hazards, barriers by hand, reuse, native callbacks. */
#include "../cts.h"

#include "barriers.khal.h"
#include "workitem.khal.h"

#include <stdio.h>
#include <string.h>

#define LIBRARY .library = &workitem_library

/* ---- what a dispatch is checked for --------------------------------------------------------------- */

/* Records one wrong dispatch: it fails with `id`, so does the submit, and nothing runs. */
static void wrong(cts* t, khal_encoder* encoder, const khal_dispatch_desc* desc, khal_error_id id, const char* what)
{
    khal_pass* pass = NULL;
    if (!CTS_OK(t, khal_pass_begin(encoder, NULL, &pass))) return;
    cts_check_status(t, khal_pass_dispatch(pass, desc, NULL), cts_status_of(id), id, what, __FILE__, __LINE__);
    /* sticky: later calls return the same and do nothing */
    CTS_STATUS(t, khal_pass_dispatch(pass, desc, NULL), cts_status_of(id));
    CTS_STATUS(t, khal_pass_end(pass), cts_status_of(id));
    khal_ticket ticket = 0;
    cts_check_status(t, khal_submit(encoder, &ticket), cts_status_of(id), id, what, __FILE__, __LINE__);
}

static void wrong_dispatches(cts* t)
{
    khal_function *add = cts_function(t, &workitem_library, "add"), *copy = cts_function(t, &workitem_library, "copy");
    khal_function *fixed = cts_function(t, &workitem_library, "fixed_size"), *local = cts_function(t, &workitem_library, "needs_local");
    khal_function* structs = cts_function(t, &workitem_library, "packed_structs"); /* of 7 bytes */
    khal_buffer *a = cts_buffer_of(t, NULL, 64, 4), *b = cts_buffer_of(t, NULL, 64, 4), *tiny = cts_buffer_of(t, NULL, 3, 1);
    khal_buffer *odd = cts_buffer_of(t, NULL, 62, 1), *no_storage = cts_buffer(t, .size = 64, .usage = KHAL_USAGE_COPY_DST);
    khal_buffer* counts = cts_buffer(t, .size = 32, .usage = KHAL_USAGE_INDIRECT | KHAL_USAGE_COPY_DST);
    khal_encoder* encoder = cts_encoder(t);
    if (structs == NULL || encoder == NULL || counts == NULL) return;
    const khal_slice two[2] = {khal_slice_all(a), khal_slice_all(b)}, none = {0}, beyond = {a, 60, 8, 4}, small = khal_slice_all(tiny);
    const khal_slice not_whole = khal_slice_all(odd), misaligned = {a, 2, 16, 0}, not_bindable = khal_slice_all(no_storage);
    const khal_slice two_structs[2] = {{a, 0, 48, 1}, khal_slice_all(b)};
    const uint32_t n = 1;
    const uint64_t bytes = 64, too_many = 1ull << 40, zero = 0;
    const khal_grid one = khal_threads(4, 1, 1);
#define WRONG(id, ...) wrong(t, encoder, &(khal_dispatch_desc){__VA_ARGS__}, KHAL_ERROR_##id, #id)
    WRONG(ARGUMENT_NULL, .function = NULL, .grid = one);
    WRONG(BINDING_COUNT, .function = copy, .grid = one, .bindings = two, .binding_count = 1);
    WRONG(BINDING_COUNT, .function = add, .grid = one, .bindings = two, .binding_count = 2, .push_constants = &n, .push_constant_size = 4);
    WRONG(PUSH_CONSTANT_SIZE, .function = add, .grid = one, .bindings = two, .binding_count = 1);
    WRONG(PUSH_CONSTANT_SIZE, .function = add, .grid = one, .bindings = two, .binding_count = 1, .push_constants = two, .push_constant_size = 8);
    WRONG(PUSH_CONSTANT_SIZE, .function = copy, .grid = one, .bindings = two, .binding_count = 2, .push_constants = &n, .push_constant_size = 4);
    WRONG(SLICE_NULL, .function = add, .grid = one, .bindings = &none, .binding_count = 1, .push_constants = &n, .push_constant_size = 4);
    WRONG(SLICE_RANGE, .function = add, .grid = one, .bindings = &beyond, .binding_count = 1, .push_constants = &n, .push_constant_size = 4);
    WRONG(BINDING_TOO_SMALL, .function = add, .grid = one, .bindings = &small, .binding_count = 1, .push_constants = &n, .push_constant_size = 4);
    WRONG(BINDING_ELEMENT_SIZE, .function = add, .grid = one, .bindings = &not_whole, .binding_count = 1, .push_constants = &n, .push_constant_size = 4);
    WRONG(BINDING_ELEMENT_SIZE, .function = structs, .grid = one, .bindings = two_structs, .binding_count = 2);
    WRONG(BUFFER_USAGE, .function = add, .grid = one, .bindings = &not_bindable, .binding_count = 1, .push_constants = &n, .push_constant_size = 4);
    WRONG(LOCAL_COUNT, .function = local, .grid = one, .bindings = two, .binding_count = 1);
    WRONG(LOCAL_COUNT, .function = copy, .grid = one, .bindings = two, .binding_count = 2, .local_sizes = &bytes, .local_count = 1);
    WRONG(LOCAL_SIZE, .function = local, .grid = one, .bindings = two, .binding_count = 1, .local_sizes = &too_many, .local_count = 1);
    WRONG(LOCAL_SIZE, .function = local, .grid = one, .bindings = two, .binding_count = 1, .local_sizes = &zero, .local_count = 1);
    WRONG(WORKGROUP_SIZE, .function = fixed, .grid = khal_grid_with_workgroup(khal_groups(1, 1, 1), 8, 8, 1), .bindings = two, .binding_count = 1);
    WRONG(WORKGROUP_LIMIT, .function = copy, .grid = khal_grid_with_workgroup(khal_groups(1, 1, 1), 1u << 20, 1, 1), .bindings = two, .binding_count = 2);
    WRONG(GRID, .function = copy, .grid = khal_groups(UINT64_MAX, UINT64_MAX, 1), .bindings = two, .binding_count = 2);
    WRONG(GRID_INDIRECT, .function = copy, .grid = khal_indirect(counts, 2), .bindings = two, .binding_count = 2);
    WRONG(GRID_INDIRECT, .function = copy, .grid = khal_indirect(counts, 24), .bindings = two, .binding_count = 2);
    WRONG(BUFFER_USAGE, .function = copy, .grid = khal_indirect(a, 0), .bindings = two, .binding_count = 2);
#undef WRONG
    khal_pass* pass = cts_pass(t, encoder);
    const khal_status status = khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = add, .grid = one, .bindings = &misaligned, .binding_count = 1,
                                                                              .push_constants = &n, .push_constant_size = 4}, NULL);
    CTS_STATUS(t, status, KHAL_INVALID_ARGUMENT);
    CTS_CHECK(t, khal_error_get()->id == KHAL_ERROR_BINDING_ALIGNMENT || khal_error_get()->id == KHAL_ERROR_SLICE_ALIGNMENT);
    khal_encoder_reset(encoder);
    /* the encoder is usable again, and only the others were spoilt */
    pass = cts_pass(t, encoder);
    CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = add, .grid = one, .bindings = two, .binding_count = 1, .push_constants = &n,
                                                             .push_constant_size = 4}, NULL));
    CTS_OK(t, khal_pass_end(pass));
    cts_submit_and_wait(t, encoder);
    const uint32_t* words = cts_read_all(t, a);
    if (words != NULL) CTS_EQ(t, words[3], 1);
}

static void states(cts* t)
{
    khal_encoder* encoder = cts_encoder(t);
    khal_buffer *a = cts_buffer_of(t, NULL, 16, 4), *b = cts_buffer_of(t, NULL, 16, 4);
    khal_pass *pass = cts_pass(t, encoder), *second = NULL;
    if (pass == NULL) return;
    CTS_ERROR(t, khal_submit(encoder, NULL), KHAL_ERROR_ENCODER_STATE); /* a pass is open: everything stays */
    CTS_OK(t, khal_pass_end(pass));
    CTS_OK(t, khal_submit(encoder, NULL));
    pass = cts_pass(t, encoder);
    CTS_ERROR(t, khal_pass_begin(encoder, NULL, &second), KHAL_ERROR_ENCODER_STATE);
    khal_encoder_reset(encoder);
    pass = cts_pass(t, encoder);
    CTS_ERROR(t, khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)), KHAL_ERROR_ENCODER_STATE);
    khal_encoder_reset(encoder);
    pass = cts_pass(t, encoder);
    CTS_OK(t, khal_pass_end(pass));
    CTS_ERROR(t, khal_pass_end(pass), KHAL_ERROR_PASS_ENDED);
    khal_encoder_reset(encoder);
    khal_ticket ticket = 0, empty = 0;
    CTS_OK(t, khal_submit(encoder, &ticket)); /* an empty recording gets a ticket too */
    CTS_OK(t, khal_submit(encoder, &empty));
    CTS_EQ(t, empty, ticket + 1);
    CTS_OK(t, khal_ticket_wait(cts_device(t), empty, KHAL_FOREVER));
    CTS_OK(t, khal_ticket_poll(cts_device(t), ticket));
    CTS_OK(t, khal_ticket_poll(cts_device(t), 0));
    CTS_ERROR(t, khal_ticket_poll(cts_device(t), ticket + 1000), KHAL_ERROR_TICKET);
    CTS_ERROR(t, khal_ticket_wait(cts_device(t), UINT64_MAX, 0), KHAL_ERROR_TICKET);
}

/* What is recorded and not submitted has no effect at all. */
static void dropped_recordings(cts* t)
{
    const uint32_t start[4] = {1, 2, 3, 4}, n = 10;
    khal_buffer *a = cts_buffer_of(t, start, 16, 4), *b = cts_buffer_of(t, NULL, 16, 4);
    for (int way = 0; way < 3; way++) {
        khal_encoder* encoder = NULL;
        if (!CTS_OK(t, khal_encoder_create(cts_device(t), NULL, &encoder))) return;
        khal_pass* pass = cts_pass(t, encoder);
        cts_record(t, pass, LIBRARY, .kernel = "add", .grid = khal_threads(4, 1, 1), .buffers = {a}, .push = &n, .push_size = 4);
        if (way != 0) CTS_OK(t, khal_pass_end(pass));
        if (way != 0) CTS_OK(t, khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)));
        if (way == 2) {
            khal_encoder_reset(encoder);
            CTS_OK(t, khal_submit(encoder, NULL));
        }
        khal_encoder_release(encoder);
    }
    khal_encoder* encoder = cts_encoder(t);
    khal_commands* commands = NULL;
    khal_pass* pass = cts_pass(t, encoder);
    cts_record(t, pass, LIBRARY, .kernel = "add", .grid = khal_threads(4, 1, 1), .buffers = {a}, .push = &n, .push_size = 4);
    CTS_OK(t, khal_pass_end(pass));
    if (CTS_OK(t, khal_encoder_finish(encoder, &commands))) khal_commands_release(commands);
    CTS_OK(t, khal_device_wait(cts_device(t), KHAL_FOREVER));
    static const uint32_t zero[4];
    CTS_SAME(t, cts_read_all(t, a), start, 16, 4);
    CTS_SAME(t, cts_read_all(t, b), zero, 16, 4);
}

/* Typed launcher and raw dispatch do the same work. */
static void launcher_and_raw(cts* t)
{
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT], expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = (float)(2 * i);
        expected[i] = i < 900 ? 3.0f * (float)i : (float)i;
    }
    workitem* k = NULL;
    if (!CTS_OK(t, workitem_load(cts_device(t), &k))) return;
    for (int way = 0; way < 2; way++) {
        khal_buffer *a = cts_buffer_of(t, x, sizeof x, 4), *b = cts_buffer_of(t, y, sizeof y, 4);
        khal_encoder* encoder = cts_encoder(t);
        khal_pass* pass = cts_pass(t, encoder);
        const khal_slice slices[2] = {khal_slice_all(a), khal_slice_all(b)};
        const uint32_t n = 900;
        uint32_t index = 77;
        if (way == 0)
            CTS_OK(t, workitem_add_assign(k, pass, khal_threads(COUNT, 1, 1),
                                          &(workitem_add_assign_args){.a = khal_slice_float_all(a), .b = khal_slice_float_all(b), .n = n}));
        else
            CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = workitem_add_assign_function(k), .grid = khal_threads(COUNT, 1, 1),
                                                                     .bindings = slices, .binding_count = 2, .push_constants = &n, .push_constant_size = 4}, &index));
        if (way == 1) CTS_EQ(t, index, 0);
        CTS_EQ(t, khal_pass_get_dispatch_count(pass), 1);
        CTS_OK(t, khal_pass_end(pass));
        cts_submit_and_wait(t, encoder);
        CTS_SAME(t, cts_read_all(t, a), expected, sizeof expected, 4);
    }
    workitem_release(k);
}

/* ---- indirect grids ------------------------------------------------------------------------------ */

static khal_buffer* counts_buffer(cts* t, const uint32_t counts[3])
{
    return cts_buffer(t, .data = counts, .size = 12, .element_size = 4, .usage = KHAL_USAGE_INDIRECT | KHAL_USAGE_STORAGE | KHAL_USAGE_COPY_DST);
}

static void indirect_from_host(cts* t)
{
    static const uint32_t all[][3] = {{3, 2, 1}, {1, 1, 1}, {0, 5, 5}, {5, 0, 1}, {1, 1, 0}, {100, 7, 2}, {2, 66000, 1}, {1, 2, 70000}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i][2] > 65535 && cts_info(t)->backend == KHAL_BACKEND_WEBGPU) continue; /* there indirect counts fold in x and y alone */
        khal_buffer *counts = counts_buffer(t, all[i]), *sum = cts_buffer_of(t, NULL, 40, 4);
        if (!cts_run(t, LIBRARY, .kernel = "count", .grid = khal_grid_with_workgroup(khal_indirect(counts, 0), 4, 1, 1), .buffers = {sum})) return;
        const uint32_t* s = cts_read_all(t, sum);
        if (s != NULL) CTS_EQ(t, s[0], all[i][0] * all[i][1] * all[i][2] * 4);
    }
}

/* Counts written by an earlier dispatch of the same recording, and even of the same pass, are seen. */
static void indirect_from_device(cts* t)
{
    khal_buffer *counts = cts_buffer(t, .size = 64, .element_size = 4, .usage = KHAL_USAGE_INDIRECT | KHAL_USAGE_STORAGE), *sum = cts_buffer_of(t, NULL, 40, 4);
    khal_buffer* second = cts_buffer_of(t, NULL, 40, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    khal_function* set = cts_function(t, &workitem_library, "set_counts");
    if (set == NULL || pass == NULL) return;
    const khal_slice at = {counts, 16, 12, 4};
    const uint32_t first[3] = {5, 3, 2}, later[3] = {2, 1, 1};
    const khal_dispatch_desc write = {.function = set, .grid = khal_groups(1, 1, 1), .bindings = &at, .binding_count = 1, .push_constants = first, .push_constant_size = 12};
    khal_dispatch_desc again = write;
    again.push_constants = later;
    khal_dispatch_desc one = write;
    one.grid = again.grid = khal_grid_with_workgroup(khal_groups(1, 1, 1), 1, 1, 1);
    CTS_OK(t, khal_pass_dispatch(pass, &one, NULL));
    cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_grid_with_workgroup(khal_indirect(counts, 16), 8, 1, 1), .buffers = {sum});
    CTS_OK(t, khal_pass_dispatch(pass, &again, NULL)); /* after the indirect one has read */
    CTS_OK(t, khal_pass_end(pass));
    pass = cts_pass(t, encoder);
    cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_grid_with_workgroup(khal_indirect(counts, 16), 8, 1, 1), .buffers = {second});
    CTS_OK(t, khal_pass_end(pass));
    if (!cts_submit_and_wait(t, encoder)) return;
    const uint32_t *a = cts_read_all(t, sum), *b = cts_read_all(t, second);
    if (a != NULL) CTS_EQ(t, a[0], 5 * 3 * 2 * 8);
    if (b != NULL) CTS_EQ(t, b[0], 2 * 8);
}

/* The same as finished commands: each submission's indirect dispatch sees the counts that it has written itself. */
static void indirect_in_commands(cts* t)
{
    khal_buffer *counts = cts_buffer(t, .size = 12, .element_size = 4, .usage = KHAL_USAGE_INDIRECT | KHAL_USAGE_STORAGE), *sum = cts_buffer_of(t, NULL, 40, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    khal_function* set = cts_function(t, &workitem_library, "set_counts");
    if (set == NULL || sum == NULL || pass == NULL) return;
    const khal_slice at = khal_slice_all(counts);
    uint32_t groups[3] = {1, 1, 1};
    CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = set, .grid = khal_grid_with_workgroup(khal_groups(1, 1, 1), 1, 1, 1), .bindings = &at,
                                                             .binding_count = 1, .push_constants = groups, .push_constant_size = 12}, NULL));
    cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_grid_with_workgroup(khal_indirect(counts, 0), 4, 1, 1), .buffers = {sum});
    CTS_OK(t, khal_pass_end(pass));
    khal_commands* commands = NULL;
    if (!CTS_OK(t, khal_encoder_finish(encoder, &commands))) return;
    cts_own_commands(t, commands);
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 20; i++) { /* no wait between */
        groups[0] = i * 7 % 11;
        groups[1] = 1 + i % 3;
        CTS_OK(t, khal_commands_set_push_constants(commands, 0, 0, groups, 12));
        for (int twice = 0; twice < 2; twice++) CTS_OK(t, khal_commands_submit(commands, NULL));
        expected += 2 * groups[0] * groups[1] * 4;
    }
    const uint32_t* s = cts_read_all(t, sum);
    if (s != NULL) CTS_EQ(t, s[0], expected);
    /* one that can't be run fails by itself, and the next one runs */
    const uint32_t huge[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, two[3] = {2, 1, 1};
    khal_ticket failed = 0, good = 0;
    CTS_OK(t, khal_commands_set_push_constants(commands, 0, 0, huge, 12));
    CTS_OK(t, khal_commands_submit(commands, &failed));
    CTS_OK(t, khal_commands_set_push_constants(commands, 0, 0, two, 12));
    CTS_OK(t, khal_commands_submit(commands, &good));
    CTS_ERROR(t, khal_ticket_wait(cts_device(t), failed, KHAL_FOREVER), KHAL_ERROR_INDIRECT_TOO_LARGE);
    CTS_OK(t, khal_ticket_wait(cts_device(t), good, KHAL_FOREVER));
    CTS_STATUS(t, khal_device_wait(cts_device(t), KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    s = cts_read_all(t, sum);
    if (s != NULL) CTS_EQ(t, s[0], expected + 8);
}

/* Beyond what can be run nothing runs, the ticket says so, and the device lives on. */
static void indirect_too_large(cts* t)
{
    const uint32_t huge[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    khal_buffer *counts = counts_buffer(t, huge), *sum = cts_buffer_of(t, NULL, 40, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_grid_with_workgroup(khal_indirect(counts, 0), 1, 1, 1), .buffers = {sum});
    CTS_OK(t, khal_pass_end(pass));
    khal_ticket ticket = 0;
    if (!CTS_OK(t, khal_submit(encoder, &ticket))) return;
    CTS_ERROR(t, khal_ticket_wait(cts_device(t), ticket, KHAL_FOREVER), KHAL_ERROR_INDIRECT_TOO_LARGE);
    CTS_ERROR(t, khal_ticket_poll(cts_device(t), ticket), KHAL_ERROR_INDIRECT_TOO_LARGE);
    CTS_STATUS(t, khal_device_wait(cts_device(t), KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    CTS_OK(t, khal_device_wait(cts_device(t), KHAL_FOREVER)); /* told once */
    CTS_OK(t, khal_device_get_status(cts_device(t)));
    const uint32_t* s = cts_read_all(t, sum);
    if (s != NULL) CTS_EQ(t, s[0], 0);
    if (cts_run(t, LIBRARY, .kernel = "count", .grid = khal_threads(10, 1, 1), .buffers = {sum})) {
        s = cts_read_all(t, sum);
        if (s != NULL) CTS_EQ(t, s[0], 10);
    }
}

/* An indirect grid in a kernel with barriers. */
static void indirect_with_barriers(cts* t)
{
    const uint32_t three[3] = {3, 1, 1};
    khal_buffer *counts = counts_buffer(t, three), *ran = cts_buffer_of(t, NULL, 4, 4), *sizes = cts_buffer_of(t, NULL, 12, 4);
    if (!cts_run(t, .library = &barriers_library, .kernel = "whole_groups", .grid = khal_grid_with_workgroup(khal_indirect(counts, 0), 32, 1, 1), .buffers = {ran, sizes}))
        return;
    const uint32_t expected[3] = {96, 32, 3};
    CTS_SAME(t, cts_read_all(t, sizes), expected, 12, 4);
    CTS_SAME(t, cts_read_all(t, ran), expected, 4, 4);
}

/* ---- aliasing and hazards ------------------------------------------------------------------------ */

static bool dispatch(cts* t, khal_pass* pass, const char* kernel, uint64_t threads, const khal_slice* slices, uint32_t count, const void* push, uint32_t push_size)
{
    khal_function* function = cts_function(t, &workitem_library, kernel);
    return function != NULL && CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(threads, 1, 1), .bindings = slices,
                                                                                        .binding_count = count, .push_constants = push, .push_constant_size = push_size}, NULL));
}

static void aliased_bindings(cts* t)
{
    enum { COUNT = 200 };
    uint32_t in[COUNT], expected[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) in[i] = expected[i] = i + 1;
    khal_buffer *a = cts_buffer_of(t, in, sizeof in, 4), *out = cts_buffer_of(t, NULL, 100 * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    /* read twice, overlapping */
    const khal_slice reads[3] = {{a, 0, 400, 4}, {a, 40, 400, 4}, khal_slice_all(out)};
    dispatch(t, pass, "add_two", 100, reads, 3, NULL, 0);
    /* one written, one read, of one buffer: disjoint, then touching at an odd place */
    const khal_slice halves[2] = {{a, 0, 100, 4}, {a, 500, 100, 4}}, near[2] = {{a, 0, 12, 4}, {a, 12, 12, 4}};
    dispatch(t, pass, "copy", 25, halves, 2, NULL, 0);
    dispatch(t, pass, "copy", 3, near, 2, NULL, 0);
    /* the same memory as input and output of one dispatch: as in C */
    const khal_slice same[3] = {{a, 100, 200, 4}, {a, 100, 200, 4}, {a, 100, 200, 4}};
    dispatch(t, pass, "add_two", 50, same, 3, NULL, 0);
    const uint32_t n = 20;
    const khal_slice both[2] = {{a, 640, 160, 4}, {a, 640, 160, 4}};
    dispatch(t, pass, "reverse_in_place", 20, both, 2, &n, 4);
    CTS_OK(t, khal_pass_end(pass));
    if (!cts_submit_and_wait(t, encoder)) return;
    uint32_t sums[100];
    for (uint32_t i = 0; i < 100; i++) sums[i] = in[i] + in[i + 10];
    memcpy(expected + 125, expected, 100);
    memcpy(expected + 3, expected, 12);
    for (uint32_t i = 25; i < 75; i++) expected[i] *= 2;
    for (uint32_t i = 0; i < 20; i++) expected[180 + i] = expected[160 + i] + 5;
    CTS_SAME(t, cts_read_all(t, out), sums, sizeof sums, 4);
    CTS_SAME(t, cts_read_all(t, a), expected, sizeof expected, 4);
}

/* A chain of dispatches, copies and fills, each of which needs the one before it: many orders would go wrong. */
static void hazard_chain(cts* t)
{
    enum { COUNT = 4096 };
    uint32_t *x = cts_alloc(t, COUNT * 4), *y = cts_alloc(t, COUNT * 4);
    khal_buffer *a = cts_buffer_of(t, NULL, COUNT * 4, 4), *b = cts_buffer_of(t, NULL, COUNT * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    for (int round = 0; round < 60; round++) {
        const uint32_t n = cts_random_below(t, 1000) + 2, kind = cts_random_below(t, 6);
        const uint32_t first = cts_random_below(t, COUNT / 2), count = cts_random_below(t, COUNT / 2 - 1) + 1, to = cts_random_below(t, COUNT - count);
        if (kind < 4) {
            khal_pass* pass = cts_pass(t, encoder);
            for (int d = 0; d < 3; d++) {
                const khal_slice part = {a, first * 4, count * 4, 4}, pair[2] = {part, {b, to * 4, count * 4, 4}};
                if ((kind + (uint32_t)d) % 3 == 0) {
                    dispatch(t, pass, "add", count, &part, 1, &n, 4);
                    for (uint32_t i = first; i < first + count; i++) x[i] += n;
                } else if ((kind + (uint32_t)d) % 3 == 1) {
                    dispatch(t, pass, "multiply", count, &part, 1, &n, 4);
                    for (uint32_t i = first; i < first + count; i++) x[i] *= n;
                } else {
                    dispatch(t, pass, "copy", count, pair, 2, NULL, 0);
                    memcpy(y + to, x + first, count * 4);
                }
            }
            CTS_OK(t, khal_pass_end(pass));
        } else if (kind == 4) {
            CTS_OK(t, khal_encoder_copy(encoder, (khal_slice){b, first * 4, count * 4, 4}, (khal_slice){a, to * 4, count * 4, 4}));
            memcpy(x + to, y + first, count * 4);
        } else {
            CTS_OK(t, khal_encoder_fill(encoder, (khal_slice){b, to * 4, count * 4, 4}, &n, 4));
            for (uint32_t i = to; i < to + count; i++) y[i] = n;
        }
        if (round % 7 == 6 && !CTS_OK(t, khal_submit(encoder, NULL))) return; /* hazards between submits too */
    }
    if (!cts_submit_and_wait(t, encoder)) return;
    CTS_SAME(t, cts_read_all(t, a), x, COUNT * 4, 4);
    CTS_SAME(t, cts_read_all(t, b), y, COUNT * 4, 4);
}

/* Barriers stand only where something depends. */
static void barriers_where_needed(cts* t)
{
    khal_buffer *a = cts_buffer_of(t, NULL, 4096, 4), *b = cts_buffer_of(t, NULL, 4096, 4);
    khal_statistics before, after;
    CTS_OK(t, khal_device_wait(cts_device(t), KHAL_FOREVER));
    khal_device_get_statistics(cts_device(t), &before);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    const uint32_t n = 1;
    for (uint64_t i = 0; i < 32; i++) { /* disjoint ranges: no barrier between them */
        const khal_slice part = {a, i * 128, 128, 4};
        dispatch(t, pass, "add", 32, &part, 1, &n, 4);
    }
    CTS_OK(t, khal_pass_end(pass));
    cts_submit_and_wait(t, encoder);
    khal_device_get_statistics(cts_device(t), &after);
    CTS_EQ(t, after.dispatches - before.dispatches, 32);
    CTS_EQ(t, after.barriers - before.barriers, 0);
    before = after;
    pass = cts_pass(t, encoder);
    const khal_slice whole = khal_slice_all(a), pair[2] = {khal_slice_all(a), khal_slice_all(b)};
    for (int i = 0; i < 10; i++) dispatch(t, pass, "add", 1024, &whole, 1, &n, 4);
    dispatch(t, pass, "copy", 1024, pair, 2, NULL, 0);
    CTS_OK(t, khal_pass_end(pass));
    cts_submit_and_wait(t, encoder);
    khal_device_get_statistics(cts_device(t), &after);
    CTS_EQ(t, after.barriers - before.barriers, 10);
    const uint32_t* words = cts_read_all(t, b);
    if (words != NULL) CTS_EQ(t, words[1023], 11);
}

static void manual_barriers(cts* t)
{
    enum { COUNT = 100000 };
    khal_buffer *a = cts_buffer_of(t, NULL, COUNT * 4, 4), *b = cts_buffer_of(t, NULL, COUNT * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    const uint32_t n = 3;
    const khal_slice whole = khal_slice_all(a), pair[2] = {khal_slice_all(a), khal_slice_all(b)}, back[2] = {khal_slice_all(b), khal_slice_all(a)};
    khal_pass* pass = cts_pass(t, encoder);
    dispatch(t, pass, "add", COUNT, &whole, 1, &n, 4);
    CTS_OK(t, khal_pass_end(pass));
    if (!CTS_OK(t, khal_pass_begin(encoder, &(khal_pass_desc){.manual_barriers = true}, &pass))) return;
    for (int i = 0; i < 20; i++) {
        dispatch(t, pass, "multiply", COUNT, &whole, 1, &n, 4);
        CTS_OK(t, khal_pass_barrier(pass));
        dispatch(t, pass, "copy", COUNT, pair, 2, NULL, 0);
        CTS_OK(t, khal_pass_barrier(pass));
        dispatch(t, pass, "copy", COUNT, back, 2, NULL, 0);
        CTS_OK(t, khal_pass_barrier(pass));
    }
    CTS_OK(t, khal_pass_end(pass));
    pass = cts_pass(t, encoder); /* ordered against all outside it */
    dispatch(t, pass, "add", COUNT, &whole, 1, &n, 4);
    CTS_OK(t, khal_pass_end(pass));
    if (!cts_submit_and_wait(t, encoder)) return;
    uint32_t expected = 3;
    for (int i = 0; i < 20; i++) expected *= 3;
    expected += 3;
    const uint32_t* words = cts_read_all(t, a);
    for (uint32_t i = 0; words != NULL && i < COUNT; i++)
        if (words[i] != expected) { cts_fail(t, __FILE__, __LINE__, "word %u: expected %u, got %u", i, expected, words[i]); break; }
}

/* ---- push constants, reuse, native callbacks ------------------------------------------------------ */

static void push_constants(cts* t)
{
    /* at least 128 bytes: the values kernel of the workitem suite takes more where the device does */
    enum { COUNT = 64 };
    khal_buffer* a = cts_buffer_of(t, NULL, COUNT * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    const khal_slice whole = khal_slice_all(a);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 100; i++) { /* each dispatch keeps its own */
        const uint32_t n = i * i + 1;
        dispatch(t, pass, "add", COUNT, &whole, 1, &n, 4);
        sum += n;
    }
    CTS_OK(t, khal_pass_end(pass));
    if (!cts_submit_and_wait(t, encoder)) return;
    const uint32_t* words = cts_read_all(t, a);
    for (uint32_t i = 0; words != NULL && i < COUNT; i++) CTS_EQ(t, words[i], sum);
}

static void reuse(cts* t)
{
    enum { COUNT = 256 };
    khal_buffer *a = cts_buffer_of(t, NULL, COUNT * 4, 4), *b = cts_buffer_of(t, NULL, COUNT * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    const khal_slice whole = khal_slice_all(a);
    const khal_slice pair[2] = {khal_slice_all(a), khal_slice_all(b)};
    uint32_t n = 1;
    dispatch(t, pass, "add", COUNT, &whole, 1, &n, 4);
    dispatch(t, pass, "copy", COUNT, pair, 2, NULL, 0);
    CTS_OK(t, khal_pass_end(pass));
    khal_commands* commands = NULL;
    if (!CTS_OK(t, khal_encoder_finish(encoder, &commands))) return;
    cts_own_commands(t, commands);
    CTS_EQ(t, khal_commands_get_dispatch_count(commands), 2);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 50; i++) { /* no wait between: a submission keeps what it was submitted with */
        n = i * 10;
        CTS_OK(t, khal_commands_set_push_constants(commands, 0, 0, &n, 4));
        CTS_OK(t, khal_commands_submit(commands, NULL));
        sum += n;
    }
    const uint32_t* words = cts_read_all(t, b);
    for (uint32_t i = 0; words != NULL && i < COUNT; i++) CTS_EQ(t, words[i], sum);
    /* another slice, for later submits alone */
    khal_buffer* c = cts_buffer_of(t, NULL, COUNT * 4, 4);
    n = 5;
    CTS_OK(t, khal_commands_set_push_constants(commands, 0, 0, &n, 4));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    CTS_OK(t, khal_commands_set_slice(commands, 1, 1, khal_slice_all(c)));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    words = cts_read_all(t, b);
    if (words != NULL) CTS_EQ(t, words[7], sum + 5);
    words = cts_read_all(t, c);
    if (words != NULL) CTS_EQ(t, words[7], sum + 10);
    /* slices that make the second dispatch independent, and dependent again: the order is worked out anew */
    CTS_OK(t, khal_commands_set_slice(commands, 1, 0, khal_slice_all(c)));
    CTS_OK(t, khal_commands_set_slice(commands, 1, 1, khal_slice_all(b)));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    CTS_OK(t, khal_commands_set_slice(commands, 0, 0, khal_slice_all(c)));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    words = cts_read_all(t, b);
    if (words != NULL) CTS_EQ(t, words[7], sum + 15);
    /* refused, and nothing changed */
    CTS_ERROR(t, khal_commands_set_slice(commands, 2, 0, khal_slice_all(b)), KHAL_ERROR_DISPATCH_INDEX);
    CTS_ERROR(t, khal_commands_set_slice(commands, 0, 1, khal_slice_all(b)), KHAL_ERROR_DISPATCH_INDEX);
    CTS_ERROR(t, khal_commands_set_slice(commands, 0, 0, (khal_slice){b, 0, COUNT * 8, 4}), KHAL_ERROR_SLICE_RANGE);
    CTS_ERROR(t, khal_commands_set_push_constants(commands, 0, 2, &n, 4), KHAL_ERROR_DISPATCH_INDEX);
    CTS_ERROR(t, khal_commands_set_push_constants(commands, 1, 0, &n, 4), KHAL_ERROR_DISPATCH_INDEX);
    CTS_OK(t, khal_commands_submit(commands, NULL));
    words = cts_read_all(t, b);
    if (words != NULL) CTS_EQ(t, words[7], sum + 20);
}

/* Finished commands of many dispatches, of which some are independent of each other and some are not, with fills and copies
 * between; submitted again and again, values changed between submits. */
static void reuse_of_many(cts* t)
{
    enum { PARTS = 64, EACH = 128, COUNT = PARTS * EACH, ROUNDS = 12 };
    uint32_t *expected = cts_alloc(t, COUNT * 4), *copied = cts_alloc(t, COUNT * 4), n[PARTS];
    khal_buffer *a = cts_buffer_of(t, NULL, COUNT * 4, 4), *b = cts_buffer_of(t, NULL, COUNT * 4, 4), *c = cts_buffer_of(t, NULL, COUNT * 4, 4);
    khal_encoder* encoder = cts_encoder(t);
    const uint8_t patterns[5][16] = {{7}, {1, 2}, {3, 0, 0, 9}, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    /* each part of a gets its own number, then a is doubled as a whole; b is made of patterns, then the parts of a are copied to c */
    khal_pass* pass = cts_pass(t, encoder);
    for (uint32_t p = 0; p < PARTS; p++) {
        const khal_slice part = {a, p * EACH * 4, EACH * 4, 4};
        n[p] = p + 1;
        dispatch(t, pass, "add", EACH, &part, 1, &n[p], 4);
    }
    const khal_slice whole = khal_slice_all(a);
    const uint32_t two = 2;
    dispatch(t, pass, "multiply", COUNT, &whole, 1, &two, 4);
    CTS_OK(t, khal_pass_end(pass));
    for (uint32_t k = 0; k < 5; k++) CTS_OK(t, khal_encoder_fill(encoder, (khal_slice){b, k * 1024, 1024, 1}, patterns[k], 1u << k));
    for (uint32_t p = 0; p < PARTS; p++)
        CTS_OK(t, khal_encoder_copy(encoder, (khal_slice){a, p * EACH * 4, EACH * 4, 4}, (khal_slice){c, (PARTS - 1 - p) * EACH * 4, EACH * 4, 4}));
    khal_commands* commands = NULL;
    if (!CTS_OK(t, khal_encoder_finish(encoder, &commands))) return;
    cts_own_commands(t, commands);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t changed = round * 5 % PARTS;
        if (round % 3 != 0) { /* else as before */
            n[changed] = 1000 * round;
            CTS_OK(t, khal_commands_set_push_constants(commands, changed, 0, &n[changed], 4));
        }
        for (uint32_t i = 0; i < COUNT; i++) expected[i] = (expected[i] + n[i / EACH]) * 2;
        CTS_OK(t, khal_commands_submit(commands, NULL));
    }
    CTS_SAME(t, cts_read_all(t, a), expected, COUNT * 4, 4);
    for (uint32_t i = 0; i < COUNT; i++) copied[(PARTS - 1 - i / EACH) * EACH + i % EACH] = expected[i];
    CTS_SAME(t, cts_read_all(t, c), copied, COUNT * 4, 4);
    const uint8_t* bytes = cts_read_all(t, b);
    for (uint32_t k = 0; bytes != NULL && k < 5; k++)
        for (uint32_t i = 0; i < 1024; i++)
            if (bytes[k * 1024 + i] != patterns[k][i % (1u << k)]) { cts_fail(t, __FILE__, __LINE__, "pattern of %u bytes, byte %u: got %u", 1u << k, i, bytes[k * 1024 + i]); break; }
    /* All parts become one: what was independent is a chain now, and apart again afterwards. */
    for (uint32_t p = 0; p < PARTS; p++) CTS_OK(t, khal_commands_set_slice(commands, p, 0, (khal_slice){a, 0, EACH * 4, 4}));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    uint32_t sum = 0;
    for (uint32_t p = 0; p < PARTS; p++) sum += n[p];
    for (uint32_t i = 0; i < COUNT; i++) expected[i] = (expected[i] + (i < EACH ? sum : 0)) * 2;
    for (uint32_t p = 0; p < PARTS; p++) CTS_OK(t, khal_commands_set_slice(commands, p, 0, (khal_slice){a, p * EACH * 4, EACH * 4, 4}));
    CTS_OK(t, khal_commands_submit(commands, NULL));
    for (uint32_t i = 0; i < COUNT; i++) expected[i] = (expected[i] + n[i / EACH]) * 2;
    CTS_SAME(t, cts_read_all(t, a), expected, COUNT * 4, 4);
}

typedef struct native_state { khal_buffer* buffer; int calls; uint32_t seen; khal_backend backend; khal_status result; } native_state;

static khal_status native_call(void* user, const khal_native* native)
{
    native_state* s = user;
    s->calls++;
    s->backend = native->backend;
    return s->result;
}

static void native_callback(cts* t)
{
    khal_buffer* a = cts_buffer_of(t, NULL, 64, 4);
    native_state state = {.buffer = a, .result = KHAL_OK};
    khal_encoder* encoder = cts_encoder(t);
    const khal_slice whole = khal_slice_all(a);
    for (int i = 0; i < 3; i++) {
        khal_pass* pass = cts_pass(t, encoder);
        const uint32_t n = 1;
        dispatch(t, pass, "add", 16, &whole, 1, &n, 4);
        CTS_OK(t, khal_pass_end(pass));
        CTS_OK(t, khal_encoder_native(encoder, &(khal_native_desc){.call = native_call, .user = &state, .reads = &whole, .read_count = 1, .writes = &whole, .write_count = 1}));
    }
    CTS_EQ(t, state.calls, 0); /* nothing runs before the submit */
    if (!cts_submit_and_wait(t, encoder)) return;
    CTS_EQ(t, state.calls, 3);
    CTS_EQ(t, state.backend, cts_info(t)->backend);
    /* a callback that fails makes its ticket fail, and the device lives on */
    state.result = KHAL_OUT_OF_MEMORY;
    CTS_OK(t, khal_encoder_native(encoder, &(khal_native_desc){.call = native_call, .user = &state}));
    khal_ticket ticket = 0;
    if (!CTS_OK(t, khal_submit(encoder, &ticket))) return;
    CTS_ERROR(t, khal_ticket_wait(cts_device(t), ticket, KHAL_FOREVER), KHAL_ERROR_NATIVE_FAILED);
    CTS_STATUS(t, khal_device_wait(cts_device(t), KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    const uint32_t* words = cts_read_all(t, a);
    if (words != NULL) CTS_EQ(t, words[15], 3);
}

void cts_suite_api_record(cts_registry* registry)
{
    CTS_ADD(registry, wrong_dispatches);
    CTS_ADD(registry, states);
    CTS_ADD(registry, dropped_recordings);
    CTS_ADD(registry, launcher_and_raw);
    CTS_ADD(registry, indirect_from_host);
    CTS_ADD(registry, indirect_from_device);
    CTS_ADD(registry, indirect_in_commands);
    CTS_ADD(registry, indirect_too_large);
    CTS_ADD(registry, indirect_with_barriers);
    CTS_ADD(registry, aliased_bindings);
    CTS_ADD(registry, hazard_chain);
    CTS_ADD(registry, barriers_where_needed);
    CTS_ADD(registry, manual_barriers);
    CTS_ADD(registry, push_constants);
    CTS_ADD(registry, reuse);
    CTS_ADD(registry, reuse_of_many);
    cts_add(registry, "native_callback", native_callback, NULL, KHAL_FEATURE_NATIVE_ENCODER);
}
