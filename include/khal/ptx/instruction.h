/* Instructions of PTX that C has no words for. Errors are those that the PTX manual states: 2^-22 of the value, and for
 * lg2 of 1 between 1/2 and 2. None but ex2_small flushes denormals. */
#ifndef KHAL_PTX_INSTRUCTION_H
#define KHAL_PTX_INSTRUCTION_H

#define KHAL_PTX_INSTRUCTION(name, text)                                                           \
    KHAL_C_INLINE float khal_ptx_##name(float x)                                                   \
    {                                                                                              \
        float r;                                                                                   \
        __asm__(text " %0, %1;" : "=f"(r) : "f"(x));                                               \
        return r;                                                                                  \
    }

KHAL_PTX_INSTRUCTION(ex2, "ex2.approx.f32")
KHAL_PTX_INSTRUCTION(ex2_small, "ex2.approx.ftz.f32") /* where neither argument nor result can be a denormal that counts */
KHAL_PTX_INSTRUCTION(lg2, "lg2.approx.f32")
KHAL_PTX_INSTRUCTION(rcp, "rcp.approx.f32")
KHAL_PTX_INSTRUCTION(rsqrt, "rsqrt.approx.f32")
KHAL_PTX_INSTRUCTION(sqrt, "sqrt.approx.f32")
KHAL_PTX_INSTRUCTION(sin, "sin.approx.f32")
KHAL_PTX_INSTRUCTION(cos, "cos.approx.f32")

#endif
