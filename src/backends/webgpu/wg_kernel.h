/* What dispatches are made of: shaders, layouts, pipelines, blocks, bind groups. Everything here is called with
 * device->lock held. */
#ifndef KHAL_WG_KERNEL_H
#define KHAL_WG_KERNEL_H

#include "wg.h"
#include "wg_plan.h"

#define WG_MAX_GROUPS 8u     /* bind groups of foreign code */
#define WG_MAX_BLOCK 8192u   /* bytes of a block of hidden arguments */
#define WG_MAX_PUSH 4096u    /* bytes of push constants, which are a part of it */
#define WG_MAX_CONSTANTS 64u /* overrides that foreign code is given */
#define WG_GRID_SIZE 48u     /* bytes of the block's first part, which tells the grid */

/* Serials of the backend's own buffers have this bit. */
#define WG_OWN_SERIAL (UINT64_C(1) << 63)

/* ---- where the block lies ---------------------------------------------------------------------- */

typedef enum wg_block_kind {
    WG_BLOCK_NONE,
    WG_BLOCK_UNIFORM, /* a slot of a uniform buffer, at a dynamic offset of the last binding of group 0 */
    WG_BLOCK_IMMEDIATE,
} wg_block_kind;

/* ---- layouts, one for each shape (wg_pipeline.c) ------------------------------------------------- */

typedef struct wg_shape_entry {
    uint32_t group, binding;
    WGPUBufferBindingType type;
    uint32_t block_size; /* of the block: it has a dynamic offset; 0: one of the caller's buffers */
} wg_shape_entry;

typedef struct wg_layout {
    struct wg_layout* next;
    uint64_t id;
    size_t size; /* bytes of this structure with its entries */
    uint32_t group_count;
    WGPUBindGroupLayout groups[WG_MAX_GROUPS];
    WGPUBindGroup empty[WG_MAX_GROUPS]; /* for groups between others that have no binding; NULL elsewhere */
    WGPUPipelineLayout pipeline;
    uint32_t immediate_size, entry_count;
    wg_shape_entry entries[]; /* by group, then as given */
} wg_layout;

/* Kept until the device closes. */
khal_status wg_layout_get(wg_device* device, const wg_shape_entry* entries, uint32_t count, uint32_t immediate_size,
                          const wg_layout** out);
void wg_layouts_close(wg_device* device);

/* ---- programs ---------------------------------------------------------------------------------- */

/* A pipeline as dispatches use it. */
typedef struct wg_program {
    uint64_t id; /* never used again on this device */
    WGPUComputePipeline handle;
    const wg_layout* layout;
    wg_block_kind block;
    uint32_t block_size;
} wg_program;

/* A shader module, checked by the library. The message of a failure is the library's, with line and column. */
khal_status wg_shader_create(wg_device* device, const WGPUShaderModuleDescriptor* desc, khal_error_id id,
                             const char* object, WGPUShaderModule* out);
khal_status wg_shader_create_wgsl(wg_device* device, const char* text, size_t length, const char* label,
                                  khal_error_id id, const char* object, WGPUShaderModule* out);
/* Fills program->handle and id; the rest is there. */
khal_status wg_program_create(wg_device* device, WGPUShaderModule shader, const char* entry,
                              const WGPUConstantEntry* constants, size_t constant_count, const char* object,
                              wg_program* program);
void wg_program_destroy(wg_device* device, wg_program* program);

/* ---- functions (wg_module.c) and their variants (wg_pipeline.c) ---------------------------------- */

typedef struct wg_module {
    WGPUShaderModule shader; /* of foreign code */
    bool has_immediates;     /* foreign code declares its push constants as such */
} wg_module;

/* How the block of one kernel is laid out: offsets of its parts. */
typedef struct wg_block_layout {
    uint32_t slices, locals, push, size;
} wg_block_layout;

wg_block_layout wg_block_lay_out(const khal_kernel_info* info);

/* One text of a kernel: its own bindings, or those that a placement makes. */
typedef struct wg_variant {
    struct wg_variant* next;
    size_t size; /* bytes of this structure */
    wg_block_kind block;
    bool is_shared;
    uint8_t window_count, window_of[WG_MAX_BINDINGS], writes[WG_MAX_BINDINGS]; /* writes: of windows */
    WGPUShaderModule shader;
    const wg_layout* layout;
} wg_variant;

/* What a pipeline may take for granted of its dispatches: khal_is_plain, khal_is_exact of library.h. */
typedef enum wg_shape { WG_SHAPE_ANY, WG_SHAPE_PLAIN, WG_SHAPE_EXACT } wg_shape;

typedef struct wg_pipeline {
    struct wg_pipeline* next;
    size_t size;
    uint64_t used; /* counts up; for what goes first */
    const wg_variant* variant;
    uint32_t workgroup_size[3];
    wg_shape shape;
    wg_program program;
    uint32_t local_counts[]; /* elements */
} wg_pipeline;

typedef struct wg_function {
    const khal_wgsl_kernel* kernel; /* NULL: foreign */
    wg_block_layout block;
    bool has_sizes;
    uint32_t uses; /* KHAL_WGSL_USES_FMA and _SQRT */
    uint32_t element_bytes; /* at least one element of each binding: what an empty slice is bound to */
    wg_variant* variants;
    wg_pipeline* pipelines;
    uint32_t pipeline_count;
    wg_program foreign;                       /* ready-made */
    uint8_t writes[WG_MAX_BINDINGS];          /* each argument */
    uint8_t argument_of[WG_MAX_BINDINGS + 1]; /* foreign: of each entry of the layout; the block: WG_MAX_BINDINGS */
} wg_function;

static inline wg_function* wg_function_of(khal_function* function)
{
    return khal__function_impl(function);
}

static inline wg_block_kind wg_block_kind_of(const wg_device* device, const wg_function* wg, bool is_uniform)
{
    return wg->kernel->block_size == 0                                ? WG_BLOCK_NONE
           : !is_uniform && wg->block.size <= device->immediate_size ? WG_BLOCK_IMMEDIATE
                                                                      : WG_BLOCK_UNIFORM;
}

/* The text of a variant. Returns its length without the final 0; writes at most `capacity` bytes, always ended. */
size_t wg_compose(const khal_wgsl_kernel* kernel, const khal_kernel_info* info, const wg_variant* variant, char* out,
                  size_t capacity);
/* `placement` NULL: the kernel's own bindings. */
khal_status wg_variant_get(khal_function* function, const wg_placement* placement, wg_block_kind block,
                           wg_variant** out);
khal_status wg_pipeline_get(khal_function* function, const wg_placement* placement, wg_block_kind block, wg_shape shape,
                            const uint32_t workgroup_size[3], const uint64_t* local_sizes, wg_pipeline** out);
void wg_pipelines_destroy(khal_function* function);

/* ---- blocks (wg_blocks.c) ------------------------------------------------------------------------ */

/* Where a block's bytes are when the submission runs. */
typedef struct wg_slot {
    WGPUBuffer buffer;
    uint64_t serial;
    uint32_t offset;
    uint32_t chunk_size; /* bytes of `buffer` */
} wg_slot;

khal_status wg_blocks_open(wg_device* device);
/* A recorder begins or has ended: what it uses is kept in between. */
void wg_blocks_begin(wg_device* device, uint64_t epoch);
void wg_blocks_end(wg_device* device, uint64_t epoch);
void wg_blocks_close(wg_device* device);
/* The slot with these bytes: one that holds them already, or one that no recorder uses that has begun and not ended. */
khal_status wg_blocks_place(wg_device* device, uint64_t epoch, const void* bytes, uint32_t size, wg_slot* out);
/* The same, in a buffer that the device may write and take an indirect grid from. Commands of one submission may share
 * it: each prepares it anew. */
khal_status wg_blocks_place_indirect(wg_device* device, uint64_t epoch, const void* bytes, uint32_t size, wg_slot* out);
void wg_blocks_flush(wg_device* device);

/* ---- bind groups (wg_groups.c) ------------------------------------------------------------------- */

typedef struct wg_bound {
    WGPUBuffer buffer;
    uint64_t serial, offset, size;
} wg_bound;

khal_status wg_groups_open(wg_device* device);
void wg_groups_close(wg_device* device);
/* Group `index` of the layout, with one bound for each of its entries. */
khal_status wg_group_create(wg_device* device, const wg_layout* layout, uint32_t index, const wg_bound* bounds,
                            uint32_t count, WGPUBindGroup* out);
/* The same from the cache, whose it stays. `out_id` is never used again. */
khal_status wg_group_get(wg_device* device, uint64_t epoch, const wg_layout* layout, uint32_t index,
                         const wg_bound* bounds, uint32_t count, WGPUBindGroup* out, uint64_t* out_id);
/* The buffer goes. */
void wg_groups_forget(wg_device* device, uint64_t serial);
/* What a recorder made that was given up. */
void wg_groups_abandon(wg_device* device, uint64_t epoch);

/* ---- commands (wg_dispatch.c) -------------------------------------------------------------------- */

/* One call of the API. `bounds` are those of the layout's one group but for the block. */
khal_status wg_run(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                   const void* block, uint32_t x, uint32_t y, uint32_t z);
/* The same with a bind group that is not kept: the caller releases it, and z is 1. */
khal_status wg_run_once(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                        const void* block, uint32_t x, uint32_t y, WGPUBindGroup* out_group);
uint64_t wg_next_id(wg_device* device);
khal_status wg_make_buffer(wg_device* device, const char* label, WGPUBufferUsage usage, uint64_t size, WGPUBuffer* out);

/* ---- our own kernels (wg_internal_kernels.c) ------------------------------------------------------ */

/* KHAL_OK when device->has_fused_fma and has_good_sqrt are known, KHAL_NOT_READY while they are being found out. */
khal_status wg_internal_poll_maths(wg_device* device);

/* Prepares an indirect grid: see the kernel. */
typedef struct wg_prepare {
    WGPUBuffer counts; /* three u32 at counts_offset */
    uint64_t counts_serial, counts_offset;
    const wg_slot* slot;
    uint32_t args_offset; /* from the slot's begin: where the API's three counts go */
    bool folds;           /* else the counts go to the API as they are, and the slot has no block */
    bool is_first;        /* of the submission */
    uint32_t workgroup_size[3], index;
    WGPUBuffer result; /* 16 bytes: number of the first dispatch whose grid is too large, plus one, and its counts */
    uint64_t result_serial;
} wg_prepare;
khal_status wg_internal_prepare(wg_recorder* recorder, const wg_prepare* prepare);

#endif
