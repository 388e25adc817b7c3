/* What a module's variables, statements and functions do: the facts that need no more than one look
 * at the tree, and what is read and written through pointers. */
#include "flow.h"

typedef struct kc_usage {
    kc_flow flow;
    uint8_t unknown[KC_SPACE_CONSTANT + 1]; /* KC_ACCESS_... through pointers of unknown origin */
    uint8_t access;                         /* of the pointer whose sources are being walked */
} kc_usage;

/* ---- memory ---------------------------------------------------------------------------------- */

static void access_source(kc_source source, void* user)
{
    kc_usage* u = user;
    kc_node* node = source.var ? source.var->pass_data : NULL;
    switch (source.kind) {
    case KC_SOURCE_VALUE: node->pointee |= u->access; break;
    case KC_SOURCE_OBJECT: node->object |= u->access; break;
    case KC_SOURCE_UNKNOWN: u->unknown[source.space] |= u->access; break;
    }
}

static void access_pointer(kc_usage* u, const kc_expr* pointer, uint8_t access)
{
    u->access = access;
    kc_flow_sources(pointer, access_source, u);
}

static void access_place(kc_usage* u, const kc_expr* place, uint8_t access)
{
    while (place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF)
        place = place->args[0];
    if (place->kind == KC_EX_VAR)
        ((kc_node*)place->u.var->pass_data)->object |= access;
    else
        access_pointer(u, place->args[0], access);
}

static void access_loads(kc_expr** slot, void* usage)
{
    if ((*slot)->kind == KC_EX_LOAD)
        access_place(usage, (*slot)->args[0], KC_ACCESS_READ);
}

static void access_stmt(kc_stmt* s, void* usage)
{
    kc_usage* u = usage;
    kc_stmt_walk_exprs(s, access_loads, u);
    if (s->kind == KC_ST_ASSIGN)
        access_place(u, s->place, KC_ACCESS_WRITE);
    if (s->kind == KC_ST_BROADCAST)
        access_place(u, s->place, KC_ACCESS_READ);
    if (s->kind == KC_ST_ATOMIC)
        access_place(u, s->place, KC_ACCESS_READ | KC_ACCESS_WRITE | KC_ACCESS_ATOMIC);
    if (s->kind == KC_ST_DECLARE && s->value)
        ((kc_node*)s->var->pass_data)->object |= KC_ACCESS_WRITE;
    if (s->result)
        ((kc_node*)s->result->pass_data)->object |= KC_ACCESS_WRITE;
    for (uint32_t i = 0; s->kind == KC_ST_PRINTF && i < s->arg_count; i++)
        if (kc_is_pointer(s->args[i]->type)) /* %s */
            access_pointer(u, s->args[i], KC_ACCESS_READ);
}

/* A pointer that could be into anything may be into each variable of its address space that has an
 * address somewhere. */
static void access_unknown(kc_usage* u, kc_node* node)
{
    const kc_var* v = node->var;
    switch (v->kind) {
    case KC_VAR_LOCAL: node->object |= u->unknown[KC_SPACE_LOCAL]; break;
    case KC_VAR_CONSTANT: node->object |= u->unknown[KC_SPACE_CONSTANT]; break;
    case KC_VAR_BUFFER: break; /* what has none left that could point to it */
    case KC_VAR_PARAM:
    case KC_VAR_PRIVATE:
        if (v->is_address_taken)
            node->object |= u->unknown[KC_SPACE_PRIVATE];
        if (v->kind == KC_VAR_PARAM && kc_is_pointer(v->type))
            node->pointee |= u->unknown[v->type->space];
        break;
    }
}

/* What is done through a pointer is done to what it came from. */
static bool access_edge(kc_usage* u, const kc_edge* edge)
{
    uint8_t* access = NULL;
    const kc_source source = edge->source;
    kc_node* from = source.var ? source.var->pass_data : NULL;
    switch (source.kind) {
    case KC_SOURCE_VALUE: access = &from->pointee; break;
    case KC_SOURCE_OBJECT: access = &from->object; break;
    case KC_SOURCE_UNKNOWN: access = &u->unknown[source.space]; break;
    }
    const uint8_t before = *access;
    *access |= edge->to->pointee;
    return *access != before;
}

static void find_memory_usage(kc_module* m)
{
    kc_usage u = {.access = 0};
    kc_flow_open(&u.flow, m);
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, access_stmt, &u);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = u.flow.edge_count; i-- > 0;) /* mostly against the order of the source */
            changed |= access_edge(&u, &u.flow.edges[i]);
        if (!changed)
            for (uint32_t i = 0; i < u.flow.node_count; i++) {
                kc_node* node = u.flow.nodes[i];
                const uint8_t pointee = node->pointee, object = node->object;
                access_unknown(&u, node);
                changed |= node->pointee != pointee || node->object != object;
            }
    }
    for (uint32_t i = 0; i < u.flow.node_count; i++) {
        const kc_node* node = u.flow.nodes[i];
        kc_var* v = node->var;
        const uint8_t access = kc_is_pointer(v->type) ? node->pointee : node->object;
        v->is_read = access & KC_ACCESS_READ;
        v->is_written = access & KC_ACCESS_WRITE;
        v->is_atomic = (node->pointee | node->object) & KC_ACCESS_ATOMIC;
    }
    kc_flow_close(&u.flow);
}

/* ---- statements and functions ---------------------------------------------------------------- */

typedef struct kc_scan {
    kc_function* f;
    uintptr_t depth;      /* of the statement being looked at; the function's body is at 1 */
    uintptr_t exit_depth; /* the outermost target of the exits seen since it was last reset */
    bool has_barrier, has_return;
} kc_scan;

static void scan_block(kc_block* b, void* scan);

static bool is_fp64(const kc_type* t)
{
    return kc_lane(t)->kind == KC_TYPE_FLOAT && kc_lane(t)->width == 64;
}

static void scan_fp64(kc_expr** slot, void* function)
{
    ((kc_function*)function)->has_fp64 |= is_fp64((*slot)->type);
}

static void scan_function_facts(kc_scan* c, kc_stmt* s)
{
    kc_function* f = c->f;
    f->has_printf |= s->kind == KC_ST_PRINTF;
    f->has_atomic |= s->kind == KC_ST_ATOMIC;
    if (s->kind == KC_ST_CALL) {
        f->has_printf |= s->callee->has_printf;
        f->has_atomic |= s->callee->has_atomic;
        f->has_fp64 |= s->callee->has_fp64;
    }
    if (s->kind == KC_ST_DECLARE)
        f->has_fp64 |= is_fp64(s->var->type);
    kc_stmt_walk_exprs(s, scan_fp64, f);
}

static void scan_stmt(kc_scan* c, kc_stmt* s)
{
    const kc_scan outer = *c;
    c->has_barrier = s->kind == KC_ST_BARRIER || s->kind == KC_ST_BROADCAST ||
                     (s->kind == KC_ST_CALL && s->callee->has_barrier);
    c->has_return = s->kind == KC_ST_RETURN;
    c->exit_depth = UINTPTR_MAX;
    if (s->kind == KC_ST_BREAK || s->kind == KC_ST_CONTINUE)
        c->exit_depth = (uintptr_t)s->target->pass_data;
    scan_function_facts(c, s);
    s->pass_data = (void*)c->depth;
    kc_stmt_walk_blocks(s, scan_block, c);
    s->pass_data = NULL;
    s->has_barrier = c->has_barrier;
    s->has_return = c->has_return;
    s->has_exit = c->exit_depth < c->depth;
    c->has_barrier |= outer.has_barrier;
    c->has_return |= outer.has_return;
    if (outer.exit_depth < c->exit_depth)
        c->exit_depth = outer.exit_depth;
}

static void scan_block(kc_block* b, void* scan)
{
    kc_scan* c = scan;
    c->depth++;
    for (kc_stmt* s = b->first; s; s = s->next)
        scan_stmt(c, s);
    c->depth--;
}

static void scan_function(kc_function* f)
{
    f->has_barrier = f->has_printf = f->has_atomic = f->has_fp64 = false;
    for (uint32_t i = 0; i < f->param_count; i++)
        f->has_fp64 |= is_fp64(f->params[i]->type);
    for (uint32_t i = 0; i < f->local_count; i++)
        f->has_fp64 |= is_fp64(f->locals[i]->type);
    kc_scan c = {.f = f, .exit_depth = UINTPTR_MAX};
    scan_block(&f->body, &c);
    f->has_barrier = c.has_barrier;
}

void kc_pass_usage(kc_module* m)
{
    find_memory_usage(m);
    for (kc_function* f = m->functions; f; f = f->next)
        scan_function(f);
}
