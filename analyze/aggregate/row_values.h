/* Converts exact sums to numbers in SI units.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_ROW_VALUES_H
#define ANALYZE_AGGREGATE_ROW_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/pbin/pbin.h"

enum row_metric {
    METRIC_TIME,
    METRIC_ENERGY,
    METRIC_POWER,
    METRIC_SAMPLES,
    METRIC_ENTRIES,
    METRIC_CALLS,
    METRIC_INCLUSIVE,
    METRICS
};

/* The name of METRIC ("time", "energy", ...), and the metric of a name (-1: unknown). */
const char *row_metric_name(enum row_metric metric);
int row_metric_parse(const char *name);

/* Means over the runs of the aggregate. */
struct row_values {
    double time;   /* [s] */
    double energy; /* [J], or in the unit of the profile's quantity */
    double power;  /* energy / time [W]; NaN if time is 0 */
    double samples;
    double entries;          /* NaN: unknown */
    double calls, inclusive; /* [s]; NaN: unknown; set only by row_values_measured */
};

/* The value of METRIC in VALUES. */
double row_value(const struct row_values *values, enum row_metric metric);

/* Converts SUMS over RUNS runs to means; CALLS and INCLUSIVE become NaN. */
void row_values_of(const struct pbin_sums *sums, size_t runs, struct row_values *values);

/* The spread over the runs, where a run without the row counts as 0. NaN for a single run. */
struct row_spread {
    double time_sd, time_min, time_max,
        time_ci; /* [s]; _ci: half of the 95 % interval of the mean */
    double energy_sd, energy_min, energy_max, energy_ci; /* [J] */
};

/* Computes the spread. The standard deviation has the divisor n - 1, and the interval uses
 * Student's t with n - 1 degrees of freedom. */
void row_spread_of(const struct pbin_sums *sums, size_t runs, struct row_spread *spread);

/* Adds FROM to TO, for rows of the same runs. Adds only the sums; the spread becomes invalid. */
void row_sums_join(struct pbin_sums *to, const struct pbin_sums *from);

#endif
