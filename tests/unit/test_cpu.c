/* The CPU backend from the inside: its pool, and its queue under a kernel library written by hand.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cpu/cpu.h"

#define MS 1000000ull

/* ---- a library ------------------------------------------------------------------------------- */

/* Each group adds one to its own element. */
static void run_mark(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    uint32_t* out = launch->bindings[0];
    for (uint64_t g = first; g < last; g++) {
        out[g]++;
    }
}

/* A chain of as many dependent steps as the push constants say. */
static void run_spin(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    uint32_t* out = launch->bindings[0];
    uint32_t steps;
    memcpy(&steps, launch->push_constants, sizeof steps);
    for (uint64_t g = first; g < last; g++) {
        uint32_t x = (uint32_t)g;
        for (uint32_t i = 0; i < steps; i++) {
            x = x * 1664525u + 1013904223u;
        }
        out[g] = x;
    }
}

/* One third, and half of the smallest normal number. */
static void run_floats(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    float* out = launch->bindings[0];
    for (uint64_t g = first; g < last; g++) {
        volatile float one = 1.0f, three = 3.0f, tiny = 0x1p-126f, half = 0.5f;
        out[g * 2] = one / three;
        out[g * 2 + 1] = tiny * half;
    }
}

/* How many groups there are, however many. */
static void run_total(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    _Atomic uint64_t* out = launch->bindings[0];
    atomic_fetch_add(out, last - first);
}

static void run_print(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    for (uint64_t g = first; g < last; g++) {
        launch->print(launch->print_user, "group\n", 6);
    }
}

#define SCRATCH_FIXED 1000u
#define SCRATCH_PER_ITEM 48u

/* Whether the scratch is this thread's alone, aligned and as large as promised. */
static void run_scratch(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    uint32_t* out = launch->bindings[0];
    size_t items = (size_t)launch->local_size[0] * launch->local_size[1] * launch->local_size[2];
    size_t size = SCRATCH_FIXED + SCRATCH_PER_ITEM * items +
                  (((size_t)launch->local_sizes[0] + 127) & ~(size_t)127);
    unsigned char* bytes = scratch;
    for (uint64_t g = first; g < last; g++) {
        bool good = (uintptr_t)scratch % 128 == 0;
        for (int round = 0; round < 20; round++) {
            memset(bytes, (int)(g + (unsigned)round), size);
            for (size_t i = 0; i < size; i++) {
                good = good && bytes[i] == (unsigned char)(g + (unsigned)round);
            }
        }
        out[g] = good;
    }
}

typedef struct shape {
    uint32_t work_dim, local_size[3];
    uint64_t group_count[3], global_size[3], binding_size;
} shape;

static void run_shape(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    (void)last;
    if (first == 0) {
        shape* out = launch->bindings[0];
        out->work_dim = launch->work_dim;
        memcpy(out->local_size, launch->local_size, sizeof out->local_size);
        memcpy(out->group_count, launch->group_count, sizeof out->group_count);
        memcpy(out->global_size, launch->global_size, sizeof out->global_size);
        out->binding_size = launch->binding_sizes[0];
    }
}

enum { MARK, SPIN, FLOATS, TOTAL, PRINT, SCRATCH, SHAPE, KERNEL_COUNT };

#define OUT(type, bytes)                                                                           \
    {.name = "out",                                                                                \
     .type_name = type,                                                                            \
     .kind = KHAL_ARG_BUFFER,                                                                      \
     .access = KHAL_ACCESS_READ | KHAL_ACCESS_WRITE,                                               \
     .element_size = (bytes),                                                                      \
     .element_align = (bytes)}
static const khal_arg_info uint_args[] = {OUT("uint", 4)}, float_args[] = {OUT("float", 4)},
                           ulong_args[] = {OUT("ulong", 8)};
static const khal_arg_info spin_args[] = {OUT("uint", 4),
                                          {.name = "steps",
                                           .type_name = "uint",
                                           .kind = KHAL_ARG_VALUE,
                                           .element_size = 4,
                                           .element_align = 4}};
static const khal_arg_info scratch_args[] = {OUT("uint", 4),
                                             {.name = "local",
                                              .type_name = "uchar",
                                              .kind = KHAL_ARG_LOCAL,
                                              .element_size = 1,
                                              .element_align = 1}};
static const khal_kernel_info kernels[KERNEL_COUNT] = {
    [MARK] = {.name = "mark",
              .args = uint_args,
              .arg_count = 1,
              .binding_count = 1,
              .flags = KHAL_KERNEL_HAS_BARRIER},
    [SPIN] = {.name = "spin",
              .args = spin_args,
              .arg_count = 2,
              .binding_count = 1,
              .push_constant_size = 4},
    [FLOATS] = {.name = "floats", .args = float_args, .arg_count = 1, .binding_count = 1},
    [TOTAL] = {.name = "total", .args = ulong_args, .arg_count = 1, .binding_count = 1},
    [PRINT] = {.name = "print", .flags = KHAL_KERNEL_HAS_PRINTF},
    [SCRATCH] = {.name = "scratch",
                 .args = scratch_args,
                 .arg_count = 2,
                 .binding_count = 1,
                 .local_count = 1},
    [SHAPE] = {.name = "shape", .args = ulong_args, .arg_count = 1, .binding_count = 1},
};
static const khal_cpu_kernel code[KERNEL_COUNT] = {
    [MARK] = {run_mark, 0, 0},     [SPIN] = {run_spin, 0, 0},
    [FLOATS] = {run_floats, 0, 0}, [TOTAL] = {run_total, 0, 0},
    [PRINT] = {run_print, 0, 0},   [SCRATCH] = {run_scratch, SCRATCH_FIXED, SCRATCH_PER_ITEM},
    [SHAPE] = {run_shape, 0, 0},
};
static const khal_code codes[] = {
    {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = code}};
static const khal_kernel_library library = {
    .version = KHAL_LIBRARY_VERSION,
    .kernel_count = KERNEL_COUNT,
    .code_count = 1,
    .name = "by_hand",
    .kernels = kernels,
    .codes = codes,
};

/* ---- a device and what stands on it ---------------------------------------------------------- */

typedef struct world {
    khal_device* device;
    khal_module* module;
    khal_function* functions[KERNEL_COUNT];
} world;

static void open_world(world* w, const khal_device_desc* desc)
{
    khal_device_desc d = *desc;
    d.backend = KHAL_BACKEND_CPU;
    assert_int_equal(khal_device_open(&d, &w->device), KHAL_OK);
    assert_int_equal(
        khal_module_load(w->device, &(khal_module_desc){.library = &library}, &w->module), KHAL_OK);
    for (int i = 0; i < KERNEL_COUNT; i++) {
        const khal_function_desc f = {.entry_point = kernels[i].name};
        assert_int_equal(khal_function_create(w->module, &f, &w->functions[i]), KHAL_OK);
    }
}

static void close_world(world* w)
{
    for (int i = 0; i < KERNEL_COUNT; i++) {
        khal_function_release(w->functions[i]);
    }
    khal_module_release(w->module);
    khal_device_release(w->device);
}

static khal_buffer* make_buffer(world* w, uint64_t size, uint32_t element_size)
{
    khal_buffer* buffer;
    const khal_buffer_desc desc = {.size = size,
                                   .element_size = element_size,
                                   .usage = KHAL_USAGE_STORAGE | KHAL_USAGE_COPY_SRC |
                                            KHAL_USAGE_COPY_DST | KHAL_USAGE_INDIRECT};
    assert_int_equal(khal_buffer_create(w->device, &desc, &buffer), KHAL_OK);
    return buffer;
}

static khal_encoder* make_encoder(world* w)
{
    khal_encoder* encoder;
    assert_int_equal(khal_encoder_create(w->device, NULL, &encoder), KHAL_OK);
    return encoder;
}

/* Records a pass with one dispatch; what goes wrong shows at submit. */
static void dispatch(world* w, khal_encoder* encoder, int kernel, khal_grid grid,
                     khal_buffer* buffer, uint32_t steps)
{
    khal_pass* pass;
    assert_int_equal(khal_pass_begin(encoder, NULL, &pass), KHAL_OK);
    khal_slice slice = buffer ? khal_slice_all(buffer) : (khal_slice){0};
    const uint64_t local_size = 200;
    const khal_dispatch_desc desc = {
        .function = w->functions[kernel],
        .grid = grid,
        .bindings = &slice,
        .binding_count = kernels[kernel].binding_count,
        .push_constants = kernels[kernel].push_constant_size ? &steps : NULL,
        .push_constant_size = kernels[kernel].push_constant_size,
        .local_sizes = &local_size,
        .local_count = kernels[kernel].local_count,
    };
    khal_pass_dispatch(pass, &desc, NULL);
    khal_pass_end(pass);
}

static khal_ticket submit(khal_encoder* encoder)
{
    khal_ticket ticket = 0;
    assert_int_equal(khal_submit(encoder, &ticket), KHAL_OK);
    return ticket;
}

static khal_grid one_by_one(uint64_t groups)
{
    return khal_grid_with_workgroup(khal_groups(groups, 1, 1), 1, 1, 1);
}

/* ---- the pool -------------------------------------------------------------------------------- */

typedef struct coverage {
    uint8_t* hits;
    _Atomic uint32_t faults; /* cmocka's checks work on the main thread alone */
} coverage;

static void hit(void* user, uint64_t first, uint64_t last, void* scratch)
{
    coverage* c = user;
    if (first >= last) {
        atomic_fetch_add(&c->faults, 1);
    }
    if (scratch) {
        memset(scratch, 1, 3000);
    }
    for (uint64_t u = first; u < last; u++) {
        c->hits[u]++;
    }
}

static void pool_runs_each_unit_once(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 1});
    static uint8_t hits[5000];
    const uint64_t sizes[] = {1, 2, 7, 5000};
    for (uint32_t threads = 1; threads <= 5; threads++) {
        cpu_pool* pool = aligned_alloc(_Alignof(cpu_pool), sizeof *pool);
        assert_non_null(pool);
        memset(pool, 0, sizeof *pool);
        assert_true(cpu_pool_init(pool, w.device, threads));
        for (uint32_t asked = 1; asked <= 6; asked++) {
            for (uint64_t units = 1; units <= sizeof hits; units = units * 3 + 1) {
                for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                    memset(hits, 0, sizeof hits);
                    coverage c = {.hits = hits};
                    const cpu_job job = {.run = hit,
                                         .user = &c,
                                         .unit_count = units,
                                         .chunk_size = sizes[s],
                                         .scratch_size = s % 2 ? 3000 : 0,
                                         .thread_count = asked};
                    assert_true(cpu_pool_run(pool, &job));
                    assert_int_equal(atomic_load(&c.faults), 0);
                    for (uint64_t u = 0; u < units; u++) {
                        assert_int_equal(hits[u], 1);
                    }
                }
            }
        }
        cpu_pool_close(pool);
        free(pool);
    }
    close_world(&w);
}

static void pool_survives_pauses(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 3});
    khal_buffer* out = make_buffer(&w, 64 * 4, 4);
    khal_encoder* encoder = make_encoder(&w);
    for (int i = 0; i < 30; i++) {
        /* Long enough for the workers to fall asleep, and short enough that some have not. */
        uint64_t until = khal__clock_now() + (uint64_t)i * 10000;
        while (khal__clock_now() < until) {
        }
        dispatch(&w, encoder, MARK, one_by_one(64), out, 0);
        khal_ticket ticket = submit(encoder);
        assert_int_equal(khal_ticket_wait(w.device, ticket, i % 2 ? KHAL_FOREVER : 10000 * MS),
                         KHAL_OK);
    }
    uint32_t values[64];
    assert_int_equal(khal_buffer_read(out, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(values[i], 30);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

static void scratch_is_each_threads_own(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 4});
    khal_buffer* out = make_buffer(&w, 600 * 4, 4);
    khal_encoder* encoder = make_encoder(&w);
    const uint32_t shapes[][3] = {{1, 1, 1}, {8, 4, 2}, {256, 1, 1}};
    for (int i = 0; i < 3; i++) {
        khal_grid grid = khal_grid_with_workgroup(khal_groups(600, 1, 1), shapes[i][0],
                                                  shapes[i][1], shapes[i][2]);
        dispatch(&w, encoder, SCRATCH, grid, out, 0);
        khal_ticket ticket = submit(encoder);
        assert_int_equal(khal_ticket_wait(w.device, ticket, KHAL_FOREVER), KHAL_OK);
        uint32_t values[600];
        assert_int_equal(khal_buffer_read(out, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
        for (int g = 0; g < 600; g++) {
            assert_int_equal(values[g], 1);
        }
        assert_int_equal(khal_buffer_write(out, 0, (uint32_t[600]){0}, sizeof values), KHAL_OK);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

/* ---- levels and limits ----------------------------------------------------------------------- */

static void level_follows_the_environment(void** state)
{
    (void)state;
    khal_cpu_level machine = cpu_machine_level(), level;
    assert_int_equal(setenv("KHAL_CPU_LEVEL", "base", 1), 0);
    assert_true(cpu_chosen_level(&level));
    assert_int_equal(level, KHAL_CPU_LEVEL_BASE);
    setenv("KHAL_CPU_LEVEL", "v4", 1);
    assert_true(cpu_chosen_level(&level));
    assert_true(level <= machine);
    setenv("KHAL_CPU_LEVEL", "v9", 1);
    assert_false(cpu_chosen_level(&level));
    khal_device* device = NULL;
    assert_int_equal(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &device),
                     KHAL_NOT_FOUND);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_ENVIRONMENT);
    assert_null(device);
    unsetenv("KHAL_CPU_LEVEL");
    assert_true(cpu_chosen_level(&level));
    assert_int_equal(level, machine);
}

static void run_nothing(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)launch;
    (void)first;
    (void)last;
    (void)scratch;
}

static void best_level_is_chosen(void** state)
{
    (void)state;
    khal_cpu_kernel other[KERNEL_COUNT];
    for (int i = 0; i < KERNEL_COUNT; i++) {
        other[i] = (khal_cpu_kernel){run_nothing, 0, 0};
    }
    /* The level that the machine has, between one that is too high and one that is lower. */
    const khal_code list[] = {
        {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .level = 77, .cpu_kernels = other},
        {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI + 1, .level = 0, .cpu_kernels = other},
        {.format = KHAL_FORMAT_CPU,
         .abi = KHAL_CPU_ABI,
         .level = (uint32_t)cpu_machine_level(),
         .cpu_kernels = code},
        {.format = KHAL_FORMAT_CPU,
         .abi = KHAL_CPU_ABI,
         .level = 0,
         .cpu_kernels = cpu_machine_level() ? other : code},
    };
    khal_kernel_library levels = library;
    levels.codes = list;
    levels.code_count = 4;
    world w;
    open_world(&w, &(khal_device_desc){0});
    khal_module* module;
    khal_function* function;
    assert_int_equal(khal_module_load(w.device, &(khal_module_desc){.library = &levels}, &module),
                     KHAL_OK);
    assert_int_equal(
        khal_function_create(module, &(khal_function_desc){.entry_point = "mark"}, &function),
        KHAL_OK);
    const cpu_function* inside = khal__function_impl(function);
    assert_ptr_equal(inside->kernel, &code[MARK]);
    khal_function_release(function);
    khal_module_release(module);

    levels.code_count = 2;
    assert_int_equal(khal_module_load(w.device, &(khal_module_desc){.library = &levels}, &module),
                     KHAL_UNSUPPORTED);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_MODULE_NO_CODE);
    close_world(&w);
}

/* ---- running --------------------------------------------------------------------------------- */

static void caller_keeps_its_rounding(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 2048 * 8, 4);
    khal_encoder* encoder = make_encoder(&w);
    volatile float one = 1.0f, three = 3.0f;
    const float nearest = one / three;
    fesetround(FE_DOWNWARD);
    const float down = one / three;
    fesetround(FE_TONEAREST);
    assert_true(down < nearest);
    const uint64_t groups[] = {
        1, 1, 1, 2048,
        2048}; /* once it is known how little it takes, inside submit; and spread out */
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        fesetround(FE_DOWNWARD);
        dispatch(&w, encoder, FLOATS, one_by_one(groups[i]), out, 0);
        khal_ticket ticket = 0;
        khal_status submitted = khal_submit(encoder, &ticket);
        khal_status waited = khal_ticket_wait(w.device, ticket, KHAL_FOREVER);
        const float after = one / three;
        fesetround(FE_TONEAREST);
        assert_int_equal(submitted, KHAL_OK);
        assert_int_equal(waited, KHAL_OK);
        assert_true(after == down);
        static float values[4096];
        assert_int_equal(khal_buffer_read(out, 0, values, groups[i] * 8, KHAL_FOREVER), KHAL_OK);
        for (uint64_t g = 0; g < groups[i]; g++) {
            assert_true(values[g * 2] == nearest);
            assert_true(values[g * 2 + 1] == 0x1p-127f);
        }
    }
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

static void large_grids_run_whole(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 8, 8);
    khal_encoder* encoder = make_encoder(&w);
    const uint64_t grids[][3] = {{65536, 65536, 1},
                                 {1ull << 40, 1, 1},
                                 {3, 1ull << 33, 5},
                                 {1, 1, 1ull << 32},
                                 {42007935, 439125228929, 1}}; /* 2^64 - 1 */
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        khal_grid grid =
            khal_grid_with_workgroup(khal_groups(grids[i][0], grids[i][1], grids[i][2]), 64, 1, 1);
        dispatch(&w, encoder, TOTAL, grid, out, 0);
        submit(encoder);
        uint64_t total = 0;
        assert_int_equal(khal_buffer_read(out, 0, &total, 8, KHAL_FOREVER), KHAL_OK);
        assert_true(total == grids[i][0] * grids[i][1] * grids[i][2]);
        assert_int_equal(khal_buffer_write(out, 0, &(uint64_t){0}, 8), KHAL_OK);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

static void indirect_counts_are_checked(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 8, 8);
    khal_buffer* counts = make_buffer(&w, 48, 4);
    khal_encoder* encoder = make_encoder(&w);
    const uint32_t values[12] = {UINT32_MAX, UINT32_MAX, 2, 5, 0, 7, 3, 4, 5, 65536, 65536, 2};
    const uint64_t totals[4] = {0, 0, 60, 1ull << 33};
    assert_int_equal(khal_buffer_write(counts, 0, values, sizeof values), KHAL_OK);
    for (int i = 0; i < 4; i++) {
        khal_grid grid =
            khal_grid_with_workgroup(khal_indirect(counts, (uint64_t)i * 12), 32, 1, 1);
        dispatch(&w, encoder, TOTAL, grid, out, 0);
        khal_ticket ticket = submit(encoder);
        khal_status status = khal_ticket_wait(w.device, ticket, KHAL_FOREVER);
        assert_int_equal(status, i == 0 ? KHAL_EXECUTION_FAILED : KHAL_OK);
        if (i == 0) {
            assert_int_equal(khal_error_get()->id, KHAL_ERROR_INDIRECT_TOO_LARGE);
        }
        uint64_t total = 0;
        assert_int_equal(khal_buffer_read(out, 0, &total, 8, KHAL_FOREVER), KHAL_OK);
        assert_true(total == totals[i]);
        assert_int_equal(khal_buffer_write(out, 0, &(uint64_t){0}, 8), KHAL_OK);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(counts);
    khal_buffer_release(out);
    close_world(&w);
}

static void launch_has_the_shape_asked_for(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 128, 8);
    khal_encoder* encoder = make_encoder(&w);
    dispatch(&w, encoder, SHAPE, khal_grid_with_workgroup(khal_threads(1000, 3, 1), 64, 2, 1), out,
             0);
    submit(encoder);
    shape s;
    assert_int_equal(khal_buffer_read(out, 0, &s, sizeof s, KHAL_FOREVER), KHAL_OK);
    const uint64_t groups[3] = {16, 2, 1}, items[3] = {1000, 3, 1};
    const uint32_t local[3] = {64, 2, 1};
    assert_int_equal(s.work_dim, 2);
    assert_memory_equal(s.local_size, local, sizeof local);
    assert_memory_equal(s.group_count, groups, sizeof groups);
    assert_memory_equal(s.global_size, items, sizeof items);
    assert_int_equal(s.binding_size, 128);
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

static void waits_end_in_time(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 16, 4);
    khal_encoder* encoder = make_encoder(&w);
    /* A kernel that was quick before is not run inside submit when its push constants change. */
    for (int i = 0; i < 3; i++) {
        dispatch(&w, encoder, SPIN, one_by_one(4), out, 1);
        assert_int_equal(khal_ticket_wait(w.device, submit(encoder), KHAL_FOREVER), KHAL_OK);
    }
    dispatch(&w, encoder, SPIN, one_by_one(4), out, 30000000);
    khal_ticket ticket = submit(encoder);
    assert_int_equal(khal_ticket_poll(w.device, ticket), KHAL_NOT_READY);
    uint64_t begin = khal__clock_now();
    assert_int_equal(khal_ticket_wait(w.device, ticket, 2 * MS), KHAL_TIMEOUT);
    assert_true(khal__clock_now() - begin >= 2 * MS);
    assert_int_equal(khal_ticket_wait(w.device, ticket, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(khal_ticket_poll(w.device, ticket), KHAL_OK);
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

/* ---- order and callbacks --------------------------------------------------------------------- */

typedef struct journal {
    world* w;
    khal_buffer* out;
    _Atomic uint32_t next;
    bool in_order;
    khal_status nested;
} journal;

typedef struct entry {
    journal* journal;
    uint32_t number;
} entry;

static khal_status note(void* user, const khal_native* native)
{
    entry* e = user;
    e->journal->in_order = e->journal->in_order && native->backend == KHAL_BACKEND_CPU &&
                           native->handle == NULL && atomic_load(&e->journal->next) == e->number;
    atomic_fetch_add(&e->journal->next, 1);
    return KHAL_OK;
}

static void submissions_run_in_order(void** state)
{
    (void)state;
    enum { COUNT = 5000 };
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 16, 4);
    khal_encoder* encoder = make_encoder(&w);
    journal j = {.w = &w, .in_order = true};
    static entry entries[COUNT];
    khal_ticket last = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        entries[i] = (entry){&j, i};
        const khal_native_desc native = {.call = note, .user = &entries[i]};
        assert_int_equal(khal_encoder_native(encoder, &native), KHAL_OK);
        if (i % 3 == 0) {
            dispatch(&w, encoder, MARK, one_by_one(4), out, 0);
        }
        khal_ticket ticket = submit(encoder);
        assert_true(ticket > last);
        last = ticket;
    }
    assert_int_equal(khal_ticket_wait(w.device, last, KHAL_FOREVER), KHAL_OK);
    assert_true(j.in_order);
    assert_int_equal(atomic_load(&j.next), COUNT);
    uint32_t values[4];
    assert_int_equal(khal_buffer_read(out, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(values[3], (COUNT + 2) / 3);
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

/* From inside a submission: submits, and asks for a wait that could never end. */
static khal_status submit_more(void* user, const khal_native* native)
{
    (void)native;
    journal* j = user;
    khal_encoder* encoder;
    khal_ticket ticket = 0;
    if (khal_encoder_create(j->w->device, NULL, &encoder) != KHAL_OK) {
        return KHAL_DRIVER_ERROR;
    }
    dispatch(j->w, encoder, MARK, one_by_one(4), j->out, 0);
    j->nested = khal_submit(encoder, &ticket);
    khal_encoder_release(encoder);
    if (khal_ticket_wait(j->w->device, ticket, KHAL_FOREVER) != KHAL_TIMEOUT) {
        return KHAL_DRIVER_ERROR;
    }
    atomic_fetch_add(&j->next, 1);
    return KHAL_OK;
}

static void callbacks_may_submit(void** state)
{
    (void)state;
    enum {
        COUNT = 3000
    }; /* more than are let in at once, so that callers are held back meanwhile */
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    journal j = {.w = &w, .out = make_buffer(&w, 16, 4)};
    khal_encoder* encoder = make_encoder(&w);
    for (uint32_t i = 0; i < COUNT; i++) {
        const khal_native_desc native = {.call = submit_more, .user = &j};
        assert_int_equal(khal_encoder_native(encoder, &native), KHAL_OK);
        submit(encoder);
    }
    /* Those that the callbacks submit come after. */
    while (atomic_load(&j.next) < COUNT) {
        assert_int_equal(khal_device_wait(w.device, KHAL_FOREVER), KHAL_OK);
    }
    assert_int_equal(khal_device_wait(w.device, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(j.nested, KHAL_OK);
    uint32_t values[4];
    assert_int_equal(khal_buffer_read(j.out, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(values[0], COUNT);
    khal_encoder_release(encoder);
    khal_buffer_release(j.out);
    close_world(&w);
}

static khal_status refuse(void* user, const khal_native* native)
{
    (void)user;
    (void)native;
    return KHAL_EXECUTION_FAILED;
}

static void failures_stay_with_their_submission(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out = make_buffer(&w, 16, 4);
    khal_encoder* encoder = make_encoder(&w);
    assert_int_equal(khal_encoder_native(encoder, &(khal_native_desc){.call = refuse}), KHAL_OK);
    dispatch(&w, encoder, MARK, one_by_one(4), out, 0);
    khal_ticket bad = submit(encoder);
    dispatch(&w, encoder, MARK, one_by_one(4), out, 0);
    khal_ticket good = submit(encoder);
    assert_int_equal(khal_ticket_wait(w.device, good, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(khal_ticket_wait(w.device, bad, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_NATIVE_FAILED);
    uint32_t values[4];
    assert_int_equal(khal_buffer_read(out, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(values[0], 2);
    khal_encoder_release(encoder);
    khal_buffer_release(out);
    close_world(&w);
}

static void count_print(void* user, const char* text, size_t size)
{
    if (size == 6 && memcmp(text, "group\n", 6) == 0) {
        ++*(uint32_t*)user; /* one call at a time */
    }
}

static void prints_arrive_one_at_a_time(void** state)
{
    (void)state;
    world w;
    uint32_t prints = 0;
    open_world(&w,
               &(khal_device_desc){.thread_count = 4, .print = count_print, .print_user = &prints});
    khal_encoder* encoder = make_encoder(&w);
    dispatch(&w, encoder, PRINT, one_by_one(1000), NULL, 0);
    assert_int_equal(khal_ticket_wait(w.device, submit(encoder), KHAL_FOREVER), KHAL_OK);
    assert_int_equal(prints, 1000);
    khal_encoder_release(encoder);
    close_world(&w);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct purse {
    _Atomic uint64_t alive, largest, limit;
} purse;

static void* purse_allocate(void* user, size_t size, size_t align)
{
    purse* p = user;
    if (size > atomic_load(&p->limit)) {
        return NULL;
    }
    void* memory = aligned_alloc(align, (size + align - 1) / align * align);
    if (memory) {
        memset(memory, 0xa5, size);
        atomic_fetch_add(&p->alive, size);
        if (size > atomic_load(&p->largest)) {
            atomic_store(&p->largest, size);
        }
    }
    return memory;
}

static void purse_release(void* user, void* memory, size_t size)
{
    atomic_fetch_sub(&((purse*)user)->alive, size);
    free(memory);
}

static void allocator_gives_everything(void** state)
{
    (void)state;
    world w;
    purse p = {.limit = UINT64_MAX};
    const khal_allocator allocator = {purse_allocate, purse_release, &p};
    open_world(&w, &(khal_device_desc){.thread_count = 2, .allocator = &allocator});
    khal_buffer* large = make_buffer(&w, 4u << 20, 4);
    assert_true(atomic_load(&p.largest) >= 4u << 20);
    uint32_t value = 1;
    for (uint64_t offset = 0; offset < 4u << 20; offset += 65536 + 4) {
        assert_int_equal(khal_buffer_read(large, offset, &value, 4, KHAL_FOREVER), KHAL_OK);
        assert_int_equal(value, 0);
    }

    /* No memory for the scratch: that submission fails, and the device lives on. */
    khal_buffer* out = make_buffer(&w, 64 * 4, 4);
    khal_encoder* encoder = make_encoder(&w);
    dispatch(&w, encoder, SCRATCH, khal_grid_with_workgroup(khal_groups(64, 1, 1), 1024, 1, 1), out,
             0);
    atomic_store(&p.limit, SCRATCH_PER_ITEM * 1024);
    khal_ticket ticket = submit(encoder);
    assert_int_equal(khal_ticket_wait(w.device, ticket, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_OUT_OF_MEMORY);
    dispatch(&w, encoder, SCRATCH, khal_grid_with_workgroup(khal_groups(64, 1, 1), 16, 1, 1), out,
             0);
    assert_int_equal(khal_ticket_wait(w.device, submit(encoder), KHAL_FOREVER), KHAL_OK);
    atomic_store(&p.limit, UINT64_MAX);

    khal_encoder_release(encoder);
    khal_buffer_release(out);
    khal_buffer_release(large);
    close_world(&w);
    assert_int_equal(atomic_load(&p.alive), 0);
}

static void buffers_start_as_asked(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 2});
    const uint64_t sizes[] = {
        1, 127, 128, 4096, CPU_PAGES_SIZE - 1, CPU_PAGES_SIZE, CPU_PAGES_SIZE * 5 + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        khal_buffer* zeroed = make_buffer(&w, sizes[i], 1);
        unsigned char* data = malloc(sizes[i]);
        unsigned char* back = malloc(sizes[i]);
        memset(back, 0x77, sizes[i]);
        assert_int_equal(khal_buffer_read(zeroed, 0, back, sizes[i], KHAL_FOREVER), KHAL_OK);
        for (uint64_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(back[k], 0);
            data[k] = (unsigned char)(k * 7 + i);
        }
        khal_buffer* filled;
        const khal_buffer_desc desc = {
            .size = sizes[i], .data = data, .usage = KHAL_USAGE_MAP_READ | KHAL_USAGE_STORAGE};
        assert_int_equal(khal_buffer_create(w.device, &desc, &filled), KHAL_OK);
        void* memory;
        assert_int_equal(khal_buffer_map(filled, 0, sizes[i], KHAL_MAP_READ, KHAL_FOREVER, &memory),
                         KHAL_OK);
        assert_int_equal((uintptr_t)memory % CPU_ALIGN, 0);
        assert_memory_equal(memory, data, sizes[i]);
        assert_int_equal(khal_buffer_unmap(filled), KHAL_OK);
        khal_buffer_release(filled);
        khal_buffer_release(zeroed);
        free(back);
        free(data);
    }
    close_world(&w);
}

static void large_copies_and_fills_are_whole(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 3});
    const uint64_t size = CPU_COPY_CHUNK * 5 + 48;
    khal_buffer* a = make_buffer(&w, size + 32, 1);
    khal_buffer* b = make_buffer(&w, size + 32, 1);
    unsigned char* back = malloc(size + 32);
    khal_encoder* encoder = make_encoder(&w);
    unsigned char pattern[16];
    for (int i = 0; i < 16; i++) {
        pattern[i] = (unsigned char)(i * 13 + 1);
    }
    for (uint32_t pattern_size = 1; pattern_size <= 16; pattern_size *= 2) {
        assert_int_equal(khal_buffer_write(b, 0, memset(back, 0, size + 32), size + 32), KHAL_OK);
        const khal_slice whole = {a, 16, size, 1}, target = {b, 16, size, 1};
        assert_int_equal(khal_encoder_fill(encoder, whole, pattern, pattern_size), KHAL_OK);
        assert_int_equal(khal_encoder_copy(encoder, whole, target), KHAL_OK);
        submit(encoder);
        assert_int_equal(khal_buffer_read(b, 0, back, size + 32, KHAL_FOREVER), KHAL_OK);
        for (uint64_t i = 0; i < size + 32; i++) {
            bool inside = i >= 16 && i < size + 16;
            if (back[i] != (inside ? pattern[(i - 16) % pattern_size] : 0)) {
                fail_msg("byte %llu, pattern of %u bytes", (unsigned long long)i,
                         (unsigned)pattern_size);
            }
        }
    }
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    free(back);
    close_world(&w);
}

/* ---- several threads ------------------------------------------------------------------------- */

typedef struct party {
    world* w;
    khal_buffer* out;
    _Atomic uint32_t failures;
} party;

static void submit_and_wait(void* user)
{
    party* p = user;
    khal_encoder* encoder;
    if (khal_encoder_create(p->w->device, NULL, &encoder) != KHAL_OK) {
        atomic_fetch_add(&p->failures, 1);
        return;
    }
    for (uint32_t i = 0; i < 400; i++) {
        khal_pass* pass;
        khal_slice slice = khal_slice_all(p->out);
        const khal_dispatch_desc desc = {.function = p->w->functions[MARK],
                                         .grid = one_by_one(i % 5 ? 64 : 1024),
                                         .bindings = &slice,
                                         .binding_count = 1};
        khal_pass_begin(encoder, NULL, &pass);
        khal_pass_dispatch(pass, &desc, NULL);
        khal_pass_end(pass);
        khal_ticket ticket = 0;
        uint64_t timeout = i % 7 == 0 ? 10000 * MS : KHAL_FOREVER;
        if (khal_submit(encoder, &ticket) != KHAL_OK ||
            (i % 3 == 0 && khal_ticket_wait(p->w->device, ticket, timeout) != KHAL_OK)) {
            atomic_fetch_add(&p->failures, 1);
        }
    }
    khal_encoder_release(encoder);
}

static void many_threads_submit_and_wait(void** state)
{
    (void)state;
    world w;
    open_world(&w, &(khal_device_desc){.thread_count = 3});
    party p = {.w = &w, .out = make_buffer(&w, 1024 * 4, 4)};
    khal__thread threads[4];
    for (int i = 0; i < 4; i++) {
        assert_true(khal__thread_start(&threads[i], submit_and_wait, &p, "test"));
    }
    for (int i = 0; i < 4; i++) {
        khal__thread_join(&threads[i]);
    }
    uint32_t values[1024];
    assert_int_equal(khal_buffer_read(p.out, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(atomic_load(&p.failures), 0);
    assert_int_equal(values[0], 1600);
    assert_int_equal(values[63], 1600);
    assert_int_equal(values[64], 320);
    assert_int_equal(values[1023], 320);
    khal_buffer_release(p.out);
    close_world(&w);
}

static void devices_are_independent(void** state)
{
    (void)state;
    world a, b;
    open_world(&a, &(khal_device_desc){.thread_count = 2});
    open_world(&b, &(khal_device_desc){.thread_count = 2});
    khal_buffer* out_a = make_buffer(&a, 1024 * 4, 4);
    khal_buffer* out_b = make_buffer(&b, 1024 * 4, 4);
    khal_encoder* encoder_a = make_encoder(&a);
    khal_encoder* encoder_b = make_encoder(&b);
    for (int i = 0; i < 50; i++) {
        dispatch(&a, encoder_a, SPIN, one_by_one(1024), out_a, 50 + (uint32_t)i);
        dispatch(&b, encoder_b, MARK, one_by_one(1024), out_b, 0);
        submit(encoder_a);
        submit(encoder_b);
    }
    uint32_t values[1024];
    assert_int_equal(khal_buffer_read(out_b, 0, values, sizeof values, KHAL_FOREVER), KHAL_OK);
    assert_int_equal(values[1023], 50);
    khal_encoder_release(encoder_a);
    khal_encoder_release(encoder_b);
    khal_buffer_release(out_a);
    khal_buffer_release(out_b);
    close_world(&a);
    close_world(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_runs_each_unit_once),
        cmocka_unit_test(pool_survives_pauses),
        cmocka_unit_test(scratch_is_each_threads_own),
        cmocka_unit_test(level_follows_the_environment),
        cmocka_unit_test(best_level_is_chosen),
        cmocka_unit_test(caller_keeps_its_rounding),
        cmocka_unit_test(large_grids_run_whole),
        cmocka_unit_test(indirect_counts_are_checked),
        cmocka_unit_test(launch_has_the_shape_asked_for),
        cmocka_unit_test(waits_end_in_time),
        cmocka_unit_test(submissions_run_in_order),
        cmocka_unit_test(callbacks_may_submit),
        cmocka_unit_test(failures_stay_with_their_submission),
        cmocka_unit_test(prints_arrive_one_at_a_time),
        cmocka_unit_test(allocator_gives_everything),
        cmocka_unit_test(buffers_start_as_asked),
        cmocka_unit_test(large_copies_and_fills_are_whole),
        cmocka_unit_test(many_threads_submit_and_wait),
        cmocka_unit_test(devices_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
