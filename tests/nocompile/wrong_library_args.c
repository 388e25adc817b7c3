/* expect: others_scale_args */
/* The arguments of another library's kernel of the same name and the same members. */
#include "kernels.khal.h"
#include "others.khal.h"

khal_status record(const kernels* k, khal_pass* pass, khal_buffer* buffer);
khal_status record(const kernels* k, khal_pass* pass, khal_buffer* buffer)
{
    kernels_scale_args mine = {khal_slice_float_all(buffer), 2};
    others_scale_args other = {khal_slice_float_all(buffer), 2};
    (void)mine;
    (void)other;
#ifdef WRONG
    return kernels_scale(k, pass, khal_threads(8, 1, 1), &other);
#else
    return kernels_scale(k, pass, khal_threads(8, 1, 1), &mine);
#endif
}
