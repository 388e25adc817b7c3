/* as_T(x): the same bits as another type of the same size. Each kernel copies bytes through one pair of types. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define AS(FROM, TO)                                                                                                   \
    kernel void FROM##_as_##TO(global const FROM* a, global TO* out)                                                   \
    {                                                                                                                  \
        const size_t i = get_global_id(0);                                                                             \
        out[i] = as_##TO(a[i]);                                                                                        \
    }
/* Every scalar pair of a size, and vectors of other lane counts. */
AS(char, uchar) AS(uchar, char)
AS(short, ushort) AS(ushort, half) AS(half, short) AS(char2, short) AS(short, uchar2) AS(half, char2)
AS(int, float) AS(float, uint) AS(uint, int) AS(char4, float) AS(float, uchar4) AS(half2, int) AS(int, short2) AS(uint, half2)
AS(long, double) AS(double, ulong) AS(ulong, long) AS(int2, double) AS(double, float2) AS(char8, long) AS(ulong, short4) AS(half4, long)
AS(float2, uint2) AS(float4, int4) AS(int4, float4) AS(double2, ulong2) AS(uchar16, float4) AS(short8, double2) AS(float4, char16)
AS(float8, ulong4) AS(int16, float16) AS(uint8, double4) AS(char16, long2) AS(double8, float16) AS(half16, uint8)
AS(float3, int3) AS(int3, uint3) AS(float3, float4) AS(int4, float3)
