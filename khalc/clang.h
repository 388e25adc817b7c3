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

/* A program by its path, or by a name that is looked up in $PATH; NULL when there is none. */
const char* kc_find_program(kc_arena* arena, const char* name);

/* The folder that has khal/kernel.h: beside the running khalc, which was called as `program`, or in
 * the tree that it was built from; NULL when neither has it (include.c). */
const char* kc_include_folder(kc_arena* arena, const char* program);

#endif
