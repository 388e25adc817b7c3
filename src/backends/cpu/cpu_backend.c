#include "cpu.h"

#include <string.h>

/* ---- devices --------------------------------------------------------------------------------- */

static khal_status cpu_enumerate(uint32_t capacity, khal_device_info* out_infos,
                                 uint32_t* out_count)
{
    khal_cpu_level level;
    cpu_chosen_level(&level); /* what it can't read, opening reports */
    if (capacity > 0) {
        cpu_fill_info(&out_infos[0], khal__processor_count(), level);
    }
    *out_count = 1;
    return KHAL_OK;
}

static khal_status cpu_device_open(khal_device* owner, uint32_t index, const khal_device_desc* desc)
{
    (void)index;
    khal_cpu_level level;
    if (!cpu_chosen_level(&level)) {
        return khal__fail(owner, KHAL_ERROR_ENVIRONMENT, 0, desc->label,
                          "KHAL_CPU_LEVEL is not base, v3 or v4");
    }
    uint32_t thread_count = desc->thread_count ? desc->thread_count : khal__processor_count();
    if (thread_count > CPU_MAX_THREADS) {
        if (desc->thread_count) {
            return khal__fail(owner, KHAL_ERROR_DEVICE_DESC, 0, desc->label,
                              "thread_count is %u, at most %u are possible", (unsigned)thread_count,
                              CPU_MAX_THREADS);
        }
        thread_count = CPU_MAX_THREADS;
    }
    cpu_device* device = khal__alloc(owner, sizeof *device, _Alignof(cpu_device));
    if (!device) {
        return khal__fail(owner, KHAL_ERROR_OUT_OF_MEMORY, 0, desc->label,
                          "no memory for the device");
    }
    memset(device, 0, sizeof *device);
    *(cpu_device**)khal__device_impl(owner) = device;
    device->owner = owner;
    device->level = level;
    device->thread_count = thread_count;
    device->own_allocator = desc->allocator != NULL;
    device->epoch = khal__device_epoch(owner);
    if (!cpu_pool_init(&device->pool, owner, thread_count)) {
        khal__free(owner, device, sizeof *device);
        return khal__fail(owner, KHAL_ERROR_OUT_OF_MEMORY, 0, desc->label,
                          "no memory for %u threads", (unsigned)thread_count);
    }
    cpu_queue_init(device);
    cpu_fill_info(khal__device_info(owner), thread_count, device->level);
    return KHAL_OK;
}

static void cpu_device_close(khal_device* owner)
{
    cpu_device* device = cpu_device_of(owner);
    cpu_queue_close(device);
    cpu_pool_close(&device->pool);
    khal__free(owner, device, sizeof *device);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static khal_status cpu_buffer_create(khal_buffer* owner, const khal_buffer_desc* desc)
{
    khal_device* device_owner = khal__buffer_device(owner);
    cpu_device* device = cpu_device_of(device_owner);
    cpu_buffer* buffer = khal__buffer_impl(owner);
    if (desc->size == 0) {
        return KHAL_OK;
    }
    if (desc->host_memory) {
        buffer->memory = desc->host_memory;
        buffer->size = (size_t)desc->size;
        buffer->is_host_memory = true;
        return KHAL_OK;
    }
    /* Whole cache lines, so that buffers never share one. */
    uint64_t size = (desc->size + CPU_ALIGN - 1) & ~(uint64_t)(CPU_ALIGN - 1);
    if (size >= desc->size && size <= SIZE_MAX / 2) {
        /* The system's own pages are zero without being written; an allocator of the user's is
         * asked for everything. */
        if (size >= CPU_PAGES_SIZE && !device->own_allocator) {
            buffer->memory = khal__pages_map((size_t)size);
            buffer->is_mapped_pages = buffer->memory != NULL;
        } else {
            buffer->memory = khal__alloc(device_owner, (size_t)size, CPU_ALIGN);
        }
    }
    if (!buffer->memory) {
        return khal__fail(device_owner, KHAL_ERROR_OUT_OF_MEMORY, 0, desc->label,
                          "no memory for a buffer of %llu bytes", (unsigned long long)desc->size);
    }
    buffer->size = (size_t)size;
    if (desc->data) {
        memcpy(buffer->memory, desc->data, (size_t)desc->size);
    } else if (!desc->uninitialized && !buffer->is_mapped_pages) {
        memset(buffer->memory, 0, (size_t)desc->size);
    }
    return KHAL_OK;
}

static void cpu_buffer_destroy(khal_buffer* owner)
{
    cpu_buffer* buffer = khal__buffer_impl(owner);
    if (!buffer->memory || buffer->is_host_memory) {
        return;
    }
    if (buffer->is_mapped_pages) {
        khal__pages_unmap(buffer->memory, buffer->size);
    } else {
        khal__free(khal__buffer_device(owner), buffer->memory, buffer->size);
    }
}

static khal_status cpu_buffer_write(khal_buffer* owner, uint64_t offset, const void* data,
                                    uint64_t size, khal_ticket after)
{
    cpu_buffer* buffer = khal__buffer_impl(owner);
    const khal_status status = cpu_wait(khal__buffer_device(owner), after, KHAL_FOREVER);
    if (status != KHAL_OK) {
        return status;
    }
    memcpy((char*)buffer->memory + offset, data, (size_t)size);
    return KHAL_OK;
}

static khal_status cpu_buffer_read(khal_buffer* owner, uint64_t offset, void* out, uint64_t size,
                                   khal_ticket after, uint64_t timeout)
{
    cpu_buffer* buffer = khal__buffer_impl(owner);
    const khal_status status = cpu_wait(khal__buffer_device(owner), after, timeout);
    if (status != KHAL_OK) {
        return status;
    }
    memcpy(out, (const char*)buffer->memory + offset, (size_t)size);
    return KHAL_OK;
}

static khal_status cpu_buffer_map(khal_buffer* owner, uint64_t offset, uint64_t size, uint32_t mode,
                                  khal_ticket after, uint64_t timeout, void** out)
{
    (void)mode;
    cpu_buffer* buffer = khal__buffer_impl(owner);
    const khal_status status = cpu_wait(khal__buffer_device(owner), after, timeout);
    if (status != KHAL_OK) {
        return status;
    }
    *out = size ? (char*)buffer->memory + offset : NULL;
    return KHAL_OK;
}

static void cpu_buffer_unmap(khal_buffer* owner)
{
    (void)owner;
}

/* ---- modules and functions ------------------------------------------------------------------- */

static khal_status cpu_module_create(khal_module* owner, const khal_module_desc* desc,
                                     const khal_code* code)
{
    khal_device* device_owner = khal__module_device(owner);
    cpu_device* device = cpu_device_of(device_owner);
    cpu_module* module = khal__module_impl(owner);
    const khal_kernel_library* library = desc->library;
    const khal_code* best = NULL;
    if (!library) {
        return khal__fail(device_owner, KHAL_ERROR_MODULE_FORMAT, 0, desc->label,
                          "the CPU takes kernel libraries alone");
    }
    uint32_t checked = code ? code->flags & KHAL_CODE_CHECKED : 0;
    for (uint32_t i = 0; i < library->code_count; i++) {
        const khal_code* c = &library->codes[i];
        bool fits = c->format == KHAL_FORMAT_CPU && c->abi == KHAL_CPU_ABI &&
                    c->level <= (uint32_t)device->level &&
                    (c->flags & KHAL_CODE_CHECKED) == checked && c->cpu_kernels;
        if (fits && (!best || c->level > best->level)) {
            best = c;
        }
    }
    if (!best) {
        return khal__fail(device_owner, KHAL_ERROR_MODULE_NO_CODE, 0, desc->label,
                          "%s has no CPU code of version %u for a processor with %s",
                          library->name ? library->name : "the library", KHAL_CPU_ABI,
                          cpu_level_name(device->level));
    }
    module->kernels = best->cpu_kernels;
    return KHAL_OK;
}

static void cpu_module_destroy(khal_module* owner)
{
    (void)owner;
}

static khal_status cpu_function_create(khal_function* owner, const khal_function_desc* desc)
{
    (void)desc;
    cpu_function* function = khal__function_impl(owner);
    const cpu_module* module = khal__module_impl(khal__function_module(owner));
    function->kernel = &module->kernels[khal__function_index(owner)];
    return KHAL_OK;
}

static void cpu_function_destroy(khal_function* owner)
{
    (void)owner;
}

static khal_status cpu_native_handle(khal_device* owner, uint32_t kind, void* object,
                                     void** out_handle)
{
    if (kind != KHAL__NATIVE_BUFFER) {
        return khal__fail(owner, KHAL_ERROR_UNSUPPORTED, 0, NULL,
                          "the CPU has no native handle of kind %u", (unsigned)kind);
    }
    *out_handle = ((cpu_buffer*)khal__buffer_impl(object))->memory;
    return KHAL_OK;
}

const khal__backend khal__cpu_backend = {
    .name = "cpu",
    .id = KHAL_BACKEND_CPU,
    .automatic = true,
    .device_size = sizeof(cpu_device*),
    .buffer_size = sizeof(cpu_buffer),
    .module_size = sizeof(cpu_module),
    .function_size = sizeof(cpu_function),
    .enumerate = cpu_enumerate,
    .device_open = cpu_device_open,
    .device_close = cpu_device_close,
    .buffer_create = cpu_buffer_create,
    .buffer_destroy = cpu_buffer_destroy,
    .buffer_write = cpu_buffer_write,
    .buffer_read = cpu_buffer_read,
    .buffer_map = cpu_buffer_map,
    .buffer_unmap = cpu_buffer_unmap,
    .module_create = cpu_module_create,
    .module_destroy = cpu_module_destroy,
    .function_create = cpu_function_create,
    .function_destroy = cpu_function_destroy,
    .submit = cpu_submit,
    .completed = cpu_completed,
    .wait = cpu_wait,
    .native_handle = cpu_native_handle,
};
