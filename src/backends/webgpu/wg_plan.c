#include "wg_plan.h"

#include <string.h>

/* ---- grids ------------------------------------------------------------------------------------- */

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

bool wg_fold_grid(const uint64_t groups[3], uint32_t most, wg_fold* out)
{
    if (groups[0] <= most && groups[1] <= most && groups[2] <= UINT32_MAX) {
        *out = (wg_fold){.x = (uint32_t)groups[0],
                         .y = (uint32_t)groups[1],
                         .fold = {(uint32_t)groups[0], 1, (uint32_t)groups[1], 1},
                         .z_step = most};
        return true;
    }
    const uint64_t rows_x = divide_up(groups[0], most), rows_y = divide_up(groups[1], most);
    if (rows_x > most || rows_y > most / rows_x || groups[0] > UINT32_MAX || groups[1] > UINT32_MAX ||
        groups[2] > UINT32_MAX)
        return false;
    out->x = (uint32_t)divide_up(groups[0], rows_x);
    out->y = (uint32_t)divide_up(groups[1], rows_y);
    out->fold[0] = out->x;
    out->fold[1] = (uint32_t)rows_x;
    out->fold[2] = out->y;
    out->fold[3] = (uint32_t)rows_y;
    out->z_step = (uint32_t)(most / (rows_x * rows_y));
    return true;
}

bool wg_fold_has_ids(const wg_fold* fold, const uint32_t workgroup_size[3], uint64_t z_count)
{
    return (uint64_t)fold->x * fold->fold[1] <= UINT32_MAX / workgroup_size[0] &&
           (uint64_t)fold->y * fold->fold[3] <= UINT32_MAX / workgroup_size[1] &&
           z_count <= UINT32_MAX / workgroup_size[2];
}

uint32_t wg_fold_depth(const wg_fold* fold, uint64_t z_count, uint64_t base_z)
{
    const uint64_t left = z_count - base_z;
    return (uint32_t)(left < fold->z_step ? left : fold->z_step) * fold->fold[1] * fold->fold[3];
}

/* ---- bindings ---------------------------------------------------------------------------------- */

static uint64_t window_begin(const wg_argument* a, uint32_t align)
{
    return a->offset & ~(uint64_t)(align - 1);
}

/* Bindings are words. */
static uint64_t window_end(const wg_argument* a)
{
    return (a->offset + a->size + 3) & ~(uint64_t)3;
}

/* What the API refuses of two bindings of one buffer. */
static bool clash(const wg_argument* a, const wg_argument* b, uint32_t align)
{
    if (a->serial != b->serial || a->serial == 0 || (!a->writes && !b->writes))
        return false;
    return a->writes != b->writes || (window_begin(a, align) < window_end(b) && window_begin(b, align) < window_end(a));
}

static void widen(wg_window* window, uint64_t begin, uint64_t end)
{
    const uint64_t old_end = window->offset + window->size;
    if (begin < window->offset)
        window->offset = begin;
    window->size = (end > old_end ? end : old_end) - window->offset;
}

/* One window for all arguments of a buffer some of which clash, where it is small enough; else one for those that meet.
 */
static wg_place_result share(const wg_argument* arguments, uint32_t count, uint32_t align, uint64_t most,
                             wg_placement* out, uint32_t* out_argument)
{
    bool clashes[WG_MAX_BINDINGS] = {false}, writes[WG_MAX_BINDINGS], apart[WG_MAX_BINDINGS] = {false};
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t begin = window_begin(&arguments[i], align), end = window_end(&arguments[i]);
        writes[i] = arguments[i].writes;
        for (uint32_t k = 0; k < count; ++k) {
            if (arguments[k].serial != arguments[i].serial || arguments[k].serial == 0)
                continue;
            writes[i] = writes[i] || arguments[k].writes;
            for (uint32_t other = 0; other < count; ++other)
                clashes[i] = clashes[i] || (k != other && clash(&arguments[k], &arguments[other], align));
            begin = window_begin(&arguments[k], align) < begin ? window_begin(&arguments[k], align) : begin;
            end = window_end(&arguments[k]) > end ? window_end(&arguments[k]) : end;
        }
        apart[i] = end - begin > most;
    }
    out->window_count = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t begin = window_begin(&arguments[i], align), end = window_end(&arguments[i]);
        uint32_t into = out->window_count;
        for (uint32_t w = 0; clashes[i] && w < out->window_count;) {
            wg_window* window = &out->windows[w];
            if (window->serial != arguments[i].serial ||
                (apart[i] && (begin >= window->offset + window->size || window->offset >= end))) {
                ++w;
                continue;
            }
            if (into == out->window_count) {
                into = w++;
                widen(window, begin, end);
                continue;
            }
            /* It joins two windows that were apart. */
            widen(&out->windows[into], window->offset, window->offset + window->size);
            memmove(window, window + 1, (out->window_count - w - 1) * sizeof *window);
            --out->window_count;
            for (uint32_t k = 0; k < i; ++k)
                if (out->window_of[k] == w)
                    out->window_of[k] = (uint8_t)into;
                else if (out->window_of[k] > w)
                    --out->window_of[k];
        }
        if (into == out->window_count)
            out->windows[out->window_count++] = (wg_window){.serial = arguments[i].serial,
                                                            .offset = begin,
                                                            .size = end - begin,
                                                            .argument = i,
                                                            .writes = clashes[i] ? writes[i] : arguments[i].writes};
        out->window_of[i] = (uint8_t)into;
    }
    for (uint32_t w = 0; w < out->window_count; ++w)
        if (out->windows[w].size > most) {
            *out_argument = out->windows[w].argument;
            return WG_PLACE_ALIAS;
        }
    for (uint32_t i = 0; i < count; ++i)
        out->rests[i] = (uint32_t)(arguments[i].offset - out->windows[out->window_of[i]].offset);
    return WG_PLACE_OK;
}

wg_place_result wg_place(const wg_argument* arguments, uint32_t count, uint32_t align, uint64_t most, wg_placement* out,
                         uint32_t* out_argument)
{
    out->is_shared = false;
    out->window_count = count;
    for (uint32_t i = 0; i < count; ++i) {
        const wg_argument* a = &arguments[i];
        const uint64_t begin = window_begin(a, align), end = window_end(a);
        if (end - begin > most) {
            *out_argument = i;
            return WG_PLACE_TOO_LARGE;
        }
        out->windows[i] = (wg_window){a->serial, begin, end - begin, i, a->writes};
        out->window_of[i] = (uint8_t)i;
        out->rests[i] = (uint32_t)(a->offset - begin);
        for (uint32_t k = 0; k < i && !out->is_shared; ++k)
            out->is_shared = clash(a, &arguments[k], align);
    }
    return out->is_shared ? share(arguments, count, align, most, out, out_argument) : WG_PLACE_OK;
}
