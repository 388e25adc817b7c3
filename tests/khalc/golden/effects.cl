/* Atomics, printf, vload and vstore, async copies, builtins with an out-parameter. */
__kernel void effects(__global int* counter, __global float* data, __local float* tile, __global ulong* wide)
{
    int old = atomic_inc(counter);
    atomic_max(counter + 1, old);
    if (atomic_cmpxchg((volatile __global int*)counter + 2, 0, 1) == 0)
        printf("%d: %5.2f %v4hld\n", old, data[0], (int4)(1, 2, 3, 4));
    event_t e = async_work_group_copy(tile, data, 16, 0);
    wait_group_events(1, &e);
    float3 v = vload3(1, data);
    int exponent;
    float mantissa = frexp(v.x, &exponent), whole, fraction = fract(v.y, &whole);
    vstore3(v + (float3)(mantissa, whole, fraction), exponent, data);
    vstore_half4_rtz((float4)(v, tile[0]), 0, (__global half*)(data + 64));
    wide[0] = atom_add(wide, mul_hi(wide[1], wide[2]));
}
