/* khal_module_load with any bytes as code: on the noop device, which takes every format, and on the CPU, which takes none
 * as bytes. What loads can be asked about, and functions made of it. */
#include <string.h>

#include <khal/khal.h>

#include "fuzz.h"

static void use(khal_module* module)
{
    const uint32_t count = khal_module_get_kernel_count(module);
    FUZZ_CHECK(khal_module_get_kernel_name(module, count) == NULL);
    for (uint32_t i = 0; i < count && i < 16; i++) {
        const char* name = khal_module_get_kernel_name(module, i);
        FUZZ_CHECK(name != NULL);
        khal_function* function = NULL;
        const khal_binding_desc binding = {.binding = 0, .kind = KHAL_ARG_BUFFER};
        const khal_function_desc desc = {
            .entry_point = name, .bindings = &binding, .binding_count = 1, .workgroup_size = {1, 1, 1}};
        if (khal_function_create(module, &desc, &function) == KHAL_OK) {
            const khal_kernel_info* info = khal_function_get_info(function);
            FUZZ_CHECK(info && info->name);
        }
        khal_function_release(function);
        function = NULL;
        if (khal_function_create(module, &(khal_function_desc){.entry_point = name}, &function) == KHAL_OK) {
            const khal_kernel_info* info = khal_function_get_info(function);
            for (uint32_t k = 0; k < info->arg_count; k++)
                FUZZ_CHECK(info->args[k].index == k && info->args[k].name[0] && info->args[k].element_size);
        }
        khal_function_release(function);
    }
    khal_function* function = NULL;
    FUZZ_CHECK(khal_function_create(module, &(khal_function_desc){.entry_point = "\1no such kernel"}, &function)
               != KHAL_OK);
}

static void load(khal_backend backend, const khal_module_desc* desc)
{
    khal_device* device = NULL;
    FUZZ_CHECK(khal_device_open(&(khal_device_desc){.backend = backend, .thread_count = 1}, &device) == KHAL_OK);
    khal_module* module = NULL;
    const khal_status status = khal_module_load(device, desc, &module);
    FUZZ_CHECK((status == KHAL_OK) == (module != NULL));
    if (status == KHAL_OK) {
        khal_module* again = NULL;
        FUZZ_CHECK(khal_module_load(device, desc, &again) == KHAL_OK);
        use(module);
        khal_module_release(again);
    } else {
        FUZZ_CHECK(khal_error_get()->status == status && khal_error_get()->id != KHAL_ERROR_NONE);
        FUZZ_CHECK(khal_error_get()->message[0]);
    }
    khal_module_release(module);
    khal_device_release(device);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    /* memory of exactly that size: a reader that goes beyond it is seen */
    uint8_t* code = malloc(size ? size : 1);
    if (!code)
        return 0;
    if (size)
        memcpy(code, data, size);
    const khal_module_desc desc = {.code = code, .code_size = size, .passthrough = size % 2 == 1};
    load(KHAL_BACKEND_NOOP, &desc);
    load(KHAL_BACKEND_CPU, &desc);
    free(code);
    return 0;
}
