/* The CUDA backend's memory and staging, below the front, over the stand-in: what the driver is asked, what is kept and given
 * back, and what copies do while the device is held up. */
#include "cuda/harness.h"

#include "backends/cuda/cu.h"

#include <pthread.h>

#define MIB ((uint64_t)1 << 20)

static khal_device* front;
static cu_device* device;

static int open_it(void** state)
{
    (void)state;
    if (!load_driver(STANDIN) || try_open(&front) != KHAL_OK)
        return -1;
    device = cu_device_of(front);
    set_kernels();
    hooks->forget();
    return 0;
}

static int close_it(void** state)
{
    (void)state;
    hooks->hold(NULL, false);
    close_device(front);
    return 0;
}

static cu_block take(uint64_t size)
{
    cu_block block = {0};
    assert_int_equal(cu_memory_take(device, size, &block), CUDA_SUCCESS);
    assert_int_equal(block.size, size);
    assert_int_equal(block.address % 256, 0);
    return block;
}

/* ---- device memory ----------------------------------------------------------------------------- */

static int by_address(const void* a, const void* b)
{
    const cu_block *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void blocks_do_not_overlap(void** state)
{
    (void)state;
    enum { COUNT = 3000 };
    static cu_block blocks[COUNT];
    uint32_t random = 1;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < COUNT; ++i) {
            random = random * 1664525u + 1013904223u;
            const uint64_t size = i < 260 ? (uint64_t)i * 256 + (random & 1) : 1 + (random >> 8) % (i % 10 == 0 ? 200000 : 9000);
            blocks[i] = take(size > 0 ? size : 1);
        }
        qsort(blocks, COUNT, sizeof blocks[0], by_address);
        for (int i = 1; i < COUNT; ++i)
            assert_true(blocks[i - 1].address + blocks[i - 1].size <= blocks[i].address);
        for (int i = 0; i < COUNT; ++i) {
            assert_non_null(hooks->at(blocks[i].address, (size_t)blocks[i].size));
            cu_memory_give(device, &blocks[i]);
            assert_int_equal(blocks[i].address, 0);
        }
    }
}

static void small_blocks_ask_no_driver(void** state)
{
    (void)state;
    for (uint64_t size = 1; size <= 64 << 10; size *= 2) {
        cu_block first = take(size);
        cu_memory_give(device, &first);
        hooks->forget();
        for (int i = 0; i < 1000; ++i) {
            cu_block block = take(size);
            cu_memory_give(device, &block);
        }
        assert_int_equal(hooks->calls(NULL), 0);
    }
}

static void empty_slabs_are_given_back(void** state)
{
    (void)state;
    enum { COUNT = 4000 };
    static cu_block blocks[COUNT];
    const uint64_t before = hooks->memory_used();
    for (int i = 0; i < COUNT; ++i)
        blocks[i] = take(4096);
    const uint64_t full = hooks->memory_used();
    assert_true(full - before >= COUNT * 4096 && full - before <= COUNT * 4096 + 2 * MIB);
    assert_true(hooks->calls("MemAlloc") < 20);
    for (int i = 0; i < COUNT; ++i)
        cu_memory_give(device, &blocks[(i * 7) % COUNT]);
    assert_true(hooks->memory_used() - before <= 2 * MIB);
}

static void large_blocks_are_kept_within_bounds(void** state)
{
    (void)state;
    enum { COUNT = 200 };
    static cu_block blocks[COUNT];
    const uint64_t before = hooks->memory_used();
    cu_block first = take(MIB);
    cu_memory_give(device, &first);
    hooks->forget();
    for (int i = 0; i < 1000; ++i) {
        cu_block block = take(MIB - (uint64_t)(i % 100));
        cu_memory_give(device, &block);
    }
    assert_int_equal(hooks->calls(NULL), 0);
    for (int i = 0; i < COUNT; ++i)
        blocks[i] = take(MIB);
    for (int i = 0; i < COUNT; ++i)
        cu_memory_give(device, &blocks[i]);
    assert_true(hooks->memory_used() - before <= 64 * MIB); /* a 16th */
    cu_block large = take(300 * MIB);                       /* more than is ever kept */
    cu_memory_give(device, &large);
    assert_true(hooks->memory_used() - before <= 64 * MIB);
}

static void what_is_kept_is_given_back_when_memory_runs_out(void** state)
{
    (void)state;
    enum { COUNT = 60 };
    static cu_block blocks[COUNT];
    for (int i = 0; i < COUNT; ++i)
        blocks[i] = take(MIB);
    for (int i = 0; i < COUNT; ++i)
        cu_memory_give(device, &blocks[i]);
    cu_block large = take(1000 * MIB), other;
    assert_int_equal(cu_memory_take(device, 1000 * MIB, &other), CUDA_ERROR_OUT_OF_MEMORY);
    cu_block small = take(MIB);
    cu_memory_give(device, &small);
    cu_memory_give(device, &large);
}

/* The driver waits for the device when memory is freed: while it is at work, more is kept. */
static void nothing_is_freed_under_work(void** state)
{
    (void)state;
    enum { COUNT = 100 };
    static cu_block blocks[COUNT];
    for (int i = 0; i < COUNT; ++i)
        blocks[i] = take(MIB);
    cu_block target = take(256);
    hooks->hold(device->stream, true);
    assert_int_equal(cu_staging_write(device, target.address, "abcd", 4, device->stream), CUDA_SUCCESS);
    hooks->forget();
    for (int i = 1; i < COUNT; ++i)
        cu_memory_give(device, &blocks[i]);
    assert_int_equal(hooks->calls("MemFree"), 0);
    hooks->hold(device->stream, false);
    assert_int_equal(cu_staging_drain(device, device->stream, UINT64_MAX), CUDA_SUCCESS);
    cu_memory_give(device, &blocks[0]);
    assert_true(hooks->calls("MemFree") >= 36);
    cu_memory_give(device, &target);
}

static void* take_and_give(void* user)
{
    uint32_t random = *(uint32_t*)user;
    cu_block held[16] = {{0}};
    for (int i = 0; i < 3000; ++i) {
        random = random * 1664525u + 1013904223u;
        cu_block* block = &held[random >> 28];
        if (block->address != 0) {
            char* bytes = hooks->at(block->address, (size_t)block->size);
            if (bytes == NULL || memcmp(bytes, &block, sizeof(void*)) != 0)
                return user;
            cu_memory_give(device, block);
            continue;
        }
        const uint64_t size = 8 + (random >> 4) % ((random >> 27 & 1) != 0 ? 300000 : 5000);
        if (cu_memory_take(device, size, block) != CUDA_SUCCESS)
            return user;
        memcpy(hooks->at(block->address, 8), &block, sizeof(void*)); /* whose it is */
    }
    for (int i = 0; i < 16; ++i)
        cu_memory_give(device, &held[i]);
    return NULL;
}

static void memory_from_many_threads(void** state)
{
    (void)state;
    pthread_t threads[4];
    uint32_t seeds[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &seeds[i]), 0);
    for (int i = 0; i < 4; ++i) {
        void* failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

/* ---- host memory ------------------------------------------------------------------------------- */

static void pinned_memory_is_used_again(void** state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 4096, 4097, 100000, 3 * MIB, 20 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        cu_pinned* pinned = cu_pinned_take(device, sizes[i]);
        assert_non_null(pinned);
        assert_true(pinned->size >= sizes[i]);
        memset(pinned->host, 1, (size_t)pinned->size);
        cu_pinned_give(device, pinned);
        hooks->forget();
        cu_pinned* again = cu_pinned_take(device, sizes[i]);
        assert_ptr_equal(again, pinned);
        assert_int_equal(hooks->calls(NULL), 0);
        cu_pinned_give(device, again);
    }
    hooks->fail_call("MemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY); /* what is kept goes, and the next try works */
    cu_pinned* other = cu_pinned_take(device, 50 * MIB);
    assert_non_null(other);
    assert_true(hooks->calls("MemFreeHost") >= 4);
    cu_pinned_give(device, other);
}

static void registered_pages_are_shared(void** state)
{
    (void)state;
    char* pages = khal__pages_map(8 * 4096);
    CUdeviceptr a = 0, b = 0, c = 0;
    assert_int_equal(cu_host_register(device, pages + 16, 3 * 4096, &a), CUDA_SUCCESS); /* pages 0 to 3 */
    assert_int_equal(cu_host_register(device, pages + 4096 + 32, 64, &b), CUDA_SUCCESS);
    assert_int_equal(hooks->calls("MemHostRegister"), 1);
    assert_int_equal(b - a, 4096 + 16);
    strcpy(pages + 4096 + 32, "here");
    assert_string_equal(hooks->at(b, 5), "here");
    cu_host_unregister(device, pages + 16, 3 * 4096);
    assert_int_equal(hooks->calls("MemHostUnregister"), 0);
    /* Where two pieces are not one for the device, it is refused, and nothing of it is left. */
    assert_int_equal(cu_host_register(device, pages + 3 * 4096, 2 * 4096, &c), CUDA_ERROR_INVALID_VALUE);
    cu_host_unregister(device, pages + 4096 + 32, 64);
    assert_int_equal(hooks->calls("MemHostUnregister"), hooks->calls("MemHostRegister"));
    hooks->fail_call("MemHostRegister", 1, CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(cu_host_register(device, pages, 4096, &a), CUDA_ERROR_NOT_PERMITTED);
    khal__pages_unmap(pages, 8 * 4096);
}

/* ---- staging ----------------------------------------------------------------------------------- */

typedef struct writer {
    CUdeviceptr to;
    uint32_t count;
    atomic_uint done;
    CUresult result;
} writer;

static void* write_words(void* user)
{
    writer* w = user;
    for (uint32_t i = 0; i < w->count && w->result == CUDA_SUCCESS; ++i) {
        w->result = cu_staging_write(device, w->to + 4 * (uint64_t)i, &i, 4, device->stream);
        atomic_fetch_add(&w->done, 1);
    }
    return NULL;
}

/* More writes than the ring has room for, while the device does nothing: the writer waits, and none is lost. */
static void the_ring_wraps(void** state)
{
    (void)state;
    writer w = {.count = 60000};
    cu_block block = take(4 * (uint64_t)w.count);
    pthread_t thread;
    w.to = block.address;
    hooks->hold(device->stream, true);
    assert_int_equal(pthread_create(&thread, NULL, write_words, &w), 0);
    unsigned before;
    do {
        before = atomic_load(&w.done);
        for (const uint64_t since = khal__clock_now(); khal__clock_now() - since < 100000000;)
            khal__thread_yield();
    } while (atomic_load(&w.done) != before || before == 0);
    assert_true(before >= 1000 && before < w.count);
    hooks->hold(device->stream, false);
    pthread_join(thread, NULL);
    assert_int_equal(w.result, CUDA_SUCCESS);
    uint32_t* words = malloc(4 * (size_t)w.count);
    assert_non_null(words);
    OK(cu_staging_read(device, block.address, words, 4 * (uint64_t)w.count, device->stream, UINT64_MAX));
    for (uint32_t i = 0; i < w.count; ++i)
        assert_int_equal(words[i], i);
    free(words);
    cu_memory_give(device, &block);
}

/* Also those that are too long for a slot; what lies behind is left alone. */
static void writes_of_every_size(void** state)
{
    (void)state;
    static char bytes[200000], back[sizeof bytes + 1];
    for (size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = (char)(i * 31 + i / 251);
    cu_block block = take(sizeof bytes);
    for (size_t size = 1; size <= sizeof bytes; size += 1 + size / 7) {
        memset(back, 0, sizeof back);
        const char* from = bytes + (sizeof bytes - size) % 5;
        assert_int_equal(cu_staging_write(device, block.address, from, size, device->stream), CUDA_SUCCESS);
        OK(cu_staging_read(device, block.address, back, size, device->stream, UINT64_MAX));
        assert_memory_equal(back, from, size);
        assert_int_equal(back[size], 0);
    }
    cu_memory_give(device, &block);
}

/* A read that comes too late leaves its target alone, now and when the device goes on; its slot is used again. */
static void late_reads_touch_nothing(void** state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    char *data = malloc(SIZE), *out = malloc(SIZE);
    assert_true(data != NULL && out != NULL);
    memset(data, 7, SIZE);
    cu_block block = take(SIZE);
    assert_int_equal(cu_staging_write(device, block.address, data, SIZE, device->stream), CUDA_SUCCESS);
    for (int round = 0; round < 20; ++round) {
        const uint64_t size = round % 2 == 0 ? 4 : SIZE;
        memset(out, 1, SIZE);
        hooks->hold(device->stream, true);
        const uint64_t begin = khal__clock_now();
        assert_int_equal(cu_staging_read(device, block.address, out, size, device->stream, begin + 2000000), KHAL_TIMEOUT);
        assert_true(khal__clock_now() - begin >= 2000000);
        assert_int_equal(cu_staging_read(device, block.address, out, size, device->stream, begin), KHAL_TIMEOUT);
        hooks->hold(device->stream, false);
        assert_int_equal(cu_staging_drain(device, device->stream, UINT64_MAX), CUDA_SUCCESS);
        for (size_t i = 0; i < SIZE; ++i)
            assert_int_equal(out[i], 1);
        OK(cu_staging_read(device, block.address, out, size, device->stream, UINT64_MAX));
        assert_memory_equal(out, data, (size_t)size);
    }
    free(data);
    free(out);
    cu_memory_give(device, &block);
}

typedef struct mover {
    uint32_t seed;
    const char* what;
} mover;

/* Transfers of all sizes, there and back. */
static void* move(void* user)
{
    mover* m = user;
    const uint64_t size = 5 * MIB + 1001 * m->seed;
    unsigned char *bytes = malloc((size_t)size), *back = malloc((size_t)size);
    cu_block block = {0};
    if (bytes == NULL || back == NULL || cu_memory_take(device, size, &block) != CUDA_SUCCESS) {
        m->what = "no memory";
        return NULL;
    }
    for (uint32_t round = 0; round < 4 && m->what == NULL; ++round) {
        const uint64_t offset = (m->seed * 13 + round * 101) % 997, length = round == 0 ? 70000 : size - offset - round;
        for (uint64_t i = 0; i < length; ++i)
            bytes[i] = (unsigned char)((i * (m->seed + 2) + i / 8191 + round) & 255);
        memset(back, 0, (size_t)size);
        CUstream stream = m->seed % 2 == 0 ? device->stream : device->side;
        if (cu_staging_write(device, block.address + offset, bytes, length, stream) != CUDA_SUCCESS)
            m->what = "a write failed";
        else if (cu_staging_read(device, block.address + offset, back, length, stream, UINT64_MAX) != KHAL_OK)
            m->what = "a read failed";
        else if (memcmp(bytes, back, (size_t)length) != 0)
            m->what = "the bytes differ";
    }
    cu_memory_give(device, &block);
    free(bytes);
    free(back);
    return NULL;
}

static void transfers_from_many_threads(void** state)
{
    (void)state;
    enum { COUNT = 5 };
    pthread_t threads[COUNT];
    mover movers[COUNT] = {{0}};
    for (uint32_t i = 0; i < COUNT; ++i) {
        movers[i].seed = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, move, &movers[i]), 0);
    }
    for (int i = 0; i < COUNT; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; ++i)
        assert_null(movers[i].what);
}

static void failures_of_a_transfer_are_told(void** state)
{
    (void)state;
    enum { SIZE = 8 << 20 };
    static const char* const functions[] = {"MemcpyHtoDAsync", "MemcpyDtoHAsync", "EventRecord"};
    char* bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    cu_block block = take(SIZE);
    for (int i = 0; i < 3; ++i)
        for (unsigned nth = 1; nth <= 5; nth += 2) {
            hooks->fail_call(functions[i], nth, CUDA_ERROR_INVALID_HANDLE);
            const bool is_read = i == 1;
            if (is_read)
                FAILS(DRIVER, cu_staging_read(device, block.address, bytes, SIZE, device->stream, UINT64_MAX));
            else
                assert_int_equal(cu_staging_write(device, block.address, bytes, SIZE, device->stream),
                                 CUDA_ERROR_INVALID_HANDLE);
            assert_int_equal(cu_staging_write(device, block.address, bytes, SIZE, device->stream), CUDA_SUCCESS);
            OK(cu_staging_read(device, block.address, bytes, SIZE, device->stream, UINT64_MAX));
        }
    free(bytes);
    cu_memory_give(device, &block);
}

/* ---- what reads wait for ----------------------------------------------------------------------- */

static atomic_bool is_shut;

static int at_the_gate(void* user, const standin_launch* launch)
{
    (void)launch;
    atomic_store((atomic_bool*)user, true);
    while (atomic_load(&is_shut))
        khal__thread_yield();
    return 0;
}

/* A kernel that runs until `is_shut` is false, on that buffer. */
static void run_at_the_gate(khal_function* order, khal_buffer* buffer)
{
    static atomic_bool is_there;
    khal_encoder* encoder = make_encoder(front);
    atomic_store(&is_there, false);
    atomic_store(&is_shut, true);
    hooks->kernel("order", at_the_gate, &is_there);
    record(encoder, order, khal_threads(1, 1, 1), 1, (khal_slice[]){khal_slice_all(buffer)}, 4, &(uint32_t){1});
    OK(khal_submit(encoder, NULL));
    khal_encoder_release(encoder);
    while (!atomic_load(&is_there))
        khal__thread_yield();
}

/* Work that runs keeps no read waiting that has nothing to do with it, but for writes behind it. */
static void reads_wait_for_uploads_alone(void** state)
{
    (void)state;
    khal_function* order = get_function(front, "order");
    khal_buffer *a = new_buffer(front, 64, NULL), *b = new_buffer(front, 64, NULL), *c = new_buffer(front, 64, NULL);
    OK(khal_buffer_write(a, 0, "abcd", 4)); /* no one has seen that it is done */
    run_at_the_gate(order, b);
    hooks->forget();
    char word[4] = "none";
    OK(khal_buffer_read(a, 0, word, 4, KHAL_FOREVER));
    assert_memory_equal(word, "abcd", 4);
    OK(khal_buffer_read(c, 0, word, 4, 0)); /* zeroes, that were never written */
    assert_memory_equal(word, "\0\0\0", 4);
    assert_int_equal(hooks->calls("MemcpyDtoHAsync"), 1);
    OK(khal_buffer_write(a, 2, "xy", 2));
    memcpy(word, "none", 4);
    FAILS(TIMEOUT, khal_buffer_read(a, 0, word, 4, 2000000));
    assert_memory_equal(word, "none", 4);
    atomic_store(&is_shut, false);
    OK(khal_buffer_read(a, 0, word, 4, KHAL_FOREVER));
    assert_memory_equal(word, "abxy", 4);
    OK(khal_buffer_read(a, 1, word, 1, 0)); /* what is done takes no time */
    assert_int_equal(word[0], 'b');
    khal_function_release(order);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_buffer_release(c);
}

/* Whoever has the stream may put work of its own there, which reads come after. */
static void reads_follow_the_program_s_own_work(void** state)
{
    (void)state;
    khal_buffer* a = new_buffer(front, 64, NULL);
    khal_cuda_handles handles;
    uint64_t address = 0;
    char word[4] = "none";
    OK(khal_buffer_write(a, 0, "abcd", 4));
    OK(khal_buffer_read(a, 0, word, 4, KHAL_FOREVER));
    OK(khal_cuda_device_get_handles(front, &handles));
    OK(khal_cuda_buffer_get_address(a, &address));
    hooks->hold(handles.stream, true);
    assert_int_equal(driver.CtxPushCurrent(handles.context), CUDA_SUCCESS);
    assert_int_equal(driver.MemsetD8Async(address + 1, 'z', 2, handles.stream), CUDA_SUCCESS);
    CUcontext popped;
    assert_int_equal(driver.CtxPopCurrent(&popped), CUDA_SUCCESS);
    memcpy(word, "none", 4);
    FAILS(TIMEOUT, khal_buffer_read(a, 0, word, 4, 2000000));
    FAILS(TIMEOUT, khal_buffer_read(a, 0, word, 4, 0));
    assert_memory_equal(word, "none", 4);
    hooks->hold(handles.stream, false);
    OK(khal_buffer_read(a, 0, word, 4, KHAL_FOREVER));
    assert_memory_equal(word, "azzd", 4);
    assert_int_equal(cu_staging_drain(device, device->stream, UINT64_MAX), CUDA_SUCCESS);
    OK(khal_buffer_read(a, 0, word, 4, 0));
    khal_buffer_release(a);
}

/* Bytes that look like those that a slot holds before a read. */
static void reads_of_any_bytes(void** state)
{
    (void)state;
    static const uint32_t values[] = {0xa5c35ac3, 0xa5c35a00, 0xc3, 0, 0xffffffff, 0xa5c35ac2};
    cu_block block = take(4);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i)
        for (uint64_t size = 1; size <= 4; ++size) {
            uint32_t back = 0, wanted = 0;
            assert_int_equal(cu_staging_write(device, block.address, &values[i], 4, device->stream), CUDA_SUCCESS);
            OK(cu_staging_read(device, block.address, &back, size, device->stream, UINT64_MAX));
            memcpy(&wanted, &values[i], (size_t)size);
            assert_int_equal(back, wanted);
        }
    cu_memory_give(device, &block);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_it, close_it)
    const struct CMUnitTest tests[] = {
        TEST(blocks_do_not_overlap),
        TEST(small_blocks_ask_no_driver),
        TEST(empty_slabs_are_given_back),
        TEST(large_blocks_are_kept_within_bounds),
        TEST(what_is_kept_is_given_back_when_memory_runs_out),
        TEST(nothing_is_freed_under_work),
        TEST(memory_from_many_threads),
        TEST(pinned_memory_is_used_again),
        TEST(registered_pages_are_shared),
        TEST(the_ring_wraps),
        TEST(writes_of_every_size),
        TEST(late_reads_touch_nothing),
        TEST(transfers_from_many_threads),
        TEST(failures_of_a_transfer_are_told),
        TEST(reads_wait_for_uploads_alone),
        TEST(reads_follow_the_program_s_own_work),
        TEST(reads_of_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
