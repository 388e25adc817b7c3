/* Finished recordings. The master holds the current values and never runs; what runs is a copy of
 * it, with its own barriers, made when values have changed. So what was submitted before keeps its
 * values. */
#include "core.h"

static void index_dispatches(khal_commands* commands)
{
    uint32_t count = 0;
    for (khal__node* node = commands->master->first_node; node != NULL; node = node->next)
        if (node->command.kind == KHAL__COMMAND_DISPATCH)
            commands->dispatches[count++] = node;
    commands->most_uses = commands->master->use_count * 2 + 16;
}

khal_status khal_encoder_finish(khal_encoder* encoder, khal_commands** out_commands)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    khal_device* device = encoder->object.device;
    if (out_commands == NULL)
        return khal__fail_null(device, encoder->object.label, "out_commands");
    khal_status status = khal__encoder_end(encoder, "finish");
    if (status != KHAL_OK)
        return status;
    khal__recording* recording = encoder->recording;
    const size_t dispatches_size = recording->dispatch_index_count * sizeof(khal__node*);
    khal_commands* commands = khal__alloc_zeroed(device, sizeof *commands, 16);
    khal__node** dispatches = khal__alloc(device, dispatches_size, 16);
    if (commands == NULL || dispatches == NULL) {
        if (commands != NULL)
            khal__free(device, commands, sizeof *commands);
        if (dispatches != NULL)
            khal__free(device, dispatches, dispatches_size);
        status = khal__fail_memory(device, encoder->object.label, "the commands",
                                   sizeof *commands + dispatches_size);
        khal__encoder_empty(encoder);
        return status;
    }
    encoder->recording = NULL;
    encoder->pass_count = 0;
    commands->master = recording;
    commands->dispatches = dispatches;
    commands->dispatch_count = recording->dispatch_index_count;
    index_dispatches(commands);
    khal__mutex_init(&commands->lock);
    khal__object_init(device, &commands->object, KHAL__KIND_COMMANDS, encoder->object.label,
                      encoder->object.file, encoder->object.line);
    *out_commands = commands;
    return KHAL_OK;
}

void khal__commands_destroy(khal_commands* commands)
{
    khal_device* device = commands->object.device;
    khal__object_unlist(&commands->object);
    if (device->backend->replay_destroy != NULL)
        device->backend->replay_destroy(device, &commands->replay);
    khal__recording_release(commands->master);
    khal__recording_release(commands->current);
    khal__mutex_destroy(&commands->lock);
    khal__free(device, commands->dispatches,
               commands->dispatch_count * sizeof commands->dispatches[0]);
    khal__free(device, commands, sizeof *commands);
}

void khal_commands_retain(khal_commands* commands)
{
    khal__object_retain((khal__object*)commands);
}
void khal_commands_release(khal_commands* commands)
{
    khal__object_release((khal__object*)commands);
}
uint32_t khal_commands_get_dispatch_count(const khal_commands* commands)
{
    return commands != NULL ? commands->dispatch_count : 0;
}

khal_status khal_commands_submit(khal_commands* commands, khal_ticket* out_ticket)
{
    if (commands == NULL)
        return khal__fail_null(NULL, NULL, "commands");
    khal_device* device = commands->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    khal__retire(device);

    bool differs = false;
    uint64_t version = 0;
    khal__recording* old = NULL;
    khal__mutex_lock(&commands->lock);
    khal__recording* current = commands->current;
    /* Times and reads go to places of their own for each run. */
    const bool has_results =
        current != NULL && (current->timings != NULL || current->requests != NULL);
    if (current == NULL || (has_results && atomic_load(&current->runs) > 0)) {
        khal__recording* made = khal__recording_acquire(device);
        if (made != NULL && !khal__recording_clone(made, commands->master)) {
            khal__recording_release(made);
            made = NULL;
        }
        if (made != NULL) {
            khal__hazard_seal(made);
            old = current;
            commands->current = made;
            differs = commands->has_run && made->barrier_signature != commands->last_signature;
            commands->last_signature = made->barrier_signature;
            commands->has_run = true;
            ++commands->version;
        }
        current = made;
    } else if (has_results) {
        ++commands->version; /* reads go elsewhere */
    }
    if (current != NULL) {
        version = commands->version;
        atomic_fetch_add_explicit(&current->refs, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&current->runs, 1, memory_order_relaxed);
    }
    khal__mutex_unlock(&commands->lock);
    khal__recording_release(old);
    if (current == NULL)
        return khal__fail_memory(device, commands->object.label, "the submission", sizeof *current);
    const khal_status status =
        khal__submit(device, current, &commands->replay, version, out_ticket);
    if (status == KHAL_OK && differs)
        atomic_fetch_add_explicit(&device->re_recordings, 1, memory_order_relaxed);
    return status;
}

static khal_status check_dispatch(khal_commands* commands, uint32_t dispatch)
{
    khal_device* device = commands->object.device;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    if (dispatch < commands->dispatch_count)
        return KHAL_OK;
    return khal__fail(device, KHAL_ERROR_DISPATCH_INDEX, 0, commands->object.label,
                      "dispatch %u; there are %u", dispatch, commands->dispatch_count);
}

/* A dispatch keeps its function, and the function its reflection, whatever becomes of the nodes. */
static khal_function* get_function(khal_commands* commands, uint32_t dispatch)
{
    khal__mutex_lock(&commands->lock);
    khal_function* function = commands->dispatches[dispatch]->command.u.dispatch.function;
    khal__mutex_unlock(&commands->lock);
    return function;
}

/* Under the lock; the caller releases what it returns after it. */
static khal__recording* changed(khal_commands* commands)
{
    khal__recording* old = commands->current;
    commands->current = NULL;
    return old;
}

/* A master keeps each buffer that it ever had. When many are there in vain, a copy of it takes its
 * place; what is returned is released after the lock. */
static khal__recording* renew_master(khal_commands* commands)
{
    khal__recording* old = commands->master;
    if (old->use_count <= commands->most_uses)
        return NULL;
    khal__recording* made = khal__recording_acquire(commands->object.device);
    if (made != NULL && !khal__recording_clone(made, old)) {
        khal__recording_release(made);
        made = NULL;
    }
    if (made == NULL)
        return NULL; /* no memory now: later */
    commands->master = made;
    index_dispatches(commands);
    return old;
}

khal_status khal_commands_set_slice(khal_commands* commands, uint32_t dispatch, uint32_t binding,
                                    khal_slice slice)
{
    if (commands == NULL)
        return khal__fail_null(NULL, NULL, "commands");
    khal_status status = check_dispatch(commands, dispatch);
    if (status != KHAL_OK)
        return status;
    khal_device* device = commands->object.device;
    khal_function* function = get_function(commands, dispatch);
    if (binding >= function->info->binding_count)
        return khal__fail(device, KHAL_ERROR_DISPATCH_INDEX, 0, commands->object.label,
                          "binding %u; dispatch %u has %u", binding, dispatch,
                          function->info->binding_count);
    khal__range range;
    status = khal__binding_check(device, function, binding, &slice, &range);
    if (status != KHAL_OK)
        return status;
    khal__mutex_lock(&commands->lock);
    const bool is_kept = khal__recording_use(commands->master, range.buffer) != NULL;
    khal__recording *old = NULL, *old_master = NULL;
    if (is_kept) {
        commands->dispatches[dispatch]->command.u.dispatch.bindings[binding] = range;
        old = changed(commands);
        old_master = renew_master(commands);
    }
    khal__mutex_unlock(&commands->lock);
    khal__recording_release(old);
    khal__recording_release(old_master);
    return is_kept
               ? KHAL_OK
               : khal__fail_memory(device, commands->object.label, "the slice", sizeof(khal__use));
}

khal_status khal_commands_set_push_constants(khal_commands* commands, uint32_t dispatch,
                                             uint32_t offset, const void* data, uint32_t size)
{
    if (commands == NULL)
        return khal__fail_null(NULL, NULL, "commands");
    const khal_status status = check_dispatch(commands, dispatch);
    if (status != KHAL_OK)
        return status;
    khal_device* device = commands->object.device;
    const uint32_t have = get_function(commands, dispatch)->info->push_constant_size;
    if (offset > have || size > have - offset)
        return khal__fail(device, KHAL_ERROR_DISPATCH_INDEX, 0, commands->object.label,
                          "%u bytes of push constants at %u; dispatch %u has %u", size, offset,
                          dispatch, have);
    if (size == 0)
        return KHAL_OK;
    if (data == NULL)
        return khal__fail_null(device, commands->object.label, "data");
    khal__mutex_lock(&commands->lock);
    memcpy((char*)commands->dispatches[dispatch]->command.u.dispatch.push_constants + offset, data,
           size);
    khal__recording* old = changed(commands);
    khal__mutex_unlock(&commands->lock);
    khal__recording_release(old);
    return KHAL_OK;
}
