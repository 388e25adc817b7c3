/* The functions of khalc/wgsl, and which of them a module needs. In those files a declaration, with the comment before it, ends
 * with an empty line. */
#include <stdlib.h>
#include <string.h>

#include "emit_wgsl.h"

extern const char* const kc_wgsl_library_lines[]; /* made from khalc/wgsl by the build */

typedef struct declaration {
    const char* const* lines;
    uint32_t line_count;
    bool is_needed, is_searched;
} declaration;

typedef struct library_name {
    const char* s;
    size_t size;
    uint32_t declaration;
} library_name;

typedef struct library {
    uint32_t declaration_count, name_count;
    declaration* declarations;
    library_name* names; /* sorted */
} library;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name that a line declares; NULL where it declares none. */
static const char* declared_name(const char* line, size_t* out_size)
{
    static const char* const keywords[] = {"fn ",           "const ", "override ",
                                           "var<private> ", "alias ", "struct "};
    while (*line == '@') { /* an attribute */
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        const size_t n = strlen(keywords[i]);
        if (strncmp(line, keywords[i], n) != 0)
            continue;
        line += n;
        for (*out_size = 0; is_word(line[*out_size]);)
            ++*out_size;
        return line;
    }
    return NULL;
}

static int compare_words(const char* a, size_t a_size, const char* b, size_t b_size)
{
    const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_names(const void* x, const void* y)
{
    const library_name *a = x, *b = y;
    return compare_words(a->s, a->size, b->s, b->size);
}

static const library_name* find_name(const library* l, const char* s, size_t size)
{
    const library_name wanted = {.s = s, .size = size};
    return l->name_count
               ? bsearch(&wanted, l->names, l->name_count, sizeof *l->names, compare_names)
               : NULL;
}

/* Marks what `text` names. */
static void note_uses(library* l, const char* text)
{
    for (const char* p = text; (p = strstr(p, "khal_"));) {
        size_t size = 5;
        while (is_word(p[size]))
            size++;
        const library_name* found = p > text && is_word(p[-1]) ? NULL : find_name(l, p, size);
        if (found)
            l->declarations[found->declaration].is_needed = true;
        p += size;
    }
}

static void read_library(kc_arena* a, library* l)
{
    size_t count = 0;
    while (kc_wgsl_library_lines[count])
        count++;
    l->declarations = KC_NEW_ARRAY(a, declaration, count + 1);
    l->names = KC_NEW_ARRAY(a, library_name, count + 1);
    for (size_t i = 0; i < count;) {
        const char* const* lines = &kc_wgsl_library_lines[i];
        uint32_t n = 0;
        const uint32_t names = l->name_count;
        for (; i < count && *kc_wgsl_library_lines[i]; i++, n++) {
            library_name name = {.declaration = l->declaration_count};
            name.s = declared_name(kc_wgsl_library_lines[i], &name.size);
            if (name.s)
                l->names[l->name_count++] = name;
        }
        if (l->name_count > names)
            l->declarations[l->declaration_count++] = (declaration){.lines = lines, .line_count = n};
        i += i < count;
    }
    qsort(l->names, l->name_count, sizeof *l->names, compare_names);
}

void kc_wgsl_library_complete(kc_text* module)
{
    kc_arena* a = kc_arena_create();
    if (!a || !module->data) {
        kc_arena_destroy(a);
        return;
    }
    library l = {0};
    read_library(a, &l);
    note_uses(&l, module->data);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < l.declaration_count; i++) {
            declaration* d = &l.declarations[i];
            if (!d->is_needed || d->is_searched)
                continue;
            d->is_searched = again = true;
            for (uint32_t k = 0; k < d->line_count; k++)
                note_uses(&l, d->lines[k]);
        }
    }
    for (uint32_t i = 0; i < l.declaration_count; i++) {
        const declaration* d = &l.declarations[i];
        for (uint32_t k = 0; d->is_needed && k < d->line_count; k++)
            kc_putf(module, "%s%s\n", k ? "" : "\n", d->lines[k]);
    }
    kc_arena_destroy(a);
}
