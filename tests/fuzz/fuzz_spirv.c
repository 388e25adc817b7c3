/* SPIR-V's structure, what is read from it, and what WebGPU libraries are not given: any bytes. */
#include <string.h>

#include "backends/webgpu/wg_spirv.h"
#include "core/reflect.h"
#include "core/spirv.h"

#include "fuzz.h"

static void ask(khal_device* device, const khal__spirv* s)
{
    for (uint32_t id = 0; id < s->bound && id < 4096; id++) {
        const uint32_t type = khal__spirv_type_of(s, id);
        FUZZ_CHECK(type < s->bound && khal__spirv_root(s, id) < s->bound);
    }
    for (uint32_t at = 5; at < s->count; at += khal__spirv_length(s, at)) {
        if (khal__spirv_op(s, at) != KHAL__OP_EntryPoint)
            continue;
        char name[256];
        khal__spirv_string(s->words + at + 3, khal__spirv_length(s, at) - 3, name, sizeof name);
        khal__reflection reflection = {0};
        if (khal__reflect_spirv(device, s->words, s->count, name, &reflection) == KHAL_OK && !reflection.problem)
            for (uint32_t i = 1; i < reflection.binding_count; i++) {
                const khal_binding_desc *a = &reflection.bindings[i - 1], *b = &reflection.bindings[i];
                FUZZ_CHECK(a->group < b->group || (a->group == b->group && a->binding < b->binding));
            }
        khal__reflection_free(device, &reflection);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static khal_device* device;
    if (!device)
        FUZZ_CHECK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}, &device) == KHAL_OK);
    const size_t count = size / 4;
    uint32_t* words = malloc(count ? 4 * count : 4);
    if (!words)
        return 0;
    if (count)
        memcpy(words, data, 4 * count);
    if (count > 3 && words[3] > 100000) /* tables by id: larger ones are no news, only slow */
        words[3] = 100000;
    khal__spirv spirv;
    const char* wrong = NULL;
    if (khal__spirv_open(NULL, words, count, &spirv, &wrong)) {
        ask(device, &spirv);
        khal__spirv_close(&spirv);
        for (int i = 0; i < 4; i++) {
            const wg_spirv_target target = {.is_dawn = i % 2, .has_float16 = i > 1, .has_float64 = i > 1, .has_int64 = i > 1,
                                            .has_float_atomics = i > 1, .has_subgroups = i > 1, .has_immediates = i > 1};
            char message[400] = "";
            if (!wg_spirv_check(&target, words, count, message, sizeof message))
                FUZZ_CHECK(message[0]);
            wg_spirv_is_read_only(&target, words, count, 0, 0);
        }
    } else {
        FUZZ_CHECK(wrong && wrong[0]);
    }
    free(words);
    return 0;
}
