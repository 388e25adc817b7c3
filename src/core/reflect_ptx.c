/* What PTX says of an entry point: sizes and alignments of its parameters, and its work-group size. Which parameters are
 * addresses of buffers it does not tell. */
#include "core.h"
#include "reflect.h"
#include "text.h"

enum { MOST_PARAMETER_BYTES = 1 << 16 }; /* twice of what any PTX version has room for, all parameters together */

typedef struct reader {
    khal__text rest, token;
} reader;

static void next(reader* r)
{
    r->token = khal__text_next(&r->rest);
}

static bool is_at_end(const reader* r)
{
    return khal__text_length(r->token) == 0;
}

static bool at(const reader* r, const char* word)
{
    return khal__text_is(r->token, word);
}

static bool at_name(const reader* r)
{
    const char c = is_at_end(r) ? 0 : *r->token.at;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* The value of an integer literal: decimal, hexadecimal, binary or octal. False: it is none, or a large one. */
static bool read_number(khal__text t, uint32_t* out)
{
    const size_t length = khal__text_length(t);
    uint32_t base = 10;
    if (length > 2 && t.at[0] == '0' && (t.at[1] == 'x' || t.at[1] == 'X'))
        base = 16, t.at += 2;
    else if (length > 2 && t.at[0] == '0' && (t.at[1] == 'b' || t.at[1] == 'B'))
        base = 2, t.at += 2;
    else if (length > 1 && t.at[0] == '0')
        base = 8;
    if (khal__text_length(t) > 1 && t.end[-1] == 'U')
        --t.end;
    uint64_t value = 0;
    for (const char* c = t.at; c < t.end; ++c) {
        const uint32_t digit = *c >= '0' && *c <= '9'   ? (uint32_t)(*c - '0')
                               : *c >= 'a' && *c <= 'f' ? (uint32_t)(*c - 'a') + 10
                               : *c >= 'A' && *c <= 'F' ? (uint32_t)(*c - 'A') + 10
                                                        : UINT32_MAX;
        if (digit >= base)
            return false;
        value = value * base + digit;
        if (value > UINT32_MAX)
            return false;
    }
    *out = (uint32_t)value;
    return length > 0;
}

/* Bytes of a fundamental type; 0: it is none. */
static uint32_t type_size(khal__text t)
{
    static const struct {
        const char* name;
        uint32_t size;
    } types[] = {
        {"b8", 1},    {"u8", 1},     {"s8", 1},   {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"bf16", 2}, {"b32", 4},
        {"u32", 4},   {"s32", 4},    {"f32", 4},  {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8},
        {"f64", 8},   {"b128", 16},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (khal__text_is(t, types[i].name))
            return types[i].size;
    return 0;
}

/* `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[24]`: NULL, or why it can't be told. */
static const char* read_parameter(reader* r, khal__parameter* out)
{
    static const char problem[] = "a parameter is of a type that is unknown here";
    uint32_t type = 0, lanes = 1, align = 0;
    bool is_pointee = false; /* what is said is about where it points */
    bool is_parameter = false;
    while (at(r, ".")) {
        next(r);
        if (at(r, "param")) {
            is_parameter = true;
        } else if (at(r, "ptr")) {
            is_pointee = true;
        } else if (at(r, "align")) {
            next(r);
            uint32_t value;
            if (!read_number(r->token, &value))
                return problem;
            if (!is_pointee)
                align = value;
        } else if (at(r, "v2") || at(r, "v4")) {
            lanes = r->token.at[1] == '2' ? 2 : 4;
        } else if (type_size(r->token) != 0) {
            type = type_size(r->token);
        } else if (!is_pointee) { /* else a state space */
            return problem;
        }
        next(r);
    }
    if (at(r, "%"))
        next(r);
    if (!is_parameter || type == 0 || !at_name(r))
        return problem;
    next(r);
    uint64_t size = (uint64_t)type * lanes;
    if (align == 0)
        align = (uint32_t)size;
    while (at(r, "[")) {
        next(r);
        uint32_t count;
        if (!read_number(r->token, &count))
            return problem;
        size *= count;
        next(r);
        if (!at(r, "]") || size > MOST_PARAMETER_BYTES)
            return problem;
        next(r);
    }
    if (size == 0 || align > MOST_PARAMETER_BYTES || (align & (align - 1)) != 0)
        return problem;
    *out = (khal__parameter){.size = (uint32_t)size, .align = align};
    return NULL;
}

/* The list at `(`, up to behind `)`; nothing where there is none. `out` may be NULL. */
static const char* read_list(reader* r, khal__parameter* out, uint32_t* out_count)
{
    uint64_t total = 0;
    *out_count = 0;
    if (!at(r, "("))
        return NULL;
    next(r);
    while (!at(r, ")")) {
        khal__parameter parameter = {0};
        const char* problem = read_parameter(r, &parameter);
        if (problem != NULL)
            return problem;
        total += parameter.size;
        if (total > MOST_PARAMETER_BYTES)
            return "there are more parameters than any device takes";
        if (out != NULL)
            out[*out_count] = parameter;
        ++*out_count;
        if (at(r, ","))
            next(r);
        else if (!at(r, ")"))
            return "the list of parameters has no end";
    }
    next(r);
    return NULL;
}

/* What stands between the list and the body. True: there is a body. */
static bool read_directives(reader* r, uint32_t workgroup_size[3])
{
    while (!is_at_end(r) && !at(r, "{") && !at(r, ";")) {
        const bool is_size = at(r, "reqntid");
        next(r);
        if (!is_size)
            continue;
        uint32_t size[3] = {1, 1, 1};
        bool is_known = true;
        for (int i = 0; i < 3; ++i) {
            is_known = is_known && read_number(r->token, &size[i]) && size[i] > 0;
            next(r);
            if (!at(r, ","))
                break;
            next(r);
        }
        if (is_known)
            memcpy(workgroup_size, size, sizeof size);
    }
    return at(r, "{");
}

/* Behind the next `.entry NAME` of that name; false: there is none. */
static bool find_entry(reader* r, const char* entry_point)
{
    bool after_point = false;
    for (next(r); !is_at_end(r); next(r)) {
        if (after_point && at(r, "entry")) {
            next(r);
            if (at(r, entry_point)) {
                next(r);
                return true;
            }
        }
        after_point = at(r, ".");
    }
    return false;
}

khal_status khal__reflect_ptx(khal_device* device, const char* text, size_t size, const char* entry_point,
                              khal__reflection* out)
{
    reader r = {{text, text + size}, {NULL, NULL}};
    if (size > 0 && text[size - 1] == 0)
        --r.rest.end;
    if (!find_entry(&r, entry_point)) {
        out->problem = "there is no such entry point";
        return KHAL_OK;
    }
    reader list;
    uint32_t count = 0;
    do { /* declarations may stand before the entry point itself */
        list = r;
        out->problem = read_list(&r, NULL, &count);
        if (out->problem != NULL)
            return KHAL_OK;
    } while (!read_directives(&r, out->workgroup_size) && find_entry(&r, entry_point));
    if (count > 0) {
        out->parameters = khal__alloc(device, count * sizeof *out->parameters, 16);
        if (out->parameters == NULL)
            return KHAL_OUT_OF_MEMORY;
        out->parameter_count = count;
        read_list(&list, out->parameters, &count);
        out->problem = "PTX does not tell which parameters are buffers";
    }
    out->has_parameters = true;
    return KHAL_OK;
}
