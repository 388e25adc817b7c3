#include "cu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LIBRARIES 8u

#if defined(_WIN32)
#define USUAL_NAME "nvcuda.dll"
#else
#define USUAL_NAME "libcuda.so.1"
#endif

/* Kept until the process ends: the driver has threads of its own. */
static struct {
    cu_library library;
    bool is_initialized;
} libraries[MOST_LIBRARIES];
static uint32_t library_count;
static atomic_flag opening = ATOMIC_FLAG_INIT;

const char* cu_describe(const cu_library* library, CUresult result, char* out, size_t size)
{
    const char *name = NULL, *text = NULL;
    if (library->f.GetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        snprintf(out, size, "error %d, which the driver has no name for", result);
    else if (library->f.GetErrorString(result, &text) != CUDA_SUCCESS || text == NULL)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s: %s", name, text);
    return out;
}

/* The first function that is missing, or NULL. */
static const char* load(void* handle, cu_functions* f)
{
    const char* missing = NULL;
    void* symbol;
#define LOAD(name, symbol_name, parameters)                                                                                    \
    symbol = khal__library_symbol(handle, symbol_name);                                                                        \
    memcpy(&f->name, &symbol, sizeof symbol);
#define LOAD_REQUIRED(name, symbol_name, parameters)                                                                           \
    LOAD(name, symbol_name, parameters)                                                                                        \
    if (symbol == NULL && missing == NULL)                                                                                     \
        missing = symbol_name;
    CU_REQUIRED_FUNCTIONS(LOAD_REQUIRED)
    CU_OPTIONAL_FUNCTIONS(LOAD)
#undef LOAD
#undef LOAD_REQUIRED
    return missing;
}

/* The entry of `libraries` for this path. Under `opening`. */
static uint32_t find(const char* path, char* reason, size_t reason_size)
{
    for (uint32_t i = 0; i < library_count; ++i)
        if (strcmp(libraries[i].library.path, path) == 0)
            return i;
    if (library_count == MOST_LIBRARIES || strlen(path) >= sizeof libraries[0].library.path) {
        snprintf(reason, reason_size, "%s is one CUDA library too many, or its path is too long", path);
        return MOST_LIBRARIES;
    }
    void* handle = khal__library_open(path);
    if (handle == NULL) {
        if (strcmp(path, USUAL_NAME) == 0)
            snprintf(reason, reason_size, "no CUDA driver: " USUAL_NAME " was not found; KHAL_CUDA_LIBRARY names another");
        else
            snprintf(reason, reason_size, "%s can't be opened as a library", path);
        return MOST_LIBRARIES;
    }
    cu_library* library = &libraries[library_count].library;
    memset(library, 0, sizeof *library);
    const char* missing = load(handle, &library->f);
    if (missing != NULL) {
        if (library->f.Init == NULL)
            snprintf(reason, reason_size, "%s is no CUDA driver: it has no cuInit", path);
        else
            snprintf(reason, reason_size, "%s lacks %s: the driver is too old", path, missing);
        khal__library_close(handle);
        return MOST_LIBRARIES;
    }
    strcpy(library->path, path);
    return library_count++;
}

/* Under `opening`. A failure is not kept: what is missing may come. */
static bool initialize(cu_library* library, char* reason, size_t reason_size)
{
    char words[256];
    const CUresult result = library->f.Init(0);
    if (result != CUDA_SUCCESS) {
        snprintf(reason, reason_size, "%.80s does not start: %s", library->path,
                 cu_describe(library, result, words, sizeof words));
        return false;
    }
    if (library->f.DriverGetVersion(&library->version) != CUDA_SUCCESS)
        library->version = 0;
    return true;
}

const cu_library* cu_library_open(char* reason, size_t reason_size)
{
    const char* path = getenv("KHAL_CUDA_LIBRARY");
    if (path == NULL || path[0] == 0)
        path = USUAL_NAME;
    while (atomic_flag_test_and_set_explicit(&opening, memory_order_acquire))
        khal__thread_yield();
    const uint32_t i = find(path, reason, reason_size);
    const cu_library* library = NULL;
    if (i < MOST_LIBRARIES) {
        if (!libraries[i].is_initialized)
            libraries[i].is_initialized = initialize(&libraries[i].library, reason, reason_size);
        if (libraries[i].is_initialized)
            library = &libraries[i].library;
    }
    atomic_flag_clear_explicit(&opening, memory_order_release);
    return library;
}
