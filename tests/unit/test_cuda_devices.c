/* The CUDA backend over a driver that checks how it is called: drivers, devices, contexts, wrapping, native callbacks. */
#include "cuda/harness.h"

#include <pthread.h>

static int use(void** state)
{
    (void)state;
    return use_driver(STANDIN);
}

/* ---- drivers ----------------------------------------------------------------------------------- */

static int use_nothing(void** state)
{
    (void)state;
    return load_driver(STANDIN_OLD) ? 0 : -1;
}

static void a_driver_that_does_not_start(void** state)
{
    (void)state;
    khal_device* device = NULL;
    hooks->traits->init_result = CUDA_ERROR_NO_DEVICE;
    assert_non_null(strstr(cuda_reason(), "no CUDA-capable device"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    assert_null(device);
    hooks->traits->init_result = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    assert_non_null(strstr(cuda_reason(), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"));
    hooks->traits->init_result = CUDA_SUCCESS;
    hooks->traits->device_count = 0;
    assert_string_not_equal(cuda_reason(), "");
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    hooks->traits->device_count = 1;
    assert_string_equal(cuda_reason(), "");
    check_clean();
}

static void no_library(void** state)
{
    (void)state;
    khal_device* device = NULL;
    setenv("KHAL_CUDA_LIBRARY", "/nowhere/libcuda.so", 1);
    assert_non_null(strstr(cuda_reason(), "/nowhere/libcuda.so"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    setenv("KHAL_CUDA_LIBRARY", NO_CUDA, 1);
    assert_non_null(strstr(cuda_reason(), "no CUDA driver"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    setenv("KHAL_CUDA_LIBRARY", STANDIN_LACKING, 1);
    assert_non_null(strstr(cuda_reason(), "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    setenv("KHAL_CUDA_LIBRARY", STANDIN, 1);
    close_device(open_device());
}

/* ---- devices ----------------------------------------------------------------------------------- */

static void a_device_is_described(void** state)
{
    (void)state;
    khal_device* device = open_device();
    const khal_device_info* info = khal_device_get_info(device);
    assert_string_equal(info->name, "Stand-in");
    assert_non_null(strstr(info->driver, "12.4"));
    assert_int_equal(info->backend, KHAL_BACKEND_CUDA);
    assert_int_equal(info->type, KHAL_DEVICE_TYPE_DISCRETE);
    assert_int_equal(info->memory_size, (uint64_t)1 << 30);
    assert_int_equal(info->formats, 1u << KHAL_FORMAT_PTX | 1u << KHAL_FORMAT_CUBIN);
    const uint32_t wanted = KHAL_FEATURE_TIMESTAMPS | KHAL_FEATURE_FP64 | KHAL_FEATURE_INT64 | KHAL_FEATURE_INT64_ATOMICS |
                            KHAL_FEATURE_HOST_MEMORY | KHAL_FEATURE_NATIVE_ENCODER;
    assert_int_equal(info->features & wanted, wanted);
    assert_int_equal(info->limits.workgroup_invocations, 1024);
    assert_int_equal(info->limits.workgroup_size[2], 64);
    assert_int_equal(info->limits.local_memory_size, 232448);
    assert_true(info->limits.push_constant_size >= 128);
    assert_true(info->limits.group_count[1] >= UINT32_MAX);
    close_device(device);
}

static void chosen_unasked(void** state)
{
    (void)state;
    khal_device* device = NULL;
    OK(khal_device_open(NULL, &device));
    assert_int_equal(khal_device_get_info(device)->backend, KHAL_BACKEND_CUDA);
    close_device(device);
}

static void devices_by_name(void** state)
{
    (void)state;
    khal_device *first = open_device(), *second = NULL;
    hooks->traits->device_count = 2;
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA, .name = "second"}, &second));
    assert_string_equal(khal_device_get_info(second)->name, "Stand-in the second");
    khal_buffer *a = new_buffer(first, 100, NULL), *b = new_buffer(second, 100, NULL);
    OK(khal_buffer_write(a, 0, "from one to the other", 22));
    OK(khal_copy_between(khal_slice_all(a), khal_slice_all(b), KHAL_FOREVER));
    char text[22] = "";
    OK(khal_buffer_read(b, 0, text, 22, KHAL_FOREVER));
    assert_string_equal(text, "from one to the other");
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_device_release(second);
    close_device(first);
}

static void two_devices_of_one(void** state)
{
    (void)state;
    khal_device *a = open_device(), *b = open_device();
    khal_buffer* buffer = new_buffer(b, 4, "abc");
    khal_device_release(a);
    assert_int_equal(read_word(buffer, 0), 'a' | 'b' << 8 | 'c' << 16);
    khal_buffer_release(buffer);
    close_device(b);
}

static void a_prohibited_device(void** state)
{
    (void)state;
    khal_device* device = NULL;
    hooks->traits->compute_mode = CU_COMPUTEMODE_PROHIBITED;
    assert_string_not_equal(cuda_reason(), "");
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    check_clean();
}

static void every_step_of_opening_may_fail(void** state)
{
    (void)state;
    for (unsigned step = 1; step < 200; ++step) {
        khal_device* device = NULL;
        const bool is_memory = step % 2 == 0;
        hooks->fail_call(NULL, step, is_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN);
        const khal_status status = try_open(&device);
        const char* failed = hooks->failed();
        if (status == KHAL_OK)
            khal_device_release(device);
        else if (is_memory)
            assert_int_equal(khal_error_get()->status, KHAL_OUT_OF_MEMORY);
        check_clean();
        if (failed == NULL) {
            assert_int_equal(status, KHAL_OK);
            assert_true(step > 3);
            return;
        }
    }
    fail_msg("opening takes more calls than expected");
}

/* ---- contexts ---------------------------------------------------------------------------------- */

/* One thread of four: with a context of its own, or none. cmocka's checks are for the first thread alone. */
typedef struct worker {
    khal_device* device;
    khal_function* add;
    void* context;
    const char* wrong;
} worker;

static bool step_works(worker* w, const char* what, khal_status status)
{
    if (w->wrong == NULL && status != KHAL_OK)
        w->wrong = what;
    if (w->wrong == NULL && (hooks->current() != w->context || hooks->depth() != (w->context != NULL)))
        w->wrong = "another context is current";
    return w->wrong == NULL;
}
#define STEP(call) step_works(w, #call, call)

static void work(worker* w, uint32_t turn)
{
    khal_buffer *a = NULL, *b = NULL, *read = NULL;
    khal_encoder* encoder = NULL;
    khal_pass* pass = NULL;
    khal_commands* commands = NULL;
    khal_ticket ticket = 0;
    uint32_t numbers[64], n = 64;
    void* mapped = NULL;
    for (uint32_t i = 0; i < 64; ++i)
        numbers[i] = i + turn;
    STEP(khal_buffer_create(w->device, &(khal_buffer_desc){.size = 256, .data = numbers}, &a));
    STEP(khal_buffer_create(w->device, &(khal_buffer_desc){.size = 256}, &b));
    STEP(khal_buffer_create(w->device, &(khal_buffer_desc){.size = 256, .usage = 0xff}, &read));
    STEP(khal_encoder_create(w->device, NULL, &encoder));
    STEP(khal_pass_begin(encoder, NULL, &pass));
    STEP(khal_pass_dispatch(pass,
                            &(khal_dispatch_desc){.function = w->add, .grid = khal_threads(64, 1, 1),
                                                  .bindings = (khal_slice[]){khal_slice_all(b), khal_slice_all(a)},
                                                  .binding_count = 2, .push_constants = &n, .push_constant_size = 4},
                            NULL));
    STEP(khal_pass_end(pass));
    STEP(khal_encoder_copy(encoder, khal_slice_all(b), khal_slice_all(read)));
    STEP(khal_encoder_finish(encoder, &commands));
    for (int i = 0; i < 3; ++i)
        STEP(khal_commands_submit(commands, &ticket));
    STEP(khal_ticket_wait(w->device, ticket, KHAL_FOREVER));
    STEP(khal_buffer_map(read, 0, 256, KHAL_MAP_READ, KHAL_FOREVER, &mapped));
    if (w->wrong == NULL && ((uint32_t*)mapped)[63] != 3 * (63 + turn))
        w->wrong = "the sum is wrong";
    STEP(khal_buffer_unmap(read));
    STEP(khal_buffer_write(a, 0, numbers, 4));
    khal_commands_release(commands);
    khal_encoder_release(encoder);
    khal_buffer_release(read);
    khal_buffer_release(a);
    khal_buffer_release(b);
    STEP(KHAL_OK);
}

static void* run_worker(void* user)
{
    worker* w = user;
    if (w->context != NULL && driver.CtxPushCurrent(w->context) != CUDA_SUCCESS)
        w->wrong = "its context";
    for (uint32_t turn = 0; turn < 20 && w->wrong == NULL; ++turn)
        work(w, turn);
    if (w->context != NULL && driver.CtxPopCurrent(NULL) != CUDA_SUCCESS)
        w->wrong = "its context, at the end";
    return NULL;
}

static void contexts_stay_current(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_cuda_handles handles;
    OK(khal_cuda_device_get_handles(device, &handles));
    khal_function* add = get_function(device, "add");
    void* const contexts[4] = {NULL, hooks->context_create(0), handles.context, NULL};
    pthread_t threads[4];
    worker workers[4];
    for (int i = 0; i < 4; ++i) {
        workers[i] = (worker){.device = device, .add = add, .context = contexts[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
    }
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; ++i)
        if (workers[i].wrong != NULL)
            fail_msg("thread %d: %s", i, workers[i].wrong);
    khal_function_release(add);
    close_device(device);
}

/* ---- wrapping ---------------------------------------------------------------------------------- */

static void wrapped(void** state)
{
    (void)state;
    CUstream stream;
    CUdeviceptr memory = 0;
    khal_device* device = NULL;
    khal_buffer *buffer = NULL, *other = NULL;
    khal_cuda_handles handles;
    uint64_t address = 0;
    GIVES(CUDA_SUCCESS, driver.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    GIVES(CUDA_SUCCESS, driver.MemAlloc(&memory, 1024));
    OK(khal_cuda_device_wrap(&(khal_cuda_device_desc){.context = foreign, .stream = stream},
                             NULL, &device));
    OK(khal_cuda_device_get_handles(device, &handles));
    assert_ptr_equal(handles.context, foreign);
    assert_ptr_equal(handles.stream, stream);
    assert_int_equal(handles.device, 0);

    /* the program's work, khal's, and the program's again are in order */
    OK(khal_cuda_buffer_wrap(device, memory + 256, &(khal_buffer_desc){.size = 512}, &buffer));
    OK(khal_cuda_buffer_get_address(buffer, &address));
    assert_int_equal(address, memory + 256);
    hooks->hold(stream, true);
    GIVES(CUDA_SUCCESS, driver.MemsetD32Async(memory, 5, 256, stream));
    khal_function* pair = get_function(device, "pair");
    khal_encoder* encoder = make_encoder(device);
    record(encoder, pair, khal_threads(1, 1, 1), 2, (khal_slice[]){bytes(buffer, 0, 4), bytes(buffer, 4, 4)}, 4,
           &(uint32_t){2});
    OK(khal_submit(encoder, NULL));
    OK(khal_buffer_write(buffer, 8, "\1\0\0", 4));
    uint32_t* pinned = NULL;
    GIVES(CUDA_SUCCESS, driver.MemHostAlloc((void**)&pinned, 1024, 0));
    GIVES(CUDA_SUCCESS, driver.MemcpyDtoHAsync(pinned, memory, 1024, stream));
    hooks->hold(stream, false);
    GIVES(CUDA_SUCCESS, driver.StreamSynchronize(stream));
    assert_int_equal(pinned[63], 5);
    assert_int_equal(pinned[64], 7);
    assert_int_equal(pinned[65], 5);
    assert_int_equal(pinned[66], 1);
    assert_int_equal(read_word(buffer, 0), 7);

    /* what the program writes after khal's work is what a read gives */
    GIVES(CUDA_SUCCESS, driver.MemsetD32Async(memory + 256, 9, 1, stream));
    assert_int_equal(read_word(buffer, 0), 9);

    FAILS(BUFFER_RANGE, khal_cuda_buffer_wrap(device, memory + 256, &(khal_buffer_desc){.size = 1024}, &other));
    FAILS(BUFFER_RANGE, khal_cuda_buffer_wrap(device, 4096, &(khal_buffer_desc){.size = 16}, &other));
    FAILS(SLICE_ALIGNMENT, khal_cuda_buffer_wrap(device, memory + 4, &(khal_buffer_desc){.size = 16}, &other));
    khal_buffer_release(buffer);
    khal_function_release(pair);
    khal_encoder_release(encoder);
    khal_device_release(device);
    GIVES(CUDA_SUCCESS, driver.MemFreeHost(pinned));
    GIVES(CUDA_SUCCESS, driver.MemFree(memory));
    GIVES(CUDA_SUCCESS, driver.StreamDestroy(stream));
    check_clean();
}

/* Without a stream khal makes its own; the context is the program's, from a thread that has none current too. */
static void* wrap_elsewhere(void* user)
{
    khal_device* device = NULL;
    khal_buffer* buffer = NULL;
    uint32_t word = 0;
    if (khal_cuda_device_wrap(&(khal_cuda_device_desc){.context = foreign}, NULL, &device) ==
            KHAL_OK &&
        khal_buffer_create(device, &(khal_buffer_desc){.size = 4, .data = "abc"}, &buffer) == KHAL_OK &&
        khal_buffer_read(buffer, 0, &word, 4, KHAL_FOREVER) == KHAL_OK && hooks->depth() == 0)
        *(uint32_t*)user = word;
    khal_buffer_release(buffer);
    khal_device_release(device);
    return NULL;
}

static void wrapped_without_a_stream(void** state)
{
    (void)state;
    pthread_t thread;
    uint32_t word = 0;
    assert_int_equal(pthread_create(&thread, NULL, wrap_elsewhere, &word), 0);
    pthread_join(thread, NULL);
    assert_int_equal(word, 'a' | 'b' << 8 | 'c' << 16);
    check_clean();
}

static void wrapping_refused(void** state)
{
    (void)state;
    khal_device *device = NULL, *cpu = NULL;
    khal_cuda_handles handles;
    khal_buffer* buffer = NULL;
    uint64_t address = 0;
    CUstream stream;
    void* other = hooks->context_create(0);
    FAILS(ARGUMENT_NULL, khal_cuda_device_wrap(NULL, NULL, &device));
    FAILS(ARGUMENT_NULL, khal_cuda_device_wrap(&(khal_cuda_device_desc){NULL, NULL}, NULL, &device));
    FAILS(ARGUMENT_NULL, khal_cuda_device_wrap(&(khal_cuda_device_desc){foreign, NULL}, NULL, NULL));
    int no_context = 0;
    FAILS(DEVICE_NOT_FOUND, khal_cuda_device_wrap(&(khal_cuda_device_desc){&no_context, NULL}, NULL, &device));
    GIVES(CUDA_SUCCESS, driver.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    FAILS(DEVICE_NOT_FOUND, khal_cuda_device_wrap(&(khal_cuda_device_desc){other, stream}, NULL, &device));
    GIVES(CUDA_SUCCESS, driver.StreamDestroy(stream));
    setenv("KHAL_CUDA_LIBRARY", "/nowhere/libcuda.so", 1);
    FAILS(BACKEND_UNAVAILABLE, khal_cuda_device_wrap(&(khal_cuda_device_desc){foreign, NULL}, NULL, &device));
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &cpu));
    FAILS(UNSUPPORTED, khal_cuda_device_get_handles(cpu, &handles));
    OK(khal_buffer_create(cpu, &(khal_buffer_desc){.size = 4}, &buffer));
    FAILS(UNSUPPORTED, khal_cuda_buffer_get_address(buffer, &address));
    khal_buffer_release(buffer);
    FAILS(UNSUPPORTED, khal_cuda_buffer_wrap(cpu, 128, &(khal_buffer_desc){.size = 4}, &buffer));
    khal_device_release(cpu);
    hooks->context_destroy(other);
    check_clean();
}

/* ---- native callbacks -------------------------------------------------------------------------- */

typedef struct native_call {
    khal_cuda_handles handles;
    CUdeviceptr to;
    unsigned calls;
    bool is_right, fails;
} native_call;

static khal_status fill_natively(void* user, const khal_native* native)
{
    native_call* call = user;
    ++call->calls;
    call->is_right = native->backend == KHAL_BACKEND_CUDA && native->handle == call->handles.stream &&
                     hooks->current() == call->handles.context;
    if (call->fails)
        return KHAL_INVALID_STATE;
    return driver.MemsetD32Async(call->to, 20, 1, native->handle) == CUDA_SUCCESS ? KHAL_OK : KHAL_DRIVER_ERROR;
}

static void native_callbacks(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_encoder* encoder = make_encoder(device);
    native_call call = {.calls = 0};
    khal_ticket ticket = 0;
    OK(khal_cuda_device_get_handles(device, &call.handles));
    OK(khal_cuda_buffer_get_address(buffer, &call.to));
    const khal_slice slice = khal_slice_all(buffer);
    record(encoder, order, khal_threads(1, 1, 1), 1, &slice, 4, &(uint32_t){1});
    OK(khal_encoder_native(encoder, &(khal_native_desc){.call = fill_natively, .user = &call, .writes = &slice, .write_count = 1}));
    record(encoder, order, khal_threads(1, 1, 1), 1, &slice, 4, &(uint32_t){3});
    OK(khal_submit(encoder, NULL));
    /* what is submitted behind a callback comes after it */
    record(encoder, order, khal_threads(1, 1, 1), 1, &slice, 4, &(uint32_t){4});
    OK(khal_submit(encoder, NULL));
    OK(khal_device_wait(device, KHAL_FOREVER));
    assert_int_equal(call.calls, 1);
    assert_true(call.is_right);
    assert_int_equal(read_word(buffer, 0), 2034);

    call.fails = true;
    OK(khal_encoder_native(encoder, &(khal_native_desc){.call = fill_natively, .user = &call, .writes = &slice, .write_count = 1}));
    OK(khal_submit(encoder, &ticket));
    FAILS(NATIVE_FAILED, khal_ticket_wait(device, ticket, KHAL_FOREVER));
    assert_int_equal(call.calls, 2);
    assert_int_equal(read_word(buffer, 0), 2034);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(order);
    close_device(device);
}

/* ---- loss -------------------------------------------------------------------------------------- */

static unsigned losses;
static char loss_message[1024];
static void on_diagnostic(void* user, const khal_error* error)
{
    (void)user;
    if (error->id == KHAL_ERROR_DEVICE_LOST && losses++ == 0)
        snprintf(loss_message, sizeof loss_message, "%s", error->message);
}

static int break_it(void* user, const standin_launch* launch)
{
    (void)user;
    (void)launch;
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* A kernel that ends badly loses the device, with the driver's words; releasing works. */
static void lost_by_a_kernel(void** state)
{
    (void)state;
    khal_device* device = NULL;
    losses = 0;
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA, .diagnostic = on_diagnostic}, &device));
    khal_function* tally = get_function(device, "tally");
    khal_buffer *buffer = new_buffer(device, 64, NULL), *other = NULL;
    khal_encoder* encoder = make_encoder(device);
    khal_ticket ticket = 0;
    char byte = 0;
    OK(khal_device_wait(device, KHAL_FOREVER));
    hooks->kernel("tally", break_it, NULL);
    record(encoder, tally, khal_threads(64, 1, 1), 1, (khal_slice[]){khal_slice_all(buffer)}, 0, NULL);
    hooks->hold(NULL, true);
    OK(khal_submit(encoder, &ticket));
    hooks->hold(NULL, false);
    FAILS(DEVICE_LOST, khal_ticket_wait(device, ticket, KHAL_FOREVER));
    FAILS(DEVICE_LOST, khal_device_get_status(device));
    FAILS(DEVICE_LOST, khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER));
    FAILS(DEVICE_LOST, khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &other));
    FAILS(DEVICE_LOST, khal_buffer_write(buffer, 0, "a", 1));
    assert_true(losses > 0);
    assert_non_null(strstr(loss_message, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_function_release(tally);
    close_device(device);

    /* the next device is none the worse */
    set_kernels();
    device = open_device();
    buffer = new_buffer(device, 4, "abc");
    assert_int_equal(read_word(buffer, 0), 'a' | 'b' << 8 | 'c' << 16);
    khal_buffer_release(buffer);
    close_device(device);
}

/* Whoever waits hears of it, also with work that is still held up. */
static void* wait_for_it(void* user)
{
    khal_device* device = user;
    const khal_status status = khal_device_wait(device, KHAL_FOREVER);
    return status == KHAL_DEVICE_LOST && hooks->depth() == 0 ? user : NULL;
}

static void lost_while_waiting(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = new_buffer(device, 64, NULL);
    khal_encoder* encoder = make_encoder(device);
    pthread_t threads[3];
    hooks->hold(NULL, true);
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\1", 1));
    OK(khal_submit(encoder, NULL));
    for (int i = 0; i < 3; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, device), 0);
    FAILS(TIMEOUT, khal_device_wait(device, 20000000));
    hooks->stick(CUDA_ERROR_LAUNCH_FAILED);
    for (int i = 0; i < 3; ++i) {
        void* result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, device);
    }
    FAILS(DEVICE_LOST, khal_device_get_status(device));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_driver_that_does_not_start, use_nothing), /* the first: a driver starts once */
        cmocka_unit_test_setup(no_library, use),
        cmocka_unit_test_setup(a_device_is_described, use),
        cmocka_unit_test_setup(chosen_unasked, use),
        cmocka_unit_test_setup(devices_by_name, use),
        cmocka_unit_test_setup(two_devices_of_one, use),
        cmocka_unit_test_setup(a_prohibited_device, use),
        cmocka_unit_test_setup(every_step_of_opening_may_fail, use),
        cmocka_unit_test_setup(contexts_stay_current, use),
        cmocka_unit_test_setup(wrapped, use),
        cmocka_unit_test_setup(wrapped_without_a_stream, use),
        cmocka_unit_test_setup(wrapping_refused, use),
        cmocka_unit_test_setup(native_callbacks, use),
        cmocka_unit_test_setup(lost_by_a_kernel, use),
        cmocka_unit_test_setup(lost_while_waiting, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
