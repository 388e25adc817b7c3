// what is read through macros, and what can't be written
#define HALF(v) v.hi
#define PASTE(v, n) v.s##n
kernel void k(global float3* v, global float4* w)
{
    w[0].xy = HALF(v[0]);
    PASTE(w[0], 3) = PASTE(w[1], 0);
    HALF(v[1]) = w[0].xy;
    v[2].odd = w[2].xy;
}
