/* Edges of a photograph, after Canny: blur, gradient, thin, connect. All in integers, so that every device gives the same
 * picture. A work-group makes a square of pixels from a tile with a border; what lies outside the picture is its
 * nearest pixel. */

#define GROUP 16
#define SQUARE __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))

enum { NONE = 0, WEAK = 128, STRONG = 255 }; /* an edge that counts beside a strong one only; an edge */

static uint inside(int at, uint size) /* the nearest coordinate in the picture */
{
    return (uint)clamp(at, 0, (int)size - 1);
}

static uint local_index(void)
{
    return get_local_id(1) * GROUP + get_local_id(0);
}

/* Grey, then 1 4 6 4 1 in each direction; 256 times the mean. */
__kernel SQUARE void blur(__global const uchar* rgb, uint width, uint height, __global ushort* blurred)
{
    __local ushort grey[GROUP + 4][GROUP + 4], rows[GROUP + 4][GROUP];
    int left = (int)get_group_id(0) * GROUP - 2, top = (int)get_group_id(1) * GROUP - 2;
    for (uint i = local_index(); i < (GROUP + 4) * (GROUP + 4); i += GROUP * GROUP) {
        uint tx = i % (GROUP + 4), ty = i / (GROUP + 4);
        uchar3 c = vload3((size_t)inside(top + (int)ty, height) * width + inside(left + (int)tx, width), rgb);
        grey[ty][tx] = (ushort)((77u * c.x + 150u * c.y + 29u * c.z) >> 8);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = local_index(); i < (GROUP + 4) * GROUP; i += GROUP * GROUP) {
        uint tx = i % GROUP, ty = i / GROUP;
        __local const ushort* g = &grey[ty][tx];
        rows[ty][tx] = (ushort)(g[0] + 4 * g[1] + 6 * g[2] + 4 * g[3] + g[4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    if (x < width && y < height)
        blurred[(size_t)y * width + x] = (ushort)(rows[ly][lx] + 4 * rows[ly + 1][lx] + 6 * rows[ly + 2][lx]
                                                  + 4 * rows[ly + 3][lx] + rows[ly + 4][lx]);
}

/* Sobel's two derivatives. */
__kernel SQUARE void gradient(__global const ushort* blurred, uint width, uint height, __global int2* gradients)
{
    __local int tile[GROUP + 2][GROUP + 2];
    int left = (int)get_group_id(0) * GROUP - 1, top = (int)get_group_id(1) * GROUP - 1;
    for (uint i = local_index(); i < (GROUP + 2) * (GROUP + 2); i += GROUP * GROUP) {
        uint tx = i % (GROUP + 2), ty = i / (GROUP + 2);
        tile[ty][tx] = blurred[(size_t)inside(top + (int)ty, height) * width + inside(left + (int)tx, width)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    if (x >= width || y >= height)
        return;
    int2 g;
    g.x = tile[ly][lx + 2] + 2 * tile[ly + 1][lx + 2] + tile[ly + 2][lx + 2] - tile[ly][lx] - 2 * tile[ly + 1][lx]
          - tile[ly + 2][lx];
    g.y = tile[ly + 2][lx] + 2 * tile[ly + 2][lx + 1] + tile[ly + 2][lx + 2] - tile[ly][lx] - 2 * tile[ly][lx + 1]
          - tile[ly][lx + 2];
    gradients[(size_t)y * width + x] = g;
}

/* Keeps what is largest across the edge, and tells strong from weak. */
__kernel SQUARE void thin(__global const int2* gradients, uint width, uint height, uint low, uint high,
                          __global uchar* edges)
{
    __local uint tile[GROUP + 2][GROUP + 2];
    int left = (int)get_group_id(0) * GROUP - 1, top = (int)get_group_id(1) * GROUP - 1;
    for (uint i = local_index(); i < (GROUP + 2) * (GROUP + 2); i += GROUP * GROUP) {
        uint tx = i % (GROUP + 2), ty = i / (GROUP + 2);
        uint2 a = abs(gradients[(size_t)inside(top + (int)ty, height) * width + inside(left + (int)tx, width)]);
        tile[ty][tx] = a.x + a.y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    if (x >= width || y >= height)
        return;
    int2 g = gradients[(size_t)y * width + x];
    uint2 a = abs(g);
    int dx = 5 * a.x > 2 * a.y, dy = 5 * a.y > 2 * a.x; /* the nearest of eight directions: tan 22 degrees is about 2/5 */
    if ((g.x < 0) != (g.y < 0))
        dy = -dy;
    uint here = tile[ly + 1][lx + 1];
    bool largest = here > tile[(int)ly + 1 - dy][(int)lx + 1 - dx] && here >= tile[(int)ly + 1 + dy][(int)lx + 1 + dx];
    edges[(size_t)y * width + x] = !largest || here < low ? NONE : here < high ? WEAK : STRONG;
}

/* Makes weak edges strong that touch a strong one, as far as that spreads inside the tile, and counts them. */
__kernel SQUARE void connect(__global const uchar* edges, uint width, uint height, __global uchar* connected,
                             __global uint* count)
{
    __local uchar tile[GROUP + 2][GROUP + 2];
    __local uint changed[2];
    int left = (int)get_group_id(0) * GROUP - 1, top = (int)get_group_id(1) * GROUP - 1;
    for (uint i = local_index(); i < (GROUP + 2) * (GROUP + 2); i += GROUP * GROUP) {
        uint tx = i % (GROUP + 2), ty = i / (GROUP + 2);
        tile[ty][tx] = edges[(size_t)inside(top + (int)ty, height) * width + inside(left + (int)tx, width)];
    }
    uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
    bool mine = x < width && y < height;
    uint round = 0;
    do {
        if (local_index() == 0)
            changed[round & 1] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        bool joins = false;
        if (mine && tile[ly][lx] == WEAK)
            for (uint dy = 0; dy < 3; dy++)
                for (uint dx = 0; dx < 3; dx++)
                    joins |= tile[ly + dy - 1][lx + dx - 1] == STRONG;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (joins) {
            tile[ly][lx] = STRONG;
            atomic_inc(&changed[round & 1]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (local_index() == 0 && changed[round & 1])
            atomic_add(count, changed[round & 1]);
    } while (changed[round++ & 1]);
    if (mine)
        connected[(size_t)y * width + x] = tile[ly][lx];
}

/* White on black: only strong edges stay. */
__kernel void finish(__global uchar* edges, uint size)
{
    uint i = get_global_id(0);
    if (i < size)
        edges[i] = edges[i] == STRONG ? 255 : 0;
}
