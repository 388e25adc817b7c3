#pragma pack(push, 1)
struct packed { char a; int b; };
#pragma pack(pop)
typedef float wide __attribute__((ext_vector_type(5)));
struct huge { char a __attribute__((aligned(4194304))); };
kernel void k(global int* p)
{
    _BitInt(7) small = 1;
    wide w = 0;
    p[0] = small + w.x;
}
