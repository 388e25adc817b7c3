/* What the C that khalc generates for the CPU is compiled with. Not for hand-written programs: only
 * the launch structure in library.h is stable.
 *
 * The shape of a generated NAME.khal.c, which includes itself once for each SIMD level:
 *
 *     #ifndef KHAL_C_NAME
 *     #include "NAME.khal.h"
 *     #include <khal/cpu.h>
 *     #define KHAL_C_NAME(x) khal_cpu_##x##_base
 *     #include "NAME.khal.c"               // its own name without a folder: found beside itself
 *     #undef KHAL_C_NAME
 *     #if KHAL_CPU_HAVE_X86_V3
 *     KHAL_CPU_TARGET_V3_BEGIN
 *     #define KHAL_C_NAME(x) khal_cpu_##x##_v3
 *     #include "NAME.khal.c"
 *     #undef KHAL_C_NAME
 *     KHAL_CPU_TARGET_V3_END
 *     #endif
 *     #if KHAL_CPU_HAVE_X86_V4
 *     KHAL_CPU_TARGET_V4_BEGIN
 *     #define KHAL_C_NAME(x) khal_cpu_##x##_v4
 *     ... as above
 *     #endif
 *     static const khal_code NAME_codes[] = {
 *         {.format = KHAL_FORMAT_CPU, .level = KHAL_CPU_LEVEL_BASE, .abi = KHAL_CPU_ABI,
 *          .cpu_kernels = khal_cpu_kernels_base},
 *     #if KHAL_CPU_HAVE_X86_V3
 *         {..., .level = KHAL_CPU_LEVEL_X86_V3, ..., .cpu_kernels = khal_cpu_kernels_v3},
 *     #endif
 *         ...};
 *     ... tables, launchers
 *     #else
 *     <what kc_emit_c printed>
 *     #endif
 *
 * The suffixes are exactly base, v3 and v4: headers here tell the level by them. NAME.khal.c needs
 * GNU extensions of gcc 12 or clang 16 and later, with -std=gnu11 or -std=c11. Recommended: -O3
 * -fno-math-errno -fno-trapping-math -Wno-psabi (the last because gcc remarks on how wide vectors
 * are passed, which never happens between files). Nothing about results depends on flags, but
 * -ffast-math is not supported: NaN and infinity must keep their meaning. KHAL_CPU_BASE_ONLY, when
 * defined, leaves out all levels but the base.
 *
 * Scalar functions here are compiled for the base and inlined into each level's code; functions on
 * vectors are instantiated inside each level's text (map.h), because their calling convention
 * depends on the level. */
#ifndef KHAL_CPU_H
#define KHAL_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <khal/library.h>

#if defined(__x86_64__) && !defined(KHAL_CPU_BASE_ONLY)
#define KHAL_CPU_HAVE_X86_V3 1
#define KHAL_CPU_HAVE_X86_V4 1
#else
#define KHAL_CPU_HAVE_X86_V3 0
#define KHAL_CPU_HAVE_X86_V4 0
#endif

#define KHAL_CPU_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define KHAL_CPU_TARGET_V3_BEGIN                                                                   \
    KHAL_CPU_PRAGMA(                                                                               \
        clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe"))), \
                             apply_to = function))
#define KHAL_CPU_TARGET_V3_END _Pragma("clang attribute pop")
#define KHAL_CPU_TARGET_V4_BEGIN                                                                   \
    KHAL_CPU_PRAGMA(clang attribute push(                                                          \
        __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe,"                         \
                              "avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))),                    \
        apply_to = function))
#define KHAL_CPU_TARGET_V4_END _Pragma("clang attribute pop")
#define KHAL_CPU_ASSUME(c) __builtin_assume(c)
/* Clang checks at run time what may alias; its own pragma would force vectorisation even where it
 * does not pay. */
#define KHAL_CPU_INDEPENDENT
#else
#define KHAL_CPU_TARGET_V3_BEGIN                                                                   \
    _Pragma("GCC push_options")                                                                    \
        KHAL_CPU_PRAGMA(GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe"))
#define KHAL_CPU_TARGET_V3_END _Pragma("GCC pop_options")
#define KHAL_CPU_TARGET_V4_BEGIN                                                                   \
    _Pragma("GCC push_options")                                                                    \
        KHAL_CPU_PRAGMA(GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe",                    \
                                   "avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))
#define KHAL_CPU_TARGET_V4_END _Pragma("GCC pop_options")
#define KHAL_CPU_ASSUME(c)                                                                         \
    do {                                                                                           \
        if (!(c))                                                                                  \
            __builtin_unreachable();                                                               \
    } while (0)
/* The iterations of the loop that follows do not depend on each other: work-items between two
 * barriers. */
#define KHAL_CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Around each level's text: what the kernel's author wrote is checked where it was written, not
 * here. */
#if defined(__clang__)
#define KHAL_CPU_QUIET(option) KHAL_CPU_PRAGMA(clang diagnostic ignored option)
#define KHAL_CPU_TEXT_BEGIN                                                                        \
    _Pragma("clang diagnostic push") KHAL_CPU_QUIET("-Wall") KHAL_CPU_QUIET("-Wextra")             \
        KHAL_CPU_QUIET("-Wconversion") KHAL_CPU_QUIET("-Wpedantic") KHAL_CPU_QUIET("-Wpsabi")      \
            KHAL_CPU_QUIET("-Wpass-failed") KHAL_CPU_QUIET("-Wunused") KHAL_CPU_QUIET("-Wshadow")  \
                KHAL_CPU_QUIET("-Wtautological-compare") KHAL_CPU_QUIET("-Wfloat-equal")           \
                    KHAL_CPU_QUIET("-Wconstant-conversion") KHAL_CPU_QUIET("-Wdiv-by-zero")        \
                        KHAL_CPU_QUIET("-Wcast-align") KHAL_CPU_QUIET("-Wcast-qual")               \
                            KHAL_CPU_QUIET("-Wdouble-promotion")                                   \
                                KHAL_CPU_QUIET("-Wincompatible-pointer-types-discards-qualifiers") \
                                    KHAL_CPU_QUIET("-Wmissing-braces")                             \
                                        KHAL_CPU_QUIET("-Wstrict-prototypes")                      \
                                            KHAL_CPU_QUIET("-Waddress-of-packed-member")
#define KHAL_CPU_TEXT_END _Pragma("clang diagnostic pop")
#else
#define KHAL_CPU_QUIET(option) KHAL_CPU_PRAGMA(GCC diagnostic ignored option)
#define KHAL_CPU_TEXT_BEGIN                                                                        \
    _Pragma("GCC diagnostic push") KHAL_CPU_QUIET("-Wunused-variable") KHAL_CPU_QUIET(             \
        "-Wunused-label") KHAL_CPU_QUIET("-Wunused-value") KHAL_CPU_QUIET("-Wunused-function")     \
        KHAL_CPU_QUIET("-Waddress-of-packed-member") KHAL_CPU_QUIET("-Wpsabi") KHAL_CPU_QUIET(     \
            "-Wunused") KHAL_CPU_QUIET("-Wunused-parameter")                                       \
            KHAL_CPU_QUIET("-Wunused-but-set-variable") KHAL_CPU_QUIET(                            \
                "-Wunused-but-set-parameter") KHAL_CPU_QUIET("-Wuninitialized")                    \
                KHAL_CPU_QUIET("-Wmaybe-uninitialized") KHAL_CPU_QUIET(                            \
                    "-Wtype-limits") KHAL_CPU_QUIET("-Wsign-compare")                              \
                    KHAL_CPU_QUIET("-Wconversion") KHAL_CPU_QUIET(                                 \
                        "-Wsign-conversion") KHAL_CPU_QUIET("-Wpedantic")                          \
                        KHAL_CPU_QUIET("-Wfloat-equal") KHAL_CPU_QUIET(                            \
                            "-Wfloat-conversion") KHAL_CPU_QUIET("-Wparentheses")                  \
                            KHAL_CPU_QUIET("-Wbool-compare") KHAL_CPU_QUIET(                       \
                                "-Wbool-operation") KHAL_CPU_QUIET("-Wtautological-compare")       \
                                KHAL_CPU_QUIET("-Wlogical-op") KHAL_CPU_QUIET(                     \
                                    "-Wlogical-not-parentheses") KHAL_CPU_QUIET("-Waddress")       \
                                    KHAL_CPU_QUIET("-Wint-in-bool-context") KHAL_CPU_QUIET(        \
                                        "-Wdiv-by-zero") KHAL_CPU_QUIET("-Woverflow")              \
                                        KHAL_CPU_QUIET("-Wduplicated-branches") KHAL_CPU_QUIET(    \
                                            "-Warray-bounds")                                      \
                                            KHAL_CPU_QUIET("-Wstringop-overflow") KHAL_CPU_QUIET(  \
                                                "-Wstringop-overread") KHAL_CPU_QUIET("-Wshadow")  \
                                                KHAL_CPU_QUIET("-Waggressive-loop-optimizations")  \
                                                    KHAL_CPU_QUIET("-Wdiscarded-qualifiers")       \
                                                        KHAL_CPU_QUIET("-Wmissing-braces")         \
                                                            KHAL_CPU_QUIET(                        \
                                                                "-Wmissing-field-initializers")    \
                                                                KHAL_CPU_QUIET(                    \
                                                                    "-Wunused-const-variable")     \
                                                                    KHAL_CPU_QUIET(                \
                                                                        "-Wunsuffixed-float-"      \
                                                                        "constants")               \
                                                                        KHAL_CPU_QUIET(            \
                                                                            "-Wdouble-promotion")  \
                                                                            KHAL_CPU_QUIET(        \
                                                                                "-Wcast-align")    \
                                                                                KHAL_CPU_QUIET(    \
                                                                                    "-Wcast-qual")
#define KHAL_CPU_TEXT_END _Pragma("GCC diagnostic pop")
#endif

/* Inside a level's text, KHAL_CPU_LEVEL is 0, 3 or 4. */
#define KHAL_CPU_LEVEL_base 0
#define KHAL_CPU_LEVEL_v3 3
#define KHAL_CPU_LEVEL_v4 4
#define KHAL_CPU_LEVEL KHAL_C_NAME(KHAL_CPU_LEVEL)

/* Only ever compiled into their callers, at the caller's level. */
#define KHAL_C_INLINE static inline __attribute__((always_inline, unused))
#define KHAL_C_FUNCTION static __attribute__((unused))

#include <khal/c/types.h>

#include <khal/cpu/grid.h>

#endif
