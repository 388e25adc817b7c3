/* Diagnostics of khalc: `file:line:column: error: text [KC0012 id-name]`, to stderr, in source order.
 * diagnostics.def is the one list of ids; they are stable and append-only. */
#ifndef KC_DIAG_H
#define KC_DIAG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kc_loc {
    const char* file; /* interned; NULL where unknown */
    uint32_t line, column;
} kc_loc;

typedef enum kc_diag_id {
#define KC_DIAGNOSTIC(number, id, summary) KC_DIAG_##id = number,
#include "diagnostics.def"
#undef KC_DIAGNOSTIC
} kc_diag_id;

typedef struct kc_diags {
    uint32_t error_count, warning_count;
    struct kc_arena* arena;
    struct kc_diag_item *first, *last;
} kc_diags;

/* Records an error; compilation goes on to find more, and writes no output. */
void kc_error(kc_diags* d, kc_loc loc, kc_diag_id id, const char* format, ...) __attribute__((format(printf, 4, 5)));
void kc_warning(kc_diags* d, kc_loc loc, kc_diag_id id, const char* format, ...) __attribute__((format(printf, 4, 5)));
/* Prints what was recorded, sorted by file, line and column, each once, and forgets it. */
void kc_diags_flush(kc_diags* d);

/* The place of the first that was recorded; unchanged where there is none. */
void kc_diags_first(const kc_diags* d, kc_loc* out_loc);

#endif
