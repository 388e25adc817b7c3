#include "cuda_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/platform/platform.h"

static const char add_ptx[] =
    ".version 6.3\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry add_assign(.param .u64 a, .param .u64 b, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %outside;\n"
    "    .reg .b32 %i, %n, %block, %size;\n"
    "    .reg .b64 %a, %b, %offset;\n"
    "    .reg .f32 %x, %y;\n"
    "    ld.param.u32 %n, [n];\n"
    "    mov.u32 %block, %ctaid.x;\n"
    "    mov.u32 %size, %ntid.x;\n"
    "    mov.u32 %i, %tid.x;\n"
    "    mad.lo.u32 %i, %block, %size, %i;\n"
    "    setp.ge.u32 %outside, %i, %n;\n"
    "    @%outside bra end;\n"
    "    ld.param.u64 %a, [a];\n"
    "    ld.param.u64 %b, [b];\n"
    "    cvta.to.global.u64 %a, %a;\n"
    "    cvta.to.global.u64 %b, %b;\n"
    "    mul.wide.u32 %offset, %i, 4;\n"
    "    add.u64 %a, %a, %offset;\n"
    "    add.u64 %b, %b, %offset;\n"
    "    ld.global.f32 %x, [%a];\n"
    "    ld.global.f32 %y, [%b];\n"
    "    add.f32 %x, %x, %y;\n"
    "    st.global.f32 [%a], %x;\n"
    "end:\n"
    "    ret;\n"
    "}\n";

bool cuda_raw_check(cuda_raw* r, CUresult result, const char* what)
{
    if (result == CUDA_SUCCESS)
        return true;
    if (!r->has_failed) {
        const char* name = "an unknown error";
        r->f.GetErrorName(result, &name);
        fprintf(stderr, "khal-bench: the plain program: %s: %s\n", what, name);
    }
    r->has_failed = true;
    return false;
}

static bool find_functions(cuda_raw* r)
{
    const char* missing = NULL;
#define CUDA_RAW_FIND(name, symbol, parameters)                                                    \
    *(void**)(void*)&r->f.name = khal__library_symbol(r->library, symbol);                         \
    if (!r->f.name)                                                                                \
        missing = symbol;
    CU_OPTIONAL_FUNCTIONS(CUDA_RAW_FIND)
    if (missing) {
        fprintf(stderr, "khal-bench: the driver has no %s, which the plain program needs\n",
                missing);
        return false;
    }
    CU_REQUIRED_FUNCTIONS(CUDA_RAW_FIND)
#undef CUDA_RAW_FIND
    *(void**)(void*)&r->pool.alloc = khal__library_symbol(r->library, "cuMemAllocAsync");
    *(void**)(void*)&r->pool.free = khal__library_symbol(r->library, "cuMemFreeAsync");
    if (missing)
        fprintf(stderr, "khal-bench: the driver has no %s\n", missing);
    return !missing;
}

bool cuda_raw_open(cuda_raw* r, CUdevice device)
{
    const char* name = getenv("KHAL_CUDA_LIBRARY");
    *r = (cuda_raw){.device = device};
    r->library = khal__library_open(name && *name ? name : "libcuda.so.1");
    if (!r->library) {
        fprintf(stderr, "khal-bench: there is no CUDA driver\n");
        return false;
    }
    if (!find_functions(r) || !CUDA_RAW(r, Init(0)) ||
        !CUDA_RAW(r, DriverGetVersion(&r->version)) ||
        !CUDA_RAW(r, DevicePrimaryCtxRetain(&r->context, device))) {
        khal__library_close(r->library);
        r->library = NULL;
        return false;
    }
    cuda_raw_enter(r);
    if (CUDA_RAW(r, StreamCreate(&r->stream, CU_STREAM_NON_BLOCKING)) &&
        CUDA_RAW(r, ModuleLoadDataEx(&r->module, add_ptx, 0, NULL, NULL)))
        CUDA_RAW(r, ModuleGetFunction(&r->add, r->module, "add_assign"));
    cuda_raw_leave(r);
    return !r->has_failed;
}

void cuda_raw_close(cuda_raw* r)
{
    if (!r->library)
        return;
    cuda_raw_enter(r);
    if (r->module)
        r->f.ModuleUnload(r->module);
    if (r->stream)
        r->f.StreamDestroy(r->stream);
    cuda_raw_leave(r);
    r->f.DevicePrimaryCtxRelease(r->device);
    khal__library_close(r->library);
    r->library = NULL;
}

void cuda_raw_enter(cuda_raw* r)
{
    CUDA_RAW(r, CtxPushCurrent(r->context));
}

void cuda_raw_leave(cuda_raw* r)
{
    CUcontext context;
    CUDA_RAW(r, CtxPopCurrent(&context));
}

CUdeviceptr cuda_raw_buffer(cuda_raw* r, size_t size, const void* data)
{
    CUdeviceptr memory = 0;
    if (!CUDA_RAW(r, MemAlloc(&memory, size)))
        return 0;
    if (data)
        CUDA_RAW(r, MemcpyHtoDAsync(memory, data, size, r->stream));
    else
        CUDA_RAW(r, MemsetD8Async(memory, 0, size, r->stream));
    cuda_raw_finish(r);
    return memory;
}

void cuda_raw_launch(cuda_raw* r, CUfunction function, const unsigned grid[2],
                     const unsigned block[2], void** parameters)
{
    CUDA_RAW(r, LaunchKernel(function, grid[0], grid[1], 1, block[0], block[1], 1, 0, r->stream,
                             parameters, NULL));
}

void cuda_raw_finish(cuda_raw* r)
{
    CUDA_RAW(r, StreamSynchronize(r->stream));
}

bool cuda_raw_graph_make(cuda_raw* r, CUfunction function, uint32_t count, bool in_order,
                         void** (*parameters)(void* user, uint32_t i), void* user,
                         cuda_raw_graph* out)
{
    *out = (cuda_raw_graph){.nodes = calloc(count, sizeof(CUgraphNode))};
    bool is_good = out->nodes && CUDA_RAW(r, GraphCreate(&out->graph, 0));
    out->node = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                          .gridDimX = 1,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = 256,
                                          .blockDimY = 1,
                                          .blockDimZ = 1};
    for (uint32_t i = 0; is_good && i < count; i++) {
        const bool has_before = in_order && i > 0;
        out->node.kernelParams = parameters(user, i);
        is_good = CUDA_RAW(r, GraphAddKernelNode(&out->nodes[i], out->graph,
                                                 has_before ? &out->nodes[i - 1] : NULL,
                                                 has_before ? 1 : 0, &out->node));
    }
    return is_good && CUDA_RAW(r, GraphInstantiate(&out->exec, out->graph, 0)) &&
           CUDA_RAW(r, GraphUpload(out->exec, r->stream));
}

void cuda_raw_graph_drop(cuda_raw* r, cuda_raw_graph* graph)
{
    if (graph->exec)
        r->f.GraphExecDestroy(graph->exec);
    if (graph->graph)
        r->f.GraphDestroy(graph->graph);
    free(graph->nodes);
    *graph = (cuda_raw_graph){0};
}

/* A file's bytes with a 0 behind them, which PTX needs; NULL: it can't be read. */
static char* read_file(const char* path)
{
    FILE* file = fopen(path, "rb");
    char* text = NULL;
    if (!file)
        return NULL;
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        text = calloc((size_t)size + 1, 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

CUmodule cuda_raw_module(cuda_raw* r, const char* path)
{
    CUmodule module = NULL;
    char* text = read_file(path);
    if (!text) {
        fprintf(stderr, "khal-bench: %s can't be read\n", path);
        return NULL;
    }
    if (!CUDA_RAW(r, ModuleLoadDataEx(&module, text, 0, NULL, NULL)))
        module = NULL;
    free(text);
    return module;
}
