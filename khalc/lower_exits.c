/* Exits and switches as a language without labels has them: a BREAK that crosses a statement
 * becomes a flag, and a BREAK after each statement that it crosses; BLOCKs that were left early
 * become IF and else where they can. */
#include "lower_flow.h"

#include <string.h>

/* How deep a BLOCK's early exits may nest its rest in elses, before it stays a BLOCK. */
enum { KC_MAX_ELSES = 24 };

typedef struct kc_exit {
    kc_stmt* s;
    kc_block* in;
    struct kc_exit* next;
} kc_exit;

typedef struct kc_frame { /* a statement that a plain BREAK means */
    kc_stmt* s;
    kc_exit *first, **tail; /* those inside that can't say what they mean */
    struct kc_frame* outer;
} kc_frame;

typedef struct kc_level { /* a list of statements, and what it is a part of */
    kc_block* b;
    kc_stmt* owner;
    bool is_loop_body;
    struct kc_level* outer;
} kc_level;

typedef struct kc_exits {
    kc_module* m;
    kc_function* f;
    kc_frame* frames;
    kc_level* levels;
} kc_exits;

/* ---- building -------------------------------------------------------------------------------- */

kc_expr* kc_negated(kc_module* m, kc_expr* a)
{
    static const uint8_t opposite[][2] = {
        {KC_OP_EQ, KC_OP_NE}, {KC_OP_LT, KC_OP_GE}, {KC_OP_LE, KC_OP_GT}};
    if (a->kind == KC_EX_UNARY && a->u.op == KC_OP_LOGICAL_NOT)
        return a->args[0];
    if (a->kind == KC_EX_CONST)
        return kc_ex_const_bool(m, !a->u.bits);
    if (a->kind == KC_EX_BINARY && a->args[0]->type->kind == KC_TYPE_INT)
        for (size_t i = 0; i < sizeof opposite / sizeof opposite[0]; i++)
            for (int k = 0; k < 2; k++)
                if (a->u.op == (kc_op)opposite[i][k]) {
                    a->u.op = (kc_op)opposite[i][!k];
                    return a;
                }
    return kc_ex_unary(m, KC_OP_LOGICAL_NOT, a);
}

kc_stmt* kc_set_var(kc_module* m, kc_block* b, kc_var* v, kc_expr* value, kc_loc loc)
{
    return kc_st_assign(m, b, kc_ex_var(m, v), value, loc);
}

kc_stmt* kc_put_if(kc_module* m, kc_block* b, kc_expr* condition, kc_loc loc)
{
    kc_stmt* s = kc_stmt_create(m, KC_ST_IF, loc);
    s->value = condition;
    kc_block_append(b, s);
    return s;
}

/* Cuts off the statements after `s`, and gives them. */
static kc_block cut_after(kc_block* b, kc_stmt* s)
{
    kc_block rest = {0};
    if (s->next) {
        rest = (kc_block){s->next, b->last};
        rest.first->prev = NULL;
        s->next = NULL;
        b->last = s;
    }
    return rest;
}

kc_expr* kc_is_one_of(kc_module* m, kc_var* sel, uint32_t count, const uint64_t* values)
{
    if (!count)
        return kc_ex_const_bool(m, false);
    if (count == 1)
        return kc_ex_binary(m, KC_OP_EQ, kc_ex_load_var(m, sel),
                            kc_ex_const_int(m, sel->type, values[0]));
    const uint32_t half = count / 2; /* a tree that is no deeper than it must be */
    return kc_ex_binary(m, KC_OP_LOGICAL_OR, kc_is_one_of(m, sel, half, values),
                        kc_is_one_of(m, sel, count - half, values + half));
}

/* ---- how many BREAKs name a statement: its pass_data ----------------------------------------- */

static uintptr_t breaks_of(const kc_stmt* s)
{
    return (uintptr_t)s->pass_data;
}

static void count_break(const kc_stmt* s, int by)
{
    if (s->kind == KC_ST_BREAK)
        s->target->pass_data = (void*)((uintptr_t)s->target->pass_data + (uintptr_t)(intptr_t)by);
}

static void count_stmt(kc_stmt* s, void* by)
{
    count_break(s, *(const int*)by);
}

static void clear_stmt(kc_stmt* s, void* user)
{
    (void)user;
    s->pass_data = NULL;
}

static void drop(kc_block dropped)
{
    int by = -1;
    kc_block_walk(&dropped, count_stmt, &by);
}

static void drop_after(kc_block* b, kc_stmt* s)
{
    drop(cut_after(b, s));
}

static void remove_stmt(kc_block* b, kc_stmt* s)
{
    count_break(s, -1);
    kc_block_remove(b, s);
}

static void retarget(kc_stmt* s, kc_stmt* target)
{
    count_break(s, -1);
    s->kind = KC_ST_BREAK;
    s->target = target;
    count_break(s, 1);
}

/* ---- BLOCKs that need no BREAK --------------------------------------------------------------- */

static bool ends_by_leaving(const kc_block* b, const kc_stmt* target)
{
    return b->last && b->last->kind == KC_ST_BREAK && b->last->target == target;
}

static void tidy_if(kc_exits* x, kc_block* b, kc_stmt* s)
{
    if (s->body.first)
        return;
    if (!s->orelse.first) {
        kc_block_remove(b, s);
        return;
    }
    s->value = kc_negated(x->m, s->value);
    s->body = s->orelse;
    s->orelse = (kc_block){0};
}

/* `list` is at the end of `target`: what leaves target from the end of an arm does so by itself,
 * once the statements after it are in the other arm. */
static void move_into_elses(kc_exits* x, kc_block* list, kc_stmt* target, int depth)
{
    for (kc_stmt* s = list->first; s; s = s->next) {
        if (kc_is_terminator(s)) {
            drop_after(list, s);
            if (s->kind == KC_ST_BREAK && s->target == target)
                remove_stmt(list, s);
            return;
        }
        if (s->kind == KC_ST_BLOCK && !s->next && !breaks_of(s)) {
            move_into_elses(x, &s->body, target, depth);
            return;
        }
        if (s->kind != KC_ST_IF)
            continue;
        const bool body_leaves = ends_by_leaving(&s->body, target);
        if (s->next) {
            if ((!body_leaves && !ends_by_leaving(&s->orelse, target)) || depth == KC_MAX_ELSES)
                continue;
            kc_block* other = body_leaves ? &s->orelse : &s->body;
            kc_block rest = cut_after(list, s);
            if (other->last && kc_is_terminator(other->last))
                drop(rest);
            else
                kc_block_move(other, &rest);
        }
        move_into_elses(x, &s->body, target, depth + 1);
        move_into_elses(x, &s->orelse, target, depth + 1);
        tidy_if(x, list, s);
        return;
    }
}

/* A BLOCK that is only a scope, and isn't needed as one. */
static bool can_splice(const kc_stmt* s)
{
    if (breaks_of(s))
        return false;
    for (const kc_stmt* c = s->body.first; c && s->next; c = c->next)
        if (c->kind == KC_ST_DECLARE)
            return false;
    return true;
}

/* Puts what is inside a BLOCK in its place; returns the statement before. */
static kc_stmt* splice(kc_block* b, kc_stmt* s)
{
    kc_stmt* before = s->prev;
    for (kc_stmt* c; (c = s->body.first);) {
        kc_block_remove(&s->body, c);
        kc_block_insert_before(b, s, c);
    }
    kc_block_remove(b, s);
    return before;
}

/* ---- exits that cross a statement ------------------------------------------------------------ */

/* Whether control that reaches the end of the statement at `level` does what `e` means. */
static bool is_next_anyway(const kc_level* level, const kc_stmt* at, const kc_stmt* e)
{
    for (; level && level->owner && !at->next; at = level->owner, level = level->outer) {
        const kc_stmt* owner = level->owner;
        for (uint32_t i = 0; i < owner->case_count; i++)
            if (&owner->cases[i].body == level->b && owner->cases[i].falls_through)
                return false;
        if (owner->kind == KC_ST_LOOP)
            return level->is_loop_body && e->kind == KC_ST_CONTINUE && e->target == owner;
        if (e->kind == KC_ST_BREAK && e->target == owner)
            return true;
    }
    return false;
}

static bool is_same_exit(const kc_stmt* a, const kc_stmt* b)
{
    return a->kind == b->kind && a->target == b->target;
}

static void put_after(kc_block* b, kc_stmt* at, kc_stmt* s)
{
    if (at->next)
        kc_block_insert_before(b, at->next, s);
    else
        kc_block_append(b, s);
}

static void declare_before(kc_exits* x, kc_block* b, kc_stmt* at, kc_var* v, kc_expr* value)
{
    kc_stmt* declare = kc_stmt_create(x->m, KC_ST_DECLARE, at->loc);
    declare->var = v;
    declare->value = value;
    kc_block_insert_before(b, at, declare);
}

/* Those exits in the frame that mean the same as the first of them leave the statement; after it,
 * one goes on. */
static void resolve_group(kc_exits* x, kc_frame* frame, bool is_never_passed)
{
    kc_stmt* onward = kc_stmt_create(x->m, frame->first->s->kind, frame->first->s->loc);
    onward->target = frame->first->s->target;
    const kc_level* level = x->levels;
    kc_stmt* at = frame->s;
    const bool needs_onward = !is_next_anyway(level, at, onward);
    while (level->owner && level->owner->kind == KC_ST_BLOCK && !breaks_of(level->owner) &&
           !at->next) { /* out of a mere scope */
        at = level->owner;
        level = level->outer;
    }
    kc_var* flag = NULL;
    if (needs_onward && !is_never_passed) {
        flag = kc_temp_create(x->m, x->f, onward->kind == KC_ST_BREAK ? "leave" : "skip",
                              kc_type_bool(x->m), onward->loc);
        declare_before(x, level->b, at, flag, kc_ex_const_bool(x->m, false));
    }
    for (kc_exit** link = &frame->first; *link;) {
        kc_exit* e = *link;
        if (!is_same_exit(e->s, onward)) {
            link = &e->next;
            continue;
        }
        *link = e->next;
        if (flag) {
            kc_block set = {0};
            kc_stmt* assign = kc_set_var(x->m, &set, flag, kc_ex_const_bool(x->m, true), e->s->loc);
            kc_block_insert_before(e->in, e->s, assign);
        }
        retarget(e->s, frame->s);
    }
    if (!needs_onward)
        return;
    count_break(onward, 1);
    if (!flag) {
        put_after(level->b, at, onward);
        drop_after(level->b, onward);
        return;
    }
    kc_block alone = {0};
    kc_stmt* leave = kc_put_if(x->m, &alone, kc_ex_load_var(x->m, flag), onward->loc);
    kc_block_append(&leave->body, onward);
    put_after(level->b, at, leave);
}

static void resolve(kc_exits* x, kc_frame* frame)
{
    if (!frame->first)
        return;
    bool is_never_passed = frame->s->kind == KC_ST_LOOP && !frame->s->value && !breaks_of(frame->s);
    for (const kc_exit* e = frame->first->next; e; e = e->next)
        is_never_passed &= is_same_exit(e->s, frame->first->s);
    while (frame->first)
        resolve_group(x, frame, is_never_passed);
}

static void visit_exit(kc_exits* x, kc_block* b, kc_stmt* s)
{
    kc_frame* frame = x->frames;
    if (s->kind == KC_ST_CONTINUE) {
        const kc_frame* loop = frame;
        while (loop->s->kind != KC_ST_LOOP)
            loop = loop->outer;
        if (loop->s == s->target)
            return;
    } else if (frame->s == s->target) {
        return;
    }
    kc_exit* e = KC_NEW(x->m->arena, kc_exit);
    e->s = s;
    e->in = b;
    *frame->tail = e;
    frame->tail = &e->next;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void visit_list(kc_exits* x, kc_block* b, kc_stmt* owner, bool is_loop_body);

static void push(kc_exits* x, kc_frame* frame, kc_stmt* s)
{
    *frame = (kc_frame){.s = s, .outer = x->frames};
    frame->tail = &frame->first;
    x->frames = frame;
}

static void pop(kc_exits* x, kc_frame* frame)
{
    x->frames = frame->outer;
    resolve(x, frame);
}

static void mark_inside(kc_stmt* s, void* mark)
{
    if (!kc_is_terminator(s))
        s->has_exit = *(const bool*)mark;
}

static void find_leaving(kc_stmt* s, void* user)
{
    bool* found = user;
    if (s->kind == KC_ST_RETURN)
        *found = true;
    else if (s->kind == KC_ST_BREAK || s->kind == KC_ST_CONTINUE)
        *found |= !s->target->has_exit;
}

/* Whether control leaves the list for a place outside. (has_exit is filled anew by kc_pass_usage.)
 */
static bool leaves(kc_block* b)
{
    bool mark = true, found = false;
    kc_block_walk(b, mark_inside, &mark);
    kc_block_walk(b, find_leaving, &found);
    mark = false;
    kc_block_walk(b, mark_inside, &mark);
    return found;
}

typedef struct kc_retarget {
    const kc_stmt* loop;
    kc_stmt* block;
} kc_retarget;

static void continue_by_break(kc_stmt* s, void* user)
{
    const kc_retarget* r = user;
    if (s->kind == KC_ST_CONTINUE && s->target == r->loop)
        retarget(s, r->block);
}

/* What CONTINUE leads to is a part of the loop's syntax, which nothing may leave: such parts go to
 * the end of the body, and what continued leaves a BLOCK around the rest of it. */
static void open_step(kc_exits* x, kc_stmt* s)
{
    if (!leaves(&s->step) && !(s->test_at_end && leaves(&s->head)))
        return;
    kc_stmt* block = kc_stmt_create(x->m, KC_ST_BLOCK, s->loc);
    kc_block_move(&block->body, &s->body);
    kc_retarget r = {s, block};
    kc_block_walk(&block->body, continue_by_break, &r);
    kc_block_append(&s->body, block);
    kc_block_move(&s->body, &s->step);
    if (!s->test_at_end)
        return;
    kc_block_move(&s->body, &s->head);
    if (s->value) {
        kc_stmt* test = kc_put_if(x->m, &s->body, kc_negated(x->m, s->value), s->loc);
        kc_stmt* leave = kc_stmt_create(x->m, KC_ST_BREAK, s->loc);
        leave->target = s;
        count_break(leave, 1);
        kc_block_append(&test->body, leave);
    }
    s->value = NULL;
    s->test_at_end = false;
}

static void find_return(kc_stmt* s, void* found)
{
    *(bool*)found |= s->kind == KC_ST_RETURN;
}

/* A loop that nothing leaves is an error in languages that look for it: it gets a condition that
 * only we know. */
static void make_leavable(kc_exits* x, kc_block* b, kc_stmt* s)
{
    bool has_return = false;
    if (s->value || breaks_of(s))
        return;
    kc_block_walk(&s->head, find_return, &has_return);
    kc_block_walk(&s->body, find_return, &has_return);
    kc_block_walk(&s->step, find_return, &has_return);
    if (has_return)
        return;
    kc_var* forever = kc_temp_create(x->m, x->f, "forever", kc_type_bool(x->m), s->loc);
    declare_before(x, b, s, forever, kc_ex_const_bool(x->m, true));
    s->value = kc_ex_load_var(x->m, forever);
}

static void visit_loop(kc_exits* x, kc_block* b, kc_stmt* s)
{
    kc_frame frame;
    open_step(x, s);
    push(x, &frame, s);
    if (!s->test_at_end)
        visit_list(x, &s->head, s, false);
    visit_list(x, &s->body, s, true);
    visit_list(x, &s->step, s, false);
    if (s->test_at_end)
        visit_list(x, &s->head, s, false);
    kc_stmt* last = s->body.last;
    if (last && last->kind == KC_ST_CONTINUE && last->target == s)
        kc_block_remove(&s->body, last);
    pop(x, &frame);
    make_leavable(x, b, s);
}

static void visit_switch(kc_exits* x, kc_stmt* s)
{
    kc_frame frame;
    push(x, &frame, s);
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_case* c = &s->cases[i];
        visit_list(x, &c->body, s, false);
        if (ends_by_leaving(&c->body, s)) {
            remove_stmt(&c->body, c->body.last);
            c->falls_through = false;
        }
    }
    pop(x, &frame);
}

/* Returns the last statement that is done with; NULL: none in `b`. */
static kc_stmt* visit_block(kc_exits* x, kc_block* b, kc_stmt* s)
{
    move_into_elses(x, &s->body, s, 0);
    if (can_splice(s))
        return splice(b, s);
    if (!breaks_of(s)) { /* a scope, which nothing has to leave by name */
        visit_list(x, &s->body, s, false);
        return s;
    }
    kc_frame frame;
    push(x, &frame, s);
    visit_list(x, &s->body, s, false);
    pop(x, &frame);
    move_into_elses(x, &s->body, s, 0);
    if (!can_splice(s))
        return s;
    kc_stmt* last = s->body.last;
    kc_stmt* before = splice(b, s);
    return last ? last : before;
}

static void visit_list(kc_exits* x, kc_block* b, kc_stmt* owner, bool is_loop_body)
{
    kc_level level = {b, owner, is_loop_body, x->levels};
    x->levels = &level;
    for (kc_stmt *s = b->first, *done; s; s = done ? done->next : b->first) {
        done = s;
        switch (s->kind) {
        case KC_ST_IF:
            visit_list(x, &s->body, s, false);
            visit_list(x, &s->orelse, s, false);
            break;
        case KC_ST_LOOP: visit_loop(x, b, s); break;
        case KC_ST_SWITCH: visit_switch(x, s); break;
        case KC_ST_BLOCK: done = visit_block(x, b, s); break;
        case KC_ST_BREAK:
        case KC_ST_CONTINUE:
            drop_after(b, s);
            visit_exit(x, b, s);
            break;
        case KC_ST_RETURN: drop_after(b, s); break;
        default: break;
        }
    }
    x->levels = level.outer;
}

void kc_make_exits_plain(kc_module* m, kc_function* f)
{
    kc_exits x = {.m = m, .f = f};
    int by = 1;
    kc_block_walk(&f->body, clear_stmt, NULL);
    kc_block_walk(&f->body, count_stmt, &by);
    visit_list(&x, &f->body, NULL, false);
    kc_block_walk(&f->body, clear_stmt, NULL);
}

/* ---- cases that fall through ----------------------------------------------------------------- */

typedef struct kc_part { /* cases that are entered at the same statement */
    uint32_t value_count;
    uint64_t* values;
    bool is_default;
    kc_block body;
} kc_part;

static bool falls(const kc_stmt* s, uint32_t i)
{
    const kc_case* c = &s->cases[i];
    return i + 1 < s->case_count && c->falls_through &&
           !(c->body.last && kc_is_terminator(c->body.last));
}

static void add_values(kc_module* m, kc_part* p, const kc_case* c)
{
    uint64_t* values = KC_NEW_ARRAY(m->arena, uint64_t, p->value_count + c->value_count + 1);
    if (p->value_count)
        memcpy(values, p->values, sizeof *values * p->value_count);
    if (c->value_count)
        memcpy(values + p->value_count, c->values, sizeof *values * c->value_count);
    p->values = values;
    p->value_count += c->value_count;
    p->is_default |= c->is_default;
}

/* Cases `first` to `last`, each of which goes on in the next, as one: each body runs where the
 * value is its own, or that of a body before. */
static kc_case join_cases(kc_module* m, kc_function* f, kc_stmt* s, kc_var* sel, uint32_t first,
                          uint32_t last)
{
    kc_part* parts = KC_NEW_ARRAY(m->arena, kc_part, last - first + 1);
    uint32_t count = 0;
    kc_part all = {0};
    for (uint32_t i = first; i <= last; i++) {
        add_values(m, &parts[count], &s->cases[i]);
        add_values(m, &all, &s->cases[i]);
        if (!s->cases[i].body.first && i < last)
            continue; /* entered where the next one is */
        parts[count++].body = s->cases[i].body;
    }
    kc_case joined = {
        .value_count = all.value_count, .values = all.values, .is_default = all.is_default};
    kc_var* entered = NULL;
    for (uint32_t i = 0; i + 1 < count; i++) {
        kc_expr* here = kc_is_one_of(m, sel, parts[i].value_count, parts[i].values);
        if (parts[i].is_default) { /* entered later only by the values that stand there */
            kc_part later = {0};
            for (uint32_t k = i + 1; k < count; k++)
                add_values(
                    m, &later,
                    &(kc_case){.value_count = parts[k].value_count, .values = parts[k].values});
            here = kc_is_one_of(m, sel, later.value_count, later.values);
            here = kc_negated(m, here);
        }
        if (count > 2 && !entered) {
            entered = kc_temp_create(m, f, "entered", kc_type_bool(m), s->loc);
            kc_st_declare(m, &joined.body, entered, here, s->loc);
        } else if (entered && parts[i].is_default) {
            kc_set_var(m, &joined.body, entered, here, s->loc);
        } else if (entered) {
            kc_set_var(m, &joined.body, entered,
                       kc_ex_binary(m, KC_OP_LOGICAL_OR, kc_ex_load_var(m, entered), here), s->loc);
        }
        kc_stmt* run =
            kc_put_if(m, &joined.body, entered ? kc_ex_load_var(m, entered) : here, s->loc);
        run->body = parts[i].body;
    }
    kc_block_move(&joined.body, &parts[count - 1].body);
    return joined;
}

typedef struct kc_fallers {
    kc_module* m;
    kc_function* f;
} kc_fallers;

static void end_falls(kc_block* b, void* user);

static void join_falling(const kc_fallers* u, kc_block* b, kc_stmt* s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->case_count; i++)
        any |= falls(s, i);
    if (any) {
        kc_var* sel = kc_temp_create(u->m, u->f, "chosen", s->value->type, s->loc);
        kc_stmt* declare = kc_stmt_create(u->m, KC_ST_DECLARE, s->loc);
        declare->var = sel;
        declare->value = s->value;
        kc_block_insert_before(b, s, declare);
        s->value = kc_ex_load_var(u->m, sel);
        kc_case* cases = KC_NEW_ARRAY(u->m->arena, kc_case, s->case_count);
        uint32_t count = 0;
        for (uint32_t i = 0, last; i < s->case_count; i = last + 1) {
            for (last = i; falls(s, last);)
                last++;
            cases[count++] = last == i ? s->cases[i] : join_cases(u->m, u->f, s, sel, i, last);
        }
        s->cases = cases;
        s->case_count = count;
    }
    for (uint32_t i = 0; i < s->case_count; i++)
        s->cases[i].falls_through = false;
}

static void end_falls(kc_block* b, void* user)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        kc_stmt_walk_blocks(s, end_falls, user);
        if (s->kind == KC_ST_SWITCH)
            join_falling(user, b, s);
    }
}

void kc_end_fall_through(kc_module* m, kc_function* f)
{
    kc_fallers u = {m, f};
    end_falls(&f->body, &u);
}

bool kc_lower_exits(kc_module* m, const kc_target* target)
{
    kc_pass_usage(m);
    for (kc_function* f = m->functions; f; f = f->next) {
        if (!target->has_fall_through)
            kc_end_fall_through(m, f);
        /* kc_lower_barriers does the rest of those that it works on */
        if (!target->has_labels && (target->has_free_barriers || !f->has_barrier || !f->is_kernel))
            kc_make_exits_plain(m, f);
    }
    return true;
}
