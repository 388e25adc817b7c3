/* The gamma function in double, after libclc's functions. */
#ifndef KHAL_PTX_GAMMA_H
#define KHAL_PTX_GAMMA_H

/* 1 / gamma(1 + z), |z| <= 1/2 */
KHAL_C_INLINE double khal_ptx_over_gamma(double z)
{
    static const double terms[17] = {
        0x1.5f2f4a66138f5p-28,  0x1.4e6939c4fb456p-28,  -0x1.b9b247305bb0bp-23,
        0x1.304a8f2a6abe9p-20,  -0x1.4fac8273dcaf8p-20, -0x1.51cf163869d1cp-16,
        0x1.0c8a789b15a59p-13,  -0x1.c364fc221f12cp-13, -0x1.317112cdc107cp-10,
        0x1.d919c52694c10p-8,   -0x1.3b4af284847c2p-7,  -0x1.59af103c32479p-5,
        0x1.5512320b43fc1p-3,   -0x1.5815e8fa270c8p-5,  -0x1.4fcf4026afa2ep-1,
        0x1.2788cfc6fb619p-1,   1,
    };
    double p = terms[0];
    for (int i = 1; i < 17; i++)
        p = __builtin_fma(p, z, terms[i]);
    return p;
}

/* gamma(a) = root * rest * root, a in [13, 200], by Stirling's series: x^(a - 1/2) alone would overflow */
KHAL_C_INLINE double khal_ptx_stirling(double a, double* root)
{
    const double w = 1 / a, y = w * w;
    double c = -691.0 / 360360;
    c = __builtin_fma(c, y, 1.0 / 1188);
    c = __builtin_fma(c, y, -1.0 / 1680);
    c = __builtin_fma(c, y, 1.0 / 1260);
    c = __builtin_fma(c, y, -1.0 / 360);
    c = __builtin_fma(c, y, 1.0 / 12) * w;
    double s = 1.0 / 120; /* e^c */
    s = __builtin_fma(s, c, 1.0 / 24);
    s = __builtin_fma(s, c, 1.0 / 6);
    s = __builtin_fma(s, c, 0.5);
    s = __builtin_fma(s, c, 1);
    s = __builtin_fma(s, c, 1);
    *root = khal_libm_pow(a, 0.5 * a - 0.25);
    return khal_libm_exp(-a) * 0x1.40d931ff62706p+1 * s; /* sqrt(2 * pi) */
}

KHAL_C_INLINE double khal_libm_tgamma(double x)
{
    const double a = __builtin_fabs(x), whole = __builtin_rint(x);
    double root;
    if (x == 0)
        return 1 / x;
    if (!(a < __builtin_inf()) || (x < 0 && whole == x))
        return x > 0 ? x : __builtin_nan("");
    if (x > 172)
        return __builtin_inf();
    if (x > 13) {
        const double rest = khal_ptx_stirling(x, &root);
        return root * rest * root;
    }
    if (x < -13) { /* by reflection */
        const double rest = khal_ptx_stirling(a > 200 ? 200 : a, &root);
        return -0x1.921fb54442d18p+1 / (khal_libm_sinpi(a) * a * rest) / root / root;
    }
    double up = 1, down = khal_ptx_over_gamma(x - whole);
    for (double k = whole - 1; k > 0; k--)
        up *= x - k;
    for (double k = whole; k < 1; k++)
        down *= x - k;
    return up / down;
}

KHAL_C_INLINE float khal_libm_tgammaf(float x)
{
    return (float)khal_libm_tgamma((double)x);
}

#endif
