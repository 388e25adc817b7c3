/* expect: khal_slice_float4 */
/* A slice of vectors where the kernel takes scalars. */
#include "kernels.khal.h"

kernels_scale_args make(khal_buffer* buffer);
kernels_scale_args make(khal_buffer* buffer)
{
#ifdef WRONG
    kernels_scale_args args = {khal_slice_float4_all(buffer), 2};
#else
    kernels_scale_args args = {khal_slice_float_all(buffer), 2};
#endif
    return args;
}
