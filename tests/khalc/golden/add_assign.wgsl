// add_assign, of add_assign.cl

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
@group(0) @binding(1) var<storage, read> b: array<f32>;

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
fn add_assign(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    var khal_local_size = vec3<u32>(khal_size_x, khal_size_y, khal_size_z);
    let khal_global_id = khal_group_id * khal_local_size + khal_local_id;
    if (!khal_is_exact && any(khal_global_id >= khal.global_size)) {
        return;
    }
    let n = khal.push[0].x;
    let b_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let a_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    let i = khal_global_id.x;
    if (i < n) {
        a[a_first + i] += b[b_first + i];
    }
}

@group(0) @binding(2) var<uniform> khal: khal_block;
