/* Random programs on the CPU, checked against the plain order of their calls; and random calls with
 * arguments that make no sense, which must fail and do nothing. */
#include "front.h"

#define SIZE 256u

static uint64_t state_of_random;

static uint64_t random_number(void)
{
    state_of_random += 0x9e3779b97f4a7c15u;
    uint64_t x = state_of_random;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t below(uint64_t n)
{
    return random_number() % n;
}

/* ---- the order of calls ------------------------------------------------------------------------
 */

/* out[i] = out[i] * 3 + in[i] */
static void run_mix(const khal_cpu_launch* launch, uint64_t first, uint64_t last, void* scratch)
{
    (void)scratch;
    uint32_t* out = launch->bindings[0];
    const uint32_t* in = launch->bindings[1];
    for (uint64_t g = first; g < last; ++g)
        out[g] = out[g] * 3 + in[g];
}

static const khal_cpu_kernel mix_kernels[] = {{run_mix, 0, 0}};
static const khal_code mix_codes[] = {
    {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = mix_kernels}};
static const khal_arg_info mix_args[] = {FLOATS("out", KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 0),
                                         FLOATS("in", KHAL_ACCESS_READ, 1)};
static const khal_kernel_info mix_info[] = {
    {.name = "mix", .args = mix_args, .arg_count = 2, .binding_count = 2}};
static const khal_kernel_library mix_library = {.version = KHAL_LIBRARY_VERSION,
                                                .kernel_count = 1,
                                                .code_count = 1,
                                                .name = "mix",
                                                .kernels = mix_info,
                                                .codes = mix_codes};

typedef struct action {
    int kind; /* 0 copy, 1 fill, 2 mix, 3 native fill, 4 read */
    int from, to;
    uint64_t from_offset, to_offset, size;
    uint8_t pattern[4];
} action;

typedef struct model {
    unsigned char bytes[2][SIZE];
    unsigned char read[SIZE]; /* what the readback is to give */
    uint64_t read_size;
} model;

static void apply(model* m, const action* actions, unsigned count)
{
    for (unsigned i = 0; i < count; ++i) {
        const action* a = &actions[i];
        unsigned char* to = m->bytes[a->to] + a->to_offset;
        switch (a->kind) {
        case 0: memcpy(to, m->bytes[a->from] + a->from_offset, a->size); break;
        case 1:
        case 3:
            for (uint64_t k = 0; k < a->size; ++k)
                to[k] = a->pattern[k % 4];
            break;
        case 2:
            for (uint64_t k = 0; k < a->size; k += 4) {
                uint32_t x, y;
                memcpy(&x, to + k, 4);
                memcpy(&y, m->bytes[a->from] + a->from_offset + k, 4);
                x = x * 3 + y;
                memcpy(to + k, &x, 4);
            }
            break;
        default:
            memcpy(m->read, to, a->size);
            m->read_size = a->size;
            break;
        }
    }
}

typedef struct native_fill {
    unsigned char* memory;
    uint64_t size;
    uint8_t pattern[4];
} native_fill;

static khal_status fill_natively(void* user, const khal_native* native)
{
    const native_fill* f = user;
    (void)native;
    for (uint64_t k = 0; k < f->size; ++k)
        f->memory[k] = f->pattern[k % 4];
    return KHAL_OK;
}

/* Ranges of 4-byte steps; those of one buffer do not overlap. */
static void choose_ranges(action* a)
{
    a->from = (int)below(2);
    a->to = (int)below(2);
    a->size = 4 * below(a->from == a->to ? SIZE / 8 : SIZE / 4);
    a->from_offset = 4 * below((SIZE - a->size) / 4 + 1);
    a->to_offset = 4 * below((SIZE - a->size) / 4 + 1);
    if (a->from == a->to) {
        a->from_offset = 4 * below((SIZE / 2 - a->size) / 4 + 1);
        a->to_offset = SIZE / 2 + 4 * below((SIZE / 2 - a->size) / 4 + 1);
    }
}

static void calls_take_effect_in_order(void** state)
{
    (void)state;
    static _Alignas(64) unsigned char memory[2][SIZE];
    native_fill fills[64];
    for (unsigned round = 0; round < 60; ++round) {
        state_of_random = round;
        model m = {0};
        action actions[16];
        unsigned count = 0, fill_count = 0;
        uint64_t asked = UINT64_MAX; /* bytes that a readback is to give */
        unsigned char expected[SIZE], got[SIZE];
        khal_device* device = NULL;
        khal_kernels* kernels = NULL;
        khal_readback* readback = NULL;
        khal_buffer* buffers[2];
        khal_commands* commands = NULL;
        action recorded[16];
        unsigned recorded_count = 0;
        memset(memory, 0, sizeof memory);
        OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU,
                                                .thread_count = 1 + (uint32_t)below(4)},
                            &device));
        OK(khal_kernels_load(device, &mix_library, &kernels));
        OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = SIZE}, &readback));
        for (int i = 0; i < 2; ++i)
            OK(khal_buffer_create(
                device, &(khal_buffer_desc){.size = SIZE, .usage = 0xff, .host_memory = memory[i]},
                &buffers[i]));
        khal_encoder* encoder = make_encoder(device);
        for (int step = 0; step < 300; ++step) {
            action a = {.kind = (int)below(12)};
            choose_ranges(&a);
            for (int i = 0; i < 4; ++i)
                a.pattern[i] = (uint8_t)random_number();
            const khal_slice from = bytes(buffers[a.from], a.from_offset, a.size),
                             to = bytes(buffers[a.to], a.to_offset, a.size);
            if (a.kind <= 4 && count == 16)
                a.kind = 5;
            switch (a.kind) {
            case 0: OK(khal_encoder_copy(encoder, from, to)); break;
            case 1: OK(khal_encoder_fill(encoder, to, a.pattern, 4)); break;
            case 2: {
                khal_pass* pass = NULL;
                khal_pass_begin(encoder, &(khal_pass_desc){.manual_barriers = below(2) != 0},
                                &pass);
                OK(khal_pass_dispatch(
                    pass,
                    &(khal_dispatch_desc){
                        .function = khal_kernels_get_function(kernels, 0),
                        .grid = khal_grid_with_workgroup(khal_groups(a.size / 4, 1, 1), 1, 1, 1),
                        .bindings = (khal_slice[]){to, from},
                        .binding_count = 2},
                    NULL));
                OK(khal_pass_end(pass));
                break;
            }
            case 3: {
                if (fill_count == 64)
                    continue;
                native_fill* f = &fills[fill_count++];
                f->memory = memory[a.to] + a.to_offset;
                f->size = a.size;
                memcpy(f->pattern, a.pattern, 4);
                OK(khal_encoder_native(encoder, &(khal_native_desc){.call = fill_natively,
                                                                    .user = f,
                                                                    .writes = &to,
                                                                    .write_count = 1}));
                break;
            }
            case 4:
                if (asked != UINT64_MAX)
                    continue;
                OK(khal_readback_request_copy(readback, encoder, &to, 1));
                asked = a.size;
                break;
            case 5:
                OK(khal_submit(encoder, NULL));
                apply(&m, actions, count);
                count = 0;
                break;
            case 6: /* no effect at all */
                khal_encoder_reset(encoder);
                for (unsigned i = 0; i < count; ++i)
                    if (actions[i].kind == 4)
                        asked = UINT64_MAX;
                count = 0;
                break;
            case 7:
                OK(khal_buffer_write(buffers[a.to], a.to_offset, a.pattern, a.size < 4 ? 0 : 4));
                if (a.size >= 4)
                    memcpy(m.bytes[a.to] + a.to_offset, a.pattern, 4);
                break;
            case 8:
                OK(khal_buffer_read(buffers[a.to], a.to_offset, got, a.size, KHAL_FOREVER));
                assert_memory_equal(got, m.bytes[a.to] + a.to_offset, a.size);
                break;
            case 9:
                OK(khal_copy_between(from, to, KHAL_FOREVER));
                memcpy(m.bytes[a.to] + a.to_offset, m.bytes[a.from] + a.from_offset, a.size);
                break;
            case 10:
                if (commands != NULL) {
                    OK(khal_commands_submit(commands, NULL));
                    apply(&m, recorded, recorded_count);
                } else if (asked == UINT64_MAX) {
                    OK(khal_encoder_finish(encoder, &commands));
                    memcpy(recorded, actions, sizeof actions);
                    recorded_count = count;
                    count = 0;
                }
                break;
            default: {
                if (asked == UINT64_MAX || count > 0)
                    break;
                khal_status status;
                while ((status = khal_readback_try_take(readback, got, asked)) == KHAL_NOT_READY)
                    OK(khal_device_wait(device, KHAL_FOREVER));
                OK(status);
                memcpy(expected, m.read, sizeof expected);
                assert_int_equal(m.read_size, asked);
                assert_memory_equal(got, expected, asked);
                asked = UINT64_MAX;
                break;
            }
            }
            if (a.kind <= 4)
                actions[count++] = a;
        }
        for (int i = 0; i < 2; ++i) {
            OK(khal_buffer_read(buffers[i], 0, got, SIZE, KHAL_FOREVER));
            assert_memory_equal(got, m.bytes[i], SIZE);
            khal_buffer_release(buffers[i]);
        }
        khal_commands_release(commands);
        khal_encoder_release(encoder);
        khal_readback_release(readback);
        khal_kernels_release(kernels);
        khal_device_release(device);
    }
}

/* ---- calls that make no sense ------------------------------------------------------------------
 */

static uint64_t odd_number(void)
{
    static const uint64_t odd[] = {0,          1,
                                   3,          4,
                                   12,         255,
                                   256,        257,
                                   UINT32_MAX, 1ull << 32,
                                   1ull << 63, UINT64_MAX - 1,
                                   UINT64_MAX, UINT64_MAX / 4,
                                   64,         128};
    return odd[below(sizeof odd / sizeof odd[0])];
}

typedef struct zoo {
    khal_device* devices[3]; /* the last: NULL */
    khal_buffer* buffers[4];
    khal_function* functions[3];
    khal_module* modules[3];
    khal_encoder* encoders[3];
    khal_timestamps* timestamps[3];
    khal_readback* readbacks[3];
    khal_commands* commands[3];
    khal_pass* passes[3];
} zoo;
#define ANY(array) ((array)[below(sizeof(array) / sizeof((array)[0]))])

static khal_slice odd_slice(const zoo* z)
{
    const khal_slice slice = {ANY(z->buffers), odd_number(), odd_number(), (uint32_t)odd_number()};
    const khal_slice good = {ANY(z->buffers), 0, UINT64_MAX, 0};
    return below(2) != 0 ? slice : good;
}

static unsigned successes, failures;

static void note(khal_status status)
{
    const khal_error* error = khal_error_get();
    if (status == KHAL_OK || status == KHAL_NOT_READY || status == KHAL_NOTHING_REQUESTED) {
        ++successes;
        return;
    }
    ++failures;
    if (error->status != KHAL_OK) /* later calls of a spoilt encoder leave the record alone */
        assert_true(strlen(error->message) > 0);
    assert_string_not_equal(khal_status_name(status), "unknown");
}

static void record_anything(zoo* z)
{
    khal_slice slices[3] = {odd_slice(z), odd_slice(z), odd_slice(z)};
    uint64_t locals[2] = {odd_number(), odd_number()};
    const uint32_t pattern[4] = {1, 2, 3, 4};
    const size_t who = below(3);
    uint32_t index = 0;
    switch (below(12)) {
    case 0: note(khal_pass_begin(z->encoders[who], NULL, &z->passes[who])); break;
    case 1:
        note(khal_pass_begin(z->encoders[who],
                             &(khal_pass_desc){.label = "a pass",
                                               .timestamps = ANY(z->timestamps),
                                               .manual_barriers = below(2) != 0},
                             &z->passes[who]));
        break;
    case 2: note(khal_pass_end(z->passes[who])); break;
    case 3: note(khal_pass_barrier(z->passes[who])); break;
    case 4:
    case 5:
    case 6: {
        const khal_dispatch_desc desc = {
            .function = ANY(z->functions),
            .grid = {.kind = (khal_grid_kind)below(4),
                     .x = odd_number(),
                     .y = below(2) != 0 ? 1 : odd_number(),
                     .z = below(2) != 0 ? 1 : odd_number(),
                     .buffer = ANY(z->buffers),
                     .offset = odd_number(),
                     .workgroup_size = {below(4) == 0 ? (uint32_t)odd_number() : 0}},
            .bindings = below(8) != 0 ? slices : NULL,
            .binding_count = (uint32_t)below(4),
            .push_constants = below(8) != 0 ? pattern : NULL,
            .push_constant_size = below(2) != 0 ? 4 : 0,
            .local_sizes = below(2) != 0 ? locals : NULL,
            .local_count = (uint32_t)below(3)};
        note(khal_pass_dispatch(z->passes[who], below(16) != 0 ? &desc : NULL, &index));
        break;
    }
    case 7: note(khal_encoder_copy(z->encoders[who], slices[0], slices[1])); break;
    case 8:
        note(khal_encoder_fill(z->encoders[who], slices[0], below(8) != 0 ? pattern : NULL,
                               (uint32_t)below(18)));
        break;
    case 9:
        note(khal_readback_request_copy(ANY(z->readbacks), z->encoders[who],
                                        below(8) != 0 ? slices : NULL, (uint32_t)below(4)));
        break;
    case 10: note(khal_timestamps_resolve(ANY(z->timestamps), z->encoders[who])); break;
    default:
        note(khal_encoder_native(z->encoders[who],
                                 &(khal_native_desc){.reads = slices, .read_count = 1}));
        break;
    }
}

static void use_anything(zoo* z)
{
    char out[512];
    void* memory;
    khal_timestamp entries[8];
    khal_slice slice = odd_slice(z), made;
    khal_ticket ticket = 0;
    uint32_t count = 0, workgroup[3];
    uint64_t groups[3];
    const size_t who = below(3);
    switch (below(24)) {
    case 0:
        note(khal_buffer_write(ANY(z->buffers), odd_number(), below(8) != 0 ? out : NULL,
                               below(2) != 0 ? 8 : odd_number() & ~(uint64_t)0xff));
        break;
    case 1:
        note(khal_buffer_read(ANY(z->buffers), odd_number(), out, below(300), odd_number()));
        break;
    case 2:
        note(khal_buffer_map(ANY(z->buffers), odd_number(), odd_number(), (uint32_t)below(5),
                             odd_number(), &memory));
        break;
    case 3: note(khal_buffer_unmap(ANY(z->buffers))); break;
    case 4: note(khal_buffer_flush(ANY(z->buffers), odd_number(), odd_number())); break;
    case 5: note(khal_buffer_invalidate(ANY(z->buffers), odd_number(), odd_number(), 0)); break;
    case 6: note(khal_submit(z->encoders[who], below(2) != 0 ? &ticket : NULL)); break;
    case 7: {
        khal_commands* finished = NULL;
        const khal_status status =
            khal_encoder_finish(z->encoders[who], below(8) != 0 ? &finished : NULL);
        note(status);
        if (status == KHAL_OK) {
            khal_commands_release(z->commands[who]);
            z->commands[who] = finished;
        }
        break;
    }
    case 8: note(khal_commands_submit(ANY(z->commands), NULL)); break;
    case 9:
        note(khal_commands_set_slice(ANY(z->commands), (uint32_t)below(3), (uint32_t)odd_number(),
                                     slice));
        break;
    case 10:
        note(khal_commands_set_push_constants(ANY(z->commands), (uint32_t)odd_number(),
                                              (uint32_t)odd_number(), out, (uint32_t)below(300)));
        break;
    case 11: note(khal_ticket_poll(ANY(z->devices), odd_number())); break;
    case 12: note(khal_ticket_wait(ANY(z->devices), odd_number(), odd_number())); break;
    case 13: note(khal_device_wait(ANY(z->devices), KHAL_FOREVER)); break;
    case 14:
        note(khal_timestamps_read(ANY(z->timestamps), (uint32_t)below(9), entries, &count, NULL,
                                  KHAL_FOREVER));
        break;
    case 15: note(khal_timestamps_request_read(ANY(z->timestamps))); break;
    case 16: note(khal_timestamps_reset(ANY(z->timestamps))); break;
    case 17:
        note(khal_timestamps_try_take(ANY(z->timestamps), (uint32_t)below(9), entries, &count,
                                      &count));
        break;
    case 18: note(khal_readback_request(ANY(z->readbacks), &slice, (uint32_t)below(2))); break;
    case 19: note(khal_readback_try_take(ANY(z->readbacks), out, below(300))); break;
    case 20: khal_readback_cancel(ANY(z->readbacks)); break;
    case 21: note(khal_copy_between(slice, odd_slice(z), KHAL_FOREVER)); break;
    case 22:
        note(khal_grid_resolve(ANY(z->functions),
                               (khal_grid){(khal_grid_kind)below(4),
                                           odd_number(),
                                           odd_number(),
                                           odd_number(),
                                           NULL,
                                           0,
                                           {(uint32_t)odd_number(), 0, 3}},
                               workgroup, groups));
        break;
    default:
        note(khal_slice_sub(slice, odd_number(), odd_number(), &made));
        note(khal_slice_reinterpret(slice, (uint32_t)odd_number(), &made));
        note(khal_slice_range(ANY(z->buffers), odd_number(), odd_number(), &made));
        (void)khal_slice_get_count(slice);
        khal_encoder_reset(below(4) == 0 ? ANY(z->encoders) : NULL);
        break;
    }
}

static void make_anything(zoo* z)
{
    khal_device* device = ANY(z->devices);
    khal_buffer* buffer = NULL;
    const uint64_t size = odd_number();
    const khal_buffer_desc desc = {.size = size > 1024 && size < 1ull << 40 ? 1024 : size,
                                   .element_size = (uint32_t)odd_number(),
                                   .usage = (uint32_t)odd_number(),
                                   .uninitialized = below(2) != 0,
                                   .host_memory =
                                       below(8) == 0 ? (void*)(uintptr_t)odd_number() : NULL};
    if (desc.host_memory == NULL || desc.size == 0 || (uintptr_t)desc.host_memory % 16 != 0) {
        const khal_status status = khal_buffer_create(device, &desc, &buffer);
        note(status);
        if (status == KHAL_OK)
            khal_buffer_release(buffer);
    }
    khal_readback* readback = NULL;
    const uint64_t capacity = odd_number();
    if (capacity < 1024 || capacity > 1ull << 40) {
        const khal_status status =
            khal_readback_create(device,
                                 &(khal_readback_desc){.capacity_count = capacity,
                                                       .element_size = (uint32_t)below(3),
                                                       .slot_count = (uint32_t)below(2000)},
                                 &readback);
        note(status);
        if (status == KHAL_OK)
            khal_readback_release(readback);
    }
    khal_function* function = NULL;
    const char* names[] = {"add", "copy", "no such", "", NULL};
    const khal_status status = khal_function_create(
        ANY(z->modules),
        &(khal_function_desc){.entry_point = ANY(names),
                              .binding_count = below(4) == 0 ? (uint32_t)odd_number() : 0,
                              .push_constant_size = below(4) == 0 ? (uint32_t)odd_number() : 0,
                              .workgroup_size = {below(4) == 0 ? (uint32_t)odd_number() : 0}},
        &function);
    note(status);
    if (status == KHAL_OK)
        khal_function_release(function);
}

/* Sanitizers end a program that asks malloc for too much. */
static void* modest_allocate(void* user, size_t size, size_t align)
{
    (void)user;
    return size > 1u << 28 ? NULL : aligned_alloc(align, (size + align - 1) / align * align);
}

static void modest_release(void* user, void* memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

static void nonsense_fails_and_does_nothing(void** state)
{
    (void)state;
    static const khal_allocator allocator = {modest_allocate, modest_release, NULL};
    for (unsigned round = 0; round < 40; ++round) {
        state_of_random = 1000 + round;
        zoo z = {0};
        for (uint32_t d = 0; d < 2; ++d) {
            OK(khal_device_open(&(khal_device_desc){.backend = (round + d) % 2 == 0
                                                                   ? KHAL_BACKEND_CPU
                                                                   : KHAL_BACKEND_NOOP,
                                                    .allocator = &allocator,
                                                    .thread_count = 1 + round % 3},
                                &z.devices[d]));
            z.buffers[d] = make_buffer(z.devices[d], 256);
            z.modules[d] = load_front(z.devices[d]);
            OK(khal_function_create(z.modules[d],
                                    &(khal_function_desc){.entry_point = d == 0 ? "add" : "local"},
                                    &z.functions[d]));
            z.encoders[d] = make_encoder(z.devices[d]);
            OK(khal_timestamps_create(z.devices[d], &(khal_timestamps_desc){.capacity = 4},
                                      &z.timestamps[d]));
            OK(khal_readback_create(z.devices[d],
                                    &(khal_readback_desc){.capacity_count = 256, .slot_count = 2},
                                    &z.readbacks[d]));
        }
        z.buffers[2] = make_buffer(z.devices[0], 0);
        for (int step = 0; step < 3000; ++step) {
            record_anything(&z);
            use_anything(&z);
            if (step % 16 == 0)
                make_anything(&z);
        }
        for (int i = 0; i < 3; ++i) {
            khal_commands_release(z.commands[i]);
            khal_encoder_release(z.encoders[i]);
            khal_timestamps_release(z.timestamps[i]);
            khal_readback_release(z.readbacks[i]);
            khal_function_release(z.functions[i]);
            khal_module_release(z.modules[i]);
            khal_buffer_release(z.buffers[i]);
        }
        for (int d = 0; d < 2; ++d) {
            OK(khal_device_wait(z.devices[d], KHAL_FOREVER));
            assert_int_equal(statistics(z.devices[d]).live_objects, 0);
            khal_device_release(z.devices[d]);
        }
    }
    assert_true(successes > 1000);
    assert_true(failures > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_take_effect_in_order),
        cmocka_unit_test(nonsense_fails_and_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
