/* bitselect, select, any and all on every type. */
#include "map.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define BITSELECT(T) BITSELECT_(T)
#define BITSELECT_(T)                                                                                                  \
    kernel void bitselect_##T(global const T* a, global const T* b, global const T* c, global T* out, uint n)          \
    {                                                                                                                  \
        EACH(out[i] = bitselect(a[i], b[i], c[i]),                                                                     \
             vstore2(bitselect(vload2(i, a), vload2(i, b), vload2(i, c)), i, out + n),                                 \
             vstore3(bitselect(vload3(i, a), vload3(i, b), vload3(i, c)), i, out + 2 * n),                             \
             vstore4(bitselect(vload4(i, a), vload4(i, b), vload4(i, c)), i, out + 3 * n),                             \
             vstore8(bitselect(vload8(i, a), vload8(i, b), vload8(i, c)), i, out + 4 * n),                             \
             vstore16(bitselect(vload16(i, a), vload16(i, b), vload16(i, c)), i, out + 5 * n))                         \
    }
#define SELECT(T, C)                                                                                                   \
    kernel void select_##T##_##C(global const T* a, global const T* b, global const C* c, global T* out, uint n)       \
    {                                                                                                                  \
        EACH(out[i] = select(a[i], b[i], c[i]),                                                                        \
             vstore2(select(vload2(i, a), vload2(i, b), vload2(i, c)), i, out + n),                                    \
             vstore3(select(vload3(i, a), vload3(i, b), vload3(i, c)), i, out + 2 * n),                                \
             vstore4(select(vload4(i, a), vload4(i, b), vload4(i, c)), i, out + 3 * n),                                \
             vstore8(select(vload8(i, a), vload8(i, b), vload8(i, c)), i, out + 4 * n),                                \
             vstore16(select(vload16(i, a), vload16(i, b), vload16(i, c)), i, out + 5 * n))                            \
    }
#define BOTH(T, S, U) BITSELECT(T) SELECT(T, S) SELECT(T, U)
BOTH(char, char, uchar) BOTH(uchar, char, uchar) BOTH(short, short, ushort) BOTH(ushort, short, ushort)
BOTH(int, int, uint) BOTH(uint, int, uint) BOTH(long, long, ulong) BOTH(ulong, long, ulong)
BOTH(half, short, ushort) BOTH(float, int, uint) BOTH(double, long, ulong)

/* any and all: results of section w are ints, one a vector. */
#define REDUCE(FN, T)                                                                                                  \
    kernel void FN##_##T(global const T* a, global int* out, uint n)                                                   \
    {                                                                                                                  \
        EACH(out[i] = FN(a[i]), out[n + i] = FN(vload2(i, a)), out[2 * n + i] = FN(vload3(i, a)),                      \
             out[3 * n + i] = FN(vload4(i, a)), out[4 * n + i] = FN(vload8(i, a)), out[5 * n + i] = FN(vload16(i, a))) \
    }
REDUCE(any, char) REDUCE(any, short) REDUCE(any, int) REDUCE(any, long)
REDUCE(all, char) REDUCE(all, short) REDUCE(all, int) REDUCE(all, long)

/* The vector ?: takes the top bit of each lane, as select does. */
kernel void ternary(global const float* a, global const float* b, global const int* c, global float* out, uint n)
{
    EACH(out[i] = c[i] ? b[i] : a[i], vstore2(vload2(i, c) ? vload2(i, b) : vload2(i, a), i, out + n),
         vstore3(vload3(i, c) ? vload3(i, b) : vload3(i, a), i, out + 2 * n),
         vstore4(vload4(i, c) ? vload4(i, b) : vload4(i, a), i, out + 3 * n),
         vstore8(vload8(i, c) ? vload8(i, b) : vload8(i, a), i, out + 4 * n),
         vstore16(vload16(i, c) ? vload16(i, b) : vload16(i, a), i, out + 5 * n))
}
