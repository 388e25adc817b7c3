/* Work-item queries, grids and arguments. */

/* Everything a work-item can ask, at its own place in the grid: 24 values each. */
kernel void ids(global ulong* out, ulong width, ulong height)
{
    const ulong at = (get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0);
    global ulong* o = out + at * 24;
    for (uint d = 0; d < 3; d++) {
        o[d] = get_global_id(d);
        o[3 + d] = get_local_id(d);
        o[6 + d] = get_group_id(d);
        o[9 + d] = get_global_size(d);
        o[12 + d] = get_local_size(d);
        o[15 + d] = get_num_groups(d);
        o[18 + d] = get_global_offset(d);
    }
    o[21] = get_work_dim();
    o[22] = get_global_id(3) + get_local_id(7) + get_group_id(100) + get_global_offset(3); /* 0 beyond the dimensions */
    o[23] = get_global_size(3) * get_local_size(4) * get_num_groups(5);                   /* 1 */
}

/* Counts the work-items that run, and adds up their ids: any grid, without room for all of them. */
kernel void count(volatile global uint* sum)
{
    atomic_inc(&sum[0]);
    atomic_add(&sum[1], (uint)get_global_id(0));
    atomic_add(&sum[2], (uint)get_global_id(1));
    atomic_add(&sum[3], (uint)get_global_id(2));
    atomic_max(&sum[4], (uint)get_global_id(0));
    atomic_max(&sum[5], (uint)get_global_id(1));
    atomic_max(&sum[6], (uint)get_global_id(2));
    if (get_global_id(0) != 0 || get_global_id(1) != 0 || get_global_id(2) != 0) return;
    sum[7] = (uint)get_global_size(0);
    sum[8] = (uint)get_global_size(1);
    sum[9] = (uint)get_global_size(2);
}

/* For grids whose every work-item is too many to look at: only the last one writes. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void last(global ulong* out)
{
    if (get_global_id(0) + 1 == get_global_size(0) && get_global_id(1) + 1 == get_global_size(1) && get_global_id(2) + 1 == get_global_size(2)) {
        out[0] += 1;
        out[1] = get_global_id(0);
        out[2] = get_global_id(1);
        out[3] = get_global_id(2);
        out[4] = get_group_id(0);
        out[5] = get_group_id(1);
        out[6] = get_num_groups(0);
        out[7] = get_num_groups(1);
    }
}

kernel __attribute__((reqd_work_group_size(8, 4, 2))) void fixed_size(global uint* out)
{
    const size_t at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
    out[at] = (uint)(get_local_size(0) * 100 + get_local_size(1) * 10 + get_local_size(2));
}

/* Values of every kind as arguments. */
typedef struct { int a; float4 v; uchar c[3]; struct { short x, y; } in; } bundle;

kernel void values(char c, uchar uc, short s, ushort us, int i, uint u, long l, ulong ul, float f, double d, float2 f2, int3 i3, uchar4 uc4,
                   short8 s8, float16 f16, bundle b, global double* out)
{
    if (get_global_id(0) != 0) return;
    out[0] = c; out[1] = uc; out[2] = s; out[3] = us; out[4] = i; out[5] = u; out[6] = (double)l; out[7] = (double)ul; out[8] = f; out[9] = d;
    out[10] = f2.x + 10 * f2.y;
    out[11] = i3.x + 10 * i3.y + 100 * i3.z;
    out[12] = uc4.x + 10 * uc4.y + 100 * uc4.z + 1000 * uc4.w;
    out[13] = 0;
    for (int k = 0; k < 8; k++) out[13] = out[13] * 2 + ((short*)&s8)[k];
    out[14] = f16.s0 + f16.s7 * 10 + f16.sf * 100;
    out[15] = b.a + b.v.x + b.v.w + b.c[0] + b.c[2] * 10 + b.in.x + b.in.y;
}

/* Arguments are a work-item's own: they can be written. */
kernel void arguments_as_variables(global uint* out, uint n, global const uint* in)
{
    const uint i = (uint)get_global_id(0);
    n += i;
    in += i;
    out += 2 * i;
    out[0] = n * *in;
    while (n > 3) n -= 2;
    out++;
    *out += n;
}

/* Several __constant arguments and program-scope tables. */
constant float weights[4] = {0.5f, 1.5f, -2.0f, 8.0f};
typedef struct { float4 scale; int shift[4]; } settings;

kernel void constants(constant float* table, constant settings* s, global float* out)
{
    const uint i = (uint)get_global_id(0);
    out[i] = table[i % 16] * weights[i % 4] * s->scale.y + (float)s->shift[i % 4] + s[1].scale.x;
}

/* Several local arguments and variables of different types and alignments. */
kernel void locals(local uchar* bytes, local double* doubles, local float4* vectors, global uint* out)
{
    local ushort own[64];
    local int single;
    const uint l = (uint)get_local_id(0), n = (uint)get_local_size(0);
    bytes[l] = (uchar)(l * 3);
    doubles[l] = l * 0.5;
    vectors[l] = (float4)((float)l, 2.0f * l, 3.0f, 4.0f);
    own[l] = (ushort)(1000 + l);
    if (l == 0) single = -7;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint m = n - 1 - l;
    out[get_global_id(0)] = bytes[m] + (uint)(doubles[m] * 4) * 100 + (uint)(vectors[m].x + vectors[m].y + vectors[m].w) + own[m] + (uint)(single + 7);
}

/* Structs in buffers, written through members and whole. */
typedef struct { float3 position; float mass; uchar tag[4]; double energy; } particle;

kernel void structs(global const particle* in, global particle* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i >= n) return;
    particle p = in[n - 1 - i];
    p.position.y += 1.0f;
    p.tag[i % 4] = (uchar)i;
    p.energy = p.mass * 2.0;
    out[i] = p;
    out[i].position.x = in[i].position.z;
    global particle* q = &out[i];
    q->mass += q->position.x;
}

typedef struct __attribute__((packed)) { uchar kind; uint value; ushort more; } wire;

kernel void packed_structs(global const wire* in, global wire* out)
{
    const size_t i = get_global_id(0);
    out[i] = in[i];
    out[i].value = in[i].value * 3 + in[i].kind;
    out[i].more++;
}

/* The same memory through two types. */
kernel void reinterpret(global const float* in, global float* out)
{
    const size_t i = get_global_id(0);
    const uint bits = ((global const uint*)in)[i];
    ((global uint*)out)[i] = bits ^ 0x80000000u;
}

kernel void bytes_of_words(global const uint* in, global uchar* out)
{
    global const uchar* p = (global const uchar*)in;
    const size_t i = get_global_id(0);
    out[i] = p[i ^ 3];
}

/* Neighbouring bytes and shorts, each by a work-item of its own: no store may lose another's. */
kernel void narrow_stores(global uchar* bytes, global ushort* shorts, global char2* pairs)
{
    const size_t i = get_global_id(0);
    bytes[i] = (uchar)(i * 7);
    shorts[i] = (ushort)(i * 11);
    pairs[i] = (char2)((char)i, (char)-i);
}

/* Pointers into buffers, private pointers to pointers, and a choice between buffers of one address space. */
uint pick(global const uint* a, global const uint* b, uint i, bool first)
{
    global const uint* p = first ? a : b;
    return p[i];
}

kernel void pointers(global const uint* a, global const uint* b, global uint* out)
{
    const uint i = (uint)get_global_id(0);
    global const uint* list[2] = {a, b};
    global const uint** which = &list[i % 2];
    const uint v = (*which)[i];
    *which += 1;
    out[i] = v * 3 + pick(a, b, i, i % 3 == 0) + list[1 - i % 2][i];
}

/* Vectors: construction, swizzles read and written, and indexing. */
kernel void swizzles(global const float4* a, global const int8* b, global float4* out, global int8* out8)
{
    const size_t i = get_global_id(0);
    float4 v = a[i];
    float2 half_of = v.zx;
    v.xw = v.wx;
    v.yz += half_of;
    v.s3 *= 2.0f;
    float3 t = (float3)(v.lo, 1.0f);
    t.zy = t.yz;
    v.even = v.odd;
    v = (float4)(t.xy, v.hi).wzyx + (float4)(v.x) - (float4)(1.0f, half_of, 2.0f);
    out[i] = v;
    int8 w = b[i];
    w.s0246 = w.s7531;
    w.hi = w.lo.yxwz;
    w.s17 = (int2)(5, 6);
    w.odd.lo += w.even.hi;
    int3 x = w.s123;
    x.xyz = x.zxy;
    w.s456 = x;
    out8[i] = (int8)(w.lo, w.hi.wzyx) + (int8)3;
}

typedef struct { float4 v; int3 w; } holder;

float4 scaled(float4 v, float s) { return v * s; }

float3 three(holder h)
{
    h.v.y = -h.v.y;
    return h.v.xyz + convert_float3(h.w);
}

kernel void vectors(global const float4* a, global float4* out)
{
    const size_t i = get_global_id(0);
    float4 list[3] = {a[i], (float4)(1, 2, 3, 4), (float4)(0)};
    list[2].zw = list[0].xy;
    holder h = {list[0], (int3)(1, 2, 3)};
    h.v.w = 9.0f;
    h.w.yz = h.w.zy;
    const float3 r = three(h);
    float sum = 0;
    float* p = (float*)&list[1];
    for (int k = 0; k < 4; k++) sum += p[k];
    out[i] = scaled(list[2] + list[1], 2.0f) + (float4)(r, sum) + h.v;
}

kernel void vectors_of_three(global const float3* a, global float3* out, global const int* packed_in, global int* packed_out)
{
    const size_t i = get_global_id(0);
    out[i] = a[i].zyx * 2.0f + (float3)(1.0f, 2.0f, 3.0f); /* the fourth lane's place keeps what it is */
    vstore3(vload3(i, packed_in) + (int3)(1, 2, 3), i, packed_out);
}

/* half: loads, arithmetic in vectors, and as a member. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef struct { half h; half3 v; } halves;

kernel void half_math(global const half* a, global half* out, global halves* s)
{
    const size_t i = get_global_id(0);
    half4 v = vload4(i, a);
    v = v * (half)0.5f + v.wzyx;
    v.x = (half)((float)v.x + 1.0f);
    vstore4(v, i, out);
    s[i].h = v.y;
    s[i].v = v.zyx;
}

kernel void add_one(global uint* a) { a[get_global_id(0)] += 1; }
kernel void add(global uint* a, uint n) { a[get_global_id(0)] += n; }
kernel void multiply(global uint* a, uint n) { a[get_global_id(0)] *= n; }
kernel void copy(global const uint* from, global uint* to) { to[get_global_id(0)] = from[get_global_id(0)]; }
kernel void add_two(global const uint* a, global const uint* b, global uint* out) { out[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)]; }
kernel void add_assign(global float* a, global const float* b, uint n)
{
    const size_t i = get_global_id(0);
    if (i < n) a[i] += b[i];
}
kernel void fill_bytes(global uchar* a, uint value) { a[get_global_id(0)] = (uchar)(value + get_global_id(0)); }
kernel void set_counts(global uint* counts, uint x, uint y, uint z)
{
    counts[0] = x;
    counts[1] = y;
    counts[2] = z;
}
kernel void nothing(global uint* a) { (void)a; }
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void no_arguments(void) { }
/* Keeps a work-item busy: `rounds` steps of a generator whose end value is written. */
kernel void busy(global uint* out, uint rounds)
{
    uint x = (uint)get_global_id(0) + 1;
    for (uint k = 0; k < rounds; k++) x = x * 1664525u + 1013904223u;
    out[get_global_id(0)] = x;
}
kernel void reverse_in_place(global uint* a, global uint* same, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i < n) same[n + i] = a[i] + 5;
}
kernel void needs_local(local uint* scratch, global uint* out)
{
    scratch[get_local_id(0)] = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = scratch[get_local_size(0) - 1 - get_local_id(0)];
}
