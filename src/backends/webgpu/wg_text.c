#include "wg_text.h"

#include <string.h>

typedef struct token {
    const char *begin, *end; /* equal: the end of the text */
} token;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is(token t, const char* text)
{
    const size_t length = strlen(text);
    return (size_t)(t.end - t.begin) == length && memcmp(t.begin, text, length) == 0;
}

/* Comments of blocks nest in WGSL. */
static const char* skip_comment(const char* at, const char* end)
{
    uint32_t depth = 0;
    if (at[1] == '/') {
        while (at < end && *at != '\n')
            ++at;
        return at;
    }
    do {
        if (end - at > 1 && at[0] == '/' && at[1] == '*') {
            ++depth;
            at += 2;
        } else if (end - at > 1 && at[0] == '*' && at[1] == '/') {
            --depth;
            at += 2;
        } else {
            ++at;
        }
    } while (at < end && depth > 0);
    return at;
}

static token next(const char** at, const char* end)
{
    while (*at < end) {
        if (**at == ' ' || (**at >= '\t' && **at <= '\r'))
            ++*at;
        else if (end - *at > 1 && **at == '/' && ((*at)[1] == '/' || (*at)[1] == '*'))
            *at = skip_comment(*at, end);
        else
            break;
    }
    token t = {*at, *at};
    if (*at == end)
        return t;
    if (!is_word(**at))
        ++*at;
    else
        while (*at < end && is_word(**at))
            ++*at;
    t.end = *at;
    return t;
}

/* (N), (Nu) or (N,) */
static uint32_t number(const char** at, const char* end)
{
    uint64_t value = 0;
    if (!is(next(at, end), "("))
        return UINT32_MAX;
    const token digits = next(at, end);
    for (const char* c = digits.begin; c < digits.end; ++c) {
        if ((*c == 'u' || *c == 'i') && c + 1 == digits.end && c > digits.begin)
            break;
        if (*c < '0' || *c > '9')
            return UINT32_MAX;
        value = value * 10 + (uint64_t)(*c - '0');
        if (value >= UINT32_MAX)
            return UINT32_MAX;
    }
    const token close = next(at, end);
    return is(close, ")") || is(close, ",") ? (uint32_t)value : UINT32_MAX;
}

/* Of `var<space, access>`, behind `var`. */
static WGPUBufferBindingType space(const char** at, const char* end, bool* is_immediate)
{
    WGPUBufferBindingType type = WGPUBufferBindingType_BindingNotUsed;
    const char* start = *at;
    if (!is(next(at, end), "<")) {
        *at = start;
        return type;
    }
    for (token t = next(at, end); t.begin < t.end && !is(t, ">"); t = next(at, end)) {
        if (is(t, "uniform"))
            type = WGPUBufferBindingType_Uniform;
        else if (is(t, "storage"))
            type = WGPUBufferBindingType_ReadOnlyStorage;
        else if (is(t, "read_write"))
            type = WGPUBufferBindingType_Storage;
        else if (is(t, "immediate"))
            *is_immediate = true;
    }
    return type;
}

WGPUBufferBindingType wg_text_binding(const char* text, size_t length, uint32_t group, uint32_t binding)
{
    const char *at = text, *end = text + length;
    uint32_t here_group = UINT32_MAX, here_binding = UINT32_MAX;
    for (token t = next(&at, end); t.begin < t.end; t = next(&at, end)) {
        if (is(t, ";")) {
            here_group = here_binding = UINT32_MAX;
        } else if (is(t, "@")) {
            const token name = next(&at, end);
            if (is(name, "group"))
                here_group = number(&at, end);
            else if (is(name, "binding"))
                here_binding = number(&at, end);
        } else if (is(t, "var")) {
            bool is_immediate = false;
            const WGPUBufferBindingType type = space(&at, end, &is_immediate);
            if (here_group == group && here_binding == binding && type != WGPUBufferBindingType_BindingNotUsed)
                return type;
        }
    }
    return WGPUBufferBindingType_BindingNotUsed;
}

bool wg_text_has_immediates(const char* text, size_t length)
{
    const char *at = text, *end = text + length;
    bool has = false;
    for (token t = next(&at, end); t.begin < t.end && !has; t = next(&at, end))
        if (is(t, "var"))
            space(&at, end, &has);
    return has;
}

bool wg_text_has_push_constants(const uint32_t* words, size_t count)
{
    enum { OP_VARIABLE = 59, CLASS_PUSH_CONSTANT = 9, HEADER = 5 };
    for (size_t at = HEADER; at < count && words[at] >> 16 != 0; at += words[at] >> 16)
        if ((words[at] & 0xffffu) == OP_VARIABLE && words[at] >> 16 >= 4 && at + 3 < count &&
            words[at + 3] == CLASS_PUSH_CONSTANT)
            return true;
    return false;
}
