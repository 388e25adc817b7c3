/* Modules and functions of the CUDA backend over a driver that checks how it is called: PTX, cubins, what is
 * wrong with them. */
#include "cuda/harness.h"

static khal_device* device;

static int use(void** state)
{
    (void)state;
    if (use_driver(STANDIN) != 0)
        return -1;
    device = NULL;
    return try_open(&device) == KHAL_OK ? 0 : -1;
}

static khal_status load(const void* code, size_t size, khal_module** out_module)
{
    return khal_module_load(device, &(khal_module_desc){.code = code, .code_size = size, .label = "from elsewhere"}, out_module);
}

/* The driver's words, and what they mean, are in the message. */
static void broken_ptx(void** state)
{
    (void)state;
    static const struct {
        const char *code, *words[3];
    } cases[] = {
        {".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\nerror %r1;\n}\n",
         {"ptxas", "Not a name of any known instruction", "CUDA_ERROR_INVALID_PTX"}},
        {".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\nret;\n}\n",
         {"PTX 9.0", "CUDA 13.0", "CUDA 12.4"}},
        {".version 8.0\n.target sm_120\n.address_size 64\n.visible .entry f()\n{\nret;\n}\n", {"12.0", "9.0", "SM version"}},
    };
    for (size_t i = 0; i < 3; ++i) {
        khal_module* module = NULL;
        for (int with_zero = 0; with_zero < 2; ++with_zero) {
            FAILS(MODULE_COMPILE, load(cases[i].code, strlen(cases[i].code) + (size_t)with_zero, &module));
            assert_null(module);
        }
        const khal_status status = load(cases[i].code, strlen(cases[i].code), &module);
        assert_int_equal(status, KHAL_COMPILE_FAILED);
        for (size_t k = 0; k < 3; ++k)
            if (strstr(khal_error_get()->message, cases[i].words[k]) == NULL)
                fail_msg("\"%s\" is not in \"%s\"", cases[i].words[k], khal_error_get()->message);
        assert_string_equal(khal_error_get()->object, "from elsewhere");
    }
    close_device(device);
}

static void cubins_of_a_library(void** state)
{
    (void)state;
    size_t size = 0;
    void* cubin = hooks->make_cubin(cuda_ptx, &size);
    const khal_code codes[] = {
        cuda_codes[0],
        {.format = KHAL_FORMAT_CUBIN, .level = 90, .abi = KHAL_PTX_ABI, .bytes = cubin, .size = size, .ptx_kernels = cuda_entries},
    };
    khal_kernel_library library = cuda_library;
    library.codes = codes;
    library.code_count = 2;
    khal_module* module = NULL;
    khal_function* function = NULL;
    hooks->forget();
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    assert_int_equal(hooks->calls("JIT"), 0); /* machine code for this device comes first */
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "order"}, &function));
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_encoder* encoder = make_encoder(device);
    record(encoder, function, khal_threads(1, 1, 1), 1, (khal_slice[]){khal_slice_all(buffer)}, 4, &(uint32_t){7});
    OK(khal_submit(encoder, NULL));
    assert_int_equal(read_word(buffer, 0), 7);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(function);
    khal_module_release(module);
    close_device(device);
    free(cubin);
}

static void cubins_for_other_devices(void** state)
{
    (void)state;
    size_t size = 0;
    void* cubin = hooks->make_cubin(cuda_ptx, &size);
    khal_device_release(device);
    hooks->traits->capability = 80;
    device = open_device();
    khal_module* module = NULL;
    const khal_status status = load(cubin, size, &module);
    assert_int_equal(status, KHAL_COMPILE_FAILED);
    assert_non_null(strstr(khal_error_get()->message, "9.0"));
    assert_non_null(strstr(khal_error_get()->message, "8.0"));
    FAILS(MODULE_COMPILE, load(cubin, size, &module));
    close_device(device);
    free(cubin);
}

static void a_kernel_that_ptx_can_not_have(void** state)
{
    (void)state;
    khal_ptx_kernel entries[C_COUNT];
    memcpy(entries, cuda_entries, sizeof entries);
    entries[C_TALLY] = (khal_ptx_kernel){.reason = "kernels.cl:12:3: printf"};
    khal_code code = cuda_codes[0];
    code.ptx_kernels = entries;
    khal_kernel_library library = cuda_library;
    library.codes = &code;
    khal_module* module = NULL;
    khal_function* function = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    const khal_status status = khal_function_create(module, &(khal_function_desc){.entry_point = "tally"}, &function);
    assert_int_not_equal(status, KHAL_OK);
    assert_non_null(strstr(khal_error_get()->message, "kernels.cl:12:3: printf"));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "order"}, &function));
    khal_function_release(function);
    khal_module_release(module);
    close_device(device);
}

typedef struct plus_arguments {
    uint32_t value;
    uint64_t a, b;
} plus_arguments;

static int note_plus(void* user, const standin_launch* launch)
{
    plus_arguments* got = user;
    memcpy(&got->value, launch->parameters[0], 4);
    memcpy(&got->a, launch->parameters[1], 8);
    memcpy(&got->b, launch->parameters[2], 8);
    return 0;
}

/* PTX of the program's own: parameters in its order, values in the push constants. */
static void foreign_ptx(void** state)
{
    (void)state;
    static const char code[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry plus(\n\t.param .u32 plus_0,\n\t.param .u64 plus_1,\n\t.param .u64 plus_2\n)\n"
                               "{\n\tret;\n}\n.visible .entry other()\n{\n\tret;\n}\n";
    khal_module* module = NULL;
    khal_function* function = NULL;
    OK(load(code, strlen(code), &module));
    assert_int_equal(khal_module_get_kernel_count(module), 2);
    assert_string_equal(khal_module_get_kernel_name(module, 1), "other");
    FAILS(ENTRY_POINT, khal_function_create(module, &(khal_function_desc){.entry_point = "minus"}, &function));
    const khal_binding_desc bindings[] = {{.binding = 1, .kind = KHAL_ARG_BUFFER}, {.binding = 2, .kind = KHAL_ARG_BUFFER}};
    OK(khal_function_create(module,
                            &(khal_function_desc){.entry_point = "plus", .bindings = bindings, .binding_count = 2,
                                                  .push_constant_size = 4, .workgroup_size = {32, 1, 1}},
                            &function));
    khal_buffer* buffer = new_buffer(device, 64, NULL);
    uint64_t address = 0;
    plus_arguments got = {0, 0, 0};
    hooks->kernel("plus", note_plus, &got);
    OK(khal_cuda_buffer_get_address(buffer, &address));
    khal_encoder* encoder = make_encoder(device);
    record(encoder, function, khal_groups(2, 1, 1), 2, (khal_slice[]){bytes(buffer, 4, 4), bytes(buffer, 8, 8)}, 4,
           &(uint32_t){77});
    OK(khal_submit(encoder, NULL));
    OK(khal_device_wait(device, KHAL_FOREVER));
    assert_int_equal(got.value, 77);
    assert_int_equal(got.a, address + 4);
    assert_int_equal(got.b, address + 8);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(function);
    khal_module_release(module);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(broken_ptx, use),
        cmocka_unit_test_setup(cubins_of_a_library, use),
        cmocka_unit_test_setup(cubins_for_other_devices, use),
        cmocka_unit_test_setup(a_kernel_that_ptx_can_not_have, use),
        cmocka_unit_test_setup(foreign_ptx, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
