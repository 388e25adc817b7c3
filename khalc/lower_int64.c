#include "lower.h"

bool kc_lower_int64(kc_module* m, const kc_target* target)
{
    (void)m;
    (void)target;
    return true;
}
