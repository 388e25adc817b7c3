fn khal_i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}

fn khal_i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}

fn khal_i64_neg(a: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(0u - a.x, ~a.y + u32(a.x == 0u));
}

fn khal_i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = khal_u64_mul_wide(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}

fn khal_u64_mul_wide(a: u32, b: u32) -> vec2<u32> {
    let a_low = a & 0xffffu;
    let a_high = a >> 16u;
    let b_low = b & 0xffffu;
    let b_high = b >> 16u;
    let m = a_high * b_low + ((a_low * b_low) >> 16u);
    let n = a_low * b_high + (m & 0xffffu);
    return vec2<u32>(a * b, a_high * b_high + (m >> 16u) + (n >> 16u));
}

fn khal_i64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let quotient = khal_u64_div(khal_i64_abs(a), khal_i64_abs(b));
    return khal_i64_negate_if(quotient, ((a.y ^ b.y) & 0x80000000u) != 0u);
}

fn khal_u64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_u64_divide(a, b).xy;
}

fn khal_i64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let rest = khal_u64_rem(khal_i64_abs(a), khal_i64_abs(b));
    return khal_i64_negate_if(rest, (a.y & 0x80000000u) != 0u);
}

fn khal_u64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_u64_divide(a, b).zw;
}

fn khal_i64_negate_if(a: vec2<u32>, is_negative: bool) -> vec2<u32> {
    return select(a, khal_i64_neg(a), is_negative);
}

// Quotient and remainder; both 0 where b is.
fn khal_u64_divide(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    if b.y == 0u {
        if b.x == 0u {
            return vec4<u32>();
        }
        let high = a.y / b.x;
        let low = khal_u64_divide_word(vec2<u32>(a.x, a.y - high * b.x), b.x);
        return vec4<u32>(low.x, high, low.y, 0u);
    }
    // The divisor's high word, normalised, gives a quotient that is right or one too large: one less is right or one too small.
    let shift = countLeadingZeros(b.y);
    let estimate = khal_u64_divide_word(khal_u64_shr(a, 1u), khal_i64_shl(b, shift).y).x;
    var quotient = estimate >> (31u - shift);
    quotient -= min(quotient, 1u);
    var rest = khal_i64_sub(a, khal_i64_mul(vec2<u32>(quotient, 0u), b));
    if !khal_u64_lt(rest, b) {
        quotient += 1u;
        rest = khal_i64_sub(rest, b);
    }
    return vec4<u32>(quotient, 0u, rest);
}

// Quotient and remainder, where a.y < b.
fn khal_u64_divide_word(a: vec2<u32>, b: u32) -> vec2<u32> {
    if a.y == 0u {
        let quotient = a.x / b;
        return vec2<u32>(quotient, a.x - quotient * b);
    }
    let shift = countLeadingZeros(b);
    let n = khal_i64_shl(a, shift);
    let d = b << shift;
    let high = khal_u64_divide_digit(n.y, n.x >> 16u, d);
    let middle = (n.y << 16u) + (n.x >> 16u) - high * d;
    let low = khal_u64_divide_digit(middle, n.x & 0xffffu, d);
    let rest = (middle << 16u) + (n.x & 0xffffu) - low * d;
    return vec2<u32>((high << 16u) | low, rest >> shift);
}

// (n * 65536 + next) / d, where n < d and d's highest bit is set.
fn khal_u64_divide_digit(n: u32, next: u32, d: u32) -> u32 {
    let d_high = d >> 16u;
    let d_low = d & 0xffffu;
    var q = n / d_high;
    var rest = n - q * d_high;
    while rest < 0x10000u && (q > 0xffffu || q * d_low > ((rest << 16u) | next)) {
        q -= 1u;
        rest += d_high;
    }
    return q;
}

fn khal_i64_shl(a: vec2<u32>, n: u32) -> vec2<u32> {
    let by = n & 31u;
    let low = a.x << by;
    let high = (a.y << by) | ((a.x >> 1u) >> (31u - by));
    return select(vec2<u32>(low, high), vec2<u32>(0u, low), (n & 32u) != 0u);
}

fn khal_i64_shr(a: vec2<u32>, n: u32) -> vec2<u32> {
    let by = n & 31u;
    let low = (a.x >> by) | ((a.y << 1u) << (31u - by));
    let high = bitcast<u32>(bitcast<i32>(a.y) >> by);
    let sign = bitcast<u32>(bitcast<i32>(a.y) >> 31u);
    return select(vec2<u32>(low, high), vec2<u32>(high, sign), (n & 32u) != 0u);
}

fn khal_u64_shr(a: vec2<u32>, n: u32) -> vec2<u32> {
    let by = n & 31u;
    let low = (a.x >> by) | ((a.y << 1u) << (31u - by));
    let high = a.y >> by;
    return select(vec2<u32>(low, high), vec2<u32>(high, 0u), (n & 32u) != 0u);
}

fn khal_i64_eq(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x == b.x && a.y == b.y;
}

fn khal_i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
    return select(bitcast<i32>(a.y) < bitcast<i32>(b.y), a.x < b.x, a.y == b.y);
}

fn khal_u64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
    return select(a.y < b.y, a.x < b.x, a.y == b.y);
}

fn khal_i64_from_i32(a: i32) -> vec2<u32> {
    return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u));
}

fn khal_i64_to_i32_sat(a: vec2<u32>) -> i32 {
    let sign = bitcast<i32>(a.y) >> 31u;
    return select(sign ^ 0x7fffffff, bitcast<i32>(a.x), bitcast<i32>(a.y) == (bitcast<i32>(a.x) >> 31u));
}

fn khal_i64_to_u32_sat(a: vec2<u32>) -> u32 {
    return select(~bitcast<u32>(bitcast<i32>(a.y) >> 31u), a.x, a.y == 0u);
}

fn khal_u64_to_i32_sat(a: vec2<u32>) -> i32 {
    return bitcast<i32>(min(khal_u64_to_u32_sat(a), 0x7fffffffu));
}

fn khal_u64_to_u32_sat(a: vec2<u32>) -> u32 {
    return select(0xffffffffu, a.x, a.y == 0u);
}

fn khal_i64_to_float(a: vec2<u32>) -> f32 {
    return khal_i64_signed_float(a, khal_u64_to_float(khal_i64_abs(a)));
}

fn khal_i64_to_float_rtz(a: vec2<u32>) -> f32 {
    return khal_i64_signed_float(a, khal_u64_to_float_rtz(khal_i64_abs(a)));
}

fn khal_i64_to_float_rtp(a: vec2<u32>) -> f32 {
    return khal_i64_signed_float(a, khal_u64_to_rounded(khal_i64_abs(a), ~(a.y >> 31u), 0u));
}

fn khal_i64_to_float_rtn(a: vec2<u32>) -> f32 {
    return khal_i64_signed_float(a, khal_u64_to_rounded(khal_i64_abs(a), a.y >> 31u, 0u));
}

fn khal_u64_to_float(a: vec2<u32>) -> f32 {
    return khal_u64_to_rounded(a, 0u, 1u);
}

fn khal_u64_to_float_rtz(a: vec2<u32>) -> f32 {
    return khal_u64_to_rounded(a, 0u, 0u);
}

fn khal_u64_to_float_rtp(a: vec2<u32>) -> f32 {
    return khal_u64_to_rounded(a, 1u, 0u);
}

fn khal_u64_to_float_rtn(a: vec2<u32>) -> f32 {
    return khal_u64_to_rounded(a, 0u, 0u);
}

fn khal_i64_signed_float(a: vec2<u32>, magnitude: f32) -> f32 {
    return select(magnitude, -magnitude, (a.y & 0x80000000u) != 0u);
}

// The 24 highest digits; what is cut off counts as one more in the last place, where up or nearest is odd: always, or
// where that is nearer.
fn khal_u64_to_rounded(a: vec2<u32>, up: u32, nearest: u32) -> f32 {
    if a.x == 0u && a.y == 0u {
        return 0.0;
    }
    let zeros = khal_i64_clz(a).x;
    let digits = khal_i64_shl(a, zeros);
    let kept = digits.y >> 8u;
    let cut = (digits.y << 24u) | (digits.x >> 8u) | u32((digits.x & 0xffu) != 0u); // its highest bit: a half
    let is_nearer = u32(cut > 0x80000000u) | (u32(cut == 0x80000000u) & kept);
    let more = (u32(cut != 0u) & up) | (is_nearer & nearest);
    return bitcast<f32>(((189u - zeros) << 23u) + kept + (more & 1u));
}

// Towards zero; what is out of range gives the nearest that is not, NaN 0.
fn khal_i64_from_float(x: f32) -> vec2<u32> {
    let magnitude = khal_u64_from_float(abs(x));
    let is_negative = (bitcast<u32>(x) & 0x80000000u) != 0u;
    if (magnitude.y & 0x80000000u) != 0u {
        return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), is_negative);
    }
    return khal_i64_negate_if(magnitude, is_negative);
}

fn khal_u64_from_float(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    if bits > 0x7f800000u || bits < 0x3f800000u { // negative, NaN, or less than 1
        return vec2<u32>();
    }
    if bits >= 0x5f800000u {
        return vec2<u32>(0xffffffffu);
    }
    return khal_u64_shr(vec2<u32>(0u, (bits << 8u) | 0x80000000u), 190u - (bits >> 23u));
}

fn khal_i64_abs(a: vec2<u32>) -> vec2<u32> {
    return khal_i64_negate_if(a, (a.y & 0x80000000u) != 0u);
}

fn khal_i64_abs_diff(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_i64_negate_if(khal_i64_sub(a, b), khal_i64_lt(a, b));
}

fn khal_u64_abs_diff(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_i64_negate_if(khal_i64_sub(a, b), khal_u64_lt(a, b));
}

// `sum` where it has not overflowed, which is where `overflow` has a sign; else what lies farthest on a's side.
fn khal_i64_saturate(sum: vec2<u32>, overflow: u32, a: vec2<u32>) -> vec2<u32> {
    let sign = bitcast<u32>(bitcast<i32>(a.y) >> 31u);
    return select(sum, vec2<u32>(~sign, sign ^ 0x7fffffffu), (overflow & 0x80000000u) != 0u);
}

fn khal_i64_add_sat(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let sum = khal_i64_add(a, b);
    return khal_i64_saturate(sum, (a.y ^ sum.y) & (b.y ^ sum.y), a);
}

fn khal_u64_add_sat(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let sum = khal_i64_add(a, b);
    return select(sum, vec2<u32>(0xffffffffu), khal_u64_lt(sum, a));
}

fn khal_i64_sub_sat(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let difference = khal_i64_sub(a, b);
    return khal_i64_saturate(difference, (a.y ^ b.y) & (a.y ^ difference.y), a);
}

fn khal_u64_sub_sat(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(khal_i64_sub(a, b), vec2<u32>(), khal_u64_lt(a, b));
}

fn khal_i64_hadd(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_i64_add(a & b, khal_i64_shr(a ^ b, 1u));
}

fn khal_u64_hadd(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_i64_add(a & b, khal_u64_shr(a ^ b, 1u));
}

fn khal_i64_rhadd(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_i64_sub(a | b, khal_i64_shr(a ^ b, 1u));
}

fn khal_u64_rhadd(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return khal_i64_sub(a | b, khal_u64_shr(a ^ b, 1u));
}

fn khal_i64_mul_hi(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let a_sign = vec2<u32>(bitcast<u32>(bitcast<i32>(a.y) >> 31u));
    let b_sign = vec2<u32>(bitcast<u32>(bitcast<i32>(b.y) >> 31u));
    return khal_i64_sub(khal_i64_sub(khal_u64_mul_hi(a, b), b & a_sign), a & b_sign);
}

fn khal_u64_mul_hi(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = khal_u64_mul_wide(a.x, b.x);
    let m = khal_i64_add(khal_u64_mul_wide(a.y, b.x), vec2<u32>(low.y, 0u));
    let n = khal_i64_add(khal_u64_mul_wide(a.x, b.y), vec2<u32>(m.x, 0u));
    let high = khal_i64_add(khal_u64_mul_wide(a.y, b.y), vec2<u32>(m.y, 0u));
    return khal_i64_add(high, vec2<u32>(n.y, 0u));
}

fn khal_i64_mad_sat(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> {
    let product = khal_i64_mul(a, b);
    let low = khal_i64_add(product, c);
    let c_sign = bitcast<u32>(bitcast<i32>(c.y) >> 31u);
    let carry = vec2<u32>(u32(khal_u64_lt(low, product)), 0u);
    let high = khal_i64_add(khal_i64_add(khal_i64_mul_hi(a, b), vec2<u32>(c_sign)), carry);
    let low_sign = vec2<u32>(bitcast<u32>(bitcast<i32>(low.y) >> 31u));
    return khal_i64_saturate(low, select(0x80000000u, 0u, khal_i64_eq(high, low_sign)), high);
}

fn khal_u64_mad_sat(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> {
    let is_small = khal_i64_eq(khal_u64_mul_hi(a, b), vec2<u32>());
    return select(vec2<u32>(0xffffffffu), khal_u64_add_sat(khal_i64_mul(a, b), c), is_small);
}

fn khal_i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(b, a, khal_i64_lt(a, b));
}

fn khal_u64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(b, a, khal_u64_lt(a, b));
}

fn khal_i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a, b, khal_i64_lt(a, b));
}

fn khal_u64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a, b, khal_u64_lt(a, b));
}

fn khal_i64_rotate(a: vec2<u32>, n: u32) -> vec2<u32> {
    return khal_i64_shl(a, n) | khal_u64_shr(a, 0u - n);
}

fn khal_i64_clz(a: vec2<u32>) -> vec2<u32> {
    let low = countLeadingZeros(a.x);
    let high = countLeadingZeros(a.y);
    return vec2<u32>(select(high, 32u + low, a.y == 0u), 0u);
}

fn khal_i64_popcount(a: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(countOneBits(a.x) + countOneBits(a.y), 0u);
}
