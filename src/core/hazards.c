/* Where barriers are needed. Of each buffer in a recording the byte ranges read and written since
 * the last barrier are kept; a command that meets a write, or writes what was read, needs a barrier
 * before it. One barrier orders everything, so it empties all sets: they carry the number of
 * barriers at their beginning and are emptied when they are next touched.
 *
 * In a pass with manual barriers, what the pass itself does stands apart in `inside` and is not
 * asked about until the pass ends. */
#include "core.h"

static khal__span* grow_spans(void* user, uint32_t wanted)
{
    return khal__recording_alloc(user, wanted * sizeof(khal__span));
}

static void add_all(khal__recording* recording, khal__spans* target, const khal__spans* source,
                    uint32_t most)
{
    for (uint32_t i = 0; i < source->count; ++i)
        khal__spans_set(target, source->items[i].begin, source->items[i].end, 0, most, grow_spans,
                        recording);
}

static void refresh(khal__recording* recording, khal__use* use)
{
    if (use->epoch != recording->epoch) {
        use->epoch = recording->epoch;
        for (int i = 0; i < 2; ++i) {
            add_all(recording, &use->total[i], &use->pending[i], KHAL__TOTAL_SPANS);
            use->pending[i].count = 0;
        }
    }
    if (use->inside_epoch != recording->epoch) {
        use->inside_epoch = recording->epoch;
        for (int i = 0; i < 2; ++i) {
            add_all(recording, &use->total[i], &use->inside[i], KHAL__TOTAL_SPANS);
            use->inside[i].count = 0;
        }
    }
}

bool khal__hazard_check(khal__recording* recording, khal__use* use, uint64_t offset, uint64_t size,
                        bool write)
{
    if (use->epoch != recording->epoch || use->inside_epoch != recording->epoch)
        refresh(recording, use);
    return khal__spans_overlap(&use->pending[KHAL__WRITE], offset, offset + size) ||
           (write && khal__spans_overlap(&use->pending[KHAL__READ], offset, offset + size));
}

void khal__hazard_add(khal__recording* recording, khal__use* use, uint64_t offset, uint64_t size,
                      bool write)
{
    if (use->epoch != recording->epoch || use->inside_epoch != recording->epoch)
        refresh(recording, use);
    khal__spans* set = &use->pending[write ? KHAL__WRITE : KHAL__READ];
    if (recording->manual) {
        set = &use->inside[write ? KHAL__WRITE : KHAL__READ];
        if (!use->in_manual) {
            use->in_manual = true;
            use->manual_next = recording->manual_uses;
            recording->manual_uses = use;
        }
    }
    khal__spans_set(set, offset, offset + size, 0, KHAL__PENDING_SPANS, grow_spans, recording);
}

void khal__hazard_pass_begin(khal__recording* recording, bool manual)
{
    recording->manual = manual;
}

void khal__hazard_pass_end(khal__recording* recording)
{
    while (recording->manual_uses != NULL) {
        khal__use* use = recording->manual_uses;
        recording->manual_uses = use->manual_next;
        use->in_manual = false;
        refresh(recording, use);
        for (int i = 0; i < 2; ++i) {
            add_all(recording, &use->pending[i], &use->inside[i], KHAL__PENDING_SPANS);
            use->inside[i].count = 0;
        }
    }
    recording->manual = false;
}

void khal__hazard_seal(khal__recording* recording)
{
    if (recording->sealed)
        return;
    khal__hazard_pass_end(recording);
    for (uint32_t i = 0; i < recording->use_count; ++i) {
        khal__use* use = recording->uses[i];
        for (int k = 0; k < 2; ++k)
            add_all(recording, &use->total[k], &use->pending[k], KHAL__TOTAL_SPANS);
    }
    recording->sealed = true;
}
