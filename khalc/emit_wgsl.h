/* A lowered module as WGSL: one WGSL module for each kernel. */
#ifndef KC_EMIT_WGSL_H
#define KC_EMIT_WGSL_H

#include "emit.h"
#include "emit_wgsl_builtin.h"
#include "lower.h"

/* Fills `out->source`, or with m->target->words out->shared_source, and with both the same entry, names, local_strides,
 * block_size and flags. `m` is lowered for WGSL, `info` the kernel's. False, with f->refusal, where WGSL has a limit that the
 * kernel is over. `relaxed`: -cl-fast-relaxed-math. */
bool kc_emit_wgsl(kc_module* m, kc_function* kernel, const khal_kernel_info* info, bool relaxed, khal_wgsl_kernel* out);

/* What the runtime appends to a kernel's source where nothing else is asked for. */
void kc_emit_wgsl_block(kc_text* out, const khal_kernel_info* info, const khal_wgsl_kernel* kernel);

/* Appends what `module` names of khalc/wgsl, and what that needs (wgsl_library.c). */
void kc_wgsl_library_complete(kc_text* module);

/* Whether `name` is a word or predeclared name of WGSL, or reserved in it (emit_wgsl_type.c). */
bool kc_wgsl_is_reserved(const char* name);

/* ---- what the files of the emitter share ------------------------------------------------------- */

enum {
    KC_WGSL_ANY,
    KC_WGSL_LOGICAL, /* && and || */
    KC_WGSL_BITS,    /* & | ^ */
    KC_WGSL_RELATION,
    KC_WGSL_SHIFT,
    KC_WGSL_ADD,
    KC_WGSL_MUL,
    KC_WGSL_UNARY,
    KC_WGSL_PRIMARY,
};

/* Of statements: Dawn takes 127 of its own levels, and counts an `if` and its block as two, each `else if` as one. */
#define KC_WGSL_MAX_NESTING 60
/* Of an array's constructor, in Dawn. */
#define KC_WGSL_MAX_ELEMENTS 32767u

typedef struct kc_w {
    const char* s;
    uint8_t prec;
    bool is_name;  /* cheap to repeat */
    bool is_const; /* WGSL would evaluate it while it compiles, and refuse what overflows */
    uint16_t depth;
} kc_w;

typedef struct kc_wgsl_name {
    const char* s;
    struct kc_wgsl_name* next;
} kc_wgsl_name;

typedef struct kc_wgsl_names {
    kc_wgsl_name* table[128];
} kc_wgsl_names;

typedef struct kc_wgsl_var { /* var->pass_data while a kernel is emitted */
    kc_var* var;
    const char* name;
    uint32_t assign_count; /* DECLARE not counted */
    const kc_expr* value;  /* DECLARE's */
    bool is_used;
    bool is_table_in_function; /* a CONSTANT whose initialiser WGSL can't evaluate while it compiles */
    struct kc_wgsl_var* next;
} kc_wgsl_var;

typedef struct kc_wgsl_record {
    const kc_record* record;
    const char* name;
    const char** fields;
    struct kc_wgsl_record* next;
} kc_wgsl_record;

typedef struct kc_wgsl {
    kc_module* m;
    kc_function* kernel;
    const khal_kernel_info* info;
    bool relaxed, words;
    kc_text* out;
    int indent, nesting;
    kc_function* f;               /* being printed */
    kc_wgsl_names names;          /* of the module */
    kc_wgsl_names local_names;    /* of the function */
    kc_wgsl_var* vars;            /* all that have pass_data */
    kc_wgsl_record* records;
    uint32_t temp_count;
    bool uses_block, uses_group_id, uses_global_id, uses_local_id, uses_local_size, uses_atomics;
    bool is_initialiser;          /* of a module-scope constant */
    bool has_bad_constant;        /* met in one */
} kc_wgsl;

/* emit_wgsl_type.c */
const char* kc_wgsl_type(kc_wgsl* em, const kc_type* t);
const char* kc_wgsl_storage_type(kc_wgsl* em, const kc_var* v, const char* size); /* of memory that may be atomic; `size` for count 0, or NULL */
const char* kc_wgsl_field(kc_wgsl* em, const kc_record* record, uint32_t field);
const char* kc_wgsl_unique(kc_wgsl* em, kc_wgsl_names* names, const char* name);
kc_wgsl_var* kc_wgsl_var_of(kc_wgsl* em, kc_var* v);
const char* kc_wgsl_name_of(kc_wgsl* em, kc_var* v);
void kc_wgsl_put_records(kc_wgsl* em, kc_text* out);
uint32_t kc_wgsl_size(const kc_type* t); /* bytes of a scalar or vector as an array's element */

/* emit_wgsl_expr.c */
kc_w kc_wgsl_expr(kc_wgsl* em, const kc_expr* e);
kc_w kc_wgsl_place(kc_wgsl* em, const kc_expr* e);
const char* kc_wgsl_text(kc_wgsl* em, const kc_expr* e);
kc_w kc_wgsl_make(kc_wgsl* em, int prec, const char* format, ...) __attribute__((format(printf, 3, 4)));
const char* kc_wgsl_at(kc_wgsl* em, kc_w c, int prec);
const char* kc_wgsl_argument(kc_wgsl* em, kc_w c); /* of a call: `f(a < b, c > d)` would be a template of WGSL's */
kc_w kc_wgsl_let(kc_wgsl* em, kc_w c); /* as a name */
const char* kc_wgsl_int(kc_wgsl* em, const kc_type* t, uint64_t bits);
void kc_wgsl_check_length(kc_wgsl* em, const kc_expr* e); /* of a list of values */
bool kc_wgsl_same(const kc_expr* a, const kc_expr* b);
kc_w kc_wgsl_shared_index(kc_wgsl* em, const kc_expr* place); /* of a place in a buffer that functions reach */
bool kc_wgsl_is_shared(const kc_wgsl* em, const kc_expr* place);

/* emit_wgsl_call.c */
kc_w kc_wgsl_builtin_call(kc_wgsl* em, const kc_expr* e);
kc_w kc_wgsl_convert(kc_wgsl* em, const kc_expr* e);

/* emit_wgsl_stmt.c */
void kc_wgsl_line(kc_wgsl* em, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* Whether control never reaches its end. */
bool kc_wgsl_block(kc_wgsl* em, kc_block* b);

#endif
