#include "regions.h"

/* Nodes of an expression that is rather computed again than kept in memory. */
#define AGAIN_COST 24

typedef struct region { /* statements first..last, or one condition */
    kc_stmt *first, *last;
    kc_expr* condition;
} region;

typedef struct plan {
    kc_module* m;
    kc_function* f;
    kc_region_plan* out;
    kc_var_plan** tail;
    uint32_t number;
    bool changed;
    region* regions;
    uint32_t region_count, region_capacity;
} plan;

static kc_stmt_plan* of(const kc_stmt* s)
{
    return s->pass_data;
}

static kc_var_plan* var_plan(plan* p, kc_var* v)
{
    if (v->kind == KC_VAR_CONSTANT)
        return NULL;
    if (!v->pass_data) {
        kc_var_plan* n = KC_NEW(p->m->arena, kc_var_plan);
        n->var = v;
        v->pass_data = n;
        *p->tail = n;
        p->tail = &n->next;
    }
    return v->pass_data;
}

static bool is_held_by_value(const kc_type* t)
{
    return kc_is_scalar(t) || kc_is_vector(t) || kc_is_pointer(t);
}

/* ---- what sets each variable ----------------------------------------------------------------- */

static void add_setting(plan* p, kc_var* v, kc_stmt* s)
{
    kc_var_plan* vp = v ? var_plan(p, v) : NULL;
    if (!vp)
        return;
    kc_setting* n = KC_NEW(p->m->arena, kc_setting);
    n->s = s;
    n->next = vp->settings;
    vp->settings = n;
    vp->assign_count += s->kind != KC_ST_DECLARE;
    for (kc_stmt* a = of(s)->parent; a; a = of(a)->parent)
        vp->in_loop |= a->kind == KC_ST_LOOP && !a->has_barrier;
}

static void number_block(plan* p, kc_block* b, kc_stmt* parent);

typedef struct child {
    plan* p;
    kc_stmt* parent;
} child;

static void number_child(kc_block* b, void* user)
{
    child* c = user;
    number_block(c->p, b, c->parent);
}

static void number_block(plan* p, kc_block* b, kc_stmt* parent)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        kc_stmt_plan* n = KC_NEW(p->m->arena, kc_stmt_plan);
        n->parent = parent;
        n->number = ++p->number;
        s->pass_data = n;
        if (s->kind == KC_ST_DECLARE)
            add_setting(p, s->var, s);
        if (s->result)
            add_setting(p, s->result, s);
        if (s->place)
            add_setting(p, kc_place_root(s->place), s);
        child c = {p, s};
        kc_stmt_walk_blocks(s, number_child, &c);
    }
}

/* ---- variables that are computed again ------------------------------------------------------- */

/* Adds the cost of `e`; false where it may not be computed at another place. */
static bool is_again(const kc_expr* e, uint32_t* cost, bool* uniform)
{
    *cost += 1;
    if (*cost > AGAIN_COST)
        return false;
    switch (e->kind) {
    case KC_EX_CONST:
    case KC_EX_ZERO: return is_held_by_value(e->type);
    case KC_EX_LOAD: {
        if (e->args[0]->kind != KC_EX_VAR)
            return false;
        const kc_var* v = e->args[0]->u.var;
        const kc_var_plan* vp =
            v->kind == KC_VAR_PARAM || v->kind == KC_VAR_PRIVATE ? v->pass_data : NULL;
        if (!vp || !is_held_by_value(v->type))
            return false;
        *uniform &= vp->home == KC_HOME_GROUP;
        return vp->home == KC_HOME_AGAIN || vp->home == KC_HOME_GROUP;
    }
    case KC_EX_ADDRESS:
        return e->args[0]->kind == KC_EX_VAR && (e->args[0]->u.var->kind == KC_VAR_LOCAL ||
                                                 e->args[0]->u.var->kind == KC_VAR_CONSTANT);
    case KC_EX_WORK_ITEM:
        *uniform &= e->u.query != KC_QUERY_LOCAL_ID && e->u.query != KC_QUERY_GLOBAL_ID;
        break;
    case KC_EX_UNARY:
    case KC_EX_BINARY:
    case KC_EX_CONVERT:
    case KC_EX_BITCAST:
    case KC_EX_SPLAT:
    case KC_EX_COMPOSE:
    case KC_EX_SWIZZLE:
    case KC_EX_SELECT:
    case KC_EX_OFFSET:
    case KC_EX_LOCAL_BYTES: break;
    default: return false;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!is_again(e->args[i], cost, uniform))
            return false;
    return true;
}

static void find_again(plan* p)
{
    for (uint32_t i = 0; i < p->f->param_count; i++) {
        kc_var_plan* vp = var_plan(p, p->f->params[i]);
        if (!vp->assign_count && !vp->var->is_address_taken)
            vp->home = KC_HOME_GROUP;
    }
    for (kc_var_plan* vp = p->out->vars; vp; vp = vp->next) {
        if (vp->var->kind != KC_VAR_PRIVATE || vp->var->is_address_taken ||
            !is_held_by_value(vp->var->type))
            continue;
        const kc_stmt* declared = vp->settings ? vp->settings->s : NULL;
        if (!declared || declared->kind != KC_ST_DECLARE || vp->settings->next || !declared->value)
            continue;
        uint32_t cost = 0;
        bool uniform = true;
        if (!is_again(declared->value, &cost, &uniform))
            continue;
        vp->home = uniform ? KC_HOME_GROUP : KC_HOME_AGAIN;
        vp->value = declared->value;
    }
}

/* ---- what the group as a whole can compute --------------------------------------------------- */

/* Whether the value is the same for all work-items of a group and may be computed outside of their
 * loops. */
static bool is_uniform(const kc_expr* e)
{
    if (!e)
        return true;
    switch (e->kind) {
    case KC_EX_VAR: {
        const kc_var* v = e->u.var;
        if (v->kind == KC_VAR_LOCAL || v->kind == KC_VAR_CONSTANT)
            return true;
        const kc_var_plan* vp = v->pass_data;
        return vp && (vp->home == KC_HOME_GROUP || vp->may_be_group);
    }
    case KC_EX_ADDRESS: {
        const kc_var* root = kc_place_root(e->args[0]);
        if (root && root->kind != KC_VAR_LOCAL && root->kind != KC_VAR_CONSTANT)
            return false;
        break;
    }
    case KC_EX_WORK_ITEM:
        if (e->u.query == KC_QUERY_LOCAL_ID || e->u.query == KC_QUERY_GLOBAL_ID)
            return false;
        break;
    default: break;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!is_uniform(e->args[i]))
            return false;
    return true;
}

static bool has_condition(const kc_stmt* s)
{
    return s->kind == KC_ST_IF || s->kind == KC_ST_LOOP || s->kind == KC_ST_SWITCH;
}

static bool is_exit(const kc_stmt* s)
{
    return s->kind == KC_ST_BREAK || s->kind == KC_ST_CONTINUE || s->kind == KC_ST_RETURN;
}

/* Marks (as `mask`) the statements that some work-items may leave before others, as far as
 * conditions tell. */
static void mark_left(kc_stmt* s, void* user)
{
    (void)user;
    if (s->kind != KC_ST_BREAK && s->kind != KC_ST_CONTINUE)
        return;
    for (kc_stmt* a = of(s)->parent; a && a != s->target; a = of(a)->parent)
        if (has_condition(a) && !is_uniform(a->value))
            of(s->target)->mask = true;
}

static void unmark(kc_stmt* s, void* user)
{
    (void)user;
    of(s)->mask = of(s)->iteration_mask = of(s)->left_early = false;
}

static bool setting_is_uniform(const kc_setting* t)
{
    const kc_stmt* s = t->s;
    if (s->kind != KC_ST_DECLARE && s->kind != KC_ST_ASSIGN)
        return false;
    if (!is_uniform(s->value))
        return false;
    if (s->place && s->place->kind != KC_EX_VAR && !is_uniform(s->place))
        return false;
    for (const kc_stmt* a = of(s)->parent; a; a = of(a)->parent)
        if (of(a)->mask || (has_condition(a) && !is_uniform(a->value)))
            return false;
    return true;
}

static void find_group_values(plan* p)
{
    for (kc_var_plan* vp = p->out->vars; vp; vp = vp->next)
        vp->may_be_group = vp->home == KC_HOME_ITEM && !vp->var->is_address_taken &&
                           is_held_by_value(vp->var->type) &&
                           (vp->var->kind == KC_VAR_PRIVATE || vp->var->kind == KC_VAR_PARAM);
    do {
        p->changed = false;
        kc_block_walk(&p->f->body, unmark, NULL);
        kc_block_walk(&p->f->body, mark_left, NULL);
        for (kc_var_plan* vp = p->out->vars; vp; vp = vp->next)
            for (kc_setting* t = vp->settings; t && vp->may_be_group; t = t->next)
                if (!setting_is_uniform(t)) {
                    vp->may_be_group = false;
                    p->changed = true;
                }
    } while (p->changed);
    kc_block_walk(&p->f->body, unmark, NULL);
}

/* ---- which of them it does compute ----------------------------------------------------------- */

/* Calls fn for each variable of the function that `e` reads. */
static void walk_vars(const kc_expr* e, void (*fn)(kc_var_plan* vp, void* user), void* user)
{
    if (!e)
        return;
    if (e->kind == KC_EX_VAR && e->u.var->kind != KC_VAR_CONSTANT && e->u.var->pass_data)
        fn(e->u.var->pass_data, user);
    for (uint32_t i = 0; i < e->arg_count; i++)
        walk_vars(e->args[i], fn, user);
}

static void each_dependency(kc_var_plan* vp, void (*fn)(kc_var_plan* vp, void* user), void* user)
{
    for (kc_setting* t = vp->settings; t; t = t->next) {
        walk_vars(t->s->value, fn, user);
        walk_vars(t->s->place, fn, user);
        for (kc_stmt* a = of(t->s)->parent; a; a = of(a)->parent)
            if (has_condition(a))
                walk_vars(a->value, fn, user);
    }
}

/* The group computes the variable, and all that it is computed from. */
static void make_group(kc_var_plan* vp, void* user)
{
    plan* p = user;
    if (vp->home != KC_HOME_ITEM || !vp->may_be_group)
        return;
    vp->home = KC_HOME_GROUP;
    p->changed = true;
    each_dependency(vp, make_group, p);
}

/* Counts what make_group would turn into lockstep loops for no good. */
static void count_loops(kc_var_plan* vp, void* user)
{
    uint32_t* loops = user;
    if (vp->home != KC_HOME_ITEM || vp->is_marked)
        return;
    vp->is_marked = true;
    *loops += vp->in_loop;
    each_dependency(vp, count_loops, loops);
}

static bool sets_group_value(const kc_stmt* s)
{
    const kc_var* v = s->kind == KC_ST_DECLARE ? s->var : s->place ? kc_place_root(s->place) : NULL;
    const kc_var_plan* vp = v && v->kind != KC_VAR_CONSTANT ? v->pass_data : NULL;
    return vp && vp->home == KC_HOME_GROUP && !vp->value &&
           (s->kind == KC_ST_ASSIGN || (s->kind == KC_ST_DECLARE && s->value));
}

static void find_group_setting(kc_stmt* s, void* user)
{
    *(bool*)user |= sets_group_value(s);
}

static bool contains_group_setting(kc_stmt* s)
{
    bool found = sets_group_value(s);
    kc_block inner = {s, s};
    if (!found && (has_condition(s) || s->kind == KC_ST_BLOCK)) {
        kc_stmt* next = s->next; /* a walk of this statement alone */
        s->next = NULL;
        kc_block_walk(&inner, find_group_setting, &found);
        s->next = next;
    }
    return found;
}

/* ---- lockstep statements and masks ----------------------------------------------------------- */

static void set_flag(plan* p, bool* flag)
{
    p->changed |= !*flag;
    *flag = true;
}

static bool keeps_mask(const kc_stmt* s)
{
    return of(s)->lockstep && (of(s)->mask || of(s)->iteration_mask);
}

/* An exit that work-items take one by one: every statement around it up to its target keeps count
 * of them. */
static void leave_one_by_one(plan* p, kc_stmt* s)
{
    for (kc_stmt* a = of(s)->parent; a; a = of(a)->parent) {
        if (s->kind != KC_ST_RETURN && a == s->target) {
            if (!of(a)->lockstep) /* all inside one work-item's own loop */
                return;
            set_flag(p, s->kind == KC_ST_CONTINUE ? &of(a)->iteration_mask : &of(a)->mask);
            return;
        }
        if (of(a)->lockstep)
            set_flag(p, &of(a)->left_early);
    }
    set_flag(p, &p->out->live_mask);
}

static void leave_from_region(kc_stmt* s, void* user)
{
    if (is_exit(s))
        leave_one_by_one(user, s);
}

/* All that are at the exit take it together, and nobody else waits for them on the way. */
static bool is_plain_exit(const kc_stmt* s)
{
    for (const kc_stmt* a = of(s)->parent; a; a = of(a)->parent) {
        if (s->kind != KC_ST_RETURN && a == s->target) {
            const bool has_others = /* whose case is still to come */
                a->kind == KC_ST_SWITCH && !of(a)->uniform;
            return s->kind == KC_ST_CONTINUE || !(of(a)->iteration_mask || has_others);
        }
        if (keeps_mask(a))
            return false;
    }
    return true;
}

static bool is_lockstep(kc_stmt* s)
{
    if (s->kind == KC_ST_BARRIER || s->has_barrier)
        return true;
    if (is_exit(s))
        return is_plain_exit(s);
    if (contains_group_setting(s))
        return true;
    if (!s->has_exit && !s->has_return)
        return false;
    return s->kind == KC_ST_BLOCK || (s->kind == KC_ST_IF && is_uniform(s->value));
}

static void lock_block(plan* p, kc_block* b);

static void lock_child(kc_block* b, void* user)
{
    lock_block(user, b);
}

static void lock_block(plan* p, kc_block* b)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        kc_stmt_plan* sp = of(s);
        sp->lockstep = is_lockstep(s);
        if (!sp->lockstep) {
            kc_stmt* next = s->next;
            kc_block alone = {s, s};
            s->next = NULL;
            kc_block_walk(&alone, leave_from_region, p);
            s->next = next;
            continue;
        }
        if (has_condition(s)) {
            sp->uniform = is_uniform(s->value);
            if (sp->uniform)
                walk_vars(s->value, make_group, p);
            else
                set_flag(p, &sp->mask);
        }
        kc_stmt_walk_blocks(s, lock_child, p);
    }
}

static void clear_lockstep(kc_stmt* s, void* user)
{
    (void)user;
    of(s)->lockstep = of(s)->uniform = false;
    unmark(s, NULL);
}

static void find_lockstep(plan* p)
{
    uint32_t groups = 0, before;
    do {
        before = groups;
        kc_block_walk(&p->f->body, clear_lockstep, NULL);
        p->out->live_mask = false;
        do {
            p->changed = false;
            lock_block(p, &p->f->body);
        } while (p->changed);
        groups = 0;
        for (kc_var_plan* vp = p->out->vars; vp; vp = vp->next)
            groups += vp->home == KC_HOME_GROUP;
    } while (groups != before);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void use(kc_var_plan* vp, void* user)
{
    const uint32_t r = *(const uint32_t*)user;
    vp->in_many |= vp->region && vp->region != r;
    vp->region = r;
}

static void use_expr(kc_expr** slot, void* user)
{
    const kc_expr* e = *slot;
    if (e->kind == KC_EX_VAR && e->u.var->kind != KC_VAR_CONSTANT && e->u.var->pass_data)
        use(e->u.var->pass_data, user);
}

static void use_stmt(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, use_expr, user);
    if (s->kind == KC_ST_DECLARE)
        use(s->var->pass_data, user);
    if (s->result)
        use(s->result->pass_data, user);
}

static uint32_t add_region(plan* p, kc_stmt* first, kc_stmt* last, kc_expr* condition)
{
    if (p->region_count == p->region_capacity) {
        const uint32_t capacity = p->region_capacity ? p->region_capacity * 2 : 32;
        region* more = KC_NEW_ARRAY(p->m->arena, region, capacity);
        for (uint32_t i = 0; i < p->region_count; i++)
            more[i] = p->regions[i];
        p->regions = more;
        p->region_capacity = capacity;
    }
    p->regions[p->region_count] = (region){first, last, condition};
    return ++p->region_count;
}

static void cut_block(plan* p, kc_block* b);

static void cut_child(kc_block* b, void* user)
{
    cut_block(user, b);
}

static void cut_block(plan* p, kc_block* b)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        if (of(s)->lockstep) {
            if (has_condition(s) && !of(s)->uniform) {
                uint32_t r = add_region(p, NULL, NULL, s->value);
                of(s)->region = r;
                walk_vars(s->value, use, &r);
            }
            kc_stmt_walk_blocks(s, cut_child, p);
            continue;
        }
        kc_stmt* last = s;
        while (last->next && !of(last->next)->lockstep)
            last = last->next;
        uint32_t r = add_region(p, s, last, NULL);
        kc_stmt* next = last->next;
        kc_block run = {s, last};
        last->next = NULL;
        kc_block_walk(&run, use_stmt, &r);
        last->next = next;
        for (kc_stmt* k = s; k != next; k = k->next)
            of(k)->region = r;
        s = last;
    }
}

static void cut(plan* p)
{
    for (kc_var_plan* vp = p->out->vars; vp; vp = vp->next) {
        vp->in_many = false;
        vp->region = 0;
    }
    p->region_count = 0;
    cut_block(p, &p->f->body);
}

/* ---- does a region need the value that another one left? ------------------------------------- */

typedef enum flow { FLOW_NONE, FLOW_SET, FLOW_NEEDED } flow;

static flow flow_of_run(const kc_stmt* first, const kc_stmt* end, const kc_var* v);

static flow flow_of_block(const kc_block* b, const kc_var* v)
{
    return flow_of_run(b->first, NULL, v);
}

static bool has_exits(const kc_block* b)
{
    for (const kc_stmt* s = b->first; s; s = s->next)
        if (s->has_exit || is_exit(s))
            return true;
    return false;
}

static flow flow_of_stmt(const kc_stmt* s, const kc_var* v)
{
    if (kc_ex_names(s->value, v))
        return FLOW_NEEDED;
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (kc_ex_names(s->args[i], v))
            return FLOW_NEEDED;
    flow a, b;
    switch (s->kind) {
    case KC_ST_DECLARE: return s->var == v ? FLOW_SET : FLOW_NONE;
    case KC_ST_ASSIGN:
        if (s->place->kind == KC_EX_VAR)
            return s->place->u.var == v ? FLOW_SET : FLOW_NONE;
        return kc_ex_names(s->place, v) ? FLOW_NEEDED : FLOW_NONE;
    case KC_ST_CALL:
    case KC_ST_ATOMIC:
        if (kc_ex_names(s->place, v))
            return FLOW_NEEDED;
        return s->result == v ? FLOW_SET : FLOW_NONE;
    case KC_ST_IF:
        a = flow_of_block(&s->body, v);
        b = flow_of_block(&s->orelse, v);
        if (a == FLOW_NEEDED || b == FLOW_NEEDED)
            return FLOW_NEEDED;
        return a == FLOW_SET && b == FLOW_SET ? FLOW_SET : FLOW_NONE;
    case KC_ST_LOOP:
        a = flow_of_block(&s->head, v);
        if (a != FLOW_NONE)
            return s->test_at_end && a == FLOW_SET ? FLOW_NONE : a;
        a = flow_of_block(&s->body, v);
        if (a == FLOW_NEEDED)
            return a;
        b = flow_of_block(&s->step, v);
        return b == FLOW_NEEDED && (a == FLOW_NONE || has_exits(&s->body))
                   ? b
                   : FLOW_NONE; /* CONTINUE goes there too */
    case KC_ST_SWITCH:
        for (uint32_t i = 0; i < s->case_count; i++)
            if (flow_of_block(&s->cases[i].body, v) == FLOW_NEEDED)
                return FLOW_NEEDED;
        return FLOW_NONE;
    case KC_ST_BLOCK:
        a = flow_of_block(&s->body, v);
        return a == FLOW_SET && has_exits(&s->body) ? FLOW_NONE
                                                    : a; /* may have jumped over what sets it */
    default: return FLOW_NONE;
    }
}

static flow flow_of_run(const kc_stmt* first, const kc_stmt* end, const kc_var* v)
{
    for (const kc_stmt* s = first; s != end; s = s->next) {
        const flow f = flow_of_stmt(s, v);
        if (f != FLOW_NONE)
            return f;
    }
    return FLOW_NONE;
}

static bool lives_across(const plan* p, const kc_var* v)
{
    for (uint32_t i = 0; i < p->region_count; i++) {
        const region* r = &p->regions[i];
        if (r->condition ? kc_ex_names(r->condition, v)
                         : flow_of_run(r->first, r->last->next, v) == FLOW_NEEDED)
            return true;
    }
    return false;
}

/* ---- all together ---------------------------------------------------------------------------- */

kc_region_plan* kc_plan_regions(kc_module* m, kc_function* kernel)
{
    plan p = {.m = m, .f = kernel, .out = KC_NEW(m->arena, kc_region_plan)};
    p.tail = &p.out->vars;
    for (uint32_t i = 0; i < kernel->param_count; i++)
        var_plan(&p, kernel->params[i]);
    number_block(&p, &kernel->body, NULL);
    find_again(&p);
    find_group_values(&p);
    for (bool again = true; again;) {
        find_lockstep(&p);
        cut(&p);
        again = false;
        for (kc_var_plan* vp = p.out->vars; vp; vp = vp->next) {
            if (!vp->in_many || vp->home != KC_HOME_ITEM || !vp->may_be_group)
                continue;
            for (kc_var_plan* k = p.out->vars; k; k = k->next)
                k->is_marked = false;
            uint32_t loops = 0;
            count_loops(vp, &loops);
            if (loops)
                continue;
            make_group(vp, &p);
            again = true;
        }
    }
    for (kc_var_plan* vp = p.out->vars; vp; vp = vp->next) {
        if (vp->home != KC_HOME_ITEM || vp->var->kind == KC_VAR_LOCAL)
            continue;
        if (vp->var->is_address_taken || vp->var->kind == KC_VAR_PARAM ||
            (vp->in_many && lives_across(&p, vp->var)))
            vp->home = KC_HOME_ARRAY;
        vp->is_copied = vp->home == KC_HOME_ARRAY && !vp->var->is_address_taken &&
                        is_held_by_value(vp->var->type);
    }
    return p.out;
}
