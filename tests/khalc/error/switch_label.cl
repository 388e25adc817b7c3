kernel void k(global int* p, int n)
{
    switch (n % 4) {
    case 0:
        do {
            *p++ = 1;
    case 3:
            *p++ = 2;
        } while (--n > 0);
    }
    switch (n)
        if (n > 2)
        default:
            p[0] = 3;
}
