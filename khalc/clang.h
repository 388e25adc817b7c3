/* Runs clang on the input. */
#ifndef KC_CLANG_H
#define KC_CLANG_H

#include <stdbool.h>
#include <stddef.h>

#include "build.h"
#include "text.h"

typedef enum kc_dump {
    KC_DUMP_JSON, /* -ast-dump=json: what ast.c reads */
    KC_DUMP_TEXT, /* -ast-dump: has the names of vector components, which the JSON lacks */
} kc_dump;

/* Fills *out with clang's dump, 0-terminated, to be freed with free(). On failure an error is
 * recorded (CLANG_MISSING, CLANG_FAILED, INPUT, SOURCE) and nothing is left to free. `dependencies`
 * may be NULL. */
bool kc_clang_run(kc_arena* arena, kc_diags* diags, const kc_options* options, kc_dump dump,
                  kc_dependencies* dependencies, char** out, size_t* out_size);

/* clang as a compiler of C that khalc made, which it reads from `source`; runs beside khalc until kc_clang_finish. NULL with
 * an error recorded where it could not be started. */
typedef struct kc_compilation kc_compilation;
kc_compilation* kc_clang_start(kc_arena* arena, kc_diags* diags, const kc_options* options,
                               const char* const* args, uint32_t arg_count, const kc_text* source);
/* What it wrote to its standard output, and to the other; both to be freed. False when it failed. */
bool kc_clang_finish(kc_compilation* c, kc_text* out, kc_text* out_messages);
/* Of the clang that is run, and where it is; 0 with an error recorded where there is none. */
uint32_t kc_clang_version(kc_arena* arena, kc_diags* diags, const kc_options* options, const char** out_path);

/* A program by its path, or by a name that is looked up in $PATH; NULL when there is none. */
const char* kc_find_program(kc_arena* arena, const char* name);

/* The folder that has khal/kernel.h: beside the running khalc, which was called as `program`, or in
 * the tree that it was built from; NULL when neither has it (include.c). */
const char* kc_include_folder(kc_arena* arena, const char* program);

#endif
