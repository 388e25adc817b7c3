/* The passes that lower, in order. */
#include "lower.h"

#include "flow.h"

static bool is_sound(kc_module* m)
{
    return m->diags->error_count == 0 && kc_verify_module(m);
}

typedef struct kc_lowering {
    bool (*pass)(kc_module* m, const kc_target* target);
    bool needs_uniformity;
} kc_lowering;

static void mark_constant(kc_expr** slot, void* user)
{
    if ((*slot)->kind == KC_EX_VAR && (*slot)->u.var->kind == KC_VAR_CONSTANT)
        (*slot)->u.var->pass_data = user;
}

static void mark_constants(kc_stmt* s, void* user)
{
    kc_stmt_walk_exprs(s, mark_constant, user);
}

static void drop_unused_constants(kc_module* m)
{
    for (kc_function* f = m->functions; f; f = f->next)
        kc_block_walk(&f->body, mark_constants, m);
    for (uint32_t i = m->constant_count; i-- > 0;)
        if (m->constants[i]->pass_data) { /* an initialiser names earlier ones */
            kc_stmt initialiser = {.kind = KC_ST_DECLARE, .value = m->constants[i]->init};
            mark_constants(&initialiser, m);
        }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->constant_count; i++) {
        kc_var* c = m->constants[i];
        if (c->pass_data)
            m->constants[kept++] = c;
        c->pass_data = NULL;
    }
    m->constant_count = kept;
}

void kc_keep_kernel(kc_module* m, const kc_function* keep)
{
    kc_function** link = &m->functions;
    m->last_function = NULL;
    while (*link) {
        kc_function* f = *link;
        if (f->is_kernel && f != keep) {
            *link = f->next;
        } else {
            m->last_function = f;
            link = &f->next;
        }
    }
    kc_pass_prune(m);
    drop_unused_constants(m);
}

bool kc_lower(kc_module* m, const kc_target* target)
{
    static const kc_lowering passes[] = {
        {kc_lower_pointers, false}, {kc_lower_vectors, false}, {kc_lower_half, false},
        {kc_lower_narrow, false},   {kc_lower_int64, false},   {kc_lower_exits, false},
        {kc_lower_barriers, true},
    };
    m->target = target;
    kc_pass_usage(m);
    kc_refuse_unsupported(m, target);
    kc_drop_refused(m);
    kc_pass_inline(m, target->has_pointers ? KC_INLINE_BARRIERS : KC_INLINE_POINTERS);
    kc_pass_fold(m);
    kc_pass_prune(m);
    if (!is_sound(m))
        return false;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (passes[i].needs_uniformity)
            kc_pass_uniformity(m);
        const bool is_done = passes[i].pass(m, target);
        m->has_uniformity = false;
        kc_drop_refused(m);
        kc_pass_fold(m);
        if (!is_done || !is_sound(m))
            return false;
    }
    kc_pass_prune(m);
    drop_unused_constants(m);
    kc_pass_usage(m);
    return is_sound(m);
}
