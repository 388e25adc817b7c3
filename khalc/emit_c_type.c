/* C names, types and module-scope data of the C emitter. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit_c.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const char reserved[] =
    " alignas alignof asm auto bool break case char complex const constexpr continue default do "
    "double else enum errno extern false float for goto i386 if imaginary inline int linux long "
    "noreturn nullptr register restrict return short signed sizeof static static_assert stderr "
    "stdin stdout struct switch thread_local true typedef typeof typeof_unqual union unix "
    "unsigned void volatile while ";

const char* kc_emc_ident(kc_arena* a, const char* name)
{
    bool clash = name[0] == '_' || strncmp(name, "khal_", 5) == 0;
    bool lower = false;
    const size_t size = strlen(name);
    clash |= size > 2 && strcmp(name + size - 2, "_t") == 0; /* the generated code's own types */
    for (const char* p = name; *p; p++)
        lower |= *p >= 'a' && *p <= 'z';
    clash |= !lower && size > 2; /* what system headers' macros look like */
    clash |= kc_has_word(reserved, name);
    return clash ? kc_format(a, "k_%s", name) : name;
}

static uint32_t hash(const char* s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h % 64;
}

static bool name_add(kc_arena* a, kc_name** table, const char* s)
{
    const uint32_t h = hash(s);
    for (kc_name* n = table[h]; n; n = n->next)
        if (strcmp(n->s, s) == 0)
            return false;
    kc_name* n = KC_NEW(a, kc_name);
    n->s = s;
    n->next = table[h];
    table[h] = n;
    return true;
}

void kc_emc_names_clear(kc_emc* em)
{
    memset(em->names, 0, sizeof em->names);
    em->temp_count = 0;
    em->label_count = 0;
}

const char* kc_emc_unique(kc_emc* em, const char* name)
{
    const char* base = kc_emc_ident(em->m->arena, name && *name ? name : "t");
    const char* s = base;
    for (uint32_t i = 2; !name_add(em->m->arena, em->names, s); i++)
        s = kc_format(em->m->arena, "%s_%u", base, i);
    return s;
}

void kc_emc_need(kc_emc* em, const char* format, ...)
{
    char line[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    const char* s = kc_strdup(em->m->arena, line);
    if (name_add(em->m->arena, em->needed, s))
        kc_putf(em->needs, "%s\n", s);
}

const char* kc_emc_var(kc_emc* em, kc_var* v)
{
    if (v->kind == KC_VAR_CONSTANT)
        return kc_format(em->m->arena, "KHAL_C_NAME(%s_%u)", kc_emc_ident(em->m->arena, v->name),
                         v->id);
    kc_var_plan* p = v->pass_data;
    if (!p) {
        p = KC_NEW(em->m->arena, kc_var_plan);
        p->var = v;
        v->pass_data = p;
    }
    if (!p->name)
        p->name = kc_emc_unique(em, v->name);
    return p->name;
}

/* ---- types ----------------------------------------------------------------------------------- */

const char* kc_emc_lane_name(const kc_type* t)
{
    t = kc_lane(t);
    switch (t->kind) {
    case KC_TYPE_BOOL: return "bool";
    case KC_TYPE_INT:
        switch (t->width) {
        case 8: return t->is_signed ? "char" : "uchar";
        case 16: return t->is_signed ? "short" : "ushort";
        case 32: return t->is_signed ? "int" : "uint";
        default: return t->is_signed ? "long" : "ulong";
        }
    case KC_TYPE_FLOAT: return t->width == 16 ? "half" : t->width == 32 ? "float" : "double";
    default: return "void";
    }
}

const char* kc_emc_suffix(const kc_type* t)
{
    static const char* const names[11][5] = {
#define V(T) {#T "2", #T "3", #T "4", #T "8", #T "16"}
        V(char), V(uchar), V(short), V(ushort), V(int),    V(uint),
        V(long), V(ulong), V(half),  V(float),  V(double),
#undef V
    };
    static const char* const lanes[11] = {"char", "uchar", "short", "ushort", "int",   "uint",
                                          "long", "ulong", "half",  "float",  "double"};
    const char* lane = kc_emc_lane_name(t);
    if (t->kind != KC_TYPE_VECTOR)
        return lane;
    const uint32_t column = t->count <= 4 ? (uint32_t)t->count - 2 : t->count == 8 ? 3 : 4;
    for (uint32_t i = 0; i < 11; i++)
        if (strcmp(lanes[i], lane) == 0)
            return names[i][column];
    return lane;
}

uint32_t kc_emc_storage_lanes(const kc_type* t)
{
    const uint32_t n = kc_lane_count(t);
    return n == 3 ? 4 : n;
}

/* `inner` is the declarator so far; `pointee`: what a pointer points to, where a vector is only as
 * aligned as its lanes. */
static const char* declare(kc_emc* em, const kc_type* t, const char* inner, bool is_const,
                           bool is_volatile, bool pointee)
{
    kc_arena* a = em->m->arena;
    const char* qualifiers = is_const      ? is_volatile ? "const volatile " : "const "
                             : is_volatile ? "volatile "
                                           : "";
    switch (t->kind) {
    case KC_TYPE_POINTER: {
        const char* s = kc_format(a, "*%s%s%s", is_const ? "const " : "",
                                  is_volatile ? "volatile " : "", inner);
        if (t->element->kind == KC_TYPE_ARRAY)
            s = kc_format(a, "(%s)", s);
        return declare(em, t->element, s, t->is_const, t->is_volatile, true);
    }
    case KC_TYPE_ARRAY:
        return declare(em, t->element,
                       kc_format(a, "%s[%llu]", inner, (unsigned long long)t->count), is_const,
                       is_volatile, false);
    default: {
        const char* star = inner; /* "float* p" */
        while (*star == '*')
            star++;
        const char* base =
            t->kind == KC_TYPE_VOID ? "void" : kc_format(a, "khal_%s", kc_emc_suffix(t));
        if (t->kind == KC_TYPE_STRUCT)
            base = kc_format(a, "%s KHAL_C_NAME(%s)", t->record->is_union ? "union" : "struct",
                             t->record->name);
        return kc_format(a, "%s%s%s%.*s%s%s", qualifiers, base,
                         pointee && t->kind == KC_TYPE_VECTOR ? "_u" : "", (int)(star - inner),
                         inner, *star && *star != '[' ? " " : "", star);
    }
    }
}

const char* kc_emc_type(kc_emc* em, const kc_type* t)
{
    return declare(em, t, "", false, false, false);
}

const char* kc_emc_declare(kc_emc* em, const kc_type* t, const char* name, bool is_const)
{
    return declare(em, t, name, is_const, false, false);
}

const char* kc_emc_field(kc_emc* em, const kc_record* r, uint32_t field)
{
    const char* name = r->fields[field].name;
    if (!*name)
        return kc_format(em->m->arena, "khal_field%u", field);
    const char* s = kc_emc_ident(em->m->arena, name);
    for (bool again = s != name; again;) { /* renamed: not into another field */
        again = false;
        for (uint32_t i = 0; i < r->field_count; i++)
            if (i != field && strcmp(r->fields[i].name, s) == 0) {
                s = kc_format(em->m->arena, "%s_", s);
                again = true;
            }
    }
    return s;
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t natural_align(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    return t->align ? t->align : 1;
}

void kc_emc_records(kc_emc* em, kc_text* out)
{
    for (uint32_t i = 0; i < em->m->record_count; i++) {
        const kc_record* r = em->m->records[i];
        const char* kind = r->is_union ? "union" : "struct";
        kc_putf(out, "%s KHAL_C_NAME(%s) {\n", kind, r->name);
        uint64_t end = 0;
        for (uint32_t k = 0; k < r->field_count; k++) {
            const kc_field* f = &r->fields[k];
            if (!r->is_union) {
                const uint64_t align = r->is_packed ? 1 : natural_align(f->type);
                const uint64_t at = (end + align - 1) / align * align;
                if (f->offset > at)
                    kc_putf(out, "    khal_uchar khal_gap%u[%llu];\n", k,
                            (unsigned long long)(f->offset - end));
                end = f->offset + f->type->size;
            }
            kc_putf(out, "    %s;\n", kc_emc_declare(em, f->type, kc_emc_field(em, r, k), false));
        }
        if (!r->field_count)
            kc_put(out, "    khal_uchar khal_empty[0];\n");
        kc_putf(out, "} __attribute__((%smay_alias, aligned(%llu)));\n",
                r->is_packed ? "packed, " : "", (unsigned long long)(r->align ? r->align : 1));
        kc_putf(out, "_Static_assert(sizeof(%s KHAL_C_NAME(%s)) == %llu, \"layout\");\n\n", kind,
                r->name, (unsigned long long)r->size);
    }
}

/* ---- __constant variables -------------------------------------------------------------------- */

static void put_init(kc_emc* em, kc_text* out, const kc_expr* e);

static void put_list(kc_emc* em, kc_text* out, const kc_expr* e)
{
    kc_put(out, "{");
    for (uint32_t i = 0; i < e->arg_count; i++) {
        if (i)
            kc_put(out, i % 16 == 0 ? ",\n    " : ", ");
        if (e->type->kind == KC_TYPE_STRUCT)
            kc_putf(out, ".%s = ",
                    kc_emc_field(em, e->type->record, e->type->record->is_union ? e->u.field : i));
        put_init(em, out, e->args[i]);
    }
    kc_put(out, e->arg_count ? "}" : "0}");
}

static void put_init(kc_emc* em, kc_text* out, const kc_expr* e)
{
    switch (e->kind) {
    case KC_EX_AGGREGATE: put_list(em, out, e); break;
    case KC_EX_ZERO:
        kc_put(out, kc_is_scalar(e->type) || kc_is_pointer(e->type) ? "0" : "{0}");
        break;
    case KC_EX_SPLAT:
        kc_put(out, "{");
        for (uint32_t i = 0; i < kc_lane_count(e->type); i++) {
            kc_put(out, i ? ", " : "");
            put_init(em, out, e->args[0]);
        }
        kc_put(out, "}");
        break;
    case KC_EX_COMPOSE: {
        bool scalars = true;
        for (uint32_t i = 0; i < e->arg_count; i++)
            scalars &= kc_is_scalar(e->args[i]->type);
        if (scalars) {
            put_list(em, out, e);
            break;
        }
        kc_put(out, kc_emc_text(em, e));
        break;
    }
    default: kc_put(out, kc_emc_text(em, e)); break;
    }
}

void kc_emc_constants(kc_emc* em, kc_text* out)
{
    em->constant_init = true;
    em->may_not_spill = true;
    for (uint32_t i = 0; i < em->m->constant_count; i++) {
        kc_var* v = em->m->constants[i];
        const char* space = em->dialect->constant_space ? em->dialect->constant_space(em, v) : "";
        kc_putf(out, "static %s%s __attribute__((unused", space,
                kc_emc_declare(em, v->type, kc_emc_var(em, v), true));
        if (v->align > v->type->align)
            kc_putf(out, ", aligned(%llu)", (unsigned long long)v->align);
        kc_put(out, "))");
        if (v->init) {
            kc_put(out, " = ");
            put_init(em, out, v->init);
        }
        kc_put(out, ";\n");
    }
    if (em->m->constant_count)
        kc_put(out, "\n");
    em->constant_init = false;
    em->may_not_spill = false;
}
