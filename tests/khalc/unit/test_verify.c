/* The verifier: what is well-formed passes, and each rule that is broken is refused for that reason. */
#include "build_ir.h"

#include <stdio.h>

/* diag.c's own list is private, so the text is looked for in what it prints. */
#include <unistd.h>

static const char* flushed(void)
{
    static char buffer[16384];
    FILE* file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    const int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    kc_diags_flush(&ir.diags);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    rewind(file);
    buffer[fread(buffer, 1, sizeof buffer - 1, file)] = 0;
    fclose(file);
    return buffer;
}

static void refused(const char* because)
{
    const uint32_t errors = ir.diags.error_count;
    assert_false(kc_verify_module(ir.m));
    assert_true(ir.diags.error_count > errors);
    const char* said = flushed();
    if (!strstr(said, because))
        fail_msg("expected \"%s\", got: %s", because, said);
    assert_false(kc_verify_module(ir.m)); /* leaves no marks behind */
    assert_string_equal(flushed(), said);
}

static void accepted(void)
{
    if (!kc_verify_module(ir.m))
        fail_msg("refused: %s", flushed());
    assert_true(kc_verify_module(ir.m));
}

static kc_var *a, *l, *n, *x, *v; /* global float*, local float*, int, float, float4 */

static void start(void)
{
    kernel("k");
    a = param("a", ir.global_float);
    l = param("l", ir.local_float);
    n = param("n", ir.i32);
    x = declare("x", ir.f32, real(1));
    v = declare("v", ir.f32x4, kc_ex_zero(ir.m, ir.f32x4));
}

/* A fresh kernel in a fresh module that evaluates `e` of the type it claims. */
static void again(void)
{
    void* none = NULL;
    ir_teardown(&none);
    assert_int_equal(ir_setup(&none), 0);
    start();
}

static kc_expr* retyped(kc_expr* e, const kc_type* type)
{
    e->type = type;
    return e;
}

#define EXPECT_REFUSED(because, value)                                                                                 \
    do {                                                                                                               \
        again();                                                                                                       \
        kc_expr* refused_value = (value);                                                                              \
        declare("refused", refused_value->type, refused_value);                                                        \
        refused(because);                                                                                              \
    } while (0)

#define EXPECT_ACCEPTED(value)                                                                                         \
    do {                                                                                                               \
        again();                                                                                                       \
        kc_expr* accepted_value = (value);                                                                             \
        declare("accepted", accepted_value->type, accepted_value);                                                     \
        accepted();                                                                                                    \
    } while (0)

static kc_expr* lanes(kc_expr* (*make)(kc_module*, kc_expr*, uint32_t, const uint8_t*), kc_expr* e, uint8_t first,
                      uint8_t second)
{
    const uint8_t index[] = {first, second};
    return make(ir.m, e, 2, index);
}

static kc_expr* list(kc_expr_kind kind, const kc_type* type, uint32_t count, kc_expr** args)
{
    return kc_ex_list(ir.m, kind, type, count, args);
}

static kc_expr* builtin(kc_builtin id, const kc_type* type, uint32_t count, kc_expr** args)
{
    return kc_ex_builtin(ir.m, id, type, count, args);
}

static const kc_type* pointer_to(const kc_type* t, kc_space space)
{
    return kc_type_pointer(ir.m, t, space, false, false, false);
}

static void places_and_values(void** state)
{
    (void)state;
    EXPECT_ACCEPTED(get(x));
    EXPECT_REFUSED("a place where a value must stand", kc_ex_var(ir.m, x));
    EXPECT_REFUSED("a place where a value must stand", binary(KC_OP_ADD, get(x), kc_ex_var(ir.m, x)));
    EXPECT_REFUSED("a value where a place must stand", retyped(kc_ex_load(ir.m, real(1)), ir.f32));
    EXPECT_REFUSED("LOAD: not the place's type", retyped(get(x), ir.i32));
    EXPECT_REFUSED("'x' is used with another type", kc_ex_load(ir.m, retyped(kc_ex_var(ir.m, x), ir.i32)));
    EXPECT_ACCEPTED(kc_ex_load(ir.m, element(a, get(n))));
    EXPECT_REFUSED("DEREF of what is no pointer", kc_ex_load(ir.m, retyped(kc_ex_deref(ir.m, get(n)), ir.f32)));
    EXPECT_REFUSED("DEREF: not the element's type",
                   kc_ex_load(ir.m, retyped(kc_ex_deref(ir.m, get(a)), ir.i32)));
    EXPECT_ACCEPTED(kc_ex_load(ir.m, kc_ex_index(ir.m, kc_ex_var(ir.m, v), get(n))));
    EXPECT_REFUSED("INDEX of what is no array or vector",
                   kc_ex_load(ir.m, retyped(kc_ex_index(ir.m, kc_ex_var(ir.m, x), get(n)), ir.f32)));
    EXPECT_REFUSED("INDEX by what is no integer",
                   kc_ex_load(ir.m, kc_ex_index(ir.m, kc_ex_var(ir.m, v), get(x))));
    EXPECT_REFUSED("INDEX: not the element's type",
                   kc_ex_load(ir.m, retyped(kc_ex_index(ir.m, kc_ex_var(ir.m, v), get(n)), ir.i32)));
    again();
    kc_expr* typeless = get(x);
    typeless->args[0]->type = NULL;
    declare("t", ir.f32, typeless);
    refused("a type is missing");
}

static void lanes_and_swizzles(void** state)
{
    (void)state;
    EXPECT_ACCEPTED(lanes(kc_ex_swizzle, get(v), 1, 1));
    EXPECT_ACCEPTED(kc_ex_load(ir.m, lanes(kc_ex_lanes, kc_ex_var(ir.m, v), 3, 0)));
    EXPECT_REFUSED("a place names lane 1 twice", kc_ex_load(ir.m, lanes(kc_ex_lanes, kc_ex_var(ir.m, v), 1, 1)));
    EXPECT_REFUSED("lane 4 of 4", lanes(kc_ex_swizzle, get(v), 1, 4));
    again();
    kc_expr* five = lanes(kc_ex_swizzle, get(v), 0, 1);
    five->u.lanes.count = 5;
    declare("five", five->type, five);
    refused("5 lanes");
    EXPECT_REFUSED("the type of lanes", retyped(lanes(kc_ex_swizzle, get(v), 0, 1), ir.f32x4));
    again();
    kc_expr* scalar = kc_ex_unary(ir.m, KC_OP_NEG, get(x));
    scalar->kind = KC_EX_SWIZZLE;
    declare("scalar", ir.f32, scalar);
    refused("lanes of what is no vector");
}

static void pointers(void** state)
{
    (void)state;
    EXPECT_ACCEPTED(kc_ex_address(ir.m, kc_ex_var(ir.m, x), pointer_to(ir.f32, KC_SPACE_PRIVATE)));
    EXPECT_REFUSED("ADDRESS changes the address space",
                   kc_ex_address(ir.m, kc_ex_var(ir.m, x), pointer_to(ir.f32, KC_SPACE_GLOBAL)));
    EXPECT_REFUSED("ADDRESS gives no pointer",
                   kc_ex_address(ir.m, kc_ex_var(ir.m, x), pointer_to(ir.i32, KC_SPACE_PRIVATE)));
    EXPECT_REFUSED("ADDRESS of several lanes",
                   kc_ex_address(ir.m, lanes(kc_ex_lanes, kc_ex_var(ir.m, v), 0, 1),
                                 pointer_to(kc_type_vector(ir.m, ir.f32, 2), KC_SPACE_PRIVATE)));
    EXPECT_REFUSED("OFFSET: wrong type", kc_ex_offset(ir.m, get(a), get(x)));
    EXPECT_REFUSED("OFFSET: wrong type", kc_ex_offset(ir.m, get(n), number(1)));
    EXPECT_REFUSED("OFFSET of a pointer to void",
                   kc_ex_offset(ir.m, kc_ex_zero(ir.m, pointer_to(ir.none, KC_SPACE_GLOBAL)), number(1)));
    const kc_type* i64 = kc_type_int(ir.m, 64, true);
    kc_expr* both[] = {NULL, NULL};
    again();
    both[0] = get(a), both[1] = get(a);
    i64 = kc_type_int(ir.m, 64, true);
    declare("d", i64, list(KC_EX_POINTER_DIFF, i64, 2, both));
    accepted();
    again();
    both[0] = get(a), both[1] = get(l);
    i64 = kc_type_int(ir.m, 64, true);
    declare("d", i64, list(KC_EX_POINTER_DIFF, i64, 2, both));
    refused("POINTER_DIFF of pointers of two types");
    again();
    both[0] = get(a), both[1] = get(a);
    declare("d", ir.i32, list(KC_EX_POINTER_DIFF, ir.i32, 2, both));
    refused("no ptrdiff_t");
}

static void constants(void** state)
{
    (void)state;
    again();
    kc_expr* wide = number(5);
    wide->u.bits = UINT64_C(0x80000000); /* an int's, not sign-extended */
    declare("wide", ir.i32, wide);
    refused("bits outside the type's width");
    again();
    kc_expr* truth = kc_ex_const_bool(ir.m, true);
    truth->u.bits = 2;
    declare("truth", ir.boolean, truth);
    refused("bits outside the type's width");
    EXPECT_REFUSED("CONST of what is no scalar", retyped(number(0), ir.i32x4));
    EXPECT_ACCEPTED(kc_ex_zero(ir.m, ir.global_float));
    EXPECT_REFUSED("a value of type void", kc_ex_zero(ir.m, ir.none));
}

static void operators(void** state)
{
    (void)state;
    EXPECT_ACCEPTED(binary(KC_OP_SHL, get(n), kc_ex_const_int(ir.m, kc_type_int(ir.m, 8, false), 3)));
    EXPECT_REFUSED("shift: wrong type", binary(KC_OP_SHL, get(n), kc_ex_zero(ir.m, ir.i32x4)));
    EXPECT_REFUSED("operands of two types", binary(KC_OP_ADD, get(n), get(x)));
    EXPECT_REFUSED("arithmetic: wrong type", retyped(binary(KC_OP_ADD, get(n), number(1)), ir.u32));
    EXPECT_REFUSED("arithmetic: wrong type", binary(KC_OP_ADD, get(a), get(a)));
    EXPECT_REFUSED("integer arithmetic", binary(KC_OP_REM, get(x), get(x)));
    EXPECT_REFUSED("integer arithmetic", binary(KC_OP_AND, get(x), get(x)));
    EXPECT_ACCEPTED(binary(KC_OP_LT, get(v), get(v)));
    EXPECT_ACCEPTED(binary(KC_OP_EQ, get(a), get(a)));
    EXPECT_REFUSED("comparison: wrong type", retyped(binary(KC_OP_LT, get(v), get(v)), ir.boolean));
    EXPECT_REFUSED("comparison: wrong type", retyped(binary(KC_OP_EQ, get(n), get(n)), ir.i32));
    EXPECT_REFUSED("comparison: wrong type",
                   binary(KC_OP_LT, kc_ex_const_bool(ir.m, true), kc_ex_const_bool(ir.m, true)));
    EXPECT_REFUSED("logical operator: not bool", binary(KC_OP_LOGICAL_AND, get(n), get(n)));
    EXPECT_REFUSED("an operator of one operand", binary(KC_OP_NEG, get(n), get(n)));
    EXPECT_REFUSED("an operator of two operands", kc_ex_unary(ir.m, KC_OP_ADD, get(n)));
    EXPECT_REFUSED("UNARY: wrong type", kc_ex_unary(ir.m, KC_OP_BIT_NOT, get(x)));
    EXPECT_REFUSED("UNARY: wrong type", kc_ex_unary(ir.m, KC_OP_LOGICAL_NOT, get(n)));
    EXPECT_REFUSED("UNARY: wrong type", kc_ex_unary(ir.m, KC_OP_NEG, get(a)));
    EXPECT_REFUSED("SELECT: wrong type", kc_ex_select(ir.m, get(n), get(x), get(x)));
    EXPECT_REFUSED("SELECT: wrong type", kc_ex_select(ir.m, kc_ex_const_bool(ir.m, true), get(x), get(n)));
}

static void conversions(void** state)
{
    (void)state;
    EXPECT_ACCEPTED(kc_ex_convert(ir.m, ir.i32x4, get(v), KC_ROUND_UP, true));
    EXPECT_ACCEPTED(kc_ex_convert(ir.m, ir.boolean, get(x), KC_ROUND_DEFAULT, false));
    EXPECT_ACCEPTED(kc_ex_convert(ir.m, pointer_to(ir.i32, KC_SPACE_GLOBAL), get(a), KC_ROUND_DEFAULT, false));
    EXPECT_REFUSED("CONVERT changes the lane count", kc_ex_convert(ir.m, ir.i32, get(v), KC_ROUND_DEFAULT, false));
    EXPECT_REFUSED("CONVERT saturates", kc_ex_convert(ir.m, ir.f32, get(n), KC_ROUND_DEFAULT, true));
    EXPECT_REFUSED("CONVERT with an unknown rounding", kc_ex_convert(ir.m, ir.f32, get(n), (kc_round)9, false));
    EXPECT_REFUSED("CONVERT changes a pointer's address space",
                   kc_ex_convert(ir.m, ir.local_float, get(a), KC_ROUND_DEFAULT, false));
    EXPECT_REFUSED("CONVERT between a pointer and a number",
                   kc_ex_convert(ir.m, kc_type_int(ir.m, 64, false), get(a), KC_ROUND_DEFAULT, false));
    EXPECT_REFUSED("CONVERT of a type that has none",
                   kc_ex_convert(ir.m, kc_type_array(ir.m, ir.i32, 2), get(n), KC_ROUND_DEFAULT, false));
    EXPECT_ACCEPTED(kc_ex_bitcast(ir.m, kc_type_int(ir.m, 64, false), get(a)));
    EXPECT_ACCEPTED(kc_ex_bitcast(ir.m, kc_type_vector(ir.m, ir.i32, 3), get(v)));
    EXPECT_REFUSED("BITCAST changes the size", kc_ex_bitcast(ir.m, kc_type_int(ir.m, 64, false), get(x)));
    EXPECT_REFUSED("BITCAST between types that have none", kc_ex_bitcast(ir.m, ir.local_float, get(a)));
}

static void vectors_and_aggregates(void** state)
{
    (void)state;
    kc_expr* parts[4];
    again();
    parts[0] = get(x), parts[1] = lanes(kc_ex_swizzle, get(v), 0, 1), parts[2] = real(0);
    declare("c", ir.f32x4, list(KC_EX_COMPOSE, ir.f32x4, 3, parts));
    accepted();
    again();
    parts[0] = get(x), parts[1] = get(x);
    declare("c", ir.f32x4, list(KC_EX_COMPOSE, ir.f32x4, 2, parts));
    refused("lanes do not add up");
    again();
    parts[0] = get(v), parts[1] = get(n);
    declare("c", ir.f32x4, list(KC_EX_COMPOSE, ir.f32x4, 2, parts));
    refused("COMPOSE: part 1 has another lane type");
    EXPECT_REFUSED("SPLAT", kc_ex_splat(ir.m, ir.f32x4, get(n)));
    again();
    const kc_type* pair = kc_type_array(ir.m, ir.f32, 2);
    parts[0] = real(0), parts[1] = real(1);
    declare("p", pair, list(KC_EX_AGGREGATE, pair, 2, parts));
    accepted();
    again();
    pair = kc_type_array(ir.m, ir.f32, 2);
    parts[0] = real(0);
    declare("p", pair, list(KC_EX_AGGREGATE, pair, 1, parts));
    refused("AGGREGATE of 1 elements for an array of 2");
    again();
    pair = kc_type_array(ir.m, ir.f32, 2);
    parts[0] = real(0), parts[1] = number(1);
    declare("p", pair, list(KC_EX_AGGREGATE, pair, 2, parts));
    refused("element 1 has another type");
    again();
    parts[0] = real(0);
    declare("p", ir.f32, list(KC_EX_AGGREGATE, ir.f32, 1, parts));
    refused("AGGREGATE of what is no array or struct");
}

static const kc_type* make_record(bool is_union)
{
    kc_record* r = kc_record_create(ir.m, "r", is_union, nowhere);
    r->field_count = 2;
    r->fields = KC_NEW_ARRAY(ir.arena, kc_field, 2);
    r->fields[0] = (kc_field){"f", ir.f32, 0};
    r->fields[1] = (kc_field){"i", ir.i32, is_union ? 0 : 4};
    r->size = is_union ? 4 : 8;
    r->align = 4;
    return kc_type_struct(ir.m, r);
}

static void structs_and_unions(void** state)
{
    (void)state;
    kc_expr* parts[2];
    again();
    const kc_type* t = make_record(false);
    parts[0] = real(0), parts[1] = number(1);
    kc_var* s = declare("s", t, list(KC_EX_AGGREGATE, t, 2, parts));
    declare("f", ir.i32, kc_ex_load(ir.m, kc_ex_field(ir.m, kc_ex_var(ir.m, s), 1)));
    accepted();
    kc_expr* field = kc_ex_field(ir.m, kc_ex_var(ir.m, s), 1);
    field->u.field = 2;
    declare("g", ir.i32, kc_ex_load(ir.m, field));
    refused("FIELD that does not exist");
    again();
    t = make_record(false);
    s = declare("s", t, NULL);
    declare("f", ir.f32, kc_ex_load(ir.m, retyped(kc_ex_field(ir.m, kc_ex_var(ir.m, s), 1), ir.f32)));
    refused("FIELD: not the field's type");
    again();
    t = make_record(false);
    parts[0] = real(0), parts[1] = real(1);
    declare("s", t, list(KC_EX_AGGREGATE, t, 2, parts));
    refused("field 1 has another type");
    again();
    t = make_record(false);
    parts[0] = real(0);
    declare("s", t, list(KC_EX_AGGREGATE, t, 1, parts));
    refused("AGGREGATE of 1 fields for a struct of 2");
    again();
    t = make_record(true);
    parts[0] = number(1);
    kc_expr* u = list(KC_EX_AGGREGATE, t, 1, parts);
    u->u.field = 1;
    declare("u", t, u);
    accepted();
    u->u.field = 0;
    refused("AGGREGATE of a union");
}

static void builtin_classes(void** state)
{
    (void)state;
    const kc_type* f32x3;
    const kc_type* u8x4;
    kc_expr* args[3];
#define CHECK(reason, id, result, ...)                                                                                   \
    do {                                                                                                               \
        again();                                                                                                       \
        f32x3 = kc_type_vector(ir.m, ir.f32, 3);                                                                       \
        u8x4 = kc_type_vector(ir.m, kc_type_int(ir.m, 8, false), 4);                                                   \
        (void)f32x3, (void)u8x4;                                                                                       \
        kc_expr* given[] = {__VA_ARGS__};                                                                              \
        memcpy(args, given, sizeof given);                                                                             \
        kc_expr* made = builtin(KC_BUILTIN_##id, result, sizeof given / sizeof given[0], args);                          \
        declare("made", made->type, made);                                                                             \
        if (reason)                                                                                                    \
            refused(reason);                                                                                           \
        else                                                                                                           \
            accepted();                                                                                                \
    } while (0)
    const char* const good = NULL;
    const char* const wrong = "wrong types";
    const char* const too_few = "1 operands where 2 are needed";
    const char* const unknown = "of unknown kind";
    CHECK(good, POW, ir.f32, get(x), get(x));
    CHECK(wrong, POW, ir.f32, get(x), get(n));
    CHECK(wrong, SIN, ir.i32, get(n));
    CHECK(too_few, POW, ir.f32, get(x));
    CHECK(good, LDEXP, ir.f32x4, get(v), kc_ex_zero(ir.m, ir.i32x4));
    CHECK(wrong, LDEXP, ir.f32x4, get(v), get(n));
    CHECK(good, ILOGB, ir.i32, get(x));
    CHECK(wrong, ILOGB, ir.u32, get(x));
    CHECK(good, MUL_HI, ir.i32, get(n), get(n));
    CHECK(wrong, MUL_HI, ir.f32, get(x), get(x));
    CHECK(good, MAX, ir.f32, get(x), get(x));
    CHECK(wrong, MAX, ir.f32x4, get(v), get(x));
    CHECK(wrong, MAX, ir.boolean, kc_ex_const_bool(ir.m, true), kc_ex_const_bool(ir.m, true));
    CHECK(good, ABS, ir.u32, get(n));
    CHECK(wrong, ABS, ir.i32, get(n));
    CHECK(good, ISNAN, ir.i32, get(x));
    CHECK(good, ISNAN, ir.i32x4, get(v));
    CHECK(wrong, ISNAN, ir.boolean, get(x));
    CHECK(good, ANY, ir.i32, kc_ex_zero(ir.m, ir.i32x4));
    CHECK(wrong, ANY, ir.boolean, kc_ex_zero(ir.m, ir.i32x4));
    CHECK(good, DOT, ir.f32, get(v), get(v));
    CHECK(wrong, DOT, ir.f32x4, get(v), get(v));
    CHECK(good, NORMALIZE, ir.f32x4, get(v));
    CHECK(good, CROSS, f32x3, kc_ex_zero(ir.m, f32x3), kc_ex_zero(ir.m, f32x3));
    CHECK(wrong, CROSS, ir.f32, get(x), get(x));
    CHECK(wrong, LENGTH, ir.f32, kc_ex_zero(ir.m, kc_type_vector(ir.m, ir.f32, 8)));
    CHECK(good, NAN, ir.f32, kc_ex_zero(ir.m, ir.u32));
    CHECK(wrong, NAN, ir.f32, get(n));
    CHECK(good, UPSAMPLE, kc_type_int(ir.m, 64, true), get(n), kc_ex_zero(ir.m, ir.u32));
    CHECK(wrong, UPSAMPLE, kc_type_int(ir.m, 64, true), get(n), get(n));
    CHECK(good, SELECT, ir.f32x4, get(v), get(v), kc_ex_zero(ir.m, ir.i32x4));
    CHECK(wrong, SELECT, ir.f32x4, get(v), get(v), get(n));
    CHECK(good, SHUFFLE, u8x4, kc_ex_zero(ir.m, u8x4), kc_ex_zero(ir.m, u8x4));
    CHECK(wrong, SHUFFLE, ir.f32x4, get(v), kc_ex_zero(ir.m, ir.i32x4));
    CHECK(good, SHUFFLE2, u8x4, kc_ex_zero(ir.m, u8x4), kc_ex_zero(ir.m, u8x4), kc_ex_zero(ir.m, u8x4));
    CHECK(unknown, COUNT, ir.f32, get(x));
#undef CHECK
}

static void queries(void** state)
{
    (void)state;
    EXPECT_ACCEPTED(kc_ex_work_item(ir.m, KC_QUERY_WORK_DIM, NULL));
    EXPECT_ACCEPTED(kc_ex_local_bytes(ir.m, l));
    EXPECT_REFUSED("the dimension is no integer", kc_ex_work_item(ir.m, KC_QUERY_GROUP_ID, get(x)));
    EXPECT_REFUSED("not size_t", retyped(kc_ex_work_item(ir.m, KC_QUERY_GROUP_ID, get(n)), ir.u32));
    EXPECT_REFUSED("0 operands where 1 are needed", kc_ex_work_item(ir.m, KC_QUERY_GROUP_ID, NULL));
    EXPECT_REFUSED("unknown query", kc_ex_work_item(ir.m, (kc_query)77, number(0)));
    EXPECT_REFUSED("LOCAL_BYTES of what is no __local parameter", kc_ex_local_bytes(ir.m, a));
}

static void the_tree_is_a_tree(void** state)
{
    (void)state;
    again();
    kc_expr* shared = get(n);
    declare("s", ir.i32, binary(KC_OP_ADD, shared, shared));
    refused("appears twice in the tree");
    again();
    shared = get(n);
    declare("s", ir.i32, shared);
    declare("t", ir.i32, shared);
    refused("appears twice in the tree");
    again();
    kc_stmt* s = barrier();
    s->next = s;
    refused("links are broken");
    s->next = NULL;
    again();
    kc_stmt* branch = enter_if(kc_ex_const_bool(ir.m, true));
    kc_stmt* inside = barrier();
    leave();
    branch->orelse.first = branch->orelse.last = inside;
    refused("a statement appears twice");
    again();
    barrier();
    ir.f->body.last = ir.f->body.first;
    refused("last statement is not its last");
    again();
    kc_expr* holed = binary(KC_OP_ADD, number(1), number(2));
    holed->args[1] = NULL;
    declare("h", ir.i32, holed);
    refused("operand 1 is missing");
    again();
    barrier()->value = number(1);
    refused("a part that its kind does not have");
    again();
    put((kc_stmt_kind)99);
    refused("a statement of unknown kind");
    again();
    kc_expr* odd = number(1);
    odd->kind = (kc_expr_kind)99;
    declare("odd", ir.i32, odd);
    refused("of unknown kind");
}

static void types_exist_and_are_interned(void** state)
{
    (void)state;
    again();
    kc_type* copy = KC_NEW(ir.arena, kc_type);
    *copy = *ir.f32;
    declare("c", copy, kc_ex_zero(ir.m, copy));
    refused("not interned");
    EXPECT_REFUSED("an integer type of 24 bits", kc_ex_zero(ir.m, kc_type_int(ir.m, 24, true)));
    EXPECT_REFUSED("a floating type of 8 bits", kc_ex_zero(ir.m, kc_type_float(ir.m, 8)));
    EXPECT_REFUSED("a vector type that does not exist", kc_ex_zero(ir.m, kc_type_vector(ir.m, ir.f32, 5)));
    EXPECT_REFUSED("a vector type that does not exist", kc_ex_zero(ir.m, kc_type_vector(ir.m, ir.boolean, 4)));
    EXPECT_REFUSED("a value of type void", kc_ex_zero(ir.m, kc_type_array(ir.m, ir.none, 4)));
    EXPECT_REFUSED("no address space",
                   kc_ex_zero(ir.m, kc_type_pointer(ir.m, ir.f32, (kc_space)7, false, false, false)));
}

static void variables(void** state)
{
    (void)state;
    again();
    enter_block();
    kc_var* inner = declare("inner", ir.i32, number(1));
    leave();
    declare("late", ir.i32, get(inner));
    refused("'inner' is not declared here");
    again();
    kc_var* undeclared = kc_var_create(ir.m, ir.f, "undeclared", ir.i32, nowhere);
    declare("u", ir.i32, get(undeclared));
    refused("'undeclared' is not declared here");
    again();
    kc_var* self = kc_var_create(ir.m, ir.f, "self", ir.i32, nowhere);
    kc_st_declare(ir.m, ir.here, self, get(self), nowhere);
    refused("'self' is not declared here");
    again();
    kc_st_declare(ir.m, ir.here, x, NULL, nowhere);
    refused("'x' is declared twice");
    again();
    kc_st_declare(ir.m, ir.here, n, NULL, nowhere);
    refused("DECLARE of what is no private variable");
    again();
    declare("typed", ir.i32, get(x));
    refused("DECLARE: the value has another type");
    again();
    kc_function* other = kernel("other");
    kc_var* theirs = param("theirs", ir.i32);
    (void)other;
    kernel("mine");
    declare("m", ir.i32, get(theirs));
    refused("'theirs' belongs to another function");
    again();
    kc_local_add(ir.m, ir.f, "tile", ir.f32, nowhere)->kind = KC_VAR_PRIVATE;
    refused("'tile' is of the wrong kind");
    again();
    ir.f->params[1] = ir.f->params[0];
    refused("'a' is declared twice");
}

static void loop_scopes(void** state)
{
    (void)state;
    again();
    kc_stmt* loop = put(KC_ST_LOOP);
    enter(&loop->head);
    kc_var* h = declare("h", ir.i32, number(1));
    leave();
    loop->value = binary(KC_OP_LT, get(h), get(n));
    enter(&loop->body);
    kc_var* b = declare("b", ir.i32, get(h));
    leave();
    enter(&loop->step);
    declare("s", ir.i32, get(h));
    leave();
    accepted();
    enter(&loop->step);
    set(n, get(b));
    leave();
    refused("'b' is not declared here");
    again();
    loop = put(KC_ST_LOOP);
    loop->test_at_end = true;
    enter(&loop->head);
    h = declare("h", ir.i32, number(1));
    leave();
    loop->value = binary(KC_OP_LT, get(h), get(n));
    accepted();
    enter(&loop->body);
    set(n, get(h)); /* runs before head */
    leave();
    refused("'h' is not declared here");
    again();
    loop = enter_loop(get(n));
    leave();
    refused("LOOP: the value has another type");
}

static void assignments(void** state)
{
    (void)state;
    again();
    store(element(a, get(n)), get(x));
    store(lanes(kc_ex_lanes, kc_ex_var(ir.m, v), 0, 2), lanes(kc_ex_swizzle, get(v), 1, 1));
    accepted();
    set(n, get(x));
    refused("ASSIGN: the value has another type");
    again();
    store(real(1), real(2));
    refused("a value where a place must stand");
    again();
    kc_var* c = param("c", pointer_to(ir.f32, KC_SPACE_CONSTANT));
    store(kc_ex_deref(ir.m, get(c)), real(1));
    refused("ASSIGN to constant memory");
    again();
    put(KC_ST_ASSIGN)->value = real(1);
    refused("a place is missing");
    again();
    put(KC_ST_ASSIGN)->place = kc_ex_var(ir.m, x);
    refused("ASSIGN: a value is missing");
}

static void exits(void** state)
{
    (void)state;
    again();
    kc_stmt* loop = enter_loop(NULL);
    kc_stmt* block = enter_block();
    continue_of(loop);
    break_of(block);
    break_of(loop);
    leave();
    leave();
    accepted();
    break_of(loop);
    refused("BREAK of a statement that is not around it");
    again();
    kc_stmt* branch = enter_if(kc_ex_const_bool(ir.m, true));
    kc_stmt* wrong = break_of(branch);
    leave();
    refused("BREAK of a statement that is not around it");
    wrong->target = NULL;
    refused("BREAK of a statement that is not around it");
    again();
    block = enter_block();
    continue_of(block);
    leave();
    refused("CONTINUE outside the body of a loop");
    again();
    loop = enter_loop(NULL);
    leave();
    enter(&loop->step);
    continue_of(loop);
    leave();
    refused("CONTINUE outside the body of a loop");
}

static void switches(void** state)
{
    (void)state;
    again();
    kc_stmt* s = put(KC_ST_SWITCH);
    s->value = get(n);
    s->case_count = 2;
    s->cases = KC_NEW_ARRAY(ir.arena, kc_case, 2);
    uint64_t ones[] = {1, UINT64_MAX}, twos[] = {2};
    s->cases[0] = (kc_case){.value_count = 2, .values = ones};
    s->cases[1] = (kc_case){.value_count = 1, .values = twos, .is_default = true};
    accepted();
    twos[0] = 1;
    refused("a case stands twice");
    twos[0] = UINT64_MAX;
    refused("a case stands twice");
    twos[0] = UINT64_C(1) << 32;
    refused("a case outside the type's width");
    twos[0] = 2;
    s->cases[0].is_default = true;
    refused("SWITCH with 2 defaults");
    s->cases[0].is_default = false;
    s->value = get(x);
    refused("SWITCH on what is no integer");
}

static void calls_and_returns(void** state)
{
    (void)state;
    again();
    kc_function* f = helper("f", ir.i32);
    param("p", ir.i32);
    kc_stmt* back = give_back(number(1));
    kernel("g");
    kc_var* r = declare("r", ir.i32, NULL);
    kc_stmt* c = call(f, r, ARGS(number(1)));
    call(f, NULL, ARGS(number(1)));
    accepted();
    c->args[0] = real(1);
    refused("CALL: the value has another type");
    c->arg_count = 0;
    refused("CALL of 'f' with 0 arguments instead of 1");
    c->arg_count = 1;
    c->args[0] = number(1);
    c->result = declare("w", ir.f32, NULL);
    refused("the result 'w' is no variable that is declared here");
    c->result = r;
    accepted();
    back->value = NULL;
    refused("RETURN without a value");
    back->value = real(1);
    refused("RETURN: the value has another type");
    back->value = number(1);
    c->callee = ir.m->last_function;
    refused("does not stand before its caller");
    c->callee = ir.m->functions;
    c->arg_count = 0;
    refused("CALL of a kernel");
    again();
    kc_function* k = kernel("bad");
    k->result = ir.i32;
    refused("a kernel returns a value");
    again();
    kernel("k");
    refused("two functions of one name");
    again();
    helper("h", ir.none);
    kc_local_add(ir.m, ir.f, "tile", ir.f32, nowhere);
    refused("a function has __local variables");
}

static kc_stmt* atomic(kc_atomic kind, kc_expr* place, kc_var* result)
{
    kc_stmt* s = put(KC_ST_ATOMIC);
    s->atomic = kind;
    s->place = place;
    s->result = result;
    s->args = KC_NEW_ARRAY(ir.arena, kc_expr*, 2);
    return s;
}

static void atomics(void** state)
{
    (void)state;
    again();
    kc_var* counter = param("counter", pointer_to(ir.i32, KC_SPACE_GLOBAL));
    kc_var* old = declare("old", ir.i32, NULL);
    kc_stmt* s = atomic(KC_ATOMIC_CMPXCHG, kc_ex_deref(ir.m, get(counter)), old);
    s->arg_count = 2;
    s->args[0] = number(1), s->args[1] = number(2);
    kc_stmt* exchange = atomic(KC_ATOMIC_XCHG, element(a, number(0)), NULL);
    exchange->arg_count = 1;
    exchange->args[0] = real(1);
    accepted();
    s->atomic = KC_ATOMIC_ADD;
    refused("ATOMIC with 2 operands");
    s->atomic = KC_ATOMIC_CMPXCHG;
    s->args[0] = real(1);
    refused("ATOMIC: the value has another type");
    s->args[0] = number(1);
    s->result = x;
    refused("the result 'x' has another type");
    s->result = old;
    exchange->atomic = KC_ATOMIC_ADD;
    refused("ATOMIC on a type that has none");
    exchange->atomic = KC_ATOMIC_XCHG;
    s->place = kc_ex_var(ir.m, old);
    refused("ATOMIC in private memory");
}

static void other_statements(void** state)
{
    (void)state;
    again();
    barrier()->fence = 8;
    refused("a fence of unknown memory");
    again();
    enter_if(get(n));
    leave();
    refused("IF: the value has another type");
    again();
    kc_stmt* s = put(KC_ST_PRINTF);
    refused("PRINTF without a format");
    s->format = "%d";
    s->format_size = 2;
    s->arg_count = 1;
    s->args = KC_NEW(ir.arena, kc_expr*);
    s->args[0] = get(v);
    accepted();
    s->args[0] = kc_ex_const_bool(ir.m, true);
    refused("PRINTF of a type that can't be printed");
}

static void constant_variables(void** state)
{
    (void)state;
    again();
    kc_var* one = kc_constant_add(ir.m, "one", ir.i32, number(1), nowhere);
    kc_constant_add(ir.m, "where", pointer_to(ir.i32, KC_SPACE_CONSTANT),
                    kc_ex_address(ir.m, kc_ex_var(ir.m, one), pointer_to(ir.i32, KC_SPACE_CONSTANT)), nowhere);
    declare("c", ir.i32, get(one));
    accepted();
    one->init = kc_ex_convert(ir.m, ir.i32, kc_ex_work_item(ir.m, KC_QUERY_GLOBAL_ID, number(0)), 0, false);
    refused("the initialiser of 'one' is not constant");
    one->init = real(1);
    refused("initialiser: the value has another type");
    one->init = NULL;
    refused("initialiser: a value is missing");
    one->init = get(n);
    refused("'n' belongs to another function");
}

static void depth(void** state)
{
    (void)state;
    again();
    kc_expr* e = number(1);
    for (int i = 0; i < 990; i++)
        e = kc_ex_unary(ir.m, KC_OP_NEG, e);
    declare("e", ir.i32, e);
    accepted();
    for (int i = 0; i < 20; i++)
        e = kc_ex_unary(ir.m, KC_OP_NEG, e);
    declare("f", ir.i32, e);
    assert_false(kc_verify_module(ir.m));
    again();
    e = number(1);
    for (int i = 0; i < 200000; i++)
        e = kc_ex_unary(ir.m, KC_OP_NEG, e);
    declare("e", ir.i32, e);
    refused("expressions are nested more than 1000 deep [KC0065 nesting]");
    again();
    kc_block* b = ir.here;
    for (int i = 0; i < 200000; i++) {
        kc_stmt* s = kc_stmt_create(ir.m, KC_ST_BLOCK, nowhere);
        kc_block_append(b, s);
        b = &s->body;
    }
    refused("statements are nested more than 1000 deep [KC0065 nesting]");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(places_and_values),
        TEST(lanes_and_swizzles),
        TEST(pointers),
        TEST(constants),
        TEST(operators),
        TEST(conversions),
        TEST(vectors_and_aggregates),
        TEST(structs_and_unions),
        TEST(builtin_classes),
        TEST(queries),
        TEST(the_tree_is_a_tree),
        TEST(types_exist_and_are_interned),
        TEST(variables),
        TEST(loop_scopes),
        TEST(assignments),
        TEST(exits),
        TEST(switches),
        TEST(calls_and_returns),
        TEST(atomics),
        TEST(other_statements),
        TEST(constant_variables),
        TEST(depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
