/* A comparison as a table: a row per key with base, other values, differences and verdicts.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_REPORT_COMPARE_H
#define ANALYZE_COMPARE_REPORT_COMPARE_H

#include "analyze/compare/compare.h"
#include "analyze/compare/compare_error.h"
#include "formats/table/table.h"

enum compare_sort { SORT_DIFFERENCE, SORT_BASE, SORT_OTHER, SORT_RATIO, SORT_P, SORT_KEY, SORTS };

/* From "difference", "base", "other", "ratio", "p", "key"; -1 for none of them. */
int compare_sort_parse(const char *name);

struct compare_report {
    enum compare_metric metric;
    bool has_error; /* a column with ERROR, and AGGREGATE of it in the total */
    enum error_function error;
    enum error_aggregate aggregate;
    enum compare_sort
        sort;   /* largest first; p smallest first; of several run sets the extreme one */
    size_t top; /* rows at most; 0: all */
    const char *const *names; /* of the run sets, all different */
    bool color;
};

/* Emits the table on OUT. */
void report_compare(const struct compare *compare, const struct compare_report *report,
                    const struct table_format *format, struct output *out);

#endif
