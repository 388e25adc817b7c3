/* A CUDA driver for tests: it is loaded in the place of libcuda, checks how it is called, runs streams on threads of its own,
 * and fails when it is told to. Device memory is host memory under addresses that no host pointer has, so that a host that
 * follows one is stopped. Kernels run nothing unless a test gives a C function for their entry point.
 *
 * Programs reach its switches through the symbol `standin`. In the environment, KHAL_STANDIN_MEMORY is the device's memory in
 * bytes, and KHAL_STANDIN_DEVICES how many there are. Functions of the driver go by their name in cu_api.h: "MemAlloc". */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct standin_launch {
    const char* name; /* of the entry point */
    const char* code; /* the module's PTX */
    unsigned grid[3], block[3], shared;
    unsigned parameter_count;
    const void* const* parameters; /* each a copy, as it was at the launch */
    const size_t* sizes;           /* of the parameters, bytes */
} standin_launch;
/* Gives 0, or the driver's error that the kernel ends with, which then is the context's for good. */
typedef int (*standin_kernel_fn)(void* user, const standin_launch* launch);

/* What the devices are like; set while no device is open. */
typedef struct standin_traits {
    int init_result, version;           /* of Init; 12040: CUDA 12.4 */
    int device_count, capability;       /* at most 2; 90: 9.0 */
    int ptx_version;                    /* the newest that it takes: 84 */
    int compute_mode, multiprocessors;
    int shared_limit;                   /* bytes of shared memory that a block may ask for */
    bool no_host_register;
    uint64_t memory, pinned;            /* bytes there are */
} standin_traits;

typedef struct standin_hooks {
    standin_traits* traits;
    /* Traits, failures, kernels, counts and journal as at the start. What was left alive is taken down. */
    void (*reset)(void);
    /* What was done wrong first, "" where nothing was. */
    const char* (*misuse)(void);
    /* Objects, memory and references that are not given back; the first of them, "" where there is none. */
    unsigned (*live)(void);
    const char* (*first_live)(void);
    uint64_t (*memory_used)(void); /* bytes, of all devices; pinned memory is not counted */
    /* The calling thread's contexts that were pushed and not popped. */
    unsigned (*depth)(void);
    void* (*current)(void); /* the last of them; NULL: none */

    unsigned (*calls)(const char* function); /* since the start or `forget`; NULL: of all functions */
    /* What the streams ran since then, a line each: "launch NAME gx,gy,gz bx,by,bz shared", "copy BYTES", "fill BYTES",
     * "write VALUE", "graph NODES". Valid until the next call. */
    const char* (*journal)(void);
    void (*forget)(void); /* the counts and the journal */

    /* The nth call (from 1 on) of that function from now on gives `code`, and with a code that is for good (ILLEGAL_ADDRESS,
     * LAUNCH_FAILED) so do those after it. NULL: of all functions that may fail for want of memory, or that tell how work went. */
    void (*fail_call)(const char* function, unsigned nth, int code);
    const char* (*failed)(void); /* the function that was called so, since `fail_call`, which is over; NULL: none was */
    void (*stick)(int code);  /* every call in a context gives that from now on, and nothing runs; 0: no more */
    /* Streams run nothing more until they are let go. stream: a CUstream; NULL: all, those made later too. */
    void (*hold)(void* stream, bool is_held);

    void (*kernel)(const char* name, standin_kernel_fn run, void* user); /* run NULL: it runs nothing again */
    void (*other_kernels)(standin_kernel_fn run, void* user);            /* for the entry points that have none of their own */
    void* (*at)(uint64_t address, size_t size); /* those bytes of device memory, for kernels; NULL and misuse: not there */

    /* A compiled module of PTX, for a device like these; `free` it. */
    void* (*make_cubin)(const char* ptx, size_t* out_size);

    void* (*context_create)(int device); /* a CUcontext of the program's own; it is not made current */
    void (*context_destroy)(void* context);
} standin_hooks;

#endif
