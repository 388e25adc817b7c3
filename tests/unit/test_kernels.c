/* khal_kernels: what a generated header's handle is. On the noop device, with a library written
 * here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <khal/khal.h>

static void run(const khal_cpu_launch* launch, uint64_t first_group, uint64_t last_group,
                void* scratch)
{
    (void)launch;
    (void)first_group;
    (void)last_group;
    (void)scratch;
}

static const khal_cpu_kernel cpu_kernels[] = {{run, 0, 0}, {run, 0, 0}};
static const khal_code codes[] = {
    {.format = KHAL_FORMAT_CPU,
     .level = KHAL_CPU_LEVEL_BASE,
     .abi = KHAL_CPU_ABI,
     .cpu_kernels = cpu_kernels},
};
static const khal_arg_info args[] = {
    {.name = "data",
     .type_name = "float",
     .kind = KHAL_ARG_BUFFER,
     .access = KHAL_ACCESS_WRITE,
     .element_size = 4,
     .element_align = 4},
};
static const khal_kernel_info infos[] = {
    {.name = "first", .args = args, .arg_count = 1, .binding_count = 1},
    {.name = "second"},
};
static const khal_kernel_library library = {
    .version = KHAL_LIBRARY_VERSION,
    .kernel_count = 2,
    .code_count = 1,
    .name = "two",
    .kernels = infos,
    .codes = codes,
};

/* An allocator that fails after some calls, and counts what is alive. */
typedef struct limited {
    int remaining;
    int alive;
} limited;

static void* limited_allocate(void* user, size_t size, size_t align)
{
    limited* l = user;
    if (l->remaining == 0)
        return NULL;
    l->remaining--;
    l->alive++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void limited_release(void* user, void* memory, size_t size)
{
    (void)size;
    ((limited*)user)->alive--;
    free(memory);
}

static khal_device* open_device(khal_backend backend)
{
    khal_device* device = NULL;
    assert_int_equal(khal_device_open(&(khal_device_desc){.backend = backend}, &device), KHAL_OK);
    return device;
}

static void test_load(void** state)
{
    (void)state;
    khal_device* device = open_device(KHAL_BACKEND_NOOP);
    khal_kernels* k = NULL;
    assert_int_equal(khal_kernels_load(device, &library, &k), KHAL_OK);
    khal_device_release(device); /* the handle keeps it */
    assert_non_null(k);
    for (uint32_t i = 0; i < 2; i++) {
        khal_function* function = khal_kernels_get_function(k, i);
        assert_non_null(function);
        assert_string_equal(khal_function_get_info(function)->name, infos[i].name);
    }
    assert_null(khal_kernels_get_function(k, 2));
    assert_null(khal_kernels_get_function(k, UINT32_MAX));
    assert_null(khal_kernels_get_function(NULL, 0));
    khal_kernels_retain(k);
    khal_kernels_release(k);
    assert_non_null(khal_kernels_get_function(k, 0));
    khal_kernels_release(k);
    khal_kernels_retain(NULL);
    khal_kernels_release(NULL);
}

static void test_poll(void** state)
{
    (void)state;
    khal_device* device = open_device(KHAL_BACKEND_CPU);
    khal_kernels* k = NULL;
    assert_int_equal(khal_kernels_load_begin(device, &library, &k), KHAL_OK);
    assert_null(khal_kernels_get_function(k, 0));
    khal_status status = KHAL_NOT_READY;
    for (int i = 0; status == KHAL_NOT_READY && i < 1000000; i++)
        status = khal_kernels_load_poll(k);
    assert_int_equal(status, KHAL_OK);
    assert_int_equal(khal_kernels_load_poll(k), KHAL_OK);
    assert_string_equal(khal_function_get_info(khal_kernels_get_function(k, 1))->name, "second");
    khal_kernels_release(k);
    /* one that is dropped before it is complete */
    assert_int_equal(khal_kernels_load_begin(device, &library, &k), KHAL_OK);
    khal_kernels_release(k);
    khal_device_release(device);
}

#define assert_fails(call, id_wanted)                                                              \
    do {                                                                                           \
        khal_error_clear();                                                                        \
        assert_int_not_equal(call, KHAL_OK);                                                       \
        assert_int_equal(khal_error_get()->id, id_wanted);                                         \
    } while (0)

/* A kernel that the device can't have does not stand in the way of the others. */
static void test_refused_kernels(void** state)
{
    (void)state;
    static const khal_kernel_info some[] = {
        {.name = "first",
         .args = args,
         .arg_count = 1,
         .binding_count = 1,
         .workgroup_size = {4096, 1, 1}},
        {.name = "second"},
        {.name = "third", .local_memory_size = UINT32_MAX},
    };
    khal_kernel_library partly = library;
    const khal_cpu_kernel three[] = {{run, 0, 0}, {run, 0, 0}, {run, 0, 0}};
    const khal_code of_three = {
        .format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = three};
    partly.kernels = some;
    partly.kernel_count = 3;
    partly.codes = &of_three;
    khal_device* device = open_device(KHAL_BACKEND_NOOP);
    for (int way = 0; way < 2; way++) {
        khal_kernels* k = NULL;
        if (way == 0) {
            assert_int_equal(khal_kernels_load(device, &partly, &k), KHAL_OK);
        } else {
            khal_status status = khal_kernels_load_begin(device, &partly, &k);
            while (status == KHAL_OK && (status = khal_kernels_load_poll(k)) == KHAL_NOT_READY)
                status = KHAL_OK;
            assert_int_equal(status, KHAL_OK);
        }
        khal_buffer* buffer = NULL;
        khal_encoder* encoder = NULL;
        assert_int_equal(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer),
                         KHAL_OK);
        assert_int_equal(khal_encoder_create(device, NULL, &encoder), KHAL_OK);
        const khal_slice slice = khal_slice_all(buffer);
        for (uint32_t i = 0; i < 3; i++) {
            khal_pass* pass = NULL;
            khal_function* function = khal_kernels_get_function(k, i);
            assert_non_null(function);
            assert_string_equal(khal_function_get_info(function)->name, some[i].name);
            const khal_dispatch_desc desc = {.function = function,
                                             .grid = khal_groups(1, 1, 1),
                                             .bindings = &slice,
                                             .binding_count = i == 0};
            assert_int_equal(khal_pass_begin(encoder, NULL, &pass), KHAL_OK);
            if (i == 1)
                assert_int_equal(khal_pass_dispatch(pass, &desc, NULL), KHAL_OK);
            else
                assert_fails(khal_pass_dispatch(pass, &desc, NULL), KHAL_ERROR_FUNCTION_LIMIT);
            khal_encoder_reset(encoder);
        }
        khal_encoder_release(encoder);
        khal_buffer_release(buffer);
        khal_kernels_release(k);
    }
    khal_statistics statistics;
    khal_device_get_statistics(device, &statistics);
    assert_int_equal(statistics.live_objects, 0);
    khal_device_release(device);
}

static void test_errors(void** state)
{
    (void)state;
    khal_device* device = open_device(KHAL_BACKEND_NOOP);
    khal_kernels* k = (khal_kernels*)&library; /* must stay as it is */
    assert_fails(khal_kernels_load(NULL, &library, &k), KHAL_ERROR_ARGUMENT_NULL);
    assert_fails(khal_kernels_load(device, NULL, &k), KHAL_ERROR_ARGUMENT_NULL);
    assert_fails(khal_kernels_load(device, &library, NULL), KHAL_ERROR_ARGUMENT_NULL);
    assert_fails(khal_kernels_load_begin(NULL, &library, &k), KHAL_ERROR_ARGUMENT_NULL);
    assert_fails(khal_kernels_load_begin(device, NULL, &k), KHAL_ERROR_ARGUMENT_NULL);
    assert_fails(khal_kernels_load_begin(device, &library, NULL), KHAL_ERROR_ARGUMENT_NULL);
    assert_fails(khal_kernels_load_poll(NULL), KHAL_ERROR_ARGUMENT_NULL);
    khal_kernel_library newer = library;
    newer.version = KHAL_LIBRARY_VERSION + 1;
    assert_fails(khal_kernels_load(device, &newer, &k), KHAL_ERROR_MODULE_VERSION);
    khal_kernel_library empty = library;
    empty.code_count = 0;
    assert_fails(khal_kernels_load(device, &empty, &k), KHAL_ERROR_MODULE_NO_CODE);
    assert_ptr_equal(k, &library);
    khal_statistics statistics;
    khal_device_get_statistics(device, &statistics);
    assert_int_equal(statistics.live_objects, 0);
    khal_device_release(device);
}

/* Every allocation of a load fails once: the error says so, nothing stays behind, and the next load
 * works. */
static void test_out_of_memory(void** state)
{
    (void)state;
    for (int limit = 0;; limit++) {
        assert_true(limit < 1000);
        limited l = {.remaining = -1};
        const khal_allocator allocator = {
            .allocate = limited_allocate, .release = limited_release, .user = &l};
        khal_device* device = NULL;
        assert_int_equal(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP,
                                                              .allocator = &allocator},
                                          &device),
                         KHAL_OK);
        const int before = l.alive;
        l.remaining = limit;
        khal_kernels* k = NULL;
        khal_error_clear();
        const khal_status status = khal_kernels_load(device, &library, &k);
        l.remaining = -1;
        if (status != KHAL_OK) {
            assert_int_equal(status, KHAL_OUT_OF_MEMORY);
            assert_int_equal(khal_error_get()->id, KHAL_ERROR_OUT_OF_MEMORY);
            assert_null(k);
            assert_int_equal(l.alive, before);
            assert_int_equal(khal_kernels_load(device, &library, &k), KHAL_OK);
        }
        khal_kernels_release(k);
        khal_device_release(device);
        assert_int_equal(l.alive, 0);
        if (status == KHAL_OK)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_refused_kernels),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
