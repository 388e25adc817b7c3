// options: -cl-std=CL2.0
global int counter;
int other = 3;
extern constant int table[3];
kernel void k(global int* p)
{
    static global int calls;
    p[0] = counter + other + table[1] + calls;
}
