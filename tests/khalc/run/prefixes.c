/* Headers whose prefixes are names of what generated code has: they go into one program, and their
 * launchers launch their own kernels. */
#include "args.khal.h"
#include "bindings.khal.h"
#include "desc.khal.h"
#include "device.khal.h"
#include "file.khal.h"
#include "grid.khal.h"
#include "k.khal.h"
#include "local.khal.h"
#include "pass.khal.h"
#include "sizes.khal.h"
#include "status.khal.h"
#include "values.khal.h"

#include <stdint.h>
#include <stdio.h>

static const int32_t numbers[2] = {1, 40};

static int check(const char* prefix, const char* kernel, khal_buffer* out, int32_t wanted)
{
    int32_t got = 0;
    if (khal_buffer_read(out, 0, &got, sizeof got, KHAL_FOREVER)) {
        printf("FAIL: %s_%s: %s\n", prefix, kernel, khal_error_get()->message);
        return 1;
    }
    if (got != wanted)
        printf("FAIL: %s_%s: %d, should be %d\n", prefix, kernel, (int)got, (int)wanted);
    return got != wanted;
}

/* The first pass has the kernel with all the arguments, the second the small ones, in turn. */
#define TEST(P)                                                                                    \
    static int test_##P(khal_device* dev, khal_encoder* enc, khal_buffer* out, khal_buffer* in)    \
    {                                                                                              \
        struct P* p = NULL;                                                                        \
        khal_pass* ps = NULL;                                                                      \
        int failures = 0;                                                                          \
        const khal_grid one = khal_threads(1, 1, 1);                                               \
        if (P##_load(dev, &p)) {                                                                   \
            printf("FAIL: %s_load: %s\n", #P, khal_error_get()->message);                          \
            return 1;                                                                              \
        }                                                                                          \
        khal_pass_begin(enc, NULL, &ps);                                                           \
        P##_sizes(p, ps, one,                                                                      \
                  &(struct P##_sizes_args){.all = khal_slice_void_all(out),                        \
                                           .device = khal_slice_void_all(in),                      \
                                           .pass_count = sizeof(int32_t),                          \
                                           .k = 100,                                               \
                                           .count = 1});                                           \
        khal_pass_end(ps);                                                                         \
        failures += khal_submit(enc, NULL) || check(#P, "sizes", out, 141);                        \
        khal_pass_begin(enc, NULL, &ps);                                                           \
        P##_bindings(p, ps, one,                                                                   \
                     &(struct P##_bindings_args){.bindings = khal_slice_int_all(out)});            \
        khal_pass_end(ps);                                                                         \
        failures += khal_submit(enc, NULL) || check(#P, "bindings", out, 2);                       \
        khal_pass_begin(enc, NULL, &ps);                                                           \
        P##_locals(p, ps, one, &(struct P##_locals_args){.desc = khal_slice_int_all(out)});        \
        khal_pass_end(ps);                                                                         \
        failures += khal_submit(enc, NULL) || check(#P, "locals", out, 3);                         \
        khal_pass_begin(enc, NULL, &ps);                                                           \
        P##_device(p, ps, one, &(struct P##_device_args){.k = khal_slice_int_all(out)});           \
        P##_k(p, ps, one, &(struct P##_k_args){.args = khal_slice_int_all(out)});                  \
        khal_pass_end(ps);                                                                         \
        failures += khal_submit(enc, NULL) || check(#P, "k", out, 5);                              \
        P##_release(p);                                                                            \
        return failures;                                                                           \
    }

#define PREFIXES(X)                                                                                \
    X(args) X(bindings) X(desc) X(device) X(file) X(grid) X(k) X(local) X(pass) X(sizes) X(status) \
        X(values)

PREFIXES(TEST)

int main(void)
{
    khal_device* dev = NULL;
    khal_encoder* enc = NULL;
    khal_buffer *out = NULL, *in = NULL;
    if (khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &dev) ||
        khal_encoder_create(dev, NULL, &enc) ||
        khal_buffer_create(dev, &(khal_buffer_desc){.size = sizeof numbers}, &out) ||
        khal_buffer_create(dev, &(khal_buffer_desc){.data = numbers, .size = sizeof numbers},
                           &in)) {
        printf("FAIL: %s\n", khal_error_get()->message);
        return 1;
    }
    int failures = 0, count = 0;
#define RUN(P) failures += test_##P(dev, enc, out, in), count++;
    PREFIXES(RUN)
    khal_buffer_release(in);
    khal_buffer_release(out);
    khal_encoder_release(enc);
    khal_device_release(dev);
    printf("%d prefixes, %d failures\n", count, failures);
    return failures != 0;
}
