/* What each pointer variable may point into: flow-insensitive, over the whole module. */
#include <string.h>

#include "flow.h"

/* ---- the flow of pointers -------------------------------------------------------------------- */

bool kc_type_holds_pointers(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    return t->kind == KC_TYPE_POINTER || (t->kind == KC_TYPE_STRUCT && t->record->has_pointers);
}

/* Of a union, another field than the one that was assigned may be read. */
static bool has_pointer_union(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    return t->kind == KC_TYPE_STRUCT && t->record->has_pointer_unions;
}

bool kc_type_has_unions(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    return t->kind == KC_TYPE_STRUCT && t->record->has_unions;
}

bool kc_type_has_doubles(const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY || t->kind == KC_TYPE_VECTOR)
        t = t->element;
    return t->kind == KC_TYPE_STRUCT ? t->record->has_doubles
                                     : t->kind == KC_TYPE_FLOAT && t->width == 64;
}

static bool find_pointers_in(kc_record* r)
{
    const bool had_pointers = r->has_pointers, had_pointer_unions = r->has_pointer_unions;
    const bool had_unions = r->has_unions, had_doubles = r->has_doubles;
    r->has_unions |= r->is_union;
    for (uint32_t f = 0; f < r->field_count; f++) {
        r->has_unions |= kc_type_has_unions(r->fields[f].type);
        r->has_doubles |= kc_type_has_doubles(r->fields[f].type);
        r->has_pointers |= kc_type_holds_pointers(r->fields[f].type);
        r->has_pointer_unions |= has_pointer_union(r->fields[f].type);
    }
    r->has_pointer_unions |= r->is_union && r->has_pointers;
    return r->has_pointers != had_pointers || r->has_pointer_unions != had_pointer_unions ||
           r->has_unions != had_unions || r->has_doubles != had_doubles;
}

/* Records may stand before those that they hold, so again until nothing changes. */
static void find_records_with_pointers(kc_module* m)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < m->record_count; i++)
            changed |= find_pointers_in(m->records[i]);
    }
}

void kc_flow_sources(const kc_expr* e, void (*fn)(kc_source source, void* user), void* user)
{
    switch (e->kind) {
    case KC_EX_LOAD:
        if (kc_type_holds_pointers(e->type)) {
            kc_var* root = kc_place_root(e->args[0]);
            if (root)
                fn((kc_source){.kind = KC_SOURCE_VALUE, .var = root}, user);
            else
                fn((kc_source){.kind = KC_SOURCE_UNKNOWN, .space = e->type->space}, user);
        }
        break;
    case KC_EX_ADDRESS: {
        const kc_expr* place = e->args[0];
        while (place->kind != KC_EX_VAR && place->kind != KC_EX_DEREF)
            place = place->args[0];
        if (place->kind == KC_EX_VAR)
            fn((kc_source){.kind = KC_SOURCE_OBJECT, .var = place->u.var}, user);
        else
            kc_flow_sources(place->args[0], fn, user);
        break;
    }
    case KC_EX_OFFSET:
    case KC_EX_CONVERT:
        if (kc_is_pointer(e->type))
            kc_flow_sources(e->args[0], fn, user);
        break;
    case KC_EX_BITCAST:
        if (kc_is_pointer(e->type))
            fn((kc_source){.kind = KC_SOURCE_UNKNOWN, .space = e->type->space}, user);
        break;
    case KC_EX_SELECT:
        kc_flow_sources(e->args[1], fn, user);
        kc_flow_sources(e->args[2], fn, user);
        break;
    case KC_EX_AGGREGATE:
        for (uint32_t i = 0; i < e->arg_count; i++)
            kc_flow_sources(e->args[i], fn, user);
        break;
    default: break;
    }
}

typedef struct kc_flow_sink {
    kc_flow* flow;
    kc_node* to;
} kc_flow_sink;

static void add_edge(kc_source source, void* user)
{
    const kc_flow_sink* sink = user;
    kc_flow* flow = sink->flow;
    if (flow->edge_count == flow->edge_capacity) {
        const uint32_t capacity = flow->edge_capacity ? flow->edge_capacity * 2 : 64;
        kc_edge* edges = KC_NEW_ARRAY(flow->m->arena, kc_edge, capacity);
        if (flow->edge_count)
            memcpy(edges, flow->edges, sizeof edges[0] * flow->edge_count);
        flow->edges = edges;
        flow->edge_capacity = capacity;
    }
    flow->edges[flow->edge_count++] = (kc_edge){source, sink->to};
}

static void flow_into(kc_flow* flow, kc_var* to, const kc_expr* value)
{
    kc_node* node = to->pass_data;
    if (value && node->holds_pointers)
        kc_flow_sources(value, add_edge, &(kc_flow_sink){flow, node});
}

typedef struct kc_callee_return {
    kc_flow* flow;
    kc_var* result;
} kc_callee_return;

static void flow_return(kc_stmt* s, void* user)
{
    const kc_callee_return* to = user;
    if (s->kind == KC_ST_RETURN)
        flow_into(to->flow, to->result, s->value);
}

static void flow_stmt(kc_stmt* s, void* user)
{
    kc_flow* flow = user;
    if (s->kind == KC_ST_DECLARE)
        flow_into(flow, s->var, s->value);
    if (s->kind == KC_ST_ASSIGN && kc_place_root(s->place))
        flow_into(flow, kc_place_root(s->place), s->value);
    if (s->kind == KC_ST_CALL) {
        for (uint32_t i = 0; i < s->arg_count; i++)
            flow_into(flow, s->callee->params[i], s->args[i]);
        if (s->result && ((kc_node*)s->result->pass_data)->holds_pointers)
            kc_block_walk(&s->callee->body, flow_return, &(kc_callee_return){flow, s->result});
    }
}

static void mark_address_taken(kc_expr** slot, void* user)
{
    (void)user;
    if ((*slot)->kind == KC_EX_ADDRESS) {
        kc_var* root = kc_place_root((*slot)->args[0]);
        if (root)
            root->is_address_taken = true;
    }
}

static void mark_stmt(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, mark_address_taken, user);
}

/* What can be reached through a pointer, or is a union, may be given pointers that no edge shows.
 */
static void flow_unknown(kc_flow* flow, kc_node* node)
{
    const kc_var* v = node->var;
    if (!node->holds_pointers || v->kind == KC_VAR_CONSTANT ||
        !(v->is_address_taken || has_pointer_union(v->type)))
        return;
    for (int space = KC_SPACE_PRIVATE; space <= KC_SPACE_CONSTANT; space++)
        if (!kc_is_pointer(v->type) || v->type->space == (kc_space)space)
            add_edge((kc_source){.kind = KC_SOURCE_UNKNOWN, .space = (kc_space)space},
                     &(kc_flow_sink){flow, node});
}

static void count_declared(kc_stmt* s, void* count)
{
    *(uint32_t*)count += s->kind == KC_ST_DECLARE;
}

static void add_node(kc_flow* flow, kc_var* v)
{
    kc_node* node = KC_NEW(flow->m->arena, kc_node);
    *node = (kc_node){
        .var = v, .index = flow->node_count, .holds_pointers = kc_type_holds_pointers(v->type)};
    v->pass_data = node;
    v->is_address_taken = false;
    flow->nodes[flow->node_count++] = node;
}

static void add_declared(kc_stmt* s, void* flow)
{
    if (s->kind == KC_ST_DECLARE)
        add_node(flow, s->var);
}

void kc_flow_open(kc_flow* flow, kc_module* m)
{
    *flow = (kc_flow){.m = m};
    find_records_with_pointers(m);
    uint32_t count = m->constant_count;
    for (kc_function* f = m->functions; f; f = f->next) {
        count += f->param_count + f->local_count + f->buffer_count + (f->push != NULL);
        kc_block_walk(&f->body, count_declared, &count);
    }
    flow->nodes = KC_NEW_ARRAY(m->arena, kc_node*, count);
    for (uint32_t i = 0; i < m->constant_count; i++)
        add_node(flow, m->constants[i]);
    for (kc_function* f = m->functions; f; f = f->next) {
        for (uint32_t i = 0; i < f->param_count; i++)
            add_node(flow, f->params[i]);
        for (uint32_t i = 0; i < f->local_count; i++)
            add_node(flow, f->locals[i]);
        for (uint32_t i = 0; i < f->buffer_count; i++)
            add_node(flow, f->buffers[i]);
        if (f->push)
            add_node(flow, f->push);
        kc_block_walk(&f->body, add_declared, flow);
    }
    for (uint32_t i = 0; i < m->constant_count; i++) {
        kc_expr* init = m->constants[i]->init;
        kc_stmt initialiser = {.kind = KC_ST_DECLARE, .var = m->constants[i], .value = init};
        flow_stmt(&initialiser, flow);
        mark_stmt(&initialiser, NULL);
    }
    for (kc_function* f = m->functions; f; f = f->next) {
        kc_block_walk(&f->body, flow_stmt, flow);
        kc_block_walk(&f->body, mark_stmt, NULL);
    }
    for (uint32_t i = 0; i < flow->node_count; i++)
        flow_unknown(flow, flow->nodes[i]);
}

void kc_flow_close(kc_flow* flow)
{
    for (uint32_t i = 0; i < flow->node_count; i++)
        flow->nodes[i]->var->pass_data = NULL;
}

/* ---- origins --------------------------------------------------------------------------------- */

/* A set of nodes, by index, and "unknown". */
typedef struct kc_roots {
    uint64_t* words;
    bool is_unknown;
} kc_roots;

static bool add_root(kc_roots* set, uint32_t index)
{
    const uint64_t bit = UINT64_C(1) << (index & 63);
    const bool is_new = !(set->words[index >> 6] & bit);
    set->words[index >> 6] |= bit;
    return is_new;
}

static bool add_roots(kc_roots* set, const kc_roots* from, size_t word_count)
{
    bool changed = from->is_unknown && !set->is_unknown;
    set->is_unknown |= from->is_unknown;
    for (size_t i = 0; i < word_count; i++) {
        changed |= (from->words[i] & ~set->words[i]) != 0;
        set->words[i] |= from->words[i];
    }
    return changed;
}

static const kc_node* source_node(const kc_edge* edge)
{
    return edge->source.var->pass_data;
}

static bool apply_edge(kc_roots* sets, const kc_edge* edge, size_t word_count)
{
    kc_roots* to = &sets[edge->to->index];
    switch (edge->source.kind) {
    case KC_SOURCE_VALUE: return add_roots(to, &sets[source_node(edge)->index], word_count);
    case KC_SOURCE_OBJECT: return add_root(to, source_node(edge)->index);
    case KC_SOURCE_UNKNOWN: {
        const bool changed = !to->is_unknown;
        to->is_unknown = true;
        return changed;
    }
    }
    return false;
}

static bool has_root(const kc_roots* set, uint32_t index)
{
    return set->words[index >> 6] >> (index & 63) & 1;
}

static void store_origin(const kc_flow* flow, kc_var* v, const kc_roots* set)
{
    kc_origin* origin = &v->origin;
    *origin = (kc_origin){.is_unknown = set->is_unknown};
    for (uint32_t i = 0; i < flow->node_count; i++)
        origin->count += has_root(set, i);
    origin->roots = KC_NEW_ARRAY(flow->m->arena, kc_var*, origin->count);
    uint32_t n = 0;
    for (uint32_t i = 0; i < flow->node_count; i++)
        if (has_root(set, i))
            origin->roots[n++] = flow->nodes[i]->var;
}

void kc_pass_origins(kc_module* m)
{
    kc_flow flow;
    kc_flow_open(&flow, m);
    const size_t word_count = flow.node_count / 64 + 1;
    kc_roots* sets = KC_NEW_ARRAY(m->arena, kc_roots, flow.node_count);
    for (uint32_t i = 0; i < flow.node_count; i++) {
        kc_var* v = flow.nodes[i]->var;
        v->origin = (kc_origin){0};
        if (!flow.nodes[i]->holds_pointers)
            continue;
        sets[i].words = KC_NEW_ARRAY(m->arena, uint64_t, word_count);
        if (v->kind == KC_VAR_PARAM && v->function->is_kernel)
            add_root(&sets[i], i);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < flow.edge_count; i++)
            changed |= apply_edge(sets, &flow.edges[i], word_count);
    }
    for (uint32_t i = 0; i < flow.node_count; i++)
        if (flow.nodes[i]->holds_pointers)
            store_origin(&flow, flow.nodes[i]->var, &sets[i]);
    kc_flow_close(&flow);
}

typedef struct kc_origin_sink {
    kc_module* m;
    kc_origin origin;
} kc_origin_sink;

static void add_to_origin(kc_module* m, kc_origin* origin, kc_var* root)
{
    for (uint32_t i = 0; i < origin->count; i++)
        if (origin->roots[i] == root)
            return;
    kc_var** roots = KC_NEW_ARRAY(m->arena, kc_var*, origin->count + 1);
    if (origin->count)
        memcpy(roots, origin->roots, sizeof roots[0] * origin->count);
    roots[origin->count++] = root;
    origin->roots = roots;
}

static void collect_origin(kc_source source, void* user)
{
    kc_origin_sink* sink = user;
    switch (source.kind) {
    case KC_SOURCE_VALUE:
        sink->origin.is_unknown |= source.var->origin.is_unknown;
        for (uint32_t i = 0; i < source.var->origin.count; i++)
            add_to_origin(sink->m, &sink->origin, source.var->origin.roots[i]);
        break;
    case KC_SOURCE_OBJECT: add_to_origin(sink->m, &sink->origin, source.var); break;
    case KC_SOURCE_UNKNOWN: sink->origin.is_unknown = true; break;
    }
}

kc_origin kc_expr_origin(kc_module* m, const kc_expr* pointer)
{
    kc_origin_sink sink = {.m = m};
    kc_flow_sources(pointer, collect_origin, &sink);
    return sink.origin;
}
