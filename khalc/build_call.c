/* Calls: the user's functions, and which builtin a name is. */
#include <string.h>

#include "build_internal.h"

enum { KC_MAX_CALL_ARGUMENTS = 256 };

bool kc_build_arguments(kc_builder* b, const kc_call* call, kc_expr** args)
{
    bool is_ok = true;
    for (uint32_t i = 0; i < call->count; i++) {
        args[i] = kc_build_value(b, call->args[i]);
        is_ok &= args[i] != NULL;
    }
    return is_ok;
}

kc_expr* kc_build_wrong_call(kc_builder* b, const kc_call* call)
{
    return kc_build_error(b, call->loc, KC_DIAG_BUILTIN, "this form of '%s' is not supported",
                          call->name);
}

kc_expr* kc_build_widen(kc_builder* b, kc_expr* e, const kc_type* type)
{
    if (!kc_is_scalar(e->type) && !kc_is_vector(e->type))
        return NULL;
    if (kc_is_vector(type) && kc_is_scalar(e->type)) {
        kc_expr* wide = kc_ex_splat(b->m, type, kc_build_convert(b, e, type->element));
        wide->loc = e->loc;
        return wide;
    }
    return kc_lane_count(e->type) == kc_lane_count(type) ? kc_build_convert(b, e, type) : NULL;
}

static kc_expr* call_function(kc_builder* b, const kc_call* call, kc_build_function* f)
{
    kc_function* callee = f->function;
    if (!f->node)
        return NULL; /* its signature was refused */
    if (callee->is_kernel)
        return kc_build_error(b, call->loc, KC_DIAG_KERNEL_CALL,
                              "the kernel '%s' is called as a function", callee->name);
    if (!b->block)
        return kc_build_error(b, call->loc, KC_DIAG_INITIALIZER,
                              "a function is called in a constant initialiser");
    if (call->count != callee->param_count)
        return kc_build_error(b, call->loc, KC_DIAG_EXPRESSION, "'%s' takes %u arguments, not %u",
                              callee->name, callee->param_count, call->count);
    kc_expr** args = KC_NEW_ARRAY(b->arena, kc_expr*, call->count);
    if (!kc_build_arguments(b, call, args))
        return NULL;
    for (uint32_t i = 0; i < call->count; i++) {
        args[i] = kc_build_coerce(b, args[i], callee->params[i]->type, call->args[i]->loc);
        if (!args[i])
            return NULL;
    }
    kc_build_note_call(b, f, call->loc);
    kc_var* result = NULL;
    if (call->is_used && callee->result->kind != KC_TYPE_VOID) {
        result = kc_build_temp(b, callee->result, callee->name, call->loc);
        kc_st_declare(b->m, b->block, result, NULL, call->loc);
    }
    kc_stmt* s = kc_stmt_create(b->m, KC_ST_CALL, call->loc);
    s->callee = callee;
    s->arg_count = call->count;
    s->args = args;
    s->result = result;
    kc_block_append(b->block, s);
    return result ? kc_ex_load_var(b->m, result) : kc_build_nothing(b);
}

kc_expr* kc_build_call(kc_builder* b, const kc_node* n, bool is_used)
{
    const kc_node* callee = kc_strip_casts(kc_node_child(n, 0));
    if (!callee)
        return kc_build_malformed(b, n);
    if (callee->kind != KC_NODE_DeclRefExpr || !callee->ref_name || !callee->ref_kind ||
        strcmp(callee->ref_kind, "FunctionDecl") != 0)
        return kc_build_error(b, n->loc, KC_DIAG_FUNCTION_POINTER,
                              "only a function's own name can be called");
    if (n->child_count - 1 > KC_MAX_CALL_ARGUMENTS)
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "a call with more than %d arguments",
                              KC_MAX_CALL_ARGUMENTS);
    const kc_call call = {.name = callee->ref_name,
                          .loc = n->loc,
                          .result = n->type,
                          .count = n->child_count - 1,
                          .args = (const kc_node* const*)n->children + 1,
                          .is_used = is_used};
    const kc_entity* e = kc_build_find(b, callee->ref_id);
    if (e && e->kind == KC_ENTITY_FUNCTION && e->function->function)
        return call_function(b, &call, e->function);
    kc_expr* value = NULL;
    if (strcmp(call.name, "printf") == 0)
        return kc_build_printf(b, &call);
    if (kc_build_pure_builtin(b, &call, &value) || kc_build_memory_builtin(b, &call, &value))
        return value;
    if (e)
        return kc_build_error(b, n->loc, KC_DIAG_UNDEFINED_FUNCTION,
                              "'%s' has no body in this file", call.name);
    return kc_build_error(b, n->loc, KC_DIAG_BUILTIN, "the builtin function '%s' is not supported",
                          call.name);
}
