/* Grids: work-group sizes and counts, up to the end of 64 bits. */
#include "front.h"
#include "spirv_words.h"

static khal_device* device;

static int set_up(void** state)
{
    (void)state;
    device = open_noop();
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    khal_device_release(device);
    return 0;
}

static void resolves(const char* kernel, khal_grid grid, const uint32_t size[3],
                     const uint64_t groups[3])
{
    uint32_t got_size[3];
    uint64_t got_groups[3];
    khal_function* function = make_function(device, kernel);
    OK(khal_grid_resolve(function, grid, got_size, got_groups));
    khal_function_release(function);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(got_size[i], size[i]);
        assert_true(got_groups[i] == groups[i]);
    }
}

#define SIZE (const uint32_t[3])
#define GROUPS (const uint64_t[3])

static void fixed_sizes(void** state)
{
    (void)state;
    resolves("fixed", khal_threads(8, 4, 1), SIZE{8, 4, 1}, GROUPS{1, 1, 1});
    resolves("fixed", khal_threads(9, 5, 2), SIZE{8, 4, 1}, GROUPS{2, 2, 2});
    resolves("fixed", khal_groups(7, 6, 5), SIZE{8, 4, 1}, GROUPS{7, 6, 5});
    resolves("fixed", khal_grid_with_workgroup(khal_threads(1, 1, 1), 8, 4, 0), SIZE{8, 4, 1},
             GROUPS{1, 1, 1});
}

static void chosen_sizes(void** state)
{
    (void)state;
    resolves("none", khal_threads(1000, 1, 1), SIZE{256, 1, 1}, GROUPS{4, 1, 1});
    resolves("none", khal_threads(10, 1, 1), SIZE{10, 1, 1}, GROUPS{1, 1, 1});
    resolves("none", khal_threads(256, 1, 1), SIZE{256, 1, 1}, GROUPS{1, 1, 1});
    resolves("none", khal_threads(1000, 1000, 1), SIZE{16, 16, 1}, GROUPS{63, 63, 1});
    resolves("none", khal_threads(1000, 2, 1), SIZE{128, 2, 1}, GROUPS{8, 1, 1});
    resolves("none", khal_threads(2, 1000, 1), SIZE{2, 128, 1}, GROUPS{1, 8, 1});
    resolves("none", khal_threads(100, 100, 100), SIZE{8, 8, 4}, GROUPS{13, 13, 25});
    resolves("none", khal_threads(1, 1, 1), SIZE{1, 1, 1}, GROUPS{1, 1, 1});
    resolves("none", khal_groups(5, 1, 1), SIZE{256, 1, 1}, GROUPS{5, 1, 1});
    resolves("none", khal_groups(5, 5, 1), SIZE{16, 16, 1}, GROUPS{5, 5, 1});
    resolves("none", khal_grid_with_workgroup(khal_threads(100, 1, 1), 64, 0, 0), SIZE{64, 1, 1},
             GROUPS{2, 1, 1});
}

static void chosen_sizes_keep_to_limits(void** state)
{
    (void)state;
    uint32_t size[3];
    uint64_t groups[3];
    khal_device* little;
    khal_module* module;
    khal_function* function;
    static const uint32_t spirv[] = {
        SPIRV_HEADER(10),
        SPV(EntryPoint, 5, 4, SPIRV_MAIN),
        SPV(TypeVoid, 1),
        SPV(TypeFunction, 2, 1),
        SPV(Function, 1, 4, 0, 2),
        SPV(Label, 5),
        SPV0(Return),
        SPV0(FunctionEnd),
    };
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP, .name = "LITTLE"},
                        &little));
    OK(khal_module_load(little, &(khal_module_desc){.code = spirv, .code_size = sizeof spirv},
                        &module));
    OK(khal_function_create(
        module, &(khal_function_desc){.bindings = &(khal_binding_desc){0}, .binding_count = 1},
        &function));
    for (uint64_t x = 1; x < 300; x += 7)
        for (uint64_t y = 1; y < 300; y += 11)
            for (uint64_t z = 1; z < 50; z += 13) {
                OK(khal_grid_resolve(function, khal_threads(x, y, z), size, groups));
                assert_true(size[0] >= 1 && size[1] >= 1 && size[2] >= 1);
                assert_true(size[0] * size[1] * size[2] <= 64);
                assert_true(groups[0] * size[0] >= x && groups[1] * size[1] >= y &&
                            groups[2] * size[2] >= z);
                assert_true((groups[0] - 1) * size[0] < x && (groups[1] - 1) * size[1] < y &&
                            (groups[2] - 1) * size[2] < z);
            }
    OK(khal_grid_resolve(function, khal_groups(65535, 1, 1), size, groups));
    FAILS(GRID, khal_grid_resolve(function, khal_groups(65536, 1, 1), size, groups));
    FAILS(GRID, khal_grid_resolve(function, khal_threads(65535 * 64 + 1, 1, 1), size, groups));
    khal_function_release(function);
    khal_module_release(module);
    khal_device_release(little);
}

static void nothing_to_do(void** state)
{
    (void)state;
    resolves("none", khal_threads(0, 5, 5), SIZE{1, 5, 4}, GROUPS{0, 1, 2});
    resolves("none", khal_groups(0, 0, 0), SIZE{256, 1, 1}, GROUPS{0, 0, 0});
    resolves("fixed", khal_threads(1, 0, 1), SIZE{8, 4, 1}, GROUPS{1, 0, 1});
    /* With nothing to run there is nothing to be too large. */
    resolves("fixed", khal_groups(UINT64_MAX, 0, UINT64_MAX), SIZE{8, 4, 1},
             GROUPS{UINT64_MAX, 0, UINT64_MAX});
}

/* Products that wrap 32 bits, and 64. */
static void large_grids(void** state)
{
    (void)state;
    uint32_t size[3];
    uint64_t groups[3];
    khal_function* function = make_function(device, "none");
    resolves("none", khal_grid_with_workgroup(khal_groups(65536, 65536, 1), 1, 1, 1), SIZE{1, 1, 1},
             GROUPS{65536, 65536, 1});
    resolves("none", khal_grid_with_workgroup(khal_groups(1ull << 32, 1ull << 31, 1), 1, 1, 1),
             SIZE{1, 1, 1}, GROUPS{1ull << 32, 1ull << 31, 1});
    resolves("none", khal_grid_with_workgroup(khal_threads(UINT64_MAX, 1, 1), 1, 1, 1),
             SIZE{1, 1, 1}, GROUPS{UINT64_MAX, 1, 1});
    resolves("none", khal_grid_with_workgroup(khal_threads(UINT64_MAX - 1023, 1, 1), 1024, 1, 1),
             SIZE{1024, 1, 1}, GROUPS{(1ull << 54) - 1, 1, 1});
    /* Rounded up to whole groups, ids would pass the end of 64 bits. */
    FAILS(GRID, khal_grid_resolve(
                    function, khal_grid_with_workgroup(khal_threads(UINT64_MAX, 1, 1), 1024, 1, 1),
                    size, groups));
    FAILS(GRID,
          khal_grid_resolve(
              function, khal_grid_with_workgroup(khal_groups(1ull << 32, 1ull << 32, 1), 1, 1, 1),
              size, groups));
    FAILS(GRID, khal_grid_resolve(function,
                                  khal_grid_with_workgroup(khal_groups(UINT64_MAX, 1, 1), 2, 1, 1),
                                  size, groups));
    FAILS(GRID, khal_grid_resolve(function, khal_groups(UINT64_MAX, UINT64_MAX, UINT64_MAX), size,
                                  groups));
    FAILS(GRID, khal_grid_resolve(function, khal_threads(UINT64_MAX, UINT64_MAX, UINT64_MAX), size,
                                  groups));
    khal_function_release(function);
}

/* What the backend gets: the threads asked for where surplus ones do not run, else whole groups. */
typedef struct seen {
    uint64_t global[3], groups[3], items;
} seen;

static void observe(void* user, const khal__submission* submission)
{
    seen* s = user;
    s->items = submission->work_item_count;
    if (submission->commands != NULL) {
        memcpy(s->global, submission->commands->u.dispatch.global_size, sizeof s->global);
        memcpy(s->groups, submission->commands->u.dispatch.group_count, sizeof s->groups);
    }
}

static void run(const char* kernel, khal_grid grid)
{
    khal_buffer* buffer = make_buffer(device, 64);
    khal_function* function = make_function(device, kernel);
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass;
    const khal_slice slice = khal_slice_all(buffer);
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(khal_pass_dispatch(
        pass,
        &(khal_dispatch_desc){.function = function,
                              .grid = grid,
                              .bindings = &slice,
                              .binding_count = khal_function_get_info(function)->binding_count},
        NULL));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    khal_encoder_release(encoder);
    khal_function_release(function);
    khal_buffer_release(buffer);
}

static void surplus_items(void** state)
{
    (void)state;
    seen s = {0};
    noop_control_of(device)->observe_user = &s;
    noop_control_of(device)->observe = observe;
    run("read", khal_threads(300, 1, 1));
    assert_int_equal(s.global[0], 300);
    assert_int_equal(s.groups[0], 2);
    assert_int_equal(s.items, 300);
    run("barrier", khal_threads(300, 1, 1));
    assert_int_equal(s.global[0], 512);
    run("read", khal_grid_with_workgroup(khal_groups(3, 2, 1), 4, 4, 4));
    assert_int_equal(s.global[0], 12);
    assert_int_equal(s.global[2], 4);
    assert_int_equal(s.items, 12 * 8 * 4);
    run("none", khal_grid_with_workgroup(khal_threads(UINT64_MAX, 1, 1), 1, 1, 1));
    assert_true(s.items == UINT64_MAX);
    run("none", khal_threads(0, 1, 1));
    assert_int_equal(s.items, 0);
}

/* Within the limits in each dimension, and more than the backend can run together. */
static void grids_that_do_not_fold(void** state)
{
    (void)state;
    uint32_t size[3];
    uint64_t groups[3];
    khal_function* function = make_function(device, "read");
    const khal_slice slice = bytes(make_buffer(device, 64), 0, 64);
    atomic_store(&noop_control_of(device)->most_groups, 1000);
    OK(khal_grid_resolve(function, khal_groups(10, 10, 10), size, groups));
    FAILS(GRID, khal_grid_resolve(function, khal_groups(10, 10, 11), size, groups));
    OK(khal_grid_resolve(function, khal_groups(0, 2000, 1), size, groups));
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass;
    OK(khal_pass_begin(encoder, NULL, &pass));
    khal_dispatch_desc desc = {.function = function,
                               .grid = khal_groups(1001, 1, 1),
                               .bindings = &slice,
                               .binding_count = 1};
    FAILS(GRID, khal_pass_dispatch(pass, &desc, NULL));
    FAILS(GRID, khal_submit(encoder, NULL));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    desc.grid.x = 1000;
    OK(khal_pass_dispatch(pass, &desc, NULL));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    atomic_store(&noop_control_of(device)->most_groups, 0);
    khal_encoder_release(encoder);
    khal_buffer_release(slice.buffer);
    khal_function_release(function);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(fixed_sizes),
        TEST(chosen_sizes),
        TEST(chosen_sizes_keep_to_limits),
        TEST(nothing_to_do),
        TEST(large_grids),
        TEST(surplus_items),
        TEST(grids_that_do_not_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
