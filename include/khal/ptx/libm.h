/* The C library's functions for PTX, as khal_libm_x, and those of OpenCL C that it lacks: single instructions, functions of
 * libclc, which generated code is linked with, by their mangled names, and our own where libclc has none, is wrong or is
 * slow. */
#ifndef KHAL_PTX_LIBM_H
#define KHAL_PTX_LIBM_H

/* instructions */
#define khal_libm_ceilf __builtin_ceilf
#define khal_libm_ceil __builtin_ceil
#define khal_libm_copysignf __builtin_copysignf
#define khal_libm_copysign __builtin_copysign
#define khal_libm_fabsf __builtin_fabsf
#define khal_libm_fabs __builtin_fabs
#define khal_libm_floorf __builtin_floorf
#define khal_libm_floor __builtin_floor
#define khal_libm_fmaf __builtin_fmaf
#define khal_libm_fma __builtin_fma
#define khal_libm_rintf __builtin_rintf
#define khal_libm_rint __builtin_rint
#define khal_libm_sqrtf __nvvm_sqrt_rn_f
#define khal_libm_sqrt __nvvm_sqrt_rn_d
#define khal_libm_truncf __builtin_truncf
#define khal_libm_trunc __builtin_trunc

#include <khal/ptx/instruction.h>

#include <khal/ptx/exact.h>
#include <khal/ptx/float.h>

/* libclc: `length` is that of the name, which mangling wants. khal_clc_x: what is corrected below. */
#define KHAL_PTX_CLC1(length, name, as) double khal_##as##_##name(double x) __asm__("_Z" #length #name "d");
#define KHAL_PTX_CLC2(length, name)                                                                \
    double khal_libm_##name(double x, double y) __asm__("_Z" #length #name "dd");
#define KHAL_PTX_CLC_INT(length, name)                                                             \
    double khal_libm_##name(double x, int n) __asm__("_Z" #length #name "di");

KHAL_PTX_CLC1(4, acos, libm)
KHAL_PTX_CLC1(5, acosh, libm)
KHAL_PTX_CLC1(6, acospi, clc)
KHAL_PTX_CLC1(4, asin, libm)
KHAL_PTX_CLC1(5, asinh, libm)
KHAL_PTX_CLC1(6, asinpi, libm)
KHAL_PTX_CLC1(4, atan, clc)
KHAL_PTX_CLC1(5, atanh, libm)
KHAL_PTX_CLC1(6, atanpi, clc)
KHAL_PTX_CLC2(5, atan2)
KHAL_PTX_CLC2(7, atan2pi)
KHAL_PTX_CLC1(4, cbrt, libm)
KHAL_PTX_CLC1(3, cos, libm)
KHAL_PTX_CLC1(4, cosh, libm)
KHAL_PTX_CLC1(5, cospi, clc)
KHAL_PTX_CLC1(3, erf, clc)
KHAL_PTX_CLC1(4, erfc, libm)
KHAL_PTX_CLC1(3, exp, libm)
KHAL_PTX_CLC1(4, exp2, libm)
KHAL_PTX_CLC1(5, exp10, libm)
KHAL_PTX_CLC1(5, expm1, clc)
KHAL_PTX_CLC2(5, hypot)
KHAL_PTX_CLC1(6, lgamma, clc)
KHAL_PTX_CLC1(3, log, libm)
KHAL_PTX_CLC1(4, log2, libm)
KHAL_PTX_CLC1(5, log10, libm)
KHAL_PTX_CLC1(5, log1p, libm)
KHAL_PTX_CLC2(3, pow)
KHAL_PTX_CLC_INT(4, pown)
KHAL_PTX_CLC2(4, powr)
KHAL_PTX_CLC_INT(5, rootn)
KHAL_PTX_CLC1(3, sin, clc)
KHAL_PTX_CLC1(4, sinh, libm)
KHAL_PTX_CLC1(5, sinpi, clc)
KHAL_PTX_CLC1(3, tan, clc)
KHAL_PTX_CLC1(4, tanh, libm)
KHAL_PTX_CLC1(5, tanpi, clc)
float khal_libm_erff(float x) __asm__("_Z3erff");
float khal_libm_hypotf(float x, float y) __asm__("_Z5hypotff");

/* A zero keeps its sign. */
#define KHAL_PTX_SIGNED_ZERO(name)                                                                 \
    KHAL_C_INLINE double khal_libm_##name(double x)                                                \
    {                                                                                              \
        return x == 0 ? x : khal_clc_##name(x);                                                    \
    }
KHAL_PTX_SIGNED_ZERO(atan)
KHAL_PTX_SIGNED_ZERO(atanpi)
KHAL_PTX_SIGNED_ZERO(erf)
KHAL_PTX_SIGNED_ZERO(expm1)
KHAL_PTX_SIGNED_ZERO(sin)
KHAL_PTX_SIGNED_ZERO(tan)

KHAL_C_INLINE double khal_libm_acospi(double x)
{
    return x == x ? khal_clc_acospi(x) : x; /* libclc takes a NaN with a sign for a number */
}

KHAL_C_INLINE double khal_libm_sinpi(double x)
{
    const double s = khal_clc_sinpi(x);
    return s == 0 ? __builtin_copysign(0, x) : s;
}

KHAL_C_INLINE double khal_libm_cospi(double x)
{
    const double s = khal_clc_cospi(x);
    return s == 0 ? 0 : s;
}

/* At even numbers with the sign of x, at odd ones with the other. */
KHAL_C_INLINE double khal_libm_tanpi(double x)
{
    const double s = khal_clc_tanpi(x), half = 0.5 * x;
    return s == 0 ? __builtin_copysign(0, __builtin_trunc(half) == half ? x : -x) : s;
}

KHAL_C_INLINE double khal_libm_lgamma(double x)
{
    return x == -__builtin_inf() ? -x : khal_clc_lgamma(x);
}

KHAL_C_INLINE float khal_libm_lgammaf(float x)
{
    return (float)khal_libm_lgamma((double)x);
}

/* e^-(x * x) / (1 + 2 * x) * p, with p fitted over (x - 3) / (x + 3). libclc is off by 16 places and more, and takes
 * denormals for zero. */
KHAL_C_INLINE float khal_libm_erfcf(float x)
{
    const float a = __builtin_fminf(__builtin_fabsf(x), 12);
    const float square = a * a, low = __builtin_fmaf(a, a, -square), t = (a - 3) / (a + 3);
    float p = -0x1.62bb0ep-11f;
    p = __builtin_fmaf(p, t, 0x1.bcbe9p-10f);
    p = __builtin_fmaf(p, t, 0x1.454a9ep-9f);
    p = __builtin_fmaf(p, t, -0x1.83bb66p-6f);
    p = __builtin_fmaf(p, t, 0x1.17d6cp-4f);
    p = __builtin_fmaf(p, t, -0x1.e8a40ap-4f);
    p = __builtin_fmaf(p, t, 0x1.0982bcp-3f);
    p = __builtin_fmaf(p, t, -0x1.859d0ap-5f);
    p = __builtin_fmaf(p, t, -0x1.15c08p-3f);
    p = __builtin_fmaf(p, t, 0x1.40c522p0f);
    const float scale = __builtin_fmaf(-p, low, p) / __builtin_fmaf(2, a, 1);
    const float r = khal_libm_expf(-square) * scale;
    return !(a > 0.5f) || x != x ? 1 - khal_libm_erff(x) : x < 0 ? 2 - r : r;
}

#include <khal/ptx/gamma.h>

#endif
