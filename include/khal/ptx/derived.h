/* For PTX, what c/derived.h is for the host: libclc's functions, and the machine's own approximations. */
#ifndef KHAL_PTX_DERIVED_H
#define KHAL_PTX_DERIVED_H

#define KHAL_PTX_DERIVED1(name) KHAL_C_MATH1(name, khal_libm_##name##f, khal_libm_##name)
#define KHAL_PTX_DERIVED2(name) KHAL_C_MATH2(name, khal_libm_##name##f, khal_libm_##name)
#define KHAL_PTX_DERIVED_INT(name)                                                                 \
    KHAL_C_INLINE khal_float khal_##name##_float(khal_float x, khal_int n)                         \
    {                                                                                              \
        return khal_libm_##name##f(x, n);                                                          \
    }                                                                                              \
    KHAL_C_INLINE khal_double khal_##name##_double(khal_double x, khal_int n)                      \
    {                                                                                              \
        return khal_libm_##name(x, n);                                                             \
    }

KHAL_PTX_DERIVED1(acospi)
KHAL_PTX_DERIVED1(asinpi)
KHAL_PTX_DERIVED1(atanpi)
KHAL_PTX_DERIVED2(atan2pi)
KHAL_PTX_DERIVED1(cbrt)
KHAL_PTX_DERIVED1(cospi)
KHAL_PTX_DERIVED1(exp10)
KHAL_C_MATH2(fmax, __nvvm_fmax_f, __nvvm_fmax_d)
KHAL_C_MATH2(fmin, __nvvm_fmin_f, __nvvm_fmin_d)
KHAL_C_MATH2(max, __nvvm_fmax_f, __nvvm_fmax_d) /* of NaN they may be anything */
KHAL_C_MATH2(min, __nvvm_fmin_f, __nvvm_fmin_d)
#define KHAL_PTX_CLAMP(T)                                                                          \
    KHAL_C_INLINE khal_##T khal_clamp_##T(khal_##T x, khal_##T low, khal_##T high)                 \
    {                                                                                              \
        return khal_min_##T(khal_max_##T(x, low), high);                                           \
    }
KHAL_PTX_CLAMP(float)
KHAL_PTX_CLAMP(double)
KHAL_PTX_DERIVED1(lgamma)
KHAL_PTX_DERIVED_INT(pown)
KHAL_PTX_DERIVED2(powr)
KHAL_PTX_DERIVED_INT(rootn)
KHAL_C_MATH1(rsqrt, khal_ptx_rsqrt, 1 / khal_libm_sqrt)
KHAL_PTX_DERIVED1(sinpi)
KHAL_PTX_DERIVED1(tanpi)
KHAL_PTX_DERIVED1(tgamma)

KHAL_C_INLINE khal_double khal_ptx_divide(khal_double x, khal_double y)
{
    return x / y;
}

/* native_x: one or two instructions of the machine for float; those of double do not exist or are no faster. */
#define KHAL_PTX_NATIVE1(name, f, d)                                                               \
    KHAL_C_INLINE khal_float khal_native_##name##_float(khal_float x)                              \
    {                                                                                              \
        return f;                                                                                  \
    }                                                                                              \
    KHAL_C_INLINE khal_double khal_native_##name##_double(khal_double x)                           \
    {                                                                                              \
        return d;                                                                                  \
    }

KHAL_PTX_NATIVE1(cos, khal_ptx_cos(x), khal_libm_cos(x))
KHAL_PTX_NATIVE1(exp, khal_ptx_ex2(x * KHAL_PTX_LOG2_E), khal_libm_exp(x))
KHAL_PTX_NATIVE1(exp2, khal_ptx_ex2(x), khal_libm_exp2(x))
KHAL_PTX_NATIVE1(exp10, khal_ptx_ex2(x * KHAL_PTX_LOG2_10), khal_libm_exp10(x))
KHAL_PTX_NATIVE1(log, khal_ptx_lg2(x) * KHAL_PTX_LN_2, khal_libm_log(x))
KHAL_PTX_NATIVE1(log2, khal_ptx_lg2(x), khal_libm_log2(x))
KHAL_PTX_NATIVE1(log10, khal_ptx_lg2(x) * KHAL_PTX_LOG10_2, khal_libm_log10(x))
KHAL_PTX_NATIVE1(recip, khal_ptx_rcp(x), 1 / x)
KHAL_PTX_NATIVE1(rsqrt, khal_ptx_rsqrt(x), khal_rsqrt_double(x))
KHAL_PTX_NATIVE1(sin, khal_ptx_sin(x), khal_libm_sin(x))
KHAL_PTX_NATIVE1(sqrt, khal_ptx_sqrt(x), khal_libm_sqrt(x))
KHAL_PTX_NATIVE1(tan, __nvvm_div_approx_f(khal_ptx_sin(x), khal_ptx_cos(x)), khal_libm_tan(x))

KHAL_C_MATH2(native_divide, __nvvm_div_approx_f, khal_ptx_divide)
KHAL_C_INLINE khal_float khal_native_powr_float(khal_float x, khal_float y)
{
    return khal_ptx_ex2(y * khal_ptx_lg2(x));
}
KHAL_C_INLINE khal_double khal_native_powr_double(khal_double x, khal_double y)
{
    return khal_libm_pow(x, y);
}

#endif
