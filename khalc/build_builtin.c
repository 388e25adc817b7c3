/* Builtin functions that compute a value, those with an out-parameter among them. */
#include <math.h>
#include <string.h>

#include "build_internal.h"

typedef enum kc_class {
    FLOAT,
    FLOAT_INT,
    TO_INT,
    INTEGER,
    ANY,
    ABS,
    RELATION,
    REDUCE,
    GEOMETRY,
    PAIR,
    OTHER,
} kc_class;

typedef struct kc_builtin_info {
    const char* name;
    uint32_t count;
    kc_class class;
} kc_builtin_info;

static const kc_builtin_info infos[KC_BUILTIN_COUNT] = {
#define KC_BUILTIN(id, name, args, klass) {name, args, klass},
#include "builtins.def"
#undef KC_BUILTIN
};

/* Parts of functions with an out-parameter, and what lowering makes: names of the IR, not of the
 * language. */
static bool is_part(kc_builtin id)
{
    return id == KC_BUILTIN_FRACT || id == KC_BUILTIN_FREXP_MANT || id == KC_BUILTIN_FREXP_EXP ||
           id == KC_BUILTIN_LGAMMA_SIGN || id == KC_BUILTIN_MODF_FRAC ||
           id == KC_BUILTIN_REMQUO_QUO || id >= KC_BUILTIN_ROUND_HALF;
}

static bool find_builtin(const char* name, kc_builtin* out)
{
    for (int id = 0; id < KC_BUILTIN_COUNT; id++)
        if (!is_part((kc_builtin)id) && strcmp(infos[id].name, name) == 0) {
            *out = (kc_builtin)id;
            return true;
        }
    return false;
}

static kc_expr* located(kc_expr* e, kc_loc loc)
{
    if (e)
        e->loc = loc;
    return e;
}

static kc_expr* build_builtin(kc_builder* b, const kc_call* call, kc_builtin id)
{
    const kc_builtin_info* info = &infos[id];
    kc_expr* args[3];
    if (call->count != info->count || call->count > 3)
        return kc_build_wrong_call(b, call);
    const kc_type* result = kc_build_plain_type(b, &call->result, call->loc);
    if (!kc_build_arguments(b, call, args) || !result)
        return NULL;
    for (uint32_t i = 0; i < call->count; i++) {
        const kc_type* wanted = args[i]->type;
        switch (info->class) {
        case FLOAT:
        case INTEGER:
        case ANY: wanted = result; break;
        case FLOAT_INT:
            wanted =
                i + 1 < call->count ? result : kc_type_with_lane(b->m, result, kc_build_int(b));
            break;
        default: break;
        }
        if (!kc_is_scalar(args[i]->type) && !kc_is_vector(args[i]->type))
            return kc_build_wrong_call(b, call);
        args[i] = args[i]->type == wanted ? args[i] : kc_build_widen(b, args[i], wanted);
        if (!args[i])
            return kc_build_wrong_call(b, call);
    }
    const bool is_float = info->class == FLOAT || info->class == FLOAT_INT;
    if ((is_float && !kc_is_float(result)) || (info->class == INTEGER && !kc_is_integer(result)))
        return kc_build_wrong_call(b, call);
    return kc_ex_builtin(b->m, id, result, call->count, args);
}

/* ---- functions with an out-parameter --------------------------------------------------------- */

/* A value that may be written twice without being computed twice. */
static kc_expr* shared(kc_builder* b, kc_expr* e)
{
    const bool is_simple =
        e->kind == KC_EX_CONST || (e->kind == KC_EX_LOAD && e->args[0]->kind == KC_EX_VAR);
    return is_simple ? e : kc_build_hoist(b, e, "x");
}

static kc_expr* build_split(kc_builder* b, const kc_call* call, kc_builtin value_id,
                            kc_builtin store_id)
{
    kc_expr* args[3];
    if (call->count < 2 || call->count > 3 || !b->block)
        return kc_build_wrong_call(b, call);
    if (!kc_build_arguments(b, call, args))
        return NULL;
    const uint32_t count = call->count - 1; /* without the pointer */
    kc_expr* again[2];
    for (uint32_t i = 0; i < count; i++) {
        args[i] = shared(b, args[i]);
        if (!args[i])
            return NULL;
        again[i] = kc_ex_clone(b->m, args[i]);
    }
    kc_expr* place = kc_build_deref(b, args[count], call->loc);
    if (!place)
        return NULL;
    const kc_type* type = args[0]->type;
    const bool to_int = infos[store_id].class == TO_INT;
    const kc_type* stored = to_int ? kc_type_with_lane(b->m, type, kc_build_int(b)) : type;
    if (!kc_is_float(type) || place->type != stored)
        return kc_build_wrong_call(b, call);
    kc_expr* value =
        located(kc_ex_builtin(b->m, value_id, type, infos[value_id].count, args), call->loc);
    /* kept before the store, which may be to an operand */
    if (call->is_used)
        value = kc_build_hoist(b, value, call->name);
    kc_st_assign(
        b->m, b->block, place,
        located(kc_ex_builtin(b->m, store_id, stored, infos[store_id].count, again), call->loc),
        call->loc);
    return call->is_used ? value : kc_build_nothing(b);
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* convert_TYPE[_sat][_rte|_rtz|_rtp|_rtn] */
static kc_expr* build_convert(kc_builder* b, const kc_call* call)
{
    const kc_type* type = kc_build_plain_type(b, &call->result, call->loc);
    kc_expr* value = call->count == 1 ? kc_build_value(b, call->args[0]) : NULL;
    if (!type || !value)
        return call->count == 1 ? NULL : kc_build_wrong_call(b, call);
    const char* suffix = strchr(call->name + strlen("convert_"), '_');
    kc_round round = KC_ROUND_DEFAULT;
    bool saturate = false;
    if (suffix && strncmp(suffix, "_sat", 4) == 0) {
        saturate = true;
        suffix += 4;
    }
    static const char* const modes[] = {"_rte", "_rtz", "_rtp", "_rtn"};
    static const kc_round rounds[] = {KC_ROUND_EVEN, KC_ROUND_ZERO, KC_ROUND_UP, KC_ROUND_DOWN};
    for (int i = 0; i < 4 && suffix && *suffix; i++)
        if (strcmp(suffix, modes[i]) == 0) {
            round = rounds[i];
            suffix = NULL;
        }
    if ((suffix && *suffix) || kc_lane_count(value->type) != kc_lane_count(type) ||
        (!kc_is_scalar(value->type) && !kc_is_vector(value->type)) ||
        (saturate && kc_is_float(type)))
        return kc_build_wrong_call(b, call);
    if (value->type == type)
        return value;
    if (round == KC_ROUND_DEFAULT && !saturate)
        return kc_build_convert(b, value, type);
    return kc_ex_convert(b->m, type, value, round, saturate);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool build_query(kc_builder* b, const kc_call* call, kc_expr** out)
{
    static const struct {
        const char* name;
        kc_query query;
    } queries[] = {
        {"get_work_dim", KC_QUERY_WORK_DIM},   {"get_global_size", KC_QUERY_GLOBAL_SIZE},
        {"get_global_id", KC_QUERY_GLOBAL_ID}, {"get_local_size", KC_QUERY_LOCAL_SIZE},
        {"get_local_id", KC_QUERY_LOCAL_ID},   {"get_num_groups", KC_QUERY_NUM_GROUPS},
        {"get_group_id", KC_QUERY_GROUP_ID},   {"get_global_offset", KC_QUERY_GLOBAL_OFFSET},
    };
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        if (strcmp(queries[i].name, call->name) != 0)
            continue;
        const uint32_t wanted = queries[i].query == KC_QUERY_WORK_DIM ? 0 : 1;
        if (call->count != wanted) {
            *out = kc_build_wrong_call(b, call);
            return true;
        }
        kc_expr* dimension = wanted ? kc_build_value(b, call->args[0]) : NULL;
        if (dimension && dimension->type->kind != KC_TYPE_INT)
            *out = kc_build_wrong_call(b, call);
        else
            *out = wanted && !dimension ? NULL : kc_ex_work_item(b->m, queries[i].query, dimension);
        return true;
    }
    return false;
}

/* half_x is the full function; half_divide and half_recip are the operators. */
static bool build_half(kc_builder* b, const kc_call* call, kc_expr** out)
{
    const char* name = call->name + strlen("half_");
    const bool is_divide = strcmp(name, "divide") == 0, is_recip = strcmp(name, "recip") == 0;
    kc_builtin id;
    if (is_divide || is_recip) {
        kc_expr* args[2];
        if (call->count != (is_divide ? 2u : 1u)) {
            *out = kc_build_wrong_call(b, call);
            return true;
        }
        if (!kc_build_arguments(b, call, args)) {
            *out = NULL;
            return true;
        }
        if (is_recip) {
            args[1] = args[0];
            args[0] = kc_build_widen(
                b, located(kc_ex_const_float(b->m, kc_lane(args[1]->type), 1), call->loc),
                args[1]->type);
        }
        const bool is_ok = args[0] && args[0]->type == args[1]->type && kc_is_float(args[0]->type);
        *out =
            is_ok ? kc_ex_binary(b->m, KC_OP_DIV, args[0], args[1]) : kc_build_wrong_call(b, call);
        return true;
    }
    static const char* const names[] = {"cos",   "exp",  "exp2",  "exp10", "log",  "log2",
                                        "log10", "powr", "rsqrt", "sin",   "sqrt", "tan"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0 && find_builtin(name, &id)) {
            *out = build_builtin(b, call, id);
            return true;
        }
    return false;
}

static bool build_compiler_builtin(kc_builder* b, const kc_call* call, kc_expr** out)
{
    const char* name = call->name + strlen("__builtin_");
    const bool is_infinity = strcmp(name, "inff") == 0 || strcmp(name, "inf") == 0 ||
                             strcmp(name, "huge_valf") == 0 || strcmp(name, "huge_val") == 0;
    const bool is_nan = strcmp(name, "nanf") == 0 || strcmp(name, "nan") == 0;
    if (is_infinity || is_nan) {
        const kc_type* type = kc_build_plain_type(b, &call->result, call->loc);
        const bool is_ok = type && type->kind == KC_TYPE_FLOAT;
        *out =
            is_ok ? kc_ex_const_float(b->m, type, is_nan ? (double)NAN : (double)INFINITY) : NULL;
        if (type && !is_ok)
            *out = kc_build_wrong_call(b, call);
        return true;
    }
    if (strcmp(name, "expect") == 0 && call->count == 2) {
        *out = kc_build_value(b, call->args[0]);
        return true;
    }
    if (strcmp(name, "assume") == 0 ||
        strcmp(name, "unreachable") == 0) { /* promises that nothing here relies on */
        *out = kc_build_nothing(b);
        return true;
    }
    return false;
}

bool kc_build_pure_builtin(kc_builder* b, const kc_call* call, kc_expr** out)
{
    static const struct {
        const char* name;
        kc_builtin value, store;
    } splits[] = {
        {"fract", KC_BUILTIN_FRACT, KC_BUILTIN_FLOOR},
        {"frexp", KC_BUILTIN_FREXP_MANT, KC_BUILTIN_FREXP_EXP},
        {"modf", KC_BUILTIN_MODF_FRAC, KC_BUILTIN_TRUNC},
        {"sincos", KC_BUILTIN_SIN, KC_BUILTIN_COS},
        {"remquo", KC_BUILTIN_REMAINDER, KC_BUILTIN_REMQUO_QUO},
        {"lgamma_r", KC_BUILTIN_LGAMMA, KC_BUILTIN_LGAMMA_SIGN},
    };
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++)
        if (strcmp(splits[i].name, call->name) == 0) {
            *out = build_split(b, call, splits[i].value, splits[i].store);
            return true;
        }
    if (strncmp(call->name, "convert_", 8) == 0) {
        *out = build_convert(b, call);
        return true;
    }
    if (strncmp(call->name, "half_", 5) == 0)
        return build_half(b, call, out);
    if (strncmp(call->name, "__builtin_", 10) == 0)
        return build_compiler_builtin(b, call, out);
    if (build_query(b, call, out))
        return true;
    kc_builtin id;
    if (!find_builtin(call->name, &id))
        return false;
    *out = build_builtin(b, call, id);
    return true;
}
