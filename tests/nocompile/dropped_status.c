/* expect: unused.result */
/* The status of a call that is not a recording one. */
#include "kernels.khal.h"
#ifdef __GNUC__
#pragma GCC diagnostic error "-Wunused-result"
#endif

void load(khal_device* device, kernels** out);
void load(khal_device* device, kernels** out)
{
#ifdef WRONG
    kernels_load(device, out);
#else
    if (kernels_load(device, out) != KHAL_OK)
        *out = NULL;
#endif
}
