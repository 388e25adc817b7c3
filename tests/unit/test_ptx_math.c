/* Our own mathematics for PTX, compiled for the host over instructions that are as far off as NVIDIA says they may be,
 * against the C library's in long double. */
#include "front.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KHAL_C_INLINE static inline __attribute__((always_inline, unused))
#include <khal/c/types.h>

/* ---- the machine ----------------------------------------------------------------------------- */

static int lean; /* which way instructions are off: 1, -1, or 0: one or the other */

static double lean_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return lean ? lean : (double)(bits * 2654435761u >> 8) / 8388608.0 - 1;
}

/* y, off by up to `ulps` after its rounding */
static float off(double y, double ulps)
{
    if (!(fabs(y) > 0) || isinf(y) || fabs(y) >= 0x1p128)
        return (float)y;
    const int e = ilogb(y) < -126 ? -126 : ilogb(y);
    return (float)(y + lean_of((float)y) * (ulps - 0.5) * ldexp(1, e - 23));
}

static float khal_ptx_ex2(float x)
{
    return fabsf(x) < 0x1p-20f ? exp2f(x) : off(exp2((double)x), 2);
}
static float khal_ptx_ex2_small(float x)
{
    const float y = khal_ptx_ex2(fabsf(x) < 0x1p-126f ? 0 : x);
    return y < 0x1p-126f ? 0 : y;
}
static float khal_ptx_lg2(float x)
{
    const double y = log2((double)x);
    return x > 0.5f && x < 2 ? (float)(y + lean_of(x) * 0x1p-22) : off(y, 2);
}
static float khal_ptx_rcp(float x)
{
    return off(1 / (double)x, 1);
}
static float khal_libm_sqrtf(float x)
{
    return sqrtf(x);
}

#define KHAL_PTX_INSTRUCTION_H
#include <khal/ptx/exact.h>
#include <khal/ptx/float.h>

/* libclc's part in the gamma function */
static double khal_libm_pow(double x, double y)
{
    return pow(x, y);
}
static double khal_libm_exp(double x)
{
    return exp(x);
}

static long double turn(long double x, bool is_cosine)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    if (isinf(x))
        return (long double)NAN;
    long double r = fmodl(fabsl(x), 2);
    if (is_cosine)
        r = r <= 0.5L ? 0.5L - r : r - 0.5L; /* cos(a) = sin(pi / 2 - a), and r - 1/2 turns it round */
    const bool is_turned = is_cosine && fmodl(fabsl(x), 2) > 0.5L;
    long double s;
    if (r <= 0.25L)
        s = sinl(pi * r);
    else if (r <= 0.75L)
        s = cosl(pi * (r - 0.5L));
    else if (r <= 1.25L)
        s = sinl(pi * (1 - r));
    else if (r <= 1.5L)
        s = -cosl(pi * (r - 1.5L));
    else
        s = r <= 1.75L ? -cosl(pi * (r - 1.5L)) : -sinl(pi * (2 - r));
    if (is_cosine)
        return is_turned ? -s + 0.0L : s;
    return s == 0 ? copysignl(0, x) : signbit(x) ? -s : s;
}

static double khal_libm_sinpi(double x)
{
    return (double)turn(x, false);
}

#include <khal/ptx/gamma.h>

/* ---- references and errors ------------------------------------------------------------------- */

static long double sinpi_reference(long double x)
{
    return turn(x, false);
}
static long double cospi_reference(long double x)
{
    return turn(x, true);
}
static long double exp10_reference(long double x)
{
    return powl(10, x);
}
static long double pown_reference(long double x, int n)
{
    return powl(x, n);
}
static long double rootn_reference(long double x, int n)
{
    if (n == 0 || isnan(x) || (x < 0 && n % 2 == 0))
        return (long double)NAN;
    const long double r = powl(fabsl(x), 1.0L / n);
    return n % 2 ? copysignl(r, x) : r;
}

/* In units of the last place of the reference; zeros have to have its sign. */
static double ulps(bool is_float, long double actual, long double reference)
{
    const int digits = is_float ? 24 : 53, least = is_float ? -126 : -1022, most = is_float ? 128 : 1024;
    if (isnan(actual) || isnan(reference))
        return isnan(actual) && isnan(reference) ? 0 : INFINITY;
    if (actual == 0 && reference == 0)
        return signbit(actual) == signbit(reference) ? 0 : INFINITY;
    if (fabsl(reference) >= ldexpl(1, most) && isinf(actual))
        return signbit(actual) == signbit(reference) ? 0 : INFINITY;
    long double r = reference, a = actual;
    if (fabsl(r) > ldexpl(1, most))
        r = copysignl(ldexpl(1, most), r);
    if (isinf(a))
        a = copysignl(ldexpl(1, most), a);
    int e = r == 0 ? least : ilogbl(r);
    e = e < least ? least : e >= most ? most - 1 : e;
    return (double)(fabsl(a - r) / ldexpl(1, e - digits + 1));
}

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

static const double specials[] = {0,      -0.0,    1,       -1,      2,        -2,        0.5,       -0.5,     3,        -3,
                                  1.5,    -1.5,    0.25,    0.75,    100,      1e10,      -1e10,     3.4e38,   -3.4e38,  0x1p-126,
                                  -0x1p-126, 0x1p-149, -0x1p-149, 0x1p-130, 88.7, 88.75,  -87.4,     -103.9,   -104.1,   128,
                                  127.99, -126.5,  -149.4,  -150.5,  35,       35.1,      171.6,     171.7,    -20.5,    -185.5,
                                  0x1p23, 0x1p24,  0x1.8p23, 65536,  65537,    1e22,      INFINITY,  -INFINITY, NAN,     5};
enum { SPECIALS = sizeof specials / sizeof specials[0], COUNT = 20000 };

static double argument(bool is_float, size_t i)
{
    if (i < SPECIALS)
        return specials[i];
    const uint64_t bits = random_bits();
    const double unit = (double)(int64_t)random_bits() * 0x1p-63;
    float f;
    double d;
    const uint32_t low = (uint32_t)(bits >> 8);
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    switch (bits % 8) {
    case 0:
    case 1: return is_float ? (double)f : d;
    case 2: return unit;
    case 3: return unit * 4;
    case 4: return unit * 200;
    case 5: return 1 + unit * 0.1;
    case 6: return (double)((int)(bits >> 32 & 255) - 128) * 0.5;
    default: return unit * 1e5;
    }
}

/* How far off it is at most, and where. */
typedef struct worst {
    double ulps;
    long double x, y, actual, reference;
} worst;

static void judge(worst* w, bool is_float, long double x, long double y, long double actual, long double reference)
{
    const double u = ulps(is_float, actual, reference);
    if (u > w->ulps)
        *w = (worst){u, x, y, actual, reference};
}

static void demand(const worst* w, const char* name, double bound)
{
    if (w->ulps <= bound)
        return;
    fprintf(stderr, "%s(%La, %La): %La, not %La: off by %g\n", name, w->x, w->y, w->actual, w->reference, w->ulps);
    fail();
}

#define FUNCTION1(name) static float name##_of(float x) { return khal_libm_##name##f(x); }
#define FUNCTION2(name) static float name##_of(float x, float y) { return khal_libm_##name##f(x, y); }
FUNCTION1(acos) FUNCTION1(acosh) FUNCTION1(acospi) FUNCTION1(asin) FUNCTION1(asinh) FUNCTION1(asinpi) FUNCTION1(atan)
FUNCTION1(atanh) FUNCTION1(atanpi) FUNCTION1(cbrt) FUNCTION1(cos) FUNCTION1(cosh) FUNCTION1(cospi) FUNCTION1(exp)
FUNCTION1(exp2) FUNCTION1(exp10) FUNCTION1(expm1) FUNCTION1(log) FUNCTION1(log2) FUNCTION1(log10) FUNCTION1(log1p)
FUNCTION1(sin) FUNCTION1(sinh) FUNCTION1(sinpi) FUNCTION1(tan) FUNCTION1(tanh) FUNCTION1(tgamma)
FUNCTION2(atan2) FUNCTION2(atan2pi) FUNCTION2(pow)

#define OVER_PI(name)                                                                                                  \
    static long double name##pi_reference(long double x) { return name##l(x) / 3.14159265358979323846264338327950288L; }
OVER_PI(acos) OVER_PI(asin) OVER_PI(atan)
static long double atan2pi_reference(long double y, long double x)
{
    return atan2l(y, x) / 3.14159265358979323846264338327950288L;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void functions_of_one_float(void** state)
{
    (void)state;
    static const struct {
        const char* name;
        float (*own)(float);
        long double (*reference)(long double);
        double bound; /* of OpenCL 1.2, section 7.4 */
    } functions[] = {
        {"acos", acos_of, acosl, 4}, {"acosh", acosh_of, acoshl, 4}, {"acospi", acospi_of, acospi_reference, 5},
        {"asin", asin_of, asinl, 4}, {"asinh", asinh_of, asinhl, 4}, {"asinpi", asinpi_of, asinpi_reference, 5},
        {"atan", atan_of, atanl, 5}, {"atanh", atanh_of, atanhl, 5}, {"atanpi", atanpi_of, atanpi_reference, 5},
        {"cbrt", cbrt_of, cbrtl, 2}, {"cos", cos_of, cosl, 4}, {"cosh", cosh_of, coshl, 4},
        {"cospi", cospi_of, cospi_reference, 4}, {"exp", exp_of, expl, 3}, {"exp2", exp2_of, exp2l, 3},
        {"exp10", exp10_of, exp10_reference, 3}, {"expm1", expm1_of, expm1l, 3}, {"log", log_of, logl, 3},
        {"log2", log2_of, log2l, 3}, {"log10", log10_of, log10l, 3}, {"log1p", log1p_of, log1pl, 2},
        {"sin", sin_of, sinl, 4}, {"sinh", sinh_of, sinhl, 4}, {"sinpi", sinpi_of, sinpi_reference, 4},
        {"tan", tan_of, tanl, 5}, {"tanh", tanh_of, tanhl, 5}, {"tgamma", tgamma_of, tgammal, 16},
    };
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
        for (lean = -1; lean <= 1; lean++) {
            worst w = {.ulps = 0};
            for (size_t i = 0; i < COUNT; i++) {
                const float x = (float)argument(true, i);
                judge(&w, true, (long double)x, 0, (long double)functions[f].own(x), functions[f].reference((long double)x));
            }
            demand(&w, functions[f].name, functions[f].bound);
        }
}

static void functions_of_two_floats(void** state)
{
    (void)state;
    static const struct {
        const char* name;
        float (*own)(float, float);
        long double (*reference)(long double, long double);
        double bound;
    } functions[] = {{"atan2", atan2_of, atan2l, 6}, {"atan2pi", atan2pi_of, atan2pi_reference, 6}, {"pow", pow_of, powl, 16}};
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
        for (lean = -1; lean <= 1; lean++) {
            worst w = {.ulps = 0};
            for (size_t i = 0; i < COUNT; i++) {
                const float x = (float)argument(true, i < SPECIALS * SPECIALS ? i % SPECIALS : i);
                const float y = (float)argument(true, i < SPECIALS * SPECIALS ? i / SPECIALS : i);
                judge(&w, true, (long double)x, (long double)y, (long double)functions[f].own(x, y),
                      functions[f].reference((long double)x, (long double)y));
            }
            demand(&w, functions[f].name, functions[f].bound);
        }
}

static void powers_and_roots_by_whole_numbers(void** state)
{
    (void)state;
    static const int exponents[] = {0, 1, -1, 2, -2, 3, -3, 5, 24, -100, 127, -127, 16777217, INT32_MAX, INT32_MIN};
    for (lean = -1; lean <= 1; lean++) {
        worst pown = {.ulps = 0}, rootn = {.ulps = 0};
        for (size_t i = 0; i < COUNT; i++) {
            const float x = (float)argument(true, i < SPECIALS * 15 ? i % SPECIALS : i);
            const int n = i < SPECIALS * 15 ? exponents[i / SPECIALS] : (int)(random_bits() % 600) - 300;
            judge(&pown, true, (long double)x, n, (long double)khal_libm_pownf(x, n), pown_reference((long double)x, n));
            judge(&rootn, true, (long double)x, n, (long double)khal_libm_rootnf(x, n), rootn_reference((long double)x, n));
        }
        demand(&pown, "pown", 16);
        demand(&rootn, "rootn", 16);
    }
}

static void powr_is_nan_where_pow_is_not(void** state)
{
    (void)state;
    assert_true(isnan(khal_libm_powrf(0, 0)));
    assert_true(isnan(khal_libm_powrf(INFINITY, 0)));
    assert_true(isnan(khal_libm_powrf(NAN, 0)));
    assert_true(isnan(khal_libm_powrf(1, INFINITY)));
    assert_true(isnan(khal_libm_powrf(-2, 2)));
    assert_true(khal_libm_powrf(3, 0) == 1);
    assert_true(khal_libm_powrf(0, 2) == 0);
    assert_true(isinf(khal_libm_powrf(0, -1)));
}

static void tanpi_has_signed_zeros_and_infinities(void** state)
{
    (void)state;
    assert_true(khal_libm_tanpif(2) == 0 && !signbit(khal_libm_tanpif(2)));
    assert_true(khal_libm_tanpif(1) == 0 && signbit(khal_libm_tanpif(1)));
    assert_true(khal_libm_tanpif(-1) == 0 && !signbit(khal_libm_tanpif(-1)));
    assert_true(khal_libm_tanpif(-0.0f) == 0 && signbit(khal_libm_tanpif(-0.0f)));
    assert_true(khal_libm_tanpif(0.5f) > 1e38f && khal_libm_tanpif(1.5f) < -1e38f);
    assert_true(isnan(khal_libm_tanpif(INFINITY)));
    assert_true(fabsf(khal_libm_tanpif(0.25f) - 1) < 1e-6f);
    assert_true(fabsf(khal_libm_tanpif(1e5f + 0.75f) + 1) < 1e-6f);
}

#define EXACT(T, B, is_float)                                                                                          \
    do {                                                                                                               \
        worst fmod_worst = {.ulps = 0}, remainder_worst = {.ulps = 0}, next = {.ulps = 0}, scaled = {.ulps = 0},       \
              logb_worst = {.ulps = 0}, mantissa = {.ulps = 0};                                                        \
        for (size_t i = 0; i < 5 * COUNT; i++) {                                                                       \
            const T x = (T)argument(is_float, i < SPECIALS * SPECIALS ? i % SPECIALS : i);                             \
            const T y = (T)argument(is_float, i < SPECIALS * SPECIALS ? i / SPECIALS : i);                             \
            const int n = (int)(random_bits() % 4500) - 2250;                                                          \
            int e = 0, reference_e = 0;                                                                                \
            judge(&fmod_worst, is_float, x, y, khal_libm_fmod##B(x, y), fmod##B(x, y));                                \
            judge(&remainder_worst, is_float, x, y, khal_libm_remainder##B(x, y), remainder##B(x, y));                 \
            judge(&next, is_float, x, y, khal_libm_nextafter##B(x, y), nextafter##B(x, y));                            \
            judge(&scaled, is_float, x, n, khal_libm_ldexp##B(x, n), ldexp##B(x, n));                                  \
            judge(&logb_worst, is_float, x, 0, khal_libm_logb##B(x), logb##B(x));                                      \
            judge(&mantissa, is_float, x, 0, khal_libm_frexp##B(x, &e), frexp##B(x, &reference_e));                    \
            if (x - x == 0)                                                                                            \
                assert_int_equal(e, reference_e);                                                                      \
        }                                                                                                              \
        demand(&fmod_worst, "fmod", 0);                                                                                \
        demand(&remainder_worst, "remainder", 0);                                                                      \
        demand(&next, "nextafter", 0);                                                                                 \
        demand(&scaled, "ldexp", 0);                                                                                   \
        demand(&logb_worst, "logb", 0);                                                                                \
        demand(&mantissa, "frexp", 0);                                                                                 \
    } while (0)

static void exact_functions_of_float(void** state)
{
    (void)state;
    EXACT(float, f, true);
}

static void exact_functions_of_double(void** state)
{
    (void)state;
    EXACT(double, , false);
}

static void gamma_of_double(void** state)
{
    (void)state;
    worst w = {.ulps = 0};
    for (size_t i = 0; i < COUNT; i++) {
        const double x = argument(false, i);
        const bool is_pole = x < 0 && floor(x) == x; /* the C library has -infinity or NaN there */
        if (is_pole)
            assert_true(isnan(khal_libm_tgamma(x)));
        else
            judge(&w, false, (long double)x, 0, (long double)khal_libm_tgamma(x), tgammal((long double)x));
    }
    demand(&w, "tgamma", 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one_float),
        cmocka_unit_test(functions_of_two_floats),
        cmocka_unit_test(powers_and_roots_by_whole_numbers),
        cmocka_unit_test(powr_is_nan_where_pow_is_not),
        cmocka_unit_test(tanpi_has_signed_zeros_and_infinities),
        cmocka_unit_test(exact_functions_of_float),
        cmocka_unit_test(exact_functions_of_double),
        cmocka_unit_test(gamma_of_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
