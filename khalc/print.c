/* The text form of the IR; docs/ir.md describes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir.h"
#include "text.h"

typedef struct kc_printer {
    kc_text* out;
    kc_module* m;
    uint32_t indent;
    const char** names; /* sorted: the function's variables and the module's constants */
    uint32_t name_count, name_capacity;
    const char** constant_names; /* sorted */
    uintptr_t label_count;
    const kc_stmt *loop, *breakable; /* what an unnamed continue or break means */
} kc_printer;

static void print_expr(kc_printer* p, const kc_expr* e, bool nested);
static void print_block(kc_printer* p, const kc_block* b);

/* ---- names ----------------------------------------------------------------------------------- */

static int compare_names(const void* a, const void* b)
{
    return strcmp(*(const char* const*)a, *(const char* const*)b);
}

static void sort_names(const char** names, uint32_t count)
{
    if (count)
        qsort(names, count, sizeof names[0], compare_names);
}

static bool is_repeated(const char** names, uint32_t count, const char* name)
{
    const char** found =
        count ? bsearch(&name, names, count, sizeof names[0], compare_names) : NULL;
    return found && ((found > names && strcmp(found[-1], name) == 0) ||
                     (found + 1 < names + count && strcmp(found[1], name) == 0));
}

static void print_var(kc_printer* p, const kc_var* v)
{
    const bool repeated = v->kind == KC_VAR_CONSTANT
                              ? is_repeated(p->constant_names, p->m->constant_count, v->name)
                              : is_repeated(p->names, p->name_count, v->name);
    if (repeated)
        kc_putf(p->out, "%s#%u", v->name, v->id);
    else
        kc_put(p->out, v->name);
}

static void add_name(kc_printer* p, const char* name)
{
    if (p->name_count == p->name_capacity) {
        const uint32_t capacity = p->name_capacity ? p->name_capacity * 2 : 32;
        const char** names = KC_NEW_ARRAY(p->m->arena, const char*, capacity);
        if (p->name_count)
            memcpy(names, p->names, sizeof names[0] * p->name_count);
        p->names = names;
        p->name_capacity = capacity;
    }
    p->names[p->name_count++] = name;
}

static void add_declared_name(kc_stmt* s, void* printer)
{
    if (s->kind == KC_ST_DECLARE)
        add_name(printer, s->var->name);
}

static void collect_names(kc_printer* p, kc_function* f)
{
    p->name_count = 0;
    for (uint32_t i = 0; i < p->m->constant_count; i++)
        add_name(p, p->m->constants[i]->name);
    bool has_params = !f->buffer_count && !f->push; /* else other variables stand for them */
    for (uint32_t i = 0; i < f->local_count; i++)
        has_params &= !f->locals[i]->param;
    for (uint32_t i = 0; has_params && i < f->param_count; i++)
        add_name(p, f->params[i]->name);
    for (uint32_t i = 0; i < f->local_count; i++)
        add_name(p, f->locals[i]->name);
    for (uint32_t i = 0; i < f->buffer_count; i++)
        add_name(p, f->buffers[i]->name);
    if (f->push)
        add_name(p, f->push->name);
    kc_block_walk(&f->body, add_declared_name, p);
    sort_names(p->names, p->name_count);
}

static const char* type_name(kc_printer* p, const kc_type* t)
{
    return kc_type_name(p->m, t);
}

static const char* uniformity_name(kc_uniformity u)
{
    static const char* const names[] = {"known", "dispatch", "group", "varying"};
    return names[u];
}

/* `name: type`, and how far the value is known to be the same once that has been worked out. */
static void print_typed_var(kc_printer* p, const kc_var* v)
{
    print_var(p, v);
    kc_putf(p->out, ": %s", type_name(p, v->type));
    if (v->align)
        kc_putf(p->out, " align %llu", (unsigned long long)v->align);
    if (p->m->has_uniformity && v->kind != KC_VAR_LOCAL && v->kind != KC_VAR_CONSTANT &&
        v->kind != KC_VAR_BUFFER)
        kc_putf(p->out, " @%s", uniformity_name(v->uniformity));
}

/* ---- expressions ----------------------------------------------------------------------------- */

static double half_value(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 0x1F);
    const double fraction = (double)(bits & 0x3FF);
    const double magnitude =
        exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* The fewest digits that read back as the same value. */
static void print_float(kc_printer* p, const kc_type* t, uint64_t bits)
{
    const bool is_double = t->width == 64;
    double value = 0;
    if (is_double) {
        memcpy(&value, &bits, sizeof value);
    } else if (t->width == 32) {
        float narrow;
        const uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof narrow);
        value = (double)narrow;
    } else {
        value = (bits & 0x7C00) == 0x7C00 ? (double)INFINITY : half_value(bits);
    }
    if (!isfinite(value)) { /* with NaNs' payload */
        kc_putf(p->out, "bits<%s>(0x%llx)", type_name(p, t), (unsigned long long)bits);
        return;
    }
    char digits[64];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (is_double ? strtod(digits, NULL) == value : (double)strtof(digits, NULL) == value)
            break;
    }
    kc_put(p->out, digits);
    if (!strpbrk(digits, ".e"))
        kc_put(p->out, ".0");
    if (!is_double)
        kc_put(p->out, t->width == 32 ? "f" : "h");
}

static void print_const(kc_printer* p, const kc_type* t, uint64_t bits)
{
    if (t->kind == KC_TYPE_BOOL) {
        kc_put(p->out, bits ? "true" : "false");
    } else if (t->kind == KC_TYPE_FLOAT) {
        print_float(p, t, bits);
    } else if (t->width >= 32) {
        if (t->is_signed)
            kc_putf(p->out, "%lld", (long long)bits);
        else
            kc_putf(p->out, "%llu", (unsigned long long)bits);
        kc_put(p->out, t->width == 32 ? (t->is_signed ? "" : "u") : (t->is_signed ? "l" : "ul"));
    } else {
        kc_putf(p->out, "%s(%lld)", type_name(p, t), (long long)bits);
    }
}

static const char* op_text(kc_op op)
{
    static const char* const texts[] = {"-", "~", "!",  "+",  "-", "*",  "/", "%",  "<<", ">>", "&",
                                        "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};
    return texts[op];
}

static void print_lanes(kc_printer* p, const kc_expr* e, uint64_t lane_count)
{
    kc_put(p->out, lane_count <= 4 ? "." : ".s");
    for (uint32_t i = 0; i < e->u.lanes.count; i++) {
        const char* spelling = lane_count <= 4 ? "xyzw" : "0123456789abcdef";
        kc_putn(p->out, &spelling[e->u.lanes.index[i] % (lane_count <= 4 ? 4 : 16)], 1);
    }
}

static void print_args(kc_printer* p, const char* open, uint32_t count, kc_expr* const* args,
                       const char* close)
{
    kc_put(p->out, open);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            kc_put(p->out, ", ");
        print_expr(p, args[i], false);
    }
    kc_put(p->out, close);
}

static void print_field_name(kc_printer* p, const kc_record* record, uint32_t field)
{
    if (field < record->field_count && *record->fields[field].name)
        kc_put(p->out, record->fields[field].name);
    else
        kc_putf(p->out, "#%u", field);
}

static void print_place(kc_printer* p, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_VAR: print_var(p, e->u.var); break;
    case KC_EX_INDEX:
        print_expr(p, e->args[0], true);
        print_args(p, "[", 1, &e->args[1], "]");
        break;
    case KC_EX_FIELD:
        if (e->args[0]->kind == KC_EX_DEREF) {
            print_expr(p, e->args[0]->args[0], true);
            kc_put(p->out, "->");
        } else {
            print_expr(p, e->args[0], true);
            kc_put(p->out, ".");
        }
        print_field_name(p, e->args[0]->type->record, e->u.field);
        break;
    case KC_EX_DEREF:
        if (e->args[0]->kind == KC_EX_OFFSET) {
            print_expr(p, e->args[0]->args[0], true);
            print_args(p, "[", 1, &e->args[0]->args[1], "]");
        } else {
            kc_put(p->out, "(*");
            print_expr(p, e->args[0], true);
            kc_put(p->out, ")");
        }
        break;
    default: /* LANES */
        print_expr(p, e->args[0], true);
        print_lanes(p, e, e->args[0]->type->count);
        break;
    }
}

static void print_convert(kc_printer* p, const kc_expr* e)
{
    static const char* const rounds[] = {"", ", rte", ", rtz", ", rtp", ", rtn"};
    kc_putf(p->out, "convert<%s%s%s>", type_name(p, e->type), e->u.convert.saturate ? ", sat" : "",
            rounds[e->u.convert.round]);
    print_args(p, "(", 1, e->args, ")");
}

static void print_aggregate(kc_printer* p, const kc_expr* e)
{
    kc_put(p->out, type_name(p, e->type));
    if (e->type->kind == KC_TYPE_STRUCT && e->type->record->is_union) {
        kc_put(p->out, "{.");
        print_field_name(p, e->type->record, e->u.field);
        print_args(p, " = ", e->arg_count, e->args, "}");
    } else {
        print_args(p, "{", e->arg_count, e->args, "}");
    }
}

static void print_operation(kc_printer* p, const kc_expr* e, bool nested)
{
    if (nested)
        kc_put(p->out, "(");
    if (e->kind == KC_EX_UNARY) {
        kc_put(p->out, op_text(e->u.op));
        print_expr(p, e->args[0], true);
    } else {
        print_expr(p, e->args[0], true);
        kc_putf(p->out, " %s ", e->kind == KC_EX_SELECT ? "?" : op_text(e->u.op));
        print_expr(p, e->args[1], true);
        if (e->kind == KC_EX_SELECT) {
            kc_put(p->out, " : ");
            print_expr(p, e->args[2], true);
        }
    }
    if (nested)
        kc_put(p->out, ")");
}

/* `nested`: as an operand, so that an operation takes parentheses. */
static void print_expr(kc_printer* p, const kc_expr* e, bool nested)
{
    static const char* const queries[] = {"work_dim", "global_size", "global_id", "local_size",
                                          "local_id", "num_groups",  "group_id",  "global_offset"};
    switch (e->kind) {
    case KC_EX_VAR:
    case KC_EX_INDEX:
    case KC_EX_FIELD:
    case KC_EX_DEREF:
    case KC_EX_LANES: print_place(p, e); break;
    case KC_EX_LOAD: print_expr(p, e->args[0], nested); break;
    case KC_EX_ADDRESS:
        kc_put(p->out, nested ? "(&" : "&");
        print_expr(p, e->args[0], true);
        kc_put(p->out, nested ? ")" : "");
        break;
    case KC_EX_OFFSET: print_args(p, "offset(", 2, e->args, ")"); break;
    case KC_EX_POINTER_DIFF: print_args(p, "diff(", 2, e->args, ")"); break;
    case KC_EX_CONST: print_const(p, e->type, e->u.bits); break;
    case KC_EX_ZERO:
        kc_putf(p->out, "%s<%s>", kc_is_pointer(e->type) ? "null" : "zero", type_name(p, e->type));
        break;
    case KC_EX_AGGREGATE: print_aggregate(p, e); break;
    case KC_EX_UNARY:
    case KC_EX_BINARY:
    case KC_EX_SELECT: print_operation(p, e, nested); break;
    case KC_EX_CONVERT: print_convert(p, e); break;
    case KC_EX_BITCAST:
        kc_putf(p->out, "bitcast<%s>", type_name(p, e->type));
        print_args(p, "(", 1, e->args, ")");
        break;
    case KC_EX_COMPOSE:
        kc_put(p->out, type_name(p, e->type));
        print_args(p, "(", e->arg_count, e->args, ")");
        break;
    case KC_EX_SPLAT:
        kc_putf(p->out, "splat<%s>", type_name(p, e->type));
        print_args(p, "(", 1, e->args, ")");
        break;
    case KC_EX_SWIZZLE: { /* of a value that is loaded whole: (v).xy, where LANES is v.xy */
        const bool is_load = e->args[0]->kind == KC_EX_LOAD;
        kc_put(p->out, is_load ? "(" : "");
        print_expr(p, e->args[0], !is_load);
        kc_put(p->out, is_load ? ")" : "");
        print_lanes(p, e, e->args[0]->type->count);
        break;
    }
    case KC_EX_BUILTIN:
        kc_put(p->out, kc_builtin_name(e->u.builtin));
        print_args(p, "(", e->arg_count, e->args, ")");
        break;
    case KC_EX_WORK_ITEM:
        kc_put(p->out, queries[e->u.query]);
        print_args(p, "(", e->arg_count, e->args, ")");
        break;
    case KC_EX_LOCAL_BYTES:
    case KC_EX_SLICE_OFFSET:
        kc_put(p->out, e->kind == KC_EX_LOCAL_BYTES ? "local_bytes(" : "slice_offset(");
        print_var(p, e->u.var);
        kc_put(p->out, ")");
        break;
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void start_line(kc_printer* p)
{
    for (uint32_t i = 0; i < p->indent; i++)
        kc_put(p->out, "    ");
}

/* Ends a statement's (first) line. */
static void end_line(kc_printer* p, const kc_stmt* s)
{
    const bool varying = p->m->has_uniformity && s->control == KC_UNIFORM_VARYING;
    kc_put(p->out, varying ? " // varying\n" : "\n");
}

static void print_label(kc_printer* p, kc_stmt* s)
{
    if (s->pass_data) {
        s->pass_data = (void*)++p->label_count;
        kc_putf(p->out, " L%u", (unsigned)p->label_count);
    }
}

static void print_section(kc_printer* p, const char* name, const kc_block* b)
{
    start_line(p);
    kc_putf(p->out, "} %s {\n", name);
    print_block(p, b);
}

static void print_fence(kc_printer* p, const char* name, uint32_t fence)
{
    kc_putf(p->out, "%s(%s%s%s)", name, fence & KC_FENCE_LOCAL ? "local" : "",
            (fence & KC_FENCE_LOCAL) && (fence & KC_FENCE_GLOBAL) ? ", " : "",
            fence & KC_FENCE_GLOBAL ? "global" : "");
}

static void print_printf(kc_printer* p, const kc_stmt* s)
{
    kc_put(p->out, "printf(\"");
    for (size_t i = 0; i < s->format_size; i++) {
        const char c = s->format[i];
        if (c == '"' || c == '\\')
            kc_putf(p->out, "\\%c", c);
        else if (c == '\n')
            kc_put(p->out, "\\n");
        else if (c >= ' ' && c <= '~')
            kc_putn(p->out, &c, 1);
        else
            kc_putf(p->out, "\\x%02x", (unsigned)(unsigned char)c);
    }
    kc_put(p->out, "\"");
    print_args(p, s->arg_count ? ", " : "", s->arg_count, s->args, ")");
}

static void print_atomic(kc_printer* p, const kc_stmt* s)
{
    static const char* const names[] = {"add", "sub", "xchg", "inc", "dec", "cmpxchg",
                                        "min", "max", "and",  "or",  "xor"};
    kc_putf(p->out, "atomic_%s(", names[s->atomic]);
    print_expr(p, s->place, false);
    print_args(p, s->arg_count ? ", " : "", s->arg_count, s->args, ")");
}

static void print_condition(kc_printer* p, const char* word, const kc_expr* value)
{
    kc_put(p->out, word);
    if (value)
        print_expr(p, value, false);
    else
        kc_put(p->out, "true");
}

static void print_loop(kc_printer* p, kc_stmt* s)
{
    kc_put(p->out, "loop");
    print_label(p, s);
    const bool has_head = s->head.first != NULL;
    if (!s->test_at_end && has_head) {
        kc_put(p->out, " head {");
        end_line(p, s);
        print_block(p, &s->head);
        start_line(p);
        print_condition(p, "} while ", s->value);
        kc_put(p->out, " {\n");
    } else {
        if (!s->test_at_end && s->value)
            print_condition(p, " while ", s->value);
        kc_put(p->out, " {");
        end_line(p, s);
    }
    print_block(p, &s->body);
    if (s->step.first)
        print_section(p, "step", &s->step);
    if (s->test_at_end && has_head)
        print_section(p, "head", &s->head);
    start_line(p);
    if (s->test_at_end)
        print_condition(p, "} while ", s->value);
    else
        kc_put(p->out, "}");
    kc_put(p->out, "\n");
}

static void print_switch(kc_printer* p, kc_stmt* s)
{
    kc_put(p->out, "switch");
    print_label(p, s);
    print_condition(p, " ", s->value);
    kc_put(p->out, " {");
    end_line(p, s);
    for (uint32_t i = 0; i < s->case_count; i++) {
        const kc_case* c = &s->cases[i];
        start_line(p);
        for (uint32_t v = 0; v < c->value_count; v++) {
            kc_put(p->out, v ? ", " : "case ");
            print_const(p, s->value->type, c->values[v]);
        }
        if (c->is_default)
            kc_put(p->out, c->value_count ? " default" : "default");
        kc_put(p->out, " {\n");
        print_block(p, &c->body);
        start_line(p);
        kc_put(p->out, c->falls_through ? "} falls\n" : "}\n");
    }
    start_line(p);
    kc_put(p->out, "}\n");
}

static void print_exit(kc_printer* p, const kc_stmt* s)
{
    const bool is_break = s->kind == KC_ST_BREAK;
    kc_put(p->out, is_break ? "break" : "continue");
    if (s->target != (is_break ? p->breakable : p->loop))
        kc_putf(p->out, " L%u", (unsigned)(uintptr_t)s->target->pass_data);
}

/* Statements that end their own lines, because they hold others. */
static void print_compound(kc_printer* p, kc_stmt* s)
{
    const kc_stmt *const loop = p->loop, *const breakable = p->breakable;
    switch (s->kind) {
    case KC_ST_IF:
        print_condition(p, "if ", s->value);
        kc_put(p->out, " {");
        end_line(p, s);
        print_block(p, &s->body);
        if (s->orelse.first)
            print_section(p, "else", &s->orelse);
        start_line(p);
        kc_put(p->out, "}\n");
        break;
    case KC_ST_LOOP:
        p->loop = p->breakable = s;
        print_loop(p, s);
        break;
    case KC_ST_SWITCH:
        p->breakable = s;
        print_switch(p, s);
        break;
    default: /* BLOCK */
        kc_put(p->out, "block");
        print_label(p, s);
        kc_put(p->out, " {");
        end_line(p, s);
        print_block(p, &s->body);
        start_line(p);
        kc_put(p->out, "}\n");
        break;
    }
    p->loop = loop;
    p->breakable = breakable;
}

static void print_result(kc_printer* p, const kc_stmt* s)
{
    if (s->result) {
        print_var(p, s->result);
        kc_put(p->out, " = ");
    }
}

static void print_stmt(kc_printer* p, kc_stmt* s)
{
    start_line(p);
    switch (s->kind) {
    case KC_ST_IF:
    case KC_ST_LOOP:
    case KC_ST_SWITCH:
    case KC_ST_BLOCK: print_compound(p, s); return;
    case KC_ST_DECLARE:
        kc_put(p->out, s->value ? "let " : "var ");
        print_typed_var(p, s->var);
        if (s->value)
            print_condition(p, " = ", s->value);
        break;
    case KC_ST_ASSIGN:
        print_expr(p, s->place, false);
        print_condition(p, " = ", s->value);
        break;
    case KC_ST_CALL:
        print_result(p, s);
        kc_putf(p->out, "call %s", s->callee->name);
        print_args(p, "(", s->arg_count, s->args, ")");
        break;
    case KC_ST_ATOMIC:
        print_result(p, s);
        print_atomic(p, s);
        break;
    case KC_ST_BARRIER: print_fence(p, "barrier", s->fence); break;
    case KC_ST_FENCE: print_fence(p, "fence", s->fence); break;
    case KC_ST_BROADCAST:
        print_result(p, s);
        print_args(p, "broadcast(", 1, &s->place, ")");
        break;
    case KC_ST_PRINTF: print_printf(p, s); break;
    case KC_ST_BREAK:
    case KC_ST_CONTINUE: print_exit(p, s); break;
    case KC_ST_RETURN:
        kc_put(p->out, "return");
        if (s->value)
            print_condition(p, " ", s->value);
        break;
    }
    end_line(p, s);
}

static void print_block(kc_printer* p, const kc_block* b)
{
    p->indent++;
    for (kc_stmt* s = b->first; s; s = s->next)
        print_stmt(p, s);
    p->indent--;
}

/* ---- functions and modules ------------------------------------------------------------------- */

/* Marks the targets that need a label: a BREAK or CONTINUE in them would mean another statement. */
static void mark_labels(kc_block* b, void* printer)
{
    kc_printer* p = printer;
    const kc_stmt *const loop = p->loop, *const breakable = p->breakable;
    for (kc_stmt* s = b->first; s; s = s->next) {
        if (s->kind == KC_ST_BREAK || s->kind == KC_ST_CONTINUE) {
            if (s->target != (s->kind == KC_ST_BREAK ? p->breakable : p->loop))
                s->target->pass_data = s->target;
            continue;
        }
        if (s->kind == KC_ST_LOOP)
            p->loop = p->breakable = s;
        if (s->kind == KC_ST_SWITCH)
            p->breakable = s;
        kc_stmt_walk_blocks(s, mark_labels, p);
        p->loop = loop;
        p->breakable = breakable;
    }
}

static void clear_label(kc_stmt* s, void* user)
{
    (void)user;
    s->pass_data = NULL;
}

static void print_memory(kc_printer* p, const char* word, const kc_var* v)
{
    kc_putf(p->out, "    %s ", word);
    print_typed_var(p, v);
    kc_put(p->out, "\n");
}

static void print_function(kc_printer* p, kc_function* f)
{
    collect_names(p, f);
    p->label_count = 0;
    p->loop = p->breakable = NULL;
    mark_labels(&f->body, p);
    kc_putf(p->out, "\n%s %s(", f->is_kernel ? "kernel" : "function", f->name);
    for (uint32_t i = 0; i < f->param_count; i++) {
        kc_put(p->out, i ? ", " : "");
        print_typed_var(p, f->params[i]);
    }
    kc_put(p->out, ")");
    if (f->result->kind != KC_TYPE_VOID)
        kc_putf(p->out, " -> %s", type_name(p, f->result));
    if (f->workgroup_size[0])
        kc_putf(p->out, " workgroup %u %u %u", f->workgroup_size[0], f->workgroup_size[1],
                f->workgroup_size[2]);
    kc_put(p->out, " {\n");
    for (uint32_t i = 0; i < f->buffer_count; i++)
        print_memory(p, "buffer", f->buffers[i]);
    if (f->push)
        print_memory(p, "buffer", f->push);
    for (uint32_t i = 0; i < f->local_count; i++)
        print_memory(p, "local", f->locals[i]);
    print_block(p, &f->body);
    kc_put(p->out, "}\n");
    kc_block_walk(&f->body, clear_label, NULL);
}

static void print_record(kc_printer* p, const kc_record* r)
{
    kc_putf(p->out, "\n%s %s size %llu align %llu%s {\n", r->is_union ? "union" : "struct", r->name,
            (unsigned long long)r->size, (unsigned long long)r->align,
            r->is_packed ? " packed" : "");
    for (uint32_t i = 0; i < r->field_count; i++) {
        kc_put(p->out, "    ");
        print_field_name(p, r, i);
        kc_putf(p->out, ": %s at %llu\n", type_name(p, r->fields[i].type),
                (unsigned long long)r->fields[i].offset);
    }
    kc_put(p->out, "}\n");
}

void kc_print_module(kc_text* out, kc_module* m)
{
    kc_printer p = {.out = out, .m = m};
    kc_putf(out, "module %s size_t %u\n", m->name, m->size_t_bits);
    p.constant_names = KC_NEW_ARRAY(m->arena, const char*, m->constant_count);
    for (uint32_t i = 0; i < m->constant_count; i++)
        p.constant_names[i] = m->constants[i]->name;
    sort_names(p.constant_names, m->constant_count);
    for (uint32_t i = 0; i < m->record_count; i++)
        print_record(&p, m->records[i]);
    for (uint32_t i = 0; i < m->constant_count; i++) {
        kc_put(out, i ? "constant " : "\nconstant ");
        print_typed_var(&p, m->constants[i]);
        if (m->constants[i]->init)
            print_condition(&p, " = ", m->constants[i]->init);
        kc_put(out, "\n");
    }
    for (kc_function* f = m->functions; f; f = f->next)
        print_function(&p, f);
}
