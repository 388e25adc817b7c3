#include "emit.h"

#include <inttypes.h>
#include <string.h>

typedef struct level {
    const char* suffix; /* as cpu.h wants it */
    const char* condition;
    const char *begin, *end;
    const char* id;
} level;

static const level levels[] = {
    {"base", NULL, NULL, NULL, "KHAL_CPU_LEVEL_BASE"},
    {"v3", "KHAL_CPU_HAVE_X86_V3", "KHAL_CPU_TARGET_V3_BEGIN", "KHAL_CPU_TARGET_V3_END",
     "KHAL_CPU_LEVEL_X86_V3"},
    {"v4", "KHAL_CPU_HAVE_X86_V4", "KHAL_CPU_TARGET_V4_BEGIN", "KHAL_CPU_TARGET_V4_END",
     "KHAL_CPU_LEVEL_X86_V4"},
};
#define LEVEL_COUNT (sizeof levels / sizeof levels[0])

/* The inside of a C string literal. */
static void put_escaped(kc_text* out, const char* s, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\' || c == '?')
            kc_putf(out, "\\%c", c);
        else if (c < 32 || c > 126)
            kc_putf(out, "\\%03o", c);
        else
            kc_putn(out, s + i, 1);
    }
}

/* A C string literal; any byte may be in a name of the source's. */
static void put_string(kc_text* out, const char* s)
{
    kc_put(out, "\"");
    put_escaped(out, s, strlen(s));
    kc_put(out, "\"");
}

static const char* kind_name(uint32_t kind)
{
    switch (kind) {
    case KHAL_ARG_BUFFER: return "KHAL_ARG_BUFFER";
    case KHAL_ARG_CONSTANT: return "KHAL_ARG_CONSTANT";
    case KHAL_ARG_LOCAL: return "KHAL_ARG_LOCAL";
    default: return "KHAL_ARG_VALUE";
    }
}

static void put_args(kc_text* out, const khal_kernel_info* k)
{
    if (!k->arg_count)
        return;
    kc_putf(out, "static const khal_arg_info khal_args_of_%s[] = {\n", k->name);
    for (uint32_t i = 0; i < k->arg_count; i++) {
        const khal_arg_info* a = &k->args[i];
        kc_put(out, "    {.name = ");
        put_string(out, a->name);
        kc_put(out, ", .type_name = ");
        put_string(out, a->type_name);
        kc_putf(out, ", .kind = %s", kind_name(a->kind));
        if (a->access)
            kc_putf(out, ", .access = %s%s%s",
                    a->access & KHAL_ACCESS_READ ? "KHAL_ACCESS_READ" : "",
                    a->access == (KHAL_ACCESS_READ | KHAL_ACCESS_WRITE) ? " | " : "",
                    a->access & KHAL_ACCESS_WRITE ? "KHAL_ACCESS_WRITE" : "");
        if (a->index)
            kc_putf(out, ", .index = %u", a->index);
        kc_putf(out, ", .element_size = %u, .element_align = %u", a->element_size,
                a->element_align);
        if (a->offset)
            kc_putf(out, ", .offset = %u", a->offset);
        kc_put(out, "},\n");
    }
    kc_put(out, "};\n");
}

typedef struct flag_name {
    uint32_t flag;
    const char* name;
} flag_name;

static void put_flags(kc_text* out, uint32_t flags, const flag_name* names, size_t count)
{
    const char* separator = "";
    for (size_t i = 0; i < count; i++)
        if (flags & names[i].flag) {
            kc_putf(out, "%s%s", separator, names[i].name);
            separator = " | ";
        }
    if (!*separator)
        kc_put(out, "0");
}

static void put_kernel_info(kc_text* out, const khal_kernel_info* k)
{
    static const flag_name flags[] = {
        {KHAL_KERNEL_HAS_BARRIER, "KHAL_KERNEL_HAS_BARRIER"},
        {KHAL_KERNEL_HAS_PRINTF, "KHAL_KERNEL_HAS_PRINTF"},
        {KHAL_KERNEL_HAS_ATOMICS, "KHAL_KERNEL_HAS_ATOMICS"},
        {KHAL_KERNEL_HAS_FP64, "KHAL_KERNEL_HAS_FP64"},
    };
    kc_put(out, "    {.name = ");
    put_string(out, k->name);
    if (k->arg_count)
        kc_putf(out, ", .args = khal_args_of_%s", k->name);
    kc_putf(out,
            ", .arg_count = %u, .binding_count = %u, .local_count = %u, .push_constant_size = %u,\n"
            "     .workgroup_size = {%u, %u, %u}, .local_memory_size = %u, .flags = ",
            k->arg_count, k->binding_count, k->local_count, k->push_constant_size,
            k->workgroup_size[0], k->workgroup_size[1], k->workgroup_size[2], k->local_memory_size);
    put_flags(out, k->flags, flags, sizeof flags / sizeof flags[0]);
    kc_put(out, "},\n");
}

/* Compilers need take no more than 4,095 characters in a literal; all take these. */
#define OVERLENGTH_BEGIN                                                                           \
    "#ifdef __GNUC__\n"                                                                            \
    "#pragma GCC diagnostic push\n"                                                                \
    "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"                                    \
    "#endif\n"
#define OVERLENGTH_END "#ifdef __GNUC__\n#pragma GCC diagnostic pop\n#endif\n\n"

/* ---- WGSL ------------------------------------------------------------------------------------ */

/* A text that is longer is no string literal that every compiler takes; as numbers it is six times as much to read. */
#define LITERAL_LIMIT 60000u

static void put_text(kc_text* out, const char* prefix, uint32_t index, const char* text, size_t limit)
{
    kc_putf(out, "static const char %s_%u[] =", prefix, index);
    if (strlen(text) > limit) {
        kc_put(out, " {");
        for (size_t i = 0; text[i]; i++)
            kc_putf(out, "%s%d,", i % 32 ? "" : "\n    ", text[i]);
        kc_put(out, "\n    0};\n");
        return;
    }
    if (!*text)
        kc_put(out, " \"\"");
    for (const char* line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        kc_put(out, "\n    \"");
        put_escaped(out, line, n);
        kc_put(out, line[n] ? "\\n\"" : "\"");
        line += n + (line[n] != 0);
    }
    kc_put(out, ";\n");
}

static void put_wgsl_lists(kc_text* out, const khal_kernel_info* k, const khal_wgsl_kernel* w,
                           uint32_t index)
{
    if (k->binding_count) {
        kc_putf(out, "static const char* const khal_wgsl_names_%u[] = {", index);
        for (uint32_t i = 0; i < k->binding_count; i++)
            kc_putf(out, "%s\"%s\"", i ? ", " : "", w->names[i]);
        kc_put(out, "};\n");
    }
    if (k->local_count) {
        kc_putf(out, "static const uint32_t khal_wgsl_strides_%u[] = {", index);
        for (uint32_t i = 0; i < k->local_count; i++)
            kc_putf(out, "%s%u", i ? ", " : "", w->local_strides[i]);
        kc_put(out, "};\n");
    }
}

static void put_wgsl_entry(kc_text* out, const khal_kernel_info* k, const khal_wgsl_kernel* w,
                           uint32_t index)
{
    if (!w->source) {
        kc_put(out, "    {.reason = ");
        put_string(out, w->reason ? w->reason : "");
        kc_put(out, "},\n");
        return;
    }
    static const flag_name flags[] = {
        {KHAL_WGSL_USES_FMA, "KHAL_WGSL_USES_FMA"},
        {KHAL_WGSL_USES_SQRT, "KHAL_WGSL_USES_SQRT"},
        {KHAL_WGSL_USES_ATOMICS, "KHAL_WGSL_USES_ATOMICS"},
    };
    kc_putf(out, "    {.source = khal_wgsl_source_%u, .entry = \"%s\"", index, w->entry);
    if (w->shared_source)
        kc_putf(out, ", .shared_source = khal_wgsl_shared_%u", index);
    if (k->binding_count)
        kc_putf(out, ", .names = khal_wgsl_names_%u", index);
    if (k->local_count)
        kc_putf(out, ", .local_strides = khal_wgsl_strides_%u", index);
    kc_putf(out, ", .block_size = %u, .flags = ", w->block_size);
    put_flags(out, w->flags, flags, sizeof flags / sizeof flags[0]);
    kc_put(out, "},\n");
}

static void put_wgsl(kc_text* out, uint32_t kernel_count, const khal_kernel_info* kernels,
                     const khal_wgsl_kernel* wgsl)
{
    kc_put(out, OVERLENGTH_BEGIN);
    for (uint32_t i = 0; i < kernel_count; i++) {
        if (!wgsl[i].source)
            continue;
        put_text(out, "khal_wgsl_source", i, wgsl[i].source, LITERAL_LIMIT);
        if (wgsl[i].shared_source)
            put_text(out, "khal_wgsl_shared", i, wgsl[i].shared_source, LITERAL_LIMIT);
        put_wgsl_lists(out, &kernels[i], &wgsl[i], i);
    }
    kc_put(out, OVERLENGTH_END "static const khal_wgsl_kernel khal_wgsl_kernels[] = {\n");
    for (uint32_t i = 0; i < kernel_count; i++)
        put_wgsl_entry(out, &kernels[i], &wgsl[i], i);
    kc_put(out, "};\n\n");
}

/* ---- PTX ------------------------------------------------------------------------------------- */

static void put_ptx(kc_text* out, uint32_t kernel_count, const kc_ptx_library* ptx)
{
    kc_put(out, OVERLENGTH_BEGIN);
    for (uint32_t i = 0; i < ptx->code_count; i++)
        put_text(out, "khal_ptx", ptx->capabilities[i], ptx->texts[i], SIZE_MAX); /* of megabytes; GNU compilers take it */
    kc_put(out, OVERLENGTH_END "static const khal_ptx_kernel khal_ptx_kernels[] = {\n");
    for (uint32_t i = 0; i < kernel_count; i++) {
        const khal_ptx_kernel* k = &ptx->kernels[i];
        if (k->entry) {
            kc_putf(out, "    {.entry = \"%s\", .grid_entry = \"%s\"", k->entry, k->grid_entry);
            if (k->dynamic_size)
                kc_putf(out, ", .dynamic_size = %u", k->dynamic_size);
        } else {
            kc_put(out, "    {.reason = ");
            put_string(out, k->reason);
        }
        kc_put(out, "},\n");
    }
    kc_put(out, "};\n\n");
}

static void put_ptx_codes(kc_text* out, const kc_ptx_library* ptx)
{
    for (uint32_t i = 0; i < ptx->code_count; i++) {
        const uint32_t c = ptx->capabilities[i];
        kc_putf(out,
                "    {.format = KHAL_FORMAT_PTX, .level = %u, .abi = KHAL_PTX_ABI, .bytes = "
                "khal_ptx_%u, .size = sizeof khal_ptx_%u,\n     .ptx_kernels = khal_ptx_kernels},\n",
                c, c, c);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_cpu_codes(kc_text* out)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (levels[i].condition)
            kc_putf(out, "#if %s\n", levels[i].condition);
        kc_putf(out,
                "    {.format = KHAL_FORMAT_CPU, .level = %s, .abi = KHAL_CPU_ABI, .cpu_kernels = "
                "khal_cpu_kernels_%s},\n",
                levels[i].id, levels[i].suffix);
        if (levels[i].condition)
            kc_put(out, "#endif\n");
    }
}

static void put_tables(kc_text* out, const kc_module* m, uint32_t kernel_count,
                       const khal_kernel_info* kernels, const kc_library_options* options)
{
    kc_put(out, "static const khal_code khal_codes[] = {\n");
    if (options->has_cpu)
        put_cpu_codes(out);
    if (options->wgsl)
        kc_put(out, "    {.format = KHAL_FORMAT_WGSL, .abi = KHAL_WGSL_ABI, .wgsl_kernels = "
                    "khal_wgsl_kernels},\n");
    if (options->ptx)
        put_ptx_codes(out, options->ptx);
    kc_put(out, "};\n\n");
    for (uint32_t i = 0; i < kernel_count; i++)
        put_args(out, &kernels[i]);
    kc_put(out, "\nstatic const khal_kernel_info khal_infos[] = {\n");
    for (uint32_t i = 0; i < kernel_count; i++)
        put_kernel_info(out, &kernels[i]);
    kc_putf(out,
            "};\n\n"
            "const khal_kernel_library %s_library = {\n"
            "    .version = KHAL_LIBRARY_VERSION,\n"
            "    .kernel_count = %u,\n"
            "    .code_count = sizeof khal_codes / sizeof khal_codes[0],\n"
            "    .name = \"%s\",\n"
            "    .kernels = khal_infos,\n"
            "    .codes = khal_codes,\n"
            "};\n\n",
            m->name, kernel_count, m->name);
}

static void put_handle_functions(kc_text* out, const char* n)
{
    kc_putf(out,
            "khal_status %s_load_at(const char* file, int line, khal_device* device, struct %s** "
            "out_k)\n"
            "{\n"
            "    khal_kernels* k = NULL;\n"
            "    const khal_status status = khal_kernels_load_at(file, line, device, &%s_library, "
            "out_k ? &k : NULL);\n"
            "    if (status == KHAL_OK)\n"
            "        *out_k = (struct %s*)k;\n"
            "    return status;\n"
            "}\n\n"
            "khal_status %s_load_begin(khal_device* device, struct %s** out_k)\n"
            "{\n"
            "    khal_kernels* k = NULL;\n"
            "    const khal_status status = khal_kernels_load_begin(device, &%s_library, out_k ? "
            "&k : NULL);\n"
            "    if (status == KHAL_OK)\n"
            "        *out_k = (struct %s*)k;\n"
            "    return status;\n"
            "}\n\n",
            n, n, n, n, n, n, n, n);
    kc_putf(out,
            "khal_status %s_load_poll(struct %s* k)\n{\n    return "
            "khal_kernels_load_poll((khal_kernels*)k);\n}\n\n"
            "void %s_retain(struct %s* k)\n{\n    khal_kernels_retain((khal_kernels*)k);\n}\n\n"
            "void %s_release(struct %s* k)\n{\n    khal_kernels_release((khal_kernels*)k);\n}\n\n",
            n, n, n, n, n, n);
}

static void put_launcher(kc_text* out, kc_module* m, const kc_function* f,
                         const khal_kernel_info* kernel, uint32_t index)
{
    const char* n = m->name;
    kc_putf(out,
            "khal_function* %s_%s_function(const struct %s* k)\n"
            "{\n"
            "    return khal_kernels_get_function((const khal_kernels*)k, %u);\n"
            "}\n\n"
            "khal_status %s_%s(const struct %s* k, khal_pass* pass, khal_grid grid,\n"
            "    const struct %s_%s_args* args)\n"
            "{\n",
            n, f->name, n, index, n, f->name, n, n, f->name);
    if (kernel->arg_count)
        kc_put(out, "    if (!args)\n        return khal_pass_dispatch(pass, NULL, NULL);\n");
    else
        kc_put(out, "    (void)args;\n");
    kc_put(out, "    khal_dispatch_desc desc = {0};\n");
    kc_putf(out, "    desc.function = %s_%s_function(k);\n    desc.grid = grid;\n", n, f->name);
    if (kernel->binding_count) {
        kc_putf(out, "    khal_slice bindings[%u];\n", kernel->binding_count);
        for (uint32_t i = 0; i < kernel->arg_count; i++)
            if (kernel->args[i].kind == KHAL_ARG_BUFFER ||
                kernel->args[i].kind == KHAL_ARG_CONSTANT)
                kc_putf(out, "    bindings[%u] = args->%s.slice;\n", kernel->args[i].index,
                        kc_member_name(m, f->params[i]->name, i));
        kc_putf(out, "    desc.bindings = bindings;\n    desc.binding_count = %u;\n",
                kernel->binding_count);
    }
    if (kernel->push_constant_size) {
        kc_putf(out, "    unsigned char values[%u] = {0};\n", kernel->push_constant_size);
        for (uint32_t i = 0; i < kernel->arg_count; i++) {
            const khal_arg_info* a = &kernel->args[i];
            if (a->kind != KHAL_ARG_VALUE)
                continue;
            const char* member = kc_member_name(m, f->params[i]->name, i);
            kc_putf(
                out,
                "    KHAL_STATIC_ASSERT(sizeof args->%s == %u, \"as large as in the kernel\");\n"
                "    memcpy(values + %u, &args->%s, sizeof args->%s);\n",
                member, a->element_size, a->offset, member, member);
        }
        kc_putf(out, "    desc.push_constants = values;\n    desc.push_constant_size = %u;\n",
                kernel->push_constant_size);
    }
    if (kernel->local_count) {
        kc_putf(out, "    uint64_t local_sizes[%u];\n", kernel->local_count);
        for (uint32_t i = 0; i < kernel->arg_count; i++) {
            const khal_arg_info* a = &kernel->args[i];
            if (a->kind != KHAL_ARG_LOCAL)
                continue;
            const char* member =
                kc_format(m->arena, "%s_count", kc_member_name(m, f->params[i]->name, i));
            kc_putf(out,
                    "    local_sizes[%u] = args->%s <= UINT64_MAX / %uu ? args->%s * %uu : "
                    "UINT64_MAX;\n",
                    a->index, member, a->element_size ? a->element_size : 1, member,
                    a->element_size);
        }
        kc_putf(out, "    desc.local_sizes = local_sizes;\n    desc.local_count = %u;\n",
                kernel->local_count);
    }
    kc_put(out, "    return khal_pass_dispatch(pass, &desc, NULL);\n}\n\n");
}

/* What includes the file itself again, for each SIMD level. */
static void put_levels(kc_text* out, const char* self)
{
    kc_put(out, "#include <khal/cpu.h>\n\n");
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        const level* l = &levels[i];
        if (l->condition)
            kc_putf(out, "#if %s\n%s\n", l->condition, l->begin);
        kc_putf(
            out,
            "#define KHAL_C_NAME(x) khal_cpu_##x##_%s\n#include \"%s\"\n#undef KHAL_C_NAME\n",
            l->suffix, self);
        if (l->condition)
            kc_putf(out, "%s\n#endif\n", l->end);
    }
    kc_put(out, "\n");
}

void kc_emit_library(kc_text* out, kc_module* m, uint32_t kernel_count,
                     const khal_kernel_info* kernels, const kc_library_options* options)
{
    const size_t stem_size = strlen(options->header_name) - strlen("h");
    kc_putf(out, "/* Made by khalc; changes are lost when it is made again.%s */\n",
            options->has_cpu ? " It includes itself once for each SIMD level." : "");
    if (options->has_cpu)
        kc_put(out, "#ifndef KHAL_C_NAME\n");
    kc_putf(out, "#include \"%s\"\n\n#include <string.h>\n\n", options->header_name);
    if (options->has_cpu)
        put_levels(out, kc_format(m->arena, "%.*sc", (int)stem_size, options->header_name));
    if (options->wgsl)
        put_wgsl(out, kernel_count, kernels, options->wgsl);
    if (options->ptx)
        put_ptx(out, kernel_count, options->ptx);
    put_tables(out, m, kernel_count, kernels, options);
    put_handle_functions(out, m->name);
    uint32_t index = 0;
    for (const kc_function* f = m->functions; f && index < kernel_count; f = f->next)
        if (f->is_kernel) {
            put_launcher(out, m, f, &kernels[index], index);
            index++;
        }
    if (!options->has_cpu)
        return;
    kc_put(out, "#else /* the kernels at one SIMD level */\n\n");
    kc_emit_c(out, m);
    kc_put(out, "\n#endif\n");
}
