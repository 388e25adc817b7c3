/* Side effects become statements, in C's order and only where C evaluates them. */
int bump(int* p) { return (*p)++; }
int both(int a, int b) { return a && b; }
kernel void effects(global int* out, int n)
{
    int x = n, y = 0, a[4] = {1, 2};
    out[0] = x++ + ++y;
    out[1] = x && bump(&y) || !n;
    out[2] = n > 3 ? bump(&x) : y--;
    out[3] = (x += 2, y = x, x * y);
    a[bump(&x) & 3] += 5;
    out[4] = out[5] = a[n & 3];
    while (bump(&y) < n && y != 7)
        if (y == 3)
            continue;
    do {
        out[6] += y;
    } while (--y > 0);
    switch (n) {
        int kept;
    case 1:
    case 2: kept = n; out[7] = kept;
    default: out[8] = 1; break;
    case -1: kept = 3; return;
    }
    out[9] = ({ int z = n; z * z; }) + (n ?: bump(&x));
    x ? (void)bump(&x) : (void)0;
    both(x, 1) && (out[10] = 1);
}
