#define _GNU_SOURCE /* environ */
#include "clang.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"

extern char** environ;

enum {
    KC_CLANG_OLDEST = 16,
    KC_CHILD_DEPENDENCIES =
        3, /* the child's descriptor that the list of read files is written to */
};
/* jsmn counts bytes in an int */
#define KC_DUMP_LIMIT ((size_t)1 << 30)

/* ---- running a program ----------------------------------------------------------------------- */

typedef struct kc_process {
    kc_text output, dependencies, messages;
    bool pass_messages; /* stderr goes on to ours as it comes */
    bool drop_indent;   /* of the output's lines: in a deep tree it would be most of the bytes */
    bool at_line_start;
    int status;  /* as waitpid gives it */
    bool is_cut; /* wrote more than KC_DUMP_LIMIT and was killed */
    pid_t pid;
    int fds[3];
    const char* input; /* for its standard input; NULL: nothing */
    size_t input_size;
    int input_fd; /* -1: closed */
} kc_process;

/* A pipe whose ends stay out of children and clear of the descriptors that a child gets. */
static bool open_pipe(int ends[2])
{
    int raw[2];
    if (pipe(raw) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 10);
        close(raw[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return false;
}

static void write_all(int fd, const char* data, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        data += n;
        size -= (size_t)n;
    }
}

/* Moves the text together where spaces begin a line; its new size. JSON has no line breaks inside
 * strings. */
static size_t without_indent(kc_process* p, char* text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        if (p->at_line_start && text[i] == ' ')
            continue;
        p->at_line_start = text[i] == '\n';
        text[n++] = text[i];
    }
    return n;
}

/* Hands on of the input what the program takes at once; its end is told by closing the pipe. */
static void feed(kc_process* p)
{
    while (p->input_size) {
        const ssize_t n = write(p->input_fd, p->input, p->input_size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            break; /* it reads no more */
        p->input += n;
        p->input_size -= (size_t)n;
    }
    close(p->input_fd);
    p->input_fd = -1;
}

/* Reads the three pipes until each is closed, and hands on what is left of the input. */
static void drain(kc_process* p, pid_t pid, int* fds)
{
    kc_text* const texts[3] = {&p->output, &p->messages, &p->dependencies};
    char* buffer = malloc(1 << 16);
    int open_count = buffer ? 3 : 0;
    while (open_count > 0) {
        struct pollfd polled[4];
        for (int i = 0; i < 3; i++)
            polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        polled[3] = (struct pollfd){.fd = p->input_fd, .events = POLLOUT};
        if (poll(polled, 4, -1) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if (p->input_fd >= 0 && polled[3].revents)
            feed(p);
        for (int i = 0; i < 3; i++) {
            if (fds[i] < 0 || !polled[i].revents)
                continue;
            const ssize_t got = read(fds[i], buffer, 1 << 16);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0) {
                close(fds[i]);
                fds[i] = -1;
                open_count--;
                continue;
            }
            const size_t n =
                i == 0 && p->drop_indent ? without_indent(p, buffer, (size_t)got) : (size_t)got;
            if (texts[i]->size + n > KC_DUMP_LIMIT) {
                if (!p->is_cut)
                    kill(pid, SIGKILL);
                p->is_cut = true;
                continue;
            }
            kc_putn(texts[i], buffer, n);
            if (i == 1 && p->pass_messages)
                write_all(STDERR_FILENO, buffer, n);
        }
    }
    if (open_count > 0 || !buffer)
        kill(pid, SIGKILL); /* nobody reads what it writes any more */
    free(buffer);
}

static void close_pipe(int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* False when the program could not be started at all. */
static bool start_process(kc_process* p, const char* path, char* const* args)
{
    int pipes[4][2]; /* the last one is for its input */
    const int wanted = p->input ? 4 : 3;
    int open_count = 0;
    while (open_count < wanted && open_pipe(pipes[open_count]))
        open_count++;
    posix_spawn_file_actions_t actions;
    bool ok = open_count == wanted && posix_spawn_file_actions_init(&actions) == 0;
    if (ok) {
        static const int targets[3] = {STDOUT_FILENO, STDERR_FILENO, KC_CHILD_DEPENDENCIES};
        ok = p->input ? posix_spawn_file_actions_adddup2(&actions, pipes[3][0], STDIN_FILENO) == 0
                      : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                                         O_RDONLY, 0) == 0;
        for (int i = 0; i < 3; i++)
            ok = ok && posix_spawn_file_actions_adddup2(&actions, pipes[i][1], targets[i]) == 0;
        ok = ok && posix_spawn(&p->pid, path, &actions, NULL, args, environ) == 0;
        posix_spawn_file_actions_destroy(&actions);
    }
    p->input_fd = -1;
    if (!ok) {
        while (open_count > 0)
            close_pipe(pipes[--open_count]);
        return false;
    }
    for (int i = 0; i < 3; i++) {
        close(pipes[i][1]);
        p->fds[i] = pipes[i][0];
    }
    if (p->input) {
        close(pipes[3][0]);
        p->input_fd = pipes[3][1];
        fcntl(p->input_fd, F_SETFL, O_NONBLOCK);
#ifdef F_SETPIPE_SZ
        fcntl(p->input_fd, F_SETPIPE_SZ, 1 << 20); /* so that most programs get all at once */
#endif
        feed(p);
    }
    return true;
}

/* Takes what the program writes until it ends. */
static void finish_process(kc_process* p)
{
    drain(p, p->pid, p->fds);
    if (p->input_fd >= 0)
        close(p->input_fd);
    while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < 3; i++)
        if (p->fds[i] >= 0)
            close(p->fds[i]);
}

static bool run_process(kc_process* p, const char* path, char* const* args)
{
    if (!start_process(p, path, args))
        return false;
    finish_process(p);
    return true;
}

static void process_free(kc_process* p)
{
    kc_text_free(&p->output);
    kc_text_free(&p->dependencies);
    kc_text_free(&p->messages);
}

/* ---- finding clang --------------------------------------------------------------------------- */

static bool is_program(const char* path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

const char* kc_find_program(kc_arena* arena, const char* name)
{
    if (strchr(name, '/'))
        return is_program(name) ? name : NULL;
    const char* path = getenv("PATH");
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        const char* full =
            n ? kc_format(arena, "%.*s/%s", (int)n, path, name) : kc_format(arena, "./%s", name);
        if (is_program(full))
            return full;
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* The N of a name that ends in -N or -N.exe; else what `--version` says; 0 when it says nothing of
 * the kind. */
static unsigned clang_version(const char* path)
{
    const char* base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char* dash = strrchr(base, '-');
    if (dash && isdigit((unsigned char)dash[1])) {
        char* end;
        const unsigned long n = strtoul(dash + 1, &end, 10);
        if (*end == 0 && n < 1000)
            return (unsigned)n;
    }
    char* args[] = {(char[]){"clang"}, (char[]){"--version"}, NULL};
    kc_process p = {0};
    unsigned version = 0;
    if (run_process(&p, path, args) && p.output.data) {
        const char* at = strstr(p.output.data, "clang version ");
        if (at)
            version = (unsigned)strtoul(at + strlen("clang version "), NULL, 10);
    }
    process_free(&p);
    return version;
}

/* NULL after recording CLANG_MISSING. */
static const char* find_clang(kc_arena* arena, kc_diags* diags, const kc_options* options)
{
    static const char* const names[] = {"clang-19", "clang-20", "clang-21", "clang-22",
                                        "clang-18", "clang-17", "clang-16", "clang"};
    const kc_loc nowhere = {0};
    const char* asked = options->clang ? options->clang : getenv("KHAL_CLANG");
    if (asked && *asked) {
        const char* origin = options->clang ? "as asked for" : "from KHAL_CLANG";
        const char* path = kc_find_program(arena, asked);
        if (!path) {
            kc_error(diags, nowhere, KC_DIAG_CLANG_MISSING, "'%s' (%s) is not a program", asked,
                     origin);
            return NULL;
        }
        const unsigned version = clang_version(path);
        if (version < KC_CLANG_OLDEST) {
            if (version)
                kc_error(diags, nowhere, KC_DIAG_CLANG_MISSING,
                         "'%s' (%s) is clang %u; khalc needs %d or newer", path, origin, version,
                         KC_CLANG_OLDEST);
            else
                kc_error(diags, nowhere, KC_DIAG_CLANG_MISSING, "'%s' (%s) is not clang", path,
                         origin);
            return NULL;
        }
        return path;
    }
    kc_text looked_for = {0};
    const char* found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++) {
        const char* path = kc_find_program(arena, names[i]);
        const unsigned version = path ? clang_version(path) : 0;
        if (version >= KC_CLANG_OLDEST)
            found = path;
        else if (path)
            kc_putf(&looked_for, "%s%s (version %u)", i ? ", " : "", path, version);
        else
            kc_putf(&looked_for, "%s%s", i ? ", " : "", names[i]);
    }
    if (!found)
        kc_error(diags, nowhere, KC_DIAG_CLANG_MISSING,
                 "clang %d or newer was not found in PATH (looked for %s); install it, or name it "
                 "with KHAL_CLANG",
                 KC_CLANG_OLDEST, looked_for.data ? looked_for.data : "nothing");
    kc_text_free(&looked_for);
    return found;
}

/* ---- what clang said ------------------------------------------------------------------------- */

/* Copies a line without the escape sequences that colour it. */
static void plain_line(char* to, size_t room, const char* line, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size && n + 1 < room; i++) {
        if (line[i] == '\033' && i + 1 < size && line[i + 1] == '[') {
            i += 2;
            while (i < size && !isalpha((unsigned char)line[i]))
                i++;
            continue;
        }
        to[n++] = line[i];
    }
    to[n] = 0;
}

/* Finds the first "FILE:LINE:COLUMN: error: ..." or "fatal error:". True also for an error without
 * a place. */
static bool first_error(kc_arena* arena, const kc_text* messages, kc_loc* loc)
{
    if (!messages->data)
        return false;
    bool found = false;
    const char* end = messages->data + messages->size;
    for (const char* line = messages->data; line < end;) {
        const char* stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            stop = end;
        char text[4096];
        plain_line(text, sizeof text, line, (size_t)(stop - line));
        line = stop + 1;
        found |= strncmp(text, "error: ", strlen("error: ")) == 0; /* of an option */
        char* error = strstr(text, ": error: ");
        if (!error)
            error = strstr(text, ": fatal error: ");
        if (!error)
            continue;
        found = true;
        *error = 0;
        char* column = strrchr(text, ':');
        if (!column || column == text)
            continue;
        *column++ = 0;
        char* number = strrchr(text, ':');
        if (!number || !isdigit((unsigned char)number[1]) || !isdigit((unsigned char)*column))
            continue;
        *number++ = 0;
        *loc = (kc_loc){.file = kc_strdup(arena, text),
                        .line = (uint32_t)strtoul(number, NULL, 10),
                        .column = (uint32_t)strtoul(column, NULL, 10)};
        return true;
    }
    return found;
}

/* The prerequisites of a make rule: spaces and # escaped by \, $ doubled, lines continued by a
 * final \. */
static void read_dependencies(kc_arena* arena, const kc_text* rule, kc_dependencies* out)
{
    const char* s = rule->data ? strchr(rule->data, ':') : NULL;
    if (!s)
        return;
    s++;
    uint32_t capacity = 0;
    kc_text name = {0};
    for (;; s++) {
        const bool is_escape = s[0] == '\\' && s[1];
        if (is_escape && (s[1] == ' ' || s[1] == '#')) {
            kc_putn(&name, ++s, 1);
        } else if (s[0] == '$' && s[1] == '$') {
            kc_putn(&name, ++s, 1);
        } else if (*s == 0 || isspace((unsigned char)*s) ||
                   (is_escape && isspace((unsigned char)s[1]))) {
            if (name.size) {
                if (out->count == capacity) {
                    capacity = capacity ? capacity * 2 : 16;
                    const char** bigger = KC_NEW_ARRAY(arena, const char*, capacity);
                    if (out->count)
                        memcpy(bigger, out->files, sizeof *bigger * out->count);
                    out->files = bigger;
                }
                out->files[out->count++] = kc_strndup(arena, name.data, name.size);
                name.size = 0;
            }
            if (*s == 0)
                break;
        } else {
            kc_putn(&name, s, 1);
        }
    }
    kc_text_free(&name);
}

/* ---- the run --------------------------------------------------------------------------------- */

static char** command_line(kc_arena* arena, const kc_options* options, kc_dump dump)
{
    const char* fixed[] = {
        "clang",
        "-x",
        "cl",
        "-cl-std=CL1.2",
        "-target",
        options->size_t_bits == 32 ? "spir" : "spir64",
        "-fsyntax-only",
        "-Xclang",
        dump == KC_DUMP_JSON ? "-ast-dump=json" : "-ast-dump",
        "-fno-crash-diagnostics",
        /* the dump has no arguments of reqd_work_group_size, but those of annotate */
        "-Dreqd_work_group_size(...)=annotate(\"khal.rwgs\", __VA_ARGS__), "
        "reqd_work_group_size(__VA_ARGS__)",
        "-D__reqd_work_group_size__(...)=annotate(\"khal.rwgs\", __VA_ARGS__), "
        "__reqd_work_group_size__(__VA_ARGS__)",
        /* nor which member __builtin_offsetof is about, but the length of an array type */
        "-Doffsetof(type, member)=(sizeof(char[__builtin_offsetof(type, member) + 1]) - 1)",
        "-D__KHAL__=1",
        dump == KC_DUMP_JSON && isatty(STDERR_FILENO) ? "-fcolor-diagnostics"
                                                      : "-fno-color-diagnostics",
        "-MD",
        "-MT",
        "khal",
        "-MF",
        "/dev/fd/3",
    };
    const size_t fixed_count = sizeof fixed / sizeof fixed[0];
    char** args = KC_NEW_ARRAY(arena, char*, fixed_count + options->clang_arg_count + 5);
    size_t n = 0;
    for (size_t i = 0; i < fixed_count; i++)
        args[n++] = kc_strdup(arena, fixed[i]);
    for (uint32_t i = 0; i < options->clang_arg_count; i++)
        args[n++] = kc_strdup(arena, options->clang_args[i]);
    const char* folder = kc_include_folder(arena, options->program);
    if (folder) { /* searched last, for it may be one that has more than khal's headers */
        args[n++] = kc_strdup(arena, "-idirafter");
        args[n++] = kc_strdup(arena, folder);
    }
    args[n++] = kc_strdup(arena, "--");
    args[n++] = kc_strdup(arena, options->input);
    return args;
}

static bool is_readable(const char* path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct stat s;
    const bool ok = fstat(fd, &s) == 0 && !S_ISDIR(s.st_mode);
    if (!ok)
        errno = EISDIR;
    close(fd);
    return ok;
}

/* Why clang gave no tree. */
static void report_failure(kc_arena* arena, kc_diags* diags, const kc_process* p, kc_loc file)
{
    kc_loc loc = file;
    if (p->is_cut)
        kc_error(diags, file, KC_DIAG_CLANG_FAILED, "clang's output is larger than %zu MiB",
                 KC_DUMP_LIMIT >> 20);
    else if (WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGSEGV)
        kc_error(diags, file, KC_DIAG_CLANG_FAILED,
                 "clang crashed, as it does where code is nested too deeply");
    else if (WIFSIGNALED(p->status))
        kc_error(diags, file, KC_DIAG_CLANG_FAILED, "clang was ended by signal %d",
                 WTERMSIG(p->status));
    else if (WEXITSTATUS(p->status) == 1 && first_error(arena, &p->messages, &loc))
        kc_error(diags, loc, KC_DIAG_SOURCE,
                 loc.line ? "clang found an error here, and says above what it is"
                          : "clang found an error, and says above what it is");
    else if (WEXITSTATUS(p->status) == 0)
        kc_error(diags, file, KC_DIAG_CLANG_FAILED, "clang printed no tree");
    else
        kc_error(diags, file, KC_DIAG_CLANG_FAILED, "clang stopped with status %d",
                 WEXITSTATUS(p->status));
}

bool kc_clang_run(kc_arena* arena, kc_diags* diags, const kc_options* options, kc_dump dump,
                  kc_dependencies* dependencies, char** out, size_t* out_size)
{
    const kc_loc file = {.file = options->input};
    if (!is_readable(options->input)) {
        kc_error(diags, file, KC_DIAG_INPUT, "the source file could not be read: %s",
                 strerror(errno));
        return false;
    }
    const char* clang = find_clang(arena, diags, options);
    if (!clang)
        return false;
    kc_process p = {.pass_messages = dump == KC_DUMP_JSON && !options->drops_messages,
                    .drop_indent = dump == KC_DUMP_JSON};
    if (!run_process(&p, clang, command_line(arena, options, dump))) {
        kc_error(diags, (kc_loc){0}, KC_DIAG_CLANG_MISSING, "'%s' could not be run", clang);
        process_free(&p);
        return false;
    }
    if (dependencies)
        read_dependencies(arena, &p.dependencies, dependencies);
    const bool succeeded =
        !p.is_cut && WIFEXITED(p.status) && WEXITSTATUS(p.status) == 0 && p.output.size;
    if (succeeded) {
        *out = p.output.data;
        *out_size = p.output.size;
        p.output = (kc_text){0};
    } else {
        report_failure(arena, diags, &p, file);
    }
    process_free(&p);
    return succeeded;
}

/* ---- compiling C --------------------------------------------------------------------------------- */

struct kc_compilation {
    kc_process process;
};

kc_compilation* kc_clang_start(kc_arena* arena, kc_diags* diags, const kc_options* options,
                               const char* const* args, uint32_t arg_count, const kc_text* source)
{
    const char* clang = find_clang(arena, diags, options);
    if (!clang)
        return NULL;
    char** all = KC_NEW_ARRAY(arena, char*, arg_count + 2);
    all[0] = kc_strdup(arena, "clang");
    for (uint32_t i = 0; i < arg_count; i++)
        all[i + 1] = kc_strdup(arena, args[i]);
    kc_compilation* c = KC_NEW(arena, kc_compilation);
    c->process.input = source->data;
    c->process.input_size = source->size;
    if (start_process(&c->process, clang, all))
        return c;
    kc_error(diags, (kc_loc){0}, KC_DIAG_CLANG_MISSING, "'%s' could not be run", clang);
    return NULL;
}

bool kc_clang_finish(kc_compilation* c, kc_text* out, kc_text* out_messages)
{
    finish_process(&c->process);
    *out = c->process.output;
    *out_messages = c->process.messages;
    kc_text_free(&c->process.dependencies);
    return !c->process.is_cut && WIFEXITED(c->process.status) && WEXITSTATUS(c->process.status) == 0;
}

uint32_t kc_clang_version(kc_arena* arena, kc_diags* diags, const kc_options* options, const char** out_path)
{
    const char* clang = find_clang(arena, diags, options);
    *out_path = clang;
    return clang ? clang_version(clang) : 0;
}
