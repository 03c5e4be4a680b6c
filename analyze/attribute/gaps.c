/* Gaps: intervals that are much longer than most.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/gaps.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/vectors.h"

/* The smallest interval in a class. */
static uint64_t class_begin(unsigned number)
{
    unsigned octave = number / GAP_STEPS, step = number % GAP_STEPS;
    return octave >= 5 ? (uint64_t)(GAP_STEPS + step) << (octave - 5) : (uint64_t)1 << octave;
}

/* From least to most. */
struct range {
    uint64_t least, most;
};

VECTORS
static struct range range_of(const uint64_t *values, size_t count)
{
    struct range r = {UINT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        r.least = values[i] < r.least ? values[i] : r.least;
        r.most = values[i] > r.most ? values[i] : r.most;
    }
    return r;
}

/* The exponent and the first bits of the fraction of a double determine octave and step, for
 * intervals from 32 to 2^52 ns. */
enum { CLASS_SHIFT = 52 - 5, CLASS_BIAS = 1023 * GAP_STEPS, PART = 64 };

VECTORS
static void find_classes(const uint64_t *restrict interval_ns, size_t count,
                         uint32_t *restrict class)
{
    for (size_t i = 0; i < count; i++) {
        double ns = double_of_bits(interval_ns[i] | UINT64_C(0x433) << 52) - 0x1p52;
        class[i] = (uint32_t)(bits_of_double(ns) >> CLASS_SHIFT) - CLASS_BIAS;
    }
}

static void count_classes(struct gaps *gaps, const uint64_t *interval_ns, size_t count)
{
    uint32_t class[PART];
    for (size_t i = 0, size; i < count; i += size) {
        size = count - i < PART ? count - i : PART;
        find_classes(interval_ns + i, size, class);
        for (size_t k = 0; k < size; k++)
            gaps->counts[class[k]]++;
    }
    gaps->total += count;
}

enum { FEW = 8, FEWER = 3 /* classes of regular intervals */, LANES = 4 };

/* Does the same for at most MOST classes (a constant), starting at FIRST, without a table look-up for
 * each interval. */
INLINE void count_most(struct gaps *gaps, const uint64_t *interval_ns, size_t count, unsigned first,
                       unsigned most)
{
    typedef int64_t lanes __attribute__((vector_size(LANES * 8)));
    lanes below[FEW - 1] = {{0}}, limit[FEW - 1];
    uint64_t before = 0;
    size_t i = 0;
    for (unsigned c = 0; c < most - 1; c++)
        limit[c] = (int64_t)class_begin(first + c + 1) - (lanes){0};
    for (; i + LANES <= count; i += LANES) {
        lanes ns;
        memcpy(&ns, interval_ns + i, sizeof ns);
        for (unsigned c = 0; c < most - 1; c++)
            below[c] -= ns < limit[c];
    }
    for (; i < count; i++)
        for (unsigned c = 0; c < most - 1; c++)
            below[c][0] += (int64_t)interval_ns[i] < limit[c][0];
    for (unsigned c = 0; c < most - 1; c++) {
        uint64_t sum = (uint64_t)(below[c][0] + below[c][1] + below[c][2] + below[c][3]);
        gaps->counts[first + c] += sum - before;
        before = sum;
    }
    gaps->counts[first + most - 1] += count - before;
    gaps->total += count;
}

VECTORS
static void count_few(struct gaps *gaps, const uint64_t *interval_ns, size_t count, unsigned first,
                      unsigned last)
{
    if (last - first < FEWER)
        count_most(gaps, interval_ns, count, first, FEWER);
    else
        count_most(gaps, interval_ns, count, first, FEW);
}

static void count_any(struct gaps *gaps, const uint64_t *interval_ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gaps_count(gaps, interval_ns[i], 0);
}

size_t gaps_count_all(struct gaps *gaps, const uint64_t *interval_ns, size_t count)
{
    struct range r = range_of(interval_ns, count);
    size_t longest = 0;
    if (count == 0 || r.most == 0)
        return count;
    bool is_longest = r.most > gaps->longest_ns;
    uint32_t first, last;
    find_classes(&r.least, 1, &first);
    find_classes(&r.most, 1, &last);
    if (r.least < GAP_STEPS || r.most >= UINT64_C(1) << 52)
        count_any(gaps, interval_ns, count);
    else if (last - first < FEW)
        count_few(gaps, interval_ns, count, first, last);
    else
        count_classes(gaps, interval_ns, count);
    if (!is_longest)
        return count;
    while (interval_ns[longest] < r.most)
        longest++;
    gaps->longest_ns = r.most;
    return longest;
}

void gaps_join(struct gaps *gaps, const struct gaps *later, exact at)
{
    for (unsigned i = 0; i < 64 * GAP_STEPS; i++)
        gaps->counts[i] += later->counts[i];
    gaps->total += later->total;
    if (later->longest_ns > gaps->longest_ns) {
        gaps->longest_ns = later->longest_ns;
        gaps->longest_at = at + later->longest_at;
    }
}

uint64_t gaps_found(const struct gaps *gaps, uint64_t *median_ns, double *part)
{
    uint64_t before = 0, found = 0;
    unsigned i = 0;
    double time = 0, long_time = 0;
    while (i < 64 * GAP_STEPS && before + gaps->counts[i] <= gaps->total / 2)
        before += gaps->counts[i++];
    bool last = i + 1 >= 64 * GAP_STEPS;
    *median_ns = last ? 0 : class_begin(i) + (class_begin(i + 1) - class_begin(i)) / 2;
    for (i = 0; i < 64 * GAP_STEPS; i++) {
        bool is_long = class_begin(i) / GAP_TIMES > *median_ns;
        double in_class = (double)gaps->counts[i] * (double)class_begin(i);
        time += in_class;
        long_time += is_long ? in_class : 0;
        found += is_long ? gaps->counts[i] : 0;
    }
    *part = time > 0 ? long_time / time : 0;
    return found;
}
