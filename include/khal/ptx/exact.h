/* Functions whose result is exact, or rounded once, made from the bits of their arguments. */
#ifndef KHAL_PTX_EXACT_H
#define KHAL_PTX_EXACT_H

/* One definition for float and double, whose mantissa has `digits` stored bits, and whose exponent is stored with `bias`
 * added. */
#define KHAL_PTX_EXPONENTS(T, U, B, digits, bias)                                                  \
    /* x * 2^n. What a step of the first kind makes a denormal is far below the smallest one in the end, so that nothing \
     * is rounded twice. */                                                                        \
    KHAL_C_INLINE T khal_libm_ldexp##B(T x, int n)                                                 \
    {                                                                                              \
        const T down = KHAL_BITCAST(T, U, (U)(digits + 2) << digits);                              \
        const T up = KHAL_BITCAST(T, U, (U)(2 * bias) << digits);                                  \
        for (int step = 0; step < 2; step++) {                                                     \
            const bool is_low = n < 1 - bias, is_high = n > bias;                                  \
            x = is_low ? x * down : is_high ? x * up : x;                                          \
            n = is_low ? n + (bias - digits - 2) : is_high ? n - bias : n;                         \
        }                                                                                          \
        n = n < 1 - bias ? 1 - bias : n > bias ? bias : n;                                         \
        return x * KHAL_BITCAST(T, U, (U)(n + bias) << digits);                                    \
    }                                                                                              \
    KHAL_C_INLINE T khal_libm_frexp##B(T x, int* exponent)                                         \
    {                                                                                              \
        U bits = KHAL_BITCAST(U, T, x);                                                            \
        int e = (int)(bits >> digits & (2 * bias + 1));                                            \
        const int more = e == 0 ? digits + 1 : 0; /* of a denormal */                              \
        if (more) {                                                                                \
            bits = KHAL_BITCAST(U, T, x * KHAL_BITCAST(T, U, (U)(bias + digits + 1) << digits));   \
            e = (int)(bits >> digits & (2 * bias + 1));                                            \
        }                                                                                          \
        if (x == 0 || e == 2 * bias + 1) { /* infinities and NaN too */                            \
            *exponent = 0;                                                                         \
            return x;                                                                              \
        }                                                                                          \
        *exponent = e - more - bias + 1;                                                           \
        return KHAL_BITCAST(T, U, (bits & ~((U)(2 * bias + 1) << digits)) | (U)(bias - 1) << digits); \
    }                                                                                              \
    KHAL_C_INLINE int khal_libm_ilogb##B(T x) /* of what is finite and not 0 */                    \
    {                                                                                              \
        int e;                                                                                     \
        (void)khal_libm_frexp##B(x, &e);                                                           \
        return e - 1;                                                                              \
    }                                                                                              \
    KHAL_C_INLINE T khal_libm_logb##B(T x)                                                         \
    {                                                                                              \
        if (x == 0)                                                                                \
            return -__builtin_inf##B();                                                            \
        return x - x == 0 ? (T)khal_libm_ilogb##B(x) : x * x;                                      \
    }                                                                                              \
    KHAL_C_INLINE T khal_libm_nextafter##B(T x, T y)                                               \
    {                                                                                              \
        const U bits = KHAL_BITCAST(U, T, x);                                                      \
        if (x != x || y != y)                                                                      \
            return x + y;                                                                          \
        if (x == y)                                                                                \
            return y;                                                                              \
        if (x == 0)                                                                                \
            return __builtin_copysign##B(KHAL_BITCAST(T, U, (U)1), y);                             \
        return KHAL_BITCAST(T, U, (y > x) == (x > 0) ? bits + 1 : bits - 1);                       \
    }                                                                                              \
    /* a - n * b for whole n, a and b not negative: n towards zero, or to nearest and even. The quotient is not far from \
     * right where it has few digits, and the remainder is exact; else it is a long division. */   \
    KHAL_C_INLINE T khal_ptx_modulus##B(T a, T b, bool is_nearest)                                 \
    {                                                                                              \
        if (!(a < __builtin_inf##B()) || !(b > 0))                                                 \
            return __builtin_nan##B("");                                                           \
        if (b == __builtin_inf##B())                                                               \
            return a;                                                                              \
        const T quotient = a / b;                                                                  \
        if (__builtin_expect(quotient < (T)((U)1 << (digits - 1)), 1)) {                           \
            const T n = is_nearest ? __builtin_rint##B(quotient) : __builtin_trunc##B(quotient);   \
            const T r = __builtin_fma##B(-n, b, a);                                                \
            if (is_nearest)                                                                        \
                return r > b - r ? r - b : r < -b - r ? r + b : r;                                 \
            return r < 0 ? r + b : r;                                                              \
        }                                                                                          \
        int high, low;                                                                             \
        const U m = (U)(khal_libm_frexp##B(b, &low) * (T)((U)1 << (digits + 1)));                  \
        U r = (U)(khal_libm_frexp##B(a, &high) * (T)((U)1 << (digits + 1)));                       \
        U q = r / m;                                                                               \
        r -= q * m;                                                                                \
        for (int n = high - low; n > 0;) {                                                         \
            const int most = 8 * (int)sizeof(U) - digits - 1, step = n < most ? n : most;          \
            r <<= step;                                                                            \
            q = r / m;                                                                             \
            r -= q * m;                                                                            \
            n -= step;                                                                             \
        }                                                                                          \
        const bool is_above = is_nearest && (2 * r > m || (2 * r == m && (q & 1)));                \
        const T left = khal_libm_ldexp##B((T)(is_above ? m - r : r), low - digits - 1);            \
        return is_above ? -left : left;                                                            \
    }                                                                                              \
    KHAL_C_INLINE T khal_libm_fmod##B(T x, T y)                                                    \
    {                                                                                              \
        const T r = khal_ptx_modulus##B(__builtin_fabs##B(x), __builtin_fabs##B(y), false);        \
        return __builtin_copysign##B(1, x) < 0 ? -r : r;                                           \
    }                                                                                              \
    KHAL_C_INLINE T khal_libm_remainder##B(T x, T y)                                               \
    {                                                                                              \
        const T r = khal_ptx_modulus##B(__builtin_fabs##B(x), __builtin_fabs##B(y), true);         \
        return __builtin_copysign##B(1, x) < 0 ? -r : r;                                           \
    }

KHAL_PTX_EXPONENTS(float, uint32_t, f, 23, 127)
KHAL_PTX_EXPONENTS(double, uint64_t, , 52, 1023)

#endif
