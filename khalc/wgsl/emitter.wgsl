// What no const-expression may be: a NaN or an infinity.
fn khal_f32(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

fn khal_dimension(v: vec3<u32>, dimension: u32, otherwise: u32) -> u32 {
    return select(otherwise, v[min(dimension, 2u)], dimension < 3u);
}
