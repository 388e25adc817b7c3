/* What WGSL has no word for. */
typedef struct particle {
    float3 position;
    char kind;
    short charge[3];
} particle;

__constant float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, -0.0f};
__constant float limits[2] = {-INFINITY, INFINITY};

/* names that are WGSL's own, or khal's */
__kernel void names(__global int* var, __global const int* loop, __global int* khal_x, int fn, int let)
{
    int i32 = get_global_id(0), max = fn;
    var[i32] = max + let;
    khal_x[i32] = loop[i32] + min(let, fn);
}

/* bytes and shorts are parts of words; structs come as arguments */
__kernel void narrow(__global uchar* bytes, __global const short* shorts, particle p, uchar add)
{
    uint i = get_global_id(0);
    bytes[i] += add;
    bytes[i] = convert_uchar_sat(shorts[i] + p.charge[i % 3] + p.kind + (int)p.position.y);
}

__kernel void wide(__global long* sums, __global const int* values, long step)
{
    size_t i = get_global_id(0);
    sums[i] = sums[i] * step + values[i];
}

__kernel void halves(__global half* h, float scale)
{
    size_t i = get_global_id(0);
    vstore_half(vload_half(i, h) * scale, i, h);
}

/* a barrier after an early return, and under a condition that WGSL can't see to be uniform */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(__global const float* in, __global float* out,
                                                                  __global const uint* rounds, __local float* part, uint n)
{
    uint item = get_local_id(0);
    if (get_global_id(0) >= n)
        return;
    part[item] = in[get_global_id(0)];
    for (uint r = 0; r < rounds[get_group_id(0)]; r++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        part[item] = part[item ^ 1] + weights[r % 5];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (item == 0)
        out[get_group_id(0)] = part[0];
}

__kernel void count(__global uint* bins, __global const float* x, __global int* last, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint bin = x[i] < limits[0] ? 0 : x[i] != x[i] ? 1 : (uint)clamp(x[i], 0.0f, 15.0f);
    uint old = atomic_inc(&bins[bin]);
    if (atomic_cmpxchg(&last[bin], -1, (int)i) != -1)
        atomic_max(&last[bin], (int)(old / n));
}

int digit(int c)
{
    switch (c) {
    case 'a':
    case 'A': c = 10; /* on into the next */
    case 'b': return c + 1;
    case 0: break;
    default: return -1;
    }
    return c << 40 >> c;
}

/* loops of all kinds */
__kernel void flow(__global int* p, __global int4* v, int n)
{
    int i = get_global_id(0), sum = 0;
    do {
        if (p[i] == 3)
            continue;
        sum += digit(p[i]);
    } while (--n > 0);
    while (true) {
        for (int k = 0; k < 4; k++) {
            if (v[i][k] == 0)
                break;
            sum += v[i][k] % n;
        }
        if (sum > 10)
            break;
        sum++;
    }
    v[i].xz = v[i].zx + (int2)(sum, -sum) * (v[i].yw > v[i].wy);
    p[i] = sum ? all(v[i]) : INT_MIN / -1;
}
