#include "wg_spirv.h"

#include "../../core/spirv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAGA = 1, TINT = 2, BOTH = 3 }; /* the readers of wgpu-native and of Dawn */

enum { MOST_NESTED = 60, MOST_VARIABLES = 1000 };

typedef struct checker {
    khal__spirv s;
    const wg_spirv_target* target;
    uint32_t reader;
    uint32_t at;       /* the instruction that is looked at */
    uint32_t function; /* word where its function begins; 0: between functions */
    /* all by id */
    uint32_t* uses;      /* operands in functions that name it */
    uint32_t* merges;    /* labels: the block of the OpLoopMerge whose merge block it is */
    uint32_t* continues; /* labels: likewise, whose continue target it is */
    uint32_t* stamps;    /* labels: the last walk that came by */
    uint32_t* list;      /* labels yet to be walked to */
    uint8_t* closes;     /* labels: a construct ends there */
    uint32_t stamp;
    uint32_t nesting;
    char* message;
    size_t message_size;
} checker;

static bool fail(checker* c, const char* format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(checker* c, const char* format, ...)
{
    const uint32_t op = khal__spirv_op(&c->s, c->at), result = khal__spirv_result(&c->s, c->at);
    const char* name = khal__spirv_op_name(op);
    char what[64], why[256];
    if (name != NULL)
        snprintf(what, sizeof what, "Op%s", name);
    else
        snprintf(what, sizeof what, "instruction %u", op);
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    char id[32] = "";
    if (result != 0)
        snprintf(id, sizeof id, " %%%u", result);
    snprintf(c->message, c->message_size, "%s can't be given this SPIR-V: %s%s at word %u: %s",
             c->target->is_dawn ? "Dawn" : "wgpu-native", what, id, c->at, why);
    return false;
}

/* ---- instructions that are trouble whatever they are used on
 * ------------------------------------- */

typedef struct rule {
    uint16_t first, last;
    uint16_t readers;
    const char* why;
} rule;

static const rule rules[] = {
    {KHAL__OP_TypeImage, KHAL__OP_TypeSampledImage, BOTH, "images are not supported"},
    {KHAL__OP_ImageTexelPointer, KHAL__OP_ImageTexelPointer, BOTH, "images are not supported"},
    {KHAL__OP_ImageRead, KHAL__OP_ImageWrite, BOTH, "images are not supported"},
    {KHAL__OP_TypeOpaque, KHAL__OP_TypeOpaque, BOTH, "opaque types are not supported"},
    {KHAL__OP_TypeForwardPointer, KHAL__OP_TypeForwardPointer, BOTH,
     "physical pointers are not supported"},
    {KHAL__OP_ConvertPtrToU, KHAL__OP_ConvertUToPtr, BOTH, "physical pointers are not supported"},
    {KHAL__OP_SpecConstantComposite, KHAL__OP_SpecConstantOp, BOTH,
     "specialization constants can only be scalars, used as they are"},
    {KHAL__OP_CopyMemorySized, KHAL__OP_CopyMemorySized, BOTH, "it is not supported"},
    {KHAL__OP_PtrAccessChain, KHAL__OP_PtrAccessChain, BOTH, "variable pointers are not supported"},
    {KHAL__OP_InBoundsPtrAccessChain, KHAL__OP_InBoundsPtrAccessChain, BOTH,
     "variable pointers are not supported"},
    {KHAL__OP_PtrEqual, KHAL__OP_PtrDiff, BOTH, "variable pointers are not supported"},
    {KHAL__OP_DecorationGroup, KHAL__OP_GroupMemberDecorate, NAGA,
     "groups of decorations are not supported"},
    {KHAL__OP_QuantizeToF16, KHAL__OP_QuantizeToF16, BOTH, "it is not supported"},
    {KHAL__OP_SMod, KHAL__OP_SMod, TINT, "it is computed as OpSRem"},
    {KHAL__OP_IAddCarry, KHAL__OP_SMulExtended, BOTH, "it is not supported"},
    {KHAL__OP_IsNan, KHAL__OP_IsInf, TINT, "it is not supported"},
    {KHAL__OP_FUnordEqual, KHAL__OP_FUnordEqual, NAGA,
     "it is computed as OpFOrdEqual, false for NaN"},
    {KHAL__OP_FUnordNotEqual, KHAL__OP_FUnordNotEqual, NAGA,
     "it is computed as OpFOrdNotEqual, false for NaN"},
    {KHAL__OP_FUnordLessThan, KHAL__OP_FUnordLessThan, NAGA,
     "it is computed as OpFOrdLessThan, false for NaN"},
    {KHAL__OP_FUnordGreaterThan, KHAL__OP_FUnordGreaterThan, NAGA,
     "it is computed as OpFOrdGreaterThan, false for NaN"},
    {KHAL__OP_FUnordLessThanEqual, KHAL__OP_FUnordLessThanEqual, NAGA,
     "it is computed as OpFOrdLessThanEqual, false for NaN"},
    {KHAL__OP_FUnordGreaterThanEqual, KHAL__OP_FUnordGreaterThanEqual, NAGA,
     "it is computed as OpFOrdGreaterThanEqual, false for NaN"},
    {KHAL__OP_MemoryBarrier, KHAL__OP_MemoryBarrier, TINT,
     "it is not supported without a control barrier"},
    {KHAL__OP_ExecutionModeId, KHAL__OP_ExecutionModeId, BOTH,
     "a work-group size by ids is not supported"},
    {KHAL__OP_Kill, KHAL__OP_Kill, BOTH, "it is not for compute shaders"},
    {KHAL__OP_GroupNonUniformElect, KHAL__OP_GroupNonUniformQuadSwap, TINT,
     "subgroups are not supported"},
    {KHAL__OP_GroupNonUniformElect, KHAL__OP_GroupNonUniformElect, BOTH, "it is not supported"},
    {KHAL__OP_GroupNonUniformAllEqual, KHAL__OP_GroupNonUniformAllEqual, BOTH,
     "it is not supported"},
    {KHAL__OP_GroupNonUniformInverseBallot, KHAL__OP_GroupNonUniformBallotFindMSB, BOTH,
     "it is not supported"},
    {KHAL__OP_GroupNonUniformQuadBroadcast, KHAL__OP_GroupNonUniformQuadSwap, BOTH,
     "it is not supported"},
    {KHAL__OP_CopyLogical, KHAL__OP_CopyLogical, BOTH, "it is not supported"},
    {KHAL__OP_SDot, KHAL__OP_SUDot, BOTH, "it is not supported"},
    {KHAL__OP_AtomicFMinEXT, KHAL__OP_AtomicFMaxEXT, BOTH, "it is not supported"},
    {KHAL__OP_AtomicFAddEXT, KHAL__OP_AtomicFAddEXT, TINT, "it is not supported"},
};

static bool check_rules(checker* c, uint32_t op)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; ++i)
        if (op >= rules[i].first && op <= rules[i].last && (rules[i].readers & c->reader) != 0)
            return fail(c, "%s", rules[i].why);
    if (op >= KHAL__OP_GroupNonUniformElect && op <= KHAL__OP_GroupNonUniformQuadSwap &&
        !c->target->has_subgroups)
        return fail(c, "the device has no subgroups");
    if (op == KHAL__OP_AtomicFAddEXT && !c->target->has_float_atomics)
        return fail(c, "the device has no atomic addition of floats");
    return khal__spirv_op_name(op) != NULL || fail(c, "it is not known how the library takes it");
}

/* ---- types
 * --------------------------------------------------------------------------------------- */

static bool check_type(checker* c, const uint32_t* w)
{
    const wg_spirv_target* t = c->target;
    if ((w[0] & 0xffffu) == KHAL__OP_TypeInt) {
        if (w[2] < 32)
            return fail(c, "integers of %u bits are not supported", w[2]);
        if (w[2] == 64 && (c->reader == TINT || !t->has_int64))
            return fail(c, "integers of 64 bits are not supported");
    } else {
        if (w[2] < 16 || (w[2] == 16 && !t->has_float16) ||
            (w[2] == 64 && (c->reader == TINT || !t->has_float64)))
            return fail(c, "floats of %u bits are not supported", w[2]);
    }
    return true;
}

typedef enum sign { NO_INTEGER, UNSIGNED, SIGNED } sign;

static sign sign_of_type(const checker* c, uint32_t type)
{
    const khal__spirv* s = &c->s;
    if (khal__spirv_op_of(s, type) == KHAL__OP_TypeVector)
        type = s->words[s->defs[type] + 2];
    if (khal__spirv_op_of(s, type) != KHAL__OP_TypeInt)
        return NO_INTEGER;
    return s->words[s->defs[type] + 3] != 0 ? SIGNED : UNSIGNED;
}

static sign sign_of(const checker* c, uint32_t value)
{
    return sign_of_type(c, khal__spirv_type_of(&c->s, value));
}

/* Where a reader follows the sign of the operands' type, that of the instruction must be the same.
 * `w[first]` on are the operands, `count` of them; has_result: the result's type too. */
static bool check_sign(checker* c, const uint32_t* w, sign wanted, uint32_t first, uint32_t count,
                       bool has_result)
{
    bool fits = !has_result || sign_of_type(c, w[1]) == wanted;
    for (uint32_t i = first; i < first + count && fits; ++i)
        fits = sign_of(c, w[i]) == wanted;
    return fits ||
           fail(c,
                "its operands are %s, and the library would compute it so; OpBitcast them before",
                wanted == SIGNED ? "unsigned" : "signed");
}

static bool check_signs(checker* c, const uint32_t* w)
{
    const uint32_t op = w[0] & 0xffffu;
    switch (op) { /* on both */
    case KHAL__OP_AtomicSMin:
    case KHAL__OP_AtomicSMax: return check_sign(c, w, SIGNED, 6, 1, true);
    case KHAL__OP_AtomicUMin:
    case KHAL__OP_AtomicUMax: return check_sign(c, w, UNSIGNED, 6, 1, true);
    default: break;
    }
    if (c->reader != NAGA)
        return true;
    switch (op) {
    case KHAL__OP_SDiv:
    case KHAL__OP_SRem:
    case KHAL__OP_SMod: return check_sign(c, w, SIGNED, 3, 2, true);
    case KHAL__OP_UDiv:
    case KHAL__OP_UMod: return check_sign(c, w, UNSIGNED, 3, 2, true);
    case KHAL__OP_ShiftRightArithmetic:
    case KHAL__OP_BitFieldSExtract: return check_sign(c, w, SIGNED, 3, 1, true);
    case KHAL__OP_ShiftRightLogical:
    case KHAL__OP_BitFieldUExtract: return check_sign(c, w, UNSIGNED, 3, 1, true);
    case KHAL__OP_ConvertSToF: return check_sign(c, w, SIGNED, 3, 1, false);
    case KHAL__OP_ConvertUToF: return check_sign(c, w, UNSIGNED, 3, 1, false);
    case KHAL__OP_ConvertFToS: return check_sign(c, w, SIGNED, 3, 0, true);
    case KHAL__OP_SConvert:
    case KHAL__OP_SNegate: return check_sign(c, w, SIGNED, 3, 1, true);
    case KHAL__OP_UConvert: return check_sign(c, w, UNSIGNED, 3, 1, true);
    default: return true;
    }
}

/* ---- GLSL.std.450
 * ---------------------------------------------------------------------------------- */

enum {
    GLSL_SABS = 5,
    GLSL_SSIGN = 7,
    GLSL_ASINH = 22,
    GLSL_ATANH = 24,
    GLSL_MODF = 35,
    GLSL_MODF_STRUCT = 36,
    GLSL_UMIN = 38,
    GLSL_SMIN = 39,
    GLSL_UMAX = 41,
    GLSL_SMAX = 42,
    GLSL_UCLAMP = 44,
    GLSL_SCLAMP = 45,
    GLSL_FREXP = 51,
    GLSL_FREXP_STRUCT = 52,
    GLSL_FIND_SMSB = 74,
    GLSL_FIND_UMSB = 75,
};

static bool check_extended(checker* c, const uint32_t* w)
{
    const khal__spirv* s = &c->s;
    char set[32];
    if (khal__spirv_op_of(s, w[3]) != KHAL__OP_ExtInstImport)
        return fail(c, "its set is no import");
    const uint32_t import = s->defs[w[3]];
    khal__spirv_string(s->words + import + 2, khal__spirv_length(s, import) - 2, set, sizeof set);
    if (strcmp(set, "GLSL.std.450") != 0)
        return true; /* refused by name, or skipped */
    const uint32_t count = (w[0] >> 16) - 5;
    switch (w[4]) {
    case GLSL_MODF:
    case GLSL_MODF_STRUCT:
    case GLSL_FREXP:
    case GLSL_FREXP_STRUCT: return fail(c, "GLSL.std.450 %u (frexp, modf) is not supported", w[4]);
    default: break;
    }
    if (c->reader == TINT)
        return w[4] < GLSL_ASINH || w[4] > GLSL_ATANH ||
               fail(c, "GLSL.std.450 %u (asinh, acosh, atanh) is not supported", w[4]);
    switch (w[4]) {
    case GLSL_SABS:
    case GLSL_SSIGN:
    case GLSL_SMIN:
    case GLSL_SMAX:
    case GLSL_SCLAMP:
    case GLSL_FIND_SMSB: return check_sign(c, w, SIGNED, 5, count, w[4] != GLSL_FIND_SMSB);
    case GLSL_UMIN:
    case GLSL_UMAX:
    case GLSL_UCLAMP:
    case GLSL_FIND_UMSB: return check_sign(c, w, UNSIGNED, 5, count, w[4] != GLSL_FIND_UMSB);
    default: return true;
    }
}

/* ---- pointers, barriers, atomics
 * ------------------------------------------------------------------- */

static uint32_t class_of(const checker* c, uint32_t pointer)
{
    const khal__spirv* s = &c->s;
    const uint32_t type = khal__spirv_type_of(s, pointer);
    return khal__spirv_op_of(s, type) == KHAL__OP_TypePointer ? s->words[s->defs[type] + 2]
                                                              : UINT32_MAX;
}

static bool check_call(checker* c, const uint32_t* w)
{
    for (uint32_t i = 4; i < w[0] >> 16; ++i) {
        const uint32_t class = class_of(c, w[i]);
        if (class == UINT32_MAX)
            continue;
        const uint32_t op = khal__spirv_op_of(&c->s, w[i]);
        if (op != KHAL__OP_Variable && op != KHAL__OP_FunctionParameter)
            return fail(
                c, "argument %%%u is a pointer into a variable, and only whole ones can be passed",
                w[i]);
        if (class != KHAL__CLASS_FUNCTION && class != KHAL__CLASS_PRIVATE &&
            (c->reader == NAGA || class != KHAL__CLASS_WORKGROUP))
            return fail(c, "argument %%%u is a pointer to memory that other work-items see", w[i]);
    }
    return true;
}

/* Dawn takes the barriers that WGSL has. */
static bool check_barrier(checker* c, const uint32_t* w)
{
    enum { WORKGROUP = 2, ACQUIRE_RELEASE = 8, UNIFORM_MEMORY = 0x40, WORKGROUP_MEMORY = 0x100 };
    uint32_t execution = 0, memory = 0, semantics = 0;
    if (c->reader != TINT)
        return true;
    if (!khal__spirv_constant(&c->s, w[1], &execution) ||
        !khal__spirv_constant(&c->s, w[2], &memory) ||
        !khal__spirv_constant(&c->s, w[3], &semantics) || execution != WORKGROUP ||
        memory != WORKGROUP || (semantics & ACQUIRE_RELEASE) == 0 ||
        (semantics & (UNIFORM_MEMORY | WORKGROUP_MEMORY)) == 0 ||
        (semantics & ~(uint32_t)(ACQUIRE_RELEASE | UNIFORM_MEMORY | WORKGROUP_MEMORY)) != 0)
        return fail(c, "only a barrier of the work-group that acquires and releases work-group or "
                       "buffer memory is taken");
    return true;
}

static bool check_variable(checker* c, const uint32_t* w)
{
    const khal__spirv* s = &c->s;
    if (w[3] == KHAL__CLASS_PUSH_CONSTANT && (c->reader == TINT || !c->target->has_immediates))
        return fail(c, "push constants are not supported; a uniform buffer works everywhere");
    if (w[3] == KHAL__CLASS_WORKGROUP && w[0] >> 16 > 4)
        return fail(c, "work-group memory with a value to begin with is not supported");
    if (w[3] != KHAL__CLASS_UNIFORM && w[3] != KHAL__CLASS_STORAGE_BUFFER)
        return true;
    uint32_t set = 0, binding = 0, seen = 0;
    if (!khal__spirv_decoration(s, w[2], KHAL__DECORATION_DESCRIPTOR_SET, &set) ||
        !khal__spirv_decoration(s, w[2], KHAL__DECORATION_BINDING, &binding))
        return fail(c, "the buffer has no set or no binding");
    for (uint32_t at = 5; at < c->at; at += khal__spirv_length(s, at)) {
        const uint32_t* other = s->words + at;
        uint32_t other_set = 0, other_binding = 0;
        if ((other[0] & 0xffffu) != KHAL__OP_Variable ||
            (other[3] != KHAL__CLASS_UNIFORM && other[3] != KHAL__CLASS_STORAGE_BUFFER))
            continue;
        if (++seen == MOST_VARIABLES)
            return fail(c, "there are more than %d buffers", MOST_VARIABLES);
        if (khal__spirv_decoration(s, other[2], KHAL__DECORATION_DESCRIPTOR_SET, &other_set) &&
            other_set == set &&
            khal__spirv_decoration(s, other[2], KHAL__DECORATION_BINDING, &other_binding) &&
            other_binding == binding)
            return fail(c, "%%%u is on the same set and binding", other[2]);
    }
    return true;
}

static bool check_memory_operands(checker* c, const uint32_t* w, uint32_t first)
{
    enum { ALIGNED = 2 };
    return c->reader != NAGA || w[0] >> 16 <= first || (w[first] & ALIGNED) == 0 ||
           fail(c, "the memory operand Aligned is not supported");
}

/* ---- OpPhi in Dawn
 * ---------------------------------------------------------------------------------- */

typedef struct phi_walk {
    checker* c;
    uint32_t block, phi; /* words of the block's label and of the phi */
    uint32_t depth;
    bool found;
} phi_walk;

/* Dawn writes a value that has one use where it is used: after the phis before it have their new
 * values already. */
static void walk_phi(void* user, uint32_t id, uint32_t index)
{
    phi_walk* walk = user;
    const khal__spirv* s = &walk->c->s;
    (void)index;
    const uint32_t at = id < s->bound ? s->defs[id] : 0, op = khal__spirv_op_of(s, id);
    if (at == 0 || walk->found)
        return;
    if (op == KHAL__OP_Phi) {
        walk->found = at > walk->block && at < walk->phi && walk->depth > 0;
        return;
    }
    switch (op) { /* written where they stand */
    case KHAL__OP_Load:
    case KHAL__OP_FunctionCall:
    case KHAL__OP_CopyObject:
    case KHAL__OP_Label: return;
    default: break;
    }
    if (at < walk->c->function || (op >= KHAL__OP_AtomicLoad && op <= KHAL__OP_AtomicXor) ||
        walk->c->uses[id] != 1)
        return;
    if (walk->depth == MOST_NESTED) {
        walk->found = true; /* too deep to be looked through */
        return;
    }
    ++walk->depth;
    khal__spirv_operands(s, at, walk_phi, walk);
    --walk->depth;
}

static bool check_phi(checker* c, const uint32_t* w, uint32_t block)
{
    if (c->reader != TINT)
        return true;
    for (uint32_t i = 3; i < w[0] >> 16; i += 2) {
        phi_walk walk = {.c = c, .block = block, .phi = c->at};
        walk_phi(&walk, w[i], i);
        if (walk.found)
            return fail(c,
                        "%%%u, used once, reads an OpPhi before it and would read its new value; "
                        "OpCopyObject it",
                        w[i]);
    }
    return true;
}

/* ---- control flow
 * ----------------------------------------------------------------------------------- */

/* Whether a branch leads from inside the switch to the merge block of a loop around it. */
static bool leaves_loop(checker* c, const uint32_t* w, uint32_t merge)
{
    const khal__spirv* s = &c->s;
    uint32_t count = 0;
    ++c->stamp;
    c->stamps[merge] = c->stamp;
#define VISIT(label)                                                                               \
    do {                                                                                           \
        if (khal__spirv_op_of(s, label) == KHAL__OP_Label && c->stamps[label] != c->stamp) {       \
            c->stamps[label] = c->stamp;                                                           \
            c->list[count++] = (label);                                                            \
        }                                                                                          \
    } while (0)
    VISIT(w[2]);
    for (uint32_t i = 4; i < w[0] >> 16; i += 2)
        VISIT(w[i]);
    while (count > 0) {
        const uint32_t label = c->list[--count];
        if (c->merges[label] != 0 && c->stamps[c->merges[label]] != c->stamp)
            return true;
        if (c->continues[label] != 0 && c->stamps[c->continues[label]] != c->stamp)
            continue;
        uint32_t at = s->defs[label];
        while (khal__spirv_op(s, at) < KHAL__OP_Branch ||
               khal__spirv_op(s, at) > KHAL__OP_Unreachable)
            at += khal__spirv_length(s, at);
        const uint32_t* end = s->words + at;
        switch (end[0] & 0xffffu) {
        case KHAL__OP_Branch: VISIT(end[1]); break;
        case KHAL__OP_BranchConditional:
            VISIT(end[2]);
            VISIT(end[3]);
            break;
        case KHAL__OP_Switch:
            VISIT(end[2]);
            for (uint32_t i = 4; i < end[0] >> 16; i += 2)
                VISIT(end[i]);
            break;
        default: break;
        }
    }
#undef VISIT
    return false;
}

static bool check_switch(checker* c, const uint32_t* w, uint32_t merge)
{
    if (sign_of(c, w[1]) == NO_INTEGER ||
        khal__spirv_op_of(&c->s, khal__spirv_type_of(&c->s, w[1])) != KHAL__OP_TypeInt ||
        c->s.words[c->s.defs[khal__spirv_type_of(&c->s, w[1])] + 2] != 32)
        return fail(c, "its selector is no 32-bit integer");
    if (merge == 0)
        return fail(c, "it has no OpSelectionMerge");
    return !leaves_loop(c, w, merge) || fail(c, "a branch leads from it straight out of the loop "
                                                "around it; a flag, and a break after it, work");
}

/* ---- all of it
 * -------------------------------------------------------------------------------------- */

static void count_use(void* user, uint32_t id, uint32_t index)
{
    checker* c = user;
    (void)index;
    if (id < c->s.bound)
        ++c->uses[id];
}

static bool check_instruction(checker* c, const uint32_t* w, uint32_t block, uint32_t merge)
{
    const uint32_t op = w[0] & 0xffffu;
    if (!check_rules(c, op) || !check_signs(c, w))
        return false;
    switch (op) {
    case KHAL__OP_TypeInt:
    case KHAL__OP_TypeFloat: return check_type(c, w);
    case KHAL__OP_Variable: return c->function != 0 || check_variable(c, w);
    case KHAL__OP_ExtInst: return c->function == 0 || check_extended(c, w);
    case KHAL__OP_FunctionCall: return check_call(c, w);
    case KHAL__OP_ControlBarrier: return check_barrier(c, w);
    case KHAL__OP_Load: return check_memory_operands(c, w, 4);
    case KHAL__OP_Store: return check_memory_operands(c, w, 3);
    case KHAL__OP_Phi: return check_phi(c, w, block);
    case KHAL__OP_Switch: return check_switch(c, w, merge);
    case KHAL__OP_AtomicCompareExchange:
        return c->reader != NAGA || c->uses[w[2]] == 0 ||
               fail(c, "its result is used, which ends the process");
    default: return true;
    }
}

static void look_around(checker* c)
{
    const khal__spirv* s = &c->s;
    uint32_t block = 0;
    for (uint32_t at = 5, inside = 0; at < s->count; at += khal__spirv_length(s, at)) {
        const uint32_t op = khal__spirv_op(s, at);
        inside = op == KHAL__OP_Function || (inside != 0 && op != KHAL__OP_FunctionEnd);
        if (inside == 0)
            continue;
        khal__spirv_operands(s, at, count_use, c);
        if (op == KHAL__OP_Label) {
            block = s->words[at + 1];
        } else if (op == KHAL__OP_LoopMerge) {
            c->merges[s->words[at + 1]] = block;
            c->continues[s->words[at + 2]] = block;
        }
    }
}

static bool check_all(checker* c)
{
    const khal__spirv* s = &c->s;
    look_around(c);
    uint32_t block = 0, merge = 0, depth = 0;
    for (c->at = 5; c->at < s->count; c->at += khal__spirv_length(s, c->at)) {
        const uint32_t* w = s->words + c->at;
        switch (w[0] & 0xffffu) {
        case KHAL__OP_Function:
            c->function = c->at;
            depth = 0;
            break;
        case KHAL__OP_FunctionEnd: c->function = 0; break;
        case KHAL__OP_Label:
            block = c->at;
            merge = 0;
            depth -= depth > 0 && c->closes[w[1]]; /* a merge block closes its construct */
            break;
        case KHAL__OP_SelectionMerge:
        case KHAL__OP_LoopMerge:
            merge = w[1];
            if (s->defs[w[1]] > c->at && !c->closes[w[1]]) {
                c->closes[w[1]] = 1;
                if (++depth > MOST_NESTED)
                    return fail(c, "control flow is nested more than %d deep", MOST_NESTED);
            }
            break;
        default: break;
        }
        if (!check_instruction(c, w, block, merge))
            return false;
    }
    return true;
}

bool wg_spirv_check(const wg_spirv_target* target, const uint32_t* words, size_t count,
                    char* message, size_t message_size)
{
    const char* wrong = NULL;
    checker c = {.target = target,
                 .reader = target->is_dawn ? TINT : NAGA,
                 .message = message,
                 .message_size = message_size};
    if (!khal__spirv_open(NULL, words, count, &c.s, &wrong)) {
        snprintf(message, message_size, "%s",
                 wrong != NULL ? wrong : "no memory for looking at the SPIR-V");
        return false;
    }
    bool is_fine = false;
    const uint32_t version = words[1] >> 8 & 0xffu;
    uint32_t* memory = calloc(c.s.bound, 5 * sizeof *memory + 1);
    if (memory == NULL) {
        snprintf(message, message_size, "no memory for looking at the SPIR-V");
    } else if (target->is_dawn && version > 3) {
        snprintf(message, message_size, "Dawn takes SPIR-V up to 1.3; this is 1.%u", version);
    } else {
        c.uses = memory;
        c.merges = memory + c.s.bound;
        c.continues = memory + 2 * (size_t)c.s.bound;
        c.stamps = memory + 3 * (size_t)c.s.bound;
        c.list = memory + 4 * (size_t)c.s.bound;
        c.closes = (uint8_t*)(memory + 5 * (size_t)c.s.bound);
        is_fine = check_all(&c);
    }
    free(memory);
    khal__spirv_close(&c.s);
    return is_fine;
}

bool wg_spirv_is_read_only(const wg_spirv_target* target, const uint32_t* words, size_t count,
                           uint32_t group, uint32_t binding)
{
    khal__spirv s;
    const char* wrong = NULL;
    bool is_read_only = false;
    if (!khal__spirv_open(NULL, words, count, &s, &wrong))
        return false;
    for (uint32_t at = 5; at < s.count && khal__spirv_op(&s, at) != KHAL__OP_Function;
         at += khal__spirv_length(&s, at)) {
        const uint32_t* w = s.words + at;
        uint32_t has_group = 0, has_binding = 0;
        if ((w[0] & 0xffffu) != KHAL__OP_Variable ||
            !khal__spirv_decoration(&s, w[2], KHAL__DECORATION_DESCRIPTOR_SET, &has_group) ||
            has_group != group ||
            !khal__spirv_decoration(&s, w[2], KHAL__DECORATION_BINDING, &has_binding) ||
            has_binding != binding)
            continue;
        const uint32_t pointer =
            khal__spirv_op_of(&s, w[1]) == KHAL__OP_TypePointer ? s.defs[w[1]] : 0;
        is_read_only =
            khal__spirv_decoration(&s, w[2], KHAL__DECORATION_NON_WRITABLE, NULL) ||
            (target->is_dawn && pointer != 0 &&
             khal__spirv_all_members(&s, s.words[pointer + 3], KHAL__DECORATION_NON_WRITABLE));
        break;
    }
    khal__spirv_close(&s);
    return is_read_only;
}
