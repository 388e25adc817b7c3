#include "convert.h"
ALL_TO_INT(ulong)
