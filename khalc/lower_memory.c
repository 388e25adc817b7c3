/* Accesses of memory that kc_lower_pointers has found: elements of one type, or words of which
 * values are made. */
#include "lower_internal.h"

enum { KC_MAX_PARTS = 1024, KC_MAX_UNROLLED = 32, KC_MAX_COPIED = 48 };

/* ---- building -------------------------------------------------------------------------------- */

static kc_expr* here(const kc_lowerer* lw, kc_expr* e)
{
    e->loc = lw->loc;
    return e;
}

kc_expr* kc_u32(kc_lowerer* lw, uint64_t value)
{
    return here(lw, kc_ex_const_int(lw->m, lw->u32, value));
}

static kc_expr* binary(kc_lowerer* lw, kc_op op, kc_expr* a, kc_expr* b)
{
    return here(lw, kc_ex_binary(lw->m, op, a, b));
}

static kc_expr* convert(kc_lowerer* lw, const kc_type* to, kc_expr* e)
{
    return e->type == to ? e : here(lw, kc_ex_convert(lw->m, to, e, KC_ROUND_DEFAULT, false));
}

static kc_expr* as_type(kc_lowerer* lw, const kc_type* to, kc_expr* e)
{
    return e->type == to ? e : here(lw, kc_ex_bitcast(lw->m, to, e));
}

static kc_expr* lanes_of(kc_lowerer* lw, kc_expr* e, uint32_t first, uint32_t count)
{
    uint8_t lanes[KC_MAX_LANES];
    for (uint32_t i = 0; i < count; i++)
        lanes[i] = (uint8_t)(first + i);
    return here(lw, kc_ex_swizzle(lw->m, e, count, lanes));
}

static const kc_type* uint_of(const kc_lowerer* lw, uint32_t bytes)
{
    return kc_type_int(lw->m, bytes * 8, false);
}

void kc_emit(kc_lowerer* lw, kc_stmt* s)
{
    if (lw->before)
        kc_block_insert_before(lw->block, lw->before, s);
    else
        kc_block_append(lw->block, s);
}

void kc_emit_assign(kc_lowerer* lw, kc_expr* place, kc_expr* value)
{
    kc_stmt* s = kc_stmt_create(lw->m, KC_ST_ASSIGN, lw->loc);
    s->place = place;
    s->value = value;
    kc_emit(lw, s);
}

static kc_var* declare(kc_lowerer* lw, const char* name, const kc_type* type, kc_expr* value)
{
    kc_stmt* s = kc_stmt_create(lw->m, KC_ST_DECLARE, lw->loc);
    s->var = kc_temp_create(lw->m, lw->f, name, type, lw->loc);
    s->value = value;
    kc_emit(lw, s);
    return s->var;
}

kc_expr* kc_keep(kc_lowerer* lw, kc_expr* value, const char* name)
{
    return here(lw, kc_ex_load_var(lw->m, declare(lw, name, value->type, value)));
}

static bool is_private_variable(const kc_expr* e)
{
    return e->kind == KC_EX_LOAD && e->args[0]->kind == KC_EX_VAR &&
           (e->args[0]->u.var->kind == KC_VAR_PRIVATE || e->args[0]->u.var->kind == KC_VAR_PARAM);
}

/* Nodes, as far as `limit`. */
static uint32_t size_of(const kc_expr* e, uint32_t limit)
{
    uint32_t size = 1;
    for (uint32_t i = 0; i < e->arg_count && size <= limit && !is_private_variable(e); i++)
        size += size_of(e->args[i], limit - size);
    return size;
}

static bool reads_memory(const kc_expr* e)
{
    if (e->kind == KC_EX_LOAD && !is_private_variable(e))
        return true;
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (reads_memory(e->args[i]))
            return true;
    return false;
}

static bool is_cheap(const kc_expr* e)
{
    if (e->kind == KC_EX_BUILTIN || e->kind == KC_EX_WORK_ITEM)
        return false;
    for (uint32_t i = 0; i < e->arg_count; i++)
        if (!is_cheap(e->args[i]))
            return false;
    return true;
}

/* What is not evaluated always is not read always either, unless copies of it would grow without
 * bound: languages without pointers bear reads out of range. */
kc_expr* kc_stable(kc_lowerer* lw, kc_expr* value, const char* name)
{
    if (size_of(value, 3) <= 3 && is_cheap(value) && !reads_memory(value))
        return value;
    if (lw->is_lazy && reads_memory(value) && size_of(value, KC_MAX_COPIED) <= KC_MAX_COPIED)
        return value;
    return kc_keep(lw, value, name);
}

static void enter(kc_lowerer* lw, kc_block* block)
{
    lw->block = block;
    lw->before = NULL;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static uint32_t log2_of(uint32_t n)
{
    uint32_t log = 0;
    while (n >> (log + 1))
        log++;
    return log;
}

/* The index of the slice's first unit; NULL: 0. */
static kc_expr* first_of(kc_lowerer* lw, kc_root* root)
{
    kc_module* m = lw->m;
    if (root->made->kind != KC_VAR_BUFFER || !root->made->param)
        return NULL;
    if (!root->first) {
        kc_expr* offset = here(lw, kc_ex_slice_offset(m, root->made));
        const uint32_t shift = log2_of(root->memory->unit);
        if (shift)
            offset = binary(lw, KC_OP_SHR, offset, kc_u32(lw, shift));
        kc_stmt* s = kc_stmt_create(m, KC_ST_DECLARE, lw->f->loc);
        s->var = root->first = kc_temp_create(
            m, lw->f, kc_format(m->arena, "%s_first", root->var->name), lw->u32, root->var->loc);
        s->value = offset;
        if (lw->f->body.first)
            kc_block_insert_before(&lw->f->body, lw->f->body.first, s);
        else
            kc_block_append(&lw->f->body, s);
    }
    return here(lw, kc_ex_load_var(m, root->first));
}

static kc_expr* constant_index(kc_lowerer* lw, int64_t offset, uint32_t unit)
{
    return offset ? kc_u32(lw, (uint64_t)(offset / (int64_t)unit)) : NULL;
}

static kc_expr* clone(kc_lowerer* lw, const kc_expr* e)
{
    return e ? kc_ex_clone(lw->m, e) : NULL;
}

/* The roots that a spot may be in. A null pointer's target is any: it is never there. */
static uint32_t candidate_count(const kc_spot* spot)
{
    return spot->root ? 1 : spot->targets.count;
}

static kc_root* candidate(const kc_spot* spot, uint32_t i)
{
    return spot->root ? spot->root : kc_root_of(spot->targets.roots[i]);
}

static kc_expr* is_in(kc_lowerer* lw, const kc_spot* spot, const kc_root* root)
{
    return binary(lw, KC_OP_EQ, clone(lw, spot->which), kc_u32(lw, root->number));
}

/* So that each root's access may have a copy. */
static kc_spot stable_spot(kc_lowerer* lw, const kc_spot* spot)
{
    kc_spot s = *spot;
    if (s.which)
        s.which = kc_stable(lw, s.which, "which");
    if (s.index)
        s.index = kc_stable(lw, s.index, "at");
    if (s.bytes)
        s.bytes = kc_stable(lw, s.bytes, "at");
    return s;
}

/* ---- elements -------------------------------------------------------------------------------- */

static kc_expr* graft(kc_lowerer* lw, const kc_expr* place, const kc_expr* element, kc_expr* made)
{
    if (place == element)
        return made;
    kc_expr* e = KC_NEW(lw->m->arena, kc_expr);
    *e = *place;
    e->args = KC_NEW_ARRAY(lw->m->arena, kc_expr*, e->arg_count);
    e->args[0] = graft(lw, place->args[0], element, made);
    if (e->arg_count > 1)
        e->args[1] = clone(lw, place->args[1]);
    return e;
}

static kc_expr* element_place(kc_lowerer* lw, const kc_spot* spot, kc_root* root)
{
    kc_var* made = spot->part == KC_SPOT_INDEX   ? root->index
                   : spot->part == KC_SPOT_WHICH ? root->which
                                                 : root->made;
    kc_expr* e = here(lw, kc_ex_var(lw->m, made));
    if (made->type->kind == KC_TYPE_ARRAY && made->type != spot->memory->element) {
        kc_expr* index = kc_index_add(lw->m, clone(lw, spot->index),
                                      constant_index(lw, spot->offset, spot->memory->unit));
        index = kc_index_add(lw->m, first_of(lw, root), index);
        e = here(lw, kc_ex_index(lw->m, e, index ? index : kc_u32(lw, 0)));
    }
    return spot->place ? graft(lw, spot->place, spot->element, e) : e;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Where in a root's words a spot is. */
typedef struct kc_cursor {
    const kc_type* word;
    kc_var* var;
    bool is_shared;
    kc_expr* words; /* whole words, NULL: 0; or, where `bytes` is set, unused */
    kc_expr* bytes; /* where the words are not known to be whole ones */
    int64_t offset;
    uint64_t align; /* of all but offset */
} kc_cursor;

static kc_cursor open_cursor(kc_lowerer* lw, const kc_spot* spot, kc_root* root)
{
    uint32_t unit = spot->memory->unit;
    kc_cursor c = {.word = spot->memory->word,
                   .var = root->made,
                   .offset = spot->offset,
                   .align = spot->align};
    c.is_shared = root->made->kind == KC_VAR_LOCAL || root->made->kind == KC_VAR_BUFFER;
    kc_expr* total = kc_index_add(lw->m, first_of(lw, root), clone(lw, spot->index));
    if (spot->bytes) {
        if (total && unit > 1)
            total = binary(lw, KC_OP_SHL, total, kc_u32(lw, log2_of(unit)));
        total = kc_index_add(lw->m, total, clone(lw, spot->bytes));
        unit = 1;
    }
    if (!total)
        c.align = 16;
    if (c.align >= 4) {
        if (total && unit < 4)
            total = binary(lw, KC_OP_SHR, total, kc_u32(lw, 2 - log2_of(unit)));
        c.words = total;
    } else {
        if (unit > 1)
            total = binary(lw, KC_OP_SHL, total, kc_u32(lw, log2_of(unit)));
        c.bytes = total;
    }
    return c;
}

static void keep_cursor(kc_lowerer* lw, kc_cursor* c)
{
    if (c->words)
        c->words = kc_stable(lw, c->words, "at");
    if (c->bytes)
        c->bytes = kc_stable(lw, c->bytes, "at");
}

static uint64_t align_at(const kc_cursor* c, int64_t delta)
{
    const uint64_t offset = (uint64_t)(c->offset + delta) | c->align;
    return offset & (0 - offset);
}

static int64_t floor_div4(int64_t n)
{
    return n >= 0 ? n / 4 : -((3 - n) / 4);
}

/* The byte of which `bytes` tells the place in its word. */
static kc_expr* byte_at(kc_lowerer* lw, const kc_cursor* c, int64_t delta)
{
    return kc_index_add(lw->m, clone(lw, c->bytes),
                        c->offset + delta ? kc_u32(lw, (uint64_t)(c->offset + delta)) : NULL);
}

static kc_expr* word_place(kc_lowerer* lw, const kc_cursor* c, int64_t delta)
{
    kc_expr* index;
    if (c->bytes) {
        index = binary(lw, KC_OP_SHR, byte_at(lw, c, delta), kc_u32(lw, 2));
    } else {
        const int64_t word = floor_div4(c->offset + delta);
        index = kc_index_add(lw->m, clone(lw, c->words),
                             word || !c->words ? kc_u32(lw, (uint64_t)word) : NULL);
    }
    return here(lw, kc_ex_index(lw->m, here(lw, kc_ex_var(lw->m, c->var)), index));
}

static kc_expr* word_load(kc_lowerer* lw, const kc_cursor* c, int64_t delta)
{
    return here(lw, kc_ex_load(lw->m, word_place(lw, c, delta)));
}

/* How far up in its word a byte or half-word is; NULL: not at all. */
static kc_expr* shift_at(kc_lowerer* lw, const kc_cursor* c, int64_t delta)
{
    if (!c->bytes) {
        const uint64_t byte = (uint64_t)(c->offset + delta) & 3;
        return byte ? kc_u32(lw, byte * 8) : NULL;
    }
    return binary(lw, KC_OP_SHL, binary(lw, KC_OP_AND, byte_at(lw, c, delta), kc_u32(lw, 3)),
                  kc_u32(lw, 3));
}

static uint64_t mask_of(uint32_t bytes)
{
    return bytes >= 4 ? UINT32_MAX : (UINT64_C(1) << bytes * 8) - 1;
}

/* 1, 2 or 4 bytes as a uint; what is above 1 or 2 of them is left as it comes. */
static kc_expr* get_bits(kc_lowerer* lw, const kc_cursor* c, int64_t delta, uint32_t size)
{
    const uint64_t align = align_at(c, delta);
    if (align < size) {
        const uint32_t part = (uint32_t)align;
        kc_expr* all = NULL;
        for (uint32_t i = 0; i < size; i += part) {
            kc_expr* bits =
                binary(lw, KC_OP_AND, get_bits(lw, c, delta + i, part), kc_u32(lw, mask_of(part)));
            if (i)
                bits = binary(lw, KC_OP_SHL, bits, kc_u32(lw, i * 8));
            all = all ? binary(lw, KC_OP_OR, all, bits) : bits;
        }
        return all;
    }
    kc_expr* word = as_type(lw, lw->u32, word_load(lw, c, delta));
    kc_expr* shift = size < 4 ? shift_at(lw, c, delta) : NULL;
    return shift ? binary(lw, KC_OP_SHR, word, shift) : word;
}

/* Others may store to the rest of the word at the same time. Of these bytes nobody else does, so
 * that what is read of them is still there when they are flipped into the new ones. */
static void flip_bits(kc_lowerer* lw, kc_expr* place, kc_expr* value, kc_expr* mask)
{
    kc_expr* old = here(lw, kc_ex_load(lw->m, clone(lw, place)));
    kc_stmt* s = kc_stmt_create(lw->m, KC_ST_ATOMIC, lw->loc);
    s->atomic = KC_ATOMIC_XOR;
    s->place = place;
    s->arg_count = 1;
    s->args = KC_NEW_ARRAY(lw->m->arena, kc_expr*, 1);
    s->args[0] = as_type(
        lw, place->type,
        binary(lw, KC_OP_AND, binary(lw, KC_OP_XOR, as_type(lw, lw->u32, old), value), mask));
    kc_emit(lw, s);
}

/* Has it no bits above its lowest `size` bytes? */
static bool is_below(const kc_expr* bits, uint32_t size)
{
    if (bits->kind != KC_EX_CONVERT)
        return false;
    const kc_type* from = bits->args[0]->type;
    return from->kind == KC_TYPE_BOOL || (!from->is_signed && from->width <= size * 8);
}

/* The lowest 1, 2 or 4 bytes of a uint. */
static void put_bits(kc_lowerer* lw, const kc_cursor* c, int64_t delta, uint32_t size,
                     kc_expr* bits)
{
    const uint64_t align = align_at(c, delta);
    if (align < size) {
        const uint32_t part = (uint32_t)align;
        bits = kc_stable(lw, bits, "bits");
        for (uint32_t i = 0; i < size; i += part)
            put_bits(lw, c, delta + i, part,
                     i ? binary(lw, KC_OP_SHR, clone(lw, bits), kc_u32(lw, i * 8))
                       : clone(lw, bits));
        return;
    }
    kc_expr* place = word_place(lw, c, delta);
    if (size == 4) {
        kc_emit_assign(lw, place, as_type(lw, c->word, bits));
        return;
    }
    kc_expr* shift = shift_at(lw, c, delta);
    kc_expr* mask = kc_u32(lw, mask_of(size));
    if (shift && shift->kind == KC_EX_CONST) {
        mask = kc_u32(lw, mask_of(size) << shift->u.bits);
    } else if (shift) {
        shift = kc_stable(lw, shift, "shift");
        mask = binary(lw, KC_OP_SHL, mask, clone(lw, shift));
    }
    if (c->is_shared) {
        flip_bits(lw, place, shift ? binary(lw, KC_OP_SHL, bits, shift) : bits, mask);
        return;
    }
    if (!is_below(bits, size))
        bits = binary(lw, KC_OP_AND, bits, kc_u32(lw, mask_of(size)));
    if (shift)
        bits = binary(lw, KC_OP_SHL, bits, shift);
    kc_expr* old = as_type(lw, lw->u32, here(lw, kc_ex_load(lw->m, clone(lw, place))));
    kc_expr* rest = binary(lw, KC_OP_AND, old, here(lw, kc_ex_unary(lw->m, KC_OP_BIT_NOT, mask)));
    kc_emit_assign(lw, place, as_type(lw, c->word, binary(lw, KC_OP_OR, rest, bits)));
}

/* ---- values of words ------------------------------------------------------------------------- */

static kc_expr* list(kc_lowerer* lw, kc_expr_kind kind, const kc_type* type, uint32_t count,
                     kc_expr** args)
{
    return here(lw, kc_ex_list(lw->m, kind, type, count, args));
}

static kc_expr* load_scalar(kc_lowerer* lw, const kc_cursor* c, int64_t delta, const kc_type* t)
{
    if (t->kind == KC_TYPE_BOOL)
        return convert(lw, t, convert(lw, uint_of(lw, 1), get_bits(lw, c, delta, 1)));
    if (t->width == 64) {
        kc_expr* words[2] = {get_bits(lw, c, delta, 4), get_bits(lw, c, delta + 4, 4)};
        return as_type(lw, t, list(lw, KC_EX_COMPOSE, kc_type_vector(lw->m, lw->u32, 2), 2, words));
    }
    if (t->width == 32)
        return as_type(
            lw, t, align_at(c, delta) >= 4 ? word_load(lw, c, delta) : get_bits(lw, c, delta, 4));
    const uint32_t size = t->width / 8u;
    return as_type(lw, t, convert(lw, uint_of(lw, size), get_bits(lw, c, delta, size)));
}

/* A vector of 8- or 16-bit lanes, in pieces of one word. */
static kc_expr* load_narrow_vector(kc_lowerer* lw, const kc_cursor* c, int64_t delta,
                                   const kc_type* t)
{
    const uint32_t lane = t->element->width / 8u, count = kc_lane_count(t), in_word = 4 / lane;
    if (count == 2 && lane == 1)
        return as_type(lw, t, convert(lw, uint_of(lw, 2), get_bits(lw, c, delta, 2)));
    kc_expr* pieces[KC_MAX_LANES];
    uint32_t piece_count = 0;
    for (uint32_t i = 0; i < count; i += in_word) {
        const uint32_t left = count - i < in_word ? count - i : in_word;
        kc_expr* word = get_bits(lw, c, delta + i * lane, 4);
        if (left == 1) {
            pieces[piece_count++] = as_type(lw, t->element, convert(lw, uint_of(lw, lane), word));
            continue;
        }
        kc_expr* piece = as_type(lw, kc_type_vector(lw->m, t->element, in_word), word);
        pieces[piece_count++] = left < in_word ? lanes_of(lw, piece, 0, left) : piece;
    }
    return piece_count == 1 ? pieces[0] : list(lw, KC_EX_COMPOSE, t, piece_count, pieces);
}

static bool is_packable(const kc_cursor* c, int64_t delta, const kc_type* t)
{
    return t->element->width < 32 && align_at(c, delta) >= (t->size < 4 ? t->size : 4);
}

static kc_expr* load_words(kc_lowerer* lw, const kc_cursor* c, int64_t delta, const kc_type* t,
                           uint32_t* budget)
{
    if (kc_is_scalar(t))
        return load_scalar(lw, c, delta, t);
    if (kc_is_vector(t)) {
        if (is_packable(c, delta, t))
            return load_narrow_vector(lw, c, delta, t);
        kc_expr* lanes[KC_MAX_LANES];
        for (uint32_t i = 0; i < t->count; i++)
            lanes[i] = load_scalar(lw, c, delta + (int64_t)(i * t->element->size), t->element);
        return list(lw, KC_EX_COMPOSE, t, (uint32_t)t->count, lanes);
    }
    const bool is_array = t->kind == KC_TYPE_ARRAY;
    const uint64_t count = is_array                    ? t->count
                           : t->kind == KC_TYPE_STRUCT ? t->record->field_count
                                                       : 0;
    if (count > *budget || t->kind == KC_TYPE_POINTER ||
        (t->kind == KC_TYPE_STRUCT && t->record->is_union)) {
        kc_refuse(lw->m, lw->f, lw->loc,
                  t->kind == KC_TYPE_POINTER ? KC_DIAG_TARGET_POINTER : KC_DIAG_TARGET_LIMIT,
                  t->kind == KC_TYPE_POINTER ? "a pointer in memory"
                                             : "a value of more than %d parts is read at once",
                  KC_MAX_PARTS);
        return here(lw, kc_ex_zero(lw->m, t));
    }
    *budget -= (uint32_t)count;
    kc_expr** parts = KC_NEW_ARRAY(lw->m->arena, kc_expr*, count);
    for (uint32_t i = 0; i < count; i++) {
        const kc_type* part = is_array ? t->element : t->record->fields[i].type;
        const uint64_t offset = is_array ? i * t->element->size : t->record->fields[i].offset;
        parts[i] = load_words(lw, c, delta + (int64_t)offset, part, budget);
    }
    return list(lw, KC_EX_AGGREGATE, t, (uint32_t)count, parts);
}

static void store_scalar(kc_lowerer* lw, const kc_cursor* c, int64_t delta, kc_expr* value)
{
    const kc_type* t = value->type;
    if (t->kind == KC_TYPE_BOOL) {
        put_bits(lw, c, delta, 1, convert(lw, lw->u32, value));
    } else if (t->width == 64) {
        value = kc_stable(lw, as_type(lw, kc_type_vector(lw->m, lw->u32, 2), value), "bits");
        put_bits(lw, c, delta, 4, lanes_of(lw, clone(lw, value), 0, 1));
        put_bits(lw, c, delta + 4, 4, lanes_of(lw, value, 1, 1));
    } else if (t->width == 32) {
        if (align_at(c, delta) >= 4)
            kc_emit_assign(lw, word_place(lw, c, delta), as_type(lw, c->word, value));
        else
            put_bits(lw, c, delta, 4, as_type(lw, lw->u32, value));
    } else {
        const uint32_t size = t->width / 8u;
        put_bits(lw, c, delta, size, convert(lw, lw->u32, as_type(lw, uint_of(lw, size), value)));
    }
}

static void store_narrow_vector(kc_lowerer* lw, const kc_cursor* c, int64_t delta, kc_expr* value)
{
    const kc_type* t = value->type;
    const uint32_t lane = t->element->width / 8u, count = kc_lane_count(t), in_word = 4 / lane;
    if (count == 2 && lane == 1) {
        put_bits(lw, c, delta, 2, convert(lw, lw->u32, as_type(lw, uint_of(lw, 2), value)));
        return;
    }
    for (uint32_t i = 0; i < count; i += in_word) {
        if (count - i >= in_word) {
            kc_expr* piece =
                count == in_word ? clone(lw, value) : lanes_of(lw, clone(lw, value), i, in_word);
            put_bits(lw, c, delta + i * lane, 4, as_type(lw, lw->u32, piece));
            continue;
        }
        for (uint32_t j = i; j < count; j++)
            store_scalar(lw, c, delta + j * lane, lanes_of(lw, clone(lw, value), j, 1));
    }
}

static kc_expr* variable_or_keep(kc_lowerer* lw, kc_expr* value)
{
    const bool is_variable = value->kind == KC_EX_CONST ||
                             (value->kind == KC_EX_LOAD && value->args[0]->kind == KC_EX_VAR &&
                              value->args[0]->u.var->kind == KC_VAR_PRIVATE);
    return is_variable ? value : kc_keep(lw, value, "value");
}

static void store_words(kc_lowerer* lw, const kc_cursor* c, kc_expr* value, const kc_spot* spot)
{
    const kc_type* t = value->type;
    if (spot->lane_count) {
        const int64_t size = (int64_t)kc_lane(t)->size;
        for (uint32_t i = 0; i < spot->lane_count; i++)
            store_scalar(lw, c, spot->lanes[i] * size, lanes_of(lw, clone(lw, value), i, 1));
    } else if (!kc_is_vector(t)) {
        store_scalar(lw, c, 0, value);
    } else if (is_packable(c, 0, t)) {
        store_narrow_vector(lw, c, 0, value);
    } else {
        for (uint32_t i = 0; i < t->count; i++)
            store_scalar(lw, c, (int64_t)(i * t->element->size),
                         lanes_of(lw, clone(lw, value), i, 1));
    }
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static kc_expr* load_candidate(kc_lowerer* lw, const kc_spot* spot, kc_root* root)
{
    if (spot->memory->element) {
        kc_expr* place = element_place(lw, spot, root);
        if (place->type == spot->type || spot->place || spot->part)
            return here(lw, kc_ex_load(lw->m, place));
        /* an array, which is flat now */
        const uint64_t count = spot->type->size / spot->memory->element->size;
        kc_expr** parts = KC_NEW_ARRAY(lw->m->arena, kc_expr*, count <= KC_MAX_PARTS ? count : 1);
        if (count > KC_MAX_PARTS) {
            kc_refuse(lw->m, lw->f, lw->loc, KC_DIAG_TARGET_LIMIT,
                      "a value of more than %d parts is read at once", KC_MAX_PARTS);
            return here(lw, kc_ex_zero(lw->m, spot->type));
        }
        kc_spot part = *spot;
        part.type = spot->memory->element;
        for (uint64_t i = 0; i < count; i++, part.offset += (int64_t)part.type->size)
            parts[i] = load_candidate(lw, &part, root);
        return list(lw, KC_EX_AGGREGATE, kc_type_array(lw->m, part.type, count), (uint32_t)count,
                    parts);
    }
    kc_cursor c = open_cursor(lw, spot, root);
    const bool is_one_word = kc_is_scalar(spot->type) && spot->type->kind != KC_TYPE_BOOL &&
                             spot->type->width == 32 && align_at(&c, 0) >= 4 && !spot->lane_count;
    if (!is_one_word)
        keep_cursor(lw, &c);
    uint32_t budget = KC_MAX_PARTS;
    if (!spot->lane_count)
        return load_words(lw, &c, 0, spot->type, &budget);
    kc_expr* lanes[KC_MAX_LANES];
    const kc_type* lane = kc_lane(spot->type);
    for (uint32_t i = 0; i < spot->lane_count; i++)
        lanes[i] = load_scalar(lw, &c, spot->lanes[i] * (int64_t)lane->size, lane);
    return list(lw, KC_EX_COMPOSE, kc_type_vector(lw->m, lane, spot->lane_count), spot->lane_count,
                lanes);
}

static const kc_type* value_type(kc_lowerer* lw, const kc_spot* spot)
{
    return spot->lane_count ? kc_type_vector(lw->m, kc_lane(spot->type), spot->lane_count)
                            : spot->type;
}

kc_expr* kc_spot_load(kc_lowerer* lw, const kc_spot* spot)
{
    const uint32_t count = candidate_count(spot);
    if (count == 0)
        return here(lw, kc_ex_zero(lw->m, value_type(lw, spot)));
    if (count == 1)
        return load_candidate(lw, spot, candidate(spot, 0));
    const kc_spot s = stable_spot(lw, spot);
    const bool was_lazy = lw->is_lazy;
    lw->is_lazy = true;
    kc_expr* value = load_candidate(lw, &s, candidate(&s, count - 1));
    for (uint32_t i = count - 1; i-- > 0;) {
        kc_root* root = candidate(&s, i);
        value =
            here(lw, kc_ex_select(lw->m, is_in(lw, &s, root), load_candidate(lw, &s, root), value));
    }
    lw->is_lazy = was_lazy;
    return value;
}

/* Calls fn for each root, inside of what finds out whether it is the one. */
static void each_candidate(kc_lowerer* lw, const kc_spot* spot,
                           void (*fn)(kc_lowerer* lw, const kc_spot* spot, kc_root* root,
                                      void* user),
                           void* user)
{
    const uint32_t count = candidate_count(spot);
    if (count == 1 && !spot->which) {
        fn(lw, spot, candidate(spot, 0), user);
        return;
    }
    const kc_spot s = stable_spot(lw, spot);
    kc_block* const block = lw->block;
    kc_stmt* const before = lw->before;
    for (uint32_t i = 0; i < count; i++) {
        kc_root* root = candidate(&s, i);
        if (i + 1 < count) {
            kc_stmt* branch = kc_stmt_create(lw->m, KC_ST_IF, lw->loc);
            branch->value = is_in(lw, &s, root);
            kc_emit(lw, branch);
            enter(lw, &branch->body);
            fn(lw, &s, root, user);
            enter(lw, &branch->orelse);
        } else {
            fn(lw, &s, root, user);
        }
    }
    lw->block = block;
    lw->before = before;
}

static void store_candidate(kc_lowerer* lw, const kc_spot* spot, kc_root* root, void* user)
{
    const kc_expr* value = user;
    if (spot->memory->element) {
        kc_emit_assign(lw, element_place(lw, spot, root), clone(lw, value));
        return;
    }
    kc_cursor c = open_cursor(lw, spot, root);
    const bool is_one_word = kc_is_scalar(value->type) && value->type->kind != KC_TYPE_BOOL &&
                             value->type->width == 32 && align_at(&c, 0) >= 4;
    if (!is_one_word)
        keep_cursor(lw, &c);
    store_words(lw, &c, clone(lw, value), spot);
}

void kc_spot_store(kc_lowerer* lw, const kc_spot* spot, kc_expr* value)
{
    const kc_type* t = value->type;
    const bool is_whole_element = spot->memory && spot->memory->element;
    const bool is_one_part =
        !kc_is_vector(t) || (t->size <= 4 && t->count != 3 && !spot->lane_count);
    if (candidate_count(spot) > 1 || !(is_whole_element || is_one_part))
        value = variable_or_keep(lw, value);
    if (spot->memory)
        each_candidate(lw, spot, store_candidate, value);
}

/* ---- atomics --------------------------------------------------------------------------------- */

static kc_stmt* atomic(kc_lowerer* lw, kc_atomic op, kc_expr* place, kc_var* result)
{
    kc_stmt* s = kc_stmt_create(lw->m, KC_ST_ATOMIC, lw->loc);
    s->atomic = op;
    s->place = place;
    s->result = result;
    return s;
}

/* loop { seen = compare_exchange(place, old, min(old, operand)); if (seen == old) break; old =
 * seen; } */
static void order_loop(kc_lowerer* lw, const kc_stmt* s, const kc_expr* place, kc_var* result)
{
    kc_module* m = lw->m;
    const kc_type *t = s->args[0]->type, *word = place->type;
    kc_expr* operand = kc_stable(lw, clone(lw, s->args[0]), "operand");
    kc_var* old = declare(lw, "old", word, here(lw, kc_ex_load(m, clone(lw, place))));
    kc_stmt* loop = kc_stmt_create(m, KC_ST_LOOP, lw->loc);
    kc_emit(lw, loop);
    kc_block* const block = lw->block;
    kc_stmt* const before = lw->before;
    enter(lw, &loop->body);
    kc_var* seen = declare(lw, "seen", word, NULL);
    kc_stmt* exchange = atomic(lw, KC_ATOMIC_CMPXCHG, clone(lw, place), seen);
    kc_expr* both[2] = {as_type(lw, t, here(lw, kc_ex_load_var(m, old))), operand};
    exchange->arg_count = 2;
    exchange->args = KC_NEW_ARRAY(m->arena, kc_expr*, 2);
    exchange->args[0] = here(lw, kc_ex_load_var(m, old));
    exchange->args[1] = as_type(
        lw, word,
        here(lw, kc_ex_builtin(m, s->atomic == KC_ATOMIC_MIN ? KC_BUILTIN_MIN : KC_BUILTIN_MAX, t,
                               2, both)));
    kc_emit(lw, exchange);
    kc_stmt* done = kc_stmt_create(m, KC_ST_IF, lw->loc);
    done->value =
        binary(lw, KC_OP_EQ, here(lw, kc_ex_load_var(m, seen)), here(lw, kc_ex_load_var(m, old)));
    kc_emit(lw, done);
    kc_stmt* leave = kc_stmt_create(m, KC_ST_BREAK, lw->loc);
    leave->target = loop;
    kc_block_append(&done->body, leave);
    kc_emit_assign(lw, here(lw, kc_ex_var(m, old)), here(lw, kc_ex_load_var(m, seen)));
    lw->block = block;
    lw->before = before;
    if (result)
        kc_emit_assign(lw, here(lw, kc_ex_var(m, result)),
                       as_type(lw, t, here(lw, kc_ex_load_var(m, old))));
}

static void atomic_candidate(kc_lowerer* lw, const kc_spot* spot, kc_root* root, void* user)
{
    const kc_stmt* s = user;
    kc_module* m = lw->m;
    kc_expr* place;
    if (spot->memory->element) {
        place = element_place(lw, spot, root);
    } else {
        kc_cursor c = open_cursor(lw, spot, root);
        if (s->atomic == KC_ATOMIC_MIN || s->atomic == KC_ATOMIC_MAX)
            keep_cursor(lw, &c);
        place = word_place(lw, &c, 0);
    }
    const kc_type *t = s->place->type, *word = place->type;
    const bool is_order = s->atomic == KC_ATOMIC_MIN || s->atomic == KC_ATOMIC_MAX;
    if (is_order && t != word) {
        order_loop(lw, s, place, s->result);
        return;
    }
    kc_var* result = s->result && t != word ? declare(lw, "old", word, NULL) : s->result;
    kc_stmt* made = atomic(lw, s->atomic, place, result);
    made->arg_count = s->arg_count;
    made->args = KC_NEW_ARRAY(m->arena, kc_expr*, s->arg_count);
    for (uint32_t i = 0; i < s->arg_count; i++)
        made->args[i] = as_type(lw, word, clone(lw, s->args[i]));
    kc_emit(lw, made);
    if (result != s->result)
        kc_emit_assign(lw, here(lw, kc_ex_var(m, s->result)),
                       as_type(lw, t, here(lw, kc_ex_load_var(m, result))));
}

void kc_spot_atomic(kc_lowerer* lw, const kc_spot* spot, kc_stmt* s)
{
    for (uint32_t i = 0; candidate_count(spot) > 1 && i < s->arg_count; i++)
        s->args[i] = variable_or_keep(lw, s->args[i]);
    if (spot->memory)
        each_candidate(lw, spot, atomic_candidate, s);
}

/* ---- copies ---------------------------------------------------------------------------------- */

typedef struct kc_copy {
    const kc_spot* from;
    uint32_t size; /* of a part: 1, 2 or 4 bytes */
    uint64_t count;
} kc_copy;

static kc_expr* copied_bits(kc_lowerer* lw, const kc_copy* copy, int64_t delta)
{
    const kc_spot* from = copy->from;
    if (!from)
        return kc_u32(lw, 0);
    const uint32_t count = candidate_count(from);
    kc_expr* value = NULL;
    for (uint32_t i = count; i-- > 0;) {
        kc_root* root = candidate(from, i);
        const kc_cursor c = open_cursor(lw, from, root);
        kc_expr* bits = get_bits(lw, &c, delta, copy->size);
        value = value ? here(lw, kc_ex_select(lw->m, is_in(lw, from, root), bits, value)) : bits;
    }
    return value ? value : kc_u32(lw, 0);
}

static void copy_candidate(kc_lowerer* lw, const kc_spot* to, kc_root* root, void* user)
{
    const kc_copy* copy = user;
    kc_cursor c = open_cursor(lw, to, root);
    keep_cursor(lw, &c);
    for (uint64_t i = 0; i < copy->count; i++) {
        const int64_t delta = (int64_t)(i * copy->size);
        put_bits(lw, &c, delta, copy->size, copied_bits(lw, copy, delta));
    }
}

/* `from`: NULL for zeros. */
static void copy_unrolled(kc_lowerer* lw, const kc_spot* to, const kc_spot* from, uint64_t count,
                          uint32_t size)
{
    if (to->memory)
        each_candidate(lw, to, copy_candidate, &(kc_copy){from, size, count});
}

static void move_on(kc_lowerer* lw, kc_spot* spot, kc_var* by, uint32_t align)
{
    spot->bytes = kc_index_add(lw->m, clone(lw, spot->bytes), here(lw, kc_ex_load_var(lw->m, by)));
    if (spot->align > align)
        spot->align = align;
}

static void copy(kc_lowerer* lw, const kc_spot* to, const kc_spot* from, uint64_t size,
                 uint64_t align)
{
    kc_module* m = lw->m;
    const uint32_t part = align < 4 ? (uint32_t)align : 4;
    const uint64_t count = size / part;
    if (count <= KC_MAX_UNROLLED) {
        copy_unrolled(lw, to, from, count, part);
        return;
    }
    kc_spot target = stable_spot(lw, to), source = from ? *from : target;
    kc_var* k = declare(lw, "k", lw->u32, kc_u32(lw, 0));
    kc_stmt* loop = kc_stmt_create(m, KC_ST_LOOP, lw->loc);
    loop->value = binary(lw, KC_OP_LT, here(lw, kc_ex_load_var(m, k)), kc_u32(lw, count * part));
    kc_emit(lw, loop);
    kc_st_assign(m, &loop->step, here(lw, kc_ex_var(m, k)),
                 binary(lw, KC_OP_ADD, here(lw, kc_ex_load_var(m, k)), kc_u32(lw, part)), lw->loc);
    kc_block* const block = lw->block;
    kc_stmt* const before = lw->before;
    enter(lw, &loop->body);
    move_on(lw, &source, k, part);
    move_on(lw, &target, k, part);
    copy_unrolled(lw, &target, from ? &source : NULL, 1, part);
    lw->block = block;
    lw->before = before;
}

void kc_spot_copy(kc_lowerer* lw, const kc_spot* to, const kc_spot* from, uint64_t size,
                  uint64_t align)
{
    const kc_spot source = stable_spot(lw, from);
    copy(lw, to, &source, size, align);
}

void kc_spot_clear(kc_lowerer* lw, const kc_spot* to, uint64_t size, uint64_t align)
{
    copy(lw, to, NULL, size, align);
}

static void flatten(kc_lowerer* lw, kc_expr* value, const kc_type* element, kc_expr** out)
{
    if (value->type == element) {
        *out = value;
        return;
    }
    const uint64_t each = value->type->element->size / element->size;
    for (uint64_t i = 0; i < value->type->count; i++)
        flatten(lw,
                value->kind == KC_EX_AGGREGATE ? value->args[i]
                                               : here(lw, kc_ex_zero(lw->m, value->type->element)),
                element, out + i * each);
}

kc_expr* kc_flat_value(kc_lowerer* lw, kc_expr* value, const kc_type* type)
{
    if (value->kind == KC_EX_ZERO)
        return here(lw, kc_ex_zero(lw->m, type));
    kc_expr** parts = KC_NEW_ARRAY(lw->m->arena, kc_expr*, type->count);
    flatten(lw, value, type->element, parts);
    return list(lw, KC_EX_AGGREGATE, type, (uint32_t)type->count, parts);
}

/* ---- constants ------------------------------------------------------------------------------- */

typedef struct kc_image {
    kc_lowerer* lw;
    const kc_type* word;
    kc_expr** words; /* NULL: 0 */
    bool is_known;
} kc_image;

static void put_image(kc_image* image, uint64_t offset, uint32_t size, kc_expr* bits)
{
    kc_lowerer* lw = image->lw;
    kc_expr** word = &image->words[offset / 4];
    const uint64_t shift = offset % 4 * 8;
    if (shift + size * 8 > 32) { /* of a packed record */
        put_image(image, offset, (uint32_t)(4 - offset % 4), clone(lw, bits));
        const uint32_t done = (uint32_t)(4 - offset % 4);
        put_image(image, offset + done, size - done,
                  binary(lw, KC_OP_SHR, bits, kc_u32(lw, done * 8)));
        return;
    }
    if (size < 4)
        bits = binary(lw, KC_OP_AND, bits, kc_u32(lw, mask_of(size)));
    if (shift)
        bits = binary(lw, KC_OP_SHL, bits, kc_u32(lw, shift));
    *word = *word ? binary(lw, KC_OP_OR, *word, bits) : bits;
}

static void put_scalar(kc_image* image, uint64_t offset, kc_expr* value)
{
    kc_lowerer* lw = image->lw;
    const kc_type* t = value->type;
    if (t->kind == KC_TYPE_BOOL) {
        put_image(image, offset, 1, convert(lw, lw->u32, value));
    } else if (t->width == 64) {
        value = as_type(lw, kc_type_vector(lw->m, lw->u32, 2), value);
        put_image(image, offset, 4, lanes_of(lw, clone(lw, value), 0, 1));
        put_image(image, offset + 4, 4, lanes_of(lw, value, 1, 1));
    } else if (t->width == 32) {
        if (offset % 4 == 0 && image->word == t)
            image->words[offset / 4] = value;
        else
            put_image(image, offset, 4, as_type(lw, lw->u32, value));
    } else {
        put_image(image, offset, t->width / 8u,
                  convert(lw, lw->u32, as_type(lw, uint_of(lw, t->width / 8u), value)));
    }
}

static void put_value(kc_image* image, uint64_t offset, const kc_expr* value)
{
    kc_lowerer* lw = image->lw;
    const kc_type* t = value->type;
    if (value->kind == KC_EX_ZERO)
        return;
    if (kc_is_scalar(t)) {
        put_scalar(image, offset, clone(lw, value));
    } else if (kc_is_vector(t)) {
        for (uint32_t i = 0; i < t->count; i++)
            put_scalar(image, offset + i * t->element->size, lanes_of(lw, clone(lw, value), i, 1));
    } else if (value->kind != KC_EX_AGGREGATE) {
        image->is_known = false;
    } else if (t->kind == KC_TYPE_ARRAY) {
        for (uint32_t i = 0; i < value->arg_count; i++)
            put_value(image, offset + i * t->element->size, value->args[i]);
    } else if (t->record->is_union) {
        put_value(image, offset, value->args[0]);
    } else {
        for (uint32_t i = 0; i < value->arg_count; i++)
            put_value(image, offset + t->record->fields[i].offset, value->args[i]);
    }
}

kc_expr* kc_words_of_constant(kc_lowerer* lw, const kc_memory* memory, const kc_expr* init)
{
    const uint64_t count = (init->type->size + 3) / 4;
    const kc_type* type = kc_type_array(lw->m, memory->word, count);
    kc_image image = {.lw = lw, .word = memory->word, .is_known = true};
    image.words = KC_NEW_ARRAY(lw->m->arena, kc_expr*, count);
    put_value(&image, 0, init);
    if (!image.is_known)
        return NULL;
    bool is_zero = true;
    for (uint64_t i = 0; i < count; i++) {
        is_zero &= !image.words[i];
        image.words[i] = image.words[i] ? as_type(lw, memory->word, image.words[i])
                                        : here(lw, kc_ex_zero(lw->m, memory->word));
    }
    return is_zero ? here(lw, kc_ex_zero(lw->m, type))
                   : list(lw, KC_EX_AGGREGATE, type, (uint32_t)count, image.words);
}
