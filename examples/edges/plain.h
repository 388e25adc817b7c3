/* The same edges in plain C, one processor, to compare with. */
#ifndef EDGES_PLAIN_H
#define EDGES_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* `edges` takes width * height bytes: 255 on an edge, else 0. False when memory is out. */
bool plain_edges(const uint8_t* rgb, uint32_t width, uint32_t height, uint32_t low, uint32_t high, uint8_t* edges);

#endif
