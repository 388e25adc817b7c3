__kernel void add_assign(__global float* a, __global const float* b, uint n)
{
    uint i = get_global_id(0);
    if (i < n) a[i] += b[i];
}
#define TS 16
__kernel __attribute__((reqd_work_group_size(TS, TS, 1))) void matmul(const __global float* A, const __global float* B, __global float* C, int M, int N, int K)
{
    __local float As[TS][TS];
    __local float Bs[TS][TS];
    const int row = get_local_id(1), col = get_local_id(0);
    const int gr = TS * get_group_id(1) + row, gc = TS * get_group_id(0) + col;
    float acc = 0.0f;
    for (int t = 0; t < K / TS; t++) {
        As[row][col] = A[gr * K + TS * t + col];
        Bs[row][col] = B[(TS * t + row) * N + gc];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TS; k++)
            acc += As[row][k] * Bs[k][col];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[gr * N + gc] = acc;
}
static inline float4 force(float4 a, float4 b, float eps)
{
    float3 d = b.xyz - a.xyz;
    float r2 = dot(d, d) + eps;
    float inv = rsqrt(r2);
    return (float4)(d * (b.w * inv * inv * inv), 0.0f);
}
__kernel void nbody(__global float4* pos, __global float4* vel, int n, float dt)
{
    int i = get_global_id(0);
    float4 p = pos[i], f = 0.0f;
    for (int j = 0; j < n; ++j)
        f += force(p, pos[j], 1e-3f);
    vel[i].xyz += f.xyz * dt;
    pos[i] = p + vel[i] * dt;
}
