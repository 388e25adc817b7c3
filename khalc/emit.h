/* The emitters and the reflection record that they share. */
#ifndef KC_EMIT_H
#define KC_EMIT_H

#include "ir.h"
#include "text.h"

#include <khal/library.h>

/* Fills what the runtime, the generated header and the tests know of each kernel (reflect.c). In the order of
 * m->functions, kernels only. Needs kc_pass_usage. Strings and arrays live in m->arena. */
uint32_t kc_reflect(kc_module* m, khal_kernel_info** out_kernels);

/* Typed argument structs and launchers: NAME.khal.h (emit_header.c). */
void kc_emit_header(kc_text* out, kc_module* m, uint32_t kernel_count, const khal_kernel_info* kernels);

/* NAME.khal.c (emit_library.c): the CPU code, once for each SIMD level by including itself, then the
 * khal_kernel_library table, then the launchers. `header_name` is how it includes the header. */
void kc_emit_library(kc_text* out, kc_module* m, uint32_t kernel_count, const khal_kernel_info* kernels,
                     const char* header_name);

/* The CPU work-group functions as C (emit_c.c), to be compiled after <khal/cpu.h>, once for each SIMD level. Every symbol
 * it defines is static and spelled KHAL_CPU_NAME(x), which the including file defines to add the level. It ends with
 * `static const khal_cpu_kernel KHAL_CPU_NAME(kernels)[]`, one entry for each kernel in order. Lowers the module in place
 * (kc_pass_inline with KC_INLINE_BARRIERS, kc_pass_usage, kc_pass_uniformity), so it runs last. */
void kc_emit_c(kc_text* out, kc_module* m);

#endif
