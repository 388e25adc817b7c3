/* The math functions on half, float and double, scalar and in every vector width. Bounds are those of the OpenCL 1.2
 * specification, section 7.4 (full profile), in ulps; what it leaves open (lgamma, mad, native_x) has bounds of its own here. For half 2 ulps. */
#include "../fp.h"

#include "math_double.khal.h"
#include "math_float.khal.h"
#include "math_half.khal.h"
#include "native.khal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PI_L 3.14159265358979323846264338327950288L

enum { COUNT = 9600, WIDTHS = 6, MOST_SPECIALS = 110 };
static const int widths[WIDTHS] = {1, 2, 3, 4, 8, 16};

/* What a reference gets: the operands, n the int operand; `extra` is the second result. */
typedef long double (*reference_fn)(fp_kind k, long double x, long double y, long double z, int n, long double* extra);

typedef enum shape { ONE, TWO, THREE, TO_INT, WITH_INT, OUT, OUT_INT, TWO_OUT_INT } shape;

#define ANY_ZERO 1u      /* the sign of a zero result is open */
#define ANY_INFINITY 2u  /* the sign of an infinite result is open */
#define EXACT_IN_HALF 4u /* the bound holds for half too */

typedef struct operation {
    const char* name;
    shape shape;
    double ulps;
    uint32_t flags;
    reference_fn reference;
    long double from, to;    /* domain; 0, 0: everything */
    long double absolute;    /* an error that is accepted whatever the ulps, relative to 1 */
    bool (*accept)(fp_kind k, long double x, long double y, long double z, long double actual, long double reference);
} operation;

#define REF(name, value)                                                                                               \
    static long double ref_##name(fp_kind k, long double x, long double y, long double z, int n, long double* extra)   \
    {                                                                                                                  \
        (void)k; (void)x; (void)y; (void)z; (void)n; (void)extra;                                                      \
        return value;                                                                                                  \
    }

static long double cos_pi(long double x)
{
    if (isinf(x)) return (long double)NAN;
    const long double r = fmodl(fabsl(x), 2);
    if (r <= 0.25L) return cosl(PI_L * r);
    if (r <= 0.75L) return sinl(PI_L * (0.5L - r));
    if (r <= 1.25L) return -cosl(PI_L * (r - 1));
    if (r <= 1.75L) return sinl(PI_L * (r - 1.5L));
    return cosl(PI_L * (2 - r));
}

static long double sin_pi(long double x)
{
    if (isinf(x)) return (long double)NAN;
    const long double r = fmodl(fabsl(x), 2);
    long double s;
    if (r <= 0.25L) s = sinl(PI_L * r);
    else if (r <= 0.75L) s = cosl(PI_L * (r - 0.5L));
    else if (r <= 1.25L) s = sinl(PI_L * (1 - r));
    else if (r <= 1.75L) s = -cosl(PI_L * (r - 1.5L));
    else s = -sinl(PI_L * (2 - r));
    return s == 0 ? copysignl(0, x) : signbit(x) ? -s : s;
}

static long double tan_pi(long double x)
{
    if (isinf(x) || isnan(x)) return (long double)NAN;
    const long double r = fmodl(fabsl(x), 2);
    if (r == 1) return signbit(x) ? 0.0L : -0.0L;
    long double c = cos_pi(x);
    if (c == 0) c = 0; /* the infinity has the sine's sign */
    return sin_pi(x) / c;
}

static long double next_after(fp_kind k, long double x, long double y)
{
    if (isnan(x) || isnan(y)) return (long double)NAN;
    if (x == y) return y;
    if (x == 0) return copysignl(fp_smallest(k), y);
    const uint64_t bits = fp_bits(k, x); /* magnitude and sign: counting up goes away from 0 */
    return fp_from_bits(k, (y > x) == (x > 0) ? bits + 1 : bits - 1);
}

static long double fused(fp_kind k, long double x, long double y, long double z)
{
    if (k == FP_FLOAT) return fmaf((float)x, (float)y, (float)z);
    if (k == FP_DOUBLE) return fma((double)x, (double)y, (double)z);
    return fmal(x, y, z);
}

static long double difference(fp_kind k, long double x, long double y)
{
    if (k == FP_DOUBLE) return fdim((double)x, (double)y);
    return fdiml(x, y);
}

static long double square_root(fp_kind k, long double x) { return k == FP_DOUBLE ? sqrt((double)x) : sqrtl(x); }

static long double max_magnitude(long double x, long double y)
{
    return fabsl(x) > fabsl(y) ? x : fabsl(y) > fabsl(x) ? y : fmaxl(x, y);
}

static long double min_magnitude(long double x, long double y)
{
    return fabsl(x) < fabsl(y) ? x : fabsl(y) < fabsl(x) ? y : fminl(x, y);
}

static long double power_r(long double x, long double y)
{
    const long double nan = (long double)NAN;
    if (isnan(x) || isnan(y) || x < 0) return nan;
    if (x == 0 && y == 0) return nan;
    if (isinf(x) && y == 0) return nan;
    if (x == 1 && isinf(y)) return nan;
    return powl(fabsl(x), y);
}

static long double root_n(long double x, int n)
{
    const long double nan = (long double)NAN;
    if (n == 0 || isnan(x)) return nan;
    const bool odd = n % 2 != 0;
    if (x < 0 && !odd) return nan;
    if (x == 0) {
        const long double magnitude = n < 0 ? (long double)INFINITY : 0;
        return odd ? copysignl(magnitude, x) : magnitude;
    }
    return copysignl(powl(fabsl(x), 1.0L / n), x);
}

static long double fraction(fp_kind k, long double x, long double* whole)
{
    *whole = floorl(x);
    if (isnan(x)) return x;
    if (isinf(x)) return copysignl(0, x);
    if (x == 0) return x;
    const long double below_one = 1 - ldexpl(1, -fp_digits(k));
    return fminl(x - floorl(x), below_one);
}

static long double modulus(long double x, long double* whole)
{
    if (isinf(x)) {
        *whole = x;
        return copysignl(0, x);
    }
    return modfl(x, whole);
}

static long double mantissa(long double x, long double* exponent)
{
    int e = 0;
    const long double m = frexpl(x, &e);
    *exponent = isnan(x) || isinf(x) ? 0 : e;
    return m;
}

static long double gamma_sign(fp_kind k, long double x, long double* sign)
{
    (void)k;
    *sign = x < 0 && !isinf(x) && fmodl(floorl(x), 2) != 0 ? -1 : 1;
    if (x == 0) *sign = signbit(x) ? -1 : 1;
    return lgammal(x);
}

/* The low seven bits of the quotient, with its sign. */
static long double remainder_quotient(long double x, long double y, long double* quotient)
{
    *quotient = 0;
    const long double r = remainderl(x, y);
    if (isnan(r)) return r;
    if (isinf(y) || x == 0) return r;
    const long double part = fmodl(x, 128 * y);
    const long double q = rintl((part - r) / y);
    *quotient = (long double)((int64_t)fabsl(q) % 128) * (q < 0 ? -1 : 1);
    return r;
}

REF(acos, acosl(x)) REF(acosh, acoshl(x)) REF(acospi, acosl(x) / PI_L) REF(asin, asinl(x)) REF(asinh, asinhl(x))
REF(asinpi, asinl(x) / PI_L) REF(atan, atanl(x)) REF(atanh, atanhl(x)) REF(atanpi, atanl(x) / PI_L)
REF(atan2, atan2l(x, y)) REF(atan2pi, atan2l(x, y) / PI_L) REF(cbrt, cbrtl(x)) REF(ceil, ceill(x))
REF(copysign, copysignl(x, y)) REF(cos, cosl(x)) REF(cosh, coshl(x)) REF(cospi, cos_pi(x)) REF(erf, erfl(x)) REF(erfc, erfcl(x))
REF(exp, expl(x)) REF(exp2, exp2l(x)) REF(exp10, powl(10, x)) REF(expm1, expm1l(x)) REF(fabs, fabsl(x))
REF(fdim, difference(k, x, y)) REF(floor, floorl(x)) REF(fma, fused(k, x, y, z)) REF(mad, fused(k, x, y, z))
REF(fmax, fmaxl(x, y)) REF(fmin, fminl(x, y)) REF(fmod, fmodl(x, y)) REF(fract, fraction(k, x, extra))
REF(frexp, mantissa(x, extra)) REF(hypot, hypotl(x, y)) REF(ilogb, x == 0 || isnan(x) ? 0 : isinf(x) ? INT32_MAX : logbl(x))
REF(ldexp, ldexpl(x, n)) REF(lgamma, lgammal(x)) REF(lgamma_r, gamma_sign(k, x, extra)) REF(log, logl(x)) REF(log2, log2l(x))
REF(log10, log10l(x)) REF(log1p, log1pl(x)) REF(logb, logbl(x)) REF(maxmag, max_magnitude(x, y))
REF(minmag, min_magnitude(x, y)) REF(modf, modulus(x, extra)) REF(nextafter, next_after(k, x, y)) REF(pow, powl(x, y))
REF(pown, powl(x, n)) REF(powr, power_r(x, y)) REF(remainder, remainderl(x, y))
REF(remquo, remainder_quotient(x, y, extra)) REF(rint, rintl(x)) REF(rootn, root_n(x, n)) REF(round, roundl(x))
REF(rsqrt, 1 / sqrtl(x)) REF(sin, sinl(x)) REF(sincos, (*extra = cosl(x), sinl(x))) REF(sinh, sinhl(x)) REF(sinpi, sin_pi(x))
REF(sqrt, square_root(k, x)) REF(tan, tanl(x)) REF(tanh, tanhl(x)) REF(tanpi, tan_pi(x)) REF(tgamma, tgammal(x)) REF(trunc, truncl(x))
REF(recip, 1 / x) REF(divide, x / y)

/* mad may round once or twice: within an ulp of the product and one of the result. */
static bool accept_mad(fp_kind k, long double x, long double y, long double z, long double actual, long double reference)
{
    const long double product = x * y, sum = product + z;
    if (isnan(actual)) return isnan(reference) || isinf(fp_round(k, product, ROUND_EVEN));
    if (isnan(reference) || isinf(product) || isinf(z)) return actual == reference;
    if (isinf(fp_round(k, product, ROUND_EVEN)) || isinf(fp_round(k, sum, ROUND_EVEN))) return true;
    const long double ulp = ldexpl(1, 1 - fp_digits(k));
    return fabsl(actual - sum) <= ulp * (fabsl(product) + fabsl(sum)) + 2 * fp_smallest(k);
}

/* Even powers of a negative zero at n + 1/2 have either sign: the specification contradicts itself for negative ones. */
static bool accept_tanpi(fp_kind k, long double x, long double y, long double z, long double actual, long double reference)
{
    (void)k; (void)y; (void)z;
    return x < 0 && isinf(actual) && isinf(reference);
}

static bool accept_gamma_pole(fp_kind k, long double x, long double y, long double z, long double actual, long double reference)
{
    (void)k; (void)y; (void)z; (void)reference; /* at poles some libraries give NaN, others infinity */
    return x <= 0 && x == floorl(x) && (isnan(actual) || isinf(actual));
}

static const operation operations[] = {
    {"acos", ONE, 4, 0, ref_acos, 0, 0, 0, NULL}, {"acosh", ONE, 4, 0, ref_acosh, 0, 0, 0, NULL},
    {"acospi", ONE, 5, 0, ref_acospi, 0, 0, 0, NULL}, {"asin", ONE, 4, 0, ref_asin, 0, 0, 0, NULL},
    {"asinh", ONE, 4, 0, ref_asinh, 0, 0, 0, NULL}, {"asinpi", ONE, 5, 0, ref_asinpi, 0, 0, 0, NULL},
    {"atan", ONE, 5, 0, ref_atan, 0, 0, 0, NULL}, {"atanh", ONE, 5, 0, ref_atanh, 0, 0, 0, NULL},
    {"atanpi", ONE, 5, 0, ref_atanpi, 0, 0, 0, NULL}, {"atan2", TWO, 6, 0, ref_atan2, 0, 0, 0, NULL},
    {"atan2pi", TWO, 6, 0, ref_atan2pi, 0, 0, 0, NULL}, {"cbrt", ONE, 2, 0, ref_cbrt, 0, 0, 0, NULL},
    {"ceil", ONE, 0, EXACT_IN_HALF, ref_ceil, 0, 0, 0, NULL}, {"copysign", TWO, 0, EXACT_IN_HALF, ref_copysign, 0, 0, 0, NULL},
    {"cos", ONE, 4, 0, ref_cos, 0, 0, 0, NULL}, {"cosh", ONE, 4, 0, ref_cosh, 0, 0, 0, NULL},
    {"cospi", ONE, 4, 0, ref_cospi, 0, 0, 0, NULL}, {"erf", ONE, 16, 0, ref_erf, 0, 0, 0, NULL},
    {"erfc", ONE, 16, 0, ref_erfc, 0, 0, 0, NULL}, {"exp", ONE, 3, 0, ref_exp, 0, 0, 0, NULL},
    {"exp2", ONE, 3, 0, ref_exp2, 0, 0, 0, NULL}, {"exp10", ONE, 3, 0, ref_exp10, 0, 0, 0, NULL},
    {"expm1", ONE, 3, 0, ref_expm1, 0, 0, 0, NULL}, {"fabs", ONE, 0, EXACT_IN_HALF, ref_fabs, 0, 0, 0, NULL},
    {"fdim", TWO, 0, EXACT_IN_HALF, ref_fdim, 0, 0, 0, NULL}, {"floor", ONE, 0, EXACT_IN_HALF, ref_floor, 0, 0, 0, NULL},
    {"fma", THREE, 0, EXACT_IN_HALF, ref_fma, 0, 0, 0, NULL}, {"mad", THREE, 0, 0, ref_mad, 0, 0, 0, accept_mad},
    {"fmax", TWO, 0, ANY_ZERO | EXACT_IN_HALF, ref_fmax, 0, 0, 0, NULL}, {"fmin", TWO, 0, ANY_ZERO | EXACT_IN_HALF, ref_fmin, 0, 0, 0, NULL},
    {"fmod", TWO, 0, EXACT_IN_HALF, ref_fmod, 0, 0, 0, NULL}, {"fract", OUT, 0, EXACT_IN_HALF, ref_fract, 0, 0, 0, NULL},
    {"frexp", OUT_INT, 0, EXACT_IN_HALF, ref_frexp, 0, 0, 0, NULL}, {"hypot", TWO, 4, 0, ref_hypot, 0, 0, 0, NULL},
    {"ilogb", TO_INT, 0, EXACT_IN_HALF, ref_ilogb, 0, 0, 0, NULL}, {"ldexp", WITH_INT, 0, EXACT_IN_HALF, ref_ldexp, 0, 0, 0, NULL},
    {"lgamma", ONE, 16, ANY_ZERO, ref_lgamma, 0, 0, 1e-6L, accept_gamma_pole},
    {"lgamma_r", OUT_INT, 16, ANY_ZERO, ref_lgamma_r, 0, 0, 1e-6L, accept_gamma_pole},
    {"log", ONE, 3, 0, ref_log, 0, 0, 0, NULL}, {"log2", ONE, 3, 0, ref_log2, 0, 0, 0, NULL},
    {"log10", ONE, 3, 0, ref_log10, 0, 0, 0, NULL}, {"log1p", ONE, 2, 0, ref_log1p, 0, 0, 0, NULL},
    {"logb", ONE, 0, EXACT_IN_HALF, ref_logb, 0, 0, 0, NULL}, {"maxmag", TWO, 0, ANY_ZERO | EXACT_IN_HALF, ref_maxmag, 0, 0, 0, NULL},
    {"minmag", TWO, 0, ANY_ZERO | EXACT_IN_HALF, ref_minmag, 0, 0, 0, NULL}, {"modf", OUT, 0, EXACT_IN_HALF, ref_modf, 0, 0, 0, NULL},
    {"nextafter", TWO, 0, EXACT_IN_HALF, ref_nextafter, 0, 0, 0, NULL}, {"pow", TWO, 16, 0, ref_pow, 0, 0, 0, NULL},
    {"pown", WITH_INT, 16, 0, ref_pown, 0, 0, 0, NULL}, {"powr", TWO, 16, 0, ref_powr, 0, 0, 0, NULL},
    {"remainder", TWO, 0, EXACT_IN_HALF, ref_remainder, 0, 0, 0, NULL}, {"remquo", TWO_OUT_INT, 0, EXACT_IN_HALF, ref_remquo, 0, 0, 0, NULL},
    {"rint", ONE, 0, EXACT_IN_HALF, ref_rint, 0, 0, 0, NULL}, {"rootn", WITH_INT, 16, 0, ref_rootn, 0, 0, 0, NULL},
    {"round", ONE, 0, EXACT_IN_HALF, ref_round, 0, 0, 0, NULL}, {"rsqrt", ONE, 2, ANY_INFINITY, ref_rsqrt, 0, 0, 0, NULL},
    {"sin", ONE, 4, 0, ref_sin, 0, 0, 0, NULL}, {"sincos", OUT, 4, 0, ref_sincos, 0, 0, 0, NULL},
    {"sinh", ONE, 4, 0, ref_sinh, 0, 0, 0, NULL}, {"sinpi", ONE, 4, 0, ref_sinpi, 0, 0, 0, NULL},
    {"sqrt", ONE, 3, 0, ref_sqrt, 0, 0, 0, NULL}, {"tan", ONE, 5, 0, ref_tan, 0, 0, 0, NULL},
    {"tanh", ONE, 5, 0, ref_tanh, 0, 0, 0, NULL}, {"tanpi", ONE, 6, 0, ref_tanpi, 0, 0, 0, accept_tanpi},
    {"tgamma", ONE, 16, 0, ref_tgamma, 0, 0, 0, accept_gamma_pole}, {"trunc", ONE, 0, EXACT_IN_HALF, ref_trunc, 0, 0, 0, NULL},
};

/* native_x has bounds of ours; those of half_x are the specification's, 8192 ulps. */
static const operation fast_operations[] = {
    {"cos", ONE, 8192, 0, ref_cos, -3.14159L, 3.14159L, 1e-4L, NULL}, {"sin", ONE, 8192, 0, ref_sin, -3.14159L, 3.14159L, 1e-4L, NULL},
    {"tan", ONE, 8192, 0, ref_tan, -1.4L, 1.4L, 1e-4L, NULL}, {"exp", ONE, 8192, 0, ref_exp, -80, 80, 0, NULL},
    {"exp2", ONE, 8192, 0, ref_exp2, -120, 120, 0, NULL}, {"exp10", ONE, 8192, 0, ref_exp10, -35, 35, 0, NULL},
    {"log", ONE, 8192, ANY_ZERO, ref_log, 1e-30L, 1e30L, 1e-5L, NULL}, {"log2", ONE, 8192, ANY_ZERO, ref_log2, 1e-30L, 1e30L, 1e-5L, NULL},
    {"log10", ONE, 8192, ANY_ZERO, ref_log10, 1e-30L, 1e30L, 1e-5L, NULL}, {"recip", ONE, 8192, 0, ref_recip, 1e-30L, 1e30L, 0, NULL},
    {"rsqrt", ONE, 8192, 0, ref_rsqrt, 1e-30L, 1e30L, 0, NULL}, {"sqrt", ONE, 8192, 0, ref_sqrt, 1e-30L, 1e30L, 0, NULL},
    {"divide", TWO, 8192, 0, ref_divide, 1e-18L, 1e18L, 0, NULL}, {"powr", TWO, 8192, 0, ref_powr, 0.1L, 10, 0, NULL},
};

typedef struct inputs { long double *x, *y, *z; int* n; } inputs;

static void put_inputs(cts* t, fp_kind k, const operation* op, inputs* in)
{
    long double specials[MOST_SPECIALS];
    const int arity = op->shape == THREE ? 3 : op->shape == TWO || op->shape == TWO_OUT_INT ? 2 : 1;
    static const int exponents[] = {0, 1, -1, 2, -2, 3, -3, 4, 5, 7, -8, 10, 24, -24, 31, 52, 100, -100, 126, -126, 127, -127, 149, -149, 150,
                                    1022, -1022, 1074, -1074, 2000, -2000, INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1};
    in->x = cts_alloc(t, COUNT * sizeof *in->x);
    in->y = cts_alloc(t, COUNT * sizeof *in->y);
    in->z = cts_alloc(t, COUNT * sizeof *in->z);
    in->n = cts_alloc(t, COUNT * sizeof *in->n);
    size_t used = fp_inputs(t, k, op->from, op->to, COUNT, in->x);
    for (size_t i = 0; i < used && i < MOST_SPECIALS; i++) specials[i] = in->x[i];
    if (used > MOST_SPECIALS) used = MOST_SPECIALS;
    fp_inputs(t, k, op->from, op->to, COUNT, in->y);
    fp_inputs(t, k, op->from, op->to, COUNT, in->z);
    for (size_t i = 0; i < COUNT; i++) {
        in->n[i] = i % 3 == 0 ? (int)cts_random_below(t, 41) - 20 : i % 3 == 1 ? exponents[cts_random_below(t, 35)] : (int)cts_random_below(t, 300) - 150;
    }
    /* specials against specials, in the first two thirds */
    const size_t pairs = COUNT * 2 / 3;
    if (arity == 2) {
        for (size_t i = 0; i < pairs; i++) {
            in->x[i] = specials[i % used];
            in->y[i] = specials[i / used % used];
            if (used * used < pairs && i >= used * used) in->y[i] = in->x[COUNT - 1 - i];
        }
    } else if (arity == 3) {
        for (size_t i = 0; i < pairs; i++) {
            in->x[i] = specials[cts_random_below(t, (uint32_t)used)];
            in->y[i] = specials[cts_random_below(t, (uint32_t)used)];
            in->z[i] = specials[cts_random_below(t, (uint32_t)used)];
        }
        for (size_t i = pairs; i < COUNT; i += 2) in->z[i] = fp_round(k, -in->x[i] * in->y[i], ROUND_EVEN); /* cancellation */
    } else if (op->shape == WITH_INT) {
        for (size_t i = 0; i < pairs; i++) {
            in->x[i] = specials[i % used];
            in->n[i] = exponents[i / used % 35];
        }
    }
}

static bool is_near(cts* t, fp_kind k, const operation* op, double ulps, long double x, long double y, long double z,
                    long double actual, long double reference)
{
    const long double exact = ulps == 0 ? fp_round(k, reference, ROUND_EVEN) : reference;
    if (op->accept != NULL && op->accept(k, x, y, z, actual, exact)) return true;
    if (exact == 0 && actual == 0) return (op->flags & ANY_ZERO) || signbit(actual) == signbit(exact);
    if (isinf(exact) && isinf(actual) && (op->flags & ANY_INFINITY)) return true;
    if (fp_ulps(k, actual, exact) <= ulps) return true;
    if (op->absolute != 0 && fabsl(actual - exact) <= op->absolute * (k == FP_HALF ? 2000 : 1)) return true;
    return cts_flushes_denormals(t) && actual == 0 && fp_is_denormal(k, exact);
}

/* Where the device may take a denormal for zero: is it right for such arguments? */
static bool is_near_flushed(cts* t, fp_kind k, const operation* op, double ulps, const inputs* in, size_t i, long double actual,
                            bool is_second)
{
    if (!cts_flushes_denormals(t)) return false;
    const long double x = fp_flush(k, in->x[i]), y = fp_flush(k, in->y[i]), z = fp_flush(k, in->z[i]);
    long double extra = 0;
    const long double reference = op->reference(k, x, y, z, in->n[i], &extra);
    return (x == 0 || y == 0 || z == 0) && is_near(t, k, op, ulps, x, y, z, actual, is_second ? extra : reference);
}

static void compare(cts* t, fp_kind k, const operation* op, const char* what, const inputs* in, const void* results, const int* extra_ints,
                    const void* extras)
{
    const double ulps = k != FP_HALF || (op->flags & EXACT_IN_HALF) ? op->ulps : op->ulps > 2 && op->ulps < 100 ? 2 : op->ulps;
    double worst = 0;
    for (size_t i = 0; i < COUNT; i++) {
        long double extra = 0;
        const long double x = in->x[i], y = in->y[i], z = in->z[i];
        const long double reference = op->reference(k, x, y, z, in->n[i], &extra);
        for (int w = 0; w < WIDTHS; w++) {
            const size_t at = (size_t)w * COUNT + i;
            if (op->shape == TO_INT) {
                const int actual = extra_ints[at];
                const bool ok = x == 0 ? actual == INT32_MIN || actual == -INT32_MAX
                                : isnan(x) ? actual == INT32_MAX || actual == INT32_MIN : actual == (int)reference;
                if (!ok)
                    cts_fail(t, __FILE__, __LINE__, "%s, %d lanes, index %zu: x = %La: expected %d, got %d", what, widths[w], i, x,
                             (int)reference, actual);
                continue;
            }
            const long double actual = fp_get(k, results, at);
            if (!is_near(t, k, op, ulps, x, y, z, actual, reference) && !is_near_flushed(t, k, op, ulps, in, i, actual, false)) {
                cts_fail(t, __FILE__, __LINE__,
                         "%s, %d lanes, index %zu: x = %La, y = %La, z = %La, n = %d: expected %La, got %La (%.6Lg, %.6Lg): %.3g ulps, allowed %g",
                         what, widths[w], i, x, y, z, in->n[i], reference, actual, reference, actual,
                         fp_ulps(k, actual, reference), ulps);
            } else if (isfinite(actual) && isfinite(reference) && fp_ulps(k, actual, reference) > worst && op->accept == NULL) {
                worst = fp_ulps(k, actual, reference);
            }
            if (op->shape == OUT) {
                const long double second = fp_get(k, extras, at);
                if (!is_near(t, k, op, ulps, x, y, z, second, extra) && !is_near_flushed(t, k, op, ulps, in, i, second, true))
                    cts_fail(t, __FILE__, __LINE__, "%s, %d lanes, index %zu, second result: x = %La: expected %La, got %La", what,
                             widths[w], i, x, extra, second);
            } else if (op->shape == OUT_INT || op->shape == TWO_OUT_INT) {
                const int second = extra_ints[at], expected = (int)extra;
                const bool ok = op->shape == TWO_OUT_INT
                                    ? (second < 0 ? -(int64_t)second : second) % 128 == (expected < 0 ? -expected : expected) &&
                                          (expected == 0 || (second < 0) == (expected < 0))
                                    : second == expected || (op->accept != NULL && op->accept(k, x, y, z, actual, reference)) || isnan(x) || isinf(actual);
                if (!ok)
                    cts_fail(t, __FILE__, __LINE__, "%s, %d lanes, index %zu, second result: x = %La, y = %La: expected %d, got %d",
                             what, widths[w], i, x, y, expected, second);
            }
        }
    }
    cts_note(t, "worst error %.3f ulps of %g", worst, ulps);
}

static khal_buffer* put_values(cts* t, fp_kind k, const long double* values)
{
    char* bytes = cts_alloc(t, COUNT * fp_size(k));
    for (size_t i = 0; i < COUNT; i++) fp_put(k, bytes, i, values[i]);
    return cts_buffer_of(t, bytes, COUNT * fp_size(k), (uint32_t)fp_size(k));
}

static void run_operation(cts* t, fp_kind k, const operation* op, const khal_kernel_library* library, const char* kernel)
{
    inputs in;
    put_inputs(t, k, op, &in);
    const uint64_t size = (uint64_t)COUNT * WIDTHS * fp_size(k), int_size = (uint64_t)COUNT * WIDTHS * 4;
    const uint32_t n = COUNT;
    khal_buffer* x = put_values(t, k, in.x);
    khal_buffer* y = put_values(t, k, in.y);
    khal_buffer* z = put_values(t, k, in.z);
    khal_buffer* ints = cts_buffer_of(t, in.n, COUNT * 4, 4);
    khal_buffer* out = cts_buffer_of(t, NULL, size, (uint32_t)fp_size(k));
    khal_buffer* extra = cts_buffer_of(t, NULL, size, (uint32_t)fp_size(k));
    khal_buffer* extra_int = cts_buffer_of(t, NULL, int_size, 4);
    cts_launch launch = {.library = library, .kernel = kernel, .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4};
    uint32_t b = 0;
    launch.buffers[b++] = x;
    if (op->shape == TWO || op->shape == THREE || op->shape == TWO_OUT_INT) launch.buffers[b++] = y;
    if (op->shape == THREE) launch.buffers[b++] = z;
    if (op->shape == WITH_INT) launch.buffers[b++] = ints;
    launch.buffers[b++] = op->shape == TO_INT ? extra_int : out;
    if (op->shape == OUT) launch.buffers[b++] = extra;
    if (op->shape == OUT_INT || op->shape == TWO_OUT_INT) launch.buffers[b++] = extra_int;
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return;
    void* results = cts_read_all(t, out);
    void* extras = cts_read_all(t, extra);
    int* extra_ints = cts_read_all(t, extra_int);
    if (results != NULL && extras != NULL && extra_ints != NULL) compare(t, k, op, kernel, &in, results, extra_ints, extras);
}

static void run_math(cts* t, fp_kind k, const khal_kernel_library* library)
{
    const operation* op = cts_data(t);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", op->name, fp_name(k));
    run_operation(t, k, op, library, kernel);
}

static void math_half_case(cts* t) { run_math(t, FP_HALF, &math_half_library); }
static void math_float_case(cts* t) { run_math(t, FP_FLOAT, &math_float_library); }
static void math_double_case(cts* t) { run_math(t, FP_DOUBLE, &math_double_library); }

static void add_all(cts_registry* registry, cts_case_fn run, uint32_t features)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        cts_add(registry, operations[i].name, run, &operations[i], features);
}

void cts_suite_math_half(cts_registry* registry) { add_all(registry, math_half_case, 0); }
void cts_suite_math_float(cts_registry* registry) { add_all(registry, math_float_case, 0); }
void cts_suite_math_double(cts_registry* registry) { add_all(registry, math_double_case, KHAL_FEATURE_FP64); }

static void native_case(cts* t)
{
    const operation* op = cts_data(t);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "native_%s_float", op->name);
    run_operation(t, FP_FLOAT, op, &native_library, kernel);
}

static void half_case(cts* t)
{
    const operation* op = cts_data(t);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "half_%s_float", op->name);
    run_operation(t, FP_FLOAT, op, &native_library, kernel);
}

void cts_suite_math_fast(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof fast_operations / sizeof fast_operations[0]; i++) {
        cts_addf(registry, native_case, &fast_operations[i], 0, "native_%s", fast_operations[i].name);
        cts_addf(registry, half_case, &fast_operations[i], 0, "half_%s", fast_operations[i].name);
    }
}
