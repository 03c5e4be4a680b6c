/* The rows of a profile, with the keys that all run sets of a comparison share.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_RUN_SET_BLOCKS_H
#define ANALYZE_COMPARE_RUN_SET_BLOCKS_H

#include <math.h>

#include "analyze/aggregate/aggregate.h"
#include "analyze/compare/match.h"

/* Rules for matching rows. */
struct run_set_rules {
    struct aggregate_options aggregate;
    bool lines;                /* --match line: only base names of files count */
    struct pbin_choice choice; /* choice for reading each profile */
    const struct binary_map *maps;
    size_t map_count;
};

/* Data of profiles of calls, as sums over runs. NaN: unknown. */
struct run_set_calls {
    double calls;
    double inclusive;       /* [s] */
    double returned, total; /* calls that have returned, and their time [s] */
};

/* Adds FROM to TO. Values of both may be unknown. */
void run_set_calls_add(struct run_set_calls *to, const struct run_set_calls *from);
#define RUN_SET_NO_CALLS ((struct run_set_calls){NAN, NAN, NAN, NAN})

/* The sums of a row in the profile being added. Rows that become one are summed. For their standard
 * deviation over several runs, only an upper bound is known: the sum of the standard deviations. */
struct run_set_block {
    uint64_t key[PBIN_MAX_KEYS];
    exact time, energy;
    double samples, entries, entries_most;
    double time_spread, energy_spread; /* sqrt(sum of squared distances from the mean) */
    bool entries_unknown;
    struct run_set_calls calls;
    double calls_spread, inclusive_spread;
};

struct run_set_blocks {
    const struct run_set_rules *rules;
    struct strings *texts;
    struct strings *tuples; /* of this profile; tuple N belongs to block N - 1 */
    struct run_set_block *at;
    size_t count, capacity;
    size_t runs;
    struct run_set_block total;
    bool excludes; /* filters left out a part, so that sums of runs are not those of rows */
};

/* Sums all rows of A by the keys of RULES. Names are added to TEXTS. RULES and TEXTS are borrowed
 * until run_set_blocks_free. */
void run_set_blocks_read(struct run_set_blocks *blocks, const struct run_set_rules *rules,
                         struct strings *texts, const struct aggregate *a);
void run_set_blocks_free(struct run_set_blocks *blocks);

/* The number of times that threads entered the code of BLOCK, or the number of calls in profiles of
 * calls; NaN if unknown. For joined rows it is a lower bound, because a thread that moved from one
 * part to another did not enter the whole: the entries of the largest part that cannot have come
 * from other parts. */
double run_set_block_entries(const struct run_set_block *block);

#endif
