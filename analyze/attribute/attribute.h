/* Attribution: the time and energy of samples go to the rows of their threads.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ATTRIBUTE_H
#define ANALYZE_ATTRIBUTE_ATTRIBUTE_H

#include "analyze/attribute/gaps.h"
#include "analyze/attribute/keys.h"
#include "analyze/attribute/weigh.h"

struct attribution_options {
    struct pbin_keys keys;             /* at least one */
    const struct selection *selection; /* borrowed; NULL: everything counts */
    struct weigh_options weigh;
};

/* What is known and counted while one full profile is read. */
struct attribution {
    const struct pbin_meta *meta;
    const struct selection *selection;
    struct weigher weigher;
    struct rowset *rows;
    struct key_map keys;
    uint32_t *first_row, *last_row; /* by thread: the rows it was seen in first and last */
    size_t thread_count, first_row_capacity, last_row_capacity;
    uint8_t *marker; /* by location: 1 it is in the marker function, 2 it is not, 0 not asked yet */
    uint8_t *in_marker; /* by thread: it was there when it was seen last */
    size_t marker_count, marker_capacity, in_marker_capacity;
    uint64_t phase;      /* entries into the marker function so far */
    exact start, end;    /* of the window that is selected [2^-32 ns] */
    exact time, energy;  /* of all rows */
    exact wall;          /* sum of the intervals that count [2^-32 ns] */
    uint64_t samples;    /* that count */
    uint64_t bad_values; /* not finite, or beyond what can be summed */
    uint64_t crowded;    /* samples with several threads and no CPU time */
    struct gaps gaps;
};

/* All arguments are borrowed until attribution_free. */
void attribution_start(struct attribution *attribution, const struct pbin_meta *meta,
                       const struct quantity *quantity, const struct attribution_options *options,
                       struct rowset *rows);
void attribution_add(struct attribution *attribution, const struct pbin_samples *samples,
                     const struct pbin_definitions *all);

/* May samples be attributed in parts that are joined afterwards? Not where it matters what was before them. */
bool attribution_divides(const struct attribution *attribution);

/* ATTRIBUTION goes on with the samples that LATER has, in rows of its own; both are at their end. */
void attribution_join(struct attribution *attribution, const struct attribution *later);

/* All samples have been added, ALL is what they refer to: sums are complete. */
void attribution_end(struct attribution *attribution, const struct pbin_definitions *all);
void attribution_free(struct attribution *attribution);

#endif
