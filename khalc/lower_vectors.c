#include "lower.h"

bool kc_lower_vectors(kc_module* m, const kc_target* target)
{
    (void)m;
    (void)target;
    return true;
}
