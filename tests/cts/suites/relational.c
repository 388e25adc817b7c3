/* Relational functions, select, bitselect, any and all. */
#include "../fp.h"
#include "../values.h"

#include "bitselect.khal.h"
#include "relational_double.khal.h"
#include "relational_float.khal.h"
#include "relational_half.khal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 4800, WIDTHS = 6 };
static const size_t lanes[WIDTHS] = {1, 2, 3, 4, 8, 16};

typedef struct test { const char* name; int arity; bool (*holds)(fp_kind k, long double x, long double y); } test;

static bool is_equal(fp_kind k, long double x, long double y) { (void)k; return x == y; }
static bool is_not_equal(fp_kind k, long double x, long double y) { (void)k; return x != y; }
static bool is_greater(fp_kind k, long double x, long double y) { (void)k; return x > y; }
static bool is_greater_equal(fp_kind k, long double x, long double y) { (void)k; return x >= y; }
static bool is_less(fp_kind k, long double x, long double y) { (void)k; return x < y; }
static bool is_less_equal(fp_kind k, long double x, long double y) { (void)k; return x <= y; }
static bool is_less_greater(fp_kind k, long double x, long double y) { (void)k; return x < y || x > y; }
static bool is_ordered(fp_kind k, long double x, long double y) { (void)k; return !isnan(x) && !isnan(y); }
static bool is_unordered(fp_kind k, long double x, long double y) { (void)k; return isnan(x) || isnan(y); }
static bool is_finite(fp_kind k, long double x, long double y) { (void)k; (void)y; return isfinite(x); }
static bool is_infinite(fp_kind k, long double x, long double y) { (void)k; (void)y; return isinf(x); }
static bool is_nan(fp_kind k, long double x, long double y) { (void)k; (void)y; return isnan(x); }
static bool is_normal(fp_kind k, long double x, long double y) { (void)y; return isfinite(x) && x != 0 && !fp_is_denormal(k, x); }
static bool has_sign(fp_kind k, long double x, long double y) { (void)k; (void)y; return signbit(x); }

static const test tests[] = {
    {"isequal", 2, is_equal}, {"isnotequal", 2, is_not_equal}, {"isgreater", 2, is_greater}, {"isgreaterequal", 2, is_greater_equal},
    {"isless", 2, is_less}, {"islessequal", 2, is_less_equal}, {"islessgreater", 2, is_less_greater}, {"isordered", 2, is_ordered},
    {"isunordered", 2, is_unordered}, {"isfinite", 1, is_finite}, {"isinf", 1, is_infinite}, {"isnan", 1, is_nan},
    {"isnormal", 1, is_normal}, {"signbit", 1, has_sign},
};
typedef struct test_case { const test* test; fp_kind kind; } test_case;

static void relational_run(cts* t)
{
    const test_case* c = cts_data(t);
    const fp_kind k = c->kind;
    const int_kind result_kind = k == FP_HALF ? INT_SHORT : k == FP_FLOAT ? INT_INT : INT_LONG;
    static const khal_kernel_library* const libraries[] = {&relational_half_library, &relational_float_library, &relational_double_library};
    const size_t size = fp_size(k);
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    long double* y = cts_alloc(t, COUNT * sizeof *y);
    char *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size);
    const size_t specials = fp_inputs(t, k, 0, 0, COUNT, x);
    fp_inputs(t, k, 0, 0, COUNT, y);
    for (size_t i = 0; i < COUNT; i++) {
        if (i % 2 == 0) y[i] = x[cts_random_below(t, (uint32_t)specials)];
        if (i % 7 == 0) y[i] = x[i];
        fp_put(k, a, i, x[i]);
        fp_put(k, b, i, y[i]);
    }
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", c->test->name, fp_name(k));
    khal_buffer* out = cts_buffer_of(t, NULL, COUNT * WIDTHS * size, (uint32_t)size);
    cts_launch launch = {.library = libraries[k], .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4};
    uint32_t at = 0;
    launch.buffers[at++] = cts_buffer_of(t, a, COUNT * size, (uint32_t)size);
    if (c->test->arity > 1) launch.buffers[at++] = cts_buffer_of(t, b, COUNT * size, (uint32_t)size);
    launch.buffers[at++] = out;
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return;
    const void* results = cts_read_all(t, out);
    for (size_t w = 0; results != NULL && w < WIDTHS; w++) {
        for (size_t i = 0; i < COUNT; i++) {
            const int64_t expected = c->test->holds(k, x[i], y[i]) ? (w == 0 ? 1 : -1) : 0;
            const int64_t actual = (int64_t)int_get(result_kind, results, w * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, %zu lanes, index %zu: x = %La, y = %La: expected %lld, got %lld", kernel, lanes[w], i, x[i], y[i],
                         (long long)expected, (long long)actual);
        }
    }
}

void cts_suite_relational(cts_registry* registry)
{
    static test_case cases[3 * sizeof tests / sizeof tests[0]];
    size_t count = 0;
    for (int k = FP_HALF; k <= FP_DOUBLE; k++) {
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            cases[count] = (test_case){&tests[i], (fp_kind)k};
            cts_addf(registry, relational_run, &cases[count++], k == FP_DOUBLE ? KHAL_FEATURE_FP64 : 0, "%s_%s", tests[i].name, fp_name((fp_kind)k));
        }
    }
}

/* ---- bitselect, select, any, all ----------------------------------------------------------------- */

typedef struct select_case { const char* type; const char* condition; int_kind bits; bool is_signed_condition; uint32_t features; } select_case;

static const select_case selects[] = {
    {"char", "char", INT_UCHAR, true, 0}, {"char", "uchar", INT_UCHAR, false, 0}, {"uchar", "char", INT_UCHAR, true, 0}, {"uchar", "uchar", INT_UCHAR, false, 0},
    {"short", "short", INT_USHORT, true, 0}, {"short", "ushort", INT_USHORT, false, 0}, {"ushort", "short", INT_USHORT, true, 0}, {"ushort", "ushort", INT_USHORT, false, 0},
    {"int", "int", INT_UINT, true, 0}, {"int", "uint", INT_UINT, false, 0}, {"uint", "int", INT_UINT, true, 0}, {"uint", "uint", INT_UINT, false, 0},
    {"long", "long", INT_ULONG, true, KHAL_FEATURE_INT64}, {"long", "ulong", INT_ULONG, false, KHAL_FEATURE_INT64},
    {"ulong", "long", INT_ULONG, true, KHAL_FEATURE_INT64}, {"ulong", "ulong", INT_ULONG, false, KHAL_FEATURE_INT64},
    {"half", "short", INT_USHORT, true, 0}, {"half", "ushort", INT_USHORT, false, 0},
    {"float", "int", INT_UINT, true, 0}, {"float", "uint", INT_UINT, false, 0},
    {"double", "long", INT_ULONG, true, KHAL_FEATURE_FP64}, {"double", "ulong", INT_ULONG, false, KHAL_FEATURE_FP64},
};

/* Compared as bits: NaN payloads are operands like others. */
static void run_select(cts* t, const char* kernel, int_kind k, bool by_bits)
{
    const size_t size = int_size(k);
    const uint32_t n = COUNT;
    uint8_t *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size), *c = cts_alloc(t, COUNT * size);
    int_inputs(t, k, COUNT, a);
    int_inputs(t, k, COUNT, b);
    int_inputs(t, k, COUNT, c);
    khal_buffer* out = cts_buffer_of(t, NULL, COUNT * WIDTHS * size, (uint32_t)size);
    if (!cts_run(t, .library = &bitselect_library, .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, COUNT * size, (uint32_t)size), cts_buffer_of(t, b, COUNT * size, (uint32_t)size),
                             cts_buffer_of(t, c, COUNT * size, (uint32_t)size), out}))
        return;
    const void* results = cts_read_all(t, out);
    for (size_t w = 0; results != NULL && w < WIDTHS; w++) {
        for (size_t i = 0; i < COUNT; i++) {
            const uint64_t va = (uint64_t)int_get(k, a, i), vb = (uint64_t)int_get(k, b, i), vc = (uint64_t)int_get(k, c, i);
            uint64_t expected;
            if (by_bits) expected = (va & ~vc) | (vb & vc);
            else expected = (w == 0 ? vc != 0 : vc >> (8 * size - 1) != 0) ? vb : va;
            const uint64_t actual = (uint64_t)int_get(k, results, w * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, %zu lanes, index %zu: a = 0x%llx, b = 0x%llx, c = 0x%llx: expected 0x%llx, got 0x%llx", kernel,
                         lanes[w], i, (unsigned long long)va, (unsigned long long)vb, (unsigned long long)vc,
                         (unsigned long long)expected, (unsigned long long)actual);
        }
    }
}

static void select_run(cts* t)
{
    const select_case* c = cts_data(t);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "select_%s_%s", c->type, c->condition);
    run_select(t, kernel, c->bits, false);
}

static void bitselect_run(cts* t)
{
    const select_case* c = cts_data(t);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "bitselect_%s", c->type);
    run_select(t, kernel, c->bits, true);
}

static void ternary(cts* t) { run_select(t, "ternary", INT_UINT, false); }

static void reduce_run(cts* t)
{
    const char* kernel = cts_data(t);
    const bool is_all = strncmp(kernel, "all", 3) == 0;
    const char* type = kernel + 4;
    const int_kind k = strcmp(type, "char") == 0 ? INT_CHAR : strcmp(type, "short") == 0 ? INT_SHORT : strcmp(type, "int") == 0 ? INT_INT : INT_LONG;
    const size_t size = int_size(k);
    const uint32_t n = COUNT;
    uint8_t* a = cts_alloc(t, COUNT * size);
    int_inputs(t, k, COUNT, a);
    for (size_t i = 0; i < COUNT; i++) { /* runs of equal signs, so that both answers come up in wide vectors */
        const bool set = i / 32 % 3 == 0 ? true : i / 32 % 3 == 1 ? false : (cts_random(t) & 1);
        const wide value = int_get(k, a, i);
        if (set != (value < 0)) int_put(k, a, i, -1 - value);
    }
    khal_buffer* out = cts_buffer_of(t, NULL, COUNT * WIDTHS * 4, 4);
    if (!cts_run(t, .library = &bitselect_library, .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, COUNT * size, (uint32_t)size), out}))
        return;
    const int32_t* results = cts_read_all(t, out);
    for (size_t w = 0; results != NULL && w < WIDTHS; w++) {
        for (size_t i = 0; i < COUNT / lanes[w]; i++) {
            size_t set = 0;
            for (size_t l = 0; l < lanes[w]; l++) set += int_get(k, a, i * lanes[w] + l) < 0;
            const int32_t expected = is_all ? set == lanes[w] : set != 0;
            if (results[w * COUNT + i] != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, %zu lanes, item %zu: %zu lanes set: expected %d, got %d", kernel, lanes[w], i, set, expected,
                         results[w * COUNT + i]);
        }
    }
}

void cts_suite_select(cts_registry* registry)
{
    static const char* const reductions[] = {"any_char", "any_short", "any_int", "any_long", "all_char", "all_short", "all_int", "all_long"};
    for (size_t i = 0; i < sizeof selects / sizeof selects[0]; i++) {
        cts_addf(registry, select_run, &selects[i], selects[i].features, "select_%s_%s", selects[i].type, selects[i].condition);
        if (selects[i].is_signed_condition) cts_addf(registry, bitselect_run, &selects[i], selects[i].features, "bitselect_%s", selects[i].type);
    }
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        cts_add(registry, reductions[i], reduce_run, reductions[i], i % 4 == 3 ? KHAL_FEATURE_INT64 : 0);
    CTS_ADD(registry, ternary);
}
