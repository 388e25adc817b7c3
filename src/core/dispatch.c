/* Dispatches: checked against the kernel's reflection, then recorded. */
#include "core.h"

khal_status khal__binding_check(khal_device* device, const khal_function* function, uint32_t index,
                                const khal_slice* slice, khal__range* out_range)
{
    const khal__binding* binding = &function->bindings[index];
    const khal_buffer* buffer = slice->buffer;
    const char* label = function->object.label;
    if (KHAL__UNLIKELY(buffer == NULL))
        return khal__fail(device, KHAL_ERROR_SLICE_NULL, 0, label, "binding %u (%s) has no buffer",
                          index, binding->name);
    if (KHAL__UNLIKELY(buffer->object.device != device))
        return khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0, label,
                          "the buffer of binding %u (%s) belongs to another device", index,
                          binding->name);
    const uint64_t offset = slice->offset;
    if (KHAL__UNLIKELY(offset > buffer->size))
        return khal__fail(device, KHAL_ERROR_SLICE_RANGE, 0, label,
                          "binding %u (%s) begins at %llu; the buffer has %llu bytes", index,
                          binding->name, (unsigned long long)offset,
                          (unsigned long long)buffer->size);
    const uint64_t rest = buffer->size - offset;
    const uint64_t size = slice->size == UINT64_MAX ? rest : slice->size;
    if (KHAL__UNLIKELY(size > rest))
        return khal__fail(device, KHAL_ERROR_SLICE_RANGE, 0, label,
                          "binding %u (%s) has %llu bytes at %llu; the buffer has %llu", index,
                          binding->name, (unsigned long long)size, (unsigned long long)offset,
                          (unsigned long long)buffer->size);
    if (KHAL__UNLIKELY((buffer->usage & binding->usage) == 0))
        return khal__fail(device, KHAL_ERROR_BUFFER_USAGE, 0, buffer->object.label,
                          "binding %u (%s) needs one of usage flags 0x%x; the buffer has 0x%x",
                          index, binding->name, binding->usage, buffer->usage);
    if (KHAL__UNLIKELY(size < binding->element_size && size != 0))
        return khal__fail(device, KHAL_ERROR_BINDING_TOO_SMALL, 0, label,
                          "binding %u (%s) has %llu bytes; one element has %u", index,
                          binding->name, (unsigned long long)size, binding->element_size);
    if (KHAL__UNLIKELY(((buffer->address + offset) & binding->align_mask) != 0))
        return khal__fail(device, KHAL_ERROR_BINDING_ALIGNMENT, 0, label,
                          "binding %u (%s) is at offset %llu%s; it must be a multiple of %u", index,
                          binding->name, (unsigned long long)offset,
                          buffer->address != 0 ? " of host memory, where the address counts" : "",
                          binding->align_mask + 1);
    const bool divides = binding->element_mask != 0 ? (size & binding->element_mask) == 0
                                                    : size % binding->element_size == 0;
    if (KHAL__UNLIKELY(!divides))
        return khal__fail(device, KHAL_ERROR_BINDING_ELEMENT_SIZE, 0, label,
                          "binding %u (%s) has %llu bytes, no multiple of %u", index, binding->name,
                          (unsigned long long)size, binding->element_size);
    /* Of the kernel's own element the size is checked already, and the offset where its alignment
     * is its size. */
    if (KHAL__UNLIKELY(slice->element_size > 1 &&
                       (slice->element_size != binding->element_size ||
                        slice->element_size != binding->align_mask + 1))) {
        khal__range ignored;
        const khal_status status = khal__slice_resolve(device, slice, &ignored);
        if (status != KHAL_OK)
            return status;
    }
    out_range->buffer = slice->buffer;
    out_range->offset = offset;
    out_range->size = size;
    return KHAL_OK;
}

static khal_status check_locals(khal_device* device, const khal_function* function,
                                const khal_dispatch_desc* desc)
{
    const khal_kernel_info* info = function->info;
    const uint32_t most = device->info.limits.local_memory_size;
    uint64_t total = info->local_memory_size;
    for (uint32_t i = 0; i < desc->local_count; ++i) {
        const uint64_t size = desc->local_sizes[i];
        if (size == 0 || size > most || (total += size) > most)
            return khal__fail(device, KHAL_ERROR_LOCAL_SIZE, 0, function->object.label,
                              "local argument %u of %llu bytes, %llu in all with the kernel's own; "
                              "at least 1, at most %u in all",
                              i, (unsigned long long)size, (unsigned long long)total, most);
    }
    return KHAL_OK;
}

static khal_status check_indirect(khal_device* device, const khal_grid* grid)
{
    const khal_buffer* buffer = grid->buffer;
    if (buffer == NULL)
        return khal__fail_null(device, NULL, "the indirect grid's buffer");
    if (buffer->object.device != device)
        return khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0, buffer->object.label,
                          "the indirect grid's buffer belongs to another device");
    const khal_status status = khal__usage_check(buffer, KHAL_USAGE_INDIRECT, "an indirect grid");
    if (status != KHAL_OK)
        return status;
    if (grid->offset % 4 != 0 || grid->offset > buffer->size || buffer->size - grid->offset < 12)
        return khal__fail(device, KHAL_ERROR_GRID_INDIRECT, 0, buffer->object.label,
                          "offset %llu; it must be a multiple of 4 with 12 bytes behind it, and "
                          "the buffer has %llu",
                          (unsigned long long)grid->offset, (unsigned long long)buffer->size);
    return KHAL_OK;
}

static khal_status check_function(khal_device* device, khal_function* function)
{
    const khal_status state = khal__function_poll(function);
    if (state == KHAL_NOT_READY)
        return khal__fail(device, KHAL_ERROR_NOT_LOADED, 0, function->object.label,
                          "the function is still being made; poll it first");
    if (state == KHAL_OK)
        return KHAL_OK;
    return khal__fail(device, function->error.id, function->error.native_code,
                      function->object.label, "%s", function->error.message);
}

static khal_status dispatch(khal_encoder* encoder, const khal_pass* pass,
                            const khal_dispatch_desc* desc, uint32_t* out_index)
{
    khal_device* device = encoder->object.device;
    if (KHAL__UNLIKELY(desc == NULL || desc->function == NULL))
        return khal__fail_null(device, encoder->object.label, desc == NULL ? "desc" : "function");
    khal_function* function = desc->function;
    const khal_kernel_info* info = function->info;
    const char* label = function->object.label;
    if (KHAL__UNLIKELY(khal__is_lost(device)))
        return khal__fail_lost(device);
    if (KHAL__UNLIKELY(function->object.device != device))
        return khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0, label,
                          "the function belongs to another device");
    khal_status status;
    if (KHAL__UNLIKELY(atomic_load_explicit(&function->state, memory_order_acquire) != KHAL_OK)) {
        status = check_function(device, function);
        if (status != KHAL_OK)
            return status;
    }
    if (KHAL__UNLIKELY(desc->binding_count != info->binding_count))
        return khal__fail(device, KHAL_ERROR_BINDING_COUNT, 0, label,
                          "%u bindings; kernel %s has %u", desc->binding_count, info->name,
                          info->binding_count);
    if (KHAL__UNLIKELY(desc->binding_count > 0 && desc->bindings == NULL))
        return khal__fail_null(device, label, "bindings");
    if (KHAL__UNLIKELY(desc->push_constant_size != info->push_constant_size))
        return khal__fail(device, KHAL_ERROR_PUSH_CONSTANT_SIZE, 0, label,
                          "%u bytes of push constants; kernel %s has %u", desc->push_constant_size,
                          info->name, info->push_constant_size);
    if (KHAL__UNLIKELY(desc->push_constant_size > 0 && desc->push_constants == NULL))
        return khal__fail_null(device, label, "push_constants");
    if (KHAL__UNLIKELY(desc->local_count != info->local_count))
        return khal__fail(device, KHAL_ERROR_LOCAL_COUNT, 0, label,
                          "%u local sizes; kernel %s has %u local arguments", desc->local_count,
                          info->name, info->local_count);
    if (desc->local_count > 0) {
        if (desc->local_sizes == NULL)
            return khal__fail_null(device, label, "local_sizes");
        status = check_locals(device, function, desc);
        if (status != KHAL_OK)
            return status;
    }

    khal__recording* recording = encoder->recording;
    khal__node* node =
        khal__recording_dispatch_node(recording, pass->index, pass->label, desc->binding_count,
                                      desc->local_count, desc->push_constant_size);
    if (KHAL__UNLIKELY(node == NULL))
        return khal__fail_memory(device, encoder->object.label, "the recording", sizeof *node);
    khal__range* bindings = node->command.u.dispatch.bindings;
    for (uint32_t i = 0; i < desc->binding_count; ++i) {
        status = khal__binding_check(device, function, i, &desc->bindings[i], &bindings[i]);
        if (KHAL__UNLIKELY(status != KHAL_OK))
            return status;
    }

    khal__resolved_grid grid;
    const bool is_indirect = desc->grid.kind == KHAL_GRID_INDIRECT;
    if (is_indirect) {
        status = check_indirect(device, &desc->grid);
        if (status != KHAL_OK)
            return status;
        khal_grid one = desc->grid;
        one.x = one.y = one.z = 1;
        status = khal__grid_resolve(function, &one, &grid);
        grid.work_items = UINT64_MAX;
    } else if (KHAL__UNLIKELY((unsigned)desc->grid.kind > KHAL_GRID_INDIRECT)) {
        status = khal__fail(device, KHAL_ERROR_ARGUMENT_VALUE, 0, label, "grid kind %d is unknown",
                            (int)desc->grid.kind);
    } else {
        status = khal__grid_resolve(function, &desc->grid, &grid);
    }
    if (KHAL__UNLIKELY(status != KHAL_OK))
        return status;

    node->flags |= grid.is_empty ? KHAL__NODE_NOOP : 0;
    node->command.u.dispatch.function = function;
    if (desc->local_count > 0)
        memcpy(node->command.u.dispatch.local_sizes, desc->local_sizes,
               desc->local_count * sizeof(uint64_t));
    if (desc->push_constant_size > 0)
        memcpy(node->command.u.dispatch.push_constants, desc->push_constants,
               desc->push_constant_size);
    memcpy(node->command.u.dispatch.workgroup_size, grid.workgroup_size,
           sizeof grid.workgroup_size);
    memcpy(node->command.u.dispatch.group_count, grid.group_count, sizeof grid.group_count);
    memcpy(node->command.u.dispatch.global_size, grid.global_size, sizeof grid.global_size);
    node->command.u.dispatch.is_indirect = is_indirect;
    const khal__range indirect = {desc->grid.buffer, desc->grid.offset, 12};
    const khal__range none = {NULL, 0, 0};
    node->command.u.dispatch.indirect = is_indirect ? indirect : none;

    if (KHAL__UNLIKELY(!khal__append_dispatch(recording, node, function)))
        return khal__fail_memory(device, encoder->object.label, "the recording", sizeof *node);
    if (!grid.is_empty)
        recording->work_items = grid.work_items < UINT64_MAX - recording->work_items
                                    ? recording->work_items + grid.work_items
                                    : UINT64_MAX;
    if (out_index != NULL)
        *out_index = node->command.u.dispatch.index;
    return KHAL_OK;
}

khal_status khal_pass_dispatch(khal_pass* pass, const khal_dispatch_desc* desc, uint32_t* out_index)
{
    if (KHAL__UNLIKELY(pass == NULL))
        return khal__fail_null(NULL, NULL, "pass");
    khal_encoder* encoder = pass->encoder;
    if (KHAL__UNLIKELY(encoder->sticky != KHAL_OK))
        return encoder->sticky;
    if (KHAL__UNLIKELY(!pass->open))
        return khal__encoder_stick(
            encoder, khal__fail(encoder->object.device, KHAL_ERROR_PASS_ENDED, 0,
                                encoder->object.label, "a dispatch in a pass that has ended"));
    const khal_status status = dispatch(encoder, pass, desc, out_index);
    return KHAL__UNLIKELY(status != KHAL_OK) ? khal__encoder_stick(encoder, status) : KHAL_OK;
}

uint32_t khal_pass_get_dispatch_count(const khal_pass* pass)
{
    return pass != NULL && pass->encoder->recording != NULL
               ? pass->encoder->recording->dispatch_index_count
               : 0;
}
