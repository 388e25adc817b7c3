kernel void k(global int* p, constant char* format, float4 v, constant char* s)
{
    printf(format, 1);
    printf("%d %d\n", p[0]);
    printf("%d\n", 1.5f);
    printf("%f\n", 1);
    printf("%v4f\n", p[0]);
    printf("%v3hld\n", v);
    printf("%s\n", p[0]);
    printf("%*d\n", 3, p[0]);
    printf("%n\n", p);
    printf("%v5f\n", v);
    printf("%y\n", 1);
    printf("%p\n", 1);
    printf("%");
    printf("%s", p);
}
