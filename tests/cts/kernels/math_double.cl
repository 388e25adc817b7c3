#include "map.h"

#define T double
#include "math_functions.h"
