/* Removes what can't run or does nothing: functions that no kernel reaches, statements after a
 * terminator, BLOCKs and IFs with nothing inside, a BREAK of a BLOCK at its very end. */
#include "ir.h"

static void prune_block(kc_block* b, void* user);

static void remove_after(kc_block* b, kc_stmt* s)
{
    while (s->next)
        kc_block_remove(b, s->next);
}

static void prune_last_break(kc_stmt* block)
{
    kc_stmt* last = block->body.last;
    if (last && last->kind == KC_ST_BREAK && last->target == block)
        kc_block_remove(&block->body, last);
}

static void prune_block(kc_block* b, void* user)
{
    for (kc_stmt *s = b->first, *next; s; s = next) {
        kc_stmt_walk_blocks(s, prune_block, user);
        if (kc_is_terminator(s))
            remove_after(b, s);
        next = s->next;
        if (s->kind == KC_ST_BLOCK)
            prune_last_break(s);
        const bool is_empty_block = s->kind == KC_ST_BLOCK && !s->body.first;
        const bool is_empty_if = s->kind == KC_ST_IF && !s->body.first && !s->orelse.first;
        if (is_empty_block || is_empty_if)
            kc_block_remove(b, s);
    }
}

static void mark_callee(kc_stmt* s, void* user)
{
    if (s->kind == KC_ST_CALL)
        s->callee->pass_data = user;
}

/* Callers stand after callees: from the last function to the first, each is known to be reached or
 * not when its turn comes. */
static void prune_functions(kc_module* m)
{
    uint32_t count = 0;
    for (kc_function* f = m->functions; f; f = f->next, count++)
        f->pass_data = f->is_kernel ? m : NULL;
    kc_function** order = KC_NEW_ARRAY(m->arena, kc_function*, count);
    uint32_t left = count;
    for (kc_function* f = m->functions; f; f = f->next)
        order[--left] = f;
    m->functions = m->last_function = NULL;
    for (uint32_t i = 0; i < count; i++) {
        kc_function* f = order[i];
        if (!f->pass_data)
            continue;
        kc_block_walk(&f->body, mark_callee, m);
        f->next = m->functions;
        m->functions = f;
        if (!m->last_function)
            m->last_function = f;
        f->pass_data = NULL;
    }
}

void kc_pass_prune(kc_module* m)
{
    for (kc_function* f = m->functions; f; f = f->next)
        prune_block(&f->body, NULL);
    prune_functions(m);
}
