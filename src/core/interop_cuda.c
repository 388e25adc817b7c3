#include "core.h"

#include <khal/interop/cuda.h>

khal_status khal_cuda_device_wrap(const khal_cuda_device_desc* cuda, const khal_device_desc* desc, khal_device** out_device)
{
    const char* label = desc != NULL ? desc->label : NULL;
    if (cuda == NULL || out_device == NULL)
        return khal__fail_null(NULL, label, cuda == NULL ? "cuda" : "out_device");
    if (cuda->context == NULL)
        return khal__fail_null(NULL, label, "cuda->context");
    return khal__device_wrap(KHAL_BACKEND_CUDA, cuda, desc, out_device);
}

static khal_status check_backend(khal_device* device, const char* label)
{
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    return device->backend->id == KHAL_BACKEND_CUDA
               ? KHAL_OK
               : khal__fail(device, KHAL_ERROR_UNSUPPORTED, 0, label, "%s is not a CUDA device", device->info.name);
}

khal_status khal_cuda_device_get_handles(khal_device* device, khal_cuda_handles* out_handles)
{
    if (device == NULL || out_handles == NULL)
        return khal__fail_null(device, NULL, device == NULL ? "device" : "out_handles");
    khal_status status = check_backend(device, device->object.label);
    void *ordinal = NULL, *context = NULL, *stream = NULL;
    const struct {
        uint32_t kind;
        void** out;
    } wanted[] = {
        {KHAL__NATIVE_DEVICE, &ordinal}, {KHAL__NATIVE_CONTEXT, &context}, {KHAL__NATIVE_STREAM, &stream}};
    for (size_t i = 0; status == KHAL_OK && i < sizeof wanted / sizeof wanted[0]; ++i)
        status = device->backend->native_handle(device, wanted[i].kind, NULL, wanted[i].out);
    if (status == KHAL_OK)
        *out_handles = (khal_cuda_handles){(int)(intptr_t)ordinal, context, stream};
    return status;
}

khal_status khal_cuda_buffer_wrap_at(const char* file, int line, khal_device* device, uint64_t address,
                                     const khal_buffer_desc* desc, khal_buffer** out_buffer)
{
    const char* label = desc != NULL ? desc->label : NULL;
    if (device == NULL || address == 0 || desc == NULL || out_buffer == NULL)
        return khal__fail_null(device, label,
                               device == NULL ? "device"
                               : address == 0 ? "address"
                               : desc == NULL ? "desc"
                                              : "out_buffer");
    const khal_status status = check_backend(device, label);
    if (status != KHAL_OK)
        return status;
    if (desc->data != NULL || desc->uninitialized || desc->host_memory != NULL)
        return khal__fail(device, KHAL_ERROR_BUFFER_DATA, 0, label, "a wrapped buffer has its own contents");
    if (address > UINTPTR_MAX)
        return khal__fail(device, KHAL_ERROR_BUFFER_RANGE, 0, label, "the address 0x%llx is not one of this process",
                          (unsigned long long)address);
    if (address % KHAL__MEMORY_ALIGN != 0)
        return khal__fail(device, KHAL_ERROR_SLICE_ALIGNMENT, 0, label, "the address 0x%llx is no multiple of %u",
                          (unsigned long long)address, KHAL__MEMORY_ALIGN);
    return khal__buffer_wrap(file, line, device, (void*)(uintptr_t)address, desc, out_buffer);
}

khal_status khal_cuda_buffer_get_address(khal_buffer* buffer, uint64_t* out_address)
{
    if (buffer == NULL || out_address == NULL)
        return khal__fail_null(buffer != NULL ? buffer->object.device : NULL, NULL,
                               buffer == NULL ? "buffer" : "out_address");
    khal_device* device = buffer->object.device;
    khal_status status = check_backend(device, buffer->object.label);
    void* address = NULL;
    if (status == KHAL_OK)
        status = device->backend->native_handle(device, KHAL__NATIVE_BUFFER, buffer, &address);
    if (status == KHAL_OK)
        *out_address = (uint64_t)(uintptr_t)address;
    return status;
}
