/* The arena, growing strings, diagnostics, types, constants and the text form. */
#include "build_ir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void arena_gives_zeroed_aligned_memory(void** state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 20000, 70000, 200000};
    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            unsigned char* p = kc_alloc(ir.arena, sizes[i]);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t b = 0; b < sizes[i]; b++)
                assert_int_equal(p[b], 0);
            memset(p, 0xA5, sizes[i]);
        }
}

static void arena_copies_strings(void** state)
{
    (void)state;
    assert_string_equal(kc_strdup(ir.arena, ""), "");
    assert_string_equal(kc_strndup(ir.arena, "abcdef", 3), "abc");
    assert_string_equal(kc_format(ir.arena, "%s-%d", "x", -7), "x--7");
}

static void text_grows(void** state)
{
    (void)state;
    kc_text t = {0};
    for (int i = 0; i < 10000; i++)
        kc_putf(&t, "%d,", i % 10);
    assert_int_equal(t.size, 20000);
    assert_int_equal(strlen(t.data), 20000);
    kc_putn(&t, "\0b", 2);
    assert_int_equal(t.size, 20002);
    kc_put(&t, "");
    assert_memory_equal(t.data + 19998, "9,\0b", 5);
    kc_text_free(&t);
    assert_null(t.data);
    assert_int_equal(t.size, 0);
}

/* What flushing the diagnostics writes to stderr. */
static const char* flushed(void)
{
    static char buffer[4096];
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

static void diagnostics_come_sorted_and_once(void** state)
{
    (void)state;
    kc_error(&ir.diags, (kc_loc){"b.cl", 1, 1}, KC_DIAG_GOTO, "last");
    kc_error(&ir.diags, (kc_loc){"a.cl", 10, 2}, KC_DIAG_WORKGROUP_SIZE, "size %d", 0);
    kc_warning(&ir.diags, (kc_loc){"a.cl", 9, 30}, KC_DIAG_TYPE, "a warning");
    kc_error(&ir.diags, (kc_loc){"a.cl", 10, 2}, KC_DIAG_WORKGROUP_SIZE, "size %d", 0);
    kc_error(&ir.diags, (kc_loc){"a.cl", 10, 2}, KC_DIAG_WORKGROUP_SIZE, "size %d", 1);
    kc_error(&ir.diags, nowhere, KC_DIAG_USAGE, "no place");
    kc_error(&ir.diags, (kc_loc){"c.cl", 0, 0}, KC_DIAG_INPUT, "no line");
    assert_int_equal(ir.diags.error_count, 6);
    assert_int_equal(ir.diags.warning_count, 1);
    assert_string_equal(flushed(), "khalc: error: no place [KC0006 usage]\n"
                                   "a.cl:9:30: warning: a warning [KC0025 type]\n"
                                   "a.cl:10:2: error: size 0 [KC0063 workgroup-size]\n"
                                   "a.cl:10:2: error: size 1 [KC0063 workgroup-size]\n"
                                   "b.cl:1:1: error: last [KC0020 goto]\n"
                                   "c.cl: error: no line [KC0004 input]\n");
    assert_string_equal(flushed(), "");
}

static void types_are_interned(void** state)
{
    (void)state;
    kc_module* m = ir.m;
    assert_ptr_equal(kc_type_int(m, 32, true), ir.i32);
    assert_ptr_not_equal(kc_type_int(m, 32, false), ir.i32);
    assert_ptr_equal(kc_type_pointer(m, ir.f32, KC_SPACE_GLOBAL, false, false, false), ir.global_float);
    assert_ptr_not_equal(kc_type_pointer(m, ir.f32, KC_SPACE_GLOBAL, true, false, false), ir.global_float);
    const kc_type* f3 = kc_type_vector(m, ir.f32, 3);
    assert_int_equal(f3->size, 16);
    assert_int_equal(f3->align, 16);
    assert_int_equal(kc_type_array(m, f3, 5)->size, 80);
    assert_int_equal(kc_type_array(m, kc_type_array(m, ir.i32, UINT64_MAX / 2), 8)->size, UINT64_MAX);
    assert_ptr_equal(kc_type_compare(m, kc_type_vector(m, kc_type_float(m, 64), 2)),
                     kc_type_vector(m, kc_type_int(m, 64, true), 2));
    assert_ptr_equal(kc_type_compare(m, ir.f32), ir.boolean);
    for (uint64_t i = 1; i < 2000; i++)
        assert_ptr_equal(kc_type_array(m, ir.i32, i), kc_type_array(m, ir.i32, i));
    assert_true(kc_type_is_interned(m, f3));
    const kc_type copy = *f3;
    assert_false(kc_type_is_interned(m, &copy));
}

static void records_get_names_of_their_own(void** state)
{
    (void)state;
    assert_string_equal(kc_record_create(ir.m, "p", false, nowhere)->name, "p");
    assert_string_equal(kc_record_create(ir.m, "p", false, nowhere)->name, "p_1");
    assert_string_equal(kc_record_create(ir.m, "", false, nowhere)->name, "anon_0");
    assert_string_equal(kc_record_create(ir.m, NULL, true, nowhere)->name, "anon_1");
    assert_string_equal(kc_record_create(ir.m, "p", true, nowhere)->name, "p_2");
    assert_int_equal(ir.m->record_count, 5);
}

static void type_names(void** state)
{
    (void)state;
    kc_module* m = ir.m;
    kc_record* r = kc_record_create(m, "particle", false, nowhere);
    const kc_type* in_const = kc_type_pointer(m, kc_type_struct(m, r), KC_SPACE_CONSTANT, true, true, true);
    assert_string_equal(kc_type_name(m, in_const), "const volatile constant struct particle* restrict");
    const kc_type* rows = kc_type_array(m, kc_type_array(m, ir.f32, 3), 4);
    assert_string_equal(kc_type_name(m, rows), "float[4][3]");
    assert_string_equal(kc_type_name(m, kc_type_pointer(m, rows, KC_SPACE_LOCAL, false, false, false)),
                        "local (float[4][3])*");
    assert_string_equal(kc_type_name(m, kc_type_array(m, ir.global_float, 2)), "(global float*)[2]");
    assert_string_equal(kc_type_name(m, kc_type_vector(m, kc_type_int(m, 8, false), 16)), "uchar16");
    assert_string_equal(kc_type_name(m, kc_type_float(m, 16)), "half");
    assert_string_equal(kc_type_name(m, kc_type_int(m, 64, true)), "long");
}

static void constants_fit_their_type(void** state)
{
    (void)state;
    kc_module* m = ir.m;
    assert_int_equal(kc_ex_const_int(m, kc_type_int(m, 8, true), 0x80)->u.bits, UINT64_C(0xFFFFFFFFFFFFFF80));
    assert_int_equal(kc_ex_const_int(m, kc_type_int(m, 8, false), 0x1FF)->u.bits, 0xFF);
    assert_int_equal(kc_ex_const_int(m, kc_type_int(m, 64, true), UINT64_MAX)->u.bits, UINT64_MAX);
    assert_int_equal(kc_ex_const_bool(m, true)->u.bits, 1);
}

static uint64_t half(double value)
{
    return kc_ex_const_float(ir.m, kc_type_float(ir.m, 16), value)->u.bits;
}

static void halves_round_to_nearest_even(void** state)
{
    (void)state;
    assert_int_equal(half(1), 0x3C00);
    assert_int_equal(half(-2), 0xC000);
    assert_int_equal(half(65504), 0x7BFF);
    assert_int_equal(half(65519.99), 0x7BFF);
    assert_int_equal(half(65520), 0x7C00);
    assert_int_equal(half(1e300), 0x7C00);
    assert_int_equal(half(-INFINITY), 0xFC00);
    assert_int_equal(half(0.1), 0x2E66);
    assert_int_equal(half(1 + ldexp(1, -11)), 0x3C00);        /* a tie, to even */
    assert_int_equal(half(1 + 3 * ldexp(1, -11)), 0x3C02);    /* a tie, to even, up */
    assert_int_equal(half(2 - ldexp(1, -12)), 0x4000);        /* a carry into the exponent */
    assert_int_equal(half(ldexp(1, -14)), 0x0400);            /* the smallest normal */
    assert_int_equal(half(ldexp(1, -24)), 0x0001);            /* the smallest subnormal */
    assert_int_equal(half(ldexp(1, -25)), 0x0000);            /* a tie, to even */
    assert_int_equal(half(ldexp(1.5, -25)), 0x0001);
    assert_int_equal(half(ldexp(1023.5, -24)), 0x0400);       /* a tie, up to the smallest normal */
    assert_int_equal(half(-0.0), 0x8000);
    assert_int_equal(half(5e-324), 0);
    assert_true((half((double)NAN) & 0x7C00) == 0x7C00 && (half((double)NAN) & 0x3FF) != 0);
}

/* `let x = value`, printed. */
static const char* printed(kc_expr* value)
{
    kernel("k");
    declare("x", value->type, value);
    const char* start = strstr(module_text(), " = ") + 3;
    ir.m->functions = ir.m->last_function = NULL;
    return kc_strndup(ir.arena, start, (size_t)(strchr(start, '\n') - start));
}

static void floats_print_so_that_they_read_back(void** state)
{
    (void)state;
    assert_string_equal(printed(real(1)), "1.0f");
    assert_string_equal(printed(real(0.1)), "0.1f");
    assert_string_equal(printed(real(-0.0)), "-0.0f");
    assert_string_equal(printed(real(3.4028234663852886e38)), "3.4028235e+38f");
    assert_string_equal(printed(real((double)INFINITY)), "bits<float>(0x7f800000)");
    const kc_type* f64 = kc_type_float(ir.m, 64);
    assert_string_equal(printed(kc_ex_const_float(ir.m, f64, 0.1)), "0.1");
    assert_string_equal(printed(kc_ex_const_float(ir.m, f64, 0.1 + 0.2)), "0.30000000000000004");
    assert_string_equal(printed(kc_ex_const_float(ir.m, f64, 1e22)), "1e+22");
    const kc_type* f16 = kc_type_float(ir.m, 16);
    assert_string_equal(printed(kc_ex_const_float(ir.m, f16, 0.5)), "0.5h");
    assert_string_equal(printed(kc_ex_const_float(ir.m, f16, ldexp(1, -24))), "5.9604645e-08h");
    assert_string_equal(printed(kc_ex_const_float(ir.m, f16, 1e9)), "bits<half>(0x7c00)");
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint32_t bits = (uint32_t)(random >> 32);
        if ((bits & 0x7F800000) == 0x7F800000)
            continue;
        float value, again;
        memcpy(&value, &bits, sizeof value);
        again = strtof(printed(real((double)value)), NULL);
        assert_memory_equal(&value, &again, sizeof value);
    }
}

static void expressions_print(void** state)
{
    (void)state;
    kc_module* m = ir.m;
    const uint8_t xz[] = {0, 2}, w[] = {3};
    assert_string_equal(printed(kc_ex_const_int(m, ir.u32, 7)), "7u");
    assert_string_equal(printed(kc_ex_const_int(m, kc_type_int(m, 64, true), (uint64_t)-7)), "-7l");
    assert_string_equal(printed(kc_ex_const_int(m, kc_type_int(m, 8, true), 0xFF)), "char(-1)");
    assert_string_equal(printed(kc_ex_zero(m, ir.global_float)), "null<global float*>");
    assert_string_equal(printed(kc_ex_swizzle(m, kc_ex_splat(m, ir.f32x4, real(2)), 2, xz)), "splat<float4>(2.0f).xz");
    assert_string_equal(printed(kc_ex_swizzle(m, kc_ex_zero(m, kc_type_vector(m, ir.f32, 8)), 1, w)),
                        "zero<float8>.s3");
    assert_string_equal(printed(kc_ex_convert(m, kc_type_int(m, 8, false), number(300), KC_ROUND_ZERO, true)),
                        "convert<uchar, sat, rtz>(300)");
    assert_string_equal(printed(kc_ex_bitcast(m, ir.f32, number(1))), "bitcast<float>(1)");
    assert_string_equal(printed(kc_ex_select(m, kc_ex_const_bool(m, true), number(1),
                                             binary(KC_OP_ADD, number(2), number(3)))),
                        "true ? 1 : (2 + 3)");
    kc_expr* args[] = {real(1), real(2)};
    assert_string_equal(printed(kc_ex_builtin(m, KC_BUILTIN_POW, ir.f32, 2, args)), "pow(1.0f, 2.0f)");
}

static void statements_print(void** state)
{
    (void)state;
    kernel("all");
    ir.f->workgroup_size[0] = 64;
    ir.f->workgroup_size[1] = ir.f->workgroup_size[2] = 1;
    kc_var* a = param("a", ir.global_float);
    kc_var* n = param("n", ir.i32);
    kc_var* tile = kc_local_add(ir.m, ir.f, "tile", kc_type_array(ir.m, ir.f32, 64), nowhere);
    kc_var* i = declare("i", ir.i32, query(KC_QUERY_GLOBAL_ID));
    kc_stmt* outer = enter_loop(binary(KC_OP_LT, get(i), get(n)));
    kc_stmt* branch = enter_if(binary(KC_OP_EQ, get(i), number(3)));
    continue_of(outer);
    leave();
    enter(&branch->orelse);
    kc_var* inner_i = declare("i", ir.i32, NULL);
    set(inner_i, number(0));
    kc_stmt* inner = enter_loop(NULL);
    inner->test_at_end = true;
    break_of(outer);
    leave();
    leave();
    store(kc_ex_index(ir.m, kc_ex_var(ir.m, tile), get(i)), kc_ex_load(ir.m, element(a, get(i))));
    leave();
    enter(&outer->step);
    set(i, binary(KC_OP_ADD, get(i), number(1)));
    leave();
    kc_stmt* choice = put(KC_ST_SWITCH);
    choice->value = get(n);
    choice->case_count = 2;
    choice->cases = KC_NEW_ARRAY(ir.arena, kc_case, 2);
    uint64_t values[] = {1, UINT64_MAX};
    choice->cases[0] = (kc_case){.value_count = 2, .values = values, .falls_through = true};
    choice->cases[1] = (kc_case){.is_default = true};
    enter(&choice->cases[1].body);
    break_of(choice);
    leave();
    kc_stmt* print = put(KC_ST_PRINTF);
    print->format = "a\"\\\n\t%d";
    print->format_size = 7;
    print->arg_count = 1;
    print->args = KC_NEW(ir.arena, kc_expr*);
    print->args[0] = get(n);
    kc_stmt* block = enter_block();
    break_of(block);
    leave();
    barrier();
    expect_text("\n"
                "kernel all(a: global float*, n: int) workgroup 64 1 1 {\n"
                "    local tile: float[64]\n"
                "    let i#4: int = convert<int>(global_id(0))\n"
                "    loop L1 while i#4 < n {\n"
                "        if i#4 == 3 {\n"
                "            continue\n"
                "        } else {\n"
                "            var i#5: int\n"
                "            i#5 = 0\n"
                "            loop {\n"
                "                break L1\n"
                "            } while true\n"
                "        }\n"
                "        tile[i#4] = a[i#4]\n"
                "    } step {\n"
                "        i#4 = i#4 + 1\n"
                "    }\n"
                "    switch n {\n"
                "    case 1, -1 {\n"
                "    } falls\n"
                "    default {\n"
                "        break\n"
                "    }\n"
                "    }\n"
                "    printf(\"a\\\"\\\\\\n\\x09%d\", n)\n"
                "    block L2 {\n"
                "        break L2\n"
                "    }\n"
                "    barrier(local)\n"
                "}\n");
}

static void records_and_constants_print(void** state)
{
    (void)state;
    kc_record* r = kc_record_create(ir.m, "pair", false, nowhere);
    r->field_count = 2;
    r->fields = KC_NEW_ARRAY(ir.arena, kc_field, 2);
    r->fields[0] = (kc_field){"a", ir.i32, 0};
    r->fields[1] = (kc_field){"", ir.f32, 4};
    r->size = 8;
    r->align = 4;
    kc_expr* parts[] = {number(1), real(2)};
    const kc_type* type = kc_type_struct(ir.m, r);
    kc_constant_add(ir.m, "one", type, kc_ex_list(ir.m, KC_EX_AGGREGATE, type, 2, parts), nowhere);
    expect_text("\n"
                "struct pair size 8 align 4 {\n"
                "    a: int at 0\n"
                "    #1: float at 4\n"
                "}\n"
                "\n"
                "constant one: struct pair = struct pair{1, 2.0f}\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(arena_gives_zeroed_aligned_memory),
        TEST(arena_copies_strings),
        TEST(text_grows),
        TEST(diagnostics_come_sorted_and_once),
        TEST(types_are_interned),
        TEST(records_get_names_of_their_own),
        TEST(type_names),
        TEST(constants_fit_their_type),
        TEST(halves_round_to_nearest_even),
        TEST(floats_print_so_that_they_read_back),
        TEST(expressions_print),
        TEST(statements_print),
        TEST(records_and_constants_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
