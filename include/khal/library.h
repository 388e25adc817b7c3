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

#define KHAL_LIBRARY_VERSION 3u

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

/* One kernel in WGSL, as a module of its own whose entry point has the kernel's name (`entry`). The
 * runtime composes the module's last lines, which are its own choice:
 *
 *   source         + the block
 *   shared_source  + the buffers and the functions that reach them + the block
 *
 * The block, `khal`, holds the hidden arguments and the push constants. The runtime declares it as
 *     @group(0) @binding(N) var<uniform> khal: khal_block;      N: the number of buffer arguments
 * or, where the device has immediates of block_size, var<immediate>. khal_block is declared by the
 * source; its layout is
 *     offset  0  group_count: vec3<u32>    logical grid, in work-groups
 *            12  work_dim: u32             1, 2 or 3
 *            16  global_size: vec3<u32>    work-items that run (khal_cpu_launch.global_size)
 *            28  base_z: u32               z of the first logical group of this dispatch
 *            32  fold: vec4<u32>           x: groups in a row of the API's grid, y: rows that make one logical
 *                                          row, z and w: the same in y. Logical group of the API's group g:
 *                                          x = g.x + fold.x * (g.z % fold.y),
 *                                          y = g.y + fold.z * (g.z / fold.y % fold.w),
 *                                          z = base_z + g.z / (fold.y * fold.w);
 *                                          not folded: fold.y = fold.w = 1. Groups outside group_count end at once
 *            48  slices: array<vec4<u32>, (bindings + 1) / 2>    two of them in each: bytes from where
 *                                          the binding begins to the slice's first byte, bytes of the slice
 *             +  locals: array<vec4<u32>, (locals + 3) / 4>      bytes of each `__local` argument
 *             +  push: array<vec4<u32>, (push_constant_size + 15) / 16>
 * parts that have no element are left out. Buffer argument i is @group(0) @binding(i) in `source`.
 *
 * Overrides, by name: khal_size_x, khal_size_y, khal_size_z, the work-group size where the kernel
 * leaves it open; khal_local_I, elements (local_strides[I] bytes each, rounded up, at least 1) of the
 * I-th `__local` argument; khal_has_fma and khal_has_sqrt, whether the device's fma is fused and its
 * sqrt within 2 ulps, in sources with the flag KHAL_WGSL_USES_FMA or KHAL_WGSL_USES_SQRT;
 * khal_is_plain, whether a dispatch is not folded, begins at z 0, and has no slice with an offset from its
 * binding's start: these parts of the block are then not read; khal_is_exact, whether it is plain and global_size is
 * group_count times the work-group size. All are false by default.
 *
 * shared_source is for dispatches in which two arguments share a buffer and one of them is written, which WebGPU
 * refuses as two bindings. Every buffer is words of 32 bits, reached only through functions that the runtime writes,
 * `names[i]` being the argument's name in WGSL:
 *     fn NAME_load(i: u32) -> u32, fn NAME_store(i: u32, value: u32), and where KHAL_WGSL_USES_ATOMICS
 *     fn NAME_add(i: u32, value: u32) -> u32 (the old word), and so _sub, _and, _or, _xor, _min, _max (unsigned),
 *     _exchange, and fn NAME_compare_exchange(i: u32, comparand: u32, value: u32) -> u32. */
#define KHAL_WGSL_ABI 1u
#define KHAL_WGSL_USES_FMA 1u
#define KHAL_WGSL_USES_SQRT 4u
#define KHAL_WGSL_USES_ATOMICS 2u /* on some buffer; in shared_source every buffer is then atomic */
typedef struct khal_wgsl_kernel {
    const char* source; /* NULL: the kernel can't be had in WGSL */
    const char* reason; /* why not: "kernels.cl:12:3: double ..."; NULL where there is a source */
    const char* shared_source; /* NULL where no two arguments can clash */
    const char* entry;         /* the entry point's name in the sources */
    const char* const* names;  /* of the buffer arguments, in the order of bindings */
    const uint32_t* local_strides; /* bytes, one for each `__local` argument */
    uint32_t block_size;           /* bytes, a multiple of 16; 0: the sources use no block */
    uint32_t flags;                /* KHAL_WGSL_... */
} khal_wgsl_kernel;

/* One kernel in a library's PTX or cubin. It has two entry points, which take the same parameters, one for each
 * argument in the order of the source, then one more:
 *   a buffer argument   u64, the address of the slice's first byte
 *   a value             its bytes, of the size and alignment that it has in the kernel language
 *   a `__local` one     u64: low 32 bits, where it begins in the launch's dynamic shared memory; high 32 bits, its bytes
 *   `entry`             khal_ptx_plain: the work-group ids are the launch's own
 *   `grid_entry`        khal_ptx_grid: any number of blocks along x walks over the logical work-groups, so that a grid may
 *                       be larger than a launch, and its counts may be known to the device alone
 * `__local` arguments lie in dynamic shared memory from dynamic_size on, each at a multiple of 128. Where the kernel
 * leaves the work-group size open, the launch's block is the work-group. */
#define KHAL_PTX_ABI 1u
typedef struct khal_ptx_plain {
    uint64_t global_size[3]; /* work-items that run (khal_cpu_launch.global_size) */
    uint32_t work_dim;       /* 1, 2 or 3: dimensions past it have one work-item */
    uint32_t is_exact;       /* not 0: global_size is group_count times the work-group size, so that no work-item is surplus */
} khal_ptx_plain;
typedef struct khal_ptx_grid {
    uint64_t group_count[3];
    uint64_t global_size[3]; /* as above */
    uint64_t counts;         /* not 0: address of three uint32_t, the group counts; the two above are not read */
    uint64_t too_many;       /* with counts: address of a uint32_t that is set to 1 where the groups are 2^63 or more, of
                                which none then runs */
    uint32_t work_dim;       /* with counts: not read; 3 */
    uint32_t is_exact;       /* as above; with counts: not read, it always is */
} khal_ptx_grid;
typedef struct khal_ptx_kernel {
    const char *entry, *grid_entry; /* NULL: the kernel can't be had in PTX */
    const char* reason; /* why not: "kernels.cl:12:3: ..."; NULL where there are entries */
    uint32_t dynamic_size; /* bytes of dynamic shared memory that the kernel's own variables take; 0 where they are static */
    uint32_t reserved;
} khal_ptx_kernel;

#define KHAL_CODE_CHECKED 1u /* built with bounds checks (khalc --check) */

typedef struct khal_code {
    uint32_t format; /* khal_format */
    uint32_t flags;  /* KHAL_CODE_... */
    uint32_t
        level;    /* CPU: khal_cpu_level; PTX and cubin: compute capability times 10 (75); else 0 */
    uint32_t abi; /* CPU: KHAL_CPU_ABI; WGSL: KHAL_WGSL_ABI; PTX and cubin: KHAL_PTX_ABI */
    const void* bytes; /* all but CPU and a library's WGSL; of PTX, a text whose final 0 `size` counts */
    size_t size;
    const khal_cpu_kernel* cpu_kernels; /* CPU: one for each kernel, in the library's order */
    const khal_wgsl_kernel* wgsl_kernels; /* a library's WGSL: likewise */
    const khal_ptx_kernel* ptx_kernels;   /* a library's PTX and cubin: likewise */
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
