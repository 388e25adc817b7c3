#include "lower.h"

bool kc_lower_half(kc_module* m, const kc_target* target)
{
    (void)m;
    (void)target;
    return true;
}
