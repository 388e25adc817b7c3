/* Layouts, one for each shape, and one function's variants and pipelines. */
#include "wg_kernel.h"

#include <stdio.h>
#include <string.h>

#define MAX_PIPELINES 64u /* of one function; sizes of local arguments may be many */

/* ---- layouts ----------------------------------------------------------------------------------- */

static bool same_shape(const wg_layout* layout, const wg_shape_entry* entries, uint32_t count, uint32_t immediate_size)
{
    if (layout->entry_count != count || layout->immediate_size != immediate_size)
        return false;
    for (uint32_t i = 0; i < count; ++i) {
        const wg_shape_entry *a = &layout->entries[i], *b = &entries[i];
        if (a->group != b->group || a->binding != b->binding || a->type != b->type || a->block_size != b->block_size)
            return false;
    }
    return true;
}

static void destroy_layout(wg_device* device, wg_layout* layout)
{
    const wg_functions* f = &device->library->f;
    if (layout->pipeline != NULL)
        f->PipelineLayoutRelease(layout->pipeline);
    for (uint32_t g = 0; g < layout->group_count; ++g) {
        if (layout->empty[g] != NULL)
            f->BindGroupRelease(layout->empty[g]);
        if (layout->groups[g] != NULL)
            f->BindGroupLayoutRelease(layout->groups[g]);
    }
    khal__free(device->front, layout, layout->size);
}

static void make_layout(wg_device* device, wg_layout* layout)
{
    const wg_functions* f = &device->library->f;
    WGPUBindGroupLayoutEntry entries[WG_MAX_BINDINGS + 1];
    uint32_t next = 0;
    for (uint32_t g = 0; g < layout->group_count; ++g) {
        uint32_t count = 0;
        memset(entries, 0, sizeof entries);
        for (; next < layout->entry_count && layout->entries[next].group == g; ++next, ++count) {
            const wg_shape_entry* e = &layout->entries[next];
            entries[count].binding = e->binding;
            entries[count].visibility = WGPUShaderStage_Compute;
            entries[count].buffer.type = e->type;
            entries[count].buffer.hasDynamicOffset = e->block_size > 0;
            entries[count].buffer.minBindingSize = e->block_size;
        }
        const WGPUBindGroupLayoutDescriptor desc = {.label = wg_view(NULL), .entryCount = count, .entries = entries};
        layout->groups[g] = f->DeviceCreateBindGroupLayout(device->device, &desc);
        if (count == 0 && layout->groups[g] != NULL) {
            const WGPUBindGroupDescriptor empty = {.label = wg_view(NULL), .layout = layout->groups[g]};
            layout->empty[g] = f->DeviceCreateBindGroup(device->device, &empty);
        }
    }
    const WGPUPipelineLayoutDescriptor desc = {.label = wg_view(NULL),
                                               .bindGroupLayoutCount = layout->group_count,
                                               .bindGroupLayouts = layout->groups,
                                               .immediateSize = layout->immediate_size};
    layout->pipeline = f->DeviceCreatePipelineLayout(device->device, &desc);
}

khal_status wg_layout_get(wg_device* device, const wg_shape_entry* entries, uint32_t count, uint32_t immediate_size,
                          const wg_layout** out)
{
    for (const wg_layout* l = device->layouts; l != NULL; l = l->next)
        if (same_shape(l, entries, count, immediate_size)) {
            *out = l;
            return KHAL_OK;
        }
    const size_t size = sizeof(wg_layout) + count * sizeof(wg_shape_entry);
    wg_layout* layout = khal__alloc(device->front, size, 16);
    if (layout == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for a pipeline's layout");
    memset(layout, 0, sizeof *layout);
    layout->size = size;
    layout->id = wg_next_id(device);
    layout->immediate_size = immediate_size;
    layout->entry_count = count;
    layout->group_count = count > 0 ? entries[count - 1].group + 1 : 0;
    memcpy(layout->entries, entries, count * sizeof *entries);
    wg_scope_begin(device);
    make_layout(device, layout);
    const khal_status status = wg_scope_end(device, KHAL_ERROR_FUNCTION_LAYOUT, NULL, "the layout of a pipeline");
    if (status != KHAL_OK) {
        destroy_layout(device, layout);
        return status;
    }
    layout->next = device->layouts;
    device->layouts = layout;
    *out = layout;
    return KHAL_OK;
}

void wg_layouts_close(wg_device* device)
{
    while (device->layouts != NULL) {
        wg_layout* layout = device->layouts;
        device->layouts = layout->next;
        destroy_layout(device, layout);
    }
}

/* ---- programs ---------------------------------------------------------------------------------- */

khal_status wg_shader_create(wg_device* device, const WGPUShaderModuleDescriptor* desc, khal_error_id id,
                             const char* object, WGPUShaderModule* out)
{
    const wg_functions* f = &device->library->f;
    wg_scope_begin(device);
    WGPUShaderModule shader = f->DeviceCreateShaderModule(device->device, desc);
    const khal_status status = wg_scope_end(device, id, object, "the code");
    if (status != KHAL_OK && shader != NULL) {
        f->ShaderModuleRelease(shader);
        return status;
    }
    *out = shader;
    return status;
}

khal_status wg_shader_create_wgsl(wg_device* device, const char* text, size_t length, const char* label,
                                  khal_error_id id, const char* object, WGPUShaderModule* out)
{
    const WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL}, .code = {text, length}};
    const WGPUShaderModuleDescriptor desc = {.nextInChain = (WGPUChainedStruct*)(uintptr_t)&source.chain,
                                             .label = wg_view(label)};
    return wg_shader_create(device, &desc, id, object, out);
}

khal_status wg_program_create(wg_device* device, WGPUShaderModule shader, const char* entry,
                              const WGPUConstantEntry* constants, size_t constant_count, const char* object,
                              wg_program* program)
{
    const wg_functions* f = &device->library->f;
    const WGPUComputePipelineDescriptor desc = {
        .label = wg_view(entry),
        .layout = program->layout->pipeline,
        .compute = {
            .module = shader, .entryPoint = wg_view(entry), .constantCount = constant_count, .constants = constants}};
    wg_scope_begin(device);
    program->handle = f->DeviceCreateComputePipeline(device->device, &desc);
    const khal_status status = wg_scope_end(device, KHAL_ERROR_FUNCTION_COMPILE, object, "the pipeline");
    if (status != KHAL_OK)
        wg_program_destroy(device, program);
    else
        program->id = wg_next_id(device);
    return status;
}

void wg_program_destroy(wg_device* device, wg_program* program)
{
    if (program->handle != NULL)
        device->library->f.ComputePipelineRelease(program->handle);
    program->handle = NULL;
}

/* ---- variants ---------------------------------------------------------------------------------- */

wg_block_layout wg_block_lay_out(const khal_kernel_info* info)
{
    wg_block_layout layout = {.slices = WG_GRID_SIZE};
    layout.locals = layout.slices + (info->binding_count + 1) / 2 * 16;
    layout.push = layout.locals + (info->local_count + 3) / 4 * 16;
    layout.size = layout.push + (info->push_constant_size + 15) / 16 * 16;
    return layout;
}

static bool same_variant(const wg_variant* v, const wg_placement* placement, wg_block_kind block,
                         uint32_t binding_count)
{
    if (v->block != block || v->is_shared != (placement != NULL))
        return false;
    if (placement == NULL)
        return true;
    if (v->window_count != placement->window_count || memcmp(v->window_of, placement->window_of, binding_count) != 0)
        return false;
    for (uint32_t w = 0; w < v->window_count; ++w)
        if (v->writes[w] != placement->windows[w].writes)
            return false;
    return true;
}

static khal_status compile_variant(khal_function* function, wg_variant* variant)
{
    const khal_kernel_info* info = khal__function_kernel(function);
    const wg_function* wg = wg_function_of(function);
    khal_device* front = khal__module_device(khal__function_module(function));
    wg_device* device = wg_device_of(front);
    wg_shape_entry entries[WG_MAX_BINDINGS + 1];
    uint32_t count = 0;
    for (; count < variant->window_count; ++count)
        entries[count] = (wg_shape_entry){.binding = count,
                                          .type = variant->writes[count] ? WGPUBufferBindingType_Storage
                                                                         : WGPUBufferBindingType_ReadOnlyStorage};
    if (variant->block == WG_BLOCK_UNIFORM) {
        entries[count] =
            (wg_shape_entry){.binding = count, .type = WGPUBufferBindingType_Uniform, .block_size = wg->block.size};
        ++count;
    }
    khal_status status = wg_layout_get(device, entries, count,
                                       variant->block == WG_BLOCK_IMMEDIATE ? wg->block.size : 0, &variant->layout);
    if (status != KHAL_OK)
        return status;
    const size_t length = wg_compose(wg->kernel, info, variant, NULL, 0);
    char* text = khal__alloc(front, length + 1, 16);
    if (text == NULL)
        return khal__fail(front, KHAL_ERROR_OUT_OF_MEMORY, 0, info->name, "no memory for the kernel's text");
    wg_compose(wg->kernel, info, variant, text, length + 1);
    status = wg_shader_create_wgsl(device, text, length, info->name, KHAL_ERROR_FUNCTION_COMPILE, info->name,
                                   &variant->shader);
    khal__free(front, text, length + 1);
    return status;
}

khal_status wg_variant_get(khal_function* function, const wg_placement* placement, wg_block_kind block,
                           wg_variant** out)
{
    const khal_kernel_info* info = khal__function_kernel(function);
    wg_function* wg = wg_function_of(function);
    khal_device* front = khal__module_device(khal__function_module(function));
    for (wg_variant* v = wg->variants; v != NULL; v = v->next)
        if (same_variant(v, placement, block, info->binding_count)) {
            *out = v;
            return KHAL_OK;
        }
    wg_variant* v = khal__alloc(front, sizeof *v, 16);
    if (v == NULL)
        return khal__fail(front, KHAL_ERROR_OUT_OF_MEMORY, 0, info->name, "no memory for a variant of the kernel");
    memset(v, 0, sizeof *v);
    v->block = block;
    v->is_shared = placement != NULL;
    v->window_count = (uint8_t)(placement != NULL ? placement->window_count : info->binding_count);
    for (uint32_t w = 0; placement != NULL && w < placement->window_count; ++w)
        v->writes[w] = placement->windows[w].writes;
    if (placement != NULL)
        memcpy(v->window_of, placement->window_of, info->binding_count);
    for (uint32_t i = 0; placement == NULL && i < info->arg_count; ++i) {
        const khal_arg_info* arg = &info->args[i];
        if (arg->kind == KHAL_ARG_BUFFER || arg->kind == KHAL_ARG_CONSTANT)
            v->writes[arg->index] = (arg->access & KHAL_ACCESS_WRITE) != 0;
    }
    const khal_status status = compile_variant(function, v);
    if (status != KHAL_OK) {
        khal__free(front, v, sizeof *v);
        return status;
    }
    v->next = wg->variants;
    wg->variants = v;
    *out = v;
    return KHAL_OK;
}

/* ---- pipelines --------------------------------------------------------------------------------- */

static uint32_t local_count(const wg_function* wg, const uint64_t* local_sizes, uint32_t i)
{
    const uint64_t stride = wg->kernel->local_strides[i], count = (local_sizes[i] + stride - 1) / stride;
    return count > 0 ? (uint32_t)count : 1;
}

static bool same_pipeline(const wg_pipeline* p, const wg_variant* variant, wg_shape shape, const wg_function* wg,
                          const uint32_t workgroup_size[3], const uint64_t* local_sizes, uint32_t locals)
{
    if (p->variant != variant || p->shape != shape ||
        (wg->has_sizes && memcmp(p->workgroup_size, workgroup_size, sizeof p->workgroup_size) != 0))
        return false;
    for (uint32_t i = 0; i < locals; ++i)
        if (p->local_counts[i] != local_count(wg, local_sizes, i))
            return false;
    return true;
}

static void destroy_pipeline(khal_device* front, wg_pipeline* p)
{
    wg_program_destroy(wg_device_of(front), &p->program);
    khal__free(front, p, p->size);
}

static void drop_oldest(khal_device* front, wg_function* wg)
{
    wg_pipeline** oldest = &wg->pipelines;
    for (wg_pipeline** link = &wg->pipelines; *link != NULL; link = &(*link)->next)
        if ((*link)->used < (*oldest)->used)
            oldest = link;
    wg_pipeline* p = *oldest;
    *oldest = p->next;
    destroy_pipeline(front, p);
    --wg->pipeline_count;
}

static khal_status compile_pipeline(khal_function* function, wg_pipeline* p, uint32_t locals)
{
    const khal_kernel_info* info = khal__function_kernel(function);
    const wg_function* wg = wg_function_of(function);
    wg_device* device = wg_device_of(khal__module_device(khal__function_module(function)));
    static const char* const size_names[3] = {"khal_size_x", "khal_size_y", "khal_size_z"};
    char names[WG_MAX_BINDINGS][24];
    WGPUConstantEntry constants[WG_MAX_BINDINGS + 7]; /* sizes, facts, locals */
    uint32_t count = 0;
    memset(constants, 0, sizeof constants);
    for (int i = 0; wg->has_sizes && i < 3; ++i) {
        constants[count].key = wg_view(size_names[i]);
        constants[count++].value = p->workgroup_size[i];
    }
    const struct {
        const char* name;
        bool is_declared, value;
    } facts[] = {{"khal_has_fma", (wg->uses & KHAL_WGSL_USES_FMA) != 0, device->has_fused_fma},
                 {"khal_has_sqrt", (wg->uses & KHAL_WGSL_USES_SQRT) != 0, device->has_good_sqrt},
                 {"khal_is_plain", p->shape != WG_SHAPE_ANY, true},
                 {"khal_is_exact", p->shape == WG_SHAPE_EXACT, true}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; ++i)
        if (facts[i].is_declared) {
            constants[count].key = wg_view(facts[i].name);
            constants[count++].value = facts[i].value;
        }
    for (uint32_t i = 0; i < locals; ++i) {
        snprintf(names[i], sizeof names[i], "khal_local_%u", i);
        constants[count].key = wg_view(names[i]);
        constants[count++].value = p->local_counts[i];
    }
    p->program.layout = p->variant->layout;
    p->program.block = p->variant->block;
    p->program.block_size = p->variant->block == WG_BLOCK_NONE ? 0 : wg->block.size;
    return wg_program_create(device, p->variant->shader, wg->kernel->entry, constants, count, info->name, &p->program);
}

khal_status wg_pipeline_get(khal_function* function, const wg_placement* placement, wg_block_kind block, wg_shape shape,
                            const uint32_t workgroup_size[3], const uint64_t* local_sizes, wg_pipeline** out)
{
    const khal_kernel_info* info = khal__function_kernel(function);
    wg_function* wg = wg_function_of(function);
    khal_device* front = khal__module_device(khal__function_module(function));
    const uint32_t locals = info->local_count;
    wg_variant* variant = NULL;
    khal_status status = wg_variant_get(function, placement, block, &variant);
    if (status != KHAL_OK)
        return status;
    const uint64_t now = wg_next_id(wg_device_of(front));
    for (wg_pipeline* p = wg->pipelines; p != NULL; p = p->next)
        if (same_pipeline(p, variant, shape, wg, workgroup_size, local_sizes, locals)) {
            p->used = now;
            *out = p;
            return KHAL_OK;
        }
    if (wg->pipeline_count == MAX_PIPELINES)
        drop_oldest(front, wg);
    const size_t size = sizeof(wg_pipeline) + locals * sizeof(uint32_t);
    wg_pipeline* p = khal__alloc(front, size, 16);
    if (p == NULL)
        return khal__fail(front, KHAL_ERROR_OUT_OF_MEMORY, 0, info->name, "no memory for a pipeline");
    memset(p, 0, size);
    p->size = size;
    p->used = now;
    p->variant = variant;
    p->shape = shape;
    memcpy(p->workgroup_size, workgroup_size, sizeof p->workgroup_size);
    for (uint32_t i = 0; i < locals; ++i)
        p->local_counts[i] = local_count(wg, local_sizes, i);
    status = compile_pipeline(function, p, locals);
    if (status != KHAL_OK) {
        khal__free(front, p, size);
        return status;
    }
    p->next = wg->pipelines;
    wg->pipelines = p;
    ++wg->pipeline_count;
    *out = p;
    return KHAL_OK;
}

void wg_pipelines_destroy(khal_function* function)
{
    wg_function* wg = wg_function_of(function);
    khal_device* front = khal__module_device(khal__function_module(function));
    wg_device* device = wg_device_of(front);
    while (wg->pipelines != NULL) {
        wg_pipeline* p = wg->pipelines;
        wg->pipelines = p->next;
        destroy_pipeline(front, p);
    }
    while (wg->variants != NULL) {
        wg_variant* v = wg->variants;
        wg->variants = v->next;
        device->library->f.ShaderModuleRelease(v->shader);
        khal__free(front, v, sizeof *v);
    }
    wg_program_destroy(device, &wg->foreign);
}
