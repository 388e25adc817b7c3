/* khal on CUDA beside a plain program: loading a module, by the driver's compiler and from what was
 * compiled before. */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

#include "kernels.khal.h"

typedef struct load {
    cuda_bed* bed;
    const khal_code* code;
    char* text;   /* its PTX, and room for a comment that makes it another one for the driver's cache */
    bool is_first; /* the driver has not seen it yet */
    unsigned* serial;
} load;

static const char* text_of(const load* l)
{
    if (l->is_first)
        snprintf(l->text + l->code->size - 1, 64, "// %u, %.9f\n", ++*l->serial, bench_now());
    return l->text;
}

static double load_khal(void* user)
{
    const load* l = user;
    khal_code code = *l->code;
    khal_kernel_library library = kernels_library;
    code.bytes = text_of(l);
    code.size = strlen(code.bytes) + 1;
    library.codes = &code;
    library.code_count = 1;
    khal_device* device = NULL; /* one of its own: a device gives a library that it has again */
    khal_kernels* kernels = NULL;
    if (khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CUDA}, &device) != KHAL_OK) {
        bench_failed("opening another device");
        return -1;
    }
    const double begin = bench_now();
    const bool is_good = khal_kernels_load(device, &library, &kernels) == KHAL_OK;
    const double end = bench_now();
    if (!is_good)
        bench_failed("loading the kernels");
    khal_kernels_release(kernels);
    khal_device_release(device);
    return is_good ? end - begin : -1;
}

static double load_raw(void* user)
{
    const load* l = user;
    cuda_raw* r = &l->bed->raw;
    CUmodule module = NULL;
    const char* text = text_of(l);
    const double begin = bench_now();
    const bool is_good = CUDA_RAW(r, ModuleLoadDataEx(&module, text, 0, NULL, NULL));
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

bool cuda_module_rows(cuda_bed* bed)
{
    const khal_code* ptx = find_ptx();
    if (!ptx) {
        fprintf(stderr, "khal-bench: its kernels were built without PTX\n");
        return false;
    }
    unsigned serial = 0;
    char* text = malloc(ptx->size + 64);
    if (!text)
        return false;
    memcpy(text, ptx->bytes, ptx->size);
    load first = {bed, ptx, text, true, &serial}, again = {bed, ptx, text, false, &serial};
    bool is_good = cuda_measure(
        bed, &(cuda_row){.what = "load the kernels' module and functions, first",
                         .unit = "ms",
                         .scale = 1e3,
                         .sides = {{NULL, load_khal, &first, 0},
                                   {"cuModuleLoadDataEx", load_raw, &first, 0}}});
    is_good = cuda_measure(bed, &(cuda_row){.what = "load them again, from the driver's cache",
                                            .unit = "ms",
                                            .scale = 1e3,
                                            .most = 5,
                                            .sides = {{NULL, load_khal, &again, 0},
                                                      {"cuModuleLoadDataEx", load_raw, &again, 0}}}) &&
              is_good;
    free(text);
    return is_good;
}
