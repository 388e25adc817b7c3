/* Types, conversions and private memory. The reference is the same source, compiled by the host's compiler. */
#include "../pairs.h"

#include <string.h>

#include "types.khal.h"

#include "../kernels/type_functions.h"

static const pairs_case cases[] = {
#define CASE(name) {#name, "run_" #name, name},
    TYPE_FUNCTIONS(CASE)
#undef CASE
};

static void types_run(cts* t)
{
    pairs_run(t, &types_library);
}

void cts_suite_types(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cts_add(registry, cases[i].name, types_run, &cases[i], strcmp(cases[i].name, "double_math") == 0 ? KHAL_FEATURE_FP64 : 0);
}
