/* Foreign SPIR-V before the library sees it: what the library at hand is known to abort on, to
 * refuse or to get wrong. */
#ifndef KHAL_WG_SPIRV_H
#define KHAL_WG_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose SPIR-V reader it is, and what the device has. */
typedef struct wg_spirv_target {
    bool is_dawn; /* else wgpu-native */
    bool has_float16, has_float64, has_int64, has_float_atomics, has_int64_atomics, has_subgroups,
        has_immediates;
} wg_spirv_target;

/* `words` are a foreign module's code, which the front has checked and put into the host's byte
 * order. False: `message` names the construct, the instruction and its id. */
bool wg_spirv_check(const wg_spirv_target* target, const uint32_t* words, size_t count,
                    char* message, size_t message_size);

/* Whether the library takes a storage buffer for read-only: what an explicit layout must then say,
 * whatever the kernel does. */
bool wg_spirv_is_read_only(const wg_spirv_target* target, const uint32_t* words, size_t count,
                           uint32_t group, uint32_t binding);

#endif
