extern constant float later;
constant int quotient = 7 / 1, big[2000000] = {1};
constant int* constant outside = &quotient + 1;
struct pair { int a, b; };
struct outer { struct pair p; };
kernel void k(global int* p)
{
    struct pair x = {1, 2};
    struct outer o = {.p = x, .p.b = 3};
    p[0] = o.p.b + later;
}
