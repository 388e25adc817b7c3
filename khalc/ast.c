#include "ast.h"

#include <stdlib.h>
#include <string.h>

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#include <jsmn.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

enum { KC_KIND_SLOTS = 512 };

typedef struct kc_reader {
    kc_arena* arena;
    kc_diags* diags;
    char* json;
    const jsmntok_t* tokens;
    int* ends; /* of each token, the index after its last descendant */
    int count;
    /* clang leaves out a file or line that is the same as the last one printed */
    const char* file;
    uint32_t line;
    kc_loc last; /* for errors */
    uint32_t element_count;
    bool failed;
    uint8_t kind_slots[KC_KIND_SLOTS];
} kc_reader;

static const char* const kind_names[KC_NODE_KIND_COUNT] = {[KC_NODE_OTHER] = "",
                                                           [KC_NODE_NULL] = "",
#define X(name) [KC_NODE_##name] = #name,
                                                           KC_NODE_KINDS(X)
#undef X
};

static size_t hash_text(const char* s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h % KC_KIND_SLOTS;
}

static void fill_kinds(kc_reader* r)
{
    for (int k = KC_NODE_NULL + 1; k < KC_NODE_KIND_COUNT; k++) {
        size_t slot = hash_text(kind_names[k]);
        while (r->kind_slots[slot])
            slot = (slot + 1) % KC_KIND_SLOTS;
        r->kind_slots[slot] = (uint8_t)k;
    }
}

static kc_node_kind find_kind(const kc_reader* r, const char* name)
{
    for (size_t slot = hash_text(name); r->kind_slots[slot]; slot = (slot + 1) % KC_KIND_SLOTS)
        if (strcmp(kind_names[r->kind_slots[slot]], name) == 0)
            return (kc_node_kind)r->kind_slots[slot];
    return KC_NODE_OTHER;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void fail(kc_reader* r, const char* what)
{
    if (!r->failed)
        kc_error(r->diags, r->last, KC_DIAG_CLANG_FAILED, "clang's output could not be read: %s",
                 what);
    r->failed = true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static uint32_t hex4(const char* s)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)hex_digit(s[i]); /* jsmn has checked the digits */
    return v;
}

static char* put_utf8(char* to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

/* Ends a token's text with a 0 and resolves its escapes, in place: what follows it is a quote or
 * punctuation that nobody reads again. Each token may be asked for once. */
static const char* token_text(kc_reader* r, int t)
{
    char* const start = r->json + r->tokens[t].start;
    char* const end = r->json + r->tokens[t].end;
    *end = 0;
    char* to = memchr(start, '\\', (size_t)(end - start));
    if (!to)
        return start;
    for (const char* s = to; s < end; s++) {
        if (*s != '\\') {
            *to++ = *s;
            continue;
        }
        switch (*++s) {
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case 'r': *to++ = '\r'; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'u': {
            uint32_t c = hex4(s + 1);
            s += 4;
            if (c >= 0xD800 && c < 0xDC00 && end - s > 6 && s[1] == '\\' && s[2] == 'u') {
                const uint32_t low = hex4(s + 3);
                if (low >= 0xDC00 && low < 0xE000) {
                    c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                    s += 6;
                }
            }
            to = put_utf8(to, c);
            break;
        }
        default: *to++ = *s; break;
        }
    }
    *to = 0;
    return start;
}

static bool token_is(const kc_reader* r, int t, const char* text)
{
    const size_t n = strlen(text);
    return (size_t)(r->tokens[t].end - r->tokens[t].start) == n &&
           memcmp(r->json + r->tokens[t].start, text, n) == 0;
}

static bool token_true(const kc_reader* r, int t)
{
    return r->tokens[t].type == JSMN_PRIMITIVE && r->json[r->tokens[t].start] == 't';
}

static uint64_t token_number(const kc_reader* r, int t, int base)
{
    char text[32];
    size_t n = (size_t)(r->tokens[t].end - r->tokens[t].start);
    if (n >= sizeof text)
        return 0;
    memcpy(text, r->json + r->tokens[t].start, n);
    text[n] = 0;
    return strtoull(text, NULL, base);
}

/* Goes through the members of an object: `for (int key = first_key(r, t); key; key = next_key(r, t,
 * key))`, where the value is key + 1. */
static int first_key(const kc_reader* r, int object)
{
    return object + 1 < r->ends[object] ? object + 1 : 0;
}

static int next_key(const kc_reader* r, int object, int key)
{
    return r->ends[key] < r->ends[object] ? r->ends[key] : 0;
}

static bool is_whole_key(const kc_reader* r, int key)
{
    return r->tokens[key].type == JSMN_STRING && r->ends[key] > key + 1;
}

/* ---- locations ------------------------------------------------------------------------------- */

typedef struct kc_point {
    kc_loc loc; /* file NULL: nowhere */
    uint64_t offset;
    uint32_t length;
} kc_point;

static kc_point read_bare_point(kc_reader* r, int object)
{
    kc_point p = {0};
    for (int key = first_key(r, object); key; key = next_key(r, object, key)) {
        if (!is_whole_key(r, key))
            continue;
        const int value = key + 1;
        if (token_is(r, key, "file")) {
            const char* file = token_text(r, value);
            if (!r->file || strcmp(r->file, file) != 0)
                r->file = file;
        } else if (token_is(r, key, "line")) {
            r->line = (uint32_t)token_number(r, value, 10);
        } else if (token_is(r, key, "col")) {
            p.loc.column = (uint32_t)token_number(r, value, 10);
        } else if (token_is(r, key, "offset")) {
            p.offset = token_number(r, value, 10);
        } else if (token_is(r, key, "tokLen")) {
            p.length = (uint32_t)token_number(r, value, 10);
        }
    }
    if (p.loc.column) {
        p.loc.file = r->file;
        p.loc.line = r->line;
    }
    return p;
}

/* Where something is used, and where it is spelled: they differ in macros. */
static void read_point(kc_reader* r, int object, kc_point* used, kc_point* spelled)
{
    if (r->tokens[object].type != JSMN_OBJECT)
        return;
    bool is_macro = false;
    for (int key = first_key(r, object); key; key = next_key(r, object, key)) {
        if (!is_whole_key(r, key) || r->tokens[key + 1].type != JSMN_OBJECT)
            continue;
        if (token_is(r, key, "spellingLoc")) {
            *spelled = read_bare_point(r, key + 1);
            is_macro = true;
        } else if (token_is(r, key, "expansionLoc")) {
            *used = read_bare_point(r, key + 1);
            is_macro = true;
        }
    }
    if (!is_macro)
        *used = *spelled = read_bare_point(r, object);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static kc_type_text read_type(kc_reader* r, int object)
{
    kc_type_text type = {0};
    for (int key = first_key(r, object); key; key = next_key(r, object, key)) {
        if (!is_whole_key(r, key))
            continue;
        if (token_is(r, key, "qualType"))
            type.text = token_text(r, key + 1);
        else if (token_is(r, key, "desugaredQualType"))
            type.desugared = token_text(r, key + 1);
    }
    return type;
}

/* A declaration named in passing: its id, kind and name. */
static void read_reference(kc_reader* r, int object, kc_node* n)
{
    for (int key = first_key(r, object); key; key = next_key(r, object, key)) {
        if (!is_whole_key(r, key))
            continue;
        if (token_is(r, key, "id"))
            n->ref_id = token_number(r, key + 1, 16);
        else if (token_is(r, key, "kind"))
            n->ref_kind = token_text(r, key + 1);
        else if (token_is(r, key, "name"))
            n->ref_name = token_text(r, key + 1);
    }
}

static kc_node* read_node(kc_reader* r, int object, uint32_t depth);

static void read_children(kc_reader* r, int array, kc_node* n, uint32_t depth)
{
    const jsmntok_t* t = &r->tokens[array];
    if (t->type != JSMN_ARRAY || t->size <= 0)
        return;
    const uint32_t more = (uint32_t)t->size;
    kc_node** children = KC_NEW_ARRAY(r->arena, kc_node*, n->child_count + more);
    if (n->child_count)
        memcpy(children, n->children, sizeof *children * n->child_count);
    n->children = children;
    for (int i = array + 1; i < r->ends[array] && !r->failed; i = r->ends[i]) {
        if (r->tokens[i].type != JSMN_OBJECT) {
            fail(r, "a child that is no object");
            return;
        }
        kc_node* child = read_node(r, i, depth);
        /* a documentation comment: read, since places count on from it, and of no meaning */
        if (strcmp(child->kind_name, "FullComment") != 0)
            children[n->child_count++] = child;
    }
}

static void read_text_member(kc_reader* r, int key, kc_node* n)
{
    const struct {
        const char* name;
        const char** to;
    } members[] = {
        {"name", &n->name},          {"value", &n->value}, {"opcode", &n->opcode},
        {"castKind", &n->cast_kind}, {"tagUsed", &n->tag}, {"storageClass", &n->storage},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (token_is(r, key, members[i].name)) {
            *members[i].to = token_text(r, key + 1);
            return;
        }
}

static void read_flag_member(kc_reader* r, int key, kc_node* n)
{
    const struct {
        const char* name;
        bool* to;
    } members[] = {
        {"isPostfix", &n->is_postfix},    {"isArrow", &n->is_arrow},
        {"hasElse", &n->has_else},        {"hasInit", &n->has_init},
        {"hasVar", &n->has_var},          {"isImplicit", &n->is_implicit},
        {"variadic", &n->is_variadic},    {"completeDefinition", &n->is_complete},
        {"isGNURange", &n->is_gnu_range}, {"selected", &n->is_selected},
        {"isBitfield", &n->is_bitfield},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (token_is(r, key, members[i].name)) {
            *members[i].to = token_true(r, key + 1);
            return;
        }
}

static void read_range(kc_reader* r, int object, kc_node* n)
{
    for (int key = first_key(r, object); key; key = next_key(r, object, key)) {
        if (!is_whole_key(r, key))
            continue;
        kc_point used = {0}, spelled = {0};
        read_point(r, key + 1, &used, &spelled);
        if (token_is(r, key, "begin")) {
            if (!n->loc.file)
                n->loc = used.loc;
        } else if (spelled.loc.file) {
            n->end_file = spelled.loc.file;
            n->end_offset = spelled.offset;
            n->end_length = spelled.length;
        }
    }
}

static kc_node* read_node(kc_reader* r, int object, uint32_t depth)
{
    kc_node* n = KC_NEW(r->arena, kc_node);
    n->kind = KC_NODE_NULL;
    n->kind_name = "";
    if (depth > KC_MAX_DEPTH) {
        if (!r->failed)
            kc_error(r->diags, r->last, KC_DIAG_NESTING,
                     "the code here is nested more than %d deep", KC_MAX_DEPTH);
        r->failed = true;
        return n;
    }
    for (int key = first_key(r, object); key && !r->failed; key = next_key(r, object, key)) {
        if (!is_whole_key(r, key)) {
            fail(r, "a member without a value");
            break;
        }
        const int value = key + 1;
        switch (r->tokens[value].type) {
        case JSMN_OBJECT:
            if (token_is(r, key, "loc")) {
                kc_point used = {0}, spelled = {0};
                read_point(r, value, &used, &spelled);
                n->loc = used.loc;
            } else if (token_is(r, key, "range")) {
                read_range(r, value, n);
                if (n->loc.file)
                    r->last = n->loc;
            } else if (token_is(r, key, "type")) {
                n->type = read_type(r, value);
            } else if (token_is(r, key, "argType")) {
                n->arg_type = read_type(r, value);
            } else if (token_is(r, key, "computeLHSType")) {
                n->compute_type = read_type(r, value);
            } else if (token_is(r, key, "referencedDecl") || token_is(r, key, "decl") ||
                       token_is(r, key, "field")) {
                read_reference(r, value, n);
            }
            break;
        case JSMN_ARRAY:
            if (token_is(r, key, "inner")) {
                read_children(r, value, n, depth + 1);
            } else if (token_is(r, key, "array_filler")) {
                n->has_filler = n->child_count == 0;
                read_children(r, value, n, depth + 1);
            }
            break;
        default:
            if (token_is(r, key, "kind")) {
                n->kind_name = token_text(r, value);
                n->kind = find_kind(r, n->kind_name);
                if (n->kind == KC_NODE_ExtVectorElementExpr)
                    n->ordinal = r->element_count++;
            } else if (token_is(r, key, "id")) {
                n->id = token_number(r, value, 16);
            } else if (token_is(r, key, "referencedMemberDecl")) {
                n->member_id = token_number(r, value, 16);
            } else if (token_is(r, key, "previousDecl")) {
                n->previous_id = token_number(r, value, 16);
            } else if (token_is(r, key, "valueCategory")) {
                n->is_lvalue = token_is(r, value, "lvalue");
            } else if (r->tokens[value].type == JSMN_PRIMITIVE && !token_is(r, key, "value")) {
                read_flag_member(r, key, n);
            } else {
                read_text_member(r, key, n);
            }
            break;
        }
    }
    return n;
}

kc_node* kc_ast_read(kc_arena* arena, kc_diags* diags, const char* input, char* json, size_t size,
                     uint32_t* out_element_count)
{
    kc_reader r = {.arena = arena, .diags = diags, .json = json, .last = {.file = input}};
    jsmn_parser parser;
    jsmn_init(&parser);
    const int count = jsmn_parse(&parser, json, size, NULL, 0);
    if (count <= 0) {
        fail(&r, "it is not JSON");
        return NULL;
    }
    jsmntok_t* tokens = malloc(sizeof *tokens * (size_t)count);
    int* ends = malloc(sizeof *ends * (size_t)count);
    kc_node* root = NULL;
    if (!tokens || !ends) {
        fail(&r, "out of memory");
    } else {
        jsmn_init(&parser);
        if (jsmn_parse(&parser, json, size, tokens, (unsigned)count) != count ||
            tokens[0].type != JSMN_OBJECT) {
            fail(&r, "it is not a JSON object");
        } else {
            for (int i = 0; i < count; i++)
                ends[i] = i + 1;
            for (int i = count - 1; i > 0; i--) { /* children come after their parents */
                const int parent = tokens[i].parent;
                if (parent >= 0 && ends[parent] < ends[i])
                    ends[parent] = ends[i];
            }
            r.tokens = tokens;
            r.ends = ends;
            r.count = count;
            fill_kinds(&r);
            root = read_node(&r, 0, 0);
            if (!r.failed && root->kind != KC_NODE_TranslationUnitDecl)
                fail(&r, "it is not the tree of a file");
        }
    }
    free(tokens);
    free(ends);
    *out_element_count = r.element_count;
    return r.failed ? NULL : root;
}

const kc_node* kc_node_child(const kc_node* n, uint32_t i)
{
    return i < n->child_count ? n->children[i] : NULL;
}

const kc_node* kc_node_find(const kc_node* n, kc_node_kind kind)
{
    for (uint32_t i = 0; i < n->child_count; i++)
        if (n->children[i]->kind == kind)
            return n->children[i];
    return NULL;
}
