// constants, of hazards.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 2>,
}

@group(0) @binding(0) var<storage, read_write> p: array<i32>;
@group(0) @binding(1) var<storage, read_write> u: array<u32>;
@group(0) @binding(2) var<storage, read_write> f: array<f32>;

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
fn constants(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let f_first = select(khal.slices[1].x, 0u, khal_is_plain) >> 2u;
    let u_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let p_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    var zero = 0;
    var most = 2147483647;
    var least = -2147483648;
    p[p_first] = 7 / zero;
    var khal_t1 = 5;
    p[p_first + 1u] = least / -1 + (least - least / -1 * -1) + (khal_t1 - khal_t1 / zero * zero);
    p[p_first + 2u] = most + 1;
    p[p_first + 3u] = -least;
    p[p_first + 4u] = -2147483648;
    p[p_first + 5u] = 128;
    var khal_t2 = 3e+10f;
    p[p_first + 6u] = i32(khal_t2) + i32(khal_f32(0x7fffffffu));
    p[p_first + 7u] = i32(bitcast<u32>(abs(least)));
    var khal_t3 = -1.5f;
    var khal_t4 = 1e+20f;
    u[u_first] = 4294967295u + u32(khal_t3) + u32(khal_t4);
    u[u_first + 1u] = 1u / u32(zero);
    var khal_t5 = -0.0f;
    u[u_first + 2u] = 1069547520u + bitcast<u32>(khal_t5);
    var khal_t6 = 0x1.fffffep+127f;
    f[f_first] = khal_t6 * 2.0f;
    var khal_t7 = 0.0f;
    f[f_first + 1u] = khal_t7 / 0.0f;
    f[f_first + 2u] = khal_f32(0x7fc00001u) + 1e-45f;
    var khal_t8 = -2.0f;
    var khal_t9 = -1.0f;
    f[f_first + 3u] = khal_sqrt(-1.0f) + khal_log(0.0f) + sqrt(khal_t8) + log(khal_t9);
    f[f_first + 4u] = select(-khal_f32(0x7f800000u), khal_f32(0x7f800000u), !(khal_f32(0x7fffffffu) == khal_f32(0x7fffffffu)));
    var khal_t10 = 1e-45f;
    f[f_first + 5u] = khal_t10 * 0.5f + 1.1754944e-38f;
    f[f_first + 6u] = min(max(f[f_first + 5u], 2.0f), 1.0f);
    var khal_t11 = 16777217;
    var khal_t12 = 4294967295u;
    f[f_first + 7u] = -2.1474836e+09f + f32(khal_t11) + f32(khal_t12);
    var khal_t13 = 1.0f;
    f[f_first + 8u] = khal_ldexp(1.0f, 300) + khal_t13 / 0.0f;
}

// What no const-expression may be: a NaN or an infinity.
fn khal_f32(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

// f and e of a positive number's bits.
fn khal_log_parts(b: u32) -> vec2<f32> {
    let tiny = b < 0x00800000u;
    let c = bitcast<i32>(select(b, bitcast<u32>(f32(b)), tiny));
    let e = (c - 0x3f3504f3) >> 23u;
    return vec2<f32>(bitcast<f32>(c - (e << 23u)) - 1.0, f32(e - select(0, 149, tiny)));
}

// log(1 + f) - f
fn khal_log_rest(f: f32) -> f32 {
    return f * f * (f * (0.3333333 + f * (-0.25000823 + f * (0.20001225 + f * (-0.16623293 + f * (0.14201736 + f * (-0.13160843 + f * (0.12762068 - f * 0.07633272))))))) - 0.5);
}

// y where x, whose bits are given, is positive and finite; else what any logarithm gives.
fn khal_log_or_special(y: f32, b: u32) -> f32 {
    if (b - 1u < 0x7f7fffffu) {
        return y;
    }
    if ((b << 1u) == 0u) {
        return khal_infinity(0x80000000u);
    }
    return select(khal_nan(0u), khal_infinity(0u), b == 0x7f800000u);
}

fn khal_log(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let parts = khal_log_parts(b);
    let rest = khal_log_rest(parts.x) + parts.y * 1.4286068e-6;
    return khal_log_or_special((parts.x + rest) + parts.y * 0.693145751953125, b);
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

// x * 2^64, for x up to 2^63 and denormals as well.
fn khal_grow(x: f32) -> f32 {
    let b = khal_magnitude(x);
    return khal_copysign(select(abs(x) * 0x1p64, f32(b) * 0x1p-85, b < 0x00800000u), x);
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

// sqrt(x), almost correctly rounded, for x = 0 and x from 2^-80 up.
fn khal_root(x: f32) -> f32 {
    let r = inverseSqrt(x);
    let y = min(x * r, 0x1.fffffep63);
    let head = khal_head(y);
    let tail = y - head;
    let rest = ((x - head * head) - (head + head) * tail) - tail * tail;
    return select(y + 0.5 * rest * r, x, x == 0.0);
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

@group(0) @binding(3) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// places, of hazards.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    locals: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 1>,
}

const table: array<i32, 4> = array<i32, 4>(1, 2, 3, 4);
const axes: array<vec3<f32>, 2> = array<vec3<f32>, 2>(vec3<f32>(1.0f, 0.0f, 0.0f), vec3<f32>(0.0f, -0.0f, 1.0f));

override khal_local_0: u32 = 1u;
var<workgroup> of_any_size: array<i32, khal_local_0>;

@group(0) @binding(0) var<storage, read_write> p: array<i32>;
@group(0) @binding(1) var<storage, read_write> f: array<f32>;

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
fn places(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    var special = array<f32, 3>(khal_f32(0x7f800000u), khal_f32(0xff800000u), 1e-45f);
    let i = bitcast<i32>(khal.push[0].x);
    let f_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let p_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    of_any_size[0u] = i;
    var khal_t1 = 3u;
    of_any_size[khal_t1] = p[p_first + 7u];
    var small = array<i32, 4>(1, 2, 3, 4);
    var v: array<i32, 4>;
    var value = vec4<i32>(1, 2, 3, 4);
    v[0u] = value.x;
    v[1u] = value.y;
    v[2u] = value.z;
    v[3u] = value.w;
    p[p_first] = table[i] + table[3];
    f[f_first] = special[i] + special[0] + axes[i].y + axes[1].z;
    if (i > 100) {
        var khal_t2 = 7;
        var khal_t3 = 9;
        p[p_first + 1u] = small[khal_t2] + small[i] + table[khal_t3];
        var khal_t4 = 5;
        small[khal_t4] = i;
    }
    v[u32(i)] = 5;
    p[p_first + 2u] = v[2u] + small[i] + v[3u];
    let value_2 = vec2<i32>(v[1u], v[0u]);
    v[0u] = value_2.x;
    v[1u] = value_2.y;
    let value_3 = vec4<i32>(v[0u], v[1u], v[2u], v[3u]);
    v[3u] = value_3.x;
    v[2u] = value_3.y;
    v[1u] = value_3.z;
    v[0u] = value_3.w;
    p[p_first + 3u] = v[0u] * 1000 + v[1u] * 100 + v[3u];
}

// What no const-expression may be: a NaN or an infinity.
fn khal_f32(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

@group(0) @binding(2) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// flow, of hazards.cl

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

fn no_way_back(i_in: i32) -> i32 {
    var i = i_in;
    loop {
        let t = i;
        i = t + 1;
        if (t > 3) {
            return i;
        }
    }
    return 0;
}

fn both_ways(i: i32) -> i32 {
    if (i != 0) {
        return 1;
    } else {
        return 2;
    }
}

fn by_choice(i: i32) -> i32 {
    switch (i) {
        case 0: {
            return 5;
        }
        default: {
            return 6;
        }
    }
    return 0;
}

fn nothing(i_in: i32) {
    var i = i_in;
    i += 1;
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
    let n = bitcast<i32>(khal.push[0].x);
    let p_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let i = i32(khal_global_id.x);
    nothing(i);
    no_way_back(n);
    let both_ways_2 = both_ways(n);
    let by_choice_2 = by_choice(n);
    let no_way_back_2 = no_way_back(i);
    p[p_first] = both_ways_2 + by_choice_2 + no_way_back_2;
    while (n > 3) {
        if (p[p_first + 1u] != 0) {
            continue;
        }
        break;
    }
    loop {
        p[p_first + 2u] += 1;
        continuing {
            break if !false;
        }
    }
    var k = 0;
    var m = n;
    loop {
        if (k >= m) {
            break;
        }
        switch (p[p_first + u32(k)]) {
            case 1: {
                if (m > 3) {
                    continue;
                }
            }
            case -1: {
                return;
            }
            default: {}
        }
        var khal_t1: i32;
        if (n != 0 && p[p_first + u32(k)] != 0) {
            khal_t1 = i32(p[p_first + u32(k)] != 0 || m != 0);
        } else {
            khal_t1 = -(-k);
        }
        p[p_first + u32(k)] = khal_t1;
        continuing {
            k += 1;
            m -= 1;
        }
    }
    if (n == 12345) {
        var forever = true;
        while (forever) {
        }
    }
}

@group(0) @binding(1) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// depth, of hazards.cl

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
fn depth(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let a = bitcast<i32>(khal.push[0].x);
    let p_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    var x = a;
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x *= a + (x - (a ^ (x | (a & x))));
    x = (((x * a + p[p_first + u32(x & 1)]) * a + p[p_first + u32((x * a + p[p_first + u32(x & 1)]) & 1)]) * a + p[p_first + u32(((x * a + p[p_first + u32(x & 1)]) * a + p[p_first + u32((x * a + p[p_first + u32(x & 1)]) & 1)]) & 1)]) * a + p[p_first + u32((((x * a + p[p_first + u32(x & 1)]) * a + p[p_first + u32((x * a + p[p_first + u32(x & 1)]) & 1)]) * a + p[p_first + u32(((x * a + p[p_first + u32(x & 1)]) * a + p[p_first + u32((x * a + p[p_first + u32(x & 1)]) & 1)]) & 1)]) & 1)];
    var khal_t1 = false;
    if (x < 3) {
        x = 4;
    } else if (x == 10) {
        x = 70;
    } else if (x == 11) {
        x = 77;
    } else if (x == 12) {
        x = 84;
    } else if (x == 13) {
        x = 91;
    } else if (x == 14) {
        x = 98;
    } else if (x == 15) {
        x = 105;
    } else if (x == 16) {
        x = 112;
    } else if (x == 17) {
        x = 119;
    } else if (x == 18) {
        x = 126;
    } else if (x == 19) {
        x = 133;
    } else if (x == 20) {
        x = 140;
    } else if (x == 21) {
        x = 147;
    } else if (x == 22) {
        x = 154;
    } else if (x == 23) {
        x = 161;
    } else if (x == 24) {
        x = 168;
    } else if (x == 25) {
        x = 175;
    } else if (x == 26) {
        x = 182;
    } else if (x == 27) {
        x = 189;
    } else if (x == 28) {
        x = 196;
    } else if (x == 29) {
        x = 203;
    } else if (x == 30) {
        x = 210;
    } else if (x == 31) {
        x = 217;
    } else if (x == 32) {
        x = 224;
    } else if (x == 33) {
        x = 231;
    } else if (x == 34) {
        x = 238;
    } else if (x == 35) {
        x = 245;
    } else if (x == 36) {
        x = 252;
    } else if (x == 37) {
        x = 259;
    } else if (x == 38) {
        x = 266;
    } else if (x == 39) {
        x = 273;
    } else {
        khal_t1 = true;
    }
    if (khal_t1) {
        var khal_t2 = false;
        if (x == 40) {
            x = 280;
        } else if (x == 41) {
            x = 287;
        } else if (x == 42) {
            x = 294;
        } else if (x == 43) {
            x = 301;
        } else if (x == 44) {
            x = 308;
        } else if (x == 45) {
            x = 315;
        } else if (x == 46) {
            x = 322;
        } else if (x == 47) {
            x = 329;
        } else if (x == 48) {
            x = 336;
        } else if (x == 49) {
            x = 343;
        } else if (x == 50) {
            x = 350;
        } else if (x == 51) {
            x = 357;
        } else if (x == 52) {
            x = 364;
        } else if (x == 53) {
            x = 371;
        } else if (x == 54) {
            x = 378;
        } else if (x == 55) {
            x = 385;
        } else if (x == 56) {
            x = 392;
        } else if (x == 57) {
            x = 399;
        } else if (x == 58) {
            x = 406;
        } else if (x == 59) {
            x = 413;
        } else if (x == 60) {
            x = 420;
        } else if (x == 61) {
            x = 427;
        } else if (x == 62) {
            x = 434;
        } else if (x == 63) {
            x = 441;
        } else if (x == 64) {
            x = 448;
        } else if (x == 65) {
            x = 455;
        } else if (x == 66) {
            x = 462;
        } else if (x == 67) {
            x = 469;
        } else if (x == 68) {
            x = 476;
        } else if (x == 69) {
            x = 483;
        } else if (x == 70) {
            x = 490;
        } else {
            khal_t2 = true;
        }
        if (khal_t2) {
            if (x == 71) {
                x = 497;
            } else if (x == 72) {
                x = 504;
            } else if (x == 73) {
                x = 511;
            } else if (x == 74) {
                x = 518;
            } else if (x == 75) {
                x = 525;
            } else if (x == 76) {
                x = 532;
            } else if (x == 77) {
                x = 539;
            } else if (x == 78) {
                x = 546;
            } else if (x == 79) {
                x = 553;
            }
        }
    }
    p[p_first + 3u] = x;
}

@group(0) @binding(1) var<uniform> khal: khal_block;

// ----------------------------------------------------------------

// quotients, of hazards.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 1>,
}

@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<vec4<f32>>;

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
fn quotients(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let n = bitcast<f32>(khal.push[0].x);
    let b_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 4u;
    let a_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    a[a_first] = khal_quotient(a[a_first + 1u], n);
    a[a_first + 2u] = 1.0f / n + n / 3.0f;
    b[b_first] = khal_quotient_v4(b[b_first + 1u], vec4<f32>(n));
    b[b_first + 2u] = vec4<f32>(0.5f) / b[b_first + 3u];
}

// x / y for every y: WGSL promises it up to 2^126 only. The scales are powers of two.
fn khal_quotient(x: f32, y: f32) -> f32 {
    let scale = select(1.0, 0.125, abs(y) > 0x1p125);
    return x * scale / (y * scale);
}

fn khal_quotient_v4(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    let scale = select(vec4<f32>(1.0), vec4<f32>(0.125), abs(y) > vec4<f32>(0x1p125));
    return x * scale / (y * scale);
}

@group(0) @binding(2) var<uniform> khal: khal_block;
