#include "operators.h"

INTS(int, int)
INTS(uint, int)
