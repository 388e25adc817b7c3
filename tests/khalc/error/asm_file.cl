__asm__(".globl nothing");
kernel void k(global int* p) { p[0] = 1; }
