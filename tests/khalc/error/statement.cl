kernel void k(global int* p)
{
    switch (p[0]) {
    case 1 ... 10000: p[1] = 2;
    }
}
