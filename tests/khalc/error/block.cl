// options: -cl-std=CL2.0
kernel void k(global int* p)
{
    int (^twice)(int) = ^(int x) { return x * 2; };
    p[0] = twice(3);
}
