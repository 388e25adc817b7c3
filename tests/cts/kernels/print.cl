/* printf: every conversion that OpenCL C 1.2 has. */
kernel void formats(void)
{
    printf("plain text, %% and a tab\t|\n");
    printf("%d %i %u %o %x %X|\n", -5, 7, 4000000000u, 8, 255, 0xabcdef);
    printf("%5d|%-5d|%05d|%+d|% d|%.3d\n", 42, 42, 42, 42, 42, 7);
    printf("%hhd %hd %ld %lu %lx|\n", (char)-1, (short)-300, -5000000000l, 18446744073709551615ul, 0xdeadbeefcafel);
    printf("%f %.2f %e %g %G %a|\n", 1.5f, 3.14159f, 12345.678f, 0.0001f, 1e10f, 1.0f);
    printf("%8.3f|%-8.1f|%+.0f|%#.0f\n", 2.5f, 2.25f, 7.0f, 3.0f);
    printf("%c%c %s|\n", 'o', 'k', "a string");
    printf("%v4d|%v2hd|%v3hhu|%v2hld\n", (int4)(1, -2, 3, -4), (short2)(7, -8), (uchar3)(1, 2, 255), (int2)(5, -6));
    printf("%v4hlf|%5.1v2hlf|%v2lx\n", (float4)(1.0f, 2.5f, -3.0f, 0.0f), (float2)(1.25f, 2.0f), (ulong2)(16, 255));
    printf("%.2f %d\n", 2.5, (int)sizeof(float));
}

kernel void each(uint n)
{
    printf("item %u of %u\n", (uint)get_global_id(0), n);
}

kernel void in_branches(global const int* a)
{
    const int v = a[get_global_id(0)];
    if (v < 0) printf("negative %d\n", v);
    else if (v == 0) printf("zero\n");
    for (int i = 0; i < v; i++)
        if (i == 2) printf("two of %d\n", v);
}

kernel void around_barriers(local int* tile)
{
    tile[get_local_id(0)] = (int)get_local_id(0);
    printf("before\n");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) printf("after %d\n", tile[get_local_size(0) - 1]);
}
