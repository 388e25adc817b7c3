/* The second step of kc_lower_pointers: `struct { __global float* p; int n; } s` becomes s_p and
 * s_n, so that what each pointer points into is known by itself. One level of records at a time. */
#include "lower_internal.h"

#include "flow.h"

typedef struct kc_split { /* of a variable; var->pass_data */
    kc_var* var;
    const kc_record* record;
    bool is_whole; /* something needs it in one piece */
    kc_var** fields;
} kc_split;

typedef struct kc_splitter {
    kc_module* m;
    kc_function* f;
    uint32_t count;
} kc_splitter;

static const kc_type* innermost(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    return t;
}

static kc_split* split_of(const kc_expr* place)
{
    while (place->kind == KC_EX_INDEX)
        place = place->args[0];
    return place->kind == KC_EX_VAR && place->u.var->kind == KC_VAR_PRIVATE
               ? place->u.var->pass_data
               : NULL;
}

/* ---- which ----------------------------------------------------------------------------------- */

static void find_candidate(kc_stmt* s, void* splitter)
{
    kc_splitter* sp = splitter;
    if (s->kind != KC_ST_DECLARE)
        return;
    const kc_type* t = innermost(s->var->type);
    s->var->pass_data = NULL;
    if (t->kind != KC_TYPE_STRUCT || t->record->is_union || !t->record->has_pointers)
        return;
    kc_split* split = KC_NEW(sp->m->arena, kc_split);
    *split = (kc_split){.var = s->var, .record = t->record};
    s->var->pass_data = split;
}

static void check_expr(const kc_expr* e);

/* What stands around a place that a record's field is taken of is no use of the record. */
static void check_place(const kc_expr* place)
{
    if (place->kind == KC_EX_FIELD && split_of(place->args[0])) {
        for (place = place->args[0]; place->kind == KC_EX_INDEX; place = place->args[0])
            check_expr(place->args[1]);
        return;
    }
    check_expr(place);
}

static void check_expr(const kc_expr* e)
{
    if (e->kind == KC_EX_FIELD && split_of(e->args[0])) {
        check_place(e);
        return;
    }
    if (e->kind == KC_EX_VAR) {
        kc_split* split = split_of(e);
        if (split)
            split->is_whole = true;
        return;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        check_expr(e->args[i]);
}

/* A value of a whole record, which is taken apart. */
static void check_value(const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_LOAD:
        if (split_of(e->args[0]))
            for (const kc_expr* p = e->args[0]; p->kind == KC_EX_INDEX; p = p->args[0])
                check_expr(p->args[1]);
        else
            check_expr(e);
        break;
    case KC_EX_AGGREGATE:
        for (uint32_t i = 0; i < e->arg_count; i++)
            if (innermost(e->args[i]->type)->kind == KC_TYPE_STRUCT)
                check_value(e->args[i]);
            else
                check_expr(e->args[i]);
        break;
    case KC_EX_SELECT:
        check_expr(e->args[0]);
        check_value(e->args[1]);
        check_value(e->args[2]);
        break;
    default: check_expr(e); break;
    }
}

static kc_split* assigned_split(const kc_stmt* s)
{
    if (s->kind == KC_ST_DECLARE)
        return s->var->pass_data;
    return s->kind == KC_ST_ASSIGN && innermost(s->place->type)->kind == KC_TYPE_STRUCT
               ? split_of(s->place)
               : NULL;
}

/* A value that is no place of its own and no list has no parts: f(x), which was inlined. */
static bool has_parts(const kc_expr* e)
{
    if (e->kind == KC_EX_SELECT)
        return has_parts(e->args[1]) && has_parts(e->args[2]);
    if (e->kind == KC_EX_AGGREGATE && e->type->kind == KC_TYPE_ARRAY) {
        for (uint32_t i = 0; i < e->arg_count; i++)
            if (!has_parts(e->args[i]))
                return false;
        return true;
    }
    if (e->kind == KC_EX_LOAD)
        return e->type->kind == KC_TYPE_STRUCT || split_of(e->args[0]);
    return e->kind == KC_EX_AGGREGATE || e->kind == KC_EX_ZERO;
}

static void check_stmt(kc_stmt* s, void* user)
{
    (void)user;
    kc_split* split = assigned_split(s);
    if (split) {
        if (s->value && !has_parts(s->value))
            split->is_whole = true;
        if (s->value)
            check_value(s->value);
        for (const kc_expr* p = s->place; p && p->kind == KC_EX_INDEX; p = p->args[0])
            check_expr(p->args[1]);
        return;
    }
    if (s->place)
        check_place(s->place);
    if (s->value)
        check_expr(s->value);
    for (uint32_t i = 0; i < s->arg_count; i++)
        check_expr(s->args[i]);
    kc_split* result = s->result && s->result->kind == KC_VAR_PRIVATE ? s->result->pass_data : NULL;
    if (result)
        result->is_whole = true;
}

/* What is copied to a record that stays whole stays whole; and from it, where there are several. */
static void check_copies(kc_stmt* s, void* whole_count)
{
    kc_split* to = assigned_split(s);
    if (!to || !s->value)
        return;
    const kc_split* from = s->value->kind == KC_EX_LOAD ? split_of(s->value->args[0]) : NULL;
    if (from && from->is_whole && to->var->type->kind == KC_TYPE_ARRAY)
        to->is_whole = true;
    if (to->is_whole)
        check_expr(s->value);
    *(uint32_t*)whole_count += (to->is_whole ? 1u : 0u) + (from && from->is_whole ? 1u : 0u);
}

/* ---- into what ------------------------------------------------------------------------------- */

static const kc_type* field_type(kc_module* m, const kc_type* t, const kc_type* field)
{
    return t->kind == KC_TYPE_ARRAY ? kc_type_array(m, field_type(m, t->element, field), t->count)
                                    : field;
}

static void make_fields(kc_splitter* sp, kc_split* split)
{
    const kc_record* r = split->record;
    kc_var* v = split->var;
    split->fields = KC_NEW_ARRAY(sp->m->arena, kc_var*, r->field_count);
    for (uint32_t i = 0; i < r->field_count; i++) {
        const char* name = kc_format(sp->m->arena, "%s_%s", v->name, r->fields[i].name);
        split->fields[i] = kc_temp_create(sp->m, sp->f, name,
                                          field_type(sp->m, v->type, r->fields[i].type), v->loc);
    }
}

static bool is_split(const kc_split* split)
{
    return split && !split->is_whole;
}

/* `field` of the record that `place`, of a split variable, names; of each, where that is an array.
 */
static kc_expr* field_place(kc_splitter* sp, const kc_expr* place, uint32_t field)
{
    if (place->kind == KC_EX_VAR)
        return kc_ex_var(sp->m, ((kc_split*)place->u.var->pass_data)->fields[field]);
    kc_expr* e = kc_ex_index(sp->m, field_place(sp, place->args[0], field),
                             kc_ex_clone(sp->m, place->args[1]));
    e->loc = place->loc;
    return e;
}

static void split_expr(kc_expr** slot, void* splitter)
{
    kc_splitter* sp = splitter;
    kc_expr* e = *slot;
    if (e->kind == KC_EX_FIELD && is_split(split_of(e->args[0]))) {
        *slot = field_place(sp, e->args[0], e->u.field);
        (*slot)->loc = e->loc;
    }
}

/* `field` of a record, or of each in an array of them. */
static kc_expr* part_of(kc_splitter* sp, const kc_expr* value, uint32_t field)
{
    kc_module* m = sp->m;
    const kc_type* record = innermost(value->type);
    const kc_type* type = field_type(m, value->type, record->record->fields[field].type);
    kc_expr* part = NULL;
    switch (value->kind) {
    case KC_EX_LOAD:
        part = kc_ex_load(m, is_split(split_of(value->args[0]))
                                 ? field_place(sp, value->args[0], field)
                                 : kc_ex_field(m, kc_ex_clone(m, value->args[0]), field));
        break;
    case KC_EX_AGGREGATE:
        if (value->type->kind == KC_TYPE_STRUCT)
            return kc_ex_clone(m, value->args[field]);
        part = kc_ex_list(m, KC_EX_AGGREGATE, type, value->arg_count, value->args);
        for (uint32_t i = 0; i < value->arg_count; i++)
            part->args[i] = part_of(sp, value->args[i], field);
        break;
    case KC_EX_SELECT:
        part = kc_ex_select(m, kc_ex_clone(m, value->args[0]), part_of(sp, value->args[1], field),
                            part_of(sp, value->args[2], field));
        break;
    default: part = kc_ex_zero(m, type); break;
    }
    part->loc = value->loc;
    return part;
}

/* The fields are assigned one after the other, so that what is read of the same record comes first.
 */
static void split_assignment(kc_splitter* sp, kc_block* b, kc_stmt* s, const kc_split* split)
{
    kc_module* m = sp->m;
    const bool is_declared = s->kind == KC_ST_DECLARE;
    const bool needs_copies =
        kc_ex_names(s->value, split->var) && s->value->kind != KC_EX_LOAD;
    const uint32_t count = split->record->field_count;
    kc_expr** values = KC_NEW_ARRAY(m->arena, kc_expr*, count);
    for (uint32_t i = 0; s->value && i < count; i++) {
        values[i] = part_of(sp, s->value, i);
        if (!needs_copies)
            continue;
        kc_stmt* copy = kc_stmt_create(m, KC_ST_DECLARE, s->loc);
        copy->var = kc_temp_create(m, sp->f, split->fields[i]->name, values[i]->type, s->loc);
        copy->value = values[i];
        kc_block_insert_before(b, s, copy);
        values[i] = kc_ex_load_var(m, copy->var);
    }
    for (uint32_t i = 0; i < count; i++) {
        kc_stmt* part = kc_stmt_create(m, s->kind, s->loc);
        if (is_declared) {
            part->var = split->fields[i];
        } else {
            part->place = field_place(sp, s->place, i);
            part->place->loc = s->place->loc;
        }
        part->value = values[i];
        kc_block_insert_before(b, s, part);
    }
    kc_block_remove(b, s);
}

static void split_block(kc_block* b, void* splitter)
{
    kc_splitter* sp = splitter;
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        kc_split* split = assigned_split(s);
        if (is_split(split) && s->kind == KC_ST_DECLARE) {
            make_fields(sp, split);
            sp->count++;
        }
        if (is_split(split))
            split_assignment(sp, b, s, split);
        else
            kc_stmt_walk_blocks(s, split_block, sp);
    }
}

static void split_exprs(kc_stmt* s, void* splitter)
{
    kc_stmt_walk_exprs(s, split_expr, splitter);
}

static void forget(kc_stmt* s, void* user)
{
    (void)user;
    if (s->kind == KC_ST_DECLARE)
        s->var->pass_data = NULL;
}

bool kc_split_records(kc_module* m)
{
    kc_splitter sp = {.m = m};
    for (kc_function* f = m->functions; f; f = f->next) {
        sp.f = f;
        for (uint32_t i = 0; i < f->param_count; i++)
            f->params[i]->pass_data = NULL;
        kc_block_walk(&f->body, find_candidate, &sp);
        kc_block_walk(&f->body, check_stmt, NULL);
        for (uint32_t before = UINT32_MAX, count = 0; count != before;) {
            before = count;
            count = 0;
            kc_block_walk(&f->body, check_copies, &count);
        }
        split_block(&f->body, &sp);
        kc_block_walk(&f->body, split_exprs, &sp);
        kc_block_walk(&f->body, forget, NULL);
    }
    return sp.count > 0;
}
