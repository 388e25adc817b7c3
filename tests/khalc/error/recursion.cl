int a(int n);
int b(int n) { return n ? a(n - 1) : 0; }
int a(int n) { return b(n); }
int self(int n) { return n < 2 ? n : self(n - 1) + self(n - 2); }
kernel void k(global int* p) { p[0] = a(3) + self(4); }
