/* khalc's reader of clang's JSON: any bytes give a tree or a diagnostic. */
#include <string.h>

#include "ast.h"
#include "fuzz.h"

static uint32_t count_nodes(const kc_node* n)
{
    uint32_t count = 1;
    FUZZ_CHECK(n->kind < KC_NODE_KIND_COUNT);
    FUZZ_CHECK(n->kind_name);
    for (uint32_t i = 0; i < n->child_count; i++) {
        FUZZ_CHECK(n->children[i]);
        count += count_nodes(n->children[i]);
    }
    FUZZ_CHECK(!kc_node_child(n, n->child_count));
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    kc_arena* arena = kc_arena_create();
    char* json = malloc(size + 1);
    if (arena && json) {
        if (size)
            memcpy(json, data, size);
        json[size] = 0;
        kc_diags diags = {.arena = arena};
        uint32_t element_count = 0;
        const kc_node* root = kc_ast_read(arena, &diags, "input.cl", json, size, &element_count);
        FUZZ_CHECK((root != NULL) == (diags.error_count == 0));
        if (root)
            FUZZ_CHECK(count_nodes(root) <= size); /* a node takes at least a byte */
    }
    free(json);
    kc_arena_destroy(arena);
    return 0;
}
