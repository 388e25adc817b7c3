/* The first program: a[i] += b[i] on a device. Status 0 is success, so calls chain with || and stop at the first failure. */
#include "../common/example.h"
#include "kernels.khal.h"

#include <math.h>

enum { N = 1000003, ROUNDS = 10 };
static float x[N], y[N], expected[N];

int main(int argc, char** argv)
{
    for (int i = 0; i < N; i++) {
        expected[i] = x[i] = (float)(i % 1000);
        y[i] = 0.5f * (float)(i % 77);
    }

    khal_device* device = example_open(&argc, argv);
    kernels* k = NULL;
    khal_buffer *a = NULL, *b = NULL;
    khal_encoder* encoder = NULL;
    if (!device)
        return 1;
    if (kernels_load(device, &k)
        || khal_buffer_create(device, &(khal_buffer_desc){.data = x, .size = sizeof x, .element_size = sizeof x[0]}, &a)
        || khal_buffer_create(device, &(khal_buffer_desc){.data = y, .size = sizeof y, .element_size = sizeof y[0]}, &b)
        || khal_encoder_create(device, NULL, &encoder))
        return example_fail();

    double best = INFINITY, plain = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = example_seconds();
        khal_pass* pass = NULL; /* recording calls need no check: the first error comes out of khal_submit */
        khal_pass_begin(encoder, &(khal_pass_desc){.label = "add"}, &pass);
        kernels_add_assign(k, pass, khal_threads(N, 1, 1),
                           &(kernels_add_assign_args){
                               .a = khal_slice_float_all(a), .b = khal_slice_float_all(b), .n = N});
        khal_pass_end(pass);
        if (khal_submit(encoder, NULL) || khal_device_wait(device, KHAL_FOREVER))
            return example_fail();
        best = fmin(best, example_seconds() - start);

        const double plain_start = example_seconds();
        for (int i = 0; i < N; i++)
            expected[i] += y[i];
        plain = fmin(plain, example_seconds() - plain_start);
    }
    if (khal_buffer_read(a, 0, x, sizeof x, KHAL_FOREVER))
        return example_fail();

    double error = 0;
    for (int i = 0; i < N; i++)
        error = example_error(error, x[i], expected[i]);
    const int status = example_report(device, "quickstart, 1000003 additions", error, 0, best, plain);
    khal_encoder_release(encoder);
    khal_buffer_release(b);
    khal_buffer_release(a);
    kernels_release(k);
    khal_device_release(device);
    return status;
}
