/* WGSL for all kernels of a file. */
#ifndef KC_TARGET_WGSL_H
#define KC_TARGET_WGSL_H

#include "build.h"
#include "emit.h"

/* Fills `out[i]` for each of `kernels`, which were reflected with 64 bits of size_t. A kernel that WGSL can't have gets a reason; that
 * is an error in `diags` where `is_required`, else a warning, or with `is_quiet` nothing. False: there were errors. */
bool kc_make_wgsl(kc_arena* arena, kc_diags* diags, const char* name, const kc_options* options, uint32_t kernel_count,
                  const khal_kernel_info* kernels, bool is_required, bool is_quiet, khal_wgsl_kernel* out);

/* All modules that there are, each as the runtime would complete it, with a line of comment between them. */
void kc_print_wgsl(kc_text* out, uint32_t kernel_count, const khal_kernel_info* kernels, const khal_wgsl_kernel* wgsl);

#endif
