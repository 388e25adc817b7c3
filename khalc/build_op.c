/* Operators, assignments, conditions and casts. */
#include <string.h>

#include "build_internal.h"

kc_expr* kc_build_nothing(kc_builder* b)
{
    return kc_ex_zero(b->m, kc_type_void(b->m));
}

/* A constant of any scalar or vector type. */
static kc_expr* small_constant(kc_builder* b, const kc_type* type, int value)
{
    const kc_type* lane = kc_lane(type);
    kc_expr* e = lane->kind == KC_TYPE_FLOAT
                     ? kc_ex_const_float(b->m, lane, value)
                     : kc_ex_const_int(b->m, lane, (uint64_t)(int64_t)value);
    return kc_is_vector(type) ? kc_ex_splat(b->m, type, e) : e;
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* Moves a pointer; `void*` goes by bytes. */
static kc_expr* move_pointer(kc_builder* b, kc_expr* pointer, kc_expr* index, bool is_backwards,
                             kc_loc loc)
{
    index = kc_build_from_bool(b, index);
    if (index->type->kind != KC_TYPE_INT)
        return kc_build_error(b, loc, KC_DIAG_EXPRESSION, "a pointer moved by a value of type '%s'",
                              kc_type_name(b->m, index->type));
    if (is_backwards) {
        index = kc_build_convert(b, index, kc_build_ptrdiff(b));
        index = index->kind == KC_EX_CONST
                    ? kc_at(kc_ex_const_int(b->m, index->type, 0 - index->u.bits), loc)
                    : kc_at(kc_ex_unary(b->m, KC_OP_NEG, index), loc);
    }
    const kc_type* type = pointer->type;
    if (type->element->kind != KC_TYPE_VOID)
        return kc_at(kc_ex_offset(b->m, pointer, index), loc);
    const kc_type* bytes = kc_type_pointer(b->m, kc_type_int(b->m, 8, true), type->space,
                                           type->is_const, type->is_volatile, type->is_restrict);
    kc_expr* moved = kc_at(kc_ex_offset(b->m, kc_build_coerce(b, pointer, bytes, loc), index), loc);
    return kc_build_coerce(b, moved, type, loc);
}

static kc_expr* pointer_difference(kc_builder* b, kc_expr* left, kc_expr* right, kc_loc loc)
{
    const kc_type* type = left->type;
    if (type->element->kind == KC_TYPE_VOID) {
        type = kc_type_pointer(b->m, kc_type_int(b->m, 8, true), type->space, true, false, false);
        left = kc_build_coerce(b, left, type, loc);
    }
    right = kc_build_coerce(b, right, type, loc);
    if (!left || !right)
        return NULL;
    kc_expr* args[2] = {left, right};
    return kc_ex_list(b->m, KC_EX_POINTER_DIFF, kc_build_ptrdiff(b), 2, args);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static bool find_operator(const char* text, size_t size, kc_op* op)
{
    static const struct {
        const char* text;
        kc_op op;
    } operators[] = {
        {"+", KC_OP_ADD}, {"-", KC_OP_SUB},  {"*", KC_OP_MUL},  {"/", KC_OP_DIV},
        {"%", KC_OP_REM}, {"<<", KC_OP_SHL}, {">>", KC_OP_SHR}, {"&", KC_OP_AND},
        {"|", KC_OP_OR},  {"^", KC_OP_XOR},  {"==", KC_OP_EQ},  {"!=", KC_OP_NE},
        {"<", KC_OP_LT},  {"<=", KC_OP_LE},  {">", KC_OP_GT},   {">=", KC_OP_GE},
    };
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strlen(operators[i].text) == size && memcmp(operators[i].text, text, size) == 0) {
            *op = operators[i].op;
            return true;
        }
    return false;
}

/* Gives both operands the vector type that one of them has. */
static void match_lanes(kc_builder* b, kc_expr** left, kc_expr** right)
{
    for (int i = 0; i < 2; i++) {
        kc_expr** scalar = i ? right : left;
        const kc_type* vector = (i ? *left : *right)->type;
        if (kc_is_scalar((*scalar)->type) && kc_is_vector(vector))
            *scalar =
                kc_at(kc_ex_splat(b->m, vector, kc_build_convert(b, *scalar, vector->element)),
                      (*scalar)->loc);
    }
}

static kc_expr* arithmetic(kc_builder* b, kc_op op, kc_expr* left, kc_expr* right, kc_loc loc)
{
    if (!left || !right)
        return NULL;
    const bool is_shift = op == KC_OP_SHL || op == KC_OP_SHR;
    const bool is_comparison = op >= KC_OP_EQ && op <= KC_OP_GE;
    if (kc_is_pointer(left->type) || kc_is_pointer(right->type)) {
        if (is_comparison && kc_is_pointer(left->type)) {
            right = kc_build_coerce(b, right, left->type, loc);
            return right ? kc_build_from_bool(b, kc_at(kc_ex_binary(b->m, op, left, right), loc))
                         : NULL;
        }
        if (op == KC_OP_ADD && kc_is_pointer(right->type) && !kc_is_pointer(left->type))
            return move_pointer(b, right, left, false, loc);
        if (op == KC_OP_SUB && kc_is_pointer(left->type) && kc_is_pointer(right->type))
            return pointer_difference(b, left, right, loc);
        if ((op == KC_OP_ADD || op == KC_OP_SUB) && kc_is_pointer(left->type))
            return move_pointer(b, left, right, op == KC_OP_SUB, loc);
        return kc_build_error(b, loc, KC_DIAG_EXPRESSION,
                              "this operation on a pointer is not supported");
    }
    if (!is_shift || kc_lane_count(left->type) != kc_lane_count(right->type))
        match_lanes(b, &left, &right);
    left = kc_build_from_bool(b, left);
    right = kc_build_from_bool(b, right);
    const bool is_number =
        kc_is_integer(left->type) || (kc_is_float(left->type) && !is_shift && op != KC_OP_REM &&
                                      op != KC_OP_AND && op != KC_OP_OR && op != KC_OP_XOR);
    const bool is_matched = is_shift ? kc_is_integer(right->type) &&
                                           kc_lane_count(left->type) == kc_lane_count(right->type)
                                     : left->type == right->type;
    if (!is_number || !is_matched)
        return kc_build_error(b, loc, KC_DIAG_EXPRESSION,
                              "this operation on '%s' and '%s' is not supported",
                              kc_type_name(b->m, left->type), kc_type_name(b->m, right->type));
    return kc_build_from_bool(b, kc_at(kc_ex_binary(b->m, op, left, right), loc));
}

/* ---- assignment ------------------------------------------------------------------------------ */

static kc_expr* store(kc_builder* b, kc_expr* place, kc_expr* value, bool is_used, kc_loc loc)
{
    if (!place || !value)
        return NULL;
    if (!b->block)
        return kc_build_error(b, loc, KC_DIAG_INITIALIZER,
                              "an assignment in a constant initialiser");
    /* used afterwards, the value is kept apart: what is stored may change before it is looked at */
    if (is_used && value->kind != KC_EX_CONST && value->kind != KC_EX_ZERO)
        value = kc_build_hoist(b, value, "t");
    kc_st_assign(b->m, b->block, place, value, loc);
    return is_used ? kc_ex_clone(b->m, value) : kc_build_nothing(b);
}

bool kc_build_redirect_call(kc_builder* b, kc_var* var, bool is_declared, const kc_expr* value)
{
    kc_stmt* call = b->block ? b->block->last : NULL;
    if (!call || call->kind != KC_ST_CALL || value->kind != KC_EX_LOAD ||
        value->args[0]->kind != KC_EX_VAR)
        return false;
    const kc_var* temp = value->args[0]->u.var;
    kc_stmt* declare = call->prev;
    if (call->result != temp || !temp->is_temporary || temp->type != var->type || !declare ||
        declare->kind != KC_ST_DECLARE || declare->var != temp)
        return false;
    if (is_declared) {
        kc_block_remove(b->block, declare);
    } else {
        declare->var = var;
        declare->loc = var->loc;
    }
    call->result = var;
    return true;
}

static kc_expr* assign(kc_builder* b, const kc_node* n, bool is_used)
{
    kc_expr* place = kc_build_place(b, n->children[0]);
    kc_expr* value = kc_build_value(b, n->children[1]);
    if (!place || !value)
        return NULL;
    value = kc_build_coerce(b, value, place->type, n->loc);
    /* x = f(y): no temporary between */
    if (value && !is_used && place->kind == KC_EX_VAR && place->u.var->kind != KC_VAR_LOCAL &&
        kc_build_redirect_call(b, place->u.var, true, value))
        return kc_build_nothing(b);
    return store(b, place, value, is_used, n->loc);
}

static kc_expr* compound_assign(kc_builder* b, const kc_node* n, bool is_used)
{
    kc_op op;
    const size_t size = strlen(n->opcode);
    if (size < 2 || !find_operator(n->opcode, size - 1, &op))
        return kc_build_malformed(b, n);
    kc_expr* place = kc_build_stable_place(b, kc_build_place(b, n->children[0]));
    kc_expr* right = kc_build_value(b, n->children[1]);
    if (!place || !right)
        return NULL;
    kc_expr* old = kc_at(kc_ex_load(b->m, kc_ex_clone(b->m, place)), n->children[0]->loc);
    if (!kc_is_pointer(place->type)) {
        const kc_type* type = kc_build_plain_type(b, &n->compute_type, n->loc);
        if (!type)
            return NULL;
        if (kc_is_vector(place->type) && !kc_is_vector(type))
            type = place->type;
        if (kc_lane_count(type) != kc_lane_count(place->type) || type->kind == KC_TYPE_POINTER)
            return kc_build_malformed(b, n);
        old = kc_build_convert(b, old, type);
    }
    kc_expr* value = arithmetic(b, op, old, right, n->loc);
    if (!value)
        return NULL;
    if (kc_is_pointer(place->type))
        value = kc_build_coerce(b, value, place->type, n->loc);
    else if (kc_lane_count(value->type) != kc_lane_count(place->type))
        return kc_build_malformed(b, n);
    else
        value = kc_build_convert(b, value, place->type);
    return store(b, place, value, is_used, n->loc);
}

static kc_expr* step(kc_builder* b, const kc_node* n, bool is_used)
{
    const bool is_down = strcmp(n->opcode, "--") == 0;
    kc_expr* place = kc_build_stable_place(b, kc_build_place(b, n->children[0]));
    if (!place)
        return NULL;
    if (!b->block)
        return store(b, place, place, is_used, n->loc); /* reports */
    const kc_type* type = place->type;
    kc_expr* old = kc_at(kc_ex_load(b->m, kc_ex_clone(b->m, place)), n->loc);
    if (n->is_postfix && is_used)
        old = kc_build_hoist(b, old, "t");
    kc_expr* value;
    if (type->kind == KC_TYPE_POINTER) {
        value = move_pointer(b, old, small_constant(b, kc_build_int(b), 1), is_down, n->loc);
    } else if (type->kind == KC_TYPE_BOOL) {
        value = arithmetic(b, is_down ? KC_OP_SUB : KC_OP_ADD, kc_build_from_bool(b, old),
                           small_constant(b, kc_build_int(b), 1), n->loc);
        value = kc_build_to_bool(b, value);
    } else if (kc_is_integer(type) || kc_is_float(type)) {
        value = kc_at(
            kc_ex_binary(b->m, is_down ? KC_OP_SUB : KC_OP_ADD, old, small_constant(b, type, 1)),
            n->loc);
    } else {
        return kc_build_malformed(b, n);
    }
    if (!value)
        return NULL;
    if (n->is_postfix && is_used) {
        kc_st_assign(b->m, b->block, place, value, n->loc);
        return kc_ex_clone(b->m, old);
    }
    return store(b, place, value, is_used, n->loc);
}

/* ---- logic ----------------------------------------------------------------------------------- */

/* -1 in the lanes that are not zero. */
static kc_expr* lane_mask(kc_builder* b, kc_expr* e, kc_op op)
{
    return kc_at(kc_ex_binary(b->m, op, e, kc_ex_zero(b->m, e->type)), e->loc);
}

static kc_stmt* build_if(kc_builder* b, kc_expr* condition, kc_block body, kc_block orelse,
                         kc_loc loc)
{
    kc_stmt* s = kc_stmt_create(b->m, KC_ST_IF, loc);
    s->value = condition;
    s->body = body;
    s->orelse = orelse;
    kc_block_append(b->block, s);
    return s;
}

static kc_expr* negate(kc_builder* b, kc_expr* e)
{
    if (e->kind == KC_EX_UNARY && e->u.op == KC_OP_LOGICAL_NOT)
        return e->args[0];
    return kc_at(kc_ex_unary(b->m, KC_OP_LOGICAL_NOT, e), e->loc);
}

static kc_expr* vector_logic(kc_builder* b, const kc_node* n, kc_expr* left, bool is_and)
{
    kc_expr* right = kc_build_value(b, n->children[1]);
    if (!right)
        return NULL;
    match_lanes(b, &left, &right);
    if (kc_lane_count(left->type) != kc_lane_count(right->type) || !kc_is_vector(right->type))
        return kc_build_malformed(b, n);
    left = lane_mask(b, left, KC_OP_NE);
    right = lane_mask(b, right, KC_OP_NE);
    if (left->type != right->type)
        return kc_build_malformed(b, n);
    return kc_ex_binary(b->m, is_and ? KC_OP_AND : KC_OP_OR, left, right);
}

static kc_expr* logic(kc_builder* b, const kc_node* n, bool is_used)
{
    const bool is_and = n->opcode[0] == '&';
    kc_expr* left = kc_build_value(b, n->children[0]);
    if (!left)
        return NULL;
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type)
        return NULL;
    if (kc_is_vector(type))
        return vector_logic(b, n, left, is_and);
    left = kc_build_to_bool(b, left);
    if (!left)
        return NULL;
    kc_block sub;
    kc_block* saved = kc_build_enter(b, &sub);
    kc_expr* right = NULL;
    const bool is_ok = is_used ? (right = kc_build_condition(b, n->children[1])) != NULL
                               : kc_build_effect(b, n->children[1]);
    kc_build_leave(b, saved);
    if (!is_ok)
        return NULL;
    if (!is_used) {
        if (sub.first)
            build_if(b, is_and ? left : negate(b, left), sub, (kc_block){0}, n->loc);
        return kc_build_nothing(b);
    }
    if (!sub.first)
        return kc_build_from_bool(
            b, kc_at(kc_ex_binary(b->m, is_and ? KC_OP_LOGICAL_AND : KC_OP_LOGICAL_OR, left, right),
                     n->loc));
    kc_expr* result = kc_build_hoist(b, left, is_and ? "both" : "either");
    if (!result)
        return NULL;
    kc_st_assign(b->m, &sub, kc_ex_clone(b->m, result->args[0]), right, n->loc);
    build_if(b, is_and ? kc_ex_clone(b->m, result) : negate(b, kc_ex_clone(b->m, result)), sub,
             (kc_block){0}, n->loc);
    return kc_build_from_bool(b, result);
}

/* c ? x : y on vectors takes lanes by the top bit of c's; both sides are evaluated. */
static kc_expr* vector_conditional(kc_builder* b, const kc_node* n, kc_expr* condition,
                                   const kc_node* yes, const kc_node* no)
{
    kc_expr* args[3] = {kc_build_value(b, no), kc_build_value(b, yes), condition};
    if (!args[0] || !args[1])
        return NULL;
    match_lanes(b, &args[0], &args[1]);
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    for (int i = 0; i < 2 && type; i++)
        if (kc_is_scalar(args[i]->type) && kc_is_vector(type))
            args[i] = kc_at(kc_ex_splat(b->m, type, kc_build_convert(b, args[i], type->element)),
                            args[i]->loc);
    if (!type || args[0]->type != args[1]->type ||
        kc_lane_count(args[0]->type) != kc_lane_count(condition->type) ||
        kc_lane(args[0]->type)->width != kc_lane(condition->type)->width)
        return type ? kc_build_malformed(b, n) : NULL;
    return kc_ex_builtin(b->m, KC_BUILTIN_SELECT, args[0]->type, 3, args);
}

kc_expr* kc_build_conditional(kc_builder* b, const kc_node* n, bool is_used)
{
    const bool is_short = n->kind == KC_NODE_BinaryConditionalOperator;
    if (n->child_count != (is_short ? 4u : 3u))
        return kc_build_malformed(b, n);
    const uint32_t first = is_short ? 1 : 0;
    kc_expr* const outer_opaque = b->opaque;
    if (is_short) { /* `a ?: b` evaluates a once */
        b->opaque = kc_build_hoist(b, kc_build_value(b, n->children[0]), "t");
        if (!b->opaque)
            return NULL;
    }
    const kc_node* yes = n->children[first + 1];
    const kc_node* no = n->children[first + 2];
    kc_expr* condition = kc_build_value(b, n->children[first]);
    kc_expr* result = NULL;
    kc_block yes_block, no_block;
    kc_block* saved;
    if (!condition)
        goto done;
    if (kc_is_vector(condition->type)) {
        result = vector_conditional(b, n, condition, yes, no);
        goto done;
    }
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    condition = kc_build_to_bool(b, condition);
    if (!condition || !type)
        goto done;
    if (type->kind == KC_TYPE_VOID)
        is_used = false;
    saved = kc_build_enter(b, &yes_block);
    kc_expr* yes_value = NULL;
    kc_expr* no_value = NULL;
    bool is_ok =
        is_used ? (yes_value = kc_build_coerce(b, kc_build_value(b, yes), type, n->loc)) != NULL
                : kc_build_effect(b, yes);
    kc_build_leave(b, saved);
    saved = kc_build_enter(b, &no_block);
    is_ok &= is_used ? (no_value = kc_build_coerce(b, kc_build_value(b, no), type, n->loc)) != NULL
                     : kc_build_effect(b, no);
    kc_build_leave(b, saved);
    if (!is_ok)
        goto done;
    const bool is_pure = !yes_block.first && !no_block.first;
    if (!is_used) {
        if (!is_pure)
            build_if(b, condition, yes_block, no_block, n->loc);
        result = kc_build_nothing(b);
    } else if (is_pure) {
        result = kc_ex_select(b->m, condition, yes_value, no_value);
    } else {
        kc_var* chosen = kc_build_temp(b, type, "chosen", n->loc);
        kc_st_declare(b->m, b->block, chosen, NULL, n->loc);
        kc_st_assign(b->m, &yes_block, kc_at(kc_ex_var(b->m, chosen), n->loc), yes_value, n->loc);
        kc_st_assign(b->m, &no_block, kc_at(kc_ex_var(b->m, chosen), n->loc), no_value, n->loc);
        build_if(b, condition, yes_block, no_block, n->loc);
        result = kc_ex_load_var(b->m, chosen);
    }
done:
    b->opaque = outer_opaque;
    return kc_at(result, n->loc);
}

/* ---- unary and binary ------------------------------------------------------------------------ */

static kc_expr* address_of(kc_builder* b, const kc_node* n)
{
    const kc_node* operand = n->children[0];
    const kc_node* inner = kc_strip(operand);
    if (inner->kind == KC_NODE_DeclRefExpr && inner->ref_kind &&
        strcmp(inner->ref_kind, "FunctionDecl") == 0)
        return kc_build_error(b, n->loc, KC_DIAG_FUNCTION_POINTER,
                              "the address of a function is not supported");
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    kc_expr* place = kc_build_place(b, operand);
    if (!place || !type)
        return NULL;
    if (type->kind != KC_TYPE_POINTER)
        return kc_build_malformed(b, n);
    if (place->kind == KC_EX_DEREF)
        return kc_build_coerce(b, place->args[0], type, n->loc);
    if (place->kind == KC_EX_LANES && place->u.lanes.count > 1)
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                              "the address of vector components is not supported");
    if (place->kind == KC_EX_LANES) {
        kc_expr* lane = kc_ex_const_int(b->m, kc_build_int(b), place->u.lanes.index[0]);
        place = kc_at(kc_ex_index(b->m, place->args[0], kc_at(lane, n->loc)), n->loc);
    }
    if (place->type != type->element || kc_place_space(place) != type->space)
        return kc_build_malformed(b, n);
    return kc_ex_address(b->m, place, type);
}

kc_expr* kc_build_unary(kc_builder* b, const kc_node* n, bool is_used)
{
    if (!n->opcode || n->child_count != 1)
        return kc_build_malformed(b, n);
    const char* op = n->opcode;
    const kc_node* operand = n->children[0];
    if (strcmp(op, "++") == 0 || strcmp(op, "--") == 0)
        return step(b, n, is_used);
    if (!is_used && strcmp(op, "&") != 0 && strcmp(op, "*") != 0)
        return kc_build_effect(b, operand) ? kc_build_nothing(b) : NULL;
    if (strcmp(op, "*") == 0) {
        kc_expr* place = kc_build_place(b, n);
        return place ? kc_ex_load(b->m, place) : NULL;
    }
    if (strcmp(op, "&") == 0)
        return address_of(b, n);
    if (strcmp(op, "__extension__") == 0)
        return kc_build_value(b, operand);
    kc_expr* value = kc_build_value(b, operand);
    if (!value)
        return NULL;
    if (strcmp(op, "!") == 0) {
        if (kc_is_vector(value->type))
            return lane_mask(b, value, KC_OP_EQ);
        value = kc_build_to_bool(b, value);
        return value ? kc_build_from_bool(b, negate(b, value)) : NULL;
    }
    value = kc_build_from_bool(b, value);
    if (!kc_is_integer(value->type) && !kc_is_float(value->type))
        return kc_build_malformed(b, n);
    if (strcmp(op, "+") == 0)
        return value;
    if (strcmp(op, "-") == 0)
        return kc_ex_unary(b->m, KC_OP_NEG, value);
    if (strcmp(op, "~") == 0 && kc_is_integer(value->type))
        return kc_ex_unary(b->m, KC_OP_BIT_NOT, value);
    return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "the operator '%s' is not supported here",
                          op);
}

kc_expr* kc_build_binary(kc_builder* b, const kc_node* n, bool is_used)
{
    if (!n->opcode || n->child_count != 2)
        return kc_build_malformed(b, n);
    const char* opcode = n->opcode;
    if (n->kind == KC_NODE_CompoundAssignOperator)
        return compound_assign(b, n, is_used);
    if (strcmp(opcode, "=") == 0)
        return assign(b, n, is_used);
    if (strcmp(opcode, ",") == 0) {
        if (!kc_build_effect(b, n->children[0]))
            return NULL;
        if (is_used)
            return kc_build_value(b, n->children[1]);
        return kc_build_effect(b, n->children[1]) ? kc_build_nothing(b) : NULL;
    }
    if (strcmp(opcode, "&&") == 0 || strcmp(opcode, "||") == 0)
        return logic(b, n, is_used);
    kc_op op;
    if (!find_operator(opcode, strlen(opcode), &op))
        return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "the operator '%s' is not supported",
                              opcode);
    if (!is_used) {
        const bool left = kc_build_effect(b, n->children[0]);
        return kc_build_effect(b, n->children[1]) && left ? kc_build_nothing(b) : NULL;
    }
    kc_expr* left = kc_build_value(b, n->children[0]);
    kc_expr* right = kc_build_value(b, n->children[1]);
    return arithmetic(b, op, left, right, n->loc);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static kc_expr* decay(kc_builder* b, const kc_node* n, const kc_node* operand, const kc_type* type)
{
    kc_expr* array = operand->is_lvalue ? kc_build_place(b, operand)
                                        : kc_build_as_place(b, kc_build_value(b, operand));
    if (!array)
        return NULL;
    if (array->type->kind != KC_TYPE_ARRAY || type->kind != KC_TYPE_POINTER)
        return kc_build_malformed(b, n);
    kc_expr* first = kc_at(
        kc_ex_index(b->m, array, kc_at(kc_ex_const_int(b->m, kc_build_int(b), 0), n->loc)), n->loc);
    if (first->type != type->element || kc_place_space(first) != type->space)
        return kc_build_malformed(b, n);
    return kc_ex_address(b->m, first, type);
}

static kc_expr* splat(kc_builder* b, const kc_node* n, kc_expr* value, const kc_type* type)
{
    if (kc_is_vector(value->type) || !kc_is_vector(type) || !kc_is_scalar(value->type))
        return kc_build_malformed(b, n);
    return kc_ex_splat(b->m, type, kc_build_convert(b, value, type->element));
}

static kc_expr* convert_scalar(kc_builder* b, const kc_node* n, kc_expr* value, const kc_type* type)
{
    const bool is_ok = (kc_is_scalar(value->type) || kc_is_vector(value->type)) &&
                       (kc_is_scalar(type) || kc_is_vector(type)) &&
                       kc_lane_count(value->type) == kc_lane_count(type);
    return is_ok ? kc_build_convert(b, value, type) : kc_build_malformed(b, n);
}

kc_expr* kc_build_cast(kc_builder* b, const kc_node* n)
{
    const char* kind = n->cast_kind;
    const kc_node* operand = kc_node_child(n, 0);
    if (!kind || !operand)
        return kc_build_malformed(b, n);
    if (strcmp(kind, "LValueToRValue") == 0)
        return kc_build_value(b, operand);
    if (strcmp(kind, "ToVoid") == 0)
        return kc_build_effect(b, operand) ? kc_build_nothing(b) : NULL;
    if (strcmp(kind, "FunctionToPointerDecay") == 0 || strcmp(kind, "BuiltinFnToFnPtr") == 0)
        return kc_build_error(b, n->loc, KC_DIAG_FUNCTION_POINTER,
                              "pointers to functions are not supported");
    if (strcmp(kind, "IntToOCLSampler") == 0)
        return kc_build_error(b, n->loc, KC_DIAG_IMAGE, "samplers are not supported");
    const kc_type* type = kc_build_plain_type(b, &n->type, n->loc);
    if (!type)
        return NULL;
    if (strcmp(kind, "ArrayToPointerDecay") == 0)
        return decay(b, n, operand, type);
    if (strcmp(kind, "NullToPointer") == 0)
        return type->kind == KC_TYPE_POINTER ? kc_ex_zero(b->m, type) : kc_build_malformed(b, n);
    kc_expr* value = kc_build_value(b, operand);
    if (!value)
        return NULL;
    if (strcmp(kind, "NoOp") == 0)
        return kc_is_pointer(type) ? kc_build_coerce(b, value, type, n->loc) : value;
    if (strcmp(kind, "BitCast") == 0 || strcmp(kind, "AddressSpaceConversion") == 0) {
        if (kc_is_pointer(value->type) && kc_is_pointer(type))
            return kc_build_coerce(b, value, type, n->loc);
        if (value->type == type)
            return value;
        const bool is_vector = kc_is_vector(value->type) || kc_is_vector(type);
        return is_vector && value->type->size == type->size ? kc_ex_bitcast(b->m, type, value)
                                                            : kc_build_malformed(b, n);
    }
    if (strcmp(kind, "IntegralToPointer") == 0) {
        value = kc_build_from_bool(b, value);
        if (value->type->kind != KC_TYPE_INT || !kc_is_pointer(type))
            return kc_build_malformed(b, n);
        return kc_ex_bitcast(b->m, type, kc_build_convert(b, value, kc_type_size_t(b->m)));
    }
    if (strcmp(kind, "PointerToIntegral") == 0) {
        if (!kc_is_pointer(value->type) || type->kind != KC_TYPE_INT)
            return kc_build_malformed(b, n);
        return kc_build_convert(b, kc_at(kc_ex_bitcast(b->m, kc_type_size_t(b->m), value), n->loc),
                                type);
    }
    if (strcmp(kind, "PointerToBoolean") == 0 || strcmp(kind, "IntegralToBoolean") == 0 ||
        strcmp(kind, "FloatingToBoolean") == 0)
        return kc_build_to_bool(b, value);
    if (strcmp(kind, "VectorSplat") == 0)
        return splat(b, n, value, type);
    if (strcmp(kind, "BooleanToSignedIntegral") ==
        0) { /* true is -1, as a comparison of vectors gives */
        value = convert_scalar(b, n, value, type);
        return value ? kc_ex_unary(b->m, KC_OP_NEG, value) : NULL;
    }
    if (strcmp(kind, "IntegralCast") == 0 || strcmp(kind, "IntegralToFloating") == 0 ||
        strcmp(kind, "FloatingToIntegral") == 0 || strcmp(kind, "FloatingCast") == 0)
        return convert_scalar(b, n, value, type);
    if (strcmp(kind, "ZeroToOCLOpaqueType") == 0)
        return kc_ex_const_int(b->m, kc_type_size_t(b->m), 0);
    return kc_build_error(b, n->loc, KC_DIAG_EXPRESSION, "this conversion is not supported (%s)",
                          kind);
}
