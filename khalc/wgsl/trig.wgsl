// Trigonometry. x = q * pi / 2 + r with |r| up to pi / 4.

// r's bits, and q modulo 4.
fn khal_reduce(x: f32) -> vec2<u32> {
    let b = khal_magnitude(x);
    if (b >= 0x43000000u) {
        let parts = khal_reduce_large(b);
        return select(parts, vec2<u32>(parts.x ^ 0x80000000u, (0u - parts.y) & 3u), vec2<bool>(bitcast<i32>(x) < 0));
    }
    let n = round(x * 0.63661975);
    let r = ((x - n * 1.5707855224609375) - n * 1.0804273188114166e-5) - n * 6.0771006e-11;
    return vec2<u32>(bitcast<u32>(r), bitcast<u32>(i32(n)) & 3u);
}

// Bits of 2 / pi, 32 for each i; before the first, zeros.
fn khal_two_over_pi(i: u32) -> u32 {
    switch (i) {
        case 1u: { return 0xa2f9836eu; }
        case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; }
        case 4u: { return 0xf534ddc0u; }
        case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; }
        case 7u: { return 0xfe5163abu; }
        default: { return 0u; }
    }
}

// Of a magnitude's bits from 128 up: the exact product with 96 bits of 2 / pi, modulo 4.
fn khal_reduce_large(b: u32) -> vec2<u32> {
    if (b >= 0x7f800000u) {
        return vec2<u32>(0x7fc00000u, 0u);
    }
    let m = (b & 0x007fffffu) | 0x00800000u;
    let skip = (b >> 23u) - 120u;
    let word = skip >> 5u;
    let shift = skip & 31u;
    let w0 = khal_two_over_pi(word);
    let w1 = khal_two_over_pi(word + 1u);
    let w2 = khal_two_over_pi(word + 2u);
    let w3 = khal_two_over_pi(word + 3u);
    let a0 = (w0 << shift) | ((w1 >> 1u) >> (31u - shift));
    let a1 = (w1 << shift) | ((w2 >> 1u) >> (31u - shift));
    let a2 = (w2 << shift) | ((w3 >> 1u) >> (31u - shift));
    let carried = khal_mul_hi_u32(m, a2);
    let low = m * a1 + carried;
    let high = m * a0 + khal_mul_hi_u32(m, a1) + select(0u, 1u, low < carried);
    // two bits of q, then the fraction
    var fraction = vec2<u32>((high << 2u) | (low >> 30u), low << 2u);
    let up = fraction.x >> 31u;
    if (up == 1u) {
        fraction = vec2<u32>(~fraction.x + select(0u, 1u, fraction.y == 0u), 0u - fraction.y);
    }
    let zeros = countLeadingZeros(fraction.x);
    let top = (fraction.x << zeros) | ((fraction.y >> 1u) >> (31u - zeros));
    let r = (f32(top) * 1.5707964) * khal_power(-32 - bitcast<i32>(zeros));
    return vec2<u32>(bitcast<u32>(r) | (up << 31u), ((high >> 30u) + up) & 3u);
}

fn khal_sin_near_0(r: f32) -> f32 {
    let t = r * r;
    return r + r * (t * (-0.16666655 + t * (0.008332187 - t * 0.00019517897)));
}

fn khal_cos_near_0(r: f32) -> f32 {
    let t = r * r;
    return 1.0 - (0.5 * t - t * t * (0.041666646 + t * (t * 2.4432327e-5 - 0.001388731)));
}

// sin(q * pi / 2 + r)
fn khal_sin_of(r: f32, q: u32) -> f32 {
    let y = select(khal_sin_near_0(r), khal_cos_near_0(r), (q & 1u) == 1u);
    return select(y, -y, (q & 2u) != 0u);
}

// tan(q * pi / 2 + r)
fn khal_tan_of(r: f32, q: u32) -> f32 {
    let s = khal_sin_near_0(r);
    let c = khal_cos_near_0(r);
    let odd = (q & 1u) == 1u;
    return khal_divide(select(s, -c, odd), select(c, s, odd));
}

fn khal_sin(x: f32) -> f32 {
    let parts = khal_reduce(x);
    return select(khal_sin_of(bitcast<f32>(parts.x), parts.y), x, khal_magnitude(x) < 0x39800000u);
}

fn khal_cos(x: f32) -> f32 {
    let parts = khal_reduce(x);
    return khal_sin_of(bitcast<f32>(parts.x), parts.y + 1u);
}

fn khal_tan(x: f32) -> f32 {
    let parts = khal_reduce(x);
    return select(khal_tan_of(bitcast<f32>(parts.x), parts.y), x, khal_magnitude(x) < 0x39800000u);
}

// x = q / 2 + r exactly, |r| up to 1/4: pi * r's bits, and q modulo 4.
fn khal_reduce_pi(x: f32) -> vec2<u32> {
    let b = khal_magnitude(x);
    if (b >= 0x7f800000u) {
        return vec2<u32>(0x7fc00000u, 0u);
    }
    if (b >= 0x4b800000u) {
        return vec2<u32>(0u, 0u);
    }
    let n = round(2.0 * x);
    return vec2<u32>(bitcast<u32>((x - 0.5 * n) * 3.1415927), bitcast<u32>(i32(n)) & 3u);
}

fn khal_sinpi(x: f32) -> f32 {
    let parts = khal_reduce_pi(x);
    let y = khal_sin_of(bitcast<f32>(parts.x), parts.y);
    return select(select(y, khal_copysign(y, x), y == 0.0), khal_small_times(x, 3.1415927), khal_magnitude(x) < 0x39000000u);
}

fn khal_cospi(x: f32) -> f32 {
    let parts = khal_reduce_pi(x);
    let y = khal_sin_of(bitcast<f32>(parts.x), parts.y + 1u);
    return select(y, 0.0, y == 0.0);
}

fn khal_tanpi(x: f32) -> f32 {
    if (khal_magnitude(x) < 0x39000000u) {
        return khal_small_times(x, 3.1415927);
    }
    let parts = khal_reduce_pi(x);
    if ((parts.x << 1u) == 0u) {
        if ((parts.y & 1u) == 1u) {
            return khal_infinity((parts.y << 30u) ^ bitcast<u32>(x));
        }
        return khal_copysign(0.0, bitcast<f32>((parts.y << 30u) ^ bitcast<u32>(x)));
    }
    return khal_tan_of(bitcast<f32>(parts.x), parts.y);
}

// atan(t), t from 0 to 1.
fn khal_atan_unit(t: f32) -> f32 {
    let z = t * t;
    return t + t * (z * (-0.333333 + z * (0.1999853 + z * (-0.14264043 + z * (0.109512806 + z * (-0.08401568 + z * (0.05794188 + z * (-0.031178545 + z * (0.0109222075 - z * 0.0017963805)))))))));
}

fn khal_atan(x: f32) -> f32 {
    let a = abs(x);
    let inverse = a > 1.0;
    let y = khal_atan_unit(select(a, select(1.0 / a, 0.0, a > 0x1p60), inverse));
    return khal_copysign(select(y, 1.5707964 - y, inverse), x);
}

fn khal_atanpi(x: f32) -> f32 {
    let a = abs(x);
    let inverse = a > 1.0;
    let y = khal_atan_unit(select(a, select(1.0 / a, 0.0, a > 0x1p60), inverse)) * 0.31830987;
    return khal_copysign(select(y, 0.5 - y, inverse), x);
}

// The smaller magnitude divided by the larger.
fn khal_ratio(x: f32, y: f32) -> f32 {
    let a = min(khal_magnitude(x), khal_magnitude(y));
    let b = max(khal_magnitude(x), khal_magnitude(y));
    if (b > 0x7f800000u) {
        return khal_nan(0u);
    }
    if (a == b) {
        return select(1.0, 0.0, a == 0u);
    }
    var p = bitcast<f32>(a);
    var q = bitcast<f32>(b);
    if (b >= 0x7e000000u) {
        p *= 0x1p-32;
        q *= 0x1p-32;
        q = select(q, 0x1p126, b == 0x7f800000u);
        p = select(p, 0.0, b == 0x7f800000u);
    } else if (a < 0x01800000u && b < 0x5e800000u) {
        p = khal_grow(p);
        q = khal_grow(q);
    }
    return p / q;
}

fn khal_atan2(y: f32, x: f32) -> f32 {
    let a = khal_atan_unit(khal_ratio(x, y));
    let b = select(a, 1.5707964 - a, khal_magnitude(y) > khal_magnitude(x));
    return khal_copysign(select(b, 3.1415927 - b, bitcast<i32>(x) < 0), y);
}

fn khal_atan2pi(y: f32, x: f32) -> f32 {
    let a = khal_atan_unit(khal_ratio(x, y)) * 0.31830987;
    let b = select(a, 0.5 - a, khal_magnitude(y) > khal_magnitude(x));
    return khal_copysign(select(b, 1.0 - b, bitcast<i32>(x) < 0), y);
}

// asin(s), s^2 = z up to 1/4.
fn khal_asin_near_0(s: f32, z: f32) -> f32 {
    return s + s * (z * (0.16666754 + z * (0.074952476 + z * (0.04547726 + z * (0.024142792 + z * 0.042233024)))));
}

// Of |x|: up to 1/2 its asin; above, twice asin(sqrt((1 - |x|) / 2)), which is its acos.
fn khal_asin_or_acos(x: f32) -> f32 {
    let a = abs(x);
    let large = a > 0.5;
    let z = select(a * a, 0.5 - 0.5 * a, large);
    let y = khal_asin_near_0(select(a, khal_root(abs(z)), large), z);
    return select(select(y, y + y, large), khal_nan(0u), khal_magnitude(x) > 0x3f800000u);
}

fn khal_asin(x: f32) -> f32 {
    let y = khal_asin_or_acos(x);
    return khal_copysign(select(y, 1.5707964 - y, abs(x) > 0.5), x);
}

fn khal_asinpi(x: f32) -> f32 {
    let y = khal_asin_or_acos(x) * 0.31830987;
    return khal_copysign(select(y, 0.5 - y, abs(x) > 0.5), x);
}

fn khal_acos(x: f32) -> f32 {
    let y = khal_asin_or_acos(x);
    let right = select(1.5707964 - y, y, abs(x) > 0.5);
    let left = select(1.5707964 + y, 3.1415927 - y, abs(x) > 0.5);
    return select(right, left, x < 0.0);
}

fn khal_acospi(x: f32) -> f32 {
    let y = khal_asin_or_acos(x) * 0.31830987;
    let right = select(0.5 - y, y, abs(x) > 0.5);
    let left = select(0.5 + y, 1.0 - y, abs(x) > 0.5);
    return select(right, left, x < 0.0);
}
