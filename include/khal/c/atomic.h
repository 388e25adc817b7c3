/* Atomic functions: they return the old value, and order nothing else. */
#ifndef KHAL_C_ATOMIC_H
#define KHAL_C_ATOMIC_H

/* What is atomic needs no volatile, which on PTX would keep the compiler from telling the address space. */
#ifdef __NVPTX__
#define KHAL_C_ATOMIC_PLACE(T, p) ((khal_##T*)(p))
#else
#define KHAL_C_ATOMIC_PLACE(T, p) (p)
#endif

#define KHAL_C_ATOMIC_FETCH(T, name)                                                               \
    KHAL_C_INLINE khal_##T khal_atomic_##name##_##T(volatile khal_##T* p, khal_##T v)              \
    {                                                                                              \
        return __atomic_fetch_##name(KHAL_C_ATOMIC_PLACE(T, p), v, __ATOMIC_RELAXED);              \
    }
#define KHAL_C_ATOMIC_LIMIT(T, name, op)                                                           \
    KHAL_C_INLINE khal_##T khal_atomic_##name##_##T(volatile khal_##T* p, khal_##T v)              \
    {                                                                                              \
        khal_##T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                       \
        while (v op old &&                                                                         \
               !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
            ;                                                                                      \
        return old;                                                                                \
    }
#ifdef __NVPTX__ /* clang alone compiles for it, and has these as single instructions */
#define KHAL_C_ATOMIC_LIMITS(T) KHAL_C_ATOMIC_FETCH(T, min) KHAL_C_ATOMIC_FETCH(T, max)
#else
#define KHAL_C_ATOMIC_LIMITS(T) KHAL_C_ATOMIC_LIMIT(T, min, <) KHAL_C_ATOMIC_LIMIT(T, max, >)
#endif
#define KHAL_C_ATOMICS(T)                                                                          \
    KHAL_C_ATOMIC_FETCH(T, add)                                                                    \
    KHAL_C_ATOMIC_FETCH(T, sub)                                                                    \
    KHAL_C_ATOMIC_FETCH(T, and)                                                                    \
    KHAL_C_ATOMIC_FETCH(T, or)                                                                     \
    KHAL_C_ATOMIC_FETCH(T, xor)                                                                    \
    KHAL_C_ATOMIC_LIMITS(T)                                                                        \
    KHAL_C_INLINE khal_##T khal_atomic_xchg_##T(volatile khal_##T* p, khal_##T v)                  \
    {                                                                                              \
        return __atomic_exchange_n(KHAL_C_ATOMIC_PLACE(T, p), v, __ATOMIC_RELAXED);                \
    }                                                                                              \
    KHAL_C_INLINE khal_##T khal_atomic_cmpxchg_##T(volatile khal_##T* p, khal_##T expected,        \
                                                     khal_##T v)                                   \
    {                                                                                              \
        __atomic_compare_exchange_n(KHAL_C_ATOMIC_PLACE(T, p), &expected, v, false,                \
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);                           \
        return expected;                                                                           \
    }

KHAL_C_ATOMICS(int)
KHAL_C_ATOMICS(uint)
KHAL_C_ATOMICS(long)
KHAL_C_ATOMICS(ulong)

KHAL_C_INLINE khal_float khal_atomic_xchg_float(volatile khal_float* p, khal_float v)
{
    khal_float old;
    __atomic_exchange(KHAL_C_ATOMIC_PLACE(float, p), &v, &old, __ATOMIC_RELAXED);
    return old;
}

#endif
