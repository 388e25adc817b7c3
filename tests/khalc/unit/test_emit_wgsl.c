/* What the goldens of WGSL don't show: the library's parts, names, limits, and what refusals take along. */
#include "build_ir.h"
#include "emit_wgsl.h"

#include <stdlib.h>

static const kc_target nothing = {.name = "test"};

static uint32_t count_of(const char* text, const char* part)
{
    uint32_t n = 0;
    for (const char* p = text; (p = strstr(p, part)); p++)
        n++;
    return n;
}

static const char* completed(const char* module)
{
    kc_text text = {0};
    kc_put(&text, module);
    kc_wgsl_library_complete(&text);
    const char* copy = kc_strdup(ir.arena, text.data);
    kc_text_free(&text);
    return copy;
}

static void the_library_gives_what_is_named_and_what_that_needs(void** state)
{
    (void)state;
    const char* text = completed("a = khal_i64_mul(b, khal_i64_mul(c, d));\n");
    assert_int_equal(count_of(text, "fn khal_i64_mul("), 1);
    assert_int_equal(count_of(text, "fn khal_u64_mul_wide("), 1);
    assert_int_equal(count_of(text, "\nfn "), 2);
}

static void the_library_is_left_alone_by_other_names(void** state)
{
    (void)state;
    static const char module[] = "my_khal_i64_mul(khal_i64_mulx, khal_i64, khal_local_id, khal_);\n";
    assert_string_equal(completed(module), module);
}

static void the_library_keeps_comments_of_what_it_gives_only(void** state)
{
    (void)state;
    const char* text = completed("khal_f32(1u)");
    assert_int_equal(count_of(text, "//"), 1);
    assert_non_null(strstr(text, "\n// What no const-expression may be"));
}

static void words_of_wgsl_are_no_names(void** state)
{
    (void)state;
    static const char* const words[] = {"fn", "var", "loop", "f32", "vec3", "min", "bitcast", "atomicAdd", "workgroup", "unpack4x8unorm"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_true(kc_wgsl_is_reserved(words[i]));
    assert_false(kc_wgsl_is_reserved("loops"));
    assert_false(kc_wgsl_is_reserved("in"));
}

/* The source of the kernel `k`; NULL where it is refused. */
static const char* source_of(kc_function* k)
{
    khal_kernel_info* info = NULL;
    khal_wgsl_kernel out = {0};
    kc_pass_usage(ir.m);
    kc_reflect(ir.m, &info);
    assert_true(kc_lower(ir.m, &nothing));
    return kc_emit_wgsl(ir.m, k, info, false, &out) ? out.source : NULL;
}

static kc_function* nested(uint32_t levels)
{
    kc_function* k = kernel("k");
    kc_var* a = param("a", ir.i32);
    kc_var* x = declare("x", ir.i32, number(0));
    for (uint32_t i = 0; i < levels; i++) {
        ir.depth = 0; /* no more to leave than the last */
        enter_if(binary(KC_OP_GT, get(a), number(i)));
    }
    set(x, number(1));
    return k;
}

static void nesting_has_a_limit(void** state)
{
    (void)state;
    assert_non_null(source_of(nested(50)));
}

static void more_is_refused(void** state)
{
    (void)state;
    kc_function* k = nested(70);
    assert_null(source_of(k));
    assert_int_equal(k->refusal->id, KC_DIAG_TARGET_LIMIT);
}

static void variables_have_names_of_their_own(void** state)
{
    (void)state;
    kc_function* k = kernel("k");
    kc_var* a = param("x", ir.global_float);
    kc_var* x = declare("x", ir.f32, kc_ex_load(ir.m, element(a, number(0))));
    kc_var* y = declare("_khal_y", ir.f32, kc_ex_load(ir.m, element(a, number(1))));
    store(element(a, number(2)), binary(KC_OP_ADD, get(x), get(y)));
    const char* source = source_of(k);
    assert_non_null(strstr(source, "> x: array<f32>;"));
    assert_non_null(strstr(source, "let x_2 = x["));
    assert_non_null(strstr(source, "] = x_2 + k_khal_y;"));
}

static void a_first_value_may_read_what_it_is_given_to(void** state)
{
    (void)state;
    kc_function* f = helper("f", ir.f32);
    kc_var* p = param("p", ir.f32);
    give_back(binary(KC_OP_ADD, get(p), real(1)));
    kc_function* k = kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* own = declare("own", ir.f32, NULL);
    call(f, own, ARGS(get(own)));
    kc_var* sum = declare("sum", ir.f32, NULL);
    set(sum, binary(KC_OP_ADD, get(sum), get(own)));
    kc_var* other = declare("other", ir.f32, NULL);
    call(f, other, ARGS(get(sum)));
    store(element(a, number(0)), get(other));
    const char* source = source_of(k);
    assert_non_null(strstr(source, "var own: f32;\n    own = f(own);"));
    assert_non_null(strstr(source, "var sum: f32;\n    sum += own;"));
    assert_non_null(strstr(source, "let other = f(sum);"));
}

static void a_refusal_takes_callers_along_and_nobody_else(void** state)
{
    (void)state;
    kc_function* bad = helper("bad", ir.none);
    kc_function* between = helper("between", ir.none);
    call(bad, NULL, 0, NULL);
    kc_function* first = kernel("first");
    call(between, NULL, 0, NULL);
    kc_function* fine = kernel("fine");
    kc_function* last = kernel("last");
    call(bad, NULL, 0, NULL);
    kc_refuse(ir.m, bad, nowhere, KC_DIAG_TARGET_POINTER, "%s", "one");
    kc_refuse(ir.m, bad, nowhere, KC_DIAG_TARGET_DOUBLE, "two");
    kc_drop_refused(ir.m);
    assert_ptr_equal(ir.m->functions, fine);
    assert_ptr_equal(ir.m->last_function, fine);
    assert_null(fine->next);
    assert_ptr_equal(ir.m->refused, first);
    assert_ptr_equal(first->next, last);
    assert_null(last->next);
    assert_int_equal(last->refusal->id, KC_DIAG_TARGET_POINTER);
    assert_string_equal(first->refusal->text, "one");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_library_gives_what_is_named_and_what_that_needs),
        TEST(the_library_is_left_alone_by_other_names),
        TEST(the_library_keeps_comments_of_what_it_gives_only),
        TEST(words_of_wgsl_are_no_names),
        TEST(nesting_has_a_limit),
        TEST(more_is_refused),
        TEST(variables_have_names_of_their_own),
        TEST(a_first_value_may_read_what_it_is_given_to),
        TEST(a_refusal_takes_callers_along_and_nobody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
