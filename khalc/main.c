/* khalc: the command line, and the order in which things happen. */
#include "arena.h"
#include "build.h"
#include "diag.h"
#include "emit.h"
#include "ir.h"
#include "target_ptx.h"
#include "target_wgsl.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#else
#include <fcntl.h>
#include <unistd.h>
#endif

#ifndef KHALC_VERSION
#define KHALC_VERSION "unknown"
#endif

enum { EXIT_OK = 0, EXIT_ERRORS = 1, EXIT_USAGE = 2, EXIT_NO_MEMORY = 3 };

static const char help[] =
    "usage: khalc [options] kernels.cl -o kernels\n"
    "Compiles OpenCL C kernels into kernels.khal.h and kernels.khal.c: typed launchers for "
    "libkhal, and the kernels.\n"
    "\n"
    "  -o BASE             where to write; its last part is the prefix of all names, a C "
    "identifier\n"
    "  --emit=WHAT         print to standard output, or to the file that -o names: ir, c "
    "(kernels.khal.c),\n"
    "                      header (kernels.khal.h), wgsl, ptx, or ptx-c, the C that PTX is made of\n"
    "  --targets=LIST      what to compile for, of cpu, wgsl and ptx, with commas between; all "
    "where it is not\n"
    "                      given. What a target that is named can't have is an error, else a "
    "warning\n"
    "  --ptx=LIST          compute capabilities to make PTX for, times 10, with commas between; 75 "
    "where it is\n"
    "                      not given. A device takes the largest that it has\n"
    "  -I DIR              search DIR for included files; <khal/kernel.h> is found without\n"
    "  -D NAME[=VALUE]     define a macro\n"
    "  -U NAME             undefine a macro\n"
    "  -include FILE       include FILE first\n"
    "  -cl-OPTION          an option of OpenCL C compilers, as -cl-std=CL1.2\n"
    "  -WOPTION, -w        warnings, as clang takes them\n"
    "  -MD                 write the files that were read to BASE.khal.d, for make and ninja\n"
    "  -MF FILE            write them to FILE instead\n"
    "  --clang=PATH        the clang to run, 16 or newer; otherwise $KHAL_CLANG, or one in $PATH\n"
    "  --libclc=PATH       libclc's nvptx64--.bc, which PTX is made with; otherwise $KHAL_LIBCLC, or "
    "the one\n"
    "                      beside clang\n"
    "  --size-t=BITS       take size_t to have 64 (the default) or 32 bits\n"
    "  --help, --version\n"
    "  --                  what follows is the file, whatever it looks like\n"
    "\n"
    "Exit status: 0, or 1 after errors in the source, 2 for a wrong command line, 3 when memory "
    "runs out. Nothing is written\n"
    "unless the status is 0.\n";

typedef enum emit_kind {
    EMIT_LIBRARY,
    EMIT_IR,
    EMIT_C,
    EMIT_HEADER,
    EMIT_WGSL,
    EMIT_PTX,
    EMIT_PTX_C
} emit_kind;

enum { KC_TARGET_CPU = 1, KC_TARGET_WGSL = 2, KC_TARGET_PTX = 4 };

typedef struct command {
    kc_options build;
    emit_kind emit;
    bool is_emit_given;
    uint32_t targets; /* KC_TARGET_... */
    bool is_targets_given;
    kc_ptx_options ptx;
    const char* output;
    bool wants_dependencies;
    const char* dependency_file;
    const char* name; /* prefix */
} command;

typedef struct context {
    kc_arena* arena;
    kc_diags diags;
} context;

#define NOWHERE ((kc_loc){0})

/* ---- the command line ------------------------------------------------------------------------ */

/* The value of an option that is spelled `-X value` or `-Xvalue`; NULL with a diagnostic when there
 * is none. */
static const char* option_value(context* c, const char* option, int argc, char** argv, int* i)
{
    const size_t n = strlen(option);
    const char* joined = argv[*i] + n;
    if (*joined)
        return joined;
    if (*i + 1 >= argc || !argv[*i + 1][0]) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "'%s' needs a value", option);
        return NULL;
    }
    return argv[++*i];
}

static bool set_once(context* c, const char** slot, const char* option, const char* value)
{
    if (!value)
        return false;
    if (*slot) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "'%s' is given twice: '%s' and '%s'", option,
                 *slot, value);
        return false;
    }
    *slot = value;
    return true;
}

static bool parse_emit(context* c, command* cmd, const char* what)
{
    static const struct {
        const char* name;
        emit_kind kind;
    } kinds[] = {{"ir", EMIT_IR}, {"c", EMIT_C}, {"header", EMIT_HEADER},
                 {"wgsl", EMIT_WGSL}, {"ptx", EMIT_PTX}, {"ptx-c", EMIT_PTX_C}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(what, kinds[i].name) == 0) {
            if (cmd->is_emit_given && cmd->emit != kinds[i].kind) {
                kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "--emit is given twice");
                return false;
            }
            cmd->emit = kinds[i].kind;
            cmd->is_emit_given = true;
            return true;
        }
    kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, 
             "--emit takes ir, c, header, wgsl, ptx or ptx-c, not '%s'", what);
    return false;
}

static bool parse_targets(context* c, command* cmd, const char* list)
{
    static const struct {
        const char* name;
        uint32_t target;
    } targets[] = {{"cpu", KC_TARGET_CPU}, {"wgsl", KC_TARGET_WGSL}, {"ptx", KC_TARGET_PTX}};
    if (cmd->is_targets_given) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "--targets is given twice");
        return false;
    }
    cmd->is_targets_given = true;
    cmd->targets = 0;
    for (const char* p = list;; p++) {
        const size_t n = strcspn(p, ",");
        size_t i = 0;
        while (i < sizeof targets / sizeof targets[0] &&
               (strlen(targets[i].name) != n || memcmp(targets[i].name, p, n) != 0))
            i++;
        if (i == sizeof targets / sizeof targets[0]) {
            kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, 
                     "--targets takes cpu, wgsl and ptx, not '%.*s'", (int)n, p);
            return false;
        }
        cmd->targets |= targets[i].target;
        p += n;
        if (!*p)
            return true;
    }
}

/* "75,90" */
static bool parse_capabilities(context* c, command* cmd, const char* list)
{
    kc_ptx_options* ptx = &cmd->ptx;
    if (ptx->capability_count) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "--ptx is given twice");
        return false;
    }
    for (const char* p = list;; p++) {
        const size_t n = strcspn(p, ",");
        uint32_t capability = 0;
        for (size_t i = 0; i < n; i++)
            capability = p[i] >= '0' && p[i] <= '9' && capability < 1000
                             ? capability * 10 + (uint32_t)(p[i] - '0')
                             : 10000;
        bool is_known = kc_ptx_has_capability(capability);
        for (uint32_t i = 0; i < ptx->capability_count; i++)
            is_known &= ptx->capabilities[i] != capability;
        if (!is_known || ptx->capability_count == KC_PTX_MAX_CODES) {
            kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE,
                     "--ptx takes compute capabilities from 70 on, each once, as 75,90; not '%.*s'",
                     (int)n, p);
            return false;
        }
        ptx->capabilities[ptx->capability_count++] = capability;
        p += n;
        if (!*p)
            return true;
    }
}

static bool starts_with(const char* s, const char* prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Options that go on to clang, each as it was spelled. Takes the argument or says nothing. */
static bool parse_clang_option(context* c, int argc, char** argv, int* i, const char** args,
                               uint32_t* count, bool* out_ok)
{
    static const char* const with_value[] = {"-I", "-D", "-U"};
    const char* arg = argv[*i];
    *out_ok = true;
    if (strcmp(arg, "-include") == 0) {
        const char* value = option_value(c, "-include", argc, argv, i);
        *out_ok = value != NULL;
        if (value) {
            args[(*count)++] = "-include";
            args[(*count)++] = value;
        }
        return true;
    }
    for (size_t k = 0; k < sizeof with_value / sizeof with_value[0]; k++)
        if (starts_with(arg, with_value[k])) {
            const char* value = option_value(c, with_value[k], argc, argv, i);
            *out_ok = value != NULL;
            if (value)
                args[(*count)++] = kc_format(c->arena, "%s%s", with_value[k], value);
            return true;
        }
    /* -Wp, -Wa and -Wl are no warnings: they hand options to tools that khalc does not run. */
    const bool is_warning = starts_with(arg, "-W") && !starts_with(arg, "-Wp,") &&
                            !starts_with(arg, "-Wa,") && !starts_with(arg, "-Wl,") && arg[2];
    if (is_warning || strcmp(arg, "-w") == 0 || (starts_with(arg, "-cl-") && arg[4])) {
        args[(*count)++] = arg;
        return true;
    }
    return false;
}

static bool set_input(context* c, command* cmd, const char* path)
{
    if (!path[0]) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "the name of the source file is empty");
        return false;
    }
    if (strchr(path, '\n')) { /* no list of dependencies can name it */
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "the name of the source file has a line break");
        return false;
    }
    if (cmd->build.input) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "more than one source file: '%s' and '%s'",
                 cmd->build.input, path);
        return false;
    }
    /* clang would take it for an option */
    cmd->build.input = path[0] == '-' ? kc_format(c->arena, "./%s", path) : path;
    return true;
}

static bool parse_option(context* c, command* cmd, int argc, char** argv, int* i,
                         const char** clang_args)
{
    const char* arg = argv[*i];
    bool ok = true;
    if (strcmp(arg, "-MD") == 0) {
        cmd->wants_dependencies = true;
        return true;
    }
    if (starts_with(arg, "-MF"))
        return set_once(c, &cmd->dependency_file, "-MF", option_value(c, "-MF", argc, argv, i));
    if (starts_with(arg, "-o"))
        return set_once(c, &cmd->output, "-o", option_value(c, "-o", argc, argv, i));
    if (starts_with(arg, "--emit="))
        return parse_emit(c, cmd, arg + strlen("--emit="));
    if (starts_with(arg, "--targets="))
        return parse_targets(c, cmd, arg + strlen("--targets="));
    if (starts_with(arg, "--clang=") && arg[strlen("--clang=")])
        return set_once(c, &cmd->build.clang, "--clang", arg + strlen("--clang="));
    if (starts_with(arg, "--ptx="))
        return parse_capabilities(c, cmd, arg + strlen("--ptx="));
    if (starts_with(arg, "--libclc=") && arg[strlen("--libclc=")])
        return set_once(c, &cmd->ptx.libclc, "--libclc", arg + strlen("--libclc="));
    if (strcmp(arg, "--size-t=64") == 0 || strcmp(arg, "--size-t=32") == 0) {
        cmd->build.size_t_bits = arg[strlen("--size-t=")] == '6' ? 64 : 32;
        return true;
    }
    if (parse_clang_option(c, argc, argv, i, clang_args, &cmd->build.clang_arg_count, &ok))
        return ok;
    kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE,
             "unknown option '%s'; --help lists those that there are", arg);
    return false;
}

/* The last part of a path. */
static const char* base_name(const char* path)
{
    const char* base = path;
    for (const char* p = path; *p; p++)
        if (*p == '/'
#ifdef _WIN32
            || *p == '\\'
#endif
        )
            base = p + 1;
    return base;
}

/* Decides the prefix of generated names. */
static bool choose_name(context* c, command* cmd)
{
    const bool is_library = cmd->emit == EMIT_LIBRARY;
    const char* base = base_name(cmd->output && is_library ? cmd->output : cmd->build.input);
    if (!is_library) {
        const size_t n = strcspn(base, ".");
        const char* stem = kc_strndup(c->arena, base, n);
        cmd->name = kc_is_prefix(stem) ? stem : "kernels";
        return true;
    }
    if (!kc_is_prefix(base)) {
        kc_error(
            &c->diags, NOWHERE, KC_DIAG_NAME,
            "'%s' can't be the prefix of generated names: the last part of what -o names must "
            "be a C identifier, no word of C or C++ and no function of the C library, and must "
            "not begin with khal_",
            base);
        return false;
    }
    cmd->name = base;
    return true;
}

static bool parse_command(context* c, command* cmd, int argc, char** argv)
{
    /* one argument may give two of clang's */
    const char** clang_args = KC_NEW_ARRAY(c->arena, const char*, (size_t)argc * 2 + 1);
    bool ok = true, only_files = false;
    for (int i = 1; i < argc; i++) {
        if (!only_files && strcmp(argv[i], "--") == 0)
            only_files = true;
        else if (!only_files && argv[i][0] == '-')
            ok &= parse_option(c, cmd, argc, argv, &i, clang_args);
        else
            ok &= set_input(c, cmd, argv[i]);
    }
    cmd->build.clang_args = clang_args;
    if (!ok)
        return false;
    if (!cmd->build.input)
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE,
                 "there is no source file; --help tells how khalc is called");
    else if (!cmd->output && cmd->emit == EMIT_LIBRARY)
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE,
                 "-o is missing: what the output is to be called");
    else if (cmd->dependency_file && !cmd->wants_dependencies)
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "-MF without -MD");
    else if (cmd->wants_dependencies && !cmd->output)
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE,
                 "-MD without -o: the list says what the output depends on");
    else
        return choose_name(c, cmd);
    return false;
}

/* ---- output files: all of them or none ------------------------------------------------------- */

typedef struct output_file {
    const char* path;
    const kc_text* text;
    const char* temporary; /* NULL unless it exists */
    bool is_renamed;
    bool is_special; /* a device or pipe: written to, never replaced */
} output_file;

static bool output_error(context* c, const output_file* f, const char* what, int code)
{
    kc_error(&c->diags, (kc_loc){.file = f->path}, KC_DIAG_OUTPUT, "%s: %s", what, strerror(code));
    return false;
}

/* Neither the source nor another output may be overwritten, and a folder can't be. */
static bool check_target(context* c, output_file* files, size_t index, const char* input)
{
    output_file* f = &files[index];
    for (size_t i = 0; i < index; i++)
        if (strcmp(files[i].path, f->path) == 0) {
            kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE, "'%s' would be written twice", f->path);
            return false;
        }
    struct stat target, source;
    if (stat(f->path, &target) != 0)
        return true;
    if (S_ISDIR(target.st_mode))
        return output_error(c, f, "can't be written", EISDIR);
    f->is_special = !S_ISREG(target.st_mode);
#ifndef _WIN32
    if (stat(input, &source) == 0 && source.st_dev == target.st_dev &&
        source.st_ino == target.st_ino) {
        kc_error(&c->diags, NOWHERE, KC_DIAG_USAGE,
                 "'%s' is the source itself, and would be overwritten", f->path);
        return false;
    }
#else
    (void)source;
#endif
    return true;
}

static bool write_whole(context* c, const output_file* f, FILE* file)
{
    errno = 0;
    const bool is_written = fwrite(f->text->data, 1, f->text->size, file) == f->text->size;
    const int write_code = errno;
    const bool is_closed = fclose(file) == 0;
    if (!is_written || !is_closed)
        return output_error(c, f, "could not be written whole", is_written ? errno : write_code);
    return true;
}

static bool write_special(context* c, const output_file* f)
{
    FILE* file = fopen(f->path, "wb");
    return file ? write_whole(c, f, file) : output_error(c, f, "can't be written", errno);
}

/* In the target's folder, so that the rename can't cross file systems. */
static bool write_temporary(context* c, output_file* f)
{
    FILE* file = NULL;
    const char* path = NULL;
    for (unsigned attempt = 0; !file && attempt < 100; attempt++) {
        path = kc_format(c->arena, "%s.%ld-%u.tmp", f->path, (long)getpid(), attempt);
        file = fopen(path, "wbx");
        if (!file && errno != EEXIST)
            break;
    }
    if (!file)
        return output_error(c, f, "can't be written", errno);
    f->temporary = path;
    return write_whole(c, f, file);
}

static void discard(output_file* files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (files[i].temporary)
            remove(files[i].temporary);
        if (files[i].is_renamed)
            remove(files[i].path);
    }
}

static bool write_files(context* c, output_file* files, size_t count, const char* input)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = check_target(c, files, i, input);
    for (size_t i = 0; ok && i < count; i++)
        if (!files[i].is_special)
            ok = write_temporary(c, &files[i]);
    for (size_t i = 0; ok && i < count; i++)
        if (files[i].is_special)
            ok = write_special(c, &files[i]);
    for (size_t i = 0; ok && i < count; i++) {
        if (files[i].is_special)
            continue;
#ifdef _WIN32
        remove(files[i].path); /* rename does not replace there */
#endif
        if (rename(files[i].temporary, files[i].path) != 0) {
            ok = output_error(c, &files[i], "can't be written", errno);
        } else {
            files[i].temporary = NULL;
            files[i].is_renamed = true;
        }
    }
    if (!ok)
        discard(files, count);
    return ok;
}

static bool write_stdout(context* c, const kc_text* text)
{
    const bool is_written = fwrite(text->data, 1, text->size, stdout) == text->size;
    if (is_written && fflush(stdout) == 0)
        return true;
    kc_error(&c->diags, NOWHERE, KC_DIAG_OUTPUT, "standard output: %s", strerror(errno));
    return false;
}

static void put_dependency_path(kc_text* out, const char* path)
{
    for (const char* p = path; *p; p++) {
        if (*p == ' ' || *p == '#' || *p == '\\')
            kc_put(out, "\\");
        else if (*p == '$')
            kc_put(out, "$");
        kc_putn(out, p, 1);
    }
}

static void put_dependencies(kc_text* out, const output_file* files, size_t count,
                             const kc_dependencies* dependencies)
{
    for (size_t i = 0; i < count; i++) {
        put_dependency_path(out, files[i].path);
        kc_put(out, i + 1 < count ? " " : ":");
    }
    for (uint32_t i = 0; i < dependencies->count; i++) {
        kc_put(out, " \\\n  ");
        put_dependency_path(out, dependencies->files[i]);
    }
    kc_put(out, "\n");
}

/* ---- compiling ------------------------------------------------------------------------------- */

typedef struct product {
    kc_text ir, header, library, wgsl, ptx;
} product;

/* Runs the passes. The IR is verified after each that changes it: a fault there must not become
 * wrong code. */
static bool analyse(kc_module* m)
{
    if (!kc_verify_module(m))
        return false;
    kc_pass_fold(m);
    if (!kc_verify_module(m))
        return false;
    kc_pass_prune(m);
    if (!kc_verify_module(m))
        return false;
    kc_pass_usage(m);
    kc_pass_origins(m);
    kc_pass_uniformity(m);
    return true;
}

static bool wants_no_warnings(const command* cmd)
{
    for (uint32_t i = 0; i < cmd->build.clang_arg_count; i++)
        if (strcmp(cmd->build.clang_args[i], "-w") == 0)
            return true;
    return false;
}

static bool wants(const command* cmd, uint32_t target, emit_kind alone)
{
    const bool is_library = cmd->emit == EMIT_LIBRARY || cmd->emit == EMIT_C;
    return cmd->emit == alone || (is_library && (cmd->targets & target));
}

static kc_ptx_job* start_ptx(context* c, command* cmd, kc_tree* tree, uint32_t kernel_count,
                             const khal_kernel_info* kernels, product* out)
{
    const bool source_only = cmd->emit == EMIT_PTX_C;
    cmd->ptx.is_required = cmd->is_targets_given || source_only || cmd->emit == EMIT_PTX;
    cmd->ptx.is_quiet = wants_no_warnings(cmd);
    kc_ptx_job* job = kc_ptx_start(c->arena, &c->diags, cmd->name, &cmd->build, tree, kernel_count,
                                   kernels, &cmd->ptx, source_only);
    if (job && source_only)
        kc_putn(&out->ptx, kc_ptx_source(job)->data, kc_ptx_source(job)->size);
    return job;
}

static void print_ptx(kc_text* out, const kc_ptx_library* ptx)
{
    for (uint32_t i = 0; i < ptx->code_count; i++) {
        kc_put(out, i ? "\n" : "");
        kc_put(out, ptx->texts[i]);
    }
}

/* The other outputs, while PTX is compiled beside khalc. */
static bool make_rest(context* c, command* cmd, kc_module* m, uint32_t kernel_count,
                      const khal_kernel_info* kernels, khal_wgsl_kernel** wgsl, product* out)
{
    if (wants(cmd, KC_TARGET_WGSL, EMIT_WGSL)) {
        const bool is_named = cmd->is_targets_given || cmd->emit == EMIT_WGSL;
        *wgsl = KC_NEW_ARRAY(c->arena, khal_wgsl_kernel, kernel_count);
        if (!kc_make_wgsl(c->arena, &c->diags, cmd->name, &cmd->build, kernel_count, kernels,
                          is_named, wants_no_warnings(cmd), *wgsl))
            return false;
        kc_print_wgsl(&out->wgsl, kernel_count, kernels, *wgsl);
    }
    kc_print_module(&out->ir, m);
    kc_emit_header(&out->header, m, kernel_count, kernels);
    return c->diags.error_count == 0;
}

static bool compile(context* c, command* cmd, product* out)
{
    kc_tree* tree = kc_parse(c->arena, &c->diags, &cmd->build);
    kc_module* m = tree ? kc_build_tree(tree, &c->diags, cmd->name) : NULL;
    if (!m || c->diags.error_count)
        return false;
    if (!analyse(m))
        return false;
    khal_kernel_info* kernels = NULL;
    const uint32_t kernel_count = kc_reflect(m, &kernels);
    if (!kernel_count && !c->diags.error_count)
        kc_error(&c->diags, (kc_loc){.file = cmd->build.input}, KC_DIAG_NO_KERNEL,
                 "the file has no kernel");
    if (c->diags.error_count)
        return false;
    kc_ptx_job* job = NULL;
    if (wants(cmd, KC_TARGET_PTX, EMIT_PTX) || cmd->emit == EMIT_PTX_C)
        job = start_ptx(c, cmd, tree, kernel_count, kernels, out);
    khal_wgsl_kernel* wgsl = NULL;
    kc_ptx_library ptx = {0};
    bool ok = make_rest(c, cmd, m, kernel_count, kernels, &wgsl, out);
    if (job)
        ok &= kc_ptx_finish(job, &ptx);
    if (!ok || c->diags.error_count)
        return false;
    if (cmd->emit == EMIT_PTX)
        print_ptx(&out->ptx, &ptx);
    if (cmd->emit == EMIT_LIBRARY || cmd->emit == EMIT_C)
        kc_emit_library(&out->library, m, kernel_count, kernels,
                        &(kc_library_options){.header_name = kc_format(c->arena, "%s.khal.h", cmd->name),
                                              .has_cpu = cmd->targets & KC_TARGET_CPU,
                                              .wgsl = wgsl,
                                              .ptx = ptx.code_count ? &ptx : NULL});
    return c->diags.error_count == 0 && kc_verify_module(m); /* the C emitter lowers further */
}

static bool write_product(context* c, const command* cmd, const product* p,
                          const kc_dependencies* dependencies)
{
    output_file files[3] = {{0}};
    size_t count = 0;
    if (cmd->emit == EMIT_LIBRARY) {
        files[count++] = (output_file){.path = kc_format(c->arena, "%s.khal.h", cmd->output),
                                       .text = &p->header};
        files[count++] = (output_file){.path = kc_format(c->arena, "%s.khal.c", cmd->output),
                                       .text = &p->library};
    } else {
        const kc_text* text = cmd->emit == EMIT_IR  ? &p->ir
                              : cmd->emit == EMIT_C    ? &p->library
                              : cmd->emit == EMIT_WGSL ? &p->wgsl
                              : cmd->emit == EMIT_PTX || cmd->emit == EMIT_PTX_C ? &p->ptx
                                                    : &p->header;
        if (!cmd->output)
            return write_stdout(c, text);
        files[count++] = (output_file){.path = cmd->output, .text = text};
    }
    kc_text list = {0};
    if (cmd->wants_dependencies) {
        put_dependencies(&list, files, count, dependencies);
        const char* path = cmd->dependency_file ? cmd->dependency_file
                                                : kc_format(c->arena, "%s.khal.d", cmd->output);
        files[count++] = (output_file){.path = path, .text = &list};
    }
    const bool ok = write_files(c, files, count, cmd->build.input);
    kc_text_free(&list);
    return ok;
}

static int run(context* c, int argc, char** argv)
{
    command cmd = {.build = {.program = argc ? argv[0] : NULL, .size_t_bits = 64},
                   .targets = KC_TARGET_CPU | KC_TARGET_WGSL | KC_TARGET_PTX};
    kc_dependencies dependencies = {0};
    cmd.build.dependencies = &dependencies;
    if (!parse_command(c, &cmd, argc, argv))
        return EXIT_USAGE;
    if (!cmd.ptx.capability_count)
        cmd.ptx.capabilities[cmd.ptx.capability_count++] = 75;
    product p = {0};
    const bool ok = compile(c, &cmd, &p) && write_product(c, &cmd, &p, &dependencies);
    kc_text_free(&p.ir);
    kc_text_free(&p.header);
    kc_text_free(&p.library);
    kc_text_free(&p.wgsl);
    kc_text_free(&p.ptx);
    return ok ? EXIT_OK : EXIT_ERRORS;
}

static void prepare_process(void)
{
#ifndef _WIN32
    /* Descriptors that the caller closed: an output file must not get one of them, and with it what
     * is meant for the terminal. These can't be written to, which is an error where it matters. */
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    /* a reader that is gone, or a file over the limit, is a failed write, after which nothing is
     * left behind */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
#endif
}

int main(int argc, char** argv)
{
    prepare_process();
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const bool is_help = strcmp(argv[i], "--help") == 0;
        if (is_help || strcmp(argv[i], "--version") == 0) {
            fputs(is_help ? help : "khalc " KHALC_VERSION "\n", stdout);
            return fflush(stdout) == 0 ? EXIT_OK : EXIT_ERRORS;
        }
    }
    context c = {.arena = kc_arena_create()};
    if (!c.arena) {
        fputs("khalc: error: out of memory\n", stderr);
        return EXIT_NO_MEMORY;
    }
    c.diags.arena = c.arena;
    const int status = run(&c, argc, argv);
    kc_diags_flush(&c.diags);
    kc_arena_destroy(c.arena);
    return status;
}
