/* Modules and functions: formats told apart, broken code refused, the cache, layouts, and loading
 * in steps. */
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

static khal_status load(const void* code, size_t size, khal_module** out_module)
{
    return khal_module_load(device, &(khal_module_desc){.code = code, .code_size = size},
                            out_module);
}

static khal_module* loads(const void* code, size_t size)
{
    khal_module* module;
    OK(load(code, size, &module));
    return module;
}

#define LOADS_TEXT(text) loads(text, strlen(text))

static const uint32_t spirv[] = {
    SPIRV_HEADER(100),
    SPV(Capability, 1),
    SPV(EntryPoint, 5, 4, SPIRV_MAIN, 20),
    SPV(EntryPoint, 5, 5, 0x65746661, 0x72, 20, 20), /* "after" */
    SPV(EntryPoint, 4, 6, 0x00676966, 20),           /* fragment "fig": none of ours */
    SPV(ExecutionMode, 4, 17, 8, 4, 2),
    SPV(Decorate, 7, KHAL__DECORATION_SPEC_ID, 42),
    SPV(Decorate, 9, KHAL__DECORATION_SPEC_ID, 7),
    SPV(TypeVoid, 1),
    SPV(TypeFunction, 2, 1),
    SPV(TypeInt, 3, 32, 0),
    SPV(TypePointer, 8, 1, 3),
    SPV(SpecConstant, 3, 7, 1),
    SPV(SpecConstant, 3, 9, 1),
    SPV(Variable, 8, 20, 1),
    SPV(Function, 1, 4, 0, 2),
    SPV(Label, 10),
    SPV0(Return),
    SPV0(FunctionEnd),
    SPV(Function, 1, 5, 0, 2),
    SPV(Label, 11),
    SPV0(Return),
    SPV0(FunctionEnd),
    SPV(Function, 1, 6, 0, 2),
    SPV(Label, 12),
    SPV0(Return),
    SPV0(FunctionEnd),
};

static const char wgsl[] =
    "// fn comment() is none\n"
    "/* @compute fn nor_this() */\n"
    "override scale: f32 = 1.0;\n@id(3) override other: u32;\n"
    "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
    "fn helper() {}\n"
    "@compute @workgroup_size(64) fn one(@builtin(global_invocation_id) id: vec3u) { helper(); }\n"
    "@workgroup_size(8u, 4) @compute\nfn two() {}\n"
    "@compute @workgroup_size(scale_by) fn three() {}\n";
static const char ptx[] =
    "//\n// made by a compiler\n//\n.version 8.0\n.target sm_80\n.address_size 64\n"
    ".func helper() { ret; }\n.visible .entry first(\n.param .u64 p0)\n{ ret; }\n.entry second() { "
    "ret; }\n";
static const char msl[] = "#include <metal_stdlib>\nusing namespace metal;\n"
                          "float helper(float x) { return x; }\n// kernel void comment()\nkernel "
                          "void main0(device float* x [[buffer(0)]]) {}\n";

static void has_kernels(khal_module* module, uint32_t count, const char* const* names)
{
    assert_int_equal(khal_module_get_kernel_count(module), count);
    for (uint32_t i = 0; i < count; ++i)
        assert_string_equal(khal_module_get_kernel_name(module, i), names[i]);
    assert_null(khal_module_get_kernel_name(module, count));
    khal_module_release(module);
}

static void formats_are_told_apart(void** state)
{
    (void)state;
    has_kernels(loads(spirv, sizeof spirv), 2, (const char*[]){"main", "after"});
    uint32_t swapped[sizeof spirv / 4];
    for (size_t i = 0; i < sizeof spirv / 4; ++i)
        swapped[i] =
            spirv[i] >> 24 | (spirv[i] >> 8 & 0xff00) | (spirv[i] << 8 & 0xff0000) | spirv[i] << 24;
    has_kernels(loads(swapped, sizeof swapped), 2, (const char*[]){"main", "after"});
    has_kernels(LOADS_TEXT(wgsl), 3, (const char*[]){"one", "two", "three"});
    has_kernels(loads(wgsl, sizeof wgsl), 3,
                (const char*[]){"one", "two", "three"}); /* with its final 0 */
    has_kernels(LOADS_TEXT(ptx), 2, (const char*[]){"first", "second"});
    has_kernels(LOADS_TEXT(msl), 1, (const char*[]){"main0"});
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    elf[18] = 190;
    has_kernels(loads(elf, sizeof elf), 0, NULL);
    const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1};
    has_kernels(loads(fatbin, sizeof fatbin), 0, NULL);
}

static void anything_else_is_refused(void** state)
{
    (void)state;
    khal_module* module;
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    elf[18] = 62; /* x86-64 */
    FAILS(MODULE_FORMAT, load(elf, sizeof elf, &module));
    FAILS(MODULE_FORMAT, load(elf, 10, &module));
    FAILS(MODULE_FORMAT, load("\0", 1, &module));
    FAILS(MODULE_FORMAT, load("text that is no code", 20, &module));
    FAILS(MODULE_FORMAT, load("// fn only in a comment", 23, &module));
    FAILS(MODULE_FORMAT, load("/* unended @compute fn", 22, &module));
    FAILS(MODULE_FORMAT, load(".target sm_80", 13, &module));
    FAILS(MODULE_FORMAT, load("kernel void opencl(global float* x) {}", 38, &module));
    FAILS(MODULE_FORMAT, load("fn broken \xc3(", 12, &module));
    FAILS(MODULE_FORMAT, load("fn f\001()", 8, &module));
    FAILS(MODULE_FORMAT, load("fn with\0a zero inside", 21, &module));
    unsigned char noise[256];
    for (unsigned seed = 1; seed < 500; ++seed) {
        uint32_t x = seed;
        for (size_t i = 0; i < sizeof noise; ++i)
            noise[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
        if (load(noise, sizeof noise, &module) == KHAL_OK)
            fail_msg("noise %u is taken for code", seed);
    }
    assert_int_equal(load("abc", 3, &module), KHAL_UNSUPPORTED);
    assert_non_null(strstr(khal_error_get()->message, "61 62 63")); /* what it got */
    assert_non_null(
        strstr(khal_error_get()->message, "SPIR-V, WGSL, PTX, cubin, MSL")); /* what it takes */
}

static void devices_take_their_own_formats_alone(void** state)
{
    (void)state;
    khal_device *little, *cpu;
    khal_module* module;
    OK(khal_device_open(&(khal_device_desc){.name = "noop, little"}, &little));
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &cpu));
    FAILS(MODULE_FORMAT,
          khal_module_load(little, &(khal_module_desc){.code = wgsl, .code_size = sizeof wgsl},
                           &module));
    assert_int_equal(khal_module_load(cpu,
                                      &(khal_module_desc){.code = spirv, .code_size = sizeof spirv},
                                      &module),
                     KHAL_UNSUPPORTED);
    assert_non_null(strstr(khal_error_get()->message, "SPIR-V"));
    FAILS(MODULE_NO_CODE,
          khal_module_load(little, &(khal_module_desc){.library = &front_library}, &module));
    OK(khal_module_load(cpu, &(khal_module_desc){.library = &front_library}, &module));
    khal_module_release(module);
    khal_code code = front_codes[0];
    code.abi = 77;
    khal_kernel_library library = front_library;
    library.codes = &code;
    FAILS(MODULE_VERSION, khal_module_load(cpu, &(khal_module_desc){.library = &library}, &module));
    code.abi = KHAL_CPU_ABI;
    code.cpu_kernels = NULL;
    FAILS(MODULE_MALFORMED,
          khal_module_load(cpu, &(khal_module_desc){.library = &library}, &module));
    code.format = 1000;
    FAILS(MODULE_NO_CODE, khal_module_load(cpu, &(khal_module_desc){.library = &library}, &module));
    khal_device_release(little);
    khal_device_release(cpu);
}

/* Every prefix and every changed byte is refused or taken, and nothing worse. */
/* A library with these codes, all with the same kernels. */
static khal_status load_codes(const khal_code* codes, uint32_t count, khal_module** out_module)
{
    khal_kernel_library library = front_library;
    library.codes = codes;
    library.code_count = count;
    return khal_module_load(device, &(khal_module_desc){.library = &library}, out_module);
}

static uint32_t level_chosen(const khal_code* codes, uint32_t count)
{
    khal_module* module;
    OK(load_codes(codes, count, &module));
    const uint32_t level = khal__module_code(module)->level;
    khal_module_release(module);
    return level;
}

static void of_a_librarys_codes_the_best_is_chosen(void** state)
{
    (void)state;
    noop_control* control = noop_control_of(device);
    khal_module* module;
    khal_ptx_kernel kernels[KERNEL_COUNT];
    for (int i = 0; i < KERNEL_COUNT; ++i)
        kernels[i] = (khal_ptx_kernel){.entry = "k", .grid_entry = "k$grid"};
    static const char text[] = ".version 6.3";
    const khal_code codes[] = {
        {KHAL_FORMAT_PTX, 0, 75, KHAL_PTX_ABI, text, sizeof text, .ptx_kernels = kernels},
        {KHAL_FORMAT_PTX, 0, 90, KHAL_PTX_ABI, text, sizeof text, .ptx_kernels = kernels},
        {KHAL_FORMAT_CUBIN, 0, 80, KHAL_PTX_ABI, text, sizeof text, .ptx_kernels = kernels},
        {KHAL_FORMAT_PTX, 0, 120, KHAL_PTX_ABI + 1, text, sizeof text, .ptx_kernels = kernels},
    };
    assert_int_equal(level_chosen(codes, 4), 90);
    atomic_store(&control->most_level, 89);
    assert_int_equal(level_chosen(codes, 4), 80);
    atomic_store(&control->most_level, 75);
    assert_int_equal(level_chosen(codes, 4), 75);
    atomic_store(&control->most_level, 61);
    FAILS(MODULE_NO_CODE, load_codes(codes, 4, &module));
    assert_int_equal(load_codes(codes, 4, &module), KHAL_UNSUPPORTED);
    assert_non_null(strstr(khal_error_get()->message, "PTX for compute capability 7.5, "
                                                      "PTX for compute capability 9.0, "
                                                      "cubin for compute capability 8.0, "
                                                      "PTX for compute capability 12.0; noop"));
    atomic_store(&control->most_level, 0);
    FAILS(MODULE_VERSION, load_codes(codes + 3, 1, &module));

    khal_code code = codes[0];
    code.ptx_kernels = NULL;
    FAILS(MODULE_MALFORMED, load_codes(&code, 1, &module));
    code = codes[0];
    code.size = 0;
    FAILS(MODULE_MALFORMED, load_codes(&code, 1, &module));
    code.size = sizeof text - 1; /* without the 0 */
    FAILS(MODULE_MALFORMED, load_codes(&code, 1, &module));
    code.format = KHAL_FORMAT_CUBIN;
    OK(load_codes(&code, 1, &module));
    khal_module_release(module);
    code = codes[0];
    kernels[3] = (khal_ptx_kernel){.entry = "k"};
    FAILS(MODULE_MALFORMED, load_codes(&code, 1, &module));
    kernels[3] = (khal_ptx_kernel){.grid_entry = "k"};
    FAILS(MODULE_MALFORMED, load_codes(&code, 1, &module));
    kernels[3] = (khal_ptx_kernel){0};
    FAILS(MODULE_MALFORMED, load_codes(&code, 1, &module));
    kernels[3] = (khal_ptx_kernel){.reason = "kernels.cl:1:1: why"};
    OK(load_codes(&code, 1, &module));
    khal_module_release(module);
}

static void broken_spirv(void** state)
{
    (void)state;
    khal_module* module;
    for (size_t size = 4; size < sizeof spirv; ++size)
        if (load(spirv, size, &module) == KHAL_OK)
            khal_module_release(module);
    unsigned char changed[sizeof spirv];
    unsigned refused = 0;
    for (size_t at = 0; at < sizeof spirv; ++at)
        for (int bit = 0; bit < 8; ++bit) {
            memcpy(changed, spirv, sizeof spirv);
            changed[at] ^= (unsigned char)(1u << bit);
            if (load(changed, sizeof changed, &module) == KHAL_OK)
                khal_module_release(module);
            else
                ++refused;
        }
    assert_true(refused > 100);
    const uint32_t header[] = {0x07230203, 0x00010000, 0, 10, 0};
    for (size_t i = 1; i < 5; ++i) {
        uint32_t bad[5];
        memcpy(bad, header, sizeof bad);
        if (i == 2)
            continue; /* the generator may be anything */
        bad[i] = i == 1 ? 0x00020000 : i == 3 ? 0 : 1;
        FAILS(MODULE_MALFORMED, load(bad, sizeof bad, &module));
    }
    const uint32_t no_length[] = {0x07230203, 0x00010000, 0, 10, 0, 0x00000011};
    FAILS(MODULE_MALFORMED, load(no_length, sizeof no_length, &module));
    const uint32_t too_long[] = {0x07230203, 0x00010000, 0, 10, 0, 0x00030011, 1};
    FAILS(MODULE_MALFORMED, load(too_long, sizeof too_long, &module));
    const uint32_t endless_name[] = {0x07230203, 0x00010000, 0, 10,        0,
                                     0x0004000f, 5,          4, 0x6e69616d};
    FAILS(MODULE_MALFORMED, load(endless_name, sizeof endless_name, &module));
    const uint32_t short_entry[] = {0x07230203, 0x00010000, 0, 10, 0, 0x0003000f, 5, 4};
    FAILS(MODULE_MALFORMED, load(short_entry, sizeof short_entry, &module));
}

static void the_cache_compares_content(void** state)
{
    (void)state;
    noop_control* control = noop_control_of(device);
    char copy[sizeof wgsl];
    memcpy(copy, wgsl, sizeof wgsl);
    khal_module* a = loads(wgsl, sizeof wgsl);
    khal_module* b = loads(copy, sizeof copy);
    assert_ptr_equal(a, b);
    assert_int_equal(atomic_load(&control->calls[NOOP_MODULE_CREATE]), 1);
    copy[40] ^= 1; /* in a comment */
    khal_module* c = loads(copy, sizeof copy);
    assert_ptr_not_equal(a, c);
    khal_module* d;
    OK(khal_module_load(
        device, &(khal_module_desc){.code = wgsl, .code_size = sizeof wgsl, .passthrough = true},
        &d));
    assert_ptr_not_equal(a, d);
    assert_int_equal(statistics(device).live_objects, 3);
    khal_module_release(a);
    assert_int_equal(statistics(device).live_objects, 3);
    khal_module_release(b);
    assert_int_equal(statistics(device).live_objects, 2); /* gone with its last user */
    khal_module_release(c);
    khal_module_release(d);
    a = loads(wgsl, sizeof wgsl);
    assert_int_equal(atomic_load(&control->calls[NOOP_MODULE_CREATE]), 4);
    khal_module_release(a);
    /* A module that only its functions keep is found again. */
    khal_function* function = make_function(device, "none");
    khal_module* library = load_front(device);
    assert_int_equal(statistics(device).live_objects, 2);
    khal_function_release(function);
    assert_string_equal(khal_module_get_kernel_name(library, 0), "add");
    khal_module_release(library);
    assert_int_equal(statistics(device).live_objects, 0);
}

static void a_failed_module_is_not_cached(void** state)
{
    (void)state;
    khal_module* module;
    noop_control* control = noop_control_of(device);
    atomic_store(&control->fail[NOOP_MODULE_CREATE], 1);
    FAILS(MODULE_COMPILE, load(wgsl, sizeof wgsl, &module));
    atomic_store(&control->fail[NOOP_MODULE_POLL], 1);
    FAILS(MODULE_COMPILE, load(wgsl, sizeof wgsl, &module));
    module = loads(wgsl, sizeof wgsl);
    khal_module_release(module);
    assert_int_equal(statistics(device).live_objects, 0);
}

static void loading_in_steps(void** state)
{
    (void)state;
    noop_control* control = noop_control_of(device);
    khal_module* module;
    khal_function* function;
    khal_status status;
    unsigned polls = 0;
    char name[8] = "one";
    uint32_t constant = 9;
    khal_binding_desc binding = {.access = KHAL_ACCESS_READ, .element_size = 8};
    khal_specialization specialization = {3, 4, &constant};
    atomic_store(&control->pending_polls, 3);
    OK(khal_module_load_begin(device, &(khal_module_desc){.code = wgsl, .code_size = sizeof wgsl},
                              &module));
    /* A function may begin before its module is there; what it was given may go. */
    OK(khal_function_create_begin(module,
                                  &(khal_function_desc){.entry_point = name,
                                                        .bindings = &binding,
                                                        .binding_count = 1,
                                                        .specializations = &specialization,
                                                        .specialization_count = 1},
                                  &function));
    memset(name, 'x', 3);
    memset(&binding, 0xff, sizeof binding);
    memset(&specialization, 0xff, sizeof specialization);
    khal_error_clear();
    while ((status = khal_function_create_poll(function)) == KHAL_NOT_READY)
        ++polls;
    OK(status);
    assert_int_equal(polls, 3);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_NONE);
    OK(khal_module_load_poll(module));
    assert_string_equal(khal_function_get_info(function)->name, "one");
    assert_int_equal(khal_function_get_info(function)->args[0].element_size, 8);
    khal_function_release(function);
    khal_module_release(module);

    /* A failure waits for whoever asks, again and again. */
    atomic_store(&control->fail[NOOP_MODULE_POLL], 1);
    OK(khal_module_load_begin(device, &(khal_module_desc){.code = wgsl, .code_size = sizeof wgsl},
                              &module));
    OK(khal_function_create_begin(module,
                                  &(khal_function_desc){.entry_point = "one",
                                                        .bindings = &(khal_binding_desc){0},
                                                        .binding_count = 1},
                                  &function));
    FAILS(MODULE_COMPILE, khal_function_create_poll(function));
    FAILS(MODULE_COMPILE, khal_function_create_poll(function));
    FAILS(MODULE_COMPILE, khal_module_load_poll(module));
    khal_function_release(function);
    khal_module_release(module);
    /* Released before it is ready. */
    atomic_store(&control->pending_polls, 100);
    OK(khal_module_load_begin(device, &(khal_module_desc){.code = ptx, .code_size = sizeof ptx},
                              &module));
    OK(khal_function_create_begin(
        module, &(khal_function_desc){.entry_point = "first", .push_constant_size = 8}, &function));
    khal_module_release(module);
    khal_function_release(function);
    atomic_store(&control->pending_polls, 0);
}

static void reflection_of_libraries(void** state)
{
    (void)state;
    khal_function* function = make_function(device, "add");
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_ptr_equal(info, &front_kernels[K_ADD]);
    khal_function_release(function);

    khal_module* module = load_front(device);
    const khal_binding_desc right[2] = {
        {0, 0, KHAL_ARG_BUFFER, KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 4},
        {0, 1, 0, KHAL_ACCESS_READ, 0}};
    khal_function_desc desc = {
        .entry_point = "add", .bindings = right, .binding_count = 2, .push_constant_size = 4};
    OK(khal_function_create(module, &desc, &function));
    khal_function_release(function);
    desc.push_constant_size = 8;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    desc.push_constant_size = 0;
    desc.binding_count = 1;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    desc.binding_count = 2;
    desc.workgroup_size[0] = 64; /* which the kernel leaves to the dispatch */
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    desc.workgroup_size[0] = 0;
    for (int i = 0; i < 3; ++i) {
        khal_binding_desc wrong[2] = {right[0], right[1]};
        if (i == 0)
            wrong[0].access = KHAL_ACCESS_READ;
        else if (i == 1)
            wrong[1].element_size = 8;
        else
            wrong[1].kind = KHAL_ARG_CONSTANT;
        desc.bindings = wrong;
        FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    }
    FAILS(ENTRY_POINT, khal_function_create(module, NULL, &function)); /* it has more than one */
    desc.bindings = NULL;
    FAILS(ARGUMENT_NULL, khal_function_create(module, &desc, &function)); /* its count stays */
    desc.binding_count = 0;
    desc.specializations = &(khal_specialization){1, 4, &desc};
    desc.specialization_count = 1;
    FAILS(SPECIALIZATION, khal_function_create(module, &desc, &function));
    khal_module_release(module);

    /* Tables that contradict themselves. */
    static const khal_arg_info args[] = {FLOATS("a", KHAL_ACCESS_READ, 7)};
    static const khal_kernel_info kernels[] = {
        {.name = "broken", .args = args, .arg_count = 1, .binding_count = 1}};
    static const khal_kernel_library library = {KHAL_LIBRARY_VERSION, 1, 1, "broken", kernels,
                                                front_codes};
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    FAILS(MODULE_MALFORMED, khal_function_create(module, NULL, &function));
    khal_module_release(module);
}

static void types_of_constants(void** state)
{
    (void)state;
    static const char overrides[] =
        "@id(0) override a: f32 = 1;\n@id(1) override b: u32;\n@id(2) override c: i32 = 3;\n"
        "@id(3) override d: bool = true;\n@id(4) override e = false;\n@id(5) override f = 1.5;\n"
        "@id(6) override g = 7u;\n@id(7) override h = -8;\n@id(8) override i = 1e3;\n"
        "@id(9) override j = 2f;\n@id(10) override k = 0x1f;\n@id(11) override l = u32(3);\n"
        "alias t = f32; @id(12) override m: t;\n@compute @workgroup_size(1) fn main() {}";
    static const khal__scalar expected[] = {
        KHAL__SCALAR_FLOAT,  KHAL__SCALAR_UINT,  KHAL__SCALAR_INT,  KHAL__SCALAR_BOOL,
        KHAL__SCALAR_BOOL,   KHAL__SCALAR_FLOAT, KHAL__SCALAR_UINT, KHAL__SCALAR_INT,
        KHAL__SCALAR_FLOAT,  KHAL__SCALAR_FLOAT, KHAL__SCALAR_INT,  KHAL__SCALAR_UINT,
        KHAL__SCALAR_UNKNOWN};
    khal_module* module = LOADS_TEXT(overrides);
    for (uint32_t i = 0; i < sizeof expected / sizeof expected[0]; ++i)
        assert_int_equal(khal__module_specialization(module, i), expected[i]);
    assert_int_equal(khal__module_specialization(module, 77), KHAL__SCALAR_UNKNOWN);
    khal_module_release(module);

    static const uint32_t code[] = {
        SPIRV_HEADER(100),
        SPV(EntryPoint, 5, 4, SPIRV_MAIN),
        SPV(Decorate, 10, KHAL__DECORATION_SPEC_ID, 40),
        SPV(Decorate, 11, KHAL__DECORATION_SPEC_ID, 41),
        SPV(Decorate, 12, KHAL__DECORATION_SPEC_ID, 42),
        SPV(Decorate, 13, KHAL__DECORATION_SPEC_ID, 43),
        SPV(TypeBool, 1),
        SPV(TypeInt, 2, 32, 1),
        SPV(TypeInt, 3, 32, 0),
        SPV(TypeFloat, 5, 32),
        SPV(SpecConstantTrue, 1, 10),
        SPV(SpecConstant, 2, 11, 7),
        SPV(SpecConstant, 3, 12, 7),
        SPV(SpecConstant, 5, 13, 0x3f800000),
        SPV(TypeVoid, 6),
        SPV(TypeFunction, 7, 6),
        SPV(Function, 6, 4, 0, 7),
        SPV(Label, 8),
        SPV0(Return),
        SPV0(FunctionEnd),
    };
    module = loads(code, sizeof code);
    assert_int_equal(khal__module_specialization(module, 40), KHAL__SCALAR_BOOL);
    assert_int_equal(khal__module_specialization(module, 41), KHAL__SCALAR_INT);
    assert_int_equal(khal__module_specialization(module, 42), KHAL__SCALAR_UINT);
    assert_int_equal(khal__module_specialization(module, 43), KHAL__SCALAR_FLOAT);
    khal_module_release(module);
}

static void declarations(void** state)
{
    (void)state;
    static const char text[] = "// @group(0) @binding(0) var<uniform> no: u32;\n"
                               "/* @binding(0) @group(0) var<uniform> no: u32; */\n"
                               "struct s { a: u32, }\n"
                               "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n"
                               "@binding(1)@group(0)var<storage>b:array<u32>;\n"
                               "@group(1) @binding(1u,) var<uniform> c: s;\n"
                               "@group(N) @binding(0) var<storage, read> d: array<u32>;\n"
                               "var<private> e: u32; var<workgroup> f: u32;\n"
                               "@compute @workgroup_size(1) fn main() { var g = 3; }";
    khal_binding_desc b;
    khal_module* module = LOADS_TEXT(text);
    assert_true(khal__module_binding(module, 0, 0, &b));
    assert_int_equal(b.access, KHAL_ACCESS_READ | KHAL_ACCESS_WRITE);
    assert_true(khal__module_binding(module, 0, 1, &b));
    assert_int_equal(b.access, KHAL_ACCESS_READ);
    assert_true(khal__module_binding(module, 1, 1, &b));
    assert_int_equal(b.kind, KHAL_ARG_CONSTANT);
    assert_false(khal__module_binding(module, 2, 0, &b));
    assert_false(khal__module_has_immediates(module));
    khal_module_release(module);
    module = LOADS_TEXT("/* no */ struct p { x: u32 } var < immediate > push: p;\n"
                        "@compute @workgroup_size(1) fn main() { }");
    assert_true(khal__module_has_immediates(module));
    khal_module_release(module);
}

static khal_status load_wgsl(const khal_kernel_info* info, const khal_wgsl_kernel* kernel,
                             uint32_t abi)
{
    const khal_code code = {.format = KHAL_FORMAT_WGSL, .abi = abi, .wgsl_kernels = kernel};
    const khal_kernel_library library = {.version = KHAL_LIBRARY_VERSION,
                                         .kernel_count = 1,
                                         .code_count = 1,
                                         .name = "texts",
                                         .kernels = info,
                                         .codes = &code};
    khal_module* module;
    const khal_status status =
        khal_module_load(device, &(khal_module_desc){.library = &library}, &module);
    if (status == KHAL_OK)
        khal_module_release(module);
    return status;
}

static void libraries_of_wgsl(void** state)
{
    (void)state;
    static const uint32_t strides[2] = {4, 4}, no_stride[2] = {4, 0};
    static const char* const names[2] = {"a", "b"};
    static const char* const one_name[2] = {"a", NULL};
    const khal_kernel_info *add = &front_kernels[K_ADD], *local = &front_kernels[K_LOCAL];
    const khal_wgsl_kernel plain = {.source = "fn", .entry = "add", .block_size = 64};
    khal_wgsl_kernel k = plain;
    OK(load_wgsl(add, &k, KHAL_WGSL_ABI));
    FAILS(MODULE_VERSION, load_wgsl(add, &k, KHAL_WGSL_ABI + 1));
    FAILS(MODULE_MALFORMED, load_wgsl(add, NULL, KHAL_WGSL_ABI));
    k.entry = NULL;
    FAILS(MODULE_MALFORMED, load_wgsl(add, &k, KHAL_WGSL_ABI));
    k = plain;
    k.source = NULL;
    FAILS(MODULE_MALFORMED, load_wgsl(add, &k, KHAL_WGSL_ABI));
    k.reason = "kernels.cl:12:3: double";
    OK(load_wgsl(add, &k, KHAL_WGSL_ABI)); /* its functions alone fail */
    k = plain;
    FAILS(MODULE_MALFORMED, load_wgsl(local, &k, KHAL_WGSL_ABI));
    k.local_strides = no_stride;
    FAILS(MODULE_MALFORMED, load_wgsl(local, &k, KHAL_WGSL_ABI));
    k.local_strides = strides;
    OK(load_wgsl(local, &k, KHAL_WGSL_ABI));
    k = plain;
    k.shared_source = "fn";
    FAILS(MODULE_MALFORMED, load_wgsl(add, &k, KHAL_WGSL_ABI));
    k.names = one_name;
    FAILS(MODULE_MALFORMED, load_wgsl(add, &k, KHAL_WGSL_ABI));
    k.names = names;
    OK(load_wgsl(add, &k, KHAL_WGSL_ABI));
}

static void kernels_over_the_limits(void** state)
{
    (void)state;
    static const khal_kernel_info kernels[] = {
        {.name = "items", .workgroup_size = {1024, 2, 1}},
        {.name = "wide", .workgroup_size = {2048, 1, 1}},
        {.name = "local", .local_memory_size = 70000},
        {.name = "push", .push_constant_size = 5000},
        {.name = "huge", .workgroup_size = {UINT32_MAX, UINT32_MAX, UINT32_MAX}},
        {.name = "fits",
         .workgroup_size = {1024, 1, 1},
         .local_memory_size = 65536,
         .push_constant_size = 4096,
         .flags = KHAL_KERNEL_HAS_FP64},
    };
    static const khal_kernel_library library = {KHAL_LIBRARY_VERSION, 6, 1, "limits", kernels,
                                                front_codes};
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    for (int i = 0; i < 5; ++i)
        FAILS(FUNCTION_LIMIT,
              khal_function_create(module, &(khal_function_desc){.entry_point = kernels[i].name},
                                   &function));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "fits"}, &function));
    khal_function_release(function);
    khal_module_release(module);
}

static void layouts_of_foreign_code(void** state)
{
    (void)state;
    khal_function* function;
    khal_module* module = loads(wgsl, sizeof wgsl);
    const khal_binding_desc bindings[2] = {{0, 0, 0, 0, 12}, {1, 0, KHAL_ARG_CONSTANT, 0, 0}};
    khal_function_desc desc = {
        .entry_point = "two", .bindings = bindings, .binding_count = 2, .push_constant_size = 20};
    OK(khal_function_create(module, &desc, &function));
    const khal_kernel_info* info = khal_function_get_info(function);
    assert_string_equal(info->name, "two");
    assert_int_equal(info->binding_count, 2);
    assert_int_equal(info->push_constant_size, 20);
    assert_int_equal(info->flags, KHAL_KERNEL_IS_FOREIGN);
    assert_int_equal(info->workgroup_size[0], 8);
    assert_int_equal(info->workgroup_size[1], 4);
    assert_int_equal(info->workgroup_size[2], 1);
    assert_int_equal(info->args[0].access, KHAL_ACCESS_READ | KHAL_ACCESS_WRITE); /* undeclared */
    assert_int_equal(info->args[0].element_size, 12);
    assert_int_equal(info->args[0].element_align, 4);
    assert_int_equal(info->args[1].kind, KHAL_ARG_CONSTANT);
    assert_int_equal(info->args[1].access, KHAL_ACCESS_READ);
    khal_function_release(function);
    desc.workgroup_size[0] = 9;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    desc.entry_point = "three"; /* whose size an override gives */
    OK(khal_function_create(module, &desc, &function));
    assert_int_equal(khal_function_get_info(function)->workgroup_size[0], 9);
    assert_int_equal(khal_function_get_info(function)->workgroup_size[1], 1);
    khal_function_release(function);
    const khal_binding_desc twice[2] = {{0, 1, 0, 0, 0}, {0, 1, 0, 0, 0}};
    desc.bindings = twice;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    const khal_binding_desc strange = {0, 0, 99, 0, 0};
    desc.bindings = &strange;
    desc.binding_count = 1;
    FAILS(FUNCTION_LAYOUT, khal_function_create(module, &desc, &function));
    desc.bindings = NULL;
    FAILS(ARGUMENT_NULL, khal_function_create(module, &desc, &function));
    khal_module_release(module);

    /* A cubin does not tell its entry points here: any name goes to the driver, but there must be
     * one. */
    const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1};
    module = loads(fatbin, sizeof fatbin);
    OK(khal_function_create(
        module, &(khal_function_desc){.entry_point = "whatever", .push_constant_size = 4},
        &function));
    assert_string_equal(khal_function_get_info(function)->name, "whatever");
    khal_function_release(function);
    FAILS(ENTRY_POINT,
          khal_function_create(module, &(khal_function_desc){.push_constant_size = 4}, &function));
    khal_module_release(module);

    module = loads(spirv, sizeof spirv);
    OK(khal_function_create(
        module, &(khal_function_desc){.entry_point = "after", .push_constant_size = 4}, &function));
    assert_int_equal(khal_function_get_info(function)->workgroup_size[0], 0);
    khal_function_release(function);
    khal_module_release(module);
}

static void constants_take_uniform_buffers(void** state)
{
    (void)state;
    khal_buffer *uniform, *index;
    khal_pass* pass;
    khal_encoder* encoder = make_encoder(device);
    khal_function *constant = make_function(device, "constant"),
                  *read = make_function(device, "read");
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64, .usage = KHAL_USAGE_UNIFORM},
                          &uniform));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64, .usage = KHAL_USAGE_INDIRECT},
                          &index));
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(dispatch(pass, constant, 1, &(khal_slice){uniform, 16, 16, 0}));
    FAILS(BUFFER_USAGE, dispatch(pass, read, 1, &(khal_slice){uniform, 0, 16, 0}));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(BUFFER_USAGE, dispatch(pass, constant, 1, &(khal_slice){index, 0, 16, 0}));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(BINDING_ALIGNMENT, dispatch(pass, constant, 1, &(khal_slice){uniform, 8, 16, 0}));
    khal_encoder_release(encoder);
    khal_function_release(constant);
    khal_function_release(read);
    khal_buffer_release(uniform);
    khal_buffer_release(index);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(formats_are_told_apart),
        TEST(anything_else_is_refused),
        TEST(devices_take_their_own_formats_alone),
        TEST(broken_spirv),
        TEST(of_a_librarys_codes_the_best_is_chosen),
        TEST(the_cache_compares_content),
        TEST(a_failed_module_is_not_cached),
        TEST(loading_in_steps),
        TEST(reflection_of_libraries),
        TEST(libraries_of_wgsl),
        TEST(types_of_constants),
        TEST(declarations),
        TEST(kernels_over_the_limits),
        TEST(layouts_of_foreign_code),
        TEST(constants_take_uniform_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
