/* What the tests of the front share: a noop device, a kernel library written here, and checks that
 * look at diagnostic ids. */
#ifndef KHAL_TESTS_FRONT_H
#define KHAL_TESTS_FRONT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <khal/khal.h>

#include "backends/noop/noop.h"

/* The call succeeds, or the test fails with khal's message. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        const khal_status ok_status = (call);                                                      \
        if (ok_status != KHAL_OK)                                                                  \
            fail_msg("%s gives %s: %s", #call, khal_status_name(ok_status),                        \
                     khal_error_get()->message);                                                   \
    } while (0)

/* The call fails with that diagnostic, and its message is not empty. */
#define FAILS(id, call) check_fails(KHAL_ERROR_##id, (call), "KHAL_ERROR_" #id, #call)

static bool seen_ids[1024]; /* what FAILS has seen in this program */

static inline void check_fails(khal_error_id id, khal_status status, const char* name,
                               const char* call)
{
    const khal_error* error = khal_error_get();
    if (status == KHAL_OK || error->id != id)
        fail_msg("%s gives %s, %s (%s), not %s", call, khal_status_name(status),
                 khal_error_name(error->id), error->message, name);
    assert_int_equal(error->status, status);
    assert_true(strlen(error->message) > 0);
    seen_ids[id] = true;
    khal_error_clear();
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static inline void front_run(const khal_cpu_launch* launch, uint64_t first_group,
                             uint64_t last_group, void* scratch)
{
    (void)launch;
    (void)first_group;
    (void)last_group;
    (void)scratch;
}

enum {
    K_ADD,
    K_FIXED,
    K_LOCAL,
    K_BARRIER,
    K_NONE,
    K_STRUCT,
    K_READ,
    K_WRITE,
    K_COPY,
    K_CONSTANT,
    KERNEL_COUNT
};

static const khal_cpu_kernel front_cpu_kernels[KERNEL_COUNT] = {
    {front_run, 0, 0}, {front_run, 0, 0}, {front_run, 0, 0}, {front_run, 0, 0}, {front_run, 0, 0},
    {front_run, 0, 0}, {front_run, 0, 0}, {front_run, 0, 0}, {front_run, 0, 0}, {front_run, 0, 0},
};
static const khal_code front_codes[] = {
    {.format = KHAL_FORMAT_CPU, .abi = KHAL_CPU_ABI, .cpu_kernels = front_cpu_kernels},
};
#define FLOATS(arg_name, arg_access, arg_index)                                                    \
    {.name = arg_name,                                                                             \
     .type_name = "float",                                                                         \
     .kind = KHAL_ARG_BUFFER,                                                                      \
     .access = arg_access,                                                                         \
     .index = arg_index,                                                                           \
     .element_size = 4,                                                                            \
     .element_align = 4}
static const khal_arg_info front_add_args[] = {
    FLOATS("a", KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 0),
    FLOATS("b", KHAL_ACCESS_READ, 1),
    {.name = "n",
     .type_name = "uint",
     .kind = KHAL_ARG_VALUE,
     .element_size = 4,
     .element_align = 4},
};
static const khal_arg_info front_local_args[] = {
    FLOATS("a", KHAL_ACCESS_READ | KHAL_ACCESS_WRITE, 0),
    {.name = "l",
     .type_name = "float",
     .kind = KHAL_ARG_LOCAL,
     .index = 0,
     .element_size = 4,
     .element_align = 4},
    {.name = "m",
     .type_name = "float",
     .kind = KHAL_ARG_LOCAL,
     .index = 1,
     .element_size = 4,
     .element_align = 4},
};
static const khal_arg_info front_struct_args[] = {
    {.name = "s",
     .type_name = "struct s",
     .kind = KHAL_ARG_BUFFER,
     .access = KHAL_ACCESS_READ,
     .index = 0,
     .element_size = 12,
     .element_align = 4},
};
static const khal_arg_info front_read_args[] = {FLOATS("a", KHAL_ACCESS_READ, 0)};
static const khal_arg_info front_write_args[] = {FLOATS("a", KHAL_ACCESS_WRITE, 0)};
static const khal_arg_info front_copy_args[] = {FLOATS("to", KHAL_ACCESS_WRITE, 0),
                                                FLOATS("from", KHAL_ACCESS_READ, 1)};
static const khal_arg_info front_constant_args[] = {
    {.name = "c",
     .type_name = "float4",
     .kind = KHAL_ARG_CONSTANT,
     .access = KHAL_ACCESS_READ,
     .index = 0,
     .element_size = 16,
     .element_align = 16},
};
static const khal_kernel_info front_kernels[KERNEL_COUNT] = {
    [K_ADD] = {.name = "add",
               .args = front_add_args,
               .arg_count = 3,
               .binding_count = 2,
               .push_constant_size = 4},
    [K_FIXED] = {.name = "fixed",
                 .args = front_read_args,
                 .arg_count = 1,
                 .binding_count = 1,
                 .workgroup_size = {8, 4, 1}},
    [K_LOCAL] = {.name = "local",
                 .args = front_local_args,
                 .arg_count = 3,
                 .binding_count = 1,
                 .local_count = 2,
                 .local_memory_size = 256,
                 .flags = KHAL_KERNEL_HAS_BARRIER},
    [K_BARRIER] = {.name = "barrier",
                   .args = front_read_args,
                   .arg_count = 1,
                   .binding_count = 1,
                   .flags = KHAL_KERNEL_HAS_BARRIER},
    [K_NONE] = {.name = "none"},
    [K_STRUCT] = {.name = "structs", .args = front_struct_args, .arg_count = 1, .binding_count = 1},
    [K_READ] = {.name = "read", .args = front_read_args, .arg_count = 1, .binding_count = 1},
    [K_WRITE] = {.name = "write", .args = front_write_args, .arg_count = 1, .binding_count = 1},
    [K_COPY] = {.name = "copy", .args = front_copy_args, .arg_count = 2, .binding_count = 2},
    [K_CONSTANT] = {.name = "constant",
                    .args = front_constant_args,
                    .arg_count = 1,
                    .binding_count = 1},
};
static const khal_kernel_library front_library = {
    .version = KHAL_LIBRARY_VERSION,
    .kernel_count = KERNEL_COUNT,
    .code_count = 1,
    .name = "front",
    .kernels = front_kernels,
    .codes = front_codes,
};

/* ---- devices and objects -----------------------------------------------------------------------
 */

static inline khal_device* open_noop_with(khal_device_desc desc)
{
    khal_device* device = NULL;
    desc.backend = KHAL_BACKEND_NOOP;
    OK(khal_device_open(&desc, &device));
    return device;
}

static inline khal_device* open_noop(void)
{
    const khal_device_desc desc = {0};
    return open_noop_with(desc);
}

static inline khal_buffer* make_buffer(khal_device* device, uint64_t size)
{
    khal_buffer* buffer = NULL;
    OK(khal_buffer_create(
        device, &(khal_buffer_desc){.size = size, .usage = 0xff, .label = "buffer"}, &buffer));
    return buffer;
}

static inline khal_module* load_front(khal_device* device)
{
    khal_module* module = NULL;
    OK(khal_module_load(device, &(khal_module_desc){.library = &front_library, .label = "front"},
                        &module));
    return module;
}

/* The module stays with the function. */
static inline khal_function* make_function(khal_device* device, const char* name)
{
    khal_function* function = NULL;
    khal_module* module = load_front(device);
    OK(khal_function_create(module, &(khal_function_desc){.entry_point = name}, &function));
    khal_module_release(module);
    return function;
}

static inline khal_encoder* make_encoder(khal_device* device)
{
    khal_encoder* encoder = NULL;
    OK(khal_encoder_create(device, NULL, &encoder));
    return encoder;
}

static inline khal_slice bytes(khal_buffer* buffer, uint64_t offset, uint64_t size)
{
    khal_slice slice = {buffer, offset, size, 1};
    return slice;
}

/* A dispatch of one to three slices without push constants. */
static inline khal_status dispatch(khal_pass* pass, khal_function* function, uint32_t count,
                                   const khal_slice* slices)
{
    return khal_pass_dispatch(pass,
                              &(khal_dispatch_desc){.function = function,
                                                    .grid = khal_threads(64, 1, 1),
                                                    .bindings = slices,
                                                    .binding_count = count},
                              NULL);
}

static inline khal_statistics statistics(khal_device* device)
{
    khal_statistics s;
    khal_device_get_statistics(device, &s);
    return s;
}

/* ---- an allocator that counts, and fails when told ---------------------------------------------
 */

typedef struct counted {
    atomic_int remaining; /* allocations until one fails; negative: none does */
    atomic_int alive;
    atomic_ullong total, bytes;
} counted;

static inline void* counted_allocate(void* user, size_t size, size_t align)
{
    counted* c = user;
    if (size == 0 || align < 16 || (align & (align - 1)) != 0)
        abort();
    if (atomic_load(&c->remaining) >= 0 && atomic_fetch_sub(&c->remaining, 1) <= 0)
        return NULL;
    atomic_fetch_add(&c->alive, 1);
    atomic_fetch_add(&c->total, 1);
    atomic_fetch_add(&c->bytes, size);
    /* What comes back must have the size that it was asked for with. */
    char* block = aligned_alloc(align, (size + align - 1) / align * align + align);
    if (block == NULL)
        return NULL;
    const size_t noted[2] = {size, align};
    memcpy(block + align - 16, noted, 16);
    return block + align;
}

static inline void counted_release(void* user, void* memory, size_t size)
{
    counted* c = user;
    size_t noted[2];
    memcpy(noted, (char*)memory - 16, 16);
    if (noted[0] != size)
        abort();
    atomic_fetch_sub(&c->alive, 1);
    atomic_fetch_sub(&c->bytes, size);
    free((char*)memory - noted[1]);
}

#define COUNTED(state) (&(khal_allocator){counted_allocate, counted_release, &(state)})

#endif
