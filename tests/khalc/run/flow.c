/* flow.cl once more, as C: a work-item is a thread, a barrier really waits. */
#include "flow.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef unsigned int uint;
typedef unsigned char uchar;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int running, waiting;
    unsigned round;
} group = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

typedef struct item {
    flow_kernel kernel;
    int group, local, local_size, global_size;
    int* out;
    const int* in;
    unsigned n;
    int* shared;
    pthread_t thread;
} item;

static _Thread_local const item* me;

/* A work-item that has returned is not waited for. */
static void let_go_if_all_wait(void)
{
    if (group.running && group.waiting == group.running) {
        group.waiting = 0;
        group.round++;
        pthread_cond_broadcast(&group.moved);
    }
}

static void sync_items(void)
{
    pthread_mutex_lock(&group.lock);
    const unsigned round = group.round;
    group.waiting++;
    let_go_if_all_wait();
    while (round == group.round)
        pthread_cond_wait(&group.moved, &group.lock);
    pthread_mutex_unlock(&group.lock);
}

static size_t get_local_id(uint d)
{
    return d ? 0 : (size_t)me->local;
}
static size_t get_local_size(uint d)
{
    return d ? 1 : (size_t)me->local_size;
}
static size_t get_group_id(uint d)
{
    return d ? 0 : (size_t)me->group;
}
static size_t get_global_id(uint d)
{
    return d ? 0 : (size_t)(me->group * me->local_size + me->local);
}
static size_t get_global_size(uint d)
{
    return d ? 1 : (size_t)me->global_size;
}
static int atomic_add(int* p, int v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
static int atomic_inc(int* p)
{
    return atomic_add(p, 1);
}
static int atomic_or(int* p, int v)
{
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}
static int atomic_max(int* p, int v)
{
    int old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (v > old &&
           !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return old;
}

#define KERNEL(name) static void name(int* out, const int* in, uint n, int* shared)
#define LOCAL_VARIABLE static
#define SYNC() sync_items()
#define __global
#define LOCAL
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wshift-negative-value"
#include "flow.cl"

#define ENTRY(name) {#name, name},
const flow_entry flow_entries[] = {FLOW_KERNELS(ENTRY)};
const int flow_count = sizeof flow_entries / sizeof flow_entries[0];

static void* run_item(void* user)
{
    me = user;
    me->kernel(me->out, me->in, me->n, me->shared);
    pthread_mutex_lock(&group.lock);
    group.running--;
    let_go_if_all_wait();
    pthread_mutex_unlock(&group.lock);
    return NULL;
}

void flow_run_group(flow_kernel kernel, int index, int local_size, int global_size, int* out,
                    const int* in, unsigned n, int* shared)
{
    item* items = calloc((size_t)local_size, sizeof *items);
    if (!items)
        abort();
    group.running = local_size;
    group.waiting = 0;
    for (int i = 0; i < local_size; i++) {
        items[i] = (item){kernel, index, i, local_size, global_size, out, in, n, shared, 0};
        if (pthread_create(&items[i].thread, NULL, run_item, &items[i]) != 0)
            abort();
    }
    for (int i = 0; i < local_size; i++)
        pthread_join(items[i].thread, NULL);
    free(items);
}
