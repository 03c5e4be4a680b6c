/* Weighs many samples at a time: computes energies, then divides them by CPU time.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/weigh_packed.h"

#include <string.h>

#include "analyze/attribute/stretch_work.h"
#include "base/vectors.h"

/* ---- which samples, and their energies ---- */

/* The number of samples at the beginning of COUNT that have the same number of threads as the
 * first. */
static size_t alike(const uint64_t *threads, size_t count)
{
    size_t same = 1;
    while (same < count && threads[same] == threads[0])
        same++;
    return same;
}

/* Computes the energies of COUNT samples. Returns whether all fit in packed sums. */
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

/* Computes the energies of the next samples. Returns how many fit. */
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

/* The number of samples at the beginning of COUNT, with N threads each, whose CPU times fit. */
static size_t fitting_times(const uint64_t *cpu_ns, size_t n, size_t count)
{
    size_t fit = 0;
    while (fit < n * count && cpu_ns[fit] < PACKED_MAX_NS)
        fit++;
    return fit / n;
}

/* The sum of VALUES, if it fits; sets *ANY to their bitwise OR. */
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

/* Adds the time that passes in the chunk. */
static void pass_time(struct weigher *w, struct packed_chunk *c)
{
    uint64_t any = 0, sum = w->in.timeless ? 0 : sum_up(c->interval_ns, c->samples, &any);
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
    bool corrected = w->longest > 0 || w->latency > 0 || w->lag > 0 || w->options.wall_time;
    bool known = w->options.model == &energy_by_sample || w->options.model == &energy_by_share;
    return w->meta->cpu_time && known && !corrected;
}

/* Sets the properties that the samples from the next one on share, but not their number. */
static void begin_chunk(const struct weigher *w, struct packed_chunk *c)
{
    const struct pbin_samples *s = &w->in;
    c->threads = s->threads[w->next];
    c->interval_ns = s->interval_ns + w->next;
    c->thread = s->thread + w->next_thread;
    c->location = s->location + w->next_thread;
    c->cpu_ns = s->cpu_ns + w->next_thread;
    c->same_threads = s->same_threads;
}

static size_t end_chunk(struct weigher *w, size_t samples, size_t thread_samples,
                        struct packed_chunk *c)
{
    c->samples = samples;
    c->thread_samples = thread_samples;
    pass_time(w, c);
    w->next += samples;
    w->next_thread += c->thread_samples;
    w->number += samples;
    return samples;
}

static size_t most_samples(size_t threads)
{
    size_t most = CHUNK_THREAD_SAMPLES / threads;
    return most < CHUNK_SAMPLES ? most : CHUNK_SAMPLES;
}

/* The number of samples at the beginning of COUNT that do not have more thread samples than a
 * chunk. Sets *TOTAL to the number of these thread samples. */
static size_t count_chunk(const uint64_t *threads, size_t count, size_t *total)
{
    size_t samples = 0, sum = 0;
    count = count < CHUNK_SAMPLES ? count : CHUNK_SAMPLES;
    while (samples < count && sum + threads[samples] <= CHUNK_THREAD_SAMPLES)
        sum += threads[samples++];
    *total = sum;
    return samples;
}

/* The next part of the settled stretch. */
static size_t next_of_stretch(struct weigher *w, struct packed_chunk *c)
{
    struct packed_stretch *p = &w->share->packed;
    begin_chunk(w, c);
    if (p->varied)
        c->threads = 0;
    size_t count = p->left, thread_samples;
    if (p->varied) {
        count = count_chunk(w->in.threads + w->next, count, &thread_samples);
    } else {
        count = count < most_samples(c->threads) ? count : most_samples(c->threads);
        thread_samples = count * c->threads;
    }
    c->of = w->share->of + p->done_threads;
    p->done += count;
    p->done_threads += thread_samples;
    p->left -= count;
    return end_chunk(w, count, thread_samples, c);
}

/* ---- stretches ---- */

/* Returns whether COUNT samples have the same N threads, in ascending order. */
static bool have_same(const struct pbin_samples *s, const uint64_t *thread, size_t n, size_t count)
{
    for (size_t k = 1; k < n; k++)
        if (thread[k] <= thread[k - 1])
            return false;
    return s->same_threads || memcmp(thread, thread + n, (count - 1) * n * sizeof *thread) == 0;
}

/* Returns whether several of N threads use CPU time. */
static bool run_at_once(const uint64_t *cpu_ns, size_t n, size_t count)
{
    size_t runners = 0;
    for (size_t j = 0; j < n && runners < 2; j++) {
        uint64_t any = 0;
        for (size_t k = j; k < n * count && any == 0; k += n)
            any |= cpu_ns[k];
        runners += any > 0;
    }
    return runners > 1;
}

/* Converts an integer below 2^52 in a way that vectors also support. */
static inline double small_to_double(uint64_t value)
{
    return double_of_bits(value | UINT64_C(0x433) << 52) - 0x1p52;
}

VECTORS
static void small_to_doubles(const uint64_t *values, size_t count, double *to)
{
    for (size_t k = 0; k < count; k++)
        to[k] = small_to_double(values[k]);
}

/* Converts the CPU times of COUNT samples with N threads each, and sums them by sample. */
INLINE void convert_samples(const uint64_t *restrict cpu_ns, size_t n, size_t count,
                            double *restrict to, double *restrict sum)
{
    for (size_t i = 0; i < count; i++) {
        sum[i] = 0;
        for (size_t j = 0; j < n; j++) {
            to[n * i + j] = small_to_double(cpu_ns[n * i + j]);
            sum[i] += to[n * i + j];
        }
    }
}

/* Converts CPU times in parts. Before each part, prefetches the memory that the next one writes,
 * unless it is too much. */
VECTORS
static void convert_cpu(const uint64_t *cpu_ns, size_t n, size_t count, double *to, double *sum)
{
    enum { PART = WRITE_AHEAD, LINE = 8 };
    const size_t most = (n < 4 ? n : 4) * PART;
    for (size_t i = 0, size; i < count; i += size) {
        size = count - i < PART ? count - i : PART;
        for (size_t k = 0; k < PART; k += LINE)
            WILL_WRITE(sum + i + k);
        for (size_t k = 0; k < most; k += LINE)
            WILL_WRITE(to + n * i + (n - 1) * PART + k);
        if (n == 2)
            convert_samples(cpu_ns + 2 * i, 2, size, to + 2 * i, sum + i);
        else
            convert_samples(cpu_ns + n * i, n, size, to + n * i, sum + i);
    }
}

/* Sets the intervals, powers and energies of the next COUNT samples. Returns whether they fit in
 * packed sums. */
static bool fill(const struct weigher *w, size_t count, struct stretch *s)
{
    const struct stretch_source from = {
        .interval_ns = w->meta->times ? w->in.interval_ns + w->next : NULL,
        .even_seconds = w->even_seconds,
        .value = w->quantity->name != NULL ? w->in.value + w->next : NULL,
        .scale = w->quantity->scale,
    };
    s->count = count;
    s->sums = true;
    return stretch_fill(s, &from);
}

/* The number of thread samples in the next COUNT samples; SIZE_MAX if one of these has more than
 * fit in a chunk. */
static size_t count_threads(const struct weigher *w, size_t count)
{
    const uint64_t *threads = w->in.threads + w->next;
    size_t sum = 0, most = w->in.threads_each;
    if (most > 0)
        sum = count * most;
    for (size_t i = 0; i < count && w->in.threads_each == 0; i++) {
        sum += threads[i];
        most = threads[i] > most ? threads[i] : most;
    }
    return most <= CHUNK_THREAD_SAMPLES ? sum : SIZE_MAX;
}

/* Returns whether COUNT samples have the same threads. */
static bool are_same(const struct weigher *w, size_t count)
{
    const struct pbin_samples *in = &w->in;
    size_t n = in->threads[w->next];
    if (n == 0 || (in->threads_each == 0 && alike(in->threads + w->next, count) < count))
        return false;
    return have_same(in, in->thread + w->next_thread, n, count);
}

/* Limits the N CPU times of the first sample of a profile. Returns their sum. */
static double limit_first(struct share_work *work, size_t n)
{
    double most = share_work_first_most(work), sum = 0;
    for (size_t k = 0; k < n; k++) {
        work->cpu_ns[k] = work->cpu_ns[k] < most ? work->cpu_ns[k] : most;
        sum += work->cpu_ns[k];
    }
    return sum;
}

/* Sets the CPU time of each interval. */
static void use_times(const struct weigher *w, size_t thread_samples)
{
    const struct pbin_samples *in = &w->in;
    struct share_work *work = w->share;
    struct stretch *s = &work->stretch;
    const uint64_t *cpu_ns = in->cpu_ns + w->next_thread, *thread = in->thread + w->next_thread;
    size_t n = in->threads[w->next];
    share_work_reserve(work, thread_samples);
    if (work->packed.varied) {
        small_to_doubles(cpu_ns, thread_samples, work->cpu_ns);
        if (w->number == 0)
            limit_first(work, n);
        s->in_turn = w->meta->cpus == 1 || share_work_in_turn(work, thread, thread_samples);
        share_work_find_uses(work, in->threads + w->next, thread);
    } else {
        s->in_turn = w->meta->cpus == 1 || n == 1 || !run_at_once(cpu_ns, n, s->count);
        if (n == 1) { /* the sum needs no memory of its own */
            small_to_doubles(cpu_ns, s->count, work->cpu_ns);
            s->cpu_ns = work->cpu_ns;
        } else {
            convert_cpu(cpu_ns, n, s->count, work->cpu_ns, s->cpu_ns);
        }
        if (w->number == 0)
            s->cpu_ns[0] = limit_first(work, n);
    }
}

/* Reads the next stretch if its numbers are small. Returns its number of thread samples, or
 * SIZE_MAX. */
static size_t take_stretch(struct weigher *w)
{
    const struct pbin_samples *in = &w->in;
    struct stretch *s = &w->share->stretch;
    size_t count = weigher_window(w);
    if (count < 2)
        return SIZE_MAX;
    size_t thread_samples = count_threads(w, count);
    if (thread_samples == SIZE_MAX || in->equal_ns != NULL ||
        (in->cpu_most >= PACKED_MAX_NS &&
         fitting_times(in->cpu_ns + w->next_thread, 1, thread_samples) < thread_samples))
        return SIZE_MAX;
    if (!fill(w, count, s))
        return SIZE_MAX;
    if (w->number == 0 && !(share_work_first_most(w->share) > 0))
        return SIZE_MAX;
    w->share->packed.varied = !are_same(w, count);
    use_times(w, thread_samples);
    return thread_samples;
}

/* Prepares the stretch with COUNT thread samples for delivery. */
static void pack(struct share_work *work, size_t count)
{
    struct packed_stretch *p = &work->packed;
    const struct stretch *s = &work->stretch;
    struct packed_words idle = {0}, others = {0};
    if (s->any_idle)
        idle = s->idle_sum;
    if (s->others > 0)
        others = stretch_sum(s->other, s->count);
    *p = (struct packed_stretch){.varied = p->varied,
                                 .last = share_work_find_last(work, count),
                                 .left = s->count,
                                 .thread_samples = count,
                                 .rest_high = s->high - idle.high - others.high,
                                 .rest_low = s->low - idle.low - others.low,
                                 .others = others.any,
                                 .others_high = others.high,
                                 .others_low = others.low,
                                 .all_high = s->high,
                                 .all_low = s->low,
                                 .idle = idle.any,
                                 .idle_high = idle.high,
                                 .idle_low = idle.low};
}

/* Settles the next stretch. Returns whether this was possible. */
static bool settle(struct weigher *w)
{
    struct share_work *work = w->share;
    size_t thread_samples = take_stretch(w);
    if (thread_samples == SIZE_MAX)
        return false;
    const uint64_t *threads = w->in.threads + w->next;
    const struct stretch_use *uses = work->packed.varied ? work->uses : NULL;
    bool busy = weigher_busy(w) != NULL || !work->stretch.in_turn; /* otherwise, it has no effect */
    if (busy && !work->undivided)
        share_work_find_sighted(work, threads, uses);
    stretch_find_others(&work->stretch, weigher_busy(w), weigher_cpus(w));
    share_work_settle(work, threads, uses);
    pack(work, thread_samples);
    return true;
}

/* ---- chunks ---- */

size_t weigher_next_packed(struct weigher *w, size_t max, struct packed_chunk *c)
{
    c->of = NULL;
    if (w->share != NULL && w->share->packed.left > 0)
        return next_of_stretch(w, c);
    w->packs = true;
    if (!weigher_ready(w))
        return 0;
    if (w->share != NULL)
        return settle(w) ? next_of_stretch(w, c) : 0;
    const struct pbin_samples *s = &w->in;
    size_t count = s->count - w->next, n = s->threads[w->next];
    if (n == 0 || n > CHUNK_THREAD_SAMPLES)
        return 0;
    max = max < most_samples(n) ? max : most_samples(n);
    count = count < max ? count : max;
    begin_chunk(w, c);
    if (s->threads_each == 0)
        count = alike(s->threads + w->next, count);
    if (s->cpu_most >= PACKED_MAX_NS)
        count = fitting_times(c->cpu_ns, n, count);
    count = weigh_fitting(w, count, c->energy);
    return end_chunk(w, count, n * count, c);
}

/* ---- shares of them ---- */

/* The energy of a sample in words; 0 if it is idle because no thread used CPU time. */
struct whole {
    uint64_t high, low;
    double per_ns;
};

static inline struct whole take_sample(struct packed_totals *t, double energy, uint64_t total)
{
    struct whole w;
    uint64_t idle = -(uint64_t)(total == 0), some = ~idle;
    packed_split(energy, &w.high, &w.low);
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

/* Computes the shares of COUNT samples with N threads each, vectorized over samples. N is a small
 * constant. */
INLINE struct packed_totals share(const uint64_t *cpu_ns, size_t n, size_t count,
                                  const double *energy, const uint64_t *seen, uint64_t *part)
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
            packed_split(left.per_ns * small_to_double(ns[j]), &high, &low);
            before += ns[j];
            uint64_t rest = -(uint64_t)(before == total); /* the last busy sample, or a later one */
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

/* Does the same for any number of threads, vectorized over the threads of a sample. */
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
            packed_split(whole.per_ns * small_to_double(ns[j]), &own_high, &own_low);
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

/* ---- shares that have been settled ---- */

typedef double four __attribute__((vector_size(32)));
typedef double four_at __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t four_words __attribute__((vector_size(32)));
typedef uint64_t four_words_at __attribute__((vector_size(32), aligned(8), may_alias));

/* The values to add, and the rows to add them to. LANES is a constant. */
struct addition {
    const uint32_t *row;
    const uint64_t *seen, *cpu_ns;
    const double *of;
    packed_sums *sums;
    size_t lanes;
};

/* The sums for thread sample K. Successive samples of a thread and the threads of a sample use
 * different lanes, so that additions to one row do not wait for each other: 0 1 3 0 2 3 1 2. */
INLINE packed_sums *sums_of(const struct addition *a, size_t k, size_t lane)
{
    return &a->sums[a->lanes * a->row[k] + (lane & (a->lanes - 1))];
}

/* Adds four thread samples starting at K, the first of them to LANE. Four vectors, each with one word
 * of all four, are transposed into vectors with all words of one. TOTAL sums all words but the
 * first. */
INLINE void add_four(const struct addition *a, size_t k, size_t lane, four_words *total)
{
    const four all = *(const four_at *)(a->of + k), rounded = all + ROUND_HIGH,
               rest = all - (rounded - ROUND_HIGH) + ROUND_LOW;
    const four_words high = (four_words)rounded - bits_of_double(ROUND_HIGH),
                     low = (four_words)rest - bits_of_double(ROUND_LOW),
                     cpu_ns = *(const four_words_at *)(a->cpu_ns + k),
                     seen = *(const four_words_at *)(a->seen + k);
    const four_words even = __builtin_shufflevector(seen, cpu_ns, 0, 4, 2, 6),
                     odd = __builtin_shufflevector(seen, cpu_ns, 1, 5, 3, 7),
                     even_energy = __builtin_shufflevector(high, low, 0, 4, 2, 6),
                     odd_energy = __builtin_shufflevector(high, low, 1, 5, 3, 7);
    *sums_of(a, k, lane) += __builtin_shufflevector(even, even_energy, 0, 1, 4, 5);
    *sums_of(a, k + 1, lane + 1) += __builtin_shufflevector(odd, odd_energy, 0, 1, 4, 5);
    *sums_of(a, k + 2, lane + 3) += __builtin_shufflevector(even, even_energy, 2, 3, 6, 7);
    *sums_of(a, k + 3, lane) += __builtin_shufflevector(odd, odd_energy, 2, 3, 6, 7);
    total[PACKED_CPU] += cpu_ns;
    total[PACKED_HIGH] += high;
    total[PACKED_LOW] += low;
}

INLINE struct packed_totals add_all(const struct addition *to, size_t count)
{
    const struct addition a = *to;
    four_words total[PACKED_WORDS] = {{0}};
    packed_sums rest = {0};
    size_t k = 0;
    for (; k + 8 <= count; k += 8) {
        add_four(&a, k, 0, total);
        add_four(&a, k + 4, 2, total);
    }
    for (; k < count; k++) {
        packed_sums part = {a.seen[k], a.cpu_ns[k], 0, 0};
        uint64_t high, low;
        packed_split(a.of[k], &high, &low);
        part[PACKED_HIGH] = high;
        part[PACKED_LOW] = low;
        *sums_of(&a, k, k) += part;
        rest += part;
    }
    for (size_t word = PACKED_CPU; word < PACKED_WORDS; word++)
        rest[word] += total[word][0] + total[word][1] + total[word][2] + total[word][3];
    return (struct packed_totals){
        .cpu_ns = rest[PACKED_CPU], .high = rest[PACKED_HIGH], .low = rest[PACKED_LOW]};
}

/* Sums are located faster if the number of lanes is constant. */
VECTORS
static struct packed_totals add_settled(const struct packed_chunk *c, const uint64_t *seen,
                                        const struct packed_rows *to)
{
    struct addition a = {to->row, seen, c->cpu_ns, c->of, to->sums, PACKED_LANES};
    if (to->lanes == PACKED_LANES)
        return add_all(&a, c->thread_samples);
    a.lanes = 1;
    return add_all(&a, c->thread_samples);
}

struct packed_totals packed_add_settled(const struct packed_chunk *c, const uint64_t *seen,
                                        const struct packed_rows *rows)
{
    return add_settled(c, seen, rows);
}
