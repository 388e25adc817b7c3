#include "emit_wgsl_builtin.h"

#include <stddef.h>

typedef enum form {
    NONE,
    LANES,         /* per_lane */
    WHOLE,         /* scalars and vectors alike */
    OPERATOR,      /* likewise, an operator */
    TEST,          /* per_lane, gives_bool */
    TEST_WHOLE,    /* gives_bool */
    TEST_OPERATOR, /* likewise, an operator */
} form;

typedef struct entry {
    const char* text;
    form form;
} entry;

#define F1(name) {"khal_" name "($0)", LANES}
#define F2(name) {"khal_" name "($0, $1)", LANES}
#define F3(name) {"khal_" name "($0, $1, $2)", LANES}
#define T1(name) {"khal_" name "($0)", TEST}
#define T2(name) {"khal_" name "($0, $1)", TEST}

static const entry floats[KC_BUILTIN_COUNT] = {
    [KC_BUILTIN_ACOS] = F1("acos"),
    [KC_BUILTIN_ACOSH] = F1("acosh"),
    [KC_BUILTIN_ACOSPI] = F1("acospi"),
    [KC_BUILTIN_ASIN] = F1("asin"),
    [KC_BUILTIN_ASINH] = F1("asinh"),
    [KC_BUILTIN_ASINPI] = F1("asinpi"),
    [KC_BUILTIN_ATAN] = F1("atan"),
    [KC_BUILTIN_ATANH] = F1("atanh"),
    [KC_BUILTIN_ATANPI] = F1("atanpi"),
    [KC_BUILTIN_ATAN2] = F2("atan2"),
    [KC_BUILTIN_ATAN2PI] = F2("atan2pi"),
    [KC_BUILTIN_CBRT] = F1("cbrt"),
    [KC_BUILTIN_CEIL] = F1("ceil"),
    [KC_BUILTIN_COPYSIGN] = F2("copysign"),
    [KC_BUILTIN_COS] = F1("cos"),
    [KC_BUILTIN_COSH] = F1("cosh"),
    [KC_BUILTIN_COSPI] = F1("cospi"),
    [KC_BUILTIN_ERF] = F1("erf"),
    [KC_BUILTIN_ERFC] = F1("erfc"),
    [KC_BUILTIN_EXP] = F1("exp"),
    [KC_BUILTIN_EXP2] = F1("exp2"),
    [KC_BUILTIN_EXP10] = F1("exp10"),
    [KC_BUILTIN_EXPM1] = F1("expm1"),
    [KC_BUILTIN_FABS] = {"abs($0)", WHOLE},
    [KC_BUILTIN_FDIM] = F2("fdim"),
    [KC_BUILTIN_FLOOR] = F1("floor"),
    [KC_BUILTIN_FMA] = F3("fma"),
    [KC_BUILTIN_FMAX] = F2("fmax"),
    [KC_BUILTIN_FMIN] = F2("fmin"),
    [KC_BUILTIN_FMOD] = F2("fmod"),
    [KC_BUILTIN_FRACT] = F1("fract"),
    [KC_BUILTIN_FREXP_MANT] = F1("frexp_mant"),
    [KC_BUILTIN_FREXP_EXP] = F1("frexp_exp"),
    [KC_BUILTIN_HYPOT] = F2("hypot"),
    [KC_BUILTIN_ILOGB] = F1("ilogb"),
    [KC_BUILTIN_LDEXP] = F2("ldexp"),
    [KC_BUILTIN_LGAMMA] = F1("lgamma"),
    [KC_BUILTIN_LGAMMA_SIGN] = F1("lgamma_sign"),
    [KC_BUILTIN_LOG] = F1("log"),
    [KC_BUILTIN_LOG2] = F1("log2"),
    [KC_BUILTIN_LOG10] = F1("log10"),
    [KC_BUILTIN_LOG1P] = F1("log1p"),
    [KC_BUILTIN_LOGB] = F1("logb"),
    [KC_BUILTIN_MAD] = {"$0 * $1 + $2", OPERATOR},
    [KC_BUILTIN_MAXMAG] = F2("maxmag"),
    [KC_BUILTIN_MINMAG] = F2("minmag"),
    [KC_BUILTIN_MODF_FRAC] = F1("modf_frac"),
    [KC_BUILTIN_NEXTAFTER] = F2("nextafter"),
    [KC_BUILTIN_POW] = F2("pow"),
    [KC_BUILTIN_POWN] = F2("pown"),
    [KC_BUILTIN_POWR] = F2("powr"),
    [KC_BUILTIN_REMAINDER] = F2("remainder"),
    [KC_BUILTIN_REMQUO_QUO] = F2("remquo_quo"),
    [KC_BUILTIN_RINT] = F1("rint"),
    [KC_BUILTIN_ROOTN] = F2("rootn"),
    [KC_BUILTIN_ROUND] = F1("round"),
    [KC_BUILTIN_RSQRT] = F1("rsqrt"),
    [KC_BUILTIN_SIN] = F1("sin"),
    [KC_BUILTIN_SINH] = F1("sinh"),
    [KC_BUILTIN_SINPI] = F1("sinpi"),
    [KC_BUILTIN_SQRT] = F1("sqrt"),
    [KC_BUILTIN_TAN] = F1("tan"),
    [KC_BUILTIN_TANH] = F1("tanh"),
    [KC_BUILTIN_TANPI] = F1("tanpi"),
    [KC_BUILTIN_TGAMMA] = F1("tgamma"),
    [KC_BUILTIN_TRUNC] = F1("trunc"),
    [KC_BUILTIN_NATIVE_COS] = {"cos($0)", WHOLE},
    [KC_BUILTIN_NATIVE_DIVIDE] = {"$0 / $1", OPERATOR},
    [KC_BUILTIN_NATIVE_EXP] = {"exp($0)", WHOLE},
    [KC_BUILTIN_NATIVE_EXP2] = {"exp2($0)", WHOLE},
    [KC_BUILTIN_NATIVE_EXP10] = {"exp2($0 * 3.321928)", WHOLE},
    [KC_BUILTIN_NATIVE_LOG] = {"log($0)", WHOLE},
    [KC_BUILTIN_NATIVE_LOG2] = {"log2($0)", WHOLE},
    [KC_BUILTIN_NATIVE_LOG10] = {"log2($0) * 0.30103", OPERATOR},
    [KC_BUILTIN_NATIVE_POWR] = {"pow($0, $1)", WHOLE},
    [KC_BUILTIN_NATIVE_RECIP] = {"1.0 / $0", OPERATOR},
    [KC_BUILTIN_NATIVE_RSQRT] = {"inverseSqrt($0)", WHOLE},
    [KC_BUILTIN_NATIVE_SIN] = {"sin($0)", WHOLE},
    [KC_BUILTIN_NATIVE_SQRT] = {"sqrt($0)", WHOLE},
    [KC_BUILTIN_NATIVE_TAN] = {"tan($0)", WHOLE},
    [KC_BUILTIN_CLAMP] = {"min(max($0, $1), $2)",
                          WHOLE}, /* clamp refuses constant bounds in the wrong order */
    [KC_BUILTIN_DEGREES] = F1("degrees"),
    [KC_BUILTIN_MAX] = {"max($0, $1)", WHOLE},
    [KC_BUILTIN_MIN] = {"min($0, $1)", WHOLE},
    [KC_BUILTIN_MIX] = {"mix($0, $1, $2)", WHOLE},
    [KC_BUILTIN_RADIANS] = F1("radians"),
    [KC_BUILTIN_STEP] = {"step($0, $1)", WHOLE},
    [KC_BUILTIN_SMOOTHSTEP] = F3("smoothstep"),
    [KC_BUILTIN_SIGN] = F1("sign"),
    [KC_BUILTIN_ISEQUAL] = T2("isequal"),
    [KC_BUILTIN_ISNOTEQUAL] = T2("isnotequal"),
    [KC_BUILTIN_ISGREATER] = T2("isgreater"),
    [KC_BUILTIN_ISGREATEREQUAL] = T2("isgreaterequal"),
    [KC_BUILTIN_ISLESS] = T2("isless"),
    [KC_BUILTIN_ISLESSEQUAL] = T2("islessequal"),
    [KC_BUILTIN_ISLESSGREATER] = T2("islessgreater"),
    [KC_BUILTIN_ISFINITE] = T1("isfinite"),
    [KC_BUILTIN_ISINF] = T1("isinf"),
    [KC_BUILTIN_ISNAN] = T1("isnan"),
    [KC_BUILTIN_ISNORMAL] = T1("isnormal"),
    [KC_BUILTIN_ISORDERED] = T2("isordered"),
    [KC_BUILTIN_ISUNORDERED] = T2("isunordered"),
    [KC_BUILTIN_SIGNBIT] = T1("signbit"),
    [KC_BUILTIN_BITSELECT] = F3("bitselect_f32"),
};

/* What WGSL has of its own, for -cl-fast-relaxed-math. */
static const entry relaxed_floats[KC_BUILTIN_COUNT] = {
    [KC_BUILTIN_ACOS] = {"acos($0)", WHOLE},
    [KC_BUILTIN_ACOSH] = {"acosh($0)", WHOLE},
    [KC_BUILTIN_ASIN] = {"asin($0)", WHOLE},
    [KC_BUILTIN_ASINH] = {"asinh($0)", WHOLE},
    [KC_BUILTIN_ATAN] = {"atan($0)", WHOLE},
    [KC_BUILTIN_ATANH] = {"atanh($0)", WHOLE},
    [KC_BUILTIN_ATAN2] = {"atan2($0, $1)", WHOLE},
    [KC_BUILTIN_CEIL] = {"ceil($0)", WHOLE},
    [KC_BUILTIN_COS] = {"cos($0)", WHOLE},
    [KC_BUILTIN_COSH] = {"cosh($0)", WHOLE},
    [KC_BUILTIN_EXP] = {"exp($0)", WHOLE},
    [KC_BUILTIN_EXP2] = {"exp2($0)", WHOLE},
    [KC_BUILTIN_EXP10] = {"exp2($0 * 3.321928)", WHOLE},
    [KC_BUILTIN_FLOOR] = {"floor($0)", WHOLE},
    [KC_BUILTIN_FMAX] = {"max($0, $1)", WHOLE},
    [KC_BUILTIN_FMIN] = {"min($0, $1)", WHOLE},
    [KC_BUILTIN_LOG] = {"log($0)", WHOLE},
    [KC_BUILTIN_LOG2] = {"log2($0)", WHOLE},
    [KC_BUILTIN_LOG10] = {"log2($0) * 0.30103", OPERATOR},
    [KC_BUILTIN_POWR] = {"pow($0, $1)", WHOLE},
    [KC_BUILTIN_RINT] = {"round($0)", WHOLE},
    [KC_BUILTIN_RSQRT] = {"inverseSqrt($0)", WHOLE},
    [KC_BUILTIN_SIN] = {"sin($0)", WHOLE},
    [KC_BUILTIN_SINH] = {"sinh($0)", WHOLE},
    [KC_BUILTIN_SQRT] = {"sqrt($0)", WHOLE},
    [KC_BUILTIN_TAN] = {"tan($0)", WHOLE},
    [KC_BUILTIN_TANH] = {"tanh($0)", WHOLE},
    [KC_BUILTIN_TRUNC] = {"trunc($0)", WHOLE},
    [KC_BUILTIN_DEGREES] = {"degrees($0)", WHOLE},
    [KC_BUILTIN_RADIANS] = {"radians($0)", WHOLE},
    [KC_BUILTIN_SIGN] = {"sign($0)", WHOLE},
};

/* Of scalars, and of vectors. */
static const entry geometry[KC_BUILTIN_COUNT][2] = {
    [KC_BUILTIN_CROSS] = {{NULL, NONE}, {"khal_cross4($0, $1)", WHOLE}},
    [KC_BUILTIN_DOT] = {{"$0 * $1", OPERATOR}, {"dot($0, $1)", WHOLE}},
    [KC_BUILTIN_DISTANCE] = {{"abs($0 - $1)", WHOLE}, {"khal_length$n($0 - $1)", WHOLE}},
    [KC_BUILTIN_LENGTH] = {{"abs($0)", WHOLE}, {"khal_length$n($0)", WHOLE}},
    [KC_BUILTIN_NORMALIZE] = {F1("normalize1"), {"khal_normalize$n($0)", WHOLE}},
    [KC_BUILTIN_FAST_DISTANCE] = {{"abs($0 - $1)", WHOLE}, {"distance($0, $1)", WHOLE}},
    [KC_BUILTIN_FAST_LENGTH] = {{"abs($0)", WHOLE}, {"length($0)", WHOLE}},
    [KC_BUILTIN_FAST_NORMALIZE] = {F1("normalize1"), {"khal_fast_normalize$n($0)", WHOLE}},
};

static const entry signed_integers[KC_BUILTIN_COUNT] = {
    [KC_BUILTIN_CLAMP] = {"min(max($0, $1), $2)", WHOLE},
    [KC_BUILTIN_MAX] = {"max($0, $1)", WHOLE},
    [KC_BUILTIN_MIN] = {"min($0, $1)", WHOLE},
    [KC_BUILTIN_ABS] = {"bitcast<$t>(abs($0))", WHOLE},
    [KC_BUILTIN_ABS_DIFF] = F2("abs_diff_i32"),
    [KC_BUILTIN_ADD_SAT] = F2("add_sat_i32"),
    [KC_BUILTIN_SUB_SAT] = F2("sub_sat_i32"),
    [KC_BUILTIN_HADD] = F2("hadd_i32"),
    [KC_BUILTIN_RHADD] = F2("rhadd_i32"),
    [KC_BUILTIN_CLZ] = {"countLeadingZeros($0)", WHOLE},
    [KC_BUILTIN_MAD_HI] = F3("mad_hi_i32"),
    [KC_BUILTIN_MAD_SAT] = F3("mad_sat_i32"),
    [KC_BUILTIN_MUL_HI] = F2("mul_hi_i32"),
    [KC_BUILTIN_ROTATE] = F2("rotate_i32"),
    [KC_BUILTIN_POPCOUNT] = {"countOneBits($0)", WHOLE},
    [KC_BUILTIN_MAD24] = {"$0 * $1 + $2", OPERATOR},
    [KC_BUILTIN_MUL24] = {"$0 * $1", OPERATOR},
    [KC_BUILTIN_BITSELECT] = F3("bitselect_i32"),
};

static const entry unsigned_integers[KC_BUILTIN_COUNT] = {
    [KC_BUILTIN_NAN] = F1("nan"),
    [KC_BUILTIN_CLAMP] = {"min(max($0, $1), $2)", WHOLE},
    [KC_BUILTIN_MAX] = {"max($0, $1)", WHOLE},
    [KC_BUILTIN_MIN] = {"min($0, $1)", WHOLE},
    [KC_BUILTIN_ABS] = {"$0", OPERATOR},
    [KC_BUILTIN_ABS_DIFF] = F2("abs_diff_u32"),
    [KC_BUILTIN_ADD_SAT] = F2("add_sat_u32"),
    [KC_BUILTIN_SUB_SAT] = F2("sub_sat_u32"),
    [KC_BUILTIN_HADD] = F2("hadd_u32"),
    [KC_BUILTIN_RHADD] = F2("rhadd_u32"),
    [KC_BUILTIN_CLZ] = {"countLeadingZeros($0)", WHOLE},
    [KC_BUILTIN_MAD_HI] = F3("mad_hi_u32"),
    [KC_BUILTIN_MAD_SAT] = F3("mad_sat_u32"),
    [KC_BUILTIN_MUL_HI] = F2("mul_hi_u32"),
    [KC_BUILTIN_ROTATE] = F2("rotate_u32"),
    [KC_BUILTIN_POPCOUNT] = {"countOneBits($0)", WHOLE},
    [KC_BUILTIN_MAD24] = {"$0 * $1 + $2", OPERATOR},
    [KC_BUILTIN_MUL24] = {"$0 * $1", OPERATOR},
    [KC_BUILTIN_BITSELECT] = F3("bitselect_u32"),
};

static entry select_entry(const kc_type* t)
{
    return kc_is_vector(t) ? (entry){"select($0, $1, bitcast<$i>($2) < $i())", WHOLE}
                           : (entry){"select($0, $1, $2 != 0)", WHOLE};
}

static entry reduce_entry(kc_builtin id, const kc_type* t)
{
    if (!kc_is_vector(t))
        return (entry){"bitcast<i32>($0) < 0", TEST_OPERATOR};
    return id == KC_BUILTIN_ANY ? (entry){"any(bitcast<$i>($0) < $i())", TEST_WHOLE}
                                : (entry){"all(bitcast<$i>($0) < $i())", TEST_WHOLE};
}

static entry find(kc_builtin id, const kc_type* t, bool relaxed)
{
    if (id == KC_BUILTIN_SELECT)
        return select_entry(t);
    if (id == KC_BUILTIN_SHUFFLE)
        return (entry){"bitcast<$t>(khal_shuffle_$n_$r(bitcast<$u>($0), $1))", WHOLE};
    if (id == KC_BUILTIN_SHUFFLE2)
        return (entry){"bitcast<$t>(khal_shuffle2_$n_$r(bitcast<$u>($0), bitcast<$u>($1), $2))",
                       WHOLE};
    if (id == KC_BUILTIN_ANY || id == KC_BUILTIN_ALL)
        return reduce_entry(id, t);
    if (id == KC_BUILTIN_CROSS && kc_lane_count(t) == 3)
        return (entry){"cross($0, $1)", WHOLE};
    const entry of_geometry = geometry[id][kc_is_vector(t)];
    if (of_geometry.text)
        return of_geometry;
    if (!kc_is_float(t))
        return kc_lane(t)->is_signed ? signed_integers[id] : unsigned_integers[id];
    return relaxed && relaxed_floats[id].text ? relaxed_floats[id] : floats[id];
}

bool kc_wgsl_builtin(kc_builtin id, const kc_type* type, bool relaxed, kc_wgsl_call* out)
{
    const entry e = find(id, type, relaxed);
    *out = (kc_wgsl_call){.text = e.text,
                          .per_lane = e.form == LANES || e.form == TEST,
                          .gives_bool = e.form >= TEST,
                          .is_operator = e.form == OPERATOR || e.form == TEST_OPERATOR};
    return e.text != NULL;
}
