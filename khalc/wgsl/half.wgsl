// The nearest half, ties to even.
fn khal_round_half(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let sign = bits & 0x80000000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u {
        return x;
    }
    if magnitude < 0x38800000u { // subnormal: the sum's last place is the half's
        let places = bitcast<u32>(bitcast<f32>(magnitude) + 0.5) - 0x3f000000u;
        return bitcast<f32>(sign | bitcast<u32>(f32(places) * 5.9604644775390625e-8));
    }
    let rounded = (magnitude + 0xfffu + ((magnitude >> 13u) & 1u)) & 0xffffe000u;
    return bitcast<f32>(sign | select(rounded, 0x7f800000u, rounded >= 0x47800000u));
}

fn khal_round_half_rtz(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let sign = bits & 0x80000000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude >= 0x7f800000u {
        return x;
    }
    if magnitude < 0x38800000u {
        let places = floor(abs(x) * 16777216.0);
        return bitcast<f32>(sign | bitcast<u32>(places * 5.9604644775390625e-8));
    }
    return bitcast<f32>(sign | min(magnitude & 0xffffe000u, 0x477fe000u));
}

fn khal_round_half_away(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let sign = bits & 0x80000000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u || magnitude == 0u {
        return x;
    }
    if magnitude < 0x38800000u { // a subnormal float may count as 0 in arithmetic
        let places = max(ceil(abs(x) * 16777216.0), 1.0);
        return bitcast<f32>(sign | bitcast<u32>(places * 5.9604644775390625e-8));
    }
    let rounded = (magnitude + 0x1fffu) & 0xffffe000u;
    return bitcast<f32>(sign | select(rounded, 0x7f800000u, rounded >= 0x47800000u));
}

fn khal_round_half_rtp(x: f32) -> f32 {
    if (bitcast<u32>(x) & 0x80000000u) != 0u {
        return khal_round_half_rtz(x);
    }
    return khal_round_half_away(x);
}

fn khal_round_half_rtn(x: f32) -> f32 {
    if (bitcast<u32>(x) & 0x80000000u) != 0u {
        return khal_round_half_away(x);
    }
    return khal_round_half_rtz(x);
}

fn khal_half_to_float(h: u32) -> f32 {
    let sign = (h & 0x8000u) << 16u;
    let magnitude = h & 0x7fffu;
    if magnitude < 0x400u {
        return bitcast<f32>(sign | bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8));
    }
    let exponent = select(0x38000000u, 0x70000000u, magnitude >= 0x7c00u);
    return bitcast<f32>(sign | ((magnitude << 13u) + exponent));
}

// The bits of x, which is a half's value. A NaN stays one.
fn khal_float_to_half(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude < 0x38800000u {
        return sign | u32(abs(x) * 16777216.0);
    }
    if magnitude < 0x7f800000u {
        return sign | ((magnitude - 0x38000000u) >> 13u);
    }
    let payload = (magnitude >> 13u) & 0x3ffu;
    return sign | 0x7c00u | select(payload, 0x200u, payload == 0u && magnitude > 0x7f800000u);
}

// Two digits more than a half has, and what remains, which is exact, says on which side of them the quotient lies.
fn khal_half_div(a: f32, b: f32) -> f32 {
    let quotient = a / b;
    let bits = bitcast<u32>(quotient);
    if (bits & 0x7fffffffu) == 0u || (bits & 0x7fffffffu) >= 0x7f800000u {
        return khal_round_half(quotient);
    }
    let near = (bits + 0x400u) & 0xfffff800u;
    let rest = a - bitcast<f32>(near) * b;
    if rest == 0.0 {
        return khal_round_half(bitcast<f32>(near));
    }
    let is_larger = ((bitcast<u32>(rest) ^ bitcast<u32>(a)) & 0x80000000u) == 0u;
    return khal_round_half(bitcast<f32>(select(near - 0x400u, near + 0x400u, is_larger)));
}

fn khal_half_sqrt(a: f32) -> f32 {
    let root = sqrt(a);
    let bits = bitcast<u32>(root);
    if (bits & 0x7fffffffu) == 0u || (bits & 0x7fffffffu) >= 0x7f800000u {
        return root;
    }
    let near = (bits + 0x800u) & 0xfffff000u;
    let rest = a - bitcast<f32>(near) * bitcast<f32>(near);
    if rest == 0.0 {
        return khal_round_half(bitcast<f32>(near));
    }
    return khal_round_half(bitcast<f32>(select(near - 0x800u, near + 0x800u, rest > 0.0)));
}

// The product is exact. The sum is made of integers, with a last digit of 1 for all that is cut off: of floats, compilers
// take the error of a sum to be 0.
fn khal_half_fma(a: f32, b: f32, c: f32) -> f32 {
    let product = a * b;
    let sum = product + c;
    if product == 0.0 || c == 0.0 || sum == 0.0 || (bitcast<u32>(sum) & 0x7fffffffu) >= 0x7f800000u {
        return khal_round_half(sum);
    }
    let is_swapped = abs(product) < abs(c);
    let large = bitcast<u32>(select(product, c, is_swapped));
    let small = bitcast<u32>(select(c, product, is_swapped));
    let exponent = (large >> 23u) & 0xffu;
    let distance = min(exponent - ((small >> 23u) & 0xffu), 63u);
    let whole = vec2<u32>(0u, ((small & 0x7fffffu) | 0x800000u) << 6u);
    var addend = khal_u64_shr(whole, distance);
    addend.x |= u32(!khal_i64_eq(khal_i64_shl(addend, distance), whole));
    let digits = vec2<u32>(0u, ((large & 0x7fffffu) | 0x800000u) << 6u);
    var exact = khal_i64_add(digits, addend);
    if ((large ^ small) & 0x80000000u) != 0u {
        exact = khal_i64_sub(digits, addend);
    }
    let zeros = khal_i64_clz(exact).x;
    let normal = khal_i64_shl(exact, zeros);
    let kept = ((normal.y >> 8u) & 0x7fffffu) | u32(((normal.y & 0xffu) | normal.x) != 0u);
    return khal_round_half(bitcast<f32>((large & 0x80000000u) | ((exponent + 2u - zeros) << 23u) | kept));
}

fn khal_half_fract(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) == 0u || (bits & 0x7fffffffu) == 0x7f800000u {
        return bitcast<f32>(bits & 0x80000000u);
    }
    let fraction = khal_round_half(x - floor(x));
    return select(fraction, 0.99951171875, fraction == 1.0); // the largest below 1
}

fn khal_half_nextafter(x: f32, y: f32) -> f32 {
    let from_bits = bitcast<u32>(x);
    let to_bits = bitcast<u32>(y);
    if (from_bits & 0x7fffffffu) > 0x7f800000u {
        return x;
    }
    if (to_bits & 0x7fffffffu) > 0x7f800000u || x == y {
        return y;
    }
    if x == 0.0 {
        return bitcast<f32>((to_bits & 0x80000000u) | 0x33800000u);
    }
    let h = khal_float_to_half(x);
    return khal_half_to_float(select(h - 1u, h + 1u, (x < y) == (x > 0.0)));
}
