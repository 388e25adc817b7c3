/* What the backend has to know of foreign code. */
#ifndef KHAL_WG_TEXT_H
#define KHAL_WG_TEXT_H

#include <stdbool.h>

#include "wg_api.h"

/* As WGSL declares the variable at that place; BindingNotUsed: it does not, or not with plain numbers. */
WGPUBufferBindingType wg_text_binding(const char* text, size_t length, uint32_t group, uint32_t binding);
bool wg_text_has_immediates(const char* text, size_t length);
/* SPIR-V: a variable of the storage class PushConstant. */
bool wg_text_has_push_constants(const uint32_t* words, size_t count);

#endif
