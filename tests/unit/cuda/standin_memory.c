/* The stand-in's memory. Addresses of device memory are those that no processor lets a program use, and are not used twice, so
 * that the host, and work that comes too late, can't reach by mistake what is not theirs. */
#include "standin_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ADDRESS ((CUdeviceptr)0xd00000000000)
#define LAST_ADDRESS ((CUdeviceptr)0xe00000000000)
#define PAGE 4096u

static allocation* memory;
static CUdeviceptr next_address = FIRST_ADDRESS;

bool is_device_address(uint64_t word)
{
    return word >= FIRST_ADDRESS && word < LAST_ADDRESS;
}

const allocation* allocation_of(CUdeviceptr address)
{
    for (const allocation* a = memory; a != NULL; a = a->next)
        if (address >= a->address && address - a->address <= a->size)
            return a;
    return NULL;
}

const allocation* any_memory(void)
{
    return memory;
}

unsigned memory_count(const context* of)
{
    unsigned count = 0;
    for (const allocation* a = memory; a != NULL; a = a->next)
        count += of == NULL || a->context == of;
    return count;
}

uint64_t memory_sum(int device, bool pinned)
{
    uint64_t sum = 0;
    for (const allocation* a = memory; a != NULL; a = a->next)
        if ((device < 0 || a->context->device == device) && (a->kind == MEMORY_DEVICE) == !pinned)
            sum += a->size;
    return sum;
}

char* resolve(CUdeviceptr address, size_t size)
{
    const allocation* a = allocation_of(address);
    if (a == NULL || size > a->size - (address - a->address)) {
        misuse("%zu bytes at %#llx are not inside one allocation", size, (unsigned long long)address);
        return NULL;
    }
    if (a->context->device != current()->device) {
        misuse("memory of another device");
        return NULL;
    }
    return a->host + (address - a->address);
}

static allocation* of_host(const void* host)
{
    for (allocation* a = memory; a != NULL; a = a->next)
        if (a->kind != MEMORY_DEVICE && (uintptr_t)host >= (uintptr_t)a->host && (uintptr_t)host - (uintptr_t)a->host < a->size)
            return a;
    return NULL;
}

bool is_pinned(const void* host, size_t size)
{
    const allocation* a = of_host(host);
    if (a == NULL)
        return false;
    if (size > a->size - ((uintptr_t)host - (uintptr_t)a->host))
        misuse("%zu bytes that begin in pinned memory and end outside it", size);
    return true;
}

static allocation* add(char* host, size_t size, memory_kind kind)
{
    allocation* a = calloc(1, sizeof *a);
    if (a == NULL)
        abort();
    a->host = host;
    a->size = size;
    a->context = current();
    a->kind = kind;
    a->address = next_address + (kind == MEMORY_REGISTERED ? (uintptr_t)host % PAGE : 0);
    next_address += (size + 3 * (size_t)PAGE) / PAGE * PAGE;
    a->next = memory;
    memory = a;
    return a;
}

static size_t pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static void drop(allocation* gone)
{
    allocation** at = &memory;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (gone->kind == MEMORY_DEVICE)
        free(gone->host);
    else if (gone->kind == MEMORY_PINNED)
        munmap(gone->host, pages(gone->size) + PAGE);
    free(gone);
}

void memory_forget(context* of)
{
    for (allocation *a = memory, *next; a != NULL; a = next) {
        next = a->next;
        if (a->context == of)
            drop(a);
    }
}

EXPORT_CUDA CUresult CU_CALL cuMemGetInfo_v2(size_t* unused, size_t* total)
{
    const CUresult result = begin("MemGetInfo", CALL_QUERY);
    if (result == CUDA_SUCCESS) {
        const uint64_t used = memory_sum(current()->device, false);
        *unused = (size_t)(used < traits.memory ? traits.memory - used : 0);
        *total = (size_t)traits.memory;
    }
    return end(result);
}

/* The driver counts in granules; new memory is not zero. */
static CUresult take(CUdeviceptr* out, size_t size)
{
    if (size == 0)
        return invalid("an allocation of no bytes");
    const uint64_t used = memory_sum(current()->device, false);
    char* host = used <= traits.memory && size <= traits.memory - used ? aligned_alloc(512, (size + 511) / 512 * 512) : NULL;
    if (host == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(host, 0xa5, size < (1u << 24) ? size : 1u << 24);
    *out = add(host, size, MEMORY_DEVICE)->address;
    return CUDA_SUCCESS;
}

EXPORT_CUDA CUresult CU_CALL cuMemAlloc_v2(CUdeviceptr* out, size_t size)
{
    CUresult result = begin("MemAlloc", CALL_MAKES);
    if (result == CUDA_SUCCESS)
        result = take(out, size);
    return end(result);
}

/* As the driver does: what is on its way may use it, so it is waited for. */
EXPORT_CUDA CUresult CU_CALL cuMemFree_v2(CUdeviceptr address)
{
    CUresult result = begin("MemFree", CALL_RELEASES);
    if (releases(result)) {
        drain_context(current());
        allocation* a = memory;
        while (a != NULL && (a->address != address || a->kind != MEMORY_DEVICE))
            a = a->next;
        if (a == NULL)
            result = invalid("MemFree of what is no allocation");
        else
            drop(a);
    }
    return end(result);
}

static CUresult take_pinned(void** out, size_t size)
{
    if (size == 0)
        return invalid("pinned memory of no bytes");
    const uint64_t used = memory_sum(-1, true);
    char* host = used <= traits.pinned && size <= traits.pinned - used
                     ? mmap(NULL, pages(size) + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : MAP_FAILED;
    if (host == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mprotect(host + pages(size), PAGE, PROT_NONE);
    add(host, size, MEMORY_PINNED);
    *out = host;
    return CUDA_SUCCESS;
}

EXPORT_CUDA CUresult CU_CALL cuMemHostAlloc(void** out, size_t size, unsigned flags)
{
    CUresult result = begin("MemHostAlloc", CALL_MAKES);
    if (result == CUDA_SUCCESS && (flags & ~7u) != 0)
        result = invalid("the flags %#x of MemHostAlloc", flags);
    if (result == CUDA_SUCCESS)
        result = take_pinned(out, size);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuMemFreeHost(void* host)
{
    CUresult result = begin("MemFreeHost", CALL_RELEASES);
    if (releases(result)) {
        drain_context(current());
        allocation* a = of_host(host);
        if (a == NULL || a->host != host || a->kind != MEMORY_PINNED)
            result = invalid("MemFreeHost of what is no pinned memory");
        else
            drop(a);
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* host, unsigned flags)
{
    CUresult result = begin("MemHostGetDevicePointer", CALL_QUERY);
    if (result == CUDA_SUCCESS) {
        const allocation* a = of_host(host);
        if (a == NULL || flags != 0)
            result = invalid("MemHostGetDevicePointer of what is no pinned memory");
        else
            *out = a->address + ((uintptr_t)host - (uintptr_t)a->host);
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuMemHostRegister_v2(void* host, size_t size, unsigned flags)
{
    CUresult result = begin("MemHostRegister", CALL_MAKES);
    if (result == CUDA_SUCCESS && traits.no_host_register)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS && (size == 0 || (flags & ~3u) != 0))
        result = invalid("MemHostRegister of %zu bytes with flags %#x", size, flags);
    if (result == CUDA_SUCCESS) {
        for (const allocation* a = memory; a != NULL; a = a->next)
            if (a->kind != MEMORY_DEVICE && (uintptr_t)a->host < (uintptr_t)host + size &&
                (uintptr_t)host < (uintptr_t)a->host + a->size)
                result = 712; /* registered already */
    }
    if (result == CUDA_SUCCESS)
        add(host, size, MEMORY_REGISTERED);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuMemHostUnregister(void* host)
{
    CUresult result = begin("MemHostUnregister", CALL_RELEASES);
    if (releases(result)) {
        drain_context(current());
        allocation* a = of_host(host);
        if (a == NULL || a->host != host || a->kind != MEMORY_REGISTERED)
            result = invalid("MemHostUnregister of what is not registered");
        else
            drop(a);
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuPointerGetAttribute(void* out, CUpointer_attribute which, CUdeviceptr address)
{
    CUresult result = begin("PointerGetAttribute", CALL_QUERY);
    const allocation* a = result == CUDA_SUCCESS ? allocation_of(address) : NULL;
    if (result == CUDA_SUCCESS && (a == NULL || address == a->address + a->size))
        result = CUDA_ERROR_INVALID_VALUE; /* what a program asks to wrap may be no such memory */
    if (result == CUDA_SUCCESS)
        switch (which) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned*)out = a->kind == MEMORY_DEVICE ? 2 : 1; break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int*)out = a->context->device; break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr*)out = a->address; break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t*)out = a->size; break;
        default: result = invalid("the attribute %d of a pointer", (int)which);
        }
    return end(result);
}
