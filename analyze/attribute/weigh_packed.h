/* Weighs many samples at a time: divides energies by CPU time, in 64-bit words. The results are
 * bit-identical to those of weighing samples one by one.
 *
 *   count = weigher_next_packed(&weigher, most, &chunk);
 *   ... find the rows of its thread samples ...
 *   totals = packed_weigh(&chunk, seen, part);          or packed_add_settled, if it is settled
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_WEIGH_PACKED_H
#define ANALYZE_ATTRIBUTE_WEIGH_PACKED_H

#include "analyze/attribute/packed_sums.h"
#include "analyze/attribute/weigh.h"

enum { CHUNK_SAMPLES = 256, CHUNK_THREAD_SAMPLES = 512 }; /* fits in the level-1 cache */

/* Consecutive samples. */
struct packed_chunk {
    const uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    const uint64_t *interval_ns;                /* [samples], as recorded */
    size_t samples, threads, thread_samples;    /* threads: per sample; 0 if their number varies */
    exact begin;       /* time of the sample before, since the start [2^-32 ns] */
    bool same_threads; /* all samples have the same threads, in ascending order */
    bool any_interval; /* not all INTERVAL_NS are 0 */
    /* vectors that straddle cache lines are slow */
    _Alignas(64) double energy[CHUNK_SAMPLES]; /* [J] */
    const double *of; /* energy of thread samples if already settled, otherwise NULL */
};

/* Returns whether samples can be packed; not with corrected intervals or other energy models. */
bool weigher_packs(const struct weigher *weigher);

/* Moves at most MAX of the added samples to CHUNK, up to the first that does not fit in packed
 * sums. Returns their number. If it is 0, the next sample does not fit: call weigher_next. Requires
 * weigher_packs. */
size_t weigher_next_packed(struct weigher *weigher, size_t max, struct packed_chunk *chunk);

/* Sums over samples, in the same words as the sums of a row. */
struct packed_totals {
    uint64_t cpu_ns, high, low;
    uint64_t idle, idle_high, idle_low; /* energy while no thread used CPU time; IDLE: not 0 */
};

/* Computes the values that CHUNK, which is not settled, adds to the rows of its thread samples:
 * sets PART[k] to SEEN[k], the CPU time, and the share of the energy of its sample, for each thread
 * sample k. */
struct packed_totals packed_weigh(const struct packed_chunk *chunk, const uint64_t *seen,
                                  packed_sums *part);

/* The rows of thread samples. Each row has LANES sums (PACKED_LANES or 1), and samples can be added
 * to any of them. */
struct packed_rows {
    packed_sums *sums;
    size_t lanes;
    const uint32_t *row; /* [thread samples] */
};

/* Adds a settled CHUNK to the rows of its thread samples; SEEN: see packed_weigh. There must be
 * room for these thread samples (rowset_packed_room). */
struct packed_totals packed_add_settled(const struct packed_chunk *chunk, const uint64_t *seen,
                                        const struct packed_rows *rows);

#endif
