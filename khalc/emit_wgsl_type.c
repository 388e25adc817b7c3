/* WGSL names and types. */
#include <stdio.h>
#include <string.h>

#include "emit_wgsl.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const char keywords[] =
    " alias break case const const_assert continue continuing default diagnostic discard else "
    "enable false fn for if let loop override requires return struct switch true var while ";

static const char reserved_words[] =
    " NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await "
    "become binding_array cast catch class co_await co_return co_yield coherent column_major "
    "common compile compile_fragment concept const_cast consteval constexpr constinit crate "
    "debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export extends "
    "extern external fallthrough filter final finally friend from fxgroup get goto groupshared "
    "highp impl implements import inline instanceof interface layout lowp macro macro_rules match "
    "mediump meta mod module move mut mutable namespace new nil noexcept noinline nointerpolation "
    "non_coherent noncoherent noperspective null nullptr of operator package packoffset "
    "partition_ pass patch pixelfragment precise precision premerge priv protected pub public "
    "readonly ref regardless register reinterpret_cast require resource restrict self set shared "
    "sizeof smooth snorm static static_assert static_cast std subroutine super target template "
    "this thread_local throw trait try type typedef typeid typename typeof union unless unorm "
    "unsafe unsized use using varying virtual volatile wgsl where with writeonly yield ";

static const char predeclared[] =
    " bool f16 f32 f64 i16 i32 i64 i8 u16 u32 u64 u8 array atomic ptr sampler vec2 vec3 vec4 "
    "vec2i vec3i vec4i vec2u vec3u vec4u vec2f vec3f vec4f vec2h vec3h vec4h mat2x2 mat2x3 mat2x4 "
    "mat3x2 mat3x3 mat3x4 mat4x2 mat4x3 mat4x4 mat2x2f mat2x3f mat2x4f mat3x2f mat3x3f mat3x4f "
    "mat4x2f mat4x3f mat4x4f mat2x2h mat2x3h mat2x4h mat3x2h mat3x3h mat3x4h mat4x2h mat4x3h "
    "mat4x4h read write read_write function private workgroup uniform storage immediate handle "
    "push_constant bitcast all any select arrayLength abs acos acosh asin asinh atan atanh atan2 "
    "ceil clamp cos cosh countLeadingZeros countOneBits countTrailingZeros cross degrees "
    "determinant distance dot dot4U8Packed dot4I8Packed exp exp2 extractBits faceForward "
    "firstLeadingBit firstTrailingBit floor fma fract frexp insertBits inverseSqrt ldexp "
    "length log log2 max min mix modf normalize pow quantizeToF16 radians reflect "
    "refract reverseBits round saturate sign sin sinh smoothstep sqrt step tan tanh transpose "
    "trunc dpdx dpdy fwidth atomicLoad atomicStore atomicAdd atomicSub atomicMax atomicMin "
    "atomicAnd atomicOr atomicXor atomicExchange atomicCompareExchangeWeak storageBarrier "
    "textureBarrier workgroupBarrier workgroupUniformLoad subgroupBarrier isnan isinf isNan isInf "
    "main ";

bool kc_wgsl_is_reserved(const char* name)
{
    return kc_has_word(keywords, name) || kc_has_word(reserved_words, name) ||
           kc_has_word(predeclared, name) || strncmp(name, "pack", 4) == 0 ||
           strncmp(name, "unpack", 6) == 0 || strncmp(name, "texture", 7) == 0 ||
           strncmp(name, "sampler", 7) == 0 || strncmp(name, "subgroup", 8) == 0 ||
           strncmp(name, "quad", 4) == 0 || strncmp(name, "mat", 3) == 0;
}

/* An identifier of WGSL, as near to the source's name as can be. */
static const char* identifier(kc_arena* a, const char* name)
{
    bool is_plain = true;
    for (const char* p = name; *p; p++)
        is_plain &= (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                    (*p >= '0' && *p <= '9') || *p == '_';
    if (!is_plain) {
        const char* s = "";
        for (const unsigned char* p = (const unsigned char*)name; *p; p++)
            s = kc_format(a, *p < 128 && *p != '$' ? "%s%c" : "%sx%02x", s, *p);
        name = s;
    }
    if (!*name)
        return "unnamed";
    if (name[0] == '_' || strcmp(name, "khal") == 0 || strncmp(name, "khal_", 5) == 0)
        return kc_format(a, "k_%s", name + (name[0] == '_' ? strspn(name, "_") : 0));
    return kc_wgsl_is_reserved(name) ? kc_format(a, "%s_", name) : name;
}

static uint32_t hash(const char* s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h % 128;
}

static bool has_name(const kc_wgsl_names* names, const char* s)
{
    for (const kc_wgsl_name* n = names->table[hash(s)]; n; n = n->next)
        if (strcmp(n->s, s) == 0)
            return true;
    return false;
}

const char* kc_wgsl_unique(kc_wgsl* em, kc_wgsl_names* names, const char* name)
{
    kc_arena* a = em->m->arena;
    const char* base = identifier(a, name);
    const char* s = base;
    for (uint32_t i = 2; has_name(&em->names, s) || has_name(names, s); i++)
        s = kc_format(a, "%s_%u", base, i);
    kc_wgsl_name* n = KC_NEW(a, kc_wgsl_name);
    *n = (kc_wgsl_name){s, names->table[hash(s)]};
    names->table[hash(s)] = n;
    return s;
}

kc_wgsl_var* kc_wgsl_var_of(kc_wgsl* em, kc_var* v)
{
    kc_wgsl_var* known = v->pass_data;
    if (!known) {
        known = KC_NEW(em->m->arena, kc_wgsl_var);
        *known = (kc_wgsl_var){.var = v, .next = em->vars};
        em->vars = known;
        v->pass_data = known;
    }
    return known;
}

const char* kc_wgsl_name_of(kc_wgsl* em, kc_var* v)
{
    kc_wgsl_var* known = kc_wgsl_var_of(em, v);
    if (!known->name)
        known->name = kc_wgsl_unique(em, &em->local_names, v->name);
    return known->name;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const char* lane_name(const kc_type* t)
{
    const kc_type* lane = kc_lane(t);
    if (lane->kind == KC_TYPE_BOOL)
        return "bool";
    if (lane->kind == KC_TYPE_FLOAT)
        return "f32";
    return lane->is_signed ? "i32" : "u32";
}

static kc_wgsl_record* record_of(kc_wgsl* em, const kc_record* record)
{
    kc_arena* a = em->m->arena;
    kc_wgsl_record** end = &em->records;
    for (; *end; end = &(*end)->next)
        if ((*end)->record == record)
            return *end;
    kc_wgsl_record* r = KC_NEW(a, kc_wgsl_record);
    *r = (kc_wgsl_record){.record = record,
                          .name = kc_wgsl_unique(em, &em->names, record->name),
                          .fields = KC_NEW_ARRAY(a, const char*, record->field_count + 1)};
    for (uint32_t i = 0; i < record->field_count; i++) {
        const char* base = identifier(a, record->fields[i].name);
        const char* name = base;
        for (uint32_t k = 0, n = 2; k < i; k++)
            if (strcmp(r->fields[k], name) == 0) {
                name = kc_format(a, "%s_%u", base, n++);
                k = UINT32_MAX; /* from the first again */
            }
        r->fields[i] = name;
    }
    for (uint32_t i = 0; i < record->field_count; i++) /* those inside come first */
        kc_wgsl_type(em, record->fields[i].type);
    for (end = &em->records; *end; end = &(*end)->next) {}
    *end = r;
    return r;
}

const char* kc_wgsl_type(kc_wgsl* em, const kc_type* t)
{
    kc_arena* a = em->m->arena;
    switch (t->kind) {
    case KC_TYPE_VECTOR: return kc_format(a, "vec%u<%s>", kc_lane_count(t), lane_name(t));
    case KC_TYPE_ARRAY:
        return kc_format(a, "array<%s, %llu>", kc_wgsl_type(em, t->element),
                         (unsigned long long)(t->count ? t->count : 1));
    case KC_TYPE_STRUCT: return record_of(em, t->record)->name;
    default: return lane_name(t);
    }
}

static const char* atomic_type(kc_wgsl* em, const kc_type* t)
{
    if (t->kind != KC_TYPE_ARRAY)
        return kc_format(em->m->arena, "atomic<%s>", lane_name(t));
    return kc_format(em->m->arena, "array<%s, %llu>", atomic_type(em, t->element),
                     (unsigned long long)(t->count ? t->count : 1));
}

const char* kc_wgsl_storage_type(kc_wgsl* em, const kc_var* v, const char* size)
{
    const kc_type* t = v->type;
    const bool is_open = t->kind == KC_TYPE_ARRAY && t->count == 0;
    if (is_open)
        t = t->element;
    const char* type = v->is_atomic ? atomic_type(em, t) : kc_wgsl_type(em, t);
    if (!is_open)
        return type;
    return size ? kc_format(em->m->arena, "array<%s, %s>", type, size)
                : kc_format(em->m->arena, "array<%s>", type);
}

uint32_t kc_wgsl_size(const kc_type* t)
{
    const uint32_t lanes = kc_lane_count(t);
    return 4 * (lanes == 3 ? 4 : lanes);
}

const char* kc_wgsl_field(kc_wgsl* em, const kc_record* record, uint32_t field)
{
    return record_of(em, record)->fields[field];
}

void kc_wgsl_put_records(kc_wgsl* em, kc_text* out)
{
    for (const kc_wgsl_record* r = em->records; r; r = r->next) {
        kc_putf(out, "struct %s {\n", r->name);
        for (uint32_t i = 0; i < r->record->field_count; i++)
            kc_putf(out, "    %s: %s,\n", r->fields[i], kc_wgsl_type(em, r->record->fields[i].type));
        if (!r->record->field_count)
            kc_put(out, "    khal_empty: u32,\n");
        kc_put(out, "}\n\n");
    }
}
