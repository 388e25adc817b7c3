/* The C library's functions for PTX, as khal_libm_x: single instructions, functions of libclc, which generated code is
 * linked with, by their mangled names, and our own where libclc has none. */
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

/* libclc: `length` is that of the name, which mangling wants */
#define KHAL_PTX_LIBCLC1(length, name)                                                             \
    float khal_libm_##name##f(float x) __asm__("_Z" #length #name "f");                            \
    double khal_libm_##name(double x) __asm__("_Z" #length #name "d");
#define KHAL_PTX_LIBCLC2(length, name)                                                             \
    float khal_libm_##name##f(float x, float y) __asm__("_Z" #length #name "ff");                  \
    double khal_libm_##name(double x, double y) __asm__("_Z" #length #name "dd");
#define KHAL_PTX_LIBCLC_INT(length, name)                                                          \
    float khal_libm_##name##f(float x, int n) __asm__("_Z" #length #name "fi");                    \
    double khal_libm_##name(double x, int n) __asm__("_Z" #length #name "di");

KHAL_PTX_LIBCLC1(4, acos)
KHAL_PTX_LIBCLC1(5, acosh)
KHAL_PTX_LIBCLC1(6, acospi)
KHAL_PTX_LIBCLC1(4, asin)
KHAL_PTX_LIBCLC1(5, asinh)
KHAL_PTX_LIBCLC1(6, asinpi)
KHAL_PTX_LIBCLC1(4, atan)
KHAL_PTX_LIBCLC1(5, atanh)
KHAL_PTX_LIBCLC1(6, atanpi)
KHAL_PTX_LIBCLC2(5, atan2)
KHAL_PTX_LIBCLC2(7, atan2pi)
KHAL_PTX_LIBCLC1(4, cbrt)
KHAL_PTX_LIBCLC1(3, cos)
KHAL_PTX_LIBCLC1(4, cosh)
KHAL_PTX_LIBCLC1(5, cospi)
KHAL_PTX_LIBCLC1(3, erf)
KHAL_PTX_LIBCLC1(4, erfc)
KHAL_PTX_LIBCLC1(3, exp)
KHAL_PTX_LIBCLC1(4, exp2)
KHAL_PTX_LIBCLC1(5, exp10)
KHAL_PTX_LIBCLC1(5, expm1)
KHAL_PTX_LIBCLC2(4, fmod)
KHAL_PTX_LIBCLC2(5, hypot)
KHAL_PTX_LIBCLC1(6, lgamma)
KHAL_PTX_LIBCLC1(3, log)
KHAL_PTX_LIBCLC1(4, log2)
KHAL_PTX_LIBCLC1(5, log10)
KHAL_PTX_LIBCLC1(5, log1p)
KHAL_PTX_LIBCLC1(4, logb)
KHAL_PTX_LIBCLC2(9, nextafter)
KHAL_PTX_LIBCLC2(3, pow)
KHAL_PTX_LIBCLC_INT(4, pown)
KHAL_PTX_LIBCLC2(4, powr)
KHAL_PTX_LIBCLC2(9, remainder)
KHAL_PTX_LIBCLC_INT(5, rootn)
KHAL_PTX_LIBCLC1(3, sin)
KHAL_PTX_LIBCLC1(4, sinh)
KHAL_PTX_LIBCLC1(5, sinpi)
KHAL_PTX_LIBCLC1(3, tan)
KHAL_PTX_LIBCLC1(4, tanh)
KHAL_PTX_LIBCLC1(5, tanpi)
KHAL_PTX_LIBCLC1(6, tgamma)

/* One definition for float and double: its mantissa has `digits` stored bits, `bias` is that of the exponent. */
#define KHAL_PTX_EXPONENTS(T, U, B, one, digits, bias, mask)                                       \
    /* x * 2^n. A step below 2^-bias keeps more than its digits away from the denormals, so that only the last one */ \
    /* rounds. */                                                                                  \
    KHAL_C_INLINE T khal_libm_ldexp##B(T x, int n)                                                 \
    {                                                                                              \
        const T down = KHAL_BITCAST(T, U, (one) * (U)(digits + 2)), up = KHAL_BITCAST(T, U, (one) * (U)(2 * bias)); \
        for (int step = 0; step < 2; step++) {                                                     \
            const bool is_low = n < 1 - bias, is_high = n > bias;                                  \
            x = is_low ? x * down : is_high ? x * up : x;                                          \
            n = is_low ? n + (bias - digits - 2) : is_high ? n - bias : n;                         \
        }                                                                                          \
        n = n < 1 - bias ? 1 - bias : n > bias ? bias : n;                                         \
        return x * KHAL_BITCAST(T, U, (one) * (U)(n + bias));                                      \
    }                                                                                              \
    KHAL_C_INLINE T khal_libm_frexp##B(T x, int* exponent)                                         \
    {                                                                                              \
        U bits = KHAL_BITCAST(U, T, x);                                                            \
        int e = (int)(bits / (one) & (mask));                                                      \
        const bool is_denormal = e == 0;                                                           \
        if (is_denormal) {                                                                         \
            bits = KHAL_BITCAST(U, T, x * KHAL_BITCAST(T, U, (one) * (U)(bias + digits + 1)));     \
            e = (int)(bits / (one) & (mask)) - digits - 1;                                         \
        }                                                                                          \
        if (x == 0 || e == (mask)) { /* infinities and NaN too */                                  \
            *exponent = 0;                                                                         \
            return x;                                                                              \
        }                                                                                          \
        *exponent = e - bias + 1;                                                                  \
        return KHAL_BITCAST(T, U, (bits & ~((one) * (U)(mask))) | (one) * (U)(bias - 1));          \
    }                                                                                              \
    KHAL_C_INLINE int khal_libm_ilogb##B(T x) /* of what is finite and not 0 */                    \
    {                                                                                              \
        int e;                                                                                     \
        (void)khal_libm_frexp##B(x, &e);                                                           \
        return e - 1;                                                                              \
    }

KHAL_PTX_EXPONENTS(float, uint32_t, f, (uint32_t)1 << 23, 23, 127, 0xff)
KHAL_PTX_EXPONENTS(double, uint64_t, , (uint64_t)1 << 52, 52, 1023, 0x7ff)

#endif
