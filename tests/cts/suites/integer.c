/* The integer functions on all eight integer types, scalar and in every vector width, against 128-bit arithmetic. */
#include "../cts.h"
#include "../values.h"

#include "integer_16.khal.h"
#include "integer_32.khal.h"
#include "integer_64.khal.h"
#include "integer_8.khal.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 4800, WIDTHS = 6 };
static const int lanes[WIDTHS] = {1, 2, 3, 4, 8, 16};

typedef wide (*reference_fn)(int_kind k, wide a, wide b, wide c);

typedef struct operation {
    const char* name;
    int arity;
    reference_fn reference;
    bool unsigned_result;
} operation;

static wide floor_half(wide sum) { return (sum - ((sum % 2 + 2) % 2)) / 2; }

static wide ref_abs(int_kind k, wide a, wide b, wide c) { (void)k; (void)b; (void)c; return a < 0 ? -a : a; }
static wide ref_abs_diff(int_kind k, wide a, wide b, wide c) { (void)k; (void)c; return a > b ? a - b : b - a; }
static wide ref_add_sat(int_kind k, wide a, wide b, wide c) { (void)c; return int_clamp(k, a + b); }
static wide ref_sub_sat(int_kind k, wide a, wide b, wide c) { (void)c; return int_clamp(k, a - b); }
static wide ref_hadd(int_kind k, wide a, wide b, wide c) { (void)k; (void)c; return floor_half(a + b); }
static wide ref_rhadd(int_kind k, wide a, wide b, wide c) { (void)k; (void)c; return floor_half(a + b + 1); }

static wide ref_clz(int_kind k, wide a, wide b, wide c)
{
    (void)b; (void)c;
    const uint64_t bits = int_bits(k, a);
    int zeros = 0;
    for (int i = int_width(k) - 1; i >= 0 && (bits >> i & 1) == 0; i--) zeros++;
    return zeros;
}

static wide ref_popcount(int_kind k, wide a, wide b, wide c)
{
    (void)b; (void)c;
    int ones = 0;
    for (uint64_t bits = int_bits(k, a); bits != 0; bits &= bits - 1) ones++;
    return ones;
}

static wide ref_mul_hi(int_kind k, wide a, wide b, wide c)
{
    (void)c;
    if (k == INT_ULONG) return (wide)((uwide)a * (uwide)b >> 64); /* the product needs all 128 bits */
    const wide product = a * b;
    const wide unit = (wide)1 << int_width(k);
    return (product - ((product % unit + unit) % unit)) / unit;
}

static wide ref_mad_hi(int_kind k, wide a, wide b, wide c) { return int_wrap(k, ref_mul_hi(k, a, b, 0) + c); }

static wide ref_mad_sat(int_kind k, wide a, wide b, wide c)
{
    if (k == INT_ULONG) {
        const uwide product = (uwide)a * (uwide)b;
        const uwide sum = product + (uwide)c;
        return sum < product || sum > UINT64_MAX ? (wide)UINT64_MAX : (wide)sum;
    }
    return int_clamp(k, a * b + c);
}

static wide ref_rotate(int_kind k, wide a, wide b, wide c)
{
    (void)c;
    const int width = int_width(k);
    const int by = (int)(int_bits(k, b) & (uint64_t)(width - 1));
    const uint64_t bits = int_bits(k, a);
    return int_wrap(k, (wide)(by == 0 ? bits : bits << by | bits >> (width - by)));
}

static wide ref_max(int_kind k, wide a, wide b, wide c) { (void)k; (void)c; return a > b ? a : b; }
static wide ref_min(int_kind k, wide a, wide b, wide c) { (void)k; (void)c; return a < b ? a : b; }

static wide ref_clamp(int_kind k, wide a, wide b, wide c)
{
    (void)k;
    const wide low = b < c ? b : c, high = b < c ? c : b;
    return a < low ? low : a > high ? high : a;
}

static wide ref_mul24(int_kind k, wide a, wide b, wide c) { (void)c; return int_wrap(k, a * b); }
static wide ref_mad24(int_kind k, wide a, wide b, wide c) { return int_wrap(k, a * b + c); }

static const operation operations[] = {
    {"abs", 1, ref_abs, true}, {"abs_diff", 2, ref_abs_diff, true}, {"add_sat", 2, ref_add_sat, false},
    {"sub_sat", 2, ref_sub_sat, false}, {"hadd", 2, ref_hadd, false}, {"rhadd", 2, ref_rhadd, false},
    {"clz", 1, ref_clz, false}, {"popcount", 1, ref_popcount, false}, {"mul_hi", 2, ref_mul_hi, false},
    {"mad_hi", 3, ref_mad_hi, false}, {"mad_sat", 3, ref_mad_sat, false}, {"rotate", 2, ref_rotate, false},
    {"max", 2, ref_max, false}, {"min", 2, ref_min, false}, {"clamp", 3, ref_clamp, false},
};
static const operation operations24[] = {{"mul24", 2, ref_mul24, false}, {"mad24", 3, ref_mad24, false}};

typedef struct integer_case {
    const operation* op;
    int_kind kind;
} integer_case;

static const khal_kernel_library* library_of(int_kind k)
{
    static const khal_kernel_library* const libraries[] = {&integer_8_library, &integer_16_library, &integer_32_library,
                                                           &integer_64_library};
    return libraries[k / 2];
}

static void put_inputs(cts* t, const integer_case* c, void* a, void* b, void* d)
{
    int_inputs(t, c->kind, COUNT, a);
    int_inputs(t, c->kind, COUNT, b);
    int_inputs(t, c->kind, COUNT, d);
    const bool narrow = c->op->reference == ref_mul24 || c->op->reference == ref_mad24;
    for (size_t i = 0; narrow && i < COUNT; i++) { /* defined for 24-bit operands alone */
        int_put(c->kind, a, i, c->kind == INT_INT ? int_get(INT_INT, a, i) / 256 : int_get(INT_UINT, a, i) & 0xffffff);
        int_put(c->kind, b, i, c->kind == INT_INT ? int_get(INT_INT, b, i) / 256 : int_get(INT_UINT, b, i) & 0xffffff);
    }
}

static void integer_run(cts* t)
{
    const integer_case* c = cts_data(t);
    const size_t size = int_size(c->kind);
    void *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size), *d = cts_alloc(t, COUNT * size);
    put_inputs(t, c, a, b, d);
    const uint32_t n = COUNT;
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", c->op->name, int_name(c->kind));
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)COUNT * WIDTHS * size, (uint32_t)size);
    cts_launch launch = {.library = library_of(c->kind), .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4};
    uint32_t at = 0;
    launch.buffers[at++] = cts_buffer_of(t, a, COUNT * size, (uint32_t)size);
    if (c->op->arity > 1) launch.buffers[at++] = cts_buffer_of(t, b, COUNT * size, (uint32_t)size);
    if (c->op->arity > 2) launch.buffers[at++] = cts_buffer_of(t, d, COUNT * size, (uint32_t)size);
    launch.buffers[at++] = out;
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return;
    const void* results = cts_read_all(t, out);
    const int_kind result_kind = c->op->unsigned_result ? int_unsigned(c->kind) : c->kind;
    for (size_t i = 0; results != NULL && i < COUNT; i++) {
        const wide va = int_get(c->kind, a, i), vb = int_get(c->kind, b, i), vc = int_get(c->kind, d, i);
        const wide expected = int_wrap(result_kind, c->op->reference(c->kind, va, vb, vc));
        for (int w = 0; w < WIDTHS; w++) {
            const wide actual = int_get(result_kind, results, (size_t)w * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, %d lanes, index %zu: a = %s, b = %s, c = %s: expected %s, got %s", kernel, lanes[w], i,
                         wide_text(va).text, wide_text(vb).text, wide_text(vc).text, wide_text(expected).text, wide_text(actual).text);
        }
    }
}

static void upsample_run(cts* t)
{
    const int_kind high_kind = *(const int_kind*)cts_data(t);
    const int_kind low_kind = int_unsigned(high_kind), result_kind = (int_kind)(high_kind + 2);
    const size_t size = int_size(high_kind);
    void *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size);
    int_inputs(t, high_kind, COUNT, a);
    int_inputs(t, low_kind, COUNT, b);
    const uint32_t n = COUNT;
    char kernel[64];
    snprintf(kernel, sizeof kernel, "upsample_%s", int_name(high_kind));
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)COUNT * WIDTHS * size * 2, (uint32_t)size * 2);
    if (!cts_run(t, .library = library_of(high_kind), .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, COUNT * size, (uint32_t)size), cts_buffer_of(t, b, COUNT * size, (uint32_t)size), out}))
        return;
    const void* results = cts_read_all(t, out);
    for (size_t i = 0; results != NULL && i < COUNT; i++) {
        const wide expected = int_get(high_kind, a, i) * ((wide)1 << (8 * size)) + int_get(low_kind, b, i);
        for (int w = 0; w < WIDTHS; w++) {
            const wide actual = int_get(result_kind, results, (size_t)w * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, %d lanes, index %zu: expected %s, got %s", kernel, lanes[w], i,
                         wide_text(expected).text, wide_text(actual).text);
        }
    }
}

/* max(v, s), min(v, s) and clamp(v, s, s). */
static void scalars_run(cts* t)
{
    const int_kind k = *(const int_kind*)cts_data(t);
    const size_t size = int_size(k);
    void *a = cts_alloc(t, COUNT * size), *b = cts_alloc(t, COUNT * size), *c = cts_alloc(t, COUNT * size);
    int_inputs(t, k, COUNT, a);
    int_inputs(t, k, COUNT, b);
    int_inputs(t, k, COUNT, c);
    const uint32_t n = COUNT;
    char kernel[64];
    snprintf(kernel, sizeof kernel, "scalars_%s", int_name(k));
    khal_buffer* out = cts_buffer_of(t, NULL, COUNT * 5 * size, (uint32_t)size);
    if (!cts_run(t, .library = library_of(k), .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, COUNT * size, (uint32_t)size), cts_buffer_of(t, b, COUNT * size, (uint32_t)size),
                             cts_buffer_of(t, c, COUNT * size, (uint32_t)size), out}))
        return;
    static const struct { reference_fn reference; size_t lanes; } sections[] = {{ref_max, 4}, {ref_min, 4}, {ref_clamp, 4}, {ref_max, 3}, {ref_clamp, 16}};
    const void* results = cts_read_all(t, out);
    for (size_t s = 0; results != NULL && s < 5; s++) {
        for (size_t i = 0; i < COUNT; i++) {
            const size_t item = i / sections[s].lanes;
            const wide expected = sections[s].reference(k, int_get(k, a, i), int_get(k, b, item), int_get(k, c, item));
            const wide actual = int_get(k, results, s * COUNT + i);
            if (actual != expected)
                cts_fail(t, __FILE__, __LINE__, "%s, section %zu, index %zu: expected %s, got %s", kernel, s, i, wide_text(expected).text,
                         wide_text(actual).text);
        }
    }
}

void cts_suite_integer(cts_registry* registry)
{
    static integer_case cases[8 * sizeof operations / sizeof operations[0] + 4];
    static const int_kind kinds[] = {INT_CHAR, INT_UCHAR, INT_SHORT, INT_USHORT, INT_INT, INT_UINT, INT_LONG, INT_ULONG};
    size_t count = 0;
    for (size_t k = 0; k < 8; k++) {
        const uint32_t features = kinds[k] >= INT_LONG ? KHAL_FEATURE_INT64 : 0;
        for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
            cases[count] = (integer_case){&operations[o], kinds[k]};
            cts_addf(registry, integer_run, &cases[count++], features, "%s_%s", operations[o].name, int_name(kinds[k]));
        }
        cts_addf(registry, scalars_run, &kinds[k], features, "scalars_%s", int_name(kinds[k]));
        if (kinds[k] < INT_LONG)
            cts_addf(registry, upsample_run, &kinds[k], kinds[k] >= INT_INT ? KHAL_FEATURE_INT64 : 0, "upsample_%s", int_name(kinds[k]));
    }
    for (size_t o = 0; o < 2; o++) {
        for (size_t k = 4; k < 6; k++) {
            cases[count] = (integer_case){&operations24[o], kinds[k]};
            cts_addf(registry, integer_run, &cases[count++], 0, "%s_%s", operations24[o].name, int_name(kinds[k]));
        }
    }
}
