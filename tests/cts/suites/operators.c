/* The operators of the language on every type, scalar and in every vector width. Layout of the results in kernels/operators.h. */
#include "../fp.h"
#include "../values.h"

#include "operators_16.khal.h"
#include "operators_32.khal.h"
#include "operators_64.khal.h"
#include "operators_8.khal.h"
#include "operators_float.khal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 2400, WIDTHS = 6 };
static const size_t lanes[WIDTHS] = {1, 2, 3, 4, 8, 16};

typedef struct family {
    const char* name;
    const char* operators[7]; /* one for each six sections, ended by NULL */
    bool mixed;       /* three sections more, of operations with a scalar */
    bool compares;    /* results are of the signed type, true is -1 in vectors */
} family;

static const family int_families[] = {
    {"arithmetic", {"+", "-", "*", "/"}, false, false}, {"integer", {"%", "&", "|", "^", "<<", ">>"}, false, false},
    {"one", {"neg", "pos"}, true, false}, {"step", {"step"}, false, false}, {"complement", {"~"}, false, false},
    {"assign", {"+", "-", "*", "/"}, false, false}, {"integer_assign", {"%", "&", "|", "^", "<<", ">>"}, false, false},
    {"compare", {"==", "!=", "<", "<=", ">", ">="}, false, true}, {"logical", {"&&", "||", "!"}, false, true},
};
static const family float_families[] = {
    {"arithmetic", {"+", "-", "*", "/"}, false, false}, {"one", {"neg", "pos"}, true, false}, {"assign", {"+", "-", "*", "/"}, false, false},
    {"compare", {"==", "!=", "<", "<=", ">", ">="}, false, true}, {"step", {"step"}, false, false}, {"logical", {"&&", "||", "!"}, false, true},
};

typedef struct operator_case { const family* family; bool is_int; int kind; } operator_case;

/* Whether the language defines the result. */
static bool integer_result(int_kind k, const char* op, wide a, wide b, bool is_vector, wide* out)
{
    const bool promoted = !is_vector && int_width(k) < 32; /* scalars of 8 and 16 bits are computed as int */
    const int_kind computed = promoted ? INT_INT : k;
    const int count = (int)(int_bits(computed, b) & (uint64_t)(int_width(computed) - 1));
    wide r = 0;
    switch (op[0]) {
    case '+': r = a + b; break;
    case '-': r = a - b; break;
    case '*': r = (wide)((uwide)a * (uwide)b); break;
    case '/':
    case '%':
        if (b == 0 || (b == -1 && a == int_least(computed))) return false;
        r = op[0] == '/' ? a / b : a % b;
        break;
    case '&': r = op[1] == '&' ? (a != 0 && b != 0) : (a & b); break;
    case '|': r = op[1] == '|' ? (a != 0 || b != 0) : (a | b); break;
    case '^': r = a ^ b; break;
    case '~': r = -1 - a; break;
    case '!': r = op[1] == '=' ? a != b : a == 0; break;
    case '=': r = a == b; break;
    case '<': r = op[1] == '<' ? (wide)((uwide)a << count) : op[1] == '=' ? a <= b : a < b; break;
    case '>': r = op[1] == '>' ? a >> count : op[1] == '=' ? a >= b : a > b; break;
    case 'n': r = -a; break;
    case 'p': r = a; break;
    default: r = 2 * a; break; /* step */
    }
    *out = r;
    return true;
}

static long double float_result(fp_kind k, const char* op, long double a, long double b)
{
    const double da = (double)a, db = (double)b;
    const bool is_double = k == FP_DOUBLE;
    switch (op[0]) {
    case '+': return is_double ? da + db : fp_round(k, a + b, ROUND_EVEN);
    case '-': return is_double ? da - db : fp_round(k, a - b, ROUND_EVEN);
    case '*': return is_double ? da * db : fp_round(k, a * b, ROUND_EVEN);
    case '/': return is_double ? da / db : fp_round(k, a / b, ROUND_EVEN);
    case '=': return a == b;
    case '!': return op[1] == '=' ? a != b : a == 0;
    case '<': return op[1] == '=' ? a <= b : a < b;
    case '>': return op[1] == '=' ? a >= b : a > b;
    case '&': return a != 0 && b != 0;
    case '|': return a != 0 || b != 0;
    case 'n': return -a;
    case 'p': return a;
    default: {
        const long double up = float_result(k, "+", float_result(k, "+", a, 1), 1);
        const long double down = float_result(k, "-", float_result(k, "-", up, 1), 1);
        return float_result(k, "+", float_result(k, "-", float_result(k, "+", a, up), up), down);
    }
    }
}

static void run_kernel(cts* t, const khal_kernel_library* library, const char* kernel, const void* a, const void* b, size_t size, size_t result_size,
                       const void** out_results)
{
    const uint32_t n = COUNT;
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)36 * COUNT * result_size, (uint32_t)result_size);
    *out_results = NULL;
    if (cts_run(t, .library = library, .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                .buffers = {cts_buffer_of(t, a, COUNT * size, (uint32_t)size), cts_buffer_of(t, b, COUNT * size, (uint32_t)size), out}))
        *out_results = cts_read_all(t, out);
}

static void integer_run(cts* t)
{
    static const khal_kernel_library* const libraries[] = {&operators_8_library, &operators_16_library, &operators_32_library, &operators_64_library};
    const operator_case* c = cts_data(t);
    const int_kind k = (int_kind)c->kind, result_kind = c->family->compares ? (int_kind)(k - k % 2) : k;
    const size_t size = int_size(k);
    void *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size);
    int_inputs(t, k, COUNT, a);
    int_inputs(t, k, COUNT, b);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", c->family->name, int_name(k));
    const void* results;
    run_kernel(t, libraries[k / 2], kernel, a, b, size, size, &results);
    size_t sections = 0;
    for (; results != NULL && c->family->operators[sections / WIDTHS] != NULL; sections++) {
        const char* op = c->family->operators[sections / WIDTHS];
        const size_t w = sections % WIDTHS;
        for (size_t i = 0; i < COUNT; i++) {
            const wide va = int_get(k, a, i), vb = int_get(k, b, i);
            wide expected;
            if (!integer_result(k, op, va, vb, w != 0, &expected)) continue;
            if (c->family->compares && w != 0) expected = -expected;
            expected = int_wrap(result_kind, expected);
            const wide actual = int_get(result_kind, results, sections * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, %s, %zu lanes, index %zu: a = %s, b = %s: expected %s, got %s", kernel, op, lanes[w], i,
                         wide_text(va).text, wide_text(vb).text, wide_text(expected).text, wide_text(actual).text);
        }
    }
    for (size_t m = 0; results != NULL && c->family->mixed && m < 3; m++) {
        for (size_t i = 0; i < COUNT; i++) {
            const wide va = int_get(k, a, i), vb = int_get(k, b, i / 4);
            const wide expected = int_wrap(k, m == 0 ? va + vb : m == 1 ? vb - va : va * 3);
            const wide actual = int_get(k, results, (sections + m) * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, scalar form %zu, index %zu: a = %s, b = %s: expected %s, got %s", kernel, m, i, wide_text(va).text,
                         wide_text(vb).text, wide_text(expected).text, wide_text(actual).text);
        }
    }
}

static bool is_same(cts* t, fp_kind k, const char* op, long double actual, long double expected)
{
    if (isnan(expected)) return isnan(actual);
    if (actual == expected) return signbit(actual) == signbit(expected);
    if (k == FP_FLOAT && op[0] == '/' && fp_ulps(k, actual, expected) <= 2.5) return true; /* division of floats: 2.5 ulps */
    return cts_flushes_denormals(t) && actual == 0 && fp_is_denormal(k, expected);
}

/* What else the device may give: of denormals taken for zeroes, of a sum that loses nothing. */
static bool is_allowed(cts* t, fp_kind k, const char* op, long double actual, long double x, long double y)
{
    const long double fx = fp_flush(k, x), fy = fp_flush(k, y);
    if (is_same(t, k, op, actual, float_result(k, op, x, y))) return true;
    if (cts_flushes_denormals(t) && is_same(t, k, op, actual, float_result(k, op, fx, fy))) return true;
    if (strcmp(op, "step") != 0 || !cts_simplifies_floats(t)) return false;
    for (int from = 0; from < 2; from++) { /* x + x + 2 - 2 */
        const long double a = from == 0 ? x : fx, twice = float_result(k, "+", a, a);
        const long double down = float_result(k, "-", float_result(k, "-", float_result(k, "+", float_result(k, "+", a, 1), 1), 1), 1);
        if (is_same(t, k, "+", actual, twice) || is_same(t, k, "+", actual, float_result(k, "+", a, down))) return true;
    }
    return false;
}

static void float_run(cts* t)
{
    const operator_case* c = cts_data(t);
    const fp_kind k = (fp_kind)c->kind;
    const int_kind test_kind = k == FP_HALF ? INT_SHORT : k == FP_FLOAT ? INT_INT : INT_LONG;
    const size_t size = fp_size(k);
    long double *x = cts_alloc(t, COUNT * sizeof *x), *y = cts_alloc(t, COUNT * sizeof *y);
    char *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size);
    const size_t specials = fp_inputs(t, k, 0, 0, COUNT, x);
    fp_inputs(t, k, 0, 0, COUNT, y);
    for (size_t i = 0; i < COUNT; i++) {
        if (i % 3 == 0) y[i] = x[cts_random_below(t, (uint32_t)specials)];
        if (i % 11 == 0) y[i] = x[i];
        fp_put(k, a, i, x[i]);
        fp_put(k, b, i, y[i]);
    }
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", c->family->name, fp_name(k));
    const void* results;
    run_kernel(t, &operators_float_library, kernel, a, b, size, size, &results);
    size_t sections = 0;
    const bool scalar_only = strcmp(c->family->name, "step") == 0;
    for (; results != NULL && c->family->operators[sections / WIDTHS] != NULL; sections++) {
        const char* op = c->family->operators[sections / WIDTHS];
        const size_t w = sections % WIDTHS;
        for (size_t i = 0; i < COUNT && !(scalar_only && w != 0); i++) {
            const long double expected = float_result(k, op, x[i], y[i]);
            if (c->family->compares) {
                const int64_t test = expected != 0 ? (w == 0 ? 1 : -1) : 0;
                const int64_t actual = (int64_t)int_get(test_kind, results, sections * COUNT + i);
                const bool flushed = float_result(k, op, fp_flush(k, x[i]), fp_flush(k, y[i])) != 0;
                if (actual != test && !(cts_flushes_denormals(t) && actual == (flushed ? (w == 0 ? 1 : -1) : 0)))
                    cts_fail(t, __FILE__, __LINE__, "%s, %s, %zu lanes, index %zu: x = %La, y = %La: expected %lld, got %lld", kernel, op, lanes[w], i, x[i],
                             y[i], (long long)test, (long long)actual);
                continue;
            }
            const long double actual = fp_get(k, results, sections * COUNT + i);
            if (!is_allowed(t, k, op, actual, x[i], y[i]))
                cts_fail(t, __FILE__, __LINE__, "%s, %s, %zu lanes, index %zu: x = %La, y = %La: expected %La, got %La", kernel, op, lanes[w], i, x[i],
                         y[i], expected, actual);
        }
    }
    for (size_t m = 0; results != NULL && c->family->mixed && m < 3; m++) {
        for (size_t i = 0; i < COUNT; i++) {
            const long double s = y[i / 4];
            const char* op = m == 0 ? "+" : m == 1 ? "-" : "*";
            const long double left = m == 1 ? s : x[i], right = m == 0 ? s : m == 1 ? x[i] : 3;
            const long double expected = float_result(k, op, left, right);
            const long double actual = fp_get(k, results, (sections + m) * COUNT + i);
            if (!is_allowed(t, k, op, actual, left, right))
                cts_fail(t, __FILE__, __LINE__, "%s, scalar form %zu, index %zu: x = %La, s = %La: expected %La, got %La", kernel, m, i, x[i], s, expected,
                         actual);
        }
    }
}

void cts_suite_operators(cts_registry* registry)
{
    static operator_case cases[8 * 9 + 3 * 6];
    size_t count = 0;
    for (int k = INT_CHAR; k <= INT_ULONG; k++) {
        for (size_t f = 0; f < sizeof int_families / sizeof int_families[0]; f++) {
            cases[count] = (operator_case){&int_families[f], true, k};
            cts_addf(registry, integer_run, &cases[count++], k >= INT_LONG ? KHAL_FEATURE_INT64 : 0, "%s_%s", int_families[f].name, int_name((int_kind)k));
        }
    }
    for (int k = FP_HALF; k <= FP_DOUBLE; k++) {
        for (size_t f = 0; f < (k == FP_HALF ? 4 : 6); f++) { /* clang has no ++ and no && on half vectors */
            cases[count] = (operator_case){&float_families[f], false, k};
            cts_addf(registry, float_run, &cases[count++], k == FP_DOUBLE ? KHAL_FEATURE_FP64 : 0, "%s_%s", float_families[f].name, fp_name((fp_kind)k));
        }
    }
}
