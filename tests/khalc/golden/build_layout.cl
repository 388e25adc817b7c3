#pragma OPENCL EXTENSION cl_khr_fp16 : enable
/* Structs and unions as clang lays them out for SPIR. */
typedef struct { float x; union { int i; float f; }; struct { int q[3]; } n; } plain;
struct __attribute__((packed)) tight { char a; int b; short c; float3 d; };
struct aligned { char a; int b __attribute__((aligned(16))); float3 c; };
struct node { int value; struct pair { short lo, hi; } both; enum kind { LEAF, INNER = 5, OTHER } kind; };
typedef float far __attribute__((aligned(16)));
struct wide { char c; far f; char d; } __attribute__((aligned(64)));
struct mixed { bool a; half3 b; char c[3]; double3 d; long e; char f; };
union any { char a[17]; long b; struct { short s; int i; } c; };
struct shortened { char a; int b __attribute__((packed)); int c; };
constant plain table[2] = {{.x = 1, .f = 2}, {.n.q[1] = OTHER}};
constant float4 scaled = (float4)(1, 2, 3, 4) * 0.5f;
constant int sizes[] = {sizeof(plain), sizeof(struct tight), sizeof(struct aligned), offsetof(struct aligned, c), sizeof(struct wide), sizeof(struct mixed),
                        sizeof(union any), sizeof(struct shortened)};
constant char text[8] = "a\n\x7f";
constant char* constant end = &text[1] + 2;
/* what the IR says below is what clang thinks too */
_Static_assert(sizeof(plain) == 20 && offsetof(plain, n) == 8, "plain");
_Static_assert(sizeof(struct tight) == 23 && offsetof(struct tight, d) == 7, "tight");
_Static_assert(sizeof(struct aligned) == 48 && offsetof(struct aligned, c) == 32, "aligned");
_Static_assert(sizeof(struct node) == 12 && offsetof(struct node, kind) == 8, "node");
_Static_assert(sizeof(struct wide) == 64 && __alignof__(struct wide) == 64 && offsetof(struct wide, f) == 16, "wide");
_Static_assert(sizeof(struct mixed) == 96 && offsetof(struct mixed, d) == 32 && offsetof(struct mixed, e) == 64, "mixed");
_Static_assert(sizeof(union any) == 24 && __alignof__(union any) == 8, "any");
_Static_assert(sizeof(struct shortened) == 12 && offsetof(struct shortened, b) == 1 && offsetof(struct shortened, c) == 8,
               "shortened");
kernel void layout(global plain* p, global struct tight* t, struct aligned a, global struct node* n)
{
    p[1] = table[0];
    p[0].i = t[1].b + a.b + (int)a.c.y;
    p->n.q[2] = n->both.hi + sizes[3];
    t[0].d.xy = scaled.wz;
    n[1].kind = INNER;
    n[0].value = *end;
}
