/* Pointers, arrays, structs, unions, __local and __constant memory, barriers. */
typedef struct {
    float4 position;
    union {
        uint bits;
        float value;
    } tag[2];
} particle;

__constant float weights[2][3] = {{0.25f, 0.5f, 0.25f}, {1, 2}};

float sum_of(__local const float* p, int n)
{
    float s = 0;
    while (n-- > 0)
        s += *p++;
    return s;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void memory(__global particle* particles, __local float* tile,
                                                                     __constant int* order, particle first)
{
    __local float sums[2];
    int private_array[4] = {1, 2};
    const size_t l = get_local_id(0);
    __global particle* mine = &particles[get_global_id(0)];
    tile[l] = mine->position.x * weights[1][l % 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0)
        sums[order[0] & 1] = sum_of(tile + 1, 63);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    private_array[l & 3] += (int)(mine - particles);
    *mine = first;
    mine->tag[private_array[1] & 1].bits = as_uint(sums[0]);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
}
