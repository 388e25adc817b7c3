/* Control flow without barriers. The reference is the same source, compiled by the host's compiler. */
#include "../pairs.h"

#include "control.khal.h"

#include "../kernels/control_functions.h"

static u32 returns_in_kernel(u32 x, u32 y)
{
    u32 out = 1;
    if (x == 0) return out;
    out = 2;
    for (u32 k = 0; k < 10; k++) {
        if (k == y) return out + 100;
        if (x % 3 == 0) continue;
        if (x % 3 == 1 && k == 5) return out;
        out += k;
        if (out > 40) return out;
    }
    return 3;
}

static const pairs_case cases[] = {
#define CASE(name) {#name, "run_" #name, name},
    CONTROL_FUNCTIONS(CASE)
#undef CASE
    {"returns_in_kernel", "returns_in_kernel", returns_in_kernel},
};

static void control_run(cts* t)
{
    pairs_run(t, &control_library);
}

void cts_suite_control(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) cts_add(registry, cases[i].name, control_run, &cases[i], 0);
}
