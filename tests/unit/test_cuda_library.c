/* Which code of a kernel library a CUDA device takes, kernels that can't be had, and the parameters of foreign PTX. */
#include "cuda/harness.h"

static int use(void** state)
{
    (void)state;
    return use_driver(STANDIN);
}

static khal_kernel_library library_of(const khal_code* codes, uint32_t count)
{
    khal_kernel_library library = cuda_library;
    library.codes = codes;
    library.code_count = count;
    return library;
}

static void says(const char* words)
{
    if (strstr(khal_error_get()->message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", khal_error_get()->message, words);
}

/* The stand-in is of compute capability 9.0. */
static void code_for_the_device(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_module* module = NULL;
    khal_code codes[2] = {cuda_codes[0], cuda_codes[0]};
    codes[0].level = 100;
    codes[1].level = 120;
    khal_kernel_library library = library_of(codes, 2);
    FAILS(MODULE_NO_CODE, khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    assert_int_equal(khal_module_load(device, &(khal_module_desc){.library = &library}, &module), KHAL_UNSUPPORTED);
    says("PTX for compute capability 10.0, PTX for compute capability 12.0; Stand-in");
    says("compute capability 9.0) runs none of it");
    khal_error_clear();

    /* Of two that run the larger, which is whole; the other does not assemble. */
    static const char broken[] = "this is no PTX";
    codes[0].level = 75;
    codes[0].bytes = broken;
    codes[0].size = sizeof broken;
    codes[1].level = 90;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    khal_module_release(module);
    /* Machine code of another generation is none for this one. */
    codes[1].format = KHAL_FORMAT_CUBIN;
    codes[1].level = 89;
    codes[0] = cuda_codes[0];
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    khal_module_release(module);
    close_device(device);
}

/* Kernels without PTX say why, and do not stand in the way of the others, nor of the module. */
static void kernels_that_cannot_be_had(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_ptx_kernel entries[C_COUNT];
    memcpy(entries, cuda_entries, sizeof entries);
    entries[C_PAIR] = (khal_ptx_kernel){.reason = "kernels.cl:7:3: printf is not to be had in PTX"};
    khal_code code = cuda_codes[0];
    code.ptx_kernels = entries;
    khal_kernel_library library = library_of(&code, 1);
    khal_module* module = NULL;
    khal_function* function = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    FAILS(UNSUPPORTED, khal_function_create(module, &(khal_function_desc){.entry_point = "pair"}, &function));
    assert_int_equal(khal_function_create(module, &(khal_function_desc){.entry_point = "pair"}, &function), KHAL_UNSUPPORTED);
    says("kernels.cl:7:3: printf is not to be had in PTX");
    khal_error_clear();
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "add"}, &function));
    khal_function_release(function);
    khal_module_release(module);
    khal_kernels* kernels = NULL;
    OK(khal_kernels_load(device, &library, &kernels));
    khal_kernels_release(kernels);

    /* All of them, with the text that is left: the driver gets none. */
    for (int i = 0; i < C_COUNT; ++i)
        entries[i] = (khal_ptx_kernel){.reason = "kernels.cl:1:1: why"};
    code.bytes = "";
    code.size = 1;
    khal_kernel_library none = library_of(&code, 1);
    hooks->forget();
    OK(khal_module_load(device, &(khal_module_desc){.library = &none}, &module));
    assert_int_equal(hooks->calls("ModuleLoadDataEx"), 0);
    FAILS(UNSUPPORTED, khal_function_create(module, &(khal_function_desc){.entry_point = "add"}, &function));
    khal_module_release(module);
    OK(khal_kernels_load(device, &none, &kernels));
    khal_kernels_release(kernels);
    close_device(device);
}

/* ---- foreign PTX --------------------------------------------------------------------------------- */

static const char foreign_ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                                  ".visible .entry mixed(\n.param .u32 n,\n.param .u64 to,\n.param .align 4 .b8 pair[8],\n"
                                  ".param .u8 tag,\n.param .u64 from\n)\n.reqntid 32, 1, 1\n{\n\tret;\n}\n";

/* Writes its values one behind the other to `to`: n, pair, tag, and the first word of `from`. */
static int mixed(void* user, const standin_launch* launch)
{
    static const size_t sizes[5] = {4, 8, 8, 1, 8};
    uint64_t to, from;
    unsigned* count = user;
    if (launch->parameter_count != 5 || launch->block[0] != 32)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 5; ++i)
        if (launch->sizes[i] != sizes[i])
            return CUDA_ERROR_INVALID_VALUE;
    memcpy(&to, launch->parameters[1], 8);
    memcpy(&from, launch->parameters[4], 8);
    char* out = hooks->at(to, 24);
    const void* in = hooks->at(from, 4);
    if (out == NULL || in == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    memcpy(out, launch->parameters[0], 4);
    memcpy(out + 4, launch->parameters[2], 8);
    memcpy(out + 12, launch->parameters[3], 1);
    memcpy(out + 16, in, 4);
    ++*count;
    return 0;
}

static void foreign_parameters(void** state)
{
    (void)state;
    unsigned count = 0;
    hooks->kernel("mixed", mixed, &count);
    khal_device* device = open_device();
    khal_module* module = NULL;
    khal_function* function = NULL;
    const khal_module_desc desc = {.code = foreign_ptx, .code_size = sizeof foreign_ptx - 1}; /* without its 0 */
    OK(khal_module_load(device, &desc, &module));
    /* `from` comes first in the layout, and may only be read. */
    const khal_binding_desc bindings[2] = {{.binding = 4, .access = KHAL_ACCESS_READ}, {.binding = 1}};
    khal_function_desc layout = {.bindings = bindings, .binding_count = 2, .push_constant_size = 16};
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &(khal_function_desc){.entry_point = NULL}, &function));
    layout.push_constant_size = 12;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &layout, &function));
    layout.push_constant_size = 16;
    OK(khal_function_create(module, &layout, &function));
    const uint32_t words[4] = {11, 22, 33, 44};
    const struct { uint32_t n, pair[2]; uint8_t tag; } push = {7, {8, 9}, 10};
    khal_buffer *from = new_buffer(device, sizeof words, words), *to = new_buffer(device, 64, NULL);
    khal_encoder* encoder = make_encoder(device);
    const khal_slice slices[2] = {bytes(from, 8, 4), bytes(to, 32, 24)};
    record(encoder, function, khal_groups(3, 1, 1), 2, slices, sizeof push, &push);
    OK(khal_submit(encoder, NULL));
    uint32_t out[6];
    OK(khal_buffer_read(to, 32, out, sizeof out, KHAL_FOREVER));
    assert_int_equal(count, 1);
    assert_int_equal(out[0], 7);
    assert_int_equal(out[1], 8);
    assert_int_equal(out[2], 9);
    assert_int_equal(out[3], 10);
    assert_int_equal(out[4], 33);
    /* What a launch can't have is refused when it is recorded: foreign code does not fold. */
    khal_pass* pass = NULL;
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(GRID, khal_pass_dispatch(pass,
                                             &(khal_dispatch_desc){.function = function, .grid = khal_groups(1, 65536, 1), .bindings = slices,
                                                                   .binding_count = 2, .push_constants = &push, .push_constant_size = sizeof push},
                                             NULL));
    khal_encoder_release(encoder);
    khal_buffer_release(from);
    khal_buffer_release(to);
    khal_function_release(function);
    khal_module_release(module);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(code_for_the_device, use),
        cmocka_unit_test_setup(kernels_that_cannot_be_had, use),
        cmocka_unit_test_setup(foreign_parameters, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
