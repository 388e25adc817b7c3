// The error function and the gamma function.

fn khal_erf_near_0(x: f32) -> f32 {
    let z = x * x;
    return x * (1.1283791 + z * (-0.37612218 + z * (0.112789676 + z * (-0.026661297 + z * (0.004823607 - z * (0.0004810589 + z * 2.7116175e-5))))));
}

// erfc(x), x from 1/2 up: exp(-x^2) times a function of 1 / (1 + x / 2).
fn khal_erfc_large(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let p = 0.2820962 + t * (0.28204662 + t * (0.24755748 + t * (0.16995989 + t * (0.11970613 + t * (-0.1420641 + t * (0.30359262 + t * (-0.6856785 + t * (0.688051 + t * (t * 0.062491834 - 0.32775462)))))))));
    let head = khal_head(x);
    return khal_exp_times(-head * head, -((x - head) * (x + head)), t * p);
}

fn khal_erf(x: f32) -> f32 {
    let a = abs(x);
    if (a < 1.0) {
        return select(khal_erf_near_0(x), khal_small_times(x, 1.1283792), khal_magnitude(x) < 0x01000000u);
    }
    return select(khal_copysign(1.0 - khal_erfc_large(min(a, 5.0)), x), x, khal_isnan(x));
}

fn khal_erfc(x: f32) -> f32 {
    let a = abs(x);
    if (a < 0.5) {
        return 1.0 - khal_erf_near_0(x);
    }
    let y = select(khal_erfc_large(min(a, 11.0)), 0.0, a >= 11.0);
    return select(select(y, 2.0 - y, x < 0.0), x, khal_isnan(x));
}

// gamma(x) * 2^scale, x from 12 to 44, by Stirling's series.
fn khal_gamma_large(x: f32, scale: f32) -> f32 {
    let l = khal_log2_pair(bitcast<u32>(x));
    let y = x - 0.5;
    let y_head = khal_head(y);
    let x_head = khal_head(x);
    let r = 1.0 / x;
    let series = 2.5066283 * (1.0 + r * (0.083333336 + r * (0.0034722222 - r * 0.0026813273)));
    let rest = y_head * l.y + (y - y_head) * (l.x + l.y);
    let exponent = x_head * 0.0003122284 + (x - x_head) * 1.442695;
    return khal_exp2_pair(y_head * l.x - x_head * 1.4423828125 + scale, rest - exponent, series);
}

// gamma(x), x from -12 to 12, by its recurrence from 1 to 2.
fn khal_gamma_small(x: f32) -> f32 {
    var t = x;
    var above = 1.0;
    var below = 1.0;
    while (t > 2.0) {
        t -= 1.0;
        above *= t;
    }
    while (t < 1.0) {
        below *= t;
        t += 1.0;
    }
    t -= 1.5;
    let p = 0.88622695 + t * (0.03233819 + t * (0.4148077 + t * (-0.10728078 + t * (0.14482827 + t * (-0.07779331 + t * (0.056602675 + t * (-0.035866246 + t * (0.034534108 - t * 0.024448466))))))));
    return above * p / below;
}

fn khal_tgamma(x: f32) -> f32 {
    let b = khal_magnitude(x);
    if (b < 0x0d800000u) {
        return select(1.0 / khal_grow(x) * 0x1p64, khal_infinity(bitcast<u32>(x)), b == 0u);
    }
    if (b > 0x7f800000u || (bitcast<i32>(x) < 0 && khal_parity(b) != 0u)) {
        return khal_nan(0u);
    }
    if (b < 0x41400000u) {
        return khal_gamma_small(x);
    }
    if (x > 0.0) {
        return select(khal_gamma_large(x, 0.0), khal_infinity(0u), x > 36.0);
    }
    // gamma(x) gamma(-x) = -pi / (x sin(pi x))
    let a = -x;
    let s = khal_sinpi(x);
    if (a > 44.0) {
        return khal_copysign(0.0, s);
    }
    return 3.1415927 / (a * s * khal_gamma_large(a, -64.0)) * 0x1p-64;
}

fn khal_lgamma(x: f32) -> f32 {
    let b = khal_magnitude(x);
    let a = abs(x);
    if (b >= 0x7f800000u) {
        return a;
    }
    if (bitcast<i32>(x) < 0 && khal_parity(b) != 0u) {
        return khal_infinity(0u);
    }
    if (b < 0x34800000u) {
        return -khal_log(a);
    }
    if (b < 0x41400000u) {
        return khal_log(abs(khal_gamma_small(x)));
    }
    let r = 1.0 / a;
    let y = ((a - 0.5) * (khal_log(a) - 1.0) + 0.41893853) + r * (0.083333336 - r * r * 0.0027777778);
    return select(y, khal_log(3.1415927 / abs(a * khal_sinpi(x))) - y, x < 0.0);
}

fn khal_lgamma_sign(x: f32) -> i32 {
    let b = khal_magnitude(x);
    if (bitcast<i32>(x) >= 0 || b >= 0x4b000000u) {
        return 1;
    }
    let whole = select(i32(floor(x)), -1, b < 0x3f800000u);
    return select(1, -1, (whole & 1) == 1);
}
