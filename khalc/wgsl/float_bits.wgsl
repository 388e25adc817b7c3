// Floats by their bits. The rules of the files here:
//  - WGSL lets a device flush denormals. A flushed result is accepted, but an argument counts with its value: what may be denormal
//    is looked at as an integer.
//  - WGSL lets a compiler assume that there are no NaNs and infinities. Tests for them are integer tests, and they are made from
//    arguments, since a constant expression may not have such a value.
//  - WGSL lets a compiler fuse a * b + c and reassociate sums, which ruins error-free transformations. khal_keep and khal_head
//    stand where that matters; products of two heads are exact, so that fusing them changes nothing.
//  - A division may be wrong by 2.5 ulps, inverseSqrt by 2; + - * are correctly rounded.

// x, in a way that no compiler sees through. (NaNs with the largest payloads change.)
fn khal_keep(x: f32) -> f32 {
    return bitcast<f32>(min(bitcast<u32>(x), 0xfffffff0u));
}

// The first 12 bits of the significand.
fn khal_head(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

fn khal_magnitude(x: f32) -> u32 {
    return bitcast<u32>(x) & 0x7fffffffu;
}

fn khal_nan(payload: u32) -> f32 {
    return bitcast<f32>(0x7fc00000u | (payload & 0x003fffffu));
}

// Infinity, of the sign in the top bit.
fn khal_infinity(sign: u32) -> f32 {
    return bitcast<f32>(0x7f800000u | (sign & 0x80000000u));
}

fn khal_copysign(x: f32, y: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}

// 2^n, n from -126 to 127.
fn khal_power(n: i32) -> f32 {
    return bitcast<f32>(bitcast<u32>(n + 127) << 23u);
}

// x * 2^n for x near 1 and n from -252 to 254, rounded once.
fn khal_scale(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return x * khal_power(half) * khal_power(n - half);
}

// x * 2^64, for x up to 2^63 and denormals as well.
fn khal_grow(x: f32) -> f32 {
    let b = khal_magnitude(x);
    return khal_copysign(select(abs(x) * 0x1p64, f32(b) * 0x1p-85, b < 0x00800000u), x);
}

// x * y, y moderate, where x may be denormal and the product normal; x up to 2^63.
fn khal_small_times(x: f32, y: f32) -> f32 {
    return khal_keep(khal_grow(x) * y) * 0x1p-64;
}

// The integer significand, with 24 bits, and the exponent of its last bit, of a finite number's magnitude b.
fn khal_unpack(b: u32) -> vec2<i32> {
    if (b < 0x00800000u) {
        let shift = countLeadingZeros(b) - 8u;
        return vec2<i32>(bitcast<i32>(b << shift), -149 - bitcast<i32>(shift));
    }
    return vec2<i32>(bitcast<i32>((b & 0x007fffffu) | 0x00800000u), bitcast<i32>(b >> 23u) - 150);
}

// The bits of m * 2^e, which is a float: m below 2^24, e at most 104.
fn khal_pack(m: u32, e: i32) -> u32 {
    if (m == 0u) {
        return 0u;
    }
    let shift = countLeadingZeros(m) - 8u;
    let significand = m << shift;
    let exponent = e - bitcast<i32>(shift);
    if (exponent < -149) {
        return significand >> bitcast<u32>(-149 - exponent);
    }
    return (bitcast<u32>(exponent + 149) << 23u) + significand;
}

// a / b, almost correctly rounded, far from overflow and underflow.
fn khal_divide(a: f32, b: f32) -> f32 {
    let q = a / b;
    let q_head = khal_head(q);
    let b_head = khal_head(b);
    let rest = ((a - q_head * b_head) - q_head * (b - b_head)) - (q - q_head) * b;
    return q + rest / b;
}

// sqrt(x), almost correctly rounded, for x = 0 and x from 2^-80 up.
fn khal_root(x: f32) -> f32 {
    let r = inverseSqrt(x);
    let y = min(x * r, 0x1.fffffep63);
    let head = khal_head(y);
    let tail = y - head;
    let rest = ((x - head * head) - (head + head) * tail) - tail * tail;
    return select(y + 0.5 * rest * r, x, x == 0.0);
}
