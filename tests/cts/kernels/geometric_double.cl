#define T double
#include "geometric.h"
