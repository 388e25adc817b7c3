/* The first step of kc_lower_pointers. A helper that was inlined declares its pointer parameters
 * once each, as addresses of what the caller named: with the address in the place of the variable,
 * `*p` is that object again. */
#include "lower_internal.h"

#include "flow.h"

typedef struct kc_forward { /* of a variable; var->pass_data */
    uint32_t assignments;
    bool is_seen_early; /* read before it is assigned, or used as more than a value */
    kc_stmt* declared;
    kc_block* scope;
    kc_expr* value; /* what to put where it is loaded; NULL: the variable stays */
} kc_forward;

typedef struct kc_forwarder {
    kc_module* m;
    kc_function* f;
    kc_stmt* s;       /* being rewritten */
    kc_block* block;  /* that holds it */
    kc_var* made_for; /* the pointer whose value is being kept */
    bool is_changed;
} kc_forwarder;

/* ---- indices --------------------------------------------------------------------------------- */

static kc_expr* at(kc_expr* made, const kc_expr* e)
{
    made->loc = e->loc;
    return made;
}

/* Arithmetic of which the low bits don't depend on the high ones. */
static kc_expr* index_of_operation(kc_module* m, const kc_type* u32, kc_expr* e)
{
    switch (e->u.op) {
    case KC_OP_ADD:
    case KC_OP_SUB:
    case KC_OP_MUL:
    case KC_OP_AND:
    case KC_OP_OR:
    case KC_OP_XOR:
        return at(
            kc_ex_binary(m, e->u.op, kc_index_uint(m, e->args[0]), kc_index_uint(m, e->args[1])),
            e);
    case KC_OP_SHL:
        if (e->args[1]->kind == KC_EX_CONST && (e->args[1]->u.bits & 63) < 32)
            return at(kc_ex_binary(m, KC_OP_SHL, kc_index_uint(m, e->args[0]),
                                   kc_ex_const_int(m, u32, e->args[1]->u.bits & 63)),
                      e);
        break;
    default: break;
    }
    return at(kc_ex_convert(m, u32, e, KC_ROUND_DEFAULT, false), e);
}

kc_expr* kc_index_uint(kc_module* m, kc_expr* e)
{
    const kc_type* u32 = kc_type_int(m, 32, false);
    if (e->type == u32)
        return e;
    if (e->kind == KC_EX_CONST || e->kind == KC_EX_ZERO)
        return at(kc_ex_const_int(m, u32, e->kind == KC_EX_CONST ? e->u.bits : 0), e);
    if (e->kind == KC_EX_CONVERT && e->type->width >= 32 && !e->u.convert.saturate &&
        e->args[0]->type->kind == KC_TYPE_INT)
        return kc_index_uint(m, e->args[0]);
    if (e->type->width == 64 && e->kind == KC_EX_BINARY)
        return index_of_operation(m, u32, e);
    if (e->type->width == 64 && e->kind == KC_EX_UNARY)
        return at(kc_ex_unary(m, e->u.op, kc_index_uint(m, e->args[0])), e);
    return at(kc_ex_convert(m, u32, e, KC_ROUND_DEFAULT, false), e);
}

static bool is_const(const kc_expr* e)
{
    return e->kind == KC_EX_CONST;
}

kc_expr* kc_index_add(kc_module* m, kc_expr* a, kc_expr* b)
{
    if (!a || (is_const(a) && a->u.bits == 0))
        return b ? b : a;
    if (!b || (is_const(b) && b->u.bits == 0))
        return a;
    if (is_const(a) && is_const(b))
        return at(kc_ex_const_int(m, a->type, a->u.bits + b->u.bits), a);
    if (is_const(a)) {
        kc_expr* constant = a;
        a = b;
        b = constant;
    }
    const bool is_sum = a->kind == KC_EX_BINARY && (a->u.op == KC_OP_ADD || a->u.op == KC_OP_SUB);
    if (is_const(b) && is_sum && is_const(a->args[1])) {
        const uint64_t inner = a->args[1]->u.bits;
        return kc_index_add(
            m, a->args[0],
            at(kc_ex_const_int(m, a->type, b->u.bits + (a->u.op == KC_OP_ADD ? inner : 0 - inner)),
               b));
    }
    if (is_const(b) && b->u.bits >> 31)
        return at(kc_ex_binary(m, KC_OP_SUB, a, at(kc_ex_const_int(m, b->type, 0 - b->u.bits), b)),
                  a);
    return at(kc_ex_binary(m, KC_OP_ADD, a, b), a);
}

/* i + k, both indices of a source's own types. */
static kc_expr* add_indices(kc_module* m, kc_expr* i, kc_expr* k)
{
    if (is_const(i) && i->u.bits == 0)
        return k;
    if (is_const(k) && k->u.bits == 0)
        return i;
    if (i->type == k->type && i->type->width == 32)
        return at(kc_ex_binary(m, KC_OP_ADD, i, k), k);
    return kc_index_add(m, kc_index_uint(m, i), kc_index_uint(m, k));
}

/* ---- places ---------------------------------------------------------------------------------- */

static kc_expr* zero_index(kc_module* m, kc_expr* place)
{
    return at(kc_ex_index(m, place, at(kc_ex_const_int(m, kc_type_int(m, 32, false), 0), place)),
              place);
}

static bool may_index(const kc_expr* array, const kc_expr* index)
{
    return array->type->kind == KC_TYPE_ARRAY &&
           (array->kind != KC_EX_INDEX || (is_const(index) && index->u.bits < array->type->count));
}

/* The object of type `t` that begins `k` elements after `place`; NULL where no place names it. */
static kc_expr* place_behind(kc_module* m, kc_expr* place, kc_expr* k, const kc_type* t)
{
    while (place->type != t && place->type->kind == KC_TYPE_ARRAY)
        place = zero_index(m, place);
    if (place->type != t)
        return NULL;
    if (!k)
        return place;
    if (place->kind != KC_EX_INDEX || place->args[0]->type->kind != KC_TYPE_ARRAY)
        return NULL;
    kc_expr* sum = add_indices(m, place->args[1], k);
    return may_index(place->args[0], sum) ? at(kc_ex_index(m, place->args[0], sum), place) : NULL;
}

static kc_expr* strip_conversions(kc_expr* pointer)
{
    while (pointer->kind == KC_EX_CONVERT && kc_is_pointer(pointer->args[0]->type))
        pointer = pointer->args[0];
    return pointer;
}

static kc_expr* forward_deref(kc_module* m, kc_expr* e)
{
    kc_expr* pointer = strip_conversions(e->args[0]);
    kc_expr* k = NULL;
    if (pointer->kind == KC_EX_OFFSET) {
        if (pointer->type->element != e->type)
            return e;
        k = pointer->args[1];
        pointer = strip_conversions(pointer->args[0]);
    }
    if (pointer->kind != KC_EX_ADDRESS)
        return e;
    kc_expr* place = place_behind(m, pointer->args[0], k, e->type);
    return place ? place : e;
}

/* p + i + k in one step. */
static kc_expr* forward_offset(kc_module* m, kc_expr* e)
{
    kc_expr* inner = strip_conversions(e->args[0]);
    if (is_const(e->args[1]) && e->args[1]->u.bits == 0)
        return e->args[0]->type == e->type ? e->args[0] : e;
    if (inner->kind != KC_EX_OFFSET || inner->type->element != e->type->element)
        return e;
    kc_expr* from = inner->args[0];
    kc_expr* sum = add_indices(m, inner->args[1], e->args[1]);
    if (from->type != e->type)
        from = at(kc_ex_convert(m, e->type, from, KC_ROUND_DEFAULT, false), e);
    return at(kc_ex_offset(m, from, sum), e);
}

/* The pointer, to bytes, that a number was computed from by adding to another's; NULL: from
 * something else. */
static kc_expr* pointer_in_number(kc_module* m, kc_expr* e, kc_space space)
{
    const kc_type* bytes = kc_type_pointer(m, kc_type_int(m, 8, false), space, false, false, false);
    kc_expr* pointer;
    switch (e->kind) {
    case KC_EX_BITCAST:
        if (!kc_is_pointer(e->args[0]->type) || e->args[0]->type->space != space)
            return NULL;
        return at(kc_ex_convert(m, bytes, e->args[0], KC_ROUND_DEFAULT, false), e);
    case KC_EX_CONVERT:
        return e->type->width >= 32 && e->args[0]->type->kind == KC_TYPE_INT
                   ? pointer_in_number(m, e->args[0], space)
                   : NULL;
    case KC_EX_BINARY:
        if (e->u.op != KC_OP_ADD && e->u.op != KC_OP_SUB)
            return NULL;
        pointer = pointer_in_number(m, e->args[0], space);
        if (pointer)
            return at(kc_ex_offset(m, pointer,
                                   e->u.op == KC_OP_ADD
                                       ? e->args[1]
                                       : at(kc_ex_unary(m, KC_OP_NEG, e->args[1]), e)),
                      e);
        pointer = e->u.op == KC_OP_ADD ? pointer_in_number(m, e->args[1], space) : NULL;
        return pointer ? at(kc_ex_offset(m, pointer, e->args[0]), e) : NULL;
    default: return NULL;
    }
}

static kc_expr* forward_bitcast(kc_module* m, kc_expr* e)
{
    kc_expr* pointer =
        kc_is_pointer(e->type) ? pointer_in_number(m, e->args[0], e->type->space) : NULL;
    return pointer ? at(kc_ex_convert(m, e->type, pointer, KC_ROUND_DEFAULT, false), e) : e;
}

static void forward_expr(kc_forwarder* fw, kc_expr** slot)
{
    kc_expr* e = *slot;
    for (uint32_t i = 0; i < e->arg_count; i++)
        forward_expr(fw, &e->args[i]);
    switch (e->kind) {
    case KC_EX_LOAD:
        if (e->args[0]->kind == KC_EX_VAR && kc_is_pointer(e->type)) {
            const kc_forward* known = e->args[0]->u.var->pass_data;
            if (known && known->value) {
                fw->is_changed = true;
                *slot = kc_ex_clone(fw->m, known->value);
            }
        }
        break;
    case KC_EX_DEREF:
        *slot = forward_deref(fw->m, e);
        fw->is_changed |= *slot != e;
        break;
    case KC_EX_OFFSET: *slot = forward_offset(fw->m, e); break;
    case KC_EX_BITCAST: *slot = forward_bitcast(fw->m, e); break;
    default: break;
    }
}

/* ---- values that can stand anywhere ---------------------------------------------------------- */

/* Set once, where it is declared: the same wherever it is in scope. */
static bool is_settled(const kc_var* v)
{
    const kc_forward* known = v->pass_data;
    return known && !known->is_seen_early &&
           (v->kind == KC_VAR_PARAM
                ? known->assignments == 0
                : known->assignments == 1 && known->declared && known->declared->value);
}

static bool is_settled_index(const kc_forwarder* fw, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_CONST: return true;
    case KC_EX_CONVERT: return is_settled_index(fw, e->args[0]);
    case KC_EX_LOAD: /* what is assigned later than it is declared may outlive what is in scope
                        there */
        return fw->s->kind == KC_ST_DECLARE && e->args[0]->kind == KC_EX_VAR &&
               is_settled(e->args[0]->u.var);
    default: return false;
    }
}

static void insert(kc_module* m, kc_block* block, kc_stmt* before, kc_var* var, kc_expr* value)
{
    kc_stmt* s = kc_stmt_create(m, KC_ST_DECLARE, before->loc);
    s->var = var;
    s->value = value;
    kc_block_insert_before(block, before, s);
}

static void keep_index(kc_forwarder* fw, kc_expr** slot)
{
    if (is_settled_index(fw, *slot))
        return;
    kc_module* m = fw->m;
    kc_expr* e = (*slot)->type->width > 32 ? kc_index_uint(m, *slot) : *slot;
    const kc_var* p = fw->made_for;
    kc_var* kept = kc_temp_create(m, fw->f, p->name, e->type, p->loc);
    const kc_forward* known = p->pass_data;
    if (fw->s->kind == KC_ST_DECLARE) {
        insert(m, fw->block, fw->s, kept, e);
    } else {
        insert(m, known->scope, known->declared, kept, NULL);
        kc_stmt* s = kc_stmt_create(m, KC_ST_ASSIGN, fw->s->loc);
        s->place = at(kc_ex_var(m, kept), e);
        s->value = e;
        kc_block_insert_before(fw->block, fw->s, s);
    }
    *slot = at(kc_ex_load_var(m, kept), e);
}

static bool is_constant_base(const kc_var* v)
{
    const kc_forward* known = v->pass_data;
    return v->kind == KC_VAR_PARAM && known && known->assignments == 0 && !known->is_seen_early;
}

static bool can_stand_anywhere(const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_VAR: return true;
    case KC_EX_FIELD:
    case KC_EX_INDEX:
    case KC_EX_LANES:
    case KC_EX_DEREF:
    case KC_EX_ADDRESS:
    case KC_EX_OFFSET: return can_stand_anywhere(e->args[0]);
    case KC_EX_CONVERT: return kc_is_pointer(e->args[0]->type) && can_stand_anywhere(e->args[0]);
    case KC_EX_LOAD: return e->args[0]->kind == KC_EX_VAR && is_constant_base(e->args[0]->u.var);
    case KC_EX_ZERO: return true;
    default: return false;
    }
}

static void keep_indices(kc_forwarder* fw, kc_expr* e)
{
    if (e->kind == KC_EX_LOAD || e->arg_count == 0)
        return;
    keep_indices(fw, e->args[0]);
    if (e->kind == KC_EX_INDEX || e->kind == KC_EX_OFFSET)
        keep_index(fw, &e->args[1]);
}

/* Names an object of another scope than the pointer's, which is gone where the pointer may be used?
 * Then that use is undefined; but the name must not be seen there. */
static bool is_in_scope(const kc_forwarder* fw, const kc_expr* e)
{
    if (fw->s->kind == KC_ST_DECLARE)
        return true;
    const kc_expr* base = e;
    while (base->arg_count)
        base = base->args[0];
    return base->kind != KC_EX_VAR || base->u.var->kind != KC_VAR_PRIVATE;
}

/* s assigns p. True: s is gone. */
static bool forward_assignment(kc_forwarder* fw, kc_stmt* s, kc_var* p)
{
    kc_forward* known = p->pass_data;
    if (!known || known->assignments != 1 || known->is_seen_early || !kc_is_pointer(p->type) ||
        !can_stand_anywhere(s->value) || !is_in_scope(fw, s->value))
        return false;
    fw->made_for = p;
    keep_indices(fw, s->value);
    known->value = s->value;
    if (s->value->type != p->type)
        known->value =
            at(kc_ex_convert(fw->m, p->type, s->value, KC_ROUND_DEFAULT, false), s->value);
    kc_block_remove(fw->block, s);
    if (s != known->declared)
        kc_block_remove(known->scope, known->declared);
    return true;
}

static void forward_block(kc_block* b, void* forwarder);

static void forward_parts(kc_forwarder* fw, kc_stmt* s)
{
    if (s->place)
        forward_expr(fw, &s->place);
    if (s->value && s->kind != KC_ST_LOOP)
        forward_expr(fw, &s->value);
    for (uint32_t i = 0; i < s->arg_count; i++)
        forward_expr(fw, &s->args[i]);
}

static void forward_loop(kc_forwarder* fw, kc_stmt* s)
{
    if (!s->test_at_end)
        forward_block(&s->head, fw);
    if (s->value && !s->test_at_end)
        forward_expr(fw, &s->value);
    forward_block(&s->body, fw);
    forward_block(&s->step, fw);
    if (s->test_at_end)
        forward_block(&s->head, fw);
    if (s->value && s->test_at_end)
        forward_expr(fw, &s->value);
}

static void forward_block(kc_block* b, void* forwarder)
{
    kc_forwarder* fw = forwarder;
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        fw->block = b;
        fw->s = s;
        forward_parts(fw, s);
        const bool assigns = (s->kind == KC_ST_DECLARE && s->value) ||
                             (s->kind == KC_ST_ASSIGN && s->place->kind == KC_EX_VAR);
        if (assigns &&
            forward_assignment(fw, s, s->kind == KC_ST_DECLARE ? s->var : s->place->u.var))
            continue;
        if (s->kind == KC_ST_LOOP)
            forward_loop(fw, s);
        else
            kc_stmt_walk_blocks(s, forward_block, fw);
    }
}

/* ---- what is known of variables -------------------------------------------------------------- */

static kc_forward* know(kc_module* m, kc_var* v)
{
    kc_forward* known = KC_NEW(m->arena, kc_forward);
    v->pass_data = known;
    return known;
}

static void count_uses(kc_expr* e)
{
    const bool is_load = e->kind == KC_EX_LOAD && e->args[0]->kind == KC_EX_VAR;
    if (e->kind == KC_EX_VAR || is_load) {
        const kc_var* v = is_load ? e->args[0]->u.var : e->u.var;
        kc_forward* known = v->pass_data;
        if (known && v->kind != KC_VAR_PARAM && known->assignments == 0)
            known->is_seen_early = true;
        return;
    }
    if (e->kind == KC_EX_ADDRESS) {
        kc_var* root = kc_place_root(e->args[0]);
        if (root && root->pass_data)
            ((kc_forward*)root->pass_data)->is_seen_early = true;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        count_uses(e->args[i]);
}

static void know_block(kc_block* b, void* module);

static void know_loop(kc_module* m, kc_stmt* s)
{
    if (!s->test_at_end)
        know_block(&s->head, m);
    if (s->value && !s->test_at_end)
        count_uses(s->value);
    know_block(&s->body, m);
    know_block(&s->step, m);
    if (s->test_at_end)
        know_block(&s->head, m);
    if (s->value && s->test_at_end)
        count_uses(s->value);
}

static void know_block(kc_block* b, void* module)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        if (s->value && s->kind != KC_ST_LOOP)
            count_uses(s->value);
        for (uint32_t i = 0; i < s->arg_count; i++)
            count_uses(s->args[i]);
        if (s->kind == KC_ST_DECLARE) {
            kc_forward* known = know(module, s->var);
            known->declared = s;
            known->scope = b;
            known->assignments = s->value != NULL;
        }
        if (s->place) {
            kc_var* root = kc_place_root(s->place);
            if (s->place->kind != KC_EX_VAR)
                count_uses(s->place);
            if (root && root->pass_data)
                ((kc_forward*)root->pass_data)->assignments++;
        }
        if (s->result && s->result->pass_data) /* not by an ASSIGN that could be taken away */
            ((kc_forward*)s->result->pass_data)->assignments += 2;
        if (s->kind == KC_ST_LOOP)
            know_loop(module, s);
        else
            kc_stmt_walk_blocks(s, know_block, module);
    }
}

static void forget(kc_stmt* s, void* user)
{
    (void)user;
    if (s->kind == KC_ST_DECLARE)
        s->var->pass_data = NULL;
}

static bool forward_function(kc_module* m, kc_function* f)
{
    for (uint32_t i = 0; i < f->param_count; i++)
        know(m, f->params[i]);
    know_block(&f->body, m);
    kc_forwarder fw = {.m = m, .f = f};
    forward_block(&f->body, &fw);
    for (uint32_t i = 0; i < f->param_count; i++)
        f->params[i]->pass_data = NULL;
    kc_block_walk(&f->body, forget, NULL);
    return fw.is_changed;
}

void kc_forward_pointers(kc_module* m)
{
    for (kc_function* f = m->functions; f; f = f->next)
        while (forward_function(m, f)) /* pointers to pointers: one level more each time */
            ;
}
