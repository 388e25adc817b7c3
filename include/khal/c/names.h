/* The types of generated kernels beside those of khal/kernel.h, which a program sees under the same names: here they are
 * vectors of the compiler's own and may alias everything. */
#ifndef KHAL_C_NAMES_H
#define KHAL_C_NAMES_H

#define khal_char khal_c_char
#define khal_char2 khal_c_char2
#define khal_char3 khal_c_char3
#define khal_char4 khal_c_char4
#define khal_char8 khal_c_char8
#define khal_char16 khal_c_char16
#define khal_uchar khal_c_uchar
#define khal_uchar2 khal_c_uchar2
#define khal_uchar3 khal_c_uchar3
#define khal_uchar4 khal_c_uchar4
#define khal_uchar8 khal_c_uchar8
#define khal_uchar16 khal_c_uchar16
#define khal_short khal_c_short
#define khal_short2 khal_c_short2
#define khal_short3 khal_c_short3
#define khal_short4 khal_c_short4
#define khal_short8 khal_c_short8
#define khal_short16 khal_c_short16
#define khal_ushort khal_c_ushort
#define khal_ushort2 khal_c_ushort2
#define khal_ushort3 khal_c_ushort3
#define khal_ushort4 khal_c_ushort4
#define khal_ushort8 khal_c_ushort8
#define khal_ushort16 khal_c_ushort16
#define khal_int khal_c_int
#define khal_int2 khal_c_int2
#define khal_int3 khal_c_int3
#define khal_int4 khal_c_int4
#define khal_int8 khal_c_int8
#define khal_int16 khal_c_int16
#define khal_uint khal_c_uint
#define khal_uint2 khal_c_uint2
#define khal_uint3 khal_c_uint3
#define khal_uint4 khal_c_uint4
#define khal_uint8 khal_c_uint8
#define khal_uint16 khal_c_uint16
#define khal_long khal_c_long
#define khal_long2 khal_c_long2
#define khal_long3 khal_c_long3
#define khal_long4 khal_c_long4
#define khal_long8 khal_c_long8
#define khal_long16 khal_c_long16
#define khal_ulong khal_c_ulong
#define khal_ulong2 khal_c_ulong2
#define khal_ulong3 khal_c_ulong3
#define khal_ulong4 khal_c_ulong4
#define khal_ulong8 khal_c_ulong8
#define khal_ulong16 khal_c_ulong16
#define khal_half khal_c_half
#define khal_half2 khal_c_half2
#define khal_half3 khal_c_half3
#define khal_half4 khal_c_half4
#define khal_half8 khal_c_half8
#define khal_half16 khal_c_half16
#define khal_float khal_c_float
#define khal_float2 khal_c_float2
#define khal_float3 khal_c_float3
#define khal_float4 khal_c_float4
#define khal_float8 khal_c_float8
#define khal_float16 khal_c_float16
#define khal_double khal_c_double
#define khal_double2 khal_c_double2
#define khal_double3 khal_c_double3
#define khal_double4 khal_c_double4
#define khal_double8 khal_c_double8
#define khal_double16 khal_c_double16

#endif
