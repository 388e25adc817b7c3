#include "webgpu_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dawn of 2025 reads this in place of WGPUInstanceDescriptor. */
typedef struct old_instance {
    WGPUChainedStruct* next;
    WGPUChainedStruct* more;
    WGPUBool timed_wait;
    size_t timed_wait_count;
} old_instance;

static void on_error(const WGPUDevice* device, WGPUErrorType type, WGPUStringView message,
                     void* user, void* unused)
{
    (void)device;
    (void)unused;
    char text[300];
    wg_text(text, sizeof text, message);
    fprintf(stderr, "khal-bench: the plain program: error %d: %s\n", (int)type, text);
    ((raw*)user)->has_failed = true;
}

static void on_lost(const WGPUDevice* device, WGPUDeviceLostReason reason, WGPUStringView message,
                    void* user, void* unused)
{
    (void)unused;
    if (reason == WGPUDeviceLostReason_Unknown)
        on_error(device, WGPUErrorType_Unknown, message, user, NULL);
}

static WGPUInstance create_instance(raw* r)
{
    if (r->library->dialect != WG_DIALECT_DAWN_2025)
        return wg_library_create_instance(r->library);
    const old_instance old = {NULL, NULL, 1, 64};
    WGPUInstanceDescriptor desc = {0};
    _Static_assert(sizeof old == sizeof desc, "both descriptors have the same size");
    memcpy(&desc, &old, sizeof old);
    r->can_block = true;
    return r->f->CreateInstance(&desc);
}

bool raw_open(raw* r)
{
    char reason[300] = "there is no adapter";
    *r = (raw){.library = wg_library_open(NULL, reason, sizeof reason)};
    if (!r->library) {
        fprintf(stderr, "khal-bench: %s\n", reason);
        return false;
    }
    r->f = &r->library->f;
    r->can_block = r->library->dialect == WG_DIALECT_WGPU_NATIVE;
    r->instance = create_instance(r);
    if (r->instance &&
        wg_library_adapters(r->library, r->instance, 1, &r->adapter, reason, sizeof reason)) {
        const WGPUDeviceLostCallbackInfo lost = {
            .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_lost, .userdata1 = r};
        const WGPUUncapturedErrorCallbackInfo error = {.callback = on_error, .userdata1 = r};
        r->device = wg_library_create_device(r->library, r->instance, r->adapter, lost, error,
                                             reason, sizeof reason);
    }
    if (!r->device) {
        fprintf(stderr, "khal-bench: %s\n", reason);
        raw_close(r);
        return false;
    }
    r->queue = r->f->DeviceGetQueue(r->device);
    r->f->DeviceGetLimits(r->device, &r->limits);
    WGPUAdapterInfo info = {0};
    if (r->f->AdapterGetInfo(r->adapter, &info) == WGPUStatus_Success) {
        r->is_cpu = info.adapterType == WGPUAdapterType_CPU;
        r->f->AdapterInfoFreeMembers(info);
    }
    r->wait = r->can_block ? RAW_BLOCK : RAW_SPIN;
    return true;
}

void raw_close(raw* r)
{
    if (r->queue)
        r->f->QueueRelease(r->queue);
    if (r->device)
        r->f->DeviceRelease(r->device);
    if (r->adapter)
        r->f->AdapterRelease(r->adapter);
    if (r->instance)
        r->f->InstanceRelease(r->instance);
    r->queue = NULL;
    r->device = NULL;
    r->adapter = NULL;
    r->instance = NULL;
}

void raw_name(const raw* r, char* out, size_t size)
{
    WGPUAdapterInfo info = {0};
    char device[128] = "";
    if (r->f->AdapterGetInfo(r->adapter, &info) == WGPUStatus_Success) {
        wg_text(device, sizeof device, info.device);
        r->f->AdapterInfoFreeMembers(info);
    }
    snprintf(out, size, "%s: %s", r->library->name, device);
}

/* ---- objects --------------------------------------------------------------------------------- */

WGPUBuffer raw_buffer(raw* r, WGPUBufferUsage usage, uint64_t size, const void* data)
{
    const WGPUBufferDescriptor desc = {.label = wg_view(NULL), .usage = usage, .size = size};
    WGPUBuffer buffer = r->f->DeviceCreateBuffer(r->device, &desc);
    if (data)
        r->f->QueueWriteBuffer(r->queue, buffer, 0, data, size);
    return buffer;
}

void raw_drop(raw* r, WGPUBuffer buffer)
{
    if (!buffer)
        return;
    r->f->BufferDestroy(buffer);
    r->f->BufferRelease(buffer);
}

WGPUComputePipeline raw_pipeline(raw* r, const char* wgsl)
{
    WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                   .code = wg_view(wgsl)};
    const WGPUShaderModuleDescriptor shader = {.nextInChain = &source.chain,
                                               .label = wg_view(NULL)};
    WGPUShaderModule module = r->f->DeviceCreateShaderModule(r->device, &shader);
    const WGPUComputePipelineDescriptor desc = {
        .label = wg_view(NULL), .compute = {.module = module, .entryPoint = wg_view("main")}};
    WGPUComputePipeline pipeline = r->f->DeviceCreateComputePipeline(r->device, &desc);
    r->f->ShaderModuleRelease(module);
    return pipeline;
}

WGPUBindGroup raw_group(raw* r, WGPUComputePipeline pipeline, const WGPUBuffer* buffers,
                        uint32_t count, WGPUBuffer uniform)
{
    WGPUBindGroupEntry entries[8] = {{0}};
    for (uint32_t i = 0; i < count; i++)
        entries[i] =
            (WGPUBindGroupEntry){.binding = i, .buffer = buffers[i], .size = WGPU_WHOLE_SIZE};
    if (uniform)
        entries[count] =
            (WGPUBindGroupEntry){.binding = count, .buffer = uniform, .size = WGPU_WHOLE_SIZE};
    WGPUBindGroupLayout layout = r->f->ComputePipelineGetBindGroupLayout(pipeline, 0);
    const WGPUBindGroupDescriptor desc = {.label = wg_view(NULL),
                                          .layout = layout,
                                          .entryCount = count + (uniform != NULL),
                                          .entries = entries};
    WGPUBindGroup group = r->f->DeviceCreateBindGroup(r->device, &desc);
    r->f->BindGroupLayoutRelease(layout);
    return group;
}

/* ---- work ------------------------------------------------------------------------------------ */

WGPUCommandEncoder raw_encoder(raw* r)
{
    return r->f->DeviceCreateCommandEncoder(
        r->device, &(WGPUCommandEncoderDescriptor){.label = wg_view(NULL)});
}

WGPUComputePassEncoder raw_pass(raw* r, WGPUCommandEncoder encoder)
{
    return r->f->CommandEncoderBeginComputePass(
        encoder, &(WGPUComputePassDescriptor){.label = wg_view(NULL)});
}

void raw_end(raw* r, WGPUComputePassEncoder pass)
{
    r->f->ComputePassEncoderEnd(pass);
    r->f->ComputePassEncoderRelease(pass);
}

void raw_submit(raw* r, WGPUCommandEncoder encoder)
{
    if (!encoder) {
        r->f->QueueSubmit(r->queue, 0, NULL);
        return;
    }
    WGPUCommandBuffer commands = r->f->CommandEncoderFinish(encoder, NULL);
    r->f->CommandEncoderRelease(encoder);
    if (!r->has_failed)
        r->f->QueueSubmit(r->queue, 1, &commands);
    r->f->CommandBufferRelease(commands);
}

static void on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void* user,
                    void* unused)
{
    (void)status;
    (void)message;
    (void)unused;
    *(bool*)user = true;
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void* user, void* unused)
{
    (void)message;
    (void)unused;
    *(int*)user = status == WGPUMapAsyncStatus_Success ? 1 : -1;
}

/* One step of waiting for a callback. */
static void step(raw* r, WGPUFuture future)
{
    if (r->wait == RAW_BLOCK && r->f->DevicePoll) {
        r->f->DevicePoll(r->device, 1, NULL);
    } else if (r->wait == RAW_BLOCK && r->f->InstanceWaitAny) {
        WGPUFutureWaitInfo info = {future, 0};
        r->f->InstanceWaitAny(r->instance, 1, &info, UINT64_MAX);
    } else if (r->f->DevicePoll) {
        r->f->DevicePoll(r->device, 0, NULL);
    } else {
        r->f->InstanceProcessEvents(r->instance);
    }
}

static WGPUCallbackMode mode_of(const raw* r)
{
    return r->wait == RAW_BLOCK && !r->f->DevicePoll ? WGPUCallbackMode_WaitAnyOnly
                                                     : WGPUCallbackMode_AllowProcessEvents;
}

void raw_finish(raw* r)
{
    bool done = false;
    const WGPUQueueWorkDoneCallbackInfo info = {
        .mode = mode_of(r), .callback = on_done, .userdata1 = &done};
    const WGPUFuture future = r->f->QueueOnSubmittedWorkDone(r->queue, info);
    while (!done)
        step(r, future);
}

void raw_run(raw* r, WGPUComputePipeline pipeline, WGPUBindGroup group, uint32_t x, uint32_t y,
             uint32_t count)
{
    WGPUCommandEncoder encoder = raw_encoder(r);
    WGPUComputePassEncoder pass = raw_pass(r, encoder);
    for (uint32_t i = 0; i < count; i++) {
        r->f->ComputePassEncoderSetPipeline(pass, pipeline);
        r->f->ComputePassEncoderSetBindGroup(pass, 0, group, 0, NULL);
        r->f->ComputePassEncoderDispatchWorkgroups(pass, x, y, 1);
    }
    raw_end(r, pass);
    raw_submit(r, encoder);
}

static bool map(raw* r, WGPUBuffer buffer, WGPUMapMode mode, uint64_t size)
{
    int mapped = 0;
    const WGPUBufferMapCallbackInfo info = {
        .mode = mode_of(r), .callback = on_mapped, .userdata1 = &mapped};
    const WGPUFuture future = r->f->BufferMapAsync(buffer, mode, 0, (size_t)size, info);
    while (mapped == 0)
        step(r, future);
    r->has_failed |= mapped < 0;
    return mapped > 0;
}

bool raw_map_read(raw* r, WGPUBuffer buffer, void* out, uint64_t size)
{
    if (!map(r, buffer, WGPUMapMode_Read, size))
        return false;
    const void* memory = r->f->BufferGetConstMappedRange(buffer, 0, (size_t)size);
    memcpy(out, memory, (size_t)size);
    r->f->BufferUnmap(buffer);
    return true;
}

bool raw_map_write(raw* r, WGPUBuffer buffer, const void* data, uint64_t size)
{
    if (!map(r, buffer, WGPUMapMode_Write, size))
        return false;
    memcpy(r->f->BufferGetMappedRange(buffer, 0, (size_t)size), data, (size_t)size);
    r->f->BufferUnmap(buffer);
    return true;
}
