#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: khal-bench [options] cpu|cuda|noop|webgpu\n"
    "Measures khal beside plain programs that do the same, in one process.\n"
    "\n"
    "  cpu              kernels beside OpenMP loops and the machine's OpenCL devices, the smallest "
    "dispatch,\n"
    "                   opening a device, and what noop measures\n"
    "  cuda             dispatches, transfers, buffers, modules and kernels beside a plain program "
    "over the driver's\n"
    "                   API, and in one line of JSON; beside the same kernels by nvcc and by clang "
    "from OpenCL C where\n"
    "                   KHAL_BENCH_NVCC and KHAL_BENCH_OPENCL name files of PTX or cubin with "
    "them\n"
    "  webgpu           dispatches, transfers, start-up, memory and kernels beside a plain program "
    "over the same\n"
    "                   library (KHAL_WEBGPU_LIBRARY) and adapter\n"
    "  noop             what the front costs: a dispatch on a device that runs nothing\n"
    "\n"
    "  --rounds N       measurements of each (7)\n"
    "  --kernel NAME    only add_assign, matmul, reduce, nbody, mandelbrot (cpu) or stencil "
    "(cuda, webgpu)\n"
    "  --no-opencl      leave OpenCL devices out\n"
    "  --help           this text\n"
    "  --version        the library's version\n"
    "\n"
    "Exit status: 0 when everything ran and all results were right, whatever the times; 1 "
    "otherwise; 2 for wrong arguments.\n";

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_best(const double* times, uint32_t count)
{
    double best = times[0];
    for (uint32_t i = 1; i < count; i++) {
        best = times[i] < best ? times[i] : best;
    }
    return best;
}

static int compare(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double bench_median(double* times, uint32_t count)
{
    qsort(times, count, sizeof *times, compare);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

double bench_resident(void)
{
    unsigned long total = 0, pages = 0;
    FILE* f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%lu %lu", &total, &pages) != 2)
            pages = 0;
        fclose(f);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576.0;
}

void bench_rest(void)
{
    const struct timespec span = {0, 10000000};
    nanosleep(&span, NULL);
}

bool bench_failed(const char* what)
{
    const khal_error* error = khal_error_get();
    fprintf(stderr, "khal-bench: %s: %s: %s\n", what, khal_error_name(error->id), error->message);
    return false;
}

int main(int argc, char** argv)
{
    bench_options options = {.rounds = 7, .opencl = true};
    const char* what = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (strcmp(argv[i], "--version") == 0) {
            uint32_t v = khal_version();
            printf("khal-bench %u.%u.%u\n", (unsigned)(v >> 16), (unsigned)(v >> 8 & 0xff),
                   (unsigned)(v & 0xff));
            return 0;
        } else if (strcmp(argv[i], "--no-opencl") == 0) {
            options.opencl = false;
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            char* end;
            unsigned long rounds = strtoul(argv[++i], &end, 10);
            if (*end || rounds < 1 || rounds > 1000) {
                fprintf(stderr, "khal-bench: --rounds takes a number from 1 to 1000\n");
                return 2;
            }
            options.rounds = (uint32_t)rounds;
        } else if (strcmp(argv[i], "--kernel") == 0 && i + 1 < argc) {
            options.kernel = argv[++i];
            bool known = strcmp(options.kernel, "stencil") == 0;
            for (int k = 0; k < BENCH_KERNEL_COUNT; k++) {
                known = known || strcmp(bench_works[k].name, options.kernel) == 0;
            }
            if (!known) {
                fprintf(stderr, "khal-bench: there is no kernel \"%s\"; try --help\n",
                        options.kernel);
                return 2;
            }
        } else if (argv[i][0] != '-' && !what) {
            what = argv[i];
        } else {
            fprintf(stderr, "khal-bench: can't make sense of \"%s\"; try --help\n", argv[i]);
            return 2;
        }
    }
    if (what && strcmp(what, "cpu") == 0) {
        int status = bench_cpu(&options);
        if (!options.kernel) {
            putchar('\n');
            int front = bench_noop(&options);
            status = status ? status : front;
        }
        return status;
    }
    if (what && strcmp(what, "webgpu") == 0) {
        return bench_webgpu(&options);
    }
    if (what && strcmp(what, "cuda") == 0) {
        return bench_cuda(&options);
    }
    if (what && strcmp(what, "noop") == 0) {
        return bench_noop(&options);
    }
    fputs(usage, stderr);
    return 2;
}
