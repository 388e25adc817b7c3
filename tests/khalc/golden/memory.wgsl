// memory, of memory.cl

struct khal_block {
    group_count: vec3<u32>,
    work_dim: u32,
    global_size: vec3<u32>,
    base_z: u32,
    fold: vec4<u32>,
    slices: array<vec4<u32>, 1>,
    locals: array<vec4<u32>, 1>,
    push: array<vec4<u32>, 2>,
}

const weights: array<array<f32, 3>, 2> = array<array<f32, 3>, 2>(array<f32, 3>(0.25f, 0.5f, 0.25f), array<f32, 3>(1.0f, 2.0f, 0.0f));

override khal_local_0: u32 = 1u;
var<workgroup> sums: array<f32, 2>;
var<workgroup> tile: array<f32, khal_local_0>;

@group(0) @binding(0) var<storage, read_write> particles: array<u32>;
@group(0) @binding(1) var<storage, read> order: array<i32>;

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
fn memory(@builtin(workgroup_id) khal_workgroup_id: vec3<u32>, @builtin(local_invocation_id) khal_local_id: vec3<u32>) {
    let khal_group_id = khal_logical_group(khal_workgroup_id);
    let khal_global_id = khal_group_id * vec3<u32>(64, 1, 1) + khal_local_id;
    if (!khal_is_plain && any(khal_group_id >= khal.group_count)) {
        return;
    }
    var first: array<u32, 8>;
    first[0u] = khal.push[0].x;
    first[1u] = khal.push[0].y;
    first[2u] = khal.push[0].z;
    first[3u] = khal.push[0].w;
    first[4u] = khal.push[1].x;
    first[5u] = khal.push[1].y;
    first[6u] = khal.push[1].z;
    first[7u] = khal.push[1].w;
    let order_first = select(khal.slices[0].z, 0u, khal_is_plain) >> 2u;
    let particles_first = select(khal.slices[0].x, 0u, khal_is_plain) >> 2u;
    var private_array = array<i32, 4>(1, 2, 0, 0);
    let l = khal_local_id.x;
    let mine = khal_global_id.x;
    tile[l] = bitcast<f32>(particles[particles_first + mine * 8u]) * weights[1][l % 3u];
    workgroupBarrier();
    if (l == 0u) {
        var sum_of: f32;
        var p = 1u;
        var n = 63;
        var s = 0.0f;
        loop {
            let t = n;
            n = t - 1;
            if (t <= 0) {
                break;
            }
            let t_2 = p;
            p = t_2 + 1u;
            s += tile[t_2];
        }
        sum_of = s;
        sums[order[order_first] & 1] = sum_of;
    }
    workgroupBarrier();
    storageBarrier();
    private_array[l & 3u] += i32(mine * 8u) / 8;
    let at = mine;
    let value = vec4<f32>(bitcast<f32>(first[0u]), bitcast<f32>(first[1u]), bitcast<f32>(first[2u]), bitcast<f32>(first[3u]));
    let at_2 = particles_first + at * 8u;
    particles[at_2] = bitcast<u32>(value.x);
    particles[at_2 + 1u] = bitcast<u32>(value.y);
    particles[at_2 + 2u] = bitcast<u32>(value.z);
    particles[at_2 + 3u] = bitcast<u32>(value.w);
    let at_3 = at;
    let at_4 = at_3;
    let at_5 = particles_first + at_4 * 8u;
    particles[at_5 + 4u] = first[4u];
    let at_6 = at_3;
    let at_7 = particles_first + at_6 * 8u;
    particles[at_7 + 5u] = first[5u];
    particles[particles_first + (mine * 8u + u32(private_array[1] & 1)) + 4u] = bitcast<u32>(sums[0]);
}

@group(0) @binding(2) var<uniform> khal: khal_block;
