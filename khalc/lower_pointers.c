/* Pointers become indices. After kc_forward_pointers and kc_split_records have named what can be
 * named, a pointer variable is an unsigned index into its root, in units that all roots which it
 * may have share, and, where there are several, the number of the root beside it. Each access is
 * then one of that root's array. */
#include "flow.h"
#include "lower_internal.h"

enum { KC_MAX_AGGREGATE = 32, KC_MAX_UNROLLED = 8 };

static kc_expr* lower_value(kc_lowerer* lw, kc_expr* e);
static kc_spot lower_pointer(kc_lowerer* lw, kc_expr* e);
static void lower_assign(kc_lowerer* lw, kc_expr* place, kc_expr* value);

static kc_expr* here(const kc_lowerer* lw, kc_expr* e)
{
    e->loc = lw->loc;
    return e;
}

static kc_expr* clone(const kc_lowerer* lw, const kc_expr* e)
{
    return e ? kc_ex_clone(lw->m, e) : NULL;
}

static void refuse_pointer(kc_lowerer* lw, kc_loc loc, const char* what)
{
    if (!lw->f) /* in a constant, which takes those along that use it */
        lw->is_refused = true;
    else
        kc_refuse(lw->m, lw->f, loc, KC_DIAG_TARGET_POINTER, "%s: %s has no pointers", what,
                  lw->target->name);
}

static bool is_argument(const kc_var* v)
{
    return v->kind == KC_VAR_PARAM && kc_is_pointer(v->type);
}

/* ---- spots ----------------------------------------------------------------------------------- */

static uint64_t low_bit(uint64_t n)
{
    return n & (0 - n);
}

/* `count` (of any integer type, lowered) times `size` bytes further. */
static void advance(kc_lowerer* lw, kc_spot* spot, kc_expr* count, uint64_t size)
{
    if (count->kind == KC_EX_CONST) {
        const int64_t n = count->type->is_signed    ? (int64_t)count->u.bits
                          : count->type->width < 64 ? (int64_t)(int32_t)(uint32_t)count->u.bits
                                                    : (int64_t)count->u.bits;
        spot->offset += n * (int64_t)size;
        return;
    }
    const uint32_t unit = spot->memory ? spot->memory->unit : 1;
    const bool is_whole = size % unit == 0;
    const uint64_t factor = is_whole ? size / unit : size;
    kc_expr* index = kc_index_uint(lw->m, count);
    if (factor != 1)
        index = here(lw, kc_ex_binary(lw->m, KC_OP_MUL, index, kc_u32(lw, factor)));
    if (is_whole)
        spot->index = kc_index_add(lw->m, spot->index, index);
    else
        spot->bytes = kc_index_add(lw->m, spot->bytes, index);
    if (size && low_bit(size) < spot->align)
        spot->align = low_bit(size);
}

static kc_expr* index_of(kc_lowerer* lw, const kc_spot* spot)
{
    kc_expr* index = clone(lw, spot->index);
    if (spot->offset)
        index = kc_index_add(lw->m, index,
                             kc_u32(lw, (uint64_t)(spot->offset / (int64_t)spot->memory->unit)));
    return index ? index : kc_u32(lw, 0);
}

static kc_expr* which_of(kc_lowerer* lw, const kc_spot* spot)
{
    return spot->which ? clone(lw, spot->which) : kc_u32(lw, spot->root ? spot->root->number : 0);
}

/* The steps that lead from a place's base to it, the base's first. */
static uint32_t steps_of(kc_lowerer* lw, kc_expr* place, kc_expr*** out)
{
    uint32_t count = 0;
    for (const kc_expr* p = place; p->kind != KC_EX_VAR && p->kind != KC_EX_DEREF; p = p->args[0])
        count++;
    *out = KC_NEW_ARRAY(lw->m->arena, kc_expr*, count + 1);
    for (uint32_t i = count + 1; i-- > 0; place = i ? place->args[0] : place)
        (*out)[i] = place;
    return count;
}

static void step_in_words(kc_lowerer* lw, kc_spot* spot, kc_expr* step)
{
    const kc_type* from = step->args[0]->type;
    switch (step->kind) {
    case KC_EX_FIELD: spot->offset += (int64_t)from->record->fields[step->u.field].offset; break;
    case KC_EX_INDEX: advance(lw, spot, lower_value(lw, step->args[1]), from->element->size); break;
    default: /* LANES */
        if (step->u.lanes.count > 1) {
            spot->lane_count = step->u.lanes.count;
            spot->lanes = step->u.lanes.index;
            return; /* of the type before */
        }
        spot->offset += step->u.lanes.index[0] * (int64_t)from->element->size;
        break;
    }
    spot->type = step->type;
}

static const kc_type* pair_type(kc_lowerer* lw)
{
    return kc_type_vector(lw->m, lw->u32, 2);
}

/* A pointer in a record is a pair: the root's number, and the index. */
static const kc_type* paired_type(kc_lowerer* lw, const kc_type* t)
{
    if (kc_is_pointer(t))
        return pair_type(lw);
    if (t->kind == KC_TYPE_ARRAY && kc_is_pointer(kc_innermost(t)))
        return kc_type_array(lw->m, paired_type(lw, t->element), t->count);
    return t;
}

/* `until`: what the place begins with; NULL: a variable. */
static void lower_indices(kc_lowerer* lw, kc_expr* place, const kc_expr* until, bool is_copied)
{
    for (; place != until && place->kind != KC_EX_VAR; place = place->args[0]) {
        place->type = paired_type(lw, place->type);
        if (place->kind == KC_EX_INDEX) {
            place->args[1] = lower_value(lw, place->args[1]);
            if (place->args[1]->type->width == 64)
                place->args[1] = kc_index_uint(lw->m, place->args[1]);
            if (is_copied)
                place->args[1] = kc_stable(lw, place->args[1], "at");
        }
    }
}

/* Goes from the base on to the element; what is above it stays a place. */
static void step_in_elements(kc_lowerer* lw, kc_spot* spot, uint32_t count, kc_expr** steps)
{
    uint32_t i = 0;
    while (i < count && spot->type != spot->memory->element && spot->type->kind == KC_TYPE_ARRAY) {
        kc_expr* step = steps[++i];
        advance(lw, spot, lower_value(lw, step->args[1]), step->type->size);
        spot->type = step->type;
    }
    spot->element = steps[i];
    spot->place = steps[count];
    spot->type = steps[count]->type;
    lower_indices(lw, steps[count], steps[i], !spot->root);
    if (i == count)
        spot->place = NULL;
}

static kc_var* plain_var(const kc_var* v)
{
    const kc_root* r = kc_root_of(v);
    return r && r->made ? r->made : (kc_var*)(uintptr_t)v;
}

/* True: the object is at a spot. False: the place, lowered, is its own. */
static bool lower_place(kc_lowerer* lw, kc_expr* place, kc_spot* spot)
{
    kc_expr** steps;
    const uint32_t count = steps_of(lw, place, &steps);
    kc_expr* base = steps[0];
    lw->loc = place->loc.file ? place->loc : lw->loc;
    if (base->kind == KC_EX_DEREF) {
        *spot = lower_pointer(lw, base->args[0]);
        spot->type = base->type;
        spot->align = base->type->align ? base->type->align : 1;
    } else {
        kc_root* root = kc_root_of(base->u.var);
        if (!root || !root->memory || is_argument(base->u.var)) {
            base->u.var = plain_var(base->u.var);
            lower_indices(lw, place, base, false);
            return false;
        }
        *spot = (kc_spot){.memory = root->memory, .root = root, .type = base->type, .align = 16};
    }
    if (spot->memory && spot->memory->element) {
        step_in_elements(lw, spot, count, steps);
    } else if (spot->memory) {
        for (uint32_t i = 1; i <= count; i++)
            step_in_words(lw, spot, steps[i]);
    } else {
        spot->type = place->type;
    }
    return true;
}

/* ---- pointers -------------------------------------------------------------------------------- */

static const kc_spot null_spot = {.align = 1};

/* Of what became of pointer variable v, the part that `place` is of v. */
static kc_expr* numbers_place(kc_lowerer* lw, const kc_expr* place, kc_var* v)
{
    if (place->kind == KC_EX_VAR)
        return here(lw, kc_ex_var(lw->m, v));
    return here(
        lw, kc_ex_index(lw->m, numbers_place(lw, place->args[0], v), clone(lw, place->args[1])));
}

/* The variable, or array of them, whose cells hold the pointers that `place` is one of. */
static kc_root* cells_of(const kc_expr* place)
{
    while (place->kind == KC_EX_INDEX)
        place = place->args[0];
    kc_root* r = place->kind == KC_EX_VAR ? kc_root_of(place->u.var) : NULL;
    return r && r->index ? r : NULL;
}

static kc_spot split_pair(kc_lowerer* lw, kc_spot pointer, kc_expr* pair)
{
    static const uint8_t lanes[2] = {0, 1};
    pair = kc_stable(lw, pair, "pointer");
    pointer.index = here(lw, kc_ex_swizzle(lw->m, clone(lw, pair), 1, &lanes[1]));
    if (pointer.root == NULL)
        pointer.which = here(lw, kc_ex_swizzle(lw->m, pair, 1, &lanes[0]));
    return pointer;
}

/* The value of the pointer that `place` is. */
static kc_spot load_pointer(kc_lowerer* lw, const kc_expr* e)
{
    kc_expr* place = e->args[0];
    const kc_targets targets = kc_points(lw->m, e);
    kc_root* cells = cells_of(place);
    if (targets.is_unknown) {
        refuse_pointer(lw, e->loc, "this pointer may lead to anywhere");
        return null_spot;
    }
    if (place->kind == KC_EX_VAR && is_argument(place->u.var) && !cells)
        return (kc_spot){.memory = kc_root_of(place->u.var)->memory,
                         .root = kc_root_of(place->u.var),
                         .targets = targets};
    if (targets.count == 0)
        return null_spot;
    kc_root* first = kc_root_of(targets.roots[0]);
    kc_spot pointer = {.memory = first->memory, .targets = targets};
    if (targets.count == 1 && !targets.may_be_null)
        pointer.root = first;
    if (cells) {
        lower_indices(lw, place, NULL, cells->which != NULL);
        if (cells->which && !pointer.root)
            pointer.which = here(lw, kc_ex_load(lw->m, numbers_place(lw, place, cells->which)));
        pointer.index = here(lw, kc_ex_load(lw->m, numbers_place(lw, place, cells->index)));
        return pointer;
    }
    kc_spot spot;
    if (!lower_place(lw, place, &spot)) {
        kc_expr* pair = here(lw, kc_ex_load(lw->m, place));
        return split_pair(lw, pointer, pair);
    }
    if (!spot.memory)
        return null_spot;
    if (!spot.memory->element) {
        refuse_pointer(lw, e->loc, "a pointer in memory that is used as several types");
        return null_spot;
    }
    if (!kc_is_pointer(spot.memory->element)) {
        spot.type = pair_type(lw);
        return split_pair(lw, pointer, kc_spot_load(lw, &spot));
    }
    spot.type = lw->u32;
    kc_spot part = spot;
    part.part = KC_SPOT_WHICH;
    if (!pointer.root)
        pointer.which = kc_spot_load(lw, &part);
    part = spot;
    part.index = clone(lw, spot.index);
    part.part = KC_SPOT_INDEX;
    pointer.index = kc_spot_load(lw, &part);
    return pointer;
}

static kc_spot lower_choice(kc_lowerer* lw, kc_expr* e)
{
    kc_module* m = lw->m;
    kc_expr* condition = kc_stable(lw, lower_value(lw, e->args[0]), "choice");
    const bool was_lazy = lw->is_lazy;
    lw->is_lazy = true;
    const kc_spot a = lower_pointer(lw, e->args[1]), b = lower_pointer(lw, e->args[2]);
    lw->is_lazy = was_lazy;
    if (!a.memory && !b.memory)
        return null_spot;
    kc_spot spot = {.memory = a.memory ? a.memory : b.memory, .targets = kc_points(m, e)};
    if (a.memory && b.memory && a.memory != b.memory) {
        refuse_pointer(lw, e->loc, "a choice between pointers");
        return null_spot;
    }
    if (a.root && a.root == b.root)
        spot.root = a.root;
    else
        spot.which =
            here(lw, kc_ex_select(m, clone(lw, condition), which_of(lw, &a), which_of(lw, &b)));
    kc_expr* at_a = a.memory ? index_of(lw, &a) : kc_u32(lw, 0);
    kc_expr* at_b = b.memory ? index_of(lw, &b) : kc_u32(lw, 0);
    const bool is_same =
        at_a->kind == KC_EX_CONST && at_b->kind == KC_EX_CONST && at_a->u.bits == at_b->u.bits;
    spot.index = is_same ? at_a : here(lw, kc_ex_select(m, condition, at_a, at_b));
    return spot;
}

static kc_spot lower_pointer(kc_lowerer* lw, kc_expr* e)
{
    kc_spot spot;
    switch (e->kind) {
    case KC_EX_LOAD: return load_pointer(lw, e);
    case KC_EX_ADDRESS:
        if (!lower_place(lw, e->args[0], &spot)) {
            refuse_pointer(lw, e->loc, "this address");
            return null_spot;
        }
        return spot;
    case KC_EX_OFFSET: {
        spot = lower_pointer(lw, e->args[0]);
        kc_expr* count = lower_value(lw, e->args[1]);
        if (spot.memory)
            advance(lw, &spot, count, e->type->element->size);
        return spot;
    }
    case KC_EX_CONVERT: return lower_pointer(lw, e->args[0]);
    case KC_EX_ZERO: return null_spot;
    case KC_EX_SELECT: return lower_choice(lw, e);
    default: refuse_pointer(lw, e->loc, "a pointer made of a number"); return null_spot;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Which of two indices is lower. A pointer that walks down ends before its object, at -1, and in a
 * buffer an index may be larger than INT_MAX. */
static kc_expr* lower_order(kc_lowerer* lw, kc_op op, kc_expr* a, kc_expr* b, bool is_buffer)
{
    kc_module* m = lw->m;
    const kc_type* i32 = kc_type_int(m, 32, true);
    if (is_buffer) {
        a = here(lw, kc_ex_binary(m, KC_OP_SUB, a, b));
        b = here(lw, kc_ex_const_int(m, i32, 0));
    } else {
        b = here(lw, kc_ex_bitcast(m, i32, b));
    }
    return here(lw, kc_ex_binary(m, op, here(lw, kc_ex_bitcast(m, i32, a)), b));
}

static kc_expr* lower_compare(kc_lowerer* lw, kc_expr* e)
{
    kc_module* m = lw->m;
    const bool is_equality = e->u.op == KC_OP_EQ || e->u.op == KC_OP_NE;
    const kc_spot a = lower_pointer(lw, e->args[0]), b = lower_pointer(lw, e->args[1]);
    kc_expr* same = NULL; /* the same root; NULL: known to be */
    if (a.which || b.which)
        same = here(lw, kc_ex_binary(m, KC_OP_EQ, which_of(lw, &a), which_of(lw, &b)));
    else if (a.root != b.root)
        same = here(lw, kc_ex_const_bool(m, false));
    if (!is_equality)
        same = NULL;
    kc_expr* compared = NULL;
    const kc_space space = e->args[0]->type->space;
    if (a.memory && b.memory && is_equality)
        compared = here(lw, kc_ex_binary(m, KC_OP_EQ, index_of(lw, &a), index_of(lw, &b)));
    else if (a.memory && b.memory)
        compared = lower_order(lw, e->u.op, index_of(lw, &a), index_of(lw, &b),
                               space == KC_SPACE_GLOBAL || space == KC_SPACE_CONSTANT);
    else if (!is_equality || !same)
        compared = here(
            lw, kc_ex_const_bool(m, is_equality || e->u.op == KC_OP_LE || e->u.op == KC_OP_GE));
    kc_expr* result = !same       ? compared
                      : !compared ? same
                                  : here(lw, kc_ex_binary(m, KC_OP_LOGICAL_AND, same, compared));
    return e->u.op == KC_OP_NE ? here(lw, kc_ex_unary(m, KC_OP_LOGICAL_NOT, result)) : result;
}

static kc_expr* pair_of(kc_lowerer* lw, kc_expr* pointer)
{
    const kc_spot spot = lower_pointer(lw, pointer);
    if (!spot.memory)
        return here(lw, kc_ex_zero(lw->m, pair_type(lw)));
    kc_expr* parts[2] = {which_of(lw, &spot), index_of(lw, &spot)};
    return here(lw, kc_ex_list(lw->m, KC_EX_COMPOSE, pair_type(lw), 2, parts));
}

/* A pointer as a number: no two objects have the same, none has 0, and it is as aligned as the
 * object. */
static kc_expr* number_of(kc_lowerer* lw, kc_expr* e)
{
    kc_module* m = lw->m;
    const kc_spot spot = lower_pointer(lw, e->args[0]);
    if (!spot.memory)
        return here(lw, kc_ex_zero(m, e->type));
    kc_expr* base = here(lw, kc_ex_binary(m, KC_OP_SHL, which_of(lw, &spot), kc_u32(lw, 28)));
    kc_expr* bytes = clone(lw, spot.index);
    if (bytes && spot.memory->unit > 1)
        bytes = here(lw, kc_ex_binary(m, KC_OP_MUL, bytes, kc_u32(lw, spot.memory->unit)));
    bytes = kc_index_add(m, bytes, clone(lw, spot.bytes));
    if (spot.offset)
        bytes = kc_index_add(m, bytes, kc_u32(lw, (uint64_t)spot.offset));
    kc_expr* number = kc_index_add(m, base, bytes);
    return e->type == lw->u32
               ? number
               : here(lw, kc_ex_convert(m, e->type, number, KC_ROUND_DEFAULT, false));
}

static kc_expr* lower_difference(kc_lowerer* lw, kc_expr* e)
{
    kc_module* m = lw->m;
    const uint64_t size = e->args[0]->type->element->size;
    const kc_spot a = lower_pointer(lw, e->args[0]), b = lower_pointer(lw, e->args[1]);
    if (!a.memory || !b.memory)
        return here(lw, kc_ex_zero(m, e->type));
    kc_expr* units = here(lw, kc_ex_binary(m, KC_OP_SUB, index_of(lw, &a), index_of(lw, &b)));
    kc_expr* count = here(lw, kc_ex_convert(m, lw->i32, units, KC_ROUND_DEFAULT, false));
    if (size > a.memory->unit)
        count =
            here(lw, kc_ex_binary(m, KC_OP_DIV, count,
                                  here(lw, kc_ex_const_int(m, lw->i32, size / a.memory->unit))));
    return e->type == lw->i32 ? count
                              : here(lw, kc_ex_convert(m, e->type, count, KC_ROUND_DEFAULT, false));
}

/* Is the object made of words? */
static bool is_words(kc_lowerer* lw, const kc_expr* place)
{
    while (place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF)
        place = place->args[0];
    const kc_root* root = NULL;
    if (place->kind == KC_EX_VAR) {
        root = kc_root_of(place->u.var);
    } else {
        const kc_targets origin = kc_points(lw->m, place->args[0]);
        root = origin.count ? kc_root_of(origin.roots[0]) : NULL;
    }
    return root && root->memory && !root->memory->element;
}

static kc_expr* lower_load(kc_lowerer* lw, kc_expr* e)
{
    kc_spot spot;
    if (cells_of(e->args[0])) {
        refuse_pointer(lw, e->loc, "an array of pointers as a value");
        return here(lw, kc_ex_zero(lw->m, e->type));
    }
    if (!lower_place(lw, e->args[0], &spot)) {
        e->type = e->args[0]->type;
        return e;
    }
    return kc_spot_load(lw, &spot);
}

/* Of a vector that is made of words, the lanes that are wanted are enough. */
static void narrow_load(kc_lowerer* lw, kc_expr* e)
{
    kc_expr* load = e->args[0];
    if (load->kind != KC_EX_LOAD || !is_words(lw, load->args[0]))
        return;
    uint32_t used = 0;
    for (uint32_t i = 0; i < e->u.lanes.count; i++) {
        if (used >> e->u.lanes.index[i] & 1)
            return;
        used |= 1u << e->u.lanes.index[i];
    }
    kc_expr* lanes =
        here(lw, kc_ex_lanes(lw->m, load->args[0], e->u.lanes.count, e->u.lanes.index));
    e->kind = KC_EX_LOAD;
    e->args[0] = lanes;
}

static kc_expr* lower_lazily(kc_lowerer* lw, kc_expr* e)
{
    const bool was_lazy = lw->is_lazy;
    lw->is_lazy = true;
    e = lower_value(lw, e);
    lw->is_lazy = was_lazy;
    return e;
}

static kc_expr* lower_value(kc_lowerer* lw, kc_expr* e)
{
    const kc_loc loc = lw->loc;
    if (e->loc.file)
        lw->loc = e->loc;
    kc_expr* result = e;
    const bool has_pointer = e->arg_count && kc_is_pointer(e->args[0]->type);
    if (e->kind == KC_EX_SWIZZLE)
        narrow_load(lw, e);
    if (e->kind == KC_EX_LOAD && !kc_is_pointer(e->type)) {
        result = lower_load(lw, e);
    } else if (kc_is_pointer(e->type)) {
        result = pair_of(lw, e);
    } else if (e->kind == KC_EX_BITCAST && has_pointer) {
        result = number_of(lw, e);
    } else if (e->kind == KC_EX_POINTER_DIFF) {
        result = lower_difference(lw, e);
    } else if (e->kind == KC_EX_BINARY && has_pointer) {
        result = lower_compare(lw, e);
    } else if (e->kind == KC_EX_LOCAL_BYTES) {
        e->u.var = kc_root_of(e->u.var)->made;
    } else if (e->kind == KC_EX_CONVERT && has_pointer) { /* to bool, where the language has it */
        const kc_spot spot = lower_pointer(lw, e->args[0]);
        result = here(lw, kc_ex_binary(lw->m, KC_OP_NE, which_of(lw, &spot), kc_u32(lw, 0)));
    } else {
        const bool is_logical = e->kind == KC_EX_BINARY &&
                                (e->u.op == KC_OP_LOGICAL_AND || e->u.op == KC_OP_LOGICAL_OR);
        for (uint32_t i = 0; i < e->arg_count; i++)
            e->args[i] = (e->kind == KC_EX_SELECT || is_logical) && i > 0
                             ? lower_lazily(lw, e->args[i])
                             : lower_value(lw, e->args[i]);
        e->type = paired_type(lw, e->type);
    }
    lw->loc = loc;
    return result;
}

/* ---- assignments ----------------------------------------------------------------------------- */

static bool is_parted(const kc_type* t)
{
    return t->kind == KC_TYPE_STRUCT || t->kind == KC_TYPE_ARRAY;
}

static uint64_t part_count(const kc_type* t)
{
    uint64_t count = 1;
    if (t->kind == KC_TYPE_ARRAY) {
        const uint64_t each = part_count(t->element);
        count = t->count > 1000 || each > 1000 ? 1000000 : t->count * each;
    } else if (t->kind == KC_TYPE_STRUCT) {
        count = 0;
        for (uint32_t i = 0; i < t->record->field_count && count < 1000; i++)
            count += part_count(t->record->fields[i].type);
    }
    return count;
}

static kc_expr* keep_raw(kc_lowerer* lw, kc_expr* e)
{
    if (e->kind == KC_EX_CONST)
        return e;
    return kc_keep(lw, kc_index_uint(lw->m, lower_value(lw, e)), "at");
}

/* A place, not lowered yet, of which there will be copies: what it is found with is computed once.
 */
static void settle_place(kc_lowerer* lw, kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_INDEX:
    case KC_EX_OFFSET:
        e->args[1] = keep_raw(lw, e->args[1]);
        settle_place(lw, e->args[0]);
        break;
    case KC_EX_FIELD:
    case KC_EX_LANES:
    case KC_EX_DEREF:
    case KC_EX_ADDRESS:
    case KC_EX_CONVERT: settle_place(lw, e->args[0]); break;
    default: break;
    }
}

static void settle_value(kc_lowerer* lw, kc_expr* value)
{
    if (value->kind == KC_EX_LOAD)
        settle_place(lw, value->args[0]);
}

static kc_expr* part_place(kc_lowerer* lw, const kc_expr* place, uint32_t i, const kc_expr* index)
{
    if (place->type->kind == KC_TYPE_STRUCT)
        return here(lw, kc_ex_field(lw->m, clone(lw, place), i));
    return here(lw, kc_ex_index(lw->m, clone(lw, place), index ? clone(lw, index) : kc_u32(lw, i)));
}

static kc_expr* part_value(kc_lowerer* lw, const kc_expr* value, uint32_t i, const kc_expr* index)
{
    const kc_type* t = value->type;
    if (value->kind == KC_EX_AGGREGATE)
        return clone(lw, value->args[i]);
    if (value->kind == KC_EX_LOAD)
        return here(lw, kc_ex_load(lw->m, part_place(lw, value->args[0], i, index)));
    return here(
        lw, kc_ex_zero(lw->m, t->kind == KC_TYPE_STRUCT ? t->record->fields[i].type : t->element));
}

static void assign_in_loop(kc_lowerer* lw, const kc_expr* place, const kc_expr* value)
{
    kc_module* m = lw->m;
    kc_stmt* counter = kc_stmt_create(m, KC_ST_DECLARE, lw->loc);
    counter->var = kc_temp_create(m, lw->f, "k", lw->u32, lw->loc);
    counter->value = kc_u32(lw, 0);
    kc_emit(lw, counter);
    kc_stmt* loop = kc_stmt_create(m, KC_ST_LOOP, lw->loc);
    kc_expr* k = here(lw, kc_ex_load_var(m, counter->var));
    loop->value = here(lw, kc_ex_binary(m, KC_OP_LT, k, kc_u32(lw, place->type->count)));
    kc_emit(lw, loop);
    kc_st_assign(m, &loop->step, here(lw, kc_ex_var(m, counter->var)),
                 here(lw, kc_ex_binary(m, KC_OP_ADD, clone(lw, k), kc_u32(lw, 1))), lw->loc);
    kc_block* const block = lw->block;
    kc_stmt* const before = lw->before;
    lw->block = &loop->body;
    lw->before = NULL;
    lower_assign(lw, part_place(lw, place, 0, k), part_value(lw, value, 0, k));
    lw->block = block;
    lw->before = before;
}

static void assign_union(kc_lowerer* lw, kc_expr* place, kc_expr* value)
{
    const kc_type* t = place->type;
    kc_spot to, from;
    if (value->kind == KC_EX_AGGREGATE) {
        lower_assign(lw, here(lw, kc_ex_field(lw->m, place, value->u.field)), value->args[0]);
        return;
    }
    if (!lower_place(lw, place, &to))
        return;
    if (value->kind == KC_EX_LOAD && lower_place(lw, value->args[0], &from))
        kc_spot_copy(lw, &to, &from, t->size, t->align);
    else
        kc_spot_clear(lw, &to, t->size, t->align);
}

/* An array or record, where one side is words. */
static void assign_parts(kc_lowerer* lw, kc_expr* place, kc_expr* value)
{
    const kc_type* t = place->type;
    if (value->kind == KC_EX_SELECT) {
        kc_stmt* branch = kc_stmt_create(lw->m, KC_ST_IF, lw->loc);
        branch->value = lower_value(lw, value->args[0]);
        kc_emit(lw, branch);
        kc_block* const block = lw->block;
        kc_stmt* const before = lw->before;
        lw->before = NULL;
        lw->block = &branch->body;
        lower_assign(lw, clone(lw, place), value->args[1]);
        lw->block = &branch->orelse;
        lower_assign(lw, place, value->args[2]);
        lw->block = block;
        lw->before = before;
        return;
    }
    settle_place(lw, place);
    settle_value(lw, value);
    if (t->kind == KC_TYPE_STRUCT && t->record->is_union) {
        assign_union(lw, place, value);
    } else if (t->kind == KC_TYPE_ARRAY && t->count > KC_MAX_UNROLLED &&
               value->kind != KC_EX_AGGREGATE) {
        assign_in_loop(lw, place, value);
    } else {
        const uint64_t count = t->kind == KC_TYPE_ARRAY ? t->count : t->record->field_count;
        for (uint32_t i = 0; i < count; i++)
            lower_assign(lw, part_place(lw, place, i, NULL), part_value(lw, value, i, NULL));
    }
}

static void assign_pointer(kc_lowerer* lw, kc_expr* place, kc_expr* value);

/* Neither is lowered yet. */
static void lower_assign(kc_lowerer* lw, kc_expr* place, kc_expr* value)
{
    if (kc_is_pointer(place->type) || cells_of(place)) {
        assign_pointer(lw, place, value);
        return;
    }
    if (is_parted(place->type)) {
        const bool reads_words = value->kind == KC_EX_LOAD && is_words(lw, value->args[0]);
        if (is_words(lw, place) || (reads_words && part_count(place->type) > KC_MAX_AGGREGATE) ||
            (value->kind == KC_EX_SELECT && kc_type_has_unions(place->type))) {
            assign_parts(lw, place, value);
            return;
        }
    }
    kc_spot spot;
    value = lower_value(lw, value);
    if (lower_place(lw, place, &spot))
        kc_spot_store(lw, &spot, value);
    else
        kc_emit_assign(lw, place, value);
}

/* ---- pointer variables ----------------------------------------------------------------------- */

static const kc_type* index_type(kc_lowerer* lw, const kc_type* t)
{
    return t->kind == KC_TYPE_ARRAY ? kc_type_array(lw->m, index_type(lw, t->element), t->count)
                                    : lw->u32;
}

/* What a value of pointers, one or an array, is: numbers of roots, or indices. */
static kc_expr* numbers_of(kc_lowerer* lw, kc_expr* value, bool is_which)
{
    if (kc_is_pointer(value->type)) {
        const kc_spot spot = lower_pointer(lw, value);
        return is_which ? which_of(lw, &spot) : spot.memory ? index_of(lw, &spot) : kc_u32(lw, 0);
    }
    const kc_type* type = index_type(lw, value->type);
    if (value->kind != KC_EX_AGGREGATE) {
        if (value->kind != KC_EX_ZERO)
            refuse_pointer(lw, value->loc, "an array of pointers as a value");
        return here(lw, kc_ex_zero(lw->m, type));
    }
    kc_expr* list =
        here(lw, kc_ex_list(lw->m, KC_EX_AGGREGATE, type, value->arg_count, value->args));
    for (uint32_t i = 0; i < value->arg_count; i++)
        list->args[i] = numbers_of(lw, value->args[i], is_which);
    return list;
}

static void store_part(kc_lowerer* lw, const kc_spot* spot, kc_spot_part part, kc_expr* value)
{
    kc_spot s = *spot;
    s.index = clone(lw, spot->index);
    s.part = part;
    kc_spot_store(lw, &s, value);
}

static void assign_pointer(kc_lowerer* lw, kc_expr* place, kc_expr* value)
{
    kc_root* cells = cells_of(place);
    if (cells) {
        lower_indices(lw, place, NULL, true);
        kc_expr* which = NULL;
        if (cells->which) /* both are computed before one changes */
            which = kc_keep(lw, numbers_of(lw, clone(lw, value), true), "which");
        kc_emit_assign(lw, numbers_place(lw, place, cells->index), numbers_of(lw, value, false));
        if (which)
            kc_emit_assign(lw, numbers_place(lw, place, cells->which), which);
        return;
    }
    kc_spot spot;
    kc_expr* pair = pair_of(lw, value);
    if (!lower_place(lw, place, &spot)) {
        kc_emit_assign(lw, place, pair);
    } else if (spot.memory && !spot.memory->element) {
        refuse_pointer(lw, place->loc, "a pointer in memory that is used as several types");
    } else if (spot.memory && !kc_is_pointer(spot.memory->element)) {
        spot.type = pair->type;
        kc_spot_store(lw, &spot, pair);
    } else if (spot.memory) {
        const kc_spot parts = split_pair(lw, (kc_spot){0}, kc_keep(lw, pair, "pointer"));
        if (spot.index)
            spot.index = kc_stable(lw, spot.index, "at");
        if (spot.memory->has_which)
            store_part(lw, &spot, KC_SPOT_WHICH, parts.which);
        store_part(lw, &spot, KC_SPOT_INDEX, parts.index);
    }
}

static void emit_declare(kc_lowerer* lw, kc_var* v, kc_expr* value)
{
    kc_stmt* s = kc_stmt_create(lw->m, KC_ST_DECLARE, lw->loc);
    s->var = v;
    s->value = value;
    kc_emit(lw, s);
}

static void declare_pointer(kc_lowerer* lw, kc_var* v, kc_expr* value)
{
    const kc_root* r = kc_root_of(v);
    if (r->which)
        emit_declare(lw, r->which, value ? numbers_of(lw, clone(lw, value), true) : NULL);
    emit_declare(lw, r->index, value ? numbers_of(lw, value, false) : NULL);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void lower_block(kc_lowerer* lw, kc_block* b);

static void lower_nested(kc_block* b, void* lowerer)
{
    kc_lowerer* lw = lowerer;
    kc_block* const block = lw->block;
    kc_stmt* const before = lw->before;
    lower_block(lw, b);
    lw->block = block;
    lw->before = before;
}

/* A call or ATOMIC gives its result to a variable that is one. */
static void settle_result(kc_lowerer* lw, kc_stmt* s, kc_expr** out_place, kc_var** out_plain)
{
    *out_place = NULL;
    *out_plain = NULL;
    if (!s->result)
        return;
    const kc_root* r = kc_root_of(s->result);
    if (!r || !r->memory) {
        s->result = plain_var(s->result);
        return;
    }
    *out_place = here(lw, kc_ex_var(lw->m, s->result));
    *out_plain = s->result = kc_temp_create(lw->m, lw->f, "result", s->result->type, lw->loc);
    emit_declare(lw, s->result, NULL);
}

static void lower_atomic(kc_lowerer* lw, kc_stmt* s)
{
    kc_expr* result;
    kc_var* plain;
    settle_result(lw, s, &result, &plain);
    for (uint32_t i = 0; i < s->arg_count; i++)
        s->args[i] = lower_value(lw, s->args[i]);
    kc_spot spot;
    kc_stmt* const next = s->next;
    if (lower_place(lw, s->place, &spot)) {
        kc_spot_atomic(lw, &spot, s);
        kc_block_remove(lw->block, s);
    }
    lw->before = next;
    if (result)
        lower_assign(lw, result, here(lw, kc_ex_load_var(lw->m, plain)));
}

static void lower_loop(kc_lowerer* lw, kc_stmt* s)
{
    kc_block* const block = lw->block;
    if (!s->test_at_end)
        lower_nested(&s->head, lw);
    else {
        lower_nested(&s->body, lw);
        lower_nested(&s->step, lw);
        lower_nested(&s->head, lw);
    }
    if (s->value) {
        lw->block = &s->head;
        lw->before = NULL;
        s->value = lower_value(lw, s->value);
    }
    if (!s->test_at_end) {
        lower_nested(&s->body, lw);
        lower_nested(&s->step, lw);
    }
    lw->block = block;
}

static void lower_declare(kc_lowerer* lw, kc_stmt* s)
{
    kc_var* v = s->var;
    const kc_root* r = kc_root_of(v);
    if (!r) /* made by this pass */
        return;
    kc_expr* value = s->value;
    kc_block* const block = lw->block;
    if (r->index) {
        declare_pointer(lw, v, value);
        kc_block_remove(block, s);
        return;
    }
    const bool is_large = value && value->kind == KC_EX_LOAD && is_parted(r->type) &&
                          is_words(lw, value->args[0]) && part_count(r->type) > KC_MAX_AGGREGATE;
    if (!value || (!(r->memory && !r->memory->element) && !is_large)) {
        if (value) {
            value = lower_value(lw, value);
            s->value =
                r->memory && value->type != v->type ? kc_flat_value(lw, value, v->type) : value;
        }
        return;
    }
    s->value = NULL;
    if (value->kind == KC_EX_ZERO) {
        s->value = here(lw, kc_ex_zero(lw->m, v->type));
        return;
    }
    lw->before = s->next;
    kc_expr* place = here(lw, kc_ex_var(lw->m, v));
    place->type = r->type;
    lower_assign(lw, place, value);
    lw->before = s;
}

static void lower_stmt(kc_lowerer* lw, kc_stmt* s)
{
    lw->loc = s->loc;
    switch (s->kind) {
    case KC_ST_DECLARE: lower_declare(lw, s); return;
    case KC_ST_ASSIGN: {
        kc_block* const block = lw->block;
        lower_assign(lw, s->place, s->value);
        kc_block_remove(block, s);
        return;
    }
    case KC_ST_ATOMIC: lower_atomic(lw, s); return;
    case KC_ST_LOOP: lower_loop(lw, s); return;
    case KC_ST_CALL: {
        kc_expr* result;
        kc_var* plain;
        for (uint32_t i = 0; i < s->arg_count; i++)
            s->args[i] = lower_value(lw, s->args[i]);
        settle_result(lw, s, &result, &plain);
        lw->before = s->next;
        if (result)
            lower_assign(lw, result, here(lw, kc_ex_load_var(lw->m, plain)));
        return;
    }
    case KC_ST_PRINTF:
        for (uint32_t i = 0; i < s->arg_count; i++)
            if (kc_is_pointer(s->args[i]->type)) {
                kc_refuse(lw->m, lw->f, s->loc, KC_DIAG_TARGET_PRINTF,
                          "%s can't print what a pointer leads to", lw->target->name);
                s->args[i] = here(lw, kc_ex_zero(lw->m, lw->u32));
            }
        break;
    default: break;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        s->args[i] = lower_value(lw, s->args[i]);
    if (s->value)
        s->value = lower_value(lw, s->value);
    kc_stmt_walk_blocks(s, lower_nested, lw);
}

static void lower_block(kc_lowerer* lw, kc_block* b)
{
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        lw->block = b;
        lw->before = s;
        lw->is_lazy = false;
        lower_stmt(lw, s);
    }
}

/* ---- functions and modules ------------------------------------------------------------------- */

static void note_param(kc_expr** slot, void* user)
{
    (void)user;
    if (((*slot)->kind == KC_EX_VAR || (*slot)->kind == KC_EX_LOCAL_BYTES) &&
        kc_root_of((*slot)->u.var))
        kc_root_of((*slot)->u.var)->is_used = true;
}

static void note_params(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, note_param, user);
    if (s->kind == KC_ST_ASSIGN && s->place->kind == KC_EX_VAR)
        kc_root_of(s->place->u.var)->is_assigned = true;
    if (s->result)
        kc_root_of(s->result)->is_used = true;
}

/* The type of a variable that has become part of a memory. */
static const kc_type* memory_type(kc_lowerer* lw, const kc_root* r)
{
    const kc_memory* c = r->memory;
    if (!c->element)
        return kc_type_array(lw->m, c->word, (r->type->size + 3) / 4);
    if (r->type->kind != KC_TYPE_ARRAY || r->type->element == c->element)
        return r->type;
    return kc_type_array(lw->m, c->element, r->type->size / c->element->size);
}

/* A variable of the same kind beside v. */
static kc_var* make_beside(kc_lowerer* lw, const kc_var* v, const char* name, const kc_type* type)
{
    if (v->kind == KC_VAR_LOCAL)
        return kc_local_add(lw->m, lw->f, name, type, v->loc);
    if (v->kind == KC_VAR_CONSTANT)
        return kc_constant_add(lw->m, name, type, NULL, v->loc);
    return kc_temp_create(lw->m, lw->f, name, type, v->loc);
}

static void make_cells(kc_lowerer* lw, kc_var* v)
{
    kc_root* r = kc_root_of(v);
    const kc_type* type = index_type(lw, v->type);
    const bool is_several =
        r->held.count > 1 || r->held.may_be_null || (r->memory && r->memory->has_which);
    if (is_several)
        r->which = make_beside(lw, v, kc_format(lw->m->arena, "%s_root", v->name), type);
    if (v->kind == KC_VAR_PARAM || v->kind == KC_VAR_PRIVATE) {
        r->index = kc_temp_create(lw->m, lw->f, v->name, type, v->loc);
    } else {
        r->index = v;
        v->type = type;
    }
}

static void make_variable(kc_lowerer* lw, kc_var* v)
{
    kc_root* r = kc_root_of(v);
    if (kc_is_pointer(kc_innermost(v->type))) {
        make_cells(lw, v);
    } else if (r->memory) {
        r->made = v;
        v->type = memory_type(lw, r);
        v->align = 0;
    }
}

static void make_declared(kc_stmt* s, void* lowerer)
{
    if (s->kind == KC_ST_DECLARE && kc_root_of(s->var))
        make_variable(lowerer, s->var);
}

static uint64_t align_up(uint64_t n, uint64_t align)
{
    return align > 1 ? (n + align - 1) / align * align : n;
}

/* A kernel's argument by value, in the words that all of them are passed as; reflect.c has the
 * layout. */
static void make_value(kc_lowerer* lw, kc_var* param, kc_memory* push_memory, uint64_t offset)
{
    kc_root* r = kc_root_of(param);
    if (!r->is_used)
        return;
    kc_root* push = KC_NEW(lw->m->arena, kc_root);
    *push = (kc_root){.made = lw->f->push, .memory = push_memory};
    const kc_spot from = {.memory = push_memory,
                          .root = push,
                          .offset = (int64_t)offset,
                          .align = 16,
                          .type = param->type};
    r->made = kc_var_create(lw->m, lw->f, param->name, r->memory ? memory_type(lw, r) : param->type,
                            param->loc);
    if (r->memory && !r->memory->element) {
        const kc_spot to = {.memory = r->memory, .root = r, .align = 16, .type = param->type};
        emit_declare(lw, r->made, NULL);
        kc_spot_copy(lw, &to, &from, param->type->size, param->type->align);
    } else {
        emit_declare(lw, r->made, kc_spot_load(lw, &from));
    }
}

static void make_values(kc_lowerer* lw)
{
    kc_function* f = lw->f;
    kc_memory* memory = KC_NEW(lw->m->arena, kc_memory);
    *memory = (kc_memory){.word = lw->u32, .unit = 4};
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->param_count; i++)
        if (!kc_is_pointer(f->params[i]->type) && !f->push)
            kc_push_create(lw->m, f);
    for (uint32_t i = 0; i < f->param_count; i++) {
        const kc_type* t = f->params[i]->type;
        if (kc_is_pointer(t))
            continue;
        size = align_up(size, t->align);
        make_value(lw, f->params[i], memory, size);
        size += t->size;
    }
}

static void make_argument(kc_lowerer* lw, kc_var* param)
{
    kc_root* r = kc_root_of(param);
    const kc_memory* c = r->memory;
    const kc_type* type = kc_type_array(lw->m, c->element ? c->element : c->word, 0);
    if (param->type->space == KC_SPACE_LOCAL) {
        r->made = kc_local_add(lw->m, lw->f, param->name, type, param->loc);
        r->made->param = param;
    } else {
        r->made = kc_buffer_add(lw->m, lw->f, param, type);
    }
    if (r->is_assigned) {
        make_cells(lw, param);
        if (r->which)
            emit_declare(lw, r->which, kc_u32(lw, r->number));
        emit_declare(lw, r->index, kc_u32(lw, 0));
    }
}

/* A helper's parameter that is words there. */
static void make_helper_param(kc_lowerer* lw, kc_var* param)
{
    kc_root* r = kc_root_of(param);
    if (!r->memory)
        return;
    r->made = kc_var_create(lw->m, lw->f, param->name, memory_type(lw, r), param->loc);
    kc_expr* value = here(lw, kc_ex_load_var(lw->m, param));
    if (r->memory->element) {
        emit_declare(lw, r->made, value);
        return;
    }
    kc_var* given = kc_temp_create(lw->m, lw->f, param->name, param->type, param->loc);
    emit_declare(lw, given, value);
    emit_declare(lw, r->made, NULL);
    lower_assign(lw, here(lw, kc_ex_var(lw->m, param)), here(lw, kc_ex_load_var(lw->m, given)));
}

static void lower_function(kc_lowerer* lw, kc_function* f)
{
    lw->f = f;
    lw->loc = f->loc;
    kc_block_walk(&f->body, note_params, NULL);
    for (uint32_t i = 0; i < f->local_count; i++)
        make_variable(lw, f->locals[i]);
    kc_block_walk(&f->body, make_declared, lw);
    kc_block start = {0};
    lw->block = &start;
    lw->before = NULL;
    if (f->is_kernel)
        make_values(lw);
    for (uint32_t i = 0; i < f->param_count; i++)
        if (!f->is_kernel)
            make_helper_param(lw, f->params[i]);
        else if (is_argument(f->params[i]))
            make_argument(lw, f->params[i]);
    lower_block(lw, &f->body);
    for (kc_stmt* s = start.last; s;) {
        kc_stmt* previous = s->prev;
        s->prev = NULL;
        s->next = f->body.first;
        if (f->body.first)
            f->body.first->prev = s;
        else
            f->body.last = s;
        f->body.first = s;
        s = previous;
    }
}

static void lower_constant(kc_lowerer* lw, kc_var* v)
{
    const kc_root* r = kc_root_of(v);
    lw->loc = v->loc;
    if (r->index) {
        if (r->which)
            r->which->init = numbers_of(lw, clone(lw, v->init), true);
        v->init = numbers_of(lw, v->init, false);
    } else if (r->memory && !r->memory->element) {
        v->init = kc_words_of_constant(lw, r->memory, v->init);
        lw->is_refused |= !v->init;
    } else {
        v->init = lower_value(lw, v->init);
        if (v->init->type != v->type)
            v->init = kc_flat_value(lw, v->init, v->type);
    }
}

typedef struct kc_constant_use {
    kc_lowerer* lw;
    const kc_var* constant;
} kc_constant_use;

static void find_use(kc_expr** slot, void* user)
{
    const kc_constant_use* use = user;
    if ((*slot)->kind == KC_EX_VAR && (*slot)->u.var == use->constant)
        refuse_pointer(use->lw, use->constant->loc, "a constant that holds a pointer");
}

static void find_uses(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, find_use, user);
}

static void refuse_constant(kc_lowerer* lw, kc_var* v)
{
    for (lw->f = lw->m->functions; lw->f; lw->f = lw->f->next)
        kc_block_walk(&lw->f->body, find_uses, &(kc_constant_use){lw, v});
    lw->is_refused = false;
    v->init = here(lw, kc_ex_zero(lw->m, v->type));
}

static void lower_constants(kc_lowerer* lw)
{
    kc_module* m = lw->m;
    const uint32_t count = m->constant_count;
    for (uint32_t i = 0; i < count; i++)
        make_variable(lw, m->constants[i]);
    for (uint32_t i = 0; i < count; i++) {
        lower_constant(lw, m->constants[i]);
        if (lw->is_refused)
            refuse_constant(lw, m->constants[i]);
    }
}

/* No pointer is left in a record either. */
static void lower_record(kc_lowerer* lw, kc_record* r)
{
    r->is_packed = false;
    for (uint32_t i = 0; i < r->field_count; i++)
        r->fields[i].type = paired_type(lw, r->fields[i].type);
}

static void forget_var(kc_stmt* s, void* user)
{
    (void)user;
    if (s->kind == KC_ST_DECLARE)
        s->var->pass_data = NULL;
}

static void forget(kc_module* m)
{
    for (uint32_t i = 0; i < m->constant_count; i++)
        m->constants[i]->pass_data = NULL;
    for (kc_function* f = m->functions; f; f = f->next) {
        for (uint32_t i = 0; i < f->param_count; i++)
            f->params[i]->pass_data = NULL;
        for (uint32_t i = 0; i < f->local_count; i++)
            f->locals[i]->pass_data = NULL;
        kc_block_walk(&f->body, forget_var, NULL);
    }
}

bool kc_lower_pointers(kc_module* m, const kc_target* target)
{
    if (target->has_pointers)
        return true;
    do
        kc_forward_pointers(m);
    while (kc_split_records(m));
    kc_pass_fold(m);
    kc_find_memory(m, target);
    kc_lowerer lw = {.m = m,
                     .target = target,
                     .u32 = kc_type_int(m, 32, false),
                     .i32 = kc_type_int(m, 32, true)};
    lower_constants(&lw);
    for (kc_function* f = m->functions; f; f = f->next)
        lower_function(&lw, f);
    forget(m);
    for (uint32_t i = 0; i < m->record_count; i++)
        lower_record(&lw, m->records[i]);
    return m->diags->error_count == 0;
}
