/* The front half of khalc: OpenCL C source through clang to kernel IR. */
#ifndef KC_BUILD_H
#define KC_BUILD_H

#include <stdint.h>

#include "arena.h"
#include "diag.h"
#include "ir.h"

/* The files that a compilation read, the input first, as clang names them. */
typedef struct kc_dependencies {
    uint32_t count;
    const char** files;
} kc_dependencies;

typedef struct kc_options {
    const char* program; /* how khalc was called; NULL: not known */
    const char* input;
    const char* clang;    /* path or name of clang; NULL: $KHAL_CLANG, else searched in $PATH */
    uint32_t size_t_bits; /* 64 or 32; 0 is 64 */
    const char* const* clang_args; /* -I, -D, -cl-std=... for clang */
    uint32_t clang_arg_count;
    bool drops_messages;           /* what clang prints is not passed on */
    kc_dependencies* dependencies; /* filled when not NULL, also when the source has errors */
} kc_options;

/* A source as clang has parsed it: what any number of modules are built from. */
typedef struct kc_tree kc_tree;

/* NULL, or errors in `diags`, when something is wrong. What clang prints goes to stderr as it is. */
kc_tree* kc_parse(kc_arena* arena, kc_diags* diags, const kc_options* options);

/* Checks and builds. NULL, or errors in `diags`, when something is wrong. The module is complete
 * (callees before callers) but nothing has been computed by passes. */
kc_module* kc_build_tree(kc_tree* tree, kc_diags* diags, const char* name);

/* The two at once. */
kc_module* kc_build_module(kc_arena* arena, kc_diags* diags, const char* name,
                           const kc_options* options);

#endif
