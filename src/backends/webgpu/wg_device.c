#include "wg.h"
#include "wg_plan.h"

#include <khal/interop/webgpu.h>

#include <stdio.h>
#include <string.h>

#define MOST_ADAPTERS 16u

/* ---- errors ------------------------------------------------------------------------------------ */

#define LEVELS 4u

/* What the library said on this thread in each open scope; it goes to the innermost. */
static _Thread_local struct {
    uint32_t depth;
    struct {
        WGPUErrorType type;
        char message[600];
    } levels[LEVELS];
} heard;

static void hear(WGPUErrorType type, WGPUStringView message)
{
    if (heard.depth == 0)
        return;
    const uint32_t level = heard.depth < LEVELS ? heard.depth - 1 : LEVELS - 1;
    if (heard.levels[level].type != WGPUErrorType_NoError)
        return;
    heard.levels[level].type = type;
    wg_text(heard.levels[level].message, sizeof heard.levels[level].message, message);
}

static void on_error(const WGPUDevice* handle, WGPUErrorType type, WGPUStringView message, void* user, void* unused)
{
    (void)handle;
    (void)user;
    (void)unused;
    hear(type, message);
}

typedef struct popped {
    bool is_there;
    WGPUErrorType type;
    char* message;
    size_t size;
} popped;

static void on_popped(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* user, void* unused)
{
    (void)unused;
    popped* p = user;
    p->is_there = true;
    p->type = status == WGPUPopErrorScopeStatus_Success ? type : WGPUErrorType_Unknown;
    if (p->type != WGPUErrorType_NoError)
        wg_text(p->message, p->size, message);
}

static const WGPUErrorFilter filters[] = {WGPUErrorFilter_Internal, WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Validation};

/* wgpu-native aborts on the first filter. */
static size_t first_filter(const wg_device* device)
{
    return device->library->dialect == WG_DIALECT_WGPU_NATIVE ? 1 : 0;
}

void wg_scope_begin(wg_device* device)
{
    if (heard.depth < LEVELS)
        heard.levels[heard.depth].type = WGPUErrorType_NoError;
    ++heard.depth;
    if (!device->has_immediate_errors)
        for (size_t i = first_filter(device); i < 3; ++i)
            device->library->f.DevicePushErrorScope(device->device, filters[i]);
}

static void pop(wg_device* device)
{
    char message[sizeof heard.levels[0].message];
    popped p = {.message = message, .size = sizeof message};
    const WGPUPopErrorScopeCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_popped, .userdata1 = &p};
    device->library->f.DevicePopErrorScope(device->device, callback);
    while (!p.is_there)
        wg_events(device);
    if (p.type != WGPUErrorType_NoError)
        hear(p.type, wg_view(message));
}

WGPUErrorType wg_scope_take(wg_device* device, char* message, size_t size)
{
    if (!device->has_immediate_errors)
        for (size_t i = first_filter(device); i < 3; ++i)
            pop(device);
    const uint32_t level = heard.depth < LEVELS ? heard.depth - 1 : LEVELS - 1;
    const WGPUErrorType type = heard.levels[level].type;
    heard.levels[level].type = WGPUErrorType_NoError;
    --heard.depth;
    if (type == WGPUErrorType_NoError)
        return type;
    wg_lose_if_told(device, heard.levels[level].message);
    wg_text(message, size, wg_view(heard.levels[level].message));
    return type;
}

khal_status wg_scope_end(wg_device* device, khal_error_id id, const char* object, const char* what)
{
    char message[sizeof heard.levels[0].message];
    const WGPUErrorType type = wg_scope_take(device, message, sizeof message);
    if (atomic_load(&device->is_lost))
        return khal__fail(device->front, KHAL_ERROR_DEVICE_LOST, device->lost_reason, object, "%s: the device is lost: %s", what,
                          device->lost_message);
    if (type == WGPUErrorType_NoError)
        return KHAL_OK;
    if (wg_library_is_out_of_memory(device->library, type, message))
        id = KHAL_ERROR_OUT_OF_MEMORY;
    return khal__fail(device->front, id, (int64_t)type, object, "%s: %s", what, message);
}

/* ---- loss and events --------------------------------------------------------------------------- */

void wg_lose(wg_device* device, int64_t reason, const char* message)
{
    if (atomic_load(&device->is_closing) || atomic_flag_test_and_set(&device->lost_once))
        return;
    device->lost_reason = reason;
    wg_text(device->lost_message, sizeof device->lost_message, wg_view(message));
    atomic_store(&device->is_lost, true);
    khal__condition_broadcast(&device->changed);
}

void wg_lose_if_told(wg_device* device, const char* message)
{
    static const char* const words[] = {"evice is lost", "evice lost", "evice was lost", "evice was destroyed"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (strstr(message, words[i]) != NULL)
            wg_lose(device, (int64_t)WGPUDeviceLostReason_Unknown, message);
}

static void on_lost(const WGPUDevice* handle, WGPUDeviceLostReason reason, WGPUStringView message, void* user, void* unused)
{
    (void)handle;
    (void)unused;
    char text[200];
    wg_text(text, sizeof text, message);
    wg_lose(user, (int64_t)reason, text[0] != 0 ? text : "the library gives no reason");
}

void wg_unlock(wg_device* device)
{
    khal__mutex_unlock(&device->lock);
    if (atomic_load(&device->is_lost) && !atomic_exchange(&device->is_lost_told, true))
        khal__device_lost(device->front, device->lost_reason, "%s", device->lost_message);
}

void wg_events(wg_device* device)
{
    if (device->library->f.DevicePoll != NULL)
        device->library->f.DevicePoll(device->device, 0, NULL);
    else
        device->library->f.InstanceProcessEvents(device->instance);
}

/* ---- what there is ----------------------------------------------------------------------------- */

/* The last list of adapters, so that listing and then opening starts the drivers once. An opened device takes it over. */
#define CATALOG_NS 1000000000u /* how long it holds */
static struct {
    atomic_flag lock;
    uint64_t made_at;
    wg_library* library;
    WGPUInstance instance;
    WGPUAdapter adapters[MOST_ADAPTERS];
    uint32_t count;
} catalog = {.lock = ATOMIC_FLAG_INIT};

static void catalog_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&catalog.lock, memory_order_acquire))
        khal__thread_yield();
}

static void catalog_unlock(void)
{
    atomic_flag_clear_explicit(&catalog.lock, memory_order_release);
}

static void catalog_drop(void)
{
    for (uint32_t i = 0; i < catalog.count; ++i)
        catalog.library->f.AdapterRelease(catalog.adapters[i]);
    if (catalog.instance != NULL)
        catalog.library->f.InstanceRelease(catalog.instance);
    catalog.instance = NULL;
    catalog.count = 0;
}

static bool catalog_fill(char* reason, size_t reason_size)
{
    wg_library* library = wg_library_open(NULL, reason, reason_size);
    if (library != catalog.library || khal__clock_now() - catalog.made_at > CATALOG_NS) {
        catalog_drop();
        catalog.library = library;
    }
    if (library == NULL)
        return false;
    if (catalog.instance == NULL) {
        catalog.instance = wg_library_create_instance(library);
        if (catalog.instance == NULL) {
            snprintf(reason, reason_size, "%s makes no instance", library->name);
            return false;
        }
        catalog.count =
            wg_library_adapters(library, catalog.instance, MOST_ADAPTERS, catalog.adapters, reason, reason_size);
        if (catalog.count == 0) {
            catalog_drop();
            return false;
        }
        catalog.made_at = khal__clock_now();
    }
    return true;
}

static const char* api_name(WGPUBackendType type)
{
    switch (type) {
    case WGPUBackendType_D3D11: return "Direct3D 11";
    case WGPUBackendType_D3D12: return "Direct3D 12";
    case WGPUBackendType_Metal: return "Metal";
    case WGPUBackendType_Vulkan: return "Vulkan";
    case WGPUBackendType_OpenGL: return "OpenGL";
    case WGPUBackendType_OpenGLES: return "OpenGL ES";
    default: return "WebGPU";
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void fill_limits(const WGPULimits* limits, khal_limits* out)
{
    const uint64_t groups = limits->maxComputeWorkgroupsPerDimension;
    /* Whole words, in buffers that are bound as a whole, with word indices of 32 bits. */
    out->buffer_size = least(limits->maxBufferSize, limits->maxStorageBufferBindingSize) & ~(uint64_t)15;
    out->workgroup_size[0] = limits->maxComputeWorkgroupSizeX;
    out->workgroup_size[1] = limits->maxComputeWorkgroupSizeY;
    out->workgroup_size[2] = limits->maxComputeWorkgroupSizeZ;
    out->workgroup_invocations = limits->maxComputeInvocationsPerWorkgroup;
    out->local_memory_size = limits->maxComputeWorkgroupStorageSize;
    out->push_constant_size = (uint32_t)least(4096, limits->maxUniformBufferBindingSize / 4);
    out->binding_count = (uint32_t)least(WG_MAX_BINDINGS, least(limits->maxStorageBuffersPerShaderStage,
                                                                limits->maxBindingsPerBindGroup - 1));
    out->group_count[0] = out->group_count[1] = least(groups * groups, UINT32_MAX);
    out->group_count[2] = UINT32_MAX;
    out->native_offset_alignment = limits->minStorageBufferOffsetAlignment;
}

static void describe(const wg_library* library, WGPUAdapter adapter, const WGPULimits* limits, bool has_timestamps,
                     khal_device_info* out)
{
    memset(out, 0, sizeof *out);
    out->backend = KHAL_BACKEND_WEBGPU;
    out->available = true;
    out->type = KHAL_DEVICE_TYPE_OTHER;
    snprintf(out->name, sizeof out->name, "WebGPU device");
    snprintf(out->driver, sizeof out->driver, "%s", library->name);
    WGPUAdapterInfo info = {0};
    if (adapter != NULL && library->f.AdapterGetInfo(adapter, &info) == WGPUStatus_Success) {
        char text[96];
        wg_text(text, sizeof text, info.device);
        if (text[0] != 0)
            snprintf(out->name, sizeof out->name, "%s", text);
        wg_text(text, sizeof text, info.description);
        snprintf(out->driver, sizeof out->driver, "%.60s, %s%s%.45s", library->name, api_name(info.backendType),
                 text[0] != 0 ? ", " : "", text);
        out->type = info.adapterType == WGPUAdapterType_DiscreteGPU     ? KHAL_DEVICE_TYPE_DISCRETE
                    : info.adapterType == WGPUAdapterType_IntegratedGPU ? KHAL_DEVICE_TYPE_INTEGRATED
                    : info.adapterType == WGPUAdapterType_CPU           ? KHAL_DEVICE_TYPE_CPU
                                                                        : KHAL_DEVICE_TYPE_OTHER;
        library->f.AdapterInfoFreeMembers(info);
    }
    out->features = KHAL_FEATURE_INT64 | KHAL_FEATURE_NATIVE_ENCODER | (has_timestamps ? KHAL_FEATURE_TIMESTAMPS : 0);
    out->formats = 1u << KHAL_FORMAT_WGSL | 1u << KHAL_FORMAT_SPIRV;
    fill_limits(limits, &out->limits);
}

khal_status wg_device_enumerate(uint32_t capacity, khal_device_info* out_infos, uint32_t* out_count)
{
    char reason[240];
    catalog_lock();
    const bool is_good = catalog_fill(reason, sizeof reason);
    const uint32_t count = is_good ? catalog.count : 0;
    for (uint32_t i = 0; i < count && i < capacity; ++i) {
        WGPULimits limits = {0};
        const bool has_limits =
            catalog.library->f.AdapterGetLimits(catalog.adapters[i], &limits) == WGPUStatus_Success;
        describe(catalog.library, catalog.adapters[i], &limits,
                 wg_adapter_has(catalog.library, catalog.adapters[i], WG_FEATURE_TIMESTAMPS), &out_infos[i]);
        if (!has_limits) {
            out_infos[i].available = false;
            snprintf(out_infos[i].reason, sizeof out_infos[i].reason, "the adapter does not tell its limits");
        }
    }
    catalog_unlock();
    if (!is_good)
        return khal__fail(NULL, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, NULL, "%s", reason);
    *out_count = count;
    return KHAL_OK;
}

/* ---- opening ----------------------------------------------------------------------------------- */

/* Whether errors come inside the call that makes them: tried with a buffer that no library takes. */
static bool tells_at_once(wg_device* device)
{
    const WGPUBufferDescriptor wrong = {.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_Storage, .size = 16};
    device->has_immediate_errors = true;
    wg_scope_begin(device);
    WGPUBuffer buffer = device->library->f.DeviceCreateBuffer(device->device, &wrong);
    char message[64];
    const bool told = wg_scope_take(device, message, sizeof message) != WGPUErrorType_NoError;
    if (buffer != NULL)
        device->library->f.BufferRelease(buffer);
    return told;
}

static void tear_down(wg_device* device)
{
    const wg_functions* f = &device->library->f;
    wg_queue_stop(device);
    wg_lock(device);
    atomic_store(&device->is_closing, true);
    if (device->dispatcher != NULL || device->blocks != NULL)
        wg_dispatch_close(device);
    if (device->internal != NULL)
        wg_internal_close(device);
    wg_staging_release(device);
    wg_queue_release(device);
    if (device->queue != NULL)
        f->QueueRelease(device->queue);
    if (device->device != NULL && !device->is_foreign)
        f->DeviceDestroy(device->device);
    if (device->device != NULL)
        f->DeviceRelease(device->device);
    if (device->adapter != NULL)
        f->AdapterRelease(device->adapter);
    if (device->instance != NULL) {
        f->InstanceRelease(device->instance);
    }
    khal__mutex_unlock(&device->lock);
    wg_queue_close(device);
    wg_staging_close(device);
    khal__condition_destroy(&device->changed);
    khal__mutex_destroy(&device->lock);
}

static void initialise(wg_device* device, khal_device* front, wg_library* library)
{
    device->front = front;
    device->library = library;
    device->next_serial = 1;
    khal__mutex_init(&device->lock);
    khal__condition_init(&device->changed);
    atomic_init(&device->is_closing, false);
    atomic_init(&device->is_lost, false);
    atomic_init(&device->is_lost_told, false);
    atomic_flag_clear(&device->lost_once);
}

/* What an own device and a wrapped one have in common. */
static khal_status set_up(wg_device* device, const char* label)
{
    const wg_functions* f = &device->library->f;
    if (f->DeviceGetLimits(device->device, &device->limits) != WGPUStatus_Success)
        return khal__fail(device->front, KHAL_ERROR_DRIVER, 0, label, "the device does not tell its limits");
    device->has_timestamps = wg_device_has(device->library, device->device, WG_FEATURE_TIMESTAMPS);
    device->has_encoder_timestamps = device->has_timestamps && f->CommandEncoderWriteTimestamp != NULL &&
                                     wg_device_has(device->library, device->device, WG_FEATURE_ENCODER_TIMESTAMPS);
    if (f->ComputePassEncoderSetImmediates != NULL &&
        (device->library->dialect == WG_DIALECT_STANDARD ||
         wg_device_has(device->library, device->device, WG_FEATURE_IMMEDIATES)))
        device->immediate_size = device->limits.maxImmediateSize;
    describe(device->library, device->adapter, &device->limits, device->has_timestamps, khal__device_info(device->front));
    device->is_cpu = khal__device_info(device->front)->type == KHAL_DEVICE_TYPE_CPU;

    wg_lock(device);
    device->has_immediate_errors = !device->is_foreign && tells_at_once(device);
    wg_unlock(device);
    khal_status status = wg_staging_open(device);
    if (status == KHAL_OK)
        status = wg_queue_open(device);
    if (status == KHAL_OK)
        status = wg_internal_open(device);
    if (status == KHAL_OK)
        status = wg_dispatch_open(device);
    if (status == KHAL_OK)
        status = wg_queue_calibrate(device);
    return status;
}

khal_status wg_device_open(khal_device* front, uint32_t index, const khal_device_desc* desc)
{
    char reason[240];
    wg_device* device = wg_device_of(front);
    WGPUInstance instance = NULL;
    WGPUAdapter adapter = NULL;
    catalog_lock();
    const bool is_good = catalog_fill(reason, sizeof reason);
    wg_library* library = catalog.library;
    if (is_good && index < catalog.count) {
        instance = catalog.instance;
        adapter = catalog.adapters[index];
        catalog.adapters[index] = catalog.adapters[--catalog.count];
        library->f.InstanceAddRef(instance);
        catalog_drop();
    }
    catalog_unlock();
    if (!is_good)
        return khal__fail(front, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, desc->label, "%s", reason);
    if (adapter == NULL)
        return khal__fail(front, KHAL_ERROR_DEVICE_NOT_FOUND, 0, desc->label, "there is no adapter %u any more",
                          (unsigned)index);

    initialise(device, front, library);
    device->instance = instance;
    device->adapter = adapter;
    const WGPUDeviceLostCallbackInfo lost = {
        .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_lost, .userdata1 = device};
    const WGPUUncapturedErrorCallbackInfo error = {.callback = on_error, .userdata1 = device};
    device->device = wg_library_create_device(library, instance, adapter, lost, error, reason, sizeof reason);
    khal_status status;
    if (device->device == NULL) {
        status = khal__fail(front, KHAL_ERROR_DRIVER, 0, desc->label, "the adapter gives no device: %s", reason);
    } else {
        device->queue = library->f.DeviceGetQueue(device->device);
        status = set_up(device, desc->label);
    }
    if (status != KHAL_OK)
        tear_down(device);
    return status;
}

khal_status wg_device_wrap(khal_device* front, const void* foreign, const khal_device_desc* desc)
{
    const khal_webgpu_device_desc* wanted = foreign;
    const khal_webgpu_handles* handles = &wanted->handles;
    char reason[240] = "";
    wg_library* library = wanted->get_function != NULL
                              ? wg_library_of(wanted->get_function, wanted->user, reason, sizeof reason)
                              : wg_library_open(wanted->library, reason, sizeof reason);
    if (library == NULL)
        return khal__fail(front, KHAL_ERROR_BACKEND_UNAVAILABLE, 0, desc->label, "%s", reason);
    if (handles->instance == NULL && library->f.DevicePoll == NULL)
        return khal__fail(front, KHAL_ERROR_ARGUMENT_NULL, 0, desc->label, "%s needs the instance", library->name);
    wg_device* device = wg_device_of(front);
    const wg_functions* f = &library->f;
    initialise(device, front, library);
    device->is_foreign = true;
    device->device = handles->device;
    f->DeviceAddRef(device->device);
    device->instance = handles->instance;
    if (device->instance != NULL)
        f->InstanceAddRef(device->instance);
    device->adapter = handles->adapter;
    if (device->adapter != NULL)
        f->AdapterAddRef(device->adapter);
    device->queue = handles->queue;
    if (device->queue != NULL)
        f->QueueAddRef(device->queue);
    else
        device->queue = f->DeviceGetQueue(device->device);
    const khal_status status = set_up(device, desc->label);
    if (status != KHAL_OK)
        tear_down(device);
    return status;
}

khal_status wg_native_handle(khal_device* front, uint32_t kind, void* object, void** out_handle)
{
    const wg_device* device = wg_device_of(front);
    switch (kind) {
    case KHAL__NATIVE_BUFFER: *out_handle = wg_buffer_of(object)->handle; return KHAL_OK;
    case KHAL__NATIVE_INSTANCE: *out_handle = device->instance; return KHAL_OK;
    case KHAL__NATIVE_ADAPTER: *out_handle = device->adapter; return KHAL_OK;
    case KHAL__NATIVE_DEVICE: *out_handle = device->device; return KHAL_OK;
    case KHAL__NATIVE_QUEUE: *out_handle = device->queue; return KHAL_OK;
    default:
        return khal__fail(front, KHAL_ERROR_UNSUPPORTED, 0, NULL, "WebGPU has no native handle of kind %u", (unsigned)kind);
    }
}

void wg_device_close(khal_device* front)
{
    tear_down(wg_device_of(front));
}
