/* Types: clang's spelling of them, and the layout of structs and unions. */
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"

/* ---- clang's spelling ------------------------------------------------------------------------ */

typedef struct kc_parser {
    kc_builder* b;
    kc_loc loc;
    const char* text; /* whole, for messages */
    const char* s;
    bool failed;
    bool is_reported;
} kc_parser;

static void skip_spaces(kc_parser* p)
{
    while (*p->s == ' ')
        p->s++;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static size_t word_size(const char* s)
{
    size_t n = 0;
    while (is_word_char(s[n]))
        n++;
    return n;
}

static bool word_is(const char* s, size_t n, const char* word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

static void refuse(kc_parser* p, kc_diag_id id, const char* why)
{
    if (!p->is_reported)
        kc_build_error(p->b, p->loc, id, "'%s': %s", p->text, why);
    p->failed = p->is_reported = true;
}

/* Takes one qualifier; false when the next word is none. */
static bool take_qualifier(kc_parser* p, kc_qualified* q)
{
    static const struct {
        const char* word;
        int space; /* -1: none */
    } words[] = {{"const", -1},
                 {"volatile", -1},
                 {"restrict", -1},
                 {"__private", KC_SPACE_PRIVATE},
                 {"__local", KC_SPACE_LOCAL},
                 {"__global", KC_SPACE_GLOBAL},
                 {"__constant", KC_SPACE_CONSTANT}};
    skip_spaces(p);
    const size_t n = word_size(p->s);
    if (word_is(p->s, n, "__generic")) {
        refuse(p, KC_DIAG_TYPE,
               "pointers to the generic address space are not supported; name the space");
        p->s += n;
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!word_is(p->s, n, words[i].word))
            continue;
        p->s += n;
        q->is_const |= i == 0;
        q->is_volatile |= i == 1;
        q->is_restrict |= i == 2;
        if (words[i].space >= 0) {
            q->has_space = true;
            q->space = (kc_space)words[i].space;
        }
        return true;
    }
    return false;
}

/* Takes `__attribute__((ext_vector_type(4)))` out of a type's text: wherever clang puts it, behind
 * the `*` of a pointer too, it speaks of the innermost element. 0 without one. */
static unsigned long take_vector(kc_builder* b, const char** text)
{
    static const char vector[] = "__attribute__((ext_vector_type(";
    const char* at = strstr(*text, vector);
    if (!at)
        return 0;
    char* end;
    const unsigned long count = strtoul(at + sizeof vector - 1, &end, 10);
    if (strncmp(end, ")))", 3) != 0)
        return 0;
    *text = kc_format(b->arena, "%.*s%s", (int)(at - *text), *text, end + 3);
    return count;
}

static void apply_vector(kc_parser* p, kc_qualified* q, unsigned long count)
{
    const bool is_known = count == 2 || count == 3 || count == 4 || count == 8 || count == 16;
    if (!is_known || (q->type->kind != KC_TYPE_INT && q->type->kind != KC_TYPE_FLOAT)) {
        refuse(p, KC_DIAG_TYPE, "vectors have 2, 3, 4, 8 or 16 integer or floating lanes");
        return;
    }
    q->type = kc_type_vector(p->b->m, q->type, (uint32_t)count);
}

/* Types that clang knows by a word and khalc does not know at all. */
static bool refuse_word(kc_parser* p, const char* s, size_t n)
{
    static const struct {
        const char* prefix;
        kc_diag_id id;
        const char* why;
    } words[] = {
        {"image", KC_DIAG_IMAGE, "images are not supported"},
        {"sampler_t", KC_DIAG_IMAGE, "samplers are not supported"},
        {"queue_t", KC_DIAG_BLOCK, "device queues are not supported"},
        {"clk_event_t", KC_DIAG_BLOCK, "device queues are not supported"},
        {"reserve_id_t", KC_DIAG_BLOCK, "pipes are not supported"},
        {"pipe", KC_DIAG_BLOCK, "pipes are not supported"},
        {"atomic_", KC_DIAG_BLOCK,
         "atomic types are not supported; the atomic functions of OpenCL C 1.2 are"},
        {"_Atomic", KC_DIAG_BLOCK,
         "atomic types are not supported; the atomic functions of OpenCL C 1.2 are"},
        {"_Complex", KC_DIAG_TYPE, "complex numbers are not supported"},
        {"__int128", KC_DIAG_TYPE, "integers of more than 64 bits are not supported"},
        {"_BitInt", KC_DIAG_TYPE, "integers of any width are not supported"},
        {"__bf16", KC_DIAG_TYPE, "this floating type is not supported"},
        {"__float128", KC_DIAG_TYPE, "this floating type is not supported"},
        {"intel_sub_group", KC_DIAG_BLOCK, "this extension is not supported"},
        {"ocl_intel", KC_DIAG_BLOCK, "this extension is not supported"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (n >= strlen(words[i].prefix) &&
            memcmp(s, words[i].prefix, strlen(words[i].prefix)) == 0) {
            refuse(p, words[i].id, words[i].why);
            return true;
        }
    return false;
}

/* `unsigned long`, `_Bool`, `float`...: any number of words. False when the first word is none of
 * them. */
static bool take_arithmetic(kc_parser* p, kc_qualified* q)
{
    static const char* const words[] = {"unsigned", "signed", "char",    "short", "int",
                                        "long",     "float",  "double",  "half",  "void",
                                        "bool",     "_Bool",  "_Float16"};
    enum {
        UNSIGNED,
        SIGNED,
        CHAR,
        SHORT,
        INT,
        LONG,
        FLOAT,
        DOUBLE,
        HALF,
        VOID,
        BOOL,
        BOOL2,
        HALF2,
        WORDS
    };
    int seen[WORDS] = {0};
    bool any = false;
    for (;;) {
        skip_spaces(p);
        const size_t n = word_size(p->s);
        size_t i = 0;
        while (i < WORDS && !word_is(p->s, n, words[i]))
            i++;
        if (i == WORDS)
            break;
        seen[i]++;
        any = true;
        p->s += n;
    }
    if (!any)
        return false;
    kc_module* m = p->b->m;
    if (seen[VOID])
        q->type = kc_type_void(m);
    else if (seen[BOOL] || seen[BOOL2])
        q->type = kc_type_bool(m);
    else if (seen[HALF] || seen[HALF2])
        q->type = kc_type_float(m, 16);
    else if (seen[FLOAT])
        q->type = kc_type_float(m, 32);
    else if (seen[DOUBLE] && !seen[LONG])
        q->type = kc_type_float(m, 64);
    else if (seen[DOUBLE] || seen[LONG] > 1)
        refuse(p, KC_DIAG_TYPE, "OpenCL C has no such type");
    else
        q->type = kc_type_int(m,
                              seen[CHAR]    ? 8
                              : seen[SHORT] ? 16
                              : seen[LONG]  ? 64
                                            : 32,
                              !seen[UNSIGNED]);
    return true;
}

static void take_entity(kc_parser* p, kc_qualified* q, const kc_entity* e)
{
    if (!e) {
        p->failed = true;
        return;
    }
    if (!e->type.type) { /* incomplete, or wrong and reported */
        if (e->kind == KC_ENTITY_RECORD)
            q->type = kc_type_struct(p->b->m, e->record);
        else
            p->failed = p->is_reported = true;
        return;
    }
    q->type = e->type.type;
    q->align = e->type.align;
    q->is_const |= e->type.is_const;
    q->is_volatile |= e->type.is_volatile;
    q->is_restrict |= e->type.is_restrict;
    if (e->type.has_space) {
        q->has_space = true;
        q->space = e->type.space;
    }
}

/* `(unnamed struct at FILE:LINE:COLUMN)`: records without a name are known by their place. */
static void take_unnamed(kc_parser* p, kc_qualified* q)
{
    const char* at = strstr(p->s, " at ");
    const char* end = at ? strchr(at, ')') : NULL;
    /* a path may hold parentheses: the place ends with ":digits)" */
    while (end && !(end[-1] >= '0' && end[-1] <= '9'))
        end = strchr(end + 1, ')');
    if (!end) {
        p->failed = true;
        return;
    }
    at += 4;
    const kc_entity* e = kc_build_find_name(p->b, KC_ENTITY_RECORD, at, (size_t)(end - at));
    if (!e)
        e = kc_build_find_name(p->b, KC_ENTITY_ENUM, at, (size_t)(end - at));
    take_entity(p, q, e);
    p->s = end + 1;
}

static void take_specifiers(kc_parser* p, kc_qualified* q)
{
    bool is_tag = false, is_enum = false;
    for (;;) {
        while (take_qualifier(p, q))
            ;
        if (q->type || p->failed)
            return;
        if (*p->s == '(') {
            take_unnamed(p, q);
            return;
        }
        const size_t n = word_size(p->s);
        if (n == 0) {
            p->failed = true;
            return;
        }
        if (word_is(p->s, n, "struct") || word_is(p->s, n, "union") || word_is(p->s, n, "enum")) {
            is_tag = true;
            is_enum = *p->s == 'e';
            p->s += n;
            continue;
        }
        if (word_is(p->s, n, "read_only") || word_is(p->s, n, "__read_only") ||
            word_is(p->s, n, "write_only") || word_is(p->s, n, "__write_only") ||
            word_is(p->s, n, "read_write") || word_is(p->s, n, "__read_write")) {
            p->s += n; /* of an image or pipe, which is what gets refused */
            continue;
        }
        if (p->s[n] == ':' && p->s[n + 1] == ':') { /* `S::`, the record around an unnamed one */
            p->s += n + 2;
            continue;
        }
        if (!is_tag && take_arithmetic(p, q))
            return;
        const char* word = p->s;
        p->s += n;
        if (is_tag) {
            take_entity(
                p, q,
                kc_build_find_name(p->b, is_enum ? KC_ENTITY_ENUM : KC_ENTITY_RECORD, word, n));
            return;
        }
        if (word_is(word, n, "event_t")) {
            q->type = kc_type_size_t(p->b->m);
            return;
        }
        const kc_entity* e = kc_build_find_name(p->b, KC_ENTITY_TYPEDEF, word, n);
        if (!e)
            e = kc_build_find_name(p->b, KC_ENTITY_RECORD, word, n);
        if (!e)
            e = kc_build_find_name(p->b, KC_ENTITY_ENUM, word, n);
        if (!e && refuse_word(p, word, n))
            return;
        take_entity(p, q, e);
        return;
    }
}

static kc_qualified parse_declarator(kc_parser* p, kc_qualified q, uint32_t depth);

/* `[2][3]`: the last count is the innermost. Qualifiers stay those of the element. */
static kc_qualified parse_arrays(kc_parser* p, kc_qualified q, uint32_t depth)
{
    skip_spaces(p);
    if (*p->s == '(') {
        refuse(p, KC_DIAG_FUNCTION_POINTER, "pointers to functions are not supported");
        return q;
    }
    if (*p->s != '[')
        return q;
    char* end;
    const uint64_t count = strtoull(p->s + 1, &end, 10);
    if (end == p->s + 1 && *end == ']') {
        refuse(p, KC_DIAG_TYPE, "an array needs a length here");
        return q;
    }
    if (*end != ']' || depth > KC_MAX_DEPTH) {
        refuse(p, KC_DIAG_VLA, "arrays of variable length are not supported");
        return q;
    }
    p->s = end + 1;
    q = parse_arrays(p, q, depth + 1);
    if (p->failed || !q.type)
        return q;
    if (q.type->size && count > (UINT64_C(1) << 40) / q.type->size) {
        refuse(p, KC_DIAG_TYPE, "the array is too large");
        return q;
    }
    q.type = kc_type_array(p->b->m, q.type, count);
    return q;
}

static kc_qualified parse_declarator(kc_parser* p, kc_qualified q, uint32_t depth)
{
    for (;;) {
        while (take_qualifier(p, &q)) /* of the pointee, as in `int (__private *)[3]` */
            ;
        skip_spaces(p);
        if (p->failed || depth > KC_MAX_DEPTH) {
            p->failed = true;
            return q;
        }
        if (*p->s == '^') {
            refuse(p, KC_DIAG_BLOCK, "blocks are not supported");
            return q;
        }
        if (*p->s != '*')
            break;
        p->s++;
        q = (kc_qualified){.type = kc_build_pointer_to(p->b, &q)};
        while (take_qualifier(p, &q))
            ;
    }
    if (*p->s == '(') { /* `(*)[3]`: what follows the parentheses comes first */
        const char* inner = p->s + 1;
        kc_parser ahead = *p;
        kc_qualified ignored = {0};
        ahead.s = inner;
        ahead.is_reported = true; /* the words are read again below */
        while (take_qualifier(&ahead, &ignored))
            ;
        if (*ahead.s != '*' && *ahead.s != '(' && *ahead.s != '^')
            return parse_arrays(p, q, depth);
        int open = 0;
        const char* s = p->s;
        do {
            open += *s == '(';
            open -= *s == ')';
        } while (*s++ && open);
        if (open) {
            p->failed = true;
            return q;
        }
        p->s = s;
        q = parse_arrays(p, q, depth);
        const char* after = p->s;
        p->s = inner;
        q = parse_declarator(p, q, depth + 1);
        skip_spaces(p);
        if (*p->s != ')')
            p->failed = true;
        p->s = after;
        return q;
    }
    return parse_arrays(p, q, depth);
}

static kc_qualified parse_text(kc_builder* b, const char* text, kc_loc loc, bool* is_reported)
{
    kc_parser p = {.b = b, .loc = loc, .text = text};
    kc_qualified q = {0};
    const unsigned long lanes = take_vector(b, &text);
    p.s = text;
    take_specifiers(&p, &q);
    while (!p.failed && q.type && take_qualifier(&p, &q))
        ;
    if (!p.failed && q.type && lanes)
        apply_vector(&p, &q, lanes);
    if (!p.failed && q.type)
        q = parse_declarator(&p, q, 0);
    skip_spaces(&p);
    if (p.failed || *p.s)
        q.type = NULL;
    /* a pointer's `restrict` belongs to its type in the IR */
    if (q.type && q.type->kind == KC_TYPE_POINTER && q.is_restrict)
        q.type = kc_type_pointer(b->m, q.type->element, q.type->space, q.type->is_const,
                                 q.type->is_volatile, true);
    *is_reported = p.is_reported;
    return q;
}

kc_qualified kc_build_type(kc_builder* b, const kc_type_text* text, kc_loc loc)
{
    bool is_reported = false;
    kc_qualified q = {0};
    if (text->text)
        q = parse_text(b, text->text, loc, &is_reported);
    if (!q.type && !is_reported && text->desugared)
        q = parse_text(b, text->desugared, loc, &is_reported);
    if (!q.type && !is_reported)
        kc_build_error(b, loc, KC_DIAG_TYPE, "the type '%s' is not supported",
                       text->text ? text->text : "?");
    return q;
}

const kc_type* kc_build_plain_type(kc_builder* b, const kc_type_text* text, kc_loc loc)
{
    return kc_build_type(b, text, loc).type;
}

const kc_type* kc_build_pointer_to(kc_builder* b, const kc_qualified* q)
{
    if (!q->type)
        return NULL;
    return kc_type_pointer(b->m, q->type, q->has_space ? q->space : KC_SPACE_PRIVATE, q->is_const,
                           q->is_volatile, false);
}

const kc_type* kc_build_int(kc_builder* b)
{
    return kc_type_int(b->m, 32, true);
}

const kc_type* kc_build_ptrdiff(kc_builder* b)
{
    return kc_type_int(b->m, b->m->size_t_bits, true);
}

/* ---- structs and unions ---------------------------------------------------------------------- */

uint64_t kc_build_alignment(kc_builder* b, const kc_node* n)
{
    uint64_t align = 0;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const kc_node* attribute = n->children[i];
        if (attribute->kind != KC_NODE_AlignedAttr)
            continue;
        const kc_node* value = kc_node_child(attribute, 0);
        uint64_t asked = 16; /* `aligned` alone: what clang gives for SPIR */
        if (value) {
            while (value && !(value->kind == KC_NODE_ConstantExpr && value->value))
                value = kc_node_child(value, 0);
            asked = value ? strtoull(value->value, NULL, 10) : 0;
            if (asked == 0 || (asked & (asked - 1)) || asked > 1u << 20) {
                kc_build_error(b, n->loc, KC_DIAG_TYPE, "this alignment is not supported");
                return 0;
            }
        }
        if (asked > align)
            align = asked;
    }
    return align;
}

static const char* place_name(kc_builder* b, kc_loc loc)
{
    return kc_format(b->arena, "%s:%u:%u", loc.file ? loc.file : "", loc.line, loc.column);
}

static uint64_t round_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) / align * align;
}

static void lay_out(kc_builder* b, const kc_node* n, kc_record* record)
{
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < n->child_count; i++)
        capacity += n->children[i]->kind == KC_NODE_FieldDecl;
    record->fields = KC_NEW_ARRAY(b->arena, kc_field, capacity);
    record->is_packed = kc_node_find(n, KC_NODE_PackedAttr) != NULL;
    uint64_t end = 0, align = 1;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const kc_node* f = n->children[i];
        if (f->kind != KC_NODE_FieldDecl)
            continue;
        const kc_qualified q = kc_build_type(b, &f->type, f->loc);
        const kc_type* type = q.type ? q.type : kc_build_int(b); /* reported: go on */
        const bool is_packed = record->is_packed || kc_node_find(f, KC_NODE_PackedAttr);
        uint64_t field_align = is_packed ? 1 : q.align ? q.align : type->align;
        const uint64_t asked = kc_build_alignment(b, f);
        if (asked > field_align)
            field_align = asked;
        if (type->kind == KC_TYPE_VOID ||
            (type->kind == KC_TYPE_STRUCT && type->record == record) || !field_align) {
            kc_build_error(b, f->loc, KC_DIAG_TYPE, "a member of an incomplete type");
            continue;
        }
        const uint64_t offset = record->is_union ? 0 : round_up(end, field_align);
        kc_entity* e = kc_build_declare(b, KC_ENTITY_FIELD, f->id);
        e->field = record->field_count;
        record->fields[record->field_count++] =
            (kc_field){.name = f->name ? f->name : "", .type = type, .offset = offset};
        if (offset + type->size > end)
            end = offset + type->size;
        if (field_align > align)
            align = field_align;
    }
    const uint64_t asked = kc_build_alignment(b, n);
    record->align = asked > align ? asked : align;
    record->size = round_up(end, record->align);
}

/* The module lists records in the order in which they were completed: members' types come before
 * their owners. */
static void list_last(kc_module* m, kc_record* record)
{
    uint32_t i = 0;
    while (i < m->record_count && m->records[i] != record)
        i++;
    if (i == m->record_count)
        return;
    memmove(&m->records[i], &m->records[i + 1], sizeof(kc_record*) * (m->record_count - i - 1));
    m->records[m->record_count - 1] = record;
}

void kc_build_record(kc_builder* b, const kc_node* n)
{
    const bool has_name = n->name && *n->name;
    const char* name = has_name ? n->name : place_name(b, n->loc);
    kc_entity* e = kc_build_find(b, n->previous_id);
    if (!e || e->kind != KC_ENTITY_RECORD) {
        e = kc_build_declare(b, KC_ENTITY_RECORD, n->id);
        e->record = kc_record_create(b->m, has_name ? name : "",
                                     n->tag && strcmp(n->tag, "union") == 0, n->loc);
        if (has_name)
            kc_build_name(b, e, name);
    } else { /* completes a forward declaration */
        kc_entity* again = kc_build_declare(b, KC_ENTITY_RECORD, n->id);
        again->record = e->record;
        again->type = e->type;
    }
    if (!n->is_complete)
        return;
    for (uint32_t i = 0; i < n->child_count;
         i++) { /* nested records come before the members that use them */
        const kc_node* child = n->children[i];
        if (child->kind == KC_NODE_RecordDecl)
            kc_build_record(b, child);
        else if (child->kind == KC_NODE_EnumDecl)
            kc_build_enum(b, child);
    }
    if (kc_node_find(n, KC_NODE_MaxFieldAlignmentAttr))
        kc_build_error(b, n->loc, KC_DIAG_TYPE,
                       "#pragma pack is not supported; write __attribute__((packed)) instead");
    lay_out(b, n, e->record);
    list_last(b->m, e->record);
    e->type = (kc_qualified){.type = kc_type_struct(b->m, e->record)};
    kc_entity* own = kc_build_find(b, n->id);
    if (own)
        own->type = e->type;
    if (!has_name)
        kc_build_name(b, e, name);
}

void kc_build_enum(kc_builder* b, const kc_node* n)
{
    kc_entity* e = kc_build_declare(b, KC_ENTITY_ENUM, n->id);
    uint64_t next = 0;
    int64_t least = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const kc_node* c = n->children[i];
        if (c->kind != KC_NODE_EnumConstantDecl)
            continue;
        const kc_node* value = kc_node_find(c, KC_NODE_ConstantExpr);
        bool is_negative = (int64_t)next < 0 && next > most; /* of what follows a negative one */
        if (value && value->value) {
            is_negative = *value->value == '-';
            next = is_negative ? (uint64_t)strtoll(value->value, NULL, 10)
                               : strtoull(value->value, NULL, 10);
        } else if (kc_node_child(c, 0) && value) {
            kc_build_error(b, c->loc, KC_DIAG_EXPRESSION,
                           "the value of this constant could not be read");
        }
        if (is_negative && (int64_t)next < least)
            least = (int64_t)next;
        if (!is_negative && next > most)
            most = next;
        kc_entity* constant = kc_build_declare(b, KC_ENTITY_ENUM_CONSTANT, c->id);
        constant->value = next++;
    }
    uint32_t width = 32;
    if (kc_node_find(n, KC_NODE_PackedAttr)) {
        const uint32_t widths[] = {8, 16, 32};
        for (int i = 2; i >= 0; i--) {
            const uint64_t limit = UINT64_C(1) << (widths[i] - (least < 0));
            if (most < limit && least >= -(int64_t)(UINT64_C(1) << (widths[i] - 1)))
                width = widths[i];
        }
    }
    const uint64_t limit = UINT64_C(1) << (32 - (least < 0));
    if (most >= limit || least < INT32_MIN)
        width = 64;
    e->type = (kc_qualified){.type = kc_type_int(b->m, width, least < 0)};
    kc_build_name(b, e, n->name && *n->name ? n->name : place_name(b, n->loc));
}

/* The declaration that a typedef is another name of, where it is a struct, union or enum itself. */
static const kc_entity* direct_tag(kc_builder* b, const kc_node* n)
{
    const kc_node* type = kc_node_child(n, 0);
    while (type && type->kind == KC_NODE_ElaboratedType)
        type = kc_node_child(type, 0);
    if (!type || (type->kind != KC_NODE_RecordType && type->kind != KC_NODE_EnumType))
        return NULL;
    const kc_entity* e = kc_build_find(b, type->ref_id);
    return e && (e->kind == KC_ENTITY_RECORD || e->kind == KC_ENTITY_ENUM) ? e : NULL;
}

void kc_build_typedef(kc_builder* b, const kc_node* n)
{
    if (!n->name || n->is_implicit)
        return;
    const kc_entity* tag = direct_tag(b, n);
    kc_qualified type = {0};
    if (tag && tag->kind == KC_ENTITY_RECORD) {
        const char* given = tag->record->name;
        const bool is_unnamed =
            strncmp(given, "anon_", 5) == 0 && tag->name && strchr(tag->name, ':');
        if (is_unnamed) { /* the typedef's name is the only one that it has */
            bool is_taken = false;
            for (uint32_t i = 0; i < b->m->record_count; i++)
                is_taken |= strcmp(b->m->records[i]->name, n->name) == 0;
            if (!is_taken)
                tag->record->name = n->name;
        }
        type = (kc_qualified){.type = kc_type_struct(b->m, tag->record)};
    } else if (tag) {
        type = tag->type;
    } else if (strcmp(n->name, "event_t") == 0) {
        return;
    } else {
        type = kc_build_type(b, &n->type, n->loc);
    }
    const uint64_t asked = kc_build_alignment(b, n);
    if (asked)
        type.align = asked;
    kc_entity* e = kc_build_declare(b, KC_ENTITY_TYPEDEF, n->id);
    e->type = type;
    kc_build_name(b, e, n->name);
}

bool kc_type_has_pointer(const kc_type* t)
{
    if (t->kind == KC_TYPE_POINTER)
        return true;
    if (t->kind == KC_TYPE_ARRAY)
        return kc_type_has_pointer(t->element);
    if (t->kind == KC_TYPE_STRUCT)
        for (uint32_t i = 0; i < t->record->field_count; i++)
            if (kc_type_has_pointer(t->record->fields[i].type))
                return true;
    return false;
}
