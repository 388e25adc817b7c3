/* Sum and largest of many floats: a tree in local memory, sized at launch, and two dispatches of which the second reads
 * what the first wrote; khal sees that and orders them. */
#include "../common/example.h"
#include "reduce.khal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 10000019, GROUPS = 1024, GROUP_SIZE = 256, ROUNDS = 5 };

typedef struct reducer {
    reduce* kernels;
    khal_buffer *values, *shares, *result;
    khal_encoder* encoder;
    khal_commands* commands; /* recorded once, submitted each time */
} reducer;

static khal_status record(reducer* r)
{
    const khal_grid many = khal_grid_with_workgroup(khal_groups(GROUPS, 1, 1), GROUP_SIZE, 1, 1);
    const khal_grid one = khal_grid_with_workgroup(khal_groups(1, 1, 1), GROUP_SIZE, 1, 1);
    khal_pass* pass = NULL;
    khal_pass_begin(r->encoder, &(khal_pass_desc){.label = "reduce"}, &pass);
    reduce_reduce_values(r->kernels, pass, many,
                         &(reduce_reduce_values_args){.values = khal_slice_float_all(r->values),
                                                      .count = COUNT,
                                                      .shares = khal_slice_float2_all(r->shares),
                                                      .scratch_count = GROUP_SIZE});
    reduce_reduce_shares(r->kernels, pass, one,
                         &(reduce_reduce_shares_args){.shares = khal_slice_float2_all(r->shares),
                                                      .count = GROUPS,
                                                      .result = khal_slice_float2_all(r->result),
                                                      .scratch_count = GROUP_SIZE});
    khal_pass_end(pass);
    return khal_encoder_finish(r->encoder, &r->commands); /* with the first error of those above, if there was one */
}

static bool set_up(khal_device* device, const float* values, reducer* r)
{
    const khal_buffer_desc input = {.data = values, .size = COUNT * sizeof(float), .element_size = sizeof(float)};
    const khal_buffer_desc pairs = {.size = GROUPS * 2 * sizeof(float), .element_size = 2 * sizeof(float)};
    const khal_buffer_desc pair = {.size = 2 * sizeof(float), .element_size = 2 * sizeof(float)};
    return !(reduce_load(device, &r->kernels) || khal_buffer_create(device, &input, &r->values)
             || khal_buffer_create(device, &pairs, &r->shares) || khal_buffer_create(device, &pair, &r->result)
             || khal_encoder_create(device, NULL, &r->encoder) || record(r));
}

static bool measure(reducer* r, float found[2], double* out_seconds)
{
    *out_seconds = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = example_seconds();
        if (khal_commands_submit(r->commands, NULL)
            || khal_buffer_read(r->result, 0, found, 2 * sizeof found[0], KHAL_FOREVER))
            return false;
        *out_seconds = fmin(*out_seconds, example_seconds() - start);
    }
    return true;
}

static void tear_down(reducer* r)
{
    khal_commands_release(r->commands);
    khal_encoder_release(r->encoder);
    khal_buffer_release(r->result);
    khal_buffer_release(r->shares);
    khal_buffer_release(r->values);
    reduce_release(r->kernels);
}

/* Returns the seconds of a plain float loop; the sum to compare with is a double's, whose rounding does not count. */
static double plain_reduce(const float* values, double* out_sum, float* out_largest)
{
    *out_sum = 0;
    for (size_t i = 0; i < COUNT; i++)
        *out_sum += values[i];

    const double start = example_seconds();
    float sum = 0, largest = -INFINITY;
    for (size_t i = 0; i < COUNT; i++) {
        sum += values[i];
        largest = values[i] > largest ? values[i] : largest;
    }
    volatile const float kept = sum; /* or the compiler drops the loop */
    (void)kept;
    *out_largest = largest;
    return example_seconds() - start;
}

static int run(khal_device* device, float* values)
{
    uint32_t random = 12345;
    for (size_t i = 0; i < COUNT; i++) {
        random = random * 1664525u + 1013904223u;
        values[i] = (float)(random >> 8) * 0x1p-24f;
    }
    values[COUNT - 1] = 1.5f; /* the largest stands last, beyond the last whole group */

    reducer r = {0};
    float found[2], largest;
    double seconds, sum;
    int status;
    if (set_up(device, values, &r) && measure(&r, found, &seconds)) {
        const double plain = plain_reduce(values, &sum, &largest);
        const double error = example_error(fabsf(found[1] - largest), found[0] / sum, 1);
        status = example_report(device, "reduce, sum and largest of 10000019 floats", error, 1e-5, seconds, plain);
    } else {
        status = example_fail();
    }
    tear_down(&r);
    return status;
}

int main(int argc, char** argv)
{
    khal_device* device = example_open(&argc, argv);
    float* values = malloc(COUNT * sizeof *values);
    if (!values)
        fputs("error: out of memory\n", stderr);
    const int status = device && values ? run(device, values) : 1;
    free(values);
    khal_device_release(device);
    return status;
}
