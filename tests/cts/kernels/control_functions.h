/* Control flow in depth. Each function takes two small numbers; sums are unsigned, so that they wrap on both sides. */
#include "shared_types.h"

#define CONTROL_FUNCTIONS(X)                                                                                           \
    X(if_else) X(if_chain) X(for_loop) X(while_loop) X(do_while) X(do_while_once) X(do_while_continue) X(nested_break)  \
    X(nested_continue) X(three_deep) X(return_from_loops) X(return_chain) X(for_without_parts) X(for_two_variables)     \
    X(continue_runs_step) X(switch_plain) X(switch_fallthrough) X(switch_default_first) X(switch_default_middle)        \
    X(switch_no_default) X(switch_ranges) X(switch_nested) X(switch_in_loop) X(loop_in_switch) X(switch_return)         \
    X(switch_negative) X(switch_char) X(switch_scope) X(switch_empty) X(comma) X(short_circuit_and) X(short_circuit_or)       \
    X(short_circuit_mixed) X(ternary_side_effects) X(ternary_nested) X(condition_assignment) X(condition_calls)         \
    X(increment_order) X(compound_order) X(helper_loops) X(helper_early_return) X(helper_pointer) X(shadowing)          \
    X(loop_variable_reuse) X(empty_loops) X(collatz) X(gcd) X(sieve) X(bubble_sort) X(binary_search) X(state_machine)   \
    X(matrix_walk) X(unreachable_code) X(constant_conditions) X(break_from_inner_block) X(infinite_with_break)          \
    X(uneven_trips) X(dangling_else) X(bit_tricks) X(string_walk)

SHARED u32 if_else(u32 x, u32 y)
{
    u32 r = 0;
    if (x > y) r = 1;
    else r = 2;
    if (x == y) r += 10;
    if (x < 3)
        if (y < 3) r += 100;
        else r += 200;
    return r;
}

SHARED u32 if_chain(u32 x, u32 y)
{
    if (x == 0) return y;
    else if (x == 1) return y + 1;
    else if (x < 5) {
        if (y & 1) return 7;
    } else if (x < 9 && y > 2) return 8;
    else {
        x += y;
    }
    return x * 3;
}

SHARED u32 for_loop(u32 x, u32 y)
{
    u32 sum = 0;
    for (u32 i = x; i < x + y; i++) sum += i * i;
    for (i32 i = (i32)y; i > 0; i -= 3) sum ^= (u32)i;
    return sum;
}

SHARED u32 while_loop(u32 x, u32 y)
{
    u32 n = 0;
    while (x > 0) {
        x >>= 1;
        n++;
        while (y > x) {
            y--;
            n += 2;
        }
    }
    return n * 100 + y;
}

SHARED u32 do_while(u32 x, u32 y)
{
    u32 r = 0, i = 0;
    do {
        u32 j = 0;
        do {
            r += i * j + 1;
            j++;
        } while (j < y % 5);
        i++;
    } while (i < x % 7);
    return r;
}

SHARED u32 do_while_once(u32 x, u32 y)
{
    do {
        if (x > y) break;
        x += 5;
        if (x == 9) break;
        x *= 2;
    } while (0);
    return x;
}

SHARED u32 do_while_continue(u32 x, u32 y)
{
    u32 i = 0, r = 0;
    do {
        i++;
        if (i % 3 == 0) continue; /* goes to the test */
        r += i;
        if (r > 100 + x) break;
    } while (i < y);
    return r + 1000 * i;
}

SHARED u32 nested_break(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < 10; i++) {
        for (u32 j = 0; j < 10; j++) {
            if (i * j > x) break;
            r += j;
        }
        if (r > y * 8) break;
        r++;
    }
    return r;
}

SHARED u32 nested_continue(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < 8; i++) {
        if ((i ^ x) & 1) continue;
        u32 j = 0;
        while (j < 8) {
            j++;
            if ((j + y) % 3 == 0) continue;
            if (j == 7) break;
            r += i * 10 + j;
        }
        r ^= 5;
    }
    return r;
}

SHARED u32 three_deep(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < 6; i++) {
        u32 j = i;
        do {
            for (u32 k = 0;; k++) {
                if (k > j) break;
                if (k == x % 4) continue;
                r += k + 1;
                if (r % 17 == y % 17) return r + 100000;
            }
            if (j == y % 6) break;
            j++;
        } while (j < 6);
        if (r > 300) break;
    }
    return r;
}

SHARED u32 return_from_loops(u32 x, u32 y)
{
    for (u32 i = 0; i < 50; i++) {
        for (u32 j = 0; j < 50; j++) {
            if (i * 3 + j * 5 == x + 20) {
                if (j > y) return i * 100 + j;
                if (i > y) return 5000 + i;
            }
        }
    }
    return 9999;
}

SHARED u32 return_chain(u32 x, u32 y)
{
    if (x > 40) return 1;
    {
        if (y > 40) return 2;
        x++;
    }
    if (x == y) return 3;
    x += y;
    if (x & 1) {
        if (y & 1) return 4;
        x--;
        if (y & 2) return 5 + x;
    }
    return x;
}

SHARED u32 for_without_parts(u32 x, u32 y)
{
    u32 i = 0, r = 0;
    for (;;) {
        if (i >= y) break;
        r += x ^ i;
        i++;
    }
    for (; i > 2;) i -= 2;
    for (;; i += 7)
        if (i > x) return r + i;
}

SHARED u32 for_two_variables(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0, j = x; i < j; i++, j--, r += 2) r += i * j + y;
    return r;
}

SHARED u32 continue_runs_step(u32 x, u32 y)
{
    u32 r = 0, steps = 0;
    for (u32 i = 0; i < 12; i++, steps += 100) {
        if (i % 2 == x % 2) continue;
        if (i > y) break;
        r += i;
    }
    return r + steps;
}

SHARED u32 switch_plain(u32 x, u32 y)
{
    switch (x % 6) {
    case 0: return y;
    case 1: y += 10; break;
    case 2: y *= 3; break;
    case 5: y = 77; break;
    default: y ^= 3; break;
    }
    return y + 1;
}

SHARED u32 switch_fallthrough(u32 x, u32 y)
{
    u32 r = 0;
    switch (x % 8) {
    case 7: r += 1;
    case 6: r += 2;
    case 5:
    case 4: r += 4; if (y & 1) break;
    case 3: r += 8;
    case 2: r += 16; break;
    case 1: r += 32;
    default: r += 64;
    }
    return r;
}

SHARED u32 switch_default_first(u32 x, u32 y)
{
    u32 r = y;
    switch (x % 5) {
    default: r += 1000;
    case 1: r += 1; break;
    case 2: r += 2;
    case 3: r += 3;
    }
    return r;
}

SHARED u32 switch_default_middle(u32 x, u32 y)
{
    u32 r = 0;
    switch ((x + y) % 7) {
    case 0: r = 5; break;
    case 1: r = 6;
    default: r += 100;
    case 2: r += 7; break;
    case 3: r = 8;
    }
    return r;
}

SHARED u32 switch_no_default(u32 x, u32 y)
{
    u32 r = 3;
    switch (x) {
    case 3: r = y; break;
    case 1000000: r = 1; break;
    case 17: r = 2 * y;
    }
    return r;
}

SHARED u32 switch_ranges(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < 4; i++) {
        switch ((x + i * y) & 15) {
        case 0: case 1: case 2: case 3: r += 1; break;
        case 4: case 6: case 8: r += 10; break;
        case 15: r += 100; break;
        default: r += 1000;
        }
    }
    return r;
}

SHARED u32 switch_nested(u32 x, u32 y)
{
    u32 r = 0;
    switch (x % 3) {
    case 0:
        switch (y % 3) {
        case 0: r = 1; break;
        case 1: r = 2;
        default: r += 3; break;
        }
        r += 10;
        break;
    case 1:
        if (y > 5) {
            switch (y) {
            case 6: return 600;
            case 7: break;
            default: r = 9;
            }
            r++;
        }
        r += 20;
    default:
        r += 30;
    }
    return r;
}

SHARED u32 switch_in_loop(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < 20; i++) {
        switch ((i * x + y) % 5) {
        case 0: continue;        /* the loop's */
        case 1: r += 1; break;   /* the switch's */
        case 2:
            if (r > 30) return r;
            r += 2;
        case 3: r += 4; break;
        default:
            if (i > 15) break;
            r += 8;
            continue;
        }
        r += 100;
    }
    return r;
}

SHARED u32 loop_in_switch(u32 x, u32 y)
{
    u32 r = 0;
    switch (x & 3) {
    case 0:
        for (u32 i = 0; i < y; i++) {
            if (i == 9) break; /* the loop's */
            r += i;
        }
        r += 1000;
        break;
    case 1:
        while (1) {
            r++;
            if (r > y) break;
        }
    case 2: {
        u32 i = 0;
        do {
            if (++i % 2) continue;
            r += i;
        } while (i < y);
        break;
    }
    default: r = 12345;
    }
    return r;
}

SHARED u32 switch_return(u32 x, u32 y)
{
    switch (x % 4) {
    case 0: return 10 + y;
    case 1: return 20 + y;
    case 2: if (y > 10) return 30;
    default: return 40;
    }
}

SHARED u32 switch_negative(u32 x, u32 y)
{
    const i32 d = (i32)x - (i32)y;
    switch (d) {
    case -1: return 1;
    case -20: return 2;
    case 0: return 3;
    case 2147483647: return 4;
    case -2147483647 - 1: return 5;
    case 7: return 6;
    }
    return d < 0 ? 100 : 200;
}

SHARED u32 switch_char(u32 x, u32 y)
{
    const i8 c = (i8)(x * 9 + y);
    switch (c) {
    case 'a': return 1;
    case 'z': return 2;
    case -5: return 3;
    case 0: return 4;
    default: return (u32)(c + 1000);
    }
}

enum { SMALL, MEDIUM = 5, LARGE, HUGE_ONE = MEDIUM * 10 };

SHARED u32 switch_scope(u32 x, u32 y)
{
    u32 r = 1;
    switch (x % 60) {
    case SMALL: { const u32 r2 = y * 2; r = r2; break; }
    case MEDIUM: { u32 r2 = 3; r2 += y; r = r2; }
    case LARGE: r += 4; break;
    case HUGE_ONE: { r = 5; { r += 6; } } break;
    }
    return r;
}

SHARED u32 switch_empty(u32 x, u32 y)
{
    switch (x) { }
    switch (y) { default: ; }
    switch (x) { case 1: case 2: default: break; }
    return x + y;
}

SHARED u32 comma(u32 x, u32 y)
{
    u32 a = 0, b;
    b = (a = x, a += y, a * 2);
    for (u32 i = (a++, 0); i < 3; a += i, i++) b += (i, a);
    return a * 1000 + b;
}

SHARED u32 short_circuit_and(u32 x, u32 y)
{
    u32 n = 0;
    if (x > 3 && ++n && y > 3 && ++n) n += 10;
    const u32 v = (x & 1) && (n += 100) > 50;
    return n + v * 1000;
}

SHARED u32 short_circuit_or(u32 x, u32 y)
{
    u32 n = 0;
    if (x > 3 || ++n > 5 || y > 3 || (n += 7) == 0) n += 10;
    while (x > 60 || n++ < y) if (++n > 40) break;
    return n;
}

SHARED u32 short_circuit_mixed(u32 x, u32 y)
{
    u32 n = 0, z = 0;
    const bool r = ((x & 1) || (n++, y & 1)) && (!(x & 2) || (n += 10, (y & 2) != 0));
    z = (x > 5 ? n++ : y) && (y != 0 ? 10 / y > 1 : 0); /* no division by zero */
    return n * 100 + (r ? 1u : 0u) * 10 + z;
}

SHARED u32 ternary_side_effects(u32 x, u32 y)
{
    u32 a = 1, b = 2;
    u32 r = x > y ? a++ : ++b;
    r += x == y ? (a += 5) : y & 1 ? (b += 7) : (a = b);
    return r * 10000 + a * 100 + b;
}

SHARED u32 ternary_nested(u32 x, u32 y)
{
    return x < 3 ? y < 3 ? 1u : y < 6 ? 2u : 3u : x < 6 ? 4u : y ? x / y : 5u;
}

SHARED u32 condition_assignment(u32 x, u32 y)
{
    u32 v, n = 0;
    if ((v = x ^ y) != 0) n += v;
    while ((v = v >> 1)) n += 1000;
    for (u32 w; (w = n % 7) > 1; n--) n += w - 1 > 0 ? 0 : 1;
    return n;
}

SHARED u32 add_to(u32* target, u32 value)
{
    *target += value;
    return *target;
}

SHARED u32 condition_calls(u32 x, u32 y)
{
    u32 n = 0;
    if (add_to(&n, x) > 10 && add_to(&n, y) > 20) n += 100;
    while (add_to(&n, 7) < 60 + x) n++;
    do n += 3; while (add_to(&n, 1) % 3 != 0);
    const u32 last = add_to(&n, 1) > 70 ? add_to(&x, 3) : add_to(&y, 4);
    return n + last;
}

SHARED u32 increment_order(u32 x, u32 y)
{
    u32 a[4] = {x, y, x + y, x * y}, i = 0;
    a[i++] += 5;
    a[++i] -= 3;
    const u32 before = a[i--], after = a[i];
    a[3] = i++ * 2;
    a[i]++;
    --a[i % 4];
    return a[0] + a[1] * 3 + a[2] * 5 + a[3] * 7 + before * 11 + after * 13 + i * 17;
}

SHARED u32 compound_order(u32 x, u32 y)
{
    u32 a = x, b = y;
    a += b += a;
    b <<= (a & 3);
    a ^= b |= 0x10;
    b -= a >>= 1;
    a = b = a + b;
    a *= (b %= 13) + 1;
    return a + b;
}

SHARED u32 count_until(u32 from, u32 limit)
{
    u32 n = 0;
    for (u32 i = from;; i += 3) {
        if (i > limit) return n;
        if (i == 30) break;
        n++;
    }
    return n + 500;
}

SHARED u32 helper_loops(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < 4; i++) r = r * 2 + count_until(x + i, y + r % 5);
    return r;
}

SHARED i32 sign_of(i32 v)
{
    if (v > 0) return 1;
    if (v < 0) return -1;
    return 0;
}

SHARED u32 helper_early_return(u32 x, u32 y)
{
    i32 r = 0;
    for (i32 i = 0; i < 5; i++) r += sign_of((i32)x - (i32)y + i - 2) * (i + 1);
    return (u32)(r + 100);
}

SHARED void swap_larger(u32* a, u32* b)
{
    if (*a <= *b) return;
    const u32 t = *a;
    *a = *b;
    *b = t;
}

SHARED u32 helper_pointer(u32 x, u32 y)
{
    u32 a = x, b = y, c[3] = {x ^ 9, y ^ 5, 7};
    swap_larger(&a, &b);
    swap_larger(&c[0], &c[1]);
    swap_larger(c + 1, c + 2);
    swap_larger(&b, &c[2]);
    return a + b * 100 + c[0] * 10000 + c[1] * 3 + c[2];
}

SHARED u32 shadowing(u32 x, u32 y)
{
    u32 r = x;
    {
        u32 x = y + 1;
        r += x;
        for (u32 x = 0; x < 3; x++) {
            const u32 r = x * 2;
            y += r;
        }
        r += x;
    }
    if (y) { u32 y = 5; x += y; }
    return r + x + y;
}

SHARED u32 loop_variable_reuse(u32 x, u32 y)
{
    u32 i, r = 0;
    for (i = 0; i < x % 10; i++) r += i;
    for (i = i * 2; i > y % 5; i--) r += 3 * i;
    while (i-- > 0) r++;
    return r + i; /* i wrapped around */
}

SHARED u32 empty_loops(u32 x, u32 y)
{
    u32 i = 0;
    while (i * i < x) i++;
    for (; i < y; i += 2) ;
    do ; while (i++ < 10);
    for (i32 k = 0; k < 0; k++) i = 99999;
    while (0) i = 88888;
    return i;
}

SHARED u32 collatz(u32 x, u32 y)
{
    u32 v = x * 64 + y + 1, steps = 0;
    while (v != 1) {
        if (v & 1) v = v * 3 + 1;
        else v /= 2;
        steps++;
    }
    return steps;
}

SHARED u32 gcd(u32 x, u32 y)
{
    while (y != 0) {
        const u32 t = x % y;
        x = y;
        y = t;
    }
    return x;
}

SHARED u32 sieve(u32 x, u32 y)
{
    bool composite[64];
    u32 n = 0;
    for (u32 i = 0; i < 64; i++) composite[i] = i < 2;
    for (u32 i = 2; i < 64; i++) {
        if (composite[i]) continue;
        for (u32 j = 2 * i; j < 64; j += i) composite[j] = true;
    }
    for (u32 i = x < y ? x : y; i < 64 && i <= (x < y ? y : x); i++) n += !composite[i];
    return n;
}

SHARED u32 bubble_sort(u32 x, u32 y)
{
    u32 a[9], r = 0;
    for (u32 i = 0; i < 9; i++) a[i] = (x * (i + 3) * 7919 + y * i * 104729) % 101;
    bool swapped;
    do {
        swapped = false;
        for (u32 i = 0; i + 1 < 9; i++) {
            if (a[i] <= a[i + 1]) continue;
            const u32 t = a[i];
            a[i] = a[i + 1];
            a[i + 1] = t;
            swapped = true;
        }
    } while (swapped);
    for (u32 i = 0; i < 9; i++) r = r * 31 + a[i];
    return r;
}

TABLE u32 squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

SHARED u32 binary_search(u32 x, u32 y)
{
    const u32 wanted = (x * y) % 230;
    u32 low = 0, high = 16, steps = 0;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        steps++;
        if (squares[middle] == wanted) return 1000 + middle * 10 + steps;
        if (squares[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low * 10 + steps;
}

SHARED u32 state_machine(u32 x, u32 y)
{
    u32 state = 0, r = 0, bits = x * 67 + y;
    for (u32 i = 0; i < 24; i++, bits = bits >> 1 | (bits & 1) << 11) {
        switch (state) {
        case 0: if (bits & 1) { state = 1; continue; } break;
        case 1: state = bits & 1 ? 2 : 0; r++; break;
        case 2:
            if (!(bits & 1)) break;
            state = 3;
        case 3:
            r += 16;
            if (r > 200) return r;
            state = (bits & 2) ? 0 : 2;
        }
        r ^= state;
    }
    return r + 1000 * state;
}

SHARED u32 matrix_walk(u32 x, u32 y)
{
    u32 m[5][5], r = 0;
    for (u32 i = 0; i < 5; i++)
        for (u32 j = 0; j < 5; j++) m[i][j] = (i * 5 + j) * (x + 1) + y;
    u32 top = 0, left = 0, bottom = 5, right = 5; /* around in a spiral */
    while (top < bottom && left < right) {
        for (u32 j = left; j < right; j++) r = r * 3 + m[top][j];
        top++;
        for (u32 i = top; i < bottom; i++) r = r * 3 + m[i][right - 1];
        right--;
        if (top < bottom) {
            for (u32 j = right; j-- > left;) r = r * 3 + m[bottom - 1][j];
            bottom--;
        }
        if (left < right) {
            for (u32 i = bottom; i-- > top;) r = r * 3 + m[i][left];
            left++;
        }
    }
    return r;
}

SHARED u32 unreachable_code(u32 x, u32 y)
{
    for (u32 i = 0; i < 4; i++) {
        if (i == x % 4) {
            return y + i;
            x = 99;
        }
        continue;
        y = 77;
    }
    return 5;
    x++;
    return x;
}

SHARED u32 constant_conditions(u32 x, u32 y)
{
    u32 r = 0;
    if (1) r += x;
    else r += 1000;
    if (0) r += 2000;
    while (1) { r += y; if (r > 40) break; r++; if (true) { if (y == 0) break; } }
    do r++; while (false);
    for (; true;) { break; }
    return sizeof(u32) == 4 ? r : 0;
}

SHARED u32 break_from_inner_block(u32 x, u32 y)
{
    u32 r = 0;
    while (r < 100) {
        { { r += x + 1; if (r > y) { r++; break; } } }
        if (r & 1) { { continue; } }
        r += 3;
    }
    return r;
}

SHARED u32 infinite_with_break(u32 x, u32 y)
{
    u32 a = x, b = y, n = 0;
    while (true) {
        for (;;) {
            if (a > 20) break;
            a += b % 3 + 1;
            n++;
        }
        if (n > 30) return n * 2;
        do {
            b += 5;
            if (b > 90) return n + a;
        } while (b % 4);
        a -= 10;
    }
}

SHARED u32 uneven_trips(u32 x, u32 y)
{
    u32 r = 0;
    for (u32 i = 0; i < (x * 7 + y * 13) % 23; i++) {
        if (i % (x % 3 + 1) == 0) for (u32 j = i; j < y % 9; j++) r += j * i + 1;
        else if (i > 15) return r + 7777;
    }
    return r;
}

SHARED u32 dangling_else(u32 x, u32 y)
{
    u32 r = 0;
    if (x & 1)
        for (u32 i = 0; i < 3; i++)
            if (y & (1u << i)) r += i + 1;
            else r += 10;
    else if (y & 1)
        while (r < 5) r += 2;
    else
        do r += 7; while (r < 20);
    return r;
}

SHARED u32 bit_tricks(u32 x, u32 y)
{
    u32 v = x << 16 | y << 8 | (x ^ y), n = 0;
    for (u32 w = v; w; w &= w - 1) n++;
    while (!(v & 1) && v) { v >>= 1; n += 100; }
    return n + (v & (0u - v)) * 10000;
}

TABLE char text[] = "the quick brown fox\tjumps\nover \"the\" lazy dog";

SHARED u32 string_walk(u32 x, u32 y)
{
    u32 words = 0, hash = x, i = 0;
    for (; text[i] != 0; i++) {
        if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') words++;
        else hash = hash * 33 + (u32)text[i];
        if (i > y) break;
    }
    return hash + words + i + (u32)sizeof(text);
}
