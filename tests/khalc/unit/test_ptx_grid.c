/* How a block walks over a grid: <khal/ptx.h> compiled for the host, where the ids of blocks are variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint32_t block, blocks;
#define __nvvm_read_ptx_sreg_ctaid_x() block
#define __nvvm_read_ptx_sreg_nctaid_x() blocks
#define __nvvm_read_ptx_sreg_tid_x() 0
#define __nvvm_read_ptx_sreg_tid_y() 0
#define __nvvm_read_ptx_sreg_tid_z() 0
#define __nvvm_read_ptx_sreg_ctaid_y() 0
#define __nvvm_read_ptx_sreg_ctaid_z() 0
#define __syncthreads() (void)0
/* address spaces mean something else on the host, or nothing */
#define address_space(n) unused
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wattributes"
#pragma clang diagnostic ignored "-Wunused-function"
#else
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include <khal/ptx.h>

/* Goes through all groups of all blocks, or of `only` that block, and looks at each: in order, and each once. Returns how many. */
static uint64_t walk(const khal_ptx_grid* launch, uint64_t x, uint64_t y, uint32_t begin, uint32_t end)
{
    uint64_t count = 0;
    for (block = begin; block < end; block++) {
        khal_ptx_large large;
        khal_ptx_walk w;
        uint64_t wanted = block;
        khal_ptx_start(&w, &large, launch);
        for (; khal_ptx_has_group(&w); khal_ptx_step(&w)) {
            const khal_ptx_group g = khal_ptx_here(&w);
            assert_true(g.x < x && g.y < y);
            assert_int_equal((g.z * y + g.y) * x + g.x, wanted);
            wanted += blocks;
            count++;
        }
        assert_true(wanted >= khal_ptx_groups(&w, x) * khal_ptx_groups(&w, y) * khal_ptx_groups(&w, z));
    }
    return count;
}

static khal_ptx_grid grid(uint64_t x, uint64_t y, uint64_t z)
{
    return (khal_ptx_grid){.group_count = {x, y, z}, .work_dim = 3, .is_exact = 1};
}

static void small_grids(void** state)
{
    (void)state;
    static const uint32_t sizes[][3] = {{1, 1, 1}, {7, 1, 1}, {1, 7, 1}, {1, 1, 7}, {5, 3, 2}, {2, 5, 3}, {64, 1, 3}, {0, 4, 4}, {4, 0, 4}, {4, 4, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (blocks = 1; blocks < 40; blocks += 3) {
            const uint32_t* s = sizes[i];
            const khal_ptx_grid launch = grid(s[0], s[1], s[2]);
            assert_int_equal(walk(&launch, s[0], s[1], 0, blocks), (uint64_t)s[0] * s[1] * s[2]);
        }
}

/* More than 2^31 groups, in one dimension and in several: what some of 2^31 - 1 blocks do. */
static void large_grids(void** state)
{
    (void)state;
    static const uint64_t sizes[][3] = {{0x80000000u, 1, 1},   {0x80000001u, 1, 1},  {1, 0x80000001u, 1}, {1, 1, 0x300000000u},
                                        {0x500000000u, 1, 3},  {65536, 65536, 1},    {65536, 65536, 3},   {3, 0x100000001u, 2},
                                        {0x7fffffffu, 3, 2},   {0xffffffffu, 2, 1}};
    blocks = 0x7fffffffu;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint64_t* s = sizes[i];
        const uint64_t total = s[0] * s[1] * s[2];
        const khal_ptx_grid launch = grid(s[0], s[1], s[2]);
        static const uint32_t some[] = {0, 1, 2, 65535, 65536, 0x3fffffffu, 0x7ffffffeu};
        for (size_t k = 0; k < sizeof some / sizeof some[0]; k++)
            assert_int_equal(walk(&launch, s[0], s[1], some[k], some[k] + 1), total / blocks + (some[k] < total % blocks));
    }
    blocks = 1u << 20; /* and many steps */
    const khal_ptx_grid launch = grid(3, 0x40000001u, 2);
    assert_int_equal(walk(&launch, 3, 0x40000001u, 12345, 12346), (3 * 0x40000001ull * 2 - 12345 + blocks - 1) / blocks);
}

/* Counts that lie in memory: as many as can be numbered run, and of more none, which is told. */
static void counts_in_memory(void** state)
{
    (void)state;
    static const struct {
        uint32_t counts[3];
        bool too_many;
    } cases[] = {
        {{5, 3, 2}, false},
        {{0, 3, 2}, false},
        {{0xffffffffu, 1, 1}, false},
        {{0xffffffffu, 0x80000000u, 1}, false},
        {{0xffffffffu, 0xffffffffu, 1}, true},
        {{0x80000000u, 0x80000000u, 2}, true}, /* 2^63 */
        {{0x80000000u, 0x7fffffffu, 2}, false},
        {{0xffffffffu, 0xffffffffu, 0xffffffffu}, true},
        {{0x80000000u, 0x80000000u, 4}, true}, /* 2^64 */
    };
    blocks = 0x7fffffffu;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t* c = cases[i].counts;
        uint32_t too_many = 0;
        const khal_ptx_grid launch = {.group_count = {9, 9, 9}, .counts = (uintptr_t)c, .too_many = (uintptr_t)&too_many};
        khal_ptx_large large;
        khal_ptx_walk w;
        block = 1;
        khal_ptx_start(&w, &large, &launch);
        const bool is_empty = !c[0] || !c[1] || !c[2];
        assert_int_equal(khal_ptx_has_group(&w), !is_empty && !cases[i].too_many);
        assert_int_equal(too_many, cases[i].too_many);
        if (!cases[i].too_many)
            assert_int_equal(khal_ptx_groups(&w, x), c[0]);
    }
}

/* Who is outside the grid that was asked for; nobody where it is exact, or its counts lie in memory. */
static void surplus(void** state)
{
    (void)state;
    khal_ptx_grid launch = {.group_count = {3, 2, 1}, .global_size = {20, 7, 1}, .work_dim = 2};
    const khal_ptx_group inside = {1, 1, 0}, right = {2, 0, 0}, below = {0, 2, 0};
    assert_false(khal_ptx_is_beyond(&launch, &inside, 8, 4, 1));
    assert_false(khal_ptx_is_beyond(&launch, &right, 8, 4, 1));
    assert_true(khal_ptx_is_beyond(&launch, &right, 10, 4, 1));
    assert_true(khal_ptx_is_beyond(&launch, &below, 8, 4, 1));
    launch.work_dim = 1;
    assert_false(khal_ptx_is_beyond(&launch, &below, 8, 4, 1));
    launch.is_exact = 1;
    assert_false(khal_ptx_is_beyond(&launch, &right, 10, 4, 1));
    launch.is_exact = 0;
    launch.counts = 16;
    assert_false(khal_ptx_is_beyond(&launch, &right, 10, 4, 1));
    block = 2;
    khal_ptx_plain plain = {.global_size = {20, 1, 1}, .work_dim = 1};
    assert_true(khal_ptx_is_surplus(&plain, 10, 1, 1));
    assert_false(khal_ptx_is_surplus(&plain, 9, 1, 1));
    plain.is_exact = 1;
    assert_false(khal_ptx_is_surplus(&plain, 10, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_grids),
        cmocka_unit_test(large_grids),
        cmocka_unit_test(counts_in_memory),
        cmocka_unit_test(surplus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
