/* The emitters and the reflection record that they share. */
#ifndef KC_EMIT_H
#define KC_EMIT_H

#include "ir.h"
#include "text.h"

#include <khal/library.h>

/* Fills what the runtime, the generated header and the tests know of each kernel (reflect.c). In the order of
 * m->functions, kernels only. Needs kc_pass_usage. Strings and arrays live in m->arena. What goes over a limit, or can't be
 * passed from the host, is a diagnostic. */
uint32_t kc_reflect(kc_module* m, khal_kernel_info** out_kernels);

/* Whether the generated header can spell `name` as a prefix: an identifier, no word of C or C++, and
 * nothing that the C library or khal itself declares (emit_header.c). */
bool kc_is_prefix(const char* name);

/* Name of a kernel's argument in its argument struct: the source's; with a `_` after it where C, C++, khal or a macro of
 * theirs has the word; "arg_N" where the source gives no name (emit_header.c). */
const char* kc_member_name(kc_module* m, const char* source_name, uint32_t index);

/* Typed argument structs and launchers: NAME.khal.h (emit_header.c). Names that clash are diagnostics. */
void kc_emit_header(kc_text* out, kc_module* m, uint32_t kernel_count, const khal_kernel_info* kernels);

/* A text for each compute capability, with the same entry points in each. */
typedef struct kc_ptx_library {
    uint32_t code_count;
    const uint32_t* capabilities; /* times 10 */
    const char* const* texts;
    const khal_ptx_kernel* kernels; /* one for each kernel */
} kc_ptx_library;

typedef struct kc_library_options {
    const char* header_name; /* how NAME.khal.c includes the header */
    bool has_cpu;
    const khal_wgsl_kernel* wgsl; /* one for each kernel; NULL: no WGSL */
    const kc_ptx_library* ptx;    /* NULL: no PTX */
} kc_library_options;

/* NAME.khal.c (emit_library.c): the CPU code, once for each SIMD level by including itself, then WGSL, the
 * khal_kernel_library table, and the launchers. Lowers the module (kc_emit_c). */
void kc_emit_library(kc_text* out, kc_module* m, uint32_t kernel_count, const khal_kernel_info* kernels,
                     const kc_library_options* options);

/* The CPU work-group functions as C (emit_c.c), to be compiled after <khal/cpu.h>, once for each SIMD level. Every symbol
 * it defines is static and spelled KHAL_C_NAME(x), which the including file defines to add the level. It ends with
 * `static const khal_cpu_kernel KHAL_C_NAME(kernels)[]`, one entry for each kernel in order. Lowers the module in place
 * (kc_pass_inline with KC_INLINE_BARRIERS, kc_pass_usage, kc_pass_uniformity), so it runs last. */
void kc_emit_c(kc_text* out, kc_module* m);

#endif
