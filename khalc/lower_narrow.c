/* Integers of 8 and 16 bits are held in 32, always sign- or zero-extended: what may leave the range
 * is wrapped at once, and what is bitwise, compares or shifts right stays as it is. */
#include "lower.h"
#include "rewrite.h"

static bool is_narrow(const kc_type* t)
{
    return kc_is_integer(t) && kc_lane(t)->width < 32;
}

static const kc_type* narrow_type(kc_module* m, const kc_type* t)
{
    return is_narrow(t) ? kc_type_with_lane(m, t, kc_type_int(m, 32, kc_lane(t)->is_signed)) : t;
}

/* int or uint with the lanes of t */
static const kc_type* like(kc_rewrite* r, const kc_type* t, bool is_signed)
{
    return kc_type_with_lane(r->m, t, kc_type_int(r->m, 32, is_signed));
}

static uint32_t width_of(const kc_type* t)
{
    return kc_lane(t)->width;
}

static bool is_signed(const kc_type* t)
{
    return kc_lane(t)->is_signed;
}

static uint64_t mask_of(const kc_type* t)
{
    return (UINT64_C(1) << width_of(t)) - 1;
}

static uint64_t highest(const kc_type* t)
{
    return mask_of(t) >> (is_signed(t) ? 1 : 0);
}

static uint64_t lowest(const kc_type* t) /* sign-extended */
{
    return is_signed(t) ? ~highest(t) : 0;
}

/* ---- into the range -------------------------------------------------------------------------- */

static kc_expr* op_int(kc_rewrite* r, kc_op op, kc_expr* e, uint64_t bits)
{
    return kc_rw_op_int(r, op, e, bits);
}

static kc_expr* shifted(kc_rewrite* r, kc_op op, kc_expr* e, uint32_t count)
{
    return count ? kc_ex_binary(r->m, op, e, kc_rw_int(r, like(r, e->type, false), count)) : e;
}

/* All lanes of e are the constant `bits`. */
static bool is_splat(const kc_expr* e, uint64_t* bits)
{
    uint64_t lanes[KC_MAX_LANES];
    if (!kc_rw_constant_lanes(e, lanes))
        return false;
    *bits = lanes[0];
    for (uint32_t i = 1; i < kc_lane_count(e->type); i++)
        if (lanes[i] != lanes[0])
            return false;
    return true;
}

/* What e has the lowest `width` bits of, without what changes only others. */
static kc_expr* lowest_bits(kc_expr* e, uint32_t width)
{
    for (;;) {
        kc_expr* a = e->arg_count ? e->args[0] : NULL;
        uint64_t left, right;
        const bool keeps_bits =
            e->kind == KC_EX_BITCAST || (e->kind == KC_EX_CONVERT && !e->u.convert.saturate);
        if (keeps_bits && kc_is_integer(e->type) && kc_is_integer(a->type) &&
            kc_lane_count(e->type) == kc_lane_count(a->type) && kc_lane(a->type)->width == 32)
            e = a;
        else if (e->kind == KC_EX_BINARY && e->u.op == KC_OP_AND && is_splat(e->args[1], &right) &&
                 (~right & ((UINT64_C(1) << width) - 1)) == 0)
            e = a;
        else if (e->kind == KC_EX_BINARY && e->u.op == KC_OP_SHR && a->kind == KC_EX_BINARY &&
                 a->u.op == KC_OP_SHL && is_splat(e->args[1], &right) &&
                 is_splat(a->args[1], &left) && left == right && left + width <= 32)
            e = a->args[0];
        else
            return e;
    }
}

/* The lowest bits of e, an int or uint as `narrow` is held in. */
static kc_expr* wrap(kc_rewrite* r, const kc_type* narrow, kc_expr* e)
{
    e = kc_rw_bitcast(r, e->type, lowest_bits(e, width_of(narrow)));
    uint64_t bits[KC_MAX_LANES];
    if (kc_rw_constant_lanes(e, bits)) {
        for (uint32_t i = 0; i < kc_lane_count(narrow); i++)
            bits[i] = kc_ex_const_int(r->m, kc_lane(narrow), bits[i])->u.bits;
        return kc_rw_constants(r, e->type, bits);
    }
    if (!is_signed(narrow))
        return op_int(r, KC_OP_AND, e, mask_of(narrow));
    const uint32_t unused = 32 - width_of(narrow);
    return shifted(r, KC_OP_SHR, shifted(r, KC_OP_SHL, e, unused), unused);
}

static kc_expr* clamp(kc_rewrite* r, const kc_type* narrow, kc_expr* e)
{
    kc_expr* high = kc_rw_int(r, e->type, highest(narrow));
    if (!is_signed(e->type))
        return kc_rw_builtin(r, KC_BUILTIN_MIN, e->type, e, high, NULL);
    return kc_rw_builtin(r, KC_BUILTIN_CLAMP, e->type, e, kc_rw_int(r, e->type, lowest(narrow)),
                         high);
}

/* The bits alone, zero-extended, in uint. */
static kc_expr* bits_of(kc_rewrite* r, const kc_type* narrow, kc_expr* e)
{
    const kc_type* t = like(r, e->type, false);
    if (!is_signed(narrow))
        return e;
    e = kc_rw_bitcast(r, t, lowest_bits(e, width_of(narrow)));
    return op_int(r, KC_OP_AND, e, mask_of(narrow));
}

/* ---- operators ------------------------------------------------------------------------------- */

static kc_expr* shift_count(kc_rewrite* r, const kc_type* narrow, kc_expr* count)
{
    const kc_type* t = like(r, count->type, false);
    uint64_t bits[KC_MAX_LANES];
    if (kc_rw_constant_lanes(count, bits)) {
        for (uint32_t i = 0; i < kc_lane_count(t); i++)
            bits[i] &= width_of(narrow) - 1;
        return kc_rw_constants(r, t, bits);
    }
    if (kc_lane(count->type)->width == 64)
        count = kc_rw_convert(r, t, count);
    return op_int(r, KC_OP_AND, kc_rw_bitcast(r, t, count), width_of(narrow) - 1);
}

static kc_expr* binary(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t = old->args[0]->type;
    const kc_op op = old->u.op;
    if (!is_narrow(t)) /* shifted by narrow counts */
        return NULL;
    if (op == KC_OP_SHL || op == KC_OP_SHR)
        args[1] = shift_count(r, t, args[1]);
    kc_expr* e = kc_ex_binary(r->m, op, args[0], args[1]);
    const bool leaves = op == KC_OP_ADD || op == KC_OP_SUB || op == KC_OP_MUL || op == KC_OP_SHL ||
                        (op == KC_OP_DIV && is_signed(t));
    return leaves ? wrap(r, t, e) : e;
}

static kc_expr* unary(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    kc_expr* e = kc_ex_unary(r->m, old->u.op, arg);
    const bool leaves = old->u.op == KC_OP_NEG || !is_signed(old->type);
    return leaves ? wrap(r, old->type, e) : e;
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* A comparison of vectors, which is 0 or -1 in each lane, or the bits of halves. */
static bool is_in_range(const kc_type* narrow, const kc_expr* e)
{
    if (e->kind == KC_EX_BUILTIN && e->u.builtin == KC_BUILTIN_FLOAT_TO_HALF)
        return highest(narrow) == 0xFFFF;
    if (!is_signed(narrow) || !kc_is_vector(e->type))
        return false;
    return e->kind == KC_EX_BUILTIN
               ? e->u.builtin >= KC_BUILTIN_ISEQUAL && e->u.builtin <= KC_BUILTIN_SIGNBIT
               : e->kind == KC_EX_BINARY && e->u.op >= KC_OP_EQ && e->u.op <= KC_OP_GE;
}

static bool holds_all(const kc_type* narrow, const kc_type* from)
{
    return is_narrow(from) && highest(from) <= highest(narrow) &&
           (is_signed(narrow) ? true : !is_signed(from));
}

static kc_expr* to_narrow(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *to = old->type, *from = old->args[0]->type;
    const kc_type* held = narrow_type(r->m, to);
    const bool saturates = old->u.convert.saturate;
    if (kc_is_float(from)) {
        kc_expr* e = kc_ex_convert(r->m, like(r, to, true), arg, old->u.convert.round, saturates);
        return saturates ? kc_rw_bitcast(r, held, clamp(r, to, e))
                         : wrap(r, to, kc_rw_bitcast(r, held, e));
    }
    if (from->kind == KC_TYPE_BOOL)
        return kc_rw_convert(r, held, arg);
    if (width_of(from) == 64)
        arg = kc_ex_convert(r->m, like(r, from, is_signed(from)), arg, KC_ROUND_DEFAULT, saturates);
    if (holds_all(to, from) || is_in_range(to, arg))
        return kc_rw_bitcast(r, held, arg);
    if (saturates)
        return kc_rw_bitcast(r, held, clamp(r, to, arg));
    return wrap(r, to, kc_rw_bitcast(r, held, arg));
}

static kc_expr* convert(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    if (is_narrow(old->type))
        return to_narrow(r, old, arg);
    if (old->type == arg->type)
        return arg;
    const bool is_exact = kc_is_float(old->type) || old->type->kind == KC_TYPE_BOOL;
    return kc_ex_convert(r->m, old->type, arg, is_exact ? KC_ROUND_DEFAULT : old->u.convert.round,
                         old->u.convert.saturate);
}

/* ---- as_type --------------------------------------------------------------------------------- */

/* The lanes of `narrow` that share a word. */
static uint32_t lanes_in_word(const kc_type* narrow)
{
    return 32 / width_of(narrow);
}

/* A vector that names each of its lanes. */
static bool is_scalars(const kc_expr* e)
{
    return e->kind == KC_EX_COMPOSE && e->arg_count == e->type->count;
}

/* Lanes first, first + step, ... of words, `count` of them; past the end, which only the fourth
 * lane of three is, 0. */
static kc_expr* take(kc_rewrite* r, kc_expr* e, uint32_t first, uint32_t step, uint32_t count)
{
    const uint32_t available = kc_lane_count(e->type);
    kc_expr* lanes[2];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t lane = first + i * step;
        if (lane >= available)
            lanes[i] = kc_ex_const_int(r->m, kc_lane(e->type), 0);
        else if (is_scalars(e))
            lanes[i] = e->args[lane];
        else
            lanes[i] = available == 1 ? e : kc_rw_lane(r, kc_ex_clone(r->m, e), lane);
    }
    if (count == 1)
        return lanes[0];
    if (lanes[0]->kind == KC_EX_SWIZZLE && lanes[1]->kind == KC_EX_SWIZZLE)
        return kc_rw_swizzle(r, lanes[0]->args[0], 2,
                             (uint8_t[]){(uint8_t)first, (uint8_t)(first + step)});
    return kc_ex_list(r->m, KC_EX_COMPOSE, kc_rw_words(r, count), count, lanes);
}

/* Narrow lanes as words: uint, or uint2 where they fill two. Fewer than a word's leave the rest 0.
 */
static kc_expr* pack(kc_rewrite* r, const kc_type* narrow, kc_expr* e)
{
    const uint32_t per_word = lanes_in_word(narrow);
    const uint32_t count = narrow->size > 4 ? 2 : 1;
    e = bits_of(r, narrow, e);
    if (!is_scalars(e))
        e = kc_rw_share(r, e);
    kc_expr* words = NULL;
    for (uint32_t i = 0; i < per_word && i < kc_lane_count(narrow); i++) {
        kc_expr* lanes =
            shifted(r, KC_OP_SHL, take(r, e, i, per_word, count), i * width_of(narrow));
        words = words ? kc_ex_binary(r->m, KC_OP_OR, words, lanes) : lanes;
    }
    return words;
}

/* And back. */
static kc_expr* unpack(kc_rewrite* r, const kc_type* narrow, kc_expr* words)
{
    const uint32_t per_word = lanes_in_word(narrow), count = kc_lane_count(narrow);
    const uint32_t width = width_of(narrow), unused = 32 - width;
    const kc_type* held = narrow_type(r->m, narrow);
    uint8_t index[4];
    uint64_t counts[4];
    for (uint32_t i = 0; i < count; i++) {
        index[i] = (uint8_t)(i / per_word);
        counts[i] = i % per_word * width;
        if (is_signed(narrow))
            counts[i] = unused - counts[i];
    }
    if (kc_is_vector(words->type))
        words = kc_rw_swizzle(r, words, count, index);
    else if (count > 1)
        words = kc_ex_splat(r->m, kc_rw_words(r, count), words);
    words = kc_rw_bitcast(r, held, words);
    if (count == 1 && !counts[0])
        return wrap(r, narrow, words);
    kc_expr* by = kc_rw_constants(r, like(r, narrow, false), counts);
    kc_expr* e = kc_ex_binary(r->m, is_signed(narrow) ? KC_OP_SHL : KC_OP_SHR, words, by);
    return is_signed(narrow) ? shifted(r, KC_OP_SHR, e, unused) : wrap(r, narrow, e);
}

static kc_expr* bitcast(kc_rewrite* r, const kc_expr* old, kc_expr* arg)
{
    const kc_type *to = old->type, *from = old->args[0]->type;
    if (is_narrow(to) && is_narrow(from) && width_of(to) == width_of(from) &&
        kc_lane_count(to) == kc_lane_count(from)) {
        arg = kc_rw_bitcast(r, narrow_type(r->m, to), arg);
        return is_signed(to) == is_signed(from) ? arg : wrap(r, to, arg);
    }
    kc_expr* words = is_narrow(from)
                         ? pack(r, from, arg)
                         : kc_rw_bitcast(r, kc_rw_words(r, (uint32_t)from->size / 4), arg);
    return is_narrow(to) ? unpack(r, to, words) : kc_rw_bitcast(r, to, words);
}

/* ---- builtins -------------------------------------------------------------------------------- */

static kc_expr* rotate(kc_rewrite* r, const kc_type* t, kc_expr** args)
{
    const kc_type* held = args[0]->type;
    kc_expr* e = kc_rw_share(r, bits_of(r, t, args[0]));
    kc_expr* by = kc_rw_share(r, shift_count(r, t, args[1]));
    kc_expr* rest =
        kc_ex_binary(r->m, KC_OP_SUB, kc_rw_int(r, by->type, width_of(t)), kc_ex_clone(r->m, by));
    kc_expr* high = kc_ex_binary(r->m, KC_OP_SHL, kc_ex_clone(r->m, e), by);
    kc_expr* low = kc_ex_binary(r->m, KC_OP_SHR, e, rest);
    e = kc_ex_binary(r->m, KC_OP_OR, high, low);
    return wrap(r, t, kc_rw_bitcast(r, held, e));
}

/* With the lane's top bit at the top of the word, where any, all and select look. */
static kc_expr* top_bit(kc_rewrite* r, const kc_type* t, kc_expr* e)
{
    return is_narrow(t) && !is_signed(t) ? shifted(r, KC_OP_SHL, e, 32 - width_of(t)) : e;
}

static kc_expr* upsample(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t = old->args[0]->type;
    kc_expr* high = shifted(r, KC_OP_SHL, args[0], width_of(t));
    kc_expr* low = kc_rw_bitcast(r, high->type, args[1]);
    return kc_ex_binary(r->m, KC_OP_OR, high, low);
}

static kc_expr* builtin(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    const kc_type* t = old->args[0]->type;
    const kc_builtin id = old->u.builtin;
    if (id == KC_BUILTIN_SELECT) {
        if (kc_is_vector(t))
            args[2] = top_bit(r, old->args[2]->type, args[2]);
        return NULL;
    }
    if (!is_narrow(t))
        return NULL;
    const uint32_t width = width_of(t);
    const kc_type* held = args[0]->type;
    kc_expr* e;
    switch (id) {
    case KC_BUILTIN_ADD_SAT: return clamp(r, t, kc_ex_binary(r->m, KC_OP_ADD, args[0], args[1]));
    case KC_BUILTIN_SUB_SAT:
        return is_signed(t) ? clamp(r, t, kc_ex_binary(r->m, KC_OP_SUB, args[0], args[1])) : NULL;
    case KC_BUILTIN_HADD:
        return shifted(r, KC_OP_SHR, kc_ex_binary(r->m, KC_OP_ADD, args[0], args[1]), 1);
    case KC_BUILTIN_RHADD:
        e = kc_ex_binary(r->m, KC_OP_ADD, args[0], args[1]);
        return shifted(r, KC_OP_SHR, op_int(r, KC_OP_ADD, e, 1), 1);
    case KC_BUILTIN_CLZ:
        e = kc_rw_bitcast(r, held, bits_of(r, t, args[0]));
        return op_int(r, KC_OP_SUB, kc_rw_builtin(r, id, held, e, NULL, NULL), 32 - width);
    case KC_BUILTIN_POPCOUNT:
        e = kc_rw_bitcast(r, held, bits_of(r, t, args[0]));
        return kc_rw_builtin(r, id, held, e, NULL, NULL);
    case KC_BUILTIN_MUL_HI:
        return shifted(r, KC_OP_SHR, kc_ex_binary(r->m, KC_OP_MUL, args[0], args[1]), width);
    case KC_BUILTIN_MAD_HI:
        e = shifted(r, KC_OP_SHR, kc_ex_binary(r->m, KC_OP_MUL, args[0], args[1]), width);
        return wrap(r, t, kc_ex_binary(r->m, KC_OP_ADD, e, args[2]));
    case KC_BUILTIN_MAD_SAT:
        e = kc_ex_binary(r->m, KC_OP_MUL, args[0], args[1]);
        return clamp(r, t, kc_ex_binary(r->m, KC_OP_ADD, e, args[2]));
    case KC_BUILTIN_MUL24: return wrap(r, t, kc_ex_binary(r->m, KC_OP_MUL, args[0], args[1]));
    case KC_BUILTIN_MAD24:
        e = kc_ex_binary(r->m, KC_OP_MUL, args[0], args[1]);
        return wrap(r, t, kc_ex_binary(r->m, KC_OP_ADD, e, args[2]));
    case KC_BUILTIN_ROTATE: return rotate(r, t, args);
    case KC_BUILTIN_UPSAMPLE: return upsample(r, old, args);
    case KC_BUILTIN_ANY:
    case KC_BUILTIN_ALL: return kc_rw_builtin(r, id, old->type, top_bit(r, t, args[0]), NULL, NULL);
    default: return NULL; /* abs, abs_diff, min, max, clamp, bitselect, shuffles */
    }
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Bits that a mask takes from a narrow integer. */
static kc_expr* masked(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    uint64_t bits;
    if (old->kind != KC_EX_BINARY || old->u.op != KC_OP_AND || kc_lane(old->type)->width != 32 ||
        !is_splat(args[1], &bits) || (bits != 0xFF && bits != 0xFFFF))
        return NULL;
    kc_expr* e = lowest_bits(args[0], bits == 0xFF ? 8 : 16);
    return kc_ex_binary(r->m, KC_OP_AND, kc_rw_bitcast(r, old->type, e), args[1]);
}

static kc_expr* narrow_expr(kc_rewrite* r, const kc_expr* old, kc_expr** args)
{
    if (!kc_rw_touches(old, is_narrow))
        return masked(r, old, args);
    switch (old->kind) {
    case KC_EX_CONST: return kc_rw_int(r, narrow_type(r->m, old->type), old->u.bits);
    case KC_EX_UNARY: return unary(r, old, args[0]);
    case KC_EX_BINARY: return binary(r, old, args);
    case KC_EX_CONVERT: return convert(r, old, args[0]);
    case KC_EX_BITCAST: return bitcast(r, old, args[0]);
    case KC_EX_BUILTIN: return builtin(r, old, args);
    default: return NULL;
    }
}

bool kc_lower_narrow(kc_module* m, const kc_target* target)
{
    static const kc_rewrite_rules rules = {.type = narrow_type, .expr = narrow_expr};
    if (!target->has_int8 || !target->has_int16)
        kc_rewrite_module(m, &rules);
    return true;
}
