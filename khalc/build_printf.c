/* printf: its format is checked against its arguments here, and made to agree with them exactly. */
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"
#include "text.h"

enum { KC_MAX_PRINTF_ARGS = 64 };

typedef struct kc_format_state {
    kc_builder* b;
    const kc_call* call;
    kc_text text; /* the format, with length modifiers that fit the arguments */
    kc_expr* args[KC_MAX_PRINTF_ARGS];
    uint32_t count;  /* arguments used */
    const char* why; /* of a refusal */
} kc_format_state;

static bool refuse(kc_format_state* f, const char* why)
{
    f->why = why;
    return false;
}

static kc_expr* next_argument(kc_format_state* f)
{
    const uint32_t at = f->count + 1; /* after the format */
    if (at >= f->call->count || f->count == KC_MAX_PRINTF_ARGS) {
        refuse(f, f->count == KC_MAX_PRINTF_ARGS ? "too many arguments" : "an argument is missing");
        return NULL;
    }
    return kc_build_value(f->b, f->call->args[at]);
}

/* A length modifier, 0 for none: what it says of the width of an integer or a vector's lanes. */
static uint32_t take_length(const char** s)
{
    static const struct {
        const char* text;
        uint32_t width;
    } lengths[] = {{"hh", 8}, {"hl", 32}, {"h", 16}, {"ll", 64},
                   {"l", 64}, {"z", 64},  {"j", 64}, {"t", 64}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (strncmp(*s, lengths[i].text, strlen(lengths[i].text)) == 0) {
            *s += strlen(lengths[i].text);
            return lengths[i].width;
        }
    return 0;
}

static const char* length_text(uint32_t width, bool is_vector)
{
    if (width == 64)
        return "l";
    if (!is_vector)
        return "";
    return width == 8 ? "hh" : width == 16 ? "h" : "hl";
}

static bool take_number(kc_format_state* f, char conversion, uint32_t length, uint32_t lanes,
                        kc_expr* e)
{
    kc_builder* b = f->b;
    const bool wants_float = strchr("fFeEgGaA", conversion) != NULL;
    e = kc_build_from_bool(b, e);
    if (wants_float ? !kc_is_float(e->type) : !kc_is_integer(e->type))
        return refuse(f, wants_float ? "a floating conversion has another kind of argument"
                                     : "an integer conversion has another kind of argument");
    if (kc_lane_count(e->type) != (lanes ? lanes : 1))
        return refuse(f, "the number of vector components is not that of the argument");
    const kc_type* lane = kc_lane(e->type);
    const kc_type* wanted = lane;
    if (lanes) {
        if (length && (!wants_float || length > 8))
            wanted = wants_float ? kc_type_float(b->m, length)
                                 : kc_type_int(b->m, length, lane->is_signed);
        kc_put(&f->text, length_text(wanted->width, true));
    } else if (wants_float) { /* promoted; a `double` by clang, where the device has it */
    } else {
        const bool is_signed = conversion == 'd' || conversion == 'i' || conversion == 'c';
        wanted = kc_type_int(b->m, length == 64 ? 64 : 32, is_signed);
        if (length == 8 || length == 16) /* %hhx prints the low bits alone */
            e = kc_build_convert(b, e, kc_type_int(b->m, length, is_signed));
        kc_put(&f->text, length_text(wanted->width, false));
    }
    kc_putn(&f->text, &conversion, 1);
    f->args[f->count++] = kc_build_convert(b, e, kc_type_with_lane(b->m, e->type, wanted));
    return true;
}

static bool take_pointer(kc_format_state* f, char conversion, kc_expr* e)
{
    if (!kc_is_pointer(e->type))
        return refuse(f, conversion == 's' ? "%s wants a string literal" : "%p wants a pointer");
    if (conversion == 's' &&
        (e->type->space != KC_SPACE_CONSTANT || e->type->element->kind != KC_TYPE_INT ||
         e->type->element->width != 8))
        return refuse(f, "%s wants a string literal");
    kc_putn(&f->text, &conversion, 1);
    f->args[f->count++] = e;
    return true;
}

/* One conversion, from after its '%'. Moves *s behind it. */
static bool take_conversion(kc_format_state* f, const char** s)
{
    const char* start = *s;
    if (**s == '%') {
        kc_put(&f->text, "%%");
        ++*s;
        return true;
    }
    *s += strspn(*s, "-+ #0");
    *s += strspn(*s, "0123456789");
    if (**s == '.')
        *s += 1 + strspn(*s + 1, "0123456789");
    if (**s == '*')
        return refuse(f, "OpenCL C has no '*' for widths");
    if (*s - start > 32)
        return refuse(f, "a conversion is too long");
    kc_put(&f->text, "%");
    kc_putn(&f->text, start, (size_t)(*s - start));
    uint32_t lanes = 0;
    if (**s == 'v') {
        char* end;
        lanes = (uint32_t)strtoul(*s + 1, &end, 10);
        if (lanes != 2 && lanes != 3 && lanes != 4 && lanes != 8 && lanes != 16)
            return refuse(f, "a vector has 2, 3, 4, 8 or 16 components");
        kc_putf(&f->text, "v%u", lanes);
        *s = end;
    }
    const uint32_t length = take_length(s);
    const char conversion = **s;
    if (!conversion || !strchr("diouxXfFeEgGaAcsp", conversion))
        return refuse(f, "an unknown conversion");
    ++*s;
    if (lanes && strchr("csp", conversion))
        return refuse(f, "vectors are of numbers");
    kc_expr* e = next_argument(f);
    if (!e)
        return false;
    if (conversion == 's' || conversion == 'p')
        return take_pointer(f, conversion, e);
    return take_number(f, conversion, length, lanes, e);
}

kc_expr* kc_build_printf(kc_builder* b, const kc_call* call)
{
    const kc_node* literal = call->count ? kc_strip_casts(call->args[0]) : NULL;
    char* format = NULL;
    size_t size = 0;
    if (!literal || literal->kind != KC_NODE_StringLiteral || !literal->value ||
        !kc_build_unescape(b, literal->value, &format, &size) || memchr(format, 0, size))
        return kc_build_error(b, call->loc, KC_DIAG_PRINTF,
                              "the format of printf must be a string literal, without a 0 in it");
    if (!b->block)
        return kc_build_error(b, call->loc, KC_DIAG_INITIALIZER,
                              "printf in a constant initialiser");
    kc_format_state f = {.b = b, .call = call};
    bool is_ok = true;
    for (const char* s = format; *s && is_ok;) {
        const size_t plain = strcspn(s, "%");
        kc_putn(&f.text, s, plain);
        s += plain;
        if (*s == '%') {
            s++;
            is_ok = take_conversion(&f, &s);
        }
    }
    /* arguments that the format does not speak of are evaluated and dropped, as in C */
    for (uint32_t i = f.count + 1; i < call->count && is_ok; i++)
        is_ok = kc_build_effect(b, call->args[i]);
    kc_stmt* s = NULL;
    if (is_ok) {
        s = kc_stmt_create(b->m, KC_ST_PRINTF, call->loc);
        s->format = kc_strndup(b->arena, f.text.data ? f.text.data : "", f.text.size);
        s->format_size = f.text.size;
        s->arg_count = f.count;
        s->args = KC_NEW_ARRAY(b->arena, kc_expr*, f.count);
        if (f.count)
            memcpy(s->args, f.args, sizeof *s->args * f.count);
        kc_block_append(b->block, s);
    } else if (f.why) {
        kc_build_error(b, literal->loc, KC_DIAG_PRINTF, "the format of printf: %s", f.why);
    }
    kc_text_free(&f.text);
    if (!s)
        return NULL;
    return call->is_used ? kc_ex_const_int(b->m, kc_build_int(b), 0) : kc_build_nothing(b);
}
