/* khal-bench: khal beside plain programs, in one process, as ratios. */
#ifndef KHAL_BENCH_H
#define KHAL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <khal/khal.h>

typedef struct bench_options {
    uint32_t rounds;    /* measurements of each, interleaved */
    bool opencl;        /* measure OpenCL devices too */
    const char* kernel; /* NULL: all */
} bench_options;

/* All return the exit status. */
int bench_cpu(const bench_options* options);
int bench_noop(const bench_options* options);
int bench_webgpu(const bench_options* options);
int bench_cuda(const bench_options* options);

/* ---- measuring (main.c) ---------------------------------------------------------------------- */

double bench_now(void); /* s */
double bench_best(const double* times, uint32_t count);
double bench_median(double* times, uint32_t count); /* sorts */
double bench_resident(void); /* MiB of main memory that the process has */
void bench_rest(void); /* lets threads of what ran before fall asleep */
/* Says what went wrong, with khal's last error; false. */
bool bench_failed(const char* what);

/* ---- the work -------------------------------------------------------------------------------- */

enum { BENCH_ADD, BENCH_MATMUL, BENCH_REDUCE, BENCH_NBODY, BENCH_MANDELBROT, BENCH_KERNEL_COUNT };

#define BENCH_ELEMENTS (1u << 25) /* add_assign, reduce */
#define BENCH_MATRIX 1024u
#define BENCH_BODIES 8192u
#define BENCH_WIDTH 1024u
#define BENCH_HEIGHT 1024u
#define BENCH_REDUCE_GROUPS 64u
#define BENCH_SMALL 256u /* elements of the smallest dispatch: one work-group */

typedef struct bench_work {
    const char* name;
    const char* size;
    uint32_t local[2];
    uint64_t global[2]; /* work-items */
} bench_work;
extern const bench_work bench_works[BENCH_KERNEL_COUNT];

/* What the kernels read and write; each peer has its own `a` and `out`. */
typedef struct bench_data {
    float* a; /* BENCH_ELEMENTS */
    float* b;
    float* out; /* BENCH_ELEMENTS; results other than add_assign's */
} bench_data;

/* Compares a peer's results with those of the hand-written loops; a message, or NULL where they
 * agree. */
const char* bench_check(int kernel, const bench_data* got, const bench_data* expected);

/* ---- the loops written by hand (loops.c) ----------------------------------------------------- */

extern const char* const bench_loops_name;
void bench_loops_run(int kernel, bench_data* data);
void bench_add_small(float* a, const float* b, uint32_t n);

/* ---- OpenCL devices (opencl.c) --------------------------------------------------------------- */

typedef struct bench_opencl bench_opencl;
/* NULL with `*out_reason` where there is no OpenCL here. Devices with the kernels built and buffers
 * over copies of the data. */
bench_opencl* bench_opencl_open(const char** out_reason);
void bench_opencl_close(bench_opencl* cl);
uint32_t bench_opencl_count(const bench_opencl* cl);
const char* bench_opencl_name(const bench_opencl* cl, uint32_t device);
/* Sets `a` and `b` from `data`; false with a message on stderr where the device fails, as below. */
bool bench_opencl_write(bench_opencl* cl, uint32_t device, const bench_data* data);
bool bench_opencl_run(bench_opencl* cl, uint32_t device, int kernel);
bool bench_opencl_run_small(bench_opencl* cl, uint32_t device);
bool bench_opencl_read(bench_opencl* cl, uint32_t device, bench_data* out);

#endif
