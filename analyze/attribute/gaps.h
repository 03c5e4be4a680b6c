/* Gaps: intervals that are much longer than most, for example because the sampler stalled or a
 * laptop was suspended.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_GAPS_H
#define ANALYZE_ATTRIBUTE_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/exact.h"

enum { GAP_TIMES = 20, GAP_STEPS = 32 /* classes per doubling, 2 % wide */ };

/* A histogram of the logarithms of intervals, which needs one pass and a fixed amount of memory.
 * All zero: empty. */
struct gaps {
    uint64_t counts[64 * GAP_STEPS];
    uint64_t total;
    uint64_t longest_ns;
    exact longest_at; /* end of the longest, since the first sample [2^-32 ns] */
};

/* Counts INTERVAL_NS, which ended at AT [2^-32 ns since the first sample]. 0 is not counted. */
static inline void gaps_count(struct gaps *gaps, uint64_t interval_ns, exact at)
{
    if (interval_ns == 0)
        return;
    unsigned octave = 63 - (unsigned)__builtin_clzll(interval_ns);
    unsigned step = octave >= 5 ? (unsigned)(interval_ns >> (octave - 5)) & (GAP_STEPS - 1) : 0;
    gaps->counts[octave * GAP_STEPS + step]++;
    gaps->total++;
    if (interval_ns > gaps->longest_ns) {
        gaps->longest_ns = interval_ns;
        gaps->longest_at = at;
    }
}

/* Counts COUNT intervals. If one of them is longer than all before it, returns the index of the
 * longest, and the caller must set LONGEST_AT; otherwise returns COUNT. */
size_t gaps_count_all(struct gaps *gaps, const uint64_t *interval_ns, size_t count);

/* Adds the counts of LATER, whose times start at AT [2^-32 ns since the first sample]. */
void gaps_join(struct gaps *gaps, const struct gaps *later, exact at);

/* Returns the number of intervals that are longer than GAP_TIMES times the median, with the
 * precision of a class. Sets *MEDIAN_NS to the middle of the class of the median [ns], which
 * differs from the median by at most 1.6 %, and *PART to the fraction of the time in these
 * intervals, to within 3 %. */
uint64_t gaps_found(const struct gaps *gaps, uint64_t *median_ns, double *part);

#endif
