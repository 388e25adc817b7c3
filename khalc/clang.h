/* Runs clang on the input. */
#ifndef KC_CLANG_H
#define KC_CLANG_H

#include <stdbool.h>
#include <stddef.h>

#include "build.h"

typedef enum kc_dump {
    KC_DUMP_JSON, /* -ast-dump=json: what ast.c reads */
    KC_DUMP_TEXT, /* -ast-dump: has the names of vector components, which the JSON lacks */
} kc_dump;

/* Fills *out with clang's dump, 0-terminated, to be freed with free(). On failure an error is
 * recorded (CLANG_MISSING, CLANG_FAILED, INPUT, SOURCE) and nothing is left to free. `dependencies`
 * may be NULL. */
bool kc_clang_run(kc_arena* arena, kc_diags* diags, const kc_options* options, kc_dump dump,
                  kc_dependencies* dependencies, char** out, size_t* out_size);

#endif
