/* Functions that a target can't have: one of them takes its callers along, and nobody else. */
#include "flow.h"
#include "lower.h"

void kc_refuse(kc_module* m, kc_function* f, kc_loc loc, kc_diag_id id, const char* format, ...)
{
    if (f->refusal)
        return;
    va_list args;
    va_start(args, format);
    const char* text = kc_vformat(m->arena, format, args);
    va_end(args);
    f->refusal = KC_NEW(m->arena, kc_refusal);
    *f->refusal = (kc_refusal){.loc = loc, .id = id, .text = text};
}

typedef struct check {
    kc_module* m;
    const kc_target* target;
    kc_function* f;
    kc_loc loc; /* of the statement */
} check;

static void check_type(check* c, const kc_type* t, kc_loc loc)
{
    if (kc_is_pointer(t))
        t = t->element;
    if (!c->target->has_double && kc_type_has_doubles(t))
        kc_refuse(c->m, c->f, loc.file ? loc : c->loc, KC_DIAG_TARGET_DOUBLE, "%s has no double",
                  c->target->name);
}

static void check_expr(kc_expr** slot, void* c)
{
    check_type(c, (*slot)->type, (*slot)->loc);
}

static void check_stmt(kc_stmt* s, void* user)
{
    check* c = user;
    c->loc = s->loc;
    if (s->kind == KC_ST_DECLARE)
        check_type(c, s->var->type, s->var->loc);
    kc_stmt_walk_exprs(s, check_expr, c);
    if (s->kind == KC_ST_PRINTF && !c->target->has_printf)
        kc_refuse(c->m, c->f, s->loc, KC_DIAG_TARGET_PRINTF, "%s has no printf", c->target->name);
    if (s->kind == KC_ST_ATOMIC && s->place->type->width == 64 && !c->target->has_int64_atomics)
        kc_refuse(c->m, c->f, s->loc, KC_DIAG_TARGET_ATOMIC, "%s has no atomics of 64 bits",
                  c->target->name);
}

void kc_refuse_unsupported(kc_module* m, const kc_target* target)
{
    for (kc_function* f = m->functions; f; f = f->next) {
        check c = {.m = m, .target = target, .f = f, .loc = f->loc};
        for (uint32_t i = 0; i < f->param_count; i++)
            check_type(&c, f->params[i]->type, f->params[i]->loc);
        for (uint32_t i = 0; i < f->local_count; i++)
            check_type(&c, f->locals[i]->type, f->locals[i]->loc);
        kc_block_walk(&f->body, check_stmt, &c);
    }
}

static void spread(kc_stmt* s, void* user)
{
    kc_function* caller = user;
    if (s->kind == KC_ST_CALL && !caller->refusal)
        caller->refusal = s->callee->refusal;
}

void kc_drop_refused(kc_module* m)
{
    kc_function* f = m->functions;
    kc_function** end = &m->refused;
    while (*end)
        end = &(*end)->next;
    m->functions = m->last_function = NULL;
    for (kc_function* next; f; f = next) { /* callees before callers */
        next = f->next;
        f->next = NULL;
        if (!f->refusal)
            kc_block_walk(&f->body, spread, f);
        if (!f->refusal) {
            if (m->last_function)
                m->last_function->next = f;
            else
                m->functions = f;
            m->last_function = f;
        } else if (f->is_kernel) {
            *end = f;
            end = &f->next;
        }
    }
}
