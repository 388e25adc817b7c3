/* Builtins and conversions as WGSL. */
#include <string.h>

#include "emit_wgsl.h"

typedef enum builtin_class {
    CLASS_ABS, CLASS_ANY, CLASS_FLOAT, CLASS_FLOAT_INT, CLASS_GEOMETRY, CLASS_INTEGER, CLASS_OTHER,
    CLASS_PAIR, CLASS_REDUCE, CLASS_RELATION, CLASS_TO_INT,
} builtin_class;

static const uint8_t classes[] = {
#define KC_BUILTIN(id, name, args, klass) CLASS_##klass,
#include "builtins.def"
#undef KC_BUILTIN
};

enum { MAX_ARGS = 4 };

/* One call: the text with its arguments in place. */
static const char* fill(kc_wgsl* em, const kc_expr* e, const kc_wgsl_call* call, const kc_w* args)
{
    kc_text out = {0};
    const kc_type* first = e->args[0]->type;
    for (const char* p = call->text; *p; p++) {
        if (*p != '$') {
            kc_putn(&out, p, 1);
            continue;
        }
        const char before = out.size ? out.data[out.size - 1] : 0;
        const char before_that = out.size > 1 ? out.data[out.size - 2] : 0;
        const bool is_argument = before == '(' || (before == ' ' && before_that == ',');
        p++;
        switch (*p) {
        case 't': kc_put(&out, kc_wgsl_type(em, e->type)); break;
        case 'r': kc_putf(&out, "%u", kc_lane_count(e->type)); break;
        case 'n': kc_putf(&out, "%u", kc_lane_count(first)); break;
        case 'i':
        case 'u':
            if (kc_is_vector(first))
                kc_putf(&out, "vec%u<%c32>", kc_lane_count(first), *p);
            else
                kc_putf(&out, "%c32", *p);
            break;
        default: {
            const kc_w arg = args[*p - '0'];
            const bool ends = p[1] == ')' || p[1] == ',';
            kc_put(&out, is_argument && ends ? kc_wgsl_argument(em, arg) : kc_wgsl_at(em, arg, KC_WGSL_PRIMARY));
        }
        }
    }
    const char* s = kc_strdup(em->m->arena, out.data ? out.data : "");
    kc_text_free(&out);
    return s;
}

static kc_w lane_of(kc_wgsl* em, const kc_type* t, kc_w c, uint32_t lane)
{
    if (!kc_is_vector(t))
        return c;
    kc_w r = kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s.%c", kc_wgsl_at(em, c, KC_WGSL_PRIMARY),
                          "xyzw"[lane]);
    r.is_const = c.is_const;
    return r;
}

/* 1 in scalars, -1 in vectors. */
static kc_w from_bool(kc_wgsl* em, const kc_type* t, const char* s)
{
    if (!kc_is_vector(t))
        return kc_wgsl_make(em, KC_WGSL_PRIMARY, "select(0, 1, %s)", s);
    const char* type = kc_wgsl_type(em, t);
    return kc_wgsl_make(em, KC_WGSL_PRIMARY, "select(%s(0), %s(-1), %s)", type, type, s);
}

static const char* library_call(kc_wgsl* em, const kc_expr* e)
{
    static const char* const lists[] = {"()", "($0)", "($0, $1)", "($0, $1, $2)"};
    return kc_format(em->m->arena, "khal_%s%s", kc_builtin_name(e->u.builtin),
                     lists[e->arg_count < MAX_ARGS ? e->arg_count : MAX_ARGS - 1]);
}

kc_w kc_wgsl_builtin_call(kc_wgsl* em, const kc_expr* e)
{
    kc_wgsl_call call;
    if (!kc_wgsl_builtin(e->u.builtin, e->args[0]->type, em->relaxed, &call))
        call = (kc_wgsl_call){.text = library_call(em, e),
                              .per_lane = classes[e->u.builtin] != CLASS_PAIR};
    kc_w args[MAX_ARGS] = {{0}};
    bool is_const = true;
    uint16_t depth = 0;
    const bool by_lane = call.per_lane && kc_is_vector(e->type);
    for (uint32_t i = 0; i < e->arg_count && i < MAX_ARGS; i++) {
        args[i] = kc_wgsl_expr(em, e->args[i]);
        if (by_lane && kc_is_vector(e->args[i]->type) && !args[i].is_name)
            args[i] = kc_wgsl_let(em, args[i]);
        is_const &= args[i].is_const;
    }
    if (is_const && !strstr(call.text, "khal_"))
        args[0] = kc_wgsl_let(em, args[0]);
    for (uint32_t i = 0; i < e->arg_count && i < MAX_ARGS; i++)
        depth = args[i].depth > depth ? args[i].depth : depth;
    kc_w r;
    if (by_lane) {
        const uint32_t lanes = kc_lane_count(e->type);
        const char* list = "";
        for (uint32_t lane = 0; lane < lanes; lane++) {
            kc_w one[MAX_ARGS] = {{0}};
            for (uint32_t i = 0; i < e->arg_count && i < MAX_ARGS; i++)
                one[i] = lane_of(em, e->args[i]->type, args[i], lane);
            list = kc_format(em->m->arena, "%s%s%s", list, lane ? ", " : "",
                             fill(em, e, &call, one));
        }
        if (call.gives_bool)
            r = from_bool(em, e->type, kc_format(em->m->arena, "vec%u<bool>(%s)", lanes, list));
        else
            r = kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, e->type), list);
    } else {
        const char* s = fill(em, e, &call, args);
        if (call.gives_bool)
            r = from_bool(em, e->type, s);
        else
            r = kc_wgsl_make(em, call.is_operator ? KC_WGSL_BITS : KC_WGSL_PRIMARY, "%s", s);
    }
    r.depth = (uint16_t)(depth + 1);
    return r;
}

/* ---- conversions ----------------------------------------------------------------------------- */

static kc_w apply(kc_wgsl* em, const kc_type* to, const kc_type* from, const char* fn, kc_w a)
{
    if (!kc_is_vector(to))
        return kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", fn, a.s);
    a = a.is_name ? a : kc_wgsl_let(em, a);
    const char* list = "";
    for (uint32_t i = 0; i < kc_lane_count(to); i++)
        list = kc_format(em->m->arena, "%s%s%s(%s)", list, i ? ", " : "", fn,
                         lane_of(em, from, a, i).s);
    return kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, to), list);
}

static kc_w from_float(kc_wgsl* em, const kc_expr* e, kc_w a)
{
    static const char* const rounded[] = {[KC_ROUND_EVEN] = "khal_rint",
                                          [KC_ROUND_UP] = "khal_ceil",
                                          [KC_ROUND_DOWN] = "khal_floor"};
    const kc_round round = e->u.convert.round;
    const kc_type* from = e->args[0]->type;
    if (round == KC_ROUND_EVEN || round == KC_ROUND_UP || round == KC_ROUND_DOWN)
        a = apply(em, from, from, rounded[round], a);
    const bool is_signed = kc_lane(e->type)->is_signed;
    if (e->u.convert.saturate)
        return apply(em, e->type, from, is_signed ? "khal_f32_to_i32_sat" : "khal_f32_to_u32_sat", a);
    return kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, e->type), a.s);
}

static kc_w to_float(kc_wgsl* em, const kc_expr* e, kc_w a)
{
    static const char* const names[][2] = {
        [KC_ROUND_EVEN] = {"khal_u32_to_f32", "khal_i32_to_f32"},
        [KC_ROUND_ZERO] = {"khal_u32_to_f32_rtz", "khal_i32_to_f32_rtz"},
        [KC_ROUND_UP] = {"khal_u32_to_f32_rtp", "khal_i32_to_f32_rtp"},
        [KC_ROUND_DOWN] = {"khal_u32_to_f32_rtn", "khal_i32_to_f32_rtn"}};
    const kc_type* from = e->args[0]->type;
    const kc_round round = e->u.convert.round;
    const bool is_signed = kc_lane(from)->is_signed;
    /* f32() itself rounds to even on every device so far, though WGSL does not say so. */
    if (kc_lane(from)->kind == KC_TYPE_INT && round != KC_ROUND_DEFAULT)
        return apply(em, e->type, from, names[round][is_signed], a);
    return kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, e->type), a.s);
}

/* Between int and uint. */
static kc_w between_integers(kc_wgsl* em, const kc_expr* e, kc_w a)
{
    const kc_type *to = e->type, *from = e->args[0]->type;
    if (e->u.convert.saturate && kc_lane(from)->kind == KC_TYPE_INT) {
        const char* type = kc_wgsl_type(em, from);
        const char* arg = kc_wgsl_argument(em, a);
        a = kc_lane(to)->is_signed
                ? kc_wgsl_make(em, KC_WGSL_PRIMARY, "min(%s, %s(2147483647u))", arg, type)
                : kc_wgsl_make(em, KC_WGSL_PRIMARY, "max(%s, %s(0))", arg, type);
    }
    return kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, to), a.s);
}

kc_w kc_wgsl_convert(kc_wgsl* em, const kc_expr* e)
{
    const kc_type *to = e->type, *from = e->args[0]->type;
    kc_w a = kc_wgsl_expr(em, e->args[0]);
    if (to == from)
        return a;
    const uint16_t depth = (uint16_t)(a.depth + 1);
    if (a.is_const)
        a = kc_wgsl_let(em, a);
    kc_w r;
    if (to->kind == KC_TYPE_BOOL)
        r = kc_is_float(from)
                ? kc_wgsl_make(em, KC_WGSL_UNARY, "!(%s == 0.0f)", kc_wgsl_at(em, a, KC_WGSL_ADD))
                : kc_wgsl_make(em, KC_WGSL_RELATION, "%s != %s", kc_wgsl_at(em, a, KC_WGSL_ADD),
                               from->is_signed ? "0" : "0u");
    else if (kc_is_float(from))
        r = kc_is_float(to) ? a : from_float(em, e, a);
    else
        r = kc_is_float(to) ? to_float(em, e, a) : between_integers(em, e, a);
    r.depth = depth;
    return r;
}
