/* A comparison as a table: a row for each key with the values of the base and of others,
 * differences and verdicts.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_REPORT_COMPARE_H
#define ANALYZE_COMPARE_REPORT_COMPARE_H

#include "analyze/compare/compare.h"
#include "analyze/compare/compare_error.h"
#include "formats/table/table.h"

enum compare_sort { SORT_DIFFERENCE, SORT_BASE, SORT_OTHER, SORT_RATIO, SORT_P, SORT_KEY, SORTS };

/* Parses "difference", "base", "other", "ratio", "p" or "key"; -1 if unknown. */
int compare_sort_parse(const char *name);

struct compare_report {
    enum compare_metric metric;
    bool has_error; /* show a column with ERROR, and its AGGREGATE in the total */
    enum error_function error;
    enum error_aggregate aggregate;
    enum compare_sort
        sort; /* largest first, p smallest first; of several run sets, by the most extreme value */
    bool other_weights;       /* weights are shares of the only other run set, not of the base */
    size_t top;               /* maximum number of rows; 0: all */
    const char *const *names; /* of the run sets; distinct */
    bool color;
    const struct table_style *style;
};

/* Writes the table to OUT. */
void report_compare(const struct compare *compare, const struct compare_report *report,
                    const struct table_format *format, struct output *out);

/* Fills ERRORS and WEIGHTS, which have an element for each row of COMPARE, with the values that the
 * table shows for run set SET: the error (NaN: none) and the weight (up to 1, or NaN) of each row,
 * in the order of the keys. */
void report_compare_errors(const struct compare *compare, const struct compare_report *report,
                           size_t set, double *errors, double *weights);

#endif
