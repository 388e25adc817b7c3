struct s { int a, b[4]; };
kernel void k(global int* p, global float3* v)
{
    p[0] = __builtin_offsetof(struct s, b);
    p[1] = __builtin_choose_expr(1, p[0], p[1]);
    v[0].hi = (float2)(1, 2);
    p[2] = __builtin_types_compatible_p(int, float);
}
