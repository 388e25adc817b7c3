// Hyperbolic functions and their inverses.

fn khal_sinh(x: f32) -> f32 {
    let a = abs(x);
    if (a < 1.0) {
        let z = x * x;
        return select(x + x * (z * (0.16666667 + z * (0.0083333105 + z * (0.00019842896 + z * 2.7822132e-6)))), x, khal_magnitude(x) < 0x39000000u);
    }
    let e = khal_exp_times(a, 0.0, 0.5);
    return khal_copysign(select(e - 0.25 / e, khal_infinity(0u), a >= 89.41599), x) + select(0.0, x, khal_isnan(x));
}

fn khal_cosh(x: f32) -> f32 {
    let a = abs(x);
    let e = khal_exp_times(a, 0.0, 0.5);
    return select(e + 0.25 / e, khal_infinity(0u), a >= 89.41599);
}

fn khal_tanh(x: f32) -> f32 {
    let z = x * x;
    let near = x + x * (z * (-0.3333333 + z * (0.13333216 + z * (-0.053947285 + z * (0.021700785 + z * (z * 0.0021353103 - 0.008172719))))));
    let a = abs(x);
    let far = khal_copysign(1.0 - 2.0 / (khal_exp_times(min(a, 10.0) * 2.0, 0.0, 1.0) + 1.0), x);
    return select(select(far, near, a < 0.63), x, khal_magnitude(x) < 0x39000000u || khal_isnan(x));
}

fn khal_asinh(x: f32) -> f32 {
    let a = abs(x);
    if (a > 4096.0) {
        return khal_copysign(khal_log(a) + 0.6931472, x);
    }
    let z = a * a;
    return khal_copysign(khal_log1p(a + z / (1.0 + khal_root(1.0 + z))), x);
}

fn khal_acosh(x: f32) -> f32 {
    if (x > 4096.0) {
        return khal_log(x) + 0.6931472;
    }
    let t = x - 1.0;
    return select(khal_nan(0u), khal_log1p(t + khal_root(t * (2.0 + t))), x >= 1.0);
}

fn khal_atanh(x: f32) -> f32 {
    let a = abs(x);
    let b = khal_magnitude(x);
    if (b >= 0x3f800000u) {
        return select(khal_nan(0u), khal_infinity(bitcast<u32>(x)), b == 0x3f800000u);
    }
    let twice = a + a;
    let z = select(twice / (1.0 - a), twice + twice * a / (1.0 - a), a < 0.5);
    return khal_copysign(select(0.5 * khal_log1p(z), x, b < 0x39000000u), x);
}
