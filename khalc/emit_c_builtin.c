/* Builtin functions and conversions as C: an operator, a scalar function of <khal/cpu/...h>, or an
 * instantiation of one for a vector type, which is asked for once by kc_emc_need. */
#include <string.h>

#include "emit_c.h"

typedef enum klass {
    C_FLOAT,
    C_FLOAT_INT,
    C_TO_INT,
    C_INTEGER,
    C_ANY,
    C_ABS,
    C_RELATION,
    C_REDUCE,
    C_GEOMETRY,
    C_PAIR,
    C_OTHER
} klass;

static klass class_of(kc_builtin b)
{
    static const uint8_t classes[KC_BUILTIN_COUNT] = {
#define KC_BUILTIN(id, name, args, klass) [KC_BUILTIN_##id] = KC_BUILTIN_CLASS_##klass,
#define KC_BUILTIN_CLASS_FLOAT C_FLOAT
#define KC_BUILTIN_CLASS_FLOAT_INT C_FLOAT_INT
#define KC_BUILTIN_CLASS_TO_INT C_TO_INT
#define KC_BUILTIN_CLASS_INTEGER C_INTEGER
#define KC_BUILTIN_CLASS_ANY C_ANY
#define KC_BUILTIN_CLASS_ABS C_ABS
#define KC_BUILTIN_CLASS_RELATION C_RELATION
#define KC_BUILTIN_CLASS_REDUCE C_REDUCE
#define KC_BUILTIN_CLASS_GEOMETRY C_GEOMETRY
#define KC_BUILTIN_CLASS_PAIR C_PAIR /* other targets' */
#define KC_BUILTIN_CLASS_OTHER C_OTHER
#include "builtins.def"
#undef KC_BUILTIN
    };
    return (klass)classes[b];
}

static bool is_half(const kc_type* t)
{
    return kc_is_float(t) && kc_lane(t)->width == 16;
}

static kc_c cast(kc_emc* em, const kc_type* to, kc_c c)
{
    return kc_emc_make(em, KC_PREC_UNARY, "(%s)%s", kc_emc_type(em, to),
                       kc_emc_at(em, c, KC_PREC_UNARY));
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* Digits that a floating type holds exactly. */
static uint32_t exact_bits(const kc_type* lane)
{
    return lane->width == 64 ? 53 : lane->width == 32 ? 24 : 11;
}

static const char* round_suffix(kc_round round)
{
    static const char* const names[] = {"", "_rte", "_rtz", "_rtp", "_rtn"};
    return names[round];
}

static kc_c convert_call(kc_emc* em, const kc_type* to, const kc_type* from, kc_c a,
                         const char* how)
{
    const char *t = kc_emc_lane_name(to), *f = kc_emc_lane_name(from);
    const uint32_t n = kc_lane_count(to);
    if (n > 1)
        kc_emc_need(em, "KHAL_C_MAP_CONVERT(%s%s, %s, %s, %u)", t, how, t, f, n);
    return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_C_NAME(khal_convert_%s%s_%s)(%s)", t, how,
                       kc_emc_suffix(from), a.s);
}

static kc_c convert_half(kc_emc* em, const kc_type* to, const kc_type* from, kc_c a, kc_round round)
{
    em->uses_half = true;
    const char *t = kc_emc_lane_name(to), *f = kc_emc_lane_name(from);
    if (round == KC_ROUND_DEFAULT || is_half(from))
        round = KC_ROUND_EVEN;
    kc_emc_need(em, "KHAL_C_CONVERT_%s(%s, %s)", is_half(from) ? "FROM_HALF" : "TO_HALF",
                is_half(from) ? t : f, round_suffix(round) + 1);
    return convert_call(em, to, from, a, is_half(from) ? "" : round_suffix(round));
}

kc_c kc_emc_convert(kc_emc* em, const kc_type* to, const kc_type* from, kc_c a, kc_round round,
                    bool saturate)
{
    const kc_type *tl = kc_lane(to), *fl = kc_lane(from);
    if (to == from)
        return a;
    if (kc_is_pointer(to))
        return cast(em, to, a);
    if (to->kind == KC_TYPE_BOOL) {
        if (is_half(from))
            return kc_emc_make(em, KC_PREC_EQ, "(%s & 0x7fffu) != 0",
                               kc_emc_at(em, a, KC_PREC_UNARY));
        return kc_emc_make(em, KC_PREC_EQ, "%s != 0", kc_emc_at(em, a, KC_PREC_ADD));
    }
    if (from->kind == KC_TYPE_BOOL) {
        if (kc_is_vector(to))
            return kc_emc_splat(em, to, kc_emc_convert(em, tl, from, a, round, saturate));
        if (is_half(to))
            return kc_emc_make(em, KC_PREC_COND, "%s ? 0x3c00u : 0u",
                               kc_emc_at(em, a, KC_PREC_LOR));
        return cast(em, to, a);
    }
    const bool plain_vector = kc_is_vector(to);
    const kc_c plain = plain_vector
                           ? kc_emc_make(em, KC_PREC_POSTFIX, "__builtin_convertvector(%s, %s)",
                                         a.s, kc_emc_type(em, to))
                           : cast(em, to, a);
    if (em->constant_init)
        return plain;
    const char* t = kc_emc_lane_name(to);
    const char* f = kc_emc_lane_name(from);
    if (is_half(to)) {
        em->uses_convert = true;
        return convert_half(em, to, from, a, round);
    }
    if (is_half(from)) { /* exact in float, then on */
        const kc_type* middle = kc_type_with_lane(em->m, from, kc_type_float(em->m, 32));
        em->uses_convert = true;
        a = convert_half(em, middle, from, a, KC_ROUND_DEFAULT);
        return middle == to ? a : kc_emc_convert(em, to, middle, a, round, saturate);
    }
    if (tl->kind == KC_TYPE_FLOAT) {
        const bool exact = fl->kind == KC_TYPE_FLOAT
                               ? fl->width <= tl->width
                               : fl->width - (fl->is_signed ? 1u : 0u) <= exact_bits(tl);
        if (exact || round == KC_ROUND_DEFAULT || round == KC_ROUND_EVEN)
            return plain;
        em->uses_convert = true;
        kc_emc_need(em, "KHAL_C_CONVERT_%s(%s, %s, %s)",
                    fl->kind == KC_TYPE_FLOAT ? "NARROW" : "INT_FLOAT", t, f,
                    round_suffix(round) + 1);
        return convert_call(em, to, from, a, round_suffix(round));
    }
    if (fl->kind == KC_TYPE_FLOAT) {
        em->uses_convert = true;
        if (round == KC_ROUND_DEFAULT)
            round = KC_ROUND_ZERO;
        const char* how =
            kc_format(em->m->arena, "%s%s", saturate ? "_sat" : "", round_suffix(round));
        kc_emc_need(em, "KHAL_C_CONVERT_FLOAT_INT%s(%s, %s, %s)", saturate ? "_SAT" : "", t, f,
                    round_suffix(round) + 1);
        return convert_call(em, to, from, a, how);
    }
    if (!saturate)
        return plain;
    em->uses_convert = true;
    kc_emc_need(em, "KHAL_C_CONVERT_INT_SAT(%s, %s)", t, f);
    return convert_call(em, to, from, a, "_sat");
}

/* ---- builtins -------------------------------------------------------------------------------- */

/* A call of the scalar function `name` on `t`'s lanes, or of its map. */
static kc_c call(kc_emc* em, const char* fn, const kc_expr* e, const kc_type* const* types,
                 const kc_type* result, kc_c* args, bool is_mask)
{
    const char* list = "";
    for (uint32_t i = 0; i < e->arg_count; i++)
        list = kc_format(em->m->arena, "%s%s%s", list, i ? ", " : "", args[i].s);
    const kc_type* first = types[0];
    if (!kc_is_vector(first))
        return kc_emc_make(em, KC_PREC_POSTFIX, "khal_%s_%s(%s)", fn, kc_emc_lane_name(first),
                           list);
    const char* lanes = "";
    for (uint32_t i = 0; i < e->arg_count; i++)
        lanes = kc_format(em->m->arena, "%s, %s", lanes, kc_emc_lane_name(types[i]));
    kc_emc_need(em, "KHAL_C_MAP%s%u(%s, %s%s, %u)", is_mask ? "_MASK" : "", e->arg_count, fn,
                kc_emc_lane_name(result), lanes, kc_lane_count(first));
    return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_C_NAME(khal_%s_%s)(%s)", fn,
                       kc_emc_suffix(first), list);
}

static kc_c geometry(kc_emc* em, const kc_expr* e, const kc_type* t, kc_c* args)
{
    const char* fn = kc_builtin_name(e->u.builtin);
    const char* list =
        e->arg_count == 2 ? kc_format(em->m->arena, "%s, %s", args[0].s, args[1].s) : args[0].s;
    if (!kc_is_vector(t))
        return kc_emc_make(em, KC_PREC_POSTFIX, "khal_%s_%s(%s)", fn, kc_emc_lane_name(t), list);
    if (e->u.builtin == KC_BUILTIN_CROSS)
        kc_emc_need(em, "KHAL_C_CROSS(%s, %u)", kc_emc_lane_name(t), kc_lane_count(t));
    else
        kc_emc_need(em, "KHAL_C_GEOMETRY(%s, %u)", kc_emc_lane_name(t), kc_lane_count(t));
    return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_C_NAME(khal_%s_%s)(%s)", fn, kc_emc_suffix(t),
                       list);
}

/* Signed integers with the lanes of `t`. */
static const kc_type* bits_of(kc_emc* em, const kc_type* t)
{
    return kc_type_with_lane(em->m, t, kc_type_int(em->m, kc_lane(t)->width, true));
}

static const char* relation_operator(kc_builtin b)
{
    switch (b) {
    case KC_BUILTIN_ISEQUAL: return "==";
    case KC_BUILTIN_ISNOTEQUAL: return "!=";
    case KC_BUILTIN_ISGREATER: return ">";
    case KC_BUILTIN_ISGREATEREQUAL: return ">=";
    case KC_BUILTIN_ISLESS: return "<";
    case KC_BUILTIN_ISLESSEQUAL: return "<=";
    default: return NULL;
    }
}

static kc_c relation(kc_emc* em, const kc_expr* e, const kc_type* const* types, kc_c* args)
{
    const kc_type* t = types[0];
    const char* op = relation_operator(e->u.builtin);
    if (op) {
        const kc_c c = kc_emc_make(em, KC_PREC_REL, "%s %s %s", kc_emc_at(em, args[0], KC_PREC_ADD),
                                   op, kc_emc_at(em, args[1], KC_PREC_ADD));
        return cast(em, kc_is_vector(t) ? bits_of(em, t) : e->type, c);
    }
    em->uses_relation = true;
    return call(em, kc_builtin_name(e->u.builtin), e, types,
                kc_is_vector(t) ? bits_of(em, t) : e->type, args, kc_is_vector(t));
}

/* Arguments of macros: a comma between braces would end one. */
static void guard(kc_emc* em, uint32_t count, kc_c* args)
{
    for (uint32_t i = 0; i < count; i++)
        if (strchr(args[i].s, ','))
            args[i].s = kc_format(em->m->arena, "(%s)", args[i].s);
}

static kc_c other(kc_emc* em, const kc_expr* e, kc_c* args)
{
    const char* a[3] = {"", "", ""};
    for (uint32_t i = 0; i < e->arg_count && i < 3; i++)
        a[i] = kc_emc_argument(em, args[i]);
    guard(em, e->arg_count, args);
    const kc_type* t = e->type;
    const char* type = kc_emc_type(em, t);
    switch (e->u.builtin) {
    case KC_BUILTIN_NAN: {
        const kc_type* from[1] = {e->args[0]->type};
        em->uses_math = true;
        return call(em, "nan", e, from, t, args, false);
    }
    case KC_BUILTIN_UPSAMPLE: {
        const kc_type* from[2] = {e->args[0]->type, e->args[1]->type};
        em->uses_integer = true;
        return call(em, "upsample", e, from, t, args, false);
    }
    case KC_BUILTIN_SELECT:
        if (!kc_is_vector(t))
            return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_SELECT(%s, %s, %s, %s)", type, a[0], a[1],
                               a[2]);
        return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_SELECT_LANES(%s, %s, %u, %s, %s, %s)", type,
                           kc_emc_type(em, bits_of(em, t)), kc_lane(t)->width - 1u, a[0], a[1],
                           a[2]);
    default: { /* SHUFFLE, SHUFFLE2 */
        const bool two = e->u.builtin == KC_BUILTIN_SHUFFLE2;
        const kc_type *from = e->args[0]->type, *mask = e->args[two ? 2 : 1]->type;
        const char* vectors = two ? kc_format(em->m->arena, "%s, %s", a[0], a[1]) : a[0];
        return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_SHUFFLE%s(%s, %u, %u, %s, %s, %s, %s)",
                           two ? "2" : "", type, kc_lane_count(t), kc_emc_storage_lanes(from),
                           kc_emc_type(em, from), kc_emc_type(em, mask), vectors, a[two ? 2 : 1]);
    }
    }
}

/* Builtins of half that do not go through float. */
static bool half_has_own(kc_builtin b)
{
    return b == KC_BUILTIN_ISNORMAL || b == KC_BUILTIN_NEXTAFTER || b == KC_BUILTIN_FRACT ||
           b == KC_BUILTIN_BITSELECT || b == KC_BUILTIN_SIGNBIT; /* a conversion may drop a NaN's sign */
}

static kc_c any_type(kc_emc* em, const kc_expr* e, const kc_type* t, const kc_type* const* types,
                     kc_c* args)
{
    if (e->u.builtin == KC_BUILTIN_BITSELECT) {
        guard(em, e->arg_count, args);
        const kc_type* b = kc_is_float(t) || !kc_lane(t)->is_signed ? bits_of(em, t) : t;
        return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_BITSELECT(%s, %s, %s, %s, %s)",
                           kc_emc_type(em, t), kc_emc_type(em, b), kc_emc_argument(em, args[0]),
                           kc_emc_argument(em, args[1]), kc_emc_argument(em, args[2]));
    }
    if (!kc_is_vector(t)) {
        em->uses_math |= kc_is_float(t);
        em->uses_integer |= !kc_is_float(t);
        return call(em, kc_builtin_name(e->u.builtin), e, types, t, args, false);
    }
    static const char* const macros[] = {"CLAMP", "MAX", "MIN"};
    const char* macro = macros[e->u.builtin == KC_BUILTIN_CLAMP ? 0
                               : e->u.builtin == KC_BUILTIN_MAX ? 1
                                                                : 2];
    kc_emc_need(em, "KHAL_C_%s(%s, %s, %u)", macro, kc_emc_lane_name(t),
                kc_emc_lane_name(bits_of(em, t)), kc_lane_count(t));
    return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_C_NAME(khal_%s_%s)(%s, %s%s%s)",
                       kc_builtin_name(e->u.builtin), kc_emc_suffix(t), args[0].s, args[1].s,
                       e->arg_count == 3 ? ", " : "", e->arg_count == 3 ? args[2].s : "");
}

kc_c kc_emc_builtin(kc_emc* em, const kc_expr* e, kc_c* args)
{
    const kc_builtin b = e->u.builtin;
    const klass k = class_of(b);
    em->uses_map = true;
    if (k == C_OTHER)
        return other(em, e, args);
    if (k == C_REDUCE) {
        const kc_type* t = e->args[0]->type;
        const kc_type* s = bits_of(em, t);
        em->uses_relation = true;
        guard(em, 1, args);
        if (!kc_is_vector(t))
            return kc_emc_make(em, KC_PREC_REL, "%s < 0",
                               kc_emc_at(em, s == t ? args[0] : cast(em, s, args[0]), KC_PREC_ADD));
        return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_%s(%s, %u, %s)",
                           b == KC_BUILTIN_ANY ? "ANY" : "ALL", kc_emc_type(em, s),
                           kc_lane_count(t), kc_emc_argument(em, args[0]));
    }
    const kc_type* types[8];
    const uint32_t n = e->arg_count < 8 ? e->arg_count : 8;
    for (uint32_t i = 0; i < n; i++) {
        types[i] = e->args[i]->type;
        if (i && kc_is_vector(types[0]) &&
            !kc_is_vector(types[i])) { /* mix(v, v, s), ldexp(v, n), ... */
            types[i] = kc_type_with_lane(em->m, types[0], types[i]);
            args[i] = kc_emc_splat(em, types[i], args[i]);
        }
    }
    const kc_type* result = e->type;
    const bool through_float = is_half(types[0]) && !half_has_own(b);
    if (through_float) {
        const uint32_t width = b == KC_BUILTIN_FMA ? 64 : 32;
        for (uint32_t i = 0; i < n; i++) {
            if (!is_half(types[i]))
                continue;
            const kc_type* wide = kc_type_with_lane(em->m, types[i], kc_type_float(em->m, width));
            args[i] = kc_emc_convert(em, wide, types[i], args[i], KC_ROUND_DEFAULT, false);
            types[i] = wide;
        }
        if (is_half(result))
            result = kc_type_with_lane(em->m, result, kc_type_float(em->m, width));
    }
    const kc_type* t = types[0];
    em->uses_math |= kc_is_float(t);
    em->uses_integer |= kc_is_integer(t);
    em->uses_convert |= is_half(t); /* fract */
    kc_c c;
    if (k == C_RELATION) {
        c = relation(em, e, types, args);
        if (through_float && kc_is_vector(t))
            return kc_emc_make(em, KC_PREC_POSTFIX, "__builtin_convertvector(%s, %s)", c.s,
                               kc_emc_type(em, e->type));
        return c;
    }
    if (k == C_GEOMETRY) {
        c = geometry(em, e, t, args);
    } else if (k == C_ANY) {
        c = any_type(em, e, t, types, args);
    } else if (b == KC_BUILTIN_MAD || (b == KC_BUILTIN_FMA && through_float)) {
        c = kc_emc_make(em, KC_PREC_ADD, "%s * %s + %s", kc_emc_at(em, args[0], KC_PREC_UNARY),
                        kc_emc_at(em, args[1], KC_PREC_UNARY), kc_emc_at(em, args[2], KC_PREC_MUL));
    } else if (b == KC_BUILTIN_NATIVE_DIVIDE && !em->dialect->is_by_lane) {
        c = kc_emc_make(em, KC_PREC_MUL, "%s / %s", kc_emc_at(em, args[0], KC_PREC_UNARY),
                        kc_emc_at(em, args[1], KC_PREC_UNARY));
    } else if (b == KC_BUILTIN_FABS && kc_is_vector(t) && !em->dialect->is_by_lane) {
        const kc_type* s = bits_of(em, t);
        const kc_c mask = {kc_lane(t)->width == 64 ? "INT64_MAX" : "INT32_MAX", KC_PREC_POSTFIX, 0,
                           true};
        c = cast(em, t,
                 kc_emc_make(em, KC_PREC_AND, "%s & %s", cast(em, s, args[0]).s,
                             kc_emc_splat(em, s, mask).s));
    } else {
        c = call(em, kc_builtin_name(b), e, types, result, args, false);
    }
    if (through_float && is_half(e->type))
        return kc_emc_convert(em, e->type, result, c, KC_ROUND_DEFAULT, false);
    return c;
}
