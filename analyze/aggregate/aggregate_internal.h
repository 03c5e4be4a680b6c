/* Internal to analyze/aggregate/aggregate*.c: the state of an aggregate.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_AGGREGATE_INTERNAL_H
#define ANALYZE_AGGREGATE_AGGREGATE_INTERNAL_H

#include "analyze/aggregate/aggregate.h"

struct aggregate {
    struct aggregate_options options;
    struct quantity quantity;
    struct pbin_meta meta;
    bool any;        /* a profile has been read */
    char *first;     /* file of the first profile, for errors when aggregates are merged */
    uint64_t inputs; /* profiles so far */
    struct rowset rows;
    struct pbin_run *runs;
    size_t run_count, run_capacity;
    struct pbin_run shards; /* --mode add: the sums of the one run */
    struct pbin_arc *arcs;
    size_t arc_count, arc_capacity;
    struct strings *arc_keys;
    struct measures measures;
    exact unattributed;    /* measured in full profiles, but in no row [2^-80 J] */
    double window_ns;      /* time between updates of the sensor, times WINDOW_SAMPLES */
    double window_samples; /* in full profiles whose energy was divided by windows */
    double end_variance;   /* see aggregate_end_variance */
    struct fit *fit;       /* NULL: not requested */
    struct fitted *fitted; /* [rows] after aggregate_fit */
};

/* Keeps the metadata that all profiles have in common. NAME is the file of META. Returns 0, or -1
 * with ERR filled if quantities differ. */
int aggregate_take_meta(struct aggregate *aggregate, const struct pbin_meta *meta, const char *name,
                        struct error *err);

/* Adds a complete run, or a shard of one. The name of RUN is the number of a text of the aggregate. */
void aggregate_take_run(struct aggregate *aggregate, const struct pbin_run *run);

/* Fills ERR for sums that overflowed. Returns -1. */
int aggregate_too_large(const char *name, struct error *err);

/* Adds an arc; its texts are numbers in TEXTS. */
void aggregate_take_arc(struct aggregate *aggregate, const struct pbin_arc *arc,
                        const struct strings *texts);

/* The row numbers after rowset_sort, indexed by the numbers before it. The caller frees them. */
uint32_t *aggregate_positions(const struct aggregate *aggregate);

/* Returns whether the filters select rows with KEY in a profile of the program TARGET (NULL:
 * unknown). */
bool aggregate_selects(const struct aggregate *aggregate, const uint64_t *key, const char *target);

#endif
