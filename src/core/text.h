/* Words of a program's text, as far as all languages of foreign code agree on them. */
#ifndef KHAL_CORE_TEXT_H
#define KHAL_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of it, or one token. */
typedef struct khal__text {
    const char* at;
    const char* end;
} khal__text;

/* A word, or one other character, after space and comments. Empty at the end. */
khal__text khal__text_next(khal__text* t);
static inline size_t khal__text_length(khal__text t)
{
    return (size_t)(t.end - t.at);
}
bool khal__text_is(khal__text t, const char* word);
bool khal__text_same(khal__text a, khal__text b);
/* The value of a decimal number, which may end in u; 0 for anything else. */
uint32_t khal__text_number(khal__text token);

#endif
