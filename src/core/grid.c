#include "core.h"

#define WANTED_ITEMS 256u /* work-items of a group where khal chooses */

khal_grid khal_groups(uint64_t x, uint64_t y, uint64_t z)
{
    khal_grid grid = {.kind = KHAL_GRID_GROUPS, .x = x, .y = y, .z = z};
    return grid;
}

khal_grid khal_threads(uint64_t x, uint64_t y, uint64_t z)
{
    khal_grid grid = {.kind = KHAL_GRID_THREADS, .x = x, .y = y, .z = z};
    return grid;
}

khal_grid khal_indirect(khal_buffer* buffer, uint64_t offset)
{
    khal_grid grid = {.kind = KHAL_GRID_INDIRECT, .buffer = buffer, .offset = offset};
    return grid;
}

khal_grid khal_grid_with_workgroup(khal_grid grid, uint32_t x, uint32_t y, uint32_t z)
{
    grid.workgroup_size[0] = x;
    grid.workgroup_size[1] = y;
    grid.workgroup_size[2] = z;
    return grid;
}

/* False on overflow. */
static bool multiply(uint64_t a, uint64_t b, uint64_t* out)
{
    if (((a | b) >> 32) != 0 && a != 0 && b > UINT64_MAX / a)
        return false;
    *out = a * b;
    return true;
}

static uint64_t divide_up(uint64_t n, uint32_t by)
{
    if (n <= UINT32_MAX) /* several times faster */
        return (uint32_t)n / by + ((uint32_t)n % by != 0);
    return n / by + (n % by != 0);
}

/* 256 x 1 x 1, 16 x 16 x 1 or 8 x 8 x 4, no larger than the threads asked for and the device's
 * limits; what a short dimension leaves goes to the others. */
static void choose(const khal_limits* limits, const khal_grid* grid, uint32_t out[3])
{
    static const uint32_t usual[3][3] = {{256, 1, 1}, {16, 16, 1}, {8, 8, 4}};
    const uint64_t n[3] = {grid->x, grid->y, grid->z};
    const bool is_indirect = grid->kind == KHAL_GRID_INDIRECT;
    const uint32_t dimension = is_indirect ? 0 : n[2] > 1 ? 2 : n[1] > 1 ? 1 : 0;
    uint32_t most[3];
    for (int i = 0; i < 3; ++i) {
        most[i] = limits->workgroup_size[i] > 0 ? limits->workgroup_size[i] : 1;
        if (grid->kind == KHAL_GRID_THREADS && n[i] < most[i])
            most[i] = n[i] > 0 ? (uint32_t)n[i] : 1;
        out[i] = usual[dimension][i] < most[i] ? usual[dimension][i] : most[i];
    }
    uint32_t wanted =
        limits->workgroup_invocations < WANTED_ITEMS ? limits->workgroup_invocations : WANTED_ITEMS;
    if (wanted == 0)
        wanted = 1;
    for (int i = 2; i >= 0; --i)
        while (out[0] * out[1] * out[2] > wanted && out[i] > 1)
            out[i] = (out[i] + 1) / 2;
    for (uint32_t i = 0; i <= dimension; ++i)
        while (out[0] * out[1] * out[2] * 2 <= wanted && out[i] * 2 <= most[i])
            out[i] *= 2;
}

static khal_status workgroup(const khal_function* function, const khal_grid* grid, uint32_t out[3])
{
    const khal_kernel_info* info = function->info;
    khal_device* device = function->object.device;
    const khal_limits* limits = &device->info.limits;
    const uint32_t* asked = grid->workgroup_size;
    const bool is_asked = (asked[0] | asked[1] | asked[2]) != 0;
    if (info->workgroup_size[0] != 0) {
        for (int i = 0; i < 3; ++i) {
            out[i] = info->workgroup_size[i] > 0 ? info->workgroup_size[i] : 1;
            if (KHAL__UNLIKELY(is_asked && (asked[i] > 0 ? asked[i] : 1) != out[i]))
                return khal__fail(
                    device, KHAL_ERROR_WORKGROUP_SIZE, 0, function->object.label,
                    "work-group size %u x %u x %u; kernel %s is made for %u x %u x %u", asked[0],
                    asked[1], asked[2], info->name, info->workgroup_size[0],
                    info->workgroup_size[1], info->workgroup_size[2]);
        }
        return KHAL_OK;
    }
    if (!is_asked) {
        if (grid->kind == KHAL_GRID_THREADS && grid->x >= WANTED_ITEMS &&
            (grid->y | grid->z) == 1 && limits->workgroup_size[0] >= WANTED_ITEMS &&
            limits->workgroup_invocations >= WANTED_ITEMS) {
            out[0] = WANTED_ITEMS;
            out[1] = out[2] = 1;
            return KHAL_OK;
        }
        choose(limits, grid, out);
        return KHAL_OK;
    }
    uint64_t items = 1;
    bool fits = true;
    for (int i = 0; i < 3; ++i) {
        out[i] = asked[i] > 0 ? asked[i] : 1;
        fits = fits && out[i] <= limits->workgroup_size[i] && multiply(items, out[i], &items);
    }
    if (KHAL__UNLIKELY(!fits || items > limits->workgroup_invocations))
        return khal__fail(
            device, KHAL_ERROR_WORKGROUP_LIMIT, 0, function->object.label,
            "work-group size %u x %u x %u; the device takes %u x %u x %u and %u in all", asked[0],
            asked[1], asked[2], limits->workgroup_size[0], limits->workgroup_size[1],
            limits->workgroup_size[2], limits->workgroup_invocations);
    return KHAL_OK;
}

static KHAL__COLD khal_status fail_grid(const khal_function* function,
                                        const khal__resolved_grid* grid)
{
    const uint64_t* most = function->object.device->info.limits.group_count;
    return khal__fail(function->object.device, KHAL_ERROR_GRID, 0, function->object.label,
                      "%llu x %llu x %llu work-groups of %u x %u x %u; the device takes %llu x "
                      "%llu x %llu, and 2^64 - 1 in all",
                      (unsigned long long)grid->group_count[0],
                      (unsigned long long)grid->group_count[1],
                      (unsigned long long)grid->group_count[2], grid->workgroup_size[0],
                      grid->workgroup_size[1], grid->workgroup_size[2], (unsigned long long)most[0],
                      (unsigned long long)most[1], (unsigned long long)most[2]);
}

/* Each dimension is within the limits; together they are not. */
static KHAL__COLD khal_status fail_fold(const khal_function* function,
                                        const khal__resolved_grid* grid)
{
    return khal__fail(
        function->object.device, KHAL_ERROR_GRID, 0, function->object.label,
        "%llu x %llu x %llu work-groups of %u x %u x %u %s",
        (unsigned long long)grid->group_count[0], (unsigned long long)grid->group_count[1],
        (unsigned long long)grid->group_count[2], grid->workgroup_size[0], grid->workgroup_size[1],
        grid->workgroup_size[2],
        (function->info->flags & KHAL_KERNEL_IS_FOREIGN) != 0
            ? "are more than the device takes without folding, which foreign code can't be"
            : "are more than the device can fold, or have ids beyond 32 bits");
}

khal_status khal__grid_resolve(const khal_function* function, const khal_grid* grid,
                               khal__resolved_grid* out)
{
    const khal_status status = workgroup(function, grid, out->workgroup_size);
    if (KHAL__UNLIKELY(status != KHAL_OK))
        return status;
    const uint64_t n[3] = {grid->x, grid->y, grid->z};
    const uint64_t* most = function->object.device->info.limits.group_count;
    out->is_empty = n[0] == 0 || n[1] == 0 || n[2] == 0;
    uint64_t groups = 1;
    bool fits = true;
    out->work_items = 1;
    for (int i = 0; i < 3; ++i) {
        const uint32_t size = out->workgroup_size[i];
        if (grid->kind == KHAL_GRID_THREADS)
            out->group_count[i] = size == 1 || n[i] <= 1 ? n[i] : divide_up(n[i], size);
        else
            out->group_count[i] = n[i];
        out->global_size[i] = 0;
        fits = fits && multiply(out->group_count[i], size, &out->global_size[i]);
        if (!out->is_empty)
            fits = fits && out->group_count[i] <= most[i] &&
                   multiply(groups, out->group_count[i], &groups);
        if (grid->kind == KHAL_GRID_THREADS && function->clips)
            out->global_size[i] = n[i];
        if (!multiply(out->work_items, out->global_size[i], &out->work_items))
            out->work_items = UINT64_MAX;
    }
    if (KHAL__UNLIKELY(!fits && !out->is_empty))
        return fail_grid(function, out);
    const khal__backend* backend = function->object.device->backend;
    if (backend->grid_fits != NULL && !out->is_empty &&
        !backend->grid_fits((khal_function*)function, out->workgroup_size, out->group_count))
        return fail_fold(function, out);
    return KHAL_OK;
}

khal_status khal_grid_resolve(const khal_function* function, khal_grid grid,
                              uint32_t out_workgroup_size[3], uint64_t out_group_count[3])
{
    if (function == NULL || out_workgroup_size == NULL || out_group_count == NULL)
        return khal__fail_null(function != NULL ? function->object.device : NULL, NULL,
                               function == NULL             ? "function"
                               : out_workgroup_size == NULL ? "out_workgroup_size"
                                                            : "out_group_count");
    if (grid.kind != KHAL_GRID_GROUPS && grid.kind != KHAL_GRID_THREADS)
        return khal__fail(function->object.device, KHAL_ERROR_ARGUMENT_VALUE, 0,
                          function->object.label, "grid kind %d has no counts that the host knows",
                          (int)grid.kind);
    khal__resolved_grid resolved;
    const khal_status status = khal__grid_resolve(function, &grid, &resolved);
    if (status != KHAL_OK)
        return status;
    memcpy(out_workgroup_size, resolved.workgroup_size, sizeof resolved.workgroup_size);
    memcpy(out_group_count, resolved.group_count, sizeof resolved.group_count);
    return KHAL_OK;
}
