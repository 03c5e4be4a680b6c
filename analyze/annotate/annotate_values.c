/* Annotation: sums as numbers.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_values.h"

#include <math.h>

#include "analyze/aggregate/sampled.h"

double annotation_metric(const struct annotation *a, const struct annotate_sums *sums)
{
    switch (a->options->metric) {
    case HEAT_ENERGY:
        return (double)sums->energy;
    case HEAT_SAMPLES:
        return (double)sums->samples;
    default:
        return (double)sums->time;
    }
}

double annotation_share(const struct annotation *a, const struct annotate_sums *part,
                        const struct annotate_sums *whole)
{
    double all = annotation_metric(a, whole);
    return all > 0 ? 100 * annotation_metric(a, part) / all : 0;
}

double annotation_value(const struct annotation *a, const struct annotate_sums *sums,
                        enum annotate_value value)
{
    uint64_t n = a->runs > 0 ? a->runs : 1;
    switch (value) {
    case ANNOTATE_TIME:
        return exact_to_double(sums->time, TIME_SHIFT, n * 1000000000);
    case ANNOTATE_ENERGY:
        return exact_to_double(sums->energy, ENERGY_SHIFT, n);
    case ANNOTATE_SAMPLES:
        return exact_to_double(sums->samples, SAMPLES_SHIFT, n);
    default:
        return annotation_share(a, sums, &a->total);
    }
}

double annotation_interval(const struct annotation *a, const struct annotate_sums *sums,
                           enum annotate_value value)
{
    bool is_time =
        value == ANNOTATE_TIME || (value == ANNOTATE_SHARE && a->options->metric == HEAT_TIME);
    if (!is_time)
        return NAN; /* lines run for less than a window: energy has a bias that no interval shows */
    if (sums->samples == 0 && sums->energy != 0)
        return NAN; /* energy that is not in code is measured, not sampled */
    double whole = annotation_value(a, &a->sampled, value);
    struct sampled_code code = {.time = whole,
                                .samples = exact_to_double(a->total.samples, SAMPLES_SHIFT, 1) -
                                           (double)a->waiting,
                                .runs = a->runs > 0 ? (double)a->runs : 1};
    return sampled_time(&code, annotation_value(a, sums, value), NAN);
}

bool annotation_is_hot(const struct annotation *a, const struct annotate_sums *sums,
                       const struct annotate_function *function)
{
    return annotation_metric(a, sums) > 0 &&
           annotation_share(a, sums, &function->sums) >= a->options->threshold;
}
