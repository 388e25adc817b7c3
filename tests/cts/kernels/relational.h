/* Relational functions of a floating type T, whose results are S lanes (the signed integer of T's width); scalars give int. */
#include "map.h"

#define TEST1(FN, T, S) TEST1_(FN, T, S)
#define TEST1_(FN, T, S)                                                                                               \
    kernel void FN##_##T(global const T* a, global S* out, uint n)                                                     \
    {                                                                                                                  \
        EACH(out[i] = (S)FN(a[i]), vstore2(FN(vload2(i, a)), i, out + n), vstore3(FN(vload3(i, a)), i, out + 2 * n),   \
             vstore4(FN(vload4(i, a)), i, out + 3 * n), vstore8(FN(vload8(i, a)), i, out + 4 * n),                     \
             vstore16(FN(vload16(i, a)), i, out + 5 * n))                                                              \
    }
#define TEST2(FN, T, S) TEST2_(FN, T, S)
#define TEST2_(FN, T, S)                                                                                               \
    kernel void FN##_##T(global const T* a, global const T* b, global S* out, uint n)                                  \
    {                                                                                                                  \
        EACH(out[i] = (S)FN(a[i], b[i]), vstore2(FN(vload2(i, a), vload2(i, b)), i, out + n),                          \
             vstore3(FN(vload3(i, a), vload3(i, b)), i, out + 2 * n),                                                  \
             vstore4(FN(vload4(i, a), vload4(i, b)), i, out + 3 * n),                                                  \
             vstore8(FN(vload8(i, a), vload8(i, b)), i, out + 4 * n),                                                  \
             vstore16(FN(vload16(i, a), vload16(i, b)), i, out + 5 * n))                                               \
    }
TEST2(isequal, T, S) TEST2(isnotequal, T, S) TEST2(isgreater, T, S) TEST2(isgreaterequal, T, S) TEST2(isless, T, S)
TEST2(islessequal, T, S) TEST2(islessgreater, T, S) TEST2(isordered, T, S) TEST2(isunordered, T, S)
TEST1(isfinite, T, S) TEST1(isinf, T, S) TEST1(isnan, T, S) TEST1(isnormal, T, S) TEST1(signbit, T, S)
