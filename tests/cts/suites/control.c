/* Control flow without barriers. The reference is the same source, compiled by the host's compiler. */
#include "../cts.h"

#include "control.khal.h"

#include <stdio.h>

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Waddress"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#endif
#include "../kernels/control_functions.h"

typedef u32 (*reference_fn)(u32 x, u32 y);
typedef struct control_case { const char* name; const char* kernel; reference_fn reference; } control_case;

enum { SIDE = 64, COUNT = SIDE * SIDE };

static u32 returns_in_kernel(u32 x, u32 y)
{
    u32 out = 1;
    if (x == 0) return out;
    out = 2;
    for (u32 k = 0; k < 10; k++) {
        if (k == y) return out + 100;
        if (x % 3 == 0) continue;
        if (x % 3 == 1 && k == 5) return out;
        out += k;
        if (out > 40) return out;
    }
    return 3;
}

static const control_case cases[] = {
#define CASE(name) {#name, "run_" #name, name},
    CONTROL_FUNCTIONS(CASE)
#undef CASE
    {"returns_in_kernel", "returns_in_kernel", returns_in_kernel},
};

static void control_run(cts* t)
{
    const control_case* c = cts_data(t);
    u32* x = cts_alloc(t, COUNT * sizeof *x);
    u32* y = cts_alloc(t, COUNT * sizeof *y);
    for (u32 i = 0; i < COUNT; i++) {
        x[i] = i % SIDE;
        y[i] = i / SIDE;
    }
    khal_buffer* out = cts_buffer_of(t, NULL, COUNT * 4, 4);
    if (!cts_run(t, .library = &control_library, .kernel = c->kernel, .grid = khal_threads(COUNT, 1, 1),
                 .buffers = {cts_buffer_of(t, x, COUNT * 4, 4), cts_buffer_of(t, y, COUNT * 4, 4), out}))
        return;
    const u32* actual = cts_read_all(t, out);
    for (u32 i = 0; actual != NULL && i < COUNT; i++) {
        const u32 expected = c->reference(x[i], y[i]);
        if (actual[i] != expected)
            cts_fail(t, __FILE__, __LINE__, "%s, index %u: x = %u, y = %u: expected %u, got %u", c->name, i, x[i], y[i], expected, actual[i]);
    }
}

void cts_suite_control(cts_registry* registry)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) cts_add(registry, cases[i].name, control_run, &cases[i], 0);
}
