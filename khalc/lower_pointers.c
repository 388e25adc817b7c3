#include "lower.h"

bool kc_lower_pointers(kc_module* m, const kc_target* target)
{
    (void)m;
    (void)target;
    return true;
}
