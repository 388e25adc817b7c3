#include "pairs.h"

void pairs_run(cts* t, const khal_kernel_library* library)
{
    enum { SIDE = 64, COUNT = SIDE * SIDE };
    const pairs_case* c = cts_data(t);
    uint32_t* x = cts_alloc(t, COUNT * sizeof *x);
    uint32_t* y = cts_alloc(t, COUNT * sizeof *y);
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = i % SIDE;
        y[i] = i / SIDE;
    }
    khal_buffer* out = cts_buffer_of(t, NULL, COUNT * 4, 4);
    if (!cts_run(t, .library = library, .kernel = c->kernel, .grid = khal_threads(COUNT, 1, 1),
                 .buffers = {cts_buffer_of(t, x, COUNT * 4, 4), cts_buffer_of(t, y, COUNT * 4, 4), out}))
        return;
    const uint32_t* actual = cts_read_all(t, out);
    for (uint32_t i = 0; actual != NULL && i < COUNT; i++) {
        const uint32_t expected = c->reference(x[i], y[i]);
        if (actual[i] != expected)
            cts_fail(t, __FILE__, __LINE__, "%s, index %u: x = %u, y = %u: expected %u, got %u", c->name, i, x[i], y[i], expected, actual[i]);
    }
}
