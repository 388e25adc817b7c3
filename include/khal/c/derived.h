/* Functions that the C library lacks, or has otherwise, from those that it has: float mostly through double. What is not
 * compiled for the host has its own (ptx/libm.h). */
#ifndef KHAL_C_DERIVED_H
#define KHAL_C_DERIVED_H

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

KHAL_C_INLINE khal_float khal_tgamma_float(khal_float x)
{
    return (khal_float)KHAL_C_LIBM(tgamma)((double)x);
}
KHAL_C_INLINE khal_double khal_tgamma_double(khal_double x)
{
    return KHAL_C_LIBM(tgamma)(x);
}
KHAL_C_INLINE khal_float khal_exp10_float(khal_float x)
{
    return (khal_float)KHAL_C_LIBM(pow)(10.0, (double)x);
}
KHAL_C_INLINE khal_double khal_exp10_double(khal_double x)
{
    return KHAL_C_LIBM(pow)(10.0, x);
}
/* (f: its own type's functions; PI as the type rounds it would be off by more, so float goes
 * through double) */
KHAL_C_INLINE khal_double khal_sinpi_double(khal_double x)
{
    if (!khal_isfinite_double(x))
        return x - x;
    const double r = x - 2 * KHAL_C_LIBM(rint)(x / 2); /* exact; in [-1, 1] */
    const double a = KHAL_C_LIBM(fabs)(r);
    double s;
    if (a == 0 || a == 1)
        return KHAL_C_LIBM(copysign)(0.0, x);
    if (a <= 0.25)
        s = KHAL_C_LIBM(sin)(KHAL_PI * a);
    else if (a <= 0.75)
        s = KHAL_C_LIBM(cos)(KHAL_PI * (a - 0.5));
    else
        s = KHAL_C_LIBM(sin)(KHAL_PI * (1 - a));
    return r < 0 ? -s : s;
}

KHAL_C_INLINE khal_double khal_cospi_double(khal_double x)
{
    if (!khal_isfinite_double(x))
        return x - x;
    const double a = KHAL_C_LIBM(fabs)(x - 2 * KHAL_C_LIBM(rint)(x / 2));
    if (a == 0.5)
        return 0;
    if (a <= 0.25)
        return KHAL_C_LIBM(cos)(KHAL_PI * a);
    if (a <= 0.75)
        return KHAL_C_LIBM(sin)(KHAL_PI * (0.5 - a));
    return -KHAL_C_LIBM(cos)(KHAL_PI * (1 - a));
}

KHAL_C_INLINE khal_double khal_tanpi_double(khal_double x)
{
    if (!khal_isfinite_double(x))
        return x - x;
    const double r = x - 2 * KHAL_C_LIBM(rint)(x / 2);
    const double a = KHAL_C_LIBM(fabs)(r);
    if (a == 0 ||
        a == 1) /* zero: with the sign of x when x is even, the other one when it is odd */
        return KHAL_C_LIBM(copysign)(0.0, a == 0 ? x : -x);
    if (a == 0.5) /* an infinity: positive at n + 0.5 for even n */
        return r > 0 ? __builtin_inf() : -__builtin_inf();
    double t;
    if (a <= 0.25)
        t = KHAL_C_LIBM(tan)(KHAL_PI * a);
    else if (a < 0.75)
        t = 1 / KHAL_C_LIBM(tan)(KHAL_PI * (0.5 - a));
    else
        t = -KHAL_C_LIBM(tan)(KHAL_PI * (1 - a));
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

#define KHAL_C_OVER_PI(name)                                                                       \
    KHAL_C_INLINE khal_double khal_##name##pi_double(khal_double x)                                \
    {                                                                                              \
        return KHAL_C_LIBM(name)(x) / KHAL_PI;                                                     \
    }                                                                                              \
    KHAL_C_INLINE khal_float khal_##name##pi_float(khal_float x)                                   \
    {                                                                                              \
        return (khal_float)(KHAL_C_LIBM(name)((double)x) / KHAL_PI);                               \
    }
KHAL_C_OVER_PI(acos)
KHAL_C_OVER_PI(asin)
KHAL_C_OVER_PI(atan)
KHAL_C_INLINE khal_double khal_atan2pi_double(khal_double y, khal_double x)
{
    return KHAL_C_LIBM(atan2)(y, x) / KHAL_PI;
}
KHAL_C_INLINE khal_float khal_atan2pi_float(khal_float y, khal_float x)
{
    return (khal_float)(KHAL_C_LIBM(atan2)((double)y, (double)x) / KHAL_PI);
}

KHAL_C_INLINE khal_double khal_pown_double(khal_double x, khal_int n)
{
    return KHAL_C_LIBM(pow)(x, (double)n);
}
KHAL_C_INLINE khal_float khal_pown_float(khal_float x, khal_int n)
{
    return (khal_float)KHAL_C_LIBM(pow)((double)x, (double)n);
}

KHAL_C_INLINE khal_double khal_powr_double(khal_double x, khal_double y)
{
    if (x != x || y != y)
        return x + y;
    if (x < 0)
        return __builtin_nan("");
    x = KHAL_C_LIBM(fabs)(x);
    if ((x == 0 || x > KHAL_MAX_double) && y == 0)
        return __builtin_nan("");
    if (x == 1 && khal_isinf_double(y))
        return __builtin_nan("");
    return KHAL_C_LIBM(pow)(x, y);
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
    const double a = KHAL_C_LIBM(fabs)(x);
    const double by = a < 0x1p-900  ? 0x1p180
                      : a > 0x1p900 ? 0x1p-180
                                    : 1; /* the cube stays in range */
    const double y = x * by;
    const double r = KHAL_C_LIBM(cbrt)(y), square = r * r, cube = square * r;
    const double rest = KHAL_C_LIBM(fma)(square, r, -cube) + KHAL_C_LIBM(fma)(r, r, -square) * r;
    const double root = r - (cube - y + rest) / (3 * square);
    return a < 0x1p-900 ? root * 0x1p-60 : a > 0x1p900 ? root * 0x1p60 : root;
}

KHAL_C_INLINE khal_float khal_cbrt_float(khal_float x)
{
    return (khal_float)KHAL_C_LIBM(cbrt)((double)x);
}

/* The n-th root. pow(x, 1/n) is off by the rounding of 1/n, which a step of Newton's method takes
 * away where it matters; powers of two are put aside that would bring its terms out of range. */
KHAL_C_INLINE khal_double khal_rootn_double(khal_double x, khal_int n)
{
    if (n == 0 || x != x || (x < 0 && n % 2 == 0))
        return __builtin_nan("");
    double a = KHAL_C_LIBM(fabs)(x), r;
    if (a == 0 || a > KHAL_MAX_double) {
        r = (a == 0) == (n > 0) ? 0.0 : __builtin_inf();
    } else if (n < -512 || n > 512) {
        r = KHAL_C_LIBM(pow)(a, 1.0 / n);
    } else {
        const int by = n < 0 ? -n : n, k = (512 + by - 1) / by;
        const int aside = a < 0x1p-500 ? k : a > 0x1p500 ? -k : 0;
        a = KHAL_C_LIBM(ldexp)(a, aside * by);
        r = KHAL_C_LIBM(pow)(a, 1.0 / n);
        const double back = KHAL_C_LIBM(pow)(r, (double)n);
        r += r * ((a - back) / back) / n;
        r = KHAL_C_LIBM(ldexp)(r, n < 0 ? aside : -aside);
    }
    return n % 2 ? KHAL_C_LIBM(copysign)(r, x) : r;
}

KHAL_C_INLINE khal_float khal_rootn_float(khal_float x, khal_int n)
{
    return (khal_float)khal_rootn_double((double)x, n);
}

/* One definition for float and double; B: the suffix of the C library's functions. */
#define KHAL_C_DERIVED_BOTH(T, B)                                                                  \
    KHAL_C_INLINE khal_##T khal_rsqrt_##T(khal_##T x)                                              \
    {                                                                                              \
        return 1 / KHAL_C_LIBM(sqrt##B)(x);                                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_max_##T(khal_##T x, khal_##T y)                                    \
    {                                                                                              \
        return x < y ? y : x;                                                                      \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_min_##T(khal_##T x, khal_##T y)                                    \
    {                                                                                              \
        return y < x ? y : x;                                                                      \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_clamp_##T(khal_##T x, khal_##T low, khal_##T high)                 \
    {                                                                                              \
        const khal_##T y = x < low ? low : x;                                                      \
        return high < y ? high : y;                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fmax_##T(khal_##T x, khal_##T y)                                   \
    {                                                                                              \
        return x >= y || y != y ? x : y;                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fmin_##T(khal_##T x, khal_##T y)                                   \
    {                                                                                              \
        return x <= y || y != y ? x : y;                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_recip_##T(khal_##T x)                                       \
    {                                                                                              \
        return 1 / x;                                                                              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_rsqrt_##T(khal_##T x)                                       \
    {                                                                                              \
        return khal_rsqrt_##T(x);                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_sqrt_##T(khal_##T x)                                        \
    {                                                                                              \
        return KHAL_C_LIBM(sqrt##B)(x);                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_cos_##T(khal_##T x)                                         \
    {                                                                                              \
        return KHAL_C_LIBM(cos##B)(x);                                                             \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_sin_##T(khal_##T x)                                         \
    {                                                                                              \
        return KHAL_C_LIBM(sin##B)(x);                                                             \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_tan_##T(khal_##T x)                                         \
    {                                                                                              \
        return KHAL_C_LIBM(tan##B)(x);                                                             \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_exp_##T(khal_##T x)                                         \
    {                                                                                              \
        return KHAL_C_LIBM(exp##B)(x);                                                             \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_exp2_##T(khal_##T x)                                        \
    {                                                                                              \
        return KHAL_C_LIBM(exp2##B)(x);                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_exp10_##T(khal_##T x)                                       \
    {                                                                                              \
        return khal_exp10_##T(x);                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_log_##T(khal_##T x)                                         \
    {                                                                                              \
        return KHAL_C_LIBM(log##B)(x);                                                             \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_log2_##T(khal_##T x)                                        \
    {                                                                                              \
        return KHAL_C_LIBM(log2##B)(x);                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_log10_##T(khal_##T x)                                       \
    {                                                                                              \
        return KHAL_C_LIBM(log10##B)(x);                                                           \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_native_powr_##T(khal_##T x, khal_##T y)                            \
    {                                                                                              \
        return KHAL_C_LIBM(pow##B)(x, y);                                                          \
    }

KHAL_C_DERIVED_BOTH(float, f)
KHAL_C_DERIVED_BOTH(double, )

#endif
