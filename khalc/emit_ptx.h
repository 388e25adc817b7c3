/* Kernels as C for clang's nvptx64 target, to be compiled with <khal/ptx.h>. */
#ifndef KC_EMIT_PTX_H
#define KC_EMIT_PTX_H

#include "emit.h"

/* Prints all functions of the module, with two entry points for each kernel, and fills `out[i]` for each of `kernels` that
 * the module has; the others stay as they are. Inlines calls of functions with barriers; the module is otherwise as it was
 * built (kc_lower has not run). A kernel that does not fit PTX is refused (kc_refuse) and left out. */
void kc_emit_ptx(kc_text* out, kc_module* m, uint32_t kernel_count, const khal_kernel_info* kernels,
                 khal_ptx_kernel* out_kernels);

#endif
