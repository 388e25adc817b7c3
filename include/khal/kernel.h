/* Types that host programs and kernels can share.
 *
 * On the host: the scalar and vector types of OpenCL C with their sizes and alignments, for argument structs and for data
 * in buffers. A vector of 2, 3 or 4 has members x, y, z, w and an array s of its lanes; one of 8 or 16 has s alone. Three
 * lanes take the room of four.
 *
 *     khal_float4 a = {{1, 2, 3, 4}};  a.x = a.s[3];
 *
 * In a kernel the same names stand for OpenCL C's own types, so that a header with structs of both sides' can be included
 * by both. */
#ifndef KHAL_KERNEL_H
#define KHAL_KERNEL_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)

#define KHAL_KERNEL_TYPES(name)                                                                    \
    typedef name khal_##name;                                                                      \
    typedef name##2 khal_##name##2;                                                                \
    typedef name##3 khal_##name##3;                                                                \
    typedef name##4 khal_##name##4;                                                                \
    typedef name##8 khal_##name##8;                                                                \
    typedef name##16 khal_##name##16;
KHAL_KERNEL_TYPES(char)
KHAL_KERNEL_TYPES(uchar)
KHAL_KERNEL_TYPES(short)
KHAL_KERNEL_TYPES(ushort)
KHAL_KERNEL_TYPES(int)
KHAL_KERNEL_TYPES(uint)
KHAL_KERNEL_TYPES(long)
KHAL_KERNEL_TYPES(ulong)
KHAL_KERNEL_TYPES(float)
#ifdef cl_khr_fp64
KHAL_KERNEL_TYPES(double)
#endif

#else

#include <stdint.h>

#ifdef __cplusplus
#define KHAL_ALIGN(bytes) alignas(bytes)
#define KHAL_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define KHAL_ALIGN(bytes) _Alignas(bytes)
#define KHAL_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
/* Before a struct without a name, which C11 has and C++ compilers take as an extension. */
#ifdef __GNUC__
#define KHAL_ANONYMOUS __extension__
#else
#define KHAL_ANONYMOUS
#endif

typedef int8_t khal_char;
typedef uint8_t khal_uchar;
typedef int16_t khal_short;
typedef uint16_t khal_ushort;
typedef int32_t khal_int;
typedef uint32_t khal_uint;
typedef int64_t khal_long;
typedef uint64_t khal_ulong;
typedef uint16_t khal_half; /* the bits of an IEEE binary16 */
typedef float khal_float;
typedef double khal_double;

#define KHAL_VECTOR_TYPES(name, bytes)                                                             \
    typedef union khal_##name##2 {                                                                 \
        KHAL_ANONYMOUS struct { khal_##name x, y; };                                               \
        KHAL_ALIGN(2 * (bytes)) khal_##name s[2];                                                  \
    } khal_##name##2;                                                                              \
    typedef union khal_##name##3 {                                                                 \
        KHAL_ANONYMOUS struct { khal_##name x, y, z; };                                            \
        KHAL_ALIGN(4 * (bytes)) khal_##name s[4];                                                  \
    } khal_##name##3;                                                                              \
    typedef union khal_##name##4 {                                                                 \
        KHAL_ANONYMOUS struct { khal_##name x, y, z, w; };                                         \
        KHAL_ALIGN(4 * (bytes)) khal_##name s[4];                                                  \
    } khal_##name##4;                                                                              \
    typedef struct khal_##name##8 { KHAL_ALIGN(8 * (bytes)) khal_##name s[8]; } khal_##name##8;    \
    typedef struct khal_##name##16 { KHAL_ALIGN(16 * (bytes)) khal_##name s[16]; } khal_##name##16;
KHAL_VECTOR_TYPES(char, 1)
KHAL_VECTOR_TYPES(uchar, 1)
KHAL_VECTOR_TYPES(short, 2)
KHAL_VECTOR_TYPES(ushort, 2)
KHAL_VECTOR_TYPES(int, 4)
KHAL_VECTOR_TYPES(uint, 4)
KHAL_VECTOR_TYPES(long, 8)
KHAL_VECTOR_TYPES(ulong, 8)
KHAL_VECTOR_TYPES(half, 2)
KHAL_VECTOR_TYPES(float, 4)
KHAL_VECTOR_TYPES(double, 8)

#endif
#endif
