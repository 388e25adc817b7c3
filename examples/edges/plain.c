#include "plain.h"

#include <stddef.h>
#include <stdlib.h>

enum { NONE = 0, WEAK = 128, STRONG = 255 };

typedef struct picture {
    int64_t width, height;
    uint16_t *grey, *rows, *blurred;
    int32_t *dx, *dy;
    int64_t* stack;
} picture;

static size_t at(const picture* p, int64_t x, int64_t y) /* of the nearest pixel in the picture */
{
    x = x < 0 ? 0 : x >= p->width ? p->width - 1 : x;
    y = y < 0 ? 0 : y >= p->height ? p->height - 1 : y;
    return (size_t)(y * p->width + x);
}

static void blur(picture* p, const uint8_t* rgb)
{
    static const int weights[5] = {1, 4, 6, 4, 1};
    const size_t size = (size_t)(p->width * p->height);
    for (size_t i = 0; i < size; i++)
        p->grey[i] = (uint16_t)((77u * rgb[3 * i] + 150u * rgb[3 * i + 1] + 29u * rgb[3 * i + 2]) >> 8);
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            int sum = 0;
            for (int k = 0; k < 5; k++)
                sum += weights[k] * p->grey[at(p, x + k - 2, y)];
            p->rows[at(p, x, y)] = (uint16_t)sum;
        }
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            int sum = 0;
            for (int k = 0; k < 5; k++)
                sum += weights[k] * p->rows[at(p, x, y + k - 2)];
            p->blurred[at(p, x, y)] = (uint16_t)sum;
        }
}

static void gradient(picture* p)
{
    static const int smooth[3] = {1, 2, 1};
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            int32_t dx = 0, dy = 0;
            for (int k = 0; k < 3; k++) {
                dx += smooth[k] * (p->blurred[at(p, x + 1, y + k - 1)] - p->blurred[at(p, x - 1, y + k - 1)]);
                dy += smooth[k] * (p->blurred[at(p, x + k - 1, y + 1)] - p->blurred[at(p, x + k - 1, y - 1)]);
            }
            p->dx[at(p, x, y)] = dx;
            p->dy[at(p, x, y)] = dy;
        }
}

static uint32_t strength(const picture* p, int64_t x, int64_t y)
{
    return (uint32_t)abs(p->dx[at(p, x, y)]) + (uint32_t)abs(p->dy[at(p, x, y)]);
}

static void thin(const picture* p, uint32_t low, uint32_t high, uint8_t* edges)
{
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            const int32_t gx = p->dx[at(p, x, y)], gy = p->dy[at(p, x, y)];
            const int sx = 5 * abs(gx) > 2 * abs(gy);
            const int sy = 5 * abs(gy) > 2 * abs(gx) ? ((gx < 0) != (gy < 0) ? -1 : 1) : 0;
            const uint32_t here = strength(p, x, y);
            const bool largest = here > strength(p, x - sx, y - sy) && here >= strength(p, x + sx, y + sy);
            edges[at(p, x, y)] = !largest || here < low ? NONE : here < high ? WEAK : STRONG;
        }
}

/* Spreads from each strong pixel over the weak ones that it reaches. */
static void connect(picture* p, uint8_t* edges)
{
    const int64_t size = p->width * p->height;
    for (int64_t start = 0; start < size; start++) {
        int64_t depth = 0;
        if (edges[start] == STRONG)
            p->stack[depth++] = start;
        while (depth > 0) {
            const int64_t from = p->stack[--depth], x = from % p->width, y = from / p->width;
            for (int64_t dy = -1; dy <= 1; dy++)
                for (int64_t dx = -1; dx <= 1; dx++) {
                    const size_t to = at(p, x + dx, y + dy);
                    if (edges[to] == WEAK) {
                        edges[to] = STRONG;
                        p->stack[depth++] = (int64_t)to;
                    }
                }
        }
    }
    for (int64_t i = 0; i < size; i++)
        edges[i] = edges[i] == STRONG ? 255 : 0;
}

bool plain_edges(const uint8_t* rgb, uint32_t width, uint32_t height, uint32_t low, uint32_t high, uint8_t* edges)
{
    const size_t size = (size_t)width * height;
    picture p = {.width = width, .height = height};
    p.grey = malloc(size * sizeof *p.grey);
    p.rows = malloc(size * sizeof *p.rows);
    p.blurred = malloc(size * sizeof *p.blurred);
    p.dx = malloc(size * sizeof *p.dx);
    p.dy = malloc(size * sizeof *p.dy);
    p.stack = malloc((size + 1) * sizeof *p.stack);
    const bool good = p.grey && p.rows && p.blurred && p.dx && p.dy && p.stack;
    if (good) {
        blur(&p, rgb);
        gradient(&p);
        thin(&p, low, high, edges);
        connect(&p, edges);
    }
    free(p.grey);
    free(p.rows);
    free(p.blurred);
    free(p.dx);
    free(p.dy);
    free(p.stack);
    return good;
}
