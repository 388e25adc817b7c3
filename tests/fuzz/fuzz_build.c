/* khalc from clang's output to generated C, with any bytes in the place of clang's output: the JSON tree and, after a
 * byte 0, the text dump. */
#include <string.h>

#include "build.h"
#include "clang.h"
#include "emit.h"
#include "fuzz.h"
#include "ir.h"
#include "text.h"

static const uint8_t* dumps[2];
static size_t dump_sizes[2];

/* Stands in for the one that runs clang. */
bool kc_clang_run(kc_arena* arena, kc_diags* diags, const kc_options* options, kc_dump dump,
                  kc_dependencies* dependencies, char** out, size_t* out_size)
{
    (void)arena;
    (void)dependencies;
    const size_t size = dump_sizes[dump];
    char* text = malloc(size + 1);
    if (!text) {
        kc_error(diags, (kc_loc){.file = options->input}, KC_DIAG_CLANG_FAILED, "out of memory");
        return false;
    }
    if (size)
        memcpy(text, dumps[dump], size);
    text[size] = 0;
    *out = text;
    *out_size = size;
    return true;
}

static void emit_all(kc_arena* arena, kc_module* m)
{
    kc_text text = {0};
    kc_print_module(&text, m);
    kc_text_free(&text);
    kc_pass_usage(m);
    kc_pass_origins(m);
    kc_pass_uniformity(m);
    if (!kc_verify_module(m))
        return;
    khal_kernel_info* kernels = NULL;
    const uint32_t count = kc_reflect(m, &kernels);
    if (m->diags->error_count)
        return;
    kc_text header = {0}, library = {0};
    kc_emit_header(&header, m, count, kernels);
    if (!m->diags->error_count)
        kc_emit_library(&library, m, count, kernels,
                        &(kc_library_options){.header_name = "input.khal.h", .has_cpu = true});
    kc_text_free(&header);
    kc_text_free(&library);
    (void)arena;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const uint8_t* end = size ? memchr(data, 0, size) : NULL;
    dumps[KC_DUMP_JSON] = data;
    dump_sizes[KC_DUMP_JSON] = end ? (size_t)(end - data) : size;
    dumps[KC_DUMP_TEXT] = end ? end + 1 : data;
    dump_sizes[KC_DUMP_TEXT] = end ? size - (size_t)(end + 1 - data) : 0;

    kc_arena* arena = kc_arena_create();
    if (!arena)
        return 0;
    kc_diags diags = {.arena = arena};
    const kc_options options = {.input = "input.cl", .size_t_bits = 64};
    kc_module* m = kc_build_module(arena, &diags, "input", &options);
    FUZZ_CHECK((m != NULL) == (diags.error_count == 0));
    if (m && kc_verify_module(m))
        emit_all(arena, m);
    kc_arena_destroy(arena);
    return 0;
}
