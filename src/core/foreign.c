/* Foreign code: which format it is in, whether SPIR-V's structure holds, and what entry points it
 * has. */
#include "core.h"

#define SPIRV_MAGIC 0x07230203u

static uint32_t swap_bytes(uint32_t x)
{
    return x >> 24 | (x >> 8 & 0xff00u) | (x << 8 & 0xff0000u) | x << 24;
}

static uint32_t load_word(const unsigned char* bytes, bool swapped)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return swapped ? swap_bytes(word) : word;
}

/* ---- text --------------------------------------------------------------------------------------
 */

typedef struct text {
    const char* at;
    const char* end;
} text;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

/* Space and comments. */
static void skip_space(text* t)
{
    while (t->at < t->end) {
        if (*t->at == ' ' || *t->at == '\t' || *t->at == '\r' || *t->at == '\n') {
            ++t->at;
        } else if (*t->at == '/' && t->end - t->at > 1 && t->at[1] == '/') {
            while (t->at < t->end && *t->at != '\n')
                ++t->at;
        } else if (*t->at == '/' && t->end - t->at > 1 && t->at[1] == '*') {
            for (t->at += 2; t->end - t->at > 1 && !(t->at[0] == '*' && t->at[1] == '/');)
                ++t->at;
            t->at = t->end - t->at > 1 ? t->at + 2 : t->end;
        } else {
            return;
        }
    }
}

/* A word, or one other character. Empty at the end. */
static text next_token(text* t)
{
    skip_space(t);
    text token = {t->at, t->at};
    if (t->at == t->end)
        return token;
    if (!is_word(*t->at))
        ++t->at;
    else
        while (t->at < t->end && is_word(*t->at))
            ++t->at;
    token.end = t->at;
    return token;
}

static size_t length_of(text t)
{
    return (size_t)(t.end - t.at);
}
static bool is(text t, const char* word)
{
    return t.at != NULL && length_of(t) == strlen(word) && memcmp(t.at, word, length_of(t)) == 0;
}

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
    text t = {code, (const char*)code + size};
    uint32_t found = KHAL_FORMAT_NONE;
    text before = {NULL, NULL};
    while (found == KHAL_FORMAT_NONE) {
        const text token = next_token(&t);
        if (length_of(token) == 0)
            break;
        if (before.at == NULL && *token.at == '.') { /* PTX begins with its version */
            const text directive = next_token(&t);
            return is(directive, "version") ? KHAL_FORMAT_PTX : KHAL_FORMAT_NONE;
        }
        const bool after_at = is(before, "@");
        if (is(token, "metal_stdlib") || is(token, "metal") ||
            (is(before, "[") && is(token, "["))) {
            found = KHAL_FORMAT_MSL; /* "kernel void" alone may be OpenCL C */
        } else if (after_at && (is(token, "compute") || is(token, "group") ||
                                is(token, "binding") || is(token, "workgroup_size"))) {
            found = KHAL_FORMAT_WGSL;
        } else if (is(token, "fn")) {
            next_token(&t);
            found = is(next_token(&t), "(") ? KHAL_FORMAT_WGSL : KHAL_FORMAT_NONE;
        }
        before = token;
    }
    return found;
}

uint32_t khal__foreign_format(const void* code, size_t size)
{
    const unsigned char* bytes = code;
    if (size >= 4) {
        const uint32_t word = load_word(bytes, false);
        if (word == SPIRV_MAGIC || word == swap_bytes(SPIRV_MAGIC))
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

/* ---- SPIR-V ------------------------------------------------------------------------------------
 */

enum {
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_SPEC_CONSTANT_TRUE = 48,
    OP_SPEC_CONSTANT_FALSE = 49,
    OP_SPEC_CONSTANT = 50,
    OP_DECORATE = 71,
    MODE_LOCAL_SIZE = 17,
    MODEL_GLCOMPUTE = 5,
    MODEL_KERNEL = 6,
    DECORATION_SPEC_ID = 1
};

/* Strings lie in words, low byte first. */
static char name_byte(const unsigned char* instruction, size_t at, bool swapped)
{
    return (char)(load_word(instruction + at / 4 * 4, swapped) >> (8 * (at % 4)) & 0xffu);
}

const char* khal__spirv_check(const void* code, size_t size)
{
    const unsigned char* bytes = code;
    if (size % 4 != 0)
        return "the size is no multiple of 4";
    if (size < 20)
        return "the header of 20 bytes is not whole";
    const bool swapped = load_word(bytes, false) != SPIRV_MAGIC;
    const uint32_t version = load_word(bytes + 4, swapped);
    if (version >> 16 != 1 || (version & 0xffu) != 0)
        return "the version is none of 1.x";
    if (load_word(bytes + 12, swapped) == 0)
        return "the bound of ids is 0";
    if (load_word(bytes + 16, swapped) != 0)
        return "the schema is not 0";
    const size_t count = size / 4;
    for (size_t at = 5; at < count;) {
        const uint32_t words = load_word(bytes + at * 4, swapped) >> 16;
        const uint32_t op = load_word(bytes + at * 4, swapped) & 0xffffu;
        if (words == 0 || words > count - at)
            return "an instruction's length is 0 or goes beyond the end";
        if (op == OP_ENTRY_POINT) {
            if (words < 4)
                return "an OpEntryPoint is too short";
            size_t i = 12;
            while (i < (size_t)words * 4 && name_byte(bytes + at * 4, i, swapped) != 0)
                ++i;
            if (i == (size_t)words * 4)
                return "the name in an OpEntryPoint does not end";
        }
        at += words;
    }
    return NULL;
}

/* What the specialization constant `id` is: an instruction of its own, after its decoration. */
static khal__scalar spirv_scalar(const unsigned char* bytes, size_t count, bool swapped,
                                 uint32_t id)
{
    uint32_t type = 0;
    for (int round = 0; round < 2; ++round) { /* the constant, then its type, which is before it */
        for (size_t at = 5; at < count;) {
            const unsigned char* here = bytes + at * 4;
            const uint32_t words = load_word(here, swapped) >> 16,
                           op = load_word(here, swapped) & 0xffffu;
            const uint32_t first = words >= 2 ? load_word(here + 4, swapped) : 0,
                           second = words >= 3 ? load_word(here + 8, swapped) : 0;
            if (round == 0 && words >= 3 && second == id) {
                if (op == OP_SPEC_CONSTANT_TRUE || op == OP_SPEC_CONSTANT_FALSE)
                    return KHAL__SCALAR_BOOL;
                if (op == OP_SPEC_CONSTANT)
                    type = first;
            } else if (round == 1 && words >= 3 && first == type) {
                if (op == OP_TYPE_FLOAT)
                    return KHAL__SCALAR_FLOAT;
                if (op == OP_TYPE_INT && words >= 4)
                    return load_word(here + 12, swapped) != 0 ? KHAL__SCALAR_INT
                                                              : KHAL__SCALAR_UINT;
            }
            at += words;
        }
        if (type == 0)
            break;
    }
    return KHAL__SCALAR_UNKNOWN;
}

static bool visit_spirv(const unsigned char* bytes, size_t size,
                        const khal__foreign_visitor* visitor)
{
    const bool swapped = load_word(bytes, false) != SPIRV_MAGIC;
    const size_t count = size / 4;
    for (size_t at = 5; at < count;) {
        const unsigned char* here = bytes + at * 4;
        const uint32_t words = load_word(here, swapped) >> 16,
                       op = load_word(here, swapped) & 0xffffu;
        if (op == OP_DECORATE && words >= 4 && load_word(here + 8, swapped) == DECORATION_SPEC_ID) {
            const khal__scalar type =
                spirv_scalar(bytes, count, swapped, load_word(here + 4, swapped));
            if (!visitor->specialization(visitor->user, load_word(here + 12, swapped), type))
                return false;
        } else if (op == OP_ENTRY_POINT) {
            const uint32_t model = load_word(here + 4, swapped), id = load_word(here + 8, swapped);
            char name[256];
            size_t length = 0;
            for (; length + 1 < sizeof name && 12 + length < (size_t)words * 4; ++length) {
                name[length] = name_byte(here, 12 + length, swapped);
                if (name[length] == 0)
                    break;
            }
            uint32_t workgroup_size[3] = {0, 0, 0};
            for (size_t i = at + words; i < count;) {
                const unsigned char* mode = bytes + i * 4;
                const uint32_t mode_words = load_word(mode, swapped) >> 16;
                if ((load_word(mode, swapped) & 0xffffu) == OP_EXECUTION_MODE && mode_words >= 6 &&
                    load_word(mode + 4, swapped) == id &&
                    load_word(mode + 8, swapped) == MODE_LOCAL_SIZE)
                    for (int k = 0; k < 3; ++k)
                        workgroup_size[k] = load_word(mode + 12 + 4 * k, swapped);
                i += mode_words;
            }
            if ((model == MODEL_GLCOMPUTE || model == MODEL_KERNEL) &&
                !visitor->entry(visitor->user, name, length, workgroup_size))
                return false;
        }
        at += words;
    }
    return true;
}

/* ---- entry points of text ----------------------------------------------------------------------
 */

static uint32_t number_of(text token)
{
    uint64_t value = 0;
    for (const char* c = token.at; c < token.end; ++c) {
        if (*c < '0' || *c > '9')
            return *c == 'u' && c > token.at && c + 1 == token.end ? (uint32_t)value : 0;
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > UINT32_MAX)
            return 0;
    }
    return (uint32_t)value;
}

/* What an override is: `t` stands behind its @id(N). */
static khal__scalar wgsl_scalar(text t)
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
    for (text token = next_token(&t); length_of(token) > 0 && *token.at != ';';
         token = next_token(&t)) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
            if (is(token, types[i].name))
                return types[i].type;
        if (*token.at == '.')
            return KHAL__SCALAR_FLOAT;
        if (*token.at < '0' || *token.at > '9')
            continue;
        const char last = token.end[-1];
        const bool is_hex = length_of(token) > 1 && (token.at[1] == 'x' || token.at[1] == 'X');
        if (last == 'u')
            return KHAL__SCALAR_UINT;
        if (!is_hex && (last == 'f' || last == 'h' || memchr(token.at, 'e', length_of(token))))
            return KHAL__SCALAR_FLOAT;
        type = KHAL__SCALAR_INT; /* unless a point follows */
    }
    return type;
}

static bool visit_wgsl(text t, const khal__foreign_visitor* visitor)
{
    bool is_compute = false, after_at = false;
    uint32_t workgroup_size[3] = {0, 0, 0};
    for (text token = next_token(&t); length_of(token) > 0; token = next_token(&t)) {
        if (after_at && is(token, "compute")) {
            is_compute = true;
        } else if (after_at && is(token, "workgroup_size")) {
            next_token(&t); /* ( */
            workgroup_size[0] = workgroup_size[1] = workgroup_size[2] = 1;
            int i = 0;
            for (token = next_token(&t); length_of(token) > 0 && *token.at != ')';
                 token = next_token(&t))
                if (*token.at == ',')
                    ++i;
                else if (i < 3)
                    workgroup_size[i] = number_of(token);
            if (workgroup_size[0] == 0 || workgroup_size[1] == 0 || workgroup_size[2] == 0)
                memset(workgroup_size, 0,
                       sizeof workgroup_size); /* an override's value is the driver's to know */
        } else if (after_at && is(token, "id")) {
            next_token(&t); /* ( */
            const uint32_t id = number_of(next_token(&t));
            next_token(&t); /* ) */
            if (!visitor->specialization(visitor->user, id, wgsl_scalar(t)))
                return false;
        } else if (is(token, "fn")) {
            const text name = next_token(&t);
            if (is_compute && length_of(name) > 0 &&
                !visitor->entry(visitor->user, name.at, length_of(name), workgroup_size))
                return false;
            is_compute = false;
            memset(workgroup_size, 0, sizeof workgroup_size);
        }
        after_at = length_of(token) == 1 && *token.at == '@';
    }
    return true;
}

/* `.entry name` or `kernel void name` */
static bool visit_named(text t, const char* first, const char* second,
                        const khal__foreign_visitor* visitor)
{
    static const uint32_t open[3] = {0, 0, 0};
    text before = {t.at, t.at};
    for (text token = next_token(&t); length_of(token) > 0; token = next_token(&t)) {
        if (is(before, first) && is(token, second)) {
            const text name = next_token(&t);
            if (length_of(name) > 0 &&
                !visitor->entry(visitor->user, name.at, length_of(name), open))
                return false;
        }
        before = token;
    }
    return true;
}

bool khal__foreign_visit(uint32_t format, const void* code, size_t size,
                         const khal__foreign_visitor* visitor)
{
    text t = {code, (const char*)code + size};
    if (size > 0 && t.end[-1] == 0)
        --t.end;
    switch (format) {
    case KHAL_FORMAT_SPIRV: return visit_spirv(code, size, visitor);
    case KHAL_FORMAT_WGSL: return visit_wgsl(t, visitor);
    case KHAL_FORMAT_PTX: return visit_named(t, ".", "entry", visitor);
    case KHAL_FORMAT_MSL: return visit_named(t, "kernel", "void", visitor);
    default: return true;
    }
}
