#include "strict.h"

#include <string.h>

/* States: a bit for each variable, set where its values may differ, for each mask, set where it may
 * leave some work-items out, and for whether control gets here at all. They only grow, as the walks
 * repeat. Variables that no condition depends on share a bit that is always set. */
enum { BIT_LIVE, BIT_RETURNED, BIT_UNTRACKED, BIT_NONE, BIT_FIRST };

enum { NO_MASK = -2, RETURNED = -1 };

typedef struct frame { /* a mask */
    const kc_stmt* s;
    bool is_round;
    uint32_t bit;
} frame;

typedef struct strict {
    kc_module* m;
    kc_arena* scratch;
    const kc_target* target;
    kc_function* f;
    kc_strict* out;
    uint32_t words, bits;
    uint64_t** free_states;
    uint32_t free_count;
    uint32_t stmt_capacity, var_capacity;
    frame* frames;
    int frame_count;
    int varying; /* conditions around that differ between work-items */
    bool changed;
} strict;

static kc_strict_stmt* of(const kc_stmt* s)
{
    return s->pass_data;
}

static void raise_flag(strict* u, bool* flag)
{
    u->changed |= !*flag;
    *flag = true;
}

/* ---- states ---------------------------------------------------------------------------------- */

static uint64_t* new_state(strict* u)
{
    return KC_NEW_ARRAY(u->scratch, uint64_t, u->words);
}

static bool get(const uint64_t* st, uint32_t bit)
{
    return st[bit / 64] >> (bit % 64) & 1;
}

static void put(uint64_t* st, uint32_t bit, bool value)
{
    const uint64_t mask = UINT64_C(1) << (bit % 64);
    st[bit / 64] = value ? st[bit / 64] | mask : st[bit / 64] & ~mask;
}

static void copy(strict* u, uint64_t* to, const uint64_t* from)
{
    memcpy(to, from, sizeof *to * u->words);
}

static bool join(strict* u, uint64_t* to, const uint64_t* from)
{
    bool changed = false;
    for (uint32_t i = 0; i < u->words; i++) {
        changed |= (from[i] & ~to[i]) != 0;
        to[i] |= from[i];
    }
    return changed;
}

static uint64_t* clone(strict* u, const uint64_t* st)
{
    uint64_t* made = u->free_count ? u->free_states[--u->free_count] : new_state(u);
    copy(u, made, st);
    return made;
}

static void release(strict* u, uint64_t* st)
{
    u->free_states[u->free_count++] = st;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* The innermost mask that may leave some work-items out. */
static int mask_here(const strict* u, const uint64_t* st)
{
    for (int i = u->frame_count - 1; i >= 0; i--)
        if (get(st, u->frames[i].bit))
            return i;
    return get(st, BIT_RETURNED) ? RETURNED : NO_MASK;
}

static void push_mask(strict* u, uint64_t* st, const kc_stmt* s, bool is_round)
{
    const bool is_masked = mask_here(u, st) != NO_MASK;
    const uint32_t bit = is_round ? of(s)->round_bit : of(s)->bit;
    u->frames[u->frame_count++] = (frame){s, is_round, bit};
    put(st, bit, is_masked);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_strict(const strict* u, const uint64_t* st, const kc_expr* e);

static bool are_strict(const strict* u, const uint64_t* st, const kc_expr* e)
{
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!is_strict(u, st, e->args[i]))
            return false;
    return true;
}

static bool is_load_strict(const strict* u, const uint64_t* st, const kc_expr* place)
{
    for (; place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF; place = place->args[0])
        if (place->kind == KC_EX_INDEX && !is_strict(u, st, place->args[1]))
            return false;
    if (place->kind == KC_EX_DEREF) {
        const kc_origin origin = kc_expr_origin(u->m, place->args[0]);
        return origin.count == 1 && !origin.is_unknown && origin.roots[0]->kind == KC_VAR_PARAM &&
               !origin.roots[0]->is_written && place->args[0]->type->space != KC_SPACE_LOCAL &&
               is_strict(u, st, place->args[0]);
    }
    const kc_var* v = place->u.var;
    switch (v->kind) {
    case KC_VAR_CONSTANT: return true;
    case KC_VAR_LOCAL: return false;
    case KC_VAR_BUFFER: /* one that shares a binding with others may be written after all */
        return v == u->f->push || (!v->is_written && !v->is_atomic && !u->target->words);
    case KC_VAR_PARAM:
    case KC_VAR_PRIVATE: break;
    }
    return !v->is_address_taken && !get(st, ((const kc_strict_var*)v->pass_data)->bit);
}

static bool is_strict(const strict* u, const uint64_t* st, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_LOAD: return is_load_strict(u, st, e->args[0]);
    case KC_EX_ADDRESS: return false;
    case KC_EX_WORK_ITEM:
        return e->u.query != KC_QUERY_LOCAL_ID && e->u.query != KC_QUERY_GLOBAL_ID &&
               are_strict(u, st, e);
    default: return are_strict(u, st, e);
    }
}

bool kc_is_harmless(const kc_expr* e)
{
    if (!e)
        return true;
    if (e->kind == KC_EX_DEREF)
        return false;
    if (e->kind == KC_EX_INDEX && e->args[1]->kind != KC_EX_CONST) {
        const kc_var* root = kc_place_root(e);
        if (!root || root->kind != KC_VAR_BUFFER) /* whose bounds are checked */
            return false;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!kc_is_harmless(e->args[i]))
            return false;
    return true;
}

static bool is_condition_strict(const strict* u, const uint64_t* st, const kc_expr* e)
{
    return is_strict(u, st, e) && (mask_here(u, st) == NO_MASK || kc_is_harmless(e));
}

/* ---- statements that hold no others ---------------------------------------------------------- */

static void set_var(uint64_t* st, const kc_var* v, bool is_whole, bool varies)
{
    if (v->kind != KC_VAR_PRIVATE && v->kind != KC_VAR_PARAM)
        return;
    const uint32_t bit = ((const kc_strict_var*)v->pass_data)->bit;
    if (bit != BIT_UNTRACKED)
        put(st, bit, varies || (!is_whole && get(st, bit)));
}

/* Whether running it in work-items that are out changes nothing that they see once they are in
 * again. */
static bool may_all_run(const strict* u, const uint64_t* st, const kc_stmt* s)
{
    if (!kc_is_harmless(s->value))
        return false;
    if (s->kind == KC_ST_DECLARE)
        return true;
    if (s->place->kind != KC_EX_VAR)
        return false;
    const kc_var* v = s->place->u.var;
    if ((v->kind != KC_VAR_PRIVATE && v->kind != KC_VAR_PARAM) || v->is_address_taken)
        return false;
    return ((const kc_strict_var*)v->pass_data)->depth > mask_here(u, st);
}

static void walk_set(strict* u, uint64_t* st, kc_stmt* s, bool steps)
{
    kc_strict_stmt* p = of(s);
    const bool strict_value = !s->value || is_strict(u, st, s->value);
    bool is_uniform = u->varying == 0;
    p->may_all &= may_all_run(u, st, s);
    p->is_strict &= strict_value;
    if (steps && p->is_masked && !p->may_all)
        is_uniform = false;
    if (s->kind == KC_ST_DECLARE) {
        ((kc_strict_var*)s->var->pass_data)->depth = u->frame_count;
        set_var(st, s->var, true, !strict_value || !is_uniform);
        return;
    }
    bool strict_place = true;
    const kc_expr* place = s->place;
    for (; place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF; place = place->args[0])
        if (place->kind == KC_EX_INDEX)
            strict_place &= is_strict(u, st, place->args[1]);
    if (place->kind == KC_EX_VAR)
        set_var(st, place->u.var, place == s->place, !strict_value || !strict_place || !is_uniform);
}

static void walk_result(strict* u, uint64_t* st, const kc_stmt* s, bool steps)
{
    if (!s->result)
        return;
    bool varies = u->varying || (steps && of(s)->is_masked) || s->kind == KC_ST_ATOMIC;
    for (uint32_t i = 0; i < s->arg_count; i++)
        varies |= !is_strict(u, st, s->args[i]);
    set_var(st, s->result, true, varies);
}

/* ---- exits ----------------------------------------------------------------------------------- */

/* The group can take it as a whole: nobody waits on the way for something else. */
static bool is_taken_by_group(const strict* u, const uint64_t* st, const kc_stmt* s)
{
    if (u->varying)
        return false;
    for (const kc_stmt* a = of(s)->parent; a && (s->kind == KC_ST_RETURN || a != s->target);
         a = of(a)->parent)
        if (!of(a)->steps)
            return false;
    for (int i = u->frame_count - 1; i >= 0; i--) {
        const frame* f = &u->frames[i];
        const bool is_target = s->kind != KC_ST_RETURN && f->s == s->target;
        if (is_target && s->kind == KC_ST_BREAK && f->s->kind == KC_ST_SWITCH && of(f->s)->varies)
            return false; /* others' cases are still to come */
        if (is_target && (s->kind == KC_ST_CONTINUE || !f->is_round))
            break;
        if (get(st, f->bit))
            return false;
    }
    return true;
}

static void leave_one_by_one(strict* u, uint64_t* st, kc_stmt* s)
{
    for (kc_stmt* a = of(s)->parent; a && (s->kind == KC_ST_RETURN || a != s->target);
         a = of(a)->parent) {
        raise_flag(u, &of(a)->leaves);
        if (a->kind == KC_ST_LOOP)
            raise_flag(u, &of(a)->is_left);
    }
    if (s->kind == KC_ST_RETURN)
        raise_flag(u, &u->out->has_returns);
    else
        raise_flag(u, s->kind == KC_ST_BREAK ? &of(s->target)->has_mask
                                             : &of(s->target)->has_round_mask);
    for (int i = u->frame_count - 1; i >= 0; i--) {
        const frame* f = &u->frames[i];
        put(st, f->bit, true);
        if (s->kind != KC_ST_RETURN && f->s == s->target &&
            (s->kind == KC_ST_CONTINUE) == f->is_round)
            return;
    }
    if (s->kind == KC_ST_RETURN)
        put(st, BIT_RETURNED, true);
}

static void walk_exit(strict* u, uint64_t* st, kc_stmt* s)
{
    kc_strict_stmt* p = of(s);
    const bool is_inner = s->kind != KC_ST_RETURN && !of(s->target)->steps;
    if (is_inner) {
        if (u->varying)
            raise_flag(u, &of(s->target)->varies_inside);
    } else {
        if (!is_taken_by_group(u, st, s))
            raise_flag(u, &p->varies);
        if (p->varies) {
            leave_one_by_one(u, st, s);
            return;
        }
        for (kc_stmt* a = p->parent; a && (s->kind == KC_ST_RETURN || a != s->target);
             a = of(a)->parent)
            of(a)->steps_seen = true;
    }
    if (s->kind != KC_ST_RETURN)
        join(u, s->kind == KC_ST_BREAK ? of(s->target)->out : of(s->target)->next, st);
    memset(st, 0, sizeof *st * u->words); /* nobody goes on */
}

/* ---- statements that hold others ------------------------------------------------------------- */

static void walk_list(strict* u, uint64_t* st, kc_block* b, bool steps, bool is_final);

static bool has_barriers(const kc_block* b)
{
    for (const kc_stmt* s = b->first; s; s = s->next)
        if (s->has_barrier)
            return true;
    return false;
}

static void walk_if(strict* u, uint64_t* st, kc_stmt* s, bool steps, bool is_final)
{
    kc_strict_stmt* p = of(s);
    uint64_t* other = NULL;
    if (!steps) {
        const bool varies = !is_strict(u, st, s->value);
        u->varying += varies;
        other = clone(u, st);
        walk_list(u, st, &s->body, false, false);
        walk_list(u, other, &s->orelse, false, false);
        join(u, st, other);
        release(u, other);
        u->varying -= varies;
        return;
    }
    if (!is_condition_strict(u, st, s->value))
        raise_flag(u, &p->varies);
    if (!p->varies) {
        other = clone(u, st);
        walk_list(u, st, &s->body, true, is_final);
        walk_list(u, other, &s->orelse, true, is_final);
        join(u, st, other);
        release(u, other);
        return;
    }
    raise_flag(u, &p->has_mask);
    push_mask(u, st, s, false);
    put(st, p->bit, true);
    other = clone(u, st);
    walk_list(u, other, &s->body, true, is_final && !has_barriers(&s->orelse));
    join(u, st, other);
    put(st, p->bit, true);
    walk_list(u, st, &s->orelse, true, is_final);
    join(u, st, other);
    release(u, other);
    u->frame_count--;
    put(st, p->bit, false);
}

/* The state at the loop's condition goes on to what follows, where it is left there. */
static void walk_condition(strict* u, uint64_t* st, kc_stmt* s, bool steps)
{
    kc_strict_stmt* p = of(s);
    if (steps && s->value && !is_condition_strict(u, st, s->value))
        raise_flag(u, &p->varies);
    if (!steps && s->value && !is_strict(u, st, s->value))
        raise_flag(u, &p->varies_inside);
    if (steps && p->varies) {
        raise_flag(u, &p->has_mask);
        put(st, p->bit, true);
    }
    if (s->value || (steps && (p->has_mask || p->is_left)))
        join(u, p->out, st);
}

static void walk_loop(strict* u, uint64_t* st, kc_stmt* s, bool steps)
{
    kc_strict_stmt* p = of(s);
    const int frames = u->frame_count;
    if (steps && p->has_mask)
        push_mask(u, st, s, false);
    join(u, p->entry, st);
    copy(u, st, p->entry);
    if (!s->test_at_end) {
        walk_list(u, st, &s->head, steps, false);
        walk_condition(u, st, s, steps);
    }
    if (steps && p->has_round_mask)
        push_mask(u, st, s, true);
    walk_list(u, st, &s->body, steps, false);
    if (steps && p->has_round_mask)
        u->frame_count--;
    join(u, p->next, st);
    copy(u, st, p->next);
    put(st, p->round_bit, false);
    walk_list(u, st, &s->step, steps, false);
    if (s->test_at_end) {
        walk_list(u, st, &s->head, steps, false);
        walk_condition(u, st, s, steps);
    }
    u->changed |= join(u, p->entry, st);
    copy(u, st, p->out);
    u->frame_count = frames;
    put(st, p->bit, false);
    put(st, p->round_bit, false);
}

static void walk_switch(strict* u, uint64_t* st, kc_stmt* s, bool steps, bool is_final)
{
    kc_strict_stmt* p = of(s);
    bool has_default = false;
    const bool varies = !steps && !is_strict(u, st, s->value);
    u->varying += varies;
    if (steps && !is_condition_strict(u, st, s->value))
        raise_flag(u, &p->varies);
    if (steps && p->varies)
        raise_flag(u, &p->has_mask);
    const bool has_mask = steps && p->has_mask;
    if (has_mask)
        push_mask(u, st, s, false);
    uint64_t* before = clone(u, st);
    for (uint32_t i = 0; i < s->case_count; i++) {
        has_default |= s->cases[i].is_default;
        copy(u, st, before);
        if (has_mask && p->varies)
            put(st, p->bit, true);
        walk_list(u, st, &s->cases[i].body, steps, is_final && !has_mask);
        join(u, p->out, st);
        if (has_mask) /* its cases run one after another */
            join(u, before, st);
    }
    if (!has_default || has_mask)
        join(u, p->out, before);
    copy(u, st, p->out);
    release(u, before);
    u->varying -= varies;
    if (has_mask)
        u->frame_count--;
    put(st, p->bit, false);
}

static void walk_block(strict* u, uint64_t* st, kc_stmt* s, bool steps, bool is_final)
{
    kc_strict_stmt* p = of(s);
    const bool has_mask = steps && p->has_mask;
    if (has_mask)
        push_mask(u, st, s, false);
    walk_list(u, st, &s->body, steps, is_final);
    join(u, p->out, st);
    copy(u, st, p->out);
    if (has_mask)
        u->frame_count--;
    put(st, p->bit, false);
}

static void walk_stmt(strict* u, uint64_t* st, kc_stmt* s, bool steps, bool is_final)
{
    kc_strict_stmt* p = of(s);
    p->is_final = false;
    if (steps && mask_here(u, st) != NO_MASK)
        raise_flag(u, &p->is_masked);
    const bool is_list = s->kind == KC_ST_IF || s->kind == KC_ST_LOOP || s->kind == KC_ST_SWITCH ||
                         s->kind == KC_ST_BLOCK;
    const bool inner_steps = steps && p->steps;
    const int varying = u->varying;
    if (is_list && !inner_steps && ((steps && p->is_masked) || p->leaves || p->varies_inside))
        u->varying++;
    switch (s->kind) {
    case KC_ST_DECLARE:
    case KC_ST_ASSIGN: walk_set(u, st, s, steps); break;
    case KC_ST_CALL:
    case KC_ST_ATOMIC:
    case KC_ST_BROADCAST: walk_result(u, st, s, steps); break;
    case KC_ST_IF: walk_if(u, st, s, inner_steps, is_final); break;
    case KC_ST_LOOP: walk_loop(u, st, s, inner_steps); break;
    case KC_ST_SWITCH: walk_switch(u, st, s, inner_steps, is_final); break;
    case KC_ST_BLOCK: walk_block(u, st, s, inner_steps, is_final); break;
    case KC_ST_BREAK:
    case KC_ST_CONTINUE:
    case KC_ST_RETURN: walk_exit(u, st, s); break;
    case KC_ST_BARRIER:
    case KC_ST_FENCE:
    case KC_ST_PRINTF: break;
    }
    u->varying = varying;
}

static void walk_list(strict* u, uint64_t* st, kc_block* b, bool steps, bool is_final)
{
    kc_stmt* last = NULL;
    for (kc_stmt* s = b->last; s && is_final && !last; s = s->prev)
        if (s->has_barrier)
            last = s;
    bool is_after = is_final && !last;
    for (kc_stmt* s = b->first; s && get(st, BIT_LIVE); s = s->next) {
        if (is_after) {
            of(s)->is_final = true;
            if (mask_here(u, st) != NO_MASK)
                raise_flag(u, &of(s)->is_masked);
            return;
        }
        walk_stmt(u, st, s, steps, is_final && s == last);
        is_after = is_final && s == last;
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

typedef struct child {
    strict* u;
    kc_stmt* parent;
} child;

/* The lists of facts grow by doubling. */
static void* grown(kc_arena* arena, void* list, uint32_t count)
{
    if (count & (count - 1) || (count && count < 64))
        return list;
    void** more = KC_NEW_ARRAY(arena, void*, count ? (size_t)count * 2 : 64);
    if (count)
        memcpy(more, list, sizeof *more * count);
    return more;
}

static void add_var(strict* u, kc_var* v)
{
    kc_strict* out = u->out;
    v->pass_data = KC_NEW(u->m->arena, kc_strict_var);
    out->vars = grown(u->m->arena, out->vars, out->var_count);
    out->vars[out->var_count++] = v;
}

static void add_list(kc_block* b, void* user)
{
    const child* c = user;
    kc_strict* out = c->u->out;
    for (kc_stmt* s = b->first; s; s = s->next) {
        kc_strict_stmt* p = KC_NEW(c->u->m->arena, kc_strict_stmt);
        p->parent = c->parent;
        p->steps = s->has_barrier || s->has_exit || s->has_return;
        p->may_all = p->is_strict = true;
        s->pass_data = p;
        out->stmts = grown(c->u->m->arena, out->stmts, out->stmt_count);
        out->stmts[out->stmt_count++] = s;
        if (s->kind == KC_ST_DECLARE)
            add_var(c->u, s->var);
        child inner = {c->u, s};
        kc_stmt_walk_blocks(s, add_list, &inner);
    }
}

static bool has_condition(const kc_stmt* s)
{
    return s->kind == KC_ST_IF || s->kind == KC_ST_LOOP || s->kind == KC_ST_SWITCH;
}

static void steer_expr(kc_expr** slot, void* changed)
{
    const kc_expr* e = *slot;
    if (e->kind != KC_EX_VAR ||
        (e->u.var->kind != KC_VAR_PRIVATE && e->u.var->kind != KC_VAR_PARAM))
        return;
    kc_strict_var* v = e->u.var->pass_data;
    *(bool*)changed |= !v->steers;
    v->steers = true;
}

/* Marks what conditions depend on: all, or those of statements that the group steps through. */
static void find_steering(kc_strict* facts, bool of_all)
{
    bool changed = false;
    for (uint32_t i = 0; i < facts->var_count; i++)
        ((kc_strict_var*)facts->vars[i]->pass_data)->steers = false;
    for (uint32_t i = 0; i < facts->stmt_count; i++) {
        kc_stmt* s = facts->stmts[i];
        if (has_condition(s) && (of_all || of(s)->steps))
            kc_stmt_walk_exprs(s, steer_expr, &changed);
    }
    while (changed) {
        changed = false;
        for (uint32_t i = facts->stmt_count; i-- > 0;) {
            kc_stmt* s = facts->stmts[i];
            const kc_var* v = s->kind == KC_ST_DECLARE ? s->var
                              : s->result              ? s->result
                              : s->place               ? kc_place_root(s->place)
                                                       : NULL;
            if (v && (v->kind == KC_VAR_PRIVATE || v->kind == KC_VAR_PARAM) &&
                ((const kc_strict_var*)v->pass_data)->steers)
                kc_stmt_walk_exprs(s, steer_expr, &changed);
        }
    }
}

static void number(strict* u)
{
    for (uint32_t i = 0; i < u->out->var_count; i++) {
        kc_strict_var* v = u->out->vars[i]->pass_data;
        v->bit = v->steers ? u->bits++ : BIT_UNTRACKED;
    }
    uint32_t lists = 0;
    for (uint32_t i = 0; i < u->out->stmt_count; i++) {
        kc_stmt* s = u->out->stmts[i];
        if (!has_condition(s) && s->kind != KC_ST_BLOCK)
            continue;
        lists++;
        of(s)->bit = of(s)->steps ? u->bits++ : BIT_NONE;
        of(s)->round_bit = of(s)->steps && s->kind == KC_ST_LOOP ? u->bits++ : BIT_NONE;
    }
    u->words = u->bits / 64 + 1;
    for (uint32_t i = 0; i < u->out->stmt_count; i++) {
        kc_stmt* s = u->out->stmts[i];
        if (s->kind != KC_ST_LOOP && s->kind != KC_ST_SWITCH && s->kind != KC_ST_BLOCK)
            continue;
        of(s)->out = new_state(u);
        if (s->kind != KC_ST_LOOP)
            continue;
        of(s)->entry = new_state(u);
        of(s)->next = new_state(u);
    }
    u->free_states = KC_NEW_ARRAY(u->scratch, uint64_t*, lists + 1);
    u->frames = KC_NEW_ARRAY(u->scratch, frame, 2 * lists + 1);
}

static void find_steps(strict* u)
{
    for (uint32_t i = 0; i < u->out->stmt_count; i++) {
        const kc_stmt* s = u->out->stmts[i];
        kc_strict_stmt* p = of(s);
        if (p->steps && !s->has_barrier && !p->steps_seen) {
            p->steps = false;
            u->changed = true;
        }
        p->steps_seen = false;
    }
}

void kc_strict_open(kc_strict* out, kc_module* m, kc_function* kernel, const kc_target* target)
{
    *out = (kc_strict){0};
    strict u = {.m = m, .target = target, .f = kernel, .out = out, .bits = BIT_FIRST};
    u.scratch = kc_arena_create();
    if (!u.scratch)
        u.scratch = m->arena;
    for (uint32_t i = 0; i < kernel->param_count; i++)
        add_var(&u, kernel->params[i]);
    child root = {&u, NULL};
    add_list(&kernel->body, &root);
    find_steering(out, true);
    number(&u);
    uint64_t* st = new_state(&u);
    do {
        u.changed = false;
        u.frame_count = u.varying = 0;
        memset(st, 0, sizeof *st * u.words);
        put(st, BIT_LIVE, true);
        put(st, BIT_UNTRACKED, true);
        walk_list(&u, st, &kernel->body, true, true);
        find_steps(&u);
    } while (u.changed);
    find_steering(out, false);
    if (u.scratch != m->arena)
        kc_arena_destroy(u.scratch);
}

void kc_strict_close(kc_strict* facts)
{
    for (uint32_t i = 0; i < facts->stmt_count; i++)
        facts->stmts[i]->pass_data = NULL;
    for (uint32_t i = 0; i < facts->var_count; i++)
        facts->vars[i]->pass_data = NULL;
}
