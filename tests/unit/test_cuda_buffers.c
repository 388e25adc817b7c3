/* Buffers of the CUDA backend over a driver that checks how it is called: sizes, ranges, order, memory that runs out. */
#include "cuda/harness.h"

#include <pthread.h>

static khal_device* device;

static int use(void** state)
{
    (void)state;
    if (use_driver(STANDIN) != 0)
        return -1;
    device = NULL;
    return try_open(&device) == KHAL_OK ? 0 : -1;
}

static int use_old(void** state)
{
    (void)state;
    if (use_driver(STANDIN_OLD) != 0)
        return -1;
    device = NULL;
    return try_open(&device) == KHAL_OK ? 0 : -1;
}

/* Bytes that tell where they are. */
static unsigned char* pattern(size_t size, unsigned seed)
{
    unsigned char* bytes_made = malloc(size > 0 ? size : 1);
    assert_non_null(bytes_made);
    for (size_t i = 0; i < size; ++i)
        bytes_made[i] = (unsigned char)((i * 2654435761u >> 7) + seed);
    return bytes_made;
}

static void sizes_and_offsets(void** state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 127, 128, 129, 255, 4095, 65535, 65536, 65537, 300001, 20000003};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        const size_t size = sizes[k];
        unsigned char *data = pattern(size, 1), *back = malloc(size + 1), *zeros = calloc(1, size + 1);
        assert_non_null(back);
        assert_non_null(zeros);
        khal_buffer *given = NULL, *zeroed = NULL, *open = NULL;
        OK(khal_buffer_create(device, &(khal_buffer_desc){.size = size, .data = size > 0 ? data : NULL}, &given));
        OK(khal_buffer_create(device, &(khal_buffer_desc){.size = size}, &zeroed));
        OK(khal_buffer_create(device, &(khal_buffer_desc){.size = size, .uninitialized = true}, &open));
        back[size] = 77;
        OK(khal_buffer_read(given, 0, back, size, KHAL_FOREVER));
        assert_memory_equal(back, data, size);
        OK(khal_buffer_read(zeroed, 0, back, size, KHAL_FOREVER));
        assert_memory_equal(back, zeros, size);
        OK(khal_buffer_write(open, 0, data, size));
        OK(khal_buffer_read(open, 0, back, size, KHAL_FOREVER));
        assert_memory_equal(back, data, size);
        assert_int_equal(back[size], 77);
        for (size_t at = 0; at < size && at < 9; ++at) {
            const size_t part = size - at < 33 ? size - at : 33;
            OK(khal_buffer_write(zeroed, at, data, part));
            OK(khal_buffer_read(zeroed, at, back, part, KHAL_FOREVER));
            assert_memory_equal(back, data, part);
            OK(khal_buffer_read(given, size - part, back, part, 1000000000));
            assert_memory_equal(back, data + size - part, part);
        }
        khal_buffer_release(given);
        khal_buffer_release(zeroed);
        khal_buffer_release(open);
        free(data);
        free(back);
        free(zeros);
    }
    close_device(device);
}

/* A block that another buffer had is zero again. */
static void zeroed_again(void** state)
{
    (void)state;
    static const uint64_t sizes[] = {16, 4000, 100000, 5000000};
    for (int turn = 0; turn < 3; ++turn)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
            khal_buffer *a = new_buffer(device, sizes[k], NULL), *copy = new_buffer(device, sizes[k], NULL);
            assert_int_equal(read_word(a, sizes[k] - 4), 0);
            khal_encoder* encoder = make_encoder(device);
            OK(khal_encoder_copy(encoder, khal_slice_all(copy), khal_slice_all(a))); /* of what was not used before */
            OK(khal_encoder_fill(encoder, khal_slice_all(copy), "\xff", 1));
            OK(khal_submit(encoder, NULL));
            assert_int_equal(read_word(a, 0), 0);
            assert_int_equal(read_word(copy, sizes[k] - 4), 0xffffffff);
            khal_encoder_release(encoder);
            khal_buffer_release(a);
            khal_buffer_release(copy);
        }
    close_device(device);
}

static void small_buffers_share(void** state)
{
    (void)state;
    khal_buffer* buffers[500];
    hooks->forget();
    for (uint32_t i = 0; i < 500; ++i) {
        const uint32_t words[5] = {i, i + 1, i + 2, i + 3, i + 4};
        buffers[i] = new_buffer(device, 20, words);
    }
    assert_true(hooks->calls("MemAlloc") <= 10);
    for (uint32_t i = 0; i < 500; ++i) {
        uint64_t address = 0;
        OK(khal_cuda_buffer_get_address(buffers[i], &address));
        assert_int_equal(address % 128, 0);
        assert_int_equal(read_word(buffers[i], 16), i + 4);
    }
    for (uint32_t i = 0; i < 500; ++i)
        khal_buffer_release(buffers[i]);
    hooks->forget();
    for (uint32_t i = 0; i < 1000; ++i)
        khal_buffer_release(new_buffer(device, i % 8 == 0 ? 1u << 20 : 4096, NULL));
    assert_true(hooks->calls("MemAlloc") <= 10);
    close_device(device);
}

static void fills(void** state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 4, 8, 16};
    static const uint64_t counts[] = {1, 2, 3, 7, 64, 1000, 4099};
    const unsigned char* values = pattern(16, 9);
    for (size_t k = 0; k < 5; ++k)
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; ++n) {
            const uint64_t size = sizes[k] * counts[n], whole = size + 3 * sizes[k];
            khal_buffer* buffer = new_buffer(device, whole, NULL);
            khal_encoder* encoder = make_encoder(device);
            unsigned char* back = malloc((size_t)whole);
            assert_non_null(back);
            OK(khal_encoder_fill(encoder, bytes(buffer, sizes[k], size), values, sizes[k]));
            OK(khal_submit(encoder, NULL));
            OK(khal_buffer_read(buffer, 0, back, whole, KHAL_FOREVER));
            for (uint64_t i = 0; i < whole; ++i) {
                const bool is_filled = i >= sizes[k] && i < sizes[k] + size;
                assert_int_equal(back[i], is_filled ? values[i % sizes[k]] : 0);
            }
            free(back);
            khal_encoder_release(encoder);
            khal_buffer_release(buffer);
        }
    free((void*)(uintptr_t)values);
    close_device(device);
}

static void copies(void** state)
{
    (void)state;
    unsigned char *data = pattern(1000, 4), back[1000];
    khal_buffer *a = new_buffer(device, 1000, data), *b = new_buffer(device, 1000, NULL);
    khal_encoder* encoder = make_encoder(device);
    OK(khal_encoder_copy(encoder, bytes(a, 1, 333), bytes(b, 5, 333)));
    OK(khal_encoder_copy(encoder, bytes(b, 5, 333), bytes(b, 400, 333)));
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_read(b, 0, back, 1000, KHAL_FOREVER));
    assert_memory_equal(back + 5, data + 1, 333);
    assert_memory_equal(back + 400, data + 1, 333);
    assert_int_equal(back[4] | back[338] | back[399] | back[733], 0);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    free(data);
    close_device(device);
}

static void maps(void** state)
{
    (void)state;
    unsigned char* data = pattern(5000, 5);
    khal_buffer* buffer = new_buffer(device, 5000, NULL);
    unsigned char* mapped = NULL;
    OK(khal_buffer_write(buffer, 0, data, 5000));
    OK(khal_buffer_map(buffer, 1001, 2000, KHAL_MAP_READ | KHAL_MAP_WRITE, KHAL_FOREVER, (void**)&mapped));
    assert_memory_equal(mapped, data + 1001, 2000);
    mapped[3] = 200;
    OK(khal_buffer_flush(buffer, 1001, 2000));
    unsigned char byte = 0;
    OK(khal_buffer_read(buffer, 1004, &byte, 1, KHAL_FOREVER));
    assert_int_equal(byte, 200);

    /* work runs while it stays mapped */
    khal_encoder* encoder = make_encoder(device);
    OK(khal_encoder_fill(encoder, bytes(buffer, 1001, 10), "\7", 1));
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_invalidate(buffer, 1001, 100, KHAL_FOREVER));
    assert_int_equal(mapped[0], 7);
    assert_int_equal(mapped[9], 7);
    assert_int_equal(mapped[10], data[1011]);
    mapped[1999] = 201; /* unmapping flushes */
    OK(khal_buffer_unmap(buffer));
    OK(khal_buffer_read(buffer, 3000, &byte, 1, KHAL_FOREVER));
    assert_int_equal(byte, 201);

    hooks->hold(NULL, true);
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\10", 1));
    OK(khal_submit(encoder, NULL));
    FAILS(TIMEOUT, khal_buffer_map(buffer, 0, 10, KHAL_MAP_READ, 1000000, (void**)&mapped));
    hooks->hold(NULL, false);
    OK(khal_buffer_map(buffer, 0, 10, KHAL_MAP_READ, KHAL_FOREVER, (void**)&mapped));
    assert_int_equal(mapped[9], 8);
    OK(khal_buffer_unmap(buffer));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    free(data);
    close_device(device);
}

static void host_memory(void** state)
{
    (void)state;
    unsigned char* memory = aligned_alloc(4096, 16384);
    assert_non_null(memory);
    memset(memory, 3, 16384);
    khal_buffer *whole = NULL, *part = NULL, *beside = NULL;
    const khal_buffer_desc desc = {.size = 4096, .usage = 0x7f, .host_memory = memory};
    OK(khal_buffer_create(device, &desc, &whole));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 100, .usage = 0x7f, .host_memory = memory + 4096 + 16}, &part));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 100, .usage = 0x7f, .host_memory = memory + 4096 + 256}, &beside));
    khal_encoder* encoder = make_encoder(device);
    OK(khal_encoder_fill(encoder, bytes(part, 10, 20), "\5", 1));
    OK(khal_encoder_copy(encoder, bytes(part, 10, 20), bytes(whole, 0, 20)));
    OK(khal_encoder_copy(encoder, bytes(whole, 100, 20), bytes(beside, 0, 20)));
    OK(khal_submit(encoder, NULL));
    OK(khal_device_wait(device, KHAL_FOREVER));
    assert_int_equal(memory[4096 + 16 + 10], 5);
    assert_int_equal(memory[4096 + 16 + 9], 3);
    assert_int_equal(memory[19], 5);
    assert_int_equal(memory[20], 3);
    unsigned char* mapped = NULL;
    OK(khal_buffer_map(whole, 7, 100, KHAL_MAP_READ | KHAL_MAP_WRITE, KHAL_FOREVER, (void**)&mapped));
    assert_ptr_equal(mapped, memory + 7);
    OK(khal_buffer_unmap(whole));
    OK(khal_buffer_write(whole, 0, "host", 4));
    unsigned char back[4];
    OK(khal_buffer_read(whole, 0, back, 4, KHAL_FOREVER));
    assert_memory_equal(back, "host", 4);
    khal_encoder_release(encoder);
    khal_buffer_release(whole);
    khal_buffer_release(part);
    khal_buffer_release(beside);
    hooks->fail_call("MemHostRegister", 1, CUDA_ERROR_NOT_SUPPORTED);
    assert_int_not_equal(khal_buffer_create(device, &desc, &whole), KHAL_OK);
    assert_non_null(hooks->failed());
    close_device(device);
    free(memory);
}

static atomic_bool gate_is_shut;
static int wait_at_gate(void* user, const standin_launch* launch)
{
    while (gate_is_shut)
        khal__thread_yield();
    return cuda_order(user, launch);
}

/* A host write takes its place when it is called, and changes nothing that submitted work reads. */
static void host_writes_keep_their_place(void** state)
{
    (void)state;
    khal_buffer *a = new_buffer(device, 200000, NULL), *b = new_buffer(device, 200000, NULL), *c = new_buffer(device, 4, NULL);
    khal_encoder* encoder = make_encoder(device);
    unsigned char *first = pattern(200000, 1), *second = pattern(200000, 2), *back = malloc(200000);
    assert_non_null(back);
    OK(khal_buffer_write(a, 0, first, 200000));
    hooks->hold(NULL, true);
    OK(khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)));
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_write(a, 100, second, 4000)); /* does not wait */
    OK(khal_buffer_write(c, 0, "abc", 4));
    hooks->hold(NULL, false);
    OK(khal_buffer_read(b, 0, back, 200000, KHAL_FOREVER));
    assert_memory_equal(back, first, 200000);
    OK(khal_buffer_read(a, 100, back, 4000, KHAL_FOREVER));
    assert_memory_equal(back, second, 4000);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_buffer_release(c);
    free(first);
    free(second);
    free(back);
    close_device(device);
}

/* A read waits for the work that it depends on, and for no other: what the program put into a stream of its own counts too. */
static void reads_pass_by_other_work(void** state)
{
    (void)state;
    khal_buffer *a = new_buffer(device, 100, NULL), *b = new_buffer(device, 100, NULL);
    khal_function* order = get_function(device, "order");
    khal_encoder* encoder = make_encoder(device);
    uint32_t word = 7;
    OK(khal_buffer_write(a, 0, "abc", 4));
    assert_int_equal(read_word(a, 0) + read_word(b, 0), 'a' | 'b' << 8 | 'c' << 16);
    gate_is_shut = true;
    hooks->kernel("order", wait_at_gate, NULL);
    record(encoder, order, khal_threads(1, 1, 1), 1, (khal_slice[]){khal_slice_all(b)}, 4, &(uint32_t){1});
    OK(khal_submit(encoder, NULL));
    assert_int_equal(read_word(a, 0), 'a' | 'b' << 8 | 'c' << 16);
    FAILS(TIMEOUT, khal_buffer_read(b, 0, &word, 4, 1000000));
    FAILS(TIMEOUT, khal_buffer_read(b, 0, &word, 4, 0));
    OK(khal_buffer_write(a, 0, "xyz", 4)); /* behind the work in its stream: a read comes after it */
    FAILS(TIMEOUT, khal_buffer_read(a, 0, &word, 4, 1000000));
    assert_int_equal(word, 7);
    gate_is_shut = false;
    OK(khal_buffer_read(a, 0, &word, 4, KHAL_FOREVER));
    assert_int_equal(word, 'x' | 'y' << 8 | 'z' << 16);
    OK(khal_buffer_read(b, 0, &word, 4, KHAL_FOREVER));
    assert_int_equal(word, 1);
    khal_encoder_release(encoder);
    khal_function_release(order);
    khal_buffer_release(a);
    khal_buffer_release(b);
    close_device(device);
}

static void* let_go_later(void* user)
{
    const uint64_t start = khal__clock_now();
    while (khal__clock_now() - start < 100000000)
        khal__thread_yield();
    hooks->hold(NULL, false);
    return user;
}

/* What the host hands over is kept until the device has it, also when there is more than room for it. */
static void writes_wait_for_room(void** state)
{
    (void)state;
    enum { PARTS = 400 };
    static const size_t sizes[] = {100, 20000, 250000};
    for (size_t k = 0; k < 3; ++k) {
        const size_t size = sizes[k];
        pthread_t thread;
        unsigned char *data = pattern(PARTS * size, (unsigned)k), *part = malloc(size), *back = malloc(PARTS * size);
        khal_buffer* buffer = new_buffer(device, PARTS * size, NULL);
        assert_non_null(part);
        assert_non_null(back);
        OK(khal_buffer_read(buffer, 0, back, size, KHAL_FOREVER));
        hooks->hold(NULL, true);
        assert_int_equal(pthread_create(&thread, NULL, let_go_later, NULL), 0);
        for (size_t i = 0; i < PARTS; ++i) {
            memcpy(part, data + i * size, size);
            OK(khal_buffer_write(buffer, i * size, part, size));
            memset(part, 0xee, size);
        }
        pthread_join(thread, NULL);
        OK(khal_buffer_read(buffer, 0, back, PARTS * size, KHAL_FOREVER));
        assert_memory_equal(back, data, PARTS * size);
        khal_buffer_release(buffer);
        free(data);
        free(part);
        free(back);
    }
    close_device(device);
}

static void memory_runs_out(void** state)
{
    (void)state;
    khal_buffer *buffers[64] = {NULL}, *small = NULL, *other = NULL;
    uint32_t count = 0;
    FAILS(OUT_OF_MEMORY, khal_buffer_create(device, &(khal_buffer_desc){.size = (uint64_t)1 << 30}, &small));
    while (count < 64 && khal_buffer_create(device, &(khal_buffer_desc){.size = 64u << 20, .uninitialized = true},
                                            &buffers[count]) == KHAL_OK)
        ++count;
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_OUT_OF_MEMORY);
    assert_in_range(count, 10, 16);
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 4, .data = "abc"}, &small));
    assert_int_equal(read_word(small, 0), 'a' | 'b' << 8 | 'c' << 16);
    /* what was kept for later is given back for something larger */
    for (uint32_t i = 0; i < count; ++i)
        khal_buffer_release(buffers[i]);
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = (uint64_t)900 << 20, .uninitialized = true}, &other));
    khal_buffer_release(other);
    khal_buffer_release(small);
    close_device(device);
}

static void pinned_memory_runs_out(void** state)
{
    (void)state;
    unsigned char *data = pattern(10000000, 3), *back = malloc(10000000);
    assert_non_null(back);
    khal_buffer* buffer = new_buffer(device, 10000000, NULL);
    hooks->traits->pinned = 0;
    const khal_status written = khal_buffer_write(buffer, 0, data, 10000000);
    if (written == KHAL_OK) {
        const khal_status read = khal_buffer_read(buffer, 0, back, 10000000, KHAL_FOREVER);
        if (read == KHAL_OK)
            assert_memory_equal(back, data, 10000000);
        else
            assert_int_equal(read, KHAL_OUT_OF_MEMORY);
    } else {
        assert_int_equal(written, KHAL_OUT_OF_MEMORY);
    }
    hooks->traits->pinned = (uint64_t)1 << 30;
    OK(khal_buffer_write(buffer, 0, data, 10000000));
    OK(khal_buffer_read(buffer, 0, back, 10000000, KHAL_FOREVER));
    assert_memory_equal(back, data, 10000000);
    khal_buffer_release(buffer);
    free(data);
    free(back);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sizes_and_offsets, use),
        cmocka_unit_test_setup(sizes_and_offsets, use_old),
        cmocka_unit_test_setup(zeroed_again, use),
        cmocka_unit_test_setup(small_buffers_share, use),
        cmocka_unit_test_setup(fills, use),
        cmocka_unit_test_setup(copies, use),
        cmocka_unit_test_setup(maps, use),
        cmocka_unit_test_setup(maps, use_old),
        cmocka_unit_test_setup(host_memory, use),
        cmocka_unit_test_setup(host_writes_keep_their_place, use),
        cmocka_unit_test_setup(host_writes_keep_their_place, use_old),
        cmocka_unit_test_setup(reads_pass_by_other_work, use),
        cmocka_unit_test_setup(writes_wait_for_room, use),
        cmocka_unit_test_setup(memory_runs_out, use),
        cmocka_unit_test_setup(pinned_memory_runs_out, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
