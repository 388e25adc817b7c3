#include "emit.h"

#include <inttypes.h>

#define MAX_ARGUMENTS 64u
#define MAX_PUSH_CONSTANTS 4096u
#define MAX_LOCAL_MEMORY 65536u
#define UNTYPED_ALIGN 128u /* bytes: the widest type of OpenCL C, double16 */
#define MAX_WORKGROUP 1024u

static uint64_t align_up(uint64_t n, uint64_t align)
{
    return align > 1 ? (n + align - 1) / align * align : n;
}

/* Records are looked at once each: a hostile file can nest them so that there are more paths than
 * atoms. */
typedef struct visited {
    kc_module* m;
    const kc_record** records;
    uint32_t count;
} visited;

static bool visit(visited* v, const kc_record* record)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (v->records[i] == record)
            return false;
    if (!v->records)
        v->records = KC_NEW_ARRAY(v->m->arena, const kc_record*, v->m->record_count + 1);
    if (v->count > v->m->record_count)
        return false;
    v->records[v->count++] = record;
    return true;
}

/* What keeps the host from making a value of type `t`; NULL when nothing does. */
static const char* unpassable(visited* v, const kc_type* t)
{
    switch (t->kind) {
    case KC_TYPE_VOID: return "void";
    case KC_TYPE_BOOL: return "bool, whose size the host can't know; use char or int";
    case KC_TYPE_POINTER: return "a pointer, which means nothing on the host";
    case KC_TYPE_INT:
    case KC_TYPE_FLOAT: return NULL;
    case KC_TYPE_VECTOR:
    case KC_TYPE_ARRAY: return unpassable(v, t->element);
    case KC_TYPE_STRUCT:
        if (!visit(v, t->record))
            return NULL;
        for (uint32_t i = 0; i < t->record->field_count; i++) {
            const char* why = unpassable(v, t->record->fields[i].type);
            if (why)
                return why;
        }
        return NULL;
    }
    return NULL;
}

static void reflect_buffer(const kc_var* param, khal_arg_info* arg, khal_kernel_info* kernel)
{
    arg->kind = param->type->space == KC_SPACE_CONSTANT ? KHAL_ARG_CONSTANT : KHAL_ARG_BUFFER;
    arg->index = kernel->binding_count++;
    if (param->is_atomic)
        arg->access = KHAL_ACCESS_READ | KHAL_ACCESS_WRITE;
    else
        arg->access =
            (param->is_read ? KHAL_ACCESS_READ : 0u) | (param->is_written ? KHAL_ACCESS_WRITE : 0u);
    if (!arg->access)
        arg->access = KHAL_ACCESS_READ; /* an argument that is not used must still be a buffer */
}

static void reflect_arg(kc_module* m, const kc_function* f, uint32_t index, khal_arg_info* arg,
                        khal_kernel_info* kernel, uint64_t* push_size)
{
    const kc_var* param = f->params[index];
    const kc_type* t = param->type;
    const kc_type* value = kc_is_pointer(t) ? t->element : t;
    arg->name = param->name[0] ? param->name : kc_member_name(m, "", index);
    arg->type_name = kc_type_name(m, value);
    /* void: bytes, whose real type only the kernel knows, so that the strictest alignment is asked
     * for */
    const bool is_untyped = kc_is_pointer(t) && value->kind == KC_TYPE_VOID;
    const char* why = is_untyped ? NULL : unpassable(&(visited){.m = m}, value);
    if (why)
        kc_error(m->diags, param->loc, KC_DIAG_KERNEL_ARGUMENT,
                 "argument '%s' of kernel '%s' %s %s", arg->name, f->name,
                 value->kind == KC_TYPE_STRUCT ? "holds"
                 : kc_is_pointer(t)            ? "points to"
                                               : "is",
                 why);
    else if (value->size == 0 && !is_untyped)
        kc_error(m->diags, param->loc, KC_DIAG_KERNEL_ARGUMENT,
                 "argument '%s' of kernel '%s' has a type of no size", arg->name, f->name);
    else if (value->size > UINT32_MAX)
        kc_error(m->diags, param->loc, KC_DIAG_KERNEL_ARGUMENT,
                 "argument '%s' of kernel '%s' has an element of %" PRIu64
                 " bytes; at most 4294967295 can be",
                 arg->name, f->name, value->size);
    arg->element_size = is_untyped ? 1 : (uint32_t)value->size;
    arg->element_align = is_untyped ? UNTYPED_ALIGN : (uint32_t)value->align;
    if (!kc_is_pointer(t)) {
        arg->kind = KHAL_ARG_VALUE;
        *push_size = align_up(*push_size, value->align);
        arg->offset = *push_size > UINT32_MAX ? UINT32_MAX : (uint32_t)*push_size;
        *push_size += value->size;
    } else if (t->space == KC_SPACE_LOCAL) {
        arg->kind = KHAL_ARG_LOCAL;
        arg->index = kernel->local_count++;
    } else if (t->space == KC_SPACE_PRIVATE) {
        kc_error(m->diags, param->loc, KC_DIAG_KERNEL_ARGUMENT,
                 "argument '%s' of kernel '%s' points to private memory; it must be __global, "
                 "__constant or __local",
                 arg->name, f->name);
    } else {
        reflect_buffer(param, arg, kernel);
    }
}

static void reflect_locals(kc_module* m, const kc_function* f, khal_kernel_info* kernel)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->local_count && size <= MAX_LOCAL_MEMORY; i++) {
        const kc_var* local = f->locals[i];
        size =
            align_up(size, local->align > local->type->align ? local->align : local->type->align);
        size += local->type->size;
        if (size > MAX_LOCAL_MEMORY)
            kc_error(m->diags, local->loc, KC_DIAG_LOCAL_MEMORY,
                     "with '%s', the __local variables of kernel '%s' take %" PRIu64
                     " bytes; at most %u can be had",
                     local->name, f->name, size, MAX_LOCAL_MEMORY);
    }
    kernel->local_memory_size = (uint32_t)size;
}

static void reflect_workgroup(kc_module* m, const kc_function* f, khal_kernel_info* kernel)
{
    const uint32_t* size = f->workgroup_size;
    for (int i = 0; i < 3; i++)
        kernel->workgroup_size[i] = size[i];
    if (!size[0] && !size[1] && !size[2])
        return;
    const bool has_zero = !size[0] || !size[1] || !size[2];
    /* two steps, so that the product can't wrap */
    const uint64_t plane = (uint64_t)size[0] * size[1];
    if (has_zero || plane > MAX_WORKGROUP || plane * size[2] > MAX_WORKGROUP)
        kc_error(m->diags, f->loc, KC_DIAG_WORKGROUP_SIZE,
                 "kernel '%s' asks for work-groups of %u x %u x %u; each must be at least 1, and "
                 "their product at most %u",
                 f->name, size[0], size[1], size[2], MAX_WORKGROUP);
}

static void reflect_kernel(kc_module* m, const kc_function* f, khal_kernel_info* kernel)
{
    kernel->name = f->name;
    kernel->flags = (f->has_barrier ? KHAL_KERNEL_HAS_BARRIER : 0u) |
                    (f->has_printf ? KHAL_KERNEL_HAS_PRINTF : 0u) |
                    (f->has_atomic ? KHAL_KERNEL_HAS_ATOMICS : 0u) |
                    (f->has_fp64 ? KHAL_KERNEL_HAS_FP64 : 0u);
    if (f->param_count > MAX_ARGUMENTS)
        kc_error(m->diags, f->loc, KC_DIAG_ARGUMENTS,
                 "kernel '%s' has %u arguments; at most %u can be passed", f->name, f->param_count,
                 MAX_ARGUMENTS);
    khal_arg_info* args =
        KC_NEW_ARRAY(m->arena, khal_arg_info, f->param_count ? f->param_count : 1);
    uint64_t push_size = 0, push_align = 1;
    for (uint32_t i = 0; i < f->param_count; i++) {
        reflect_arg(m, f, i, &args[i], kernel, &push_size);
        if (args[i].kind == KHAL_ARG_VALUE && args[i].element_align > push_align)
            push_align = args[i].element_align;
    }
    kernel->args = args;
    kernel->arg_count = f->param_count;
    push_size = align_up(push_size, push_align);
    if (push_size > MAX_PUSH_CONSTANTS)
        kc_error(m->diags, f->loc, KC_DIAG_PUSH_CONSTANTS,
                 "the values passed to kernel '%s' take %" PRIu64
                 " bytes; at most %u can be passed",
                 f->name, push_size, MAX_PUSH_CONSTANTS);
    kernel->push_constant_size = push_size > UINT32_MAX ? UINT32_MAX : (uint32_t)push_size;
    reflect_locals(m, f, kernel);
    reflect_workgroup(m, f, kernel);
}

uint32_t kc_reflect(kc_module* m, khal_kernel_info** out_kernels)
{
    uint32_t count = 0;
    for (const kc_function* f = m->functions; f; f = f->next)
        count += f->is_kernel;
    khal_kernel_info* kernels = KC_NEW_ARRAY(m->arena, khal_kernel_info, count ? count : 1);
    uint32_t i = 0;
    for (const kc_function* f = m->functions; f; f = f->next)
        if (f->is_kernel)
            reflect_kernel(m, f, &kernels[i++]);
    *out_kernels = kernels;
    return count;
}
