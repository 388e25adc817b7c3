/* expect: too few arguments|khal_grid */
/* A launcher without the grid. */
#include "kernels.khal.h"

khal_status record(const kernels* k, khal_pass* pass, const kernels_scale_args* args);
khal_status record(const kernels* k, khal_pass* pass, const kernels_scale_args* args)
{
#ifdef WRONG
    return kernels_scale(k, pass, args);
#else
    return kernels_scale(k, pass, khal_threads(8, 1, 1), args);
#endif
}
