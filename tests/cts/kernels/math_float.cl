#include "map.h"

#define T float
#include "math_functions.h"
