/* Finds how late a power sensor shows what it measured.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_SENSOR_LAG_H
#define ANALYZE_AGGREGATE_SENSOR_LAG_H

#include "analyze/aggregate/inputs.h"

/* Sets *LAG to that lag of the sensor, from 0 to four of its updates, with which powers of functions explain the energies of
 * the profiles best [s, whole us]; 0 if none is much better. Reads the profiles, which must be files, 25 times, with
 * OPTIONS but for keys, model and lag; REPORTER reports each of them if verbose. Returns 0, or -1 with ERR filled. */
int sensor_lag_find(const struct inputs *inputs, const struct aggregate_options *options,
                    const struct reporter *reporter, double *lag, struct error *err);

#endif
