#include "core.h"

#include <khal/interop/cpu.h>

khal_status khal_cpu_buffer_get_memory(khal_buffer* buffer, void** out_memory)
{
    if (buffer == NULL || out_memory == NULL)
        return khal__fail_null(buffer != NULL ? buffer->object.device : NULL, NULL,
                               buffer == NULL ? "buffer" : "out_memory");
    khal_device* device = buffer->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (device->backend->id != KHAL_BACKEND_CPU || device->backend->native_handle == NULL)
        return khal__fail(device, KHAL_ERROR_UNSUPPORTED, 0, buffer->object.label,
                          "%s has no buffers in host memory", device->info.name);
    void* memory = NULL;
    const khal_status status =
        device->backend->native_handle(device, KHAL__NATIVE_BUFFER, buffer, &memory);
    if (status == KHAL_OK)
        *out_memory = memory;
    return status;
}
