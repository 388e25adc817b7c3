/* khalc with the control flow of languages that have neither labels, nor fall-through, nor barriers that may stand anywhere:
 *     khalc-lowered kernels.cl BASE CLANG
 * writes BASE.khal.h and BASE.khal.c as khalc does, and BASE.ir. What was lowered still means the same, which the CPU can tell. */
#include "build.h"
#include "emit.h"
#include "lower.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

static bool write_text(const char* path, const kc_text* text)
{
    FILE* file = fopen(path, "wb");
    if (!file)
        return false;
    const bool is_written = fwrite(text->data, 1, text->size, file) == text->size;
    return fclose(file) == 0 && is_written;
}

static void expand_broadcast(kc_block* b, void* module)
{
    kc_module* m = module;
    for (kc_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        kc_stmt_walk_blocks(s, expand_broadcast, m);
        if (s->kind != KC_ST_BROADCAST)
            continue;
        kc_stmt* before = kc_stmt_create(m, KC_ST_BARRIER, s->loc);
        kc_stmt* after = kc_stmt_create(m, KC_ST_BARRIER, s->loc);
        before->fence = after->fence = KC_FENCE_LOCAL;
        kc_block load = {0};
        kc_st_assign(m, &load, kc_ex_var(m, s->result), kc_ex_load(m, s->place), s->loc);
        kc_stmt* assign = load.first;
        kc_block_insert_before(b, s, before);
        kc_block_insert_before(b, s, assign);
        kc_block_insert_before(b, s, after);
        kc_block_remove(b, s);
    }
}

static bool lower(kc_module* m)
{
    const kc_target target = {.name = "test", .has_pointers = true};
    kc_pass_fold(m);
    kc_pass_prune(m);
    kc_pass_inline(m, KC_INLINE_BARRIERS);
    kc_pass_prune(m);
    if (!kc_verify_module(m) || !kc_lower_exits(m, &target) || !kc_verify_module(m))
        return false;
    kc_pass_uniformity(m);
    const bool is_done = kc_lower_barriers(m, &target);
    m->has_uniformity = false;
    if (!is_done || !kc_verify_module(m))
        return false;
    kc_pass_fold(m);
    kc_pass_prune(m);
    return kc_verify_module(m);
}

static bool run(kc_arena* arena, kc_diags* diags, char** argv)
{
    const char* base = argv[2];
    const char* slash = strrchr(base, '/');
    const char* name = slash ? slash + 1 : base;
    kc_dependencies dependencies = {0};
    kc_options options = {.program = argv[0], .input = argv[1], .clang = argv[3], .size_t_bits = 64, .dependencies = &dependencies};
    kc_module* m = kc_build_module(arena, diags, name, &options);
    if (!m || diags->error_count)
        return false;
    khal_kernel_info* kernels = NULL;
    kc_pass_uniformity(m);
    const uint32_t count = kc_reflect(m, &kernels);
    kc_text header = {0}, library = {0}, ir = {0};
    kc_emit_header(&header, m, count, kernels);
    bool ok = lower(m);
    kc_print_module(&ir, m);
    for (kc_function* f = m->functions; f; f = f->next)
        expand_broadcast(&f->body, m);
    if (ok)
        kc_emit_library(&library, m, count, kernels,
                        &(kc_library_options){.header_name = kc_format(arena, "%s.khal.h", name), .has_cpu = true});
    ok = ok && diags->error_count == 0 && write_text(kc_format(arena, "%s.khal.h", base), &header) &&
         write_text(kc_format(arena, "%s.khal.c", base), &library);
    ok = write_text(kc_format(arena, "%s.ir", base), &ir) && ok;
    kc_text_free(&header);
    kc_text_free(&library);
    kc_text_free(&ir);
    return ok;
}

int main(int argc, char** argv)
{
    if (argc != 4)
        return 2;
    kc_arena* arena = kc_arena_create();
    if (!arena)
        return 3;
    kc_diags diags = {.arena = arena};
    const bool ok = run(arena, &diags, argv);
    kc_diags_flush(&diags);
    kc_arena_destroy(arena);
    return !ok;
}
