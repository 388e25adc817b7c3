/* Compiled under prefixes that are names of what generated code has, with arguments that are too. */

/**
 * @brief A documentation comment before a kernel.
 * @param all  void pointers in all three spaces
 */
__kernel void sizes(__global void* all, __constant void* device, __local void* pass, int k, int grid, int desc,
                    int status, int file, int line, int args, int values, int bindings, int slice, int function,
                    int locals, int out_k, int module, int encoder, int library, int kernels, int info, int count)
{
    __global int* out = all;
    __local int* copy = pass;
    const __constant int* in = device;
    copy[0] = in[1];
    out[0] = copy[0] + k + grid + desc + status + file + line + args + values + bindings + slice + function + locals +
             out_k + module + encoder + library + kernels + info + count;
}

/** Another one: \p bindings is a kernel's name. */
__kernel void bindings(__global int* bindings) { bindings[0] = 2; }
__kernel void locals(__global int* desc) { desc[0] = 3; }
__kernel void device(__global int* k) { k[0] = 4; }
__kernel void k(__global int* args) { args[0] = 5; }
/* What generated code would call the work-items of the two above. */
int locals_item(int x) { return x + 1; }
__kernel void k_item(__global int* args) { args[0] = locals_item(5); }
