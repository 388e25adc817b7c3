/* IR built by hand, for the tests of what works on it. Statements are appended at `here`. */
#ifndef BUILD_IR_H
#define BUILD_IR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "diag.h"
#include "ir.h"
#include "text.h"

static struct {
    kc_arena* arena;
    kc_diags diags;
    kc_module* m;
    kc_function* f;
    kc_block* here;
    kc_block* outer[16];
    int depth;
    const kc_type *none, *boolean, *i32, *u32, *f32, *f32x4, *i32x4, *global_float, *local_float;
} ir;

static const kc_loc nowhere = {0};

static inline int ir_setup(void** state)
{
    (void)state;
    memset(&ir, 0, sizeof ir);
    ir.arena = kc_arena_create();
    if (!ir.arena)
        return 1;
    ir.diags.arena = ir.arena;
    kc_module* m = ir.m = kc_module_create(ir.arena, &ir.diags, "test");
    ir.none = kc_type_void(m);
    ir.boolean = kc_type_bool(m);
    ir.i32 = kc_type_int(m, 32, true);
    ir.u32 = kc_type_int(m, 32, false);
    ir.f32 = kc_type_float(m, 32);
    ir.f32x4 = kc_type_vector(m, ir.f32, 4);
    ir.i32x4 = kc_type_vector(m, ir.i32, 4);
    ir.global_float = kc_type_pointer(m, ir.f32, KC_SPACE_GLOBAL, false, false, false);
    ir.local_float = kc_type_pointer(m, ir.f32, KC_SPACE_LOCAL, false, false, false);
    return 0;
}

static inline int ir_teardown(void** state)
{
    (void)state;
    kc_arena_destroy(ir.arena);
    return 0;
}

/* ---- functions and variables */

static inline kc_function* begin(const char* name, const kc_type* result, bool is_kernel)
{
    ir.f = kc_function_create(ir.m, name, result, is_kernel, nowhere);
    ir.here = &ir.f->body;
    ir.depth = 0;
    return ir.f;
}

static inline kc_function* kernel(const char* name)
{
    return begin(name, ir.none, true);
}

static inline kc_function* helper(const char* name, const kc_type* result)
{
    return begin(name, result, false);
}

static inline kc_var* param(const char* name, const kc_type* type)
{
    return kc_param_add(ir.m, ir.f, name, type, nowhere);
}

static inline kc_var* declare(const char* name, const kc_type* type, kc_expr* value)
{
    kc_var* v = kc_var_create(ir.m, ir.f, name, type, nowhere);
    kc_st_declare(ir.m, ir.here, v, value, nowhere);
    return v;
}

/* ---- expressions */

static inline kc_expr* number(int64_t value)
{
    return kc_ex_const_int(ir.m, ir.i32, (uint64_t)value);
}

static inline kc_expr* real(double value)
{
    return kc_ex_const_float(ir.m, ir.f32, value);
}

static inline kc_expr* get(kc_var* v)
{
    return kc_ex_load_var(ir.m, v);
}

static inline kc_expr* binary(kc_op op, kc_expr* a, kc_expr* b)
{
    return kc_ex_binary(ir.m, op, a, b);
}

static inline kc_expr* to_int(kc_expr* e)
{
    return kc_ex_convert(ir.m, ir.i32, e, KC_ROUND_DEFAULT, false);
}

static inline kc_expr* query(kc_query q)
{
    return to_int(kc_ex_work_item(ir.m, q, number(0)));
}

/* pointer[index], a place */
static inline kc_expr* element(kc_var* pointer, kc_expr* index)
{
    return kc_ex_deref(ir.m, kc_ex_offset(ir.m, get(pointer), index));
}

/* ---- statements */

static inline kc_stmt* put(kc_stmt_kind kind)
{
    kc_stmt* s = kc_stmt_create(ir.m, kind, nowhere);
    kc_block_append(ir.here, s);
    return s;
}

static inline void enter(kc_block* b)
{
    ir.outer[ir.depth++] = ir.here;
    ir.here = b;
}

static inline void leave(void)
{
    ir.here = ir.outer[--ir.depth];
}

static inline kc_stmt* set(kc_var* v, kc_expr* value)
{
    return kc_st_assign(ir.m, ir.here, kc_ex_var(ir.m, v), value, nowhere);
}

static inline kc_stmt* store(kc_expr* place, kc_expr* value)
{
    return kc_st_assign(ir.m, ir.here, place, value, nowhere);
}

/* The three that follow go inside; leave() ends them. */
static inline kc_stmt* enter_if(kc_expr* condition)
{
    kc_stmt* s = put(KC_ST_IF);
    s->value = condition;
    enter(&s->body);
    return s;
}

static inline kc_stmt* enter_loop(kc_expr* condition)
{
    kc_stmt* s = put(KC_ST_LOOP);
    s->value = condition;
    enter(&s->body);
    return s;
}

static inline kc_stmt* enter_block(void)
{
    kc_stmt* s = put(KC_ST_BLOCK);
    enter(&s->body);
    return s;
}

static inline kc_stmt* break_of(kc_stmt* target)
{
    kc_stmt* s = put(KC_ST_BREAK);
    s->target = target;
    return s;
}

static inline kc_stmt* continue_of(kc_stmt* target)
{
    kc_stmt* s = put(KC_ST_CONTINUE);
    s->target = target;
    return s;
}

static inline kc_stmt* give_back(kc_expr* value)
{
    kc_stmt* s = put(KC_ST_RETURN);
    s->value = value;
    return s;
}

static inline kc_stmt* barrier(void)
{
    kc_stmt* s = put(KC_ST_BARRIER);
    s->fence = KC_FENCE_LOCAL;
    return s;
}

static inline kc_stmt* call(kc_function* callee, kc_var* result, uint32_t count, kc_expr** args)
{
    kc_stmt* s = put(KC_ST_CALL);
    s->callee = callee;
    s->result = result;
    s->arg_count = count;
    s->args = KC_NEW_ARRAY(ir.arena, kc_expr*, count);
    for (uint32_t i = 0; i < count; i++)
        s->args[i] = args[i];
    return s;
}

#define ARGS(...) (sizeof((kc_expr*[]){__VA_ARGS__}) / sizeof(kc_expr*)), (kc_expr*[]){__VA_ARGS__}

/* ---- what came of it */

static inline const char* module_text(void)
{
    kc_text text = {0};
    kc_print_module(&text, ir.m);
    const char* copy = kc_strdup(ir.arena, text.data);
    kc_text_free(&text);
    return copy;
}

/* The text form, after the module's own line, is `expected`; and the IR is well-formed. */
static inline void expect_text(const char* expected)
{
    const char* text = strchr(module_text(), '\n') + 1;
    assert_string_equal(text, expected);
    assert_true(kc_verify_module(ir.m));
    assert_string_equal(strchr(module_text(), '\n') + 1, expected); /* and printing changes nothing */
}

#endif
