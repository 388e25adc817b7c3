#include "control_functions.h"

/* Through a call of a function. */
#define CALL(NAME)                                                                                                     \
    kernel void run_##NAME(global const uint* x, global const uint* y, global uint* out)                               \
    {                                                                                                                  \
        const size_t i = get_global_id(0);                                                                             \
        out[i] = NAME(x[i], y[i]);                                                                                     \
    }
CONTROL_FUNCTIONS(CALL)

/* Returns in the kernel itself, at several depths. */
kernel void returns_in_kernel(global const uint* x, global const uint* y, global uint* out)
{
    const size_t i = get_global_id(0);
    out[i] = 1;
    if (x[i] == 0) return;
    out[i] = 2;
    for (uint k = 0; k < 10; k++) {
        if (k == y[i]) {
            out[i] += 100;
            return;
        }
        switch (x[i] % 3) {
        case 0: continue;
        case 1: if (k == 5) return;
        default: out[i] += k; break;
        }
        while (true) {
            if (out[i] > 40) return;
            break;
        }
    }
    out[i] = 3;
}
