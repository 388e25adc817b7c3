#include "core.h"

#include <khal/interop/webgpu.h>

khal_status khal_webgpu_device_wrap(const khal_webgpu_device_desc* webgpu, const khal_device_desc* desc,
                                    khal_device** out_device)
{
    const char* label = desc != NULL ? desc->label : NULL;
    if (webgpu == NULL || out_device == NULL)
        return khal__fail_null(NULL, label, webgpu == NULL ? "webgpu" : "out_device");
    if (webgpu->handles.device == NULL)
        return khal__fail_null(NULL, label, "webgpu->handles.device");
    return khal__device_wrap(KHAL_BACKEND_WEBGPU, webgpu, desc, out_device);
}

static khal_status check_backend(khal_device* device, const char* label)
{
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    return device->backend->id == KHAL_BACKEND_WEBGPU
               ? KHAL_OK
               : khal__fail(device, KHAL_ERROR_UNSUPPORTED, 0, label, "%s is not a WebGPU device", device->info.name);
}

khal_status khal_webgpu_device_get_handles(khal_device* device, khal_webgpu_handles* out_handles)
{
    if (device == NULL || out_handles == NULL)
        return khal__fail_null(device, NULL, device == NULL ? "device" : "out_handles");
    khal_status status = check_backend(device, device->object.label);
    khal_webgpu_handles handles = {NULL, NULL, NULL, NULL};
    const struct {
        uint32_t kind;
        void** out;
    } wanted[] = {{KHAL__NATIVE_INSTANCE, &handles.instance},
                  {KHAL__NATIVE_ADAPTER, &handles.adapter},
                  {KHAL__NATIVE_DEVICE, &handles.device},
                  {KHAL__NATIVE_QUEUE, &handles.queue}};
    for (size_t i = 0; status == KHAL_OK && i < sizeof wanted / sizeof wanted[0]; ++i)
        status = device->backend->native_handle(device, wanted[i].kind, NULL, wanted[i].out);
    if (status == KHAL_OK)
        *out_handles = handles;
    return status;
}

khal_status khal_webgpu_buffer_wrap_at(const char* file, int line, khal_device* device, void* handle,
                                       const khal_buffer_desc* desc, khal_buffer** out_buffer)
{
    const char* label = desc != NULL ? desc->label : NULL;
    if (device == NULL || handle == NULL || desc == NULL || out_buffer == NULL)
        return khal__fail_null(device, label,
                               device == NULL   ? "device"
                               : handle == NULL ? "handle"
                               : desc == NULL   ? "desc"
                                                : "out_buffer");
    const khal_status status = check_backend(device, label);
    if (status != KHAL_OK)
        return status;
    if (desc->data != NULL || desc->uninitialized || desc->host_memory != NULL)
        return khal__fail(device, KHAL_ERROR_BUFFER_DATA, 0, label, "a wrapped buffer has its own contents");
    return khal__buffer_wrap(file, line, device, handle, desc, out_buffer);
}

khal_status khal_webgpu_buffer_get_handle(khal_buffer* buffer, void** out_handle)
{
    if (buffer == NULL || out_handle == NULL)
        return khal__fail_null(buffer != NULL ? buffer->object.device : NULL, NULL,
                               buffer == NULL ? "buffer" : "out_handle");
    khal_device* device = buffer->object.device;
    khal_status status = check_backend(device, buffer->object.label);
    void* handle = NULL;
    if (status == KHAL_OK)
        status = device->backend->native_handle(device, KHAL__NATIVE_BUFFER, buffer, &handle);
    if (status == KHAL_OK)
        *out_handle = handle;
    return status;
}
