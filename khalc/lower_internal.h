/* What the files of kc_lower_pointers share. */
#ifndef KC_LOWER_INTERNAL_H
#define KC_LOWER_INTERNAL_H

#include "lower.h"

/* ---- lower_forward.c: pointers that one object is the only end of ------------------------------ */

/* Puts the value of each pointer variable that is assigned once in the place of its uses, and makes a place of every DEREF that
 * then names one. What an address is computed from is kept in variables. */
void kc_forward_pointers(kc_module* m);
/* `e` as a uint: a 64-bit index is computed in 32 bits. */
kc_expr* kc_index_uint(kc_module* m, kc_expr* e);
/* a + b, with what is known of constants. Both uint; NULL is 0. */
kc_expr* kc_index_add(kc_module* m, kc_expr* a, kc_expr* b);

/* ---- lower_split.c: records that hold pointers ------------------------------------------------- */

/* Private records that hold pointers become a variable for each field. True: something was split. */
bool kc_split_records(kc_module* m);

/* ---- lower_classes.c: what memory is made of --------------------------------------------------- */

/* What a pointer may point into. */
typedef struct kc_targets {
    uint32_t count;
    kc_var** roots;
    bool is_unknown; /* anything else, too */
    bool may_be_null;
} kc_targets;

/* Roots that one pointer may point into, and so must be counted in one unit. */
typedef struct kc_memory {
    const kc_type* element; /* all that pointers reach is of this type, or a part of it; NULL: words */
    const kc_type* word;    /* words: int, uint or float */
    uint32_t unit;          /* bytes that an index counts: the size of `element`; of words 1, 2 or 4 */
    uint32_t root_count;
    /* while it is found */
    const kc_type* seen;   /* what pointers point to, without arrays; NULL: nothing yet */
    const kc_type* scalar; /* the type of every scalar that is accessed; NULL: none yet */
    uint32_t align;        /* the least of what pointers point to, at most 4 */
    bool is_mixed;         /* `seen` is not all, or there are pointers into the middle of one */
    bool is_narrow;        /* `scalar` is not all, or not of 32 bits */
    bool has_argument, is_buffer, has_unions;
    bool has_which; /* of pointers that are pointed to: some may point into several roots */
    bool has_part_stores;  /* of some lanes, where others may store the other lanes */
    bool has_atomics, has_signed_order, has_unsigned_order; /* ATOMIC; MIN or MAX of int, of uint */
} kc_memory;

/* A variable's memory, or that behind a kernel's pointer parameter; var->pass_data of all variables. */
typedef struct kc_root {
    kc_var* var;
    const kc_type* type;    /* of what is there, in the source; of a parameter, what it points to */
    struct kc_root* parent; /* union-find */
    bool is_pointed;        /* some pointer points into it: or it must be words for another reason */
    kc_memory* memory;      /* NULL: it stays as it is, and no pointer leads there */
    uint32_t number;        /* among the roots of its memory, from 1; 0 is the null pointer */
    bool is_used, is_assigned; /* of a parameter */
    kc_var* made;           /* what stands for it after lowering */
    kc_var* first;          /* of a BUFFER: the index of the slice's first unit */
    /* of a variable that holds pointers */
    kc_targets held;
    kc_var *which, *index; /* what a pointer, or an array of them, became; which: NULL where there is one root alone */
} kc_root;

static inline const kc_type* kc_innermost(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    return t;
}

/* lower_origins.c: fills root->held. */
void kc_find_origins(kc_module* m);
/* What a pointer may point into, from what its variables hold. */
kc_targets kc_points(kc_module* m, const kc_expr* pointer);

/* Makes the roots. */
void kc_find_memory(kc_module* m, const kc_target* target);
static inline kc_root* kc_root_of(const kc_var* v)
{
    return v->pass_data;
}

/* ---- lower_pointers.c, lower_memory.c ----------------------------------------------------------- */

typedef struct kc_lowerer {
    kc_module* m;
    const kc_target* target;
    kc_function* f;  /* NULL: in the initialiser of a constant */
    bool is_refused; /* there */
    kc_block* block; /* statements are added to it, */
    kc_stmt* before; /* before this one; NULL: at its end */
    bool is_lazy;    /* what is being lowered may not be evaluated at all: no load may be moved out of it */
    kc_loc loc;
    const kc_type *u32, *i32;
} kc_lowerer;

typedef enum kc_spot_part { KC_SPOT_OBJECT, KC_SPOT_INDEX, KC_SPOT_WHICH } kc_spot_part;

/* An object in memory, or where a pointer points to. `index` is NULL for 0. */
typedef struct kc_spot {
    kc_memory* memory;  /* NULL: the null pointer alone */
    kc_root* root;      /* NULL: `which` says which one of `targets` */
    kc_expr* which;
    kc_targets targets;
    kc_expr* index;     /* units */
    kc_expr* bytes;     /* words: what is no whole number of units */
    int64_t offset;     /* bytes */
    uint64_t align;     /* words: of all but `offset` */
    const kc_type* type;
    const kc_expr *place, *element; /* of an element: the source's place, and its part that is the whole element */
    kc_spot_part part;  /* of a pointer that is there */
    uint8_t lane_count; /* words: lanes of the vector that is there; 0: all */
    const uint8_t* lanes;
} kc_spot;

void kc_emit(kc_lowerer* lw, kc_stmt* s);
void kc_emit_assign(kc_lowerer* lw, kc_expr* place, kc_expr* value);
/* The value in a variable of its own. */
kc_expr* kc_keep(kc_lowerer* lw, kc_expr* value, const char* name);
/* Something that may be cloned: `value`, or the variable that it was kept in. */
kc_expr* kc_stable(kc_lowerer* lw, kc_expr* value, const char* name);
kc_expr* kc_u32(kc_lowerer* lw, uint64_t value);

/* What is at the spot; a value of its type, or of its lanes'. */
kc_expr* kc_spot_load(kc_lowerer* lw, const kc_spot* spot);
/* `value` is lowered, and no array or record unless the spot is an element's. */
void kc_spot_store(kc_lowerer* lw, const kc_spot* spot, kc_expr* value);
/* Lowers an ATOMIC at the spot; its operands are lowered. */
void kc_spot_atomic(kc_lowerer* lw, const kc_spot* spot, kc_stmt* s);
/* Both words. */
void kc_spot_copy(kc_lowerer* lw, const kc_spot* to, const kc_spot* from, uint64_t size, uint64_t align);
void kc_spot_clear(kc_lowerer* lw, const kc_spot* to, uint64_t size, uint64_t align);
/* An array of arrays, given value by value, as the flat array `type`. */
kc_expr* kc_flat_value(kc_lowerer* lw, kc_expr* value, const kc_type* type);
/* What a `__constant` variable of words is made with. */
kc_expr* kc_words_of_constant(kc_lowerer* lw, const kc_memory* memory, const kc_expr* init);

#endif
