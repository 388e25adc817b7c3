#include "rewrite.h"

#include <string.h>

/* Deeper ones are kept in a variable, so that what the rules add never makes one too deep. */
enum { KC_REWRITE_DEPTH = 60 };

/* ---- types ----------------------------------------------------------------------------------- */

static const kc_type* map_type(kc_module* m, const kc_rewrite_rules* rules, const kc_type* t)
{
    if (t->kind == KC_TYPE_ARRAY)
        return kc_type_array(m, map_type(m, rules, t->element), t->count);
    return kc_is_scalar(t) || kc_is_vector(t) ? rules->type(m, t) : t;
}

static const kc_type* new_type(kc_rewrite* r, const kc_type* t)
{
    return map_type(r->m, r->rules, t);
}

typedef struct kc_search {
    kc_module* m;
    const kc_rewrite_rules* rules;
    bool found;
} kc_search;

static void search_type(kc_search* s, const kc_type* t)
{
    s->found |= map_type(s->m, s->rules, t) != t;
}

static void search_expr(kc_expr** slot, void* search)
{
    search_type(search, (*slot)->type);
}

static void search_stmt(kc_stmt* s, void* search)
{
    if (s->kind == KC_ST_DECLARE)
        search_type(search, s->var->type);
    kc_stmt_walk_exprs(s, search_expr, search);
}

static void search_vars(kc_search* s, kc_var** vars, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        search_type(s, vars[i]->type);
}

static bool changes_anything(kc_module* m, const kc_rewrite_rules* rules)
{
    kc_search s = {m, rules, false};
    search_vars(&s, m->constants, m->constant_count);
    for (uint32_t i = 0; i < m->record_count; i++)
        for (uint32_t j = 0; j < m->records[i]->field_count; j++)
            search_type(&s, m->records[i]->fields[j].type);
    for (kc_function* f = m->functions; f && !s.found; f = f->next) {
        search_type(&s, f->result);
        if (!f->is_kernel)
            search_vars(&s, f->params, f->param_count);
        search_vars(&s, f->locals, f->local_count);
        kc_block_walk(&f->body, search_stmt, &s);
    }
    return s.found;
}

static void map_var(kc_rewrite* r, kc_var* v)
{
    v->type = new_type(r, v->type);
}

static void map_declared(kc_stmt* s, void* rewrite)
{
    if (s->kind == KC_ST_DECLARE)
        map_var(rewrite, s->var);
}

/* Records keep their offsets and sizes, which are the source's: nothing asks for them any more. A
 * kernel's own parameters are what its caller passes. */
static void map_types(kc_rewrite* r)
{
    kc_module* m = r->m;
    for (uint32_t i = 0; i < m->record_count; i++)
        for (uint32_t j = 0; j < m->records[i]->field_count; j++)
            m->records[i]->fields[j].type = new_type(r, m->records[i]->fields[j].type);
    for (uint32_t i = 0; i < m->constant_count; i++)
        map_var(r, m->constants[i]);
    for (kc_function* f = m->functions; f; f = f->next) {
        f->result = new_type(r, f->result);
        for (uint32_t i = 0; i < f->param_count && !f->is_kernel; i++)
            map_var(r, f->params[i]);
        for (uint32_t i = 0; i < f->local_count; i++)
            map_var(r, f->locals[i]);
        kc_block_walk(&f->body, map_declared, r);
    }
}

/* ---- what rules build with ------------------------------------------------------------------- */

kc_expr* kc_rw_temp(kc_rewrite* r, kc_expr* e)
{
    if (!r->f) /* constants are cheap */
        return e;
    kc_var* v = kc_temp_create(r->m, r->f, "t", e->type, e->loc);
    kc_st_declare(r->m, &r->pending, v, e, e->loc);
    kc_expr* load = kc_ex_load_var(r->m, v);
    load->loc = load->args[0]->loc = e->loc;
    return load;
}

static bool is_constant_index(const kc_expr* e)
{
    return e->kind == KC_EX_CONST;
}

/* A part of a variable that only this work-item sees, found without computing anything. */
static bool is_cheap_place(const kc_expr* place)
{
    for (; place->kind != KC_EX_VAR; place = place->args[0])
        if (place->kind == KC_EX_DEREF ||
            (place->kind == KC_EX_INDEX && !is_constant_index(place->args[1])))
            return false;
    return place->u.var->kind == KC_VAR_PARAM || place->u.var->kind == KC_VAR_PRIVATE;
}

bool kc_rw_is_cheap(const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_CONST:
    case KC_EX_ZERO: return true;
    case KC_EX_LOAD: return is_cheap_place(e->args[0]);
    case KC_EX_SWIZZLE:
    case KC_EX_SPLAT:
    case KC_EX_BITCAST: return kc_rw_is_cheap(e->args[0]);
    case KC_EX_COMPOSE:
        for (uint32_t i = 0; i < e->arg_count; i++)
            if (e->args[i]->kind != KC_EX_CONST)
                return false;
        return true;
    default: return false;
    }
}

kc_expr* kc_rw_share(kc_rewrite* r, kc_expr* e)
{
    return kc_rw_is_cheap(e) ? e : kc_rw_temp(r, e);
}

kc_expr* kc_rw_share_place(kc_rewrite* r, kc_expr* place)
{
    for (kc_expr* p = place; p->kind != KC_EX_VAR && p->kind != KC_EX_DEREF; p = p->args[0])
        if (p->kind == KC_EX_INDEX)
            p->args[1] = kc_rw_share(r, p->args[1]);
    return place;
}

kc_expr* kc_rw_int(kc_rewrite* r, const kc_type* t, uint64_t bits)
{
    kc_expr* e = kc_ex_const_int(r->m, kc_lane(t), bits);
    return kc_is_vector(t) ? kc_ex_splat(r->m, t, e) : e;
}

bool kc_rw_constant_lanes(const kc_expr* e, uint64_t* bits)
{
    const uint32_t count = kc_lane_count(e->type);
    if (e->kind == KC_EX_CONST || e->kind == KC_EX_ZERO) {
        for (uint32_t i = 0; i < count; i++)
            bits[i] = e->kind == KC_EX_CONST ? e->u.bits : 0;
        return true;
    }
    if (e->kind != KC_EX_SPLAT && e->kind != KC_EX_COMPOSE)
        return false;
    for (uint32_t i = 0, lane = 0; lane < count; i++) {
        const kc_expr* arg = e->args[e->kind == KC_EX_SPLAT ? 0 : i];
        if (!kc_rw_constant_lanes(arg, bits + lane))
            return false;
        lane += kc_lane_count(arg->type);
    }
    return true;
}

kc_expr* kc_rw_constants(kc_rewrite* r, const kc_type* t, const uint64_t* bits)
{
    const kc_type* lane = kc_lane(t);
    const uint32_t count = kc_lane_count(t);
    kc_expr* lanes[KC_MAX_LANES];
    bool are_same = true;
    for (uint32_t i = 0; i < count; i++) {
        lanes[i] = kc_ex_const_int(r->m, lane, bits[i]);
        if (lane->kind == KC_TYPE_FLOAT)
            lanes[i]->u.bits = bits[i];
        are_same &= bits[i] == bits[0];
    }
    if (count == 1)
        return lanes[0];
    return are_same ? kc_ex_splat(r->m, t, lanes[0])
                    : kc_ex_list(r->m, KC_EX_COMPOSE, t, count, lanes);
}

kc_expr* kc_rw_op_int(kc_rewrite* r, kc_op op, kc_expr* e, uint64_t bits)
{
    return kc_ex_binary(r->m, op, e, kc_rw_int(r, e->type, bits));
}

kc_expr* kc_rw_builtin(kc_rewrite* r, kc_builtin id, const kc_type* t, kc_expr* a, kc_expr* b,
                       kc_expr* c)
{
    kc_expr* args[3] = {a, b, c};
    return kc_ex_builtin(r->m, id, t, c ? 3 : b ? 2 : 1, args);
}

/* An integer constant as one of another integer type; NULL for all else. */
static kc_expr* constant_as(kc_rewrite* r, const kc_type* t, const kc_expr* e)
{
    uint64_t bits[KC_MAX_LANES];
    const bool is_constant = kc_is_integer(t) && kc_is_integer(e->type) &&
                             kc_lane_count(t) == kc_lane_count(e->type) &&
                             kc_rw_constant_lanes(e, bits);
    return is_constant ? kc_rw_constants(r, t, bits) : NULL;
}

kc_expr* kc_rw_convert(kc_rewrite* r, const kc_type* t, kc_expr* e)
{
    if (e->type == t)
        return e;
    kc_expr* constant = constant_as(r, t, e);
    return constant ? constant : kc_ex_convert(r->m, t, e, KC_ROUND_DEFAULT, false);
}

kc_expr* kc_rw_bitcast(kc_rewrite* r, const kc_type* t, kc_expr* e)
{
    if (e->kind == KC_EX_BITCAST)
        e = e->args[0];
    if (e->type == t)
        return e;
    kc_expr* constant = constant_as(r, t, e);
    return constant ? constant : kc_ex_bitcast(r->m, t, e);
}

kc_expr* kc_rw_swizzle(kc_rewrite* r, kc_expr* vector, uint32_t count, const uint8_t* lanes)
{
    if (vector->kind != KC_EX_SWIZZLE)
        return kc_ex_swizzle(r->m, vector, count, lanes);
    uint8_t inner[KC_MAX_LANES];
    for (uint32_t i = 0; i < count; i++)
        inner[i] = vector->u.lanes.index[lanes[i]];
    return kc_ex_swizzle(r->m, vector->args[0], count, inner);
}

kc_expr* kc_rw_lane(kc_rewrite* r, kc_expr* vector, uint32_t lane)
{
    if (vector->kind == KC_EX_SPLAT)
        return vector->args[0];
    if (vector->kind == KC_EX_COMPOSE && vector->arg_count == vector->type->count)
        return vector->args[lane];
    if (vector->kind == KC_EX_ZERO)
        return kc_ex_zero(r->m, vector->type->element);
    return kc_rw_swizzle(r, vector, 1, &(uint8_t){(uint8_t)lane});
}

bool kc_rw_touches(const kc_expr* e, bool (*is_kind)(const kc_type* t))
{
    bool touches = is_kind(e->type);
    for (uint32_t i = 0; i < e->arg_count; i++)
        touches |= is_kind(e->args[i]->type);
    return touches;
}

const kc_type* kc_rw_words(kc_rewrite* r, uint32_t count)
{
    const kc_type* word = kc_type_int(r->m, 32, false);
    return count == 1 ? word : kc_type_vector(r->m, word, count);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static kc_expr* rewrite(kc_rewrite* r, const kc_expr* old, uint32_t* depth);

/* What an operand needs before it, and an assignment of its value. */
static void assign_lazily(kc_rewrite* r, kc_block* to, kc_block before, kc_var* v, kc_expr* value)
{
    kc_block_move(to, &before);
    kc_st_assign(r->m, to, kc_ex_var(r->m, v), value, value->loc);
}

/* Operands that are not always evaluated, one of which needs statements: an IF. `otherwise` is what
 * a logical operator gives without its second operand. */
static kc_expr* rewrite_as_if(kc_rewrite* r, const kc_expr* old, kc_expr** args,
                              const kc_block* before)
{
    kc_var* v = kc_temp_create(r->m, r->f, "t", new_type(r, old->type), old->loc);
    kc_st_declare(r->m, &r->pending, v, NULL, old->loc);
    kc_stmt* s = kc_stmt_create(r->m, KC_ST_IF, old->loc);
    s->value = args[0];
    if (old->kind == KC_EX_SELECT) {
        assign_lazily(r, &s->body, before[1], v, args[1]);
        assign_lazily(r, &s->orelse, before[2], v, args[2]);
    } else {
        const bool is_and = old->u.op == KC_OP_LOGICAL_AND;
        assign_lazily(r, is_and ? &s->body : &s->orelse, before[1], v, args[1]);
        kc_st_assign(r->m, is_and ? &s->orelse : &s->body, kc_ex_var(r->m, v),
                     kc_ex_const_bool(r->m, !is_and), old->loc);
    }
    kc_block_append(&r->pending, s);
    return kc_ex_load_var(r->m, v);
}

static bool is_lazy(const kc_expr* e)
{
    return e->kind == KC_EX_SELECT || (e->kind == KC_EX_BINARY && (e->u.op == KC_OP_LOGICAL_AND ||
                                                                   e->u.op == KC_OP_LOGICAL_OR));
}

static kc_expr* apply_rules(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    kc_expr* e = r->rules->expr(r, old, args);
    if (!e) {
        e = KC_NEW(r->m->arena, kc_expr);
        *e = *old;
        e->type = new_type(r, old->type);
        if (e->kind == KC_EX_VAR)
            e->type = e->u.var->type;
        if (old->arg_count) {
            e->args = KC_NEW_ARRAY(r->m->arena, kc_expr*, old->arg_count);
            memcpy(e->args, args, sizeof(kc_expr*) * old->arg_count);
        }
    }
    if (!e->loc.file)
        e->loc = old->loc;
    return e;
}

static kc_expr* rewrite_lazy(kc_rewrite* r, const kc_expr* old, uint32_t* depth)
{
    kc_expr* args[3];
    kc_block before[3] = {{0}};
    args[0] = rewrite(r, old->args[0], depth);
    const kc_block outer = r->pending;
    bool is_plain = true;
    for (uint32_t i = 1; i < old->arg_count; i++) {
        r->pending = (kc_block){0};
        args[i] = rewrite(r, old->args[i], depth);
        before[i] = r->pending;
        is_plain &= !before[i].first;
    }
    r->pending = outer;
    if (is_plain)
        return apply_rules(r, old, args);
    *depth = 0;
    return rewrite_as_if(r, old, args, before);
}

static kc_expr* rewrite_node(kc_rewrite* r, const kc_expr* old, uint32_t* depth)
{
    kc_expr* whole = r->rules->whole ? r->rules->whole(r, old) : NULL;
    if (whole)
        return whole;
    if (is_lazy(old))
        return rewrite_lazy(r, old, depth);
    kc_expr** args = KC_NEW_ARRAY(r->m->arena, kc_expr*, old->arg_count);
    for (uint32_t i = 0; i < old->arg_count; i++)
        args[i] = rewrite(r, old->args[i], depth);
    return apply_rules(r, old, args);
}

/* `depth` rises to that of old, counted from what was put in variables. */
static kc_expr* rewrite(kc_rewrite* r, const kc_expr* old, uint32_t* depth)
{
    uint32_t own = 0;
    kc_expr* e = rewrite_node(r, old, &own);
    own++;
    if (own > KC_REWRITE_DEPTH && r->f && !kc_is_place(e)) {
        e = kc_rw_temp(r, e);
        own = 1;
    }
    if (own > *depth)
        *depth = own;
    return e;
}

kc_expr* kc_rw_expr(kc_rewrite* r, const kc_expr* old)
{
    uint32_t depth = 0;
    return rewrite(r, old, &depth);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void rewrite_block(kc_block* b, void* rewriting);

static void rewrite_parts(kc_rewrite* r, kc_stmt* s)
{
    if (r->rules->stmt && r->rules->stmt(r, s))
        return;
    if (s->place)
        s->place = kc_rw_expr(r, s->place);
    if (s->value)
        s->value = kc_rw_expr(r, s->value);
    for (uint32_t i = 0; i < s->arg_count; i++)
        s->args[i] = kc_rw_expr(r, s->args[i]);
}

/* The condition's own statements come each time before it. */
static void rewrite_loop(kc_rewrite* r, kc_stmt* s)
{
    kc_stmt_walk_blocks(s, rewrite_block, r);
    if (!s->value)
        return;
    r->pending = (kc_block){0};
    s->value = kc_rw_expr(r, s->value);
    kc_block_move(&s->head, &r->pending);
}

static void rewrite_block(kc_block* b, void* rewriting)
{
    kc_rewrite* r = rewriting;
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == KC_ST_LOOP) {
            rewrite_loop(r, s);
            continue;
        }
        r->pending = (kc_block){0};
        rewrite_parts(r, s);
        const kc_block before = r->pending;
        for (kc_stmt *p = before.first, *after; p; p = after) {
            after = p->next;
            kc_block_insert_before(b, s, p);
        }
        kc_stmt_walk_blocks(s, rewrite_block, r);
    }
}

void kc_rewrite_module(kc_module* m, const kc_rewrite_rules* rules)
{
    if (!changes_anything(m, rules))
        return;
    kc_rewrite r = {.m = m, .rules = rules};
    map_types(&r);
    for (uint32_t i = 0; i < m->constant_count; i++)
        if (m->constants[i]->init)
            m->constants[i]->init = kc_rw_expr(&r, m->constants[i]->init);
    for (kc_function* f = m->functions; f; f = f->next) {
        r.f = f;
        rewrite_block(&f->body, &r);
    }
}
