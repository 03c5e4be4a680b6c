/* Measures as columns of a table: the combined values of rows that are shown as one row, and the
 * means and quantiles derived from them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_MEASURE_VIEW_H
#define ANALYZE_AGGREGATE_MEASURE_VIEW_H

#include "analyze/aggregate/aggregate.h"
#include "analyze/aggregate/row_values.h"
#include "formats/table/table.h"

enum { MEASURE_MAX_COLUMNS = PBIN_MAX_MEASURES + 4 };

/* The columns of the measures of an aggregate. */
struct measure_view {
    const struct aggregate *aggregate;
    struct measure_shown {
        enum { SHOW_VALUE, SHOW_MEAN, SHOW_QUANTILE } what;
        size_t measure; /* of a value */
        double share;   /* of a quantile */
        struct table_column column;
        char name[PBIN_MEASURE_NAME + 16];
    } shown[MEASURE_MAX_COLUMNS];
    size_t count;
};

/* AGGREGATE is borrowed for the life of VIEW. TAKEN are the TAKEN_COUNT other columns, whose names
 * cannot be used. */
void measure_view_init(struct measure_view *view, const struct aggregate *aggregate,
                       const struct table_column *taken, size_t taken_count);

/* The combined values of rows. */
struct measure_sums {
    struct {
        exact value;
        bool any, unknown;
    } of[PBIN_MAX_MEASURES];
    uint64_t *counts;   /* [LOG_BUCKETS] counts of the first histogram, or NULL */
    bool no_counts;     /* do not combine histograms */
    uint64_t functions; /* text number of the function of the rows + 1; 0: no row yet */
};

/* Adds row NUMBER of AGGREGATE. SUMS that are all zero have no rows; measure_sums_free releases
 * their memory. */
void measure_sums_add(struct measure_sums *sums, const struct aggregate *aggregate, size_t number);
void measure_sums_free(struct measure_sums *sums);

/* Fills CELLS, one for each column of VIEW, from the combined values SUMS. */
void measure_view_cells(const struct measure_view *view, const struct measure_sums *sums,
                        struct table_cell *cells);

/* Sets the members of VALUES that come from measures, for COUNT rows of AGGREGATE, starting at
 * FIRST. */
void row_values_measured(struct row_values *values, const struct aggregate *aggregate, size_t first,
                         size_t count);

#endif
