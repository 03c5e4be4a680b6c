/* Shares of energy by CPU time, as words of 64 bits to add.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/share.h"

#include "base/vectors.h"

/* The sum of these numbers and a far smaller one has 1 as its last bit in units of 2^-36 and 2^-80. */
#define ROUND_HIGH 0x1.8p16
#define ROUND_LOW  0x1.8p-28

/* exact_of_double of less than QUICK_J, in two words. */
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

/* A sample's energy in words; what nobody is there for, as nobody used CPU time in TOTAL, is idle. */
struct whole {
    uint64_t high, low;
    double per_ns;
};

static inline struct whole take_sample(struct share_totals *t, double energy, uint64_t total)
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
    part[SUM_SEEN] = seen;
    part[SUM_CPU] = cpu_ns;
    part[SUM_HIGH] = high;
    part[SUM_LOW] = low;
}

/* Shares of COUNT samples with N threads each, where vectors go over samples: N is a small constant. */
static inline __attribute__((always_inline)) struct share_totals
share(const uint64_t *cpu_ns, size_t n, size_t count, const double *energy, const uint64_t *seen,
      uint64_t *part)
{
    struct share_totals t = {0};
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
                -(uint64_t)(before == total); /* the last, or behind it, where 0 is left */
            high = (high & ~rest) | (left.high & rest);
            low = (low & ~rest) | (left.low & rest);
            left.high -= high;
            left.low -= low;
            put_part(part + SUM_WORDS * (n * i + j), seen[n * i + j], ns[j], high, low);
        }
    }
    return t;
}

VECTORS
static struct share_totals share_in_one(const uint64_t *cpu_ns, size_t count, const double *energy,
                                        const uint64_t *seen, uint64_t *part)
{
    return share(cpu_ns, 1, count, energy, seen, part);
}

VECTORS
static struct share_totals share_in_two(const uint64_t *cpu_ns, size_t count, const double *energy,
                                        const uint64_t *seen, uint64_t *part)
{
    return share(cpu_ns, 2, count, energy, seen, part);
}

/* The same of any number of threads, where vectors go over the threads of a sample. */
VECTORS
static struct share_totals share_in_many(const uint64_t *ns, size_t n, size_t count,
                                         const double *energy, const uint64_t *seen, uint64_t *part)
{
    struct share_totals t = {0};
    for (size_t i = 0; i < count; i++, ns += n, seen += n, part += SUM_WORDS * n) {
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
            put_part(part + SUM_WORDS * j, seen[j], ns[j], own_high, own_low);
        }
        while (last > 0 && ns[last] == 0)
            last--;
        part[SUM_WORDS * last + SUM_HIGH] += whole.high - high;
        part[SUM_WORDS * last + SUM_LOW] += whole.low - low;
    }
    return t;
}

struct share_totals share_energy(const uint64_t *cpu_ns, size_t threads, size_t samples,
                                 const double *energy, const uint64_t *seen, quick_sums *part)
{
    uint64_t *words = (uint64_t *)part;
    if (threads == 1)
        return share_in_one(cpu_ns, samples, energy, seen, words);
    if (threads == 2)
        return share_in_two(cpu_ns, samples, energy, seen, words);
    return share_in_many(cpu_ns, threads, samples, energy, seen, words);
}
