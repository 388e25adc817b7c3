/* Runs the kernels of flow.cl, straight from the library that khalc made, at each SIMD level that
 * the machine has, and compares with flow.c, where each work-item is a thread. */
#include "flow.h"
#include "flow.khal.h"
#include "level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static uint64_t round_up(uint64_t n)
{
    return (n + 127) & ~(uint64_t)127;
}

static void run_khal(const khal_cpu_kernel* kernel, int groups, int local_size, int* out,
                     const int* in, unsigned n)
{
    const uint64_t items = (uint64_t)local_size, local_bytes = items * sizeof(int);
    const uint64_t size =
        round_up(kernel->scratch_fixed + kernel->scratch_per_item * items + round_up(local_bytes));
    char* scratch = aligned_alloc(128, size + 128);
    if (!scratch)
        abort();
    memset(scratch, 0xab, size + 128);
    void* bindings[2] = {out, (void*)(uintptr_t)in};
    const uint64_t sizes[2] = {items * (uint64_t)groups * sizeof(int),
                               items * (uint64_t)groups * sizeof(int)};
    const khal_cpu_launch launch = {
        .work_dim = 1,
        .local_size = {(uint32_t)local_size, 1, 1},
        .group_count = {(uint64_t)groups, 1, 1},
        .global_size = {items * (uint64_t)groups, 1, 1},
        .bindings = bindings,
        .binding_sizes = sizes,
        .push_constants = &n,
        .local_sizes = &local_bytes,
    };
    kernel->run(&launch, 0, (uint64_t)groups / 2, scratch);
    kernel->run(&launch, (uint64_t)groups / 2, (uint64_t)groups, scratch);
    for (int i = 0; i < 128; i++)
        if ((unsigned char)scratch[size + (uint64_t)i] != 0xab) {
            printf("FAIL: a kernel wrote past its scratch\n");
            failures++;
            break;
        }
    free(scratch);
}

static void compare(const khal_code* code, int index, int groups, int local_size, unsigned n)
{
    enum { MOST = 512 };
    int in[MOST + 1], expected[MOST], got[MOST], shared[MOST];
    const int total = groups * local_size;
    for (int i = 0; i <= MOST; i++)
        in[i] = (int)(((unsigned)i * 2654435761u + n * 40503u) >> 13) % 23;
    for (int i = 0; i < MOST; i++)
        expected[i] = got[i] = i % 7;
    for (int g = 0; g < groups; g++)
        flow_run_group(flow_entries[index].run, g, local_size, total, expected, in, n, shared);
    run_khal(&code->cpu_kernels[index], groups, local_size, got, in, n);
    for (int i = 0; i < MOST; i++)
        if (expected[i] != got[i]) {
            printf("FAIL: %s at level %u, %d groups of %d, n %u: out[%d] is %d, should be %d\n",
                   flow_entries[index].name, code->level, groups, local_size, n, i, got[i],
                   expected[i]);
            failures++;
            return;
        }
}

int main(void)
{
    static const int sizes[][2] = {{1, 1}, {3, 2}, {2, 8}, {2, 13}, {2, 32}};
    int runs = 0;
    for (uint32_t c = 0; c < flow_library.code_count; c++) {
        const khal_code* code = &flow_library.codes[c];
        if (code->format != KHAL_FORMAT_CPU || !has_level(code->level))
            continue;
        for (int k = 0; k < flow_count; k++) {
            if (strcmp(flow_library.kernels[k].name, flow_entries[k].name) != 0) {
                printf("FAIL: kernel %d is %s\n", k, flow_library.kernels[k].name);
                return 1;
            }
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                for (unsigned n = 0; n < 4; n++, runs++)
                    compare(code, k, sizes[s][0], sizes[s][1],
                            (unsigned)(sizes[s][0] * sizes[s][1]) * n / 4 + n);
        }
    }
    printf("%d runs, %d failures\n", runs, failures);
    return failures != 0;
}
