/* How a kernel with barriers becomes loops over work-items: the plan that emit_c_group.c prints.
 *
 * A statement list is cut into *regions*, each run by all work-items one after another, and *lockstep* statements
 * between them, which the group as a whole steps through: barriers, statements that contain one, and what sets
 * a variable that steers them. See docs/cpu.md. */
#ifndef KC_REGIONS_H
#define KC_REGIONS_H

#include "ir.h"

typedef enum kc_home {
    KC_HOME_ITEM,  /* a C variable inside each region's loop that uses it */
    KC_HOME_GROUP, /* one C variable for the group: every work-item has the same value */
    KC_HOME_ARRAY, /* an element for each work-item, in scratch: lives across a barrier */
    KC_HOME_AGAIN, /* cheap and constant: computed again wherever it is needed */
} kc_home;

typedef struct kc_var_plan {
    kc_home home;
    kc_var* var;
    kc_stmt* declared;
    kc_expr* value;         /* HOME_AGAIN */
    uint32_t assign_count;  /* ASSIGNs and results, apart from the declaration */
    bool is_address_taken;
    bool may_be_group;      /* every assignment is made by the whole group, with one value */
    bool in_loop;           /* some assignment is inside a loop without barriers */
    bool in_many;           /* used in more than one region */
    uint32_t region;        /* of its first use; 0: none */
    const char* name;       /* the emitter's */
    struct kc_var_plan* next;
} kc_var_plan;

typedef struct kc_stmt_plan {
    kc_stmt* parent;        /* NULL: the function's body */
    bool lockstep;
    bool uniform;           /* lockstep IF, LOOP, SWITCH: the condition is evaluated once for the group */
    bool mask;              /* work-items are in it or not, one by one */
    bool iteration_mask;    /* LOOP: CONTINUE is reached by some work-items and not by others */
    bool left_early;        /* something inside leaves it for an outer statement, work-item by work-item */
    uint32_t number;        /* names its masks and labels */
} kc_stmt_plan;

typedef struct kc_region_plan {
    kc_var_plan* vars;      /* in order of first appearance */
    bool live_mask;         /* some work-items may return before others */
    uint32_t mask_count;
} kc_region_plan;

/* Plans `kernel`, which has a barrier. Needs kc_pass_usage. Leaves a kc_var_plan in the pass_data of each variable and a
 * kc_stmt_plan in that of each statement; kc_plan_forget removes them. */
kc_region_plan* kc_plan_regions(kc_module* m, kc_function* kernel);
void kc_plan_forget(kc_function* kernel);

/* Whether the value is the same for all work-items of a group and may be computed outside of them. */
bool kc_plan_is_uniform(const kc_expr* e);
/* The nearest statement around `s` that keeps masks, NULL when there is none; `*out_function` tells whether that is the function. */
kc_stmt* kc_plan_mask_around(const kc_stmt* s);

#endif
