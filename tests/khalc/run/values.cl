/* in[i] is i, which khalc does not know. CHECK(what is computed, what it should be). */
#define KERNEL(name) __kernel void name(__global int* out, __global const int* in)
#define BEGIN int count = 0
#define CHECK(got, want) (out[2 * count] = (got), out[2 * count + 1] = (want), count++)
#define END out[255] = count

KERNEL(places_are_evaluated_once)
{
    BEGIN;
    int a[4] = {in[10], in[11], in[12], in[13]};
    int i = in[0];
    a[i++] += 5;
    CHECK(i, 1);
    CHECK(a[0], 15);
    a[++i] *= a[1];
    CHECK(a[2], 132);
    a[i--] <<= 1;
    CHECK(a[2] + i, 265);
    int* p = a;
    *p++ = in[7];
    *p++ -= in[1];
    *++p = *a;
    CHECK(a[0], 7);
    CHECK(a[1], 10);
    CHECK(a[3], 7);
    CHECK((int)(p - a), 3);
    int* const pointers[2] = {a, a + 2};
    *(pointers[in[1]] + 1) += *pointers[in[0]];
    CHECK(a[3], 14);
    a[a[0] - 7] = a[1] = 3;
    CHECK(a[0] + a[1], 6);
    CHECK((a[0] = in[4], a[0]++, a[0] + a[0]), 10);
    END;
}

KERNEL(components_swap)
{
    BEGIN;
    int4 v = (int4)(in[1], in[2], in[3], in[4]);
    v.xy = v.yx;
    CHECK(v.x * 10 + v.y, 21);
    v = v.wzyx;
    CHECK(v.x * 1000 + v.y * 100 + v.z * 10 + v.w, 4312);
    v.wzyx = v;
    CHECK(v.x * 1000 + v.y * 100 + v.z * 10 + v.w, 2134);
    v.zyx.xy = v.xy;
    CHECK(v.y * 10 + v.z, 12);
    v.hi += v.lo;
    CHECK(v.z * 10 + v.w, 45);
    v.s3 = v.s0++;
    CHECK(v.s3 * 10 + v.s0, 23);
    int3 t = (int3)(in[1], in[2], in[3]);
    t.yzx = t;
    CHECK(t.x * 100 + t.y * 10 + t.z, 312);
    t.xz += t.zx;
    CHECK(t.x * 100 + t.y * 10 + t.z, 515);
    int8 e = (int8)(t, t, v.xy);
    e.odd = e.even;
    CHECK(e.s1 * 1000 + e.s3 * 100 + e.s5 * 10 + e.s7, 5513);
    e.hi.lo = e.lo.hi;
    CHECK(e.s4 * 10 + e.s5, 55);
    END;
}

KERNEL(vectors_choose)
{
    BEGIN;
    const float4 a = convert_float4((int4)(in[8], in[2], in[6], in[4])), b = a * 0.5f + 2.0f;
    const int4 more = a > b; /* 8 > 6, 2 > 3, 6 > 5, 4 > 4 */
    float4 r = more ? a + b : a - b;
    CHECK((int)r.x, 14);
    CHECK((int)r.y, -1);
    CHECK((int)r.w, 0);
    r = a < 5.0f ? a * 2 : 7.0f;
    CHECK((int)r.x * 10 + (int)r.y, 74);
    int4 q = more ? -more : more << 3;
    CHECK(q.x * 10 + q.y, 10);
    q = in[1] ? q * q + 1 : q ^ 5;
    CHECK(q.x * 10 + q.y, 21);
    const uint4 u = a == b ? (uint4)(5) : as_uint4(q) >> 1;
    CHECK((int)(u.w * 10 + u.x), 51);
    const char4 c = convert_char4(more) ? (char)3 : convert_char4(more) + (char)2;
    CHECK(c.x * 10 + c.y, 32);
    const int3 t = more.xyz ? q.yzx * 2 : ~q.zyx;
    CHECK(t.x, 2);
    CHECK(t.y, ~1);
    r = more ? (a == b ? a : b + b) : b - a;
    CHECK((int)r.x * 10 + (int)r.y, 121);
    int8 w = (int8)(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]);
    w = w > 3 ? w + in[9] : w * w;
    CHECK(w.s2 * 100 + w.s7, 416);
    END;
}

KERNEL(assignments_convert)
{
    BEGIN;
    char c = (char)in[1];
    c += 300;
    CHECK(c, 45);
    c *= 7;
    CHECK(c, 59);
    c <<= in[2];
    CHECK(c, -20);
    c /= 3;
    CHECK(c, -6);
    uchar u = (uchar)in[15];
    u *= 1.5f;
    CHECK(u, 22);
    u -= in[15] + 8;
    CHECK(u, 255);
    short s = (short)in[3];
    s += 1.75f;
    CHECK(s, 4);
    s -= 100000;
    CHECK(s, 31076);
    int i = in[5];
    i <<= 2L;
    i *= 2.7f;
    CHECK(i, 54);
    i += 5000000000L;
    CHECK(i, 705032758);
    uint w = (uint)in[3];
    w -= 4;
    w /= -3;
    CHECK((int)w, 1);
    ulong l = (ulong)in[1];
    l <<= in[15] * 4;
    l -= 1.0f > 0;
    CHECK((int)(l >> 32), 0x0fffffff);
    bool b = in[2];
    b += 3;
    CHECK(b, 1);
    b *= 0.25f;
    CHECK(b, 1);
    b -= 1;
    CHECK(b, 0);
    END;
}

KERNEL(comparisons_convert)
{
    BEGIN;
    const int minus = -in[1];
    const char small = (char)minus;
    CHECK(minus < (uint)in[1], 0);
    CHECK(small < (uchar)in[1], 1);
    CHECK((long)minus < (uint)in[1], 1);
    CHECK(minus < (ulong)in[1], 0);
    CHECK((uchar)small - 300 < 0, 1);
    CHECK((uint)(uchar)small - 300 < 0, 0);
    CHECK((in[1] ? minus : (uint)in[1]) / 2 == 0x7fffffff, 1);
    CHECK((in[3] & 3) == 3 == 1, 1);
    CHECK(!in[2] + !!in[2] * 2, 2);
    CHECK(in[2] && in[0] || in[3], 1);
    CHECK((bool)(char)(in[1] << 8), 0);
    CHECK((bool)0.25f, 1);
    END;
}

KERNEL(arrays_of_arrays_are_walked_flat)
{
    BEGIN;
    __local int shared[4][4];
    int a[3][4];
    for (int i = 0; i < 12; i++)
        (&a[0][0])[i] = in[i];
    CHECK(a[1][1], 5);
    CHECK(a[2][3], 11);
    for (int i = 0; i < 16; i++)
        *(shared[0] + i) = in[i] * 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    CHECK(shared[3][2], 28);
    int (*row)[4] = a;
    row++;
    CHECK((*row)[1] * 100 + **row * 10 + *(*(row + 1) + 3), 551);
    int* q = *row;
    CHECK(2 [q] + q[-1], 9);
    int (*all)[3][4] = &a;
    CHECK((*all)[2][1] + (int)(row - a), 10);
    END;
}

struct particle { int a; int3 v; char c; short4 h; };
struct __attribute__((packed)) tight { char c; int i; long l; char3 v; };
union bits { int i; float f; char c[4]; uchar4 v; };

KERNEL(members)
{
    BEGIN;
    struct particle t[3] = {{in[1], (int3)(in[2], in[3], in[4]), 5, (short4)(6)}};
    struct particle* p = &t[2];
    *p = t[0];
    p->v.zx = p->v.xy;
    CHECK(p->v.x * 100 + p->v.y * 10 + p->v.z, 332);
    (p--)->h.lo += (short2)(in[1], in[2]);
    CHECK(p[1].h.x * 10 + p[1].h.y, 78);
    p->c = t[0].c += 200;
    CHECK(p->c, -51);
    CHECK((int)(p - t), 1);
    t[1] = t[2];
    --p->v.y;
    CHECK(t[1].v.y * 10 + t[2].v.y, 23);
    struct tight k[2] = {{(char)in[1], in[2], (long)in[3] << 33, (char3)(in[4])}};
    k[1] = k[0];
    k[1].i++;
    k[1].l -= k[1].i;
    CHECK((int)(k[1].l >> 32) * 10 + k[0].i, 52);
    CHECK((int)sizeof(struct tight), 17);
    union bits x;
    x.f = (float)in[1];
    CHECK(x.i, 0x3f800000);
    x.v.xw = x.v.wx;
    CHECK(x.i, 0x0080003f);
    x.c[1]--;
    CHECK(x.v.y, 255);
    END;
}

KERNEL(loops)
{
    BEGIN;
    int n = in[0], r = in[0];
    do {
        if (n++ & 1)
            continue;
        r += n;
    } while (n < 7);
    CHECK(n * 100 + r, 716);
    n = in[10];
    while (n--) {
        if (n == 3)
            continue;
        if (n == 1)
            break;
        r -= n;
    }
    CHECK(n * 100 + r, 75);
    for (int i = 0, j = in[10]; i < j; i++, j--) {
        if (i == 2)
            continue;
        r += i * j;
    }
    CHECK(r, 29);
    for (n = 0; n++ < 5 ? (r += 2) : 0;)
        r ^= n;
    CHECK(n * 100 + r, 642);
    while (({ int t = r; r -= 3; t; }) > 0)
        ;
    CHECK(r, -3);
    int i = in[0];
    for (; i < 4; ++i) {
        int i = 3;
        r += i--;
    }
    CHECK(i * 10 + r, 49);
    END;
}

KERNEL(switches)
{
    BEGIN;
    for (int i = -2; i < 3; i++) {
        const char c = (char)(in[0] + i);
        int r = 0;
        switch (c) {
        case -1: r = 1;
        case 0: r += 10; break;
        default: r = 100;
        case 2: r++;
        }
        CHECK(r, i == -1 ? 11 : i == 0 ? 10 : i == 2 ? 1 : 101);
    }
    int r = 0;
    switch ((long)in[1] << 32 | 1) {
    case 1: r = 1; break;
    case 0x100000001L: r = 2; break;
    }
    CHECK(r, 2);
    switch (in[2]) {
        int q;
    case 2: q = 3;
    case 3: q += 4; r = q; break;
    default: r = 0;
    }
    CHECK(r, 7);
    END;
}

__constant float not_a_number = 0.0f / 0.0f, infinite = -1e40f;
__constant double tiny[2] = {[1] = 0x1p-1074};
typedef struct { int a; float3 v; struct { short x, y[3]; } in[2]; } entry;
__constant entry table[2] = {{.v = (float3)(4.5f, 5, 6), .in[1].y[2] = 77}, {-1, {7, 8, 9}, {{-3}}}};
__constant int sizes[] = {[3] = 5, 1, 2, [0] = 9};
__constant char* __constant words[2] = {"hello", "wor\"ld\n"};
__constant int* __constant fifth = &sizes[4];

KERNEL(constants)
{
    BEGIN;
    CHECK(isnan(not_a_number), 1);
    CHECK(as_int(infinite) >> 23, -1);
    CHECK(tiny[in[1]] > 0 && tiny[in[1]] / 2 == 0, 1);
    CHECK((int)(table[in[0]].v.x * 2) + table[in[0]].in[1].y[2], 86);
    CHECK(table[in[1]].a + table[in[1]].in[0].x, -4);
    CHECK(sizes[in[3]] * 100 + sizes[in[5]] * 10 + sizes[in[1]] + (int)sizeof sizes, 544);
    CHECK(words[in[1]][in[3]], '"');
    CHECK(*fifth, 1);
    CHECK("abc"[in[2]] + (int)sizeof "abc\0d", 'c' + 6);
    END;
}

int shadowed(int int32_t, int uint64_t, int uintptr_t) { return int32_t * 100 + uint64_t * 10 + uintptr_t; }

KERNEL(names)
{
    BEGIN;
    int int32_t = in[1], uint64_t = in[2], exp = in[3], y0 = in[4], errno = in[5], stdin = in[6], I = in[7];
    int class = in[8], memcpy = in[9], khal_launch = in[10], khal_i = in[11], khal_t1 = in[12], unix = in[13];
    CHECK(int32_t + uint64_t * exp + y0 * errno + stdin + I, 40);
    CHECK(class + memcpy + khal_launch + khal_i + khal_t1 + unix, 63);
    CHECK(shadowed(in[1], in[2], in[3]), 123);
    CHECK((int)get_global_size(0) + int32_t, 2);
    int x = in[1];
    {
        int x = in[2];
        {
            int y = x, x = y + 1;
            CHECK(x, 3);
        }
        CHECK(x, 2);
    }
    CHECK(x, 1);
    END;
}
