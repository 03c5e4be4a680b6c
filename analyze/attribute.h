/* Attribution: how a sample's time and energy go to the rows of its threads.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_H
#define ANALYZE_ATTRIBUTE_H

#include "analyze/aggregate.h"
#include "analyze/keys.h"

/* What is known and counted while one full profile is read. */
struct attribution {
    const struct pbin_meta *meta;
    const struct quantity *quantity;
    enum energy_model model;
    struct rowset *rows;
    struct key_map keys;
    uint32_t *last_row; /* by thread: the row it was seen in last */
    size_t thread_count, thread_capacity;
    uint32_t idle_row;
    exact even_time;     /* interval of a profile without times [2^-32 ns] */
    double even_seconds; /* the same [s] */
    exact time, energy;  /* of all rows */
    uint64_t wall_ns;    /* sum of the intervals */
    uint64_t samples;
    uint64_t bad_values; /* not finite, or beyond what can be summed */
    uint64_t crowded;    /* samples with several threads and no CPU time */
};

void attribution_start(struct attribution *attribution, const struct pbin_meta *meta,
                       const struct quantity *quantity, const struct aggregate_options *options,
                       struct rowset *rows);
void attribution_add(struct attribution *attribution, const struct pbin_samples *samples,
                     const struct pbin_definitions *all);
void attribution_free(struct attribution *attribution);

#endif
