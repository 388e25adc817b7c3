#include "map.h"

#define NATIVE1(FN) MAP1(native_##FN, float) MAP1(half_##FN, float)
#define NATIVE2(FN) MAP2(native_##FN, float) MAP2(half_##FN, float)
NATIVE1(cos) NATIVE1(exp) NATIVE1(exp2) NATIVE1(exp10) NATIVE1(log) NATIVE1(log2) NATIVE1(log10) NATIVE1(recip)
NATIVE1(rsqrt) NATIVE1(sin) NATIVE1(sqrt) NATIVE1(tan)
NATIVE2(divide) NATIVE2(powr)
