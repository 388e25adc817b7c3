/* From the source to PTX: C that clang compiles with libclc's bitcode, once for each compute capability. */
#include "target_ptx.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clang.h"
#include "emit_ptx.h"
#include "lower.h"

struct kc_ptx_job {
    kc_arena* arena;
    kc_diags* diags;
    const char* name;
    const kc_options* options;
    const kc_ptx_options* ptx;
    uint32_t count;
    const khal_kernel_info* kernels;
    kc_refusal** refusals;
    khal_ptx_kernel* out;
    const char* libclc;
    uint32_t clang; /* its version */
    bool is_left_out;
    kc_text source;
    kc_compilation* compilations[KC_PTX_MAX_CODES];
};

/* ---- compute capabilities -------------------------------------------------------------------------- */

/* The oldest version of PTX that has each, which the oldest drivers take, and the clang that knows it. */
static const struct {
    uint32_t capability, version, clang;
} capabilities[] = {
    {70, 60, 16}, {72, 61, 16}, {75, 63, 16},  {80, 70, 16},  {86, 71, 16},  {87, 74, 16},  {89, 78, 16},
    {90, 78, 16}, {100, 86, 20}, {101, 86, 20}, {103, 88, 21}, {120, 87, 20}, {121, 88, 21},
};
#define CAPABILITY_COUNT (sizeof capabilities / sizeof capabilities[0])

static size_t capability_index(uint32_t capability)
{
    size_t i = 0;
    while (i < CAPABILITY_COUNT && capabilities[i].capability != capability)
        i++;
    return i;
}

bool kc_ptx_has_capability(uint32_t capability)
{
    return capability_index(capability) < CAPABILITY_COUNT;
}

/* ---- what is needed -------------------------------------------------------------------------------- */

static void leave_out(kc_ptx_job* j, kc_diag_id id, const char* text)
{
    const kc_loc nowhere = {0};
    j->is_left_out = true;
    if (j->ptx->is_required)
        kc_error(j->diags, nowhere, id, "PTX can't be had: %s", text);
    else if (!j->ptx->is_quiet)
        kc_warning(j->diags, nowhere, id, "PTX is left out: %s", text);
}

static bool is_file(const char* path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Debian has it in /usr/lib/clc beside /usr/lib/llvm-19/bin, others in share/clc beside bin. */
static const char* beside_clang(kc_arena* arena, const char* clang)
{
    static const char* const folders[] = {"../share/clc", "../lib/clc", "../../clc", "../../../share/clc"};
    char* real = realpath(clang, NULL);
    char* slash = real ? strrchr(real, '/') : NULL;
    const char* found = NULL;
    for (size_t i = 0; slash && i < sizeof folders / sizeof folders[0] && !found; i++) {
        const char* path = kc_format(arena, "%.*s/%s/nvptx64--.bc", (int)(slash - real), real, folders[i]);
        if (is_file(path))
            found = path;
    }
    free(real);
    return found;
}

/* False where PTX can't be had, or an error was recorded. */
static bool find_libclc(kc_ptx_job* j, const char* clang)
{
    const char* variable = getenv("KHAL_LIBCLC");
    const char* asked = j->ptx->libclc ? j->ptx->libclc : variable && *variable ? variable : NULL;
    j->libclc = asked ? asked : beside_clang(j->arena, clang);
    if (j->libclc && is_file(j->libclc))
        return true;
    leave_out(j, KC_DIAG_LIBCLC,
              asked ? kc_format(j->arena, "'%s' (%s) is not a file", asked,
                                j->ptx->libclc ? "as asked for" : "from KHAL_LIBCLC")
                    : kc_format(j->arena,
                                "libclc's nvptx64--.bc was not found beside %s; install it (Debian: libclc-19), or name it "
                                "with KHAL_LIBCLC",
                                clang));
    return false;
}

static bool check_capabilities(kc_ptx_job* j)
{
    for (uint32_t i = 0; i < j->ptx->capability_count; i++) {
        const uint32_t c = j->ptx->capabilities[i], needed = capabilities[capability_index(c)].clang;
        if (j->clang >= needed)
            continue;
        leave_out(j, KC_DIAG_CLANG_MISSING,
                  kc_format(j->arena, "compute capability %u.%u needs clang %u or newer; this is clang %u", c / 10, c % 10,
                            needed, j->clang));
        return false;
    }
    return true;
}

/* ---- C --------------------------------------------------------------------------------------------- */

static int32_t index_of(const kc_ptx_job* j, const kc_function* f)
{
    for (uint32_t i = 0; i < j->count; i++)
        if (strcmp(j->kernels[i].name, f->name) == 0)
            return (int32_t)i;
    return -1;
}

static void note_refused(kc_ptx_job* j, kc_module* m)
{
    for (const kc_function* f = m->refused; f; f = f->next) {
        const int32_t i = index_of(j, f);
        if (i >= 0)
            j->refusals[i] = f->refusal;
    }
}

static void report(kc_ptx_job* j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        const kc_refusal* r = j->refusals[i];
        if (!r)
            continue;
        if (j->ptx->is_required)
            kc_error(j->diags, r->loc, r->id, "kernel '%s' can't be had in PTX: %s", j->kernels[i].name, r->text);
        else if (!j->ptx->is_quiet)
            kc_warning(j->diags, r->loc, r->id, "kernel '%s' is left out of PTX: %s", j->kernels[i].name, r->text);
        j->out[i] = (khal_ptx_kernel){
            .reason = kc_format(j->arena, "%s:%u:%u: %s", r->loc.file, r->loc.line, r->loc.column, r->text)};
    }
}

static bool emit(kc_ptx_job* j, kc_tree* tree)
{
    static const kc_target target = {
        .name = "PTX",
        .has_pointers = true,
        .has_wide_vectors = true,
        .has_int8 = true,
        .has_int16 = true,
        .has_int64 = true,
        .has_half = true,
        .has_double = true,
        .has_int64_atomics = true,
        .has_labels = true,
        .has_fall_through = true,
        .has_free_barriers = true,
    };
    const uint32_t errors = j->diags->error_count;
    kc_module* m = kc_build_tree(tree, j->diags, j->name);
    if (!m || !kc_verify_module(m))
        return false;
    kc_pass_fold(m);
    kc_pass_prune(m);
    kc_pass_usage(m);
    kc_refuse_unsupported(m, &target);
    kc_drop_refused(m);
    kc_pass_prune(m);
    kc_emit_ptx(&j->source, m, j->count, j->kernels, j->out);
    note_refused(j, m);
    report(j);
    return kc_verify_module(m) && j->diags->error_count == errors;
}

/* ---- clang ----------------------------------------------------------------------------------------- */

static bool has_option(const kc_options* options, const char* option)
{
    for (uint32_t i = 0; i < options->clang_arg_count; i++)
        if (strcmp(options->clang_args[i], option) == 0)
            return true;
    return false;
}

static kc_compilation* start(kc_ptx_job* j, uint32_t capability)
{
    const char* const fixed[] = {
        "-x", "c", "-std=gnu11", "-target", "nvptx64-nvidia-cuda", "-nogpulib", "-nogpuinc", "-nostdlibinc", "-ffreestanding",
        "-O3", "-ffp-contract=on", "-fno-math-errno", "-fno-trapping-math", "-fconvergent-functions",
        /* LLVM 19 has no instruction for the mask of a comparison of two 16-bit lanes (ptx.h) */
        "-fno-slp-vectorize",
        /* what the kernel's author wrote was checked where it was written */
        "-w", "-fno-color-diagnostics", "-fno-crash-diagnostics",
    };
    const size_t fixed_count = sizeof fixed / sizeof fixed[0];
    const char** args = KC_NEW_ARRAY(j->arena, const char*, fixed_count + 24);
    uint32_t n = 0;
    for (size_t i = 0; i < fixed_count; i++)
        args[n++] = fixed[i];
    args[n++] = kc_format(j->arena, "-march=sm_%u", capability);
    args[n++] = "-Xclang";
    args[n++] = "-target-feature";
    args[n++] = "-Xclang";
    args[n++] = kc_format(j->arena, "+ptx%u", capabilities[capability_index(capability)].version);
    args[n++] = "-Xclang";
    args[n++] = "-mlink-builtin-bitcode";
    args[n++] = "-Xclang";
    args[n++] = j->libclc;
    if (j->clang >= 17) { /* else structs of more than 64 bytes are copied byte by byte, not of more than 128 */
        args[n++] = "-mllvm";
        args[n++] = "-mem-intrinsic-expand-size=128";
    }
    args[n++] = "-mllvm";
    args[n++] = "-unroll-partial-threshold=300"; /* loops of unknown length by four, as other compilers for these machines do */
    if (has_option(j->options, "-cl-fast-relaxed-math")) {
        args[n++] = "-mllvm";
        args[n++] = "-nvptx-prec-divf32=0";
        args[n++] = "-mllvm";
        args[n++] = "-nvptx-prec-sqrtf32=0";
    }
    const char* folder = kc_include_folder(j->arena, j->options->program);
    if (folder) {
        args[n++] = "-isystem";
        args[n++] = folder;
    }
    args[n++] = "-S";
    args[n++] = "-o";
    args[n++] = "-";
    args[n++] = "-";
    return kc_clang_start(j->arena, j->diags, j->options, args, n, &j->source);
}

static bool has_kernel(const kc_ptx_job* j)
{
    for (uint32_t i = 0; i < j->count; i++)
        if (j->out[i].entry)
            return true;
    return false;
}

kc_ptx_job* kc_ptx_start(kc_arena* arena, kc_diags* diags, const char* name, const kc_options* options, kc_tree* tree,
                         uint32_t kernel_count, const khal_kernel_info* kernels, const kc_ptx_options* ptx, bool source_only)
{
    kc_ptx_job* j = KC_NEW(arena, kc_ptx_job);
    *j = (kc_ptx_job){.arena = arena,
                      .diags = diags,
                      .name = name,
                      .options = options,
                      .ptx = ptx,
                      .count = kernel_count,
                      .kernels = kernels,
                      .refusals = KC_NEW_ARRAY(arena, kc_refusal*, kernel_count + 1),
                      .out = KC_NEW_ARRAY(arena, khal_ptx_kernel, kernel_count + 1)};
    if (!source_only) {
        const char* clang = NULL;
        j->clang = kc_clang_version(arena, diags, options, &clang);
        if (!j->clang)
            return NULL;
        if (!find_libclc(j, clang) || !check_capabilities(j))
            return ptx->is_required ? NULL : j;
    }
    bool ok = emit(j, tree);
    for (uint32_t i = 0; ok && !source_only && has_kernel(j) && i < ptx->capability_count; i++) {
        j->compilations[i] = start(j, ptx->capabilities[i]);
        ok = j->compilations[i] != NULL;
    }
    return ok ? j : NULL;
}

const kc_text* kc_ptx_source(const kc_ptx_job* job)
{
    return &job->source;
}

/* ---- PTX ------------------------------------------------------------------------------------------- */

/* The name that `line` begins an entry point with, `size` characters; NULL where it begins none. */
static const char* entry_at(const char* line, size_t line_size, size_t* size)
{
    static const char head[] = ".visible .entry ";
    const size_t n = strlen(head);
    if (line_size <= n || strncmp(line, head, n) != 0)
        return NULL;
    *size = strcspn(line + n, "(");
    return line + n;
}

/* The kernel of an entry point, where its work-group size is known. */
static const khal_kernel_info* sized_kernel(const kc_ptx_job* j, const char* entry, size_t size)
{
    for (uint32_t i = 0; i < j->count; i++)
        for (int k = 0; k < 2 && j->out[i].entry; k++) {
            const char* name = k ? j->out[i].grid_entry : j->out[i].entry;
            if (strlen(name) == size && memcmp(name, entry, size) == 0)
                return j->kernels[i].workgroup_size[0] ? &j->kernels[i] : NULL;
        }
    return NULL;
}

/* Without comments, indentation and empty lines; with work-group sizes, which C has no words for, behind the parameters. */
static const char* tidy(const kc_ptx_job* j, const kc_text* text)
{
    kc_text out = {0};
    const khal_kernel_info* kernel = NULL;
    for (const char* line = text->data; line && *line;) {
        const size_t whole = strcspn(line, "\n");
        size_t n = whole, entry_size = 0;
        for (size_t i = 0; i + 1 < n; i++)
            if (line[i] == '/' && line[i + 1] == '/')
                n = i;
        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
            n--;
        const char* entry = entry_at(line, n, &entry_size);
        if (entry)
            kernel = sized_kernel(j, entry, entry_size);
        for (size_t i = strspn(line, "\t "); i < n; i++)
            kc_putn(&out, line[i] == '\t' ? " " : line + i, line[i] == '\t' && i && line[i - 1] == ' ' ? 0 : 1);
        if (n)
            kc_put(&out, "\n");
        if (kernel && n == 1 && *line == ')') {
            kc_putf(&out, ".reqntid %u, %u, %u\n", kernel->workgroup_size[0], kernel->workgroup_size[1],
                    kernel->workgroup_size[2]);
            kernel = NULL;
        }
        line += whole + (line[whole] != 0);
    }
    const char* s = kc_strdup(j->arena, out.data ? out.data : "");
    kc_text_free(&out);
    return s;
}

/* clang's errors, in one line. */
static const char* one_line(kc_arena* arena, const kc_text* messages)
{
    const char* error = messages->data ? strstr(messages->data, "error: ") : NULL;
    const char* s = error ? error : messages->data ? messages->data : "it says nothing";
    const size_t n = strcspn(s, "\n");
    return kc_strndup(arena, s, n);
}

static const char* finish_one(kc_ptx_job* j, uint32_t index)
{
    kc_text out = {0}, messages = {0};
    const uint32_t capability = j->ptx->capabilities[index];
    const char* text = NULL;
    if (kc_clang_finish(j->compilations[index], &out, &messages) && out.size) {
        text = tidy(j, &out);
    } else {
        const char* words = one_line(j->arena, &messages);
        kc_error(j->diags, (kc_loc){.file = j->options->input},
                 strstr(words, j->libclc) ? KC_DIAG_LIBCLC : KC_DIAG_INTERNAL,
                 "clang made no PTX for compute capability %u.%u: %s", capability / 10, capability % 10, words);
    }
    kc_text_free(&out);
    kc_text_free(&messages);
    return text;
}

bool kc_ptx_finish(kc_ptx_job* j, kc_ptx_library* out)
{
    *out = (kc_ptx_library){.capabilities = j->ptx->capabilities, .kernels = j->out};
    const char** texts = KC_NEW_ARRAY(j->arena, const char*, KC_PTX_MAX_CODES);
    bool ok = true;
    for (uint32_t i = 0; i < j->ptx->capability_count; i++) {
        if (j->compilations[i]) {
            texts[i] = finish_one(j, i);
            ok &= texts[i] != NULL;
        } else {
            texts[i] = ""; /* every kernel was refused */
        }
    }
    out->texts = texts;
    out->code_count = j->is_left_out ? 0 : j->ptx->capability_count;
    kc_text_free(&j->source);
    return ok;
}
