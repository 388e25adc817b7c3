/* expect: unused.result|nodiscard */
/* The status of a call that is not a recording one. */
#include "kernels.khal.h"
#ifdef __GNUC__
#pragma GCC diagnostic error "-Wunused-result"
#endif

khal_status wait(khal_device* device);
khal_status wait(khal_device* device)
{
#ifdef WRONG
    khal_device_wait(device, KHAL_FOREVER);
    return KHAL_OK;
#else
    return khal_device_wait(device, KHAL_FOREVER);
#endif
}
