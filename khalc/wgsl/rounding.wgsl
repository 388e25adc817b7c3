// Rounding to integers, parts of a number, and what picks one of two.

fn khal_ceil(x: f32) -> f32 {
    return khal_copysign(select(ceil(x), 1.0, bitcast<u32>(x) - 1u < 0x007fffffu), x);
}

fn khal_floor(x: f32) -> f32 {
    return khal_copysign(select(floor(x), 1.0, bitcast<u32>(x) - 0x80000001u < 0x007fffffu), x);
}

fn khal_trunc(x: f32) -> f32 {
    return khal_copysign(trunc(x), x);
}

fn khal_rint(x: f32) -> f32 {
    return khal_copysign(round(x), x);
}

fn khal_round(x: f32) -> f32 {
    let whole = trunc(x);
    return khal_copysign(abs(whole) + select(0.0, 1.0, abs(x - whole) >= 0.5), x);
}

fn khal_fract(x: f32) -> f32 {
    let b = khal_magnitude(x);
    if (b == 0u || b == 0x7f800000u) {
        return khal_copysign(0.0, x);
    }
    return select(min(x - khal_floor(x), 0x1.fffffep-1), x, b > 0x7f800000u);
}

fn khal_modf_frac(x: f32) -> f32 {
    return khal_copysign(select(x - trunc(x), 0.0, khal_isinf(x)), x);
}

fn khal_fmax(x: f32, y: f32) -> f32 {
    return select(select(max(x, y), x, khal_isnan(y)), y, khal_isnan(x));
}

fn khal_fmin(x: f32, y: f32) -> f32 {
    return select(select(min(x, y), x, khal_isnan(y)), y, khal_isnan(x));
}

fn khal_maxmag(x: f32, y: f32) -> f32 {
    let a = khal_magnitude(x);
    let b = khal_magnitude(y);
    if (a == b || max(a, b) > 0x7f800000u) {
        return khal_fmax(x, y);
    }
    return select(y, x, a > b);
}

fn khal_minmag(x: f32, y: f32) -> f32 {
    let a = khal_magnitude(x);
    let b = khal_magnitude(y);
    if (a == b || max(a, b) > 0x7f800000u) {
        return khal_fmin(x, y);
    }
    return select(y, x, a < b);
}

fn khal_fdim(x: f32, y: f32) -> f32 {
    if (khal_isunordered(x, y)) {
        return khal_nan(0u);
    }
    if (khal_order(x) <= khal_order(y)) {
        return 0.0;
    }
    if (max(khal_magnitude(x), khal_magnitude(y)) < 0x21000000u) {
        return khal_keep(khal_grow(x) - khal_grow(y)) * 0x1p-64;
    }
    return x - y;
}

fn khal_sign(x: f32) -> f32 {
    let b = khal_magnitude(x);
    return select(khal_copysign(select(1.0, 0.0, b == 0u), x), 0.0, b > 0x7f800000u);
}

fn khal_nextafter(x: f32, y: f32) -> f32 {
    if (khal_isunordered(x, y)) {
        return khal_nan(0u);
    }
    if (khal_order(x) == khal_order(y)) {
        return y;
    }
    if (khal_magnitude(x) == 0u) {
        return bitcast<f32>((bitcast<u32>(y) & 0x80000000u) | 1u);
    }
    let away = (khal_order(x) < khal_order(y)) == (bitcast<i32>(x) > 0);
    return bitcast<f32>(bitcast<u32>(x) + select(0xffffffffu, 1u, away));
}

fn khal_frexp_mant(x: f32) -> f32 {
    let b = khal_magnitude(x);
    if (b == 0u || b >= 0x7f800000u) {
        return x;
    }
    return khal_copysign(bitcast<f32>((bitcast<u32>(khal_unpack(b).x) & 0x007fffffu) | 0x3f000000u), x);
}

fn khal_frexp_exp(x: f32) -> i32 {
    let b = khal_magnitude(x);
    return select(khal_unpack(b).y + 24, 0, b == 0u || b >= 0x7f800000u);
}

fn khal_ilogb(x: f32) -> i32 {
    let b = khal_magnitude(x);
    return select(select(khal_unpack(b).y + 23, 0x7fffffff, b >= 0x7f800000u), bitcast<i32>(0x80000000u), b == 0u);
}

fn khal_logb(x: f32) -> f32 {
    let b = khal_magnitude(x);
    if (b == 0u) {
        return khal_infinity(0x80000000u);
    }
    return select(f32(khal_unpack(b).y + 23), abs(x), b >= 0x7f800000u);
}

fn khal_ldexp(x: f32, n: i32) -> f32 {
    let b = khal_magnitude(x);
    if (b == 0u || b >= 0x7f800000u) {
        return x;
    }
    let parts = khal_unpack(b);
    let m = bitcast<u32>(parts.x);
    let e = parts.y + clamp(n, -1000, 1000);
    if (e > 104) {
        return khal_infinity(bitcast<u32>(x));
    }
    if (e >= -149) {
        return khal_copysign(bitcast<f32>(khal_pack(m, e)), x);
    }
    let shift = bitcast<u32>(min(-149 - e, 25));
    let half = 1u << (shift - 1u);
    let rest = m & ((half << 1u) - 1u);
    let whole = m >> shift;
    let up = rest > half || (rest == half && (whole & 1u) == 1u);
    return khal_copysign(bitcast<f32>(whole + select(0u, 1u, up)), x);
}

fn khal_degrees(x: f32) -> f32 {
    return select(x * 57.29578, khal_small_times(x, 57.29578), khal_magnitude(x) < 0x01000000u);
}

fn khal_radians(x: f32) -> f32 {
    return x * 0.017453292;
}

fn khal_smoothstep(low: f32, high: f32, x: f32) -> f32 {
    let t = min(max((x - low) / (high - low), 0.0), 1.0);
    return t * t * (3.0 - 2.0 * t);
}
