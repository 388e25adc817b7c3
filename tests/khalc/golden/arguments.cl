/* Every kind of argument that a generated header can hold. */
struct inner {
    char tag;
    float3 position;
};

typedef union number {
    int i;
    float f;
    uchar bytes[4];
} number;

typedef struct outer {
    struct inner inner[2];
    number value;
    union {
        long l;
        double d;
    };
    ushort h;
    short16 wide;
    int new, class, matrix[3][2];
} outer;

typedef struct __attribute__((packed)) packed {
    char a;
    int b;
    double4 c;
    struct inner d;
} packed;

typedef struct __attribute__((aligned(64))) aligned {
    int a;
} aligned;

typedef enum colour { RED, GREEN } colour;

__kernel void every_scalar(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i, double j, colour k,
                           __global int* out)
{
    out[0] = (int)(a + b + c + d + e + f + g + h + i + j + k);
}

__kernel void every_vector(char2 a, uchar3 b, short4 c, ushort8 d, int16 e, uint2 f, long3 g, ulong4 h, float8 i, double16 j,
                           __global float4* out)
{
    out[0] = (float4)(a.x + b.y + c.z + d.s7, e.sf + f.y, g.z + h.w, i.s0 + j.sf);
}

__kernel void structs(outer a, number b, packed c, aligned d, __global outer* outers, __constant struct inner* inners,
                      __global const packed* packs, __global aligned* aligneds)
{
    outers[0] = a;
    outers[1].value = b;
    outers[2].inner[0] = inners[3];
    outers[3].inner[1] = packs[0].d;
    outers[4].new = outers[5].class + c.b;
    aligneds[0] = d;
}

__kernel void arrays(__global float (*rows)[4], __global struct inner (*pairs)[2], __global half* halves)
{
    rows[1][2] = pairs[0][1].position.x;
    vstore_half(1.0f, 0, halves);
}

__kernel void names(__global int* new, __global int* class, int this, __local float* private_, __local int3* operator)
{
    operator[0] = 0;
    private_[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    new[0] = class[0] + this + operator[0].x + (int)private_[0];
}

__kernel __attribute__((reqd_work_group_size(16, 4, 1))) void nothing(void)
{
}
