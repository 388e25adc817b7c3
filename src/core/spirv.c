#include "spirv.h"

#include "core.h"

/* The specification's own limits (2.17); readers are written for them. */
enum { MOST_IDS = 4194304, MOST_NESTED = 255 };

/* ---- the instructions --------------------------------------------------------------------------
 */

typedef struct instruction {
    const char* name;
    const char* operands;
} instruction;

enum {
#define SPIRV_OP(number, name, operands) INDEX_##name,
#include "spirv.def"
#undef SPIRV_OP
};

static const instruction instructions[] = {
#define SPIRV_OP(number, name, operands) {#name, operands},
#include "spirv.def"
#undef SPIRV_OP
};

static const instruction* find(uint32_t op)
{
    switch (op) {
#define SPIRV_OP(number, name, operands)                                                           \
    case number: return &instructions[INDEX_##name];
#include "spirv.def"
#undef SPIRV_OP
    default: return NULL;
    }
}

const char* khal__spirv_op_name(uint32_t op)
{
    const instruction* known = find(op);
    return known != NULL ? known->name : NULL;
}

static bool is_type(uint32_t op)
{
    return op >= KHAL__OP_TypeVoid && op <= KHAL__OP_TypeFunction;
}

static bool ends_block(uint32_t op)
{
    return op >= KHAL__OP_Branch && op <= KHAL__OP_Unreachable;
}

/* Words of a string, its final 0 included; 0: it does not end. */
static uint32_t string_length(const uint32_t* words, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (((words[i] - 0x01010101u) & ~words[i] & 0x80808080u) != 0) /* a byte of it is 0 */
            return i + 1;
    return 0;
}

void khal__spirv_string(const uint32_t* words, uint32_t count, char* out, size_t size)
{
    size_t length = 0;
    for (; length + 1 < size && length / 4 < count; ++length) {
        out[length] = (char)(words[length / 4] >> (8 * (length % 4)) & 0xffu);
        if (out[length] == 0)
            return;
    }
    out[length] = 0;
}

/* Walks the operands; `visit` may be NULL. False: they do not fit the grammar. */
static bool walk(const uint32_t* at, uint32_t length, const char* operands,
                 void (*visit)(void* user, uint32_t id, uint32_t index), void* user)
{
    uint32_t i = 1;
    bool repeats = false, optional = false;
    for (const char* o = operands; *o != 0;) {
        if (*o == 'x')
            return true;
        if (*o == '?' || *o == '*') {
            optional = true;
            repeats = *o == '*';
            ++o;
            continue;
        }
        if (i == length) {
            if (optional)
                break;
            return false;
        }
        switch (*o) {
        case 's': {
            const uint32_t words = string_length(at + i, length - i);
            if (words == 0)
                return false;
            i += words;
            break;
        }
        case 'i':
            if (visit != NULL)
                visit(user, at[i], i);
            ++i;
            break;
        default: ++i;
        }
        if (!repeats) {
            ++o;
            optional = false;
        }
    }
    return i == length;
}

/* ---- structure ---------------------------------------------------------------------------------
 */

typedef struct checker {
    khal__spirv* s;
    const char* wrong;
    uint32_t at;
    bool declares;   /* the operands must be defined before */
    uint8_t* depths; /* of types; of functions: 255 while they are looked at */
    uint32_t nesting;
    uint32_t from, to; /* words of the function */
} checker;

static bool id_is_there(const checker* c, uint32_t id)
{
    return id != 0 && id < c->s->bound && (c->s->defs[id] != 0 || c->s->has_unknown);
}

static void check_id(void* user, uint32_t id, uint32_t index)
{
    checker* c = user;
    (void)index;
    if (!id_is_there(c, id))
        c->wrong = "an instruction uses an id that nothing defines";
    else if (c->declares && c->s->defs[id] >= c->at &&
             khal__spirv_op_of(c->s, id) != KHAL__OP_TypePointer)
        c->wrong = "a type or constant uses an id that is not defined before it";
}

/* Lengths, operands and results; fills defs. */
static const char* collect(khal__spirv* s)
{
    for (uint32_t at = 5; at < s->count; at += khal__spirv_length(s, at)) {
        const uint32_t length = khal__spirv_length(s, at);
        if (length == 0 || length > s->count - at)
            return "an instruction's length is 0 or goes beyond the end";
        const instruction* known = find(khal__spirv_op(s, at));
        if (known == NULL) {
            s->has_unknown = true;
            continue;
        }
        if (!walk(s->words + at, length, known->operands, NULL, NULL))
            return "an instruction has too few or too many operands, or a string that does not end";
        const uint32_t result = khal__spirv_result(s, at);
        if (result == 0) {
            if (known->operands[0] == 'r' ||
                (known->operands[0] == 't' && known->operands[1] == 'r'))
                return "an instruction's result is the id 0";
            continue;
        }
        if (result >= s->bound)
            return "an id is not below the bound";
        if (s->defs[result] != 0)
            return "an id is defined twice";
        s->defs[result] = at;
    }
    return NULL;
}

static const char* check_type(checker* c)
{
    khal__spirv* s = c->s;
    const uint32_t* w = s->words + c->at;
    const uint32_t op = w[0] & 0xffffu, length = w[0] >> 16;
    uint32_t first = 2, last = length;
    switch (op) {
    case KHAL__OP_TypeVector:
    case KHAL__OP_TypeMatrix:
        last = 3;
        if (w[3] < 2 || w[3] > 16)
            return "a vector or matrix of impossible size";
        break;
    case KHAL__OP_TypeArray: last = 3; break;
    case KHAL__OP_TypeRuntimeArray: break;
    case KHAL__OP_TypeStruct: break;
    case KHAL__OP_TypeInt:
        if (w[2] != 8 && w[2] != 16 && w[2] != 32 && w[2] != 64)
            return "an integer type of impossible width";
        return NULL;
    case KHAL__OP_TypeFloat:
        if (w[2] != 8 && w[2] != 16 && w[2] != 32 && w[2] != 64)
            return "a float type of impossible width";
        return NULL;
    default: return NULL; /* pointers may point forward */
    }
    uint32_t depth = 0;
    for (uint32_t i = first; i < last; ++i) {
        if (s->has_unknown && s->defs[w[i]] == 0)
            continue;
        const uint32_t part = khal__spirv_op_of(s, w[i]);
        if (!is_type(part))
            return "a type is made of what is no type";
        const bool scalar = part >= KHAL__OP_TypeBool && part <= KHAL__OP_TypeFloat;
        if ((op == KHAL__OP_TypeVector && !scalar) ||
            (op == KHAL__OP_TypeMatrix && part != KHAL__OP_TypeVector))
            return "a vector or matrix of what it can't hold";
        if (part != KHAL__OP_TypePointer && c->depths[w[i]] > depth)
            depth = c->depths[w[i]];
    }
    if (depth == MOST_NESTED)
        return "types are nested too deeply";
    c->depths[w[1]] = (uint8_t)(depth + 1);
    return NULL;
}

static const char* check_label(const checker* c, uint32_t id)
{
    if (id == 0 || id >= c->s->bound || khal__spirv_op_of(c->s, id) != KHAL__OP_Label ||
        c->s->defs[id] < c->from || c->s->defs[id] >= c->to)
        return "a branch leads out of its function";
    return NULL;
}

/* What stands in a block, or is the head of a function. */
static const char* check_in_function(checker* c)
{
    const khal__spirv* s = c->s;
    const uint32_t* w = s->words + c->at;
    const uint32_t length = w[0] >> 16;
    const char* wrong = NULL;
    switch (w[0] & 0xffffu) {
    case KHAL__OP_FunctionCall:
        if (khal__spirv_op_of(s, w[3]) != KHAL__OP_Function)
            wrong = "a call of what is no function";
        break;
    case KHAL__OP_Branch: wrong = check_label(c, w[1]); break;
    case KHAL__OP_BranchConditional:
        wrong = check_label(c, w[2]);
        if (wrong == NULL)
            wrong = check_label(c, w[3]);
        if (length != 4 && length != 6)
            wrong =
                "an instruction has too few or too many operands, or a string that does not end";
        break;
    case KHAL__OP_SelectionMerge: wrong = check_label(c, w[1]); break;
    case KHAL__OP_LoopMerge:
        wrong = check_label(c, w[1]);
        if (wrong == NULL)
            wrong = check_label(c, w[2]);
        break;
    case KHAL__OP_Switch: {
        wrong = check_label(c, w[2]);
        const uint32_t type = khal__spirv_type_of(s, w[1]);
        uint32_t step = 2;
        if (khal__spirv_op_of(s, type) == KHAL__OP_TypeInt && s->words[s->defs[type] + 2] == 64)
            step = 3;
        if ((length - 3) % step != 0)
            return "an OpSwitch whose cases are not whole";
        for (uint32_t i = 3; i < length && wrong == NULL; i += step)
            wrong = check_label(c, w[i + step - 1]);
        break;
    }
    case KHAL__OP_Phi:
        if ((length - 3) % 2 != 0)
            wrong = "an OpPhi whose pairs are not whole";
        for (uint32_t i = 3; i < length && wrong == NULL; i += 2)
            wrong = check_label(c, w[i + 1]);
        break;
    case KHAL__OP_Load:
    case KHAL__OP_Store:
    case KHAL__OP_AccessChain:
    case KHAL__OP_InBoundsAccessChain: {
        const uint32_t pointer = (w[0] & 0xffffu) == KHAL__OP_Store ? w[1] : w[3];
        const uint32_t type = khal__spirv_type_of(s, pointer);
        if (!s->has_unknown && khal__spirv_op_of(s, type) != KHAL__OP_TypePointer)
            wrong = "a load, store or access chain through what is no pointer";
        break;
    }
    default: break;
    }
    return wrong;
}

/* Functions hold blocks, and nothing but blocks is between a function's parameters and its end. */
static const char* check_order(checker* c)
{
    const khal__spirv* s = c->s;
    bool in_function = false, in_block = false;
    uint32_t labels = 0;
    for (c->at = 5; c->at < s->count; c->at += khal__spirv_length(s, c->at)) {
        const uint32_t op = khal__spirv_op(s, c->at);
        switch (op) {
        case KHAL__OP_Function:
            if (in_function)
                return "a function inside a function";
            in_function = true;
            labels = 0;
            c->from = c->at;
            for (c->to = c->at;
                 c->to < s->count && khal__spirv_op(s, c->to) != KHAL__OP_FunctionEnd;)
                c->to += khal__spirv_length(s, c->to);
            if (c->to >= s->count)
                return "a function without its end";
            break;
        case KHAL__OP_FunctionEnd:
            if (!in_function || in_block)
                return "an OpFunctionEnd in the wrong place";
            in_function = false;
            break;
        case KHAL__OP_FunctionParameter:
            if (!in_function || labels > 0)
                return "an OpFunctionParameter in the wrong place";
            break;
        case KHAL__OP_Label:
            if (!in_function || in_block)
                return "an OpLabel in the wrong place";
            in_block = true;
            ++labels;
            break;
        case KHAL__OP_Line:
        case KHAL__OP_NoLine:
        case KHAL__OP_Nop: break;
        default:
            if (in_function && !in_block)
                return "an instruction between two blocks";
            if (in_function && (is_type(op) || op <= KHAL__OP_Capability) && op != KHAL__OP_Undef &&
                op != KHAL__OP_ExtInst)
                return "a declaration inside a function";
            if (ends_block(op)) {
                if (!in_block)
                    return "a block's end outside of one";
                in_block = false;
            }
            if (in_function) {
                const char* wrong = check_in_function(c);
                if (wrong != NULL)
                    return wrong;
            }
        }
    }
    return in_function ? "a function without its end" : NULL;
}

static bool calls_itself(checker* c, uint32_t function)
{
    khal__spirv* s = c->s;
    if (c->depths[function] == 254)
        return false;
    if (c->depths[function] == 255 || c->nesting == MOST_NESTED)
        return true;
    c->depths[function] = 255;
    ++c->nesting;
    bool found = false;
    for (uint32_t at = s->defs[function]; !found && khal__spirv_op(s, at) != KHAL__OP_FunctionEnd;
         at += khal__spirv_length(s, at))
        if (khal__spirv_op(s, at) == KHAL__OP_FunctionCall)
            found = calls_itself(c, s->words[at + 3]);
    --c->nesting;
    c->depths[function] = 254;
    return found;
}

static const char* check(checker* c)
{
    khal__spirv* s = c->s;
    for (c->at = 5; c->at < s->count; c->at += khal__spirv_length(s, c->at)) {
        const uint32_t* w = s->words + c->at;
        const uint32_t op = w[0] & 0xffffu;
        const instruction* known = find(op);
        if (known == NULL)
            continue;
        if (known->operands[0] == 't') {
            if (!id_is_there(c, w[1]) ||
                (s->defs[w[1]] != 0 && !is_type(khal__spirv_op_of(s, w[1]))))
                return "a result type that is no type";
            if (s->defs[w[1]] > c->at)
                return "a result type that is defined after its use";
        }
        c->declares = (is_type(op) && op != KHAL__OP_TypePointer) ||
                      (op >= KHAL__OP_ConstantTrue && op <= KHAL__OP_SpecConstantComposite);
        walk(w, w[0] >> 16, known->operands, check_id, c);
        if (c->wrong == NULL && is_type(op))
            c->wrong = check_type(c);
        if (c->wrong == NULL && op == KHAL__OP_EntryPoint &&
            khal__spirv_op_of(s, w[2]) != KHAL__OP_Function)
            c->wrong = "an entry point that is no function";
        if (c->wrong != NULL)
            return c->wrong;
    }
    const char* wrong = check_order(c);
    if (wrong != NULL)
        return wrong;
    for (uint32_t at = 5; at < s->count; at += khal__spirv_length(s, at))
        if (khal__spirv_op(s, at) == KHAL__OP_Function && calls_itself(c, s->words[at + 2]))
            return "a function that calls itself, or calls nested too deeply";
    return NULL;
}

static const char* check_header(const uint32_t* words, size_t count)
{
    if (count < 5)
        return "the header of 20 bytes is not whole";
    if (count > UINT32_MAX)
        return "it is too large";
    if (words[1] >> 16 != 1 || (words[1] & 0xffu) != 0)
        return "the version is none of 1.x";
    if (words[3] == 0)
        return "the bound of ids is 0";
    if (words[3] > MOST_IDS)
        return "the bound of ids is beyond 4,194,304";
    return words[4] != 0 ? "the schema is not 0" : NULL;
}

static void* take_zeroed(const khal__spirv* s, size_t size)
{
    void* memory = s->allocator->allocate(s->allocator->user, size, 16);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

bool khal__spirv_open(const khal_allocator* allocator, const uint32_t* words, size_t count,
                      khal__spirv* out, const char** out_wrong)
{
    *out = (khal__spirv){.allocator = allocator != NULL ? allocator : &khal__default_allocator,
                         .words = words};
    *out_wrong = check_header(words, count);
    if (*out_wrong != NULL)
        return false;
    out->count = (uint32_t)count;
    out->bound = words[3];
    out->defs = take_zeroed(out, out->bound * sizeof(uint32_t));
    if (out->defs == NULL)
        return false;
    *out_wrong = collect(out);
    bool is_sound = false;
    if (*out_wrong == NULL) {
        checker c = {.s = out, .depths = take_zeroed(out, out->bound)};
        if (c.depths != NULL) {
            *out_wrong = check(&c);
            is_sound = *out_wrong == NULL;
            out->allocator->release(out->allocator->user, c.depths, out->bound);
        }
    }
    if (!is_sound)
        khal__spirv_close(out);
    return is_sound;
}

void khal__spirv_close(khal__spirv* s)
{
    if (s->defs != NULL)
        s->allocator->release(s->allocator->user, s->defs, s->bound * sizeof(uint32_t));
    s->defs = NULL;
}

/* ---- questions ---------------------------------------------------------------------------------
 */

uint32_t khal__spirv_op_of(const khal__spirv* s, uint32_t id)
{
    return id < s->bound && s->defs[id] != 0 ? khal__spirv_op(s, s->defs[id]) : KHAL__OP_Nop;
}

uint32_t khal__spirv_type_of(const khal__spirv* s, uint32_t id)
{
    const instruction* known = find(khal__spirv_op_of(s, id));
    return known != NULL && known->operands[0] == 't' ? s->words[s->defs[id] + 1] : 0;
}

bool khal__spirv_constant(const khal__spirv* s, uint32_t id, uint32_t* out)
{
    if (khal__spirv_op_of(s, id) != KHAL__OP_Constant || khal__spirv_length(s, s->defs[id]) != 4)
        return false;
    *out = s->words[s->defs[id] + 3];
    return true;
}

uint32_t khal__spirv_result(const khal__spirv* s, uint32_t at)
{
    const instruction* known = find(khal__spirv_op(s, at));
    if (known == NULL || known->operands[0] == 0)
        return 0;
    return known->operands[0] == 'r'                                ? s->words[at + 1]
           : known->operands[0] == 't' && known->operands[1] == 'r' ? s->words[at + 2]
                                                                    : 0;
}

void khal__spirv_operands(const khal__spirv* s, uint32_t at,
                          void (*visit)(void* user, uint32_t id, uint32_t index), void* user)
{
    const instruction* known = find(khal__spirv_op(s, at));
    if (known != NULL)
        walk(s->words + at, khal__spirv_length(s, at), known->operands, visit, user);
}

uint32_t khal__spirv_root(const khal__spirv* s, uint32_t pointer)
{
    for (uint32_t steps = 0; steps < 1000; ++steps) {
        switch (khal__spirv_op_of(s, pointer)) {
        case KHAL__OP_Variable: return pointer;
        case KHAL__OP_AccessChain:
        case KHAL__OP_InBoundsAccessChain:
        case KHAL__OP_PtrAccessChain:
        case KHAL__OP_InBoundsPtrAccessChain:
        case KHAL__OP_CopyObject: pointer = s->words[s->defs[pointer] + 3]; break;
        default: return 0;
        }
    }
    return 0;
}

bool khal__spirv_decoration(const khal__spirv* s, uint32_t id, uint32_t decoration, uint32_t* out)
{
    for (uint32_t at = 5; at < s->count; at += khal__spirv_length(s, at)) {
        const uint32_t* w = s->words + at;
        const uint32_t op = w[0] & 0xffffu, length = w[0] >> 16;
        if (op == KHAL__OP_Function)
            return false;
        if (op != KHAL__OP_Decorate || w[1] != id || w[2] != decoration)
            continue;
        if (out != NULL)
            *out = length > 3 ? w[3] : 0;
        return true;
    }
    return false;
}

bool khal__spirv_all_members(const khal__spirv* s, uint32_t type, uint32_t decoration)
{
    if (khal__spirv_op_of(s, type) != KHAL__OP_TypeStruct)
        return false;
    const uint32_t members = khal__spirv_length(s, s->defs[type]) - 2;
    uint32_t found = 0;
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function;
         at += khal__spirv_length(s, at)) {
        const uint32_t* w = s->words + at;
        found += (w[0] & 0xffffu) == KHAL__OP_MemberDecorate && w[1] == type &&
                 w[3] == decoration && w[2] < members;
    }
    return members > 0 && found >= members;
}
