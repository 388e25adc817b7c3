/* The stand-in for CUDA's driver under the suites: what the backend launches there runs as the kernels' CPU functions. */
#include "harness.h"

#ifdef _WIN32
void cts_standin_use(void) {}
bool cts_standin_is_content(void) { return true; }
#else

#include "../unit/cuda/standin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CTS_LIBRARY(name) extern const khal_kernel_library name##_library;
#include "cts-libraries.def"
#undef CTS_LIBRARY

static const khal_kernel_library* const libraries[] = {
#define CTS_LIBRARY(name) &name##_library,
#include "cts-libraries.def"
#undef CTS_LIBRARY
};

static const standin_hooks* hooks;

static const khal_code* code_of(const khal_kernel_library* library, uint32_t format)
{
    for (uint32_t i = 0; i < library->code_count; i++)
        if (library->codes[i].format == format && (format != KHAL_FORMAT_CPU || library->codes[i].level == KHAL_CPU_LEVEL_BASE))
            return &library->codes[i];
    return NULL;
}

/* The kernel that is launched, by its module's text and the entry point's name. */
static bool find_kernel(const standin_launch* launch, const khal_kernel_info** out_info, const khal_cpu_kernel** out_kernel)
{
    for (size_t l = 0; l < sizeof libraries / sizeof libraries[0]; l++) {
        const khal_code *ptx = code_of(libraries[l], KHAL_FORMAT_PTX), *cpu = code_of(libraries[l], KHAL_FORMAT_CPU);
        if (ptx == NULL || cpu == NULL || strcmp(launch->code, ptx->bytes) != 0) continue;
        for (uint32_t k = 0; k < libraries[l]->kernel_count; k++) {
            const khal_ptx_kernel* kernel = &ptx->ptx_kernels[k];
            if (kernel->entry == NULL) continue;
            if (strcmp(kernel->entry, launch->name) != 0 && strcmp(kernel->grid_entry, launch->name) != 0) continue;
            *out_info = &libraries[l]->kernels[k];
            *out_kernel = &cpu->cpu_kernels[k];
            return true;
        }
    }
    return false;
}

/* The logical grid, of either entry point. False: too many groups, and none runs. */
static bool read_grid(const standin_launch* launch, khal_cpu_launch* out)
{
    const void* last = launch->parameters[launch->parameter_count - 1];
    khal_ptx_grid grid;
    khal_ptx_plain plain;
    if (launch->sizes[launch->parameter_count - 1] == sizeof plain) {
        memcpy(&plain, last, sizeof plain);
        memcpy(out->global_size, plain.global_size, sizeof out->global_size);
        out->work_dim = plain.work_dim;
        for (int i = 0; i < 3; i++) out->group_count[i] = launch->grid[i];
        return true;
    }
    memcpy(&grid, last, sizeof grid);
    memcpy(out->group_count, grid.group_count, sizeof out->group_count);
    memcpy(out->global_size, grid.global_size, sizeof out->global_size);
    out->work_dim = grid.work_dim;
    if (grid.counts == 0) return true;
    const uint32_t* counts = hooks->at(grid.counts, 12);
    unsigned __int128 all = 1;
    for (int i = 0; i < 3 && counts != NULL; i++) {
        out->group_count[i] = counts[i];
        out->global_size[i] = (uint64_t)counts[i] * launch->block[i];
        all *= counts[i];
    }
    out->work_dim = 3;
    if (all < (unsigned __int128)1 << 63) return true;
    uint32_t* too_many = hooks->at(grid.too_many, 4);
    if (too_many != NULL) *too_many = 1;
    return false;
}

enum { MOST_ARGUMENTS = 256, MOST_PUSH = 4096 };
typedef struct arguments {
    void* bindings[MOST_ARGUMENTS];
    uint64_t binding_sizes[MOST_ARGUMENTS], local_sizes[MOST_ARGUMENTS];
    unsigned char push[MOST_PUSH];
    uint64_t local_room;
} arguments;

static void read_arguments(const standin_launch* launch, const khal_kernel_info* info, arguments* out)
{
    for (uint32_t i = 0; i < info->arg_count; i++) {
        const khal_arg_info* arg = &info->args[i];
        uint64_t word = 0;
        memcpy(&word, launch->parameters[i], launch->sizes[i] < 8 ? launch->sizes[i] : 8);
        if (arg->kind == KHAL_ARG_VALUE) {
            memcpy(out->push + arg->offset, launch->parameters[i], arg->element_size);
        } else if (arg->kind == KHAL_ARG_LOCAL) {
            out->local_sizes[arg->index] = word >> 32;
            out->local_room += ((word >> 32) + 127) / 128 * 128;
        } else {
            out->bindings[arg->index] = word != 0 ? hooks->at(word, 0) : NULL;
            out->binding_sizes[arg->index] = UINT32_MAX;
        }
    }
}

static void print_nothing(void* user, const char* text, size_t size)
{
    (void)user;
    (void)text;
    (void)size;
}

static int run_kernel(void* user, const standin_launch* launch)
{
    (void)user;
    const khal_kernel_info* info = NULL;
    const khal_cpu_kernel* kernel = NULL;
    khal_cpu_launch cpu = {.print = print_nothing};
    if (!find_kernel(launch, &info, &kernel) || !read_grid(launch, &cpu)) return 0;
    arguments* a = calloc(1, sizeof *a);
    if (a == NULL) return 2;
    read_arguments(launch, info, a);
    memcpy(cpu.local_size, launch->block, sizeof cpu.local_size);
    cpu.bindings = a->bindings;
    cpu.binding_sizes = a->binding_sizes;
    cpu.push_constants = a->push;
    cpu.local_sizes = a->local_sizes;
    const uint64_t items = (uint64_t)cpu.local_size[0] * cpu.local_size[1] * cpu.local_size[2];
    const uint64_t room = kernel->scratch_fixed + kernel->scratch_per_item * items + a->local_room;
    void* scratch = aligned_alloc(128, (size_t)(room + 255) / 128 * 128);
    if (scratch != NULL) kernel->run(&cpu, 0, cpu.group_count[0] * cpu.group_count[1] * cpu.group_count[2], scratch);
    free(scratch);
    free(a);
    return scratch != NULL ? 0 : 2;
}

void cts_standin_use(void)
{
    const char* path = getenv("KHAL_CUDA_LIBRARY");
    void* library = path != NULL && path[0] != 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    hooks = library != NULL ? dlsym(library, "standin") : NULL;
    if (hooks != NULL) hooks->other_kernels(run_kernel, NULL);
}

bool cts_standin_is_content(void)
{
    if (hooks == NULL) return true;
    const bool is_content = hooks->misuse()[0] == 0 && hooks->live() == 0;
    if (!is_content) printf("FAIL the driver was used wrongly: %s; left: %s\n", hooks->misuse(), hooks->first_live());
    return is_content;
}
#endif
