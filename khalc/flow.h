/* How pointer values flow between a module's variables: what kc_pass_origins and kc_pass_usage share. */
#ifndef KC_FLOW_H
#define KC_FLOW_H

#include "ir.h"

typedef struct kc_node { /* of one variable; var->pass_data while the flow is open */
    kc_var* var;
    uint32_t index;
    bool holds_pointers; /* its type is, or has inside, a pointer */
    uint8_t object;      /* KC_ACCESS_... of the variable itself */
    uint8_t pointee;     /* KC_ACCESS_... of what its value points to */
} kc_node;

enum { KC_ACCESS_READ = 1, KC_ACCESS_WRITE = 2, KC_ACCESS_ATOMIC = 4 };

typedef enum kc_source_kind {
    KC_SOURCE_VALUE,   /* a pointer that `var` holds */
    KC_SOURCE_OBJECT,  /* the address of `var`, or of a part of it */
    KC_SOURCE_UNKNOWN, /* from memory or an integer, into `space` */
} kc_source_kind;

typedef struct kc_source {
    kc_source_kind kind;
    kc_var* var;
    kc_space space;
} kc_source;

typedef struct kc_edge { /* a pointer from `source` may get into `to` */
    kc_source source;
    kc_node* to;
} kc_edge;

typedef struct kc_flow {
    kc_module* m;
    uint32_t node_count, edge_count, edge_capacity;
    kc_node** nodes; /* constants, then each function's parameters, locals, buffers, declared variables */
    kc_edge* edges;
} kc_flow;

/* Fills is_address_taken and kc_record.has_pointers too. Until kc_flow_close, every var->pass_data is its node. */
void kc_flow_open(kc_flow* flow, kc_module* m);
void kc_flow_close(kc_flow* flow);

/* Calls fn for each source of the pointers in the value of `e`. */
void kc_flow_sources(const kc_expr* e, void (*fn)(kc_source source, void* user), void* user);

/* These hold once a flow has been opened. */
bool kc_type_holds_pointers(const kc_type* t);
bool kc_type_has_unions(const kc_type* t);
bool kc_type_has_doubles(const kc_type* t);

#endif
