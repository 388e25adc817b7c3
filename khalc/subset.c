/* Refuses what the builder has no form for, with an id for each kind, before anything is built.
 * Types are refused where the builder meets them. */
#include <string.h>

#include "build_internal.h"

static bool has_prefix(const char* s, const char* prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static void check_function(kc_diags* diags, const kc_node* n)
{
    const bool is_builtin = n->is_implicit || (n->name && strcmp(n->name, "printf") == 0);
    if (n->is_variadic && !is_builtin)
        kc_error(diags, n->loc, KC_DIAG_VARIADIC,
                 "the function '%s' takes a variable number of arguments", n->name ? n->name : "");
}

static void check_node(kc_diags* diags, const kc_node* n)
{
    const char* kind = n->kind_name;
    switch (n->kind) {
    case KC_NODE_GotoStmt:
    case KC_NODE_IndirectGotoStmt:
        kc_error(diags, n->loc, KC_DIAG_GOTO,
                 "goto is not supported: control flow must be structured");
        break;
    case KC_NODE_LabelStmt:
    case KC_NODE_AddrLabelExpr:
        kc_error(diags, n->loc, KC_DIAG_GOTO,
                 "labels are not supported: control flow must be structured");
        break;
    case KC_NODE_GCCAsmStmt:
    case KC_NODE_MSAsmStmt:
    case KC_NODE_FileScopeAsmDecl:
        kc_error(diags, n->loc, KC_DIAG_ASM, "inline assembly is not supported");
        break;
    case KC_NODE_BlockExpr:
        kc_error(diags, n->loc, KC_DIAG_BLOCK, "blocks are not supported");
        break;
    case KC_NODE_FieldDecl:
        if (n->is_bitfield)
            kc_error(diags, n->loc, KC_DIAG_BITFIELD, "the bit-field '%s' is not supported",
                     n->name ? n->name : "");
        break;
    case KC_NODE_FunctionDecl: check_function(diags, n); break;
    case KC_NODE_TransparentUnionAttr:
    case KC_NODE_ModeAttr:
        kc_error(diags, n->loc, KC_DIAG_TYPE, "this attribute of a type is not supported (%s)",
                 kind);
        break;
    case KC_NODE_OTHER:
        if (strcmp(kind, "VariableArrayType") == 0)
            kc_error(diags, n->loc, KC_DIAG_VLA, "arrays of variable length are not supported");
        else if (strcmp(kind, "VAArgExpr") == 0)
            kc_error(diags, n->loc, KC_DIAG_VARIADIC, "variable arguments are not supported");
        else if (strcmp(kind, "AtomicExpr") == 0)
            kc_error(diags, n->loc, KC_DIAG_BUILTIN,
                     "the atomic functions of OpenCL C 2.0 are not supported");
        else if (has_prefix(kind, "ObjC") || has_prefix(kind, "CXX"))
            kc_error(diags, n->loc, KC_DIAG_BLOCK, "this is not OpenCL C 1.2 (%s)", kind);
        break;
    default: break;
    }
}

/* The tree is at most KC_MAX_DEPTH deep: ast.c has seen to it. */
static void walk(kc_diags* diags, const kc_node* n)
{
    check_node(diags, n);
    if (n->kind == KC_NODE_BlockExpr)
        return; /* one error is enough for what is inside */
    for (uint32_t i = 0; i < n->child_count; i++)
        walk(diags, n->children[i]);
}

void kc_check_subset(kc_diags* diags, const kc_node* root)
{
    walk(diags, root);
}
