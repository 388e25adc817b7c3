/* The third step of kc_lower_pointers: which variables share pointers, and what their memory is
 * made of. */
#include "flow.h"
#include "lower_internal.h"

enum { KC_MAX_LEAVES = 4096 };

typedef struct kc_finder {
    kc_module* m;
    const kc_target* target;
    kc_function* f;
} kc_finder;

/* ---- roots ----------------------------------------------------------------------------------- */

static kc_root* top(kc_root* r)
{
    while (r->parent != r)
        r = r->parent = r->parent->parent;
    return r;
}

static kc_memory* memory_of(kc_finder* fi, kc_root* r)
{
    r = top(r);
    if (!r->memory) {
        r->memory = KC_NEW(fi->m->arena, kc_memory);
        r->memory->align = 4;
    }
    return r->memory;
}

static void add_root(kc_finder* fi, kc_var* v)
{
    kc_root* r = KC_NEW(fi->m->arena, kc_root);
    const bool is_argument = v->kind == KC_VAR_PARAM && kc_is_pointer(v->type);
    *r = (kc_root){.var = v, .type = is_argument ? v->type->element : v->type, .parent = r};
    r->is_pointed = is_argument || kc_type_has_unions(v->type);
    v->pass_data = r;
}

typedef struct kc_each {
    void (*fn)(kc_finder* fi, kc_var* v);
    kc_finder* fi;
} kc_each;

static void each_declared(kc_stmt* s, void* user)
{
    const kc_each* each = user;
    if (s->kind == KC_ST_DECLARE)
        each->fn(each->fi, s->var);
}

static void each_root(kc_module* m, void (*fn)(kc_finder* fi, kc_var* v), kc_finder* fi)
{
    for (uint32_t i = 0; i < m->constant_count; i++)
        fn(fi, m->constants[i]);
    for (kc_function* f = m->functions; f; f = f->next) {
        fi->f = f;
        for (uint32_t i = 0; i < f->param_count; i++)
            fn(fi, f->params[i]);
        for (uint32_t i = 0; i < f->local_count; i++)
            fn(fi, f->locals[i]);
        kc_block_walk(&f->body, each_declared, &(kc_each){fn, fi});
    }
}

/* ---- which pointers share roots -------------------------------------------------------------- */

static void share(kc_targets origin)
{
    for (uint32_t i = 0; i < origin.count; i++) {
        kc_root* r = kc_root_of(origin.roots[i]);
        r->is_pointed = true;
        kc_root *a = top(kc_root_of(origin.roots[0])), *b = top(r);
        if (a != b)
            b->parent = a;
    }
}

static void share_expr(kc_expr** slot, void* finder)
{
    kc_finder* fi = finder;
    if (kc_is_pointer((*slot)->type) && !kc_is_place(*slot))
        share(kc_points(fi->m, *slot));
}

static void share_variable(kc_finder* fi, kc_var* v)
{
    (void)fi;
    if (kc_type_holds_pointers(v->type))
        share(kc_root_of(v)->held);
}

static void share_stmt(kc_stmt* s, void* finder)
{
    kc_stmt_walk_exprs(s, share_expr, finder);
}

/* ---- what is accessed ------------------------------------------------------------------------ */

static void note_scalar(kc_memory* c, const kc_type* t)
{
    if (t->kind == KC_TYPE_BOOL || t->width != 32 || (c->scalar && c->scalar != t))
        c->is_narrow = true;
    c->scalar = t;
}

static void note_scalars(kc_memory* c, const kc_type* t, uint32_t* budget)
{
    if (c->is_narrow)
        return;
    if (*budget == 0) {
        c->is_narrow = true;
        return;
    }
    --*budget;
    t = kc_innermost(t);
    if (kc_is_scalar(t) || kc_is_vector(t))
        note_scalar(c, kc_lane(t));
    else if (t->kind == KC_TYPE_STRUCT)
        for (uint32_t i = 0; i < t->record->field_count; i++)
            note_scalars(c, t->record->fields[i].type, budget);
    else
        c->is_narrow = true;
}

/* Pointers are the same whatever they promise. */
static const kc_type* plain_type(kc_module* m, const kc_type* t)
{
    t = kc_innermost(t);
    return kc_is_pointer(t)
               ? kc_type_pointer(m, plain_type(m, t->element), t->space, false, false, false)
               : t;
}

static void note_type(kc_finder* fi, kc_memory* c, const kc_type* behind)
{
    behind = plain_type(fi->m, behind);
    if (behind->kind == KC_TYPE_VOID)
        return;
    if (behind->align < c->align)
        c->align = (uint32_t)behind->align;
    c->is_mixed |= c->seen && c->seen != behind;
    c->seen = behind;
}

static const kc_expr* base_of(const kc_expr* place)
{
    while (place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF)
        place = place->args[0];
    return place;
}

static kc_memory* accessed(kc_finder* fi, const kc_expr* base)
{
    if (base->kind == KC_EX_VAR) {
        kc_root* r = kc_root_of(base->u.var);
        return r->is_pointed ? memory_of(fi, r) : NULL;
    }
    const kc_targets origin = kc_points(fi->m, base->args[0]);
    return origin.count ? memory_of(fi, kc_root_of(origin.roots[0])) : NULL;
}

static void note_access(kc_finder* fi, const kc_expr* place)
{
    const kc_expr* base = base_of(place);
    kc_memory* c = accessed(fi, base);
    if (!c)
        return;
    uint32_t budget = KC_MAX_LEAVES;
    note_scalars(c, place->type, &budget);
    if (base->kind == KC_EX_DEREF)
        note_type(fi, c, base->type);
}

/* A lane's store may touch the whole vector. */
static bool is_part_of_vector(const kc_expr* place)
{
    return (place->kind == KC_EX_LANES || place->kind == KC_EX_INDEX) &&
           kc_is_vector(place->args[0]->type);
}

static void point_at(kc_finder* fi, const kc_expr* base)
{
    (void)fi;
    if (base->kind == KC_EX_VAR && base->u.var->kind == KC_VAR_LOCAL)
        kc_root_of(base->u.var)->is_pointed = true;
}

static void note_store(kc_finder* fi, const kc_expr* place)
{
    const kc_space space = kc_place_space(place);
    const kc_expr* base = base_of(place);
    if (is_part_of_vector(place) && (space == KC_SPACE_LOCAL || space == KC_SPACE_GLOBAL)) {
        point_at(fi, base);
        kc_memory* c = accessed(fi, base);
        if (c)
            c->has_part_stores = true;
    }
}

static void note_atomic(kc_finder* fi, const kc_stmt* s)
{
    const kc_expr* base = base_of(s->place);
    const kc_type* t = s->place->type;
    if (base->kind == KC_EX_VAR && kc_innermost(base->type) != t)
        point_at(fi, base);
    if (t->kind == KC_TYPE_FLOAT)
        point_at(fi, base);
    kc_memory* c = accessed(fi, base);
    if (!c)
        return;
    c->has_atomics = true;
    if (s->atomic == KC_ATOMIC_MIN || s->atomic == KC_ATOMIC_MAX) {
        c->has_signed_order |= t->is_signed;
        c->has_unsigned_order |= !t->is_signed;
    }
}

static void note_expr(kc_expr** slot, void* finder)
{
    kc_finder* fi = finder;
    const kc_expr* e = *slot;
    if (e->kind == KC_EX_LOAD && !kc_is_pointer(e->type))
        note_access(fi, e->args[0]);
    if (e->kind == KC_EX_OFFSET || e->kind == KC_EX_POINTER_DIFF) {
        const kc_targets origin = kc_points(fi->m, e->args[0]);
        if (origin.count)
            note_type(fi, memory_of(fi, kc_root_of(origin.roots[0])), e->args[0]->type->element);
    }
    if (e->kind == KC_EX_ADDRESS) {
        const kc_expr* place = e->args[0];
        const kc_expr* base = base_of(place);
        kc_memory* c = accessed(fi, base);
        for (; c && place != base; place = place->args[0])
            c->is_mixed |= place->kind != KC_EX_INDEX || kc_is_vector(place->args[0]->type);
        if (c && base->kind == KC_EX_DEREF)
            note_type(fi, c, base->type);
        if (c)
            note_type(fi, c, e->args[0]->type);
    }
}

static void note_stmt(kc_stmt* s, void* finder)
{
    kc_finder* fi = finder;
    if (s->kind == KC_ST_ATOMIC)
        note_atomic(fi, s);
    if (s->place) {
        note_store(fi, s->place);
        note_access(fi, s->place);
    }
    kc_stmt_walk_exprs(s, note_expr, fi);
}

/* Which LOCAL variables are words is known after all statements were looked at, and what else is
 * done with them then. */
static void find_parts(kc_stmt* s, void* finder)
{
    kc_finder* fi = finder;
    if (s->kind == KC_ST_ATOMIC)
        note_atomic(fi, s);
    if (s->place)
        note_store(fi, s->place);
}

/* ---- what it is made of ---------------------------------------------------------------------- */

static bool is_shared_element(const kc_type* t)
{
    const kc_type* lane = kc_lane(t);
    return (lane->kind == KC_TYPE_INT || lane->kind == KC_TYPE_FLOAT) && lane->width == 32 &&
           kc_lane_count(t) <= 4;
}

/* A root that can't be an array of what pointers see there makes words of all. */
static void check_root(kc_finder* fi, kc_var* v)
{
    kc_root* r = kc_root_of(v);
    if (!r->is_pointed)
        return;
    kc_memory* c = memory_of(fi, r);
    uint32_t budget = KC_MAX_LEAVES;
    r->number = ++c->root_count;
    c->has_unions |= kc_type_has_unions(v->type);
    c->has_which |= r->held.count > 1 || r->held.may_be_null;
    const bool is_argument = v->kind == KC_VAR_PARAM && kc_is_pointer(v->type);
    if (is_argument) {
        c->has_argument = true;
        c->is_buffer |= v->type->space != KC_SPACE_LOCAL;
    } else {
        const kc_type* t = plain_type(fi->m, r->type);
        c->is_mixed |= kc_is_pointer(t) && r->type->kind == KC_TYPE_ARRAY &&
                       r->type->element->kind == KC_TYPE_ARRAY;
        if (v->kind != KC_VAR_LOCAL) /* it may be given a value as a whole */
            note_scalars(c, t, &budget);
        c->is_mixed |= c->seen && c->seen != t;
        if (!c->seen && !c->has_atomics && !c->has_part_stores)
            c->seen = t;
    }
}

static void decide(kc_finder* fi, kc_var* v)
{
    kc_root* r = kc_root_of(v);
    if (!r->is_pointed)
        return;
    kc_memory* c = r->memory = memory_of(fi, r);
    if (c->unit)
        return;
    const kc_type* u32 = kc_type_int(fi->m, 32, false);
    const bool is_words_only = fi->target->words && c->is_buffer;
    const bool fits_atomics = !c->has_atomics || (c->seen && c->seen->kind == KC_TYPE_INT &&
                                                  !c->is_narrow && c->scalar == c->seen);
    if (c->seen && !c->is_mixed && !c->has_unions && fits_atomics && !is_words_only &&
        (!c->has_argument || is_shared_element(c->seen)) &&
        !(c->has_part_stores && kc_is_vector(c->seen))) {
        c->element = c->seen;
        c->unit = c->seen->size ? (uint32_t)c->seen->size : 1;
        return;
    }
    c->unit = c->align;
    c->word = u32;
    if (is_words_only)
        return;
    if (c->has_atomics && c->has_signed_order && !c->has_unsigned_order)
        c->word = kc_type_int(fi->m, 32, true);
    else if (!c->is_narrow && c->scalar && !(c->has_atomics && c->scalar->kind == KC_TYPE_FLOAT))
        c->word = c->scalar;
}

void kc_find_memory(kc_module* m, const kc_target* target)
{
    kc_finder fi = {.m = m, .target = target};
    each_root(m, add_root, &fi);
    kc_find_origins(m);
    each_root(m, share_variable, &fi);
    for (uint32_t i = 0; i < m->constant_count; i++) {
        kc_stmt initialiser = {
            .kind = KC_ST_DECLARE, .var = m->constants[i], .value = m->constants[i]->init};
        share_stmt(&initialiser, &fi);
    }
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, share_stmt, &fi);
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, find_parts, &fi);
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, note_stmt, &fi);
    each_root(m, check_root, &fi);
    each_root(m, decide, &fi);
}
