#include "cu_plan.h"

#include <string.h>

bool cu_plan(uint32_t count, const uint32_t* stages, cu_plan_fn add, void* user)
{
    uint32_t ends[CU_PLAN_CHAINS_ALONE]; /* of the stage before */
    uint32_t end_count = 0;
    const bool is_alone = count > 0 && stages[0] == stages[count - 1];
    const uint32_t most = is_alone ? CU_PLAN_CHAINS_ALONE : CU_PLAN_CHAINS;
    for (uint32_t first = 0, behind; first < count; first = behind) {
        behind = first + 1;
        while (behind < count && stages[behind] == stages[first])
            ++behind;
        const uint32_t width = behind - first < most ? behind - first : most;
        uint32_t chain[CU_PLAN_CHAINS_ALONE];
        for (uint32_t i = first; i < behind; ++i) {
            uint32_t* last = &chain[(i - first) % width];
            const bool is_head = i - first < width;
            if (!add(user, i, is_head ? ends : last, is_head ? end_count : 1))
                return false;
            *last = i;
        }
        memcpy(ends, chain, width * sizeof ends[0]);
        end_count = width;
    }
    return true;
}
