#include "arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KC_CHUNK_SIZE = 64 * 1024, KC_ALIGNMENT = 16, KC_EXIT_OUT_OF_MEMORY = 3 };

typedef struct kc_chunk {
    struct kc_chunk* next;
    size_t used, capacity; /* of what follows the header */
} kc_chunk;

#define KC_CHUNK_HEADER ((sizeof(kc_chunk) + KC_ALIGNMENT - 1) / KC_ALIGNMENT * KC_ALIGNMENT)

struct kc_arena {
    kc_chunk* chunk; /* the one that small allocations come from; the others hang behind it */
};

static _Noreturn void out_of_memory(void)
{
    fputs("khalc: error: out of memory\n", stderr);
    exit(KC_EXIT_OUT_OF_MEMORY);
}

static kc_chunk* chunk_create(size_t capacity)
{
    kc_chunk* chunk = calloc(1, KC_CHUNK_HEADER + capacity);
    if (chunk)
        chunk->capacity = capacity;
    return chunk;
}

kc_arena* kc_arena_create(void)
{
    kc_arena* arena = calloc(1, sizeof *arena);
    if (!arena)
        return NULL;
    arena->chunk = chunk_create(KC_CHUNK_SIZE);
    if (!arena->chunk) {
        free(arena);
        return NULL;
    }
    return arena;
}

void kc_arena_destroy(kc_arena* arena)
{
    if (!arena)
        return;
    for (kc_chunk* chunk = arena->chunk; chunk;) {
        kc_chunk* next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(arena);
}

void* kc_alloc(kc_arena* arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        out_of_memory();
    size = size ? (size + KC_ALIGNMENT - 1) / KC_ALIGNMENT * KC_ALIGNMENT : KC_ALIGNMENT;
    kc_chunk* chunk = arena->chunk;
    if (chunk->capacity - chunk->used < size) {
        const bool is_large = size > KC_CHUNK_SIZE / 4;
        kc_chunk* fresh = chunk_create(is_large ? size : KC_CHUNK_SIZE);
        if (!fresh)
            out_of_memory();
        if (is_large) { /* a chunk of its own, behind the current one, whose rest stays usable */
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            arena->chunk = fresh;
        }
        chunk = fresh;
    }
    void* result = (char*)chunk + KC_CHUNK_HEADER + chunk->used;
    chunk->used += size;
    return result;
}

char* kc_strndup(kc_arena* arena, const char* s, size_t n)
{
    char* copy = kc_alloc(arena, n + 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

char* kc_strdup(kc_arena* arena, const char* s)
{
    return kc_strndup(arena, s, strlen(s));
}

char* kc_vformat(kc_arena* arena, const char* format, va_list args)
{
    va_list measured;
    va_copy(measured, args);
    const int size = vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    if (size < 0)
        out_of_memory();
    char* text = kc_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, args);
    return text;
}

char* kc_format(kc_arena* arena, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    char* text = kc_vformat(arena, format, args);
    va_end(args);
    return text;
}
