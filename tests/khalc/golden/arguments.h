/* Made by khalc from arguments.cl; changes are lost when it is made again.
 *
 *   arguments* k;
 *   arguments_load(device, &k);                               // a reference; arguments_release(k) drops it
 *   arguments_KERNEL(k, pass, khal_threads(n, 1, 1), &args);   // records a dispatch in the pass
 *   arguments_KERNEL_function(k)                               // the kernel as khal_dispatch_desc takes it
 *
 * A launcher returns what khal_pass_dispatch does; its status may be left unread, for submit repeats it. It may be
 * called from any thread that may use the pass. A `k` or `args` that is NULL is the error ARGUMENT_NULL. */
#ifndef KHAL_GENERATED_arguments_H
#define KHAL_GENERATED_arguments_H

#include <stddef.h>
#include <stdint.h>

#include <khal/kernel.h>
#include <khal/khal.h>

/* Another kernel's arguments must not compile; older C compilers only warn. */
#if defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arguments arguments;
extern const khal_kernel_library arguments_library;
/* Loads the module and creates all its kernels. */
KHAL_MUST_USE khal_status arguments_load_at(const char* file, int line, khal_device* device, struct arguments** out_k);
#define arguments_load(...) arguments_load_at(__FILE__, __LINE__, __VA_ARGS__)
/* The same in two steps that never block: poll gives KHAL_NOT_READY until the launchers can be used. */
KHAL_MUST_USE khal_status arguments_load_begin(khal_device* device, struct arguments** out_k);
KHAL_MUST_USE khal_status arguments_load_poll(struct arguments* k);
void arguments_retain(struct arguments* k);
void arguments_release(struct arguments* k);

/* line 2 */
typedef struct arguments_inner {
    int8_t tag;
    khal_float3 position;
} arguments_inner;
KHAL_STATIC_ASSERT(sizeof(arguments_inner) == 32, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_inner, tag) == 0, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_inner, position) == 16, "laid out as in the kernel");

/* line 7 */
typedef union arguments_number {
    int32_t i;
    float f;
    uint8_t bytes[4];
} arguments_number;
KHAL_STATIC_ASSERT(sizeof(arguments_number) == 4, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_number, i) == 0, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_number, f) == 0, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_number, bytes) == 0, "laid out as in the kernel");

/* line 13 */
typedef struct arguments_outer {
    arguments_inner inner[2];
    arguments_number value;
    KHAL_ANONYMOUS union {
        int64_t l;
        double d;
    };
    uint16_t h;
    khal_short16 wide;
    int32_t new_;
    int32_t class_;
    int32_t matrix[3][2];
} arguments_outer;
KHAL_STATIC_ASSERT(sizeof(arguments_outer) == 160, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, inner) == 0, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, value) == 64, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, l) == 72, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, d) == 72, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, h) == 80, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, wide) == 96, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, new_) == 128, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, class_) == 132, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_outer, matrix) == 136, "laid out as in the kernel");

/* line 25 */
#pragma pack(push, 1)
typedef struct arguments_packed {
    int8_t a;
    int32_t b;
    khal_double4 c;
    arguments_inner d;
} arguments_packed;
#pragma pack(pop)
KHAL_STATIC_ASSERT(sizeof(arguments_packed) == 69, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_packed, a) == 0, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_packed, b) == 1, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_packed, c) == 5, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_packed, d) == 37, "laid out as in the kernel");

/* line 32 */
#pragma pack(push, 1)
typedef struct arguments_aligned {
    int32_t a;
    uint8_t khal_padding_4[60];
} arguments_aligned;
#pragma pack(pop)
KHAL_STATIC_ASSERT(sizeof(arguments_aligned) == 64, "laid out as in the kernel");
KHAL_STATIC_ASSERT(offsetof(arguments_aligned, a) == 0, "laid out as in the kernel");

KHAL_SLICE_TYPE(arguments_outer, 160)
KHAL_SLICE_TYPE(arguments_inner, 32)
KHAL_SLICE_TYPE(arguments_packed, 69)
KHAL_SLICE_TYPE(arguments_aligned, 64)
KHAL_SLICE_TYPE(arguments_float_array_4, 16)
KHAL_SLICE_TYPE(arguments_inner_array_2, 64)

/* every_scalar, line 38. Work-groups of any size. */
typedef struct arguments_every_scalar_args {
    int8_t a;
    uint8_t b;
    int16_t c;
    uint16_t d;
    int32_t e;
    uint32_t f;
    int64_t g;
    uint64_t h;
    float i;
    double j;
    uint32_t k;
    khal_slice_int out; /* written */
} arguments_every_scalar_args;
khal_status arguments_every_scalar(const struct arguments* k, khal_pass* pass, khal_grid grid,
    const struct arguments_every_scalar_args* args);
khal_function* arguments_every_scalar_function(const struct arguments* k);

/* every_vector, line 44. Work-groups of any size. */
typedef struct arguments_every_vector_args {
    khal_char2 a;
    khal_uchar3 b;
    khal_short4 c;
    khal_ushort8 d;
    khal_int16 e;
    khal_uint2 f;
    khal_long3 g;
    khal_ulong4 h;
    khal_float8 i;
    khal_double16 j;
    khal_slice_float4 out; /* written */
} arguments_every_vector_args;
khal_status arguments_every_vector(const struct arguments* k, khal_pass* pass, khal_grid grid,
    const struct arguments_every_vector_args* args);
khal_function* arguments_every_vector_function(const struct arguments* k);

/* structs, line 50. Work-groups of any size. */
typedef struct arguments_structs_args {
    arguments_outer a;
    arguments_number b;
    arguments_packed c;
    arguments_aligned d;
    khal_slice_arguments_outer outers; /* read and written */
    khal_slice_arguments_inner inners; /* __constant, read */
    khal_slice_arguments_packed packs; /* read */
    khal_slice_arguments_aligned aligneds; /* written */
} arguments_structs_args;
khal_status arguments_structs(const struct arguments* k, khal_pass* pass, khal_grid grid,
    const struct arguments_structs_args* args);
khal_function* arguments_structs_function(const struct arguments* k);

/* arrays, line 61. Work-groups of any size. */
typedef struct arguments_arrays_args {
    khal_slice_arguments_float_array_4 rows; /* written */
    khal_slice_arguments_inner_array_2 pairs; /* read */
    khal_slice_half halves; /* written */
} arguments_arrays_args;
khal_status arguments_arrays(const struct arguments* k, khal_pass* pass, khal_grid grid,
    const struct arguments_arrays_args* args);
khal_function* arguments_arrays_function(const struct arguments* k);

/* names, line 67. Work-groups of any size, with barriers: whole groups run. */
typedef struct arguments_names_args {
    khal_slice_int new_; /* written */
    khal_slice_int class_; /* read */
    int32_t this_;
    uint64_t private__count; /* __local float: elements for each work-group */
    uint64_t operator__count; /* __local int3: elements for each work-group */
} arguments_names_args;
khal_status arguments_names(const struct arguments* k, khal_pass* pass, khal_grid grid,
    const struct arguments_names_args* args);
khal_function* arguments_names_function(const struct arguments* k);

/* nothing, line 75. Work-groups of 16 x 4 x 1. */
typedef struct arguments_nothing_args {
    uint8_t none; /* the kernel takes no arguments */
} arguments_nothing_args;
khal_status arguments_nothing(const struct arguments* k, khal_pass* pass, khal_grid grid,
    const struct arguments_nothing_args* args);
khal_function* arguments_nothing_function(const struct arguments* k);

#ifdef __cplusplus
}
#endif
#endif
