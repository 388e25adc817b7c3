/* Which of a library's SIMD levels the machine has. */
#ifndef LEVEL_H
#define LEVEL_H

#include <khal/library.h>
#include <stdbool.h>

static bool has_level(uint32_t level)
{
    if (level == KHAL_CPU_LEVEL_BASE)
        return true;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (level == KHAL_CPU_LEVEL_X86_V3)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
    return false;
#endif
}

#endif
