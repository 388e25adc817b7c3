/* The bindings of a WGSL entry point, from the module's text: what it and the functions that it
 * names mention. */
#include "core.h"
#include "reflect.h"
#include "text.h"

enum { MOST_NAMED = 1000 };

static const char push_problem[] = "the size of its push constants is not told";

typedef struct named {
    khal__text name;
    khal__text body; /* functions */
    khal_binding_desc binding;
    bool is_function, is_reached;
    const char* problem; /* why a variable can't be bound */
} named;

typedef struct reflector {
    khal__text rest, token;
    named items[MOST_NAMED];
    uint32_t count;
    const char* problem;
} reflector;

static void next(reflector* r)
{
    r->token = khal__text_next(&r->rest);
}

static bool is_at_end(const reflector* r)
{
    return khal__text_length(r->token) == 0;
}

static bool at(const reflector* r, const char* word)
{
    return khal__text_is(r->token, word);
}

/* Past a bracket and what it holds; `open` is the token. */
static void skip_group(reflector* r)
{
    uint32_t depth = 0;
    do {
        const char c = *r->token.at;
        depth += c == '(' || c == '{' || c == '[';
        depth -= c == ')' || c == '}' || c == ']';
        next(r);
    } while (depth > 0 && !is_at_end(r));
}

/* "( number )"; false: it is something else. */
static bool take_number(reflector* r, uint32_t* out)
{
    next(r);
    if (!at(r, "("))
        return false;
    next(r);
    const bool is_number = !is_at_end(r) && *r->token.at >= '0' && *r->token.at <= '9';
    *out = khal__text_number(r->token);
    next(r);
    if (at(r, ","))
        next(r);
    return is_number && at(r, ")");
}

/* Bytes of an element of `array<T>`, where T is a plain type; 0: of something else. */
static uint32_t element_size(khal__text type)
{
    if (!khal__text_is(khal__text_next(&type), "array") ||
        !khal__text_is(khal__text_next(&type), "<"))
        return 0;
    khal__text t = khal__text_next(&type);
    if (khal__text_is(t, "atomic") && khal__text_is(khal__text_next(&type), "<"))
        t = khal__text_next(&type);
    uint32_t lanes = 1;
    if (khal__text_length(t) >= 4 && memcmp(t.at, "vec", 3) == 0 && t.at[3] >= '2' &&
        t.at[3] <= '4') {
        lanes = t.at[3] == '2' ? 2 : 4; /* three take the room of four */
        if (khal__text_length(t) == 5) {
            const char c = t.at[4];
            return c == 'f' || c == 'i' || c == 'u' ? 4 * lanes : c == 'h' ? 2 * lanes : 0;
        }
        if (khal__text_length(t) != 4 || !khal__text_is(khal__text_next(&type), "<"))
            return 0;
        t = khal__text_next(&type);
    }
    if (khal__text_is(t, "f32") || khal__text_is(t, "u32") || khal__text_is(t, "i32"))
        return 4 * lanes;
    return khal__text_is(t, "f16") ? 2 * lanes : 0;
}

static named* add(reflector* r)
{
    if (r->count == MOST_NAMED) {
        r->problem = "it has more than 1000 functions and bindings";
        return NULL;
    }
    named* n = &r->items[r->count++];
    *n = (named){.name = r->token};
    return n;
}

/* From `var` on. */
static void read_variable(reflector* r, bool has_group, bool has_binding, const char* problem,
                          khal_binding_desc binding)
{
    khal__text space = {NULL, NULL}, mode = {NULL, NULL};
    next(r);
    if (at(r, "<")) {
        next(r);
        space = r->token;
        next(r);
        if (at(r, ",")) {
            next(r);
            mode = r->token;
            next(r);
        }
        if (at(r, ","))
            next(r);
        next(r); /* > */
    }
    const bool is_storage = khal__text_is(space, "storage"),
               is_uniform = khal__text_is(space, "uniform");
    const bool is_push = khal__text_is(space, "immediate") || khal__text_is(space, "push_constant");
    if (!has_group && !has_binding && problem == NULL && !is_push)
        return;
    named* n = add(r);
    if (n == NULL)
        return;
    if (problem == NULL && is_push)
        problem = push_problem;
    else if (problem == NULL && !is_storage && !is_uniform)
        problem = "it has bindings that are no buffers";
    else if (problem == NULL && !(has_group && has_binding))
        problem = "it has a buffer without a group or binding";
    n->problem = problem;
    n->binding = binding;
    n->binding.kind = is_uniform ? KHAL_ARG_CONSTANT : KHAL_ARG_BUFFER;
    n->binding.access = khal__text_is(mode, "read_write") ? KHAL_ACCESS_READ | KHAL_ACCESS_WRITE
                        : khal__text_is(mode, "write")    ? KHAL_ACCESS_WRITE
                                                          : KHAL_ACCESS_READ;
    next(r);
    if (at(r, ":"))
        n->binding.element_size = element_size(r->rest);
}

static void read_function(reflector* r)
{
    next(r);
    named* n = add(r);
    if (n == NULL)
        return;
    n->is_function = true;
    while (!is_at_end(r) && !at(r, "{"))
        next(r);
    n->body.at = r->token.at;
    if (!is_at_end(r))
        skip_group(r);
    n->body.end = r->token.at;
}

static void read_module(reflector* r)
{
    bool has_group = false, has_binding = false;
    const char* problem = NULL;
    khal_binding_desc binding = {0};
    next(r);
    while (!is_at_end(r) && r->problem == NULL) {
        if (at(r, "@")) {
            next(r);
            const bool is_group = at(r, "group"), is_binding = at(r, "binding");
            if (is_group && !take_number(r, &binding.group))
                problem = "a group is not given as a number";
            if (is_binding && !take_number(r, &binding.binding))
                problem = "a binding is not given as a number";
            has_group |= is_group;
            has_binding |= is_binding;
            next(r);
            if (at(r, "("))
                skip_group(r);
            continue;
        }
        if (at(r, "var"))
            read_variable(r, has_group, has_binding, problem, binding);
        else if (at(r, "fn"))
            read_function(r);
        else if (at(r, "struct"))
            while (!is_at_end(r) && !at(r, "{"))
                next(r);
        else if (!at(r, ";") && !at(r, "(") &&
                 !at(r, "{")) { /* const, override, alias, an attribute's own */
            next(r);
            continue;
        }
        if (at(r, "(") || at(r, "{"))
            skip_group(r);
        else if (at(r, ";"))
            next(r);
        has_group = has_binding = false;
        problem = NULL;
        binding = (khal_binding_desc){0};
    }
}

static void reach(reflector* r, named* function)
{
    function->is_reached = true;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < r->count; ++i) {
            named* f = &r->items[i];
            if (!f->is_function || !f->is_reached || f->body.at == NULL)
                continue;
            khal__text body = f->body;
            f->body.at = NULL; /* done */
            for (khal__text t = khal__text_next(&body); khal__text_length(t) > 0;
                 t = khal__text_next(&body))
                for (uint32_t k = 0; k < r->count; ++k)
                    if (!r->items[k].is_reached && khal__text_same(r->items[k].name, t)) {
                        r->items[k].is_reached = true;
                        again = true;
                    }
        }
    }
}

/* NULL: out of memory. */
static reflector* open_text(khal_device* device, const char* text, size_t size)
{
    reflector* r = khal__alloc_zeroed(device, sizeof *r, 16);
    if (r == NULL)
        return NULL;
    r->rest = (khal__text){text, text + size};
    if (size > 0 && text[size - 1] == 0)
        --r->rest.end;
    read_module(r);
    return r;
}

bool khal__wgsl_binding(khal_device* device, const char* text, size_t size, uint32_t group,
                        uint32_t binding, khal_binding_desc* out)
{
    reflector* r = open_text(device, text, size);
    bool found = false;
    for (uint32_t i = 0; r != NULL && i < r->count && !found; ++i) {
        const named* n = &r->items[i];
        found = !n->is_function && n->problem == NULL && n->binding.group == group &&
                n->binding.binding == binding;
        if (found)
            *out = n->binding;
    }
    if (r != NULL)
        khal__free(device, r, sizeof *r);
    return found;
}

bool khal__wgsl_has_immediates(khal_device* device, const char* text, size_t size)
{
    reflector* r = open_text(device, text, size);
    bool found = false;
    for (uint32_t i = 0; r != NULL && i < r->count && !found; ++i)
        found = r->items[i].problem == push_problem;
    if (r != NULL)
        khal__free(device, r, sizeof *r);
    return found;
}

khal_status khal__reflect_wgsl(khal_device* device, const char* text, size_t size,
                               const char* entry_point, khal__reflection* out)
{
    reflector* r = open_text(device, text, size);
    if (r == NULL)
        return KHAL_OUT_OF_MEMORY;
    khal_status status = KHAL_OK;
    named* entry = NULL;
    for (uint32_t i = 0; i < r->count && entry == NULL; ++i)
        if (r->items[i].is_function && khal__text_is(r->items[i].name, entry_point))
            entry = &r->items[i];
    out->problem = r->problem != NULL ? r->problem
                   : entry == NULL    ? "there is no such entry point"
                                      : NULL;
    if (out->problem == NULL)
        reach(r, entry);
    for (uint32_t i = 0; i < r->count && out->problem == NULL && status == KHAL_OK; ++i) {
        const named* n = &r->items[i];
        if (n->is_function || !n->is_reached)
            continue;
        out->problem = n->problem;
        if (n->problem != NULL)
            break;
        char name[64] = "";
        const size_t length = khal__text_length(n->name);
        memcpy(name, n->name.at, length < sizeof name ? length : sizeof name - 1);
        if (khal__reflection_add(device, out, &n->binding, name) == NULL && out->problem == NULL)
            status = KHAL_OUT_OF_MEMORY;
    }
    khal__free(device, r, sizeof *r);
    return status;
}
