/* What the files of khal-bench webgpu share. */
#ifndef KHAL_BENCH_WEBGPU_H
#define KHAL_BENCH_WEBGPU_H

#include "bench.h"
#include "webgpu_raw.h"

struct kernels;

typedef struct webgpu_bed {
    const bench_options* options;
    raw raw; /* the plain program's device, and khal's, on one adapter */
    khal_device* device;
    struct kernels* library;
    khal_encoder* encoder;
} webgpu_bed;

/* Seconds that one run took; negative after a message: it failed. */
typedef double (*webgpu_run)(void* user);

/* Runs both by turns and prints a line: the medians times `scale`, and khal's as a multiple of the
 * plain program's, which waits in whichever way is faster for it. */
bool webgpu_row(webgpu_bed* bed, const char* what, const char* unit, double scale, webgpu_run khal,
                webgpu_run plain, void* khal_user, void* plain_user);

/* webgpu_kernels.c */
bool webgpu_compare_kernels(webgpu_bed* bed, const char* only);
bool webgpu_make_pipelines(raw* r, WGPUComputePipeline* out, uint32_t count);

#endif
