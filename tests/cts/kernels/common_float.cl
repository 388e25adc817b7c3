#define T float
#include "common.h"
