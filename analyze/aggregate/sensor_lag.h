/* Finds the lag of a power sensor: how late it shows its measurements.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_SENSOR_LAG_H
#define ANALYZE_AGGREGATE_SENSOR_LAG_H

#include "analyze/aggregate/inputs.h"

/* Sets *LAG to the lag, from 0 to four updates of the sensor, for which the powers of functions
 * explain the energies of the profiles best [s, whole us]; 0 if none is much better. Reads the
 * profiles, which must be files, 25 times. OPTIONS apply, except for keys, model and lag. If
 * verbose, REPORTER reports each attempt. Returns 0, or -1 with ERR filled. */
int sensor_lag_find(const struct inputs *inputs, const struct aggregate_options *options,
                    const struct reporter *reporter, double *lag, struct error *err);

#endif
