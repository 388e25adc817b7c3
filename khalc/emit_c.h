/* What the files of the C emitter share. */
#ifndef KC_EMIT_C_H
#define KC_EMIT_C_H

#include "emit.h"
#include "regions.h"

/* Precedence of a C expression, so that parentheses are printed only where they are needed. */
enum {
    KC_PREC_ANY,
    KC_PREC_COND,
    KC_PREC_LOR,
    KC_PREC_LAND,
    KC_PREC_OR,
    KC_PREC_XOR,
    KC_PREC_AND,
    KC_PREC_EQ,
    KC_PREC_REL,
    KC_PREC_SHIFT,
    KC_PREC_ADD,
    KC_PREC_MUL,
    KC_PREC_UNARY,
    KC_PREC_POSTFIX,
};

typedef struct kc_c {
    const char* s;
    int prec;
    int depth;    /* of its brackets */
    bool is_name; /* an identifier or a constant: cheap to repeat */
} kc_c;

/* What a function needs of its caller besides its parameters. Bit 3 * query + dimension of
 * `queries`. */
typedef struct kc_fn_info {
    uint32_t queries;
    bool needs_launch;
    bool has_volatile;
    bool has_order;          /* atomics, printf, fences: not to be reordered */
    uint32_t statements;     /* of calls too */
    bool has_private_memory; /* arrays and the like, which may stay in memory that iterations share
                              */
} kc_fn_info;

typedef struct kc_name {
    const char* s;
    struct kc_name* next;
} kc_name;

struct kc_emc;

/* Where the C of one target is not that of another. */
typedef struct kc_dialect {
    const char *launch_type, *launch; /* the parameter of functions that need more of the launch than ids */
    const char* compare_shorts; /* a macro for vectors of 16-bit integers; NULL: the operator does */
    bool is_by_lane; /* no operator on vectors is better than a function on their lanes, and native_divide is one */
    const char* pick;                 /* of a work-item query, the dimension that is known at run time only */
    bool passes_structs_by_address; /* arguments of kernels that are read alone: an index into a copy would need memory */
    bool passes_locals; /* a kernel's own __local variables are parameters of its work-item function */
    const char* low_id; /* what the low half of a global id is called, without _x; NULL: it has no name */
    const char* (*last_parameters)(const struct kc_emc* em, const kc_function* f); /* NULL: none */
    /* at the head of a function's body; NULL: nothing */
    void (*put_head)(struct kc_emc* em, kc_function* f);
    void (*put_barrier)(struct kc_emc* em); /* NULL: no barrier is printed as a statement */
    void (*put_fence)(struct kc_emc* em, uint32_t fence);
    const char* (*local_bytes)(struct kc_emc* em, uint32_t index); /* of the index-th `__local` argument */
    /* what stands before the declaration of a __constant variable; NULL: nothing */
    const char* (*constant_space)(struct kc_emc* em, const kc_var* v);
} kc_dialect;

typedef struct kc_emc {
    kc_module* m;
    const kc_dialect* dialect;
    void* user; /* the dialect's own */
    kc_text* out;   /* where statements are printed */
    kc_text* needs; /* instantiations that the functions ask for, printed before them */
    kc_name* needed[64];
    const char* pred; /* a bool: statements printed for an operand that may not be evaluated are
                         guarded by it */
    bool may_not_spill;
    bool constant_init;
    int indent;
    kc_function* f;
    kc_fn_info* info;
    kc_region_plan* plan; /* NULL: no barrier */
    kc_name* names[64];   /* in use in the function */
    uint32_t temp_count, label_count;
    bool uses_map, uses_math, uses_integer, uses_convert, uses_atomic, uses_print, uses_half,
        uses_relation;
    const char* line_file; /* what the compiler takes the next line for */
    uint32_t line;
    size_t line_from;
    kc_text* line_text;
    struct kc_mask* masks;   /* innermost first */
    struct kc_scope* scopes; /* statements around, innermost first */
    bool in_region;          /* in a loop over work-items */
    uint32_t region;         /* its number in the plan */
    const char* next_item;   /* label at its end */
    bool next_item_used;
    bool done_used;    /* `khal_done` */
    bool region_exits; /* some work-item may leave a statement around the region */
} kc_emc;

typedef struct kc_scope {
    kc_stmt* s;
    uint32_t number;                  /* of its labels; 0: none yet */
    bool takes_break, takes_continue; /* what C's own `break` and `continue` leave and continue */
    bool is_loop;
    bool break_used, continue_used;
    struct kc_scope* outer;
} kc_scope;

/* emit_c_type.c */
const char* kc_emc_type(kc_emc* em, const kc_type* t); /* no declarator: "khal_float4*" */
const char* kc_emc_declare(kc_emc* em, const kc_type* t, const char* name, bool is_const);
const char* kc_emc_suffix(const kc_type* t); /* "float4", "uint" */
const char* kc_emc_lane_name(const kc_type* t);
const char* kc_emc_field(kc_emc* em, const kc_record* r, uint32_t field);
const char* kc_emc_ident(kc_arena* a, const char* name); /* not a keyword or likely macro */
const char* kc_emc_unique(kc_emc* em, const char* name); /* in the function */
void kc_emc_names_clear(kc_emc* em);
const char* kc_emc_var(kc_emc* em, kc_var* v); /* its C name */
void kc_emc_need(kc_emc* em, const char* format, ...) __attribute__((format(printf, 2, 3)));
uint32_t kc_emc_storage_lanes(const kc_type* t); /* 3 lanes are stored as 4 */
void kc_emc_records(kc_emc* em, kc_text* out);
void kc_emc_constants(kc_emc* em, kc_text* out);

/* emit_c_expr.c */
kc_c kc_emc_expr(kc_emc* em, const kc_expr* e);
kc_c kc_emc_place(kc_emc* em, const kc_expr* e);
const char* kc_emc_text(kc_emc* em, const kc_expr* e); /* as an assignment's right side */
const char* kc_emc_argument(kc_emc* em, kc_c c);       /* of a macro */
const char* kc_emc_at(kc_emc* em, kc_c c, int prec);
kc_c kc_emc_make(kc_emc* em, int prec, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
kc_c kc_emc_splat(kc_emc* em, const kc_type* vector, kc_c scalar);
const char* kc_emc_query_name(kc_query query, uint32_t dimension);
/* emit_c_builtin.c */
kc_c kc_emc_builtin(kc_emc* em, const kc_expr* e, kc_c* args);
kc_c kc_emc_convert(kc_emc* em, const kc_type* to, const kc_type* from, kc_c a, kc_round round,
                    bool saturate);

/* emit_c_stmt.c */
void kc_emc_line(kc_emc* em, const char* format, ...) __attribute__((format(printf, 2, 3)));
void kc_emc_loc(kc_emc* em, kc_loc loc);
void kc_emc_block(kc_emc* em, kc_block* b);
void kc_emc_stmt(kc_emc* em, kc_stmt* s);
void kc_emc_store(kc_emc* em, const kc_type* t, const char* place, const kc_expr* value);
void kc_emc_scope_push(kc_emc* em, kc_scope* scope, kc_stmt* s);
/* Prints `break` or `continue`, or a jump to a label where C's own would leave another statement.
 */
void kc_emc_break(kc_emc* em, kc_stmt* target);
void kc_emc_continue(kc_emc* em, kc_stmt* target);
void kc_emc_label(kc_emc* em, const char* kind, kc_scope* scope, bool used);
const char* kc_emc_step(kc_emc* em,
                        kc_block* step); /* of a `for`; NULL where it takes statements */
const char* kc_emc_case_value(kc_emc* em, const kc_type* t, uint64_t bits);

/* emit_c_group.c */
void kc_emc_group_kernel(kc_emc* em, kc_function* f, const khal_kernel_info* info, kc_text* table);
void kc_emc_exit(
    kc_emc* em,
    kc_stmt* s); /* BREAK, CONTINUE, RETURN inside a region, for a statement around it */

/* emit_c.c */
void kc_emc_scan(kc_emc* em, kc_function* f); /* f->pass_data, a kc_fn_info; callees first */
void kc_emc_begin(kc_emc* em, kc_function* f);
void kc_emc_helper(kc_emc* em, kc_function* f);
void kc_emc_body(kc_emc* em, kc_function* f, const char* head);
void kc_emc_forget(kc_function* f);
const char* kc_emc_item(kc_emc* em, const kc_function* f); /* what a kernel's work-item function is called */
void kc_emc_includes(kc_emc* em, kc_text* out);
const char* kc_emc_local(kc_emc* em, kc_var* v, bool is_const);
bool kc_emc_is_by_address(const kc_emc* em, const kc_var* v);
void kc_emc_own_lines(kc_emc* em); /* the lines that follow are the generated file's own */
void kc_emc_scan_expr(kc_expr** slot, void* info);
void kc_emc_scan_stmt(kc_stmt* s, void* info);
void kc_emc_kernel_params(kc_emc* em, kc_function* f, const khal_kernel_info* info);
uint64_t kc_emc_local_layout(kc_function* f, uint64_t* offsets); /* size; offsets may be NULL */
void kc_emc_query_constants(kc_emc* em, kc_function* f, uint32_t queries);
const char* kc_emc_extra_args(kc_emc* em, const kc_fn_info* callee);

#endif
