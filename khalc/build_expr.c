/* Expressions: places, values, literals, members, vector components. Operators and calls have files
 * of their own. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"
#include "clang.h"

/* ---- helpers --------------------------------------------------------------------------------- */

static void fill_locations(kc_expr* e, kc_loc loc)
{
    if (e->loc.file)
        return;
    e->loc = loc;
    for (uint32_t i = 0; i < e->arg_count; i++)
        fill_locations(e->args[i], loc);
}

static kc_expr* located(kc_expr* e, kc_loc loc)
{
    if (!e)
        return NULL;
    e->loc = loc;
    for (uint32_t i = 0; i < e->arg_count; i++)
        fill_locations(e->args[i], loc);
    return e;
}

const kc_node* kc_strip(const kc_node* n)
{
    while (n && (n->kind == KC_NODE_ParenExpr || (n->kind == KC_NODE_ConstantExpr && !n->value)) &&
           n->child_count == 1)
        n = n->children[0];
    return n;
}

const kc_node* kc_strip_casts(const kc_node* n)
{
    for (n = kc_strip(n);
         n && n->child_count == 1 &&
         (n->kind == KC_NODE_ImplicitCastExpr || n->kind == KC_NODE_CStyleCastExpr);)
        n = kc_strip(n->children[0]);
    return n;
}

kc_block* kc_build_enter(kc_builder* b, kc_block* sub)
{
    kc_block* saved = b->block;
    *sub = (kc_block){0};
    if (saved)
        b->block = sub;
    return saved;
}

void kc_build_leave(kc_builder* b, kc_block* saved)
{
    b->block = saved;
}

kc_var* kc_build_temp(kc_builder* b, const kc_type* type, const char* hint, kc_loc loc)
{
    b->private_size += type->size;
    return kc_temp_create(b->m, b->function, hint, type, loc);
}

kc_expr* kc_build_hoist(kc_builder* b, kc_expr* value, const char* hint)
{
    if (!value)
        return NULL;
    if (!b->block)
        return kc_build_error(b, value->loc, KC_DIAG_INITIALIZER,
                              "this can't be computed when the kernel is compiled");
    kc_var* t = kc_build_temp(b, value->type, hint, value->loc);
    kc_st_declare(b->m, b->block, t, value, value->loc);
    return located(kc_ex_load_var(b->m, t), value->loc);
}

kc_expr* kc_build_as_place(kc_builder* b, kc_expr* value)
{
    /* part of an object that has a place already: f(x).member[i] */
    if (value && value->kind == KC_EX_LOAD && value->args[0]->kind != KC_EX_LANES)
        return value->args[0];
    kc_expr* load = kc_build_hoist(b, value, "object");
    return load ? load->args[0] : NULL;
}

kc_expr* kc_build_unqualified(kc_expr* pointer, bool keep_volatile)
{
    while (pointer->kind == KC_EX_CONVERT && pointer->type->kind == KC_TYPE_POINTER) {
        const kc_type* from = pointer->args[0]->type;
        if (from->kind != KC_TYPE_POINTER || from->element != pointer->type->element ||
            (from->is_const && !pointer->type->is_const) ||
            (keep_volatile && pointer->type->is_volatile && !from->is_volatile))
            break;
        pointer = pointer->args[0];
    }
    return pointer;
}

kc_expr* kc_build_deref(kc_builder* b, kc_expr* pointer, kc_loc loc)
{
    if (!pointer)
        return NULL;
    pointer = kc_build_unqualified(pointer, true);
    if (pointer->kind == KC_EX_OFFSET) {
        pointer->args[0] = kc_build_unqualified(pointer->args[0], true);
        pointer->type = pointer->args[0]->type;
    }
    if (pointer->type->kind != KC_TYPE_POINTER || pointer->type->element->kind == KC_TYPE_VOID)
        return kc_build_error(b, loc, KC_DIAG_EXPRESSION, "this is no pointer to an object");
    if (pointer->kind == KC_EX_ADDRESS && pointer->args[0]->type == pointer->type->element)
        return pointer->args[0];
    return located(kc_ex_deref(b->m, pointer), loc);
}

/* Counts the nodes of an expression that gives the same value until the statement that it is in has
 * ended, and is cheap; more than `limit` when it isn't one. */
static uint32_t stable_size(const kc_expr* e, uint32_t limit)
{
    uint32_t size = 1;
    switch (e->kind) {
    case KC_EX_LOAD: return e->args[0]->kind == KC_EX_VAR ? 1 : limit + 1;
    case KC_EX_CONST:
    case KC_EX_ZERO:
    case KC_EX_VAR:
    case KC_EX_LOCAL_BYTES: return 1;
    case KC_EX_INDEX:
    case KC_EX_FIELD:
    case KC_EX_DEREF:
    case KC_EX_ADDRESS:
    case KC_EX_OFFSET:
    case KC_EX_UNARY:
    case KC_EX_CONVERT:
    case KC_EX_BITCAST:
    case KC_EX_WORK_ITEM: break;
    case KC_EX_BINARY:
        if (e->u.op == KC_OP_DIV || e->u.op == KC_OP_REM)
            return limit + 1;
        break;
    default: return limit + 1;
    }
    for (uint32_t i = 0; i < e->arg_count && size <= limit; i++)
        size += stable_size(e->args[i], limit);
    return size;
}

kc_expr* kc_build_stable_value(kc_builder* b, kc_expr* value)
{
    enum { LIMIT = 12 };
    return value && stable_size(value, LIMIT) > LIMIT ? kc_build_hoist(b, value, "t") : value;
}

kc_expr* kc_build_stable_place(kc_builder* b, kc_expr* place)
{
    if (!place)
        return NULL;
    switch (place->kind) {
    case KC_EX_INDEX:
        place->args[0] = kc_build_stable_place(b, place->args[0]);
        place->args[1] = kc_build_stable_value(b, place->args[1]);
        return place->args[0] && place->args[1] ? place : NULL;
    case KC_EX_FIELD:
    case KC_EX_LANES:
        place->args[0] = kc_build_stable_place(b, place->args[0]);
        return place->args[0] ? place : NULL;
    case KC_EX_DEREF: {
        kc_expr* pointer = place->args[0];
        if (pointer->kind != KC_EX_OFFSET) {
            place->args[0] = kc_build_stable_value(b, pointer);
            return place->args[0] ? place : NULL;
        }
        /* the index rather than the pointer: what it points into stays in sight */
        pointer->args[0] = kc_build_stable_value(b, pointer->args[0]);
        pointer->args[1] = kc_build_stable_value(b, pointer->args[1]);
        return pointer->args[0] && pointer->args[1] ? place : NULL;
    }
    default: return place;
    }
}

kc_expr* kc_build_coerce(kc_builder* b, kc_expr* e, const kc_type* type, kc_loc loc)
{
    if (!e || !type || e->type == type)
        return type ? e : NULL;
    if (e->type->kind == KC_TYPE_POINTER && type->kind == KC_TYPE_POINTER) {
        if (e->type->space != type->space)
            return kc_build_error(b, loc, KC_DIAG_EXPRESSION,
                                  "a pointer to %s memory can't become one to %s memory",
                                  kc_space_name(e->type->space), kc_space_name(type->space));
        if (e->kind == KC_EX_ZERO)
            return located(kc_ex_zero(b->m, type), loc);
        return located(kc_ex_convert(b->m, type, e, KC_ROUND_DEFAULT, false), loc);
    }
    return kc_build_error(b, loc, KC_DIAG_EXPRESSION,
                          "a value of type '%s' stands where '%s' is expected",
                          kc_type_name(b->m, e->type), kc_type_name(b->m, type));
}

/* `1` and `0.1` where a float is wanted: what the conversion would give at run time. */
static kc_expr* float_constant(kc_builder* b, const kc_expr* e, const kc_type* type)
{
    if (e->type->kind == KC_TYPE_INT) {
        const int64_t limit = INT64_C(1) << (type->width == 16 ? 11 : type->width == 32 ? 24 : 53);
        const int64_t value = (int64_t)e->u.bits;
        return value >= -limit && value <= limit ? kc_ex_const_float(b->m, type, (double)value)
                                                 : NULL;
    }
    if (e->type->kind == KC_TYPE_FLOAT && e->type->width == 64) {
        double value;
        memcpy(&value, &e->u.bits, sizeof value);
        return value == value ? kc_ex_const_float(b->m, type, value) : NULL;
    }
    return NULL;
}

kc_expr* kc_build_convert(kc_builder* b, kc_expr* e, const kc_type* type)
{
    if (!e || !type || e->type == type)
        return type ? e : NULL;
    const bool is_int = (type->kind == KC_TYPE_INT || type->kind == KC_TYPE_BOOL) &&
                        (e->type->kind == KC_TYPE_INT || e->type->kind == KC_TYPE_BOOL);
    if (e->kind == KC_EX_CONST && is_int) {
        kc_expr* constant = kc_ex_const_int(b->m, type, e->u.bits);
        constant->loc = e->loc;
        return constant;
    }
    if (e->kind == KC_EX_CONST && type->kind == KC_TYPE_FLOAT) {
        kc_expr* constant = float_constant(b, e, type);
        if (constant)
            return located(constant, e->loc);
    }
    return located(kc_ex_convert(b->m, type, e, KC_ROUND_DEFAULT, false), e->loc);
}

kc_expr* kc_build_to_bool(kc_builder* b, kc_expr* e)
{
    if (!e || e->type->kind == KC_TYPE_BOOL)
        return e;
    if (e->kind == KC_EX_CONVERT && e->type->kind == KC_TYPE_INT &&
        e->args[0]->type->kind == KC_TYPE_BOOL)
        return e->args[0];
    if (e->type->kind == KC_TYPE_POINTER)
        return located(kc_ex_binary(b->m, KC_OP_NE, e, kc_ex_zero(b->m, e->type)), e->loc);
    if (!kc_is_scalar(e->type))
        return kc_build_error(b, e->loc, KC_DIAG_EXPRESSION, "a condition of type '%s'",
                              kc_type_name(b->m, e->type));
    return kc_build_convert(b, e, kc_type_bool(b->m));
}

kc_expr* kc_build_from_bool(kc_builder* b, kc_expr* e)
{
    return e && e->type->kind == KC_TYPE_BOOL ? kc_build_convert(b, e, kc_build_int(b)) : e;
}

/* ---- vector components ----------------------------------------------------------------------- */

uint32_t kc_parse_accessor(const char* name, uint32_t vector_count, uint8_t lanes[KC_MAX_LANES])
{
    const uint32_t whole = vector_count == 3 ? 4 : vector_count;
    const uint32_t half = whole / 2;
    const bool is_lo = strcmp(name, "lo") == 0, is_hi = strcmp(name, "hi") == 0;
    const bool is_even = strcmp(name, "even") == 0, is_odd = strcmp(name, "odd") == 0;
    if (is_lo || is_hi || is_even || is_odd) {
        for (uint32_t i = 0; i < half; i++)
            lanes[i] = (uint8_t)(is_lo ? i : is_hi ? half + i : is_even ? 2 * i : 2 * i + 1);
        return half;
    }
    const size_t size = strlen(name);
    uint32_t count = 0;
    if ((name[0] == 's' || name[0] == 'S') && size > 1) {
        for (const char* c = name + 1; *c; c++) {
            if (!isxdigit((unsigned char)*c) || count == KC_MAX_LANES)
                return 0;
            lanes[count++] =
                (uint8_t)(isdigit((unsigned char)*c) ? *c - '0'
                                                     : tolower((unsigned char)*c) - 'a' + 10);
        }
    } else {
        for (const char* c = name; *c; c++) {
            const char* at = strchr("xyzw", *c);
            const char* color = strchr("rgba", *c);
            if ((!at && !color) || count == KC_MAX_LANES)
                return 0;
            lanes[count++] = (uint8_t)(at ? at - "xyzw" : color - "rgba");
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (lanes[i] >= vector_count)
            return 0;
    return count;
}

static kc_source_text* source_text(kc_builder* b, const char* path)
{
    for (kc_source_text* s = b->sources; s; s = s->next)
        if (strcmp(s->path, path) == 0)
            return s;
    kc_source_text* s = KC_NEW(b->arena, kc_source_text);
    s->path = path;
    s->next = b->sources;
    b->sources = s;
    FILE* f = fopen(path, "rb");
    size_t capacity = 0;
    while (f) {
        if (s->size == capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char* data = realloc(s->data, capacity);
            if (!data)
                break;
            s->data = data;
        }
        const size_t n = fread(s->data + s->size, 1, capacity - s->size, f);
        if (n == 0)
            break;
        s->size += n;
    }
    if (f)
        fclose(f);
    return s;
}

/* The names of all components in the order of the tree, out of clang's other dump. */
static void read_element_names(kc_builder* b)
{
    if (b->element_names || b->element_names_failed)
        return;
    b->element_names_failed = true;
    char* text = NULL;
    size_t size = 0;
    if (!kc_clang_run(b->arena, b->diags, b->options, KC_DUMP_TEXT, NULL, &text, &size))
        return;
    const char** names = KC_NEW_ARRAY(b->arena, const char*, b->element_count);
    uint32_t count = 0;
    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        const size_t n = end ? (size_t)(end - line) : strlen(line);
        const size_t indent = strspn(line, "|`- ");
        static const char node[] = "ExtVectorElementExpr 0x", label[] = " vectorcomponent ";
        if (indent >= n || strncmp(line + indent, node, sizeof node - 1) != 0)
            continue;
        size_t start = n;
        while (start > indent && line[start - 1] != ' ')
            start--;
        const bool has_label =
            start >= sizeof label - 1 &&
            memcmp(line + start - (sizeof label - 1), label, sizeof label - 1) == 0;
        if (has_label && count < b->element_count)
            names[count] = kc_strndup(b->arena, line + start, n - start);
        count++;
    }
    free(text);
    if (count == b->element_count) {
        b->element_names = names;
        b->element_names_failed = false;
    }
}

/* The lanes of a component expression. clang's JSON lacks their name, so it is read where it stands
 * in the source, or, when a macro has pasted it together, out of clang's other dump. */
static uint32_t element_lanes(kc_builder* b, const kc_node* n, uint32_t vector_count,
                              uint8_t lanes[KC_MAX_LANES])
{
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type)
        return 0;
    const uint32_t wanted = kc_lane_count(type);
    if (n->end_file && n->end_length && n->end_length <= KC_MAX_LANES + 1) {
        const kc_source_text* s = source_text(b, n->end_file);
        if (s->data && n->end_offset <= s->size && n->end_length <= s->size - n->end_offset) {
            char name[KC_MAX_LANES + 2];
            memcpy(name, s->data + n->end_offset, n->end_length);
            name[n->end_length] = 0;
            if (kc_parse_accessor(name, vector_count, lanes) == wanted)
                return wanted;
        }
    }
    read_element_names(b);
    if (b->element_names && n->ordinal < b->element_count && b->element_names[n->ordinal] &&
        kc_parse_accessor(b->element_names[n->ordinal], vector_count, lanes) == wanted)
        return wanted;
    kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                   "the name of this vector component could not be read");
    return 0;
}

typedef struct kc_elements {
    kc_expr* place; /* of the vector, or NULL */
    kc_expr* value; /* the vector, where it has no place */
    uint32_t count;
    uint8_t lanes[KC_MAX_LANES];
    bool has_repeats;
    bool has_missing; /* lane 3 of three: the other half of v.hi */
} kc_elements;

static bool read_elements(kc_builder* b, const kc_node* n, kc_elements* e)
{
    *e = (kc_elements){0};
    const kc_node* base = kc_node_child(n, 0);
    if (!base) {
        kc_build_malformed(b, n);
        return false;
    }
    if (base->is_lvalue && kc_strip(base)->kind == KC_NODE_ExtVectorElementExpr) {
        /* of v.xx.y there is no place, but a value */
        kc_elements inner;
        if (!read_elements(b, kc_strip(base), &inner))
            return false;
        uint8_t lanes[KC_MAX_LANES];
        e->count = element_lanes(b, n, inner.count, lanes);
        for (uint32_t i = 0; i < e->count; i++)
            e->lanes[i] = lanes[i] < inner.count ? inner.lanes[lanes[i]] : UINT8_MAX;
        e->place = inner.place;
        e->value = inner.value;
    } else {
        const bool is_literal = kc_strip(base)->kind == KC_NODE_CompoundLiteralExpr;
        if (base->is_lvalue && !is_literal) {
            e->place = kc_build_place(b, base);
        } else {
            e->value = kc_build_value(b, base);
            if (e->value && e->value->type->kind == KC_TYPE_POINTER) {
                e->place = kc_build_deref(b, e->value, n->loc);
                e->value = NULL;
            }
        }
        const kc_expr* vector = e->place ? e->place : e->value;
        if (!vector)
            return false;
        if (vector->type->kind != KC_TYPE_VECTOR) {
            kc_build_malformed(b, n);
            return false;
        }
        e->count = element_lanes(b, n, (uint32_t)vector->type->count, e->lanes);
    }
    const kc_expr* vector = e->place ? e->place : e->value;
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->lanes[i] >= vector->type->count) {
            e->has_missing = e->has_repeats = true;
            e->lanes[i] =
                (uint8_t)(vector->type->count - 1); /* its value is undefined: any will do */
        }
        for (uint32_t j = 0; j < i; j++)
            e->has_repeats |= e->lanes[j] == e->lanes[i];
    }
    return e->count > 0;
}

static bool is_identity(const kc_elements* e, const kc_type* vector)
{
    if (e->count != vector->count)
        return false;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->lanes[i] != i)
            return false;
    return true;
}

static kc_expr* element_place(kc_builder* b, const kc_node* n)
{
    kc_elements e;
    if (!read_elements(b, n, &e))
        return NULL;
    if (e.has_repeats || !e.place)
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                              e.has_missing
                                  ? "the upper half of a vector of three can't be assigned"
                                  : "these vector components can't be assigned");
    return is_identity(&e, e.place->type) ? e.place : kc_ex_lanes(b->m, e.place, e.count, e.lanes);
}

static kc_expr* element_value(kc_builder* b, const kc_node* n)
{
    kc_elements e;
    if (!read_elements(b, n, &e))
        return NULL;
    if (e.place && !e.has_repeats)
        return kc_ex_load(b->m, is_identity(&e, e.place->type)
                                    ? e.place
                                    : kc_ex_lanes(b->m, e.place, e.count, e.lanes));
    kc_expr* vector = e.value ? e.value : kc_ex_load(b->m, e.place);
    fill_locations(vector, n->loc);
    return is_identity(&e, vector->type) ? vector : kc_ex_swizzle(b->m, vector, e.count, e.lanes);
}

/* ---- places ---------------------------------------------------------------------------------- */

static kc_expr* reference_place(kc_builder* b, const kc_node* n)
{
    const kc_entity* e = kc_build_find(b, n->ref_id);
    if (!e || e->kind != KC_ENTITY_VAR) {
        if (n->ref_kind && strcmp(n->ref_kind, "FunctionDecl") == 0)
            return kc_build_error(b, n->loc, KC_DIAG_FUNCTION_POINTER,
                                  "a function can only be called");
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "'%s' is not known here",
                              n->ref_name ? n->ref_name : "?");
    }
    return e->var ? kc_ex_var(b->m, e->var) : NULL; /* NULL: its declaration was refused */
}

static kc_expr* subscript_place(kc_builder* b, const kc_node* n)
{
    const kc_node* base = kc_node_child(n, 0);
    const kc_node* index = kc_node_child(n, 1);
    if (!base || !index)
        return kc_build_malformed(b, n);
    const kc_type* base_type = kc_build_plain_type(b, &base->type, base->loc);
    if (!base_type)
        return NULL;
    if (base_type->kind == KC_TYPE_INT) { /* 2[p] */
        const kc_node* swapped = base;
        base = index;
        index = swapped;
    }
    const kc_node* inner = kc_strip(base);
    kc_expr* object = NULL; /* an array or vector */
    kc_expr* pointer = NULL;
    if (inner->kind == KC_NODE_ImplicitCastExpr && inner->cast_kind &&
        strcmp(inner->cast_kind, "ArrayToPointerDecay") == 0 && inner->child_count == 1) {
        const kc_node* array = inner->children[0];
        object = array->is_lvalue ? kc_build_place(b, array)
                                  : kc_build_as_place(b, kc_build_value(b, array));
    } else if (base->is_lvalue) {
        object = kc_build_place(b, base);
    } else {
        pointer = kc_build_value(b, base);
        if (pointer && pointer->type->kind == KC_TYPE_VECTOR) {
            object = kc_build_as_place(b, pointer);
            pointer = NULL;
        }
    }
    if (!object && !pointer)
        return NULL;
    kc_expr* at = kc_build_value(b, index);
    if (!at)
        return NULL;
    at = kc_build_from_bool(b, at);
    if (at->type->kind != KC_TYPE_INT)
        return kc_build_malformed(b, n);
    if (object) {
        if (object->type->kind != KC_TYPE_ARRAY && object->type->kind != KC_TYPE_VECTOR)
            return kc_build_malformed(b, n);
        if (object->kind == KC_EX_LANES) /* v.zw[i]: lanes of lanes are not numbered in memory */
            return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                                  "vector components can't be subscripted");
        return kc_ex_index(b->m, object, at);
    }
    const bool is_zero = at->kind == KC_EX_CONST && at->u.bits == 0;
    return kc_build_deref(b, is_zero ? pointer : kc_ex_offset(b->m, pointer, at), n->loc);
}

static kc_expr* member_place(kc_builder* b, const kc_node* n)
{
    const kc_node* base = kc_node_child(n, 0);
    if (!base)
        return kc_build_malformed(b, n);
    kc_expr* object;
    if (n->is_arrow)
        object = kc_build_deref(b, kc_build_value(b, base), n->loc);
    else if (base->is_lvalue)
        object = kc_build_place(b, base);
    else
        object = kc_build_as_place(b, kc_build_value(b, base));
    if (!object)
        return NULL;
    const kc_entity* field = kc_build_find(b, n->member_id);
    if (!field || field->kind != KC_ENTITY_FIELD || object->type->kind != KC_TYPE_STRUCT ||
        field->field >= object->type->record->field_count)
        return kc_build_malformed(b, n);
    return kc_ex_field(b->m, object, field->field);
}

/* An object without a name that lives as long as the scope around it. */
static kc_expr* literal_place(kc_builder* b, const kc_node* n)
{
    const kc_node* init = kc_node_child(n, 0);
    const kc_qualified type = kc_build_type(b, &n->type, n->loc);
    if (!init || !type.type)
        return type.type ? kc_build_malformed(b, n) : NULL;
    kc_expr* value = kc_build_init(b, init, type.type);
    if (!value)
        return NULL;
    if (!b->block)
        return kc_build_hoist(b, value, "literal"); /* reports */
    if (b->scope_block == b->block || !b->scope_block)
        return kc_build_as_place(b, value);
    kc_var* var = kc_build_temp(b, type.type, "literal", n->loc);
    kc_st_declare(b->m, b->scope_block, var, NULL, n->loc);
    kc_st_assign(b->m, b->block, located(kc_ex_var(b->m, var), n->loc), value, n->loc);
    return kc_ex_var(b->m, var);
}

static const kc_node* selected(const kc_node* n)
{
    for (uint32_t i = 0; i < n->child_count; i++)
        if (n->children[i]->is_selected && n->children[i]->child_count)
            return n->children[i]->children[n->children[i]->child_count - 1];
    return NULL;
}

static kc_expr* place_of(kc_builder* b, const kc_node* n)
{
    switch (n->kind) {
    case KC_NODE_ParenExpr:
    case KC_NODE_ConstantExpr:
        return n->child_count == 1 ? kc_build_place(b, n->children[0]) : kc_build_malformed(b, n);
    case KC_NODE_DeclRefExpr: return reference_place(b, n);
    case KC_NODE_ArraySubscriptExpr: return subscript_place(b, n);
    case KC_NODE_MemberExpr: return member_place(b, n);
    case KC_NODE_ExtVectorElementExpr: return element_place(b, n);
    case KC_NODE_CompoundLiteralExpr: return literal_place(b, n);
    case KC_NODE_StringLiteral: {
        kc_var* var = kc_build_string(b, n);
        return var ? kc_ex_var(b->m, var) : NULL;
    }
    case KC_NODE_PredefinedExpr:
        return n->child_count == 1 ? kc_build_place(b, n->children[0]) : kc_build_malformed(b, n);
    case KC_NODE_GenericSelectionExpr: {
        const kc_node* choice = selected(n);
        return choice ? kc_build_place(b, choice) : kc_build_malformed(b, n);
    }
    case KC_NODE_UnaryOperator:
        if (!n->opcode || n->child_count != 1)
            return kc_build_malformed(b, n);
        if (strcmp(n->opcode, "*") == 0)
            return kc_build_deref(b, kc_build_value(b, n->children[0]), n->loc);
        if (strcmp(n->opcode, "__extension__") == 0)
            return kc_build_place(b, n->children[0]);
        break;
    case KC_NODE_ImplicitCastExpr:
    case KC_NODE_CStyleCastExpr:
        if (n->cast_kind && strcmp(n->cast_kind, "NoOp") == 0 && n->child_count == 1 &&
            n->children[0]->is_lvalue)
            return kc_build_place(b, n->children[0]);
        break;
    default: break;
    }
    return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                          "this form of expression is not supported (%s)", n->kind_name);
}

kc_expr* kc_build_place(kc_builder* b, const kc_node* n)
{
    return located(place_of(b, n), n->loc);
}

/* ---- values ---------------------------------------------------------------------------------- */

static kc_expr* integer_literal(kc_builder* b, const kc_node* n)
{
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type || !n->value || (type->kind != KC_TYPE_INT && type->kind != KC_TYPE_BOOL))
        return type ? kc_build_malformed(b, n) : NULL;
    if (n->kind == KC_NODE_CXXBoolLiteralExpr)
        return kc_ex_const_int(b->m, type, strcmp(n->value, "true") == 0);
    const uint64_t bits =
        *n->value == '-' ? (uint64_t)strtoll(n->value, NULL, 10) : strtoull(n->value, NULL, 10);
    return kc_ex_const_int(b->m, type, bits);
}

static kc_expr* floating_literal(kc_builder* b, const kc_node* n)
{
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type || !n->value || type->kind != KC_TYPE_FLOAT)
        return type ? kc_build_malformed(b, n) : NULL;
    /* clang prints enough digits to get the same float back, which by way of a double need not be
     * so */
    return kc_ex_const_float(
        b->m, type, type->width == 32 ? (double)strtof(n->value, NULL) : strtod(n->value, NULL));
}

/* Evaluates nothing: builds the operand aside, for its type. */
static kc_qualified operand_type(kc_builder* b, const kc_node* n)
{
    if (n->arg_type.text)
        return kc_build_type(b, &n->arg_type, n->loc);
    const kc_node* operand = kc_node_child(n, 0);
    if (!operand) {
        kc_build_malformed(b, n);
        return (kc_qualified){0};
    }
    kc_block aside = {0};
    kc_block* const saved = b->block;
    kc_block* const saved_scope = b->scope_block;
    const uint64_t private_size = b->private_size;
    b->block = b->scope_block = &aside;
    kc_expr* e = operand->is_lvalue ? kc_build_place(b, operand) : kc_build_value(b, operand);
    b->block = saved;
    b->scope_block = saved_scope;
    b->private_size = private_size;
    if (!e)
        return (kc_qualified){0};
    return (kc_qualified){.type = e->type, .align = e->kind == KC_EX_VAR ? e->u.var->align : 0};
}

static kc_expr* type_trait(kc_builder* b, const kc_node* n)
{
    const kc_qualified q = operand_type(b, n);
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!q.type || !type)
        return NULL;
    if (!n->name || type->kind != KC_TYPE_INT)
        return kc_build_malformed(b, n);
    if (strcmp(n->name, "sizeof") == 0)
        return kc_ex_const_int(b->m, type, q.type->kind == KC_TYPE_VOID ? 1 : q.type->size);
    if (strcmp(n->name, "vec_step") == 0) {
        const uint32_t count = kc_lane_count(q.type);
        return kc_ex_const_int(b->m, type, count == 3 ? 4 : count);
    }
    if (strstr(n->name, "lignof"))
        return kc_ex_const_int(b->m, type, q.align ? q.align : q.type->align);
    return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "'%s' is not supported", n->name);
}

/* as_T: the operand may be anything of the same size. */
static kc_expr* as_type(kc_builder* b, const kc_node* n)
{
    const kc_node* operand = kc_node_child(n, 0);
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!operand || !type)
        return type ? kc_build_malformed(b, n) : NULL;
    kc_expr* value = kc_build_value(b, operand);
    if (!value || value->type == type)
        return value;
    if (value->type->size != type->size || value->type->kind == KC_TYPE_BOOL ||
        type->kind == KC_TYPE_BOOL)
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "as_type from '%s' to '%s'",
                              kc_type_name(b->m, value->type), kc_type_name(b->m, type));
    return kc_ex_bitcast(b->m, type, value);
}

static kc_expr* convert_vector(kc_builder* b, const kc_node* n)
{
    const kc_node* operand = kc_node_child(n, 0);
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!operand || !type)
        return type ? kc_build_malformed(b, n) : NULL;
    kc_expr* value = kc_build_value(b, operand);
    if (value && kc_lane_count(value->type) != kc_lane_count(type))
        return kc_build_malformed(b, n);
    return kc_build_convert(b, value, type);
}

/* __builtin_shufflevector(a, b, lanes...) */
static kc_expr* shuffle_vector(kc_builder* b, const kc_node* n)
{
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type)
        return NULL;
    if (n->child_count < 3 || type->kind != KC_TYPE_VECTOR || n->child_count - 2 != type->count)
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "this shuffle is not supported");
    kc_expr* vectors[2];
    for (int i = 0; i < 2; i++) {
        vectors[i] = kc_build_stable_value(b, kc_build_value(b, n->children[i]));
        if (!vectors[i])
            return NULL;
    }
    if (vectors[0]->type->kind != KC_TYPE_VECTOR || vectors[1]->type != vectors[0]->type)
        return kc_build_malformed(b, n);
    kc_expr* args[KC_MAX_LANES];
    for (uint32_t i = 0; i < type->count; i++) {
        kc_expr* lane = kc_build_value(b, n->children[i + 2]);
        if (!lane)
            return NULL;
        if (lane->kind == KC_EX_UNARY && lane->u.op == KC_OP_NEG) /* -1: any value will do */
            lane = kc_ex_const_int(b->m, kc_build_int(b), 0);
        if (lane->kind == KC_EX_CONST && (int64_t)lane->u.bits < 0)
            lane = kc_ex_const_int(b->m, kc_build_int(b), 0);
        const uint64_t count = vectors[0]->type->count;
        if (lane->kind != KC_EX_CONST || lane->u.bits >= 2 * count)
            return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                                  "the lanes of a shuffle must be constants");
        const uint8_t at = (uint8_t)(lane->u.bits % count);
        args[i] = kc_ex_swizzle(b->m, kc_ex_clone(b->m, vectors[lane->u.bits >= count]), 1, &at);
    }
    return kc_ex_list(b->m, KC_EX_COMPOSE, type, (uint32_t)type->count, args);
}

static bool is_statement(const kc_node* n)
{
    const size_t size = strlen(n->kind_name);
    return size > 4 && strcmp(n->kind_name + size - 4, "Stmt") == 0;
}

/* ({ ... }): the value is that of the last statement, when this is an expression. */
static kc_expr* statement_value(kc_builder* b, const kc_node* n, bool is_used)
{
    const kc_node* body = kc_node_child(n, 0);
    if (!body || body->kind != KC_NODE_CompoundStmt || !b->block)
        return kc_build_malformed(b, n);
    kc_entity* mark = kc_build_scope_mark(b);
    kc_expr* value = kc_build_nothing(b);
    for (uint32_t i = 0; i < body->child_count; i++) {
        const kc_node* s = body->children[i];
        if (i + 1 < body->child_count || is_statement(s) || !is_used)
            kc_build_stmt(b, s);
        else
            value = kc_build_value(b, s);
    }
    kc_build_scope_leave(b, mark);
    if (value && is_used && value->kind != KC_EX_CONST && value->type->kind != KC_TYPE_VOID)
        value = kc_build_hoist(b, value, "t");
    return value;
}

static kc_expr* value_of(kc_builder* b, const kc_node* n)
{
    switch (n->kind) {
    case KC_NODE_ParenExpr:
        return n->child_count == 1 ? kc_build_value(b, n->children[0]) : kc_build_malformed(b, n);
    case KC_NODE_ConstantExpr: {
        const kc_type* type = n->value ? kc_build_plain_type(b, &n->type, n->loc) : NULL;
        if (type && type->kind == KC_TYPE_INT)
            return integer_literal(b, n);
        return n->child_count == 1 ? kc_build_value(b, n->children[0]) : kc_build_malformed(b, n);
    }
    case KC_NODE_IntegerLiteral:
    case KC_NODE_CharacterLiteral:
    case KC_NODE_CXXBoolLiteralExpr: return integer_literal(b, n);
    case KC_NODE_FloatingLiteral: return floating_literal(b, n);
    case KC_NODE_ImplicitCastExpr:
    case KC_NODE_CStyleCastExpr: return kc_build_cast(b, n);
    case KC_NODE_UnaryOperator: return kc_build_unary(b, n, true);
    case KC_NODE_BinaryOperator:
    case KC_NODE_CompoundAssignOperator: return kc_build_binary(b, n, true);
    case KC_NODE_ConditionalOperator:
    case KC_NODE_BinaryConditionalOperator: return kc_build_conditional(b, n, true);
    case KC_NODE_OpaqueValueExpr:
        return b->opaque ? kc_ex_clone(b->m, b->opaque) : kc_build_malformed(b, n);
    case KC_NODE_CallExpr: return kc_build_call(b, n, true);
    case KC_NODE_InitListExpr:
    case KC_NODE_ImplicitValueInitExpr: {
        const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
        return type ? kc_build_init(b, n, type) : NULL;
    }
    case KC_NODE_UnaryExprOrTypeTraitExpr: return type_trait(b, n);
    case KC_NODE_AsTypeExpr: return as_type(b, n);
    case KC_NODE_ConvertVectorExpr: return convert_vector(b, n);
    case KC_NODE_ShuffleVectorExpr: return shuffle_vector(b, n);
    case KC_NODE_StmtExpr: return statement_value(b, n, true);
    case KC_NODE_ExtVectorElementExpr: return element_value(b, n);
    case KC_NODE_GenericSelectionExpr: {
        const kc_node* choice = selected(n);
        return choice ? kc_build_value(b, choice) : kc_build_malformed(b, n);
    }
    case KC_NODE_CompoundLiteralExpr: {
        const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
        const kc_node* init = kc_node_child(n, 0);
        return type && init ? kc_build_init(b, init, type) : NULL;
    }
    case KC_NODE_DeclRefExpr: {
        const kc_entity* e = kc_build_find(b, n->ref_id);
        const kc_type* type = e && e->kind == KC_ENTITY_ENUM_CONSTANT
                                  ? kc_build_plain_type(b, &n->type, n->loc)
                                  : NULL;
        if (type && type->kind == KC_TYPE_INT)
            return kc_ex_const_int(b->m, type, e->value);
        break;
    }
    case KC_NODE_OffsetOfExpr:
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                              "__builtin_offsetof is not supported; write offsetof");
    default: break;
    }
    if (n->is_lvalue || n->kind == KC_NODE_MemberExpr || n->kind == KC_NODE_ArraySubscriptExpr) {
        kc_expr* place = kc_build_place(b, n);
        return place ? kc_ex_load(b->m, place) : NULL;
    }
    return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                          "this form of expression is not supported (%s)",
                          *n->kind_name ? n->kind_name : "empty");
}

kc_expr* kc_build_value(kc_builder* b, const kc_node* n)
{
    return located(value_of(b, n), n->loc);
}

kc_expr* kc_build_condition(kc_builder* b, const kc_node* n)
{
    return kc_build_to_bool(b, kc_build_value(b, n));
}

bool kc_build_effect(kc_builder* b, const kc_node* n)
{
    switch (n->kind) {
    case KC_NODE_ParenExpr:
    case KC_NODE_ImplicitCastExpr:
    case KC_NODE_CStyleCastExpr:
        if (n->child_count == 1)
            return kc_build_effect(b, n->children[0]);
        break;
    case KC_NODE_UnaryOperator: return kc_build_unary(b, n, false) != NULL;
    case KC_NODE_BinaryOperator:
    case KC_NODE_CompoundAssignOperator: return kc_build_binary(b, n, false) != NULL;
    case KC_NODE_ConditionalOperator:
    case KC_NODE_BinaryConditionalOperator: return kc_build_conditional(b, n, false) != NULL;
    case KC_NODE_CallExpr: return kc_build_call(b, n, false) != NULL;
    case KC_NODE_StmtExpr: return statement_value(b, n, false) != NULL;
    case KC_NODE_DeclRefExpr: return true;
    default: break;
    }
    return (n->is_lvalue ? kc_build_place(b, n) : kc_build_value(b, n)) != NULL;
}
