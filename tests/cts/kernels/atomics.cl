/* Every atomic function in global and in local memory. */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

/* All work-items on one counter for each operation; the old values go to `old`, a row for each. */
#define OPERATIONS(T, P, S)                                                                                            \
    S(0, P##_add(c + 0, v)) S(1, P##_sub(c + 1, v)) S(2, P##_inc(c + 2)) S(3, P##_dec(c + 3))                          \
    S(4, P##_min(c + 4, v)) S(5, P##_max(c + 5, v)) S(6, P##_and(c + 6, ~((T)1 << (i % (8 * sizeof(T))))))             \
    S(7, P##_or(c + 7, (T)1 << (i % (8 * sizeof(T))))) S(8, P##_xor(c + 8, v)) S(9, P##_xchg(c + 9, v))                \
    { /* adds v by compare and exchange */                                                                             \
        T seen = P##_add(c + 10, 0), was;                                                                                           \
        while ((was = P##_cmpxchg(c + 10, seen, seen + v)) != seen) seen = was;                                        \
        old[10 * n + i] = was;                                                                                         \
    }
#define STORE(K, E) old[K * n + i] = E;

#define ATOMICS(NAME, T, P)                                                                                            \
    kernel void global_##NAME(volatile global T* c, global const T* values, global T* old, uint n)                     \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        const T v = values[i];                                                                                         \
        OPERATIONS(T, P, STORE)                                                                                        \
    }                                                                                                                  \
    kernel void local_##NAME(global const T* start, global T* result, global const T* values, global T* old, uint n)   \
    {                                                                                                                  \
        local T c[11];                                                                                                 \
        const uint i = (uint)get_global_id(0), l = (uint)get_local_id(0);                                              \
        for (uint k = l; k < 11; k += (uint)get_local_size(0)) c[k] = start[k];                                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        const T v = values[i];                                                                                         \
        OPERATIONS(T, P, STORE)                                                                                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (uint k = l; k < 11; k += (uint)get_local_size(0)) result[get_group_id(0) * 11 + k] = c[k];                \
    }
ATOMICS(int, int, atomic)
ATOMICS(uint, uint, atomic)
ATOMICS(long, long, atom)
ATOMICS(ulong, ulong, atom)
ATOMICS(int_old_names, int, atom)

kernel void global_float_xchg(volatile global float* c, global float* old)
{
    const uint i = (uint)get_global_id(0);
    old[i] = atomic_xchg(c, (float)i);
}

kernel void local_float_xchg(global float* last, global float* old)
{
    local float c;
    const uint i = (uint)get_global_id(0), l = (uint)get_local_id(0);
    if (l == 0) c = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    old[i] = atomic_xchg(&c, (float)i);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) last[get_group_id(0)] = c;
}

/* Each work-item takes a place of its own in a list. */
kernel void append(global const uint* values, global uint* list, volatile global uint* count)
{
    const uint v = values[get_global_id(0)];
    if (v % 3 == 0) list[atomic_inc(count)] = v;
}

/* A histogram: per group in local memory, added up in global memory. */
kernel void histogram(global const uchar* values, volatile global uint* bins, uint n)
{
    local uint own[256];
    for (uint k = (uint)get_local_id(0); k < 256; k += (uint)get_local_size(0)) own[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = (uint)get_global_id(0); i < n; i += (uint)get_global_size(0)) atomic_inc(&own[values[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = (uint)get_local_id(0); k < 256; k += (uint)get_local_size(0))
        if (own[k] != 0) atomic_add(&bins[k], own[k]);
}
