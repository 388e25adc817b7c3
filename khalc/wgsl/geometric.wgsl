// Lengths that neither overflow nor underflow before they have to.

fn khal_cross4(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(cross(a.xyz, b.xyz), 0.0);
}

fn khal_largest4(v: vec4<f32>) -> u32 {
    return max(max(khal_magnitude(v.x), khal_magnitude(v.y)), max(khal_magnitude(v.z), khal_magnitude(v.w)));
}

// From 2^-40 to 2^60: squares are normal, and so is their sum.
fn khal_is_moderate(b: u32) -> bool {
    return b - 0x2b800000u < 0x32000000u;
}

// v / 2^96 where its largest lane, whose bits are given, is at least 1, else v * 2^96.
fn khal_moderate4(v: vec4<f32>, largest: u32) -> vec4<f32> {
    if (largest >= 0x3f800000u) {
        return v * 0x1p-96;
    }
    return vec4<f32>(khal_grow(v.x), khal_grow(v.y), khal_grow(v.z), khal_grow(v.w)) * 0x1p32;
}

// v with 1 for infinity and 0 for what is finite.
fn khal_infinite4(v: vec4<f32>) -> vec4<f32> {
    let bits = bitcast<vec4<u32>>(v);
    let ones = select(vec4<u32>(), vec4<u32>(0x3f800000u), (bits & vec4<u32>(0x7fffffffu)) == vec4<u32>(0x7f800000u));
    return bitcast<vec4<f32>>(ones | (bits & vec4<u32>(0x80000000u)));
}

fn khal_length4(v: vec4<f32>) -> f32 {
    let largest = khal_largest4(v);
    if (khal_is_moderate(largest)) {
        return khal_root(dot(v, v));
    }
    if (largest >= 0x7f800000u) {
        return select(khal_nan(0u), khal_infinity(0u), any(khal_infinite4(v) != vec4<f32>()));
    }
    let w = khal_moderate4(v, largest);
    return khal_root(dot(w, w)) * select(0x1p96, 0x1p-96, largest < 0x3f800000u);
}

fn khal_length3(v: vec3<f32>) -> f32 {
    return khal_length4(vec4<f32>(v, 0.0));
}

fn khal_length2(v: vec2<f32>) -> f32 {
    return khal_length4(vec4<f32>(v, 0.0, 0.0));
}

fn khal_normalize4(v: vec4<f32>) -> vec4<f32> {
    let largest = khal_largest4(v);
    if (khal_is_moderate(largest)) {
        return v * inverseSqrt(dot(v, v));
    }
    if (largest == 0u) {
        return v;
    }
    if (largest > 0x7f800000u) {
        return vec4<f32>(khal_nan(0u));
    }
    if (largest == 0x7f800000u) {
        let w = khal_infinite4(v);
        return w * inverseSqrt(dot(w, w));
    }
    let w = khal_moderate4(v, largest);
    let r = inverseSqrt(dot(w, w));
    if (largest < 0x3f800000u) {
        return w * r;
    }
    let scaled = v * r;
    return vec4<f32>(khal_keep(scaled.x), khal_keep(scaled.y), khal_keep(scaled.z), khal_keep(scaled.w)) * 0x1p-96;
}

fn khal_normalize3(v: vec3<f32>) -> vec3<f32> {
    return khal_normalize4(vec4<f32>(v, 0.0)).xyz;
}

fn khal_normalize2(v: vec2<f32>) -> vec2<f32> {
    return khal_normalize4(vec4<f32>(v, 0.0, 0.0)).xy;
}

fn khal_normalize1(x: f32) -> f32 {
    let b = khal_magnitude(x);
    return select(khal_copysign(1.0, x), x, b == 0u || b > 0x7f800000u);
}

fn khal_fast_normalize2(v: vec2<f32>) -> vec2<f32> {
    return v * inverseSqrt(max(dot(v, v), 0x1p-126));
}

fn khal_fast_normalize3(v: vec3<f32>) -> vec3<f32> {
    return v * inverseSqrt(max(dot(v, v), 0x1p-126));
}

fn khal_fast_normalize4(v: vec4<f32>) -> vec4<f32> {
    return v * inverseSqrt(max(dot(v, v), 0x1p-126));
}
