/* Edges of a photograph: edges [--device NAME] [PHOTOGRAPH [PICTURE.png]]
 * Four kernels over tiles in local memory. The last one is submitted until it finds nothing more to do. The picture is
 * compared with plain C's, byte by byte. */
#include "../common/example.h"
#include "edges.khal.h"
#include "image.h"
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOW = 20000, HIGH = 60000, ROUNDS = 5 };

/* Where Debian's python3-matplotlib puts the photograph of Grace Hopper. */
static const char* const default_photograph = "/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg";

typedef struct detector {
    edges* kernels;
    uint32_t width, height;
    khal_buffer *rgb, *blurred, *gradients, *found, *other, *count;
    khal_encoder* encoder;
    khal_commands *detect, *connect;
} detector;

static khal_status record_detect(detector* d)
{
    const khal_grid grid = khal_threads(d->width, d->height, 1);
    khal_pass* pass = NULL;
    khal_pass_begin(d->encoder, &(khal_pass_desc){.label = "detect"}, &pass);
    edges_blur(d->kernels, pass, grid,
               &(edges_blur_args){.rgb = khal_slice_uchar_all(d->rgb),
                                  .width = d->width,
                                  .height = d->height,
                                  .blurred = khal_slice_ushort_all(d->blurred)});
    edges_gradient(d->kernels, pass, grid,
                   &(edges_gradient_args){.blurred = khal_slice_ushort_all(d->blurred),
                                          .width = d->width,
                                          .height = d->height,
                                          .gradients = khal_slice_int2_all(d->gradients)});
    edges_thin(d->kernels, pass, grid,
               &(edges_thin_args){.gradients = khal_slice_int2_all(d->gradients),
                                  .width = d->width,
                                  .height = d->height,
                                  .low = LOW,
                                  .high = HIGH,
                                  .edges = khal_slice_uchar_all(d->found)});
    khal_pass_end(pass);
    return khal_encoder_finish(d->encoder, &d->detect);
}

static void connect_into(detector* d, khal_pass* pass, khal_buffer* from, khal_buffer* to)
{
    edges_connect(d->kernels, pass, khal_threads(d->width, d->height, 1),
                  &(edges_connect_args){.edges = khal_slice_uchar_all(from),
                                        .width = d->width,
                                        .height = d->height,
                                        .connected = khal_slice_uchar_all(to),
                                        .count = khal_slice_uint_all(d->count)});
}

static khal_status record_connect(detector* d)
{
    khal_pass* pass = NULL;
    khal_encoder_fill(d->encoder, khal_slice_all(d->count), &(uint32_t){0}, sizeof(uint32_t));
    khal_pass_begin(d->encoder, &(khal_pass_desc){.label = "connect"}, &pass);
    connect_into(d, pass, d->found, d->other);
    connect_into(d, pass, d->other, d->found);
    khal_pass_end(pass);
    return khal_encoder_finish(d->encoder, &d->connect);
}

static bool set_up(khal_device* device, const image* photo, detector* d)
{
    const uint64_t size = (uint64_t)photo->width * photo->height;
    d->width = photo->width;
    d->height = photo->height;
    return !(edges_load(device, &d->kernels)
             || khal_buffer_create(device, &(khal_buffer_desc){.size = size * 3, .data = photo->rgb}, &d->rgb)
             || khal_buffer_create(device, &(khal_buffer_desc){.size = size * 2, .element_size = 2}, &d->blurred)
             || khal_buffer_create(device, &(khal_buffer_desc){.size = size * 8, .element_size = 8}, &d->gradients)
             || khal_buffer_create(device, &(khal_buffer_desc){.size = size}, &d->found)
             || khal_buffer_create(device, &(khal_buffer_desc){.size = size}, &d->other)
             || khal_buffer_create(device, &(khal_buffer_desc){.size = 4, .element_size = 4}, &d->count)
             || khal_encoder_create(device, NULL, &d->encoder) || record_detect(d) || record_connect(d));
}

static khal_status finish(detector* d) /* white on black */
{
    const uint32_t size = d->width * d->height;
    khal_pass* pass = NULL;
    khal_pass_begin(d->encoder, NULL, &pass);
    edges_finish(d->kernels, pass, khal_threads(size, 1, 1),
                 &(edges_finish_args){.edges = khal_slice_uchar_all(d->found), .size = size});
    khal_pass_end(pass);
    return khal_submit(d->encoder, NULL);
}

static bool detect(detector* d, uint8_t* picture)
{
    uint32_t connected;
    if (khal_commands_submit(d->detect, NULL))
        return false;
    do {
        if (khal_commands_submit(d->connect, NULL)
            || khal_buffer_read(d->count, 0, &connected, sizeof connected, KHAL_FOREVER))
            return false;
    } while (connected > 0);
    return !(finish(d) || khal_buffer_read(d->found, 0, picture, (size_t)d->width * d->height, KHAL_FOREVER));
}

static void tear_down(detector* d)
{
    khal_commands_release(d->connect);
    khal_commands_release(d->detect);
    khal_encoder_release(d->encoder);
    khal_buffer_release(d->count);
    khal_buffer_release(d->other);
    khal_buffer_release(d->found);
    khal_buffer_release(d->gradients);
    khal_buffer_release(d->blurred);
    khal_buffer_release(d->rgb);
    edges_release(d->kernels);
}

static int run(khal_device* device, const image* photo, uint8_t* picture, uint8_t* plain)
{
    const size_t size = (size_t)photo->width * photo->height;
    detector d = {0};
    double seconds = INFINITY, plain_seconds = INFINITY;
    bool good = set_up(device, photo, &d);
    for (int round = 0; good && round < ROUNDS; round++) {
        const double start = example_seconds();
        good = detect(&d, picture);
        seconds = fmin(seconds, example_seconds() - start);
    }
    tear_down(&d);
    if (!good)
        return example_fail();

    for (int round = 0; round < ROUNDS; round++) {
        const double start = example_seconds();
        if (!plain_edges(photo->rgb, photo->width, photo->height, LOW, HIGH, plain))
            return fputs("error: out of memory\n", stderr), 1;
        plain_seconds = fmin(plain_seconds, example_seconds() - start);
    }
    double error = 0;
    for (size_t i = 0; i < size; i++)
        error = example_error(error, picture[i], plain[i]);
    char what[80];
    snprintf(what, sizeof what, "edges, %u x %u pixels", photo->width, photo->height);
    return example_report(device, what, error, 0, seconds, plain_seconds);
}

int main(int argc, char** argv)
{
    khal_device* device = example_open(&argc, argv);
    const char* input = argc > 1 ? argv[1] : default_photograph;
    const char* output = argc > 2 ? argv[2] : NULL;
    image photo = {0};
    uint8_t* pictures = NULL; /* the device's and plain C's */
    int status = 1;
    if (device && image_read(input, &photo)) {
        const size_t size = (size_t)photo.width * photo.height;
        pictures = malloc(2 * size);
        if (!pictures)
            fputs("error: out of memory\n", stderr);
        else
            status = run(device, &photo, pictures, pictures + size);
        if (status == 0 && output && !image_write_grey(output, photo.width, photo.height, pictures))
            status = 1;
    }
    free(pictures);
    free(photo.rgb);
    khal_device_release(device);
    return status;
}
