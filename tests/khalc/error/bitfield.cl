#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
struct bits { uint a : 3; uint b : 5; };
kernel void k(global uint* p)
{
    struct bits x = {1, 2};
    p[0] = x.a;
}
