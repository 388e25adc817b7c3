/* The types of the kernel language. All may alias, so that pointer casts mean what they mean in
 * OpenCL C's usage, whatever the flags. A half is its bits; three lanes are stored as four.
 * khal_float4_u is a float4 in memory whose address is only as aligned as a float: what pointers to
 * vectors point to. Not on PTX, where the machine loads a float4 whole from aligned addresses alone,
 * which is what OpenCL C asks of such pointers. */
#ifndef KHAL_C_TYPES_H
#define KHAL_C_TYPES_H

#include <khal/c/names.h>

#include <stdbool.h>
#include <stdint.h>

typedef bool khal_bool;
typedef int8_t khal_char __attribute__((may_alias));
typedef uint8_t khal_uchar __attribute__((may_alias));
typedef int16_t khal_short __attribute__((may_alias));
typedef uint16_t khal_ushort __attribute__((may_alias));
typedef int32_t khal_int __attribute__((may_alias));
typedef uint32_t khal_uint __attribute__((may_alias));
typedef int64_t khal_long __attribute__((may_alias));
typedef uint64_t khal_ulong __attribute__((may_alias));
typedef uint16_t khal_half __attribute__((may_alias));
typedef float khal_float __attribute__((may_alias));
typedef double khal_double __attribute__((may_alias));

#ifdef __NVPTX__
#define KHAL_C_UNALIGNED(T)
#else
#define KHAL_C_UNALIGNED(T) __attribute__((aligned(sizeof(khal_##T)), may_alias))
#endif
#define KHAL_C_VECTOR(T, n, lanes)                                                                 \
    typedef khal_##T khal_##T##n                                                                   \
        __attribute__((vector_size(lanes * sizeof(khal_##T)), may_alias));                         \
    typedef khal_##T##n khal_##T##n##_u KHAL_C_UNALIGNED(T);
#define KHAL_C_VECTORS(T)                                                                          \
    KHAL_C_VECTOR(T, 2, 2)                                                                         \
    KHAL_C_VECTOR(T, 3, 4)                                                                         \
    KHAL_C_VECTOR(T, 4, 4)                                                                         \
    KHAL_C_VECTOR(T, 8, 8)                                                                         \
    KHAL_C_VECTOR(T, 16, 16)

KHAL_C_VECTORS(char)
KHAL_C_VECTORS(uchar)
KHAL_C_VECTORS(short)
KHAL_C_VECTORS(ushort)
KHAL_C_VECTORS(int)
KHAL_C_VECTORS(uint)
KHAL_C_VECTORS(long)
KHAL_C_VECTORS(ulong)
KHAL_C_VECTORS(half)
KHAL_C_VECTORS(float)
KHAL_C_VECTORS(double)

/* The bits of x, of type FROM, as a TO of the same size. */
#define KHAL_BITCAST(TO, FROM, x)                                                                  \
    __extension__({                                                                                \
        const FROM khal_from = (x);                                                                \
        TO khal_to;                                                                                \
        __builtin_memcpy(&khal_to, &khal_from, sizeof(khal_to));                                   \
        khal_to;                                                                                   \
    })

#define KHAL_SPLAT2(V, x)                                                                          \
    __extension__({                                                                                \
        const __typeof__(((V){0})[0]) khal_s = (x);                                                \
        (V){khal_s, khal_s};                                                                       \
    })
#define KHAL_SPLAT4(V, x)                                                                          \
    __extension__({                                                                                \
        const __typeof__(((V){0})[0]) khal_s = (x);                                                \
        (V){khal_s, khal_s, khal_s, khal_s};                                                       \
    })
#define KHAL_SPLAT8(V, x)                                                                          \
    __extension__({                                                                                \
        const __typeof__(((V){0})[0]) khal_s = (x);                                                \
        (V){khal_s, khal_s, khal_s, khal_s, khal_s, khal_s, khal_s, khal_s};                       \
    })
#define KHAL_SPLAT16(V, x)                                                                         \
    __extension__({                                                                                \
        const __typeof__(((V){0})[0]) khal_s = (x);                                                \
        (V){khal_s, khal_s, khal_s, khal_s, khal_s, khal_s, khal_s, khal_s,                        \
            khal_s, khal_s, khal_s, khal_s, khal_s, khal_s, khal_s, khal_s};                       \
    })

#endif
