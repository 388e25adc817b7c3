/* Control flow around barriers, in the language that OpenCL C and C share: the test compiles this file twice, with khalc, and
 * with the host's compiler for work-items that are threads (flow.c), and compares. KERNEL(name) declares a kernel
 *     name(__global int* out, __global const int* in, uint n, __local int* shared)
 * with out[global size], in[global size], shared[local size]; n is some number below the global size. */
#ifndef KERNEL
#define KERNEL(name) \
    __kernel void name(__global int* out, __global const int* in, uint n, __local int* shared)
#define LOCAL __local
#define LOCAL_VARIABLE __local
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

#define LID ((int)get_local_id(0))
#define GID ((int)get_global_id(0))
#define SIZE ((int)get_local_size(0))
#define GROUP ((int)get_group_id(0))

typedef struct pair {
    int a, b[3];
} pair;

static int collatz(int x)
{
    int steps = 0;
    while (x > 1) {
        if (steps == 50)
            break;
        x = x % 2 ? 3 * x + 1 : x / 2;
        steps++;
    }
    return steps;
}

/* --- no barrier --- */

KERNEL(nested_loops)
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        if (i == (in[GID] & 7))
            continue;
        for (int j = 0; j < 10; j++) {
            if (j > i)
                break;
            if ((i + j) % 3 == 0)
                continue;
            int k = 0;
            do {
                sum += i * j + k;
                if (sum > 400)
                    break;
            } while (++k < (in[GID] & 3));
        }
        if (sum > 300)
            break;
    }
    out[GID] = sum;
}

KERNEL(early_return)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    for (int k = 0;; k++) {
        if (k == 5)
            return;
        out[i] += in[i] + k;
        if (out[i] > 30)
            return;
    }
}

KERNEL(switches)
{
    int r = 0;
    switch (in[GID] & 15) {
    case 0: r = 1; /* falls through */
    case 1: r += 10; break;
    case 2: case 3:
        for (int i = 0; i < 4; i++) {
            if (i == 2)
                break;
            r += i + 1;
        }
        r += 100;
        break;
    default: r = -1; /* falls through */
    case 7: r *= 2; break;
    case 9: {
        int k = 0;
        while (1) {
            switch (k++) {
            case 0: continue;
            case 3: r += 3; break;
            default: r += 7;
            }
            if (k > 4)
                break;
        }
    }
    }
    out[GID] = r + collatz(in[GID]);
}

KERNEL(comma_and_logic)
{
    int a = in[GID], b = 0, c = 0;
    if (a > 5 && (b = a * 2) > 20 || (c = 3, a < 2))
        b++;
    int r = (a ? b : c) + (a && b);
    r += a++ + ++b;
    r += (c -= a, c) * 2;
    out[GID] = r;
}

KERNEL(local_memory_alone)
{
    LOCAL_VARIABLE int mine[64];
    mine[LID] = in[GID] * 3;
    out[GID] = mine[LID] + GROUP;
}

/* --- barriers in uniform control flow --- */

KERNEL(tree_reduce)
{
    LOCAL_VARIABLE int r[64];
    r[LID] = in[GID];
    SYNC();
    for (int k = SIZE / 2; k > 0; k >>= 1) {
        if (LID < k)
            r[LID] += r[LID + k];
        SYNC();
    }
    out[GID] = r[0] + LID;
}

KERNEL(one_works)
{
    LOCAL_VARIABLE int total;
    shared[LID] = in[GID];
    SYNC();
    if (LID == 0) {
        total = 0;
        for (int i = 0; i < SIZE; i++)
            total += shared[i] * (i + 1);
    }
    SYNC();
    out[GID] = total - shared[LID];
}

KERNEL(private_array_across)
{
    int mine[5];
    pair p = {in[GID], {1, 2, 3}};
    int* q = &mine[2];
    for (int i = 0; i < 5; i++)
        mine[i] = in[GID] * i + LID;
    shared[LID] = mine[3];
    p.b[LID % 3] += mine[1];
    SYNC();
    *q += shared[(LID + 1) % SIZE];
    mine[LID % 5] ^= 7;
    SYNC();
    shared[LID] = p.b[0] + p.b[1] * 3 + p.b[2] * 5 + p.a;
    SYNC();
    out[GID] = mine[0] + mine[1] * 2 + mine[2] * 3 + mine[3] * 4 + mine[4] * 5 + shared[SIZE - 1 - LID];
}

KERNEL(returned_items)
{
    if (GID >= (int)n)
        return;
    shared[LID] = in[GID];
    SYNC();
    int sum = 0;
    for (int i = 0; i < SIZE; i++)
        if (GROUP * SIZE + i < (int)n)
            sum += shared[i];
    SYNC();
    shared[LID] = sum + LID;
    SYNC();
    out[GID] = shared[0] + sum;
}

KERNEL(returning_by_and_by)
{
    shared[LID] = in[GID];
    SYNC();
    for (int i = 0; i < 6; i++) {
        if (i == LID % 9)
            return;
        SYNC();
        out[GID] += shared[(LID + i) % SIZE];
        SYNC();
        shared[LID] += i;
    }
    SYNC();
    out[GID] *= 2;
}

KERNEL(uniform_break)
{
    LOCAL_VARIABLE int stop;
    int rounds = 0;
    if (LID == 0)
        stop = 0;
    for (int i = 0; i < 20; i++) {
        SYNC();
        if (stop)
            break;
        SYNC();
        shared[LID] = in[GID] + i;
        if (LID == SIZE - 1 && shared[LID] > 12)
            stop = 1;
        if (i % 3 == 1)
            continue;
        SYNC();
        rounds += shared[0];
    }
    out[GID] = rounds;
}

KERNEL(uniform_branches)
{
    int x = in[GID];
    if (n & 1) {
        shared[LID] = x;
        SYNC();
        x += shared[(LID + 1) % SIZE];
    } else {
        shared[LID] = x * 2;
        SYNC();
        x -= shared[(LID + 1) % SIZE];
        if (GROUP & 1) {
            SYNC();
            shared[LID] = x;
            SYNC();
            x = shared[SIZE - 1 - LID];
        } else if (n & 2) {
            return;
        }
    }
    SYNC();
    out[GID] = x;
}

KERNEL(uniform_switch)
{
    int x = in[GID];
    for (int i = 0; i < 5; i++) {
        switch ((i + GROUP) & 3) {
        case 0:
            shared[LID] = x;
            SYNC();
            x += shared[(LID + 2) % SIZE]; /* falls through */
        case 1:
            SYNC();
            x += 3;
            break;
        case 2:
            if (n & 4)
                break;
            x *= 2;
            SYNC();
            continue;
        default:
            x ^= i;
        }
        SYNC();
        x += i;
    }
    out[GID] = x;
}

KERNEL(nested_barrier_loops)
{
    int acc = 0, flip = 0;
    LOCAL_VARIABLE int buffer[2][64];
    buffer[0][LID] = in[GID];
    SYNC();
    for (int i = 0; i < 3; i++) {
        int j = 0;
        do {
            buffer[1 - flip][LID] = buffer[flip][(LID + j) % SIZE] + 1;
            SYNC();
            flip = 1 - flip;
            if (j == 1 && i == 1)
                break;
            for (int k = 0; k < LID % 4; k++)
                acc += buffer[flip][(LID + k) % SIZE];
            SYNC();
        } while (++j < 3);
        acc += i;
    }
    out[GID] = acc + flip;
}

KERNEL(step_with_barrier_before)
{
    int i, j, sum = 0;
    for (i = 0; i < 4; i++) {
        for (j = 0; j < 3; j++)
            sum += in[GID] * j;
        shared[LID] = sum;
        SYNC();
        for (j = 0; j < SIZE; j++)
            sum += shared[j] & 3;
        SYNC();
    }
    j = LID;
    SYNC();
    out[GID] = sum + j;
}

static void share(LOCAL int* shared, int value)
{
    SYNC();
    shared[get_local_id(0)] = value;
    SYNC();
}

static int neighbour(LOCAL int* shared, int value, int by)
{
    if (by == 0)
        return value;
    share(shared, value);
    for (int i = 0; i < by; i++) {
        int next = shared[(get_local_id(0) + 1) % get_local_size(0)];
        share(shared, next);
        if (i == 2)
            return next + 1000;
    }
    return shared[get_local_id(0)];
}

KERNEL(helpers_with_barriers)
{
    int x = in[GID];
    x += neighbour(shared, x, 0);
    for (int i = 0; i < 3; i++)
        x += neighbour(shared, x, i * 2 + 1);
    out[GID] = x;
}

KERNEL(atomics_count)
{
    LOCAL_VARIABLE int count, most;
    if (LID == 0) {
        count = 0;
        most = -1;
    }
    SYNC();
    if (in[GID] & 1)
        atomic_inc(&count);
    atomic_max(&most, in[GID]);
    atomic_add(&out[GROUP * SIZE], 2);
    SYNC();
    if (LID)
        out[GID] = count * 100 + most;
    else
        atomic_add(&out[GID], count);
}

KERNEL(long_lived)
{
    float f = (float)in[GID] * 0.5f;
    long l = (long)in[GID] << 33;
    uchar c = (uchar)(in[GID] * 7);
    bool odd = in[GID] & 1;
    short s = (short)-LID;
    shared[LID] = in[GID];
    SYNC();
    f += (float)shared[(LID + 1) % SIZE];
    l += shared[0];
    c += (uchar)shared[0];
    odd = odd != (shared[0] > 4);
    s = (short)(s * 3 + shared[0]);
    SYNC();
    out[GID] = (int)(f * 2.0f) + (int)(l >> 33) + (int)l + c + (odd ? 1000 : 0) + s;
}

KERNEL(assigned_parameters)
{
    in += GROUP & 1;
    n = n / 2 + (uint)GROUP;
    SYNC();
    n += (uint)LID;
    SYNC();
    shared += LID;
    *shared = (int)n;
    SYNC();
    out[GID] = (GID + 1 < (int)(get_global_size(0)) ? in[GID] : 0) + *shared;
}

/* --- divergent loops and branches, with every running work-item at the same barriers --- */

KERNEL(divergent_work)
{
    int x = in[GID], steps = 0;
    for (int round = 0; round < 4; round++) {
        int budget = (x & 7) + LID % 3;
        while (budget-- > 0) {
            if (x % 5 == 3)
                break;
            x = x * 3 + 1;
            x &= 1023;
            steps++;
        }
        shared[LID] = x;
        SYNC();
        if (LID % 2) {
            x ^= shared[LID - 1];
        } else if (LID % 3) {
            for (int i = 0; i < LID; i++) {
                if (shared[i] & 1)
                    continue;
                x += i;
            }
        }
        SYNC();
    }
    out[GID] = x + steps;
}

KERNEL(long_blocks)
{
    int v = in[GID];
    {
        int w = v + 1;
        {
            int v = w * 2;
            shared[LID] = v;
            SYNC();
            w += shared[(LID + 3) % SIZE] + v;
        }
        SYNC();
        v += w;
    }
    int w = v;
    shared[LID] = w;
    SYNC();
    out[GID] = shared[(LID + 1) % SIZE] - w;
}

KERNEL(data_loop)
{
    LOCAL_VARIABLE int more;
    int x = in[GID];
    do {
        SYNC();
        if (LID == 0)
            more = 0;
        SYNC();
        if (x > 3) {
            x -= 3;
            atomic_or(&more, 1);
        }
        SYNC();
    } while (more);
    out[GID] = x;
}

KERNEL(endless_until)
{
    int i = 0, r = in[GID];
    for (;;) {
        SYNC();
        i++;
        if (i > (int)(n & 7))
            break;
        r += i;
    }
    while (1) {
        SYNC();
        if (i++ > 9)
            return;
        out[GID] = r + i;
    }
}

/* --- an order that khal gives where OpenCL leaves it open: those that reach a barrier go on together --- */

KERNEL(divergent_barrier)
{
    int x = in[GID];
    if (LID & 1) {
        x += 5;
        SYNC();
        x *= 2;
    } else {
        x -= 5;
    }
    for (int i = 0; i < LID % 4; i++) {
        x += i;
        SYNC();
        if (x % 11 == 0)
            break;
        if (x % 3 == 0)
            continue;
        x++;
        SYNC();
    }
    switch (in[GID] & 3) {
    case 0: x += 1; SYNC(); x += 2; /* falls through */
    case 1: x += 10; break;
    case 2: SYNC(); if (x & 1) return; x += 100; break;
    default: x += 1000; SYNC(); out[GID] = x; return;
    }
    int k = LID;
    while (k > 0) {
        k -= 3;
        SYNC();
        for (int j = 0; j < 3; j++) {
            if (k == j)
                break;
            x += j;
            SYNC();
        }
        if (k == 5)
            continue;
        x ^= k;
    }
    out[GID] = x;
}

KERNEL(uniform_break_of_divergent_switch)
{
    int x = in[GID];
    for (int i = 0; i < 4; i++) {
        switch ((LID + i) & 3) {
        case 0:
            x += 3;
            SYNC();
            if (GROUP & 1)
                break;
            x *= 3; /* falls through */
        case 1:
            if (n & 1)
                break;
            x += 10;
            SYNC();
            if (i == 2)
                continue;
            x ^= 5;
            break;
        default:
            SYNC();
            x += 100;
        }
        x++;
    }
    out[GID] = x;
}
