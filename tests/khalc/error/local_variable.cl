void helper(global int* p)
{
    local int x;
    p[0] = x;
}
kernel void k(global int* p) { helper(p); }
