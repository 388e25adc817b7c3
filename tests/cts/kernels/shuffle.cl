/* shuffle and shuffle2 from and to every vector width, and swizzles. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define SHUFFLE(T, U, M, N)                                                                                            \
    kernel void shuffle_##T##M##_##N(global const T* a, global const T* b, global const U* mask, global T* out, uint n) \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        vstore##N(shuffle(vload##M(i, a), vload##N(i, mask)), i, out);                                                 \
        vstore##N(shuffle2(vload##M(i, a), vload##M(i, b), vload##N(i, mask)), i, out + n);                            \
    }
#define FROM(T, U, M) SHUFFLE(T, U, M, 2) SHUFFLE(T, U, M, 4) SHUFFLE(T, U, M, 8) SHUFFLE(T, U, M, 16)
#define ALL(T, U) FROM(T, U, 2) FROM(T, U, 4) FROM(T, U, 8) FROM(T, U, 16)
ALL(float, uint) ALL(int, uint) ALL(uchar, uchar) ALL(short, ushort)
FROM(char, uchar, 4) FROM(ushort, ushort, 8) FROM(uint, uint, 4) FROM(long, ulong, 2) FROM(ulong, ulong, 16) FROM(double, ulong, 8)
FROM(half, ushort, 4)
