/* Sums by program counter, and their output as a profile: an aggregated pbin with a row for each
 * line of code.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_PC_SUMS_H
#define CONVERT_SYMBOLIZE_PC_SUMS_H

#include "base/exact.h"
#include "convert/symbolize/symbolizer.h"
#include "formats/pbin/pbin.h"

enum { PC_VALUES = 4 };

struct pc_sum {
    uint64_t pc, samples;
    uint64_t values[PC_VALUES]; /* of the measures */
};

/* Empty when zeroed. */
struct pc_sums {
    struct pc_sum *items; /* in the order of their first appearance */
    size_t count, capacity;
    struct numbers pcs;
};

/* Returns the sum of PC, borrowed until the next call; it is zero if PC is new. */
struct pc_sum *pc_sums_at(struct pc_sums *sums, uint64_t pc);
void pc_sums_free(struct pc_sums *sums);

/* Passes the number of samples in each of its MAP_COUNT mappings to SYMBOLIZER (symbolizer_count).
 * Returns the number of samples outside all mappings. */
uint64_t pc_sums_count_maps(const struct pc_sums *sums, size_t map_count,
                            struct symbolizer *symbolizer);

struct pc_profile {
    const char *file;      /* for messages */
    struct pbin_meta meta; /* its keys are set by pc_sums_write */
    const struct code_map *maps;
    size_t map_count;
    exact time_each; /* of a sample [2^-32 ns] */
    const char
        *outside; /* why many samples may be outside the mappings, for a warning; NULL: no reason */
    struct {
        const char *name, *unit;
    } measures[PC_VALUES]; /* name NULL: no measure */
};

/* Writes PROFILE to OUT. Returns 0, or -1 with ERR filled. */
int pc_sums_write(const struct pc_sums *sums, const struct pc_profile *profile,
                  const struct symbolizer_options *symbols, struct output *out,
                  struct reporter *reporter, struct error *err);

#endif
