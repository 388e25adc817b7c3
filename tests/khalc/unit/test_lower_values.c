/* Vectors of many lanes, halves, narrow and 64-bit integers, as lowering leaves them. */
#include "build_ir.h"
#include "lower.h"

static const kc_target nothing = {.name = "nothing"};

static const kc_type* vec(const kc_type* lane, uint32_t count)
{
    return kc_type_vector(ir.m, lane, count);
}

static const kc_type* integer(uint32_t width, bool is_signed)
{
    return kc_type_int(ir.m, width, is_signed);
}

static const kc_type* half(void)
{
    return kc_type_float(ir.m, 16);
}

static kc_expr* convert(const kc_type* to, kc_expr* e)
{
    return kc_ex_convert(ir.m, to, e, KC_ROUND_DEFAULT, false);
}

static kc_expr* builtin(kc_builtin id, const kc_type* t, uint32_t count, kc_expr** args)
{
    return kc_ex_builtin(ir.m, id, t, count, args);
}

static kc_expr* lanes(kc_var* v, uint32_t count, const uint8_t* index)
{
    return kc_ex_lanes(ir.m, kc_ex_var(ir.m, v), count, index);
}

#define LANES(...) sizeof((uint8_t[]){__VA_ARGS__}), (uint8_t[]){__VA_ARGS__}

/* What the four passes make of the module, each verified. */
static void expect_lowered(const char* expected)
{
    bool (*const passes[])(kc_module*, const kc_target*) = {kc_lower_vectors, kc_lower_half, kc_lower_narrow,
                                                            kc_lower_int64};
    assert_true(kc_verify_module(ir.m));
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        assert_true(passes[i](ir.m, &nothing));
        assert_true(kc_verify_module(ir.m));
    }
    expect_text(expected);
}

/* ---- vectors */

static void wide_vectors_are_arrays_of_parts(void** state)
{
    (void)state;
    const kc_type* f32x8 = vec(ir.f32, 8);
    helper("f", f32x8);
    kc_var* a = param("a", f32x8);
    kc_var* b = param("b", f32x8);
    kc_expr* low = kc_ex_swizzle(ir.m, get(b), LANES(1, 0, 7, 6));
    kc_var* c = declare("c", f32x8, kc_ex_list(ir.m, KC_EX_COMPOSE, f32x8, ARGS(low, kc_ex_splat(ir.m, ir.f32x4, real(2)))));
    kc_expr* is_less = kc_ex_binary(ir.m, KC_OP_LT, get(a), get(c));
    declare("m", vec(ir.i32, 8), is_less);
    give_back(binary(KC_OP_ADD, get(a), binary(KC_OP_MUL, get(b), get(c))));
    expect_lowered("\n"
                   "function f(a: float4[2], b: float4[2]) -> float4[2] {\n"
                   "    let c: float4[2] = float4[2]{float4((b[0u]).yx, (b[1u]).wz), splat<float4>(2.0f)}\n"
                   "    let m: int4[2] = int4[2]{a[0u] < c[0u], a[1u] < c[1u]}\n"
                   "    return float4[2]{a[0u] + (b[0u] * c[0u]), a[1u] + (b[1u] * c[1u])}\n"
                   "}\n");
}

static void lanes_of_parts_are_assigned_after_all_are_computed(void** state)
{
    (void)state;
    helper("f", ir.none);
    kc_var* a = declare("a", vec(ir.i32, 8), NULL);
    kc_var* i = param("i", ir.i32);
    store(lanes(a, LANES(1, 6)), kc_ex_load(ir.m, lanes(a, LANES(6, 1))));
    store(lanes(a, LANES(4, 5, 6, 7)), kc_ex_load(ir.m, lanes(a, LANES(0, 1, 2, 3))));
    store(lanes(a, LANES(5)), number(1));
    store(kc_ex_index(ir.m, kc_ex_var(ir.m, a), binary(KC_OP_ADD, get(i), number(1))), number(2));
    expect_lowered("\n"
                   "function f(i: int) {\n"
                   "    var a: int4[2]\n"
                   "    let t#3: int = (a[1u]).z\n"
                   "    let t#4: int = (a[0u]).y\n"
                   "    a[0u].y = t#3\n"
                   "    a[1u].z = t#4\n"
                   "    a[1u] = a[0u]\n"
                   "    a[1u].y = 1\n"
                   "    let t#5: int = i + 1\n"
                   "    a[t#5 >> 2][t#5 & 3] = 2\n"
                   "}\n");
}

static void what_is_not_always_evaluated_stays_so(void** state)
{
    (void)state;
    const kc_type* i32x8 = vec(ir.i32, 8);
    helper("f", ir.boolean);
    kc_var* c = param("c", ir.boolean);
    kc_var* a = param("a", i32x8);
    kc_var* b = param("b", vec(ir.u32, 8));
    kc_expr* shuffled = builtin(KC_BUILTIN_SHUFFLE, i32x8, ARGS(get(a), get(b)));
    kc_expr* all = builtin(KC_BUILTIN_ALL, ir.i32, ARGS(kc_ex_select(ir.m, get(c), get(a), shuffled)));
    give_back(binary(KC_OP_LOGICAL_OR, get(c), binary(KC_OP_EQ, all, number(0))));
    expect_lowered("\n"
                   "function f(c: bool, a: int4[2], b: uint4[2]) -> bool {\n"
                   "    var t#13: bool\n"
                   "    if c {\n"
                   "        t#13 = true\n"
                   "    } else {\n"
                   "        var t#12: int4[2]\n"
                   "        if c {\n"
                   "            t#12 = a\n"
                   "        } else {\n"
                   "            let t#4: uint = (b[0u]).x & 7u\n"
                   "            let t#5: uint = (b[0u]).y & 7u\n"
                   "            let t#6: uint = (b[0u]).z & 7u\n"
                   "            let t#7: uint = (b[0u]).w & 7u\n"
                   "            let t#8: uint = (b[1u]).x & 7u\n"
                   "            let t#9: uint = (b[1u]).y & 7u\n"
                   "            let t#10: uint = (b[1u]).z & 7u\n"
                   "            let t#11: uint = (b[1u]).w & 7u\n"
                   "            t#12 = int4[2]{int4(a[t#4 >> 2u][t#4 & 3u], a[t#5 >> 2u][t#5 & 3u], a[t#6 >> 2u][t#6 & 3u], a[t#7 >> 2u][t#7 & 3u]), int4(a[t#8 >> 2u][t#8 & 3u], a[t#9 >> 2u][t#9 & 3u], a[t#10 >> 2u][t#10 & 3u], a[t#11 >> 2u][t#11 & 3u])}\n"
                   "        }\n"
                   "        t#13 = all(t#12[0u] & t#12[1u]) == 0\n"
                   "    }\n"
                   "    return t#13\n"
                   "}\n");
}

static void conditions_of_loops_are_computed_in_each_turn(void** state)
{
    (void)state;
    helper("f", ir.none);
    kc_var* a = param("a", vec(ir.i32, 8));
    kc_var* b = param("b", vec(integer(32, false), 8));
    kc_expr* shuffled = builtin(KC_BUILTIN_SHUFFLE, vec(ir.i32, 2), ARGS(get(a), kc_ex_swizzle(ir.m, get(b), LANES(0, 1))));
    enter_loop(binary(KC_OP_NE, builtin(KC_BUILTIN_ANY, ir.i32, ARGS(shuffled)), number(0)));
    store(lanes(b, LANES(0)), kc_ex_const_int(ir.m, ir.u32, 3));
    leave();
    expect_lowered("\n"
                   "function f(a: int4[2], b: uint4[2]) {\n"
                   "    loop head {\n"
                   "        let t#3: uint = (b[0u]).x & 7u\n"
                   "        let t#4: uint = (b[0u]).y & 7u\n"
                   "    } while any(int2(a[t#3 >> 2u][t#3 & 3u], a[t#4 >> 2u][t#4 & 3u])) != 0 {\n"
                   "        b[0u].x = 3u\n"
                   "    }\n"
                   "}\n");
}

static void bitcasts_between_shapes_go_through_words(void** state)
{
    (void)state;
    helper("f", vec(integer(64, true), 2));
    kc_var* a = param("a", vec(integer(8, false), 16));
    give_back(kc_ex_bitcast(ir.m, vec(integer(64, true), 2), get(a)));
    helper("g", vec(integer(16, true), 8));
    kc_var* b = param("b", ir.f32x4);
    give_back(kc_ex_bitcast(ir.m, vec(integer(16, true), 8), get(b)));
    expect_lowered("\n"
                   "function f(a: uint4[4]) -> uint2[2] {\n"
                   "    return uint2[2]{uint2((((a[0u]).x | ((a[0u]).y << 8u)) | ((a[0u]).z << 16u)) | ((a[0u]).w << 24u), (((a[1u]).x | ((a[1u]).y << 8u)) | ((a[1u]).z << 16u)) | ((a[1u]).w << 24u)), uint2((((a[2u]).x | ((a[2u]).y << 8u)) | ((a[2u]).z << 16u)) | ((a[2u]).w << 24u), (((a[3u]).x | ((a[3u]).y << 8u)) | ((a[3u]).z << 16u)) | ((a[3u]).w << 24u))}\n"
                   "}\n"
                   "\n"
                   "function g(b: float4) -> int4[2] {\n"
                   "    return int4[2]{(bitcast<int4>(bitcast<uint4>(b).xxyy) << uint4(16u, 0u, 16u, 0u)) >> splat<uint4>(16u), (bitcast<int4>(bitcast<uint4>(b).zzww) << uint4(16u, 0u, 16u, 0u)) >> splat<uint4>(16u)}\n"
                   "}\n");
}

static void select_of_64_bits_looks_at_the_top_bit(void** state)
{
    (void)state;
    const kc_type* i64x2 = vec(integer(64, true), 2);
    helper("f", i64x2);
    kc_var* a = param("a", i64x2);
    kc_var* b = param("b", i64x2);
    kc_var* c = param("c", i64x2);
    declare("d", i64x2, builtin(KC_BUILTIN_SELECT, i64x2, ARGS(get(a), get(b), binary(KC_OP_GT, get(a), get(c)))));
    give_back(builtin(KC_BUILTIN_SELECT, i64x2, ARGS(get(a), get(b), get(c))));
    expect_lowered("\n"
                   "function f(a: uint2[2], b: uint2[2], c: uint2[2]) -> uint2[2] {\n"
                   "    let d: uint2[2] = uint2[2]{i64_lt(c[0u], a[0u]) ? b[0u] : a[0u], i64_lt(c[1u], a[1u]) ? b[1u] : a[1u]}\n"
                   "    return uint2[2]{(bitcast<int>((c[0u]).y) < 0) ? b[0u] : a[0u], (bitcast<int>((c[1u]).y) < 0) ? b[1u] : a[1u]}\n"
                   "}\n");
}

/* ---- halves */

static void halves_are_rounded_after_each_operation(void** state)
{
    (void)state;
    helper("f", half());
    kc_var* a = param("a", half());
    kc_var* b = param("b", half());
    kc_expr* sum = binary(KC_OP_ADD, binary(KC_OP_MUL, get(a), get(b)), kc_ex_const_float(ir.m, half(), 1.5));
    declare("c", ir.boolean, binary(KC_OP_LT, get(a), get(b)));
    declare("d", half(), builtin(KC_BUILTIN_FABS, half(), ARGS(get(a))));
    declare("e", half(), builtin(KC_BUILTIN_EXP, half(), ARGS(get(a))));
    give_back(binary(KC_OP_DIV, sum, get(b)));
    expect_lowered("\n"
                   "function f(a: float, b: float) -> float {\n"
                   "    let c: bool = a < b\n"
                   "    let d: float = fabs(a)\n"
                   "    let e: float = round_half(exp(a))\n"
                   "    return half_div(round_half(round_half(a * b) + 1.5f), b)\n"
                   "}\n");
}

static void conversions_to_half_round_once(void** state)
{
    (void)state;
    helper("f", half());
    kc_var* i = param("i", ir.i32);
    kc_var* l = param("l", integer(64, false));
    kc_var* s = param("s", integer(16, true));
    kc_var* x = param("x", ir.f32);
    declare("a", half(), kc_ex_convert(ir.m, half(), get(i), KC_ROUND_UP, false));
    declare("b", half(), convert(half(), get(l)));
    declare("c", half(), convert(half(), get(s)));
    declare("d", half(), convert(half(), real(0.1)));
    declare("e", integer(16, false), kc_ex_bitcast(ir.m, integer(16, false), convert(half(), get(x))));
    give_back(kc_ex_convert(ir.m, half(), get(x), KC_ROUND_ZERO, false));
    expect_lowered("\n"
                   "function f(i: int, l: uint2, s: int, x: float) -> float {\n"
                   "    let a: float = round_half_rtp(convert<float>(clamp(i, -1048576, 1048576)))\n"
                   "    let b: float = round_half(convert<float>(min(u64_to_u32_sat(l), 1048576u)))\n"
                   "    let c: float = round_half(convert<float>(s))\n"
                   "    let d: float = 0.099975586f\n"
                   "    let e: uint = float_to_half(round_half(x))\n"
                   "    return round_half_rtz(x)\n"
                   "}\n");
}

static void masks_of_halves_have_their_width(void** state)
{
    (void)state;
    const kc_type *h4 = vec(half(), 4), *s4 = vec(integer(16, true), 4), *u4 = vec(integer(16, false), 4);
    helper("f", h4);
    kc_var* a = param("a", h4);
    kc_var* b = param("b", h4);
    kc_var* u = param("u", u4);
    declare("m", s4, binary(KC_OP_LT, get(a), get(b)));
    declare("n", s4, builtin(KC_BUILTIN_ISNAN, s4, ARGS(get(a))));
    give_back(builtin(KC_BUILTIN_SELECT, h4, ARGS(get(a), get(b), get(u))));
    expect_lowered("\n"
                   "function f(a: float4, b: float4, u: uint4) -> float4 {\n"
                   "    let m: int4 = a < b\n"
                   "    let n: int4 = isnan(a)\n"
                   "    return select(a, b, (bitcast<int4>(u) << splat<uint4>(16u)) >> splat<uint4>(16u))\n"
                   "}\n");
}

/* ---- narrow integers */

static void narrow_integers_are_wrapped(void** state)
{
    (void)state;
    const kc_type *i8 = integer(8, true), *u16 = integer(16, false);
    helper("f", i8);
    kc_var* a = param("a", i8);
    kc_var* b = param("b", u16);
    declare("c", u16, binary(KC_OP_SUB, get(b), binary(KC_OP_SHL, get(b), get(b))));
    declare("d", u16, binary(KC_OP_XOR, get(b), binary(KC_OP_SHR, get(b), number(18))));
    declare("e", u16, convert(u16, get(a)));
    declare("f", ir.i32, convert(ir.i32, get(b)));
    declare("g", i8, kc_ex_convert(ir.m, i8, get(b), KC_ROUND_DEFAULT, true));
    give_back(binary(KC_OP_MUL, get(a), kc_ex_const_int(ir.m, i8, 200)));
    expect_lowered("\n"
                   "function f(a: int, b: uint) -> int {\n"
                   "    let c: uint = (b - ((b << (b & 15u)) & 65535u)) & 65535u\n"
                   "    let d: uint = b ^ (b >> 2u)\n"
                   "    let e: uint = bitcast<uint>(a) & 65535u\n"
                   "    let f: int = convert<int>(b)\n"
                   "    let g: int = bitcast<int>(min(b, 127u))\n"
                   "    return ((a * -56) << 24u) >> 24u\n"
                   "}\n");
}

static void narrow_builtins_have_narrow_meaning(void** state)
{
    (void)state;
    const kc_type *i8 = integer(8, true), *u16 = integer(16, false), *i16 = integer(16, true);
    helper("f", i8);
    kc_var* a = param("a", i8);
    kc_var* b = param("b", u16);
    declare("c", i8, builtin(KC_BUILTIN_CLZ, i8, ARGS(get(a))));
    declare("d", u16, builtin(KC_BUILTIN_ADD_SAT, u16, ARGS(get(b), get(b))));
    declare("e", u16, builtin(KC_BUILTIN_ROTATE, u16, ARGS(get(b), get(b))));
    declare("g", i16, builtin(KC_BUILTIN_UPSAMPLE, i16, ARGS(get(a), convert(integer(8, false), get(b)))));
    declare("h", ir.i32, builtin(KC_BUILTIN_ANY, ir.i32, ARGS(get(b))));
    give_back(builtin(KC_BUILTIN_MAD_SAT, i8, ARGS(get(a), get(a), get(a))));
    expect_lowered("\n"
                   "function f(a: int, b: uint) -> int {\n"
                   "    let c: int = clz(bitcast<int>(bitcast<uint>(a) & 255u)) - 24\n"
                   "    let d: uint = min(b + b, 65535u)\n"
                   "    let t: uint = b & 15u\n"
                   "    let e: uint = ((b << t) | (b >> (16u - t))) & 65535u\n"
                   "    let g: int = (a << 8u) | bitcast<int>(b & 255u)\n"
                   "    let h: int = any(b << 16u)\n"
                   "    return clamp((a * a) + a, -128, 127)\n"
                   "}\n");
}

static void narrow_lanes_share_words(void** state)
{
    (void)state;
    const kc_type *c4 = vec(integer(8, true), 4), *u3 = vec(integer(16, false), 3);
    helper("f", ir.u32);
    kc_var* a = param("a", c4);
    kc_var* w = param("w", ir.u32);
    kc_var* d = param("d", vec(ir.u32, 2));
    declare("b", c4, kc_ex_bitcast(ir.m, c4, get(w)));
    declare("c", u3, kc_ex_bitcast(ir.m, u3, get(d)));
    declare("e", integer(16, true), kc_ex_bitcast(ir.m, integer(16, true), kc_ex_swizzle(ir.m, get(a), LANES(0, 1))));
    give_back(kc_ex_bitcast(ir.m, ir.u32, get(a)));
    expect_lowered("\n"
                   "function f(a: int4, w: uint, d: uint2) -> uint {\n"
                   "    let b: int4 = (bitcast<int4>(splat<uint4>(w)) << uint4(24u, 16u, 8u, 0u)) >> splat<uint4>(24u)\n"
                   "    let c: uint3 = ((d).xxy >> uint3(0u, 16u, 0u)) & splat<uint3>(65535u)\n"
                   "    let t#7: uint2 = bitcast<uint2>((a).xy) & splat<uint2>(255u)\n"
                   "    let e: int = (bitcast<int>((t#7).x | ((t#7).y << 8u)) << 16u) >> 16u\n"
                   "    let t#8: uint4 = bitcast<uint4>(a) & splat<uint4>(255u)\n"
                   "    return (((t#8).x | ((t#8).y << 8u)) | ((t#8).z << 16u)) | ((t#8).w << 24u)\n"
                   "}\n");
}

/* ---- 64-bit integers */

static void long_integers_are_pairs_of_words(void** state)
{
    (void)state;
    const kc_type *i64 = integer(64, true), *u64 = integer(64, false);
    helper("f", i64);
    kc_var* a = param("a", i64);
    kc_var* b = param("b", u64);
    kc_var* n = param("n", ir.u32);
    declare("c", u64, binary(KC_OP_MUL, convert(u64, get(n)), convert(u64, get(n))));
    declare("d", u64, binary(KC_OP_AND, get(b), kc_ex_const_int(ir.m, u64, UINT64_C(0x123456789))));
    declare("e", u64, binary(KC_OP_SHR, get(b), number(40)));
    declare("g", ir.u32, convert(ir.u32, binary(KC_OP_SHR, get(b), number(32))));
    declare("h", ir.boolean, binary(KC_OP_LT, get(a), kc_ex_const_int(ir.m, i64, 0)));
    declare("i", ir.boolean, binary(KC_OP_LE, get(a), get(a)));
    declare("j", ir.f32, kc_ex_convert(ir.m, ir.f32, get(a), KC_ROUND_DOWN, false));
    declare("k", u64, kc_ex_convert(ir.m, u64, get(a), KC_ROUND_DEFAULT, true));
    declare("l", integer(8, true), kc_ex_convert(ir.m, integer(8, true), get(a), KC_ROUND_DEFAULT, true));
    give_back(binary(KC_OP_DIV, get(a), convert(i64, number(7))));
    expect_lowered("\n"
                   "function f(a: uint2, b: uint2, n: uint) -> uint2 {\n"
                   "    let c: uint2 = u64_mul_wide(n, n)\n"
                   "    let d: uint2 = b & uint2(591751049u, 1u)\n"
                   "    let e: uint2 = uint2((b).y >> 8u, 0u)\n"
                   "    let g: uint = (b).y\n"
                   "    let h: bool = bitcast<int>((a).y) < 0\n"
                   "    let i: bool = !i64_lt(a, a)\n"
                   "    let j: float = i64_to_float_rtn(a)\n"
                   "    let k: uint2 = i64_max(a, splat<uint2>(0u))\n"
                   "    let l: int = clamp(i64_to_i32_sat(a), -128, 127)\n"
                   "    return i64_div(a, uint2(7u, 0u))\n"
                   "}\n");
}

static void switches_on_64_bits_are_on_labels(void** state)
{
    (void)state;
    const kc_type* i64 = integer(64, true);
    helper("f", ir.none);
    kc_var* a = param("a", i64);
    kc_stmt* s = put(KC_ST_SWITCH);
    s->value = get(a);
    s->case_count = 2;
    s->cases = KC_NEW_ARRAY(ir.arena, kc_case, 2);
    s->cases[0] = (kc_case){.value_count = 2, .values = KC_NEW_ARRAY(ir.arena, uint64_t, 2), .falls_through = true};
    s->cases[0].values[0] = UINT64_MAX;
    s->cases[0].values[1] = UINT64_C(1) << 40;
    s->cases[1] = (kc_case){.is_default = true};
    enter(&s->cases[1].body);
    set(a, kc_ex_const_int(ir.m, i64, 5));
    leave();
    expect_lowered("\n"
                   "function f(a: uint2) {\n"
                   "    let t: uint = i64_eq(a, splat<uint2>(4294967295u)) ? 0u : (i64_eq(a, uint2(0u, 256u)) ? 1u : 2u)\n"
                   "    switch t {\n"
                   "    case 0u, 1u {\n"
                   "    } falls\n"
                   "    default {\n"
                   "        a = uint2(5u, 0u)\n"
                   "    }\n"
                   "    }\n"
                   "}\n");
}

static void constants_are_lowered_where_they_stand(void** state)
{
    (void)state;
    const kc_type *h4 = vec(half(), 4), *c4 = vec(integer(8, true), 4), *l2 = vec(integer(64, true), 2);
    kc_expr* numbers[4] = {real(0.1), real(2), real(1e6), real(-1e-8)};
    kc_expr* halves = convert(h4, kc_ex_list(ir.m, KC_EX_COMPOSE, ir.f32x4, 4, numbers));
    kc_constant_add(ir.m, "h", h4, halves, nowhere);
    kc_constant_add(ir.m, "c", c4, convert(c4, kc_ex_splat(ir.m, ir.i32x4, number(200))), nowhere);
    kc_constant_add(ir.m, "l", l2, kc_ex_splat(ir.m, l2, kc_ex_const_int(ir.m, integer(64, true), UINT64_MAX - 1)),
                    nowhere);
    expect_lowered("\n"
                   "constant h: float4 = float4(0.099975586f, 2.0f, bits<float>(0x7f800000), -0.0f)\n"
                   "constant c: int4 = splat<int4>(-56)\n"
                   "constant l: uint2[2] = uint2[2]{uint2(4294967294u, 4294967295u), uint2(4294967294u, 4294967295u)}\n");
}

static void deep_expressions_are_cut(void** state)
{
    (void)state;
    const kc_type* i8 = integer(8, true);
    helper("f", i8);
    kc_var* a = param("a", i8);
    kc_expr* e = get(a);
    for (int i = 0; i < 900; i++)
        e = binary(KC_OP_ADD, e, get(a));
    give_back(e);
    assert_true(kc_verify_module(ir.m));
    assert_true(kc_lower_narrow(ir.m, &nothing));
    assert_true(kc_verify_module(ir.m));
}

static void what_has_no_such_types_stays_the_same(void** state)
{
    (void)state;
    helper("f", ir.f32x4);
    kc_var* a = param("a", ir.f32x4);
    kc_stmt* s = give_back(binary(KC_OP_ADD, get(a), get(a)));
    kc_expr* e = s->value;
    kc_lower_vectors(ir.m, &nothing);
    kc_lower_half(ir.m, &nothing);
    kc_lower_narrow(ir.m, &nothing);
    kc_lower_int64(ir.m, &nothing);
    assert_ptr_equal(s->value, e);
}

static void a_target_keeps_what_it_has(void** state)
{
    (void)state;
    helper("f", vec(integer(64, true), 8));
    kc_var* a = param("a", vec(integer(64, true), 8));
    declare("b", integer(8, true), NULL);
    declare("c", half(), NULL);
    give_back(get(a));
    const kc_target all = {.has_wide_vectors = true, .has_half = true, .has_int8 = true, .has_int16 = true, .has_int64 = true};
    const char* before = module_text();
    kc_lower_vectors(ir.m, &all);
    kc_lower_half(ir.m, &all);
    kc_lower_narrow(ir.m, &all);
    kc_lower_int64(ir.m, &all);
    assert_string_equal(module_text(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
        TEST(wide_vectors_are_arrays_of_parts),
        TEST(lanes_of_parts_are_assigned_after_all_are_computed),
        TEST(what_is_not_always_evaluated_stays_so),
        TEST(conditions_of_loops_are_computed_in_each_turn),
        TEST(bitcasts_between_shapes_go_through_words),
        TEST(select_of_64_bits_looks_at_the_top_bit),
        TEST(halves_are_rounded_after_each_operation),
        TEST(conversions_to_half_round_once),
        TEST(masks_of_halves_have_their_width),
        TEST(narrow_integers_are_wrapped),
        TEST(narrow_builtins_have_narrow_meaning),
        TEST(narrow_lanes_share_words),
        TEST(long_integers_are_pairs_of_words),
        TEST(switches_on_64_bits_are_on_labels),
        TEST(constants_are_lowered_where_they_stand),
        TEST(deep_expressions_are_cut),
        TEST(what_has_no_such_types_stays_the_same),
        TEST(a_target_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
