/* How a kernel with barriers becomes loops over work-items: the plan that emit_c_group.c prints.
 *
 * A statement list is cut into *regions*, each run by all work-items one after another, and
 * *lockstep* statements between them, which the group as a whole steps through: barriers,
 * statements that contain one, and what sets a variable that steers them. See docs/cpu.md. */
#ifndef KC_REGIONS_H
#define KC_REGIONS_H

#include "ir.h"

typedef enum kc_home {
    KC_HOME_ITEM,  /* a C variable inside each region's loop that uses it */
    KC_HOME_GROUP, /* one C variable for the group: every work-item has the same value */
    KC_HOME_ARRAY, /* an element for each work-item, in scratch: lives across a barrier */
    KC_HOME_AGAIN, /* cheap and constant: computed again wherever it is needed */
} kc_home;

/* A statement that sets a variable, wholly or in part. */
typedef struct kc_setting {
    kc_stmt* s;
    struct kc_setting* next;
} kc_setting;

typedef struct kc_var_plan {
    kc_home home;
    kc_var* var;
    kc_expr* value;           /* HOME_AGAIN; HOME_GROUP when set once, where the group starts */
    kc_setting* settings;     /* the declaration too */
    uint32_t assign_count;    /* those apart from the declaration */
    bool may_be_group;        /* every setting is made by the whole group, with one value */
    bool in_loop;             /* some setting is inside a loop without barriers */
    bool in_many;             /* used in more than one region: declared at the head of each */
    bool is_marked, is_set;   /* a walk's own */
    bool is_copied;           /* HOME_ARRAY: a region works on a copy of its element */
    uint32_t region;          /* of its first use; 0: none */
    const char *name, *array; /* the emitter's */
    struct kc_var_plan* next;
} kc_var_plan;

typedef struct kc_stmt_plan {
    kc_stmt* parent; /* NULL: the function's body */
    bool lockstep;
    bool uniform; /* lockstep IF, LOOP, SWITCH: the condition is evaluated once for the group */
    bool mask;    /* work-items are in it or not, one by one */
    bool iteration_mask; /* LOOP: CONTINUE is reached by some work-items and not by others */
    bool left_early; /* something inside leaves it for an outer statement, work-item by work-item */
    uint32_t region; /* of the statement, or of the condition of a lockstep one */
    uint32_t number; /* names its masks and labels */
} kc_stmt_plan;

typedef struct kc_region_plan {
    kc_var_plan* vars; /* in order of first appearance */
    bool live_mask;    /* some work-items may return before others */
} kc_region_plan;

/* Plans `kernel`, which has a barrier. Needs kc_pass_usage. Leaves a kc_var_plan in the pass_data
 * of each of its variables and a kc_stmt_plan in that of each statement. */
kc_region_plan* kc_plan_regions(kc_module* m, kc_function* kernel);

#endif
