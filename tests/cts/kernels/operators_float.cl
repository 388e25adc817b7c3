#include "operators.h"

FLOATS(half, short)
FLOATS(float, int)
FLOATS(double, long)
SCALAR_STEPS(float)
SCALAR_STEPS(double)
LOGICAL(float, int)
LOGICAL(double, long)
