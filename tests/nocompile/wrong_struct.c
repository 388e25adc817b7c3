/* expect: khal_slice_float4 */
/* A slice of a struct's only member's type in the place of the struct. */
#include "kernels.khal.h"

kernels_move_args make(khal_buffer* buffer);
kernels_move_args make(khal_buffer* buffer)
{
#ifdef WRONG
    kernels_move_args args = {khal_slice_float4_all(buffer), {{1, 2, 3, 4}}};
#else
    kernels_move_args args = {khal_slice_kernels_particle_all(buffer), {{1, 2, 3, 4}}};
#endif
    return args;
}
