/* What foreign code says about a kernel: its bindings, sizes and entry points. */
#ifndef KHAL_CORE_REFLECT_H
#define KHAL_CORE_REFLECT_H

#include "backend.h"

typedef struct khal__reflection {
    const char* problem;         /* why the code can't tell; NULL: it is all here */
    khal_binding_desc* bindings; /* of the buffers that the entry point can reach, by group and
                                    binding; access as it uses them */
    char (*names)[64];
    uint32_t binding_count, capacity;
    uint32_t push_constant_size, local_memory_size; /* bytes */
    uint32_t workgroup_size[3];                     /* 0: the code does not tell */
    bool has_parameters;         /* PTX, cubin: the entry point's parameters are known */
    khal__parameter* parameters; /* their size and align alone */
    uint32_t parameter_count;
} khal__reflection;

/* KHAL_OUT_OF_MEMORY (without khal__fail) or KHAL_OK; then khal__reflection_free lets go of it.
 * SPIR-V is in the host's byte order and was checked; `specializations` may change the work-group
 * size. */
khal_status khal__reflect(khal_device* device, const khal_code* code, const char* entry_point,
                          khal__reflection* out);
khal_status khal__reflect_spirv(khal_device* device, const uint32_t* words, size_t count,
                                const char* entry_point, khal__reflection* out);
khal_status khal__reflect_wgsl(khal_device* device, const char* text, size_t size,
                               const char* entry_point, khal__reflection* out);
khal_status khal__reflect_ptx(khal_device* device, const char* text, size_t size,
                              const char* entry_point, khal__reflection* out);
khal_status khal__reflect_cubin(khal_device* device, const void* code, size_t size,
                                const char* entry_point, khal__reflection* out);
/* Of WGSL, whatever the entry point: how it declares a buffer (false: it does not, or not with
 * plain numbers), and whether it has var<immediate>. */
bool khal__wgsl_binding(khal_device* device, const char* text, size_t size, uint32_t group,
                        uint32_t binding, khal_binding_desc* out);
bool khal__wgsl_has_immediates(khal_device* device, const char* text, size_t size);
/* The caller gives push constants, and the code declares none: the last uniform buffer of group 0,
 * where its number follows the one before, is what they come in, and no binding. */
void khal__reflection_take_push(khal__reflection* reflection);
void khal__reflection_free(khal_device* device, khal__reflection* reflection);
/* Adds a binding, or access to one that is there. NULL: out of memory, or `problem` is set. */
khal_binding_desc* khal__reflection_add(khal_device* device, khal__reflection* reflection,
                                        const khal_binding_desc* binding, const char* name);

#endif
