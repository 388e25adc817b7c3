/* vload, vstore and the forms for half, in every address space. Vectors lie one after the other, three lanes without a gap. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

/* An offset of one element: addresses aligned to the element alone. */
#define COPY(T)                                                                                                        \
    kernel void copy_##T(global const T* a, global T* out, uint n)                                                     \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        if (i < n / 2) vstore2(vload2(i, a + 1), i, out + 1);                                                          \
        if (i < n / 3) vstore3(vload3(i, a + 1), i, out + n + 3);                                                      \
        if (i < n / 4) vstore4(vload4(i, a + 1), i, out + 2 * n + 5);                                                  \
        if (i < n / 8) vstore8(vload8(i, a + 1), i, out + 3 * n + 7);                                                  \
        if (i < n / 16) vstore16(vload16(i, a + 1), i, out + 4 * n + 9);                                               \
    }
COPY(char) COPY(uchar) COPY(short) COPY(ushort) COPY(int) COPY(uint) COPY(long) COPY(ulong) COPY(half) COPY(float) COPY(double)

/* Each work-item: 48 elements through private, local and constant memory. */
kernel __attribute__((reqd_work_group_size(16, 1, 1))) void spaces(constant float* table, global float* out)
{
    local float shared[16 * 48];
    float own[48];
    const uint l = (uint)get_local_id(0), i = (uint)get_global_id(0);
    for (uint k = 0; k < 16; k++) vstore3(vload3(k, table) + (float)i, k, own);
    for (uint k = 0; k < 3; k++) vstore16(vload16(k, own), k, shared + 48 * l);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint other = 15 - l;
    for (uint k = 0; k < 12; k++) vstore4(vload4(k, shared + 48 * other), k, out + 48 * i);
}

kernel void load_half(global const half* a, global float* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    out[i] = vload_half(i, a);
    if (i < n / 2) vstore2(vload_half2(i, a), i, out + n);
    if (i < n / 3) vstore3(vload_half3(i, a), i, out + 2 * n);
    if (i < n / 4) vstore4(vload_half4(i, a), i, out + 3 * n);
    if (i < n / 8) vstore8(vload_half8(i, a), i, out + 4 * n);
    if (i < n / 16) vstore16(vload_half16(i, a), i, out + 5 * n);
}

/* vloada: three lanes take the room of four. */
kernel void load_half_aligned(global const half* a, global float* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i < n / 2) vstore2(vloada_half2(i, a), i, out);
    if (i < n / 4) vstore3(vloada_half3(i, a), i, out + n);
    if (i < n / 4) vstore4(vloada_half4(i, a), i, out + 2 * n);
    if (i < n / 8) vstore8(vloada_half8(i, a), i, out + 3 * n);
    if (i < n / 16) vstore16(vloada_half16(i, a), i, out + 4 * n);
}

#define STORES(MODE)                                                                                                   \
    vstore_half##MODE(a[i], i, out);                                                                                   \
    if (i < n / 2) vstore_half2##MODE(vload2(i, a), i, out + n);                                                       \
    if (i < n / 3) vstore_half3##MODE(vload3(i, a), i, out + 2 * n);                                                   \
    if (i < n / 4) vstore_half4##MODE(vload4(i, a), i, out + 3 * n);                                                   \
    if (i < n / 8) vstore_half8##MODE(vload8(i, a), i, out + 4 * n);                                                   \
    if (i < n / 16) vstore_half16##MODE(vload16(i, a), i, out + 5 * n);
#define STORE_HALF(T, MODE)                                                                                            \
    kernel void store_half_##T##MODE(global const T* a, global half* out, uint n)                                      \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);                                                                         \
        STORES(MODE)                                                                                                   \
    }
STORE_HALF(float, ) STORE_HALF(float, _rte) STORE_HALF(float, _rtz) STORE_HALF(float, _rtp) STORE_HALF(float, _rtn)
STORE_HALF(double, ) STORE_HALF(double, _rte) STORE_HALF(double, _rtz) STORE_HALF(double, _rtp) STORE_HALF(double, _rtn)

kernel void store_half_aligned(global const float* a, global half* out, uint n)
{
    const uint i = (uint)get_global_id(0);
    if (i < n / 2) vstorea_half2(vload2(i, a), i, out);
    if (i < n / 4) vstorea_half3(vload3(i, a), i, out + n);
    if (i < n / 4) vstorea_half4_rtz(vload4(i, a), i, out + 2 * n);
    if (i < n / 8) vstorea_half8_rtp(vload8(i, a), i, out + 3 * n);
    if (i < n / 16) vstorea_half16_rtn(vload16(i, a), i, out + 4 * n);
}
