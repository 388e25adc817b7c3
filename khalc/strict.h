/* Which control flow of a kernel with barriers a language can prove to be the same for the whole work-group, as WGSL does: by
 * the program's text alone. What it can't prove is *masked*: the group steps through it together, and a variable for each
 * work-item tells who takes part. Narrower than kc_pass_uniformity, which knows what OpenCL C promises. */
#ifndef KC_STRICT_H
#define KC_STRICT_H

#include "lower.h"

typedef struct kc_strict_stmt { /* a statement's pass_data */
    kc_stmt* parent;     /* NULL: the function's body */
    bool steps;          /* it has a barrier, or an exit that the group takes as a whole, inside */
    bool varies;         /* IF, LOOP, SWITCH that step: the condition; exits: who takes it */
    bool has_mask;       /* IF, LOOP, SWITCH, BLOCK: work-items are in it or not, one by one */
    bool has_round_mask; /* LOOP: CONTINUE ends some work-items' part in the round */
    bool is_left;        /* LOOP: work-items leave it one by one for somewhere further out */
    bool leaves;         /* holds a varying exit, to a statement around it that steps */
    bool is_masked;      /* some work-items may be out when the group comes here */
    bool is_final;       /* it, and what follows in its list, runs after the last barrier */
    bool may_all;        /* DECLARE, ASSIGN: does no harm in work-items that are out */
    bool is_strict;      /* DECLARE, ASSIGN: of a value that is provably the same */
    bool steps_seen, varies_inside;
    uint32_t bit, round_bit;
    uint64_t *entry, *out, *next; /* LOOP, SWITCH, BLOCK: states of variables, joined */
} kc_strict_stmt;

typedef struct kc_strict_var { /* a variable's pass_data */
    uint32_t bit;
    int depth;   /* masks around its declaration */
    bool steers; /* it, or what is made of it, decides where the group goes */
    uint32_t uses, uses_here, sets; /* kc_lower_barriers' own */
} kc_strict_var;

typedef struct kc_strict {
    bool has_returns; /* work-items return one by one before a barrier */
    uint32_t stmt_count;
    kc_stmt** stmts;
    uint32_t var_count;
    kc_var** vars;
} kc_strict;

/* Needs kc_pass_usage and kc_pass_origins, and cases that don't fall through. Fills pass_data of the kernel's statements and
 * variables, until kc_strict_close. */
void kc_strict_open(kc_strict* out, kc_module* m, kc_function* kernel, const kc_target* target);
void kc_strict_close(kc_strict* facts);
/* Whether a work-item that is out may compute the value, from whatever its variables hold. */
bool kc_is_harmless(const kc_expr* e);

#endif
