/* khal on CUDA beside a plain program: what moves between host and device, and what buffers cost.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

#include "kernels.khal.h"

#define SMALL_SIZE ((uint64_t)1024)
#define POLLS_MOST 100000000u

typedef struct transfer {
    cuda_bed* bed;
    khal_buffer* buffer;
    khal_readback* readback;
    CUdeviceptr raw_buffer;
    uint64_t size, offset;
    char* host;   /* pageable */
    char* pinned; /* what the plain program copies from and to */
    CUevent event;
} transfer;

static double read_khal(void* user)
{
    transfer* t = user;
    const double begin = bench_now();
    const bool is_good =
        khal_buffer_read(t->buffer, t->offset, t->host, t->size, KHAL_FOREVER) == KHAL_OK;
    return is_good || bench_failed("a read") ? bench_now() - begin : -1;
}

static double read_raw(void* user)
{
    transfer* t = user;
    cuda_raw* r = &t->bed->raw;
    const double begin = bench_now();
    CUDA_RAW(r, MemcpyDtoHAsync(t->pinned, t->raw_buffer + t->offset, t->size, r->stream));
    cuda_raw_finish(r);
    return bench_now() - begin;
}

/* Until the last bytes can be read back: the write has taken effect. */
static double write_khal(void* user)
{
    transfer* t = user;
    uint32_t last;
    const double begin = bench_now();
    const bool is_good =
        khal_buffer_write(t->buffer, 0, t->host, t->size) == KHAL_OK &&
        khal_buffer_read(t->buffer, t->size - 4, &last, 4, KHAL_FOREVER) == KHAL_OK;
    return is_good || bench_failed("a write") ? bench_now() - begin : -1;
}

static double write_raw(void* user)
{
    transfer* t = user;
    cuda_raw* r = &t->bed->raw;
    const double begin = bench_now();
    CUDA_RAW(r, MemcpyHtoDAsync(t->raw_buffer, t->pinned, t->size, r->stream));
    cuda_raw_finish(r);
    return bench_now() - begin;
}

static double readback_khal(void* user)
{
    transfer* t = user;
    const khal_slice slice = {.buffer = t->buffer, .size = 4};
    uint32_t value, polls = 0;
    const double begin = bench_now();
    khal_status status = khal_readback_request(t->readback, &slice, 1);
    if (status == KHAL_OK)
        do {
            status = khal_readback_try_take(t->readback, &value, 4);
        } while (status == KHAL_NOT_READY && polls++ < POLLS_MOST);
    return status == KHAL_OK || bench_failed("a readback") ? bench_now() - begin : -1;
}

static double readback_raw(void* user)
{
    transfer* t = user;
    cuda_raw* r = &t->bed->raw;
    CUresult result = CUDA_ERROR_NOT_READY;
    const double begin = bench_now();
    CUDA_RAW(r, MemcpyDtoHAsync(t->pinned, t->raw_buffer, 4, r->stream));
    CUDA_RAW(r, EventRecord(t->event, r->stream));
    while (result == CUDA_ERROR_NOT_READY)
        result = r->f.EventQuery(t->event);
    cuda_raw_check(r, result, "EventQuery");
    return bench_now() - begin;
}

static bool small_read(transfer* t, const char* what)
{
    t->size = 4;
    return cuda_measure(
        t->bed, &(cuda_row){.what = what,
                            .unit = "us",
                            .scale = 1e6,
                            .sides = {{NULL, read_khal, t, 0}, {"pinned", read_raw, t, 1.1}}});
}

static bool asynchronous_read(transfer* t)
{
    cuda_raw* r = &t->bed->raw;
    const khal_readback_desc desc = {.capacity_count = 4};
    if (khal_readback_create(t->bed->device, &desc, &t->readback) != KHAL_OK)
        return bench_failed("a readback");
    cuda_raw_enter(r);
    CUDA_RAW(r, EventCreate(&t->event, CU_EVENT_DISABLE_TIMING));
    cuda_raw_leave(r);
    const bool is_good = cuda_measure(
        t->bed,
        &(cuda_row){.what = "read 4 bytes by khal_readback, request and take",
                    .unit = "us",
                    .scale = 1e6,
                    .most = 8,
                    .sides = {{NULL, readback_khal, t, 0}, {"pinned", readback_raw, t, 0}}});
    cuda_raw_enter(r);
    r->f.EventDestroy(t->event);
    cuda_raw_leave(r);
    khal_readback_release(t->readback);
    return is_good;
}

static bool large_transfers(transfer* t)
{
    transfer pageable = *t;
    pageable.pinned = t->host;
    bool is_good = true;
    for (int up = 0; up < 2; up++) {
        char what[80];
        snprintf(what, sizeof what, "%u MiB %s pageable memory", (unsigned)(t->size >> 20),
                 up ? "from" : "to");
        const cuda_run khal = up ? write_khal : read_khal, raw = up ? write_raw : read_raw;
        is_good =
            cuda_measure(t->bed, &(cuda_row){.what = what,
                                             .unit = "GB/s",
                                             .scale = (double)t->size * 1e-9,
                                             .is_rate = true,
                                             .least = 25,
                                             .sides = {{NULL, khal, t, 0},
                                                       {"raw, pinned", raw, t, 0},
                                                       {"raw, pageable", raw, &pageable, 0}}}) &&
            is_good;
    }
    return is_good;
}

/* What comes back is what went there. */
static bool check_transfer(transfer* t)
{
    char* back = malloc(t->size);
    if (!back)
        return false;
    for (uint64_t i = 0; i < t->size / 4; i++)
        ((uint32_t*)(void*)t->host)[i] = (uint32_t)(i * 2654435761u);
    memset(back, 0, t->size);
    bool is_good = (khal_buffer_write(t->buffer, 0, t->host, t->size) == KHAL_OK &&
                    khal_buffer_read(t->buffer, 0, back, t->size, KHAL_FOREVER) == KHAL_OK) ||
                   bench_failed("a transfer");
    if (is_good && memcmp(back, t->host, t->size) != 0) {
        fprintf(stderr, "khal-bench: what was written and read back differs\n");
        is_good = false;
    }
    free(back);
    return is_good;
}

bool cuda_transfer_rows(cuda_bed* bed)
{
    const uint64_t big_size = (uint64_t)(bed->is_small ? 16 : 256) << 20,
                   huge_size = (uint64_t)(bed->is_small ? 64 : 1024) << 20;
    cuda_raw* r = &bed->raw;
    transfer t = {.bed = bed, .host = calloc(1, big_size)};
    khal_buffer *small = NULL, *big = NULL, *huge = NULL;
    void* pinned = NULL;
    CUdeviceptr raw_small, raw_huge;
    if (!t.host)
        return false;
    cuda_raw_enter(r);
    raw_small = cuda_raw_buffer(r, SMALL_SIZE, NULL);
    raw_huge = cuda_raw_buffer(r, huge_size, NULL);
    CUDA_RAW(r, MemHostAlloc(&pinned, big_size, CU_MEMHOSTALLOC_PORTABLE));
    if (pinned)
        memset(pinned, 1, big_size);
    cuda_raw_leave(r);
    bool is_good = !r->has_failed;
    if (is_good &&
        (khal_buffer_create(bed->device, &(khal_buffer_desc){.size = SMALL_SIZE}, &small) !=
             KHAL_OK ||
         khal_buffer_create(bed->device, &(khal_buffer_desc){.size = big_size}, &big) != KHAL_OK ||
         khal_buffer_create(bed->device, &(khal_buffer_desc){.size = huge_size}, &huge) != KHAL_OK))
        is_good = bench_failed("buffers to transfer");
    /* A buffer that was never written might be known to be zero. */
    if (is_good && (khal_buffer_write(small, 0, t.host, SMALL_SIZE) != KHAL_OK ||
                    khal_buffer_write(huge, huge_size / 2, t.host, 4) != KHAL_OK ||
                    khal_device_wait(bed->device, KHAL_FOREVER) != KHAL_OK))
        is_good = bench_failed("writing");
    if (is_good) {
        char what[60];
        t.pinned = pinned;
        t.buffer = small;
        t.raw_buffer = raw_small;
        is_good = small_read(&t, "read 4 bytes of 1 KiB");
        is_good = asynchronous_read(&t) && is_good;
        t.buffer = huge;
        t.raw_buffer = raw_huge;
        t.offset = huge_size / 2;
        snprintf(what, sizeof what, "read 4 bytes of %u MiB", (unsigned)(huge_size >> 20));
        is_good = small_read(&t, what) && is_good;
        t.buffer = big;
        t.offset = 0;
        t.size = big_size;
        is_good = check_transfer(&t) && large_transfers(&t) && is_good;
    }
    khal_buffer_release(small);
    khal_buffer_release(big);
    khal_buffer_release(huge);
    cuda_raw_enter(r);
    if (raw_small)
        r->f.MemFree(raw_small);
    if (raw_huge)
        r->f.MemFree(raw_huge);
    if (pinned)
        r->f.MemFreeHost(pinned);
    cuda_raw_leave(r);
    free(t.host);
    return is_good;
}

/* ---- buffers --------------------------------------------------------------------------------- */

#define BUFFER_SIZE ((size_t)4096)
#define BUFFERS 1000u

typedef struct buffers {
    cuda_bed* bed;
    bool zeroed;
} buffers;

static double create_khal(void* user)
{
    const buffers* b = user;
    const khal_buffer_desc desc = {.size = BUFFER_SIZE, .uninitialized = !b->zeroed};
    const double begin = bench_now();
    for (uint32_t i = 0; i < BUFFERS; i++) {
        khal_buffer* buffer;
        if (khal_buffer_create(b->bed->device, &desc, &buffer) != KHAL_OK) {
            bench_failed("a buffer");
            return -1;
        }
        khal_buffer_release(buffer);
    }
    return bench_now() - begin;
}

static double create_pool(void* user)
{
    const buffers* b = user;
    cuda_raw* r = &b->bed->raw;
    const double begin = bench_now();
    for (uint32_t i = 0; i < BUFFERS; i++) {
        CUdeviceptr memory = 0;
        cuda_raw_check(r, r->pool.alloc(&memory, BUFFER_SIZE, r->stream), "MemAllocAsync");
        if (b->zeroed)
            CUDA_RAW(r, MemsetD8Async(memory, 0, BUFFER_SIZE, r->stream));
        cuda_raw_check(r, r->pool.free(memory, r->stream), "MemFreeAsync");
    }
    const double end = bench_now();
    cuda_raw_finish(r);
    return end - begin;
}

/* A zeroed buffer, a dispatch that adds to it, and its end; until all is done. */
static double use_khal(void* user)
{
    const buffers* b = user;
    cuda_bed* bed = b->bed;
    const khal_buffer_desc desc = {.size = BUFFER_SIZE};
    const double begin = bench_now();
    for (uint32_t i = 0; i < BUFFERS; i++) {
        khal_buffer* buffer;
        khal_pass* pass;
        if (khal_buffer_create(bed->device, &desc, &buffer) != KHAL_OK) {
            bench_failed("a buffer");
            return -1;
        }
        const khal_slice_float all = khal_slice_float_all(buffer);
        khal_pass_begin(bed->encoder, NULL, &pass);
        kernels_add_assign(bed->library, pass, khal_groups(1, 1, 1),
                           &(kernels_add_assign_args){.a = all, .b = all, .n = 0});
        khal_pass_end(pass);
        khal_buffer_release(buffer);
        if (khal_submit(bed->encoder, NULL) != KHAL_OK) {
            bench_failed("a use of a new buffer");
            return -1;
        }
    }
    if (khal_device_wait(bed->device, KHAL_FOREVER) != KHAL_OK) {
        bench_failed("uses of new buffers");
        return -1;
    }
    return bench_now() - begin;
}

static double use_pool(void* user)
{
    const buffers* b = user;
    cuda_raw* r = &b->bed->raw;
    CUdeviceptr memory = 0;
    unsigned n = 0;
    void* parameters[] = {&memory, &memory, &n};
    const double begin = bench_now();
    for (uint32_t i = 0; i < BUFFERS; i++) {
        cuda_raw_check(r, r->pool.alloc(&memory, BUFFER_SIZE, r->stream), "MemAllocAsync");
        CUDA_RAW(r, MemsetD8Async(memory, 0, BUFFER_SIZE, r->stream));
        cuda_raw_launch(r, r->add, (const unsigned[]){1, 1}, (const unsigned[]){256, 1},
                        parameters);
        cuda_raw_check(r, r->pool.free(memory, r->stream), "MemFreeAsync");
    }
    cuda_raw_finish(r);
    return bench_now() - begin;
}

bool cuda_buffer_rows(cuda_bed* bed)
{
    const bool has_pool = bed->raw.pool.alloc && bed->raw.pool.free;
    buffers uninitialized = {bed, false}, zeroed = {bed, true};
    bool is_good = true;
    for (int i = 0; i < 2; i++) {
        buffers* b = i ? &zeroed : &uninitialized;
        is_good =
            cuda_measure(
                bed,
                &(cuda_row){.what = i ? "create and drop a buffer of 4 KiB, zeroed at its first use"
                                      : "create and drop a buffer of 4 KiB, uninitialized",
                            .unit = "us",
                            .scale = 1e6 / BUFFERS,
                            .most = 2,
                            .sides = {{NULL, create_khal, b, 0},
                                      {has_pool ? "cuMemAllocAsync" : NULL, create_pool, b, 0}}}) &&
            is_good;
    }
    const cuda_side pool = {has_pool ? "cuMemAllocAsync" : NULL, use_pool, &zeroed, 0};
    return cuda_measure(
               bed, &(cuda_row){.what = "create a zeroed buffer of 4 KiB, dispatch on it, drop it",
                                .unit = "us",
                                .scale = 1e6 / BUFFERS,
                                .sides = {{NULL, use_khal, &zeroed, 0}, pool}}) &&
           is_good;
}
