/* Programs that go wrong, or far: broken libraries, callbacks that call back, memory that runs out
 * at random, many devices, and a CPU device that is submitted to without an end. */
#include <fenv.h>
#include <unistd.h>

#include "front.h"

#include "platform/platform.h"

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            atomic_fetch_add(&failed_expectations, 1);                                             \
    } while (0)
static atomic_uint failed_expectations;

static khal_device* open_cpu(khal_device_desc desc)
{
    khal_device* device = NULL;
    desc.backend = KHAL_BACKEND_CPU;
    OK(khal_device_open(&desc, &device));
    return device;
}

/* ---- a library for the CPU ---------------------------------------------------------------------
 */

static void run_print(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    for (uint64_t g = first; g < last; ++g)
        launch->print(launch->print_user, "x", 1);
}

static void run_add(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    uint32_t* out = launch->bindings[0];
    for (uint64_t g = first; g < last; ++g)
        ++out[g];
}

/* As aligned as generated code takes it for. */
static void run_wide(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)first;
    (void)last;
    (void)scratch;
    EXPECT((uintptr_t)launch->bindings[0] % 64 == 0);
}

static void run_third(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)first;
    (void)last;
    (void)scratch;
    const volatile float one = 1.0f, three = 3.0f;
    *(float*)launch->bindings[0] = one / three;
}

enum { PRINT, ADD, WIDE, GREEDY, THIRD, H_KERNELS };
static const khal_cpu_kernel cpu_kernels[H_KERNELS] = {
    [PRINT] = {run_print, 0, 0}, [ADD] = {run_add, 0, 0},
    [WIDE] = {run_wide, 0, 0},   [GREEDY] = {run_add, UINT64_MAX, UINT64_MAX},
    [THIRD] = {run_third, 0, 0},
};
static const khal_code codes[] = {
    {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = cpu_kernels},
};
#define OUT(bytes)                                                                                 \
    {.name = "out",                                                                                \
     .type_name = "type",                                                                          \
     .kind = KHAL_ARG_BUFFER,                                                                      \
     .access = KHAL_ACCESS_READ | KHAL_ACCESS_WRITE,                                               \
     .element_size = (bytes),                                                                      \
     .element_align = (bytes)}
static const khal_arg_info uint_args[] = {OUT(4)}, wide_args[] = {OUT(64)};
static const khal_kernel_info infos[H_KERNELS] = {
    [PRINT] = {.name = "print", .flags = KHAL_KERNEL_HAS_PRINTF},
    [ADD] = {.name = "add", .args = uint_args, .arg_count = 1, .binding_count = 1},
    [WIDE] = {.name = "wide", .args = wide_args, .arg_count = 1, .binding_count = 1},
    [GREEDY] = {.name = "greedy", .args = uint_args, .arg_count = 1, .binding_count = 1},
    [THIRD] = {.name = "third", .args = uint_args, .arg_count = 1, .binding_count = 1},
};
static const khal_kernel_library library = {
    .version = KHAL_LIBRARY_VERSION,
    .kernel_count = H_KERNELS,
    .code_count = 1,
    .name = "hostile",
    .kernels = infos,
    .codes = codes,
};

static khal_status run_kernel(khal_encoder* encoder, khal_function* function, uint64_t groups,
                              const khal_slice* slices, uint32_t count, khal_ticket* out_ticket)
{
    khal_pass* pass = NULL;
    khal_pass_begin(encoder, NULL, &pass);
    const khal_grid grid = khal_grid_with_workgroup(khal_groups(groups, 1, 1), 1, 1, 1);
    khal_pass_dispatch(
        pass,
        &(khal_dispatch_desc){
            .function = function, .grid = grid, .bindings = slices, .binding_count = count},
        NULL);
    khal_pass_end(pass);
    return khal_submit(encoder, out_ticket);
}

/* ---- broken libraries --------------------------------------------------------------------------
 */

static void broken_libraries(void** state)
{
    (void)state;
    khal_device* devices[] = {open_noop(), open_cpu((khal_device_desc){.thread_count = 2})};
    for (int d = 0; d < 2; ++d) {
        khal_device* device = devices[d];
        khal_module* module = NULL;
        khal_function* function = NULL;
        khal_kernels* kernels = NULL;
#define LOAD(id, ...)                                                                              \
    do {                                                                                           \
        const khal_kernel_library broken = {__VA_ARGS__};                                          \
        FAILS(id, khal_module_load(device, &(khal_module_desc){.library = &broken}, &module));     \
        FAILS(id, khal_kernels_load(device, &broken, &kernels));                                   \
    } while (0)
#define V .version = KHAL_LIBRARY_VERSION
        LOAD(MODULE_VERSION, .version = 0);
        LOAD(MODULE_VERSION, .version = UINT32_MAX, .kernel_count = UINT32_MAX);
        LOAD(MODULE_NO_CODE, V);
        LOAD(MODULE_NO_CODE, V, .kernel_count = H_KERNELS, .kernels = infos);
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .code_count = 1, .codes = codes);
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = infos, .code_count = 1);

        const khal_kernel_info nameless[] = {{.name = NULL}};
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = nameless, .code_count = 1,
             .codes = codes);
        const khal_kernel_info no_args[] = {{.name = "k", .arg_count = 1}};
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = no_args, .code_count = 1,
             .codes = codes);
        const khal_arg_info nameless_args[] = {{.kind = KHAL_ARG_BUFFER, .element_size = 4}};
        const khal_kernel_info nameless_arg[] = {
            {.name = "k", .args = nameless_args, .arg_count = 1, .binding_count = 1}};
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = nameless_arg, .code_count = 1,
             .codes = codes);
        const khal_cpu_kernel no_run[] = {{NULL, 0, 0}};
        const khal_code no_run_codes[] = {
            {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = no_run}};
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = infos, .code_count = 1,
             .codes = no_run_codes);
        const khal_code second_codes[] = {codes[0], no_run_codes[0]};
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = infos, .code_count = 2,
             .codes = second_codes);
        const khal_code no_kernels_codes[] = {{.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI}};
        LOAD(MODULE_MALFORMED, V, .kernel_count = 1, .kernels = infos, .code_count = 1,
             .codes = no_kernels_codes);
        const khal_code other_codes[] = {{.format = UINT32_MAX}, {.format = 0}};
        LOAD(MODULE_NO_CODE, V, .code_count = 2, .codes = other_codes);

        /* No kernel is legal. */
        const khal_kernel_library none = {V, .code_count = 1, .codes = codes};
        OK(khal_kernels_load(device, &none, &kernels));
        assert_null(khal_kernels_get_function(kernels, 0));
        khal_kernels_release(kernels);

        /* What contradicts itself is refused with the kernel that does. */
        khal_arg_info args[2] = {uint_args[0], uint_args[0]};
        khal_kernel_info info = {.name = "k", .args = args, .arg_count = 2, .binding_count = 2};
        const khal_kernel_library odd = {V, .kernel_count = 1, .kernels = &info, .code_count = 1,
                                         .codes = codes};
        FAILS(MODULE_MALFORMED, khal_kernels_load(device, &odd, &kernels)); /* one index twice */
        args[1].index = 2;
        FAILS(MODULE_MALFORMED, khal_kernels_load(device, &odd, &kernels));
        args[1].index = UINT32_MAX;
        FAILS(MODULE_MALFORMED, khal_kernels_load(device, &odd, &kernels));
        args[1].index = 1;
        args[1].element_align = 3;
        FAILS(MODULE_MALFORMED, khal_kernels_load(device, &odd, &kernels));
        args[1].element_align = 4;
        OK(khal_kernels_load(device, &odd, &kernels));
        khal_kernels_release(kernels);
        args[1].element_align = 128;
        OK(khal_kernels_load(device, &odd, &kernels));
        khal_kernels_release(kernels);
        args[1].element_align = 256; /* more than memory has */
        OK(khal_module_load(device, &(khal_module_desc){.library = &odd}, &module));
        FAILS(FUNCTION_LIMIT, khal_function_create(module, NULL, &function));
        khal_module_release(module);
        args[1].element_align = 4;
        info.binding_count = UINT32_MAX;
        FAILS(MODULE_MALFORMED, khal_kernels_load(device, &odd, &kernels));

        /* A layout that is announced and not there. */
        OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
        FAILS(ARGUMENT_NULL,
              khal_function_create(
                  module, &(khal_function_desc){.entry_point = "add", .binding_count = UINT32_MAX},
                  &function));
        khal_module_release(module);
        khal_device_release(device);
    }
}

/* ---- addresses ---------------------------------------------------------------------------------
 */

static void host_memory_is_aligned_by_its_address(void** state)
{
    (void)state;
    static _Alignas(128) unsigned char memory[4096];
    khal_device* device = open_cpu((khal_device_desc){.thread_count = 2});
    khal_module* module = NULL;
    khal_function* wide = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "wide"}, &wide));
    khal_encoder* encoder = make_encoder(device);
    for (uint64_t shift = 0; shift < 128; shift += 16) {
        khal_buffer* buffer = NULL;
        OK(khal_buffer_create(
            device, &(khal_buffer_desc){.host_memory = memory + shift, .size = 1024}, &buffer));
        for (uint64_t offset = 0; offset < 128; offset += 16) {
            const khal_slice slice = {buffer, offset, 64, 1};
            khal_ticket ticket = 0;
            if ((shift + offset) % 64 != 0) {
                FAILS(BINDING_ALIGNMENT, run_kernel(encoder, wide, 1, &slice, 1, &ticket));
                continue;
            }
            OK(run_kernel(encoder, wide, 1, &slice, 1, &ticket));
            OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
        }
        khal_buffer_release(buffer);
    }
    assert_int_equal(atomic_load(&failed_expectations), 0);
    khal_encoder_release(encoder);
    khal_function_release(wide);
    khal_module_release(module);
    khal_device_release(device);
}

/* A slice's offset is a multiple of its element, also where the kernel's own is less aligned. */
static void structs_lie_at_their_elements(void** state)
{
    (void)state;
    khal_device* device = open_noop();
    khal_function* function = make_function(device, "structs"); /* 12 bytes, aligned to 4 */
    khal_buffer* buffer = make_buffer(device, 120);
    khal_encoder* encoder = make_encoder(device);
    OK(run_kernel(encoder, function, 1, &(khal_slice){buffer, 12, 24, 12}, 1, NULL));
    FAILS(SLICE_ALIGNMENT,
          run_kernel(encoder, function, 1, &(khal_slice){buffer, 4, 24, 12}, 1, NULL));
    OK(run_kernel(encoder, function, 1, &(khal_slice){buffer, 4, 24, 1}, 1, NULL));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(function);
    khal_device_release(device);
}

/* ---- callbacks ---------------------------------------------------------------------------------
 */

#define MANY 3000u

typedef struct caller {
    khal_device *device, *other;
    atomic_uint called;
} caller;

/* More submissions than may be in flight, of which none can end before the callback does. */
static void submit_many(void* user, const char* text, size_t size)
{
    caller* c = user;
    (void)text;
    (void)size;
    khal_encoder* encoder = NULL;
    EXPECT(khal_encoder_create(c->device, NULL, &encoder) == KHAL_OK);
    khal_ticket ticket = 0;
    for (unsigned i = 0; i < MANY; ++i)
        EXPECT(khal_submit(encoder, &ticket) == KHAL_OK);
    EXPECT(khal_ticket_wait(c->device, ticket, KHAL_FOREVER) == KHAL_TIMEOUT);
    khal_encoder_release(encoder);
    atomic_fetch_add(&c->called, 1);
}

static khal_status submit_many_natively(void* user, const khal_native* native)
{
    (void)native;
    submit_many(user, NULL, 0);
    return KHAL_OK;
}

static void callbacks_submit_without_limit(void** state)
{
    (void)state;
    for (int native = 0; native < 2; ++native) {
        caller c = {0};
        c.device =
            open_cpu((khal_device_desc){.thread_count = 2, .print = submit_many, .print_user = &c});
        khal_module* module = NULL;
        khal_function* function = NULL;
        OK(khal_module_load(c.device, &(khal_module_desc){.library = &library}, &module));
        OK(khal_function_create(module, &(khal_function_desc){.entry_point = "print"}, &function));
        khal_encoder* encoder = make_encoder(c.device);
        if (native != 0) {
            OK(khal_encoder_native(encoder,
                                   &(khal_native_desc){.call = submit_many_natively, .user = &c}));
            OK(khal_submit(encoder, NULL));
        } else {
            OK(run_kernel(encoder, function, 2, NULL, 0, NULL));
        }
        OK(khal_device_wait(c.device, KHAL_FOREVER));
        OK(khal_device_wait(c.device, KHAL_FOREVER));
        assert_int_equal(atomic_load(&c.called), native != 0 ? 1 : 2);
        assert_int_equal(statistics(c.device).submissions, 1 + MANY * atomic_load(&c.called));
        khal_encoder_release(encoder);
        khal_function_release(function);
        khal_module_release(module);
        khal_device_release(c.device);
        assert_int_equal(atomic_load(&failed_expectations), 0);
    }
}

/* A callback of one device is held back by another as any thread is. */
static khal_status submit_to_other(void* user, const khal_native* native)
{
    caller* c = user;
    (void)native;
    khal_encoder* encoder = NULL;
    EXPECT(khal_encoder_create(c->other, NULL, &encoder) == KHAL_OK);
    for (unsigned i = 0; i < 1500; ++i) {
        EXPECT(khal_submit(encoder, NULL) == KHAL_OK);
        if (i == 1000)
            atomic_fetch_add(&c->called, 1);
    }
    khal_encoder_release(encoder);
    atomic_fetch_add(&c->called, 1);
    return KHAL_OK;
}

static void callbacks_are_held_back_elsewhere(void** state)
{
    (void)state;
    caller c = {.device = open_cpu((khal_device_desc){.thread_count = 2}), .other = open_noop()};
    noop_hold(c.other, 0);
    khal_encoder* encoder = make_encoder(c.device);
    OK(khal_encoder_native(encoder, &(khal_native_desc){.call = submit_to_other, .user = &c}));
    OK(khal_submit(encoder, NULL));
    while (statistics(c.other).submissions < 1024)
        khal__thread_yield();
    usleep(20000);
    assert_int_equal(atomic_load(&c.called), 1);
    assert_int_equal(statistics(c.other).submissions, 1024);
    noop_hold(c.other, UINT64_MAX);
    OK(khal_device_wait(c.device, KHAL_FOREVER));
    assert_int_equal(atomic_load(&c.called), 2);
    assert_int_equal(atomic_load(&failed_expectations), 0);
    khal_encoder_release(encoder);
    khal_device_release(c.device);
    khal_device_release(c.other);
}

static void count_errors(void* user, const khal_error* error)
{
    (void)error;
    atomic_fetch_add((atomic_uint*)user, 1);
}

static khal_status fail_elsewhere(void* user, const khal_native* native)
{
    caller* c = user;
    (void)native;
    khal_buffer* buffer = NULL;
    const khal_buffer_desc wrong = {.size = 3, .element_size = 2};
    EXPECT(khal_buffer_create(c->other, &wrong, &buffer) == KHAL_INVALID_ARGUMENT);
    EXPECT(khal_buffer_create(c->other, &wrong, &buffer) == KHAL_INVALID_ARGUMENT);
    EXPECT(khal_error_get()->id == KHAL_ERROR_BUFFER_ELEMENT_SIZE);
    atomic_fetch_add(&c->called, 1);
    return KHAL_OK;
}

/* A thread that waits may run callbacks of the program: their errors are not the wait's. */
static void a_wait_keeps_the_callers_record(void** state)
{
    (void)state;
    atomic_uint own = 0, others = 0;
    caller c = {.device = open_cpu((khal_device_desc){
                    .thread_count = 2, .diagnostic = count_errors, .diagnostic_user = &own}),
                .other = open_noop_with(
                    (khal_device_desc){.diagnostic = count_errors, .diagnostic_user = &others})};
    khal_buffer* buffer = make_buffer(c.device, 64);
    khal_encoder* encoder = make_encoder(c.device);
    const khal_slice slice = {buffer, 0, 64, 1};
    uint32_t value = 0;
    for (unsigned round = 1; round <= 300; ++round) {
        OK(khal_encoder_fill(encoder, slice, &value, 4));
        OK(khal_encoder_native(
            encoder, &(khal_native_desc){
                         .call = fail_elsewhere, .user = &c, .writes = &slice, .write_count = 1}));
        khal_ticket ticket = 0;
        OK(khal_submit(encoder, &ticket));
        khal_error_clear();
        switch (round % 3) {
        case 0: OK(khal_buffer_read(buffer, 0, &value, 4, KHAL_FOREVER)); break;
        case 1: OK(khal_buffer_write(buffer, 0, &value, 4)); break;
        default: OK(khal_ticket_wait(c.device, ticket, KHAL_FOREVER)); break;
        }
        assert_int_equal(khal_error_get()->status, KHAL_OK);
        assert_int_equal(atomic_load(&c.called), round);
        assert_int_equal(atomic_load(&others), 2 * round);
        assert_int_equal(atomic_load(&own), 0);
    }
    assert_int_equal(atomic_load(&failed_expectations), 0);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_device_release(c.device);
    khal_device_release(c.other);
}

static khal_status round_upward(void* user, const khal_native* native)
{
    (void)user;
    (void)native;
    EXPECT(fesetround(FE_UPWARD) == 0);
    return KHAL_OK;
}

/* What a callback does to its thread is not the next kernel's. */
static void kernels_keep_their_rounding(void** state)
{
    (void)state;
    khal_device* device = open_cpu((khal_device_desc){.thread_count = 2});
    khal_kernels* kernels = NULL;
    OK(khal_kernels_load(device, &library, &kernels));
    khal_buffer* buffer = make_buffer(device, 4);
    khal_encoder* encoder = make_encoder(device);
    for (int round = 0; round < 20; ++round) {
        float value = 0;
        OK(khal_buffer_write(buffer, 0, &value, 4));
        OK(khal_encoder_native(encoder, &(khal_native_desc){.call = round_upward}));
        OK(khal_submit(encoder, NULL));
        OK(run_kernel(encoder, khal_kernels_get_function(kernels, THIRD), 1,
                      &(khal_slice){buffer, 0, 4, 4}, 1, NULL));
        OK(khal_buffer_read(buffer, 0, &value, 4, KHAL_FOREVER));
        assert_true(value == 0x1.555556p-2f);
        assert_int_equal(fegetround(), FE_TONEAREST);
    }
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_kernels_release(kernels);
    khal_device_release(device);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static void keep_error(void* user, const khal_error* error)
{
    memcpy(user, error, sizeof *error);
}

/* The ticket, the callback and a read of the results say the same. */
static void a_group_without_memory_fails_its_ticket(void** state)
{
    (void)state;
    khal_error seen = {0};
    char out[64];
    khal_device* device = open_cpu(
        (khal_device_desc){.thread_count = 2, .diagnostic = keep_error, .diagnostic_user = &seen});
    khal_readback* readback = NULL;
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 64}, &readback));
    khal_module* module = NULL;
    khal_function* greedy = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "greedy"}, &greedy));
    khal_buffer* buffer = make_buffer(device, 64);
    khal_encoder* encoder = make_encoder(device);
    khal_ticket ticket = 0;
    khal_readback_request_copy(readback, encoder, &(khal_slice){buffer, 0, 64, 1}, 1);
    OK(run_kernel(encoder, greedy, 1, &(khal_slice){buffer, 0, 64, 4}, 1, &ticket));
    assert_int_equal(khal_ticket_wait(device, ticket, KHAL_FOREVER), KHAL_EXECUTION_FAILED);
    assert_int_equal(seen.status, KHAL_EXECUTION_FAILED);
    assert_int_equal(seen.id, KHAL_ERROR_OUT_OF_MEMORY);
    assert_memory_equal(&seen, khal_error_get(), sizeof seen);
    assert_int_equal(khal_readback_try_take(readback, out, 64), KHAL_EXECUTION_FAILED);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_OUT_OF_MEMORY);
    OK(khal_submit(encoder, &ticket));
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    khal_readback_release(readback);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(greedy);
    khal_module_release(module);
    khal_device_release(device);
}

/* Some allocations fail, by a generator of numbers. */
typedef struct unlucky {
    atomic_uint seed, every;
    atomic_int alive;
} unlucky;

static void* unlucky_allocate(void* user, size_t size, size_t align)
{
    unlucky* u = user;
    const unsigned next = atomic_fetch_add(&u->seed, 0x9e3779b9u) * 2654435761u >> 8;
    const unsigned every = atomic_load(&u->every);
    if (size > 1u << 26 || (every != 0 && next % every == 0))
        return NULL;
    void* memory = aligned_alloc(align, (size + align - 1) / align * align);
    if (memory != NULL)
        atomic_fetch_add(&u->alive, 1);
    return memory;
}

static void unlucky_release(void* user, void* memory, size_t size)
{
    (void)size;
    atomic_fetch_sub(&((unlucky*)user)->alive, 1);
    free(memory);
}

static bool noted(khal_status status)
{
    EXPECT(status == KHAL_OK || status == KHAL_OUT_OF_MEMORY || status == KHAL_EXECUTION_FAILED ||
           status == KHAL_NOTHING_REQUESTED || khal_error_get()->id == KHAL_ERROR_READBACK_BUSY);
    return status == KHAL_OK;
}

static void memory_runs_out_at_random(void** state)
{
    (void)state;
    for (unsigned round = 0; round < 150; ++round) {
        unlucky u = {.seed = round * 7919u, .every = 3 + round % 40};
        const khal_allocator allocator = {unlucky_allocate, unlucky_release, &u};
        khal_device* device = NULL;
        khal_kernels* kernels = NULL;
        khal_buffer *a = NULL, *b = NULL;
        khal_encoder* encoder = NULL;
        khal_readback* readback = NULL;
        khal_timestamps* timestamps = NULL;
        const khal_device_desc desc = {.backend =
                                           round % 2 == 0 ? KHAL_BACKEND_CPU : KHAL_BACKEND_AUTO,
                                       .allocator = &allocator,
                                       .thread_count = 3};
        const khal_buffer_desc buffer_desc = {.size = 1u << 16, .usage = 0xff};
        char out[64];
        if (noted(khal_device_open(&desc, &device)) &&
            noted(khal_kernels_load(device, &library, &kernels)) &&
            noted(khal_buffer_create(device, &buffer_desc, &a)) &&
            noted(khal_buffer_create(device, &buffer_desc, &b)) &&
            noted(khal_encoder_create(device, NULL, &encoder)) &&
            noted(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 64},
                                       &readback)) &&
            noted(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 8},
                                         &timestamps)))
            for (int i = 0; i < 20; ++i) {
                khal_pass* pass = NULL;
                khal_commands* commands = NULL;
                khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = timestamps}, &pass);
                for (uint64_t k = 0; k < 40; ++k)
                    khal_pass_dispatch(
                        pass,
                        &(khal_dispatch_desc){
                            .function = khal_kernels_get_function(kernels, ADD),
                            .grid = khal_groups(4096, 1, 1),
                            .bindings = &(khal_slice){k % 2 == 0 ? a : b, 0, UINT64_MAX, 4},
                            .binding_count = 1},
                        NULL);
                khal_pass_end(pass);
                khal_encoder_copy(encoder, bytes(a, 0, 4096), bytes(b, 64, 4096));
                khal_readback_request_copy(readback, encoder, &(khal_slice){b, 0, 64, 1}, 1);
                if (noted(khal_encoder_finish(encoder, &commands))) {
                    noted(khal_commands_set_slice(commands, 3, 0, (khal_slice){a, 0, 1u << 16, 4}));
                    noted(khal_commands_submit(commands, NULL));
                    noted(khal_commands_submit(commands, NULL));
                    khal_commands_release(commands);
                }
                noted(khal_device_wait(device, KHAL_FOREVER));
                noted(khal_readback_try_take(readback, out, 64));
                noted(khal_copy_between(bytes(a, 0, 64), bytes(b, 0, 64), KHAL_FOREVER));
            }
        khal_timestamps_release(timestamps);
        khal_readback_release(readback);
        khal_encoder_release(encoder);
        khal_buffer_release(a);
        khal_buffer_release(b);
        khal_kernels_release(kernels);
        khal_device_release(device);
        if (atomic_load(&u.alive) != 0)
            fail_msg("%d blocks are left in round %u", atomic_load(&u.alive), round);
    }
    assert_int_equal(atomic_load(&failed_expectations), 0);
}

static uint64_t resident_pages(void)
{
    unsigned long long size = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &size, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident;
}

static void memory_of_the_cpu_stays_flat(void** state)
{
    (void)state;
    khal_device* device = open_cpu((khal_device_desc){.thread_count = 2});
    khal_module* module = NULL;
    khal_function* add = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &library}, &module));
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = "add"}, &add));
    khal_buffer* buffer = make_buffer(device, 256);
    khal_encoder* encoder = make_encoder(device);
    const khal_slice slice = {buffer, 0, 256, 4};
    uint64_t before = 0, allocations = 0;
    for (unsigned i = 0; i < 100000; ++i) {
        if (i == 10000) {
            before = resident_pages();
            allocations = statistics(device).host_allocations;
        }
        OK(run_kernel(encoder, add, 64, &slice, 1, NULL));
    }
    uint32_t value = 0;
    OK(khal_buffer_read(buffer, 252, &value, sizeof value, KHAL_FOREVER));
    assert_int_equal(value, 100000);
    assert_true(resident_pages() <= before + 4096);
    /* No more runs and recordings than can be in flight. */
    assert_true(statistics(device).host_allocations - allocations < 4096);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(add);
    khal_module_release(module);
    khal_device_release(device);
}

/* ---- devices -----------------------------------------------------------------------------------
 */

static void many_devices(void** state)
{
    (void)state;
    khal_device* devices[50];
    khal_buffer* buffers[50];
    for (int i = 0; i < 50; ++i) {
        devices[i] = open_cpu((khal_device_desc){.thread_count = i % 3 == 0 ? 1u : 4u});
        buffers[i] = make_buffer(devices[i], 1u << 16);
        khal_kernels* kernels = NULL;
        OK(khal_kernels_load(devices[i], &library, &kernels));
        khal_encoder* encoder = make_encoder(devices[i]);
        for (int k = 0; k < 10; ++k)
            OK(run_kernel(encoder, khal_kernels_get_function(kernels, ADD), 1u << 14,
                          &(khal_slice){buffers[i], 0, UINT64_MAX, 4}, 1, NULL));
        khal_encoder_release(encoder);
        khal_kernels_release(kernels);
        khal_device_release(devices[i]);
    }
    for (int i = 0; i < 50; ++i) {
        uint32_t value = 0;
        OK(khal_buffer_read(buffers[i], 65532, &value, sizeof value, KHAL_FOREVER));
        assert_int_equal(value, 10);
        khal_buffer_release(buffers[i]);
    }
}

static void opened_and_closed_with_work_in_flight(void** state)
{
    (void)state;
    static const uint32_t threads[] = {1, 2, 7, 1000};
    for (unsigned round = 0; round < 40; ++round) {
        khal_device* device = open_cpu((khal_device_desc){.thread_count = threads[round % 4]});
        khal_kernels* kernels = NULL;
        khal_buffer* buffer = make_buffer(device, 1u << 16);
        khal_encoder* encoder = make_encoder(device);
        OK(khal_kernels_load(device, &library, &kernels));
        for (int k = 0; k < 5; ++k)
            OK(run_kernel(encoder, khal_kernels_get_function(kernels, ADD), 1u << 14,
                          &(khal_slice){buffer, 0, UINT64_MAX, 4}, 1, NULL));
        khal_device_release(device);
        khal_kernels_release(kernels);
        khal_encoder_release(encoder);
        khal_buffer_release(buffer);
    }
}

static void no_memory_is_what_an_opening_says(void** state)
{
    (void)state;
    for (int n = 0; n < 2; ++n) {
        counted c = {.remaining = n};
        khal_device* device = NULL;
        FAILS(OUT_OF_MEMORY,
              khal_device_open(&(khal_device_desc){.allocator = COUNTED(c)}, &device));
        assert_int_equal(atomic_load(&c.alive), 0);
    }
}

/* A leak of the kernels' handle is one of its module and functions. */
static void leaked_kernels_are_reported(void** state)
{
    (void)state;
    atomic_uint reports = 0;
    khal_device* device = open_noop_with(
        (khal_device_desc){.debug = true, .diagnostic = count_errors, .diagnostic_user = &reports});
    khal_kernels* kernels = NULL;
    OK(khal_kernels_load(device, &library, &kernels));
    khal_device_release(device);
    assert_int_equal(atomic_load(&reports), 1 + H_KERNELS);
    khal_kernels_release(kernels);
}

/* Every call of a recording says that the device is lost. */
static void recording_on_a_lost_device(void** state)
{
    (void)state;
    for (int n = 0; n < 2; ++n) {
        khal_device* device = open_noop();
        khal_encoder* encoder = make_encoder(device);
        khal_pass* pass = NULL;
        OK(khal_pass_begin(encoder, &(khal_pass_desc){.manual_barriers = true}, &pass));
        noop_lose(device, "unplugged");
        FAILS(DEVICE_LOST, n == 0 ? khal_pass_end(pass) : khal_pass_barrier(pass));
        FAILS(DEVICE_LOST, khal_submit(encoder, NULL));
        khal_encoder_release(encoder);
        khal_device_release(device);
    }
}

/* ---- threads -----------------------------------------------------------------------------------
 */

#define THREADS 4

typedef struct together {
    khal_device* device;
    khal_commands* commands;
    khal_timestamps* timestamps;
    khal_buffer *a, *b;
    khal_module* modules[THREADS];
    atomic_uint next, arrived;
} together;

static void run_together(together* t, void (*run)(void* user))
{
    khal__thread threads[THREADS];
    atomic_store(&t->next, 0);
    atomic_store(&t->arrived, 0);
    for (int i = 0; i < THREADS; ++i)
        assert_true(khal__thread_start(&threads[i], run, t, "hostile"));
    for (int i = 0; i < THREADS; ++i)
        khal__thread_join(&threads[i]);
    assert_int_equal(atomic_load(&failed_expectations), 0);
}

static void load_at_once(void* user)
{
    together* t = user;
    khal_module** out = &t->modules[atomic_fetch_add(&t->next, 1)];
    atomic_fetch_add(&t->arrived, 1);
    while (atomic_load(&t->arrived) < THREADS)
        khal__thread_yield();
    EXPECT(khal_module_load(t->device, &(khal_module_desc){.library = &library}, out) == KHAL_OK);
}

static void one_module_for_all_threads(void** state)
{
    (void)state;
    together t = {.device = open_cpu((khal_device_desc){.thread_count = 2})};
    for (int round = 0; round < 100; ++round) {
        run_together(&t, load_at_once);
        for (int i = 1; i < THREADS; ++i)
            assert_ptr_equal(t.modules[i], t.modules[0]);
        assert_int_equal(statistics(t.device).live_objects, 1);
        for (int i = 0; i < THREADS; ++i)
            khal_module_release(t.modules[i]);
        assert_int_equal(statistics(t.device).live_objects, 0);
    }
    khal_device_release(t.device);
}

static void submit_and_replace(void* user)
{
    together* t = user;
    const unsigned me = atomic_fetch_add(&t->next, 1);
    khal_timestamp entries[64];
    uint32_t count = 0;
    for (unsigned i = 0; i < 200; ++i) {
        khal_status status = khal_commands_submit(t->commands, NULL);
        EXPECT(status == KHAL_OK || khal_error_get()->id == KHAL_ERROR_TIMESTAMPS_BUSY);
        status = khal_commands_set_slice(t->commands, 0, 0,
                                         (khal_slice){i % 2 == 0 ? t->a : t->b, me * 64, 256, 4});
        EXPECT(status == KHAL_OK);
        if (i % 8 == me) {
            status = khal_timestamps_read(t->timestamps, 64, entries, &count, NULL, KHAL_FOREVER);
            EXPECT(status == KHAL_OK || status == KHAL_NOTHING_REQUESTED ||
                   khal_error_get()->id == KHAL_ERROR_TIMESTAMPS_BUSY ||
                   khal_error_get()->id == KHAL_ERROR_TIMESTAMPS_CAPACITY);
            for (uint32_t k = 0; status == KHAL_OK && k < count; ++k)
                EXPECT(entries[k].duration >= 0 && entries[k].begin > 0);
        }
    }
}

static void commands_of_many_threads(void** state)
{
    (void)state;
    together t = {.device = open_cpu((khal_device_desc){.thread_count = 3})};
    khal_kernels* kernels = NULL;
    khal_pass* pass = NULL;
    OK(khal_kernels_load(t.device, &library, &kernels));
    t.a = make_buffer(t.device, 1024);
    t.b = make_buffer(t.device, 1024);
    OK(khal_timestamps_create(t.device, &(khal_timestamps_desc){.capacity = 64}, &t.timestamps));
    khal_encoder* encoder = make_encoder(t.device);
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = t.timestamps}, &pass));
    OK(khal_pass_dispatch(
        pass,
        &(khal_dispatch_desc){.function = khal_kernels_get_function(kernels, ADD),
                              .grid = khal_grid_with_workgroup(khal_groups(64, 1, 1), 1, 1, 1),
                              .bindings = &(khal_slice){t.a, 0, 256, 4},
                              .binding_count = 1},
        NULL));
    OK(khal_pass_end(pass));
    OK(khal_encoder_finish(encoder, &t.commands));
    run_together(&t, submit_and_replace);
    khal_encoder_release(encoder);
    khal_commands_release(t.commands);
    khal_timestamps_release(t.timestamps);
    khal_buffer_release(t.a);
    khal_buffer_release(t.b);
    khal_kernels_release(kernels);
    khal_device_release(t.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_libraries),
        cmocka_unit_test(host_memory_is_aligned_by_its_address),
        cmocka_unit_test(structs_lie_at_their_elements),
        cmocka_unit_test(callbacks_submit_without_limit),
        cmocka_unit_test(callbacks_are_held_back_elsewhere),
        cmocka_unit_test(a_wait_keeps_the_callers_record),
        cmocka_unit_test(kernels_keep_their_rounding),
        cmocka_unit_test(a_group_without_memory_fails_its_ticket),
        cmocka_unit_test(memory_runs_out_at_random),
        cmocka_unit_test(memory_of_the_cpu_stays_flat),
        cmocka_unit_test(many_devices),
        cmocka_unit_test(opened_and_closed_with_work_in_flight),
        cmocka_unit_test(no_memory_is_what_an_opening_says),
        cmocka_unit_test(leaked_kernels_are_reported),
        cmocka_unit_test(recording_on_a_lost_device),
        cmocka_unit_test(one_module_for_all_threads),
        cmocka_unit_test(commands_of_many_threads),
    };
    /* Where no backend is named it is the CPU, whatever GPUs the machine has. */
    setenv("KHAL_CUDA_LIBRARY", "/none", 1);
    setenv("KHAL_WEBGPU_LIBRARY", "/none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
