/* switch with fall-through, && and || and ?: whose operands have effects, the comma. */
int next(__private int* p)
{
    return (*p)++;
}

__kernel void choices(__global int* out, int n)
{
    int a = n, r = 0;
    switch (n & 7) {
    case 0:
    case 1: r = 10;
    case 2: r += 2; break;
    default: r = -1; break;
    case 5: {
        int t = n * 2;
        r = t;
    }
    }
    if (n > 0 && next(&a) > 3 || r)
        r = a ? next(&a) : -next(&a);
    r = (a += 2, a * r);
    out[get_global_id(0)] = r;
}
