#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
int add(int a, int b) { return a + b; }
kernel void k(global int* p)
{
    p[1] = (&add)(1, 2);
    p[2] = (*add)(1, 2);
    p[3] = (p[0] ? add : add)(1, 2);
    p[0] = add != 0;
}
