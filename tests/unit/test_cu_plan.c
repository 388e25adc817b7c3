/* Which node of a CUDA graph comes after which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cuda/cu_plan.h"

#define MOST 4096u

static struct {
    uint32_t count, edges, stop_at;
    uint32_t after[MOST][CU_PLAN_CHAINS_ALONE], after_count[MOST];
} plan;

static bool add(void* user, uint32_t node, const uint32_t* after, uint32_t after_count)
{
    (void)user;
    assert_int_equal(node, plan.count); /* in order, so that what a node comes after is there */
    assert_true(after_count <= CU_PLAN_CHAINS_ALONE);
    if (node == plan.stop_at)
        return false;
    for (uint32_t i = 0; i < after_count; ++i) {
        assert_true(after[i] < node);
        plan.after[node][i] = after[i];
    }
    plan.after_count[node] = after_count;
    plan.edges += after_count;
    ++plan.count;
    return true;
}

static bool make(uint32_t count, const uint32_t* stages)
{
    memset(&plan, 0, sizeof plan);
    plan.stop_at = UINT32_MAX;
    return cu_plan(count, stages, add, NULL);
}

/* Whether `late` comes after `early`, through whatever is between. */
static bool comes_after(uint32_t late, uint32_t early)
{
    static bool seen[MOST];
    memset(seen, 0, sizeof seen);
    seen[late] = true;
    for (uint32_t node = late; node > early; --node)
        for (uint32_t i = 0; seen[node] && i < plan.after_count[node]; ++i)
            seen[plan.after[node][i]] = true;
    return seen[early];
}

static void nothing(void** state)
{
    (void)state;
    assert_true(make(0, NULL));
    assert_int_equal(plan.count, 0);
}

static void dependent_nodes_are_one_chain(void** state)
{
    (void)state;
    uint32_t stages[100];
    for (uint32_t i = 0; i < 100; ++i)
        stages[i] = i;
    assert_true(make(100, stages));
    assert_int_equal(plan.after_count[0], 0);
    for (uint32_t i = 1; i < 100; ++i) {
        assert_int_equal(plan.after_count[i], 1);
        assert_int_equal(plan.after[i][0], i - 1);
    }
}

static void independent_nodes_are_branches(void** state)
{
    (void)state;
    static uint32_t stages[1000];
    assert_true(make(1000, stages));
    assert_int_equal(plan.edges, 1000 - CU_PLAN_CHAINS_ALONE);
    uint32_t roots = 0;
    for (uint32_t i = 0; i < 1000; ++i)
        roots += plan.after_count[i] == 0;
    assert_int_equal(roots, CU_PLAN_CHAINS_ALONE);
    for (uint32_t i = 0; i < CU_PLAN_CHAINS_ALONE; ++i) /* what stands beside each other is independent */
        for (uint32_t k = 0; k < i; ++k)
            assert_false(comes_after(i, k));
    assert_true(make(3, stages));
    assert_int_equal(plan.edges, 0);
}

static void a_stage_comes_after_all_of_the_one_before(void** state)
{
    (void)state;
    static const uint32_t widths[] = {1, 2, 1, 5, 8, 9, 40, 3, 1, 1, 17};
    static uint32_t stages[MOST];
    uint32_t count = 0;
    for (uint32_t s = 0; s < sizeof widths / sizeof widths[0]; ++s)
        for (uint32_t i = 0; i < widths[s]; ++i)
            stages[count++] = 10 * s + 7; /* numbers may have gaps */
    assert_true(make(count, stages));
    assert_int_equal(plan.count, count);
    for (uint32_t late = 0; late < count; ++late)
        for (uint32_t early = 0; early < late; ++early)
            if (stages[early] != stages[late])
                assert_true(comes_after(late, early));
    for (uint32_t i = 0; i < count; ++i)
        assert_true(plan.after_count[i] <= CU_PLAN_CHAINS);
    assert_false(comes_after(2, 1)); /* the two of the second stage */
    assert_int_equal(plan.after_count[3], 2);
}

static void stops_when_told(void** state)
{
    (void)state;
    static const uint32_t stages[4] = {0, 0, 1, 1};
    memset(&plan, 0, sizeof plan);
    plan.stop_at = 2;
    assert_false(cu_plan(4, stages, add, NULL));
    assert_int_equal(plan.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(dependent_nodes_are_one_chain),
        cmocka_unit_test(independent_nodes_are_branches),
        cmocka_unit_test(a_stage_comes_after_all_of_the_one_before),
        cmocka_unit_test(stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
