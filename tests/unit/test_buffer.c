/* Buffers and slices: sizes of nothing and sizes of everything, the host's reads and writes, maps.
 */
#include "front.h"

#include <khal/interop/cpu.h>

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

static void defaults(void** state)
{
    (void)state;
    khal_buffer* buffer;
    OK(khal_buffer_create(device, NULL, &buffer));
    assert_int_equal(khal_buffer_get_size(buffer), 0);
    assert_int_equal(khal_buffer_get_element_size(buffer), 1);
    assert_int_equal(khal_buffer_get_usage(buffer),
                     KHAL_USAGE_STORAGE | KHAL_USAGE_COPY_SRC | KHAL_USAGE_COPY_DST);
    assert_string_equal(khal_buffer_get_label(buffer), "");
    assert_ptr_equal(khal_buffer_get_device(buffer), device);
    khal_buffer_release(buffer);
    OK(khal_buffer_create(
        device,
        &(khal_buffer_desc){
            .size = 24, .element_size = 12, .usage = KHAL_USAGE_UNIFORM, .label = "twelve"},
        &buffer));
    assert_int_equal(khal_buffer_get_element_size(buffer), 12);
    assert_int_equal(khal_buffer_get_usage(buffer), KHAL_USAGE_UNIFORM);
    assert_string_equal(khal_buffer_get_label(buffer), "twelve");
    khal_buffer_release(buffer);
}

/* Size 0 is legal in every use. */
static void nothing(void** state)
{
    (void)state;
    khal_buffer* buffer = make_buffer(device, 0);
    khal_buffer* other = make_buffer(device, 16);
    khal_encoder* encoder = make_encoder(device);
    khal_function* function = make_function(device, "read");
    khal_readback* readback;
    khal_slice slice;
    khal_pass* pass;
    void* memory = &memory;
    OK(khal_buffer_write(buffer, 0, NULL, 0));
    OK(khal_buffer_read(buffer, 0, NULL, 0, 0));
    OK(khal_buffer_write(other, 16, NULL, 0));
    OK(khal_buffer_map(buffer, 0, 0, KHAL_MAP_READ | KHAL_MAP_WRITE, 0, &memory));
    assert_null(memory);
    FAILS(BUFFER_MAPPED, khal_buffer_map(buffer, 0, 0, KHAL_MAP_READ, 0, &memory));
    OK(khal_buffer_flush(buffer, 0, 0));
    OK(khal_buffer_invalidate(buffer, 0, 0, 0));
    OK(khal_buffer_unmap(buffer));
    OK(khal_slice_range(buffer, 0, 0, &slice));
    assert_int_equal(khal_slice_get_count(slice), 0);
    OK(khal_slice_sub(slice, 0, 0, &slice));
    OK(khal_slice_reinterpret(slice, 16, &slice));
    const uint8_t pattern = 1;
    OK(khal_encoder_copy(encoder, khal_slice_all(buffer), khal_slice_all(buffer)));
    OK(khal_encoder_copy(encoder, khal_slice_all(buffer), bytes(other, 16, UINT64_MAX)));
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), &pattern, 1));
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(dispatch(pass, function, 1, &(khal_slice){buffer, 0, 0, 0}));
    OK(dispatch(pass, function, 1, &(khal_slice){buffer, 0, UINT64_MAX, 4}));
    OK(khal_pass_end(pass));
    OK(khal_readback_create(device, NULL, &readback));
    assert_int_equal(khal_readback_get_capacity(readback), 0);
    OK(khal_readback_request_copy(readback, encoder, (khal_slice[]){khal_slice_all(buffer)}, 1));
    OK(khal_submit(encoder, NULL));
    OK(khal_readback_try_take(readback, NULL, 0));
    OK(khal_copy_between(khal_slice_all(buffer), khal_slice_all(buffer), 0));
    khal_readback_release(readback);
    khal_function_release(function);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_buffer_release(other);
}

static void slices(void** state)
{
    (void)state;
    khal_buffer* buffer;
    khal_slice s, t;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 96, .element_size = 4}, &buffer));
    s = khal_slice_all(buffer);
    assert_int_equal(khal_slice_get_size(s), 96);
    assert_int_equal(khal_slice_get_count(s), 24);
    OK(khal_slice_range(buffer, 4, 8, &s));
    assert_int_equal(s.offset, 16);
    assert_int_equal(s.size, 32);
    assert_int_equal(s.element_size, 4);
    OK(khal_slice_sub(s, 2, 6, &t));
    assert_int_equal(t.offset, 24);
    assert_int_equal(t.size, 24);
    FAILS(SLICE_RANGE, khal_slice_sub(s, 2, 7, &t));
    FAILS(SLICE_RANGE, khal_slice_sub(s, UINT64_MAX, 2, &t));
    FAILS(SLICE_RANGE, khal_slice_sub(s, 2, UINT64_MAX, &t));
    OK(khal_slice_sub(s, 8, 0, &t));
    OK(khal_slice_reinterpret(s, 16, &t));
    assert_int_equal(khal_slice_get_count(t), 2);
    OK(khal_slice_reinterpret(t, 0, &t)); /* the buffer's own */
    assert_int_equal(t.element_size, 4);
    OK(khal_slice_reinterpret(s, 1, &t));
    FAILS(SLICE_ALIGNMENT, khal_slice_reinterpret(s, 32, &t));
    FAILS(SLICE_ELEMENT_SIZE, khal_slice_reinterpret(khal_slice_all(buffer), 36, &t));
    OK(khal_slice_sub((khal_slice){buffer, 8, UINT64_MAX, 0}, 0, 22, &t));
    /* Getters of what is no slice give 0. */
    assert_int_equal(khal_slice_get_size(khal_slice_all(NULL)), 0);
    assert_int_equal(khal_slice_get_count(khal_slice_all(NULL)), 0);
    assert_int_equal(khal_slice_get_size((khal_slice){buffer, 97, 0, 4}), 0);
    assert_int_equal(khal_slice_get_size((khal_slice){buffer, 92, 5, 4}), 0);
    assert_int_equal(khal_slice_get_size((khal_slice){buffer, UINT64_MAX, UINT64_MAX, 4}), 0);
    assert_int_equal(khal_slice_get_size((khal_slice){buffer, 96, UINT64_MAX, 4}), 0);
    assert_int_equal(khal_slice_get_count((khal_slice){buffer, 0, UINT64_MAX, 0}), 24);
    assert_int_equal(khal_slice_get_count(khal_slice_float4_all(buffer).slice), 6);
    assert_int_equal(khal_slice_get_size(khal_slice_double16_range(buffer, 0, 1).slice),
                     0); /* 128 bytes are more */
    khal_buffer_release(buffer);
}

static void sizes_of_everything(void** state)
{
    (void)state;
    khal_buffer *huge, *none;
    char byte = 1;
    khal_slice s;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = INT64_MAX, .usage = 0xff}, &huge));
    FAILS(BUFFER_SIZE,
          khal_buffer_create(device, &(khal_buffer_desc){.size = (uint64_t)INT64_MAX + 1}, &none));
    OK(khal_buffer_write(huge, INT64_MAX - 1, &byte, 1));
    FAILS(BUFFER_RANGE, khal_buffer_write(huge, INT64_MAX, &byte, 1));
    FAILS(BUFFER_RANGE, khal_buffer_write(huge, UINT64_MAX, &byte, 1));
    FAILS(BUFFER_RANGE, khal_buffer_write(huge, 1, &byte, UINT64_MAX));
    OK(khal_slice_range(huge, INT64_MAX - 1, 1, &s));
    khal_encoder* encoder = make_encoder(device);
    OK(khal_encoder_copy(encoder, bytes(huge, 0, INT64_MAX / 2),
                         bytes(huge, INT64_MAX / 2, INT64_MAX / 2)));
    OK(khal_encoder_fill(encoder, bytes(huge, 0, INT64_MAX), &byte, 1));
    OK(khal_submit(encoder, NULL));
    FAILS(SLICE_RANGE,
          khal_encoder_copy(encoder, bytes(huge, UINT64_MAX, UINT64_MAX - 1), bytes(huge, 0, 1)));
    khal_encoder_reset(encoder);
    FAILS(SLICE_RANGE,
          khal_encoder_copy(encoder, bytes(huge, 1, UINT64_MAX - 1), bytes(huge, 0, 1)));
    khal_encoder_release(encoder);
    khal_buffer_release(huge);
}

static void failures_leave_outputs_alone(void** state)
{
    (void)state;
    khal_buffer* buffer = make_buffer(device, 16);
    khal_buffer* untouched = (khal_buffer*)(uintptr_t)1;
    void* memory = (void*)(uintptr_t)1;
    char out[16] = "untouched";
    khal_slice slice = {buffer, 1, 2, 3};
    FAILS(
        BUFFER_ELEMENT_SIZE,
        khal_buffer_create(device, &(khal_buffer_desc){.size = 1, .element_size = 2}, &untouched));
    assert_ptr_equal(untouched, (void*)(uintptr_t)1);
    FAILS(BUFFER_RANGE, khal_buffer_map(buffer, 0, 17, KHAL_MAP_READ, 0, &memory));
    assert_ptr_equal(memory, (void*)(uintptr_t)1);
    FAILS(SLICE_RANGE, khal_slice_range(buffer, 17, 1, &slice));
    assert_int_equal(slice.size, 2);
    FAILS(BUFFER_RANGE, khal_buffer_read(buffer, 10, out, 10, 0));
    assert_string_equal(out, "untouched");
    khal_buffer_release(buffer);
}

static void maps(void** state)
{
    (void)state;
    khal_buffer* buffer = make_buffer(device, 4096);
    void* memory;
    for (uint64_t offset = 0; offset < 100; offset += 4) {
        OK(khal_buffer_map(buffer, offset, 64, KHAL_MAP_READ | KHAL_MAP_WRITE, 0, &memory));
        assert_int_equal((uintptr_t)memory % 16, offset % 16);
        memset(memory, 1, 64);
        OK(khal_buffer_flush(buffer, offset + 1, 63));
        OK(khal_buffer_invalidate(buffer, offset, 64, 0));
        OK(khal_buffer_unmap(buffer));
    }
    /* A failed map leaves the buffer unmapped. */
    atomic_store(&noop_control_of(device)->fail[NOOP_BUFFER_MAP], 1);
    FAILS(DRIVER, khal_buffer_map(buffer, 0, 64, KHAL_MAP_READ, 0, &memory));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_unmap(buffer));
    OK(khal_buffer_map(buffer, 0, 64, KHAL_MAP_READ, 0, &memory));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_flush(buffer, 0, 1)); /* mapped for reading alone */
    OK(khal_buffer_unmap(buffer));
    khal_buffer_release(buffer);
}

static void a_reads_cost_is_its_bytes(void** state)
{
    (void)state;
    counted c = {.remaining = -1};
    khal_device* d = open_noop_with((khal_device_desc){.allocator = COUNTED(c)});
    khal_buffer* buffer = make_buffer(d, INT64_MAX);
    char out[3] = "xyz";
    const unsigned long long before = atomic_load(&c.bytes);
    OK(khal_buffer_read(buffer, 1ull << 40, out, 3, KHAL_FOREVER));
    assert_true(memcmp(out, "\0\0\0", 3) == 0); /* new buffers read as zero */
    assert_int_equal(atomic_load(&c.bytes), before);
    khal_buffer_release(buffer);
    khal_device_release(d);
}

static void copies_between_devices(void** state)
{
    (void)state;
    enum { SIZE = 5 * 1000 * 1000 / 2 };
    khal_device* cpu;
    khal_buffer *from, *to, *zero;
    khal_ticket ticket;
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &cpu));
    unsigned char* data = malloc(SIZE);
    for (int i = 0; i < SIZE; ++i)
        data[i] = (unsigned char)(i * 7 + i / 251);
    OK(khal_buffer_create(cpu, &(khal_buffer_desc){.size = SIZE, .data = data}, &from));
    OK(khal_buffer_create(cpu, &(khal_buffer_desc){.size = SIZE}, &to));
    zero = make_buffer(device, SIZE);
    OK(khal_copy_between(bytes(from, 1, SIZE - 1), bytes(to, 0, SIZE - 1), KHAL_FOREVER));
    unsigned char* out = malloc(SIZE);
    OK(khal_buffer_read(to, 0, out, SIZE, KHAL_FOREVER));
    assert_memory_equal(out, data + 1, SIZE - 1);
    assert_int_equal(out[SIZE - 1], 0);
    /* After the source's submitted work. */
    khal_encoder* encoder = make_encoder(cpu);
    const uint32_t pattern = 0x01020304;
    OK(khal_encoder_fill(encoder, bytes(from, 0, 64), &pattern, 4));
    OK(khal_submit(encoder, &ticket));
    OK(khal_copy_between(bytes(from, 0, 64), bytes(to, 64, 64), KHAL_FOREVER));
    OK(khal_buffer_read(to, 64, out, 64, KHAL_FOREVER));
    assert_int_equal(out[0], 4);
    assert_int_equal(out[63], 1);
    OK(khal_copy_between(khal_slice_all(zero), khal_slice_all(to), KHAL_FOREVER));
    OK(khal_buffer_read(to, 0, out, SIZE, KHAL_FOREVER));
    assert_int_equal(out[64], 0);
    free(data);
    free(out);
    khal_encoder_release(encoder);
    khal_buffer_release(from);
    khal_buffer_release(to);
    khal_buffer_release(zero);
    khal_device_release(cpu);
}

static void memory_of_cpu_buffers(void** state)
{
    (void)state;
    _Alignas(64) static char mine[256];
    khal_device* cpu;
    khal_buffer *wrapped, *own, *noop = make_buffer(device, 16), *empty;
    void* memory;
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &cpu));
    OK(khal_buffer_create(cpu, &(khal_buffer_desc){.size = sizeof mine, .host_memory = mine},
                          &wrapped));
    OK(khal_buffer_create(cpu, &(khal_buffer_desc){.size = 4, .data = "abc"}, &own));
    OK(khal_buffer_create(cpu, NULL, &empty));
    OK(khal_cpu_buffer_get_memory(wrapped, &memory));
    assert_ptr_equal(memory, mine);
    OK(khal_cpu_buffer_get_memory(own, &memory));
    assert_string_equal(memory, "abc");
    ((char*)memory)[1] = 'B';
    char out[4];
    OK(khal_buffer_read(own, 0, out, 4, KHAL_FOREVER));
    assert_string_equal(out, "aBc");
    OK(khal_cpu_buffer_get_memory(empty, &memory));
    assert_null(memory);
    FAILS(UNSUPPORTED, khal_cpu_buffer_get_memory(noop, &memory));
    FAILS(ARGUMENT_NULL, khal_cpu_buffer_get_memory(NULL, &memory));
    FAILS(ARGUMENT_NULL, khal_cpu_buffer_get_memory(own, NULL));
    khal_buffer_release(wrapped);
    khal_buffer_release(own);
    khal_buffer_release(empty);
    khal_buffer_release(noop);
    khal_device_release(cpu);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(defaults),
        TEST(nothing),
        TEST(slices),
        TEST(sizes_of_everything),
        TEST(failures_leave_outputs_alone),
        TEST(maps),
        TEST(a_reads_cost_is_its_bytes),
        TEST(copies_between_devices),
        TEST(memory_of_cpu_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
