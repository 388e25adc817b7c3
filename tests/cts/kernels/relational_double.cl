#define T double
#define S long
#include "relational.h"
