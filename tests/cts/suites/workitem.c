/* What a work-item can ask, grids, arguments of every kind, structs and vectors in buffers. */
#include "../fp.h"

#include "workitem.khal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY .library = &workitem_library

/* ---- ids and grids ------------------------------------------------------------------------------- */

typedef struct grid_case {
    const char* name;
    bool threads;
    uint64_t x, y, z;
    uint32_t size[3];
} grid_case;

static const grid_case grids[] = {
    {"one", false, 1, 1, 1, {1, 1, 1}}, {"groups_1d", false, 5, 1, 1, {16, 1, 1}}, {"groups_2d", false, 3, 4, 1, {8, 2, 1}},
    {"groups_3d", false, 3, 2, 5, {4, 2, 3}}, {"groups_odd", false, 7, 3, 1, {5, 7, 1}}, {"threads_exact", true, 64, 1, 1, {16, 1, 1}},
    {"threads_rounded", true, 61, 1, 1, {16, 1, 1}}, {"threads_below_one_group", true, 3, 1, 1, {64, 1, 1}}, {"threads_2d", true, 13, 9, 1, {8, 8, 1}},
    {"threads_3d", true, 5, 7, 9, {2, 4, 4}}, {"threads_long_z", true, 1, 1, 77, {1, 1, 16}}, {"threads_long_y", true, 1, 100, 1, {1, 1, 1}},
    {"chosen_1d", true, 1000, 1, 1, {0, 0, 0}}, {"chosen_2d", true, 37, 29, 1, {0, 0, 0}}, {"chosen_3d", true, 11, 6, 5, {0, 0, 0}},
    {"chosen_groups", false, 3, 2, 2, {0, 0, 0}},
};

static void ids_run(cts* t)
{
    const grid_case* c = cts_data(t);
    khal_grid grid = c->threads ? khal_threads(c->x, c->y, c->z) : khal_groups(c->x, c->y, c->z);
    grid = khal_grid_with_workgroup(grid, c->size[0], c->size[1], c->size[2]);
    khal_function* function = cts_function(t, &workitem_library, "ids");
    uint32_t size[3];
    uint64_t groups[3], items[3];
    if (function == NULL || !CTS_OK(t, khal_grid_resolve(function, grid, size, groups))) return;
    const uint64_t asked[3] = {c->x, c->y, c->z};
    for (int d = 0; d < 3; d++) {
        if (c->size[0] != 0) CTS_EQ(t, size[d], c->size[d]);
        if (c->threads) CTS_EQ(t, groups[d], (asked[d] + size[d] - 1) / size[d]);
        else CTS_EQ(t, groups[d], asked[d]);
        items[d] = c->threads ? asked[d] : groups[d] * size[d]; /* the kernel has no barrier: surplus work-items do not run */
    }
    const uint64_t count = items[0] * items[1] * items[2];
    khal_buffer* out = cts_buffer_of(t, NULL, (count + 4) * 24 * 8, 8);
    const uint64_t push[2] = {items[0], items[1]};
    if (!cts_run(t, LIBRARY, .kernel = "ids", .grid = grid, .push = push, .push_size = 16, .buffers = {out})) return;
    const uint64_t* o = cts_read_all(t, out);
    if (o == NULL) return;
    for (uint64_t i = 0; i < count; i++, o += 24) {
        const uint64_t id[3] = {i % items[0], i / items[0] % items[1], i / items[0] / items[1]};
        for (int d = 0; d < 3; d++) {
            const uint64_t expected[7] = {id[d], id[d] % size[d], id[d] / size[d], items[d], size[d], groups[d], 0};
            for (int q = 0; q < 7; q++) {
                if (q == 4 && c->threads && o[12 + d] != expected[4] && o[12 + d] == items[d] - id[d] / size[d] * size[d]) continue; /* a clipped last group */
                if (o[3 * q + d] != expected[q]) {
                    static const char* const names[] = {"global_id", "local_id", "group_id", "global_size", "local_size", "num_groups", "global_offset"};
                    cts_fail(t, __FILE__, __LINE__, "work-item %llu, get_%s(%d): expected %llu, got %llu", (unsigned long long)i, names[q], d,
                             (unsigned long long)expected[q], (unsigned long long)o[3 * q + d]);
                }
            }
        }
        if (!(o[21] >= 1 && o[21] <= 3)) cts_fail(t, __FILE__, __LINE__, "work-item %llu: get_work_dim() is %llu", (unsigned long long)i, (unsigned long long)o[21]);
        if (o[22] != 0 || o[23] != 1)
            cts_fail(t, __FILE__, __LINE__, "work-item %llu: beyond the dimensions: expected 0 and 1, got %llu and %llu", (unsigned long long)i,
                     (unsigned long long)o[22], (unsigned long long)o[23]);
    }
    for (uint64_t i = 0; i < 4 * 24; i++)
        if (o[i] != 0) cts_fail(t, __FILE__, __LINE__, "memory behind the last work-item was written");
}

static void zero_dimensions(cts* t)
{
    khal_buffer* sum = cts_buffer_of(t, NULL, 40, 4);
    static const uint64_t zeros[][3] = {{0, 1, 1}, {5, 0, 1}, {1, 7, 0}, {0, 0, 0}};
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    for (size_t i = 0; i < 4; i++) {
        cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_groups(zeros[i][0], zeros[i][1], zeros[i][2]), .buffers = {sum});
        cts_record(t, pass, LIBRARY, .kernel = "count", .grid = khal_threads(zeros[i][0], zeros[i][1], zeros[i][2]), .buffers = {sum});
    }
    if (!CTS_OK(t, khal_pass_end(pass)) || !cts_submit_and_wait(t, encoder)) return;
    static const uint32_t none[10];
    CTS_SAME(t, cts_read_all(t, sum), none, sizeof none, 4);
}

static void counted(cts* t, khal_grid grid, const uint32_t items[3])
{
    khal_buffer* sum = cts_buffer_of(t, NULL, 40, 4);
    if (!cts_run(t, LIBRARY, .kernel = "count", .grid = grid, .buffers = {sum})) return;
    const uint32_t* s = cts_read_all(t, sum);
    if (s == NULL) return;
    const uint64_t count = (uint64_t)items[0] * items[1] * items[2];
    CTS_EQ(t, s[0], (uint32_t)count);
    for (int d = 0; d < 3; d++) {
        const uint64_t others = count / items[d];
        const uint64_t ids = (uint64_t)items[d] * (items[d] - 1) / 2;
        if (s[1 + d] != (uint32_t)(ids * others))
            cts_fail(t, __FILE__, __LINE__, "sum of the ids of dimension %d: expected %u, got %u", d, (uint32_t)(ids * others), s[1 + d]);
        CTS_EQ(t, s[4 + d], items[d] - 1);
        CTS_EQ(t, s[7 + d], items[d]);
    }
}

/* Every work-item runs once: grids too large to note each one. */
static void counted_grids(cts* t)
{
    counted(t, khal_threads(1000003, 1, 1), (const uint32_t[]){1000003, 1, 1});
    counted(t, khal_threads(70001, 3, 2), (const uint32_t[]){70001, 3, 2});
    counted(t, khal_threads(3, 70001, 2), (const uint32_t[]){3, 70001, 2});
    counted(t, khal_threads(2, 3, 70001), (const uint32_t[]){2, 3, 70001});
    counted(t, khal_grid_with_workgroup(khal_groups(70000, 1, 3), 1, 1, 1), (const uint32_t[]){70000, 1, 3});
    counted(t, khal_grid_with_workgroup(khal_groups(2, 66000, 1), 2, 1, 1), (const uint32_t[]){4, 66000, 1});
}

static void last_item(cts* t, uint64_t x, uint64_t y, uint64_t z)
{
    khal_buffer* out = cts_buffer_of(t, NULL, 64, 8);
    const uint64_t begin = cts_now();
    if (!cts_run(t, LIBRARY, .kernel = "last", .grid = khal_groups(x, y, z), .buffers = {out})) return;
    cts_note(t, "%llu x %llu x %llu work-groups in %.2f s", (unsigned long long)x, (unsigned long long)y, (unsigned long long)z,
             (double)(cts_now() - begin) * 1e-9);
    const uint64_t expected[8] = {1, x - 1, y - 1, z - 1, x - 1, y - 1, x, y};
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 8);
}

/* 65,536 x 65,536 is a real grid: its 2^32 groups make a u32 product wrap to 0. */
static void grid_65536_65536(cts* t)
{
    /* the tests' own CUDA driver runs them on one thread of the processor, as they run there anyway */
    const int most_seconds = strcmp(cts_info(t)->name, "Stand-in") == 0 ? 10 : 120;
    last_item(t, 65536, 256, 1); /* once for the time that the large one will take */
    const uint64_t begin = cts_now();
    last_item(t, 65536, 256, 1);
    const double seconds = (double)(cts_now() - begin) * 1e-9 * 256;
    khal_function* function = cts_function(t, &workitem_library, "last");
    uint32_t size[3];
    uint64_t groups[3];
    if (function == NULL || !CTS_OK(t, khal_grid_resolve(function, khal_groups(65536, 65536, 1), size, groups))) return;
    CTS_EQ(t, groups[0], 65536);
    CTS_EQ(t, groups[1], 65536);
    if (seconds > most_seconds) cts_skip(t, "2^32 work-groups would take %.0f s here", seconds);
    else last_item(t, 65536, 65536, 1);
}

static void grid_beyond_one_dimension(cts* t)
{
    last_item(t, 65537, 2, 1);
    last_item(t, 1, 65536 * 3 + 1, 1);
    last_item(t, 1, 1, 70000);
    last_item(t, 16777217, 1, 1);
}

static void fixed_size(cts* t)
{
    enum { X = 16, Y = 8, Z = 4 };
    uint32_t expected[X * Y * Z];
    for (int i = 0; i < X * Y * Z; i++) expected[i] = 842;
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (cts_run(t, LIBRARY, .kernel = "fixed_size", .grid = khal_groups(2, 2, 2), .buffers = {out}))
        CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
    khal_buffer* again = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (cts_run(t, LIBRARY, .kernel = "fixed_size", .grid = khal_threads(X, Y, Z), .buffers = {again}))
        CTS_SAME(t, cts_read_all(t, again), expected, sizeof expected, 4);
}

/* ---- arguments ----------------------------------------------------------------------------------- */

static void release_workitem(void* k) { workitem_release(k); }

static workitem* load(cts* t)
{
    workitem* k = NULL;
    if (!CTS_OK(t, workitem_load(cts_device(t), &k))) return NULL;
    cts_own(t, k, release_workitem);
    return k;
}

static void values(cts* t)
{
    workitem* k = load(t);
    khal_buffer* out = cts_buffer_of(t, NULL, 16 * 8, 8);
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    if (k == NULL || out == NULL || pass == NULL) return;
    workitem_values_args args = {.c = -100, .uc = 200, .s = -30000, .us = 60000, .i = -2000000000, .u = 4000000000u, .l = -(1ll << 50),
                                 .ul = 1ull << 60, .f = 1.5f, .d = -2.25, .f2 = {{1, 2}}, .i3 = {{3, 4, 5}}, .uc4 = {{6, 7, 8, 9}},
                                 .b = {.a = 5, .v = {{1, 2, 3, 4}}, .c = {1, 2, 3}, .in = {-6, 7}}, .out = khal_slice_double_all(out)};
    for (int i = 0; i < 8; i++) args.s8.s[i] = (int16_t)(i * 3 - 4);
    for (int i = 0; i < 16; i++) args.f16.s[i] = (float)i + 0.5f;
    if (!CTS_OK(t, workitem_values(k, pass, khal_threads(4, 1, 1), &args))) return;
    memset(&args, 0xff, sizeof args); /* what a dispatch was given is its own */
    if (!CTS_OK(t, khal_pass_end(pass)) || !cts_submit_and_wait(t, encoder)) return;
    double eight = 0;
    for (int i = 0; i < 8; i++) eight = eight * 2 + (i * 3 - 4);
    const double expected[16] = {-100, 200, -30000, 60000, -2000000000.0, 4000000000.0, -1125899906842624.0, 1152921504606846976.0, 1.5, -2.25, 21, 543,
                                 9876, eight, 0.5 + 75 + 1550, 5 + 1 + 4 + 1 + 30 + 1};
    const double* actual = cts_read_all(t, out);
    for (int i = 0; actual != NULL && i < 16; i++)
        if (actual[i] != expected[i]) cts_fail(t, __FILE__, __LINE__, "argument %d: expected %.17g, got %.17g", i, expected[i], actual[i]);
}

static void arguments_as_variables(cts* t)
{
    enum { COUNT = 100 };
    uint32_t in[COUNT], start[2 * COUNT], expected[2 * COUNT];
    for (uint32_t i = 0; i < 2 * COUNT; i++) start[i] = 1000 + i;
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i] = i * i;
        uint32_t n = 5 + i;
        expected[2 * i] = n * in[i];
        while (n > 3) n -= 2;
        expected[2 * i + 1] = start[2 * i + 1] + n;
    }
    const uint32_t n = 5;
    khal_buffer* out = cts_buffer_of(t, start, sizeof start, 4);
    if (!cts_run(t, LIBRARY, .kernel = "arguments_as_variables", .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {out, cts_buffer_of(t, in, sizeof in, 4)}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
}

static void constants(cts* t)
{
    enum { COUNT = 64 };
    float table[16], expected[COUNT];
    static const float weights[4] = {0.5f, 1.5f, -2.0f, 8.0f};
    const workitem_settings s[2] = {{.scale = {{1, 3, 5, 7}}, .shift = {10, 20, 30, 40}}, {.scale = {{100, 0, 0, 0}}, .shift = {0}}};
    for (int i = 0; i < 16; i++) table[i] = (float)(i - 5);
    for (int i = 0; i < COUNT; i++) expected[i] = table[i % 16] * weights[i % 4] * 3 + (float)s[0].shift[i % 4] + 100;
    const uint32_t usage = KHAL_USAGE_UNIFORM | KHAL_USAGE_STORAGE;
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (!cts_run(t, LIBRARY, .kernel = "constants", .grid = khal_threads(COUNT, 1, 1),
                 .buffers = {cts_buffer(t, .data = table, .size = sizeof table, .element_size = 4, .usage = usage),
                             cts_buffer(t, .data = s, .size = sizeof s, .element_size = sizeof s[0], .usage = usage), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
}

static void locals(cts* t)
{
    workitem* k = load(t);
    static const uint32_t sizes[] = {64, 1, 33};
    for (size_t s = 0; k != NULL && s < 3; s++) {
        const uint32_t n = sizes[s], groups = 3;
        uint32_t expected[64 * 3];
        for (uint32_t i = 0; i < n * groups; i++) {
            const uint32_t m = n - 1 - i % n;
            expected[i] = (uint8_t)(m * 3) + 2 * m * 100 + 3 * m + 4 + 1000 + m;
        }
        khal_buffer* out = cts_buffer_of(t, NULL, n * groups * 4, 4);
        khal_encoder* encoder = cts_encoder(t);
        khal_pass* pass = cts_pass(t, encoder);
        if (pass == NULL || out == NULL) return;
        const workitem_locals_args args = {.bytes_count = n, .doubles_count = n, .vectors_count = n, .out = khal_slice_uint_all(out)};
        if (!CTS_OK(t, workitem_locals(k, pass, khal_grid_with_workgroup(khal_groups(groups, 1, 1), n, 1, 1), &args)) ||
            !CTS_OK(t, khal_pass_end(pass)) || !cts_submit_and_wait(t, encoder))
            return;
        CTS_SAME(t, cts_read_all(t, out), expected, n * groups * 4, 4);
    }
}

/* ---- structs and vectors in buffers -------------------------------------------------------------- */

static void structs(cts* t)
{
    enum { COUNT = 50 };
    workitem_particle in[COUNT], expected[COUNT];
    memset(in, 0, sizeof in);
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i].position = (khal_float3){{(float)i, 2, 3 + (float)i}};
        in[i].mass = (float)i * 0.5f;
        for (int b = 0; b < 4; b++) in[i].tag[b] = (uint8_t)(i + (uint32_t)b);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        workitem_particle p = in[COUNT - 1 - i];
        p.position.y += 1;
        p.tag[i % 4] = (uint8_t)i;
        p.energy = p.mass * 2.0;
        expected[i] = p;
        expected[i].position.x = in[i].position.z;
        expected[i].mass += expected[i].position.x;
    }
    const uint32_t n = COUNT;
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof in, sizeof in[0]);
    if (!cts_run(t, LIBRARY, .kernel = "structs", .grid = khal_threads(COUNT, 1, 1), .push = &n, .push_size = 4,
                 .buffers = {cts_buffer_of(t, in, sizeof in, sizeof in[0]), out}))
        return;
    const workitem_particle* actual = cts_read_all(t, out);
    for (uint32_t i = 0; actual != NULL && i < COUNT; i++) { /* padding is nobody's */
        const bool same = actual[i].position.x == expected[i].position.x && actual[i].position.y == expected[i].position.y &&
                          actual[i].position.z == expected[i].position.z && actual[i].mass == expected[i].mass &&
                          memcmp(actual[i].tag, expected[i].tag, 4) == 0 && actual[i].energy == expected[i].energy;
        if (!same)
            cts_fail(t, __FILE__, __LINE__, "particle %u: expected x = %g, mass = %g, energy = %g, got %g, %g, %g", i, (double)expected[i].position.x,
                     (double)expected[i].mass, expected[i].energy, (double)actual[i].position.x, (double)actual[i].mass, actual[i].energy);
    }
}

static void packed_structs(cts* t)
{
    enum { COUNT = 33 };
    workitem_wire in[COUNT], expected[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i] = (workitem_wire){.kind = (uint8_t)(i * 3), .value = i * 100000, .more = (uint16_t)(i * 1000)};
        expected[i] = in[i];
        expected[i].value = i * 300000 + in[i].kind;
        expected[i].more = (uint16_t)(in[i].more + 1);
    }
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof in, sizeof in[0]);
    if (!cts_run(t, LIBRARY, .kernel = "packed_structs", .grid = khal_threads(COUNT, 1, 1), .buffers = {cts_buffer_of(t, in, sizeof in, sizeof in[0]), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof in, sizeof in[0]);
}

static void reinterpret(cts* t)
{
    enum { COUNT = 256 };
    float in[COUNT], expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)(i - 100) * 0.75f;
        expected[i] = -in[i];
    }
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof in, 4);
    if (!cts_run(t, LIBRARY, .kernel = "reinterpret", .grid = khal_threads(COUNT, 1, 1), .buffers = {cts_buffer_of(t, in, sizeof in, 4), out})) return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof in, 4);
}

static void bytes_of_words(cts* t)
{
    enum { COUNT = 128 };
    uint8_t in[COUNT], expected[COUNT];
    for (int i = 0; i < COUNT; i++) in[i] = (uint8_t)(i * 5);
    for (int i = 0; i < COUNT; i++) expected[i] = in[i ^ 3];
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof in, 1);
    if (!cts_run(t, LIBRARY, .kernel = "bytes_of_words", .grid = khal_threads(COUNT, 1, 1), .buffers = {cts_buffer_of(t, in, sizeof in, 4), out})) return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof in, 1);
}

static void narrow_stores(cts* t)
{
    enum { COUNT = 10001 };
    uint8_t* bytes = cts_alloc(t, COUNT);
    uint16_t* shorts = cts_alloc(t, COUNT * 2);
    int8_t* pairs = cts_alloc(t, COUNT * 2);
    for (uint32_t i = 0; i < COUNT; i++) {
        bytes[i] = (uint8_t)(i * 7);
        shorts[i] = (uint16_t)(i * 11);
        pairs[2 * i] = (int8_t)(uint8_t)i;
        pairs[2 * i + 1] = (int8_t)(uint8_t)-i;
    }
    khal_buffer *a = cts_buffer_of(t, NULL, COUNT, 1), *b = cts_buffer_of(t, NULL, COUNT * 2, 2), *c = cts_buffer_of(t, NULL, COUNT * 2, 2);
    if (!cts_run(t, LIBRARY, .kernel = "narrow_stores", .grid = khal_threads(COUNT, 1, 1), .buffers = {a, b, c})) return;
    CTS_SAME(t, cts_read_all(t, a), bytes, COUNT, 1);
    CTS_SAME(t, cts_read_all(t, b), shorts, COUNT * 2, 2);
    CTS_SAME(t, cts_read_all(t, c), pairs, COUNT * 2, 1);
}

static void pointers(cts* t)
{
    enum { COUNT = 90 };
    uint32_t a[COUNT + 1], b[COUNT + 1], expected[COUNT];
    for (uint32_t i = 0; i <= COUNT; i++) {
        a[i] = i * 17 + 1;
        b[i] = i * 1000 + 5;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t *one = i % 2 == 0 ? a : b, *other = i % 2 == 0 ? b : a;
        expected[i] = one[i] * 3 + (i % 3 == 0 ? a : b)[i] + other[i];
    }
    khal_buffer* out = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (!cts_run(t, LIBRARY, .kernel = "pointers", .grid = khal_threads(COUNT, 1, 1),
                 .buffers = {cts_buffer_of(t, a, sizeof a, 4), cts_buffer_of(t, b, sizeof b, 4), out}))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
}

static void swizzles(cts* t)
{
    enum { COUNT = 40 };
    float a[COUNT][4], out[COUNT][4];
    int32_t b[COUNT][8], out8[COUNT][8];
    for (int i = 0; i < COUNT; i++) {
        for (int l = 0; l < 4; l++) a[i][l] = (float)(i * 4 + l * l);
        for (int l = 0; l < 8; l++) b[i][l] = i * 100 + l;
        float v[4] = {a[i][0], a[i][1], a[i][2], a[i][3]};
        const float h[2] = {v[2], v[0]};
        const float swap = v[0];
        v[0] = v[3], v[3] = swap;
        v[1] += h[0], v[2] += h[1];
        v[3] *= 2;
        float s[3] = {v[0], v[1], 1};
        const float y = s[1];
        s[1] = s[2], s[2] = y; /* t.zy = t.yz */
        v[0] = v[1], v[2] = v[3];
        const float w[4] = {v[3], v[2], s[1], s[0]}; /* (t.xy, v.hi).wzyx */
        const float minus[4] = {1, h[0], h[1], 2};
        for (int l = 0; l < 4; l++) out[i][l] = w[l] + v[0] - minus[l];
        int32_t x[8];
        memcpy(x, b[i], sizeof x);
        const int32_t reversed[4] = {x[7], x[5], x[3], x[1]};
        for (int l = 0; l < 4; l++) x[2 * l] = reversed[l];
        const int32_t low[4] = {x[1], x[0], x[3], x[2]}; /* yxwz */
        memcpy(x + 4, low, sizeof low);
        x[1] = 5, x[7] = 6;
        const int32_t add[2] = {x[4], x[6]}; /* even.hi */
        x[1] += add[0], x[3] += add[1];
        const int32_t three[3] = {x[3], x[1], x[2]}; /* s123, then zxy */
        memcpy(x + 4, three, sizeof three);
        const int32_t result[8] = {x[0], x[1], x[2], x[3], x[7], x[6], x[5], x[4]};
        for (int l = 0; l < 8; l++) out8[i][l] = result[l] + 3;
    }
    khal_buffer *f = cts_buffer_of(t, NULL, sizeof out, 16), *n = cts_buffer_of(t, NULL, sizeof out8, 32);
    if (!cts_run(t, LIBRARY, .kernel = "swizzles", .grid = khal_threads(COUNT, 1, 1),
                 .buffers = {cts_buffer_of(t, a, sizeof a, 16), cts_buffer_of(t, b, sizeof b, 32), f, n}))
        return;
    CTS_SAME(t, cts_read_all(t, f), out, sizeof out, 4);
    CTS_SAME(t, cts_read_all(t, n), out8, sizeof out8, 4);
}

static void vectors(cts* t)
{
    enum { COUNT = 30 };
    float a[COUNT][4], out[COUNT][4];
    for (int i = 0; i < COUNT; i++) {
        for (int l = 0; l < 4; l++) a[i][l] = (float)(i + l * 10);
        const float list1[4] = {1, 2, 3, 4}, list2[4] = {0, 0, a[i][0], a[i][1]};
        const float h[4] = {a[i][0], a[i][1], a[i][2], 9};
        const float r[4] = {a[i][0] + 1, -a[i][1] + 3, a[i][2] + 2, 10};
        for (int l = 0; l < 4; l++) out[i][l] = (list2[l] + list1[l]) * 2 + r[l] + h[l];
    }
    khal_buffer* f = cts_buffer_of(t, NULL, sizeof out, 16);
    if (!cts_run(t, LIBRARY, .kernel = "vectors", .grid = khal_threads(COUNT, 1, 1), .buffers = {cts_buffer_of(t, a, sizeof a, 16), f})) return;
    CTS_SAME(t, cts_read_all(t, f), out, sizeof out, 4);
}

static void vectors_of_three(cts* t)
{
    enum { COUNT = 41 };
    float a[COUNT][4], out[COUNT][4];
    int32_t in[COUNT * 3], packed[COUNT * 3];
    for (int i = 0; i < COUNT; i++) {
        for (int l = 0; l < 4; l++) a[i][l] = (float)(i * 5 + l);
        for (int l = 0; l < 3; l++) {
            out[i][l] = a[i][2 - l] * 2 + (float)(l + 1);
            in[3 * i + l] = i * 7 - l;
            packed[3 * i + l] = in[3 * i + l] + l + 1;
        }
    }
    khal_buffer *f = cts_buffer_of(t, NULL, sizeof out, 16), *n = cts_buffer_of(t, NULL, sizeof packed, 4);
    if (!cts_run(t, LIBRARY, .kernel = "vectors_of_three", .grid = khal_threads(COUNT, 1, 1),
                 .buffers = {cts_buffer_of(t, a, sizeof a, 16), f, cts_buffer_of(t, in, sizeof in, 4), n}))
        return;
    const float(*actual)[4] = cts_read_all(t, f);
    for (int i = 0; actual != NULL && i < COUNT; i++) CTS_SAME(t, actual[i], out[i], 12, 4);
    CTS_SAME(t, cts_read_all(t, n), packed, sizeof packed, 4);
}

static void half_math(cts* t)
{
    enum { COUNT = 64 };
    uint16_t a[COUNT * 4], out[COUNT * 4];
    workitem_halves s[COUNT];
    memset(s, 0, sizeof s);
    for (int i = 0; i < COUNT; i++) {
        long double v[4], r[4];
        for (int l = 0; l < 4; l++) {
            fp_put(FP_HALF, a, (size_t)(4 * i + l), (long double)(i * 4 + l) / 8 - 10);
            v[l] = fp_get(FP_HALF, a, (size_t)(4 * i + l));
        }
        for (int l = 0; l < 4; l++) r[l] = fp_round(FP_HALF, fp_round(FP_HALF, v[l] / 2, ROUND_EVEN) + v[3 - l], ROUND_EVEN);
        r[0] = fp_round(FP_HALF, r[0] + 1, ROUND_EVEN);
        for (int l = 0; l < 4; l++) fp_put(FP_HALF, out, (size_t)(4 * i + l), r[l]);
        fp_put(FP_HALF, &s[i].h, 0, r[1]);
        for (int l = 0; l < 3; l++) fp_put(FP_HALF, s[i].v.s, (size_t)l, r[2 - l]);
    }
    khal_buffer *h = cts_buffer_of(t, NULL, sizeof out, 2), *halves = cts_buffer_of(t, NULL, sizeof s, sizeof s[0]);
    if (!cts_run(t, LIBRARY, .kernel = "half_math", .grid = khal_threads(COUNT, 1, 1), .buffers = {cts_buffer_of(t, a, sizeof a, 2), h, halves})) return;
    CTS_SAME(t, cts_read_all(t, h), out, sizeof out, 2);
    const workitem_halves* actual = cts_read_all(t, halves);
    for (int i = 0; actual != NULL && i < COUNT; i++) {
        CTS_EQ(t, actual[i].h, s[i].h);
        CTS_SAME(t, actual[i].v.s, s[i].v.s, 6, 2);
    }
}

void cts_suite_workitem(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) cts_addf(registry, ids_run, &grids[i], KHAL_FEATURE_INT64, "ids_%s", grids[i].name);
    CTS_ADD(registry, zero_dimensions);
    CTS_ADD(registry, counted_grids);
    cts_add(registry, "grid_65536_65536", grid_65536_65536, NULL, KHAL_FEATURE_INT64);
    cts_add(registry, "grid_beyond_one_dimension", grid_beyond_one_dimension, NULL, KHAL_FEATURE_INT64);
    CTS_ADD(registry, fixed_size);
    cts_add(registry, "values", values, NULL, KHAL_FEATURE_FP64 | KHAL_FEATURE_INT64);
    CTS_ADD(registry, arguments_as_variables);
    CTS_ADD(registry, constants);
    cts_add(registry, "locals", locals, NULL, KHAL_FEATURE_FP64);
    cts_add(registry, "structs", structs, NULL, KHAL_FEATURE_FP64);
    CTS_ADD(registry, packed_structs);
    CTS_ADD(registry, reinterpret);
    CTS_ADD(registry, bytes_of_words);
    CTS_ADD(registry, narrow_stores);
    CTS_ADD(registry, pointers);
    CTS_ADD(registry, swizzles);
    CTS_ADD(registry, vectors);
    CTS_ADD(registry, vectors_of_three);
    CTS_ADD(registry, half_math);
}
