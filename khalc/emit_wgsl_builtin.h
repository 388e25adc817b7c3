/* Which builtin becomes what in WGSL: an operator or builtin function of WGSL, or a function of
 * khalc/wgsl. */
#ifndef KC_EMIT_WGSL_BUILTIN_H
#define KC_EMIT_WGSL_BUILTIN_H

#include "ir.h"

/* How to write a call. In `text` each argument stands once, in order: $0, $1, $2, in the place of
 * an operand of an operator or of an argument of a function. $t is the result's type, $r how many
 * lanes it has, and $n how many the first argument has; $i is int and $u uint with that many lanes.
 *
 * A function of khalc/wgsl may be called with constants. Where the text names none, WGSL evaluates
 * a call of constants while it compiles, and refuses what overflows: one operand at least has to be
 * a variable. */
typedef struct kc_wgsl_call {
    const char* text;
    bool per_lane;    /* the text is for scalars: a vector is done lane by lane */
    bool gives_bool;  /* the result is a bool for each lane, where the IR has an int (1, or -1 in
                         vectors) */
    bool is_operator; /* to be parenthesised inside a larger expression */
} kc_wgsl_call;

/* `type` is the first argument's, in lowered form: float, int, uint or a vector of 2, 3 or 4 of
 * them. `relaxed` (-cl-fast-relaxed-math) prefers WGSL's own functions, whatever their error. False
 * where the builtin has no entry for this type: it is the function khal_NAME of khalc/wgsl, lane by
 * lane. */
bool kc_wgsl_builtin(kc_builtin id, const kc_type* type, bool relaxed, kc_wgsl_call* out);

#endif
