#include "cu_plan.h"

#include <string.h>

bool cu_plan(uint32_t count, const uint32_t* stages, uint32_t branches, cu_plan_fn add, void* user)
{
    uint32_t tails[CU_GRAPH_BRANCHES]; /* the last node of each branch of the stage before */
    uint32_t tail_count = 0, joins = 0;
    if (branches == 0 || branches > CU_GRAPH_BRANCHES)
        branches = branches == 0 ? 1 : CU_GRAPH_BRANCHES;
    for (uint32_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && stages[end] == stages[first])
            ++end;
        const uint32_t width = end - first < branches ? end - first : branches;
        if (tail_count > 1 && width > 1) {
            const uint32_t join = count + joins++;
            if (!add(user, join, tails, tail_count))
                return false;
            tails[0] = join;
            tail_count = 1;
        }
        uint32_t branch[CU_GRAPH_BRANCHES];
        for (uint32_t i = first; i < end; ++i) {
            uint32_t* last = &branch[(i - first) % width];
            const bool is_head = i - first < width;
            if (!add(user, i, is_head ? tails : last, is_head ? tail_count : 1))
                return false;
            *last = i;
        }
        memcpy(tails, branch, width * sizeof tails[0]);
        tail_count = width;
    }
    return true;
}
