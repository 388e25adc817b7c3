/* What every fuzz target offers, and what they share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/* A finding: stops the run. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The input as a stream of choices; 0 beyond its end. */
typedef struct fuzz_input {
    const uint8_t* data;
    size_t size, at;
} fuzz_input;

static inline uint8_t fuzz_byte(fuzz_input* in)
{
    return in->at < in->size ? in->data[in->at++] : 0;
}

static inline uint32_t fuzz_below(fuzz_input* in, uint32_t n) /* n is 1 to 256 */
{
    return fuzz_byte(in) % n;
}

#endif
