/* What foreign PTX and cubins tell of their kernels: entry points, parameters, work-group sizes; explicit layouts checked
 * against it. */
#include "front.h"

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

/* ---- PTX ---------------------------------------------------------------------------------------
 */

#define HEAD ".version 6.3\n.target sm_75\n.address_size 64\n"

static khal_module* load_text(const char* text)
{
    khal_module* module;
    OK(khal_module_load(device, &(khal_module_desc){.code = text, .code_size = strlen(text)}, &module));
    return module;
}

/* A function `k` with its first `binding_count` parameters in `numbers` as buffers. */
static khal_status create_with(const char* text, const uint32_t* numbers, uint32_t binding_count, uint32_t push_size,
                               khal_function** out_function)
{
    khal_binding_desc bindings[8] = {{0}};
    khal_module* module = load_text(text);
    for (uint32_t i = 0; i < binding_count; ++i)
        bindings[i].binding = numbers[i];
    const khal_status status = khal_function_create(module,
                                                    &(khal_function_desc){.entry_point = "k",
                                                                          .bindings = binding_count > 0 ? bindings : NULL,
                                                                          .binding_count = binding_count,
                                                                          .push_constant_size = push_size},
                                                    out_function);
    khal_module_release(module);
    return status;
}

#define NUMBERS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4

static void parameter_is(const khal__parameter* parameter, uint32_t kind, uint32_t place, uint32_t size, uint32_t align)
{
    assert_int_equal(parameter->kind, kind);
    assert_int_equal(kind == KHAL_ARG_VALUE ? parameter->offset : parameter->index, place);
    assert_int_equal(parameter->size, size);
    assert_int_equal(parameter->align, align);
}

static void ptx_parameters(void** state)
{
    (void)state;
    static const char text[] = HEAD
        ".func helper(.param .u32 x) { ret; }\n"
        "// .entry k(.param .u8 comment)\n"
        ".visible .entry other(.param .u32 n) { ret; }\n"
        ".visible .entry k(\n"
        "    .param .u64 .ptr .global .align 4 k_a,\n"
        "    .param .u8 k_byte,\n"
        "    .param .align 8 .b8 k_struct[12],\n"
        "    .param .u64 k_b,\n"
        "    .param .f32 k_float,\n"
        "    .param .align 16 .b8 k_table[2][0x10],\n"
        "    .param .b16 k_half[3]\n"
        ")\n"
        ".maxntid 256, 1, 1\n.reqntid 32, 4\n.minnctapersm 2\n"
        "{\n .reqntid 7; ret; }\n"
        ".entry after { ret; }\n";
    khal_function* function;
    OK(create_with(text, NUMBERS(3, 0), 0, &function));
    const khal__parameter* parameters;
    uint32_t count;
    assert_true(khal__function_parameters(function, &parameters, &count));
    assert_int_equal(count, 7);
    parameter_is(&parameters[0], KHAL_ARG_BUFFER, 1, 8, 8);
    parameter_is(&parameters[1], KHAL_ARG_VALUE, 0, 1, 1);
    parameter_is(&parameters[2], KHAL_ARG_VALUE, 8, 12, 8);
    parameter_is(&parameters[3], KHAL_ARG_BUFFER, 0, 8, 8);
    parameter_is(&parameters[4], KHAL_ARG_VALUE, 20, 4, 4);
    parameter_is(&parameters[5], KHAL_ARG_VALUE, 32, 32, 16);
    parameter_is(&parameters[6], KHAL_ARG_VALUE, 64, 6, 2);
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_int_equal(info->push_constant_size, 70);
    assert_int_equal(info->binding_count, 2);
    assert_int_equal(info->workgroup_size[0], 32);
    assert_int_equal(info->workgroup_size[1], 4);
    assert_int_equal(info->workgroup_size[2], 1);
    khal_function_release(function);
    /* A size that is given is the bytes themselves, or those of a structure with its padding. */
    OK(create_with(text, NUMBERS(0, 3), 70, &function));
    khal_function_release(function);
    OK(create_with(text, NUMBERS(0, 3), 80, &function));
    khal_function_release(function);
    /* Without the second buffer its address is a value like others: the structure's end makes room at 24. */
    OK(create_with(text, NUMBERS(0), 0, &function));
    assert_true(khal__function_parameters(function, &parameters, &count));
    parameter_is(&parameters[3], KHAL_ARG_VALUE, 24, 8, 8);
    parameter_is(&parameters[4], KHAL_ARG_VALUE, 32, 4, 4);
    khal_function_release(function);
}

static void ptx_literals_and_types(void** state)
{
    (void)state;
    static const char text[] = HEAD
        ".entry k(.param .v4 .f32 a, .param .b8 b[010], .param .b8 c[0b101], .param .s16 d[3U], .param .f16x2 %e, "
        ".param .b128 f, .param .align 32 .u32 $g) .reqntid 0x40 { ret; }";
    khal_function* function;
    OK(create_with(text, NULL, 0, 68, &function));
    const khal__parameter* parameters;
    uint32_t count;
    assert_true(khal__function_parameters(function, &parameters, &count));
    assert_int_equal(count, 7);
    parameter_is(&parameters[0], KHAL_ARG_VALUE, 0, 16, 16);
    parameter_is(&parameters[1], KHAL_ARG_VALUE, 16, 8, 1);
    parameter_is(&parameters[2], KHAL_ARG_VALUE, 24, 5, 1);
    parameter_is(&parameters[3], KHAL_ARG_VALUE, 30, 6, 2);
    parameter_is(&parameters[4], KHAL_ARG_VALUE, 36, 4, 4);
    parameter_is(&parameters[5], KHAL_ARG_VALUE, 48, 16, 16);
    parameter_is(&parameters[6], KHAL_ARG_VALUE, 64, 4, 32);
    assert_int_equal(khal_function_get_info(function)->workgroup_size[0], 64);
    khal_function_release(function);
}

/* A declaration says less than the definition behind it. */
static void ptx_declarations(void** state)
{
    (void)state;
    static const char text[] = HEAD ".extern .entry k(.param .u32 n);\n"
                                    ".entry k(.param .u32 n) .reqntid 16 { ret; }";
    khal_function* function;
    OK(create_with(text, NULL, 0, 4, &function));
    assert_int_equal(khal_function_get_info(function)->workgroup_size[0], 16);
    khal_function_release(function);
    static const char alone[] = HEAD ".extern .entry k(.param .u32 n);\n.entry other { ret; }";
    OK(create_with(alone, NULL, 0, 4, &function));
    khal_function_release(function);
}

/* No parameters, no layout. */
static void ptx_without_parameters(void** state)
{
    (void)state;
    static const char* const texts[] = {HEAD ".entry k { ret; }", HEAD ".entry k() .reqntid 8, 1, 1 { ret; }"};
    for (int i = 0; i < 2; ++i) {
        khal_function* function;
        const khal__parameter* parameters;
        uint32_t count = 77;
        OK(create_with(texts[i], NULL, 0, 0, &function));
        assert_true(khal__function_parameters(function, &parameters, &count));
        assert_int_equal(count, 0);
        assert_int_equal(khal_function_get_info(function)->workgroup_size[0], i == 0 ? 0 : 8);
        khal_function_release(function);
        FAILS(FUNCTION_LAYOUT, create_with(texts[i], NUMBERS(0), 0, &function));
        FAILS(FUNCTION_LAYOUT, create_with(texts[i], NULL, 0, 4, &function));
    }
}

static void says(const char* words)
{
    if (strstr(khal_error_get()->message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", khal_error_get()->message, words);
}

static void ptx_layouts_that_do_not_fit(void** state)
{
    (void)state;
    static const char text[] =
        HEAD ".entry k(.param .u64 a, .param .u32 n, .param .align 4 .b8 s[12]) .reqntid 64, 2, 1 { ret; }";
    khal_function* function = NULL;
#define REFUSED(words, ...)                                                                                            \
    do {                                                                                                               \
        assert_int_equal(create_with(text, __VA_ARGS__, &function), KHAL_INVALID_ARGUMENT);                            \
        says(words);                                                                                                   \
        FAILS(FUNCTION_LAYOUT, create_with(text, __VA_ARGS__, &function));                                             \
    } while (0)
    REFUSED("an explicit layout is needed", NULL, 0, 0);
    REFUSED("binding 1 is parameter 3; the kernel has 3 parameters", NUMBERS(0, 3), 16);
    REFUSED("binding 0 is parameter 1, which has 4 bytes; an address takes 8", NUMBERS(1), 20);
    REFUSED("binding 0 is parameter 2, which has 12 bytes", NUMBERS(2), 12);
    REFUSED("take 16 bytes of push constants; the layout has 12", NUMBERS(0), 12);
    REFUSED("take 16 bytes of push constants; the layout has 20", NUMBERS(0), 20);
    REFUSED("take 24 bytes of push constants; the layout has 16", NULL, 0, 16);
    REFUSED("two bindings with one number", NUMBERS(0, 0), 16);
#undef REFUSED
    khal_module* module = load_text(text);
    const khal_binding_desc grouped = {.group = 1};
    khal_function_desc desc = {.bindings = &grouped, .binding_count = 1, .push_constant_size = 16};
    assert_int_equal(khal_function_create(module, &desc, &function), KHAL_INVALID_ARGUMENT);
    says("binding 0 is of group 1");
    const khal_binding_desc plain = {0};
    desc.bindings = &plain;
    desc.workgroup_size[0] = 32;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    desc.workgroup_size[0] = 64;
    desc.workgroup_size[1] = 2;
    OK(khal_function_create(module, &desc, &function));
    khal_function_release(function);
    khal_module_release(module);
    assert_int_equal(statistics(device).live_objects, 0);
}

/* What is not understood is left to the caller's layout, and to the driver. */
static void ptx_that_does_not_tell(void** state)
{
    (void)state;
    static const char* const lists[] = {
        "(.param .texref t)",           "(.param .u64 a, .param",       "(.param .b8 s[N])",
        "(.param .b8 s[])",             "(.param .b8 s[0])",            "(.param .b8 s[70000])",
        "(.param .b8 s[4294967296])",   "(.param .align 3 .b8 s[3])",   "(.param .align x .b8 s[3])",
        "(.reg .u32 r)",                "(.param .u32)",                "(.param .u32 a .param .u32 b)",
        "(.param .b8 s[0x])",           "(.param .b8 s[65536][65536])", "(.param .align 131072 .b8 s[4])",
        "(.param .b8 s[40000], .param .b8 t[40000])",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) {
        char text[256];
        khal_function* function = NULL;
        snprintf(text, sizeof text, "%s.entry k%s .reqntid 8 { ret; }", HEAD, lists[i]);
        assert_int_equal(create_with(text, NULL, 0, 0, &function), KHAL_INVALID_ARGUMENT);
        says("an explicit layout is needed");
        OK(create_with(text, NUMBERS(0, 5), 12, &function));
        const khal__parameter* parameters;
        uint32_t count;
        assert_false(khal__function_parameters(function, &parameters, &count));
        khal_function_release(function);
    }
}

/* ---- parameters that the driver tells ----------------------------------------------------------
 */

static void layouts_of_parameters_from_the_driver(void** state)
{
    (void)state;
    const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1};
    const khal_binding_desc second = {.binding = 1, .kind = KHAL_ARG_CONSTANT};
    khal_function_desc desc = {.entry_point = "k", .bindings = &second, .binding_count = 1, .push_constant_size = 12};
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(device, &(khal_module_desc){.code = fatbin, .code_size = sizeof fatbin}, &module));
    OK(khal_function_create(module, &desc, &function));
    const khal__parameter* none;
    uint32_t count;
    assert_false(khal__function_parameters(function, &none, &count));
    khal__parameter parameters[] = {{.size = 4, .align = 4}, {.size = 8, .align = 8}, {.size = 8, .align = 4}};
    OK(khal__function_lay_out(function, &desc, parameters, 3));
    parameter_is(&parameters[0], KHAL_ARG_VALUE, 0, 4, 4);
    parameter_is(&parameters[1], KHAL_ARG_CONSTANT, 0, 8, 8);
    parameter_is(&parameters[2], KHAL_ARG_VALUE, 4, 8, 4);
    FAILS(FUNCTION_LAYOUT, khal__function_lay_out(function, &desc, parameters, 1));
    desc.push_constant_size = 16;
    FAILS(FUNCTION_LAYOUT, khal__function_lay_out(function, &desc, parameters, 3));
    desc.push_constant_size = 0;
    FAILS(FUNCTION_LAYOUT, khal__function_lay_out(function, &desc, parameters, 3));
    khal_function_release(function);
    khal_module_release(module);
}

/* ---- cubins ------------------------------------------------------------------------------------
 */

/* A cubin that ptxas made of entries add(u64, u32, 24 bytes aligned to 8, u8, u64) with .reqntid 128, 2, 1 and none(). */
static unsigned char* read_cubin(size_t* out_size)
{
    FILE* file = fopen(KHAL_SOURCE_DIR "/tests/fuzz/corpus/module/cubin-entries", "rb");
    assert_non_null(file);
    unsigned char* bytes = malloc(1 << 16);
    assert_non_null(bytes);
    *out_size = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    assert_in_range(*out_size, 1000, (1 << 16) - 1);
    return bytes;
}

static void cubin_entries(void** state)
{
    (void)state;
    size_t size;
    unsigned char* cubin = read_cubin(&size);
    khal_module* module;
    khal_function* function = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.code = cubin, .code_size = size}, &module));
    assert_int_equal(khal_module_get_kernel_count(module), 2);
    assert_string_equal(khal_module_get_kernel_name(module, 0), "none");
    assert_string_equal(khal_module_get_kernel_name(module, 1), "add");
    assert_int_equal(khal_function_create(module, &(khal_function_desc){.entry_point = "missing"}, &function),
                     KHAL_NOT_FOUND);
    says("none, add");
    FAILS(ENTRY_POINT, khal_function_create(module, &(khal_function_desc){.entry_point = "missing"}, &function));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "none"}, &function));
    khal_function_release(function);
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &(khal_function_desc){.entry_point = "add"}, &function));

    const khal_binding_desc bindings[2] = {{.binding = 0}, {.binding = 4}};
    khal_function_desc desc = {.entry_point = "add", .bindings = bindings, .binding_count = 2, .push_constant_size = 40};
    OK(khal_function_create(module, &desc, &function));
    const khal__parameter* parameters;
    uint32_t count;
    assert_true(khal__function_parameters(function, &parameters, &count));
    assert_int_equal(count, 5);
    parameter_is(&parameters[0], KHAL_ARG_BUFFER, 0, 8, 8);
    parameter_is(&parameters[1], KHAL_ARG_VALUE, 0, 4, 4);
    parameter_is(&parameters[2], KHAL_ARG_VALUE, 8, 24, 8);
    parameter_is(&parameters[3], KHAL_ARG_VALUE, 32, 1, 1);
    parameter_is(&parameters[4], KHAL_ARG_BUFFER, 1, 8, 8);
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_int_equal(info->workgroup_size[0], 128);
    assert_int_equal(info->workgroup_size[1], 2);
    assert_int_equal(info->workgroup_size[2], 1);
    khal_function_release(function);
    desc.push_constant_size = 44;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    khal_module_release(module);
    free(cubin);
}

/* Whatever the bytes are, nothing beyond them is read (sanitizers see it), and what loads can be asked. */
static void ask(const unsigned char* bytes, size_t size)
{
    unsigned char* copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    khal_module* module;
    if (khal_module_load(device, &(khal_module_desc){.code = copy, .code_size = size}, &module) == KHAL_OK) {
        for (uint32_t i = 0; i < khal_module_get_kernel_count(module); ++i)
            assert_true(strlen(khal_module_get_kernel_name(module, i)) > 0);
        khal_function* function;
        if (khal_function_create(module, &(khal_function_desc){.entry_point = "add", .push_constant_size = 49}, &function) ==
            KHAL_OK)
            khal_function_release(function);
        khal_module_release(module);
    }
    free(copy);
}

static void broken_cubins(void** state)
{
    (void)state;
    size_t size;
    unsigned char* cubin = read_cubin(&size);
    for (size_t n = 0; n < size; ++n)
        ask(cubin, n);
    for (size_t at = 0; at < size; ++at) {
        const unsigned char was = cubin[at];
        static const unsigned char values[] = {0, 1, 0x7f, 0xff};
        for (int i = 0; i < 4; ++i) {
            cubin[at] = values[i];
            ask(cubin, size);
        }
        cubin[at] = was;
    }
    free(cubin);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(ptx_parameters),
        TEST(ptx_literals_and_types),
        TEST(ptx_declarations),
        TEST(ptx_without_parameters),
        TEST(ptx_layouts_that_do_not_fit),
        TEST(ptx_that_does_not_tell),
        TEST(layouts_of_parameters_from_the_driver),
        TEST(cubin_entries),
        TEST(broken_cubins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
