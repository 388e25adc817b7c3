/* The WGSL target: a kernel's module, with the declarations that the kernel reaches. */
#include <stdio.h>
#include <string.h>

#include "emit_wgsl.h"

/* ---- what the kernel uses ---------------------------------------------------------------------- */

static void note_root(kc_wgsl* em, const kc_expr* place)
{
    kc_var* root = kc_place_root(place);
    if (root)
        kc_wgsl_var_of(em, root)->assign_count++;
}

static void scan_expr(kc_expr** slot, void* user)
{
    kc_wgsl* em = user;
    if ((*slot)->kind == KC_EX_VAR)
        kc_wgsl_var_of(em, (*slot)->u.var)->is_used = true;
}

static void scan_stmt(kc_stmt* s, void* user)
{
    kc_wgsl* em = user;
    kc_stmt_walk_exprs(s, scan_expr, em);
    if (s->kind == KC_ST_ASSIGN || s->kind == KC_ST_ATOMIC)
        note_root(em, s->place);
    if (s->result)
        kc_wgsl_var_of(em, s->result)->assign_count++;
    if (s->kind == KC_ST_DECLARE)
        kc_wgsl_var_of(em, s->var)->value = s->value;
    if (s->kind == KC_ST_CALL && !s->callee->pass_data)
        s->callee->pass_data = em; /* to be scanned, callers first; then its name */
}

/* Marks the functions that the kernel calls, with their names, and its variables. */
static void scan(kc_wgsl* em)
{
    uint32_t count = 0;
    for (kc_function* f = em->m->functions; f; f = f->next)
        count++;
    kc_function** order = KC_NEW_ARRAY(em->m->arena, kc_function*, count + 1);
    uint32_t left = count;
    for (kc_function* f = em->m->functions; f; f = f->next)
        order[--left] = f;
    em->kernel->pass_data = em;
    for (uint32_t i = 0; i < count; i++)
        if (order[i]->pass_data)
            kc_block_walk(&order[i]->body, scan_stmt, em);
}

/* Initialisers may name earlier constants. */
static void scan_constants(kc_wgsl* em)
{
    for (uint32_t i = em->m->constant_count; i-- > 0;) {
        kc_var* c = em->m->constants[i];
        if (!c->pass_data || !kc_wgsl_var_of(em, c)->is_used)
            continue;
        kc_stmt holder = {.kind = KC_ST_DECLARE, .value = c->init};
        kc_stmt_walk_exprs(&holder, scan_expr, em);
    }
}

static void forget(kc_wgsl* em)
{
    for (kc_function* f = em->m->functions; f; f = f->next)
        f->pass_data = NULL;
    for (kc_wgsl_var* v = em->vars; v; v = v->next)
        v->var->pass_data = NULL;
}

/* ---- names of the module ----------------------------------------------------------------------- */

static void reserve(kc_wgsl* em, const char* name)
{
    kc_wgsl_unique(em, &em->names, name);
}

static void name_module(kc_wgsl* em, khal_wgsl_kernel* out)
{
    static const char* const functions[] = {"load", "store", "add", "sub", "and", "or", "xor",
                                            "min", "max", "exchange", "compare_exchange"};
    kc_arena* a = em->m->arena;
    kc_function* kernel = em->kernel;
    const char** names = KC_NEW_ARRAY(a, const char*, kernel->buffer_count + 1);
    for (uint32_t i = 0; i < kernel->buffer_count; i++) {
        kc_var* v = kernel->buffers[i];
        names[i] = kc_wgsl_unique(em, &em->names, v->param ? v->param->name : v->name);
        kc_wgsl_var_of(em, v)->name = names[i];
        for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
            reserve(em, kc_format(a, "%s_%s", names[i], functions[k]));
    }
    out->names = names;
    out->entry = kc_wgsl_unique(em, &em->names, kernel->name);
    for (kc_function* f = em->m->functions; f; f = f->next)
        if (f->pass_data)
            f->pass_data = f == kernel ? (void*)(uintptr_t)out->entry
                                       : (void*)(uintptr_t)kc_wgsl_unique(em, &em->names, f->name);
    for (uint32_t i = 0; i < kernel->local_count; i++)
        if (kc_wgsl_var_of(em, kernel->locals[i])->is_used)
            kc_wgsl_var_of(em, kernel->locals[i])->name =
                kc_wgsl_unique(em, &em->names, kernel->locals[i]->name);
    for (uint32_t i = 0; i < em->m->constant_count; i++) {
        kc_var* c = em->m->constants[i];
        if (c->pass_data)
            kc_wgsl_var_of(em, c)->name = kc_wgsl_unique(em, &em->names, c->name);
    }
}

static void name_record(kc_wgsl* em, const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    if (t->kind == KC_TYPE_STRUCT)
        kc_wgsl_type(em, t);
}

static void name_record_of(kc_expr** slot, void* user)
{
    name_record(user, (*slot)->type);
}

static void name_records_in(kc_stmt* s, void* user)
{
    if (s->kind == KC_ST_DECLARE)
        name_record(user, s->var->type);
    kc_stmt_walk_exprs(s, name_record_of, user);
}

/* Before any variable of a function gets a name, which must not hide a record's. */
static void name_records(kc_wgsl* em)
{
    for (kc_function* f = em->m->functions; f; f = f->next) {
        if (!f->pass_data)
            continue;
        for (uint32_t i = 0; i < f->param_count && f != em->kernel; i++)
            name_record(em, f->params[i]->type);
        name_record(em, f->result);
        kc_block_walk(&f->body, name_records_in, em);
    }
    for (uint32_t i = 0; i < em->kernel->local_count; i++)
        if (kc_wgsl_var_of(em, em->kernel->locals[i])->is_used)
            name_record(em, em->kernel->locals[i]->type);
    for (uint32_t i = 0; i < em->m->constant_count; i++)
        if (em->m->constants[i]->pass_data)
            name_record(em, em->m->constants[i]->type);
}

/* ---- declarations ------------------------------------------------------------------------------ */

static void put_buffers(kc_wgsl* em, kc_text* out)
{
    bool any = false;
    for (uint32_t i = 0; i < em->kernel->buffer_count && !em->words; i++) {
        kc_var* v = em->kernel->buffers[i];
        const kc_wgsl_var* known = kc_wgsl_var_of(em, v);
        if (!known->is_used)
            continue;
        bool is_written = v->is_atomic;
        for (uint32_t k = 0; k < em->info->arg_count; k++)
            if (em->kernel->params[k] == v->param)
                is_written |= (em->info->args[k].access & KHAL_ACCESS_WRITE) != 0;
        kc_putf(out, "@group(0) @binding(%u) var<storage, %s> %s: %s;\n", i,
                is_written ? "read_write" : "read", known->name,
                kc_wgsl_storage_type(em, v, NULL));
        any = true;
    }
    if (any)
        kc_put(out, "\n");
}

static uint32_t local_index(const kc_wgsl* em, const kc_var* param)
{
    for (uint32_t i = 0; i < em->info->arg_count; i++)
        if (em->kernel->params[i] == param)
            return em->info->args[i].index;
    return 0;
}

static void put_locals(kc_wgsl* em, kc_text* out, khal_wgsl_kernel* kernel)
{
    uint32_t* strides = KC_NEW_ARRAY(em->m->arena, uint32_t, em->info->local_count + 1);
    for (uint32_t i = 0; i < em->info->local_count; i++) {
        strides[i] = 4;
        kc_putf(out, "override khal_local_%u: u32 = 1u;\n", i);
    }
    for (uint32_t i = 0; i < em->kernel->local_count; i++) {
        kc_var* v = em->kernel->locals[i];
        const uint32_t index = v->param ? local_index(em, v->param) : 0;
        if (v->param)
            strides[index] = kc_wgsl_size(v->type->element);
        if (kc_wgsl_var_of(em, v)->is_used)
            kc_putf(out, "var<workgroup> %s: %s;\n", kc_wgsl_var_of(em, v)->name,
                    kc_wgsl_storage_type(
                        em, v,
                        v->param ? kc_format(em->m->arena, "khal_local_%u", index) : NULL));
    }
    if (em->info->local_count || em->kernel->local_count)
        kc_put(out, "\n");
    kernel->local_strides = strides;
}

static void put_initialiser(kc_wgsl* em, kc_text* out, const kc_expr* e)
{
    if (e->kind != KC_EX_AGGREGATE || !e->arg_count) {
        kc_put(out, kc_wgsl_text(em, e));
        return;
    }
    kc_wgsl_check_length(em, e);
    const bool is_long = e->type->kind == KC_TYPE_ARRAY && e->arg_count > 8;
    kc_putf(out, "%s(", kc_wgsl_type(em, e->type));
    for (uint32_t i = 0; i < e->arg_count; i++) {
        if (is_long && i % 8 == 0)
            kc_put(out, "\n    ");
        put_initialiser(em, out, e->args[i]);
        kc_put(out, i + 1 == e->arg_count ? "" : is_long && i % 8 == 7 ? "," : ", ");
    }
    kc_put(out, ")");
}

static void put_constants(kc_wgsl* em, kc_text* out)
{
    bool any = false;
    for (uint32_t i = 0; i < em->m->constant_count; i++) {
        kc_var* c = em->m->constants[i];
        if (!c->pass_data || !c->init)
            continue;
        kc_wgsl_var* known = kc_wgsl_var_of(em, c);
        kc_text text = {0};
        em->is_initialiser = true;
        em->has_bad_constant = false;
        put_initialiser(em, &text, c->init);
        em->is_initialiser = false;
        known->is_table_in_function = em->has_bad_constant;
        if (!em->has_bad_constant) {
            kc_putf(out, "const %s: %s = %s;\n", known->name, kc_wgsl_type(em, c->type), text.data);
            any = true;
        }
        kc_text_free(&text);
    }
    if (any)
        kc_put(out, "\n");
}

static void put_block_struct(kc_wgsl* em, kc_text* out)
{
    const khal_kernel_info* k = em->info;
    kc_put(out, "struct khal_block {\n"
                "    group_count: vec3<u32>,\n"
                "    work_dim: u32,\n"
                "    global_size: vec3<u32>,\n"
                "    base_z: u32,\n"
                "    fold: vec4<u32>,\n");
    if (k->binding_count)
        kc_putf(out, "    slices: array<vec4<u32>, %u>,\n", (k->binding_count + 1) / 2);
    if (k->local_count)
        kc_putf(out, "    locals: array<vec4<u32>, %u>,\n", (k->local_count + 3) / 4);
    if (k->push_constant_size)
        kc_putf(out, "    push: array<vec4<u32>, %u>,\n", (k->push_constant_size + 15) / 16);
    kc_put(out, "}\n\n");
}

static uint32_t block_size(const khal_kernel_info* k)
{
    return 16 * (3 + (k->binding_count + 1) / 2 + (k->local_count + 3) / 4 +
                 (k->push_constant_size + 15) / 16);
}

static void put_group_function(kc_text* out)
{
    kc_put(out,
           "override khal_is_plain: bool = false;\n"
           "override khal_is_exact: bool = false;\n\n"
           "fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {\n"
           "    if (khal_is_plain) {\n"
           "        return g;\n"
           "    }\n"
           "    let f = khal.fold;\n"
           "    if (f.y * f.w == 1u) {\n"
           "        return vec3<u32>(g.xy, khal.base_z + g.z);\n"
           "    }\n"
           "    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), "
           "khal.base_z + g.z / (f.y * f.w));\n"
           "}\n\n");
}

/* ---- functions --------------------------------------------------------------------------------- */

typedef struct table_use {
    kc_wgsl* em;
    kc_var** tables;
    uint32_t count;
} table_use;

static void find_table(kc_expr** slot, void* user)
{
    table_use* use = user;
    if ((*slot)->kind != KC_EX_VAR || (*slot)->u.var->kind != KC_VAR_CONSTANT ||
        !kc_wgsl_var_of(use->em, (*slot)->u.var)->is_table_in_function)
        return;
    for (uint32_t i = 0; i < use->count; i++)
        if (use->tables[i] == (*slot)->u.var)
            return;
    use->tables[use->count++] = (*slot)->u.var;
}

static void find_tables(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, find_table, user);
}

/* Tables with a NaN or an infinity are made where they are used. */
static void put_tables(kc_wgsl* em, kc_function* f)
{
    table_use use = {.em = em,
                     .tables = KC_NEW_ARRAY(em->m->arena, kc_var*, em->m->constant_count + 1)};
    kc_block_walk(&f->body, find_tables, &use);
    for (uint32_t i = 0; i < use.count; i++) {
        kc_stmt holder = {.kind = KC_ST_DECLARE, .value = use.tables[i]->init};
        kc_stmt_walk_exprs(&holder, find_table, &use);
    }
    for (uint32_t i = use.count; i-- > 0;) {
        kc_text text = {0};
        put_initialiser(em, &text, use.tables[i]->init);
        kc_wgsl_line(em, "var %s = %s;", kc_wgsl_var_of(em, use.tables[i])->name, text.data);
        kc_text_free(&text);
    }
}

static void begin_function(kc_wgsl* em, kc_function* f)
{
    memset(&em->local_names, 0, sizeof em->local_names);
    em->f = f;
    em->temp_count = 0;
    em->indent = 1;
    em->nesting = 1;
}

static void put_helper(kc_wgsl* em, kc_function* f)
{
    begin_function(em, f);
    kc_putf(em->out, "fn %s(", (const char*)f->pass_data);
    kc_text copies = {0};
    for (uint32_t i = 0; i < f->param_count; i++) {
        kc_var* v = f->params[i];
        const char* name = kc_wgsl_name_of(em, v);
        if (kc_wgsl_var_of(em, v)->assign_count || v->type->kind == KC_TYPE_ARRAY ||
            v->type->kind == KC_TYPE_STRUCT) {
            const char* given =
                kc_wgsl_unique(em, &em->local_names, kc_format(em->m->arena, "%s_in", name));
            kc_putf(&copies, "    var %s = %s;\n", name, given);
            name = given;
        }
        kc_putf(em->out, "%s%s: %s", i ? ", " : "", name, kc_wgsl_type(em, v->type));
    }
    const bool has_result = f->result->kind != KC_TYPE_VOID;
    kc_putf(em->out, has_result ? ") -> %s {\n" : ") {\n",
            has_result ? kc_wgsl_type(em, f->result) : "");
    if (copies.size)
        kc_put(em->out, copies.data);
    kc_text_free(&copies);
    put_tables(em, f);
    if (!kc_wgsl_block(em, &f->body) && has_result)
        kc_wgsl_line(em, "return %s();", kc_wgsl_type(em, f->result));
    kc_put(em->out, "}\n\n");
}

/* The entry point: its head is written when it is known what the body uses. */
static void put_kernel(kc_wgsl* em, kc_text* out, const char* entry)
{
    kc_function* f = em->kernel;
    kc_text body = {0};
    begin_function(em, f);
    em->out = &body;
    put_tables(em, f);
    kc_wgsl_block(em, &f->body);
    em->out = out;
    em->indent = 1;

    const bool clips_items = !(em->info->flags & KHAL_KERNEL_HAS_BARRIER);
    em->uses_global_id |= clips_items;
    em->uses_local_id |= em->uses_global_id;
    em->uses_local_size |= em->uses_global_id && !f->workgroup_size[0];
    put_group_function(out);
    const uint32_t* size = f->workgroup_size;
    const char* sizes = size[0] ? kc_format(em->m->arena, "%u, %u, %u", size[0], size[1], size[2])
                                : "khal_size_x, khal_size_y, khal_size_z";
    if (!size[0])
        kc_put(out, "override khal_size_x: u32 = 1u;\n"
                    "override khal_size_y: u32 = 1u;\n"
                    "override khal_size_z: u32 = 1u;\n\n");
    kc_putf(out, "@compute @workgroup_size(%s)\nfn %s(@builtin(workgroup_id) khal_workgroup_id: "
                 "vec3<u32>",
            sizes, entry);
    if (em->uses_local_id)
        kc_put(out, ", @builtin(local_invocation_id) khal_local_id: vec3<u32>");
    kc_put(out, ") {\n");
    kc_wgsl_line(em, "let khal_group_id = khal_logical_group(khal_workgroup_id);");
    if (em->uses_local_size) /* a `var`: arithmetic on overrides must not overflow in WGSL */
        kc_wgsl_line(em, "var khal_local_size = vec3<u32>(%s);", sizes);
    if (em->uses_global_id)
        kc_wgsl_line(em, "let khal_global_id = khal_group_id * %s + khal_local_id;",
                     size[0] ? kc_format(em->m->arena, "vec3<u32>(%s)", sizes) : "khal_local_size");
    kc_wgsl_line(em, clips_items ? "if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {"
                                 : "if (!khal_is_plain && any(khal_group_id >= khal.group_count)) {");
    kc_wgsl_line(em, "    return;");
    kc_wgsl_line(em, "}");
    if (body.size)
        kc_putn(out, body.data, body.size);
    kc_text_free(&body);
    kc_put(out, "}\n");
}

/* ---- the module -------------------------------------------------------------------------------- */

static void note_atomics(kc_wgsl* em)
{
    for (uint32_t i = 0; i < em->kernel->buffer_count; i++)
        em->uses_atomics |= em->kernel->buffers[i]->is_atomic;
}

bool kc_emit_wgsl(kc_module* m, kc_function* kernel, const khal_kernel_info* info, bool relaxed,
                  khal_wgsl_kernel* out)
{
    kc_wgsl em = {.m = m,
                  .kernel = kernel,
                  .info = info,
                  .relaxed = relaxed,
                  .words = m->target && m->target->words};
    kc_text head = {0}, declarations = {0}, functions = {0};
    scan(&em);
    scan_constants(&em);
    name_module(&em, out);
    name_records(&em);
    put_constants(&em, &declarations);
    put_locals(&em, &declarations, out);
    put_buffers(&em, &declarations);
    em.out = &functions;
    for (kc_function* f = m->functions; f; f = f->next)
        if (f->pass_data && f != kernel)
            put_helper(&em, f);
    put_kernel(&em, &functions, out->entry);
    note_atomics(&em);

    kc_putf(&head, "// %s, of %s.cl\n\n", kernel->name, m->name);
    put_block_struct(&em, &head);
    kc_wgsl_put_records(&em, &head);
    if (declarations.size)
        kc_putn(&head, declarations.data, declarations.size);
    kc_putn(&head, functions.data, functions.size);
    kc_wgsl_library_complete(&head);

    const char* text = kc_strdup(m->arena, head.data);
    if (em.words)
        out->shared_source = text;
    else
        out->source = text;
    out->block_size = block_size(info);
    if (strstr(text, "override khal_has_fma"))
        out->flags |= KHAL_WGSL_USES_FMA;
    if (strstr(text, "override khal_has_sqrt"))
        out->flags |= KHAL_WGSL_USES_SQRT;
    if (em.uses_atomics)
        out->flags |= KHAL_WGSL_USES_ATOMICS;
    kc_text_free(&head);
    kc_text_free(&declarations);
    kc_text_free(&functions);
    forget(&em);
    return kernel->refusal == NULL;
}

void kc_emit_wgsl_block(kc_text* out, const khal_kernel_info* info, const khal_wgsl_kernel* kernel)
{
    if (kernel->block_size)
        kc_putf(out, "\n@group(0) @binding(%u) var<uniform> khal: khal_block;\n",
                info->binding_count);
}
