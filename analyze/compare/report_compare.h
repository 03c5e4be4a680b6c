/* A comparison as a table: a row per key with the values of base and others, differences and verdicts.
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
    bool has_error; /* show a column with ERROR, and AGGREGATE of it in the total */
    enum error_function error;
    enum error_aggregate aggregate;
    enum compare_sort
        sort; /* largest first, p smallest first; with several run sets, by the extreme one */
    bool other_weights;       /* weights are shares of the only other run set instead of the base */
    size_t top;               /* maximum number of rows; 0: all */
    const char *const *names; /* of the run sets, without duplicates */
    bool color;
    const struct table_style *style;
};

/* Writes the table to OUT. */
void report_compare(const struct compare *compare, const struct compare_report *report,
                    const struct table_format *format, struct output *out);

/* Fills ERRORS and WEIGHTS, of COMPARE's count of rows, with what the table shows for run set SET: the error (NaN: none) and
 * the weight (a share of 1, or NaN) of each row, in order of the keys. */
void report_compare_errors(const struct compare *compare, const struct compare_report *report,
                           size_t set, double *errors, double *weights);

#endif
