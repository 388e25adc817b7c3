/* Lowering: IR to IR, until a target's language has what is left. Each pass is a file of its own, leaves a module that
 * kc_verify_module takes, and is switched on by what the target lacks, so that every emitter may use it.
 *
 * THE LOWERED FORM, what an emitter of a language without pointers gets (kc_lower with everything off):
 *
 *  - No pointers. There is no POINTER type left but on kernels' parameters, which nothing uses any more, no ADDRESS, DEREF,
 *    OFFSET or POINTER_DIFF. Memory is reached as a place that begins with a variable: a private variable, a `__local` one, a
 *    `__constant` one, or a BUFFER.
 *  - A BUFFER, and the LOCAL array made of a `__local` parameter, is `T[]`: an ARRAY of count 0. T is what the kernel uses
 *    it as, where that is one of int, uint, float and their vectors of 2, 3 and 4, throughout; else the buffer is *words*: T is
 *    the one of int, uint and float that all scalars in it are, or `uint`, and each access is made of words, shifts and BITCASTs.
 *    The slice's own offset (SLICE_OFFSET) is already part of each index.
 *  - Arguments by value: `kernel->push` is a BUFFER of type uint[] in units of words, at the offsets of reflect.c (the
 *    original types' layout), read only by LOADs of INDEX by a constant. kc_lower_pointers declares a private variable for each
 *    such parameter that is used, at the start of the kernel's body, with the value made of those words by what also makes the
 *    values of word buffers. What `push` holds is the same in the dispatch. A kernel's own parameters have no uses left, and keep
 *    the types of the source.
 *  - Where var->is_atomic, T is int or uint, and every access of the variable is atomic: a LOAD is an atomic load, an ASSIGN an
 *    atomic store, and all other effects are ATOMIC statements. ATOMIC is on int and uint only.
 *  - A store of less than a word never changes what another work-item writes to the rest of it.
 *  - Scalars are bool, int, uint and float; vectors have 2, 3 or 4 lanes of int, uint or float. A 64-bit integer is a uint2,
 *    low word first, and its operations are the PAIR builtins of builtins.def.
 *  - No unions, no packed or over-aligned records: records are containers of values, laid out as the target likes.
 *  - BREAK names the innermost LOOP, SWITCH or BLOCK around it, CONTINUE the innermost LOOP: what the target's own words would.
 *    A BLOCK that no BREAK names is a scope and no more, and doesn't count. No case falls through, no statement stands after a
 *    terminator, each LOOP has a condition, a BREAK or a RETURN, and what CONTINUE leads to (step; head, where the test is at the
 *    end) is left by nothing in it.
 *  - Every BARRIER and BROADCAST stands where control is the same for the whole work-group, in the strict sense of a language
 *    that has to prove it: each condition around, and around exits from there, is built from constants, `push`, BUFFERs that are
 *    not written, sizes and group ids, and variables that such conditions alone set or that BROADCAST gave. (So sizes and group
 *    ids must be made of built-in values, overrides and uniform memory, not read from module-scope private variables.) The last
 *    LOCAL of such a kernel may be the 4 bytes of kc_lower_barriers: `vote`, is_temporary, without `param`.
 */
#ifndef KC_LOWER_H
#define KC_LOWER_H

#include "ir.h"

/* What a target's language has. All false: WGSL. */
typedef struct kc_target {
    const char* name; /* for diagnostics: "WGSL" */
    bool has_pointers;
    bool has_wide_vectors;     /* of 8 and 16 lanes, and of 64-bit lanes */
    bool has_int8, has_int16, has_int64;
    bool has_half, has_double;
    bool has_int64_atomics;
    bool has_printf;
    bool has_labels;           /* BREAK and CONTINUE of any statement around */
    bool has_fall_through;
    bool has_free_barriers;    /* a barrier may depend on anything, and an early return before one is legal */
    bool words;                /* every buffer is words, whatever it is used as: what aliased arguments share a binding by */
} kc_target;

/* Runs what `target` needs, in order: inlining, pointers, vectors, half, narrow and 64-bit integers, exits, barriers; prunes
 * functions that are left without a caller. The module is verified after each. A kernel that the target can't have (kc_refuse)
 * goes to m->refused and leaves the others alone. False: an internal error, or memory limits; the module is of no use. */
bool kc_lower(kc_module* m, const kc_target* target);

/* What the target can't do: not kc_error, but this, at the source line, by any pass. The first reason of a function counts. The
 * pass goes on with something that is well formed, or leaves the function as it is: it is gone before the next pass runs. */
void kc_refuse(kc_module* m, kc_function* f, kc_loc loc, kc_diag_id id, const char* format, ...)
    __attribute__((format(printf, 5, 6)));
/* What kc_lower begins with: refuses what no pass can make up for, double, printf and atomics of 64 bits. Needs kc_pass_usage.
 * (refuse.c) */
void kc_refuse_unsupported(kc_module* m, const kc_target* target);
/* After each pass, before verification: takes out functions that were refused, and those that call them; kernels among them go
 * to m->refused. (refuse.c) */
void kc_drop_refused(kc_module* m);

/* Drops every kernel but `keep`, and what is then unreachable. */
void kc_keep_kernel(kc_module* m, const kc_function* keep);

/* The passes, in the order in which kc_lower runs them. */

/* lower_pointers.c, and what lower_internal.h lists: needs kc_pass_inline(KC_INLINE_POINTERS or more) and kc_pass_usage. */
bool kc_lower_pointers(kc_module* m, const kc_target* target);
/* lower_vectors.c: vectors of 8 and 16, and all of 64-bit integers, become ARRAYs of vectors of 4 or of scalars. */
bool kc_lower_vectors(kc_module* m, const kc_target* target);
/* lower_half.c: half is computed in float, and rounded after each operation. */
bool kc_lower_half(kc_module* m, const kc_target* target);
/* lower_narrow.c: 8- and 16-bit integers are held in 32 bits, always sign- or zero-extended. */
bool kc_lower_narrow(kc_module* m, const kc_target* target);
/* lower_int64.c: scalars of 64 bits become uint2. */
bool kc_lower_int64(kc_module* m, const kc_target* target);
/* lower_exits.c */
bool kc_lower_exits(kc_module* m, const kc_target* target);
/* lower_barriers.c: needs kc_pass_usage and kc_pass_uniformity. */
bool kc_lower_barriers(kc_module* m, const kc_target* target);

#endif
