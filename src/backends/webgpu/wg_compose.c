/* The last lines of a kernel's WGSL, which are the runtime's own choice. */
#include "wg_kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct text {
    char* out;
    size_t capacity, length; /* length may go beyond */
} text;

static void put(text* t, const char* string, size_t length)
{
    if (t->length + length < t->capacity)
        memcpy(t->out + t->length, string, length);
    t->length += length;
}

static void __attribute__((format(printf, 2, 3))) add(text* t, const char* format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (n > 0)
        put(t, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* The functions by which the kernel reaches one argument, whose words are those of window `w`. */
static void add_functions(text* t, const char* name, uint32_t w, bool writes, bool is_atomic)
{
    static const struct {
        const char *suffix, *function;
    } updates[] = {
        {"add", "Add"}, {"sub", "Sub"}, {"and", "And"}, {"or", "Or"},
        {"xor", "Xor"}, {"min", "Min"}, {"max", "Max"}, {"exchange", "Exchange"},
    };
    if (!is_atomic) {
        add(t, "fn %s_load(i: u32) -> u32 { return khal_words_%u[i]; }\n", name, w);
        if (writes)
            add(t, "fn %s_store(i: u32, value: u32) { khal_words_%u[i] = value; }\n", name, w);
        return;
    }
    add(t, "fn %s_load(i: u32) -> u32 { return atomicLoad(&khal_words_%u[i]); }\n", name, w);
    add(t, "fn %s_store(i: u32, value: u32) { atomicStore(&khal_words_%u[i], value); }\n", name, w);
    for (size_t k = 0; k < sizeof updates / sizeof updates[0]; ++k)
        add(t, "fn %s_%s(i: u32, value: u32) -> u32 { return atomic%s(&khal_words_%u[i], value); }\n", name,
            updates[k].suffix, updates[k].function, w);
    add(t,
        "fn %s_compare_exchange(i: u32, comparand: u32, value: u32) -> u32 {\n"
        "    var old = comparand;\n"
        "    loop {\n"
        "        let r = atomicCompareExchangeWeak(&khal_words_%u[i], comparand, value);\n"
        "        old = r.old_value;\n"
        "        if (r.exchanged || old != comparand) { break; }\n"
        "    }\n"
        "    return old;\n"
        "}\n",
        name, w);
}

size_t wg_compose(const khal_wgsl_kernel* kernel, const khal_kernel_info* info, const wg_variant* variant, char* out,
                  size_t capacity)
{
    text t = {out, capacity, 0};
    const char* source = variant->is_shared ? kernel->shared_source : kernel->source;
    put(&t, source, strlen(source));
    put(&t, "\n", 1);
    const bool has_atomics = (kernel->flags & KHAL_WGSL_USES_ATOMICS) != 0;
    for (uint32_t w = 0; variant->is_shared && w < variant->window_count; ++w)
        add(&t, "@group(0) @binding(%u) var<storage, %s> khal_words_%u: array<%s>;\n", w,
            variant->writes[w] ? "read_write" : "read", w, variant->writes[w] && has_atomics ? "atomic<u32>" : "u32");
    for (uint32_t i = 0; variant->is_shared && i < info->binding_count; ++i) {
        const uint32_t w = variant->window_of[i];
        add_functions(&t, kernel->names[i], w, variant->writes[w], variant->writes[w] && has_atomics);
    }
    if (variant->block == WG_BLOCK_UNIFORM)
        add(&t, "@group(0) @binding(%u) var<uniform> khal: khal_block;\n", variant->window_count);
    else if (variant->block == WG_BLOCK_IMMEDIATE)
        add(&t, "var<immediate> khal: khal_block;\n");
    if (capacity > 0)
        out[t.length < capacity ? t.length : capacity - 1] = 0;
    return t.length;
}
