// options: -cl-std=CL3.0
kernel void k(global int* p)
{
    p[0] = ctz(p[1]);
    p[1] = __builtin_parity(p[2]);
    p[2] = work_group_all(p[0]);
    __builtin_trap();
}
