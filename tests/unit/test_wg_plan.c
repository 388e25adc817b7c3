/* The WebGPU backend's arithmetic: folded grids against every group counted, arguments on bindings against the API's
 * rules, and the text that the runtime adds to a kernel. */
#include "front.h"

#include "backends/webgpu/wg_kernel.h"

/* ---- grids ------------------------------------------------------------------------------------- */

/* Runs all calls of the API, and counts how often each logical group is run. */
static void check_fold(const uint64_t groups[3], uint32_t most)
{
    wg_fold fold;
    assert_true(wg_fold_grid(groups, most, &fold));
    const size_t total = (size_t)(groups[0] * groups[1] * groups[2]);
    unsigned char* seen = calloc(total, 1);
    assert_non_null(seen);
    size_t run = 0;
    for (uint64_t base_z = 0; base_z < groups[2]; base_z += fold.z_step) {
        const uint32_t depth = wg_fold_depth(&fold, groups[2], base_z);
        assert_true(fold.x > 0 && fold.y > 0 && depth > 0);
        assert_true(fold.x <= most && fold.y <= most && depth <= most);
        for (uint32_t z = 0; z < depth; ++z)
            for (uint32_t y = 0; y < fold.y; ++y)
                for (uint32_t x = 0; x < fold.x; ++x) {
                    const uint32_t* f = fold.fold;
                    const uint64_t logical[3] = {x + (uint64_t)f[0] * (z % f[1]),
                                                 y + (uint64_t)f[2] * (z / f[1] % f[3]), base_z + z / (f[1] * f[3])};
                    if (logical[0] >= groups[0] || logical[1] >= groups[1] || logical[2] >= groups[2])
                        continue;
                    const size_t at = (size_t)((logical[2] * groups[1] + logical[1]) * groups[0] + logical[0]);
                    assert_int_equal(seen[at], 0);
                    seen[at] = 1;
                    ++run;
                }
    }
    assert_int_equal(run, total);
    free(seen);
}

static void small_grids_fold(void** state)
{
    (void)state;
    for (uint32_t most = 3; most <= 9; most += 3)
        for (uint64_t x = 1; x < 30; x += 1)
            for (uint64_t y = 1; y < 14; y += 3)
                for (uint64_t z = 1; z < 23; z += 7) {
                    const uint64_t groups[3] = {x, y, z};
                    const uint64_t rows = ((x - 1) / most + 1) * ((y - 1) / most + 1);
                    wg_fold fold;
                    if (rows <= most)
                        check_fold(groups, most);
                    else
                        assert_false(wg_fold_grid(groups, most, &fold));
                }
}

static void large_grids_fold(void** state)
{
    (void)state;
    wg_fold fold;
    const uint64_t plain[3] = {65535, 65535, 65535}, square[3] = {65536, 65536, 1}, deep[3] = {1, 1, UINT32_MAX};
    assert_true(wg_fold_grid(plain, 65535, &fold));
    assert_int_equal(fold.x, 65535);
    assert_int_equal(wg_fold_depth(&fold, 65535, 0), 65535);
    assert_true(wg_fold_grid(square, 65535, &fold));
    assert_int_equal(fold.x, 32768);
    assert_int_equal(fold.y, 32768);
    assert_int_equal(wg_fold_depth(&fold, 1, 0), 4);
    assert_true(wg_fold_grid(deep, 65535, &fold));
    assert_int_equal(fold.z_step, 65535);
    assert_int_equal(wg_fold_depth(&fold, UINT32_MAX, UINT64_C(65535) * 65536), 65535);
    assert_int_equal(wg_fold_depth(&fold, UINT32_MAX - 1, UINT64_C(65535) * 65536), 65534);
    const uint64_t line[3] = {UINT64_C(65535) * 65535, 1, 1}, longer[3] = {UINT64_C(65535) * 65535 + 1, 1, 1};
    assert_true(wg_fold_grid(line, 65535, &fold));
    assert_false(wg_fold_grid(longer, 65535, &fold));
    const uint64_t wide[3] = {UINT64_C(1) << 24, UINT64_C(1) << 24, 1}, too_deep[3] = {1, 1, UINT64_C(1) << 32};
    assert_false(wg_fold_grid(wide, 65535, &fold));
    assert_false(wg_fold_grid(too_deep, 65535, &fold));
    /* A surplus group whose first id is 2^32 would be the work-item 0 again. */
    const uint64_t wraps[3] = {1u << 24, 1, 1}, less[3] = {(1u << 24) - 1, 1, 1};
    const uint32_t size[3] = {256, 1, 1};
    assert_true(wg_fold_grid(wraps, 65535, &fold));
    assert_true(fold.x * fold.fold[1] > 1u << 24);
    assert_false(wg_fold_has_ids(&fold, size, 1));
    assert_true(wg_fold_grid(less, 65535, &fold));
    assert_int_equal(wg_fold_has_ids(&fold, size, 1), fold.x * fold.fold[1] < 1u << 24);
    const uint64_t huge[3] = {UINT64_MAX, UINT64_MAX, 1};
    assert_false(wg_fold_grid(huge, 65535, &fold));
}

/* ---- bindings ---------------------------------------------------------------------------------- */

/* What the API asks of any set of bindings, and what the kernel does. */
static void check_placement(const wg_argument* arguments, uint32_t count, uint32_t align, uint64_t most,
                            const wg_placement* p)
{
    for (uint32_t i = 0; i < count; ++i) {
        const wg_window* w = &p->windows[p->window_of[i]];
        const wg_argument* a = &arguments[i];
        assert_true(p->window_of[i] < p->window_count);
        assert_true(w->serial == a->serial);
        assert_true(w->offset + p->rests[i] == a->offset);
        assert_true(w->offset + w->size >= a->offset + a->size);
        assert_true(!a->writes || w->writes);
        if (!p->is_shared)
            assert_true(p->window_of[i] == i && w->writes == a->writes);
    }
    for (uint32_t i = 0; i < p->window_count; ++i) {
        const wg_window* w = &p->windows[i];
        assert_true(w->offset % align == 0 && w->size % 4 == 0 && w->size <= most);
        assert_true(p->window_of[w->argument] == i);
        for (uint32_t k = 0; k < i && w->serial != 0; ++k) {
            const wg_window* o = &p->windows[k];
            if (o->serial != w->serial || (!o->writes && !w->writes))
                continue;
            assert_true(o->writes && w->writes);
            assert_true(o->offset + o->size <= w->offset || w->offset + w->size <= o->offset);
        }
    }
}

static uint32_t random_below(uint32_t* x, uint32_t n)
{
    *x = *x * 1664525u + 1013904223u;
    return (*x >> 8) % n;
}

static void random_arguments(void** state)
{
    (void)state;
    uint32_t x = 12345, shared = 0, refused = 0;
    for (int round = 0; round < 200000; ++round) {
        wg_argument arguments[8];
        wg_placement p;
        uint32_t wrong = 99;
        const uint32_t count = random_below(&x, 8) + 1, align = 16u << random_below(&x, 5);
        const uint64_t most = 200 + random_below(&x, 8000);
        for (uint32_t i = 0; i < count; ++i) {
            arguments[i].serial = random_below(&x, 4);
            arguments[i].offset = random_below(&x, 6000);
            arguments[i].size = random_below(&x, 600) + 1;
            arguments[i].writes = random_below(&x, 3) == 0;
            if (arguments[i].serial == 0)
                arguments[i].offset = arguments[i].size = 0;
        }
        const wg_place_result result = wg_place(arguments, count, align, most, &p, &wrong);
        if (result == WG_PLACE_OK) {
            check_placement(arguments, count, align, most, &p);
            shared += p.is_shared;
        } else {
            assert_true(wrong < count);
            ++refused;
        }
        if (result == WG_PLACE_TOO_LARGE)
            assert_true(arguments[wrong].size + align > most);
    }
    assert_true(shared > 1000 && refused > 1000);
}

static void which_arguments_share(void** state)
{
    (void)state;
    wg_placement p;
    uint32_t wrong = 0;
    const uint64_t most = 1 << 20;
    const wg_argument reads[2] = {{1, 0, 100, false}, {1, 50, 100, false}};
    assert_int_equal(wg_place(reads, 2, 256, most, &p, &wrong), WG_PLACE_OK);
    assert_false(p.is_shared);
    const wg_argument apart[2] = {{1, 0, 100, true}, {1, 256, 100, true}};
    assert_int_equal(wg_place(apart, 2, 256, most, &p, &wrong), WG_PLACE_OK);
    assert_false(p.is_shared);
    const wg_argument near[2] = {{1, 0, 100, true}, {1, 252, 100, true}};
    assert_int_equal(wg_place(near, 2, 256, most, &p, &wrong), WG_PLACE_OK);
    assert_true(p.is_shared);
    assert_int_equal(p.window_count, 1);
    assert_int_equal(p.rests[1], 252);
    const wg_argument mixed[4] = {{1, 0, 100, true}, {2, 8, 4, false}, {1, 100000, 8, false}, {0, 0, 0, true}};
    assert_int_equal(wg_place(mixed, 4, 256, most, &p, &wrong), WG_PLACE_OK);
    assert_true(p.is_shared);
    assert_int_equal(p.window_count, 3);
    assert_int_equal(p.window_of[2], p.window_of[0]);
    /* Too far apart for one binding: two, both for writing. */
    const wg_argument far[2] = {{1, 0, 100, true}, {1, 5u << 20, 8, false}};
    assert_int_equal(wg_place(far, 2, 256, most, &p, &wrong), WG_PLACE_OK);
    assert_true(p.is_shared);
    assert_int_equal(p.window_count, 2);
    assert_true(p.windows[0].writes && p.windows[1].writes);
    const wg_argument over[2] = {{1, 0, 800000, true}, {1, 700000, 800000, false}};
    assert_int_equal(wg_place(over, 2, 256, most, &p, &wrong), WG_PLACE_ALIAS);
    const wg_argument large[1] = {{1, 4, (1 << 20) - 2, false}};
    assert_int_equal(wg_place(large, 1, 256, most, &p, &wrong), WG_PLACE_TOO_LARGE);
}

/* ---- text -------------------------------------------------------------------------------------- */

static void composed(const khal_wgsl_kernel* kernel, const wg_variant* variant, const char* expected)
{
    char text[4096], cut[32];
    const khal_kernel_info* info = &front_kernels[K_ADD];
    const size_t length = wg_compose(kernel, info, variant, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_string_equal(text, expected);
    assert_int_equal(wg_compose(kernel, info, variant, NULL, 0), length);
    assert_int_equal(wg_compose(kernel, info, variant, cut, sizeof cut), length);
    assert_true(strlen(cut) < sizeof cut);
}

static void texts(void** state)
{
    (void)state;
    static const char* const names[] = {"a", "b"};
    khal_wgsl_kernel kernel = {.source = "plain", .shared_source = "shared", .names = names};
    wg_variant v = {.block = WG_BLOCK_NONE, .window_count = 2};
    composed(&kernel, &v, "plain\n");
    v.block = WG_BLOCK_IMMEDIATE;
    composed(&kernel, &v, "plain\nvar<immediate> khal: khal_block;\n");
    v.block = WG_BLOCK_UNIFORM;
    composed(&kernel, &v, "plain\n@group(0) @binding(2) var<uniform> khal: khal_block;\n");
    v.is_shared = true;
    v.window_count = 1;
    v.writes[0] = 1;
    composed(&kernel, &v,
             "shared\n@group(0) @binding(0) var<storage, read_write> khal_words_0: array<u32>;\n"
             "fn a_load(i: u32) -> u32 { return khal_words_0[i]; }\n"
             "fn a_store(i: u32, value: u32) { khal_words_0[i] = value; }\n"
             "fn b_load(i: u32) -> u32 { return khal_words_0[i]; }\n"
             "fn b_store(i: u32, value: u32) { khal_words_0[i] = value; }\n"
             "@group(0) @binding(1) var<uniform> khal: khal_block;\n");
    kernel.flags = KHAL_WGSL_USES_ATOMICS;
    char text[8192];
    wg_compose(&kernel, &front_kernels[K_ADD], &v, text, sizeof text);
    assert_non_null(strstr(text, "khal_words_0: array<atomic<u32>>"));
    assert_non_null(
        strstr(text, "fn b_exchange(i: u32, value: u32) -> u32 { return atomicExchange(&khal_words_0[i], value); }"));
    assert_non_null(strstr(text, "fn a_compare_exchange(i: u32, comparand: u32, value: u32) -> u32"));
    v.writes[0] = 0; /* read alone: plain words */
    wg_compose(&kernel, &front_kernels[K_ADD], &v, text, sizeof text);
    assert_non_null(strstr(text, "var<storage, read> khal_words_0: array<u32>"));
    assert_null(strstr(text, "store("));
}

static void block_layouts(void** state)
{
    (void)state;
    khal_kernel_info info = {0};
    wg_block_layout l = wg_block_lay_out(&info);
    assert_int_equal(l.size, 48);
    info.binding_count = 3;
    info.local_count = 5;
    info.push_constant_size = 17;
    l = wg_block_lay_out(&info);
    assert_int_equal(l.slices, 48);
    assert_int_equal(l.locals, 48 + 32);
    assert_int_equal(l.push, 48 + 32 + 32);
    assert_int_equal(l.size, 48 + 32 + 32 + 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_grids_fold),
        cmocka_unit_test(large_grids_fold),
        cmocka_unit_test(which_arguments_share),
        cmocka_unit_test(random_arguments),
        cmocka_unit_test(texts),
        cmocka_unit_test(block_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
