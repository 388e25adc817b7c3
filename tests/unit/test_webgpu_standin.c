/* The WebGPU backend over a library that fails when it is told to. Each test is a process of its own, in which the environment
 * and the library start anew. */
#include "front.h"

#include "backends/webgpu/wg_api.h"
#include "platform/platform.h"
#include "webgpu/standin.h"

#include <khal/interop/webgpu.h>

static standin_control* control;

static khal_status try_open(khal_device** out_device)
{
    return khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_WEBGPU}, out_device);
}

static int use(void** state)
{
    (void)state;
    setenv("KHAL_WEBGPU_LIBRARY", STANDIN, 1);
    unsetenv("KHAL_BACKEND");
    unsetenv("KHAL_DEVICE");
    void* library = khal__library_open(STANDIN);
    control = library != NULL ? khal__library_symbol(library, "standin") : NULL;
    if (control == NULL)
        return -1;
    memset(control, 0, sizeof *control);
    control->error = STANDIN_VALIDATION;
    control->message = "the stand-in fails";
    /* an opened device takes the list of adapters that was kept */
    khal_device* device = NULL;
    if (try_open(&device) != KHAL_OK)
        return -1;
    khal_device_release(device);
    return 0;
}

static khal_device* open_device(void)
{
    khal_device* device = NULL;
    OK(try_open(&device));
    return device;
}

static const char* reason(void)
{
    static khal_device_info infos[16];
    uint32_t count = 0;
    OK(khal_device_enumerate(16, infos, &count));
    for (uint32_t i = 0; i < count; ++i)
        if (infos[i].backend == KHAL_BACKEND_WEBGPU)
            return infos[i].available ? "" : infos[i].reason;
    return "not listed";
}

/* ---- libraries --------------------------------------------------------------------------------- */

static void no_library(void** state)
{
    (void)state;
    khal_device* device = NULL;
    setenv("KHAL_WEBGPU_LIBRARY", "/nowhere/libwebgpu.so", 1);
    assert_non_null(strstr(reason(), "/nowhere/libwebgpu.so"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    assert_null(device);
}

static void no_webgpu_library(void** state)
{
    (void)state;
    khal_device* device = NULL;
    setenv("KHAL_WEBGPU_LIBRARY", NO_WEBGPU, 1);
    assert_non_null(strstr(reason(), "no WebGPU library"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
}

static void a_missing_function_is_named(void** state)
{
    (void)state;
    khal_device* device = NULL;
    setenv("KHAL_WEBGPU_LIBRARY", STANDIN_LACKING, 1);
    assert_non_null(strstr(reason(), "wgpuQuerySetDestroy"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    setenv("KHAL_WEBGPU_LIBRARY", STANDIN, 1);
    khal_device_release(open_device());
}

static void no_instance(void** state)
{
    (void)state;
    khal_device* device = NULL;
    control->no_instance = true;
    assert_non_null(strstr(reason(), "no instance"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
    control->no_instance = false;
    assert_string_equal(reason(), "");
}

/* A driver that runs on the processor is no better than the processor. */
static void chosen_unasked(void** state)
{
    (void)state;
    for (int is_gpu = 0; is_gpu < 2; ++is_gpu) {
        khal_device* device = NULL;
        control->is_gpu = is_gpu;
        assert_string_equal(reason(), "");
        OK(khal_device_open(NULL, &device));
        assert_int_equal(khal_device_get_info(device)->backend, is_gpu ? KHAL_BACKEND_WEBGPU : KHAL_BACKEND_CPU);
        khal_device_release(device);
    }
}

static void no_adapter(void** state)
{
    (void)state;
    khal_device* device = NULL;
    control->no_adapter = true;
    assert_non_null(strstr(reason(), "no adapter today"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
}

static void no_device(void** state)
{
    (void)state;
    khal_device* device = NULL;
    control->no_device = true;
    FAILS(DRIVER, try_open(&device));
    control->no_device = false;
    khal_device_release(open_device());
}

static void no_limits(void** state)
{
    (void)state;
    khal_device* device = NULL;
    control->no_limits = true;
    assert_non_null(strstr(reason(), "limits"));
    FAILS(BACKEND_UNAVAILABLE, try_open(&device));
}

static void every_first_step_may_fail(void** state)
{
    (void)state;
    /* the unhappy ways out of opening give everything back */
    for (unsigned step = 1; step < 40; ++step) {
        khal_device* device = NULL;
        control->buffer = step;
        control->error = step % 2 == 0 ? STANDIN_OUT_OF_MEMORY : STANDIN_INTERNAL;
        if (try_open(&device) == KHAL_OK) {
            control->buffer = 0;
            khal_device_release(device);
            return;
        }
        assert_int_equal(khal_error_get()->id, step % 2 == 0 ? KHAL_ERROR_OUT_OF_MEMORY : KHAL_ERROR_DRIVER);
        assert_non_null(strstr(khal_error_get()->message, "the stand-in fails"));
        control->buffer = 0;
    }
    fail_msg("opening makes more buffers than expected");
}

/* ---- work -------------------------------------------------------------------------------------- */

static void memory_works(void** state)
{
    (void)state;
    khal_device* device = open_device();
    const unsigned live = control->live;
    unsigned char bytes[100], back[100];
    for (unsigned i = 0; i < sizeof bytes; ++i)
        bytes[i] = (unsigned char)(i + 1);
    khal_buffer *a = NULL, *b = NULL, *empty = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 100, .data = bytes}, &a));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 100}, &b));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 0}, &empty));
    OK(khal_buffer_read(a, 0, back, 100, KHAL_FOREVER));
    assert_memory_equal(bytes, back, 100);
    OK(khal_buffer_read(a, 3, back, 1, 0));
    assert_int_equal(back[0], 4);
    OK(khal_buffer_write(a, 8, bytes, 16));
    OK(khal_buffer_read(a, 7, back, 18, KHAL_FOREVER));
    assert_int_equal(back[0], 8);
    assert_memory_equal(back + 1, bytes, 16);
    assert_int_equal(back[17], 25);

    khal_encoder* encoder = NULL;
    khal_ticket ticket = 0;
    OK(khal_encoder_create(device, NULL, &encoder));
    OK(khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)));
    OK(khal_submit(encoder, &ticket));
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    OK(khal_buffer_read(b, 96, back, 4, KHAL_FOREVER));
    assert_memory_equal(back, bytes + 96, 4);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_buffer_release(empty);
    assert_true(control->live <= live + 2); /* the staging buffers are kept */
    khal_device_release(device);
    assert_int_equal(control->live, 0);
}

static void failed_buffers(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = NULL;
    control->buffer = 1;
    control->error = STANDIN_OUT_OF_MEMORY;
    FAILS(OUT_OF_MEMORY, khal_buffer_create(device, &(khal_buffer_desc){.size = 4096}, &buffer));
    control->buffer = 1;
    control->error = STANDIN_INTERNAL;
    FAILS(DRIVER, khal_buffer_create(device, &(khal_buffer_desc){.size = 4096}, &buffer));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    char byte = 1;
    control->map = 1;
    FAILS(DRIVER, khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER));
    assert_int_equal(byte, 1);
    OK(khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER));
    assert_int_equal(byte, 0);
    control->write = 1;
    FAILS(DRIVER, khal_buffer_write(buffer, 0, "word", 4));
    OK(khal_buffer_write(buffer, 0, "word", 4));
    control->finish = 1;
    FAILS(DRIVER, khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER));
    khal_buffer_release(buffer);
    khal_device_release(device);
    assert_int_equal(control->live, 0);
    assert_int_equal(control->submits_of_invalid, 0);
}

static void reads_time_out(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = NULL;
    khal_encoder* encoder = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    OK(khal_encoder_create(device, NULL, &encoder));
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\0", 1));
    control->stalls = UINT32_MAX;
    OK(khal_submit(encoder, NULL));
    char bytes[4] = "abc";
    FAILS(TIMEOUT, khal_buffer_read(buffer, 0, bytes, 4, 1000000));
    FAILS(TIMEOUT, khal_buffer_read(buffer, 0, bytes, 4, 0));
    assert_string_equal(bytes, "abc");
    FAILS(TIMEOUT, khal_ticket_wait(device, 1, 1000000));
    assert_int_equal(khal_ticket_poll(device, 1), KHAL_NOT_READY);
    control->stalls = 0;
    OK(khal_ticket_wait(device, 1, KHAL_FOREVER));
    OK(khal_buffer_read(buffer, 0, bytes, 4, KHAL_FOREVER));
    assert_int_equal(bytes[0], 0);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_device_release(device);
    assert_int_equal(control->live, 0);
}

static khal_status fill(khal_device* device, khal_buffer* buffer, khal_ticket* out_ticket)
{
    khal_encoder* encoder = NULL;
    OK(khal_encoder_create(device, NULL, &encoder));
    OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\0", 1));
    const khal_status status = khal_submit(encoder, out_ticket);
    khal_encoder_release(encoder);
    return status;
}

/* What the library refuses is never submitted, gives no ticket and leaves the device as it was. */
static void refused_commands(void** state)
{
    (void)state;
    for (int late = 0; late < 2; ++late) {
        control->late_errors = late != 0;
        khal_device* device = open_device();
        khal_buffer* buffer = NULL;
        khal_ticket ticket = 0;
        OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
        OK(fill(device, buffer, &ticket));
        unsigned* const counters[] = {&control->encoder, &control->finish, &control->submit};
        for (size_t i = 0; i < 3; ++i) {
            const unsigned submits = control->submits;
            *counters[i] = 1;
            FAILS(DRIVER, fill(device, buffer, NULL));
            assert_int_equal(control->submits - submits, i == 2 ? 1 : 0);
        }
        control->finish = 1;
        control->error = STANDIN_OUT_OF_MEMORY;
        FAILS(OUT_OF_MEMORY, fill(device, buffer, NULL));
        control->error = STANDIN_VALIDATION;
        khal_ticket next = 0;
        OK(fill(device, buffer, &next));
        assert_int_equal(next, ticket + 1);
        OK(khal_ticket_wait(device, next, KHAL_FOREVER));
        khal_buffer_release(buffer);
        khal_device_release(device);
        assert_int_equal(control->live, 0);
        assert_int_equal(control->submits_of_invalid, 0);
    }
}

/* A finished command buffer that is not submitted is leaked by one library: none is made before its submit. */
static void dropped_encoders(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    const unsigned finished = control->finished;
    for (int i = 0; i < 1000; ++i) {
        khal_encoder* encoder = NULL;
        OK(khal_encoder_create(device, NULL, &encoder));
        OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\0", 1));
        khal_encoder_release(encoder);
    }
    assert_int_equal(control->finished, finished);
    khal_buffer_release(buffer);
    khal_device_release(device);
}

/* ---- loss -------------------------------------------------------------------------------------- */

static void lost_while_recording(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    control->loses_finish = true;
    FAILS(DEVICE_LOST, fill(device, buffer, NULL));
    char byte = 0;
    FAILS(DEVICE_LOST, khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER));
    assert_int_equal(khal_device_get_status(device), KHAL_DEVICE_LOST);
    assert_non_null(strstr(khal_error_get()->message, "unplugged"));
    FAILS(DEVICE_LOST, khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    khal_buffer_release(buffer);
    khal_device_release(device);
    assert_int_equal(control->submits_of_invalid, 0);
    assert_int_equal(control->live, 0);
}

static void lost_while_waiting(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = NULL;
    khal_webgpu_handles handles;
    khal_ticket ticket = 0;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    OK(khal_webgpu_device_get_handles(device, &handles));
    control->stalls = UINT32_MAX;
    OK(fill(device, buffer, &ticket));
    assert_int_equal(khal_ticket_poll(device, ticket), KHAL_NOT_READY);
    void* library = khal__library_open(STANDIN);
    void (*destroy)(WGPUDevice);
    void* symbol = khal__library_symbol(library, "wgpuDeviceDestroy");
    memcpy(&destroy, &symbol, sizeof destroy);
    destroy(handles.device);
    FAILS(DEVICE_LOST, khal_ticket_wait(device, ticket, KHAL_FOREVER));
    khal_encoder* encoder = NULL;
    FAILS(DEVICE_LOST, khal_encoder_create(device, NULL, &encoder));
    control->stalls = 0;
    khal_buffer_release(buffer);
    khal_device_release(device);
    assert_int_equal(control->submits_of_invalid, 0);
}

/* ---- native callbacks -------------------------------------------------------------------------- */

typedef struct called {
    atomic_int count;
    khal_status answer;
    void* handle;
} called;

static khal_status on_native(void* user, const khal_native* native)
{
    called* c = user;
    assert_int_equal(native->backend, KHAL_BACKEND_WEBGPU);
    c->handle = native->handle;
    atomic_fetch_add(&c->count, 1);
    return c->answer;
}

static void native_callbacks(void** state)
{
    (void)state;
    khal_device* device = open_device();
    khal_buffer* buffer = NULL;
    khal_encoder* encoder = NULL;
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    OK(khal_encoder_create(device, NULL, &encoder));
    called c = {.answer = KHAL_OK};
    const khal_native_desc desc = {.call = on_native, .user = &c};
    khal_ticket tickets[3];
    for (int i = 0; i < 3; ++i) {
        c.answer = KHAL_OK;
        OK(khal_encoder_fill(encoder, khal_slice_all(buffer), "\0", 1));
        OK(khal_encoder_native(encoder, &desc));
        OK(khal_submit(encoder, &tickets[i]));
        OK(fill(device, buffer, NULL));
        OK(khal_buffer_write(buffer, 0, "after it", 8));
        char back[9] = "";
        OK(khal_buffer_read(buffer, 0, back, 8, KHAL_FOREVER));
        assert_string_equal(back, "after it");
        assert_int_equal(atomic_load(&c.count), i + 1);
        assert_non_null(c.handle);
    }
    OK(khal_device_wait(device, KHAL_FOREVER));
    c.answer = KHAL_TIMEOUT;
    khal_ticket ticket = 0;
    OK(khal_encoder_native(encoder, &desc));
    OK(khal_submit(encoder, &ticket));
    FAILS(NATIVE_FAILED, khal_ticket_wait(device, ticket, KHAL_FOREVER));
    OK(fill(device, buffer, &ticket));
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
    control->finish = 1;
    c.answer = KHAL_OK;
    OK(khal_encoder_native(encoder, &desc));
    OK(khal_submit(encoder, &ticket));
    FAILS(DRIVER, khal_ticket_wait(device, ticket, KHAL_FOREVER));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_device_release(device);
    assert_int_equal(control->live, 0);
    assert_int_equal(control->submits_of_invalid, 0);
}

/* ---- interop ----------------------------------------------------------------------------------- */

static void* find(void* user, const char* name)
{
    return khal__library_symbol(user, name);
}

static void wrapped(void** state)
{
    (void)state;
    khal_device *own = open_device(), *device = NULL;
    khal_webgpu_handles handles;
    OK(khal_webgpu_device_get_handles(own, &handles));
    assert_non_null(handles.instance);
    assert_non_null(handles.adapter);
    khal_webgpu_device_desc desc = {
        .handles = handles, .get_function = find, .user = khal__library_open(STANDIN)};
    control->late_errors = true;
    OK(khal_webgpu_device_wrap(&desc, &(khal_device_desc){.label = "wrapped"}, &device));
    khal_webgpu_handles again;
    OK(khal_webgpu_device_get_handles(device, &again));
    assert_ptr_equal(again.device, handles.device);
    assert_string_equal(khal_device_get_info(device)->name, "stand-in");

    khal_buffer *a = NULL, *b = NULL;
    void* handle = NULL;
    OK(khal_buffer_create(own, &(khal_buffer_desc){.size = 64, .data = "0123456789012345678901234567890123456789012345678901234567890123"}, &a));
    OK(khal_webgpu_buffer_get_handle(a, &handle));
    FAILS(BUFFER_RANGE, khal_webgpu_buffer_wrap(device, handle, &(khal_buffer_desc){.size = 68}, &b));
    FAILS(BUFFER_RANGE, khal_webgpu_buffer_wrap(device, handle, &(khal_buffer_desc){.size = 3}, &b));
    FAILS(BUFFER_DATA, khal_webgpu_buffer_wrap(device, handle, &(khal_buffer_desc){.size = 4, .data = "1234"}, &b));
    FAILS(ARGUMENT_NULL, khal_webgpu_buffer_wrap(device, NULL, &(khal_buffer_desc){.size = 4}, &b));
    OK(khal_webgpu_buffer_wrap(device, handle, &(khal_buffer_desc){.size = 32}, &b));
    char back[33] = "";
    OK(khal_buffer_read(b, 0, back, 32, KHAL_FOREVER));
    assert_string_equal(back, "01234567890123456789012345678901");
    control->finish = 1;
    FAILS(DRIVER, khal_buffer_read(b, 0, back, 32, KHAL_FOREVER));
    khal_buffer_release(a);
    OK(khal_buffer_write(b, 0, "abcd", 4));
    OK(khal_buffer_read(b, 0, back, 4, KHAL_FOREVER));
    assert_memory_equal(back, "abcd", 4);
    khal_buffer_release(b);
    khal_device_release(device);
    khal_device_release(own);
    assert_int_equal(control->live, 0);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define HAS_LEAK_SANITIZER
#endif
#endif
static void ignore_leaks(bool ignore)
{
#ifdef HAS_LEAK_SANITIZER
    if (ignore)
        __lsan_disable();
    else
        __lsan_enable();
#else
    (void)ignore;
#endif
}

/* Callbacks that are owed come after the wrapped device is closed: their records stay, for good. */
static void wrapped_and_lost(void** state)
{
    (void)state;
    khal_device *own = open_device(), *device = NULL;
    khal_webgpu_device_desc desc = {0};
    khal_buffer* buffer = NULL;
    char byte = 0;
    OK(khal_webgpu_device_get_handles(own, &desc.handles));
    ignore_leaks(true);
    OK(khal_webgpu_device_wrap(&desc, NULL, &device));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    control->stalls = UINT32_MAX;
    OK(fill(device, buffer, NULL));
    FAILS(TIMEOUT, khal_buffer_read(buffer, 0, &byte, 1, 1000000));
    control->finish = 1;
    control->message = "the device is lost";
    FAILS(DEVICE_LOST, fill(device, buffer, NULL));
    khal_buffer_release(buffer);
    khal_device_release(device);
    ignore_leaks(false);
    control->stalls = 0;
    OK(khal_buffer_create(own, &(khal_buffer_desc){.size = 64}, &buffer));
    OK(khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER));
    khal_buffer_release(buffer);
    khal_device_release(own);
}

static void wrapping_refused(void** state)
{
    (void)state;
    khal_device *own = open_device(), *device = NULL, *cpu = NULL;
    khal_webgpu_device_desc desc = {0};
    void* handle = NULL;
    khal_buffer* buffer = NULL;
    FAILS(ARGUMENT_NULL, khal_webgpu_device_wrap(NULL, NULL, &device));
    FAILS(ARGUMENT_NULL, khal_webgpu_device_wrap(&desc, NULL, &device));
    OK(khal_webgpu_device_get_handles(own, &desc.handles));
    FAILS(ARGUMENT_NULL, khal_webgpu_device_wrap(&desc, NULL, NULL));
    desc.library = "/nowhere/libwebgpu.so";
    FAILS(BACKEND_UNAVAILABLE, khal_webgpu_device_wrap(&desc, NULL, &device));
    desc.library = NULL;
    desc.handles.instance = NULL;
    FAILS(ARGUMENT_NULL, khal_webgpu_device_wrap(&desc, NULL, &device));
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &cpu));
    FAILS(UNSUPPORTED, khal_webgpu_device_get_handles(cpu, &desc.handles));
    OK(khal_buffer_create(cpu, &(khal_buffer_desc){.size = 4}, &buffer));
    FAILS(UNSUPPORTED, khal_webgpu_buffer_get_handle(buffer, &handle));
    FAILS(UNSUPPORTED, khal_webgpu_buffer_wrap(cpu, own, &(khal_buffer_desc){.size = 4}, &buffer));
    khal_buffer_release(buffer);
    khal_device_release(cpu);
    khal_device_release(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_library, use),
        cmocka_unit_test_setup(no_webgpu_library, use),
        cmocka_unit_test_setup(a_missing_function_is_named, use),
        cmocka_unit_test_setup(no_instance, use),
        cmocka_unit_test_setup(chosen_unasked, use),
        cmocka_unit_test_setup(no_adapter, use),
        cmocka_unit_test_setup(no_device, use),
        cmocka_unit_test_setup(no_limits, use),
        cmocka_unit_test_setup(every_first_step_may_fail, use),
        cmocka_unit_test_setup(memory_works, use),
        cmocka_unit_test_setup(failed_buffers, use),
        cmocka_unit_test_setup(reads_time_out, use),
        cmocka_unit_test_setup(refused_commands, use),
        cmocka_unit_test_setup(dropped_encoders, use),
        cmocka_unit_test_setup(lost_while_recording, use),
        cmocka_unit_test_setup(lost_while_waiting, use),
        cmocka_unit_test_setup(native_callbacks, use),
        cmocka_unit_test_setup(wrapped, use),
        cmocka_unit_test_setup(wrapped_and_lost, use),
        cmocka_unit_test_setup(wrapping_refused, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
