#include "operators.h"

INTS(short, short)
INTS(ushort, short)
