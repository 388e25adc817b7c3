/* Tests of floating-point values that are not a single comparison. */
#ifndef KHAL_C_RELATION_H
#define KHAL_C_RELATION_H

#define KHAL_C_RELATION(T, U, exponent, top)                                                     \
    KHAL_C_INLINE khal_##U khal_bits_##T(khal_##T x)                                             \
    {                                                                                              \
        return KHAL_BITCAST(khal_##U, khal_##T, x);                                                \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_isfinite_##T(khal_##T x)                                         \
    {                                                                                              \
        return (khal_bits_##T(x) & exponent) != exponent;                                          \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_isinf_##T(khal_##T x)                                            \
    {                                                                                              \
        return (khal_bits_##T(x) & (top - 1)) == exponent;                                         \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_isnan_##T(khal_##T x)                                            \
    {                                                                                              \
        return (khal_bits_##T(x) & (top - 1)) > exponent;                                          \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_isnormal_##T(khal_##T x)                                         \
    {                                                                                              \
        const khal_##U e = (khal_##U)(khal_bits_##T(x) & exponent);                                \
        return e != 0 && e != exponent;                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_signbit_##T(khal_##T x)                                          \
    {                                                                                              \
        return (khal_bits_##T(x) & top) != 0;                                                      \
    }
#define KHAL_C_RELATION2(T)                                                                      \
    KHAL_C_INLINE khal_int khal_islessgreater_##T(khal_##T x, khal_##T y)                        \
    {                                                                                              \
        return x < y || x > y;                                                                     \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_isordered_##T(khal_##T x, khal_##T y)                            \
    {                                                                                              \
        return x == x && y == y;                                                                   \
    }                                                                                              \
    KHAL_C_INLINE khal_int khal_isunordered_##T(khal_##T x, khal_##T y)                          \
    {                                                                                              \
        return x != x || y != y;                                                                   \
    }

KHAL_C_RELATION(half, ushort, 0x7c00u, 0x8000u)
KHAL_C_RELATION(float, uint, 0x7f800000u, 0x80000000u)
KHAL_C_RELATION(double, ulong, 0x7ff0000000000000ull, 0x8000000000000000ull)
KHAL_C_RELATION2(float)
KHAL_C_RELATION2(double)

#endif
