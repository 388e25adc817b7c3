/* What khalc generates and the runtime reads: one constant table for each .cl file.
 *
 * Nothing here is written by hand. A generated `NAME.khal.c` defines one khal_kernel_library; its
 * launchers, khal_kernels_load() and khal_module_load() take it. The table is versioned: a runtime
 * refuses one that it does not know. */
#ifndef KHAL_LIBRARY_H
#define KHAL_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KHAL_LIBRARY_VERSION 1u

/* The formats that a device may take. */
typedef enum khal_format {
    KHAL_FORMAT_NONE = 0,
    KHAL_FORMAT_CPU, /* work-group functions in this program, a table for each SIMD level */
    KHAL_FORMAT_SPIRV,
    KHAL_FORMAT_WGSL,
    KHAL_FORMAT_PTX,
    KHAL_FORMAT_CUBIN, /* and fatbin */
    KHAL_FORMAT_MSL,
} khal_format;

typedef enum khal_arg_kind {
    KHAL_ARG_BUFFER = 1, /* `__global T*` */
    KHAL_ARG_CONSTANT,   /* `__constant T*` */
    KHAL_ARG_LOCAL,      /* `__local T*`: its size belongs to the dispatch */
    KHAL_ARG_VALUE,      /* a scalar, vector or struct, in the push constants */
} khal_arg_kind;

#define KHAL_ACCESS_READ 1u
#define KHAL_ACCESS_WRITE 2u

typedef struct khal_arg_info {
    const char* name;
    const char* type_name; /* as in the source, of the element for pointers: "float4" */
    uint32_t kind;         /* khal_arg_kind */
    uint32_t access;       /* buffers: KHAL_ACCESS_..., from what the kernel does */
    uint32_t index; /* buffers: binding index; locals: index among the local arguments; values: 0 */
    uint32_t element_size;  /* bytes; of a value: its size */
    uint32_t element_align; /* bytes */
    uint32_t offset;        /* values: offset in the push constants, bytes */
} khal_arg_info;

#define KHAL_KERNEL_HAS_BARRIER 1u /* whole work-groups run, also past a thread count */
#define KHAL_KERNEL_HAS_PRINTF 2u
#define KHAL_KERNEL_HAS_ATOMICS 4u
#define KHAL_KERNEL_HAS_FP64 8u
/* Not khalc's: whole work-groups run and ids can't be folded. */
#define KHAL_KERNEL_IS_FOREIGN 16u

typedef struct khal_kernel_info {
    const char* name;
    const khal_arg_info* args; /* in the order of the source */
    uint32_t arg_count;
    uint32_t binding_count;      /* KHAL_ARG_BUFFER and KHAL_ARG_CONSTANT together */
    uint32_t local_count;        /* KHAL_ARG_LOCAL */
    uint32_t push_constant_size; /* bytes */
    uint32_t workgroup_size[3];  /* 0, 0, 0: the dispatch chooses */
    uint32_t local_memory_size;  /* bytes of the kernel's own __local variables */
    uint32_t flags;              /* KHAL_KERNEL_... */
} khal_kernel_info;

/* One dispatch, as a CPU work-group function sees it: the hidden arguments. */
#define KHAL_CPU_ABI 1u
typedef struct khal_cpu_launch {
    uint32_t work_dim;       /* 1, 2 or 3 */
    uint32_t local_size[3];  /* work-items in a whole group, never 0 */
    uint64_t group_count[3]; /* logical grid, never 0 */
    uint64_t global_size[3]; /* kernels without barriers: the work-items that run; with: group_count
                              * local_size */
    void* const* bindings;   /* address of each binding's first element */
    const uint64_t* binding_sizes; /* bytes of each */
    const void* push_constants;
    const uint64_t* local_sizes; /* bytes of each __local argument */
    /* printf: `text` is complete and formatted; called from any thread, one call a printf */
    void (*print)(void* print_user, const char* text, size_t size);
    void* print_user;
} khal_cpu_launch;

/* Runs the groups first_group <= g < last_group of the linear order x, then y, then z. `scratch` is
 * 128-byte aligned, at least scratch_fixed + scratch_per_item * local_size[0] * [1] * [2] bytes
 * plus, for each __local argument, its size rounded up to 128; its contents are undefined.
 * Different ranges may run at once, each with its own scratch. */
typedef void (*khal_cpu_kernel_fn)(const khal_cpu_launch* launch, uint64_t first_group,
                                   uint64_t last_group, void* scratch);

typedef struct khal_cpu_kernel {
    khal_cpu_kernel_fn run;
    uint64_t scratch_fixed, scratch_per_item; /* bytes */
} khal_cpu_kernel;

/* SIMD levels of one architecture, rising. A table for level N may run where the processor has at
 * least N. */
typedef enum khal_cpu_level {
    KHAL_CPU_LEVEL_BASE = 0, /* what the compiler takes for granted: SSE2, NEON */
    KHAL_CPU_LEVEL_X86_V3,   /* AVX2, FMA, F16C, BMI */
    KHAL_CPU_LEVEL_X86_V4,   /* AVX-512 F, BW, CD, DQ, VL */
} khal_cpu_level;

#define KHAL_CODE_CHECKED 1u /* built with bounds checks (khalc --check) */

typedef struct khal_code {
    uint32_t format; /* khal_format */
    uint32_t flags;  /* KHAL_CODE_... */
    uint32_t
        level;    /* CPU: khal_cpu_level; PTX and cubin: compute capability times 10 (75); else 0 */
    uint32_t abi; /* CPU: KHAL_CPU_ABI; else the version of the hidden argument block */
    const void* bytes; /* all but CPU */
    size_t size;
    const khal_cpu_kernel* cpu_kernels; /* CPU: one for each kernel, in the library's order */
} khal_code;

typedef struct khal_kernel_library {
    uint32_t version; /* KHAL_LIBRARY_VERSION */
    uint32_t kernel_count;
    uint32_t code_count;
    const char* name; /* of the source file, without folder and extension */
    const khal_kernel_info* kernels;
    const khal_code* codes;
} khal_kernel_library;

#ifdef __cplusplus
}
#endif
#endif
