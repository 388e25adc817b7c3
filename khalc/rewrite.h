/* What the passes share that change the types that values are held in: every variable, record and function gets its new
 * types first, then every expression is made anew, operands before what they are operands of. */
#ifndef KC_REWRITE_H
#define KC_REWRITE_H

#include "ir.h"

typedef struct kc_rewrite kc_rewrite;

typedef struct kc_rewrite_rules {
    /* What holds a value of the scalar or vector type `t`; t itself where that stays. */
    const kc_type* (*type)(kc_module* m, const kc_type* t);
    /* `old` with its operands as they were, old types and all; `args` are the new ones. NULL: a copy of old will do, with
     * these operands and its type mapped. */
    kc_expr* (*expr)(kc_rewrite* r, const kc_expr* old, kc_expr** args);
    /* Asked before the operands are made anew, where the rule may want none of them. NULL: go on. May be NULL. */
    kc_expr* (*whole)(kc_rewrite* r, const kc_expr* old);
    /* True where it has made all of the statement's own expressions anew. May be NULL. */
    bool (*stmt)(kc_rewrite* r, kc_stmt* s);
} kc_rewrite_rules;

struct kc_rewrite {
    kc_module* m;
    const kc_rewrite_rules* rules;
    kc_function* f;   /* NULL in the initialiser of a constant */
    kc_block pending; /* goes before the statement that is being rewritten */
};

/* Does nothing to a module in which no type changes. */
void kc_rewrite_module(kc_module* m, const kc_rewrite_rules* rules);

/* ---- for rules */

/* Whether e's type or an operand's is of a kind. */
bool kc_rw_touches(const kc_expr* e, bool (*is_kind)(const kc_type* t));
kc_expr* kc_rw_expr(kc_rewrite* r, const kc_expr* old);
/* The value of `e` in a variable of its own, at this point: a LOAD of it. */
kc_expr* kc_rw_temp(kc_rewrite* r, kc_expr* e);
/* An expression of e's value that is cheap to repeat, by kc_ex_clone: e itself, or kc_rw_temp. */
kc_expr* kc_rw_share(kc_rewrite* r, kc_expr* e);
bool kc_rw_is_cheap(const kc_expr* e);
/* `place` with indices that are cheap to repeat. */
kc_expr* kc_rw_share_place(kc_rewrite* r, kc_expr* place);
/* An integer constant, of a vector in all lanes. */
kc_expr* kc_rw_int(kc_rewrite* r, const kc_type* t, uint64_t bits);
/* The bits of each lane of a constant, of a scalar its own; false where some lane is none. */
bool kc_rw_constant_lanes(const kc_expr* e, uint64_t* bits);
kc_expr* kc_rw_constants(kc_rewrite* r, const kc_type* t, const uint64_t* bits);
/* `op` of e and a constant in all lanes. */
kc_expr* kc_rw_op_int(kc_rewrite* r, kc_op op, kc_expr* e, uint64_t bits);
kc_expr* kc_rw_builtin(kc_rewrite* r, kc_builtin id, const kc_type* t, kc_expr* a, kc_expr* b, kc_expr* c); /* b, c or NULL */
kc_expr* kc_rw_convert(kc_rewrite* r, const kc_type* t, kc_expr* e); /* e itself where it has that type */
kc_expr* kc_rw_bitcast(kc_rewrite* r, const kc_type* t, kc_expr* e); /* likewise */
kc_expr* kc_rw_swizzle(kc_rewrite* r, kc_expr* vector, uint32_t count, const uint8_t* lanes); /* one of another is one */
kc_expr* kc_rw_lane(kc_rewrite* r, kc_expr* vector, uint32_t lane);  /* a SWIZZLE, or the operand that it picks */
const kc_type* kc_rw_words(kc_rewrite* r, uint32_t count);           /* uint, uint2, ... */

#endif
