/* Which device is opened: by backend, index, name, environment, or the best there is. */
#include "front.h"

static uint32_t enumerate(khal_device_info* infos, uint32_t capacity)
{
    uint32_t count = 0;
    OK(khal_device_enumerate(capacity, infos, &count));
    return count;
}

static int no_environment(void** state)
{
    (void)state;
    unsetenv("KHAL_BACKEND");
    unsetenv("KHAL_DEVICE");
    setenv("KHAL_WEBGPU_LIBRARY", "/nowhere/libwebgpu.so", 1); /* whatever this machine has */
    setenv("KHAL_CUDA_LIBRARY", "/nowhere/libcuda.so", 1);
    return 0;
}

static khal_backend opens(const khal_device_desc* desc)
{
    khal_device* device = NULL;
    OK(khal_device_open(desc, &device));
    const khal_backend backend = khal_device_get_info(device)->backend;
    assert_true(khal_device_get_info(device)->available);
    khal_device_release(device);
    return backend;
}

static void every_backend_is_listed(void** state)
{
    (void)state;
    khal_device_info infos[16];
    memset(infos, 0xee, sizeof infos);
    khal_error_clear();
    const uint32_t count = enumerate(infos, 16);
    assert_int_equal(khal_error_get()->id,
                     KHAL_ERROR_NONE); /* that a driver is missing is no error */
    assert_int_equal(enumerate(NULL, 0), count);
    assert_int_equal(count, 7);
    static const khal_backend order[7] = {
        KHAL_BACKEND_CUDA, KHAL_BACKEND_METAL, KHAL_BACKEND_VULKAN, KHAL_BACKEND_WEBGPU,
        KHAL_BACKEND_CPU,  KHAL_BACKEND_NOOP,  KHAL_BACKEND_NOOP};
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(infos[i].backend, order[i]);
        assert_int_equal(infos[i].available, i >= 4);
        assert_true(strlen(infos[i].name) > 0);
        assert_int_equal(strlen(infos[i].reason) > 0, !infos[i].available);
    }
    assert_non_null(strstr(infos[0].reason, "/nowhere/libcuda.so"));
    assert_non_null(strstr(infos[1].reason, "not part of this build"));
    assert_true(infos[4].formats == 1u << KHAL_FORMAT_CPU);

    memset(infos, 0xee, sizeof infos);
    assert_int_equal(enumerate(infos, 5), count); /* always the whole number */
    assert_int_equal(infos[4].backend, KHAL_BACKEND_CPU);
    assert_int_equal(((unsigned char*)&infos[5])[0], 0xee);

    noop_be_missing(true);
    assert_int_equal(enumerate(infos, 16), 6);
    noop_be_missing(false);
    assert_false(infos[5].available);
    assert_string_equal(infos[5].reason, "noop was told to be missing");
}

static void the_best_there_is(void** state)
{
    (void)state;
    assert_int_equal(opens(NULL), KHAL_BACKEND_CPU);
    assert_int_equal(opens(&(khal_device_desc){.name = ""}), KHAL_BACKEND_CPU);
}

static void by_backend_index_and_name(void** state)
{
    (void)state;
    khal_device* device;
    assert_int_equal(opens(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}), KHAL_BACKEND_NOOP);
    assert_int_equal(opens(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}), KHAL_BACKEND_CPU);
    assert_int_equal(opens(&(khal_device_desc){.index = 1 + 4}), KHAL_BACKEND_CPU);
    assert_int_equal(
        opens(&(khal_device_desc){.index = 1 + 6, .backend = KHAL_BACKEND_NOOP, .name = "little"}),
        KHAL_BACKEND_NOOP);
    assert_int_equal(opens(&(khal_device_desc){.name = "NoOp"}), KHAL_BACKEND_NOOP);
    OK(khal_device_open(&(khal_device_desc){.name = "Op, lit", .label = "mine"}, &device));
    assert_string_equal(khal_device_get_info(device)->name, "noop, little");
    khal_device_release(device);
    FAILS(BACKEND_UNAVAILABLE, khal_device_open(&(khal_device_desc){.index = 1}, &device));
    FAILS(BACKEND_NOT_BUILT, khal_device_open(&(khal_device_desc){.index = 2}, &device));
    FAILS(BACKEND_NOT_BUILT,
          khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_VULKAN}, &device));
    FAILS(BACKEND_UNAVAILABLE,
          khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA, .name = "H100"},
                           &device));
    FAILS(DEVICE_NOT_FOUND,
          khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU, .name = "noop"},
                           &device));
    FAILS(DEVICE_NOT_FOUND,
          khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU, .index = 1 + 5},
                           &device));
    FAILS(DEVICE_NOT_FOUND, khal_device_open(&(khal_device_desc){.index = 8}, &device));
    FAILS(DEVICE_NOT_FOUND, khal_device_open(&(khal_device_desc){.index = UINT32_MAX}, &device));
    FAILS(DEVICE_NOT_FOUND,
          khal_device_open(&(khal_device_desc){.name = "a device that nobody has"}, &device));
}

static void environment_serves_the_automatic_choice_alone(void** state)
{
    (void)state;
    khal_device* device;
    setenv("KHAL_BACKEND", "noop", 1);
    assert_int_equal(opens(NULL), KHAL_BACKEND_NOOP);
    assert_int_equal(opens(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}), KHAL_BACKEND_CPU);
    assert_int_equal(opens(&(khal_device_desc){.index = 1 + 4}), KHAL_BACKEND_CPU);
    setenv("KHAL_DEVICE", "little", 1);
    OK(khal_device_open(NULL, &device));
    assert_string_equal(khal_device_get_info(device)->name, "noop, little");
    khal_device_release(device);
    setenv("KHAL_BACKEND", "", 1);
    OK(khal_device_open(NULL, &device)); /* a name alone finds what AUTO would never choose */
    assert_string_equal(khal_device_get_info(device)->name, "noop, little");
    khal_device_release(device);
    setenv("KHAL_DEVICE", "", 1);
    assert_int_equal(opens(NULL), KHAL_BACKEND_CPU);
    setenv("KHAL_DEVICE", "nobody has this", 1);
    FAILS(ENVIRONMENT, khal_device_open(NULL, &device));
    assert_int_equal(opens(&(khal_device_desc){.name = "noop"}), KHAL_BACKEND_NOOP);
    setenv("KHAL_DEVICE", "", 1);
    setenv("KHAL_BACKEND", "metal", 1);
    assert_int_equal(khal_device_open(NULL, &device), KHAL_NOT_FOUND);
    assert_non_null(
        strstr(khal_error_get()->message, "not part of this build")); /* with the reason */
    setenv("KHAL_BACKEND", "CUDA", 1);
    assert_int_equal(khal_device_open(NULL, &device), KHAL_NOT_FOUND);
    assert_non_null(strstr(khal_error_get()->message, "cuda, metal")); /* with those there are */
    setenv("KHAL_BACKEND", "noop", 1);
    noop_fail_open(1);
    setenv("KHAL_DEVICE", "little", 1);
    assert_int_equal(khal_device_open(NULL, &device), KHAL_NOT_FOUND);
    assert_non_null(strstr(khal_error_get()->message, "noop was told to fail"));
}

static void the_next_device_serves_when_one_fails(void** state)
{
    (void)state;
    khal_device* device;
    noop_fail_open(1);
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}, &device));
    assert_string_equal(khal_device_get_info(device)->name, "noop, little");
    khal_device_release(device);
}

static void in_two_steps(void** state)
{
    (void)state;
    counted c = {.remaining = -1};
    khal_device_opening* opening;
    khal_device* device;
    char name[8] = "noop";
    OK(khal_device_open_begin(&(khal_device_desc){.name = name, .allocator = COUNTED(c)},
                              &opening));
    memset(name, 'x', 4);
    khal_status status;
    while ((status = khal_device_open_poll(opening, &device)) == KHAL_NOT_READY)
        ;
    OK(status);
    khal_device_release(device);
    OK(khal_device_open_begin(
        &(khal_device_desc){.backend = KHAL_BACKEND_NOOP, .allocator = COUNTED(c)}, &opening));
    khal_device_open_cancel(opening);
    assert_int_equal(atomic_load(&c.alive), 0);
    FAILS(BACKEND_NOT_BUILT,
          khal_device_open_begin(&(khal_device_desc){.backend = KHAL_BACKEND_VULKAN}, &opening));
}

static unsigned calls;
static void call_back(void* user, const khal_error* error)
{
    assert_ptr_equal(user, &calls);
    assert_int_equal(error->id, KHAL_ERROR_DRIVER);
    ++calls;
    khal_error_clear();
}

static void a_failed_opening_is_reported_once(void** state)
{
    (void)state;
    khal_device* device;
    noop_fail_open(1);
    calls = 0;
    FAILS(DRIVER, khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP,
                                                       .name = "little",
                                                       .diagnostic = call_back,
                                                       .diagnostic_user = &calls},
                                   &device));
    assert_int_equal(calls, 1);
}

static void statistics_count(void** state)
{
    (void)state;
    khal_device* device = open_noop();
    khal_buffer* buffer = make_buffer(device, 100);
    khal_buffer* empty = make_buffer(device, 0);
    khal_statistics s = statistics(device);
    assert_int_equal(s.buffer_count, 2);
    assert_int_equal(s.buffer_size, 100);
    assert_int_equal(s.live_objects, 2);
    assert_true(s.host_allocations >= 3); /* the device itself too */
    khal_buffer_release(empty);
    khal_buffer_release(buffer);
    s = statistics(device);
    assert_int_equal(s.buffer_count, 0);
    assert_int_equal(s.buffer_size, 0);
    assert_int_equal(s.live_objects, 0);
    khal_device_release(device);
    khal_device_get_statistics(NULL, &s);
    assert_int_equal(s.host_allocations, 0);
    khal_device_get_statistics(NULL, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, no_environment, no_environment)
    const struct CMUnitTest tests[] = {
        TEST(every_backend_is_listed),
        TEST(the_best_there_is),
        TEST(by_backend_index_and_name),
        TEST(environment_serves_the_automatic_choice_alone),
        TEST(the_next_device_serves_when_one_fails),
        TEST(in_two_steps),
        TEST(a_failed_opening_is_reported_once),
        TEST(statistics_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
