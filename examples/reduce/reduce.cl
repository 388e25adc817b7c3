/* Sum (x) and largest (y) of many values, in two passes: each work-group folds its share, then one folds the shares. */

/* Leaves the sum and the largest of the work-group's values in scratch[0]; the group's size is a power of two. */
static void fold(__local float2* scratch)
{
    uint item = get_local_id(0);
    for (uint width = get_local_size(0) / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width) {
            float2 other = scratch[item + width];
            scratch[item] = (float2)(scratch[item].x + other.x, fmax(scratch[item].y, other.y));
        }
    }
}

__kernel void reduce_values(__global const float* values, uint count, __global float2* shares, __local float2* scratch)
{
    uint share = (count + (uint)get_num_groups(0) - 1) / (uint)get_num_groups(0);
    uint first = (uint)get_group_id(0) * share, end = min(first + share, count);
    float2 mine = (float2)(0.0f, -INFINITY);
    for (uint i = first + (uint)get_local_id(0); i < end; i += (uint)get_local_size(0))
        mine = (float2)(mine.x + values[i], fmax(mine.y, values[i]));
    scratch[get_local_id(0)] = mine;
    fold(scratch);
    if (get_local_id(0) == 0)
        shares[get_group_id(0)] = scratch[0];
}

__kernel void reduce_shares(__global const float2* shares, uint count, __global float2* result, __local float2* scratch)
{
    float2 mine = (float2)(0.0f, -INFINITY);
    for (uint i = get_local_id(0); i < count; i += get_local_size(0))
        mine = (float2)(mine.x + shares[i].x, fmax(mine.y, shares[i].y));
    scratch[get_local_id(0)] = mine;
    fold(scratch);
    if (get_local_id(0) == 0)
        *result = scratch[0];
}
