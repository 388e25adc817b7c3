/* Initialisers, and the computation of those of constants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"

/* An array that is written out element by element has no more than this. */
#define KC_MAX_ELEMENTS (UINT64_C(1) << 20)

/* ---- string literals ------------------------------------------------------------------------- */

bool kc_build_unescape(kc_builder* b, const char* literal, char** bytes, size_t* size)
{
    static const char from[] = "abfnrtv\\\"'?", to[] = "\a\b\f\n\r\t\v\\\"'?";
    const char* s = literal;
    if (strncmp(s, "u8", 2) == 0)
        s += 2;
    const size_t length = strlen(s);
    if (length < 2 || s[0] != '"' || s[length - 1] != '"')
        return false;
    const char* const end = s + length - 1;
    char* out = kc_alloc(b->arena, length);
    size_t n = 0;
    for (s++; s < end; s++) {
        if (*s != '\\') {
            out[n++] = *s;
            continue;
        }
        if (++s == end)
            return false;
        if (*s >= '0' && *s <= '7') {
            unsigned value = 0;
            int digits = 0;
            while (digits < 3 && s < end && *s >= '0' && *s <= '7') {
                value = value * 8 + (unsigned)(*s++ - '0');
                digits++;
            }
            s--;
            out[n++] = (char)(unsigned char)value;
            continue;
        }
        const char* at = strchr(from, *s);
        if (!at || !*at)
            return false;
        out[n++] = to[at - from];
    }
    *bytes = out;
    *size = n;
    return true;
}

static kc_expr* string_value(kc_builder* b, const kc_node* n, const kc_type* type)
{
    char* bytes = NULL;
    size_t size = 0;
    if (!n->value || type->element->kind != KC_TYPE_INT || type->element->width != 8 ||
        !kc_build_unescape(b, n->value, &bytes, &size))
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                              "only plain string literals are supported");
    if (type->count > KC_MAX_ELEMENTS)
        return kc_build_error(b, n->loc, KC_DIAG_INITIALIZER, "the string is too long");
    kc_expr** args = KC_NEW_ARRAY(b->arena, kc_expr*, type->count);
    for (uint64_t i = 0; i < type->count; i++)
        args[i] = kc_ex_const_int(b->m, type->element,
                                  i < size ? (uint64_t)(int64_t)(signed char)bytes[i] : 0);
    return kc_ex_list(b->m, KC_EX_AGGREGATE, type, (uint32_t)type->count, args);
}

kc_var* kc_build_string(kc_builder* b, const kc_node* n)
{
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type)
        return NULL;
    if (type->kind != KC_TYPE_ARRAY)
        return kc_build_malformed(b, n);
    kc_expr* value = string_value(b, n, type);
    if (!value)
        return NULL;
    value->loc = n->loc;
    return kc_constant_add(b->m, kc_format(b->arena, "string_%u", b->string_count++), type, value,
                           n->loc);
}

/* ---- initialisers ---------------------------------------------------------------------------- */

static bool is_zero(const kc_expr* e)
{
    return e->kind == KC_EX_ZERO || (e->kind == KC_EX_CONST && e->u.bits == 0);
}

/* The listed initialisers: all children but the filler. */
static const kc_node* listed(const kc_node* n, uint64_t i)
{
    const uint64_t at = i + (n->has_filler ? 1 : 0);
    return at < n->child_count && n->children[at]->kind != KC_NODE_NULL ? n->children[at] : NULL;
}

static kc_expr* array_value(kc_builder* b, const kc_node* n, const kc_type* type)
{
    const uint64_t count = n->child_count - (n->has_filler ? 1 : 0);
    const kc_node* only = count == 1 ? kc_strip(listed(n, 0)) : NULL;
    if (only && only->kind == KC_NODE_StringLiteral && type->element->kind == KC_TYPE_INT)
        return string_value(b, only, type); /* char s[] = {"..."} */
    if (count > type->count)
        return kc_build_malformed(b, n);
    const kc_node* filler = n->has_filler ? n->children[0] : NULL;
    if (filler && (filler->kind == KC_NODE_ImplicitValueInitExpr || filler->kind == KC_NODE_NULL))
        filler = NULL;
    kc_expr** args = KC_NEW_ARRAY(b->arena, kc_expr*, count);
    bool all_zero = !filler;
    for (uint64_t i = 0; i < count; i++) {
        const kc_node* element = listed(n, i);
        args[i] =
            element ? kc_build_init(b, element, type->element) : kc_ex_zero(b->m, type->element);
        if (!args[i])
            return NULL;
        all_zero &= is_zero(args[i]);
    }
    if (all_zero)
        return kc_ex_zero(b->m, type);
    if (type->count > KC_MAX_ELEMENTS)
        return kc_build_error(
            b, n->loc, KC_DIAG_INITIALIZER,
            "an array of more than %llu elements can only be initialised with zeros",
            (unsigned long long)KC_MAX_ELEMENTS);
    kc_expr** all = KC_NEW_ARRAY(b->arena, kc_expr*, type->count);
    memcpy(all, args, sizeof *all * count);
    for (uint64_t i = count; i < type->count; i++) {
        all[i] = filler ? kc_build_init(b, filler, type->element) : kc_ex_zero(b->m, type->element);
        if (!all[i])
            return NULL;
        all[i]->loc = n->loc;
    }
    return kc_ex_list(b->m, KC_EX_AGGREGATE, type, (uint32_t)type->count, all);
}

static kc_expr* struct_value(kc_builder* b, const kc_node* n, const kc_type* type)
{
    const kc_record* r = type->record;
    if (n->child_count == 0)
        return kc_ex_zero(b->m, type);
    if (r->is_union) {
        const kc_entity* field = kc_build_find(b, n->ref_id);
        if (!field || field->kind != KC_ENTITY_FIELD || field->field >= r->field_count ||
            n->child_count != 1)
            return kc_build_malformed(b, n);
        kc_expr* value = kc_build_init(b, n->children[0], r->fields[field->field].type);
        if (!value)
            return NULL;
        kc_expr* e = kc_ex_list(b->m, KC_EX_AGGREGATE, type, 1, &value);
        e->u.field = field->field;
        return e;
    }
    if (n->child_count > r->field_count)
        return kc_build_malformed(b, n);
    kc_expr** args = KC_NEW_ARRAY(b->arena, kc_expr*, r->field_count);
    bool all_zero = true;
    for (uint32_t i = 0; i < r->field_count; i++) {
        const kc_node* field = listed(n, i);
        args[i] = field ? kc_build_init(b, field, r->fields[i].type)
                        : kc_ex_zero(b->m, r->fields[i].type);
        if (!args[i])
            return NULL;
        all_zero &= is_zero(args[i]);
        if (!args[i]->loc.file)
            args[i]->loc = n->loc;
    }
    return all_zero ? kc_ex_zero(b->m, type)
                    : kc_ex_list(b->m, KC_EX_AGGREGATE, type, r->field_count, args);
}

static kc_expr* vector_value(kc_builder* b, const kc_node* n, const kc_type* type)
{
    kc_expr* args[KC_MAX_LANES];
    uint32_t arg_count = 0;
    uint64_t lanes = 0;
    for (uint32_t i = 0; i < n->child_count; i++) {
        kc_expr* e = kc_build_value(b, n->children[i]);
        if (!e)
            return NULL;
        if (kc_lane(e->type)->kind == KC_TYPE_BOOL)
            e = kc_build_convert(b, e, type->element);
        if (kc_lane(e->type) != type->element || arg_count == KC_MAX_LANES)
            return kc_build_malformed(b, n);
        args[arg_count++] = e;
        lanes += kc_lane_count(e->type);
    }
    if (arg_count == 1 && args[0]->type == type)
        return args[0];
    if (lanes == 0)
        return kc_ex_zero(b->m, type);
    if (lanes > type->count)
        return kc_build_malformed(b, n);
    for (; lanes < type->count; lanes++) { /* float4 v = {1, 2}: the rest is zero */
        args[arg_count] = kc_ex_zero(b->m, type->element);
        args[arg_count++]->loc = n->loc;
    }
    return kc_ex_list(b->m, KC_EX_COMPOSE, type, arg_count, args);
}

static kc_expr* init_of(kc_builder* b, const kc_node* n, const kc_type* type)
{
    const kc_node* inner = kc_strip(n);
    if (inner->kind == KC_NODE_ImplicitValueInitExpr)
        return kc_ex_zero(b->m, type);
    if (type->kind == KC_TYPE_ARRAY) {
        while (inner->child_count == 1 && (inner->kind == KC_NODE_PredefinedExpr ||
                                           inner->kind == KC_NODE_CompoundLiteralExpr))
            inner = kc_strip(inner->children[0]);
        if (inner->kind == KC_NODE_StringLiteral)
            return string_value(b, inner, type);
    }
    if (inner->kind == KC_NODE_DesignatedInitUpdateExpr)
        return kc_build_error(b, n->loc, KC_DIAG_INITIALIZER,
                              "a member that is initialised twice is not supported");
    if (inner->kind != KC_NODE_InitListExpr)
        return kc_build_coerce(b, kc_build_value(b, inner), type, n->loc);
    switch (type->kind) {
    case KC_TYPE_ARRAY: return array_value(b, inner, type);
    case KC_TYPE_STRUCT: return struct_value(b, inner, type);
    case KC_TYPE_VECTOR: return vector_value(b, inner, type);
    default:
        if (inner->child_count == 0)
            return kc_ex_zero(b->m, type);
        return inner->child_count == 1 ? kc_build_init(b, inner->children[0], type)
                                       : kc_build_malformed(b, n);
    }
}

kc_expr* kc_build_init(kc_builder* b, const kc_node* n, const kc_type* type)
{
    kc_expr* e = init_of(b, n, type);
    if (e && n->loc.file)
        e->loc = n->loc;
    return e;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The lanes of a scalar or vector: integers extended to 64 bits by their own signedness, floats by
 * value. */
typedef struct kc_lanes {
    const kc_type* type;
    uint32_t count;
    uint64_t bits[KC_MAX_LANES];
    double value[KC_MAX_LANES];
} kc_lanes;

static bool is_float_lane(const kc_type* t)
{
    return kc_lane(t)->kind == KC_TYPE_FLOAT;
}

static double half_value(uint64_t bits)
{
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    const int exponent = (int)(bits >> 10 & 0x1F);
    const double fraction = (double)(bits & 0x3FF);
    if (exponent == 0x1F)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024.0 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double float_value(const kc_type* type, uint64_t bits)
{
    if (type->width == 16)
        return half_value(bits);
    if (type->width == 32) {
        const uint32_t narrow = (uint32_t)bits;
        float f;
        memcpy(&f, &narrow, sizeof f);
        return (double)f;
    }
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static kc_expr* lane_constant(kc_builder* b, const kc_lanes* l, uint32_t i)
{
    const kc_type* lane = kc_lane(l->type);
    return is_float_lane(lane) ? kc_ex_const_float(b->m, lane, l->value[i])
                               : kc_ex_const_int(b->m, lane, l->bits[i]);
}

/* Rounds or wraps every lane to its type. */
static void settle(kc_builder* b, kc_lanes* l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const kc_expr* e = lane_constant(b, l, i);
        if (is_float_lane(l->type))
            l->value[i] = float_value(kc_lane(l->type), e->u.bits);
        else
            l->bits[i] = e->u.bits;
    }
}

static bool eval(kc_builder* b, const kc_expr* e, kc_lanes* out);

static bool eval_integers(kc_op op, const kc_type* lane, uint64_t x, uint64_t y, uint64_t* out)
{
    const bool is_signed = lane->kind == KC_TYPE_INT && lane->is_signed;
    const unsigned width = lane->kind == KC_TYPE_INT ? lane->width : 32;
    const int64_t sx = (int64_t)x, sy = (int64_t)y;
    const unsigned shift = (unsigned)(y & (width - 1));
    switch (op) {
    case KC_OP_ADD: *out = x + y; return true;
    case KC_OP_SUB: *out = x - y; return true;
    case KC_OP_MUL: *out = x * y; return true;
    case KC_OP_DIV:
    case KC_OP_REM:
        if (y == 0 || (is_signed && sx == INT64_MIN && sy == -1))
            return false;
        if (op == KC_OP_DIV)
            *out = is_signed ? (uint64_t)(sx / sy) : x / y;
        else
            *out = is_signed ? (uint64_t)(sx % sy) : x % y;
        return true;
    case KC_OP_SHL: *out = x << shift; return true;
    case KC_OP_SHR: *out = is_signed ? (uint64_t)(sx >> shift) : x >> shift; return true;
    case KC_OP_AND: *out = x & y; return true;
    case KC_OP_OR: *out = x | y; return true;
    case KC_OP_XOR: *out = x ^ y; return true;
    case KC_OP_EQ: *out = x == y; return true;
    case KC_OP_NE: *out = x != y; return true;
    case KC_OP_LT: *out = is_signed ? sx < sy : x < y; return true;
    case KC_OP_LE: *out = is_signed ? sx <= sy : x <= y; return true;
    case KC_OP_GT: *out = is_signed ? sx > sy : x > y; return true;
    case KC_OP_GE: *out = is_signed ? sx >= sy : x >= y; return true;
    case KC_OP_LOGICAL_AND: *out = x && y; return true;
    case KC_OP_LOGICAL_OR: *out = x || y; return true;
    default: return false;
    }
}

static bool eval_floats(kc_op op, double x, double y, double* out, uint64_t* truth)
{
    switch (op) {
    case KC_OP_ADD: *out = x + y; return true;
    case KC_OP_SUB: *out = x - y; return true;
    case KC_OP_MUL: *out = x * y; return true;
    case KC_OP_DIV: *out = x / y; return true;
    case KC_OP_EQ: *truth = x == y; return true;
    case KC_OP_NE: *truth = x != y; return true;
    case KC_OP_LT: *truth = x < y; return true;
    case KC_OP_LE: *truth = x <= y; return true;
    case KC_OP_GT: *truth = x > y; return true;
    case KC_OP_GE: *truth = x >= y; return true;
    default: return false;
    }
}

static bool eval_binary(kc_builder* b, const kc_expr* e, kc_lanes* out)
{
    kc_lanes x, y;
    if (!eval(b, e->args[0], &x) || !eval(b, e->args[1], &y) || x.count != y.count)
        return false;
    const bool compares = e->u.op >= KC_OP_EQ && e->u.op <= KC_OP_GE;
    out->count = x.count;
    for (uint32_t i = 0; i < x.count; i++) {
        const bool is_ok =
            is_float_lane(x.type)
                ? eval_floats(e->u.op, x.value[i], y.value[i], &out->value[i], &out->bits[i])
                : eval_integers(e->u.op, kc_lane(x.type), x.bits[i], y.bits[i], &out->bits[i]);
        if (!is_ok)
            return false;
        if (compares && kc_is_vector(e->type))
            out->bits[i] = 0 - out->bits[i];
    }
    return true;
}

static bool eval_unary(kc_builder* b, const kc_expr* e, kc_lanes* out)
{
    if (!eval(b, e->args[0], out))
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        if (e->u.op == KC_OP_NEG && is_float_lane(out->type))
            out->value[i] = -out->value[i];
        else if (is_float_lane(out->type))
            return false;
        else
            out->bits[i] = e->u.op == KC_OP_NEG       ? 0 - out->bits[i]
                           : e->u.op == KC_OP_BIT_NOT ? ~out->bits[i]
                                                      : !out->bits[i];
    }
    return true;
}

static bool eval_convert(kc_builder* b, const kc_expr* e, kc_lanes* out)
{
    kc_lanes x;
    if (!eval(b, e->args[0], &x) || e->u.convert.round != KC_ROUND_DEFAULT ||
        e->u.convert.saturate || kc_lane_count(e->type) != x.count)
        return false;
    const kc_type* to = kc_lane(e->type);
    const kc_type* from = kc_lane(x.type);
    out->count = x.count;
    for (uint32_t i = 0; i < x.count; i++) {
        if (to->kind == KC_TYPE_FLOAT) {
            const bool is_signed = from->kind == KC_TYPE_INT && from->is_signed;
            if (from->kind == KC_TYPE_FLOAT)
                out->value[i] = x.value[i];
            else if (to->width == 32) /* once: by way of a double it could be rounded twice */
                out->value[i] =
                    is_signed ? (double)(float)(int64_t)x.bits[i] : (double)(float)x.bits[i];
            else
                out->value[i] = is_signed ? (double)(int64_t)x.bits[i] : (double)x.bits[i];
        } else if (from->kind != KC_TYPE_FLOAT) {
            out->bits[i] = x.bits[i];
        } else if (to->kind == KC_TYPE_BOOL) {
            out->bits[i] = x.value[i] != 0;
        } else if (x.value[i] >= 0x1p63 && x.value[i] < 0x1p64 && !to->is_signed) {
            out->bits[i] = (uint64_t)x.value[i];
        } else if (x.value[i] >= -0x1p63 && x.value[i] < 0x1p63) {
            out->bits[i] = (uint64_t)(int64_t)x.value[i];
        } else {
            return false;
        }
    }
    return true;
}

static bool eval_bitcast(kc_builder* b, const kc_expr* e, kc_lanes* out)
{
    kc_lanes x;
    unsigned char bytes[KC_MAX_LANES * 8] = {0};
    if (!eval(b, e->args[0], &x) || e->type->size > sizeof bytes)
        return false;
    const size_t from = kc_lane(x.type)->size, to = kc_lane(e->type)->size;
    for (uint32_t i = 0; i < x.count; i++)
        for (size_t j = 0; j < from; j++)
            bytes[i * from + j] = (unsigned char)(lane_constant(b, &x, i)->u.bits >> (8 * j));
    out->count = kc_lane_count(e->type);
    for (uint32_t i = 0; i < out->count; i++) {
        uint64_t bits = 0;
        for (size_t j = 0; j < to; j++)
            bits |= (uint64_t)bytes[i * to + j] << (8 * j);
        out->bits[i] = bits;
        if (is_float_lane(e->type))
            out->value[i] = float_value(kc_lane(e->type), bits);
    }
    return true;
}

/* What a `__constant` variable, or a part of it, was initialised with. */
static const kc_expr* known_value(const kc_expr* place)
{
    if (place->kind == KC_EX_VAR)
        return place->u.var->kind == KC_VAR_CONSTANT ? place->u.var->init : NULL;
    if (place->kind != KC_EX_FIELD && place->kind != KC_EX_INDEX)
        return NULL;
    const kc_expr* whole = known_value(place->args[0]);
    if (!whole || whole->kind != KC_EX_AGGREGATE ||
        (whole->type->kind == KC_TYPE_STRUCT && whole->type->record->is_union))
        return whole && whole->kind == KC_EX_ZERO ? whole : NULL;
    if (place->kind == KC_EX_FIELD)
        return place->u.field < whole->arg_count ? whole->args[place->u.field] : NULL;
    const kc_expr* index = place->args[1];
    return index->kind == KC_EX_CONST && index->u.bits < whole->arg_count
               ? whole->args[index->u.bits]
               : NULL;
}

static bool eval(kc_builder* b, const kc_expr* e, kc_lanes* out)
{
    *out = (kc_lanes){.type = e->type, .count = kc_lane_count(e->type)};
    if (!kc_is_scalar(e->type) && !kc_is_vector(e->type))
        return false;
    bool is_ok = true;
    switch (e->kind) {
    case KC_EX_ZERO: return true;
    case KC_EX_CONST:
        out->bits[0] = e->u.bits;
        if (is_float_lane(e->type))
            out->value[0] = float_value(e->type, e->u.bits);
        return true;
    case KC_EX_UNARY: is_ok = eval_unary(b, e, out); break;
    case KC_EX_BINARY: is_ok = eval_binary(b, e, out); break;
    case KC_EX_CONVERT: is_ok = eval_convert(b, e, out); break;
    case KC_EX_BITCAST: is_ok = eval_bitcast(b, e, out); break;
    case KC_EX_SELECT: {
        kc_lanes condition;
        is_ok = eval(b, e->args[0], &condition) && eval(b, e->args[condition.bits[0] ? 1 : 2], out);
        break;
    }
    case KC_EX_SPLAT: {
        kc_lanes x;
        is_ok = eval(b, e->args[0], &x);
        for (uint32_t i = 0; is_ok && i < out->count; i++) {
            out->bits[i] = x.bits[0];
            out->value[i] = x.value[0];
        }
        break;
    }
    case KC_EX_COMPOSE: {
        uint32_t n = 0;
        for (uint32_t a = 0; a < e->arg_count && is_ok; a++) {
            kc_lanes x;
            is_ok = eval(b, e->args[a], &x) && n + x.count <= out->count;
            for (uint32_t i = 0; is_ok && i < x.count; i++, n++) {
                out->bits[n] = x.bits[i];
                out->value[n] = x.value[i];
            }
        }
        break;
    }
    case KC_EX_SWIZZLE: {
        kc_lanes x;
        is_ok = eval(b, e->args[0], &x);
        for (uint32_t i = 0; is_ok && i < out->count; i++) {
            out->bits[i] = x.bits[e->u.lanes.index[i]];
            out->value[i] = x.value[e->u.lanes.index[i]];
        }
        break;
    }
    case KC_EX_LOAD: {
        const kc_expr* value = known_value(e->args[0]);
        is_ok = value && (value->type == e->type || value->kind == KC_EX_ZERO);
        if (is_ok && value->kind != KC_EX_ZERO)
            is_ok = eval(b, value, out);
        break;
    }
    default: return false;
    }
    out->type = e->type;
    if (is_ok)
        settle(b, out);
    return is_ok;
}

/* A place in constant memory whose address is known: only constant indices. */
static bool is_fixed_place(kc_builder* b, kc_expr* place)
{
    switch (place->kind) {
    case KC_EX_VAR: return place->u.var->kind == KC_VAR_CONSTANT;
    case KC_EX_FIELD: return is_fixed_place(b, place->args[0]);
    case KC_EX_INDEX: {
        kc_lanes index;
        if (!is_fixed_place(b, place->args[0]) || !eval(b, place->args[1], &index))
            return false;
        place->args[1] = lane_constant(b, &index, 0);
        return true;
    }
    default: return false;
    }
}

static kc_expr* fold_pointer(kc_builder* b, kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_ZERO: return e;
    case KC_EX_ADDRESS: return is_fixed_place(b, e->args[0]) ? e : NULL;
    case KC_EX_CONVERT: {
        if (!kc_is_pointer(e->args[0]->type))
            return NULL;
        kc_expr* inner = fold_pointer(b, e->args[0]);
        if (!inner)
            return NULL;
        e->args[0] = inner;
        return e;
    }
    case KC_EX_OFFSET: { /* into the array that the pointer is an element of */
        kc_expr* base = fold_pointer(b, e->args[0]);
        kc_lanes offset, index;
        if (!base || base->kind != KC_EX_ADDRESS || base->args[0]->kind != KC_EX_INDEX ||
            !eval(b, e->args[1], &offset) || !eval(b, base->args[0]->args[1], &index))
            return NULL;
        base->args[0]->args[1] =
            kc_ex_const_int(b->m, kc_build_ptrdiff(b), index.bits[0] + offset.bits[0]);
        return base;
    }
    case KC_EX_LOAD: {
        const kc_expr* value = known_value(e->args[0]);
        return value && kc_is_pointer(value->type) ? kc_ex_clone(b->m, value) : NULL;
    }
    default: return NULL;
    }
}

kc_expr* kc_build_fold_constant(kc_builder* b, kc_expr* e)
{
    if (e->kind == KC_EX_CONST || e->kind == KC_EX_ZERO)
        return e;
    if (e->kind == KC_EX_AGGREGATE) {
        for (uint32_t i = 0; i < e->arg_count; i++) {
            e->args[i] = kc_build_fold_constant(b, e->args[i]);
            if (!e->args[i])
                return NULL;
        }
        return e;
    }
    if (kc_is_pointer(e->type))
        return fold_pointer(b, e);
    if (e->kind == KC_EX_LOAD && !kc_is_scalar(e->type) && !kc_is_vector(e->type)) {
        const kc_expr* value = known_value(e->args[0]);
        return value && value->type == e->type ? kc_ex_clone(b->m, value) : NULL;
    }
    kc_lanes l;
    if (!eval(b, e, &l))
        return NULL;
    kc_expr* args[KC_MAX_LANES];
    for (uint32_t i = 0; i < l.count; i++) {
        args[i] = lane_constant(b, &l, i);
        args[i]->loc = e->loc;
    }
    return kc_is_vector(e->type) ? kc_ex_list(b->m, KC_EX_COMPOSE, e->type, l.count, args)
                                 : args[0];
}
