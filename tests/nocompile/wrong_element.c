/* expect: khal_slice_int */
/* A slice of another element type. */
#include "kernels.khal.h"

kernels_scale_args make(khal_buffer* buffer);
kernels_scale_args make(khal_buffer* buffer)
{
    kernels_scale_args args = {khal_slice_float_all(buffer), 2};
#ifdef WRONG
    args.data = khal_slice_int_all(buffer);
#else
    args.data = khal_slice_float_all(buffer);
#endif
    return args;
}
