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

/* What the C library has: a function of it, or of the target's own where there is none. */
#ifdef __NVPTX__
#include <khal/ptx/libm.h>
#define KHAL_C_LIBM(name) khal_libm_##name
#else
#define KHAL_C_LIBM(name) __builtin_##name
#endif

#define KHAL_C_MATH1(name, f, d)                                                                   \
    KHAL_C_INLINE khal_float khal_##name##_float(khal_float x)                                     \
    {                                                                                              \
        return f(x);                                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_double khal_##name##_double(khal_double x)                                  \
    {                                                                                              \
        return d(x);                                                                               \
    }
#define KHAL_C_MATH2(name, f, d)                                                                   \
    KHAL_C_INLINE khal_float khal_##name##_float(khal_float x, khal_float y)                       \
    {                                                                                              \
        return f(x, y);                                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_double khal_##name##_double(khal_double x, khal_double y)                   \
    {                                                                                              \
        return d(x, y);                                                                            \
    }
#define KHAL_C_LIBM1(name) KHAL_C_MATH1(name, KHAL_C_LIBM(name##f), KHAL_C_LIBM(name))
#define KHAL_C_LIBM2(name) KHAL_C_MATH2(name, KHAL_C_LIBM(name##f), KHAL_C_LIBM(name))

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

KHAL_C_INLINE khal_float khal_fma_float(khal_float x, khal_float y, khal_float z)
{
    return KHAL_C_LIBM(fmaf)(x, y, z);
}
KHAL_C_INLINE khal_double khal_fma_double(khal_double x, khal_double y, khal_double z)
{
    return KHAL_C_LIBM(fma)(x, y, z);
}

/* rsqrt, fmax, fmin, max, min, clamp, lgamma, tgamma, exp10, sinpi and the like, cbrt, pown, powr, rootn, native_x */
#ifdef __NVPTX__
#include <khal/ptx/derived.h>
#else
#include <khal/c/derived.h>
#endif

/* One definition for float and double; B: the suffix of the compiler's builtins, c: of constants.
 */
#define KHAL_C_MATH_BOTH(T, U, B, c, quiet, largest_below_1, pi_over_180, over_pi_180)             \
    KHAL_C_INLINE khal_##T khal_maxmag_##T(khal_##T x, khal_##T y)                                 \
    {                                                                                              \
        const khal_##T a = KHAL_C_LIBM(fabs##B)(x), b = KHAL_C_LIBM(fabs##B)(y);                   \
        return a > b ? x : b > a ? y : khal_fmax_##T(x, y);                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_minmag_##T(khal_##T x, khal_##T y)                                 \
    {                                                                                              \
        const khal_##T a = KHAL_C_LIBM(fabs##B)(x), b = KHAL_C_LIBM(fabs##B)(y);                   \
        return a < b ? x : b < a ? y : khal_fmin_##T(x, y);                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fdim_##T(khal_##T x, khal_##T y)                                   \
    {                                                                                              \
        return x > y ? x - y : x != x || y != y ? x + y : 0;                                       \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_round_##T(khal_##T x)                                              \
    {                                                                                              \
        const khal_##T t = KHAL_C_LIBM(trunc##B)(x);                                               \
        return t + KHAL_C_LIBM(copysign##B)(KHAL_C_LIBM(fabs##B)(x - t) >= 0.5##c ? 1.0##c : 0.0##c, x); \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fract_##T(khal_##T x)                                              \
    {                                                                                              \
        if (x == 0 || khal_isinf_##T(x))                                                           \
            return KHAL_C_LIBM(copysign##B)(0.0##c, x);                                            \
        const khal_##T r = x - KHAL_C_LIBM(floor##B)(x);                                           \
        return r >= 1 ? largest_below_1 : r;                                                       \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_frexp_mant_##T(khal_##T x)                                         \
    {                                                                                              \
        int e;                                                                                     \
        return KHAL_C_LIBM(frexp##B)(x, &e);                                                       \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_frexp_exp_##T(khal_##T x)                                          \
    {                                                                                              \
        int e = 0;                                                                                 \
        if (khal_isfinite_##T(x))                                                                  \
            (void)KHAL_C_LIBM(frexp##B)(x, &e);                                                    \
        return e;                                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_ilogb_##T(khal_##T x)                                              \
    {                                                                                              \
        return x == 0 ? INT32_MIN : khal_isfinite_##T(x) ? KHAL_C_LIBM(ilogb##B)(x) : INT32_MAX;   \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_ldexp_##T(khal_##T x, khal_int n)                                  \
    {                                                                                              \
        return KHAL_C_LIBM(ldexp##B)(x, n);                                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_lgamma_sign_##T(khal_##T x)                                        \
    {                                                                                              \
        if (x > 0 || x != x)                                                                       \
            return 1;                                                                              \
        const khal_##T f = KHAL_C_LIBM(floor##B)(x);                                               \
        if (f == x)                                                                                \
            return x == 0 && khal_signbit_##T(x) ? -1 : 1;                                         \
        return KHAL_C_LIBM(fmod##B)(f, 2.0##c) == 0 ? 1 : -1;                                      \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_modf_frac_##T(khal_##T x)                                          \
    {                                                                                              \
        return KHAL_C_LIBM(copysign##B)(khal_isinf_##T(x) ? 0 : x - KHAL_C_LIBM(trunc##B)(x), x);  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_nan_##U(khal_##U code)                                             \
    {                                                                                              \
        return KHAL_BITCAST(khal_##T, khal_##U,                                                    \
                            (khal_##U)(quiet | (code & (((quiet) & -(quiet)) - 1))));              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_nextafter_##T(khal_##T x, khal_##T y)                              \
    {                                                                                              \
        return KHAL_C_LIBM(nextafter##B)(x, y);                                                    \
    }                                                                                              \
    /* the low seven bits of the quotient that remainder() takes away, with its sign */            \
    KHAL_C_INLINE khal_int khal_remquo_quo_##T(khal_##T x, khal_##T y)                             \
    {                                                                                              \
        if (!khal_isfinite_##T(x) || y == 0 || y != y || khal_isinf_##T(y))                        \
            return 0;                                                                              \
        const khal_##T b = KHAL_C_LIBM(fabs##B)(y);                                                \
        khal_##T a = KHAL_C_LIBM(fabs##B)(x);                                                      \
        if (b < KHAL_MAX_##T / 256)                                                                \
            a = KHAL_C_LIBM(fmod##B)(a, b * 128);                                                  \
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
    KHAL_C_INLINE khal_##T khal_degrees_##T(khal_##T x)                                            \
    {                                                                                              \
        return x * over_pi_180;                                                                    \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_radians_##T(khal_##T x)                                            \
    {                                                                                              \
        return x * pi_over_180;                                                                    \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_mix_##T(khal_##T x, khal_##T y, khal_##T a)                        \
    {                                                                                              \
        return x + (y - x) * a;                                                                    \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_step_##T(khal_##T edge, khal_##T x)                                \
    {                                                                                              \
        return x < edge ? 0 : 1;                                                                   \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_smoothstep_##T(khal_##T low, khal_##T high, khal_##T x)            \
    {                                                                                              \
        const khal_##T t = khal_clamp_##T((x - low) / (high - low), 0, 1);                         \
        return t * t * (3 - 2 * t);                                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_sign_##T(khal_##T x)                                               \
    {                                                                                              \
        return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? x : 0;                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_dot_##T(khal_##T x, khal_##T y)                                    \
    {                                                                                              \
        return x * y;                                                                              \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_length_##T(khal_##T x)                                             \
    {                                                                                              \
        return KHAL_C_LIBM(fabs##B)(x);                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_distance_##T(khal_##T x, khal_##T y)                               \
    {                                                                                              \
        return KHAL_C_LIBM(fabs##B)(x - y);                                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_normalize_##T(khal_##T x)                                          \
    {                                                                                              \
        return khal_sign_##T(x != x ? 0 : x) + (x != x ? x : 0);                                   \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fast_length_##T(khal_##T x)                                        \
    {                                                                                              \
        return KHAL_C_LIBM(fabs##B)(x);                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fast_distance_##T(khal_##T x, khal_##T y)                          \
    {                                                                                              \
        return KHAL_C_LIBM(fabs##B)(x - y);                                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_fast_normalize_##T(khal_##T x)                                     \
    {                                                                                              \
        return khal_normalize_##T(x);                                                              \
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
