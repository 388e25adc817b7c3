/* Conversions with a rounding mode, or of what may be out of range, as the machine's own. */
#ifndef KHAL_PTX_CONVERT_H
#define KHAL_PTX_CONVERT_H

/* rounding to an integer, and to a floating-point value */
#define KHAL_PTX_WHOLE_rte "rni"
#define KHAL_PTX_WHOLE_rtz "rzi"
#define KHAL_PTX_WHOLE_rtp "rpi"
#define KHAL_PTX_WHOLE_rtn "rmi"
#define KHAL_PTX_ROUND_rte "rn"
#define KHAL_PTX_ROUND_rtz "rz"
#define KHAL_PTX_ROUND_rtp "rp"
#define KHAL_PTX_ROUND_rtn "rm"

/* the machine's type for a type, and how assembly takes it; integers of less than 32 bits are widened */
#define KHAL_PTX_TYPE_char "s32"
#define KHAL_PTX_TYPE_uchar "u32"
#define KHAL_PTX_TYPE_short "s32"
#define KHAL_PTX_TYPE_ushort "u32"
#define KHAL_PTX_TYPE_int "s32"
#define KHAL_PTX_TYPE_uint "u32"
#define KHAL_PTX_TYPE_long "s64"
#define KHAL_PTX_TYPE_ulong "u64"
#define KHAL_PTX_TYPE_float "f32"
#define KHAL_PTX_TYPE_double "f64"
#define KHAL_PTX_WIDE_char khal_int
#define KHAL_PTX_WIDE_uchar khal_uint
#define KHAL_PTX_WIDE_short khal_int
#define KHAL_PTX_WIDE_ushort khal_uint
#define KHAL_PTX_WIDE_int khal_int
#define KHAL_PTX_WIDE_uint khal_uint
#define KHAL_PTX_WIDE_long khal_long
#define KHAL_PTX_WIDE_ulong khal_ulong
#define KHAL_PTX_WIDE_float khal_float
#define KHAL_PTX_WIDE_double khal_double
#define KHAL_PTX_REGISTER_char "r"
#define KHAL_PTX_REGISTER_uchar "r"
#define KHAL_PTX_REGISTER_short "r"
#define KHAL_PTX_REGISTER_ushort "r"
#define KHAL_PTX_REGISTER_int "r"
#define KHAL_PTX_REGISTER_uint "r"
#define KHAL_PTX_REGISTER_long "l"
#define KHAL_PTX_REGISTER_ulong "l"
#define KHAL_PTX_REGISTER_float "f"
#define KHAL_PTX_REGISTER_double "d"

/* The machine gives the end of the range that is nearest, and 0 for NaN where neither side has 64 bits. */
#define KHAL_PTX_TO_INT(T, F, name, mode, nan)                                                     \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##name##_##F)(khal_##F x)                      \
    {                                                                                              \
        KHAL_PTX_WIDE_##T r;                                                                       \
        __asm__("cvt." KHAL_PTX_WHOLE_##mode "." KHAL_PTX_TYPE_##T "." KHAL_PTX_TYPE_##F " %0, %1;" \
                : "=" KHAL_PTX_REGISTER_##T(r)                                                     \
                : KHAL_PTX_REGISTER_##F(x));                                                       \
        r = r < KHAL_LOWEST_##T ? KHAL_LOWEST_##T : r;                                             \
        r = r > KHAL_HIGHEST_##T ? KHAL_HIGHEST_##T : r;                                           \
        return (khal_##T)((nan) ? 0 : r);                                                          \
    }
#define KHAL_C_CONVERT_FLOAT_INT(T, F, mode) KHAL_PTX_TO_INT(T, F, T##_##mode, mode, false)
#define KHAL_C_CONVERT_FLOAT_INT_SAT(T, F, mode)                                                   \
    KHAL_PTX_TO_INT(T, F, T##_sat_##mode, mode, (sizeof(khal_##T) == 8 || sizeof(khal_##F) == 8) && x != x)

#define KHAL_PTX_CONVERT(T, F, mode)                                                               \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_convert_##T##_##mode##_##F)(khal_##F x)                \
    {                                                                                              \
        khal_##T r;                                                                                \
        __asm__("cvt." KHAL_PTX_ROUND_##mode "." KHAL_PTX_TYPE_##T "." KHAL_PTX_TYPE_##F           \
                " %0, %1;"                                                                         \
                : "=" KHAL_PTX_REGISTER_##T(r)                                                     \
                : KHAL_PTX_REGISTER_##F((KHAL_PTX_WIDE_##F)x));                                    \
        return r;                                                                                  \
    }
#define KHAL_C_CONVERT_INT_FLOAT(T, F, mode) KHAL_PTX_CONVERT(T, F, mode)
#define KHAL_C_CONVERT_NARROW(T, F, mode) KHAL_PTX_CONVERT(T, F, mode)

#define KHAL_C_CONVERT_TO_HALF(F, mode)                                                            \
    KHAL_C_INLINE khal_half KHAL_C_NAME(khal_convert_half_##mode##_##F)(khal_##F x)                \
    {                                                                                              \
        khal_half r;                                                                               \
        __asm__("cvt." KHAL_PTX_ROUND_##mode ".f16." KHAL_PTX_TYPE_##F " %0, %1;"                  \
                : "=h"(r)                                                                          \
                : KHAL_PTX_REGISTER_##F((KHAL_PTX_WIDE_##F)x));                                    \
        return r;                                                                                  \
    }

#endif
