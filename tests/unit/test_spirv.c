/* SPIR-V: what its structure must be, and what is read from it; and the same of WGSL. */
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

/* ---- structure ------------------------------------------------------------------------------- */

#define BODY(...) __VA_ARGS__

/* A module of one function that does nothing, with something more in three places. */
#define MODULE(name, declarations, in_block, after)                                                \
    static const uint32_t name[] = {SPIRV_HEADER(200),                                             \
                                    SPV(EntryPoint, 5, 4, SPIRV_MAIN),                             \
                                    SPV(ExecutionMode, 4, 17, 1, 1, 1),                            \
                                    SPV(TypeVoid, 1),                                              \
                                    SPV(TypeFunction, 2, 1),                                       \
                                    SPV(TypeInt, 3, 32, 0),                                        \
                                    SPV(TypeFloat, 6, 32),                                         \
                                    SPV(Constant, 3, 7, 1),                                        \
                                    SPV(Constant, 3, 8, 0),                                        \
                                    declarations SPV(Function, 1, 4, 0, 2),                        \
                                    SPV(Label, 5),                                                 \
                                    in_block SPV0(Return),                                         \
                                    SPV0(FunctionEnd),                                             \
                                    after}

#define TAKEN(name) check_module(#name, name, sizeof name, NULL)
#define BROKEN(name, wrong) check_module(#name, name, sizeof name, wrong)

static void check_module(const char* name, const uint32_t* words, size_t size, const char* wrong)
{
    khal_module* module = NULL;
    const khal_status status =
        khal_module_load(device, &(khal_module_desc){.code = words, .code_size = size}, &module);
    if ((status == KHAL_OK) != (wrong == NULL))
        fail_msg("%s: %s", name, status == KHAL_OK ? "it is taken" : khal_error_get()->message);
    if (status != KHAL_OK) {
        assert_int_equal(khal_error_get()->id, KHAL_ERROR_MODULE_MALFORMED);
        if (strstr(khal_error_get()->message, wrong) == NULL)
            fail_msg("%s: \"%s\" does not hold \"%s\"", name, khal_error_get()->message, wrong);
    }
    khal_module_release(module);
}

static void structure(void** state)
{
    (void)state;
    MODULE(plain, BODY(), BODY(), 0x00010000);
    TAKEN(plain);
    MODULE(unknown_instruction, BODY((3u << 16) | 6000, 90, 91, ), BODY(SPV(IAdd, 3, 20, 90, 7), ),
           0x00010000);
    TAKEN(unknown_instruction);
    MODULE(forward_pointer,
           BODY(SPV(TypeForwardPointer, 30, 12), SPV(TypeStruct, 31, 3, 30),
                SPV(TypePointer, 30, 12, 31), ),
           BODY(), 0x00010000);
    TAKEN(forward_pointer);

    MODULE(undefined_id, BODY(), BODY(SPV(IAdd, 3, 20, 7, 99), ), 0x00010000);
    BROKEN(undefined_id, "that nothing defines");
    MODULE(id_beyond_bound, BODY(), BODY(SPV(IAdd, 3, 200, 7, 7), ), 0x00010000);
    BROKEN(id_beyond_bound, "below the bound");
    MODULE(id_twice, BODY(), BODY(SPV(IAdd, 3, 7, 7, 7), ), 0x00010000);
    BROKEN(id_twice, "twice");
    MODULE(id_zero, BODY(), BODY(SPV(IAdd, 3, 0, 7, 7), ), 0x00010000);
    BROKEN(id_zero, "the id 0");
    MODULE(too_few_operands, BODY(), BODY(SPV(IAdd, 3, 20, 7), ), 0x00010000);
    BROKEN(too_few_operands, "too few or too many");
    MODULE(too_many_operands, BODY(), BODY(SPV(IAdd, 3, 20, 7, 7, 7), ), 0x00010000);
    BROKEN(too_many_operands, "too few or too many");
    MODULE(type_is_a_value, BODY(), BODY(SPV(IAdd, 7, 20, 7, 7), ), 0x00010000);
    BROKEN(type_is_a_value, "no type");
    MODULE(type_of_itself, BODY(SPV(TypeStruct, 30, 30), ), BODY(), 0x00010000);
    BROKEN(type_of_itself, "not defined before");
    MODULE(type_of_later, BODY(SPV(TypeStruct, 30, 31), SPV(TypeStruct, 31, 3), ), BODY(),
           0x00010000);
    BROKEN(type_of_later, "not defined before");
    MODULE(constant_of_itself,
           BODY(SPV(TypeVector, 30, 3, 2), SPV(ConstantComposite, 30, 31, 31, 7), ), BODY(),
           0x00010000);
    BROKEN(constant_of_itself, "not defined before");
    MODULE(vector_of_vectors, BODY(SPV(TypeVector, 30, 3, 2), SPV(TypeVector, 31, 30, 2), ), BODY(),
           0x00010000);
    BROKEN(vector_of_vectors, "can't hold");
    MODULE(vector_of_none, BODY(SPV(TypeVector, 30, 3, 0), ), BODY(), 0x00010000);
    BROKEN(vector_of_none, "impossible size");
    MODULE(int_of_7_bits, BODY(SPV(TypeInt, 30, 7, 0), ), BODY(), 0x00010000);
    BROKEN(int_of_7_bits, "impossible width");
    MODULE(branch_to_a_value, BODY(), BODY(SPV(Branch, 7), SPV(Label, 20), ), 0x00010000);
    BROKEN(branch_to_a_value, "out of its function");
    MODULE(branch_to_another_function, BODY(), BODY(SPV(Branch, 41), SPV(Label, 20), ),
           BODY(SPV(Function, 1, 40, 0, 2), SPV(Label, 41), SPV0(Return), SPV0(FunctionEnd)));
    BROKEN(branch_to_another_function, "out of its function");
    MODULE(switch_of_half_a_case, BODY(), BODY(SPV(Switch, 7, 20, 1), SPV(Label, 20), ),
           0x00010000);
    BROKEN(switch_of_half_a_case, "not whole");
    MODULE(after_the_end, BODY(), BODY(SPV0(Return), SPV(IAdd, 3, 20, 7, 7), SPV(Label, 21), ),
           0x00010000);
    BROKEN(after_the_end, "between two blocks");
    MODULE(block_in_block, BODY(), BODY(SPV(Label, 21), ), 0x00010000);
    BROKEN(block_in_block, "OpLabel");
    MODULE(type_in_function, BODY(), BODY(SPV(TypeStruct, 21, 3), ), 0x00010000);
    BROKEN(type_in_function, "declaration inside");
    MODULE(block_outside, BODY(SPV(Label, 21), ), BODY(), 0x00010000);
    BROKEN(block_outside, "OpLabel");
    MODULE(function_without_end, BODY(), BODY(),
           BODY(SPV(Function, 1, 40, 0, 2), SPV(Label, 41), SPV0(Return)));
    BROKEN(function_without_end, "without its end");
    MODULE(function_in_function, BODY(), BODY(SPV(Function, 1, 40, 0, 2), ), 0x00010000);
    BROKEN(function_in_function, "inside a function");
    MODULE(calls_itself, BODY(), BODY(SPV(FunctionCall, 1, 20, 4), ), 0x00010000);
    BROKEN(calls_itself, "calls itself");
    MODULE(calls_in_a_circle, BODY(), BODY(SPV(FunctionCall, 1, 20, 40), ),
           BODY(SPV(Function, 1, 40, 0, 2), SPV(Label, 41), SPV(FunctionCall, 1, 42, 4),
                SPV0(Return), SPV0(FunctionEnd)));
    BROKEN(calls_in_a_circle, "calls itself");
    MODULE(call_of_a_value, BODY(), BODY(SPV(FunctionCall, 1, 20, 7), ), 0x00010000);
    BROKEN(call_of_a_value, "no function");
    MODULE(load_of_a_value, BODY(), BODY(SPV(Load, 3, 20, 7), ), 0x00010000);
    BROKEN(load_of_a_value, "no pointer");
    static const uint32_t entry_of_a_type[] = {SPIRV_HEADER(10), SPV(EntryPoint, 5, 1, SPIRV_MAIN),
                                               SPV(TypeVoid, 1)};
    BROKEN(entry_of_a_type, "no function");
    static const uint32_t endless_name[] = {SPIRV_HEADER(10), SPV(EntryPoint, 5, 1, 0x6e69616d)};
    BROKEN(endless_name, "does not end");
    static const uint32_t huge_bound[] = {SPIRV_HEADER(0xffffffff), SPV(TypeVoid, 1)};
    BROKEN(huge_bound, "bound");
}

static void types_nested_too_deeply(void** state)
{
    (void)state;
    enum { DEPTH = 300 };
    uint32_t words[5 + 4 + 3 * DEPTH] = {SPIRV_HEADER(DEPTH + 2), SPV(TypeInt, 1, 32, 0)};
    for (uint32_t i = 0; i < DEPTH; ++i) {
        const uint32_t next[3] = {SPV(TypeStruct, i + 2, i + 1)};
        memcpy(words + 9 + 3 * i, next, sizeof next);
    }
    check_module("nested", words, sizeof words, "nested too deeply");
    words[3] = 202;
    check_module("nested less", words, (9 + 3 * 200) * 4, NULL);
}

static void calls_nested_too_deeply(void** state)
{
    (void)state;
    enum { DEPTH = 400, EACH = 5 + 2 + 4 + 1 + 1 };
    static uint32_t words[11 + EACH * DEPTH] = {SPIRV_HEADER(3 * DEPTH + 100), SPV(TypeVoid, 1),
                                                SPV(TypeFunction, 2, 1)};
    uint32_t at = 10;
    for (uint32_t i = 0; i < DEPTH; ++i) {
        const uint32_t id = 10 + 3 * i;
        const uint32_t function[EACH] = {SPV(Function, 1, id, 0, 2), SPV(Label, id + 1),
                                         SPV(FunctionCall, 1, id + 2, i + 1 < DEPTH ? id + 3 : id),
                                         SPV0(Return), SPV0(FunctionEnd)};
        memcpy(words + at, function, sizeof function);
        at += EACH;
    }
    check_module("calls", words, at * 4, "nested too deeply");
}

/* ---- reflection --------------------------------------------------------------------------------
 */

/* What is in a std430 buffer, a uniform block, push constants and work-group memory; and one that
 * only the second entry point reaches, by way of a function. */
static const uint32_t reflected[] = {
    SPIRV_HEADER(200),
    SPV(EntryPoint, 5, 4, SPIRV_MAIN),
    SPV(EntryPoint, 5, 5, 0x65746661, 0x72), /* "after" */
    SPV(ExecutionMode, 4, 17, 8, 4, 2),
    SPV(Name, 20, 0x706e69), /* "inp" */
    SPV(Name, 31, 0x426c6b), /* the type: "klB" */
    SPV(Decorate, 30, KHAL__DECORATION_ARRAY_STRIDE, 8),
    SPV(Decorate, 31, KHAL__DECORATION_BLOCK),
    SPV(MemberDecorate, 31, 0, KHAL__DECORATION_OFFSET, 0),
    SPV(Decorate, 36, KHAL__DECORATION_BLOCK),
    SPV(MemberDecorate, 36, 0, KHAL__DECORATION_OFFSET, 0),
    SPV(MemberDecorate, 36, 1, KHAL__DECORATION_OFFSET, 16),
    SPV(MemberDecorate, 36, 1, KHAL__DECORATION_MATRIX_STRIDE, 16),
    SPV(Decorate, 20, KHAL__DECORATION_DESCRIPTOR_SET, 1),
    SPV(Decorate, 20, KHAL__DECORATION_BINDING, 0),
    SPV(Decorate, 21, KHAL__DECORATION_DESCRIPTOR_SET, 0),
    SPV(Decorate, 21, KHAL__DECORATION_BINDING, 7),
    SPV(Decorate, 22, KHAL__DECORATION_DESCRIPTOR_SET, 0),
    SPV(Decorate, 22, KHAL__DECORATION_BINDING, 2),
    SPV(Decorate, 23, KHAL__DECORATION_DESCRIPTOR_SET, 0),
    SPV(Decorate, 23, KHAL__DECORATION_BINDING, 3),
    SPV(Decorate, 23, KHAL__DECORATION_NON_WRITABLE),
    SPV(TypeVoid, 1),
    SPV(TypeFunction, 2, 1),
    SPV(TypeInt, 3, 32, 0),
    SPV(TypeFloat, 6, 32),
    SPV(Constant, 3, 7, 1),
    SPV(Constant, 3, 8, 0),
    SPV(Constant, 3, 9, 100),
    SPV(TypeVector, 10, 6, 2),
    SPV(TypeVector, 11, 6, 3),
    SPV(TypeMatrix, 12, 11, 3),
    SPV(TypeRuntimeArray, 30, 10),
    SPV(TypeStruct, 31, 30),
    SPV(TypePointer, 32, 12, 31),
    SPV(TypePointer, 33, 12, 10),
    SPV(TypeArray, 34, 11, 9),
    SPV(TypePointer, 35, 4, 34),
    SPV(TypeStruct, 36, 11, 12),
    SPV(TypePointer, 37, 2, 36),
    SPV(TypePointer, 38, 9, 36),
    SPV(TypePointer, 39, 2, 11),
    SPV(TypePointer, 40, 9, 11),
    SPV(TypePointer, 41, 4, 11),
    SPV(Variable, 32, 20, 12),
    SPV(Variable, 32, 21, 12),
    SPV(Variable, 37, 22, 2),
    SPV(Variable, 32, 23, 12),
    SPV(Variable, 38, 24, 9),
    SPV(Variable, 35, 25, 4),

    SPV(Function, 1, 4, 0, 2),
    SPV(Label, 50),
    SPV(AccessChain, 33, 51, 20, 8, 7),
    SPV(Load, 10, 52, 51),
    SPV(AccessChain, 33, 53, 21, 8, 7),
    SPV(CopyObject, 33, 54, 53),
    SPV(Store, 54, 52),
    SPV(AccessChain, 39, 55, 22, 8),
    SPV(Load, 11, 56, 55),
    SPV(AccessChain, 40, 57, 24, 8),
    SPV(Load, 11, 58, 57),
    SPV(AccessChain, 41, 59, 25, 7),
    SPV(Store, 59, 58),
    SPV0(Return),
    SPV0(FunctionEnd),
    SPV(Function, 1, 5, 0, 2),
    SPV(Label, 60),
    SPV(FunctionCall, 1, 61, 70),
    SPV0(Return),
    SPV0(FunctionEnd),
    SPV(Function, 1, 70, 0, 2),
    SPV(Label, 71),
    SPV(ArrayLength, 3, 72, 23, 0),
    SPV(CopyMemory, 20, 23),
    SPV0(Return),
    SPV0(FunctionEnd),
};

static void has_arg(const khal_kernel_info* info, uint32_t at, const char* name, uint32_t kind,
                    uint32_t access, uint32_t element_size)
{
    assert_true(at < info->arg_count);
    assert_string_equal(info->args[at].name, name);
    assert_int_equal(info->args[at].kind, kind);
    assert_int_equal(info->args[at].access, access);
    assert_int_equal(info->args[at].element_size, element_size);
    assert_int_equal(info->args[at].index, at);
}

enum { READ = KHAL_ACCESS_READ, WRITE = KHAL_ACCESS_WRITE };

static void reflection_of_spirv(void** state)
{
    (void)state;
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(
        device, &(khal_module_desc){.code = reflected, .code_size = sizeof reflected}, &module));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "main"}, &function));
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_int_equal(info->binding_count, 3);
    has_arg(info, 0, "2", KHAL_ARG_CONSTANT, READ, 1);  /* group 0, binding 2 */
    has_arg(info, 1, "klB", KHAL_ARG_BUFFER, WRITE, 8); /* group 0, binding 7 */
    has_arg(info, 2, "inp", KHAL_ARG_BUFFER, READ, 8);  /* group 1, binding 0 */
    assert_int_equal(info->push_constant_size, 64);
    assert_int_equal(info->local_memory_size, 1600);
    assert_int_equal(info->workgroup_size[0], 8);
    assert_int_equal(info->workgroup_size[1], 4);
    assert_int_equal(info->workgroup_size[2], 2);
    khal_function_release(function);

    OK(khal_function_create(
        module, &(khal_function_desc){.entry_point = "after", .workgroup_size = {64}}, &function));
    info = khal_function_get_info(function);
    assert_int_equal(info->binding_count, 2);
    has_arg(info, 0, "klB", KHAL_ARG_BUFFER, READ, 8);
    has_arg(info, 1, "inp", KHAL_ARG_BUFFER, WRITE, 8);
    assert_int_equal(info->push_constant_size, 0);
    assert_int_equal(info->local_memory_size, 0);
    assert_int_equal(info->workgroup_size[0], 64);
    assert_int_equal(info->workgroup_size[1], 1);
    khal_function_release(function);
    khal_module_release(module);
}

static void explicit_layouts_agree_with_the_code(void** state)
{
    (void)state;
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(
        device, &(khal_module_desc){.code = reflected, .code_size = sizeof reflected}, &module));
    khal_binding_desc bindings[] = {{.group = 0, .binding = 3},
                                    {.group = 1, .binding = 0, .access = READ},
                                    {.group = 5, .binding = 1}};
    khal_function_desc desc = {.entry_point = "after", .bindings = bindings, .binding_count = 3};
    FAILS(FUNCTION_LAYOUT,
          khal_function_create(module, &desc, &function)); /* it writes to the second */
    bindings[1].access = WRITE;
    OK(khal_function_create(module, &desc, &function));
    has_arg(khal_function_get_info(function), 0, "klB", KHAL_ARG_BUFFER, READ | WRITE, 1);
    has_arg(khal_function_get_info(function), 1, "inp", KHAL_ARG_BUFFER, WRITE, 1);
    has_arg(khal_function_get_info(function), 2, "1", KHAL_ARG_BUFFER, READ | WRITE, 1);
    khal_function_release(function);
    bindings[0].kind = KHAL_ARG_CONSTANT;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    bindings[0].kind = 0;
    bindings[0].binding = 9; /* so that the third is not there */
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    assert_int_equal(khal_function_create(module, &desc, &function), KHAL_INVALID_ARGUMENT);
    assert_non_null(strstr(khal_error_get()->message, "klB"));
    FAILS(FUNCTION_LAYOUT,
          khal_function_create(
              module, &(khal_function_desc){.entry_point = "main", .push_constant_size = 60},
              &function));
    OK(khal_function_create(
        module, &(khal_function_desc){.entry_point = "main", .push_constant_size = 80}, &function));
    assert_int_equal(khal_function_get_info(function)->push_constant_size, 80);
    assert_int_equal(khal_function_get_info(function)->binding_count, 3);
    khal_function_release(function);
    khal_module_release(module);
}

/* What can't be told needs an explicit layout, and takes any. */
static void code_that_does_not_tell(void** state)
{
    (void)state;
    khal_module* module;
    khal_function* function;
    static const uint32_t kernel[] = {
        SPIRV_HEADER(20),
        SPV(EntryPoint, 6, 4, SPIRV_MAIN),
        SPV(TypeVoid, 1),
        SPV(TypeFunction, 2, 1),
        SPV(Function, 1, 4, 0, 2),
        SPV(Label, 5),
        SPV0(Return),
        SPV0(FunctionEnd),
    };
    static const uint32_t image[] = {
        SPIRV_HEADER(20),
        SPV(EntryPoint, 5, 4, SPIRV_MAIN),
        SPV(Decorate, 8, KHAL__DECORATION_DESCRIPTOR_SET, 0),
        SPV(Decorate, 8, KHAL__DECORATION_BINDING, 0),
        SPV(TypeVoid, 1),
        SPV(TypeFunction, 2, 1),
        SPV(TypeSampler, 6),
        SPV(TypePointer, 7, 0, 6),
        SPV(Variable, 7, 8, 0),
        SPV(Function, 1, 4, 0, 2),
        SPV(Label, 5),
        SPV(Load, 6, 9, 8),
        SPV0(Return),
        SPV0(FunctionEnd),
    };
    static const struct {
        const void* code;
        size_t size;
        const char* why;
    } codes[] = {
        {kernel, sizeof kernel, "OpenCL"},
        {image, sizeof image, "no buffers"},
#define TEXT(text) text, sizeof text - 1
        {TEXT("const n = 1; @group(n) @binding(0) var<storage> a: array<f32>;\n"
              "@compute @workgroup_size(1) fn main() { _ = a[0]; }"),
         "as a number"},
        {TEXT("@group(0) @binding(0) var a: texture_2d<f32>;\n@compute @workgroup_size(1) fn "
              "main() { let b = a; }"),
         "no buffers"},
        {TEXT("var<immediate> a: vec4f;\n@compute @workgroup_size(1) fn main() { let b = a; }"),
         "push constants"},
        {TEXT("@group(0) var<storage> a: u32;\n@compute @workgroup_size(1) fn main() { let b = a; "
              "}"),
         "without a group or binding"},
        {TEXT(".version 8.0\n.target sm_80\n"
              ".entry main(.param .u64 a, .param .u64 b) { ret; }"),
         "does not tell"},
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
        OK(khal_module_load(device,
                            &(khal_module_desc){.code = codes[i].code, .code_size = codes[i].size},
                            &module));
        assert_int_equal(khal_function_create(module, NULL, &function), KHAL_INVALID_ARGUMENT);
        if (strstr(khal_error_get()->message, codes[i].why) == NULL)
            fail_msg("%zu: \"%s\" does not hold \"%s\"", i, khal_error_get()->message,
                     codes[i].why);
        FAILS(FUNCTION_LAYOUT, khal_function_create(module, NULL, &function));
        OK(khal_function_create(module, &(khal_function_desc){.push_constant_size = 16},
                                &function));
        khal_function_release(function);
        khal_module_release(module);
    }
}

static void reflection_of_wgsl(void** state)
{
    (void)state;
    static const char text[] =
        "enable f16;\n"
        "alias number = f32;\n"
        "struct body { @size(16) position: vec3f, mass: f32 }\n"
        "override scale: f32 = f32(1.5);\n"
        "@group(1) @binding(0) var<storage, read_write,> out: array<vec3<f32>>;\n"
        "@binding(4) @group(0) var<storage, read> words: array<atomic<u32>>;\n"
        "@group(0u) @binding(0x) var<storage> odd: u32;\n"
        "@group(0) @binding(2) var<uniform> u: body;\n"
        "@group(0) @binding(1) var<storage> bodies: array<body>;\n"
        "@group(0) @binding(9) var<storage> unused: array<f16>;\n"
        "@group(2) @binding(0) var<storage, read_write> halves: array<vec2h>;\n"
        "var<workgroup> shared_words: array<u32, 64>;\n"
        "var<private> p: u32;\n"
        "const_assert 1 < 2;\n"
        "fn helper(i: u32) -> f32 { return bodies[i].mass * scale; }\n"
        "fn not_called() -> f16 { return unused[0]; }\n"
        "@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
        "  // unused, halves\n"
        "  out[id.x] = vec3(helper(id.y), u.position.x, /* odd */ f32(words[0]));\n"
        "}\n"
        "@compute @workgroup_size(64) fn second() { halves[0] = vec2h(); }\n";
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(device, &(khal_module_desc){.code = text, .code_size = sizeof text},
                        &module));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "main"}, &function));
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_int_equal(info->binding_count, 4);
    has_arg(info, 0, "bodies", KHAL_ARG_BUFFER, READ, 1);
    has_arg(info, 1, "u", KHAL_ARG_CONSTANT, READ, 1);
    has_arg(info, 2, "words", KHAL_ARG_BUFFER, READ, 4);
    has_arg(info, 3, "out", KHAL_ARG_BUFFER, READ | WRITE, 16);
    assert_int_equal(info->workgroup_size[1], 8);
    khal_function_release(function);
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "second"}, &function));
    assert_int_equal(khal_function_get_info(function)->binding_count, 1);
    has_arg(khal_function_get_info(function), 0, "halves", KHAL_ARG_BUFFER, READ | WRITE, 4);
    khal_function_release(function);
    khal_module_release(module);
}

/* Many bindings, out of order: the list grows and stays sorted. */
static void many_bindings(void** state)
{
    (void)state;
    enum { COUNT = 40, EACH = 2 * 4 };
    static char text[COUNT * 160 + 200];
    size_t length = 0;
    for (uint32_t i = 0; i < COUNT; ++i)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "@group(%u) @binding(%u) var<storage> b%u: array<u32>;\n",
                                   i * 7 % COUNT % 4, i * 7 % COUNT / 4, i);
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "@compute @workgroup_size(1) fn main() {\n");
    for (uint32_t i = 0; i < COUNT; ++i)
        length += (size_t)snprintf(text + length, sizeof text - length, "_ = b%u[0];\n", i);
    length += (size_t)snprintf(text + length, sizeof text - length, "}\n");
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(device, &(khal_module_desc){.code = text, .code_size = length}, &module));
    OK(khal_function_create(module, NULL, &function));
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_int_equal(info->binding_count, COUNT);
    for (uint32_t i = 0; i < COUNT; ++i) {
        char name[16];
        for (uint32_t k = 0; k < COUNT; ++k)
            if (k * 7 % COUNT % 4 == i / 10 && k * 7 % COUNT / 4 == i % 10)
                snprintf(name, sizeof name, "b%u", k);
        assert_string_equal(info->args[i].name, name);
    }
    khal_function_release(function);
    khal_module_release(module);
}

static void local_memory_over_the_limit(void** state)
{
    (void)state;
    static const uint32_t code[] = {
        SPIRV_HEADER(20),
        SPV(EntryPoint, 5, 4, SPIRV_MAIN),
        SPV(ExecutionMode, 4, 17, 1, 1, 1),
        SPV(TypeVoid, 1),
        SPV(TypeFunction, 2, 1),
        SPV(TypeInt, 3, 32, 0),
        SPV(Constant, 3, 6, 0x10000000),
        SPV(TypeArray, 7, 3, 6),
        SPV(TypeArray, 8, 7, 6),
        SPV(TypePointer, 9, 4, 8),
        SPV(TypePointer, 10, 4, 3),
        SPV(Variable, 9, 11, 4),
        SPV(Function, 1, 4, 0, 2),
        SPV(Label, 5),
        SPV(AccessChain, 10, 12, 11, 6, 6),
        SPV(Load, 3, 13, 12),
        SPV0(Return),
        SPV0(FunctionEnd),
    };
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(device, &(khal_module_desc){.code = code, .code_size = sizeof code},
                        &module));
    FAILS(FUNCTION_LIMIT,
          khal_function_create(module, NULL, &function)); /* 2^58 bytes do not wrap */
    khal_module_release(module);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(structure),
        TEST(types_nested_too_deeply),
        TEST(calls_nested_too_deeply),
        TEST(reflection_of_spirv),
        TEST(explicit_layouts_agree_with_the_code),
        TEST(code_that_does_not_tell),
        TEST(reflection_of_wgsl),
        TEST(many_bindings),
        TEST(local_memory_over_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
