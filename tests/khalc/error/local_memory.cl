kernel void fits(global int* p)
{
    local int a[16384];
    a[0] = 1;
    p[0] = a[0];
}
kernel void k(global int* p)
{
    local int a[16384], b;
    a[0] = b = 1;
    p[0] = a[0];
}
