#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `n` more bytes and the final 0. Memory that runs out ends khalc as in kc_alloc. */
static void reserve(kc_text* t, size_t n)
{
    if (n < SIZE_MAX / 4 && t->size < SIZE_MAX / 4) {
        const size_t needed = t->size + n + 1;
        if (needed <= t->capacity)
            return;
        const size_t doubled = t->capacity * 2;
        const size_t capacity = needed > doubled ? (needed > 256 ? needed : 256) : doubled;
        char* data = realloc(t->data, capacity);
        if (data) {
            t->data = data;
            t->capacity = capacity;
            return;
        }
    }
    fputs("khalc: error: out of memory\n", stderr);
    exit(3);
}

void kc_putn(kc_text* t, const char* s, size_t n)
{
    reserve(t, n);
    if (n)
        memcpy(t->data + t->size, s, n);
    t->size += n;
    t->data[t->size] = 0;
}

void kc_put(kc_text* t, const char* s)
{
    kc_putn(t, s, strlen(s));
}

void kc_vputf(kc_text* t, const char* format, va_list args)
{
    va_list measured;
    va_copy(measured, args);
    const int size = vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    if (size < 0)
        return; /* only an encoding error of %ls, which nothing here uses */
    reserve(t, (size_t)size);
    vsnprintf(t->data + t->size, (size_t)size + 1, format, args);
    t->size += (size_t)size;
}

void kc_putf(kc_text* t, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    kc_vputf(t, format, args);
    va_end(args);
}

void kc_text_free(kc_text* t)
{
    free(t->data);
    *t = (kc_text){0};
}

bool kc_has_word(const char* words, const char* word)
{
    const size_t size = strlen(word);
    for (const char* at = words; size && (at = strstr(at, word)); at++)
        if (at > words && at[-1] == ' ' && at[size] == ' ')
            return true;
    return false;
}
