/* What the files of khal-bench cuda share. */
#ifndef KHAL_BENCH_CUDA_H
#define KHAL_BENCH_CUDA_H

#include <stdio.h>

#include "bench.h"
#include "cuda_raw.h"

struct kernels;

typedef struct cuda_bed {
    const bench_options* options;
    khal_device* device;
    struct kernels* library;
    khal_encoder* encoder;
    CUstream stream; /* khal's, to put events into */
    bool is_small;   /* a device with little memory gets less work */
    cuda_raw raw;
    char* json; /* the rows so far */
    size_t json_size;
    FILE* json_file;
} cuda_bed;

/* Seconds that one run took; negative after a message: it failed. */
typedef double (*cuda_run)(void* user);

typedef struct cuda_side {
    const char* name; /* "nvcc"; what is compared with; NULL: there is none */
    cuda_run run;
    void* user;
    double most; /* the first side may take so many times as long as this one; 0: no target */
} cuda_side;

#define CUDA_SIDES 3u
typedef struct cuda_row {
    const char* what;
    const char* unit; /* of what is printed: scale times the seconds, or where is_rate scale over
                         the seconds */
    double scale;
    bool is_rate;
    double most, least; /* one of them at most: what the first side is to keep, in the unit; printed
                           beside a second side that has no target of its own */
    uint32_t rounds;    /* so many times as many measurements as usual; 0: as suits the time */
    cuda_side sides[CUDA_SIDES]; /* the first is khal's */
} cuda_row;

/* Runs the sides by turns and prints a line for khal beside each of the others: medians, the ratio
 * of the times (below 1, khal is faster), and what it is meant to be. False when one failed. */
bool cuda_measure(cuda_bed* bed, const cuda_row* row);
/* The same line for something that was measured once. */
void cuda_report(cuda_bed* bed, const char* what, double value, const char* unit, double most);

/* cuda_transfer.c */
bool cuda_transfer_rows(cuda_bed* bed);
bool cuda_buffer_rows(cuda_bed* bed);
/* cuda_module.c */
bool cuda_module_rows(cuda_bed* bed);
/* cuda_kernels.c */
bool cuda_compare_kernels(cuda_bed* bed, const char* only);

#endif
