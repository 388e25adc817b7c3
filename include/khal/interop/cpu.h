/* The CPU backend's memory, in and out.
 *
 * In: khal_buffer_desc.host_memory makes a buffer of memory that the program has. Out: the call below. Both share the memory
 * itself, so the program orders its own accesses: reads after the ticket of the last work that writes (khal_ticket_wait), writes
 * when no submitted work uses the bytes, and before the submit that is to see them. */
#ifndef KHAL_INTEROP_CPU_H
#define KHAL_INTEROP_CPU_H

#include <khal/khal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The address of the buffer's first byte, valid while the buffer lives; NULL for a buffer of size 0.
 * Errors: ARGUMENT_NULL, UNSUPPORTED (the buffer's device is not a CPU device), DEVICE_LOST. */
KHAL_API KHAL_MUST_USE khal_status khal_cpu_buffer_get_memory(khal_buffer* buffer, void** out_memory);

#ifdef __cplusplus
}
#endif
#endif
