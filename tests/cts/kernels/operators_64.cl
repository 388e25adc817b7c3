#include "operators.h"

INTS(long, long)
INTS(ulong, long)
