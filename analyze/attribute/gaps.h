/* Gaps: intervals that are much longer than most, for example because the sampler stalled or a laptop was suspended.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_GAPS_H
#define ANALYZE_ATTRIBUTE_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/exact.h"

enum { GAP_TIMES = 20, GAP_STEPS = 32 /* classes per doubling: 2 % wide */ };

/* A histogram of the logarithms of intervals: bounded memory, one pass. All zero: empty. */
struct gaps {
    uint64_t counts[64 * GAP_STEPS];
    uint64_t total;
    uint64_t longest_ns;
    exact longest_at; /* its end, since the first sample [2^-32 ns] */
};

/* Counts INTERVAL_NS, which ended at AT [2^-32 ns since the first sample]; 0 is not counted. */
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

/* Counts COUNT intervals at a time. Returns the index of the longest if it is the longest so far, and the caller
 * sets LONGEST_AT; otherwise COUNT. */
size_t gaps_count_all(struct gaps *gaps, const uint64_t *interval_ns, size_t count);

/* Adds the counts of LATER, whose times begin at AT [2^-32 ns since the first sample]. */
void gaps_join(struct gaps *gaps, const struct gaps *later, exact at);

/* Returns the number of intervals longer than GAP_TIMES times the median, with the precision of a class. Sets
 * *MEDIAN_NS [ns] to the middle of its class, which differs from the median by at most 1.6 %, and *PART to the fraction of the
 * time that these intervals take, to 3 %. */
uint64_t gaps_found(const struct gaps *gaps, uint64_t *median_ns, double *part);

#endif
