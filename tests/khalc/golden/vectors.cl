/* Swizzles on both sides, conversions, comparisons, literals. */
__kernel void vectors(__global float4* v, __global uchar4* bytes, __global int4* masks)
{
    size_t i = get_global_id(0);
    float4 a = v[i], b = (float4)(a.xy, 1.0f, 2.0f);
    a.zw = b.yx;
    a.s0 += dot(a.xyz, b.xyz);
    float16 wide = (float16)(a, b, a.wzyx, (float4)(0.5f));
    v[i] = wide.odd.lo * a.w;
    bytes[i] = convert_uchar4_sat_rte(a * 255.0f);
    masks[i] = (a < b) & (as_int4(a) == (int4)(1));
    v[i + 1] = select(a, b, masks[i]) + (float4)(fma(a.x, b.y, 1), hypot(a.y, b.x), 3.0f, -0.0f);
}
