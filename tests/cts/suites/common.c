/* The common and the geometric functions. The specification names no ulps for most of them; the bounds here are ours. */
#include "../fp.h"

#include "common_double.khal.h"
#include "common_float.khal.h"
#include "common_half.khal.h"
#include "geometric_double.khal.h"
#include "geometric_float.khal.h"

#include <math.h>
#include <stdio.h>

enum { COUNT = 4800, WIDTHS = 6 };

typedef struct operation {
    const char* name;
    int arity;
    long double (*reference)(fp_kind k, long double x, long double y, long double z);
    double ulps;         /* of the result */
    double scale_ulps;   /* of the largest intermediate value, for functions that cancel */
    bool finite;         /* defined for finite operands alone */
} operation;

static long double ref_degrees(fp_kind k, long double x, long double y, long double z) { (void)k; (void)y; (void)z; return x * (180 / 3.14159265358979323846L); }
static long double ref_radians(fp_kind k, long double x, long double y, long double z) { (void)k; (void)y; (void)z; return x * (3.14159265358979323846L / 180); }
static long double ref_sign(fp_kind k, long double x, long double y, long double z) { (void)k; (void)y; (void)z; return isnan(x) ? 0 : x > 0 ? 1 : x < 0 ? -1 : x; }
static long double ref_max(fp_kind k, long double x, long double y, long double z) { (void)k; (void)z; return x < y ? y : x; }
static long double ref_min(fp_kind k, long double x, long double y, long double z) { (void)k; (void)z; return y < x ? y : x; }
static long double ref_step(fp_kind k, long double x, long double y, long double z) { (void)k; (void)z; return y < x ? 0 : 1; }
static long double ref_clamp(fp_kind k, long double x, long double y, long double z) { (void)k; return fminl(fmaxl(x, y), z); }
static long double ref_mix(fp_kind k, long double x, long double y, long double z) { (void)k; return x + (y - x) * z; }

static long double ref_smoothstep(fp_kind k, long double x, long double y, long double z)
{
    (void)k;
    const long double u = fminl(fmaxl((z - x) / (y - x), 0), 1);
    return u * u * (3 - 2 * u);
}

static const operation operations[] = {
    {"degrees", 1, ref_degrees, 2.5, 0, false}, {"radians", 1, ref_radians, 2.5, 0, false}, {"sign", 1, ref_sign, 0, 0, false},
    {"max", 2, ref_max, 0, 0, true}, {"min", 2, ref_min, 0, 0, true}, {"step", 2, ref_step, 0, 0, true},
    {"clamp", 3, ref_clamp, 0, 0, true}, {"mix", 3, ref_mix, 0, 4, true}, {"smoothstep", 3, ref_smoothstep, 0, 8, true},
};

typedef struct common_case { const operation* op; fp_kind kind; } common_case;

static const khal_kernel_library* library_of(fp_kind k)
{
    return k == FP_HALF ? &common_half_library : k == FP_FLOAT ? &common_float_library : &common_double_library;
}

static khal_buffer* put_values(cts* t, fp_kind k, const long double* values, size_t count)
{
    char* bytes = cts_alloc(t, count * fp_size(k));
    for (size_t i = 0; i < count; i++) fp_put(k, bytes, i, values[i]);
    return cts_buffer_of(t, bytes, count * fp_size(k), (uint32_t)fp_size(k));
}

static long double moderate(cts* t, fp_kind k)
{
    const long double unit = (long double)(cts_random(t) >> 11) * 0x1p-53L;
    return fp_round(k, (unit - 0.5L) * (cts_random(t) % 2 ? 200 : 4), ROUND_EVEN);
}

static void put_inputs(cts* t, fp_kind k, const operation* op, long double* x, long double* y, long double* z)
{
    if (op->finite) {
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = moderate(t, k);
            y[i] = i % 16 == 0 ? x[i] : moderate(t, k);
            z[i] = moderate(t, k);
        }
    } else {
        fp_inputs(t, k, 0, 0, COUNT, x);
    }
    if (op->reference == ref_clamp) {
        for (size_t i = 0; i < COUNT; i++)
            if (y[i] > z[i]) { const long double swap = y[i]; y[i] = z[i]; z[i] = swap; }
    } else if (op->reference == ref_mix) {
        for (size_t i = 0; i < COUNT; i++) z[i] = fp_round(k, fabsl(z[i]) / 128, ROUND_EVEN);
    } else if (op->reference == ref_smoothstep) {
        for (size_t i = 0; i < COUNT; i++)
            if (!(x[i] < y[i] - 0.125L)) y[i] = fp_round(k, x[i] + 1 + fabsl(y[i]), ROUND_EVEN);
    }
}

static bool is_near(cts* t, fp_kind k, const operation* op, long double x, long double y, long double actual, long double reference)
{
    const long double exact = op->ulps == 0 && op->scale_ulps == 0 ? fp_round(k, reference, ROUND_EVEN) : reference;
    if (fp_ulps(k, actual, exact) <= op->ulps) return true;
    if (cts_flushes_denormals(t) && actual == 0 && fp_is_denormal(k, exact)) return true;
    const long double scale = op->reference == ref_smoothstep ? 1 : fabsl(x) + fabsl(y);
    return op->scale_ulps != 0 && fabsl(actual - exact) <= op->scale_ulps * scale * ldexpl(1, 1 - fp_digits(k));
}

static void common_run(cts* t)
{
    const common_case* c = cts_data(t);
    const operation* op = c->op;
    const fp_kind k = c->kind;
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    long double* y = cts_alloc(t, COUNT * sizeof *y);
    long double* z = cts_alloc(t, COUNT * sizeof *z);
    put_inputs(t, k, op, x, y, z);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", op->name, fp_name(k));
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)COUNT * WIDTHS * fp_size(k), (uint32_t)fp_size(k));
    cts_launch launch = {.library = library_of(k), .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4};
    uint32_t at = 0;
    launch.buffers[at++] = put_values(t, k, x, COUNT);
    if (op->arity > 1) launch.buffers[at++] = put_values(t, k, y, COUNT);
    if (op->arity > 2) launch.buffers[at++] = put_values(t, k, z, COUNT);
    launch.buffers[at++] = out;
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return;
    const void* results = cts_read_all(t, out);
    for (size_t i = 0; results != NULL && i < COUNT; i++) {
        const long double reference = op->reference(k, x[i], y[i], z[i]);
        for (size_t w = 0; w < WIDTHS; w++) {
            const long double actual = fp_get(k, results, w * COUNT + i);
            if (!is_near(t, k, op, x[i], y[i], actual, reference))
                cts_fail(t, __FILE__, __LINE__, "%s, width %zu, index %zu: x = %La, y = %La, z = %La: expected %La, got %La", kernel, w, i, x[i],
                         y[i], z[i], reference, actual);
        }
    }
}

/* Forms whose last operands are scalars. */
static void scalar_operands(cts* t)
{
    const fp_kind k = *(const fp_kind*)cts_data(t);
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    long double* low = cts_alloc(t, COUNT * sizeof *low);
    long double* high = cts_alloc(t, COUNT * sizeof *high);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = moderate(t, k);
        low[i] = moderate(t, k);
        high[i] = fp_round(k, low[i] + 1 + fabsl(moderate(t, k)), ROUND_EVEN);
    }
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)COUNT * 8 * fp_size(k), (uint32_t)fp_size(k));
    if (!cts_run(t, .library = library_of(k), .kernel = "scalar_operands", .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {put_values(t, k, x, COUNT), put_values(t, k, low, COUNT), put_values(t, k, high, COUNT), out}))
        return;
    const void* results = cts_read_all(t, out);
    static const operation plain = {"", 3, ref_max, 0, 0, true};
    for (size_t i = 0; results != NULL && i < COUNT; i++) {
        const long double a = x[i], s = low[i / 4], e = high[i / 4], b = low[i];
        const long double expected[8] = {ref_max(k, a, s, 0), ref_min(k, a, s, 0), ref_clamp(k, a, s, e), ref_step(k, s, a, 0),
                                         ref_mix(k, a, b, e), ref_smoothstep(k, s, e, a), fmaxl(a, s), fminl(a, s)};
        for (size_t f = 0; f < 8; f++) {
            const long double actual = fp_get(k, results, f * COUNT + i);
            const operation* op = f == 4 ? &operations[7] : f == 5 ? &operations[8] : &plain;
            const long double scale = f == 4 ? (fabsl(a) + fabsl(b)) * fmaxl(1, fabsl(e)) : a;
            if (!is_near(t, k, op, scale, b, actual, expected[f]))
                cts_fail(t, __FILE__, __LINE__, "form %zu, index %zu: expected %La, got %La", f, i, expected[f], actual);
        }
    }
}

static void ldexp_scalar(cts* t)
{
    const fp_kind k = *(const fp_kind*)cts_data(t);
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    int32_t* e = cts_alloc(t, COUNT * sizeof *e);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = moderate(t, k);
        e[i] = (int32_t)cts_random_below(t, 20) - 10;
    }
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)COUNT * 2 * fp_size(k), (uint32_t)fp_size(k));
    if (!cts_run(t, .library = library_of(k), .kernel = "ldexp_scalar", .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {put_values(t, k, x, COUNT), cts_buffer_of(t, e, COUNT * 4, 4), out}))
        return;
    const void* results = cts_read_all(t, out);
    for (size_t i = 0; results != NULL && i < 2 * COUNT; i++) {
        const long double expected = fp_round(k, ldexpl(x[i % COUNT], e[i % COUNT / (i < COUNT ? 3 : 16)]), ROUND_EVEN);
        const long double actual = fp_get(k, results, i);
        if (actual != expected)
            cts_fail(t, __FILE__, __LINE__, "index %zu: x = %La: expected %La, got %La", i, x[i % COUNT], expected, actual);
    }
}

void cts_suite_common(cts_registry* registry)
{
    static common_case cases[3 * sizeof operations / sizeof operations[0]];
    static const fp_kind kinds[] = {FP_HALF, FP_FLOAT, FP_DOUBLE};
    size_t count = 0;
    for (size_t k = 0; k < 3; k++) {
        const uint32_t features = kinds[k] == FP_DOUBLE ? KHAL_FEATURE_FP64 : 0;
        for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
            cases[count] = (common_case){&operations[o], kinds[k]};
            cts_addf(registry, common_run, &cases[count++], features, "%s_%s", operations[o].name, fp_name(kinds[k]));
        }
        cts_addf(registry, scalar_operands, &kinds[k], features, "scalar_operands_%s", fp_name(kinds[k]));
        cts_addf(registry, ldexp_scalar, &kinds[k], features, "ldexp_scalar_%s", fp_name(kinds[k]));
    }
}

/* ---- geometric ----------------------------------------------------------------------------------- */

typedef struct geometric_case {
    const char* name;
    fp_kind kind;
    double ulps; /* of the sum of the magnitudes that are added up, or of the result where nothing cancels */
} geometric_case;

static void geometric_run(cts* t)
{
    const geometric_case* c = cts_data(t);
    const fp_kind k = c->kind;
    const bool is_dot = c->name[0] == 'd' && c->name[1] == 'o', is_cross = c->name[0] == 'c';
    const bool is_distance = c->name[0] == 'd' && c->name[1] == 'i', is_fast_distance = c->name[0] == 'f' && c->name[5] == 'd';
    const bool is_vector = c->name[0] == 'n' || (c->name[0] == 'f' && c->name[5] == 'n');
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    long double* y = cts_alloc(t, COUNT * sizeof *y);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = i % 97 == 0 ? 0 : moderate(t, k);
        y[i] = moderate(t, k);
    }
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)COUNT * 4 * fp_size(k), (uint32_t)fp_size(k));
    char kernel[64];
    snprintf(kernel, sizeof kernel, "map_%s", c->name);
    cts_launch launch = {.library = k == FP_FLOAT ? &geometric_float_library : &geometric_double_library, .kernel = kernel,
                         .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4};
    uint32_t at = 0;
    launch.buffers[at++] = put_values(t, k, x, COUNT);
    if (is_dot || is_cross || is_distance || is_fast_distance) launch.buffers[at++] = put_values(t, k, y, COUNT);
    launch.buffers[at++] = out;
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return;
    const void* results = cts_read_all(t, out);
    const long double ulp = c->ulps * ldexpl(1, 1 - fp_digits(k));
    for (size_t lanes = is_cross ? 3 : 1; results != NULL && lanes <= 4; lanes++) {
        const size_t section = is_cross ? lanes - 3 : lanes - 1;
        for (size_t i = 0; i < COUNT / lanes; i++) {
            const long double *a = x + i * lanes, *b = y + i * lanes;
            long double dot = 0, magnitude = 0, squares = 0, differences = 0;
            for (size_t l = 0; l < lanes; l++) {
                dot += a[l] * b[l];
                magnitude += fabsl(a[l] * b[l]);
                squares += a[l] * a[l];
                differences += (a[l] - b[l]) * (a[l] - b[l]);
            }
            for (size_t l = 0; l < (is_vector || is_cross ? lanes : 1); l++) {
                long double expected, allowed;
                if (is_dot) {
                    expected = dot;
                    allowed = magnitude;
                } else if (is_cross) {
                    const size_t p = (l + 1) % 3, q = (l + 2) % 3;
                    expected = l == 3 ? 0 : a[p] * b[q] - a[q] * b[p];
                    allowed = l == 3 ? 0 : fabsl(a[p] * b[q]) + fabsl(a[q] * b[p]);
                } else if (is_vector) {
                    expected = squares == 0 ? a[l] : a[l] / sqrtl(squares);
                    allowed = fabsl(expected);
                } else {
                    expected = sqrtl(is_distance || is_fast_distance ? differences : squares);
                    allowed = expected;
                }
                const long double actual = fp_get(k, results, section * COUNT + (is_vector || is_cross ? i * lanes + l : i));
                if (!(fabsl(actual - expected) <= allowed * ulp))
                    cts_fail(t, __FILE__, __LINE__, "%s, %zu lanes, item %zu, lane %zu: first operand %La: expected %La, got %La", kernel, lanes, i, l,
                             a[l], expected, actual);
            }
        }
    }
}

void cts_suite_geometric(cts_registry* registry)
{
    static const geometric_case cases[] = {
        {"dot", FP_FLOAT, 4}, {"distance", FP_FLOAT, 5}, {"length", FP_FLOAT, 5}, {"normalize", FP_FLOAT, 6}, {"cross", FP_FLOAT, 3},
        {"fast_distance", FP_FLOAT, 8192}, {"fast_length", FP_FLOAT, 8192}, {"fast_normalize", FP_FLOAT, 8192},
        {"dot", FP_DOUBLE, 4}, {"distance", FP_DOUBLE, 5}, {"length", FP_DOUBLE, 5}, {"normalize", FP_DOUBLE, 6}, {"cross", FP_DOUBLE, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cts_addf(registry, geometric_run, &cases[i], cases[i].kind == FP_DOUBLE ? KHAL_FEATURE_FP64 : 0, "%s_%s", cases[i].name,
                 fp_name(cases[i].kind));
}
