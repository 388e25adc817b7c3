/* convert_D*(S) for one destination type D. Sections of `out`, n elements each:
 *   0-5    plain: scalar, 2, 3, 4, 8, 16
 *   6-9    scalar _rte, _rtz, _rtp, _rtn
 *   10-13  the same on 4 lanes (where one of the types is floating)
 *   14-27  the same 14 with _sat (integer D) */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define W1(D, MODE, AT) out[(AT) * n + i] = convert_##D##MODE(a[i]);
#define WV(D, W, MODE, AT) if (i < n / W) vstore##W(convert_##D##W##MODE(vload##W(i, a)), i, out + (AT) * n);
#define WIDTHS(D, MODE, AT)                                                                                            \
    W1(D, MODE, AT) WV(D, 2, MODE, AT + 1) WV(D, 3, MODE, AT + 2) WV(D, 4, MODE, AT + 3) WV(D, 8, MODE, AT + 4)        \
    WV(D, 16, MODE, AT + 5)
#define MODES1(D, SAT, AT) W1(D, SAT##_rte, AT) W1(D, SAT##_rtz, AT + 1) W1(D, SAT##_rtp, AT + 2) W1(D, SAT##_rtn, AT + 3)
#define MODES4(D, SAT, AT)                                                                                             \
    WV(D, 4, SAT##_rte, AT) WV(D, 4, SAT##_rtz, AT + 1) WV(D, 4, SAT##_rtp, AT + 2) WV(D, 4, SAT##_rtn, AT + 3)

#define BEGIN(D, S)                                                                                                    \
    kernel void S##_to_##D(global const S* a, global D* out, uint n)                                                   \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);

#define TO_FLOAT(D, S) BEGIN(D, S) WIDTHS(D, , 0) MODES1(D, , 6) MODES4(D, , 10) }
#define INT_FROM_FLOAT(D, S)                                                                                           \
    BEGIN(D, S) WIDTHS(D, , 0) MODES1(D, , 6) MODES4(D, , 10) WIDTHS(D, _sat, 14) MODES1(D, _sat, 20) MODES4(D, _sat, 24) }
#define INT_FROM_INT(D, S) BEGIN(D, S) WIDTHS(D, , 0) MODES1(D, , 6) WIDTHS(D, _sat, 14) MODES1(D, _sat, 20) }

#define ALL_TO_INT(D)                                                                                                  \
    INT_FROM_INT(D, char) INT_FROM_INT(D, uchar) INT_FROM_INT(D, short) INT_FROM_INT(D, ushort) INT_FROM_INT(D, int)   \
    INT_FROM_INT(D, uint) INT_FROM_INT(D, long) INT_FROM_INT(D, ulong)                                                 \
    INT_FROM_FLOAT(D, half) INT_FROM_FLOAT(D, float) INT_FROM_FLOAT(D, double)
#define ALL_TO_FLOAT(D)                                                                                                \
    TO_FLOAT(D, char) TO_FLOAT(D, uchar) TO_FLOAT(D, short) TO_FLOAT(D, ushort) TO_FLOAT(D, int) TO_FLOAT(D, uint)     \
    TO_FLOAT(D, long) TO_FLOAT(D, ulong) TO_FLOAT(D, half) TO_FLOAT(D, float) TO_FLOAT(D, double)
