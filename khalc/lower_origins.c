/* What the pointers that a variable holds may point into: as kc_pass_origins does, and through
 * pointers to pointers too, which only lead to variables here. */
#include <string.h>

#include "flow.h"
#include "lower_internal.h"

typedef struct kc_points_walk {
    kc_module* m;
    bool changed;
} kc_points_walk;

static bool add_root(kc_module* m, kc_targets* origin, kc_var* root)
{
    for (uint32_t i = 0; i < origin->count; i++)
        if (origin->roots[i] == root)
            return false;
    kc_var** roots = KC_NEW_ARRAY(m->arena, kc_var*, origin->count + 1);
    if (origin->count)
        memcpy(roots, origin->roots, sizeof roots[0] * origin->count);
    roots[origin->count++] = root;
    origin->roots = roots;
    return true;
}

static bool add_targets(kc_module* m, kc_targets* to, const kc_targets* from)
{
    bool changed = (from->is_unknown && !to->is_unknown) || (from->may_be_null && !to->may_be_null);
    to->is_unknown |= from->is_unknown;
    to->may_be_null |= from->may_be_null;
    for (uint32_t i = 0; i < from->count; i++)
        changed |= add_root(m, to, from->roots[i]);
    return changed;
}

static const kc_expr* base_of(const kc_expr* place)
{
    while (place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF)
        place = place->args[0];
    return place;
}

/* What stands behind a kernel's argument may hold any bits, and so may what a union is over. */
static bool holds_anything(const kc_var* v)
{
    const kc_type* t = kc_innermost(v->type);
    return (v->kind == KC_VAR_PARAM && kc_is_pointer(v->type)) ||
           (t->kind == KC_TYPE_STRUCT && t->record->has_pointer_unions);
}

static void collect(kc_module* m, const kc_expr* e, kc_targets* out);

static void collect_held(kc_module* m, const kc_expr* place, kc_targets* out)
{
    const kc_expr* base = base_of(place);
    if (base->kind == KC_EX_VAR) {
        add_targets(m, out, &kc_root_of(base->u.var)->held);
        return;
    }
    kc_targets holders = {0};
    collect(m, base->args[0], &holders);
    out->is_unknown |= holders.is_unknown;
    for (uint32_t i = 0; i < holders.count; i++) {
        out->is_unknown |= holds_anything(holders.roots[i]);
        add_targets(m, out, &kc_root_of(holders.roots[i])->held);
    }
}

static void collect(kc_module* m, const kc_expr* e, kc_targets* out)
{
    switch (e->kind) {
    case KC_EX_LOAD:
        if (kc_type_holds_pointers(e->type))
            collect_held(m, e->args[0], out);
        break;
    case KC_EX_ADDRESS: {
        const kc_expr* base = base_of(e->args[0]);
        if (base->kind == KC_EX_VAR)
            add_root(m, out, base->u.var);
        else
            collect(m, base->args[0], out);
        break;
    }
    case KC_EX_OFFSET:
    case KC_EX_CONVERT:
        if (kc_is_pointer(e->type))
            collect(m, e->args[0], out);
        break;
    case KC_EX_ZERO: out->may_be_null |= kc_type_holds_pointers(e->type); break;
    case KC_EX_BITCAST: out->is_unknown |= kc_is_pointer(e->type); break;
    case KC_EX_SELECT:
        collect(m, e->args[1], out);
        collect(m, e->args[2], out);
        break;
    case KC_EX_AGGREGATE:
        for (uint32_t i = 0; i < e->arg_count; i++)
            collect(m, e->args[i], out);
        break;
    default: break;
    }
}

kc_targets kc_points(kc_module* m, const kc_expr* pointer)
{
    kc_targets origin = {0};
    collect(m, pointer, &origin);
    return origin;
}

static void hold(kc_points_walk* walk, kc_var* v, const kc_targets* origin)
{
    walk->changed |= add_targets(walk->m, &kc_root_of(v)->held, origin);
}

static void flow(kc_stmt* s, void* user)
{
    kc_points_walk* walk = user;
    if ((s->kind != KC_ST_DECLARE && s->kind != KC_ST_ASSIGN) || !s->value ||
        !kc_type_holds_pointers(s->value->type))
        return;
    const kc_targets origin = kc_points(walk->m, s->value);
    const kc_expr* base = s->place ? base_of(s->place) : NULL;
    if (!base) {
        hold(walk, s->var, &origin);
    } else if (base->kind == KC_EX_VAR) {
        hold(walk, base->u.var, &origin);
    } else {
        const kc_targets holders = kc_points(walk->m, base->args[0]);
        for (uint32_t i = 0; i < holders.count; i++)
            hold(walk, holders.roots[i], &origin);
    }
}

void kc_find_origins(kc_module* m)
{
    for (kc_function* f = m->functions; f; f = f->next)
        for (uint32_t i = 0; i < f->param_count; i++)
            if (f->is_kernel && kc_is_pointer(f->params[i]->type))
                add_root(m, &kc_root_of(f->params[i])->held, f->params[i]);
    kc_points_walk walk = {.m = m};
    do {
        walk.changed = false;
        for (uint32_t i = 0; i < m->constant_count; i++) {
            kc_stmt initialiser = {
                .kind = KC_ST_DECLARE, .var = m->constants[i], .value = m->constants[i]->init};
            flow(&initialiser, &walk);
        }
        for (kc_function* f = m->functions; f; f = f->next)
            kc_block_walk(&f->body, flow, &walk);
    } while (walk.changed);
}
