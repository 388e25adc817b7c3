/* async_work_group_copy and its strided form, both ways, on several types; prefetch, which does nothing that shows. */
#define ASYNC(T)                                                                                                       \
    kernel void async_##T(global const T* in, global T* out, local T* tile, uint count)                                \
    {                                                                                                                  \
        const size_t group = get_group_id(0);                                                                          \
        prefetch(in + group * count, count);                                                                           \
        event_t e = async_work_group_copy(tile, in + group * count, count, 0);                                         \
        wait_group_events(1, &e);                                                                                      \
        for (uint i = (uint)get_local_id(0); i < count; i += (uint)get_local_size(0)) tile[i] = tile[i] + (T)1;        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        e = async_work_group_copy(out + group * count, tile, count, 0);                                                \
        wait_group_events(1, &e);                                                                                      \
    }                                                                                                                  \
    kernel void strided_##T(global const T* in, global T* out, local T* tile, uint count, uint stride)                 \
    {                                                                                                                  \
        const size_t group = get_group_id(0);                                                                          \
        event_t e[2];                                                                                                  \
        e[0] = async_work_group_strided_copy(tile, in + group * count * stride, count, stride, 0);                     \
        e[1] = async_work_group_copy(tile + count, in + group * count * stride, count, 0);                             \
        wait_group_events(2, e);                                                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        event_t f = async_work_group_strided_copy(out + group * count * stride, tile, count, stride, 0);               \
        wait_group_events(1, &f);                                                                                      \
    }
ASYNC(char) ASYNC(short) ASYNC(int) ASYNC(uint) ASYNC(long) ASYNC(float) ASYNC(double) ASYNC(float2) ASYNC(float4) ASYNC(uchar16) ASYNC(int8)
