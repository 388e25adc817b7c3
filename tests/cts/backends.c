#include "harness.h"

#include <string.h>

static const cts_backend backends[] = {
    {.id = KHAL_BACKEND_CPU, .name = "cpu"},
    {.id = KHAL_BACKEND_NOOP, .name = "noop", .skip_all = "it runs nothing"},
    {.id = KHAL_BACKEND_CUDA, .name = "cuda"},
    {.id = KHAL_BACKEND_VULKAN, .name = "vulkan", .flushes_denormals = true},
    {.id = KHAL_BACKEND_METAL, .name = "metal", .flushes_denormals = true},
    {.id = KHAL_BACKEND_WEBGPU, .name = "webgpu", .flushes_denormals = true, .simplifies_floats = true},
};

const cts_backend* cts_backend_find(const char* name)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (strcmp(backends[i].name, name) == 0) return &backends[i];
    return NULL;
}

const cts_unsupported* cts_backend_unsupported(const cts_backend* backend, const char* case_name)
{
    for (const cts_unsupported* u = backend->unsupported; u != NULL && u->pattern != NULL; u++)
        if (cts_match(u->pattern, case_name)) return u;
    return NULL;
}

bool cts_match(const char* pattern, const char* text)
{
    const char* star = NULL;
    const char* retry = text;
    while (*text != 0) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}
