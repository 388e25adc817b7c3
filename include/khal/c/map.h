/* Functions on vectors from functions on scalars, instantiated by the generated text inside each
 * level: only what a file uses. khal_exp_float4 is khal_exp_float on each lane. */
#ifndef KHAL_C_MAP_H
#define KHAL_C_MAP_H

/* Before a loop over n lanes: on PTX, lanes that are not known by number lie in memory. */
#ifdef __NVPTX__
#define KHAL_C_UNROLL_2 _Pragma("clang loop unroll(full)")
#define KHAL_C_UNROLL_3 _Pragma("clang loop unroll(full)")
#define KHAL_C_UNROLL_4 _Pragma("clang loop unroll(full)")
#else
#define KHAL_C_UNROLL_2
#define KHAL_C_UNROLL_3
#define KHAL_C_UNROLL_4
#endif
#define KHAL_C_UNROLL_8
#define KHAL_C_UNROLL_16

#define KHAL_C_MAP1(name, R, A, n)                                                                 \
    KHAL_C_INLINE khal_##R##n KHAL_C_NAME(khal_##name##_##A##n)(const khal_##A##n a)               \
    {                                                                                              \
        khal_##R##n r = {0};                                                                       \
        KHAL_C_UNROLL_##n for (int i = 0; i < n; i++)                                              \
            r[i] = khal_##name##_##A(a[i]);                                                        \
        return r;                                                                                  \
    }
#define KHAL_C_MAP2(name, R, A, B, n)                                                              \
    KHAL_C_INLINE khal_##R##n KHAL_C_NAME(khal_##name##_##A##n)(const khal_##A##n a,               \
                                                                    const khal_##B##n b)           \
    {                                                                                              \
        khal_##R##n r = {0};                                                                       \
        KHAL_C_UNROLL_##n for (int i = 0; i < n; i++)                                              \
            r[i] = khal_##name##_##A(a[i], b[i]);                                                  \
        return r;                                                                                  \
    }
#define KHAL_C_MAP3(name, R, A, B, C, n)                                                           \
    KHAL_C_INLINE khal_##R##n KHAL_C_NAME(khal_##name##_##A##n)(                                   \
        const khal_##A##n a, const khal_##B##n b, const khal_##C##n c)                             \
    {                                                                                              \
        khal_##R##n r = {0};                                                                       \
        KHAL_C_UNROLL_##n for (int i = 0; i < n; i++)                                              \
            r[i] = khal_##name##_##A(a[i], b[i], c[i]);                                            \
        return r;                                                                                  \
    }

/* Tests: 1 for scalars, -1 in lanes. */
#define KHAL_C_MAP_MASK1(name, R, A, n)                                                            \
    KHAL_C_INLINE khal_##R##n KHAL_C_NAME(khal_##name##_##A##n)(const khal_##A##n a)               \
    {                                                                                              \
        khal_##R##n r = {0};                                                                       \
        KHAL_C_UNROLL_##n for (int i = 0; i < n; i++)                                              \
            r[i] = (khal_##R) - khal_##name##_##A(a[i]);                                           \
        return r;                                                                                  \
    }
#define KHAL_C_MAP_MASK2(name, R, A, B, n)                                                         \
    KHAL_C_INLINE khal_##R##n KHAL_C_NAME(khal_##name##_##A##n)(const khal_##A##n a,               \
                                                                    const khal_##B##n b)           \
    {                                                                                              \
        khal_##R##n r = {0};                                                                       \
        KHAL_C_UNROLL_##n for (int i = 0; i < n; i++)                                              \
            r[i] = (khal_##R) - khal_##name##_##A(a[i], b[i]);                                     \
        return r;                                                                                  \
    }

/* The scalar conversion is one of the level's own (convert.h). */
#define KHAL_C_MAP_CONVERT(how, R, A, n)                                                           \
    KHAL_C_INLINE khal_##R##n KHAL_C_NAME(khal_convert_##how##_##A##n)(const khal_##A##n a)        \
    {                                                                                              \
        khal_##R##n r = {0};                                                                       \
        KHAL_C_UNROLL_##n for (int i = 0; i < n; i++)                                              \
            r[i] = KHAL_C_NAME(khal_convert_##how##_##A)(a[i]);                                    \
        return r;                                                                                  \
    }

/* Lanes of `b` where the mask is set, of `a` elsewhere. */
#define KHAL_C_PICK(V, I, mask, a, b) ((V)(((I)(a) & ~(mask)) | ((I)(b) & (mask))))

#ifdef __NVPTX__ /* which has no vectors, but instructions for lanes */
#define KHAL_C_MAX(T, I, n) KHAL_C_MAP2(max, T, T, T, n)
#define KHAL_C_MIN(T, I, n) KHAL_C_MAP2(min, T, T, T, n)
#define KHAL_C_CLAMP(T, I, n) KHAL_C_MAP3(clamp, T, T, T, T, n)
#else
#define KHAL_C_MAX(T, I, n)                                                                        \
    KHAL_C_INLINE khal_##T##n KHAL_C_NAME(khal_max_##T##n)(const khal_##T##n a,                    \
                                                               const khal_##T##n b)                \
    {                                                                                              \
        const khal_##I##n m = (khal_##I##n)(a < b);                                                \
        return KHAL_C_PICK(khal_##T##n, khal_##I##n, m, a, b);                                     \
    }
#define KHAL_C_MIN(T, I, n)                                                                        \
    KHAL_C_INLINE khal_##T##n KHAL_C_NAME(khal_min_##T##n)(const khal_##T##n a,                    \
                                                               const khal_##T##n b)                \
    {                                                                                              \
        const khal_##I##n m = (khal_##I##n)(b < a);                                                \
        return KHAL_C_PICK(khal_##T##n, khal_##I##n, m, a, b);                                     \
    }
#define KHAL_C_CLAMP(T, I, n)                                                                      \
    KHAL_C_INLINE khal_##T##n KHAL_C_NAME(khal_clamp_##T##n)(                                      \
        const khal_##T##n a, const khal_##T##n low, const khal_##T##n high)                        \
    {                                                                                              \
        const khal_##I##n under = (khal_##I##n)(a < low);                                          \
        const khal_##T##n b = KHAL_C_PICK(khal_##T##n, khal_##I##n, under, a, low);                \
        const khal_##I##n over = (khal_##I##n)(high < b);                                          \
        return KHAL_C_PICK(khal_##T##n, khal_##I##n, over, b, high);                               \
    }
#endif

/* select(a, b, c) and bitselect(a, b, c) */
#define KHAL_SELECT(T, a, b, c)                                                                    \
    __extension__({                                                                                \
        const T khal_a = (a), khal_b = (b);                                                        \
        (c) != 0 ? khal_b : khal_a;                                                                \
    })
#define KHAL_SELECT_LANES(V, I, shift, a, b, c)                                                    \
    __extension__({                                                                                \
        const V khal_a = (a), khal_b = (b);                                                        \
        const I khal_m = (I)(c) >> (shift);                                                        \
        KHAL_C_PICK(V, I, khal_m, khal_a, khal_b);                                                 \
    })
#define KHAL_BITSELECT(T, I, a, b, c)                                                              \
    __extension__({                                                                                \
        const T khal_a = (a), khal_b = (b), khal_c = (c);                                          \
        const I khal_x = KHAL_BITCAST(I, T, khal_a), khal_y = KHAL_BITCAST(I, T, khal_b);          \
        const I khal_m = KHAL_BITCAST(I, T, khal_c);                                               \
        const I khal_z = (I)((khal_x & ~khal_m) | (khal_y & khal_m));                              \
        KHAL_BITCAST(T, I, khal_z);                                                                \
    })

/* R: the result, of n lanes; m: the lanes of V; M: the mask's type */
#define KHAL_SHUFFLE(R, n, m, V, M, v, mask)                                                       \
    __extension__({                                                                                \
        const V khal_v = (v);                                                                      \
        const M khal_m = (mask);                                                                   \
        R khal_r = {0};                                                                            \
        for (int khal_l = 0; khal_l < (n); khal_l++)                                               \
            khal_r[khal_l] = khal_v[khal_m[khal_l] & ((m) - 1)];                                   \
        khal_r;                                                                                    \
    })
#define KHAL_SHUFFLE2(R, n, m, V, M, v, w, mask)                                                   \
    __extension__({                                                                                \
        const V khal_v[2] = {(v), (w)};                                                            \
        const M khal_m = (mask);                                                                   \
        R khal_r = {0};                                                                            \
        for (int khal_l = 0; khal_l < (n); khal_l++)                                               \
            khal_r[khal_l] = khal_v[khal_m[khal_l] / (m) & 1][khal_m[khal_l] & ((m) - 1)];         \
        khal_r;                                                                                    \
    })

#define KHAL_ANY(V, n, v)                                                                          \
    __extension__({                                                                                \
        const V khal_v = (v);                                                                      \
        int khal_r = 0;                                                                            \
        for (int khal_l = 0; khal_l < (n); khal_l++)                                               \
            khal_r |= khal_v[khal_l] < 0;                                                          \
        khal_r;                                                                                    \
    })
#define KHAL_ALL(V, n, v)                                                                          \
    __extension__({                                                                                \
        const V khal_v = (v);                                                                      \
        int khal_r = 1;                                                                            \
        for (int khal_l = 0; khal_l < (n); khal_l++)                                               \
            khal_r &= khal_v[khal_l] < 0;                                                          \
        khal_r;                                                                                    \
    })

/* a / sqrt(square) */
#ifdef __NVPTX__ /* whose divisions are long */
#define KHAL_C_OVER_ROOT(T, n, a, square)                                                          \
    do {                                                                                           \
        const khal_##T khal_by = khal_rsqrt_##T(square);                                           \
        for (int khal_i = 0; khal_i < n; khal_i++)                                                 \
            a[khal_i] *= khal_by;                                                                  \
    } while (0)
#else
#define KHAL_C_OVER_ROOT(T, n, a, square)                                                          \
    do {                                                                                           \
        const khal_##T khal_by = khal_sqrt_##T(square);                                            \
        for (int khal_i = 0; khal_i < n; khal_i++)                                                 \
            a[khal_i] /= khal_by;                                                                  \
    } while (0)
#endif

/* Geometric functions. Lengths are taken without overflow where the plain sum would leave the
 * type's range. */
#define KHAL_C_GEOMETRY(T, n)                                                                      \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_dot_##T##n)(const khal_##T##n a,                       \
                                                            const khal_##T##n b)                   \
    {                                                                                              \
        khal_##T r = a[0] * b[0];                                                                  \
        for (int i = 1; i < n; i++)                                                                \
            r += a[i] * b[i];                                                                      \
        return r;                                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_largest_##T##n)(const khal_##T##n a)                   \
    {                                                                                              \
        khal_##T r = khal_fabs_##T(a[0]);                                                          \
        for (int i = 1; i < n; i++)                                                                \
            r = khal_fmax_##T(r, khal_fabs_##T(a[i]));                                             \
        return r;                                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_fast_length_##T##n)(const khal_##T##n a)               \
    {                                                                                              \
        return khal_sqrt_##T(KHAL_C_NAME(khal_dot_##T##n)(a, a));                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_length_##T##n)(const khal_##T##n a)                    \
    {                                                                                              \
        const khal_##T d = KHAL_C_NAME(khal_dot_##T##n)(a, a);                                     \
        if (__builtin_expect(d > KHAL_SMALL_##T && d < KHAL_LARGE_##T, 1))                         \
            return khal_sqrt_##T(d);                                                               \
        const khal_##T m = KHAL_C_NAME(khal_largest_##T##n)(a);                                    \
        if (!(m > 0) || m > KHAL_MAX_##T)                                                          \
            return m > KHAL_MAX_##T ? m : d != d ? d : m;                                          \
        khal_##T s = 0;                                                                            \
        for (int i = 0; i < n; i++)                                                                \
            s += a[i] / m * (a[i] / m);                                                            \
        return khal_sqrt_##T(s) * m;                                                               \
    }                                                                                              \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_distance_##T##n)(const khal_##T##n a,                  \
                                                                 const khal_##T##n b)              \
    {                                                                                              \
        return KHAL_C_NAME(khal_length_##T##n)(a - b);                                             \
    }                                                                                              \
    KHAL_C_INLINE khal_##T KHAL_C_NAME(khal_fast_distance_##T##n)(const khal_##T##n a,             \
                                                                      const khal_##T##n b)         \
    {                                                                                              \
        return KHAL_C_NAME(khal_fast_length_##T##n)(a - b);                                        \
    }                                                                                              \
    KHAL_C_INLINE khal_##T##n KHAL_C_NAME(khal_normalize_##T##n)(khal_##T##n a)                    \
    {                                                                                              \
        const khal_##T d = KHAL_C_NAME(khal_dot_##T##n)(a, a);                                     \
        if (__builtin_expect(d > KHAL_SMALL_##T && d < KHAL_LARGE_##T, 1)) {                       \
            KHAL_C_OVER_ROOT(T, n, a, d);                                                          \
            return a;                                                                              \
        }                                                                                          \
        const khal_##T m = KHAL_C_NAME(khal_largest_##T##n)(a);                                    \
        if (!(m > 0)) /* zeros stay; NaN stays */                                                  \
            return a;                                                                              \
        for (int i = 0; i < n; i++) /* infinities point the way */                                 \
            a[i] =                                                                                 \
                m > KHAL_MAX_##T                                                                   \
                    ? khal_copysign_##T(khal_fabs_##T(a[i]) > KHAL_MAX_##T ? 1 : 0 * a[i], a[i])   \
                    : a[i] / m;                                                                    \
        KHAL_C_OVER_ROOT(T, n, a, KHAL_C_NAME(khal_dot_##T##n)(a, a));                             \
        return a;                                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_##T##n KHAL_C_NAME(khal_fast_normalize_##T##n)(const khal_##T##n a)         \
    {                                                                                              \
        return KHAL_C_NAME(khal_normalize_##T##n)(a);                                              \
    }

#define KHAL_C_CROSS(T, n)                                                                         \
    KHAL_C_INLINE khal_##T##n KHAL_C_NAME(khal_cross_##T##n)(const khal_##T##n a,                  \
                                                                 const khal_##T##n b)              \
    {                                                                                              \
        return (khal_##T##n){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],                 \
                             a[0] * b[1] - a[1] * b[0], 0};                                        \
    }

#endif
