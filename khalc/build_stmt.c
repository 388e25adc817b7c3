/* Statements, declarations in functions, bodies. */
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"

enum { KC_MAX_PRIVATE = 1 << 20, KC_MAX_LOCAL = 64 << 10, KC_MAX_CASE_VALUES = 4096 };

static bool is_attribute(const kc_node* n)
{
    const size_t size = strlen(n->kind_name);
    return size > 4 && strcmp(n->kind_name + size - 4, "Attr") == 0;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void declare_local(kc_builder* b, const kc_node* n, const kc_qualified* type)
{
    kc_entity* e = kc_build_declare(b, KC_ENTITY_VAR, n->id);
    e->type = *type;
    if (!b->function->is_kernel) {
        kc_build_error(b, n->loc, KC_DIAG_LOCAL_VARIABLE,
                       "the __local variable '%s' is not in a kernel", n->name);
        return;
    }
    if (kc_type_has_pointer(type->type) && type->type->size == 0)
        return;
    e->var = kc_local_add(b->m, b->function, n->name, type->type, n->loc);
    const uint64_t asked = kc_build_alignment(b, n);
    e->var->align = asked > type->type->align ? asked : 0;
    b->local_size += type->type->size;
}

static void declare_private(kc_builder* b, const kc_node* n, const kc_qualified* type)
{
    kc_expr* value = NULL;
    const kc_node* init = NULL;
    for (uint32_t i = 0; i < n->child_count; i++)
        if (!is_attribute(n->children[i]) && n->children[i]->kind != KC_NODE_NULL)
            init = n->children[i];
    /* the name is known in its own initialiser: int n = sizeof n; */
    kc_entity* e = kc_build_declare(b, KC_ENTITY_VAR, n->id);
    e->type = *type;
    kc_var* var = kc_var_create(b->m, b->function, n->name, type->type, n->loc);
    const uint64_t asked = kc_build_alignment(b, n);
    var->align = asked ? asked : type->align;
    if (var->align <= type->type->align)
        var->align = 0;
    b->private_size += type->type->size;
    e->var = var;
    /* a switch's own variables are seen by all its cases, so they are declared before it */
    const bool is_in_switch = b->switch_block && b->switch_block != b->block;
    kc_block* const block = is_in_switch ? b->switch_block : b->block;
    if (is_in_switch)
        kc_st_declare(b->m, block, var, NULL, n->loc);
    if (init) {
        value = kc_build_init(b, init, type->type);
        if (!value)
            return;
    }
    if (is_in_switch) {
        if (value) {
            kc_expr* place = kc_ex_var(b->m, var);
            place->loc = n->loc;
            kc_st_assign(b->m, b->block, place, value, n->loc);
        }
        return;
    }
    if (!value || !kc_build_redirect_call(b, var, false, value))
        kc_st_declare(b->m, b->block, var, value, n->loc);
}

static void declare_variable(kc_builder* b, const kc_node* n)
{
    const kc_qualified type = kc_build_type(b, &n->type, n->loc);
    if (!type.type || !n->name) {
        if (type.type)
            kc_build_malformed(b, n);
        kc_build_declare(b, KC_ENTITY_VAR, n->id); /* without a variable: uses of it stay silent */
        return;
    }
    if (n->storage && strcmp(n->storage, "extern") == 0) {
        kc_build_declare(b, KC_ENTITY_VAR, n->id);
        kc_build_error(b, n->loc, KC_DIAG_GLOBAL_VARIABLE,
                       "the variable '%s' has no definition here", n->name);
        return;
    }
    const kc_space space = type.has_space ? type.space : KC_SPACE_PRIVATE;
    if (space == KC_SPACE_LOCAL) {
        declare_local(b, n, &type);
    } else if (space == KC_SPACE_CONSTANT) {
        kc_build_constant(b, n, &type);
    } else if (space == KC_SPACE_GLOBAL || (n->storage && strcmp(n->storage, "static") == 0)) {
        kc_build_declare(b, KC_ENTITY_VAR, n->id);
        kc_build_error(b, n->loc, KC_DIAG_GLOBAL_VARIABLE,
                       "the variable '%s' would outlive the kernel", n->name);
    } else {
        declare_private(b, n, &type);
    }
}

static void declarations(kc_builder* b, const kc_node* n)
{
    for (uint32_t i = 0; i < n->child_count; i++) {
        const kc_node* d = n->children[i];
        if (d->kind == KC_NODE_VarDecl)
            declare_variable(b, d);
        else if (!kc_build_type_declaration(b, d) && d->kind != KC_NODE_StaticAssertDecl &&
                 d->kind != KC_NODE_EmptyDecl && d->kind != KC_NODE_FunctionDecl)
            kc_build_error(b, d->loc, KC_DIAG_STATEMENT,
                           "this declaration is not supported here (%s)", d->kind_name);
    }
}

static bool declares_variables(const kc_node* n)
{
    return n->kind == KC_NODE_DeclStmt && kc_node_find(n, KC_NODE_VarDecl);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Builds a statement into a block of its own, which is a scope. */
static kc_block sub_block(kc_builder* b, const kc_node* n)
{
    kc_block block = {0};
    kc_block* const saved = b->block;
    kc_block* const saved_scope = b->scope_block;
    kc_block* const saved_switch = b->switch_block;
    kc_entity* mark = kc_build_scope_mark(b);
    b->block = b->scope_block = &block;
    b->switch_block = NULL;
    if (n && n->kind == KC_NODE_CompoundStmt)
        kc_build_compound(b, n);
    else if (n && n->kind != KC_NODE_NULL)
        kc_build_stmt(b, n);
    kc_build_scope_leave(b, mark);
    b->block = saved;
    b->scope_block = saved_scope;
    b->switch_block = saved_switch;
    return block;
}

void kc_build_compound(kc_builder* b, const kc_node* n)
{
    for (uint32_t i = 0; i < n->child_count; i++)
        kc_build_stmt(b, n->children[i]);
}

static kc_stmt* append(kc_builder* b, kc_stmt_kind kind, kc_loc loc)
{
    kc_stmt* s = kc_stmt_create(b->m, kind, loc);
    kc_block_append(b->block, s);
    return s;
}

/* `{ ... }` in the middle of statements. Without variables of its own it needs no scope. */
static void nested_compound(kc_builder* b, const kc_node* n)
{
    bool has_variables = false;
    for (uint32_t i = 0; i < n->child_count; i++)
        has_variables |= declares_variables(n->children[i]);
    const kc_block body = sub_block(b, n);
    if (has_variables) {
        append(b, KC_ST_BLOCK, n->loc)->body = body;
        return;
    }
    for (kc_stmt *s = body.first, *next; s; s = next) {
        next = s->next;
        kc_block_append(b->block, s);
    }
}

/* ---- if and loops ---------------------------------------------------------------------------- */

static void build_if(kc_builder* b, const kc_node* n)
{
    if (n->has_init || n->has_var || n->child_count != (n->has_else ? 3u : 2u)) {
        kc_build_malformed(b, n);
        return;
    }
    kc_expr* condition = kc_build_condition(b, n->children[0]);
    const kc_block body = sub_block(b, n->children[1]);
    const kc_block orelse = n->has_else ? sub_block(b, n->children[2]) : (kc_block){0};
    if (!condition)
        return;
    kc_stmt* s = append(b, KC_ST_IF, n->loc);
    s->value = condition;
    s->body = body;
    s->orelse = orelse;
}

static kc_block loop_body(kc_builder* b, kc_stmt* loop, const kc_node* n)
{
    kc_stmt* const outer_break = b->break_target;
    kc_stmt* const outer_continue = b->continue_target;
    b->break_target = b->continue_target = loop;
    const kc_block body = sub_block(b, n);
    b->break_target = outer_break;
    b->continue_target = outer_continue;
    return body;
}

/* The condition's own statements go to the loop's head. A constant that is true is no condition. */
static bool loop_condition(kc_builder* b, kc_stmt* loop, const kc_node* n)
{
    if (!n || n->kind == KC_NODE_NULL)
        return true;
    kc_block* saved = kc_build_enter(b, &loop->head);
    loop->value = kc_build_condition(b, n);
    kc_build_leave(b, saved);
    if (!loop->value)
        return false;
    if (loop->value->kind == KC_EX_CONST && loop->value->u.bits)
        loop->value = NULL;
    return true;
}

static void build_while(kc_builder* b, const kc_node* n)
{
    if (n->has_var || n->child_count != 2) {
        kc_build_malformed(b, n);
        return;
    }
    kc_stmt* loop = kc_stmt_create(b->m, KC_ST_LOOP, n->loc);
    loop_condition(b, loop, n->children[0]);
    loop->body = loop_body(b, loop, n->children[1]);
    kc_block_append(b->block, loop);
}

static void build_do(kc_builder* b, const kc_node* n)
{
    if (n->child_count != 2) {
        kc_build_malformed(b, n);
        return;
    }
    kc_stmt* loop = kc_stmt_create(b->m, KC_ST_LOOP, n->loc);
    loop->test_at_end = true;
    loop->body = loop_body(b, loop, n->children[0]);
    loop_condition(b, loop, n->children[1]);
    kc_block_append(b->block, loop);
}

static void for_loop(kc_builder* b, const kc_node* n)
{
    const kc_node* init = n->children[0];
    if (init->kind != KC_NODE_NULL)
        kc_build_stmt(b, init);
    kc_stmt* loop = kc_stmt_create(b->m, KC_ST_LOOP, n->loc);
    loop_condition(b, loop, n->children[2]);
    loop->body = loop_body(b, loop, n->children[4]);
    if (n->children[3]->kind != KC_NODE_NULL)
        loop->step = sub_block(b, n->children[3]);
    kc_block_append(b->block, loop);
}

static void build_for(kc_builder* b, const kc_node* n)
{
    if (n->child_count != 5 || n->children[1]->kind != KC_NODE_NULL) {
        kc_build_malformed(b, n);
        return;
    }
    kc_entity* mark = kc_build_scope_mark(b);
    if (n->children[0]->kind == KC_NODE_DeclStmt) {
        kc_block block = {0};
        kc_block* const saved = b->block;
        kc_block* const saved_scope = b->scope_block;
        kc_block* const saved_switch = b->switch_block;
        b->block = b->scope_block = &block;
        b->switch_block = NULL;
        for_loop(b, n);
        b->block = saved;
        b->scope_block = saved_scope;
        b->switch_block = saved_switch;
        append(b, KC_ST_BLOCK, n->loc)->body = block;
    } else {
        for_loop(b, n);
    }
    kc_build_scope_leave(b, mark);
}

/* ---- switch ---------------------------------------------------------------------------------- */

typedef struct kc_switch {
    kc_stmt* stmt;
    const kc_type* type;
    uint32_t capacity;
} kc_switch;

static kc_case* add_case(kc_builder* b, kc_switch* sw)
{
    kc_stmt* s = sw->stmt;
    if (s->case_count == sw->capacity) {
        sw->capacity = sw->capacity ? sw->capacity * 2 : 8;
        kc_case* cases = KC_NEW_ARRAY(b->arena, kc_case, sw->capacity);
        if (s->case_count)
            memcpy(cases, s->cases, sizeof *cases * s->case_count);
        s->cases = cases;
    }
    return &s->cases[s->case_count++];
}

static void add_value(kc_builder* b, kc_case* c, uint64_t bits)
{
    if ((c->value_count & (c->value_count - 1)) == 0) {
        uint64_t* values =
            KC_NEW_ARRAY(b->arena, uint64_t, c->value_count ? (size_t)c->value_count * 2 : 1);
        if (c->value_count)
            memcpy(values, c->values, sizeof *values * c->value_count);
        c->values = values;
    }
    c->values[c->value_count++] = bits;
}

/* A case label's value, as the type of the switch has it. */
static bool case_value(kc_builder* b, const kc_switch* sw, const kc_node* n, uint64_t* bits)
{
    kc_block* saved = b->block;
    b->block = NULL;
    kc_expr* e = kc_build_value(b, n);
    b->block = saved;
    if (e)
        e = kc_build_from_bool(b, e);
    kc_expr* folded = e ? kc_build_fold_constant(b, e) : NULL;
    if (!folded || folded->type->kind != KC_TYPE_INT) {
        if (e)
            kc_build_error(b, n->loc, KC_DIAG_EXPRESSION,
                           "the value of this case could not be computed");
        return false;
    }
    *bits =
        folded->kind == KC_EX_ZERO ? 0 : kc_ex_const_int(b->m, sw->type, folded->u.bits)->u.bits;
    return true;
}

static void add_label(kc_builder* b, const kc_switch* sw, kc_case* c, const kc_node* label)
{
    if (label->kind == KC_NODE_DefaultStmt) {
        c->is_default = true;
        return;
    }
    const uint32_t values = label->is_gnu_range ? 2 : 1;
    if (label->child_count != values + 1) {
        kc_build_malformed(b, label);
        return;
    }
    uint64_t first = 0, last;
    if (!case_value(b, sw, label->children[0], &first))
        return;
    last = first;
    if (values == 2 && !case_value(b, sw, label->children[1], &last))
        return;
    const bool is_empty = sw->type->is_signed ? (int64_t)first > (int64_t)last : first > last;
    if (is_empty)
        return;
    if (last - first >= KC_MAX_CASE_VALUES) {
        kc_build_error(b, label->loc, KC_DIAG_STATEMENT,
                       "a case of more than %d values is not supported", KC_MAX_CASE_VALUES);
        return;
    }
    for (uint64_t v = first;; v++) {
        add_value(b, c, v);
        if (v == last)
            break;
    }
}

/* The end of a case: a break of the switch's own is what the IR says anyway. */
static void close_case(kc_stmt* s)
{
    if (!s->case_count)
        return;
    kc_case* c = &s->cases[s->case_count - 1];
    kc_stmt* last = c->body.last;
    c->falls_through = !last || !kc_is_terminator(last);
    if (last && last->kind == KC_ST_BREAK && last->target == s)
        kc_block_remove(&c->body, last);
}

static bool is_label(const kc_node* n)
{
    return n->kind == KC_NODE_CaseStmt || n->kind == KC_NODE_DefaultStmt;
}

static void switch_body(kc_builder* b, kc_switch* sw, const kc_node* body)
{
    kc_stmt* s = sw->stmt;
    kc_block unreachable = {0}; /* before the first label; its declarations count all the same */
    b->block = &unreachable;
    const kc_node* const only[1] = {body};
    const bool is_compound = body->kind == KC_NODE_CompoundStmt;
    const kc_node* const* children = is_compound ? (const kc_node* const*)body->children : only;
    const uint32_t count = is_compound ? body->child_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const kc_node* n = children[i];
        bool has_label = false;
        kc_case* c = NULL;
        while (is_label(n)) { /* case 1: case 2: default: statement */
            if (!has_label) {
                close_case(s);
                c = add_case(b, sw);
                has_label = true;
            }
            add_label(b, sw, c, n);
            const kc_node* inner = n->child_count ? n->children[n->child_count - 1] : NULL;
            if (!inner) {
                kc_build_malformed(b, n);
                return;
            }
            n = inner;
        }
        /* the array of cases may have moved: no pointer into it is kept across statements */
        if (!s->case_count) {
            kc_build_stmt(b, n);
            continue;
        }
        kc_block current = s->cases[s->case_count - 1].body;
        b->block = &current;
        kc_build_stmt(b, n);
        s->cases[s->case_count - 1].body = current;
    }
    close_case(s);
    if (s->case_count)
        s->cases[s->case_count - 1].falls_through = false;
}

static void build_switch(kc_builder* b, const kc_node* n)
{
    if (n->has_init || n->has_var || n->child_count != 2) {
        kc_build_malformed(b, n);
        return;
    }
    kc_expr* value = kc_build_from_bool(b, kc_build_value(b, n->children[0]));
    if (!value)
        return;
    if (value->type->kind != KC_TYPE_INT) {
        kc_build_malformed(b, n);
        return;
    }
    kc_stmt* s = kc_stmt_create(b->m, KC_ST_SWITCH, n->loc);
    s->value = value;
    kc_switch sw = {.stmt = s, .type = value->type};
    kc_block* const saved = b->block;
    kc_block* const saved_scope = b->scope_block;
    kc_block* const saved_switch = b->switch_block;
    kc_stmt* const outer_break = b->break_target;
    kc_entity* mark = kc_build_scope_mark(b);
    kc_block around = {0}; /* the switch's declarations, then the switch */
    b->switch_block = b->scope_block = &around;
    b->break_target = s;
    switch_body(b, &sw, n->children[1]);
    kc_build_scope_leave(b, mark);
    b->break_target = outer_break;
    b->switch_block = saved_switch;
    b->scope_block = saved_scope;
    b->block = saved;
    if (!around.first) {
        kc_block_append(b->block, s);
        return;
    }
    kc_block_append(&around, s);
    append(b, KC_ST_BLOCK, n->loc)->body = around;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void build_return(kc_builder* b, const kc_node* n)
{
    kc_expr* value = NULL;
    const kc_node* operand = kc_node_child(n, 0);
    if (operand && operand->kind != KC_NODE_NULL) {
        if (b->function->result->kind == KC_TYPE_VOID) { /* return f(); of a void f */
            if (!kc_build_effect(b, operand))
                return;
        } else {
            value = kc_build_coerce(b, kc_build_value(b, operand), b->function->result, n->loc);
            if (!value)
                return;
        }
    } else if (b->function->result->kind != KC_TYPE_VOID) {
        /* an error in C99, which clang lets pass as a warning: no value is as good as any */
        value = kc_ex_zero(b->m, b->function->result);
        value->loc = n->loc;
    }
    append(b, KC_ST_RETURN, n->loc)->value = value;
}

static void leave(kc_builder* b, const kc_node* n, kc_stmt_kind kind, kc_stmt* target)
{
    if (target)
        append(b, kind, n->loc)->target = target;
    else
        kc_build_malformed(b, n);
}

void kc_build_stmt(kc_builder* b, const kc_node* n)
{
    switch (n->kind) {
    case KC_NODE_CompoundStmt: nested_compound(b, n); break;
    case KC_NODE_DeclStmt: declarations(b, n); break;
    case KC_NODE_NullStmt: break;
    case KC_NODE_IfStmt: build_if(b, n); break;
    case KC_NODE_ForStmt: build_for(b, n); break;
    case KC_NODE_WhileStmt: build_while(b, n); break;
    case KC_NODE_DoStmt: build_do(b, n); break;
    case KC_NODE_SwitchStmt: build_switch(b, n); break;
    case KC_NODE_BreakStmt: leave(b, n, KC_ST_BREAK, b->break_target); break;
    case KC_NODE_ContinueStmt: leave(b, n, KC_ST_CONTINUE, b->continue_target); break;
    case KC_NODE_ReturnStmt: build_return(b, n); break;
    case KC_NODE_AttributedStmt: /* unroll hints and the like */
        for (uint32_t i = 0; i < n->child_count; i++)
            if (!is_attribute(n->children[i]))
                kc_build_stmt(b, n->children[i]);
        break;
    case KC_NODE_CaseStmt:
    case KC_NODE_DefaultStmt:
        kc_build_error(b, n->loc, KC_DIAG_SWITCH_LABEL,
                       "a case label inside another statement of the switch");
        break;
    default: {
        const size_t size = strlen(n->kind_name);
        if (size > 4 && strcmp(n->kind_name + size - 4, "Stmt") == 0)
            kc_build_error(b, n->loc, KC_DIAG_STATEMENT,
                           "this form of statement is not supported (%s)", n->kind_name);
        else
            kc_build_effect(b, n);
    }
    }
}

static bool ends(const kc_block* block);

/* Does control never go on after this statement? Only what is plain: returns, and ifs whose
 * branches both return. */
static bool never_passes(const kc_stmt* s)
{
    if (s->kind == KC_ST_RETURN)
        return true;
    if (s->kind == KC_ST_IF)
        return ends(&s->body) && ends(&s->orelse);
    return s->kind == KC_ST_BLOCK && ends(&s->body);
}

static bool ends(const kc_block* block)
{
    return block->last && never_passes(block->last);
}

void kc_build_body(kc_builder* b, kc_build_function* f)
{
    const kc_node* body = kc_node_find(f->node, KC_NODE_CompoundStmt);
    if (!body)
        return;
    kc_block block = {0};
    b->info = f;
    b->function = f->function;
    b->block = b->scope_block = &block;
    b->private_size = b->local_size = 0;
    kc_entity* mark = kc_build_scope_mark(b);
    kc_build_compound(b, body);
    kc_build_scope_leave(b, mark);
    if (f->function->result->kind != KC_TYPE_VOID && !ends(&block)) {
        /* falling off the end gives no value that a caller may use; the IR wants one */
        kc_expr* nothing = kc_ex_zero(b->m, f->function->result);
        nothing->loc = f->node->loc;
        append(b, KC_ST_RETURN, f->node->loc)->value = nothing;
    }
    f->function->body = block;
    if (b->private_size > KC_MAX_PRIVATE)
        kc_build_error(b, f->node->loc, KC_DIAG_PRIVATE_MEMORY,
                       "the private variables of '%s' take %llu bytes; %d are allowed",
                       f->function->name, (unsigned long long)b->private_size, KC_MAX_PRIVATE);
    if (b->local_size > KC_MAX_LOCAL)
        kc_build_error(b, f->node->loc, KC_DIAG_LOCAL_MEMORY,
                       "the __local variables of '%s' take %llu bytes; %d are allowed",
                       f->function->name, (unsigned long long)b->local_size, KC_MAX_LOCAL);
    b->block = b->scope_block = NULL;
    b->function = NULL;
    b->info = NULL;
}
