/* One kernel applies a function to the scalar and to each vector width: section w of `out` (n elements long, in the order
 * scalar, 2, 3, 4, 8, 16) holds the results of that width. n is a multiple of 48. */
#define EACH(F1, F2, F3, F4, F8, F16)                                                                                  \
    const uint i = (uint)get_global_id(0);                                                                             \
    F1;                                                                                                                \
    if (i < n / 2) { F2; }                                                                                             \
    if (i < n / 3) { F3; }                                                                                             \
    if (i < n / 4) { F4; }                                                                                             \
    if (i < n / 8) { F8; }                                                                                             \
    if (i < n / 16) { F16; }

#define MAP1(FN, T) MAP1_(FN, T)
#define MAP1_(FN, T)                                                                                                   \
    kernel void FN##_##T(global const T* a, global T* out, uint n)                                                     \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i]), vstore2(FN(vload2(i, a)), i, out + n), vstore3(FN(vload3(i, a)), i, out + 2 * n),      \
             vstore4(FN(vload4(i, a)), i, out + 3 * n), vstore8(FN(vload8(i, a)), i, out + 4 * n),                     \
             vstore16(FN(vload16(i, a)), i, out + 5 * n))                                                              \
    }

#define MAP2(FN, T) MAP2_(FN, T)
#define MAP2_(FN, T)                                                                                                   \
    kernel void FN##_##T(global const T* a, global const T* b, global T* out, uint n)                                  \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i], b[i]), vstore2(FN(vload2(i, a), vload2(i, b)), i, out + n),                             \
             vstore3(FN(vload3(i, a), vload3(i, b)), i, out + 2 * n),                                                  \
             vstore4(FN(vload4(i, a), vload4(i, b)), i, out + 3 * n),                                                  \
             vstore8(FN(vload8(i, a), vload8(i, b)), i, out + 4 * n),                                                  \
             vstore16(FN(vload16(i, a), vload16(i, b)), i, out + 5 * n))                                               \
    }

#define MAP3(FN, T) MAP3_(FN, T)
#define MAP3_(FN, T)                                                                                                   \
    kernel void FN##_##T(global const T* a, global const T* b, global const T* c, global T* out, uint n)               \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i], b[i], c[i]), vstore2(FN(vload2(i, a), vload2(i, b), vload2(i, c)), i, out + n),         \
             vstore3(FN(vload3(i, a), vload3(i, b), vload3(i, c)), i, out + 2 * n),                                    \
             vstore4(FN(vload4(i, a), vload4(i, b), vload4(i, c)), i, out + 3 * n),                                    \
             vstore8(FN(vload8(i, a), vload8(i, b), vload8(i, c)), i, out + 4 * n),                                    \
             vstore16(FN(vload16(i, a), vload16(i, b), vload16(i, c)), i, out + 5 * n))                                \
    }

/* Floating argument, int result. */
#define MAP_TO_INT(FN, T) MAP_TO_INT_(FN, T)
#define MAP_TO_INT_(FN, T)                                                                                             \
    kernel void FN##_##T(global const T* a, global int* out, uint n)                                                   \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i]), vstore2(FN(vload2(i, a)), i, out + n), vstore3(FN(vload3(i, a)), i, out + 2 * n),      \
             vstore4(FN(vload4(i, a)), i, out + 3 * n), vstore8(FN(vload8(i, a)), i, out + 4 * n),                     \
             vstore16(FN(vload16(i, a)), i, out + 5 * n))                                                              \
    }

/* Floating and int argument. */
#define MAP_INT(FN, T) MAP_INT_(FN, T)
#define MAP_INT_(FN, T)                                                                                                \
    kernel void FN##_##T(global const T* a, global const int* b, global T* out, uint n)                                \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i], b[i]), vstore2(FN(vload2(i, a), vload2(i, b)), i, out + n),                             \
             vstore3(FN(vload3(i, a), vload3(i, b)), i, out + 2 * n),                                                  \
             vstore4(FN(vload4(i, a), vload4(i, b)), i, out + 3 * n),                                                  \
             vstore8(FN(vload8(i, a), vload8(i, b)), i, out + 4 * n),                                                  \
             vstore16(FN(vload16(i, a), vload16(i, b)), i, out + 5 * n))                                               \
    }

/* A second result of the same type, through a private pointer. */
#define OUT1(FN, T, W, N) { T##W p; vstore##W(FN(vload##W(i, a), &p), i, out + N * n); vstore##W(p, i, extra + N * n); }
#define MAP_OUT(FN, T) MAP_OUT_(FN, T)
#define MAP_OUT_(FN, T)                                                                                                \
    kernel void FN##_##T(global const T* a, global T* out, global T* extra, uint n)                                    \
    {                                                                                                                  \
        EACH({ T p; out[i] = FN(a[i], &p); extra[i] = p; }, OUT1(FN, T, 2, 1), OUT1(FN, T, 3, 2), OUT1(FN, T, 4, 3),   \
             OUT1(FN, T, 8, 4), OUT1(FN, T, 16, 5))                                                                    \
    }

/* A second result of type int. */
#define OUT2(FN, T, W, N) { int##W p; vstore##W(FN(vload##W(i, a), &p), i, out + N * n); vstore##W(p, i, extra + N * n); }
#define MAP_OUT_INT(FN, T) MAP_OUT_INT_(FN, T)
#define MAP_OUT_INT_(FN, T)                                                                                            \
    kernel void FN##_##T(global const T* a, global T* out, global int* extra, uint n)                                  \
    {                                                                                                                  \
        EACH({ int p; out[i] = FN(a[i], &p); extra[i] = p; }, OUT2(FN, T, 2, 1), OUT2(FN, T, 3, 2), OUT2(FN, T, 4, 3), \
             OUT2(FN, T, 8, 4), OUT2(FN, T, 16, 5))                                                                    \
    }
#define OUT3(FN, T, W, N)                                                                                              \
    { int##W p; vstore##W(FN(vload##W(i, a), vload##W(i, b), &p), i, out + N * n); vstore##W(p, i, extra + N * n); }
#define MAP2_OUT_INT(FN, T) MAP2_OUT_INT_(FN, T)
#define MAP2_OUT_INT_(FN, T)                                                                                           \
    kernel void FN##_##T(global const T* a, global const T* b, global T* out, global int* extra, uint n)               \
    {                                                                                                                  \
        EACH({ int p; out[i] = FN(a[i], b[i], &p); extra[i] = p; }, OUT3(FN, T, 2, 1), OUT3(FN, T, 3, 2),              \
             OUT3(FN, T, 4, 3), OUT3(FN, T, 8, 4), OUT3(FN, T, 16, 5))                                                 \
    }

/* Twice the width from a high and an unsigned low part. */
#define UPSAMPLE(H, L, R)                                                                                              \
    kernel void upsample_##H(global const H* a, global const L* b, global R* out, uint n)                              \
    {                                                                                                                  \
        EACH(out[i] = upsample(a[i], b[i]), vstore2(upsample(vload2(i, a), vload2(i, b)), i, out + n),                 \
             vstore3(upsample(vload3(i, a), vload3(i, b)), i, out + 2 * n),                                            \
             vstore4(upsample(vload4(i, a), vload4(i, b)), i, out + 3 * n),                                            \
             vstore8(upsample(vload8(i, a), vload8(i, b)), i, out + 4 * n),                                            \
             vstore16(upsample(vload16(i, a), vload16(i, b)), i, out + 5 * n))                                         \
    }
