// x * y + z, rounded once.

// Whether the device's own fma is that.
override khal_has_fma: bool = false;

fn khal_fma(x: f32, y: f32, z: f32) -> f32 {
    if (khal_has_fma) {
        return fma(x, y, z);
    }
    let a = khal_magnitude(x);
    let b = khal_magnitude(y);
    let c = khal_magnitude(z);
    if (a == 0u || b == 0u || max(a, b) > 0x7f800000u) {
        return x * y + z;
    }
    if (max(a, b) == 0x7f800000u) {
        return khal_infinity(bitcast<u32>(x) ^ bitcast<u32>(y)) + z;
    }
    if (c >= 0x7f800000u) {
        return z;
    }
    return khal_fma_finite(x, y, z);
}

// 64-bit integers here are the high and the low word.
fn khal_shift_left_64(v: vec2<u32>, n: u32) -> vec2<u32> {
    if (n >= 32u) {
        return vec2<u32>(v.y << (n - 32u), 0u);
    }
    return vec2<u32>((v.x << n) | ((v.y >> 1u) >> (31u - n)), v.y << n);
}

// To the right; what is shifted out leaves its mark in the last bit. n up to 63.
fn khal_shift_sticky_64(v: vec2<u32>, n: u32) -> vec2<u32> {
    let lost = khal_shift_left_64(v, 63u - n);
    let sticky = select(0u, 1u, ((lost.x << 1u) | lost.y) != 0u);
    if (n >= 32u) {
        return vec2<u32>(0u, (v.x >> (n - 32u)) | sticky);
    }
    return vec2<u32>(v.x >> n, (v.y >> n) | ((v.x << 1u) << (31u - n)) | sticky);
}

fn khal_add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.y + b.y;
    return vec2<u32>(a.x + b.x + select(0u, 1u, low < a.y), low);
}

fn khal_subtract_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x - select(0u, 1u, a.y < b.y), a.y - b.y);
}

fn khal_fma_finite(x: f32, y: f32, z: f32) -> f32 {
    let px = khal_unpack(khal_magnitude(x));
    let py = khal_unpack(khal_magnitude(y));
    let pz = khal_unpack(khal_magnitude(z));
    // the product's 48 bits, its first at bit 62; exponents are those of bit 62
    let mx = bitcast<u32>(px.x);
    let my = bitcast<u32>(py.x);
    var product = vec2<u32>(khal_mul_hi_u32(mx, my), mx * my);
    let shift = countLeadingZeros(product.x) - 1u;
    product = khal_shift_left_64(product, shift);
    let product_exponent = px.y + py.y + 62 - bitcast<i32>(shift);
    let addend = vec2<u32>(bitcast<u32>(pz.x) << 7u, 0u);
    let addend_exponent = select(pz.y + 23, -1000, pz.x == 0);
    let swap = addend_exponent > product_exponent;
    let large = select(product, addend, vec2<bool>(swap));
    let small = select(addend, product, vec2<bool>(swap));
    let distance = abs(product_exponent - addend_exponent);
    let aligned = khal_shift_sticky_64(small, bitcast<u32>(min(distance, 63)));
    let product_sign = (bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u;
    let addend_sign = bitcast<u32>(z) & 0x80000000u;
    var sign = select(product_sign, addend_sign, swap);
    var sum = khal_add_64(large, aligned);
    if (product_sign != addend_sign) {
        sum = khal_subtract_64(large, aligned);
        if (bitcast<i32>(sum.x) < 0) {
            sum = khal_subtract_64(vec2<u32>(), sum);
            sign ^= 0x80000000u;
        }
        if ((sum.x | sum.y) == 0u) {
            return 0.0;
        }
    }
    let zeros = select(countLeadingZeros(sum.x), 32u + countLeadingZeros(sum.y), sum.x == 0u);
    sum = khal_shift_left_64(sum, zeros);
    let exponent = max(product_exponent, addend_exponent) + 1 - bitcast<i32>(zeros);
    if (exponent > 127) {
        return khal_infinity(sign);
    }
    let below = clamp(-126 - exponent, 0, 63);
    sum = khal_shift_sticky_64(sum, bitcast<u32>(below));
    let significand = sum.x >> 8u;
    let rest = (sum.x & 0xffu) | select(0u, 0x100u, sum.y != 0u);
    let up = (rest & 0x80u) != 0u && ((rest & 0x17fu) != 0u || (significand & 1u) == 1u);
    let bits = (bitcast<u32>(max(exponent, -126) + 126) << 23u) + significand + select(0u, 1u, up);
    return bitcast<f32>(sign | bits);
}
