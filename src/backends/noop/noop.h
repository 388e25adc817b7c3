/* Control of a noop device, for tests: work that is not done until told, calls that fail, a device
 * that is lost. */
#ifndef KHAL_NOOP_H
#define KHAL_NOOP_H

#include <stdatomic.h>

#include "../../core/backend.h"

typedef enum noop_call {
    NOOP_DEVICE_OPEN,
    NOOP_BUFFER_CREATE,
    NOOP_BUFFER_WRITE,
    NOOP_BUFFER_READ,
    NOOP_BUFFER_MAP,
    NOOP_BUFFER_FLUSH,
    NOOP_BUFFER_INVALIDATE,
    NOOP_MODULE_CREATE,
    NOOP_MODULE_POLL,
    NOOP_FUNCTION_CREATE,
    NOOP_FUNCTION_POLL,
    NOOP_SUBMIT,
    NOOP_CALL_COUNT
} noop_call;

typedef void (*noop_observe_fn)(void* user, const khal__submission* submission);

typedef struct noop_control {
    atomic_ullong calls[NOOP_CALL_COUNT]; /* so far */
    atomic_uint fail[NOOP_CALL_COUNT]; /* n: the n-th call from now fails; 0: none. Of device_open:
                                          see noop_fail_open */
    atomic_uint pending_polls;         /* polls of modules and functions that are not ready yet */
    atomic_bool fail_execution;        /* submissions from now on fail when they run */
    atomic_bool lose_timestamps;       /* no values are given */
    atomic_ullong replays_made, replays_updated, replays_reused, replays_destroyed; /* so far */
    atomic_ullong most_groups; /* of x, y and z together that a grid may have; 0: any */
    atomic_uint most_level;    /* of PTX and cubins in libraries that are taken, where not 0 */
    noop_observe_fn observe;
    void* observe_user;       /* sees each submission; set it before the first */
    atomic_ullong last_after; /* `after` of the last write, read, map or invalidate */
} noop_control;

noop_control* noop_control_of(khal_device* device);
/* The n-th opening of a noop device from now fails; for the whole process. */
void noop_fail_open(unsigned n);
/* The driver of noop devices is missing, or there again; for the whole process. */
void noop_be_missing(bool missing);
/* Submissions after `ticket` are not complete until a later call says so; UINT64_MAX: all are. */
void noop_hold(khal_device* device, khal_ticket ticket);
void noop_lose(khal_device* device, const char* cause);

#endif
