/* Bodies under their own gravity, by leapfrog: kick (velocities by the forces), drift (positions by the velocities).
 * position.w is the mass. */

#define TILE 64

__kernel __attribute__((reqd_work_group_size(TILE, 1, 1)))
void kick(__global const float4* position, __global float4* velocity, uint count, float dt, float softening)
{
    __local float4 tile[TILE];
    uint body = get_global_id(0);
    float4 here = position[min(body, count - 1)];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (uint first = 0; first < count; first += TILE) {
        /* all work-items fetch, the surplus ones too; beyond the end the masses are 0 */
        uint other = first + get_local_id(0);
        tile[get_local_id(0)] = other < count ? position[other] : (float4)(0.0f);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < TILE; j++) {
            float dx = tile[j].x - here.x, dy = tile[j].y - here.y, dz = tile[j].z - here.z;
            float inverse = 1.0f / sqrt(dx * dx + dy * dy + dz * dz + softening * softening);
            float scale = tile[j].w * inverse * inverse * inverse;
            x += dx * scale;
            y += dy * scale;
            z += dz * scale;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (body < count)
        velocity[body].xyz += (float3)(x, y, z) * dt;
}

__kernel void drift(__global float4* position, __global const float4* velocity, uint count, float dt)
{
    uint body = get_global_id(0);
    if (body < count)
        position[body].xyz += velocity[body].xyz * dt;
}
