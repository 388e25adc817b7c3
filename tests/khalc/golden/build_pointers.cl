/* Pointers of every kind. */
typedef const global int* ints;
constant char* name(int i) { return i ? "one" : "zero"; }
void set(int* p, int value) { *p = value; }
int sum(int a[][2], int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i][0] + a[i][1]; return s; }
kernel void pointers(ints in, global int* out, local int2* shared)
{
    int m[2][2] = {{1, 2}, {3, 4}}, x = in[0];
    int (*row)[2] = &m[1], *p = m[0], **pp = &p;
    set(&x, 3);
    set(&m[0][1], x);
    **pp = 5;
    *++p = (*row)[1];
    (*pp)[-1] += 2;
    out[0] = sum(m, 2) + (p - m[0]) + (p == *pp) + !p;
    out[1] = name(x)[1] + "literal"[x];
    global char* bytes = (global char*)out + 8;
    *bytes++ = 1;
    out[3] = *(global int*)((ulong)out + 4);
    shared[1].x = x;
    local int* lane = (local int*)shared;
    lane[1] = 2;
    ints next = in + x;
    out[4] = next > in ? *next : next[-1];
}
