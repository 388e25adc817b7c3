/* Statements as WGSL. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit_wgsl.h"

void kc_wgsl_line(kc_wgsl* em, const char* format, ...)
{
    for (int i = 0; i < em->indent && i < 24; i++)
        kc_put(em->out, "    ");
    va_list args;
    va_start(args, format);
    kc_vputf(em->out, format, args);
    va_end(args);
    kc_put(em->out, "\n");
}

static bool put_block(kc_wgsl* em, kc_block* b);

static void open(kc_wgsl* em)
{
    em->indent++;
    if (++em->nesting > KC_WGSL_MAX_NESTING)
        kc_refuse(em->m, em->kernel, em->f->loc, KC_DIAG_TARGET_LIMIT,
                  "statements are nested more than %d deep, which WGSL does not take",
                  KC_WGSL_MAX_NESTING);
}

static void close(kc_wgsl* em)
{
    em->indent--;
    em->nesting--;
}

static void nested(kc_wgsl* em, kc_block* b)
{
    open(em);
    put_block(em, b);
    close(em);
}

/* ---- storing --------------------------------------------------------------------------------- */

/* The place `e`, to be written more than once: its indices are evaluated now. */
static const char* stable_place(kc_wgsl* em, const kc_expr* e)
{
    kc_arena* a = em->m->arena;
    switch (e->kind) {
    case KC_EX_INDEX: {
        const char* base = stable_place(em, e->args[0]);
        const kc_w i = kc_wgsl_expr(em, e->args[1]);
        return kc_format(a, "%s[%s]", base, i.is_const ? i.s : kc_wgsl_let(em, i).s);
    }
    case KC_EX_FIELD:
        return kc_format(a, "%s.%s", stable_place(em, e->args[0]),
                         kc_wgsl_field(em, e->args[0]->type->record, e->u.field));
    default: return kc_wgsl_place(em, e).s;
    }
}

static void assign_lanes(kc_wgsl* em, const kc_stmt* s)
{
    kc_w value = kc_wgsl_expr(em, s->value);
    value = kc_wgsl_let(em, value);
    const char* base = stable_place(em, s->place->args[0]);
    for (uint32_t i = 0; i < s->place->u.lanes.count; i++)
        kc_wgsl_line(em, "%s.%c = %s.%c;", base, "xyzw"[s->place->u.lanes.index[i] & 3], value.s,
                     "xyzw"[i]);
}

/* `x += y` for x = x + y; NULL where it is another assignment. */
static const char* compound(kc_wgsl* em, const kc_stmt* s, const char* place)
{
    static const char* const ops[] = {[KC_OP_ADD] = "+", [KC_OP_SUB] = "-", [KC_OP_MUL] = "*",
                                      [KC_OP_AND] = "&", [KC_OP_OR] = "|",  [KC_OP_XOR] = "^"};
    const kc_expr* v = s->value;
    if (v->kind != KC_EX_BINARY || v->u.op >= sizeof ops / sizeof ops[0] || !ops[v->u.op] ||
        v->type->kind == KC_TYPE_BOOL || v->args[0]->kind != KC_EX_LOAD ||
        !kc_wgsl_same(v->args[0]->args[0], s->place))
        return NULL;
    return kc_format(em->m->arena, "%s %s= %s", place, ops[v->u.op],
                     kc_wgsl_text(em, v->args[1]));
}

/* An assignment that is one statement of WGSL, without its semicolon. */
static const char* assignment(kc_wgsl* em, const kc_stmt* s)
{
    const kc_var* root = kc_place_root(s->place);
    kc_arena* a = em->m->arena;
    if (kc_wgsl_is_shared(em, s->place)) {
        const char* value = kc_wgsl_text(em, s->value);
        const kc_w i = kc_wgsl_shared_index(em, s->place);
        return kc_format(a, "%s_store(%s, %s)", kc_wgsl_name_of(em, s->place->args[0]->u.var),
                         kc_wgsl_argument(em, i), value);
    }
    const char* place = kc_wgsl_place(em, s->place).s;
    if (root && root->is_atomic)
        return kc_format(a, "atomicStore(&%s, %s)", place, kc_wgsl_text(em, s->value));
    const char* text = compound(em, s, place);
    return text ? text : kc_format(a, "%s = %s", place, kc_wgsl_text(em, s->value));
}

static void assign(kc_wgsl* em, const kc_stmt* s)
{
    if (s->place->kind == KC_EX_LANES && s->place->u.lanes.count > 1)
        assign_lanes(em, s);
    else
        kc_wgsl_line(em, "%s;", assignment(em, s));
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool has_array(const kc_type* t)
{
    if (t->kind == KC_TYPE_ARRAY)
        return true;
    if (t->kind == KC_TYPE_STRUCT)
        for (uint32_t i = 0; i < t->record->field_count; i++)
            if (has_array(t->record->fields[i].type))
                return true;
    return false;
}

static const char* declaration(kc_wgsl* em, const kc_stmt* s)
{
    kc_var* v = s->var;
    const char* name = kc_wgsl_name_of(em, v);
    if (!s->value)
        return kc_format(em->m->arena, "var %s: %s", name, kc_wgsl_type(em, v->type));
    const kc_w value = kc_wgsl_expr(em, s->value);
    const bool is_let =
        !value.is_const && kc_wgsl_var_of(em, v)->assign_count == 0 && !has_array(v->type);
    return kc_format(em->m->arena, "%s %s = %s", is_let ? "let" : "var", name, value.s);
}

/* Whether `s`, a DECLARE without a value, is followed by the one statement that gives it one, and
 * does not read it. */
static bool is_given_next(kc_wgsl* em, const kc_stmt* s)
{
    kc_stmt* next = s->next;
    if (s->value || !next || kc_wgsl_var_of(em, s->var)->assign_count != 1 ||
        has_array(s->var->type))
        return false;
    if (kc_ex_names(next->value, s->var))
        return false;
    if (next->kind == KC_ST_ASSIGN)
        return next->place->kind == KC_EX_VAR && next->place->u.var == s->var;
    for (uint32_t i = 0; i < next->arg_count; i++)
        if (kc_ex_names(next->args[i], s->var))
            return false;
    if (kc_ex_names(next->place, s->var))
        return false;
    return next->result == s->var &&
           (next->kind == KC_ST_CALL || next->kind == KC_ST_BROADCAST ||
            (next->kind == KC_ST_ATOMIC && next->atomic != KC_ATOMIC_CMPXCHG));
}

/* ---- calls and effects ----------------------------------------------------------------------- */

/* "x = ", or nothing. */
static const char* result_text(kc_wgsl* em, const kc_stmt* s, bool is_declared)
{
    if (!s->result)
        return "";
    if (is_declared)
        return kc_format(em->m->arena, "let %s = ", kc_wgsl_name_of(em, s->result));
    return kc_format(em->m->arena, "%s = ", kc_wgsl_name_of(em, s->result));
}

static void call(kc_wgsl* em, const kc_stmt* s, bool is_declared)
{
    const char* list = "";
    for (uint32_t i = 0; i < s->arg_count; i++)
        list = kc_format(em->m->arena, "%s%s%s", list, i ? ", " : "",
                         kc_wgsl_argument(em, kc_wgsl_expr(em, s->args[i])));
    kc_wgsl_line(em, "%s%s(%s);", result_text(em, s, is_declared),
                 (const char*)s->callee->pass_data, list);
}

static void compare_exchange(kc_wgsl* em, const kc_stmt* s)
{
    kc_w comparand = kc_wgsl_expr(em, s->args[0]), value = kc_wgsl_expr(em, s->args[1]);
    const char* result = result_text(em, s, false);
    if (kc_wgsl_is_shared(em, s->place)) {
        const kc_w i = kc_wgsl_shared_index(em, s->place);
        kc_wgsl_line(em, "%s%s_compare_exchange(%s, %s, %s);", result,
                     kc_wgsl_name_of(em, s->place->args[0]->u.var),
                     kc_wgsl_argument(em, i), kc_wgsl_argument(em, comparand),
                     kc_wgsl_argument(em, value));
        return;
    }
    comparand = comparand.is_const ? comparand : kc_wgsl_let(em, comparand);
    value = value.is_const ? value : kc_wgsl_let(em, value);
    const char* place = stable_place(em, s->place);
    const char* t = kc_format(em->m->arena, "khal_t%u", ++em->temp_count);
    kc_wgsl_line(em, "loop { // again where it fails for no reason");
    open(em);
    kc_wgsl_line(em, "let %s = atomicCompareExchangeWeak(&%s, %s, %s);", t, place, comparand.s,
                 value.s);
    if (*result)
        kc_wgsl_line(em, "%s%s.old_value;", result, t);
    kc_wgsl_line(em, "if (%s.exchanged || %s.old_value != %s) {", t, t, comparand.s);
    kc_wgsl_line(em, "    break;");
    kc_wgsl_line(em, "}");
    close(em);
    kc_wgsl_line(em, "}");
}

static void atomic(kc_wgsl* em, const kc_stmt* s, bool is_declared)
{
    static const struct {
        const char *builtin, *function;
    } names[] = {
        [KC_ATOMIC_ADD] = {"atomicAdd", "add"},
        [KC_ATOMIC_SUB] = {"atomicSub", "sub"},
        [KC_ATOMIC_XCHG] = {"atomicExchange", "exchange"},
        [KC_ATOMIC_INC] = {"atomicAdd", "add"},
        [KC_ATOMIC_DEC] = {"atomicSub", "sub"},
        [KC_ATOMIC_MIN] = {"atomicMin", "min"},
        [KC_ATOMIC_MAX] = {"atomicMax", "max"},
        [KC_ATOMIC_AND] = {"atomicAnd", "and"},
        [KC_ATOMIC_OR] = {"atomicOr", "or"},
        [KC_ATOMIC_XOR] = {"atomicXor", "xor"},
    };
    if (s->atomic == KC_ATOMIC_CMPXCHG) {
        compare_exchange(em, s);
        return;
    }
    const char* operand = s->arg_count ? kc_wgsl_argument(em, kc_wgsl_expr(em, s->args[0]))
                          : s->place->type->is_signed ? "1"
                                                      : "1u";
    const char* result = result_text(em, s, is_declared);
    if (kc_wgsl_is_shared(em, s->place)) {
        const kc_w i = kc_wgsl_shared_index(em, s->place);
        kc_wgsl_line(em, "%s%s_%s(%s, %s);", result,
                     kc_wgsl_name_of(em, s->place->args[0]->u.var), names[s->atomic].function,
                     kc_wgsl_argument(em, i), operand);
    } else {
        kc_wgsl_line(em, "%s%s(&%s, %s);", result, names[s->atomic].builtin,
                     kc_wgsl_place(em, s->place).s, operand);
    }
}

static void barrier(kc_wgsl* em, const kc_stmt* s)
{
    if (s->fence != KC_FENCE_GLOBAL)
        kc_wgsl_line(em, "workgroupBarrier();");
    if (s->fence & KC_FENCE_GLOBAL)
        kc_wgsl_line(em, "storageBarrier();");
}

/* ---- control flow ---------------------------------------------------------------------------- */

typedef struct search {
    const kc_stmt* target;
    bool has_break, has_return;
} search;

static void find_exit(kc_stmt* s, void* user)
{
    search* wanted = user;
    wanted->has_break |= s->kind == KC_ST_BREAK && s->target == wanted->target;
    wanted->has_return |= s->kind == KC_ST_RETURN;
}

static void find_exits(kc_block* b, void* user)
{
    kc_block_walk(b, find_exit, user);
}

static search exits_of(kc_stmt* s)
{
    search found = {.target = s};
    kc_stmt_walk_blocks(s, find_exits, &found);
    return found;
}

/* `else if`s count as levels in some libraries: a chain that is long goes on after it, in a second `if`. */
#define MAX_CHAIN 30

static uint32_t chain_length(const kc_stmt* s)
{
    uint32_t n = 0;
    while (s->orelse.first && s->orelse.first == s->orelse.last &&
           s->orelse.first->kind == KC_ST_IF) {
        s = s->orelse.first;
        n++;
    }
    return n;
}

static bool if_stmt(kc_wgsl* em, kc_stmt* s)
{
    const char* lead = "";
    bool ends = true;
    int depth = 0; /* of `else if`s */
    const char* goes_on = NULL;
    if (chain_length(s) > MAX_CHAIN) {
        goes_on = kc_format(em->m->arena, "khal_t%u", ++em->temp_count);
        kc_wgsl_line(em, "var %s = false;", goes_on);
    }
    for (;;) {
        /* a condition that needs variables of its own can't follow `else` */
        kc_text spilled = {0};
        kc_text* out = em->out;
        em->out = &spilled;
        if (*lead)
            em->indent++;
        const char* cond = kc_wgsl_text(em, s->value);
        if (*lead)
            em->indent--;
        em->out = out;
        const bool is_nested = *lead && spilled.size;
        if (is_nested) {
            kc_wgsl_line(em, "} else {");
            open(em);
            lead = "";
        }
        if (spilled.size)
            kc_putn(em->out, spilled.data, spilled.size);
        kc_text_free(&spilled);
        kc_wgsl_line(em, "%sif (%s) {", lead, cond);
        open(em);
        ends &= put_block(em, &s->body);
        close(em);
        kc_stmt* only = s->orelse.first;
        if (!is_nested && only && only == s->orelse.last && only->kind == KC_ST_IF) {
            if (depth == MAX_CHAIN && goes_on) {
                kc_wgsl_line(em, "} else {");
                kc_wgsl_line(em, "    %s = true;", goes_on);
                kc_wgsl_line(em, "}");
                kc_wgsl_line(em, "if (%s) {", goes_on);
                em->nesting -= depth;
                open(em);
                put_block(em, &s->orelse);
                close(em);
                kc_wgsl_line(em, "}");
                return false;
            }
            s = only;
            lead = "} else ";
            depth++;
            em->nesting++;
            continue;
        }
        if (s->orelse.first) {
            kc_wgsl_line(em, "} else {");
            open(em);
            ends &= put_block(em, &s->orelse);
            close(em);
        } else {
            ends = false;
        }
        kc_wgsl_line(em, "}");
        if (is_nested) {
            close(em);
            kc_wgsl_line(em, "}");
        }
        em->nesting -= depth;
        return ends;
    }
}

static const char* negated(kc_wgsl* em, const kc_expr* e)
{
    static const kc_op opposite[] = {[KC_OP_EQ] = KC_OP_NE, [KC_OP_NE] = KC_OP_EQ,
                                     [KC_OP_LT] = KC_OP_GE, [KC_OP_LE] = KC_OP_GT,
                                     [KC_OP_GT] = KC_OP_LE, [KC_OP_GE] = KC_OP_LT};
    if (e->kind == KC_EX_UNARY && e->u.op == KC_OP_LOGICAL_NOT)
        return kc_wgsl_text(em, e->args[0]);
    if (e->kind == KC_EX_BINARY && e->u.op >= KC_OP_EQ && e->u.op <= KC_OP_GE &&
        kc_is_integer(e->args[0]->type)) {
        kc_expr other = *e;
        other.u.op = opposite[e->u.op];
        return kc_wgsl_text(em, &other);
    }
    return kc_format(em->m->arena, "!%s", kc_wgsl_at(em, kc_wgsl_expr(em, e), KC_WGSL_UNARY));
}

/* What stands in the head of a `for`; NULL where it needs statements of its own. */
static const char* in_head(kc_wgsl* em, const char* (*text)(kc_wgsl*, const kc_stmt*),
                           const kc_stmt* s)
{
    kc_text spilled = {0};
    kc_text* out = em->out;
    const uint32_t temp_count = em->temp_count;
    em->out = &spilled;
    const char* result = text(em, s);
    em->out = out;
    if (spilled.size) {
        em->temp_count = temp_count;
        result = NULL;
    }
    kc_text_free(&spilled);
    return result;
}

static const char* condition_text(kc_wgsl* em, const kc_stmt* s)
{
    return kc_wgsl_text(em, s->value);
}

/* The step as one assignment; "" for none, NULL where a `for` can't have it. */
static const char* step_of(kc_wgsl* em, const kc_stmt* s)
{
    const kc_stmt* step = s->step.first;
    if (!step)
        return "";
    if (step != s->step.last || step->kind != KC_ST_ASSIGN ||
        (step->place->kind == KC_EX_LANES && step->place->u.lanes.count > 1))
        return NULL;
    return in_head(em, assignment, step);
}

static void loop_in_full(kc_wgsl* em, kc_stmt* s, bool has_exit)
{
    kc_wgsl_line(em, "loop {");
    open(em);
    if (!s->test_at_end) {
        put_block(em, &s->head);
        if (s->value) {
            kc_wgsl_line(em, "if (%s) {", negated(em, s->value));
            kc_wgsl_line(em, "    break;");
            kc_wgsl_line(em, "}");
        }
    }
    if (!has_exit) { /* WGSL wants to see one */
        kc_wgsl_line(em, "if (false) {");
        kc_wgsl_line(em, "    break;");
        kc_wgsl_line(em, "}");
    }
    put_block(em, &s->body);
    if (s->step.first || s->test_at_end) {
        kc_wgsl_line(em, "continuing {");
        open(em);
        put_block(em, &s->step);
        if (s->test_at_end) {
            put_block(em, &s->head);
            if (s->value)
                kc_wgsl_line(em, "break if %s;", negated(em, s->value));
        }
        close(em);
        kc_wgsl_line(em, "}");
    }
    close(em);
    kc_wgsl_line(em, "}");
}

/* `start`: a DECLARE that the loop is to begin with, or NULL. */
static void loop(kc_wgsl* em, kc_stmt* s, const kc_stmt* start)
{
    const search found = exits_of(s);
    const bool has_exit = s->value || found.has_break || found.has_return;
    const char* init = start ? in_head(em, declaration, start) : "";
    const char* cond = "";
    const char* step = NULL;
    const bool is_plain = !s->head.first && !s->test_at_end && has_exit && init;
    if (is_plain) {
        cond = s->value ? in_head(em, condition_text, s) : "";
        step = cond ? step_of(em, s) : NULL;
    }
    if (start && (!is_plain || !cond || !step)) {
        kc_wgsl_line(em, "%s;", declaration(em, start));
        init = "";
    }
    if (!is_plain || !cond || !step || (!*cond && !*step && !*init)) {
        loop_in_full(em, s, has_exit);
        return;
    }
    if (*init || *step)
        kc_wgsl_line(em, *step ? "for (%s; %s; %s) {" : "for (%s; %s;) {", init, cond, step);
    else
        kc_wgsl_line(em, "while (%s) {", cond);
    nested(em, &s->body);
    kc_wgsl_line(em, "}");
}

static void switch_stmt(kc_wgsl* em, kc_stmt* s)
{
    bool has_default = false;
    kc_wgsl_line(em, "switch (%s) {", kc_wgsl_text(em, s->value));
    em->indent++;
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_case* c = &s->cases[i];
        const char* list = "";
        for (uint32_t k = 0; k < c->value_count; k++)
            list = kc_format(em->m->arena, "%s%s%s", list, k ? ", " : "",
                             kc_wgsl_int(em, s->value->type, c->values[k]));
        has_default |= c->is_default;
        if (!*list && !c->is_default)
            continue;
        if (!c->is_default)
            kc_wgsl_line(em, "case %s: {", list);
        else if (*list)
            kc_wgsl_line(em, "case %s, default: {", list);
        else
            kc_wgsl_line(em, "default: {");
        nested(em, &c->body);
        kc_wgsl_line(em, "}");
    }
    if (!has_default)
        kc_wgsl_line(em, "default: {}");
    em->indent--;
    kc_wgsl_line(em, "}");
}

/* A BLOCK that is left early is a `switch` with one case: `continue` goes through it to the loop
 * around. Others need no scope, for no two variables of a function have one name. */
static bool block(kc_wgsl* em, kc_stmt* s)
{
    if (!exits_of(s).has_break)
        return put_block(em, &s->body);
    kc_wgsl_line(em, "switch (0) { // left by break");
    em->indent++;
    kc_wgsl_line(em, "default: {");
    nested(em, &s->body);
    kc_wgsl_line(em, "}");
    em->indent--;
    kc_wgsl_line(em, "}");
    return false;
}

/* Whether control never goes on after `s`. `is_declared`: its result is declared by it. */
static bool stmt(kc_wgsl* em, kc_stmt* s, bool is_declared)
{
    switch (s->kind) {
    case KC_ST_DECLARE: kc_wgsl_line(em, "%s;", declaration(em, s)); return false;
    case KC_ST_ASSIGN:
        if (is_declared) {
            const kc_w value = kc_wgsl_expr(em, s->value);
            kc_wgsl_line(em, "%s %s = %s;", value.is_const ? "var" : "let",
                         kc_wgsl_name_of(em, s->place->u.var), value.s);
        } else
            assign(em, s);
        return false;
    case KC_ST_CALL: call(em, s, is_declared); return false;
    case KC_ST_ATOMIC: atomic(em, s, is_declared); return false;
    case KC_ST_BARRIER: barrier(em, s); return false;
    case KC_ST_FENCE: /* WGSL's only fences are barriers, and its atomics are relaxed */
    case KC_ST_PRINTF: return false;
    case KC_ST_BROADCAST:
        kc_wgsl_line(em, "%sworkgroupUniformLoad(&%s);", result_text(em, s, is_declared),
                     kc_wgsl_place(em, s->place).s);
        return false;
    case KC_ST_IF: return if_stmt(em, s);
    case KC_ST_LOOP: loop(em, s, NULL); return false;
    case KC_ST_SWITCH: switch_stmt(em, s); return false;
    case KC_ST_BLOCK: return block(em, s);
    case KC_ST_BREAK: kc_wgsl_line(em, "break;"); return true;
    case KC_ST_CONTINUE: kc_wgsl_line(em, "continue;"); return true;
    case KC_ST_RETURN:
        if (s->value)
            kc_wgsl_line(em, "return %s;", kc_wgsl_text(em, s->value));
        else
            kc_wgsl_line(em, "return;");
        return true;
    }
    return false;
}

/* Whether `s` declares what the loop that follows, the last of the block, counts with. */
static bool is_counter(const kc_stmt* s, const kc_stmt* last)
{
    if (s->kind != KC_ST_DECLARE || !s->value || s->next != last || !last ||
        last->kind != KC_ST_LOOP)
        return false;
    const kc_stmt* step = last->step.first;
    return step && step->kind == KC_ST_ASSIGN && step->place->kind == KC_EX_VAR &&
           step->place->u.var == s->var;
}

static bool put_block(kc_wgsl* em, kc_block* b)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        bool is_declared = false;
        if (s == b->first && is_counter(s, b->last)) {
            loop(em, s->next, s);
            return false;
        }
        if (s->kind == KC_ST_DECLARE && is_given_next(em, s)) {
            s = s->next;
            is_declared = true;
        }
        if (stmt(em, s, is_declared))
            return true;
    }
    return false;
}

bool kc_wgsl_block(kc_wgsl* em, kc_block* b)
{
    return put_block(em, b);
}
