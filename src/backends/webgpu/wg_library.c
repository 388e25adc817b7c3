#include "wg_library.h"

#include "../../platform/platform.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LIBRARIES 16u
#define ANSWER_NS 30000000000u /* what a library may take to answer a request */

#if defined(_WIN32)
static const char* const usual_names[] = {"wgpu_native.dll", "webgpu_dawn.dll", "dawn.dll", "webgpu.dll"};
#elif defined(__APPLE__)
static const char* const usual_names[] = {"libwgpu_native.dylib", "libwebgpu_dawn.dylib", "libdawn.dylib",
                                          "libwebgpu.dylib"};
#else
static const char* const usual_names[] = {"libwgpu_native.so", "libwebgpu_dawn.so", "libdawn.so", "libwebgpu.so"};
#endif
#define USUAL_COUNT (sizeof usual_names / sizeof usual_names[0])

static wg_library libraries[MOST_LIBRARIES];
static uint32_t library_count;
static atomic_flag opening = ATOMIC_FLAG_INIT;

void wg_text(char* out, size_t size, WGPUStringView text)
{
    size_t length = 0;
    if (text.data != NULL)
        while (length < size - 1 && length < text.length && text.data[length] != 0)
            ++length;
    if (length > 0)
        memcpy(out, text.data, length);
    out[length] = 0;
}

/* ---- opening ----------------------------------------------------------------------------------- */

/* The first function that is missing, or NULL. */
static const char* load(void* (*find)(void* user, const char* name), void* user, wg_functions* f)
{
    const char* missing = NULL;
    void* symbol;
#define LOAD(result, name, parameters)                                                                                         \
    symbol = find(user, "wgpu" #name);                                                                       \
    memcpy(&f->name, &symbol, sizeof symbol);
#define LOAD_REQUIRED(result, name, parameters)                                                                                \
    LOAD(result, name, parameters)                                                                                             \
    if (symbol == NULL && missing == NULL)                                                                                     \
        missing = "wgpu" #name;
    WG_REQUIRED_FUNCTIONS(LOAD_REQUIRED)
    WG_OPTIONAL_FUNCTIONS(LOAD)
#undef LOAD
#undef LOAD_REQUIRED
    return missing;
}

static void find_dialect(wg_library* library)
{
    wg_functions* f = &library->f;
    library->is_dawn = f->DeviceTick != NULL && f->DevicePoll == NULL;
    if (f->GetVersion != NULL && f->DevicePoll != NULL) {
        library->dialect = WG_DIALECT_WGPU_NATIVE;
        const uint32_t version = f->GetVersion();
        snprintf(library->name, sizeof library->name, "wgpu-native %u.%u.%u.%u", version >> 24, version >> 16 & 255,
                 version >> 8 & 255, version & 255);
        /* They are there and abort. */
        f->InstanceWaitAny = NULL;
        f->ShaderModuleGetCompilationInfo = NULL;
        f->HasInstanceFeature = NULL;
    } else if (f->GetInstanceCapabilities != NULL) {
        library->dialect = WG_DIALECT_DAWN_2025;
        snprintf(library->name, sizeof library->name, "Dawn of 2025");
    } else {
        library->dialect = WG_DIALECT_STANDARD;
        snprintf(library->name, sizeof library->name, library->is_dawn ? "Dawn" : "WebGPU");
    }
    library->direct_write_size = library->dialect == WG_DIALECT_WGPU_NATIVE ? UINT64_MAX : 64u << 10;
    if (library->dialect != WG_DIALECT_WGPU_NATIVE) {
        f->InstanceEnumerateAdapters = NULL;
        f->DevicePoll = NULL;
        f->QueueSubmitForIndex = NULL;
        f->QueueGetTimestampPeriod = NULL;
        f->DeviceCreateShaderModuleTrusted = NULL;
        /* Dawn has it behind a switch alone. */
        f->CommandEncoderWriteTimestamp = NULL;
    }
}

/* Under `opening`. */
static wg_library* add(void* (*find)(void* user, const char* name), void* user, const char* name, char* reason,
                       size_t reason_size)
{
    if (library_count == MOST_LIBRARIES || strlen(name) >= sizeof libraries[0].path) {
        snprintf(reason, reason_size, "%s is one WebGPU library too many, or its path is too long", name);
        return NULL;
    }
    wg_library* library = &libraries[library_count];
    memset(library, 0, sizeof *library);
    const char* missing = load(find, user, &library->f);
    if (missing != NULL) {
        if (library->f.CreateInstance == NULL)
            snprintf(reason, reason_size, "%s is no WebGPU library: it has no wgpuCreateInstance", name);
        else
            snprintf(reason, reason_size, "%s lacks %s", name, missing);
        return NULL;
    }
    strcpy(library->path, name);
    find_dialect(library);
    ++library_count;
    return library;
}

/* Under `opening`. */
static wg_library* open_one(const char* name, bool* out_found, char* reason, size_t reason_size)
{
    for (uint32_t i = 0; i < library_count; ++i)
        if (strcmp(libraries[i].path, name) == 0) {
            *out_found = true;
            return &libraries[i];
        }
    void* handle = khal__library_open(name);
    *out_found = handle != NULL;
    if (handle == NULL) {
        snprintf(reason, reason_size, "%s can't be opened as a library", name);
        return NULL;
    }
    wg_library* library = add(khal__library_symbol, handle, name, reason, reason_size);
    if (library == NULL)
        khal__library_close(handle);
    return library;
}

static wg_library* open_usual(char* reason, size_t reason_size)
{
    bool was_found = false;
    for (size_t i = 0; i < USUAL_COUNT; ++i) {
        char why[256];
        bool found;
        wg_library* library = open_one(usual_names[i], &found, why, sizeof why);
        if (library != NULL)
            return library;
        if (found && !was_found) {
            was_found = true;
            snprintf(reason, reason_size, "%.*s", (int)reason_size - 1, why);
        }
    }
    if (!was_found) {
        size_t length = (size_t)snprintf(reason, reason_size, "no WebGPU library: none of");
        for (size_t i = 0; i < USUAL_COUNT && length < reason_size; ++i)
            length += (size_t)snprintf(reason + length, reason_size - length, " %s", usual_names[i]);
        if (length < reason_size)
            snprintf(reason + length, reason_size - length, " was found; KHAL_WEBGPU_LIBRARY names another");
    }
    return NULL;
}

static void opening_begin(void)
{
    while (atomic_flag_test_and_set_explicit(&opening, memory_order_acquire))
        khal__thread_yield();
}

wg_library* wg_library_open(const char* path, char* reason, size_t reason_size)
{
    if (path == NULL)
        path = getenv("KHAL_WEBGPU_LIBRARY");
    opening_begin();
    bool found;
    wg_library* library = path != NULL && path[0] != 0 ? open_one(path, &found, reason, reason_size)
                                                       : open_usual(reason, reason_size);
    atomic_flag_clear_explicit(&opening, memory_order_release);
    return library;
}

wg_library* wg_library_of(void* (*find)(void* user, const char* name), void* user, char* reason, size_t reason_size)
{
    opening_begin();
    wg_functions f;
    wg_library* library = NULL;
    (void)load(find, user, &f);
    for (uint32_t i = 0; i < library_count && library == NULL; ++i)
        if (libraries[i].f.CreateInstance == f.CreateInstance && libraries[i].f.DeviceCreateBuffer == f.DeviceCreateBuffer)
            library = &libraries[i];
    if (library == NULL)
        library = add(find, user, "the program's own library", reason, reason_size);
    atomic_flag_clear_explicit(&opening, memory_order_release);
    return library;
}

/* ---- features ---------------------------------------------------------------------------------- */

static WGPUFeatureName feature_number(const wg_library* library, wg_feature feature)
{
    static const WGPUFeatureName numbers[][WG_FEATURE_COUNT] = {
        [WG_DIALECT_STANDARD] = {[WG_FEATURE_TIMESTAMPS] = 9, [WG_FEATURE_F16] = 11},
        [WG_DIALECT_DAWN_2025] = {[WG_FEATURE_TIMESTAMPS] = 3, [WG_FEATURE_F16] = 10},
        [WG_DIALECT_WGPU_NATIVE] = {[WG_FEATURE_TIMESTAMPS] = 9,
                                    [WG_FEATURE_ENCODER_TIMESTAMPS] = 0x30024,
                                    [WG_FEATURE_F16] = 11,
                                    [WG_FEATURE_IMMEDIATES] = 0x30001},
    };
    return numbers[library->dialect][feature];
}

bool wg_adapter_has(const wg_library* library, WGPUAdapter adapter, wg_feature feature)
{
    const WGPUFeatureName number = feature_number(library, feature);
    return number != 0 && (library->f.AdapterHasFeature(adapter, number) & 0xff) != 0;
}

bool wg_device_has(const wg_library* library, WGPUDevice device, wg_feature feature)
{
    const WGPUFeatureName number = feature_number(library, feature);
    return number != 0 && (library->f.DeviceHasFeature(device, number) & 0xff) != 0;
}

/* ---- instance ---------------------------------------------------------------------------------- */

/* wgpu-native's: which APIs below it may be used, and no checks of its own beyond WebGPU's. The rest is 0. */
typedef struct native_instance {
    WGPUChainedStruct chain;
    uint64_t backends, flags;
    uint64_t rest[24];
} native_instance;
#define NATIVE_STYPE_INSTANCE ((WGPUSType)0x00030004)
#define NATIVE_BACKENDS (1u << 0 | 1u << 2 | 1u << 3) /* Vulkan, Metal, Direct3D 12: OpenGL's drivers print */

/* In the place of WGPUInstanceDescriptor's last three members. */
typedef struct dawn_2025_instance {
    WGPUChainedStruct* next;
    struct {
        WGPUChainedStruct* next;
        WGPUBool timed_waits;
        size_t timed_wait_count;
    } features;
} dawn_2025_instance;

/* Its own descriptor, in the chain: no validation layers are looked for, and warnings go to the callback. */
typedef struct dawn_2025_options {
    WGPUChainedStruct* next;
    WGPUSType type;
    uint32_t path_count;
    const char* const* paths;
    void* platform;
    uint32_t validation; /* 2: none */
    uint32_t captures;
    WGPUChainedStruct* log_next;
    void (*log)(uint32_t level, WGPUStringView text, void*, void*);
    void* log_user[2];
} dawn_2025_options;
#define DAWN_STYPE_INSTANCE ((WGPUSType)0x00050006)

static void drop_log(uint32_t level, WGPUStringView text, void* user, void* unused)
{
    (void)level;
    (void)text;
    (void)user;
    (void)unused;
}

WGPUInstance wg_library_create_instance(const wg_library* library)
{
    if (library->dialect == WG_DIALECT_DAWN_2025) {
        dawn_2025_options options = {.type = DAWN_STYPE_INSTANCE, .validation = 2, .log = drop_log};
        const dawn_2025_instance old = {(WGPUChainedStruct*)&options, {NULL, 0, 0}};
        WGPUInstanceDescriptor desc = {0};
        _Static_assert(sizeof old == sizeof desc, "both descriptors have the same size");
        memcpy(&desc, &old, sizeof old);
        return library->f.CreateInstance(&desc);
    }
    if (library->dialect == WG_DIALECT_WGPU_NATIVE) {
        native_instance native = {.chain.sType = NATIVE_STYPE_INSTANCE, .backends = NATIVE_BACKENDS};
        const WGPUInstanceDescriptor desc = {.nextInChain = &native.chain};
        return library->f.CreateInstance(&desc);
    }
    WGPUInstanceFeatureName features[2];
    size_t count = 0;
    const WGPUInstanceFeatureName wanted[] = {WGPUInstanceFeatureName_ShaderSourceSPIRV,
                                              WGPUInstanceFeatureName_MultipleDevicesPerAdapter};
    for (size_t i = 0; library->f.HasInstanceFeature != NULL && i < 2; ++i)
        if ((library->f.HasInstanceFeature(wanted[i]) & 0xff) != 0)
            features[count++] = wanted[i];
    const WGPUInstanceDescriptor desc = {.requiredFeatureCount = count, .requiredFeatures = features};
    return library->f.CreateInstance(&desc);
}

/* ---- adapters ---------------------------------------------------------------------------------- */

typedef struct answer {
    bool is_there;
    void* handle;
    char* reason;
    size_t reason_size;
} answer;

static answer* new_answer(char* reason, size_t reason_size)
{
    answer* a = calloc(1, sizeof *a);
    if (a == NULL) {
        snprintf(reason, reason_size, "no memory for a request");
        return NULL;
    }
    a->reason = reason;
    a->reason_size = reason_size;
    return a;
}

static void take(answer* a, bool is_good, void* handle, WGPUStringView message)
{
    if (a->is_there)
        return;
    a->handle = is_good ? handle : NULL;
    if (a->handle == NULL)
        wg_text(a->reason, a->reason_size, message);
    a->is_there = true;
}

static void on_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message, void* user, void* unused)
{
    (void)unused;
    take(user, status == WGPURequestAdapterStatus_Success, adapter, message);
}

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void* user, void* unused)
{
    (void)unused;
    take(user, status == WGPURequestDeviceStatus_Success, device, message);
}

static void* wait_for(const wg_library* library, WGPUInstance instance, answer* a)
{
    const uint64_t begin = khal__clock_now();
    while (!a->is_there && khal__clock_now() - begin < ANSWER_NS) {
        library->f.InstanceProcessEvents(instance);
        if (!a->is_there)
            khal__thread_yield();
    }
    if (!a->is_there) { /* it may still come: the record stays */
        snprintf(a->reason, a->reason_size, "the library does not answer");
        a->is_there = true;
        return NULL;
    }
    void* handle = a->handle;
    free(a);
    return handle;
}

static WGPUAdapter request_adapter(const wg_library* library, WGPUInstance instance, WGPUPowerPreference power,
                                   bool fallback, char* reason, size_t reason_size)
{
    answer* a = new_answer(reason, reason_size);
    if (a == NULL)
        return NULL;
    const WGPURequestAdapterOptions options = {
        .featureLevel = WGPUFeatureLevel_Core, .powerPreference = power, .forceFallbackAdapter = fallback};
    const WGPURequestAdapterCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_adapter, .userdata1 = a};
    library->f.InstanceRequestAdapter(instance, &options, callback);
    return wait_for(library, instance, a);
}

#define WORTHLESS 5

static int rank(const wg_library* library, WGPUAdapter adapter)
{
    WGPUAdapterInfo info = {0};
    if (library->f.AdapterGetInfo(adapter, &info) != WGPUStatus_Success)
        return 4;
    const WGPUAdapterType type = info.adapterType;
    const bool is_null = info.backendType == WGPUBackendType_Null;
    library->f.AdapterInfoFreeMembers(info);
    if (is_null)
        return WORTHLESS;
    switch (type) {
    case WGPUAdapterType_DiscreteGPU: return 0;
    case WGPUAdapterType_IntegratedGPU: return 1;
    case WGPUAdapterType_CPU: return 3;
    default: return 2;
    }
}

static bool is_same(const wg_library* library, WGPUAdapter a, WGPUAdapter b)
{
    if (a == b)
        return true;
    WGPUAdapterInfo x = {0}, y = {0};
    if (library->f.AdapterGetInfo(a, &x) != WGPUStatus_Success)
        return false;
    bool same = false;
    if (library->f.AdapterGetInfo(b, &y) == WGPUStatus_Success) {
        char p[2][256];
        wg_text(p[0], sizeof p[0], x.device);
        wg_text(p[1], sizeof p[1], y.device);
        same = x.vendorID == y.vendorID && x.deviceID == y.deviceID && x.backendType == y.backendType &&
               x.adapterType == y.adapterType && strcmp(p[0], p[1]) == 0;
        library->f.AdapterInfoFreeMembers(y);
    }
    library->f.AdapterInfoFreeMembers(x);
    return same;
}

#define MOST_ADAPTERS 32u

uint32_t wg_library_adapters(const wg_library* library, WGPUInstance instance, uint32_t capacity, WGPUAdapter* out,
                             char* reason, size_t reason_size)
{
    WGPUAdapter found[MOST_ADAPTERS];
    uint32_t count = 0; /* Dawn's null backend, which runs nothing, does not count */
    reason[0] = 0;
    if (library->f.InstanceEnumerateAdapters != NULL) {
        const size_t all = library->f.InstanceEnumerateAdapters(instance, NULL, NULL);
        if (all > 0 && all <= MOST_ADAPTERS)
            count = (uint32_t)library->f.InstanceEnumerateAdapters(instance, NULL, found);
    } else {
        /* The standard has no list: every way of asking, and who answers twice is one. */
        static const struct {
            WGPUPowerPreference power;
            bool fallback;
        } ways[] = {{WGPUPowerPreference_HighPerformance, false},
                    {WGPUPowerPreference_LowPower, false},
                    {WGPUPowerPreference_Undefined, true}};
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
            char why[256] = "";
            WGPUAdapter adapter = request_adapter(library, instance, ways[i].power, ways[i].fallback, why, sizeof why);
            if (adapter == NULL && i == 0)
                snprintf(reason, reason_size, "%.*s", (int)reason_size - 1, why);
            bool is_wanted = adapter != NULL && rank(library, adapter) < WORTHLESS;
            for (uint32_t j = 0; is_wanted && j < count; ++j)
                is_wanted = !is_same(library, found[j], adapter);
            if (is_wanted)
                found[count++] = adapter;
            else if (adapter != NULL)
                library->f.AdapterRelease(adapter);
        }
    }
    if (count == 0 && reason[0] == 0)
        snprintf(reason, reason_size, "%s finds no adapter", library->name);
    uint32_t kept = 0;
    for (int r = 0; r < WORTHLESS; ++r)
        for (uint32_t i = 0; i < count; ++i)
            if (found[i] != NULL && rank(library, found[i]) == r) {
                if (kept < capacity)
                    out[kept++] = found[i];
                else
                    library->f.AdapterRelease(found[i]);
                found[i] = NULL;
            }
    return kept;
}

/* ---- device ------------------------------------------------------------------------------------ */

/* Dawn's: switches of the device by name. */
typedef struct dawn_toggles {
    WGPUChainedStruct chain;
    size_t enabled_count;
    const char* const* enabled;
    size_t disabled_count;
    const char* const* disabled;
} dawn_toggles;
#define DAWN_STYPE_TOGGLES ((WGPUSType)0x0005000A)

WGPUDevice wg_library_create_device(const wg_library* library, WGPUInstance instance, WGPUAdapter adapter,
                                    WGPUDeviceLostCallbackInfo lost, WGPUUncapturedErrorCallbackInfo error, char* reason,
                                    size_t reason_size)
{
    WGPULimits limits = {0};
    if (library->f.AdapterGetLimits(adapter, &limits) != WGPUStatus_Success) {
        snprintf(reason, reason_size, "the adapter does not tell its limits");
        return NULL;
    }
    limits.nextInChain = NULL;
    WGPUFeatureName features[WG_FEATURE_COUNT];
    size_t count = 0;
    for (int i = 0; i < WG_FEATURE_COUNT; ++i)
        if (wg_adapter_has(library, adapter, (wg_feature)i))
            features[count++] = feature_number(library, (wg_feature)i);
    /* Timestamps are rounded to 0.1 ms otherwise. */
    static const char* const off[] = {"timestamp_quantization"};
    dawn_toggles toggles = {.chain.sType = DAWN_STYPE_TOGGLES, .disabled_count = 1, .disabled = off};
    const WGPUDeviceDescriptor desc = {
        .nextInChain = library->is_dawn ? &toggles.chain : NULL,
        .requiredFeatureCount = count,
        .requiredFeatures = features,
        .requiredLimits = &limits,
        .deviceLostCallbackInfo = lost,
        .uncapturedErrorCallbackInfo = error,
    };
    answer* a = new_answer(reason, reason_size);
    if (a == NULL)
        return NULL;
    const WGPURequestDeviceCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_device, .userdata1 = a};
    library->f.AdapterRequestDevice(adapter, &desc, callback);
    return wait_for(library, instance, a);
}

bool wg_library_is_out_of_memory(const wg_library* library, WGPUErrorType type, const char* message)
{
    return type == WGPUErrorType_OutOfMemory ||
           (library->dialect == WG_DIALECT_WGPU_NATIVE && strstr(message, "Not enough memory left") != NULL);
}
