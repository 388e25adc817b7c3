/* A call becomes a BLOCK: the parameters as variables of their own, then a copy of the callee's
 * body, in which a RETURN assigns the result and leaves the BLOCK. Callees stand before callers, so
 * what is copied has had its own calls inlined already. */
#include "flow.h"

/* More copied statements and expressions than this come from functions that call others several
 * times, many levels deep; no compiler behind khalc would finish with them. */
enum { KC_MAX_COPIED = 1000000 };

typedef struct kc_inliner {
    kc_module* m;
    kc_inline_which which;
    kc_function* caller;
    kc_stmt* call;
    kc_stmt* block; /* what the call becomes */
    uint32_t copied;
    bool is_full;
} kc_inliner;

/* What f->pass_data says of a function whose own calls are done. */
static char stands_alone, needs_its_caller;

static void copy_block(kc_inliner* in, kc_block* to, const kc_block* from, bool is_tail);

static kc_var* copy_var(kc_inliner* in, kc_var* v)
{
    kc_var* copy = kc_var_create(in->m, in->caller, v->name, v->type, v->loc);
    copy->align = v->align;
    copy->is_temporary = v->is_temporary;
    v->pass_data = copy;
    return copy;
}

static kc_var* mapped(kc_var* v)
{
    return v && v->pass_data ? v->pass_data : v;
}

static kc_expr* copy_expr(kc_inliner* in, const kc_expr* e)
{
    if (!e)
        return NULL;
    in->copied++;
    kc_expr* copy = KC_NEW(in->m->arena, kc_expr);
    *copy = *e;
    if (e->kind == KC_EX_VAR)
        copy->u.var = mapped(e->u.var);
    if (e->arg_count) {
        copy->args = KC_NEW_ARRAY(in->m->arena, kc_expr*, e->arg_count);
        for (uint32_t i = 0; i < e->arg_count; i++)
            copy->args[i] = copy_expr(in, e->args[i]);
    }
    return copy;
}

static void copy_return(kc_inliner* in, kc_block* to, const kc_stmt* s, bool is_tail)
{
    kc_var* result = in->call->result;
    if (s->value && result) {
        kc_expr* place = kc_ex_var(in->m, result);
        place->loc = s->loc;
        kc_st_assign(in->m, to, place, copy_expr(in, s->value), s->loc);
    }
    if (!is_tail) {
        kc_stmt* leave = kc_stmt_create(in->m, KC_ST_BREAK, s->loc);
        leave->target = in->block;
        kc_block_append(to, leave);
    }
}

static void copy_cases(kc_inliner* in, kc_stmt* copy, const kc_stmt* s)
{
    copy->cases = KC_NEW_ARRAY(in->m->arena, kc_case, s->case_count);
    for (uint32_t i = 0; i < s->case_count; i++) {
        copy->cases[i] = s->cases[i];
        copy->cases[i].body = (kc_block){0};
        copy_block(in, &copy->cases[i].body, &s->cases[i].body, false);
    }
}

/* `is_tail`: nothing follows s in the function, so that a RETURN needs no BREAK. */
static void copy_stmt(kc_inliner* in, kc_block* to, kc_stmt* s, bool is_tail)
{
    in->copied++;
    if (s->kind == KC_ST_RETURN) {
        copy_return(in, to, s, is_tail);
        return;
    }
    kc_stmt* copy = kc_stmt_create(in->m, s->kind, s->loc);
    *copy = *s;
    copy->prev = copy->next = NULL;
    copy->pass_data = NULL;
    copy->head = copy->body = copy->step = copy->orelse = (kc_block){0};
    kc_block_append(to, copy);
    copy->target = s->target ? s->target->pass_data : NULL;
    copy->result = mapped(s->result);
    copy->place = copy_expr(in, s->place);
    if (s->arg_count)
        copy->args = KC_NEW_ARRAY(in->m->arena, kc_expr*, s->arg_count);
    for (uint32_t i = 0; i < s->arg_count; i++)
        copy->args[i] = copy_expr(in, s->args[i]);
    if (s->kind == KC_ST_DECLARE) {
        copy->value = copy_expr(in, s->value);
        copy->var = copy_var(in, s->var);
        return;
    }
    s->pass_data = copy;
    const bool arms_are_tails = is_tail && (s->kind == KC_ST_IF || s->kind == KC_ST_BLOCK);
    if (s->test_at_end) { /* in the order of scopes: the condition sees head's variables */
        copy_block(in, &copy->body, &s->body, false);
        copy_block(in, &copy->step, &s->step, false);
        copy_block(in, &copy->head, &s->head, false);
        copy->value = copy_expr(in, s->value);
    } else {
        copy_block(in, &copy->head, &s->head, false);
        copy->value = copy_expr(in, s->value);
        copy_block(in, &copy->body, &s->body, arms_are_tails);
        copy_block(in, &copy->step, &s->step, false);
    }
    copy_block(in, &copy->orelse, &s->orelse, arms_are_tails);
    if (s->case_count)
        copy_cases(in, copy, s);
    s->pass_data = NULL;
}

static void copy_block(kc_inliner* in, kc_block* to, const kc_block* from, bool is_tail)
{
    for (kc_stmt* s = from->first; s && in->copied <= KC_MAX_COPIED; s = s->next)
        copy_stmt(in, to, s, is_tail && !s->next);
}

static void unmap(kc_stmt* s, void* user)
{
    (void)user;
    s->pass_data = NULL;
    if (s->kind == KC_ST_DECLARE)
        s->var->pass_data = NULL;
}

static void find_query(kc_expr** slot, void* found)
{
    *(bool*)found |= (*slot)->kind == KC_EX_WORK_ITEM;
}

static void find_query_in(kc_stmt* s, void* found)
{
    kc_stmt_walk_exprs(s, find_query, found);
}

/* By what it takes or gives, or by asking who runs it, which entry points alone know. */
static bool needs_caller(kc_function* f)
{
    bool needs = kc_type_holds_pointers(f->result) || kc_type_has_unions(f->result);
    for (uint32_t i = 0; i < f->param_count; i++) {
        const kc_type* t = f->params[i]->type;
        needs |= kc_type_holds_pointers(t) || kc_type_has_unions(t);
    }
    if (!needs)
        kc_block_walk(&f->body, find_query_in, &needs);
    return needs;
}

static bool is_wanted(const kc_inliner* in, const kc_function* callee)
{
    if (!callee->pass_data) /* no callee that stands before its caller */
        return false;
    return in->which == KC_INLINE_ALL || callee->has_barrier ||
           (in->which == KC_INLINE_POINTERS && callee->pass_data == &needs_its_caller);
}

static void inline_call(kc_inliner* in, kc_stmt* call)
{
    kc_function* callee = call->callee;
    kc_block copy = {0};
    kc_stmt original = *call;
    in->call = &original;
    in->block = call; /* the same statement, so that the list around it stays */
    for (uint32_t i = 0; i < callee->param_count; i++)
        kc_st_declare(in->m, &copy, copy_var(in, callee->params[i]), original.args[i],
                      original.args[i]->loc);
    copy_block(in, &copy, &callee->body, true);
    for (uint32_t i = 0; i < callee->param_count; i++)
        callee->params[i]->pass_data = NULL;
    kc_block_walk(&callee->body, unmap, NULL);
    call->kind = KC_ST_BLOCK;
    call->callee = NULL;
    call->result = NULL;
    call->args = NULL;
    call->arg_count = 0;
    call->body = copy;
    if (in->copied > KC_MAX_COPIED) {
        in->is_full = true;
        kc_error(in->m->diags, original.loc, KC_DIAG_INLINE_SIZE,
                 "the functions that are inlined here grow beyond %d statements and expressions",
                 KC_MAX_COPIED);
    }
}

static void inline_block(kc_block* b, void* inliner)
{
    kc_inliner* in = inliner;
    for (kc_stmt* s = b->first; s && !in->is_full; s = s->next) {
        if (s->kind == KC_ST_CALL && is_wanted(in, s->callee))
            inline_call(in, s);
        else
            kc_stmt_walk_blocks(s, inline_block, in);
    }
}

void kc_pass_inline(kc_module* m, kc_inline_which which)
{
    kc_pass_usage(m);
    m->has_uniformity = false;
    kc_inliner in = {.m = m, .which = which};
    for (kc_function* f = m->functions; f; f = f->next) {
        in.caller = f;
        inline_block(&f->body, &in);
        /* from here on it may be copied */
        f->pass_data = needs_caller(f) ? &needs_its_caller : &stands_alone;
    }
    for (kc_function* f = m->functions; f; f = f->next)
        f->pass_data = NULL;
}
