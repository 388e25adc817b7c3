/* Expressions and places as C. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit_c.h"

/* Brackets of one C expression nest at most about this deep (clang refuses 256); what is deeper
 * gets a variable. */
#define SPILL_DEPTH 60
/* Operands that may stay unevaluated and nest less than this never need one. */
#define SHALLOW 16

kc_c kc_emc_make(kc_emc* em, int prec, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const char* s = kc_vformat(em->m->arena, format, args);
    va_end(args);
    kc_c c = {s, prec, 0, false};
    int depth = 0;
    for (const char* p = s; *p; p++) {
        if (*p == '(' || *p == '[' || *p == '{')
            depth++;
        else if (*p == ')' || *p == ']' || *p == '}')
            depth--;
        if (depth > c.depth)
            c.depth = depth;
    }
    return c;
}

const char* kc_emc_at(kc_emc* em, kc_c c, int prec)
{
    return c.prec < prec ? kc_format(em->m->arena, "(%s)", c.s) : c.s;
}

/* Commas inside braces would part a macro's arguments. */
const char* kc_emc_argument(kc_emc* em, kc_c c)
{
    return strchr(c.s, '{') ? kc_format(em->m->arena, "(%s)", c.s) : c.s;
}

static kc_c name(const char* s)
{
    return (kc_c){s, KC_PREC_POSTFIX, 0, true};
}

/* ---- what is too deep gets a variable -------------------------------------------------------- */

static const char* temp(kc_emc* em)
{
    return kc_format(em->m->arena, "khal_t%u", ++em->temp_count);
}

static kc_c spill(kc_emc* em, const kc_type* t, kc_c c)
{
    const char* v = temp(em);
    if (em->pred) {
        kc_emc_line(em, "%s = {0};", kc_emc_declare(em, t, v, false));
        kc_emc_line(em, "if (%s)", em->pred);
        kc_emc_line(em, "    %s = %s;", v, c.s);
    } else {
        kc_emc_line(em, "%s = %s;", kc_emc_declare(em, t, v, true), c.s);
    }
    return name(v);
}

static bool is_deep(const kc_expr* e, int levels)
{
    if (levels == 0)
        return true;
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (is_deep(e->args[i], levels - 1))
            return true;
    return false;
}

/* An operand that is evaluated only when `condition` has the value `sense`; `guard` is NULL where
 * it can't need a variable. */
static kc_c guarded(kc_emc* em, const kc_expr* e, const char* guard, bool sense)
{
    const bool may_not = em->may_not_spill;
    const char* pred = em->pred;
    if (guard) {
        em->pred = temp(em);
        if (pred)
            kc_emc_line(em, "const khal_bool %s = %s && %s%s;", em->pred, pred, sense ? "" : "!",
                        guard);
        else
            kc_emc_line(em, "const khal_bool %s = %s%s;", em->pred, sense ? "" : "!", guard);
    } else {
        em->may_not_spill = true;
    }
    const kc_c c = kc_emc_expr(em, e);
    em->pred = pred;
    em->may_not_spill = may_not;
    return c;
}

/* An operand of `?:`. gcc takes two vectors only of the very same type, and arithmetic drops the
 * typedef's may_alias. */
static const char* arm(kc_emc* em, const kc_expr* e, kc_c c)
{
    const char* literal = kc_format(em->m->arena, "(%s){", kc_emc_type(em, e->type));
    if (!kc_is_vector(e->type) || strncmp(c.s, literal, strlen(literal)) == 0)
        return kc_emc_at(em, c, KC_PREC_LOR);
    return kc_format(em->m->arena, "(%s)%s", kc_emc_type(em, e->type),
                     kc_emc_at(em, c, KC_PREC_UNARY));
}

static kc_c conditional(kc_emc* em, const kc_expr* e)
{
    const bool is_select = e->kind == KC_EX_SELECT;
    const bool is_or = !is_select && e->u.op == KC_OP_LOGICAL_OR;
    kc_c c = kc_emc_expr(em, e->args[0]);
    const char* guard = NULL;
    if (!em->may_not_spill &&
        (is_deep(e->args[1], SHALLOW) || (is_select && is_deep(e->args[2], SHALLOW)))) {
        c = spill(em, e->args[0]->type, c);
        guard = c.s;
    }
    const kc_c a = guarded(em, e->args[1], guard, !is_or);
    if (!is_select && is_or)
        return kc_emc_make(em, KC_PREC_LOR, "%s || %s",
                           kc_emc_at(em, c, c.prec == KC_PREC_LAND ? KC_PREC_OR : KC_PREC_LOR),
                           kc_emc_at(em, a, a.prec == KC_PREC_LAND ? KC_PREC_OR : KC_PREC_LOR));
    if (!is_select)
        return kc_emc_make(em, KC_PREC_LAND, "%s && %s", kc_emc_at(em, c, KC_PREC_LAND),
                           kc_emc_at(em, a, KC_PREC_LAND));
    const kc_c b = guarded(em, e->args[2], guard, false);
    return kc_emc_make(em, KC_PREC_COND, "%s ? %s : %s", kc_emc_at(em, c, KC_PREC_LOR),
                       arm(em, e->args[1], a), arm(em, e->args[2], b));
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The fewest digits that read back as the same float, or double. */
static void shortest(char* text, size_t room, double v, bool is_float)
{
    const int most = is_float ? 9 : 17;
    for (int digits = 1; digits <= most; digits++) {
        snprintf(text, room, "%.*g", digits, v);
        const double back = is_float ? (double)strtof(text, NULL) : strtod(text, NULL);
        if (back == v)
            break;
    }
}

static kc_c constant(kc_emc* em, const kc_expr* e)
{
    kc_arena* a = em->m->arena;
    const kc_type* t = e->type;
    if (t->kind == KC_TYPE_BOOL)
        return name(e->u.bits ? "true" : "false");
    if (t->kind == KC_TYPE_INT) {
        if (!t->is_signed)
            return name(kc_format(a, "%llu%s", (unsigned long long)e->u.bits,
                                  t->width == 64 ? "ull" : "u"));
        const long long v = (long long)e->u.bits;
        if (t->width == 64 && v == INT64_MIN)
            return name("(-9223372036854775807ll - 1)");
        if (t->width == 32 && v == INT32_MIN)
            return name("(-2147483647 - 1)");
        kc_c c = name(kc_format(a, "%lld%s", v, t->width == 64 ? "ll" : ""));
        if (v < 0)
            c.prec = KC_PREC_UNARY;
        return c;
    }
    double v;
    if (t->width == 64) {
        memcpy(&v, &e->u.bits, sizeof v);
    } else if (t->width == 32) {
        const uint32_t bits = (uint32_t)e->u.bits;
        float f;
        memcpy(&f, &bits, sizeof f);
        v = (double)f;
    } else {
        return name(kc_format(a, "0x%04xu", (unsigned)e->u.bits));
    }
    const char* suffix = t->width == 32 ? "f" : "";
    if (isnan(v) || isinf(v)) {
        if (isinf(v))
            return kc_emc_make(em, KC_PREC_UNARY, "%s__builtin_inf%s()", signbit(v) ? "-" : "",
                               suffix);
        if (em->constant_init)
            return kc_emc_make(em, KC_PREC_UNARY, "%s__builtin_nan%s(\"\")", signbit(v) ? "-" : "",
                               suffix);
        return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_BITCAST(khal_%s, khal_%s, 0x%llxu%s)",
                           kc_emc_lane_name(t), t->width == 32 ? "uint" : "ulong",
                           (unsigned long long)e->u.bits, t->width == 32 ? "" : "ll");
    }
    char text[64];
    shortest(text, sizeof text, v, t->width == 32);
    if (v == floor(v) && fabs(v) < 1e7)
        snprintf(text, sizeof text, "%.1f", v);
    kc_c c = name(kc_format(a, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", suffix));
    if (text[0] == '-')
        c.prec = KC_PREC_UNARY;
    return c;
}

/* ---- places ---------------------------------------------------------------------------------- */

static kc_c var_place(kc_emc* em, kc_var* v)
{
    const char* s = kc_emc_var(em, v);
    const kc_var_plan* p = v->kind == KC_VAR_CONSTANT ? NULL : v->pass_data;
    if ((v->kind == KC_VAR_LOCAL && v->type->kind != KC_TYPE_ARRAY) || kc_emc_is_by_address(em, v))
        return kc_emc_make(em, KC_PREC_UNARY, "*%s", s);
    if (p && p->home == KC_HOME_ARRAY && !p->is_copied)
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s[khal_i]", p->array);
    return name(s);
}

static kc_c index_place(kc_emc* em, const kc_expr* e)
{
    const kc_expr* base = e->args[0];
    const kc_c a = kc_emc_place(em, base);
    const kc_c i = kc_emc_expr(em, e->args[1]);
    if (base->type->kind != KC_TYPE_VECTOR)
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s[%s]", kc_emc_at(em, a, KC_PREC_POSTFIX), i.s);
    const uint32_t mask = kc_emc_storage_lanes(base->type) - 1;
    if (e->args[1]->kind == KC_EX_CONST)
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s[%u]", kc_emc_at(em, a, KC_PREC_POSTFIX),
                           (unsigned)e->args[1]->u.bits & mask);
    return kc_emc_make(em, KC_PREC_POSTFIX, "%s[%s & %u]", kc_emc_at(em, a, KC_PREC_POSTFIX),
                       kc_emc_at(em, i, KC_PREC_AND), mask);
}

kc_c kc_emc_place(kc_emc* em, const kc_expr* e)
{
    kc_c c;
    switch (e->kind) {
    case KC_EX_VAR: return var_place(em, e->u.var);
    case KC_EX_INDEX: return index_place(em, e);
    case KC_EX_FIELD: {
        const char* field = kc_emc_field(em, e->args[0]->type->record, e->u.field);
        const kc_expr* base = e->args[0];
        if (base->kind == KC_EX_DEREF && base->args[0]->kind != KC_EX_OFFSET &&
            base->args[0]->kind != KC_EX_ADDRESS)
            return kc_emc_make(em, KC_PREC_POSTFIX, "%s->%s",
                               kc_emc_at(em, kc_emc_expr(em, base->args[0]), KC_PREC_POSTFIX),
                               field);
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s.%s",
                           kc_emc_at(em, kc_emc_place(em, base), KC_PREC_POSTFIX), field);
    }
    case KC_EX_DEREF: {
        const kc_expr* p = e->args[0];
        if (p->kind == KC_EX_OFFSET) {
            const kc_c base = kc_emc_expr(em, p->args[0]);
            return kc_emc_make(em, KC_PREC_POSTFIX, "%s[%s]", kc_emc_at(em, base, KC_PREC_POSTFIX),
                               kc_emc_expr(em, p->args[1]).s);
        }
        return kc_emc_make(em, KC_PREC_UNARY, "*%s",
                           kc_emc_at(em, kc_emc_expr(em, p), KC_PREC_UNARY));
    }
    case KC_EX_LANES:
        c = kc_emc_place(em, e->args[0]);
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s[%u]", kc_emc_at(em, c, KC_PREC_POSTFIX),
                           e->u.lanes.index[0]);
    default: return kc_emc_expr(em, e);
    }
}

/* ---- vectors --------------------------------------------------------------------------------- */

kc_c kc_emc_splat(kc_emc* em, const kc_type* vector, kc_c a)
{
    const char* t = kc_emc_type(em, vector);
    const uint32_t n = kc_emc_storage_lanes(vector);
    if (!a.is_name || strlen(a.s) > 16)
        return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_SPLAT%u(%s, %s)", n, t,
                           kc_emc_argument(em, a));
    kc_c c = kc_emc_make(em, KC_PREC_UNARY, "(%s){%s", t, a.s);
    for (uint32_t i = 1; i < n; i++)
        c.s = kc_format(em->m->arena, "%s, %s", c.s, a.s);
    c.s = kc_format(em->m->arena, "%s}", c.s);
    c.depth = 1;
    c.prec = KC_PREC_POSTFIX;
    return c;
}

static kc_c shuffle(kc_emc* em, const kc_type* from, kc_c a, uint32_t count, const uint8_t* lanes)
{
    const char* second =
        a.is_name ? a.s : kc_format(em->m->arena, "(%s){0}", kc_emc_type(em, from));
    const char* s = kc_format(em->m->arena, "__builtin_shufflevector(%s, %s", a.s, second);
    for (uint32_t i = 0; i < count; i++)
        s = kc_format(em->m->arena, "%s, %u", s, lanes[i]);
    return kc_emc_make(em, KC_PREC_POSTFIX, "%s%s)", s, count == 3 ? ", -1" : "");
}

static kc_c compose(kc_emc* em, const kc_expr* e)
{
    kc_arena* a = em->m->arena;
    const char* t = kc_emc_type(em, e->type);
    if (e->arg_count == 2 && e->args[0]->type == e->args[1]->type &&
        kc_is_vector(e->args[0]->type) && e->args[0]->type->count != 3) {
        const kc_c x = kc_emc_expr(em, e->args[0]), y = kc_emc_expr(em, e->args[1]);
        const char* s = kc_format(a, "__builtin_shufflevector(%s, %s", x.s, y.s);
        for (uint32_t i = 0; i < kc_lane_count(e->type); i++)
            s = kc_format(a, "%s, %u", s, i);
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s)", s);
    }
    /* A vector that is not just a name is evaluated once, inside a statement expression. */
    const char* list = "";
    const char* before = "";
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < e->arg_count; i++) {
        const kc_type* at = e->args[i]->type;
        kc_c c = kc_emc_expr(em, e->args[i]);
        if (!kc_is_vector(at)) {
            list = kc_format(a, "%s%s%s", list, lanes++ ? ", " : "", c.s);
            continue;
        }
        if (!c.is_name) {
            const char* v = temp(em);
            before = kc_format(a, "%sconst %s %s = %s; ", before, kc_emc_type(em, at), v, c.s);
            c = name(v);
        }
        for (uint32_t k = 0; k < kc_lane_count(at); k++)
            list = kc_format(a, "%s%s%s[%u]", list, lanes++ ? ", " : "", c.s, k);
    }
    if (*before)
        return kc_emc_make(em, KC_PREC_POSTFIX, "__extension__({ %s(%s){%s}; })", before, t, list);
    return kc_emc_make(em, KC_PREC_POSTFIX, "(%s){%s}", t, list);
}

/* ---- operators ------------------------------------------------------------------------------- */

static const char* op_text(kc_op op)
{
    switch (op) {
    case KC_OP_ADD: return "+";
    case KC_OP_SUB:
    case KC_OP_NEG: return "-";
    case KC_OP_MUL: return "*";
    case KC_OP_DIV: return "/";
    case KC_OP_REM: return "%";
    case KC_OP_SHL: return "<<";
    case KC_OP_SHR: return ">>";
    case KC_OP_AND: return "&";
    case KC_OP_OR: return "|";
    case KC_OP_XOR: return "^";
    case KC_OP_EQ: return "==";
    case KC_OP_NE: return "!=";
    case KC_OP_LT: return "<";
    case KC_OP_LE: return "<=";
    case KC_OP_GT: return ">";
    case KC_OP_GE: return ">=";
    case KC_OP_LOGICAL_AND: return "&&";
    case KC_OP_LOGICAL_OR: return "||";
    case KC_OP_BIT_NOT: return "~";
    case KC_OP_LOGICAL_NOT: return "!";
    }
    return "";
}

static int op_prec(kc_op op)
{
    switch (op) {
    case KC_OP_MUL:
    case KC_OP_DIV:
    case KC_OP_REM: return KC_PREC_MUL;
    case KC_OP_ADD:
    case KC_OP_SUB: return KC_PREC_ADD;
    case KC_OP_SHL:
    case KC_OP_SHR: return KC_PREC_SHIFT;
    case KC_OP_LT:
    case KC_OP_LE:
    case KC_OP_GT:
    case KC_OP_GE: return KC_PREC_REL;
    case KC_OP_EQ:
    case KC_OP_NE: return KC_PREC_EQ;
    case KC_OP_AND: return KC_PREC_AND;
    case KC_OP_XOR: return KC_PREC_XOR;
    case KC_OP_OR: return KC_PREC_OR;
    default: return KC_PREC_UNARY;
    }
}

/* Operands mix with + - * / without parentheses, and nothing else does. */
static kc_c infix(kc_emc* em, kc_op op, kc_c a, kc_c b)
{
    const int prec = op_prec(op);
    const int left = prec == KC_PREC_ADD || prec == KC_PREC_MUL ? prec : KC_PREC_ADD;
    const int right = prec == KC_PREC_ADD   ? KC_PREC_MUL
                      : prec == KC_PREC_MUL ? KC_PREC_UNARY
                                            : KC_PREC_ADD;
    const bool same = prec == KC_PREC_AND || prec == KC_PREC_OR || prec == KC_PREC_XOR;
    return kc_emc_make(em, prec, "%s %s %s",
                       kc_emc_at(em, a,
                                 same && a.prec == prec  ? prec
                                 : prec == KC_PREC_SHIFT ? KC_PREC_UNARY
                                                         : left),
                       op_text(op),
                       kc_emc_at(em, b, prec == KC_PREC_SHIFT ? KC_PREC_UNARY : right));
}

/* The unsigned type that wrapping arithmetic on `t` is done in. */
static const kc_type* wrap_type(kc_emc* em, const kc_type* t)
{
    const uint32_t width = kc_lane(t)->width;
    return kc_type_with_lane(
        em->m, t, kc_type_int(em->m, kc_is_vector(t) || width == 64 ? width : 32, false));
}

static kc_c cast(kc_emc* em, const kc_type* to, kc_c c)
{
    return kc_emc_make(em, KC_PREC_UNARY, "(%s)%s", kc_emc_type(em, to),
                       kc_emc_at(em, c, KC_PREC_UNARY));
}

static kc_c wrapped(kc_emc* em, const kc_expr* e);

/* `e` in the unsigned type. */
static kc_c wrap_operand(kc_emc* em, const kc_expr* e)
{
    const kc_type* w = wrap_type(em, e->type);
    if (e->kind == KC_EX_BINARY &&
        (e->u.op == KC_OP_ADD || e->u.op == KC_OP_SUB || e->u.op == KC_OP_MUL))
        return wrapped(em, e);
    if (e->kind == KC_EX_UNARY && e->u.op == KC_OP_NEG)
        return wrapped(em, e);
    if (e->kind == KC_EX_CONST && w->width == 32)
        return name(kc_format(em->m->arena, "%uu", (unsigned)e->u.bits));
    if (e->kind == KC_EX_CONST)
        return name(kc_format(em->m->arena, "%lluull", (unsigned long long)e->u.bits));
    const kc_c c = kc_emc_expr(em, e);
    return e->type == w ? c : cast(em, w, c);
}

static kc_c wrapped(kc_emc* em, const kc_expr* e)
{
    kc_c c;
    if (e->kind == KC_EX_UNARY) {
        const kc_c a = wrap_operand(em, e->args[0]);
        c = kc_is_vector(e->type)
                ? kc_emc_make(em, KC_PREC_UNARY, "-%s", kc_emc_at(em, a, KC_PREC_UNARY))
                : kc_emc_make(em, KC_PREC_ADD, "0u - %s", kc_emc_at(em, a, KC_PREC_MUL));
    } else {
        const kc_c a = wrap_operand(em, e->args[0]);
        c = infix(em, e->u.op, a, wrap_operand(em, e->args[1]));
    }
    if (c.depth > SPILL_DEPTH && !em->may_not_spill)
        return spill(em, wrap_type(em, e->type), c);
    return c;
}

static bool divides_safely(const kc_expr* b)
{
    if (b->kind == KC_EX_SPLAT)
        b = b->args[0];
    return b->kind == KC_EX_CONST && b->u.bits != 0 &&
           !(b->type->is_signed && b->u.bits == UINT64_MAX);
}

static kc_c divide(kc_emc* em, const kc_expr* e)
{
    const kc_c a = kc_emc_expr(em, e->args[0]);
    const kc_c b = kc_emc_expr(em, e->args[1]);
    const kc_type* t = e->type;
    if (divides_safely(e->args[1])) {
        const kc_c c = infix(em, e->u.op, a, b);
        return kc_lane(t)->width < 32 && !kc_is_vector(t) ? cast(em, t, c) : c;
    }
    const char* fn = e->u.op == KC_OP_DIV ? "div" : "rem";
    em->uses_integer = true;
    if (!kc_is_vector(t))
        return kc_emc_make(em, KC_PREC_POSTFIX, "khal_%s_%s(%s, %s)", fn, kc_emc_lane_name(t), a.s,
                           b.s);
    kc_emc_need(em, "KHAL_C_MAP2(%s, %s, %s, %s, %u)", fn, kc_emc_lane_name(t),
                kc_emc_lane_name(t), kc_emc_lane_name(t), kc_lane_count(t));
    return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_C_NAME(khal_%s_%s)(%s, %s)", fn,
                       kc_emc_suffix(t), a.s, b.s);
}

static kc_c shift(kc_emc* em, const kc_expr* e)
{
    const kc_type* t = e->type;
    const unsigned mask = kc_lane(t)->width - 1u;
    const kc_expr* by = e->args[1];
    const kc_c a = kc_emc_expr(em, e->args[0]);
    kc_c b = kc_emc_expr(em, by);
    if (kc_is_vector(t)) {
        const kc_type* lanes = wrap_type(em, t);
        const kc_type* work = e->u.op == KC_OP_SHL ? lanes : t;
        if (!kc_is_vector(by->type))
            b = kc_emc_splat(
                em, work,
                kc_emc_make(em, KC_PREC_AND, "%s & %u", kc_emc_at(em, b, KC_PREC_UNARY), mask));
        else if (kc_lane(by->type)->width != kc_lane(t)->width)
            b = kc_emc_make(em, KC_PREC_POSTFIX, "__builtin_convertvector(%s, %s)", b.s,
                            kc_emc_type(em, work));
        else if (by->type != work)
            b = cast(em, work, b);
        const kc_c m = kc_emc_splat(em, work, name(kc_format(em->m->arena, "%u", mask)));
        const kc_c amount =
            kc_emc_make(em, KC_PREC_AND, "%s & %s", kc_emc_at(em, b, KC_PREC_UNARY), m.s);
        const kc_c r = infix(em, e->u.op, t == work ? a : cast(em, work, a), amount);
        return t == work ? r : cast(em, t, r);
    }
    if (by->kind == KC_EX_CONST)
        b = name(kc_format(em->m->arena, "%u", (unsigned)by->u.bits & mask));
    else
        b = kc_emc_make(em, KC_PREC_AND, "%s & %u", kc_emc_at(em, b, KC_PREC_UNARY), mask);
    if (e->u.op == KC_OP_SHR) {
        const kc_c r = infix(em, KC_OP_SHR, a, b);
        return t->width < 32 ? cast(em, t, r) : r;
    }
    const kc_type* w = wrap_type(em, t);
    const kc_c r = infix(em, KC_OP_SHL, t == w ? a : cast(em, w, a), b);
    return t == w ? r : cast(em, t, r);
}

static const kc_type* half_as_float(kc_emc* em, const kc_type* t)
{
    return kc_type_with_lane(em->m, t, kc_type_float(em->m, 32));
}

static kc_c to_float(kc_emc* em, const kc_expr* e)
{
    return kc_emc_convert(em, half_as_float(em, e->type), e->type, kc_emc_expr(em, e),
                          KC_ROUND_DEFAULT, false);
}

static bool is_half(const kc_type* t)
{
    return kc_is_float(t) && kc_lane(t)->width == 16;
}

static kc_c compare(kc_emc* em, const kc_expr* e)
{
    const kc_type* t = e->args[0]->type;
    const bool half = is_half(t);
    const kc_c a = half ? to_float(em, e->args[0]) : kc_emc_expr(em, e->args[0]);
    const kc_c b = half ? to_float(em, e->args[1]) : kc_emc_expr(em, e->args[1]);
    if (em->dialect->compare_shorts && kc_is_vector(t) && kc_is_integer(t) && kc_lane(t)->width == 16)
        return kc_emc_make(em, KC_PREC_POSTFIX, "%s(%s, %s, %u, %s, %s, %s)", em->dialect->compare_shorts,
                           kc_emc_type(em, t), kc_emc_type(em, e->type), kc_emc_storage_lanes(t), op_text(e->u.op),
                           kc_emc_argument(em, a), kc_emc_argument(em, b));
    const kc_c c = infix(em, e->u.op, a, b);
    if (!kc_is_vector(t))
        return c;
    if (half)
        return kc_emc_make(em, KC_PREC_POSTFIX, "__builtin_convertvector(%s, %s)", c.s,
                           kc_emc_type(em, e->type));
    return cast(em, e->type, c);
}

static kc_c binary(kc_emc* em, const kc_expr* e)
{
    const kc_type* t = e->type;
    switch (e->u.op) {
    case KC_OP_LOGICAL_AND:
    case KC_OP_LOGICAL_OR: return conditional(em, e);
    case KC_OP_EQ:
    case KC_OP_NE:
    case KC_OP_LT:
    case KC_OP_LE:
    case KC_OP_GT:
    case KC_OP_GE: return compare(em, e);
    case KC_OP_SHL:
    case KC_OP_SHR: return shift(em, e);
    default: break;
    }
    if (is_half(t)) {
        const kc_c a = to_float(em, e->args[0]);
        const kc_c c = infix(em, e->u.op, a, to_float(em, e->args[1]));
        return kc_emc_convert(em, t, half_as_float(em, t), c, KC_ROUND_DEFAULT, false);
    }
    if (kc_is_float(t)) {
        const kc_c a = kc_emc_expr(em, e->args[0]);
        return infix(em, e->u.op, a, kc_emc_expr(em, e->args[1]));
    }
    switch (e->u.op) {
    case KC_OP_DIV:
    case KC_OP_REM: return divide(em, e);
    case KC_OP_ADD:
    case KC_OP_SUB:
    case KC_OP_MUL: {
        const kc_c c = wrapped(em, e);
        return wrap_type(em, t) == t ? c : cast(em, t, c);
    }
    default: {
        const kc_c a = kc_emc_expr(em, e->args[0]);
        return infix(em, e->u.op, a, kc_emc_expr(em, e->args[1]));
    }
    }
}

static kc_c unary(kc_emc* em, const kc_expr* e)
{
    const kc_type* t = e->type;
    if (e->u.op == KC_OP_NEG && kc_is_integer(t)) {
        const kc_c c = wrapped(em, e);
        return wrap_type(em, t) == t ? c : cast(em, t, c);
    }
    const kc_c a = kc_emc_expr(em, e->args[0]);
    if (e->u.op == KC_OP_NEG && is_half(t)) {
        const kc_c c =
            kc_emc_make(em, KC_PREC_XOR, "%s ^ 0x8000u", kc_emc_at(em, a, KC_PREC_UNARY));
        if (!kc_is_vector(t))
            return cast(em, t, c);
        return kc_emc_make(em, KC_PREC_XOR, "%s ^ %s", kc_emc_at(em, a, KC_PREC_UNARY),
                           kc_emc_splat(em, t, name("0x8000u")).s);
    }
    const kc_c c = kc_emc_make(em, KC_PREC_UNARY, a.s[0] == '-' ? "%s(%s)" : "%s%s",
                               op_text(e->u.op), kc_emc_at(em, a, KC_PREC_UNARY));
    return e->u.op == KC_OP_BIT_NOT && !kc_is_vector(t) && t->width < 32 ? cast(em, t, c) : c;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static kc_c bitcast(kc_emc* em, const kc_expr* e)
{
    const kc_type *to = e->type, *from = e->args[0]->type;
    const kc_c a = kc_emc_expr(em, e->args[0]);
    if (to == from)
        return a;
    if (kc_is_pointer(to) && kc_is_pointer(from))
        return cast(em, to, a);
    if (kc_is_pointer(to) || kc_is_pointer(from))
        return kc_emc_make(em, KC_PREC_UNARY, "(%s)(uintptr_t)%s", kc_emc_type(em, to),
                           kc_emc_at(em, a, KC_PREC_UNARY));
    if (to->kind == KC_TYPE_INT && from->kind == KC_TYPE_INT && to->width == from->width)
        return cast(em, to, a);
    if (kc_is_vector(to) && kc_is_vector(from))
        return cast(em, to, a);
    return kc_emc_make(em, KC_PREC_POSTFIX, "KHAL_BITCAST(%s, %s, %s)", kc_emc_type(em, to),
                       kc_emc_type(em, from), kc_emc_argument(em, a));
}

static const char* const query_names[8][3] = {
    {"khal_dim", "khal_dim", "khal_dim"},
    {"khal_size_x", "khal_size_y", "khal_size_z"},
    {"khal_id_x", "khal_id_y", "khal_id_z"},
    {"khal_local_size_x", "khal_local_size_y", "khal_local_size_z"},
    {"khal_local_x", "khal_local_y", "khal_local_z"},
    {"khal_groups_x", "khal_groups_y", "khal_groups_z"},
    {"khal_group_x", "khal_group_y", "khal_group_z"},
    {"0", "0", "0"},
};

const char* kc_emc_query_name(kc_query query, uint32_t dimension)
{
    return query_names[query][dimension];
}

static kc_c work_item(kc_emc* em, const kc_expr* e)
{
    const bool is_id = e->u.query == KC_QUERY_GLOBAL_ID || e->u.query == KC_QUERY_LOCAL_ID ||
                       e->u.query == KC_QUERY_GROUP_ID;
    kc_c c;
    if (e->u.query == KC_QUERY_WORK_DIM) {
        return name("khal_dim");
    } else if (e->u.query == KC_QUERY_GLOBAL_OFFSET) {
        return name("0ull");
    } else if (e->args[0]->kind == KC_EX_CONST) {
        c = name(e->args[0]->u.bits < 3 ? query_names[e->u.query][e->args[0]->u.bits]
                 : is_id                ? "0ull"
                                        : "1ull");
    } else {
        const char* const* n = query_names[e->u.query];
        c = kc_emc_make(em, KC_PREC_POSTFIX, "%s(%s, %s, %s, %s, %s)", em->dialect->pick,
                        kc_emc_expr(em, e->args[0]).s, n[0], n[1], n[2], is_id ? "0" : "1");
    }
    return e->type->width == 64 ? c : cast(em, e->type, c);
}

/* An id of which no more than 32 bits are used. */
static bool has_low_id(const kc_emc* em, const kc_expr* e)
{
    const kc_expr* id = e->args[0];
    return em->dialect->low_id && e->type->kind == KC_TYPE_INT && e->type->width <= 32 && !e->u.convert.saturate &&
           id->kind == KC_EX_WORK_ITEM && id->u.query == KC_QUERY_GLOBAL_ID && id->args[0]->kind == KC_EX_CONST &&
           id->args[0]->u.bits < 3;
}

static kc_c low_id(kc_emc* em, const kc_expr* e)
{
    const kc_c id = name(kc_format(em->m->arena, "%s_%c", em->dialect->low_id, "xyz"[e->args[0]->args[0]->u.bits]));
    return cast(em, e->type, id);
}

static kc_c address(kc_emc* em, const kc_expr* e)
{
    const kc_expr* place = e->args[0];
    const kc_type* to = e->type;
    if (place->kind == KC_EX_DEREF) {
        const kc_c p = kc_emc_expr(em, place->args[0]);
        return place->args[0]->type == to ? p : cast(em, to, p);
    }
    if (place->kind == KC_EX_VAR && place->u.var->kind == KC_VAR_LOCAL) {
        const char* s = kc_emc_var(em, place->u.var);
        return cast(em, to, name(s));
    }
    return kc_emc_make(em, KC_PREC_UNARY, "(%s)&%s", kc_emc_type(em, to),
                       kc_emc_at(em, kc_emc_place(em, place), KC_PREC_UNARY));
}

static kc_c aggregate(kc_emc* em, const kc_expr* e)
{
    const char* list = "";
    for (uint32_t i = 0; i < e->arg_count; i++) {
        const kc_expr* arg = e->args[i];
        const char* text = arg->type->kind == KC_TYPE_ARRAY && arg->kind == KC_EX_ZERO
                               ? "{0}"
                               : kc_emc_expr(em, arg).s;
        if (e->type->kind == KC_TYPE_STRUCT)
            text = kc_format(
                em->m->arena, ".%s = %s",
                kc_emc_field(em, e->type->record, e->type->record->is_union ? e->u.field : i),
                text);
        list = kc_format(em->m->arena, "%s%s%s", list, i ? ", " : "", text);
    }
    if (!e->arg_count)
        list = "0";
    if (e->type->kind == KC_TYPE_ARRAY) /* only inside an initialiser */
        return kc_emc_make(em, KC_PREC_POSTFIX, "{%s}", list);
    return kc_emc_make(em, KC_PREC_POSTFIX, "(%s){%s}", kc_emc_type(em, e->type), list);
}

static kc_c load(kc_emc* em, const kc_expr* e)
{
    const kc_expr* place = e->args[0];
    if (place->kind == KC_EX_LANES && place->u.lanes.count > 1) {
        const kc_c v = kc_emc_place(em, place->args[0]);
        return shuffle(em, place->args[0]->type, v, place->u.lanes.count, place->u.lanes.index);
    }
    return kc_emc_place(em, place);
}

static kc_c expr(kc_emc* em, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_LOAD: return load(em, e);
    case KC_EX_ADDRESS: return address(em, e);
    case KC_EX_OFFSET: {
        const kc_c p = kc_emc_expr(em, e->args[0]);
        const kc_c i = kc_emc_expr(em, e->args[1]);
        return kc_emc_make(em, KC_PREC_ADD, "%s + %s", kc_emc_at(em, p, KC_PREC_ADD),
                           kc_emc_at(em, i, KC_PREC_UNARY));
    }
    case KC_EX_POINTER_DIFF: {
        const kc_c p = kc_emc_expr(em, e->args[0]);
        return cast(em, e->type, infix(em, KC_OP_SUB, p, kc_emc_expr(em, e->args[1])));
    }
    case KC_EX_CONST: return constant(em, e);
    case KC_EX_ZERO:
        if (kc_is_scalar(e->type))
            return name(e->type->kind == KC_TYPE_FLOAT && e->type->width > 16 ? "0.0f" : "0");
        if (kc_is_pointer(e->type))
            return cast(em, e->type, name("0"));
        return e->type->kind == KC_TYPE_ARRAY
                   ? name("{0}")
                   : kc_emc_make(em, KC_PREC_POSTFIX, "(%s){0}", kc_emc_type(em, e->type));
    case KC_EX_AGGREGATE: return aggregate(em, e);
    case KC_EX_UNARY: return unary(em, e);
    case KC_EX_BINARY: return binary(em, e);
    case KC_EX_SELECT: return conditional(em, e);
    case KC_EX_CONVERT:
        if (has_low_id(em, e))
            return low_id(em, e);
        return kc_emc_convert(em, e->type, e->args[0]->type, kc_emc_expr(em, e->args[0]),
                              e->u.convert.round, e->u.convert.saturate);
    case KC_EX_BITCAST: return bitcast(em, e);
    case KC_EX_COMPOSE: return compose(em, e);
    case KC_EX_SPLAT: return kc_emc_splat(em, e->type, kc_emc_expr(em, e->args[0]));
    case KC_EX_SWIZZLE: {
        const kc_c v = kc_emc_expr(em, e->args[0]);
        if (e->u.lanes.count == 1)
            return kc_emc_make(em, KC_PREC_POSTFIX, "%s[%u]", kc_emc_at(em, v, KC_PREC_POSTFIX),
                               e->u.lanes.index[0]);
        return shuffle(em, e->args[0]->type, v, e->u.lanes.count, e->u.lanes.index);
    }
    case KC_EX_BUILTIN: {
        kc_c args[8];
        for (uint32_t i = 0; i < e->arg_count && i < 8; i++)
            args[i] = kc_emc_expr(em, e->args[i]);
        return kc_emc_builtin(em, e, args);
    }
    case KC_EX_WORK_ITEM: return work_item(em, e);
    case KC_EX_LOCAL_BYTES:
        for (uint32_t i = 0, k = 0; em->f && i < em->f->param_count; i++) {
            const kc_type* t = em->f->params[i]->type;
            if (em->f->params[i] == e->u.var)
                return kc_emc_make(em, KC_PREC_POSTFIX, "%s", em->dialect->local_bytes(em, k));
            k += kc_is_pointer(t) && t->space == KC_SPACE_LOCAL;
        }
        return name("0ull");
    default: return kc_emc_place(em, e);
    }
}

kc_c kc_emc_expr(kc_emc* em, const kc_expr* e)
{
    const kc_c c = expr(em, e);
    if (c.depth <= SPILL_DEPTH || em->may_not_spill || e->type->kind == KC_TYPE_ARRAY)
        return c;
    return spill(em, e->type, c);
}

const char* kc_emc_text(kc_emc* em, const kc_expr* e)
{
    return kc_emc_expr(em, e).s;
}
