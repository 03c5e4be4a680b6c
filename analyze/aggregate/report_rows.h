/* An aggregate as a table: facts, sorted rows with shares and means over runs, and a total.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_REPORT_ROWS_H
#define ANALYZE_AGGREGATE_REPORT_ROWS_H

#include "analyze/aggregate/row_view.h"

/* Writes the table to OUT. */
void report_rows(const struct aggregate *aggregate, const struct report_options *options,
                 const struct table_format *format, struct output *out);

#endif
