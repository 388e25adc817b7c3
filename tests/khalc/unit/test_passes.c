/* Usage, origins, inlining, pruning and folding. */
#include "build_ir.h"

static const kc_type* pointer_to(const kc_type* t, kc_space space)
{
    return kc_type_pointer(ir.m, t, space, false, false, false);
}

static kc_expr* address_of(kc_var* v, kc_space space)
{
    return kc_ex_address(ir.m, kc_ex_var(ir.m, v), pointer_to(v->type, space));
}

static void expect_origin(const kc_var* v, bool is_unknown, kc_var* first, kc_var* second)
{
    assert_int_equal(v->origin.is_unknown, is_unknown);
    assert_int_equal(v->origin.count, (first != NULL) + (second != NULL));
    if (first)
        assert_ptr_equal(v->origin.roots[0], first);
    if (second)
        assert_ptr_equal(v->origin.roots[1], second);
}

/* ---- usage and origins */

static void access_goes_back_to_where_a_pointer_came_from(void** state)
{
    (void)state;
    kc_function* f = helper("f", ir.none);
    kc_var* to = param("to", ir.global_float);
    kc_var* from = param("from", ir.global_float);
    store(element(to, number(0)), kc_ex_load(ir.m, element(from, number(1))));
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* b = param("b", ir.global_float);
    kc_var* c = param("c", ir.global_float);
    kc_var* d = param("d", ir.global_float);
    kc_var* moved = declare("moved", ir.global_float, kc_ex_offset(ir.m, get(a), number(4)));
    kc_var* either = declare("either", ir.global_float,
                             kc_ex_select(ir.m, kc_ex_const_bool(ir.m, true), get(b), get(c)));
    call(f, NULL, ARGS(get(moved), get(either)));
    assert_true(kc_verify_module(ir.m));
    kc_pass_usage(ir.m);
    kc_pass_origins(ir.m);
    assert_true(a->is_written && !a->is_read);
    assert_true(b->is_read && !b->is_written);
    assert_true(c->is_read && !c->is_written);
    assert_false(d->is_read || d->is_written);
    assert_true(to->is_written && !to->is_read);
    expect_origin(a, false, a, NULL);
    expect_origin(moved, false, a, NULL);
    expect_origin(either, false, b, c);
    expect_origin(to, false, a, NULL);
    expect_origin(from, false, b, c);
    assert_null(a->pass_data);
    const kc_origin both = kc_expr_origin(
        ir.m, kc_ex_select(ir.m, kc_ex_const_bool(ir.m, true), get(moved), get(either)));
    assert_int_equal(both.count, 3);
}

static void unknown_pointers_may_be_any(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* l = param("l", ir.local_float);
    kc_var* bits = param("bits", kc_type_int(ir.m, 64, false));
    kc_var* p = declare("p", ir.global_float, kc_ex_bitcast(ir.m, ir.global_float, get(bits)));
    store(element(p, number(0)), real(1));
    assert_true(kc_verify_module(ir.m));
    kc_pass_usage(ir.m);
    kc_pass_origins(ir.m);
    expect_origin(p, true, NULL, NULL);
    assert_true(a->is_written);
    assert_false(l->is_written);
}

static void pointers_through_memory_are_unknown(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* b = param("b", ir.global_float);
    kc_var* p = declare("p", ir.global_float, get(a));
    kc_var* pp = declare("pp", pointer_to(ir.global_float, KC_SPACE_PRIVATE), address_of(p, KC_SPACE_PRIVATE));
    store(kc_ex_deref(ir.m, get(pp)), get(b)); /* *pp = b */
    kc_var* q = declare("q", ir.global_float, get(p));
    store(element(q, number(0)), real(1));
    assert_true(kc_verify_module(ir.m));
    kc_pass_usage(ir.m);
    kc_pass_origins(ir.m);
    assert_true(p->is_address_taken && !q->is_address_taken);
    assert_true(a->is_written && b->is_written);
    assert_true(q->origin.is_unknown);
    expect_origin(pp, false, p, NULL);
}

static void unions_hide_pointers(void** state)
{
    (void)state;
    kc_record* r = kc_record_create(ir.m, "u", true, nowhere);
    r->field_count = 2;
    r->fields = KC_NEW_ARRAY(ir.arena, kc_field, 2);
    r->fields[0] = (kc_field){"p", ir.global_float, 0};
    r->fields[1] = (kc_field){"bits", kc_type_int(ir.m, 64, false), 0};
    r->size = r->align = 8;
    kernel("k");
    kc_var* u = declare("u", kc_type_struct(ir.m, r), NULL);
    store(kc_ex_field(ir.m, kc_ex_var(ir.m, u), 1), kc_ex_zero(ir.m, r->fields[1].type));
    kc_var* p = declare("p", ir.global_float, kc_ex_load(ir.m, kc_ex_field(ir.m, kc_ex_var(ir.m, u), 0)));
    assert_true(kc_verify_module(ir.m));
    kc_pass_origins(ir.m);
    assert_true(p->origin.is_unknown);
}

static void flags_of_statements(void** state)
{
    (void)state;
    kc_function* f = helper("f", ir.none);
    barrier();
    const kc_type* f64 = kc_type_float(ir.m, 64);
    declare("d", f64, kc_ex_const_float(ir.m, f64, 1));
    kc_function* k = kernel("k");
    kc_var* counter = param("counter", pointer_to(ir.i32, KC_SPACE_GLOBAL));
    kc_stmt* outer = enter_loop(NULL);
    kc_stmt* inner = enter_loop(NULL);
    kc_stmt* branch = enter_if(kc_ex_const_bool(ir.m, true));
    kc_stmt* exit = break_of(inner);
    leave();
    leave();
    kc_stmt* second = enter_if(kc_ex_const_bool(ir.m, false));
    give_back(NULL);
    leave();
    kc_stmt* calling = call(f, NULL, 0, NULL);
    kc_stmt* s = put(KC_ST_ATOMIC);
    s->atomic = KC_ATOMIC_INC;
    s->place = kc_ex_deref(ir.m, get(counter));
    leave();
    assert_true(kc_verify_module(ir.m));
    kc_pass_usage(ir.m);
    assert_true(exit->has_exit && branch->has_exit);
    assert_false(inner->has_exit || outer->has_exit);
    assert_true(second->has_return && outer->has_return && !inner->has_return);
    assert_true(calling->has_barrier && outer->has_barrier && !inner->has_barrier);
    assert_true(f->has_barrier && k->has_barrier && f->has_fp64 && k->has_fp64);
    assert_true(k->has_atomic && !f->has_atomic && !k->has_printf);
    assert_true(counter->is_atomic && counter->is_read && counter->is_written);
    assert_null(outer->pass_data);
}

/* ---- inlining and pruning */

static void inline_simple(void** state)
{
    (void)state;
    kc_function* f = helper("twice", ir.i32);
    kc_var* p = param("p", ir.i32);
    set(p, binary(KC_OP_MUL, get(p), number(2)));
    give_back(get(p));
    kernel("k");
    kc_var* n = param("n", ir.i32);
    kc_var* r = declare("r", ir.i32, NULL);
    call(f, r, ARGS(get(n)));
    call(f, NULL, ARGS(get(r)));
    kc_pass_inline(ir.m, KC_INLINE_ALL);
    kc_pass_prune(ir.m);
    expect_text("\n"
                "kernel k(n: int) {\n"
                "    var r: int\n"
                "    block {\n"
                "        let p#4: int = n\n"
                "        p#4 = p#4 * 2\n"
                "        r = p#4\n"
                "    }\n"
                "    block {\n"
                "        let p#5: int = r\n"
                "        p#5 = p#5 * 2\n"
                "    }\n"
                "}\n");
}

static void inline_early_returns_and_nesting(void** state)
{
    (void)state;
    kc_function* find = helper("find", ir.i32);
    kc_var* limit = param("limit", ir.i32);
    kc_var* i = declare("i", ir.i32, number(0));
    kc_stmt* loop = enter_loop(binary(KC_OP_LT, get(i), get(limit)));
    enter_if(binary(KC_OP_EQ, get(i), number(5)));
    give_back(get(i));
    leave();
    enter_if(binary(KC_OP_EQ, get(i), number(3)));
    continue_of(loop);
    leave();
    barrier();
    leave();
    enter(&loop->step);
    set(i, binary(KC_OP_ADD, get(i), number(1)));
    leave();
    kc_stmt* choice = enter_if(binary(KC_OP_LT, get(limit), number(0)));
    give_back(number(-1));
    leave();
    enter(&choice->orelse);
    give_back(number(-2));
    leave();
    kc_function* middle = helper("middle", ir.i32);
    kc_var* r = declare("r", ir.i32, NULL);
    call(find, r, ARGS(number(9)));
    give_back(get(r));
    kernel("k");
    kc_var* x = declare("x", ir.i32, NULL);
    enter_loop(NULL);
    call(middle, x, 0, NULL);
    leave();
    kc_pass_inline(ir.m, KC_INLINE_BARRIERS);
    kc_pass_prune(ir.m);
    expect_text("\n"
                "kernel k() {\n"
                "    var x: int\n"
                "    loop {\n"
                "        block {\n"
                "            var r: int\n"
                "            block L1 {\n"
                "                let limit: int = 9\n"
                "                let i: int = 0\n"
                "                loop while i < limit {\n"
                "                    if i == 5 {\n"
                "                        r = i\n"
                "                        break L1\n"
                "                    }\n"
                "                    if i == 3 {\n"
                "                        continue\n"
                "                    }\n"
                "                    barrier(local)\n"
                "                } step {\n"
                "                    i = i + 1\n"
                "                }\n"
                "                if limit < 0 {\n"
                "                    r = -1\n"
                "                } else {\n"
                "                    r = -2\n"
                "                }\n"
                "            }\n"
                "            x = r\n"
                "        }\n"
                "    }\n"
                "}\n");
}

static void inline_only_what_is_asked_for(void** state)
{
    (void)state;
    kc_function* plain = helper("plain", ir.none);
    param("p", ir.i32);
    kc_function* pointing = helper("pointing", ir.none);
    param("q", ir.global_float);
    kc_function* stopping = helper("stopping", ir.none);
    barrier();
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_stmt* first = call(plain, NULL, ARGS(number(1)));
    kc_stmt* second = call(pointing, NULL, ARGS(get(a)));
    kc_stmt* third = call(stopping, NULL, 0, NULL);
    kc_pass_inline(ir.m, KC_INLINE_BARRIERS);
    assert_int_equal(first->kind, KC_ST_CALL);
    assert_int_equal(second->kind, KC_ST_CALL);
    assert_int_equal(third->kind, KC_ST_BLOCK);
    kc_pass_inline(ir.m, KC_INLINE_POINTERS);
    assert_int_equal(first->kind, KC_ST_CALL);
    assert_int_equal(second->kind, KC_ST_BLOCK);
    kc_pass_inline(ir.m, KC_INLINE_ALL);
    assert_int_equal(first->kind, KC_ST_BLOCK);
    assert_true(kc_verify_module(ir.m));
    assert_ptr_equal(ir.m->functions, plain);
    kc_pass_prune(ir.m);
    assert_string_equal(ir.m->functions->name, "k");
    assert_ptr_equal(ir.m->functions, ir.m->last_function);
}

static void inlining_has_a_bound(void** state)
{
    (void)state;
    kc_function* f = helper("f0", ir.none);
    barrier();
    for (int i = 1; i < 64; i++) {
        kc_function* g = helper(kc_format(ir.arena, "f%d", i), ir.none);
        call(f, NULL, 0, NULL);
        call(f, NULL, 0, NULL);
        f = g;
    }
    kernel("k");
    call(f, NULL, 0, NULL);
    kc_pass_inline(ir.m, KC_INLINE_ALL);
    assert_int_equal(ir.diags.error_count, 1);
}

static void prune_removes_what_cannot_run(void** state)
{
    (void)state;
    kc_function* used = helper("used", ir.none);
    kc_function* middle = helper("middle", ir.none);
    call(used, NULL, 0, NULL);
    helper("unused", ir.none);
    call(middle, NULL, 0, NULL);
    kernel("k");
    kc_var* n = param("n", ir.i32);
    call(middle, NULL, 0, NULL);
    kc_stmt* block = enter_block();
    enter_if(binary(KC_OP_LT, get(n), number(0)));
    enter_block();
    leave();
    leave();
    break_of(block);
    set(n, number(1));
    leave();
    give_back(NULL);
    set(n, number(2));
    kc_pass_prune(ir.m);
    expect_text("\n"
                "function used() {\n"
                "}\n"
                "\n"
                "function middle() {\n"
                "    call used()\n"
                "}\n"
                "\n"
                "kernel k(n: int) {\n"
                "    call middle()\n"
                "    return\n"
                "}\n");
}

/* ---- folding */

static const char* folded(kc_expr* value)
{
    kernel("fold");
    declare("x", value->type, value);
    assert_true(kc_verify_module(ir.m));
    kc_pass_fold(ir.m);
    assert_true(kc_verify_module(ir.m));
    const char* start = strstr(module_text(), " = ") + 3;
    ir.m->functions = ir.m->last_function = NULL;
    return kc_strndup(ir.arena, start, (size_t)(strchr(start, '\n') - start));
}

static kc_expr* typed(uint32_t width, bool is_signed, uint64_t bits)
{
    return kc_ex_const_int(ir.m, kc_type_int(ir.m, width, is_signed), bits);
}

static kc_expr* convert(uint32_t width, bool is_signed, kc_expr* e, bool saturate)
{
    return kc_ex_convert(ir.m, kc_type_int(ir.m, width, is_signed), e, KC_ROUND_DEFAULT, saturate);
}

static void fold_integers(void** state)
{
    (void)state;
    assert_string_equal(folded(binary(KC_OP_ADD, number(INT32_MAX), number(1))), "-2147483648");
    assert_string_equal(folded(binary(KC_OP_MUL, typed(8, false, 200), typed(8, false, 3))), "uchar(88)");
    assert_string_equal(folded(binary(KC_OP_SUB, typed(64, false, 0), typed(64, false, 1))),
                        "18446744073709551615ul");
    assert_string_equal(folded(binary(KC_OP_DIV, number(-7), number(2))), "-3");
    assert_string_equal(folded(binary(KC_OP_REM, number(-7), number(2))), "-1");
    assert_string_equal(folded(binary(KC_OP_DIV, number(1), number(0))), "1 / 0");
    assert_string_equal(folded(binary(KC_OP_DIV, number(INT32_MIN), number(-1))), "-2147483648 / -1");
    assert_string_equal(folded(binary(KC_OP_REM, typed(64, true, UINT64_C(1) << 63), typed(64, true, UINT64_MAX))),
                        "-9223372036854775808l % -1l");
    assert_string_equal(folded(binary(KC_OP_SHL, number(1), number(33))), "2");
    assert_string_equal(folded(binary(KC_OP_SHR, number(-8), number(1))), "-4");
    assert_string_equal(folded(binary(KC_OP_SHR, typed(32, false, 0xFFFFFFFF), number(28))), "15u");
    assert_string_equal(folded(binary(KC_OP_SHR, typed(64, true, UINT64_MAX), number(63))), "-1l");
    assert_string_equal(folded(binary(KC_OP_XOR, number(6), number(3))), "5");
    assert_string_equal(folded(binary(KC_OP_LT, number(-1), number(0))), "true");
    assert_string_equal(folded(binary(KC_OP_LT, typed(32, false, UINT32_MAX), typed(32, false, 0))), "false");
    assert_string_equal(folded(kc_ex_unary(ir.m, KC_OP_NEG, number(INT32_MIN))), "-2147483648");
    assert_string_equal(folded(kc_ex_unary(ir.m, KC_OP_BIT_NOT, typed(16, false, 1))), "ushort(65534)");
    assert_string_equal(folded(binary(KC_OP_ADD, query(KC_QUERY_GROUP_ID), number(0))), "convert<int>(group_id(0))");
    assert_string_equal(folded(binary(KC_OP_ADD, real(1), real(2))), "1.0f + 2.0f");
    assert_string_equal(folded(binary(KC_OP_ADD, kc_ex_splat(ir.m, ir.i32x4, number(1)), kc_ex_zero(ir.m, ir.i32x4))),
                        "splat<int4>(1) + zero<int4>");
}

static void fold_conversions(void** state)
{
    (void)state;
    kc_module* m = ir.m;
    const kc_type* f64 = kc_type_float(m, 64);
    assert_string_equal(folded(convert(8, true, number(200), false)), "char(-56)");
    assert_string_equal(folded(convert(8, true, number(200), true)), "char(127)");
    assert_string_equal(folded(convert(8, false, number(-5), true)), "uchar(0)");
    assert_string_equal(folded(convert(64, false, number(-5), true)), "0ul");
    assert_string_equal(folded(convert(64, true, typed(64, false, UINT64_MAX), true)), "9223372036854775807l");
    assert_string_equal(folded(convert(8, true, number(-200), true)), "char(-128)");
    assert_string_equal(folded(convert(64, false, number(-1), false)), "18446744073709551615ul");
    assert_string_equal(folded(kc_ex_convert(m, ir.f32, number(3), KC_ROUND_DEFAULT, false)), "3.0f");
    assert_string_equal(folded(kc_ex_convert(m, ir.f32, number(-16777217), KC_ROUND_DEFAULT, false)),
                        "convert<float>(-16777217)");
    assert_string_equal(folded(kc_ex_convert(m, f64, real(0.1), KC_ROUND_DEFAULT, false)), "0.10000000149011612");
    assert_string_equal(folded(kc_ex_convert(m, ir.f32, kc_ex_const_float(m, f64, 0.1), KC_ROUND_DEFAULT, false)),
                        "convert<float>(0.1)");
    assert_string_equal(folded(kc_ex_convert(m, ir.f32, kc_ex_const_float(m, f64, 1e300), KC_ROUND_DEFAULT, false)),
                        "convert<float>(1e+300)");
    assert_string_equal(folded(convert(32, true, real(-3), false)), "-3");
    assert_string_equal(folded(convert(32, true, real(2.5), false)), "convert<int>(2.5f)");
    assert_string_equal(folded(convert(32, true, real(2147483648.0), false)), "convert<int>(2.1474836e+09f)");
    assert_string_equal(folded(convert(8, false, real(-1), true)), "convert<uchar, sat>(-1.0f)");
    assert_string_equal(folded(kc_ex_convert(m, ir.boolean, real(0.5), KC_ROUND_DEFAULT, false)), "true");
    assert_string_equal(folded(kc_ex_bitcast(m, ir.i32, real(1))), "1065353216");
    assert_string_equal(folded(kc_ex_bitcast(m, ir.f32, number(-1))), "bits<float>(0xffffffff)");
    assert_string_equal(folded(kc_ex_bitcast(m, ir.i32, kc_ex_const_int(m, ir.u32, UINT32_MAX))), "-1");
}

static void fold_bools(void** state)
{
    (void)state;
    kc_module* m = ir.m;
#define LESS binary(KC_OP_LT, query(KC_QUERY_GROUP_ID), number(4))
#define LESS_TEXT "convert<int>(group_id(0)) < 4"
    kc_expr* yes = kc_ex_const_bool(m, true);
    assert_string_equal(folded(binary(KC_OP_LOGICAL_AND, yes, LESS)), LESS_TEXT);
    assert_string_equal(folded(binary(KC_OP_LOGICAL_OR, LESS, kc_ex_const_bool(m, false))), LESS_TEXT);
    assert_string_equal(folded(binary(KC_OP_LOGICAL_AND, kc_ex_const_bool(m, false), LESS)), "false");
    assert_string_equal(folded(binary(KC_OP_NE, to_int(LESS), number(0))), LESS_TEXT);
    assert_string_equal(folded(binary(KC_OP_EQ, to_int(LESS), number(0))), "!(" LESS_TEXT ")");
    assert_string_equal(folded(kc_ex_convert(m, ir.boolean, to_int(LESS), KC_ROUND_DEFAULT, false)), LESS_TEXT);
    assert_string_equal(folded(kc_ex_unary(m, KC_OP_LOGICAL_NOT, kc_ex_unary(m, KC_OP_LOGICAL_NOT, LESS))), LESS_TEXT);
    assert_string_equal(folded(kc_ex_select(m, binary(KC_OP_GT, number(2), number(1)), number(7), number(8))), "7");
#undef LESS
}

static void fold_vectors(void** state)
{
    (void)state;
    const kc_type* u64 = kc_type_int(ir.m, 64, false);
    const kc_type* u32x2 = kc_type_vector(ir.m, ir.u32, 2);
    const uint8_t zw[] = {2, 3}, xx[] = {0, 0}, y = 1;
    kernel("k");
    kc_var* a = param("a", ir.f32x4);
    kc_expr* four[4];
    for (int i = 0; i < 4; i++)
        four[i] = real(i);
    kc_expr* made = kc_ex_list(ir.m, KC_EX_COMPOSE, ir.f32x4, 4, four);
    declare("lane", ir.f32, kc_ex_swizzle(ir.m, kc_ex_clone(ir.m, made), 1, &y));
    declare("some", kc_type_vector(ir.m, ir.f32, 2), kc_ex_swizzle(ir.m, kc_ex_clone(ir.m, made), 2, zw));
    declare("twice", kc_type_vector(ir.m, ir.f32, 2), kc_ex_swizzle(ir.m, made, 2, xx));
    kc_expr* words = kc_ex_bitcast(ir.m, u32x2, kc_ex_const_int(ir.m, u64, UINT64_C(0x700000005)));
    declare("high", ir.u32, kc_ex_swizzle(ir.m, words, 1, &y));
    declare("back", ir.f32x4, kc_ex_bitcast(ir.m, ir.f32x4, kc_ex_bitcast(ir.m, ir.i32x4, get(a))));
    kc_pass_fold(ir.m);
    expect_text("\n"
                "kernel k(a: float4) {\n"
                "    let lane: float = 1.0f\n"
                "    let some: float2 = float2(2.0f, 3.0f)\n"
                "    let twice: float2 = float4(0.0f, 1.0f, 2.0f, 3.0f).xx\n"
                "    let high: uint = 7u\n"
                "    let back: float4 = a\n"
                "}\n");
}

static void fold_pointers(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* t = kc_local_add(ir.m, ir.f, "t", kc_type_array(ir.m, ir.f32, 8), nowhere);
    kc_expr* decayed = kc_ex_address(ir.m, kc_ex_index(ir.m, kc_ex_var(ir.m, t), number(0)), ir.local_float);
    declare("x", ir.f32, kc_ex_load(ir.m, kc_ex_deref(ir.m, kc_ex_offset(ir.m, decayed, number(3)))));
    declare("y", ir.global_float, kc_ex_address(ir.m, kc_ex_deref(ir.m, get(a)), ir.global_float));
    declare("z", ir.f32, kc_ex_load(ir.m, element(a, number(0))));
    assert_true(kc_verify_module(ir.m));
    kc_pass_fold(ir.m);
    expect_text("\n"
                "kernel k(a: global float*) {\n"
                "    local t: float[8]\n"
                "    let x: float = t[3]\n"
                "    let y: global float* = a\n"
                "    let z: float = (*a)\n"
                "}\n");
}

static void fold_control_flow(void** state)
{
    (void)state;
    kernel("k");
    kc_var* n = param("n", ir.i32);
    kc_stmt* branch = enter_if(binary(KC_OP_LT, number(1), number(0)));
    set(n, number(1));
    leave();
    enter(&branch->orelse);
    set(n, number(2));
    leave();
    enter_loop(kc_ex_const_bool(ir.m, true));
    set(n, number(3));
    leave();
    kc_stmt* never = enter_loop(kc_ex_const_bool(ir.m, false));
    continue_of(never);
    leave();
    kc_stmt* once = enter_loop(kc_ex_const_bool(ir.m, false));
    once->test_at_end = true;
    set(n, number(4));
    leave();
    assert_true(kc_verify_module(ir.m));
    kc_pass_fold(ir.m);
    kc_pass_prune(ir.m);
    expect_text("\n"
                "kernel k(n: int) {\n"
                "    block {\n"
                "        n = 2\n"
                "    }\n"
                "    loop {\n"
                "        n = 3\n"
                "    }\n"
                "    loop {\n"
                "        n = 4\n"
                "    } while false\n"
                "}\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(access_goes_back_to_where_a_pointer_came_from),
        TEST(unknown_pointers_may_be_any),
        TEST(pointers_through_memory_are_unknown),
        TEST(unions_hide_pointers),
        TEST(flags_of_statements),
        TEST(inline_simple),
        TEST(inline_early_returns_and_nesting),
        TEST(inline_only_what_is_asked_for),
        TEST(inlining_has_a_bound),
        TEST(prune_removes_what_cannot_run),
        TEST(fold_integers),
        TEST(fold_conversions),
        TEST(fold_bools),
        TEST(fold_vectors),
        TEST(fold_pointers),
        TEST(fold_control_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
