/* Gaps: intervals far longer than usual.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/gaps.h"

#include <stdbool.h>

/* Smallest interval of a class. */
static uint64_t class_begin(unsigned number)
{
    unsigned octave = number / GAP_STEPS, step = number % GAP_STEPS;
    return octave >= 5 ? (uint64_t)(GAP_STEPS + step) << (octave - 5) : (uint64_t)1 << octave;
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

uint64_t gaps_found(const struct gaps *gaps, uint64_t *median_ns)
{
    uint64_t before = 0, found = 0;
    unsigned i = 0;
    while (i < 64 * GAP_STEPS && before + gaps->counts[i] <= gaps->total / 2)
        before += gaps->counts[i++];
    bool last = i + 1 >= 64 * GAP_STEPS;
    *median_ns = last ? 0 : class_begin(i) + (class_begin(i + 1) - class_begin(i)) / 2;
    for (; i < 64 * GAP_STEPS; i++)
        if (class_begin(i) / GAP_TIMES > *median_ns)
            found += gaps->counts[i];
    return found;
}
