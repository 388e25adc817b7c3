/* Types, conversions and memory. Each function takes two numbers and gives one, on both sides. Signed sums stay small or go
 * through unsigned, for the host's compiler. */
#include "shared_types.h"

#define TYPE_FUNCTIONS(X)                                                                                              \
    X(struct_by_value) X(struct_returned) X(struct_assigned) X(struct_nested) X(struct_arrays) X(struct_of_structs)     \
    X(struct_pointer) X(struct_in_arrays) X(union_words) X(union_mixed) X(packed_layout) X(aligned_layout) X(array_2d) X(array_3d)  \
    X(array_initialised) X(array_of_pointers) X(pointer_to_pointer) X(pointer_arithmetic) X(pointer_compare)           \
    X(pointer_difference) X(pointer_walk) X(pointer_in_struct) X(pointer_casts) X(pointer_void) X(constant_table) X(constant_structs)     \
    X(constant_2d) X(enums) X(sizes) X(alignment) X(char_promotion) X(short_promotion) X(unsigned_wrap) X(signed_wrap) X(mixed_sign_compare)   \
    X(sign_extension) X(zero_extension) X(truncation) X(division_signs) X(remainder_signs) X(long_arithmetic) X(long_division)  \
    X(long_shifts) X(shift_kinds) X(bool_values) X(literals) X(float_to_int) X(int_to_float) X(double_math) X(bytes_of_int) X(compound_narrow)     \
    X(increment_narrow) X(ternary_types) X(bit_fields_by_hand) X(struct_copy_loop) X(array_copy_by_struct)              \
    X(anonymous_members) X(float_bits) X(char_is_signed) X(offsets) X(flexible_index) X(const_volatile) X(typedefs)

typedef struct { u32 a; i16 b; u8 c; } small;

SHARED u32 eat_struct(small s, u32 add)
{
    s.a += add; /* the caller's own stays as it is */
    s.c = (u8)(s.c + 1);
    return s.a * 3 + (u32)(s.b + 1000) + s.c;
}

SHARED u32 struct_by_value(u32 x, u32 y)
{
    small s = {x, (i16)y, (u8)(x + y)};
    const u32 r = eat_struct(s, y);
    return r + s.a * 7 + s.c;
}

SHARED small make_small(u32 x, u32 y)
{
    small s;
    s.a = x * y;
    s.b = (i16)(-(i32)x);
    s.c = (u8)y;
    return s;
}

SHARED u32 struct_returned(u32 x, u32 y)
{
    const small s = make_small(x, y), t = make_small(y, x);
    return s.a + (u32)(s.b - t.b + 500) + make_small(t.c, s.c).a;
}

SHARED u32 struct_assigned(u32 x, u32 y)
{
    small s = {1, 2, 3}, t = {.c = 9, .a = x};
    if (x > y) s = t;
    else t = s;
    t.b = (i16)(s.b + 4);
    s = (small){t.a + 1, t.b, (u8)y};
    return s.a * 100 + (u32)s.b * 10 + s.c + t.c;
}

typedef struct { small s; struct { u32 x; struct { u8 p, q; } deep; } in; } nested;

SHARED u32 struct_nested(u32 x, u32 y)
{
    nested n = {{x, 5, 6}, {y, {7, 8}}};
    n.in.deep.q = (u8)(n.in.deep.p + x);
    nested m = n;
    m.s.b = -3;
    m.in.x += 2;
    return n.s.a + m.in.x * 10 + n.in.deep.q + (u32)(m.s.b + n.s.b + 10) + m.in.deep.p;
}

typedef struct { u32 v[4]; u8 m[2][3]; } arrays;

SHARED u32 sum_arrays(arrays a)
{
    u32 r = 0;
    for (i32 i = 0; i < 4; i++) r = r * 3 + a.v[i];
    for (i32 i = 0; i < 2; i++)
        for (i32 j = 0; j < 3; j++) r += a.m[i][j] * (u32)(i * 3 + j + 1);
    return r;
}

SHARED u32 struct_arrays(u32 x, u32 y)
{
    arrays a = {{x, y, x ^ y}, {{1, 2, 3}, {4, (u8)x}}}; /* the rest is zero */
    arrays b = a;
    b.v[x % 4] = 77;
    b.m[y % 2][x % 3]++;
    return sum_arrays(a) * 31 + sum_arrays(b);
}

SHARED u32 struct_of_structs(u32 x, u32 y)
{
    nested list[3] = {{{1, 2, 3}, {4, {5, 6}}}, {.in = {.x = x}}, {.s.b = 4}};
    list[x % 3].in.deep.p = (u8)y;
    list[2] = list[y % 3];
    list[0].s = list[1].s;
    u32 r = 0;
    for (i32 i = 0; i < 3; i++) r = r * 7 + list[i].s.a + (u32)list[i].s.b + list[i].s.c + list[i].in.x + list[i].in.deep.p + list[i].in.deep.q;
    return r;
}

SHARED void touch(small* s, u32 x)
{
    s->a += x;
    (*s).b = (i16)(s->b * 2);
    s->c ^= 0xff;
}

SHARED u32 struct_pointer(u32 x, u32 y)
{
    small s = make_small(x, y), t[2] = {{1, 1, 1}, {2, 2, 2}};
    touch(&s, y);
    touch(&t[x % 2], x);
    small* p = t;
    p++;
    touch(p, 3);
    return s.a + (u32)(s.b + 1000) + s.c + t[0].a * 3 + t[1].a * 5 + (u32)(t[0].b + t[1].b) + t[0].c + p->c;
}

SHARED u32 struct_in_arrays(u32 x, u32 y)
{
    small grid[3][2];
    for (u32 i = 0; i < 3; i++)
        for (u32 j = 0; j < 2; j++) grid[i][j] = make_small(i + x, j + y);
    small* row = grid[x % 3];
    row[1].a += 5;
    return grid[0][0].a + grid[1][1].a * 3 + grid[2][0].c + row[0].c + grid[x % 3][1].a;
}

typedef union { u32 word; u16 half_words[2]; u8 bytes[4]; i32 number; } words;

SHARED u32 union_words(u32 x, u32 y)
{
    words w;
    w.word = x * 0x01020304u + y;
    const u32 r = w.bytes[0] + w.bytes[3] * 256u + w.half_words[1];
    w.bytes[1] = 0xee;
    w.half_words[1] = (u16)y;
    return r ^ w.word;
}

typedef struct { u8 kind; union { float f; u32 u; struct { u16 lo, hi; } parts; } as; } variant;

SHARED u32 union_mixed(u32 x, u32 y)
{
    variant v[2] = {{1, {.u = x}}, {2, {.f = 1.5f}}};
    v[0].as.parts.hi = (u16)(y + 1);
    if (y & 1) v[1].as.f *= 2.0f;
    const variant copy = v[1];
    return v[0].as.u + copy.as.u + copy.kind * 3u;
}

typedef struct __attribute__((packed)) { u8 a; u32 b; u16 c; u64 d; } packed;

SHARED u32 packed_layout(u32 x, u32 y)
{
    packed p = {(u8)x, x * 0x11111111u, (u16)y, (u64)y << 33 | x};
    packed list[3] = {p, p, p};
    list[1].b ^= y;
    list[2].d += list[1].b;
    const u8* bytes = (const u8*)list;
    u32 r = (u32)sizeof(packed) * 1000;
    for (u32 i = 0; i < sizeof list; i++) r = r * 33 + bytes[i];
    return r;
}

typedef struct { u8 a; u64 b; u8 c; u16 d; } gaps;
typedef struct { u8 a __attribute__((aligned(16))); u32 b; } aligned16;

SHARED u32 aligned_layout(u32 x, u32 y)
{
    gaps g = {(u8)x, y, 3, 4};
    aligned16 list[2] = {{1, x}, {2, y}};
    return (u32)(sizeof(gaps) * 100 + sizeof(aligned16)) + g.a + (u32)g.b + g.c + g.d + list[1].b * 3 + list[0].b + list[1].a;
}

SHARED u32 array_2d(u32 x, u32 y)
{
    u32 m[4][6];
    for (u32 i = 0; i < 4; i++)
        for (u32 j = 0; j < 6; j++) m[i][j] = i * 10 + j + x;
    u32* row = m[y % 4];
    row[x % 6] = 1000;
    u32 (*rows)[6] = m;
    rows++;
    rows[0][2] += 5;
    return m[1][2] * 3 + m[y % 4][x % 6] + *(*(m + 2) + 3) + (u32)(sizeof m / sizeof m[0]) * 7;
}

SHARED u32 array_3d(u32 x, u32 y)
{
    u8 cube[2][3][4];
    u32 r = 0;
    for (u32 i = 0; i < 24; i++) (&cube[0][0][0])[i] = (u8)(i * x + y);
    for (u32 i = 0; i < 2; i++)
        for (u32 j = 0; j < 3; j++)
            for (u32 k = 0; k < 4; k++) r = r * 5 + cube[i][j][k];
    return r;
}

SHARED u32 array_initialised(u32 x, u32 y)
{
    const u32 a[] = {1, 2, x, [5] = y, 6};
    i16 b[2][2] = {{1}, {(i16)-7, (i16)x}};
    const char s[] = "abc";
    char t[6] = "xy";
    return a[0] + a[2] * 3 + a[3] + a[5] * 5 + a[6] + (u32)(b[0][1] + b[1][0] + b[1][1] + 100) + (u32)sizeof a + (u32)s[2] + (u32)sizeof s + (u32)t[1] + (u32)t[3];
}

SHARED u32 array_of_pointers(u32 x, u32 y)
{
    u32 a = x, b = y, c = 3;
    u32* list[3] = {&a, &b, &c};
    *list[x % 3] += 10;
    *list[(x + 1) % 3] *= 2;
    u32* const t = list[0];
    list[0] = list[2];
    list[2] = t;
    return a + b * 100 + c * 10000 + *list[0] * 3 + *list[2];
}

SHARED void redirect(u32** p, u32* to)
{
    **p += 1;
    *p = to;
    **p += 2;
}

SHARED u32 pointer_to_pointer(u32 x, u32 y)
{
    u32 a = x, b = y, *p = &a, **pp = &p, ***ppp = &pp;
    redirect(pp, &b);
    *p *= 3;
    ***ppp += 4;
    *ppp = &p;
    **pp ^= a;
    return a * 1000 + b;
}

SHARED u32 pointer_arithmetic(u32 x, u32 y)
{
    u32 a[10];
    for (u32 i = 0; i < 10; i++) a[i] = i * i + x;
    u32* p = a + 3;
    const u32 first = *p++, second = *++p;
    p -= 2;
    *(p + y % 5) += 100;
    p[-1] = 7;
    const u32* q = &a[9] - x % 4;
    return first + second * 3 + *p * 5 + a[2] + *q + a[3 + y % 5] * 11 + 3 [a];
}

SHARED u32 pointer_compare(u32 x, u32 y)
{
    u8 a[8] = {0};
    const u8 *p = a + x % 8, *q = a + y % 8, *null = 0;
    return (p < q) + (p <= q) * 2 + (p == q) * 4 + (p != q) * 8 + (p > q) * 16 + (p >= q) * 32 + (null == 0) * 64 + (p != null) * 128 + (!null ? 256u : 0u);
}

SHARED u32 pointer_difference(u32 x, u32 y)
{
    u32 a[16];
    small s[5];
    const u32 *p = &a[x % 16], *q = &a[y % 16];
    const small* t = s + x % 5;
    return (u32)(p - q + 100) + (u32)(t - s) * 1000 + (u32)((const u8*)p - (const u8*)q + 1000) * 7;
}

SHARED u32 pointer_walk(u32 x, u32 y)
{
    u16 a[12];
    u32 r = 0;
    for (u16* p = a; p < a + 12; p++) *p = (u16)((p - a) * 3 + (i32)x);
    for (const u16* p = a + 11; p >= a + y % 4; p -= 2) r = r * 7 + *p;
    const u16 *low = a, *high = a + 12;
    while (low < high) {
        const u16* middle = low + (high - low) / 2;
        if (*middle < y) low = middle + 1;
        else high = middle;
    }
    return r + (u32)(low - a);
}

typedef struct node { u32 value; struct node* next; } node;

SHARED u32 pointer_in_struct(u32 x, u32 y)
{
    node list[4];
    for (u32 i = 0; i < 4; i++) {
        list[i].value = x + i * y;
        list[i].next = i < 3 ? &list[i + 1] : 0;
    }
    node* const second = list[0].next;
    list[0].next = second->next; /* unlink and put at the end */
    list[3].next = second;
    second->next = 0;
    u32 r = 0;
    for (const node* n = list; n; n = n->next) r = r * 10 + n->value;
    return r;
}

SHARED u32 pointer_casts(u32 x, u32 y)
{
    u32 w[2] __attribute__((aligned(8))) = {x * 0x01010101u, y * 0x10305u};
    u8* bytes = (u8*)w;
    bytes[1] ^= 0x5a;
    any_u16* shorts = (any_u16*)(bytes + 4);
    shorts[1] = (u16)(shorts[0] + 1);
    const u64 whole = *(const any_u64*)w;
    any_i32* number = (any_i32*)&w[1];
    *number -= 5;
    return w[0] + w[1] * 3 + (u32)(whole >> 32) + (u32)whole;
}

SHARED u32 sum_bytes(const void* data, u32 size)
{
    const u8* p = data;
    u32 r = 0;
    while (size--) r = r * 3 + *p++;
    return r;
}

SHARED u32 pointer_void(u32 x, u32 y)
{
    u32 a[3] = {x, y, x * y};
    u16 b = (u16)(x - y);
    void* p = a;
    ((u32*)p)[1] += 5;
    return sum_bytes(p, 12) + sum_bytes(&b, 2) * 5;
}

TABLE u32 primes[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
TABLE small smalls[3] = {{1, -2, 3}, {.c = 200}, {7, 8, 9}};
TABLE i16 grid2[3][4] = {{1, 2, 3, 4}, {-5, -6}, {[3] = 99}};
TABLE float scale = 2.5f;
TABLE u32 from_sizes = sizeof(small) * 2 + (1 << 4);

SHARED u32 constant_table(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = x % 12; i < 12; i++) r += primes[i] * (y + 1);
    return r + (u32)(scale * 4) + from_sizes;
}

SHARED u32 constant_structs(u32 x, u32 y)
{
    const small s = smalls[x % 3];
    return s.a + (u32)(s.b + 10) * 10 + s.c + smalls[y % 3].c * 7u;
}

SHARED u32 constant_2d(u32 x, u32 y)
{
    i32 r = 0;
    for (u32 j = 0; j < 4; j++) r = r * 3 + grid2[x % 3][j];
    return (u32)(r + grid2[y % 3][x % 4]);
}

enum color { RED, GREEN = 7, BLUE, NEGATIVE = -4, BIG = 0x7fffffff };

SHARED u32 color_value(enum color c)
{
    switch (c) {
    case RED: return 1;
    case GREEN: return 2;
    case BLUE: return 3;
    case NEGATIVE: return 4;
    default: return 5;
    }
}

SHARED u32 enums(u32 x, u32 y)
{
    const enum color c = x % 5 == 0 ? RED : x % 5 == 1 ? GREEN : x % 5 == 2 ? BLUE : x % 5 == 3 ? NEGATIVE : BIG;
    u32 r = color_value(c) * 100 + (u32)(BLUE - RED) + (c == NEGATIVE ? 50u : 0u);
    const i32 n = (i32)y % 2 ? NEGATIVE : GREEN;
    return r + (u32)(n + 10) + (u32)sizeof(enum color);
}

SHARED u32 sizes(u32 x, u32 y)
{
    u32 a[7];
    small s;
    (void)a;
    return x + y + (u32)(sizeof(i8) + sizeof(i16) * 2 + sizeof(i32) * 3 + sizeof(i64) * 5 + sizeof(float) * 7 + sizeof(small) * 11 + sizeof a * 13 +
                         sizeof a[0] * 17 + sizeof(s.c) * 19 + sizeof(nested) * 23 + sizeof(words) * 29 + sizeof(variant) * 31 + sizeof(arrays) * 37 +
                         sizeof(x + (u8)1) * 41 + sizeof((u8)x) * 43); /* of no pointer: its size is the device's own */
}

SHARED u32 alignment(u32 x, u32 y)
{
    struct { u8 a; u64 b; } s[2];
    u32 n = 0;
    s[0].b = x;
    s[1].b = y;
    if ((size_t)&s[1].b % sizeof(u64) == 0) n += 1;
    if ((const u8*)&s[1] - (const u8*)&s[0] == 16) n += 2;
    return n + (u32)s[0].b + (u32)s[1].b * 3;
}

SHARED u32 char_promotion(u32 x, u32 y)
{
    const i8 a = (i8)(x * 3), b = (i8)(y * 5 - 60);
    const u8 c = (u8)(x * 7), d = (u8)(y * 11);
    i32 r = a * b + c * d; /* in int */
    r += (a + b) / 2 - (c - d);
    r += (i8)(a + b) + (u8)(c + d);
    r += (~c & 0xfff) + (-d) + (c << 3) + (a >> 1) + (d >> 2);
    return (u32)(r + 100000);
}

SHARED u32 short_promotion(u32 x, u32 y)
{
    const i16 a = (i16)(x * 1000), b = (i16)(y * -777);
    const u16 c = (u16)(x * 2000), d = (u16)(y * 3000);
    const i32 r = a / 3 + b / 7 + (a - c) + (i16)(a + b) + (u16)(c * 3u + d) + (c > b) + (a < d);
    return (u32)(r + 1000000) + (u32)c * d;
}

SHARED u32 unsigned_wrap(u32 x, u32 y)
{
    const u32 big = 0xfffffff0u + x, product = big * (y + 12345);
    const u8 c = (u8)(250 + x);
    const u16 s = (u16)(65530 + y);
    return big + product * 3 + c + s + (x - y) / 3 + (0u - x);
}

SHARED u32 signed_wrap(u32 x, u32 y)
{
    /* INT_MAX and neighbours, through unsigned on the host */
    const u32 most = 0x7fffffffu;
    const i32 a = (i32)(most - x);
    return (u32)a + y + ((u32)a + y > most ? 1u : 0u) + (u32)((i32)((u32)a + y + 1) < 0);
}

SHARED u32 mixed_sign_compare(u32 x, u32 y)
{
    const i32 a = (i32)x - 20;
    const u32 b = y;
    const i8 c = (i8)a;
    const u8 d = (u8)y;
    const i64 e = a;
    return (u32)((u32)a < b) + (u32)(a < (i32)b) * 2 + (u32)(c < d) * 4 + (u32)(e < b) * 8 + (u32)(e > (i64)c) * 16 + (u32)((u64)e > b) * 32;
}

SHARED u32 sign_extension(u32 x, u32 y)
{
    const i8 a = (i8)(0x80 + x);
    const i16 b = (i16)(0x8000 + y);
    const i32 c = a, d = b;
    const i64 e = a, f = (i32)(0x80000000u + x);
    return (u32)c + (u32)d * 3 + (u32)(e >> 32) * 5 + (u32)(f >> 32) * 7 + (u32)(u16)a + (u32)(i32)(i8)(u8)(x * 9);
}

SHARED u32 zero_extension(u32 x, u32 y)
{
    const u8 a = (u8)(0x80 + x);
    const u16 b = (u16)(0x8000 + y);
    const u64 c = a, d = 0x80000000u + x;
    return a + b * 3u + (u32)(c >> 4) + (u32)(d >> 31) * 7 + (u32)(i32)a + (u32)(i16)a;
}

SHARED u32 truncation(u32 x, u32 y)
{
    const u64 big = 0x123456789abcdef0ul * (x + 1) + y;
    const u32 w = (u32)big;
    const u16 s = (u16)big;
    const u8 b = (u8)(big >> 8);
    const i8 c = (i8)(w >> 4);
    return w ^ s * 3u ^ b * 5u ^ (u32)(c + 128) ^ (u32)(i16)(w >> 9);
}

SHARED u32 division_signs(u32 x, u32 y)
{
    const i32 a = (i32)x - 30, b = (i32)y % 7 + 1;
    return (u32)(a / b + 100) + (u32)(a / -b + 100) * 3 + (u32)(-a / b + 100) * 5 + (x + 7) / (y + 1) * 7 + (u32)((i8)a / (i8)b + 100) + (u32)((i16)a / -2 + 100);
}

SHARED u32 remainder_signs(u32 x, u32 y)
{
    const i32 a = (i32)x - 30, b = (i32)y % 7 + 1;
    return (u32)(a % b + 100) + (u32)(a % -b + 100) * 3 + (u32)(-a % b + 100) * 5 + (x + 7) % (y + 1) * 7 + (u32)((i16)a % 5 + 10) + (u32)((i8)-a % -3 + 10);
}

SHARED u32 long_arithmetic(u32 x, u32 y)
{
    const u64 a = 0xfedcba9876543210ul + x, b = 0x0f1e2d3c4b5a6978ul * (y + 1);
    const i64 c = (i64)x * -1000000007l, d = (i64)y * 998244353l;
    const u64 r = a * b + (a ^ b) - (a & ~b) + (u64)(c * (i64)(y + 1)) - (u64)(c - d);
    return (u32)(r >> 32) ^ (u32)r;
}

SHARED u32 long_division(u32 x, u32 y)
{
    const u64 a = 0xfedcba9876543210ul - x * 0x12345678ul, b = 0x1ul + y * 0x1234567ul;
    const i64 c = -0x7edcba9876543210l + (i64)x, d = (i64)y * 12345 + 1;
    const u64 r = a / b + a % b + (u64)(c / d) * 3 + (u64)(c % d) * 5 + (u64)(c / -d) + (u64)(c % -d);
    return (u32)(r >> 32) ^ (u32)r;
}

SHARED u32 long_shifts(u32 x, u32 y)
{
    const u64 a = 0x8123456789abcdeful + x;
    const i64 b = (i64)(a ^ y);
    const u64 r = (a << x % 64) + (a >> y % 64) + (u64)(b >> (x + y) % 64) + (1ul << y % 64);
    return (u32)(r >> 32) ^ (u32)r;
}

SHARED u32 shift_kinds(u32 x, u32 y)
{
    const i32 a = -(i32)(x * 1234567);
    u32 u = x * 0x9e3779b9u;
    u8 c = (u8)x;
    c = (u8)(c << 3);
    u <<= y % 32;
    u >>= (u8)3;
    return (u32)(a >> y % 32) + u + c + (1u << x % 32) + (u32)((i8)-100 >> y % 8);
}

SHARED u32 bool_values(u32 x, u32 y)
{
    const bool yes = true, *const p = y & 1 ? &yes : 0;
    const bool a = x, b = y > 5, c = 0.5f, d = (bool)(x & y), e = p;
    bool f = a + b;
    f &= b;
    f ^= d;
    return a + b * 2u + c * 4u + d * 8u + e * 16u + f * 32u + !a * 64u + (a == b) * 128u + (u32)sizeof(bool) * 256 + (a < b) * 1000u + (a & b) * 2000u + (a + b + c) * 4000u;
}

SHARED u32 literals(u32 x, u32 y)
{
    const u64 big = 0xFFFFFFFFFFul + 010 + 0x1F + 'A' + '\n' + '\x41' + '\101' + 1234567890123l;
    const i64 least = -9223372036854775807l - 1;
    return x + y + (u32)(big >> 16) + (u32)(least >> 33) + 4294967295u + (u32)1e3f + (u32)0x1.8p4f + (u32)(-1 < 0u) + (u32)sizeof('a' + 0) + (u32)2147483648;
}

SHARED u32 float_to_int(u32 x, u32 y)
{
    const float f = (float)x * 1.75f - 20.0f, g = (float)y / 3.0f;
    return (u32)((i32)f + 100) + (u32)(i8)f * 3 + (u32)g * 5 + (u32)(i16)(f * 100) + (u32)(i32)(-g * 2.5f) + (u8)g;
}

SHARED u32 int_to_float(u32 x, u32 y)
{
    const float a = (float)(x * 16777217u), b = (float)-(i32)y, c = (i8)(x - 30), d = (u8)y, e = (float)((u64)x << 40 | y);
    words w;
    u32 r = 0;
    w.number = (i32)(b * 8);
    r += w.word;
    w.number = (i32)(c + d);
    r = r * 3 + w.word;
    return r + (u32)(a / 65536.0f) + (u32)(e / 1099511627776.0f);
}

SHARED u32 double_math(u32 x, u32 y)
{
    const double a = (double)x / 7.0, b = (double)y * 1e10, c = a * b;
    const float f = (float)c;
    return (u32)(i64)c + (u32)(f > c) + (u32)(f < c) * 2 + (u32)((i64)(c * 1000.0) % 100003);
}

SHARED u32 bytes_of_int(u32 x, u32 y)
{
    u32 v = 0;
    for (u32 i = 0; i < 4; i++) v |= (u32)(u8)(x * (i + 1) + y) << (8 * i);
    return (v & 0xff00ff00u) >> 8 | (v & 0x00ff00ffu) << 8;
}

SHARED u32 compound_narrow(u32 x, u32 y)
{
    u8 a = (u8)x;
    i8 b = (i8)y;
    u16 c = (u16)(x * 300);
    a += 200;
    a *= 3;
    b -= 100;
    b /= 3;
    c <<= 2;
    c |= 1;
    a ^= c;
    b += c > a;
    c %= 1000;
    a >>= 1;
    c -= b;
    return a + (u32)(b + 200) * 256 + c * 65536u;
}

SHARED u32 increment_narrow(u32 x, u32 y)
{
    u8 a = 255;
    i8 b = 127;
    u16 c = 0;
    u32 r = a++;
    r += (u32)a * 3;
    b = (i8)(b + 1);
    c--;
    ++a;
    return r + a + (u32)(b + 300) + c + x + y;
}

SHARED u32 ternary_types(u32 x, u32 y)
{
    const i8 a = -5;
    const u8 b = 200;
    const i64 r = (x & 1) ? a : b;               /* int */
    const i64 s = (y & 1) ? a : (u32)b;          /* unsigned: -5 turns large */
    const float f = (x & 2) ? 1 : 2.5f;
    return (u32)(r + 10) + (u32)(s >> 31) * 100 + (u32)(f * 2) * 1000;
}

SHARED u32 bit_fields_by_hand(u32 x, u32 y)
{
    u32 v = 0;
    v = (v & ~(0x1fu << 3)) | (x & 0x1f) << 3;
    v = (v & ~(0x7fu << 20)) | (y & 0x7f) << 20;
    v ^= 1u << 31;
    return v + ((v >> 3) & 0x1f) + ((v >> 20) & 0x7f);
}

SHARED u32 struct_copy_loop(u32 x, u32 y)
{
    small a[4], b[4];
    for (u32 i = 0; i < 4; i++) a[i] = make_small(x + i, y);
    for (u32 i = 0; i < 4; i++) b[3 - i] = a[i];
    a[0] = b[0];
    small *p = a, *q = b + 4;
    while (q > b) {
        --q;
        if (p->a > q->a) *p = *q;
        p++;
    }
    return a[0].a + a[1].a * 3 + a[2].a * 5 + a[3].a * 7;
}

typedef struct { u32 v[5]; } boxed;

SHARED boxed doubled(boxed b)
{
    for (u32 i = 0; i < 5; i++) b.v[i] *= 2;
    return b;
}

SHARED u32 array_copy_by_struct(u32 x, u32 y)
{
    const boxed a = {{x, y, 3, 4, x + y}};
    boxed b = doubled(a);
    const boxed c = doubled(b);
    b.v[x % 5] = doubled(c).v[y % 5];
    return a.v[4] + b.v[0] + b.v[1] * 3 + b.v[4] * 5 + c.v[2] * 7;
}

typedef struct { u32 tag; union { u32 whole; struct { u16 low, high; }; }; } tagged;

SHARED u32 anonymous_members(u32 x, u32 y)
{
    tagged v = {.tag = x, .whole = y * 0x10001u};
    v.high = (u16)(v.high + 5);
    v.low ^= 3;
    return v.tag + v.whole;
}

SHARED u32 float_bits(u32 x, u32 y)
{
    union { float f; u32 u; } v;
    v.f = (float)x - (float)y / 2;
    const u32 sign = v.u >> 31, exponent = v.u >> 23 & 0xff;
    v.u &= 0x7fffffff;
    return sign + exponent * 2 + (u32)(v.f * 2) * 1000;
}

SHARED u32 char_is_signed(u32 x, u32 y)
{
    const i8 c = (i8)(128 + x % 128);
    const i8 d = (i8)'\xff';
    return (u32)(c < 0) + (u32)(d == -1) * 2 + (u32)(c + 128) * 4 + y;
}

SHARED u32 offsets(u32 x, u32 y)
{
    return x + y + (u32)(offsetof(gaps, b) + offsetof(gaps, d) * 100 + offsetof(packed, d) * 10000 + offsetof(nested, in) * 3);
}

SHARED u32 flexible_index(u32 x, u32 y)
{
    u32 a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const i8 i = (i8)(x % 8);
    const u64 j = y % 8;
    const i64 k = -(i64)(x % 3);
    a[i] += 10;
    a[j] += 20;
    return a[i] + a[j] * 3 + (a + 5)[k] * 5 + a[(u8)(i + j) % 8] * 7;
}

SHARED u32 const_volatile(u32 x, u32 y)
{
    volatile u32 v = x;
    const volatile u32* p = &v;
    v += y;
    v = v * 2;
    const u32 a = *p;
    v++;
    return a + *p * 3;
}

typedef u32 row4[4];
typedef row4 matrix[3];
typedef const u32* reader;

SHARED u32 read_row(reader r, u32 i) { return r[i % 4]; }

SHARED u32 typedefs(u32 x, u32 y)
{
    matrix m;
    for (u32 i = 0; i < 12; i++) m[i / 4][i % 4] = i * x;
    return read_row(m[y % 3], x) + (u32)sizeof(matrix);
}
