/* kc_lower_pointers: what pointers and memory become. */
#include "build_ir.h"
#include "lower.h"

static const kc_target none = {.name = "test", .has_double = true};

static const kc_type *u8, *u16, *u64, *f16;

static int setup(void** state)
{
    if (ir_setup(state))
        return 1;
    u8 = kc_type_int(ir.m, 8, false);
    u16 = kc_type_int(ir.m, 16, false);
    u64 = kc_type_int(ir.m, 64, false);
    f16 = kc_type_float(ir.m, 16);
    return 0;
}

static const kc_type* to(const kc_type* t, kc_space space)
{
    return kc_type_pointer(ir.m, t, space, false, false, false);
}

static const kc_type* global(const kc_type* t)
{
    return to(t, KC_SPACE_GLOBAL);
}

static kc_expr* as_pointer(const kc_type* t, kc_expr* pointer)
{
    return kc_ex_convert(ir.m, t, pointer, KC_ROUND_DEFAULT, false);
}

static kc_expr* moved(kc_expr* pointer, kc_expr* by)
{
    return kc_ex_offset(ir.m, pointer, by);
}

static kc_expr* at(kc_expr* pointer)
{
    return kc_ex_deref(ir.m, pointer);
}

static kc_expr* value_at(kc_expr* pointer)
{
    return kc_ex_load(ir.m, at(pointer));
}

static kc_expr* address(kc_expr* place)
{
    return kc_ex_address(ir.m, place, to(place->type, kc_place_space(place)));
}

static kc_expr* var(kc_var* v)
{
    return kc_ex_var(ir.m, v);
}

static kc_stmt* atomic(kc_atomic op, kc_expr* place, kc_var* result, uint32_t count, kc_expr** args)
{
    kc_stmt* s = put(KC_ST_ATOMIC);
    s->atomic = op;
    s->place = place;
    s->result = result;
    s->arg_count = count;
    s->args = KC_NEW_ARRAY(ir.arena, kc_expr*, count);
    for (uint32_t i = 0; i < count; i++)
        s->args[i] = args[i];
    return s;
}

static const kc_type* record(const char* name, bool is_union, uint32_t count, const kc_field* fields, uint64_t size,
                             uint64_t align)
{
    kc_record* r = kc_record_create(ir.m, name, is_union, nowhere);
    r->field_count = count;
    r->fields = KC_NEW_ARRAY(ir.arena, kc_field, count);
    memcpy(r->fields, fields, sizeof fields[0] * count);
    r->size = size;
    r->align = align;
    return kc_type_struct(ir.m, r);
}

static void lower_for(const kc_target* target)
{
    assert_true(kc_verify_module(ir.m));
    ir.m->target = target;
    kc_pass_inline(ir.m, KC_INLINE_POINTERS);
    kc_pass_fold(ir.m);
    kc_pass_prune(ir.m);
    assert_true(kc_lower_pointers(ir.m, target));
    kc_drop_refused(ir.m);
    kc_pass_fold(ir.m);
}

/* The statements and variables that come of the kernel. */
static void expect(const char* body)
{
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = strstr(module_text(), ") {\n");
    assert_non_null(text);
    assert_string_equal(text + 4, body);
}

/* ---- pointers */

static void an_argument_is_an_array(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* n = param("n", ir.i32);
    store(element(a, get(n)), kc_ex_load(ir.m, element(a, number(3))));
    expect("    buffer a: float[]\n"
           "    buffer push: uint[]\n"
           "    let n: int = bitcast<int>(push[0u])\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    a[a_first + convert<uint>(n)] = a[a_first + 3u]\n"
           "}\n");
}

static void helpers_get_the_objects_themselves(void** state)
{
    (void)state;
    kc_function* f = helper("f", ir.none);
    kc_var* p = param("p", to(ir.f32, KC_SPACE_PRIVATE));
    kc_var* q = param("q", ir.local_float);
    store(element(p, number(1)), kc_ex_load(ir.m, element(q, number(2))));
    kernel("k");
    kc_var* l = param("l", ir.local_float);
    kc_var* x = declare("x", kc_type_array(ir.m, ir.f32, 4), NULL);
    kc_var* i = declare("i", ir.i32, query(KC_QUERY_LOCAL_ID));
    call(f, NULL, ARGS(address(kc_ex_index(ir.m, var(x), number(0))), moved(get(l), get(i))));
    expect("    local l: float[]\n"
           "    var x: float[4]\n"
           "    let i: int = convert<int>(local_id(0))\n"
           "    block {\n"
           "        x[1] = l[convert<uint>(i + 2)]\n"
           "    }\n"
           "}\n");
}

static void pointers_that_walk_are_indices(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* n = param("n", ir.i32);
    kc_var* p = declare("p", ir.global_float, moved(get(a), number(4)));
    enter_loop(binary(KC_OP_LT, get(p), moved(get(a), get(n))));
    store(at(get(p)), real(1));
    set(p, moved(get(p), number(-1)));
    leave();
    kc_expr* apart = kc_ex_list(ir.m, KC_EX_POINTER_DIFF, kc_type_int(ir.m, 64, true), 2, (kc_expr*[]){get(p), get(a)});
    set(n, to_int(apart));
    expect("    buffer a: float[]\n"
           "    buffer push: uint[]\n"
           "    let n: int = bitcast<int>(push[0u])\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    let p: uint = 4u\n"
           "    loop while bitcast<int>(p - convert<uint>(n)) < 0 {\n"
           "        a[a_first + p] = 1.0f\n"
           "        p = p - 1u\n"
           "    }\n"
           "    n = convert<int>(convert<long>(convert<int>(p)))\n"
           "}\n");
}

static void one_of_several_arrays(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* b = param("b", ir.global_float);
    kc_var* n = param("n", ir.i32);
    kc_var* p = declare("p", ir.global_float, kc_ex_zero(ir.m, ir.global_float));
    enter_if(binary(KC_OP_LT, get(n), number(9)));
    set(p, kc_ex_select(ir.m, binary(KC_OP_LT, get(n), number(4)), moved(get(a), number(7)), get(b)));
    leave();
    enter_if(binary(KC_OP_NE, get(p), kc_ex_zero(ir.m, ir.global_float)));
    store(at(moved(get(p), number(1))), kc_ex_load(ir.m, at(get(p))));
    leave();
    expect("    buffer a: float[]\n"
           "    buffer b: float[]\n"
           "    buffer push: uint[]\n"
           "    let n: int = bitcast<int>(push[0u])\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    let b_first: uint = slice_offset(b) >> 2u\n"
           "    let p_root: uint = 0u\n"
           "    let p: uint = 0u\n"
           "    if n < 9 {\n"
           "        let which: uint = (n < 4) ? 1u : 2u\n"
           "        p = (n < 4) ? 7u : 0u\n"
           "        p_root = which\n"
           "    }\n"
           "    if !(p_root == 0u) {\n"
           "        let value: float = (p_root == 1u) ? a[a_first + p] : b[b_first + p]\n"
           "        if p_root == 1u {\n"
           "            a[a_first + (p + 1u)] = value\n"
           "        } else {\n"
           "            b[b_first + (p + 1u)] = value\n"
           "        }\n"
           "    }\n"
           "}\n");
}

static void records_with_pointers_come_apart(void** state)
{
    (void)state;
    const kc_type* r = record("r", false, 2, (kc_field[]){{"p", ir.global_float, 0}, {"n", ir.i32, 8}}, 16, 8);
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* s = declare("s", r, kc_ex_list(ir.m, KC_EX_AGGREGATE, r, 2, (kc_expr*[]){get(a), number(5)}));
    kc_var* t = declare("t", r, get(s));
    store(at(moved(kc_ex_load(ir.m, kc_ex_field(ir.m, var(t), 0)), kc_ex_load(ir.m, kc_ex_field(ir.m, var(t), 1)))),
          real(1));
    expect("    buffer a: float[]\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    let s_n: int = 5\n"
           "    let t_n: int = s_n\n"
           "    a[a_first + convert<uint>(t_n)] = 1.0f\n"
           "}\n");
}

static void pointers_to_pointers(void** state)
{
    (void)state;
    const kc_type* p_type = to(ir.f32, KC_SPACE_PRIVATE);
    const kc_type* pp_type = to(p_type, KC_SPACE_PRIVATE);
    kernel("k");
    kc_var* n = param("n", ir.i32);
    kc_var* x = declare("x", ir.f32, real(1));
    kc_var* y = declare("y", ir.f32, real(2));
    kc_var* p = declare("p", p_type, address(var(x)));
    kc_var* q = declare("q", p_type, address(var(y)));
    kc_var* pp = declare("pp", pp_type, address(var(p)));
    enter_if(binary(KC_OP_LT, get(n), number(4)));
    set(pp, address(var(q)));
    leave();
    store(at(value_at(get(pp))), real(3));
    store(at(get(pp)), address(var(x)));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "if pp_root == 1u"));
    assert_null(strstr(text, "*"));
}

static void arrays_of_pointers(void** state)
{
    (void)state;
    const kc_type* list_type = kc_type_array(ir.m, ir.global_float, 2);
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* b = param("b", ir.global_float);
    kc_var* n = param("n", ir.u32);
    kc_var* list = declare("list", list_type,
                           kc_ex_list(ir.m, KC_EX_AGGREGATE, list_type, 2,
                                      (kc_expr*[]){get(a), moved(get(b), number(3))}));
    store(at(kc_ex_load(ir.m, kc_ex_index(ir.m, var(list), get(n)))), real(1));
    expect("    buffer a: float[]\n"
           "    buffer b: float[]\n"
           "    buffer push: uint[]\n"
           "    let n: uint = push[0u]\n"
           "    let b_first: uint = slice_offset(b) >> 2u\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    let list_root: uint[2] = uint[2]{1u, 2u}\n"
           "    let list: uint[2] = uint[2]{0u, 3u}\n"
           "    let which: uint = list_root[n]\n"
           "    let at: uint = list[n]\n"
           "    if which == 1u {\n"
           "        a[a_first + at] = 1.0f\n"
           "    } else {\n"
           "        b[b_first + at] = 1.0f\n"
           "    }\n"
           "}\n");
}

static void linked_records_hold_pairs(void** state)
{
    (void)state;
    kc_record* r = kc_record_create(ir.m, "node", false, nowhere);
    const kc_type* node = kc_type_struct(ir.m, r);
    r->field_count = 2;
    r->fields = KC_NEW_ARRAY(ir.arena, kc_field, 2);
    r->fields[0] = (kc_field){"value", ir.f32, 0};
    r->fields[1] = (kc_field){"next", to(node, KC_SPACE_PRIVATE), 8};
    r->size = 16;
    r->align = 8;
    node = kc_type_struct(ir.m, r);
    kernel("k");
    kc_var* n = param("n", ir.u32);
    kc_var* list = declare("list", kc_type_array(ir.m, node, 2), NULL);
    kc_expr* link = kc_ex_field(ir.m, kc_ex_index(ir.m, var(list), number(0)), 1);
    store(link, address(kc_ex_index(ir.m, var(list), get(n))));
    kc_expr* next = kc_ex_load(ir.m, kc_ex_clone(ir.m, link));
    store(kc_ex_field(ir.m, at(next), 0), real(1));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "list[0u].next = uint2(1u, n)"));
    assert_non_null(strstr(text, "list[(pointer).y].value = 1.0f"));
    assert_non_null(strstr(text, "next: uint2 at 8"));
}

static void a_pointer_that_was_a_number(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_expr* number_of_a = kc_ex_bitcast(ir.m, u64, get(a));
    kc_expr* sum = binary(KC_OP_ADD, number_of_a, kc_ex_const_int(ir.m, u64, 8));
    store(at(kc_ex_bitcast(ir.m, ir.global_float, sum)), real(1));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    assert_non_null(strstr(module_text(), "a[(a_first >> 2u) + 2u] = 1.0f"));
}

static void what_leads_anywhere_is_refused(void** state)
{
    (void)state;
    kernel("k");
    kc_var* bits = param("bits", u64);
    kc_var* p = declare("p", ir.global_float, kc_ex_bitcast(ir.m, ir.global_float, get(bits)));
    store(at(get(p)), real(1));
    kernel("fine");
    kc_var* a = param("a", ir.global_float);
    store(at(get(a)), real(1));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    assert_string_equal(ir.m->functions->name, "fine");
    assert_null(ir.m->functions->next);
    assert_string_equal(ir.m->refused->name, "k");
    assert_int_equal(ir.m->refused->refusal->id, KC_DIAG_TARGET_POINTER);
}

/* ---- memory */

static void bytes_are_parts_of_words(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", global(u8));
    kc_var* i = param("i", ir.u32);
    store(element(a, get(i)), kc_ex_load(ir.m, element(a, number(5))));
    expect("    buffer a: uint[]\n"
           "    buffer push: uint[]\n"
           "    let i: uint = push[0u]\n"
           "    let a_first: uint = slice_offset(a)\n"
           "    let shift: uint = ((a_first + i) & 3u) << 3u\n"
           "    atomic_xor(a[(a_first + i) >> 2u], (a[(a_first + i) >> 2u] ^ (convert<uint>(convert<uchar>(a[(a_first + "
           "5u) >> 2u] >> (((a_first + 5u) & 3u) << 3u))) << shift)) & (255u << shift))\n"
           "}\n");
}

static void vectors_of_bytes_are_one_word(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", global(kc_type_vector(ir.m, u8, 4)));
    kc_var* b = param("b", global(kc_type_vector(ir.m, u16, 2)));
    kc_var* i = param("i", ir.u32);
    store(element(a, get(i)), kc_ex_load(ir.m, element(a, number(5))));
    store(element(b, get(i)), kc_ex_zero(ir.m, kc_type_vector(ir.m, u16, 2)));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "a[a_first + i] = a[a_first + 5u]"));
    assert_non_null(strstr(text, "b[b_first + i] = bitcast<uint>(zero<ushort2>)"));
    assert_null(strstr(text, "atomic"));
}

static void records_in_buffers_are_words(void** state)
{
    (void)state;
    const kc_type* r =
        record("r", false, 3, (kc_field[]){{"x", ir.f32, 0}, {"c", u16, 4}, {"l", u64, 8}}, 16, 8);
    kernel("k");
    kc_var* a = param("a", global(r));
    kc_var* out = param("out", global(u64));
    kc_var* i = param("i", ir.u32);
    kc_expr* l = kc_ex_load(ir.m, kc_ex_field(ir.m, element(a, get(i)), 2));
    store(at(get(out)), binary(KC_OP_ADD, l, kc_ex_const_int(ir.m, u64, 1)));
    store(kc_ex_field(ir.m, element(a, get(i)), 0), real(1));
    store(kc_ex_field(ir.m, element(a, number(1)), 1), kc_ex_const_int(ir.m, u16, 7));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "bitcast<ulong>(uint2(a["));
    assert_non_null(strstr(text, "a[a_first + (i * 4u)] = 1065353216u"));
    assert_non_null(strstr(text, "atomic_xor(a[a_first + 5u], (a[a_first + 5u] ^ 7u) & 65535u)"));
}

static void floats_seen_as_vectors_stay_floats(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    store(at(as_pointer(global(ir.f32x4), get(a))), kc_ex_splat(ir.m, ir.f32x4, kc_ex_load(ir.m, element(a, number(9)))));
    expect("    buffer a: float[]\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    let value: float4 = splat<float4>(a[a_first + 9u])\n"
           "    a[a_first] = (value).x\n"
           "    a[a_first + 1u] = (value).y\n"
           "    a[a_first + 2u] = (value).z\n"
           "    a[a_first + 3u] = (value).w\n"
           "}\n");
}

static void whole_vectors_stay_vectors(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", global(ir.f32x4));
    kc_var* b = param("b", global(ir.f32x4));
    const uint8_t y = 1;
    store(at(get(a)), kc_ex_load(ir.m, element(a, number(9))));
    store(kc_ex_lanes(ir.m, at(get(b)), 1, &y), real(1)); /* which may touch the others */
    expect("    buffer a: float4[]\n"
           "    buffer b: float[]\n"
           "    let b_first: uint = slice_offset(b) >> 2u\n"
           "    let a_first: uint = slice_offset(a) >> 4u\n"
           "    a[a_first] = a[a_first + 9u]\n"
           "    b[b_first + 1u] = 1.0f\n"
           "}\n");
}

static void unions_are_words(void** state)
{
    (void)state;
    const kc_type* u = record("u", true, 2, (kc_field[]){{"f", ir.f32, 0}, {"c", kc_type_array(ir.m, u8, 4), 0}}, 4, 4);
    kernel("k");
    kc_var* n = param("n", ir.i32);
    kc_var* v = declare("v", u, NULL);
    store(kc_ex_field(ir.m, var(v), 0), real(1));
    store(kc_ex_index(ir.m, kc_ex_field(ir.m, var(v), 1), number(3)), kc_ex_const_int(ir.m, u8, 9));
    kc_var* w = declare("w", u, get(v));
    set(n, kc_ex_bitcast(ir.m, ir.i32, kc_ex_load(ir.m, kc_ex_field(ir.m, var(w), 0))));
    expect("    buffer push: uint[]\n"
           "    let n: int = bitcast<int>(push[0u])\n"
           "    var v: uint[1]\n"
           "    v[0u] = 1065353216u\n"
           "    v[0u] = (v[0u] & 16777215u) | 150994944u\n"
           "    var w: uint[1]\n"
           "    w[0u] = v[0u]\n"
           "    n = bitcast<int>(bitcast<float>(w[0u]))\n"
           "}\n");
}

static void tables_that_pointers_walk_are_flat(void** state)
{
    (void)state;
    kernel("k");
    kc_var* i = param("i", ir.u32);
    kc_var* t = kc_local_add(ir.m, ir.f, "t", kc_type_array(ir.m, kc_type_array(ir.m, ir.f32, 5), 3), nowhere);
    kc_var* kept = kc_local_add(ir.m, ir.f, "kept", t->type, nowhere);
    kc_var* p = declare("p", ir.local_float, address(kc_ex_index(ir.m, kc_ex_index(ir.m, var(t), get(i)), number(0))));
    set(p, moved(get(p), number(7)));
    store(at(get(p)), kc_ex_load(ir.m, kc_ex_index(ir.m, kc_ex_index(ir.m, var(t), number(2)), get(i))));
    store(kc_ex_index(ir.m, kc_ex_index(ir.m, var(kept), get(i)), get(i)), real(1));
    expect("    buffer push: uint[]\n"
           "    local t: float[15]\n"
           "    local kept: float[3][5]\n"
           "    let i: uint = push[0u]\n"
           "    let p: uint = i * 5u\n"
           "    p = p + 7u\n"
           "    t[p] = t[i + 10u]\n"
           "    kept[i][i] = 1.0f\n"
           "}\n");
}

static void constants_seen_as_other_types_are_words(void** state)
{
    (void)state;
    const kc_type* bytes = kc_type_array(ir.m, u8, 6);
    kc_expr* parts[6];
    for (int i = 0; i < 6; i++)
        parts[i] = kc_ex_const_int(ir.m, u8, (uint64_t)i + 1);
    kc_var* c = kc_constant_add(ir.m, "c", bytes, kc_ex_list(ir.m, KC_EX_AGGREGATE, bytes, 6, parts), nowhere);
    kernel("k");
    kc_var* n = param("n", ir.u32);
    set(n, value_at(as_pointer(to(ir.u32, KC_SPACE_CONSTANT), address(kc_ex_index(ir.m, var(c), number(0))))));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "constant c: uint[2] = uint[2]{67305985u, 1541u}"));
    assert_non_null(strstr(text, "n = c[0u]"));
}

/* ---- atomics */

static void atomics_of_one_type_keep_it(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", global(ir.i32));
    kc_var* old = declare("old", ir.i32, NULL);
    atomic(KC_ATOMIC_MIN, element(a, number(2)), old, ARGS(number(-3)));
    store(at(get(a)), get(old));
    expect("    buffer a: int[]\n"
           "    let a_first: uint = slice_offset(a) >> 2u\n"
           "    var old: int\n"
           "    old = atomic_min(a[a_first + 2u], -3)\n"
           "    a[a_first] = old\n"
           "}\n");
    kc_pass_usage(ir.m);
    assert_true(ir.m->functions->buffers[0]->is_atomic);
}

static void signed_order_in_unsigned_words(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", global(ir.i32));
    atomic(KC_ATOMIC_MAX, at(get(a)), NULL, ARGS(number(-3)));
    lower_for(&(kc_target){.name = "test", .words = true});
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "buffer a: uint[]"));
    assert_non_null(strstr(text, "seen = atomic_cmpxchg(a[a_first], old, bitcast<uint>(max(bitcast<int>(old), -3)))"));
}

static void atomics_of_floats_exchange_words(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", ir.global_float);
    kc_var* old = declare("old", ir.f32, NULL);
    atomic(KC_ATOMIC_XCHG, at(get(a)), old, ARGS(real(1)));
    lower_for(&none);
    assert_true(kc_verify_module(ir.m));
    const char* text = module_text();
    assert_non_null(strstr(text, "= atomic_xchg(a[a_first], 1065353216u)"));
    assert_non_null(strstr(text, "buffer a: uint[]"));
}

/* ---- the whole way */

static void refused_for(kc_diag_id id)
{
    kernel("fine");
    assert_true(kc_lower(ir.m, &(kc_target){.name = "test"}));
    assert_string_equal(ir.m->functions->name, "fine");
    assert_int_equal(ir.m->refused->refusal->id, id);
}

static void long_atomics_are_refused(void** state)
{
    (void)state;
    kernel("k");
    kc_var* a = param("a", global(u64));
    atomic(KC_ATOMIC_INC, at(get(a)), NULL, 0, NULL);
    refused_for(KC_DIAG_TARGET_ATOMIC);
}

static void doubles_are_refused(void** state)
{
    (void)state;
    kernel("k");
    param("a", global(kc_type_float(ir.m, 64)));
    refused_for(KC_DIAG_TARGET_DOUBLE);
}

static void printf_is_refused(void** state)
{
    (void)state;
    kernel("k");
    kc_stmt* s = kc_stmt_create(ir.m, KC_ST_PRINTF, nowhere);
    s->format = "";
    kc_block_append(&ir.f->body, s);
    refused_for(KC_DIAG_TARGET_PRINTF);
}

static void one_kernel_and_what_it_needs(void** state)
{
    (void)state;
    kc_var* kept = kc_constant_add(ir.m, "kept", ir.i32, number(1), nowhere);
    kc_constant_add(ir.m, "dropped", ir.i32, number(2), nowhere);
    kernel("other");
    kc_function* k = kernel("k");
    declare("x", ir.i32, get(kept));
    kc_keep_kernel(ir.m, k);
    assert_ptr_equal(ir.m->functions, k);
    assert_null(k->next);
    assert_int_equal(ir.m->constant_count, 1);
    assert_ptr_equal(ir.m->constants[0], kept);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_argument_is_an_array),
        TEST(helpers_get_the_objects_themselves),
        TEST(pointers_that_walk_are_indices),
        TEST(one_of_several_arrays),
        TEST(records_with_pointers_come_apart),
        TEST(pointers_to_pointers),
        TEST(arrays_of_pointers),
        TEST(linked_records_hold_pairs),
        TEST(a_pointer_that_was_a_number),
        TEST(what_leads_anywhere_is_refused),
        TEST(bytes_are_parts_of_words),
        TEST(vectors_of_bytes_are_one_word),
        TEST(records_in_buffers_are_words),
        TEST(floats_seen_as_vectors_stay_floats),
        TEST(whole_vectors_stay_vectors),
        TEST(unions_are_words),
        TEST(tables_that_pointers_walk_are_flat),
        TEST(constants_seen_as_other_types_are_words),
        TEST(atomics_of_one_type_keep_it),
        TEST(signed_order_in_unsigned_words),
        TEST(atomics_of_floats_exchange_words),
        TEST(long_atomics_are_refused),
        TEST(doubles_are_refused),
        TEST(printf_is_refused),
        TEST(one_kernel_and_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
