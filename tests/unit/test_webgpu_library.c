/* The WebGPU backend over the libraries of deps/: whatever a program does through khal, the process goes on. wgpu-native aborts on
 * a list of calls; each is tried here from the outside, in a process of its own. */
#include "front.h"

#include "platform/platform.h"

#include <khal/interop/webgpu.h>

#include <sys/wait.h>
#include <unistd.h>

#define DEPS KHAL_SOURCE_DIR "/deps/"

/* In the child: what it checks ends it. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition,                             \
                    khal_error_get()->message);                                                    \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define GIVES(wanted, call)                                                                            \
    do {                                                                                           \
        const khal_status gives_status = (call);                                                   \
        if (gives_status == KHAL_OK || khal_error_get()->id != KHAL_ERROR_##wanted) {                  \
            fprintf(stderr, "line %d: %s gives %s: %s\n", __LINE__, #call,                         \
                    khal_error_name(khal_error_get()->id), khal_error_get()->message);             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define GOOD(call) CHECK((call) == KHAL_OK)

static const char* library_path;

static void* library_function(const char* name)
{
    void* library = khal__library_open(library_path);
    CHECK(library != NULL);
    void* symbol = khal__library_symbol(library, name);
    CHECK(symbol != NULL);
    return symbol;
}
/* A function of the library, for what only the program can do. */
#define FUNCTION(variable, name)                                                                   \
    do {                                                                                           \
        void* function_symbol = library_function(name);                                            \
        memcpy(&variable, &function_symbol, sizeof variable);                                      \
    } while (0)

static khal_device* open_device(void)
{
    khal_device* device = NULL;
    GOOD(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_WEBGPU}, &device));
    return device;
}

static khal_buffer* buffer_of(khal_device* device, uint64_t size, uint32_t usage)
{
    khal_buffer* buffer = NULL;
    GOOD(khal_buffer_create(device,
                            &(khal_buffer_desc){.size = size, .usage = usage, .label = "a label"},
                            &buffer));
    return buffer;
}

static khal_encoder* encoder_of(khal_device* device)
{
    khal_encoder* encoder = NULL;
    GOOD(khal_encoder_create(device, NULL, &encoder));
    return encoder;
}

/* The device does its work: nothing that went before has spoilt it. */
static void still_works(khal_device* device)
{
    khal_buffer *a = buffer_of(device, 1000, 0), *b = buffer_of(device, 1000, 0);
    unsigned char bytes[1000], back[1000];
    for (unsigned i = 0; i < sizeof bytes; ++i)
        bytes[i] = (unsigned char)(i * 7);
    GOOD(khal_buffer_write(a, 0, bytes, sizeof bytes));
    khal_encoder* encoder = encoder_of(device);
    GOOD(khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)));
    GOOD(khal_submit(encoder, NULL));
    GOOD(khal_buffer_read(b, 0, back, sizeof back, KHAL_FOREVER));
    CHECK(memcmp(bytes, back, sizeof back) == 0);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
    khal_buffer_release(b);
}

/* ---- cases ------------------------------------------------------------------------------------- */

static void bytes_of_any_range(khal_device* device)
{
    enum { SIZE = 333 };
    khal_buffer* buffer = buffer_of(device, SIZE, 0);
    unsigned char model[SIZE] = {0}, data[SIZE], back[SIZE];
    uint32_t random = 1;
    for (int round = 0; round < 300; ++round) {
        random = random * 1664525u + 1013904223u;
        const uint32_t offset = (random >> 8) % SIZE;
        random = random * 1664525u + 1013904223u;
        const uint32_t size = (random >> 8) % (round % 3 == 0 ? 8 : SIZE - offset + 1);
        if (offset + size > SIZE)
            continue;
        for (uint32_t i = 0; i < size; ++i)
            data[i] = (unsigned char)(random >> (i % 24));
        memcpy(model + offset, data, size);
        GOOD(khal_buffer_write(buffer, offset, data, size));
        if (round % 10 == 0) {
            GOOD(khal_buffer_read(buffer, 0, back, SIZE, KHAL_FOREVER));
            CHECK(memcmp(back, model, SIZE) == 0);
        }
        GOOD(khal_buffer_read(buffer, offset, back, size, KHAL_FOREVER));
        CHECK(memcmp(back, model + offset, size) == 0);
    }
    khal_buffer_release(buffer);
}

static void large_transfers(khal_device* device)
{
    const uint64_t size = (24u << 20) + 5;
    khal_buffer* buffer = buffer_of(device, size, 0);
    unsigned char *data = malloc(size), *back = malloc(size);
    CHECK(data != NULL && back != NULL);
    for (uint64_t i = 0; i < size; ++i)
        data[i] = (unsigned char)(i * 31 + i / 4096);
    for (int round = 0; round < 3; ++round) {
        GOOD(khal_buffer_write(buffer, 0, data, size));
        memset(back, 0, size);
        GOOD(khal_buffer_read(buffer, 0, back, size, KHAL_FOREVER));
        CHECK(memcmp(data, back, size) == 0);
        GOOD(khal_buffer_write(buffer, 3, data, size - 3));
        GOOD(khal_buffer_read(buffer, 1, back, size - 1, KHAL_FOREVER));
        CHECK(memcmp(data, back, 2) == 1 || memcmp(data, back + 2, size - 3) == 0);
        data[round] ^= 0xff;
    }
    free(data);
    free(back);
    khal_buffer_release(buffer);
}

static void too_large(khal_device* device)
{
    khal_buffer* buffer = NULL;
    const khal_limits* limits = &khal_device_get_info(device)->limits;
    GIVES(BUFFER_SIZE, khal_buffer_create(device, &(khal_buffer_desc){.size = UINT64_C(1) << 40}, &buffer));
    GIVES(BUFFER_SIZE, khal_buffer_create(device, &(khal_buffer_desc){.size = limits->buffer_size + 1}, &buffer));
}

static void memory_runs_out(khal_device* device)
{
    enum { MOST = 4096 };
    static khal_buffer* buffers[MOST];
    const khal_limits* limits = &khal_device_get_info(device)->limits;
    /* Pages that nobody touches cost a CPU driver nothing: a bound keeps a machine with much memory from trying for long. */
    uint32_t count = 0;
    khal_status status = KHAL_OK;
    while (count < MOST && status == KHAL_OK) {
        status = khal_buffer_create(device, &(khal_buffer_desc){.size = limits->buffer_size, .uninitialized = true},
                                    &buffers[count]);
        count += status == KHAL_OK;
    }
    CHECK(status == KHAL_OK || status == KHAL_OUT_OF_MEMORY);
    while (count > 0)
        khal_buffer_release(buffers[--count]);
}

static void maps(khal_device* device)
{
    khal_buffer* buffer = buffer_of(device, 1001, KHAL_USAGE_MAP_READ | KHAL_USAGE_MAP_WRITE | KHAL_USAGE_COPY_DST);
    char* memory = NULL;
    void* nothing = NULL;
    GOOD(khal_buffer_map(buffer, 1001, 0, KHAL_MAP_READ, KHAL_FOREVER, &nothing));
    GOOD(khal_buffer_unmap(buffer));
    GIVES(BUFFER_RANGE, khal_buffer_map(buffer, 1000, 2, KHAL_MAP_READ, KHAL_FOREVER, &nothing));
    GOOD(khal_buffer_map(buffer, 3, 998, KHAL_MAP_READ | KHAL_MAP_WRITE, KHAL_FOREVER, (void**)&memory));
    GIVES(BUFFER_MAPPED, khal_buffer_map(buffer, 0, 4, KHAL_MAP_READ, KHAL_FOREVER, &nothing));
    GIVES(BUFFER_NOT_MAPPED, khal_buffer_flush(buffer, 0, 4));
    /* it is mapped while it is submitted, written by the host and by the work */
    khal_encoder* encoder = encoder_of(device);
    GOOD(khal_encoder_fill(encoder, (khal_slice){buffer, 0, 500, 1}, "\x11", 1));
    memory[0] = 'x';
    memory[997] = 'y';
    GOOD(khal_submit(encoder, NULL));
    GOOD(khal_buffer_unmap(buffer));
    unsigned char back[1001];
    GOOD(khal_buffer_read(buffer, 0, back, 1001, KHAL_FOREVER));
    CHECK(back[2] == 0x11 && back[3] == 'x' && back[4] == 0x11 && back[499] == 0x11 && back[500] == 0 && back[1000] == 'y');
    GOOD(khal_buffer_map(buffer, 0, 16, KHAL_MAP_WRITE, KHAL_FOREVER, (void**)&memory));
    khal_encoder_release(encoder);
    khal_buffer_release(buffer); /* mapped */
}

static void released_before_it_runs(khal_device* device)
{
    khal_buffer *a = buffer_of(device, 4096, 0), *b = buffer_of(device, 4096, 0);
    khal_encoder* encoder = encoder_of(device);
    GOOD(khal_encoder_copy(encoder, khal_slice_all(a), khal_slice_all(b)));
    khal_buffer_release(a);
    khal_buffer_release(b);
    GOOD(khal_submit(encoder, NULL));
    khal_encoder_release(encoder);
}

static void submitted_twice(khal_device* device)
{
    khal_buffer* a = buffer_of(device, 64, 0);
    khal_encoder* encoder = encoder_of(device);
    khal_commands* commands = NULL;
    GOOD(khal_encoder_fill(encoder, khal_slice_all(a), "\0", 1));
    GOOD(khal_encoder_finish(encoder, &commands));
    for (int i = 0; i < 5; ++i)
        GOOD(khal_commands_submit(commands, NULL));
    khal_commands_release(commands);
    khal_encoder_release(encoder);
    khal_buffer_release(a);
}

static void foreign_text(khal_device* device)
{
    static const char* const texts[] = {
        "this is no WGSL { @compute",
        "@compute @workgroup_size(1) fn main() { let x: i32 = 1.5f; }",
        "@compute @workgroup_size(1) fn main() { undefined_function(); }",
        "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n@compute @workgroup_size(1) fn main() { a[0] = b; }",
        "@compute @workgroup_size(4096, 4096, 64) fn main() { }",
        "fn f() -> i32 { return f(); } @compute @workgroup_size(1) fn main() { _ = f(); }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        khal_module* module = NULL;
        khal_function* function = NULL;
        khal_status status =
            khal_module_load(device, &(khal_module_desc){.code = texts[i], .code_size = strlen(texts[i])}, &module);
        if (status == KHAL_OK)
            status = khal_function_create(module, &(khal_function_desc){.entry_point = "main"}, &function);
        CHECK(status != KHAL_OK);
        khal_function_release(function);
        khal_module_release(module);
    }
}

static void broken_spirv(khal_device* device)
{
    /* a header and nothing; the header of a module whose words are noise */
    uint32_t words[64] = {0x07230203u, 0x00010000u, 0, 8, 0};
    for (size_t size = 1; size <= 64; size += 3) {
        khal_module* module = NULL;
        khal_function* function = NULL;
        for (size_t i = 5; i < size; ++i)
            words[i] = (uint32_t)(i * 0x9e3779b9u) & 0x0003003fu;
        khal_status status =
            khal_module_load(device, &(khal_module_desc){.code = words, .code_size = size * 4}, &module);
        if (status == KHAL_OK)
            status = khal_function_create(module, &(khal_function_desc){.entry_point = "main"}, &function);
        CHECK(status != KHAL_OK);
        khal_module_release(module);
    }
}

/* ---- native callbacks that do what they should not ---- */

static khal_status copies_out_of_range(void* user, const khal_native* native)
{
    void (*clear)(void*, void*, uint64_t, uint64_t);
    FUNCTION(clear, "wgpuCommandEncoderClearBuffer");
    clear(native->handle, user, 0, UINT64_C(1) << 40);
    return KHAL_OK;
}

static khal_status leaves_a_pass_open(void* user, const khal_native* native)
{
    (void)user;
    void* (*begin)(void*, const void*);
    FUNCTION(begin, "wgpuCommandEncoderBeginComputePass");
    (void)begin(native->handle, NULL);
    return KHAL_OK;
}

static khal_status finishes(void* user, const khal_native* native)
{
    (void)user;
    void* (*finish)(void*, const void*);
    void (*release)(void*);
    FUNCTION(finish, "wgpuCommandEncoderFinish");
    FUNCTION(release, "wgpuCommandBufferRelease");
    release(finish(native->handle, NULL));
    return KHAL_OK;
}

static khal_status destroys(void* user, const khal_native* native)
{
    (void)native;
    void (*destroy)(void*);
    FUNCTION(destroy, "wgpuDeviceDestroy");
    destroy(user);
    return KHAL_OK;
}

static khal_status fails(void* user, const khal_native* native)
{
    (void)user;
    (void)native;
    return KHAL_TIMEOUT;
}

static khal_status submit_native(khal_device* device, khal_native_fn call, void* user)
{
    khal_encoder* encoder = encoder_of(device);
    khal_ticket ticket = 0;
    GOOD(khal_encoder_native(encoder, &(khal_native_desc){.call = call, .user = user}));
    GOOD(khal_submit(encoder, &ticket));
    khal_encoder_release(encoder);
    return khal_ticket_wait(device, ticket, KHAL_FOREVER);
}

static void native_misuse(khal_device* device)
{
    khal_buffer* buffer = buffer_of(device, 64, 0);
    void* handle = NULL;
    GOOD(khal_webgpu_buffer_get_handle(buffer, &handle));
    GIVES(DRIVER, submit_native(device, copies_out_of_range, handle));
    GIVES(NATIVE_FAILED, submit_native(device, fails, NULL));
    GIVES(DRIVER, submit_native(device, leaves_a_pass_open, NULL));
    GIVES(DRIVER, submit_native(device, finishes, NULL));
    khal_buffer_release(buffer);
}

/* ---- loss ---- */

static void destroy(khal_device* device)
{
    khal_webgpu_handles handles;
    GOOD(khal_webgpu_device_get_handles(device, &handles));
    (void)destroys(handles.device, NULL);
}

/* Everything that can be tried on a device that is gone. */
static void use_what_is_lost(khal_device* device, khal_buffer* buffer, khal_encoder* encoder)
{
    char byte = 0;
    void* memory = NULL;
    khal_buffer* other = NULL;
    khal_module* module = NULL;
    CHECK(khal_submit(encoder, NULL) == KHAL_DEVICE_LOST);
    CHECK(khal_buffer_write(buffer, 0, &byte, 1) == KHAL_DEVICE_LOST);
    CHECK(khal_buffer_read(buffer, 0, &byte, 1, KHAL_FOREVER) == KHAL_DEVICE_LOST);
    CHECK(khal_buffer_map(buffer, 0, 4, KHAL_MAP_READ, KHAL_FOREVER, &memory) == KHAL_DEVICE_LOST);
    CHECK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &other) == KHAL_DEVICE_LOST);
    CHECK(khal_module_load(device, &(khal_module_desc){.code = "@compute", .code_size = 8}, &module) == KHAL_DEVICE_LOST);
    CHECK(khal_device_wait(device, KHAL_FOREVER) == KHAL_DEVICE_LOST);
    CHECK(khal_device_get_status(device) == KHAL_DEVICE_LOST);
}

static khal_encoder* record(khal_device* device, khal_buffer* buffer)
{
    khal_encoder* encoder = encoder_of(device);
    GOOD(khal_encoder_fill(encoder, khal_slice_all(buffer), "\0", 1));
    return encoder;
}

enum { LOST_BEFORE_SUBMIT, LOST_BEFORE_WRITE, LOST_BEFORE_READ, LOST_BEFORE_CREATE, LOST_BEFORE_MAP, LOST_BEFORE_MANY, LOST_BEFORE_WAIT, LOST_WAYS };

static void lost(khal_device* unused)
{
    (void)unused;
    for (int way = 0; way < LOST_WAYS; ++way) {
        khal_device* device = open_device();
        khal_buffer* buffer = buffer_of(device, 1 << 20, KHAL_USAGE_MAP_READ | KHAL_USAGE_COPY_DST);
        khal_encoder* encoder = record(device, buffer);
        khal_buffer* other = NULL;
        void* memory = NULL;
        char bytes[5] = "";
        khal_ticket ticket = 0;
        if (way == LOST_BEFORE_WAIT)
            GOOD(khal_submit(encoder, &ticket));
        destroy(device);
        switch (way) {
        case LOST_BEFORE_SUBMIT: CHECK(khal_submit(encoder, NULL) != KHAL_OK); break;
        case LOST_BEFORE_WRITE: (void)!khal_buffer_write(buffer, 1, bytes, 5); break;
        case LOST_BEFORE_READ: CHECK(khal_buffer_read(buffer, 1, bytes, 5, KHAL_FOREVER) != KHAL_OK); break;
        case LOST_BEFORE_CREATE: CHECK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &other) != KHAL_OK); break;
        case LOST_BEFORE_MANY: /* what a backend does now and then is among it */
            for (int i = 0; i < 3000; ++i)
                (void)!khal_buffer_write(buffer, 4, bytes, 4);
            break;
        case LOST_BEFORE_MAP: CHECK(khal_buffer_map(buffer, 0, 8, KHAL_MAP_READ, KHAL_FOREVER, &memory) != KHAL_OK); break;
        default: (void)!khal_ticket_wait(device, ticket, 1000000000); break;
        }
        khal_encoder_release(encoder);
        /* it may have gone well, or not been noticed yet */
        khal_encoder* again = NULL;
        if (khal_encoder_create(device, NULL, &again) == KHAL_OK && khal_encoder_fill(again, khal_slice_all(buffer), "\0", 1) == KHAL_OK)
            (void)!khal_submit(again, NULL);
        if (again != NULL)
            use_what_is_lost(device, buffer, again);
        khal_encoder_release(again);
        khal_buffer_release(buffer);
        khal_device_release(device);
    }
}

static void lost_in_a_callback(khal_device* unused)
{
    (void)unused;
    khal_device* device = open_device();
    khal_webgpu_handles handles;
    GOOD(khal_webgpu_device_get_handles(device, &handles));
    (void)!submit_native(device, destroys, handles.device); /* its own work may still run */
    khal_buffer* buffer = NULL;
    CHECK(khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer) == KHAL_DEVICE_LOST);
    khal_device_release(device);
}

/* ---- a wrapped device ---- */

static void wrapped(khal_device* own)
{
    khal_webgpu_device_desc desc = {.library = library_path};
    khal_device* device = NULL;
    void* handle = NULL;
    khal_buffer *a = buffer_of(own, 256, 0), *b = NULL;
    GOOD(khal_webgpu_device_get_handles(own, &desc.handles));
    GOOD(khal_webgpu_device_wrap(&desc, NULL, &device));
    GOOD(khal_webgpu_buffer_get_handle(a, &handle));
    GOOD(khal_webgpu_buffer_wrap(device, handle, &(khal_buffer_desc){.size = 256}, &b));
    GOOD(khal_buffer_write(a, 0, "from the owner", 15));
    still_works(own);
    char back[15];
    GOOD(khal_buffer_read(b, 0, back, 15, KHAL_FOREVER));
    CHECK(strcmp(back, "from the owner") == 0);
    GOOD(khal_buffer_write(b, 9, "guest", 6));
    still_works(device);
    GOOD(khal_buffer_read(a, 0, back, 15, KHAL_FOREVER));
    CHECK(strcmp(back, "from the guest") == 0);
    GIVES(DRIVER, submit_native(device, copies_out_of_range, handle)); /* by error scopes */
    foreign_text(device);
    still_works(device);
    khal_buffer_release(b);
    khal_device_release(device);
    khal_buffer_release(a);
}

/* ---- running them ------------------------------------------------------------------------------ */

typedef struct library_case {
    const char* name;
    void (*run)(khal_device* device);
} library_case;

#define SECONDS 120 /* of one case, on a machine that is busy */

static const library_case cases[] = {
    {"bytes_of_any_range", bytes_of_any_range},
    {"large_transfers", large_transfers},
    {"too_large", too_large},
    {"memory_runs_out", memory_runs_out},
    {"maps", maps},
    {"released_before_it_runs", released_before_it_runs},
    {"submitted_twice", submitted_twice},
    {"foreign_text", foreign_text},
    {"broken_spirv", broken_spirv},
    {"native_misuse", native_misuse},
    {"lost", lost},
    {"lost_in_a_callback", lost_in_a_callback},
    {"wrapped", wrapped},
};

static void run_case(const library_case* c)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        khal_device* device = open_device();
        c->run(device);
        still_works(device);
        khal_device_release(device);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s over %s: %s %d", c->name, library_path, WIFSIGNALED(status) ? "ended by signal" : "exit status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void all_cases(const char* path)
{
    const char* only = getenv("WEBGPU_CASE");
    if (access(path, R_OK) != 0) {
        print_message("%s is not there (scripts/setup.sh fetches it)\n", path);
        skip();
    }
    library_path = path;
    setenv("KHAL_WEBGPU_LIBRARY", path, 1);
    if (access(DEPS "vulkan/lavapipe_icd.json", R_OK) == 0) {
        setenv("VK_DRIVER_FILES", DEPS "vulkan/lavapipe_icd.json", 0);
        setenv("VK_ICD_FILENAMES", DEPS "vulkan/lavapipe_icd.json", 0);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        if (only == NULL || strcmp(only, cases[i].name) == 0)
            run_case(&cases[i]);
}

static void over_wgpu_native(void** state)
{
    (void)state;
    all_cases(DEPS "webgpu/libwgpu_native.so");
}

static void over_dawn(void** state)
{
    (void)state;
    all_cases(DEPS "webgpu/libwebgpu_dawn.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_wgpu_native),
        cmocka_unit_test(over_dawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
