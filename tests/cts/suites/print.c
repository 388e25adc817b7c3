/* printf of kernels, caught by khal_device_desc.print. */
#include "../cts.h"

#include "print.khal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct caught { char text[65536]; size_t size; bool cut; } caught;

static void take(void* user, const char* text, size_t size)
{
    caught* c = user; /* one call at a time */
    if (c->size + size >= sizeof c->text) {
        c->cut = true;
        return;
    }
    memcpy(c->text + c->size, text, size);
    c->size += size;
    c->text[c->size] = 0;
}

/* Runs a kernel on a device of its own whose output is caught. */
static caught* run(cts* t, const char* kernel, khal_grid grid, const khal_buffer_desc* buffer_desc, const void* push, uint32_t push_size, uint64_t local_size)
{
    caught* c = cts_alloc(t, sizeof *c);
    khal_device_desc desc = cts_device_desc(t);
    desc.print = take;
    desc.print_user = c;
    khal_device* device = NULL;
    khal_module* module = NULL;
    khal_function* function = NULL;
    khal_encoder* encoder = NULL;
    khal_buffer* buffer = NULL;
    khal_pass* pass = NULL;
    bool ok = CTS_OK(t, khal_device_open(&desc, &device)) && CTS_OK(t, khal_module_load(device, &(khal_module_desc){.library = &print_library}, &module)) &&
              CTS_OK(t, khal_function_create(module, &(khal_function_desc){.entry_point = kernel}, &function)) &&
              CTS_OK(t, khal_encoder_create(device, NULL, &encoder)) && CTS_OK(t, khal_pass_begin(encoder, NULL, &pass)) &&
              (buffer_desc == NULL || CTS_OK(t, khal_buffer_create(device, buffer_desc, &buffer)));
    if (ok) {
        const khal_slice slice = khal_slice_all(buffer);
        const khal_dispatch_desc dispatch = {.function = function, .grid = grid, .bindings = &slice, .binding_count = buffer != NULL,
                                             .push_constants = push, .push_constant_size = push_size, .local_sizes = &local_size,
                                             .local_count = local_size != 0};
        ok = CTS_OK(t, khal_pass_dispatch(pass, &dispatch, NULL)) && CTS_OK(t, khal_pass_end(pass)) && CTS_OK(t, khal_submit(encoder, NULL)) &&
             CTS_OK(t, khal_device_wait(device, KHAL_FOREVER));
    }
    khal_buffer_release(buffer);
    khal_encoder_release(encoder);
    khal_function_release(function);
    khal_module_release(module);
    khal_device_release(device);
    if (c->cut) ok = cts_fail(t, __FILE__, __LINE__, "more output than expected");
    return ok ? c : NULL;
}

static bool check_line(cts* t, char** rest, const char* expected)
{
    char* line = *rest;
    char* end = strchr(line, '\n');
    if (end == NULL) return cts_fail(t, __FILE__, __LINE__, "output ends early: expected \"%s\"", expected);
    *end = 0;
    *rest = end + 1;
    return strcmp(line, expected) == 0 || cts_fail(t, __FILE__, __LINE__, "expected \"%s\", got \"%s\"", expected, line);
}

static void formats(cts* t)
{
    caught* c = run(t, "formats", khal_threads(1, 1, 1), NULL, NULL, 0, 0);
    if (c == NULL) return;
    char* rest = c->text;
    char line[256];
    check_line(t, &rest, "plain text, % and a tab\t|");
    snprintf(line, sizeof line, "%d %i %u %o %x %X|", -5, 7, 4000000000u, 8u, 255u, 0xabcdefu);
    check_line(t, &rest, line);
    snprintf(line, sizeof line, "%5d|%-5d|%05d|%+d|% d|%.3d", 42, 42, 42, 42, 42, 7);
    check_line(t, &rest, line);
    snprintf(line, sizeof line, "%d %d %lld %llu %llx|", -1, -300, -5000000000ll, 18446744073709551615ull, 0xdeadbeefcafeull);
    check_line(t, &rest, line);
    snprintf(line, sizeof line, "%f %.2f %e %g %G %a|", 1.5, (double)3.14159f, (double)12345.678f, (double)0.0001f, (double)1e10f, 1.0);
    check_line(t, &rest, line);
    snprintf(line, sizeof line, "%8.3f|%-8.1f|%+.0f|%#.0f", 2.5, 2.25, 7.0, 3.0);
    check_line(t, &rest, line);
    check_line(t, &rest, "ok a string|");
    check_line(t, &rest, "1,-2,3,-4|7,-8|1,2,255|5,-6");
    check_line(t, &rest, "1.000000,2.500000,-3.000000,0.000000|  1.2,  2.0|10,ff");
    check_line(t, &rest, "2.50 4");
    CTS_CHECK(t, *rest == 0);
}

/* Each work-item's line comes whole, in any order. */
static void each(cts* t)
{
    enum { COUNT = 500 };
    const uint32_t n = COUNT;
    caught* c = run(t, "each", khal_threads(COUNT, 1, 1), NULL, &n, 4, 0);
    if (c == NULL) return;
    bool seen[COUNT] = {false};
    uint32_t lines = 0;
    for (char* line = c->text; *line != 0; lines++) {
        unsigned item = COUNT, of = 0;
        char* end = strchr(line, '\n');
        if (end == NULL || sscanf(line, "item %u of %u\n", &item, &of) != 2 || item >= COUNT || of != COUNT || seen[item]) {
            cts_fail(t, __FILE__, __LINE__, "line %u is not whole, or comes twice: \"%.60s\"", lines, line);
            return;
        }
        seen[item] = true;
        line = end + 1;
    }
    CTS_EQ(t, lines, COUNT);
}

static uint32_t count_of(const char* text, const char* what)
{
    uint32_t n = 0;
    for (const char* at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) n++;
    return n;
}

static void in_branches(cts* t)
{
    const int32_t a[6] = {-3, 0, 1, 5, -3, 3};
    const khal_buffer_desc desc = {.data = a, .size = sizeof a, .element_size = 4};
    caught* c = run(t, "in_branches", khal_threads(6, 1, 1), &desc, NULL, 0, 0);
    if (c == NULL) return;
    CTS_EQ(t, count_of(c->text, "negative -3\n"), 2);
    CTS_EQ(t, count_of(c->text, "zero\n"), 1);
    CTS_EQ(t, count_of(c->text, "two of 5\n"), 1);
    CTS_EQ(t, count_of(c->text, "two of 3\n"), 1);
    CTS_EQ(t, count_of(c->text, "\n"), 5);
}

static void around_barriers(cts* t)
{
    caught* c = run(t, "around_barriers", khal_grid_with_workgroup(khal_groups(1, 1, 1), 16, 1, 1), NULL, NULL, 0, 16 * 4);
    if (c == NULL) return;
    CTS_EQ(t, count_of(c->text, "before\n"), 16);
    CTS_EQ(t, count_of(c->text, "after 15\n"), 1);
    const char* after = strstr(c->text, "after");
    if (after != NULL) CTS_EQ(t, count_of(after, "before"), 0);
}

void cts_suite_print(cts_registry* registry)
{
    cts_add(registry, "formats", formats, NULL, KHAL_FEATURE_PRINTF);
    cts_add(registry, "each", each, NULL, KHAL_FEATURE_PRINTF);
    cts_add(registry, "in_branches", in_branches, NULL, KHAL_FEATURE_PRINTF);
    cts_add(registry, "around_barriers", around_barriers, NULL, KHAL_FEATURE_PRINTF);
}
