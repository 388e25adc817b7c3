/* Conversions that C's own casts leave undefined or do not have: float to integer out of range,
 * saturation, rounding modes, half. Instantiated inside each level's text. */
#ifndef KHAL_C_CONVERT_H
#define KHAL_C_CONVERT_H

#define KHAL_LOWEST_char INT8_MIN
#define KHAL_LOWEST_uchar 0
#define KHAL_LOWEST_short INT16_MIN
#define KHAL_LOWEST_ushort 0
#define KHAL_LOWEST_int INT32_MIN
#define KHAL_LOWEST_uint 0
#define KHAL_LOWEST_long INT64_MIN
#define KHAL_LOWEST_ulong 0
#define KHAL_HIGHEST_char INT8_MAX
#define KHAL_HIGHEST_uchar UINT8_MAX
#define KHAL_HIGHEST_short INT16_MAX
#define KHAL_HIGHEST_ushort UINT16_MAX
#define KHAL_HIGHEST_int INT32_MAX
#define KHAL_HIGHEST_uint UINT32_MAX
#define KHAL_HIGHEST_long INT64_MAX
#define KHAL_HIGHEST_ulong UINT64_MAX
/* the largest float or double that is not above the integer type's highest value */
#define KHAL_BELOW_char_float 127.0f
#define KHAL_BELOW_uchar_float 255.0f
#define KHAL_BELOW_short_float 32767.0f
#define KHAL_BELOW_ushort_float 65535.0f
#define KHAL_BELOW_int_float 0x1.fffffep30f
#define KHAL_BELOW_uint_float 0x1.fffffep31f
#define KHAL_BELOW_long_float 0x1.fffffep62f
#define KHAL_BELOW_ulong_float 0x1.fffffep63f
#define KHAL_BELOW_char_double 127.0
#define KHAL_BELOW_uchar_double 255.0
#define KHAL_BELOW_short_double 32767.0
#define KHAL_BELOW_ushort_double 65535.0
#define KHAL_BELOW_int_double 2147483647.0
#define KHAL_BELOW_uint_double 4294967295.0
#define KHAL_BELOW_long_double 0x1.fffffffffffffp62
#define KHAL_BELOW_ulong_double 0x1.fffffffffffffp63

#ifdef __NVPTX__
#include <khal/ptx/convert.h>
#else
#define KHAL_ROUND_rtz_float(x) (x)
#define KHAL_ROUND_rte_float(x) __builtin_rintf(x)
#define KHAL_ROUND_rtp_float(x) __builtin_ceilf(x)
#define KHAL_ROUND_rtn_float(x) __builtin_floorf(x)
#define KHAL_ROUND_rtz_double(x) (x)
#define KHAL_ROUND_rte_double(x) __builtin_rint(x)
#define KHAL_ROUND_rtp_double(x) __builtin_ceil(x)
#define KHAL_ROUND_rtn_double(x) __builtin_floor(x)

/* Out of range: the nearest value that is in range, or nearly so. */
#define KHAL_C_CONVERT_FLOAT_INT(T, F, mode)                                                     \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##T##_##mode##_##F)(khal_##F x)            \
    {                                                                                              \
        x = KHAL_ROUND_##mode##_##F(x);                                                            \
        x = x > (khal_##F)KHAL_LOWEST_##T ? x : (khal_##F)KHAL_LOWEST_##T; /* NaN too */           \
        x = x < KHAL_BELOW_##T##_##F ? x : KHAL_BELOW_##T##_##F;                                   \
        return (khal_##T)x;                                                                        \
    }
#define KHAL_C_CONVERT_FLOAT_INT_SAT(T, F, mode)                                                 \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##T##_sat_##mode##_##F)(khal_##F x)        \
    {                                                                                              \
        x = KHAL_ROUND_##mode##_##F(x);                                                            \
        if (x != x)                                                                                \
            return 0;                                                                              \
        if (x > KHAL_BELOW_##T##_##F)                                                              \
            return KHAL_HIGHEST_##T;                                                               \
        return x > (khal_##F)KHAL_LOWEST_##T ? (khal_##T)x : KHAL_LOWEST_##T;                      \
    }
#endif

#define KHAL_SIGNED_char 1
#define KHAL_SIGNED_uchar 0
#define KHAL_SIGNED_short 1
#define KHAL_SIGNED_ushort 0
#define KHAL_SIGNED_int 1
#define KHAL_SIGNED_uint 0
#define KHAL_SIGNED_long 1
#define KHAL_SIGNED_ulong 0

#define KHAL_C_CONVERT_INT_SAT(T, F)                                                             \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##T##_sat_##F)(khal_##F x)                 \
    {                                                                                              \
        if (KHAL_SIGNED_##F && (int64_t)x < (KHAL_SIGNED_##T ? (int64_t)KHAL_LOWEST_##T : 0))      \
            return KHAL_LOWEST_##T;                                                                \
        if ((!KHAL_SIGNED_##F || x > 0) && (uint64_t)x > (uint64_t)KHAL_HIGHEST_##T)               \
            return KHAL_HIGHEST_##T;                                                               \
        return (khal_##T)x;                                                                        \
    }

#ifndef __NVPTX__
#define KHAL_DIGITS_float 24
#define KHAL_DIGITS_double 53

/* Which way a magnitude goes that lies between two neighbours: 0 towards zero, 1 away from it. */
#define KHAL_AWAY_rtz(negative) 0
#define KHAL_AWAY_rtp(negative) (!(negative))
#define KHAL_AWAY_rtn(negative) (negative)

#define KHAL_C_CONVERT_INT_FLOAT(T, F, mode)                                                     \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##T##_##mode##_##F)(khal_##F x)            \
    {                                                                                              \
        const bool negative = KHAL_SIGNED_##F && (int64_t)x < 0;                                   \
        const uint64_t m = negative ? 0u - (uint64_t)x : (uint64_t)x;                              \
        const int bits = m ? 64 - __builtin_clzll(m) : 0;                                          \
        const int drop = bits > KHAL_DIGITS_##T ? bits - KHAL_DIGITS_##T : 0;                      \
        const uint64_t low = m & (((uint64_t)1 << drop) - 1);                                      \
        khal_##T r = (khal_##T)(m - low);                                                          \
        if (low && KHAL_AWAY_##mode(negative))                                                     \
            r += (khal_##T)((uint64_t)1 << drop);                                                  \
        return negative ? -r : r;                                                                  \
    }

/* double to float */
#define KHAL_C_CONVERT_NARROW(T, F, mode)                                                        \
    KHAL_C_INLINE khal_float KHAL_C_NAME(khal_convert_##T##_##mode##_##F)(khal_##F x)          \
    {                                                                                              \
        return khal_float_from_double(x, KHAL_AWAY_##mode(x < 0));                                 \
    }
#endif

/* Towards zero, or away from it, whatever the nearest would be. */
KHAL_C_INLINE khal_float khal_float_from_double(khal_double x, bool away)
{
    const khal_float y = (khal_float)x;
    const double a = __builtin_fabs(x), b = __builtin_fabs((double)y);
    const khal_uint bits = KHAL_BITCAST(khal_uint, khal_float, y);
    if (x != x || a == b)
        return y;
    if (away)
        return a > b ? KHAL_BITCAST(khal_float, khal_uint, bits + 1) : y;
    return a < b ? KHAL_BITCAST(khal_float, khal_uint, bits - 1) : y;
}

/* ---- half ---- */

KHAL_C_INLINE khal_float khal_float_from_half(khal_half h)
{
    const khal_uint sign = (khal_uint)(h & 0x8000u) << 16, rest = (khal_uint)(h & 0x7fffu) << 13;
    const khal_float small =
        KHAL_BITCAST(khal_float, khal_uint, rest + 0x38000000u); /* exponents moved */
    const khal_float tiny = KHAL_BITCAST(khal_float, khal_uint, rest + 0x38800000u) - 0x1p-14f;
    khal_uint bits =
        rest >= 0x0f800000u ? rest | 0x7f800000u : KHAL_BITCAST(khal_uint, khal_float, small);
    bits = rest < 0x00800000u ? KHAL_BITCAST(khal_uint, khal_float, tiny) : bits;
    bits |= rest > 0x0f800000u ? 0x400000u : 0;
    return KHAL_BITCAST(khal_float, khal_uint, bits | sign);
}

/* Magnitude bits of the float's half: towards zero, with what was cut off in *rest (its top bit:
 * one half of the last place). */
KHAL_C_INLINE khal_uint khal_half_cut(khal_uint magnitude, khal_uint* rest)
{
    if (magnitude >= 0x38800000u) { /* normal */
        *rest = magnitude << 19;
        return (magnitude - 0x38000000u) >> 13;
    }
    if (magnitude < 0x33000000u) { /* less than half of the smallest */
        *rest = magnitude ? 1 : 0;
        return 0;
    }
    const khal_uint digits = (magnitude & 0x7fffffu) | 0x800000u;
    const int drop = 126 - (int)(magnitude >> 23); /* 14 to 24 */
    *rest = digits << (32 - drop);
    return digits >> drop;
}

/* mode: 0 to nearest even, 1 towards zero, 2 away from zero */
KHAL_C_INLINE khal_half khal_half_rounded(khal_float x, int mode)
{
    const khal_uint bits = KHAL_BITCAST(khal_uint, khal_float, x), magnitude = bits & 0x7fffffffu;
    const khal_uint sign = (bits >> 16) & 0x8000u;
    if (magnitude > 0x7f800000u)
        return (khal_half)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude == 0x7f800000u)
        return (khal_half)(sign | 0x7c00u);
    if (magnitude >= 0x47800000u) /* 65536 and more */
        return (khal_half)(sign | (mode == 1 ? 0x7bffu : 0x7c00u));
    khal_uint rest;
    khal_uint h = khal_half_cut(magnitude, &rest);
    if (mode == 0)
        h += rest > 0x80000000u || (rest == 0x80000000u && (h & 1));
    else if (mode == 2)
        h += rest != 0;
    return (khal_half)(sign | h);
}

/* Branches are few here, so that loops over it vectorise. */
KHAL_C_INLINE khal_half khal_half_nearest(khal_float x)
{
    const khal_uint bits = KHAL_BITCAST(khal_uint, khal_float, x), magnitude = bits & 0x7fffffffu;
    const khal_uint sign = (bits >> 16) & 0x8000u;
    const khal_uint normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    /* below the normal ones, float addition itself rounds at the right place */
    const khal_float added = KHAL_BITCAST(khal_float, khal_uint, magnitude) + 0.5f;
    const khal_uint small = KHAL_BITCAST(khal_uint, khal_float, added) - 0x3f000000u;
    khal_uint h = magnitude < 0x38800000u ? small : normal;
    h = magnitude >= 0x47800000u ? 0x7c00u : h;
    h = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : h;
    return (khal_half)(sign | h);
}

KHAL_C_INLINE khal_half khal_fract_half(khal_half h)
{
    const khal_float x = khal_float_from_half(h);
    if ((h & 0x7fffu) == 0 || (h & 0x7fffu) == 0x7c00u)
        return (khal_half)(h & 0x8000u);
    const khal_half r = khal_half_nearest(x - __builtin_floorf(x));
    return r == 0x3c00u ? 0x3bffu : r; /* the largest below 1 */
}

#define KHAL_MODE_rte(negative) 0
#define KHAL_MODE_rtz(negative) 1
#define KHAL_MODE_rtp(negative) ((negative) ? 1 : 2)
#define KHAL_MODE_rtn(negative) ((negative) ? 2 : 1)
#define KHAL_IS_rte 1
#define KHAL_IS_rtz 0
#define KHAL_IS_rtp 0
#define KHAL_IS_rtn 0

/* As a float that rounds to the same half in any mode: exact, or with its last bit set. */
#define KHAL_VIA_float(x) (x)
#define KHAL_VIA_double(x) khal_float_to_odd(x)
#define KHAL_VIA_char(x) ((khal_float)(x))
#define KHAL_VIA_uchar(x) ((khal_float)(x))
#define KHAL_VIA_short(x) ((khal_float)(x))
#define KHAL_VIA_ushort(x) ((khal_float)(x))
#define KHAL_VIA_int(x)                                                                            \
    ((khal_float)((x) > 0x100000 ? 0x100000 : (x) < -0x100000 ? -0x100000 : (x)))
#define KHAL_VIA_uint(x) ((khal_float)((x) > 0x100000u ? 0x100000u : (x)))
#define KHAL_VIA_long(x) KHAL_VIA_int(x)
#define KHAL_VIA_ulong(x) KHAL_VIA_uint(x)

KHAL_C_INLINE khal_float khal_float_to_odd(khal_double x)
{
    const khal_float y = khal_float_from_double(x, false);
    const khal_uint bits = KHAL_BITCAST(khal_uint, khal_float, y);
    return x == x && (double)y != x ? KHAL_BITCAST(khal_float, khal_uint, bits | 1) : y;
}

#if defined(__NVPTX__)
#define KHAL_C_HALF_BY_MACHINE 1
#elif defined(__FLT16_MANT_DIG__)
#define KHAL_C_HALF_BY_MACHINE KHAL_CPU_LEVEL >= 3
#else
#define KHAL_C_HALF_BY_MACHINE 0
#endif

/* The level's own: F16C where it has it. The machine's is taken through the compiler's _Float16. */
#define KHAL_C_CONVERT_FROM_HALF(T, mode)                                                        \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##T##_half)(khal_half x)                   \
    {                                                                                              \
        return KHAL_C_NAME(khal_from_half)(x);                                                   \
    }
#ifndef __NVPTX__
#define KHAL_C_CONVERT_TO_HALF(F, mode)                                                          \
    KHAL_C_INLINE khal_half KHAL_C_NAME(khal_convert_half_##mode##_##F)(khal_##F x)            \
    {                                                                                              \
        const khal_float y = KHAL_VIA_##F(x);                                                      \
        return KHAL_IS_##mode ? KHAL_C_NAME(khal_to_half)(y)                                     \
                              : khal_half_rounded(y, KHAL_MODE_##mode(y < 0));                     \
    }
#endif

#define KHAL_C_HALF_SOFT                                                                         \
    KHAL_C_INLINE khal_float KHAL_C_NAME(khal_from_half)(khal_half x)                          \
    {                                                                                              \
        return khal_float_from_half(x);                                                            \
    }                                                                                              \
    KHAL_C_INLINE khal_half KHAL_C_NAME(khal_to_half)(khal_float x)                            \
    {                                                                                              \
        return khal_half_nearest(x);                                                               \
    }
#define KHAL_C_HALF_HARD                                                                         \
    KHAL_C_INLINE khal_float KHAL_C_NAME(khal_from_half)(khal_half x)                          \
    {                                                                                              \
        return (khal_float)KHAL_BITCAST(_Float16, khal_half, x);                                   \
    }                                                                                              \
    KHAL_C_INLINE khal_half KHAL_C_NAME(khal_to_half)(khal_float x)                            \
    {                                                                                              \
        return KHAL_BITCAST(khal_half, _Float16, (_Float16)x);                                     \
    }

#endif
