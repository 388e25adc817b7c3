/* What the files of the builder (build*.c) share. build.h is its interface. */
#ifndef KC_BUILD_INTERNAL_H
#define KC_BUILD_INTERNAL_H

#include "ast.h"
#include "build.h"
#include "ir.h"

/* A declaration of the source, found by clang's id or, for types, by name. */
typedef enum kc_entity_kind {
    KC_ENTITY_VAR,
    KC_ENTITY_FUNCTION,
    KC_ENTITY_ENUM_CONSTANT,
    KC_ENTITY_ENUM,
    KC_ENTITY_RECORD,
    KC_ENTITY_FIELD,
    KC_ENTITY_TYPEDEF,
} kc_entity_kind;

/* A type with what the IR keeps in pointers and variables instead. */
typedef struct kc_qualified {
    const kc_type* type; /* NULL: wrong, and reported */
    bool is_const, is_volatile, is_restrict, has_space;
    kc_space space;
    uint64_t align; /* asked for by a typedef; 0: the type's own */
} kc_qualified;

typedef struct kc_build_function kc_build_function;
typedef struct kc_entity kc_entity;
struct kc_entity {
    kc_entity_kind kind;
    uint64_t id;
    kc_entity* next_id; /* in the id table */
    const char* name;
    kc_entity* next_name;     /* in the name table */
    kc_entity* next_in_scope; /* declared before it */
    kc_qualified type; /* TYPEDEF, ENUM, RECORD (NULL while incomplete), VAR (qualifiers only) */
    kc_var* var;       /* VAR; NULL when its declaration was wrong, which has been reported */
    uint64_t value;    /* ENUM_CONSTANT */
    uint32_t field;    /* FIELD: its index */
    kc_record* record; /* RECORD */
    kc_build_function* function; /* FUNCTION */
};

struct kc_build_function {
    kc_build_function* next;
    const kc_node* node; /* the definition; NULL when there is none */
    kc_function*
        function; /* NULL when its signature was wrong, which has been reported, or has no body */
    kc_build_function** calls; /* distinct, in order of appearance */
    uint32_t call_count;
    kc_loc* call_locs;
    int mark; /* while functions are put in order */
};

typedef struct kc_source_text kc_source_text;
struct kc_source_text {
    kc_source_text* next;
    const char* path;
    char* data; /* NULL: could not be read */
    size_t size;
};

enum { KC_ID_SLOTS = 4096, KC_NAME_SLOTS = 1024 };

typedef struct kc_builder {
    kc_module* m;
    kc_arena* arena;
    kc_diags* diags;
    const kc_options* options;
    kc_entity* ids[KC_ID_SLOTS];
    kc_entity* names[KC_NAME_SLOTS];
    kc_entity* scope; /* the latest named type */
    kc_build_function *functions, *last_function;
    uint32_t string_count;
    /* names of vector components */
    kc_source_text* sources;
    uint32_t element_count;
    const char** element_names; /* from clang's text dump, by ordinal; NULL until needed */
    bool element_names_failed;
    /* while a body is built */
    kc_build_function* info;
    kc_function* function;
    kc_block* block;       /* where statements go; NULL where none may (constant initialisers) */
    kc_block* scope_block; /* that of the innermost scope of the source: what lives to its end is
                              declared there */
    kc_stmt *break_target, *continue_target;
    uint64_t private_size, local_size;
    /* what an OpaqueValueExpr stands for, inside `a ?: b` */
    kc_expr* opaque;
    /* where a switch's own declarations go; NULL outside the level of its labels */
    kc_block* switch_block;
} kc_builder;

/* ---- build.c ---- */

/* Records an error and gives NULL, for `return kc_build_error(...)`. */
void* kc_build_error(kc_builder* b, kc_loc loc, kc_diag_id id, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
/* For a child or member that clang's tree lacks. */
void* kc_build_malformed(kc_builder* b, const kc_node* n);
kc_entity* kc_build_find(kc_builder* b, uint64_t id);
kc_entity* kc_build_declare(kc_builder* b, kc_entity_kind kind, uint64_t id);
/* The expression, not those in it, placed at `loc`; NULL stays NULL. */
static inline kc_expr* kc_at(kc_expr* e, kc_loc loc)
{
    if (e)
        e->loc = loc;
    return e;
}
/* Types have names and scopes; a mark is the scope to go back to. */
void kc_build_name(kc_builder* b, kc_entity* e, const char* name);
kc_entity* kc_build_find_name(kc_builder* b, kc_entity_kind kind, const char* name, size_t size);
kc_entity* kc_build_scope_mark(kc_builder* b);
void kc_build_scope_leave(kc_builder* b, kc_entity* mark);
/* A declaration of a type: struct, union, enum or typedef. False for any other node. */
bool kc_build_type_declaration(kc_builder* b, const kc_node* n);
/* `__constant` variables, at program or function scope. */
void kc_build_constant(kc_builder* b, const kc_node* n, const kc_qualified* type);
void kc_build_note_call(kc_builder* b, kc_build_function* callee, kc_loc loc);

/* ---- build_type.c ---- */

kc_qualified kc_build_type(kc_builder* b, const kc_type_text* text, kc_loc loc);
/* The same, NULL when wrong. */
const kc_type* kc_build_plain_type(kc_builder* b, const kc_type_text* text, kc_loc loc);
void kc_build_record(kc_builder* b, const kc_node* n);
void kc_build_enum(kc_builder* b, const kc_node* n);
void kc_build_typedef(kc_builder* b, const kc_node* n);
/* The argument of an AlignedAttr among the children; 0 without one. */
uint64_t kc_build_alignment(kc_builder* b, const kc_node* n);
const kc_type* kc_build_pointer_to(kc_builder* b, const kc_qualified* q);
const kc_type* kc_build_int(kc_builder* b);
const kc_type* kc_build_ptrdiff(kc_builder* b);
/* Does the type hold, at any depth, a pointer, bool or size_t-like thing that a host can't pass? */
bool kc_type_has_pointer(const kc_type* t);

/* ---- build_expr.c ----
 * All give NULL after recording an error. What has a side effect goes to b->block as statements. */

kc_expr* kc_build_value(kc_builder* b, const kc_node* n);
kc_expr* kc_build_place(kc_builder* b, const kc_node* n);
kc_expr* kc_build_condition(kc_builder* b, const kc_node* n);
/* For its side effects only; false after an error. */
bool kc_build_effect(kc_builder* b, const kc_node* n);
/* A temporary that holds the value now; its LOAD. */
kc_expr* kc_build_hoist(kc_builder* b, kc_expr* value, const char* hint);
kc_var* kc_build_temp(kc_builder* b, const kc_type* type, const char* hint, kc_loc loc);
kc_expr* kc_build_as_place(kc_builder* b, kc_expr* value);
/* The pointer under conversions that add const, or volatile, to what it points to. */
kc_expr* kc_build_unqualified(kc_expr* pointer, bool keep_volatile);
/* What a pointer points to: DEREF, or the place that it is the ADDRESS of. NULL when it is no
 * pointer to an object. */
kc_expr* kc_build_deref(kc_builder* b, kc_expr* pointer, kc_loc loc);
/* Statements go to `sub` until kc_build_leave. */
kc_block* kc_build_enter(kc_builder* b, kc_block* sub);
void kc_build_leave(kc_builder* b, kc_block* saved);
/* A place that can be used twice: what in it reads memory or is costly is in temporaries. */
kc_expr* kc_build_stable_place(kc_builder* b, kc_expr* place);
kc_expr* kc_build_stable_value(kc_builder* b, kc_expr* value);
/* Conversions that C makes silently and the IR does not: among pointer types, and nothing where
 * types are equal. */
kc_expr* kc_build_coerce(kc_builder* b, kc_expr* e, const kc_type* type, kc_loc loc);
kc_expr* kc_build_to_bool(kc_builder* b, kc_expr* e);
/* A bool as C's int. */
kc_expr* kc_build_from_bool(kc_builder* b, kc_expr* e);
/* An integer or float expression converted to another scalar or vector type, nothing where it has
 * it. */
kc_expr* kc_build_convert(kc_builder* b, kc_expr* e, const kc_type* type);
/* The places that have a value's lanes: `count` of them out of a swizzle's name; 0 when the name is
 * none. */
uint32_t kc_parse_accessor(const char* name, uint32_t vector_count, uint8_t lanes[KC_MAX_LANES]);
/* Takes the parentheses and conversions without effect off. */
const kc_node* kc_strip(const kc_node* n);
const kc_node* kc_strip_casts(const kc_node* n);

/* ---- build_op.c ---- */

kc_expr* kc_build_unary(kc_builder* b, const kc_node* n, bool is_used);
kc_expr* kc_build_binary(kc_builder* b, const kc_node* n, bool is_used);
kc_expr* kc_build_conditional(kc_builder* b, const kc_node* n, bool is_used);
kc_expr* kc_build_cast(kc_builder* b, const kc_node* n);
/* Where `value` is the temporary that the last statement's call gave its result to, the call gives
 * it to `var` instead, and the temporary is gone. `is_declared`: else its declaration becomes var's. */
bool kc_build_redirect_call(kc_builder* b, kc_var* var, bool is_declared, const kc_expr* value);
/* A value for callers that don't want one: anything not NULL. */
kc_expr* kc_build_nothing(kc_builder* b);

/* ---- build_call.c ---- */

kc_expr* kc_build_call(kc_builder* b, const kc_node* n, bool is_used);

typedef struct kc_call {
    const char* name;
    kc_loc loc;
    kc_type_text result; /* as clang spells it */
    uint32_t count;
    const kc_node* const* args;
    bool is_used;
} kc_call;

/* ---- build_builtin.c, build_memory.c, build_printf.c ----
 * False when the name is not one of theirs; else *out is the value (kc_build_nothing where there is
 * none), or NULL after an error. */
bool kc_build_pure_builtin(kc_builder* b, const kc_call* call, kc_expr** out);
bool kc_build_memory_builtin(kc_builder* b, const kc_call* call, kc_expr** out);
kc_expr* kc_build_printf(kc_builder* b, const kc_call* call);
/* All arguments, in order; false after an error. `args` has room for call->count. */
bool kc_build_arguments(kc_builder* b, const kc_call* call, kc_expr** args);
kc_expr* kc_build_wrong_call(kc_builder* b, const kc_call* call);
/* A scalar spread, and its lanes converted, to `type`; NULL when it does not fit. */
kc_expr* kc_build_widen(kc_builder* b, kc_expr* e, const kc_type* type);

/* ---- build_init.c ---- */

/* The value of an initialiser for an object of that type. */
kc_expr* kc_build_init(kc_builder* b, const kc_node* n, const kc_type* type);
/* Computes an initialiser now: the result has only CONST, ZERO, AGGREGATE, COMPOSE and ADDRESS.
 * NULL when it can't. */
kc_expr* kc_build_fold_constant(kc_builder* b, kc_expr* e);
/* The bytes of a literal as clang writes it, quotes and all. False when it is not a plain one. */
bool kc_build_unescape(kc_builder* b, const char* literal, char** bytes, size_t* size);
/* The `__constant char[]` that a string literal is. */
kc_var* kc_build_string(kc_builder* b, const kc_node* n);

/* ---- build_stmt.c ---- */

void kc_build_body(kc_builder* b, kc_build_function* f);
void kc_build_stmt(kc_builder* b, const kc_node* n);
void kc_build_compound(kc_builder* b, const kc_node* n);

/* ---- subset.c ---- */

/* Refuses, with ids of their own, the constructs that the builder does not know. */
void kc_check_subset(kc_diags* diags, const kc_node* root);

#endif
