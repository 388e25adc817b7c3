#include "map.h"

#define T long
#define U ulong
#include "integer_functions.h"
#undef T
#undef U

#define T ulong
#define U ulong
#include "integer_functions.h"
#undef T
#undef U
