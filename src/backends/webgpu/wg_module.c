/* Modules and functions: khalc's WGSL, and code from elsewhere. */
#include "wg_kernel.h"
#include "wg_spirv.h"

#include <stdio.h>
#include <string.h>

static wg_device* device_of(khal_module* module)
{
    return wg_device_of(khal__module_device(module));
}

/* ---- modules ----------------------------------------------------------------------------------- */

static khal_status create_wgsl(khal_module* module, const khal_module_desc* desc, const khal_code* code)
{
    wg_device* device = device_of(module);
    wg_module* wg = khal__module_impl(module);
    const char* text = code->bytes;
    const size_t length = text[code->size - 1] == 0 ? code->size - 1 : code->size;
    wg->has_immediates = khal__module_has_immediates(module);
    if (wg->has_immediates && device->immediate_size == 0)
        return khal__fail(device->front, KHAL_ERROR_UNSUPPORTED, 0, desc->label,
                          "the code has var<immediate>, and the device has no immediates; push constants as a uniform "
                          "buffer work everywhere");
    return wg_shader_create_wgsl(device, text, length, desc->label, KHAL_ERROR_MODULE_COMPILE, desc->label,
                                 &wg->shader);
}

static khal_status create_spirv(khal_module* module, const khal_module_desc* desc, const khal_code* code)
{
    wg_device* device = device_of(module);
    wg_module* wg = khal__module_impl(module);
    const wg_spirv_target target = {
        .is_dawn = device->library->dialect != WG_DIALECT_WGPU_NATIVE,
        .has_float16 = wg_device_has(device->library, device->device, WG_FEATURE_F16),
        .has_immediates = device->immediate_size > 0,
    };
    const uint32_t* words = code->bytes;
    char message[400];
    if (!wg_spirv_check(&target, words, code->size / 4, message, sizeof message))
        return khal__fail(device->front, KHAL_ERROR_MODULE_COMPILE, 0, desc->label, "%s", message);
    wg->has_immediates = khal__module_has_immediates(module);
    const WGPUShaderSourceSPIRV source = {
        .chain = {.sType = WGPUSType_ShaderSourceSPIRV}, .codeSize = (uint32_t)(code->size / 4), .code = words};
    const WGPUShaderModuleDescriptor shader = {.nextInChain = (WGPUChainedStruct*)(uintptr_t)&source.chain,
                                               .label = wg_view(desc->label)};
    return wg_shader_create(device, &shader, KHAL_ERROR_MODULE_COMPILE, desc->label, &wg->shader);
}

khal_status wg_module_create(khal_module* module, const khal_module_desc* desc, const khal_code* code)
{
    wg_device* device = device_of(module);
    if (khal__module_library(module) != NULL)
        return KHAL_OK; /* each kernel is a shader of its own, made with its function */
    wg_lock(device);
    const khal_status status =
        code->format == KHAL_FORMAT_WGSL ? create_wgsl(module, desc, code) : create_spirv(module, desc, code);
    wg_unlock(device);
    return status;
}

void wg_module_destroy(khal_module* module)
{
    wg_device* device = device_of(module);
    wg_module* wg = khal__module_impl(module);
    if (wg->shader == NULL)
        return;
    wg_lock(device);
    device->library->f.ShaderModuleRelease(wg->shader);
    wg_unlock(device);
}

/* ---- functions of a library -------------------------------------------------------------------- */

static khal_status create_kernel(khal_function* function, const khal_function_desc* desc)
{
    khal_module* module = khal__function_module(function);
    const khal_kernel_info* info = khal__function_kernel(function);
    wg_device* device = device_of(module);
    wg_function* wg = wg_function_of(function);
    wg->kernel = &khal__module_code(module)->wgsl_kernels[khal__function_index(function)];
    if (wg->kernel->source == NULL)
        return khal__fail(device->front, KHAL_ERROR_UNSUPPORTED, 0, desc->label, "kernel %s can't be had in WGSL: %s",
                          info->name, wg->kernel->reason);
    wg->block = wg_block_lay_out(info);
    if ((wg->kernel->block_size != 0 && wg->kernel->block_size != wg->block.size) || wg->block.size > WG_MAX_BLOCK)
        return khal__fail(device->front, KHAL_ERROR_MODULE_MALFORMED, 0, desc->label,
                          "kernel %s has %u bytes of hidden arguments in WGSL, and by its reflection %u", info->name,
                          wg->kernel->block_size, wg->block.size);
    if (info->local_count > WG_MAX_BINDINGS)
        return khal__fail(device->front, KHAL_ERROR_FUNCTION_LIMIT, 0, desc->label,
                          "kernel %s needs %u local arguments; the device has %u", info->name, info->local_count,
                          WG_MAX_BINDINGS);
    wg->has_sizes = info->workgroup_size[0] == 0;
    wg->uses = wg->kernel->flags & (KHAL_WGSL_USES_FMA | KHAL_WGSL_USES_SQRT);
    for (uint32_t i = 0; i < info->arg_count; ++i) {
        const khal_arg_info* arg = &info->args[i];
        if (arg->kind != KHAL_ARG_BUFFER && arg->kind != KHAL_ARG_CONSTANT)
            continue;
        wg->writes[arg->index] = (arg->access & KHAL_ACCESS_WRITE) != 0;
        if (arg->element_size > wg->element_bytes)
            wg->element_bytes = arg->element_size;
    }
    wg_variant* variant = NULL;
    return wg_variant_get(function, NULL, wg_block_kind_of(device, wg, false), &variant);
}

/* ---- functions of foreign code ----------------------------------------------------------------- */

/* The kind that the library wants of a binding, whatever the caller's layout allows. */
static WGPUBufferBindingType declared(khal_module* module, const wg_spirv_target* target,
                                      const khal_binding_desc* binding)
{
    const khal_code* code = khal__module_code(module);
    khal_binding_desc own = *binding;
    khal__module_binding(module, binding->group, binding->binding, &own);
    if (own.kind == KHAL_ARG_CONSTANT)
        return WGPUBufferBindingType_Uniform;
    const bool read_only =
        code->format == KHAL_FORMAT_SPIRV
            ? wg_spirv_is_read_only(target, code->bytes, code->size / 4, binding->group, binding->binding)
            : own.access == KHAL_ACCESS_READ;
    return read_only ? WGPUBufferBindingType_ReadOnlyStorage : WGPUBufferBindingType_Storage;
}

/* The layout's entries, by group, and which argument each is. */
static khal_status lay_out_foreign(khal_function* function, const khal_function_desc* desc, wg_shape_entry* entries,
                                   uint32_t* out_count)
{
    khal_module* module = khal__function_module(function);
    wg_device* device = device_of(module);
    wg_function* wg = wg_function_of(function);
    const wg_module* wg_module = khal__module_impl(module);
    const wg_spirv_target target = {.is_dawn = device->library->dialect != WG_DIALECT_WGPU_NATIVE};
    const uint32_t groups = device->limits.maxBindGroups < WG_MAX_GROUPS ? device->limits.maxBindGroups : WG_MAX_GROUPS;
    uint32_t count = 0, next_binding = 0;
    for (uint32_t g = 0; g < groups; ++g) {
        for (uint32_t i = 0; i < desc->binding_count; ++i) {
            const khal_binding_desc* b = &desc->bindings[i];
            if (b->group >= groups)
                return khal__fail(device->front, KHAL_ERROR_FUNCTION_LIMIT, 0, desc->label,
                                  "binding %u is in group %u; the device has %u groups", i, b->group, groups);
            if (b->group != g)
                continue;
            if (g == 0 && b->binding >= next_binding)
                next_binding = b->binding + 1;
            entries[count] = (wg_shape_entry){.group = g, .binding = b->binding, .type = declared(module, &target, b)};
            wg->writes[i] = entries[count].type == WGPUBufferBindingType_Storage;
            wg->argument_of[count++] = (uint8_t)i;
        }
        if (g == 0 && desc->push_constant_size > 0 && !wg_module->has_immediates) {
            wg->foreign.block = WG_BLOCK_UNIFORM;
            wg->foreign.block_size = (desc->push_constant_size + 15) & ~15u;
            wg->argument_of[count] = WG_MAX_BINDINGS;
            entries[count++] = (wg_shape_entry){
                .binding = next_binding, .type = WGPUBufferBindingType_Uniform, .block_size = wg->foreign.block_size};
        }
    }
    *out_count = count;
    return KHAL_OK;
}

static float half_to_float(uint16_t half)
{
    const uint32_t exponent = half >> 10 & 31u, mantissa = half & 1023u;
    float value = exponent == 0 ? (float)mantissa * 0x1p-24f : (float)(mantissa | 1024u) * 0x1p-25f;
    for (uint32_t i = 1; exponent > 0 && i <= exponent; ++i)
        value *= 2.0f;
    return (half & 0x8000u) != 0 ? -value : value;
}

static double constant_value(khal__scalar type, const khal_specialization* s)
{
    int64_t bits = 0;
    float f;
    double d;
    memcpy(&bits, s->data, s->size);
    switch (type) {
    case KHAL__SCALAR_BOOL: return bits != 0;
    case KHAL__SCALAR_INT: return (double)((int64_t)((uint64_t)bits << (64 - 8 * s->size)) >> (64 - 8 * s->size));
    case KHAL__SCALAR_FLOAT:
        if (s->size == 8) {
            memcpy(&d, s->data, 8);
            return d;
        }
        if (s->size == 4) {
            memcpy(&f, s->data, 4);
            return f;
        }
        return s->size == 2 ? (double)half_to_float((uint16_t)bits) : (double)bits;
    default: return (double)(uint64_t)bits;
    }
}

static khal_status create_foreign(khal_function* function, const khal_function_desc* desc)
{
    khal_module* module = khal__function_module(function);
    wg_device* device = device_of(module);
    wg_function* wg = wg_function_of(function);
    const wg_module* wg_module = khal__module_impl(module);
    wg_shape_entry entries[WG_MAX_BINDINGS + 1];
    uint32_t count = 0, immediates = 0;
    if (wg_module->has_immediates && desc->push_constant_size > 0) {
        immediates = (desc->push_constant_size + 3) & ~3u;
        if (immediates > device->immediate_size)
            return khal__fail(device->front, KHAL_ERROR_FUNCTION_LIMIT, 0, desc->label,
                              "kernel %s needs %u bytes of immediates; the device has %u",
                              khal__function_kernel(function)->name, immediates, device->immediate_size);
        wg->foreign.block = WG_BLOCK_IMMEDIATE;
        wg->foreign.block_size = immediates;
    }
    khal_status status = lay_out_foreign(function, desc, entries, &count);
    if (status == KHAL_OK)
        status = wg_layout_get(device, entries, count, immediates, &wg->foreign.layout);
    if (status != KHAL_OK)
        return status;
    const uint32_t constants = desc->specialization_count;
    WGPUConstantEntry values[WG_MAX_CONSTANTS];
    char keys[WG_MAX_CONSTANTS][12];
    if (constants > WG_MAX_CONSTANTS)
        return khal__fail(device->front, KHAL_ERROR_FUNCTION_LIMIT, 0, desc->label,
                          "%u specialization constants; the device takes %u", constants, WG_MAX_CONSTANTS);
    for (uint32_t i = 0; i < constants; ++i) {
        const khal_specialization* s = &desc->specializations[i];
        snprintf(keys[i], sizeof keys[i], "%u", s->id);
        values[i] = (WGPUConstantEntry){.key = wg_view(keys[i]),
                                        .value = constant_value(khal__module_specialization(module, s->id), s)};
    }
    return wg_program_create(device, wg_module->shader, desc->entry_point, values, constants, desc->label,
                             &wg->foreign);
}

khal_status wg_function_create(khal_function* function, const khal_function_desc* desc)
{
    khal_module* module = khal__function_module(function);
    wg_device* device = device_of(module);
    wg_lock(device);
    const khal_status status =
        khal__module_library(module) != NULL ? create_kernel(function, desc) : create_foreign(function, desc);
    if (status != KHAL_OK)
        wg_pipelines_destroy(function);
    wg_unlock(device);
    return status;
}

void wg_function_destroy(khal_function* function)
{
    wg_device* device = device_of(khal__function_module(function));
    wg_lock(device);
    wg_pipelines_destroy(function);
    wg_unlock(device);
}

khal_status wg_function_poll(khal_function* function)
{
    wg_device* device = device_of(khal__function_module(function));
    if (wg_function_of(function)->uses == 0)
        return KHAL_OK;
    wg_lock(device);
    const khal_status status = wg_internal_poll_maths(device);
    wg_unlock(device);
    return status;
}

bool wg_grid_fits(khal_function* function, const uint32_t workgroup_size[3], const uint64_t group_count[3])
{
    const wg_function* wg = wg_function_of(function);
    const uint32_t most = device_of(khal__function_module(function))->limits.maxComputeWorkgroupsPerDimension;
    wg_fold fold;
    if (wg->kernel == NULL)
        return group_count[0] <= most && group_count[1] <= most && group_count[2] <= most;
    return wg_fold_grid(group_count, most, &fold) && wg_fold_has_ids(&fold, workgroup_size, group_count[2]);
}
