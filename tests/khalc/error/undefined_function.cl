int elsewhere(int x);
kernel void k(global int* p) { p[0] = elsewhere(p[1]); }
