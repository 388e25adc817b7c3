/* Functions that a target can't have: one of them takes its callers along, and nobody else. */
#include <stdarg.h>
#include <stdio.h>

#include "lower.h"

void kc_refuse(kc_module* m, kc_function* f, kc_loc loc, kc_diag_id id, const char* format, ...)
{
    if (f->refusal)
        return;
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char* text = kc_alloc(m->arena, size > 0 ? (size_t)size + 1 : 1);
    if (size > 0)
        vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    f->refusal = KC_NEW(m->arena, kc_refusal);
    *f->refusal = (kc_refusal){.loc = loc, .id = id, .text = text};
}

static void spread(kc_stmt* s, void* user)
{
    kc_function* caller = user;
    if (s->kind == KC_ST_CALL && !caller->refusal)
        caller->refusal = s->callee->refusal;
}

void kc_drop_refused(kc_module* m)
{
    kc_function* f = m->functions;
    kc_function** end = &m->refused;
    while (*end)
        end = &(*end)->next;
    m->functions = m->last_function = NULL;
    for (kc_function* next; f; f = next) { /* callees before callers */
        next = f->next;
        f->next = NULL;
        if (!f->refusal)
            kc_block_walk(&f->body, spread, f);
        if (!f->refusal) {
            if (m->last_function)
                m->last_function->next = f;
            else
                m->functions = f;
            m->last_function = f;
        } else if (f->is_kernel) {
            *end = f;
            end = &f->next;
        }
    }
}
