/* Names of integer types for functions that are compiled twice: as part of a kernel, and by the host's compiler as the
 * reference. */
#ifndef CTS_SHARED_TYPES_H
#define CTS_SHARED_TYPES_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
/* for access through another type, which C leaves undefined */
typedef ushort any_u16;
typedef int any_i32;
typedef ulong any_u64;
#define SHARED
#define TABLE constant
/* what the functions do on purpose */
#pragma clang diagnostic ignored "-Wdangling-else"
#pragma clang diagnostic ignored "-Wunused-value"
#pragma clang diagnostic ignored "-Wliteral-conversion"
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef uint16_t __attribute__((may_alias)) any_u16;
typedef int32_t __attribute__((may_alias)) any_i32;
typedef uint64_t __attribute__((may_alias)) any_u64;
#define SHARED static
#define TABLE static const
#endif

#endif
