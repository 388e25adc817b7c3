/* Expressions and places as WGSL. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit_wgsl.h"

/* Expressions of WGSL nest at most about this deep; what is deeper gets a name. */
#define SPILL_DEPTH 40

kc_w kc_wgsl_make(kc_wgsl* em, int prec, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const char* s = kc_vformat(em->m->arena, format, args);
    va_end(args);
    return (kc_w){.s = s, .prec = (uint8_t)prec};
}

/* `c`, made of `a` and `b`. */
static kc_w made_of(kc_w c, kc_w a, kc_w b)
{
    c.is_const = a.is_const && b.is_const;
    c.depth = (uint16_t)((a.depth > b.depth ? a.depth : b.depth) + 1);
    return c;
}

const char* kc_wgsl_at(kc_wgsl* em, kc_w c, int prec)
{
    return c.prec < prec ? kc_format(em->m->arena, "(%s)", c.s) : c.s;
}

const char* kc_wgsl_argument(kc_wgsl* em, kc_w c)
{
    return c.prec == KC_WGSL_RELATION ? kc_format(em->m->arena, "(%s)", c.s) : c.s;
}

static kc_w name(const char* s)
{
    return (kc_w){.s = s, .prec = KC_WGSL_PRIMARY, .is_name = true};
}

static kc_w literal(const char* s)
{
    return (kc_w){.s = s,
                  .prec = s[0] == '-' ? KC_WGSL_UNARY : KC_WGSL_PRIMARY,
                  .is_name = true,
                  .is_const = true};
}

static const char* temporary(kc_wgsl* em)
{
    return kc_format(em->m->arena, "khal_t%u", ++em->temp_count);
}

kc_w kc_wgsl_let(kc_wgsl* em, kc_w c)
{
    if ((c.is_name && !c.is_const) || em->is_initialiser)
        return c;
    const char* t = temporary(em);
    kc_wgsl_line(em, "%s %s = %s;", c.is_const ? "var" : "let", t, c.s);
    return name(t);
}

/* A `var` is not evaluated while WGSL compiles; a `let` of constants may be, once overrides have
 * their values. */
static kc_w opaque(kc_wgsl* em, kc_w c)
{
    if (c.is_const && em->is_initialiser)
        em->has_bad_constant = true;
    return c.is_const ? kc_wgsl_let(em, c) : c;
}

/* ---- constants ------------------------------------------------------------------------------- */

const char* kc_wgsl_int(kc_wgsl* em, const kc_type* t, uint64_t bits)
{
    if (!t->is_signed)
        return kc_format(em->m->arena, "%uu", (unsigned)bits);
    return kc_format(em->m->arena, "%d", (int)(int32_t)(uint32_t)bits);
}

static kc_w float_constant(kc_wgsl* em, uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    if (!isfinite(f)) {
        em->has_bad_constant = true;
        return kc_wgsl_make(em, KC_WGSL_PRIMARY, "khal_f32(0x%08xu)", (unsigned)bits);
    }
    char text[64];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f)
            break;
    }
    if ((double)f == floor((double)f) && fabs((double)f) < 1e7)
        snprintf(text, sizeof text, "%.1f", (double)f);
    else if (fabs(strtod(text, NULL)) > (double)FLT_MAX) /* no f32, though it would round to one */
        snprintf(text, sizeof text, "%a", (double)f);
    return literal(kc_format(em->m->arena, "%s%sf", text, strpbrk(text, ".ep") ? "" : ".0"));
}

static kc_w constant(kc_wgsl* em, const kc_type* t, uint64_t bits)
{
    if (t->kind == KC_TYPE_BOOL)
        return literal(bits ? "true" : "false");
    if (t->kind == KC_TYPE_INT)
        return literal(kc_wgsl_int(em, t, bits));
    return float_constant(em, (uint32_t)bits);
}

static kc_w zero(kc_wgsl* em, const kc_type* t)
{
    if (kc_is_scalar(t))
        return constant(em, t, 0);
    kc_w c = kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s()", kc_wgsl_type(em, t));
    c.is_const = true;
    return c;
}

/* ---- places ---------------------------------------------------------------------------------- */

bool kc_wgsl_is_shared(const kc_wgsl* em, const kc_expr* place)
{
    return em->words && place->kind == KC_EX_INDEX && place->args[0]->kind == KC_EX_VAR &&
           place->args[0]->u.var->kind == KC_VAR_BUFFER &&
           place->args[0]->u.var != em->kernel->push;
}

kc_w kc_wgsl_shared_index(kc_wgsl* em, const kc_expr* place)
{
    const kc_w i = kc_wgsl_expr(em, place->args[1]);
    if (kc_lane(place->args[1]->type)->is_signed)
        return kc_wgsl_make(em, KC_WGSL_PRIMARY, "u32(%s)", i.s);
    return i;
}

/* What WGSL would find to be outside while it compiles is found while the kernel runs. */
static bool is_inside(const kc_expr* e)
{
    const kc_type* base = e->args[0]->type;
    const kc_var* root = kc_place_root(e->args[0]);
    if (e->args[1]->kind != KC_EX_CONST || e->args[1]->u.bits > INT32_MAX)
        return false;
    if (base->count) /* else as long as the dispatch makes it: one element at least */
        return e->args[1]->u.bits < base->count;
    return e->args[1]->u.bits == 0 || (root && root->kind == KC_VAR_BUFFER);
}

static kc_w index_of(kc_wgsl* em, const kc_expr* e)
{
    const kc_w i = kc_wgsl_expr(em, e->args[1]);
    return i.is_const && !is_inside(e) ? opaque(em, i) : i;
}

static kc_w push_word(kc_wgsl* em, const kc_expr* e)
{
    em->uses_block = true;
    const uint64_t word = e->args[1]->kind == KC_EX_CONST ? e->args[1]->u.bits : 0;
    return name(kc_format(em->m->arena, "khal.push[%llu].%c", (unsigned long long)(word / 4),
                          "xyzw"[word % 4]));
}

kc_w kc_wgsl_place(kc_wgsl* em, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_VAR: {
        kc_w c = name(kc_wgsl_name_of(em, e->u.var));
        c.is_const = e->u.var->kind == KC_VAR_CONSTANT &&
                     !kc_wgsl_var_of(em, e->u.var)->is_table_in_function;
        return c;
    }
    case KC_EX_INDEX: {
        if (e->args[0]->kind == KC_EX_VAR && e->args[0]->u.var == em->kernel->push)
            return push_word(em, e);
        const kc_w base = kc_wgsl_place(em, e->args[0]);
        if (kc_is_vector(e->args[0]->type) && e->args[1]->kind == KC_EX_CONST &&
            e->args[1]->u.bits < e->args[0]->type->count)
            return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s.%c", base.s,
                                        "xyzw"[e->args[1]->u.bits]),
                           base, base);
        const kc_w i = index_of(em, e);
        return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s[%s]", base.s, i.s), base, i);
    }
    case KC_EX_FIELD: {
        const kc_w base = kc_wgsl_place(em, e->args[0]);
        return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s.%s", base.s,
                                    kc_wgsl_field(em, e->args[0]->type->record, e->u.field)),
                       base, base);
    }
    case KC_EX_LANES: {
        const kc_w base = kc_wgsl_place(em, e->args[0]);
        char lanes[KC_MAX_LANES + 1] = {0};
        for (uint32_t i = 0; i < e->u.lanes.count; i++)
            lanes[i] = "xyzw"[e->u.lanes.index[i] & 3];
        return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s.%s", base.s, lanes), base, base);
    }
    default: return kc_wgsl_expr(em, e); /* not lowered */
    }
}

static bool same_args(const kc_expr* a, const kc_expr* b)
{
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!kc_wgsl_same(a->args[i], b->args[i]))
            return false;
    return true;
}

bool kc_wgsl_same(const kc_expr* a, const kc_expr* b)
{
    if (a->kind != b->kind || a->type != b->type || a->arg_count != b->arg_count)
        return false;
    switch (a->kind) {
    case KC_EX_VAR:
    case KC_EX_LOCAL_BYTES:
    case KC_EX_SLICE_OFFSET: return a->u.var == b->u.var;
    case KC_EX_CONST: return a->u.bits == b->u.bits;
    case KC_EX_FIELD: return a->u.field == b->u.field && same_args(a, b);
    case KC_EX_UNARY:
    case KC_EX_BINARY: return a->u.op == b->u.op && same_args(a, b);
    case KC_EX_WORK_ITEM: return a->u.query == b->u.query && same_args(a, b);
    case KC_EX_LANES:
    case KC_EX_SWIZZLE:
        return a->u.lanes.count == b->u.lanes.count &&
               memcmp(a->u.lanes.index, b->u.lanes.index, a->u.lanes.count) == 0 && same_args(a, b);
    case KC_EX_CONVERT:
        return a->u.convert.round == b->u.convert.round &&
               a->u.convert.saturate == b->u.convert.saturate && same_args(a, b);
    case KC_EX_BUILTIN: return a->u.builtin == b->u.builtin && same_args(a, b);
    default: return same_args(a, b);
    }
}

static kc_w load(kc_wgsl* em, const kc_expr* e)
{
    const kc_expr* place = e->args[0];
    const kc_var* root = kc_place_root(place);
    if (kc_wgsl_is_shared(em, place)) {
        const kc_w i = kc_wgsl_shared_index(em, place);
        return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s_load(%s)",
                                    kc_wgsl_name_of(em, place->args[0]->u.var), i.s),
                       name(""), i);
    }
    const kc_w c = kc_wgsl_place(em, place);
    if (root && root->is_atomic)
        return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "atomicLoad(&%s)", c.s), name(""), c);
    return c;
}

/* ---- operators ------------------------------------------------------------------------------- */

static const char* op_text(kc_op op)
{
    static const char* const texts[] = {
        [KC_OP_NEG] = "-",  [KC_OP_BIT_NOT] = "~",      [KC_OP_LOGICAL_NOT] = "!",
        [KC_OP_ADD] = "+",  [KC_OP_SUB] = "-",          [KC_OP_MUL] = "*",
        [KC_OP_DIV] = "/",  [KC_OP_REM] = "%",          [KC_OP_SHL] = "<<",
        [KC_OP_SHR] = ">>", [KC_OP_AND] = "&",          [KC_OP_OR] = "|",
        [KC_OP_XOR] = "^",  [KC_OP_EQ] = "==",          [KC_OP_NE] = "!=",
        [KC_OP_LT] = "<",   [KC_OP_LE] = "<=",          [KC_OP_GT] = ">",
        [KC_OP_GE] = ">=",  [KC_OP_LOGICAL_AND] = "&&", [KC_OP_LOGICAL_OR] = "||",
    };
    return texts[op];
}

static int op_prec(kc_op op)
{
    switch (op) {
    case KC_OP_MUL:
    case KC_OP_DIV:
    case KC_OP_REM: return KC_WGSL_MUL;
    case KC_OP_ADD:
    case KC_OP_SUB: return KC_WGSL_ADD;
    case KC_OP_SHL:
    case KC_OP_SHR: return KC_WGSL_SHIFT;
    case KC_OP_AND:
    case KC_OP_OR:
    case KC_OP_XOR: return KC_WGSL_BITS;
    case KC_OP_LOGICAL_AND:
    case KC_OP_LOGICAL_OR: return KC_WGSL_LOGICAL;
    default: return KC_WGSL_RELATION;
    }
}

/* WGSL's grammar wants more parentheses than C's. `chains`: the left operand is the same operator. */
static kc_w infix(kc_wgsl* em, kc_op op, kc_w a, kc_w b, bool chains)
{
    const int prec = op_prec(op);
    int left = KC_WGSL_UNARY, right = KC_WGSL_UNARY;
    if (prec == KC_WGSL_ADD) {
        left = KC_WGSL_ADD;
        right = KC_WGSL_MUL;
    } else if (prec == KC_WGSL_MUL) {
        left = KC_WGSL_MUL;
    } else if (prec == KC_WGSL_RELATION) {
        left = right = KC_WGSL_ADD;
    } else if (prec == KC_WGSL_LOGICAL) {
        left = right = KC_WGSL_RELATION;
    }
    if (chains && (prec == KC_WGSL_BITS || prec == KC_WGSL_LOGICAL))
        left = prec;
    return made_of(kc_wgsl_make(em, prec, "%s %s %s", kc_wgsl_at(em, a, left), op_text(op),
                                kc_wgsl_at(em, b, right)),
                   a, b);
}

static bool is_same_op(const kc_expr* e, kc_op op)
{
    return e->kind == KC_EX_BINARY && e->u.op == op;
}

/* Comparisons of vectors give 0 and -1. */
static kc_w truth(kc_wgsl* em, const kc_type* t, kc_w c, bool sense)
{
    if (!kc_is_vector(t))
        return c;
    const char* type = kc_wgsl_type(em, t);
    return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "select(%s(%s), %s(%s), %s)", type,
                                sense ? "0" : "-1", type, sense ? "-1" : "0", c.s),
                   c, c);
}

static kc_w compare(kc_wgsl* em, const kc_expr* e)
{
    kc_w a = kc_wgsl_expr(em, e->args[0]);
    const kc_w b = kc_wgsl_expr(em, e->args[1]);
    if (a.is_const && b.is_const)
        a = opaque(em, a);
    if (e->u.op != KC_OP_NE || !kc_is_float(e->args[0]->type))
        return truth(em, e->type, infix(em, e->u.op, a, b, false), true);
    /* A NaN is unequal to everything: some compilers take WGSL's != for "less or greater". */
    const kc_w same = infix(em, KC_OP_EQ, a, b, false);
    if (kc_is_vector(e->type))
        return truth(em, e->type, same, false);
    return made_of(kc_wgsl_make(em, KC_WGSL_UNARY, "!(%s)", same.s), same, same);
}

static uint64_t constant_of(const kc_expr* e, bool* out_is_constant)
{
    if (e->kind == KC_EX_SPLAT)
        e = e->args[0];
    *out_is_constant = e->kind == KC_EX_CONST;
    return *out_is_constant ? e->u.bits : 0;
}

/* What no lane of an unsigned expression is above. */
static uint64_t bound_of(const kc_expr* e, int depth)
{
    if (e->kind == KC_EX_SPLAT)
        e = e->args[0];
    if (e->kind == KC_EX_CONST)
        return e->u.bits & UINT32_MAX;
    if (depth == 0)
        return UINT32_MAX;
    if (e->kind == KC_EX_LOAD && e->args[0]->kind == KC_EX_VAR) {
        const kc_wgsl_var* v = e->args[0]->u.var->pass_data;
        return v && v->value && !v->assign_count ? bound_of(v->value, depth - 1) : UINT32_MAX;
    }
    if (e->kind != KC_EX_BINARY || kc_lane(e->type)->is_signed)
        return UINT32_MAX;
    const uint64_t a = bound_of(e->args[0], depth - 1), b = bound_of(e->args[1], depth - 1);
    if (e->u.op == KC_OP_AND)
        return a < b ? a : b;
    if (e->u.op == KC_OP_SHL && b < 32 && a << b <= UINT32_MAX)
        return a << b;
    return UINT32_MAX;
}

static kc_w shift(kc_wgsl* em, const kc_expr* e)
{
    const kc_expr* by = e->args[1];
    const uint32_t lanes = kc_lane_count(e->type);
    kc_w a = kc_wgsl_expr(em, e->args[0]), b;
    bool is_constant = false;
    const uint64_t count = constant_of(by, &is_constant) & 31;
    if (is_constant) {
        b = literal(kc_format(em->m->arena, "%uu", (unsigned)count));
    } else {
        b = kc_wgsl_expr(em, by);
        if (kc_lane(by->type)->is_signed)
            b = made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY,
                                     kc_is_vector(by->type) ? "vec%2$u<u32>(%1$s)" : "u32(%s)", b.s,
                                     kc_lane_count(by->type)),
                        b, b);
        if (bound_of(by, 8) > 31)
            b = made_of(kc_wgsl_make(em, KC_WGSL_BITS,
                                     kc_is_vector(by->type) ? "%s & vec%u<u32>(31u)" : "%s & 31u",
                                     kc_wgsl_at(em, b, KC_WGSL_UNARY), kc_lane_count(by->type)),
                        b, b);
    }
    if (lanes > 1 && (is_constant || !kc_is_vector(by->type)))
        b = made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "vec%u<u32>(%s)", lanes, b.s), b, b);
    if (a.is_const && b.is_const)
        a = opaque(em, a);
    return infix(em, e->u.op, a, b, false);
}

/* Vulkan leaves the remainder of a negative number open, and wgpu-native hands that on. */
static kc_w signed_remainder(kc_wgsl* em, kc_w a, kc_w b)
{
    a = kc_wgsl_let(em, a);
    if (!b.is_const)
        b = kc_wgsl_let(em, b);
    const kc_w quotient = infix(em, KC_OP_DIV, a, b, false);
    return infix(em, KC_OP_SUB, a, infix(em, KC_OP_MUL, quotient, b, false), false);
}

/* A constant divisor of 0 and quotients of constants are errors in WGSL. */
static kc_w divide(kc_wgsl* em, const kc_expr* e)
{
    kc_w a = kc_wgsl_expr(em, e->args[0]), b = kc_wgsl_expr(em, e->args[1]);
    bool is_constant = false;
    const uint64_t by = constant_of(e->args[1], &is_constant);
    if (b.is_const && (a.is_const || !is_constant || by == 0))
        b = opaque(em, b);
    if (e->u.op == KC_OP_REM && kc_lane(e->type)->is_signed)
        return signed_remainder(em, a, b);
    return infix(em, e->u.op, a, b, false);
}

/* WGSL promises quotients for divisors up to 2^126; what is small anyway may be 0 beyond. */
static bool divides_safely(const kc_expr* e)
{
    float number = 0.0f;
    const kc_expr* parts[2] = {e->args[0], e->args[1]};
    for (int i = 0; i < 2; i++) {
        const kc_expr* part = parts[i]->kind == KC_EX_SPLAT ? parts[i]->args[0] : parts[i];
        if (part->kind != KC_EX_CONST)
            continue;
        const uint32_t bits = (uint32_t)part->u.bits;
        memcpy(&number, &bits, sizeof number);
        if (number >= -1.0f && number <= 1.0f)
            return true;
        if (i == 1 && number >= -0x1p125f && number <= 0x1p125f)
            return true;
    }
    return false;
}

static kc_w divide_floats(kc_wgsl* em, const kc_expr* e)
{
    const kc_w a = kc_wgsl_expr(em, e->args[0]), b = kc_wgsl_expr(em, e->args[1]);
    const uint32_t lanes = kc_lane_count(e->type);
    const char* suffix = lanes > 1 ? kc_format(em->m->arena, "_v%u", lanes) : "";
    kc_w c = made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "khal_quotient%s(%s, %s)", suffix,
                                  kc_wgsl_argument(em, a), kc_wgsl_argument(em, b)),
                     a, b);
    em->has_bad_constant |= em->is_initialiser;
    c.is_const = false;
    return c;
}

static kc_w select_value(kc_wgsl* em, const kc_expr* e);

static kc_w binary(kc_wgsl* em, const kc_expr* e)
{
    const kc_op op = e->u.op;
    const kc_type* t = e->args[0]->type;
    switch (op) {
    case KC_OP_EQ:
    case KC_OP_NE:
    case KC_OP_LT:
    case KC_OP_LE:
    case KC_OP_GT:
    case KC_OP_GE: return compare(em, e);
    case KC_OP_SHL:
    case KC_OP_SHR: return shift(em, e);
    case KC_OP_DIV:
    case KC_OP_REM:
        if (kc_is_integer(t))
            return divide(em, e);
        if (op == KC_OP_DIV && !em->relaxed && !divides_safely(e))
            return divide_floats(em, e);
        break;
    default: break;
    }
    kc_w a = kc_wgsl_expr(em, e->args[0]);
    const kc_w b = kc_wgsl_expr(em, e->args[1]);
    if (a.is_const && b.is_const && t->kind != KC_TYPE_BOOL)
        a = opaque(em, a);
    if (op == KC_OP_XOR && t->kind == KC_TYPE_BOOL)
        return infix(em, KC_OP_NE, a, b, false);
    return infix(em, op, a, b, is_same_op(e->args[0], op));
}

static kc_w unary(kc_wgsl* em, const kc_expr* e)
{
    kc_w a = kc_wgsl_expr(em, e->args[0]);
    if (e->u.op == KC_OP_NEG && kc_is_integer(e->type)) {
        if (a.is_const)
            a = opaque(em, a);
        if (!kc_lane(e->type)->is_signed)
            return made_of(kc_wgsl_make(em, KC_WGSL_ADD, "0u - %s", kc_wgsl_at(em, a, KC_WGSL_MUL)),
                           a, a);
    }
    return made_of(kc_wgsl_make(em, KC_WGSL_UNARY, "%s%s", op_text(e->u.op),
                                kc_wgsl_at(em, a, a.s[0] == '-' ? KC_WGSL_PRIMARY : KC_WGSL_UNARY)),
                   a, a);
}

/* Whether evaluating `e` in vain would cost something. */
static bool is_dear(const kc_expr* e, int* budget)
{
    if (--*budget < 0)
        return true;
    if (e->kind == KC_EX_BUILTIN)
        *budget -= 4;
    if (e->kind == KC_EX_BINARY && (e->u.op == KC_OP_DIV || e->u.op == KC_OP_REM))
        *budget -= 4;
    if (e->kind == KC_EX_LOAD) {
        const kc_var* root = kc_place_root(e->args[0]);
        if (root && (root->kind == KC_VAR_BUFFER || root->kind == KC_VAR_LOCAL) && root->param)
            return true;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (is_dear(e->args[i], budget))
            return true;
    return false;
}

static kc_w branch(kc_wgsl* em, const kc_expr* e)
{
    const char* t = temporary(em);
    const char* cond = kc_wgsl_text(em, e->args[0]);
    kc_wgsl_line(em, "var %s: %s;", t, kc_wgsl_type(em, e->type));
    kc_wgsl_line(em, "if (%s) {", cond);
    for (uint32_t i = 1; i <= 2; i++) {
        em->indent++;
        em->nesting++;
        const char* value = kc_wgsl_text(em, e->args[i]);
        kc_wgsl_line(em, "%s = %s;", t, value);
        em->nesting--;
        em->indent--;
        kc_wgsl_line(em, i == 1 ? "} else {" : "}");
    }
    return name(t);
}

static kc_w select_value(kc_wgsl* em, const kc_expr* e)
{
    int budget = 12;
    const bool is_dear_arm = is_dear(e->args[1], &budget) || is_dear(e->args[2], &budget);
    const bool is_value = kc_is_scalar(e->type) || kc_is_vector(e->type);
    if (!em->is_initialiser && (is_dear_arm || !is_value))
        return branch(em, e);
    const kc_w c = kc_wgsl_expr(em, e->args[0]);
    const kc_w a = kc_wgsl_expr(em, e->args[1]), b = kc_wgsl_expr(em, e->args[2]);
    const kc_w r = kc_wgsl_make(em, KC_WGSL_PRIMARY, "select(%s, %s, %s)",
                                kc_wgsl_argument(em, b), kc_wgsl_argument(em, a),
                                c.s);
    return made_of(r, made_of(r, a, b), c);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static kc_w bitcast(kc_wgsl* em, const kc_expr* e)
{
    kc_w a = kc_wgsl_expr(em, e->args[0]);
    const kc_type *to = e->type, *from = e->args[0]->type;
    if (to == from)
        return a;
    if (kc_is_vector(to) != kc_is_vector(from) || kc_lane_count(to) != kc_lane_count(from)) {
        /* 3 lanes as 4, or back */
        const kc_type* wide = kc_type_with_lane(
            em->m, kc_lane_count(to) == 4 ? to : from, kc_lane(to));
        a = kc_wgsl_let(em, a);
        if (kc_lane_count(from) == 3)
            return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "bitcast<%s>(vec4(%s, %s.x))",
                                        kc_wgsl_type(em, wide), a.s, a.s),
                           a, a);
        return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "bitcast<%s>(%s).xyz",
                                    kc_wgsl_type(em, wide), a.s),
                       a, a);
    }
    if (a.is_const)
        a = opaque(em, a);
    return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "bitcast<%s>(%s)", kc_wgsl_type(em, to), a.s),
                   a, a);
}

void kc_wgsl_check_length(kc_wgsl* em, const kc_expr* e)
{
    if (e->arg_count > KC_WGSL_MAX_ELEMENTS)
        kc_refuse(em->m, em->kernel, e->loc, KC_DIAG_TARGET_LIMIT,
                  "an array of %u values; WGSL takes %u", e->arg_count, KC_WGSL_MAX_ELEMENTS);
}

/* A constructor with a list of arguments. */
static kc_w construct(kc_wgsl* em, const kc_expr* e)
{
    kc_wgsl_check_length(em, e);
    kc_text list = {0};
    bool is_const = true;
    uint16_t depth = 0;
    for (uint32_t i = 0; i < e->arg_count; i++) {
        const kc_w c = kc_wgsl_expr(em, e->args[i]);
        is_const &= c.is_const;
        depth = c.depth > depth ? c.depth : depth;
        kc_putf(&list, "%s%s", i ? ", " : "", kc_wgsl_argument(em, c));
    }
    kc_w c = kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, e->type),
                          list.size ? list.data : "");
    kc_text_free(&list);
    c.is_const = is_const;
    c.depth = (uint16_t)(depth + 1);
    return c;
}

static kc_w splat(kc_wgsl* em, const kc_expr* e)
{
    const kc_w a = kc_wgsl_expr(em, e->args[0]);
    return made_of(kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s(%s)", kc_wgsl_type(em, e->type), a.s), a,
                   a);
}

static kc_w swizzle(kc_wgsl* em, const kc_expr* e)
{
    const kc_w a = kc_wgsl_expr(em, e->args[0]);
    char lanes[KC_MAX_LANES + 1] = {0};
    for (uint32_t i = 0; i < e->u.lanes.count; i++)
        lanes[i] = "xyzw"[e->u.lanes.index[i] & 3];
    return made_of(
        kc_wgsl_make(em, KC_WGSL_PRIMARY, "%s.%s", kc_wgsl_at(em, a, KC_WGSL_PRIMARY), lanes), a,
        a);
}

/* A vec3 of WGSL with what the query asks for each dimension. */
static const char* query_vector(kc_wgsl* em, kc_query query)
{
    const uint32_t* size = em->kernel->workgroup_size;
    switch (query) {
    case KC_QUERY_GLOBAL_ID: em->uses_global_id = true; return "khal_global_id";
    case KC_QUERY_LOCAL_ID: em->uses_local_id = true; return "khal_local_id";
    case KC_QUERY_GROUP_ID: em->uses_group_id = true; return "khal_group_id";
    case KC_QUERY_GLOBAL_SIZE: em->uses_block = true; return "khal.global_size";
    case KC_QUERY_NUM_GROUPS: em->uses_block = true; return "khal.group_count";
    default:
        if (size[0])
            return kc_format(em->m->arena, "vec3<u32>(%uu, %uu, %uu)", size[0], size[1], size[2]);
        em->uses_local_size = true;
        return "khal_local_size";
    }
}

static kc_w work_item(kc_wgsl* em, const kc_expr* e)
{
    const kc_query q = e->u.query;
    if (q == KC_QUERY_WORK_DIM) {
        em->uses_block = true;
        return name("khal.work_dim");
    }
    if (q == KC_QUERY_GLOBAL_OFFSET)
        return literal("0u");
    const bool is_id =
        q == KC_QUERY_GLOBAL_ID || q == KC_QUERY_LOCAL_ID || q == KC_QUERY_GROUP_ID;
    const kc_expr* dimension = e->args[0];
    if (dimension->kind != KC_EX_CONST) {
        const kc_w d = kc_wgsl_expr(em, dimension);
        const char* index = dimension->type->is_signed ? kc_format(em->m->arena, "u32(%s)", d.s)
                                                       : kc_wgsl_argument(em, d);
        return kc_wgsl_make(em, KC_WGSL_PRIMARY, "khal_dimension(%s, %s, %s)",
                            query_vector(em, q), index, is_id ? "0u" : "1u");
    }
    if (dimension->u.bits > 2)
        return literal(is_id ? "0u" : "1u");
    const uint32_t d = (uint32_t)dimension->u.bits;
    if (q == KC_QUERY_LOCAL_SIZE && em->kernel->workgroup_size[0])
        return literal(kc_format(em->m->arena, "%uu", em->kernel->workgroup_size[d]));
    return name(kc_format(em->m->arena, "%s.%c", query_vector(em, q), "xyz"[d]));
}

static kc_w local_bytes(kc_wgsl* em, const kc_var* v)
{
    const kc_var* param = v->param ? v->param : v;
    uint32_t index = 0;
    for (uint32_t i = 0; i < em->info->arg_count; i++)
        if (em->kernel->params[i] == param)
            index = em->info->args[i].index;
    em->uses_block = true;
    return name(kc_format(em->m->arena, "khal.locals[%u].%c", index / 4, "xyzw"[index % 4]));
}

static kc_w slice_offset(kc_wgsl* em, const kc_var* v)
{
    uint32_t index = 0;
    for (uint32_t i = 0; i < em->kernel->buffer_count; i++)
        if (em->kernel->buffers[i] == v)
            index = i;
    em->uses_block = true;
    return name(kc_format(em->m->arena, "select(khal.slices[%u].%c, 0u, khal_is_plain)", index / 2,
                          "xz"[index % 2]));
}

static kc_w expr(kc_wgsl* em, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_LOAD: return load(em, e);
    case KC_EX_CONST: return constant(em, e->type, e->u.bits);
    case KC_EX_ZERO: return zero(em, e->type);
    case KC_EX_AGGREGATE:
        if (!e->arg_count)
            return zero(em, e->type);
        return construct(em, e);
    case KC_EX_COMPOSE: return construct(em, e);
    case KC_EX_SPLAT: return splat(em, e);
    case KC_EX_SWIZZLE: return swizzle(em, e);
    case KC_EX_UNARY: return unary(em, e);
    case KC_EX_BINARY: return binary(em, e);
    case KC_EX_SELECT: return select_value(em, e);
    case KC_EX_CONVERT: return kc_wgsl_convert(em, e);
    case KC_EX_BITCAST: return bitcast(em, e);
    case KC_EX_BUILTIN: return kc_wgsl_builtin_call(em, e);
    case KC_EX_WORK_ITEM: return work_item(em, e);
    case KC_EX_LOCAL_BYTES: return local_bytes(em, e->u.var);
    case KC_EX_SLICE_OFFSET: return slice_offset(em, e->u.var);
    case KC_EX_VAR:
    case KC_EX_INDEX:
    case KC_EX_FIELD:
    case KC_EX_LANES: return kc_wgsl_place(em, e);
    case KC_EX_DEREF:
    case KC_EX_ADDRESS:
    case KC_EX_OFFSET:
    case KC_EX_POINTER_DIFF: break;
    }
    kc_refuse(em->m, em->kernel, e->loc, KC_DIAG_INTERNAL, "a pointer that was not lowered");
    return literal("0");
}

kc_w kc_wgsl_expr(kc_wgsl* em, const kc_expr* e)
{
    const kc_w c = expr(em, e);
    if (c.depth <= SPILL_DEPTH || kc_is_place(e) || em->is_initialiser)
        return c;
    return kc_wgsl_let(em, c);
}

const char* kc_wgsl_text(kc_wgsl* em, const kc_expr* e)
{
    return kc_wgsl_expr(em, e).s;
}
