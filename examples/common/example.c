#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static khal_backend backend_named(const char* name)
{
    static const char* const names[] = {"auto", "cuda", "metal", "vulkan", "webgpu", "cpu", "noop"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return (khal_backend)i;
    return KHAL_BACKEND_AUTO;
}

khal_device* example_open(int* argc, char** argv)
{
    const char* name = NULL;
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--device") != 0) {
            argv[kept++] = argv[i];
        } else if (++i < *argc) {
            name = argv[i];
        } else {
            fprintf(stderr, "%s: --device needs a name\n", argv[0]);
            return NULL;
        }
    }
    *argc = kept;

    khal_device_desc desc = {0};
    if (name && strcmp(name, "auto") != 0) {
        char* end;
        const unsigned long index = strtoul(name, &end, 10);
        desc.backend = backend_named(name);
        if (name[0] >= '0' && name[0] <= '9' && *end == '\0' && index < UINT32_MAX)
            desc.index = (uint32_t)index + 1;
        else if (desc.backend == KHAL_BACKEND_AUTO)
            desc.name = name;
    }
    khal_device* device = NULL;
    if (khal_device_open(&desc, &device))
        example_fail();
    return device;
}

int example_fail(void)
{
    const khal_error* error = khal_error_get();
    fprintf(stderr, "error: %s (%s)\n", error->message, khal_error_name(error->id));
    return 1;
}

double example_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double example_error(double largest, double actual, double expected)
{
    const double error = fabs(actual - expected);
    return isnan(error) ? INFINITY : fmax(largest, error);
}

int example_report(khal_device* device, const char* what, double error, double allowed, double seconds,
                   double plain_seconds)
{
    const bool good = error <= allowed;
    printf("%s: %s: max error %.2g (allowed %.2g)%s, %.3f ms, %.2f x plain C's %.3f ms\n",
           khal_device_get_info(device)->name, what, error, allowed, good ? "" : " MISMATCH", seconds * 1e3,
           seconds / plain_seconds, plain_seconds * 1e3);
    return good ? 0 : 1;
}
