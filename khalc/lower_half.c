/* A half is held in a float of the same value, which is rounded after each operation that may leave
 * the halves. A float has more than twice a half's digits, so rounding the float sum, difference or
 * product again gives what rounding once would. */
#include "lower.h"
#include "rewrite.h"

#include <math.h>
#include <string.h>

static bool is_half(const kc_type* t)
{
    return kc_is_float(t) && kc_lane(t)->width == 16;
}

static const kc_type* half_type(kc_module* m, const kc_type* t)
{
    return is_half(t) ? kc_type_with_lane(m, t, kc_type_float(m, 32)) : t;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Of what is no NaN. */
static double half_value(uint64_t bits)
{
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = (int)(bits >> 10 & 31);
    const double digits = (double)(bits & 0x3FF);
    if (exponent == 31)
        return sign * (double)INFINITY;
    return sign * (exponent ? ldexp(digits + 1024, exponent - 25) : ldexp(digits, -24));
}

/* The bits of the float that has a half's value. */
static uint64_t float_bits(uint64_t half)
{
    if ((half & 0x7FFF) > 0x7C00) /* a NaN keeps its own */
        return (half & 0x8000) << 16 | 0x7F800000 | (half & 0x3FF) << 13;
    const float value = (float)half_value(half);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t rounded_bits(const kc_type* from, uint64_t bits)
{
    double value = (double)bits;
    if (from->kind == KC_TYPE_FLOAT) {
        float f;
        const uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, sizeof f);
        value = (double)f;
    } else if (from->is_signed) {
        value = (double)(int64_t)bits;
    }
    return kc_half_bits(value);
}

/* The nearest halves of constants, or NULL. */
static kc_expr* rounded_constant(kc_rewrite* r, const kc_type* from, const kc_expr* e)
{
    uint64_t bits[KC_MAX_LANES];
    if (!kc_rw_constant_lanes(e, bits))
        return NULL;
    for (uint32_t i = 0; i < kc_lane_count(from); i++)
        bits[i] = float_bits(rounded_bits(kc_lane(from), bits[i]));
    return kc_rw_constants(r, kc_type_with_lane(r->m, from, kc_type_float(r->m, 32)), bits);
}

/* ---- conversions ----------------------------------------------------------------------------- */

static kc_expr* round_half(kc_rewrite* r, kc_expr* e)
{
    return kc_rw_builtin(r, KC_BUILTIN_ROUND_HALF, e->type, e, NULL, NULL);
}

/* A float or integer of the same lanes; what rounds differently in float is brought into range
 * first: beyond 2^20 all become infinity, or the largest half. */
static kc_expr* as_float(kc_rewrite* r, const kc_type* to, kc_expr* e)
{
    if (kc_is_integer(e->type) && kc_lane(e->type)->width == 64) {
        const kc_type* t = kc_type_int(r->m, 32, kc_lane(e->type)->is_signed);
        t = kc_type_with_lane(r->m, e->type, t);
        e = kc_ex_convert(r->m, t, e, KC_ROUND_DEFAULT, true);
    }
    if (kc_is_integer(e->type) && kc_lane(e->type)->width == 32) {
        const kc_type* t = e->type;
        kc_expr* high = kc_rw_int(r, t, 1 << 20);
        e = kc_lane(t)->is_signed ? kc_rw_builtin(r, KC_BUILTIN_CLAMP, t, e,
                                                  kc_rw_int(r, t, 0 - (UINT64_C(1) << 20)), high)
                                  : kc_rw_builtin(r, KC_BUILTIN_MIN, t, e, high, NULL);
    }
    return kc_rw_convert(r, to, e);
}

static kc_expr* to_half(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *from = old->args[0]->type, *to = half_type(r->m, old->type);
    const bool is_exact = is_half(from) || from->kind == KC_TYPE_BOOL ||
                          (kc_is_integer(from) && kc_lane(from)->width == 8);
    if (is_exact)
        return kc_rw_convert(r, to, arg);
    const kc_round round = old->u.convert.round;
    kc_expr* constant = round <= KC_ROUND_EVEN ? rounded_constant(r, from, arg) : NULL;
    if (constant)
        return constant;
    const kc_builtin id = round == KC_ROUND_ZERO   ? KC_BUILTIN_ROUND_HALF_RTZ
                          : round == KC_ROUND_UP   ? KC_BUILTIN_ROUND_HALF_RTP
                          : round == KC_ROUND_DOWN ? KC_BUILTIN_ROUND_HALF_RTN
                                                   : KC_BUILTIN_ROUND_HALF;
    return kc_rw_builtin(r, id, to, as_float(r, to, arg), NULL, NULL);
}

static kc_expr* convert(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    if (is_half(old->type))
        return to_half(r, old, arg);
    if (old->type == arg->type)
        return arg;
    return kc_ex_convert(r->m, old->type, arg, old->u.convert.round, old->u.convert.saturate);
}

/* ushort with the lanes of t */
static const kc_type* bits_type(kc_rewrite* r, const kc_type* t)
{
    return kc_type_with_lane(r->m, t, kc_type_int(r->m, 16, false));
}

static const kc_type* words_like(kc_rewrite* r, const kc_type* t)
{
    return kc_type_with_lane(r->m, t, kc_rw_words(r, 1));
}

static kc_expr* bits_of(kc_rewrite* r, kc_expr* e)
{
    kc_expr* words =
        kc_rw_builtin(r, KC_BUILTIN_FLOAT_TO_HALF, words_like(r, e->type), e, NULL, NULL);
    return kc_rw_convert(r, bits_type(r, e->type), words);
}

static kc_expr* from_bits(kc_rewrite* r, const kc_type* half, kc_expr* bits)
{
    kc_expr* words = kc_rw_convert(r, words_like(r, half), bits);
    return kc_rw_builtin(r, KC_BUILTIN_HALF_TO_FLOAT, half_type(r->m, half), words, NULL, NULL);
}

static kc_expr* bitcast(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *from = old->args[0]->type, *to = old->type;
    if (is_half(from) && is_half(to) && kc_lane_count(from) == kc_lane_count(to))
        return arg;
    if (is_half(from))
        arg = bits_of(r, arg);
    if (!is_half(to))
        return kc_rw_bitcast(r, to, arg);
    return from_bits(r, to, kc_rw_bitcast(r, bits_type(r, to), arg));
}

/* ---- builtins -------------------------------------------------------------------------------- */

/* Of halves it gives a half, or an infinity or NaN. */
static bool is_exact(kc_builtin id)
{
    switch (id) {
    case KC_BUILTIN_CEIL:
    case KC_BUILTIN_COPYSIGN:
    case KC_BUILTIN_FABS:
    case KC_BUILTIN_FLOOR:
    case KC_BUILTIN_FMAX:
    case KC_BUILTIN_FMIN:
    case KC_BUILTIN_FMOD:
    case KC_BUILTIN_FREXP_MANT:
    case KC_BUILTIN_LOGB:
    case KC_BUILTIN_MAXMAG:
    case KC_BUILTIN_MINMAG:
    case KC_BUILTIN_MODF_FRAC:
    case KC_BUILTIN_REMAINDER:
    case KC_BUILTIN_RINT:
    case KC_BUILTIN_ROUND:
    case KC_BUILTIN_TRUNC:
    case KC_BUILTIN_CLAMP:
    case KC_BUILTIN_MAX:
    case KC_BUILTIN_MIN:
    case KC_BUILTIN_STEP:
    case KC_BUILTIN_SIGN:
    case KC_BUILTIN_SELECT:
    case KC_BUILTIN_SHUFFLE:
    case KC_BUILTIN_SHUFFLE2: return true;
    default: return false;
    }
}

/* Builtins that another one does for halves. */
static kc_builtin half_form(kc_builtin id)
{
    switch (id) {
    case KC_BUILTIN_FMA: return KC_BUILTIN_HALF_FMA;
    case KC_BUILTIN_FRACT: return KC_BUILTIN_HALF_FRACT;
    case KC_BUILTIN_NEXTAFTER: return KC_BUILTIN_HALF_NEXTAFTER;
    case KC_BUILTIN_SQRT: return KC_BUILTIN_HALF_SQRT;
    default: return id;
    }
}

/* A mask of 16-bit lanes as one of 32: its top bit stays the top. */
static kc_expr* wide_mask(kc_rewrite* r, kc_expr* e)
{
    if (kc_is_vector(e->type))
        e = kc_rw_bitcast(r, kc_type_with_lane(r->m, e->type, kc_type_int(r->m, 16, true)), e);
    return kc_rw_convert(r, kc_type_with_lane(r->m, e->type, kc_type_int(r->m, 32, true)), e);
}

static kc_expr* bitselect(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    kc_expr* bits[3];
    for (int i = 0; i < 3; i++)
        bits[i] = bits_of(r, args[i]);
    return from_bits(r, old->type,
                     kc_ex_builtin(r->m, KC_BUILTIN_BITSELECT, bits[0]->type, 3, bits));
}

/* The masks of comparisons have the width of what was compared; ilogb and the like give int. */
static kc_expr* to_integer(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t =
        kc_is_vector(args[0]->type) ? kc_type_compare(r->m, args[0]->type) : old->type;
    return kc_rw_convert(r, old->type,
                         kc_ex_builtin(r->m, old->u.builtin, t, old->arg_count, args));
}

static kc_expr* builtin(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t = half_type(r->m, old->type);
    switch (old->u.builtin) {
    case KC_BUILTIN_NAN: {
        const kc_type* words = words_like(r, t);
        kc_expr* e = kc_rw_op_int(r, KC_OP_AND, kc_rw_convert(r, words, args[0]), 0x1FF);
        e = kc_rw_op_int(r, KC_OP_OR, e, 0x7E00);
        return kc_rw_builtin(r, KC_BUILTIN_HALF_TO_FLOAT, t, e, NULL, NULL);
    }
    case KC_BUILTIN_BITSELECT: return bitselect(r, old, args);
    case KC_BUILTIN_SELECT: args[2] = wide_mask(r, args[2]); break;
    case KC_BUILTIN_SHUFFLE:
    case KC_BUILTIN_SHUFFLE2: {
        kc_expr** mask = &args[old->arg_count - 1];
        *mask = kc_rw_convert(r, words_like(r, (*mask)->type), *mask);
        break;
    }
    case KC_BUILTIN_ISNORMAL: { /* a half's smallest normal value becomes a float's */
        kc_expr* scale = kc_ex_const_float(r->m, kc_type_float(r->m, 32), 0x1p-112);
        if (kc_is_vector(args[0]->type))
            scale = kc_ex_splat(r->m, args[0]->type, scale);
        args[0] = kc_ex_binary(r->m, KC_OP_MUL, args[0], scale);
        return to_integer(r, old, args);
    }
    default: break;
    }
    const kc_builtin id = half_form(old->u.builtin);
    if (!is_half(old->type))
        return to_integer(r, old, args);
    kc_expr* e = kc_ex_builtin(r->m, id, t, old->arg_count, args);
    return is_exact(id) || id != old->u.builtin ? e : round_half(r, e);
}

/* ---- the rules ------------------------------------------------------------------------------- */

static kc_expr* binary(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    if (old->u.op == KC_OP_DIV)
        return kc_rw_builtin(r, KC_BUILTIN_HALF_DIV, args[0]->type, args[0], args[1], NULL);
    kc_expr* e = kc_ex_binary(r->m, old->u.op, args[0], args[1]);
    return is_half(old->type) ? round_half(r, e) : kc_rw_convert(r, old->type, e);
}

static kc_expr* half_expr(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    if (!kc_rw_touches(old, is_half))
        return NULL;
    switch (old->kind) {
    case KC_EX_CONST: {
        const uint64_t bits = float_bits(old->u.bits);
        return kc_rw_constants(r, kc_type_float(r->m, 32), &bits);
    }
    case KC_EX_BINARY: return binary(r, old, args);
    case KC_EX_CONVERT: return convert(r, old, args[0]);
    case KC_EX_BITCAST: return bitcast(r, old, args[0]);
    case KC_EX_BUILTIN: return builtin(r, old, args);
    default: return NULL;
    }
}

bool kc_lower_half(kc_module* m, const kc_target* target)
{
    static const kc_rewrite_rules rules = {.type = half_type, .expr = half_expr};
    if (!target->has_half)
        kc_rewrite_module(m, &rules);
    return true;
}
