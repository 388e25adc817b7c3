/* Made by khalc from add_assign.cl; changes are lost when it is made again.
 *
 *   add_assign* k;
 *   add_assign_load(device, &k);                               // a reference; add_assign_release(k) drops it
 *   add_assign_KERNEL(k, pass, khal_threads(n, 1, 1), &args);   // records a dispatch in the pass
 *   add_assign_KERNEL_function(k)                               // the kernel as khal_dispatch_desc takes it
 *
 * A launcher returns what khal_pass_dispatch does; its status may be left unread, for submit repeats it. It may be
 * called from any thread that may use the pass. A `k` or `args` that is NULL is the error ARGUMENT_NULL. */
#ifndef KHAL_GENERATED_add_assign_H
#define KHAL_GENERATED_add_assign_H

#include <stddef.h>
#include <stdint.h>

#include <khal/kernel.h>
#include <khal/khal.h>

/* Another kernel's arguments must not compile; older C compilers only warn. */
#if defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct add_assign add_assign;
extern const khal_kernel_library add_assign_library;
/* Loads the module and creates all its kernels. */
KHAL_MUST_USE khal_status add_assign_load_at(const char* file, int line, khal_device* device, struct add_assign** out_k);
#define add_assign_load(...) add_assign_load_at(__FILE__, __LINE__, __VA_ARGS__)
/* The same in two steps that never block: poll gives KHAL_NOT_READY until the launchers can be used. */
KHAL_MUST_USE khal_status add_assign_load_begin(khal_device* device, struct add_assign** out_k);
KHAL_MUST_USE khal_status add_assign_load_poll(struct add_assign* k);
void add_assign_retain(struct add_assign* k);
void add_assign_release(struct add_assign* k);

/* add_assign, line 1. Work-groups of any size. */
typedef struct add_assign_add_assign_args {
    khal_slice_float a; /* read and written */
    khal_slice_float b; /* read */
    uint32_t n;
} add_assign_add_assign_args;
khal_status add_assign_add_assign(const struct add_assign* k, khal_pass* pass, khal_grid grid,
    const struct add_assign_add_assign_args* args);
khal_function* add_assign_add_assign_function(const struct add_assign* k);

#ifdef __cplusplus
}
#endif
#endif
