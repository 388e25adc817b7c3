#define T float
#define HAS_FAST
#include "geometric.h"
