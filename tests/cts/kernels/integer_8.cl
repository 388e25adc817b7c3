#include "map.h"

#define T char
#define U uchar
#include "integer_functions.h"
#undef T
#undef U

#define T uchar
#define U uchar
#include "integer_functions.h"
#undef T
#undef U

UPSAMPLE(char, uchar, short)
UPSAMPLE(uchar, uchar, ushort)
