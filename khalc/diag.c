#include "diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

typedef struct kc_diag_item {
    struct kc_diag_item* next;
    kc_loc loc;
    kc_diag_id id;
    bool is_error;
    uint32_t order; /* of being recorded: what keeps the sort stable */
    const char* text;
} kc_diag_item;

static const char* id_name(kc_diag_id id)
{
    switch (id) {
#define KC_DIAGNOSTIC(number, name, summary)                                                       \
    case KC_DIAG_##name: return #name;
#include "diagnostics.def"
#undef KC_DIAGNOSTIC
    }
    return "UNKNOWN";
}

static void record(kc_diags* d, kc_loc loc, kc_diag_id id, bool is_error, const char* format,
                   va_list args)
{
    kc_diag_item* item = KC_NEW(d->arena, kc_diag_item);
    *item = (kc_diag_item){.loc = loc,
                           .id = id,
                           .is_error = is_error,
                           .order = d->error_count + d->warning_count,
                           .text = kc_vformat(d->arena, format, args)};
    if (d->last)
        d->last->next = item;
    else
        d->first = item;
    d->last = item;
    if (is_error)
        d->error_count++;
    else
        d->warning_count++;
}

void kc_error(kc_diags* d, kc_loc loc, kc_diag_id id, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    record(d, loc, id, true, format, args);
    va_end(args);
}

void kc_warning(kc_diags* d, kc_loc loc, kc_diag_id id, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    record(d, loc, id, false, format, args);
    va_end(args);
}

void kc_diags_first(const kc_diags* d, kc_loc* out_loc)
{
    if (d->first)
        *out_loc = d->first->loc;
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Those without a place in the source come first. */
static int compare_place(const kc_diag_item* a, const kc_diag_item* b)
{
    const int by_file = strcmp(a->loc.file ? a->loc.file : "", b->loc.file ? b->loc.file : "");
    if (by_file)
        return by_file;
    const int by_line = compare_u32(a->loc.line, b->loc.line);
    return by_line ? by_line : compare_u32(a->loc.column, b->loc.column);
}

static int compare_items(const void* x, const void* y)
{
    const kc_diag_item* a = *(kc_diag_item* const*)x;
    const kc_diag_item* b = *(kc_diag_item* const*)y;
    const int by_place = compare_place(a, b);
    return by_place ? by_place : compare_u32(a->order, b->order);
}

static bool is_same(const kc_diag_item* a, const kc_diag_item* b)
{
    return a->id == b->id && a->is_error == b->is_error && strcmp(a->text, b->text) == 0;
}

static void print_item(const kc_diag_item* item)
{
    if (!item->loc.file)
        fputs("khalc: ", stderr);
    else if (item->loc.line)
        fprintf(stderr, "%s:%u:%u: ", item->loc.file, item->loc.line, item->loc.column);
    else
        fprintf(stderr, "%s: ", item->loc.file);
    fprintf(stderr, "%s: %s [KC%04d ", item->is_error ? "error" : "warning", item->text,
            (int)item->id);
    for (const char* c = id_name(item->id); *c; c++)
        fputc(*c == '_' ? '-' : (*c >= 'A' && *c <= 'Z') ? *c - 'A' + 'a' : *c, stderr);
    fputs("]\n", stderr);
}

void kc_diags_flush(kc_diags* d)
{
    size_t count = 0;
    for (const kc_diag_item* item = d->first; item; item = item->next)
        count++;
    if (count) {
        kc_diag_item** items = KC_NEW_ARRAY(d->arena, kc_diag_item*, count);
        size_t n = 0;
        for (kc_diag_item* item = d->first; item; item = item->next)
            items[n++] = item;
        qsort(items, count, sizeof items[0], compare_items);
        for (size_t i = 0; i < count; i++) {
            bool seen = false; /* among those at the same place, which are few */
            for (size_t j = i; j-- > 0 && !seen && compare_place(items[j], items[i]) == 0;)
                seen = is_same(items[j], items[i]);
            if (!seen)
                print_item(items[i]);
        }
        fflush(stderr);
    }
    d->first = d->last = NULL;
}
