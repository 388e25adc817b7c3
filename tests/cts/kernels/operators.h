/* Operators on the scalar and every vector width; six sections of n elements for each. */
#include "map.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define BINARY(T, OP, AT)                                                                                              \
    out[(AT) * n + i] = (T)(a[i] OP b[i]);                                                                             \
    if (i < n / 2) vstore2(vload2(i, a) OP vload2(i, b), i, out + (AT + 1) * n);                                       \
    if (i < n / 3) vstore3(vload3(i, a) OP vload3(i, b), i, out + (AT + 2) * n);                                       \
    if (i < n / 4) vstore4(vload4(i, a) OP vload4(i, b), i, out + (AT + 3) * n);                                       \
    if (i < n / 8) vstore8(vload8(i, a) OP vload8(i, b), i, out + (AT + 4) * n);                                       \
    if (i < n / 16) vstore16(vload16(i, a) OP vload16(i, b), i, out + (AT + 5) * n);
#define UNARY(T, OP, AT)                                                                                               \
    out[(AT) * n + i] = (T)(OP a[i]);                                                                                  \
    if (i < n / 2) vstore2(OP vload2(i, a), i, out + (AT + 1) * n);                                                    \
    if (i < n / 3) vstore3(OP vload3(i, a), i, out + (AT + 2) * n);                                                    \
    if (i < n / 4) vstore4(OP vload4(i, a), i, out + (AT + 3) * n);                                                    \
    if (i < n / 8) vstore8(OP vload8(i, a), i, out + (AT + 4) * n);                                                    \
    if (i < n / 16) vstore16(OP vload16(i, a), i, out + (AT + 5) * n);
/* Compound assignment, and ++ and -- before and after, on variables. */
#define ASSIGN1(T, W, OP, AT)                                                                                          \
    if (i < n / W) {                                                                                                   \
        T##W v = vload##W(i, a);                                                                                       \
        v OP vload##W(i, b);                                                                                           \
        vstore##W(v, i, out + (AT) * n);                                                                               \
    }
#define ASSIGN(T, OP, AT)                                                                                              \
    {                                                                                                                  \
        T v = a[i];                                                                                                    \
        v OP b[i];                                                                                                     \
        out[(AT) * n + i] = v;                                                                                         \
    }                                                                                                                  \
    ASSIGN1(T, 2, OP, AT + 1) ASSIGN1(T, 3, OP, AT + 2) ASSIGN1(T, 4, OP, AT + 3) ASSIGN1(T, 8, OP, AT + 4) ASSIGN1(T, 16, OP, AT + 5)
#define STEP1(T, W, AT)                                                                                                \
    if (i < n / W) {                                                                                                   \
        T##W v = vload##W(i, a);                                                                                       \
        const T##W before = v++, after = ++v;                                                                          \
        const T##W down = v--;                                                                                         \
        vstore##W(before + after - down + --v, i, out + (AT) * n); /* a + (a+2) - (a+2) + a */                         \
    }
#define STEP_SCALAR(T, AT)                                                                                                    \
    {                                                                                                                  \
        T v = a[i];                                                                                                    \
        const T before = v++, after = ++v;                                                                             \
        const T down = v--;                                                                                            \
        --v;                                                                                                           \
        out[(AT) * n + i] = (T)(before + after - down + v);                                                            \
    }
#define STEP(T, AT)                                                                                                    \
    STEP_SCALAR(T, AT) STEP1(T, 2, AT + 1) STEP1(T, 3, AT + 2) STEP1(T, 4, AT + 3) STEP1(T, 8, AT + 4)                 \
    STEP1(T, 16, AT + 5)
/* A scalar on either side. */
#define MIXED(T, AT)                                                                                                   \
    if (i < n / 4) {                                                                                                   \
        vstore4(vload4(i, a) + b[i], i, out + (AT) * n);                                                               \
        vstore4(b[i] - vload4(i, a), i, out + (AT + 1) * n);                                                           \
        vstore4(vload4(i, a) * (T)3, i, out + (AT + 2) * n);                                                           \
    }

#define BEGIN(NAME, T, R)                                                                                              \
    kernel void NAME##_##T(global const T* a, global const T* b, global R* out, uint n)                                \
    {                                                                                                                  \
        const uint i = (uint)get_global_id(0);
#define ARITHMETIC(T) BEGIN(arithmetic, T, T) BINARY(T, +, 0) BINARY(T, -, 6) BINARY(T, *, 12) BINARY(T, /, 18) }
#define INTEGER(T) BEGIN(integer, T, T) BINARY(T, %, 0) BINARY(T, &, 6) BINARY(T, |, 12) BINARY(T, ^, 18) BINARY(T, <<, 24) BINARY(T, >>, 30) }
#define ONE(T) BEGIN(one, T, T) UNARY(T, -, 0) UNARY(T, +, 6) MIXED(T, 12) }
#define STEPS(T) BEGIN(step, T, T) STEP(T, 0) }
#define SCALAR_STEPS(T) BEGIN(step, T, T) STEP_SCALAR(T, 0) }
#define COMPLEMENT(T) BEGIN(complement, T, T) UNARY(T, ~, 0) }
#define ASSIGNMENTS(T) BEGIN(assign, T, T) ASSIGN(T, +=, 0) ASSIGN(T, -=, 6) ASSIGN(T, *=, 12) ASSIGN(T, /=, 18) }
#define INTEGER_ASSIGNMENTS(T)                                                                                         \
    BEGIN(integer_assign, T, T) ASSIGN(T, %=, 0) ASSIGN(T, &=, 6) ASSIGN(T, |=, 12) ASSIGN(T, ^=, 18) ASSIGN(T, <<=, 24) ASSIGN(T, >>=, 30) }
#define COMPARE(T, S)                                                                                                  \
    BEGIN(compare, T, S) BINARY(S, ==, 0) BINARY(S, !=, 6) BINARY(S, <, 12) BINARY(S, <=, 18) BINARY(S, >, 24) BINARY(S, >=, 30) }
#define LOGICAL(T, S) BEGIN(logical, T, S) BINARY(S, &&, 0) BINARY(S, ||, 6) UNARY(S, !, 12) }
#define INTS(T, S)                                                                                                     \
    ARITHMETIC(T) INTEGER(T) ONE(T) STEPS(T) COMPLEMENT(T) ASSIGNMENTS(T) INTEGER_ASSIGNMENTS(T) COMPARE(T, S) LOGICAL(T, S)
#define FLOATS(T, S) ARITHMETIC(T) ONE(T) ASSIGNMENTS(T) COMPARE(T, S)
