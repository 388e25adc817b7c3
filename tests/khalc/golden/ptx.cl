/* What PTX has in other words: local memory, ids, constants, barriers after a return, fences, 16-bit lanes. */
typedef struct {
    int count;
    float4 by[2];
} weights;

__constant float near[4] = {0.5f, 0.25f, 0.125f, 0.0625f};
__constant int far[2] = {1, 2};

int pick(__constant int* from, uint i)
{
    return from[i & 1u] + (int)get_global_id(0);
}

/* Sizes known at compile time; barriers, which nobody has left. */
__kernel __attribute__((reqd_work_group_size(16, 4, 1))) void tile(__global float* restrict out,
                                                                   __global const float* restrict in, uint n)
{
    __local float rows[4][17];
    __local int total;
    uint x = get_local_id(0), y = get_local_id(1);
    if (x == 0 && y == 0)
        total = (int)n;
    rows[y][x] = in[get_global_id(1) * n + get_global_id(0)] * near[y];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(1) * n + get_global_id(0)] = rows[y][15 - x] + (float)total;
}

/* Work-items return before a barrier, one by one and all at once. */
__kernel void returns(__global int* p, __local int* scratch, uint n)
{
    uint i = get_global_id(0), l = get_local_id(0);
    if (get_group_id(0) >= n)
        return;
    if (i >= n)
        return;
    scratch[l] = pick(far, i);
    barrier(CLK_LOCAL_MEM_FENCE);
    p[i] = scratch[0] + (int)get_num_groups(0) + (int)get_global_size(0);
}

/* More local memory than a kernel has without asking. */
__kernel void large(__global int* p)
{
    __local int a[10000];
    __local int b[5000];
    size_t l = get_local_id(0);
    a[l] = p[l];
    b[l] = a[l] + 1;
    mem_fence(CLK_LOCAL_MEM_FENCE);
    p[get_global_id(0)] = b[l];
    mem_fence(CLK_GLOBAL_MEM_FENCE);
}

__kernel void lanes(__global short4* p, weights w, uint d)
{
    short4 v = p[get_global_id(d)];
    p[get_global_id(d)] = v < (short4)(w.by[1].x) ? v : (short4)(get_work_dim());
}
