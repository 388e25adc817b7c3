/* Atomic functions: they return the old value, and order nothing else. */
#ifndef KHAL_CPU_ATOMIC_H
#define KHAL_CPU_ATOMIC_H

#define KHAL_CPU_ATOMIC_FETCH(T, name)                                                             \
    KHAL_CPU_INLINE khal_##T khal_atomic_##name##_##T(volatile khal_##T* p, khal_##T v)            \
    {                                                                                              \
        return __atomic_fetch_##name(p, v, __ATOMIC_RELAXED);                                      \
    }
#define KHAL_CPU_ATOMIC_LIMIT(T, name, op)                                                         \
    KHAL_CPU_INLINE khal_##T khal_atomic_##name##_##T(volatile khal_##T* p, khal_##T v)            \
    {                                                                                              \
        khal_##T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                       \
        while (v op old &&                                                                         \
               !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
            ;                                                                                      \
        return old;                                                                                \
    }
#define KHAL_CPU_ATOMICS(T)                                                                        \
    KHAL_CPU_ATOMIC_FETCH(T, add)                                                                  \
    KHAL_CPU_ATOMIC_FETCH(T, sub)                                                                  \
    KHAL_CPU_ATOMIC_FETCH(T, and)                                                                  \
    KHAL_CPU_ATOMIC_FETCH(T, or)                                                                   \
    KHAL_CPU_ATOMIC_FETCH(T, xor)                                                                  \
    KHAL_CPU_ATOMIC_LIMIT(T, min, <)                                                               \
    KHAL_CPU_ATOMIC_LIMIT(T, max, >)                                                               \
    KHAL_CPU_INLINE khal_##T khal_atomic_xchg_##T(volatile khal_##T* p, khal_##T v)                \
    {                                                                                              \
        return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);                                        \
    }                                                                                              \
    KHAL_CPU_INLINE khal_##T khal_atomic_cmpxchg_##T(volatile khal_##T* p, khal_##T expected,      \
                                                     khal_##T v)                                   \
    {                                                                                              \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);   \
        return expected;                                                                           \
    }

KHAL_CPU_ATOMICS(int)
KHAL_CPU_ATOMICS(uint)
KHAL_CPU_ATOMICS(long)
KHAL_CPU_ATOMICS(ulong)

KHAL_CPU_INLINE khal_float khal_atomic_xchg_float(volatile khal_float* p, khal_float v)
{
    khal_float old;
    __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
    return old;
}

#endif
