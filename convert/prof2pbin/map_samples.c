/* Counts the samples in each mapping.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/map_samples.h"

#include "convert/prof2pbin/thread_tracker.h"
#include "convert/symbolize/address_spaces.h"

struct counting {
    const struct symbolizer *symbolizer;
    struct address_spaces *spaces; /* NULL: there are no processes */
    struct tracker tracker;
    uint64_t *samples;
    uint64_t time_ns; /* the latest */
};

/* Returns the mapping of PC in the present address space of T; UINT32_MAX for none. */
static uint32_t find_map(struct counting *c, struct tracked *t, uint64_t pc)
{
    if (c->spaces == NULL)
        return symbolizer_find_map(c->symbolizer, pc);
    if (t->image == RAW_NO_IMAGE)
        return UINT32_MAX;
    if (t->token == 0 || t->token_image != t->image || c->time_ns >= t->token_until) {
        t->token = address_spaces_at(c->spaces, t->image, c->time_ns, &t->token_until);
        t->token_image = t->image;
    }
    return address_spaces_find(c->spaces, t->image, pc);
}

static void count_batch(struct counting *c, const struct raw_samples *s)
{
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        c->time_ns = s->time_ns[i] > c->time_ns ? s->time_ns[i] : c->time_ns;
        for (size_t seat = 0; seat < s->threads[i]; seat++, at++) {
            const struct raw_thread_sample *sample = &s->thread_samples[at];
            uint8_t flags = s->flags != NULL ? s->flags[at] : RAW_RAN;
            uint64_t used_ns;
            struct tracked *t =
                tracker_follow(&c->tracker, sample, flags, c->time_ns, seat, &used_ns);
            uint32_t map = UINT32_MAX;
            if ((flags & (RAW_RAN | RAW_TOTAL)) == RAW_RAN)
                map = find_map(c, t, sample->pc);
            if (map != UINT32_MAX)
                c->samples[map]++;
        }
    }
}

int map_samples_count(struct raw_profile *raw, const struct symbolizer *symbolizer, bool processes,
                      uint64_t *samples, struct error *err)
{
    struct counting c = {.symbolizer = symbolizer, .samples = samples};
    struct raw_samples batch;
    int got;
    c.spaces = processes ? address_spaces_new(&raw->ext) : NULL;
    tracker_init(&c.tracker, &raw->ext);
    while ((got = raw_next(raw, &batch, err)) > 0)
        count_batch(&c, &batch);
    raw_rewind(raw);
    tracker_free(&c.tracker);
    address_spaces_delete(c.spaces);
    return got;
}
