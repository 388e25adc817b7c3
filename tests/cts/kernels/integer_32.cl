#include "map.h"

#define T int
#define U uint
#include "integer_functions.h"
#undef T
#undef U

#define T uint
#define U uint
#include "integer_functions.h"
#undef T
#undef U

UPSAMPLE(int, uint, long)
UPSAMPLE(uint, uint, ulong)

MAP2(mul24, int)
MAP2(mul24, uint)
MAP3(mad24, int)
MAP3(mad24, uint)
