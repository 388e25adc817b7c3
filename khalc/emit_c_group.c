/* Kernels with barriers: the group steps through lockstep statements, and between them loops run
 * all work-items through a region. Where work-items part ways around a barrier, a byte for each of
 * them tells who is in a statement. */
#include "emit_c.h"

#include <string.h>

/* The work-items that are in a statement; `number` of them are counted in NAME_count. */
typedef struct kc_mask {
    const char* name;
    kc_stmt* s; /* NULL: the function */
    bool is_iteration;
    const char* empty; /* where the group goes on when nobody is left in it */
    bool empty_used;
    struct kc_mask* outer;
} kc_mask;

static kc_stmt_plan* of(const kc_stmt* s)
{
    return s->pass_data;
}

/* ---- scratch --------------------------------------------------------------------------------- */

typedef struct slot {
    const char* declaration; /* "khal_float* const x" */
    const char* name;
    uint64_t size, align;
    struct slot* next;
} slot;

typedef struct slots {
    kc_emc* em;
    slot *first, **tail;
    uint64_t size;
} slots;

static void add_slot(slots* all, const char* name, const kc_type* t, const char* plain_type)
{
    kc_emc* em = all->em;
    slot* s = KC_NEW(em->m->arena, slot);
    s->name = name;
    if (t && t->kind == KC_TYPE_BOOL) { /* may be read before it is set */
        s->declaration = kc_format(em->m->arena, "khal_uchar* const restrict %s", name);
        s->size = s->align = 1;
    } else if (t) {
        const char* inner = kc_format(
            em->m->arena, t->kind == KC_TYPE_ARRAY ? "(*const restrict %s)" : "*const restrict %s",
            name);
        s->declaration = kc_emc_declare(em, t, inner, false);
        s->size = t->size;
        s->align = t->align ? t->align : 1;
        s->size += s->size ? 0 : 1;
    } else if (plain_type) {
        s->declaration = kc_format(em->m->arena, "%s* const restrict %s", plain_type, name);
        s->size = s->align = strcmp(plain_type, "khal_uchar") == 0 ? 1 : 4;
    }
    all->size += s->size;
    *all->tail = s;
    all->tail = &s->next;
}

static const char* mask_name(kc_emc* em, const kc_stmt* s, bool iteration)
{
    return kc_format(em->m->arena, iteration ? "khal_go_%u" : "khal_in_%u", of(s)->number);
}

static void add_masks(kc_stmt* s, void* user)
{
    slots* all = user;
    const kc_stmt_plan* p = of(s);
    if (!p->lockstep)
        return;
    if (p->mask)
        add_slot(all, mask_name(all->em, s, false), NULL, "khal_uchar");
    if (p->iteration_mask)
        add_slot(all, mask_name(all->em, s, true), NULL, "khal_uchar");
    if (s->kind == KC_ST_SWITCH && !p->uniform)
        add_slot(all, kc_format(all->em->m->arena, "khal_case_%u", p->number), NULL, "khal_uint");
}

/* Larger alignments first: each size is a multiple of its alignment, so that all that follow stay
 * aligned. */
static void put_slots(kc_emc* em, slots* all)
{
    uint64_t at = 0;
    for (uint64_t align = 128; align >= 1; align /= 2)
        for (slot* s = all->first; s; s = s->next) {
            if ((s->align > 128 ? 128 : s->align) != align)
                continue;
            kc_emc_line(em, "%s = (void*)(khal_items + %llu * khal_count);", s->declaration,
                        (unsigned long long)at);
            at += s->size;
        }
}

/* ---- regions --------------------------------------------------------------------------------- */

/* What a region's text uses. */
typedef struct region_uses {
    kc_emc* em;
    kc_fn_info info;
    uint32_t region;
} region_uses;

static void use_again(region_uses* r, kc_expr* e);

static void use_slot(kc_expr** slot_, void* user)
{
    region_uses* r = user;
    const kc_expr* e = *slot_;
    kc_emc_scan_expr(slot_, &r->info);
    if (e->kind != KC_EX_VAR || e->u.var->kind == KC_VAR_CONSTANT)
        return;
    kc_var_plan* p = e->u.var->pass_data;
    if (!p || p->is_marked)
        return;
    p->is_marked = true;
    if (p->home == KC_HOME_AGAIN)
        use_again(r, p->value);
}

static void use_again(region_uses* r, kc_expr* e)
{
    use_slot(&e, r);
    for (uint32_t i = 0; i < e->arg_count; i++)
        use_again(r, e->args[i]);
}

static void use_stmt(kc_stmt* s, void* user)
{
    region_uses* r = user;
    kc_stmt_walk_exprs(s, use_slot, r);
    kc_emc_scan_stmt(s, &r->info);
    kc_var* set = s->result                  ? s->result
                  : s->kind == KC_ST_DECLARE ? s->var
                  : s->place                 ? kc_place_root(s->place)
                                             : NULL;
    if (!set || set->kind == KC_VAR_CONSTANT)
        return;
    kc_var_plan* p = set->pass_data;
    if (p && p->home != KC_HOME_AGAIN)
        p->is_marked = p->is_set = true;
}

static bool needs(const region_uses* r, uint32_t d)
{
    return (r->info.queries >> (3 * KC_QUERY_GLOBAL_ID + d) & 1) ||
           (r->info.queries >> (3 * KC_QUERY_LOCAL_ID + d) & 1);
}

static void open_loop(kc_emc* em, const char* head)
{
    kc_emc_line(em, "%s", head);
    em->indent++;
}

static void put_ids(kc_emc* em, const region_uses* r, uint32_t d, const char* at)
{
    if (!needs(r, d))
        return;
    const char* local = kc_emc_query_name(KC_QUERY_LOCAL_ID, d);
    kc_emc_line(em, "const uint64_t %s = (uint64_t)%s;", local, at);
    if (r->info.queries >> (3 * KC_QUERY_GLOBAL_ID + d) & 1)
        kc_emc_line(em, "const uint64_t %s = khal_b.begin[%u] + %s;",
                    kc_emc_query_name(KC_QUERY_GLOBAL_ID, d), d, local);
}

/* Opens the loops; returns how many braces close them. */
static int open_items(kc_emc* em, const region_uses* r)
{
    const uint32_t* size = em->f->workgroup_size;
    const bool independent =
        !r->info.has_order && !r->info.has_private_memory && !r->info.has_volatile;
    const bool flat =
        size[0] ? size[1] * size[2] == 1 : !needs(r, 0) && !needs(r, 1) && !needs(r, 2);
    int braces = 1;
    if (!flat) {
        static const char* const dims[] = {NULL, "y", "z"};
        for (uint32_t d = 2; d > 0; d--) {
            if (size[0] && size[d] == 1)
                continue;
            open_loop(
                em,
                kc_format(em->m->arena,
                          "for (uint32_t khal_%s = 0; khal_%s < khal_local_size_%s; khal_%s++) {",
                          dims[d], dims[d], dims[d], dims[d]));
            put_ids(em, r, d, kc_format(em->m->arena, "khal_%s", dims[d]));
            braces++;
        }
        const char* y = size[0] && size[1] == 1 ? "0" : "khal_y";
        const char* z = size[0] && size[2] == 1 ? "0" : "khal_z";
        kc_emc_line(
            em,
            "const size_t khal_row = ((size_t)%s * khal_local_size_y + %s) * khal_local_size_x;", z,
            y);
    }
    if (independent)
        kc_emc_line(em, "KHAL_CPU_INDEPENDENT");
    open_loop(em,
              flat ? "for (int32_t khal_x = 0; khal_x < (int32_t)khal_count; khal_x++) {"
                   : "for (int32_t khal_x = 0; khal_x < (int32_t)khal_local_size_x; khal_x++) {");
    kc_emc_line(em, flat ? "const size_t khal_i = (size_t)khal_x;"
                         : "const size_t khal_i = khal_row + (size_t)khal_x;");
    for (uint32_t d = 1; d < 3; d++)
        if (flat || (size[0] && size[d] == 1))
            put_ids(em, r, d, "0");
    put_ids(em, r, 0, "khal_x");
    return braces;
}

static void close_items(kc_emc* em, int braces)
{
    while (braces-- > 0) {
        em->indent--;
        kc_emc_line(em, "}");
    }
}

static void begin_uses(kc_emc* em, region_uses* r, uint32_t region)
{
    *r = (region_uses){.em = em, .region = region};
    for (kc_var_plan* p = em->plan->vars; p; p = p->next)
        p->is_marked = p->is_set = false;
}

/* Variables at the head of a work-item's part: those computed again, and those that several regions
 * have of their own, and copies of those that live across. */
static void put_heads(kc_emc* em)
{
    for (kc_var_plan* p = em->plan->vars; p; p = p->next) {
        if (!p->is_marked || (p->var->kind != KC_VAR_PRIVATE && p->var->kind != KC_VAR_PARAM))
            continue;
        const char* name = kc_emc_var(em, p->var);
        if (p->is_copied)
            kc_emc_line(em, "%s = %s[khal_i];", kc_emc_declare(em, p->var->type, name, !p->is_set),
                        p->array);
        else if (p->home == KC_HOME_AGAIN)
            kc_emc_line(em, "%s = %s;", kc_emc_declare(em, p->var->type, name, true),
                        kc_emc_text(em, p->value));
        else if (p->home == KC_HOME_ITEM && p->in_many)
            kc_emc_line(em, "%s%s;", kc_emc_declare(em, p->var->type, name, false),
                        kc_is_vector(p->var->type)                                  ? " = {0}"
                        : kc_is_scalar(p->var->type) || kc_is_pointer(p->var->type) ? " = 0"
                                                                                    : "");
    }
}

static void put_copies_back(kc_emc* em)
{
    for (kc_var_plan* p = em->plan->vars; p; p = p->next)
        if (p->is_copied && p->is_set)
            kc_emc_line(em, "%s[khal_i] = %s;", p->array, kc_emc_var(em, p->var));
}

static bool has_own_storage(const kc_emc* em)
{
    for (const kc_var_plan* p = em->plan->vars; p; p = p->next)
        if (p->is_marked && p->var->kind == KC_VAR_PRIVATE && p->home == KC_HOME_ITEM &&
            p->in_many && !kc_is_scalar(p->var->type) && !kc_is_vector(p->var->type) &&
            !kc_is_pointer(p->var->type))
            return true;
    return false;
}

static void check_empty(kc_emc* em)
{
    if (!em->masks)
        return;
    kc_emc_line(em, "if (!%s_count)", em->masks->name);
    kc_emc_line(em, "    goto %s;", em->masks->empty);
    em->masks->empty_used = true;
}

/* Whether printing the run would give no code. */
static bool is_empty_run(kc_stmt* first, kc_stmt* end)
{
    for (kc_stmt* s = first; s != end; s = s->next) {
        if (s->kind != KC_ST_DECLARE)
            return false;
        const kc_var_plan* p = s->var->pass_data;
        if (!p->value && s->value)
            return false;
    }
    return true;
}

static void put_region(kc_emc* em, kc_stmt* first, kc_stmt* end)
{
    if (is_empty_run(first, end))
        return;
    region_uses r;
    begin_uses(em, &r, of(first)->region);
    for (kc_stmt* s = first; s != end; s = s->next) {
        kc_stmt* next = s->next;
        kc_block alone = {s, s};
        s->next = NULL;
        kc_block_walk(&alone, use_stmt, &r);
        s->next = next;
    }
    r.info.has_private_memory |= has_own_storage(em);
    kc_emc_own_lines(em);
    const int braces = open_items(em, &r);
    if (em->masks) {
        kc_emc_line(em, "if (!%s[khal_i])", em->masks->name);
        kc_emc_line(em, "    continue;");
    }
    put_heads(em);
    em->in_region = true;
    em->next_item = kc_format(em->m->arena, "khal_next_%u", of(first)->region);
    em->next_item_used = false;
    em->region_exits = false;
    for (kc_stmt* s = first; s != end; s = s->next) {
        kc_emc_stmt(em, s);
        if (kc_is_terminator(s))
            break;
    }
    em->in_region = false;
    if (em->next_item_used)
        kc_emc_line(em, "%s:;", em->next_item);
    put_copies_back(em);
    kc_emc_own_lines(em);
    close_items(em, braces);
    if (em->region_exits)
        check_empty(em);
}

void kc_emc_exit(kc_emc* em, kc_stmt* s)
{
    for (kc_mask* mask = em->masks; mask; mask = mask->outer) {
        kc_emc_line(em, "%s[khal_i] = 0;", mask->name);
        kc_emc_line(em, "%s_count--;", mask->name);
        if (s->kind == KC_ST_RETURN || mask->s != s->target)
            continue;
        if (s->kind == KC_ST_BREAK ? !mask->is_iteration : mask->is_iteration)
            break;
    }
    kc_emc_line(em, "goto %s;", em->next_item);
    em->next_item_used = true;
    em->region_exits = true;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static void push_mask(kc_emc* em, kc_mask* mask, kc_stmt* s, bool is_iteration, const char* empty)
{
    *mask = (kc_mask){.name = mask_name(em, s, is_iteration),
                      .s = s,
                      .is_iteration = is_iteration,
                      .empty = empty,
                      .outer = em->masks};
    em->masks = mask;
}

/* mask[i] = `value` for those who are in `around` (NULL: all), else 0; counts them. `uses` are
 * those of `e`, which may be NULL. */
static void set_mask(kc_emc* em, const char* mask, kc_expr* e, const char* value, uint32_t region)
{
    region_uses r;
    begin_uses(em, &r, region);
    if (e)
        use_again(&r, e);
    kc_emc_own_lines(em);
    kc_emc_line(em, "%s_count = 0;", mask);
    const int braces = open_items(em, &r);
    if (em->masks) {
        kc_emc_line(em, "if (!%s[khal_i]) {", em->masks->name);
        kc_emc_line(em, "    %s[khal_i] = 0;", mask);
        kc_emc_line(em, "    continue;");
        kc_emc_line(em, "}");
    }
    put_heads(em);
    em->in_region = true;
    kc_emc_line(em, "%s[khal_i] = %s;", mask, e ? kc_emc_text(em, e) : value);
    em->in_region = false;
    kc_emc_line(em, "%s_count += %s[khal_i];", mask, mask);
    close_items(em, braces);
}

/* ---- lockstep statements --------------------------------------------------------------------- */

static void lock_block(kc_emc* em, kc_block* b);

static void lock_if(kc_emc* em, kc_stmt* s)
{
    const kc_stmt_plan* p = of(s);
    if (p->uniform) {
        kc_emc_line(em, "if (%s) {", kc_emc_text(em, s->value));
        em->indent++;
        lock_block(em, &s->body);
        em->indent--;
        if (s->orelse.first) {
            kc_emc_line(em, "} else {");
            em->indent++;
            lock_block(em, &s->orelse);
            em->indent--;
        }
        kc_emc_line(em, "}");
    } else {
        const char* name = mask_name(em, s, false);
        for (int part = 0; part < 2; part++) {
            kc_block* b = part ? &s->orelse : &s->body;
            if (part && !b->first)
                break;
            if (part)
                set_mask(em, name, NULL, kc_format(em->m->arena, "!%s[khal_i]", name), p->region);
            else
                set_mask(em, name, s->value, NULL, p->region);
            kc_emc_line(em, "if (%s_count) {", name);
            em->indent++;
            kc_mask mask;
            push_mask(em, &mask, s, false,
                      kc_format(em->m->arena, "khal_%s_%u", part ? "else" : "then", p->number));
            lock_block(em, b);
            em->masks = mask.outer;
            if (mask.empty_used)
                kc_emc_line(em, "%s:;", mask.empty);
            em->indent--;
            kc_emc_line(em, "}");
        }
    }
    if (p->left_early)
        check_empty(em);
}

/* Those who do not go on looping leave. */
static void loop_condition(kc_emc* em, kc_stmt* s)
{
    const kc_stmt_plan* p = of(s);
    if (!s->value)
        return;
    if (p->uniform) {
        const char* cond = kc_emc_text(em, s->value);
        kc_emc_line(em, "if (!(%s))", cond);
        kc_emc_line(em, "    break;");
        return;
    }
    const char* name = mask_name(em, s, false);
    set_mask(em, name, s->value, NULL,
             p->region); /* the loop's own mask is the innermost: who was out stays out */
    kc_emc_line(em, "if (!%s_count)", name);
    kc_emc_line(em, "    break;");
}

static void loop_body(kc_emc* em, kc_stmt* s, kc_scope* scope)
{
    const kc_stmt_plan* p = of(s);
    kc_mask mask;
    kc_emc_line(em, "{");
    em->indent++;
    if (p->iteration_mask) {
        scope->number = p->number;
        set_mask(em, mask_name(em, s, true), NULL, "1", p->region);
        push_mask(em, &mask, s, true, kc_format(em->m->arena, "khal_continue_%u", scope->number));
    }
    lock_block(em, &s->body);
    em->indent--;
    kc_emc_line(em, "}");
    if (p->iteration_mask) {
        em->masks = mask.outer;
        scope->continue_used |= mask.empty_used;
    }
    kc_emc_label(em, "continue", scope, scope->continue_used);
    if (p->iteration_mask || p->mask) /* the step is for those who are still in the loop */
        if (em->masks) {
            kc_emc_line(em, "if (!%s_count)", em->masks->name);
            kc_emc_line(em, "    break;");
        }
    lock_block(em, &s->step);
}

/* Into and out of a lockstep statement that BREAK may name. */
static void enter(kc_emc* em, kc_stmt* s, kc_scope* scope, kc_mask* mask)
{
    const kc_stmt_plan* p = of(s);
    kc_emc_scope_push(em, scope, s);
    scope->number = 1000000 + p->number; /* apart from those of region statements */
    if (p->mask) {
        set_mask(em, mask_name(em, s, false), NULL, "1", p->region);
        push_mask(em, mask, s, false, kc_format(em->m->arena, "khal_break_%u", scope->number));
    }
}

static void leave(kc_emc* em, kc_stmt* s, kc_scope* scope, const kc_mask* mask)
{
    const kc_stmt_plan* p = of(s);
    em->scopes = scope->outer;
    if (p->mask) {
        em->masks = mask->outer;
        scope->break_used |= mask->empty_used;
    }
    kc_emc_label(em, "break", scope, scope->break_used);
    if (p->left_early)
        check_empty(em);
}

static void lock_loop(kc_emc* em, kc_stmt* s)
{
    const kc_stmt_plan* p = of(s);
    kc_scope scope;
    kc_mask mask;
    enter(em, s, &scope, &mask);
    scope.takes_break = scope.is_loop = true;
    kc_text spilled = {0};
    kc_text* out = em->out;
    const char* cond = "";
    const char* step = NULL;
    if (!s->head.first && !s->test_at_end && !p->mask && !p->iteration_mask) {
        em->out = &spilled;
        cond = s->value ? kc_emc_text(em, s->value) : "";
        em->out = out;
        step = kc_emc_step(em, &s->step);
        if (s->step.first && !of(s->step.first)->lockstep)
            step = NULL;
    }
    if (step && !spilled.size) {
        scope.takes_continue = true;
        kc_emc_line(em, "for (; %s; %s) {", cond, step);
        em->indent++;
        lock_block(em, &s->body);
    } else {
        kc_emc_line(em, "for (;;) {");
        em->indent++;
        if (s->test_at_end)
            loop_body(em, s, &scope);
        lock_block(em, &s->head);
        loop_condition(em, s);
        if (!s->test_at_end)
            loop_body(em, s, &scope);
    }
    em->indent--;
    kc_emc_line(em, "}");
    kc_text_free(&spilled);
    leave(em, s, &scope, &mask);
}

static void uniform_switch(kc_emc* em, kc_stmt* s)
{
    kc_emc_line(em, "switch (%s) {", kc_emc_text(em, s->value));
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_case* c = &s->cases[i];
        for (uint32_t k = 0; k < c->value_count; k++)
            kc_emc_line(em, "case %s:", kc_emc_case_value(em, s->value->type, c->values[k]));
        if (c->is_default)
            kc_emc_line(em, "default:");
        kc_emc_line(em, "{");
        em->indent++;
        lock_block(em, &c->body);
        em->indent--;
        kc_emc_line(em, "}");
        if (!c->falls_through)
            kc_emc_line(em, "    break;");
        else if (i + 1 < s->case_count)
            kc_emc_line(em, "    __attribute__((fallthrough));");
    }
    kc_emc_line(em, "}");
}

/* Each work-item's case, as a number, is found once; then the cases run in order, joined by those
 * whose turn it is. */
static void varying_switch(kc_emc* em, kc_stmt* s)
{
    const kc_stmt_plan* p = of(s);
    const char* mask = em->masks->name; /* the switch's own, so far everybody who came here */
    const char* chosen = kc_format(em->m->arena, "khal_case_%u", p->number);
    region_uses r;
    begin_uses(em, &r, p->region);
    use_again(&r, s->value);
    kc_emc_own_lines(em);
    int braces = open_items(em, &r);
    kc_emc_line(em, "%s[khal_i] = UINT32_MAX;", chosen);
    kc_emc_line(em, "if (!%s[khal_i])", mask);
    kc_emc_line(em, "    continue;");
    kc_emc_line(em, "%s[khal_i] = 0;", mask);
    put_heads(em);
    em->in_region = true;
    kc_emc_line(em, "switch (%s) {", kc_emc_text(em, s->value));
    em->in_region = false;
    for (uint32_t i = 0; i < s->case_count; i++) {
        for (uint32_t k = 0; k < s->cases[i].value_count; k++)
            kc_emc_line(em,
                        "case %s:", kc_emc_case_value(em, s->value->type, s->cases[i].values[k]));
        if (s->cases[i].is_default)
            kc_emc_line(em, "default:");
        kc_emc_line(em, "    %s[khal_i] = %u;", chosen, i);
        kc_emc_line(em, "    break;");
    }
    kc_emc_line(em, "}");
    close_items(em, braces);
    kc_emc_line(em, "%s_count = 0;", mask);
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_case* c = &s->cases[i];
        begin_uses(em, &r, p->region);
        braces = open_items(em, &r);
        kc_emc_line(em, "if (%s[khal_i] == %u) {", chosen, i);
        kc_emc_line(em, "    %s[khal_i] = 1;", mask);
        kc_emc_line(em, "    %s_count++;", mask);
        kc_emc_line(em, "}");
        close_items(em, braces);
        kc_emc_line(em, "if (%s_count) {", mask);
        em->indent++;
        em->masks->empty = kc_format(em->m->arena, "khal_case_%u_%u", p->number, i);
        em->masks->empty_used = false;
        lock_block(em, &c->body);
        if (em->masks->empty_used)
            kc_emc_line(em, "%s:;", em->masks->empty);
        em->indent--;
        kc_emc_line(em, "}");
        if (!c->falls_through) {
            kc_emc_line(em, "__builtin_memset(%s, 0, khal_count);", mask);
            kc_emc_line(em, "%s_count = 0;", mask);
        }
    }
    em->masks->empty_used = false;
}

static void lock_switch(kc_emc* em, kc_stmt* s)
{
    const kc_stmt_plan* p = of(s);
    kc_scope scope;
    kc_mask mask;
    enter(em, s, &scope, &mask);
    scope.takes_break = p->uniform;
    if (p->uniform)
        uniform_switch(em, s);
    else
        varying_switch(em, s);
    leave(em, s, &scope, &mask);
}

static void lock_plain_block(kc_emc* em, kc_stmt* s)
{
    kc_scope scope;
    kc_mask mask;
    enter(em, s, &scope, &mask);
    kc_emc_line(em, "{");
    em->indent++;
    lock_block(em, &s->body);
    em->indent--;
    kc_emc_line(em, "}");
    leave(em, s, &scope, &mask);
}

static void lock_stmt(kc_emc* em, kc_stmt* s)
{
    kc_emc_loc(em, s->loc);
    switch (s->kind) {
    case KC_ST_BARRIER: kc_emc_line(em, "/* barrier */"); break;
    case KC_ST_DECLARE:
        kc_emc_line(em, "%s = %s;", kc_emc_var(em, s->var), kc_emc_text(em, s->value));
        break;
    case KC_ST_IF: lock_if(em, s); break;
    case KC_ST_LOOP: lock_loop(em, s); break;
    case KC_ST_SWITCH: lock_switch(em, s); break;
    case KC_ST_BLOCK: lock_plain_block(em, s); break;
    case KC_ST_RETURN:
        kc_emc_line(em, "goto khal_done;");
        em->done_used = true;
        break;
    default: kc_emc_stmt(em, s); break; /* plain jumps, assignments of the group */
    }
}

static void lock_block(kc_emc* em, kc_block* b)
{
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (of(s)->lockstep) {
            lock_stmt(em, s);
            if (kc_is_terminator(s))
                break;
            continue;
        }
        while (next && !of(next)->lockstep)
            next = next->next;
        put_region(em, s, next);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void declare_counts(kc_stmt* s, void* user)
{
    kc_emc* em = user;
    const kc_stmt_plan* p = of(s);
    if (p->lockstep && p->mask)
        kc_emc_line(em, "uint64_t %s_count = 0;", mask_name(em, s, false));
    if (p->lockstep && p->iteration_mask)
        kc_emc_line(em, "uint64_t %s_count = 0;", mask_name(em, s, true));
}

/* Variables that start anew with each group. */
static void begin_group(kc_emc* em, kc_function* f)
{
    for (uint32_t d = 0; d < 3; d++)
        if (em->info->queries >> (3 * KC_QUERY_GROUP_ID + d) & 1)
            kc_emc_line(em, "const uint64_t %s = khal_b.group[%u];",
                        kc_emc_query_name(KC_QUERY_GROUP_ID, d), d);
    for (uint32_t i = 0; i < f->param_count; i++) {
        kc_var* v = f->params[i];
        const kc_var_plan* p = v->pass_data;
        if (p->home == KC_HOME_ARRAY) {
            kc_emc_line(em, "for (size_t khal_i = 0; khal_i < khal_count; khal_i++)");
            kc_emc_line(em, "    %s[khal_i] = khal_arg%u;", p->array, i);
        } else if (p->assign_count) {
            kc_emc_line(em, "%s = khal_arg%u;",
                        kc_emc_declare(em, v->type, kc_emc_var(em, v), false), i);
        }
    }
    for (kc_var_plan* p = em->plan->vars; p; p = p->next) {
        if (p->home != KC_HOME_GROUP || p->var->kind != KC_VAR_PRIVATE)
            continue;
        const char* d = kc_emc_declare(em, p->var->type, kc_emc_var(em, p->var), p->value != NULL);
        if (p->value)
            kc_emc_line(em, "%s = %s;", d, kc_emc_text(em, p->value));
        else
            kc_emc_line(em, "%s = %s;", d, kc_is_vector(p->var->type) ? "{0}" : "0");
    }
}

void kc_emc_group_kernel(kc_emc* em, kc_function* f, const khal_kernel_info* info, kc_text* table)
{
    em->plan = kc_plan_regions(em->m, f);
    em->done_used = false;
    slots all = {.em = em, .first = NULL, .size = 0};
    all.tail = &all.first;
    for (kc_var_plan* p = em->plan->vars; p; p = p->next)
        if (p->home == KC_HOME_ARRAY) {
            p->array =
                kc_emc_unique(em, kc_format(em->m->arena, "%s_items", kc_emc_var(em, p->var)));
            add_slot(&all, p->array, p->var->type, NULL);
        }
    if (em->plan->live_mask)
        add_slot(&all, "khal_live", NULL, "khal_uchar");
    kc_block_walk(&f->body, add_masks, &all);

    kc_putf(em->out,
            "static void KHAL_C_NAME(%s)(const khal_cpu_launch* khal_launch, uint64_t "
            "khal_first, uint64_t khal_last, "
            "void* khal_scratch)\n{\n",
            f->name);
    kc_emc_kernel_params(em, f, info);
    kc_emc_query_constants(em, f, em->info->queries | 7u << (3 * KC_QUERY_LOCAL_SIZE));
    kc_emc_line(em, "const size_t khal_count = (size_t)(khal_local_size_x * khal_local_size_y * "
                    "khal_local_size_z);");
    if (all.first) {
        if (info->local_count)
            kc_emc_line(em, "char* const khal_items = khal_next_local;");
        else
            kc_emc_line(em, "char* const khal_items = (char*)khal_scratch + %llu;",
                        (unsigned long long)kc_emc_local_layout(f, NULL));
        put_slots(em, &all);
    }
    kc_emc_line(em, "khal_cpu_block khal_b = khal_cpu_blocks(khal_first, khal_last);");
    kc_emc_line(em, "while (khal_cpu_next(&khal_b, khal_launch, 1)) {");
    em->indent++;
    begin_group(em, f);
    kc_block_walk(&f->body, declare_counts, em);
    kc_mask live = {.name = "khal_live", .empty = "khal_done"};
    if (em->plan->live_mask) {
        kc_emc_line(em, "uint64_t khal_live_count = khal_count;");
        kc_emc_line(em, "__builtin_memset(khal_live, 1, khal_count);");
        em->masks = &live;
    }
    lock_block(em, &f->body);
    em->masks = NULL;
    kc_emc_own_lines(em);
    if (em->done_used || live.empty_used)
        kc_emc_line(em, "khal_done:;");
    em->indent--;
    kc_emc_line(em, "}");
    kc_put(em->out, "}\n");
    kc_putf(table, "    {KHAL_C_NAME(%s), %llu, %llu},\n", f->name,
            (unsigned long long)kc_emc_local_layout(f, NULL), (unsigned long long)all.size);
    em->plan = NULL;
}
