/* khal on CUDA beside a plain program: loading a module, by the driver's compiler and from what was
 * compiled before. */
#include "cuda.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels.khal.h"

typedef struct load {
    cuda_bed* bed;
    const char* folder; /* the cache; NULL: a new one each time */
    const void* image;  /* what the plain program loads */
} load;

static int remove_entry(const char* path, const struct stat* status, int type, struct FTW* place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_folder(const char* path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static double load_into(const char* folder)
{
    khal_device* device = NULL;
    kernels* library = NULL;
    const khal_device_desc desc = {.backend = KHAL_BACKEND_CUDA, .cache_path = folder};
    if (khal_device_open(&desc, &device) != KHAL_OK) {
        bench_failed("opening another device");
        return -1;
    }
    const double begin = bench_now();
    const bool is_good = kernels_load(device, &library) == KHAL_OK;
    const double end = bench_now();
    if (!is_good)
        bench_failed("loading the kernels");
    kernels_release(library);
    khal_device_release(device);
    return is_good ? end - begin : -1;
}

static double load_khal(void* user)
{
    const load* l = user;
    char folder[] = "/tmp/khal-bench-XXXXXX";
    if (l->folder)
        return load_into(l->folder);
    if (!mkdtemp(folder)) {
        fprintf(stderr, "khal-bench: a folder for the cache can't be made in /tmp\n");
        return -1;
    }
    const double time = load_into(folder);
    remove_folder(folder);
    return time;
}

static double load_raw(void* user)
{
    const load* l = user;
    cuda_raw* r = &l->bed->raw;
    CUmodule module = NULL;
    const double begin = bench_now();
    const bool is_good = CUDA_RAW(r, ModuleLoadDataEx(&module, l->image, 0, NULL, NULL));
    const double end = bench_now();
    if (is_good)
        r->f.ModuleUnload(module);
    return is_good ? end - begin : -1;
}

static const khal_code* find_ptx(void)
{
    for (uint32_t i = 0; i < kernels_library.code_count; i++)
        if (kernels_library.codes[i].format == KHAL_FORMAT_PTX &&
            !(kernels_library.codes[i].flags & KHAL_CODE_CHECKED))
            return &kernels_library.codes[i];
    return NULL;
}

static void* link_cubin(cuda_raw* r, const khal_code* code)
{
    CUlinkState state = NULL;
    void *cubin = NULL, *copy = NULL;
    size_t size = 0;
    if (!CUDA_RAW(r, LinkCreate(0, NULL, NULL, &state)))
        return NULL;
    if (CUDA_RAW(r, LinkAddData(state, CU_JIT_INPUT_PTX, (void*)(uintptr_t)code->bytes, code->size,
                                "kernels", 0, NULL, NULL)) &&
        CUDA_RAW(r, LinkComplete(state, &cubin, &size)) && (copy = malloc(size)) != NULL)
        memcpy(copy, cubin, size);
    r->f.LinkDestroy(state);
    return copy;
}

static bool measure_loads(cuda_bed* bed, const khal_code* ptx, const void* cubin,
                          const char* folder)
{
    load first = {bed, NULL, ptx->bytes}, cached = {bed, folder, cubin};
    bool is_good = cuda_measure(
        bed, &(cuda_row){.what = "load the kernels' module and functions, first",
                         .unit = "ms",
                         .scale = 1e3,
                         .sides = {{NULL, load_khal, &first, 0},
                                   {"cuModuleLoadDataEx of PTX", load_raw, &first, 0}}});
    return cuda_measure(bed, &(cuda_row){.what = "load them again, from the cache",
                                         .unit = "ms",
                                         .scale = 1e3,
                                         .most = 5,
                                         .sides = {{NULL, load_khal, &cached, 0},
                                                   {"cuModuleLoadDataEx of a cubin", load_raw,
                                                    &cached, 0}}}) &&
           is_good;
}

bool cuda_module_rows(cuda_bed* bed)
{
    const khal_code* ptx = find_ptx();
    char folder[] = "/tmp/khal-bench-XXXXXX";
    if (!ptx) {
        fprintf(stderr, "khal-bench: its kernels were built without PTX\n");
        return false;
    }
    cuda_raw_enter(&bed->raw);
    void* cubin = link_cubin(&bed->raw, ptx);
    cuda_raw_leave(&bed->raw);
    if (!cubin || !mkdtemp(folder)) {
        free(cubin);
        return false;
    }
    const bool is_good = measure_loads(bed, ptx, cubin, folder);
    remove_folder(folder);
    free(cubin);
    return is_good;
}
