// Exponentials and logarithms. x = n * ln 2 + r with |r| up to ln 2 / 2, and x = 2^e * (1 + f) with f from -0.29 to 0.42. The first
// part of each constant that n or e is multiplied with is short, so that the product is exact.

// factor * exp(x + y), y small beside x.
fn khal_exp_times(x: f32, y: f32, factor: f32) -> f32 {
    let n = round(x * 1.442695);
    let r = ((x - n * 0.693145751953125) - n * 1.4286068e-6) + y;
    let p = 1.0 + (r + r * r * (0.49999994 + r * (0.16666517 + r * (0.041668106 + r * (0.00836914 + r * 0.0013836714)))));
    return khal_scale(p * factor, i32(n));
}

fn khal_exp(x: f32) -> f32 {
    let y = khal_exp_times(x, 0.0, 1.0);
    return select(select(y, 0.0, x < -104.0), khal_infinity(0u), x >= 88.72284);
}

fn khal_exp2(x: f32) -> f32 {
    let n = round(x);
    let y = khal_scale(khal_exp2_near_0(x - n), i32(n));
    return select(select(y, 0.0, x < -150.0), khal_infinity(0u), x >= 128.0);
}

// 2^r, |r| up to 1/2.
fn khal_exp2_near_0(r: f32) -> f32 {
    return 1.0 + r * (0.6931472 + r * (0.24022594 + r * (0.055503663 + r * (0.009625439 + r * (0.0013387884 + r * 0.00013337316)))));
}

fn khal_exp10(x: f32) -> f32 {
    let n = round(x * 3.321928);
    let r = ((x - n * 0.301025390625) - n * 4.605039e-6) * 2.3025851;
    let p = 1.0 + (r + r * r * (0.49999994 + r * (0.16666517 + r * (0.041668106 + r * (0.00836914 + r * 0.0013836714)))));
    return select(select(khal_scale(p, i32(n)), 0.0, x < -46.0), khal_infinity(0u), x >= 38.53184);
}

fn khal_expm1(x: f32) -> f32 {
    let n = round(x * 1.442695);
    let r = (x - n * 0.693145751953125) - n * 1.4286068e-6;
    let p = r + r * r * (0.5 + r * (0.16666666 + r * (0.04166636 + r * (0.00833339 + r * (0.001394072 + r * 0.00019845886)))));
    let k = clamp(i32(n), -126, 126);
    let y = khal_scale((1.0 - khal_power(-k)) + p, i32(n));
    let bounded = select(select(y, -1.0, x < -20.0), khal_infinity(0u), x >= 88.72284);
    return select(bounded, x, khal_magnitude(x) < 0x33000000u);
}

// f and e of a positive number's bits.
fn khal_log_parts(b: u32) -> vec2<f32> {
    let tiny = b < 0x00800000u;
    let c = bitcast<i32>(select(b, bitcast<u32>(f32(b)), tiny));
    let e = (c - 0x3f3504f3) >> 23u;
    return vec2<f32>(bitcast<f32>(c - (e << 23u)) - 1.0, f32(e - select(0, 149, tiny)));
}

// log(1 + f) - f
fn khal_log_rest(f: f32) -> f32 {
    return f * f * (f * (0.3333333 + f * (-0.25000823 + f * (0.20001225 + f * (-0.16623293 + f * (0.14201736 + f * (-0.13160843 + f * (0.12762068 - f * 0.07633272))))))) - 0.5);
}

// y where x, whose bits are given, is positive and finite; else what any logarithm gives.
fn khal_log_or_special(y: f32, b: u32) -> f32 {
    if (b - 1u < 0x7f7fffffu) {
        return y;
    }
    if ((b << 1u) == 0u) {
        return khal_infinity(0x80000000u);
    }
    return select(khal_nan(0u), khal_infinity(0u), b == 0x7f800000u);
}

fn khal_log(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let parts = khal_log_parts(b);
    let rest = khal_log_rest(parts.x) + parts.y * 1.4286068e-6;
    return khal_log_or_special((parts.x + rest) + parts.y * 0.693145751953125, b);
}

fn khal_log2(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let parts = khal_log_parts(b);
    let rest = khal_log_rest(parts.x);
    let y = (((rest * 0.44269504 + parts.x * 0.44269504) + rest) + parts.x) + parts.y;
    return khal_log_or_special(y, b);
}

fn khal_log10(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let parts = khal_log_parts(b);
    let y = (parts.x + khal_log_rest(parts.x)) * 0.4342945;
    return khal_log_or_special((y + parts.y * 4.605039e-6) + parts.y * 0.301025390625, b);
}

fn khal_log1p(x: f32) -> f32 {
    if (x > -0.29 && x < 0.41) {
        return select(x + khal_log_rest(x), x, khal_magnitude(x) < 0x33000000u);
    }
    // what rounding 1 + x loses
    let u = khal_keep(1.0 + x);
    let lost = select(x - khal_keep(u - 1.0), 1.0 - khal_keep(u - x), x > 1.0);
    let b = bitcast<u32>(u);
    let parts = khal_log_parts(b);
    let rest = khal_log_rest(parts.x) + (parts.y * 1.4286068e-6 + lost / u);
    return khal_log_or_special((parts.x + rest) + parts.y * 0.693145751953125, b);
}
