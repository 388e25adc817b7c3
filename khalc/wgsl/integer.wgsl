fn khal_abs_diff_i32(a: i32, b: i32) -> u32 {
    return bitcast<u32>(max(a, b)) - bitcast<u32>(min(a, b));
}

fn khal_abs_diff_u32(a: u32, b: u32) -> u32 {
    return max(a, b) - min(a, b);
}

// The sum overflows where its sign is neither operand's.
fn khal_add_sat_i32(a: i32, b: i32) -> i32 {
    let sum = a + b;
    return select(sum, (a >> 31u) ^ 0x7fffffff, ((a ^ sum) & (b ^ sum)) < 0);
}

fn khal_add_sat_u32(a: u32, b: u32) -> u32 {
    return a + min(b, ~a);
}

fn khal_sub_sat_i32(a: i32, b: i32) -> i32 {
    let difference = a - b;
    return select(difference, (a >> 31u) ^ 0x7fffffff, ((a ^ b) & (a ^ difference)) < 0);
}

fn khal_sub_sat_u32(a: u32, b: u32) -> u32 {
    return a - min(a, b);
}

fn khal_hadd_i32(a: i32, b: i32) -> i32 {
    return (a & b) + ((a ^ b) >> 1u);
}

fn khal_hadd_u32(a: u32, b: u32) -> u32 {
    return (a & b) + ((a ^ b) >> 1u);
}

fn khal_rhadd_i32(a: i32, b: i32) -> i32 {
    return (a | b) - ((a ^ b) >> 1u);
}

fn khal_rhadd_u32(a: u32, b: u32) -> u32 {
    return (a | b) - ((a ^ b) >> 1u);
}

fn khal_mul_hi_i32(a: i32, b: i32) -> i32 {
    let high = khal_mul_hi_u32(bitcast<u32>(a), bitcast<u32>(b));
    return bitcast<i32>(high) - (b & (a >> 31u)) - (a & (b >> 31u));
}

fn khal_mul_hi_u32(a: u32, b: u32) -> u32 {
    let a_low = a & 0xffffu;
    let a_high = a >> 16u;
    let b_low = b & 0xffffu;
    let b_high = b >> 16u;
    let m = a_high * b_low + ((a_low * b_low) >> 16u);
    let n = a_low * b_high + (m & 0xffffu);
    return a_high * b_high + (m >> 16u) + (n >> 16u);
}

fn khal_mad_hi_i32(a: i32, b: i32, c: i32) -> i32 {
    return khal_mul_hi_i32(a, b) + c;
}

fn khal_mad_hi_u32(a: u32, b: u32, c: u32) -> u32 {
    return khal_mul_hi_u32(a, b) + c;
}

fn khal_mad_sat_i32(a: i32, b: i32, c: i32) -> i32 {
    let product = bitcast<u32>(a) * bitcast<u32>(b);
    let low = product + bitcast<u32>(c);
    let high = khal_mul_hi_i32(a, b) + (c >> 31u) + i32(low < product);
    return select((high >> 31u) ^ 0x7fffffff, bitcast<i32>(low), high == (bitcast<i32>(low) >> 31u));
}

fn khal_mad_sat_u32(a: u32, b: u32, c: u32) -> u32 {
    return select(khal_add_sat_u32(a * b, c), 0xffffffffu, khal_mul_hi_u32(a, b) != 0u);
}

fn khal_rotate_i32(a: i32, n: i32) -> i32 {
    return bitcast<i32>(khal_rotate_u32(bitcast<u32>(a), bitcast<u32>(n)));
}

fn khal_rotate_u32(a: u32, n: u32) -> u32 {
    return (a << (n & 31u)) | (a >> ((0u - n) & 31u));
}

fn khal_bitselect_i32(a: i32, b: i32, c: i32) -> i32 {
    return a ^ ((a ^ b) & c);
}

fn khal_bitselect_u32(a: u32, b: u32, c: u32) -> u32 {
    return a ^ ((a ^ b) & c);
}

// To the nearest, ties to even: both products are exact, and their sum rounds once. f32() alone may round either way.
fn khal_i32_to_f32(x: i32) -> f32 {
    return f32(x >> 16u) * 65536.0 + f32(x & 0xffff);
}

fn khal_i32_to_f32_rtz(x: i32) -> f32 {
    let magnitude = khal_cut_to_f32(khal_magnitude_i32(x), 0u);
    return select(magnitude, -magnitude, x < 0);
}

fn khal_i32_to_f32_rtp(x: i32) -> f32 {
    let magnitude = khal_cut_to_f32(khal_magnitude_i32(x), u32(x > 0));
    return select(magnitude, -magnitude, x < 0);
}

fn khal_i32_to_f32_rtn(x: i32) -> f32 {
    let magnitude = khal_cut_to_f32(khal_magnitude_i32(x), u32(x < 0));
    return select(magnitude, -magnitude, x < 0);
}

fn khal_u32_to_f32(x: u32) -> f32 {
    return f32(x >> 16u) * 65536.0 + f32(x & 0xffffu);
}

fn khal_u32_to_f32_rtz(x: u32) -> f32 {
    return khal_cut_to_f32(x, 0u);
}

fn khal_u32_to_f32_rtp(x: u32) -> f32 {
    return khal_cut_to_f32(x, 1u);
}

fn khal_u32_to_f32_rtn(x: u32) -> f32 {
    return khal_cut_to_f32(x, 0u);
}

fn khal_magnitude_i32(x: i32) -> u32 {
    return bitcast<u32>(select(x, 0 - x, x < 0));
}

// The 24 highest digits, and one more in the last place where others are cut off and `up` is 1.
fn khal_cut_to_f32(x: u32, up: u32) -> f32 {
    let place = 8u - min(countLeadingZeros(x), 8u);
    let digits = x >> place;
    let more = u32((digits << place) != x) & up;
    return f32(digits + more) * f32(1u << place);
}

// Rounded before, where not towards zero; NaN gives 0.
fn khal_f32_to_i32_sat(x: f32) -> i32 {
    if (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u {
        return 0;
    }
    if x >= 2147483648.0 {
        return 0x7fffffff;
    }
    return i32(max(x, -2147483648.0));
}

fn khal_f32_to_u32_sat(x: f32) -> u32 {
    if (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u {
        return 0u;
    }
    if x >= 4294967296.0 {
        return 0xffffffffu;
    }
    return u32(max(x, 0.0));
}
