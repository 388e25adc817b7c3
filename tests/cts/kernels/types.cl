#include "type_functions.h"

#define CALL(NAME)                                                                                                     \
    kernel void run_##NAME(global const uint* x, global const uint* y, global uint* out)                               \
    {                                                                                                                  \
        const size_t i = get_global_id(0);                                                                             \
        out[i] = NAME(x[i], y[i]);                                                                                     \
    }
TYPE_FUNCTIONS(CALL)
