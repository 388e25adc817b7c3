/* Functions that touch memory, and those with an out-parameter. */
kernel void memory(global float* f, global half* h, global int* i, local float* l, global float4* v)
{
    local int count;
    const size_t id = get_global_id(0);
    float4 a = vload4(id, f);
    vstore3(a.xyz * 2, 1, f);
    f[0] = vload_half(id, h);
    vstore_half4_rtz(a, 0, h);
    vstorea_half3(a.xyz, id, h);
    int old = atomic_add(i, 2);
    atomic_inc(&count);
    i[1] = atomic_cmpxchg(&i[old], 1, 2) + as_int(atomic_xchg(f, 1.0f));
    event_t e = async_work_group_copy(l, f, 16, 0);
    e = async_work_group_strided_copy(f, l, 16, 3, e);
    wait_group_events(1, &e);
    barrier(CLK_LOCAL_MEM_FENCE);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    int exponent;
    float whole, c;
    f[1] = fract(a.x, &whole) + frexp(a.y, &exponent) + sincos(a.z, &c) + modf(a.w, f + 3);
    v[0] = mix(a, v[1], 0.5f) + clamp(a, 0.0f, 1.0f) + select(a, v[2], a > 1.0f) + ldexp(a, 2) + half_recip(c);
    i[2] = convert_uchar_sat_rte(a.x) + any(a < 0.0f) + as_int(whole);
    v[3].odd = v[4].lo;
    v[5].hi.x += 1;
    printf("%d %5.2f %v4hlf %s %lu\n", old, c, a, "text", id);
}
