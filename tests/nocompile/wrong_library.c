/* expect: others */
/* The handle of another library, whose kernel has the same name. */
#include "kernels.khal.h"
#include "others.khal.h"

khal_status record(const kernels* k, const others* o, khal_pass* pass, khal_buffer* buffer);
khal_status record(const kernels* k, const others* o, khal_pass* pass, khal_buffer* buffer)
{
    kernels_scale_args scale = {khal_slice_float_all(buffer), 2};
    (void)o;
    (void)k;
#ifdef WRONG
    return kernels_scale(o, pass, khal_threads(8, 1, 1), &scale);
#else
    return kernels_scale(k, pass, khal_threads(8, 1, 1), &scale);
#endif
}
