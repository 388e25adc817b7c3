/* Calls of the API in any order with any values, on the noop device and on the CPU. The input is a stream of choices.
 * What must hold: a failing call says so in the error record and leaves its out-parameter alone, and when all is released,
 * all memory has gone back to the allocator. */
#include <stdatomic.h>
#include <string.h>

#include <khal/khal.h>

#include "fuzz.h"

/* ---- an allocator that counts, and fails when told ------------------------------------------------ */

typedef struct counting {
    atomic_long alive, until_failure; /* until_failure below 0: never */
} counting;

static void* counting_allocate(void* user, size_t size, size_t align)
{
    counting* c = user;
    if (atomic_load(&c->until_failure) >= 0 && atomic_fetch_sub(&c->until_failure, 1) == 0)
        return NULL;
    if (size > (size_t)1 << 24)
        return NULL;
    void* memory = aligned_alloc(align, (size + align - 1) / align * align);
    if (memory)
        atomic_fetch_add(&c->alive, (long)size);
    return memory;
}

static void counting_release(void* user, void* memory, size_t size)
{
    atomic_fetch_sub(&((counting*)user)->alive, (long)size);
    free(memory);
}

/* ---- kernels, as khalc would make them ------------------------------------------------------------ */

/* Adds 1 to a byte of the first binding for each group, but not for more than 64 of a range: an indirect grid may be huge. */
static void touch(const khal_cpu_launch* launch, uint64_t first_group, uint64_t last_group, void* scratch)
{
    (void)scratch;
    _Atomic uint8_t* bytes = launch->bindings[0];
    const uint64_t last = last_group - first_group > 64 ? first_group + 64 : last_group;
    for (uint64_t g = first_group; g < last; g++)
        if (launch->binding_sizes[0])
            atomic_fetch_add(&bytes[g % launch->binding_sizes[0]], 1);
}

/* Writes group counts for an indirect dispatch, some of them too large. */
static void plan(const khal_cpu_launch* launch, uint64_t first_group, uint64_t last_group, void* scratch)
{
    (void)scratch;
    uint32_t value;
    memcpy(&value, launch->push_constants, sizeof value);
    uint32_t* counts = launch->bindings[0];
    if (first_group == 0 && last_group > 0)
        for (uint64_t i = 0; i < launch->binding_sizes[0] / sizeof *counts; i++)
            counts[i] = value;
}

static const khal_arg_info touch_args[] = {
    {"out", "uchar", KHAL_ARG_BUFFER, KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 0, 1, 1, 0},
};
static const khal_arg_info plan_args[] = {
    {"counts", "uint", KHAL_ARG_BUFFER, KHAL_ACCESS_WRITE, 0, 4, 4, 0},
    {"value", "uint", KHAL_ARG_VALUE, 0, 0, 4, 4, 0},
};
static const khal_arg_info mixed_args[] = {
    {"out", "uchar", KHAL_ARG_BUFFER, KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 0, 1, 1, 0},
    {"table", "float4", KHAL_ARG_CONSTANT, KHAL_ACCESS_READ, 1, 16, 16, 0},
    {"scratch", "float", KHAL_ARG_LOCAL, 0, 0, 4, 4, 0},
    {"step", "ulong", KHAL_ARG_VALUE, 0, 0, 8, 8, 0},
};
static const khal_kernel_info kernel_infos[] = {
    {"touch", touch_args, 1, 1, 0, 0, {0, 0, 0}, 0, 0},
    {"plan", plan_args, 2, 1, 0, 4, {1, 1, 1}, 0, 0},
    {"mixed", mixed_args, 4, 2, 1, 8, {4, 2, 1}, 64, KHAL_KERNEL_HAS_BARRIER},
};
enum { KERNELS = 3 };
static const khal_cpu_kernel cpu_kernels[KERNELS] = {{touch, 0, 0}, {plan, 0, 0}, {touch, 64, 16}};
static const uint8_t spirv[4] = {0x03, 0x02, 0x23, 0x07};
static const khal_code codes[] = {
    {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = cpu_kernels},
    {.format = KHAL_FORMAT_SPIRV, .abi = 1, .bytes = spirv, .size = sizeof spirv},
};
static const khal_kernel_library library = {KHAL_LIBRARY_VERSION, KERNELS, 2, "fuzz", kernel_infos, codes};

/* ---- the state ------------------------------------------------------------------------------------ */

enum { SLOTS = 4, DEVICES = 2 };

typedef struct state {
    fuzz_input in;
    counting memory[DEVICES];
    khal_device* devices[DEVICES];
    khal_module* modules[SLOTS];
    khal_function* functions[SLOTS];
    khal_buffer* buffers[SLOTS];
    khal_encoder* encoders[SLOTS];
    khal_pass* passes[SLOTS]; /* of the encoder in that slot; also one that has ended */
    khal_commands* commands[SLOTS];
    khal_timestamps* timestamps[SLOTS];
    khal_readback* readbacks[SLOTS];
    khal_ticket last;
    bool on_cpu;
    uint8_t host[4096];
    _Alignas(16) uint8_t wrapped[256];
} state;

/* After a call: what the status says must be what the record says. */
static void expect(khal_status status)
{
    if (status == KHAL_OK || status == KHAL_NOT_READY || status == KHAL_NOTHING_REQUESTED)
        return;
    FUZZ_CHECK(status > KHAL_OK && status <= KHAL_EXECUTION_FAILED);
    if (khal_error_get()->status != status)
        fprintf(stderr, "status %s, recorded %s: %s\n", khal_status_name(status), khal_status_name(khal_error_get()->status), khal_error_get()->message);
    FUZZ_CHECK(khal_error_get()->status == status);
    FUZZ_CHECK(khal_error_get()->id != KHAL_ERROR_NONE && khal_error_get()->message[0]);
}

/* A recording call may repeat an earlier error, whose record another call of the thread has replaced. */
static void expect_recording(khal_status status)
{
    FUZZ_CHECK(status >= KHAL_OK && status <= KHAL_EXECUTION_FAILED);
}

static uint64_t number(state* s)
{
    static const uint64_t numbers[] = {0, 1, 2, 3, 4, 8, 12, 16, 31, 64, 128, 255, 256, 1000, 1024, 4096,
                                       UINT32_MAX, (uint64_t)1 << 32, (uint64_t)1 << 62, UINT64_MAX - 1, UINT64_MAX};
    return numbers[fuzz_below(&s->in, sizeof numbers / sizeof numbers[0])];
}

static uint64_t small(state* s) /* mostly valid sizes and offsets, of at most 4096 bytes */
{
    return fuzz_byte(&s->in) < 230 ? (uint64_t)fuzz_below(&s->in, 17) * 16 : number(s);
}

static khal_device* any_device(state* s) { return s->devices[fuzz_byte(&s->in) < 240 ? 0 : 1]; }
static khal_buffer* any_buffer(state* s) { return s->buffers[fuzz_below(&s->in, SLOTS)]; }

static khal_slice any_slice(state* s)
{
    khal_slice slice = khal_slice_all(any_buffer(s));
    if (fuzz_byte(&s->in) < 128)
        return slice;
    slice.offset = small(s);
    slice.size = small(s);
    slice.element_size = fuzz_byte(&s->in) < 128 ? 0 : (uint32_t)number(s);
    return slice;
}

/* On the CPU groups are really run: few of them. */
static uint64_t extent(state* s) { return s->on_cpu ? fuzz_below(&s->in, 9) : number(s); }

static khal_grid any_grid(state* s)
{
    khal_grid grid;
    switch (fuzz_below(&s->in, 4)) {
    case 0: grid = khal_groups(extent(s), extent(s), extent(s)); break;
    case 1: grid = khal_threads(extent(s), extent(s), extent(s)); break;
    case 2: grid = khal_indirect(any_buffer(s), small(s)); break;
    default: grid = khal_threads(extent(s), 1, 1); break;
    }
    if (fuzz_byte(&s->in) >= 200)
        grid = khal_grid_with_workgroup(grid, (uint32_t)number(s), (uint32_t)number(s), (uint32_t)number(s));
    if (fuzz_byte(&s->in) >= 250)
        grid.kind = (khal_grid_kind)fuzz_below(&s->in, 8);
    return grid;
}

/* ---- the calls ------------------------------------------------------------------------------------ */

static void call_buffer_create(state* s)
{
    khal_buffer** slot = &s->buffers[fuzz_below(&s->in, SLOTS)];
    khal_buffer_desc desc = {.size = small(s), .usage = fuzz_byte(&s->in) < 100 ? 0 : fuzz_byte(&s->in)};
    const uint8_t how = fuzz_byte(&s->in);
    if (how & 1 && desc.size <= sizeof s->host)
        desc.data = s->host;
    if (how & 2)
        desc.element_size = (uint32_t)number(s);
    desc.uninitialized = (how & 12) == 12;
    if ((how & 48) == 48 && desc.size <= 128)
        desc.host_memory = s->wrapped + (how & 64 ? 8 : 0);
    khal_buffer* buffer = NULL;
    const khal_status status = khal_buffer_create(any_device(s), how & 128 ? &desc : &(khal_buffer_desc){.size = 256}, &buffer);
    expect(status);
    FUZZ_CHECK((status == KHAL_OK) == (buffer != NULL));
    if (buffer) {
        khal_buffer_release(*slot);
        *slot = buffer;
    }
}

static void call_buffer(state* s)
{
    khal_buffer* buffer = any_buffer(s);
    void* mapped = NULL;
    const uint64_t offset = small(s), size = small(s);
    const bool fits = size <= sizeof s->host || size >= UINT64_MAX - 1; /* or is refused */
    switch (fuzz_below(&s->in, 8)) {
    case 0:
        if (fits)
            expect(khal_buffer_write(buffer, offset, s->host, size));
        break;
    case 1:
        if (fits)
            expect(khal_buffer_read(buffer, offset, s->host, size, fuzz_byte(&s->in) < 128 ? KHAL_FOREVER : 0));
        break;
    case 2: {
        const uint32_t mode = fuzz_below(&s->in, 5);
        const khal_status status = khal_buffer_map(buffer, offset, size, mode, KHAL_FOREVER, &mapped);
        expect(status);
        if (status == KHAL_OK && size && size <= sizeof s->host && mode & KHAL_MAP_WRITE)
            memset(mapped, 1, (size_t)size);
        break;
    }
    case 3: expect(khal_buffer_flush(buffer, offset, size)); break;
    case 4: expect(khal_buffer_invalidate(buffer, offset, size, KHAL_FOREVER)); break;
    case 5: expect(khal_buffer_unmap(buffer)); break;
    case 6: {
        khal_slice slice, part;
        khal_status status = khal_slice_range(buffer, offset, size, &slice);
        expect(status);
        if (status == KHAL_OK) {
            expect(khal_slice_sub(slice, number(s), number(s), &part));
            expect(khal_slice_reinterpret(slice, (uint32_t)number(s), &part));
        }
        break;
    }
    default: {
        khal_slice slice = any_slice(s);
        if (slice.buffer)
            FUZZ_CHECK(khal_slice_get_size(slice) <= khal_buffer_get_size(slice.buffer));
        (void)khal_slice_get_count(slice);
        break;
    }
    }
}

static void call_module(state* s)
{
    khal_module** slot = &s->modules[fuzz_below(&s->in, SLOTS)];
    khal_module* module = NULL;
    khal_status status = khal_module_load(any_device(s), &(khal_module_desc){.library = &library}, &module);
    expect(status);
    if (status == KHAL_OK) {
        khal_module_release(*slot);
        *slot = module;
    }
    khal_function** function_slot = &s->functions[fuzz_below(&s->in, SLOTS)];
    khal_function* function = NULL;
    const uint32_t kernel = fuzz_below(&s->in, KERNELS + 2);
    const khal_function_desc desc = {
        .entry_point = kernel < KERNELS ? kernel_infos[kernel].name : kernel == KERNELS ? "nothing" : NULL};
    status = khal_function_create(*slot, &desc, &function);
    expect(status);
    if (status == KHAL_OK) {
        khal_function_release(*function_slot);
        *function_slot = function;
    }
}

static void call_encoder(state* s)
{
    const uint32_t i = fuzz_below(&s->in, SLOTS);
    khal_encoder* encoder = NULL;
    switch (fuzz_below(&s->in, 4)) {
    case 0:
        expect(khal_encoder_create(any_device(s), &(khal_encoder_desc){.label = "fuzz"}, &encoder));
        if (encoder) {
            khal_encoder_release(s->encoders[i]);
            s->encoders[i] = encoder;
            s->passes[i] = NULL;
        }
        break;
    case 1:
        if (s->encoders[i])
            khal_encoder_reset(s->encoders[i]);
        break;
    case 2:
        khal_encoder_release(s->encoders[i]);
        s->encoders[i] = NULL;
        s->passes[i] = NULL;
        break;
    default: expect_recording(khal_encoder_fill(s->encoders[i], any_slice(s), s->host, fuzz_below(&s->in, 18))); break;
    }
}

static void call_pass(state* s)
{
    const uint32_t i = fuzz_below(&s->in, SLOTS);
    khal_pass* pass = NULL;
    switch (fuzz_below(&s->in, 4)) {
    case 0:
        expect_recording(khal_pass_begin(s->encoders[i],
                                         &(khal_pass_desc){.label = "pass",
                                                           .timestamps = s->timestamps[fuzz_below(&s->in, SLOTS)],
                                                           .manual_barriers = fuzz_byte(&s->in) >= 200},
                                         &pass));
        if (pass)
            s->passes[i] = pass;
        break;
    case 1: expect_recording(khal_pass_end(s->passes[i])); break;
    case 2: expect_recording(khal_pass_barrier(s->passes[i])); break;
    default: expect_recording(khal_encoder_copy(s->encoders[i], any_slice(s), any_slice(s))); break;
    }
}

static void call_dispatch(state* s)
{
    khal_pass* pass = s->passes[fuzz_below(&s->in, SLOTS)];
    khal_function* function = s->functions[fuzz_below(&s->in, SLOTS)];
    khal_slice bindings[3] = {any_slice(s), any_slice(s), any_slice(s)};
    uint64_t local_sizes[2] = {64, small(s)};
    khal_dispatch_desc desc = {.function = function, .grid = any_grid(s), .bindings = bindings, .local_sizes = local_sizes,
                               .push_constants = s->host};
    if (function) {
        const khal_kernel_info* info = khal_function_get_info(function);
        desc.binding_count = info->binding_count;
        desc.push_constant_size = info->push_constant_size;
        desc.local_count = info->local_count;
    }
    const uint8_t spoil = fuzz_byte(&s->in);
    if (spoil >= 250)
        desc.binding_count = fuzz_below(&s->in, 4);
    else if (spoil >= 244)
        desc.push_constant_size = fuzz_below(&s->in, 16);
    else if (spoil >= 238)
        desc.local_count = fuzz_below(&s->in, 3);
    s->host[0] = fuzz_byte(&s->in); /* what `plan` writes */
    memset(s->host + 1, spoil == 237 ? 0xff : 0, 15);
    uint32_t index = UINT32_MAX;
    const khal_status status = khal_pass_dispatch(pass, &desc, &index);
    expect_recording(status);
    FUZZ_CHECK(status == KHAL_OK || index == UINT32_MAX);
    uint32_t size[3];
    uint64_t count[3];
    expect(khal_grid_resolve(function, desc.grid, size, count));
}

static khal_status native(void* user, const khal_native* n)
{
    (void)n;
    return *(const uint8_t*)user ? KHAL_DRIVER_ERROR : KHAL_OK;
}

static void call_native(state* s)
{
    static const uint8_t outcomes[2] = {0, 1};
    const khal_slice slices[2] = {any_slice(s), any_slice(s)};
    const khal_native_desc desc = {.call = native,
                                   .user = (void*)(uintptr_t)&outcomes[fuzz_byte(&s->in) >= 250],
                                   .reads = slices,
                                   .read_count = fuzz_below(&s->in, 2),
                                   .writes = slices + 1,
                                   .write_count = fuzz_below(&s->in, 2)};
    expect_recording(khal_encoder_native(s->encoders[fuzz_below(&s->in, SLOTS)], &desc));
}

static void call_submit(state* s)
{
    const uint32_t i = fuzz_below(&s->in, SLOTS), j = fuzz_below(&s->in, SLOTS);
    khal_ticket ticket = 0;
    khal_commands* commands = NULL;
    khal_status status;
    switch (fuzz_below(&s->in, 6)) {
    case 0:
    case 1:
        status = khal_submit(s->encoders[i], &ticket);
        expect(status);
        s->last = status == KHAL_OK ? ticket : s->last;
        break;
    case 2:
        status = khal_encoder_finish(s->encoders[i], &commands);
        expect(status);
        if (status == KHAL_OK) {
            khal_commands_release(s->commands[j]);
            s->commands[j] = commands;
        }
        break;
    case 3:
        status = khal_commands_submit(s->commands[j], &ticket);
        expect(status);
        s->last = status == KHAL_OK ? ticket : s->last;
        break;
    case 4: expect(khal_commands_set_slice(s->commands[j], fuzz_below(&s->in, 4), fuzz_below(&s->in, 3), any_slice(s))); break;
    default:
        expect(khal_commands_set_push_constants(s->commands[j], fuzz_below(&s->in, 4), fuzz_below(&s->in, 9), s->host,
                                                fuzz_below(&s->in, 9)));
        break;
    }
}

static void call_wait(state* s)
{
    khal_device* device = s->devices[0];
    const khal_ticket ticket = fuzz_byte(&s->in) < 250 ? s->last : number(s);
    switch (fuzz_below(&s->in, 3)) {
    case 0: expect(khal_ticket_poll(device, ticket)); break;
    case 1: expect(khal_ticket_wait(device, ticket, fuzz_byte(&s->in) < 128 ? KHAL_FOREVER : 0)); break;
    default: expect(khal_device_wait(device, KHAL_FOREVER)); break;
    }
    khal_statistics statistics;
    khal_device_get_statistics(device, &statistics);
}

static void call_timestamps(state* s)
{
    khal_timestamps** slot = &s->timestamps[fuzz_below(&s->in, SLOTS)];
    khal_timestamp entries[8];
    uint32_t count = 0, missed = 0;
    khal_timestamps* made = NULL;
    switch (fuzz_below(&s->in, 6)) {
    case 0:
        expect(khal_timestamps_create(any_device(s), &(khal_timestamps_desc){.capacity = fuzz_below(&s->in, 9)}, &made));
        if (made) {
            khal_timestamps_release(*slot);
            *slot = made;
        }
        break;
    case 1: expect(khal_timestamps_request_read(*slot)); break;
    case 2: expect(khal_timestamps_try_take(*slot, 8, entries, &count, &missed)); break;
    case 3: expect(khal_timestamps_read(*slot, 8, entries, &count, &missed, KHAL_FOREVER)); break;
    case 4: expect(khal_timestamps_reset(*slot)); break;
    default: expect_recording(khal_timestamps_resolve(*slot, s->encoders[fuzz_below(&s->in, SLOTS)])); break;
    }
    if (*slot)
        (void)(khal_timestamps_is_enabled(*slot) && khal_timestamps_is_idle(*slot));
}

static void call_readback(state* s)
{
    khal_readback** slot = &s->readbacks[fuzz_below(&s->in, SLOTS)];
    const khal_slice slices[2] = {any_slice(s), any_slice(s)};
    const uint32_t count = fuzz_below(&s->in, 3);
    khal_readback* made = NULL;
    switch (fuzz_below(&s->in, 5)) {
    case 0:
        expect(khal_readback_create(any_device(s),
                                    &(khal_readback_desc){.capacity_count = small(s),
                                                          .element_size = fuzz_below(&s->in, 5),
                                                          .slot_count = fuzz_below(&s->in, 4)},
                                    &made));
        if (made) {
            khal_readback_release(*slot);
            *slot = made;
        }
        break;
    case 1: expect(khal_readback_request(*slot, slices, count)); break;
    case 2: expect_recording(khal_readback_request_copy(*slot, s->encoders[fuzz_below(&s->in, SLOTS)], slices, count)); break;
    case 3: {
        const uint64_t elements = small(s);
        if (elements <= sizeof s->host / 4 || elements > UINT32_MAX)
            expect(khal_readback_try_take(*slot, s->host, elements));
        break;
    }
    default:
        if (*slot)
            khal_readback_cancel(*slot);
        break;
    }
}

static void call_release(state* s)
{
    const uint32_t i = fuzz_below(&s->in, SLOTS);
#define RELEASE(array, release)                                                                    \
    release(s->array[i]);                                                                          \
    s->array[i] = NULL;                                                                            \
    break
    switch (fuzz_below(&s->in, 7)) {
    case 0: RELEASE(buffers, khal_buffer_release);
    case 1: RELEASE(modules, khal_module_release);
    case 2: RELEASE(functions, khal_function_release);
    case 3: RELEASE(commands, khal_commands_release);
    case 4: RELEASE(timestamps, khal_timestamps_release);
    case 5: RELEASE(readbacks, khal_readback_release);
    default:
        atomic_store(&s->memory[0].until_failure, fuzz_byte(&s->in) < 128 ? -1 : fuzz_byte(&s->in));
        break;
    }
#undef RELEASE
}

static void call_between(state* s)
{
    expect(khal_copy_between(any_slice(s), any_slice(s), KHAL_FOREVER));
}

static void release_all(state* s, bool devices_first)
{
    for (int d = 0; devices_first && d < DEVICES; d++)
        khal_device_release(s->devices[d]);
    for (int i = 0; i < SLOTS; i++) {
        khal_buffer_release(s->buffers[i]);
        khal_encoder_release(s->encoders[i]);
        khal_commands_release(s->commands[i]);
        khal_function_release(s->functions[i]);
        khal_module_release(s->modules[i]);
        khal_timestamps_release(s->timestamps[i]);
        khal_readback_release(s->readbacks[i]);
    }
    for (int d = 0; !devices_first && d < DEVICES; d++)
        khal_device_release(s->devices[d]);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static void (*const calls[])(state*) = {
        call_buffer_create, call_buffer,   call_module, call_encoder,    call_pass,     call_dispatch, call_dispatch,
        call_native,        call_submit,   call_submit, call_wait,       call_timestamps, call_readback, call_release,
        call_between,
    };
    state* s = calloc(1, sizeof *s);
    if (!s)
        return 0;
    s->in = (fuzz_input){data, size, 0};
    const uint8_t how = fuzz_byte(&s->in);
    s->on_cpu = how & 1;
    for (int d = 0; d < DEVICES; d++) {
        s->memory[d].until_failure = -1;
        const khal_allocator allocator = {counting_allocate, counting_release, &s->memory[d]};
        const bool is_cpu = (d == 0) == s->on_cpu;
        const khal_device_desc desc = {.backend = is_cpu ? KHAL_BACKEND_CPU : KHAL_BACKEND_NOOP,
                                       .thread_count = 1 + (how >> 1 & 1),
                                       .allocator = &allocator};
        FUZZ_CHECK(khal_device_open(&desc, &s->devices[d]) == KHAL_OK);
    }
    while (s->in.at < s->in.size)
        calls[fuzz_below(&s->in, sizeof calls / sizeof calls[0])](s);
    release_all(s, how & 4);
    for (int d = 0; d < DEVICES; d++)
        FUZZ_CHECK(atomic_load(&s->memory[d].alive) == 0);
    free(s);
    return 0;
}
