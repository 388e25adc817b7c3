/* The WebGPU backend's objects, in and out.
 *
 * Handles are those of the standard webgpu.h (WGPUDevice and so on), given as void* so that this header needs none. What
 * goes in must come from the library that `library` or `get_function` names: handles of one library mean nothing to another.
 *
 * A wrapped device is the program's: khal takes references of its own to the four handles, drops them when its device
 * closes, and never destroys what they name. khal calls the library under a lock of its own, one call at a time, from the
 * threads that call khal, and for native callbacks from one of its own. Libraries that are not thread-safe (Dawn) need
 * the program to make its own calls when khal makes none. While khal waits it has the instance's events processed, which runs
 * the program's callbacks too. Errors that khal's calls cause are caught by error scopes; the program's own go where it wants.
 *
 * Both share the buffers themselves. The queue's order holds: what one submits comes after what the other submitted
 * before. A wrapped buffer may be neither mapped nor destroyed when work of khal's that uses it is submitted. */
#ifndef KHAL_INTEROP_WEBGPU_H
#define KHAL_INTEROP_WEBGPU_H

#include <khal/khal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct khal_webgpu_handles {
    void* instance; /* WGPUInstance; only wgpu-native can do without */
    void* adapter;  /* WGPUAdapter; NULL: the device goes without a name */
    void* device;   /* WGPUDevice */
    void* queue;    /* WGPUQueue; NULL: the device's */
} khal_webgpu_handles;

typedef struct khal_webgpu_device_desc {
    khal_webgpu_handles handles;
    /* Where the library's functions come from: the address of "wgpuDeviceCreateBuffer" and so on, NULL where there is none;
     * or else a library by its path; or else, both NULL, the one that khal_device_open would take. */
    void* (*get_function)(void* user, const char* name);
    void* user;
    const char* library;
} khal_webgpu_device_desc;

/* A khal device over a WebGPU device that the program has, with the limits and features that it was made with. Of `desc` (may
 * be NULL) backend, index and name are not used. Errors: ARGUMENT_NULL (a handle that must be there), BACKEND_UNAVAILABLE
 * (no such library, or one that lacks a function), BACKEND_NOT_BUILT, DEVICE_DESC. */
KHAL_API KHAL_MUST_USE khal_status khal_webgpu_device_wrap(const khal_webgpu_device_desc* webgpu,
                                                           const khal_device_desc* desc, khal_device** out_device);
/* The handles of a device, khal's own or a wrapped one, without new references: they live while the device does. The program
 * must not destroy the device. Error: UNSUPPORTED (not a WebGPU device). */
KHAL_API KHAL_MUST_USE khal_status khal_webgpu_device_get_handles(khal_device* device, khal_webgpu_handles* out_handles);

/* A khal buffer that is the WGPUBuffer `handle`, made on the device that is wrapped, or got from, `device`. desc->size is a
 * multiple of 4 and at most the handle's size; desc->usage says what khal may do with it, which must
 * be a part of what it was made for: any use needs WGPUBufferUsage_Storage, _CopySrc and _CopyDst. Errors: those of
 * khal_buffer_create, UNSUPPORTED (not a WebGPU device), BUFFER_USAGE, BUFFER_RANGE. */
KHAL_API KHAL_MUST_USE khal_status khal_webgpu_buffer_wrap_at(const char* file, int line, khal_device* device, void* handle,
                                                              const khal_buffer_desc* desc, khal_buffer** out_buffer);
#define khal_webgpu_buffer_wrap(...) khal_webgpu_buffer_wrap_at(__FILE__, __LINE__, __VA_ARGS__)
/* The WGPUBuffer, without a new reference; NULL for a buffer of size 0. Its size is khal's rounded up to 16. Bytes that khal
 * was told to write are there for what is submitted after. Error: UNSUPPORTED. */
KHAL_API KHAL_MUST_USE khal_status khal_webgpu_buffer_get_handle(khal_buffer* buffer, void** out_handle);

#ifdef __cplusplus
}
#endif
#endif
