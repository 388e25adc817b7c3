/* What each WebGPU library is not given: every construct by a module of its own, beside one that is
 * fine. */
#include "front.h"
#include "spirv_words.h"

#include "backends/webgpu/wg_spirv.h"

static const wg_spirv_target naga = {.has_float16 = true,
                                     .has_subgroups = true,
                                     .has_immediates = true},
                             tint = {.is_dawn = true, .has_float16 = true};

#define BODY(...) __VA_ARGS__

/* u32 is %3, i32 %9, f32 %6, bool %17, true %110; u32 constants %7 (1) and %8 (0); a float %13, a
 * signed %14; buffers %20 (read and written) and %21; %40 a value loaded, %41 the same signed, %42
 * as a float, %43 its pointer, %12 a local. */
#define MODULE_OF(name, minor, annotations, declarations, in_block, after)                         \
    static const uint32_t name[] = {                                                               \
        SPIRV_HEADER_OF(minor, 200),                                                               \
        SPV(ExtInstImport, 190, 0x4c534c47, 0x6474732e, 0x3035342e, 0), /* "GLSL.std.450" */       \
        SPV(EntryPoint, 5, 4, SPIRV_MAIN),                                                         \
        SPV(ExecutionMode, 4, 17, 1, 1, 1),                                                        \
        SPV(Decorate, 18, KHAL__DECORATION_ARRAY_STRIDE, 4),                                       \
        SPV(Decorate, 19, KHAL__DECORATION_BUFFER_BLOCK),                                          \
        SPV(MemberDecorate, 19, 0, KHAL__DECORATION_OFFSET, 0),                                    \
        SPV(Decorate, 20, KHAL__DECORATION_DESCRIPTOR_SET, 0),                                     \
        SPV(Decorate, 20, KHAL__DECORATION_BINDING, 0),                                            \
        SPV(Decorate, 21, KHAL__DECORATION_DESCRIPTOR_SET, 0),                                     \
        SPV(Decorate, 21, KHAL__DECORATION_BINDING, 1),                                            \
        annotations SPV(TypeVoid, 1),                                                              \
        SPV(TypeFunction, 2, 1),                                                                   \
        SPV(TypeInt, 3, 32, 0),                                                                    \
        SPV(TypeFloat, 6, 32),                                                                     \
        SPV(TypeInt, 9, 32, 1),                                                                    \
        SPV(TypeBool, 17),                                                                         \
        SPV(Constant, 3, 7, 1),                                                                    \
        SPV(Constant, 3, 8, 0),                                                                    \
        SPV(Constant, 6, 13, 0),                                                                   \
        SPV(Constant, 9, 14, 5),                                                                   \
        SPV(ConstantTrue, 17, 110),                                                                \
        SPV(TypeRuntimeArray, 18, 3),                                                              \
        SPV(TypeStruct, 19, 18),                                                                   \
        SPV(TypePointer, 22, 2, 19),                                                               \
        SPV(TypePointer, 23, 2, 3),                                                                \
        SPV(TypePointer, 24, 7, 3),                                                                \
        SPV(Variable, 22, 20, 2),                                                                  \
        SPV(Variable, 22, 21, 2),                                                                  \
        declarations SPV(Function, 1, 4, 0, 2),                                                    \
        SPV(Label, 5),                                                                             \
        SPV(Variable, 24, 12, 7),                                                                  \
        SPV(AccessChain, 23, 43, 20, 8, 8),                                                        \
        SPV(Load, 3, 40, 43),                                                                      \
        SPV(Bitcast, 9, 41, 40),                                                                   \
        SPV(Bitcast, 6, 42, 40),                                                                   \
        in_block SPV0(Return),                                                                     \
        SPV0(FunctionEnd),                                                                         \
        after}
#define MODULE(name, in_block) MODULE_OF(name, 3, BODY(), BODY(), BODY(in_block), 0x00010000)
#define DECLARES(name, declarations)                                                               \
    MODULE_OF(name, 3, BODY(), BODY(declarations), BODY(), 0x00010000)

static void check(const char* name, const uint32_t* words, size_t size,
                  const wg_spirv_target* target, const char* wrong)
{
    khal_device* device = open_noop();
    khal_module* module;
    OK(khal_module_load(device, &(khal_module_desc){.code = words, .code_size = size},
                        &module)); /* its structure holds */
    khal_module_release(module);
    khal_device_release(device);
    char message[400] = "";
    const bool is_fine = wg_spirv_check(target, words, size / 4, message, sizeof message);
    const char* library = target->is_dawn ? "Dawn" : "wgpu-native";
    if (is_fine != (wrong == NULL))
        fail_msg("%s: %s says \"%s\"", name, library, is_fine ? "fine" : message);
    if (is_fine)
        return;
    if (strstr(message, wrong) == NULL || strncmp(message, library, strlen(library)) != 0)
        fail_msg("%s: \"%s\" does not hold \"%s\"", name, message, wrong);
}

/* What is wrong for wgpu-native, and for Dawn; NULL: nothing is. */
#define EXPECT(name, on_naga, on_tint)                                                             \
    do {                                                                                           \
        check(#name, name, sizeof name, &naga, on_naga);                                           \
        check(#name, name, sizeof name, &tint, on_tint);                                           \
    } while (0)

static void plain_code(void** state)
{
    (void)state;
    MODULE(nothing, BODY());
    EXPECT(nothing, NULL, NULL);
    MODULE(ordinary,
           BODY(SPV(IAdd, 3, 50, 40, 7), SPV(FOrdEqual, 17, 51, 42, 42), SPV(UDiv, 3, 52, 40, 7),
                SPV(SDiv, 9, 53, 41, 14), SPV(ConvertSToF, 6, 54, 41),
                SPV(AtomicIAdd, 3, 55, 43, 7, 8, 7), SPV(SRem, 9, 56, 41, 14),
                SPV(ULessThan, 17, 57, 41, 14), SPV(IMul, 3, 58, 41, 40),
                SPV(ExtInst, 9, 59, 190, 39, 41, 14), SPV(Store, 43, 40), ));
    EXPECT(ordinary, NULL, NULL);
}

static void comparisons_with_nan(void** state)
{
    (void)state;
#define UNORDERED(op)                                                                              \
    do {                                                                                           \
        MODULE(op, BODY(SPV(op, 17, 50, 42, 13), ));                                               \
        EXPECT(op, "Op" #op " %50", NULL);                                                         \
    } while (0)
    UNORDERED(FUnordEqual);
    UNORDERED(FUnordNotEqual);
    UNORDERED(FUnordLessThan);
    UNORDERED(FUnordGreaterThan);
    UNORDERED(FUnordLessThanEqual);
    UNORDERED(FUnordGreaterThanEqual);
    MODULE(is_nan, BODY(SPV(IsNan, 17, 50, 42), ));
    EXPECT(is_nan, NULL, "OpIsNan %50");
}

static void signs(void** state)
{
    (void)state;
#define SIGN(name, instruction, on_tint)                                                           \
    do {                                                                                           \
        MODULE(name, BODY(instruction, ));                                                         \
        EXPECT(name, "OpBitcast", on_tint);                                                        \
    } while (0)
    SIGN(sdiv_unsigned, BODY(SPV(SDiv, 3, 50, 40, 7)), NULL);
    SIGN(sdiv_one_unsigned, BODY(SPV(SDiv, 9, 50, 41, 7)), NULL);
    SIGN(srem_unsigned, BODY(SPV(SRem, 3, 50, 40, 7)), NULL);
    SIGN(udiv_signed, BODY(SPV(UDiv, 9, 50, 41, 14)), NULL);
    SIGN(umod_signed, BODY(SPV(UMod, 9, 50, 41, 14)), NULL);
    SIGN(arithmetic_shift_unsigned, BODY(SPV(ShiftRightArithmetic, 3, 50, 40, 7)), NULL);
    SIGN(logical_shift_signed, BODY(SPV(ShiftRightLogical, 9, 50, 41, 7)), NULL);
    SIGN(to_float_signed_of_unsigned, BODY(SPV(ConvertSToF, 6, 50, 40)), NULL);
    SIGN(to_float_unsigned_of_signed, BODY(SPV(ConvertUToF, 6, 50, 41)), NULL);
    SIGN(to_signed_as_unsigned, BODY(SPV(ConvertFToS, 3, 50, 42)), NULL);
    SIGN(bits_signed_of_unsigned, BODY(SPV(BitFieldSExtract, 3, 50, 40, 7, 7)), NULL);
    SIGN(bits_unsigned_of_signed, BODY(SPV(BitFieldUExtract, 9, 50, 41, 7, 7)), NULL);
    SIGN(negated_unsigned, BODY(SPV(SNegate, 3, 50, 40)), NULL);
    SIGN(smin_unsigned, BODY(SPV(ExtInst, 3, 50, 190, 39, 40, 7)), NULL);
    SIGN(umax_signed, BODY(SPV(ExtInst, 9, 50, 190, 41, 41, 14)), NULL);
    SIGN(sclamp_unsigned, BODY(SPV(ExtInst, 3, 50, 190, 45, 40, 7, 7)), NULL);
    SIGN(sabs_unsigned, BODY(SPV(ExtInst, 3, 50, 190, 5, 40)), NULL);
    SIGN(find_smsb_unsigned, BODY(SPV(ExtInst, 3, 50, 190, 74, 40)), NULL);
    SIGN(atomic_smin_unsigned, BODY(SPV(AtomicSMin, 3, 50, 43, 7, 8, 7)), "OpBitcast");
    SIGN(atomic_smax_unsigned, BODY(SPV(AtomicSMax, 3, 50, 43, 7, 8, 7)), "OpBitcast");
    MODULE(umin_unsigned, BODY(SPV(AtomicUMin, 3, 50, 43, 7, 8, 7), ));
    EXPECT(umin_unsigned, NULL, NULL);
    MODULE(shift_by_signed, BODY(SPV(ShiftRightLogical, 3, 50, 40, 14), ));
    EXPECT(shift_by_signed, NULL, NULL);
    MODULE(find_smsb_signed, BODY(SPV(ExtInst, 3, 50, 190, 74, 41), ));
    EXPECT(find_smsb_signed, NULL, NULL);
    MODULE(smod, BODY(SPV(SMod, 9, 50, 41, 14), ));
    EXPECT(smod, NULL, "OpSMod %50");
}

static void compare_exchange(void** state)
{
    (void)state;
    MODULE(unused, BODY(SPV(AtomicCompareExchange, 3, 50, 43, 7, 8, 8, 7, 8), ));
    EXPECT(unused, NULL, NULL);
    MODULE(stored,
           BODY(SPV(AtomicCompareExchange, 3, 50, 43, 7, 8, 8, 7, 8), SPV(Store, 12, 50), ));
    EXPECT(stored, "OpAtomicCompareExchange %50", NULL);
    MODULE(added,
           BODY(SPV(AtomicCompareExchange, 3, 50, 43, 7, 8, 8, 7, 8), SPV(IAdd, 3, 51, 50, 7), ));
    EXPECT(added, "ends the process", NULL);
}

static void pointers_passed(void** state)
{
    (void)state;
#define CALLS(name, class, passed)                                                                 \
    MODULE_OF(name, 3, BODY(),                                                                     \
              BODY(SPV(TypePointer, 60, class, 3), SPV(TypeFunction, 61, 1, 60),                   \
                   SPV(Constant, 3, 62, 4), SPV(TypeArray, 63, 3, 62),                             \
                   SPV(TypePointer, 64, 7, 63), SPV(TypePointer, 65, 4, 3),                        \
                   SPV(Variable, 65, 66, 4), SPV(TypePointer, 67, 6, 3),                           \
                   SPV(Variable, 67, 68, 6), ),                                                    \
              BODY(SPV(Variable, 64, 69, 7), SPV(AccessChain, 60, 70, 69, 7),                      \
                   SPV(FunctionCall, 1, 71, 80, passed), ),                                        \
              BODY(SPV(Function, 1, 80, 0, 61), SPV(FunctionParameter, 60, 81), SPV(Label, 82),    \
                   SPV0(Return), SPV0(FunctionEnd)))
    CALLS(whole, 7, 12);
    EXPECT(whole, NULL, NULL);
    CALLS(element, 7, 70);
    EXPECT(element, "argument %70 is a pointer into", "argument %70 is a pointer into");
    CALLS(of_private, 6, 68);
    EXPECT(of_private, NULL, NULL);
    CALLS(of_workgroup, 4, 66);
    EXPECT(of_workgroup, "argument %66", NULL);
    CALLS(of_buffer, 2, 43);
    EXPECT(of_buffer, "argument %43", "argument %43");
}

static void phis(void** state)
{
    (void)state;
    /* for (i = 0, s = 0; i < 5; s = VALUE, i++): %90 is i, %91 is s, and VALUE is %94 */
#define LOOP(name, first, second, value)                                                           \
    MODULE(name,                                                                                   \
           BODY(SPV(Branch, 100), SPV(Label, 100), first, second, SPV(ULessThan, 17, 92, 90, 40),  \
                SPV(LoopMerge, 103, 102, 0), SPV(BranchConditional, 92, 101, 103),                 \
                SPV(Label, 101), value, SPV(Branch, 102), SPV(Label, 102),                         \
                SPV(IAdd, 3, 95, 90, 7), SPV(Branch, 100), SPV(Label, 103), ))
#define COUNTER SPV(Phi, 3, 90, 8, 5, 95, 102)
#define SUM SPV(Phi, 3, 91, 8, 5, 94, 102)
    LOOP(reads_earlier, COUNTER, SUM, SPV(IAdd, 3, 94, 91, 90));
    EXPECT(reads_earlier, NULL, "OpPhi %91");
    LOOP(reads_later, SUM, COUNTER, SPV(IAdd, 3, 94, 91, 90));
    EXPECT(reads_later, NULL, NULL);
    LOOP(used_twice, COUNTER, SUM, BODY(SPV(IAdd, 3, 94, 91, 90), SPV(IAdd, 3, 96, 94, 7)));
    EXPECT(used_twice, NULL, NULL);
    LOOP(copied, COUNTER, SUM, BODY(SPV(IAdd, 3, 96, 91, 90), SPV(CopyObject, 3, 94, 96)));
    EXPECT(copied, NULL, NULL);
    LOOP(by_way_of_another, COUNTER, SUM, BODY(SPV(IMul, 3, 96, 90, 7), SPV(IAdd, 3, 94, 91, 96)));
    EXPECT(by_way_of_another, NULL, "OpPhi %91");
    LOOP(by_way_of_a_load, COUNTER, SUM,
         BODY(SPV(AccessChain, 23, 96, 20, 8, 90), SPV(Load, 3, 97, 96), SPV(IAdd, 3, 94, 91, 97)));
    EXPECT(by_way_of_a_load, NULL, NULL);
    LOOP(swapped, COUNTER, SPV(Phi, 3, 91, 8, 5, 90, 102), SPV(IAdd, 3, 94, 91, 90));
    EXPECT(swapped, NULL, NULL);
}

static void switches(void** state)
{
    (void)state;
    /* loop { switch (u) { case 1: CASE; default: break; } } */
#define SWITCH(name, to)                                                                           \
    MODULE(name, BODY(SPV(Branch, 100), SPV(Label, 100), SPV(LoopMerge, 105, 104, 0),              \
                      SPV(Branch, 101), SPV(Label, 101), SPV(SelectionMerge, 103, 0),              \
                      SPV(Switch, 40, 103, 1, 102), SPV(Label, 102), SPV(SelectionMerge, 106, 0),  \
                      SPV(BranchConditional, 110, to, 106), SPV(Label, 106), SPV(Branch, 103),     \
                      SPV(Label, 103), SPV(Branch, 104), SPV(Label, 104), SPV(Branch, 100),        \
                      SPV(Label, 105), ))
    SWITCH(leaves_the_loop, 105);
    EXPECT(leaves_the_loop, "OpSwitch", "OpSwitch");
    SWITCH(goes_on_with_the_loop, 104);
    EXPECT(goes_on_with_the_loop, NULL, NULL);
    SWITCH(leaves_the_switch, 103);
    EXPECT(leaves_the_switch, NULL, NULL);
    MODULE(loop_inside, BODY(SPV(SelectionMerge, 103, 0), SPV(Switch, 40, 103, 1, 102),
                             SPV(Label, 102), SPV(Branch, 104), SPV(Label, 104),
                             SPV(LoopMerge, 107, 106, 0), SPV(BranchConditional, 110, 105, 107),
                             SPV(Label, 105), SPV(Branch, 107), SPV(Label, 106), SPV(Branch, 104),
                             SPV(Label, 107), SPV(Branch, 103), SPV(Label, 103), ));
    EXPECT(loop_inside, NULL, NULL);
    MODULE(no_merge, BODY(SPV(Switch, 40, 103, 1, 103), SPV(Label, 103), ));
    EXPECT(no_merge, "OpSelectionMerge", "OpSelectionMerge");
}

static void what_one_of_them_lacks(void** state)
{
    (void)state;
    DECLARES(int64, BODY(SPV(TypeInt, 60, 64, 0), ));
    EXPECT(int64, "64 bits", "64 bits");
    check("int64", int64, sizeof int64, &(wg_spirv_target){.has_int64 = true}, NULL);
    DECLARES(float64, BODY(SPV(TypeFloat, 60, 64), ));
    EXPECT(float64, "64 bits", "64 bits");
    check("float64", float64, sizeof float64, &(wg_spirv_target){.has_float64 = true}, NULL);
    DECLARES(float16, BODY(SPV(TypeFloat, 60, 16), ));
    EXPECT(float16, NULL, NULL);
    check("float16", float16, sizeof float16, &(wg_spirv_target){0}, "16 bits");
    check("float16", float16, sizeof float16, &(wg_spirv_target){.is_dawn = true}, "16 bits");
    DECLARES(int16, BODY(SPV(TypeInt, 60, 16, 0), ));
    EXPECT(int16, "16 bits", "16 bits");
    DECLARES(int8, BODY(SPV(TypeInt, 60, 8, 0), ));
    EXPECT(int8, "8 bits", "8 bits");
    DECLARES(images, BODY(SPV(TypeSampler, 60), ));
    EXPECT(images, "images", "images");
    DECLARES(spec_composite,
             BODY(SPV(TypeVector, 60, 3, 2), SPV(SpecConstantComposite, 60, 61, 7, 7), ));
    EXPECT(spec_composite, "OpSpecConstantComposite %61", "OpSpecConstantComposite %61");
    DECLARES(push_constant,
             BODY(SPV(TypeStruct, 60, 3), SPV(TypePointer, 61, 9, 60), SPV(Variable, 61, 62, 9), ));
    EXPECT(push_constant, NULL, "push constants");
    check("push_constant", push_constant, sizeof push_constant, &(wg_spirv_target){0},
          "push constants");
    DECLARES(workgroup_initialized, BODY(SPV(TypePointer, 60, 4, 3), SPV(ConstantNull, 3, 61),
                                         SPV(Variable, 60, 62, 4, 61), ));
    EXPECT(workgroup_initialized, "OpVariable %62", "OpVariable %62");
    MODULE_OF(aliased, 3,
              BODY(SPV(Decorate, 63, KHAL__DECORATION_DESCRIPTOR_SET, 0),
                   SPV(Decorate, 63, KHAL__DECORATION_BINDING, 1), ),
              BODY(SPV(Variable, 22, 63, 2), ), BODY(), 0x00010000);
    EXPECT(aliased, "%21 is on the same", "%21 is on the same");
    MODULE_OF(version_4, 4, BODY(), BODY(), BODY(), 0x00010000);
    EXPECT(version_4, NULL, "up to 1.3");

    MODULE(add_carry, BODY(SPV(IAddCarry, 3, 50, 40, 7), ));
    EXPECT(add_carry, "OpIAddCarry", "OpIAddCarry");
    MODULE(quantize, BODY(SPV(QuantizeToF16, 6, 50, 42), ));
    EXPECT(quantize, "OpQuantizeToF16", "OpQuantizeToF16");
    MODULE(kill, BODY(SPV0(Kill), SPV(Label, 50), ));
    EXPECT(kill, "OpKill", "OpKill");
    MODULE(memory_barrier, BODY(SPV(MemoryBarrier, 7, 8), ));
    EXPECT(memory_barrier, NULL, "OpMemoryBarrier");
    MODULE(any_barrier, BODY(SPV(ControlBarrier, 7, 7, 8), ));
    EXPECT(any_barrier, NULL, "OpControlBarrier");
    MODULE_OF(workgroup_barrier, 3, BODY(),
              BODY(SPV(Constant, 3, 60, 2), SPV(Constant, 3, 61, 0x108), ),
              BODY(SPV(ControlBarrier, 60, 60, 61), ), 0x00010000);
    EXPECT(workgroup_barrier, NULL, NULL);
    MODULE(subgroup_add, BODY(SPV(GroupNonUniformIAdd, 3, 50, 7, 0, 40), ));
    EXPECT(subgroup_add, NULL, "subgroups");
    check("subgroup_add", subgroup_add, sizeof subgroup_add, &(wg_spirv_target){0}, "subgroups");
    MODULE(elect, BODY(SPV(GroupNonUniformElect, 17, 50, 7), ));
    EXPECT(elect, "OpGroupNonUniformElect", "OpGroupNonUniformElect");
    MODULE(float_atomic, BODY(SPV(AtomicFAddEXT, 6, 50, 43, 7, 8, 13), ));
    EXPECT(float_atomic, "OpAtomicFAddEXT", "OpAtomicFAddEXT");
    MODULE(asinh, BODY(SPV(ExtInst, 6, 50, 190, 22, 42), ));
    EXPECT(asinh, NULL, "GLSL.std.450 22");
    MODULE(modf, BODY(SPV(ExtInst, 6, 50, 190, 35, 42, 12), ));
    EXPECT(modf, "GLSL.std.450 35", "GLSL.std.450 35");
    MODULE(aligned, BODY(SPV(Load, 3, 50, 43, 2, 4), ));
    EXPECT(aligned, "Aligned", NULL);
    MODULE(aligned_store, BODY(SPV(Store, 43, 40, 2, 4), ));
    EXPECT(aligned_store, "Aligned", NULL);
    MODULE(never_seen, BODY((2u << 16) | 6001, 7, ));
    EXPECT(never_seen, "instruction 6001", "instruction 6001");
}

/* Conditions inside conditions, one more than is safe for the drivers' compilers. */
static void deep_nesting(void** state)
{
    (void)state;
    enum { DEPTH = 70, EACH = 9, HEAD = 27 };
    static uint32_t words[HEAD + DEPTH * EACH + DEPTH * 4 + 2] = {SPIRV_HEADER(200 + 2 * DEPTH),
                                                                  SPV(EntryPoint, 5, 4, SPIRV_MAIN),
                                                                  SPV(TypeVoid, 1),
                                                                  SPV(TypeFunction, 2, 1),
                                                                  SPV(TypeBool, 3),
                                                                  SPV(ConstantTrue, 3, 6),
                                                                  SPV(Function, 1, 4, 0, 2),
                                                                  SPV(Label, 5)};
    for (uint32_t depth = 50; depth <= DEPTH; depth += DEPTH - 50) {
        uint32_t at = HEAD;
        for (uint32_t i = 0; i < depth; ++i) {
            const uint32_t open[EACH] = {SPV(SelectionMerge, 101 + 2 * i, 0),
                                         SPV(BranchConditional, 6, 100 + 2 * i, 101 + 2 * i),
                                         SPV(Label, 100 + 2 * i)};
            memcpy(words + at, open, sizeof open);
            at += EACH;
        }
        for (uint32_t i = depth; i-- > 0; at += 4) {
            const uint32_t close[4] = {SPV(Branch, 101 + 2 * i), SPV(Label, 101 + 2 * i)};
            memcpy(words + at, close, sizeof close);
        }
        words[at++] = SPV0(Return);
        words[at++] = SPV0(FunctionEnd);
        const char* wrong = depth < DEPTH ? NULL : "nested";
        check("nested", words, at * 4, &naga, wrong);
        check("nested", words, at * 4, &tint, wrong);
    }
}

static void read_only_buffers(void** state)
{
    (void)state;
    MODULE_OF(variable, 3, BODY(SPV(Decorate, 21, KHAL__DECORATION_NON_WRITABLE), ), BODY(), BODY(),
              0x00010000);
    assert_true(wg_spirv_is_read_only(&naga, variable, sizeof variable / 4, 0, 1));
    assert_true(wg_spirv_is_read_only(&tint, variable, sizeof variable / 4, 0, 1));
    assert_false(wg_spirv_is_read_only(&naga, variable, sizeof variable / 4, 0, 0));
    assert_false(wg_spirv_is_read_only(&tint, variable, sizeof variable / 4, 1, 1));
    MODULE_OF(member, 3, BODY(SPV(MemberDecorate, 19, 0, KHAL__DECORATION_NON_WRITABLE), ), BODY(),
              BODY(), 0x00010000);
    assert_false(wg_spirv_is_read_only(&naga, member, sizeof member / 4, 0, 1));
    assert_true(wg_spirv_is_read_only(&tint, member, sizeof member / 4, 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_code),      cmocka_unit_test(comparisons_with_nan),
        cmocka_unit_test(signs),           cmocka_unit_test(compare_exchange),
        cmocka_unit_test(pointers_passed), cmocka_unit_test(phis),
        cmocka_unit_test(switches),        cmocka_unit_test(what_one_of_them_lacks),
        cmocka_unit_test(deep_nesting),    cmocka_unit_test(read_only_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
