#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
int apply(int (*f)(int), int x) { return f(x); }
typedef int function(int);
struct table { function* f; };
kernel void k(global int* p) { p[0] = 1; }
