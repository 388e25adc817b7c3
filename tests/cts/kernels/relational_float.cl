#define T float
#define S int
#include "relational.h"
