/* From the source with 32 bits of size_t to WGSL: parsed once, lowered once for buffers that are typed, and once for buffers that
 * are words. */
#include "target_wgsl.h"

#include <string.h>

#include "emit_wgsl.h"

typedef struct job {
    kc_arena* arena;
    kc_diags* diags;  /* of what is a fault of khalc's */
    const char* name;
    bool relaxed;
    uint32_t count;
    const khal_kernel_info* kernels;
    kc_refusal** refusals;
    khal_wgsl_kernel* out;
} job;

static const kc_target typed = {.name = "WGSL"};
static const kc_target words = {.name = "WGSL", .words = true};

static int32_t index_of(const job* j, const kc_function* f)
{
    for (uint32_t i = 0; i < j->count; i++)
        if (strcmp(j->kernels[i].name, f->name) == 0)
            return (int32_t)i;
    return -1;
}

/* Two arguments can clash where there are two buffers, one of them written. */
static bool may_clash(const khal_kernel_info* k)
{
    uint32_t buffers = 0, written = 0;
    for (uint32_t i = 0; i < k->arg_count; i++) {
        buffers += k->args[i].kind == KHAL_ARG_BUFFER || k->args[i].kind == KHAL_ARG_CONSTANT;
        written += (k->args[i].access & KHAL_ACCESS_WRITE) != 0;
    }
    return buffers >= 2 && written >= 1;
}

/* What the host passes is laid out by 64 bits of size_t. */
static void compare_arguments(kc_module* m, kc_function* f, const khal_kernel_info* wanted,
                              const khal_kernel_info* have)
{
    for (uint32_t i = 0; i < wanted->arg_count; i++) {
        const khal_arg_info *a = &wanted->args[i], *b = &have->args[i];
        if (a->element_size != b->element_size || a->offset != b->offset || a->kind != b->kind)
            kc_refuse(m, f, f->params[i]->loc, KC_DIAG_TARGET_SIZE,
                      "argument '%s' is laid out differently where size_t has 32 bits", a->name);
    }
}

static void check_arguments(const job* j, kc_module* m)
{
    khal_kernel_info* kernels = NULL;
    kc_reflect(m, &kernels);
    for (kc_function* f = m->functions; f; f = f->next) {
        if (!f->is_kernel)
            continue;
        const int32_t i = index_of(j, f);
        if (i >= 0)
            compare_arguments(m, f, &j->kernels[i], kernels);
        kernels++;
    }
}

static void keep_clashing(const job* j, kc_module* m)
{
    kc_function* last = NULL;
    for (kc_function** link = &m->functions; *link;) {
        const int32_t i = (*link)->is_kernel ? index_of(j, *link) : -1;
        if ((*link)->is_kernel &&
            (i < 0 || !j->out[i].source || !may_clash(&j->kernels[i]))) {
            *link = (*link)->next;
        } else {
            last = *link;
            link = &last->next;
        }
    }
    m->last_function = last;
    kc_pass_prune(m);
}

static void note_refused(const job* j, kc_module* m)
{
    for (const kc_function* f = m->refused; f; f = f->next) {
        const int32_t i = index_of(j, f);
        if (i >= 0 && !j->refusals[i])
            j->refusals[i] = f->refusal;
    }
}

/* One module for all kernels; false after a fault of khalc's. */
static bool lower_and_emit(const job* j, kc_tree* tree, const kc_target* target)
{
    kc_module* m = kc_build_tree(tree, j->diags, j->name);
    if (!m || !kc_verify_module(m))
        return false;
    if (target->words)
        keep_clashing(j, m);
    if (!m->functions)
        return true;
    kc_pass_fold(m);
    kc_pass_prune(m);
    kc_pass_usage(m);
    check_arguments(j, m);
    kc_drop_refused(m);
    if (!kc_lower(m, target))
        return false;
    for (kc_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        const int32_t i = f->is_kernel ? index_of(j, f) : -1;
        if (i < 0)
            continue;
        if (!kc_emit_wgsl(m, f, &j->kernels[i], j->relaxed, &j->out[i]) && !j->refusals[i])
            j->refusals[i] = f->refusal;
        if (f->refusal && !target->words)
            j->out[i].source = NULL;
    }
    note_refused(j, m);
    return true;
}

static void report(const job* j, bool is_required, bool is_quiet)
{
    for (uint32_t i = 0; i < j->count; i++) {
        const kc_refusal* r = j->refusals[i];
        if (!r || j->out[i].source)
            continue;
        if (is_required)
            kc_error(j->diags, r->loc, r->id, "kernel '%s' can't be had in WGSL: %s",
                     j->kernels[i].name, r->text);
        else if (!is_quiet)
            kc_warning(j->diags, r->loc, r->id, "kernel '%s' is left out of WGSL: %s",
                       j->kernels[i].name, r->text);
        j->out[i] = (khal_wgsl_kernel){
            .reason = r->loc.file ? kc_format(j->arena, "%s:%u:%u: %s", r->loc.file, r->loc.line,
                                              r->loc.column, r->text)
                                  : r->text};
    }
}

static bool has_option(const kc_options* options, const char* option)
{
    for (uint32_t i = 0; i < options->clang_arg_count; i++)
        if (strcmp(options->clang_args[i], option) == 0)
            return true;
    return false;
}

/* All kernels for one reason: the file is not the same to clang where size_t has 32 bits. */
static void refuse_all(const job* j, kc_diags* found)
{
    kc_refusal* r = KC_NEW(j->arena, kc_refusal);
    *r = (kc_refusal){.id = KC_DIAG_TARGET_SIZE,
                      .text = "the file has errors where size_t has 32 bits"};
    kc_diags_first(found, &r->loc);
    for (uint32_t i = 0; i < j->count; i++)
        j->refusals[i] = r;
}

bool kc_make_wgsl(kc_arena* arena, kc_diags* diags, const char* name, const kc_options* options,
                  uint32_t kernel_count, const khal_kernel_info* kernels, bool is_required,
                  bool is_quiet, khal_wgsl_kernel* out)
{
    kc_options narrow = *options;
    narrow.size_t_bits = 32;
    narrow.dependencies = NULL;
    narrow.drops_messages = true;
    const job j = {.arena = arena,
                   .diags = diags,
                   .name = name,
                   .relaxed = has_option(options, "-cl-fast-relaxed-math"),
                   .count = kernel_count,
                   .kernels = kernels,
                   .refusals = KC_NEW_ARRAY(arena, kc_refusal*, kernel_count + 1),
                   .out = out};
    const uint32_t errors = diags->error_count;
    kc_diags found = {.arena = arena};
    kc_tree* tree = kc_parse(arena, &found, &narrow);
    if (!tree)
        refuse_all(&j, &found);
    else if (!lower_and_emit(&j, tree, &typed) || !lower_and_emit(&j, tree, &words))
        return false;
    report(&j, is_required, is_quiet);
    return diags->error_count == errors;
}

void kc_print_wgsl(kc_text* out, uint32_t kernel_count, const khal_kernel_info* kernels,
                   const khal_wgsl_kernel* wgsl)
{
    bool any = false;
    for (uint32_t i = 0; i < kernel_count; i++) {
        if (!wgsl[i].source)
            continue;
        if (any)
            kc_put(out, "\n// ----------------------------------------------------------------\n\n");
        kc_put(out, wgsl[i].source);
        kc_emit_wgsl_block(out, &kernels[i], &wgsl[i]);
        any = true;
    }
}
