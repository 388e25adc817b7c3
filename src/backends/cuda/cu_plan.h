/* Which node of a graph comes after which, out of a list of commands with barriers. */
#ifndef KHAL_CU_PLAN_H
#define KHAL_CU_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* The nodes of a stage, what stands between two barriers, are independent. They are spread over at most so many branches, each a
 * chain: the driver gives branches to queues of its own, of which the device has few, and pays for more. */
#define CU_GRAPH_BRANCHES 4u

/* Adds the node number `node`, or, where it is `count` or more, a join, after those numbered in `after`. False: stop. */
typedef bool (*cu_plan_fn)(void* user, uint32_t node, const uint32_t* after, uint32_t after_count);

/* stages[i]: of node i, in order, never falling. The nodes of a stage come after all those of the stage before: directly where
 * either has one branch, else through a join, an empty node. `branches`: at most CU_GRAPH_BRANCHES; 0 counts as 1. False: `add`
 * did. */
bool cu_plan(uint32_t count, const uint32_t* stages, uint32_t branches, cu_plan_fn add, void* user);

#endif
