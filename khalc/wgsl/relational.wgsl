// Comparisons and tests of floats, by their bits. They give bool.

// Rises with x; the same for both zeros.
fn khal_order(x: f32) -> i32 {
    let b = bitcast<i32>(x);
    return select(b, -(b & 0x7fffffff), b < 0);
}

fn khal_isnan(x: f32) -> bool {
    return khal_magnitude(x) > 0x7f800000u;
}

fn khal_isinf(x: f32) -> bool {
    return khal_magnitude(x) == 0x7f800000u;
}

fn khal_isfinite(x: f32) -> bool {
    return khal_magnitude(x) < 0x7f800000u;
}

fn khal_isnormal(x: f32) -> bool {
    return khal_magnitude(x) - 0x00800000u < 0x7f000000u;
}

fn khal_signbit(x: f32) -> bool {
    return bitcast<i32>(x) < 0;
}

fn khal_isunordered(x: f32, y: f32) -> bool {
    return max(khal_magnitude(x), khal_magnitude(y)) > 0x7f800000u;
}

fn khal_isordered(x: f32, y: f32) -> bool {
    return max(khal_magnitude(x), khal_magnitude(y)) <= 0x7f800000u;
}

fn khal_isequal(x: f32, y: f32) -> bool {
    return khal_isordered(x, y) && khal_order(x) == khal_order(y);
}

fn khal_isnotequal(x: f32, y: f32) -> bool {
    return khal_isunordered(x, y) || khal_order(x) != khal_order(y);
}

fn khal_isgreater(x: f32, y: f32) -> bool {
    return khal_isordered(x, y) && khal_order(x) > khal_order(y);
}

fn khal_isgreaterequal(x: f32, y: f32) -> bool {
    return khal_isordered(x, y) && khal_order(x) >= khal_order(y);
}

fn khal_isless(x: f32, y: f32) -> bool {
    return khal_isordered(x, y) && khal_order(x) < khal_order(y);
}

fn khal_islessequal(x: f32, y: f32) -> bool {
    return khal_isordered(x, y) && khal_order(x) <= khal_order(y);
}

fn khal_islessgreater(x: f32, y: f32) -> bool {
    return khal_isordered(x, y) && khal_order(x) != khal_order(y);
}

fn khal_bitselect_f32(a: f32, b: f32, c: f32) -> f32 {
    let mask = bitcast<u32>(c);
    return bitcast<f32>((bitcast<u32>(a) & ~mask) | (bitcast<u32>(b) & mask));
}

fn khal_shuffle_2_2(v: vec2<u32>, mask: vec2<u32>) -> vec2<u32> {
    return select(v.xx, v.yy, (mask & vec2<u32>(1u)) != vec2<u32>());
}

fn khal_shuffle_2_4(v: vec2<u32>, mask: vec4<u32>) -> vec4<u32> {
    return select(v.xxxx, v.yyyy, (mask & vec4<u32>(1u)) != vec4<u32>());
}

fn khal_shuffle_4_2(v: vec4<u32>, mask: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(v[mask.x & 3u], v[mask.y & 3u]);
}

fn khal_shuffle_4_4(v: vec4<u32>, mask: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(v[mask.x & 3u], v[mask.y & 3u], v[mask.z & 3u], v[mask.w & 3u]);
}

fn khal_shuffle2_2_2(a: vec2<u32>, b: vec2<u32>, mask: vec2<u32>) -> vec2<u32> {
    return khal_shuffle_4_2(vec4<u32>(a, b), mask);
}

fn khal_shuffle2_2_4(a: vec2<u32>, b: vec2<u32>, mask: vec4<u32>) -> vec4<u32> {
    return khal_shuffle_4_4(vec4<u32>(a, b), mask);
}

fn khal_shuffle2_4_2(a: vec4<u32>, b: vec4<u32>, mask: vec2<u32>) -> vec2<u32> {
    return select(khal_shuffle_4_2(a, mask), khal_shuffle_4_2(b, mask), (mask & vec2<u32>(4u)) != vec2<u32>());
}

fn khal_shuffle2_4_4(a: vec4<u32>, b: vec4<u32>, mask: vec4<u32>) -> vec4<u32> {
    return select(khal_shuffle_4_4(a, mask), khal_shuffle_4_4(b, mask), (mask & vec4<u32>(4u)) != vec4<u32>());
}
