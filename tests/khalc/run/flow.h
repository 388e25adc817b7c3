/* The kernels of flow.cl: one list for both sides. */
#define FLOW_KERNELS(X)                                                                            \
    X(nested_loops)                                                                                \
    X(early_return) X(switches) X(comma_and_logic) X(local_memory_alone) X(tree_reduce)            \
        X(one_works) X(private_array_across) X(returned_items) X(returning_by_and_by)              \
            X(uniform_break) X(uniform_branches) X(uniform_switch) X(nested_barrier_loops)         \
                X(step_with_barrier_before) X(helpers_with_barriers) X(atomics_count)              \
                    X(long_lived) X(assigned_parameters) X(divergent_work) X(long_blocks)          \
                        X(data_loop) X(endless_until) X(divergent_barrier)            \
                            X(uniform_break_of_divergent_switch)

typedef void (*flow_kernel)(int* out, const int* in, unsigned n, int* shared);
typedef struct flow_entry {
    const char* name;
    flow_kernel run;
} flow_entry;
extern const flow_entry flow_entries[];
extern const int flow_count;

/* Runs one work-group, each work-item on a thread of its own. */
void flow_run_group(flow_kernel kernel, int group, int local_size, int global_size, int* out,
                    const int* in, unsigned n, int* shared);
