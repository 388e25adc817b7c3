/* Finished commands as a CUDA graph: made at their second submit, launched as it is while nothing changes, its nodes' parameters
 * updated in place where values or slices did, and made again where barriers moved. */
#include "cu_plan.h"
#include "cu.h"

#include <string.h>

#define MOST_COPY (1ull << 31) /* bytes of a copy node, which is one row */
#define MOST_REFUSALS 4u       /* in a row, after which no graph is tried any more */
#define MOST_NODE_BYTES 8192u  /* of a node's parameters: more than a launch takes */

typedef enum node_kind {
    NODE_KERNEL,
    NODE_COPY,
    NODE_FILL,
} node_kind;

/* What a kernel node is launched with; the parameters' bytes follow it. */
typedef struct kernel_head {
    CUfunction function;
    uint32_t grid[3], block[3], shared, parameter_count;
} kernel_head;

typedef struct copy_head {
    CUdeviceptr to, from;
    uint64_t size;
} copy_head;

/* The parameters of a node as the driver takes them, and as bytes that can be compared. */
typedef struct node_state {
    node_kind kind;
    uint32_t size; /* of bytes */
    cu_launch launch;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_MEMCPY3D copy;
    uint64_t bytes[MOST_NODE_BYTES / 8];
} node_state;

typedef struct graph_node {
    CUgraphNode handle;
    const khal__command* command; /* while the graph is being made */
    node_kind kind;
    uint32_t size; /* of its bytes, */
    size_t at;     /* and where they begin */
} graph_node;

typedef struct cu_graph {
    CUgraph graph;
    CUgraphExec exec;
    graph_node* nodes;
    uint32_t* stages;
    uint32_t node_count;
    bool is_refused; /* the version held can't be a graph, */
    uint32_t refusals; /* as those before it */
    char* bytes;     /* the parameters that each node has */
    size_t size, capacity;
    khal_ticket last; /* of its launches */
    struct cu_graph* next;
} cu_graph;

/* ---- what a node does -------------------------------------------------------------------------- */

static bool append(node_state* state, const void* bytes, size_t size)
{
    if (size > MOST_NODE_BYTES - state->size)
        return false;
    memcpy((char*)state->bytes + state->size, bytes, size);
    state->size += (uint32_t)size;
    return true;
}

static CUresult describe_kernel(cu_device* device, const khal__command* command, CUdeviceptr too_many, node_state* out)
{
    const cu_function* function = cu_function_of(command->u.dispatch.function);
    cu_launch* launch = &out->launch;
    const CUresult result = cu_launch_make(device, command, too_many, launch);
    if (result != CUDA_SUCCESS)
        return result;
    kernel_head head;
    memset(&head, 0, sizeof head);
    head.function = launch->function;
    memcpy(head.grid, launch->grid, sizeof head.grid);
    memcpy(head.block, launch->block, sizeof head.block);
    head.shared = launch->shared;
    head.parameter_count = launch->parameter_count;
    bool fits = append(out, &head, sizeof head);
    for (uint32_t i = 0; i < launch->parameter_count && fits; ++i) {
        const bool is_value = i < function->parameter_count && function->parameters[i].kind == KHAL_ARG_VALUE;
        const size_t size = i >= function->parameter_count ? launch->last_size
                            : is_value                     ? function->parameters[i].size
                                                           : sizeof launch->words[i];
        fits = append(out, launch->parameters[i], size);
    }
    return fits ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* The pattern as one value of 1, 2 or 4 bytes that the address suits, or 0. */
static uint32_t element_of(const khal__command* command, CUdeviceptr to)
{
    const uint8_t* pattern = command->u.fill.pattern;
    const uint32_t period = command->u.fill.pattern_size;
    for (uint32_t size = 1; size <= 4 && size <= period; size *= 2) {
        bool repeats = true;
        for (uint32_t i = size; i < period; ++i)
            repeats = repeats && pattern[i] == pattern[i - size];
        if (repeats)
            return (to | command->u.fill.target.size) % size == 0 ? size : 0;
    }
    return 0;
}

static CUresult describe_fill(const khal__command* command, node_state* out)
{
    const CUdeviceptr to = cu_address(&command->u.fill.target);
    const uint32_t size = element_of(command, to);
    if (size == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    const uint8_t* pattern = command->u.fill.pattern;
    memset(&out->fill, 0, sizeof out->fill);
    for (uint32_t i = size; i > 0; --i)
        out->fill.value = out->fill.value << 8 | pattern[i - 1];
    out->fill.dst = to;
    out->fill.elementSize = size;
    out->fill.width = (size_t)(command->u.fill.target.size / size);
    out->fill.height = 1;
    out->fill.pitch = (size_t)command->u.fill.target.size;
    append(out, &out->fill, sizeof out->fill);
    return CUDA_SUCCESS;
}

static void describe_copy(const khal__command* command, node_state* out)
{
    const copy_head head = {cu_address(&command->u.copy.target), cu_address(&command->u.copy.source),
                            command->u.copy.target.size};
    const size_t size = (size_t)head.size;
    out->copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = head.from,
                                .srcPitch = size,
                                .srcHeight = 1,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = head.to,
                                .dstPitch = size,
                                .dstHeight = 1,
                                .WidthInBytes = size,
                                .Height = 1,
                                .Depth = 1};
    append(out, &head, sizeof head);
}

static CUresult describe(cu_device* device, const khal__command* command, CUdeviceptr too_many, node_state* out)
{
    out->size = 0;
    switch (command->kind) {
    case KHAL__COMMAND_DISPATCH: out->kind = NODE_KERNEL; return describe_kernel(device, command, too_many, out);
    case KHAL__COMMAND_FILL: out->kind = NODE_FILL; return describe_fill(command, out);
    default: out->kind = NODE_COPY; describe_copy(command, out); return CUDA_SUCCESS;
    }
}

static CUDA_KERNEL_NODE_PARAMS kernel_parameters(cu_launch* launch)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = launch->function,
                                     .gridDimX = launch->grid[0],
                                     .gridDimY = launch->grid[1],
                                     .gridDimZ = launch->grid[2],
                                     .blockDimX = launch->block[0],
                                     .blockDimY = launch->block[1],
                                     .blockDimZ = launch->block[2],
                                     .sharedMemBytes = launch->shared,
                                     .kernelParams = launch->parameters};
}

/* ---- which commands are nodes ------------------------------------------------------------------ */

/* A barrier, or nothing to do. */
static bool is_node(const khal__command* command)
{
    switch (command->kind) {
    case KHAL__COMMAND_DISPATCH: return true;
    case KHAL__COMMAND_COPY: return command->u.copy.target.size > 0;
    case KHAL__COMMAND_FILL: return command->u.fill.target.size > 0;
    default: return false;
    }
}

static bool can_be_node(const khal__command* command)
{
    switch (command->kind) {
    case KHAL__COMMAND_DISPATCH:
        return !command->u.dispatch.is_indirect || !cu_function_of(command->u.dispatch.function)->is_foreign;
    case KHAL__COMMAND_COPY: return command->u.copy.target.size < MOST_COPY;
    case KHAL__COMMAND_FILL:
        return command->u.fill.target.size == 0 || element_of(command, cu_address(&command->u.fill.target)) != 0;
    default: return command->kind == KHAL__COMMAND_BARRIER;
    }
}

bool cu_graph_can(cu_device* device, const khal__submission* submission)
{
    khal__replay* replay = submission->replay;
    if (replay == NULL || !device->has_graphs || submission->has_results || submission->has_native)
        return false;
    const cu_graph* graph = replay->impl;
    if (graph != NULL && !graph->is_refused) /* what differs in another version shows when it is updated */
        return true;
    if (graph != NULL && (replay->version == submission->version || graph->refusals == MOST_REFUSALS))
        return false;
    if (replay->version == 0) { /* what is submitted once is not worth a graph */
        replay->version = submission->version;
        return false;
    }
    for (const khal__command* c = submission->commands; c != NULL; c = c->next)
        if (!can_be_node(c))
            return false;
    return true;
}

/* ---- making ------------------------------------------------------------------------------------ */

static void destroy(cu_device* device, cu_graph* graph)
{
    khal_device* front = device->front;
    if (graph->exec != NULL)
        (void)device->f->GraphExecDestroy(graph->exec);
    if (graph->graph != NULL)
        (void)device->f->GraphDestroy(graph->graph);
    if (graph->nodes != NULL)
        khal__free(front, graph->nodes, graph->node_count * sizeof *graph->nodes);
    if (graph->stages != NULL)
        khal__free(front, graph->stages, graph->node_count * sizeof *graph->stages);
    if (graph->bytes != NULL)
        khal__free(front, graph->bytes, graph->capacity);
    khal__free(front, graph, sizeof *graph);
}

/* A launch of it may still be on its way. */
static void bury(cu_device* device, cu_graph* graph)
{
    graph->next = device->dead;
    device->dead = graph;
}

void cu_graph_reap(cu_device* device, khal_ticket completed)
{
    for (cu_graph** link = &device->dead; *link != NULL;) {
        cu_graph* graph = *link;
        if (graph->last > completed) {
            link = &graph->next;
            continue;
        }
        *link = graph->next;
        destroy(device, graph);
    }
}

static bool keep_bytes(cu_device* device, cu_graph* graph, const node_state* state, size_t* out_at)
{
    if (graph->capacity - graph->size < state->size) {
        const size_t capacity = 2 * graph->capacity + 4096 + state->size;
        char* grown = khal__alloc(device->front, capacity, 16);
        if (grown == NULL)
            return false;
        if (graph->bytes != NULL) {
            memcpy(grown, graph->bytes, graph->size);
            khal__free(device->front, graph->bytes, graph->capacity);
        }
        graph->bytes = grown;
        graph->capacity = capacity;
    }
    memcpy(graph->bytes + graph->size, state->bytes, state->size);
    *out_at = graph->size;
    graph->size += state->size;
    return true;
}

typedef struct build {
    cu_device* device;
    cu_graph* graph;
    CUresult result;
} build;

static CUresult add_command(build* b, graph_node* node, const CUgraphNode* after, uint32_t after_count)
{
    cu_device* device = b->device;
    const cu_functions* f = device->f;
    CUgraph graph = b->graph->graph;
    node_state state;
    CUresult result = describe(device, node->command, device->too_many.address, &state);
    if (result != CUDA_SUCCESS)
        return result;
    node->kind = state.kind;
    node->size = state.size;
    if (!keep_bytes(device, b->graph, &state, &node->at))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (state.kind == NODE_KERNEL) {
        const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(&state.launch);
        result = f->GraphAddKernelNode(&node->handle, graph, after, after_count, &parameters);
    } else if (state.kind == NODE_FILL) {
        result = f->GraphAddMemsetNode(&node->handle, graph, after, after_count, &state.fill, device->context);
    } else {
        result = f->GraphAddMemcpyNode(&node->handle, graph, after, after_count, &state.copy, device->context);
    }
    return result;
}

static bool add_node(void* user, uint32_t number, const uint32_t* after, uint32_t after_count)
{
    build* b = user;
    cu_graph* graph = b->graph;
    CUgraphNode handles[CU_PLAN_CHAINS_ALONE];
    for (uint32_t i = 0; i < after_count; ++i)
        handles[i] = graph->nodes[after[i]].handle;
    b->result = add_command(b, &graph->nodes[number], handles, after_count);
    return b->result == CUDA_SUCCESS;
}

/* The commands that are nodes, and their stages. False: out of memory. */
static bool list_nodes(cu_device* device, cu_graph* graph, const khal__submission* submission)
{
    uint32_t count = 0, stage = 0;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next)
        count += is_node(c) ? 1 : 0;
    if (count == 0)
        return true;
    graph->nodes = khal__alloc(device->front, count * sizeof *graph->nodes, _Alignof(graph_node));
    graph->node_count = count;
    if (graph->nodes == NULL)
        return false;
    graph->stages = khal__alloc(device->front, count * sizeof *graph->stages, _Alignof(uint32_t));
    if (graph->stages == NULL)
        return false;
    uint32_t at = 0;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next) {
        if (!is_node(c)) {
            stage = c->kind == KHAL__COMMAND_BARRIER ? at : stage; /* barriers in a row are one */
            continue;
        }
        graph->stages[at] = stage;
        graph->nodes[at++] = (graph_node){.command = c};
    }
    return true;
}

static CUresult fill_graph(cu_device* device, cu_graph* graph, const khal__submission* submission)
{
    if (!list_nodes(device, graph, submission))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (graph->node_count == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = device->f->GraphCreate(&graph->graph, 0);
    if (result != CUDA_SUCCESS)
        return result;
    build b = {device, graph, CUDA_SUCCESS};
    (void)cu_plan(graph->node_count, graph->stages, add_node, &b);
    if (b.result != CUDA_SUCCESS)
        return b.result;
    return device->f->GraphInstantiate(&graph->exec, graph->graph, 0);
}

/* A new graph in the replay; one that can't be made is remembered as such. */
static CUresult make(cu_device* device, khal__submission* submission)
{
    khal__replay* replay = submission->replay;
    cu_graph* before = replay->impl;
    const uint32_t refusals = before != NULL ? before->refusals : 0;
    if (refusals == MOST_REFUSALS)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (before != NULL)
        bury(device, before);
    replay->impl = NULL;
    cu_graph* graph = khal__alloc(device->front, sizeof *graph, _Alignof(cu_graph));
    if (graph == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    memset(graph, 0, sizeof *graph);
    replay->impl = graph;
    replay->version = submission->version;
    const CUresult result = fill_graph(device, graph, submission);
    if (result == CUDA_SUCCESS)
        return result;
    graph->is_refused = true;
    graph->refusals = refusals + 1;
    return cu_is_sticky(result) ? result : CUDA_ERROR_NOT_SUPPORTED; /* the commands run one by one */
}

/* ---- updating ---------------------------------------------------------------------------------- */

static CUresult update_node(cu_device* device, cu_graph* graph, graph_node* node, node_state* state)
{
    const cu_functions* f = device->f;
    if (state->kind != node->kind || state->size != node->size)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    if (memcmp(graph->bytes + node->at, state->bytes, state->size) == 0)
        return CUDA_SUCCESS;
    CUresult result;
    if (state->kind == NODE_KERNEL) {
        const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(&state->launch);
        result = f->GraphExecKernelNodeSetParams(graph->exec, node->handle, &parameters);
    } else if (state->kind == NODE_FILL) {
        result = f->GraphExecMemsetNodeSetParams(graph->exec, node->handle, &state->fill, device->context);
    } else {
        result = f->GraphExecMemcpyNodeSetParams(graph->exec, node->handle, &state->copy, device->context);
    }
    if (result == CUDA_SUCCESS)
        memcpy(graph->bytes + node->at, state->bytes, state->size);
    return result;
}

/* What a launch on its way was given is not touched. An error: the nodes or barriers do not stand as they did, or the driver
 * refuses; the graph is to be made again, whatever was updated. */
static CUresult update(cu_device* device, khal__submission* submission)
{
    khal__replay* replay = submission->replay;
    cu_graph* graph = replay->impl;
    node_state state;
    uint32_t at = 0, stage = 0;
    if (graph->is_refused)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (const khal__command* c = submission->commands; c != NULL; c = c->next) {
        if (!is_node(c)) {
            stage = c->kind == KHAL__COMMAND_BARRIER ? at : stage;
            continue;
        }
        if (at == graph->node_count || graph->stages[at] != stage)
            return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        CUresult result = describe(device, c, device->too_many.address, &state);
        if (result == CUDA_SUCCESS)
            result = update_node(device, graph, &graph->nodes[at++], &state);
        if (result != CUDA_SUCCESS)
            return result;
    }
    if (at != graph->node_count)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    replay->version = submission->version;
    return CUDA_SUCCESS;
}

CUresult cu_graph_launch(cu_device* device, khal__submission* submission)
{
    const cu_functions* f = device->f;
    khal__replay* replay = submission->replay;
    CUresult result = CUDA_SUCCESS;
    if (replay->impl == NULL || replay->version != submission->version) {
        result = replay->impl != NULL ? update(device, submission) : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        if (result != CUDA_SUCCESS && !cu_is_sticky(result))
            result = make(device, submission);
    }
    if (result != CUDA_SUCCESS)
        return result;
    cu_graph* graph = replay->impl;
    result = f->GraphLaunch(graph->exec, device->stream);
    if (result == CUDA_SUCCESS)
        graph->last = submission->ticket;
    return result;
}

void cu_replay_destroy(khal_device* front, khal__replay* replay)
{
    cu_device* device = cu_device_of(front);
    if (replay->impl == NULL)
        return;
    khal__mutex_lock(&device->lock);
    bury(device, replay->impl); /* the next submit reaps */
    replay->impl = NULL;
    khal__mutex_unlock(&device->lock);
}
