/* A 64-bit integer is a pair of words, uint2, the low one first. What is done word by word is
 * written so; the rest are the PAIR builtins. */
#include "lower.h"
#include "rewrite.h"

static bool is_long(const kc_type* t)
{
    return t->kind == KC_TYPE_INT && t->width == 64;
}

static const kc_type* pair_type(kc_module* m, const kc_type* t)
{
    return is_long(t) ? kc_type_vector(m, kc_type_int(m, 32, false), 2) : t;
}

/* ---- words ----------------------------------------------------------------------------------- */

static kc_expr* pair(kc_rewrite* r, kc_expr* low, kc_expr* high)
{
    kc_expr* words[2] = {low, high};
    return kc_ex_list(r->m, KC_EX_COMPOSE, kc_rw_words(r, 2), 2, words);
}

static kc_expr* word(kc_rewrite* r, uint64_t bits)
{
    return kc_rw_int(r, kc_rw_words(r, 1), bits);
}

static kc_expr* low(kc_rewrite* r, kc_expr* e)
{
    return kc_rw_lane(r, e, 0);
}

static kc_expr* high(kc_rewrite* r, kc_expr* e)
{
    return kc_rw_lane(r, e, 1);
}

static const kc_type* int_type(kc_rewrite* r)
{
    return kc_type_int(r->m, 32, true);
}

/* The high word as an int, which has the number's sign. */
static kc_expr* signed_high(kc_rewrite* r, kc_expr* e)
{
    return kc_rw_bitcast(r, int_type(r), high(r, e));
}

static kc_expr* constant(kc_rewrite* r, uint64_t bits)
{
    const uint64_t words[2] = {bits & UINT32_MAX, bits >> 32};
    return kc_rw_constants(r, kc_rw_words(r, 2), words);
}

static bool is_constant(const kc_expr* e, uint64_t* bits)
{
    uint64_t words[2];
    if (!kc_rw_constant_lanes(e, words))
        return false;
    *bits = words[0] | words[1] << 32;
    return true;
}

static bool is_zero(const kc_expr* e)
{
    uint64_t bits;
    return is_constant(e, &bits) && bits == 0;
}

static kc_expr* call1(kc_rewrite* r, kc_builtin id, const kc_type* t, kc_expr* a)
{
    return kc_rw_builtin(r, id, t, a, NULL, NULL);
}

/* A builtin that gives a pair. */
static kc_expr* call2(kc_rewrite* r, kc_builtin id, kc_expr* a, kc_expr* b)
{
    return kc_rw_builtin(r, id, kc_rw_words(r, 2), a, b, NULL);
}

/* A shift count or an index, of which the lowest word is enough. */
static kc_expr* as_word(kc_rewrite* r, const kc_type* was, kc_expr* e)
{
    if (is_long(was))
        return low(r, e);
    return e->type->width == 32 ? kc_rw_bitcast(r, kc_rw_words(r, 1), e)
                                : kc_rw_convert(r, kc_rw_words(r, 1), e);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* By a constant of at least 32, which moves one word into the other. */
static kc_expr* shift_far(kc_rewrite* r, const kc_expr* old, kc_expr* a, uint32_t count)
{
    const bool is_left = old->u.op == KC_OP_SHL;
    const bool is_signed = !is_left && old->type->is_signed;
    if (is_signed)
        a = kc_rw_share(r, a);
    kc_expr* moved = is_left ? low(r, a) : is_signed ? signed_high(r, a) : high(r, a);
    if (count > 32)
        moved = kc_ex_binary(r->m, old->u.op, moved, word(r, count - 32));
    if (is_left)
        return pair(r, word(r, 0), moved);
    if (!is_signed)
        return pair(r, moved, word(r, 0));
    kc_expr* sign = signed_high(r, kc_ex_clone(r->m, a));
    sign = kc_ex_binary(r->m, KC_OP_SHR, sign, word(r, 31));
    return pair(r, kc_rw_bitcast(r, kc_rw_words(r, 1), moved),
                kc_rw_bitcast(r, kc_rw_words(r, 1), sign));
}

static kc_expr* shift(kc_rewrite* r, const kc_expr* old, kc_expr* a, kc_expr* count)
{
    count = as_word(r, old->args[1]->type, count);
    if (count->kind == KC_EX_CONST && count->u.bits % 64 >= 32)
        return shift_far(r, old, a, count->u.bits % 64);
    return call2(r,
                 old->u.op == KC_OP_SHL          ? KC_BUILTIN_I64_SHL
                 : old->args[0]->type->is_signed ? KC_BUILTIN_I64_SHR
                                                 : KC_BUILTIN_U64_SHR,
                 a, count);
}

static kc_expr* negated(kc_rewrite* r, kc_expr* condition)
{
    return kc_ex_unary(r->m, KC_OP_LOGICAL_NOT, condition);
}

static kc_expr* less(kc_rewrite* r, bool is_signed, kc_expr* a, kc_expr* b)
{
    if (is_signed && is_zero(b))
        return kc_rw_op_int(r, KC_OP_LT, signed_high(r, a), 0);
    return kc_rw_builtin(r, is_signed ? KC_BUILTIN_I64_LT : KC_BUILTIN_U64_LT, kc_type_bool(r->m),
                         a, b, NULL);
}

static kc_expr* not_less(kc_rewrite* r, bool is_signed, kc_expr* a, kc_expr* b)
{
    if (is_signed && is_zero(b))
        return kc_rw_op_int(r, KC_OP_GE, signed_high(r, a), 0);
    return negated(r, less(r, is_signed, a, b));
}

static kc_expr* equal(kc_rewrite* r, kc_expr* a, kc_expr* b)
{
    return kc_rw_builtin(r, KC_BUILTIN_I64_EQ, kc_type_bool(r->m), a, b, NULL);
}

/* COMPOSE(x, 0): what an unsigned word becomes. */
static bool is_extended_word(const kc_expr* e)
{
    return e->kind == KC_EX_COMPOSE && e->arg_count == 2 && e->args[1]->kind == KC_EX_CONST &&
           e->args[1]->u.bits == 0;
}

static kc_expr* binary(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t = old->args[0]->type;
    kc_expr *a = args[0], *b = args[1];
    if (!is_long(t)) { /* shifted by a long */
        return kc_ex_binary(r->m, old->u.op, a, as_word(r, old->args[1]->type, b));
    }
    const bool is_signed = t->is_signed;
    switch (old->u.op) {
    case KC_OP_ADD: return call2(r, KC_BUILTIN_I64_ADD, a, b);
    case KC_OP_SUB: return call2(r, KC_BUILTIN_I64_SUB, a, b);
    case KC_OP_MUL:
        if (is_extended_word(a) && is_extended_word(b))
            return call2(r, KC_BUILTIN_U64_MUL_WIDE, a->args[0], b->args[0]);
        return call2(r, KC_BUILTIN_I64_MUL, a, b);
    case KC_OP_DIV: return call2(r, is_signed ? KC_BUILTIN_I64_DIV : KC_BUILTIN_U64_DIV, a, b);
    case KC_OP_REM: return call2(r, is_signed ? KC_BUILTIN_I64_REM : KC_BUILTIN_U64_REM, a, b);
    case KC_OP_SHL:
    case KC_OP_SHR: return shift(r, old, a, b);
    case KC_OP_EQ: return equal(r, a, b);
    case KC_OP_NE: return negated(r, equal(r, a, b));
    case KC_OP_LT: return less(r, is_signed, a, b);
    case KC_OP_GE: return not_less(r, is_signed, a, b);
    case KC_OP_GT: return less(r, is_signed, b, a);
    case KC_OP_LE: return not_less(r, is_signed, b, a);
    default: return kc_ex_binary(r->m, old->u.op, a, b); /* bitwise */
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

static kc_builtin rounding(kc_builtin nearest, kc_round round)
{
    switch (round) {
    case KC_ROUND_ZERO: return nearest + 1;
    case KC_ROUND_UP: return nearest + 2;
    case KC_ROUND_DOWN: return nearest + 3;
    default: return nearest;
    }
}

/* The builtins' order in builtins.def. */
_Static_assert(KC_BUILTIN_I64_TO_FLOAT_RTN == KC_BUILTIN_I64_TO_FLOAT + 3, "");
_Static_assert(KC_BUILTIN_U64_TO_FLOAT_RTN == KC_BUILTIN_U64_TO_FLOAT + 3, "");

static kc_expr* from_float(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    switch (old->u.convert.round) {
    case KC_ROUND_EVEN: arg = call1(r, KC_BUILTIN_RINT, arg->type, arg); break;
    case KC_ROUND_UP: arg = call1(r, KC_BUILTIN_CEIL, arg->type, arg); break;
    case KC_ROUND_DOWN: arg = call1(r, KC_BUILTIN_FLOOR, arg->type, arg); break;
    default: break;
    }
    return call1(r, old->type->is_signed ? KC_BUILTIN_I64_FROM_FLOAT : KC_BUILTIN_U64_FROM_FLOAT,
                 kc_rw_words(r, 2), arg);
}

static kc_expr* to_long(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *to = old->type, *from = old->args[0]->type;
    const kc_type* uint_type = kc_rw_words(r, 1);
    const bool saturates = old->u.convert.saturate;
    if (from->kind == KC_TYPE_FLOAT)
        return from_float(r, old, arg);
    if (from->kind == KC_TYPE_BOOL)
        return pair(r, kc_rw_convert(r, uint_type, arg), word(r, 0));
    if (is_long(from)) {
        if (!saturates || to->is_signed == from->is_signed)
            return arg;
        return from->is_signed ? call2(r, KC_BUILTIN_I64_MAX, arg, constant(r, 0))
                               : call2(r, KC_BUILTIN_U64_MIN, arg, constant(r, UINT64_MAX >> 1));
    }
    if (!from->is_signed)
        return pair(r, kc_rw_convert(r, uint_type, arg), word(r, 0));
    if (saturates && !to->is_signed) {
        arg = kc_rw_builtin(r, KC_BUILTIN_MAX, arg->type, arg, kc_rw_int(r, arg->type, 0), NULL);
        return pair(r, kc_rw_convert(r, uint_type, arg), word(r, 0));
    }
    arg = kc_rw_convert(r, int_type(r), arg);
    if (arg->kind == KC_EX_CONST)
        return constant(r, arg->u.bits);
    return call1(r, KC_BUILTIN_I64_FROM_I32, kc_rw_words(r, 2), arg);
}

static kc_expr* from_long(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *to = old->type, *from = old->args[0]->type;
    if (to->kind == KC_TYPE_BOOL)
        return negated(r, equal(r, arg, constant(r, 0)));
    if (to->kind == KC_TYPE_FLOAT) {
        const kc_builtin nearest =
            from->is_signed ? KC_BUILTIN_I64_TO_FLOAT : KC_BUILTIN_U64_TO_FLOAT;
        return call1(r, rounding(nearest, old->u.convert.round), to, arg);
    }
    if (!old->u.convert.saturate)
        return kc_rw_convert(r, to, low(r, arg));
    const kc_builtin id =
        from->is_signed ? (to->is_signed ? KC_BUILTIN_I64_TO_I32_SAT : KC_BUILTIN_I64_TO_U32_SAT)
                        : (to->is_signed ? KC_BUILTIN_U64_TO_I32_SAT : KC_BUILTIN_U64_TO_U32_SAT);
    const kc_type* t = to->is_signed ? int_type(r) : kc_rw_words(r, 1);
    kc_expr* e = call1(r, id, t, arg);
    return to == t ? e : kc_ex_convert(r->m, to, e, KC_ROUND_DEFAULT, true);
}

/* ---- builtins -------------------------------------------------------------------------------- */

typedef struct kc_forms {
    kc_builtin of_long, of_ulong;
} kc_forms;

/* Builtins that a PAIR builtin of as many arguments does; ROUND_HALF, which no one asks for: none.
 */
static kc_forms forms_of(kc_builtin id)
{
#define BOTH(name)                                                                                 \
    (kc_forms)                                                                                     \
    {                                                                                              \
        KC_BUILTIN_I64_##name, KC_BUILTIN_U64_##name                                               \
    }
#define ONE(name)                                                                                  \
    (kc_forms)                                                                                     \
    {                                                                                              \
        KC_BUILTIN_I64_##name, KC_BUILTIN_I64_##name                                               \
    }
    switch (id) {
    case KC_BUILTIN_ABS_DIFF: return BOTH(ABS_DIFF);
    case KC_BUILTIN_ADD_SAT: return BOTH(ADD_SAT);
    case KC_BUILTIN_SUB_SAT: return BOTH(SUB_SAT);
    case KC_BUILTIN_HADD: return BOTH(HADD);
    case KC_BUILTIN_RHADD: return BOTH(RHADD);
    case KC_BUILTIN_MUL_HI: return BOTH(MUL_HI);
    case KC_BUILTIN_MAD_SAT: return BOTH(MAD_SAT);
    case KC_BUILTIN_MIN: return BOTH(MIN);
    case KC_BUILTIN_MAX: return BOTH(MAX);
    case KC_BUILTIN_CLZ: return ONE(CLZ);
    case KC_BUILTIN_POPCOUNT: return ONE(POPCOUNT);
    case KC_BUILTIN_MUL24: return ONE(MUL);
    default: return (kc_forms){KC_BUILTIN_ROUND_HALF, KC_BUILTIN_ROUND_HALF};
    }
#undef BOTH
#undef ONE
}

static kc_expr* builtin(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t = old->args[0]->type;
    const kc_type* pair_of_words = kc_rw_words(r, 2);
    kc_expr *a = args[0], *b = old->arg_count > 1 ? args[1] : NULL;
    kc_expr* c = old->arg_count > 2 ? args[2] : NULL;
    const bool is_signed = t->is_signed;
    if (old->u.builtin == KC_BUILTIN_UPSAMPLE)
        return pair(r, b, kc_rw_bitcast(r, kc_rw_words(r, 1), a));
    if (!is_long(t))
        return NULL;
    switch (old->u.builtin) {
    case KC_BUILTIN_ABS: return is_signed ? call1(r, KC_BUILTIN_I64_ABS, pair_of_words, a) : a;
    case KC_BUILTIN_MAD_HI:
        a = call2(r, is_signed ? KC_BUILTIN_I64_MUL_HI : KC_BUILTIN_U64_MUL_HI, a, b);
        return call2(r, KC_BUILTIN_I64_ADD, a, c);
    case KC_BUILTIN_MAD24:
        return call2(r, KC_BUILTIN_I64_ADD, call2(r, KC_BUILTIN_I64_MUL, a, b), c);
    case KC_BUILTIN_CLAMP:
        a = call2(r, is_signed ? KC_BUILTIN_I64_MAX : KC_BUILTIN_U64_MAX, a, b);
        return call2(r, is_signed ? KC_BUILTIN_I64_MIN : KC_BUILTIN_U64_MIN, a, c);
    case KC_BUILTIN_ROTATE: return call2(r, KC_BUILTIN_I64_ROTATE, a, low(r, b));
    case KC_BUILTIN_BITSELECT:
        return kc_rw_builtin(r, KC_BUILTIN_BITSELECT, pair_of_words, a, b, c);
    case KC_BUILTIN_SELECT: return kc_ex_select(r->m, equal(r, c, constant(r, 0)), a, b);
    case KC_BUILTIN_ANY:
    case KC_BUILTIN_ALL:
        return kc_rw_builtin(r, old->u.builtin, old->type, signed_high(r, a), NULL, NULL);
    default: break;
    }
    const kc_forms forms = forms_of(old->u.builtin);
    return kc_rw_builtin(r, is_signed ? forms.of_long : forms.of_ulong, pair_of_words, a, b, c);
}

/* ---- the rules ------------------------------------------------------------------------------- */

static kc_expr* long_expr(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    if (!kc_rw_touches(old, is_long))
        return NULL;
    switch (old->kind) {
    case KC_EX_CONST: return constant(r, old->u.bits);
    case KC_EX_INDEX: return kc_ex_index(r->m, args[0], as_word(r, old->args[1]->type, args[1]));
    case KC_EX_WORK_ITEM:
        return kc_ex_work_item(r->m, old->u.query, as_word(r, old->args[0]->type, args[0]));
    case KC_EX_UNARY:
        if (old->u.op == KC_OP_NEG)
            return call1(r, KC_BUILTIN_I64_NEG, args[0]->type, args[0]);
        return NULL;
    case KC_EX_BINARY: return binary(r, old, args);
    case KC_EX_CONVERT:
        return is_long(old->type) ? to_long(r, old, args[0]) : from_long(r, old, args[0]);
    case KC_EX_BITCAST: return kc_rw_bitcast(r, pair_type(r->m, old->type), args[0]);
    case KC_EX_BUILTIN: return builtin(r, old, args);
    default: return NULL;
    }
}

/* A number for each label, which the cases then have in the place of their values; one more for
 * none of them. */
static bool switch_on_word(kc_rewrite* r, kc_stmt* s)
{
    if (s->kind != KC_ST_SWITCH || !is_long(s->value->type))
        return false;
    kc_expr* value = kc_rw_share(r, kc_rw_expr(r, s->value));
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->case_count; i++)
        count += s->cases[i].value_count;
    kc_expr* number = word(r, count);
    for (uint32_t i = s->case_count; i-- > 0;)
        for (uint32_t j = s->cases[i].value_count; j-- > 0;) {
            uint64_t* label = &s->cases[i].values[j];
            kc_expr* is_this = equal(r, kc_ex_clone(r->m, value), constant(r, *label));
            *label = --count;
            kc_expr* this_number = word(r, *label);
            number = kc_ex_select(r->m, is_this, this_number, number);
            if (count % 32 == 0) /* so that no expression gets deep */
                number = kc_rw_share(r, number);
        }
    s->value = number;
    return true;
}

bool kc_lower_int64(kc_module* m, const kc_target* target)
{
    static const kc_rewrite_rules rules = {
        .type = pair_type, .expr = long_expr, .stmt = switch_on_word};
    if (!target->has_int64)
        kc_rewrite_module(m, &rules);
    return true;
}
