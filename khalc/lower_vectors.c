/* Vectors of 8 and 16 lanes become arrays of vectors of 4, vectors of 64-bit lanes arrays of
 * scalars: the *parts*. A new expression of such a type is an AGGREGATE of its parts, a LOAD, or
 * ZERO. */
#include "lower.h"
#include "rewrite.h"

#include <string.h>

static bool is_wide(const kc_type* t)
{
    return kc_is_vector(t) && (t->count > 4 || t->element->width == 64);
}

static uint32_t part_lanes(const kc_type* wide)
{
    return wide->element->width == 64 ? 1 : 4;
}

/* `count` lanes of t's lane type, 1 to 4. */
static const kc_type* lanes_type(kc_module* m, const kc_type* t, uint32_t count)
{
    return count == 1 ? kc_lane(t) : kc_type_vector(m, kc_lane(t), count);
}

static const kc_type* split_type(kc_module* m, const kc_type* t)
{
    if (!is_wide(t))
        return t;
    const uint32_t n = part_lanes(t);
    return kc_type_array(m, lanes_type(m, t, n), t->count / n);
}

/* ---- parts and lanes ------------------------------------------------------------------------- */

enum { MAX_LANES = 2 * KC_MAX_LANES };

/* Lanes of values, in any order. */
typedef struct kc_lanes {
    uint32_t count;
    struct {
        kc_expr* e; /* a scalar, or a vector of 2 to 4; the same in several lanes */
        uint8_t lane;
        bool is_shared; /* a copy of e is to be used */
    } at[MAX_LANES];
} kc_lanes;

static kc_expr* part_place(kc_rewrite* r, const kc_expr* place, uint32_t part)
{
    kc_expr* index = kc_ex_const_int(r->m, kc_rw_words(r, 1), part);
    return kc_ex_index(r->m, kc_ex_clone(r->m, place), index);
}

/* A part of a new expression of an array type; each may be asked for once. */
static kc_expr* part_of(kc_rewrite* r, kc_expr* e, uint32_t part)
{
    switch (e->kind) {
    case KC_EX_AGGREGATE: return e->args[part];
    case KC_EX_ZERO: return kc_ex_zero(r->m, e->type->element);
    default:
        kc_rw_share_place(r, e->args[0]);
        return kc_ex_load(r->m, part_place(r, e->args[0], part));
    }
}

static void add_lane(kc_lanes* to, kc_expr* e, uint32_t lane)
{
    to->at[to->count].e = e;
    to->at[to->count].is_shared = false;
    to->at[to->count++].lane = (uint8_t)lane;
}

static void add_lanes(kc_rewrite* r, kc_lanes* to, kc_expr* e)
{
    if (e->kind == KC_EX_COMPOSE) {
        for (uint32_t i = 0; i < e->arg_count; i++)
            add_lanes(r, to, e->args[i]);
    } else if (e->type->kind == KC_TYPE_ARRAY) {
        for (uint32_t i = 0; i < e->type->count; i++)
            add_lanes(r, to, part_of(r, e, i));
    } else {
        for (uint32_t i = 0; i < kc_lane_count(e->type); i++)
            if (e->kind == KC_EX_SPLAT)
                add_lane(to, e->args[0], 0);
            else
                add_lane(to, e, i);
    }
}

static kc_lanes lanes_of(kc_rewrite* r, kc_expr* e)
{
    kc_lanes l = {0};
    add_lanes(r, &l, e);
    return l;
}

static kc_lanes pick(const kc_lanes* from, uint32_t count, const uint8_t* index)
{
    kc_lanes l = {.count = count};
    for (uint32_t i = 0; i < count; i++)
        l.at[i] = from->at[index[i]];
    return l;
}

static void replace(kc_lanes* l, const kc_expr* e, kc_expr* by)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->at[i].e == e) {
            l->at[i].e = by;
            l->at[i].is_shared = true;
        }
}

/* What stands more than once in expressions that are made of `piece` lanes each goes into a
 * variable. */
static void share(kc_rewrite* r, kc_lanes* l, uint32_t piece)
{
    for (uint32_t i = 0; i < l->count; i++) {
        kc_expr* e = l->at[i].e;
        uint32_t uses = 0;
        for (uint32_t j = i; j < l->count; j++)
            uses += l->at[j].e == e && (j == i || j % piece == 0 || l->at[j - 1].e != e);
        if (uses > 1 && !l->at[i].is_shared)
            replace(l, e, kc_rw_share(r, e));
    }
}

static kc_expr* run_of(kc_rewrite* r, const kc_lanes* l, uint32_t first, uint32_t count)
{
    kc_expr* e = l->at[first].e;
    if (l->at[first].is_shared)
        e = kc_ex_clone(r->m, e);
    const uint32_t n = kc_lane_count(e->type);
    if (n == 1)
        return count == 1 ? e : kc_ex_splat(r->m, lanes_type(r->m, e->type, count), e);
    uint8_t index[4];
    bool is_whole = count == n;
    for (uint32_t i = 0; i < count; i++) {
        index[i] = l->at[first + i].lane;
        is_whole &= index[i] == i;
    }
    return is_whole ? e : kc_rw_swizzle(r, e, count, index);
}

/* One piece of shared lanes as a scalar or vector. */
static kc_expr* assemble(kc_rewrite* r, const kc_lanes* l, uint32_t first, uint32_t count)
{
    kc_expr* runs[4] = {0};
    uint32_t run_count = 0;
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && l->at[first + next].e == l->at[first + i].e; next++)
            ;
        runs[run_count++] = run_of(r, l, first + i, next - i);
    }
    if (run_count == 1)
        return runs[0];
    return kc_ex_list(r->m, KC_EX_COMPOSE, lanes_type(r->m, runs[0]->type, count), run_count, runs);
}

/* The value of type `t` that has these lanes. */
static kc_expr* from_lanes(kc_rewrite* r, const kc_type* t, kc_lanes* l)
{
    if (!is_wide(t)) {
        share(r, l, 4);
        return assemble(r, l, 0, l->count);
    }
    const uint32_t n = part_lanes(t);
    share(r, l, n);
    kc_expr* parts[KC_MAX_LANES];
    for (uint32_t i = 0; i < l->count; i += n)
        parts[i / n] = assemble(r, l, i, n);
    return kc_ex_list(r->m, KC_EX_AGGREGATE, split_type(r->m, t), l->count / n, parts);
}

/* ---- lane by lane ---------------------------------------------------------------------------- */

/* 0 or -1 in an integer of type t. */
static kc_expr* mask(kc_rewrite* r, const kc_type* t, kc_expr* condition)
{
    return kc_ex_select(r->m, condition, kc_ex_const_int(r->m, t, UINT64_MAX),
                        kc_ex_const_int(r->m, t, 0));
}

/* select() of vectors looks at the top bit, of scalars at all of them. */
static kc_expr* select_lane(kc_rewrite* r, kc_expr** args)
{
    kc_expr* c = args[2];
    const bool is_mask = c->kind == KC_EX_SELECT && c->args[1]->kind == KC_EX_CONST &&
                         c->args[1]->u.bits == UINT64_MAX && c->args[2]->kind == KC_EX_CONST &&
                         c->args[2]->u.bits == 0;
    const kc_type* t = kc_type_int(r->m, c->type->width, true);
    c = is_mask ? c->args[0] : kc_rw_op_int(r, KC_OP_LT, kc_rw_bitcast(r, t, c), 0);
    return kc_ex_select(r->m, c, args[1], args[0]);
}

/* `old`, done to pieces of its operands. */
static kc_expr* piece_of(kc_rewrite* r, const kc_expr* old, kc_expr** args, uint32_t count)
{
    const kc_type* t = lanes_type(r->m, old->type, count);
    switch (old->kind) {
    case KC_EX_UNARY: return kc_ex_unary(r->m, old->u.op, args[0]);
    case KC_EX_BINARY: {
        kc_expr* e = kc_ex_binary(r->m, old->u.op, args[0], args[1]);
        return e->type->kind == KC_TYPE_BOOL ? mask(r, t, e) : e;
    }
    case KC_EX_CONVERT:
        return kc_ex_convert(r->m, t, args[0], old->u.convert.round, old->u.convert.saturate);
    case KC_EX_BITCAST: return kc_rw_bitcast(r, t, args[0]);
    default:
        if (old->u.builtin == KC_BUILTIN_SELECT && count == 1)
            return select_lane(r, args);
        return kc_ex_builtin(r->m, old->u.builtin, t, old->arg_count, args);
    }
}

static kc_expr* lane_by_lane(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const uint32_t count = kc_lane_count(old->type);
    uint32_t piece = kc_lane(old->type)->width == 64 ? 1 : 4;
    for (uint32_t i = 0; i < old->arg_count; i++)
        if (kc_lane(old->args[i]->type)->width == 64)
            piece = 1;
    kc_lanes operands[3];
    for (uint32_t i = 0; i < old->arg_count; i++) {
        operands[i] = lanes_of(r, args[i]);
        share(r, &operands[i], piece);
    }
    kc_lanes result = {0};
    for (uint32_t first = 0; first < count; first += piece) {
        kc_expr* of_piece[3];
        for (uint32_t i = 0; i < old->arg_count; i++)
            of_piece[i] = assemble(r, &operands[i], first, piece);
        add_lanes(r, &result, piece_of(r, old, of_piece, piece));
    }
    return from_lanes(r, old->type, &result);
}

static kc_expr* select_parts(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    kc_expr* condition = kc_rw_share(r, args[0]);
    const kc_type* t = split_type(r->m, old->type);
    kc_expr* parts[KC_MAX_LANES];
    for (uint32_t i = 0; i < t->count; i++)
        parts[i] = kc_ex_select(r->m, kc_ex_clone(r->m, condition), part_of(r, args[1], i),
                                part_of(r, args[2], i));
    return kc_ex_list(r->m, KC_EX_AGGREGATE, t, (uint32_t)t->count, parts);
}

/* any and all look at the top bits: those of all parts joined. */
static kc_expr* reduce(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_op op = old->u.builtin == KC_BUILTIN_ANY ? KC_OP_OR : KC_OP_AND;
    kc_expr* joined = part_of(r, arg, 0);
    for (uint32_t i = 1; i < arg->type->count; i++)
        joined = kc_ex_binary(r->m, op, joined, part_of(r, arg, i));
    return kc_rw_builtin(r, old->u.builtin, old->type, joined, NULL, NULL);
}

/* ---- as_type between shapes ------------------------------------------------------------------ */

static void add_words(kc_rewrite* r, kc_lanes* words, kc_expr* e)
{
    const uint32_t count = (uint32_t)e->type->size / 4;
    const bool has_words = kc_lane(e->type)->width == 32;
    const uint32_t used = has_words ? kc_lane_count(e->type) : count;
    add_lanes(r, words, kc_rw_bitcast(r, kc_rw_words(r, used), e));
    for (uint32_t i = used; i < count; i++) /* the fourth of three */
        add_lanes(r, words, kc_ex_const_int(r->m, kc_rw_words(r, 1), 0));
}

static kc_expr* bitcast(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *to = old->type, *from = old->args[0]->type;
    if (kc_lane(to)->width == kc_lane(from)->width && kc_lane_count(to) == kc_lane_count(from))
        return lane_by_lane(r, old, &arg);
    kc_lanes words = {0};
    if (is_wide(from))
        for (uint32_t i = 0; i < arg->type->count; i++)
            add_words(r, &words, part_of(r, arg, i));
    else
        add_words(r, &words, arg);
    while (words.count < to->size / 4)
        add_lanes(r, &words, kc_ex_const_int(r->m, kc_rw_words(r, 1), 0));
    const uint32_t lanes = is_wide(to) ? part_lanes(to) : kc_lane_count(to);
    const kc_type* part = lanes_type(r->m, to, lanes);
    const uint32_t size = kc_lane(to)->width == 32 ? lanes : (uint32_t)part->size / 4;
    share(r, &words, size);
    kc_lanes result = {0};
    for (uint32_t i = 0; result.count < kc_lane_count(to); i += size)
        add_lanes(r, &result, kc_rw_bitcast(r, part, assemble(r, &words, i, size)));
    return from_lanes(r, to, &result);
}

/* ---- lanes chosen ---------------------------------------------------------------------------- */

static kc_expr* compose(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    kc_lanes l = {0};
    for (uint32_t i = 0; i < old->arg_count; i++)
        add_lanes(r, &l, args[i]);
    return from_lanes(r, old->type, &l);
}

static kc_expr* splat(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    kc_lanes l = {0};
    for (uint32_t i = 0; i < old->type->count; i++)
        add_lane(&l, arg, 0);
    return from_lanes(r, old->type, &l);
}

static kc_expr* swizzle(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_lanes all = lanes_of(r, arg);
    kc_lanes l = pick(&all, old->u.lanes.count, old->u.lanes.index);
    return from_lanes(r, old->type, &l);
}

/* The lanes of shuffle's vectors, as a place that can be indexed and repeated. */
static kc_expr* table_of(kc_rewrite* r, kc_lanes* l, uint32_t width)
{
    const uint32_t n = width == 64 ? 1 : l->count < 4 ? l->count : 4;
    share(r, l, n);
    kc_expr* parts[MAX_LANES];
    for (uint32_t i = 0; i < l->count; i += n)
        parts[i / n] = assemble(r, l, i, n);
    kc_expr* table = parts[0];
    if (l->count > n)
        table = kc_ex_list(r->m, KC_EX_AGGREGATE, kc_type_array(r->m, parts[0]->type, l->count / n),
                           l->count / n, parts);
    return kc_rw_temp(r, table)->args[0];
}

static kc_expr* from_table(kc_rewrite* r, const kc_expr* table, kc_expr* index)
{
    kc_expr* place = kc_ex_clone(r->m, table);
    if (table->type->kind != KC_TYPE_ARRAY || !kc_is_vector(table->type->element))
        return kc_ex_load(r->m, kc_ex_index(r->m, place, index));
    index = kc_rw_share(r, index);
    place = kc_ex_index(r->m, place, kc_rw_op_int(r, KC_OP_SHR, index, 2));
    index = kc_rw_op_int(r, KC_OP_AND, kc_ex_clone(r->m, index), 3);
    return kc_ex_load(r->m, kc_ex_index(r->m, place, index));
}

static kc_expr* shuffle(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const uint32_t last = old->arg_count - 1;
    const bool is_place = last == 1 && args[0]->kind == KC_EX_LOAD && kc_rw_is_cheap(args[0]);
    kc_lanes from = {0};
    for (uint32_t i = 0; i < last; i++)
        add_lanes(r, &from, args[i]);
    kc_lanes index = lanes_of(r, args[last]);
    kc_lanes result = {.count = index.count};
    bool is_known = true;
    for (uint32_t i = 0; i < index.count; i++) {
        const kc_expr* e = index.at[i].e;
        is_known &= e->kind == KC_EX_CONST || e->kind == KC_EX_ZERO;
        if (is_known)
            result.at[i] = from.at[e->kind == KC_EX_CONST ? e->u.bits & (from.count - 1) : 0];
    }
    if (is_known)
        return from_lanes(r, old->type, &result);
    share(r, &index, 1);
    const kc_expr* table =
        is_place ? args[0]->args[0] : table_of(r, &from, kc_lane(old->type)->width);
    result.count = 0;
    for (uint32_t i = 0; i < index.count; i++) {
        kc_expr* e = kc_rw_convert(r, kc_rw_words(r, 1), assemble(r, &index, i, 1));
        add_lanes(r, &result, from_table(r, table, kc_rw_op_int(r, KC_OP_AND, e, from.count - 1)));
    }
    return from_lanes(r, old->type, &result);
}

/* ---- places ---------------------------------------------------------------------------------- */

static kc_expr* one_lane(kc_rewrite* r, const kc_type* wide, kc_expr* place, uint32_t lane)
{
    const uint32_t n = part_lanes(wide);
    place = part_place(r, place, lane / n);
    return n == 1 ? place : kc_ex_lanes(r->m, place, 1, &(uint8_t){(uint8_t)(lane % n)});
}

static kc_expr* index_lane(kc_rewrite* r, const kc_type* wide, kc_expr* place, kc_expr* index)
{
    if (index->kind == KC_EX_CONST)
        return one_lane(r, wide, place, (uint32_t)(index->u.bits % wide->count));
    if (part_lanes(wide) == 1)
        return kc_ex_index(r->m, place, index);
    if (index->type->width != 32)
        index = kc_rw_convert(r, kc_type_int(r->m, 32, index->type->is_signed), index);
    index = kc_rw_share(r, index);
    place = kc_ex_index(r->m, place, kc_rw_op_int(r, KC_OP_SHR, index, 2));
    return kc_ex_index(r->m, place, kc_rw_op_int(r, KC_OP_AND, kc_ex_clone(r->m, index), 3));
}

/* The vector that `place`, LANES, is lanes of in the end, where that is a wide one; and which. */
static const kc_expr* wide_lanes(const kc_expr* place, uint32_t* count, uint8_t* index)
{
    if (place->kind != KC_EX_LANES)
        return NULL;
    *count = place->u.lanes.count;
    memcpy(index, place->u.lanes.index, *count);
    for (place = place->args[0]; place->kind == KC_EX_LANES; place = place->args[0])
        for (uint32_t i = 0; i < *count; i++)
            index[i] = place->u.lanes.index[index[i]];
    return is_wide(place->type) ? place : NULL;
}

static kc_expr* load_lanes(kc_rewrite* r, const kc_expr* old)
{
    uint32_t count;
    uint8_t index[KC_MAX_LANES];
    const kc_expr* base = old->kind == KC_EX_LOAD ? wide_lanes(old->args[0], &count, index) : NULL;
    if (!base)
        return NULL;
    kc_expr* place = kc_rw_expr(r, base);
    if (count == 1)
        return kc_ex_load(r->m, one_lane(r, base->type, place, index[0]));
    const kc_lanes all = lanes_of(r, kc_ex_load(r->m, place));
    kc_lanes l = pick(&all, count, index);
    return from_lanes(r, old->type, &l);
}

/* All is computed before a part of the vector is assigned. */
static void keep_values(kc_rewrite* r, kc_lanes* l, const kc_var* assigned)
{
    for (uint32_t i = 0; i < l->count; i++) {
        kc_expr* e = l->at[i].e;
        if (!l->at[i].is_shared)
            replace(l, e, kc_rw_is_cheap(e) && !kc_ex_names(e, assigned) ? e : kc_rw_temp(r, e));
    }
}

/* Lanes of a wide vector: an assignment for each part that has some of them, s the last. */
static bool assign_lanes(kc_rewrite* r, kc_stmt* s)
{
    uint32_t count;
    uint8_t index[KC_MAX_LANES];
    const kc_expr* base = s->kind == KC_ST_ASSIGN ? wide_lanes(s->place, &count, index) : NULL;
    if (!base)
        return false;
    kc_expr* place = kc_rw_share_place(r, kc_rw_expr(r, base));
    kc_lanes value = lanes_of(r, kc_rw_expr(r, s->value));
    const uint32_t n = part_lanes(base->type);
    bool is_one = true;
    for (uint32_t i = 0; i < count; i++)
        is_one &= index[i] / n == index[0] / n;
    if (!is_one)
        keep_values(r, &value, kc_place_root(place));
    bool is_first = true;
    for (uint32_t part = 0; part * n < base->type->count; part++) {
        kc_lanes l = {0};
        uint8_t lanes[4];
        bool is_whole = true;
        for (uint32_t i = 0; i < count; i++)
            if (index[i] / n == part) {
                lanes[l.count] = index[i] % (uint8_t)n;
                is_whole &= lanes[l.count] == l.count;
                l.at[l.count++] = value.at[i];
            }
        if (!l.count)
            continue;
        kc_expr* to = part_place(r, place, part);
        share(r, &l, 4);
        if (!is_first)
            kc_st_assign(r->m, &r->pending, s->place, s->value, s->loc);
        s->place = is_whole && l.count == n ? to : kc_ex_lanes(r->m, to, l.count, lanes);
        s->value = assemble(r, &l, 0, l.count);
        is_first = false;
    }
    return true;
}

/* ---- the rules ------------------------------------------------------------------------------- */

static kc_expr* split_expr(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    if (!kc_rw_touches(old, is_wide))
        return NULL;
    switch (old->kind) {
    case KC_EX_INDEX:
        return is_wide(old->args[0]->type) ? index_lane(r, old->args[0]->type, args[0], args[1])
                                           : NULL;
    case KC_EX_LANES:
        return is_wide(old->args[0]->type) && old->u.lanes.count == 1
                   ? one_lane(r, old->args[0]->type, args[0], old->u.lanes.index[0])
                   : NULL;
    case KC_EX_UNARY:
    case KC_EX_BINARY:
    case KC_EX_CONVERT: return lane_by_lane(r, old, args);
    case KC_EX_BITCAST: return bitcast(r, old, args[0]);
    case KC_EX_SELECT: return select_parts(r, old, args);
    case KC_EX_COMPOSE: return compose(r, old, args);
    case KC_EX_SPLAT: return splat(r, old, args[0]);
    case KC_EX_SWIZZLE: return swizzle(r, old, args[0]);
    case KC_EX_BUILTIN:
        switch (old->u.builtin) {
        case KC_BUILTIN_ANY:
        case KC_BUILTIN_ALL: return reduce(r, old, args[0]);
        case KC_BUILTIN_SHUFFLE:
        case KC_BUILTIN_SHUFFLE2: return shuffle(r, old, args);
        default: return lane_by_lane(r, old, args);
        }
    default: return NULL;
    }
}

bool kc_lower_vectors(kc_module* m, const kc_target* target)
{
    static const kc_rewrite_rules rules = {
        .type = split_type, .expr = split_expr, .whole = load_lanes, .stmt = assign_lanes};
    if (!target->has_wide_vectors)
        kc_rewrite_module(m, &rules);
    return true;
}
