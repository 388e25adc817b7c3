/* Every diagnostic there is, triggered by what it is for. The last test looks that none is left
 * out. */
#include "front.h"
#include "spirv_words.h"

#include <khal/interop/cuda.h>

/* What the devices of this program can't be made to say, with the reason. An entry that is seen
 * after all fails. */
static const struct {
    khal_error_id id;
    const char* reason;
} elsewhere[] = {
    {KHAL_ERROR_BINDING_ALIAS,
     "only for backends whose API forbids a written and another binding of one buffer: WebGPU"},
};

static khal_device *device, *other;
static khal_buffer *buffer, *foreign, *plain; /* of device; of other; of device, COPY_SRC alone */
static khal_encoder* encoder;
static khal_function* functions[KERNEL_COUNT];

static int set_up(void** state)
{
    (void)state;
    device = open_noop();
    other = open_noop();
    buffer = make_buffer(device, 1024);
    foreign = make_buffer(other, 1024);
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64, .usage = KHAL_USAGE_COPY_SRC},
                          &plain));
    encoder = make_encoder(device);
    for (int i = 0; i < KERNEL_COUNT; ++i)
        functions[i] = make_function(device, front_kernels[i].name);
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    for (int i = 0; i < KERNEL_COUNT; ++i)
        khal_function_release(functions[i]);
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    khal_buffer_release(foreign);
    khal_buffer_release(plain);
    khal_device_release(device);
    khal_device_release(other);
    return 0;
}

/* ---- any call ----------------------------------------------------------------------------------
 */

static void argument_null(void** state)
{
    (void)state;
    char out[8];
    void* memory;
    uint32_t n;
    khal_slice slice;
    khal_ticket ticket;
    khal_device* d;
    khal_module* m;
    khal_function* f;
    khal_buffer* b;
    khal_encoder* e;
    khal_pass* p;
    khal_commands* c;
    khal_timestamps* t;
    khal_readback* r;
    khal_device_opening* o;
    uint32_t size[3];
    uint64_t groups[3];
    FAILS(ARGUMENT_NULL, khal_device_enumerate(0, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_device_enumerate(1, NULL, &n));
    FAILS(ARGUMENT_NULL, khal_device_open(NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_device_open_begin(NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_device_open_poll(NULL, &d));
    OK(khal_device_open_begin(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}, &o));
    FAILS(ARGUMENT_NULL, khal_device_open_poll(o, NULL));
    khal_device_open_cancel(o);
    FAILS(ARGUMENT_NULL, khal_device_get_status(NULL));
    FAILS(ARGUMENT_NULL, khal_buffer_create(NULL, NULL, &b));
    FAILS(ARGUMENT_NULL, khal_buffer_create(device, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_buffer_write(NULL, 0, out, 1));
    FAILS(ARGUMENT_NULL, khal_buffer_write(buffer, 0, NULL, 1));
    FAILS(ARGUMENT_NULL, khal_buffer_read(NULL, 0, out, 1, 0));
    FAILS(ARGUMENT_NULL, khal_buffer_read(buffer, 0, NULL, 1, 0));
    FAILS(ARGUMENT_NULL, khal_buffer_map(NULL, 0, 1, KHAL_MAP_READ, 0, &memory));
    FAILS(ARGUMENT_NULL, khal_buffer_map(buffer, 0, 1, KHAL_MAP_READ, 0, NULL));
    FAILS(ARGUMENT_NULL, khal_buffer_flush(NULL, 0, 1));
    FAILS(ARGUMENT_NULL, khal_buffer_invalidate(NULL, 0, 1, 0));
    FAILS(ARGUMENT_NULL, khal_buffer_unmap(NULL));
    FAILS(ARGUMENT_NULL, khal_slice_range(buffer, 0, 1, NULL));
    FAILS(ARGUMENT_NULL, khal_slice_sub(khal_slice_all(buffer), 0, 1, NULL));
    FAILS(ARGUMENT_NULL, khal_slice_reinterpret(khal_slice_all(buffer), 4, NULL));
    (void)slice;
    FAILS(ARGUMENT_NULL,
          khal_module_load(NULL, &(khal_module_desc){.library = &front_library}, &m));
    FAILS(ARGUMENT_NULL, khal_module_load(device, NULL, &m));
    FAILS(ARGUMENT_NULL,
          khal_module_load(device, &(khal_module_desc){.library = &front_library}, NULL));
    FAILS(ARGUMENT_NULL, khal_module_load_begin(device, NULL, &m));
    FAILS(ARGUMENT_NULL, khal_module_load_poll(NULL));
    FAILS(ARGUMENT_NULL, khal_function_create(NULL, NULL, &f));
    FAILS(ARGUMENT_NULL, khal_function_create_begin(NULL, NULL, &f));
    FAILS(ARGUMENT_NULL, khal_function_create_poll(NULL));
    m = load_front(device);
    FAILS(ARGUMENT_NULL,
          khal_function_create(m, &(khal_function_desc){.entry_point = "add"}, NULL));
    khal_module_release(m);
    FAILS(ARGUMENT_NULL, khal_encoder_create(NULL, NULL, &e));
    FAILS(ARGUMENT_NULL, khal_encoder_create(device, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_pass_begin(NULL, NULL, &p));
    assert_null(p);
    FAILS(ARGUMENT_NULL, khal_pass_end(NULL));
    FAILS(ARGUMENT_NULL, khal_pass_barrier(NULL));
    FAILS(ARGUMENT_NULL, khal_pass_dispatch(NULL, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_pass_begin(encoder, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_submit(encoder, NULL));
    OK(khal_pass_begin(encoder, NULL, &p));
    FAILS(ARGUMENT_NULL, khal_pass_dispatch(p, NULL, NULL));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &p));
    FAILS(ARGUMENT_NULL, khal_pass_dispatch(p, &(khal_dispatch_desc){.function = NULL}, NULL));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &p));
    FAILS(ARGUMENT_NULL,
          khal_pass_dispatch(
              p, &(khal_dispatch_desc){.function = functions[K_READ], .binding_count = 1}, NULL));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &p));
    FAILS(ARGUMENT_NULL, khal_pass_dispatch(p,
                                            &(khal_dispatch_desc){
                                                .function = functions[K_ADD],
                                                .binding_count = 2,
                                                .bindings = (khal_slice[]){khal_slice_all(buffer),
                                                                           khal_slice_all(buffer)},
                                                .push_constant_size = 4},
                                            NULL));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &p));
    FAILS(ARGUMENT_NULL, khal_pass_dispatch(p,
                                            &(khal_dispatch_desc){
                                                .function = functions[K_LOCAL],
                                                .binding_count = 1,
                                                .bindings = (khal_slice[]){khal_slice_all(buffer)},
                                                .local_count = 2},
                                            NULL));
    khal_encoder_reset(encoder);
    FAILS(ARGUMENT_NULL, khal_encoder_copy(NULL, khal_slice_all(buffer), khal_slice_all(buffer)));
    FAILS(ARGUMENT_NULL, khal_encoder_fill(NULL, khal_slice_all(buffer), out, 1));
    FAILS(ARGUMENT_NULL, khal_encoder_fill(encoder, khal_slice_all(buffer), NULL, 1));
    khal_encoder_reset(encoder);
    FAILS(ARGUMENT_NULL, khal_encoder_native(NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_encoder_native(encoder, NULL));
    khal_encoder_reset(encoder);
    FAILS(ARGUMENT_NULL, khal_submit(NULL, &ticket));
    FAILS(ARGUMENT_NULL, khal_encoder_finish(NULL, &c));
    FAILS(ARGUMENT_NULL, khal_encoder_finish(encoder, NULL));
    FAILS(ARGUMENT_NULL, khal_commands_submit(NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_commands_set_slice(NULL, 0, 0, khal_slice_all(buffer)));
    FAILS(ARGUMENT_NULL, khal_commands_set_push_constants(NULL, 0, 0, out, 1));
    FAILS(ARGUMENT_NULL, khal_ticket_poll(NULL, 0));
    FAILS(ARGUMENT_NULL, khal_ticket_wait(NULL, 0, 0));
    FAILS(ARGUMENT_NULL, khal_device_wait(NULL, 0));
    FAILS(ARGUMENT_NULL, khal_grid_resolve(NULL, khal_threads(1, 1, 1), size, groups));
    FAILS(ARGUMENT_NULL, khal_grid_resolve(functions[K_ADD], khal_threads(1, 1, 1), NULL, groups));
    FAILS(ARGUMENT_NULL, khal_grid_resolve(functions[K_ADD], khal_threads(1, 1, 1), size, NULL));
    FAILS(ARGUMENT_NULL, khal_timestamps_create(NULL, NULL, &t));
    FAILS(ARGUMENT_NULL,
          khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 1}, NULL));
    FAILS(ARGUMENT_NULL, khal_timestamps_reset(NULL));
    FAILS(ARGUMENT_NULL, khal_timestamps_resolve(NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_timestamps_resolve(NULL, encoder));
    khal_encoder_reset(encoder);
    FAILS(ARGUMENT_NULL, khal_timestamps_request_read(NULL));
    FAILS(ARGUMENT_NULL, khal_timestamps_try_take(NULL, 0, NULL, &n, NULL));
    FAILS(ARGUMENT_NULL, khal_timestamps_read(NULL, 0, NULL, &n, NULL, 0));
    FAILS(ARGUMENT_NULL, khal_readback_create(NULL, NULL, &r));
    FAILS(ARGUMENT_NULL, khal_readback_create(device, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_readback_request(NULL, NULL, 0));
    FAILS(ARGUMENT_NULL, khal_readback_request_copy(NULL, NULL, NULL, 0));
    FAILS(ARGUMENT_NULL, khal_readback_request_copy(NULL, encoder, NULL, 0));
    khal_encoder_reset(encoder);
    FAILS(ARGUMENT_NULL, khal_readback_try_take(NULL, NULL, 0));
}

static void argument_value(void** state)
{
    (void)state;
    void* memory;
    uint32_t size[3];
    uint64_t groups[3];
    khal_pass* pass;
    FAILS(ARGUMENT_VALUE, khal_buffer_map(buffer, 0, 1, 0, 0, &memory));
    FAILS(ARGUMENT_VALUE, khal_buffer_map(buffer, 0, 1, 4, 0, &memory));
    FAILS(ARGUMENT_VALUE,
          khal_grid_resolve(functions[K_ADD], khal_indirect(buffer, 0), size, groups));
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(ARGUMENT_VALUE,
          khal_pass_dispatch(
              pass,
              &(khal_dispatch_desc){.function = functions[K_NONE],
                                    .grid = {.kind = (khal_grid_kind)7, .x = 1, .y = 1, .z = 1}},
              NULL));
}

static void out_of_memory_and_driver(void** state)
{
    (void)state;
    char out[4];
    void* memory;
    khal_buffer* made;
    noop_control* control = noop_control_of(device);
    atomic_store(&control->fail[NOOP_BUFFER_CREATE], 1);
    FAILS(OUT_OF_MEMORY, khal_buffer_create(device, &(khal_buffer_desc){.size = 4}, &made));
    OK(khal_buffer_create(device, &(khal_buffer_desc){.size = 4}, &made)); /* it goes on */
    khal_buffer_release(made);
    atomic_store(&control->fail[NOOP_SUBMIT], 1);
    FAILS(DRIVER, khal_submit(encoder, NULL));
    OK(khal_submit(encoder, NULL));
    atomic_store(&control->fail[NOOP_BUFFER_WRITE], 1);
    FAILS(DRIVER, khal_buffer_write(buffer, 0, out, 4));
    atomic_store(&control->fail[NOOP_BUFFER_READ], 1);
    FAILS(DRIVER, khal_buffer_read(buffer, 0, out, 4, 0));
    atomic_store(&control->fail[NOOP_BUFFER_MAP], 1);
    FAILS(DRIVER, khal_buffer_map(buffer, 0, 4, KHAL_MAP_READ | KHAL_MAP_WRITE, 0, &memory));
    OK(khal_buffer_map(buffer, 0, 4, KHAL_MAP_READ | KHAL_MAP_WRITE, 0, &memory));
    atomic_store(&control->fail[NOOP_BUFFER_FLUSH], 1);
    FAILS(DRIVER, khal_buffer_flush(buffer, 0, 4));
    atomic_store(&control->fail[NOOP_BUFFER_INVALIDATE], 1);
    FAILS(DRIVER, khal_buffer_invalidate(buffer, 0, 4, 0));
    assert_int_equal(khal_buffer_invalidate(buffer, 0, 4, 0), KHAL_OK);
    OK(khal_buffer_unmap(buffer));
}

static void device_lost(void** state)
{
    (void)state;
    char out[4];
    void* memory;
    uint32_t n;
    khal_pass* pass;
    khal_buffer* b;
    khal_module* m = load_front(device);
    khal_function* f;
    khal_encoder* e;
    khal_timestamps *timestamps, *t;
    khal_readback *readback, *r;
    khal_commands* commands;
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 1}, &timestamps));
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 4}, &readback));
    OK(khal_encoder_finish(encoder, &commands));
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(khal_device_get_status(device));
    noop_lose(device, "the first cause");
    noop_lose(device, "a later one");
    assert_int_equal(khal_device_get_status(device), KHAL_DEVICE_LOST);
    assert_string_equal(khal_error_get()->message, "the first cause");
    assert_int_equal(khal_error_get()->native_code, 13);
    FAILS(DEVICE_LOST, khal_device_get_status(device));
    FAILS(DEVICE_LOST, khal_buffer_create(device, NULL, &b));
    FAILS(DEVICE_LOST, khal_buffer_write(buffer, 0, out, 1));
    FAILS(DEVICE_LOST, khal_buffer_read(buffer, 0, out, 1, 0));
    FAILS(DEVICE_LOST, khal_buffer_map(buffer, 0, 1, KHAL_MAP_READ, 0, &memory));
    FAILS(DEVICE_LOST, khal_buffer_flush(buffer, 0, 1));
    FAILS(DEVICE_LOST, khal_buffer_invalidate(buffer, 0, 1, 0));
    FAILS(DEVICE_LOST,
          khal_module_load(device, &(khal_module_desc){.library = &front_library}, &m));
    FAILS(DEVICE_LOST, khal_module_load_poll(m));
    FAILS(DEVICE_LOST, khal_function_create(m, NULL, &f));
    FAILS(DEVICE_LOST, khal_function_create_poll(functions[0]));
    FAILS(DEVICE_LOST, khal_encoder_create(device, NULL, &e));
    FAILS(DEVICE_LOST, khal_pass_dispatch(pass,
                                          &(khal_dispatch_desc){.function = functions[K_NONE],
                                                                .grid = khal_threads(1, 1, 1)},
                                          NULL));
    FAILS(DEVICE_LOST, khal_submit(encoder, NULL));
    FAILS(DEVICE_LOST, khal_submit(encoder, NULL));
    FAILS(DEVICE_LOST, khal_encoder_copy(encoder, bytes(buffer, 0, 1), bytes(buffer, 1, 1)));
    FAILS(DEVICE_LOST, khal_commands_submit(commands, NULL));
    FAILS(DEVICE_LOST, khal_commands_set_slice(commands, 0, 0, bytes(buffer, 0, 1)));
    FAILS(DEVICE_LOST, khal_ticket_poll(device, 0));
    FAILS(DEVICE_LOST, khal_ticket_wait(device, 0, 0));
    FAILS(DEVICE_LOST, khal_device_wait(device, 0));
    FAILS(DEVICE_LOST, khal_copy_between(bytes(buffer, 0, 1), bytes(foreign, 0, 1), 0));
    FAILS(DEVICE_LOST, khal_copy_between(bytes(foreign, 0, 1), bytes(buffer, 0, 1), 0));
    FAILS(DEVICE_LOST, khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 1}, &t));
    FAILS(DEVICE_LOST, khal_timestamps_reset(timestamps));
    FAILS(DEVICE_LOST, khal_timestamps_request_read(timestamps));
    FAILS(DEVICE_LOST, khal_timestamps_try_take(timestamps, 0, NULL, &n, NULL));
    FAILS(DEVICE_LOST, khal_readback_create(device, NULL, &r));
    FAILS(DEVICE_LOST, khal_readback_request(readback, NULL, 0));
    FAILS(DEVICE_LOST, khal_readback_try_take(readback, NULL, 0));
    khal_timestamps_release(timestamps);
    khal_readback_release(readback);
    khal_commands_release(commands);
    khal_module_release(m);
}

static void wrong_device(void** state)
{
    (void)state;
    khal_pass* pass;
    khal_timestamps* timestamps;
    khal_readback* readback;
    khal_function* function = make_function(other, "none");
    const uint8_t pattern = 1;
    OK(khal_timestamps_create(other, &(khal_timestamps_desc){.capacity = 1}, &timestamps));
    OK(khal_readback_create(other, &(khal_readback_desc){.capacity_count = 4}, &readback));
    FAILS(WRONG_DEVICE, khal_encoder_copy(encoder, bytes(foreign, 0, 1), bytes(buffer, 0, 1)));
    khal_encoder_reset(encoder);
    FAILS(WRONG_DEVICE, khal_encoder_copy(encoder, bytes(buffer, 0, 1), bytes(foreign, 0, 1)));
    khal_encoder_reset(encoder);
    FAILS(WRONG_DEVICE, khal_encoder_fill(encoder, bytes(foreign, 0, 1), &pattern, 1));
    khal_encoder_reset(encoder);
    FAILS(WRONG_DEVICE,
          khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = timestamps}, &pass));
    khal_encoder_reset(encoder);
    FAILS(WRONG_DEVICE, khal_timestamps_resolve(timestamps, encoder));
    khal_encoder_reset(encoder);
    FAILS(WRONG_DEVICE, khal_readback_request_copy(readback, encoder, NULL, 0));
    khal_encoder_reset(encoder);
    FAILS(WRONG_DEVICE, khal_readback_request(readback, (khal_slice[]){bytes(buffer, 0, 1)}, 1));
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(WRONG_DEVICE,
          khal_pass_dispatch(
              pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(1, 1, 1)},
              NULL));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(WRONG_DEVICE, dispatch(pass, functions[K_READ], 1, (khal_slice[]){bytes(foreign, 0, 4)}));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(WRONG_DEVICE, khal_pass_dispatch(pass,
                                           &(khal_dispatch_desc){.function = functions[K_NONE],
                                                                 .grid = khal_indirect(foreign, 0)},
                                           NULL));
    khal_encoder_reset(encoder);
    khal_function_release(function);
    khal_timestamps_release(timestamps);
    khal_readback_release(readback);
}

static void unsupported(void** state)
{
    (void)state;
    khal_device* little;
    khal_buffer* b;
    khal_encoder* e;
    _Alignas(16) static char memory[64];
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP, .name = "little"},
                        &little));
    FAILS(UNSUPPORTED,
          khal_buffer_create(little, &(khal_buffer_desc){.size = 64, .host_memory = memory}, &b));
    e = make_encoder(little);
    FAILS(UNSUPPORTED,
          khal_encoder_native(e, &(khal_native_desc){.call = (khal_native_fn)(uintptr_t)1}));
    khal_encoder_release(e);
    khal_device_release(little);
}

static void timeout_and_ticket(void** state)
{
    (void)state;
    char out[4];
    void* memory;
    uint32_t n;
    khal_ticket ticket;
    khal_timestamps* timestamps;
    khal_pass* pass;
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 1}, &timestamps));
    noop_hold(device, 0);
    const uint32_t pattern = 1;
    OK(khal_encoder_fill(encoder, bytes(buffer, 0, 64), &pattern, 4));
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = timestamps}, &pass));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, &ticket));
    FAILS(TIMEOUT, khal_ticket_wait(device, ticket, 0));
    FAILS(TIMEOUT, khal_ticket_wait(device, ticket, 1000));
    FAILS(TIMEOUT, khal_device_wait(device, 0));
    FAILS(TIMEOUT, khal_buffer_read(buffer, 0, out, 1, 0));
    FAILS(TIMEOUT, khal_buffer_map(buffer, 0, 1, KHAL_MAP_READ, 0, &memory));
    FAILS(TIMEOUT, khal_copy_between(bytes(buffer, 0, 1), bytes(foreign, 0, 1), 0));
    FAILS(TIMEOUT, khal_timestamps_read(timestamps, 0, NULL, &n, NULL, 0));
    OK(khal_buffer_map(buffer, 64, 64, KHAL_MAP_READ, 0, &memory));
    OK(khal_buffer_unmap(buffer));
    FAILS(TICKET, khal_ticket_poll(device, ticket + 1));
    FAILS(TICKET, khal_ticket_wait(device, UINT64_MAX, 0));
    noop_hold(device, UINT64_MAX);
    OK(khal_ticket_wait(device, ticket, 0));
    khal_timestamps_release(timestamps);
}

static unsigned leaks;
static void count_leaks(void* user, const khal_error* error)
{
    assert_ptr_equal(user, &leaks);
    assert_int_equal(error->id, KHAL_ERROR_LEAK);
    assert_int_equal(error->status, KHAL_OK);
    seen_ids[KHAL_ERROR_LEAK] = true;
    ++leaks;
}

static void leak(void** state)
{
    (void)state;
    khal_device* d = open_noop_with(
        (khal_device_desc){.debug = true, .diagnostic = count_leaks, .diagnostic_user = &leaks});
    khal_buffer* b = make_buffer(d, 16);
    leaks = 0;
    khal_device_release(d);
    assert_int_equal(leaks, 1);
    khal_buffer_release(b);
}

/* ---- devices -----------------------------------------------------------------------------------
 */

static void devices(void** state)
{
    (void)state;
    khal_device* d;
    FAILS(DEVICE_NOT_FOUND,
          khal_device_open(
              &(khal_device_desc){.backend = KHAL_BACKEND_NOOP, .name = "no such device"}, &d));
    FAILS(DEVICE_NOT_FOUND, khal_device_open(&(khal_device_desc){.index = 1000}, &d));
    FAILS(BACKEND_NOT_BUILT,
          khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_METAL}, &d));
    noop_be_missing(true);
    FAILS(BACKEND_UNAVAILABLE,
          khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}, &d));
    noop_be_missing(false);
    setenv("KHAL_BACKEND", "vulcan", 1);
    FAILS(ENVIRONMENT, khal_device_open(NULL, &d));
    unsetenv("KHAL_BACKEND");
    FAILS(DEVICE_DESC, khal_device_open(&(khal_device_desc){.backend = (khal_backend)99}, &d));
    FAILS(DEVICE_DESC, khal_device_open(&(khal_device_desc){.thread_count = 1000000}, &d));
    FAILS(DEVICE_DESC,
          khal_device_open(&(khal_device_desc){.allocator = &(khal_allocator){0}}, &d));
    noop_fail_open(1);
    FAILS(DRIVER, khal_device_open(
                      &(khal_device_desc){.backend = KHAL_BACKEND_NOOP, .name = "little"}, &d));
}

/* ---- buffers and slices ------------------------------------------------------------------------
 */

static void buffers(void** state)
{
    (void)state;
    khal_buffer* b;
    void* memory;
    char data[32];
    FAILS(BUFFER_SIZE, khal_buffer_create(device, &(khal_buffer_desc){.size = UINT64_MAX}, &b));
    FAILS(BUFFER_ELEMENT_SIZE,
          khal_buffer_create(device, &(khal_buffer_desc){.size = 10, .element_size = 4}, &b));
    FAILS(BUFFER_USAGE_FLAGS,
          khal_buffer_create(device, &(khal_buffer_desc){.size = 4, .usage = 0x100}, &b));
    FAILS(BUFFER_DATA,
          khal_buffer_create(
              device, &(khal_buffer_desc){.size = 4, .data = data, .uninitialized = true}, &b));
    FAILS(BUFFER_DATA,
          khal_buffer_create(
              device, &(khal_buffer_desc){.size = 4, .data = data, .host_memory = data}, &b));
    FAILS(BUFFER_HOST_MEMORY,
          khal_buffer_create(
              device, &(khal_buffer_desc){.size = 4, .host_memory = (void*)(uintptr_t)0x1008}, &b));
    FAILS(BUFFER_RANGE, khal_buffer_write(buffer, 1021, data, 4));
    FAILS(BUFFER_RANGE, khal_buffer_read(buffer, 1025, data, 0, 0));
    FAILS(BUFFER_RANGE, khal_buffer_read(buffer, UINT64_MAX, data, UINT64_MAX, 0));
    FAILS(BUFFER_RANGE, khal_buffer_map(buffer, 0, 1025, KHAL_MAP_READ, 0, &memory));
    FAILS(BUFFER_USAGE, khal_buffer_map(plain, 0, 4, KHAL_MAP_READ, 0, &memory));
    FAILS(BUFFER_USAGE, khal_buffer_map(plain, 0, 4, KHAL_MAP_WRITE, 0, &memory));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_unmap(buffer));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_flush(buffer, 0, 1));
    OK(khal_buffer_map(buffer, 16, 16, KHAL_MAP_WRITE, 0, &memory));
    FAILS(BUFFER_MAPPED, khal_buffer_map(buffer, 64, 16, KHAL_MAP_READ, 0, &memory));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_flush(buffer, 15, 2));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_flush(buffer, 31, 2));
    FAILS(BUFFER_NOT_MAPPED, khal_buffer_invalidate(buffer, 16, 1, 0));
    FAILS(BUFFER_RANGE, khal_buffer_flush(buffer, UINT64_MAX, 2));
    OK(khal_buffer_flush(buffer, 16, 16));
    OK(khal_buffer_unmap(buffer));
    FAILS(BUFFER_USAGE, khal_encoder_copy(encoder, bytes(buffer, 0, 4), bytes(plain, 0, 4)));
    khal_encoder_reset(encoder);
    FAILS(BUFFER_USAGE, khal_encoder_fill(encoder, bytes(plain, 0, 4), data, 4));
    khal_encoder_reset(encoder);
    FAILS(BUFFER_USAGE, khal_copy_between(bytes(foreign, 0, 4), bytes(plain, 0, 4), 0));
}

static void slices(void** state)
{
    (void)state;
    khal_slice s;
    FAILS(SLICE_NULL, khal_slice_range(NULL, 0, 1, &s));
    FAILS(SLICE_NULL, khal_slice_reinterpret(khal_slice_all(NULL), 4, &s));
    FAILS(SLICE_RANGE, khal_slice_range(buffer, 0, 1025, &s));
    FAILS(SLICE_RANGE, khal_slice_range(buffer, UINT64_MAX, UINT64_MAX, &s));
    FAILS(SLICE_RANGE, khal_slice_sub(bytes(buffer, 16, 16), 8, 9, &s));
    FAILS(SLICE_RANGE, khal_slice_sub(bytes(buffer, 1024, 1), 0, 0, &s));
    FAILS(SLICE_ELEMENT_SIZE, khal_slice_reinterpret(bytes(buffer, 0, 10), 4, &s));
    FAILS(SLICE_ALIGNMENT, khal_slice_reinterpret(bytes(buffer, 2, 8), 4, &s));
    FAILS(SLICE_NULL, khal_encoder_copy(encoder, khal_slice_all(NULL), khal_slice_all(buffer)));
    khal_encoder_reset(encoder);
    FAILS(SLICE_RANGE, khal_encoder_copy(encoder, bytes(buffer, 1000, 25), bytes(buffer, 0, 25)));
    khal_encoder_reset(encoder);
    FAILS(SLICE_ALIGNMENT,
          khal_encoder_copy(encoder, (khal_slice){buffer, 2, 4, 4}, bytes(buffer, 8, 4)));
    khal_encoder_reset(encoder);
    FAILS(SLICE_ELEMENT_SIZE,
          khal_encoder_copy(encoder, (khal_slice){buffer, 4, 6, 4}, bytes(buffer, 16, 6)));
}

/* ---- modules and functions ---------------------------------------------------------------------
 */

static const uint32_t spirv[] = {
    SPIRV_HEADER(10),
    SPV(EntryPoint, 5, 4, SPIRV_MAIN),
    SPV(ExecutionMode, 4, 17, 8, 4, 2),
    SPV(Decorate, 7, KHAL__DECORATION_SPEC_ID, 42),
    SPV(TypeVoid, 1),
    SPV(TypeFunction, 2, 1),
    SPV(TypeInt, 3, 32, 0),
    SPV(SpecConstant, 3, 7, 1),
    SPV(Function, 1, 4, 0, 2),
    SPV(Label, 5),
    SPV0(Return),
    SPV0(FunctionEnd),
};

static void modules(void** state)
{
    (void)state;
    khal_module* m;
    khal_function* f;
    khal_kernel_library library = front_library;
    static const char nothing[] = "this is no code";
    FAILS(MODULE_DESC, khal_module_load(device, &(khal_module_desc){0}, &m));
    FAILS(MODULE_DESC,
          khal_module_load(device,
                           &(khal_module_desc){
                               .library = &front_library, .code = spirv, .code_size = sizeof spirv},
                           &m));
    FAILS(MODULE_DESC, khal_module_load(device, &(khal_module_desc){.code = spirv}, &m));
    FAILS(MODULE_FORMAT,
          khal_module_load(device,
                           &(khal_module_desc){.code = nothing, .code_size = sizeof nothing}, &m));
    library.version = 99;
    FAILS(MODULE_VERSION, khal_module_load(device, &(khal_module_desc){.library = &library}, &m));
    library.version = KHAL_LIBRARY_VERSION;
    library.code_count = 0;
    FAILS(MODULE_NO_CODE, khal_module_load(device, &(khal_module_desc){.library = &library}, &m));
    library.code_count = 1;
    library.kernels = NULL;
    FAILS(MODULE_MALFORMED, khal_module_load(device, &(khal_module_desc){.library = &library}, &m));
    FAILS(MODULE_MALFORMED,
          khal_module_load(device,
                           &(khal_module_desc){.code = spirv, .code_size = sizeof spirv - 1}, &m));
    noop_control* control = noop_control_of(device);
    atomic_store(&control->fail[NOOP_MODULE_CREATE], 1);
    FAILS(MODULE_COMPILE,
          khal_module_load(device, &(khal_module_desc){.code = spirv, .code_size = sizeof spirv},
                           &m));
    atomic_store(&control->fail[NOOP_MODULE_POLL], 1);
    FAILS(MODULE_COMPILE,
          khal_module_load(device, &(khal_module_desc){.code = spirv, .code_size = sizeof spirv},
                           &m));
    OK(khal_module_load(device, &(khal_module_desc){.code = spirv, .code_size = sizeof spirv}, &m));
    const khal_binding_desc binding = {0};
    khal_function_desc desc = {.bindings = &binding, .binding_count = 1};
    atomic_store(&control->fail[NOOP_FUNCTION_CREATE], 1);
    FAILS(FUNCTION_COMPILE, khal_function_create(m, &desc, &f));
    atomic_store(&control->fail[NOOP_FUNCTION_POLL], 1);
    FAILS(FUNCTION_COMPILE, khal_function_create(m, &desc, &f));
    desc.workgroup_size[1] = 5;
    FAILS(FUNCTION_LAYOUT, khal_function_create(m, &desc, &f));
    desc.workgroup_size[1] = 0;
    desc.entry_point = "other";
    FAILS(ENTRY_POINT, khal_function_create(m, &desc, &f));
    desc.entry_point = "main";
    desc.specializations = &(khal_specialization){41, 4, &desc};
    desc.specialization_count = 1;
    FAILS(SPECIALIZATION, khal_function_create(m, &desc, &f));
    desc.specializations = &(khal_specialization){42, 3, &desc};
    FAILS(SPECIALIZATION, khal_function_create(m, &desc, &f));
    desc.specializations = &(khal_specialization){42, 4, NULL};
    FAILS(SPECIALIZATION, khal_function_create(m, &desc, &f));
    desc.specializations = &(khal_specialization){42, 4, &desc};
    OK(khal_function_create(m, &desc, &f));
    khal_function_release(f);
    desc.push_constant_size = 1u << 20;
    FAILS(FUNCTION_LIMIT, khal_function_create(m, &desc, &f));

    desc.push_constant_size = 0;
    atomic_store(&control->pending_polls, 5);
    OK(khal_function_create_begin(m, &desc, &f));
    khal_pass* pass;
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(NOT_LOADED, dispatch(pass, f, 1, (khal_slice[]){bytes(buffer, 0, 4)}));
    khal_encoder_reset(encoder);
    khal_status status;
    while ((status = khal_function_create_poll(f)) == KHAL_NOT_READY)
        ;
    OK(status);
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(dispatch(pass, f, 1, (khal_slice[]){bytes(buffer, 0, 4)}));
    khal_function_release(f);
    khal_module_release(m);
}

/* ---- recording ---------------------------------------------------------------------------------
 */

static khal_status try_dispatch(khal_dispatch_desc desc)
{
    khal_pass* pass;
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    return khal_pass_dispatch(pass, &desc, NULL);
}

#define SLICES(...)                                                                                \
    .bindings = (khal_slice[]){__VA_ARGS__},                                                       \
    .binding_count = sizeof((khal_slice[]){__VA_ARGS__}) / sizeof(khal_slice)

static void dispatches(void** state)
{
    (void)state;
    const khal_grid grid = khal_threads(64, 1, 1);
    const khal_slice all = khal_slice_all(buffer);
    const uint32_t push = 0;
    FAILS(BINDING_COUNT,
          try_dispatch((khal_dispatch_desc){.function = functions[K_READ], .grid = grid}));
    FAILS(BINDING_COUNT, try_dispatch((khal_dispatch_desc){
                             .function = functions[K_READ], .grid = grid, SLICES(all, all)}));
    FAILS(BINDING_TOO_SMALL,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(bytes(buffer, 0, 3))}));
    FAILS(BINDING_ELEMENT_SIZE,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(bytes(buffer, 0, 6))}));
    FAILS(BINDING_ELEMENT_SIZE,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_STRUCT], .grid = grid, SLICES(bytes(buffer, 0, 16))}));
    OK(try_dispatch((khal_dispatch_desc){
        .function = functions[K_STRUCT], .grid = grid, SLICES(bytes(buffer, 4, 24))}));
    FAILS(BINDING_ALIGNMENT,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(bytes(buffer, 2, 8))}));
    FAILS(SLICE_NULL,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(khal_slice_all(NULL))}));
    FAILS(SLICE_RANGE,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(bytes(buffer, 1024, 4))}));
    FAILS(SLICE_RANGE,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(bytes(buffer, 1028, 0))}));
    FAILS(SLICE_RANGE, try_dispatch((khal_dispatch_desc){
                           .function = functions[K_READ],
                           .grid = grid,
                           SLICES(khal_slice_float_range(buffer, UINT64_MAX, 1).slice)}));
    FAILS(SLICE_RANGE, try_dispatch((khal_dispatch_desc){
                           .function = functions[K_READ],
                           .grid = grid,
                           SLICES(khal_slice_float_range(buffer, 1, UINT64_MAX).slice)}));
    FAILS(SLICE_ALIGNMENT,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES((khal_slice){buffer, 4, 8, 8})}));
    FAILS(BUFFER_USAGE,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ], .grid = grid, SLICES(bytes(plain, 0, 4))}));
    FAILS(PUSH_CONSTANT_SIZE, try_dispatch((khal_dispatch_desc){
                                  .function = functions[K_ADD], .grid = grid, SLICES(all, all)}));
    FAILS(PUSH_CONSTANT_SIZE, try_dispatch((khal_dispatch_desc){.function = functions[K_ADD],
                                                                .grid = grid,
                                                                SLICES(all, all),
                                                                .push_constants = &push,
                                                                .push_constant_size = 8}));
    FAILS(LOCAL_COUNT, try_dispatch((khal_dispatch_desc){.function = functions[K_LOCAL],
                                                         .grid = grid,
                                                         SLICES(all),
                                                         .local_sizes = (uint64_t[]){4},
                                                         .local_count = 1}));
    FAILS(LOCAL_SIZE, try_dispatch((khal_dispatch_desc){.function = functions[K_LOCAL],
                                                        .grid = grid,
                                                        SLICES(all),
                                                        .local_sizes = (uint64_t[]){4, 0},
                                                        .local_count = 2}));
    FAILS(LOCAL_SIZE, try_dispatch((khal_dispatch_desc){.function = functions[K_LOCAL],
                                                        .grid = grid,
                                                        SLICES(all),
                                                        .local_sizes = (uint64_t[]){65000, 281},
                                                        .local_count = 2}));
    FAILS(LOCAL_SIZE, try_dispatch((khal_dispatch_desc){.function = functions[K_LOCAL],
                                                        .grid = grid,
                                                        SLICES(all),
                                                        .local_sizes = (uint64_t[]){4, UINT64_MAX},
                                                        .local_count = 2}));
    OK(try_dispatch((khal_dispatch_desc){.function = functions[K_LOCAL],
                                         .grid = grid,
                                         SLICES(all),
                                         .local_sizes = (uint64_t[]){65000, 280},
                                         .local_count = 2}));
    FAILS(WORKGROUP_SIZE,
          try_dispatch((khal_dispatch_desc){.function = functions[K_FIXED],
                                            .grid = khal_grid_with_workgroup(grid, 8, 8, 1),
                                            SLICES(all)}));
    FAILS(WORKGROUP_LIMIT,
          try_dispatch((khal_dispatch_desc){.function = functions[K_READ],
                                            .grid = khal_grid_with_workgroup(grid, 1025, 1, 1),
                                            SLICES(all)}));
    FAILS(WORKGROUP_LIMIT,
          try_dispatch((khal_dispatch_desc){.function = functions[K_READ],
                                            .grid = khal_grid_with_workgroup(grid, 1024, 2, 1),
                                            SLICES(all)}));
    FAILS(WORKGROUP_LIMIT,
          try_dispatch((khal_dispatch_desc){
              .function = functions[K_READ],
              .grid = khal_grid_with_workgroup(grid, UINT32_MAX, UINT32_MAX, UINT32_MAX),
              SLICES(all)}));
    FAILS(GRID, try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                                  .grid = khal_groups(1u << 31, 1u << 31, 4)}));
    FAILS(GRID, try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                                  .grid = khal_groups(UINT64_MAX, 1, 1)}));
    FAILS(GRID_INDIRECT, try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                                           .grid = khal_indirect(buffer, 2)}));
    FAILS(GRID_INDIRECT, try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                                           .grid = khal_indirect(buffer, 1016)}));
    FAILS(GRID_INDIRECT,
          try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                            .grid = khal_indirect(buffer, UINT64_MAX - 3)}));
    FAILS(ARGUMENT_NULL, try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                                           .grid = khal_indirect(NULL, 0)}));
    FAILS(BUFFER_USAGE, try_dispatch((khal_dispatch_desc){.function = functions[K_NONE],
                                                          .grid = khal_indirect(plain, 0)}));
    OK(try_dispatch(
        (khal_dispatch_desc){.function = functions[K_NONE], .grid = khal_indirect(buffer, 1012)}));
}

static void encoder_state(void** state)
{
    (void)state;
    khal_pass *pass, *second;
    khal_commands* commands;
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(ENCODER_STATE, khal_submit(encoder, NULL));
    FAILS(ENCODER_STATE, khal_encoder_finish(encoder, &commands));
    OK(khal_pass_end(pass)); /* neither has spoilt it */
    OK(khal_submit(encoder, NULL));
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(ENCODER_STATE, khal_pass_begin(encoder, NULL, &second));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    FAILS(ENCODER_STATE, khal_encoder_copy(encoder, bytes(buffer, 0, 4), bytes(buffer, 4, 4)));
    khal_encoder_reset(encoder);
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(khal_pass_end(pass));
    FAILS(PASS_ENDED, khal_pass_end(pass));
    khal_encoder_reset(encoder);
    FAILS(PASS_ENDED, khal_pass_barrier(pass));
    khal_encoder_reset(encoder);
    FAILS(PASS_ENDED, dispatch(pass, functions[K_NONE], 0, NULL));
}

static void copies_and_fills(void** state)
{
    (void)state;
    const uint64_t pattern[2] = {0};
    FAILS(COPY_SIZE, khal_encoder_copy(encoder, bytes(buffer, 0, 4), bytes(buffer, 64, 8)));
    khal_encoder_reset(encoder);
    FAILS(COPY_SIZE, khal_copy_between(bytes(buffer, 0, 4), bytes(foreign, 64, 8), 0));
    FAILS(COPY_OVERLAP, khal_encoder_copy(encoder, bytes(buffer, 0, 64), bytes(buffer, 63, 64)));
    khal_encoder_reset(encoder);
    FAILS(COPY_OVERLAP, khal_encoder_copy(encoder, bytes(buffer, 63, 64), bytes(buffer, 0, 64)));
    khal_encoder_reset(encoder);
    FAILS(COPY_OVERLAP, khal_copy_between(bytes(buffer, 0, 64), bytes(buffer, 0, 64), 0));
    for (uint32_t size = 0; size <= 17; ++size) {
        const bool legal = size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
        if (legal)
            OK(khal_encoder_fill(encoder, bytes(buffer, 0, 64), pattern, size));
        else
            FAILS(FILL_PATTERN, khal_encoder_fill(encoder, bytes(buffer, 0, 64), pattern, size));
        khal_encoder_reset(encoder);
    }
    FAILS(FILL_PATTERN, khal_encoder_fill(encoder, bytes(buffer, 0, 6), pattern, 4));
}

static void commands_(void** state)
{
    (void)state;
    khal_pass* pass;
    khal_commands* commands;
    const uint32_t push = 3;
    OK(khal_pass_begin(encoder, NULL, &pass));
    OK(khal_pass_dispatch(pass,
                          &(khal_dispatch_desc){.function = functions[K_ADD],
                                                .grid = khal_threads(1, 1, 1),
                                                SLICES(bytes(buffer, 0, 4), bytes(buffer, 0, 4)),
                                                .push_constants = &push,
                                                .push_constant_size = 4},
                          NULL));
    OK(khal_pass_end(pass));
    OK(khal_encoder_finish(encoder, &commands));
    FAILS(DISPATCH_INDEX, khal_commands_set_slice(commands, 1, 0, bytes(buffer, 0, 4)));
    FAILS(DISPATCH_INDEX, khal_commands_set_slice(commands, 0, 2, bytes(buffer, 0, 4)));
    FAILS(DISPATCH_INDEX, khal_commands_set_push_constants(commands, UINT32_MAX, 0, &push, 4));
    FAILS(DISPATCH_INDEX, khal_commands_set_push_constants(commands, 0, 1, &push, 4));
    FAILS(DISPATCH_INDEX, khal_commands_set_push_constants(commands, 0, UINT32_MAX, &push, 2));
    FAILS(ARGUMENT_NULL, khal_commands_set_push_constants(commands, 0, 0, NULL, 4));
    FAILS(BINDING_ALIGNMENT, khal_commands_set_slice(commands, 0, 0, bytes(buffer, 2, 4)));
    FAILS(WRONG_DEVICE, khal_commands_set_slice(commands, 0, 0, bytes(foreign, 0, 4)));
    OK(khal_commands_set_push_constants(commands, 0, 4, NULL, 0));
    khal_commands_release(commands);
}

/* ---- what fails when it runs -------------------------------------------------------------------
 */

static khal_status refuse(void* user, const khal_native* native)
{
    assert_int_equal(native->backend, KHAL_BACKEND_CPU);
    ++*(int*)user;
    return KHAL_INVALID_STATE;
}

/* noop runs nothing, so this is the CPU's. */
static void execution(void** state)
{
    (void)state;
    khal_device* cpu;
    khal_ticket ticket;
    khal_pass* pass;
    khal_buffer* counts;
    int calls = 0;
    const uint32_t many[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU, .thread_count = 2}, &cpu));
    khal_encoder* e = make_encoder(cpu);
    OK(khal_encoder_native(e, &(khal_native_desc){.call = refuse, .user = &calls}));
    OK(khal_submit(e, &ticket));
    FAILS(NATIVE_FAILED, khal_ticket_wait(cpu, ticket, KHAL_FOREVER));
    FAILS(NATIVE_FAILED, khal_ticket_poll(cpu, ticket));
    assert_int_equal(calls, 1);

    OK(khal_buffer_create(
        cpu, &(khal_buffer_desc){.data = many, .size = sizeof many, .usage = KHAL_USAGE_INDIRECT},
        &counts));
    khal_function* function = make_function(cpu, "none");
    OK(khal_pass_begin(e, NULL, &pass));
    OK(khal_pass_dispatch(
        pass, &(khal_dispatch_desc){.function = function, .grid = khal_indirect(counts, 0)}, NULL));
    OK(khal_pass_end(pass));
    OK(khal_submit(e, &ticket));
    FAILS(INDIRECT_TOO_LARGE, khal_ticket_wait(cpu, ticket, KHAL_FOREVER));
    OK(khal_submit(e, &ticket)); /* the device lives on */
    OK(khal_ticket_wait(cpu, ticket, KHAL_FOREVER));
    khal_function_release(function);
    khal_buffer_release(counts);
    khal_encoder_release(e);
    khal_device_release(cpu);
}

/* ---- interop -----------------------------------------------------------------------------------
 */

/* On a device of another kind nothing of CUDA's is to be had, and no argument is looked at by a driver. */
static void no_cuda_objects(void** state)
{
    (void)state;
    khal_cuda_handles handles = {77, &handles, NULL};
    khal_device* wrapped = NULL;
    khal_buffer* made = NULL;
    uint64_t address = 77;
    const khal_buffer_desc desc = {.size = 16};
    FAILS(ARGUMENT_NULL, khal_cuda_device_wrap(NULL, NULL, &wrapped));
    FAILS(ARGUMENT_NULL, khal_cuda_device_wrap(&(khal_cuda_device_desc){.stream = &address}, NULL, &wrapped));
    FAILS(ARGUMENT_NULL, khal_cuda_device_wrap(&(khal_cuda_device_desc){.context = &address}, NULL, NULL));
    FAILS(ARGUMENT_NULL, khal_cuda_device_get_handles(NULL, &handles));
    FAILS(ARGUMENT_NULL, khal_cuda_device_get_handles(device, NULL));
    FAILS(ARGUMENT_NULL, khal_cuda_buffer_wrap(NULL, 256, &desc, &made));
    FAILS(ARGUMENT_NULL, khal_cuda_buffer_wrap(device, 0, &desc, &made));
    FAILS(ARGUMENT_NULL, khal_cuda_buffer_wrap(device, 256, NULL, &made));
    FAILS(ARGUMENT_NULL, khal_cuda_buffer_wrap(device, 256, &desc, NULL));
    FAILS(ARGUMENT_NULL, khal_cuda_buffer_get_address(NULL, &address));
    FAILS(ARGUMENT_NULL, khal_cuda_buffer_get_address(buffer, NULL));
    FAILS(UNSUPPORTED, khal_cuda_device_get_handles(device, &handles));
    FAILS(UNSUPPORTED, khal_cuda_buffer_wrap(device, 256, &desc, &made));
    FAILS(UNSUPPORTED, khal_cuda_buffer_get_address(buffer, &address));
    assert_null(wrapped);
    assert_null(made);
    assert_int_equal(handles.device, 77);
    assert_int_equal(address, 77);
}

/* ---- timestamps and readback -------------------------------------------------------------------
 */

static void timestamps_and_readback(void** state)
{
    (void)state;
    khal_timestamps* t;
    khal_readback* r;
    khal_pass* pass;
    khal_timestamp entry;
    uint32_t n;
    char out[8];
    FAILS(TIMESTAMPS_CAPACITY, khal_timestamps_create(device, NULL, &t));
    OK(khal_timestamps_create(device, &(khal_timestamps_desc){.capacity = 2}, &t));
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = t}, &pass));
    OK(khal_pass_end(pass));
    OK(khal_submit(encoder, NULL));
    FAILS(TIMESTAMPS_CAPACITY, khal_timestamps_read(t, 0, NULL, &n, NULL, KHAL_FOREVER));
    assert_int_equal(n, 1);
    OK(khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = t}, &pass));
    OK(khal_pass_end(pass));
    OK(khal_timestamps_request_read(t));
    FAILS(TIMESTAMPS_BUSY, khal_submit(encoder, NULL));
    FAILS(TIMESTAMPS_BUSY, khal_timestamps_request_read(t));
    FAILS(TIMESTAMPS_BUSY, khal_timestamps_reset(t));
    FAILS(TIMESTAMPS_BUSY, khal_timestamps_resolve(t, encoder));
    khal_encoder_reset(encoder);
    FAILS(TIMESTAMPS_BUSY, khal_pass_begin(encoder, &(khal_pass_desc){.timestamps = t}, &pass));
    khal_encoder_reset(encoder);
    FAILS(TIMESTAMPS_CAPACITY, khal_timestamps_try_take(t, 0, NULL, &n, NULL));
    OK(khal_timestamps_try_take(t, 1, &entry, &n, NULL));
    khal_timestamps_release(t);

    FAILS(READBACK_CAPACITY,
          khal_readback_create(
              device, &(khal_readback_desc){.capacity_count = UINT64_MAX, .element_size = 2}, &r));
    OK(khal_readback_create(device, &(khal_readback_desc){.capacity_count = 2, .element_size = 4},
                            &r));
    FAILS(READBACK_CAPACITY,
          khal_readback_request(r, (khal_slice[]){bytes(buffer, 0, 4), bytes(buffer, 0, 8)}, 2));
    FAILS(SLICE_ELEMENT_SIZE, khal_readback_request(r, (khal_slice[]){bytes(buffer, 0, 6)}, 1));
    OK(khal_readback_request(r, (khal_slice[]){bytes(buffer, 0, 8)}, 1));
    FAILS(READBACK_BUSY, khal_readback_request(r, (khal_slice[]){bytes(buffer, 0, 4)}, 1));
    FAILS(READBACK_COUNT, khal_readback_try_take(r, out, 1));
    FAILS(READBACK_COUNT, khal_readback_try_take(r, out, 3));
    FAILS(ARGUMENT_NULL, khal_readback_try_take(r, NULL, 2));
    OK(khal_readback_try_take(r, out, 2));
    khal_readback_release(r);
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static void names(void** state)
{
    (void)state;
    assert_string_equal(khal_status_name(KHAL_LIMIT), "KHAL_LIMIT");
    assert_string_equal(khal_status_name(KHAL_EXECUTION_FAILED), "KHAL_EXECUTION_FAILED");
    assert_string_equal(khal_status_name((khal_status)15), "unknown");
    assert_string_equal(khal_status_name((khal_status)-1), "unknown");
    assert_string_equal(khal_error_name(KHAL_ERROR_SLICE_RANGE), "KHAL_ERROR_SLICE_RANGE");
    assert_string_equal(khal_error_name(KHAL_ERROR_NONE), "KHAL_ERROR_NONE");
    assert_string_equal(khal_error_name((khal_error_id)11), "unknown");
    assert_int_equal(khal_version(), 0x000100);
}

static void record_is_cut_not_overrun(void** state)
{
    (void)state;
    char label[200], name[3000];
    khal_buffer* b;
    khal_function* f;
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = 0;
    memcpy(label + 62, "\xc3\xa4", 2); /* a character of two bytes at the border goes as a whole */
    FAILS(BUFFER_ELEMENT_SIZE,
          khal_buffer_create(
              device, &(khal_buffer_desc){.size = 3, .element_size = 2, .label = label}, &b));
    assert_int_not_equal(
        khal_buffer_create(device,
                           &(khal_buffer_desc){.size = 3, .element_size = 2, .label = label}, &b),
        KHAL_OK);
    assert_int_equal(strlen(khal_error_get()->object), 62);
    memset(name, 'y', sizeof name - 1);
    name[sizeof name - 1] = 0;
    khal_module* m = load_front(device);
    FAILS(ENTRY_POINT, khal_function_create(m, &(khal_function_desc){.entry_point = name}, &f));
    assert_int_not_equal(khal_function_create(m, &(khal_function_desc){.entry_point = "sub"}, &f),
                         KHAL_OK);
    assert_non_null(strstr(khal_error_get()->message, "add, fixed, local")); /* those that exist */
    khal_error_clear();
    assert_int_equal(khal_error_get()->status, KHAL_OK);
    assert_int_equal(khal_error_get()->id, KHAL_ERROR_NONE);
    khal_module_release(m);
}

static void every_diagnostic_was_triggered(void** state)
{
    (void)state;
    static const struct {
        khal_error_id id;
        const char* name;
        const char* summary;
    } all[] = {
#define KHAL_ERROR(number, id, status, summary) {KHAL_ERROR_##id, #id, summary},
#include <khal/errors.def>
#undef KHAL_ERROR
    };
    unsigned missing = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        bool is_elsewhere = false;
        for (size_t k = 0; k < sizeof elsewhere / sizeof elsewhere[0]; ++k)
            is_elsewhere = is_elsewhere || elsewhere[k].id == all[i].id;
        if (seen_ids[all[i].id] == is_elsewhere) {
            print_error("%s %s\n", all[i].name,
                        is_elsewhere ? "is seen: take it out of `elsewhere`" : "was not triggered");
            ++missing;
        }
        assert_true(strlen(all[i].summary) > 0);
        for (size_t k = 0; k < i; ++k)
            assert_true(all[k].id < all[i].id); /* one number each */
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(argument_null),
        TEST(argument_value),
        TEST(out_of_memory_and_driver),
        TEST(device_lost),
        TEST(wrong_device),
        TEST(unsupported),
        TEST(timeout_and_ticket),
        TEST(leak),
        TEST(devices),
        TEST(buffers),
        TEST(slices),
        TEST(modules),
        TEST(dispatches),
        TEST(encoder_state),
        TEST(copies_and_fills),
        TEST(commands_),
        TEST(execution),
        TEST(no_cuda_objects),
        TEST(timestamps_and_readback),
        TEST(names),
        TEST(record_is_cut_not_overrun),
        cmocka_unit_test(every_diagnostic_was_triggered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
