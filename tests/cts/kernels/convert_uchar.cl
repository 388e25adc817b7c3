#include "convert.h"
ALL_TO_INT(uchar)
