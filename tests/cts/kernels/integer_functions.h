/* Every integer function of T. U is the unsigned type of its width. */
#define MAP1U(FN, T, U) MAP1U_(FN, T, U)
#define MAP1U_(FN, T, U)                                                                                               \
    kernel void FN##_##T(global const T* a, global U* out, uint n)                                                     \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i]), vstore2(FN(vload2(i, a)), i, out + n), vstore3(FN(vload3(i, a)), i, out + 2 * n),      \
             vstore4(FN(vload4(i, a)), i, out + 3 * n), vstore8(FN(vload8(i, a)), i, out + 4 * n),                     \
             vstore16(FN(vload16(i, a)), i, out + 5 * n))                                                              \
    }
#define MAP2U(FN, T, U) MAP2U_(FN, T, U)
#define MAP2U_(FN, T, U)                                                                                               \
    kernel void FN##_##T(global const T* a, global const T* b, global U* out, uint n)                                  \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i], b[i]), vstore2(FN(vload2(i, a), vload2(i, b)), i, out + n),                             \
             vstore3(FN(vload3(i, a), vload3(i, b)), i, out + 2 * n),                                                  \
             vstore4(FN(vload4(i, a), vload4(i, b)), i, out + 3 * n),                                                  \
             vstore8(FN(vload8(i, a), vload8(i, b)), i, out + 4 * n),                                                  \
             vstore16(FN(vload16(i, a), vload16(i, b)), i, out + 5 * n))                                               \
    }
/* Second and third operand scalar: max(v, s), min(v, s), clamp(v, s, s). */
#define SCALARS(T) SCALARS_(T)
#define SCALARS_(T)                                                                                                    \
    kernel void scalars_##T(global const T* a, global const T* b, global const T* c, global T* out, uint n)            \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        if (i < n / 4) {                                                                                               \
            vstore4(max(vload4(i, a), b[i]), i, out);                                                                  \
            vstore4(min(vload4(i, a), b[i]), i, out + n);                                                              \
            vstore4(clamp(vload4(i, a), min(b[i], c[i]), max(b[i], c[i])), i, out + 2 * n);                            \
        }                                                                                                              \
        if (i < n / 3) vstore3(max(vload3(i, a), b[i]), i, out + 3 * n);                                               \
        if (i < n / 16) vstore16(clamp(vload16(i, a), min(b[i], c[i]), max(b[i], c[i])), i, out + 4 * n);              \
    }

MAP1U(abs, T, U) MAP2U(abs_diff, T, U)
MAP2(add_sat, T) MAP2(sub_sat, T) MAP2(hadd, T) MAP2(rhadd, T) MAP2(mul_hi, T) MAP2(rotate, T) MAP2(max, T) MAP2(min, T)
MAP3(mad_hi, T) MAP3(mad_sat, T)
MAP1(clz, T) MAP1(popcount, T)
SCALARS(T)

#define CLAMP(T) CLAMP_(T)
#define CLAMP_(T)                                                                                                      \
    kernel void clamp_##T(global const T* a, global const T* b, global const T* c, global T* out, uint n)              \
    {                                                                                                                  \
        EACH(out[i] = clamp(a[i], min(b[i], c[i]), max(b[i], c[i])),                                                   \
             vstore2(clamp(vload2(i, a), min(vload2(i, b), vload2(i, c)), max(vload2(i, b), vload2(i, c))), i, out + n),\
             vstore3(clamp(vload3(i, a), min(vload3(i, b), vload3(i, c)), max(vload3(i, b), vload3(i, c))), i, out + 2 * n),\
             vstore4(clamp(vload4(i, a), min(vload4(i, b), vload4(i, c)), max(vload4(i, b), vload4(i, c))), i, out + 3 * n),\
             vstore8(clamp(vload8(i, a), min(vload8(i, b), vload8(i, c)), max(vload8(i, b), vload8(i, c))), i, out + 4 * n),\
             vstore16(clamp(vload16(i, a), min(vload16(i, b), vload16(i, c)), max(vload16(i, b), vload16(i, c))), i, out + 5 * n))\
    }
CLAMP(T)
