// Remainders, by long division of integer significands.

fn khal_fmod(x: f32, y: f32) -> f32 {
    let a = khal_magnitude(x);
    let b = khal_magnitude(y);
    if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) {
        return khal_nan(0u);
    }
    if (a < b) {
        return x;
    }
    let divisor = khal_unpack(b);
    let dividend = khal_unpack(a);
    let d = bitcast<u32>(divisor.x);
    var rest = bitcast<u32>(dividend.x) % d;
    var left = dividend.y - divisor.y;
    while (left > 0) {
        let step = min(left, 8);
        rest = (rest << bitcast<u32>(step)) % d;
        left -= step;
    }
    return khal_copysign(bitcast<f32>(khal_pack(rest, divisor.y)), x);
}

// The remainder's bits, and the quotient's magnitude modulo 2^32. x and y are finite, y is not 0.
fn khal_divide_to_even(x: f32, y: f32) -> vec2<u32> {
    let divisor = khal_unpack(khal_magnitude(y));
    let dividend = khal_unpack(khal_magnitude(x));
    var d = bitcast<u32>(divisor.x);
    var rest = bitcast<u32>(dividend.x);
    var unit = divisor.y;
    var quotient = 0u;
    var left = dividend.y - divisor.y;
    if (left < -1 || rest == 0u) {
        return vec2<u32>(bitcast<u32>(x), 0u);
    }
    if (left == -1) {
        d <<= 1u;
        unit = dividend.y;
    } else {
        quotient = rest / d;
        rest %= d;
    }
    while (left > 0) {
        let step = bitcast<u32>(min(left, 8));
        rest <<= step;
        quotient = (quotient << step) + rest / d;
        rest %= d;
        left -= 8;
    }
    let twice = rest << 1u;
    let up = twice > d || (twice == d && (quotient & 1u) == 1u);
    let bits = khal_pack(select(rest, d - rest, up), unit) | (bitcast<u32>(x) & 0x80000000u);
    return vec2<u32>(bits ^ select(0u, 0x80000000u, up), quotient + select(0u, 1u, up));
}

fn khal_remainder(x: f32, y: f32) -> f32 {
    let b = khal_magnitude(y);
    if (khal_magnitude(x) >= 0x7f800000u || b > 0x7f800000u || b == 0u) {
        return khal_nan(0u);
    }
    if (b == 0x7f800000u) {
        return x;
    }
    return bitcast<f32>(khal_divide_to_even(x, y).x);
}

// The quotient's last seven bits, with its sign.
fn khal_remquo_quo(x: f32, y: f32) -> i32 {
    let b = khal_magnitude(y);
    if (khal_magnitude(x) >= 0x7f800000u || b >= 0x7f800000u || b == 0u) {
        return 0;
    }
    let quotient = bitcast<i32>(khal_divide_to_even(x, y).y & 0x7fu);
    return select(quotient, -quotient, bitcast<i32>(bitcast<u32>(x) ^ bitcast<u32>(y)) < 0);
}
