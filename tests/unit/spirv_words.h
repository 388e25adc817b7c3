/* SPIR-V written in C: SPIRV_HEADER(bound of ids), then an SPV(instruction, operands...) each. */
#ifndef SPIRV_WORDS_H
#define SPIRV_WORDS_H

#include "core/spirv.h"

#define SPIRV_HEADER(bound) SPIRV_HEADER_OF(3, bound)
#define SPIRV_HEADER_OF(minor, bound) KHAL__SPIRV_MAGIC, 0x00010000 | (minor) << 8, 0, bound, 0
#define SPV(op, ...)                                                                               \
    ((uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4 + 1) << 16 | KHAL__OP_##op), __VA_ARGS__
#define SPV0(op) (0x10000u | KHAL__OP_##op)
#define SPIRV_MAIN 0x6e69616d, 0 /* "main" */

#endif
