/* The stand-in's modules: PTX is read for what its entry points take, and a compiled module is that text behind a header of the
 * ELF kind. */
#include "standin_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REGISTERS 255u
#define FATBIN_MAGIC 0xba55ed50u

/* As the driver's compiled modules begin; `flags` has the capability. The text follows. */
typedef struct cubin {
    unsigned char magic[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, programs, sections;
    uint32_t flags;
    uint16_t sizes[6];
    uint64_t text_size;
    uint32_t register_limit, reserved;
} cubin;
static const unsigned char elf_magic[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7};

typedef struct fatbin {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
} fatbin;

typedef struct jit_options {
    unsigned register_limit;
    char *errors, *infos;
    unsigned error_room, info_room;
    void **error_used, **info_used;
} jit_options;

static jit_options read_options(unsigned count, const CUjit_option* names, void** values)
{
    jit_options o = {.register_limit = MOST_REGISTERS};
    for (unsigned i = 0; i < count; ++i)
        switch (names[i]) {
        case CU_JIT_MAX_REGISTERS: o.register_limit = (unsigned)(uintptr_t)values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER: o.errors = values[i]; break;
        case CU_JIT_INFO_LOG_BUFFER: o.infos = values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            o.error_room = (unsigned)(uintptr_t)values[i];
            o.error_used = &values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            o.info_room = (unsigned)(uintptr_t)values[i];
            o.info_used = &values[i];
            break;
        default: misuse("the option %d of the compiler", (int)names[i]);
        }
    return o;
}

static void say(char* log, unsigned room, void** used, const char* text)
{
    if (log == NULL || room == 0)
        return;
    snprintf(log, room, "%s", text);
    if (used != NULL)
        *used = (void*)(uintptr_t)(strlen(log) + 1);
}

/* ---- PTX --------------------------------------------------------------------------------------- */

/* What the driver's compiler says of the text. */
static CUresult check_ptx(const char* text, const jit_options* options)
{
    unsigned major = 0, minor = 0, target = 0;
    char log[256];
    const char *version = strstr(text, ".version"), *architecture = strstr(text, ".target sm_");
    count_call("JIT");
    if (version == NULL || sscanf(version, ".version %u.%u", &major, &minor) != 2 || architecture == NULL ||
        sscanf(architecture, ".target sm_%u", &target) != 1) {
        say(options->errors, options->error_room, options->error_used,
            "ptxas application ptx input, line 1; fatal   : Missing .version directive at start of file\n"
            "ptxas fatal   : Ptx assembly aborted due to errors");
        return CUDA_ERROR_INVALID_PTX;
    }
    if ((int)(major * 10 + minor) > traits.ptx_version) {
        snprintf(log, sizeof log, "ptxas application ptx input, line 1; fatal   : Unsupported .version %u.%u; current version is '%d.%d'",
                 major, minor, traits.ptx_version / 10, traits.ptx_version % 10);
        say(options->errors, options->error_room, options->error_used, log);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if ((int)target > traits.capability) {
        say(options->errors, options->error_room, options->error_used,
            "ptxas application ptx input, line 2; fatal   : SM version specified by .target is higher than default SM version "
            "assumed");
        return CUDA_ERROR_INVALID_PTX;
    }
    if (strstr(text, "\nerror") != NULL) {
        say(options->errors, options->error_room, options->error_used,
            "ptxas application ptx input, line 9; error   : Not a name of any known instruction: 'error'\n"
            "ptxas fatal   : Ptx assembly aborted due to errors");
        return CUDA_ERROR_INVALID_PTX;
    }
    say(options->infos, options->info_room, options->info_used, "");
    return CUDA_SUCCESS;
}

static size_t type_size(const char* at)
{
    return at[0] == '.' && strchr("busf", at[1]) != NULL && at[1] != 0 ? strtoul(at + 2, NULL, 10) / 8 : 0;
}

/* One `.param` up to its comma or the end of the list. */
static void read_parameter(function* f, const char* at, const char* stop)
{
    size_t size = 0, align = 0, count = 1;
    for (const char* c = at; c < stop; ++c) {
        unsigned long number = 0;
        if (size == 0 && c[0] == '.' && strchr("busf", c[1]) != NULL && c[2] >= '0' && c[2] <= '9')
            size = type_size(c);
        else if (size == 0 && sscanf(c, ".align %lu", &number) == 1)
            align = number;
        else if (c[0] == '[')
            count = strtoul(c + 1, NULL, 10);
    }
    const unsigned i = f->parameter_count;
    if (size == 0 || i == MOST_PARAMETERS)
        return;
    const size_t before = i > 0 ? f->offsets[i - 1] + f->sizes[i - 1] : 0;
    if (align == 0)
        align = size;
    f->offsets[i] = (before + align - 1) / align * align;
    f->sizes[i] = size * count;
    ++f->parameter_count;
}

static void read_parameters(function* f, const char* at, const char* stop)
{
    while ((at = strstr(at, ".param")) != NULL && at < stop) {
        const char* comma = memchr(at, ',', (size_t)(stop - at));
        const char* last = comma != NULL ? comma : stop;
        read_parameter(f, at + 6, last);
        at = last;
    }
}

/* What the entry's directives and declarations say: .reqntid, registers, shared memory of its own. */
static void read_body(function* f, const char* at, const char* stop, unsigned register_limit)
{
    f->registers = 32;
    for (const char* c = at; c < stop; ++c) {
        unsigned long bytes = 0;
        if (*c != '.' && *c != '%')
            continue;
        if (strncmp(c, ".reqntid", 8) == 0)
            sscanf(c, ".reqntid %u, %u, %u", &f->required[0], &f->required[1], &f->required[2]);
        else if (strncmp(c, "%r<", 3) == 0)
            sscanf(c, "%%r<%u>", &f->registers);
        else if (strncmp(c, ".shared", 7) == 0 && sscanf(c, ".shared .align %*u .b8 %*[^[][%lu]", &bytes) == 1)
            f->static_shared += (int)bytes;
    }
    if (f->registers > register_limit)
        f->registers = register_limit;
    const unsigned threads = f->registers > 0 ? 65536 / f->registers / 32 * 32 : 1024;
    f->thread_limit = threads < 1024 ? (int)threads : 1024;
}

static void read_entries(module* m, const char* text, unsigned register_limit)
{
    function** last = &m->functions;
    const char* at = text;
    while ((at = strstr(at, ".entry")) != NULL) {
        function* f = make_object(OBJECT_FUNCTION, sizeof *f);
        f->module = m;
        int length = 0;
        if (sscanf(at, ".entry %255[^( \t\n]%n", f->name, &length) != 1) {
            drop_object(f);
            return;
        }
        at += length;
        const char *body = strchr(at, '{'), *list = strchr(at, '(');
        const char* stop = body != NULL ? strstr(body, "\n}") : NULL;
        if (body != NULL && list != NULL && list < body)
            read_parameters(f, list, strchr(list, ')'));
        if (body != NULL)
            read_body(f, at, stop != NULL ? stop : body + strlen(body), register_limit);
        f->dynamic_limit = STATIC_SHARED_LIMIT - f->static_shared;
        *last = f;
        last = &f->next;
    }
}

/* ---- modules ----------------------------------------------------------------------------------- */

void module_drop(module* m)
{
    for (function *f = m->functions, *next; f != NULL; f = next) {
        next = f->next;
        drop_object(f);
    }
    free(m->code);
    drop_object(m);
}

static module* make_module(const char* text, unsigned register_limit)
{
    module* m = make_object(OBJECT_MODULE, sizeof *m);
    m->code = strdup(text);
    if (m->code == NULL)
        abort();
    read_entries(m, text, register_limit);
    return m;
}

static CUresult load_cubin(const cubin* c, module** out)
{
    const int made_for = (int)(c->flags & 0xff);
    if (c->machine != 190 || memcmp(c->magic, elf_magic, sizeof elf_magic) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    if (made_for / 10 != traits.capability / 10 || made_for > traits.capability)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *out = make_module((const char*)(c + 1), c->register_limit);
    return CUDA_SUCCESS;
}

static CUresult load(const void* image, const jit_options* options, module** out)
{
    const char* text = image;
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (memcmp(image, elf_magic, 4) == 0)
        return load_cubin(image, out);
    if (magic == FATBIN_MAGIC)
        return load_cubin((const cubin*)(const void*)(text + sizeof(fatbin)), out);
    if (strstr(text, ".version") == NULL)
        return CUDA_ERROR_INVALID_IMAGE;
    const CUresult result = check_ptx(text, options);
    if (result == CUDA_SUCCESS)
        *out = make_module(text, options->register_limit);
    return result;
}

EXPORT_CUDA CUresult CU_CALL cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* names,
                                                void** values)
{
    CUresult result = begin("ModuleLoadDataEx", CALL_MAKES);
    if (result == CUDA_SUCCESS) {
        const jit_options options = read_options(count, names, values);
        module* m = NULL;
        result = load(image, &options, &m);
        if (result == CUDA_SUCCESS)
            *out = (CUmodule)m;
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuModuleUnload(CUmodule handle)
{
    CUresult result = begin("ModuleUnload", CALL_RELEASES);
    if (releases(result)) {
        module* m = check_object(handle, OBJECT_MODULE);
        if (m == NULL)
            result = CUDA_ERROR_INVALID_HANDLE;
        else {
            if (m->pending > 0 && result == CUDA_SUCCESS)
                misuse("a module is unloaded whose kernels are still to run");
            drain_context(current());
            module_drop(m);
        }
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name)
{
    CUresult result = begin("ModuleGetFunction", CALL_QUERY);
    const module* m = result == CUDA_SUCCESS ? check_object(handle, OBJECT_MODULE) : NULL;
    if (result == CUDA_SUCCESS && m == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (m != NULL) {
        function* f = m->functions;
        while (f != NULL && strcmp(f->name, name) != 0)
            f = f->next;
        if (f == NULL)
            result = CUDA_ERROR_NOT_FOUND;
        else
            *out = (CUfunction)f;
    }
    return end(result);
}

/* The function of a call that began well, or NULL and the result. */
static function* function_of(CUfunction handle, CUresult* result)
{
    function* f = *result == CUDA_SUCCESS ? check_object(handle, OBJECT_FUNCTION) : NULL;
    if (f == NULL && *result == CUDA_SUCCESS)
        *result = CUDA_ERROR_INVALID_HANDLE;
    return f;
}

EXPORT_CUDA CUresult CU_CALL cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction handle)
{
    CUresult result = begin("FuncGetAttribute", CALL_QUERY);
    const function* f = function_of(handle, &result);
    if (f != NULL)
        switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = f->thread_limit; break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = f->static_shared; break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->dynamic_limit; break;
        default: result = invalid("the attribute %d of a function", (int)which);
        }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value)
{
    CUresult result = begin("FuncSetAttribute", CALL_QUERY);
    function* f = function_of(handle, &result);
    if (f != NULL && (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
                      value > traits.shared_limit - f->static_shared))
        result = invalid("the attribute %d of a function set to %d", (int)which, value);
    else if (f != NULL)
        f->dynamic_limit = value;
    return end(result);
}

#ifndef STANDIN_LACKS_OCCUPANCY
EXPORT_CUDA CUresult CU_CALL cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_size,
                                                                         size_t dynamic_shared)
{
    CUresult result = begin("OccupancyMaxActiveBlocksPerMultiprocessor", CALL_QUERY);
    const function* f = function_of(handle, &result);
    if (f != NULL && block_size <= 0)
        result = invalid("the occupancy of blocks of %d", block_size);
    else if (f != NULL) {
        const size_t shared = dynamic_shared + (size_t)f->static_shared;
        const size_t by_memory = shared > 0 ? 233472 / shared : 32;
        const int by_threads = block_size <= f->thread_limit ? 2048 / block_size : 0;
        *blocks = by_memory < (size_t)by_threads ? (int)by_memory : by_threads;
        if (*blocks > 32)
            *blocks = 32;
    }
    return end(result);
}
#endif

#ifndef STANDIN_IS_OLD
EXPORT_CUDA CUresult CU_CALL cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size)
{
    CUresult result = begin("FuncGetParamInfo", CALL_QUERY);
    const function* f = function_of(handle, &result);
    if (f != NULL && index >= f->parameter_count)
        result = CUDA_ERROR_INVALID_VALUE; /* how a program learns the count */
    else if (f != NULL) {
        *offset = f->offsets[index];
        if (size != NULL)
            *size = f->sizes[index];
    }
    return end(result);
}
#endif

/* As a compiler makes it for the devices that there are. */
void* make_cubin(const char* text, size_t* out_size)
{
    const size_t size = strlen(text) + 1;
    cubin* made = calloc(1, sizeof *made + size);
    if (made == NULL)
        abort();
    memcpy(made->magic, elf_magic, sizeof elf_magic);
    made->type = 2;
    made->machine = 190;
    made->flags = (uint32_t)traits.capability | (uint32_t)traits.capability << 16;
    made->text_size = size;
    made->register_limit = MOST_REGISTERS;
    memcpy(made + 1, text, size);
    *out_size = sizeof *made + size;
    return made;
}

/* ---- launches ---------------------------------------------------------------------------------- */

static CUresult check_sizes(const function* f, const unsigned grid[3], const unsigned block[3], unsigned shared)
{
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535)
        return invalid("a launch of %u x %u x %u blocks", grid[0], grid[1], grid[2]);
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads == 0 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > 1024)
        return invalid("blocks of %u x %u x %u", block[0], block[1], block[2]);
    if (threads > (uint64_t)f->thread_limit) {
        misuse("blocks of %u, where %s takes %d", (unsigned)threads, f->name, f->thread_limit);
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    if (f->required[0] != 0 && memcmp(f->required, block, sizeof f->required) != 0)
        return invalid("blocks that are not those that %s requires", f->name);
    if (shared > (unsigned)f->dynamic_limit)
        return invalid("%u bytes of shared memory, where %s was allowed %d", shared, f->name, f->dynamic_limit);
    return CUDA_SUCCESS;
}

/* No word of the parameters is the address of memory that is not there. */
static bool check_addresses(const function* f, const void* parameter, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, (const char*)parameter + i, 8);
        if (is_device_address(word) && allocation_of(word) == NULL) {
            misuse("%s is launched with memory that is freed", f->name);
            return false;
        }
    }
    return true;
}

work* make_launch(function* f, const unsigned grid[3], const unsigned block[3], unsigned shared, void** parameters,
                  CUresult* result)
{
    *result = check_sizes(f, grid, block, shared);
    if (*result != CUDA_SUCCESS)
        return NULL;
    if (f->parameter_count > 0 && parameters == NULL) {
        *result = invalid("%s is launched without its parameters", f->name);
        return NULL;
    }
    work* w = make_work(WORK_LAUNCH);
    const unsigned count = f->parameter_count;
    w->u.launch.module = f->module;
    memcpy(w->u.launch.name, f->name, sizeof f->name);
    memcpy(w->u.launch.grid, grid, sizeof w->u.launch.grid);
    memcpy(w->u.launch.block, block, sizeof w->u.launch.block);
    w->u.launch.shared = shared;
    w->u.launch.parameter_count = count;
    char* bytes = calloc(1, count > 0 ? f->offsets[count - 1] + f->sizes[count - 1] : 1);
    if (bytes == NULL)
        abort();
    w->u.launch.bytes = bytes;
    for (unsigned i = 0; i < count; ++i) {
        if (parameters[i] == NULL || !check_addresses(f, parameters[i], f->sizes[i])) {
            *result = invalid("%s is launched without its parameter %u", f->name, i);
            drop_work(w);
            return NULL;
        }
        memcpy(bytes + f->offsets[i], parameters[i], f->sizes[i]);
        w->u.launch.sizes[i] = f->sizes[i];
        w->u.launch.parameters[i] = bytes + f->offsets[i];
    }
    return w;
}

EXPORT_CUDA CUresult CU_CALL cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                            CUstream stream_handle, void** parameters, void** extra)
{
    CUresult result = begin("LaunchKernel", CALL_MAKES);
    function* f = function_of(handle, &result);
    stream* s = f != NULL ? check_object(stream_handle, OBJECT_STREAM) : NULL;
    if (f != NULL && (s == NULL || extra != NULL))
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (f != NULL) {
        work* w = make_launch(f, (const unsigned[]){grid_x, grid_y, grid_z}, (const unsigned[]){block_x, block_y, block_z},
                              shared, parameters, &result);
        if (w != NULL)
            push_work(s, w);
    }
    return end(result);
}
