// options: -w
/* What WGSL refuses when it sees it while it compiles, and C does not. */
__constant int table[4] = {1, 2, 3, 4};
__constant float special[3] = {INFINITY, -INFINITY, 0x1p-149f};
__constant float3 axes[2] = {(float3)(1, 0, 0), (float3)(0, -0.0f, 1)};

__kernel void constants(__global int* p, __global uint* u, __global float* f)
{
    const int zero = 0, most = INT_MAX, least = INT_MIN;
    p[0] = 7 / zero;
    p[1] = least / -1 + least % -1 + 5 % zero;
    p[2] = most + 1;
    p[3] = -least;
    p[4] = 3 << 31;
    p[5] = 1 << 40 >> 33;
    p[6] = (int)3e10f + (int)NAN;
    p[7] = abs(least);
    u[0] = 0u - 1u + (uint)-1.5f + (uint)1e20f;
    u[1] = 1u / (uint)zero;
    u[2] = as_uint(1.5f) + as_uint(-0.0f);
    f[0] = FLT_MAX * 2.0f;
    f[1] = 0.0f / 0.0f;
    f[2] = as_float(0x7fc00001) + as_float(0x00000001);
    f[3] = sqrt(-1.0f) + log(0.0f) + native_sqrt(-2.0f) + native_log(-1.0f);
    f[4] = NAN != NAN ? INFINITY : -INFINITY;
    f[5] = 1e-45f * 0.5f + FLT_MIN;
    f[6] = clamp(f[5], 2.0f, 1.0f);
    f[7] = (float)INT_MIN + 16777217 + 4294967295u;
    f[8] = ldexp(1.0f, 300) + half_recip(0.0f);
}

__kernel void places(__global int* p, __global float* f, int i, __local int* of_any_size)
{
    of_any_size[0] = i;
    of_any_size[3] = p[7];
    int small[4] = {1, 2, 3, 4};
    int4 v = (int4)(1, 2, 3, 4);
    p[0] = table[i] + table[3];
    f[0] = special[i] + special[0] + axes[i].y + axes[1].z;
    if (i > 100) {
        p[1] = small[7] + small[i] + table[9];
        small[5] = i;
    }
    ((int*)&v)[i] = 5;
    p[2] = v.z + small[i] + ((int*)&v)[3];
    v.xy = v.yx;
    v.s3210 = v;
    p[3] = v.x * 1000 + v.y * 100 + v.w;
}

int no_way_back(int i)
{
    for (;;)
        if (i++ > 3)
            return i;
}

int both_ways(int i)
{
    if (i)
        return 1;
    else
        return 2;
}

int by_choice(int i)
{
    switch (i) {
    case 0: return 5;
    default: return 6;
    }
}

void nothing(int i)
{
    i++;
}

__kernel void flow(__global int* p, int n)
{
    int i = get_global_id(0);
    nothing(i);
    no_way_back(n);
    p[0] = both_ways(n) + by_choice(n) + no_way_back(i);
    while (n > 3) {
        if (p[1])
            continue;
        break;
    }
    do {
        p[2]++;
    } while (0);
    for (int k = 0, m = n; k < m; k++, m--) {
        switch (p[k]) {
        case 1:
            if (m > 3)
                continue;
            break;
        case -1: return;
        }
        p[k] = n && p[k] ? p[k] || m : -(-k);
    }
    if (n == 12345)
        for (;;)
            ;
}

__kernel void depth(__global int* p, int a)
{
    int x = a;
#define TWICE(e) e e
#define ADD x = x * (a + (x - (a ^ (x | (a & x)))));
    TWICE(TWICE(TWICE(TWICE(ADD))))
#define DEEP(e) ((e) * a + (p[(e) & 1]))
    x = DEEP(DEEP(DEEP(DEEP(x))));
#define MANY(n) else if (x == n) x = n * 7;
#define TEN(n) MANY(n##0) MANY(n##1) MANY(n##2) MANY(n##3) MANY(n##4) MANY(n##5) MANY(n##6) MANY(n##7) MANY(n##8) MANY(n##9)
    if (x < 3)
        x = 4;
    TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7)
    p[3] = x;
}

/* WGSL promises quotients by divisors up to 2^126 alone; those of small numbers may be 0 beyond. */
__kernel void quotients(__global float* a, __global float4* b, float n)
{
    a[0] = a[1] / n;
    a[2] = 1.0f / n + n / 3.0f;
    b[0] = b[1] / n;
    b[2] = 0.5f / b[3];
}
