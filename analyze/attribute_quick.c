/* Attribution of the usual samples: by CPU time, in 64 bits as far as that is exact.
 *
 * Samples go through a chunk of arrays, one simple loop per step:
 *   energies -> totals and shares -> exact shares -> what rounding left -> rows -> sums
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute_inside.h"

/* Shares become exact in vectors, which the compiler chooses at start-up where it can. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

enum { SAMPLES = 256, ENTRIES = 4 * SAMPLES };

struct chunk {
    struct attribution *attribution;
    const struct pbin_definitions *all;
    struct moment at; /* threads of its first sample */
    const uint64_t *threads;
    size_t samples, entries;
    double energy[SAMPLES];
    double share[SAMPLES + ENTRIES]; /* the energies again, then the shares of the entries [J] */
    uint64_t low[SAMPLES + ENTRIES], high[SAMPLES + ENTRIES]; /* words of the same as exact */
    uint32_t row[ENTRIES];
};

static inline exact exact_at(const struct chunk *c, size_t i)
{
    return (exact)((unsigned __int128)c->high[i] << 64 | c->low[i]);
}

static inline void put_exact(struct chunk *c, size_t i, exact value)
{
    c->low[i] = (uint64_t)value;
    c->high[i] = (uint64_t)((unsigned __int128)value >> 64);
}

/* exact_of_double of COUNT values, if they are 0 or at least 2^-28 J. Returns whether they are. */
VECTORS
static bool make_exact(const double *values, size_t count, uint64_t *low, uint64_t *high)
{
    uint64_t other = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = bits_of_double(values[i]), sign = -(bits >> 63), some = -(uint64_t)(bits << 1 != 0);
        uint64_t mantissa = ((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52) & some;
        uint64_t up = ((bits >> 52 & 0x7ff) - (1075 - ENERGY_SHIFT)) & some;
        uint64_t l = mantissa << (up & 63), h = (mantissa >> 1) >> (63 - (up & 63));
        other |= up >> 6;
        low[i] = (l ^ sign) - sign;
        high[i] = (h ^ sign) + (sign & (uint64_t)(l == 0));
    }
    return other == 0;
}

/* Energies of the next COUNT samples; returns how many of them can be summed. */
static size_t weigh_usual(const struct attribution *a, const struct pbin_samples *s, size_t first,
                          size_t count, double *energy)
{
    double scale = a->quantity->scale, seconds = a->even_seconds;
    bool times = a->meta->times, measures = a->quantity->name != NULL;
    size_t usual = count;
    for (size_t i = count; i-- > 0;) {
        double power = measures ? s->value[first + i] * scale : 0;
        energy[i] = power * (times ? (double)s->interval_ns[first + i] / 1e9 : seconds);
        usual = is_summable(power) && is_summable(energy[i]) ? usual : i;
    }
    return usual;
}

/* An integer below 2^52, in a way that vectors have too. */
static inline double small_to_double(uint64_t value)
{
    return double_of_bits(value | UINT64_C(0x433) << 52) - 0x1p52;
}

/* Shares of COUNT samples of two threads each. Returns the sum of their CPU time, 0 when one is not of the usual
 * kind. */
VECTORS
static uint64_t share_in_two(const uint64_t *cpu_ns, size_t count, const double *energy, double *share)
{
    uint64_t other = 0, all_ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t one = cpu_ns[2 * i], two = cpu_ns[2 * i + 1], total = one + two;
        double per_ns = energy[i] / small_to_double(total);
        other |= (one | two) >= 2 * QUICK_NS || total - 1 >= QUICK_NS;
        all_ns += total;
        share[2 * i] = per_ns * small_to_double(one);
        share[2 * i + 1] = per_ns * small_to_double(two);
    }
    return other ? 0 : all_ns;
}

static bool all_have_two(const uint64_t *threads, size_t count)
{
    uint64_t other = 0;
    for (size_t i = 0; i < count; i++)
        other |= threads[i] ^ 2;
    return other == 0;
}

/* Shares of the next COUNT samples by CPU time, as far as they are of the usual kind. Sums of CPU time cannot wrap
 * before they are looked at: a chunk is small. */
static void take_shares(struct chunk *c, size_t count)
{
    const uint64_t *cpu_ns = c->at.cpu_ns;
    double *share = c->share + SAMPLES;
    uint64_t all_ns = 0;
    if (all_have_two(c->threads, count))
        all_ns = share_in_two(cpu_ns, count, c->energy, share);
    if (all_ns > 0) {
        c->samples = count;
        c->entries = 2 * count;
    }
    for (; c->samples < count; c->samples++) {
        size_t threads = c->threads[c->samples];
        uint64_t total = 0, any = 0;
        if (threads > ENTRIES - c->entries)
            break;
        for (size_t j = 0; j < threads; j++) {
            total += cpu_ns[j];
            any |= cpu_ns[j];
        }
        if (total - 1 >= QUICK_NS || any >= 2 * QUICK_NS)
            break;
        double per_ns = c->energy[c->samples] / (double)(int64_t)total;
        for (size_t j = 0; j < threads; j++)
            share[j] = per_ns * (double)(int64_t)cpu_ns[j];
        c->entries += threads;
        share += threads;
        cpu_ns += threads;
        all_ns += total;
    }
    c->attribution->cpu_ns += all_ns;
}

static void share_exactly(struct chunk *c)
{
    double *share = c->share + SAMPLES - c->samples; /* energies right before the shares: one loop for both */
    size_t first = SAMPLES - c->samples, count = c->samples + c->entries;
    for (size_t i = 0; i < c->samples; i++)
        share[i] = c->energy[i];
    if (!make_exact(share, count, c->low + first, c->high + first))
        for (size_t i = 0; i < count; i++)
            put_exact(c, first + i, exact_of_double(share[i], ENERGY_SHIFT));
}

/* What rounding leaves goes to the last thread that used CPU time, so that the sum stays exact. */
static void share_rest(struct chunk *c)
{
    const uint64_t *cpu_ns = c->at.cpu_ns;
    exact sum = 0;
    for (size_t i = 0, k = SAMPLES; i < c->samples; i++) {
        size_t threads = c->threads[i], last = threads - 1;
        exact left = exact_at(c, SAMPLES - c->samples + i);
        sum += left; /* SAMPLES of less than 2^(126 - ROOM) */
        while (cpu_ns[last] == 0)
            last--;
        for (size_t j = 0; j < last; j++)
            left -= exact_at(c, k + j);
        put_exact(c, k + last, left);
        cpu_ns += threads;
        k += threads;
    }
    struct attribution *a = c->attribution;
    a->rows->overflow |= __builtin_add_overflow(a->energy, sum, &a->energy);
}

/* Rows of COUNT entries, if they depend on locations below KNOWN alone and have all been found before. */
static bool rows_are_known(const uint32_t *row_of, size_t known, const uint64_t *location, size_t count, uint32_t *row)
{
    bool all = true;
    for (size_t k = 0; k < count; k++) {
        all &= location[k] < known;
        row[k] = location[k] < known ? row_of[location[k]] : NO_ROW;
        all &= row[k] != NO_ROW;
    }
    return all;
}

static void find_rows(struct chunk *c)
{
    struct key_map *keys = &c->attribution->keys;
    const uint64_t *thread = c->at.thread, *location = c->at.location;
    if (!keys->by_thread && rows_are_known(keys->row, keys->count, location, c->entries, c->row))
        return;
    for (size_t k = 0; k < c->entries; k++)
        c->row[k] = key_map_row(keys, c->all, thread[k], location[k]);
}

static void charge_rows(struct chunk *c)
{
    struct attribution *a = c->attribution;
    struct current *rows = a->rows->current;
    const uint64_t *thread = c->at.thread, *cpu_ns = c->at.cpu_ns;
    uint32_t *last_row = a->last_row;
    bool overflow = false;
    for (size_t k = 0; k < c->entries; k++) {
        uint32_t row = c->row[k];
        struct current *current = &rows[row];
        current->hits++;
        current->entries += last_row[thread[k]] != row;
        last_row[thread[k]] = row;
        current->cpu_ns += cpu_ns[k];
        overflow |= __builtin_add_overflow(current->energy, exact_at(c, SAMPLES + k), &current->energy);
    }
    a->rows->overflow |= overflow;
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
        gaps_count(&a->gaps, interval_ns, (uint64_t)(a->at >> TIME_SHIFT));
    }
}

size_t attribute_usual(struct attribution *a, const struct pbin_definitions *all,
                       const struct pbin_samples *s, size_t first, size_t most, struct moment *m)
{
    struct chunk c;
    size_t left = s->count - first, count = most < SAMPLES ? most : SAMPLES;
    c.attribution = a;
    c.all = all;
    c.at = *m;
    c.threads = s->threads + first;
    c.samples = c.entries = 0;
    take_shares(&c, weigh_usual(a, s, first, left < count ? left : count, c.energy));
    share_exactly(&c);
    share_rest(&c);
    find_rows(&c);
    charge_rows(&c);
    pass_time(&c, s, first);
    m->thread += c.entries;
    m->location += c.entries;
    m->cpu_ns += c.entries;
    return c.samples;
}
