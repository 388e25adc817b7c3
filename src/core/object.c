#include "core.h"

void khal__object_init(khal_device* device, khal__object* object, khal__kind kind,
                       const char* label, const char* file, int line)
{
    atomic_init(&object->public_refs, 1);
    atomic_init(&object->refs, 1);
    object->kind = kind;
    object->device = device;
    object->file = file;
    object->line = line;
    khal__copy_label(object->label, label);
    khal__device_hold(device);

    object->next = NULL;
    khal__mutex_lock(&device->objects_lock);
    object->serial = ++device->next_serial;
    object->previous = device->last_object;
    if (device->last_object != NULL)
        device->last_object->next = object;
    else
        device->first_object = object;
    device->last_object = object;
    khal__mutex_unlock(&device->objects_lock);
    atomic_fetch_add_explicit(&device->live_objects, 1, memory_order_relaxed);
}

void khal__object_unlist(khal__object* object)
{
    khal_device* device = object->device;
    khal__mutex_lock(&device->objects_lock);
    if (object->previous != NULL)
        object->previous->next = object->next;
    else
        device->first_object = object->next;
    if (object->next != NULL)
        object->next->previous = object->previous;
    else
        device->last_object = object->previous;
    khal__mutex_unlock(&device->objects_lock);
    atomic_fetch_sub_explicit(&device->live_objects, 1, memory_order_relaxed);
}

void khal__object_retain(khal__object* object)
{
    if (object != NULL)
        atomic_fetch_add_explicit(&object->public_refs, 1, memory_order_relaxed);
}

void khal__object_release(khal__object* object)
{
    if (object == NULL ||
        atomic_fetch_sub_explicit(&object->public_refs, 1, memory_order_acq_rel) != 1)
        return;
    khal_device* device = object->device;
    khal__object_drop(object);
    khal__device_unhold(device);
}

void khal__object_drop(khal__object* object)
{
    if (atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1)
        return;
    switch (object->kind) {
    case KHAL__KIND_BUFFER: khal__buffer_destroy((khal_buffer*)object); break;
    case KHAL__KIND_MODULE: khal__module_destroy((khal_module*)object); break;
    case KHAL__KIND_FUNCTION: khal__function_destroy((khal_function*)object); break;
    case KHAL__KIND_ENCODER: khal__encoder_destroy((khal_encoder*)object); break;
    case KHAL__KIND_COMMANDS: khal__commands_destroy((khal_commands*)object); break;
    case KHAL__KIND_TIMESTAMPS: khal__timestamps_destroy((khal_timestamps*)object); break;
    case KHAL__KIND_READBACK: khal__readback_destroy((khal_readback*)object); break;
    case KHAL__KIND_DEVICE: break; /* closes by its holds */
    }
}
