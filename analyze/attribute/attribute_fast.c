/* Attribution of the usual samples: by CPU time, in words of 64 bits as far as that is exact.
 *
 * Samples that have equally many threads go through a chunk of arrays, one simple loop per step:
 *   energies -> rows -> who entered them -> shares, as words to add -> sums of the rows
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/attribute_internal.h"
#include "analyze/attribute/share.h"
#include "base/vectors.h"

enum { SAMPLES = 256, ENTRIES = 512 }; /* a chunk fits the first cache */

struct chunk {
    struct attribution *attribution;
    const struct pbin_definitions *all;
    struct moment at; /* its first sample; COUNT threads in each */
    size_t samples, entries;
    /* vectors that straddle cache lines are slow */
    _Alignas(64) double energy[SAMPLES];
    _Alignas(64) uint32_t row[ENTRIES];
    _Alignas(64) uint64_t seen[ENTRIES];
    _Alignas(64) quick_sums part[ENTRIES]; /* what entries add to their rows */
};

/* How many of COUNT samples, from the first on, have as many threads as it. */
static size_t alike(const uint64_t *threads, size_t count)
{
    size_t same = 1;
    while (same < count && threads[same] == threads[0])
        same++;
    return same;
}

/* Energies of COUNT samples. Returns whether all are of the usual size. */
VECTORS
static bool weigh(const double *value, const uint64_t *interval_ns, size_t count, double scale,
                  double seconds, double *energy)
{
    uint64_t other = 0;
    for (size_t i = 0; i < count; i++) {
        double power = value != NULL ? value[i] * scale : 0;
        energy[i] = power * (interval_ns != NULL ? (double)interval_ns[i] / 1e9 : seconds);
        other |= (uint64_t)!is_summable(power) | (uint64_t) !(fabs(energy[i]) < QUICK_J);
    }
    return other == 0;
}

/* The same of those from number FIRST on; returns how many are usual. */
static size_t weigh_usual(const struct attribution *a, const struct pbin_samples *s, size_t first,
                          size_t count, double *energy)
{
    const double *value = a->quantity->name != NULL ? s->value + first : NULL;
    const uint64_t *interval_ns = a->meta->times ? s->interval_ns + first : NULL;
    double scale = a->quantity->scale;
    size_t usual = 0;
    if (weigh(value, interval_ns, count, scale, a->even_seconds, energy))
        return count;
    while (weigh(value != NULL ? value + usual : NULL,
                 interval_ns != NULL ? interval_ns + usual : NULL, 1, scale, a->even_seconds,
                 energy + usual))
        usual++;
    return usual;
}

/* How many of COUNT samples with N threads each used a usual CPU time. */
static size_t usual_times(const uint64_t *cpu_ns, size_t n, size_t count)
{
    size_t usual = 0;
    while (usual < n * count && cpu_ns[usual] < QUICK_NS)
        usual++;
    return usual / n;
}

VECTORS
static bool has_row(const uint32_t *row, size_t count, uint32_t wanted)
{
    uint32_t found = 0;
    for (size_t k = 0; k < count; k++)
        found |= (uint32_t)(row[k] == wanted);
    return found != 0;
}

static void find_rows(struct chunk *c)
{
    struct key_map *keys = &c->attribution->keys;
    const uint64_t *thread = c->at.thread, *location = c->at.location;
    if (!keys->by_thread && keys->count >= c->all->location_count) {
        for (size_t k = 0; k < c->entries; k++)
            c->row[k] = keys->row[location[k]];
        if (!has_row(c->row, c->entries, NO_ROW)) /* all have been found before */
            return;
    }
    for (size_t k = 0; k < c->entries; k++)
        c->row[k] = key_map_row(keys, c->all, thread[k], location[k]);
}

/* An entry is one thread sample, and one more entry of its row where the thread was in another one BEFORE. */
VECTORS
static void see(const uint32_t *row, const uint32_t *before, size_t count, uint64_t *seen)
{
    for (size_t k = 0; k < count; k++)
        seen[k] = 1 + ((uint64_t)(row[k] != before[k]) << 32);
}

static void enter_rows(struct chunk *c, bool same_threads)
{
    const uint64_t *thread = c->at.thread;
    size_t n = c->at.count, first = same_threads ? n : c->entries;
    for (size_t k = 0; k < first; k++)
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): find_rows has set ROW */
        c->seen[k] = 1 + ((uint64_t)attribution_enter(c->attribution, thread[k], c->row[k]) << 32);
    see(c->row + first, c->row + first - n, c->entries - first, c->seen + first);
    for (size_t k = c->entries - n; k < c->entries; k++)
        c->attribution->last_row[thread[k]] = c->row[k];
}

/* Neither the entries of a thread nor those of a sample follow each other in one of the LANES, a power of 2. */
static inline __attribute__((always_inline)) void add_samples(struct rowset *rows,
                                                              const uint32_t *row,
                                                              const quick_sums *part, size_t n,
                                                              size_t samples)
{
    quick_sums *sums = rows->quick;
    size_t lanes = rows->lanes, turn = 0, skip = n % 2 == 0;
    for (size_t i = 0; i < samples; i++, turn += skip)
        for (size_t j = 0; j < n; j++, turn++, row++, part++)
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): find_rows has set it */
            sums[lanes * *row + (turn & (lanes - 1))] += *part;
}

VECTORS
static void add_parts(struct rowset *rows, const uint32_t *row, const quick_sums *part, size_t n,
                      size_t samples)
{
    if (n == 2)
        add_samples(rows, row, part, 2, samples);
    else
        add_samples(rows, row, part, n, samples);
}

static void add_up(struct chunk *c, const struct share_totals *t)
{
    struct attribution *a = c->attribution;
    exact energy = quick_energy(t->high, t->low);
    rowset_quick_room(a->rows, c->entries);
    add_parts(a->rows, c->row, c->part, c->at.count, c->samples);
    a->time += (exact)t->cpu_ns << TIME_SHIFT; /* less than 2^45 ns of a chunk */
    a->rows->overflow |= __builtin_add_overflow(a->energy, energy, &a->energy);
    if (t->idle == 0)
        return;
    energy = quick_energy(t->idle_high, t->idle_low);
    struct current *idle = attribution_label(a, LABEL_IDLE);
    a->rows->overflow |= __builtin_add_overflow(idle->energy, energy, &idle->energy);
}

/* Times of the samples from number FIRST on. */
static void pass_time(struct chunk *c, const struct pbin_samples *s, size_t first)
{
    struct attribution *a = c->attribution;
    uint64_t any = a->meta->times;
    a->samples += c->samples;
    for (size_t i = 0; i < c->samples; i++)
        any |= s->interval_ns[first + i];
    if (any == 0) { /* no times: all intervals are the same, and none is a gap */
        a->at += a->even_time * (exact)c->samples;
        a->wall += a->even_time * (exact)c->samples;
        return;
    }
    for (size_t i = 0; i < c->samples; i++) {
        uint64_t interval_ns = s->interval_ns[first + i];
        exact interval = a->meta->times ? (exact)interval_ns << TIME_SHIFT : a->even_time;
        a->at += interval;
        a->wall += interval;
        gaps_count(&a->gaps, interval_ns, a->at);
    }
}

/* How many samples a chunk can hold from number FIRST on, all of the usual kind; their energies are set. */
static size_t usual_samples(struct chunk *c, const struct pbin_samples *s, size_t first,
                            size_t most)
{
    size_t n = c->at.count, count = s->count - first;
    if (n == 0 || n > ENTRIES)
        return 0;
    most = most < SAMPLES ? most : SAMPLES;
    most = most < ENTRIES / n ? most : ENTRIES / n;
    count = count < most ? count : most;
    if (s->threads_each == 0)
        count = alike(s->threads + first, count);
    if (s->cpu_most >= QUICK_NS)
        count = usual_times(c->at.cpu_ns, n, count);
    return weigh_usual(c->attribution, s, first, count, c->energy);
}

size_t attribute_usual(struct attribution *a, const struct pbin_definitions *all,
                       const struct pbin_samples *s, size_t first, size_t most, struct moment *m)
{
    struct chunk c;
    c.attribution = a;
    c.all = all;
    c.at = *m;
    c.at.count = s->threads[first];
    c.samples = usual_samples(&c, s, first, most);
    c.entries = c.samples * c.at.count;
    if (c.samples == 0)
        return 0;
    find_rows(&c);
    enter_rows(&c, s->same_threads);
    struct share_totals totals =
        share_energy(c.at.cpu_ns, c.at.count, c.samples, c.energy, c.seen, c.part);
    add_up(&c, &totals);
    pass_time(&c, s, first);
    m->thread += c.entries;
    m->location += c.entries;
    m->cpu_ns += c.entries;
    return c.samples;
}
