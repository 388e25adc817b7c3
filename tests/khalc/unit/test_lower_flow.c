/* kc_lower_exits and kc_lower_barriers: shapes of control flow, before and after. */
#include "build_ir.h"
#include "lower.h"

static const kc_target narrow = {.name = "test", .has_pointers = true};

static kc_var *n, *lid, *out; /* of the kernel: a value parameter, the local id, memory that is written */

static void start(void)
{
    kernel("k");
    out = param("out", kc_type_pointer(ir.m, ir.i32, KC_SPACE_GLOBAL, false, false, false));
    n = param("n", ir.i32);
}

static void start_items(void)
{
    start();
    lid = declare("lid", ir.i32, query(KC_QUERY_LOCAL_ID));
}

static kc_expr* is(kc_var* v, int64_t value)
{
    return binary(KC_OP_EQ, get(v), number(value));
}

static kc_expr* below(kc_var* v, kc_expr* limit)
{
    return binary(KC_OP_LT, get(v), limit);
}

static void add(kc_var* v, int64_t by)
{
    set(v, binary(KC_OP_ADD, get(v), number(by)));
}

static void write_out(kc_expr* value)
{
    store(element(out, number(0)), value);
}

/* for (v; v < limit; v++) */
static kc_stmt* enter_for(kc_var* v, kc_expr* limit)
{
    kc_stmt* s = enter_loop(below(v, limit));
    enter(&s->step);
    add(v, 1);
    leave();
    return s;
}

static kc_stmt* enter_switch(kc_expr* value, uint32_t count)
{
    kc_stmt* s = put(KC_ST_SWITCH);
    s->value = value;
    s->case_count = count;
    s->cases = KC_NEW_ARRAY(ir.arena, kc_case, count);
    return s;
}

/* A case of one value; a negative one is the default. leave() ends it. */
static void enter_case(kc_stmt* s, uint32_t which, int64_t value, bool falls)
{
    kc_case* c = &s->cases[which];
    if (value < 0) {
        c->is_default = true;
    } else {
        c->values = KC_NEW_ARRAY(ir.arena, uint64_t, 1);
        c->values[0] = (uint64_t)value;
        c->value_count = 1;
    }
    c->falls_through = falls;
    enter(&c->body);
}

/* ---- what must hold afterwards */

typedef struct kc_around {
    const kc_stmt *breakable, *loop;
    uint32_t statements;
} kc_around;

static void count_break_of(kc_stmt* s, void* target)
{
    kc_stmt** t = target;
    if (s->kind == KC_ST_BREAK && s->target == t[0])
        t[1] = s;
}

static bool is_named(kc_stmt* block)
{
    kc_stmt* found[2] = {block, NULL};
    kc_block_walk(&block->body, count_break_of, found);
    return found[1] != NULL;
}

static void check_plain(kc_block* b, void* user)
{
    kc_around* around = user;
    for (kc_stmt* s = b->first; s; s = s->next) {
        kc_around inner = *around;
        inner.statements = 1;
        if (s->kind == KC_ST_BREAK)
            assert_ptr_equal(s->target, around->breakable);
        if (s->kind == KC_ST_CONTINUE)
            assert_ptr_equal(s->target, around->loop);
        if (kc_is_terminator(s))
            assert_null(s->next);
        if (s->kind == KC_ST_LOOP)
            inner.loop = s;
        if (s->kind == KC_ST_LOOP || s->kind == KC_ST_SWITCH || (s->kind == KC_ST_BLOCK && is_named(s)))
            inner.breakable = s;
        for (uint32_t i = 0; i < s->case_count; i++)
            assert_false(s->cases[i].falls_through);
        kc_stmt_walk_blocks(s, check_plain, &inner);
        around->statements += inner.statements;
    }
}

/* Lowers; returns how many statements the last function has. */
static uint32_t lower(void)
{
    assert_true(kc_verify_module(ir.m));
    assert_true(kc_lower_exits(ir.m, &narrow));
    assert_true(kc_verify_module(ir.m));
    kc_pass_uniformity(ir.m);
    assert_true(kc_lower_barriers(ir.m, &narrow));
    ir.m->has_uniformity = false;
    assert_true(kc_verify_module(ir.m));
    kc_around around = {0};
    for (kc_function* f = ir.m->functions; f; f = f->next) {
        around = (kc_around){0};
        check_plain(&f->body, &around);
    }
    return around.statements;
}

static void expect_lowered(const char* expected)
{
    lower();
    expect_text(expected);
}

static void expect_unchanged(void)
{
    const char* before = strchr(module_text(), '\n') + 1;
    lower();
    expect_text(before);
}

/* ---- exits */

static void a_break_that_crosses_a_switch(void** state)
{
    (void)state;
    start();
    kc_var* i = declare("i", ir.i32, number(0));
    kc_stmt* loop = enter_for(i, number(9));
    kc_stmt* sw = enter_switch(get(n), 2);
    enter_case(sw, 0, 1, false);
    break_of(loop);
    leave();
    enter_case(sw, 1, 2, false);
    continue_of(loop); /* crosses it by itself */
    leave();
    write_out(get(i));
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let i: int = 0\n"
        "    loop while i < 9 {\n"
        "        let leave: bool = false\n"
        "        switch n {\n"
        "        case 1 {\n"
        "            leave = true\n"
        "            break\n"
        "        }\n"
        "        case 2 {\n"
        "            continue\n"
        "        }\n"
        "        }\n"
        "        if leave {\n"
        "            break\n"
        "        }\n"
        "        out[0] = i\n"
        "    } step {\n"
        "        i = i + 1\n"
        "    }\n"
        "}\n");
}

static void a_continue_that_crosses_a_loop(void** state)
{
    (void)state;
    start();
    kc_var* i = declare("i", ir.i32, number(0));
    kc_stmt* outer = enter_for(i, number(9));
    kc_var* j = declare("j", ir.i32, number(0));
    enter_for(j, get(i));
    enter_if(is(j, 3));
    continue_of(outer);
    leave();
    leave();
    write_out(get(j));
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let i: int = 0\n"
        "    loop while i < 9 {\n"
        "        let j: int = 0\n"
        "        let skip: bool = false\n"
        "        loop while j < i {\n"
        "            if j == 3 {\n"
        "                skip = true\n"
        "                break\n"
        "            }\n"
        "        } step {\n"
        "            j = j + 1\n"
        "        }\n"
        "        if skip {\n"
        "            continue\n"
        "        }\n"
        "        out[0] = j\n"
        "    } step {\n"
        "        i = i + 1\n"
        "    }\n"
        "}\n");
}

static void what_comes_next_needs_no_flag(void** state)
{
    (void)state;
    start();
    kc_var* i = declare("i", ir.i32, number(0));
    kc_stmt* outer = enter_for(i, number(9));
    kc_stmt* block = enter_block();
    kc_var* j = declare("j", ir.i32, number(0));
    enter_for(j, get(i));
    enter_if(is(j, 3));
    continue_of(outer);
    leave();
    enter_if(is(j, 4));
    break_of(block);
    leave();
    add(j, 2);
    leave();
    leave();
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let i: int = 0\n"
        "    loop while i < 9 {\n"
        "        let j: int = 0\n"
        "        loop while j < i {\n"
        "            if j == 3 {\n"
        "                break\n"
        "            }\n"
        "            if j == 4 {\n"
        "                break\n"
        "            }\n"
        "            j = j + 2\n"
        "        } step {\n"
        "            j = j + 1\n"
        "        }\n"
        "    } step {\n"
        "        i = i + 1\n"
        "    }\n"
        "}\n");
}

static void what_is_never_passed_needs_no_flag(void** state)
{
    (void)state;
    start();
    kc_var* i = declare("i", ir.i32, number(0));
    kc_stmt* outer = enter_for(i, number(9));
    enter_loop(NULL);
    add(i, 1);
    enter_if(is(i, 7));
    break_of(outer);
    leave();
    leave();
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let i: int = 0\n"
        "    loop while i < 9 {\n"
        "        loop {\n"
        "            i = i + 1\n"
        "            if i == 7 {\n"
        "                break\n"
        "            }\n"
        "        }\n"
        "        break\n"
        "    } step {\n"
        "        i = i + 1\n"
        "    }\n"
        "}\n");
}

static void early_returns_of_helpers_become_elses(void** state)
{
    (void)state;
    kc_function* f = helper("f", ir.i32);
    kc_var* a = param("a", ir.i32);
    enter_if(is(a, 1));
    give_back(number(10));
    leave();
    enter_if(is(a, 2));
    add(a, 5);
    give_back(number(20));
    leave();
    kc_var* i = declare("i", ir.i32, number(0));
    enter_for(i, get(a));
    enter_if(is(i, 3));
    give_back(number(30));
    leave();
    leave();
    give_back(get(a));
    start();
    kc_var* r = declare("r", ir.i32, NULL);
    call(f, r, ARGS(get(n)));
    write_out(get(r));
    kc_pass_inline(ir.m, KC_INLINE_ALL);
    kc_pass_prune(ir.m);
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    var r: int\n"
        "    block {\n"
        "        let a: int = n\n"
        "        if a == 1 {\n"
        "            r = 10\n"
        "        } else {\n"
        "            if a == 2 {\n"
        "                a = a + 5\n"
        "                r = 20\n"
        "            } else {\n"
        "                let i: int = 0\n"
        "                let leave: bool = false\n"
        "                loop while i < a {\n"
        "                    if i == 3 {\n"
        "                        r = 30\n"
        "                        leave = true\n"
        "                        break\n"
        "                    }\n"
        "                } step {\n"
        "                    i = i + 1\n"
        "                }\n"
        "                if !leave {\n"
        "                    r = a\n"
        "                }\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "    out[0] = r\n"
        "}\n");
}

static void returns_stay(void** state)
{
    (void)state;
    start_items();
    kc_stmt* loop = enter_loop(NULL);
    enter_if(is(lid, 3));
    put(KC_ST_RETURN);
    leave();
    kc_stmt* sw = enter_switch(get(n), 1);
    enter_case(sw, 0, 1, false);
    put(KC_ST_RETURN);
    leave();
    add(lid, 1);
    (void)loop;
    leave();
    expect_unchanged();
}

static void cases_that_fall_through(void** state)
{
    (void)state;
    start();
    kc_var* r = declare("r", ir.i32, number(0));
    kc_stmt* sw = enter_switch(get(n), 7);
    enter_case(sw, 0, 1, true);
    leave();
    enter_case(sw, 1, 2, true);
    add(r, 1);
    leave();
    enter_case(sw, 2, 3, false);
    add(r, 2);
    leave();
    enter_case(sw, 3, 4, true);
    add(r, 3);
    leave();
    enter_case(sw, 4, -1, true);
    add(r, 4);
    enter_if(is(r, 4));
    break_of(sw);
    leave();
    leave();
    enter_case(sw, 5, 6, true);
    add(r, 5);
    leave();
    enter_case(sw, 6, 7, false);
    add(r, 6);
    leave();
    write_out(get(r));
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let r: int = 0\n"
        "    let chosen: int = n\n"
        "    switch chosen {\n"
        "    case 1, 2, 3 {\n"
        "        if (chosen == 1) || (chosen == 2) {\n"
        "            r = r + 1\n"
        "        }\n"
        "        r = r + 2\n"
        "    }\n"
        "    case 4, 6, 7 default {\n"
        "        let entered: bool = chosen == 4\n"
        "        if entered {\n"
        "            r = r + 3\n"
        "        }\n"
        "        entered = !((chosen == 6) || (chosen == 7))\n"
        "        if entered {\n"
        "            r = r + 4\n"
        "            if r == 4 {\n"
        "                break\n"
        "            }\n"
        "        }\n"
        "        entered = entered || (chosen == 6)\n"
        "        if entered {\n"
        "            r = r + 5\n"
        "        }\n"
        "        r = r + 6\n"
        "    }\n"
        "    }\n"
        "    out[0] = r\n"
        "}\n");
}

static void a_step_that_leaves_is_opened(void** state)
{
    (void)state;
    start();
    kc_var* i = declare("i", ir.i32, number(0));
    kc_stmt* loop = enter_loop(below(i, number(9)));
    enter_if(is(i, 3));
    continue_of(loop);
    leave();
    write_out(get(i));
    enter(&loop->step);
    add(i, 1);
    enter_if(is(i, 5));
    break_of(loop);
    leave();
    leave();
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let i: int = 0\n"
        "    loop while i < 9 {\n"
        "        if i != 3 {\n"
        "            out[0] = i\n"
        "        }\n"
        "        i = i + 1\n"
        "        if i == 5 {\n"
        "            break\n"
        "        }\n"
        "    }\n"
        "}\n");
}

static void a_loop_without_end_gets_a_condition(void** state)
{
    (void)state;
    start();
    enter_loop(NULL);
    write_out(number(1));
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let forever: bool = true\n"
        "    loop while forever {\n"
        "        out[0] = 1\n"
        "    }\n"
        "}\n");
}

static uint32_t size_of_nest(int depth)
{
    start();
    kc_stmt* loops[64];
    kc_var* i = declare("i", ir.i32, number(0));
    for (int d = 0; d < depth; d++) {
        loops[d] = enter_for(i, number(9));
        if (ir.depth > 14)
            ir.depth = 14; /* only the way in counts */
        enter_if(is(i, d));
        break_of(loops[0]);
        leave();
        enter_if(is(i, d + 100));
        continue_of(loops[d ? d - 1 : 0]);
        leave();
        write_out(number(d));
    }
    return lower();
}

static void size_is_linear(void** state)
{
    (void)state;
    const uint32_t small = size_of_nest(16);
    ir_teardown(NULL);
    ir_setup(NULL);
    const uint32_t large = size_of_nest(64);
    assert_true(large < small * 5);
}

/* ---- barriers */

static void uniform_control_flow_stays(void** state)
{
    (void)state;
    start_items();
    kc_var* in = param("in", kc_type_pointer(ir.m, ir.i32, KC_SPACE_GLOBAL, true, false, false));
    kc_var* i = declare("i", ir.i32, get(lid));
    enter_for(i, get(n)); /* the counter varies here */
    write_out(get(i));
    leave();
    set(i, number(0)); /* and here it doesn't */
    kc_stmt* tiles = enter_for(i, get(n));
    barrier();
    enter_if(below(lid, get(i)));
    write_out(get(lid));
    leave();
    enter_if(is(i, 5));
    break_of(tiles);
    leave();
    barrier();
    leave();
    kc_var* s = declare("s", ir.i32, query(KC_QUERY_LOCAL_SIZE));
    kc_stmt* halves = enter_loop(binary(KC_OP_GT, get(s), number(0)));
    barrier();
    enter(&halves->step);
    set(s, binary(KC_OP_SHR, get(s), number(1)));
    leave();
    leave();
    enter_if(binary(KC_OP_EQ, get(n), number(0)));
    put(KC_ST_RETURN);
    leave();
    kc_var* bound = declare("bound", ir.i32, kc_ex_load(ir.m, element(in, query(KC_QUERY_GROUP_ID))));
    kc_stmt* sw = enter_switch(get(bound), 1);
    enter_case(sw, 0, 3, false);
    barrier();
    leave();
    enter_if(is(lid, 1));
    put(KC_ST_RETURN); /* no barrier follows */
    leave();
    write_out(number(1));
    expect_unchanged();
}

static void returned_work_items_follow(void** state)
{
    (void)state;
    start_items();
    kc_var* i = declare("i", ir.i32, query(KC_QUERY_GLOBAL_ID));
    enter_if(binary(KC_OP_GE, get(i), get(n)));
    put(KC_ST_RETURN);
    leave();
    kc_var* x = declare("x", ir.i32, kc_ex_load(ir.m, element(out, get(i))));
    kc_var* k = declare("k", ir.i32, number(0));
    enter_for(k, get(n)); /* stays a plain loop */
    barrier();
    add(x, 1);
    barrier();
    leave();
    store(element(out, get(i)), get(x));
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    let running: bool = true\n"
        "    let lid: int = convert<int>(local_id(0))\n"
        "    let i: int = convert<int>(global_id(0))\n"
        "    var x: int\n"
        "    if i >= n {\n"
        "        running = false\n"
        "    } else {\n"
        "        x = out[i]\n"
        "    }\n"
        "    let k: int = 0\n"
        "    loop while k < n {\n"
        "        barrier(local)\n"
        "        x = x + 1\n"
        "        barrier(local)\n"
        "    } step {\n"
        "        k = k + 1\n"
        "    }\n"
        "    if running {\n"
        "        out[i] = x\n"
        "    }\n"
        "}\n");
}

static void a_loop_goes_on_while_anyone_does(void** state)
{
    (void)state;
    start_items();
    kc_var* more = kc_local_add(ir.m, ir.f, "more", ir.i32, nowhere);
    kc_stmt* loop = enter_loop(binary(KC_OP_NE, get(more), number(0)));
    barrier();
    enter_if(is(lid, 2));
    continue_of(loop);
    leave();
    write_out(get(lid));
    barrier();
    leave();
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    local more: int\n"
        "    local vote: uint\n"
        "    let poll: uint = 0u\n"
        "    vote = 0u\n"
        "    barrier(local)\n"
        "    let lid: int = convert<int>(local_id(0))\n"
        "    let in_loop: bool = true\n"
        "    loop head {\n"
        "        in_loop = in_loop && (more != 0)\n"
        "        poll = poll + 1u\n"
        "        if in_loop {\n"
        "            vote = poll\n"
        "        }\n"
        "        var answer: uint\n"
        "        answer = broadcast(vote)\n"
        "    } while answer == poll {\n"
        "        let in_round: bool = in_loop\n"
        "        barrier(local)\n"
        "        if in_round {\n"
        "            if lid == 2 {\n"
        "                in_round = false\n"
        "            } else {\n"
        "                out[0] = lid\n"
        "            }\n"
        "        }\n"
        "        barrier(local)\n"
        "    }\n"
        "}\n");
}

static void a_branch_is_entered_where_anyone_enters(void** state)
{
    (void)state;
    start_items();
    kc_var* x = declare("x", ir.i32, number(1));
    barrier();
    kc_stmt* s = enter_if(binary(KC_OP_NE, kc_ex_load(ir.m, element(out, number(0))), number(0)));
    add(x, 2);
    kc_var* y = declare("y", ir.i32, get(x));
    kc_var* t = declare("t", ir.i32, get(lid));
    barrier();
    set(x, binary(KC_OP_ADD, get(y), get(x)));
    leave();
    enter(&s->orelse);
    set(x, get(lid));
    leave();
    (void)t;
    write_out(get(x));
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    local vote: uint\n"
        "    let poll: uint = 0u\n"
        "    vote = 0u\n"
        "    let lid: int = convert<int>(local_id(0))\n"
        "    let x: int = 1\n"
        "    barrier(local)\n"
        "    let in_then: bool = out[0] != 0\n"
        "    let in_else: bool = !in_then\n"
        "    poll = poll + 1u\n"
        "    if in_then {\n"
        "        vote = poll\n"
        "    }\n"
        "    var answer: uint\n"
        "    answer = broadcast(vote)\n"
        "    if answer == poll {\n"
        "        var y: int\n"
        "        if in_then {\n"
        "            x = x + 2\n"
        "            y = x\n"
        "            let t: int = lid\n"
        "        }\n"
        "        barrier(local)\n"
        "        if in_then {\n"
        "            x = y + x\n"
        "        }\n"
        "    }\n"
        "    if in_else {\n"
        "        x = lid\n"
        "    }\n"
        "    out[0] = x\n"
        "}\n");
}

static void cases_become_branches(void** state)
{
    (void)state;
    start_items();
    kc_var* x = declare("x", ir.i32, number(1));
    kc_stmt* sw = enter_switch(get(lid), 2);
    enter_case(sw, 0, 1, false);
    barrier();
    add(x, 1);
    leave();
    enter_case(sw, 1, -1, false);
    enter_if(is(n, 2));
    break_of(sw); /* all who are here, but others wait for their case */
    leave();
    add(x, 2);
    leave();
    barrier();
    write_out(get(x));
    expect_lowered(
        "\n"
        "kernel k(out: global int*, n: int) {\n"
        "    local vote: uint\n"
        "    let poll: uint = 0u\n"
        "    vote = 0u\n"
        "    barrier(local)\n"
        "    let lid: int = convert<int>(local_id(0))\n"
        "    let x: int = 1\n"
        "    var in_case: bool\n"
        "    block {\n"
        "        in_case = lid == 1\n"
        "        poll = poll + 1u\n"
        "        if in_case {\n"
        "            vote = poll\n"
        "        }\n"
        "        var answer: uint\n"
        "        answer = broadcast(vote)\n"
        "        if answer == poll {\n"
        "            barrier(local)\n"
        "            if in_case {\n"
        "                x = x + 1\n"
        "            }\n"
        "        }\n"
        "        in_case = lid != 1\n"
        "        if in_case {\n"
        "            if n == 2 {\n"
        "                in_case = false\n"
        "            } else {\n"
        "                x = x + 2\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "    barrier(local)\n"
        "    out[0] = x\n"
        "}\n");
}

static void kernels_without_barriers_are_left_alone(void** state)
{
    (void)state;
    start_items();
    enter_if(below(lid, get(n)));
    put(KC_ST_RETURN);
    leave();
    write_out(get(lid));
    expect_unchanged();
}

static void targets_switch_passes_off(void** state)
{
    (void)state;
    const kc_target wide = {
        .name = "all", .has_labels = true, .has_fall_through = true, .has_free_barriers = true};
    start_items();
    kc_stmt* loop = enter_loop(NULL);
    kc_stmt* sw = enter_switch(get(lid), 2);
    enter_case(sw, 0, 1, true);
    add(lid, 1);
    leave();
    enter_case(sw, 1, 2, false);
    barrier();
    break_of(loop);
    leave();
    leave();
    const char* before = module_text();
    assert_true(kc_lower_exits(ir.m, &wide));
    kc_pass_uniformity(ir.m);
    assert_true(kc_lower_barriers(ir.m, &wide));
    ir.m->has_uniformity = false;
    assert_string_equal(module_text(), before);
}

static uint32_t size_of_masked_nest(int depth)
{
    start_items();
    kc_var* i = declare("i", ir.i32, number(0));
    for (int d = 0; d < depth; d++) {
        if (ir.depth > 12)
            ir.depth = 12;
        enter_for(i, get(lid));
        enter_if(is(lid, d));
        put(KC_ST_RETURN);
        leave();
        barrier();
    }
    return lower();
}

static void size_of_masks_is_linear(void** state)
{
    (void)state;
    const uint32_t small = size_of_masked_nest(10);
    ir_teardown(NULL);
    ir_setup(NULL);
    const uint32_t large = size_of_masked_nest(20);
    assert_true(large < small * 5 / 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ir_setup, ir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_break_that_crosses_a_switch),
        TEST(a_continue_that_crosses_a_loop),
        TEST(what_comes_next_needs_no_flag),
        TEST(what_is_never_passed_needs_no_flag),
        TEST(early_returns_of_helpers_become_elses),
        TEST(returns_stay),
        TEST(cases_that_fall_through),
        TEST(a_step_that_leaves_is_opened),
        TEST(a_loop_without_end_gets_a_condition),
        TEST(size_is_linear),
        TEST(uniform_control_flow_stays),
        TEST(returned_work_items_follow),
        TEST(a_loop_goes_on_while_anyone_does),
        TEST(a_branch_is_entered_where_anyone_enters),
        TEST(cases_become_branches),
        TEST(kernels_without_barriers_are_left_alone),
        TEST(targets_switch_passes_off),
        TEST(size_of_masks_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
