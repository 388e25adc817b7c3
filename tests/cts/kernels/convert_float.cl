#include "convert.h"
ALL_TO_FLOAT(float)
