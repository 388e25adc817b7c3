/* What this backend uses of the standard webgpu.h: facts of its ABI, in our own words. Structs are declared whole, numbers and
 * functions as far as they are used. All libraries agree on what stands here; where one does not, wg_library.c says so. */
#ifndef KHAL_WG_API_H
#define KHAL_WG_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- handles ------------------------------------------------------------------------------------ */

typedef struct WGPUAdapterImpl* WGPUAdapter;
typedef struct WGPUBindGroupImpl* WGPUBindGroup;
typedef struct WGPUBindGroupLayoutImpl* WGPUBindGroupLayout;
typedef struct WGPUBufferImpl* WGPUBuffer;
typedef struct WGPUCommandBufferImpl* WGPUCommandBuffer;
typedef struct WGPUCommandEncoderImpl* WGPUCommandEncoder;
typedef struct WGPUComputePassEncoderImpl* WGPUComputePassEncoder;
typedef struct WGPUComputePipelineImpl* WGPUComputePipeline;
typedef struct WGPUDeviceImpl* WGPUDevice;
typedef struct WGPUInstanceImpl* WGPUInstance;
typedef struct WGPUPipelineLayoutImpl* WGPUPipelineLayout;
typedef struct WGPUQuerySetImpl* WGPUQuerySet;
typedef struct WGPUQueueImpl* WGPUQueue;
typedef struct WGPUSamplerImpl* WGPUSampler;
typedef struct WGPUShaderModuleImpl* WGPUShaderModule;
typedef struct WGPUSurfaceImpl* WGPUSurface;
typedef struct WGPUTextureViewImpl* WGPUTextureView;

/* ---- numbers ------------------------------------------------------------------------------------ */

typedef uint32_t WGPUBool;
typedef uint64_t WGPUFlags;
typedef WGPUFlags WGPUBufferUsage, WGPUMapMode, WGPUShaderStage;

#define WGPU_STRLEN SIZE_MAX /* a string's length where it ends with 0; with NULL: no string */
#define WGPU_WHOLE_SIZE UINT64_MAX
#define WGPU_QUERY_SET_INDEX_UNDEFINED UINT32_MAX
#define WGPU_LIMIT_U32_UNDEFINED UINT32_MAX
#define WGPU_LIMIT_U64_UNDEFINED UINT64_MAX

enum {
    WGPUBufferUsage_MapRead = 0x1,
    WGPUBufferUsage_MapWrite = 0x2,
    WGPUBufferUsage_CopySrc = 0x4,
    WGPUBufferUsage_CopyDst = 0x8,
    WGPUBufferUsage_Uniform = 0x40,
    WGPUBufferUsage_Storage = 0x80,
    WGPUBufferUsage_Indirect = 0x100,
    WGPUBufferUsage_QueryResolve = 0x200,

    WGPUMapMode_Read = 0x1,
    WGPUMapMode_Write = 0x2,

    WGPUShaderStage_Compute = 0x4,
};

/* Enumerations of 32 bits. */
typedef enum WGPUSType {
    WGPUSType_ShaderSourceSPIRV = 1,
    WGPUSType_ShaderSourceWGSL = 2,
} WGPUSType;
typedef enum WGPUStatus { WGPUStatus_Success = 1, WGPUStatus_Error = 2 } WGPUStatus;
typedef enum WGPUAdapterType {
    WGPUAdapterType_DiscreteGPU = 1,
    WGPUAdapterType_IntegratedGPU = 2,
    WGPUAdapterType_CPU = 3,
    WGPUAdapterType_Unknown = 4,
} WGPUAdapterType;
typedef enum WGPUBackendType {
    WGPUBackendType_Undefined = 0,
    WGPUBackendType_Null = 1,
    WGPUBackendType_WebGPU = 2,
    WGPUBackendType_D3D11 = 3,
    WGPUBackendType_D3D12 = 4,
    WGPUBackendType_Metal = 5,
    WGPUBackendType_Vulkan = 6,
    WGPUBackendType_OpenGL = 7,
    WGPUBackendType_OpenGLES = 8,
} WGPUBackendType;
typedef enum WGPUBufferBindingType {
    WGPUBufferBindingType_BindingNotUsed = 0,
    WGPUBufferBindingType_Uniform = 2,
    WGPUBufferBindingType_Storage = 3,
    WGPUBufferBindingType_ReadOnlyStorage = 4,
} WGPUBufferBindingType;
typedef enum WGPUCallbackMode {
    WGPUCallbackMode_WaitAnyOnly = 1,
    WGPUCallbackMode_AllowProcessEvents = 2,
    WGPUCallbackMode_AllowSpontaneous = 3,
} WGPUCallbackMode;
typedef enum WGPUCompilationMessageType {
    WGPUCompilationMessageType_Error = 1,
    WGPUCompilationMessageType_Warning = 2,
    WGPUCompilationMessageType_Info = 3,
} WGPUCompilationMessageType;
typedef enum WGPUCompilationInfoRequestStatus {
    WGPUCompilationInfoRequestStatus_Success = 1,
} WGPUCompilationInfoRequestStatus;
typedef enum WGPUDeviceLostReason {
    WGPUDeviceLostReason_Unknown = 1,
    WGPUDeviceLostReason_Destroyed = 2,
    WGPUDeviceLostReason_CallbackCancelled = 3,
    WGPUDeviceLostReason_FailedCreation = 4,
} WGPUDeviceLostReason;
typedef enum WGPUErrorFilter {
    WGPUErrorFilter_Validation = 1,
    WGPUErrorFilter_OutOfMemory = 2,
    WGPUErrorFilter_Internal = 3,
} WGPUErrorFilter;
typedef enum WGPUErrorType {
    WGPUErrorType_NoError = 1,
    WGPUErrorType_Validation = 2,
    WGPUErrorType_OutOfMemory = 3,
    WGPUErrorType_Internal = 4,
    WGPUErrorType_Unknown = 5,
} WGPUErrorType;
typedef enum WGPUFeatureLevel { WGPUFeatureLevel_Core = 2 } WGPUFeatureLevel;
typedef uint32_t WGPUFeatureName; /* each library counts them its own way: wg_library_feature() */
typedef enum WGPUInstanceFeatureName {
    WGPUInstanceFeatureName_TimedWaitAny = 1,
    WGPUInstanceFeatureName_ShaderSourceSPIRV = 2,
    WGPUInstanceFeatureName_MultipleDevicesPerAdapter = 3,
} WGPUInstanceFeatureName;
typedef enum WGPUMapAsyncStatus { WGPUMapAsyncStatus_Success = 1 } WGPUMapAsyncStatus;
typedef enum WGPUPopErrorScopeStatus { WGPUPopErrorScopeStatus_Success = 1 } WGPUPopErrorScopeStatus;
typedef enum WGPUPowerPreference {
    WGPUPowerPreference_Undefined = 0,
    WGPUPowerPreference_LowPower = 1,
    WGPUPowerPreference_HighPerformance = 2,
} WGPUPowerPreference;
typedef enum WGPUQueryType { WGPUQueryType_Timestamp = 2 } WGPUQueryType;
typedef enum WGPUQueueWorkDoneStatus { WGPUQueueWorkDoneStatus_Success = 1 } WGPUQueueWorkDoneStatus;
typedef enum WGPURequestAdapterStatus { WGPURequestAdapterStatus_Success = 1 } WGPURequestAdapterStatus;
typedef enum WGPURequestDeviceStatus { WGPURequestDeviceStatus_Success = 1 } WGPURequestDeviceStatus;
typedef enum WGPUWaitStatus { WGPUWaitStatus_Success = 1, WGPUWaitStatus_TimedOut = 2, WGPUWaitStatus_Error = 3 } WGPUWaitStatus;

/* ---- structs ------------------------------------------------------------------------------------ */

typedef struct WGPUStringView {
    const char* data;
    size_t length;
} WGPUStringView;
typedef struct WGPUChainedStruct {
    struct WGPUChainedStruct* next;
    WGPUSType sType;
} WGPUChainedStruct;
typedef struct WGPUFuture {
    uint64_t id;
} WGPUFuture;
typedef struct WGPUFutureWaitInfo {
    WGPUFuture future;
    WGPUBool completed;
} WGPUFutureWaitInfo;

typedef struct WGPULimits {
    WGPUChainedStruct* nextInChain;
    uint32_t maxTextureDimension1D, maxTextureDimension2D, maxTextureDimension3D, maxTextureArrayLayers;
    uint32_t maxBindGroups, maxBindGroupsPlusVertexBuffers, maxBindingsPerBindGroup;
    uint32_t maxDynamicUniformBuffersPerPipelineLayout, maxDynamicStorageBuffersPerPipelineLayout;
    uint32_t maxSampledTexturesPerShaderStage, maxSamplersPerShaderStage;
    uint32_t maxStorageBuffersPerShaderStage, maxStorageTexturesPerShaderStage;
    uint32_t maxUniformBuffersPerShaderStage;
    uint64_t maxUniformBufferBindingSize, maxStorageBufferBindingSize;
    uint32_t minUniformBufferOffsetAlignment, minStorageBufferOffsetAlignment;
    uint32_t maxVertexBuffers;
    uint64_t maxBufferSize;
    uint32_t maxVertexAttributes, maxVertexBufferArrayStride, maxInterStageShaderVariables;
    uint32_t maxColorAttachments, maxColorAttachmentBytesPerSample;
    uint32_t maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup;
    uint32_t maxComputeWorkgroupSizeX, maxComputeWorkgroupSizeY, maxComputeWorkgroupSizeZ;
    uint32_t maxComputeWorkgroupsPerDimension;
    uint32_t maxImmediateSize;
} WGPULimits;

typedef struct WGPUAdapterInfo {
    WGPUChainedStruct* nextInChain;
    WGPUStringView vendor, architecture, device, description;
    WGPUBackendType backendType;
    WGPUAdapterType adapterType;
    uint32_t vendorID, deviceID;
    uint32_t subgroupMinSize, subgroupMaxSize;
} WGPUAdapterInfo;
typedef struct WGPUSupportedFeatures {
    size_t featureCount;
    const WGPUFeatureName* features;
} WGPUSupportedFeatures;

typedef struct WGPUInstanceLimits {
    WGPUChainedStruct* nextInChain;
    size_t timedWaitAnyMaxCount;
} WGPUInstanceLimits;
typedef struct WGPUInstanceDescriptor {
    WGPUChainedStruct* nextInChain;
    size_t requiredFeatureCount;
    const WGPUInstanceFeatureName* requiredFeatures;
    const WGPUInstanceLimits* requiredLimits;
} WGPUInstanceDescriptor;
typedef struct WGPURequestAdapterOptions {
    WGPUChainedStruct* nextInChain;
    WGPUFeatureLevel featureLevel;
    WGPUPowerPreference powerPreference;
    WGPUBool forceFallbackAdapter;
    WGPUBackendType backendType;
    WGPUSurface compatibleSurface;
} WGPURequestAdapterOptions;

/* Every callback comes with two words of the caller's. */
#define WGPU_CALLBACK_INFO(name, function)                                                                                     \
    typedef struct name {                                                                                                      \
        WGPUChainedStruct* nextInChain;                                                                                        \
        WGPUCallbackMode mode;                                                                                                 \
        function callback;                                                                                                     \
        void *userdata1, *userdata2;                                                                                           \
    } name;
struct WGPUCompilationInfo;
typedef void (*WGPURequestAdapterCallback)(WGPURequestAdapterStatus, WGPUAdapter, WGPUStringView message, void*, void*);
typedef void (*WGPURequestDeviceCallback)(WGPURequestDeviceStatus, WGPUDevice, WGPUStringView message, void*, void*);
typedef void (*WGPUDeviceLostCallback)(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView message, void*, void*);
typedef void (*WGPUUncapturedErrorCallback)(const WGPUDevice*, WGPUErrorType, WGPUStringView message, void*, void*);
typedef void (*WGPUPopErrorScopeCallback)(WGPUPopErrorScopeStatus, WGPUErrorType, WGPUStringView message, void*, void*);
typedef void (*WGPUBufferMapCallback)(WGPUMapAsyncStatus, WGPUStringView message, void*, void*);
typedef void (*WGPUQueueWorkDoneCallback)(WGPUQueueWorkDoneStatus, WGPUStringView message, void*, void*);
typedef void (*WGPUCompilationInfoCallback)(WGPUCompilationInfoRequestStatus, const struct WGPUCompilationInfo*, void*, void*);
WGPU_CALLBACK_INFO(WGPURequestAdapterCallbackInfo, WGPURequestAdapterCallback)
WGPU_CALLBACK_INFO(WGPURequestDeviceCallbackInfo, WGPURequestDeviceCallback)
WGPU_CALLBACK_INFO(WGPUDeviceLostCallbackInfo, WGPUDeviceLostCallback)
WGPU_CALLBACK_INFO(WGPUPopErrorScopeCallbackInfo, WGPUPopErrorScopeCallback)
WGPU_CALLBACK_INFO(WGPUBufferMapCallbackInfo, WGPUBufferMapCallback)
WGPU_CALLBACK_INFO(WGPUQueueWorkDoneCallbackInfo, WGPUQueueWorkDoneCallback)
WGPU_CALLBACK_INFO(WGPUCompilationInfoCallbackInfo, WGPUCompilationInfoCallback)
#undef WGPU_CALLBACK_INFO
typedef struct WGPUUncapturedErrorCallbackInfo { /* the one that has no mode */
    WGPUChainedStruct* nextInChain;
    WGPUUncapturedErrorCallback callback;
    void *userdata1, *userdata2;
} WGPUUncapturedErrorCallbackInfo;

typedef struct WGPUQueueDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
} WGPUQueueDescriptor;
typedef struct WGPUDeviceDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    size_t requiredFeatureCount;
    const WGPUFeatureName* requiredFeatures;
    const WGPULimits* requiredLimits;
    WGPUQueueDescriptor defaultQueue;
    WGPUDeviceLostCallbackInfo deviceLostCallbackInfo;
    WGPUUncapturedErrorCallbackInfo uncapturedErrorCallbackInfo;
} WGPUDeviceDescriptor;

typedef struct WGPUBufferDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    WGPUBufferUsage usage;
    uint64_t size;
    WGPUBool mappedAtCreation;
} WGPUBufferDescriptor;
typedef struct WGPUQuerySetDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    WGPUQueryType type;
    uint32_t count;
} WGPUQuerySetDescriptor;

typedef struct WGPUShaderModuleDescriptor { /* the source is the chain */
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
} WGPUShaderModuleDescriptor;
typedef struct WGPUShaderSourceWGSL {
    WGPUChainedStruct chain;
    WGPUStringView code;
} WGPUShaderSourceWGSL;
typedef struct WGPUShaderSourceSPIRV {
    WGPUChainedStruct chain;
    uint32_t codeSize; /* words */
    const uint32_t* code;
} WGPUShaderSourceSPIRV;
typedef struct WGPUCompilationMessage {
    WGPUChainedStruct* nextInChain;
    WGPUStringView message;
    WGPUCompilationMessageType type;
    uint64_t lineNum, linePos; /* from 1, UTF-8 bytes; 0: unknown */
    uint64_t offset, length;
} WGPUCompilationMessage;
typedef struct WGPUCompilationInfo {
    WGPUChainedStruct* nextInChain;
    size_t messageCount;
    const WGPUCompilationMessage* messages;
} WGPUCompilationInfo;

typedef struct WGPUBufferBindingLayout {
    WGPUChainedStruct* nextInChain;
    WGPUBufferBindingType type;
    WGPUBool hasDynamicOffset;
    uint64_t minBindingSize;
} WGPUBufferBindingLayout;
/* Samplers and textures: all zero, which means not used. */
typedef struct WGPUSamplerBindingLayout {
    WGPUChainedStruct* nextInChain;
    uint32_t type;
} WGPUSamplerBindingLayout;
typedef struct WGPUTextureBindingLayout {
    WGPUChainedStruct* nextInChain;
    uint32_t sampleType, viewDimension;
    WGPUBool multisampled;
} WGPUTextureBindingLayout;
typedef struct WGPUStorageTextureBindingLayout {
    WGPUChainedStruct* nextInChain;
    uint32_t access, format, viewDimension;
} WGPUStorageTextureBindingLayout;
typedef struct WGPUBindGroupLayoutEntry {
    WGPUChainedStruct* nextInChain;
    uint32_t binding;
    WGPUShaderStage visibility;
    uint32_t bindingArraySize; /* 0 */
    WGPUBufferBindingLayout buffer;
    WGPUSamplerBindingLayout sampler;
    WGPUTextureBindingLayout texture;
    WGPUStorageTextureBindingLayout storageTexture;
} WGPUBindGroupLayoutEntry;
typedef struct WGPUBindGroupLayoutDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    size_t entryCount;
    const WGPUBindGroupLayoutEntry* entries;
} WGPUBindGroupLayoutDescriptor;
typedef struct WGPUBindGroupEntry {
    WGPUChainedStruct* nextInChain;
    uint32_t binding;
    WGPUBuffer buffer;
    uint64_t offset, size;
    WGPUSampler sampler;
    WGPUTextureView textureView;
} WGPUBindGroupEntry;
typedef struct WGPUBindGroupDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    WGPUBindGroupLayout layout;
    size_t entryCount;
    const WGPUBindGroupEntry* entries;
} WGPUBindGroupDescriptor;
typedef struct WGPUPipelineLayoutDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    size_t bindGroupLayoutCount;
    const WGPUBindGroupLayout* bindGroupLayouts;
    uint32_t immediateSize;
} WGPUPipelineLayoutDescriptor;
typedef struct WGPUConstantEntry {
    WGPUChainedStruct* nextInChain;
    WGPUStringView key;
    double value;
} WGPUConstantEntry;
typedef struct WGPUComputeState {
    WGPUChainedStruct* nextInChain;
    WGPUShaderModule module;
    WGPUStringView entryPoint;
    size_t constantCount;
    const WGPUConstantEntry* constants;
} WGPUComputeState;
typedef struct WGPUComputePipelineDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    WGPUPipelineLayout layout; /* NULL: from the shader */
    WGPUComputeState compute;
} WGPUComputePipelineDescriptor;

typedef struct WGPUCommandEncoderDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
} WGPUCommandEncoderDescriptor;
typedef struct WGPUCommandBufferDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
} WGPUCommandBufferDescriptor;
typedef struct WGPUPassTimestampWrites {
    WGPUChainedStruct* nextInChain;
    WGPUQuerySet querySet;
    uint32_t beginningOfPassWriteIndex, endOfPassWriteIndex;
} WGPUPassTimestampWrites;
typedef struct WGPUComputePassDescriptor {
    WGPUChainedStruct* nextInChain;
    WGPUStringView label;
    const WGPUPassTimestampWrites* timestampWrites;
} WGPUComputePassDescriptor;

/* ---- functions ---------------------------------------------------------------------------------- */

/* X(result, name, parameters): the library exports wgpu<name>. A library without one of these can't be used. */
#define WG_REQUIRED_FUNCTIONS(X)                                                                                               \
    X(WGPUInstance, CreateInstance, (const WGPUInstanceDescriptor*))                                                           \
    X(WGPUFuture, InstanceRequestAdapter, (WGPUInstance, const WGPURequestAdapterOptions*, WGPURequestAdapterCallbackInfo))    \
    X(void, InstanceProcessEvents, (WGPUInstance))                                                                             \
    X(void, InstanceAddRef, (WGPUInstance))                                                                                    \
    X(void, InstanceRelease, (WGPUInstance))                                                                                   \
    X(WGPUStatus, AdapterGetInfo, (WGPUAdapter, WGPUAdapterInfo*))                                                             \
    X(void, AdapterInfoFreeMembers, (WGPUAdapterInfo))                                                                         \
    X(WGPUStatus, AdapterGetLimits, (WGPUAdapter, WGPULimits*))                                                                \
    X(WGPUBool, AdapterHasFeature, (WGPUAdapter, WGPUFeatureName))                                                             \
    X(WGPUFuture, AdapterRequestDevice, (WGPUAdapter, const WGPUDeviceDescriptor*, WGPURequestDeviceCallbackInfo))             \
    X(void, AdapterAddRef, (WGPUAdapter))                                                                                      \
    X(void, AdapterRelease, (WGPUAdapter))                                                                                     \
    X(WGPUQueue, DeviceGetQueue, (WGPUDevice))                                                                                 \
    X(WGPUStatus, DeviceGetLimits, (WGPUDevice, WGPULimits*))                                                                  \
    X(WGPUBool, DeviceHasFeature, (WGPUDevice, WGPUFeatureName))                                                               \
    X(WGPUBuffer, DeviceCreateBuffer, (WGPUDevice, const WGPUBufferDescriptor*))                                               \
    X(WGPUShaderModule, DeviceCreateShaderModule, (WGPUDevice, const WGPUShaderModuleDescriptor*))                             \
    X(WGPUComputePipeline, DeviceCreateComputePipeline, (WGPUDevice, const WGPUComputePipelineDescriptor*))                    \
    X(WGPUBindGroup, DeviceCreateBindGroup, (WGPUDevice, const WGPUBindGroupDescriptor*))                                      \
    X(WGPUBindGroupLayout, DeviceCreateBindGroupLayout, (WGPUDevice, const WGPUBindGroupLayoutDescriptor*))                    \
    X(WGPUPipelineLayout, DeviceCreatePipelineLayout, (WGPUDevice, const WGPUPipelineLayoutDescriptor*))                       \
    X(WGPUCommandEncoder, DeviceCreateCommandEncoder, (WGPUDevice, const WGPUCommandEncoderDescriptor*))                       \
    X(WGPUQuerySet, DeviceCreateQuerySet, (WGPUDevice, const WGPUQuerySetDescriptor*))                                         \
    X(void, DevicePushErrorScope, (WGPUDevice, WGPUErrorFilter))                                                               \
    X(WGPUFuture, DevicePopErrorScope, (WGPUDevice, WGPUPopErrorScopeCallbackInfo))                                            \
    X(void, DeviceDestroy, (WGPUDevice))                                                                                       \
    X(void, DeviceAddRef, (WGPUDevice))                                                                                        \
    X(void, DeviceRelease, (WGPUDevice))                                                                                       \
    X(void, QueueSubmit, (WGPUQueue, size_t count, const WGPUCommandBuffer*))                                                  \
    X(void, QueueWriteBuffer, (WGPUQueue, WGPUBuffer, uint64_t offset, const void* data, size_t size))                         \
    X(WGPUFuture, QueueOnSubmittedWorkDone, (WGPUQueue, WGPUQueueWorkDoneCallbackInfo))                                        \
    X(void, QueueAddRef, (WGPUQueue))                                                                                          \
    X(void, QueueRelease, (WGPUQueue))                                                                                         \
    X(WGPUFuture, BufferMapAsync, (WGPUBuffer, WGPUMapMode, size_t offset, size_t size, WGPUBufferMapCallbackInfo))            \
    X(void*, BufferGetMappedRange, (WGPUBuffer, size_t offset, size_t size))                                                   \
    X(const void*, BufferGetConstMappedRange, (WGPUBuffer, size_t offset, size_t size))                                        \
    X(uint64_t, BufferGetSize, (WGPUBuffer))                                                                                   \
    X(WGPUBufferUsage, BufferGetUsage, (WGPUBuffer))                                                                           \
    X(void, BufferUnmap, (WGPUBuffer))                                                                                         \
    X(void, BufferDestroy, (WGPUBuffer))                                                                                       \
    X(void, BufferAddRef, (WGPUBuffer))                                                                                        \
    X(void, BufferRelease, (WGPUBuffer))                                                                                       \
    X(void, QuerySetDestroy, (WGPUQuerySet))                                                                                   \
    X(void, QuerySetRelease, (WGPUQuerySet))                                                                                   \
    X(WGPUComputePassEncoder, CommandEncoderBeginComputePass, (WGPUCommandEncoder, const WGPUComputePassDescriptor*))          \
    X(void, CommandEncoderCopyBufferToBuffer,                                                                                  \
      (WGPUCommandEncoder, WGPUBuffer source, uint64_t source_offset, WGPUBuffer target, uint64_t target_offset, uint64_t size)) \
    X(void, CommandEncoderClearBuffer, (WGPUCommandEncoder, WGPUBuffer, uint64_t offset, uint64_t size))                       \
    X(void, CommandEncoderResolveQuerySet,                                                                                     \
      (WGPUCommandEncoder, WGPUQuerySet, uint32_t first, uint32_t count, WGPUBuffer target, uint64_t offset))                  \
    X(WGPUCommandBuffer, CommandEncoderFinish, (WGPUCommandEncoder, const WGPUCommandBufferDescriptor*))                       \
    X(void, CommandEncoderRelease, (WGPUCommandEncoder))                                                                       \
    X(void, CommandBufferRelease, (WGPUCommandBuffer))                                                                         \
    X(void, ComputePassEncoderSetPipeline, (WGPUComputePassEncoder, WGPUComputePipeline))                                      \
    X(void, ComputePassEncoderSetBindGroup,                                                                                    \
      (WGPUComputePassEncoder, uint32_t index, WGPUBindGroup, size_t offset_count, const uint32_t* offsets))                   \
    X(void, ComputePassEncoderDispatchWorkgroups, (WGPUComputePassEncoder, uint32_t x, uint32_t y, uint32_t z))                \
    X(void, ComputePassEncoderDispatchWorkgroupsIndirect, (WGPUComputePassEncoder, WGPUBuffer, uint64_t offset))               \
    X(void, ComputePassEncoderEnd, (WGPUComputePassEncoder))                                                                   \
    X(void, ComputePassEncoderRelease, (WGPUComputePassEncoder))                                                               \
    X(WGPUBindGroupLayout, ComputePipelineGetBindGroupLayout, (WGPUComputePipeline, uint32_t index))                           \
    X(void, ComputePipelineRelease, (WGPUComputePipeline))                                                                     \
    X(void, BindGroupRelease, (WGPUBindGroup))                                                                                 \
    X(void, BindGroupLayoutRelease, (WGPUBindGroupLayout))                                                                     \
    X(void, PipelineLayoutRelease, (WGPUPipelineLayout))                                                                       \
    X(void, ShaderModuleRelease, (WGPUShaderModule))

/* NULL where the library has none, or only one that aborts. */
#define WG_OPTIONAL_FUNCTIONS(X)                                                                                               \
    X(WGPUWaitStatus, InstanceWaitAny, (WGPUInstance, size_t count, WGPUFutureWaitInfo*, uint64_t timeout_ns))                 \
    X(WGPUFuture, ShaderModuleGetCompilationInfo, (WGPUShaderModule, WGPUCompilationInfoCallbackInfo))                         \
    X(void, ComputePassEncoderSetImmediates, (WGPUComputePassEncoder, uint32_t offset, const void* data, size_t size))         \
    X(void, CommandEncoderWriteTimestamp, (WGPUCommandEncoder, WGPUQuerySet, uint32_t index))                                  \
    X(WGPUBool, HasInstanceFeature, (WGPUInstanceFeatureName))                                                                 \
    /* wgpu-native's own */                                                                                                    \
    X(uint32_t, GetVersion, (void))                                                                                            \
    X(size_t, InstanceEnumerateAdapters, (WGPUInstance, const void* options, WGPUAdapter* out))                                \
    X(uint8_t, DevicePoll, (WGPUDevice, WGPUBool wait, const uint64_t* submission))                                            \
    X(uint64_t, QueueSubmitForIndex, (WGPUQueue, size_t count, const WGPUCommandBuffer*))                                      \
    X(float, QueueGetTimestampPeriod, (WGPUQueue))                                                                             \
    X(WGPUShaderModule, DeviceCreateShaderModuleTrusted, (WGPUDevice, const WGPUShaderModuleDescriptor*, uint64_t checks))     \
    /* Dawn's own */                                                                                                           \
    X(void, DeviceTick, (WGPUDevice))                                                                                          \
    X(WGPUStatus, GetInstanceCapabilities, (void*))                                                                            \
    X(void, DeviceForceLoss, (WGPUDevice, WGPUDeviceLostReason, WGPUStringView message))

#endif
