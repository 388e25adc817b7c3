/* Builtin functions that read, write or order memory. */
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"

static kc_expr* size_constant(kc_builder* b, uint64_t value, kc_loc loc)
{
    return kc_at(kc_ex_const_int(b->m, kc_type_size_t(b->m), value), loc);
}

/* ---- vload and vstore ------------------------------------------------------------------------ */

/* `count` elements that begin at p[offset * stride]. */
typedef struct kc_span {
    kc_expr* pointer;
    kc_expr* base; /* NULL: 0 */
    uint64_t constant_base;
} kc_span;

static bool open_span(kc_builder* b, kc_expr* offset, kc_expr* pointer, uint64_t stride,
                      kc_span* span, kc_loc loc)
{
    *span = (kc_span){.pointer = kc_build_stable_value(b, kc_build_unqualified(pointer, false))};
    offset = kc_build_convert(b, offset, kc_type_size_t(b->m));
    if (!span->pointer || !offset)
        return false;
    if (offset->kind == KC_EX_CONST) {
        span->constant_base = offset->u.bits * stride;
        return true;
    }
    if (stride != 1)
        offset = kc_at(kc_ex_binary(b->m, KC_OP_MUL, offset, size_constant(b, stride, loc)), loc);
    span->base = stride == 1 ? kc_build_stable_value(b, offset) : kc_build_hoist(b, offset, "at");
    return span->base != NULL;
}

static kc_expr* span_element(kc_builder* b, const kc_span* span, uint64_t i, kc_loc loc)
{
    kc_expr* index = size_constant(b, span->constant_base + i, loc);
    if (span->base) {
        kc_expr* base = kc_ex_clone(b->m, span->base);
        index = i ? kc_at(kc_ex_binary(b->m, KC_OP_ADD, base, index), loc) : base;
    }
    kc_expr* pointer = kc_ex_clone(b->m, span->pointer);
    const bool is_first = !span->base && index->u.bits == 0;
    return kc_build_deref(b, is_first ? pointer : kc_at(kc_ex_offset(b->m, pointer, index), loc),
                          loc);
}

/* `vload4`, `vstore_half3_rte`, `vloada_half`: what a name says. */
typedef struct kc_access {
    bool is_store, is_half, is_aligned;
    uint32_t count;
    kc_round round;
} kc_access;

static bool parse_access(const char* name, kc_access* out)
{
    *out = (kc_access){.count = 1};
    if (strncmp(name, "vload", 5) == 0) {
        name += 5;
    } else if (strncmp(name, "vstore", 6) == 0) {
        out->is_store = true;
        name += 6;
    } else {
        return false;
    }
    if (strncmp(name, "a_half", 6) == 0) {
        out->is_half = out->is_aligned = true;
        name += 6;
    } else if (strncmp(name, "_half", 5) == 0) {
        out->is_half = true;
        name += 5;
    }
    if (*name >= '0' && *name <= '9') {
        char* end;
        out->count = (uint32_t)strtoul(name, &end, 10);
        name = end;
    } else if (!out->is_half) {
        return false;
    }
    static const char* const modes[] = {"", "_rte", "_rtz", "_rtp", "_rtn"};
    static const kc_round rounds[] = {KC_ROUND_DEFAULT, KC_ROUND_EVEN, KC_ROUND_ZERO, KC_ROUND_UP,
                                      KC_ROUND_DOWN};
    for (int i = 0; i < 5; i++)
        if (strcmp(name, modes[i]) == 0) {
            out->round = rounds[i];
            return i == 0 || (out->is_store && out->is_half);
        }
    return false;
}

static kc_expr* build_load(kc_builder* b, const kc_call* call, const kc_access* access)
{
    kc_expr* args[2];
    kc_span span;
    const kc_type* type = kc_build_plain_type(b, &call->result, call->loc);
    if (call->count != 2)
        return kc_build_wrong_call(b, call);
    if (!type || !kc_build_arguments(b, call, args))
        return NULL;
    if (kc_lane_count(type) != access->count || !kc_is_pointer(args[1]->type) ||
        args[0]->type->kind != KC_TYPE_INT)
        return kc_build_wrong_call(b, call);
    const kc_type* element = args[1]->type->element;
    const kc_type* stored = access->is_half ? kc_type_float(b->m, 16) : kc_lane(type);
    if (element != stored)
        return kc_build_wrong_call(b, call);
    const uint64_t stride = access->is_aligned && access->count == 3 ? 4 : access->count;
    if (!open_span(b, args[0], args[1], stride, &span, call->loc))
        return NULL;
    kc_expr* lanes[KC_MAX_LANES];
    for (uint32_t i = 0; i < access->count; i++) {
        kc_expr* place = span_element(b, &span, i, call->loc);
        if (!place)
            return NULL;
        lanes[i] = kc_at(kc_ex_load(b->m, place), call->loc);
    }
    kc_expr* value = lanes[0];
    if (access->count > 1)
        value = kc_at(kc_ex_list(b->m, KC_EX_COMPOSE, kc_type_vector(b->m, stored, access->count),
                                 access->count, lanes),
                      call->loc);
    return kc_build_convert(b, value, type);
}

static kc_expr* build_store(kc_builder* b, const kc_call* call, const kc_access* access)
{
    kc_expr* args[3];
    kc_span span;
    if (call->count != 3 || !b->block)
        return kc_build_wrong_call(b, call);
    if (!kc_build_arguments(b, call, args))
        return NULL;
    kc_expr* data = args[0];
    if (kc_lane_count(data->type) != access->count || !kc_is_pointer(args[2]->type) ||
        args[1]->type->kind != KC_TYPE_INT ||
        (!kc_is_scalar(data->type) && !kc_is_vector(data->type)))
        return kc_build_wrong_call(b, call);
    const kc_type* element = args[2]->type->element;
    if (access->is_half && kc_is_float(data->type))
        data =
            kc_at(kc_ex_convert(b->m, kc_type_with_lane(b->m, data->type, kc_type_float(b->m, 16)),
                                data, access->round, false),
                  call->loc);
    if (element != kc_lane(data->type))
        return kc_build_wrong_call(b, call);
    const bool is_variable = data->kind == KC_EX_LOAD && data->args[0]->kind == KC_EX_VAR;
    if (access->count > 1 && !is_variable)
        data = kc_build_hoist(b, data, "data");
    const uint64_t stride = access->is_aligned && access->count == 3 ? 4 : access->count;
    if (!data || !open_span(b, args[1], args[2], stride, &span, call->loc))
        return NULL;
    for (uint32_t i = 0; i < access->count; i++) {
        const uint8_t lane = (uint8_t)i;
        kc_expr* place = span_element(b, &span, i, call->loc);
        if (!place)
            return NULL;
        kc_expr* value = kc_ex_clone(b->m, data);
        if (access->count > 1)
            value = kc_at(kc_ex_swizzle(b->m, value, 1, &lane), call->loc);
        kc_st_assign(b->m, b->block, place, value, call->loc);
    }
    return kc_build_nothing(b);
}

/* ---- atomics --------------------------------------------------------------------------------- */

static bool parse_atomic(const char* name, kc_atomic* op, uint32_t* operands)
{
    static const struct {
        const char* name;
        kc_atomic op;
        uint32_t operands;
    } atomics[] = {
        {"add", KC_ATOMIC_ADD, 1}, {"sub", KC_ATOMIC_SUB, 1}, {"xchg", KC_ATOMIC_XCHG, 1},
        {"inc", KC_ATOMIC_INC, 0}, {"dec", KC_ATOMIC_DEC, 0}, {"cmpxchg", KC_ATOMIC_CMPXCHG, 2},
        {"min", KC_ATOMIC_MIN, 1}, {"max", KC_ATOMIC_MAX, 1}, {"and", KC_ATOMIC_AND, 1},
        {"or", KC_ATOMIC_OR, 1},   {"xor", KC_ATOMIC_XOR, 1},
    };
    if (strncmp(name, "atomic_", 7) == 0)
        name += 7;
    else if (strncmp(name, "atom_", 5) == 0)
        name += 5;
    else
        return false;
    for (size_t i = 0; i < sizeof atomics / sizeof atomics[0]; i++)
        if (strcmp(name, atomics[i].name) == 0) {
            *op = atomics[i].op;
            *operands = atomics[i].operands;
            return true;
        }
    return false;
}

static kc_expr* build_atomic(kc_builder* b, const kc_call* call, kc_atomic op, uint32_t operands)
{
    kc_expr* args[3];
    if (call->count != operands + 1 || !b->block)
        return kc_build_wrong_call(b, call);
    if (!kc_build_arguments(b, call, args))
        return NULL;
    /* what is atomic needs no volatile */
    kc_expr* place = kc_build_deref(b, kc_build_unqualified(args[0], false), call->loc);
    if (!place)
        return NULL;
    const kc_type* type = place->type;
    const kc_space space = kc_place_space(place);
    const bool is_int = type->kind == KC_TYPE_INT && type->width >= 32;
    const bool is_float = type->kind == KC_TYPE_FLOAT && type->width == 32 && op == KC_ATOMIC_XCHG;
    if ((!is_int && !is_float) || (space != KC_SPACE_LOCAL && space != KC_SPACE_GLOBAL))
        return kc_build_wrong_call(b, call);
    kc_stmt* s = kc_stmt_create(b->m, KC_ST_ATOMIC, call->loc);
    s->atomic = op;
    s->place = place;
    s->arg_count = operands;
    s->args = KC_NEW_ARRAY(b->arena, kc_expr*, operands);
    for (uint32_t i = 0; i < operands; i++) {
        s->args[i] =
            kc_is_scalar(args[i + 1]->type) ? kc_build_convert(b, args[i + 1], type) : NULL;
        if (!s->args[i])
            return kc_build_wrong_call(b, call);
    }
    if (call->is_used) {
        s->result = kc_build_temp(b, type, "old", call->loc);
        kc_st_declare(b->m, b->block, s->result, NULL, call->loc);
    }
    kc_block_append(b->block, s);
    return call->is_used ? kc_ex_load_var(b->m, s->result) : kc_build_nothing(b);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static kc_expr* build_barrier(kc_builder* b, const kc_call* call, kc_stmt_kind kind)
{
    if (call->count != 1 || !b->block)
        return kc_build_wrong_call(b, call);
    kc_expr* flags = kc_build_value(b, call->args[0]);
    if (!flags)
        return NULL;
    const kc_expr* known = kc_build_fold_constant(b, flags);
    uint32_t fence = KC_FENCE_LOCAL | KC_FENCE_GLOBAL; /* flags computed at run time: all of them */
    if (known && known->type->kind == KC_TYPE_INT)
        fence &= known->kind == KC_EX_CONST ? (uint32_t)known->u.bits : 0;
    kc_stmt* s = kc_stmt_create(b->m, kind, call->loc);
    s->fence = fence;
    kc_block_append(b->block, s);
    return kc_build_nothing(b);
}

/* ---- copies by a whole group ----------------------------------------------------------------- */

static kc_expr* query(kc_builder* b, kc_query q, uint32_t dimension, kc_loc loc)
{
    kc_expr* d = kc_at(kc_ex_const_int(b->m, kc_type_int(b->m, 32, false), dimension), loc);
    return kc_at(kc_ex_work_item(b->m, q, d), loc);
}

static kc_expr* binary(kc_builder* b, kc_op op, kc_expr* left, kc_expr* right, kc_loc loc)
{
    return kc_at(kc_ex_binary(b->m, op, left, right), loc);
}

static kc_expr* element_at(kc_builder* b, kc_expr* pointer, kc_expr* index, kc_expr* stride,
                           kc_loc loc)
{
    kc_expr* i = kc_ex_clone(b->m, index);
    if (stride)
        i = binary(b, KC_OP_MUL, i, kc_ex_clone(b->m, stride), loc);
    return kc_build_deref(b, kc_at(kc_ex_offset(b->m, kc_ex_clone(b->m, pointer), i), loc), loc);
}

/* Each work-item copies every local-size-th element, beginning with its own linear id. */
static kc_expr* build_async_copy(kc_builder* b, const kc_call* call, bool is_strided)
{
    const kc_loc loc = call->loc;
    kc_expr* args[5];
    if (call->count != (is_strided ? 5u : 4u) || !b->block)
        return kc_build_wrong_call(b, call);
    if (!kc_build_arguments(b, call, args))
        return NULL;
    kc_expr* event = args[call->count - 1];
    const kc_type* size = kc_type_size_t(b->m);
    const bool are_pointers = kc_is_pointer(args[0]->type) && kc_is_pointer(args[1]->type) &&
                              args[0]->type->element == args[1]->type->element;
    if (!are_pointers || args[2]->type != size || (is_strided && args[3]->type != size) ||
        event->type != size)
        return kc_build_wrong_call(b, call);
    for (uint32_t i = 0; i + 1 < call->count; i++) {
        args[i] = kc_build_stable_value(b, kc_build_unqualified(args[i], false));
        if (!args[i])
            return NULL;
    }
    kc_expr* stride = is_strided ? args[3] : NULL;
    const bool to_local =
        args[0]->type->space == KC_SPACE_LOCAL; /* the stride is that of global memory */
    kc_expr* first = binary(b, KC_OP_ADD, query(b, KC_QUERY_LOCAL_ID, 1, loc),
                            binary(b, KC_OP_MUL, query(b, KC_QUERY_LOCAL_SIZE, 1, loc),
                                   query(b, KC_QUERY_LOCAL_ID, 2, loc), loc),
                            loc);
    first = binary(b, KC_OP_ADD, query(b, KC_QUERY_LOCAL_ID, 0, loc),
                   binary(b, KC_OP_MUL, query(b, KC_QUERY_LOCAL_SIZE, 0, loc), first, loc), loc);
    kc_expr* items = binary(b, KC_OP_MUL, query(b, KC_QUERY_LOCAL_SIZE, 0, loc),
                            binary(b, KC_OP_MUL, query(b, KC_QUERY_LOCAL_SIZE, 1, loc),
                                   query(b, KC_QUERY_LOCAL_SIZE, 2, loc), loc),
                            loc);
    kc_expr* index = kc_build_hoist(b, first, "element");
    kc_stmt* loop = kc_stmt_create(b->m, KC_ST_LOOP, loc);
    loop->value = binary(b, KC_OP_LT, index, args[2], loc);
    kc_expr* to = element_at(b, args[0], index, to_local ? NULL : stride, loc);
    kc_expr* from = element_at(b, args[1], index, to_local ? stride : NULL, loc);
    if (!to || !from)
        return NULL;
    kc_st_assign(b->m, &loop->body, to, kc_at(kc_ex_load(b->m, from), loc), loc);
    kc_st_assign(b->m, &loop->step, kc_ex_clone(b->m, index->args[0]),
                 binary(b, KC_OP_ADD, kc_ex_clone(b->m, index), items, loc), loc);
    kc_block_append(b->block, loop);
    return call->is_used ? event : kc_build_nothing(b);
}

/* The events themselves are nothing: the copies are done, and a barrier makes them seen. */
static kc_expr* build_wait(kc_builder* b, const kc_call* call)
{
    if (call->count != 2 || !b->block)
        return kc_build_wrong_call(b, call);
    if (!kc_build_effect(b, call->args[0]) || !kc_build_effect(b, kc_strip_casts(call->args[1])))
        return NULL;
    kc_stmt* s = kc_stmt_create(b->m, KC_ST_BARRIER, call->loc);
    s->fence = KC_FENCE_LOCAL | KC_FENCE_GLOBAL;
    kc_block_append(b->block, s);
    return kc_build_nothing(b);
}

bool kc_build_memory_builtin(kc_builder* b, const kc_call* call, kc_expr** out)
{
    const char* name = call->name;
    kc_access access;
    kc_atomic op;
    uint32_t operands;
    if (parse_access(name, &access)) {
        *out = access.is_store ? build_store(b, call, &access) : build_load(b, call, &access);
    } else if (parse_atomic(name, &op, &operands)) {
        *out = build_atomic(b, call, op, operands);
    } else if (strcmp(name, "barrier") == 0) {
        *out = build_barrier(b, call, KC_ST_BARRIER);
    } else if (strcmp(name, "mem_fence") == 0 || strcmp(name, "read_mem_fence") == 0 ||
               strcmp(name, "write_mem_fence") == 0) {
        *out = build_barrier(b, call, KC_ST_FENCE);
    } else if (strcmp(name, "async_work_group_copy") == 0) {
        *out = build_async_copy(b, call, false);
    } else if (strcmp(name, "async_work_group_strided_copy") == 0) {
        *out = build_async_copy(b, call, true);
    } else if (strcmp(name, "wait_group_events") == 0) {
        *out = build_wait(b, call);
    } else if (strcmp(name, "prefetch") == 0) {
        bool is_ok = true;
        for (uint32_t i = 0; i < call->count; i++)
            is_ok &= kc_build_effect(b, call->args[i]);
        *out = is_ok ? kc_build_nothing(b) : NULL;
    } else {
        return false;
    }
    return true;
}
