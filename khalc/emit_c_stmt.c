/* Statements of one work-item as C. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit_c.h"

/* ---- printing -------------------------------------------------------------------------------- */

static void put_indent(kc_emc* em)
{
    for (int i = 0; i < em->indent && i < 24; i++)
        kc_put(em->out, "    ");
}

void kc_emc_line(kc_emc* em, const char* format, ...)
{
    put_indent(em);
    va_list args;
    va_start(args, format);
    kc_vputf(em->out, format, args);
    va_end(args);
    kc_put(em->out, "\n");
}

static void put_string(kc_text* out, const char* s, size_t n)
{
    kc_put(out, "\"");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c < 32 || c >= 127 || c == '"' || c == '\\' || c == '?')
            kc_putf(out, "\\%03o", c);
        else
            kc_putn(out, s + i, 1);
    }
    kc_put(out, "\"");
}

/* A #line where the compiler would otherwise take the next line for another one of the source. */
void kc_emc_loc(kc_emc* em, kc_loc loc)
{
    if (em->m->omit_lines || !loc.file || !loc.line)
        return;
    if (em->line_text == em->out && em->line_file && strcmp(em->line_file, loc.file) == 0) {
        uint32_t now = em->line;
        for (size_t i = em->line_from; i < em->out->size; i++)
            now += em->out->data[i] == '\n';
        if (now == loc.line) {
            em->line = now;
            em->line_from = em->out->size;
            return;
        }
    }
    kc_putf(em->out, "#line %u ", loc.line);
    put_string(em->out, loc.file, strlen(loc.file));
    kc_put(em->out, "\n");
    em->line_text = em->out;
    em->line_file = loc.file;
    em->line = loc.line;
    em->line_from = em->out->size;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

void kc_emc_scope_push(kc_emc* em, kc_scope* scope, kc_stmt* s)
{
    *scope = (kc_scope){.s = s, .outer = em->scopes};
    em->scopes = scope;
}

static const char* scope_label(kc_emc* em, kc_scope* scope, const char* kind)
{
    if (!scope->number)
        scope->number = ++em->label_count;
    return kc_format(em->m->arena, "khal_%s_%u", kind, scope->number);
}

void kc_emc_label(kc_emc* em, const char* kind, kc_scope* scope, bool used)
{
    if (used)
        kc_emc_line(em, "%s:;", scope_label(em, scope, kind));
}

void kc_emc_break(kc_emc* em, kc_stmt* target)
{
    bool direct = true;
    for (kc_scope* s = em->scopes; s; s = s->outer) {
        if (s->s == target) {
            if (direct && s->takes_break) {
                kc_emc_line(em, "break;");
            } else {
                s->break_used = true;
                kc_emc_line(em, "goto %s;", scope_label(em, s, "break"));
            }
            return;
        }
        direct &= !s->takes_break;
    }
}

void kc_emc_continue(kc_emc* em, kc_stmt* target)
{
    bool direct = true;
    for (kc_scope* s = em->scopes; s; s = s->outer) {
        if (s->s == target) {
            if (direct && s->takes_continue) {
                kc_emc_line(em, "continue;");
            } else {
                s->continue_used = true;
                kc_emc_line(em, "goto %s;", scope_label(em, s, "continue"));
            }
            return;
        }
        direct &= !s->is_loop;
    }
}

/* ---- storing --------------------------------------------------------------------------------- */

/* Whether evaluating the place twice gives the same place, whatever was stored to it in between. */
static bool is_fixed(const kc_expr* place)
{
    if (place->kind == KC_EX_VAR)
        return true;
    if (place->kind == KC_EX_FIELD)
        return is_fixed(place->args[0]);
    return place->kind == KC_EX_INDEX && place->args[1]->kind == KC_EX_CONST &&
           is_fixed(place->args[0]);
}

void kc_emc_store(kc_emc* em, const kc_type* t, const char* place, const kc_expr* value)
{
    if (t->kind != KC_TYPE_ARRAY) {
        kc_emc_line(em, "%s = %s;", place, kc_emc_text(em, value));
    } else if (value->kind == KC_EX_ZERO) {
        kc_emc_line(em, "__builtin_memset(%s, 0, %llu);", place, (unsigned long long)t->size);
    } else if (value->kind == KC_EX_LOAD) {
        kc_emc_line(em, "__builtin_memmove(%s, %s, %llu);", place, kc_emc_text(em, value),
                    (unsigned long long)t->size);
    } else {
        kc_emc_line(em, "__builtin_memcpy(%s, (%s)%s, %llu);", place, kc_emc_type(em, t),
                    kc_emc_text(em, value), (unsigned long long)t->size);
    }
}

static void assign(kc_emc* em, kc_stmt* s)
{
    const kc_expr* place = s->place;
    if (place->kind != KC_EX_LANES || place->u.lanes.count == 1) {
        const char* value = place->type->kind == KC_TYPE_ARRAY ? NULL : kc_emc_text(em, s->value);
        const char* to = kc_emc_place(em, place).s;
        if (value)
            kc_emc_line(em, "%s = %s;", to, value);
        else
            kc_emc_store(em, place->type, to, s->value);
        return;
    }
    const kc_expr* vector = place->args[0];
    kc_emc_line(em, "{");
    em->indent++;
    kc_emc_line(em, "const %s khal_v = %s;", kc_emc_type(em, s->value->type),
                kc_emc_text(em, s->value));
    const char* to;
    if (is_fixed(vector)) {
        to = kc_emc_at(em, kc_emc_place(em, vector), KC_PREC_POSTFIX);
    } else {
        const bool is_volatile = vector->kind == KC_EX_DEREF && vector->args[0]->type->is_volatile;
        kc_emc_line(em, "%skhal_%s_u* const khal_p = (%skhal_%s_u*)&%s;",
                    is_volatile ? "volatile " : "", kc_emc_suffix(vector->type),
                    is_volatile ? "volatile " : "", kc_emc_suffix(vector->type),
                    kc_emc_at(em, kc_emc_place(em, vector), KC_PREC_UNARY));
        to = "(*khal_p)";
    }
    for (uint32_t i = 0; i < place->u.lanes.count; i++)
        kc_emc_line(em, "%s[%u] = khal_v[%u];", to, place->u.lanes.index[i], i);
    em->indent--;
    kc_emc_line(em, "}");
}

static void declare(kc_emc* em, kc_stmt* s)
{
    kc_var* v = s->var;
    const char* name = kc_emc_var(em, v);
    const kc_var_plan* p = v->pass_data;
    if (em->in_region && p->value)
        return;
    if (em->in_region && (p->home != KC_HOME_ITEM || p->in_many)) {
        if (s->value)
            kc_emc_store(em, v->type,
                         p->home == KC_HOME_ARRAY && !p->is_copied
                             ? kc_format(em->m->arena, "%s[khal_i]", p->array)
                             : name,
                         s->value);
        return;
    }
    const char* align = v->align > v->type->align
                            ? kc_format(em->m->arena, " __attribute__((aligned(%llu)))",
                                        (unsigned long long)v->align)
                            : "";
    const char* d = kc_emc_declare(em, v->type, name, false);
    const bool is_value = kc_is_scalar(v->type) || kc_is_pointer(v->type) || kc_is_vector(v->type);
    if (s->value)
        kc_emc_line(em, "%s%s = %s;", d, align, kc_emc_text(em, s->value));
    else
        kc_emc_line(em, "%s%s%s;", d, align,
                    is_value ? kc_is_vector(v->type) ? " = {0}" : " = 0" : "");
}

/* ---- calls, atomics, printf ------------------------------------------------------------------ */

static const char* result_text(kc_emc* em, kc_stmt* s)
{
    if (!s->result)
        return "";
    kc_expr var = {.kind = KC_EX_VAR, .type = s->result->type, .u.var = s->result};
    return kc_format(em->m->arena, "%s = ", kc_emc_place(em, &var).s);
}

static void call(kc_emc* em, kc_stmt* s)
{
    const char* list = "";
    for (uint32_t i = 0; i < s->arg_count; i++)
        list = kc_format(em->m->arena, "%s%s%s", list, i ? ", " : "", kc_emc_text(em, s->args[i]));
    const char* extra = kc_emc_extra_args(em, s->callee->pass_data);
    kc_emc_line(em, "%sKHAL_C_NAME(%s)(%s%s%s);", result_text(em, s), s->callee->name, list,
                *list && *extra ? ", " : "", extra);
}

static void atomic(kc_emc* em, kc_stmt* s)
{
    static const char* const names[] = {"add", "sub", "xchg", "add", "sub", "cmpxchg",
                                        "min", "max", "and",  "or",  "xor"};
    const char* t = kc_emc_lane_name(s->place->type);
    em->uses_atomic = true;
    const char* args = "";
    for (uint32_t i = 0; i < s->arg_count; i++)
        args = kc_format(em->m->arena, "%s, %s", args, kc_emc_text(em, s->args[i]));
    if (s->atomic == KC_ATOMIC_INC || s->atomic == KC_ATOMIC_DEC)
        args = ", 1";
    kc_emc_line(em, "%skhal_atomic_%s_%s(&%s%s);", result_text(em, s), names[s->atomic], t,
                kc_emc_at(em, kc_emc_place(em, s->place), KC_PREC_UNARY), args);
}

static void print(kc_emc* em, kc_stmt* s)
{
    kc_text list = {0};
    em->uses_print = true;
    kc_emc_line(em, "{");
    em->indent++;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const kc_expr* e = s->args[i];
        const kc_type* t = e->type;
        kc_c c = kc_emc_expr(em, e);
        const kc_type* lane = kc_lane(t);
        if (kc_is_float(t) && lane->width == 16) {
            const kc_type* wide = kc_type_with_lane(em->m, t, kc_type_float(em->m, 32));
            c = kc_emc_convert(em, wide, t, c, KC_ROUND_DEFAULT, false);
            t = wide;
            lane = kc_lane(t);
        }
        if (kc_is_vector(t)) {
            kc_emc_line(em, "const %s khal_p%u = %s;", kc_emc_type(em, t), i, c.s);
            kc_putf(&list, "%s{.kind = '%c', .lanes = %u, .width = %u, .data = &khal_p%u}",
                    i ? ", " : "",
                    lane->kind == KC_TYPE_FLOAT ? 'f'
                    : lane->is_signed           ? 'i'
                                                : 'u',
                    kc_lane_count(t), lane->width / 8u, i);
        } else if (kc_is_pointer(t)) {
            kc_putf(&list, "%s{.kind = 'p', .lanes = 1, .u.p = (const void*)%s}", i ? ", " : "",
                    kc_emc_at(em, c, KC_PREC_UNARY));
        } else {
            const bool is_float = lane->kind == KC_TYPE_FLOAT;
            const char kind = is_float ? 'f' : lane->is_signed ? 'i' : 'u';
            kc_putf(&list, "%s{.kind = '%c', .lanes = 1, .width = %u, .u.%c = %s}", i ? ", " : "",
                    kind, lane->kind == KC_TYPE_BOOL ? 4u : lane->width / 8u, kind, c.s);
        }
    }
    if (list.size)
        kc_emc_line(em, "const khal_print_arg khal_args[] = {%s};", list.data);
    put_indent(em);
    kc_put(em->out, "khal_print(khal_launch, ");
    put_string(em->out, s->format, s->format_size);
    kc_putf(em->out, ", %zu, %s, %u);\n", s->format_size, list.size ? "khal_args" : "0",
            s->arg_count);
    em->indent--;
    kc_emc_line(em, "}");
    kc_text_free(&list);
}

/* ---- control flow ---------------------------------------------------------------------------- */

static void braces(kc_emc* em, const char* head, kc_block* b)
{
    kc_emc_line(em, "%s{", head);
    em->indent++;
    kc_emc_block(em, b);
    em->indent--;
    kc_emc_line(em, "}");
}

/* An `else if` whose condition needs no variable of its own. */
static bool is_else_if(const kc_block* b)
{
    return b->first && b->first == b->last && b->first->kind == KC_ST_IF;
}

static void if_stmt(kc_emc* em, kc_stmt* s)
{
    const char* lead = "";
    for (;;) {
        kc_text spilled = {0};
        kc_text* out = em->out;
        em->out = &spilled;
        if (*lead)
            em->indent++;
        const char* cond = kc_emc_text(em, s->value);
        if (*lead)
            em->indent--;
        em->out = out;
        bool nested = false;
        if (*lead && spilled.size) {
            kc_emc_line(em, "} else {");
            em->indent++;
            lead = "";
            nested = true;
        }
        if (spilled.size)
            kc_putn(em->out, spilled.data, spilled.size);
        kc_text_free(&spilled);
        kc_emc_line(em, "%sif (%s) {", lead, cond);
        em->indent++;
        kc_emc_block(em, &s->body);
        em->indent--;
        if (nested) { /* finish here, inside */
            if (s->orelse.first) {
                kc_emc_line(em, "} else {");
                em->indent++;
                kc_emc_block(em, &s->orelse);
                em->indent--;
            }
            kc_emc_line(em, "}");
            em->indent--;
            break;
        }
        if (!is_else_if(&s->orelse)) {
            if (s->orelse.first) {
                kc_emc_line(em, "} else {");
                em->indent++;
                kc_emc_block(em, &s->orelse);
                em->indent--;
            }
            break;
        }
        s = s->orelse.first;
        lead = "} else ";
    }
    kc_emc_line(em, "}");
}

/* The step as an expression, where it is one plain assignment. */
const char* kc_emc_step(kc_emc* em, kc_block* step)
{
    kc_stmt* s = step->first;
    if (!s)
        return "";
    if (s != step->last || s->kind != KC_ST_ASSIGN || s->place->kind != KC_EX_VAR ||
        s->place->type->kind == KC_TYPE_ARRAY)
        return NULL;
    const bool may_not = em->may_not_spill;
    em->may_not_spill = true;
    const kc_c value = kc_emc_expr(em, s->value);
    em->may_not_spill = may_not;
    if (value.depth > 40)
        return NULL;
    return kc_format(em->m->arena, "%s = %s", kc_emc_place(em, s->place).s, value.s);
}

static void loop(kc_emc* em, kc_stmt* s)
{
    kc_scope scope;
    kc_emc_scope_push(em, &scope, s);
    scope.takes_break = scope.is_loop = true;
    kc_text spilled = {0};
    kc_text* out = em->out;
    const char* cond = "";
    const char* step = kc_emc_step(em, &s->step);
    if (!s->head.first && s->value) {
        em->out = &spilled;
        cond = kc_emc_text(em, s->value);
        em->out = out;
    }
    const bool plain = !s->head.first && !spilled.size &&
                       (s->test_at_end ? !s->step.first && s->value : step != NULL);
    if (plain) {
        scope.takes_continue = true;
        if (s->test_at_end)
            kc_emc_line(em, "do {");
        else if (*step || !*cond)
            kc_emc_line(em, "for (; %s; %s) {", cond, step);
        else
            kc_emc_line(em, "while (%s) {", cond);
        em->indent++;
        kc_emc_block(em, &s->body);
        em->indent--;
        if (s->test_at_end)
            kc_emc_line(em, "} while (%s);", cond);
        else
            kc_emc_line(em, "}");
    } else {
        scope.takes_continue = !s->step.first && !s->test_at_end;
        kc_emc_line(em, "for (;;) {");
        em->indent++;
        for (int part = 0; part < 2; part++) {
            if ((part == 0) == !s->test_at_end) {
                kc_emc_block(em, &s->head);
                if (s->value) {
                    const char* again = kc_emc_text(em, s->value);
                    kc_emc_line(em, "if (!(%s))", again);
                    kc_emc_line(em, "    break;");
                }
            } else {
                braces(em, "", &s->body);
                kc_emc_label(em, "continue", &scope, scope.continue_used);
                kc_emc_block(em, &s->step);
            }
        }
        em->indent--;
        kc_emc_line(em, "}");
    }
    kc_text_free(&spilled);
    em->scopes = scope.outer;
    kc_emc_label(em, "break", &scope, scope.break_used);
}

const char* kc_emc_case_value(kc_emc* em, const kc_type* t, uint64_t bits)
{
    const kc_expr e = {.kind = KC_EX_CONST, .type = t, .u.bits = bits};
    return kc_emc_text(em, &e);
}

static void switch_stmt(kc_emc* em, kc_stmt* s)
{
    kc_scope scope;
    kc_emc_line(em, "switch (%s) {", kc_emc_text(em, s->value));
    kc_emc_scope_push(em, &scope, s);
    scope.takes_break = true;
    for (uint32_t i = 0; i < s->case_count; i++) {
        kc_case* c = &s->cases[i];
        for (uint32_t k = 0; k < c->value_count; k++)
            kc_emc_line(em, "case %s:", kc_emc_case_value(em, s->value->type, c->values[k]));
        if (c->is_default)
            kc_emc_line(em, "default:");
        braces(em, "", &c->body);
        if (!c->falls_through)
            kc_emc_line(em, "    break;");
        else if (i + 1 < s->case_count)
            kc_emc_line(em, "    __attribute__((fallthrough));");
    }
    em->scopes = scope.outer;
    kc_emc_line(em, "}");
    kc_emc_label(em, "break", &scope, scope.break_used);
}

static bool is_outside(kc_emc* em, const kc_stmt* target)
{
    if (!em->in_region)
        return false;
    for (const kc_scope* s = em->scopes; s; s = s->outer)
        if (s->s == target)
            return ((const kc_stmt_plan*)target->pass_data)->lockstep;
    return true;
}

void kc_emc_stmt(kc_emc* em, kc_stmt* s)
{
    kc_scope scope;
    kc_emc_loc(em, s->loc);
    switch (s->kind) {
    case KC_ST_DECLARE: declare(em, s); break;
    case KC_ST_ASSIGN: assign(em, s); break;
    case KC_ST_CALL: call(em, s); break;
    case KC_ST_ATOMIC: atomic(em, s); break;
    case KC_ST_BARRIER: /* reached on the CPU only by dead code */
        if (em->dialect->put_barrier)
            em->dialect->put_barrier(em);
        break;
    case KC_ST_BROADCAST: /* other targets' */ break;
    case KC_ST_FENCE: em->dialect->put_fence(em, s->fence); break;
    case KC_ST_PRINTF: print(em, s); break;
    case KC_ST_IF: if_stmt(em, s); break;
    case KC_ST_LOOP: loop(em, s); break;
    case KC_ST_SWITCH: switch_stmt(em, s); break;
    case KC_ST_BLOCK:
        kc_emc_scope_push(em, &scope, s);
        braces(em, "", &s->body);
        em->scopes = scope.outer;
        kc_emc_label(em, "break", &scope, scope.break_used);
        break;
    case KC_ST_BREAK:
        if (is_outside(em, s->target))
            kc_emc_exit(em, s);
        else
            kc_emc_break(em, s->target);
        break;
    case KC_ST_CONTINUE:
        if (is_outside(em, s->target))
            kc_emc_exit(em, s);
        else
            kc_emc_continue(em, s->target);
        break;
    case KC_ST_RETURN:
        if (em->in_region)
            kc_emc_exit(em, s);
        else if (s->value)
            kc_emc_line(em, "return %s;", kc_emc_text(em, s->value));
        else
            kc_emc_line(em, "return;");
        break;
    }
}

void kc_emc_block(kc_emc* em, kc_block* b)
{
    for (kc_stmt* s = b->first; s; s = s->next) {
        kc_emc_stmt(em, s);
        if (kc_is_terminator(s))
            break;
    }
}
