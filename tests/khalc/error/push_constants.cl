struct most { uint x[1024]; };
struct more { uint x[1025]; };
kernel void fits(global uint* p, struct most m) { p[0] = m.x[0]; }
kernel void k(global uint* p, struct more m) { p[0] = m.x[0]; }
kernel void two(global uint* p, struct most m, uint n) { p[0] = m.x[n]; }
