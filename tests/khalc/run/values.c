/* Runs the kernels of values.cl, straight from the library that khalc made, at each SIMD level that
 * the machine has. Each stores pairs, what it got and what it should get, and last their count. */
#include "level.h"
#include "values.khal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 256, ALIGNMENT = 128 };

static int run(const khal_cpu_kernel* kernel, const char* name, uint32_t level)
{
    int32_t out[WORDS], in[16];
    memset(out, 0x55, sizeof out);
    for (int i = 0; i < 16; i++)
        in[i] = i;
    const uint64_t size = (kernel->scratch_fixed + kernel->scratch_per_item + ALIGNMENT - 1) /
                          ALIGNMENT * ALIGNMENT;
    char* scratch = aligned_alloc(ALIGNMENT, size + ALIGNMENT);
    if (!scratch)
        return 1;
    void* bindings[2] = {out, in};
    const uint64_t sizes[2] = {sizeof out, sizeof in};
    const khal_cpu_launch launch = {
        .work_dim = 1,
        .local_size = {1, 1, 1},
        .group_count = {1, 1, 1},
        .global_size = {1, 1, 1},
        .bindings = bindings,
        .binding_sizes = sizes,
    };
    kernel->run(&launch, 0, 1, scratch);
    free(scratch);
    const int count = out[WORDS - 1];
    if (count < 1 || count > WORDS / 2 - 1) {
        printf("FAIL: %s at level %u: %d values\n", name, level, count);
        return 1;
    }
    int failures = 0;
    for (int i = 0; i < count; i++)
        if (out[2 * i] != out[2 * i + 1]) {
            printf("FAIL: %s at level %u: value %d is %d, should be %d\n", name, level, i,
                   out[2 * i], out[2 * i + 1]);
            failures++;
        }
    return failures;
}

int main(void)
{
    int runs = 0, failures = 0;
    for (uint32_t c = 0; c < values_library.code_count; c++) {
        const khal_code* code = &values_library.codes[c];
        if (code->format != KHAL_FORMAT_CPU || !has_level(code->level))
            continue;
        for (uint32_t k = 0; k < values_library.kernel_count; k++, runs++)
            failures += run(&code->cpu_kernels[k], values_library.kernels[k].name, code->level);
    }
    printf("%d runs, %d failures\n", runs, failures);
    return failures != 0 || runs == 0;
}
