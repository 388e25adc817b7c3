/* Every kind of loop, with break, continue and early return. */
__kernel void loops(__global int* out, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i == 3)
            continue;
        int j = 0;
        while (j < i) {
            if (j * i > 100)
                break;
            j++;
        }
        do {
            sum += j--;
        } while (j > 0);
        if (sum > 1000)
            return;
    }
    for (;;) {
        if (sum++ & 8)
            break;
    }
    out[get_global_id(0)] = sum;
}
