/* A recording: an arena with its commands, the buffers and functions that they use, and what is
 * timed and read back. All of its memory comes from pools of the device and goes back there, so
 * that a shape seen before allocates nothing. */
#include "core.h"

#define FIRST_CLASS 12u   /* chunks have 2^class bytes */
#define LARGEST_CLASS 20u /* of those that come by growth; one allocation may need a larger one */
#define LINEAR_USES 8u    /* up to here a missed hint searches from the front */
#define NO_HINT UINT32_MAX

static void* begin_chunk(khal__recording* recording, khal__chunk* chunk, size_t used)
{
    chunk->next = NULL;
    chunk->used = used;
    if (recording->chunk != NULL)
        recording->chunk->next = chunk;
    else
        recording->chunks = chunk;
    recording->chunk = chunk;
    return chunk->data;
}

void* khal__recording_alloc_slow(khal__recording* recording, size_t size)
{
    khal_device* device = recording->device;
    if (size > SIZE_MAX / 4)
        return NULL;
    uint32_t class = recording->chunk == NULL ? FIRST_CLASS : recording->chunk->class + 1;
    if (class > LARGEST_CLASS)
        class = LARGEST_CLASS;
    while (((size_t)1 << class) - sizeof(khal__chunk) < size)
        ++class;
    if (class >= KHAL__CHUNK_CLASSES)
        return NULL;
    khal__mutex_lock(&device->pool_lock);
    khal__chunk* chunk = device->free_chunks[class];
    if (chunk != NULL)
        device->free_chunks[class] = chunk->next;
    khal__mutex_unlock(&device->pool_lock);
    if (chunk == NULL) {
        chunk = khal__alloc(device, (size_t)1 << class, 16);
        if (chunk == NULL)
            return NULL;
        chunk->class = class;
        chunk->size = ((size_t)1 << class) - sizeof *chunk;
    }
    return begin_chunk(recording, chunk, size);
}

/* Moves an array to twice the room; the old one stays behind in the arena. */
static bool grow(khal__recording* recording, void* array, uint32_t* capacity, size_t item_size)
{
    if (*capacity > UINT32_MAX / 2)
        return false;
    const uint32_t wanted = *capacity == 0 ? 8 : *capacity * 2;
    void* made = khal__recording_alloc(recording, wanted * item_size);
    if (made == NULL)
        return false;
    void* old;
    memcpy(&old, array, sizeof old);
    if (*capacity > 0)
        memcpy(made, old, *capacity * item_size);
    memcpy(array, &made, sizeof made);
    *capacity = wanted;
    return true;
}

static uint32_t pointer_hash(const void* pointer)
{
    const uint64_t x = (uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15u;
    return (uint32_t)(x >> 32);
}

static void table_insert(khal__recording* recording, uint32_t index)
{
    const uint32_t mask = recording->use_table_capacity - 1;
    uint32_t at = pointer_hash(recording->uses[index]->buffer) & mask;
    while (recording->use_table[at] != 0)
        at = (at + 1) & mask;
    recording->use_table[at] = index + 1;
}

static uint32_t find_use(const khal__recording* recording, const khal_buffer* buffer)
{
    if (recording->use_count <= LINEAR_USES) {
        for (uint32_t i = 0; i < recording->use_count; ++i)
            if (recording->uses[i]->buffer == buffer)
                return i;
        return NO_HINT;
    }
    const uint32_t mask = recording->use_table_capacity - 1;
    for (uint32_t at = pointer_hash(buffer) & mask; recording->use_table[at] != 0;
         at = (at + 1) & mask) {
        const uint32_t index = recording->use_table[at] - 1;
        if (recording->uses[index]->buffer == buffer)
            return index;
    }
    return NO_HINT;
}

/* Room in the table for one use more than there are, at most half full. */
static bool grow_table(khal__recording* recording)
{
    const uint32_t needed = recording->use_count + 1;
    if (needed <= LINEAR_USES)
        return true;
    if (needed > recording->use_table_capacity / 2) {
        if (recording->use_table_capacity > UINT32_MAX / 4)
            return false;
        const uint32_t capacity =
            recording->use_table_capacity == 0 ? 64 : recording->use_table_capacity * 4;
        uint32_t* table = khal__recording_alloc(recording, capacity * sizeof *table);
        if (table == NULL)
            return false;
        recording->use_table = table;
        recording->use_table_capacity = capacity;
    } else if (needed > LINEAR_USES + 1) {
        return true;
    }
    memset(recording->use_table, 0, recording->use_table_capacity * sizeof recording->use_table[0]);
    for (uint32_t i = 0; i < recording->use_count; ++i)
        table_insert(recording, i);
    return true;
}

khal__use* khal__recording_use_slow(khal__recording* recording, khal_buffer* buffer)
{
    uint32_t index = find_use(recording, buffer);
    if (index == NO_HINT) {
        if (recording->use_count == recording->use_capacity &&
            !grow(recording, &recording->uses, &recording->use_capacity, sizeof recording->uses[0]))
            return NULL;
        if (!grow_table(recording))
            return NULL;
        khal__use* use = khal__recording_alloc(recording, sizeof *use);
        if (use == NULL)
            return NULL;
        memset(use, 0, sizeof *use);
        use->buffer = buffer;
        use->epoch = use->inside_epoch = recording->epoch;
        khal__spans* const sets[6] = {&use->pending[0], &use->pending[1], &use->inside[0],
                                      &use->inside[1],  &use->total[0],   &use->total[1]};
        for (int i = 0; i < 6; ++i) {
            sets[i]->items = &use->items[i];
            sets[i]->capacity = 1;
        }
        index = recording->use_count;
        recording->uses[recording->use_count++] = use;
        if (recording->use_count > LINEAR_USES)
            table_insert(recording, index);
        khal__object_keep(&buffer->object);
    }
    atomic_store_explicit(&buffer->hint, index, memory_order_relaxed);
    return recording->uses[index];
}

bool khal__recording_add_function_slow(khal__recording* recording, khal_function* function)
{
    uint32_t index = 0;
    while (index < recording->function_count && recording->functions[index] != function)
        ++index;
    if (index == recording->function_count) {
        if (recording->function_count == recording->function_capacity &&
            !grow(recording, &recording->functions, &recording->function_capacity,
                  sizeof recording->functions[0]))
            return false;
        recording->functions[recording->function_count++] = function;
        khal__object_keep(&function->object);
    }
    atomic_store_explicit(&function->hint, index, memory_order_relaxed);
    return true;
}

khal__recording* khal__recording_acquire(khal_device* device)
{
    khal__mutex_lock(&device->pool_lock);
    khal__recording* recording = device->free_recordings;
    khal__chunk* chunk = device->free_chunks[FIRST_CLASS];
    if (recording != NULL)
        device->free_recordings = recording->next_free;
    if (recording != NULL && chunk != NULL)
        device->free_chunks[FIRST_CLASS] = chunk->next;
    khal__mutex_unlock(&device->pool_lock);
    if (recording == NULL) {
        recording = khal__alloc(device, sizeof *recording, 16);
        if (recording == NULL)
            return NULL;
        chunk = NULL;
    }
    memset(recording, 0, sizeof *recording);
    recording->device = device;
    atomic_init(&recording->refs, 1);
    if (chunk != NULL)
        begin_chunk(recording, chunk, 0);
    return recording;
}

static void drop_all(khal__recording* recording)
{
    for (khal__request* request = recording->requests; request != NULL; request = request->next)
        khal__object_drop((khal__object*)request->readback);
    for (khal__timing* timing = recording->timings; timing != NULL; timing = timing->next)
        khal__object_drop((khal__object*)timing->timestamps);
    for (uint32_t i = 0; i < recording->function_count; ++i)
        khal__object_drop(&recording->functions[i]->object);
    for (uint32_t i = 0; i < recording->use_count; ++i)
        khal__object_drop(&recording->uses[i]->buffer->object);
}

void khal__recording_release(khal__recording* recording)
{
    if (recording == NULL ||
        atomic_fetch_sub_explicit(&recording->refs, 1, memory_order_acq_rel) != 1)
        return;
    khal_device* device = recording->device;
    drop_all(recording);
    khal__mutex_lock(&device->pool_lock);
    for (khal__chunk* chunk = recording->chunks; chunk != NULL;) {
        khal__chunk* next = chunk->next;
        chunk->next = device->free_chunks[chunk->class];
        device->free_chunks[chunk->class] = chunk;
        chunk = next;
    }
    recording->next_free = device->free_recordings;
    device->free_recordings = recording;
    khal__mutex_unlock(&device->pool_lock);
}

void khal__recording_free_pools(khal_device* device)
{
    while (device->free_recordings != NULL) {
        khal__recording* recording = device->free_recordings;
        device->free_recordings = recording->next_free;
        khal__free(device, recording, sizeof *recording);
    }
    for (uint32_t class = 0; class < KHAL__CHUNK_CLASSES; ++class)
        while (device->free_chunks[class] != NULL) {
            khal__chunk* chunk = device->free_chunks[class];
            device->free_chunks[class] = chunk->next;
            khal__free(device, chunk, (size_t)1 << class);
        }
    while (device->free_runs != NULL) {
        khal__run* run = device->free_runs;
        device->free_runs = run->next;
        khal__free(device, run, sizeof *run);
    }
    while (device->free_encoders != NULL) {
        khal_encoder* encoder = device->free_encoders;
        device->free_encoders = encoder->next_free;
        khal__free(device, encoder, sizeof *encoder);
    }
}

/* ---- appending ---------------------------------------------------------------------------------
 */

static void link_node(khal__recording* recording, khal__node* node)
{
    node->next = NULL;
    if (recording->last_node != NULL)
        recording->last_node->next = node;
    else
        recording->first_node = node;
    recording->last_node = node;
    if ((node->flags & KHAL__NODE_NOOP) != 0)
        return;
    khal__command* command = &node->command;
    command->next = NULL;
    if (recording->last_command != NULL)
        recording->last_command->next = command;
    else
        recording->first_command = command;
    recording->last_command = command;
    ++recording->command_count;
    ++recording->since_barrier;
}

khal__node* khal__recording_node(khal__recording* recording, khal__command_kind kind, uint32_t pass,
                                 const char* label, size_t size)
{
    khal__node* node = khal__recording_alloc(recording, size);
    if (node == NULL)
        return NULL;
    node->command.kind = kind;
    node->command.pass = pass;
    node->command.label = label;
    node->command.next = NULL;
    node->next = NULL;
    node->flags = recording->manual ? KHAL__NODE_MANUAL : 0;
    node->extra = NULL;
    return node;
}

khal__node* khal__recording_dispatch_node(khal__recording* recording, uint32_t pass,
                                          const char* label, uint32_t binding_count,
                                          uint32_t local_count, uint32_t push_constant_size)
{
    /* Push constants first, so that they are aligned to 16. */
    const size_t push_size = khal__round_up(push_constant_size, 16);
    const size_t bindings_size = binding_count * sizeof(khal__range);
    const size_t node_size = khal__round_up(KHAL__NODE_SIZE(dispatch), 16);
    khal__node* node = khal__recording_node(recording, KHAL__COMMAND_DISPATCH, pass, label,
                                            node_size + push_size + bindings_size +
                                                local_count * sizeof(uint64_t));
    if (node == NULL)
        return NULL;
    char* at = (char*)node + node_size;
    node->command.u.dispatch.push_constant_size = push_constant_size;
    node->command.u.dispatch.push_constants = at;
    node->command.u.dispatch.binding_count = binding_count;
    node->command.u.dispatch.bindings = (khal__range*)(at + push_size);
    node->command.u.dispatch.local_count = local_count;
    node->command.u.dispatch.local_sizes = (uint64_t*)(at + push_size + bindings_size);
    return node;
}

bool khal__recording_barrier(khal__recording* recording, uint32_t pass, const char* label,
                             uint32_t flags)
{
    khal__node* node = khal__recording_node(recording, KHAL__COMMAND_BARRIER, pass, label,
                                            offsetof(khal__node, command.u));
    if (node == NULL)
        return false;
    node->flags |= flags;
    /* Where barriers stand, for telling whether a later recording of the same commands has them
     * elsewhere. */
    recording->barrier_signature =
        (recording->barrier_signature ^ (recording->command_count + 1)) * 0x100000001b3u;
    link_node(recording, node);
    recording->since_barrier = 0;
    ++recording->epoch;
    ++recording->barriers;
    return true;
}

/* A command with up to two ranges, of which the second is written. */
static bool append_ranged(khal__recording* recording, khal__node* node, const khal__range* reads,
                          uint32_t read_count, const khal__range* writes, uint32_t write_count)
{
    bool depends = false;
    for (uint32_t i = 0; i < read_count + write_count; ++i) {
        const khal__range* range = i < read_count ? &reads[i] : &writes[i - read_count];
        khal__use* use = khal__recording_use(recording, range->buffer);
        if (use == NULL)
            return false;
        depends = depends ||
                  khal__hazard_check(recording, use, range->offset, range->size, i >= read_count);
    }
    if (depends && !khal__recording_barrier(recording, node->command.pass, node->command.label, 0))
        return false;
    for (uint32_t i = 0; i < read_count + write_count; ++i) {
        const khal__range* range = i < read_count ? &reads[i] : &writes[i - read_count];
        khal__use* use = khal__recording_use(recording, range->buffer);
        if (use == NULL)
            return false;
        khal__hazard_add(recording, use, range->offset, range->size, i >= read_count);
    }
    link_node(recording, node);
    return true;
}

bool khal__append_dispatch(khal__recording* recording, khal__node* node, khal_function* function)
{
    const uint32_t count = node->command.u.dispatch.binding_count;
    const khal__range* bindings = node->command.u.dispatch.bindings;
    const khal__binding* infos = function->bindings;
    const khal__range* indirect =
        node->command.u.dispatch.is_indirect ? &node->command.u.dispatch.indirect : NULL;
    if (!khal__recording_add_function(recording, function))
        return false;
    node->command.u.dispatch.index = recording->dispatch_index_count++;

    bool depends = false;
    for (uint32_t i = 0; i < count; ++i) {
        khal__use* use = khal__recording_use(recording, bindings[i].buffer);
        if (KHAL__UNLIKELY(use == NULL))
            return false;
        if ((infos[i].reads | infos[i].writes) != 0 && !depends)
            depends = khal__hazard_check(recording, use, bindings[i].offset, bindings[i].size,
                                         infos[i].writes);
    }
    if (indirect != NULL) {
        khal__use* use = khal__recording_use(recording, indirect->buffer);
        if (use == NULL)
            return false;
        depends =
            depends || khal__hazard_check(recording, use, indirect->offset, indirect->size, false);
    }
    if ((node->flags & KHAL__NODE_NOOP) != 0) {
        link_node(recording, node);
        return true;
    }
    if (depends && !khal__recording_barrier(recording, node->command.pass, node->command.label, 0))
        return false;
    for (uint32_t i = 0; i < count; ++i)
        if ((infos[i].reads | infos[i].writes) != 0)
            khal__hazard_add(recording, khal__recording_use(recording, bindings[i].buffer),
                             bindings[i].offset, bindings[i].size, infos[i].writes);
    if (indirect != NULL)
        khal__hazard_add(recording, khal__recording_use(recording, indirect->buffer),
                         indirect->offset, indirect->size, false);
    link_node(recording, node);
    ++recording->dispatches;
    return true;
}

bool khal__append_copy(khal__recording* recording, khal__range source, khal__range target)
{
    khal__node* node = khal__recording_node(recording, KHAL__COMMAND_COPY, UINT32_MAX, NULL,
                                            KHAL__NODE_SIZE(copy));
    if (node == NULL)
        return false;
    node->command.u.copy.source = source;
    node->command.u.copy.target = target;
    ++recording->copies;
    return append_ranged(recording, node, &source, 1, &target, 1);
}

bool khal__append_fill(khal__recording* recording, khal__range target, const void* pattern,
                       uint32_t pattern_size)
{
    khal__node* node = khal__recording_node(recording, KHAL__COMMAND_FILL, UINT32_MAX, NULL,
                                            KHAL__NODE_SIZE(fill));
    if (node == NULL)
        return false;
    node->command.u.fill.target = target;
    node->command.u.fill.pattern_size = pattern_size;
    memset(node->command.u.fill.pattern, 0, sizeof node->command.u.fill.pattern);
    memcpy(node->command.u.fill.pattern, pattern, pattern_size);
    ++recording->fills;
    return append_ranged(recording, node, NULL, 0, &target, 1);
}

bool khal__append_native(khal__recording* recording, khal_native_fn call, void* user,
                         const khal__range* ranges, uint32_t read_count, uint32_t write_count)
{
    const size_t ranges_size = ((size_t)read_count + write_count) * sizeof *ranges;
    khal__node* node = khal__recording_node(recording, KHAL__COMMAND_NATIVE, UINT32_MAX, NULL,
                                            KHAL__NODE_SIZE(native));
    khal__native_call* native = khal__recording_alloc(recording, sizeof *native + ranges_size);
    if (node == NULL || native == NULL)
        return false;
    native->call = call;
    native->user = user;
    native->device = recording->device;
    native->ranges = (khal__range*)(native + 1);
    native->read_count = read_count;
    native->write_count = write_count;
    if (ranges_size > 0)
        memcpy(native->ranges, ranges, ranges_size);
    node->extra = native;
    node->command.u.native.call = khal__native_trampoline;
    node->command.u.native.user = native;
    recording->has_native = true;
    return append_ranged(recording, node, native->ranges, read_count, native->ranges + read_count,
                         write_count);
}

bool khal__append_request(khal__recording* recording, khal_readback* readback,
                          const khal__range* ranges, uint32_t count)
{
    khal__request* request = khal__recording_alloc(recording, sizeof *request);
    if (request == NULL)
        return false;
    memset(request, 0, sizeof *request);
    request->readback = readback;
    khal__object_keep(&readback->object);
    if (recording->last_request != NULL)
        recording->last_request->next = request;
    else
        recording->requests = request;
    recording->last_request = request;
    for (uint32_t i = 0; i < count; ++i) {
        if (ranges[i].size == 0)
            continue;
        khal__node* node = khal__recording_node(recording, KHAL__COMMAND_READ, UINT32_MAX, NULL,
                                                KHAL__NODE_SIZE(read));
        if (node == NULL)
            return false;
        node->extra = request;
        node->command.u.read.source = ranges[i];
        node->command.u.read.out = NULL;
        if (!append_ranged(recording, node, &ranges[i], 1, NULL, 0))
            return false;
        if (request->node_count++ == 0)
            request->first = node;
        request->size += ranges[i].size;
    }
    return true;
}

khal__timing* khal__append_timing(khal__recording* recording, khal_timestamps* timestamps,
                                  const char* label)
{
    khal__timing* timing = khal__recording_alloc(recording, sizeof *timing);
    if (timing == NULL)
        return NULL;
    memset(timing, 0, sizeof *timing);
    timing->timestamps = timestamps;
    timing->label = label;
    timing->values[0] = timing->values[1] = UINT64_MAX;
    timing->slot = UINT32_MAX;
    khal__object_keep(&timestamps->object);
    if (recording->last_timing != NULL)
        recording->last_timing->next = timing;
    else
        recording->timings = timing;
    recording->last_timing = timing;
    return timing;
}

bool khal__append_time(khal__recording* recording, khal__timing* timing, uint32_t which,
                       uint32_t pass, const char* label)
{
    khal__node* node = khal__recording_node(recording, KHAL__COMMAND_TIMESTAMP, pass, label,
                                            KHAL__NODE_SIZE(timestamp));
    if (node == NULL)
        return false;
    node->extra = timing;
    node->command.u.timestamp.out = &timing->values[which];
    link_node(recording, node);
    return true;
}

/* ---- recording again ---------------------------------------------------------------------------
 */

static const char* copy_string(khal__recording* recording, const char* text)
{
    const size_t size = strlen(text) + 1;
    char* copy = khal__recording_alloc(recording, size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

static bool clone_dispatch(khal__recording* target, const khal__node* source, const char* label)
{
    const uint32_t binding_count = source->command.u.dispatch.binding_count;
    const uint32_t local_count = source->command.u.dispatch.local_count;
    const uint32_t push_size = source->command.u.dispatch.push_constant_size;
    khal__node* node = khal__recording_dispatch_node(target, source->command.pass, label,
                                                     binding_count, local_count, push_size);
    if (node == NULL)
        return false;
    khal__range* const bindings = node->command.u.dispatch.bindings;
    uint64_t* const local_sizes = node->command.u.dispatch.local_sizes;
    void* const push_constants = node->command.u.dispatch.push_constants;
    node->flags |= source->flags & KHAL__NODE_NOOP;
    node->command.u.dispatch = source->command.u.dispatch;
    node->command.u.dispatch.bindings = bindings;
    node->command.u.dispatch.local_sizes = local_sizes;
    node->command.u.dispatch.push_constants = push_constants;
    if (binding_count > 0)
        memcpy(bindings, source->command.u.dispatch.bindings, binding_count * sizeof *bindings);
    if (local_count > 0)
        memcpy(local_sizes, source->command.u.dispatch.local_sizes,
               local_count * sizeof *local_sizes);
    if (push_size > 0)
        memcpy(push_constants, source->command.u.dispatch.push_constants, push_size);
    return khal__append_dispatch(target, node, source->command.u.dispatch.function);
}

static bool clone_request(khal__recording* target, const khal__node* first)
{
    const khal__request* request = first->extra;
    khal__range* ranges = khal__recording_alloc(target, request->node_count * sizeof *ranges);
    if (ranges == NULL)
        return false;
    const khal__node* node = first;
    for (uint32_t i = 0; i < request->node_count; node = node->next)
        if (node->command.kind == KHAL__COMMAND_READ)
            ranges[i++] = node->command.u.read.source;
    return khal__append_request(target, request->readback, ranges, request->node_count);
}

/* Those from `*next` up to one that has nodes. */
static bool clone_empty_requests(khal__recording* target, const khal__request** next)
{
    for (; *next != NULL && (*next)->node_count == 0; *next = (*next)->next)
        if (!khal__append_request(target, (*next)->readback, NULL, 0))
            return false;
    return true;
}

bool khal__recording_clone(khal__recording* target, const khal__recording* source)
{
    const char* source_label = NULL;
    const char* label = NULL;
    uint32_t pass = UINT32_MAX;
    khal__timing* timing = NULL;
    const khal__request* pending =
        source->requests; /* reads of nothing have no node, and keep their place among the others */
    for (const khal__node* node = source->first_node; node != NULL; node = node->next) {
        const khal__command* command = &node->command;
        if (command->pass != pass) {
            if (pass != UINT32_MAX)
                khal__hazard_pass_end(target);
            pass = command->pass;
            if (pass != UINT32_MAX)
                khal__hazard_pass_begin(target, (node->flags & KHAL__NODE_MANUAL) != 0);
        }
        if (command->label != source_label) {
            source_label = command->label;
            label = source_label != NULL ? copy_string(target, source_label) : NULL;
            if (source_label != NULL && label == NULL)
                return false;
        }
        bool done = true;
        switch (command->kind) {
        case KHAL__COMMAND_DISPATCH: done = clone_dispatch(target, node, label); break;
        case KHAL__COMMAND_COPY:
            done = khal__append_copy(target, command->u.copy.source, command->u.copy.target);
            break;
        case KHAL__COMMAND_FILL:
            done = khal__append_fill(target, command->u.fill.target, command->u.fill.pattern,
                                     command->u.fill.pattern_size);
            break;
        case KHAL__COMMAND_BARRIER:
            if ((node->flags & KHAL__NODE_BARRIER) != 0 && target->since_barrier > 0)
                done = khal__recording_barrier(target, pass, label, KHAL__NODE_BARRIER);
            break;
        case KHAL__COMMAND_READ: {
            const khal__request* request = node->extra;
            if (request->first != node)
                break;
            done = clone_empty_requests(target, &pending) && clone_request(target, node);
            pending = request->next;
            break;
        }
        case KHAL__COMMAND_TIMESTAMP: {
            const khal__timing* original = node->extra;
            const uint32_t which = command->u.timestamp.out == &original->values[1];
            if (which == 0)
                timing = khal__append_timing(target, original->timestamps, label);
            done = timing != NULL && khal__append_time(target, timing, which, pass, label);
            break;
        }
        case KHAL__COMMAND_NATIVE: {
            const khal__native_call* native = node->extra;
            done = khal__append_native(target, native->call, native->user, native->ranges,
                                       native->read_count, native->write_count);
            break;
        }
        }
        if (!done)
            return false;
    }
    if (!clone_empty_requests(target, &pending))
        return false;
    if (pass != UINT32_MAX)
        khal__hazard_pass_end(target);
    target->work_items = source->work_items;
    return true;
}
