// names, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 2>,
    push: array<vec4<u32>, 1>,
}

@group(0) @binding(0) var<storage, read_write> var_: array<i32>;
@group(0) @binding(1) var<storage, read> loop_: array<i32>;
@group(0) @binding(2) var<storage, read_write> k_khal_x: array<i32>;

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

override khal_size_x: u32 = 1u;
override khal_size_y: u32 = 1u;
override khal_size_z: u32 = 1u;

@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)
fn names(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let fn_ = bitcast<i32>(khal.push[0].x);
    let let_ = bitcast<i32>(khal.push[0].y);
    let k_khal_x_first = select(khal.slices[1].x, 0u, khal_is_plain) >> 2u;
    let loop_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let var_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let i32_ = i32(khal_global_id.x);
    let max_ = fn_;
    var_[var_first + u32(i32_)] = max_ + let_;
    k_khal_x[k_khal_x_first + u32(i32_)] = loop_[loop_first + u32(i32_)] + min(let_, fn_);
}

@group(0) @binding(3) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// narrow, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 3>,
}

struct particle {
    position: vec3<f32>,
    kind: i32,
    charge: array<i32, 3>,
}

@group(0) @binding(0) var<storage, read_write> bytes: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> shorts: array<u32>;

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

override khal_size_x: u32 = 1u;
override khal_size_y: u32 = 1u;
override khal_size_z: u32 = 1u;

@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)
fn narrow(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    var p = particle(vec3<f32>(bitcast<f32>(khal.push[0].x), bitcast<f32>(khal.push[0].y), bitcast<f32>(khal.push[0].z)), (bitcast<i32>(khal.push[1].x) << 24u) >> 24u, array<i32, 3>((bitcast<i32>(khal.push[1].x >> 16u) << 16u) >> 16u, (bitcast<i32>(khal.push[1].y) << 16u) >> 16u, (bitcast<i32>(khal.push[1].y >> 16u) << 16u) >> 16u));
    let add = khal.push[2].x & 255u;
    let shorts_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 1u;
    let bytes_first = select(khal.slices[0].x, 0u, khal_is_plain);
    let i = khal_global_id.x;
    let shift = ((bytes_first + i) & 3u) << 3u;
    atomicXor(&bytes[(bytes_first + i) >> 2u], (atomicLoad(&bytes[(bytes_first + i) >> 2u]) ^ ((bitcast<u32>(i32((atomicLoad(&bytes[(bytes_first + i) >> 2u]) >> (((bytes_first + i) & 3u) << 3u)) & 255u) + i32(add)) & 255u) << shift)) & (255u << shift));
    let at = (shorts_first + i) << 1u;
    let shift_2 = ((bytes_first + i) & 3u) << 3u;
    atomicXor(&bytes[(bytes_first + i) >> 2u], (atomicLoad(&bytes[(bytes_first + i) >> 2u]) ^ (bitcast<u32>(min(max(((bitcast<i32>(shorts[at >> 2u] >> ((at & 3u) << 3u)) << 16u) >> 16u) + p.charge[i % 3u] + p.kind + i32(p.position.y), 0), 255)) << shift_2)) & (255u << shift_2));
}

@group(0) @binding(2) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// wide, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 1>,
}

@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
@group(0) @binding(1) var<storage, read> values: array<i32>;

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

override khal_size_x: u32 = 1u;
override khal_size_y: u32 = 1u;
override khal_size_z: u32 = 1u;

@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)
fn wide(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let step_ = vec2<u32>(khal.push[0].x, khal.push[0].y);
    let values_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let sums_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let i = khal_global_id.x;
    let at = sums_first + i * 2u;
    let at_2 = sums_first + i * 2u;
    let bits = khal_i64_add(khal_i64_mul(vec2<u32>(sums[at], sums[at + 1u]), step_), khal_i64_from_i32(values[values_first + i]));
    sums[at_2] = bits.x;
    sums[at_2 + 1u] = bits.y;
}

fn khal_i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}

fn khal_i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = khal_u64_mul_wide(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}

fn khal_u64_mul_wide(a: u32, b: u32) -> vec2<u32> {
    let a_low = a & 0xffffu;
    let a_high = a >> 16u;
    let b_low = b & 0xffffu;
    let b_high = b >> 16u;
    let m = a_high * b_low + ((a_low * b_low) >> 16u);
    let n = a_low * b_high + (m & 0xffffu);
    return vec2<u32>(a * b, a_high * b_high + (m >> 16u) + (n >> 16u));
}

fn khal_i64_from_i32(a: i32) -> vec2<u32> {
    return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u));
}

@group(0) @binding(2) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// halves, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 1>,
}

@group(0) @binding(0) var<storage, read_write> h: array<atomic<u32>>;

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

override khal_size_x: u32 = 1u;
override khal_size_y: u32 = 1u;
override khal_size_z: u32 = 1u;

@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)
fn halves(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let scale = bitcast<f32>(khal.push[0].x);
    let h_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 1u;
    let i = khal_global_id.x;
    let at = (h_first + i) << 1u;
    let at_2 = (h_first + i) << 1u;
    let shift = (at_2 & 3u) << 3u;
    atomicXor(&h[at_2 >> 2u], (atomicLoad(&h[at_2 >> 2u]) ^ (khal_float_to_half(khal_round_half(khal_half_to_float((atomicLoad(&h[at >> 2u]) >> ((at & 3u) << 3u)) & 65535u) * scale)) << shift)) & (65535u << shift));
}

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

@group(0) @binding(1) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// sum, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 2>,
    locals: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 1>,
}

const weights: array<f32, 5> = array<f32, 5>(0.0625f, 0.25f, 0.375f, 0.25f, -0.0f);

override khal_local_0: u32 = 1u;
var<workgroup> part: array<f32, khal_local_0>;

@group(0) @binding(0) var<storage, read> in: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> rounds: array<u32>;

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

@compute @workgroup_size(64, 1, 1)
fn sum(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    let khal_global_id = khal_group_id * vec3<u32>(64, 1, 1) + khal_local_id;
    if (!khal_is_plain && any(khal_group_id >= khal.group_count)) {
        return;
    }
    var running = true;
    let n = khal.push[0].x;
    let out_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let rounds_first = select(khal.slices[1].x, 0u, khal_is_plain) >> 2u;
    let in_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let item = khal_local_id.x;
    if (khal_global_id.x >= n) {
        running = false;
    } else {
        part[item] = in[in_first + khal_global_id.x];
    }
    for (var r = 0u; r < rounds[rounds_first + khal_group_id.x]; r += 1u) {
        workgroupBarrier();
        if (running) {
            part[item] = part[item ^ 1u] + weights[r % 5u];
        }
    }
    workgroupBarrier();
    storageBarrier();
    if (running) {
        if (item == 0u) {
            out[out_first + khal_group_id.x] = part[0u];
        }
    }
}

@group(0) @binding(3) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// count, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 2>,
    push: array<vec4<u32>, 1>,
}

@group(0) @binding(0) var<storage, read_write> bins: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> last: array<atomic<i32>>;

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

override khal_size_x: u32 = 1u;
override khal_size_y: u32 = 1u;
override khal_size_z: u32 = 1u;

@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)
fn count(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    var limits = array<f32, 2>(khal_f32(0xff800000u), khal_f32(0x7f800000u));
    let n = khal.push[0].x;
    let last_first = select(khal.slices[1].x, 0u, khal_is_plain) >> 2u;
    let bins_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let x_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let i = khal_global_id.x;
    if (i >= n) {
        return;
    }
    var khal_t1: u32;
    if (x[x_first + i] < limits[0]) {
        khal_t1 = 0u;
    } else {
        var khal_t2: u32;
        if (!(x[x_first + i] == x[x_first + i])) {
            khal_t2 = 1u;
        } else {
            khal_t2 = u32(min(max(x[x_first + i], 0.0f), 15.0f));
        }
        khal_t1 = khal_t2;
    }
    let bin = khal_t1;
    let old = atomicAdd(&bins[bins_first + bin], 1u);
    let old_2 = old;
    var old_3: i32;
    let khal_t3 = i32(i);
    let khal_t4 = last_first + bin;
    loop { // again where it fails for no reason
        let khal_t5 = atomicCompareExchangeWeak(&last[khal_t4], -1, khal_t3);
        old_3 = khal_t5.old_value;
        if (khal_t5.exchanged || khal_t5.old_value != -1) {
            break;
        }
    }
    if (old_3 != -1) {
        atomicMax(&last[last_first + bin], i32(old_2 / n));
    }
}

// What no const-expression may be: a NaN or an infinity.
fn khal_f32(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

@group(0) @binding(3) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// flow, of wgsl.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 1>,
}

@group(0) @binding(0) var<storage, read_write> p: array<i32>;
@group(0) @binding(1) var<storage, read_write> v: array<i32>;

fn digit(c_in: i32) -> i32 {
    var c = c_in;
    let chosen = c;
    switch (chosen) {
        case 97, 65, 98: {
            if (chosen == 97 || chosen == 65) {
                c = 10;
            }
            return c + 1;
        }
        case 0: {
        }
        default: {
            return -1;
        }
    }
    return (c << 8u) >> (u32(c) & 31u);
}

override khal_is_plain: bool = false;
override khal_is_exact: bool = false;

fn khal_logical_group(g: vec3<u32>) -> vec3<u32> {
    if (khal_is_plain) {
        return g;
    }
    let f = khal.fold;
    if (f.y * f.w == 1u) {
        return vec3<u32>(g.xy, khal.base_z + g.z);
    }
    return vec3<u32>(g.x + f.x * (g.z % f.y), g.y + f.z * (g.z / f.y % f.w), khal.base_z + g.z / (f.y * f.w));
}

override khal_size_x: u32 = 1u;
override khal_size_y: u32 = 1u;
override khal_size_z: u32 = 1u;

@compute @workgroup_size(khal_size_x, khal_size_y, khal_size_z)
fn flow(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    var n = bitcast<i32>(khal.push[0].x);
    let v_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let p_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let i = i32(khal_global_id.x);
    var sum = 0;
    loop {
        if (p[p_first + u32(i)] == 3) {
            continue;
        }
        let digit_2 = digit(p[p_first + u32(i)]);
        sum += digit_2;
        continuing {
            let t = n - 1;
            n = t;
            break if t <= 0;
        }
    }
    loop {
        for (var k = 0; k < 4; k += 1) {
            if (v[v_first + (u32(i) * 4u + u32(k))] == 0) {
                break;
            }
            let khal_t1 = v[v_first + (u32(i) * 4u + u32(k))];
            sum += khal_t1 - khal_t1 / n * n;
        }
        if (sum > 10) {
            break;
        }
        sum += 1;
    }
    let at = v_first + u32(i) * 4u;
    let at_2 = v_first + u32(i) * 4u;
    let at_3 = v_first + u32(i) * 4u;
    let value = vec2<i32>(v[at + 2u], v[at]) + vec2<i32>(sum, -sum) * select(vec2<i32>(0), vec2<i32>(-1), vec2<i32>(v[at_2 + 1u], v[at_2 + 3u]) > vec2<i32>(v[at_3 + 3u], v[at_3 + 1u]));
    let at_4 = v_first + u32(i) * 4u;
    v[at_4] = value.x;
    v[at_4 + 2u] = value.y;
    let at_5 = v_first + u32(i) * 4u;
    var khal_t2: i32;
    if (sum != 0) {
        khal_t2 = select(0, 1, all(bitcast<vec4<i32>>(vec4<i32>(v[at_5], v[at_5 + 1u], v[at_5 + 2u], v[at_5 + 3u])) < vec4<i32>()));
    } else {
        var khal_t3 = -1;
        khal_t2 = -2147483648 / khal_t3;
    }
    p[p_first + u32(i)] = khal_t2;
}

@group(0) @binding(2) var<uniform> khal: khal_block;
