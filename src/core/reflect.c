#include "reflect.h"

#include "core.h"

enum { MOST_BINDINGS = 1000, FIRST_CAPACITY = 16 };

static void free_bindings(khal_device* device, khal__reflection* r)
{
    if (r->bindings != NULL)
        khal__free(device, r->bindings, r->capacity * sizeof *r->bindings);
    if (r->names != NULL)
        khal__free(device, r->names, r->capacity * sizeof *r->names);
    r->bindings = NULL;
    r->names = NULL;
    r->binding_count = r->capacity = 0;
}

/* Room for one more; false: out of memory. */
static bool grow(khal_device* device, khal__reflection* r)
{
    if (r->binding_count < r->capacity)
        return true;
    const uint32_t capacity = r->capacity > 0 ? 2 * r->capacity : FIRST_CAPACITY;
    khal_binding_desc* bindings = khal__alloc(device, capacity * sizeof *bindings, 16);
    char(*names)[64] = khal__alloc(device, capacity * sizeof *names, 16);
    if (bindings == NULL || names == NULL) {
        if (bindings != NULL)
            khal__free(device, bindings, capacity * sizeof *bindings);
        if (names != NULL)
            khal__free(device, names, capacity * sizeof *names);
        return false;
    }
    const uint32_t count = r->binding_count;
    if (count > 0) {
        memcpy(bindings, r->bindings, count * sizeof *bindings);
        memcpy(names, r->names, count * sizeof *names);
    }
    free_bindings(device, r);
    r->bindings = bindings;
    r->names = names;
    r->binding_count = count;
    r->capacity = capacity;
    return true;
}

khal_binding_desc* khal__reflection_add(khal_device* device, khal__reflection* r,
                                        const khal_binding_desc* binding, const char* name)
{
    uint32_t at = 0;
    while (at < r->binding_count &&
           (r->bindings[at].group < binding->group || (r->bindings[at].group == binding->group &&
                                                       r->bindings[at].binding < binding->binding)))
        ++at;
    if (at < r->binding_count && r->bindings[at].group == binding->group &&
        r->bindings[at].binding == binding->binding) {
        if (r->bindings[at].kind != binding->kind) {
            r->problem = "one binding is declared as two kinds of buffer";
            return NULL;
        }
        r->bindings[at].access |= binding->access;
        if (r->bindings[at].element_size != binding->element_size)
            r->bindings[at].element_size = 0;
        return &r->bindings[at];
    }
    if (r->binding_count == MOST_BINDINGS) {
        r->problem = "there are more than 1000 bindings";
        return NULL;
    }
    if (!grow(device, r))
        return NULL;
    for (uint32_t i = r->binding_count; i > at; --i) {
        r->bindings[i] = r->bindings[i - 1];
        memcpy(r->names[i], r->names[i - 1], sizeof r->names[i]);
    }
    ++r->binding_count;
    r->bindings[at] = *binding;
    memset(r->names[at], 0, sizeof r->names[at]);
    memcpy(r->names[at], name, strnlen(name, sizeof r->names[at] - 1));
    return &r->bindings[at];
}

void khal__reflection_take_push(khal__reflection* r)
{
    uint32_t count = 0; /* of group 0, which comes first */
    while (count < r->binding_count && r->bindings[count].group == 0)
        ++count;
    if (count == 0 || r->push_constant_size > 0 ||
        r->bindings[count - 1].kind != KHAL_ARG_CONSTANT ||
        r->bindings[count - 1].binding != (count > 1 ? r->bindings[count - 2].binding + 1 : 0))
        return;
    for (uint32_t i = count; i < r->binding_count; ++i) {
        r->bindings[i - 1] = r->bindings[i];
        memcpy(r->names[i - 1], r->names[i], sizeof r->names[i]);
    }
    --r->binding_count;
}

void khal__reflection_free(khal_device* device, khal__reflection* r)
{
    free_bindings(device, r);
    if (r->parameters != NULL)
        khal__free(device, r->parameters, r->parameter_count * sizeof *r->parameters);
    r->parameters = NULL;
    r->parameter_count = 0;
}

khal_status khal__reflect(khal_device* device, const khal_code* code, const char* entry_point,
                          khal__reflection* out)
{
    *out = (khal__reflection){0};
    khal_status status = KHAL_OK;
    if (code->format == KHAL_FORMAT_SPIRV)
        status = khal__reflect_spirv(device, code->bytes, code->size / 4, entry_point, out);
    else if (code->format == KHAL_FORMAT_WGSL)
        status = khal__reflect_wgsl(device, code->bytes, code->size, entry_point, out);
    else if (code->format == KHAL_FORMAT_PTX)
        status = khal__reflect_ptx(device, code->bytes, code->size, entry_point, out);
    else if (code->format == KHAL_FORMAT_CUBIN)
        status = khal__reflect_cubin(device, code->bytes, code->size, entry_point, out);
    else
        out->problem = "the code does not tell its bindings";
    if (status != KHAL_OK)
        khal__reflection_free(device, out);
    else if (out->problem != NULL)
        free_bindings(device, out);
    return status;
}
