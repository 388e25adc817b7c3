#include "doubled.khal.h"

#include <stdio.h>

int main(void)
{
    float data[1000];
    for (int i = 0; i < 1000; i++)
        data[i] = (float)i;
    khal_device* device = NULL;
    doubled* k = NULL;
    khal_buffer* buffer = NULL;
    khal_encoder* encoder = NULL;
    khal_pass* pass = NULL;
    khal_status status = khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_CPU}, &device);
    if (!status)
        status = doubled_load(device, &k);
    if (!status)
        status = khal_buffer_create(device, &(khal_buffer_desc){.data = data, .size = sizeof data, .element_size = 4}, &buffer);
    if (!status)
        status = khal_encoder_create(device, NULL, &encoder);
    if (!status) {
        khal_pass_begin(encoder, NULL, &pass);
        doubled_scale(k, pass, khal_threads(1000, 1, 1), &(doubled_scale_args){.data = khal_slice_float_all(buffer)});
        khal_pass_end(pass);
        status = khal_submit(encoder, NULL);
    }
    if (!status)
        status = khal_buffer_read(buffer, 0, data, sizeof data, KHAL_FOREVER);
    if (status)
        fprintf(stderr, "%s: %s\n", khal_status_name(status), khal_error_get()->message);
    for (int i = 0; !status && i < 1000; i++)
        if (data[i] != 2 * (float)i) {
            fprintf(stderr, "data[%d] is %g\n", i, (double)data[i]);
            status = KHAL_EXECUTION_FAILED;
        }
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    doubled_release(k);
    khal_device_release(device);
    if (!status)
        puts("doubled 1000 values");
    return status != KHAL_OK;
}
