// Powers and roots: 2^(y * log2(x)), the logarithm as the sum of a head of 12 bits and a tail.

// log2 of a positive finite number's bits. x = 2^e * c * (1 + s) / (1 - s) with c = 1 or 3/2, |s| up to 0.102.
fn khal_log2_pair(b: u32) -> vec2<f32> {
    let tiny = b < 0x00800000u;
    let bits = select(b, bitcast<u32>(f32(b)), tiny);
    let m = bitcast<f32>((bits & 0x007fffffu) | 0x3f800000u);
    let top = m >= 1.7320508;
    let middle = m >= 1.2247449 && !top;
    let e = bitcast<i32>(bits >> 23u) - select(127, 276, tiny) + select(0, 1, top);
    let x = select(m, 0.5 * m, top);
    let c = select(1.0, 1.5, middle);
    let u = x - c;
    let v = x + c;
    let v_head = khal_head(v);
    let v_tail = x - (v_head - c);
    let r = 1.0 / v;
    let s = u * r;
    let s_head = khal_head(s);
    let s_tail = r * ((u - s_head * v_head) - s_head * v_tail);
    // log((1 + s) / (1 - s)) = 2/3 s (3 + s^2 + q)
    let square = s_head * s_head;
    let s2 = s * s;
    let q = s2 * s2 * (0.6 + s2 * (0.42856058 + s2 * (0.3348508 + s2 * 0.20791882))) + s_tail * (s_head + s);
    let t_head = khal_head(3.0 + square + q);
    let t_tail = q - ((t_head - 3.0) - square);
    let p = s_tail * t_head + t_tail * s;
    let p_head = khal_head(s_head * t_head + p);
    let p_tail = p - (p_head - s_head * t_head);
    // times 2/3 log2(e)
    let z_head = p_head * 0.961669921875;
    let z_tail = p_head * 0.00012677205 + p_tail * 0.9617967 + select(0.0, 1.5632212e-6, middle);
    let c_head = select(0.0, 0.5849609375, middle);
    let n = f32(e);
    let head = khal_head(((z_head + z_tail) + c_head) + n);
    return vec2<f32>(head, z_tail - (((head - n) - c_head) - z_head));
}

// factor * 2^(x + y), y small beside x, which is at most 250 away from 0.
fn khal_exp2_pair(x: f32, y: f32, factor: f32) -> f32 {
    let n = round(x + y);
    return khal_scale(khal_exp2_near_0((x - n) + y) * factor, i32(n));
}

// x^(y_head + y_tail), of a positive finite x's bits; y_head has 12 bits.
fn khal_power_of(b: u32, y_head: f32, y_tail: f32) -> f32 {
    let l = khal_log2_pair(b);
    let rough = (y_head + y_tail) * l.x;
    let y = khal_exp2_pair(y_head * l.x, y_head * l.y + y_tail * (l.x + l.y), 1.0);
    return select(select(y, 0.0, rough < -160.0), khal_infinity(0u), rough > 130.0);
}

// Of a float's magnitude: 0, it is no integer; 1, an odd one; 2, an even one.
fn khal_parity(b: u32) -> u32 {
    if (b < 0x3f800000u) {
        return select(0u, 2u, b == 0u);
    }
    if (b >= 0x4b800000u) {
        return 2u;
    }
    let shift = 150u - (b >> 23u);
    let m = (b & 0x007fffffu) | 0x00800000u;
    if ((m & ((1u << shift) - 1u)) != 0u) {
        return 0u;
    }
    return 2u - ((m >> shift) & 1u);
}

fn khal_pow(x: f32, y: f32) -> f32 {
    let a = khal_magnitude(x);
    let b = khal_magnitude(y);
    if (b == 0u || bitcast<u32>(x) == 0x3f800000u) {
        return 1.0;
    }
    if (max(a, b) > 0x7f800000u) {
        return khal_nan(0u);
    }
    let negative = bitcast<i32>(y) < 0;
    if (b == 0x7f800000u) {
        if (a == 0x3f800000u) {
            return 1.0;
        }
        return select(0.0, khal_infinity(0u), (a > 0x3f800000u) != negative);
    }
    let parity = khal_parity(b);
    let sign = select(0.0, x, parity == 1u);
    if (a == 0u || a == 0x7f800000u) {
        return khal_copysign(select(0.0, khal_infinity(0u), (a == 0u) == negative), sign);
    }
    if (bitcast<i32>(x) < 0 && parity == 0u) {
        return khal_nan(0u);
    }
    let head = khal_head(y);
    return khal_copysign(khal_power_of(a, head, y - head), sign);
}

fn khal_powr(x: f32, y: f32) -> f32 {
    let a = khal_magnitude(x);
    let b = khal_magnitude(y);
    let special = a == 0u || a == 0x7f800000u;
    if (max(a, b) > 0x7f800000u || (bitcast<i32>(x) < 0 && a != 0u) || (special && b == 0u) || (a == 0x3f800000u && b == 0x7f800000u)) {
        return khal_nan(0u);
    }
    let negative = bitcast<i32>(y) < 0;
    if (special) {
        return select(0.0, khal_infinity(0u), (a == 0u) == negative);
    }
    if (b == 0x7f800000u) {
        return select(0.0, khal_infinity(0u), (a > 0x3f800000u) != negative);
    }
    let head = khal_head(y);
    return khal_power_of(a, head, y - head);
}

fn khal_pown(x: f32, n: i32) -> f32 {
    let a = khal_magnitude(x);
    if (n == 0) {
        return 1.0;
    }
    if (a > 0x7f800000u) {
        return x;
    }
    let sign = select(0.0, x, (n & 1) == 1);
    if (a == 0u || a == 0x7f800000u) {
        return khal_copysign(select(0.0, khal_infinity(0u), (a == 0u) == (n < 0)), sign);
    }
    let magnitude = bitcast<u32>(abs(n));
    let head = magnitude & (0xfff00000u >> countLeadingZeros(magnitude));
    let y = select(1.0, -1.0, n < 0);
    return khal_copysign(khal_power_of(a, y * f32(head), y * f32(magnitude - head)), sign);
}

fn khal_rootn(x: f32, n: i32) -> f32 {
    let a = khal_magnitude(x);
    let odd = (n & 1) == 1;
    if (a > 0x7f800000u || n == 0 || (bitcast<i32>(x) < 0 && a != 0u && !odd)) {
        return khal_nan(0u);
    }
    let sign = select(0.0, x, odd);
    if (a == 0u || a == 0x7f800000u) {
        return khal_copysign(select(0.0, khal_infinity(0u), (a == 0u) == (n < 0)), sign);
    }
    let divisor = f32(n);
    let r = 1.0 / divisor;
    let head = khal_head(r);
    return khal_copysign(khal_power_of(a, head, (1.0 - divisor * head) * r), sign);
}

// Whether the device's own sqrt is within OpenCL's bound.
override khal_has_sqrt: bool = false;

fn khal_sqrt(x: f32) -> f32 {
    if (khal_has_sqrt) {
        return sqrt(x);
    }
    let b = bitcast<u32>(x);
    if (b >= 0x7f800000u) {
        return select(khal_nan(0u), x, b == 0x7f800000u || b == 0x80000000u);
    }
    let small = b < 0x17800000u;
    return khal_root(select(x, khal_grow(x), small)) * select(1.0, 0x1p-32, small);
}

fn khal_rsqrt(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    if (b - 1u >= 0x7f7fffffu) {
        if ((b << 1u) == 0u) {
            return khal_infinity(b);
        }
        return select(khal_nan(0u), 0.0, b == 0x7f800000u);
    }
    let small = b < 0x01000000u;
    return inverseSqrt(select(x, khal_grow(x), small)) * select(1.0, 0x1p32, small);
}

fn khal_cbrt(x: f32) -> f32 {
    let b = khal_magnitude(x);
    if (b == 0u || b >= 0x7f800000u) {
        return x;
    }
    let tiny = b < 0x00800000u;
    let bits = select(b, bitcast<u32>(f32(b)), tiny);
    let e = bitcast<i32>(bits >> 23u) - select(127, 276, tiny);
    let third = (e + 300) / 3 - 100;
    let k = e - 3 * third;
    let m = bitcast<f32>((bits & 0x007fffffu) | 0x3f800000u);
    let d = m - 1.5;
    let guess = (1.1447923 + d * (0.25416377 + d * (d * 0.023104962 - 0.058997333))) * select(select(1.0, 1.2599211, k == 1), 1.587401, k == 2);
    let t = khal_head(guess);
    let n = m * khal_power(k);
    let square = t * t;
    let square_head = khal_head(square);
    let rest = (n - square_head * t) - (square - square_head) * t;
    return khal_copysign((t + t * (rest / (n + 2.0 * t * square))) * khal_power(third), x);
}

fn khal_hypot(x: f32, y: f32) -> f32 {
    let a = max(khal_magnitude(x), khal_magnitude(y));
    let b = min(khal_magnitude(x), khal_magnitude(y));
    if (a >= 0x7f800000u) {
        return select(khal_nan(0u), khal_infinity(0u), a == 0x7f800000u || b == 0x7f800000u);
    }
    var p = bitcast<f32>(a);
    var q = bitcast<f32>(b);
    if (a > 0x5d800000u) {
        p *= 0x1p-96;
        q *= 0x1p-96;
        return khal_root(p * p + q * q) * 0x1p96;
    }
    if (a < 0x2b800000u) {
        p = khal_grow(p) * 0x1p32;
        q = khal_grow(q) * 0x1p32;
        return khal_root(p * p + q * q) * 0x1p-96;
    }
    return khal_root(p * p + q * q);
}
