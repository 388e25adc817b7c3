kernel void inner(global int* p) { p[0] = 1; }
kernel void k(global int* p) { inner(p); }
