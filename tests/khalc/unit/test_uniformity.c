/* kc_pass_uniformity, on control flow where it is easy to be wrong. */
#include "build_ir.h"

static kc_var *n, *lid, *gid; /* of the kernel: a value parameter, the local id, the group's id */

static void start(void)
{
    kernel("k");
    n = param("n", ir.i32);
    lid = declare("lid", ir.i32, query(KC_QUERY_LOCAL_ID));
    gid = declare("gid", ir.i32, query(KC_QUERY_GROUP_ID));
}

static void analyse(void)
{
    assert_true(kc_verify_module(ir.m));
    kc_pass_uniformity(ir.m);
    assert_true(kc_verify_module(ir.m));
    assert_true(ir.m->has_uniformity);
}

static kc_expr* is_less(kc_var* a, kc_var* b)
{
    return binary(KC_OP_LT, get(a), get(b));
}

static kc_expr* plus_one(kc_var* v)
{
    return binary(KC_OP_ADD, get(v), number(1));
}

static kc_var* let(const char* name, kc_expr* value)
{
    return declare(name, value->type, value);
}

static void values(void** state)
{
    (void)state;
    start();
    kc_var* known = let("known", number(3));
    kc_var* sum = let("sum", binary(KC_OP_ADD, get(n), get(known)));
    kc_var* group = let("group", binary(KC_OP_MUL, get(gid), get(n)));
    kc_var* item = let("item", binary(KC_OP_SUB, get(group), get(lid)));
    kc_var* choice = let("choice", kc_ex_select(ir.m, is_less(lid, n), number(1), number(2)));
    kc_var* size = let("size", kc_ex_work_item(ir.m, KC_QUERY_LOCAL_SIZE, number(1)));
    kc_var* odd_size = let("odd", kc_ex_work_item(ir.m, KC_QUERY_GLOBAL_SIZE, get(lid)));
    analyse();
    assert_int_equal(known->uniformity, KC_UNIFORM_CONSTANT);
    assert_int_equal(n->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(sum->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(gid->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(group->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(item->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(choice->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(size->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(odd_size->uniformity, KC_UNIFORM_VARYING);
}

static void required_workgroup_size_is_known(void** state)
{
    (void)state;
    start();
    ir.f->workgroup_size[0] = 64;
    ir.f->workgroup_size[1] = ir.f->workgroup_size[2] = 1;
    kc_var* size = let("size", query(KC_QUERY_LOCAL_SIZE));
    kc_var* y = let("y", kc_ex_work_item(ir.m, KC_QUERY_LOCAL_ID, number(1)));
    kc_var* global_y = let("gy", kc_ex_work_item(ir.m, KC_QUERY_GLOBAL_ID, number(1)));
    analyse();
    assert_int_equal(size->uniformity, KC_UNIFORM_CONSTANT);
    assert_int_equal(y->uniformity, KC_UNIFORM_CONSTANT);
    assert_int_equal(global_y->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(lid->uniformity, KC_UNIFORM_VARYING);
}

static void memory(void** state)
{
    (void)state;
    start();
    const kc_type* in_constant = kc_type_pointer(ir.m, ir.f32, KC_SPACE_CONSTANT, true, false, false);
    const kc_type* promised = kc_type_pointer(ir.m, ir.f32, KC_SPACE_GLOBAL, true, false, true);
    const kc_type* only_const = kc_type_pointer(ir.m, ir.f32, KC_SPACE_GLOBAL, true, false, false);
    kc_var* c = param("c", in_constant);
    kc_var* r = param("r", promised);
    kc_var* o = param("o", only_const);
    kc_var* l = param("l", ir.local_float);
    kc_var* moved = let("moved", kc_ex_offset(ir.m, get(r), get(n)));
    kc_var* from_constant = let("fc", kc_ex_load(ir.m, element(c, get(n))));
    kc_var* from_constant_item = let("fi", kc_ex_load(ir.m, element(c, get(lid))));
    kc_var* from_promised = let("fp", kc_ex_load(ir.m, element(moved, get(gid))));
    kc_var* from_const = let("fo", kc_ex_load(ir.m, element(o, number(0))));
    kc_var* w = param("w", promised); /* and broken: a cast takes the const away */
    kc_expr* writable = kc_ex_convert(ir.m, ir.global_float, get(w), KC_ROUND_DEFAULT, false);
    store(kc_ex_deref(ir.m, writable), real(1));
    kc_var* from_written = let("fw", kc_ex_load(ir.m, element(w, number(0))));
    kc_var* from_local = let("fl", kc_ex_load(ir.m, element(l, number(0))));
    analyse();
    assert_int_equal(from_constant->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(from_constant_item->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(from_promised->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(from_const->uniformity, KC_UNIFORM_VARYING); /* another argument may overlap */
    assert_int_equal(from_written->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(from_local->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(l->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(c->uniformity, KC_UNIFORM_DISPATCH);
}

static void branches(void** state)
{
    (void)state;
    start();
    kc_var* x = let("x", number(0));
    kc_var* y = let("y", number(0));
    enter_if(is_less(gid, n));
    kc_stmt* in_group = set(x, number(1));
    leave();
    enter_if(is_less(lid, n));
    kc_stmt* in_item = set(y, number(1));
    kc_var* inside = let("inside", get(n));
    enter_if(is_less(inside, n));
    set(inside, number(4));
    leave();
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(in_group->control, KC_UNIFORM_GROUP);
    assert_int_equal(in_item->control, KC_UNIFORM_VARYING);
    assert_int_equal(x->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(y->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(inside->uniformity, KC_UNIFORM_DISPATCH); /* who sees it, agrees about it */
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void values_chase_each_other_backwards(void** state)
{
    (void)state;
    start();
    kc_var *a = let("a", number(0)), *b = let("b", number(0)), *c = let("c", number(0));
    enter_loop(is_less(a, n));
    set(a, get(b));
    set(b, get(c));
    kc_stmt* last = set(c, get(lid));
    leave();
    analyse();
    assert_int_equal(a->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(last->control, KC_UNIFORM_VARYING); /* the condition is, from the fourth turn on */
}

static void uniform_loop(void** state)
{
    (void)state;
    start();
    kc_var* i = let("i", number(0));
    kc_stmt* loop = enter_loop(is_less(i, n));
    kc_stmt* inside = barrier();
    enter_if(is_less(lid, i));
    continue_of(loop);
    leave();
    kc_stmt* skipped = set(lid, number(0));
    leave();
    enter(&loop->step);
    kc_stmt* step = set(i, plus_one(i));
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(i->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(loop->control, KC_UNIFORM_CONSTANT);
    assert_int_equal(inside->control, KC_UNIFORM_DISPATCH);
    assert_int_equal(skipped->control, KC_UNIFORM_VARYING);
    assert_int_equal(step->control, KC_UNIFORM_DISPATCH); /* those that continued are here again */
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void varying_break(void** state)
{
    (void)state;
    start();
    kc_var* i = let("i", number(0));
    kc_stmt* loop = enter_loop(is_less(i, n));
    kc_stmt* early = barrier(); /* before the break in the text, after it in the second turn */
    kc_var* inside = let("inside", get(n));
    enter_if(is_less(lid, i));
    break_of(loop);
    leave();
    leave();
    enter(&loop->step);
    set(i, plus_one(i));
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(early->control, KC_UNIFORM_VARYING);
    assert_int_equal(i->uniformity, KC_UNIFORM_VARYING); /* after the loop, who left early has less */
    assert_int_equal(inside->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void varying_break_of_an_outer_loop(void** state)
{
    (void)state;
    start();
    kc_stmt* outer = enter_loop(NULL);
    kc_stmt* outer_early = barrier();
    kc_stmt* inner = enter_loop(is_less(gid, n));
    kc_stmt* inner_early = barrier();
    enter_if(is_less(lid, n));
    break_of(outer);
    leave();
    leave();
    enter(&inner->step);
    kc_stmt* inner_step = barrier();
    leave();
    kc_stmt* between = barrier();
    enter_if(is_less(gid, n));
    break_of(outer);
    leave();
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(outer_early->control, KC_UNIFORM_VARYING);
    assert_int_equal(inner_early->control, KC_UNIFORM_VARYING);
    assert_int_equal(inner_step->control, KC_UNIFORM_VARYING);
    assert_int_equal(between->control, KC_UNIFORM_VARYING);
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void exit_of_a_block_around_a_loop(void** state)
{
    (void)state;
    start();
    kc_var* before = let("before", number(0));
    kc_stmt* block = enter_block();
    kc_stmt* loop = enter_loop(is_less(before, n));
    kc_stmt* early = barrier();
    set(before, plus_one(before));
    enter_if(is_less(lid, n));
    break_of(block);
    leave();
    leave();
    kc_stmt* rest = barrier();
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(loop->control, KC_UNIFORM_CONSTANT); /* all of them start it */
    assert_int_equal(early->control, KC_UNIFORM_VARYING);
    assert_int_equal(before->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(rest->control, KC_UNIFORM_VARYING);
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void varying_continue_does_not_outlive_its_turn(void** state)
{
    (void)state;
    start();
    kc_var* i = let("i", number(0));
    kc_stmt* outer = enter_loop(is_less(i, n));
    kc_var* turn = let("turn", get(i));
    kc_stmt* top = barrier();
    enter_loop(is_less(turn, n));
    kc_stmt* inner_top = barrier();
    enter_if(is_less(lid, turn));
    continue_of(outer);
    leave();
    set(turn, plus_one(turn));
    leave();
    kc_stmt* bottom = barrier();
    leave();
    enter(&outer->step);
    kc_stmt* step = set(i, plus_one(i));
    leave();
    analyse();
    assert_int_equal(top->control, KC_UNIFORM_DISPATCH);
    assert_int_equal(inner_top->control, KC_UNIFORM_VARYING);
    assert_int_equal(bottom->control, KC_UNIFORM_VARYING);
    assert_int_equal(step->control, KC_UNIFORM_DISPATCH);
    assert_int_equal(i->uniformity, KC_UNIFORM_DISPATCH);
    /* Work-items that are still in the inner loop agree about it, but it is outside of that loop. */
    assert_int_equal(turn->uniformity, KC_UNIFORM_DISPATCH);
}

static void variables_of_head_meet_continues_again(void** state)
{
    (void)state;
    start();
    kc_stmt* loop = enter_loop(NULL);
    kc_var* limit = NULL;
    leave();
    enter(&loop->head);
    limit = let("limit", get(n));
    leave();
    loop->value = is_less(limit, n);
    enter(&loop->body);
    enter_if(is_less(lid, n));
    continue_of(loop);
    leave();
    set(limit, number(7)); /* not by those that continued, who are back in step */
    leave();
    enter(&loop->step);
    kc_var* seen = let("seen", get(limit));
    leave();
    analyse();
    assert_int_equal(limit->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(seen->uniformity, KC_UNIFORM_VARYING);
}

static void do_loop(void** state)
{
    (void)state;
    start();
    kc_var* i = let("i", number(0));
    kc_stmt* loop = enter_loop(is_less(i, lid));
    loop->test_at_end = true;
    kc_stmt* body = barrier();
    set(i, plus_one(i));
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(body->control, KC_UNIFORM_VARYING);
    assert_int_equal(i->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void switches(void** state)
{
    (void)state;
    start();
    kc_var* x = let("x", number(0));
    kc_stmt* s = put(KC_ST_SWITCH);
    s->value = get(gid);
    s->case_count = 2;
    s->cases = KC_NEW_ARRAY(ir.arena, kc_case, 2);
    s->cases[0] = (kc_case){.falls_through = true, .value_count = 1, .values = KC_NEW(ir.arena, uint64_t)};
    s->cases[1] = (kc_case){.is_default = true};
    enter(&s->cases[0].body);
    enter_if(is_less(lid, n));
    break_of(s);
    leave();
    leave();
    enter(&s->cases[1].body);
    kc_stmt* fallen = set(x, number(1));
    leave();
    kc_stmt* after = barrier();
    analyse();
    assert_int_equal(s->control, KC_UNIFORM_CONSTANT);
    assert_int_equal(s->cases[0].body.first->control, KC_UNIFORM_GROUP);
    assert_int_equal(fallen->control, KC_UNIFORM_VARYING); /* some left, some fell through */
    assert_int_equal(x->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT);
}

static void varying_return_of_a_kernel(void** state)
{
    (void)state;
    start();
    kc_var* i = let("i", number(0));
    enter_if(is_less(lid, n));
    kc_stmt* leaving = give_back(NULL);
    leave();
    kc_stmt* after = barrier();
    kc_stmt* loop = enter_loop(is_less(i, n));
    kc_stmt* inside = barrier();
    enter_if(binary(KC_OP_EQ, get(lid), get(i)));
    give_back(NULL);
    leave();
    leave();
    enter(&loop->step);
    set(i, plus_one(i));
    leave();
    kc_stmt* end = barrier();
    analyse();
    assert_int_equal(leaving->control, KC_UNIFORM_VARYING);
    assert_int_equal(after->control, KC_UNIFORM_CONSTANT); /* of those that have not returned */
    assert_int_equal(inside->control, KC_UNIFORM_DISPATCH);
    assert_int_equal(i->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(end->control, KC_UNIFORM_CONSTANT);
}

static void varying_return_of_a_helper(void** state)
{
    (void)state;
    kc_function* f = helper("f", ir.i32);
    kc_var* p = param("p", ir.i32);
    kc_var* q = param("q", ir.i32);
    enter_if(binary(KC_OP_EQ, get(p), number(0)));
    give_back(number(1));
    leave();
    kc_stmt* after = barrier();
    give_back(get(q));
    start();
    kc_var* result = declare("result", ir.i32, NULL);
    kc_stmt* first = call(f, result, ARGS(get(lid), get(n)));
    kc_stmt* behind = barrier();
    analyse();
    assert_int_equal(p->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(q->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(after->control, KC_UNIFORM_VARYING); /* who left f will be met again */
    assert_int_equal(result->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(first->control, KC_UNIFORM_CONSTANT);
    assert_int_equal(behind->control, KC_UNIFORM_CONSTANT);
}

static void helpers_join_their_calls(void** state)
{
    (void)state;
    kc_function* inner = helper("inner", ir.i32);
    kc_var* p = param("p", ir.i32);
    kc_stmt* in_inner = give_back(plus_one(p));
    kc_function* outer = helper("outer", ir.i32);
    kc_var* q = param("q", ir.i32);
    kc_var* t = declare("t", ir.i32, NULL);
    kc_stmt* in_outer = call(inner, t, ARGS(get(q)));
    give_back(get(t));
    helper("unused", ir.none);
    kc_var* unknown = param("unknown", ir.i32);
    kc_stmt* in_unused = give_back(NULL);
    start();
    kc_var* a = declare("a", ir.i32, NULL);
    kc_var* b = declare("b", ir.i32, NULL);
    call(inner, a, ARGS(get(n)));
    enter_if(is_less(lid, n));
    call(outer, b, ARGS(get(gid)));
    leave();
    analyse();
    assert_int_equal(q->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(p->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(t->uniformity, KC_UNIFORM_GROUP);
    assert_int_equal(a->uniformity, KC_UNIFORM_GROUP); /* one answer for all calls of inner */
    assert_int_equal(b->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(in_outer->control, KC_UNIFORM_VARYING);
    assert_int_equal(in_inner->control, KC_UNIFORM_VARYING);
    assert_int_equal(unknown->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(in_unused->control, KC_UNIFORM_VARYING);
}

static void variables_with_an_address_and_arrays(void** state)
{
    (void)state;
    start();
    const kc_type* ints = kc_type_array(ir.m, ir.i32, 4);
    const kc_type* to_int_type = kc_type_pointer(ir.m, ir.i32, KC_SPACE_PRIVATE, false, false, false);
    kc_var* taken = let("taken", number(1));
    kc_var* p = let("p", kc_ex_address(ir.m, kc_ex_var(ir.m, taken), to_int_type));
    kc_var* same = declare("same", ints, NULL);
    kc_var* differ = declare("differ", ints, NULL);
    kc_var* odd = declare("odd", ints, NULL);
    store(kc_ex_index(ir.m, kc_ex_var(ir.m, same), number(0)), get(n));
    store(kc_ex_index(ir.m, kc_ex_var(ir.m, differ), get(lid)), get(n));
    store(kc_ex_index(ir.m, kc_ex_var(ir.m, odd), number(0)), get(lid));
    kc_var* read = let("read", kc_ex_load(ir.m, kc_ex_index(ir.m, kc_ex_var(ir.m, same), get(gid))));
    analyse();
    assert_int_equal(taken->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(p->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(same->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(differ->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(odd->uniformity, KC_UNIFORM_VARYING);
    assert_int_equal(read->uniformity, KC_UNIFORM_GROUP);
}

static void atomics_differ(void** state)
{
    (void)state;
    start();
    const kc_type* to_global_int = kc_type_pointer(ir.m, ir.i32, KC_SPACE_GLOBAL, false, false, false);
    kc_var* counter = param("counter", to_global_int);
    kc_var* old = declare("old", ir.i32, NULL);
    kc_stmt* s = put(KC_ST_ATOMIC);
    s->atomic = KC_ATOMIC_INC;
    s->place = kc_ex_deref(ir.m, get(counter));
    s->result = old;
    analyse();
    assert_int_equal(old->uniformity, KC_UNIFORM_VARYING);
}

static void text_shows_it(void** state)
{
    (void)state;
    start();
    enter_if(is_less(lid, n));
    set(lid, number(0));
    leave();
    analyse();
    expect_text("\n"
                "kernel k(n: int @dispatch) {\n"
                "    let lid: int @varying = convert<int>(local_id(0))\n"
                "    let gid: int @group = convert<int>(group_id(0))\n"
                "    if lid < n {\n"
                "        lid = 0 // varying\n"
                "    }\n"
                "}\n");
}

/* Indices inside indices are looked at once each, and deep nesting of both kinds is no trouble. */
static void deep_trees(void** state)
{
    (void)state;
    start();
    const kc_type* ints = kc_type_array(ir.m, ir.i32, 4);
    kc_var* table = declare("table", ints, NULL);
    kc_expr* e = get(n);
    for (int i = 0; i < 400; i++)
        e = kc_ex_load(ir.m, kc_ex_index(ir.m, kc_ex_var(ir.m, table), e));
    kc_var* deep = let("deep", e);
    ir.here = &ir.f->body;
    kc_block* b = ir.here;
    kc_stmt* innermost = NULL;
    for (int i = 0; i < 900; i++) {
        innermost = kc_stmt_create(ir.m, KC_ST_LOOP, nowhere);
        innermost->value = is_less(gid, n);
        kc_block_append(b, innermost);
        b = &innermost->body;
    }
    analyse();
    assert_int_equal(deep->uniformity, KC_UNIFORM_DISPATCH);
    assert_int_equal(innermost->control, KC_UNIFORM_GROUP);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(values),
        TEST(required_workgroup_size_is_known),
        TEST(memory),
        TEST(branches),
        TEST(values_chase_each_other_backwards),
        TEST(uniform_loop),
        TEST(varying_break),
        TEST(varying_break_of_an_outer_loop),
        TEST(exit_of_a_block_around_a_loop),
        TEST(varying_continue_does_not_outlive_its_turn),
        TEST(variables_of_head_meet_continues_again),
        TEST(do_loop),
        TEST(switches),
        TEST(varying_return_of_a_kernel),
        TEST(varying_return_of_a_helper),
        TEST(helpers_join_their_calls),
        TEST(variables_with_an_address_and_arrays),
        TEST(atomics_differ),
        TEST(text_shows_it),
        TEST(deep_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
