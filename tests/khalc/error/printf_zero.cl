__kernel void f(__global int* p)
{
    printf("%d\0%d", p[0], p[1]);
}
