/* The stand-in for CUDA's driver itself: what is right works, and what is wrong is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cuda/cu_api.h"
#include "cuda/standin.h"
#include "platform/platform.h"

#include <stdlib.h>

static const standin_hooks* hooks;
static cu_functions f;
static CUcontext context;
static CUstream stream;

#define WORKS(call) assert_int_equal(call, CUDA_SUCCESS)

static const char ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                          ".visible .entry add(\n\t.param .u64 add_param_0,\n\t.param .u32 add_param_1,\n"
                          "\t.param .align 8 .b8 add_param_2[32]\n)\n{\n\t.reg .b32 %r<12>;\n\tret;\n}\n"
                          ".visible .entry many(\n)\n.reqntid 8, 4, 1\n{\n\t.reg .b32 %r<200>;\n"
                          "\t.shared .align 4 .b8 tile[1024];\n\tret;\n}\n";

static int set_up(void** state)
{
    (void)state;
    void* library = khal__library_open(STANDIN);
    hooks = library != NULL ? khal__library_symbol(library, "standin") : NULL;
    if (hooks == NULL)
        return -1;
#define LOAD(name, symbol, parameters)                                                                                        \
    {                                                                                                                         \
        void* found = khal__library_symbol(library, symbol);                                                                  \
        if (found == NULL)                                                                                                    \
            return -1;                                                                                                        \
        memcpy(&f.name, &found, sizeof found);                                                                                \
    }
    CU_REQUIRED_FUNCTIONS(LOAD)
    CU_OPTIONAL_FUNCTIONS(LOAD)
#undef LOAD
    hooks->reset();
    WORKS(f.Init(0));
    WORKS(f.DevicePrimaryCtxRetain(&context, 0));
    WORKS(f.CtxPushCurrent(context));
    WORKS(f.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static void tear_down(void)
{
    WORKS(f.StreamDestroy(stream));
    WORKS(f.CtxPopCurrent(NULL));
    WORKS(f.DevicePrimaryCtxRelease(0));
    assert_int_equal(hooks->depth(), 0);
}

static void right_use(void)
{
    tear_down();
    assert_string_equal(hooks->misuse(), "");
    assert_string_equal(hooks->first_live(), "");
    assert_int_equal(hooks->live(), 0);
}

static void streams_run_in_order(void** state)
{
    (void)state;
    CUdeviceptr a = 0;
    char* pinned = NULL;
    CUevent before, after;
    float ms = -1;
    WORKS(f.MemAlloc(&a, 100));
    WORKS(f.MemHostAlloc((void**)&pinned, 100, 0));
    WORKS(f.EventCreate(&before, CU_EVENT_DEFAULT));
    WORKS(f.EventCreate(&after, CU_EVENT_DEFAULT));
    hooks->hold(stream, true);
    WORKS(f.EventRecord(before, stream));
    WORKS(f.MemsetD8Async(a, 7, 100, stream));
    WORKS(f.MemcpyDtoHAsync(pinned, a, 100, stream));
    WORKS(f.EventRecord(after, stream));
    assert_int_equal(f.StreamQuery(stream), CUDA_ERROR_NOT_READY);
    assert_int_equal(f.EventQuery(after), CUDA_ERROR_NOT_READY);
    assert_int_equal(f.EventElapsedTime(&ms, before, after), CUDA_ERROR_NOT_READY);
    hooks->hold(stream, false);
    WORKS(f.EventSynchronize(after));
    assert_int_equal(pinned[99], 7);
    WORKS(f.EventElapsedTime(&ms, before, after));
    assert_true(ms >= 0);
    assert_string_equal(hooks->journal(), "fill 100\ncopy 100\n");
    WORKS(f.EventDestroy(before));
    WORKS(f.EventDestroy(after));
    WORKS(f.MemFree(a));
    WORKS(f.MemFreeHost(pinned));
    right_use();
}

static int add(void* user, const standin_launch* launch)
{
    uint64_t address = 0;
    unsigned value = 0;
    memcpy(&address, launch->parameters[0], 8);
    memcpy(&value, launch->parameters[1], 4);
    unsigned* word = hooks->at(address, 4);
    if (word != NULL)
        *word = *word * 10 + value;
    *(unsigned*)user += launch->grid[0];
    return 0;
}

static void launch(CUfunction function, CUdeviceptr to, unsigned value)
{
    char rest[32] = {0};
    void* parameters[] = {&to, &value, rest};
    WORKS(f.LaunchKernel(function, 3, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void kernels_run(void** state)
{
    (void)state;
    CUmodule module;
    CUfunction function, many;
    CUdeviceptr a = 0;
    unsigned blocks = 0, word = 0;
    size_t offset = 0, size = 0;
    int value = 0;
    hooks->kernel("add", add, &blocks);
    WORKS(f.MemAlloc(&a, 4));
    WORKS(f.ModuleLoadDataEx(&module, ptx, 0, NULL, NULL));
    WORKS(f.ModuleGetFunction(&function, module, "add"));
    WORKS(f.ModuleGetFunction(&many, module, "many"));
    assert_int_equal(f.ModuleGetFunction(&many, module, "none"), CUDA_ERROR_NOT_FOUND);
    WORKS(f.FuncGetParamInfo(function, 2, &offset, &size));
    assert_int_equal(offset, 16);
    assert_int_equal(size, 32);
    assert_int_equal(f.FuncGetParamInfo(function, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    WORKS(f.FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, many));
    assert_int_equal(value, 320);
    WORKS(f.FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, many));
    assert_int_equal(value, 1024);
    WORKS(f.MemsetD32Async(a, 0, 1, stream));
    launch(function, a, 1);
    launch(function, a, 2);
    WORKS(f.MemcpyDtoHAsync(&word, a, 4, stream));
    assert_int_equal(word, 12);
    assert_int_equal(blocks, 6);
    WORKS(f.MemFree(a));
    WORKS(f.ModuleUnload(module));
    right_use();
}

/* Independent nodes do not run in the order in which they were added; dependent ones do. */
static void graphs_keep_to_edges(void** state)
{
    (void)state;
    CUmodule module;
    CUfunction function;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[3];
    CUdeviceptr a = 0;
    unsigned blocks = 0, word = 0;
    char rest[32] = {0};
    hooks->kernel("add", add, &blocks);
    WORKS(f.MemAlloc(&a, 4));
    WORKS(f.ModuleLoadDataEx(&module, ptx, 0, NULL, NULL));
    WORKS(f.ModuleGetFunction(&function, module, "add"));
    for (int has_edges = 0; has_edges < 2; ++has_edges) {
        WORKS(f.GraphCreate(&graph, 0));
        for (unsigned i = 0; i < 3; ++i) {
            unsigned value = i + 1;
            void* parameters[] = {&a, &value, rest};
            const CUDA_KERNEL_NODE_PARAMS p = {.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                                               .blockDimY = 1, .blockDimZ = 1, .kernelParams = parameters};
            const bool has_edge = has_edges && i > 0;
            WORKS(f.GraphAddKernelNode(&nodes[i], graph, has_edge ? &nodes[i - 1] : NULL, has_edge, &p));
        }
        WORKS(f.GraphInstantiate(&exec, graph, 0));
        WORKS(f.MemsetD32Async(a, 0, 1, stream));
        WORKS(f.GraphLaunch(exec, stream));
        WORKS(f.MemcpyDtoHAsync(&word, a, 4, stream));
        assert_int_equal(word, has_edges ? 123 : 321);
        WORKS(f.GraphExecDestroy(exec));
        WORKS(f.GraphDestroy(graph));
    }
    WORKS(f.MemFree(a));
    WORKS(f.ModuleUnload(module));
    right_use();
}

static void compiled_modules(void** state)
{
    (void)state;
    char log[256] = "";
    CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, (void*)(uintptr_t)sizeof log};
    CUmodule module;
    size_t size = 0;
    void* cubin = hooks->make_cubin(ptx, &size);
    WORKS(f.ModuleLoadDataEx(&module, cubin, 0, NULL, NULL));
    WORKS(f.ModuleUnload(module));
    hooks->traits->capability = 80;
    assert_int_equal(f.ModuleLoadDataEx(&module, cubin, 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(cubin);
    assert_int_equal(f.ModuleLoadDataEx(&module, ".version 9.9\n.target sm_80\n", 2, names, values),
                     CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    assert_non_null(strstr(log, "9.9"));
    assert_int_equal(f.ModuleLoadDataEx(&module, ".version 6.3\n.target sm_75\nerror", 2, names, values), CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "error"));
    right_use();
}

static void wrong_use_is_told(void** state)
{
    (void)state;
    CUdeviceptr a = 0;
    WORKS(f.MemAlloc(&a, 100));
    assert_int_equal(f.MemsetD8Async(a + 1, 0, 100, stream), CUDA_ERROR_INVALID_VALUE);
    assert_non_null(strstr(hooks->misuse(), "inside one allocation"));
    WORKS(f.MemFree(a));
    assert_int_equal(f.MemFree(a), CUDA_ERROR_INVALID_VALUE);
    tear_down();
}

static void wrong_contexts_are_told(void** state)
{
    (void)state;
    void* other = hooks->context_create(0);
    WORKS(f.CtxPushCurrent(other));
    assert_int_equal(f.StreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    assert_non_null(strstr(hooks->misuse(), "a stream of another context"));
    WORKS(f.CtxPopCurrent(NULL));
    hooks->context_destroy(other);
    assert_int_equal(f.CtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
    tear_down();
}

static void leaks_are_told(void** state)
{
    (void)state;
    CUevent event;
    WORKS(f.EventCreate(&event, 0));
    assert_string_equal(hooks->first_live(), "a stream");
    tear_down();
    assert_string_equal(hooks->misuse(), "an event was left in a context that ended");
}

static void failures(void** state)
{
    (void)state;
    CUdeviceptr a = 0, b = 0;
    hooks->fail_call("MemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
    WORKS(f.MemAlloc(&a, 100));
    assert_int_equal(f.MemAlloc(&b, 100), CUDA_ERROR_OUT_OF_MEMORY);
    assert_non_null(hooks->failed());
    WORKS(f.MemAlloc(&b, 100));
    WORKS(f.MemFree(b));
    hooks->traits->memory = 1000;
    assert_int_equal(f.MemAlloc(&b, 901), CUDA_ERROR_OUT_OF_MEMORY);
    WORKS(f.MemAlloc(&b, 900));
    hooks->stick(CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(f.MemFree(b), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(f.MemFree(a), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(f.StreamQuery(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(f.StreamDestroy(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    WORKS(f.CtxPopCurrent(NULL));
    WORKS(f.DevicePrimaryCtxRelease(0));
    assert_int_equal(hooks->live(), 0);
    assert_string_equal(hooks->misuse(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(streams_run_in_order, set_up),  cmocka_unit_test_setup(kernels_run, set_up),
        cmocka_unit_test_setup(graphs_keep_to_edges, set_up),  cmocka_unit_test_setup(compiled_modules, set_up),
        cmocka_unit_test_setup(wrong_use_is_told, set_up),     cmocka_unit_test_setup(wrong_contexts_are_told, set_up),
        cmocka_unit_test_setup(leaks_are_told, set_up),        cmocka_unit_test_setup(failures, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
