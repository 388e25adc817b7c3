/* Every builtin has a way to be written in WGSL, and what that names is in khalc/wgsl. */
#include "build_ir.h"

#include <ctype.h>
#include <stdio.h>

#include "emit_wgsl_builtin.h"

extern const char* const kc_wgsl_library_lines[];

typedef enum class {
    FLOAT,
    FLOAT_INT,
    TO_INT,
    INTEGER,
    ANY,
    ABS,
    RELATION,
    REDUCE,
    GEOMETRY,
    OTHER,
    PAIR,
} class;

static const struct {
    const char* name;
    uint32_t arg_count;
    class class;
} builtins[] = {
#define KC_BUILTIN(id, name, args, klass) {name, args, klass},
#include "builtins.def"
#undef KC_BUILTIN
};

/* How many parameters the library's function has; -1: there is none. */
static int parameters(const char* name)
{
    char head[96];
    const int size = snprintf(head, sizeof head, "fn %s(", name);
    for (const char* const* line = kc_wgsl_library_lines; *line; line++) {
        if (strncmp(*line, head, (size_t)size) != 0)
            continue;
        int count = (*line)[size] != ')';
        for (const char* p = *line + size; *p && *p != ')'; p++)
            count += *p == ',';
        return count;
    }
    return -1;
}

static void library_has(const char* name, uint32_t arg_count)
{
    const int found = parameters(name);
    if (found != (int)arg_count)
        fail_msg("%s: %u arguments are needed, the library's has %d", name, arg_count, found);
}

/* The text with $n and $r replaced by numbers of lanes, and $t, $i and $u by a word. */
static void expand(char* out, const char* text, uint32_t lanes, uint32_t result_lanes)
{
    for (; *text; text++) {
        if (*text != '$' || isdigit((unsigned char)text[1])) {
            *out++ = *text;
            continue;
        }
        text++;
        if (*text == 'n' || *text == 'r') {
            *out++ = (char)('0' + (*text == 'n' ? lanes : result_lanes));
        } else {
            assert_non_null(strchr("tiu", *text));
            *out++ = 'T';
        }
    }
    *out = 0;
}

static void check_text(const char* builtin, const kc_wgsl_call* call, uint32_t arg_count,
                       uint32_t lanes, uint32_t result_lanes)
{
    char text[256];
    assert_true(strlen(call->text) < sizeof text / 2);
    expand(text, call->text, lanes, result_lanes);
    uint32_t next = 0;
    for (const char* p = text; (p = strchr(p, '$')); p++)
        if ((uint32_t)(p[1] - '0') != next++)
            fail_msg("%s: \"%s\": arguments are not in order", builtin, call->text);
    if (next != arg_count)
        fail_msg("%s: \"%s\" has %u arguments, not %u", builtin, call->text, next, arg_count);
    const char* name = strstr(text, "khal_");
    if (!name)
        return;
    char function[96];
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || name[size] == '_')
        size++;
    snprintf(function, sizeof function, "%.*s", (int)size, name);
    uint32_t given = 0, depth = 0;
    for (const char* p = name + size; *p; p++) {
        depth += *p == '(';
        given += depth == 1 && (*p == ',' || *p == ')');
        depth -= *p == ')';
        if (depth == 0)
            break;
    }
    library_has(function, given);
}

static void check(kc_builtin id, const kc_type* type, uint32_t result_lanes)
{
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        kc_wgsl_call call;
        if (kc_wgsl_builtin(id, type, relaxed, &call)) {
            check_text(builtins[id].name, &call, builtins[id].arg_count, kc_lane_count(type),
                       result_lanes);
            assert_int_equal(call.gives_bool,
                             builtins[id].class == RELATION || builtins[id].class == REDUCE);
        } else {
            char name[96];
            snprintf(name, sizeof name, "khal_%s", builtins[id].name);
            library_has(name, builtins[id].arg_count);
        }
    }
}

static void check_widths(kc_builtin id, const kc_type* lane, uint32_t least)
{
    for (uint32_t lanes = least; lanes <= 4; lanes++) {
        const kc_type* type = lanes == 1 ? lane : kc_type_vector(ir.m, lane, lanes);
        check(id, type, lanes);
    }
}

static void every_builtin_is_there(void** state)
{
    (void)state;
    for (kc_builtin id = 0; id < KC_BUILTIN_COUNT; id++) {
        switch (builtins[id].class) {
        case FLOAT:
        case FLOAT_INT:
        case TO_INT:
        case RELATION: check_widths(id, ir.f32, 1); break;
        case GEOMETRY: check_widths(id, ir.f32, id == KC_BUILTIN_CROSS ? 3 : 1); break;
        case ANY: check_widths(id, ir.f32, 1); /* fall through */
        case INTEGER:
        case ABS:
        case REDUCE:
            check_widths(id, ir.i32, 1);
            check_widths(id, ir.u32, 1);
            break;
        case OTHER:
        case PAIR: break;
        }
    }
}

static void the_odd_ones(void** state)
{
    (void)state;
    check_widths(KC_BUILTIN_NAN, ir.u32, 1);
    check_widths(KC_BUILTIN_HALF_TO_FLOAT, ir.u32, 1);
    check_widths(KC_BUILTIN_FLOAT_TO_HALF, ir.f32, 1);
    const kc_type* const lanes[] = {ir.f32, ir.i32, ir.u32};
    for (size_t i = 0; i < 3; i++) {
        check_widths(KC_BUILTIN_SELECT, lanes[i], 1);
        for (uint32_t from = 2; from <= 4; from += 2)
            for (uint32_t to = 2; to <= 4; to += 2) {
                check(KC_BUILTIN_SHUFFLE, kc_type_vector(ir.m, lanes[i], from), to);
                check(KC_BUILTIN_SHUFFLE2, kc_type_vector(ir.m, lanes[i], from), to);
            }
    }
    const kc_type* pair = kc_type_vector(ir.m, ir.u32, 2);
    for (kc_builtin id = 0; id < KC_BUILTIN_COUNT; id++)
        if (builtins[id].class == PAIR)
            check(id, pair, 2);
}

static void what_a_call_says(void** state)
{
    (void)state;
    kc_wgsl_call call;
    assert_true(kc_wgsl_builtin(KC_BUILTIN_SIN, ir.f32, false, &call));
    assert_string_equal(call.text, "khal_sin($0)");
    assert_true(call.per_lane && !call.is_operator && !call.gives_bool);
    assert_true(kc_wgsl_builtin(KC_BUILTIN_SIN, ir.f32x4, true, &call));
    assert_string_equal(call.text, "sin($0)");
    assert_false(call.per_lane);
    assert_true(kc_wgsl_builtin(KC_BUILTIN_MAD, ir.f32x4, false, &call));
    assert_true(call.is_operator && !call.per_lane);
    assert_true(kc_wgsl_builtin(KC_BUILTIN_ISNAN, ir.f32x4, true, &call));
    assert_true(call.gives_bool && call.per_lane);
    assert_true(kc_wgsl_builtin(KC_BUILTIN_ANY, ir.i32x4, false, &call));
    assert_true(call.gives_bool && !call.per_lane);
    assert_false(kc_wgsl_builtin(KC_BUILTIN_ROUND_HALF, ir.f32, false, &call));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_builtin_is_there, ir_setup, ir_teardown),
        cmocka_unit_test_setup_teardown(the_odd_ones, ir_setup, ir_teardown),
        cmocka_unit_test_setup_teardown(what_a_call_says, ir_setup, ir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
