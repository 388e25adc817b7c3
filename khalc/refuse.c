/* Functions that a target can't have: one of them takes its callers along, and nobody else. */
#include <stdarg.h>
#include <stdio.h>

#include "lower.h"

void kc_refuse(kc_module* m, kc_function* f, kc_loc loc, kc_diag_id id, const char* format, ...)
{
    if (f->refusal)
        return;
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char* text = kc_alloc(m->arena, size > 0 ? (size_t)size + 1 : 1);
    if (size > 0)
        vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    f->refusal = KC_NEW(m->arena, kc_refusal);
    *f->refusal = (kc_refusal){.loc = loc, .id = id, .text = text};
}

typedef struct check {
    kc_module* m;
    const kc_target* target;
    kc_function* f;
    kc_loc loc; /* of the statement */
} check;

static bool has_double(const kc_type* t, int depth)
{
    if (t->kind == KC_TYPE_ARRAY || t->kind == KC_TYPE_VECTOR)
        return has_double(t->element, depth);
    if (t->kind == KC_TYPE_STRUCT && depth < 32)
        for (uint32_t i = 0; i < t->record->field_count; i++)
            if (has_double(t->record->fields[i].type, depth + 1))
                return true;
    return t->kind == KC_TYPE_FLOAT && t->width == 64;
}

static void check_type(check* c, const kc_type* t, kc_loc loc)
{
    if (!c->target->has_double && has_double(t, 0))
        kc_refuse(c->m, c->f, loc, KC_DIAG_TARGET_DOUBLE, "double, which %s does not have",
                  c->target->name);
}

static void check_expr(kc_expr** slot, void* user)
{
    check* c = user;
    const kc_type* t = (*slot)->type;
    check_type(c, kc_is_pointer(t) ? t->element : t, (*slot)->loc.file ? (*slot)->loc : c->loc);
}

static void check_stmt(kc_stmt* s, void* user)
{
    check* c = user;
    c->loc = s->loc;
    if (s->kind == KC_ST_DECLARE)
        check_type(c, s->var->type, s->loc);
    kc_stmt_walk_exprs(s, check_expr, c);
    if (s->kind == KC_ST_PRINTF)
        kc_refuse(c->m, c->f, s->loc, KC_DIAG_TARGET_PRINTF, "printf, which %s does not have",
                  c->target->name);
    if (s->kind == KC_ST_ATOMIC && s->place->type->width == 64 && !c->target->has_int64_atomics)
        kc_refuse(c->m, c->f, s->loc, KC_DIAG_TARGET_ATOMIC,
                  "an atomic operation on 64 bits, which %s does not have", c->target->name);
}

void kc_refuse_unsupported(kc_module* m, const kc_target* target)
{
    for (kc_function* f = m->functions; f; f = f->next) {
        check c = {.m = m, .target = target, .f = f};
        for (uint32_t i = 0; i < f->param_count; i++) {
            const kc_type* t = f->params[i]->type;
            check_type(&c, kc_is_pointer(t) && t->element->kind != KC_TYPE_VOID ? t->element : t,
                       f->params[i]->loc);
        }
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
