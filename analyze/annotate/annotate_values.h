/* Annotation: sums as numbers.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_VALUES_H
#define ANALYZE_ANNOTATE_ANNOTATE_VALUES_H

#include "analyze/annotate/annotate.h"

/* The value of the metric in the options, in its exact unit, for comparisons. */
double annotation_metric(const struct annotation *annotation, const struct annotate_sums *sums);
/* The share of PART in WHOLE by the metric in the options [%]; 0 if WHOLE is 0. */
double annotation_share(const struct annotation *annotation, const struct annotate_sums *part,
                        const struct annotate_sums *whole);
/* Means of SUMS over the runs: time [s], share of the total [%], energy [J] or the profile's
 * quantity, and samples. */
enum annotate_value {
    ANNOTATE_TIME,
    ANNOTATE_SHARE,
    ANNOTATE_ENERGY,
    ANNOTATE_SAMPLES,
    ANNOTATE_VALUES
};
double annotation_value(const struct annotation *annotation, const struct annotate_sums *sums,
                        enum annotate_value value);

/* Half of the 95 % interval of annotation_value: sampled_time, as if samples were independent, from
 * the number of thread samples with CPU time in all runs. NaN if it is unknown, for samples, and
 * for energies: dividing energy among lines has an error that samples do not show. */
double annotation_interval(const struct annotation *annotation, const struct annotate_sums *sums,
                           enum annotate_value value);

/* Returns whether the line or instruction of FUNCTION with SUMS is hot. */
bool annotation_is_hot(const struct annotation *annotation, const struct annotate_sums *sums,
                       const struct annotate_function *function);

#endif
