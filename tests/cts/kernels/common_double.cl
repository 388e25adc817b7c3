#define T double
#include "common.h"
