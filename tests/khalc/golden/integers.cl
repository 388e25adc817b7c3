/* Widths and signs: promotions, shifts, division, 64 bits, size_t. */
__kernel void integers(__global char* c, __global ushort* s, __global long* l, uint n)
{
    size_t i = get_global_id(0) + (size_t)n * get_global_size(0);
    c[i] = c[i] >> 1;
    c[i + 1] += s[i];
    s[i] = s[i] << (n + 40);
    l[i] = l[i] / c[i] % (long)n + (l[i] > (long)i) - ~c[0];
    l[i + 1] = (long)((uint)c[i] * s[i]) ^ -l[i];
    c[2] = n ? true : c[3] != 0;
    enum { A = 3, B } e = B;
    l[e] = sizeof(long3) + e + 'x' + 0x80000000 + 3000000000;
}
