/* An aggregate as a table: sorted rows, shares, means over runs, the facts above and the total below.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_REPORT_ROWS_H
#define ANALYZE_AGGREGATE_REPORT_ROWS_H

#include "analyze/aggregate/aggregate.h"
#include "formats/table/table.h"

enum row_metric {
    METRIC_TIME,
    METRIC_ENERGY,
    METRIC_POWER,
    METRIC_SAMPLES,
    METRIC_ENTRIES,
    METRICS
};

/* "time", "energy", ...; and back, -1 for none of them. */
const char *row_metric_name(enum row_metric metric);
int row_metric_parse(const char *name);

struct report_options {
    enum row_metric sort; /* largest first; ties in order of the keys */
    /* Limits; what they cut off is one row _other. Shares are of energy when sorted by it, else of time. */
    size_t top;        /* rows at most; 0: all */
    double threshold;  /* rows with a share of at least this [%] */
    double cumulative; /* rows until their shares sum to this [%]; 0: all */
    bool tree;         /* a row per prefix of the keys, indented */
    bool intervals;    /* statistical interval of each share from the number of samples */
    bool color;
};

/* Means over the runs of the aggregate. */
struct row_values {
    double time;   /* [s] */
    double energy; /* [J] or the profile's quantity */
    double power;  /* energy / time [W]; NaN where time is 0 */
    double samples;
    double entries; /* NaN: not known */
};

void row_values_of(const struct pbin_sums *sums, size_t runs, struct row_values *values);

/* Spread over the runs; a run without the row counts as 0. NaN for a single run. */
struct row_spread {
    double time_sd, time_min, time_max,
        time_ci; /* [s]; ci: half of the 95 % interval of the mean */
    double energy_sd, energy_min, energy_max, energy_ci; /* [J] */
};

/* Standard deviation with divisor n - 1; interval by Student's t with n - 1 degrees of freedom. */
void row_spread_of(const struct pbin_sums *sums, size_t runs, struct row_spread *spread);

/* TO += FROM for rows of the same runs: sums only, spread is lost. */
void row_sums_join(struct pbin_sums *to, const struct pbin_sums *from);

/* Emits the table on OUT. */
void report_rows(const struct aggregate *aggregate, const struct report_options *options,
                 const struct table_format *format, struct output *out);

#endif
