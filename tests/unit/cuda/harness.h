/* What the tests of the CUDA backend over the stand-in share: a kernel library in PTX whose kernels are C functions here, a
 * device, and checks after every call that the thread's current context is the one that it was. */
#ifndef KHAL_TESTS_CUDA_HARNESS_H
#define KHAL_TESTS_CUDA_HARNESS_H

#include "front.h"

#include "backends/cuda/cu_api.h"
#include "cuda/standin.h"
#include "platform/platform.h"

#include <khal/interop/cuda.h>

static const standin_hooks* hooks;
static cu_functions driver;
static void* foreign; /* a context of the program's own, current on the test's thread */
static _Thread_local void* own_context;
static _Thread_local unsigned own_depth;

static inline void check_context(const char* call)
{
    if (hooks->depth() != own_depth || hooks->current() != own_context)
        fail_msg("%s leaves another context current", call);
}

#undef OK
#define OK(call)                                                                                                              \
    do {                                                                                                                      \
        const khal_status ok_status = (call);                                                                                 \
        if (ok_status != KHAL_OK)                                                                                             \
            fail_msg("%s gives %s: %s", #call, khal_status_name(ok_status), khal_error_get()->message);                       \
        check_context(#call);                                                                                                 \
    } while (0)
#undef FAILS
#define FAILS(id, call)                                                                                                       \
    do {                                                                                                                      \
        check_fails(KHAL_ERROR_##id, (call), "KHAL_ERROR_" #id, #call);                                                       \
        check_context(#call);                                                                                                 \
    } while (0)
#define GIVES(status, call) assert_int_equal(call, status)

/* ---- kernels ----------------------------------------------------------------------------------- */

enum { C_ADD, C_COUNTS, C_TALLY, C_LOCALS, C_STRUCTS, C_ORDER, C_HEAVY, C_PAIR, C_COUNT };

typedef struct cuda_struct {
    float v[4];
    uint32_t n, pad[3];
} cuda_struct;

_Static_assert(sizeof(khal_ptx_plain) == 32 && sizeof(khal_ptx_grid) == 72, "the PTX below has these sizes");
#define CUDA_ENTRY(name, parameters, body)                                                                                    \
    ".visible .entry " name "(\n" parameters "\t.param .align 8 .b8 last[32]\n)\n{\n" body "\tret;\n}\n"                      \
    ".visible .entry " name "$grid(\n" parameters "\t.param .align 8 .b8 last[72]\n)\n{\n" body "\tret;\n}\n"
#define CUDA_PTX                                                                                                              \
    CUDA_ENTRY("add", "\t.param .u64 a,\n\t.param .u64 b,\n\t.param .u32 n,\n", "")                                           \
    CUDA_ENTRY("counts", "\t.param .u64 c,\n\t.param .u32 x,\n\t.param .u32 y,\n\t.param .u32 z,\n", "")                      \
    CUDA_ENTRY("tally", "\t.param .u64 t,\n", "")                                                                             \
    CUDA_ENTRY("locals", "\t.param .u64 a,\n\t.param .u64 l,\n\t.param .u64 m,\n", "\t.shared .align 4 .b8 own[256];\n")      \
    CUDA_ENTRY("structs", "\t.param .u64 a,\n\t.param .u64 c,\n\t.param .align 16 .b8 s[32],\n\t.param .u8 tag,\n", "")       \
    CUDA_ENTRY("order", "\t.param .u64 a,\n\t.param .u32 digit,\n", "")                                                       \
    CUDA_ENTRY("heavy", "\t.param .u64 a,\n", "\t.reg .b32 %r<200>;\n")                                                       \
    CUDA_ENTRY("pair", "\t.param .u64 to,\n\t.param .u64 from,\n\t.param .u32 plus,\n", "")

static const char cuda_ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n" CUDA_PTX;

#define CUDA_BUFFER(arg_name, arg_kind, arg_access, arg_index, bytes)                                                         \
    {.name = arg_name, .type_name = "uint", .kind = arg_kind, .access = arg_access, .index = arg_index,                       \
     .element_size = bytes, .element_align = bytes}
#define CUDA_VALUE(arg_name, bytes, align, at)                                                                                \
    {.name = arg_name, .type_name = "uint", .kind = KHAL_ARG_VALUE, .element_size = bytes, .element_align = align, .offset = at}
#define CUDA_BOTH (KHAL_ACCESS_READ | KHAL_ACCESS_WRITE)
static const khal_arg_info cuda_add_args[] = {CUDA_BUFFER("a", KHAL_ARG_BUFFER, CUDA_BOTH, 0, 4),
                                              CUDA_BUFFER("b", KHAL_ARG_BUFFER, KHAL_ACCESS_READ, 1, 4), CUDA_VALUE("n", 4, 4, 0)};
static const khal_arg_info cuda_counts_args[] = {CUDA_BUFFER("c", KHAL_ARG_BUFFER, KHAL_ACCESS_WRITE, 0, 4),
                                                 CUDA_VALUE("x", 4, 4, 0), CUDA_VALUE("y", 4, 4, 4), CUDA_VALUE("z", 4, 4, 8)};
static const khal_arg_info cuda_tally_args[] = {CUDA_BUFFER("t", KHAL_ARG_BUFFER, CUDA_BOTH, 0, 8)};
static const khal_arg_info cuda_locals_args[] = {
    CUDA_BUFFER("a", KHAL_ARG_BUFFER, KHAL_ACCESS_WRITE, 0, 8),
    {.name = "l", .type_name = "float", .kind = KHAL_ARG_LOCAL, .index = 0, .element_size = 4, .element_align = 4},
    {.name = "m", .type_name = "float", .kind = KHAL_ARG_LOCAL, .index = 1, .element_size = 4, .element_align = 4}};
static const khal_arg_info cuda_structs_args[] = {
    CUDA_BUFFER("a", KHAL_ARG_BUFFER, KHAL_ACCESS_WRITE, 0, 4), CUDA_BUFFER("c", KHAL_ARG_CONSTANT, KHAL_ACCESS_READ, 1, 16),
    CUDA_VALUE("s", sizeof(cuda_struct), 16, 0), CUDA_VALUE("tag", 1, 1, 32)};
static const khal_arg_info cuda_order_args[] = {CUDA_BUFFER("a", KHAL_ARG_BUFFER, CUDA_BOTH, 0, 4), CUDA_VALUE("digit", 4, 4, 0)};
static const khal_arg_info cuda_heavy_args[] = {CUDA_BUFFER("a", KHAL_ARG_BUFFER, CUDA_BOTH, 0, 4)};
static const khal_arg_info cuda_pair_args[] = {CUDA_BUFFER("to", KHAL_ARG_BUFFER, KHAL_ACCESS_WRITE, 0, 4),
                                               CUDA_BUFFER("from", KHAL_ARG_BUFFER, KHAL_ACCESS_READ, 1, 4),
                                               CUDA_VALUE("plus", 4, 4, 0)};
static const khal_kernel_info cuda_kernels[C_COUNT] = {
    [C_ADD] = {.name = "add", .args = cuda_add_args, .arg_count = 3, .binding_count = 2, .push_constant_size = 4},
    [C_COUNTS] = {.name = "counts", .args = cuda_counts_args, .arg_count = 4, .binding_count = 1, .push_constant_size = 12},
    [C_TALLY] = {.name = "tally", .args = cuda_tally_args, .arg_count = 1, .binding_count = 1},
    [C_LOCALS] = {.name = "locals", .args = cuda_locals_args, .arg_count = 3, .binding_count = 1, .local_count = 2,
                  .local_memory_size = 256, .flags = KHAL_KERNEL_HAS_BARRIER},
    [C_STRUCTS] = {.name = "structs", .args = cuda_structs_args, .arg_count = 4, .binding_count = 2, .push_constant_size = 33},
    [C_ORDER] = {.name = "order", .args = cuda_order_args, .arg_count = 2, .binding_count = 1, .push_constant_size = 4},
    [C_HEAVY] = {.name = "heavy", .args = cuda_heavy_args, .arg_count = 1, .binding_count = 1},
    [C_PAIR] = {.name = "pair", .args = cuda_pair_args, .arg_count = 3, .binding_count = 2, .push_constant_size = 4},
};
static const khal_ptx_kernel cuda_entries[C_COUNT] = {
    {.entry = "add", .grid_entry = "add$grid"},         {.entry = "counts", .grid_entry = "counts$grid"},
    {.entry = "tally", .grid_entry = "tally$grid"},     {.entry = "locals", .grid_entry = "locals$grid"},
    {.entry = "structs", .grid_entry = "structs$grid"}, {.entry = "order", .grid_entry = "order$grid"},
    {.entry = "heavy", .grid_entry = "heavy$grid"},     {.entry = "pair", .grid_entry = "pair$grid"},
};
static const khal_code cuda_codes[] = {{.format = KHAL_FORMAT_PTX, .level = 75, .abi = KHAL_PTX_ABI, .bytes = cuda_ptx,
                                        .size = sizeof cuda_ptx, .ptx_kernels = cuda_entries}};
static const khal_kernel_library cuda_library = {.version = KHAL_LIBRARY_VERSION, .kernel_count = C_COUNT, .code_count = 1,
                                                 .name = "cuda", .kernels = cuda_kernels, .codes = cuda_codes};

/* The logical grid of a launch, as the kernel sees it. */
typedef struct cuda_view {
    bool is_grid;
    uint64_t groups[3], global[3];
    uint32_t work_dim, is_exact;
} cuda_view;
/* False: the counts are too many, and none runs. */
static inline bool view_launch(const standin_launch* l, cuda_view* out)
{
    const void* last = l->parameters[l->parameter_count - 1];
    khal_ptx_grid grid;
    khal_ptx_plain plain;
    memset(out, 0, sizeof *out);
    out->is_grid = strchr(l->name, '$') != NULL;
    if (!out->is_grid) {
        memcpy(&plain, last, sizeof plain);
        for (int i = 0; i < 3; ++i)
            out->groups[i] = l->grid[i];
        memcpy(out->global, plain.global_size, sizeof out->global);
        out->work_dim = plain.work_dim;
        out->is_exact = plain.is_exact;
        return true;
    }
    memcpy(&grid, last, sizeof grid);
    memcpy(out->groups, grid.group_count, sizeof out->groups);
    memcpy(out->global, grid.global_size, sizeof out->global);
    out->work_dim = grid.work_dim;
    out->is_exact = grid.is_exact;
    if (grid.counts == 0)
        return true;
    uint32_t counts[3] = {0, 0, 0};
    const void* at = hooks->at(grid.counts, sizeof counts);
    if (at != NULL)
        memcpy(counts, at, sizeof counts);
    for (int i = 0; i < 3; ++i) {
        out->groups[i] = counts[i];
        out->global[i] = (uint64_t)counts[i] * l->block[i];
    }
    const unsigned __int128 all = (unsigned __int128)counts[0] * counts[1] * counts[2];
    if (all < (unsigned __int128)1 << 63)
        return true;
    uint32_t* too_many = hooks->at(grid.too_many, 4);
    if (too_many != NULL)
        *too_many = 1;
    return false;
}

static inline void* cuda_argument(const standin_launch* l, unsigned index, size_t size)
{
    uint64_t address;
    memcpy(&address, l->parameters[index], 8);
    return size > 0 ? hooks->at(address, size) : NULL;
}

static inline uint32_t cuda_value(const standin_launch* l, unsigned index)
{
    uint32_t value;
    memcpy(&value, l->parameters[index], 4);
    return value;
}

static int cuda_add(void* user, const standin_launch* l)
{
    (void)user;
    cuda_view view;
    if (!view_launch(l, &view))
        return 0;
    const uint32_t n = cuda_value(l, 2);
    const size_t count = (size_t)(view.global[0] < n ? view.global[0] : n);
    uint32_t* a = cuda_argument(l, 0, count * 4);
    const uint32_t* b = cuda_argument(l, 1, count * 4);
    for (size_t i = 0; a != NULL && b != NULL && i < count; ++i)
        a[i] += b[i];
    return 0;
}

static int cuda_counts(void* user, const standin_launch* l)
{
    (void)user;
    uint32_t* c = cuda_argument(l, 0, 12);
    for (unsigned i = 0; c != NULL && i < 3; ++i)
        c[i] = cuda_value(l, 1 + i);
    return 0;
}

/* What it saw last: its launch, in `user`; and in memory, groups so far and launches so far. */
typedef struct cuda_seen {
    cuda_view view;
    unsigned grid[3], block[3], shared;
} cuda_seen;
static int cuda_tally(void* user, const standin_launch* l)
{
    cuda_seen seen = {.shared = l->shared};
    const bool runs = view_launch(l, &seen.view);
    memcpy(seen.grid, l->grid, sizeof seen.grid);
    memcpy(seen.block, l->block, sizeof seen.block);
    if (user != NULL)
        *(cuda_seen*)user = seen;
    uint64_t* t = cuda_argument(l, 0, 16);
    if (runs && t != NULL) {
        t[0] += seen.view.groups[0] * seen.view.groups[1] * seen.view.groups[2];
        ++t[1];
    }
    return 0;
}

static int cuda_locals(void* user, const standin_launch* l)
{
    (void)user;
    uint64_t* a = cuda_argument(l, 0, 24);
    if (a != NULL) {
        memcpy(&a[0], l->parameters[1], 8);
        memcpy(&a[1], l->parameters[2], 8);
        a[2] = l->shared;
    }
    return 0;
}

/* The struct, the first float4 of the constants, and the tag. */
static int cuda_structs(void* user, const standin_launch* l)
{
    (void)user;
    unsigned char* a = cuda_argument(l, 0, 52);
    const void* c = cuda_argument(l, 1, 16);
    if (a != NULL && c != NULL) {
        memcpy(a, l->parameters[2], 32);
        memcpy(a + 32, c, 16);
        a[48] = *(const unsigned char*)l->parameters[3];
    }
    return 0;
}

static int cuda_order(void* user, const standin_launch* l)
{
    (void)user;
    uint32_t* a = cuda_argument(l, 0, 4);
    if (a != NULL)
        *a = *a * 10 + cuda_value(l, 1);
    return 0;
}

static int cuda_pair(void* user, const standin_launch* l)
{
    (void)user;
    uint32_t* to = cuda_argument(l, 0, 4);
    const uint32_t* from = cuda_argument(l, 1, 4);
    if (to != NULL && from != NULL)
        *to = *from + cuda_value(l, 2);
    return 0;
}

static cuda_seen seen;
static inline void set_kernels(void)
{
    static const struct {
        const char* names[2];
        standin_kernel_fn run;
        void* user;
    } all[] = {{{"add", "add$grid"}, cuda_add, NULL},          {{"counts", "counts$grid"}, cuda_counts, NULL},
               {{"tally", "tally$grid"}, cuda_tally, &seen},   {{"locals", "locals$grid"}, cuda_locals, NULL},
               {{"structs", "structs$grid"}, cuda_structs, NULL}, {{"order", "order$grid"}, cuda_order, NULL},
               {{"pair", "pair$grid"}, cuda_pair, NULL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        for (int j = 0; j < 2; ++j)
            hooks->kernel(all[i].names[j], all[i].run, all[i].user);
}

/* ---- set-up ------------------------------------------------------------------------------------ */

static inline bool load_driver(const char* path)
{
    void* library = khal__library_open(path);
    hooks = library != NULL ? khal__library_symbol(library, "standin") : NULL;
    if (hooks == NULL)
        return false;
    setenv("KHAL_CUDA_LIBRARY", path, 1);
    unsetenv("KHAL_BACKEND");
    unsetenv("KHAL_DEVICE");
    void* found;
#define CUDA_LOAD(name, symbol, parameters)                                                                                   \
    found = khal__library_symbol(library, symbol);                                                                            \
    memcpy(&driver.name, &found, sizeof found);
    CU_REQUIRED_FUNCTIONS(CUDA_LOAD)
    CU_OPTIONAL_FUNCTIONS(CUDA_LOAD)
#undef CUDA_LOAD
    own_context = NULL;
    own_depth = 0;
    hooks->reset();
    return true;
}

/* The program has a context of its own, which is current. */
static inline int use_driver(const char* path)
{
    if (!load_driver(path) || driver.Init(0) != CUDA_SUCCESS)
        return -1;
    foreign = hooks->context_create(0);
    if (driver.CtxPushCurrent(foreign) != CUDA_SUCCESS)
        return -1;
    own_context = foreign;
    own_depth = 1;
    set_kernels();
    return 0;
}

static inline khal_status try_open(khal_device** out_device)
{
    return khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA}, out_device);
}

static inline khal_device* open_device(void)
{
    khal_device* device = NULL;
    OK(try_open(&device));
    return device;
}

/* Nothing was done wrong, and nothing is left. */
static inline void check_clean(void)
{
    assert_string_equal(hooks->misuse(), "");
    assert_string_equal(hooks->first_live(), "");
    assert_int_equal(hooks->live(), 0);
    check_context("the test");
}

static inline void close_device(khal_device* device)
{
    khal_device_release(device);
    check_clean();
}

static inline khal_function* get_function(khal_device* device, const char* name)
{
    khal_module* module = NULL;
    khal_function* function = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &cuda_library}, &module));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = name}, &function));
    khal_module_release(module);
    return function;
}

static inline khal_buffer* new_buffer(khal_device* device, uint64_t size, const void* data)
{
    khal_buffer* buffer = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = size, .usage = data == NULL ? 0xff : 0x7c, .data = data}, &buffer));
    return buffer;
}

static inline void record_in(khal_pass* pass, khal_function* function, khal_grid grid, uint32_t count, const khal_slice* slices,
                             uint32_t push_size, const void* push)
{
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = function, .grid = grid, .bindings = slices, .binding_count = count,
                                                .push_constants = push, .push_constant_size = push_size},
                          NULL));
}

/* A pass of one dispatch. */
static inline void record(khal_encoder* encoder, khal_function* function, khal_grid grid, uint32_t count,
                          const khal_slice* slices, uint32_t push_size, const void* push)
{
    khal_pass* pass = NULL;
    OK(khal_pass_begin(encoder, NULL, &pass));
    record_in(pass, function, grid, count, slices, push_size, push);
    OK(khal_pass_end(pass));
}

static inline uint32_t read_word(khal_buffer* buffer, uint64_t offset)
{
    uint32_t word = 0;
    OK(khal_buffer_read(buffer, offset, &word, 4, KHAL_FOREVER));
    return word;
}

static inline const char* cuda_reason(void)
{
    static khal_device_info infos[16];
    uint32_t count = 0;
    OK(khal_device_enumerate(16, infos, &count));
    for (uint32_t i = 0; i < count; ++i)
        if (infos[i].backend == KHAL_BACKEND_CUDA)
            return infos[i].available ? "" : infos[i].reason;
    return "not listed";
}

#endif
