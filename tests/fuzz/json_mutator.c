/* libFuzzer's mutations for JSON: whole values are copied, dropped and exchanged, so that most inputs stay JSON and
 * get beyond the parser. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JSMN_STATIC
#define JSMN_PARENT_LINKS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <jsmn.h>
#pragma GCC diagnostic pop

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);

enum { TOKENS = 1 << 15 };

static const char* const words[] = {
    "0", "-1", "18446744073709551615", "1e999", "true", "null", "{}", "[]", "\"\"", "\"0x1\"", "\"0x2\"", "\"0x3\"",
    "\"int\"", "\"float4\"", "\"__global float *\"", "\"__local int[3]\"", "\"void\"", "\"half\"", "\"struct pair\"",
    "\"void (__global float *, uint)\"", "\"uchar16\"", "\"unsigned long\"", "\"__constant char *const __private *\"",
    "\"bool\"", "\"double3 __attribute__((ext_vector_type(3)))\"", "\"int[99999999999999999999]\"", "\"=\"", "\"+=\"",
    "\"&&\"", "\"++\"", "\"&\"", "\"*\"", "\",\"", "\"<<\"", "\"__real\"", "\"LValueToRValue\"", "\"NoOp\"",
    "\"VectorSplat\"", "\"BitCast\"", "\"ArrayToPointerDecay\"", "\"FunctionToPointerDecay\"", "\"IntegralCast\"",
    "\"FloatingToIntegral\"", "\"AddressSpaceConversion\"", "\"NullToPointer\"", "\"ToVoid\"", "\"BuiltinFnToFnPtr\"",
    "\"IfStmt\"", "\"ForStmt\"", "\"WhileStmt\"", "\"DoStmt\"", "\"SwitchStmt\"", "\"CaseStmt\"", "\"DefaultStmt\"",
    "\"BreakStmt\"", "\"ContinueStmt\"", "\"ReturnStmt\"", "\"CompoundStmt\"", "\"DeclStmt\"", "\"NullStmt\"",
    "\"GotoStmt\"", "\"LabelStmt\"", "\"ParenExpr\"", "\"DeclRefExpr\"", "\"ImplicitCastExpr\"", "\"CStyleCastExpr\"",
    "\"UnaryOperator\"", "\"BinaryOperator\"", "\"CompoundAssignOperator\"", "\"ConditionalOperator\"", "\"CallExpr\"",
    "\"MemberExpr\"", "\"ArraySubscriptExpr\"", "\"ExtVectorElementExpr\"", "\"InitListExpr\"", "\"CompoundLiteralExpr\"",
    "\"StringLiteral\"", "\"FloatingLiteral\"", "\"IntegerLiteral\"", "\"CharacterLiteral\"", "\"VarDecl\"",
    "\"ParmVarDecl\"", "\"FunctionDecl\"", "\"RecordDecl\"", "\"FieldDecl\"", "\"EnumDecl\"", "\"EnumConstantDecl\"",
    "\"TypedefDecl\"", "\"AsTypeExpr\"", "\"UnaryExprOrTypeTraitExpr\"", "\"ShuffleVectorExpr\"", "\"StmtExpr\"",
    "\"get_global_id\"", "\"barrier\"", "\"atomic_add\"", "\"vload4\"", "\"vstore_half3_rte\"", "\"convert_char4_sat\"",
    "\"printf\"", "\"async_work_group_copy\"", "\"frexp\"", "\"select\"", "\"shuffle2\"", "\"mad_sat\"", "\"fract\"",
};

/* Puts `text` in the place of from..to; the new size, or 0 where there is no room. */
static size_t splice(uint8_t* data, size_t size, size_t max_size, size_t from, size_t to, const char* text, size_t length)
{
    if (size - (to - from) + length > max_size)
        return 0;
    memmove(data + from + length, data + to, size - to);
    memcpy(data + from, text, length);
    return size - (to - from) + length;
}

static void span(const jsmntok_t* t, size_t* from, size_t* to) /* with a string's quotes */
{
    const int quotes = t->type == JSMN_STRING;
    *from = (size_t)(t->start - quotes);
    *to = (size_t)(t->end + quotes);
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed)
{
    static jsmntok_t tokens[TOKENS];
    jsmn_parser parser;
    jsmn_init(&parser);
    const int count = jsmn_parse(&parser, (const char*)data, size, tokens, TOKENS);
    const int choice = rand_r(&seed) % 16;
    if (count < 3 || choice == 0)
        return LLVMFuzzerMutate(data, size, max_size);

    const int a = 1 + rand_r(&seed) % (count - 1), b = 1 + rand_r(&seed) % (count - 1);
    const jsmntok_t *t = &tokens[a], *other = &tokens[b];
    const int in_array = t->parent >= 0 && tokens[t->parent].type == JSMN_ARRAY;
    size_t from, to, other_from, other_to, done = 0;
    span(t, &from, &to);
    span(other, &other_from, &other_to);
    if (choice < 5 || t->size == 0) { /* another word */
        const char* word = words[(size_t)rand_r(&seed) % (sizeof words / sizeof words[0])];
        if (t->size == 0 || in_array)
            done = splice(data, size, max_size, from, to, word, strlen(word));
    } else if (choice < 8 && in_array) { /* drop an element */
        if (to < size && data[to] == ',')
            done = splice(data, size, max_size, from, to + 1, "", 0);
        else if (from > 0 && data[from - 1] == ',')
            done = splice(data, size, max_size, from - 1, to, "", 0);
    } else if (t->type == JSMN_OBJECT || t->type == JSMN_ARRAY || t->size == 0) { /* another value, or one more */
        char* copy = malloc(other_to - other_from + 1);
        if (copy && other->type != JSMN_STRING) {
            const int adds = in_array && choice < 12;
            memcpy(copy, data + other_from, other_to - other_from);
            copy[other_to - other_from] = ',';
            done = splice(data, size, max_size, from, adds ? from : to, copy, other_to - other_from + (size_t)adds);
        }
        free(copy);
    }
    return done ? done : LLVMFuzzerMutate(data, size, max_size);
}
