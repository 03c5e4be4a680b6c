/* The rows of one profile under the names that the run sets of a comparison share.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_RUN_SET_BLOCKS_H
#define ANALYZE_COMPARE_RUN_SET_BLOCKS_H

#include "analyze/aggregate/aggregate.h"
#include "analyze/compare/match.h"

/* How rows become the same row. */
struct run_set_rules {
    struct aggregate_options aggregate;
    bool lines;   /* --match line: files count by their base names */
    bool salvage; /* read what there is of a truncated profile */
    const struct binary_map *maps;
    size_t map_count;
};

/* A row's sums in the profile that is being added. Rows that become one are added up; for the standard deviation of
 * a sum over several runs only an upper bound is known, the sum of theirs. */
struct run_set_block {
    uint64_t key[PBIN_MAX_KEYS];
    exact time, energy;
    double samples, entries, entries_most;
    double time_spread, energy_spread; /* sqrt(sum of squared distances from the mean) */
    bool entries_unknown;
};

struct run_set_blocks {
    const struct run_set_rules *rules;
    struct strings *texts;
    struct strings *tuples; /* of this profile: number - 1 is the index of the block */
    struct run_set_block *at;
    size_t count, capacity;
    size_t runs;
    struct run_set_block total;
};

/* Adds up what all rows of A have, by the keys of RULES. RULES, and TEXTS, which get the names, are borrowed until
 * run_set_blocks_free. */
void run_set_blocks_read(struct run_set_blocks *blocks, const struct run_set_rules *rules,
                         struct strings *texts, const struct aggregate *a);
void run_set_blocks_free(struct run_set_blocks *blocks);

/* How often threads entered the code of BLOCK; NaN: not known. Rows that became one: threads that went from one part to
 * another did not enter the whole. At least as many as this did: not every entry of the largest part can have come
 * from the others. */
double run_set_block_entries(const struct run_set_block *block);

#endif
