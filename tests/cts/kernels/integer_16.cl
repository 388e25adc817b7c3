#include "map.h"

#define T short
#define U ushort
#include "integer_functions.h"
#undef T
#undef U

#define T ushort
#define U ushort
#include "integer_functions.h"
#undef T
#undef U

UPSAMPLE(short, ushort, int)
UPSAMPLE(ushort, ushort, uint)
