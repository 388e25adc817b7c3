/* Floating-point functions on scalars, within OpenCL 1.2's error bounds (full profile) and its edge
 * cases. */
#ifndef KHAL_C_MATH_H
#define KHAL_C_MATH_H

#include <khal/c/relation.h>

#define KHAL_MAX_float 0x1.fffffep127f
#define KHAL_MAX_double 0x1.fffffffffffffp1023
/* squares of lengths in between neither overflow nor lose digits */
#define KHAL_SMALL_float 0x1p-100f
#define KHAL_LARGE_float 0x1p127f
#define KHAL_SMALL_double 0x1p-900
#define KHAL_LARGE_double 0x1p1023
#define KHAL_INT_float khal_uint
#define KHAL_INT_double khal_ulong
#define KHAL_PI 3.14159265358979323846

#define KHAL_C_MATH1(name, f, d)                                                                 \
    KHAL_C_INLINE khal_float khal_##name##_float(khal_float x)                                   \
    {                                                                                              \
        return f(x);                                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_double khal_##name##_double(khal_double x)                                \
    {                                                                                              \
        return d(x);                                                                               \
    }
#define KHAL_C_MATH2(name, f, d)                                                                 \
    KHAL_C_INLINE khal_float khal_##name##_float(khal_float x, khal_float y)                     \
    {                                                                                              \
        return f(x, y);                                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_double khal_##name##_double(khal_double x, khal_double y)                 \
    {                                                                                              \
        return d(x, y);                                                                            \
    }
#define KHAL_C_LIBM1(name) KHAL_C_MATH1(name, __builtin_##name##f, __builtin_##name)
#define KHAL_C_LIBM2(name) KHAL_C_MATH2(name, __builtin_##name##f, __builtin_##name)

KHAL_C_LIBM1(acos)
KHAL_C_LIBM1(acosh)
KHAL_C_LIBM1(asin)
KHAL_C_LIBM1(asinh)
KHAL_C_LIBM1(atan)
KHAL_C_LIBM1(atanh)
KHAL_C_LIBM2(atan2)
KHAL_C_LIBM1(ceil)
KHAL_C_LIBM2(copysign)
KHAL_C_LIBM1(cos)
KHAL_C_LIBM1(cosh)
KHAL_C_LIBM1(erf)
KHAL_C_LIBM1(erfc)
KHAL_C_LIBM1(exp)
KHAL_C_LIBM1(exp2)
KHAL_C_LIBM1(expm1)
KHAL_C_LIBM1(fabs)
KHAL_C_LIBM1(floor)
KHAL_C_LIBM2(fmod)
KHAL_C_LIBM2(hypot)
#ifdef _WIN32
KHAL_C_LIBM1(lgamma)
#else
/* lgamma itself writes signgam, which all threads share. */
float lgammaf_r(float x, int* sign);
double lgamma_r(double x, int* sign);
KHAL_C_INLINE khal_float khal_lgamma_float(khal_float x)
{
    int sign;
    return lgammaf_r(x, &sign);
}
KHAL_C_INLINE khal_double khal_lgamma_double(khal_double x)
{
    int sign;
    return lgamma_r(x, &sign);
}
#endif
KHAL_C_LIBM1(log)
KHAL_C_LIBM1(log2)
KHAL_C_LIBM1(log10)
KHAL_C_LIBM1(log1p)
KHAL_C_LIBM1(logb)
KHAL_C_LIBM2(pow)
KHAL_C_LIBM2(remainder)
KHAL_C_LIBM1(rint)
KHAL_C_LIBM1(sin)
KHAL_C_LIBM1(sinh)
KHAL_C_LIBM1(sqrt)
KHAL_C_LIBM1(tan)
KHAL_C_LIBM1(tanh)
KHAL_C_LIBM1(trunc)

KHAL_C_INLINE khal_float khal_tgamma_float(khal_float x)
{
    return (khal_float)__builtin_tgamma((double)x);
}
KHAL_C_INLINE khal_double khal_tgamma_double(khal_double x)
{
    return __builtin_tgamma(x);
}
KHAL_C_INLINE khal_float khal_exp10_float(khal_float x)
{
    return (khal_float)__builtin_pow(10.0, (double)x);
}
KHAL_C_INLINE khal_double khal_exp10_double(khal_double x)
{
    return __builtin_pow(10.0, x);
}
KHAL_C_INLINE khal_float khal_fma_float(khal_float x, khal_float y, khal_float z)
{
    return __builtin_fmaf(x, y, z);
}
KHAL_C_INLINE khal_double khal_fma_double(khal_double x, khal_double y, khal_double z)
{
    return __builtin_fma(x, y, z);
}

/* (f: its own type's functions; PI as the type rounds it would be off by more, so float goes
 * through double) */
KHAL_C_INLINE khal_double khal_sinpi_double(khal_double x)
{
    if (!khal_isfinite_double(x))
        return x - x;
    const double r = x - 2 * __builtin_rint(x / 2); /* exact; in [-1, 1] */
    const double a = __builtin_fabs(r);
    double s;
    if (a == 0 || a == 1)
        return __builtin_copysign(0.0, x);
    if (a <= 0.25)
        s = __builtin_sin(KHAL_PI * a);
    else if (a <= 0.75)
        s = __builtin_cos(KHAL_PI * (a - 0.5));
    else
        s = __builtin_sin(KHAL_PI * (1 - a));
    return r < 0 ? -s : s;
}

KHAL_C_INLINE khal_double khal_cospi_double(khal_double x)
{
    if (!khal_isfinite_double(x))
        return x - x;
    const double a = __builtin_fabs(x - 2 * __builtin_rint(x / 2));
    if (a == 0.5)
        return 0;
    if (a <= 0.25)
        return __builtin_cos(KHAL_PI * a);
    if (a <= 0.75)
        return __builtin_sin(KHAL_PI * (0.5 - a));
    return -__builtin_cos(KHAL_PI * (1 - a));
}

KHAL_C_INLINE khal_double khal_tanpi_double(khal_double x)
{
    if (!khal_isfinite_double(x))
        return x - x;
    const double r = x - 2 * __builtin_rint(x / 2);
    const double a = __builtin_fabs(r);
    if (a == 0 ||
        a == 1) /* zero: with the sign of x when x is even, the other one when it is odd */
        return __builtin_copysign(0.0, a == 0 ? x : -x);
    if (a == 0.5) /* an infinity: positive at n + 0.5 for even n */
        return r > 0 ? __builtin_inf() : -__builtin_inf();
    double t;
    if (a <= 0.25)
        t = __builtin_tan(KHAL_PI * a);
    else if (a < 0.75)
        t = 1 / __builtin_tan(KHAL_PI * (0.5 - a));
    else
        t = -__builtin_tan(KHAL_PI * (1 - a));
    return r < 0 ? -t : t;
}

KHAL_C_INLINE khal_float khal_sinpi_float(khal_float x)
{
    return (khal_float)khal_sinpi_double((double)x);
}
KHAL_C_INLINE khal_float khal_cospi_float(khal_float x)
{
    return (khal_float)khal_cospi_double((double)x);
}
KHAL_C_INLINE khal_float khal_tanpi_float(khal_float x)
{
    return (khal_float)khal_tanpi_double((double)x);
}

#define KHAL_C_OVER_PI(name)                                                                     \
    KHAL_C_INLINE khal_double khal_##name##pi_double(khal_double x)                              \
    {                                                                                              \
        return __builtin_##name(x) / KHAL_PI;                                                      \
    }                                                                                              \
    KHAL_C_INLINE khal_float khal_##name##pi_float(khal_float x)                                 \
    {                                                                                              \
        return (khal_float)(__builtin_##name((double)x) / KHAL_PI);                                \
    }
KHAL_C_OVER_PI(acos)
KHAL_C_OVER_PI(asin)
KHAL_C_OVER_PI(atan)
KHAL_C_INLINE khal_double khal_atan2pi_double(khal_double y, khal_double x)
{
    return __builtin_atan2(y, x) / KHAL_PI;
}
KHAL_C_INLINE khal_float khal_atan2pi_float(khal_float y, khal_float x)
{
    return (khal_float)(__builtin_atan2((double)y, (double)x) / KHAL_PI);
}

KHAL_C_INLINE khal_double khal_pown_double(khal_double x, khal_int n)
{
    return __builtin_pow(x, (double)n);
}
KHAL_C_INLINE khal_float khal_pown_float(khal_float x, khal_int n)
{
    return (khal_float)__builtin_pow((double)x, (double)n);
}

KHAL_C_INLINE khal_double khal_powr_double(khal_double x, khal_double y)
{
    if (x != x || y != y)
        return x + y;
    if (x < 0)
        return __builtin_nan("");
    x = __builtin_fabs(x);
    if ((x == 0 || x > KHAL_MAX_double) && y == 0)
        return __builtin_nan("");
    if (x == 1 && khal_isinf_double(y))
        return __builtin_nan("");
    return __builtin_pow(x, y);
}

KHAL_C_INLINE khal_float khal_powr_float(khal_float x, khal_float y)
{
    return (khal_float)khal_powr_double((double)x, (double)y);
}

/* A step of Newton's method on libm's root, which may be off by several places. */
KHAL_C_INLINE khal_double khal_cbrt_double(khal_double x)
{
    if (x == 0 || !khal_isfinite_double(x))
        return x;
    const double a = __builtin_fabs(x);
    const double by = a < 0x1p-900  ? 0x1p180
                      : a > 0x1p900 ? 0x1p-180
                                    : 1; /* the cube stays in range */
    const double y = x * by;
    const double r = __builtin_cbrt(y), square = r * r, cube = square * r;
    const double rest = __builtin_fma(square, r, -cube) + __builtin_fma(r, r, -square) * r;
    const double root = r - (cube - y + rest) / (3 * square);
    return a < 0x1p-900 ? root * 0x1p-60 : a > 0x1p900 ? root * 0x1p60 : root;
}

KHAL_C_INLINE khal_float khal_cbrt_float(khal_float x)
{
    return (khal_float)__builtin_cbrt((double)x);
}

/* The n-th root. pow(x, 1/n) is off by the rounding of 1/n, which a step of Newton's method takes
 * away where it matters; powers of two are put aside that would bring its terms out of range. */
KHAL_C_INLINE khal_double khal_rootn_double(khal_double x, khal_int n)
{
    if (n == 0 || x != x || (x < 0 && n % 2 == 0))
        return __builtin_nan("");
    double a = __builtin_fabs(x), r;
    if (a == 0 || a > KHAL_MAX_double) {
        r = (a == 0) == (n > 0) ? 0.0 : __builtin_inf();
    } else if (n < -512 || n > 512) {
        r = __builtin_pow(a, 1.0 / n);
    } else {
        const int by = n < 0 ? -n : n, k = (512 + by - 1) / by;
        const int aside = a < 0x1p-500 ? k : a > 0x1p500 ? -k : 0;
        a = __builtin_ldexp(a, aside * by);
        r = __builtin_pow(a, 1.0 / n);
        const double back = __builtin_pow(r, (double)n);
        r += r * ((a - back) / back) / n;
        r = __builtin_ldexp(r, n < 0 ? aside : -aside);
    }
    return n % 2 ? __builtin_copysign(r, x) : r;
}

KHAL_C_INLINE khal_float khal_rootn_float(khal_float x, khal_int n)
{
    return (khal_float)khal_rootn_double((double)x, n);
}

/* One definition for float and double; B: the suffix of the compiler's builtins, c: of constants.
 */
#define KHAL_C_MATH_BOTH(T, U, B, c, quiet, largest_below_1, pi_over_180, over_pi_180)           \
    KHAL_C_INLINE khal_##T khal_rsqrt_##T(khal_##T x)                                            \
    {                                                                                              \
        return 1 / __builtin_sqrt##B(x);                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_max_##T(khal_##T x, khal_##T y)                                  \
    {                                                                                              \
        return x < y ? y : x;                                                                      \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_min_##T(khal_##T x, khal_##T y)                                  \
    {                                                                                              \
        return y < x ? y : x;                                                                      \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_clamp_##T(khal_##T x, khal_##T low, khal_##T high)               \
    {                                                                                              \
        const khal_##T y = x < low ? low : x;                                                      \
        return high < y ? high : y;                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fmax_##T(khal_##T x, khal_##T y)                                 \
    {                                                                                              \
        return x >= y || y != y ? x : y;                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fmin_##T(khal_##T x, khal_##T y)                                 \
    {                                                                                              \
        return x <= y || y != y ? x : y;                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_maxmag_##T(khal_##T x, khal_##T y)                               \
    {                                                                                              \
        const khal_##T a = __builtin_fabs##B(x), b = __builtin_fabs##B(y);                         \
        return a > b ? x : b > a ? y : khal_fmax_##T(x, y);                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_minmag_##T(khal_##T x, khal_##T y)                               \
    {                                                                                              \
        const khal_##T a = __builtin_fabs##B(x), b = __builtin_fabs##B(y);                         \
        return a < b ? x : b < a ? y : khal_fmin_##T(x, y);                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fdim_##T(khal_##T x, khal_##T y)                                 \
    {                                                                                              \
        return x > y ? x - y : x != x || y != y ? x + y : 0;                                       \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_round_##T(khal_##T x)                                            \
    {                                                                                              \
        const khal_##T t = __builtin_trunc##B(x);                                                  \
        return t + __builtin_copysign##B(__builtin_fabs##B(x - t) >= 0.5##c ? 1.0##c : 0.0##c, x); \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fract_##T(khal_##T x)                                            \
    {                                                                                              \
        if (x == 0 || khal_isinf_##T(x))                                                           \
            return __builtin_copysign##B(0.0##c, x);                                               \
        const khal_##T r = x - __builtin_floor##B(x);                                              \
        return r >= 1 ? largest_below_1 : r;                                                       \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_frexp_mant_##T(khal_##T x)                                       \
    {                                                                                              \
        int e;                                                                                     \
        return __builtin_frexp##B(x, &e);                                                          \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_frexp_exp_##T(khal_##T x)                                        \
    {                                                                                              \
        int e = 0;                                                                                 \
        if (khal_isfinite_##T(x))                                                                  \
            (void)__builtin_frexp##B(x, &e);                                                       \
        return e;                                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_ilogb_##T(khal_##T x)                                            \
    {                                                                                              \
        return x == 0 ? INT32_MIN : khal_isfinite_##T(x) ? __builtin_ilogb##B(x) : INT32_MAX;      \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_ldexp_##T(khal_##T x, khal_int n)                                \
    {                                                                                              \
        return __builtin_ldexp##B(x, n);                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_lgamma_sign_##T(khal_##T x)                                      \
    {                                                                                              \
        if (x > 0 || x != x)                                                                       \
            return 1;                                                                              \
        const khal_##T f = __builtin_floor##B(x);                                                  \
        if (f == x)                                                                                \
            return x == 0 && khal_signbit_##T(x) ? -1 : 1;                                         \
        return __builtin_fmod##B(f, 2.0##c) == 0 ? 1 : -1;                                         \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_modf_frac_##T(khal_##T x)                                        \
    {                                                                                              \
        return __builtin_copysign##B(khal_isinf_##T(x) ? 0 : x - __builtin_trunc##B(x), x);        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_nan_##U(khal_##U code)                                           \
    {                                                                                              \
        return KHAL_BITCAST(khal_##T, khal_##U,                                                    \
                            (khal_##U)(quiet | (code & (((quiet) & -(quiet)) - 1))));              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_nextafter_##T(khal_##T x, khal_##T y)                            \
    {                                                                                              \
        return __builtin_nextafter##B(x, y);                                                       \
    }                                                                                              \
    /* the low seven bits of the quotient that remainder() takes away, with its sign */            \
    KHAL_C_INLINE khal_int khal_remquo_quo_##T(khal_##T x, khal_##T y)                           \
    {                                                                                              \
        if (!khal_isfinite_##T(x) || y == 0 || y != y || khal_isinf_##T(y))                        \
            return 0;                                                                              \
        const khal_##T b = __builtin_fabs##B(y);                                                   \
        khal_##T a = __builtin_fabs##B(x);                                                         \
        if (b < KHAL_MAX_##T / 256)                                                                \
            a = __builtin_fmod##B(a, b * 128);                                                     \
        int q = 0;                                                                                 \
        for (int k = 64; k > 0; k >>= 1)                                                           \
            if (b <= KHAL_MAX_##T / (khal_##T)k && a >= b * (khal_##T)k) {                         \
                a -= b * (khal_##T)k;                                                              \
                q += k;                                                                            \
            }                                                                                      \
        if (a > b - a || (a == b - a && (q & 1)))                                                  \
            q++;                                                                                   \
        q &= 127;                                                                                  \
        return khal_signbit_##T(x) != khal_signbit_##T(y) ? -q : q;                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_degrees_##T(khal_##T x)                                          \
    {                                                                                              \
        return x * over_pi_180;                                                                    \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_radians_##T(khal_##T x)                                          \
    {                                                                                              \
        return x * pi_over_180;                                                                    \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_mix_##T(khal_##T x, khal_##T y, khal_##T a)                      \
    {                                                                                              \
        return x + (y - x) * a;                                                                    \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_step_##T(khal_##T edge, khal_##T x)                              \
    {                                                                                              \
        return x < edge ? 0 : 1;                                                                   \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_smoothstep_##T(khal_##T low, khal_##T high, khal_##T x)          \
    {                                                                                              \
        const khal_##T t = khal_clamp_##T((x - low) / (high - low), 0, 1);                         \
        return t * t * (3 - 2 * t);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_sign_##T(khal_##T x)                                             \
    {                                                                                              \
        return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? x : 0;                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_dot_##T(khal_##T x, khal_##T y)                                  \
    {                                                                                              \
        return x * y;                                                                              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_length_##T(khal_##T x)                                           \
    {                                                                                              \
        return __builtin_fabs##B(x);                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_distance_##T(khal_##T x, khal_##T y)                             \
    {                                                                                              \
        return __builtin_fabs##B(x - y);                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_normalize_##T(khal_##T x)                                        \
    {                                                                                              \
        return khal_sign_##T(x != x ? 0 : x) + (x != x ? x : 0);                                   \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fast_length_##T(khal_##T x)                                      \
    {                                                                                              \
        return __builtin_fabs##B(x);                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fast_distance_##T(khal_##T x, khal_##T y)                        \
    {                                                                                              \
        return __builtin_fabs##B(x - y);                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fast_normalize_##T(khal_##T x)                                   \
    {                                                                                              \
        return khal_normalize_##T(x);                                                              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_recip_##T(khal_##T x)                                     \
    {                                                                                              \
        return 1 / x;                                                                              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_rsqrt_##T(khal_##T x)                                     \
    {                                                                                              \
        return khal_rsqrt_##T(x);                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_sqrt_##T(khal_##T x)                                      \
    {                                                                                              \
        return __builtin_sqrt##B(x);                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_cos_##T(khal_##T x)                                       \
    {                                                                                              \
        return __builtin_cos##B(x);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_sin_##T(khal_##T x)                                       \
    {                                                                                              \
        return __builtin_sin##B(x);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_tan_##T(khal_##T x)                                       \
    {                                                                                              \
        return __builtin_tan##B(x);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_exp_##T(khal_##T x)                                       \
    {                                                                                              \
        return __builtin_exp##B(x);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_exp2_##T(khal_##T x)                                      \
    {                                                                                              \
        return __builtin_exp2##B(x);                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_exp10_##T(khal_##T x)                                     \
    {                                                                                              \
        return khal_exp10_##T(x);                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_log_##T(khal_##T x)                                       \
    {                                                                                              \
        return __builtin_log##B(x);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_log2_##T(khal_##T x)                                      \
    {                                                                                              \
        return __builtin_log2##B(x);                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_log10_##T(khal_##T x)                                     \
    {                                                                                              \
        return __builtin_log10##B(x);                                                              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_powr_##T(khal_##T x, khal_##T y)                          \
    {                                                                                              \
        return __builtin_pow##B(x, y);                                                             \
    }

KHAL_C_MATH_BOTH(float, uint, f, f, 0x7fc00000u, 0x1.fffffep-1f, 0.0174532925199432957f,
                   57.2957795130823209f)
KHAL_C_MATH_BOTH(double, ulong, , , 0x7ff8000000000000ull, 0x1.fffffffffffffp-1,
                   0.017453292519943295769, 57.295779513082320877)

KHAL_C_INLINE khal_half khal_nan_ushort(khal_ushort code)
{
    return (khal_half)(0x7e00u | (code & 0x1ffu));
}

/* The half next to x towards y. */
KHAL_C_INLINE khal_half khal_nextafter_half(khal_half x, khal_half y)
{
    if (khal_isnan_half(x) || khal_isnan_half(y))
        return 0x7e00u;
    const int a = x & 0x8000 ? -(x & 0x7fff) : x, b = y & 0x8000 ? -(y & 0x7fff) : y;
    if (a == b)
        return y;
    const int r = a < b ? a + 1 : a - 1;
    if (r == 0)
        return (khal_half)(x & 0x8000u); /* from the smallest: zero keeps its sign */
    return (khal_half)(r < 0 ? 0x8000 | -r : r);
}

#endif
