/* Common functions of T, and the forms with scalar operands. */
#include "map.h"

MAP1(degrees, T) MAP1(radians, T) MAP1(sign, T)
MAP2(max, T) MAP2(min, T) MAP2(step, T)
MAP3(clamp, T) MAP3(mix, T) MAP3(smoothstep, T)

kernel void scalar_operands(global const T* a, global const T* b, global const T* c, global T* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i < n / 4) {
        vstore4(max(vload4(i, a), b[i]), i, out);
        vstore4(min(vload4(i, a), b[i]), i, out + n);
        vstore4(clamp(vload4(i, a), b[i], c[i]), i, out + 2 * n);
        vstore4(step(b[i], vload4(i, a)), i, out + 3 * n);
        vstore4(mix(vload4(i, a), vload4(i, b), c[i]), i, out + 4 * n);
        vstore4(smoothstep(b[i], c[i], vload4(i, a)), i, out + 5 * n);
        vstore4(fmax(vload4(i, a), b[i]), i, out + 6 * n);
        vstore4(fmin(vload4(i, a), b[i]), i, out + 7 * n);
    }
}

kernel void ldexp_scalar(global const T* a, global const int* e, global T* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i < n / 3) vstore3(ldexp(vload3(i, a), e[i]), i, out);
    if (i < n / 16) vstore16(ldexp(vload16(i, a), e[i]), i, out + n);
}
