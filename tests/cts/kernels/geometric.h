/* Geometric functions of T, on 1, 2, 3 and 4 lanes: section w of `out` has the scalar results of that many lanes (n / lanes of
 * them), or the lanes of vector results. */
#define LANES(FN, W, S)                                                                                                \
    if (i < n / W) out[S * n + i] = FN(vload##W(i, a), vload##W(i, b));
#define GEO2(FN)                                                                                                       \
    kernel void map_##FN(global const T* a, global const T* b, global T* out, uint n)                                  \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        out[i] = FN(a[i], b[i]);                                                                                       \
        LANES(FN, 2, 1) LANES(FN, 3, 2) LANES(FN, 4, 3)                                                                \
    }
#define GEO1(FN)                                                                                                       \
    kernel void map_##FN(global const T* a, global T* out, uint n)                                                     \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        out[i] = FN(a[i]);                                                                                             \
        if (i < n / 2) out[n + i] = FN(vload2(i, a));                                                                  \
        if (i < n / 3) out[2 * n + i] = FN(vload3(i, a));                                                              \
        if (i < n / 4) out[3 * n + i] = FN(vload4(i, a));                                                              \
    }
#define GEOV(FN)                                                                                                       \
    kernel void map_##FN(global const T* a, global T* out, uint n)                                                     \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        out[i] = FN(a[i]);                                                                                             \
        if (i < n / 2) vstore2(FN(vload2(i, a)), i, out + n);                                                          \
        if (i < n / 3) vstore3(FN(vload3(i, a)), i, out + 2 * n);                                                      \
        if (i < n / 4) vstore4(FN(vload4(i, a)), i, out + 3 * n);                                                      \
    }

GEO2(dot) GEO2(distance) GEO1(length) GEOV(normalize)
#ifdef HAS_FAST
GEO2(fast_distance) GEO1(fast_length) GEOV(fast_normalize)
#endif

kernel void map_cross(global const T* a, global const T* b, global T* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i < n / 3) vstore3(cross(vload3(i, a), vload3(i, b)), i, out);
    if (i < n / 4) vstore4(cross(vload4(i, a), vload4(i, b)), i, out + n);
}
