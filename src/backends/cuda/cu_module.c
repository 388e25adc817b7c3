/* Modules and functions: khalc's PTX, and PTX, cubin and fatbin from elsewhere. */
#include "cu.h"

#include <stdio.h>
#include <string.h>

#define SMALL_REGISTERS 64u    /* for each of 1,024 threads there are so many on every device */
#define UNASKED_SHARED 49152u  /* bytes of shared memory a block has without asking */

static cu_device* device_of(khal_module* module)
{
    return cu_device_of(khal__module_device(module));
}

/* ---- what the code tells of itself --------------------------------------------------------------- */

typedef struct ptx_header {
    uint32_t version; /* 10 * major + minor; 0: not found */
    uint32_t target;  /* sm_NN; 0: not found */
} ptx_header;

static const char* skip_blank(const char* at, const char* end)
{
    while (at < end) {
        if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
            ++at;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
            while (at < end && *at != '\n')
                ++at;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
            at += 2;
            while (at < end && !(end - at >= 2 && at[0] == '*' && at[1] == '/'))
                ++at;
            at = end - at >= 2 ? at + 2 : end;
        } else {
            break;
        }
    }
    return at;
}

static bool take_word(const char** at, const char* end, const char* word)
{
    const size_t length = strlen(word);
    const char* from = skip_blank(*at, end);
    if ((size_t)(end - from) < length || memcmp(from, word, length) != 0)
        return false;
    *at = from + length;
    return true;
}

static uint32_t take_number(const char** at, const char* end)
{
    uint32_t n = 0;
    while (*at < end && **at >= '0' && **at <= '9' && n < 100000)
        n = 10 * n + (uint32_t)(*(*at)++ - '0');
    return n;
}

/* `.version 8.0` and `.target sm_90a`, which a module begins with. */
static ptx_header read_header(const khal_code* code)
{
    ptx_header header = {0, 0};
    const char* at = code->bytes;
    const char* end = at + code->size;
    if (!take_word(&at, end, ".version"))
        return header;
    at = skip_blank(at, end);
    header.version = 10 * take_number(&at, end);
    if (at < end && *at == '.') {
        ++at;
        header.version += take_number(&at, end);
    }
    if (take_word(&at, end, ".target") && take_word(&at, end, "sm_"))
        header.target = take_number(&at, end);
    return header;
}

/* The version of CUDA, 10 * major + minor, whose driver takes this version of PTX first; 0 where it is not known. */
static uint32_t cuda_of_ptx(uint32_t version)
{
    const uint32_t major = version / 10, minor = version % 10;
    switch (major) {
    case 6: return minor < 3 ? 90 + minor : 100 + minor - 3;
    case 7: return 110 + minor;
    case 8: return 120 + minor + (minor > 5 ? 1 : 0); /* 12.6 brought none */
    case 9: return 130 + minor;
    default: return 0;
    }
}

/* Of a cubin's ELF header; 0: not one. The flags hold it in their second byte since the eighth version of the ABI. */
static uint32_t cubin_capability(const khal_code* code)
{
    static const unsigned char elf64[5] = {0x7f, 'E', 'L', 'F', 2};
    const unsigned char* bytes = code->bytes;
    if (code->size < 64 || memcmp(bytes, elf64, sizeof elf64) != 0)
        return 0;
    return bytes[8] >= 8 ? bytes[49] : bytes[48];
}

/* Why the driver refused the code, in our words, or nothing. */
static void explain(const cu_device* device, CUresult result, const khal_code* code, char* out, size_t size)
{
    out[0] = 0;
    const uint32_t has = device->capability;
    if (code->format == KHAL_FORMAT_CUBIN) {
        const uint32_t needs = cubin_capability(code);
        if (needs != 0 && (needs / 10 != has / 10 || needs > has))
            snprintf(out, size, "the cubin is for compute capability %u.%u; the device has %u.%u: ", needs / 10, needs % 10,
                     has / 10, has % 10);
        else if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
            snprintf(out, size, "nothing in it is for the device's compute capability %u.%u: ", has / 10, has % 10);
        return;
    }
    const ptx_header header = read_header(code);
    const uint32_t needs = cuda_of_ptx(header.version), driver = (uint32_t)device->library->version;
    const bool is_new = result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (is_new && needs != 0)
        snprintf(out, size, "the code is PTX %u.%u, which takes a driver of CUDA %u.%u; this one is of CUDA %u.%u: ",
                 header.version / 10, header.version % 10, needs / 10, needs % 10, driver / 1000, driver % 1000 / 10);
    else if (is_new)
        snprintf(out, size, "the code is PTX %u.%u, newer than this driver of CUDA %u.%u takes: ", header.version / 10,
                 header.version % 10, driver / 1000, driver % 1000 / 10);
    else if (header.target > has)
        snprintf(out, size, "the code is for compute capability %u.%u; the device has %u.%u: ", header.target / 10,
                 header.target % 10, has / 10, has % 10);
}

uint32_t cu_code_rank(khal_device* front, const khal_code* code)
{
    const uint32_t has = cu_device_of(front)->capability;
    const bool runs = code->level <= has;
    if (code->format == KHAL_FORMAT_PTX)
        return runs ? 1 + code->level : 0;
    if (code->format == KHAL_FORMAT_CUBIN) /* machine code runs within its generation alone, and needs no compiler */
        return runs && code->level / 10 == has / 10 ? 100000 + code->level : 0;
    return 0;
}

/* ---- loading ------------------------------------------------------------------------------------- */

/* The driver compiles PTX, and keeps what it made on disk. Its linker, which would hand the machine code out, makes code that can
 * be linked further: four times the registers, and shared memory read a word at a time. */

typedef struct jit_log {
    char error[4096], info[1024];
} jit_log;

typedef struct jit_options {
    CUjit_option names[5];
    void* values[5];
    unsigned count;
} jit_options;

static jit_options make_options(jit_log* log, uint32_t registers)
{
    jit_options options = {{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS},
                           {log->error, (void*)(uintptr_t)sizeof log->error, log->info,
                            (void*)(uintptr_t)sizeof log->info, (void*)(uintptr_t)registers},
                           registers > 0 ? 5 : 4};
    log->error[0] = log->info[0] = 0;
    return options;
}

/* The text with a final 0, which the driver wants: the code's own, or a copy that `*out_copy` holds. */
static const char* terminated(cu_device* device, const khal_code* code, char** out_copy)
{
    const char* text = code->bytes;
    *out_copy = NULL;
    if (code->size > 0 && text[code->size - 1] == 0)
        return text;
    char* copy = khal__alloc(device->front, code->size + 1, 16);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, code->size);
    copy[code->size] = 0;
    *out_copy = copy;
    return copy;
}

static CUresult load_ptx(cu_device* device, const khal_code* code, uint32_t registers, jit_log* log, CUmodule* out)
{
    char* copy;
    const char* text = terminated(device, code, &copy);
    if (text == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    jit_options options = make_options(log, registers);
    const CUresult result = device->f->ModuleLoadDataEx(out, text, options.count, options.names, options.values);
    if (copy != NULL)
        khal__free(device->front, copy, code->size + 1);
    return result;
}

static void trim(char* text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = 0;
}

static khal_status fail_load(cu_device* device, CUresult result, const char* label, const khal_code* code, jit_log* log)
{
    if (cu_is_sticky(result) || result == CUDA_ERROR_OUT_OF_MEMORY)
        return cu_check(device, result, KHAL_ERROR_MODULE_COMPILE, label, "loading a module");
    char why[256], words[256];
    explain(device, result, code, why, sizeof why);
    cu_describe(device->library, result, words, sizeof words);
    log->error[sizeof log->error - 1] = 0;
    log->info[sizeof log->info - 1] = 0;
    trim(log->error);
    trim(log->info);
    const char* more = log->error[0] != 0 ? log->error : log->info;
    return khal__fail(device->front, KHAL_ERROR_MODULE_COMPILE, result, label, "%s%s%s%s", why, words,
                      more[0] != 0 ? "\n" : "", more);
}

/* A library whose kernels all lack PTX has a text that is empty, which no driver takes: each of them then says why. */
static bool has_kernels(khal_module* module, const khal_code* code)
{
    const khal_kernel_library* library = khal__module_library(module);
    bool found = library == NULL;
    for (uint32_t i = 0; !found && i < library->kernel_count; ++i)
        found = code->ptx_kernels[i].entry != NULL;
    return found;
}

khal_status cu_module_create(khal_module* module, const khal_module_desc* desc, const khal_code* code)
{
    cu_device* device = device_of(module);
    cu_module* cu = cu_module_of(module);
    if (!has_kernels(module, code)) {
        cu->format = code->format;
        khal__mutex_init(&cu->lock);
        return KHAL_OK;
    }
    jit_log* log = khal__alloc(device->front, sizeof *log, _Alignof(jit_log));
    if (log == NULL)
        return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, desc->label, "no memory to load a module");
    cu_scope scope;
    khal_status status = KHAL_DEVICE_LOST;
    cu->format = code->format;
    log->error[0] = log->info[0] = 0;
    if (cu_enter(device, &scope)) {
        const CUresult result = code->format == KHAL_FORMAT_PTX
                                    ? load_ptx(device, code, 0, log, &cu->handle)
                                    : device->f->ModuleLoadDataEx(&cu->handle, code->bytes, 0, NULL, NULL);
        cu_leave(device, scope);
        status = result == CUDA_SUCCESS ? KHAL_OK : fail_load(device, result, desc->label, code, log);
    }
    khal__free(device->front, log, sizeof *log);
    if (status == KHAL_OK)
        khal__mutex_init(&cu->lock);
    return status;
}

void cu_module_destroy(khal_module* module)
{
    cu_device* device = device_of(module);
    cu_module* cu = cu_module_of(module);
    cu_scope scope;
    khal__mutex_destroy(&cu->lock);
    if (cu->handle == NULL || !cu_enter(device, &scope))
        return;
    (void)device->f->ModuleUnload(cu->handle);
    if (cu->small != NULL)
        (void)device->f->ModuleUnload(cu->small);
    cu_leave(device, scope);
}

/* ---- functions ----------------------------------------------------------------------------------- */

static CUresult get_entry(cu_device* device, CUmodule module, const char* name, cu_entry* out, uint32_t* out_static_shared)
{
    const cu_functions* f = device->f;
    int threads = 0, shared = 0;
    cu_entry entry = {0};
    CUresult result = f->ModuleGetFunction(&entry.handle, module, name);
    if (result == CUDA_SUCCESS)
        result = f->FuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, entry.handle);
    if (result == CUDA_SUCCESS)
        result = f->FuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, entry.handle);
    if (result != CUDA_SUCCESS)
        return result;
    entry.thread_limit = threads > 0 ? (uint32_t)threads : 0;
    *out_static_shared = shared > 0 ? (uint32_t)shared : 0;
    entry.dynamic_limit = *out_static_shared < UNASKED_SHARED ? UNASKED_SHARED - *out_static_shared : 0;
    *out = entry;
    return CUDA_SUCCESS;
}

static struct cu_parameter* make_parameters(cu_device* device, cu_function* cu, uint32_t count)
{
    cu->parameter_count = count;
    if (count > 0)
        cu->parameters = khal__alloc(device->front, count * sizeof *cu->parameters, _Alignof(struct cu_parameter));
    return cu->parameters;
}

static void free_parameters(cu_device* device, cu_function* cu)
{
    if (cu->parameters != NULL)
        khal__free(device->front, cu->parameters, cu->parameter_count * sizeof *cu->parameters);
    cu->parameters = NULL;
    cu->parameter_count = 0;
}

static khal_status fail_memory(cu_device* device, const khal_function_desc* desc)
{
    return khal__fail(device->front, KHAL_ERROR_OUT_OF_MEMORY, 0, desc->label, "no memory for a function");
}

static khal_status fail_parameters(cu_device* device, const khal_function_desc* desc, const char* name, uint32_t count)
{
    return khal__fail(device->front, KHAL_ERROR_FUNCTION_LIMIT, 0, desc->label, "kernel %s has %u parameters; at most %u", name,
                      count, CU_MOST_PARAMETERS - 1);
}

static khal_status create_kernel(khal_function* function, const khal_function_desc* desc)
{
    khal_module* module = khal__function_module(function);
    cu_device* device = device_of(module);
    cu_function* cu = cu_function_of(function);
    const khal_kernel_info* info = khal__function_kernel(function);
    const khal_ptx_kernel* kernel = &khal__module_code(module)->ptx_kernels[khal__function_index(function)];
    uint32_t shared = 0;
    if (kernel->entry == NULL)
        return khal__fail(device->front, KHAL_ERROR_UNSUPPORTED, 0, desc->label, "kernel %s can't be had in PTX: %s", info->name,
                          kernel->reason);
    if (info->arg_count >= CU_MOST_PARAMETERS)
        return fail_parameters(device, desc, info->name, info->arg_count);
    if (make_parameters(device, cu, info->arg_count) == NULL && info->arg_count > 0)
        return fail_memory(device, desc);
    for (uint32_t i = 0; i < info->arg_count; ++i) {
        const khal_arg_info* arg = &info->args[i];
        const bool is_value = arg->kind == KHAL_ARG_VALUE;
        cu->parameters[i] = (struct cu_parameter){
            .kind = (uint8_t)arg->kind, .index = arg->index, .offset = arg->offset, .size = is_value ? arg->element_size : 8};
    }
    cu->dynamic_size = kernel->dynamic_size;
    CUresult result = get_entry(device, cu_module_of(module)->handle, kernel->entry, &cu->plain, &cu->static_shared);
    if (result == CUDA_SUCCESS)
        result = get_entry(device, cu_module_of(module)->handle, kernel->grid_entry, &cu->grid, &shared);
    if (shared > cu->static_shared)
        cu->static_shared = shared;
    return cu_check(device, result, KHAL_ERROR_FUNCTION_COMPILE, desc->label, info->name);
}

/* The parameters of a kernel whose code does not tell them, from the driver. CUDA_ERROR_NOT_SUPPORTED: from a newer one. */
static CUresult ask_parameters(cu_device* device, const cu_function* cu, khal__parameter out[CU_MOST_PARAMETERS], uint32_t* out_count)
{
    *out_count = 0;
    if (device->f->FuncGetParamInfo == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    while (*out_count < CU_MOST_PARAMETERS) {
        size_t offset = 0, size = 0;
        const CUresult result = device->f->FuncGetParamInfo(cu->plain.handle, *out_count, &offset, &size);
        if (result == CUDA_ERROR_INVALID_VALUE) /* beyond the last */
            return CUDA_SUCCESS;
        if (result != CUDA_SUCCESS)
            return result;
        /* The largest alignment that its size and place allow. */
        const size_t both = offset | size | 16;
        out[(*out_count)++] = (khal__parameter){.size = (uint32_t)size, .align = (uint32_t)(both & (~both + 1u))};
    }
    return CUDA_SUCCESS;
}

/* Bindings alone need no sizes: they are the first parameters. */
static khal_status guess_parameters(khal_function* function, const khal_function_desc* desc, khal__parameter* out,
                                    uint32_t* out_count)
{
    if (desc->push_constant_size > 0)
        return khal__fail(khal__module_device(khal__function_module(function)), KHAL_ERROR_UNSUPPORTED, 0, desc->label,
                          "kernel %s has push constants, and neither its code nor this driver, which is older than CUDA 12.4, "
                          "tells where its parameters lie",
                          khal__function_kernel(function)->name);
    *out_count = desc->binding_count < CU_MOST_PARAMETERS ? desc->binding_count : CU_MOST_PARAMETERS;
    for (uint32_t i = 0; i < *out_count; ++i)
        out[i] = (khal__parameter){.size = 8, .align = 8};
    return KHAL_OK;
}

static khal_status keep_parameters(cu_device* device, cu_function* cu, const khal_function_desc* desc, const char* name,
                                   const khal__parameter* parameters, uint32_t count)
{
    if (count >= CU_MOST_PARAMETERS)
        return fail_parameters(device, desc, name, count);
    if (make_parameters(device, cu, count) == NULL && count > 0)
        return fail_memory(device, desc);
    for (uint32_t i = 0; i < count; ++i)
        cu->parameters[i] = (struct cu_parameter){.kind = (uint8_t)parameters[i].kind,
                                                  .index = parameters[i].index,
                                                  .offset = parameters[i].offset,
                                                  .size = parameters[i].size};
    return KHAL_OK;
}

static khal_status create_foreign(khal_function* function, const khal_function_desc* desc)
{
    khal_module* module = khal__function_module(function);
    cu_device* device = device_of(module);
    cu_function* cu = cu_function_of(function);
    const char* name = khal__function_kernel(function)->name;
    const khal__parameter* known = NULL;
    uint32_t count = 0;
    cu->is_foreign = true;
    CUresult result = get_entry(device, cu_module_of(module)->handle, name, &cu->plain, &cu->static_shared);
    if (result == CUDA_ERROR_NOT_FOUND)
        return khal__fail(device->front, KHAL_ERROR_ENTRY_POINT, result, desc->label,
                          "no entry point \"%.100s\"; the code does not tell which there are", name);
    if (result == CUDA_SUCCESS && khal__function_parameters(function, &known, &count))
        return keep_parameters(device, cu, desc, name, known, count);
    khal__parameter parameters[CU_MOST_PARAMETERS];
    khal_status status = KHAL_OK;
    if (result == CUDA_SUCCESS)
        result = ask_parameters(device, cu, parameters, &count);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        status = guess_parameters(function, desc, parameters, &count);
    else
        status = cu_check(device, result, KHAL_ERROR_FUNCTION_COMPILE, desc->label, name);
    if (status == KHAL_OK)
        status = khal__function_lay_out(function, desc, parameters, count);
    return status == KHAL_OK ? keep_parameters(device, cu, desc, name, parameters, count) : status;
}

khal_status cu_function_create(khal_function* function, const khal_function_desc* desc)
{
    khal_module* module = khal__function_module(function);
    cu_device* device = device_of(module);
    cu_function* cu = cu_function_of(function);
    cu_scope scope;
    if (!cu_enter(device, &scope))
        return KHAL_DEVICE_LOST;
    const khal_status status =
        khal__module_library(module) != NULL ? create_kernel(function, desc) : create_foreign(function, desc);
    cu_leave(device, scope);
    if (status == KHAL_OK)
        khal__mutex_init(&cu->lock);
    else
        free_parameters(device, cu);
    return status;
}

void cu_function_destroy(khal_function* function)
{
    cu_function* cu = cu_function_of(function);
    free_parameters(device_of(khal__function_module(function)), cu);
    khal__mutex_destroy(&cu->lock);
}

/* ---- large work-groups --------------------------------------------------------------------------- */

static CUresult load_small(khal_module* module)
{
    cu_device* device = device_of(module);
    cu_module* cu = cu_module_of(module);
    if (cu->small != NULL)
        return CUDA_SUCCESS;
    jit_log* log = khal__alloc(device->front, sizeof *log, _Alignof(jit_log));
    if (log == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = load_ptx(device, khal__module_code(module), SMALL_REGISTERS, log, &cu->small);
    khal__free(device->front, log, sizeof *log);
    return result;
}

/* The kernel with fewer registers, so that more threads fit a block. */
static CUresult make_small(khal_function* function, bool is_grid, cu_entry* out)
{
    khal_module* module = khal__function_module(function);
    cu_device* device = device_of(module);
    cu_module* cu = cu_module_of(module);
    const char* name = khal__function_kernel(function)->name;
    if (khal__module_library(module) != NULL) {
        const khal_ptx_kernel* kernel = &khal__module_code(module)->ptx_kernels[khal__function_index(function)];
        name = is_grid ? kernel->grid_entry : kernel->entry;
    }
    uint32_t shared;
    khal__mutex_lock(&cu->lock);
    CUresult result = load_small(module);
    khal__mutex_unlock(&cu->lock);
    if (result == CUDA_SUCCESS)
        result = get_entry(device, cu->small, name, out, &shared);
    return result;
}

cu_entry* cu_function_entry(khal_function* function, bool is_grid, uint32_t threads, CUresult* result)
{
    cu_function* cu = cu_function_of(function);
    cu_entry* entry = is_grid ? &cu->grid : &cu->plain;
    if (threads <= entry->thread_limit)
        return entry;
    entry = is_grid ? &cu->small_grid : &cu->small_plain;
    *result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (cu_module_of(khal__function_module(function))->format != KHAL_FORMAT_PTX)
        return NULL;
    khal__mutex_lock(&cu->lock);
    CUresult made = entry->handle == NULL ? make_small(function, is_grid, entry) : CUDA_SUCCESS;
    khal__mutex_unlock(&cu->lock);
    if (made == CUDA_SUCCESS && threads <= entry->thread_limit) {
        *result = CUDA_SUCCESS;
        return entry;
    }
    if (made != CUDA_SUCCESS)
        *result = made;
    return NULL;
}
