/* Foreign code: which format it is in, and what entry points it has. */
#include "core.h"
#include "cubin.h"
#include "spirv.h"
#include "text.h"

/* ---- formats ---------------------------------------------------------------------------------
 */

/* UTF-8 without control characters; a final 0 is the caller's sizeof. */
static bool is_text(const unsigned char* code, size_t size)
{
    if (size > 0 && code[size - 1] == 0)
        --size;
    for (size_t i = 0; i < size;) {
        const unsigned char c = code[i++];
        if (c < 0x20 && (c < '\t' || c > '\r'))
            return false;
        if (c < 0x80)
            continue;
        const size_t more = c >= 0xf0 && c < 0xf8   ? 3
                            : c >= 0xe0 && c < 0xf0 ? 2
                            : c >= 0xc2 && c < 0xe0 ? 1
                                                    : 0;
        if (more == 0 || more > size - i)
            return false;
        for (const size_t end = i + more; i < end; ++i)
            if ((code[i] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static uint32_t text_format(const void* code, size_t size)
{
    khal__text t = {code, (const char*)code + size};
    uint32_t found = KHAL_FORMAT_NONE;
    khal__text before = {NULL, NULL};
    while (found == KHAL_FORMAT_NONE) {
        const khal__text token = khal__text_next(&t);
        if (khal__text_length(token) == 0)
            break;
        if (before.at == NULL && *token.at == '.') { /* PTX begins with its version */
            const khal__text directive = khal__text_next(&t);
            return khal__text_is(directive, "version") ? KHAL_FORMAT_PTX : KHAL_FORMAT_NONE;
        }
        const bool after_at = khal__text_is(before, "@");
        if (khal__text_is(token, "metal_stdlib") || khal__text_is(token, "metal") ||
            (khal__text_is(before, "[") && khal__text_is(token, "["))) {
            found = KHAL_FORMAT_MSL; /* "kernel void" alone may be OpenCL C */
        } else if (after_at &&
                   (khal__text_is(token, "compute") || khal__text_is(token, "group") ||
                    khal__text_is(token, "binding") || khal__text_is(token, "workgroup_size"))) {
            found = KHAL_FORMAT_WGSL;
        } else if (khal__text_is(token, "fn")) {
            khal__text_next(&t);
            found = khal__text_is(khal__text_next(&t), "(") ? KHAL_FORMAT_WGSL : KHAL_FORMAT_NONE;
        }
        before = token;
    }
    return found;
}

uint32_t khal__foreign_format(const void* code, size_t size)
{
    const unsigned char* bytes = code;
    if (size >= 4) {
        static const unsigned char spirv[2][4] = {{3, 2, 0x23, 7}, {7, 0x23, 2, 3}};
        if (memcmp(bytes, spirv[0], 4) == 0 || memcmp(bytes, spirv[1], 4) == 0)
            return KHAL_FORMAT_SPIRV;
        static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'},
                                   fatbin[4] = {0x50, 0xed, 0x55, 0xba};
        if (memcmp(bytes, elf, 4) == 0) {
            /* e_machine of a little-endian ELF file: 190 is CUDA. */
            return size >= 20 && bytes[18] == 190 && bytes[19] == 0 ? KHAL_FORMAT_CUBIN
                                                                    : KHAL_FORMAT_NONE;
        }
        if (memcmp(bytes, fatbin, 4) == 0)
            return KHAL_FORMAT_CUBIN;
    }
    return is_text(bytes, size) ? text_format(code, size) : KHAL_FORMAT_NONE;
}

/* ---- entry points of SPIR-V --------------------------------------------------------------------
 */

enum { MODE_LOCAL_SIZE = 17, MODEL_GLCOMPUTE = 5, MODEL_KERNEL = 6 };

/* What the specialization constant `id` is: an instruction of its own, after its decoration. */
static khal__scalar spirv_scalar(const uint32_t* words, size_t count, uint32_t id)
{
    uint32_t type = 0;
    for (int round = 0; round < 2; ++round) { /* the constant, then its type, which is before it */
        for (size_t at = 5; at < count; at += words[at] >> 16) {
            const uint32_t* w = words + at;
            const uint32_t length = w[0] >> 16, op = w[0] & 0xffffu;
            if (round == 0 && length >= 3 && w[2] == id) {
                if (op == KHAL__OP_SpecConstantTrue || op == KHAL__OP_SpecConstantFalse)
                    return KHAL__SCALAR_BOOL;
                if (op == KHAL__OP_SpecConstant)
                    type = w[1];
            } else if (round == 1 && length >= 3 && w[1] == type) {
                if (op == KHAL__OP_TypeFloat)
                    return KHAL__SCALAR_FLOAT;
                if (op == KHAL__OP_TypeInt)
                    return w[3] != 0 ? KHAL__SCALAR_INT : KHAL__SCALAR_UINT;
            }
        }
        if (type == 0)
            break;
    }
    return KHAL__SCALAR_UNKNOWN;
}

static bool visit_spirv(const uint32_t* words, size_t count, const khal__foreign_visitor* visitor)
{
    for (size_t at = 5; at < count; at += words[at] >> 16) {
        const uint32_t* w = words + at;
        const uint32_t length = w[0] >> 16, op = w[0] & 0xffffu;
        if (op == KHAL__OP_Decorate && length >= 4 && w[2] == KHAL__DECORATION_SPEC_ID) {
            if (!visitor->specialization(visitor->user, w[3], spirv_scalar(words, count, w[1])))
                return false;
        } else if (op == KHAL__OP_EntryPoint) {
            char name[256];
            khal__spirv_string(w + 3, length - 3, name, sizeof name);
            uint32_t workgroup_size[3] = {0, 0, 0};
            for (size_t i = at + length; i < count && (words[i] & 0xffffu) != KHAL__OP_Function;
                 i += words[i] >> 16)
                if ((words[i] & 0xffffu) == KHAL__OP_ExecutionMode && words[i] >> 16 >= 6 &&
                    words[i + 1] == w[2] && words[i + 2] == MODE_LOCAL_SIZE)
                    memcpy(workgroup_size, words + i + 3, sizeof workgroup_size);
            if ((w[1] == MODEL_GLCOMPUTE || w[1] == MODEL_KERNEL) &&
                !visitor->entry(visitor->user, name, strlen(name), workgroup_size))
                return false;
        }
    }
    return true;
}

/* ---- entry points of text ----------------------------------------------------------------------
 */

/* What an override is: `t` stands behind its @id(N). */
static khal__scalar wgsl_scalar(khal__text t)
{
    static const struct {
        const char* name;
        khal__scalar type;
    } types[] = {
        {"bool", KHAL__SCALAR_BOOL}, {"true", KHAL__SCALAR_BOOL}, {"false", KHAL__SCALAR_BOOL},
        {"i32", KHAL__SCALAR_INT},   {"u32", KHAL__SCALAR_UINT},  {"f32", KHAL__SCALAR_FLOAT},
        {"f16", KHAL__SCALAR_FLOAT},
    };
    khal__scalar type = KHAL__SCALAR_UNKNOWN;
    for (khal__text token = khal__text_next(&t); khal__text_length(token) > 0 && *token.at != ';';
         token = khal__text_next(&t)) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
            if (khal__text_is(token, types[i].name))
                return types[i].type;
        if (*token.at == '.')
            return KHAL__SCALAR_FLOAT;
        if (*token.at < '0' || *token.at > '9')
            continue;
        const char last = token.end[-1];
        const bool is_hex =
            khal__text_length(token) > 1 && (token.at[1] == 'x' || token.at[1] == 'X');
        if (last == 'u')
            return KHAL__SCALAR_UINT;
        if (!is_hex &&
            (last == 'f' || last == 'h' || memchr(token.at, 'e', khal__text_length(token))))
            return KHAL__SCALAR_FLOAT;
        type = KHAL__SCALAR_INT; /* unless a point follows */
    }
    return type;
}

static bool visit_wgsl(khal__text t, const khal__foreign_visitor* visitor)
{
    bool is_compute = false, after_at = false;
    uint32_t workgroup_size[3] = {0, 0, 0};
    for (khal__text token = khal__text_next(&t); khal__text_length(token) > 0;
         token = khal__text_next(&t)) {
        if (after_at && khal__text_is(token, "compute")) {
            is_compute = true;
        } else if (after_at && khal__text_is(token, "workgroup_size")) {
            khal__text_next(&t); /* ( */
            workgroup_size[0] = workgroup_size[1] = workgroup_size[2] = 1;
            int i = 0;
            for (token = khal__text_next(&t); khal__text_length(token) > 0 && *token.at != ')';
                 token = khal__text_next(&t))
                if (*token.at == ',')
                    ++i;
                else if (i < 3)
                    workgroup_size[i] = khal__text_number(token);
            if (workgroup_size[0] == 0 || workgroup_size[1] == 0 || workgroup_size[2] == 0)
                memset(workgroup_size, 0,
                       sizeof workgroup_size); /* an override's value is the driver's to know */
        } else if (after_at && khal__text_is(token, "id")) {
            khal__text_next(&t); /* ( */
            const uint32_t id = khal__text_number(khal__text_next(&t));
            khal__text_next(&t); /* ) */
            if (!visitor->specialization(visitor->user, id, wgsl_scalar(t)))
                return false;
        } else if (khal__text_is(token, "fn")) {
            const khal__text name = khal__text_next(&t);
            if (is_compute && khal__text_length(name) > 0 &&
                !visitor->entry(visitor->user, name.at, khal__text_length(name), workgroup_size))
                return false;
            is_compute = false;
            memset(workgroup_size, 0, sizeof workgroup_size);
        }
        after_at = khal__text_length(token) == 1 && *token.at == '@';
    }
    return true;
}

/* `.entry name` or `kernel void name` */
static bool visit_named(khal__text t, const char* first, const char* second,
                        const khal__foreign_visitor* visitor)
{
    static const uint32_t open[3] = {0, 0, 0};
    khal__text before = {t.at, t.at};
    for (khal__text token = khal__text_next(&t); khal__text_length(token) > 0;
         token = khal__text_next(&t)) {
        if (khal__text_is(before, first) && khal__text_is(token, second)) {
            const khal__text name = khal__text_next(&t);
            if (khal__text_length(name) > 0 &&
                !visitor->entry(visitor->user, name.at, khal__text_length(name), open))
                return false;
        }
        before = token;
    }
    return true;
}

bool khal__foreign_visit(uint32_t format, const void* code, size_t size,
                         const khal__foreign_visitor* visitor)
{
    khal__text t = {code, (const char*)code + size};
    if (size > 0 && t.end[-1] == 0)
        --t.end;
    switch (format) {
    case KHAL_FORMAT_SPIRV: return visit_spirv(code, size / 4, visitor);
    case KHAL_FORMAT_WGSL: return visit_wgsl(t, visitor);
    case KHAL_FORMAT_PTX: return visit_named(t, ".", "entry", visitor);
    case KHAL_FORMAT_CUBIN: return khal__cubin_visit(code, size, visitor);
    case KHAL_FORMAT_MSL: return visit_named(t, "kernel", "void", visitor);
    default: return true;
    }
}
