/* One dispatch as a launch. Nothing here allocates, hashes or, but for what is found out once, calls the driver. */
#include "cu.h"

#include <string.h>

#define MOST_X 0x7fffffffu /* blocks of a launch */
#define MOST_YZ 65535u
/* Blocks of a virtual grid for each that the device runs at once. More even out work-groups of unequal length, and hide what a
 * block spends between two of them, at barriers above all; each costs a start even where there is nothing to do for it, some 2 us
 * in all for each wave. On an
 * H200 a tiled matrix multiplication takes 1.16, 1.04, 1.02 and 1.01 of its plain time with 1, 4, 8 and 16. */
#define WAVES 1u
#define WAVES_WITH_BARRIERS 8u

static bool is_plain(const cu_function* function, const uint64_t group_count[3])
{
    return function->is_foreign ||
           (group_count[0] <= MOST_X && group_count[1] <= MOST_YZ && group_count[2] <= MOST_YZ);
}

bool cu_grid_fits(khal_function* owner, const uint32_t workgroup_size[3], const uint64_t group_count[3])
{
    const cu_function* function = cu_function_of(owner);
    const cu_module* module = cu_module_of(khal__function_module(owner));
    const uint32_t threads = workgroup_size[0] * workgroup_size[1] * workgroup_size[2];
    if (function->is_foreign &&
        (group_count[0] > MOST_X || group_count[1] > MOST_YZ || group_count[2] > MOST_YZ))
        return false;
    return module->format == KHAL_FORMAT_PTX || threads <= function->plain.thread_limit;
}

/* The dimensions that the dispatch has, as get_work_dim tells them. */
static uint32_t dimensions(const uint64_t group_count[3], const uint32_t size[3])
{
    if (group_count[2] > 1 || size[2] > 1)
        return 3;
    return group_count[1] > 1 || size[1] > 1 ? 2 : 1;
}

static uint32_t is_exact(const khal__command* command)
{
    bool exact = true;
    for (int i = 0; i < 3; ++i)
        exact = exact && command->u.dispatch.global_size[i] ==
                             command->u.dispatch.group_count[i] * command->u.dispatch.workgroup_size[i];
    return exact;
}

/* Blocks of a virtual grid: as many as keep the device busy. */
static CUresult busy_blocks(cu_device* device, khal_function* owner, const cu_entry* entry, uint32_t block, uint32_t shared,
                            uint32_t* out)
{
    cu_function* function = cu_function_of(owner);
    const uint32_t capacity = sizeof function->occupancy / sizeof function->occupancy[0];
    CUresult result = CUDA_SUCCESS;
    khal__mutex_lock(&function->lock);
    struct cu_occupancy* known = function->occupancy;
    uint32_t at = 0;
    while (at < capacity && (known[at].block != block || known[at].dynamic_shared != shared))
        ++at;
    if (at == capacity) {
        int each = 0;
        result = device->f->OccupancyMaxActiveBlocksPerMultiprocessor(&each, entry->handle, (int)block, shared);
        if (result == CUDA_SUCCESS) {
            const bool meets = (khal__function_kernel(owner)->flags & KHAL_KERNEL_HAS_BARRIER) != 0;
            const uint32_t waves = meets ? WAVES_WITH_BARRIERS : WAVES;
            memmove(known + 1, known, (capacity - 1) * sizeof *known);
            known[0] = (struct cu_occupancy){block, shared, (each > 0 ? (uint32_t)each : 1) * device->multiprocessors * waves};
            at = 0;
        }
    }
    if (result == CUDA_SUCCESS)
        *out = known[at].blocks;
    khal__mutex_unlock(&function->lock);
    return result;
}

/* More dynamic shared memory than a block has unasked is allowed once, up to what there is. */
static CUresult allow_shared(cu_device* device, cu_function* function, cu_entry* entry, uint32_t size)
{
    CUresult result = CUDA_SUCCESS;
    khal__mutex_lock(&function->lock);
    if (size > entry->dynamic_limit) {
        const uint32_t most = device->shared_limit > function->static_shared ? device->shared_limit - function->static_shared : 0;
        result = size <= most ? device->f->FuncSetAttribute(entry->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                            (int)most)
                              : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        if (result == CUDA_SUCCESS)
            entry->dynamic_limit = most;
    }
    khal__mutex_unlock(&function->lock);
    return result;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Addresses, values and local arguments, in the order of the entry point. Returns the bytes of dynamic shared memory. */
static uint64_t fill_parameters(const cu_function* function, const khal__command* command, cu_launch* out)
{
    char* push = command->u.dispatch.push_constants;
    uint64_t shared = function->dynamic_size;
    for (uint32_t i = 0; i < function->parameter_count; ++i) {
        const struct cu_parameter* parameter = &function->parameters[i];
        out->parameters[i] = &out->words[i];
        switch (parameter->kind) {
        case KHAL_ARG_VALUE: out->parameters[i] = push + parameter->offset; break;
        case KHAL_ARG_LOCAL: {
            const uint64_t size = command->u.dispatch.local_sizes[parameter->index];
            shared = round_up(shared, KHAL__MEMORY_ALIGN);
            out->words[i] = shared | size << 32;
            shared += size;
            break;
        }
        default: out->words[i] = cu_address(&command->u.dispatch.bindings[parameter->index]); break;
        }
    }
    out->parameter_count = function->parameter_count;
    return shared;
}

CUresult cu_launch_make(cu_device* device, const khal__command* command, CUdeviceptr too_many, cu_launch* out)
{
    khal_function* owner = command->u.dispatch.function;
    cu_function* function = cu_function_of(owner);
    const uint64_t* count = command->u.dispatch.group_count;
    const uint32_t* size = command->u.dispatch.workgroup_size;
    const bool is_indirect = command->u.dispatch.is_indirect;
    const bool is_grid = is_indirect || !is_plain(function, count);
    const uint32_t threads = size[0] * size[1] * size[2];
    CUresult result = CUDA_SUCCESS;
    cu_entry* entry = cu_function_entry(owner, is_grid, threads, &result);
    if (entry == NULL)
        return result;
    const uint64_t shared = fill_parameters(function, command, out);
    if (shared > UINT32_MAX)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    out->function = entry->handle;
    out->last_size = 0;
    out->shared = (uint32_t)shared;
    memcpy(out->block, size, sizeof out->block);
    if (out->shared > entry->dynamic_limit)
        result = allow_shared(device, function, entry, out->shared);
    if (!is_grid) {
        for (int i = 0; i < 3; ++i)
            out->grid[i] = (uint32_t)count[i];
        if (function->is_foreign)
            return result;
        out->last_size = sizeof out->last.plain;
        out->last.plain = (khal_ptx_plain){.work_dim = dimensions(count, size), .is_exact = is_exact(command)};
        memcpy(out->last.plain.global_size, command->u.dispatch.global_size, sizeof out->last.plain.global_size);
    } else {
        uint32_t blocks = 0;
        if (result == CUDA_SUCCESS)
            result = busy_blocks(device, owner, entry, threads, out->shared, &blocks);
        out->grid[0] = blocks;
        out->grid[1] = out->grid[2] = 1;
        out->last_size = sizeof out->last.grid_arguments;
        out->last.grid_arguments = (khal_ptx_grid){.work_dim = 3};
        if (is_indirect) {
            out->last.grid_arguments.counts = cu_address(&command->u.dispatch.indirect);
            out->last.grid_arguments.too_many = too_many;
        } else {
            out->last.grid_arguments.work_dim = dimensions(count, size);
            out->last.grid_arguments.is_exact = is_exact(command);
            memcpy(out->last.grid_arguments.group_count, count, sizeof out->last.grid_arguments.group_count);
            memcpy(out->last.grid_arguments.global_size, command->u.dispatch.global_size,
                   sizeof out->last.grid_arguments.global_size);
        }
    }
    out->parameters[out->parameter_count++] = &out->last;
    return result;
}
