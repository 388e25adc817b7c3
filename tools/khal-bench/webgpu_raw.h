/* A plain program over webgpu.h: what khal is measured beside. Any failure of the library ends in a
 * message and false. */
#ifndef KHAL_BENCH_WEBGPU_RAW_H
#define KHAL_BENCH_WEBGPU_RAW_H

#include "../../src/backends/webgpu/wg_library.h"

#define RAW_STORAGE (WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst)

typedef enum raw_wait { RAW_BLOCK, RAW_SPIN, RAW_WAIT_COUNT } raw_wait;

typedef struct raw {
    wg_library* library;
    const wg_functions* f;
    WGPUInstance instance;
    WGPUAdapter adapter;
    WGPUDevice device;
    WGPUQueue queue;
    WGPULimits limits;
    bool is_cpu; /* the adapter is the processor */
    bool can_block;
    raw_wait wait; /* how it waits: the faster way, once raw_choose_wait has run */
    bool has_failed;
} raw;

bool raw_open(raw* r);
void raw_close(raw* r);
/* "wgpu-native 29.0.1.1: NVIDIA H200" */
void raw_name(const raw* r, char* out, size_t size);

WGPUBuffer raw_buffer(raw* r, WGPUBufferUsage usage, uint64_t size, const void* data);
void raw_drop(raw* r, WGPUBuffer buffer);
WGPUComputePipeline raw_pipeline(raw* r, const char* wgsl);
/* Storage buffers at binding 0 and on, and where `uniform` is not NULL that one last. */
WGPUBindGroup raw_group(raw* r, WGPUComputePipeline pipeline, const WGPUBuffer* buffers,
                        uint32_t count, WGPUBuffer uniform);

WGPUCommandEncoder raw_encoder(raw* r);
WGPUComputePassEncoder raw_pass(raw* r, WGPUCommandEncoder encoder);
void raw_end(raw* r, WGPUComputePassEncoder pass);
void raw_submit(raw* r, WGPUCommandEncoder encoder); /* NULL: nothing, which lets writes go */
void raw_finish(raw* r);                             /* waits for all that was submitted */
/* `count` dispatches of one bind group, as one submission. */
void raw_run(raw* r, WGPUComputePipeline pipeline, WGPUBindGroup group, uint32_t x, uint32_t y,
             uint32_t count);
/* Maps, copies out or in, unmaps. */
bool raw_map_read(raw* r, WGPUBuffer buffer, void* out, uint64_t size);
bool raw_map_write(raw* r, WGPUBuffer buffer, const void* data, uint64_t size);

#endif
