/* Photographs in, PNG out, by libjpeg and libpng. */
#ifndef EDGES_IMAGE_H
#define EDGES_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct image {
    uint32_t width, height;
    uint8_t* rgb; /* width * height * 3 bytes, the caller's to free */
} image;

/* Reads a JPEG or PNG file, told apart by content. Prints what went wrong. */
bool image_read(const char* path, image* out_image);
/* Writes a grey picture. Prints what went wrong. */
bool image_write_grey(const char* path, uint32_t width, uint32_t height, const uint8_t* grey);

#endif
