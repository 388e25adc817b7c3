/* Which values and which control flow are the same for all work-items of a group. docs/ir.md
 * explains the rules; in short:
 *
 * A *frame* is a statement that control can be inside of. Its level says how far the work-items
 * that are inside its enclosing frames may differ in running what stands inside: by its condition,
 * and by exits to its end that some took and others did not. A variable that is assigned in frames
 * inside of its own scope takes on their level, because after them some work-items have the new
 * value and others the old one. Frames around its scope don't matter: who is not in them doesn't
 * see the variable.
 *
 * All levels only rise, and the whole module is walked again until none does. */
#include <string.h>

#include "ir.h"

enum { KC_LEVELS = KC_UNIFORM_VARYING + 1, KC_NO_FRAME = -1 };

/* What is known of a loop from the walks before: what leaves late counts from the second turn on.
 */
typedef struct kc_loop_facts {
    kc_uniformity level;  /* of the loop itself: its condition, and BREAKs of it */
    int outer[KC_LEVELS]; /* innermost frame around the loop that something inside exits to at that
                             level */
} kc_loop_facts;

typedef struct kc_frame {
    kc_stmt* stmt; /* NULL for the function */
    bool is_body;  /* of a loop: where CONTINUE goes to the end of */
    kc_uniformity level;
} kc_frame;

typedef struct kc_function_facts {
    kc_uniformity entry;  /* control, joined over the calls */
    kc_uniformity result; /* of the returned value */
    bool is_called;
} kc_function_facts;

typedef struct kc_uniform {
    kc_module* m;
    kc_function* f;
    kc_function_facts* facts; /* of f */
    kc_frame* frames;
    int frame_count, frame_capacity;
    int deepest[KC_LEVELS]; /* innermost frame of at least that level */
    bool changed;
} kc_uniform;

static void walk_block(kc_uniform* u, kc_block* b);

static kc_uniformity join(kc_uniformity a, kc_uniformity b)
{
    return a > b ? a : b;
}

static void raise_level(kc_uniform* u, kc_uniformity* level, kc_uniformity to)
{
    if (*level < to) {
        *level = to;
        u->changed = true;
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void raise_frame(kc_uniform* u, int frame, kc_uniformity level)
{
    kc_frame* f = &u->frames[frame];
    f->level = join(f->level, level);
    for (int l = KC_UNIFORM_DISPATCH; l <= (int)f->level; l++)
        if (u->deepest[l] < frame)
            u->deepest[l] = frame;
}

static void push_frame(kc_uniform* u, kc_stmt* stmt, bool is_body, kc_uniformity level)
{
    if (u->frame_count == u->frame_capacity) {
        const int capacity = u->frame_capacity ? u->frame_capacity * 2 : 64;
        kc_frame* frames = KC_NEW_ARRAY(u->m->arena, kc_frame, capacity);
        if (u->frame_count)
            memcpy(frames, u->frames, sizeof frames[0] * (size_t)u->frame_count);
        u->frames = frames;
        u->frame_capacity = capacity;
    }
    u->frames[u->frame_count++] = (kc_frame){stmt, is_body, KC_UNIFORM_CONSTANT};
    raise_frame(u, u->frame_count - 1, level);
}

static void pop_frame(kc_uniform* u)
{
    u->frame_count--;
    for (int l = KC_UNIFORM_DISPATCH; l < KC_LEVELS; l++)
        while (u->deepest[l] >= u->frame_count ||
               (u->deepest[l] >= 0 && (int)u->frames[u->deepest[l]].level < l))
            u->deepest[l]--;
}

/* How far work-items that are all inside `frame` may differ in being here. */
static kc_uniformity level_inside(const kc_uniform* u, int frame)
{
    for (int l = KC_UNIFORM_VARYING; l > KC_UNIFORM_CONSTANT; l--)
        if (u->deepest[l] > frame)
            return (kc_uniformity)l;
    return KC_UNIFORM_CONSTANT;
}

static kc_uniformity control_here(const kc_uniform* u)
{
    return join(u->facts->entry, level_inside(u, KC_NO_FRAME));
}

/* Control leaves to the end of `frame` (the loop's next turn, where that is a loop's body). */
static void exit_to(kc_uniform* u, int frame)
{
    const kc_uniformity level = level_inside(u, frame);
    if (level == KC_UNIFORM_CONSTANT)
        return; /* all who are in the frame leave, so that the rest of it is not run by some alone
                 */
    for (int i = u->frame_count - 1; i > frame; i--) {
        kc_frame* f = &u->frames[i];
        if (!f->stmt || f->stmt->kind != KC_ST_LOOP || f->is_body)
            continue;
        kc_loop_facts* facts = f->stmt->pass_data;
        for (int l = KC_UNIFORM_DISPATCH; l <= (int)level; l++)
            if (facts->outer[l] < frame) {
                facts->outer[l] = frame;
                u->changed = true;
            }
    }
    kc_frame* target = &u->frames[frame];
    if (target->stmt && target->stmt->kind == KC_ST_LOOP && !target->is_body)
        raise_level(u, &((kc_loop_facts*)target->stmt->pass_data)->level, level);
    raise_frame(u, frame, level);
}

static int find_frame(const kc_uniform* u, const kc_stmt* stmt, bool is_body)
{
    int i = u->frame_count - 1;
    while (i > 0 && (u->frames[i].stmt != stmt || u->frames[i].is_body != is_body))
        i--;
    return i;
}

/* ---- values ---------------------------------------------------------------------------------- */

static kc_uniformity value_of(kc_uniform* u, const kc_expr* e);

/* A constant dimension, or -1. */
static int known_dimension(const kc_expr* e)
{
    const kc_expr* d = e->arg_count ? e->args[0] : NULL;
    if (d && d->kind == KC_EX_ZERO)
        return 0;
    return d && d->kind == KC_EX_CONST && d->u.bits < 3 ? (int)d->u.bits : -1;
}

static kc_uniformity query_of(kc_uniform* u, const kc_expr* e)
{
    const int d = known_dimension(e);
    const uint32_t required = d >= 0 && u->f->is_kernel ? u->f->workgroup_size[d] : 0;
    const kc_uniformity of_dimension = e->arg_count ? value_of(u, e->args[0]) : KC_UNIFORM_CONSTANT;
    switch (e->u.query) {
    case KC_QUERY_LOCAL_SIZE:
        return required ? KC_UNIFORM_CONSTANT : join(KC_UNIFORM_DISPATCH, of_dimension);
    case KC_QUERY_LOCAL_ID: return required == 1 ? KC_UNIFORM_CONSTANT : KC_UNIFORM_VARYING;
    case KC_QUERY_GLOBAL_ID: return required == 1 ? KC_UNIFORM_GROUP : KC_UNIFORM_VARYING;
    case KC_QUERY_GROUP_ID: return join(KC_UNIFORM_GROUP, of_dimension);
    default: return join(KC_UNIFORM_DISPATCH, of_dimension);
    }
}

/* Memory that nobody writes while the kernel runs: __constant, and what `restrict` promises. */
static bool is_read_only_buffer(const kc_var* buffer)
{
    const kc_type* t = buffer->param ? buffer->param->type : NULL;
    return !t || t->space == KC_SPACE_CONSTANT ||
           (t->is_restrict && t->is_const && !buffer->is_written && !buffer->is_atomic);
}

static bool is_read_only(kc_uniform* u, const kc_expr* pointer)
{
    if (pointer->type->space == KC_SPACE_CONSTANT)
        return true;
    if (pointer->type->space != KC_SPACE_GLOBAL)
        return false;
    const kc_origin origin = kc_expr_origin(u->m, pointer);
    if (origin.is_unknown || origin.count != 1)
        return false;
    const kc_var* root = origin.roots[0];
    return root->kind == KC_VAR_PARAM && kc_is_pointer(root->type) && root->type->is_restrict &&
           root->type->is_const && !root->is_written;
}

/* How what indexes a place varies; `base` is the VAR or DEREF that it starts from. */
static kc_uniformity indexes_of(kc_uniform* u, const kc_expr* place, const kc_expr** base)
{
    kc_uniformity level = KC_UNIFORM_CONSTANT;
    for (; place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF; place = place->args[0])
        if (place->kind == KC_EX_INDEX)
            level = join(level, value_of(u, place->args[1]));
    *base = place;
    return level;
}

static kc_uniformity address_of(kc_uniform* u, const kc_expr* place)
{
    const kc_expr* base;
    const kc_uniformity indexes = indexes_of(u, place, &base);
    if (base->kind == KC_EX_DEREF)
        return join(indexes, value_of(u, base->args[0]));
    switch (base->u.var->kind) {
    case KC_VAR_CONSTANT:
    case KC_VAR_BUFFER: return join(indexes, KC_UNIFORM_DISPATCH);
    case KC_VAR_LOCAL: return join(indexes, KC_UNIFORM_GROUP);
    default: return KC_UNIFORM_VARYING; /* each work-item has its own */
    }
}

static kc_uniformity load_of(kc_uniform* u, const kc_expr* place)
{
    const kc_expr* base;
    const kc_uniformity indexes = indexes_of(u, place, &base);
    if (base->kind == KC_EX_DEREF)
        return is_read_only(u, base->args[0]) ? join(indexes, value_of(u, base->args[0]))
                                              : KC_UNIFORM_VARYING;
    switch (base->u.var->kind) {
    case KC_VAR_CONSTANT: return indexes;
    case KC_VAR_BUFFER:
        return is_read_only_buffer(base->u.var) ? join(indexes, KC_UNIFORM_DISPATCH)
                                                : KC_UNIFORM_VARYING;
    case KC_VAR_LOCAL:
        return KC_UNIFORM_VARYING; /* another work-item may write between two reads */
    default: return join(indexes, base->u.var->uniformity);
    }
}

static kc_uniformity value_of(kc_uniform* u, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_LOAD: return load_of(u, e->args[0]);
    case KC_EX_ADDRESS: return address_of(u, e->args[0]);
    case KC_EX_WORK_ITEM: return query_of(u, e);
    case KC_EX_LOCAL_BYTES:
    case KC_EX_SLICE_OFFSET: return KC_UNIFORM_DISPATCH;
    default: break;
    }
    kc_uniformity level = KC_UNIFORM_CONSTANT;
    for (uint32_t i = 0; i < e->arg_count; i++)
        level = join(level, value_of(u, e->args[i]));
    return level;
}

/* ---- statements ------------------------------------------------------------------------------ */

static int scope_frame(const kc_var* v)
{
    return v->kind == KC_VAR_PARAM ? 0 : (int)(intptr_t)v->pass_data;
}

static void assign_var(kc_uniform* u, kc_var* v, kc_uniformity value)
{
    if (v->kind == KC_VAR_PARAM || v->kind == KC_VAR_PRIVATE)
        raise_level(u, &v->uniformity, join(value, level_inside(u, scope_frame(v))));
}

static void walk_assign(kc_uniform* u, const kc_stmt* s)
{
    const kc_expr* base;
    const kc_uniformity indexes = indexes_of(u, s->place, &base);
    if (base->kind == KC_EX_VAR)
        assign_var(u, base->u.var, join(indexes, value_of(u, s->value)));
}

static void walk_call(kc_uniform* u, const kc_stmt* s)
{
    kc_function_facts* callee = s->callee->pass_data;
    if (!callee->is_called) {
        callee->is_called = true;
        u->changed = true;
    }
    raise_level(u, &callee->entry, control_here(u));
    for (uint32_t i = 0; i < s->arg_count; i++)
        raise_level(u, &s->callee->params[i]->uniformity, value_of(u, s->args[i]));
    if (s->result)
        assign_var(u, s->result, callee->result);
}

static void walk_loop(kc_uniform* u, kc_stmt* s)
{
    if (!s->pass_data) {
        kc_loop_facts* fresh = KC_NEW(u->m->arena, kc_loop_facts);
        for (int l = 0; l < KC_LEVELS; l++)
            fresh->outer[l] = KC_NO_FRAME;
        s->pass_data = fresh;
    }
    kc_loop_facts* facts = s->pass_data;
    for (int l = KC_UNIFORM_DISPATCH; l < KC_LEVELS; l++)
        if (facts->outer[l] != KC_NO_FRAME)
            raise_frame(u, facts->outer[l], (kc_uniformity)l);
    push_frame(u, s, false, facts->level);
    if (!s->test_at_end)
        walk_block(u, &s->head);
    if (s->value && !s->test_at_end)
        raise_level(u, &facts->level, value_of(u, s->value));
    raise_frame(u, u->frame_count - 1, facts->level);
    push_frame(u, s, true, KC_UNIFORM_CONSTANT);
    walk_block(u, &s->body);
    pop_frame(u);
    walk_block(u, &s->step);
    if (s->test_at_end)
        walk_block(u, &s->head);
    if (s->value && s->test_at_end)
        raise_level(u, &facts->level, value_of(u, s->value));
    pop_frame(u);
}

static void walk_return(kc_uniform* u, const kc_stmt* s)
{
    if (s->value)
        raise_level(u, &u->facts->result,
                    join(value_of(u, s->value), level_inside(u, KC_NO_FRAME)));
    if (!u->f->is_kernel) /* the caller goes on with those that are still in here */
        exit_to(u, 0);
}

static void walk_stmt(kc_uniform* u, kc_stmt* s)
{
    s->control = control_here(u);
    switch (s->kind) {
    case KC_ST_DECLARE:
        s->var->pass_data = (void*)(intptr_t)(u->frame_count - 1);
        if (s->value)
            assign_var(u, s->var, value_of(u, s->value));
        break;
    case KC_ST_ASSIGN: walk_assign(u, s); break;
    case KC_ST_CALL: walk_call(u, s); break;
    case KC_ST_ATOMIC:
        if (s->result)
            assign_var(u, s->result, KC_UNIFORM_VARYING);
        break;
    case KC_ST_BROADCAST: assign_var(u, s->result, KC_UNIFORM_GROUP); break;
    case KC_ST_IF:
        push_frame(u, s, false, value_of(u, s->value));
        walk_block(u, &s->body);
        walk_block(u, &s->orelse);
        pop_frame(u);
        break;
    case KC_ST_LOOP: walk_loop(u, s); break;
    case KC_ST_SWITCH:
        push_frame(u, s, false, value_of(u, s->value));
        for (uint32_t i = 0; i < s->case_count; i++)
            walk_block(u, &s->cases[i].body);
        pop_frame(u);
        break;
    case KC_ST_BLOCK:
        push_frame(u, s, false, KC_UNIFORM_CONSTANT);
        walk_block(u, &s->body);
        pop_frame(u);
        break;
    case KC_ST_BREAK: exit_to(u, find_frame(u, s->target, false)); break;
    case KC_ST_CONTINUE: exit_to(u, find_frame(u, s->target, true)); break;
    case KC_ST_RETURN: walk_return(u, s); break;
    case KC_ST_BARRIER:
    case KC_ST_FENCE:
    case KC_ST_PRINTF: break;
    }
}

static void walk_block(kc_uniform* u, kc_block* b)
{
    for (kc_stmt* s = b->first; s; s = s->next)
        walk_stmt(u, s);
}

/* ---- functions and modules ------------------------------------------------------------------- */

static void walk_function(kc_uniform* u, kc_function* f)
{
    u->f = f;
    u->facts = f->pass_data;
    u->frame_count = 0;
    for (int l = 0; l < KC_LEVELS; l++)
        u->deepest[l] = KC_NO_FRAME;
    push_frame(u, NULL, false, KC_UNIFORM_CONSTANT);
    walk_block(u, &f->body);
}

static void start_stmt(kc_stmt* s, void* user)
{
    (void)user;
    s->pass_data = NULL;
    if (s->kind == KC_ST_DECLARE)
        s->var->uniformity = s->var->is_address_taken ? KC_UNIFORM_VARYING : KC_UNIFORM_CONSTANT;
}

static void finish_stmt(kc_stmt* s, void* user)
{
    (void)user;
    s->pass_data = NULL;
    if (s->kind == KC_ST_DECLARE)
        s->var->pass_data = NULL;
}

static void start_function(kc_module* m, kc_function* f)
{
    f->pass_data = KC_NEW(m->arena, kc_function_facts);
    for (uint32_t i = 0; i < f->param_count; i++) {
        kc_var* p = f->params[i];
        const bool is_local = kc_is_pointer(p->type) && p->type->space == KC_SPACE_LOCAL;
        p->uniformity = p->is_address_taken ? KC_UNIFORM_VARYING
                        : !f->is_kernel     ? KC_UNIFORM_CONSTANT
                        : is_local          ? KC_UNIFORM_GROUP
                                            : KC_UNIFORM_DISPATCH;
    }
    for (uint32_t i = 0; i < f->local_count; i++)
        f->locals[i]->uniformity = KC_UNIFORM_VARYING;
    for (uint32_t i = 0; i < f->buffer_count; i++)
        f->buffers[i]->uniformity = KC_UNIFORM_VARYING;
    if (f->push)
        f->push->uniformity = KC_UNIFORM_DISPATCH;
    kc_block_walk(&f->body, start_stmt, NULL);
}

/* Of a helper that nothing calls, nothing is known. */
static void assume_called(kc_uniform* u, kc_function* f)
{
    kc_function_facts* facts = f->pass_data;
    if (f->is_kernel || facts->is_called)
        return;
    raise_level(u, &facts->entry, KC_UNIFORM_VARYING);
    for (uint32_t i = 0; i < f->param_count; i++)
        raise_level(u, &f->params[i]->uniformity, KC_UNIFORM_VARYING);
}

void kc_pass_uniformity(kc_module* m)
{
    kc_pass_origins(m);
    kc_pass_usage(m);
    uint32_t count = 0;
    for (kc_function* f = m->functions; f; f = f->next, count++)
        start_function(m, f);
    uint32_t left = count;
    kc_function** order = KC_NEW_ARRAY(m->arena, kc_function*, count);
    for (kc_function* f = m->functions; f; f = f->next)
        order[--left] = f; /* callers first */
    kc_uniform u = {.m = m, .changed = true};
    while (u.changed) {
        u.changed = false;
        for (uint32_t i = 0; i < count; i++) {
            assume_called(&u, order[i]);
            walk_function(&u, order[i]);
        }
    }
    for (kc_function* f = m->functions; f; f = f->next) {
        kc_block_walk(&f->body, finish_stmt, NULL);
        f->pass_data = NULL;
    }
    for (uint32_t i = 0; i < m->constant_count; i++)
        m->constants[i]->uniformity = KC_UNIFORM_CONSTANT;
    m->has_uniformity = true;
}
