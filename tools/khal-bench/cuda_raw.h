/* A plain program over the CUDA driver API: what khal is measured beside. Any failure of the driver
 * ends in a message and `has_failed`. */
#ifndef KHAL_BENCH_CUDA_RAW_H
#define KHAL_BENCH_CUDA_RAW_H

#include <stdbool.h>

#include "../../src/backends/cuda/cu_api.h"

/* What khal does not use: the driver's own pool. NULL where the driver lacks them. */
typedef struct cuda_raw_pool {
    CUresult(CU_CALL* alloc)(CUdeviceptr* out, size_t size, CUstream stream);
    CUresult(CU_CALL* free)(CUdeviceptr memory, CUstream stream);
} cuda_raw_pool;

typedef struct cuda_raw {
    void* library;
    cu_functions f;
    cuda_raw_pool pool;
    CUdevice device;
    CUcontext context; /* the primary one, which khal's device has too */
    CUstream stream;
    CUmodule module;
    CUfunction add; /* add_assign(a, b, n), blocks of 256 */
    int version;    /* 1000 * major + 10 * minor */
    bool has_failed;
} cuda_raw;

/* The device with this ordinal. */
bool cuda_raw_open(cuda_raw* r, CUdevice device);
void cuda_raw_close(cuda_raw* r);

/* The thread has no current context between runs, as in a program that knows khal alone; what the
 * plain program does stands between these two. */
void cuda_raw_enter(cuda_raw* r);
void cuda_raw_leave(cuda_raw* r);

/* Takes note of a failure; true for success. */
bool cuda_raw_check(cuda_raw* r, CUresult result, const char* what);
#define CUDA_RAW(r, call) cuda_raw_check(r, (r)->f.call, #call)

CUdeviceptr cuda_raw_buffer(cuda_raw* r, size_t size, const void* data); /* data NULL: zeroes */
void cuda_raw_launch(cuda_raw* r, CUfunction function, const unsigned grid[2],
                     const unsigned block[2], void** parameters);
void cuda_raw_finish(cuda_raw* r); /* waits for all that is in the stream */
/* `count` launches of `function` as a graph, one after the other or without order; parameters[i]
 * are those of launch i. The graph, which names the nodes, lives as long as the executable one. */
typedef struct cuda_raw_graph {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode* nodes;           /* `count`; free() */
    CUDA_KERNEL_NODE_PARAMS node; /* as the last one was added */
} cuda_raw_graph;
bool cuda_raw_graph_make(cuda_raw* r, CUfunction function, uint32_t count, bool in_order,
                         void** (*parameters)(void* user, uint32_t i), void* user,
                         cuda_raw_graph* out);
void cuda_raw_graph_drop(cuda_raw* r, cuda_raw_graph* graph);

/* A module from a file of PTX or cubin; NULL after a message. */
CUmodule cuda_raw_module(cuda_raw* r, const char* path);

#endif
