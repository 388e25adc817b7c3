/* khal_kernels: what the handle of a generated header is. */
#include "core.h"

struct khal_kernels {
    atomic_uint references;
    khal_device* device;
    khal_module* module;
    size_t size;    /* bytes of this block */
    bool is_loaded; /* the module is */
    uint32_t function_count;
    uint32_t ready_count; /* functions that are complete; the next one may have been begun */
    khal_function* functions[];
};

static khal_status check(khal_device* device, const khal_kernel_library* library,
                         khal_kernels** out_kernels)
{
    if (!device)
        return khal__fail(NULL, KHAL_ERROR_ARGUMENT_NULL, 0, "", "device is NULL");
    if (!library)
        return khal__fail(device, KHAL_ERROR_ARGUMENT_NULL, 0, "", "library is NULL");
    if (!out_kernels)
        return khal__fail(device, KHAL_ERROR_ARGUMENT_NULL, 0, "", "out_kernels is NULL");
    return KHAL_OK;
}

/* Takes over the reference to `module`, also when it fails. */
static khal_status create(khal_device* device, khal_module* module,
                          const khal_kernel_library* library, khal_kernels** out_kernels)
{
    const size_t size = sizeof(khal_kernels) + library->kernel_count * sizeof(khal_function*);
    khal_kernels* k = khal__alloc(device, size, 16);
    if (!k) {
        khal_module_release(module);
        return khal__fail(device, KHAL_ERROR_OUT_OF_MEMORY, 0, library->name ? library->name : "",
                          "no memory for the table of %u kernels", library->kernel_count);
    }
    memset(k, 0, size);
    atomic_init(&k->references, 1u);
    k->device = device;
    k->module = module;
    k->size = size;
    k->function_count = library->kernel_count;
    khal__device_hold(device);
    *out_kernels = k;
    return KHAL_OK;
}

/* This device can't have the kernel: the others are there all the same, and its launcher says so.
 */
static bool is_refusal(khal_status status)
{
    return status == KHAL_UNSUPPORTED || status == KHAL_LIMIT;
}

khal_status khal_kernels_load_at(const char* file, int line, khal_device* device,
                                 const khal_kernel_library* library, khal_kernels** out_kernels)
{
    khal_status status = check(device, library, out_kernels);
    if (status)
        return status;
    khal_module* module = NULL;
    status = khal_module_load_at(file, line, device,
                                 &(khal_module_desc){.library = library, .label = library->name},
                                 &module);
    if (status)
        return status;
    khal_kernels* k = NULL;
    status = create(device, module, library, &k);
    if (status)
        return status;
    k->is_loaded = true;
    for (; !status && k->ready_count < k->function_count; k->ready_count += !status) {
        khal_function** function = &k->functions[k->ready_count];
        status = khal_function_create_at(
            file, line, module,
            &(khal_function_desc){.entry_point = library->kernels[k->ready_count].name}, function);
        if (is_refusal(status))
            status = khal__function_refuse(module, k->ready_count, khal_error_get(), function, file,
                                           line);
    }
    if (status)
        khal_kernels_release(k);
    else
        *out_kernels = k;
    return status;
}

khal_status khal_kernels_load_begin(khal_device* device, const khal_kernel_library* library,
                                    khal_kernels** out_kernels)
{
    khal_status status = check(device, library, out_kernels);
    if (status)
        return status;
    khal_module* module = NULL;
    status = khal_module_load_begin(
        device, &(khal_module_desc){.library = library, .label = library->name}, &module);
    return status ? status : create(device, module, library, out_kernels);
}

khal_status khal_kernels_load_poll(khal_kernels* k)
{
    if (!k)
        return khal__fail(NULL, KHAL_ERROR_ARGUMENT_NULL, 0, "", "kernels is NULL");
    if (!k->is_loaded) {
        const khal_status status = khal_module_load_poll(k->module);
        if (status)
            return status;
        k->is_loaded = true;
    }
    for (; k->ready_count < k->function_count; k->ready_count++) {
        khal_function** function = &k->functions[k->ready_count];
        khal_status status = KHAL_OK;
        if (!*function)
            status = khal_function_create_begin(
                k->module,
                &(khal_function_desc){.entry_point =
                                          khal_module_get_kernel_name(k->module, k->ready_count)},
                function);
        if (is_refusal(status))
            status = khal__function_refuse(k->module, k->ready_count, khal_error_get(), function,
                                           NULL, 0);
        else if (!status)
            status = khal_function_create_poll(*function);
        if (status && !is_refusal(status))
            return status;
    }
    return KHAL_OK;
}

void khal_kernels_retain(khal_kernels* k)
{
    if (k)
        atomic_fetch_add_explicit(&k->references, 1u, memory_order_relaxed);
}

void khal_kernels_release(khal_kernels* k)
{
    if (!k || atomic_fetch_sub_explicit(&k->references, 1u, memory_order_acq_rel) != 1u)
        return;
    for (uint32_t i = 0; i < k->function_count; i++)
        khal_function_release(k->functions[i]);
    khal_module_release(k->module);
    khal_device* device = k->device;
    khal__free(device, k, k->size);
    khal__device_unhold(device);
}

khal_function* khal_kernels_get_function(const khal_kernels* k, uint32_t index)
{
    return k && index < k->ready_count ? k->functions[index] : NULL;
}
