/* What is used of CUDA's driver API: types, constants and functions, as facts of its ABI, in our own words. The library is
 * opened at run time (cu_library.c), so that nothing of a toolkit is needed to build or to run. */
#ifndef KHAL_CU_API_H
#define KHAL_CU_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CU_CALL __stdcall
#else
#define CU_CALL
#endif

typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;

typedef int CUresult; /* 0: success */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
    CUDA_ERROR_UNKNOWN = 999,
};

typedef enum CUdevice_attribute {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
} CUdevice_attribute;

enum { CU_COMPUTEMODE_PROHIBITED = 2 };

typedef enum CUfunction_attribute {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1, /* static */
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, /* can be set */
} CUfunction_attribute;

typedef enum CUjit_option {
    CU_JIT_MAX_REGISTERS = 0,      /* unsigned */
    CU_JIT_INFO_LOG_BUFFER = 3,    /* char* */
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4, /* unsigned; out: used */
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
} CUjit_option;
/* Values of options are void*, numbers cast to it. */

enum {
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_MEMHOSTALLOC_PORTABLE = 1,
    CU_MEMHOSTALLOC_DEVICEMAP = 2,
    CU_MEMHOSTREGISTER_PORTABLE = 1,
    CU_MEMHOSTREGISTER_DEVICEMAP = 2,
};

typedef enum CUpointer_attribute {
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, /* unsigned: 1 host, 2 device */
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11, /* CUdeviceptr */
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,       /* size_t */
} CUpointer_attribute;

/* The driver's version 2 of it, whose kernel may also be named by `kern`. */
typedef struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void** kernelParams;
    void** extra;
    void* kern; /* NULL */
    CUcontext ctx; /* NULL: the current one */
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    size_t pitch; /* unused where height is 1 */
    unsigned value;
    unsigned elementSize; /* 1, 2 or 4 bytes */
    size_t width;         /* elements */
    size_t height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct CUarray_st* CUarray;
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
typedef struct CUDA_MEMCPY3D {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    unsigned srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void* reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    unsigned dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void* reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

/* X(name, symbol, parameters): all return CUresult. The symbol is that of the ABI in which the types above hold. */
#define CU_REQUIRED_FUNCTIONS(X)                                                                                              \
    X(Init, "cuInit", (unsigned flags))                                                                                       \
    X(DriverGetVersion, "cuDriverGetVersion", (int* version)) /* 1000 * major + 10 * minor */                                 \
    X(GetErrorName, "cuGetErrorName", (CUresult error, const char** out))                                                     \
    X(GetErrorString, "cuGetErrorString", (CUresult error, const char** out))                                                 \
    X(DeviceGetCount, "cuDeviceGetCount", (int* count))                                                                       \
    X(DeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                                                             \
    X(DeviceGetName, "cuDeviceGetName", (char* name, int size, CUdevice device))                                              \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, CUdevice device))                                               \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int* value, CUdevice_attribute attribute, CUdevice device))                \
    X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))                             \
    X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))                                             \
    X(CtxGetCurrent, "cuCtxGetCurrent", (CUcontext * context))                                                                \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext context))                                                             \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext * context))                                                             \
    X(CtxGetDevice, "cuCtxGetDevice", (CUdevice * device))                                                                    \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t * free, size_t* total))                                                          \
    X(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr * out, size_t size))                                                            \
    X(MemFree, "cuMemFree_v2", (CUdeviceptr memory))                                                                          \
    X(MemHostAlloc, "cuMemHostAlloc", (void** out, size_t size, unsigned flags))                                              \
    X(MemFreeHost, "cuMemFreeHost", (void* memory))                                                                           \
    X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr * out, void* memory, unsigned flags))             \
    X(MemHostRegister, "cuMemHostRegister_v2", (void* memory, size_t size, unsigned flags))                                   \
    X(MemHostUnregister, "cuMemHostUnregister", (void* memory))                                                               \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr to, const void* from, size_t size, CUstream stream))              \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void* to, CUdeviceptr from, size_t size, CUstream stream))                    \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream))              \
    X(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                 \
    X(MemsetD16Async, "cuMemsetD16Async", (CUdeviceptr to, unsigned short value, size_t count, CUstream stream))              \
    X(MemsetD32Async, "cuMemsetD32Async", (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                    \
    X(PointerGetAttribute, "cuPointerGetAttribute", (void* out, CUpointer_attribute attribute, CUdeviceptr pointer))          \
    X(StreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                                                    \
    X(StreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                                                 \
    X(StreamQuery, "cuStreamQuery", (CUstream stream))                                                                        \
    X(StreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                                            \
    X(StreamWaitEvent, "cuStreamWaitEvent", (CUstream stream, CUevent event, unsigned flags))                                 \
    X(EventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                                                        \
    X(EventDestroy, "cuEventDestroy_v2", (CUevent event))                                                                     \
    X(EventRecord, "cuEventRecord", (CUevent event, CUstream stream))                                                         \
    X(EventQuery, "cuEventQuery", (CUevent event))                                                                            \
    X(EventSynchronize, "cuEventSynchronize", (CUevent event))                                                                \
    X(EventElapsedTime, "cuEventElapsedTime", (float* ms, CUevent from, CUevent to))                                          \
    X(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                                                 \
      (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values))                           \
    X(ModuleUnload, "cuModuleUnload", (CUmodule module))                                                                      \
    X(ModuleGetFunction, "cuModuleGetFunction", (CUfunction * function, CUmodule module, const char* name))                   \
    X(FuncGetAttribute, "cuFuncGetAttribute", (int* value, CUfunction_attribute attribute, CUfunction function))              \
    X(FuncSetAttribute, "cuFuncSetAttribute", (CUfunction function, CUfunction_attribute attribute, int value))               \
    X(LaunchKernel, "cuLaunchKernel",                                                                                         \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,            \
       unsigned block_z, unsigned shared, CUstream stream, void** parameters, void** extra))                                  \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                               \
      (int* blocks, CUfunction function, int block_size, size_t dynamic_shared))

/* What a driver may lack: NULL then, and the work is done another way. */
#define CU_OPTIONAL_FUNCTIONS(X)                                                                                              \
    X(StreamGetCtx, "cuStreamGetCtx", (CUstream stream, CUcontext * context))                                                 \
    X(FuncGetParamInfo, "cuFuncGetParamInfo", (CUfunction function, size_t index, size_t* offset, size_t* size))              \
    X(GraphCreate, "cuGraphCreate", (CUgraph * graph, unsigned flags))                                                        \
    X(GraphDestroy, "cuGraphDestroy", (CUgraph graph))                                                                        \
    X(GraphAddKernelNode, "cuGraphAddKernelNode_v2",                                                                          \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t after_count,                                       \
       const CUDA_KERNEL_NODE_PARAMS* parameters))                                                                            \
    X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode",                                                                             \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t after_count, const CUDA_MEMCPY3D* parameters,      \
       CUcontext context))                                                                                                    \
    X(GraphAddMemsetNode, "cuGraphAddMemsetNode",                                                                             \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t after_count,                                       \
       const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context))                                                         \
    X(GraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec * exec, CUgraph graph, unsigned long long flags))         \
    X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",                                                      \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters))                                        \
    X(GraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams",                                                         \
      (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* parameters, CUcontext context))                               \
    X(GraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams",                                                         \
      (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context))                     \
    X(GraphUpload, "cuGraphUpload", (CUgraphExec exec, CUstream stream))                                                      \
    X(GraphLaunch, "cuGraphLaunch", (CUgraphExec exec, CUstream stream))                                                      \
    X(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec exec))

typedef struct cu_functions {
#define CU_POINTER(name, symbol, parameters) CUresult(CU_CALL* name) parameters;
    CU_REQUIRED_FUNCTIONS(CU_POINTER)
    CU_OPTIONAL_FUNCTIONS(CU_POINTER)
#undef CU_POINTER
} cu_functions;

#endif
