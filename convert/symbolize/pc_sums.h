/* Sums by program counter, and their profile: an aggregated pbin with a row for each line of code.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_PC_SUMS_H
#define CONVERT_SYMBOLIZE_PC_SUMS_H

#include "base/exact.h"
#include "convert/symbolize/symbolizer.h"
#include "formats/pbin/pbin.h"

enum { PC_VALUES = 4 };

struct pc_sum {
    uint64_t pc, samples;
    uint64_t values[PC_VALUES]; /* of measures */
};

/* Empty when zeroed. */
struct pc_sums {
    struct pc_sum *items; /* in the order of their first appearance */
    size_t count, capacity;
    struct numbers pcs;
};

/* The sum of PC, borrowed until the next call. */
struct pc_sum *pc_sums_at(struct pc_sums *sums, uint64_t pc);
void pc_sums_free(struct pc_sums *sums);

/* Passes to SYMBOLIZER how many samples are in each of its MAP_COUNT mappings (symbolizer_count). Returns how many
 * are in none. */
uint64_t pc_sums_count_maps(const struct pc_sums *sums, size_t map_count,
                            struct symbolizer *symbolizer);

struct pc_profile {
    const char *file;      /* for messages */
    struct pbin_meta meta; /* its keys are set by pc_sums_write */
    const struct code_map *maps;
    size_t map_count;
    exact time_each; /* of a sample [2^-32 ns] */
    const char
        *outside; /* why many samples may be outside the mappings, for a warning; NULL: none */
    struct {
        const char *name, *unit;
    } measures[PC_VALUES]; /* name NULL: there is none */
};

/* Writes PROFILE to OUT. Returns 0, or -1 with ERR filled. */
int pc_sums_write(const struct pc_sums *sums, const struct pc_profile *profile,
                  const struct symbolizer_options *symbols, struct output *out,
                  struct reporter *reporter, struct error *err);

#endif
