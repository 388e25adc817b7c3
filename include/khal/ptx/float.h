/* Functions of float for PTX, within OpenCL 1.2's error bounds (full profile) and without libclc's tables, which lie in
 * memory, and its denormals, which it takes for zero. Polynomials are minimax fits, rounded coefficient by coefficient.
 * Portable but for instruction.h, so that a test can compile them for the host. */
#ifndef KHAL_PTX_FLOAT_H
#define KHAL_PTX_FLOAT_H

#define KHAL_PTX_BITS(x) KHAL_BITCAST(uint32_t, float, x)
#define KHAL_PTX_FLOAT(bits) KHAL_BITCAST(float, uint32_t, bits)
#define KHAL_PTX_INF __builtin_inff()
#define KHAL_PTX_NAN __builtin_nanf("")

/* constants and what their rounding leaves */
#define KHAL_PTX_LOG2_E 0x1.715476p0f
#define KHAL_PTX_LOG2_E_REST 0x1.4ae0cp-26f
#define KHAL_PTX_LOG2_10 0x1.a934fp1f
#define KHAL_PTX_LOG2_10_REST 0x1.2f346ep-24f
#define KHAL_PTX_LN_2 0x1.62e43p-1f
#define KHAL_PTX_LN_2_REST -0x1.05c61p-29f
#define KHAL_PTX_LOG10_2 0x1.344136p-2f
#define KHAL_PTX_LOG10_E 0x1.bcb7b2p-2f
#define KHAL_PTX_LOG10_E_REST -0x1.5b235ep-27f
#define KHAL_PTX_PI 0x1.921fb6p1f
#define KHAL_PTX_PI_REST -0x1.777a5cp-24f
#define KHAL_PTX_HALF_PI 0x1.921fb6p0f
#define KHAL_PTX_HALF_PI_REST -0x1.777a5cp-25f
#define KHAL_PTX_OVER_PI 0x1.45f306p-2f
#define KHAL_PTX_TWO_OVER_PI 0x1.45f306p-1f

/* Added to a float below 2^22 it leaves the nearest integer in the low bits of the sum. */
#define KHAL_PTX_ROUNDER 0x1.8p23f
#define KHAL_PTX_ROUNDER_127 (KHAL_PTX_ROUNDER + 127)

/* ---- powers ---------------------------------------------------------------------------------- */

/* Powers of two go into the exponent as far as those of normal floats reach; what is beyond stays in the rest, which the
 * machine raises 2 to, so that a result that is a denormal is rounded once. `rounded`: KHAL_PTX_ROUNDER_127 + exponent;
 * infinities and NaN come out at an end of the range. */
KHAL_C_INLINE float khal_ptx_to_exponent(float rounded)
{
    rounded = __builtin_fminf(rounded, KHAL_PTX_ROUNDER_127 + 126);
    return __builtin_fmaxf(rounded, KHAL_PTX_ROUNDER_127 - 126);
}

KHAL_C_INLINE float khal_ptx_power(float rounded, float rest)
{
    return khal_ptx_ex2_small(rest) * KHAL_PTX_FLOAT(KHAL_PTX_BITS(rounded) << 23);
}

/* (2^scale)^x * 2^more, where `rest` is what the rounding of `scale` left */
KHAL_C_INLINE float khal_ptx_exp(float x, float scale, float rest, float more)
{
    const float rounded = khal_ptx_to_exponent(__builtin_fmaf(x, scale, KHAL_PTX_ROUNDER_127 + more));
    const float whole = rounded - (KHAL_PTX_ROUNDER_127 + more);
    return khal_ptx_power(rounded, __builtin_fmaf(x, rest, __builtin_fmaf(x, scale, -whole)));
}

KHAL_C_INLINE float khal_libm_expf(float x)
{
    return khal_ptx_exp(x, KHAL_PTX_LOG2_E, KHAL_PTX_LOG2_E_REST, 0);
}

KHAL_C_INLINE float khal_libm_exp2f(float x)
{
    return khal_ptx_ex2(x);
}

KHAL_C_INLINE float khal_libm_exp10f(float x)
{
    return khal_ptx_exp(x, KHAL_PTX_LOG2_10, KHAL_PTX_LOG2_10_REST, 0);
}

/* 2^(n - 1) * 2 * (e^r - 1) + 2^n - 1 */
KHAL_C_INLINE float khal_libm_expm1f(float x)
{
    const float a = x < -30 ? -30 : x > 89 ? 89 : x;
    const float rounded = __builtin_fmaf(a, KHAL_PTX_LOG2_E, KHAL_PTX_ROUNDER);
    const float n = rounded - KHAL_PTX_ROUNDER;
    float r = __builtin_fmaf(n, -KHAL_PTX_LN_2, a);
    r = __builtin_fmaf(n, -KHAL_PTX_LN_2_REST, r);
    float p = 0x1.a6aa94p-13f;
    p = __builtin_fmaf(p, r, 0x1.6d4612p-10f);
    p = __builtin_fmaf(p, r, 0x1.110ceap-7f);
    p = __builtin_fmaf(p, r, 0x1.5554eep-5f);
    p = __builtin_fmaf(p, r, 0x1.555558p-3f);
    p = __builtin_fmaf(p, r, 0.5f);
    p = __builtin_fmaf(r * r, p, r);
    const float half = KHAL_PTX_FLOAT((KHAL_PTX_BITS(rounded) + 126u) << 23);
    return x == 0 ? x : 2 * __builtin_fmaf(p, half, half - 0.5f);
}

/* cosh and sinh: halves of e^a and e^-a, a >= 0 */
KHAL_C_INLINE float khal_ptx_half_exp(float a)
{
    return khal_ptx_exp(a, KHAL_PTX_LOG2_E, KHAL_PTX_LOG2_E_REST, -1);
}

KHAL_C_INLINE float khal_libm_coshf(float x)
{
    const float h = khal_ptx_half_exp(__builtin_fabsf(x));
    return __builtin_fmaf(0.25f, khal_ptx_rcp(h), h);
}

KHAL_C_INLINE float khal_libm_sinhf(float x)
{
    const float a = __builtin_fabsf(x), h = khal_ptx_half_exp(a), y = x * x;
    const float large = __builtin_copysignf(__builtin_fmaf(-0.25f, khal_ptx_rcp(h), h), x);
    float p = 0x1.e0ec86p-26f;
    p = __builtin_fmaf(p, y, 0x1.701272p-19f);
    p = __builtin_fmaf(p, y, 0x1.a02736p-13f);
    p = __builtin_fmaf(p, y, 0x1.1110e8p-7f);
    p = __builtin_fmaf(p, y, 0x1.555556p-3f);
    return a > 1.5f ? large : __builtin_fmaf(x * y, p, x);
}

KHAL_C_INLINE float khal_libm_tanhf(float x)
{
    const float a = __builtin_fabsf(x), y = x * x;
    const float e = khal_libm_expf(2 * a);
    const float large = __builtin_fmaf(-2, khal_ptx_rcp(e + 1), 1);
    float p = -0x1.989332p-8f;
    p = __builtin_fmaf(p, y, 0x1.58d0cp-6f);
    p = __builtin_fmaf(p, y, -0x1.b91cb4p-5f);
    p = __builtin_fmaf(p, y, 0x1.110ce8p-3f);
    p = __builtin_fmaf(p, y, -0x1.55554ap-2f);
    return __builtin_copysignf(a > 0.55f ? large : __builtin_fmaf(x * y, p, x), x);
}

/* ---- logarithms ------------------------------------------------------------------------------ */

/* x = 2^exponent * (1 + the result), which is in [-1/3, 1/3]; for x that is above 0 and finite */
KHAL_C_INLINE float khal_ptx_split(float x, float* exponent)
{
    const bool is_denormal = x < 0x1p-126f;
    const uint32_t bits = KHAL_PTX_BITS(is_denormal ? x * 0x1p23f : x);
    const uint32_t n = (uint32_t)((int32_t)(bits - 0x3f2aaaabu) >> 23);
    *exponent = KHAL_PTX_FLOAT(0x4b400000u + n) - (is_denormal ? KHAL_PTX_ROUNDER + 23 : KHAL_PTX_ROUNDER);
    return KHAL_PTX_FLOAT(bits - (n << 23)) - 1;
}

/* ln(1 + f) - f, f in [-1/3, 1/3] */
KHAL_C_INLINE float khal_ptx_log_rest(float f)
{
    float p = -0x1.0bbff4p-3f;
    p = __builtin_fmaf(p, f, 0x1.1efda4p-3f);
    p = __builtin_fmaf(p, f, -0x1.f1697ep-4f);
    p = __builtin_fmaf(p, f, 0x1.1eb88ep-3f);
    p = __builtin_fmaf(p, f, -0x1.55ac42p-3f);
    p = __builtin_fmaf(p, f, 0x1.99d21p-3f);
    p = __builtin_fmaf(p, f, -0x1.fffea6p-3f);
    p = __builtin_fmaf(p, f, 0x1.555502p-2f);
    p = __builtin_fmaf(p, f, -0.5f);
    return f * f * p;
}

/* What a logarithm of x is where x is not both positive and finite. */
KHAL_C_INLINE float khal_ptx_log_special(float x, float y)
{
    if (KHAL_PTX_BITS(x) >= 0x7f800000u)
        y = __builtin_fmaf(x, KHAL_PTX_INF, KHAL_PTX_INF); /* NaN but for infinity */
    return x == 0 ? -KHAL_PTX_INF : y;
}

KHAL_C_INLINE float khal_libm_logf(float x)
{
    float e;
    const float f = khal_ptx_split(x, &e);
    return khal_ptx_log_special(x, __builtin_fmaf(e, KHAL_PTX_LN_2, f + khal_ptx_log_rest(f)));
}

KHAL_C_INLINE float khal_libm_log2f(float x)
{
    float e;
    const float f = khal_ptx_split(x, &e), rest = khal_ptx_log_rest(f);
    const float low = __builtin_fmaf(rest, KHAL_PTX_LOG2_E, f * KHAL_PTX_LOG2_E_REST);
    return khal_ptx_log_special(x, e + __builtin_fmaf(f, KHAL_PTX_LOG2_E, low));
}

KHAL_C_INLINE float khal_libm_log10f(float x)
{
    float e;
    const float f = khal_ptx_split(x, &e), rest = khal_ptx_log_rest(f);
    const float low = __builtin_fmaf(rest, KHAL_PTX_LOG10_E, f * KHAL_PTX_LOG10_E_REST);
    return khal_ptx_log_special(x, __builtin_fmaf(e, KHAL_PTX_LOG10_2, __builtin_fmaf(f, KHAL_PTX_LOG10_E, low)));
}

KHAL_C_INLINE float khal_libm_log1pf(float x)
{
    const float u = 1 + x;
    float e;
    const float part = khal_ptx_split(u, &e);
    /* x / 2^e + 1 / 2^e - 1, which does not lose what u has lost */
    const float down = KHAL_PTX_FLOAT((uint32_t)(127 - (int)e) << 23);
    const float f = x > 0x1p25f ? part : __builtin_fmaf(x, down, down - 1);
    const float r = __builtin_fmaf(e, KHAL_PTX_LN_2, f + khal_ptx_log_rest(f));
    return x == 0 ? x : khal_ptx_log_special(u, r);
}

KHAL_C_INLINE float khal_libm_asinhf(float x)
{
    const float a = __builtin_fabsf(x), y = a * a;
    const float small = khal_libm_log1pf(a + y / (1 + khal_libm_sqrtf(y + 1)));
    const float large = khal_libm_logf(a) + KHAL_PTX_LN_2;
    return __builtin_copysignf(a > 0x1p13f ? large : small, x);
}

KHAL_C_INLINE float khal_libm_acoshf(float x)
{
    const float t = x - 1;
    const float small = khal_libm_log1pf(t + khal_libm_sqrtf(__builtin_fmaf(t, t, 2 * t)));
    const float large = khal_libm_logf(x) + KHAL_PTX_LN_2;
    return x > 0x1p13f ? large : x < 1 ? KHAL_PTX_NAN : small;
}

KHAL_C_INLINE float khal_libm_atanhf(float x)
{
    const float a = __builtin_fabsf(x);
    const float r = 0.5f * khal_libm_log1pf(2 * a / (1 - a));
    return a < 0x1p-12f ? x : __builtin_copysignf(a > 1 ? KHAL_PTX_NAN : r, x);
}

/* ---- pow and its kin ------------------------------------------------------------------------- */

/* |x|^(y + rest), x neither zero, infinite nor NaN: 2^(y * log2 |x|), with the logarithm to some 32 bits */
KHAL_C_INLINE float khal_ptx_pow(float x, float y, float rest)
{
#ifdef __clang__
#pragma clang fp contract(off)
#endif
    float e;
    const float f = khal_ptx_split(__builtin_fabsf(x), &e);
    float p = -0x1.0e8158p-3f;
    p = __builtin_fmaf(p, f, 0x1.1dff6ep-3f);
    p = __builtin_fmaf(p, f, -0x1.f0188ep-4f);
    p = __builtin_fmaf(p, f, 0x1.1ef37ap-3f);
    p = __builtin_fmaf(p, f, -0x1.55b8f8p-3f);
    p = __builtin_fmaf(p, f, 0x1.99cdccp-3f);
    p = __builtin_fmaf(p, f, -0x1.fffe5ap-3f);
    p = __builtin_fmaf(p, f, 0x1.55550ep-2f);
    /* ln(1 + f) = f - f^2 / 2 + f^3 * p, its first two terms exactly */
    const float square = f * f, square_rest = __builtin_fmaf(f, f, -square);
    const float ln = __builtin_fmaf(-0.5f, square, f);
    float low = __builtin_fmaf(-0.5f, square, f - ln);
    low = __builtin_fmaf(-0.5f, square_rest, low);
    low = __builtin_fmaf(square * f, p, low);
    const float part = ln * KHAL_PTX_LOG2_E;
    float part_rest = __builtin_fmaf(ln, KHAL_PTX_LOG2_E, -part);
    part_rest = __builtin_fmaf(ln, KHAL_PTX_LOG2_E_REST, part_rest);
    part_rest = __builtin_fmaf(low, KHAL_PTX_LOG2_E, part_rest);
    const float sum = e + part, sum_rest = ((e - sum) + part) + part_rest;
    const float high = sum + sum_rest, high_rest = (sum - high) + sum_rest;
    /* beyond 2^40 the result is 0, 1 or infinity all the same */
    y = y > 0x1p40f ? 0x1p40f : y < -0x1p40f ? -0x1p40f : y;
    float z = high * y;
    float z_rest = __builtin_fmaf(high, y, -z);
    z_rest = __builtin_fmaf(high_rest, y, z_rest);
    z_rest = __builtin_fmaf(high, rest, z_rest);
    z_rest = __builtin_fabsf(z) > 200 ? 0 : z_rest;
    z = z > 200 ? 200 : z < -200 ? -200 : z;
    const float rounded = khal_ptx_to_exponent(z + KHAL_PTX_ROUNDER_127);
    return khal_ptx_power(rounded, (z - (rounded - KHAL_PTX_ROUNDER_127)) + z_rest);
}

/* |x|^(y + rest) for every x */
KHAL_C_INLINE float khal_ptx_pow_any(float x, float y, float rest)
{
    const float a = __builtin_fabsf(x);
    if (x != x || y != y)
        return x + y;
    if (a == 0 || a == KHAL_PTX_INF)
        return (a == 0) == (y > 0) ? 0 : KHAL_PTX_INF;
    return khal_ptx_pow(a, y, rest);
}

KHAL_C_INLINE float khal_libm_powf(float x, float y)
{
    if (y == 0 || x == 1)
        return 1;
    const float r = khal_ptx_pow_any(x, y, 0), half = 0.5f * y;
    if (!(KHAL_PTX_BITS(x) >> 31))
        return r;
    const bool is_whole = __builtin_truncf(y) == y, is_odd = is_whole && __builtin_truncf(half) != half;
    if (!is_whole && x != 0 && x >= -0x1.fffffep127f)
        return KHAL_PTX_NAN;
    return is_odd ? -r : r;
}

KHAL_C_INLINE float khal_libm_powrf(float x, float y)
{
    if (x < 0 || (y == 0 && !(x > 0 && x < KHAL_PTX_INF)) || (x == 1 && !(__builtin_fabsf(y) < KHAL_PTX_INF)))
        return KHAL_PTX_NAN;
    return y == 0 ? 1 : khal_ptx_pow_any(x, y, 0);
}

KHAL_C_INLINE float khal_libm_pownf(float x, int n)
{
    if (n == 0)
        return 1;
    const int low = n & 255;
    const float high = (float)(n - low), y = high + (float)low; /* high is exact */
    const float r = khal_ptx_pow_any(x, y, (high - y) + (float)low);
    return n & 1 && KHAL_PTX_BITS(x) >> 31 ? -r : r;
}

KHAL_C_INLINE float khal_libm_rootnf(float x, int n)
{
    const float by = (float)n, y = 1 / by;
    if (n == 0 || (x < 0 && !(n & 1)))
        return KHAL_PTX_NAN;
    const float r = khal_ptx_pow_any(x, y, __builtin_fmaf(-y, by, 1) * y);
    return n & 1 ? __builtin_copysignf(r, x) : r;
}

/* A step of Newton's method on the machine's root. */
KHAL_C_INLINE float khal_libm_cbrtf(float x)
{
    const bool is_small = __builtin_fabsf(x) < 0x1p-100f;
    const float a = __builtin_fabsf(is_small ? x * 0x1p60f : x);
    const float r = khal_ptx_ex2(khal_ptx_lg2(a) * (1.0f / 3)), square = r * r;
    const float root = __builtin_fmaf(__builtin_fmaf(square, r, -a), -khal_ptx_rcp(3 * square), r);
    return x == 0 || !(a < KHAL_PTX_INF) ? x : __builtin_copysignf(is_small ? root * 0x1p-20f : root, x);
}

/* ---- circles --------------------------------------------------------------------------------- */

/* sin(r) and cos(r), |r| <= pi / 4 */
KHAL_C_INLINE float khal_ptx_sin_part(float r)
{
    const float y = r * r;
    float p = 0x1.7869fap-19f;
    p = __builtin_fmaf(p, y, -0x1.a04a8p-13f);
    p = __builtin_fmaf(p, y, 0x1.111166p-7f);
    p = __builtin_fmaf(p, y, -0x1.555556p-3f);
    return r * __builtin_fmaf(p, y, 1); /* a zero keeps its sign */
}

KHAL_C_INLINE float khal_ptx_cos_part(float r)
{
    const float y = r * r;
    float p = 0x1.99eacep-16f;
    p = __builtin_fmaf(p, y, -0x1.6c0c2ep-10f);
    p = __builtin_fmaf(p, y, 0x1.55554ap-5f);
    p = __builtin_fmaf(p, y, -0.5f);
    return __builtin_fmaf(p, y, 1);
}

/* 2 / pi, after 32 bits of zero */
static const uint32_t khal_ptx_two_over_pi[8] __attribute__((unused)) = {
    0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};

/* The quadrant of a large a, and what is left of it in [-pi / 4, pi / 4]: those bits of a * 2 / pi that are below 4. */
KHAL_C_INLINE float khal_ptx_reduce_large(float a, uint32_t* quadrant)
{
    const uint32_t bits = KHAL_PTX_BITS(a), m = (bits & 0x7fffffu) | 0x800000u;
    const uint32_t at = (bits >> 23) - 120, word = at >> 5 & 7, by = at & 31;
    uint32_t w[4];
    for (uint32_t i = 0; i < 4; i++)
        w[i] = khal_ptx_two_over_pi[(word + i) & 7];
    for (uint32_t i = 0; i < 3; i++)
        w[i] = (uint32_t)(((uint64_t)w[i] << 32 | w[i + 1]) << by >> 32);
    const uint64_t low = (uint64_t)m * w[2], middle = (uint64_t)m * w[1] + (low >> 32);
    const uint64_t product = ((uint64_t)m * w[0] << 32) + middle; /* quadrants, times 2^62 */
    *quadrant = (uint32_t)((product >> 61) + 1) >> 1;
    return (float)(int64_t)(product << 2) * (KHAL_PTX_HALF_PI * 0x1p-64f);
}

/* x = quadrant * pi / 2 + the result, which is in [-pi / 4, pi / 4]; NaN where x is not finite */
KHAL_C_INLINE float khal_ptx_reduce(float x, uint32_t* quadrant)
{
    const float rounded = __builtin_fmaf(x, KHAL_PTX_TWO_OVER_PI, KHAL_PTX_ROUNDER);
    const float n = rounded - KHAL_PTX_ROUNDER;
    /* pi / 2 in three parts, the first of so few bits that its product takes away from x exactly */
    float r = __builtin_fmaf(n, -0x1.921fb4p0f, x);
    r = __builtin_fmaf(n, -0x1.4442dp-24f, r);
    r = __builtin_fmaf(n, -0x1.84698ap-48f, r);
    *quadrant = KHAL_PTX_BITS(rounded);
    const float a = __builtin_fabsf(x);
    if (__builtin_expect(a > 65536, 0)) {
        const float large = khal_ptx_reduce_large(a, quadrant);
        *quadrant = x < 0 ? 0 - *quadrant : *quadrant;
        r = a == KHAL_PTX_INF ? KHAL_PTX_NAN : x < 0 ? -large : large;
    }
    return r;
}

KHAL_C_INLINE float khal_ptx_circle(float r, uint32_t quadrant)
{
    const float y = quadrant & 1 ? khal_ptx_cos_part(r) : khal_ptx_sin_part(r);
    return KHAL_PTX_FLOAT(KHAL_PTX_BITS(y) ^ (quadrant & 2) << 30);
}

KHAL_C_INLINE float khal_libm_sinf(float x)
{
    uint32_t quadrant;
    const float r = khal_ptx_reduce(x, &quadrant);
    return khal_ptx_circle(r, quadrant);
}

KHAL_C_INLINE float khal_libm_cosf(float x)
{
    uint32_t quadrant;
    const float r = khal_ptx_reduce(x, &quadrant);
    return khal_ptx_circle(r, quadrant + 1);
}

KHAL_C_INLINE float khal_libm_tanf(float x)
{
    uint32_t quadrant;
    const float r = khal_ptx_reduce(x, &quadrant);
    const float s = khal_ptx_sin_part(r), c = khal_ptx_cos_part(r);
    return quadrant & 1 ? -c / s : s / c;
}

/* sin(pi * r) and cos(pi * r), |r| <= 1/4 */
KHAL_C_INLINE float khal_ptx_sinpi_part(float r)
{
    const float y = r * r;
    float p = 0x1.465c66p-4f;
    p = __builtin_fmaf(p, y, -0x1.32b45ap-1f);
    p = __builtin_fmaf(p, y, 0x1.466b82p1f);
    p = __builtin_fmaf(p, y, -0x1.4abbcep2f);
    return __builtin_fmaf(r, KHAL_PTX_PI, __builtin_fmaf(r * y, p, r * KHAL_PTX_PI_REST));
}

KHAL_C_INLINE float khal_ptx_cospi_part(float r)
{
    const float y = r * r;
    float p = 0x1.d61e48p-3f;
    p = __builtin_fmaf(p, y, -0x1.55b684p0f);
    p = __builtin_fmaf(p, y, 0x1.03c1b6p2f);
    p = __builtin_fmaf(p, y, -0x1.3bd3ccp2f);
    return __builtin_fmaf(p, y, 1);
}

/* x = quadrant / 2 + the result, exactly; floats from 2^24 on are even */
KHAL_C_INLINE float khal_ptx_reduce_turns(float x, uint32_t* quadrant)
{
    const float a = __builtin_fabsf(x) < 0x1p21f ? x : x - 2 * __builtin_truncf(0.5f * x);
    const float rounded = __builtin_fmaf(a, 2, KHAL_PTX_ROUNDER);
    *quadrant = KHAL_PTX_BITS(rounded);
    return __builtin_fmaf(rounded - KHAL_PTX_ROUNDER, -0.5f, a);
}

KHAL_C_INLINE float khal_libm_sinpif(float x)
{
    uint32_t quadrant;
    const float r = khal_ptx_reduce_turns(x, &quadrant);
    const float y = quadrant & 1 ? khal_ptx_cospi_part(r) : khal_ptx_sinpi_part(r);
    const float s = KHAL_PTX_FLOAT(KHAL_PTX_BITS(y) ^ (quadrant & 2) << 30);
    return s == 0 ? __builtin_copysignf(0, x) : s;
}

KHAL_C_INLINE float khal_libm_cospif(float x)
{
    uint32_t quadrant;
    const float r = khal_ptx_reduce_turns(x, &quadrant);
    const float y = quadrant & 1 ? -khal_ptx_sinpi_part(r) : khal_ptx_cospi_part(r);
    const float s = KHAL_PTX_FLOAT(KHAL_PTX_BITS(y) ^ (quadrant & 2) << 30);
    return s == 0 ? 0 : s;
}

/* Zeros have the sign of x at even numbers and the other one at odd ones, infinities that of the sine. */
KHAL_C_INLINE float khal_libm_tanpif(float x)
{
    uint32_t quadrant;
    const float r = khal_ptx_reduce_turns(x, &quadrant);
    const float s = khal_ptx_sinpi_part(r), c = khal_ptx_cospi_part(r);
    if (r == 0)
        return quadrant & 1 ? (quadrant & 2 ? -KHAL_PTX_INF : KHAL_PTX_INF) : __builtin_copysignf(0, quadrant & 2 ? -x : x);
    return quadrant & 1 ? -c / s : s / c;
}

/* ---- arcs ------------------------------------------------------------------------------------ */

/* atan(t) - t, |t| <= 1 */
KHAL_C_INLINE float khal_ptx_atan_rest(float t)
{
    const float y = t * t;
    float p = -0x1.de9f9p-10f;
    p = __builtin_fmaf(p, y, 0x1.6a57f6p-7f);
    p = __builtin_fmaf(p, y, -0x1.019446p-5f);
    p = __builtin_fmaf(p, y, 0x1.dcf1c4p-5f);
    p = __builtin_fmaf(p, y, -0x1.58d352p-4f);
    p = __builtin_fmaf(p, y, 0x1.c0cf18p-4f);
    p = __builtin_fmaf(p, y, -0x1.24269ap-3f);
    p = __builtin_fmaf(p, y, 0x1.99926cp-3f);
    p = __builtin_fmaf(p, y, -0x1.55554p-2f);
    return t * y * p;
}

KHAL_C_INLINE float khal_libm_atanf(float x)
{
    const float a = __builtin_fabsf(x), t = a > 1 ? khal_ptx_rcp(a) : a;
    const float part = t + khal_ptx_atan_rest(t);
    return __builtin_copysignf(a > 1 ? KHAL_PTX_HALF_PI - part : part, x);
}

KHAL_C_INLINE float khal_libm_atan2f(float y, float x)
{
    const float a = __builtin_fabsf(x), b = __builtin_fabsf(y);
    const float low = __builtin_fminf(a, b), high = __builtin_fmaxf(a, b);
    const float t = high == 0 ? 0 : low == KHAL_PTX_INF ? 1 : low / high;
    float r = t + khal_ptx_atan_rest(t);
    r = b > a ? KHAL_PTX_HALF_PI - r : r;
    r = KHAL_PTX_BITS(x) >> 31 ? KHAL_PTX_PI - r : r;
    return x != x || y != y ? x + y : __builtin_copysignf(r, y);
}

/* asin(r) - r, |r| <= 1/2, from r^2 */
KHAL_C_INLINE float khal_ptx_asin_rest(float r, float y)
{
    float p = 0x1.594c22p-5f;
    p = __builtin_fmaf(p, y, 0x1.8c613ap-6f);
    p = __builtin_fmaf(p, y, 0x1.7475e4p-5f);
    p = __builtin_fmaf(p, y, 0x1.330264p-4f);
    p = __builtin_fmaf(p, y, 0x1.5555c6p-3f);
    return r * y * p;
}

KHAL_C_INLINE float khal_libm_asinf(float x)
{
    const float a = __builtin_fabsf(x);
    const bool is_large = a > 0.5f; /* asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2)) */
    const float y = is_large ? __builtin_fmaf(-0.5f, a, 0.5f) : x * x;
    const float r = is_large ? khal_libm_sqrtf(y) : a;
    const float rest = khal_ptx_asin_rest(r, y);
    const float large = __builtin_fmaf(-2, r + (rest - 0.5f * KHAL_PTX_HALF_PI_REST), KHAL_PTX_HALF_PI);
    return __builtin_copysignf(is_large ? large : r + rest, x);
}

KHAL_C_INLINE float khal_libm_acosf(float x)
{
    const float a = __builtin_fabsf(x);
    const bool is_large = a > 0.5f;
    const float y = is_large ? __builtin_fmaf(-0.5f, a, 0.5f) : x * x;
    const float r = is_large ? khal_libm_sqrtf(y) : x;
    const float rest = khal_ptx_asin_rest(r, y);
    const float small = KHAL_PTX_HALF_PI - (r + (rest - KHAL_PTX_HALF_PI_REST));
    const float large = 2 * (r + rest);
    return is_large ? x < 0 ? KHAL_PTX_PI - large : large : small;
}

KHAL_C_INLINE float khal_libm_acospif(float x)
{
    return khal_libm_acosf(x) * KHAL_PTX_OVER_PI;
}
KHAL_C_INLINE float khal_libm_asinpif(float x)
{
    return khal_libm_asinf(x) * KHAL_PTX_OVER_PI;
}
KHAL_C_INLINE float khal_libm_atanpif(float x)
{
    return khal_libm_atanf(x) * KHAL_PTX_OVER_PI;
}
KHAL_C_INLINE float khal_libm_atan2pif(float y, float x)
{
    return khal_libm_atan2f(y, x) * KHAL_PTX_OVER_PI;
}

#endif
