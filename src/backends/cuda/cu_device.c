#include "cu.h"

#include <khal/interop/cuda.h>

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#define RELAX() _mm_pause()
#else
#define RELAX() ((void)0)
#endif

/* A launch has 4 KiB of parameters. What is left of them is for the addresses of bindings and local arguments, 8 bytes each,
 * and for what khalc's entry points take at the end: no more than 72. A kernel may come near either limit below, but not near
 * both: it then does not assemble. */
#define PUSH_CONSTANT_SIZE 3840u
#define DEFAULT_SHARED (48u << 10) /* what a block has without asking */

#define PER_THREAD_STREAM ((CUstream)(uintptr_t)2)

/* ---- errors ------------------------------------------------------------------------------------ */

bool cu_is_sticky(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
    }
}

void cu_lose(cu_device* device, CUresult result, const char* what)
{
    khal__mutex_lock(&device->lock);
    const bool is_first = !atomic_exchange(&device->is_lost, true);
    khal__mutex_unlock(&device->lock);
    if (is_first) {
        char words[256];
        cu_queue_calm(device);
        khal__device_lost(device->front, result, "%s: %s", what, cu_describe(device->library, result, words, sizeof words));
    } else {
        (void)cu_is_lost(device);
    }
}

bool cu_is_lost(cu_device* device)
{
    if (!atomic_load(&device->is_lost))
        return false;
    while (khal__device_is_up(device->front)) /* whoever saw it first is about to say so */
        khal__thread_yield();
    return true;
}

static khal_error_id id_of(CUresult result, khal_error_id id)
{
    if (cu_is_sticky(result))
        return KHAL_ERROR_DEVICE_LOST;
    return result == CUDA_ERROR_OUT_OF_MEMORY ? KHAL_ERROR_OUT_OF_MEMORY : id;
}

khal_status cu_check(cu_device* device, CUresult result, khal_error_id id, const char* object, const char* what)
{
    if (result == CUDA_SUCCESS)
        return KHAL_OK;
    if (cu_is_sticky(result))
        cu_lose(device, result, what);
    char words[256];
    return khal__fail(device->front, id_of(result, id), result, object, "%s: %s", what,
                      cu_describe(device->library, result, words, sizeof words));
}

void cu_submission_fail(cu_device* device, khal__submission* submission, CUresult result, const char* what)
{
    if (submission->status != KHAL_OK)
        return;
    char words[256];
    submission->error_id = id_of(result, KHAL_ERROR_DRIVER);
    submission->status = submission->error_id == KHAL_ERROR_DEVICE_LOST     ? KHAL_DEVICE_LOST
                         : submission->error_id == KHAL_ERROR_OUT_OF_MEMORY ? KHAL_OUT_OF_MEMORY
                                                                            : KHAL_DRIVER_ERROR;
    snprintf(submission->message, sizeof submission->message, "%s: %.*s", what, 100,
             cu_describe(device->library, result, words, sizeof words));
}

CUresult cu_no_memory(cu_device* device)
{
    const CUresult result = device->f->StreamQuery(device->stream);
    return cu_is_sticky(result) ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

void cu_pause(uint64_t since)
{
    enum { SPIN_NS = 20000, YIELD_NS = 200000, NAP_NS = 20000 };
    const uint64_t now = khal__clock_now();
    if (now - since < SPIN_NS) {
        RELAX();
    } else if (now - since < YIELD_NS) {
        khal__thread_yield();
    } else {
        khal__mutex mutex;
        khal__condition condition;
        khal__mutex_init(&mutex);
        khal__condition_init(&condition);
        khal__mutex_lock(&mutex);
        khal__condition_wait(&condition, &mutex, now + NAP_NS);
        khal__mutex_unlock(&mutex);
        khal__condition_destroy(&condition);
        khal__mutex_destroy(&mutex);
    }
}

/* ---- what is current --------------------------------------------------------------------------- */

/* The driver's own failures here, of a context that is gone or in a process that ends, last. */
static CUresult enter(const cu_functions* f, CUcontext context, cu_scope* scope)
{
    CUcontext current = NULL;
    scope->pushed = false;
    CUresult result = f->CtxGetCurrent(&current);
    if (result == CUDA_SUCCESS && current != context) {
        result = f->CtxPushCurrent(context);
        scope->pushed = result == CUDA_SUCCESS;
    }
    return result;
}

static void leave(const cu_functions* f, cu_scope scope)
{
    CUcontext popped;
    if (scope.pushed)
        (void)f->CtxPopCurrent(&popped);
}

bool cu_enter(cu_device* device, cu_scope* scope)
{
    const CUresult result = enter(device->f, device->context, scope);
    if (result != CUDA_SUCCESS)
        cu_lose(device, result, "making the device's context current");
    return result == CUDA_SUCCESS;
}

bool cu_try_enter(cu_device* device, cu_scope* scope)
{
    return enter(device->f, device->context, scope) == CUDA_SUCCESS;
}

void cu_leave(cu_device* device, cu_scope scope)
{
    leave(device->f, scope);
}

/* ---- what there is ----------------------------------------------------------------------------- */

/* 0 where the driver does not know it. */
static int attribute(const cu_library* library, CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    return library->f.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS && value > 0 ? value : 0;
}

static uint32_t shared_limit(const cu_library* library, CUdevice device)
{
    const int limit = attribute(library, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    return limit > 0 ? (uint32_t)limit : DEFAULT_SHARED;
}

static void fill_limits(const cu_library* library, CUdevice device, uint64_t memory_size, khal_limits* out)
{
    out->buffer_size = memory_size;
    out->workgroup_size[0] = (uint32_t)attribute(library, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    out->workgroup_size[1] = (uint32_t)attribute(library, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    out->workgroup_size[2] = (uint32_t)attribute(library, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    out->workgroup_invocations = (uint32_t)attribute(library, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    out->local_memory_size = shared_limit(library, device);
    out->push_constant_size = PUSH_CONSTANT_SIZE;
    out->binding_count = CU_MOST_PARAMETERS - 1;
    /* Of khalc's kernels, whose grids are walked through in 64 bits; what a launch takes of others, cu_grid_fits knows. */
    out->group_count[0] = out->group_count[1] = out->group_count[2] = INT64_MAX;
    out->native_offset_alignment = 1;
}

static void describe(const cu_library* library, CUdevice device, khal_device_info* out)
{
    memset(out, 0, sizeof *out);
    out->backend = KHAL_BACKEND_CUDA;
    out->available = true;
    if (library->f.DeviceGetName(out->name, (int)sizeof out->name, device) != CUDA_SUCCESS)
        snprintf(out->name, sizeof out->name, "CUDA device");
    out->name[sizeof out->name - 1] = 0;
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d driver, compute capability %d.%d", library->version / 1000,
             library->version % 1000 / 10, attribute(library, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             attribute(library, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    const bool is_integrated = attribute(library, device, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    out->type = is_integrated ? KHAL_DEVICE_TYPE_INTEGRATED : KHAL_DEVICE_TYPE_DISCRETE;
    size_t memory_size = 0;
    const CUresult result = library->f.DeviceTotalMem(&memory_size, device);
    out->memory_size = memory_size;
    out->features = KHAL_FEATURE_TIMESTAMPS | KHAL_FEATURE_FP64 | KHAL_FEATURE_INT64 | KHAL_FEATURE_INT64_ATOMICS |
                    KHAL_FEATURE_NATIVE_ENCODER;
    if (attribute(library, device, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED) != 0 &&
        attribute(library, device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) != 0)
        out->features |= KHAL_FEATURE_HOST_MEMORY;
    out->formats = 1u << KHAL_FORMAT_PTX | 1u << KHAL_FORMAT_CUBIN;
    fill_limits(library, device, memory_size, &out->limits);
    if (result != CUDA_SUCCESS) {
        out->available = false;
        cu_describe(library, result, out->reason, sizeof out->reason);
    } else if (attribute(library, device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED) {
        out->available = false;
        snprintf(out->reason, sizeof out->reason, "its compute mode is \"prohibited\": nvidia-smi -c 0 lifts that");
    }
}

khal_status cu_device_enumerate(uint32_t capacity, khal_device_info* out_infos, uint32_t* out_count)
{
    char reason[240];
    const cu_library* library = cu_library_open(reason, sizeof reason);
    if (library == NULL)
        return khal__fail(NULL, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, NULL, "%s", reason);
    int count = 0;
    CUresult result = library->f.DeviceGetCount(&count);
    for (int i = 0; result == CUDA_SUCCESS && i < count && (uint32_t)i < capacity; ++i) {
        CUdevice device = 0;
        result = library->f.DeviceGet(&device, i);
        if (result == CUDA_SUCCESS)
            describe(library, device, &out_infos[i]);
    }
    if (result != CUDA_SUCCESS)
        return khal__fail(NULL, KHAL_ERROR_BACKEND_UNAVAILABLE, result, NULL, "%s",
                          cu_describe(library, result, reason, sizeof reason));
    *out_count = count > 0 ? (uint32_t)count : 0;
    return KHAL_OK;
}

/* ---- opening ----------------------------------------------------------------------------------- */

static void initialize(cu_device* device, khal_device* front, const cu_library* library)
{
    device->front = front;
    device->library = library;
    device->f = &library->f;
    khal__mutex_init(&device->lock);
    atomic_init(&device->is_lost, false);
    atomic_init(&device->is_shared, false);
    atomic_init(&device->blank_count, 0);
}

/* Whatever there is of it. After a loss the driver's calls fail, and that is all. */
static void tear_down(cu_device* device)
{
    cu_scope scope = {false};
    const bool is_current = device->context != NULL && enter(device->f, device->context, &scope) == CUDA_SUCCESS;
    if (device->queue != NULL)
        cu_queue_stop(device);
    if (is_current && device->staging != NULL) {
        (void)cu_staging_drain(device, device->side, UINT64_MAX);
        (void)cu_staging_drain(device, device->stream, UINT64_MAX);
    }
    if (device->queue != NULL)
        cu_queue_close(device);
    if (device->staging != NULL)
        cu_staging_close(device);
    if (device->memory != NULL)
        cu_memory_close(device);
    if (device->side != NULL)
        (void)device->f->StreamDestroy(device->side);
    if (device->owns_stream && device->stream != NULL)
        (void)device->f->StreamDestroy(device->stream);
    if (is_current)
        leave(device->f, scope);
    if (device->context != NULL && !device->is_wrapped)
        (void)device->f->DevicePrimaryCtxRelease(device->device);
    khal__mutex_destroy(&device->lock);
}

static void find_abilities(cu_device* device)
{
    const cu_library* library = device->library;
    const cu_functions* f = device->f;
    const CUdevice handle = device->device;
    device->capability = (uint32_t)(10 * attribute(library, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                                    attribute(library, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    device->multiprocessors = (uint32_t)attribute(library, handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    device->shared_limit = shared_limit(library, handle);
    device->has_graphs = f->GraphCreate != NULL && f->GraphDestroy != NULL && f->GraphAddKernelNode != NULL &&
                         f->GraphAddMemcpyNode != NULL && f->GraphAddMemsetNode != NULL &&
                         f->GraphInstantiate != NULL && f->GraphExecKernelNodeSetParams != NULL &&
                         f->GraphExecMemcpyNodeSetParams != NULL && f->GraphExecMemsetNodeSetParams != NULL &&
                         f->GraphLaunch != NULL && f->GraphExecDestroy != NULL;
}

/* What an own device and a wrapped one have in common; its context is current. */
static khal_status set_up(cu_device* device, const char* label)
{
    CUresult result = CUDA_SUCCESS;
    describe(device->library, device->device, khal__device_info(device->front));
    find_abilities(device);
    if (device->stream == NULL) {
        result = device->f->StreamCreate(&device->stream, CU_STREAM_NON_BLOCKING);
        device->owns_stream = result == CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS)
        result = device->f->StreamCreate(&device->side, CU_STREAM_NON_BLOCKING);
    khal_status status = cu_check(device, result, KHAL_ERROR_DRIVER, label, "making a stream");
    if (status == KHAL_OK)
        status = cu_memory_open(device);
    if (status == KHAL_OK)
        status = cu_staging_open(device);
    if (status == KHAL_OK)
        status = cu_queue_open(device);
    return status;
}

static khal_status set_up_current(cu_device* device, const char* label)
{
    cu_scope scope;
    khal_status status = cu_check(device, enter(device->f, device->context, &scope), KHAL_ERROR_DRIVER, label,
                                  "making the device's context current");
    if (status == KHAL_OK) {
        status = set_up(device, label);
        leave(device->f, scope);
    }
    if (status != KHAL_OK)
        tear_down(device);
    return status;
}

khal_status cu_device_open(khal_device* front, uint32_t index, const khal_device_desc* desc)
{
    char reason[240];
    const cu_library* library = cu_library_open(reason, sizeof reason);
    if (library == NULL)
        return khal__fail(front, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, desc->label, "%s", reason);
    cu_device* device = cu_device_of(front);
    if (library->f.DeviceGet(&device->device, (int)index) != CUDA_SUCCESS)
        return khal__fail(front, KHAL_ERROR_DEVICE_NOT_FOUND, 0, desc->label, "there is no CUDA device %u any more",
                          (unsigned)index);
    initialize(device, front, library);
    khal_device_info info;
    describe(library, device->device, &info);
    khal_status status = KHAL_OK;
    if (!info.available)
        status = khal__fail(front, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, desc->label, "%.100s: %s", info.name, info.reason);
    else
        status = cu_check(device, library->f.DevicePrimaryCtxRetain(&device->context, device->device), KHAL_ERROR_DRIVER,
                          desc->label, "the device's primary context");
    if (status != KHAL_OK) {
        device->context = NULL;
        tear_down(device);
        return status;
    }
    return set_up_current(device, desc->label);
}

/* Whether the stream belongs to the device's context, which is current. */
static bool is_stream_of(const cu_device* device, CUstream stream)
{
    CUcontext context = NULL;
    if (device->f->StreamGetCtx != NULL)
        return device->f->StreamGetCtx(stream, &context) == CUDA_SUCCESS && context == device->context;
    const CUresult result = device->f->StreamQuery(stream);
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
}

khal_status cu_device_wrap(khal_device* front, const void* foreign, const khal_device_desc* desc)
{
    const khal_cuda_device_desc* wanted = foreign;
    char reason[256];
    const cu_library* library = cu_library_open(reason, sizeof reason);
    if (library == NULL)
        return khal__fail(front, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, desc->label, "%s", reason);
    if (wanted->context == NULL)
        return khal__fail(front, KHAL_ERROR_ARGUMENT_NULL, 0, desc->label, "context is NULL");
    cu_device* device = cu_device_of(front);
    initialize(device, front, library);
    device->is_wrapped = true;
    device->context = wanted->context;
    cu_scope scope;
    CUresult result = enter(device->f, device->context, &scope);
    bool is_good = result == CUDA_SUCCESS;
    if (is_good) {
        result = device->f->CtxGetDevice(&device->device);
        is_good = result == CUDA_SUCCESS;
        if (is_good && wanted->stream != NULL)
            is_good = (CUstream)wanted->stream != PER_THREAD_STREAM && is_stream_of(device, wanted->stream);
        leave(device->f, scope);
    }
    if (!is_good) {
        device->context = NULL;
        tear_down(device);
        if (result != CUDA_SUCCESS)
            return khal__fail(front, KHAL_ERROR_DEVICE_NOT_FOUND, result, desc->label, "no CUDA context: %s",
                              cu_describe(library, result, reason, sizeof reason));
        return khal__fail(front, KHAL_ERROR_DEVICE_NOT_FOUND, 0, desc->label,
                          (CUstream)wanted->stream == PER_THREAD_STREAM ? "the per-thread stream is another one in each thread"
                                                                        : "the stream is not one of the context's");
    }
    device->stream = wanted->stream;
    atomic_store(&device->is_shared, wanted->stream != NULL);
    return set_up_current(device, desc->label);
}

void cu_device_close(khal_device* front)
{
    tear_down(cu_device_of(front));
}

khal_status cu_native_handle(khal_device* front, uint32_t kind, void* object, void** out_handle)
{
    cu_device* device = cu_device_of(front);
    khal_status status = KHAL_OK;
    switch (kind) {
    case KHAL__NATIVE_BUFFER:
        status = cu_buffer_settle_one(object);
        *out_handle = (void*)(uintptr_t)cu_buffer_of(object)->block.address;
        return status;
    case KHAL__NATIVE_DEVICE: *out_handle = (void*)(intptr_t)device->device; return KHAL_OK;
    case KHAL__NATIVE_CONTEXT: *out_handle = device->context; return KHAL_OK;
    case KHAL__NATIVE_STREAM:
        atomic_store(&device->is_shared, true);
        *out_handle = device->stream;
        return KHAL_OK;
    default:
        return khal__fail(front, KHAL_ERROR_UNSUPPORTED, 0, NULL, "CUDA has no native handle of kind %u", (unsigned)kind);
    }
}
