/* khalc's kernel IR: typed, tree-structured, with structured control flow.
 *
 * A module owns types, structs, constant variables and functions, all allocated from one arena. The rules
 * below are what verify.c checks; every pass may rely on them and must keep them.
 *
 *  - Expressions have no side effect. What has one (assignment, call, atomic, barrier, printf) is a
 *    statement, and leaves its result in a variable. Expressions may read memory (KC_EX_LOAD); they are
 *    evaluated when their statement is.
 *  - A *place* names memory (VAR, INDEX, FIELD, DEREF, LANES); a *value* is everything else. Only LOAD and
 *    ADDRESS take a place as operand, only ASSIGN and ATOMIC store to one. `expr->type` of a place is the
 *    type of the object, `kc_place_space` its address space.
 *  - Every conversion is a CONVERT or BITCAST; operands of BINARY have the same type, except that the shift
 *    count of SHL/SHR may be another integer type of the same lane count.
 *  - A comparison of scalars gives `bool`; of vectors, a signed integer vector of the same lane width,
 *    each lane 0 or -1, as in OpenCL C. LOGICAL_AND/OR/NOT work on scalar `bool`. Conditions are `bool`.
 *  - LOGICAL_AND, LOGICAL_OR and SELECT evaluate only the operand that is needed, as in C.
 *  - BREAK and CONTINUE name the statement that they leave or continue, any enclosing one.
 *  - Integer arithmetic wraps; shift counts are taken modulo the lane's width (OpenCL C 6.3j); division by zero and
 *    INT_MIN / -1 give an unspecified value, never a trap.
 *  - Pointers always know their address space. Pointer arithmetic is OFFSET, in elements.
 */
#ifndef KC_IR_H
#define KC_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"

/* ---- types ------------------------------------------------------------------------------------ */

typedef enum kc_space {
    KC_SPACE_PRIVATE, /* one work-item's own */
    KC_SPACE_LOCAL,   /* shared by a work-group */
    KC_SPACE_GLOBAL,
    KC_SPACE_CONSTANT,
} kc_space;

typedef enum kc_type_kind {
    KC_TYPE_VOID,
    KC_TYPE_BOOL,
    KC_TYPE_INT,    /* width 8, 16, 32, 64; is_signed */
    KC_TYPE_FLOAT,  /* width 16, 32, 64 */
    KC_TYPE_VECTOR, /* element (INT or FLOAT), count 2, 3, 4, 8, 16 */
    KC_TYPE_POINTER,/* element, space, is_const, is_volatile, is_restrict */
    KC_TYPE_ARRAY,  /* element, count; count 0, after kc_lower_pointers alone: as long as the dispatch makes it */
    KC_TYPE_STRUCT, /* record: a struct or a union */
} kc_type_kind;

typedef struct kc_type kc_type;
typedef struct kc_record kc_record;

/* Types are interned: two types are the same exactly when their pointers are. */
struct kc_type {
    kc_type_kind kind;
    uint8_t width; /* bits of one INT or FLOAT lane */
    bool is_signed;
    bool is_const, is_volatile, is_restrict; /* of what a POINTER points to; restrict of the pointer */
    kc_space space;                          /* of what a POINTER points to */
    const kc_type* element;                  /* VECTOR, POINTER, ARRAY */
    uint64_t count;                          /* VECTOR, ARRAY */
    const kc_record* record;                 /* STRUCT */
    uint64_t size, align;                    /* bytes, as OpenCL C lays it out (3 lanes take the room of 4) */
    const kc_type* next;                     /* interning chain; the module's own */
};

typedef struct kc_field {
    const char* name; /* "" where the source has none */
    const kc_type* type;
    uint64_t offset; /* bytes */
} kc_field;

struct kc_record {
    const char* name; /* the source's tag or typedef name, made unique; "anon_N" where there is none */
    bool is_union;
    bool is_packed;
    uint32_t field_count;
    kc_field* fields;
    uint64_t size, align;
    kc_loc loc;
    /* at any depth; filled by kc_pass_usage and kc_pass_origins */
    bool has_pointers, has_pointer_unions, has_unions, has_doubles;
};

/* ---- variables -------------------------------------------------------------------------------- */

typedef enum kc_var_kind {
    KC_VAR_PARAM,    /* of a kernel or helper function; holds a value, may be assigned */
    KC_VAR_PRIVATE,  /* declared by a DECLARE statement */
    KC_VAR_LOCAL,    /* `__local` variable of a kernel, one for each work-group */
    KC_VAR_CONSTANT, /* `__constant` variable with an initialiser, at module scope */
    KC_VAR_BUFFER,   /* made by kc_lower_pointers: the memory behind a kernel's `__global` or `__constant` argument */
} kc_var_kind;

/* How far a value is known to be the same. Larger is more varying. */
typedef enum kc_uniformity {
    KC_UNIFORM_CONSTANT, /* known to khalc */
    KC_UNIFORM_DISPATCH, /* the same for every work-item of a dispatch */
    KC_UNIFORM_GROUP,    /* the same for every work-item of a work-group */
    KC_UNIFORM_VARYING,
} kc_uniformity;

typedef struct kc_expr kc_expr;
typedef struct kc_stmt kc_stmt;
typedef struct kc_block kc_block;
typedef struct kc_function kc_function;
typedef struct kc_var kc_var;

/* What a pointer variable may point into; filled by kc_pass_origins. */
typedef struct kc_origin {
    uint32_t count;        /* distinct root variables (kernel parameters, __local, __constant, private) */
    kc_var** roots;
    bool is_unknown;       /* loaded from memory, or made from an integer */
} kc_origin;

struct kc_var {
    kc_var_kind kind;
    const char* name;      /* the source's, not made unique: two scopes may both have an `i` */
    uint32_t id;           /* unique in the module */
    const kc_type* type;
    uint64_t align;        /* bytes; 0 is the type's own */
    kc_loc loc;
    kc_expr* init;         /* KC_VAR_CONSTANT: constant expression */
    kc_function* function; /* owner; NULL for KC_VAR_CONSTANT */
    bool is_temporary;     /* made by khalc */
    bool is_address_taken; /* by ADDRESS; filled by kc_pass_usage */
    bool is_read, is_written; /* a pointer variable: what it points to; else the variable; filled by kc_pass_usage */
    bool is_atomic;        /* some ATOMIC works on what it holds or points to; filled by kc_pass_usage */
    kc_uniformity uniformity; /* of its value, filled by kc_pass_uniformity; meaningful for scalars held by value */
    kc_origin origin;      /* POINTER types; filled by kc_pass_origins */
    kc_var* param;         /* the kernel's parameter that a BUFFER, or a LOCAL array sized at launch, was made of; else NULL */
    void* pass_data;       /* the running pass's own; NULL between passes */
};

/* ---- expressions ------------------------------------------------------------------------------ */

typedef enum kc_op { /* UNARY and BINARY */
    KC_OP_NEG, KC_OP_BIT_NOT, KC_OP_LOGICAL_NOT,
    KC_OP_ADD, KC_OP_SUB, KC_OP_MUL, KC_OP_DIV, KC_OP_REM,
    KC_OP_SHL, KC_OP_SHR, /* SHR is arithmetic on signed types */
    KC_OP_AND, KC_OP_OR, KC_OP_XOR,
    KC_OP_EQ, KC_OP_NE, KC_OP_LT, KC_OP_LE, KC_OP_GT, KC_OP_GE, /* pointers too */
    KC_OP_LOGICAL_AND, KC_OP_LOGICAL_OR,
} kc_op;

typedef enum kc_round { KC_ROUND_DEFAULT, KC_ROUND_EVEN, KC_ROUND_ZERO, KC_ROUND_UP, KC_ROUND_DOWN } kc_round;

typedef enum kc_query { /* WORK_ITEM; the dimension is args[0], of any integer type; WORK_DIM has none */
    KC_QUERY_WORK_DIM, KC_QUERY_GLOBAL_SIZE, KC_QUERY_GLOBAL_ID, KC_QUERY_LOCAL_SIZE, KC_QUERY_LOCAL_ID,
    KC_QUERY_NUM_GROUPS, KC_QUERY_GROUP_ID, KC_QUERY_GLOBAL_OFFSET,
} kc_query;

typedef enum kc_builtin {
#define KC_BUILTIN(id, name, args, klass) KC_BUILTIN_##id,
#include "builtins.def"
#undef KC_BUILTIN
    KC_BUILTIN_COUNT,
} kc_builtin;

typedef enum kc_expr_kind {
    /* places */
    KC_EX_VAR,     /* var */
    KC_EX_INDEX,   /* args[0]: place of ARRAY or VECTOR type, args[1]: integer index */
    KC_EX_FIELD,   /* args[0]: place of STRUCT type, field */
    KC_EX_DEREF,   /* args[0]: pointer value */
    KC_EX_LANES,   /* args[0]: place of VECTOR type, lanes[] without repeats; one lane has the element's type */
    /* values */
    KC_EX_LOAD,    /* args[0]: place */
    KC_EX_ADDRESS, /* args[0]: place; a pointer to it */
    KC_EX_OFFSET,  /* args[0]: pointer, args[1]: integer, in elements (signed or unsigned, any width) */
    KC_EX_POINTER_DIFF, /* args[0] - args[1], in elements; a signed 64- or 32-bit integer as ptrdiff_t is */
    KC_EX_CONST,   /* scalar BOOL, INT (bits, sign- or zero-extended to 64) or FLOAT (bits of that width) */
    KC_EX_ZERO,    /* all-zero value of any type; a null pointer */
    KC_EX_AGGREGATE, /* ARRAY or STRUCT value, one arg an element or field; a union: one arg for fields[field] */
    KC_EX_UNARY,   /* op, args[0] */
    KC_EX_BINARY,  /* op, args[0], args[1] */
    KC_EX_SELECT,  /* args[0]: bool, args[1] if true, args[2] if false; any type */
    KC_EX_CONVERT, /* args[0]: bool, scalar or vector of the same lane count; round, saturate. To bool: != 0. Pointers: change of element type, same space */
    KC_EX_BITCAST, /* args[0]: same size in bytes, 3 lanes counting as 4 (as_type); pointer <-> integer too */
    KC_EX_COMPOSE, /* VECTOR from scalars and vectors whose lanes add up */
    KC_EX_SPLAT,   /* VECTOR from one scalar */
    KC_EX_SWIZZLE, /* args[0]: vector value, lanes[], repeats allowed; one lane gives the element type */
    KC_EX_BUILTIN, /* builtin, args */
    KC_EX_WORK_ITEM, /* query, args; type size_t (64- or 32-bit unsigned), uint for WORK_DIM */
    KC_EX_LOCAL_BYTES, /* var: a `__local` pointer parameter, or the array made of it; size in bytes given at launch */
    KC_EX_SLICE_OFFSET, /* var: a KC_VAR_BUFFER; uint, bytes from where the API bound the buffer to the slice's first byte */
} kc_expr_kind;

#define KC_MAX_LANES 16

struct kc_expr {
    kc_expr_kind kind;
    const kc_type* type;
    kc_loc loc;
    uint32_t arg_count;
    kc_expr** args;
    union {
        kc_var* var;
        uint32_t field;
        uint64_t bits; /* CONST */
        kc_op op;
        kc_builtin builtin;
        kc_query query;
        struct { kc_round round; bool saturate; } convert;
        struct { uint8_t count; uint8_t index[KC_MAX_LANES]; } lanes;
    } u;
};

/* ---- statements ------------------------------------------------------------------------------- */

typedef enum kc_atomic {
    KC_ATOMIC_ADD, KC_ATOMIC_SUB, KC_ATOMIC_XCHG, KC_ATOMIC_INC, KC_ATOMIC_DEC, KC_ATOMIC_CMPXCHG,
    KC_ATOMIC_MIN, KC_ATOMIC_MAX, KC_ATOMIC_AND, KC_ATOMIC_OR, KC_ATOMIC_XOR,
} kc_atomic;

#define KC_FENCE_LOCAL 1u
#define KC_FENCE_GLOBAL 2u

typedef enum kc_stmt_kind {
    KC_ST_DECLARE,  /* var (KC_VAR_PRIVATE), value or NULL (uninitialised) */
    KC_ST_ASSIGN,   /* place, value */
    KC_ST_CALL,     /* callee, args, result (a var, or NULL) */
    KC_ST_ATOMIC,   /* atomic, place (int, uint, long, ulong; XCHG float too), args (0..2: operand; comparand and value), result or NULL */
    KC_ST_BARRIER,  /* fence: KC_FENCE_... */
    KC_ST_FENCE,    /* fence */
    KC_ST_BROADCAST,/* made by kc_lower_barriers: a barrier, then result (int, uint or float) = what place, a LOCAL one of that type, holds, the
                       same for the whole group, then a barrier */
    KC_ST_PRINTF,   /* format, args (after default promotions) */
    KC_ST_IF,       /* value (bool), body, orelse (may be empty) */
    KC_ST_LOOP,     /* see below */
    KC_ST_SWITCH,   /* value (INT), cases */
    KC_ST_BLOCK,    /* body: a scope; BREAK may name it */
    KC_ST_BREAK,    /* target: LOOP, SWITCH or BLOCK */
    KC_ST_CONTINUE, /* target: LOOP */
    KC_ST_RETURN,   /* value or NULL */
} kc_stmt_kind;

/* A list of statements; DECLAREd variables live to its end. */
struct kc_block {
    kc_stmt *first, *last;
};

typedef struct kc_case {
    uint32_t value_count;
    uint64_t* values;      /* bits as in CONST */
    bool is_default;
    bool falls_through;    /* control that reaches the end of body goes on in the next case's */
    kc_block body;
} kc_case;

/* LOOP: for (;;) { head; if (!value) break; body; step; }     CONTINUE goes to step.
 *       with test_at_end:  do { body; step; head; } while (value);   CONTINUE goes to step, then head.
 * value NULL means true. Variables declared in head are seen by value, and by body and step unless test_at_end.
 * A CONTINUE stands in the body of its target, a BREAK anywhere in it. */
struct kc_stmt {
    kc_stmt_kind kind;
    kc_loc loc;
    kc_stmt *prev, *next;
    kc_var* var;           /* DECLARE */
    kc_var* result;        /* CALL, ATOMIC */
    kc_expr* place;        /* ASSIGN, ATOMIC */
    kc_expr* value;
    uint32_t arg_count;
    kc_expr** args;
    kc_block head, body, step, orelse;
    bool test_at_end;      /* LOOP */
    uint32_t case_count;
    kc_case* cases;
    kc_stmt* target;       /* BREAK, CONTINUE */
    kc_function* callee;
    kc_atomic atomic;
    uint32_t fence;
    const char* format;    /* PRINTF: the literal's bytes; format_size without the final 0 */
    size_t format_size;
    /* filled by kc_pass_uniformity */
    kc_uniformity control; /* do all work-items of the group (that have not returned) run this statement together? VARYING: no */
    /* filled by kc_pass_usage */
    bool has_barrier;      /* this statement, or one inside it, is a BARRIER or calls a function that has one */
    bool has_return, has_exit; /* a RETURN inside; a BREAK or CONTINUE inside whose target is outside this statement */
    void* pass_data;
};

/* ---- functions and modules -------------------------------------------------------------------- */

/* Why a target can't have a function; an error or a warning where khalc reports it. */
typedef struct kc_refusal {
    kc_loc loc;
    kc_diag_id id;
    const char* text;
} kc_refusal;

struct kc_function {
    const char* name;
    const kc_type* result; /* VOID for kernels */
    bool is_kernel;
    uint32_t param_count;
    kc_var** params;
    uint32_t local_count;  /* __local variables declared in a kernel, in order of declaration */
    kc_var** locals;       /* after kc_lower_pointers also the arrays made of `__local` parameters, at the end */
    uint32_t buffer_count; /* after kc_lower_pointers: one for each buffer argument, in the order of bindings (reflect.c) */
    kc_var** buffers;
    kc_var* push;          /* after kc_lower_pointers: the kernel's arguments by value, a BUFFER of uint words; NULL where it has none */
    kc_refusal* refusal;   /* why the target can't have it (kc_refuse); NULL */
    kc_block body;
    uint32_t workgroup_size[3]; /* reqd_work_group_size; 0,0,0 where the source has none */
    kc_loc loc;
    bool has_barrier;      /* directly or through calls; filled by kc_pass_usage */
    bool has_printf, has_atomic, has_fp64;
    kc_function* next;
    void* pass_data;
};

typedef struct kc_module {
    kc_arena* arena;
    kc_diags* diags;
    const char* name;       /* prefix of everything generated: "kernels" */
    const char* source_path;
    uint32_t size_t_bits;   /* 64 or 32 */
    kc_function *functions, *last_function; /* callees before callers */
    uint32_t constant_count;
    kc_var** constants;
    uint32_t record_count;
    kc_record** records;    /* in order of definition */
    uint32_t next_var_id;
    bool has_uniformity;    /* kc_pass_uniformity's results hold: the text form shows them; lowering clears it */
    bool omit_lines;        /* kc_emit_c leaves out #line */
    const struct kc_target* target; /* while and after kc_lower; NULL: as it was built */
    kc_function* refused;   /* kernels that kc_drop_refused took out of `functions`, in their order */
    const kc_type* type_table[256];
} kc_module;

/* ---- building (ir.c) -------------------------------------------------------------------------- */

kc_module* kc_module_create(kc_arena* arena, kc_diags* diags, const char* name);

const kc_type* kc_type_void(kc_module* m);
const kc_type* kc_type_bool(kc_module* m);
const kc_type* kc_type_int(kc_module* m, uint32_t width, bool is_signed);
const kc_type* kc_type_float(kc_module* m, uint32_t width);
const kc_type* kc_type_vector(kc_module* m, const kc_type* element, uint32_t count);
const kc_type* kc_type_array(kc_module* m, const kc_type* element, uint64_t count);
const kc_type* kc_type_struct(kc_module* m, const kc_record* record);
const kc_type* kc_type_pointer(kc_module* m, const kc_type* element, kc_space space, bool is_const, bool is_volatile,
                               bool is_restrict);
const kc_type* kc_type_size_t(kc_module* m);
kc_record* kc_record_create(kc_module* m, const char* name, bool is_union, kc_loc loc);

static inline bool kc_is_scalar(const kc_type* t) { return t->kind == KC_TYPE_INT || t->kind == KC_TYPE_FLOAT || t->kind == KC_TYPE_BOOL; }
static inline bool kc_is_vector(const kc_type* t) { return t->kind == KC_TYPE_VECTOR; }
/* The lane type of a vector; a scalar itself. */
static inline const kc_type* kc_lane(const kc_type* t) { return t->kind == KC_TYPE_VECTOR ? t->element : t; }
static inline uint32_t kc_lane_count(const kc_type* t) { return t->kind == KC_TYPE_VECTOR ? (uint32_t)t->count : 1; }
static inline bool kc_is_integer(const kc_type* t) { return kc_lane(t)->kind == KC_TYPE_INT; } /* scalar or vector */
static inline bool kc_is_float(const kc_type* t) { return kc_lane(t)->kind == KC_TYPE_FLOAT; }
static inline bool kc_is_pointer(const kc_type* t) { return t->kind == KC_TYPE_POINTER; }
/* `t` with its lanes changed to `lane`, the same count. */
const kc_type* kc_type_with_lane(kc_module* m, const kc_type* t, const kc_type* lane);
/* What a comparison of two `t` gives. */
const kc_type* kc_type_compare(kc_module* m, const kc_type* t);

kc_function* kc_function_create(kc_module* m, const char* name, const kc_type* result, bool is_kernel, kc_loc loc);
kc_var* kc_param_add(kc_module* m, kc_function* f, const char* name, const kc_type* type, kc_loc loc);
kc_var* kc_local_add(kc_module* m, kc_function* kernel, const char* name, const kc_type* type, kc_loc loc);
kc_var* kc_buffer_add(kc_module* m, kc_function* kernel, kc_var* param, const kc_type* type); /* BUFFER, behind `param` */
kc_var* kc_push_create(kc_module* m, kc_function* kernel); /* kernel->push */
kc_var* kc_constant_add(kc_module* m, const char* name, const kc_type* type, kc_expr* init, kc_loc loc);
kc_var* kc_var_create(kc_module* m, kc_function* f, const char* name, const kc_type* type, kc_loc loc); /* PRIVATE; DECLARE it */
kc_var* kc_temp_create(kc_module* m, kc_function* f, const char* hint, const kc_type* type, kc_loc loc);

kc_expr* kc_ex_var(kc_module* m, kc_var* var);
kc_expr* kc_ex_load_var(kc_module* m, kc_var* var); /* LOAD(VAR) */
kc_expr* kc_ex_index(kc_module* m, kc_expr* place, kc_expr* index);
kc_expr* kc_ex_field(kc_module* m, kc_expr* place, uint32_t field);
kc_expr* kc_ex_deref(kc_module* m, kc_expr* pointer);
kc_expr* kc_ex_lanes(kc_module* m, kc_expr* place, uint32_t count, const uint8_t* lanes);
kc_expr* kc_ex_load(kc_module* m, kc_expr* place);
kc_expr* kc_ex_address(kc_module* m, kc_expr* place, const kc_type* pointer_type);
kc_expr* kc_ex_offset(kc_module* m, kc_expr* pointer, kc_expr* index);
kc_expr* kc_ex_const_int(kc_module* m, const kc_type* type, uint64_t bits);
kc_expr* kc_ex_const_float(kc_module* m, const kc_type* type, double value);
kc_expr* kc_ex_const_bool(kc_module* m, bool value);
uint64_t kc_half_bits(double value); /* of the nearest half, ties to even */
kc_expr* kc_ex_zero(kc_module* m, const kc_type* type);
kc_expr* kc_ex_unary(kc_module* m, kc_op op, kc_expr* a);
kc_expr* kc_ex_binary(kc_module* m, kc_op op, kc_expr* a, kc_expr* b);
kc_expr* kc_ex_select(kc_module* m, kc_expr* cond, kc_expr* a, kc_expr* b);
kc_expr* kc_ex_convert(kc_module* m, const kc_type* to, kc_expr* a, kc_round round, bool saturate);
kc_expr* kc_ex_bitcast(kc_module* m, const kc_type* to, kc_expr* a);
kc_expr* kc_ex_list(kc_module* m, kc_expr_kind kind, const kc_type* type, uint32_t count, kc_expr** args); /* COMPOSE, AGGREGATE */
kc_expr* kc_ex_splat(kc_module* m, const kc_type* vector, kc_expr* a);
kc_expr* kc_ex_swizzle(kc_module* m, kc_expr* a, uint32_t count, const uint8_t* lanes);
kc_expr* kc_ex_builtin(kc_module* m, kc_builtin id, const kc_type* type, uint32_t count, kc_expr** args);
kc_expr* kc_ex_work_item(kc_module* m, kc_query query, kc_expr* dimension);
kc_expr* kc_ex_local_bytes(kc_module* m, kc_var* param);
kc_expr* kc_ex_slice_offset(kc_module* m, kc_var* buffer);
kc_expr* kc_ex_clone(kc_module* m, const kc_expr* e); /* deep */

kc_stmt* kc_stmt_create(kc_module* m, kc_stmt_kind kind, kc_loc loc);
void kc_block_append(kc_block* b, kc_stmt* s);
void kc_block_insert_before(kc_block* b, kc_stmt* at, kc_stmt* s);
void kc_block_remove(kc_block* b, kc_stmt* s);
void kc_block_move(kc_block* to, kc_block* from); /* all that is in `from` goes to the end of `to` */
kc_stmt* kc_st_declare(kc_module* m, kc_block* b, kc_var* var, kc_expr* value, kc_loc loc);
kc_stmt* kc_st_assign(kc_module* m, kc_block* b, kc_expr* place, kc_expr* value, kc_loc loc);

bool kc_is_place(const kc_expr* e);
kc_space kc_place_space(const kc_expr* place);
kc_var* kc_place_root(const kc_expr* place); /* the variable that a place is a part of; NULL where that is a DEREF */
bool kc_is_terminator(const kc_stmt* s); /* BREAK, CONTINUE, RETURN */
bool kc_type_is_interned(const kc_module* m, const kc_type* t);

bool kc_ex_names(const kc_expr* e, const kc_var* v); /* whether `v` stands in `e`, which may be NULL */
/* Calls `fn` for every expression of a statement (not of statements nested in it), parents before children.
 * `slot` may be replaced; the new expression is then the one walked. */
void kc_stmt_walk_exprs(kc_stmt* s, void (*fn)(kc_expr** slot, void* user), void* user);
/* Calls `fn` for every statement of the block, nested ones too, parents first. `fn` may not unlink statements other than s. */
void kc_block_walk(kc_block* b, void (*fn)(kc_stmt* s, void* user), void* user);
/* The nested blocks of a statement, in order of execution: calls fn for head, body, step, orelse and case bodies that the kind has. */
void kc_stmt_walk_blocks(kc_stmt* s, void (*fn)(kc_block* b, void* user), void* user);

const char* kc_builtin_name(kc_builtin id);
const char* kc_space_name(kc_space space);
const char* kc_type_name(kc_module* m, const kc_type* t); /* OpenCL C's spelling: "float4", "uint", "struct particle" */

/* ---- text form (print.c) and rules (verify.c) --------------------------------------------------- */

struct kc_text; /* a growing string, text.h */
void kc_print_module(struct kc_text* out, kc_module* m);
/* Every rule at the head of this file. Each violation is an internal error diagnostic at the expression's source line. */
bool kc_verify_module(kc_module* m);

/* ---- passes ------------------------------------------------------------------------------------- */

/* Analyses: write only the fields named in the structures above. */
void kc_pass_usage(kc_module* m);
void kc_pass_origins(kc_module* m);
void kc_pass_uniformity(kc_module* m); /* runs the other two first */
/* What a pointer value may point into; needs kc_pass_origins. */
kc_origin kc_expr_origin(kc_module* m, const kc_expr* pointer);

/* Lowering, IR to IR. */
typedef enum kc_inline_which {
    KC_INLINE_BARRIERS,       /* calls of functions that contain a barrier */
    KC_INLINE_POINTERS,       /* and of functions with pointers or unions in parameters or result, or with work-item queries */
    KC_INLINE_ALL,
} kc_inline_which;
/* A call becomes a BLOCK that holds the callee's body; its RETURNs become ASSIGN and BREAK. Recursion was refused earlier. */
void kc_pass_inline(kc_module* m, kc_inline_which which);
/* Removes functions that no kernel reaches, statements after a terminator, and empty BLOCKs. */
void kc_pass_prune(kc_module* m);
/* Folds operations on constants (integers exactly, wrapping; floats only where exact in any rounding is not at stake: never). */
void kc_pass_fold(kc_module* m);

#endif
