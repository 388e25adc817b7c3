/* What lower_exits.c and lower_barriers.c share. */
#ifndef KC_LOWER_FLOW_H
#define KC_LOWER_FLOW_H

#include "lower.h"

/* Joins cases that go on in the next one. */
void kc_end_fall_through(kc_module* m, kc_function* f);
/* Afterwards every BREAK and CONTINUE of `f` names the innermost statement that it may. Needs a function without fall-through. */
void kc_make_exits_plain(kc_module* m, kc_function* f);

/* `a` is used up. */
kc_expr* kc_negated(kc_module* m, kc_expr* a);
/* place-of-var = value, appended. */
kc_stmt* kc_set_var(kc_module* m, kc_block* b, kc_var* v, kc_expr* value, kc_loc loc);
/* IF (condition), appended. */
kc_stmt* kc_put_if(kc_module* m, kc_block* b, kc_expr* condition, kc_loc loc);
/* Whether `sel` has one of the values. */
kc_expr* kc_is_one_of(kc_module* m, kc_var* sel, uint32_t count, const uint64_t* values);

#endif
