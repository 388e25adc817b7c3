/* Suites whose kernels share their source with the reference: functions of two numbers, run on every pair of small ones. To be
 * included before that source, of which the host's compiler need not say what is odd about it. */
#ifndef CTS_PAIRS_H
#define CTS_PAIRS_H

#include "cts.h"

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Waddress"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#endif

typedef struct pairs_case { const char* name; const char* kernel; uint32_t (*reference)(uint32_t x, uint32_t y); } pairs_case;

/* Runs the pairs_case that is the case's data. */
void pairs_run(cts* t, const khal_kernel_library* library);

#endif
