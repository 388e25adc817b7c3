/* as_type, vload and vstore, their forms for half, and shuffles. */
#include "../fp.h"
#include "../values.h"

#include "as_type.khal.h"
#include "memory.khal.h"
#include "shuffle.khal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- as_type ------------------------------------------------------------------------------------- */

typedef struct as_case { const char* name; uint32_t size; /* bytes of an element */ uint32_t used; /* bytes that are defined */ uint32_t features; } as_case;

static const as_case as_cases[] = {
    {"char_as_uchar", 1, 1, 0}, {"uchar_as_char", 1, 1, 0}, {"short_as_ushort", 2, 2, 0}, {"ushort_as_half", 2, 2, 0},
    {"half_as_short", 2, 2, 0}, {"char2_as_short", 2, 2, 0}, {"short_as_uchar2", 2, 2, 0}, {"half_as_char2", 2, 2, 0},
    {"int_as_float", 4, 4, 0}, {"float_as_uint", 4, 4, 0}, {"uint_as_int", 4, 4, 0}, {"char4_as_float", 4, 4, 0},
    {"float_as_uchar4", 4, 4, 0}, {"half2_as_int", 4, 4, 0}, {"int_as_short2", 4, 4, 0}, {"uint_as_half2", 4, 4, 0},
    {"long_as_double", 8, 8, KHAL_FEATURE_FP64}, {"double_as_ulong", 8, 8, KHAL_FEATURE_FP64}, {"ulong_as_long", 8, 8, KHAL_FEATURE_INT64},
    {"int2_as_double", 8, 8, KHAL_FEATURE_FP64}, {"double_as_float2", 8, 8, KHAL_FEATURE_FP64}, {"char8_as_long", 8, 8, KHAL_FEATURE_INT64},
    {"ulong_as_short4", 8, 8, KHAL_FEATURE_INT64}, {"half4_as_long", 8, 8, KHAL_FEATURE_INT64}, {"float2_as_uint2", 8, 8, 0},
    {"float4_as_int4", 16, 16, 0}, {"int4_as_float4", 16, 16, 0}, {"double2_as_ulong2", 16, 16, KHAL_FEATURE_FP64},
    {"uchar16_as_float4", 16, 16, 0}, {"short8_as_double2", 16, 16, KHAL_FEATURE_FP64}, {"float4_as_char16", 16, 16, 0},
    {"float8_as_ulong4", 32, 32, KHAL_FEATURE_INT64}, {"int16_as_float16", 64, 64, 0}, {"uint8_as_double4", 32, 32, KHAL_FEATURE_FP64},
    {"char16_as_long2", 16, 16, KHAL_FEATURE_INT64}, {"double8_as_float16", 64, 64, KHAL_FEATURE_FP64}, {"half16_as_uint8", 32, 32, 0},
    {"float3_as_int3", 16, 12, 0}, {"int3_as_uint3", 16, 12, 0}, {"float3_as_float4", 16, 12, 0}, {"int4_as_float3", 16, 12, 0},
};

static void as_run(cts* t)
{
    enum { ITEMS = 256 };
    const as_case* c = cts_data(t);
    uint8_t* in = cts_alloc(t, (size_t)ITEMS * c->size);
    for (size_t i = 0; i < (size_t)ITEMS * c->size; i++) in[i] = (uint8_t)cts_random(t);
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)ITEMS * c->size, c->size);
    if (!cts_run(t, .library = &as_type_library, .kernel = c->name, .grid = khal_threads(ITEMS, 1, 1),
                 .buffers = {cts_buffer_of(t, in, (uint64_t)ITEMS * c->size, c->size), out}))
        return;
    const uint8_t* results = cts_read_all(t, out);
    for (size_t i = 0; results != NULL && i < ITEMS; i++) /* bits, NaN payloads too */
        if (!cts_check_memory(t, results + i * c->size, in + i * c->size, c->used, c->used, c->name, __FILE__, __LINE__)) break;
}

void cts_suite_as_type(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof as_cases / sizeof as_cases[0]; i++)
        cts_add(registry, as_cases[i].name, as_run, &as_cases[i], as_cases[i].features);
}

/* ---- vload, vstore ------------------------------------------------------------------------------- */

enum { COUNT = 1920, ROOM = COUNT + 16 };

typedef struct copy_case { const char* type; uint32_t size; uint32_t features; } copy_case;
static const copy_case copies[] = {
    {"char", 1, 0}, {"uchar", 1, 0}, {"short", 2, 0}, {"ushort", 2, 0}, {"int", 4, 0}, {"uint", 4, 0}, {"long", 8, KHAL_FEATURE_INT64},
    {"ulong", 8, KHAL_FEATURE_INT64}, {"half", 2, 0}, {"float", 4, 0}, {"double", 8, KHAL_FEATURE_FP64},
};

static void copy_run(cts* t)
{
    const copy_case* c = cts_data(t);
    const size_t s = c->size;
    const uint32_t n = COUNT;
    uint8_t* in = cts_alloc(t, ROOM * s);
    for (size_t i = 0; i < ROOM * s; i++) in[i] = (uint8_t)cts_random(t);
    char kernel[32];
    snprintf(kernel, sizeof kernel, "copy_%s", c->type);
    khal_buffer* out = cts_buffer_of(t, NULL, (5 * COUNT + 32) * s, (uint32_t)s);
    if (!cts_run(t, .library = &memory_library, .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, in, ROOM * s, (uint32_t)s), out}))
        return;
    uint8_t* expected = cts_alloc(t, (5 * COUNT + 32) * s);
    for (size_t w = 0; w < 5; w++) memcpy(expected + (w * COUNT + 1 + 2 * w) * s, in + s, COUNT * s);
    CTS_SAME(t, cts_read_all(t, out), expected, (5 * COUNT + 32) * s, s);
}

static void spaces(cts* t)
{
    float table[48], expected[64 * 48];
    for (int i = 0; i < 48; i++) table[i] = (float)(i * i);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 48; k++) expected[48 * i + k] = table[k] + (float)(i / 16 * 16 + 15 - i % 16);
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (!cts_run(t, .library = &memory_library, .kernel = "spaces", .grid = khal_threads(64, 1, 1),
                 .buffers = {cts_buffer(t, .data = table, .size = sizeof table, .element_size = 4,
                                        .usage = KHAL_USAGE_STORAGE | KHAL_USAGE_UNIFORM), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
}

static bool is_same(long double a, long double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

static void load_half(cts* t)
{
    enum { ALL = 65472 }; /* nearly every half there is; a multiple of 48 */
    const uint32_t n = ALL;
    uint16_t* in = cts_alloc(t, ALL * 2);
    for (uint32_t i = 0; i < ALL; i++) in[i] = (uint16_t)i;
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)6 * ALL * 4, 4);
    if (!cts_run(t, .library = &memory_library, .kernel = "load_half", .grid = khal_threads(ALL, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, in, ALL * 2, 2), out}))
        return;
    const float* results = cts_read_all(t, out);
    for (size_t i = 0; results != NULL && i < (size_t)6 * ALL; i++) {
        const long double expected = fp_from_bits(FP_HALF, in[i % ALL]);
        if (!is_same(results[i], expected))
            cts_fail(t, __FILE__, __LINE__, "section %zu, half 0x%04x: expected %La, got %a", i / ALL, in[i % ALL], expected, (double)results[i]);
    }
}

static void load_half_aligned(cts* t)
{
    const uint32_t n = COUNT;
    uint16_t* in = cts_alloc(t, COUNT * 2);
    for (uint32_t i = 0; i < COUNT; i++) in[i] = (uint16_t)cts_random(t);
    khal_buffer* out = cts_buffer_of(t, NULL, 5 * COUNT * 4, 4);
    if (!cts_run(t, .library = &memory_library, .kernel = "load_half_aligned", .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, in, COUNT * 2, 2), out}))
        return;
    const float* results = cts_read_all(t, out);
    for (size_t s = 0; results != NULL && s < 5; s++) {
        const size_t count = s == 1 ? COUNT / 4 * 3 : COUNT;
        for (size_t i = 0; i < count; i++) {
            const uint16_t bits = in[s == 1 ? i / 3 * 4 + i % 3 : i];
            if (!is_same(results[s * COUNT + i], fp_from_bits(FP_HALF, bits)))
                cts_fail(t, __FILE__, __LINE__, "section %zu, index %zu, half 0x%04x: expected %La, got %a", s, i, bits, fp_from_bits(FP_HALF, bits),
                         (double)results[s * COUNT + i]);
        }
    }
}

typedef struct store_case { fp_kind kind; const char* suffix; fp_round_mode mode; } store_case;
static const store_case stores[] = {
    {FP_FLOAT, "", ROUND_EVEN}, {FP_FLOAT, "_rte", ROUND_EVEN}, {FP_FLOAT, "_rtz", ROUND_ZERO}, {FP_FLOAT, "_rtp", ROUND_UP}, {FP_FLOAT, "_rtn", ROUND_DOWN},
    {FP_DOUBLE, "", ROUND_EVEN}, {FP_DOUBLE, "_rte", ROUND_EVEN}, {FP_DOUBLE, "_rtz", ROUND_ZERO}, {FP_DOUBLE, "_rtp", ROUND_UP}, {FP_DOUBLE, "_rtn", ROUND_DOWN},
};

/* Values around every boundary of half: halfway, one to either side, denormals and overflow. */
static void half_boundaries(cts* t, fp_kind k, long double* out)
{
    const size_t specials = fp_inputs(t, k, 0, 0, COUNT, out);
    for (size_t i = specials; i < COUNT; i += 2) {
        const uint16_t bits = (uint16_t)(cts_random_below(t, 0x7c00) | (cts_random(t) & 1 ? 0x8000 : 0));
        const long double low = fp_from_bits(FP_HALF, bits), high = fp_from_bits(FP_HALF, bits + 1u);
        const long double middle = isinf(high) ? copysignl(65520, low) : (low + high) / 2;
        const long double off = i % 6 == 0 ? 1 : i % 6 == 2 ? 1 + ldexpl(1, 3 - fp_digits(k)) : 1 - ldexpl(1, 3 - fp_digits(k));
        out[i] = fp_round(k, middle * off, ROUND_EVEN);
    }
}

static void store_run(cts* t)
{
    const store_case* c = cts_data(t);
    const size_t size = fp_size(c->kind);
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    char* in = cts_alloc(t, COUNT * size);
    half_boundaries(t, c->kind, x);
    for (size_t i = 0; i < COUNT; i++) fp_put(c->kind, in, i, x[i]);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "store_half_%s%s", fp_name(c->kind), c->suffix);
    khal_buffer* out = cts_buffer_of(t, NULL, 6 * COUNT * 2, 2);
    if (!cts_run(t, .library = &memory_library, .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, in, COUNT * size, (uint32_t)size), out}))
        return;
    const void* results = cts_read_all(t, out);
    for (size_t i = 0; results != NULL && i < 6 * COUNT; i++) {
        const long double expected = fp_round(FP_HALF, x[i % COUNT], c->mode), actual = fp_get(FP_HALF, results, i);
        if (!is_same(actual, expected))
            cts_fail(t, __FILE__, __LINE__, "%s, section %zu, index %zu: x = %La: expected %La, got %La", kernel, i / COUNT, i % COUNT, x[i % COUNT],
                     expected, actual);
    }
}

static void store_half_aligned(cts* t)
{
    const uint32_t n = COUNT;
    long double* x = cts_alloc(t, COUNT * sizeof *x);
    float* in = cts_alloc(t, COUNT * 4);
    half_boundaries(t, FP_FLOAT, x);
    for (size_t i = 0; i < COUNT; i++) in[i] = (float)x[i];
    khal_buffer* out = cts_buffer_of(t, NULL, 5 * COUNT * 2, 2);
    if (!cts_run(t, .library = &memory_library, .kernel = "store_half_aligned", .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, in, COUNT * 4, 4), out}))
        return;
    const void* results = cts_read_all(t, out);
    static const fp_round_mode modes[] = {ROUND_EVEN, ROUND_EVEN, ROUND_ZERO, ROUND_UP, ROUND_DOWN};
    for (size_t s = 0; results != NULL && s < 5; s++) {
        for (size_t i = 0; i < (s == 1 ? COUNT / 4 * 3 : COUNT); i++) {
            const long double expected = fp_round(FP_HALF, x[i], modes[s]);
            const long double actual = fp_get(FP_HALF, results, s * COUNT + (s == 1 ? i / 3 * 4 + i % 3 : i));
            if (!is_same(actual, expected))
                cts_fail(t, __FILE__, __LINE__, "section %zu, index %zu: x = %La: expected %La, got %La", s, i, x[i], expected, actual);
        }
    }
}

void cts_suite_memory(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        cts_addf(registry, copy_run, &copies[i], copies[i].features, "copy_%s", copies[i].type);
    CTS_ADD(registry, spaces);
    CTS_ADD(registry, load_half);
    CTS_ADD(registry, load_half_aligned);
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        cts_addf(registry, store_run, &stores[i], stores[i].kind == FP_DOUBLE ? KHAL_FEATURE_FP64 : 0, "store_half_%s%s", fp_name(stores[i].kind),
                 stores[i].suffix);
    CTS_ADD(registry, store_half_aligned);
}

/* ---- shuffle ------------------------------------------------------------------------------------- */

typedef struct shuffle_case { const char* type; uint32_t size; uint32_t from, to; uint32_t features; } shuffle_case;

static void shuffle_run(cts* t)
{
    enum { ITEMS = 128 };
    const shuffle_case* c = cts_data(t);
    const size_t s = c->size, m = c->from, w = c->to;
    uint8_t *a = cts_alloc(t, ITEMS * m * s), *b = cts_alloc(t, ITEMS * m * s), *mask = cts_alloc(t, ITEMS * w * s);
    uint8_t* expected = cts_alloc(t, 2 * ITEMS * w * s);
    for (size_t i = 0; i < ITEMS * m * s; i++) {
        a[i] = (uint8_t)cts_random(t);
        b[i] = (uint8_t)cts_random(t);
    }
    for (size_t i = 0; i < ITEMS * w * s; i++) mask[i] = (uint8_t)cts_random(t); /* the high bits do not count */
    for (size_t i = 0; i < ITEMS * w; i++) {
        const size_t one = mask[i * s] % m, two = mask[i * s] % (2 * m), item = i / w;
        memcpy(expected + i * s, a + (item * m + one) * s, s);
        memcpy(expected + (ITEMS * w + i) * s, (two < m ? a : b) + (item * m + two % m) * s, s);
    }
    const uint32_t n = (uint32_t)(ITEMS * w);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "shuffle_%s%u_%u", c->type, c->from, c->to);
    khal_buffer* out = cts_buffer_of(t, NULL, 2 * ITEMS * w * s, c->size);
    if (!cts_run(t, .library = &shuffle_library, .kernel = kernel, .grid = khal_threads(ITEMS, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, ITEMS * m * s, c->size), cts_buffer_of(t, b, ITEMS * m * s, c->size),
                             cts_buffer_of(t, mask, ITEMS * w * s, c->size), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, 2 * ITEMS * w * s, s);
}

void cts_suite_shuffle(cts_registry* registry)
{
    static shuffle_case cases[128];
    static const struct { const char* type; uint32_t size; uint32_t from; uint32_t features; } all[] = {
        {"float", 4, 0, 0}, {"int", 4, 0, 0}, {"uchar", 1, 0, 0}, {"short", 2, 0, 0}, {"char", 1, 4, 0}, {"ushort", 2, 8, 0}, {"uint", 4, 4, 0},
        {"long", 8, 2, KHAL_FEATURE_INT64}, {"ulong", 8, 16, KHAL_FEATURE_INT64}, {"double", 8, 8, KHAL_FEATURE_FP64}, {"half", 2, 4, 0},
    };
    static const uint32_t widths[] = {2, 4, 8, 16};
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (size_t m = 0; m < 4; m++) {
            for (size_t n = 0; n < 4 && (all[i].from == 0 || all[i].from == widths[m]); n++) {
                cases[count] = (shuffle_case){all[i].type, all[i].size, widths[m], widths[n], all[i].features};
                cts_addf(registry, shuffle_run, &cases[count++], all[i].features, "%s%u_to_%u", all[i].type, widths[m], widths[n]);
            }
        }
    }
}
