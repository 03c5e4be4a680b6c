/* Internal to analyze/compare/report_compare*.c: the table of a comparison.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_REPORT_COMPARE_INTERNAL_H
#define ANALYZE_COMPARE_REPORT_COMPARE_INTERNAL_H

#include <math.h>

#include "analyze/compare/report_compare.h"

/* The columns of each other run set, in this order. */
enum {
    OF_VALUE,
    OF_DIFFERENCE,
    OF_RATIO,
    OF_ERROR,
    OF_P,
    OF_SIGNIFICANT,
    OF_VERDICT,
    OF_LINE,
    OF_ALL
};

/* The table being written. */
struct compare_view {
    const struct compare *compare;
    const struct compare_report *report;
    struct significance *results; /* from compare_significance */
    double *weight_sum;           /* [sets]: sum over all rows; weights are shares of it */
    struct table_column *columns;
    size_t column_count;
    struct table_fact *facts;
    size_t fact_count;
    char **texts; /* of columns and facts; owned */
    size_t text_count, text_capacity;
    struct table_cell *cells; /* of the row being shown */
};

static inline bool has_column(const struct compare_view *v, int which)
{
    return (which != OF_ERROR || v->report->has_error) &&
           (which != OF_LINE || v->compare->options.rules.lines);
}

static inline const struct run_set_row *pick(const struct compare_view *v, size_t row, size_t set)
{
    return row < v->compare->count ? v->compare->rows[row].set[set] : &v->compare->sets[set].total;
}

static inline double value_of(const struct compare_view *v, size_t row, size_t set)
{
    return run_set_value(&v->compare->sets[set], pick(v, row, set), v->report->metric);
}

/* Powers, times per entry or per call, and inclusive times cannot be summed. Their weights are
 * shares of the time. */
static inline double weighed_value(const struct compare_view *v, size_t row, size_t set)
{
    enum compare_metric metric = v->report->metric;
    if (metric == COMPARE_POWER || metric == COMPARE_EXECUTION || metric == COMPARE_INCLUSIVE ||
        metric == COMPARE_CALL_TIME)
        metric = COMPARE_TIME;
    return run_set_value(&v->compare->sets[set], pick(v, row, set), metric);
}

/* The share of the row in the sum of all rows of the base or, with other_weights, of run set SET.
 * NaN if there is no value. */
static inline double weight_of(const struct compare_view *v, size_t row, size_t set)
{
    set = v->report->other_weights ? set : 0;
    return v->weight_sum[set] != 0 ? weighed_value(v, row, set) / v->weight_sum[set] : NAN;
}

/* The result for ROW of run set SET. The row after the last one is the total. */
static inline const struct significance *compare_view_result(const struct compare_view *view,
                                                             size_t set, size_t row)
{
    return &view->results[set * (view->compare->count + 1) + row];
}

/* Fills the columns and facts of VIEW. Its results must be set. */
void compare_view_head(struct compare_view *view);

#endif
