/* The C of emit_c*.c in another dress: a kernel's work-item function is compiled into one entry point whose blocks are the
 * work-groups, and one whose blocks walk over them. */
#include "emit_ptx.h"

#include <string.h>

#include "emit_c.h"
#include "lower.h"

/* Bytes that a kernel's parameters may take in the versions of PTX that old drivers know. */
#define PARAMETER_LIMIT 4352u
/* Bytes of shared memory that a kernel may have without asking, but for khal_returned. */
#define STATIC_LIMIT (48u * 1024 - 128)
/* Bytes of a module's constant memory, with room for what clang puts there. */
#define CONSTANT_LIMIT (60u * 1024)

typedef struct ptx {
    bool returns_early;     /* the kernel's work-items may return one by one before a barrier */
    uint64_t constant_size; /* of variables in constant memory */
} ptx;

/* ---- what is known of a kernel -------------------------------------------------------------------- */

/* A RETURN that some take and others don't, and then a barrier: later in the text, or in a loop around both. */
typedef struct returns {
    bool seen, found;
} returns;

static void look_for_return(kc_stmt* s, void* found)
{
    if (s->kind == KC_ST_RETURN && s->control == KC_UNIFORM_VARYING)
        *(bool*)found = true;
}

static bool has_varying_return(kc_block* b)
{
    bool found = false;
    kc_block_walk(b, look_for_return, &found);
    return found;
}

static void look_for_barrier(kc_stmt* s, void* user)
{
    returns* r = user;
    if (s->kind == KC_ST_RETURN && s->control == KC_UNIFORM_VARYING)
        r->seen = true;
    else if (s->kind == KC_ST_BARRIER)
        r->found |= r->seen;
    else if (s->kind == KC_ST_LOOP && s->has_barrier)
        r->found |= has_varying_return(&s->head) || has_varying_return(&s->body) || has_varying_return(&s->step);
}

static bool returns_early(kc_function* f)
{
    returns r = {0};
    kc_block_walk(&f->body, look_for_barrier, &r);
    return r.found;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static bool fits_parameters(kc_module* m, kc_function* f)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->param_count; i++) {
        const kc_type* t = f->params[i]->type;
        const bool is_pointer = kc_is_pointer(t);
        size = round_up(size, is_pointer ? 8 : t->align ? t->align : 1) + (is_pointer ? 8 : t->size);
    }
    size = round_up(size, 8) + sizeof(khal_ptx_grid);
    if (size <= PARAMETER_LIMIT)
        return true;
    kc_refuse(m, f, f->loc, KC_DIAG_TARGET_LIMIT, "the arguments take %llu bytes with khal's own; PTX has room for %u",
              (unsigned long long)size, PARAMETER_LIMIT);
    return false;
}

static const char axes[] = "xyz";

static bool asks(uint32_t queries, kc_query query, uint32_t d)
{
    return queries >> (3 * query + d) & 1;
}

/* ---- the dialect ----------------------------------------------------------------------------------- */

static const char* local_storage(kc_emc* em, uint32_t index)
{
    return kc_format(em->m->arena, "khal_local_%u", index);
}

static bool are_static(kc_function* f)
{
    return kc_emc_local_layout(f, NULL) <= STATIC_LIMIT;
}

/* A kernel's own __local variables: one of each, for both entry points. */
static void put_locals(kc_emc* em, kc_function* f)
{
    if (!f->local_count)
        return;
    uint64_t* offsets = KC_NEW_ARRAY(em->m->arena, uint64_t, f->local_count);
    kc_emc_local_layout(f, offsets);
    for (uint32_t i = 0; i < f->local_count; i++) {
        kc_var* v = f->locals[i];
        const char* name = local_storage(em, i);
        const char* at;
        if (are_static(f)) {
            const char* align = v->align > v->type->align
                                    ? kc_format(em->m->arena, " __attribute__((aligned(%llu)))", (unsigned long long)v->align)
                                    : "";
            kc_emc_line(em, "KHAL_PTX_LOCAL %s%s;", kc_emc_declare(em, v->type, name, false), align);
            at = kc_format(em->m->arena, "&%s", name);
        } else {
            at = kc_format(em->m->arena, "(khal_shared + %llu)", (unsigned long long)offsets[i]);
        }
        kc_emc_line(em, "%s = (void*)%s;", kc_emc_local(em, v, true), at);
    }
}

static void put_head(kc_emc* em, kc_function* f)
{
    if (f->is_kernel)
        put_locals(em, f);
    else
        for (uint32_t d = 0; d < 3; d++)
            if (asks(em->info->queries, KC_QUERY_GLOBAL_ID, d))
                kc_emc_line(em, "const uint32_t khal_low_id_%c = (uint32_t)khal_id_%c;", axes[d], axes[d]);
}

static void put_barrier(kc_emc* em)
{
    const ptx* p = em->user;
    kc_emc_line(em, p->returns_early ? "khal_ptx_barrier_of_some(khal_walks);" : "khal_ptx_barrier();");
}

static void put_fence(kc_emc* em, uint32_t fence)
{
    kc_emc_line(em, "khal_ptx_fence_%s();", fence & KC_FENCE_GLOBAL ? "global" : "local");
}

static const char* local_bytes(kc_emc* em, uint32_t index)
{
    return kc_format(em->m->arena, "khal_bytes[%u]", index);
}

/* Constant memory is reached by name alone: a pointer to it would be none to what arguments point to. */
static const char* constant_space(kc_emc* em, const kc_var* v)
{
    ptx* p = em->user;
    const kc_type* element = v->type;
    while (element->kind == KC_TYPE_ARRAY)
        element = element->element;
    const uint64_t end = round_up(p->constant_size, v->align > v->type->align ? v->align : v->type->align) + v->type->size;
    if (v->is_address_taken || v->pass_data || kc_is_pointer(element) || end > CONSTANT_LIMIT)
        return "";
    p->constant_size = end;
    return "KHAL_PTX_CONSTANT ";
}

/* A work-item's function has the low halves of global ids by themselves, for what is known to have 64 bits LLVM computes
 * with 64. */
static const char* last_parameters(const kc_emc* em, const kc_function* f)
{
    const char* s = "";
    for (uint32_t d = 0; f->is_kernel && d < 3; d++)
        if (asks(em->info->queries, KC_QUERY_GLOBAL_ID, d))
            s = kc_format(em->m->arena, "%s%suint32_t khal_low_id_%c", s, *s ? ", " : "", axes[d]);
    if (f->is_kernel && ((const ptx*)em->user)->returns_early)
        s = kc_format(em->m->arena, "%s%sconst bool khal_walks", s, *s ? ", " : "");
    return s;
}

static const kc_dialect dialect = {
    .launch_type = "const uint64_t* ",
    .launch = "khal_bytes",
    .compare_shorts = "KHAL_PTX_COMPARE",
    .is_by_lane = true,
    .pick = "khal_ptx_pick",
    .passes_structs_by_address = true,
    .low_id = "khal_low_id",
    .last_parameters = last_parameters,
    .put_head = put_head,
    .put_barrier = put_barrier,
    .put_fence = put_fence,
    .local_bytes = local_bytes,
    .constant_space = constant_space,
};

/* An array that is copied as a whole is copied through a pointer. */
static void mark_copied(kc_expr** slot, void* user)
{
    (void)user;
    if ((*slot)->kind != KC_EX_LOAD || (*slot)->type->kind != KC_TYPE_ARRAY)
        return;
    kc_var* v = kc_place_root((*slot)->args[0]);
    if (v && v->kind == KC_VAR_CONSTANT)
        v->pass_data = v;
}

static void mark_copied_in(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, mark_copied, user);
}

/* ---- entry points ---------------------------------------------------------------------------------- */

static const char* parameter_list(kc_emc* em, kc_function* f, const khal_kernel_info* info)
{
    const char* s = "";
    for (uint32_t i = 0; i < f->param_count; i++) {
        const kc_type* t = f->params[i]->type;
        const char* name = kc_format(em->m->arena, "%skhal_arg%u", kc_is_pointer(t) && t->is_restrict ? "restrict " : "", i);
        s = kc_format(em->m->arena, "%s%s, ", s,
                      info->args[i].kind == KHAL_ARG_LOCAL ? kc_format(em->m->arena, "uint64_t khal_arg%u", i)
                                                           : kc_emc_declare(em, t, name, false));
    }
    return s;
}

static const char* argument_list(kc_emc* em, kc_function* f, const khal_kernel_info* info, bool walks)
{
    const char* s = "";
    for (uint32_t i = 0; i < f->param_count; i++) {
        const char* format = info->args[i].kind == KHAL_ARG_LOCAL         ? "khal_ptx_local(khal_arg%u)"
                             : kc_emc_is_by_address(em, f->params[i]) ? "&khal_arg%u"
                                                                      : "khal_arg%u";
        const char* argument = kc_format(em->m->arena, format, i);
        s = kc_format(em->m->arena, "%s%s%s", s, i ? ", " : "", argument);
    }
    const char* more = kc_emc_extra_args(em, f->pass_data);
    s = kc_format(em->m->arena, "%s%s%s", s, *s && *more ? ", " : "", more);
    for (uint32_t d = 0; d < 3; d++)
        if (asks(em->info->queries, KC_QUERY_GLOBAL_ID, d))
            s = kc_format(em->m->arena, "%s, khal_low_id_%c", s, axes[d]);
    if (!((const ptx*)em->user)->returns_early)
        return s;
    return kc_format(em->m->arena, "%s%s%s", s, *s ? ", " : "", walks ? "true" : "false");
}

static const char* local_size(kc_emc* em, const kc_function* f, uint32_t d)
{
    return f->workgroup_size[0] ? kc_format(em->m->arena, "%uu", f->workgroup_size[d])
                                : kc_format(em->m->arena, "khal_ptx_size_%c()", axes[d]);
}

static void put_walk_queries(kc_emc* em, kc_function* f, uint32_t queries, uint32_t d, const char* item)
{
    const char c = axes[d];
    const char* size = local_size(em, f, d);
    if (asks(queries, KC_QUERY_NUM_GROUPS, d))
        kc_emc_line(em, "const uint64_t khal_groups_%c = khal_ptx_groups(&khal_w, %c);", c, c);
    if (asks(queries, KC_QUERY_GLOBAL_SIZE, d))
        kc_emc_line(em, "const uint64_t khal_size_%c = khal_launch.counts ? khal_ptx_groups(&khal_w, %c) * %s : "
                        "khal_launch.global_size[%u];",
                    c, c, size, d);
    if (asks(queries, KC_QUERY_GROUP_ID, d))
        kc_emc_line(em, "const uint64_t khal_group_%c = khal_g.%c;", c, c);
    if (asks(queries, KC_QUERY_GLOBAL_ID, d)) {
        kc_emc_line(em, "const uint64_t khal_id_%c = khal_g.%c * %s + %s;", c, c, size, item);
        kc_emc_line(em, "const uint32_t khal_low_id_%c = (uint32_t)khal_g.%c * %s + %s;", c, c, size, item);
    }
}

static void put_plain_queries(kc_emc* em, kc_function* f, uint32_t queries, uint32_t d, const char* item)
{
    const char c = axes[d];
    const char* size = local_size(em, f, d);
    if (asks(queries, KC_QUERY_NUM_GROUPS, d))
        kc_emc_line(em, "const uint64_t khal_groups_%c = khal_ptx_blocks_%c();", c, c);
    if (asks(queries, KC_QUERY_GLOBAL_SIZE, d))
        kc_emc_line(em, "const uint64_t khal_size_%c = khal_launch.global_size[%u];", c, d);
    if (asks(queries, KC_QUERY_GROUP_ID, d))
        kc_emc_line(em, "const uint64_t khal_group_%c = khal_ptx_block_%c();", c, c);
    if (asks(queries, KC_QUERY_GLOBAL_ID, d)) {
        kc_emc_line(em, "const uint64_t khal_id_%c = (uint64_t)khal_ptx_block_%c() * %s + %s;", c, c, size, item);
        kc_emc_line(em, "const uint32_t khal_low_id_%c = khal_ptx_block_%c() * %s + %s;", c, c, size, item);
    }
}

/* The answers to the queries, for one group. */
static void put_queries(kc_emc* em, kc_function* f, uint32_t queries, bool walks)
{
    if (asks(queries, KC_QUERY_WORK_DIM, 0))
        kc_emc_line(em, walks ? "const khal_uint khal_dim = khal_launch.counts ? 3 : khal_launch.work_dim;"
                              : "const khal_uint khal_dim = khal_launch.work_dim;");
    for (uint32_t d = 0; d < 3; d++) {
        const char* item = f->workgroup_size[0] && f->workgroup_size[d] == 1
                               ? "0"
                               : kc_format(em->m->arena, "khal_ptx_item_%c()", axes[d]);
        if (asks(queries, KC_QUERY_LOCAL_SIZE, d))
            kc_emc_line(em, "const uint64_t khal_local_size_%c = %s;", axes[d], local_size(em, f, d));
        if (asks(queries, KC_QUERY_LOCAL_ID, d))
            kc_emc_line(em, "const uint64_t khal_local_%c = %s;", axes[d], item);
        if (walks)
            put_walk_queries(em, f, queries, d, item);
        else
            put_plain_queries(em, f, queries, d, item);
    }
}

static void put_bytes(kc_emc* em, const khal_kernel_info* info)
{
    if (!em->info->needs_launch)
        return;
    const char* list = "";
    for (uint32_t i = 0; i < info->arg_count; i++)
        if (info->args[i].kind == KHAL_ARG_LOCAL)
            list = kc_format(em->m->arena, "%s%skhal_ptx_local_bytes(khal_arg%u)", list, *list ? ", " : "", i);
    kc_emc_line(em, "const uint64_t khal_bytes[] = {%s};", list);
}

static void begin_entry(kc_emc* em, kc_function* f, const khal_kernel_info* info, const char* symbol, const char* label,
                        const char* launch)
{
    const char* head = kc_format(em->m->arena, "KHAL_PTX_ENTRY void %s(%sconst %s khal_launch)", symbol,
                                 parameter_list(em, f, info), launch);
    kc_putf(em->out, "%s __asm__(\"%s\");\n%s\n{\n", head, label, head);
    put_bytes(em, info);
}

static const char* local_sizes(kc_emc* em, const kc_function* f)
{
    return kc_format(em->m->arena, "%s, %s, %s", local_size(em, f, 0), local_size(em, f, 1), local_size(em, f, 2));
}

static void put_plain(kc_emc* em, kc_function* f, const khal_kernel_info* info, uint32_t index, const char* label)
{
    begin_entry(em, f, info, kc_format(em->m->arena, "khal_ptx_run_%u", index), label, "khal_ptx_plain");
    if (!f->has_barrier) { /* else whole groups run */
        kc_emc_line(em, "if (khal_ptx_is_surplus(&khal_launch, %s))", local_sizes(em, f));
        kc_emc_line(em, "    return;");
    }
    put_queries(em, f, em->info->queries, false);
    kc_emc_line(em, "%s(%s);", kc_emc_item(em, f), argument_list(em, f, info, false));
    kc_put(em->out, "}\n\n");
}

static void put_grid(kc_emc* em, kc_function* f, const khal_kernel_info* info, uint32_t index, const char* label)
{
    begin_entry(em, f, info, kc_format(em->m->arena, "khal_ptx_walk_%u", index), label, "khal_ptx_grid");
    const bool returns_early = ((const ptx*)em->user)->returns_early;
    if (returns_early)
        kc_emc_line(em, "KHAL_PTX_LOCAL uint32_t khal_returned;");
    kc_emc_line(em, "khal_ptx_large khal_l;");
    kc_emc_line(em, "khal_ptx_walk khal_w;");
    kc_emc_line(em, "khal_ptx_start(&khal_w, (KHAL_PTX_STACK khal_ptx_large*)&khal_l, &khal_launch);");
    kc_emc_line(em, "for (; khal_ptx_has_group(&khal_w); khal_ptx_step(&khal_w)) {");
    em->indent++;
    if (returns_early)
        kc_emc_line(em, "khal_ptx_gather(&khal_returned);");
    kc_emc_line(em, "const khal_ptx_group khal_g = khal_ptx_here(&khal_w);");
    if (!f->has_barrier) {
        kc_emc_line(em, "if (!khal_ptx_is_beyond(&khal_launch, &khal_g, %s)) {", local_sizes(em, f));
        em->indent++;
    }
    put_queries(em, f, em->info->queries, true);
    kc_emc_line(em, "%s(%s);", kc_emc_item(em, f), argument_list(em, f, info, true));
    if (!f->has_barrier) {
        em->indent--;
        kc_emc_line(em, "}");
    }
    const bool shares = f->has_barrier || f->local_count || info->local_count;
    if (returns_early)
        kc_emc_line(em, "khal_ptx_part(&khal_returned, %s * %s * %s);", local_size(em, f, 0), local_size(em, f, 1),
                    local_size(em, f, 2));
    else if (shares) /* the next group has the same memory */
        kc_emc_line(em, "khal_ptx_barrier();");
    em->indent = 1;
    kc_emc_line(em, "}");
    kc_put(em->out, "}\n\n");
}

/* What PTX takes as a name, and is no entry point of another kernel. */
static const char* entry_name(kc_emc* em, const kc_function* f, uint32_t index)
{
    for (const char* p = f->name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_'))
            return kc_format(em->m->arena, "khal_kernel_%u", index);
    return strncmp(f->name, "khal_", 5) == 0 ? kc_format(em->m->arena, "khal_kernel_%u", index) : f->name;
}

static void put_kernel(kc_emc* em, kc_function* f, const khal_kernel_info* info, uint32_t index, khal_ptx_kernel* out)
{
    ptx* p = em->user;
    kc_emc_begin(em, f);
    p->returns_early = f->has_barrier && returns_early(f);
    kc_emc_body(em, f, kc_format(em->m->arena, "KHAL_C_INLINE void %s", kc_emc_item(em, f)));
    em->indent = 1;
    const char* name = entry_name(em, f, index);
    out->entry = name;
    out->grid_entry = kc_format(em->m->arena, "%s$grid", name);
    out->dynamic_size = are_static(f) ? 0 : (uint32_t)kc_emc_local_layout(f, NULL);
    put_plain(em, f, info, index, out->entry);
    put_grid(em, f, info, index, out->grid_entry);
}

/* ---- the module ------------------------------------------------------------------------------------ */

static void refuse_parameters(kc_module* m)
{
    for (kc_function* f = m->functions; f; f = f->next)
        if (f->is_kernel)
            fits_parameters(m, f);
    kc_drop_refused(m);
}

static int32_t index_of(uint32_t count, const khal_kernel_info* kernels, const kc_function* f)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(kernels[i].name, f->name) == 0)
            return (int32_t)i;
    return -1;
}

void kc_emit_ptx(kc_text* out, kc_module* m, uint32_t kernel_count, const khal_kernel_info* kernels,
                 khal_ptx_kernel* out_kernels)
{
    refuse_parameters(m);
    kc_pass_inline(m, KC_INLINE_BARRIERS);
    kc_pass_uniformity(m);
    m->omit_lines = true;

    ptx p = {0};
    kc_text head = {0}, needs = {0}, text = {0};
    kc_emc em = {.m = m, .dialect = &dialect, .user = &p, .out = &text, .needs = &needs};
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, mark_copied_in, NULL);
    kc_emc_records(&em, &head);
    kc_emc_constants(&em, &head);
    for (uint32_t i = 0; i < m->constant_count; i++)
        m->constants[i]->pass_data = NULL;
    for (kc_function* f = m->functions; f; f = f->next)
        kc_emc_scan(&em, f);
    for (kc_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        const int32_t i = f->is_kernel ? index_of(kernel_count, kernels, f) : -1;
        if (i >= 0)
            put_kernel(&em, f, &kernels[i], (uint32_t)i, &out_kernels[i]);
        else if (!f->has_barrier)
            kc_emc_helper(&em, f);
    }
    kc_put(out, "#include <khal/ptx.h>\n");
    kc_emc_includes(&em, out);
    /* in what the kernel's author wrote, but not in functions that count on how each operation rounds */
    kc_put(out, "#pragma clang fp contract(fast)\n\n");
    kc_putn(out, head.data ? head.data : "", head.size);
    kc_putn(out, needs.data ? needs.data : "", needs.size);
    kc_put(out, needs.size ? "\n" : "");
    kc_putn(out, text.data ? text.data : "", text.size);
    for (kc_function* f = m->functions; f; f = f->next)
        kc_emc_forget(f);
    kc_text_free(&head);
    kc_text_free(&needs);
    kc_text_free(&text);
}
