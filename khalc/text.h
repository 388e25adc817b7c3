/* A growing string: what emitters print into. */
#ifndef KC_TEXT_H
#define KC_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct kc_text {
    char* data; /* 0-terminated; NULL while empty */
    size_t size, capacity;
} kc_text;

void kc_put(kc_text* t, const char* s);
void kc_putn(kc_text* t, const char* s, size_t n);
void kc_putf(kc_text* t, const char* format, ...) __attribute__((format(printf, 2, 3)));
void kc_vputf(kc_text* t, const char* format, va_list args) __attribute__((format(printf, 2, 0)));
void kc_text_free(kc_text* t);

/* Is `word`, which has no spaces, one of `words`: " each between spaces "? */
bool kc_has_word(const char* words, const char* word);

#endif
