/* Bump allocation for everything that lives as long as one compilation. */
#ifndef KC_ARENA_H
#define KC_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct kc_arena kc_arena;

kc_arena* kc_arena_create(void); /* NULL when out of memory */
void kc_arena_destroy(kc_arena* arena);
/* Zeroed memory, aligned for any type. When memory runs out, khalc prints so and exits with status 3: it is a
 * command-line program, and nothing of its output has been written by then. */
void* kc_alloc(kc_arena* arena, size_t size);
char* kc_strndup(kc_arena* arena, const char* s, size_t n);
char* kc_strdup(kc_arena* arena, const char* s);
char* kc_format(kc_arena* arena, const char* format, ...) __attribute__((format(printf, 2, 3)));
char* kc_vformat(kc_arena* arena, const char* format, va_list args) __attribute__((format(printf, 2, 0)));

#define KC_NEW(arena, type) ((type*)kc_alloc((arena), sizeof(type)))
#define KC_NEW_ARRAY(arena, type, count) ((type*)kc_alloc((arena), sizeof(type) * (size_t)(count)))

#endif
