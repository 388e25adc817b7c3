/* Atomic functions, asynchronous copies of work-groups, and what is built from them. */
#include "../values.h"

#include "async.khal.h"
#include "atomics.khal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 11 };
static const char* const operation_names[OPERATIONS] = {"add", "sub", "inc", "dec", "min", "max", "and", "or", "xor", "xchg", "cmpxchg"};

typedef struct atomic_case { const char* name; int_kind kind; bool is_local; } atomic_case;

static wide start_of(int_kind k, int operation)
{
    switch (operation) {
    case 0: return int_wrap(k, int_most(k) - 100); /* wraps around on the way */
    case 1: return 50;
    case 3: return 10;
    case 4: return int_most(k);
    case 5: return int_least(k);
    case 6: return int_wrap(k, -1);
    default: return 0;
    }
}

static wide end_of(int_kind k, int operation, const void* values, size_t first, size_t count)
{
    wide r = start_of(k, operation);
    for (size_t i = first; i < first + count; i++) {
        const wide v = int_get(k, values, i);
        const wide bit = (wide)1 << (i % (size_t)int_width(k));
        switch (operation) {
        case 0: case 10: r += v; break;
        case 1: r -= v; break;
        case 2: r += 1; break;
        case 3: r -= 1; break;
        case 4: r = v < r ? v : r; break;
        case 5: r = v > r ? v : r; break;
        case 6: r &= ~bit; break;
        case 7: r |= bit; break;
        case 8: r ^= v; break;
        default: break;
        }
        r = int_wrap(k, r);
    }
    return r;
}

static int compare_wide(const void* a, const void* b)
{
    const wide x = *(const wide*)a, y = *(const wide*)b;
    return x < y ? -1 : x > y;
}

/* One group of work-items on one set of counters: the end values, and what the old values must add up to. */
static void check_counters(cts* t, const atomic_case* c, const void* counters, size_t counter_base, const void* old, size_t row, const void* values,
                           size_t first, size_t count)
{
    const int_kind k = c->kind;
    for (int o = 0; o < OPERATIONS; o++) {
        const wide actual = int_get(k, counters, counter_base + (size_t)o);
        const wide expected = end_of(k, o, values, first, count);
        if (o != 9 && actual != expected)
            cts_fail(t, __FILE__, __LINE__, "%s, %s: expected %s, got %s", c->name, operation_names[o], wide_text(expected).text, wide_text(actual).text);
    }
    wide* sorted = cts_alloc(t, (count + 1) * sizeof *sorted);
    for (int o = 2; o <= 3; o++) { /* the old values of inc and dec are consecutive */
        for (size_t i = 0; i < count; i++) sorted[i] = int_get(k, old, (size_t)o * row + first + i);
        for (size_t i = 0; i < count; i++) sorted[i] = o == 2 ? int_wrap(k, sorted[i] - start_of(k, 2)) : int_wrap(k, start_of(k, 3) - sorted[i]);
        qsort(sorted, count, sizeof *sorted, compare_wide);
        for (size_t i = 0; i < count; i++)
            if (sorted[i] != int_wrap(k, (wide)i)) {
                cts_fail(t, __FILE__, __LINE__, "%s, %s: old value number %zu: expected %zu away from the start, got %s", c->name, operation_names[o], i, i,
                         wide_text(sorted[i]).text);
                break;
            }
    }
    /* xchg: what was given in is what came out, and the last one */
    wide* given = cts_alloc(t, (count + 1) * sizeof *given);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = int_get(k, old, 9 * row + first + i);
        given[i] = int_get(k, values, first + i);
    }
    sorted[count] = int_get(k, counters, counter_base + 9);
    given[count] = start_of(k, 9);
    qsort(sorted, count + 1, sizeof *sorted, compare_wide);
    qsort(given, count + 1, sizeof *given, compare_wide);
    for (size_t i = 0; i <= count; i++)
        if (sorted[i] != given[i]) {
            cts_fail(t, __FILE__, __LINE__, "%s, xchg: value number %zu: expected %s, got %s", c->name, i, wide_text(given[i]).text, wide_text(sorted[i]).text);
            break;
        }
    /* add: the old value and the work-item's own part give the next old value, or the end: as sets */
    for (size_t i = 0; i < count; i++) {
        sorted[i] = int_get(k, old, first + i);
        given[i] = int_wrap(k, sorted[i] + int_get(k, values, first + i));
    }
    sorted[count] = int_get(k, counters, counter_base);
    given[count] = start_of(k, 0);
    qsort(sorted, count + 1, sizeof *sorted, compare_wide);
    qsort(given, count + 1, sizeof *given, compare_wide);
    for (size_t i = 0; i <= count; i++)
        if (sorted[i] != given[i]) {
            cts_fail(t, __FILE__, __LINE__, "%s, add: the old values do not form a chain at number %zu", c->name, i);
            break;
        }
}

static void atomic_run(cts* t)
{
    enum { ITEMS = 1536, GROUP = 64, GROUPS = ITEMS / GROUP };
    const atomic_case* c = cts_data(t);
    const size_t s = int_size(c->kind);
    const uint32_t n = ITEMS;
    void* values = cts_alloc(t, ITEMS * s);
    int_inputs(t, c->kind, ITEMS, values);
    uint8_t start[OPERATIONS * 8];
    for (int o = 0; o < OPERATIONS; o++) int_put(c->kind, start, (size_t)o, start_of(c->kind, o));
    khal_buffer* counters = cts_buffer_of(t, start, OPERATIONS * s, (uint32_t)s);
    khal_buffer* result = cts_buffer_of(t, NULL, GROUPS * OPERATIONS * s, (uint32_t)s);
    khal_buffer* old = cts_buffer_of(t, NULL, OPERATIONS * ITEMS * s, (uint32_t)s);
    cts_launch launch = {.library = &atomics_library, .kernel = c->name, .push = &n, .push_size = 4,
                         .grid = khal_grid_with_workgroup(khal_threads(ITEMS, 1, 1), GROUP, 1, 1)};
    uint32_t at = 0;
    launch.buffers[at++] = counters;
    if (c->is_local) launch.buffers[at++] = result;
    launch.buffers[at++] = cts_buffer_of(t, values, ITEMS * s, (uint32_t)s);
    launch.buffers[at++] = old;
    if (!cts_run_at(t, &launch, __FILE__, __LINE__)) return;
    const void* old_values = cts_read_all(t, old);
    const void* end = cts_read_all(t, c->is_local ? result : counters);
    if (old_values == NULL || end == NULL) return;
    if (!c->is_local) check_counters(t, c, end, 0, old_values, ITEMS, values, 0, ITEMS);
    for (size_t g = 0; c->is_local && g < GROUPS; g++) check_counters(t, c, end, g * OPERATIONS, old_values, ITEMS, values, g * GROUP, GROUP);
}

static void float_xchg(cts* t, bool is_local)
{
    enum { ITEMS = 512, GROUP = 32, GROUPS = ITEMS / GROUP };
    const float start = -1;
    khal_buffer* counter = is_local ? cts_buffer_of(t, NULL, GROUPS * 4, 4) : cts_buffer_of(t, &start, 4, 4);
    khal_buffer* old = cts_buffer_of(t, NULL, ITEMS * 4, 4);
    if (!cts_run(t, .library = &atomics_library, .kernel = is_local ? "local_float_xchg" : "global_float_xchg", .buffers = {counter, old},
                 .grid = khal_grid_with_workgroup(khal_threads(ITEMS, 1, 1), GROUP, 1, 1)))
        return;
    const float *values = cts_read_all(t, old), *last = cts_read_all(t, counter);
    if (values == NULL || last == NULL) return;
    const int groups = is_local ? GROUPS : 1, size = ITEMS / groups;
    for (int g = 0; g < groups; g++) {
        uint8_t seen[ITEMS + 1] = {0};
        for (int i = 0; i <= size; i++) {
            const float value = i == size ? last[g] : values[g * size + i];
            const int slot = value == -1 ? size : (int)value - g * size;
            if (slot < 0 || slot > size || seen[slot]++ != 0) {
                cts_fail(t, __FILE__, __LINE__, "group %d, exchange %d: %g is unexpected or comes twice", g, i, (double)value);
                return;
            }
        }
    }
}

static void global_float_xchg(cts* t) { float_xchg(t, false); }
static void local_float_xchg(cts* t) { float_xchg(t, true); }

static int compare_u32(const void* a, const void* b)
{
    const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
    return x < y ? -1 : x > y;
}

static void append(cts* t)
{
    enum { ITEMS = 20000 };
    uint32_t* values = cts_alloc(t, ITEMS * 4);
    uint32_t* expected = cts_alloc(t, ITEMS * 4);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        values[i] = i * 7 + (uint32_t)cts_random_below(t, 5);
        if (values[i] % 3 == 0) expected[count++] = values[i];
    }
    khal_buffer* list = cts_buffer_of(t, NULL, ITEMS * 4, 4);
    khal_buffer* counter = cts_buffer_of(t, NULL, 4, 4);
    if (!cts_run(t, .library = &atomics_library, .kernel = "append", .grid = khal_threads(ITEMS, 1, 1),
                 .buffers = {cts_buffer_of(t, values, ITEMS * 4, 4), list, counter}))
        return;
    uint32_t *actual = cts_read_all(t, list), *actual_count = cts_read_all(t, counter);
    if (actual == NULL || actual_count == NULL || !CTS_EQ(t, *actual_count, count)) return;
    qsort(actual, count, 4, compare_u32);
    qsort(expected, count, 4, compare_u32);
    CTS_SAME(t, actual, expected, count * 4, 4);
}

static void histogram(cts* t)
{
    enum { ITEMS = 100003 };
    const uint32_t n = ITEMS;
    uint8_t* values = cts_alloc(t, ITEMS);
    uint32_t expected[256] = {0};
    for (uint32_t i = 0; i < ITEMS; i++) {
        values[i] = (uint8_t)(cts_random_below(t, 16) * cts_random_below(t, 17));
        expected[values[i]]++;
    }
    khal_buffer* bins = cts_buffer_of(t, NULL, sizeof expected, 4);
    if (!cts_run(t, .library = &atomics_library, .kernel = "histogram", .push = &n, .push_size = 4,
                 .grid = khal_grid_with_workgroup(khal_groups(13, 1, 1), 64, 1, 1), .buffers = {cts_buffer_of(t, values, ITEMS, 1), bins}))
        return;
    CTS_SAME(t, cts_read_all(t, bins), expected, sizeof expected, 4);
}

void cts_suite_atomics(cts_registry* registry)
{
    static const atomic_case cases[] = {
        {"global_int", INT_INT, false}, {"global_uint", INT_UINT, false}, {"global_long", INT_LONG, false}, {"global_ulong", INT_ULONG, false},
        {"global_int_old_names", INT_INT, false}, {"local_int", INT_INT, true}, {"local_uint", INT_UINT, true}, {"local_long", INT_LONG, true},
        {"local_ulong", INT_ULONG, true}, {"local_int_old_names", INT_INT, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cts_add(registry, cases[i].name, atomic_run, &cases[i], cases[i].kind >= INT_LONG ? KHAL_FEATURE_INT64_ATOMICS : 0);
    CTS_ADD(registry, global_float_xchg);
    CTS_ADD(registry, local_float_xchg);
    CTS_ADD(registry, append);
    CTS_ADD(registry, histogram);
}

/* ---- asynchronous copies ------------------------------------------------------------------------- */

typedef struct async_case { const char* type; uint32_t lanes; char kind; uint32_t lane_size; uint32_t features; } async_case;

static void add_one(const async_case* c, uint8_t* bytes, size_t lane)
{
    if (c->kind == 'f' && c->lane_size == 4) {
        float f;
        memcpy(&f, bytes + lane * 4, 4);
        f += 1;
        memcpy(bytes + lane * 4, &f, 4);
    } else if (c->kind == 'f') {
        double d;
        memcpy(&d, bytes + lane * 8, 8);
        d += 1;
        memcpy(bytes + lane * 8, &d, 8);
    } else {
        const int_kind k = c->lane_size == 1 ? INT_CHAR : c->lane_size == 2 ? INT_SHORT : c->lane_size == 4 ? INT_INT : INT_LONG;
        int_put(k, bytes, lane, int_get(k, bytes, lane) + 1);
    }
}

static void put_lane(cts* t, const async_case* c, uint8_t* bytes, size_t lane)
{
    const int32_t value = (int32_t)cts_random_below(t, 200) - 100;
    if (c->kind == 'f' && c->lane_size == 4) {
        const float f = (float)value;
        memcpy(bytes + lane * 4, &f, 4);
    } else if (c->kind == 'f') {
        const double d = value;
        memcpy(bytes + lane * 8, &d, 8);
    } else {
        const int_kind k = c->lane_size == 1 ? INT_CHAR : c->lane_size == 2 ? INT_SHORT : c->lane_size == 4 ? INT_INT : INT_LONG;
        int_put(k, bytes, lane, value);
    }
}

static void async_run(cts* t)
{
    enum { GROUPS = 5, COUNT = 37, GROUP = 16, STRIDE = 3 }; /* counts that no work-group size divides */
    const async_case* c = cts_data(t);
    const size_t element = (size_t)c->lanes * c->lane_size;
    const size_t size = (size_t)GROUPS * COUNT * STRIDE * element;
    uint8_t *in = cts_alloc(t, size), *expected = cts_alloc(t, size);
    for (size_t i = 0; i < size / c->lane_size; i++) put_lane(t, c, in, i);
    memcpy(expected, in, (size_t)GROUPS * COUNT * element);
    for (size_t i = 0; i < (size_t)GROUPS * COUNT * c->lanes; i++) add_one(c, expected, i);
    const uint32_t push[2] = {COUNT, STRIDE};
    char kernel[64];
    snprintf(kernel, sizeof kernel, "async_%s", c->type);
    khal_buffer* source = cts_buffer_of(t, in, size, (uint32_t)element);
    khal_buffer* out = cts_buffer_of(t, NULL, size, (uint32_t)element);
    const khal_grid grid = khal_grid_with_workgroup(khal_groups(GROUPS, 1, 1), GROUP, 1, 1);
    if (!cts_run(t, .library = &async_library, .kernel = kernel, .grid = grid, .push = push, .push_size = 4, .buffers = {source, out},
                 .local_sizes = {COUNT * element}, .local_count = 1))
        return;
    CTS_SAME(t, cts_read_all(t, out), expected, size, element);

    /* every third element of each group's part */
    memset(expected, 0, size);
    for (size_t i = 0; i < (size_t)GROUPS * COUNT; i++) memcpy(expected + i * STRIDE * element, in + i * STRIDE * element, element);
    snprintf(kernel, sizeof kernel, "strided_%s", c->type);
    khal_buffer* strided = cts_buffer_of(t, NULL, size, (uint32_t)element);
    if (!cts_run(t, .library = &async_library, .kernel = kernel, .grid = grid, .push = push, .push_size = 8, .buffers = {source, strided},
                 .local_sizes = {2 * COUNT * element}, .local_count = 1))
        return;
    CTS_SAME(t, cts_read_all(t, strided), expected, size, element);
}

void cts_suite_async(cts_registry* registry)
{
    static const async_case cases[] = {
        {"char", 1, 'i', 1, 0}, {"short", 1, 'i', 2, 0}, {"int", 1, 'i', 4, 0}, {"uint", 1, 'i', 4, 0}, {"long", 1, 'i', 8, KHAL_FEATURE_INT64},
        {"float", 1, 'f', 4, 0}, {"double", 1, 'f', 8, KHAL_FEATURE_FP64}, {"float2", 2, 'f', 4, 0}, {"float4", 4, 'f', 4, 0}, {"uchar16", 16, 'i', 1, 0},
        {"int8", 8, 'i', 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) cts_add(registry, cases[i].type, async_run, &cases[i], cases[i].features);
}
