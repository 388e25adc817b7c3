#include "fp.h"

#include <math.h>
#include <string.h>

static const struct { int digits, min_exponent, max_exponent, size; const char* name; } formats[] = {
    [FP_HALF] = {11, -14, 15, 2, "half"},
    [FP_FLOAT] = {24, -126, 127, 4, "float"},
    [FP_DOUBLE] = {53, -1022, 1023, 8, "double"},
};

size_t fp_size(fp_kind kind) { return (size_t)formats[kind].size; }
const char* fp_name(fp_kind kind) { return formats[kind].name; }
int fp_digits(fp_kind kind) { return formats[kind].digits; }

long double fp_largest(fp_kind kind)
{
    return ldexpl(2 - ldexpl(1, 1 - formats[kind].digits), formats[kind].max_exponent);
}

long double fp_smallest_normal(fp_kind kind) { return ldexpl(1, formats[kind].min_exponent); }
long double fp_smallest(fp_kind kind) { return ldexpl(1, formats[kind].min_exponent - formats[kind].digits + 1); }
bool fp_is_denormal(fp_kind kind, long double x) { return x != 0 && fabsl(x) < fp_smallest_normal(kind); }

long double fp_flush(fp_kind kind, long double x) { return fp_is_denormal(kind, x) ? copysignl(0, x) : x; }

/* Exponent of the last place of a value. */
static int last_place(fp_kind kind, long double x)
{
    int e = 0;
    frexpl(x, &e);
    int exponent = e - 1;
    if (x == 0 || exponent < formats[kind].min_exponent) exponent = formats[kind].min_exponent;
    if (exponent > formats[kind].max_exponent) exponent = formats[kind].max_exponent;
    return exponent - formats[kind].digits + 1;
}

long double fp_round(fp_kind kind, long double x, fp_round_mode mode)
{
    if (isnan(x) || isinf(x) || x == 0) return x;
    const int place = last_place(kind, x);
    const long double scaled = ldexpl(x, -place);
    long double r = mode == ROUND_EVEN ? rintl(scaled) : mode == ROUND_ZERO ? truncl(scaled) : mode == ROUND_UP ? ceill(scaled) : floorl(scaled);
    r = copysignl(ldexpl(r, place), x);
    const long double largest = fp_largest(kind);
    if (fabsl(r) <= largest) return r;
    const bool to_infinity = mode == ROUND_EVEN || (mode == ROUND_UP && x > 0) || (mode == ROUND_DOWN && x < 0);
    return copysignl(to_infinity ? (long double)INFINITY : largest, x);
}

uint64_t fp_bits(fp_kind kind, long double x)
{
    const int fraction_bits = formats[kind].digits - 1;
    const int exponent_bits = 8 * formats[kind].size - 1 - fraction_bits;
    const uint64_t exponent_mask = (1ull << exponent_bits) - 1;
    const uint64_t sign = signbit(x) ? 1ull << (8 * formats[kind].size - 1) : 0;
    if (isnan(x)) return sign | exponent_mask << fraction_bits | 1ull << (fraction_bits - 1);
    x = fabsl(fp_round(kind, x, ROUND_EVEN));
    if (isinf(x)) return sign | exponent_mask << fraction_bits;
    if (x == 0) return sign;
    const int place = last_place(kind, x);
    const uint64_t significand = (uint64_t)ldexpl(x, -place);
    if (significand >> fraction_bits == 0) return sign | significand;
    const uint64_t exponent = (uint64_t)(place + fraction_bits + formats[kind].max_exponent);
    return sign | exponent << fraction_bits | (significand & ((1ull << fraction_bits) - 1));
}

long double fp_from_bits(fp_kind kind, uint64_t bits)
{
    const int fraction_bits = formats[kind].digits - 1;
    const int exponent_bits = 8 * formats[kind].size - 1 - fraction_bits;
    const uint64_t exponent_mask = (1ull << exponent_bits) - 1;
    const bool negative = bits >> (8 * formats[kind].size - 1) & 1;
    const uint64_t exponent = bits >> fraction_bits & exponent_mask;
    const uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
    long double x;
    if (exponent == exponent_mask) x = fraction != 0 ? (long double)NAN : (long double)INFINITY;
    else if (exponent == 0) x = ldexpl((long double)fraction, formats[kind].min_exponent - fraction_bits);
    else x = ldexpl((long double)(fraction | 1ull << fraction_bits), (int)exponent - formats[kind].max_exponent - fraction_bits);
    return negative ? -x : x;
}

long double fp_get(fp_kind kind, const void* values, size_t index)
{
    uint16_t h;
    float f;
    double d;
    const char* at = (const char*)values + index * fp_size(kind);
    switch (kind) {
    case FP_HALF: memcpy(&h, at, 2); return fp_from_bits(kind, h);
    case FP_FLOAT: memcpy(&f, at, 4); return f;
    default: memcpy(&d, at, 8); return d;
    }
}

void fp_put(fp_kind kind, void* values, size_t index, long double value)
{
    const uint64_t bits = fp_bits(kind, value);
    const uint16_t h = (uint16_t)bits;
    const uint32_t f = (uint32_t)bits;
    char* at = (char*)values + index * fp_size(kind);
    switch (kind) {
    case FP_HALF: memcpy(at, &h, 2); break;
    case FP_FLOAT: memcpy(at, &f, 4); break;
    default: memcpy(at, &bits, 8); break;
    }
}

double fp_ulps(fp_kind kind, long double actual, long double reference)
{
    if (isnan(actual) || isnan(reference)) return isnan(actual) && isnan(reference) ? 0 : (double)INFINITY;
    if (actual == reference) return 0;
    if (isinf(actual)) {
        if (actual == fp_round(kind, reference, ROUND_EVEN)) return 0;
        actual = copysignl(ldexpl(1, formats[kind].max_exponent + 1), actual);
    }
    if (isinf(reference)) return (double)INFINITY;
    return (double)ldexpl(fabsl(actual - reference), -last_place(kind, reference));
}

size_t fp_inputs(cts* t, fp_kind kind, long double from, long double to, size_t count, long double* out)
{
    const long double last = ldexpl(1, 1 - fp_digits(kind)); /* 1 + last is next to 1 */
    const long double specials[] = {
        0, 1, 0.5L, 1.5L, 2, 2.5L, 3, 4, 5, 10, (long double)INFINITY, (long double)NAN, fp_largest(kind), fp_smallest_normal(kind), fp_smallest(kind),
        fp_smallest_normal(kind) - fp_smallest(kind), 1 + last, 1 - last / 2, 0.5L + last / 2, 0.5L - last / 4,
        1 / last, 1 / last - 0.5L, 1 / last + 1, 2 / last, 0.1L, 0.25L, 0.75L, 7.5L, 23.5L, 126.5L, 127, 128, 255.5L, 1000,
        3.14159265358979323846L, 1.57079632679489661923L, 0.78539816339744830962L, 6.28318530717958647693L,
        2.71828182845904523536L, 0.69314718055994530942L, 11.0898664L, 17.3286795L, 88.7228394L, 87.3365479L, 103.972084L, 709.782712893384L, 745.133219101941L,
        1e10L, 1e30L, 1e-10L, 1e-30L,
    };
    size_t n = 0;
    const bool bounded = from != 0 || to != 0;
    for (size_t i = 0; i < 2 * sizeof specials / sizeof specials[0] && n < count; i++) {
        const long double x = fp_round(kind, i % 2 == 0 ? specials[i / 2] : -specials[i / 2], ROUND_EVEN);
        if (!bounded || (x >= from && x <= to)) out[n++] = x;
    }
    const size_t special_count = n;
    for (; n < count; n++) {
        const uint64_t r = cts_random(t);
        const long double unit = (long double)(r >> 11) * 0x1p-53L;
        long double x;
        if (bounded) {
            x = from + (to - from) * unit;
        } else {
            switch (n % 4) {
            case 0: x = fp_from_bits(kind, kind == FP_DOUBLE ? r : kind == FP_FLOAT ? r >> 32 : r >> 48); break;
            case 1: x = 20 * unit - 10; break;
            case 2: x = 400 * unit - 200; break;
            default: x = ldexpl(1 + unit, (int)(cts_random(t) % 61) - 30) * (r & 1 ? 1 : -1); break;
            }
        }
        out[n] = fp_round(kind, x, ROUND_EVEN);
    }
    return special_count;
}
