/* Shares of energy by CPU time, as words of 64 bits to add.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_SHARE_H
#define ANALYZE_ATTRIBUTE_SHARE_H

#include "analyze/attribute/rowset.h"

/* An energy of less than this [J] may be split in words; at a kilohertz that is 128 kW. */
#define QUICK_J 0x1p7
/* And threads that used less CPU time than this [ns] in a sample may be summed up in words. */
#define QUICK_NS (UINT64_C(1) << 36)

/* Sums over samples, in words as those of a row. */
struct share_totals {
    uint64_t cpu_ns, high, low;
    uint64_t idle, idle_high, idle_low; /* energy while nobody used CPU time; IDLE: some is not 0 */
};

/* What SAMPLES samples of THREADS threads each (1 to 2^15) add to the rows of their entries: PART[k] of entry k gets
 * SEEN[k], its CPU time, and its share of ENERGY [J] of its sample. All are of less than QUICK_J and QUICK_NS. What
 * rounding leaves of a sample goes to the last thread that used CPU time, so that the sum stays exact. */
struct share_totals share_energy(const uint64_t *cpu_ns, size_t threads, size_t samples,
                                 const double *energy, const uint64_t *seen, quick_sums *part);

#endif
