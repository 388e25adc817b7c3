#include "standin.h"

#include "backends/webgpu/wg_api.h"

#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#ifdef STANDIN_IS_NONE /* exports nothing of WebGPU */
#undef EXPORT
#define EXPORT __attribute__((unused)) static
#endif

EXPORT standin_control standin = {.error = STANDIN_VALIDATION, .message = "the stand-in fails"};

/* Every handle is one of these. */
typedef struct object {
    unsigned refs;
    bool invalid;
    unsigned char* memory; /* buffers */
    uint64_t size;
    WGPUBufferUsage usage;
    struct command* commands;
} object;

typedef struct command {
    struct command* next;
    object *source, *target;
    uint64_t source_offset, target_offset, size;
} command;

typedef struct event {
    struct event* next;
    int kind;
    union {
        WGPUBufferMapCallbackInfo map;
        WGPUQueueWorkDoneCallbackInfo done;
    } u;
    bool fails;
} event;

static event *events, **last_event = &events;
static WGPUDeviceLostCallbackInfo lost;
static WGPUUncapturedErrorCallbackInfo uncaptured;
static struct {
    WGPUErrorType type;
    const char* message;
} scopes[64];
static unsigned scope_count;
static bool is_lost;

static WGPUStringView view(const char* text)
{
    return (WGPUStringView){text, strlen(text)};
}

static object* make(void)
{
    object* o = calloc(1, sizeof *o);
    o->refs = 1;
    ++standin.live;
    return o;
}

static void drop(void* handle)
{
    object* o = handle;
    if (--o->refs > 0)
        return;
    for (command *c = o->commands, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(o->memory);
    free(o);
    --standin.live;
}

static void say(WGPUErrorType type, const char* message)
{
    if (scope_count > 0) {
        if (scopes[scope_count - 1].type == WGPUErrorType_NoError) {
            scopes[scope_count - 1].type = type;
            scopes[scope_count - 1].message = message;
        }
        return;
    }
    if (uncaptured.callback == NULL)
        abort();
    WGPUDevice none = NULL;
    if (!standin.late_errors)
        uncaptured.callback(&none, type, view(message), uncaptured.userdata1, uncaptured.userdata2);
}

static bool fails(unsigned* left)
{
    if (*left == 0 || --*left > 0)
        return false;
    say((WGPUErrorType)standin.error, standin.message);
    return true;
}

static void lose(WGPUDeviceLostReason reason)
{
    if (is_lost)
        return;
    is_lost = true;
    WGPUDevice none = NULL;
    if (lost.callback != NULL)
        lost.callback(&none, reason, view("the stand-in is unplugged"), lost.userdata1, lost.userdata2);
}

static void add_event(event made)
{
    event* e = malloc(sizeof *e);
    *e = made;
    e->next = NULL;
    *last_event = e;
    last_event = &e->next;
}

/* ---- instance, adapter, device ----------------------------------------------------------------- */

EXPORT WGPUInstance wgpuCreateInstance(const WGPUInstanceDescriptor* desc)
{
    (void)desc;
    is_lost = false;
    return standin.no_instance ? NULL : (WGPUInstance)make();
}

EXPORT WGPUFuture wgpuInstanceRequestAdapter(WGPUInstance instance, const WGPURequestAdapterOptions* options,
                                             WGPURequestAdapterCallbackInfo info)
{
    (void)instance;
    const bool none = standin.no_adapter || options->forceFallbackAdapter;
    info.callback(none ? (WGPURequestAdapterStatus)3 : WGPURequestAdapterStatus_Success, none ? NULL : (WGPUAdapter)make(),
                  view(none ? "no adapter today" : ""), info.userdata1, info.userdata2);
    return (WGPUFuture){1};
}

EXPORT void wgpuInstanceProcessEvents(WGPUInstance instance)
{
    (void)instance;
    if (standin.stalls > 0) {
        --standin.stalls;
        return;
    }
    while (events != NULL) {
        event* e = events;
        events = e->next;
        if (events == NULL)
            last_event = &events;
        if (e->kind == 0)
            e->u.map.callback(e->fails ? (WGPUMapAsyncStatus)3 : WGPUMapAsyncStatus_Success, view(e->fails ? "no map" : ""),
                              e->u.map.userdata1, e->u.map.userdata2);
        else
            e->u.done.callback(WGPUQueueWorkDoneStatus_Success, view(""), e->u.done.userdata1, e->u.done.userdata2);
        free(e);
    }
}

EXPORT WGPUStatus wgpuAdapterGetInfo(WGPUAdapter adapter, WGPUAdapterInfo* info)
{
    (void)adapter;
    memset(info, 0, sizeof *info);
    info->device = view("stand-in");
    info->description = view("it runs nothing");
    info->backendType = WGPUBackendType_Vulkan;
    info->adapterType = standin.is_gpu ? WGPUAdapterType_DiscreteGPU : WGPUAdapterType_CPU;
    return WGPUStatus_Success;
}

EXPORT void wgpuAdapterInfoFreeMembers(WGPUAdapterInfo info)
{
    (void)info;
}

static WGPUStatus limits(WGPULimits* out)
{
    if (standin.no_limits)
        return WGPUStatus_Error;
    memset(out, 0, sizeof *out);
    out->maxBindGroups = 4;
    out->maxBindingsPerBindGroup = 1000;
    out->maxDynamicUniformBuffersPerPipelineLayout = 8;
    out->maxDynamicStorageBuffersPerPipelineLayout = 4;
    out->maxStorageBuffersPerShaderStage = 8;
    out->maxUniformBuffersPerShaderStage = 12;
    out->maxUniformBufferBindingSize = 65536;
    out->maxStorageBufferBindingSize = 1u << 27;
    out->minUniformBufferOffsetAlignment = out->minStorageBufferOffsetAlignment = 256;
    out->maxBufferSize = 1u << 28;
    out->maxComputeWorkgroupStorageSize = 16384;
    out->maxComputeInvocationsPerWorkgroup = 256;
    out->maxComputeWorkgroupSizeX = out->maxComputeWorkgroupSizeY = 256;
    out->maxComputeWorkgroupSizeZ = 64;
    out->maxComputeWorkgroupsPerDimension = 65535;
    return WGPUStatus_Success;
}

EXPORT WGPUStatus wgpuAdapterGetLimits(WGPUAdapter adapter, WGPULimits* out)
{
    (void)adapter;
    return limits(out);
}

EXPORT WGPUStatus wgpuDeviceGetLimits(WGPUDevice device, WGPULimits* out)
{
    (void)device;
    return limits(out);
}

EXPORT WGPUBool wgpuAdapterHasFeature(WGPUAdapter adapter, WGPUFeatureName feature)
{
    (void)adapter;
    (void)feature;
    return 0;
}

EXPORT WGPUBool wgpuDeviceHasFeature(WGPUDevice device, WGPUFeatureName feature)
{
    (void)device;
    (void)feature;
    return 0;
}

EXPORT WGPUFuture wgpuAdapterRequestDevice(WGPUAdapter adapter, const WGPUDeviceDescriptor* desc,
                                           WGPURequestDeviceCallbackInfo info)
{
    (void)adapter;
    lost = desc->deviceLostCallbackInfo;
    uncaptured = desc->uncapturedErrorCallbackInfo;
    info.callback(standin.no_device ? (WGPURequestDeviceStatus)3 : WGPURequestDeviceStatus_Success,
                  standin.no_device ? NULL : (WGPUDevice)make(), view(standin.no_device ? "no device today" : ""), info.userdata1,
                  info.userdata2);
    return (WGPUFuture){2};
}

EXPORT WGPUQueue wgpuDeviceGetQueue(WGPUDevice device)
{
    (void)device;
    return (WGPUQueue)make();
}

EXPORT void wgpuDeviceDestroy(WGPUDevice device)
{
    (void)device;
    lose(WGPUDeviceLostReason_Destroyed);
}

EXPORT void wgpuDevicePushErrorScope(WGPUDevice device, WGPUErrorFilter filter)
{
    (void)device;
    (void)filter;
    scopes[scope_count].type = WGPUErrorType_NoError;
    scopes[scope_count++].message = "";
}

EXPORT WGPUFuture wgpuDevicePopErrorScope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo info)
{
    (void)device;
    if (scope_count == 0)
        abort();
    --scope_count;
    info.callback(WGPUPopErrorScopeStatus_Success, scopes[scope_count].type, view(scopes[scope_count].message), info.userdata1,
                  info.userdata2);
    return (WGPUFuture){3};
}

/* ---- what a device makes ----------------------------------------------------------------------- */

EXPORT WGPUBuffer wgpuDeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* desc)
{
    (void)device;
    object* o = make();
    o->size = desc->size;
    o->usage = desc->usage;
    const bool is_wrong = (desc->usage & WGPUBufferUsage_MapRead) != 0 && (desc->usage & WGPUBufferUsage_Storage) != 0;
    if (is_wrong)
        say(WGPUErrorType_Validation, "MapRead goes with CopyDst alone");
    o->invalid = is_wrong || fails(&standin.buffer);
    if (!o->invalid)
        o->memory = calloc(1, (size_t)desc->size + 1);
    return (WGPUBuffer)o;
}

#define MAKES(result, name, type, counter)                                                                                     \
    EXPORT result wgpuDeviceCreate##name(WGPUDevice device, const type* desc)                                                  \
    {                                                                                                                          \
        (void)device;                                                                                                          \
        (void)desc;                                                                                                            \
        object* o = make();                                                                                                    \
        o->invalid = fails(counter);                                                                                           \
        return (result)o;                                                                                                      \
    }
static unsigned never;
MAKES(WGPUShaderModule, ShaderModule, WGPUShaderModuleDescriptor, &standin.module)
MAKES(WGPUComputePipeline, ComputePipeline, WGPUComputePipelineDescriptor, &standin.pipeline)
MAKES(WGPUBindGroup, BindGroup, WGPUBindGroupDescriptor, &standin.group)
MAKES(WGPUBindGroupLayout, BindGroupLayout, WGPUBindGroupLayoutDescriptor, &never)
MAKES(WGPUPipelineLayout, PipelineLayout, WGPUPipelineLayoutDescriptor, &never)
MAKES(WGPUQuerySet, QuerySet, WGPUQuerySetDescriptor, &never)

EXPORT WGPUCommandEncoder wgpuDeviceCreateCommandEncoder(WGPUDevice device, const WGPUCommandEncoderDescriptor* desc)
{
    (void)device;
    (void)desc;
    ++standin.encoders;
    object* o = make();
    o->invalid = fails(&standin.encoder);
    return (WGPUCommandEncoder)o;
}

EXPORT WGPUBindGroupLayout wgpuComputePipelineGetBindGroupLayout(WGPUComputePipeline pipeline, uint32_t index)
{
    (void)pipeline;
    (void)index;
    return (WGPUBindGroupLayout)make();
}

/* ---- buffers ----------------------------------------------------------------------------------- */

EXPORT WGPUFuture wgpuBufferMapAsync(WGPUBuffer buffer, WGPUMapMode mode, size_t offset, size_t size,
                                     WGPUBufferMapCallbackInfo info)
{
    (void)buffer;
    (void)mode;
    (void)offset;
    (void)size;
    add_event((event){.kind = 0, .u.map = info, .fails = standin.map > 0 && --standin.map == 0});
    return (WGPUFuture){4};
}

EXPORT void* wgpuBufferGetMappedRange(WGPUBuffer buffer, size_t offset, size_t size)
{
    (void)size;
    object* o = (object*)buffer;
    return o->memory != NULL ? o->memory + offset : NULL;
}

EXPORT const void* wgpuBufferGetConstMappedRange(WGPUBuffer buffer, size_t offset, size_t size)
{
    return wgpuBufferGetMappedRange(buffer, offset, size);
}

EXPORT uint64_t wgpuBufferGetSize(WGPUBuffer buffer)
{
    return ((object*)buffer)->size;
}

EXPORT WGPUBufferUsage wgpuBufferGetUsage(WGPUBuffer buffer)
{
    return ((object*)buffer)->usage;
}

EXPORT void wgpuBufferUnmap(WGPUBuffer buffer)
{
    (void)buffer;
}

EXPORT void wgpuBufferDestroy(WGPUBuffer buffer)
{
    (void)buffer;
}

/* ---- commands ---------------------------------------------------------------------------------- */

static void record(object* encoder, object* source, uint64_t source_offset, object* target, uint64_t target_offset,
                   uint64_t size)
{
    command* c = malloc(sizeof *c);
    *c = (command){NULL, source, target, source_offset, target_offset, size};
    command** at = &encoder->commands;
    while (*at != NULL)
        at = &(*at)->next;
    *at = c;
}

EXPORT void wgpuCommandEncoderCopyBufferToBuffer(WGPUCommandEncoder encoder, WGPUBuffer source, uint64_t source_offset,
                                                 WGPUBuffer target, uint64_t target_offset, uint64_t size)
{
    record((object*)encoder, (object*)source, source_offset, (object*)target, target_offset, size);
}

EXPORT void wgpuCommandEncoderClearBuffer(WGPUCommandEncoder encoder, WGPUBuffer buffer, uint64_t offset, uint64_t size)
{
    record((object*)encoder, NULL, 0, (object*)buffer, offset, size);
}

EXPORT void wgpuCommandEncoderResolveQuerySet(WGPUCommandEncoder encoder, WGPUQuerySet set, uint32_t first, uint32_t count,
                                              WGPUBuffer target, uint64_t offset)
{
    (void)encoder;
    (void)set;
    (void)first;
    (void)count;
    (void)target;
    (void)offset;
}

EXPORT WGPUComputePassEncoder wgpuCommandEncoderBeginComputePass(WGPUCommandEncoder encoder,
                                                                 const WGPUComputePassDescriptor* desc)
{
    (void)encoder;
    (void)desc;
    return (WGPUComputePassEncoder)make();
}

EXPORT WGPUCommandBuffer wgpuCommandEncoderFinish(WGPUCommandEncoder encoder, const WGPUCommandBufferDescriptor* desc)
{
    (void)desc;
    object* from = (object*)encoder;
    object* o = make();
    ++standin.finished;
    o->commands = from->commands;
    from->commands = NULL;
    if (standin.loses_finish) {
        standin.loses_finish = false;
        lose(WGPUDeviceLostReason_Unknown);
    }
    o->invalid = fails(&standin.finish) || from->invalid;
    return (WGPUCommandBuffer)o;
}

EXPORT void wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer* commands)
{
    (void)queue;
    ++standin.submits;
    for (size_t i = 0; i < count; ++i) {
        const object* o = (const object*)commands[i];
        if (o->invalid || is_lost) {
            ++standin.submits_of_invalid;
            return;
        }
    }
    if (fails(&standin.submit))
        return;
    for (size_t i = 0; i < count; ++i)
        for (const command* c = ((const object*)commands[i])->commands; c != NULL; c = c->next) {
            if (c->source != NULL)
                memmove(c->target->memory + c->target_offset, c->source->memory + c->source_offset, (size_t)c->size);
            else
                memset(c->target->memory + c->target_offset, 0, (size_t)c->size);
        }
}

EXPORT void wgpuQueueWriteBuffer(WGPUQueue queue, WGPUBuffer buffer, uint64_t offset, const void* data, size_t size)
{
    (void)queue;
    if (!fails(&standin.write))
        memcpy(((object*)buffer)->memory + offset, data, size);
}

EXPORT WGPUFuture wgpuQueueOnSubmittedWorkDone(WGPUQueue queue, WGPUQueueWorkDoneCallbackInfo info)
{
    (void)queue;
    add_event((event){.kind = 1, .u.done = info});
    return (WGPUFuture){5};
}

EXPORT void wgpuComputePassEncoderSetPipeline(WGPUComputePassEncoder pass, WGPUComputePipeline pipeline)
{
    (void)pass;
    (void)pipeline;
}

EXPORT void wgpuComputePassEncoderSetBindGroup(WGPUComputePassEncoder pass, uint32_t index, WGPUBindGroup group,
                                               size_t offset_count, const uint32_t* offsets)
{
    (void)pass;
    (void)index;
    (void)group;
    (void)offset_count;
    (void)offsets;
}

EXPORT void wgpuComputePassEncoderDispatchWorkgroups(WGPUComputePassEncoder pass, uint32_t x, uint32_t y, uint32_t z)
{
    (void)pass;
    (void)x;
    (void)y;
    (void)z;
}

EXPORT void wgpuComputePassEncoderDispatchWorkgroupsIndirect(WGPUComputePassEncoder pass, WGPUBuffer buffer, uint64_t offset)
{
    (void)pass;
    (void)buffer;
    (void)offset;
}

EXPORT void wgpuComputePassEncoderEnd(WGPUComputePassEncoder pass)
{
    (void)pass;
}

/* Another build leaves this one out. */
#ifndef STANDIN_LACKS_DESTROY
EXPORT void wgpuQuerySetDestroy(WGPUQuerySet set)
{
    (void)set;
}
#endif

#define COUNTED(name)                                                                                                          \
    EXPORT void wgpu##name##AddRef(WGPU##name handle)                                                                          \
    {                                                                                                                          \
        ++((object*)handle)->refs;                                                                                             \
    }                                                                                                                          \
    EXPORT void wgpu##name##Release(WGPU##name handle)                                                                         \
    {                                                                                                                          \
        drop(handle);                                                                                                          \
    }
#define RELEASED(name)                                                                                                         \
    EXPORT void wgpu##name##Release(WGPU##name handle)                                                                         \
    {                                                                                                                          \
        drop(handle);                                                                                                          \
    }
COUNTED(Instance)
COUNTED(Adapter)
COUNTED(Device)
COUNTED(Queue)
COUNTED(Buffer)
RELEASED(QuerySet)
RELEASED(CommandEncoder)
RELEASED(CommandBuffer)
RELEASED(ComputePassEncoder)
RELEASED(ComputePipeline)
RELEASED(BindGroup)
RELEASED(BindGroupLayout)
RELEASED(PipelineLayout)
RELEASED(ShaderModule)
