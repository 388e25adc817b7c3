/* The CPU target: a module as C. A kernel without barriers is a function of one work-item, called
 * in loops that vectorise; one with barriers is laid out by emit_c_group.c. */
#include <string.h>

#include "emit_c.h"

/* Inlined statements of a helper function that is always inlined, at most: calls of calls must not
 * explode. */
#define INLINE_LIMIT 400

/* ---- what functions need --------------------------------------------------------------------- */

void kc_emc_scan_expr(kc_expr** slot, void* user)
{
    kc_fn_info* info = user;
    const kc_expr* e = *slot;
    if (e->kind == KC_EX_WORK_ITEM && e->u.query != KC_QUERY_GLOBAL_OFFSET) {
        uint32_t dimensions = 7;
        if (e->u.query == KC_QUERY_WORK_DIM)
            dimensions = 1;
        else if (e->args[0]->kind == KC_EX_CONST)
            dimensions = e->args[0]->u.bits < 3 ? 1u << e->args[0]->u.bits : 0;
        info->queries |= dimensions << (3u * e->u.query);
    } else if (e->kind == KC_EX_LOCAL_BYTES) {
        info->needs_launch = true;
    } else if (e->kind == KC_EX_INDEX && kc_is_vector(e->args[0]->type) &&
               e->args[1]->kind != KC_EX_CONST) {
        info->has_private_memory = true;
    } else if (e->kind == KC_EX_DEREF && e->args[0]->type->is_volatile) {
        info->has_volatile = true;
    }
}

static bool has_array(const kc_type* t)
{
    if (t->kind == KC_TYPE_ARRAY)
        return true;
    if (t->kind != KC_TYPE_STRUCT)
        return false;
    for (uint32_t i = 0; i < t->record->field_count; i++)
        if (t->record->is_union || has_array(t->record->fields[i].type))
            return true;
    return false;
}

void kc_emc_scan_stmt(kc_stmt* s, void* user)
{
    kc_fn_info* info = user;
    kc_stmt_walk_exprs(s, kc_emc_scan_expr, info);
    info->statements++;
    if (s->kind == KC_ST_DECLARE && (s->var->is_address_taken || has_array(s->var->type))) {
        const kc_var_plan* p = s->var->pass_data;
        if (!p || p->home != KC_HOME_ARRAY) /* scratch has an element for each work-item */
            info->has_private_memory = true;
    }
    if (s->kind == KC_ST_PRINTF)
        info->needs_launch = true;
    info->has_order |= s->kind == KC_ST_PRINTF || s->kind == KC_ST_ATOMIC || s->kind == KC_ST_FENCE;
    if (s->kind == KC_ST_CALL && s->callee->pass_data) {
        const kc_fn_info* callee = s->callee->pass_data;
        info->queries |= callee->queries;
        info->needs_launch |= callee->needs_launch;
        info->has_private_memory |= callee->has_private_memory;
        info->has_volatile |= callee->has_volatile;
        info->has_order |= callee->has_order;
        info->statements += callee->statements;
    }
}

void kc_emc_scan(kc_emc* em, kc_function* f)
{
    kc_fn_info* info = KC_NEW(em->m->arena, kc_fn_info);
    for (uint32_t i = 0; i < f->param_count; i++)
        info->has_private_memory |= f->params[i]->is_address_taken || has_array(f->params[i]->type);
    kc_block_walk(&f->body, kc_emc_scan_stmt, info);
    f->pass_data = info;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static const char* extra(kc_emc* em, const kc_fn_info* info, const char* prefix)
{
    const char* s = "";
    for (uint32_t q = 0; q < 8; q++)
        for (uint32_t d = 0; d < 3; d++)
            if (info->queries >> (3 * q + d) & 1)
                s = kc_format(em->m->arena, "%s%s%s%s", s, *s ? ", " : "",
                              q == KC_QUERY_WORK_DIM && *prefix ? "khal_uint " : prefix,
                              kc_emc_query_name((kc_query)q, d));
    if (info->needs_launch)
        s = kc_format(em->m->arena, "%s%s%s%s", s, *s ? ", " : "",
                      *prefix ? em->dialect->launch_type : "", em->dialect->launch);
    return s;
}

const char* kc_emc_extra_args(kc_emc* em, const kc_fn_info* callee)
{
    return extra(em, callee, "");
}

/* A __local variable is a pointer into scratch; an array's name, as in C, the address of its first
 * element. */
const char* kc_emc_local(kc_emc* em, kc_var* v, bool is_const)
{
    const char* name =
        kc_format(em->m->arena, "*%srestrict %s", is_const ? "const " : "", kc_emc_var(em, v));
    if (v->type->kind == KC_TYPE_ARRAY && v->type->element->kind == KC_TYPE_ARRAY)
        return kc_emc_declare(em, v->type->element, kc_format(em->m->arena, "(%s)", name), false);
    return kc_emc_declare(em, v->type->kind == KC_TYPE_ARRAY ? v->type->element : v->type, name,
                          false);
}

bool kc_emc_is_by_address(const kc_emc* em, const kc_var* v)
{
    return em->dialect->passes_structs_by_address && v->kind == KC_VAR_PARAM &&
           v->type->kind == KC_TYPE_STRUCT && v->function && v->function->is_kernel &&
           !v->is_written && !v->is_address_taken;
}

static const char* param_list(kc_emc* em, kc_function* f)
{
    const char* s = "";
    for (uint32_t i = 0; i < f->param_count; i++) {
        kc_var* v = f->params[i];
        const char* name = kc_emc_var(em, v);
        const bool by_address = kc_emc_is_by_address(em, v);
        if (kc_is_pointer(v->type) && v->type->is_restrict)
            name = kc_format(em->m->arena, "restrict %s", name);
        else if (by_address)
            name = kc_format(em->m->arena, "*restrict %s", name);
        s = kc_format(em->m->arena, "%s%s%s", s, i ? ", " : "",
                      kc_emc_declare(em, v->type, name, by_address));
    }
    for (uint32_t i = 0; i < f->local_count && em->dialect->passes_locals; i++)
        s = kc_format(em->m->arena, "%s%s%s", s, *s ? ", " : "",
                      kc_emc_local(em, f->locals[i], false));
    const char* more = extra(em, f->pass_data, "uint64_t ");
    const char* last = em->dialect->last_parameters ? em->dialect->last_parameters(em, f) : "";
    more = kc_format(em->m->arena, "%s%s%s", more, *more && *last ? ", " : "", last);
    return *s || *more ? kc_format(em->m->arena, "%s%s%s", s, *s && *more ? ", " : "", more)
                       : "void";
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

uint64_t kc_emc_local_layout(kc_function* f, uint64_t* offsets)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < f->local_count; i++) {
        if (offsets)
            offsets[i] = end;
        end = round_up(end + f->locals[i]->type->size, 128);
    }
    return end;
}

void kc_emc_kernel_params(kc_emc* em, kc_function* f, const khal_kernel_info* info)
{
    uint64_t* offsets = KC_NEW_ARRAY(em->m->arena, uint64_t, f->local_count + 1);
    const uint64_t fixed = kc_emc_local_layout(f, offsets);
    for (uint32_t i = 0; i < f->local_count; i++)
        kc_emc_line(em, "%s = (void*)((char*)khal_scratch + %llu);",
                    kc_emc_local(em, f->locals[i], true), (unsigned long long)offsets[i]);
    if (info->local_count)
        kc_emc_line(em, "char* khal_next_local = (char*)khal_scratch + %llu;",
                    (unsigned long long)fixed);
    for (uint32_t i = 0; i < f->param_count; i++) {
        kc_var* v = f->params[i];
        const khal_arg_info* arg = &info->args[i];
        const char* name = kc_emc_var(em, v);
        if (em->plan) {
            const kc_var_plan* p = v->pass_data;
            if (p->home == KC_HOME_ARRAY || p->assign_count) /* each group starts with it anew */
                name = kc_format(em->m->arena, "khal_arg%u", i);
        }
        if (arg->kind == KHAL_ARG_VALUE) {
            kc_emc_line(em, "%s;", kc_emc_declare(em, v->type, name, false));
            kc_emc_line(
                em,
                "__builtin_memcpy(&%s, (const char*)khal_launch->push_constants + %u, sizeof(%s));",
                name, arg->offset, name);
        } else if (arg->kind == KHAL_ARG_LOCAL) {
            kc_emc_line(em, "%s = (void*)khal_next_local;",
                        kc_emc_declare(em, v->type, name, false));
            kc_emc_line(em, "khal_next_local += (khal_launch->local_sizes[%u] + 127) & ~127ull;",
                        arg->index);
        } else {
            kc_emc_line(em, "%s = khal_launch->bindings[%u];",
                        kc_emc_declare(em, v->type, name, false), arg->index);
        }
    }
}

void kc_emc_query_constants(kc_emc* em, kc_function* f, uint32_t queries)
{
    static const struct {
        kc_query query;
        const char* field;
    } launch[] = {
        {KC_QUERY_GLOBAL_SIZE, "global_size"},
        {KC_QUERY_LOCAL_SIZE, "local_size"},
        {KC_QUERY_NUM_GROUPS, "group_count"},
    };
    if (queries >> (3 * KC_QUERY_WORK_DIM) & 1)
        kc_emc_line(em, "const khal_uint khal_dim = khal_launch->work_dim;");
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t d = 0; d < 3; d++) {
            if (!(queries >> (3 * launch[i].query + d) & 1))
                continue;
            const char* name = kc_emc_query_name(launch[i].query, d);
            if (launch[i].query == KC_QUERY_LOCAL_SIZE && f->workgroup_size[0])
                kc_emc_line(em, "const uint64_t %s = %u;", name, f->workgroup_size[d]);
            else
                kc_emc_line(em, "const uint64_t %s = khal_launch->%s[%u];", name, launch[i].field,
                            d);
        }
}

/* ---- functions ------------------------------------------------------------------------------- */

void kc_emc_begin(kc_emc* em, kc_function* f)
{
    kc_emc_names_clear(em);
    em->f = f;
    em->info = f->pass_data;
    em->scopes = NULL;
    em->indent = 1;
}

/* Back to the lines of the generated file; resolved when the text is put together. */
void kc_emc_own_lines(kc_emc* em)
{
    if (!em->m->omit_lines && em->line_text)
        kc_put(em->out, "\001\n");
    em->line_text = NULL;
}

void kc_emc_body(kc_emc* em, kc_function* f, const char* head)
{
    kc_emc_loc(em, f->loc);
    kc_putf(em->out, "%s(%s)\n{\n", head, param_list(em, f));
    if (em->dialect->put_head)
        em->dialect->put_head(em, f);
    kc_emc_block(em, &f->body);
    const kc_stmt* last = f->body.last;
    if (f->result->kind != KC_TYPE_VOID &&
        !(last && last->kind == KC_ST_RETURN)) /* the source's flow may reach the end */
        kc_emc_line(em, "return (%s){0};", kc_emc_type(em, f->result));
    kc_put(em->out, "}\n");
    kc_emc_own_lines(em);
    kc_put(em->out, "\n");
}

void kc_emc_helper(kc_emc* em, kc_function* f)
{
    kc_emc_begin(em, f);
    const bool small = em->info->statements <= INLINE_LIMIT;
    kc_emc_body(em, f,
             kc_format(em->m->arena, "%s %s KHAL_C_NAME(%s)",
                       small ? "KHAL_C_INLINE" : "KHAL_C_FUNCTION", kc_emc_type(em, f->result),
                       f->name));
}

static bool has_function(const kc_module* m, const char* name)
{
    for (const kc_function* f = m->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return true;
    return false;
}

const char* kc_emc_item(kc_emc* em, const kc_function* f)
{
    const char* name = kc_format(em->m->arena, "%s_item", f->name);
    while (has_function(em->m, name))
        name = kc_format(em->m->arena, "%s_", name);
    return kc_format(em->m->arena, "KHAL_C_NAME(%s)", name);
}

static const char* item_args(kc_emc* em, kc_function* f)
{
    const char* s = "";
    for (uint32_t i = 0; i < f->param_count; i++)
        s = kc_format(em->m->arena, "%s%s%s", s, *s ? ", " : "", kc_emc_var(em, f->params[i]));
    for (uint32_t i = 0; i < f->local_count; i++)
        s = kc_format(em->m->arena, "%s%s%s", s, *s ? ", " : "", kc_emc_var(em, f->locals[i]));
    const char* more = kc_emc_extra_args(em, f->pass_data);
    return kc_format(em->m->arena, "%s%s%s", s, *s && *more ? ", " : "", more);
}

static void emit_flat_kernel(kc_emc* em, kc_function* f, const khal_kernel_info* info)
{
    kc_emc_begin(em, f);
    const uint32_t queries = em->info->queries;
    kc_emc_body(em, f,
             kc_format(em->m->arena, "KHAL_C_INLINE void %s", kc_emc_item(em, f)));

    em->indent = 1;
    kc_putf(em->out,
            "static void KHAL_C_NAME(%s)(const khal_cpu_launch* khal_launch, uint64_t "
            "khal_first, uint64_t khal_last, "
            "void* khal_scratch)\n{\n",
            f->name);
    kc_emc_kernel_params(em, f, info);
    kc_emc_query_constants(em, f, queries);
    /* Rows of groups run as one, unless work-items know their group. */
    const bool by_group = f->local_count || info->local_count ||
                          (queries >> (3 * KC_QUERY_LOCAL_ID) & 7) ||
                          (queries >> (3 * KC_QUERY_GROUP_ID) & 7);
    const bool independent =
        !em->info->has_order && !em->info->has_private_memory && !em->info->has_volatile;
    kc_emc_line(em, "khal_cpu_block khal_b = khal_cpu_blocks(khal_first, khal_last);");
    kc_emc_line(em, "while (khal_cpu_next(&khal_b, khal_launch, %s)) {",
                by_group ? "1" : "UINT64_MAX");
    em->indent++;
    for (uint32_t d = 0; d < 3; d++)
        if (queries >> (3 * KC_QUERY_GROUP_ID + d) & 1)
            kc_emc_line(em, "const uint64_t %s = khal_b.group[%u];",
                        kc_emc_query_name(KC_QUERY_GROUP_ID, d), d);
    for (uint32_t d = 2; d > 0; d--) {
        const char* id = kc_emc_query_name(KC_QUERY_GLOBAL_ID, d);
        kc_emc_line(em, "for (uint64_t %s = khal_b.begin[%u]; %s < khal_b.end[%u]; %s++) {", id, d,
                    id, d, id);
        em->indent++;
        if (queries >> (3 * KC_QUERY_LOCAL_ID + d) & 1)
            kc_emc_line(em, "const uint64_t %s = %s - khal_b.begin[%u];",
                        kc_emc_query_name(KC_QUERY_LOCAL_ID, d), id, d);
    }
    const char* pragma = independent ? "KHAL_CPU_INDEPENDENT" : "";
    const char* call =
        kc_format(em->m->arena, "%s(%s)", kc_emc_item(em, f), item_args(em, f));
    if (by_group) {
        kc_emc_line(em, "KHAL_CPU_FOR_X(khal_local_x, 0, khal_b.end[0] - khal_b.begin[0], %s,",
                    pragma);
        kc_emc_line(em, "               const uint64_t khal_id_x = khal_b.begin[0] + khal_local_x; "
                        "(void)khal_id_x;");
    } else {
        kc_emc_line(em, "KHAL_CPU_FOR_X(khal_id_x, khal_b.begin[0], khal_b.end[0], %s,", pragma);
    }
    kc_emc_line(em, "               %s);", call);
    for (; em->indent > 0; em->indent--) {
        em->indent--;
        kc_emc_line(em, "}");
        em->indent++;
    }
    kc_put(em->out, "\n");
}

static void forget_stmt(kc_stmt* s, void* user)
{
    (void)user;
    s->pass_data = NULL;
    if (s->var)
        s->var->pass_data = NULL;
}

void kc_emc_forget(kc_function* f)
{
    kc_block_walk(&f->body, forget_stmt, NULL);
    f->pass_data = NULL;
    for (uint32_t i = 0; i < f->param_count; i++)
        f->params[i]->pass_data = NULL;
    for (uint32_t i = 0; i < f->local_count; i++)
        f->locals[i]->pass_data = NULL;
}

/* ---- the module ------------------------------------------------------------------------------ */

void kc_emc_includes(kc_emc* em, kc_text* out)
{
    if (em->uses_map || em->uses_integer || em->uses_convert || em->uses_half)
        kc_put(out, "#include <khal/c/map.h>\n");
    if (em->uses_math)
        kc_put(out, "#include <khal/c/math.h>\n");
    if (em->uses_integer)
        kc_put(out, "#include <khal/c/integer.h>\n");
    if (em->uses_relation)
        kc_put(out, "#include <khal/c/relation.h>\n");
    if (em->uses_convert || em->uses_half)
        kc_put(out, "#include <khal/c/convert.h>\n");
    if (em->uses_half)
        kc_put(out,
               "#if "
               "KHAL_C_HALF_BY_MACHINE\nKHAL_C_HALF_HARD\n#else\nKHAL_C_HALF_SOFT\n#endif\n");
    if (em->uses_atomic)
        kc_put(out, "#include <khal/c/atomic.h>\n");
    if (em->uses_print)
        kc_put(out, "#include <khal/cpu/print.h>\n");
}

/* Copies the functions' text, with the marks of kc_emc_own_lines resolved. */
static void put_functions(kc_emc* em, kc_text* out, const kc_text* text)
{
    uint32_t line = 1;
    for (size_t i = 0; i < out->size; i++)
        line += out->data[i] == '\n';
    size_t from = 0;
    for (size_t i = 0; i < text->size; i++) {
        line += text->data[i] == '\n';
        if (text->data[i] != '\001')
            continue;
        kc_putn(out, text->data + from, i - from);
        kc_putf(out, "#line %u \"%s.khal.c\"", line + 1, em->m->name);
        from = i + 1;
    }
    kc_putn(out, text->data + from, text->size - from);
}

static void put_fence(kc_emc* em, uint32_t fence)
{
    (void)fence;
    kc_emc_line(em, "__atomic_thread_fence(__ATOMIC_SEQ_CST);");
}

static const char* local_bytes(kc_emc* em, uint32_t index)
{
    return kc_format(em->m->arena, "khal_launch->local_sizes[%u]", index);
}

static const kc_dialect cpu = {
    .launch_type = "const khal_cpu_launch* ",
    .launch = "khal_launch",
    .pick = "khal_cpu_pick",
    .passes_locals = true,
    .put_fence = put_fence,
    .local_bytes = local_bytes,
};

void kc_emit_c(kc_text* out, kc_module* m)
{
    kc_pass_inline(m, KC_INLINE_BARRIERS);
    kc_pass_usage(m);
    khal_kernel_info* kernels = NULL;
    kc_reflect(m, &kernels);

    kc_text head = {0}, needs = {0}, text = {0}, table = {0};
    kc_emc em = {.m = m, .dialect = &cpu, .out = &text, .needs = &needs};
    kc_emc_records(&em, &head);
    kc_emc_constants(&em, &head);
    for (kc_function* f = m->functions; f; f = f->next)
        kc_emc_scan(&em, f);
    for (kc_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        if (!f->is_kernel) {
            if (!f->has_barrier) /* those with a barrier were inlined */
                kc_emc_helper(&em, f);
            continue;
        }
        if (f->has_barrier) {
            kc_emc_begin(&em, f);
            kc_emc_group_kernel(&em, f, kernels, &table);
            kc_emc_own_lines(&em);
        } else {
            emit_flat_kernel(&em, f, kernels);
            kc_putf(&table, "    {KHAL_C_NAME(%s), %llu, 0},\n", f->name,
                    (unsigned long long)kc_emc_local_layout(f, NULL));
        }
        kernels++;
    }
    kc_put(out, "KHAL_CPU_TEXT_BEGIN\n");
    kc_emc_includes(&em, out);
    kc_put(out, "\n");
    if (head.size)
        kc_putn(out, head.data, head.size);
    if (needs.size) {
        kc_putn(out, needs.data, needs.size);
        kc_put(out, "\n");
    }
    put_functions(&em, out, &text);
    kc_put(out, "static const khal_cpu_kernel KHAL_C_NAME(kernels)[] = {\n");
    kc_put(out, table.size ? table.data : "    {0, 0, 0},\n");
    kc_put(out, "};\nKHAL_CPU_TEXT_END\n");
    for (kc_function* f = m->functions; f; f = f->next)
        kc_emc_forget(f);
    kc_text_free(&head);
    kc_text_free(&needs);
    kc_text_free(&text);
    kc_text_free(&table);
}
