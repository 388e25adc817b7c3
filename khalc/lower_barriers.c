/* Barriers where a language accepts them: in control flow that is provably the same for the
 * work-group. Where the source's isn't (strict.c), the group goes wherever some work-item wants to
 * go, which a vote tells: all who do store the number of the poll, and the group reads it back in
 * step. Who isn't concerned is masked by a bool of its own. So a barrier that the running
 * work-items reach together stays one, and work-items that have returned only follow. */
#include "lower_flow.h"
#include "strict.h"

typedef struct mask {
    kc_var* var;
    const kc_stmt* s; /* NULL: the kernel */
    bool is_round;
    const struct mask* outer;
} mask;

typedef struct piece { /* what only work-items that are in run, between two steps of the group */
    kc_stmt* first;    /* what stands in the list */
    kc_stmt* block;    /* a work-item that leaves early breaks it; NULL: none is open */
} piece;

typedef struct flow {
    kc_module* m;
    kc_function* f;
    kc_strict facts;
    kc_var *vote, *poll;
} flow;

static void step_list(flow* t, kc_block* b, const mask* in);

static kc_strict_stmt* of(const kc_stmt* s)
{
    return s->pass_data;
}

static kc_expr* load(flow* t, const mask* in)
{
    return kc_ex_load_var(t->m, in->var);
}

static kc_expr* both(flow* t, kc_expr* a, kc_expr* b)
{
    return kc_ex_binary(t->m, KC_OP_LOGICAL_AND, a, b);
}

/* `e`, for those who are in. */
static kc_expr* if_in(flow* t, const kc_stmt* s, const mask* in, kc_expr* e)
{
    return of(s)->is_masked ? both(t, load(t, in), e) : e;
}

static kc_expr* who_is_in(flow* t, const kc_stmt* s, const mask* in)
{
    return of(s)->is_masked ? load(t, in) : kc_ex_const_bool(t->m, true);
}

static kc_var* declare_bool(flow* t, kc_block* b, const char* name, kc_expr* value, kc_loc loc)
{
    kc_var* v = kc_temp_create(t->m, t->f, name, kc_type_bool(t->m), loc);
    kc_st_declare(t->m, b, v, value, loc);
    return v;
}

static bool has_barriers(const kc_block* b)
{
    for (const kc_stmt* s = b->first; s; s = s->next)
        if (s->has_barrier)
            return true;
    return false;
}

/* ---- votes ----------------------------------------------------------------------------------- */

/* Whether any work-item says yes; the same, provably, for all. Numbers of polls never come again,
 * so that nothing has to be reset between two. */
static kc_expr* vote(flow* t, kc_block* b, kc_expr* yes, kc_loc loc)
{
    const kc_type* u32 = kc_type_int(t->m, 32, false);
    if (!t->vote) {
        t->vote = kc_local_add(t->m, t->f, "vote", u32, loc);
        t->vote->is_temporary = true;
        t->poll = kc_temp_create(t->m, t->f, "poll", u32, loc);
    }
    kc_set_var(
        t->m, b, t->poll,
        kc_ex_binary(t->m, KC_OP_ADD, kc_ex_load_var(t->m, t->poll), kc_ex_const_int(t->m, u32, 1)),
        loc);
    kc_stmt* say = kc_put_if(t->m, b, yes, loc);
    kc_set_var(t->m, &say->body, t->vote, kc_ex_load_var(t->m, t->poll), loc);
    kc_var* answer = kc_temp_create(t->m, t->f, "answer", u32, loc);
    kc_st_declare(t->m, b, answer, NULL, loc);
    kc_stmt* all = kc_stmt_create(t->m, KC_ST_BROADCAST, loc);
    all->place = kc_ex_var(t->m, t->vote);
    all->result = answer;
    kc_block_append(b, all);
    return kc_ex_binary(t->m, KC_OP_EQ, kc_ex_load_var(t->m, answer),
                        kc_ex_load_var(t->m, t->poll));
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static kc_strict_var* facts_of(const kc_expr* e)
{
    const bool is_item = e->kind == KC_EX_VAR &&
                         (e->u.var->kind == KC_VAR_PRIVATE || e->u.var->kind == KC_VAR_PARAM);
    return is_item ? e->u.var->pass_data : NULL;
}

static void count_use(kc_expr** slot, void* user)
{
    kc_strict_var* v = facts_of(*slot);
    (void)user;
    if (v)
        v->uses++;
}

static void count_uses(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, count_use, user);
    if (s->result && s->result->pass_data)
        ((kc_strict_var*)s->result->pass_data)->uses++;
    const kc_var* set = s->result ? s->result : s->place ? kc_place_root(s->place) : NULL;
    if (set && set->pass_data)
        ((kc_strict_var*)set->pass_data)->sets++;
}

static void count_use_here(kc_expr** slot, void* user)
{
    kc_strict_var* v = facts_of(*slot);
    (void)user;
    if (v)
        v->uses_here++;
}

static void count_uses_here(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, count_use_here, user);
    if (s->result && s->result->pass_data)
        ((kc_strict_var*)s->result->pass_data)->uses_here++;
}

/* A variable that lives on after the piece is declared before it. */
static void close_piece(flow* t, kc_block* b, piece* open)
{
    if (!open->block)
        return;
    kc_block* body = &open->block->body;
    bool declares = false;
    for (const kc_stmt* s = body->first; s; s = s->next)
        if (s->kind == KC_ST_DECLARE && s->var->pass_data) {
            ((kc_strict_var*)s->var->pass_data)->uses_here = 0;
            declares = true;
        }
    if (declares)
        kc_block_walk(body, count_uses_here, NULL);
    for (kc_stmt *s = body->first, *next; s; s = next) {
        next = s->next;
        const kc_strict_var* v = s->kind == KC_ST_DECLARE ? s->var->pass_data : NULL;
        if (!v || v->uses_here == v->uses)
            continue;
        kc_stmt* declare = kc_stmt_create(t->m, KC_ST_DECLARE, s->loc);
        declare->var = s->var;
        kc_block_insert_before(b, open->first, declare);
        if (s->value) {
            s->kind = KC_ST_ASSIGN;
            s->place = kc_ex_var(t->m, s->var);
            s->var = NULL;
        } else {
            kc_block_remove(body, s);
        }
    }
    *open = (piece){0};
}

static void open_piece(flow* t, kc_block* b, piece* open, const kc_stmt* s, const mask* in)
{
    if (open->block)
        return;
    open->first = open->block = kc_stmt_create(t->m, KC_ST_BLOCK, s->loc);
    if (of(s)->is_masked) {
        open->first = kc_put_if(t->m, b, load(t, in), s->loc);
        kc_block_append(&open->first->body, open->block);
    } else {
        kc_block_append(b, open->block);
    }
}

/* Exits of single work-items take them out of the masks up to where they lead. */
static void leave_pieces(flow* t, kc_block* b, kc_stmt* s, const mask* in, kc_stmt* block)
{
    if (!kc_is_terminator(s) || !of(s)->varies ||
        (s->kind != KC_ST_RETURN && !of(s->target)->steps))
        return;
    for (; in; in = in->outer) {
        kc_block out = {0};
        kc_stmt* leave = kc_set_var(t->m, &out, in->var, kc_ex_const_bool(t->m, false), s->loc);
        kc_block_insert_before(b, s, leave);
        if (s->kind != KC_ST_RETURN && in->s == s->target &&
            in->is_round == (s->kind == KC_ST_CONTINUE))
            break;
    }
    s->kind = KC_ST_BREAK;
    s->target = block;
}

typedef struct leaving {
    flow* t;
    const mask* in;
    kc_stmt* block;
} leaving;

static void leave_list(kc_block* b, void* user)
{
    const leaving* l = user;
    for (kc_stmt* s = b->first; s; s = s->next) {
        if (!s->pass_data) /* made here */
            continue;
        if (of(s)->leaves)
            kc_stmt_walk_blocks(s, leave_list, user);
        leave_pieces(l->t, b, s, l->in, l->block);
    }
}

static void add_to_piece(flow* t, kc_block* b, piece* open, kc_stmt* s, const mask* in)
{
    open_piece(t, b, open, s, in);
    kc_block_append(&open->block->body, s);
    leaving l = {t, in, open->block};
    if (of(s)->leaves)
        kc_stmt_walk_blocks(s, leave_list, &l);
    leave_pieces(t, &open->block->body, s, in, open->block);
}

/* ---- steps of the group ---------------------------------------------------------------------- */

/* `arm`, for those who are in `in`. */
static void put_arm(flow* t, kc_block* b, kc_block arm, const mask* in, kc_loc loc)
{
    kc_stmt* s;
    if (has_barriers(&arm)) {
        kc_expr* any = vote(t, b, load(t, in), loc);
        s = kc_put_if(t->m, b, any, loc);
    } else {
        s = kc_stmt_create(t->m, KC_ST_BLOCK, loc);
        kc_block_append(b, s);
    }
    s->body = arm;
    step_list(t, &s->body, in);
}

static void step_if(flow* t, kc_block* b, kc_stmt* s, const mask* in)
{
    if (!of(s)->varies) {
        kc_block_append(b, s);
        step_list(t, &s->body, in);
        step_list(t, &s->orelse, in);
        return;
    }
    mask body = {.s = s, .outer = in}, orelse = body;
    body.var = declare_bool(t, b, "in_then", if_in(t, s, in, s->value), s->loc);
    if (s->orelse.first)
        orelse.var = declare_bool(t, b, "in_else",
                                  if_in(t, s, in, kc_negated(t->m, load(t, &body))), s->loc);
    put_arm(t, b, s->body, &body, s->loc);
    if (s->orelse.first)
        put_arm(t, b, s->orelse, &orelse, s->loc);
}

static void step_loop(flow* t, kc_block* b, kc_stmt* s, const mask* in)
{
    const kc_strict_stmt* p = of(s);
    mask loop = {.s = s, .outer = in}, round = {.s = s, .is_round = true};
    if (p->has_mask) {
        loop.var = declare_bool(t, b, "in_loop", who_is_in(t, s, in), s->loc);
        in = &loop;
    }
    kc_block_append(b, s);
    step_list(t, &s->head, in);
    step_list(t, &s->step, in);
    kc_block start = {0};
    round.outer = in;
    if (p->has_round_mask) {
        round.var = declare_bool(t, &start, "in_round",
                                 in ? load(t, in) : kc_ex_const_bool(t->m, true), s->loc);
        step_list(t, &s->body, &round);
        kc_block_move(&start, &s->body);
        s->body = start;
    } else {
        step_list(t, &s->body, in);
    }
    if (p->varies) {
        kc_set_var(t->m, &s->head, in->var, both(t, load(t, in), s->value), s->loc);
        s->value = vote(t, &s->head, load(t, in), s->loc);
    } else if (p->has_mask || p->is_left) {
        kc_expr* any = vote(t, &s->head, load(t, in), s->loc);
        s->value = s->value ? both(t, any, s->value) : any;
    }
}

static kc_expr* is_case(flow* t, kc_var* chosen, const kc_stmt* s, uint32_t which)
{
    const kc_case* c = &s->cases[which];
    if (!c->is_default)
        return kc_is_one_of(t->m, chosen, c->value_count, c->values);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->case_count; i++)
        count += i == which ? 0 : s->cases[i].value_count;
    uint64_t* others = KC_NEW_ARRAY(t->m->arena, uint64_t, count + 1);
    count = 0;
    for (uint32_t i = 0; i < s->case_count; i++)
        for (uint32_t k = 0; i != which && k < s->cases[i].value_count; k++)
            others[count++] = s->cases[i].values[k];
    return kc_negated(t->m, kc_is_one_of(t->m, chosen, count, others));
}

/* The value that a SWITCH chooses by, in a variable. */
static kc_var* declare_chosen(flow* t, kc_block* b, kc_stmt* s, const mask* in)
{
    if (s->value->kind == KC_EX_LOAD) {
        const kc_strict_var* v = facts_of(s->value->args[0]);
        if (v && !v->sets && !s->value->args[0]->u.var->is_address_taken)
            return s->value->args[0]->u.var;
    }
    kc_var* chosen = kc_temp_create(t->m, t->f, "chosen", s->value->type, s->loc);
    if (!of(s)->is_masked || kc_is_harmless(s->value)) {
        kc_st_declare(t->m, b, chosen, s->value, s->loc);
        return chosen;
    }
    kc_st_declare(t->m, b, chosen, NULL, s->loc);
    kc_stmt* only = kc_put_if(t->m, b, load(t, in), s->loc);
    kc_set_var(t->m, &only->body, chosen, s->value, s->loc);
    return chosen;
}

/* Cases that work-items choose one by one, or leave so, become a BLOCK of IFs. */
static void step_switch(flow* t, kc_block* b, kc_stmt* s, const mask* in)
{
    const kc_strict_stmt* p = of(s);
    if (!p->has_mask) {
        kc_block_append(b, s);
        for (uint32_t i = 0; i < s->case_count; i++)
            step_list(t, &s->cases[i].body, in);
        return;
    }
    kc_var* chosen = declare_chosen(t, b, s, in);
    const char* name = p->varies ? "in_case" : "in_switch";
    mask inside = {.s = s, .outer = in};
    inside.var = declare_bool(t, b, name, p->varies ? NULL : who_is_in(t, s, in), s->loc);
    kc_block_append(b, s);
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_expr* test = is_case(t, chosen, s, i);
        if (p->varies) {
            kc_set_var(t->m, &s->body, inside.var, if_in(t, s, in, test), s->loc);
            put_arm(t, &s->body, s->cases[i].body, &inside, s->loc);
        } else {
            kc_stmt* only = kc_put_if(t->m, &s->body, test, s->loc);
            only->body = s->cases[i].body;
            step_list(t, &only->body, &inside);
        }
    }
    s->kind = KC_ST_BLOCK;
    s->value = NULL;
    s->case_count = 0;
    s->cases = NULL;
}

static void step_block(flow* t, kc_block* b, kc_stmt* s, const mask* in)
{
    mask block = {.s = s, .outer = in};
    if (of(s)->has_mask) {
        block.var = declare_bool(t, b, "in_block", who_is_in(t, s, in), s->loc);
        in = &block;
    }
    kc_block_append(b, s);
    step_list(t, &s->body, in);
}

static void step(flow* t, kc_block* b, kc_stmt* s, const mask* in)
{
    switch (s->kind) {
    case KC_ST_IF: step_if(t, b, s, in); break;
    case KC_ST_LOOP: step_loop(t, b, s, in); break;
    case KC_ST_SWITCH: step_switch(t, b, s, in); break;
    case KC_ST_BLOCK: step_block(t, b, s, in); break;
    default: kc_block_append(b, s); break;
    }
}

static bool is_step(const kc_stmt* s)
{
    return kc_is_terminator(s) ? !of(s)->varies : of(s)->steps;
}

/* All work-items run it, those that are out too: a step of the group where it steers one, and
 * elsewhere only where it doesn't cut a piece in two. */
static bool is_for_all(const kc_stmt* s, const piece* open)
{
    const kc_strict_stmt* p = of(s);
    if ((s->kind != KC_ST_DECLARE && s->kind != KC_ST_ASSIGN) || !p->may_all)
        return false;
    const kc_var* v = s->kind == KC_ST_DECLARE ? s->var : s->place->u.var;
    return !open->block || (p->is_strict && ((const kc_strict_var*)v->pass_data)->steers);
}

/* The list, which the group steps through; work-items that are not in `in` are out of what it does.
 */
static void step_list(flow* t, kc_block* b, const mask* in)
{
    kc_block old = *b;
    piece open = {0};
    *b = (kc_block){0};
    for (kc_stmt* s; (s = old.first);) {
        const kc_strict_stmt* p = of(s);
        if (p->is_final) {
            close_piece(t, b, &open);
            kc_block_move(p->is_masked ? &kc_put_if(t->m, b, load(t, in), s->loc)->body : b, &old);
            return;
        }
        kc_block_remove(&old, s);
        const bool is_free = !p->is_masked && !p->leaves && !kc_is_terminator(s);
        if (is_step(s) || is_free || is_for_all(s, &open)) {
            close_piece(t, b, &open);
            step(t, b, s, in);
        } else {
            add_to_piece(t, b, &open, s, in);
        }
    }
    close_piece(t, b, &open);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool polls(const kc_stmt* s, const flow* t)
{
    return s->has_barrier ||
           (s->kind == KC_ST_ASSIGN && s->place->kind == KC_EX_VAR && s->place->u.var == t->poll);
}

/* The vote begins with the number of no poll, which all have to know before the first. */
static void begin_votes(flow* t, kc_block* start)
{
    const kc_type* u32 = t->poll->type;
    const kc_loc loc = t->f->loc;
    kc_st_declare(t->m, start, t->poll, kc_ex_const_int(t->m, u32, 0), loc);
    kc_set_var(t->m, start, t->vote, kc_ex_const_int(t->m, u32, 0), loc);
    const kc_stmt* first = t->f->body.first;
    while (first && !polls(first, t))
        first = first->next;
    if (first && first->kind == KC_ST_BARRIER)
        return;
    kc_stmt* barrier = kc_stmt_create(t->m, KC_ST_BARRIER, loc);
    barrier->fence = KC_FENCE_LOCAL;
    kc_block_append(start, barrier);
}

static void lower_kernel(kc_module* m, kc_function* f, const kc_target* target)
{
    flow t = {.m = m, .f = f};
    kc_strict_open(&t.facts, m, f, target);
    kc_block_walk(&f->body, count_uses, NULL);
    kc_block start = {0};
    mask running = {0};
    if (t.facts.has_returns)
        running.var = declare_bool(&t, &start, "running", kc_ex_const_bool(m, true), f->loc);
    step_list(&t, &f->body, running.var ? &running : NULL);
    kc_strict_close(&t.facts);
    if (t.vote)
        begin_votes(&t, &start);
    kc_block_move(&start, &f->body);
    f->body = start;
    if (!target->has_labels)
        kc_make_exits_plain(m, f);
}

bool kc_lower_barriers(kc_module* m, const kc_target* target)
{
    for (kc_function* f = m->functions; f && !target->has_free_barriers; f = f->next) {
        if (!f->is_kernel || !f->has_barrier)
            continue;
        if (target->has_fall_through)
            kc_end_fall_through(m, f);
        lower_kernel(m, f, target);
    }
    return true;
}
