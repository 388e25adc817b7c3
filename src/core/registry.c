#include "core.h"

#include <stdio.h>

#ifndef KHAL_WITHOUT_CPU
#define CPU_TABLE &khal__cpu_backend
#else
#define CPU_TABLE NULL
#endif

#ifndef KHAL_WITHOUT_CUDA
#define CUDA_TABLE &khal__cuda_backend
#else
#define CUDA_TABLE NULL
#endif

#ifndef KHAL_WITHOUT_WEBGPU
#define WEBGPU_TABLE &khal__webgpu_backend
#else
#define WEBGPU_TABLE NULL
#endif

/* In order of preference; one without a table is known by name and not part of this build. */
const khal__known_backend khal__known_backends[] = {
    {KHAL_BACKEND_CUDA, "cuda", CUDA_TABLE}, {KHAL_BACKEND_METAL, "metal", NULL},
    {KHAL_BACKEND_VULKAN, "vulkan", NULL},   {KHAL_BACKEND_WEBGPU, "webgpu", WEBGPU_TABLE},
    {KHAL_BACKEND_CPU, "cpu", CPU_TABLE},    {KHAL_BACKEND_NOOP, "noop", &khal__noop_backend},
    {KHAL_BACKEND_AUTO, NULL, NULL},
};

const char* khal__backend_name(khal_backend id)
{
    for (const khal__known_backend* known = khal__known_backends; known->name != NULL; ++known)
        if (known->id == id)
            return known->name;
    return "automatic";
}

const char* khal__format_name(uint32_t format)
{
    switch (format) {
    case KHAL_FORMAT_CPU: return "CPU functions of a khalc library";
    case KHAL_FORMAT_SPIRV: return "SPIR-V";
    case KHAL_FORMAT_WGSL: return "WGSL";
    case KHAL_FORMAT_PTX: return "PTX";
    case KHAL_FORMAT_CUBIN: return "cubin";
    case KHAL_FORMAT_MSL: return "MSL";
    default: return "unknown";
    }
}

void khal__format_list(uint32_t formats, char* out, size_t size)
{
    size_t length = 0;
    out[0] = 0;
    for (uint32_t format = KHAL_FORMAT_CPU; format <= KHAL_FORMAT_MSL; ++format) {
        if ((formats & (1u << format)) == 0)
            continue;
        const int n = snprintf(out + length, size - length, "%s%s", length > 0 ? ", " : "",
                               khal__format_name(format));
        if (n < 0 || (size_t)n >= size - length)
            break;
        length += (size_t)n;
    }
    if (length == 0)
        snprintf(out, size, "nothing");
}
