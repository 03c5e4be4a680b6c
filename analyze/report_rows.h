/* An aggregate as a table: sorted rows, shares, means over runs, the facts above and the total below.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_REPORT_ROWS_H
#define ANALYZE_REPORT_ROWS_H

#include "analyze/aggregate.h"
#include "formats/table.h"

enum row_metric { METRIC_TIME, METRIC_ENERGY, METRIC_POWER, METRIC_SAMPLES, METRIC_ENTRIES, METRICS };

/* "time", "energy", ...; and back, -1 for none of them. */
const char *row_metric_name(enum row_metric metric);
int row_metric_parse(const char *name);

struct report_options {
    enum row_metric sort; /* largest first; ties in order of the keys */
    size_t top;           /* rows at most, the rest is shown as _other; 0: all */
    bool color;
};

/* Means over the runs of the aggregate; entries that are not known are negative. */
struct row_values {
    double time;    /* [s] */
    double energy;  /* [J] or the profile's quantity */
    double power;   /* energy / time [W]; NaN where time is 0 */
    double samples;
    double entries; /* NaN: not known */
};

void row_values_of(const struct pbin_sums *sums, size_t runs, struct row_values *values);

/* Emits the table on OUT. */
void report_rows(const struct aggregate *aggregate, const struct report_options *options,
                 const struct table_format *format, struct output *out);

#endif
