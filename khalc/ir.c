#include "ir.h"

#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

kc_module* kc_module_create(kc_arena* arena, kc_diags* diags, const char* name)
{
    kc_module* m = KC_NEW(arena, kc_module);
    m->arena = arena;
    m->diags = diags;
    m->name = kc_strdup(arena, name);
    m->size_t_bits = 64;
    m->next_var_id = 1;
    return m;
}

static size_t hash_type(const kc_type* t)
{
    uint64_t h = (uint64_t)t->kind * 31 + t->width;
    h = h * 31 +
        (uint64_t)(t->is_signed | t->is_const << 1 | t->is_volatile << 2 | t->is_restrict << 3);
    h = h * 31 + (uint64_t)t->space;
    h = h * 31 + t->count;
    h = h * 31 + (uint64_t)((uintptr_t)t->element >> 4);
    h = h * 31 + (uint64_t)((uintptr_t)t->record >> 4);
    h ^= h >> 29;
    return (size_t)(h % 256);
}

static bool same_type(const kc_type* a, const kc_type* b)
{
    return a->kind == b->kind && a->width == b->width && a->is_signed == b->is_signed &&
           a->is_const == b->is_const && a->is_volatile == b->is_volatile &&
           a->is_restrict == b->is_restrict && a->space == b->space && a->element == b->element &&
           a->count == b->count && a->record == b->record;
}

static kc_type* intern(kc_module* m, const kc_type* wanted)
{
    const size_t slot = hash_type(wanted);
    for (const kc_type* t = m->type_table[slot]; t; t = t->next)
        if (same_type(t, wanted))
            return (kc_type*)(uintptr_t)t; /* the module's own memory */
    kc_type* t = KC_NEW(m->arena, kc_type);
    *t = *wanted;
    t->next = m->type_table[slot];
    m->type_table[slot] = t;
    return t;
}

bool kc_type_is_interned(const kc_module* m, const kc_type* t)
{
    const kc_type* known = m->type_table[hash_type(t)];
    while (known && known != t)
        known = known->next;
    return known != NULL;
}

const kc_type* kc_type_void(kc_module* m)
{
    return intern(m, &(kc_type){.kind = KC_TYPE_VOID, .align = 1});
}

const kc_type* kc_type_bool(kc_module* m)
{
    return intern(m, &(kc_type){.kind = KC_TYPE_BOOL, .size = 1, .align = 1});
}

const kc_type* kc_type_int(kc_module* m, uint32_t width, bool is_signed)
{
    return intern(m, &(kc_type){.kind = KC_TYPE_INT,
                                .width = (uint8_t)width,
                                .is_signed = is_signed,
                                .size = width / 8,
                                .align = width / 8});
}

const kc_type* kc_type_float(kc_module* m, uint32_t width)
{
    return intern(m, &(kc_type){.kind = KC_TYPE_FLOAT,
                                .width = (uint8_t)width,
                                .is_signed = true,
                                .size = width / 8,
                                .align = width / 8});
}

const kc_type* kc_type_vector(kc_module* m, const kc_type* element, uint32_t count)
{
    const uint64_t size = element->size * (count == 3 ? 4 : count);
    return intern(m, &(kc_type){.kind = KC_TYPE_VECTOR,
                                .element = element,
                                .count = count,
                                .size = size,
                                .align = size});
}

const kc_type* kc_type_array(kc_module* m, const kc_type* element, uint64_t count)
{
    const uint64_t size =
        element->size && count > UINT64_MAX / element->size ? UINT64_MAX : element->size * count;
    return intern(m, &(kc_type){.kind = KC_TYPE_ARRAY,
                                .element = element,
                                .count = count,
                                .size = size,
                                .align = element->align});
}

const kc_type* kc_type_struct(kc_module* m, const kc_record* record)
{
    kc_type* t = intern(m, &(kc_type){.kind = KC_TYPE_STRUCT, .record = record});
    t->size = record->size; /* again each time: a pointer to it may have asked before its fields
                               were known */
    t->align = record->align;
    return t;
}

const kc_type* kc_type_pointer(kc_module* m, const kc_type* element, kc_space space, bool is_const,
                               bool is_volatile, bool is_restrict)
{
    const uint64_t size = m->size_t_bits / 8;
    return intern(m, &(kc_type){.kind = KC_TYPE_POINTER,
                                .element = element,
                                .space = space,
                                .is_const = is_const,
                                .is_volatile = is_volatile,
                                .is_restrict = is_restrict,
                                .size = size,
                                .align = size});
}

const kc_type* kc_type_size_t(kc_module* m)
{
    return kc_type_int(m, m->size_t_bits, false);
}

const kc_type* kc_type_with_lane(kc_module* m, const kc_type* t, const kc_type* lane)
{
    return kc_is_vector(t) ? kc_type_vector(m, lane, (uint32_t)t->count) : lane;
}

const kc_type* kc_type_compare(kc_module* m, const kc_type* t)
{
    return kc_is_vector(t) ? kc_type_with_lane(m, t, kc_type_int(m, t->element->width, true))
                           : kc_type_bool(m);
}

/* Appends to an array that grows by doubling: it is full when its count is a power of two (or 0).
 */
static void** grow(kc_module* m, void** array, uint32_t count)
{
    if (count & (count - 1))
        return array;
    void** bigger = KC_NEW_ARRAY(m->arena, void*, count ? (size_t)count * 2 : 1);
    if (count)
        memcpy(bigger, array, sizeof(void*) * count);
    return bigger;
}

static bool record_name_taken(const kc_module* m, const char* name)
{
    for (uint32_t i = 0; i < m->record_count; i++)
        if (strcmp(m->records[i]->name, name) == 0)
            return true;
    return false;
}

kc_record* kc_record_create(kc_module* m, const char* name, bool is_union, kc_loc loc)
{
    kc_record* r = KC_NEW(m->arena, kc_record);
    const char* base = name && *name ? name : "anon";
    const char* unique = base == name ? kc_strdup(m->arena, name) : "anon_0";
    for (uint32_t n = 1; record_name_taken(m, unique); n++)
        unique = kc_format(m->arena, "%s_%u", base, n);
    *r = (kc_record){.name = unique, .is_union = is_union, .align = 1, .loc = loc};
    m->records = (kc_record**)grow(m, (void**)m->records, m->record_count);
    m->records[m->record_count++] = r;
    return r;
}

/* ---- functions and variables ----------------------------------------------------------------- */

kc_function* kc_function_create(kc_module* m, const char* name, const kc_type* result,
                                bool is_kernel, kc_loc loc)
{
    kc_function* f = KC_NEW(m->arena, kc_function);
    *f = (kc_function){
        .name = kc_strdup(m->arena, name), .result = result, .is_kernel = is_kernel, .loc = loc};
    if (m->last_function)
        m->last_function->next = f;
    else
        m->functions = f;
    m->last_function = f;
    return f;
}

static kc_var* new_var(kc_module* m, kc_function* f, kc_var_kind kind, const char* name,
                       const kc_type* type, kc_loc loc)
{
    kc_var* v = KC_NEW(m->arena, kc_var);
    *v = (kc_var){.kind = kind,
                  .name = kc_strdup(m->arena, name),
                  .id = m->next_var_id++,
                  .type = type,
                  .loc = loc,
                  .function = f,
                  .uniformity = KC_UNIFORM_VARYING};
    return v;
}

kc_var* kc_param_add(kc_module* m, kc_function* f, const char* name, const kc_type* type,
                     kc_loc loc)
{
    kc_var* v = new_var(m, f, KC_VAR_PARAM, name, type, loc);
    f->params = (kc_var**)grow(m, (void**)f->params, f->param_count);
    f->params[f->param_count++] = v;
    return v;
}

kc_var* kc_local_add(kc_module* m, kc_function* kernel, const char* name, const kc_type* type,
                     kc_loc loc)
{
    kc_var* v = new_var(m, kernel, KC_VAR_LOCAL, name, type, loc);
    kernel->locals = (kc_var**)grow(m, (void**)kernel->locals, kernel->local_count);
    kernel->locals[kernel->local_count++] = v;
    return v;
}

kc_var* kc_push_create(kc_module* m, kc_function* kernel)
{
    const kc_type* words = kc_type_array(m, kc_type_int(m, 32, false), 0);
    return kernel->push = new_var(m, kernel, KC_VAR_BUFFER, "push", words, kernel->loc);
}

kc_var* kc_buffer_add(kc_module* m, kc_function* kernel, kc_var* param, const kc_type* type)
{
    kc_var* v = new_var(m, kernel, KC_VAR_BUFFER, param->name, type, param->loc);
    v->param = param;
    kernel->buffers = (kc_var**)grow(m, (void**)kernel->buffers, kernel->buffer_count);
    kernel->buffers[kernel->buffer_count++] = v;
    return v;
}

kc_var* kc_constant_add(kc_module* m, const char* name, const kc_type* type, kc_expr* init,
                        kc_loc loc)
{
    kc_var* v = new_var(m, NULL, KC_VAR_CONSTANT, name, type, loc);
    v->init = init;
    m->constants = (kc_var**)grow(m, (void**)m->constants, m->constant_count);
    m->constants[m->constant_count++] = v;
    return v;
}

kc_var* kc_var_create(kc_module* m, kc_function* f, const char* name, const kc_type* type,
                      kc_loc loc)
{
    return new_var(m, f, KC_VAR_PRIVATE, name, type, loc);
}

kc_var* kc_temp_create(kc_module* m, kc_function* f, const char* hint, const kc_type* type,
                       kc_loc loc)
{
    kc_var* v = new_var(m, f, KC_VAR_PRIVATE, hint, type, loc);
    v->is_temporary = true;
    return v;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* An expression takes the place in the source of its first operand, until its builder knows better.
 */
static kc_expr* new_expr(kc_module* m, kc_expr_kind kind, const kc_type* type, uint32_t arg_count,
                         kc_expr* a, kc_expr* b, kc_expr* c)
{
    kc_expr* e = KC_NEW(m->arena, kc_expr);
    e->kind = kind;
    e->type = type;
    e->arg_count = arg_count;
    if (arg_count) {
        kc_expr* const given[3] = {a, b, c};
        e->args = KC_NEW_ARRAY(m->arena, kc_expr*, arg_count);
        memcpy(e->args, given, sizeof(kc_expr*) * arg_count);
        e->loc = a->loc;
    }
    return e;
}

kc_expr* kc_ex_var(kc_module* m, kc_var* var)
{
    kc_expr* e = new_expr(m, KC_EX_VAR, var->type, 0, NULL, NULL, NULL);
    e->u.var = var;
    return e;
}

kc_expr* kc_ex_load_var(kc_module* m, kc_var* var)
{
    return kc_ex_load(m, kc_ex_var(m, var));
}

kc_expr* kc_ex_index(kc_module* m, kc_expr* place, kc_expr* index)
{
    return new_expr(m, KC_EX_INDEX, place->type->element, 2, place, index, NULL);
}

kc_expr* kc_ex_field(kc_module* m, kc_expr* place, uint32_t field)
{
    kc_expr* e =
        new_expr(m, KC_EX_FIELD, place->type->record->fields[field].type, 1, place, NULL, NULL);
    e->u.field = field;
    return e;
}

kc_expr* kc_ex_deref(kc_module* m, kc_expr* pointer)
{
    return new_expr(m, KC_EX_DEREF, pointer->type->element, 1, pointer, NULL, NULL);
}

static kc_expr* new_lanes(kc_module* m, kc_expr_kind kind, kc_expr* a, uint32_t count,
                          const uint8_t* lanes)
{
    const kc_type* element = a->type->element;
    kc_expr* e = new_expr(m, kind, count == 1 ? element : kc_type_vector(m, element, count), 1, a,
                          NULL, NULL);
    if (count > KC_MAX_LANES)
        count = KC_MAX_LANES;
    e->u.lanes.count = (uint8_t)count;
    memcpy(e->u.lanes.index, lanes, count);
    return e;
}

kc_expr* kc_ex_lanes(kc_module* m, kc_expr* place, uint32_t count, const uint8_t* lanes)
{
    return new_lanes(m, KC_EX_LANES, place, count, lanes);
}

kc_expr* kc_ex_load(kc_module* m, kc_expr* place)
{
    return new_expr(m, KC_EX_LOAD, place->type, 1, place, NULL, NULL);
}

kc_expr* kc_ex_address(kc_module* m, kc_expr* place, const kc_type* pointer_type)
{
    return new_expr(m, KC_EX_ADDRESS, pointer_type, 1, place, NULL, NULL);
}

kc_expr* kc_ex_offset(kc_module* m, kc_expr* pointer, kc_expr* index)
{
    return new_expr(m, KC_EX_OFFSET, pointer->type, 2, pointer, index, NULL);
}

kc_expr* kc_ex_const_int(kc_module* m, const kc_type* type, uint64_t bits)
{
    kc_expr* e = new_expr(m, KC_EX_CONST, type, 0, NULL, NULL, NULL);
    if (type->kind == KC_TYPE_BOOL)
        bits = bits != 0;
    else if (type->width < 64) {
        const uint64_t mask = (UINT64_C(1) << type->width) - 1;
        const uint64_t top = UINT64_C(1) << (type->width - 1);
        bits &= mask;
        if (type->is_signed && (bits & top))
            bits |= ~mask;
    }
    e->u.bits = bits;
    return e;
}

uint64_t kc_half_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t sign = bits >> 63 << 15;
    const int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 1024) /* infinity, or NaN: quiet, keeping the top of its payload */
        return sign | 0x7C00 | (fraction ? 0x200 | fraction >> 42 : 0);
    if (exponent > 15)
        return sign | 0x7C00;
    if (exponent < -25)
        return sign;
    const uint64_t mantissa = fraction | UINT64_C(1) << 52;
    const int shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
    const uint64_t kept = mantissa >> shift;
    const uint64_t rest = mantissa & ((UINT64_C(1) << shift) - 1);
    const uint64_t tie = UINT64_C(1) << (shift - 1);
    /* a subnormal keeps no hidden bit, and a carry out of the fraction is the next exponent */
    const uint64_t base = exponent < -14 ? kept : kept - 0x400 + ((uint64_t)(exponent + 15) << 10);
    return sign | (base + (rest > tie || (rest == tie && (kept & 1))));
}

kc_expr* kc_ex_const_float(kc_module* m, const kc_type* type, double value)
{
    kc_expr* e = new_expr(m, KC_EX_CONST, type, 0, NULL, NULL, NULL);
    if (type->width == 64) {
        memcpy(&e->u.bits, &value, sizeof value);
    } else if (type->width == 32) {
        const float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        e->u.bits = bits;
    } else {
        e->u.bits = kc_half_bits(value);
    }
    return e;
}

kc_expr* kc_ex_const_bool(kc_module* m, bool value)
{
    return kc_ex_const_int(m, kc_type_bool(m), value);
}

kc_expr* kc_ex_zero(kc_module* m, const kc_type* type)
{
    return new_expr(m, KC_EX_ZERO, type, 0, NULL, NULL, NULL);
}

kc_expr* kc_ex_unary(kc_module* m, kc_op op, kc_expr* a)
{
    kc_expr* e = new_expr(m, KC_EX_UNARY, a->type, 1, a, NULL, NULL);
    e->u.op = op;
    return e;
}

kc_expr* kc_ex_binary(kc_module* m, kc_op op, kc_expr* a, kc_expr* b)
{
    const bool compares = op >= KC_OP_EQ && op <= KC_OP_GE;
    kc_expr* e =
        new_expr(m, KC_EX_BINARY, compares ? kc_type_compare(m, a->type) : a->type, 2, a, b, NULL);
    e->u.op = op;
    return e;
}

kc_expr* kc_ex_select(kc_module* m, kc_expr* cond, kc_expr* a, kc_expr* b)
{
    return new_expr(m, KC_EX_SELECT, a->type, 3, cond, a, b);
}

kc_expr* kc_ex_convert(kc_module* m, const kc_type* to, kc_expr* a, kc_round round, bool saturate)
{
    kc_expr* e = new_expr(m, KC_EX_CONVERT, to, 1, a, NULL, NULL);
    e->u.convert.round = round;
    e->u.convert.saturate = saturate;
    return e;
}

kc_expr* kc_ex_bitcast(kc_module* m, const kc_type* to, kc_expr* a)
{
    return new_expr(m, KC_EX_BITCAST, to, 1, a, NULL, NULL);
}

kc_expr* kc_ex_list(kc_module* m, kc_expr_kind kind, const kc_type* type, uint32_t count,
                    kc_expr** args)
{
    kc_expr* e = new_expr(m, kind, type, 0, NULL, NULL, NULL);
    e->arg_count = count;
    if (count) {
        e->args = KC_NEW_ARRAY(m->arena, kc_expr*, count);
        memcpy(e->args, args, sizeof(kc_expr*) * count);
        e->loc = args[0]->loc;
    }
    return e;
}

kc_expr* kc_ex_splat(kc_module* m, const kc_type* vector, kc_expr* a)
{
    return new_expr(m, KC_EX_SPLAT, vector, 1, a, NULL, NULL);
}

kc_expr* kc_ex_swizzle(kc_module* m, kc_expr* a, uint32_t count, const uint8_t* lanes)
{
    return new_lanes(m, KC_EX_SWIZZLE, a, count, lanes);
}

kc_expr* kc_ex_builtin(kc_module* m, kc_builtin id, const kc_type* type, uint32_t count,
                       kc_expr** args)
{
    kc_expr* e = kc_ex_list(m, KC_EX_BUILTIN, type, count, args);
    e->u.builtin = id;
    return e;
}

kc_expr* kc_ex_work_item(kc_module* m, kc_query query, kc_expr* dimension)
{
    const kc_type* type =
        query == KC_QUERY_WORK_DIM ? kc_type_int(m, 32, false) : kc_type_size_t(m);
    kc_expr* e = new_expr(m, KC_EX_WORK_ITEM, type, dimension ? 1 : 0, dimension, NULL, NULL);
    e->u.query = query;
    return e;
}

kc_expr* kc_ex_local_bytes(kc_module* m, kc_var* param)
{
    kc_expr* e = new_expr(m, KC_EX_LOCAL_BYTES, kc_type_size_t(m), 0, NULL, NULL, NULL);
    e->u.var = param;
    return e;
}

kc_expr* kc_ex_slice_offset(kc_module* m, kc_var* buffer)
{
    kc_expr* e = new_expr(m, KC_EX_SLICE_OFFSET, kc_type_int(m, 32, false), 0, NULL, NULL, NULL);
    e->u.var = buffer;
    return e;
}

kc_expr* kc_ex_clone(kc_module* m, const kc_expr* e)
{
    kc_expr* copy = KC_NEW(m->arena, kc_expr);
    *copy = *e;
    if (e->arg_count) {
        copy->args = KC_NEW_ARRAY(m->arena, kc_expr*, e->arg_count);
        for (uint32_t i = 0; i < e->arg_count; i++)
            copy->args[i] = kc_ex_clone(m, e->args[i]);
    }
    return copy;
}

/* ---- statements ------------------------------------------------------------------------------ */

kc_stmt* kc_stmt_create(kc_module* m, kc_stmt_kind kind, kc_loc loc)
{
    kc_stmt* s = KC_NEW(m->arena, kc_stmt);
    s->kind = kind;
    s->loc = loc;
    s->control = KC_UNIFORM_VARYING;
    return s;
}

void kc_block_append(kc_block* b, kc_stmt* s)
{
    s->prev = b->last;
    s->next = NULL;
    if (b->last)
        b->last->next = s;
    else
        b->first = s;
    b->last = s;
}

void kc_block_insert_before(kc_block* b, kc_stmt* at, kc_stmt* s)
{
    s->prev = at->prev;
    s->next = at;
    if (at->prev)
        at->prev->next = s;
    else
        b->first = s;
    at->prev = s;
}

void kc_block_remove(kc_block* b, kc_stmt* s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        b->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
    else
        b->last = s->prev;
    s->prev = s->next = NULL;
}

void kc_block_move(kc_block* to, kc_block* from)
{
    if (!from->first)
        return;
    from->first->prev = to->last;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    *from = (kc_block){0};
}

kc_stmt* kc_st_declare(kc_module* m, kc_block* b, kc_var* var, kc_expr* value, kc_loc loc)
{
    kc_stmt* s = kc_stmt_create(m, KC_ST_DECLARE, loc);
    s->var = var;
    s->value = value;
    kc_block_append(b, s);
    return s;
}

kc_stmt* kc_st_assign(kc_module* m, kc_block* b, kc_expr* place, kc_expr* value, kc_loc loc)
{
    kc_stmt* s = kc_stmt_create(m, KC_ST_ASSIGN, loc);
    s->place = place;
    s->value = value;
    kc_block_append(b, s);
    return s;
}

/* ---- questions and walks --------------------------------------------------------------------- */

bool kc_is_place(const kc_expr* e)
{
    return e->kind <= KC_EX_LANES;
}

kc_space kc_place_space(const kc_expr* place)
{
    while (place->kind == KC_EX_INDEX || place->kind == KC_EX_FIELD || place->kind == KC_EX_LANES)
        place = place->args[0];
    if (place->kind == KC_EX_DEREF)
        return place->args[0]->type->space;
    if (place->kind != KC_EX_VAR)
        return KC_SPACE_PRIVATE;
    switch (place->u.var->kind) {
    case KC_VAR_LOCAL: return KC_SPACE_LOCAL;
    case KC_VAR_CONSTANT: return KC_SPACE_CONSTANT;
    case KC_VAR_BUFFER: {
        const kc_var* param = place->u.var->param;
        return param ? param->type->space : KC_SPACE_CONSTANT;
    }
    case KC_VAR_PARAM:
    case KC_VAR_PRIVATE: break;
    }
    return KC_SPACE_PRIVATE;
}

kc_var* kc_place_root(const kc_expr* place)
{
    while (place->kind == KC_EX_INDEX || place->kind == KC_EX_FIELD || place->kind == KC_EX_LANES)
        place = place->args[0];
    return place->kind == KC_EX_VAR ? place->u.var : NULL;
}

bool kc_is_terminator(const kc_stmt* s)
{
    return s->kind == KC_ST_BREAK || s->kind == KC_ST_CONTINUE || s->kind == KC_ST_RETURN;
}

static void walk_expr(kc_expr** slot, void (*fn)(kc_expr** slot, void* user), void* user)
{
    fn(slot, user);
    kc_expr* e = *slot;
    for (uint32_t i = 0; i < e->arg_count; i++)
        walk_expr(&e->args[i], fn, user);
}

bool kc_ex_names(const kc_expr* e, const kc_var* v)
{
    if (!e)
        return false;
    bool found = e->kind == KC_EX_VAR && e->u.var == v;
    for (uint32_t i = 0; i < e->arg_count && !found; i++)
        found = kc_ex_names(e->args[i], v);
    return found;
}

void kc_stmt_walk_exprs(kc_stmt* s, void (*fn)(kc_expr** slot, void* user), void* user)
{
    if (s->place)
        walk_expr(&s->place, fn, user);
    if (s->value)
        walk_expr(&s->value, fn, user);
    for (uint32_t i = 0; i < s->arg_count; i++)
        walk_expr(&s->args[i], fn, user);
}

void kc_stmt_walk_blocks(kc_stmt* s, void (*fn)(kc_block* b, void* user), void* user)
{
    switch (s->kind) {
    case KC_ST_IF:
        fn(&s->body, user);
        fn(&s->orelse, user);
        break;
    case KC_ST_LOOP:
        if (!s->test_at_end)
            fn(&s->head, user);
        fn(&s->body, user);
        fn(&s->step, user);
        if (s->test_at_end)
            fn(&s->head, user);
        break;
    case KC_ST_SWITCH:
        for (uint32_t i = 0; i < s->case_count; i++)
            fn(&s->cases[i].body, user);
        break;
    case KC_ST_BLOCK: fn(&s->body, user); break;
    default: break;
    }
}

typedef struct kc_walk {
    void (*fn)(kc_stmt* s, void* user);
    void* user;
} kc_walk;

static void walk_block(kc_block* b, void* walk)
{
    const kc_walk* w = walk;
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next; /* fn may unlink s */
        w->fn(s, w->user);
        kc_stmt_walk_blocks(s, walk_block, walk);
    }
}

void kc_block_walk(kc_block* b, void (*fn)(kc_stmt* s, void* user), void* user)
{
    walk_block(b, &(kc_walk){fn, user});
}

/* ---- names ----------------------------------------------------------------------------------- */

const char* kc_builtin_name(kc_builtin id)
{
    static const char* const names[] = {
#define KC_BUILTIN(id, name, args, klass) name,
#include "builtins.def"
#undef KC_BUILTIN
    };
    return (uint32_t)id < KC_BUILTIN_COUNT ? names[id] : "?";
}

const char* kc_space_name(kc_space space)
{
    static const char* const names[] = {"private", "local", "global", "constant"};
    return names[space];
}

static const char* scalar_name(const kc_type* t)
{
    static const char* const ints[2][4] = {{"uchar", "ushort", "uint", "ulong"},
                                           {"char", "short", "int", "long"}};
    const int size = t->width <= 8 ? 0 : t->width <= 16 ? 1 : t->width <= 32 ? 2 : 3;
    if (t->kind == KC_TYPE_INT)
        return ints[t->is_signed][size];
    return size <= 1 ? "half" : size == 2 ? "float" : "double";
}

const char* kc_type_name(kc_module* m, const kc_type* t)
{
    switch (t->kind) {
    case KC_TYPE_VOID: return "void";
    case KC_TYPE_BOOL: return "bool";
    case KC_TYPE_INT:
    case KC_TYPE_FLOAT: return scalar_name(t);
    case KC_TYPE_VECTOR:
        return kc_format(m->arena, "%s%u", kc_type_name(m, t->element), (unsigned)t->count);
    case KC_TYPE_POINTER: {
        const bool of_array = t->element->kind == KC_TYPE_ARRAY;
        return kc_format(m->arena, "%s%s%s %s%s%s*%s", t->is_const ? "const " : "",
                         t->is_volatile ? "volatile " : "", kc_space_name(t->space),
                         of_array ? "(" : "", kc_type_name(m, t->element), of_array ? ")" : "",
                         t->is_restrict ? " restrict" : "");
    }
    case KC_TYPE_ARRAY: { /* the outermost count comes first */
        const kc_type* element = t;
        while (element->kind == KC_TYPE_ARRAY)
            element = element->element;
        const bool of_pointer = element->kind == KC_TYPE_POINTER;
        char* name = kc_format(m->arena, of_pointer ? "(%s)" : "%s", kc_type_name(m, element));
        for (const kc_type* a = t; a->kind == KC_TYPE_ARRAY; a = a->element)
            name = a->count ? kc_format(m->arena, "%s[%llu]", name, (unsigned long long)a->count)
                            : kc_format(m->arena, "%s[]", name);
        return name;
    }
    case KC_TYPE_STRUCT:
        return kc_format(m->arena, "%s %s", t->record->is_union ? "union" : "struct",
                         t->record->name);
    }
    return "?";
}
