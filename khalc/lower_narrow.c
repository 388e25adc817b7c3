#include "lower.h"

bool kc_lower_narrow(kc_module* m, const kc_target* target)
{
    (void)m;
    (void)target;
    return true;
}
