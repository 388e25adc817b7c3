/* PTX for all kernels of a file. */
#ifndef KC_TARGET_PTX_H
#define KC_TARGET_PTX_H

#include "build.h"
#include "emit.h"

#define KC_PTX_MAX_CODES 16

typedef struct kc_ptx_options {
    bool is_required; /* what can't be had is an error, else a warning, or with is_quiet nothing */
    bool is_quiet;
    const char* libclc; /* path of its bitcode; NULL: $KHAL_LIBCLC, else searched beside clang */
    uint32_t capability_count;
    uint32_t capabilities[KC_PTX_MAX_CODES]; /* compute capabilities times 10 */
} kc_ptx_options;

/* Whether there is PTX for devices of this compute capability; times 10. */
bool kc_ptx_has_capability(uint32_t capability);

typedef struct kc_ptx_job kc_ptx_job;

/* Emits C from the tree, and starts to compile it, which goes on beside khalc. With `source_only` it stops at the C.
 * NULL: there were errors. */
kc_ptx_job* kc_ptx_start(kc_arena* arena, kc_diags* diags, const char* name, const kc_options* options, kc_tree* tree,
                         uint32_t kernel_count, const khal_kernel_info* kernels, const kc_ptx_options* ptx, bool source_only);
const kc_text* kc_ptx_source(const kc_ptx_job* job);
/* Fills out->code_count 0 where PTX was left out. False: there were errors. */
bool kc_ptx_finish(kc_ptx_job* job, kc_ptx_library* out);

#endif
