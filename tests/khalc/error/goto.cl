kernel void k(global int* p)
{
    if (p[0])
        goto out;
    p[0] = 1;
out:
    p[1] = 2;
}
