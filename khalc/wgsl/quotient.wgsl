// x / y for every y: WGSL promises it up to 2^126 only. The scales are powers of two.
fn khal_quotient(x: f32, y: f32) -> f32 {
    let scale = select(1.0, 0.125, abs(y) > 0x1p125);
    return x * scale / (y * scale);
}

fn khal_quotient_v2(x: vec2<f32>, y: vec2<f32>) -> vec2<f32> {
    let scale = select(vec2<f32>(1.0), vec2<f32>(0.125), abs(y) > vec2<f32>(0x1p125));
    return x * scale / (y * scale);
}

fn khal_quotient_v3(x: vec3<f32>, y: vec3<f32>) -> vec3<f32> {
    let scale = select(vec3<f32>(1.0), vec3<f32>(0.125), abs(y) > vec3<f32>(0x1p125));
    return x * scale / (y * scale);
}

fn khal_quotient_v4(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    let scale = select(vec4<f32>(1.0), vec4<f32>(0.125), abs(y) > vec4<f32>(0x1p125));
    return x * scale / (y * scale);
}
