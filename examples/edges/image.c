#include "image.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

typedef struct jpeg_failure { /* libjpeg's way to say that it gives up */
    struct jpeg_error_mgr manager;
    jmp_buf out;
} jpeg_failure;

static void jpeg_give_up(j_common_ptr info)
{
    info->err->output_message(info);
    longjmp(((jpeg_failure*)info->err)->out, 1);
}

static bool read_jpeg(FILE* file, image* out_image)
{
    struct jpeg_decompress_struct jpeg;
    jpeg_failure failure;
    uint8_t* volatile rgb = NULL; /* volatile: kept across longjmp */
    jpeg.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = jpeg_give_up;
    if (setjmp(failure.out)) {
        jpeg_destroy_decompress(&jpeg);
        free(rgb);
        return false;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, file);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    const size_t row = (size_t)jpeg.output_width * 3;
    rgb = malloc(row * jpeg.output_height);
    if (!rgb)
        fputs("error: out of memory\n", stderr);
    while (rgb && jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW line = rgb + row * jpeg.output_scanline;
        jpeg_read_scanlines(&jpeg, &line, 1);
    }
    *out_image = (image){jpeg.output_width, jpeg.output_height, rgb};
    if (rgb)
        jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return rgb != NULL;
}

static bool read_png(FILE* file, image* out_image)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    uint8_t* rgb = NULL;
    if (png_image_begin_read_from_stdio(&png, file)) {
        png.format = PNG_FORMAT_RGB;
        rgb = malloc(PNG_IMAGE_SIZE(png));
        const png_color black = {0, 0, 0}; /* what shines through where the picture is transparent */
        if (rgb && png_image_finish_read(&png, &black, rgb, 0, NULL)) {
            *out_image = (image){png.width, png.height, rgb};
            return true;
        }
    }
    fprintf(stderr, "error: %s\n", rgb || png.message[0] ? png.message : "out of memory");
    png_image_free(&png);
    free(rgb);
    return false;
}

bool image_read(const char* path, image* out_image)
{
    FILE* file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    const int first = getc(file);
    rewind(file);
    const bool good = first == 0xff ? read_jpeg(file, out_image) : read_png(file, out_image);
    if (!good)
        fprintf(stderr, "error: %s can't be read as a JPEG or PNG file\n", path);
    fclose(file);
    return good;
}

bool image_write_grey(const char* path, uint32_t width, uint32_t height, const uint8_t* grey)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_GRAY};
    if (png_image_write_to_file(&png, path, 0, grey, 0, NULL))
        return true;
    fprintf(stderr, "error: %s: %s\n", path, png.message);
    return false;
}
