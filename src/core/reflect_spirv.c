#include "core.h"
#include "reflect.h"
#include "spirv.h"

#include <stdio.h>

enum {
    MODEL_GLCOMPUTE = 5,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,

    /* marks of variables and functions */
    READS = KHAL_ACCESS_READ,
    WRITES = KHAL_ACCESS_WRITE,
    REACHED = 4,
};

typedef struct extent {
    uint32_t size, align; /* bytes; align 0: not known yet */
} extent;

typedef struct reflector {
    khal_device* device;
    khal__spirv s;
    khal__reflection* out;
    uint8_t* marks;     /* by id */
    extent* extents[2]; /* by id: as decorated, and as WGSL would lay it out */
    uint32_t op;        /* of the instruction that is looked at */
} reflector;

/* ---- sizes -------------------------------------------------------------------------------------
 */

static uint32_t saturate(uint64_t size)
{
    return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

static uint64_t round_up(uint64_t size, uint32_t align)
{
    return (size + align - 1) / align * align;
}

static extent extent_of(reflector* r, uint32_t type, bool natural);

/* `struct_type`, `member`: where a matrix stands. */
static uint32_t matrix_stride(const khal__spirv* s, uint32_t struct_type, uint32_t member,
                              bool* row_major)
{
    uint32_t stride = 0;
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function;
         at += khal__spirv_length(s, at)) {
        const uint32_t* w = s->words + at;
        if ((w[0] & 0xffffu) != KHAL__OP_MemberDecorate || w[1] != struct_type || w[2] != member)
            continue;
        if (w[3] == KHAL__DECORATION_MATRIX_STRIDE && w[0] >> 16 > 4)
            stride = w[4];
        else if (w[3] == KHAL__DECORATION_ROW_MAJOR)
            *row_major = true;
    }
    return stride;
}

static uint32_t member_size(reflector* r, uint32_t struct_type, uint32_t member, uint32_t type)
{
    const khal__spirv* s = &r->s;
    uint32_t inner = type, count = 1;
    while (khal__spirv_op_of(s, inner) == KHAL__OP_TypeArray) {
        uint32_t length = 0;
        khal__spirv_constant(s, s->words[s->defs[inner] + 3], &length);
        count = saturate((uint64_t)count * length);
        inner = s->words[s->defs[inner] + 2];
    }
    if (khal__spirv_op_of(s, inner) == KHAL__OP_TypeMatrix && inner == type) {
        bool row_major = false;
        const uint32_t stride = matrix_stride(s, struct_type, member, &row_major);
        const uint32_t* matrix = s->words + s->defs[inner];
        const uint32_t rows = s->words[s->defs[matrix[2]] + 3];
        if (stride != 0)
            return saturate((uint64_t)stride * (row_major ? rows : matrix[3]));
    }
    return extent_of(r, type, false).size;
}

static extent struct_extent(reflector* r, uint32_t type, bool natural)
{
    const khal__spirv* s = &r->s;
    const uint32_t* w = s->words + s->defs[type];
    const uint32_t members = (w[0] >> 16) - 2;
    uint64_t size = 0;
    uint32_t align = 1;
    if (natural) {
        for (uint32_t i = 0; i < members; ++i) {
            const extent e = extent_of(r, w[2 + i], true);
            size = round_up(size, e.align) + e.size;
            align = e.align > align ? e.align : align;
        }
        return (extent){saturate(round_up(size, align)), align};
    }
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function;
         at += khal__spirv_length(s, at)) {
        const uint32_t* d = s->words + at;
        if ((d[0] & 0xffffu) != KHAL__OP_MemberDecorate || d[1] != type || d[2] >= members ||
            d[3] != KHAL__DECORATION_OFFSET || d[0] >> 16 < 5)
            continue;
        const uint64_t end = (uint64_t)d[4] + member_size(r, type, d[2], w[2 + d[2]]);
        size = end > size ? end : size;
    }
    return (extent){saturate(size), 4};
}

static extent array_extent(reflector* r, uint32_t type, bool natural)
{
    const khal__spirv* s = &r->s;
    const uint32_t* w = s->words + s->defs[type];
    const extent e = extent_of(r, w[2], natural);
    uint32_t length = 0, stride = saturate(round_up(e.size, e.align));
    if (khal__spirv_op(s, s->defs[type]) == KHAL__OP_TypeArray)
        khal__spirv_constant(s, w[3], &length);
    if (!natural)
        khal__spirv_decoration(s, type, KHAL__DECORATION_ARRAY_STRIDE, &stride);
    return (extent){saturate((uint64_t)stride * length), e.align};
}

static extent extent_of(reflector* r, uint32_t type, bool natural)
{
    const khal__spirv* s = &r->s;
    const uint32_t op = khal__spirv_op_of(s, type);
    if (op == KHAL__OP_Nop)
        return (extent){0, 4};
    const uint32_t* w = s->words + s->defs[type];
    extent* known = &r->extents[natural][type];
    if (known->align != 0)
        return *known;
    extent e = {4, 4};
    switch (op) {
    case KHAL__OP_TypeInt:
    case KHAL__OP_TypeFloat: e = (extent){w[2] / 8, w[2] / 8}; break;
    case KHAL__OP_TypeVector: {
        const extent part = extent_of(r, w[2], natural);
        e = (extent){part.size * w[3], part.align * (w[3] == 3 ? 4 : w[3])};
        break;
    }
    case KHAL__OP_TypeMatrix: {
        const extent column = extent_of(r, w[2], natural);
        e = (extent){(uint32_t)round_up(column.size, column.align) * w[3], column.align};
        break;
    }
    case KHAL__OP_TypeArray:
    case KHAL__OP_TypeRuntimeArray: e = array_extent(r, type, natural); break;
    case KHAL__OP_TypeStruct: e = struct_extent(r, type, natural); break;
    case KHAL__OP_TypePointer: e = (extent){8, 8}; break;
    default: break;
    }
    *known = e;
    return e;
}

/* ---- uses --------------------------------------------------------------------------------------
 */

static void use(void* user, uint32_t id, uint32_t index)
{
    reflector* r = user;
    const uint32_t root = khal__spirv_root(&r->s, id);
    if (root == 0)
        return;
    uint8_t access = READS | WRITES; /* whatever else is done with a pointer */
    switch (r->op) {
    case KHAL__OP_AccessChain:
    case KHAL__OP_InBoundsAccessChain:
    case KHAL__OP_PtrAccessChain:
    case KHAL__OP_InBoundsPtrAccessChain:
    case KHAL__OP_CopyObject: access = 0; break;
    case KHAL__OP_Load:
    case KHAL__OP_ArrayLength:
    case KHAL__OP_AtomicLoad: access = READS; break;
    case KHAL__OP_Store:
    case KHAL__OP_AtomicStore: access = WRITES; break;
    case KHAL__OP_CopyMemory: access = index == 1 ? WRITES : READS; break;
    default: break;
    }
    r->marks[root] |= (uint8_t)(access | REACHED);
}

/* Everything that a function, and those that it calls, do. Calls are nested no deeper than the
 * check of the structure lets them be. */
static void reach(reflector* r, uint32_t function)
{
    const khal__spirv* s = &r->s;
    if ((r->marks[function] & REACHED) != 0)
        return;
    r->marks[function] |= REACHED;
    for (uint32_t at = s->defs[function] + khal__spirv_length(s, s->defs[function]);
         khal__spirv_op(s, at) != KHAL__OP_FunctionEnd; at += khal__spirv_length(s, at)) {
        r->op = khal__spirv_op(s, at);
        if (khal__spirv_op_name(r->op) == NULL)
            r->out->problem = "it has an instruction that khal does not know";
        khal__spirv_operands(s, at, use, r);
        if (r->op == KHAL__OP_FunctionCall)
            reach(r, s->words[at + 3]);
    }
}

/* ---- what there is -----------------------------------------------------------------------------
 */

static void name_of(const khal__spirv* s, uint32_t id, char* out, size_t size)
{
    out[0] = 0;
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function;
         at += khal__spirv_length(s, at))
        if (khal__spirv_op(s, at) == KHAL__OP_Name && s->words[at + 1] == id) {
            khal__spirv_string(s->words + at + 2, khal__spirv_length(s, at) - 2, out, size);
            return;
        }
}

/* The size of the elements of a buffer that is one array; 0: it is not. */
static uint32_t element_size(const khal__spirv* s, uint32_t type)
{
    const uint32_t* w = s->words + s->defs[type];
    uint32_t stride = 0;
    if (w[0] >> 16 == 3 && khal__spirv_op_of(s, w[2]) == KHAL__OP_TypeRuntimeArray)
        khal__spirv_decoration(s, w[2], KHAL__DECORATION_ARRAY_STRIDE, &stride);
    return stride;
}

static khal_status add_buffer(reflector* r, uint32_t variable, uint32_t class, uint32_t type)
{
    const khal__spirv* s = &r->s;
    const uint32_t op = khal__spirv_op_of(s, type);
    if (op != KHAL__OP_TypeStruct) {
        r->out->problem = op == KHAL__OP_TypeArray || op == KHAL__OP_TypeRuntimeArray
                              ? "it has an array of bindings"
                              : "it has bindings that are no buffers";
        return KHAL_OK;
    }
    khal_binding_desc binding = {
        .element_size = element_size(s, type),
        .kind = class == KHAL__CLASS_UNIFORM &&
                        !khal__spirv_decoration(s, type, KHAL__DECORATION_BUFFER_BLOCK, NULL)
                    ? KHAL_ARG_CONSTANT
                    : KHAL_ARG_BUFFER};
    if (!khal__spirv_decoration(s, variable, KHAL__DECORATION_DESCRIPTOR_SET, &binding.group) ||
        !khal__spirv_decoration(s, variable, KHAL__DECORATION_BINDING, &binding.binding)) {
        r->out->problem = "it has a buffer without a set or binding";
        return KHAL_OK;
    }
    binding.access = r->marks[variable] & (READS | WRITES);
    if (binding.kind == KHAL_ARG_CONSTANT ||
        khal__spirv_decoration(s, variable, KHAL__DECORATION_NON_WRITABLE, NULL) ||
        khal__spirv_all_members(s, type, KHAL__DECORATION_NON_WRITABLE))
        binding.access &= ~(uint32_t)WRITES;
    if (khal__spirv_decoration(s, variable, KHAL__DECORATION_NON_READABLE, NULL) ||
        khal__spirv_all_members(s, type, KHAL__DECORATION_NON_READABLE))
        binding.access &= ~(uint32_t)READS;
    if (binding.access == 0)
        binding.access = READS;
    char name[64];
    name_of(s, variable, name, sizeof name);
    if (name[0] == 0)
        name_of(s, type, name, sizeof name);
    if (name[0] == 0)
        snprintf(name, sizeof name, "%u", binding.binding);
    return khal__reflection_add(r->device, r->out, &binding, name) != NULL ||
                   r->out->problem != NULL
               ? KHAL_OK
               : KHAL_OUT_OF_MEMORY;
}

static khal_status add_variables(reflector* r)
{
    const khal__spirv* s = &r->s;
    uint64_t local = 0;
    khal_status status = KHAL_OK;
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function &&
                          status == KHAL_OK && r->out->problem == NULL;
         at += khal__spirv_length(s, at)) {
        const uint32_t* w = s->words + at;
        if ((w[0] & 0xffffu) != KHAL__OP_Variable || (r->marks[w[2]] & REACHED) == 0)
            continue;
        const uint32_t pointer =
            khal__spirv_op_of(s, w[1]) == KHAL__OP_TypePointer ? s->defs[w[1]] : 0;
        if (pointer == 0) {
            r->out->problem = "it has a variable whose type is no pointer";
            break;
        }
        const uint32_t type = s->words[pointer + 3];
        switch (w[3]) {
        case KHAL__CLASS_UNIFORM:
        case KHAL__CLASS_STORAGE_BUFFER:
        case KHAL__CLASS_UNIFORM_CONSTANT: status = add_buffer(r, w[2], w[3], type); break;
        case KHAL__CLASS_PUSH_CONSTANT: {
            const uint32_t size = (uint32_t)round_up(extent_of(r, type, false).size, 4);
            if (size > r->out->push_constant_size)
                r->out->push_constant_size = size;
            break;
        }
        case KHAL__CLASS_WORKGROUP: {
            const extent e = extent_of(r, type, true);
            local = round_up(local, e.align) + e.size;
            break;
        }
        default: break;
        }
    }
    r->out->local_memory_size = saturate(local);
    return status;
}

static void find_size(reflector* r, uint32_t entry)
{
    const khal__spirv* s = &r->s;
    uint32_t builtin = 0;
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function;
         at += khal__spirv_length(s, at)) {
        const uint32_t* w = s->words + at;
        const uint32_t op = w[0] & 0xffffu, length = w[0] >> 16;
        if (op == KHAL__OP_ExecutionMode && length >= 6 && w[1] == entry && w[2] == MODE_LOCAL_SIZE)
            memcpy(r->out->workgroup_size, w + 3, sizeof r->out->workgroup_size);
        else if (op == KHAL__OP_ExecutionModeId && length >= 6 && w[1] == entry &&
                 w[2] == MODE_LOCAL_SIZE_ID)
            for (int i = 0; i < 3; ++i)
                khal__spirv_constant(s, w[3 + i], &r->out->workgroup_size[i]);
        else if (op == KHAL__OP_Decorate && length >= 4 && w[2] == KHAL__DECORATION_BUILT_IN &&
                 w[3] == KHAL__BUILT_IN_WORKGROUP_SIZE)
            builtin = w[1];
    }
    const uint32_t op = khal__spirv_op_of(s, builtin);
    if ((op == KHAL__OP_ConstantComposite || op == KHAL__OP_SpecConstantComposite) &&
        khal__spirv_length(s, s->defs[builtin]) == 6)
        for (int i = 0; i < 3; ++i) {
            r->out->workgroup_size[i] = 0; /* where a specialization constant gives it */
            khal__spirv_constant(s, s->words[s->defs[builtin] + 3 + (uint32_t)i],
                                 &r->out->workgroup_size[i]);
        }
    for (int i = 0; i < 3; ++i)
        if (r->out->workgroup_size[i] == 0)
            memset(r->out->workgroup_size, 0, sizeof r->out->workgroup_size);
}

static uint32_t find_entry(const khal__spirv* s, const char* entry_point, uint32_t* out_model)
{
    for (uint32_t at = 5; at < s->count && khal__spirv_op(s, at) != KHAL__OP_Function;
         at += khal__spirv_length(s, at)) {
        if (khal__spirv_op(s, at) != KHAL__OP_EntryPoint)
            continue;
        char name[256];
        khal__spirv_string(s->words + at + 3, khal__spirv_length(s, at) - 3, name, sizeof name);
        *out_model = s->words[at + 1];
        if (strcmp(name, entry_point) == 0)
            return s->words[at + 2];
    }
    return 0;
}

khal_status khal__reflect_spirv(khal_device* device, const uint32_t* words, size_t count,
                                const char* entry_point, khal__reflection* out)
{
    reflector r = {.device = device, .out = out};
    if (!khal__spirv_open(&device->allocator, words, count, &r.s, &out->problem))
        return out->problem != NULL ? KHAL_OK : KHAL_OUT_OF_MEMORY;
    uint32_t model = 0;
    const uint32_t entry = find_entry(&r.s, entry_point, &model);
    khal_status status = KHAL_OK;
    if (entry == 0 || model != MODEL_GLCOMPUTE) {
        out->problem = entry == 0 ? "there is no such entry point"
                                  : "an OpenCL kernel does not tell its bindings";
    } else {
        const size_t size = r.s.bound * (2 * sizeof(extent) + 1);
        extent* memory = khal__alloc_zeroed(device, size, 16);
        if (memory == NULL) {
            status = KHAL_OUT_OF_MEMORY;
        } else {
            r.extents[0] = memory;
            r.extents[1] = memory + r.s.bound;
            r.marks = (uint8_t*)(memory + 2 * (size_t)r.s.bound);
            reach(&r, entry);
            find_size(&r, entry);
            if (out->problem == NULL)
                status = add_variables(&r);
            khal__free(device, memory, size);
        }
    }
    khal__spirv_close(&r.s);
    return status;
}
