/* Barriers: in loops, branches, helper functions and switches; what lives across them; work-items that have returned. Kernels of
 * one result array: out[i] for work-item i. `a` has one value for each work-item. */

#define GROUP 64
#define ITEM const uint l = (uint)get_local_id(0), i = (uint)get_global_id(0), n = (uint)get_local_size(0); (void)n; (void)i; (void)l

/* Neighbours through local memory. */
kernel void exchange(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[n - 1 - l] * 3 + tile[(l + 1) % n];
}

/* The classic tree, with a barrier in a uniform loop. */
kernel void reduce_tree(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = n / 2; half_size > 0; half_size >>= 1) {
        if (l < half_size) tile[l] += tile[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = tile[0] + l;
}

/* Inclusive scan; two barriers a round. */
kernel void scan(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    tile[l] = a[i];
    for (uint step = 1; step < n; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint add = l >= step ? tile[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[l] += add;
    }
    out[i] = tile[l];
}

/* One work-item works between two barriers. */
kernel void one_works(global const uint* a, global uint* out)
{
    local uint tile[GROUP], total;
    ITEM;
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        total = 0;
        for (uint k = 0; k < n; k++) total += tile[k] * (k + 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = total ^ l;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == n - 1) total = out[i] + 5;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] += total;
}

typedef struct { uint a; ushort b[3]; uint4 v; struct { int x, y; } in; } record;

/* Private scalars, arrays, vectors and structs that live across barriers. */
kernel void private_lives(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    uint own[8], scalar = a[i] + 1;
    uint4 v = (uint4)(l, l + 1, a[i], 4);
    record r = {l, {(ushort)l, 2, (ushort)a[i]}, v.wzyx, {-(int)l, 7}};
    for (uint k = 0; k < 8; k++) own[k] = a[i] + k * l;
    for (uint round = 0; round < 8; round++) {
        tile[l] = own[round] + v.x + r.b[round % 3];
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint other = tile[(l + round + 1) % n];
        own[(round + 3) % 8] += other;
        v = v.yzwx + other;
        r.v.y += other;
        r.b[round % 3] += (ushort)other;
        r.in.x -= (int)other;
        scalar = scalar * 5 + other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint sum = scalar;
    for (uint k = 0; k < 8; k++) sum = sum * 31 + own[k];
    out[i] = sum + v.x + v.y * 3 + v.z * 5 + v.w * 7 + r.a + r.b[0] + r.b[1] + r.b[2] + r.v.x + r.v.y + (uint)r.in.x + (uint)r.in.y;
}

/* A pointer to a private variable lives too. */
kernel void private_pointer_lives(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    uint x = a[i], y = l;
    uint* p = (a[i] & 1) ? &x : &y;
    tile[l] = x + y;
    barrier(CLK_LOCAL_MEM_FENCE);
    *p += tile[n - 1 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = x * 1000 + y;
}

/* Work-items that return before a barrier take no part in it. */
kernel void return_before(global const uint* a, global uint* out, local uint* tile, uint count)
{
    ITEM;
    tile[l] = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= count) return;
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[(l + 1) % n] + tile[n - 1 - l] * 2;
}

/* Returns in the middle of things: every round some more. */
kernel void return_in_loop(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    uint sum = 0;
    tile[l] = a[i];
    for (uint round = 0; round < 10; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += tile[(l + round) % n];
        out[i] = sum;
        if ((a[i] + l) % 10 == round) return;
        if (round > 6) {
            if (l % 3 == 0) return;
            sum += 1000;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum + 1000000;
}

/* Break out of a loop with barriers by some, return by others: those that are left reach the barriers together. */
kernel void uneven_returns(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    const uint trips = a[i] % 8; /* differs between work-items; all but those that returned run every round */
    tile[l] = l;
    for (uint round = 0; round < 8; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint v = tile[(l * 3 + round) % n];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (round >= trips) {
            out[i] = tile[l] * 10 + round;
            return;
        }
        tile[l] = v + 1;
    }
    out[i] = 99;
}

/* Uniform branches with barriers in them. */
kernel void uniform_branch(global const uint* a, global uint* out, local uint* tile, uint mode)
{
    ITEM;
    uint r = a[i];
    tile[l] = r;
    if (mode == 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[n - 1 - l];
        if (mode < 5) {
            barrier(CLK_LOCAL_MEM_FENCE);
            tile[l] = r;
            barrier(CLK_LOCAL_MEM_FENCE);
            r = tile[(l + 1) % n];
        }
    } else if (mode == 2) {
        r *= 2;
    } else {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < mode; k++) r += tile[(l + k) % n];
    }
    /* uniform in each group, not in the grid */
    if (get_group_id(0) % 2 == 0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[l] = r;
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[0];
    } else r += 1;
    out[i] = r;
}

/* Loops whose trip count is uniform but not known: from memory, by break and by continue. */
kernel void uniform_loops(global const uint* a, global uint* out, local uint* tile, global const uint* trips)
{
    ITEM;
    uint r = a[i];
    const uint count = trips[get_group_id(0)];
    for (uint round = 0;; round++) {
        if (round == count) break;
        if (round % 3 == 1) continue;
        tile[l] = r;
        barrier(CLK_LOCAL_MEM_FENCE);
        r = r * 3 + tile[(l + 1) % n];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (round > 9) break;
    }
    uint k = 0;
    while (k < count) {
        uint inner = 0;
        do {
            tile[l] = r + inner;
            barrier(CLK_LOCAL_MEM_FENCE);
            r ^= tile[(l + 5) % n];
            barrier(CLK_LOCAL_MEM_FENCE);
        } while (++inner < k);
        k += 2;
    }
    out[i] = r;
}

/* A value that one work-item reads and all get through local memory decides. */
kernel void decided_by_one(global const uint* a, global uint* out)
{
    local uint decision, tile[GROUP];
    ITEM;
    uint r = 0;
    for (uint round = 0; round < 20; round++) {
        if (l == 0) decision = (a[i] * (round + 1)) % 7;
        tile[l] = a[i] + r;
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint d = decision;
        if (d == 0) break;
        if (d < 4) r += tile[(l + d) % n];
        else r ^= tile[n - 1 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = r;
}

kernel void barrier_in_switch(global const uint* a, global uint* out, local uint* tile, uint mode)
{
    ITEM;
    uint r = a[i];
    tile[l] = r;
    switch (mode) {
    case 0:
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[(l + 1) % n];
        break;
    case 1:
        r += 10;
    case 2:
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[(l + 2) % n];
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[l] = r;
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[0];
        if (mode == 2) break;
        r += 5;
    default:
        r *= 3;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[l] = r;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[n - 1 - l];
}

/* Barriers in functions, called from several places, with pointers to local and private memory. */
uint share(local uint* tile, uint l, uint n, uint value)
{
    tile[l] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint r = tile[(l + 1) % n];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
}

void share_into(local uint* tile, uint l, uint n, uint* value, uint rounds)
{
    for (uint k = 0; k < rounds; k++) {
        if (k == 3) return;
        *value += share(tile, l, n, *value + k);
    }
}

uint share_or_not(local uint* tile, uint l, uint n, uint value, uint mode)
{
    if (mode == 0) return value + 1;
    const uint r = share(tile, l, n, value);
    if (mode == 1) return r;
    return r + share(tile, l, n, r);
}

kernel void barrier_in_helpers(global const uint* a, global uint* out, local uint* tile, uint rounds)
{
    ITEM;
    uint v = a[i];
    v = share(tile, l, n, v) + share(tile, l, n, v * 2);
    share_into(tile, l, n, &v, rounds);
    for (uint mode = 0; mode < 3; mode++) v += share_or_not(tile, l, n, v + mode, mode);
    out[i] = share(tile, l, n, v);
}

/* Barriers inside a loop inside a branch inside a loop, and after it. */
kernel void deep(global const uint* a, global uint* out, local uint* tile, uint depth)
{
    ITEM;
    uint r = a[i];
    for (uint x = 0; x < depth; x++) {
        if (x % 2 == 0) {
            for (uint y = 0; y <= x; y++) {
                tile[l] = r + y;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (y == 2) {
                    r += tile[0];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    continue;
                }
                r = r * 5 + tile[(l + x) % n];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        } else {
            uint y = x;
            while (y-- > 0) {
                r += l;
                if (y == 1) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    tile[l] = r;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    r ^= tile[(l + 7) % n];
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[l] = r;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[(l + 1) % n] + r;
}

/* Work-items take different ways between two barriers. */
kernel void divergent_between(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    uint r = a[i];
    for (uint round = 0; round < 5; round++) {
        for (uint k = 0; k < r % 11; k++) {
            if ((k + l) % 4 == 0) continue;
            if (k > 8) break;
            r += k;
        }
        switch (l % 4) {
        case 0: r += 1; break;
        case 1: r ^= 3;
        case 2: r *= 2; break;
        default: while (r % 5 != 0) r++;
        }
        tile[l] = r;
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[(l + 13) % n] % 100;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = r;
}

/* Global memory between the work-items of a group. */
kernel void global_fence(global const uint* a, global uint* out, global uint* scratch)
{
    ITEM;
    const uint base = (uint)get_group_id(0) * n;
    scratch[i] = a[i] * 2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = scratch[base + (l + 1) % n];
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    scratch[i] = out[i] + 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] += scratch[base + (l + 2) % n];
}

/* Counters with atomics between barriers; a ticket for each work-item. */
kernel void counters(global const uint* a, global uint* out)
{
    local uint tickets, odd, rounds_done;
    ITEM;
    if (l == 0) tickets = odd = rounds_done = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint round = 0; round < 4; round++) {
        atomic_inc(&tickets);
        if (a[i] & 1) atomic_add(&odd, a[i]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tickets == n * (round + 1) && l == 0) rounds_done++;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = odd * 10 + rounds_done;
}

/* Two dimensions: a transpose through a padded tile. */
kernel __attribute__((reqd_work_group_size(8, 8, 1))) void transpose(global const uint* a, global uint* out, uint width, uint height)
{
    local uint tile[8][9];
    const uint x = (uint)get_global_id(0), y = (uint)get_global_id(1);
    const uint lx = (uint)get_local_id(0), ly = (uint)get_local_id(1);
    if (x < width && y < height) tile[ly][lx] = a[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint tx = (uint)get_group_id(1) * 8 + lx, ty = (uint)get_group_id(0) * 8 + ly;
    if (tx < height && ty < width) out[ty * height + tx] = tile[lx][ly];
}

/* Three dimensions, and local variables of several types. */
typedef struct { uint a; uchar b; } pair;

kernel __attribute__((reqd_work_group_size(4, 2, 3))) void box(global const uint* a, global uint* out)
{
    local pair pairs[24];
    local float4 vectors[24];
    local ushort flags[3][2][4];
    const size_t x = get_local_id(0), y = get_local_id(1), z = get_local_id(2);
    const size_t l = (z * 2 + y) * 4 + x;
    const size_t i = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
    pairs[l].a = a[i];
    pairs[l].b = (uchar)l;
    vectors[l] = (float4)((float)l, 1.0f, 2.0f, (float)(a[i] % 100));
    flags[z][y][x] = (ushort)(x + y * 10 + z * 100);
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t m = 23 - l;
    out[i] = pairs[m].a + pairs[m].b + (uint)(vectors[m].x + vectors[m].w) + flags[2 - z][1 - y][3 - x];
}

/* Tiles in a loop: matrix product. */
kernel __attribute__((reqd_work_group_size(8, 8, 1))) void matmul(global const float* a, global const float* b, global float* c, uint n)
{
    local float ta[8][8], tb[8][8];
    const uint x = (uint)get_global_id(0), y = (uint)get_global_id(1);
    const uint lx = (uint)get_local_id(0), ly = (uint)get_local_id(1);
    float sum = 0;
    for (uint k = 0; k < n; k += 8) {
        ta[ly][lx] = a[y * n + k + lx];
        tb[ly][lx] = b[(k + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < 8; j++) sum += ta[ly][j] * tb[j][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

/* Whole groups run, also past the thread count: get_global_size is the rounded count. */
kernel void whole_groups(volatile global uint* ran, global uint* sizes)
{
    barrier(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(ran);
    if (get_global_id(0) == 0) {
        sizes[0] = (uint)get_global_size(0);
        sizes[1] = (uint)get_local_size(0);
        sizes[2] = (uint)get_num_groups(0);
    }
}

/* mem_fence orders, it does not synchronise: here one work-item reads its own. */
kernel void fences(global const uint* a, global uint* out, local uint* tile)
{
    ITEM;
    tile[l] = a[i];
    mem_fence(CLK_LOCAL_MEM_FENCE);
    read_mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[i] = tile[l] + 1;
    write_mem_fence(CLK_GLOBAL_MEM_FENCE);
    out[i] += tile[l];
}

/* Groups of one work-item. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void alone(global const uint* a, global uint* out)
{
    local uint x;
    const size_t i = get_global_id(0);
    x = a[i];
    for (uint k = 0; k < 3; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        x += k + (uint)i;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x % 5 == 0) return;
    }
    out[i] = x;
}
