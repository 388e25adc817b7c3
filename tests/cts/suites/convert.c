/* convert_D(S) for all pairs of types, with _sat and every rounding mode; layout of the results in kernels/convert.h. */
#include "../fp.h"
#include "../values.h"

#include "convert_char.khal.h"
#include "convert_double.khal.h"
#include "convert_float.khal.h"
#include "convert_half.khal.h"
#include "convert_int.khal.h"
#include "convert_long.khal.h"
#include "convert_short.khal.h"
#include "convert_uchar.khal.h"
#include "convert_uint.khal.h"
#include "convert_ulong.khal.h"
#include "convert_ushort.khal.h"

#include <math.h>
#include <stdio.h>

enum { COUNT = 2400, TYPES = 11, HALF = 8 }; /* types: the eight integers, then half, float, double */

typedef struct pair { uint32_t to, from; } pair;

static const khal_kernel_library* const libraries[TYPES] = {
    &convert_char_library, &convert_uchar_library, &convert_short_library, &convert_ushort_library, &convert_int_library,
    &convert_uint_library, &convert_long_library, &convert_ulong_library, &convert_half_library, &convert_float_library,
    &convert_double_library,
};

static bool is_int(uint32_t type) { return type < HALF; }
static fp_kind kind_of(uint32_t type) { return (fp_kind)(type - HALF); }
static const char* name_of(uint32_t type) { return is_int(type) ? int_name((int_kind)type) : fp_name(kind_of(type)); }
static size_t size_of(uint32_t type) { return is_int(type) ? int_size((int_kind)type) : fp_size(kind_of(type)); }

static long double round_whole(long double x, fp_round_mode mode)
{
    return mode == ROUND_EVEN ? rintl(x) : mode == ROUND_ZERO ? truncl(x) : mode == ROUND_UP ? ceill(x) : floorl(x);
}

/* Halfway values and values around the bounds of every integer type, then a random sweep. */
static void float_inputs(cts* t, fp_kind k, long double* out)
{
    size_t n = fp_inputs(t, k, 0, 0, COUNT, out);
    static const int powers[] = {7, 8, 15, 16, 24, 31, 32, 53, 63, 64};
    for (size_t p = 0; p < sizeof powers / sizeof powers[0]; p++) {
        const long double bound = ldexpl(1, powers[p]);
        const long double step = ldexpl(1, powers[p] - fp_digits(k));
        const long double near[] = {bound, bound - step, bound + 2 * step, bound - 1, bound - 0.5L, bound - 1.5L, bound + 0.5L, bound + 1, bound / 2 + 0.5L};
        for (size_t i = 0; i < 2 * sizeof near / sizeof near[0]; i++)
            out[n++] = fp_round(k, i % 2 == 0 ? near[i / 2] : -near[i / 2], ROUND_EVEN);
    }
    for (int i = -600; i < 600; i++) out[n++] = fp_round(k, i / 4.0L, ROUND_EVEN);
}

/* Integers that a conversion to a floating type must round: halfway between neighbours, and one to either side. */
static void int_halfway_inputs(cts* t, int_kind k, void* out)
{
    int_inputs(t, k, COUNT, out);
    size_t n = COUNT / 2;
    static const int digits[] = {11, 24, 53};
    for (size_t d = 0; d < 3; d++) {
        for (int shift = 1; digits[d] + shift <= 64; shift++) {
            for (int offset = -1; offset <= 1; offset++) {
                const wide odd = ((wide)1 << (digits[d] - 1)) + 1 + (cts_random(t) & 2);
                const wide value = odd * ((wide)1 << shift) + ((wide)1 << (shift - 1)) + offset;
                if (value <= int_most(k)) int_put(k, out, n++, value);
                if (int_is_signed(k) && value <= int_most(k)) int_put(k, out, n++, -value);
                if (n >= COUNT - 2) return;
            }
        }
    }
}

typedef struct source { bool is_int; wide whole; long double real; } source;

/* Whether `actual` (element `index` of results) is what the conversion gives; open results are. */
static bool is_right(const pair* p, const source* s, fp_round_mode mode, bool saturate, const void* results, size_t index, char* expected_text,
                     char* actual_text, size_t size)
{
    if (!is_int(p->to)) {
        const fp_kind k = kind_of(p->to);
        const long double exact = s->is_int ? (long double)s->whole : s->real;
        const long double expected = fp_round(k, exact, mode), actual = fp_get(k, results, index);
        snprintf(expected_text, size, "%La", expected);
        snprintf(actual_text, size, "%La", actual);
        if (isnan(expected)) return isnan(actual);
        return actual == expected && (s->is_int || signbit(actual) == signbit(expected));
    }
    const int_kind k = (int_kind)p->to;
    const wide actual = int_get(k, results, index);
    wide expected;
    if (s->is_int) {
        expected = saturate ? int_clamp(k, s->whole) : int_wrap(k, s->whole);
    } else if (isnan(s->real)) {
        expected = saturate ? 0 : actual;
    } else {
        const long double whole = round_whole(s->real, mode);
        const bool below = whole < (long double)int_least(k), above = whole >= ldexpl(1, int_width(k) - int_is_signed(k));
        if (below) expected = saturate ? int_least(k) : actual; /* out of range without _sat: open */
        else if (above) expected = saturate ? int_most(k) : actual;
        else expected = (wide)whole;
    }
    snprintf(expected_text, size, "%s", wide_text(expected).text);
    snprintf(actual_text, size, "%s", wide_text(actual).text);
    return actual == expected;
}

static void convert_run(cts* t)
{
    const pair* p = cts_data(t);
    const uint32_t n = COUNT;
    const size_t from_size = size_of(p->from), to_size = size_of(p->to);
    void* a = cts_alloc(t, COUNT * from_size);
    source* sources = cts_alloc(t, COUNT * sizeof *sources);
    if (is_int(p->from)) {
        int_halfway_inputs(t, (int_kind)p->from, a);
        for (size_t i = 0; i < COUNT; i++) sources[i] = (source){true, int_get((int_kind)p->from, a, i), 0};
    } else {
        long double* x = cts_alloc(t, COUNT * sizeof *x);
        float_inputs(t, kind_of(p->from), x);
        for (size_t i = 0; i < COUNT; i++) {
            fp_put(kind_of(p->from), a, i, x[i]);
            sources[i] = (source){false, 0, x[i]};
        }
    }
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_to_%s", name_of(p->from), name_of(p->to));
    khal_buffer* out = cts_buffer_of(t, NULL, (uint64_t)28 * COUNT * to_size, (uint32_t)to_size);
    if (!cts_run(t, .library = libraries[p->to], .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, COUNT * from_size, (uint32_t)from_size), out}))
        return;
    const void* results = cts_read_all(t, out);
    const fp_round_mode plain = is_int(p->to) ? ROUND_ZERO : ROUND_EVEN;
    const bool has_wide_modes = !is_int(p->to) || !is_int(p->from);
    for (size_t section = 0; results != NULL && section < (is_int(p->to) ? 28u : 14u); section++) {
        const size_t form = section % 14;
        if (form >= 10 && !has_wide_modes) continue;
        const fp_round_mode mode = form < 6 ? plain : (fp_round_mode)((form - 6) % 4);
        for (size_t i = 0; i < COUNT; i++) {
            char expected[64], actual[64];
            if (is_right(p, &sources[i], mode, section >= 14, results, section * COUNT + i, expected, actual, sizeof expected)) continue;
            if (cts_flushes_denormals(t) && !sources[i].is_int && kind_of(p->from) == FP_FLOAT && fp_is_denormal(FP_FLOAT, sources[i].real)) continue;
            static const char* const forms[] = {"", "2", "3", "4", "8", "16", "_rte", "_rtz", "_rtp", "_rtn", "4_rte", "4_rtz", "4_rtp", "4_rtn"};
            char from[64];
            if (sources[i].is_int) snprintf(from, sizeof from, "%s", wide_text(sources[i].whole).text);
            else snprintf(from, sizeof from, "%La", sources[i].real);
            cts_fail(t, __FILE__, __LINE__, "%s, form %s%s, index %zu: of %s: expected %s, got %s", kernel, forms[form], section >= 14 ? " _sat" : "", i,
                     from, expected, actual);
        }
    }
}

void cts_suite_convert(cts_registry* registry)
{
    static pair pairs[TYPES * TYPES];
    size_t count = 0;
    for (uint32_t to = 0; to < TYPES; to++) {
        for (uint32_t from = 0; from < TYPES; from++) {
            const bool wide_int = (is_int(to) && to >= INT_LONG) || (is_int(from) && from >= INT_LONG);
            const bool is_double = to == TYPES - 1 || from == TYPES - 1;
            pairs[count] = (pair){to, from};
            cts_addf(registry, convert_run, &pairs[count++], (wide_int ? KHAL_FEATURE_INT64 : 0) | (is_double ? KHAL_FEATURE_FP64 : 0), "%s_to_%s",
                     name_of(from), name_of(to));
        }
    }
}
