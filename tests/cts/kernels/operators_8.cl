#include "operators.h"

INTS(char, char)
INTS(uchar, char)
