/* Folds operations on constants and the detours that a builder leaves, so that what is emitted
 * stays readable. Floating arithmetic is never folded: its rounding is the device's. Conversions of
 * constants are, where the result is exact. */
#include <math.h>
#include <string.h>

#include "ir.h"

/* ---- constants ------------------------------------------------------------------------------- */

static bool is_int_const(const kc_expr* e)
{
    return e->kind == KC_EX_CONST && e->type->kind == KC_TYPE_INT;
}

static bool is_bool_const(const kc_expr* e)
{
    return e->kind == KC_EX_CONST && e->type->kind == KC_TYPE_BOOL;
}

static bool is_int_value(const kc_expr* e, uint64_t bits)
{
    return is_int_const(e) && e->u.bits == bits;
}

static bool is_int_zero(const kc_expr* e)
{
    return is_int_value(e, 0);
}

static kc_expr* at(kc_expr* made, const kc_expr* e)
{
    made->loc = e->loc;
    return made;
}

static kc_expr* make_int(kc_module* m, const kc_expr* e, uint64_t bits)
{
    return at(kc_ex_const_int(m, e->type, bits), e);
}

/* ---- operators ------------------------------------------------------------------------------- */

static kc_expr* fold_compare(kc_module* m, kc_expr* e, uint64_t a, uint64_t b, bool is_signed)
{
    const bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    switch (e->u.op) {
    case KC_OP_EQ: return make_int(m, e, a == b);
    case KC_OP_NE: return make_int(m, e, a != b);
    case KC_OP_LT: return make_int(m, e, less);
    case KC_OP_LE: return make_int(m, e, less || a == b);
    case KC_OP_GT: return make_int(m, e, !less && a != b);
    case KC_OP_GE: return make_int(m, e, !less);
    default: return e;
    }
}

/* What has no value of its own (a zero divisor, INT_MIN / -1) stays as it is. */
static kc_expr* fold_divide(kc_module* m, kc_expr* e, uint64_t a, uint64_t b)
{
    const bool is_div = e->u.op == KC_OP_DIV;
    if (b == 0)
        return e;
    if (!e->type->is_signed)
        return make_int(m, e, is_div ? a / b : a % b);
    const uint64_t lowest = UINT64_MAX << (e->type->width - 1);
    if (a == lowest && b == UINT64_MAX)
        return e;
    const int64_t x = (int64_t)a, y = (int64_t)b;
    return make_int(m, e, (uint64_t)(is_div ? x / y : x % y));
}

static kc_expr* fold_shift(kc_module* m, kc_expr* e, uint64_t a, uint64_t b)
{
    const uint32_t count = (uint32_t)(b & (e->type->width - 1u));
    if (e->u.op == KC_OP_SHL)
        return make_int(m, e, a << count);
    uint64_t result = a >> count;
    if (count && e->type->is_signed && a >> 63) /* constants are sign-extended to 64 bits */
        result |= UINT64_MAX << (64 - count);
    return make_int(m, e, result);
}

static kc_expr* fold_int_constants(kc_module* m, kc_expr* e)
{
    const uint64_t a = e->args[0]->u.bits, b = e->args[1]->u.bits;
    switch (e->u.op) {
    case KC_OP_ADD: return make_int(m, e, a + b);
    case KC_OP_SUB: return make_int(m, e, a - b);
    case KC_OP_MUL: return make_int(m, e, a * b);
    case KC_OP_AND: return make_int(m, e, a & b);
    case KC_OP_OR: return make_int(m, e, a | b);
    case KC_OP_XOR: return make_int(m, e, a ^ b);
    case KC_OP_DIV:
    case KC_OP_REM: return fold_divide(m, e, a, b);
    case KC_OP_SHL:
    case KC_OP_SHR: return fold_shift(m, e, a, b);
    default: return fold_compare(m, e, a, b, e->args[0]->type->is_signed);
    }
}

static kc_expr* fold_neutral(kc_expr* e)
{
    kc_expr *a = e->args[0], *b = e->args[1];
    switch (e->u.op) {
    case KC_OP_ADD:
    case KC_OP_OR:
    case KC_OP_XOR: return is_int_zero(b) ? a : is_int_zero(a) ? b : e;
    case KC_OP_SUB:
    case KC_OP_SHL:
    case KC_OP_SHR: return is_int_zero(b) ? a : e;
    case KC_OP_MUL: return is_int_value(b, 1) ? a : is_int_value(a, 1) ? b : e;
    case KC_OP_DIV: return is_int_value(b, 1) ? a : e;
    default: return e;
    }
}

/* A bool that was made an integer, as C does with comparisons. */
static kc_expr* bool_behind(kc_expr* e)
{
    return e->kind == KC_EX_CONVERT && e->type->kind == KC_TYPE_INT &&
                   e->args[0]->type->kind == KC_TYPE_BOOL
               ? e->args[0]
               : NULL;
}

static kc_expr* fold_logical(kc_expr* e)
{
    kc_expr *a = e->args[0], *b = e->args[1];
    const bool is_and = e->u.op == KC_OP_LOGICAL_AND;
    if (is_bool_const(a))
        return (a->u.bits != 0) == is_and ? b : a;
    return is_bool_const(b) && (b->u.bits != 0) == is_and ? a : e;
}

static kc_expr* fold_binary(kc_module* m, kc_expr* e)
{
    kc_expr *a = e->args[0], *b = e->args[1];
    if (e->u.op == KC_OP_LOGICAL_AND || e->u.op == KC_OP_LOGICAL_OR)
        return fold_logical(e);
    if (is_int_const(a) && is_int_const(b))
        return fold_int_constants(m, e);
    if (is_bool_const(a) && is_bool_const(b))
        return fold_compare(m, e, a->u.bits, b->u.bits, false);
    if (is_int_zero(b) && bool_behind(a) && e->u.op == KC_OP_NE)
        return bool_behind(a);
    if (is_int_zero(b) && bool_behind(a) && e->u.op == KC_OP_EQ)
        return at(kc_ex_unary(m, KC_OP_LOGICAL_NOT, bool_behind(a)), e);
    return e->type->kind == KC_TYPE_INT ? fold_neutral(e) : e;
}

static kc_expr* fold_unary(kc_module* m, kc_expr* e)
{
    kc_expr* a = e->args[0];
    if (is_bool_const(a))
        return make_int(m, e, !a->u.bits);
    if (e->u.op == KC_OP_LOGICAL_NOT && a->kind == KC_EX_UNARY && a->u.op == KC_OP_LOGICAL_NOT)
        return a->args[0];
    if (is_int_const(a))
        return make_int(m, e, e->u.op == KC_OP_NEG ? 0 - a->u.bits : ~a->u.bits);
    return e;
}

/* ---- conversions ----------------------------------------------------------------------------- */

static uint64_t saturate(const kc_type* to, uint64_t bits, bool from_signed)
{
    const bool is_negative = from_signed && bits >> 63;
    const uint64_t highest = to->width == 64 && !to->is_signed
                                 ? UINT64_MAX
                                 : (UINT64_C(1) << (to->width - to->is_signed)) - 1;
    if (!is_negative)
        return bits > highest ? highest : bits;
    const uint64_t lowest = to->is_signed ? ~highest : 0;
    return !to->is_signed || (int64_t)bits < (int64_t)lowest ? lowest : bits;
}

static double float_value(const kc_expr* e)
{
    double value;
    if (e->type->width == 64) {
        memcpy(&value, &e->u.bits, sizeof value);
        return value;
    }
    float narrow;
    const uint32_t bits = (uint32_t)e->u.bits;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

/* The constant of type `to` that is exactly `value`, else e. Halves are left alone, and so are
 * NaNs, infinities, and zeros with a sign, which no comparison tells apart. */
static kc_expr* exact_float(kc_module* m, kc_expr* e, double value)
{
    if (e->type->width == 16 || !isfinite(value) || (value == 0 && signbit(value)))
        return e;
    if (e->type->width == 32 && !(fabs(value) <= 3.402823466e38 && (double)(float)value == value))
        return e;
    return at(kc_ex_const_float(m, e->type, value), e);
}

static kc_expr* int_to_float(kc_module* m, kc_expr* e)
{
    const kc_expr* a = e->args[0];
    const uint64_t magnitude = a->type->is_signed && a->u.bits >> 63 ? 0 - a->u.bits : a->u.bits;
    if (magnitude > UINT64_C(1) << 53)
        return e;
    return exact_float(m, e, magnitude == a->u.bits ? (double)magnitude : -(double)magnitude);
}

static kc_expr* float_to_int(kc_module* m, kc_expr* e)
{
    const double value = float_value(e->args[0]);
    const double limit = ldexp(1, e->type->width - e->type->is_signed);
    if (!(value == floor(value) && value < limit && value >= (e->type->is_signed ? -limit : 0)))
        return e;
    return make_int(m, e, value < 0 ? 0 - (uint64_t)-value : (uint64_t)value);
}

static kc_expr* fold_convert(kc_module* m, kc_expr* e)
{
    kc_expr* a = e->args[0];
    const kc_type *to = e->type, *from = a->type;
    if (to == from)
        return a;
    if (to->kind == KC_TYPE_BOOL && bool_behind(a))
        return bool_behind(a);
    if (a->kind != KC_EX_CONST)
        return e;
    if (from->kind == KC_TYPE_FLOAT) {
        if (from->width == 16)
            return e;
        if (to->kind == KC_TYPE_BOOL)
            return make_int(m, e, float_value(a) != 0);
        return to->kind == KC_TYPE_INT ? float_to_int(m, e) : exact_float(m, e, float_value(a));
    }
    if (to->kind == KC_TYPE_FLOAT)
        return int_to_float(m, e);
    if (to->kind == KC_TYPE_BOOL || !e->u.convert.saturate)
        return make_int(m, e, a->u.bits);
    return make_int(m, e, saturate(to, a->u.bits, from->kind == KC_TYPE_INT && from->is_signed));
}

static kc_expr* fold_bitcast(kc_module* m, kc_expr* e)
{
    kc_expr* a = e->args[0];
    if (e->type == a->type)
        return a;
    if (a->kind == KC_EX_BITCAST && a->args[0]->type == e->type && kc_lane_count(a->type) != 3)
        return a->args[0];
    if (a->kind != KC_EX_CONST || !kc_is_scalar(e->type))
        return e;
    if (e->type->kind == KC_TYPE_INT)
        return make_int(m, e, a->u.bits);
    kc_expr* made = at(kc_ex_const_float(m, e->type, 0), e);
    made->u.bits =
        e->type->width == 64 ? a->u.bits : a->u.bits & ((UINT64_C(1) << e->type->width) - 1);
    return made;
}

/* ---- pointers and the rest ------------------------------------------------------------------- */

/* &a[0] of an array that is moved along: what C makes of a name of an array. `t[0]` of `int
 * t[3][4]` is none for an index that is not known: kernels go through all of t from there, where
 * the C compiler would take an index of t[0] to be less than 4. */
static bool is_decayed_array(const kc_expr* e, const kc_expr* index)
{
    if (e->kind != KC_EX_ADDRESS || e->args[0]->kind != KC_EX_INDEX ||
        !is_int_zero(e->args[0]->args[1]))
        return false;
    const kc_expr* array = e->args[0]->args[0];
    if (array->type->kind != KC_TYPE_ARRAY)
        return false;
    return array->kind != KC_EX_INDEX ||
           (index->kind == KC_EX_CONST && index->u.bits < array->type->count);
}

static kc_expr* fold_deref(kc_module* m, kc_expr* e)
{
    kc_expr* pointer = e->args[0];
    if (pointer->type->is_volatile)
        return e;
    if (pointer->kind == KC_EX_ADDRESS)
        return pointer->args[0];
    if (pointer->kind == KC_EX_OFFSET && is_decayed_array(pointer->args[0], pointer->args[1])) {
        kc_expr* array = pointer->args[0]->args[0]->args[0];
        return at(kc_ex_index(m, array, pointer->args[1]), e);
    }
    return e;
}

static kc_expr* fold_address(kc_module* m, kc_expr* e)
{
    (void)m;
    const kc_expr* place = e->args[0];
    return place->kind == KC_EX_DEREF && place->args[0]->type == e->type ? place->args[0] : e;
}

/* The scalar that is lane `lane` of a vector made of scalars, or of a 64-bit constant as two words;
 * NULL where it is not known. */
static kc_expr* composed_lane(kc_module* m, const kc_expr* vector, uint32_t lane)
{
    if (vector->kind == KC_EX_COMPOSE && vector->arg_count == vector->type->count)
        return vector->args[lane];
    if (vector->kind == KC_EX_BITCAST && vector->args[0]->kind == KC_EX_CONST &&
        vector->type->element->kind == KC_TYPE_INT && vector->type->element->width == 32)
        return at(kc_ex_const_int(m, vector->type->element,
                                  vector->args[0]->u.bits >> lane * 32 & UINT32_MAX),
                  vector);
    return NULL;
}

/* Each part is used once at most, so that nothing is computed twice. */
static kc_expr* fold_swizzle(kc_module* m, kc_expr* e)
{
    kc_expr* parts[KC_MAX_LANES];
    uint32_t used = 0;
    const uint32_t count = e->u.lanes.count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t lane = e->u.lanes.index[i];
        parts[i] = composed_lane(m, e->args[0], lane);
        if (!parts[i] || (used >> lane & 1))
            return e;
        used |= 1u << lane;
    }
    return count == 1 ? parts[0] : at(kc_ex_list(m, KC_EX_COMPOSE, e->type, count, parts), e);
}

static kc_expr* fold_node(kc_module* m, kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_ZERO:
        return e->type->kind == KC_TYPE_INT || e->type->kind == KC_TYPE_BOOL ? make_int(m, e, 0)
                                                                             : e;
    case KC_EX_UNARY: return fold_unary(m, e);
    case KC_EX_BINARY: return fold_binary(m, e);
    case KC_EX_CONVERT: return fold_convert(m, e);
    case KC_EX_BITCAST: return fold_bitcast(m, e);
    case KC_EX_SWIZZLE: return fold_swizzle(m, e);
    case KC_EX_DEREF: return fold_deref(m, e);
    case KC_EX_ADDRESS: return fold_address(m, e);
    case KC_EX_OFFSET: return is_int_zero(e->args[1]) ? e->args[0] : e;
    case KC_EX_SELECT: return is_bool_const(e->args[0]) ? e->args[e->args[0]->u.bits ? 1 : 2] : e;
    default: return e;
    }
}

static void fold_expr(kc_module* m, kc_expr** slot)
{
    kc_expr* e = *slot;
    for (uint32_t i = 0; i < e->arg_count; i++)
        fold_expr(m, &e->args[i]);
    *slot = fold_node(m, e);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void fold_if(kc_stmt* s)
{
    if (!s->value->u.bits)
        s->body = s->orelse;
    s->kind = KC_ST_BLOCK;
    s->value = NULL;
    s->orelse = (kc_block){0};
}

static void fold_loop(kc_stmt* s)
{
    if (s->value->u.bits) {
        s->value = NULL;
    } else if (!s->test_at_end) { /* head runs once; what leaves the loop from there leaves the
                                     BLOCK */
        s->kind = KC_ST_BLOCK;
        s->value = NULL;
        s->body = s->head;
        s->head = s->step = (kc_block){0};
    }
}

static void fold_stmt(kc_stmt* s, void* module)
{
    kc_module* m = module;
    if (s->place)
        fold_expr(m, &s->place);
    if (s->value)
        fold_expr(m, &s->value);
    for (uint32_t i = 0; i < s->arg_count; i++)
        fold_expr(m, &s->args[i]);
    if (s->value && is_bool_const(s->value)) {
        if (s->kind == KC_ST_IF)
            fold_if(s);
        else if (s->kind == KC_ST_LOOP)
            fold_loop(s);
    }
}

void kc_pass_fold(kc_module* m)
{
    for (uint32_t i = 0; i < m->constant_count; i++)
        if (m->constants[i]->init)
            fold_expr(m, &m->constants[i]->init);
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, fold_stmt, m);
}
