/* CUDA objects in and out of khal, through the driver API's own types as plain handles, so that neither header needs the
 * other. A CUDA runtime program has the same objects: its primary context, its cudaStream_t is a CUstream, its device
 * pointers are CUdeviceptr.
 *
 * What either submits to the stream comes after what the other submitted to it before. A native callback
 * (khal_encoder_native) gets that stream as its `handle`, on a thread of khal's or of the program's, where the device's
 * context is current: it may launch, copy, record events and have the stream wait for them; it may not wait for the
 * stream itself, whose work may depend on what is submitted later. */
#ifndef KHAL_INTEROP_CUDA_H
#define KHAL_INTEROP_CUDA_H

#include <khal/khal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct khal_cuda_device_desc {
    void* context; /* CUcontext; the program keeps it alive while the device lives */
    void* stream;  /* CUstream of that context that khal's work goes into, in order with the program's own; NULL: one of khal's own */
} khal_cuda_device_desc;

/* A khal device over a context that the program has. Of desc, backend, index and name are not read; NULL is all defaults.
 * khal makes the context current while it calls the driver, and puts back what was. Errors: ARGUMENT_NULL (`cuda`
 * or its context), BACKEND_UNAVAILABLE (no driver), DEVICE_NOT_FOUND (no CUDA context, or the stream is not of it), those of
 * khal_device_open. */
KHAL_API KHAL_MUST_USE khal_status khal_cuda_device_wrap(const khal_cuda_device_desc* cuda, const khal_device_desc* desc,
                                                         khal_device** out_device);

typedef struct khal_cuda_handles {
    int device;    /* CUdevice */
    void* context; /* CUcontext */
    void* stream;  /* CUstream that submissions go into; what the program puts there is in order with them. Work that khal was
                      told to submit is there, but behind native callbacks that have not run yet */
} khal_cuda_handles;
/* The handles of a device, khal's own or a wrapped one: they live while the device does. Error: UNSUPPORTED (not a CUDA
 * device). */
KHAL_API KHAL_MUST_USE khal_status khal_cuda_device_get_handles(khal_device* device, khal_cuda_handles* out_handles);

/* A khal buffer over device memory that the program has: `address` (a CUdeviceptr) is a multiple of 128, and desc->size
 * bytes from it on belong to one allocation that `device` can reach. The program frees it after the buffer. Errors: those of
 * khal_buffer_create, ARGUMENT_NULL (an address of 0), UNSUPPORTED (not a CUDA device), BUFFER_DATA (contents are given),
 * BUFFER_RANGE (not memory that the driver knows, or too little of it), SLICE_ALIGNMENT. */
KHAL_API KHAL_MUST_USE khal_status khal_cuda_buffer_wrap_at(const char* file, int line, khal_device* device, uint64_t address,
                                                            const khal_buffer_desc* desc, khal_buffer** out_buffer);
#define khal_cuda_buffer_wrap(...) khal_cuda_buffer_wrap_at(__FILE__, __LINE__, __VA_ARGS__)
/* The CUdeviceptr of the buffer's first byte; 0 for a buffer of size 0. Error: UNSUPPORTED. */
KHAL_API KHAL_MUST_USE khal_status khal_cuda_buffer_get_address(khal_buffer* buffer, uint64_t* out_address);

#ifdef __cplusplus
}
#endif
#endif
