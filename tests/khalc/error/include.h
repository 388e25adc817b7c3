static inline int from_header(int x)
{
again:
    if (x < 3)
        goto again;
    return x;
}
