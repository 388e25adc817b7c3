#include "text.h"

#include <string.h>

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static void skip_space(khal__text* t)
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

khal__text khal__text_next(khal__text* t)
{
    skip_space(t);
    khal__text token = {t->at, t->at};
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

bool khal__text_is(khal__text t, const char* word)
{
    return t.at != NULL && khal__text_length(t) == strlen(word) &&
           memcmp(t.at, word, khal__text_length(t)) == 0;
}

bool khal__text_same(khal__text a, khal__text b)
{
    return khal__text_length(a) == khal__text_length(b) &&
           memcmp(a.at, b.at, khal__text_length(a)) == 0;
}

uint32_t khal__text_number(khal__text token)
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
