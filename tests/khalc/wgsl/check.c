/* Is all WGSL of khalc's valid? check CLANG file...
 * Compiles each .cl file and makes a pipeline of every source and shared source; a .wgsl file is one module. The library is the one
 * that KHAL_WEBGPU_LIBRARY names. Without a device it says why, and fails only where KHAL_CTS_REQUIRE names webgpu. */
#include "arena.h"
#include "emit_wgsl.h"
#include "target_wgsl.h"

#include "backends/webgpu/wg_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wg_library* library;
static WGPUInstance instance;
static WGPUDevice device;
static char heard[2000];
static uint32_t module_count, failure_count;

static void hear(WGPUErrorType type, WGPUStringView message)
{
    if (type != WGPUErrorType_NoError && !heard[0])
        wg_text(heard, sizeof heard, message);
}

static void on_error(const WGPUDevice* handle, WGPUErrorType type, WGPUStringView message, void* user, void* unused)
{
    (void)handle, (void)user, (void)unused;
    hear(type, message);
}

static void on_lost(const WGPUDevice* handle, WGPUDeviceLostReason reason, WGPUStringView message, void* user, void* unused)
{
    (void)handle, (void)reason, (void)message, (void)user, (void)unused;
}

static void on_popped(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* is_there, void* unused)
{
    (void)status, (void)unused;
    hear(type, message);
    *(bool*)is_there = true;
}

static void pop(void)
{
    bool is_there = false;
    library->f.DevicePopErrorScope(
        device, (WGPUPopErrorScopeCallbackInfo){
                    .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_popped, .userdata1 = &is_there});
    while (!is_there)
        library->f.InstanceProcessEvents(instance);
}

static void print_numbered(const char* text)
{
    for (int line = 1; *text; line++) {
        const size_t n = strcspn(text, "\n");
        fprintf(stderr, "%4d  %.*s\n", line, (int)n, text);
        text += n + (text[n] != 0);
    }
}

static void check(const char* file, const char* what, const char* entry, const char* text)
{
    WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL}, .code = wg_view(text)};
    const WGPUShaderModuleDescriptor desc = {.nextInChain = &source.chain};
    heard[0] = 0;
    module_count++;
    library->f.DevicePushErrorScope(device, WGPUErrorFilter_Validation);
    WGPUShaderModule module = library->f.DeviceCreateShaderModule(device, &desc);
    pop();
    if (!heard[0]) {
        const WGPUComputePipelineDescriptor pipeline = {
            .compute = {.module = module, .entryPoint = wg_view(entry)}};
        library->f.DevicePushErrorScope(device, WGPUErrorFilter_Validation);
        WGPUComputePipeline made = library->f.DeviceCreateComputePipeline(device, &pipeline);
        pop();
        if (made)
            library->f.ComputePipelineRelease(made);
    }
    if (module)
        library->f.ShaderModuleRelease(module);
    if (!heard[0])
        return;
    failure_count++;
    fprintf(stderr, "FAILED: %s: %s of %s: %s\n", file, what, entry, heard);
    if (getenv("KHALC_WGSL_PRINT"))
        print_numbered(text);
}

/* What the runtime would add: all buffers in one binding. */
static void put_shared(kc_text* out, const khal_kernel_info* info, const khal_wgsl_kernel* w)
{
    static const char* const atomics[][2] = {{"add", "atomicAdd"},           {"sub", "atomicSub"}, {"and", "atomicAnd"},
                                             {"or", "atomicOr"},             {"xor", "atomicXor"}, {"min", "atomicMin"},
                                             {"max", "atomicMax"}, {"exchange", "atomicExchange"}};
    const bool is_atomic = w->flags & KHAL_WGSL_USES_ATOMICS;
    kc_put(out, w->shared_source);
    kc_putf(out, "\n@group(0) @binding(0) var<storage, read_write> khal_memory: array<%s>;\n",
            is_atomic ? "atomic<u32>" : "u32");
    for (uint32_t i = 0; i < info->binding_count; i++) {
        const char* n = w->names[i];
        if (!is_atomic) {
            kc_putf(out,
                    "fn %s_load(i: u32) -> u32 { return khal_memory[i]; }\n"
                    "fn %s_store(i: u32, value: u32) { khal_memory[i] = value; }\n",
                    n, n);
            continue;
        }
        kc_putf(out,
                "fn %s_load(i: u32) -> u32 { return atomicLoad(&khal_memory[i]); }\n"
                "fn %s_store(i: u32, value: u32) { atomicStore(&khal_memory[i], value); }\n"
                "fn %s_compare_exchange(i: u32, comparand: u32, value: u32) -> u32 {\n"
                "    return atomicCompareExchangeWeak(&khal_memory[i], comparand, value).old_value;\n}\n",
                n, n, n);
        for (size_t k = 0; k < sizeof atomics / sizeof atomics[0]; k++)
            kc_putf(out, "fn %s_%s(i: u32, value: u32) -> u32 { return %s(&khal_memory[i], value); }\n", n, atomics[k][0],
                    atomics[k][1]);
    }
    kc_emit_wgsl_block(out, info, w);
}

static void check_kernels(const char* clang, const char* file)
{
    kc_arena* arena = kc_arena_create();
    kc_diags diags = {.arena = arena};
    char name[64];
    const char* base = strrchr(file, '/');
    snprintf(name, sizeof name, "%s", base ? base + 1 : file);
    name[strcspn(name, ".")] = 0;
    const kc_options options = {.input = file, .clang = clang, .size_t_bits = 64};
    kc_module* m = kc_build_module(arena, &diags, name, &options);
    if (m) {
        kc_pass_fold(m);
        kc_pass_prune(m);
        kc_pass_usage(m);
        khal_kernel_info* kernels = NULL;
        const uint32_t count = kc_reflect(m, &kernels);
        khal_wgsl_kernel* wgsl = KC_NEW_ARRAY(arena, khal_wgsl_kernel, count + 1);
        kc_make_wgsl(arena, &diags, name, &options, count, kernels, false, false, wgsl);
        for (uint32_t i = 0; i < count; i++) {
            kc_text text = {0};
            if (wgsl[i].source) {
                kc_put(&text, wgsl[i].source);
                kc_emit_wgsl_block(&text, &kernels[i], &wgsl[i]);
                check(file, "source", wgsl[i].entry, text.data);
            }
            kc_text_free(&text);
            if (wgsl[i].shared_source) {
                put_shared(&text, &kernels[i], &wgsl[i]);
                check(file, "shared source", wgsl[i].entry, text.data);
            }
            kc_text_free(&text);
        }
    }
    failure_count += diags.error_count;
    kc_diags_flush(&diags);
    kc_arena_destroy(arena);
}

static void check_text(const char* file)
{
    static char text[1 << 20];
    FILE* f = fopen(file, "rb");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    char entry[100] = "main";
    const char* at = strstr(text, "@compute");
    at = at ? strstr(at, "fn ") : NULL;
    if (at)
        snprintf(entry, sizeof entry, "%.*s", (int)strcspn(at + 3, "("), at + 3);
    check(file, "text", entry, text);
}

static bool open_device(void)
{
    char reason[300] = "";
    library = wg_library_open(NULL, reason, sizeof reason);
    instance = library ? wg_library_create_instance(library) : NULL;
    WGPUAdapter adapter = NULL;
    if (instance && wg_library_adapters(library, instance, 1, &adapter, reason, sizeof reason))
        device = wg_library_create_device(
            library, instance, adapter,
            (WGPUDeviceLostCallbackInfo){.mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_lost},
            (WGPUUncapturedErrorCallbackInfo){.callback = on_error}, reason, sizeof reason);
    if (!device)
        printf("SKIP webgpu: %s\n", reason);
    return device != NULL;
}

int main(int argc, char** argv)
{
    const char* required = getenv("KHAL_CTS_REQUIRE");
    if (argc < 2) {
        fprintf(stderr, "usage: check CLANG file...\n");
        return 2;
    }
    if (!open_device())
        return required && strstr(required, "webgpu") ? 1 : 0;
    for (int i = 2; i < argc; i++) {
        const size_t n = strlen(argv[i]);
        if (n > 5 && strcmp(argv[i] + n - 5, ".wgsl") == 0)
            check_text(argv[i]);
        else
            check_kernels(argv[1], argv[i]);
    }
    printf("%u modules, %u failures, with %s\n", module_count, failure_count, library->name);
    return failure_count == 0 && module_count != 0 ? 0 : 1;
}
