#pragma OPENCL EXTENSION __cl_clang_variadic_functions : enable
int sum(int count, ...) { return count; }
kernel void k(global int* p) { p[0] = sum(2, 3, 4); }
