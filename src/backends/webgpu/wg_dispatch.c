/* One dispatch into a pass. */
#include "wg_kernel.h"

#include <stdio.h>
#include <string.h>

#define EMPTY_SIZE 256u /* bytes that an empty slice is bound to, at least */
#define ARGS_SIZE 16u   /* three counts of an indirect grid, in the slot behind the block */
#define MAX_PREPARED 16u
#define LONG 64u /* commands of a submission from which on blocks are uniforms: drivers give immediates to each dispatch anew */

/* An indirect grid that a recording has prepared, and that holds until its counts or its slot are written. */
typedef struct prepared {
    uint64_t epoch; /* 0: none */
    WGPUBuffer counts;
    uint64_t counts_offset;
    uint32_t workgroup_size[3];
    wg_slot slot;
} prepared;

struct wg_dispatcher {
    uint64_t last_id;
    /* What empty slices are bound to: [1] what may be written, a place of its own for each argument. */
    WGPUBuffer empty[2];
    uint64_t empty_serial[2], empty_stride;
    /* What the open pass has as immediates, as long as its pipeline stays. */
    unsigned char immediates[WG_MAX_BLOCK];
    uint32_t immediate_size;
    WGPUBuffer indirect_result; /* number of the dispatch whose grid was too large, plus one, and its counts */
    uint64_t indirect_serial;
    uint64_t indirect_epoch; /* of the last recording that has indirect grids */
    prepared prepared[MAX_PREPARED];
    uint32_t prepared_count, prepared_next;
};

/* ---- objects ----------------------------------------------------------------------------------- */

uint64_t wg_next_id(wg_device* device)
{
    return ++device->dispatcher->last_id;
}

khal_status wg_make_buffer(wg_device* device, const char* label, WGPUBufferUsage usage, uint64_t size, WGPUBuffer* out)
{
    const WGPUBufferDescriptor desc = {.label = wg_view(label), .usage = usage, .size = size};
    wg_scope_begin(device);
    WGPUBuffer made = device->library->f.DeviceCreateBuffer(device->device, &desc);
    const khal_status status = wg_scope_end(device, KHAL_ERROR_OUT_OF_MEMORY, NULL, label);
    if (status != KHAL_OK) {
        if (made != NULL)
            device->library->f.BufferRelease(made);
        return status;
    }
    *out = made;
    return KHAL_OK;
}

static void drop_buffer(wg_device* device, WGPUBuffer* buffer)
{
    if (*buffer == NULL)
        return;
    device->library->f.BufferDestroy(*buffer);
    device->library->f.BufferRelease(*buffer);
    *buffer = NULL;
}

khal_status wg_dispatch_open(wg_device* device)
{
    wg_dispatcher* d = khal__alloc(device->front, sizeof *d, 16);
    if (d == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for dispatches");
    memset(d, 0, sizeof *d);
    device->dispatcher = d;
    khal_status status = wg_blocks_open(device);
    if (status == KHAL_OK)
        status = wg_groups_open(device);
    if (status != KHAL_OK)
        wg_dispatch_close(device);
    return status;
}

void wg_dispatch_close(wg_device* device)
{
    wg_dispatcher* d = device->dispatcher;
    if (d == NULL)
        return;
    wg_groups_close(device);
    wg_blocks_close(device);
    wg_layouts_close(device);
    drop_buffer(device, &d->empty[0]);
    drop_buffer(device, &d->empty[1]);
    drop_buffer(device, &d->indirect_result);
    khal__free(device->front, d, sizeof *d);
    device->dispatcher = NULL;
}

/* ---- binding ----------------------------------------------------------------------------------- */

/* Room for empty slices of kernels whose elements have up to `bytes`. */
static khal_status make_empty(wg_device* device, uint32_t bytes)
{
    wg_dispatcher* d = device->dispatcher;
    uint64_t stride = EMPTY_SIZE;
    while (stride < bytes || stride < device->limits.minStorageBufferOffsetAlignment)
        stride *= 2;
    if (d->empty[1] != NULL && stride <= d->empty_stride)
        return KHAL_OK;
    for (int k = 0; k < 2; ++k) {
        if (d->empty[k] != NULL) { /* work that runs may use it: it goes when that is done */
            wg_groups_forget(device, d->empty_serial[k]);
            device->library->f.BufferRelease(d->empty[k]);
            d->empty[k] = NULL;
        }
        const khal_status status =
            wg_make_buffer(device, "khal empty slice", WGPUBufferUsage_Storage | WGPUBufferUsage_Uniform,
                           k == 0 ? stride : stride * WG_MAX_BINDINGS, &d->empty[k]);
        if (status != KHAL_OK)
            return status;
        d->empty_serial[k] = WG_OWN_SERIAL | wg_next_id(device);
    }
    d->empty_stride = stride;
    return KHAL_OK;
}

static khal_status bind_empty(wg_device* device, uint32_t bytes, bool writes, uint32_t place, wg_bound* out)
{
    const khal_status status = make_empty(device, bytes);
    const wg_dispatcher* d = device->dispatcher;
    if (status == KHAL_OK)
        *out = (wg_bound){d->empty[writes], d->empty_serial[writes], writes ? place * d->empty_stride : 0,
                          d->empty_stride};
    return status;
}

static void set_pipeline(wg_recorder* recorder, WGPUComputePassEncoder pass, const wg_program* program)
{
    const void* id = (const void*)(uintptr_t)program->id;
    if (recorder->bound_pipeline == id)
        return;
    recorder->device->library->f.ComputePassEncoderSetPipeline(pass, program->handle);
    recorder->bound_pipeline = id;
    recorder->device->dispatcher->immediate_size = 0;
}

static void set_immediates(wg_device* device, WGPUComputePassEncoder pass, const void* bytes, uint32_t size)
{
    wg_dispatcher* d = device->dispatcher;
    if (d->immediate_size == size && memcmp(d->immediates, bytes, size) == 0)
        return;
    device->library->f.ComputePassEncoderSetImmediates(pass, 0, bytes, size);
    memcpy(d->immediates, bytes, size);
    d->immediate_size = size;
}

static khal_status fail_pass(wg_device* device)
{
    return khal__fail(device->front, KHAL_ERROR_DRIVER, 0, NULL, "the library opened no compute pass");
}

/* Which recording it is; the first use begins it. */
static uint64_t epoch_of(wg_recorder* recorder)
{
    if (recorder->epoch == 0) {
        recorder->epoch = wg_next_id(recorder->device);
        wg_blocks_begin(recorder->device, recorder->epoch);
    }
    return recorder->epoch;
}

/* The pass with the pipeline set, and all that group 0 gets: the block's slot too (`slot`: where it is already; NULL:
 * it is placed, from `block`). *offset: its dynamic offset, UINT32_MAX where it has none. */
static khal_status begin(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t* count,
                         const void* block, const wg_slot* slot, wg_bound* all, uint32_t* offset)
{
    wg_device* device = recorder->device;
    WGPUComputePassEncoder pass = wg_recorder_pass(recorder);
    if (pass == NULL)
        return fail_pass(device);
    wg_slot own;
    *offset = UINT32_MAX;
    memcpy(all, bounds, *count * sizeof *bounds);
    if (program->block == WG_BLOCK_UNIFORM) {
        if (slot == NULL) {
            const khal_status status = wg_blocks_place(device, epoch_of(recorder), block, program->block_size, &own);
            if (status != KHAL_OK)
                return status;
            slot = &own;
        }
        all[(*count)++] = (wg_bound){slot->buffer, slot->serial, 0, program->block_size};
        *offset = slot->offset;
    }
    set_pipeline(recorder, pass, program);
    if (program->block == WG_BLOCK_IMMEDIATE)
        set_immediates(device, pass, block, program->block_size);
    return KHAL_OK;
}

/* Sets pipeline, group 0 and block as far as they are not set yet. */
static khal_status bind(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                        const void* block, const wg_slot* slot)
{
    wg_device* device = recorder->device;
    wg_bound all[WG_MAX_BINDINGS + 1];
    uint32_t offset = UINT32_MAX;
    WGPUBindGroup group = NULL;
    uint64_t id = 0;
    khal_status status = begin(recorder, program, bounds, &count, block, slot, all, &offset);
    if (status != KHAL_OK || count == 0)
        return status;
    status = wg_group_get(device, epoch_of(recorder), program->layout, 0, all, count, &group, &id);
    if (status != KHAL_OK || (recorder->bound_group == (const void*)(uintptr_t)id && recorder->bound_offset == offset))
        return status;
    device->library->f.ComputePassEncoderSetBindGroup(recorder->pass, 0, group, offset != UINT32_MAX, &offset);
    recorder->bound_group = (const void*)(uintptr_t)id;
    recorder->bound_offset = offset;
    return KHAL_OK;
}

khal_status wg_run(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                   const void* block, uint32_t x, uint32_t y, uint32_t z)
{
    const khal_status status = bind(recorder, program, bounds, count, block, NULL);
    if (status == KHAL_OK)
        recorder->device->library->f.ComputePassEncoderDispatchWorkgroups(recorder->pass, x, y, z);
    return status;
}

khal_status wg_run_once(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                        const void* block, uint32_t x, uint32_t y, WGPUBindGroup* out_group)
{
    const wg_functions* f = &recorder->device->library->f;
    wg_bound all[WG_MAX_BINDINGS + 1];
    uint32_t offset = UINT32_MAX;
    khal_status status = begin(recorder, program, bounds, &count, block, NULL, all, &offset);
    if (status == KHAL_OK)
        status = wg_group_create(recorder->device, program->layout, 0, all, count, out_group);
    if (status != KHAL_OK)
        return status;
    f->ComputePassEncoderSetBindGroup(recorder->pass, 0, *out_group, offset != UINT32_MAX, &offset);
    recorder->bound_group = NULL;
    f->ComputePassEncoderDispatchWorkgroups(recorder->pass, x, y, 1);
    return KHAL_OK;
}

/* ---- indirect grids ---------------------------------------------------------------------------- */

static bool is_same_slot(const wg_slot* a, const wg_slot* b)
{
    return a->serial == b->serial && a->offset == b->offset;
}

/* Equal slots have equal blocks, but for what is prepared. */
static bool is_prepared(const wg_dispatcher* d, const prepared* wanted)
{
    for (uint32_t i = 0; i < d->prepared_count; ++i) {
        const prepared* p = &d->prepared[i];
        if (p->epoch == wanted->epoch && p->counts == wanted->counts && p->counts_offset == wanted->counts_offset &&
            is_same_slot(&p->slot, &wanted->slot) &&
            memcmp(p->workgroup_size, wanted->workgroup_size, sizeof p->workgroup_size) == 0)
            return true;
    }
    return false;
}

static void keep_prepared(wg_dispatcher* d, const prepared* made)
{
    for (uint32_t i = 0; i < d->prepared_count; ++i)
        if (is_same_slot(&d->prepared[i].slot, &made->slot))
            d->prepared[i].epoch = 0;
    d->prepared[d->prepared_next] = *made;
    d->prepared_next = (d->prepared_next + 1) % MAX_PREPARED;
    if (d->prepared_count < MAX_PREPARED)
        ++d->prepared_count;
}

void wg_dispatch_wrote(wg_device* device, WGPUBuffer buffer)
{
    wg_dispatcher* d = device->dispatcher;
    for (uint32_t i = 0; i < d->prepared_count; ++i)
        if (buffer == NULL || d->prepared[i].counts == buffer)
            d->prepared[i].epoch = 0;
}

/* Room for the grid, prepared by the device: the block with its grid still open, and behind it the API's counts. */
static khal_status prepare(wg_recorder* recorder, const khal__command* command, unsigned char* block,
                           uint32_t block_size, wg_slot* slot)
{
    wg_device* device = recorder->device;
    wg_dispatcher* d = device->dispatcher;
    if (d->indirect_result == NULL) {
        const khal_status status =
            wg_make_buffer(device, "khal indirect result", WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc, ARGS_SIZE,
                           &d->indirect_result);
        if (status != KHAL_OK)
            return status;
        d->indirect_serial = WG_OWN_SERIAL | wg_next_id(device);
    }
    memset(block + block_size, 0, ARGS_SIZE);
    if (block_size > 0)
        memset(block, 0, WG_GRID_SIZE);
    khal_status status = wg_blocks_place_indirect(device, epoch_of(recorder), block, block_size + ARGS_SIZE, slot);
    if (status != KHAL_OK)
        return status;
    const khal__range* range = &command->u.dispatch.indirect;
    const wg_buffer* counts = wg_buffer_of(range->buffer);
    prepared made = {.epoch = epoch_of(recorder), .counts = counts->handle, .counts_offset = range->offset, .slot = *slot};
    memcpy(made.workgroup_size, command->u.dispatch.workgroup_size, sizeof made.workgroup_size);
    if (is_prepared(d, &made))
        return KHAL_OK;
    wg_prepare p = {.counts = counts->handle,
                    .counts_serial = counts->serial,
                    .counts_offset = range->offset,
                    .slot = slot,
                    .args_offset = block_size,
                    .folds = block_size > 0,
                    .is_first = d->indirect_epoch != epoch_of(recorder),
                    .index = command->u.dispatch.index,
                    .result = d->indirect_result,
                    .result_serial = d->indirect_serial};
    memcpy(p.workgroup_size, command->u.dispatch.workgroup_size, sizeof p.workgroup_size);
    status = wg_internal_prepare(recorder, &p);
    if (status != KHAL_OK)
        return status;
    d->indirect_epoch = epoch_of(recorder);
    keep_prepared(d, &made);
    return KHAL_OK;
}

static void report_indirect(wg_device* device, khal__submission* submission, const void* bytes, uint64_t size)
{
    (void)device;
    uint32_t words[4];
    if (size < sizeof words)
        return;
    memcpy(words, bytes, sizeof words);
    if (words[0] == 0)
        return;
    submission->status = KHAL_EXECUTION_FAILED;
    submission->error_id = KHAL_ERROR_INDIRECT_TOO_LARGE;
    snprintf(submission->message, sizeof submission->message,
             "the indirect grid of dispatch %u has %u x %u x %u work-groups, more than the device can fold",
             words[0] - 1, words[1], words[2], words[3]);
}

/* ---- kernels of a library ---------------------------------------------------------------------- */

static khal_status bind_arguments(khal_function* function, const khal__command* command, wg_placement* placement,
                                  wg_bound* bounds)
{
    const khal_kernel_info* info = khal__function_kernel(function);
    const wg_function* wg = wg_function_of(function);
    khal_device* front = khal__module_device(khal__function_module(function));
    wg_device* device = wg_device_of(front);
    const uint64_t most = device->limits.maxStorageBufferBindingSize;
    const uint32_t count = command->u.dispatch.binding_count;
    wg_argument arguments[WG_MAX_BINDINGS];
    for (uint32_t i = 0; i < count; ++i) {
        const khal__range* range = &command->u.dispatch.bindings[i];
        if (range->size == 0)
            arguments[i] = (wg_argument){.writes = wg->writes[i]};
        else
            arguments[i] =
                (wg_argument){wg_buffer_of(range->buffer)->serial, range->offset, range->size, wg->writes[i]};
    }
    uint32_t wrong = 0;
    const wg_place_result result =
        wg_place(arguments, count, device->limits.minStorageBufferOffsetAlignment, most, placement, &wrong);
    if (result == WG_PLACE_TOO_LARGE)
        return khal__fail(front, KHAL_ERROR_UNSUPPORTED, 0, info->name,
                          "binding %u has %llu bytes; the device binds at most %llu", wrong,
                          (unsigned long long)arguments[wrong].size, (unsigned long long)most);
    if (result == WG_PLACE_ALIAS)
        return khal__fail(
            front, KHAL_ERROR_BINDING_ALIAS, 0, info->name,
            "binding %u and those that overlap with it are more than the %llu bytes that one binding may have", wrong,
            (unsigned long long)most);
    if (placement->is_shared && wg->kernel->shared_source == NULL)
        return khal__fail(front, KHAL_ERROR_BINDING_ALIAS, 0, info->name,
                          "two bindings share a buffer that the kernel writes, and its code has no variant for that");
    for (uint32_t w = 0; w < placement->window_count; ++w) {
        const wg_window* window = &placement->windows[w];
        if (window->serial == 0) {
            const khal_status status = bind_empty(device, wg->element_bytes, window->writes, w, &bounds[w]);
            if (status != KHAL_OK)
                return status;
            continue;
        }
        const wg_buffer* buffer = wg_buffer_of(command->u.dispatch.bindings[window->argument].buffer);
        const uint64_t left = (buffer->allocated - window->offset) & ~UINT64_C(3);
        bounds[w] =
            (wg_bound){buffer->handle, window->serial, window->offset, window->size < left ? window->size : left};
    }
    return KHAL_OK;
}

static void store(unsigned char* block, uint32_t offset, uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    memcpy(block + offset, &word, sizeof word);
}

/* All of the block but the fold. */
static void fill_block(const wg_function* wg, const khal__command* command, const wg_placement* placement,
                       unsigned char* block)
{
    const uint64_t *groups = command->u.dispatch.group_count, *items = command->u.dispatch.global_size;
    const uint32_t* size = command->u.dispatch.workgroup_size;
    memset(block, 0, wg->block.size);
    for (uint32_t i = 0; i < 3; ++i) {
        store(block, 4 * i, groups[i]);
        store(block, 16 + 4 * i, items[i]);
    }
    store(block, 12, groups[2] * size[2] > 1 ? 3 : groups[1] * size[1] > 1 ? 2 : 1);
    for (uint32_t i = 0; i < command->u.dispatch.binding_count; ++i) {
        store(block, wg->block.slices + 8 * i, placement->rests[i]);
        store(block, wg->block.slices + 8 * i + 4, command->u.dispatch.bindings[i].size);
    }
    for (uint32_t i = 0; i < command->u.dispatch.local_count; ++i)
        store(block, wg->block.locals + 4 * i, command->u.dispatch.local_sizes[i]);
    if (command->u.dispatch.push_constant_size > 0)
        memcpy(block + wg->block.push, command->u.dispatch.push_constants, command->u.dispatch.push_constant_size);
}

static wg_shape shape_of(const wg_device* device, const khal__command* command, const wg_placement* placement)
{
    const uint64_t* groups = command->u.dispatch.group_count;
    bool is_exact = true;
    if (command->u.dispatch.is_indirect)
        return WG_SHAPE_ANY;
    for (uint32_t i = 0; i < command->u.dispatch.binding_count; ++i)
        if (placement->rests[i] != 0)
            return WG_SHAPE_ANY;
    for (uint32_t i = 0; i < 3; ++i) {
        if (groups[i] > device->limits.maxComputeWorkgroupsPerDimension)
            return WG_SHAPE_ANY;
        is_exact &= groups[i] * command->u.dispatch.workgroup_size[i] == command->u.dispatch.global_size[i];
    }
    return is_exact ? WG_SHAPE_EXACT : WG_SHAPE_PLAIN;
}

/* A kernel that does not ask where it is: as many calls as it takes. */
static khal_status run_pieces(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                              const uint64_t groups[3])
{
    const uint64_t most = recorder->device->limits.maxComputeWorkgroupsPerDimension;
    for (uint64_t z = 0; z < groups[2]; z += most)
        for (uint64_t y = 0; y < groups[1]; y += most)
            for (uint64_t x = 0; x < groups[0]; x += most) {
                const uint64_t left[3] = {groups[0] - x, groups[1] - y, groups[2] - z};
                const khal_status status =
                    wg_run(recorder, program, bounds, count, NULL, (uint32_t)(left[0] < most ? left[0] : most),
                           (uint32_t)(left[1] < most ? left[1] : most), (uint32_t)(left[2] < most ? left[2] : most));
                if (status != KHAL_OK)
                    return status;
            }
    return KHAL_OK;
}

static khal_status run_folded(wg_recorder* recorder, const wg_program* program, const wg_bound* bounds, uint32_t count,
                              unsigned char* block, const uint64_t groups[3])
{
    wg_fold fold;
    if (!wg_fold_grid(groups, recorder->device->limits.maxComputeWorkgroupsPerDimension, &fold))
        return khal__fail(recorder->device->front, KHAL_ERROR_GRID, 0, NULL,
                          "%llu x %llu x %llu work-groups are more than the device can fold",
                          (unsigned long long)groups[0], (unsigned long long)groups[1], (unsigned long long)groups[2]);
    memcpy(block + 32, fold.fold, sizeof fold.fold);
    for (uint64_t z = 0; z < groups[2]; z += fold.z_step) {
        store(block, 28, z);
        const khal_status status =
            wg_run(recorder, program, bounds, count, block, fold.x, fold.y, wg_fold_depth(&fold, groups[2], z));
        if (status != KHAL_OK)
            return status;
    }
    return KHAL_OK;
}

static khal_status encode_kernel(wg_recorder* recorder, const khal__command* command)
{
    wg_device* device = recorder->device;
    khal_function* function = command->u.dispatch.function;
    const wg_function* wg = wg_function_of(function);
    const bool is_indirect = command->u.dispatch.is_indirect;
    wg_placement placement;
    wg_bound bounds[WG_MAX_BINDINGS];
    _Alignas(8) unsigned char block[WG_MAX_BLOCK + ARGS_SIZE];
    khal_status status = bind_arguments(function, command, &placement, bounds);
    if (status != KHAL_OK)
        return status;
    const wg_block_kind kind = wg_block_kind_of(device, wg, is_indirect || recorder->submission->command_count >= LONG);
    wg_pipeline* pipeline = NULL;
    const wg_shape shape = kind == WG_BLOCK_NONE ? WG_SHAPE_ANY : shape_of(device, command, &placement);
    status = wg_pipeline_get(function, placement.is_shared ? &placement : NULL, kind, shape,
                             command->u.dispatch.workgroup_size, command->u.dispatch.local_sizes, &pipeline);
    if (status != KHAL_OK)
        return status;
    if (kind != WG_BLOCK_NONE)
        fill_block(wg, command, &placement, block);
    if (is_indirect) {
        wg_slot slot;
        status = prepare(recorder, command, block, kind == WG_BLOCK_NONE ? 0 : wg->block.size, &slot);
        if (status == KHAL_OK)
            status = bind(recorder, &pipeline->program, bounds, placement.window_count, block, &slot);
        if (status == KHAL_OK)
            device->library->f.ComputePassEncoderDispatchWorkgroupsIndirect(recorder->pass, slot.buffer,
                                                                            slot.offset + pipeline->program.block_size);
        return status;
    }
    if (kind == WG_BLOCK_NONE)
        return run_pieces(recorder, &pipeline->program, bounds, placement.window_count,
                          command->u.dispatch.group_count);
    return run_folded(recorder, &pipeline->program, bounds, placement.window_count, block,
                      command->u.dispatch.group_count);
}

/* ---- foreign kernels --------------------------------------------------------------------------- */

/* A slice that can't be bound where it lies is bound as a copy, which comes back when it is written. */
typedef struct stage {
    WGPUBuffer buffer;
    uint64_t size;
} stage;

static bool is_uniform(const wg_layout* layout, uint32_t entry)
{
    return layout->entries[entry].type == WGPUBufferBindingType_Uniform;
}

/* Which slices must be copied, or an error: those that are misaligned for their binding, and those that the API refuses
 * beside others although they don't overlap. */
static khal_status choose_stages(khal_device* front, const wg_function* wg, const khal__command* command,
                                 const uint32_t* aligns, bool* staged)
{
    const uint32_t count = command->u.dispatch.binding_count;
    const khal__range* ranges = command->u.dispatch.bindings;
    for (uint32_t i = 0; i < count; ++i) {
        const khal__range* a = &ranges[i];
        staged[i] = a->size > 0 && a->offset % aligns[i] != 0;
        for (uint32_t k = 0; k < i && a->size > 0; ++k) {
            const khal__range* b = &ranges[k];
            if (b->size == 0 || b->buffer != a->buffer || (!wg->writes[i] && !wg->writes[k]))
                continue;
            if (a->offset < b->offset + b->size && b->offset < a->offset + a->size)
                return khal__fail(
                    front, KHAL_ERROR_BINDING_ALIAS, 0, khal__function_kernel(command->u.dispatch.function)->name,
                    "bindings %u and %u overlap, and one is written: foreign code has no variant for that", k, i);
            const uint64_t a_end = (a->offset + a->size + 3) & ~UINT64_C(3),
                           b_end = (b->offset + b->size + 3) & ~UINT64_C(3);
            if (staged[i] || staged[k] ||
                (wg->writes[i] == wg->writes[k] && (a->offset >= b_end || b->offset >= a_end)))
                continue;
            if (wg->writes[i])
                staged[k] = true;
            else
                staged[i] = true;
        }
    }
    return KHAL_OK;
}

static khal_status make_stage(wg_recorder* recorder, const khal__range* range, stage* s)
{
    wg_device* device = recorder->device;
    s->size = (range->size + 15) & ~UINT64_C(15);
    const khal_status status = wg_make_buffer(device, "khal aligned copy",
                                              WGPUBufferUsage_Storage | WGPUBufferUsage_Uniform |
                                                  WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
                                              s->size, &s->buffer);
    if (status != KHAL_OK)
        return status;
    return wg_internal_copy(recorder, wg_buffer_of(range->buffer)->handle, range->offset, s->buffer, 0, range->size);
}

static khal_status bind_foreign(wg_recorder* recorder, const khal__command* command, const wg_bound* bounds,
                                bool is_cached, WGPUBindGroup* own, uint32_t offset, const void* push)
{
    wg_device* device = recorder->device;
    const wg_functions* f = &device->library->f;
    const wg_function* wg = wg_function_of(command->u.dispatch.function);
    const wg_layout* layout = wg->foreign.layout;
    WGPUComputePassEncoder pass = wg_recorder_pass(recorder);
    if (pass == NULL)
        return fail_pass(device);
    set_pipeline(recorder, pass, &wg->foreign);
    recorder->bound_group = NULL; /* what is set now is no group of the others' kind */
    uint32_t entry = 0;
    for (uint32_t g = 0; g < layout->group_count; ++g) {
        const uint32_t first = entry;
        uint32_t offsets = 0;
        for (; entry < layout->entry_count && layout->entries[entry].group == g; ++entry)
            offsets += layout->entries[entry].block_size > 0;
        WGPUBindGroup group = layout->empty[g];
        uint64_t id = 0;
        khal_status status = KHAL_OK;
        if (entry > first && is_cached)
            status = wg_group_get(device, epoch_of(recorder), layout, g, bounds + first, entry - first, &group, &id);
        else if (entry > first)
            status = wg_group_create(device, layout, g, bounds + first, entry - first, &own[g]);
        if (status != KHAL_OK)
            return status;
        f->ComputePassEncoderSetBindGroup(pass, g, own[g] != NULL ? own[g] : group, offsets, &offset);
    }
    if (wg->foreign.block == WG_BLOCK_IMMEDIATE)
        set_immediates(device, pass, push, wg->foreign.block_size);
    return KHAL_OK;
}

static khal_status run_foreign(wg_recorder* recorder, const khal__command* command, stage* stages, const bool* staged,
                               WGPUBindGroup* own)
{
    wg_device* device = recorder->device;
    const wg_functions* f = &device->library->f;
    const wg_function* wg = wg_function_of(command->u.dispatch.function);
    const wg_layout* layout = wg->foreign.layout;
    wg_bound bounds[WG_MAX_BINDINGS + 1];
    unsigned char push[WG_MAX_PUSH + ARGS_SIZE] = {0};
    wg_slot slot = {0}, grid = {0};
    khal_status status = KHAL_OK;
    bool is_cached = true;
    if (command->u.dispatch.push_constant_size > 0)
        memcpy(push, command->u.dispatch.push_constants, command->u.dispatch.push_constant_size);
    for (uint32_t e = 0; e < layout->entry_count && status == KHAL_OK; ++e) {
        const uint32_t i = wg->argument_of[e];
        if (i == WG_MAX_BINDINGS) {
            status = wg_blocks_place(device, epoch_of(recorder), push, wg->foreign.block_size, &slot);
            bounds[e] = (wg_bound){slot.buffer, slot.serial, 0, wg->foreign.block_size};
            continue;
        }
        const khal__range* range = &command->u.dispatch.bindings[i];
        if (range->size == 0) {
            status = bind_empty(device, EMPTY_SIZE, wg->writes[i], e, &bounds[e]);
            continue;
        }
        if (staged[i]) {
            status = make_stage(recorder, range, &stages[i]);
            bounds[e] = (wg_bound){stages[i].buffer, 0, 0, stages[i].size};
            is_cached = false;
        } else {
            const wg_buffer* buffer = wg_buffer_of(range->buffer);
            const uint64_t size = (range->size + 3) & ~UINT64_C(3),
                           left = (buffer->allocated - range->offset) & ~UINT64_C(3);
            bounds[e] = (wg_bound){buffer->handle, buffer->serial, range->offset, size < left ? size : left};
        }
        const uint64_t most = is_uniform(layout, e) ? device->limits.maxUniformBufferBindingSize
                                                    : device->limits.maxStorageBufferBindingSize;
        if (is_uniform(layout, e) && bounds[e].size > most)
            bounds[e].size = most; /* no uniform variable can be larger */
        else if (bounds[e].size > most)
            return khal__fail(device->front, KHAL_ERROR_UNSUPPORTED, 0,
                              khal__function_kernel(command->u.dispatch.function)->name,
                              "binding %u has %llu bytes; the device binds at most %llu", i,
                              (unsigned long long)range->size, (unsigned long long)most);
    }
    if (status == KHAL_OK && command->u.dispatch.is_indirect) {
        unsigned char args[ARGS_SIZE];
        status = prepare(recorder, command, args, 0, &grid);
    }
    if (status == KHAL_OK)
        status = bind_foreign(recorder, command, bounds, is_cached, own, slot.offset, push);
    if (status != KHAL_OK)
        return status;
    const uint64_t* groups = command->u.dispatch.group_count;
    if (command->u.dispatch.is_indirect)
        f->ComputePassEncoderDispatchWorkgroupsIndirect(recorder->pass, grid.buffer, grid.offset);
    else
        f->ComputePassEncoderDispatchWorkgroups(recorder->pass, (uint32_t)groups[0], (uint32_t)groups[1],
                                                (uint32_t)groups[2]);
    for (uint32_t i = 0; i < command->u.dispatch.binding_count && status == KHAL_OK; ++i)
        if (staged[i] && wg->writes[i])
            status = wg_internal_copy(recorder, stages[i].buffer, 0,
                                      wg_buffer_of(command->u.dispatch.bindings[i].buffer)->handle,
                                      command->u.dispatch.bindings[i].offset, command->u.dispatch.bindings[i].size);
    return status;
}

static khal_status encode_foreign(wg_recorder* recorder, const khal__command* command)
{
    wg_device* device = recorder->device;
    const wg_function* wg = wg_function_of(command->u.dispatch.function);
    const wg_layout* layout = wg->foreign.layout;
    uint32_t aligns[WG_MAX_BINDINGS];
    bool staged[WG_MAX_BINDINGS] = {false};
    stage stages[WG_MAX_BINDINGS] = {{0}};
    WGPUBindGroup own[WG_MAX_GROUPS] = {0};
    for (uint32_t e = 0; e < layout->entry_count; ++e)
        if (wg->argument_of[e] < WG_MAX_BINDINGS)
            aligns[wg->argument_of[e]] = is_uniform(layout, e) ? device->limits.minUniformBufferOffsetAlignment
                                                               : device->limits.minStorageBufferOffsetAlignment;
    khal_status status = choose_stages(device->front, wg, command, aligns, staged);
    if (status == KHAL_OK)
        status = run_foreign(recorder, command, stages, staged, own);
    for (uint32_t g = 0; g < WG_MAX_GROUPS; ++g)
        if (own[g] != NULL)
            device->library->f.BindGroupRelease(own[g]);
    for (uint32_t i = 0; i < command->u.dispatch.binding_count; ++i)
        if (stages[i].buffer != NULL)
            device->library->f.BufferRelease(stages[i].buffer); /* the commands keep it */
    return status;
}

/* ---- what the queue calls ---------------------------------------------------------------------- */

khal_status wg_dispatch_encode(wg_recorder* recorder, const khal__command* command)
{
    wg_device* device = recorder->device;
    const wg_function* wg = wg_function_of(command->u.dispatch.function);
    const khal_status status =
        wg->kernel != NULL ? encode_kernel(recorder, command) : encode_foreign(recorder, command);
    for (uint32_t i = 0; device->dispatcher->prepared_count > 0 && i < command->u.dispatch.binding_count; ++i)
        if (wg->writes[i] && command->u.dispatch.bindings[i].size > 0)
            wg_dispatch_wrote(device, wg_buffer_of(command->u.dispatch.bindings[i].buffer)->handle);
    return status;
}

khal_status wg_dispatch_flush(wg_recorder* recorder)
{
    wg_device* device = recorder->device;
    wg_dispatcher* d = device->dispatcher;
    wg_blocks_flush(device);
    if (recorder->epoch == 0)
        return KHAL_OK;
    wg_blocks_end(device, recorder->epoch);
    d->prepared_count = d->prepared_next = 0;
    if (d->indirect_epoch != recorder->epoch)
        return KHAL_OK;
    return wg_recorder_result(recorder, d->indirect_result, 0, ARGS_SIZE, NULL, report_indirect);
}

void wg_dispatch_abandon(wg_recorder* recorder)
{
    if (recorder->epoch == 0)
        return;
    wg_blocks_end(recorder->device, recorder->epoch);
    wg_groups_abandon(recorder->device, recorder->epoch);
}

void wg_dispatch_forget(wg_device* device, uint64_t serial)
{
    wg_groups_forget(device, serial);
}
