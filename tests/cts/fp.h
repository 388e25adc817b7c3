/* Floating formats, rounding by hand, and the size of an error. long double holds every value of them exactly. */
#ifndef CTS_FP_H
#define CTS_FP_H

#include "cts.h"

typedef enum fp_kind { FP_HALF, FP_FLOAT, FP_DOUBLE } fp_kind;
typedef enum fp_round_mode { ROUND_EVEN, ROUND_ZERO, ROUND_UP, ROUND_DOWN } fp_round_mode;

size_t fp_size(fp_kind kind); /* bytes */
const char* fp_name(fp_kind kind);
long double fp_get(fp_kind kind, const void* values, size_t index);
void fp_put(fp_kind kind, void* values, size_t index, long double value); /* rounded to nearest even */
long double fp_largest(fp_kind kind);
long double fp_smallest_normal(fp_kind kind);
long double fp_smallest(fp_kind kind);
int fp_digits(fp_kind kind); /* bits of the significand: 11, 24, 53 */
long double fp_round(fp_kind kind, long double x, fp_round_mode mode);
uint64_t fp_bits(fp_kind kind, long double x);
long double fp_from_bits(fp_kind kind, uint64_t bits);
bool fp_is_denormal(fp_kind kind, long double x);
long double fp_flush(fp_kind kind, long double x); /* a denormal as the zero that it may be taken for */

/* |actual - reference| in units of the last place of the reference; 0 where both are NaN or the same infinity, infinity
 * where one is NaN. */
double fp_ulps(fp_kind kind, long double actual, long double reference);

/* Special values first, then a random sweep; `from` and `to` bound the values (specials outside are left out) unless both
 * are 0. Returns the number of specials; the rest of the `count` values are random. */
size_t fp_inputs(cts* t, fp_kind kind, long double from, long double to, size_t count, long double* out);

#endif
