// options: -cl-std=CL2.0
kernel void k(volatile global atomic_int* p) { atomic_fetch_add(p, 1); }
