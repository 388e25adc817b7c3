/* Devices, buffers, slices and modules, as the contract has them. */
#include "../cts.h"

#include "workitem.khal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <pthread.h>
#endif

/* ---- devices ------------------------------------------------------------------------------------- */

static void enumerate_lists_it(cts* t)
{
    uint32_t count = 0, again = 0;
    if (!CTS_OK(t, khal_device_enumerate(0, NULL, &count)) || !CTS_CHECK(t, count > 0)) return;
    khal_device_info* infos = cts_alloc(t, count * sizeof *infos);
    if (!CTS_OK(t, khal_device_enumerate(count, infos, &again)) || !CTS_EQ(t, again, count)) return;
    bool found = false, has_cpu = false;
    for (uint32_t i = 0; i < count; i++) {
        CTS_CHECK(t, infos[i].name[0] != 0 || !infos[i].available);
        CTS_CHECK(t, infos[i].available || infos[i].reason[0] != 0);
        found |= infos[i].backend == cts_info(t)->backend && infos[i].available;
        has_cpu |= infos[i].backend == KHAL_BACKEND_CPU && infos[i].available;
    }
    CTS_CHECK(t, found);
    CTS_CHECK(t, has_cpu);
    khal_device_info first;
    if (CTS_OK(t, khal_device_enumerate(1, &first, &again))) CTS_EQ(t, again, count);
}

static void info_is_sane(cts* t)
{
    const khal_device_info* info = cts_info(t);
    CTS_CHECK(t, info->available);
    CTS_CHECK(t, info->name[0] != 0);
    CTS_CHECK(t, info->limits.buffer_size >= 1u << 27);
    CTS_CHECK(t, info->limits.push_constant_size >= 128);
    CTS_CHECK(t, info->limits.binding_count >= 8);
    CTS_CHECK(t, info->limits.local_memory_size >= 16384);
    CTS_CHECK(t, info->limits.workgroup_invocations >= 256);
    for (int d = 0; d < 3; d++) {
        CTS_CHECK(t, info->limits.workgroup_size[d] >= 64);
        CTS_CHECK(t, info->limits.group_count[d] >= 65536);
    }
    CTS_CHECK(t, info->formats != 0);
}

static void open_by_index_and_name(cts* t)
{
    uint32_t count = 0;
    if (!CTS_OK(t, khal_device_enumerate(0, NULL, &count))) return;
    khal_device_info* infos = cts_alloc(t, count * sizeof *infos);
    if (!CTS_OK(t, khal_device_enumerate(count, infos, &count))) return;
    for (uint32_t i = 0; i < count; i++) {
        if (infos[i].backend != cts_info(t)->backend || !infos[i].available) continue;
        khal_device* device = NULL;
        if (CTS_OK(t, khal_device_open(&(khal_device_desc){.index = i + 1}, &device))) {
            CTS_CHECK(t, strcmp(khal_device_get_info(device)->name, infos[i].name) == 0);
            khal_device_release(device);
        }
        if (CTS_OK(t, khal_device_open(&(khal_device_desc){.backend = infos[i].backend, .name = infos[i].name}, &device))) {
            CTS_EQ(t, khal_device_get_info(device)->backend, infos[i].backend);
            khal_device_release(device);
        }
        break;
    }
    khal_device* none = NULL;
    CTS_ERROR(t, khal_device_open(&(khal_device_desc){.backend = cts_info(t)->backend, .name = "no device is called this"}, &none),
              KHAL_ERROR_DEVICE_NOT_FOUND);
    CTS_ERROR(t, khal_device_open(&(khal_device_desc){.index = 1000000}, &none), KHAL_ERROR_DEVICE_NOT_FOUND);
    CTS_CHECK(t, none == NULL);
}

static void open_in_steps(cts* t)
{
    khal_device_desc desc = cts_device_desc(t);
    khal_device_opening* opening = NULL;
    khal_device* device = NULL;
    if (!CTS_OK(t, khal_device_open_begin(&desc, &opening))) return;
    khal_status status;
    const uint64_t begin = cts_now();
    do status = khal_device_open_poll(opening, &device);
    while (status == KHAL_NOT_READY && cts_now() - begin < 60000000000u);
    if (CTS_STATUS(t, status, KHAL_OK)) khal_device_release(device);
    if (CTS_OK(t, khal_device_open_begin(&desc, &opening))) khal_device_open_cancel(opening);
}

typedef struct counting { uint64_t allocations, releases, bytes, most; bool misaligned; bool refuse; } counting;

static void* count_allocate(void* user, size_t size, size_t align)
{
    counting* c = user;
    if (c->refuse) return NULL;
    void* memory = NULL;
    if (size == 0 || align < 16 || (align & (align - 1)) != 0) c->misaligned = true;
    memory = aligned_alloc(align, (size + align - 1) / align * align);
    if (memory != NULL) {
        __atomic_add_fetch(&c->allocations, 1, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&c->bytes, size, __ATOMIC_SEQ_CST);
    }
    return memory;
}

static void count_release(void* user, void* memory, size_t size)
{
    counting* c = user;
    __atomic_add_fetch(&c->releases, 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&c->bytes, size, __ATOMIC_SEQ_CST);
    free(memory);
}

static void allocator_serves_all(cts* t)
{
    counting c = {0};
    const khal_allocator allocator = {count_allocate, count_release, &c};
    khal_device_desc desc = cts_device_desc(t);
    desc.allocator = &allocator;
    khal_device* device = NULL;
    khal_buffer* buffer = NULL;
    workitem* k = NULL;
    if (!CTS_OK(t, khal_device_open(&desc, &device))) return;
    CTS_CHECK(t, c.allocations > 0);
    if (CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 4096}, &buffer)) && CTS_OK(t, workitem_load(device, &k))) {
        khal_encoder* encoder = NULL;
        khal_pass* pass = NULL;
        if (CTS_OK(t, khal_encoder_create(device, NULL, &encoder)) && CTS_OK(t, khal_pass_begin(encoder, NULL, &pass))) {
            CTS_OK(t, workitem_add_one(k, pass, khal_threads(1024, 1, 1), &(workitem_add_one_args){.a = khal_slice_uint_all(buffer)}));
            CTS_OK(t, khal_pass_end(pass));
            CTS_OK(t, khal_submit(encoder, NULL));
        }
        khal_encoder_release(encoder);
    }
    workitem_release(k);
    khal_buffer_release(buffer);
    khal_device_release(device);
    CTS_EQ(t, c.releases, c.allocations);
    CTS_EQ(t, c.bytes, 0);
    CTS_CHECK(t, !c.misaligned);
}

/* Memory runs out, then comes back: an error, and the objects go on. */
static void out_of_memory(cts* t)
{
    counting c = {0};
    const khal_allocator allocator = {count_allocate, count_release, &c};
    khal_device_desc desc = cts_device_desc(t);
    desc.allocator = &allocator;
    khal_device* device = NULL;
    if (!CTS_OK(t, khal_device_open(&desc, &device))) return;
    khal_buffer *buffer = NULL, *second = NULL;
    CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 64}, &buffer));
    c.refuse = true;
    /* pools may still have room for small ones: ask until it is used up */
    khal_buffer* made[4096];
    uint32_t count = 0;
    khal_status status = KHAL_OK;
    while (count < 4096 && (status = khal_buffer_create(device, &(khal_buffer_desc){.size = 65536}, &made[count])) == KHAL_OK) count++;
    CTS_STATUS(t, status, KHAL_OUT_OF_MEMORY);
    CTS_EQ(t, khal_error_get()->id, KHAL_ERROR_OUT_OF_MEMORY);
    c.refuse = false;
    const uint32_t value = 77;
    uint32_t read = 0;
    CTS_OK(t, khal_buffer_write(buffer, 0, &value, 4));
    CTS_OK(t, khal_buffer_read(buffer, 0, &read, 4, KHAL_FOREVER));
    CTS_EQ(t, read, 77);
    CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 65536}, &second));
    for (uint32_t i = 0; i < count; i++) khal_buffer_release(made[i]);
    khal_buffer_release(second);
    khal_buffer_release(buffer);
    khal_device_release(device);
}

typedef struct reports { uint32_t leaks; char objects[64]; char messages[1024]; /* of the last */ } reports;

static void take_report(void* user, const khal_error* error)
{
    reports* r = user;
    if (error->id != KHAL_ERROR_LEAK) return;
    r->leaks++;
    snprintf(r->objects, sizeof r->objects, "%s", error->object);
    snprintf(r->messages, sizeof r->messages, "%s", error->message);
}

static void leaks_are_reported(cts* t)
{
    reports r = {0};
    khal_device_desc desc = cts_device_desc(t);
    desc.debug = true;
    desc.diagnostic = take_report;
    desc.diagnostic_user = &r;
    khal_device* device = NULL;
    khal_buffer *kept = NULL, *gone = NULL;
    if (!CTS_OK(t, khal_device_open(&desc, &device))) return;
    CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 16, .label = "the kept one"}, &kept));
    CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 16, .label = "the gone one"}, &gone));
    khal_buffer_release(gone);
    khal_device_release(device);
    CTS_EQ(t, r.leaks, 1);
    CTS_CHECK(t, strstr(r.objects, "the kept one") != NULL);
    CTS_CHECK(t, strstr(r.messages, "api_objects.c") != NULL);
    khal_buffer_release(kept); /* any order of releases is fine */
}

static void release_in_any_order(cts* t)
{
    khal_device_desc desc = cts_device_desc(t);
    khal_device* device = NULL;
    workitem* k = NULL;
    khal_buffer* buffer = NULL;
    khal_encoder* encoder = NULL;
    khal_pass* pass = NULL;
    khal_commands* commands = NULL;
    if (!CTS_OK(t, khal_device_open(&desc, &device)) || !CTS_OK(t, workitem_load(device, &k)) ||
        !CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 400}, &buffer)) || !CTS_OK(t, khal_encoder_create(device, NULL, &encoder)))
        return;
    khal_device_release(device); /* its children keep it */
    CTS_OK(t, khal_pass_begin(encoder, NULL, &pass));
    CTS_OK(t, workitem_add_one(k, pass, khal_threads(100, 1, 1), &(workitem_add_one_args){.a = khal_slice_uint_all(buffer)}));
    workitem_release(k);
    CTS_OK(t, khal_pass_end(pass));
    CTS_OK(t, khal_encoder_finish(encoder, &commands));
    khal_encoder_release(encoder);
    CTS_OK(t, khal_commands_submit(commands, NULL));
    khal_commands_release(commands); /* a submission keeps what it uses */
    uint32_t value = 0;
    CTS_OK(t, khal_buffer_read(buffer, 396, &value, 4, KHAL_FOREVER));
    CTS_EQ(t, value, 1);
    khal_buffer_release(buffer);
    khal_buffer_release(NULL);
    khal_device_release(NULL);
    khal_commands_release(NULL);
    khal_encoder_release(NULL);
    khal_module_release(NULL);
    khal_function_release(NULL);
    khal_timestamps_release(NULL);
    khal_readback_release(NULL);
}

static void other_devices_objects(cts* t)
{
    khal_device_desc desc = cts_device_desc(t);
    khal_device* device = NULL;
    khal_buffer* foreign = NULL;
    khal_function* function = cts_function(t, &workitem_library, "add_one");
    khal_encoder* encoder = cts_encoder(t);
    khal_buffer* own = cts_buffer_of(t, NULL, 16, 4);
    if (function == NULL || encoder == NULL || !CTS_OK(t, khal_device_open(&desc, &device))) return;
    if (CTS_OK(t, khal_buffer_create(device, &(khal_buffer_desc){.size = 16}, &foreign))) {
        khal_pass* pass = cts_pass(t, encoder);
        const khal_slice slice = khal_slice_all(foreign);
        CTS_ERROR(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(4, 1, 1), .bindings = &slice, .binding_count = 1}, NULL),
                  KHAL_ERROR_WRONG_DEVICE);
        khal_encoder_reset(encoder);
        CTS_ERROR(t, khal_encoder_copy(encoder, khal_slice_all(foreign), khal_slice_all(own)), KHAL_ERROR_WRONG_DEVICE);
        khal_encoder_reset(encoder);
        /* but this copies */
        const uint32_t words[4] = {1, 2, 3, 4};
        CTS_OK(t, khal_buffer_write(foreign, 0, words, 16));
        CTS_OK(t, khal_copy_between(khal_slice_all(foreign), khal_slice_all(own), KHAL_FOREVER));
        CTS_SAME(t, cts_read_all(t, own), words, 16, 4);
    }
    khal_buffer_release(foreign);
    khal_device_release(device);
}

/* ---- two devices in one process ------------------------------------------------------------------- */

#ifndef _WIN32
/* One device with work of its own, driven by a thread of its own. */
typedef struct half { khal_device* device; khal_buffer* buffer; khal_function* function; khal_module* module; uint32_t step; const char* wrong; } half;

enum { HALF_COUNT = 1000, HALF_ROUNDS = 300 };

static void* run_half(void* user)
{
    half* h = user;
    khal_encoder* encoder = NULL;
    if (khal_encoder_create(h->device, NULL, &encoder) != KHAL_OK) h->wrong = "khal_encoder_create";
    for (uint32_t i = 0; i < HALF_ROUNDS && h->wrong == NULL; i++) {
        khal_pass* pass = NULL;
        const khal_slice slice = khal_slice_all(h->buffer);
        uint32_t value = 0;
        if (khal_pass_begin(encoder, NULL, &pass) != KHAL_OK ||
            khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = h->function, .grid = khal_threads(HALF_COUNT, 1, 1), .bindings = &slice, .binding_count = 1,
                                                           .push_constants = &h->step, .push_constant_size = 4}, NULL) != KHAL_OK ||
            khal_pass_end(pass) != KHAL_OK || khal_submit(encoder, NULL) != KHAL_OK)
            h->wrong = "recording or submitting";
        else if (i % 50 == 7 && (khal_buffer_read(h->buffer, 4, &value, 4, KHAL_FOREVER) != KHAL_OK || value != (i + 1) * h->step))
            h->wrong = "the value that it reads back";
    }
    khal_encoder_release(encoder);
    return NULL;
}

static void close_half(half* h)
{
    khal_function_release(h->function);
    khal_module_release(h->module);
    khal_buffer_release(h->buffer);
    khal_device_release(h->device);
}

static bool open_half(cts* t, uint32_t index, uint32_t step, half* h)
{
    *h = (half){.step = step};
    return CTS_OK(t, khal_device_open(&(khal_device_desc){.index = index}, &h->device)) &&
           CTS_OK(t, khal_buffer_create(h->device, &(khal_buffer_desc){.size = HALF_COUNT * 4, .element_size = 4}, &h->buffer)) &&
           CTS_OK(t, khal_module_load(h->device, &(khal_module_desc){.library = &workitem_library}, &h->module)) &&
           CTS_OK(t, khal_function_create(h->module, &(khal_function_desc){.entry_point = "add"}, &h->function));
}

/* Two devices of the backend at once, each from a thread of its own, then from one thread, and bytes from one to the other. */
static void two_devices(cts* t)
{
    uint32_t count = 0, found = 0, indices[2] = {0};
    if (!CTS_OK(t, khal_device_enumerate(0, NULL, &count))) return;
    khal_device_info* infos = cts_alloc(t, count * sizeof *infos);
    if (!CTS_OK(t, khal_device_enumerate(count, infos, &count))) return;
    for (uint32_t i = 0; i < count && found < 2; i++)
        if (infos[i].backend == cts_info(t)->backend && infos[i].available) indices[found++] = i + 1;
    if (found < 2) {
        cts_skip(t, "there is one device alone");
        return;
    }
    half halves[2];
    const bool first = open_half(t, indices[0], 3, &halves[0]), second = open_half(t, indices[1], 5, &halves[1]);
    pthread_t threads[2];
    if (first && second) {
        bool started[2];
        for (int i = 0; i < 2; i++) started[i] = CTS_CHECK(t, pthread_create(&threads[i], NULL, run_half, &halves[i]) == 0);
        for (int i = 0; i < 2; i++)
            if (started[i]) pthread_join(threads[i], NULL);
        for (int i = 0; i < 2; i++) {
            uint32_t value = 0;
            if (halves[i].wrong != NULL) cts_fail(t, __FILE__, __LINE__, "device %d: %s", i, halves[i].wrong);
            CTS_OK(t, khal_buffer_read(halves[i].buffer, (HALF_COUNT - 1) * 4, &value, 4, KHAL_FOREVER));
            CTS_EQ(t, value, HALF_ROUNDS * halves[i].step);
        }
        /* over and back, in order with both devices' work */
        CTS_OK(t, khal_copy_between(khal_slice_all(halves[0].buffer), khal_slice_all(halves[1].buffer), KHAL_FOREVER));
        run_half(&halves[1]);
        CTS_CHECK(t, halves[1].wrong != NULL); /* it began at another value */
        CTS_OK(t, khal_copy_between((khal_slice){halves[1].buffer, 0, 8, 4}, (khal_slice){halves[0].buffer, 8, 8, 4}, KHAL_FOREVER));
        uint32_t values[4] = {0};
        CTS_OK(t, khal_buffer_read(halves[0].buffer, 0, values, 16, KHAL_FOREVER));
        CTS_EQ(t, values[1], HALF_ROUNDS * 3);
        CTS_EQ(t, values[2], HALF_ROUNDS * 3 + 8 * 5); /* eight submits until it looked */
        /* what belongs to one is refused by the other */
        khal_encoder* encoder = NULL;
        if (CTS_OK(t, khal_encoder_create(halves[0].device, NULL, &encoder)))
            CTS_ERROR(t, khal_encoder_copy(encoder, khal_slice_all(halves[0].buffer), khal_slice_all(halves[1].buffer)), KHAL_ERROR_WRONG_DEVICE);
        khal_encoder_release(encoder);
    }
    close_half(&halves[0]);
    close_half(&halves[1]);
}
#endif

void cts_suite_api_devices(cts_registry* registry)
{
    CTS_ADD(registry, enumerate_lists_it);
    CTS_ADD(registry, info_is_sane);
    CTS_ADD(registry, open_by_index_and_name);
    CTS_ADD(registry, open_in_steps);
    CTS_ADD(registry, allocator_serves_all);
    CTS_ADD(registry, out_of_memory);
    CTS_ADD(registry, leaks_are_reported);
    CTS_ADD(registry, release_in_any_order);
    CTS_ADD(registry, other_devices_objects);
#ifndef _WIN32
    CTS_ADD(registry, two_devices);
#endif
}

/* ---- buffers ------------------------------------------------------------------------------------- */

static void create_forms(cts* t)
{
    uint8_t data[1000], zero[1000] = {0};
    for (int i = 0; i < 1000; i++) data[i] = (uint8_t)(i * 3);
    khal_buffer* filled = cts_buffer(t, .data = data, .size = 1000, .element_size = 4, .label = "filled");
    khal_buffer* zeroed = cts_buffer(t, .size = 1000);
    khal_buffer* undefined = cts_buffer(t, .size = 1000, .uninitialized = true);
    memset(data, 0xee, sizeof data); /* the data was copied */
    uint8_t back[1000];
    if (cts_read(t, filled, back, 1000)) CTS_EQ(t, back[999], (uint8_t)(999 * 3));
    CTS_SAME(t, cts_read_all(t, zeroed), zero, 1000, 1);
    cts_read_all(t, undefined);
    CTS_EQ(t, khal_buffer_get_size(filled), 1000);
    CTS_EQ(t, khal_buffer_get_element_size(filled), 4);
    CTS_EQ(t, khal_buffer_get_element_size(zeroed), 1);
    CTS_EQ(t, khal_buffer_get_usage(filled), KHAL_USAGE_STORAGE | KHAL_USAGE_COPY_SRC | KHAL_USAGE_COPY_DST);
    CTS_CHECK(t, strcmp(khal_buffer_get_label(filled), "filled") == 0);
    CTS_CHECK(t, strcmp(khal_buffer_get_label(zeroed), "") == 0);
    CTS_CHECK(t, khal_buffer_get_device(filled) == cts_device(t));
}

/* Memory of pools is used again: it must be zero again. */
static void zeroed_after_reuse(cts* t)
{
    uint8_t dirty[4096];
    memset(dirty, 0xaa, sizeof dirty);
    for (int round = 0; round < 200; round++) {
        khal_buffer* buffer = NULL;
        uint64_t size = 1 + cts_random_below(t, 4095);
        uint8_t back[4096];
        if (!CTS_OK(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = size}, &buffer))) return;
        bool ok = cts_read(t, buffer, back, size);
        for (uint64_t i = 0; ok && i < size; i++)
            if (back[i] != 0) ok = cts_fail(t, __FILE__, __LINE__, "round %d: byte %llu of %llu is 0x%02x", round, (unsigned long long)i, (unsigned long long)size, back[i]);
        ok = ok && CTS_OK(t, khal_buffer_write(buffer, 0, dirty, size));
        khal_buffer_release(buffer);
        if (!ok) return;
    }
}

static void refused_descs(cts* t)
{
    khal_buffer* none = NULL;
    uint8_t data[16] = {0};
    CTS_ERROR(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = 10, .element_size = 4}, &none), KHAL_ERROR_BUFFER_ELEMENT_SIZE);
    CTS_ERROR(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = 16, .usage = 1u << 30}, &none), KHAL_ERROR_BUFFER_USAGE_FLAGS);
    CTS_ERROR(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = 16, .data = data, .uninitialized = true}, &none), KHAL_ERROR_BUFFER_DATA);
    CTS_ERROR(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = UINT64_MAX}, &none), KHAL_ERROR_BUFFER_SIZE);
    CTS_ERROR(t, khal_buffer_create(NULL, &(khal_buffer_desc){.size = 16}, &none), KHAL_ERROR_ARGUMENT_NULL);
    CTS_CHECK(t, none == NULL);
}

static void size_zero(cts* t)
{
    khal_buffer *empty = cts_buffer(t, .size = 0), *other = cts_buffer(t, .size = 0, .element_size = 4), *full = cts_buffer_of(t, NULL, 64, 4);
    CTS_OK(t, khal_buffer_write(empty, 0, NULL, 0));
    CTS_OK(t, khal_buffer_read(empty, 0, NULL, 0, KHAL_FOREVER));
    CTS_OK(t, khal_buffer_write(full, 64, NULL, 0));
    CTS_OK(t, khal_buffer_read(full, 64, NULL, 0, KHAL_FOREVER));
    CTS_EQ(t, khal_slice_get_size(khal_slice_all(empty)), 0);
    khal_slice slice;
    CTS_OK(t, khal_slice_range(full, 16, 0, &slice));
    CTS_OK(t, khal_slice_range(empty, 0, 0, &slice));
    khal_encoder* encoder = cts_encoder(t);
    CTS_OK(t, khal_encoder_copy(encoder, khal_slice_all(empty), khal_slice_all(other)));
    CTS_OK(t, khal_encoder_fill(encoder, khal_slice_all(empty), "x", 1));
    khal_pass* pass = cts_pass(t, encoder);
    /* bound where nothing is touched: the grid is empty */
    cts_record(t, pass, .library = &workitem_library, .kernel = "copy", .grid = khal_threads(0, 1, 1), .buffers = {other, full});
    CTS_OK(t, khal_pass_end(pass));
    cts_submit_and_wait(t, encoder);
    khal_readback* readback = NULL;
    if (CTS_OK(t, khal_readback_create(cts_device(t), &(khal_readback_desc){.capacity_count = 0}, &readback))) {
        cts_own_readback(t, readback);
        const khal_slice none = khal_slice_all(empty);
        CTS_OK(t, khal_readback_request(readback, &none, 1));
        khal_status status;
        while ((status = khal_readback_try_take(readback, NULL, 0)) == KHAL_NOT_READY) {}
        CTS_STATUS(t, status, KHAL_OK);
    }
}

static void read_and_write_any_range(cts* t)
{
    enum { SIZE = 4099 };
    uint8_t* expected = cts_alloc(t, SIZE);
    uint8_t data[300], back[300];
    khal_buffer* buffer = cts_buffer(t, .size = SIZE);
    for (int round = 0; round < 400; round++) {
        const uint32_t size = round % 5 == 0 ? 1 : cts_random_below(t, 300), offset = cts_random_below(t, SIZE - size + 1);
        for (uint32_t i = 0; i < size; i++) data[i] = (uint8_t)cts_random(t);
        memcpy(expected + offset, data, size);
        if (!CTS_OK(t, khal_buffer_write(buffer, offset, data, size))) return;
        const uint32_t read_size = round % 3 == 0 ? 1 : cts_random_below(t, 300), read_offset = cts_random_below(t, SIZE - read_size + 1);
        if (!CTS_OK(t, khal_buffer_read(buffer, read_offset, back, read_size, KHAL_FOREVER))) return;
        if (!CTS_SAME(t, back, expected + read_offset, read_size, 1)) return;
    }
    CTS_SAME(t, cts_read_all(t, buffer), expected, SIZE, 1);
    CTS_ERROR(t, khal_buffer_read(buffer, SIZE, back, 1, KHAL_FOREVER), KHAL_ERROR_BUFFER_RANGE);
    CTS_ERROR(t, khal_buffer_write(buffer, SIZE - 3, data, 4), KHAL_ERROR_BUFFER_RANGE);
    CTS_ERROR(t, khal_buffer_read(buffer, UINT64_MAX - 1, back, 4, KHAL_FOREVER), KHAL_ERROR_BUFFER_RANGE);
    CTS_ERROR(t, khal_buffer_write(buffer, 4, data, UINT64_MAX - 2), KHAL_ERROR_BUFFER_RANGE);
}

/* A read costs the bytes asked for: a byte of a large buffer takes no longer than one of a small buffer. */
static void small_read_of_a_large_buffer(cts* t)
{
    const uint64_t most = cts_info(t)->limits.buffer_size;
    const uint64_t size = most < 256u << 20 ? most : 256u << 20;
    khal_buffer* large = cts_buffer(t, .size = size, .uninitialized = true);
    uint8_t byte = 9;
    CTS_OK(t, khal_buffer_write(large, size - 1, &byte, 1));
    byte = 0;
    const uint64_t begin = cts_now();
    for (int i = 0; i < 20; i++) CTS_OK(t, khal_buffer_read(large, size - 1, &byte, 1, KHAL_FOREVER));
    const double ms = (double)(cts_now() - begin) * 1e-6 / 20;
    CTS_EQ(t, byte, 9);
    cts_note(t, "%.4f ms a byte", ms);
    if (ms > 20) cts_fail(t, __FILE__, __LINE__, "a byte read from 256 MiB takes %.1f ms: the whole buffer is copied", ms);
}

static void map(cts* t)
{
    enum { COUNT = 1024 };
    const bool persistent = cts_has(t, KHAL_FEATURE_PERSISTENT_MAP);
    khal_buffer* buffer = cts_buffer(t, .size = COUNT * 4, .element_size = 4, .usage = KHAL_USAGE_MAP_READ | KHAL_USAGE_MAP_WRITE | KHAL_USAGE_STORAGE);
    void* memory = NULL;
    if (!CTS_OK(t, khal_buffer_map(buffer, 0, COUNT * 4, KHAL_MAP_READ | KHAL_MAP_WRITE, KHAL_FOREVER, &memory))) return;
    CTS_CHECK(t, (uintptr_t)memory % 16 == 0);
    uint32_t* words = memory;
    for (uint32_t i = 0; i < COUNT; i++) words[i] = i;
    CTS_ERROR(t, khal_buffer_map(buffer, 0, 4, KHAL_MAP_READ, KHAL_FOREVER, &memory), KHAL_ERROR_BUFFER_MAPPED);
    if (!persistent) CTS_OK(t, khal_buffer_flush(buffer, 0, COUNT * 4));
    /* it stays mapped while it is submitted */
    for (int round = 0; round < 3; round++) {
        if (!cts_run(t, .library = &workitem_library, .kernel = "add_one", .grid = khal_threads(COUNT, 1, 1), .buffers = {buffer})) return;
        CTS_OK(t, khal_buffer_invalidate(buffer, 0, COUNT * 4, KHAL_FOREVER));
        for (uint32_t i = 0; i < COUNT; i++)
            if (words[i] != i + (uint32_t)round + 1) { cts_fail(t, __FILE__, __LINE__, "mapped word %u: expected %u, got %u", i, i + (uint32_t)round + 1, words[i]); break; }
    }
    words[5] = 1000;
    CTS_ERROR(t, khal_buffer_flush(buffer, COUNT * 4, 4), KHAL_ERROR_BUFFER_RANGE);
    CTS_OK(t, khal_buffer_unmap(buffer)); /* flushes */
    uint32_t value = 0;
    CTS_OK(t, khal_buffer_read(buffer, 20, &value, 4, KHAL_FOREVER));
    CTS_EQ(t, value, 1000);
    CTS_ERROR(t, khal_buffer_unmap(buffer), KHAL_ERROR_BUFFER_NOT_MAPPED);
    CTS_ERROR(t, khal_buffer_flush(buffer, 0, 4), KHAL_ERROR_BUFFER_NOT_MAPPED);
    if (CTS_OK(t, khal_buffer_map(buffer, 16, 0, KHAL_MAP_READ, KHAL_FOREVER, &memory))) {
        CTS_CHECK(t, memory == NULL);
        CTS_OK(t, khal_buffer_unmap(buffer));
    }
    khal_buffer* unmappable = cts_buffer(t, .size = 64);
    CTS_ERROR(t, khal_buffer_map(unmappable, 0, 64, KHAL_MAP_READ, KHAL_FOREVER, &memory), KHAL_ERROR_BUFFER_USAGE);
    khal_buffer* readable = cts_buffer(t, .size = 64, .usage = KHAL_USAGE_MAP_READ | KHAL_USAGE_COPY_DST);
    CTS_ERROR(t, khal_buffer_map(readable, 0, 64, KHAL_MAP_WRITE, KHAL_FOREVER, &memory), KHAL_ERROR_BUFFER_USAGE);
    CTS_ERROR(t, khal_buffer_map(readable, 32, 33, KHAL_MAP_READ, KHAL_FOREVER, &memory), KHAL_ERROR_BUFFER_RANGE);
    CTS_ERROR(t, khal_buffer_map(readable, 0, 64, 0, KHAL_FOREVER, &memory), KHAL_ERROR_ARGUMENT_VALUE);
}

static void host_memory(cts* t)
{
    enum { COUNT = 1000 };
    uint32_t* words = aligned_alloc(64, 4096);
    khal_buffer* buffer = NULL;
    if (words == NULL) return;
    for (uint32_t i = 0; i < COUNT; i++) words[i] = i * 2;
    if (CTS_OK(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = COUNT * 4, .element_size = 4, .host_memory = words}, &buffer))) {
        if (cts_run(t, .library = &workitem_library, .kernel = "add_one", .grid = khal_threads(COUNT, 1, 1), .buffers = {buffer}))
            for (uint32_t i = 0; i < COUNT; i++)
                if (words[i] != 2 * i + 1) { cts_fail(t, __FILE__, __LINE__, "word %u: expected %u, got %u", i, 2 * i + 1, words[i]); break; }
        khal_buffer_release(buffer);
    }
    khal_buffer* none = NULL;
    CTS_ERROR(t, khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = 16, .host_memory = (char*)words + 4}, &none), KHAL_ERROR_BUFFER_HOST_MEMORY);
    CTS_OK(t, khal_device_wait(cts_device(t), KHAL_FOREVER));
    free(words);
}

static void copy_and_fill(cts* t)
{
    enum { SIZE = 1024 };
    uint8_t expected[SIZE], other[SIZE];
    for (int i = 0; i < SIZE; i++) expected[i] = other[i] = (uint8_t)(i * 7);
    khal_buffer *a = cts_buffer_of(t, expected, SIZE, 1), *b = cts_buffer_of(t, NULL, SIZE, 1);
    khal_encoder* encoder = cts_encoder(t);
    /* odd offsets and sizes, then within one buffer */
    CTS_OK(t, khal_encoder_copy(encoder, (khal_slice){a, 3, 501, 1}, (khal_slice){b, 7, 501, 1}));
    CTS_OK(t, khal_encoder_copy(encoder, (khal_slice){a, 0, 100, 1}, (khal_slice){a, 100, 100, 1}));
    CTS_OK(t, khal_encoder_copy(encoder, (khal_slice){a, 1000, UINT64_MAX, 1}, (khal_slice){b, 1000, 24, 1}));
    memcpy(expected + 100, expected, 100);
    uint8_t target[SIZE] = {0};
    memcpy(target + 7, other + 3, 501);
    memcpy(target + 1000, other + 1000, 24);
    /* every size of pattern */
    static const uint8_t pattern[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const uint32_t sizes[] = {1, 2, 4, 8, 16};
    for (int p = 0; p < 5; p++) {
        CTS_OK(t, khal_encoder_fill(encoder, (khal_slice){a, 320u + (uint32_t)p * 128, 80, 1}, pattern, sizes[p]));
        for (int i = 0; i < 80; i++) expected[320 + p * 128 + i] = pattern[(uint32_t)i % sizes[p]];
    }
    CTS_OK(t, khal_encoder_fill(encoder, (khal_slice){b, 513, 3, 1}, pattern + 4, 1));
    memset(target + 513, 5, 3);
    if (!cts_submit_and_wait(t, encoder)) return;
    CTS_SAME(t, cts_read_all(t, a), expected, SIZE, 1);
    CTS_SAME(t, cts_read_all(t, b), target, SIZE, 1);

    static const struct { khal_error_id id; uint64_t from, from_size, to, to_size; } wrong[] = {
        {KHAL_ERROR_COPY_SIZE, 0, 10, 20, 11}, {KHAL_ERROR_COPY_OVERLAP, 0, 10, 9, 10}, {KHAL_ERROR_COPY_OVERLAP, 5, 10, 5, 10},
        {KHAL_ERROR_SLICE_RANGE, 1000, 25, 0, 25}, {KHAL_ERROR_SLICE_RANGE, 0, 30, 1000, 30}, {KHAL_ERROR_SLICE_RANGE, UINT64_MAX - 1, 8, 0, 8},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CTS_ERROR(t, khal_encoder_copy(encoder, (khal_slice){a, wrong[i].from, wrong[i].from_size, 1}, (khal_slice){a, wrong[i].to, wrong[i].to_size, 1}), wrong[i].id);
        khal_encoder_reset(encoder);
    }
    CTS_ERROR(t, khal_encoder_fill(encoder, (khal_slice){a, 0, 10, 1}, pattern, 4), KHAL_ERROR_FILL_PATTERN);
    khal_encoder_reset(encoder);
    CTS_ERROR(t, khal_encoder_fill(encoder, (khal_slice){a, 0, 12, 1}, pattern, 3), KHAL_ERROR_FILL_PATTERN);
    khal_encoder_reset(encoder);
    khal_buffer* storage = cts_buffer(t, .size = 64, .usage = KHAL_USAGE_STORAGE);
    CTS_ERROR(t, khal_encoder_copy(encoder, khal_slice_all(storage), (khal_slice){a, 0, 64, 1}), KHAL_ERROR_BUFFER_USAGE);
    khal_encoder_reset(encoder);
    CTS_ERROR(t, khal_encoder_fill(encoder, khal_slice_all(storage), pattern, 4), KHAL_ERROR_BUFFER_USAGE);
    khal_encoder_reset(encoder);
    /* the host's own read and write need no flag */
    uint32_t word = 5;
    CTS_OK(t, khal_buffer_write(storage, 0, &word, 4));
    word = 0;
    CTS_OK(t, khal_buffer_read(storage, 0, &word, 4, KHAL_FOREVER));
    CTS_EQ(t, word, 5);
}

/* 64-bit sizes stay 64-bit: a buffer of more than 4 GiB, read and written behind the 4 GiB. */
static void beyond_4_gib(cts* t)
{
    const uint64_t size = (4ull << 30) + 4096;
    if (cts_info(t)->limits.buffer_size < size) {
        cts_skip(t, "the device's buffers are smaller");
        return;
    }
    khal_buffer* buffer = NULL;
    const khal_status status = khal_buffer_create(cts_device(t), &(khal_buffer_desc){.size = size, .element_size = 4, .uninitialized = true}, &buffer);
    if (status == KHAL_OUT_OF_MEMORY) {
        cts_skip(t, "not enough memory for a buffer of 4 GiB");
        return;
    }
    if (!CTS_STATUS(t, status, KHAL_OK)) return;
    cts_own_buffer(t, buffer);
    uint32_t low = 1, high = 2;
    CTS_OK(t, khal_buffer_write(buffer, 0, &low, 4));
    CTS_OK(t, khal_buffer_write(buffer, 4ull << 30, &high, 4));
    khal_function* function = cts_function(t, &workitem_library, "add_one");
    khal_encoder* encoder = cts_encoder(t);
    khal_pass* pass = cts_pass(t, encoder);
    const khal_slice slice = {buffer, 4ull << 30, 16, 4};
    CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(1, 1, 1), .bindings = &slice, .binding_count = 1}, NULL));
    CTS_OK(t, khal_pass_end(pass));
    cts_submit_and_wait(t, encoder);
    CTS_OK(t, khal_buffer_read(buffer, 0, &low, 4, KHAL_FOREVER));
    CTS_OK(t, khal_buffer_read(buffer, 4ull << 30, &high, 4, KHAL_FOREVER));
    CTS_EQ(t, low, 1);
    CTS_EQ(t, high, 3);
}

void cts_suite_api_buffers(cts_registry* registry)
{
    CTS_ADD(registry, create_forms);
    CTS_ADD(registry, zeroed_after_reuse);
    CTS_ADD(registry, refused_descs);
    CTS_ADD(registry, size_zero);
    CTS_ADD(registry, read_and_write_any_range);
    CTS_ADD(registry, small_read_of_a_large_buffer);
    CTS_ADD(registry, map);
    cts_add(registry, "host_memory", host_memory, NULL, KHAL_FEATURE_HOST_MEMORY);
    CTS_ADD(registry, copy_and_fill);
    CTS_ADD(registry, beyond_4_gib);
}

/* ---- slices -------------------------------------------------------------------------------------- */

static void slice_values(cts* t)
{
    khal_buffer* buffer = cts_buffer(t, .size = 120, .element_size = 4);
    khal_slice s, sub, other;
    CTS_EQ(t, khal_slice_get_count(khal_slice_all(buffer)), 30);
    if (!CTS_OK(t, khal_slice_range(buffer, 5, 20, &s))) return;
    CTS_EQ(t, s.offset, 20);
    CTS_EQ(t, khal_slice_get_size(s), 80);
    if (!CTS_OK(t, khal_slice_sub(s, 3, 10, &sub))) return;
    CTS_EQ(t, sub.offset, 32);
    CTS_EQ(t, khal_slice_get_count(sub), 10);
    if (CTS_OK(t, khal_slice_reinterpret(sub, 8, &other))) CTS_EQ(t, khal_slice_get_count(other), 5);
    if (CTS_OK(t, khal_slice_reinterpret(sub, 1, &other))) CTS_EQ(t, khal_slice_get_count(other), 40);
    CTS_ERROR(t, khal_slice_range(buffer, 5, 26, &s), KHAL_ERROR_SLICE_RANGE);
    CTS_ERROR(t, khal_slice_range(buffer, UINT64_MAX / 4, 2, &s), KHAL_ERROR_SLICE_RANGE);
    CTS_ERROR(t, khal_slice_range(buffer, 1, UINT64_MAX, &s), KHAL_ERROR_SLICE_RANGE);
    CTS_ERROR(t, khal_slice_sub(sub, 5, 6, &s), KHAL_ERROR_SLICE_RANGE);
    CTS_ERROR(t, khal_slice_reinterpret(sub, 16, &other), KHAL_ERROR_SLICE_ELEMENT_SIZE);
    khal_slice at_four = {buffer, 4, 16, 4};
    CTS_ERROR(t, khal_slice_reinterpret(at_four, 8, &other), KHAL_ERROR_SLICE_ALIGNMENT);
    CTS_ERROR(t, khal_slice_range(NULL, 0, 0, &s), KHAL_ERROR_SLICE_NULL);
    CTS_EQ(t, khal_slice_get_size(khal_slice_all(NULL)), 0);
    CTS_EQ(t, khal_slice_get_size(khal_slice_uint_range(buffer, UINT64_MAX, UINT64_MAX).slice), 0);
    CTS_EQ(t, khal_slice_get_size(khal_slice_double_range(buffer, 1, 2).slice), 16);
}

/* Any element offset may be bound, whatever the device's offset alignment. */
static void any_offset_binds(cts* t)
{
    enum { COUNT = 64 };
    khal_function* function = cts_function(t, &workitem_library, "copy");
    khal_function* bytes = cts_function(t, &workitem_library, "fill_bytes");
    uint32_t in[COUNT], expected[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) in[i] = i + 1000;
    khal_buffer* from = cts_buffer_of(t, in, sizeof in, 4);
    for (uint64_t offset = 0; offset < 20; offset++) {
        khal_buffer* to = cts_buffer_of(t, NULL, sizeof in, 4);
        khal_encoder* encoder = cts_encoder(t);
        khal_pass* pass = cts_pass(t, encoder);
        const uint64_t to_offset = (offset * 7) % 20;
        const khal_slice slices[2] = {{from, offset * 4, 20 * 4, 4}, {to, to_offset * 4, 20 * 4, 4}};
        CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(20, 1, 1), .bindings = slices, .binding_count = 2}, NULL));
        CTS_OK(t, khal_pass_end(pass));
        if (!cts_submit_and_wait(t, encoder)) return;
        memset(expected, 0, sizeof expected);
        memcpy(expected + to_offset, in + offset, 80);
        if (!CTS_SAME(t, cts_read_all(t, to), expected, sizeof expected, 4)) return;
    }
    for (uint64_t offset = 1; offset < 40; offset += 3) { /* bytes at odd offsets */
        uint8_t mark[64] = {0};
        khal_buffer* to = cts_buffer_of(t, NULL, 64, 1);
        khal_encoder* encoder = cts_encoder(t);
        khal_pass* pass = cts_pass(t, encoder);
        const khal_slice slice = {to, offset, 11, 1};
        const uint32_t value = 100;
        CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = bytes, .grid = khal_threads(11, 1, 1), .bindings = &slice, .binding_count = 1,
                                                                 .push_constants = &value, .push_constant_size = 4}, NULL));
        CTS_OK(t, khal_pass_end(pass));
        if (!cts_submit_and_wait(t, encoder)) return;
        for (uint32_t i = 0; i < 11; i++) mark[offset + i] = (uint8_t)(100 + i);
        if (!CTS_SAME(t, cts_read_all(t, to), mark, 64, 1)) return;
    }
}

void cts_suite_api_slices(cts_registry* registry)
{
    CTS_ADD(registry, slice_values);
    CTS_ADD(registry, any_offset_binds);
}

/* ---- modules ------------------------------------------------------------------------------------- */

static void library_kernels(cts* t)
{
    khal_module* module = cts_module(t, &workitem_library);
    if (module == NULL) return;
    const uint32_t count = khal_module_get_kernel_count(module);
    CTS_EQ(t, count, workitem_library.kernel_count);
    for (uint32_t i = 0; i < count; i++) {
        khal_function* function = NULL;
        const char* name = khal_module_get_kernel_name(module, i);
        CTS_CHECK(t, strcmp(name, workitem_library.kernels[i].name) == 0);
        const khal_function_desc desc = {.entry_point = name};
        if ((workitem_library.kernels[i].flags & KHAL_KERNEL_HAS_FP64) != 0 && (cts_info(t)->features & KHAL_FEATURE_FP64) == 0) {
            CTS_ERROR(t, khal_function_create(module, &desc, &function), KHAL_ERROR_FUNCTION_LIMIT);
            continue;
        }
        if (!CTS_OK(t, khal_function_create(module, &desc, &function))) continue;
        CTS_CHECK(t, strcmp(khal_function_get_info(function)->name, name) == 0);
        khal_function_release(function);
    }
    CTS_CHECK(t, khal_module_get_kernel_name(module, count) == NULL);
}

static void reflection(cts* t)
{
    khal_function* function = cts_function(t, &workitem_library, "add_assign");
    if (function == NULL) return;
    const khal_kernel_info* info = khal_function_get_info(function);
    CTS_EQ(t, info->arg_count, 3);
    CTS_EQ(t, info->binding_count, 2);
    CTS_EQ(t, info->push_constant_size, 4);
    CTS_EQ(t, info->args[0].kind, KHAL_ARG_BUFFER);
    CTS_EQ(t, info->args[0].access, KHAL_ACCESS_READ | KHAL_ACCESS_WRITE);
    CTS_EQ(t, info->args[1].access, KHAL_ACCESS_READ);
    CTS_EQ(t, info->args[1].index, 1);
    CTS_EQ(t, info->args[2].kind, KHAL_ARG_VALUE);
    CTS_EQ(t, info->args[0].element_size, 4);
    CTS_CHECK(t, strcmp(info->args[1].name, "b") == 0);
    CTS_EQ(t, info->workgroup_size[0], 0);
    CTS_EQ(t, info->flags & KHAL_KERNEL_HAS_BARRIER, 0);
    khal_function* fixed = cts_function(t, &workitem_library, "fixed_size");
    if (fixed != NULL) CTS_EQ(t, khal_function_get_info(fixed)->workgroup_size[1], 4);
    khal_function* local = cts_function(t, &workitem_library, "needs_local");
    if (local == NULL) return;
    CTS_EQ(t, khal_function_get_info(local)->local_count, 1);
    CTS_CHECK(t, (khal_function_get_info(local)->flags & KHAL_KERNEL_HAS_BARRIER) != 0);
}

static void module_errors(cts* t)
{
    khal_module* none = NULL;
    khal_function* no_function = NULL;
    khal_device* device = cts_device(t);
    CTS_ERROR(t, khal_module_load(device, &(khal_module_desc){0}, &none), KHAL_ERROR_MODULE_DESC);
    CTS_ERROR(t, khal_module_load(device, &(khal_module_desc){.code = "abcdefgh", .code_size = 8}, &none), KHAL_ERROR_MODULE_FORMAT);
    CTS_ERROR(t, khal_module_load(device, &(khal_module_desc){.code = "x", .code_size = 0}, &none), KHAL_ERROR_MODULE_DESC);
    CTS_ERROR(t, khal_module_load(device, &(khal_module_desc){.library = &workitem_library, .code = "x", .code_size = 1}, &none), KHAL_ERROR_MODULE_DESC);
    khal_kernel_library future = workitem_library;
    future.version = 1000;
    CTS_ERROR(t, khal_module_load(device, &(khal_module_desc){.library = &future}, &none), KHAL_ERROR_MODULE_VERSION);
    khal_kernel_library bare = workitem_library;
    bare.code_count = 0;
    CTS_ERROR(t, khal_module_load(device, &(khal_module_desc){.library = &bare}, &none), KHAL_ERROR_MODULE_NO_CODE);
    CTS_CHECK(t, none == NULL);
    khal_module* module = cts_module(t, &workitem_library);
    CTS_ERROR(t, khal_function_create(module, &(khal_function_desc){.entry_point = "not_there"}, &no_function), KHAL_ERROR_ENTRY_POINT);
    CTS_CHECK(t, strstr(khal_error_get()->message, "add_assign") != NULL || strstr(khal_error_get()->message, "ids") != NULL); /* lists those that exist */
    CTS_ERROR(t, khal_function_create(module, NULL, &no_function), KHAL_ERROR_ENTRY_POINT); /* more than one kernel */
    const khal_specialization constant = {.id = 3, .size = 4, .data = "abc"};
    CTS_ERROR(t, khal_function_create(module, &(khal_function_desc){.entry_point = "add", .specializations = &constant, .specialization_count = 1}, &no_function),
              KHAL_ERROR_SPECIALIZATION);
    const khal_binding_desc binding = {.kind = KHAL_ARG_CONSTANT};
    CTS_ERROR(t, khal_function_create(module, &(khal_function_desc){.entry_point = "add", .bindings = &binding, .binding_count = 1}, &no_function),
              KHAL_ERROR_FUNCTION_LAYOUT);
    CTS_CHECK(t, no_function == NULL);
}

static void same_module_again(cts* t)
{
    khal_module *a = NULL, *b = NULL;
    if (CTS_OK(t, khal_module_load(cts_device(t), &(khal_module_desc){.library = &workitem_library}, &a)) &&
        CTS_OK(t, khal_module_load(cts_device(t), &(khal_module_desc){.library = &workitem_library}, &b)))
        CTS_CHECK(t, a == b);
    khal_module_release(a);
    khal_module_release(b);
}

static void load_in_steps(cts* t)
{
    khal_module* module = NULL;
    if (!CTS_OK(t, khal_module_load_begin(cts_device(t), &(khal_module_desc){.library = &workitem_library}, &module))) return;
    khal_function* function = NULL;
    if (CTS_OK(t, khal_function_create_begin(module, &(khal_function_desc){.entry_point = "add"}, &function))) {
        khal_status status;
        while ((status = khal_module_load_poll(module)) == KHAL_NOT_READY) {}
        CTS_STATUS(t, status, KHAL_OK);
        while ((status = khal_function_create_poll(function)) == KHAL_NOT_READY) {}
        CTS_STATUS(t, status, KHAL_OK);
        khal_function_release(function);
    }
    khal_module_release(module);
}

static bool is_named(const char* text) { return text != NULL && text[0] != 0 && strcmp(text, "unknown") != 0; }

/* Each device takes some format; all others, and rubbish, are refused with a message that says what came. */
static void foreign_code(cts* t)
{
    static const uint32_t spirv[5] = {0x07230203, 0x00010000, 0, 1, 0};
    static const struct { const void* bytes; size_t size; khal_format format; } codes[] = {
        {spirv, sizeof spirv, KHAL_FORMAT_SPIRV}, {"@compute @workgroup_size(1) fn main() {}", 40, KHAL_FORMAT_WGSL},
        {".version 7.0\n.target sm_70\n.address_size 64\n", 44, KHAL_FORMAT_PTX}, {"\x7f" "ELF\x02\x01\x01", 8, KHAL_FORMAT_CUBIN},
        {"#include <metal_stdlib>\nkernel void k() {}", 42, KHAL_FORMAT_MSL}, {"\0\0\0\0", 4, KHAL_FORMAT_NONE}, {"\xff\xfe\xfd", 3, KHAL_FORMAT_NONE},
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].format != KHAL_FORMAT_NONE && (cts_info(t)->formats & (1u << codes[i].format)) != 0) continue;
        khal_module* none = NULL;
        CTS_ERROR(t, khal_module_load(cts_device(t), &(khal_module_desc){.code = codes[i].bytes, .code_size = codes[i].size}, &none), KHAL_ERROR_MODULE_FORMAT);
        CTS_CHECK(t, is_named(khal_error_get()->message));
    }
}

/* PTX of the program's own: out[i] = in[i] * scale + pair.x + pair.y, with parameters of every kind. */
#define PTX_HEAD ".version 6.3\n.target sm_75\n.address_size 64\n"
static const char foreign_text[] = PTX_HEAD
    ".visible .entry axpy(.param .u64 in, .param .u16 scale, .param .align 4 .b8 pair[8], .param .u64 out)\n"
    ".reqntid 32, 1, 1\n"
    "{\n"
    "  .reg .b32 %r<9>; .reg .b64 %d<6>; .reg .b16 %h;\n"
    "  ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; ld.param.u16 %h, [scale];\n"
    "  ld.param.u32 %r1, [pair]; ld.param.u32 %r2, [pair+4];\n"
    "  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r3, %r3, %r4, %r5;\n"
    "  mul.wide.u32 %d3, %r3, 4;\n"
    "  cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
    "  ld.global.u32 %r6, [%d1]; cvt.u32.u16 %r7, %h; mad.lo.u32 %r6, %r6, %r7, %r1; add.u32 %r6, %r6, %r2;\n"
    "  st.global.u32 [%d2], %r6;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry open(.param .u64 out) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [out]; cvta.to.global.u64 %d, %d; mov.u32 %r, %ntid.x; "
    "st.global.u32 [%d], %r; ret; }\n";

static void foreign_ptx(cts* t)
{
    enum { COUNT = 96 };
    if ((cts_info(t)->formats & (1u << KHAL_FORMAT_PTX)) == 0) {
        cts_skip(t, "the device takes no PTX");
        return;
    }
    if (strcmp(cts_info(t)->name, "Stand-in") == 0) {
        cts_skip(t, "the tests' own driver runs kernels of libraries alone");
        return;
    }
    khal_module* module = NULL;
    khal_function *function = NULL, *open = NULL, *none = NULL;
    /* without the text's final 0 */
    if (!CTS_OK(t, khal_module_load(cts_device(t), &(khal_module_desc){.code = foreign_text, .code_size = sizeof foreign_text - 1}, &module))) return;
    CTS_EQ(t, khal_module_get_kernel_count(module), 2);
    const khal_binding_desc bindings[2] = {{.binding = 3}, {.binding = 0, .access = KHAL_ACCESS_READ}}, first = {.binding = 0, .access = KHAL_ACCESS_WRITE};
    khal_function_desc desc = {.entry_point = "axpy", .bindings = bindings, .binding_count = 2, .push_constant_size = 12};
    CTS_ERROR(t, khal_function_create(module, &(khal_function_desc){.entry_point = "axpy"}, &none), KHAL_ERROR_FUNCTION_LAYOUT);
    CTS_ERROR(t, khal_function_create(module, &(khal_function_desc){.entry_point = "missing"}, &none), KHAL_ERROR_ENTRY_POINT);
    if (CTS_OK(t, khal_function_create(module, &desc, &function)) &&
        CTS_OK(t, khal_function_create(module, &(khal_function_desc){.entry_point = "open", .bindings = &first, .binding_count = 1}, &open))) {
        CTS_EQ(t, khal_function_get_info(function)->workgroup_size[0], 32);
        uint32_t in[COUNT], expected[COUNT];
        const struct { uint16_t scale; uint32_t x, y; } push = {7, 1000, 20000};
        for (uint32_t i = 0; i < COUNT; i++) {
            in[i] = i * i;
            expected[i] = i * i * 7 + 21000;
        }
        khal_buffer *source = cts_buffer_of(t, in, sizeof in, 4), *out = cts_buffer_of(t, NULL, sizeof in, 4), *size = cts_buffer_of(t, NULL, 8, 4);
        khal_encoder* encoder = cts_encoder(t);
        khal_pass* pass = cts_pass(t, encoder);
        if (source != NULL && out != NULL && size != NULL && pass != NULL) {
            const khal_slice slices[2] = {khal_slice_all(out), khal_slice_all(source)}, one = {size, 4, 4, 4};
            CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = function, .grid = khal_threads(COUNT, 1, 1), .bindings = slices, .binding_count = 2,
                                                                     .push_constants = &push, .push_constant_size = sizeof push}, NULL));
            CTS_OK(t, khal_pass_dispatch(pass, &(khal_dispatch_desc){.function = open, .grid = khal_grid_with_workgroup(khal_groups(1, 1, 1), 48, 1, 1), .bindings = &one,
                                                                     .binding_count = 1}, NULL));
            CTS_OK(t, khal_pass_end(pass));
            if (cts_submit_and_wait(t, encoder)) {
                const uint32_t sizes[2] = {0, 48};
                CTS_SAME(t, cts_read_all(t, out), expected, sizeof expected, 4);
                CTS_SAME(t, cts_read_all(t, size), sizes, 8, 4);
            }
        }
    }
    khal_function_release(function);
    khal_function_release(open);
    khal_module_release(module);
    /* What does not assemble is refused with the assembler's words, and what is too new with the version. */
    static const char wrong[] = PTX_HEAD ".visible .entry k() { no_such_instruction; }\n", later[] = ".version 99.0\n.target sm_50\n.address_size 64\n.entry k() { ret; }\n";
    CTS_ERROR(t, khal_module_load(cts_device(t), &(khal_module_desc){.code = wrong, .code_size = sizeof wrong}, &module), KHAL_ERROR_MODULE_COMPILE);
    CTS_CHECK(t, strstr(khal_error_get()->message, "no_such_instruction") != NULL);
    CTS_ERROR(t, khal_module_load(cts_device(t), &(khal_module_desc){.code = later, .code_size = sizeof later}, &module), KHAL_ERROR_MODULE_COMPILE);
    CTS_CHECK(t, strstr(khal_error_get()->message, "99.0") != NULL);
}

void cts_suite_api_modules(cts_registry* registry)
{
    CTS_ADD(registry, library_kernels);
    CTS_ADD(registry, reflection);
    CTS_ADD(registry, module_errors);
    CTS_ADD(registry, same_module_again);
    CTS_ADD(registry, load_in_steps);
    CTS_ADD(registry, foreign_code);
    CTS_ADD(registry, foreign_ptx);
}
