// options: -I.
#include "include.h"
#define JUMP goto end
kernel void k(global int* p)
{
    JUMP;
    p[0] = from_header(1);
end:;
}
