/* Checks every rule at the head of ir.h. What comes out of a builder or a pass is checked before
 * the next one relies on it, so that a fault of khalc shows as a diagnostic and not as wrong code.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir.h"

enum { KC_MAX_DEPTH = 1000, KC_MAX_REPORTS = 50 };

/* What s->pass_data says of a statement while the walk is inside it. */
static char inside_mark, inside_body_mark;

typedef struct kc_pointer_set {
    const void** slots; /* open addressing; the size is a power of two */
    size_t size, count;
} kc_pointer_set;

typedef struct kc_verifier {
    kc_module* m;
    kc_function* f; /* NULL in the initialiser of a constant */
    kc_arena* scratch;
    kc_pointer_set seen; /* expressions, statements, declared variables */
    kc_pointer_set types;
    uint32_t reports;
    uint32_t depth; /* of statements */
    bool ok;
    bool has_bad_type; /* no expression is looked at any more: their rules read the types */
} kc_verifier;

/* ---- helpers --------------------------------------------------------------------------------- */

static bool fail(kc_verifier* v, kc_loc loc, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(kc_verifier* v, kc_loc loc, const char* format, ...)
{
    v->ok = false;
    if (v->reports++ >= KC_MAX_REPORTS)
        return false;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kc_error(v->m->diags, loc, KC_DIAG_INTERNAL, "%s%s%s", v->f ? v->f->name : "", v->f ? ": " : "",
             text);
    return false;
}

static bool too_deep(kc_verifier* v, kc_loc loc, const char* what)
{
    if (v->ok || v->reports == 0)
        kc_error(v->m->diags, loc, KC_DIAG_NESTING, "%s are nested more than %d deep", what,
                 KC_MAX_DEPTH);
    v->ok = false;
    v->reports++;
    return false;
}

static size_t pointer_slot(const kc_pointer_set* set, const void* p)
{
    size_t i = (size_t)(((uintptr_t)p >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20);
    for (i &= set->size - 1; set->slots[i] && set->slots[i] != p; i = (i + 1) & (set->size - 1))
        ;
    return i;
}

/* False where `p` was in the set already. */
static bool set_add(kc_verifier* v, kc_pointer_set* set, const void* p)
{
    if (set->count * 2 >= set->size) {
        const kc_pointer_set old = *set;
        set->size = old.size ? old.size * 2 : 1024;
        set->slots = KC_NEW_ARRAY(v->scratch, const void*, set->size);
        for (size_t i = 0; i < old.size; i++)
            if (old.slots[i])
                set->slots[pointer_slot(set, old.slots[i])] = old.slots[i];
    }
    const size_t slot = pointer_slot(set, p);
    if (set->slots[slot])
        return false;
    set->slots[slot] = p;
    set->count++;
    return true;
}

static bool is_lane_count(uint64_t n)
{
    return n == 2 || n == 3 || n == 4 || n == 8 || n == 16;
}

static bool check_new_type(kc_verifier* v, kc_loc loc, const kc_type* t);

static bool check_type(kc_verifier* v, kc_loc loc, const kc_type* t, bool allow_void)
{
    if (!t)
        return fail(v, loc, "a type is missing");
    if (t->kind == KC_TYPE_VOID && !allow_void)
        return fail(v, loc, "a value of type void");
    if (set_add(v, &v->types, t) && !check_new_type(v, loc, t))
        v->has_bad_type = true;
    return !v->has_bad_type;
}

static bool check_new_type(kc_verifier* v, kc_loc loc, const kc_type* t)
{
    if (!kc_type_is_interned(v->m, t))
        return fail(v, loc, "a type is not interned");
    switch (t->kind) {
    case KC_TYPE_VOID:
    case KC_TYPE_BOOL: return true;
    case KC_TYPE_INT:
        if (t->width != 8 && t->width != 16 && t->width != 32 && t->width != 64)
            return fail(v, loc, "an integer type of %u bits", t->width);
        return true;
    case KC_TYPE_FLOAT:
        if (t->width != 16 && t->width != 32 && t->width != 64)
            return fail(v, loc, "a floating type of %u bits", t->width);
        return true;
    case KC_TYPE_VECTOR:
        if (!check_type(v, loc, t->element, false))
            return false;
        if ((t->element->kind != KC_TYPE_INT && t->element->kind != KC_TYPE_FLOAT) ||
            !is_lane_count(t->count))
            return fail(v, loc, "a vector type that does not exist");
        return true;
    case KC_TYPE_POINTER:
        return t->space <= KC_SPACE_CONSTANT ? check_type(v, loc, t->element, true)
                                             : fail(v, loc, "a pointer to no address space");
    case KC_TYPE_ARRAY: return check_type(v, loc, t->element, false);
    case KC_TYPE_STRUCT:
        if (!t->record)
            return fail(v, loc, "a struct type without a record");
        for (uint32_t i = 0; i < t->record->field_count; i++)
            if (!check_type(v, t->record->loc, t->record->fields[i].type, false))
                return false;
        return true;
    }
    return fail(v, loc, "a type of unknown kind");
}

static bool is_bool(const kc_type* t)
{
    return t->kind == KC_TYPE_BOOL;
}

static bool is_int_scalar(const kc_type* t)
{
    return t->kind == KC_TYPE_INT;
}

/* INT, FLOAT, or a vector of them. */
static bool is_numeric(const kc_type* t)
{
    return kc_is_integer(t) || kc_is_float(t);
}

/* `int` with the lane count of t. */
static const kc_type* int_like(kc_verifier* v, const kc_type* t)
{
    return kc_type_with_lane(v->m, t, kc_type_int(v->m, 32, true));
}

static bool is_constant_bits(const kc_type* t, uint64_t bits)
{
    if (t->kind == KC_TYPE_BOOL)
        return bits <= 1;
    if (t->width >= 64)
        return true;
    const uint64_t low = bits & ((UINT64_C(1) << t->width) - 1);
    const bool extends = t->kind == KC_TYPE_INT && t->is_signed && (bits >> (t->width - 1) & 1);
    return bits == (extends ? low | ~((UINT64_C(1) << t->width) - 1) : low);
}

/* ---- builtins -------------------------------------------------------------------------------- */

typedef enum kc_class {
    CLASS_FLOAT,
    CLASS_FLOAT_INT,
    CLASS_TO_INT,
    CLASS_INTEGER,
    CLASS_ANY,
    CLASS_ABS,
    CLASS_RELATION,
    CLASS_REDUCE,
    CLASS_GEOMETRY,
    CLASS_PAIR,
    CLASS_OTHER,
} kc_class;

static const struct {
    uint8_t arg_count, klass;
} builtins[] = {
#define KC_BUILTIN(id, name, args, klass) {args, CLASS_##klass},
#include "builtins.def"
#undef KC_BUILTIN
};

static bool fits_geometry(const kc_expr* e, const kc_type* t)
{
    if (!kc_is_float(t) || kc_lane_count(t) > 4)
        return false;
    switch (e->u.builtin) {
    case KC_BUILTIN_CROSS: return kc_lane_count(t) >= 3 && e->type == t;
    case KC_BUILTIN_NORMALIZE:
    case KC_BUILTIN_FAST_NORMALIZE: return e->type == t;
    default: return e->type == kc_lane(t);
    }
}

/* Of the result and the arguments: p a pair, u uint, i int, f float, b bool. */
static const char* pair_signature(kc_builtin id)
{
    switch (id) {
    case KC_BUILTIN_U64_MUL_WIDE: return "puu";
    case KC_BUILTIN_I64_SHL:
    case KC_BUILTIN_I64_SHR:
    case KC_BUILTIN_U64_SHR:
    case KC_BUILTIN_I64_ROTATE: return "ppu";
    case KC_BUILTIN_I64_EQ:
    case KC_BUILTIN_I64_LT:
    case KC_BUILTIN_U64_LT: return "bpp";
    case KC_BUILTIN_I64_FROM_I32: return "pi";
    case KC_BUILTIN_I64_TO_I32_SAT:
    case KC_BUILTIN_U64_TO_I32_SAT: return "ip";
    case KC_BUILTIN_I64_TO_U32_SAT:
    case KC_BUILTIN_U64_TO_U32_SAT: return "up";
    case KC_BUILTIN_I64_TO_FLOAT:
    case KC_BUILTIN_I64_TO_FLOAT_RTZ:
    case KC_BUILTIN_I64_TO_FLOAT_RTP:
    case KC_BUILTIN_I64_TO_FLOAT_RTN:
    case KC_BUILTIN_U64_TO_FLOAT:
    case KC_BUILTIN_U64_TO_FLOAT_RTZ:
    case KC_BUILTIN_U64_TO_FLOAT_RTP:
    case KC_BUILTIN_U64_TO_FLOAT_RTN: return "fp";
    case KC_BUILTIN_I64_FROM_FLOAT:
    case KC_BUILTIN_U64_FROM_FLOAT: return "pf";
    default: return "pppp";
    }
}

static bool fits_pair(kc_verifier* v, const kc_expr* e)
{
    const char* signature = pair_signature(e->u.builtin);
    for (uint32_t i = 0; i <= e->arg_count; i++) {
        const kc_type* word = kc_type_int(v->m, 32, signature[i] == 'i');
        const kc_type* wanted = signature[i] == 'p'   ? kc_type_vector(v->m, word, 2)
                                : signature[i] == 'f' ? kc_type_float(v->m, 32)
                                : signature[i] == 'b' ? kc_type_bool(v->m)
                                                      : word;
        if ((i ? e->args[i - 1]->type : e->type) != wanted)
            return false;
    }
    return true;
}

static bool fits_other(kc_verifier* v, const kc_expr* e)
{
    const kc_type *r = e->type, *a = e->args[0]->type;
    const kc_type* b = e->arg_count > 1 ? e->args[1]->type : NULL;
    const kc_type* last = e->args[e->arg_count - 1]->type;
    switch (e->u.builtin) {
    case KC_BUILTIN_NAN:
        return kc_is_float(r) &&
               a == kc_type_with_lane(v->m, r, kc_type_int(v->m, kc_lane(r)->width, false));
    case KC_BUILTIN_UPSAMPLE: {
        if (!kc_is_integer(a) || kc_lane(a)->width > 32)
            return false;
        const kc_type* lane = kc_lane(a);
        return b == kc_type_with_lane(v->m, a, kc_type_int(v->m, lane->width, false)) &&
               r ==
                   kc_type_with_lane(v->m, a, kc_type_int(v->m, lane->width * 2u, lane->is_signed));
    }
    case KC_BUILTIN_SELECT:
        return is_numeric(r) && a == r && b == r && kc_is_integer(last) &&
               kc_lane_count(last) == kc_lane_count(r) && kc_lane(last)->width == kc_lane(r)->width;
    case KC_BUILTIN_SHUFFLE:
    case KC_BUILTIN_SHUFFLE2:
        return kc_is_vector(a) && kc_is_vector(last) && kc_is_vector(r) &&
               (e->arg_count == 2 || a == b) && kc_is_integer(last) && !last->element->is_signed &&
               last->element->width == a->element->width && r->element == a->element &&
               r->count == last->count;
    case KC_BUILTIN_HALF_TO_FLOAT:
        return r == kc_type_with_lane(v->m, a, kc_type_float(v->m, 32)) &&
               a == kc_type_with_lane(v->m, a, kc_type_int(v->m, 32, false));
    case KC_BUILTIN_FLOAT_TO_HALF:
        return a == kc_type_with_lane(v->m, a, kc_type_float(v->m, 32)) &&
               r == kc_type_with_lane(v->m, a, kc_type_int(v->m, 32, false));
    default: return false;
    }
}

static bool fits_class(kc_verifier* v, const kc_expr* e)
{
    const kc_class klass = (kc_class)builtins[e->u.builtin].klass;
    const kc_type *r = e->type, *t = e->args[0]->type;
    if (klass == CLASS_OTHER)
        return fits_other(v, e);
    if (klass == CLASS_PAIR)
        return fits_pair(v, e);
    const uint32_t same = klass == CLASS_FLOAT_INT ? e->arg_count - 1 : e->arg_count;
    for (uint32_t i = 1; i < same; i++)
        if (e->args[i]->type != t)
            return false;
    switch (klass) {
    case CLASS_FLOAT: return kc_is_float(t) && r == t;
    case CLASS_FLOAT_INT:
        return kc_is_float(t) && r == t && e->args[e->arg_count - 1]->type == int_like(v, t);
    case CLASS_TO_INT: return kc_is_float(t) && r == int_like(v, t);
    case CLASS_INTEGER: return kc_is_integer(t) && r == t;
    case CLASS_ANY: return is_numeric(t) && r == t;
    case CLASS_ABS:
        return kc_is_integer(t) &&
               r == kc_type_with_lane(v->m, t, kc_type_int(v->m, kc_lane(t)->width, false));
    case CLASS_RELATION:
        return kc_is_float(t) &&
               r == (kc_is_vector(t) ? kc_type_compare(v->m, t) : kc_type_int(v->m, 32, true));
    case CLASS_REDUCE: return kc_is_integer(t) && r == kc_type_int(v->m, 32, true);
    case CLASS_GEOMETRY: return fits_geometry(e, t);
    case CLASS_PAIR:
    case CLASS_OTHER: break;
    }
    return false;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool check_expr(kc_verifier* v, const kc_expr* e, uint32_t depth);

static bool check_var(kc_verifier* v, const kc_expr* e)
{
    const kc_var* var = e->u.var;
    if (!var)
        return fail(v, e->loc, "a variable is missing");
    if (e->type != var->type)
        return fail(v, e->loc, "'%s' is used with another type than its own", var->name);
    if (var->kind != KC_VAR_CONSTANT && var->function != v->f)
        return fail(v, e->loc, "'%s' belongs to another function", var->name);
    if (!var->pass_data)
        return fail(v, e->loc, "'%s' is not declared here", var->name);
    return true;
}

static bool check_lanes(kc_verifier* v, const kc_expr* e)
{
    const kc_type* t = e->args[0]->type;
    if (!kc_is_vector(t))
        return fail(v, e->loc, "lanes of what is no vector");
    const uint32_t count = e->u.lanes.count;
    if (count != 1 && !is_lane_count(count))
        return fail(v, e->loc, "%u lanes", count);
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t lane = e->u.lanes.index[i];
        if (lane >= t->count)
            return fail(v, e->loc, "lane %u of %u", lane, (unsigned)t->count);
        if (e->kind == KC_EX_LANES && (used >> lane & 1))
            return fail(v, e->loc, "a place names lane %u twice", lane);
        used |= 1u << lane;
    }
    if (e->type != (count == 1 ? t->element : kc_type_vector(v->m, t->element, count)))
        return fail(v, e->loc, "the type of lanes is not that of the vector");
    return true;
}

static bool check_address(kc_verifier* v, const kc_expr* e)
{
    const kc_expr* place = e->args[0];
    if (!kc_is_pointer(e->type) || e->type->element != place->type)
        return fail(v, e->loc, "ADDRESS gives no pointer to its place's type");
    if (e->type->space != kc_place_space(place))
        return fail(v, e->loc, "ADDRESS changes the address space");
    if (place->kind == KC_EX_LANES && place->u.lanes.count > 1)
        return fail(v, e->loc, "ADDRESS of several lanes");
    return true;
}

static bool check_aggregate(kc_verifier* v, const kc_expr* e)
{
    const kc_type* t = e->type;
    if (t->kind == KC_TYPE_ARRAY) {
        if (e->arg_count != t->count)
            return fail(v, e->loc, "AGGREGATE of %u elements for an array of %llu", e->arg_count,
                        (unsigned long long)t->count);
        for (uint32_t i = 0; i < e->arg_count; i++)
            if (e->args[i]->type != t->element)
                return fail(v, e->loc, "AGGREGATE: element %u has another type", i);
        return true;
    }
    if (t->kind != KC_TYPE_STRUCT)
        return fail(v, e->loc, "AGGREGATE of what is no array or struct");
    const kc_record* r = t->record;
    if (r->is_union) {
        if (e->arg_count != 1 || e->u.field >= r->field_count ||
            e->args[0]->type != r->fields[e->u.field].type)
            return fail(v, e->loc, "AGGREGATE of a union does not fit its field");
        return true;
    }
    if (e->arg_count != r->field_count)
        return fail(v, e->loc, "AGGREGATE of %u fields for a struct of %u", e->arg_count,
                    r->field_count);
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (e->args[i]->type != r->fields[i].type)
            return fail(v, e->loc, "AGGREGATE: field %u has another type", i);
    return true;
}

static bool check_unary(kc_verifier* v, const kc_expr* e)
{
    const kc_type* t = e->args[0]->type;
    bool fits = false;
    switch (e->u.op) {
    case KC_OP_NEG: fits = is_numeric(t); break;
    case KC_OP_BIT_NOT: fits = kc_is_integer(t); break;
    case KC_OP_LOGICAL_NOT: fits = is_bool(t); break;
    default: return fail(v, e->loc, "UNARY with an operator of two operands");
    }
    return (fits && e->type == t) || fail(v, e->loc, "UNARY: wrong type of operand or result");
}

static bool check_binary(kc_verifier* v, const kc_expr* e)
{
    const kc_type *a = e->args[0]->type, *b = e->args[1]->type;
    const bool shifts = e->u.op == KC_OP_SHL || e->u.op == KC_OP_SHR;
    if (!shifts && a != b)
        return fail(v, e->loc, "BINARY: operands of two types");
    switch (e->u.op) {
    case KC_OP_ADD:
    case KC_OP_SUB:
    case KC_OP_MUL:
    case KC_OP_DIV:
        return (is_numeric(a) && e->type == a) || fail(v, e->loc, "arithmetic: wrong type");
    case KC_OP_REM:
    case KC_OP_AND:
    case KC_OP_OR:
    case KC_OP_XOR:
        return (kc_is_integer(a) && e->type == a) ||
               fail(v, e->loc, "integer arithmetic: wrong type");
    case KC_OP_SHL:
    case KC_OP_SHR:
        return (kc_is_integer(a) && kc_is_integer(b) && kc_lane_count(a) == kc_lane_count(b) &&
                e->type == a) ||
               fail(v, e->loc, "shift: wrong type");
    case KC_OP_EQ:
    case KC_OP_NE:
    case KC_OP_LT:
    case KC_OP_LE:
    case KC_OP_GT:
    case KC_OP_GE: {
        const bool ordered = e->u.op != KC_OP_EQ && e->u.op != KC_OP_NE;
        const bool fits = is_numeric(a) || kc_is_pointer(a) || (is_bool(a) && !ordered);
        return (fits && e->type == kc_type_compare(v->m, a)) ||
               fail(v, e->loc, "comparison: wrong type");
    }
    case KC_OP_LOGICAL_AND:
    case KC_OP_LOGICAL_OR:
        return (is_bool(a) && is_bool(e->type)) || fail(v, e->loc, "logical operator: not bool");
    default: return fail(v, e->loc, "BINARY with an operator of one operand");
    }
}

static bool check_convert(kc_verifier* v, const kc_expr* e)
{
    const kc_type *to = e->type, *from = e->args[0]->type;
    if (kc_is_pointer(to) || kc_is_pointer(from)) {
        if (!kc_is_pointer(to) || !kc_is_pointer(from))
            return fail(v, e->loc, "CONVERT between a pointer and a number");
        if (to->space != from->space)
            return fail(v, e->loc, "CONVERT changes a pointer's address space");
        return true;
    }
    if (!(is_numeric(to) || is_bool(to)) || !(is_numeric(from) || is_bool(from)))
        return fail(v, e->loc, "CONVERT of a type that has none");
    if (kc_lane_count(to) != kc_lane_count(from))
        return fail(v, e->loc, "CONVERT changes the lane count");
    if (e->u.convert.saturate && !kc_is_integer(to))
        return fail(v, e->loc, "CONVERT saturates to what is no integer");
    if (e->u.convert.round > KC_ROUND_DOWN)
        return fail(v, e->loc, "CONVERT with an unknown rounding");
    return true;
}

static bool check_bitcast(kc_verifier* v, const kc_expr* e)
{
    const kc_type *to = e->type, *from = e->args[0]->type;
    if (to->size != from->size)
        return fail(v, e->loc, "BITCAST changes the size");
    const bool fits = kc_is_pointer(to)     ? is_int_scalar(from)
                      : kc_is_pointer(from) ? is_int_scalar(to)
                                            : is_numeric(to) && is_numeric(from);
    return fits || fail(v, e->loc, "BITCAST between types that have none");
}

static bool check_compose(kc_verifier* v, const kc_expr* e)
{
    if (!kc_is_vector(e->type))
        return fail(v, e->loc, "COMPOSE of what is no vector");
    uint64_t lanes = 0;
    for (uint32_t i = 0; i < e->arg_count; i++) {
        if (kc_lane(e->args[i]->type) != e->type->element)
            return fail(v, e->loc, "COMPOSE: part %u has another lane type", i);
        lanes += kc_lane_count(e->args[i]->type);
    }
    return lanes == e->type->count || fail(v, e->loc, "COMPOSE: the parts' lanes do not add up");
}

static bool check_pointer_diff(kc_verifier* v, const kc_expr* e)
{
    const kc_type *a = e->args[0]->type, *b = e->args[1]->type;
    if (!kc_is_pointer(a) || !kc_is_pointer(b) || a->space != b->space || a->element != b->element)
        return fail(v, e->loc, "POINTER_DIFF of pointers of two types");
    if (a->element->size == 0)
        return fail(v, e->loc, "POINTER_DIFF in elements without a size");
    return e->type == kc_type_int(v->m, v->m->size_t_bits, true) ||
           fail(v, e->loc, "POINTER_DIFF: the result is no ptrdiff_t");
}

/* What the parts of a kind must be: number of args (-1: any), and whether each is a place. */
static int wanted_args(const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_VAR:
    case KC_EX_CONST:
    case KC_EX_ZERO:
    case KC_EX_LOCAL_BYTES:
    case KC_EX_SLICE_OFFSET: return 0;
    case KC_EX_FIELD:
    case KC_EX_DEREF:
    case KC_EX_LANES:
    case KC_EX_LOAD:
    case KC_EX_ADDRESS:
    case KC_EX_UNARY:
    case KC_EX_CONVERT:
    case KC_EX_BITCAST:
    case KC_EX_SPLAT:
    case KC_EX_SWIZZLE: return 1;
    case KC_EX_INDEX:
    case KC_EX_OFFSET:
    case KC_EX_POINTER_DIFF:
    case KC_EX_BINARY: return 2;
    case KC_EX_SELECT: return 3;
    case KC_EX_AGGREGATE:
    case KC_EX_COMPOSE: return -1;
    case KC_EX_BUILTIN:
        return (uint32_t)e->u.builtin < KC_BUILTIN_COUNT ? builtins[e->u.builtin].arg_count : -2;
    case KC_EX_WORK_ITEM: return e->u.query == KC_QUERY_WORK_DIM ? 0 : 1;
    }
    return -2;
}

static bool takes_place(const kc_expr* e, uint32_t arg)
{
    switch (e->kind) {
    case KC_EX_INDEX: return arg == 0;
    case KC_EX_FIELD:
    case KC_EX_LANES:
    case KC_EX_LOAD:
    case KC_EX_ADDRESS: return true;
    default: return false;
    }
}

static bool check_place_kind(kc_verifier* v, const kc_expr* e)
{
    const kc_type* t = e->args[0]->type;
    switch (e->kind) {
    case KC_EX_INDEX:
        if (t->kind != KC_TYPE_ARRAY && t->kind != KC_TYPE_VECTOR)
            return fail(v, e->loc, "INDEX of what is no array or vector");
        if (!is_int_scalar(e->args[1]->type))
            return fail(v, e->loc, "INDEX by what is no integer");
        return e->type == t->element || fail(v, e->loc, "INDEX: not the element's type");
    case KC_EX_FIELD:
        if (t->kind != KC_TYPE_STRUCT || e->u.field >= t->record->field_count)
            return fail(v, e->loc, "FIELD that does not exist");
        return e->type == t->record->fields[e->u.field].type ||
               fail(v, e->loc, "FIELD: not the field's type");
    default: /* DEREF */
        if (!kc_is_pointer(t))
            return fail(v, e->loc, "DEREF of what is no pointer");
        return e->type == t->element || fail(v, e->loc, "DEREF: not the element's type");
    }
}

static bool check_query(kc_verifier* v, const kc_expr* e)
{
    if (e->u.query > KC_QUERY_GLOBAL_OFFSET)
        return fail(v, e->loc, "WORK_ITEM with an unknown query");
    if (e->u.query == KC_QUERY_WORK_DIM)
        return e->type == kc_type_int(v->m, 32, false) ||
               fail(v, e->loc, "WORK_ITEM: work_dim is not uint");
    if (!is_int_scalar(e->args[0]->type))
        return fail(v, e->loc, "WORK_ITEM: the dimension is no integer");
    return e->type == kc_type_size_t(v->m) || fail(v, e->loc, "WORK_ITEM: not size_t");
}

static bool check_local_bytes(kc_verifier* v, const kc_expr* e)
{
    const kc_var* var = e->u.var;
    const kc_var* param = var && var->kind == KC_VAR_LOCAL ? var->param : var;
    if (!param || param->kind != KC_VAR_PARAM || !kc_is_pointer(param->type) ||
        param->type->space != KC_SPACE_LOCAL || var->function != v->f || !v->f->is_kernel)
        return fail(v, e->loc, "LOCAL_BYTES of what is no __local parameter of this kernel");
    return e->type == kc_type_size_t(v->m) || fail(v, e->loc, "LOCAL_BYTES: not size_t");
}

static bool check_slice_offset(kc_verifier* v, const kc_expr* e)
{
    if (!e->u.var || e->u.var->kind != KC_VAR_BUFFER || !e->u.var->param ||
        e->u.var->function != v->f)
        return fail(v, e->loc, "SLICE_OFFSET of what is no buffer of this kernel");
    return e->type == kc_type_int(v->m, 32, false) || fail(v, e->loc, "SLICE_OFFSET: not uint");
}

/* The rules of one node, whose operands are well-formed, of the right number, and places or values
 * as they must be. */
static bool check_node(kc_verifier* v, const kc_expr* e)
{
    const kc_type* t = e->arg_count ? e->args[0]->type : NULL;
    switch (e->kind) {
    case KC_EX_VAR: return check_var(v, e);
    case KC_EX_INDEX:
    case KC_EX_FIELD:
    case KC_EX_DEREF: return check_place_kind(v, e);
    case KC_EX_LANES:
    case KC_EX_SWIZZLE: return check_lanes(v, e);
    case KC_EX_LOAD: return e->type == t || fail(v, e->loc, "LOAD: not the place's type");
    case KC_EX_ADDRESS: return check_address(v, e);
    case KC_EX_OFFSET:
        if (!kc_is_pointer(t) || e->type != t || !is_int_scalar(e->args[1]->type))
            return fail(v, e->loc, "OFFSET: wrong type of pointer, index or result");
        return t->element->kind != KC_TYPE_VOID || fail(v, e->loc, "OFFSET of a pointer to void");
    case KC_EX_POINTER_DIFF: return check_pointer_diff(v, e);
    case KC_EX_CONST:
        if (!kc_is_scalar(e->type))
            return fail(v, e->loc, "CONST of what is no scalar");
        return is_constant_bits(e->type, e->u.bits) ||
               fail(v, e->loc, "CONST: bits outside the type's width");
    case KC_EX_ZERO: return true;
    case KC_EX_AGGREGATE: return check_aggregate(v, e);
    case KC_EX_UNARY: return check_unary(v, e);
    case KC_EX_BINARY: return check_binary(v, e);
    case KC_EX_SELECT:
        return (is_bool(t) && e->args[1]->type == e->type && e->args[2]->type == e->type) ||
               fail(v, e->loc, "SELECT: wrong type of condition, operand or result");
    case KC_EX_CONVERT: return check_convert(v, e);
    case KC_EX_BITCAST: return check_bitcast(v, e);
    case KC_EX_COMPOSE: return check_compose(v, e);
    case KC_EX_SPLAT:
        return (kc_is_vector(e->type) && t == e->type->element) ||
               fail(v, e->loc, "SPLAT: not the vector's lane type");
    case KC_EX_BUILTIN:
        return fits_class(v, e) ||
               fail(v, e->loc, "builtin %s: wrong types", kc_builtin_name(e->u.builtin));
    case KC_EX_WORK_ITEM: return check_query(v, e);
    case KC_EX_LOCAL_BYTES: return check_local_bytes(v, e);
    case KC_EX_SLICE_OFFSET: return check_slice_offset(v, e);
    }
    return fail(v, e->loc, "an expression of unknown kind");
}

static bool check_operand(kc_verifier* v, const kc_expr* e, uint32_t arg, uint32_t depth)
{
    const kc_expr* a = e->args[arg];
    if (!a)
        return fail(v, e->loc, "operand %u is missing", arg);
    if (!check_expr(v, a, depth + 1))
        return false;
    if (kc_is_place(a) != takes_place(e, arg))
        return fail(v, a->loc,
                    takes_place(e, arg) ? "a value where a place must stand"
                                        : "a place where a value must stand");
    return true;
}

static bool check_expr(kc_verifier* v, const kc_expr* e, uint32_t depth)
{
    if (depth > KC_MAX_DEPTH)
        return too_deep(v, e->loc, "expressions");
    if (!set_add(v, &v->seen, e))
        return fail(v, e->loc, "an expression appears twice in the tree");
    const int wanted = wanted_args(e);
    if (wanted == -2)
        return fail(v, e->loc, "an expression or builtin of unknown kind");
    if (wanted >= 0 && e->arg_count != (uint32_t)wanted)
        return fail(v, e->loc, "an expression of %u operands where %d are needed", e->arg_count,
                    wanted);
    if (!check_type(v, e->loc, e->type, false))
        return false;
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!check_operand(v, e, i, depth))
            return false;
    return check_node(v, e);
}

static bool check_value(kc_verifier* v, const kc_expr* e, const kc_type* type, kc_loc loc,
                        const char* what)
{
    if (!e)
        return fail(v, loc, "%s: a value is missing", what);
    if (!check_expr(v, e, 1))
        return false;
    if (kc_is_place(e))
        return fail(v, e->loc, "%s: a place where a value must stand", what);
    return !type || e->type == type || fail(v, e->loc, "%s: the value has another type", what);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void check_block(kc_verifier* v, kc_block* b);

/* A block's variables go out of scope. Broken links may make it a ring: those end it here too. */
static void leave_scope(kc_block* b)
{
    const kc_stmt* previous = NULL;
    for (kc_stmt* s = b->first; s && s->prev == previous; previous = s, s = s->next)
        if (s->kind == KC_ST_DECLARE && s->var)
            s->var->pass_data = NULL;
}

static void check_scope(kc_verifier* v, kc_block* b)
{
    check_block(v, b);
    leave_scope(b);
}

static bool check_place(kc_verifier* v, const kc_stmt* s)
{
    if (!s->place)
        return fail(v, s->loc, "a place is missing");
    if (!check_expr(v, s->place, 1))
        return false;
    if (!kc_is_place(s->place))
        return fail(v, s->place->loc, "a value where a place must stand");
    return true;
}

static void check_result(kc_verifier* v, const kc_stmt* s, const kc_type* type)
{
    const kc_var* r = s->result;
    if (!r)
        return;
    if (r->function != v->f || !r->pass_data ||
        (r->kind != KC_VAR_PRIVATE && r->kind != KC_VAR_PARAM))
        fail(v, s->loc, "the result '%s' is no variable that is declared here", r->name);
    else if (r->type != type)
        fail(v, s->loc, "the result '%s' has another type", r->name);
}

static void check_declare(kc_verifier* v, kc_stmt* s)
{
    kc_var* var = s->var;
    if (!var || var->kind != KC_VAR_PRIVATE || var->function != v->f) {
        fail(v, s->loc, "DECLARE of what is no private variable of this function");
        return;
    }
    check_type(v, var->loc, var->type, false);
    if (s->value)
        check_value(v, s->value, var->type, s->loc, "DECLARE");
    if (!set_add(v, &v->seen, var))
        fail(v, s->loc, "'%s' is declared twice", var->name);
    var->pass_data = var;
}

static void check_call(kc_verifier* v, const kc_stmt* s)
{
    const kc_function* callee = s->callee;
    if (!callee || !callee->pass_data) {
        fail(v, s->loc, "CALL of a function that does not stand before its caller");
        return;
    }
    if (callee->is_kernel)
        fail(v, s->loc, "CALL of a kernel");
    if (s->arg_count != callee->param_count) {
        fail(v, s->loc, "CALL of '%s' with %u arguments instead of %u", callee->name, s->arg_count,
             callee->param_count);
        return;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        check_value(v, s->args[i], callee->params[i]->type, s->loc, "CALL");
    check_result(v, s, callee->result);
}

static void check_atomic(kc_verifier* v, const kc_stmt* s)
{
    if (!check_place(v, s))
        return;
    const kc_type* t = s->place->type;
    const bool is_word = t->kind == KC_TYPE_INT && (t->width == 32 || t->width == 64);
    const bool is_float = t->kind == KC_TYPE_FLOAT && t->width == 32;
    if (!is_word && !(is_float && s->atomic == KC_ATOMIC_XCHG))
        fail(v, s->loc, "ATOMIC on a type that has none");
    const kc_space space = kc_place_space(s->place);
    if (space != KC_SPACE_LOCAL && space != KC_SPACE_GLOBAL)
        fail(v, s->loc, "ATOMIC in %s memory", kc_space_name(space));
    if (s->atomic > KC_ATOMIC_XOR)
        fail(v, s->loc, "ATOMIC of unknown kind");
    const uint32_t wanted = s->atomic == KC_ATOMIC_INC || s->atomic == KC_ATOMIC_DEC ? 0
                            : s->atomic == KC_ATOMIC_CMPXCHG                         ? 2
                                                                                     : 1;
    if (s->arg_count != wanted)
        fail(v, s->loc, "ATOMIC with %u operands", s->arg_count);
    for (uint32_t i = 0; i < s->arg_count; i++)
        check_value(v, s->args[i], t, s->loc, "ATOMIC");
    check_result(v, s, t);
}

static void check_broadcast(kc_verifier* v, const kc_stmt* s)
{
    if (!check_place(v, s))
        return;
    const kc_type* t = s->place->type;
    if ((t->kind != KC_TYPE_INT && t->kind != KC_TYPE_FLOAT) || t->width != 32)
        fail(v, s->loc, "BROADCAST of what is no int, uint or float");
    if (kc_place_space(s->place) != KC_SPACE_LOCAL)
        fail(v, s->loc, "BROADCAST of what is not local");
    if (!s->result)
        fail(v, s->loc, "BROADCAST without a result");
    check_result(v, s, t);
}

static void check_printf(kc_verifier* v, const kc_stmt* s)
{
    if (!s->format)
        fail(v, s->loc, "PRINTF without a format");
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (check_value(v, s->args[i], NULL, s->loc, "PRINTF") && !is_numeric(s->args[i]->type) &&
            !kc_is_pointer(s->args[i]->type))
            fail(v, s->args[i]->loc, "PRINTF of a type that can't be printed");
}

static void check_loop(kc_verifier* v, kc_stmt* s)
{
    s->pass_data = &inside_mark;
    if (!s->test_at_end)
        check_block(v, &s->head);
    if (!s->test_at_end && s->value)
        check_value(v, s->value, kc_type_bool(v->m), s->loc, "LOOP");
    s->pass_data = &inside_body_mark;
    check_scope(v, &s->body);
    s->pass_data = &inside_mark;
    check_scope(v, &s->step);
    if (s->test_at_end)
        check_block(v, &s->head);
    if (s->test_at_end && s->value)
        check_value(v, s->value, kc_type_bool(v->m), s->loc, "LOOP");
    leave_scope(&s->head);
}

static void check_switch(kc_verifier* v, kc_stmt* s)
{
    if (!check_value(v, s->value, NULL, s->loc, "SWITCH"))
        return;
    const kc_type* t = s->value->type;
    if (!is_int_scalar(t)) {
        fail(v, s->loc, "SWITCH on what is no integer");
        return;
    }
    uint32_t defaults = 0;
    kc_pointer_set values = {0}; /* of the values plus 1, as pointers: the set can't hold NULL */
    bool has_last = false;
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_case* c = &s->cases[i];
        defaults += c->is_default;
        for (uint32_t j = 0; j < c->value_count; j++) {
            const bool is_last = c->values[j] == UINT64_MAX;
            if (!is_constant_bits(t, c->values[j]))
                fail(v, s->loc, "SWITCH: a case outside the type's width");
            else if (is_last ? has_last
                             : !set_add(v, &values, (const void*)(uintptr_t)(c->values[j] + 1)))
                fail(v, s->loc, "SWITCH: a case stands twice");
            has_last |= is_last;
        }
        check_scope(v, &c->body);
    }
    if (defaults > 1)
        fail(v, s->loc, "SWITCH with %u defaults", defaults);
}

static void check_exit(kc_verifier* v, const kc_stmt* s)
{
    const kc_stmt* target = s->target;
    if (!target || !target->pass_data)
        fail(v, s->loc, "%s of a statement that is not around it",
             s->kind == KC_ST_BREAK ? "BREAK" : "CONTINUE");
    else if (s->kind == KC_ST_CONTINUE && target->pass_data != &inside_body_mark)
        fail(v, s->loc, "CONTINUE outside the body of a loop");
    else if (s->kind == KC_ST_BREAK && target->kind == KC_ST_IF)
        fail(v, s->loc, "BREAK of an IF");
}

/* The walks rely on parts that a kind doesn't have being absent. */
static void check_parts(kc_verifier* v, const kc_stmt* s)
{
    const bool has_place =
        s->kind == KC_ST_ASSIGN || s->kind == KC_ST_ATOMIC || s->kind == KC_ST_BROADCAST;
    const bool has_args =
        s->kind == KC_ST_CALL || s->kind == KC_ST_ATOMIC || s->kind == KC_ST_PRINTF;
    const bool has_value = s->kind == KC_ST_DECLARE || s->kind == KC_ST_ASSIGN ||
                           s->kind == KC_ST_IF || s->kind == KC_ST_LOOP ||
                           s->kind == KC_ST_SWITCH || s->kind == KC_ST_RETURN;
    if ((s->place && !has_place) || (s->arg_count && !has_args) || (s->value && !has_value))
        fail(v, s->loc, "a statement has a part that its kind does not have");
}

static void check_stmt(kc_verifier* v, kc_stmt* s)
{
    check_parts(v, s);
    switch (s->kind) {
    case KC_ST_DECLARE: check_declare(v, s); break;
    case KC_ST_ASSIGN:
        if (check_place(v, s)) {
            if (kc_place_space(s->place) == KC_SPACE_CONSTANT)
                fail(v, s->loc, "ASSIGN to constant memory");
            check_value(v, s->value, s->place->type, s->loc, "ASSIGN");
        }
        break;
    case KC_ST_CALL: check_call(v, s); break;
    case KC_ST_ATOMIC: check_atomic(v, s); break;
    case KC_ST_BARRIER:
    case KC_ST_FENCE:
        if (s->fence & ~(KC_FENCE_LOCAL | KC_FENCE_GLOBAL))
            fail(v, s->loc, "a fence of unknown memory");
        break;
    case KC_ST_BROADCAST: check_broadcast(v, s); break;
    case KC_ST_PRINTF: check_printf(v, s); break;
    case KC_ST_IF:
        check_value(v, s->value, kc_type_bool(v->m), s->loc, "IF");
        check_scope(v, &s->body);
        check_scope(v, &s->orelse);
        break;
    case KC_ST_LOOP: check_loop(v, s); break;
    case KC_ST_SWITCH:
        s->pass_data = &inside_mark;
        check_switch(v, s);
        break;
    case KC_ST_BLOCK:
        s->pass_data = &inside_mark;
        check_scope(v, &s->body);
        break;
    case KC_ST_BREAK:
    case KC_ST_CONTINUE: check_exit(v, s); break;
    case KC_ST_RETURN:
        if (s->value)
            check_value(v, s->value, v->f->result, s->loc, "RETURN");
        else if (v->f->result->kind != KC_TYPE_VOID)
            fail(v, s->loc, "RETURN without a value");
        break;
    default: fail(v, s->loc, "a statement of unknown kind"); break;
    }
    s->pass_data = NULL;
}

static void check_block(kc_verifier* v, kc_block* b)
{
    if (++v->depth > KC_MAX_DEPTH) {
        too_deep(v, b->first ? b->first->loc : (kc_loc){0}, "statements");
    } else {
        const kc_stmt* previous = NULL;
        for (kc_stmt* s = b->first; s; previous = s, s = s->next) {
            if (s->prev != previous) {
                fail(v, s->loc, "a block's links are broken");
                break;
            }
            if (!set_add(v, &v->seen, s)) {
                fail(v, s->loc, "a statement appears twice in the tree");
                break;
            }
            check_stmt(v, s);
        }
        if (v->ok && b->last != previous)
            fail(v, b->first ? b->first->loc : v->f->loc,
                 "a block's last statement is not its last");
    }
    v->depth--;
}

/* ---- functions and modules ------------------------------------------------------------------- */

/* An array as long as the dispatch makes it is a whole BUFFER, or a LOCAL made of a parameter.
 * `push` is of no one parameter. */
static bool fits_memory(const kc_function* f, const kc_var* var)
{
    if (var->kind != KC_VAR_BUFFER && !var->param)
        return true;
    return var->type->kind == KC_TYPE_ARRAY && var->type->count == 0 &&
           (var == f->push ? !var->param : var->param && kc_is_pointer(var->param->type));
}

static void declare_all(kc_verifier* v, kc_function* f, kc_var** vars, uint32_t count,
                        kc_var_kind kind)
{
    for (uint32_t i = 0; i < count; i++) {
        kc_var* var = vars[i];
        check_type(v, var->loc, var->type, false);
        if (var->kind != kind || var->function != f || !fits_memory(f, var))
            fail(v, var->loc, "'%s' is of the wrong kind or of another function", var->name);
        if (!set_add(v, &v->seen, var))
            fail(v, var->loc, "'%s' is declared twice", var->name);
        var->pass_data = var;
    }
}

static void forget_all(kc_var** vars, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        vars[i]->pass_data = NULL;
}

static void check_function(kc_verifier* v, kc_function* f)
{
    v->f = f;
    if (check_type(v, f->loc, f->result, true) && f->is_kernel && f->result->kind != KC_TYPE_VOID)
        fail(v, f->loc, "a kernel returns a value");
    if (!f->is_kernel && (f->local_count || f->buffer_count))
        fail(v, f->loc, "a function has __local variables or buffers");
    declare_all(v, f, f->params, f->param_count, KC_VAR_PARAM);
    declare_all(v, f, f->locals, f->local_count, KC_VAR_LOCAL);
    declare_all(v, f, f->buffers, f->buffer_count, KC_VAR_BUFFER);
    declare_all(v, f, &f->push, f->push ? 1 : 0, KC_VAR_BUFFER);
    if (v->ok)
        check_block(v, &f->body);
    leave_scope(&f->body);
    forget_all(f->params, f->param_count);
    forget_all(f->locals, f->local_count);
    forget_all(f->buffers, f->buffer_count);
    forget_all(&f->push, f->push ? 1 : 0);
    for (const kc_function* other = v->m->functions; other != f; other = other->next)
        if (strcmp(other->name, f->name) == 0)
            fail(v, f->loc, "two functions of one name");
    f->pass_data = f;
    v->f = NULL;
}

/* An expression that has the same value wherever it is evaluated, and no call. */
static bool is_constant_expr(const kc_expr* e)
{
    if (e->kind == KC_EX_LOAD || e->kind == KC_EX_WORK_ITEM || e->kind == KC_EX_LOCAL_BYTES ||
        e->kind == KC_EX_SLICE_OFFSET || e->kind == KC_EX_BUILTIN)
        return false;
    if (e->kind == KC_EX_VAR && e->u.var->kind != KC_VAR_CONSTANT)
        return false;
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!is_constant_expr(e->args[i]))
            return false;
    return true;
}

static void check_constant(kc_verifier* v, const kc_var* c)
{
    if (c->kind != KC_VAR_CONSTANT || c->function) {
        fail(v, c->loc, "'%s' is no constant variable", c->name);
        return;
    }
    if (check_type(v, c->loc, c->type, false) &&
        check_value(v, c->init, c->type, c->loc, "initialiser") && !is_constant_expr(c->init))
        fail(v, c->loc, "the initialiser of '%s' is not constant", c->name);
}

bool kc_verify_module(kc_module* m)
{
    kc_verifier v = {.m = m, .ok = true, .scratch = kc_arena_create()};
    if (!v.scratch)
        v.scratch = m->arena; /* whose own allocations then say that memory ran out */
    for (uint32_t i = 0; i < m->constant_count; i++)
        m->constants[i]->pass_data = m;
    for (uint32_t i = 0; i < m->constant_count; i++)
        check_constant(&v, m->constants[i]);
    for (kc_function* f = m->functions; f; f = f->next)
        f->pass_data = NULL;
    for (kc_function* f = m->functions; f; f = f->next)
        check_function(&v, f);
    for (kc_function* f = m->functions; f; f = f->next)
        f->pass_data = NULL;
    for (uint32_t i = 0; i < m->constant_count; i++)
        m->constants[i]->pass_data = NULL;
    if (v.scratch != m->arena)
        kc_arena_destroy(v.scratch);
    return v.ok;
}
