/* clang's AST, as its JSON dump has it, in memory.
 *
 * Only what khalc uses is kept. Members that a node lacks are NULL, 0 or false: whoever reads a
 * node checks. */
#ifndef KC_AST_H
#define KC_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"

/* Kinds that khalc tells apart; all others are KC_NODE_OTHER. */
/* clang-format off */
#define KC_NODE_KINDS(X)                                                                          \
    X(TranslationUnitDecl) X(TypedefDecl) X(RecordDecl) X(FieldDecl) X(IndirectFieldDecl)         \
    X(EnumDecl) X(EnumConstantDecl) X(FunctionDecl) X(ParmVarDecl) X(VarDecl)                     \
    X(StaticAssertDecl) X(EmptyDecl) X(FileScopeAsmDecl) X(BlockDecl) X(LabelDecl) X(PackedAttr)  \
    X(AlignedAttr) X(AnnotateAttr) X(OpenCLKernelAttr) X(MaxFieldAlignmentAttr)                   \
    X(ReqdWorkGroupSizeAttr) X(TransparentUnionAttr) X(ModeAttr) X(CompoundStmt) X(DeclStmt)      \
    X(NullStmt) X(IfStmt) X(ForStmt) X(WhileStmt) X(DoStmt) X(SwitchStmt) X(CaseStmt)             \
    X(DefaultStmt) X(BreakStmt) X(ContinueStmt) X(ReturnStmt) X(GotoStmt) X(IndirectGotoStmt)     \
    X(LabelStmt) X(GCCAsmStmt) X(MSAsmStmt) X(AttributedStmt) X(ParenExpr) X(ConstantExpr)        \
    X(IntegerLiteral) X(CharacterLiteral) X(FloatingLiteral) X(StringLiteral) X(PredefinedExpr)   \
    X(DeclRefExpr) X(ImplicitCastExpr) X(CStyleCastExpr) X(UnaryOperator) X(BinaryOperator)       \
    X(CompoundAssignOperator) X(ConditionalOperator) X(BinaryConditionalOperator)                 \
    X(OpaqueValueExpr) X(CallExpr) X(MemberExpr) X(ArraySubscriptExpr) X(ExtVectorElementExpr)    \
    X(InitListExpr) X(CompoundLiteralExpr) X(ImplicitValueInitExpr) X(UnaryExprOrTypeTraitExpr)   \
    X(AsTypeExpr) X(ConvertVectorExpr) X(ShuffleVectorExpr) X(StmtExpr) X(GenericSelectionExpr)   \
    X(OffsetOfExpr) X(BlockExpr) X(AddrLabelExpr) X(DesignatedInitUpdateExpr)                     \
    X(CXXBoolLiteralExpr) X(ElaboratedType) X(RecordType) X(EnumType)
/* clang-format on */

typedef enum kc_node_kind {
    KC_NODE_OTHER,
    KC_NODE_NULL, /* an absent child: `for (;;)` has three */
#define X(name) KC_NODE_##name,
    KC_NODE_KINDS(X)
#undef X
        KC_NODE_KIND_COUNT,
} kc_node_kind;

/* A type as clang spells it, and once more with its outermost typedef resolved (NULL where that is
 * the same). */
typedef struct kc_type_text {
    const char *text, *desugared;
} kc_type_text;

typedef struct kc_node kc_node;
struct kc_node {
    kc_node_kind kind;
    const char* kind_name; /* "" for KC_NODE_NULL */
    uint64_t id;
    kc_loc loc; /* a declaration's name, else where the node begins; of a macro, where it is used */
    /* the last token, where it is spelled: file NULL where unknown */
    const char* end_file;
    uint64_t end_offset;
    uint32_t end_length;
    uint32_t ordinal; /* of an ExtVectorElementExpr, among all in the order of the tree */
    const char* name;
    const char* value; /* literals, ConstantExpr */
    const char* opcode;
    const char* cast_kind;
    const char* tag; /* "struct", "union" */
    const char* storage;
    kc_type_text type, arg_type,
        compute_type; /* computeLHSType; computeResultType is always the same */
    uint64_t ref_id;  /* referencedDecl, of a type its decl, of a union's InitListExpr its field */
    uint64_t member_id;   /* referencedMemberDecl */
    uint64_t previous_id; /* previousDecl */
    const char *ref_kind, *ref_name;
    bool is_lvalue, is_postfix, is_arrow, has_else, has_init, has_var, is_implicit, is_variadic,
        is_complete, is_gnu_range, is_selected, is_bitfield, has_filler;
    uint32_t child_count;
    kc_node**
        children; /* with has_filler, the first is the filler of the elements that are not listed */
};

/* NULL after recording CLANG_FAILED or NESTING. `json` is changed and must outlive the tree. */
kc_node* kc_ast_read(kc_arena* arena, kc_diags* diags, const char* input, char* json, size_t size,
                     uint32_t* out_element_count); /* how many ExtVectorElementExpr there are */

const kc_node* kc_node_child(const kc_node* n, uint32_t i); /* NULL beyond the last */
const kc_node* kc_node_find(const kc_node* n,
                            kc_node_kind kind); /* first child of that kind, or NULL */

enum { KC_MAX_DEPTH = 1000 };

#endif
