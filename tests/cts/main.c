/* khal-cts: runs the conformance suite on one device. Each case runs in a child process that carries on with the next one, so
 * that a case that crashes or hangs fails alone. */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static const char usage[] =
    "usage: khal-cts [--device cpu|cuda|vulkan|metal|webgpu] [--filter GLOB] [--suite NAME] [--part I/N]\n"
    "                [--list] [--list-suites] [--verbose] [--no-fork]\n"
    "Runs the cases (named suite.case) whose name matches GLOB on the device; with --part, the I-th of N shares of them. KHAL_CTS_REQUIRE=cpu,cuda,... makes it a failure\n"
    "that such a device can't be opened; KHAL_CTS_TIME_LIMIT is the seconds that a case may take (default 300).\n";

typedef struct options {
    const cts_backend* backend;
    const char* filter;
    const char* suite;
    uint32_t part, part_count; /* 1 to part_count; 0: all */
    bool verbose, in_process;
    uint32_t time_limit; /* s */
} options;

typedef struct tally { uint32_t passed, failed, skipped; } tally;

static void count(tally* sum, cts_outcome outcome)
{
    if (outcome == CTS_PASSED) sum->passed++;
    else if (outcome == CTS_FAILED) sum->failed++;
    else sum->skipped++;
}

static void add_suite(cts_registry* registry, const char* name, void (*add)(cts_registry*))
{
    registry->suite = name;
    add(registry);
}

void cts_register_all(cts_registry* registry)
{
#define CTS_SUITE(name) add_suite(registry, #name, cts_suite_##name);
#include "suites.def"
#undef CTS_SUITE
}

void cts_registry_free(cts_registry* registry)
{
    for (uint32_t i = 0; i < registry->count; i++) free(registry->cases[i].name);
    free(registry->cases);
}

void cts_addf(cts_registry* registry, cts_case_fn run, const void* data, uint32_t features, const char* format, ...)
{
    char name[96];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    cts_add(registry, name, run, data, features);
}

void cts_add(cts_registry* registry, const char* name, cts_case_fn run, const void* data, uint32_t features)
{
    if (registry->count == registry->capacity) {
        registry->capacity = registry->capacity == 0 ? 256 : 2 * registry->capacity;
        registry->cases = realloc(registry->cases, registry->capacity * sizeof *registry->cases);
    }
    const size_t size = strlen(registry->suite) + strlen(name) + 2;
    char* full = malloc(size);
    if (registry->cases == NULL || full == NULL) {
        fputs("khal-cts: out of memory\n", stderr);
        exit(2);
    }
    snprintf(full, size, "%s.%s", registry->suite, name);
    registry->cases[registry->count++] =
        (cts_case){.suite = registry->suite, .name = full, .run = run, .data = data, .features = features};
}

/* Shares go by name, so that a new case moves no other. */
static bool is_in_part(const options* o, const char* name)
{
    uint32_t sum = 0;
    for (; *name != 0; name++) sum += (unsigned char)*name;
    return o->part == 0 || sum % o->part_count == o->part - 1;
}

static bool is_chosen(const options* o, const cts_case* which)
{
    if (!is_in_part(o, which->name)) return false;
    return (o->suite == NULL || strcmp(o->suite, which->suite) == 0) && (o->filter == NULL || cts_match(o->filter, which->name));
}

/* Whether `name` is in a list separated by commas. */
static bool is_listed(const char* list, const char* name)
{
    const size_t size = strlen(name);
    while (list != NULL && *list != 0) {
        const size_t n = strcspn(list, ",");
        if (n == size && strncmp(list, name, n) == 0) return true;
        list += n + (list[n] == ',');
    }
    return false;
}

static tally run_in_process(const options* o, const cts_registry* registry)
{
    tally sum = {0};
    cts_session* session = cts_session_open(o->backend, o->verbose);
    for (uint32_t i = 0; session != NULL && i < registry->count; i++)
        if (is_chosen(o, &registry->cases[i])) count(&sum, cts_session_run(session, &registry->cases[i]));
    if (session != NULL) cts_session_close(session);
    return sum;
}

#ifndef _WIN32
typedef struct report { uint32_t index; int32_t outcome; } report; /* outcome -1: the case begins */

static void child_run(const options* o, const cts_registry* registry, uint32_t first, int out)
{
    cts_session* session = cts_session_open(o->backend, o->verbose);
    if (session == NULL) {
        fprintf(stderr, "khal-cts: %s\n", khal_error_get()->message);
        exit(3);
    }
    for (uint32_t i = first; i < registry->count; i++) {
        if (!is_chosen(o, &registry->cases[i])) continue;
        report r = {.index = i, .outcome = -1};
        if (write(out, &r, sizeof r) != (ssize_t)sizeof r) break;
        r.outcome = (int32_t)cts_session_run(session, &registry->cases[i]);
        fflush(stdout);
        if (write(out, &r, sizeof r) != (ssize_t)sizeof r) break;
    }
    cts_session_close(session);
    if (!cts_standin_is_content()) exit(4);
}

static bool read_report(int in, report* r)
{
    ssize_t n;
    do n = read(in, r, sizeof *r);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *r;
}

static tally run_in_children(const options* o, const cts_registry* registry)
{
    tally sum = {0};
    uint32_t first = 0;
    while (first < registry->count) {
        int ends[2];
        if (pipe(ends) != 0) {
            perror("khal-cts: pipe");
            exit(2);
        }
        fflush(stdout);
        const pid_t pid = fork();
        if (pid < 0) {
            perror("khal-cts: fork");
            exit(2);
        }
        if (pid == 0) {
            close(ends[0]);
            child_run(o, registry, first, ends[1]);
            exit(0);
        }
        close(ends[1]);
        int64_t running = -1;
        bool timed_out = false;
        for (;;) {
            struct pollfd wait = {.fd = ends[0], .events = POLLIN};
            const int ready = poll(&wait, 1, (int)o->time_limit * 1000);
            if (ready < 0 && errno == EINTR) continue;
            if (ready == 0) {
                timed_out = true;
                kill(pid, SIGKILL);
                break;
            }
            report r;
            if (!read_report(ends[0], &r)) break;
            running = r.outcome < 0 ? (int64_t)r.index : -1;
            first = r.index + 1;
            if (r.outcome >= 0) count(&sum, (cts_outcome)r.outcome);
        }
        close(ends[0]);
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (running >= 0) {
            sum.failed++;
            const char* name = registry->cases[running].name;
            if (timed_out) printf("FAIL %s: did not end in %u s\n", name, o->time_limit);
            else if (WIFSIGNALED(status)) printf("FAIL %s: crashed by signal %d\n", name, WTERMSIG(status));
            else printf("FAIL %s: the process ended with %d in it\n", name, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        } else {
            /* All its cases are done: what remains is how the process ended, a sanitizer's leak report for one. */
            if (timed_out || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                sum.failed++;
                printf("FAIL the process that ran the cases did not end well after the last of them\n");
            }
            break;
        }
    }
    return sum;
}
#endif

/* Whether the backend has a device: its name, or why not, into message. */
static bool probe_here(const options* o, char* message, size_t size)
{
    bool found = false;
    uint32_t total = 0;
    const khal_status status = khal_device_enumerate(0, NULL, &total);
    khal_device_info* infos = status == KHAL_OK && total > 0 ? calloc(total, sizeof *infos) : NULL;
    snprintf(message, size, "the backend is not in this build");
    if (infos != NULL && khal_device_enumerate(total, infos, &total) == KHAL_OK) {
        for (uint32_t i = 0; i < total && !found; i++) {
            if (infos[i].backend != o->backend->id) continue;
            found = infos[i].available;
            snprintf(message, size, "%s", found ? infos[i].name : infos[i].reason);
        }
    }
    free(infos);
    return found;
}

/* In a child too: no driver is touched before the fork of the process that runs the cases. */
static bool probe(const options* o, char* message, size_t size)
{
#ifndef _WIN32
    int ends[2];
    if (!o->in_process && pipe(ends) == 0) {
        const pid_t pid = fork();
        if (pid == 0) {
            const bool found = probe_here(o, message, size);
            const ssize_t n = write(ends[1], message, strlen(message));
            _exit(found && n >= 0 ? 0 : 1);
        }
        close(ends[1]);
        size_t used = 0;
        ssize_t n = 0;
        while (used + 1 < size && (n = read(ends[0], message + used, size - 1 - used)) > 0) used += (size_t)n;
        message[used] = 0;
        close(ends[0]);
        int status = 1;
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (pid > 0 && WIFSIGNALED(status)) snprintf(message, size, "listing its devices crashed");
        return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
#endif
    return probe_here(o, message, size);
}

static int run(const options* o, const cts_registry* registry)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < registry->count; i++) chosen += is_chosen(o, &registry->cases[i]);
    if (chosen == 0) {
        fputs("khal-cts: no case has that name\n", stderr);
        return 2;
    }
    char message[512] = "";
    const char* reason = o->backend->skip_all;
    if (reason == NULL && !probe(o, message, sizeof message)) reason = message;
    if (reason == NULL) printf("khal-cts: %s: %s\n", o->backend->name, message);
    tally sum = {0};
    if (reason != NULL) {
        const bool required = is_listed(getenv("KHAL_CTS_REQUIRE"), o->backend->name);
        printf("%s %s: %s\n", required ? "FAIL" : "SKIP", o->backend->name, reason);
        if (required) sum.failed = chosen;
        else sum.skipped = chosen;
    } else {
#ifdef _WIN32
        sum = run_in_process(o, registry);
#else
        sum = o->in_process ? run_in_process(o, registry) : run_in_children(o, registry);
#endif
        if (sum.passed + sum.failed + sum.skipped < chosen) {
            printf("FAIL %u cases did not run\n", chosen - sum.passed - sum.failed - sum.skipped);
            sum.failed = chosen - sum.passed - sum.skipped;
        }
    }
    printf("%u passed, %u failed, %u skipped\n", sum.passed, sum.failed, sum.skipped);
    return sum.failed == 0 ? 0 : 1;
}

int main(int argc, char** argv)
{
    options o = {.backend = cts_backend_find("cpu"), .time_limit = 300};
    bool list = false, list_suites = false;
    for (int i = 1; i < argc; i++) {
        const char* value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--list") == 0) list = true;
        else if (strcmp(argv[i], "--list-suites") == 0) list_suites = true;
        else if (strcmp(argv[i], "--verbose") == 0) o.verbose = true;
        else if (strcmp(argv[i], "--no-fork") == 0) o.in_process = true;
        else if (strcmp(argv[i], "--help") == 0) { fputs(usage, stdout); return 0; }
        else if (strcmp(argv[i], "--device") == 0 && value != NULL) {
            o.backend = cts_backend_find(value);
            if (o.backend == NULL) {
                fprintf(stderr, "khal-cts: no backend is named %s\n", value);
                return 2;
            }
            i++;
        } else if (strcmp(argv[i], "--filter") == 0 && value != NULL) { o.filter = value; i++; }
        else if (strcmp(argv[i], "--suite") == 0 && value != NULL) { o.suite = value; i++; }
        else if (strcmp(argv[i], "--part") == 0 && value != NULL && sscanf(value, "%u/%u", &o.part, &o.part_count) == 2 &&
                 o.part >= 1 && o.part <= o.part_count) i++;
        else { fputs(usage, stderr); return 2; }
    }
    const char* limit = getenv("KHAL_CTS_TIME_LIMIT");
    if (limit != NULL) {
        const long seconds = strtol(limit, NULL, 10);
        if (seconds > 0 && seconds < 1000000) o.time_limit = (uint32_t)seconds;
    }
    if (list_suites) {
#define CTS_SUITE(name) puts(#name);
#include "suites.def"
#undef CTS_SUITE
        return 0;
    }
    cts_standin_use();
    cts_registry registry = {0};
    cts_register_all(&registry);
    int result = 0;
    if (list) {
        for (uint32_t i = 0; i < registry.count; i++)
            if (is_chosen(&o, &registry.cases[i])) puts(registry.cases[i].name);
    } else {
        result = run(&o, &registry);
    }
    cts_registry_free(&registry);
    return result;
}
