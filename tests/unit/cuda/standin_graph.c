/* The stand-in's graphs. Nodes run in an order in which each comes after those that it depends on and which else is the reverse
 * of that in which they were added, so that an edge that is missing shows. */
#include "standin_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct node {
    object object;
    struct graph* graph;
    work* work;
    unsigned index, dependency_count;
    struct node** dependencies;
} node;

typedef struct graph {
    object object;
    node** nodes; /* in the order in which they were added */
    unsigned count, room;
} graph;

typedef struct graph_exec {
    object object;
    unsigned count;
    node** nodes;   /* their handles; the graph must live for them to be used */
    work** works;   /* by number of the node */
    unsigned* order;
    unsigned running;
    bool is_gone;
} graph_exec;

static void exec_free(graph_exec* e)
{
    for (unsigned i = 0; i < e->count; ++i)
        drop_work(e->works[i]);
    free(e->nodes);
    free(e->works);
    free(e->order);
    free(e);
}

void exec_ran(graph_exec* e)
{
    if (--e->running == 0 && e->is_gone)
        exec_free(e);
}

void exec_drop(object* any)
{
    graph_exec* e = (graph_exec*)any;
    forget_object(e);
    e->is_gone = true;
    if (e->running == 0)
        exec_free(e);
}

void graph_drop(object* any)
{
    graph* g = (graph*)any;
    for (unsigned i = 0; i < g->count; ++i) {
        drop_work(g->nodes[i]->work);
        free(g->nodes[i]->dependencies);
        drop_object(g->nodes[i]);
    }
    free(g->nodes);
    drop_object(g);
}

#ifndef STANDIN_IS_OLD
static void* copied(const void* from, size_t size)
{
    void* to = malloc(size > 0 ? size : 1);
    if (to == NULL)
        abort();
    if (size > 0)
        memcpy(to, from, size);
    return to;
}

/* The graph of a call that began well, or NULL and the result. */
static graph* graph_of(CUgraph handle, CUresult* result)
{
    graph* g = *result == CUDA_SUCCESS ? check_object(handle, OBJECT_GRAPH) : NULL;
    if (g == NULL && *result == CUDA_SUCCESS)
        *result = CUDA_ERROR_INVALID_HANDLE;
    return g;
}

EXPORT_CUDA CUresult CU_CALL cuGraphCreate(CUgraph* out, unsigned flags)
{
    CUresult result = begin("GraphCreate", CALL_MAKES);
    if (result == CUDA_SUCCESS && flags != 0)
        result = invalid("the flags of a graph");
    if (result == CUDA_SUCCESS)
        *out = (CUgraph)make_object(OBJECT_GRAPH, sizeof(graph));
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphDestroy(CUgraph handle)
{
    CUresult result = begin("GraphDestroy", CALL_RELEASES);
    if (releases(result)) {
        graph* g = check_object(handle, OBJECT_GRAPH);
        if (g == NULL)
            result = CUDA_ERROR_INVALID_HANDLE;
        else
            graph_drop(&g->object);
    }
    return end(result);
}

/* Takes the reference to the work. */
static CUresult add_node(CUgraphNode* out, graph* g, const CUgraphNode* after, size_t count, work* w)
{
    for (size_t i = 0; i < count; ++i) {
        const node* n = check_object(after[i], OBJECT_NODE);
        if (n == NULL || n->graph != g) {
            drop_work(w);
            return invalid("a node depends on what is no node of its graph");
        }
        for (size_t j = 0; j < i; ++j)
            if (after[i] == after[j]) {
                drop_work(w);
                return invalid("a node depends on another twice");
            }
    }
    if (g->count == g->room) {
        g->room = g->room * 2 + 16;
        g->nodes = realloc(g->nodes, g->room * sizeof *g->nodes);
        if (g->nodes == NULL)
            abort();
    }
    node* n = make_object(OBJECT_NODE, sizeof *n);
    n->graph = g;
    n->work = w;
    n->index = g->count;
    n->dependency_count = (unsigned)count;
    n->dependencies = copied(after, count * sizeof *after);
    g->nodes[g->count++] = n;
    *out = (CUgraphNode)n;
    return CUDA_SUCCESS;
}

static work* kernel_work(const CUDA_KERNEL_NODE_PARAMS* p, CUresult* result)
{
    function* f = check_object(p->func, OBJECT_FUNCTION);
    if (f == NULL || p->extra != NULL || p->kern != NULL || (p->ctx != NULL && p->ctx != (CUcontext)current())) {
        *result = invalid("a kernel node");
        return NULL;
    }
    return make_launch(f, (const unsigned[]){p->gridDimX, p->gridDimY, p->gridDimZ},
                       (const unsigned[]){p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes, p->kernelParams, result);
}

static char* side(unsigned type, const void* host, CUdeviceptr device, size_t size)
{
    if (type == CU_MEMORYTYPE_DEVICE)
        return resolve(device, size);
    if (type != CU_MEMORYTYPE_HOST || !is_pinned(host, size)) {
        misuse("a node copies memory that is not pinned");
        return NULL;
    }
    return (char*)(uintptr_t)host;
}

static work* copy_work(const CUDA_MEMCPY3D* p, CUcontext context, CUresult* result)
{
    const size_t size = p->WidthInBytes;
    char* to = side(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes + size);
    const char* from = side(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes + size);
    if (size == 0 || p->Height != 1 || p->Depth != 1 || p->srcY != 0 || p->srcZ != 0 || p->srcLOD != 0 || p->dstY != 0 ||
        p->dstZ != 0 || p->dstLOD != 0 || p->reserved0 != NULL || p->reserved1 != NULL || context != (CUcontext)current() ||
        to == NULL || from == NULL) {
        *result = invalid("a copy node of %zu bytes", size);
        return NULL;
    }
    work* w = make_work(WORK_COPY);
    w->u.copy.to = to + p->dstXInBytes;
    w->u.copy.from = from + p->srcXInBytes;
    w->u.copy.size = size;
    return w;
}

static work* fill_work(const CUDA_MEMSET_NODE_PARAMS* p, CUcontext context, CUresult* result)
{
    const bool has_size = p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4;
    char* to = has_size ? resolve(p->dst, p->width * p->elementSize) : NULL;
    if (to == NULL || p->width == 0 || p->height != 1 || p->dst % p->elementSize != 0 || context != (CUcontext)current()) {
        *result = invalid("a fill node of %zu times %u bytes", p->width, p->elementSize);
        return NULL;
    }
    work* w = make_work(WORK_FILL);
    w->u.fill.to = to;
    w->u.fill.value = p->value;
    w->u.fill.element_size = p->elementSize;
    w->u.fill.count = p->width;
    return w;
}

EXPORT_CUDA CUresult CU_CALL cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph handle, const CUgraphNode* after, size_t count,
                                                     const CUDA_KERNEL_NODE_PARAMS* parameters)
{
    CUresult result = begin("GraphAddKernelNode", CALL_MAKES);
    graph* g = graph_of(handle, &result);
    work* w = g != NULL ? kernel_work(parameters, &result) : NULL;
    if (w != NULL)
        result = add_node(out, g, after, count, w);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* after, size_t count,
                                                  const CUDA_MEMCPY3D* parameters, CUcontext context)
{
    CUresult result = begin("GraphAddMemcpyNode", CALL_MAKES);
    graph* g = graph_of(handle, &result);
    work* w = g != NULL ? copy_work(parameters, context, &result) : NULL;
    if (w != NULL)
        result = add_node(out, g, after, count, w);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphAddMemsetNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* after, size_t count,
                                                  const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context)
{
    CUresult result = begin("GraphAddMemsetNode", CALL_MAKES);
    graph* g = graph_of(handle, &result);
    work* w = g != NULL ? fill_work(parameters, context, &result) : NULL;
    if (w != NULL)
        result = add_node(out, g, after, count, w);
    return end(result);
}

/* ---- executable graphs ------------------------------------------------------------------------- */

static bool is_ready(const node* n, const bool* is_placed)
{
    for (unsigned i = 0; i < n->dependency_count; ++i)
        if (!is_placed[n->dependencies[i]->index])
            return false;
    return true;
}

/* The last that was added, of those that may run, is next. Dependencies were there before those that have them, so that there
 * is no circle. */
static void put_in_order(const graph* g, unsigned* order)
{
    bool* is_placed = calloc(g->count > 0 ? g->count : 1, sizeof *is_placed);
    if (is_placed == NULL)
        abort();
    for (unsigned placed = 0; placed < g->count; ++placed) {
        unsigned i = g->count - 1;
        while (is_placed[i] || !is_ready(g->nodes[i], is_placed))
            --i;
        is_placed[i] = true;
        order[placed] = i;
    }
    free(is_placed);
}

EXPORT_CUDA CUresult CU_CALL cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph handle, unsigned long long flags)
{
    CUresult result = begin("GraphInstantiate", CALL_MAKES);
    const graph* g = graph_of(handle, &result);
    if (g != NULL && flags != 0)
        result = invalid("the flags of an executable graph");
    else if (g != NULL) {
        graph_exec* e = make_object(OBJECT_EXEC, sizeof *e);
        e->count = g->count;
        e->nodes = copied(g->nodes, g->count * sizeof *g->nodes);
        e->works = calloc(g->count > 0 ? g->count : 1, sizeof(work*));
        e->order = calloc(g->count > 0 ? g->count : 1, sizeof(unsigned));
        if (e->works == NULL || e->order == NULL)
            abort();
        for (unsigned i = 0; i < g->count; ++i)
            e->works[i] = keep_work(g->nodes[i]->work);
        put_in_order(g, e->order);
        *out = (CUgraphExec)e;
    }
    return end(result);
}

/* The executable graph of a call that began well, or NULL and the result. */
static graph_exec* exec_of(CUgraphExec handle, CUresult* result)
{
    graph_exec* e = *result == CUDA_SUCCESS ? check_object(handle, OBJECT_EXEC) : NULL;
    if (e == NULL && *result == CUDA_SUCCESS)
        *result = CUDA_ERROR_INVALID_HANDLE;
    return e;
}

/* Launches to come have the new work, for which the reference is taken. */
static CUresult replace(graph_exec* e, CUgraphNode handle, work* w)
{
    const node* n = check_object(handle, OBJECT_NODE);
    if (n == NULL || n->index >= e->count || e->nodes[n->index] != n || e->works[n->index]->kind != w->kind) {
        drop_work(w);
        return invalid("a node of another graph, or of another kind, is changed");
    }
    drop_work(e->works[n->index]);
    e->works[n->index] = w;
    return CUDA_SUCCESS;
}

EXPORT_CUDA CUresult CU_CALL cuGraphExecKernelNodeSetParams_v2(CUgraphExec handle, CUgraphNode n,
                                                               const CUDA_KERNEL_NODE_PARAMS* parameters)
{
    CUresult result = begin("GraphExecKernelNodeSetParams", CALL_MAKES);
    graph_exec* e = exec_of(handle, &result);
    work* w = e != NULL ? kernel_work(parameters, &result) : NULL;
    if (w != NULL)
        result = replace(e, n, w);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphExecMemcpyNodeSetParams(CUgraphExec handle, CUgraphNode n, const CUDA_MEMCPY3D* parameters,
                                                            CUcontext context)
{
    CUresult result = begin("GraphExecMemcpyNodeSetParams", CALL_MAKES);
    graph_exec* e = exec_of(handle, &result);
    work* w = e != NULL ? copy_work(parameters, context, &result) : NULL;
    if (w != NULL)
        result = replace(e, n, w);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphExecMemsetNodeSetParams(CUgraphExec handle, CUgraphNode n,
                                                            const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context)
{
    CUresult result = begin("GraphExecMemsetNodeSetParams", CALL_MAKES);
    graph_exec* e = exec_of(handle, &result);
    work* w = e != NULL ? fill_work(parameters, context, &result) : NULL;
    if (w != NULL)
        result = replace(e, n, w);
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    CUresult result = begin("GraphUpload", CALL_MAKES);
    const graph_exec* e = exec_of(handle, &result);
    if (e != NULL && check_object(stream_handle, OBJECT_STREAM) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    CUresult result = begin("GraphLaunch", CALL_MAKES);
    graph_exec* e = exec_of(handle, &result);
    stream* s = e != NULL ? check_object(stream_handle, OBJECT_STREAM) : NULL;
    if (e != NULL && s == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (e != NULL) {
        work** works = malloc((e->count > 0 ? e->count : 1) * sizeof *works);
        if (works == NULL)
            abort();
        for (unsigned i = 0; i < e->count; ++i)
            works[i] = keep_work(e->works[e->order[i]]);
        ++e->running;
        push_operation(s, (operation){.kind = RUN_GRAPH, .works = works, .work_count = e->count, .exec = e});
    }
    return end(result);
}

EXPORT_CUDA CUresult CU_CALL cuGraphExecDestroy(CUgraphExec handle)
{
    CUresult result = begin("GraphExecDestroy", CALL_RELEASES);
    if (releases(result)) {
        graph_exec* e = check_object(handle, OBJECT_EXEC);
        if (e == NULL)
            result = CUDA_ERROR_INVALID_HANDLE;
        else {
            if (e->running > 0 && result == CUDA_SUCCESS)
                misuse("an executable graph is destroyed while it runs");
            exec_drop(&e->object);
        }
    }
    return end(result);
}
#endif
