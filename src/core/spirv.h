/* SPIR-V, as words in the host's byte order: whether its structure holds, and what it says. */
#ifndef KHAL_CORE_SPIRV_H
#define KHAL_CORE_SPIRV_H

#include "backend.h"

#define KHAL__SPIRV_MAGIC 0x07230203u

typedef enum khal__spirv_opcode {
#define SPIRV_OP(number, name, operands) KHAL__OP_##name = (number),
#include "spirv.def"
#undef SPIRV_OP
} khal__spirv_opcode;

enum {
    KHAL__CLASS_UNIFORM_CONSTANT = 0,
    KHAL__CLASS_UNIFORM = 2,
    KHAL__CLASS_WORKGROUP = 4,
    KHAL__CLASS_PRIVATE = 6,
    KHAL__CLASS_FUNCTION = 7,
    KHAL__CLASS_PUSH_CONSTANT = 9,
    KHAL__CLASS_STORAGE_BUFFER = 12,

    KHAL__DECORATION_SPEC_ID = 1,
    KHAL__DECORATION_BLOCK = 2,
    KHAL__DECORATION_BUFFER_BLOCK = 3,
    KHAL__DECORATION_ROW_MAJOR = 4,
    KHAL__DECORATION_ARRAY_STRIDE = 6,
    KHAL__DECORATION_MATRIX_STRIDE = 7,
    KHAL__DECORATION_BUILT_IN = 11,
    KHAL__DECORATION_NON_WRITABLE = 24,
    KHAL__DECORATION_NON_READABLE = 25,
    KHAL__DECORATION_BINDING = 33,
    KHAL__DECORATION_DESCRIPTOR_SET = 34,
    KHAL__DECORATION_OFFSET = 35,

    KHAL__BUILT_IN_WORKGROUP_SIZE = 25,
};

const char* khal__spirv_op_name(uint32_t op); /* "FAdd", or NULL */

/* A module whose structure holds. */
typedef struct khal__spirv {
    const khal_allocator* allocator;
    const uint32_t* words;
    uint32_t count, bound;
    bool has_unknown; /* an instruction that spirv.def does not have: its operands are not known */
    uint32_t* defs;   /* for each id the word where it is defined; 0: nowhere */
} khal__spirv;

/* Every length, operand and id, types and functions are what they must be. On failure *out_wrong
 * says what is not, or is NULL where memory ran out. `words` must outlive *out. A NULL
 * allocator is the default one. */
bool khal__spirv_open(const khal_allocator* allocator, const uint32_t* words, size_t count,
                      khal__spirv* out, const char** out_wrong);
void khal__spirv_close(khal__spirv* spirv);

static inline uint32_t khal__spirv_op(const khal__spirv* s, uint32_t at)
{
    return s->words[at] & 0xffffu;
}
static inline uint32_t khal__spirv_length(const khal__spirv* s, uint32_t at)
{
    return s->words[at] >> 16;
}
/* What defines an id; KHAL__OP_Nop where nothing does. */
uint32_t khal__spirv_op_of(const khal__spirv* s, uint32_t id);
/* The type of a value; 0: it has none. */
uint32_t khal__spirv_type_of(const khal__spirv* s, uint32_t id);
/* The value of a 32-bit OpConstant. */
bool khal__spirv_constant(const khal__spirv* s, uint32_t id, uint32_t* out);
/* The result id of the instruction at a word; 0: it has none. */
uint32_t khal__spirv_result(const khal__spirv* s, uint32_t at);
/* Calls `visit` for each id among the instruction's operands, its result and result type excepted.
 */
void khal__spirv_operands(const khal__spirv* s, uint32_t at,
                          void (*visit)(void* user, uint32_t id, uint32_t index), void* user);
/* The variable that a pointer points into; 0: not to be seen. */
uint32_t khal__spirv_root(const khal__spirv* s, uint32_t pointer);
/* Whether a decoration of an id is there; its first literal to *out, which may be NULL. */
bool khal__spirv_decoration(const khal__spirv* s, uint32_t id, uint32_t decoration, uint32_t* out);
/* Whether all members of a struct have a decoration. */
bool khal__spirv_all_members(const khal__spirv* s, uint32_t type, uint32_t decoration);
/* A string operand, cut off at `size`. */
void khal__spirv_string(const uint32_t* words, uint32_t count, char* out, size_t size);

#endif
