/* Samples weighed many at a time, to the same bits as one by one: energies split by CPU time, in words of 64 bits.
 *
 *   count = weigher_next_packed(&weigher, most, &chunk);
 *   ... which rows its thread samples belong to ...
 *   totals = packed_weigh(&chunk, seen, part);
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_WEIGH_PACKED_H
#define ANALYZE_ATTRIBUTE_WEIGH_PACKED_H

#include "analyze/attribute/packed_sums.h"
#include "analyze/attribute/weigh.h"

enum { CHUNK_SAMPLES = 256, CHUNK_THREAD_SAMPLES = 512 }; /* fits the first cache */

/* Samples with equally many threads. */
struct packed_chunk {
    const uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    const uint64_t *interval_ns;                /* [samples] as recorded */
    size_t samples, threads, thread_samples;    /* threads: of each sample */
    exact begin;       /* time of the sample before, since the first [2^-32 ns] */
    bool same_threads; /* in every sample, in ascending order */
    bool any_interval; /* not all of INTERVAL_NS are 0 */
    /* vectors that straddle cache lines are slow */
    _Alignas(64) double energy[CHUNK_SAMPLES]; /* [J] */
};

/* Can samples be weighed so at all? Not with corrected intervals or other models of energy. */
bool weigher_packs(const struct weigher *weigher);

/* Takes at most MAX of the samples that were added into CHUNK, as long as they fit in packed sums. Returns how many; 0:
 * the next one does not, weigher_next does it. Only when weigher_packs. */
size_t weigher_next_packed(struct weigher *weigher, size_t max, struct packed_chunk *chunk);

/* Sums over samples, in words as those of a row. */
struct packed_totals {
    uint64_t cpu_ns, high, low;
    uint64_t idle, idle_high, idle_low; /* energy while nobody used CPU time; IDLE: some is not 0 */
};

/* What CHUNK adds to the rows of its thread samples: PART[k] of thread sample k gets SEEN[k], its CPU time, and its
 * share of the energy of its sample. */
struct packed_totals packed_weigh(const struct packed_chunk *chunk, const uint64_t *seen,
                                  packed_sums *part);

#endif
