/* expect: kernels_scale */
/* The arguments of another kernel. */
#include "kernels.khal.h"

khal_status record(const kernels* k, khal_pass* pass, khal_buffer* buffer);
khal_status record(const kernels* k, khal_pass* pass, khal_buffer* buffer)
{
    kernels_move_args move = {khal_slice_kernels_particle_all(buffer), {{1, 2, 3, 4}}};
    kernels_scale_args scale = {khal_slice_float_all(buffer), 2};
    (void)move;
    (void)scale;
#ifdef WRONG
    return kernels_scale(k, pass, khal_threads(8, 1, 1), &move);
#else
    return kernels_scale(k, pass, khal_threads(8, 1, 1), &scale);
#endif
}
