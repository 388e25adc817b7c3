/* What of a dispatch is arithmetic alone: grids folded, arguments laid on bindings. */
#ifndef KHAL_WG_PLAN_H
#define KHAL_WG_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define WG_MAX_BINDINGS 64u

/* ---- grids ------------------------------------------------------------------------------------- */

/* A logical grid as calls of the API: the first runs the logical z's from 0, each next one the z_step that follow. */
typedef struct wg_fold {
    uint32_t x, y;    /* groups of one call; its z is wg_fold_depth() */
    uint32_t fold[4]; /* khal_block.fold */
    uint32_t z_step;
} wg_fold;

/* `most`: groups that the API takes in a dimension. False: x and y are too many to fold, or z does not fit 32 bits.
 * Groups are never 0. */
bool wg_fold_grid(const uint64_t groups[3], uint32_t most, wg_fold* out);
/* Whether every work-item's id fits 32 bits, those of surplus groups too, which must not look like others. */
bool wg_fold_has_ids(const wg_fold* fold, const uint32_t workgroup_size[3], uint64_t z_count);
/* Groups in z of the call whose first logical z is `base_z`. */
uint32_t wg_fold_depth(const wg_fold* fold, uint64_t z_count, uint64_t base_z);

/* ---- bindings ---------------------------------------------------------------------------------- */

/* A slice as it is to be bound. */
typedef struct wg_argument {
    uint64_t serial; /* of its buffer; 0: an empty slice, which is bound to memory of its own */
    uint64_t offset, size;
    bool writes;
} wg_argument;

/* A range of a buffer that one binding gets. */
typedef struct wg_window {
    uint64_t serial, offset, size;
    uint32_t argument; /* the first that it holds */
    bool writes;       /* it must be bound for writing */
} wg_window;

typedef struct wg_placement {
    bool is_shared; /* arguments were put together: the kernel's shared variant runs */
    uint32_t window_count;
    wg_window windows[WG_MAX_BINDINGS];
    uint8_t window_of[WG_MAX_BINDINGS]; /* of each argument */
    uint32_t rests[WG_MAX_BINDINGS];    /* bytes from the window's begin to the argument */
} wg_placement;

typedef enum wg_place_result {
    WG_PLACE_OK,
    WG_PLACE_TOO_LARGE, /* *out_argument alone is larger than a binding may be */
    WG_PLACE_ALIAS,     /* *out_argument overlaps with others, and all together are */
} wg_place_result;

/* `align` (a power of two) of offsets and `most` bytes of a binding are the device's. */
wg_place_result wg_place(const wg_argument* arguments, uint32_t count, uint32_t align, uint64_t most, wg_placement* out,
                         uint32_t* out_argument);

#endif
