/* Attributes packed samples to rows, in chunks of arrays, with a simple loop for each step:
 *
 *   rows -> entries -> shares, as words to add -> sums of the rows
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/attribute_internal.h"

#include <string.h>

#include "analyze/attribute/stretch_work.h"
#include "analyze/attribute/weigh_packed.h"
#include "base/vectors.h"

struct chunk {
    struct attribution *attribution;
    const struct pbin_definitions *all;
    struct packed_chunk in;
    _Alignas(64) uint32_t row[CHUNK_THREAD_SAMPLES];
    _Alignas(64) uint64_t seen[CHUNK_THREAD_SAMPLES];
    uint64_t who[CHUNK_THREAD_SAMPLES];                  /* see first_definitions */
    _Alignas(64) packed_sums part[CHUNK_THREAD_SAMPLES]; /* values to add to their rows */
};

/* Looks up several rows at a time, because a loop costs as much as a table look-up. Returns false
 * if a location may not have a row yet. */
static bool look_up(const uint32_t *restrict row_of, const uint64_t *restrict location,
                    size_t count, uint32_t *restrict row)
{
    enum { STEP = 8 };
    uint32_t any = 0;
    size_t k = 0;
    for (; k + STEP <= count; k += STEP)
        for (size_t l = 0; l < STEP; l++)
            any |= row[k + l] = row_of[location[k + l]];
    for (; k < count; k++)
        any |= row[k] = row_of[location[k]];
    return (any & ~(NO_ROW >> 1)) == 0;
}

void attribution_rows(struct attribution *a, const struct pbin_definitions *all,
                      const uint64_t *thread, const uint64_t *location, size_t count, uint32_t *row)
{
    struct key_map *keys = &a->keys;
    if (!keys->by_thread && keys->count >= all->location_count &&
        look_up(keys->row, location, count, row))
        return;
    for (size_t k = 0; k < count; k++)
        row[k] = key_map_row(keys, all, thread[k], location[k]);
}

/* Sets SEEN for each thread sample to one sample, and to an entry if the thread was in another row
 * BEFORE. */
VECTORS
static void see(const uint32_t *row, const uint32_t *before, size_t count, uint64_t *seen)
{
    for (size_t k = 0; k < count; k++)
        seen[k] = 1 + ((uint64_t)(row[k] != before[k]) << 32);
}

/* Returns whether the first COUNT threads are different threads of the operating system. Checks
 * only a few. */
static bool are_different(const struct os_threads *os, const uint64_t *thread, size_t count)
{
    enum { MAX_COMPARED = 16 };
    for (size_t i = 0; i < count && count <= MAX_COMPARED; i++)
        for (size_t j = 0; j < i; j++)
            if (os_thread(os, thread[i]) == os_thread(os, thread[j]))
                return false;
    return count <= MAX_COMPARED;
}

/* The first definitions of the threads of the chunk: the threads themselves if none is defined
 * again. */
static const uint64_t *first_definitions(struct chunk *c)
{
    const struct os_threads *os = &c->attribution->os;
    if (!os->shared)
        return c->in.thread;
    for (size_t k = 0; k < c->in.thread_samples; k++)
        c->who[k] = os_thread(os, c->in.thread[k]);
    return c->who;
}

static void enter_rows(struct chunk *c)
{
    const struct os_threads *os = &c->attribution->os;
    const uint64_t *thread = first_definitions(c);
    bool same = c->in.threads > 0 && c->in.same_threads &&
                (!os->shared || are_different(os, c->in.thread, c->in.threads));
    size_t n = c->in.threads, first = same ? n : c->in.thread_samples;
    for (size_t k = 0; k < first; k++)
        c->seen[k] = 1 + ((uint64_t)attribution_enter(c->attribution, thread[k], c->row[k]) << 32);
    see(c->row + first, c->row + first - n, c->in.thread_samples - first, c->seen + first);
    for (size_t k = c->in.thread_samples - n; k < c->in.thread_samples && same; k++)
        c->attribution->last_row[thread[k]] = c->row[k];
}

/* Adds samples. Successive samples of a thread and the threads of a sample use different lanes (the
 * number of which is a power of 2), so that additions to one row do not wait for each other. */
INLINE void add_samples(struct rowset *rows, const uint32_t *row, const packed_sums *part, size_t n,
                        size_t samples)
{
    packed_sums *sums = rows->packed;
    size_t lanes = rows->lanes, turn = 0, skip = n % 2 == 0;
    for (size_t i = 0; i < samples; i++, turn += skip)
        for (size_t j = 0; j < n; j++, turn++, row++, part++)
            sums[lanes * *row + (turn & (lanes - 1))] += *part;
}

VECTORS
static void add_parts(struct rowset *rows, const uint32_t *row, const packed_sums *part, size_t n,
                      size_t samples)
{
    if (n == 2)
        add_samples(rows, row, part, 2, samples);
    else if (n == 1)
        add_samples(rows, row, part, 1, samples);
    else
        add_samples(rows, row, part, n, samples);
}

static void add_label(struct attribution *a, const char *label, uint64_t any, uint64_t high,
                      uint64_t low)
{
    exact energy = packed_energy(high, low);
    if (any == 0)
        return;
    struct row_sums *sums = key_map_label(&a->keys, label);
    a->rows->overflow |= __builtin_add_overflow(sums->energy, energy, &sums->energy);
}

/* Adds the energy of a stretch that its thread samples did not get. At the end of the stretch, the
 * remainder from rounding goes to the last thread sample with energy; if none has any, it is energy
 * of other programs or, if these have none, idle energy. */
static void add_stretch(struct chunk *c, const struct packed_totals *t)
{
    struct attribution *a = c->attribution;
    struct packed_stretch *p = &a->weigher.share->packed;
    size_t begin = p->done_threads - c->in.thread_samples;
    p->rest_high -= t->high;
    p->rest_low -= t->low;
    if (p->last > begin && p->last <= p->done_threads)
        p->row = c->row[p->last - 1 - begin];
    if (p->left > 0)
        return;
    exact measured = packed_energy(p->all_high, p->all_low);
    exact others = packed_energy(p->idle_high + p->others_high + p->rest_high,
                                 p->idle_low + p->others_low + p->rest_low);
    a->rows->overflow |= __builtin_add_overflow(a->measured, measured, &a->measured);
    a->rows->overflow |= __builtin_add_overflow(a->energy, others, &a->energy);
    add_label(a, LABEL_IDLE, p->idle, p->idle_high, p->idle_low);
    add_label(a, LABEL_OTHERS, p->others, p->others_high, p->others_low);
    packed_sums rest = {0, 0, p->rest_high, p->rest_low};
    if (p->last == 0) {
        add_label(a, p->others != 0 ? LABEL_OTHERS : LABEL_IDLE, p->rest_high | p->rest_low,
                  p->rest_high, p->rest_low);
        return;
    }
    rowset_packed_room(a->rows,
                       1); /* a new label may have folded the packed sums: they are in use again */
    a->rows->packed[a->rows->lanes * p->row] += rest;
}

/* Adds the chunk to the rows of its thread samples. */
static struct packed_totals add_to_rows(struct chunk *c)
{
    struct rowset *rows = c->attribution->rows;
    struct packed_totals totals;
    /* the limits apply to the energy of samples, which may have few threads */
    rowset_packed_room(rows,
                       c->in.samples > c->in.thread_samples ? c->in.samples : c->in.thread_samples);
    if (c->in.of != NULL) {
        const struct packed_rows to = {rows->packed, rows->lanes, c->row};
        return packed_add_settled(&c->in, c->seen, &to);
    }
    totals = packed_weigh(&c->in, c->seen, c->part);
    add_parts(rows, c->row, c->part, c->in.threads, c->in.samples);
    return totals;
}

static void add_up(struct chunk *c, const struct packed_totals *t)
{
    struct attribution *a = c->attribution;
    exact energy = packed_energy(t->high, t->low);
    a->time += (exact)t->cpu_ns << TIME_SHIFT; /* a chunk has less than 2^45 ns */
    a->rows->overflow |= __builtin_add_overflow(a->energy, energy, &a->energy);
    if (c->in.of != NULL) {
        add_stretch(c, t);
        return;
    }
    a->rows->overflow |= __builtin_add_overflow(a->measured, energy, &a->measured);
    add_label(a, LABEL_IDLE, t->idle, t->idle_high, t->idle_low);
}

static void pass_time(struct chunk *c)
{
    struct attribution *a = c->attribution;
    exact at = c->in.begin;
    a->samples += c->in.samples;
    a->wall += a->weigher.at - at;
    if (!c->in.any_interval)
        return;
    size_t longest = gaps_count_all(&a->gaps, c->in.interval_ns, c->in.samples);
    if (longest == c->in.samples)
        return;
    for (size_t i = 0; i <= longest; i++)
        at += weigher_elapsed(&a->weigher, c->in.interval_ns[i]);
    a->gaps.longest_at = at;
}

/* Adds to the fit the stretch that begins with this chunk. */
static void fit_stretch(struct attribution *a, const struct pbin_definitions *all,
                        const struct packed_chunk *c)
{
    const struct weigher *w = &a->weigher;
    const struct share_work *work = w->share;
    struct fit_view view = {.stretch = &work->stretch,
                            .threads = w->in.threads + w->next - c->samples,
                            .uses = work->packed.varied ? work->uses : NULL,
                            .cpu_ns = work->cpu_ns,
                            .own = (enum pbin_own)a->meta->own_intervals,
                            .cpu_known = true,
                            .thread_samples = work->packed.thread_samples,
                            .number = w->number - c->samples};
    attribute_fit(a, all, c->thread, c->location, &view);
}

/* The fit already knows the rows of the stretch. */
static void find_rows(struct chunk *c, const struct pbin_definitions *all)
{
    struct attribution *a = c->attribution;
    size_t count = c->in.thread_samples;
    if (a->fit != NULL)
        memcpy(c->row, a->fit_rows + a->weigher.share->packed.done_threads - count,
               count * sizeof *c->row);
    else
        attribution_rows(a, all, c->in.thread, c->in.location, count, c->row);
}

size_t attribute_packed(struct attribution *a, const struct pbin_definitions *all, size_t max)
{
    struct chunk c;
    c.attribution = a;
    c.all = all;
    if (weigher_next_packed(&a->weigher, max, &c.in) == 0)
        return 0;
    if (a->fit != NULL && a->weigher.share->packed.done == c.in.samples)
        fit_stretch(a, all, &c.in);
    find_rows(&c, all);
    enter_rows(&c);
    struct packed_totals totals = add_to_rows(&c);
    add_up(&c, &totals);
    pass_time(&c);
    return c.in.samples;
}
