/* Integer functions on scalars. */
#ifndef KHAL_C_INTEGER_H
#define KHAL_C_INTEGER_H

#define KHAL_C_FN(R, name) KHAL_C_INLINE khal_##R khal_##name

/* T, its unsigned and signed forms, bits, and a type of twice the width */
#define KHAL_C_INTEGER_COMMON(T, U, w)                                                           \
    KHAL_C_FN(T, max_##T)(khal_##T a, khal_##T b)                                                \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }                                                                                              \
    KHAL_C_FN(T, min_##T)(khal_##T a, khal_##T b)                                                \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    KHAL_C_FN(T, clamp_##T)(khal_##T a, khal_##T low, khal_##T high)                             \
    {                                                                                              \
        return khal_min_##T(khal_max_##T(a, low), high);                                           \
    }                                                                                              \
    KHAL_C_FN(U, abs_diff_##T)(khal_##T a, khal_##T b)                                           \
    {                                                                                              \
        return (khal_##U)(a > b ? (khal_##U)a - (khal_##U)b : (khal_##U)b - (khal_##U)a);          \
    }                                                                                              \
    KHAL_C_FN(T, hadd_##T)(khal_##T a, khal_##T b)                                               \
    {                                                                                              \
        return (khal_##T)((a >> 1) + (b >> 1) + (a & b & 1));                                      \
    }                                                                                              \
    KHAL_C_FN(T, rhadd_##T)(khal_##T a, khal_##T b)                                              \
    {                                                                                              \
        return (khal_##T)((a >> 1) + (b >> 1) + ((a | b) & 1));                                    \
    }                                                                                              \
    KHAL_C_FN(T, rotate_##T)(khal_##T a, khal_##T b)                                             \
    {                                                                                              \
        const khal_##U x = (khal_##U)a;                                                            \
        const int by = (int)((khal_##U)b & (w - 1));                                               \
        return (khal_##T)(khal_##U)((khal_##U)(x << by) | (khal_##U)(x >> ((w - by) & (w - 1))));  \
    }                                                                                              \
    KHAL_C_FN(T, mul24_##T)(khal_##T a, khal_##T b)                                              \
    {                                                                                              \
        return (khal_##T)((khal_ulong)a * (khal_ulong)b);                                          \
    }                                                                                              \
    KHAL_C_FN(T, mad24_##T)(khal_##T a, khal_##T b, khal_##T c)                                  \
    {                                                                                              \
        return (khal_##T)((khal_ulong)a * (khal_ulong)b + (khal_ulong)c);                          \
    }

#define KHAL_C_INTEGER_SIGNED(T, U)                                                              \
    KHAL_C_FN(U, abs_##T)(khal_##T a)                                                            \
    {                                                                                              \
        return (khal_##U)(a < 0 ? 0u - (khal_##U)a : (khal_##U)a);                                 \
    }                                                                                              \
    KHAL_C_FN(T, div_##T)(khal_##T a, khal_##T b)                                                \
    {                                                                                              \
        return b == 0 ? 0 : b == -1 ? (khal_##T)(0u - (khal_##U)a) : (khal_##T)(a / b);            \
    }                                                                                              \
    KHAL_C_FN(T, rem_##T)(khal_##T a, khal_##T b)                                                \
    {                                                                                              \
        return b == 0 || b == -1 ? 0 : (khal_##T)(a % b);                                          \
    }
#define KHAL_C_INTEGER_UNSIGNED(T)                                                               \
    KHAL_C_FN(T, abs_##T)(khal_##T a)                                                            \
    {                                                                                              \
        return a;                                                                                  \
    }                                                                                              \
    KHAL_C_FN(T, div_##T)(khal_##T a, khal_##T b)                                                \
    {                                                                                              \
        return b == 0 ? 0 : (khal_##T)(a / b);                                                     \
    }                                                                                              \
    KHAL_C_FN(T, rem_##T)(khal_##T a, khal_##T b)                                                \
    {                                                                                              \
        return b == 0 ? 0 : (khal_##T)(a % b);                                                     \
    }

#define KHAL_C_INTEGER_NARROW(T, U, W, w, lowest, highest)                                       \
    KHAL_C_FN(T, saturate_##T)(W a)                                                              \
    {                                                                                              \
        return (khal_##T)(a<(lowest) ? (lowest) : a>(highest) ? (highest) : a);                    \
    }                                                                                              \
    KHAL_C_FN(T, add_sat_##T)(khal_##T a, khal_##T b)                                            \
    {                                                                                              \
        return khal_saturate_##T((W)a + (W)b);                                                     \
    }                                                                                              \
    KHAL_C_FN(T, mul_hi_##T)(khal_##T a, khal_##T b)                                             \
    {                                                                                              \
        return (khal_##T)(((W)a * (W)b) >> w);                                                     \
    }                                                                                              \
    KHAL_C_FN(T, mad_hi_##T)(khal_##T a, khal_##T b, khal_##T c)                                 \
    {                                                                                              \
        return (khal_##T)((khal_##U)khal_mul_hi_##T(a, b) + (khal_##U)c);                          \
    }                                                                                              \
    KHAL_C_FN(T, mad_sat_##T)(khal_##T a, khal_##T b, khal_##T c)                                \
    {                                                                                              \
        return khal_saturate_##T((W)a * (W)b + (W)c);                                              \
    }                                                                                              \
    KHAL_C_FN(T, clz_##T)(khal_##T a)                                                            \
    {                                                                                              \
        const khal_##U x = (khal_##U)a;                                                            \
        return (khal_##T)(x ? __builtin_clz(x) - (32 - w) : w);                                    \
    }                                                                                              \
    KHAL_C_FN(T, popcount_##T)(khal_##T a)                                                       \
    {                                                                                              \
        return (khal_##T)__builtin_popcount((khal_##U)a);                                          \
    }

#define KHAL_C_INTEGER_PAIR(T, U, w, lowest, highest, highest_u)                                 \
    KHAL_C_INTEGER_COMMON(T, U, w)                                                               \
    KHAL_C_INTEGER_COMMON(U, U, w)                                                               \
    KHAL_C_INTEGER_SIGNED(T, U)                                                                  \
    KHAL_C_INTEGER_UNSIGNED(U)                                                                   \
    KHAL_C_INTEGER_NARROW(T, U, int64_t, w, lowest, highest)                                     \
    KHAL_C_INTEGER_NARROW(U, U, uint64_t, w, 0u, highest_u)                                      \
    KHAL_C_FN(T, sub_sat_##T)(khal_##T a, khal_##T b)                                            \
    {                                                                                              \
        return khal_saturate_##T((int64_t)a - (int64_t)b);                                         \
    }                                                                                              \
    KHAL_C_FN(U, sub_sat_##U)(khal_##U a, khal_##U b)                                            \
    {                                                                                              \
        return (khal_##U)(a > b ? a - b : 0);                                                      \
    }

KHAL_C_INTEGER_PAIR(char, uchar, 8, INT8_MIN, INT8_MAX, UINT8_MAX)
KHAL_C_INTEGER_PAIR(short, ushort, 16, INT16_MIN, INT16_MAX, UINT16_MAX)
KHAL_C_INTEGER_PAIR(int, uint, 32, INT32_MIN, INT32_MAX, UINT32_MAX)

KHAL_C_INTEGER_COMMON(long, ulong, 64)
KHAL_C_INTEGER_COMMON(ulong, ulong, 64)
KHAL_C_INTEGER_SIGNED(long, ulong)
KHAL_C_INTEGER_UNSIGNED(ulong)

KHAL_C_FN(long, add_sat_long)(khal_long a, khal_long b)
{
    int64_t r;
    return __builtin_add_overflow((int64_t)a, (int64_t)b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

KHAL_C_FN(ulong, add_sat_ulong)(khal_ulong a, khal_ulong b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

KHAL_C_FN(long, sub_sat_long)(khal_long a, khal_long b)
{
    int64_t r;
    return __builtin_sub_overflow((int64_t)a, (int64_t)b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

KHAL_C_FN(ulong, sub_sat_ulong)(khal_ulong a, khal_ulong b)
{
    return a > b ? a - b : 0;
}

#ifdef __NVPTX__
KHAL_C_FN(ulong, mul_hi_ulong)(khal_ulong a, khal_ulong b)
{
    return __nvvm_mulhi_ull(a, b);
}

KHAL_C_FN(long, mul_hi_long)(khal_long a, khal_long b)
{
    return __nvvm_mulhi_ll(a, b);
}
#else
KHAL_C_FN(ulong, mul_hi_ulong)(khal_ulong a, khal_ulong b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0, m = a1 * b0 + (low >> 32), n = a0 * b1 + (uint32_t)m;
    return a1 * b1 + (m >> 32) + (n >> 32);
}

KHAL_C_FN(long, mul_hi_long)(khal_long a, khal_long b)
{
    uint64_t high = khal_mul_hi_ulong((uint64_t)a, (uint64_t)b);
    high -= a < 0 ? (uint64_t)b : 0;
    high -= b < 0 ? (uint64_t)a : 0;
    return (int64_t)high;
}
#endif

KHAL_C_FN(ulong, mad_hi_ulong)(khal_ulong a, khal_ulong b, khal_ulong c)
{
    return khal_mul_hi_ulong(a, b) + c;
}

KHAL_C_FN(long, mad_hi_long)(khal_long a, khal_long b, khal_long c)
{
    return (int64_t)((uint64_t)khal_mul_hi_long(a, b) + (uint64_t)c);
}

KHAL_C_FN(ulong, mad_sat_ulong)(khal_ulong a, khal_ulong b, khal_ulong c)
{
    return khal_mul_hi_ulong(a, b) ? UINT64_MAX : khal_add_sat_ulong(a * b, c);
}

KHAL_C_FN(long, mad_sat_long)(khal_long a, khal_long b, khal_long c)
{
    const uint64_t low = (uint64_t)a * (uint64_t)b, sum = low + (uint64_t)c;
    const int64_t high =
        (int64_t)((uint64_t)khal_mul_hi_long(a, b) + (c < 0 ? UINT64_MAX : 0) + (sum < low));
    if (high == ((int64_t)sum < 0 ? -1 : 0))
        return (int64_t)sum;
    return high < 0 ? INT64_MIN : INT64_MAX;
}

KHAL_C_FN(long, clz_long)(khal_long a)
{
    return a ? __builtin_clzll((unsigned long long)a) : 64;
}

KHAL_C_FN(ulong, clz_ulong)(khal_ulong a)
{
    return (khal_ulong)(a ? __builtin_clzll(a) : 64);
}

KHAL_C_FN(long, popcount_long)(khal_long a)
{
    return __builtin_popcountll((unsigned long long)a);
}

KHAL_C_FN(ulong, popcount_ulong)(khal_ulong a)
{
    return (khal_ulong)__builtin_popcountll(a);
}

KHAL_C_FN(short, upsample_char)(khal_char high, khal_uchar low)
{
    return (khal_short)(((khal_uint)high << 8) | low);
}
KHAL_C_FN(ushort, upsample_uchar)(khal_uchar high, khal_uchar low)
{
    return (khal_ushort)(((khal_uint)high << 8) | low);
}
KHAL_C_FN(int, upsample_short)(khal_short high, khal_ushort low)
{
    return (khal_int)(((khal_uint)high << 16) | low);
}
KHAL_C_FN(uint, upsample_ushort)(khal_ushort high, khal_ushort low)
{
    return ((khal_uint)high << 16) | low;
}
KHAL_C_FN(long, upsample_int)(khal_int high, khal_uint low)
{
    return (khal_long)(((khal_ulong)high << 32) | low);
}
KHAL_C_FN(ulong, upsample_uint)(khal_uint high, khal_uint low)
{
    return ((khal_ulong)high << 32) | low;
}

#endif
