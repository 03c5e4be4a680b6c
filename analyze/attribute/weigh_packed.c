/* Weighs many samples at a time: energies, then shares of them by CPU time.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/weigh_packed.h"

#include "base/vectors.h"

/* ---- which samples, and their energies ---- */

/* How many of COUNT samples, including the first, have the same number of threads as the first. */
static size_t alike(const uint64_t *threads, size_t count)
{
    size_t same = 1;
    while (same < count && threads[same] == threads[0])
        same++;
    return same;
}

/* Energies of COUNT samples. Returns whether all fit in packed sums. */
VECTORS
static bool weigh(const double *value, const uint64_t *interval_ns, size_t count, double scale,
                  double seconds, double *energy)
{
    uint64_t other = 0;
    for (size_t i = 0; i < count; i++) {
        double power = value != NULL ? value[i] * scale : 0;
        energy[i] = power * (interval_ns != NULL ? (double)interval_ns[i] / 1e9 : seconds);
        other |= (uint64_t)!is_summable(power) | (uint64_t) !(fabs(energy[i]) < PACKED_MAX_J);
    }
    return other == 0;
}

/* The same for the next samples; returns how many fit. */
static size_t weigh_fitting(const struct weigher *w, size_t count, double *energy)
{
    const double *value = w->quantity->name != NULL ? w->in.value + w->next : NULL;
    const uint64_t *interval_ns = w->meta->times ? w->in.interval_ns + w->next : NULL;
    double scale = w->quantity->scale;
    size_t fit = 0;
    if (weigh(value, interval_ns, count, scale, w->even_seconds, energy))
        return count;
    while (weigh(value != NULL ? value + fit : NULL, interval_ns != NULL ? interval_ns + fit : NULL,
                 1, scale, w->even_seconds, energy + fit))
        fit++;
    return fit;
}

/* How many of COUNT samples with N threads each have CPU times that fit. */
static size_t fitting_times(const uint64_t *cpu_ns, size_t n, size_t count)
{
    size_t fit = 0;
    while (fit < n * count && cpu_ns[fit] < PACKED_MAX_NS)
        fit++;
    return fit / n;
}

/* The sum of VALUES, if it fits; *ANY becomes their OR. */
VECTORS
static uint64_t sum_up(const uint64_t *values, size_t count, uint64_t *any)
{
    uint64_t sum = 0, some = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        some |= values[i];
    }
    *any = some;
    return sum;
}

/* The time that passes in the chunk. */
static void pass_time(struct weigher *w, struct packed_chunk *c)
{
    uint64_t any, sum = sum_up(c->interval_ns, c->samples, &any);
    c->begin = w->at;
    c->any_interval = any != 0;
    if (!w->meta->times)
        w->at += w->even * (exact)c->samples;
    else if (any < UINT64_MAX / CHUNK_SAMPLES)
        w->at += (exact)sum << TIME_SHIFT;
    else
        for (size_t i = 0; i < c->samples; i++)
            w->at += (exact)c->interval_ns[i] << TIME_SHIFT;
}

bool weigher_packs(const struct weigher *w)
{
    bool corrected = w->longest > 0 || w->latency > 0 || w->options.wall_time;
    return w->meta->cpu_time && w->options.model == &energy_by_share && !corrected;
}

size_t weigher_next_packed(struct weigher *w, size_t max, struct packed_chunk *c)
{
    const struct pbin_samples *s = &w->in;
    size_t count = s->count - w->next, n = count > 0 ? s->threads[w->next] : 0;
    w->packs = true;
    if (n == 0 || n > CHUNK_THREAD_SAMPLES)
        return 0;
    max = max < CHUNK_SAMPLES ? max : CHUNK_SAMPLES;
    max = max < CHUNK_THREAD_SAMPLES / n ? max : CHUNK_THREAD_SAMPLES / n;
    count = count < max ? count : max;
    c->threads = n;
    c->interval_ns = s->interval_ns + w->next;
    c->thread = s->thread + w->next_thread;
    c->location = s->location + w->next_thread;
    c->cpu_ns = s->cpu_ns + w->next_thread;
    c->same_threads = s->same_threads;
    if (s->threads_each == 0)
        count = alike(s->threads + w->next, count);
    if (s->cpu_most >= PACKED_MAX_NS)
        count = fitting_times(c->cpu_ns, n, count);
    c->samples = weigh_fitting(w, count, c->energy);
    c->thread_samples = c->samples * n;
    pass_time(w, c);
    w->next += c->samples;
    w->next_thread += c->thread_samples;
    return c->samples;
}

/* ---- shares of them ---- */

/* The sum of these numbers and a far smaller one has 1 as its last bit in units of 2^-36 and 2^-80. */
#define ROUND_HIGH 0x1.8p16
#define ROUND_LOW  0x1.8p-28

/* exact_of_double of less than PACKED_MAX_J, in two words. */
static inline void split(double value, uint64_t *high, uint64_t *low)
{
    double rounded = value + ROUND_HIGH, rest = value - (rounded - ROUND_HIGH) + ROUND_LOW;
    *high = bits_of_double(rounded) - bits_of_double(ROUND_HIGH);
    *low = bits_of_double(rest) - bits_of_double(ROUND_LOW);
}

/* An integer below 2^52, in a way that vectors have too. */
static inline double small_to_double(uint64_t value)
{
    return double_of_bits(value | UINT64_C(0x433) << 52) - 0x1p52;
}

/* The energy of a sample in words; 0 if it is idle because no thread used CPU time. */
struct whole {
    uint64_t high, low;
    double per_ns;
};

static inline struct whole take_sample(struct packed_totals *t, double energy, uint64_t total)
{
    struct whole w;
    uint64_t idle = -(uint64_t)(total == 0), some = ~idle;
    split(energy, &w.high, &w.low);
    t->cpu_ns += total;
    t->high += w.high;
    t->low += w.low;
    t->idle |= idle & (w.high | w.low);
    t->idle_high += idle & w.high;
    t->idle_low += idle & w.low;
    w.high &= some;
    w.low &= some;
    w.per_ns = double_of_bits(bits_of_double(energy) & some) / small_to_double(total | (idle & 1));
    return w;
}

static inline void put_part(uint64_t *part, uint64_t seen, uint64_t cpu_ns, uint64_t high,
                            uint64_t low)
{
    part[PACKED_SEEN] = seen;
    part[PACKED_CPU] = cpu_ns;
    part[PACKED_HIGH] = high;
    part[PACKED_LOW] = low;
}

/* Shares of COUNT samples with N threads each, vectorized over samples: N is a small constant. */
static inline __attribute__((always_inline)) struct packed_totals
share(const uint64_t *cpu_ns, size_t n, size_t count, const double *energy, const uint64_t *seen,
      uint64_t *part)
{
    struct packed_totals t = {0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t *ns = cpu_ns + n * i;
        uint64_t total = 0, before = 0;
        for (size_t j = 0; j < n; j++)
            total += ns[j];
        struct whole left = take_sample(&t, energy[i], total);
        for (size_t j = 0; j < n; j++) {
            uint64_t high, low;
            split(left.per_ns * small_to_double(ns[j]), &high, &low);
            before += ns[j];
            uint64_t rest =
                -(uint64_t)(before == total); /* the last, or after it, where 0 is left */
            high = (high & ~rest) | (left.high & rest);
            low = (low & ~rest) | (left.low & rest);
            left.high -= high;
            left.low -= low;
            put_part(part + PACKED_WORDS * (n * i + j), seen[n * i + j], ns[j], high, low);
        }
    }
    return t;
}

VECTORS
static struct packed_totals share_in_one(const uint64_t *cpu_ns, size_t count, const double *energy,
                                         const uint64_t *seen, uint64_t *part)
{
    return share(cpu_ns, 1, count, energy, seen, part);
}

VECTORS
static struct packed_totals share_in_two(const uint64_t *cpu_ns, size_t count, const double *energy,
                                         const uint64_t *seen, uint64_t *part)
{
    return share(cpu_ns, 2, count, energy, seen, part);
}

/* The same for any number of threads, vectorized over the threads of a sample. */
VECTORS
static struct packed_totals share_in_many(const uint64_t *ns, size_t n, size_t count,
                                          const double *energy, const uint64_t *seen,
                                          uint64_t *part)
{
    struct packed_totals t = {0};
    for (size_t i = 0; i < count; i++, ns += n, seen += n, part += PACKED_WORDS * n) {
        uint64_t total = 0, high = 0, low = 0;
        size_t last = n - 1;
        for (size_t j = 0; j < n; j++)
            total += ns[j];
        struct whole whole = take_sample(&t, energy[i], total);
        for (size_t j = 0; j < n; j++) {
            uint64_t own_high, own_low;
            split(whole.per_ns * small_to_double(ns[j]), &own_high, &own_low);
            high += own_high;
            low += own_low;
            put_part(part + PACKED_WORDS * j, seen[j], ns[j], own_high, own_low);
        }
        while (last > 0 && ns[last] == 0)
            last--;
        part[PACKED_WORDS * last + PACKED_HIGH] += whole.high - high;
        part[PACKED_WORDS * last + PACKED_LOW] += whole.low - low;
    }
    return t;
}

struct packed_totals packed_weigh(const struct packed_chunk *c, const uint64_t *seen,
                                  packed_sums *part)
{
    uint64_t *words = (uint64_t *)part;
    if (c->threads == 1)
        return share_in_one(c->cpu_ns, c->samples, c->energy, seen, words);
    if (c->threads == 2)
        return share_in_two(c->cpu_ns, c->samples, c->energy, seen, words);
    return share_in_many(c->cpu_ns, c->threads, c->samples, c->energy, seen, words);
}
