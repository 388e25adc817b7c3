#include "core.h"

#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

static void* default_allocate(void* user, size_t size, size_t align)
{
    (void)user;
#if defined(_WIN32)
    return _aligned_malloc(size, align);
#else
    if (size > SIZE_MAX - align)
        return NULL;
    return aligned_alloc(align, khal__round_up(size, align));
#endif
}

static void default_release(void* user, void* memory, size_t size)
{
    (void)user;
    (void)size;
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}

const khal_allocator khal__default_allocator = {default_allocate, default_release, NULL};

void* khal__alloc(khal_device* device, size_t size, size_t align)
{
    atomic_fetch_add_explicit(&device->host_allocations, 1, memory_order_relaxed);
    return device->allocator.allocate(device->allocator.user, size > 0 ? size : 1,
                                      align < 16 ? 16 : align);
}

void khal__free(khal_device* device, void* memory, size_t size)
{
    if (memory != NULL)
        device->allocator.release(device->allocator.user, memory, size > 0 ? size : 1);
}

void* khal__alloc_zeroed(khal_device* device, size_t size, size_t align)
{
    void* memory = khal__alloc(device, size, align);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}
