#include "core.h"
#include "reflect.h"

#include <stdio.h>

/* Lists a module's entry points in an error message. */
static khal_status fail_entry_point(khal_device* device, const khal_module* module,
                                    const khal_function_desc* desc)
{
    char names[600];
    size_t length = 0;
    names[0] = 0;
    for (uint32_t i = 0; i < module->kernel_count; ++i) {
        const int n = snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "",
                               module->kernels[i].name);
        if (n < 0 || (size_t)n >= sizeof names - length) {
            snprintf(names + sizeof names - 5, 5, " ...");
            break;
        }
        length += (size_t)n;
    }
    if (module->kernel_count == 0)
        snprintf(names, sizeof names, "none");
    if (desc->entry_point == NULL)
        return khal__fail(device, KHAL_ERROR_ENTRY_POINT, 0, desc->label,
                          "no entry point is named, and the module has %u: %s",
                          module->kernel_count, names);
    return khal__fail(device, KHAL_ERROR_ENTRY_POINT, 0, desc->label,
                      "no entry point \"%.100s\"; there are: %s", desc->entry_point, names);
}

static khal_status fail_layout(khal_device* device, const khal_function_desc* desc,
                               const char* name, const char* what)
{
    return khal__fail(device, KHAL_ERROR_FUNCTION_LAYOUT, 0, desc->label, "kernel %s: %s", name,
                      what);
}

/* An explicit layout must say what khalc's reflection says. */
static khal_status check_layout(khal_device* device, const khal_function_desc* desc,
                                const khal_kernel_info* info)
{
    if (desc->push_constant_size != 0 && desc->push_constant_size != info->push_constant_size)
        return fail_layout(device, desc, info->name,
                           "another push constant size than the kernel's");
    for (int i = 0; i < 3; ++i)
        if (desc->workgroup_size[i] != 0 && desc->workgroup_size[i] != info->workgroup_size[i])
            return fail_layout(device, desc, info->name,
                               "another work-group size than the kernel's");
    if (desc->bindings == NULL)
        return desc->binding_count == 0 ? KHAL_OK
                                        : khal__fail_null(device, desc->label, "bindings");
    if (desc->binding_count != info->binding_count)
        return fail_layout(device, desc, info->name,
                           "another number of bindings than the kernel has");
    for (uint32_t i = 0; i < info->arg_count; ++i) {
        const khal_arg_info* arg = &info->args[i];
        if (arg->kind != KHAL_ARG_BUFFER && arg->kind != KHAL_ARG_CONSTANT)
            continue;
        const khal_binding_desc* binding = &desc->bindings[arg->index];
        if (binding->kind != 0 && binding->kind != arg->kind)
            return fail_layout(device, desc, info->name,
                               "a binding of another kind than the kernel's argument");
        if (binding->element_size != 0 && binding->element_size != arg->element_size)
            return fail_layout(device, desc, info->name,
                               "a binding of another element size than the kernel's argument");
        if (binding->access != 0 && (arg->access & ~binding->access) != 0)
            return fail_layout(device, desc, info->name,
                               "a binding with less access than the kernel uses");
    }
    return KHAL_OK;
}

static khal_status check_limits(khal_device* device, const khal_function_desc* desc,
                                const khal_kernel_info* info)
{
    const khal_limits* limits = &device->info.limits;
    uint64_t items = 1;
    for (int i = 0; i < 3; ++i) {
        if (info->workgroup_size[i] > limits->workgroup_size[i])
            items = UINT64_MAX;
        else if (info->workgroup_size[i] > 0 && items != UINT64_MAX)
            items *= info->workgroup_size[i];
    }
    const char* what = NULL;
    unsigned long long needs = 0, has = 0;
    if (items > limits->workgroup_invocations)
        what = "work-items in a work-group", needs = items, has = limits->workgroup_invocations;
    else if (info->local_memory_size > limits->local_memory_size)
        what = "bytes of local memory", needs = info->local_memory_size,
        has = limits->local_memory_size;
    else if (info->push_constant_size > limits->push_constant_size)
        what = "bytes of push constants", needs = info->push_constant_size,
        has = limits->push_constant_size;
    else if (info->binding_count > limits->binding_count)
        what = "bindings", needs = info->binding_count, has = limits->binding_count;
    else if ((info->flags & KHAL_KERNEL_HAS_FP64) != 0 &&
             (device->info.features & KHAL_FEATURE_FP64) == 0)
        what = "double precision", needs = 1, has = 0;
    for (uint32_t i = 0; i < info->arg_count && what == NULL; ++i)
        if (info->args[i].kind != KHAL_ARG_VALUE &&
            info->args[i].element_align > KHAL__MEMORY_ALIGN)
            what = "bytes of alignment", needs = info->args[i].element_align,
            has = KHAL__MEMORY_ALIGN;
    if (what == NULL)
        return KHAL_OK;
    return khal__fail(device, KHAL_ERROR_FUNCTION_LIMIT, 0, desc->label,
                      "kernel %s needs %llu %s; the device has %llu", info->name, needs, what, has);
}

static khal_status check_specializations(khal_device* device, const khal_module* module,
                                         const khal_function_desc* desc)
{
    if (desc->specialization_count > 0 && desc->specializations == NULL)
        return khal__fail_null(device, desc->label, "specializations");
    for (uint32_t i = 0; i < desc->specialization_count; ++i) {
        const khal_specialization* s = &desc->specializations[i];
        if (s->data == NULL || (s->size != 1 && s->size != 2 && s->size != 4 && s->size != 8))
            return khal__fail(device, KHAL_ERROR_SPECIALIZATION, 0, desc->label,
                              "constant %u has %u bytes of data; 1, 2, 4 or 8", s->id,
                              s->data == NULL ? 0 : s->size);
        bool known = module->code.format == KHAL_FORMAT_MSL; /* only its compiler knows them */
        for (uint32_t k = 0; k < module->specialization_count && !known; ++k)
            known = module->specializations[k].id == s->id;
        if (!known)
            return khal__fail(device, KHAL_ERROR_SPECIALIZATION, 0, desc->label,
                              "the module has no specialization constant %u", s->id);
    }
    return KHAL_OK;
}

/* The kernel asked for; UINT32_MAX where the code does not tell its entry points (cubin). */
static khal_status find_kernel(khal_device* device, const khal_module* module,
                               const khal_function_desc* desc, uint32_t* out_index)
{
    if (module->library == NULL && module->kernel_count == 0 &&
        module->code.format == KHAL_FORMAT_CUBIN && desc->entry_point != NULL) {
        *out_index = UINT32_MAX;
        return KHAL_OK;
    }
    if (desc->entry_point == NULL && module->kernel_count == 1) {
        *out_index = 0;
        return KHAL_OK;
    }
    for (uint32_t i = 0; i < module->kernel_count && desc->entry_point != NULL; ++i)
        if (strcmp(module->kernels[i].name, desc->entry_point) == 0) {
            *out_index = i;
            return KHAL_OK;
        }
    return fail_entry_point(device, module, desc);
}

/* What the code says must be allowed by what the caller says. */
static khal_status check_against(khal_device* device, const khal_function_desc* desc,
                                 const char* name, const khal__reflection* reflection)
{
    if (desc->push_constant_size < reflection->push_constant_size)
        return fail_layout(device, desc, name, "a smaller push constant size than the code's");
    for (uint32_t i = 0; i < reflection->binding_count; ++i) {
        const khal_binding_desc* has = &reflection->bindings[i];
        const khal_binding_desc* said = NULL;
        for (uint32_t k = 0; k < desc->binding_count && said == NULL; ++k)
            if (desc->bindings[k].group == has->group && desc->bindings[k].binding == has->binding)
                said = &desc->bindings[k];
        char what[160];
        if (said == NULL)
            snprintf(what, sizeof what, "the layout lacks %s, which is binding %u of group %u",
                     reflection->names[i], has->binding, has->group);
        else if (said->kind != 0 && said->kind != has->kind)
            snprintf(what, sizeof what, "%s is of another kind in the layout than in the code",
                     reflection->names[i]);
        else if (said->access != 0 && (has->access & ~said->access) != 0)
            snprintf(what, sizeof what, "%s has less access in the layout than the code uses",
                     reflection->names[i]);
        else
            continue;
        return fail_layout(device, desc, name, what);
    }
    return KHAL_OK;
}

/* What each parameter is, by a layout whose bindings are numbers of parameters and whose push constants are all the others,
 * in order, each where its alignment has it. Fills *out_size with the bytes of these. NULL, or `what`: what does not fit. */
static const char* lay_out_parameters(const khal_function_desc* desc, khal__parameter* parameters, uint32_t count,
                                      uint32_t* out_size, char* what, size_t what_size)
{
    for (uint32_t i = 0; i < count; ++i)
        parameters[i].kind = KHAL_ARG_VALUE;
    for (uint32_t i = 0; i < desc->binding_count; ++i) {
        const khal_binding_desc* binding = &desc->bindings[i];
        if (binding->group != 0)
            snprintf(what, what_size, "binding %u is of group %u; parameters have no groups", i, binding->group);
        else if (binding->binding >= count)
            snprintf(what, what_size, "binding %u is parameter %u; the kernel has %u parameters", i, binding->binding,
                     count);
        else if (parameters[binding->binding].size != sizeof(uint64_t))
            snprintf(what, what_size, "binding %u is parameter %u, which has %u bytes; an address takes %u", i,
                     binding->binding, parameters[binding->binding].size, (unsigned)sizeof(uint64_t));
        else {
            parameters[binding->binding].kind = binding->kind != 0 ? binding->kind : (uint32_t)KHAL_ARG_BUFFER;
            parameters[binding->binding].index = i;
            continue;
        }
        return what;
    }
    uint64_t size = 0;
    uint32_t largest_align = 1;
    for (uint32_t i = 0; i < count; ++i) {
        khal__parameter* parameter = &parameters[i];
        if (parameter->kind != KHAL_ARG_VALUE)
            continue;
        size = (size + parameter->align - 1) / parameter->align * parameter->align;
        parameter->offset = (uint32_t)size;
        size += parameter->size;
        if (parameter->align > largest_align)
            largest_align = parameter->align;
    }
    /* A structure of them may end in padding. */
    const uint64_t padded = (size + largest_align - 1) / largest_align * largest_align;
    *out_size = (uint32_t)size;
    if (desc->push_constant_size == 0 || (desc->push_constant_size >= size && desc->push_constant_size <= padded))
        return NULL;
    snprintf(what, what_size, "the parameters that are no bindings take %u bytes of push constants; the layout has %u",
             *out_size, desc->push_constant_size);
    return what;
}

/* Fills what `desc` leaves open from the code, and checks the rest against it. */
static khal_status complete_foreign(khal_device* device, const khal_module* module,
                                    khal_function_desc* desc, const char* name,
                                    khal__reflection* reflection)
{
    if (desc->bindings == NULL && desc->binding_count > 0)
        return khal__fail_null(device, desc->label, "bindings");
    if (reflection->problem != NULL && desc->bindings == NULL && desc->push_constant_size == 0) {
        char what[160];
        snprintf(what, sizeof what,
                 "an explicit layout is needed (bindings, or a push constant size): %s",
                 reflection->problem);
        return fail_layout(device, desc, name, what);
    }
    for (uint32_t i = 0; i < desc->binding_count; ++i) {
        const khal_binding_desc* b = &desc->bindings[i];
        if (b->kind > KHAL_ARG_CONSTANT || b->access > (KHAL_ACCESS_READ | KHAL_ACCESS_WRITE))
            return fail_layout(device, desc, name, "a binding of unknown kind or access");
        for (uint32_t k = 0; k < i; ++k)
            if (desc->bindings[k].group == b->group && desc->bindings[k].binding == b->binding)
                return fail_layout(device, desc, name, "two bindings with one number");
    }
    if (reflection->problem == NULL) {
        if (desc->bindings == NULL) {
            desc->bindings = reflection->bindings;
            desc->binding_count = reflection->binding_count;
        }
        if (desc->push_constant_size == 0)
            desc->push_constant_size = reflection->push_constant_size;
        const khal_status status = check_against(device, desc, name, reflection);
        if (status != KHAL_OK)
            return status;
    }
    if (reflection->has_parameters) {
        char what[160];
        uint32_t size = 0;
        const char* problem = lay_out_parameters(desc, reflection->parameters, reflection->parameter_count, &size, what,
                                                 sizeof what);
        if (problem != NULL)
            return fail_layout(device, desc, name, problem);
        if (desc->push_constant_size == 0)
            desc->push_constant_size = size;
    }
    const uint32_t* known = reflection->workgroup_size;
    for (uint32_t i = 0; i < module->kernel_count && known[0] == 0; ++i)
        if (strcmp(module->kernels[i].name, name) == 0)
            known = module->kernels[i].workgroup_size;
    for (int k = 0; k < 3 && known[0] != 0; ++k) {
        if (desc->workgroup_size[k] != 0 && desc->workgroup_size[k] != known[k])
            return fail_layout(device, desc, name, "another work-group size than the code says");
        desc->workgroup_size[k] = known[k];
    }
    return KHAL_OK;
}

/* Takes `size` bytes, aligned, from a block that is counted first (base NULL) and filled then. */
static void* take(char* base, size_t* used, size_t size)
{
    void* at = base != NULL ? base + *used : NULL;
    *used += khal__round_up(size, 16);
    return at;
}

static char* take_string(char* base, size_t* used, const char* text)
{
    char* copy = take(base, used, strlen(text) + 1);
    if (copy != NULL)
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

/* What is known of foreign code, from its completed descriptor. */
static khal_kernel_info* lay_out_info(char* base, size_t* used, const khal_function_desc* desc,
                                      const char* name, const khal__reflection* reflection)
{
    khal_kernel_info* info = take(base, used, sizeof *info);
    khal_arg_info* args = take(base, used, desc->binding_count * sizeof *args);
    char* kernel_name = take_string(base, used, name);
    for (uint32_t i = 0; i < desc->binding_count; ++i) {
        char arg_name[64];
        snprintf(arg_name, sizeof arg_name, "%u", desc->bindings[i].binding);
        for (uint32_t k = 0; k < reflection->binding_count; ++k)
            if (reflection->bindings[k].group == desc->bindings[i].group &&
                reflection->bindings[k].binding == desc->bindings[i].binding)
                memcpy(arg_name, reflection->names[k], sizeof arg_name);
        char* copy = take_string(base, used, arg_name);
        if (base == NULL)
            continue;
        const khal_binding_desc* b = &desc->bindings[i];
        const uint32_t element_size = b->element_size != 0 ? b->element_size : 1;
        khal_arg_info arg = {.name = copy,
                             .type_name = "",
                             .kind = b->kind != 0 ? b->kind : (uint32_t)KHAL_ARG_BUFFER,
                             .access =
                                 b->access != 0 ? b->access : KHAL_ACCESS_READ | KHAL_ACCESS_WRITE,
                             .index = i,
                             .element_size = element_size,
                             .element_align = element_size & (~element_size + 1u)};
        if (arg.kind == KHAL_ARG_CONSTANT)
            arg.access = KHAL_ACCESS_READ;
        if (arg.element_align > 16)
            arg.element_align = 16;
        args[i] = arg;
    }
    if (info == NULL)
        return NULL;
    memset(info, 0, sizeof *info);
    info->name = kernel_name;
    info->args = args;
    info->arg_count = info->binding_count = desc->binding_count;
    info->push_constant_size = desc->push_constant_size;
    info->flags = KHAL_KERNEL_IS_FOREIGN;
    info->local_memory_size = reflection->local_memory_size;
    if (desc->workgroup_size[0] != 0)
        for (int i = 0; i < 3; ++i)
            info->workgroup_size[i] = desc->workgroup_size[i] != 0 ? desc->workgroup_size[i] : 1;
    return info;
}

/* The descriptor outlives the call where creating takes more than one. */
static void lay_out_desc(char* base, size_t* used, const khal_function_desc* desc, const char* name,
                         khal_function_desc* out)
{
    khal_binding_desc* bindings = take(base, used, desc->binding_count * sizeof *bindings);
    khal_specialization* specializations =
        take(base, used, desc->specialization_count * sizeof *specializations);
    char* entry_point = take_string(base, used, name);
    char* label = desc->label != NULL ? take_string(base, used, desc->label) : NULL;
    for (uint32_t i = 0; i < desc->specialization_count; ++i) {
        void* data = take(base, used, desc->specializations[i].size);
        if (base == NULL)
            continue;
        specializations[i] = desc->specializations[i];
        memcpy(data, desc->specializations[i].data, desc->specializations[i].size);
        specializations[i].data = data;
    }
    if (base == NULL)
        return;
    *out = *desc;
    if (desc->bindings != NULL && desc->binding_count > 0)
        memcpy(bindings, desc->bindings, desc->binding_count * sizeof *bindings);
    out->bindings = desc->bindings != NULL ? bindings : NULL;
    out->specializations = desc->specialization_count > 0 ? specializations : NULL;
    out->entry_point = entry_point;
    out->label = label;
}

static void fill_bindings(khal_function* function)
{
    const khal_kernel_info* info = function->info;
    for (uint32_t i = 0; i < info->arg_count; ++i) {
        const khal_arg_info* arg = &info->args[i];
        if (arg->kind != KHAL_ARG_BUFFER && arg->kind != KHAL_ARG_CONSTANT)
            continue;
        khal__binding* binding = &function->bindings[arg->index];
        const uint32_t element_size = arg->element_size != 0 ? arg->element_size : 1;
        const uint32_t align = arg->element_align != 0 ? arg->element_align : 1;
        binding->name = arg->name;
        binding->element_size = element_size;
        binding->element_mask =
            element_size > 1 && (element_size & (element_size - 1)) == 0 ? element_size - 1 : 0;
        binding->align_mask = align - 1;
        binding->usage = arg->kind == KHAL_ARG_BUFFER ? KHAL_USAGE_STORAGE
                                                      : KHAL_USAGE_UNIFORM | KHAL_USAGE_STORAGE;
        binding->reads = (arg->access & KHAL_ACCESS_READ) != 0;
        binding->writes = (arg->access & KHAL_ACCESS_WRITE) != 0;
    }
}

static bool reflection_is_sound(const khal_kernel_info* info)
{
    uint32_t bindings = 0;
    for (uint32_t i = 0; i < info->arg_count; ++i) {
        const khal_arg_info* arg = &info->args[i];
        if (arg->kind != KHAL_ARG_BUFFER && arg->kind != KHAL_ARG_CONSTANT)
            continue;
        if (arg->index >= info->binding_count ||
            (arg->element_align & (arg->element_align - 1)) != 0)
            return false;
        for (uint32_t k = 0; k < i; ++k)
            if ((info->args[k].kind == KHAL_ARG_BUFFER ||
                 info->args[k].kind == KHAL_ARG_CONSTANT) &&
                info->args[k].index == arg->index)
                return false;
        ++bindings;
    }
    return bindings == info->binding_count;
}

static size_t function_size(const khal_device* device)
{
    return KHAL__IMPL_OFFSET(khal_function) + device->backend->function_size;
}

static void free_function(khal_device* device, khal_function* function)
{
    khal__free(device, function->desc_memory, function->desc_memory_size);
    khal__free(device, function->memory, function->memory_size);
    khal__mutex_destroy(&function->poll_lock);
    khal__free(device, function, function_size(device));
}

void khal__function_destroy(khal_function* function)
{
    khal_device* device = function->object.device;
    khal_module* module = function->module;
    khal__object_unlist(&function->object);
    if (function->created)
        device->backend->function_destroy(function);
    free_function(device, function);
    khal__object_drop(&module->object);
}

/* Under poll_lock: one step towards the function. */
static khal_status step(khal_function* function)
{
    const khal__backend* backend = function->object.device->backend;
    khal_status status = khal__module_poll(function->module);
    if (status == KHAL_NOT_READY)
        return status;
    if (status != KHAL_OK) {
        khal__error_again(&function->module->error);
        return status;
    }
    if (!function->created) {
        status = backend->function_create(function, &function->desc);
        if (status != KHAL_OK)
            return status;
        function->created = true;
    }
    return backend->function_poll != NULL ? backend->function_poll(function) : KHAL_OK;
}

khal_status khal__function_poll(khal_function* function)
{
    khal_status state = (khal_status)atomic_load_explicit(&function->state, memory_order_acquire);
    if (state != KHAL_NOT_READY)
        return state;
    khal_device* device = function->object.device;
    khal__callbacks_hold();
    khal__mutex_lock(&function->poll_lock);
    state = (khal_status)atomic_load_explicit(&function->state, memory_order_relaxed);
    if (state == KHAL_NOT_READY) {
        state = step(function);
        if (state != KHAL_NOT_READY && state != KHAL_OK)
            function->error = *khal_error_get();
        atomic_store_explicit(&function->state, state, memory_order_release);
    }
    khal__mutex_unlock(&function->poll_lock);
    khal__callbacks_go(device);
    return state;
}

/* The function itself; of foreign code `desc` is complete. `refusal`: why there can be none, which
 * its dispatches say; NULL: it is still to be made. */
static khal_status make(khal_module* module, uint32_t index, const khal_function_desc* desc,
                        const char* name, const khal__reflection* reflection,
                        const khal_error* refusal, khal_function** out_function, const char* file,
                        int line)
{
    khal_device* device = module->object.device;
    const bool is_foreign = module->library == NULL;
    const uint32_t binding_count =
        is_foreign ? desc->binding_count : module->kernels[index].binding_count;
    size_t size = 0, desc_size = 0, used = 0;
    take(NULL, &size, binding_count * sizeof(khal__binding));
    if (is_foreign)
        lay_out_info(NULL, &size, desc, name, reflection);
    take(NULL, &size, reflection->parameter_count * sizeof(khal__parameter));
    lay_out_desc(NULL, &desc_size, desc, name, NULL);
    khal_function* function = khal__alloc_zeroed(device, function_size(device), KHAL__IMPL_ALIGN);
    if (function == NULL)
        return khal__fail_memory(device, desc->label, "the function", function_size(device));
    khal__mutex_init(&function->poll_lock);
    function->object.device = device;
    khal__copy_label(function->object.label, desc->label != NULL ? desc->label : name);
    function->module = module;
    function->index = index;
    function->memory = khal__alloc_zeroed(device, size, 16);
    function->memory_size = size;
    function->desc_memory = khal__alloc(device, desc_size, 16);
    function->desc_memory_size = desc_size;
    if (function->memory == NULL || function->desc_memory == NULL) {
        free_function(device, function);
        return khal__fail_memory(device, desc->label, "the function", size + desc_size);
    }
    function->bindings = take(function->memory, &used, binding_count * sizeof(khal__binding));
    function->info = is_foreign ? lay_out_info(function->memory, &used, desc, name, reflection)
                                : &module->kernels[index];
    function->has_parameters = reflection->has_parameters;
    if (reflection->has_parameters && reflection->parameter_count > 0) {
        const size_t parameters_size = reflection->parameter_count * sizeof(khal__parameter);
        function->parameters = take(function->memory, &used, parameters_size);
        function->parameter_count = reflection->parameter_count;
        memcpy(function->parameters, reflection->parameters, parameters_size);
    }
    used = 0;
    lay_out_desc(function->desc_memory, &used, desc, name, &function->desc);
    fill_bindings(function);
    const khal_status status =
        refusal == NULL ? check_limits(device, desc, function->info) : KHAL_OK;
    if (status != KHAL_OK) {
        free_function(device, function);
        return status;
    }
    if (refusal != NULL)
        function->error = *refusal;
    function->clips =
        (function->info->flags & (KHAL_KERNEL_HAS_BARRIER | KHAL_KERNEL_IS_FOREIGN)) == 0;
    atomic_init(&function->hint, 0);
    atomic_init(&function->state, (int)(refusal == NULL ? KHAL_NOT_READY : refusal->status));
    khal__object_keep(&module->object);
    khal__object_init(device, &function->object, KHAL__KIND_FUNCTION, function->object.label, file,
                      line);
    *out_function = function;
    return KHAL_OK;
}

static khal_status create(khal_module* module, const khal_function_desc* desc,
                          khal_function** out_function, const char* file, int line)
{
    if (module == NULL || out_function == NULL)
        return khal__fail_null(module != NULL ? module->object.device : NULL, NULL,
                               module == NULL ? "module" : "out_function");
    khal_device* device = module->object.device;
    khal_function_desc complete = desc != NULL ? *desc : (khal_function_desc){0};
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    uint32_t index = 0;
    khal_status status = find_kernel(device, module, &complete, &index);
    if (status != KHAL_OK)
        return status;
    const khal_kernel_info* known = index != UINT32_MAX ? &module->kernels[index] : NULL;
    const char* name = known != NULL ? known->name : complete.entry_point;
    khal__reflection reflection = {0};
    if (module->library == NULL) {
        if (khal__reflect(device, &module->code, name, &reflection) != KHAL_OK)
            return khal__fail_memory(device, complete.label, "the reflection", module->code.size);
        if (complete.push_constant_size > 0)
            khal__reflection_take_push(&reflection);
        status = complete_foreign(device, module, &complete, name, &reflection);
    } else if (!reflection_is_sound(known)) {
        return khal__fail(device, KHAL_ERROR_MODULE_MALFORMED, 0, complete.label,
                          "the reflection of kernel %s contradicts itself", name);
    } else {
        status = check_layout(device, &complete, known);
    }
    if (status == KHAL_OK)
        status = check_specializations(device, module, &complete);
    if (status == KHAL_OK)
        status = make(module, index, &complete, name, &reflection, NULL, out_function, file, line);
    khal__reflection_free(device, &reflection);
    return status;
}

khal_status khal__function_refuse(khal_module* module, uint32_t index, const khal_error* refusal,
                                  khal_function** out_function, const char* file, int line)
{
    const khal_function_desc desc = {0};
    const khal__reflection reflection = {0};
    const khal_error copy = *refusal;
    return make(module, index, &desc, module->kernels[index].name, &reflection, &copy, out_function,
                file, line);
}

khal_status khal_function_create_begin(khal_module* module, const khal_function_desc* desc,
                                       khal_function** out_function)
{
    return create(module, desc, out_function, NULL, 0);
}

khal_status khal_function_create_poll(khal_function* function)
{
    if (function == NULL)
        return khal__fail_null(NULL, NULL, "function");
    if (khal__is_lost(function->object.device))
        return khal__fail_lost(function->object.device);
    const khal_status state = khal__function_poll(function);
    return state == KHAL_OK || state == KHAL_NOT_READY ? state
                                                       : khal__error_again(&function->error);
}

khal_status khal_function_create_at(const char* file, int line, khal_module* module,
                                    const khal_function_desc* desc, khal_function** out_function)
{
    khal_function* function = NULL;
    khal_status status = create(module, desc, out_function != NULL ? &function : NULL, file, line);
    if (status != KHAL_OK)
        return status;
    while ((status = khal_function_create_poll(function)) == KHAL_NOT_READY)
        khal__nap();
    if (status != KHAL_OK) {
        khal_function_release(function);
        return status;
    }
    *out_function = function;
    return KHAL_OK;
}

void khal_function_retain(khal_function* function)
{
    khal__object_retain((khal__object*)function);
}
void khal_function_release(khal_function* function)
{
    khal__object_release((khal__object*)function);
}
const khal_kernel_info* khal_function_get_info(const khal_function* function)
{
    return function != NULL ? function->info : NULL;
}

void* khal__function_impl(khal_function* function)
{
    return (char*)function + KHAL__IMPL_OFFSET(khal_function);
}
khal_module* khal__function_module(khal_function* function)
{
    return function->module;
}
bool khal__function_parameters(khal_function* function, const khal__parameter** out_parameters,
                               uint32_t* out_count)
{
    *out_parameters = function->parameters;
    *out_count = function->parameter_count;
    return function->has_parameters;
}

khal_status khal__function_lay_out(khal_function* function, const khal_function_desc* desc,
                                   khal__parameter* parameters, uint32_t count)
{
    char what[160];
    uint32_t size = 0;
    const char* problem = lay_out_parameters(desc, parameters, count, &size, what, sizeof what);
    if (problem == NULL && size > 0 && desc->push_constant_size == 0) {
        snprintf(what, sizeof what, "the parameters that are no bindings take %u bytes of push constants; the layout has 0",
                 size);
        problem = what;
    }
    return problem == NULL ? KHAL_OK : fail_layout(function->object.device, desc, function->info->name, problem);
}

uint32_t khal__function_index(khal_function* function)
{
    return function->index;
}
const khal_kernel_info* khal__function_kernel(khal_function* function)
{
    return function->info;
}
