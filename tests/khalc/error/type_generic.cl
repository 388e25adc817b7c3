// options: -cl-std=CL2.0
int first(int* p) { return *p; }
kernel void k(global int* p) { p[0] = first(p); }
