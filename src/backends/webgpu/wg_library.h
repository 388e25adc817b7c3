/* A WebGPU library opened at run time, and the one place that knows how the libraries differ. */
#ifndef KHAL_WG_LIBRARY_H
#define KHAL_WG_LIBRARY_H

#include "../../core/backend.h"
#include "wg_api.h"

typedef struct wg_functions {
#define WG_POINTER(result, name, parameters) result (*name) parameters;
    WG_REQUIRED_FUNCTIONS(WG_POINTER)
    WG_OPTIONAL_FUNCTIONS(WG_POINTER)
#undef WG_POINTER
} wg_functions;

typedef enum wg_dialect {
    WG_DIALECT_STANDARD,    /* webgpu.h of 2026: Dawn of today, and what is unknown */
    WG_DIALECT_DAWN_2025,   /* an older Dawn */
    WG_DIALECT_WGPU_NATIVE, /* wgpu-native */
} wg_dialect;

typedef enum wg_feature {
    WG_FEATURE_TIMESTAMPS,
    WG_FEATURE_ENCODER_TIMESTAMPS, /* CommandEncoderWriteTimestamp */
    WG_FEATURE_F16,
    WG_FEATURE_IMMEDIATES,
    WG_FEATURE_COUNT,
} wg_feature;

typedef struct wg_library {
    wg_functions f;
    wg_dialect dialect;
    bool is_dawn;
    char path[512]; /* as it was opened */
    char name[64];  /* "wgpu-native 29.0.1.1" */
    uint64_t direct_write_size; /* bytes up to which QueueWriteBuffer is the fastest way */
} wg_library;

/* The library at `path`; with NULL, the one that KHAL_WEBGPU_LIBRARY names, else the first of the usual names that is there.
 * NULL: `reason` says what is missing. Each is opened once in a process and kept: drivers do not survive being unloaded. */
wg_library* wg_library_open(const char* path, char* reason, size_t reason_size);

/* One whose functions the program tells. */
wg_library* wg_library_of(void* (*find)(void* user, const char* name), void* user, char* reason, size_t reason_size);

/* NULL where the library refuses. */
WGPUInstance wg_library_create_instance(const wg_library* library);
/* Up to `capacity` different adapters, the best first; the caller releases them. None: `reason` says why. */
uint32_t wg_library_adapters(const wg_library* library, WGPUInstance instance, uint32_t capacity, WGPUAdapter* out,
                             char* reason, size_t reason_size);
bool wg_adapter_has(const wg_library* library, WGPUAdapter adapter, wg_feature feature);
bool wg_device_has(const wg_library* library, WGPUDevice device, wg_feature feature);
/* A device with every wg_feature and limit that the adapter has. NULL: `reason` says why. */
WGPUDevice wg_library_create_device(const wg_library* library, WGPUInstance instance, WGPUAdapter adapter,
                                    WGPUDeviceLostCallbackInfo lost, WGPUUncapturedErrorCallbackInfo error, char* reason,
                                    size_t reason_size);
/* Whether the library's words for a validation error mean that memory ran out. */
bool wg_library_is_out_of_memory(const wg_library* library, WGPUErrorType type, const char* message);

/* A string of the library, cut to fit, always ended. */
void wg_text(char* out, size_t size, WGPUStringView text);
static inline WGPUStringView wg_view(const char* text)
{
    return (WGPUStringView){text, WGPU_STRLEN};
}

#endif
