/* Barriers. Each reference runs a group's work-items one after the other between barriers. */
#include "../cts.h"

#include "barriers.khal.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 128 };

/* One work-group: n work-items, a and out begin at its first; tile is local memory. */
typedef struct group {
    uint32_t n, index, first;
    const uint32_t* a;
    uint32_t* out;
    uint32_t parameter;
    uint32_t tile[MOST];
} group;

typedef void (*reference_fn)(group* g);

static void exchange(group* g)
{
    for (uint32_t l = 0; l < g->n; l++) g->out[l] = g->a[g->n - 1 - l] * 3 + g->a[(l + 1) % g->n];
}

static void reduce_tree(group* g)
{
    uint32_t sum = 0;
    for (uint32_t l = 0; l < g->n; l++) sum += g->a[l];
    for (uint32_t l = 0; l < g->n; l++) g->out[l] = sum + l;
}

static void scan(group* g)
{
    uint32_t sum = 0;
    for (uint32_t l = 0; l < g->n; l++) g->out[l] = sum += g->a[l];
}

static void one_works(group* g)
{
    uint32_t total = 0;
    for (uint32_t k = 0; k < g->n; k++) total += g->a[k] * (k + 1);
    for (uint32_t l = 0; l < g->n; l++) g->out[l] = total ^ l;
    total = g->out[g->n - 1] + 5;
    for (uint32_t l = 0; l < g->n; l++) g->out[l] += total;
}

static void private_lives(group* g)
{
    struct { uint32_t own[8], scalar, v[4], rv[4], ra; uint16_t b[3]; int32_t x, y; } w[MOST];
    const uint32_t n = g->n;
    for (uint32_t l = 0; l < n; l++) {
        const uint32_t a = g->a[l];
        for (uint32_t k = 0; k < 8; k++) w[l].own[k] = a + k * l;
        w[l].scalar = a + 1;
        w[l].v[0] = l, w[l].v[1] = l + 1, w[l].v[2] = a, w[l].v[3] = 4;
        w[l].ra = l;
        w[l].b[0] = (uint16_t)l, w[l].b[1] = 2, w[l].b[2] = (uint16_t)a;
        w[l].rv[0] = 4, w[l].rv[1] = a, w[l].rv[2] = l + 1, w[l].rv[3] = l;
        w[l].x = -(int32_t)l, w[l].y = 7;
    }
    for (uint32_t round = 0; round < 8; round++) {
        for (uint32_t l = 0; l < n; l++) g->tile[l] = w[l].own[round] + w[l].v[0] + w[l].b[round % 3];
        for (uint32_t l = 0; l < n; l++) {
            const uint32_t other = g->tile[(l + round + 1) % n];
            w[l].own[(round + 3) % 8] += other;
            const uint32_t first = w[l].v[0];
            for (int k = 0; k < 3; k++) w[l].v[k] = w[l].v[k + 1] + other;
            w[l].v[3] = first + other;
            w[l].rv[1] += other;
            w[l].b[round % 3] = (uint16_t)(w[l].b[round % 3] + (uint16_t)other);
            w[l].x = (int32_t)((uint32_t)w[l].x - other);
            w[l].scalar = w[l].scalar * 5 + other;
        }
    }
    for (uint32_t l = 0; l < n; l++) {
        uint32_t sum = w[l].scalar;
        for (uint32_t k = 0; k < 8; k++) sum = sum * 31 + w[l].own[k];
        g->out[l] = sum + w[l].v[0] + w[l].v[1] * 3 + w[l].v[2] * 5 + w[l].v[3] * 7 + w[l].ra + w[l].b[0] + w[l].b[1] + w[l].b[2] + w[l].rv[0] +
                    w[l].rv[1] + (uint32_t)w[l].x + (uint32_t)w[l].y;
    }
}

static void private_pointer_lives(group* g)
{
    for (uint32_t l = 0; l < g->n; l++) g->tile[l] = g->a[l] + l;
    for (uint32_t l = 0; l < g->n; l++) {
        uint32_t x = g->a[l], y = l;
        *((g->a[l] & 1) ? &x : &y) += g->tile[g->n - 1 - l];
        g->out[l] = x * 1000 + y;
    }
}

static void return_before(group* g)
{
    for (uint32_t l = 0; l < g->n; l++) g->tile[l] = g->first + l < g->parameter ? g->a[l] : 7;
    for (uint32_t l = 0; l < g->n; l++)
        if (g->first + l < g->parameter) g->out[l] = g->tile[(l + 1) % g->n] + g->tile[g->n - 1 - l] * 2;
}

static void return_in_loop(group* g)
{
    for (uint32_t l = 0; l < g->n; l++) {
        uint32_t sum = 0;
        bool returned = false;
        for (uint32_t round = 0; round < 10 && !returned; round++) {
            sum += g->a[(l + round) % g->n];
            g->out[l] = sum;
            returned = (g->a[l] + l) % 10 == round || (round > 6 && l % 3 == 0);
            if (!returned && round > 6) sum += 1000;
        }
        if (!returned) g->out[l] = sum + 1000000;
    }
}

static void uneven_returns(group* g)
{
    bool returned[MOST] = {false};
    for (uint32_t l = 0; l < g->n; l++) g->tile[l] = l;
    for (uint32_t round = 0; round < 8; round++) {
        uint32_t v[MOST];
        for (uint32_t l = 0; l < g->n; l++) v[l] = g->tile[(l * 3 + round) % g->n];
        for (uint32_t l = 0; l < g->n; l++) {
            if (returned[l]) continue;
            if (round >= g->a[l] % 8) {
                g->out[l] = g->tile[l] * 10 + round;
                returned[l] = true;
            } else {
                g->tile[l] = v[l] + 1;
            }
        }
    }
    for (uint32_t l = 0; l < g->n; l++)
        if (!returned[l]) g->out[l] = 99;
}

static void uniform_branch(group* g)
{
    const uint32_t n = g->n, mode = g->parameter;
    uint32_t r[MOST];
    for (uint32_t l = 0; l < n; l++) r[l] = g->tile[l] = g->a[l];
    if (mode == 1) {
        for (uint32_t l = 0; l < n; l++) r[l] += g->tile[n - 1 - l];
        memcpy(g->tile, r, sizeof r);
        for (uint32_t l = 0; l < n; l++) r[l] = g->tile[(l + 1) % n];
    } else if (mode == 2) {
        for (uint32_t l = 0; l < n; l++) r[l] *= 2;
    } else {
        for (uint32_t l = 0; l < n; l++)
            for (uint32_t k = 0; k < mode; k++) r[l] += g->tile[(l + k) % n];
    }
    const uint32_t first = r[0];
    for (uint32_t l = 0; l < n; l++) g->out[l] = r[l] + (g->index % 2 == 0 ? first : 1);
}

static uint32_t trips_of(uint32_t index) { return (index * 5 + 3) % 13; }

static void uniform_loops(group* g)
{
    const uint32_t n = g->n, count = trips_of(g->index);
    uint32_t r[MOST];
    memcpy(r, g->a, n * 4);
    for (uint32_t round = 0; round != count; round++) {
        if (round % 3 == 1) continue;
        memcpy(g->tile, r, n * 4);
        for (uint32_t l = 0; l < n; l++) r[l] = r[l] * 3 + g->tile[(l + 1) % n];
        if (round > 9) break;
    }
    for (uint32_t k = 0; k < count; k += 2) {
        uint32_t inner = 0;
        do {
            for (uint32_t l = 0; l < n; l++) g->tile[l] = r[l] + inner;
            for (uint32_t l = 0; l < n; l++) r[l] ^= g->tile[(l + 5) % n];
        } while (++inner < k);
    }
    memcpy(g->out, r, n * 4);
}

static void decided_by_one(group* g)
{
    const uint32_t n = g->n;
    uint32_t r[MOST] = {0};
    for (uint32_t round = 0; round < 20; round++) {
        const uint32_t d = (g->a[0] * (round + 1)) % 7;
        for (uint32_t l = 0; l < n; l++) g->tile[l] = g->a[l] + r[l];
        if (d == 0) break;
        for (uint32_t l = 0; l < n; l++) r[l] = d < 4 ? r[l] + g->tile[(l + d) % n] : r[l] ^ g->tile[n - 1 - l];
    }
    memcpy(g->out, r, n * 4);
}

static void barrier_in_switch(group* g)
{
    const uint32_t n = g->n, mode = g->parameter;
    uint32_t r[MOST];
    memcpy(r, g->a, n * 4);
    memcpy(g->tile, r, n * 4);
    if (mode == 0) {
        for (uint32_t l = 0; l < n; l++) r[l] += g->tile[(l + 1) % n];
    } else if (mode == 1 || mode == 2) {
        for (uint32_t l = 0; l < n; l++) r[l] += (mode == 1 ? 10 : 0) + g->tile[(l + 2) % n];
        const uint32_t first = r[0];
        for (uint32_t l = 0; l < n; l++) r[l] = mode == 2 ? r[l] + first : (r[l] + first + 5) * 3;
    } else {
        for (uint32_t l = 0; l < n; l++) r[l] *= 3;
    }
    for (uint32_t l = 0; l < n; l++) g->out[l] = r[n - 1 - l];
}

/* What share() of the kernel file does, for all work-items at once. */
static void share(const group* g, const uint32_t* values, uint32_t* out)
{
    uint32_t copy[MOST];
    memcpy(copy, values, g->n * 4);
    for (uint32_t l = 0; l < g->n; l++) out[l] = copy[(l + 1) % g->n];
}

static void barrier_in_helpers(group* g)
{
    const uint32_t n = g->n;
    uint32_t v[MOST] = {0}, one[MOST] = {0}, two[MOST] = {0};
    memcpy(v, g->a, n * 4);
    share(g, v, one);
    for (uint32_t l = 0; l < n; l++) two[l] = v[l] * 2;
    share(g, two, two);
    for (uint32_t l = 0; l < n; l++) v[l] = one[l] + two[l];
    for (uint32_t k = 0; k < g->parameter && k != 3; k++) {
        for (uint32_t l = 0; l < n; l++) one[l] = v[l] + k;
        share(g, one, one);
        for (uint32_t l = 0; l < n; l++) v[l] += one[l];
    }
    for (uint32_t mode = 0; mode < 3; mode++) {
        for (uint32_t l = 0; l < n; l++) one[l] = v[l] + mode;
        if (mode == 0) {
            for (uint32_t l = 0; l < n; l++) one[l]++;
        } else {
            share(g, one, one);
            if (mode == 2) {
                share(g, one, two);
                for (uint32_t l = 0; l < n; l++) one[l] += two[l];
            }
        }
        for (uint32_t l = 0; l < n; l++) v[l] += one[l];
    }
    share(g, v, g->out);
}

static void deep(group* g)
{
    const uint32_t n = g->n;
    uint32_t r[MOST];
    memcpy(r, g->a, n * 4);
    for (uint32_t x = 0; x < g->parameter; x++) {
        if (x % 2 == 0) {
            for (uint32_t y = 0; y <= x; y++) {
                for (uint32_t l = 0; l < n; l++) g->tile[l] = r[l] + y;
                for (uint32_t l = 0; l < n; l++) r[l] = y == 2 ? r[l] + g->tile[0] : r[l] * 5 + g->tile[(l + x) % n];
            }
        } else {
            for (uint32_t y = x; y-- > 0;) {
                for (uint32_t l = 0; l < n; l++) r[l] += l;
                if (y != 1) continue;
                memcpy(g->tile, r, n * 4);
                for (uint32_t l = 0; l < n; l++) r[l] ^= g->tile[(l + 7) % n];
            }
        }
    }
    for (uint32_t l = 0; l < n; l++) g->out[l] = r[(l + 1) % n] + r[l];
}

static void divergent_between(group* g)
{
    const uint32_t n = g->n;
    uint32_t r[MOST];
    memcpy(r, g->a, n * 4);
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t l = 0; l < n; l++) {
            for (uint32_t k = 0; k < r[l] % 11; k++) {
                if ((k + l) % 4 == 0) continue;
                if (k > 8) break;
                r[l] += k;
            }
            if (l % 4 == 0) r[l] += 1;
            else if (l % 4 == 1) r[l] = (r[l] ^ 3) * 2;
            else if (l % 4 == 2) r[l] *= 2;
            else while (r[l] % 5 != 0) r[l]++;
        }
        memcpy(g->tile, r, n * 4);
        for (uint32_t l = 0; l < n; l++) r[l] += g->tile[(l + 13) % n] % 100;
    }
    memcpy(g->out, r, n * 4);
}

static void global_fence(group* g)
{
    const uint32_t n = g->n;
    for (uint32_t l = 0; l < n; l++) g->out[l] = g->a[(l + 1) % n] * 2;
    for (uint32_t l = 0; l < n; l++) g->tile[l] = g->out[l] + 1;
    for (uint32_t l = 0; l < n; l++) g->out[l] += g->tile[(l + 2) % n];
}

static void counters(group* g)
{
    uint32_t odd = 0;
    for (uint32_t l = 0; l < g->n; l++) odd += g->a[l] & 1 ? 4 * g->a[l] : 0;
    for (uint32_t l = 0; l < g->n; l++) g->out[l] = odd * 10 + 4;
}

static void fences(group* g)
{
    for (uint32_t l = 0; l < g->n; l++) g->out[l] = 2 * g->a[l] + 1;
}

typedef struct barrier_case {
    const char* name;
    reference_fn reference;
    bool has_tile;       /* takes a `__local` argument */
    bool power_of_two;   /* group sizes */
    int parameters;      /* runs with the parameter 0 .. parameters - 1; 0: it takes none */
    char extra;          /* 't': trips buffer, 's': scratch buffer, 0: none */
} barrier_case;

static const barrier_case cases[] = {
    {"exchange", exchange, true, false, 0, 0}, {"reduce_tree", reduce_tree, true, true, 0, 0}, {"scan", scan, true, false, 0, 0},
    {"one_works", one_works, false, false, 0, 0}, {"private_lives", private_lives, true, false, 0, 0},
    {"private_pointer_lives", private_pointer_lives, true, false, 0, 0}, {"return_before", return_before, true, false, 3, 0},
    {"return_in_loop", return_in_loop, true, false, 0, 0}, {"uneven_returns", uneven_returns, true, false, 0, 0},
    {"uniform_branch", uniform_branch, true, false, 5, 0}, {"uniform_loops", uniform_loops, true, false, 0, 't'},
    {"decided_by_one", decided_by_one, false, false, 0, 0}, {"barrier_in_switch", barrier_in_switch, true, false, 4, 0},
    {"barrier_in_helpers", barrier_in_helpers, true, false, 5, 0}, {"deep", deep, true, false, 6, 0},
    {"divergent_between", divergent_between, true, false, 0, 0}, {"global_fence", global_fence, false, false, 0, 's'},
    {"counters", counters, false, false, 0, 0}, {"fences", fences, true, false, 0, 0},
};

static bool run_once(cts* t, const barrier_case* c, uint32_t size, uint32_t groups, uint32_t parameter, bool is_indirect)
{
    const uint32_t count = size * groups;
    uint32_t* a = cts_alloc(t, count * 4);
    uint32_t* expected = cts_alloc(t, count * 4);
    uint32_t* trips = cts_alloc(t, groups * 4);
    for (uint32_t i = 0; i < count; i++) a[i] = cts_random_below(t, 1000);
    for (uint32_t g = 0; g < groups; g++) {
        group one = {.n = size, .index = g, .first = g * size, .a = a + g * size, .out = expected + g * size, .parameter = parameter};
        trips[g] = trips_of(g);
        c->reference(&one);
    }
    khal_buffer* out = cts_buffer_of(t, NULL, count * 4, 4);
    cts_launch launch = {.library = &barriers_library, .kernel = c->name, .grid = khal_grid_with_workgroup(khal_groups(groups, 1, 1), size, 1, 1),
                         .push = &parameter, .push_size = c->parameters != 0 ? 4 : 0, .local_sizes = {size * 4}, .local_count = c->has_tile ? 1 : 0};
    launch.buffers[0] = cts_buffer_of(t, a, count * 4, 4);
    launch.buffers[1] = out;
    const uint32_t counts[3] = {groups, 1, 1};
    if (is_indirect) {
        khal_buffer* at = cts_buffer(t, .data = counts, .size = 12, .element_size = 4, .usage = KHAL_USAGE_INDIRECT | KHAL_USAGE_COPY_DST);
        launch.grid = khal_grid_with_workgroup(khal_indirect(at, 0), size, 1, 1);
    }
    if (c->extra == 't') launch.buffers[2] = cts_buffer_of(t, trips, groups * 4, 4);
    if (c->extra == 's') launch.buffers[2] = cts_buffer_of(t, NULL, count * 4, 4);
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return false;
    const uint32_t* actual = cts_read_all(t, out);
    for (uint32_t i = 0; actual != NULL && i < count; i++)
        if (actual[i] != expected[i])
            return cts_fail(t, __FILE__, __LINE__, "%s, %u groups of %u, parameter %u: work-item %u (local %u): a = %u: expected %u, got %u", c->name, groups, size,
                            parameter, i, i % size, a[i], expected[i], actual[i]);
    return actual != NULL;
}

static void barrier_run(cts* t)
{
    static const uint32_t sizes[] = {64, 16, 1, 32, 61, 7};
    const barrier_case* c = cts_data(t);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        if (c->power_of_two && (sizes[s] & (sizes[s] - 1)) != 0) continue;
        for (int p = 0; p < (c->parameters == 0 ? 1 : c->parameters); p++) {
            /* the counts for return_before: within the first group, within a later one, beyond all */
            const uint32_t parameter = c->reference == return_before ? (p == 0 ? sizes[s] / 2 : p == 1 ? 3 * sizes[s] - 1 : 100000) : (uint32_t)p;
            run_once(t, c, sizes[s], 9, parameter, false);
        }
    }
}

/* Counts that only the device knows: where fewer groups run at once than there are, some run one after another in the same
 * place, and nothing of one may reach the next. */
static void barrier_run_indirect(cts* t)
{
    enum { SIZE = 16, MANY = 10000 };
    const barrier_case* c = cts_data(t);
    for (int p = 0; p < (c->parameters == 0 ? 1 : c->parameters); p++) {
        /* the counts for return_before: within the first group, within a later one, beyond all */
        const uint32_t parameter = c->reference == return_before ? (p == 0 ? SIZE / 2 : p == 1 ? (MANY / 2 + 1) * SIZE + 3 : UINT32_MAX) : (uint32_t)p;
        if (!run_once(t, c, SIZE, MANY, parameter, true) || !run_once(t, c, 64, 3, parameter, true)) return;
    }
}

static void transpose_of(cts* t, uint32_t width, uint32_t height)
{
    const size_t count = (size_t)width * height;
    uint32_t *a = cts_alloc(t, count * 4), *expected = cts_alloc(t, count * 4);
    for (uint32_t i = 0; i < count; i++) {
        a[i] = i * 2654435761u;
        expected[i % width * height + i / width] = a[i];
    }
    const uint32_t push[2] = {width, height};
    khal_buffer* out = cts_buffer_of(t, NULL, count * 4, 4);
    if (!cts_run(t, .library = &barriers_library, .kernel = "transpose", .grid = khal_threads(width, height, 1), .push = push, .push_size = 8,
                 .buffers = {cts_buffer_of(t, a, count * 4, 4), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, count * 4, 4);
}

static void transpose(cts* t) { transpose_of(t, 45, 27); }

/* More than 65,535 groups in y, which CUDA and others can't launch as they are, in a kernel with barriers. */
static void transpose_tall(cts* t) { transpose_of(t, 3, 8 * 65535 + 20); }

static void box(cts* t)
{
    enum { X = 12, Y = 6, Z = 6, COUNT = X * Y * Z };
    uint32_t a[COUNT], expected[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) a[i] = cts_random_below(t, 5000);
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t x = i % X, y = i / X % Y, z = i / X / Y, lx = x % 4, ly = y % 2, lz = z % 3, m = 23 - ((lz * 2 + ly) * 4 + lx);
        const uint32_t ox = x - lx + m % 4, oy = y - ly + m / 4 % 2, oz = z - lz + m / 8;
        const uint32_t other = a[(oz * Y + oy) * X + ox];
        expected[i] = other + m + m + other % 100 + (3 - lx) + (1 - ly) * 10 + (2 - lz) * 100;
    }
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (!cts_run(t, .library = &barriers_library, .kernel = "box", .grid = khal_threads(X, Y, Z), .buffers = {cts_buffer_of(t, a, sizeof a, 4), out})) return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
}

static void matmul(cts* t)
{
    enum { N = 48 };
    float *a = cts_alloc(t, N * N * 4), *b = cts_alloc(t, N * N * 4), *expected = cts_alloc(t, N * N * 4);
    for (int i = 0; i < N * N; i++) { /* small whole numbers: sums are exact in any order */
        a[i] = (float)((int)cts_random_below(t, 21) - 10);
        b[i] = (float)((int)cts_random_below(t, 21) - 10);
    }
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++)
            for (int k = 0; k < N; k++) expected[y * N + x] += a[y * N + k] * b[k * N + x];
    const uint32_t n = N;
    khal_buffer* out = cts_buffer_of(t, NULL, N * N * 4, 4);
    if (!cts_run(t, .library = &barriers_library, .kernel = "matmul", .grid = khal_threads(N, N, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, a, N * N * 4, 4), cts_buffer_of(t, b, N * N * 4, 4), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, N * N * 4, 4);
}

static void whole_groups(cts* t)
{
    khal_buffer* ran = cts_buffer_of(t, NULL, 4, 4);
    khal_buffer* sizes = cts_buffer_of(t, NULL, 12, 4);
    if (!cts_run(t, .library = &barriers_library, .kernel = "whole_groups", .grid = khal_grid_with_workgroup(khal_threads(100, 1, 1), 32, 1, 1),
                 .buffers = {ran, sizes}))
        return;
    const uint32_t *count = cts_read_all(t, ran), *size = cts_read_all(t, sizes);
    if (count == NULL || size == NULL) return;
    CTS_EQ(t, count[0], 128);
    CTS_EQ(t, size[0], 128);
    CTS_EQ(t, size[1], 32);
    CTS_EQ(t, size[2], 4);
}

static void alone(cts* t)
{
    enum { COUNT = 100 };
    uint32_t a[COUNT], expected[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t x = a[i] = cts_random_below(t, 1000);
        expected[i] = 0;
        bool returned = false;
        for (uint32_t k = 0; k < 3 && !returned; k++) {
            x += k + i;
            returned = x % 5 == 0;
        }
        if (!returned) expected[i] = x;
    }
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (!cts_run(t, .library = &barriers_library, .kernel = "alone", .grid = khal_threads(COUNT, 1, 1), .buffers = {cts_buffer_of(t, a, sizeof a, 4), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
}

void cts_suite_barriers(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) cts_add(registry, cases[i].name, barrier_run, &cases[i], 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) cts_addf(registry, barrier_run_indirect, &cases[i], 0, "%s_indirect", cases[i].name);
    CTS_ADD(registry, transpose);
    CTS_ADD(registry, transpose_tall);
    CTS_ADD(registry, box);
    CTS_ADD(registry, matmul);
    CTS_ADD(registry, whole_groups);
    CTS_ADD(registry, alone);
}
