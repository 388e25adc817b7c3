/* Dispatches on a real WebGPU library: aliased and odd slices, folded and indirect grids, foreign code, copies and
 * fills at any byte. Kernels are written by hand here, by the ABI of khal/library.h. Skipped where there is no device,
 * unless KHAL_CTS_REQUIRE asks for webgpu. */
#include "front.h"
#include "spirv_words.h"

#include <sys/wait.h>
#include <unistd.h>

#define DEPS KHAL_SOURCE_DIR "/deps/"

#if defined(__SANITIZE_ADDRESS__)
/* Mesa's driver for the CPU takes a page for each work-group that it runs, of which a quarantine sees 24 bytes. */
const char* __asan_default_options(void);
const char* __asan_default_options(void)
{
    return "quarantine_size_mb=1";
}
#endif

static khal_device* device;

/* ---- kernels ----------------------------------------------------------------------------------- */

#define BLOCK(slices, locals_and_push)                                                                                 \
    "struct khal_block { group_count: vec3<u32>, work_dim: u32, global_size: vec3<u32>, base_z: u32, fold: "           \
    "vec4<u32>,\n"                                                                                                     \
    "  slices: array<vec4<u32>, " #slices ">, " locals_and_push "}\n"                                                  \
    "override khal_size_x: u32 = 1u; override khal_size_y: u32 = 1u; override khal_size_z: u32 = 1u;\n"                \
    "override khal_is_plain: bool = false; override khal_is_exact: bool = false;\n"                                    \
    "fn khal_group(g: vec3<u32>) -> vec3<u32> {\n"                                                                     \
    "  return vec3<u32>(g.x + khal.fold.x * (g.z % khal.fold.y), g.y + khal.fold.z * (g.z / khal.fold.y % "            \
    "khal.fold.w),\n"                                                                                                  \
    "    khal.base_z + g.z / (khal.fold.y * khal.fold.w));\n"                                                          \
    "}\n"                                                                                                              \
    "fn khal_id(group: vec3<u32>, l: vec3<u32>) -> vec3<u32> {\n"                                                      \
    "  return group * vec3<u32>(khal_size_x, khal_size_y, khal_size_z) + l;\n"                                         \
    "}\n"
#define ENTRY(name)                                                                                                    \
    "@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)\n"                                                \
    "fn " name "(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {\n"                 \
    "  let group = khal_group(g);\n"                                                                                   \
    "  if (any(group >= khal.group_count)) { return; }\n"                                                              \
    "  let id = khal_id(group, l);\n"                                                                                  \
    "  if (any(id >= khal.global_size)) { return; }\n"

/* to[i] = from[i] + n, each by the words of its slice */
#define ADD_BLOCK BLOCK(1, "push: array<vec4<u32>, 1>")
static const char add_source[] =
    ADD_BLOCK "@group(0) @binding(0) var<storage, read_write> to: array<u32>;\n"
              "@group(0) @binding(1) var<storage, read> src: array<u32>;\n" ENTRY(
                  "add") "  to[khal.slices[0].x / 4u + id.x] = src[khal.slices[0].z / 4u + id.x] + khal.push[0].x;\n"
                         "}\n";
static const char add_shared[] = ADD_BLOCK ENTRY(
    "add") "  to_store(khal.slices[0].x / 4u + id.x, src_load(khal.slices[0].z / 4u + id.x) + khal.push[0].x);\n"
           "}\n";
/* Counts work-items, and adds their ids up. */
static const char grid_source[] =
    BLOCK(1, "") "@group(0) @binding(0) var<storage, read_write> sums: array<atomic<u32>>;\n" ENTRY(
        "grid") "  let at = khal.slices[0].x / 4u;\n"
                "  atomicAdd(&sums[at], 1u); atomicAdd(&sums[at + 1u], id.x); atomicAdd(&sums[at + 2u], id.y);\n"
                "  atomicAdd(&sums[at + 3u], id.z); atomicMax(&sums[at + 4u], khal.work_dim);\n"
                "}\n";
/* A kernel that does not ask where it is. */
static const char blind_source[] = "override khal_size_x: u32; override khal_size_y: u32; override khal_size_z: u32;\n"
                                   "@group(0) @binding(0) var<storage, read_write> sums: array<atomic<u32>>;\n"
                                   "@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)\n"
                                   "fn blind() { atomicAdd(&sums[0], 1u); }\n";
/* Reverses the group's items through local memory, and tells its size and the block's. */
static const char local_source[] =
    BLOCK(1, "locals: array<vec4<u32>, 1>, ") "override khal_local_0: u32 = 1u;\n"
                                              "var<workgroup> items: array<u32, khal_local_0>;\n"
                                              "@group(0) @binding(0) var<storage, read_write> to: array<u32>;\n"
                                              "@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)\n"
                                              "fn reversed(@builtin(workgroup_id) g: vec3<u32>, "
                                              "@builtin(local_invocation_id) l: vec3<u32>) {\n"
                                              "  let group = khal_group(g);\n"
                                              "  items[l.x] = group.x * khal_size_x + l.x;\n"
                                              "  workgroupBarrier();\n"
                                              "  to[group.x * khal_size_x + l.x] = items[khal_size_x - 1u - l.x] + "
                                              "khal_local_0 * 1000u + khal.locals[0].x * 1000000u;\n"
                                              "}\n";
static const char fma_source[] = BLOCK(1, "") "override khal_has_fma: bool = false;\n"
                                              "@group(0) @binding(0) var<storage, read_write> to: array<f32>;\n" ENTRY(
                                                  "fused") "  to[1] = fma(to[2], to[2], to[3]);\n"
                                                           "  to[0] = select(0.0, 1.0, khal_has_fma);\n"
                                                           "}\n";
static const char broken_source[] = "@compute @workgroup_size(1)\nfn broken() {\n    let x: u32 = nothing;\n}\n";

#define WORDS(arg_name, arg_access, arg_index)                                                                         \
    {.name = arg_name,                                                                                                 \
     .type_name = "uint",                                                                                              \
     .kind = KHAL_ARG_BUFFER,                                                                                          \
     .access = arg_access,                                                                                             \
     .index = arg_index,                                                                                               \
     .element_size = 4,                                                                                                \
     .element_align = 4}
static const khal_arg_info add_args[] = {
    WORDS("to", KHAL_ACCESS_WRITE, 0),
    WORDS("src", KHAL_ACCESS_READ, 1),
    {.name = "n", .type_name = "uint", .kind = KHAL_ARG_VALUE, .element_size = 4, .element_align = 4},
};
static const khal_arg_info one_arg[] = {WORDS("sums", KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 0)};
static const khal_arg_info local_args[] = {
    WORDS("to", KHAL_ACCESS_WRITE, 0),
    {.name = "items", .type_name = "uint", .kind = KHAL_ARG_LOCAL, .element_size = 4, .element_align = 4},
};
static const khal_kernel_info infos[] = {
    {.name = "add", .args = add_args, .arg_count = 3, .binding_count = 2, .push_constant_size = 4},
    {.name = "grid", .args = one_arg, .arg_count = 1, .binding_count = 1, .flags = KHAL_KERNEL_HAS_ATOMICS},
    {.name = "blind", .args = one_arg, .arg_count = 1, .binding_count = 1, .flags = KHAL_KERNEL_HAS_ATOMICS},
    {.name = "reversed",
     .args = local_args,
     .arg_count = 2,
     .binding_count = 1,
     .local_count = 1,
     .flags = KHAL_KERNEL_HAS_BARRIER},
    {.name = "fused", .args = one_arg, .arg_count = 1, .binding_count = 1},
    {.name = "broken"},
    {.name = "refused"},
    {.name = "odd", .push_constant_size = 8},
};
static const char* const add_names[] = {"to", "src"};
static const uint32_t strides[] = {4};
static const khal_wgsl_kernel texts[] = {
    {.source = add_source, .shared_source = add_shared, .entry = "add", .names = add_names, .block_size = 80},
    {.source = grid_source, .entry = "grid", .block_size = 64, .flags = KHAL_WGSL_USES_ATOMICS},
    {.source = blind_source, .entry = "blind", .flags = KHAL_WGSL_USES_ATOMICS},
    {.source = local_source, .entry = "reversed", .local_strides = strides, .block_size = 80},
    {.source = fma_source, .entry = "fused", .block_size = 64, .flags = KHAL_WGSL_USES_FMA},
    {.source = broken_source, .entry = "broken"},
    {.reason = "kernels.cl:12:3: double is not there"},
    {.source = broken_source, .entry = "broken", .block_size = 80},
};
static const khal_code code = {.format = KHAL_FORMAT_WGSL, .abi = KHAL_WGSL_ABI, .wgsl_kernels = texts};
static const khal_kernel_library library = {.version = KHAL_LIBRARY_VERSION,
                                            .kernel_count = sizeof infos / sizeof infos[0],
                                            .code_count = 1,
                                            .name = "texts",
                                            .kernels = infos,
                                            .codes = &code};

/* ---- helpers ----------------------------------------------------------------------------------- */

static khal_status make(const char* name, khal_function** out)
{
    khal_module* module;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    const khal_status status = khal_function_create(module, &(khal_function_desc){.entry_point = name}, out);
    khal_module_release(module);
    return status;
}

static khal_function* function_of(const char* name)
{
    khal_function* function = NULL;
    OK(make(name, &function));
    return function;
}

static khal_buffer* buffer_of(const void* data, uint64_t size)
{
    khal_buffer* buffer = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = size, .data = data, .usage = 0xff}, &buffer));
    return buffer;
}

typedef struct call {
    khal_function* function;
    khal_grid grid;
    khal_slice slices[4];
    uint32_t slice_count;
    const void* push;
    uint32_t push_size;
    uint64_t local_size;
} call;

static khal_status record(khal_pass* pass, const call* c)
{
    return khal_pass_dispatch(pass,
                              &(khal_dispatch_desc){.function = c->function,
                                                    .grid = c->grid,
                                                    .bindings = c->slices,
                                                    .binding_count = c->slice_count,
                                                    .push_constants = c->push,
                                                    .push_constant_size = c->push_size,
                                                    .local_sizes = &c->local_size,
                                                    .local_count = c->local_size != 0},
                              NULL);
}

/* All in one pass; the status of the submit, or else of its ticket. */
static khal_status run(const call* calls, uint32_t count)
{
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass;
    khal_ticket ticket = 0;
    OK(khal_pass_begin(encoder, NULL, &pass));
    for (uint32_t i = 0; i < count; ++i)
        (void)record(pass, &calls[i]);
    (void)khal_pass_end(pass);
    khal_status status = khal_submit(encoder, &ticket);
    if (status == KHAL_OK)
        status = khal_ticket_wait(device, ticket, KHAL_FOREVER);
    khal_encoder_release(encoder);
    return status;
}

static void read_back(khal_buffer* buffer, void* out, uint64_t size)
{
    OK(khal_buffer_read(buffer, 0, out, size, KHAL_FOREVER));
}

static khal_grid threads(uint64_t n)
{
    return khal_grid_with_workgroup(khal_threads(n, 1, 1), 64, 1, 1);
}

/* ---- slices ------------------------------------------------------------------------------------ */

enum { COUNT = 1000 };

static void slices_anywhere(void** state)
{
    (void)state;
    uint32_t in[COUNT], out[COUNT], expected[COUNT];
    khal_function* add = function_of("add");
    for (uint32_t i = 0; i < COUNT; ++i)
        in[i] = i * 7 + 1;
    khal_buffer *from = buffer_of(in, sizeof in), *to = buffer_of(NULL, sizeof out);
    memset(expected, 0, sizeof expected);
    for (uint32_t round = 0; round < 60; ++round) {
        const uint32_t first = round * 11 % 301, second = round * 7 % 97, n = round + 1, push = round;
        const call c = {.function = add,
                        .grid = threads(n),
                        .slices = {{to, first * 4, n * 4, 4}, {from, second * 4, n * 4, 4}},
                        .slice_count = 2,
                        .push = &push,
                        .push_size = 4};
        OK(run(&c, 1));
        for (uint32_t i = 0; i < n; ++i)
            expected[first + i] = in[second + i] + push;
    }
    read_back(to, out, sizeof out);
    assert_memory_equal(out, expected, sizeof out);
    khal_buffer_release(from);
    khal_buffer_release(to);
    khal_function_release(add);
}

static void aliased_slices(void** state)
{
    (void)state;
    uint32_t in[COUNT], out[COUNT];
    khal_function* add = function_of("add");
    for (uint32_t i = 0; i < COUNT; ++i)
        in[i] = i;
    khal_buffer* both = buffer_of(in, sizeof in);
    const uint32_t push = 1000;
    const uint32_t places[][3] = {{0, 500, 300}, {700, 0, 250}, {10, 10, 500}, {3, 64, 60}, {100, 163, 63}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        const uint32_t *p = places[i], n = p[2];
        const call c = {.function = add,
                        .grid = threads(n),
                        .slices = {{both, p[0] * 4, n * 4, 4}, {both, p[1] * 4, n * 4, 4}},
                        .slice_count = 2,
                        .push = &push,
                        .push_size = 4};
        OK(run(&c, 1));
        for (uint32_t k = 0; k < n; ++k)
            in[p[0] + k] = in[p[1] + k] + push;
    }
    read_back(both, out, sizeof out);
    assert_memory_equal(out, in, sizeof out);
    khal_buffer_release(both);
    khal_function_release(add);
}

static void empty_slices(void** state)
{
    (void)state;
    uint32_t word = 7;
    khal_function *add = function_of("add"), *grid = function_of("grid");
    khal_buffer *empty = buffer_of(NULL, 0), *one = buffer_of(&word, 4);
    const call calls[] = {
        {.function = add,
         .grid = khal_groups(0, 1, 1),
         .slices = {{empty, 0, 0, 4}, {empty, 0, 0, 4}},
         .slice_count = 2,
         .push = &word,
         .push_size = 4},
        {.function = add,
         .grid = threads(1),
         .slices = {{empty, 0, 0, 4}, {one, 4, 0, 4}},
         .slice_count = 2,
         .push = &word,
         .push_size = 4},
        {.function = add,
         .grid = threads(1),
         .slices = {{one, 0, 0, 4}, {one, 0, 0, 4}},
         .slice_count = 2,
         .push = &word,
         .push_size = 4},
        {.function = grid, .grid = threads(1), .slices = {{empty, 0, 0, 4}}, .slice_count = 1},
    };
    OK(run(calls, 4));
    read_back(one, &word, 4);
    assert_int_equal(word, 7);
    khal_buffer_release(empty);
    khal_buffer_release(one);
    khal_function_release(add);
    khal_function_release(grid);
}

/* ---- grids ------------------------------------------------------------------------------------- */

static uint32_t sum_below(uint64_t n)
{
    return (uint32_t)(n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n);
}

static void check_sums(khal_buffer* sums, const uint64_t items[3])
{
    uint32_t got[5];
    read_back(sums, got, sizeof got);
    assert_int_equal(got[0], (uint32_t)(items[0] * items[1] * items[2]));
    assert_int_equal(got[1], (uint32_t)(sum_below(items[0]) * (uint32_t)(items[1] * items[2])));
    assert_int_equal(got[2], (uint32_t)(sum_below(items[1]) * (uint32_t)(items[0] * items[2])));
    assert_int_equal(got[3], (uint32_t)(sum_below(items[2]) * (uint32_t)(items[0] * items[1])));
    assert_int_equal(got[4], items[2] > 1 ? 3 : items[1] > 1 ? 2 : 1);
}

static void folded_grids(void** state)
{
    (void)state;
    static const uint64_t grids[][3] = {{1, 1, 1},     {65535, 2, 1},  {65536, 1, 1},  {70001, 3, 1}, {3, 70001, 2},
                                        {1, 1, 65537}, {2, 1, 140000}, {131071, 1, 2}, {200003, 1, 1}};
    khal_function *grid = function_of("grid"), *blind = function_of("blind");
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; ++i) {
        const uint64_t* g = grids[i];
        khal_buffer* sums = buffer_of(NULL, 64);
        const khal_grid groups = khal_grid_with_workgroup(khal_groups(g[0], g[1], g[2]), 1, 1, 1);
        const call c = {.function = grid, .grid = groups, .slices = {{sums, 0, 64, 4}}, .slice_count = 1};
        OK(run(&c, 1));
        check_sums(sums, g);
        khal_buffer_release(sums);
        sums = buffer_of(NULL, 64);
        const call other = {.function = blind, .grid = groups, .slices = {{sums, 0, 64, 4}}, .slice_count = 1};
        OK(run(&other, 1));
        uint32_t count = 0;
        read_back(sums, &count, 4);
        assert_int_equal(count, g[0] * g[1] * g[2]);
        khal_buffer_release(sums);
    }
    /* Clipped, in groups of several. */
    khal_buffer* sums = buffer_of(NULL, 64);
    const uint64_t items[3] = {300001, 5, 3};
    const call c = {.function = grid,
                    .grid = khal_grid_with_workgroup(khal_threads(items[0], items[1], items[2]), 4, 2, 2),
                    .slices = {{sums, 0, 64, 4}},
                    .slice_count = 1};
    OK(run(&c, 1));
    check_sums(sums, items);
    uint32_t size[3];
    uint64_t count[3];
    FAILS(GRID, khal_grid_resolve(grid, khal_groups(1u << 24, 1u << 24, 1), size, count));
    FAILS(GRID, khal_grid_resolve(grid, khal_grid_with_workgroup(khal_groups(1u << 30, 1, 1), 64, 1, 1), size, count));
    OK(khal_grid_resolve(grid, khal_groups(65536, 65536, 1), size, count));
    khal_buffer_release(sums);
    khal_function_release(grid);
    khal_function_release(blind);
}

static void indirect_grids(void** state)
{
    (void)state;
    static const uint32_t grids[][3] = {{1, 1, 1},     {3, 2, 2},     {0, 5, 5}, {70001, 3, 1},
                                        {2, 65537, 1}, {1, 1, 65535}, {5, 0, 5}};
    khal_function *grid = function_of("grid"), *blind = function_of("blind");
    for (uint32_t offset = 0; offset < 2; ++offset)
        for (size_t i = 0; i < sizeof grids / sizeof grids[0]; ++i) {
            uint32_t counts[8] = {0};
            memcpy(counts + offset * 5, grids[i], 12);
            khal_buffer *at = buffer_of(counts, sizeof counts), *sums = buffer_of(NULL, 64);
            const call c = {.function = grid,
                            .grid = khal_grid_with_workgroup(khal_indirect(at, offset * 20), 2, 1, 1),
                            .slices = {{sums, 0, 64, 4}},
                            .slice_count = 1};
            OK(run(&c, 1));
            const uint64_t items[3] = {(uint64_t)grids[i][0] * 2, grids[i][1], grids[i][2]};
            if (items[0] * items[1] * items[2] > 0) {
                check_sums(sums, items);
            } else {
                read_back(sums, counts, 4);
                assert_int_equal(counts[0], 0);
            }
            khal_buffer_release(at);
            khal_buffer_release(sums);
        }
    khal_function_release(grid);
    khal_function_release(blind);
}

/* Several in one submission, some too large: those run nothing, the others run. */
static void indirect_grids_too_large(void** state)
{
    (void)state;
    const uint32_t counts[] = {4, 2, 1, 0, 1u << 24, 1u << 24, 1, 0, 7, 1, 1, 0, 1u << 31, 1, 1, 0, 1, 1, 65536};
    khal_function *grid = function_of("grid"), *blind = function_of("blind");
    khal_buffer *at = buffer_of(counts, sizeof counts), *sums = buffer_of(NULL, 5 * 64);
    call calls[5];
    for (uint32_t i = 0; i < 5; ++i)
        calls[i] = (call){.function = i == 2 ? blind : grid,
                          .grid = khal_grid_with_workgroup(khal_indirect(at, i * 16), i == 3 ? 2 : 1, 1, 1),
                          .slices = {{sums, i == 2 ? 0 : i * 64, 64, 4}},
                          .slice_count = 1};
    OK(run(&calls[0], 1));
    FAILS(INDIRECT_TOO_LARGE, run(calls, 3));
    FAILS(INDIRECT_TOO_LARGE, run(&calls[3], 1));
    FAILS(INDIRECT_TOO_LARGE, run(&calls[4], 1));
    OK(run(&calls[2], 1));
    uint32_t got[5 * 16];
    read_back(sums, got, sizeof got);
    assert_int_equal(got[0], 4 * 2 * 2 + 7 * 2);
    assert_int_equal(got[16], 0);
    assert_int_equal(got[48], 0);
    assert_int_equal(got[64], 0);
    khal_buffer_release(at);
    khal_buffer_release(sums);
    khal_function_release(grid);
    khal_function_release(blind);
    assert_int_equal(khal_device_wait(device, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    OK(khal_device_wait(device, KHAL_FOREVER));
}

/* One grid again and again; its counts change in the middle, by the host's copy and fill and by a kernel. */
static void indirect_grids_again(void** state)
{
    (void)state;
    const uint32_t counts[] = {2, 1, 1, 0, 5, 3, 1}, one = 1;
    khal_function *grid = function_of("grid"), *add = function_of("add");
    khal_buffer *at = buffer_of(counts, sizeof counts), *sums = buffer_of(NULL, 64), *zero = buffer_of(NULL, 12);
    const call c = {.function = grid,
                    .grid = khal_grid_with_workgroup(khal_indirect(at, 0), 1, 1, 1),
                    .slices = {{sums, 0, 64, 4}},
                    .slice_count = 1};
    call wide = c, other = c;
    wide.grid = khal_grid_with_workgroup(khal_indirect(at, 0), 4, 1, 1);
    other.grid = khal_grid_with_workgroup(khal_indirect(at, 16), 1, 1, 1);
    const call ones = {.function = add,
                       .grid = threads(3),
                       .slices = {{at, 0, 12, 4}, {zero, 0, 12, 4}},
                       .slice_count = 2,
                       .push = &one,
                       .push_size = 4};
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass;
    khal_ticket ticket;
    for (uint32_t round = 0; round < 2; ++round) {
        OK(khal_pass_begin(encoder, NULL, &pass));
        OK(record(pass, &c));     /* 2 */
        OK(record(pass, &c));     /* 2 */
        OK(record(pass, &wide));  /* 8 */
        OK(record(pass, &c));     /* 2 */
        OK(record(pass, &other)); /* 15 */
        OK(record(pass, &c));     /* 2 */
        OK(record(pass, &ones));
        OK(record(pass, &c)); /* 1 */
        OK(khal_pass_end(pass));
        OK(khal_encoder_copy(encoder, (khal_slice){at, 16, 12, 4}, (khal_slice){at, 0, 12, 4}));
        OK(khal_pass_begin(encoder, NULL, &pass));
        OK(record(pass, &c)); /* 15 */
        OK(khal_pass_end(pass));
        OK(khal_submit(encoder, &ticket));
        OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
        uint32_t got;
        read_back(sums, &got, 4);
        assert_int_equal(got, 47 * (round + 1));
        OK(khal_buffer_write(at, 0, counts, 12));
    }
    khal_encoder_release(encoder);
    khal_buffer_release(at);
    khal_buffer_release(sums);
    khal_buffer_release(zero);
    khal_function_release(grid);
    khal_function_release(add);
}

/* What each dispatch of a long pass is given. */
static void long_passes(void** state)
{
    (void)state;
    enum { DISPATCHES = 3000 };
    uint32_t in[DISPATCHES], out[DISPATCHES];
    memset(in, 0, sizeof in);
    khal_function* add = function_of("add");
    khal_buffer *from = buffer_of(in, sizeof in), *to = buffer_of(NULL, sizeof out);
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass;
    OK(khal_pass_begin(encoder, NULL, &pass));
    for (uint32_t i = 0; i < DISPATCHES; ++i) {
        const call c = {.function = add,
                        .grid = threads(1),
                        .slices = {{to, i * 4, 4, 4}, {from, i * 4, 4, 4}},
                        .slice_count = 2,
                        .push = &i,
                        .push_size = 4};
        OK(record(pass, &c));
    }
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    read_back(to, out, sizeof out);
    for (uint32_t i = 0; i < DISPATCHES; ++i)
        assert_int_equal(out[i], i);
    khal_encoder_release(encoder);
    khal_buffer_release(from);
    khal_buffer_release(to);
    khal_function_release(add);
}

/* ---- what kernels are given -------------------------------------------------------------------- */

static void local_sizes(void** state)
{
    (void)state;
    khal_function* reversed = function_of("reversed");
    khal_buffer* to = buffer_of(NULL, 256);
    for (uint32_t round = 0; round < 100; ++round) { /* more sizes than pipelines are kept */
        const uint32_t size = 8u << round % 3, bytes = size * 4 + round;
        const call c = {.function = reversed,
                        .grid = khal_grid_with_workgroup(khal_groups(64 / size, 1, 1), size, 1, 1),
                        .slices = {{to, 0, 256, 4}},
                        .slice_count = 1,
                        .local_size = bytes};
        OK(run(&c, 1));
        uint32_t out[64];
        read_back(to, out, sizeof out);
        for (uint32_t i = 0; i < 64; ++i)
            assert_int_equal(out[i], (i / size + 1) * size - 1 - i % size + (bytes + 3) / 4 * 1000 + bytes * 1000000u);
    }
    khal_buffer_release(to);
    khal_function_release(reversed);
}

static void fused_multiply_add(void** state)
{
    (void)state;
    khal_function* fused = function_of("fused");
    float values[4] = {-1, -1, 1.0f + 0x1p-12f, -(1.0f + 0x1p-11f)};
    khal_buffer* buffer = buffer_of(values, sizeof values);
    const call c = {.function = fused, .grid = threads(1), .slices = {{buffer, 0, 16, 4}}, .slice_count = 1};
    OK(run(&c, 1));
    read_back(buffer, values, sizeof values);
    assert_true(values[0] == (values[1] != 0.0f ? 1.0f : 0.0f));
    khal_buffer_release(buffer);
    khal_function_release(fused);
}

static void broken_kernels(void** state)
{
    (void)state;
    khal_function* function;
    assert_int_equal(make("broken", &function), KHAL_COMPILE_FAILED);
    assert_non_null(strstr(khal_error_get()->message, "3:18"));
    assert_non_null(strstr(khal_error_get()->message, "nothing"));
    FAILS(FUNCTION_COMPILE, make("broken", &function));
    assert_int_equal(make("refused", &function), KHAL_UNSUPPORTED);
    assert_non_null(strstr(khal_error_get()->message, "kernels.cl:12:3: double"));
    FAILS(UNSUPPORTED, make("refused", &function));
    FAILS(MODULE_MALFORMED, make("odd", &function));
}

/* Thousands of different arguments in one submission, and again with others. */
static void many_blocks(void** state)
{
    (void)state;
    enum { MANY = 6000 };
    static uint32_t out[MANY], in[1] = {5};
    khal_function* add = function_of("add");
    khal_buffer *to = buffer_of(NULL, sizeof out), *from = buffer_of(in, 4);
    for (uint32_t round = 0; round < 3; ++round) {
        khal_encoder* encoder = make_encoder(device);
        khal_pass* pass;
        OK(khal_pass_begin(encoder, NULL, &pass));
        for (uint32_t i = 0; i < MANY; ++i) {
            const uint32_t push = i * 3 + round;
            const call c = {.function = add,
                            .grid = threads(1),
                            .slices = {{to, i * 4, 4, 4}, {from, 0, 4, 4}},
                            .slice_count = 2,
                            .push = &push,
                            .push_size = 4};
            OK(record(pass, &c));
        }
        OK(khal_pass_end(pass));
        OK(khal_submit(encoder, NULL));
        khal_encoder_release(encoder);
        read_back(to, out, sizeof out);
        for (uint32_t i = 0; i < MANY; ++i)
            assert_int_equal(out[i], 5 + i * 3 + round);
    }
    khal_buffer_release(to);
    khal_buffer_release(from);
    khal_function_release(add);
}

static uint64_t resident(void)
{
    unsigned long long size = 0, pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &size, &pages) != 2)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Each with arguments of its own, and buffers that come and go. */
static void memory_stays_flat(void** state)
{
    (void)state;
    khal_function* add = function_of("add");
    uint32_t word = 5;
    khal_buffer* from = buffer_of(&word, 4);
    khal_encoder* encoder = make_encoder(device);
    uint64_t before = 0;
    for (uint32_t i = 0; i < 12000; ++i) {
        khal_buffer* to = buffer_of(NULL, 4096);
        khal_pass* pass;
        OK(khal_pass_begin(encoder, NULL, &pass));
        const call c = {.function = add,
                        .grid = threads(1),
                        .slices = {{to, i % 1000 * 4, 4, 4}, {from, 0, 4, 4}},
                        .slice_count = 2,
                        .push = &i,
                        .push_size = 4};
        OK(record(pass, &c));
        OK(khal_pass_end(pass));
        OK(khal_submit(encoder, NULL));
        khal_buffer_release(to);
        if (i == 4000) {
            OK(khal_device_wait(device, KHAL_FOREVER));
            before = resident();
        }
    }
    OK(khal_device_wait(device, KHAL_FOREVER));
    const uint64_t after = resident();
    if (after > before + (24u << 20))
        fail_msg("%llu MiB became %llu", (unsigned long long)(before >> 20), (unsigned long long)(after >> 20));
    khal_encoder_release(encoder);
    khal_buffer_release(from);
    khal_function_release(add);
}

/* Shapes seen before take no memory of khal's. */
static void steady_state(void** state)
{
    (void)state;
    khal_function *add = function_of("add"), *grid = function_of("grid");
    const uint32_t counts[3] = {2, 2, 1};
    khal_buffer *a = buffer_of(NULL, 4096), *b = buffer_of(NULL, 4096), *at = buffer_of(counts, 12);
    khal_encoder* encoder = make_encoder(device);
    uint64_t before = 0;
    for (uint32_t i = 0; i < 400; ++i) {
        khal_pass* pass;
        khal_ticket ticket;
        OK(khal_pass_begin(encoder, NULL, &pass));
        const call calls[3] = {
            {.function = add,
             .grid = threads(100),
             .slices = {{a, 0, 400, 4}, {b, 4, 400, 4}},
             .slice_count = 2,
             .push = &i,
             .push_size = 4},
            {.function = add,
             .grid = threads(100),
             .slices = {{a, 0, 400, 4}, {a, 404, 400, 4}},
             .slice_count = 2,
             .push = &i,
             .push_size = 4},
            {.function = grid,
             .grid = khal_grid_with_workgroup(khal_indirect(at, 0), 4, 1, 1),
             .slices = {{b, 0, 400, 4}},
             .slice_count = 1},
        };
        for (int k = 0; k < 3; ++k)
            OK(record(pass, &calls[k]));
        OK(khal_pass_end(pass));
        OK(khal_submit(encoder, &ticket));
        OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
        if (i == 20)
            before = statistics(device).host_allocations;
    }
    assert_int_equal(statistics(device).host_allocations, before);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_buffer_release(at);
    khal_function_release(add);
    khal_function_release(grid);
}

/* ---- copies and fills -------------------------------------------------------------------------- */

static void copies_at_any_byte(void** state)
{
    (void)state;
    enum { SIZE = 5000 };
    static unsigned char x[SIZE], y[SIZE], got[SIZE];
    uint32_t r = 99;
#define RANDOM(n) (((r = r * 1664525u + 1013904223u) >> 8) % (uint32_t)(n))
    for (uint32_t i = 0; i < SIZE; ++i) {
        x[i] = (unsigned char)RANDOM(256);
        y[i] = (unsigned char)RANDOM(256);
    }
    khal_buffer *a = buffer_of(x, SIZE), *b = buffer_of(y, SIZE);
    khal_encoder* encoder = make_encoder(device);
    for (int round = 0; round < 400; ++round) {
        const uint32_t size = round % 3 == 0 ? RANDOM(9) + 1 : RANDOM(1200) + 1;
        const uint32_t from = RANDOM(SIZE - size), to = RANDOM(SIZE - size);
        if (round % 4 == 3) {
            const uint32_t pattern_size = 1u << RANDOM(5), count = RANDOM(60) + 1;
            unsigned char pattern[16];
            for (int i = 0; i < 16; ++i)
                pattern[i] = (unsigned char)RANDOM(256);
            const uint32_t bytes_filled = pattern_size * count, first = RANDOM(SIZE - bytes_filled);
            OK(khal_encoder_fill(encoder, bytes(b, first, bytes_filled), pattern, pattern_size));
            for (uint32_t i = 0; i < bytes_filled; ++i)
                y[first + i] = pattern[i % pattern_size];
        } else if (round % 2 == 0) {
            OK(khal_encoder_copy(encoder, bytes(a, from, size), bytes(b, to, size)));
            memcpy(y + to, x + from, size);
        } else if (from + size <= to || to + size <= from) {
            OK(khal_encoder_copy(encoder, bytes(b, from, size), bytes(b, to, size)));
            memcpy(y + to, y + from, size);
        }
        /* Neighbours that share a word. */
        const uint32_t at = RANDOM(SIZE - 40), n = RANDOM(19) + 1;
        OK(khal_encoder_copy(encoder, bytes(a, at, n), bytes(a, at + n, n)));
        memcpy(x + at + n, x + at, n);
        if (round % 40 != 39)
            continue;
        OK(khal_submit(encoder, NULL));
        read_back(a, got, SIZE);
        assert_memory_equal(got, x, SIZE);
        read_back(b, got, SIZE);
        assert_memory_equal(got, y, SIZE);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
}

static void large_copies_and_fills(void** state)
{
    (void)state;
    const uint64_t size = (40u << 20) + 7;
    unsigned char* got = malloc(size);
    assert_non_null(got);
    khal_buffer* a = buffer_of(NULL, size);
    khal_encoder* encoder = make_encoder(device);
    const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    OK(khal_encoder_fill(encoder, bytes(a, 3, 16u << 20), pattern, 8));
    OK(khal_encoder_copy(encoder, bytes(a, 5, 16u << 20), bytes(a, (20u << 20) + 2, 16u << 20)));
    OK(khal_submit(encoder, NULL));
    read_back(a, got, size);
    for (uint64_t i = 0; i < size; ++i) {
        unsigned char expected = 0;
        if (i >= 3 && i < 3 + (16u << 20))
            expected = pattern[(i - 3) % 8];
        if (i >= (20u << 20) + 2 && i < (36u << 20) + 2 - 2)
            expected = pattern[(i - (20u << 20) - 2 + 2) % 8];
        if (got[i] != expected)
            fail_msg("byte %llu is %u, not %u", (unsigned long long)i, got[i], expected);
    }
    free(got);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
}

/* ---- foreign code ------------------------------------------------------------------------------ */

static const char foreign_text[] =
    "struct push { n: u32, scale: f32 }\n"
    "@id(4) override offset: u32 = 0u;\n"
    "@id(7) override negative: i32 = 0;\n"
    "@id(8) override factor: f32 = 1.0;\n"
    "@id(9) override flag: bool = false;\n"
    "@group(0) @binding(0) var<storage, read_write> to: array<u32>;\n"
    "@group(2) @binding(1) var<storage, read> src: array<u32>;\n"
    "@group(0) @binding(3) var<uniform> one: vec4<u32>;\n"
    "@group(0) @binding(4) var<uniform> p: push;\n"
    "@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
    "  if (id.x < p.n) {\n"
    "    to[id.x] = src[id.x] + one.y + offset + u32(-negative) + u32(factor * p.scale) + select(0u, 1000u, flag);\n"
    "  }\n"
    "}\n";

static void foreign_code(void** state)
{
    (void)state;
    khal_module* module;
    khal_function* function;
    OK(khal_module_load(device, &(khal_module_desc){.code = foreign_text, .code_size = sizeof foreign_text}, &module));
    const khal_binding_desc layout[3] = {
        {2, 1, KHAL_ARG_BUFFER, KHAL_ACCESS_READ, 4}, {0, 0, KHAL_ARG_BUFFER, 0, 4}, {0, 3, KHAL_ARG_CONSTANT, 0, 4}};
    const uint32_t offset = 100;
    const int32_t negative = -30;
    const float factor = 2.5f;
    const uint8_t flag = 1;
    const khal_specialization constants[] = {{4, 4, &offset}, {7, 4, &negative}, {8, 4, &factor}, {9, 1, &flag}};
    OK(khal_function_create(module,
                            &(khal_function_desc){.bindings = layout,
                                                  .binding_count = 3,
                                                  .push_constant_size = 8,
                                                  .specializations = constants,
                                                  .specialization_count = 4},
                            &function));
    uint32_t in[200], out[200];
    for (uint32_t i = 0; i < 200; ++i)
        in[i] = i;
    khal_buffer *from = buffer_of(in, sizeof in), *to = buffer_of(NULL, sizeof out);
    const struct {
        uint32_t n;
        float scale;
    } push = {60, 4.0f};
    /* Slices at odd places, of one buffer too, as long as they do not meet. */
    const khal_slice slices[][3] = {
        {{from, 0, 400, 4}, {to, 0, 400, 4}, {from, 256, 16, 4}},
        {{from, 4, 400, 4}, {to, 20, 400, 4}, {from, 12, 16, 4}},
        {{from, 0, 240, 4}, {from, 244, 240, 4}, {to, 512, 16, 4}},
        {{from, 256, 240, 4}, {from, 0, 240, 4}, {from, 512, 16, 4}},
    };
    for (size_t k = 0; k < sizeof slices / sizeof slices[0]; ++k) {
        OK(khal_buffer_write(from, 0, in, sizeof in));
        OK(khal_buffer_write(to, 0, in, sizeof in));
        const call c = {.function = function,
                        .grid = khal_groups(8, 1, 1),
                        .slices = {slices[k][0], slices[k][1], slices[k][2]},
                        .slice_count = 3,
                        .push = &push,
                        .push_size = 8};
        OK(run(&c, 1));
        const khal_slice* s = slices[k];
        read_back(s[1].buffer, out, sizeof out);
        for (uint32_t i = 0; i < 200; ++i) {
            const uint32_t first = (uint32_t)s[1].offset / 4;
            uint32_t expected = i;
            if (i >= first && i < first + 60)
                expected = i - first + (uint32_t)s[0].offset / 4 + (uint32_t)s[2].offset / 4 + 1 + 100 + 30 + 10 + 1000;
            if (out[i] != expected)
                fail_msg("case %zu, word %u: %u, not %u", k, i, out[i], expected);
        }
    }
    const call meeting = {.function = function,
                          .grid = khal_groups(8, 1, 1),
                          .slices = {{from, 0, 240, 4}, {from, 236, 240, 4}, {to, 0, 16, 4}},
                          .slice_count = 3,
                          .push = &push,
                          .push_size = 8};
    FAILS(BINDING_ALIAS, run(&meeting, 1));
    /* By the code's own layout: groups and bindings in order, the push constants left out. */
    khal_function* reflected;
    OK(khal_function_create(
        module, &(khal_function_desc){.push_constant_size = 8, .specializations = constants, .specialization_count = 4},
        &reflected));
    assert_int_equal(khal_function_get_info(reflected)->binding_count, 3);
    const call own = {.function = reflected,
                      .grid = khal_groups(8, 1, 1),
                      .slices = {{to, 0, 400, 4}, {from, 0, 16, 4}, {from, 0, 400, 4}},
                      .slice_count = 3,
                      .push = &push,
                      .push_size = 8};
    OK(khal_buffer_write(from, 0, in, sizeof in));
    OK(run(&own, 1));
    read_back(to, out, sizeof out);
    assert_int_equal(out[59], 59 + 1 + 100 + 30 + 10 + 1000);
    khal_function_release(reflected);
    const uint32_t counts[] = {8, 1, 1, 65536, 1, 1};
    khal_buffer* at = buffer_of(counts, sizeof counts);
    call c = {.function = function,
              .grid = khal_indirect(at, 0),
              .slices = {slices[1][0], slices[1][1], slices[1][2]},
              .slice_count = 3,
              .push = &push,
              .push_size = 8};
    OK(khal_buffer_write(from, 0, in, sizeof in));
    OK(run(&c, 1));
    read_back(to, out, sizeof out);
    assert_int_equal(out[5], 1 + 4 + 100 + 30 + 10 + 1000);
    c.grid = khal_indirect(at, 12);
    FAILS(INDIRECT_TOO_LARGE, run(&c, 1));
    c.grid = khal_groups(65536, 1, 1);
    FAILS(GRID, run(&c, 1));
    khal_buffer_release(at);
    khal_buffer_release(from);
    khal_buffer_release(to);
    khal_function_release(function);
    khal_module_release(module);
    assert_int_equal(khal_device_wait(device, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
}

/* to[id.x] = to[id.x] + the constant 5 (id 9) + the word at `addend`, which is a constant or a push constant. */
#define SPIRV_ADD(declarations, annotations, addend)                                                                   \
    {SPIRV_HEADER(100),                                                                                                \
     SPV(Capability, 1),                                                                                               \
     SPV(MemoryModel, 0, 1),                                                                                           \
     SPV(EntryPoint, 5, 3, SPIRV_MAIN, 11),                                                                            \
     SPV(ExecutionMode, 3, 17, 4, 1, 1),                                                                               \
     SPV(Decorate, 11, KHAL__DECORATION_BUILT_IN, 28),                                                                 \
     SPV(Decorate, 5, KHAL__DECORATION_ARRAY_STRIDE, 4),                                                               \
     SPV(Decorate, 6, KHAL__DECORATION_BLOCK),                                                                         \
     SPV(MemberDecorate, 6, 0, KHAL__DECORATION_OFFSET, 0),                                                            \
     SPV(Decorate, 8, KHAL__DECORATION_DESCRIPTOR_SET, 0),                                                             \
     SPV(Decorate, 8, KHAL__DECORATION_BINDING, 2),                                                                    \
     SPV(Decorate, 16, KHAL__DECORATION_SPEC_ID, 9),                                                                   \
     annotations SPV(TypeVoid, 1),                                                                                     \
     SPV(TypeFunction, 2, 1),                                                                                          \
     SPV(TypeInt, 4, 32, 0),                                                                                           \
     SPV(TypeRuntimeArray, 5, 4),                                                                                      \
     SPV(TypeStruct, 6, 5),                                                                                            \
     SPV(TypePointer, 7, KHAL__CLASS_STORAGE_BUFFER, 6),                                                               \
     SPV(Variable, 7, 8, KHAL__CLASS_STORAGE_BUFFER),                                                                  \
     SPV(TypeVector, 10, 4, 3),                                                                                        \
     SPV(TypePointer, 9, 1, 10),                                                                                       \
     SPV(Variable, 9, 11, 1),                                                                                          \
     SPV(Constant, 4, 12, 0),                                                                                          \
     SPV(TypePointer, 13, KHAL__CLASS_STORAGE_BUFFER, 4),                                                              \
     SPV(TypePointer, 14, 1, 4),                                                                                       \
     SPV(SpecConstant, 4, 16, 5),                                                                                      \
     declarations SPV(Function, 1, 3, 0, 2),                                                                           \
     SPV(Label, 20),                                                                                                   \
     SPV(AccessChain, 14, 21, 11, 12),                                                                                 \
     SPV(Load, 4, 22, 21),                                                                                             \
     SPV(AccessChain, 13, 23, 8, 12, 22),                                                                              \
     SPV(Load, 4, 24, 23),                                                                                             \
     SPV(IAdd, 4, 25, 24, 16),                                                                                         \
     addend SPV(IAdd, 4, 27, 25, 26),                                                                                  \
     SPV(Store, 23, 27),                                                                                               \
     SPV0(Return),                                                                                                     \
     SPV0(FunctionEnd)}
#define BODY(...) __VA_ARGS__
static const uint32_t spirv_add[] = SPIRV_ADD(BODY(SPV(Constant, 4, 26, 70), ), BODY(), BODY());
static const uint32_t spirv_push[] = SPIRV_ADD(
    BODY(SPV(TypeStruct, 30, 4), SPV(TypePointer, 31, KHAL__CLASS_PUSH_CONSTANT, 30),
         SPV(Variable, 31, 32, KHAL__CLASS_PUSH_CONSTANT), SPV(TypePointer, 33, KHAL__CLASS_PUSH_CONSTANT, 4), ),
    BODY(SPV(Decorate, 30, KHAL__DECORATION_BLOCK), SPV(MemberDecorate, 30, 0, KHAL__DECORATION_OFFSET, 0), ),
    BODY(SPV(AccessChain, 33, 34, 32, 12), SPV(Load, 4, 26, 34), ));

static void foreign_spirv(void** state)
{
    (void)state;
    const uint32_t constant = 900, push = 4000;
    const khal_specialization specialization = {9, 4, &constant};
    for (int way = 0; way < 2; ++way) {
        khal_module* module = NULL;
        khal_function* function = NULL;
        uint32_t words[40], out[40];
        for (uint32_t i = 0; i < 40; ++i)
            words[i] = i;
        khal_buffer* buffer = buffer_of(words, sizeof words);
        const khal_status status =
            way == 0 ? khal_module_load(device, &(khal_module_desc){.code = spirv_add, .code_size = sizeof spirv_add},
                                        &module)
                     : khal_module_load(device, &(khal_module_desc){.code = spirv_push, .code_size = sizeof spirv_push},
                                        &module);
        if (way == 1 && status != KHAL_OK) { /* a library without push constants */
            assert_int_equal(khal_error_get()->id, KHAL_ERROR_MODULE_COMPILE);
            khal_buffer_release(buffer);
            continue;
        }
        OK(status);
        OK(khal_function_create(
            module, &(khal_function_desc){.specializations = &specialization, .specialization_count = 1}, &function));
        const khal_kernel_info* info = khal_function_get_info(function);
        assert_int_equal(info->binding_count, 1);
        assert_int_equal(info->push_constant_size, way == 0 ? 0 : 4);
        assert_int_equal(info->workgroup_size[0], 4);
        /* Where it can be bound, and where it can't. */
        for (uint32_t first = 0; first < 2; ++first) {
            const call c = {.function = function,
                            .grid = khal_threads(12, 1, 1),
                            .slices = {{buffer, first * 20, 48, 4}},
                            .slice_count = 1,
                            .push = &push,
                            .push_size = way == 0 ? 0 : 4};
            OK(run(&c, 1));
            for (uint32_t i = 0; i < 12; ++i)
                words[first * 5 + i] += constant + (way == 0 ? 70 : push);
        }
        read_back(buffer, out, sizeof out);
        assert_memory_equal(out, words, sizeof out);
        khal_buffer_release(buffer);
        khal_function_release(function);
        khal_module_release(module);
    }
}

static void foreign_code_that_is_wrong(void** state)
{
    (void)state;
    khal_module* module = NULL;
    khal_function* function = NULL;
    static const char broken[] = "@compute @workgroup_size(1)\nfn main() {\n    let x = ;\n}\n";
    assert_int_equal(khal_module_load(device, &(khal_module_desc){.code = broken, .code_size = sizeof broken}, &module),
                     KHAL_COMPILE_FAILED);
    assert_non_null(strstr(khal_error_get()->message, "3:13"));
    FAILS(MODULE_COMPILE,
          khal_module_load(device, &(khal_module_desc){.code = broken, .code_size = sizeof broken}, &module));
    OK(khal_module_load(device, &(khal_module_desc){.code = foreign_text, .code_size = sizeof foreign_text}, &module));
    const khal_binding_desc too_few[1] = {{0, 0, KHAL_ARG_BUFFER, 0, 4}};
    FAILS(FUNCTION_LAYOUT,
          khal_function_create(module,
                               &(khal_function_desc){.bindings = too_few, .binding_count = 1, .push_constant_size = 8},
                               &function));
    khal_module_release(module);
    /* What only the library finds. */
    static const char hidden[] = "const G = 0; @group(G) @binding(0) var<storage, read> a: array<u32>;\n"
                                 "var<workgroup> x: u32; @compute @workgroup_size(1) fn main() { x = a[0]; }\n";
    OK(khal_module_load(device, &(khal_module_desc){.code = hidden, .code_size = sizeof hidden}, &module));
    FAILS(FUNCTION_COMPILE,
          khal_function_create(module, &(khal_function_desc){.bindings = too_few, .binding_count = 1}, &function));
    const khal_binding_desc far[1] = {{99, 0, KHAL_ARG_BUFFER, KHAL_ACCESS_READ, 4}};
    FAILS(FUNCTION_LIMIT,
          khal_function_create(module, &(khal_function_desc){.bindings = far, .binding_count = 1}, &function));
    khal_module_release(module);
    OK(khal_device_get_status(device));
}

/* ---- the device -------------------------------------------------------------------------------- */

static int set_up(void** state)
{
    (void)state;
    return device == NULL ? 0 : khal_device_get_status(device) != KHAL_OK;
}

/* 77: there is no device. */
static int all_tests(void)
{
    if (khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_WEBGPU}, &device) != KHAL_OK) {
        printf("no WebGPU device: %s\n", khal_error_get()->message);
        return 77;
    }
    printf("%s, %s\n", khal_device_get_info(device)->name, khal_device_get_info(device)->driver);
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(slices_anywhere),
        TEST(aliased_slices),
        TEST(empty_slices),
        TEST(folded_grids),
        TEST(indirect_grids),
        TEST(indirect_grids_too_large),
        TEST(indirect_grids_again),
        TEST(long_passes),
        TEST(local_sizes),
        TEST(fused_multiply_add),
        TEST(broken_kernels),
        TEST(many_blocks),
        TEST(steady_state),
        TEST(memory_stays_flat),
        TEST(copies_at_any_byte),
        TEST(large_copies_and_fills),
        TEST(foreign_code),
        TEST(foreign_spirv),
        TEST(foreign_code_that_is_wrong),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    khal_device_release(device);
    return failed;
}

/* A process for each library of deps/, or one with the library that the environment names. */
static int in_a_process(const char* library)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("KHAL_WEBGPU_LIBRARY", library, 1);
        if (access(DEPS "vulkan/lavapipe_icd.json", R_OK) == 0) {
            setenv("VK_DRIVER_FILES", DEPS "vulkan/lavapipe_icd.json", 0);
            setenv("VK_ICD_FILENAMES", DEPS "vulkan/lavapipe_icd.json", 0);
        }
        exit(all_tests());
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        printf("%s: ended by signal %d\n", library, WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(void)
{
    static const char* const libraries[] = {DEPS "webgpu/libwgpu_native.so", DEPS "webgpu/libwebgpu_dawn.so"};
    const char* named = getenv("KHAL_WEBGPU_LIBRARY");
    int failed = 0;
    if (named != NULL && named[0] != 0)
        return all_tests();
    for (size_t i = 0; i < 2; ++i) {
        if (access(libraries[i], R_OK) != 0)
            printf("%s is not there (scripts/setup.sh fetches it)\n", libraries[i]);
        else
            failed |= in_a_process(libraries[i]);
    }
    return failed;
}
