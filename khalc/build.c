/* From clang's tree to a module: declarations at program scope, names, the order of functions. */
#include "build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"
#include "clang.h"

enum {
    KC_MAX_ARGUMENTS = 64,
    KC_MAX_PUSH_CONSTANTS = 4096,
    KC_MAX_WORKGROUP = 1024,
};

/* ---- errors ---------------------------------------------------------------------------------- */

void* kc_build_error(kc_builder* b, kc_loc loc, kc_diag_id id, const char* format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kc_error(b->diags, loc, id, "%s", text);
    return NULL;
}

void* kc_build_malformed(kc_builder* b, const kc_node* n)
{
    if (b->diags->error_count)
        return NULL; /* what is built on something refused need not fit */
    return kc_build_error(b, n->loc, KC_DIAG_CLANG_FAILED,
                          "clang's tree has a %s that could not be understood",
                          *n->kind_name ? n->kind_name : "node");
}

/* ---- declarations by id and by name ---------------------------------------------------------- */

static size_t id_slot(uint64_t id)
{
    return (size_t)((id >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 52) % KC_ID_SLOTS;
}

kc_entity* kc_build_find(kc_builder* b, uint64_t id)
{
    if (!id)
        return NULL;
    for (kc_entity* e = b->ids[id_slot(id)]; e; e = e->next_id)
        if (e->id == id)
            return e;
    return NULL;
}

kc_entity* kc_build_declare(kc_builder* b, kc_entity_kind kind, uint64_t id)
{
    kc_entity* e = KC_NEW(b->arena, kc_entity);
    e->kind = kind;
    e->id = id;
    e->next_id = b->ids[id_slot(id)];
    b->ids[id_slot(id)] = e;
    return e;
}

static size_t name_slot(const char* name, size_t size)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h % KC_NAME_SLOTS;
}

void kc_build_name(kc_builder* b, kc_entity* e, const char* name)
{
    const size_t slot = name_slot(name, strlen(name));
    e->name = name;
    e->next_name = b->names[slot];
    b->names[slot] = e;
    e->next_in_scope = b->scope;
    b->scope = e;
}

kc_entity* kc_build_find_name(kc_builder* b, kc_entity_kind kind, const char* name, size_t size)
{
    for (kc_entity* e = b->names[name_slot(name, size)]; e; e = e->next_name)
        if (e->kind == kind && strlen(e->name) == size && memcmp(e->name, name, size) == 0)
            return e;
    return NULL;
}

kc_entity* kc_build_scope_mark(kc_builder* b)
{
    return b->scope;
}

void kc_build_scope_leave(kc_builder* b, kc_entity* mark)
{
    while (b->scope && b->scope != mark) {
        /* the latest name is the first of its slot */
        b->names[name_slot(b->scope->name, strlen(b->scope->name))] = b->scope->next_name;
        b->scope = b->scope->next_in_scope;
    }
}

bool kc_build_type_declaration(kc_builder* b, const kc_node* n)
{
    switch (n->kind) {
    case KC_NODE_RecordDecl: kc_build_record(b, n); return true;
    case KC_NODE_EnumDecl: kc_build_enum(b, n); return true;
    case KC_NODE_TypedefDecl: kc_build_typedef(b, n); return true;
    default: return false;
    }
}

/* ---- program scope --------------------------------------------------------------------------- */

static const kc_node* initialiser(const kc_node* n)
{
    for (uint32_t i = n->child_count; i-- > 0;) /* attributes may stand around it */
        if (!strstr(n->children[i]->kind_name, "Attr") && n->children[i]->kind != KC_NODE_NULL)
            return n->children[i];
    return NULL;
}

void kc_build_constant(kc_builder* b, const kc_node* n, const kc_qualified* type)
{
    kc_entity* e = kc_build_declare(b, KC_ENTITY_VAR, n->id);
    e->type = *type;
    const kc_node* init = initialiser(n);
    if (!init || (n->storage && strcmp(n->storage, "extern") == 0)) {
        kc_build_error(b, n->loc, KC_DIAG_INITIALIZER,
                       "the __constant variable '%s' has no initialiser here",
                       n->name ? n->name : "");
        return;
    }
    kc_block* block = b->block;
    b->block = NULL;
    const uint32_t errors = b->diags->error_count;
    kc_expr* value = kc_build_init(b, init, type->type);
    kc_expr* folded = value ? kc_build_fold_constant(b, value) : NULL;
    b->block = block;
    if (!folded) {
        if (b->diags->error_count == errors)
            kc_build_error(b, init->loc, KC_DIAG_INITIALIZER,
                           "the initialiser of '%s' can't be computed when the kernel is compiled",
                           n->name ? n->name : "");
        return;
    }
    e->var = kc_constant_add(b->m, n->name ? n->name : "constant", type->type, folded, n->loc);
    const uint64_t asked = kc_build_alignment(b, n);
    e->var->align = asked ? asked : type->align;
}

static void build_global(kc_builder* b, const kc_node* n)
{
    const kc_qualified type = kc_build_type(b, &n->type, n->loc);
    if (type.type && type.has_space && type.space == KC_SPACE_CONSTANT) {
        kc_build_constant(b, n, &type);
        return;
    }
    kc_entity* e = kc_build_declare(b, KC_ENTITY_VAR, n->id);
    e->type = type;
    if (type.type)
        kc_build_error(b, n->loc, KC_DIAG_GLOBAL_VARIABLE,
                       "the variable '%s' at program scope is not __constant",
                       n->name ? n->name : "");
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void read_workgroup_size(kc_builder* b, kc_function* f, const kc_node* n)
{
    bool is_known = false;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const kc_node* a = n->children[i];
        uint64_t sizes[3];
        uint32_t count = 0;
        if (a->kind != KC_NODE_AnnotateAttr)
            continue;
        for (uint32_t j = 0; j < a->child_count; j++) {
            const kc_node* value = a->children[j];
            if (value->kind == KC_NODE_ConstantExpr && value->value && count < 3)
                sizes[count++] = strtoull(value->value, NULL, 10);
        }
        if (count != 3)
            continue; /* an annotation of the user's */
        is_known = true;
        const uint64_t limit = KC_MAX_WORKGROUP;
        const bool is_ok = sizes[0] && sizes[1] && sizes[2] && sizes[0] <= limit &&
                           sizes[1] <= limit && sizes[2] <= limit &&
                           sizes[0] * sizes[1] * sizes[2] <= limit;
        if (!is_ok) {
            kc_build_error(b, n->loc, KC_DIAG_WORKGROUP_SIZE,
                           "reqd_work_group_size of kernel '%s' is not from 1 to %d work-items",
                           f->name, KC_MAX_WORKGROUP);
            continue;
        }
        for (int j = 0; j < 3; j++)
            f->workgroup_size[j] = (uint32_t)sizes[j];
    }
    if (kc_node_find(n, KC_NODE_ReqdWorkGroupSizeAttr) && !is_known)
        kc_build_error(b, n->loc, KC_DIAG_WORKGROUP_SIZE,
                       "the arguments of reqd_work_group_size could not be read");
}

static bool holds(const kc_type* t, bool (*is_bad)(const kc_type*))
{
    if (is_bad(t))
        return true;
    if (t->kind == KC_TYPE_ARRAY)
        return holds(t->element, is_bad);
    if (t->kind == KC_TYPE_STRUCT)
        for (uint32_t i = 0; i < t->record->field_count; i++)
            if (holds(t->record->fields[i].type, is_bad))
                return true;
    return false;
}

static bool is_pointer(const kc_type* t)
{
    return t->kind == KC_TYPE_POINTER;
}

static bool is_bool(const kc_type* t)
{
    return t->kind == KC_TYPE_BOOL;
}

static void check_argument(kc_builder* b, const kc_node* n, const kc_type* t)
{
    const char* name = n->name ? n->name : "";
    if (t->kind == KC_TYPE_POINTER) {
        if (t->space == KC_SPACE_PRIVATE)
            kc_build_error(b, n->loc, KC_DIAG_KERNEL_ARGUMENT,
                           "argument '%s' points to private memory, which the host has none of",
                           name);
        else if (t->space != KC_SPACE_LOCAL && holds(t->element, is_pointer))
            kc_build_error(b, n->loc, KC_DIAG_KERNEL_ARGUMENT,
                           "argument '%s' points to pointers, which the host can't make", name);
        return;
    }
    if (holds(t, is_pointer))
        kc_build_error(b, n->loc, KC_DIAG_KERNEL_ARGUMENT, "argument '%s' holds a pointer", name);
    else if (holds(t, is_bool))
        kc_build_error(b, n->loc, KC_DIAG_KERNEL_ARGUMENT,
                       "argument '%s' holds a bool, whose size is not fixed", name);
}

static void check_arguments(kc_builder* b, const kc_build_function* f)
{
    if (f->function->param_count > KC_MAX_ARGUMENTS)
        kc_build_error(b, f->node->loc, KC_DIAG_ARGUMENTS,
                       "kernel '%s' has %u arguments; %d are allowed", f->function->name,
                       f->function->param_count, KC_MAX_ARGUMENTS);
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->function->param_count; i++) {
        const kc_type* t = f->function->params[i]->type;
        if (t->kind != KC_TYPE_POINTER && t->align)
            size = (size + t->align - 1) / t->align * t->align + t->size;
    }
    if (size > KC_MAX_PUSH_CONSTANTS)
        kc_build_error(b, f->node->loc, KC_DIAG_PUSH_CONSTANTS,
                       "kernel '%s' takes %llu bytes by value; %d are allowed", f->function->name,
                       (unsigned long long)size, KC_MAX_PUSH_CONSTANTS);
}

/* What a function returns is in no member of its own: it is its type up to the parameters'
 * parenthesis. */
static const kc_type* result_type(kc_builder* b, const kc_node* n)
{
    static const char attribute[] = " __attribute__";
    const char* text = n->type.text;
    size_t at = text ? strlen(text) : 0;
    for (;;) {
        if (!at || text[at - 1] != ')')
            return kc_build_error(b, n->loc, KC_DIAG_TYPE,
                                  "the function type '%s' is not supported", text ? text : "?");
        int open = 0;
        while (at > 0) {
            at--;
            open += text[at] == ')';
            open -= text[at] == '(';
            if (open == 0)
                break;
        }
        const size_t n_attribute =
            sizeof attribute - 1; /* `void (int) __attribute__((noreturn))` */
        if (at < n_attribute || memcmp(text + at - n_attribute, attribute, n_attribute) != 0)
            break;
        at -= n_attribute;
    }
    const kc_type_text result = {.text = kc_strndup(b->arena, text, at)};
    return kc_build_plain_type(b, &result, n->loc);
}

static const kc_node* body_of(const kc_node* n)
{
    return kc_node_find(n, KC_NODE_CompoundStmt);
}

/* Overloads share a name in the source, not in the IR. */
static const char* unique_name(kc_builder* b, const char* name)
{
    const char* unique = name;
    for (uint32_t n = 2;; n++) {
        const kc_function* f = b->m->functions;
        while (f && strcmp(f->name, unique) != 0)
            f = f->next;
        if (!f)
            return unique;
        unique = kc_format(b->arena, "%s_%u", name, n);
    }
}

static void build_signature(kc_builder* b, kc_build_function* f, const kc_node* n)
{
    const uint32_t errors = b->diags->error_count;
    f->node = n;
    const kc_type* result = result_type(b, n);
    const bool is_kernel = kc_node_find(n, KC_NODE_OpenCLKernelAttr) != NULL;
    kc_function* function = kc_function_create(
        b->m, unique_name(b, n->name), result ? result : kc_type_void(b->m), is_kernel, n->loc);
    for (uint32_t i = 0; i < n->child_count; i++) {
        const kc_node* p = n->children[i];
        if (p->kind != KC_NODE_ParmVarDecl)
            continue;
        kc_entity* e = kc_build_declare(b, KC_ENTITY_VAR, p->id);
        e->type = kc_build_type(b, &p->type, p->loc);
        if (!e->type.type)
            continue;
        const char* name = p->name ? p->name : kc_format(b->arena, "arg%u", function->param_count);
        e->var = kc_param_add(b->m, function, name, e->type.type, p->loc);
        if (is_kernel)
            check_argument(b, p, e->type.type);
    }
    f->function = function;
    if (is_kernel) {
        check_arguments(b, f);
        read_workgroup_size(b, function, n);
    }
    if (b->diags->error_count != errors)
        f->node = NULL; /* its body would only repeat the errors */
}

static void build_function_declaration(kc_builder* b, const kc_node* n)
{
    if (!n->name || n->is_implicit)
        return;
    kc_entity* previous = kc_build_find(b, n->previous_id);
    kc_entity* e = kc_build_declare(b, KC_ENTITY_FUNCTION, n->id);
    if (previous && previous->kind == KC_ENTITY_FUNCTION) {
        e->function = previous->function;
    } else {
        kc_build_function* f = KC_NEW(b->arena, kc_build_function);
        e->function = f;
        if (b->last_function)
            b->last_function->next = f;
        else
            b->functions = f;
        b->last_function = f;
    }
    if (body_of(n))
        build_signature(b, e->function, n);
}

/* ---- the order of functions ------------------------------------------------------------------ */

void kc_build_note_call(kc_builder* b, kc_build_function* callee, kc_loc loc)
{
    kc_build_function* caller = b->info;
    for (uint32_t i = 0; i < caller->call_count; i++)
        if (caller->calls[i] == callee)
            return;
    if ((caller->call_count & (caller->call_count - 1)) == 0) { /* full when a power of two, or 0 */
        const size_t room = caller->call_count ? (size_t)caller->call_count * 2 : 1;
        kc_build_function** calls = KC_NEW_ARRAY(b->arena, kc_build_function*, room);
        kc_loc* locs = KC_NEW_ARRAY(b->arena, kc_loc, room);
        if (caller->call_count) {
            memcpy(calls, caller->calls, sizeof *calls * caller->call_count);
            memcpy(locs, caller->call_locs, sizeof *locs * caller->call_count);
        }
        caller->calls = calls;
        caller->call_locs = locs;
    }
    caller->calls[caller->call_count] = callee;
    caller->call_locs[caller->call_count++] = loc;
}

typedef struct kc_visit {
    kc_build_function* f;
    uint32_t next_call;
} kc_visit;

/* Depth first, without recursion: chains of calls may be long. */
static void order_functions(kc_builder* b)
{
    enum { NEW, OPEN, DONE };
    size_t count = 0;
    for (kc_build_function* f = b->functions; f; f = f->next)
        count++;
    kc_visit* stack = KC_NEW_ARRAY(b->arena, kc_visit, count);
    kc_module* m = b->m;
    m->functions = m->last_function = NULL;
    for (kc_build_function* start = b->functions; start; start = start->next) {
        size_t depth = 0;
        if (start->mark == NEW) {
            start->mark = OPEN;
            stack[depth++] = (kc_visit){start, 0};
        }
        while (depth) {
            kc_visit* v = &stack[depth - 1];
            if (v->next_call < v->f->call_count) {
                kc_build_function* callee = v->f->calls[v->next_call];
                const kc_loc loc = v->f->call_locs[v->next_call++];
                if (callee->mark == OPEN) {
                    kc_build_error(b, loc, KC_DIAG_RECURSION, "'%s' calls itself%s",
                                   callee->function->name,
                                   callee == v->f ? "" : " through other functions");
                } else if (callee->mark == NEW) {
                    callee->mark = OPEN;
                    stack[depth++] = (kc_visit){callee, 0};
                }
                continue;
            }
            v->f->mark = DONE;
            depth--;
            kc_function* f = v->f->function;
            if (!f)
                continue;
            f->next = NULL;
            if (m->last_function)
                m->last_function->next = f;
            else
                m->functions = f;
            m->last_function = f;
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void build_unit(kc_builder* b, const kc_node* root)
{
    for (uint32_t i = 0; i < root->child_count; i++) {
        const kc_node* n = root->children[i];
        if (kc_build_type_declaration(b, n))
            continue;
        if (n->kind == KC_NODE_VarDecl)
            build_global(b, n);
        else if (n->kind == KC_NODE_FunctionDecl)
            build_function_declaration(b, n);
    }
    bool has_kernel = false;
    for (kc_build_function* f = b->functions; f; f = f->next) {
        has_kernel |= f->function && f->function->is_kernel;
        if (f->node)
            kc_build_body(b, f);
    }
    if (!has_kernel)
        kc_build_error(b, (kc_loc){.file = b->options->input, .line = 1, .column = 1},
                       KC_DIAG_NO_KERNEL, "no function here is a __kernel");
    if (!b->diags->error_count)
        order_functions(b);
}

struct kc_tree {
    kc_arena* arena;
    const kc_options* options;
    const kc_node* root;
    uint32_t element_count;
    const char** element_names;
};

kc_tree* kc_parse(kc_arena* arena, kc_diags* diags, const kc_options* options)
{
    size_t size = 0;
    char* dump = NULL;
    if (!kc_clang_run(arena, diags, options, KC_DUMP_JSON, options->dependencies, &dump, &size))
        return NULL;
    char* json =
        kc_strndup(arena, dump, size); /* names and file names of the modules point into it */
    free(dump);
    kc_tree* tree = KC_NEW(arena, kc_tree);
    tree->arena = arena;
    tree->options = options;
    const uint32_t errors = diags->error_count;
    tree->root = kc_ast_read(arena, diags, options->input, json, size, &tree->element_count);
    if (tree->root)
        kc_check_subset(diags, tree->root);
    return tree->root && diags->error_count == errors ? tree : NULL;
}

kc_module* kc_build_tree(kc_tree* tree, kc_diags* diags, const char* name)
{
    kc_builder* b = KC_NEW(tree->arena, kc_builder);
    b->arena = tree->arena;
    b->diags = diags;
    b->options = tree->options;
    b->m = kc_module_create(tree->arena, diags, name);
    b->m->source_path = tree->options->input;
    b->m->size_t_bits = tree->options->size_t_bits == 32 ? 32 : 64;
    b->element_count = tree->element_count;
    b->element_names = tree->element_names;
    const uint32_t errors = diags->error_count;
    build_unit(b, tree->root);
    tree->element_names = b->element_names;
    while (b->sources) {
        free(b->sources->data);
        b->sources = b->sources->next;
    }
    return diags->error_count == errors ? b->m : NULL;
}

kc_module* kc_build_module(kc_arena* arena, kc_diags* diags, const char* name,
                           const kc_options* options)
{
    kc_tree* tree = kc_parse(arena, diags, options);
    return tree ? kc_build_tree(tree, diags, name) : NULL;
}
