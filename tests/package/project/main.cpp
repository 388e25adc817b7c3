#include "doubled.khal.h"

#include <cstdio>
#include <vector>

int main()
{
    std::vector<float> data(1000);
    for (size_t i = 0; i < data.size(); i++)
        data[i] = float(i);
    khal_device_desc device_desc = {};
    device_desc.backend = KHAL_BACKEND_CPU;
    khal_device* device = nullptr;
    doubled* k = nullptr;
    khal_buffer* buffer = nullptr;
    khal_encoder* encoder = nullptr;
    khal_pass* pass = nullptr;
    khal_buffer_desc desc = {};
    desc.data = data.data();
    desc.size = data.size() * sizeof(float);
    desc.element_size = sizeof(float);
    khal_status status = khal_device_open(&device_desc, &device);
    if (!status)
        status = doubled_load(device, &k);
    if (!status)
        status = khal_buffer_create(device, &desc, &buffer);
    if (!status)
        status = khal_encoder_create(device, nullptr, &encoder);
    if (!status) {
        khal_pass_begin(encoder, nullptr, &pass);
        const doubled_scale_args args = {khal_slice_float_all(buffer)};
        doubled_scale(k, pass, khal_threads(data.size(), 1, 1), &args);
        khal_pass_end(pass);
        status = khal_submit(encoder, nullptr);
    }
    if (!status)
        status = khal_buffer_read(buffer, 0, data.data(), desc.size, KHAL_FOREVER);
    if (status)
        std::fprintf(stderr, "%s: %s\n", khal_status_name(status), khal_error_get()->message);
    for (size_t i = 0; !status && i < data.size(); i++)
        if (data[i] != 2 * float(i)) {
            std::fprintf(stderr, "data[%zu] is %g\n", i, double(data[i]));
            status = KHAL_EXECUTION_FAILED;
        }
    khal_encoder_release(encoder);
    khal_buffer_release(buffer);
    doubled_release(k);
    khal_device_release(device);
    if (!status)
        std::puts("doubled 1000 values");
    return status != KHAL_OK;
}
