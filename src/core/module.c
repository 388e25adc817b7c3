#include "core.h"
#include "reflect.h"
#include "spirv.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#include <xxhash.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* ---- what is asked for -------------------------------------------------------------------------
 */

static bool is_ptx(uint32_t format)
{
    return format == KHAL_FORMAT_PTX || format == KHAL_FORMAT_CUBIN;
}

/* The ABI of hidden arguments that this khal knows in a format; 0: it has none of ours. */
static uint32_t known_abi(uint32_t format)
{
    switch (format) {
    case KHAL_FORMAT_CPU: return KHAL_CPU_ABI;
    case KHAL_FORMAT_WGSL: return KHAL_WGSL_ABI;
    case KHAL_FORMAT_PTX:
    case KHAL_FORMAT_CUBIN: return KHAL_PTX_ABI;
    default: return 0;
    }
}

static bool abi_is_known(const khal_code* code)
{
    const uint32_t known = known_abi(code->format);
    return known == 0 || code->abi == known;
}

static const char* broken_wgsl(const khal_kernel_info* info, const khal_wgsl_kernel* kernel)
{
    if (kernel->source == NULL)
        return kernel->reason == NULL ? "a kernel with neither WGSL nor the reason why" : NULL;
    if (kernel->entry == NULL)
        return "a kernel whose WGSL has no entry point";
    if (kernel->local_strides == NULL && info->local_count > 0)
        return "a kernel whose local arguments have no strides";
    for (uint32_t i = 0; i < info->local_count; ++i)
        if (kernel->local_strides[i] == 0)
            return "a local argument with a stride of 0";
    if (kernel->shared_source != NULL && info->binding_count > 0) {
        if (kernel->names == NULL)
            return "a kernel whose buffers have no names in WGSL";
        for (uint32_t i = 0; i < info->binding_count; ++i)
            if (kernel->names[i] == NULL)
                return "a buffer without a name in WGSL";
    }
    return NULL;
}

static const char* broken_ptx(const khal_ptx_kernel* kernel)
{
    if ((kernel->entry == NULL) != (kernel->grid_entry == NULL))
        return "a kernel with one of its two entry points in PTX";
    if (kernel->entry == NULL && kernel->reason == NULL)
        return "a kernel with neither PTX nor the reason why";
    return NULL;
}

/* What is missing in the tables, or NULL. Whether a kernel's numbers fit together is asked
 * when a function is made of it. */
static const char* broken_part(const khal_kernel_library* library)
{
    for (uint32_t i = 0; i < library->kernel_count; ++i) {
        const khal_kernel_info* info = &library->kernels[i];
        if (info->name == NULL)
            return "a kernel without a name";
        if (info->args == NULL && info->arg_count > 0)
            return "a kernel without its arguments";
        for (uint32_t k = 0; k < info->arg_count; ++k)
            if (info->args[k].name == NULL)
                return "an argument without a name";
    }
    for (uint32_t i = 0; i < library->code_count; ++i) {
        const khal_code* code = &library->codes[i];
        if (!abi_is_known(code))
            continue;
        for (uint32_t k = 0; k < library->kernel_count; ++k) {
            const char* broken = NULL;
            if (code->format == KHAL_FORMAT_CPU && code->cpu_kernels != NULL)
                broken = code->cpu_kernels[k].run == NULL ? "a kernel without CPU code" : NULL;
            else if (code->format == KHAL_FORMAT_WGSL && code->wgsl_kernels != NULL)
                broken = broken_wgsl(&library->kernels[k], &code->wgsl_kernels[k]);
            else if (is_ptx(code->format) && code->ptx_kernels != NULL)
                broken = broken_ptx(&code->ptx_kernels[k]);
            if (broken != NULL)
                return broken;
        }
    }
    return NULL;
}

/* Also where it has no end. */
static bool is_empty(const khal_code* code)
{
    switch (code->format) {
    case KHAL_FORMAT_CPU: return code->cpu_kernels == NULL;
    case KHAL_FORMAT_WGSL: return code->wgsl_kernels == NULL;
    case KHAL_FORMAT_PTX: /* a text whose end the driver finds by its 0 */
        return code->bytes == NULL || code->size == 0 || code->ptx_kernels == NULL ||
               ((const char*)code->bytes)[code->size - 1] != 0;
    case KHAL_FORMAT_CUBIN:
        return code->bytes == NULL || code->size == 0 || code->ptx_kernels == NULL;
    default: return code->bytes == NULL || code->size == 0;
    }
}

/* "PTX for compute capability 9.0, WGSL": all codes of a library. */
static void list_codes(const khal_kernel_library* library, char* out, size_t size)
{
    size_t length = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < library->code_count; ++i) {
        const khal_code* code = &library->codes[i];
        bool is_listed = code->format > KHAL_FORMAT_MSL;
        for (uint32_t k = 0; k < i && !is_listed; ++k)
            is_listed = library->codes[k].format == code->format &&
                        (!is_ptx(code->format) || library->codes[k].level == code->level);
        if (is_listed)
            continue;
        const char* separator = length > 0 ? ", " : "";
        const char* name = khal__format_name(code->format);
        const int n = is_ptx(code->format)
                          ? snprintf(out + length, size - length, "%s%s for compute capability %u.%u",
                                     separator, name, code->level / 10, code->level % 10)
                          : snprintf(out + length, size - length, "%s%s", separator, name);
        if (n < 0 || (size_t)n >= size - length)
            return;
        length += (size_t)n;
    }
    if (length == 0)
        snprintf(out, size, "nothing");
}

/* The code that the device runs best, the first among equals. `*out_broken`: one that is empty. NULL: there is none. */
static const khal_code* best_code(khal_device* device, const khal_kernel_library* library, const khal_code** out_broken,
                                  const khal_code** out_other_abi, bool* out_outranked)
{
    const khal_code* best = NULL;
    uint32_t best_rank = 0;
    for (uint32_t i = 0; i < library->code_count; ++i) {
        const khal_code* code = &library->codes[i];
        if (code->format > KHAL_FORMAT_MSL || (device->info.formats & (1u << code->format)) == 0)
            continue;
        if (is_empty(code)) {
            *out_broken = code;
            return NULL;
        }
        if (!abi_is_known(code)) {
            *out_other_abi = code;
            continue;
        }
        if (device->backend->code_rank == NULL)
            return code;
        const uint32_t rank = device->backend->code_rank(device, code);
        *out_outranked |= rank == 0;
        if (rank > best_rank) {
            best = code;
            best_rank = rank;
        }
    }
    return best;
}

static khal_status choose_library_code(khal_device* device, const khal_module_desc* desc,
                                       khal_code* out_code)
{
    const khal_kernel_library* library = desc->library;
    if (library->version != KHAL_LIBRARY_VERSION)
        return khal__fail(device, KHAL_ERROR_MODULE_VERSION, 0, desc->label,
                          "the kernel library has version %u; this khal takes %u", library->version,
                          KHAL_LIBRARY_VERSION);
    if ((library->kernel_count > 0 && library->kernels == NULL) ||
        (library->code_count > 0 && library->codes == NULL))
        return khal__fail(device, KHAL_ERROR_MODULE_MALFORMED, 0, desc->label,
                          "the kernel library %s lacks its tables",
                          library->name != NULL ? library->name : "");
    const char* broken = broken_part(library);
    if (broken != NULL)
        return khal__fail(device, KHAL_ERROR_MODULE_MALFORMED, 0, desc->label,
                          "the kernel library %s has %s",
                          library->name != NULL ? library->name : "", broken);
    const khal_code *empty = NULL, *other_abi = NULL;
    bool is_outranked = false;
    const khal_code* best = best_code(device, library, &empty, &other_abi, &is_outranked);
    if (empty != NULL)
        return khal__fail(device, KHAL_ERROR_MODULE_MALFORMED, 0, desc->label,
                          "code %u of the kernel library is empty, or has no end",
                          (unsigned)(empty - library->codes));
    if (best != NULL) {
        *out_code = *best;
        return KHAL_OK;
    }
    if (other_abi != NULL && !is_outranked)
        return khal__fail(device, KHAL_ERROR_MODULE_VERSION, 0, desc->label,
                          "the kernel library's %s is of ABI %u; this khal takes %u",
                          khal__format_name(other_abi->format), other_abi->abi, known_abi(other_abi->format));
    char have[200], takes[160];
    list_codes(library, have, sizeof have);
    khal__format_list(device->info.formats, takes, sizeof takes);
    if (is_outranked)
        return khal__fail(device, KHAL_ERROR_MODULE_NO_CODE, 0, desc->label,
                          "the kernel library has %s; %s (%s) runs none of it", have, device->info.name,
                          device->info.driver[0] != 0 ? device->info.driver : takes);
    return khal__fail(device, KHAL_ERROR_MODULE_NO_CODE, 0, desc->label,
                      "the kernel library has %s; %s takes %s", have, device->info.name, takes);
}

static khal_status check_foreign(khal_device* device, const khal_module_desc* desc,
                                 uint32_t* out_format)
{
    const uint32_t format = khal__foreign_format(desc->code, desc->code_size);
    char takes[160];
    const uint32_t foreign_formats = device->info.formats & ~(1u << KHAL_FORMAT_CPU);
    khal__format_list(device->info.formats, takes, sizeof takes);
    if (format == KHAL_FORMAT_NONE) {
        char begin[3 * 8 + 1] = "";
        for (size_t i = 0; i < 8 && i < desc->code_size; ++i)
            snprintf(begin + 3 * i, 4, " %02x", ((const unsigned char*)desc->code)[i]);
        return khal__fail(device, KHAL_ERROR_MODULE_FORMAT, 0, desc->label,
                          "%llu bytes in no known format, beginning with%s; %s takes %s",
                          (unsigned long long)desc->code_size, begin, device->info.name, takes);
    }
    if ((foreign_formats & (1u << format)) == 0)
        return khal__fail(device, KHAL_ERROR_MODULE_FORMAT, 0, desc->label,
                          "the code is %s; %s takes %s", khal__format_name(format),
                          device->info.name, takes);
    *out_format = format;
    return KHAL_OK;
}

/* A copy of SPIR-V in the host's byte order, and checked. */
static khal_status take_spirv(khal_device* device, const khal_module_desc* desc, khal_code* code)
{
    const char* wrong = "the size is no multiple of 4";
    uint32_t* words = NULL;
    if (desc->code_size % 4 == 0) {
        words = khal__alloc(device, desc->code_size, 16);
        if (words == NULL)
            return khal__fail_memory(device, desc->label, "the module's code", desc->code_size);
        memcpy(words, desc->code, desc->code_size);
        if (words[0] != KHAL__SPIRV_MAGIC)
            for (size_t i = 0; i < desc->code_size / 4; ++i)
                words[i] = words[i] >> 24 | (words[i] >> 8 & 0xff00u) |
                           (words[i] << 8 & 0xff0000u) | words[i] << 24;
        khal__spirv spirv;
        if (khal__spirv_open(&device->allocator, words, desc->code_size / 4, &spirv, &wrong)) {
            khal__spirv_close(&spirv);
            code->bytes = words;
            return KHAL_OK;
        }
        khal__free(device, words, desc->code_size);
    }
    if (wrong == NULL)
        return khal__fail_memory(device, desc->label, "the module's check", desc->code_size);
    return khal__fail(device, KHAL_ERROR_MODULE_MALFORMED, 0, desc->label, "broken SPIR-V: %s",
                      wrong);
}

/* ---- entry points of foreign code --------------------------------------------------------------
 */

typedef struct listing {
    khal_module* module; /* NULL: count */
    char* strings;
    uint32_t count, specialization_count;
    size_t string_size;
} listing;

static bool list_entry(void* user, const char* name, size_t length,
                       const uint32_t workgroup_size[3])
{
    listing* l = user;
    if (l->module != NULL) {
        khal_kernel_info* info = &l->module->own_kernels[l->count];
        memset(info, 0, sizeof *info);
        char* copy = l->strings + l->string_size;
        memcpy(copy, name, length);
        copy[length] = 0;
        info->name = copy;
        info->flags = KHAL_KERNEL_IS_FOREIGN;
        memcpy(info->workgroup_size, workgroup_size, sizeof info->workgroup_size);
    }
    ++l->count;
    l->string_size += length + 1;
    return l->count < UINT32_MAX;
}

static bool list_specialization(void* user, uint32_t id, khal__scalar type)
{
    listing* l = user;
    if (l->module != NULL)
        l->module->specializations[l->specialization_count] = (khal__specialization){id, type};
    ++l->specialization_count;
    return l->specialization_count < UINT32_MAX;
}

/* False: out of memory. */
static bool list_foreign(khal_device* device, khal_module* module)
{
    listing counted = {0};
    khal__foreign_visitor visitor = {list_entry, list_specialization, &counted};
    khal__foreign_visit(module->code.format, module->code.bytes, module->code.size, &visitor);
    if (counted.specialization_count > 0) {
        module->specializations =
            khal__alloc(device, counted.specialization_count * sizeof(khal__specialization), 16);
        if (module->specializations == NULL)
            return false;
        module->specialization_count = counted.specialization_count;
    }
    if (counted.count > 0) {
        module->own_kernels_size = counted.count * sizeof(khal_kernel_info) + counted.string_size;
        module->own_kernels = khal__alloc(device, module->own_kernels_size, 16);
        if (module->own_kernels == NULL)
            return false;
    }
    listing filled = {.module = module};
    if (counted.count > 0)
        filled.strings = (char*)(module->own_kernels + counted.count);
    visitor.user = &filled;
    khal__foreign_visit(module->code.format, module->code.bytes, module->code.size, &visitor);
    module->kernels = module->own_kernels;
    module->kernel_count = counted.count;
    return true;
}

/* ---- the cache ---------------------------------------------------------------------------------
 */

/* The module with a reference of the library's own, or NULL. Under module_lock. */
static khal_module* find_locked(khal_device* device, const khal_module_desc* desc,
                                const khal_code* code, uint64_t hash)
{
    khal_module* found = NULL;
    for (khal_module* m = device->modules; m != NULL && found == NULL; m = m->cache_next) {
        if (m->library != desc->library || m->hash != hash || m->code.format != code->format ||
            m->passthrough != desc->passthrough)
            continue;
        if (m->library == NULL &&
            (m->code.size != code->size || memcmp(m->code.bytes, code->bytes, code->size) != 0))
            continue;
        unsigned refs = atomic_load(&m->object.refs);
        while (refs != 0 && !atomic_compare_exchange_weak(&m->object.refs, &refs, refs + 1))
            ;
        if (refs != 0)
            found = m;
    }
    return found;
}

static khal_module* find_cached(khal_device* device, const khal_module_desc* desc,
                                const khal_code* code, uint64_t hash)
{
    khal__mutex_lock(&device->module_lock);
    khal_module* found = find_locked(device, desc, code, hash);
    khal__mutex_unlock(&device->module_lock);
    return found;
}

/* Turns a reference of the library's own into a public one. */
static void publish(khal_module* module)
{
    if (atomic_fetch_add_explicit(&module->object.public_refs, 1, memory_order_acq_rel) == 0)
        khal__device_hold(module->object.device);
    else
        khal__object_drop(&module->object);
}

static void uncache(khal_module* module)
{
    khal_device* device = module->object.device;
    khal__mutex_lock(&device->module_lock);
    if (module->cached) {
        khal_module** link = &device->modules;
        while (*link != module)
            link = &(*link)->cache_next;
        *link = module->cache_next;
        module->cached = false;
    }
    khal__mutex_unlock(&device->module_lock);
}

static size_t module_size(const khal_device* device)
{
    return KHAL__IMPL_OFFSET(khal_module) + device->backend->module_size;
}

static void free_module(khal_device* device, khal_module* module)
{
    if (module->library == NULL)
        khal__free(device, (void*)(uintptr_t)module->code.bytes, module->code.size);
    if (module->own_kernels != NULL)
        khal__free(device, module->own_kernels, module->own_kernels_size);
    if (module->specializations != NULL)
        khal__free(device, module->specializations,
                   module->specialization_count * sizeof(khal__specialization));
    khal__mutex_destroy(&module->poll_lock);
    khal__free(device, module, module_size(device));
}

void khal__module_destroy(khal_module* module)
{
    khal_device* device = module->object.device;
    uncache(module);
    khal__object_unlist(&module->object);
    device->backend->module_destroy(module);
    free_module(device, module);
}

/* ---- loading -----------------------------------------------------------------------------------
 */

static khal_status make(khal_device* device, const khal_module_desc* desc, const khal_code* code,
                        uint64_t hash, const char* file, int line, khal_module** out_module)
{
    khal_module* module = khal__alloc_zeroed(device, module_size(device), KHAL__IMPL_ALIGN);
    if (module == NULL)
        return khal__fail_memory(device, desc->label, "the module", module_size(device));
    module->object.device = device;
    khal__copy_label(module->object.label, desc->label);
    module->library = desc->library;
    module->passthrough = desc->passthrough;
    module->hash = hash;
    module->code = *code;
    khal__mutex_init(&module->poll_lock);
    if (desc->library != NULL) {
        module->kernels = desc->library->kernels;
        module->kernel_count = desc->library->kernel_count;
    } else {
        void* copy = khal__alloc(device, code->size, 16);
        if (copy != NULL)
            memcpy(copy, code->bytes, code->size);
        module->code.bytes = copy;
        if (copy == NULL || !list_foreign(device, module)) {
            free_module(device, module);
            return khal__fail_memory(device, desc->label, "the module's code", code->size);
        }
    }
    atomic_init(&module->state, device->backend->module_poll != NULL ? KHAL_NOT_READY : KHAL_OK);
    khal__callbacks_hold();
    khal_status status = device->backend->module_create(module, desc, &module->code);
    if (status != KHAL_OK && khal__is_lost(device))
        status = khal__fail_lost(device);
    khal__callbacks_go(device);
    if (status != KHAL_OK) {
        free_module(device, module);
        return status;
    }
    khal__object_init(device, &module->object, KHAL__KIND_MODULE, desc->label, file, line);
    khal__mutex_lock(&device->module_lock);
    khal_module* found = find_locked(device, desc, code, hash);
    if (found == NULL) {
        module->cached = true;
        module->cache_next = device->modules;
        device->modules = module;
    }
    khal__mutex_unlock(&device->module_lock);
    if (found != NULL) { /* another thread was faster */
        publish(found);
        khal_module_release(module);
        module = found;
    }
    *out_module = module;
    return KHAL_OK;
}

static khal_status load(khal_device* device, const khal_module_desc* desc, khal_module** out_module,
                        const char* file, int line)
{
    if (device == NULL || desc == NULL || out_module == NULL)
        return khal__fail_null(device, NULL,
                               device == NULL ? "device"
                               : desc == NULL ? "desc"
                                              : "out_module");
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if ((desc->library != NULL) == (desc->code != NULL) ||
        (desc->code != NULL && desc->code_size == 0))
        return khal__fail(device, KHAL_ERROR_MODULE_DESC, 0, desc->label, "%s",
                          desc->library != NULL ? "both a library and code are given"
                          : desc->code == NULL  ? "neither a library nor code is given"
                                                : "the code has 0 bytes");
    khal_code code = {0};
    uint64_t hash = 0;
    khal_status status;
    if (desc->library != NULL) {
        status = choose_library_code(device, desc, &code);
    } else {
        status = check_foreign(device, desc, &code.format);
        code.bytes = desc->code;
        code.size = desc->code_size;
        if (status == KHAL_OK && code.format == KHAL_FORMAT_SPIRV)
            status = take_spirv(device, desc, &code);
        hash = status == KHAL_OK ? XXH3_64bits(code.bytes, code.size) : 0;
    }
    if (status != KHAL_OK)
        return status;
    khal_module* module = find_cached(device, desc, &code, hash);
    if (module != NULL)
        publish(module);
    else
        status = make(device, desc, &code, hash, file, line, &module);
    if (code.bytes != desc->code && desc->library == NULL)
        khal__free(device, (void*)(uintptr_t)code.bytes, code.size);
    if (status == KHAL_OK)
        *out_module = module;
    return status;
}

khal_status khal__module_poll(khal_module* module)
{
    khal_status state = (khal_status)atomic_load_explicit(&module->state, memory_order_acquire);
    if (state != KHAL_NOT_READY)
        return state;
    khal_device* device = module->object.device;
    khal__callbacks_hold();
    khal__mutex_lock(&module->poll_lock);
    state = (khal_status)atomic_load_explicit(&module->state, memory_order_relaxed);
    if (state == KHAL_NOT_READY) {
        state = device->backend->module_poll(module);
        if (state != KHAL_NOT_READY && state != KHAL_OK) {
            module->error = *khal_error_get();
            uncache(module); /* the next load tries again */
        }
        atomic_store_explicit(&module->state, state, memory_order_release);
    }
    khal__mutex_unlock(&module->poll_lock);
    khal__callbacks_go(device);
    return state;
}

khal_status khal_module_load_poll(khal_module* module)
{
    if (module == NULL)
        return khal__fail_null(NULL, NULL, "module");
    if (khal__is_lost(module->object.device))
        return khal__fail_lost(module->object.device);
    const khal_status state = khal__module_poll(module);
    return state == KHAL_OK || state == KHAL_NOT_READY ? state : khal__error_again(&module->error);
}

khal_status khal_module_load_begin(khal_device* device, const khal_module_desc* desc,
                                   khal_module** out_module)
{
    return load(device, desc, out_module, NULL, 0);
}

khal_status khal_module_load_at(const char* file, int line, khal_device* device,
                                const khal_module_desc* desc, khal_module** out_module)
{
    khal_module* module = NULL;
    khal_status status = load(device, desc, out_module != NULL ? &module : NULL, file, line);
    if (status != KHAL_OK)
        return status;
    while ((status = khal_module_load_poll(module)) == KHAL_NOT_READY)
        khal__nap();
    if (status != KHAL_OK) {
        khal_module_release(module);
        return status;
    }
    *out_module = module;
    return KHAL_OK;
}

void khal_module_retain(khal_module* module)
{
    khal__object_retain((khal__object*)module);
}
void khal_module_release(khal_module* module)
{
    khal__object_release((khal__object*)module);
}
uint32_t khal_module_get_kernel_count(const khal_module* module)
{
    return module != NULL ? module->kernel_count : 0;
}

const char* khal_module_get_kernel_name(const khal_module* module, uint32_t index)
{
    return module != NULL && index < module->kernel_count ? module->kernels[index].name : NULL;
}

void* khal__module_impl(khal_module* module)
{
    return (char*)module + KHAL__IMPL_OFFSET(khal_module);
}
khal_device* khal__module_device(khal_module* module)
{
    return module->object.device;
}
const khal_kernel_library* khal__module_library(khal_module* module)
{
    return module->library;
}
const khal_code* khal__module_code(khal_module* module)
{
    return &module->code;
}

khal__scalar khal__module_specialization(khal_module* module, uint32_t id)
{
    for (uint32_t i = 0; i < module->specialization_count; ++i)
        if (module->specializations[i].id == id)
            return module->specializations[i].type;
    return KHAL__SCALAR_UNKNOWN;
}

bool khal__module_binding(khal_module* module, uint32_t group, uint32_t binding,
                          khal_binding_desc* out)
{
    return module->code.format == KHAL_FORMAT_WGSL &&
           khal__wgsl_binding(module->object.device, module->code.bytes, module->code.size, group,
                              binding, out);
}

bool khal__module_has_immediates(khal_module* module)
{
    const uint32_t* words = module->code.bytes;
    const size_t count = module->code.size / 4;
    if (module->code.format == KHAL_FORMAT_WGSL)
        return khal__wgsl_has_immediates(module->object.device, module->code.bytes,
                                         module->code.size);
    if (module->code.format != KHAL_FORMAT_SPIRV)
        return false;
    for (size_t at = 5; at < count; at += words[at] >> 16)
        if ((words[at] & 0xffffu) == KHAL__OP_Variable &&
            words[at + 3] == KHAL__CLASS_PUSH_CONSTANT)
            return true;
    return false;
}
