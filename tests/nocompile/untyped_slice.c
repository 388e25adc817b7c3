/* expect: khal_slice_float */
/* A slice that does not say what it holds. */
#include "kernels.khal.h"

kernels_scale_args make(khal_buffer* buffer);
kernels_scale_args make(khal_buffer* buffer)
{
    kernels_scale_args args = {khal_slice_float_all(buffer), 2};
#ifdef WRONG
    args.data = khal_slice_all(buffer);
#else
    args.data = khal_slice_float_of(khal_slice_all(buffer));
#endif
    return args;
}
